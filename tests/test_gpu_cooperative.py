"""Several threads for each run on a graphics processor: the partition of a program, the IR of the kernels with threads
of this process, and their PTX computed line by line with a check for races. The bits are those of one thread.
"""

import re
import sys

import casadi as ca
import numpy as np
import ptx as emulated
import pytest
from controlled import refused
from fake_cuda import FakeCuda
from host_gpu import HostGpu

import flexarm as fa
from benchmarks.chains import chain
from flexarm.control import Integral, JointPD, Sampled
from flexarm.native import cuda, nvptx, ptxas
from flexarm.native.cooperative import outputs
from flexarm.native.fusion import FMA, FROM, MINUS, PLUS, fused
from flexarm.native.partition import Partition, cost, partition
from flexarm.native.program import INPUT, INVERSE, OUTPUT, PART, SINCOS, instructions
from flexarm.simulation import gpu, gpu_cooperative
from flexarm.simulation.butcher import METHODS
from flexarm.simulation.feedback import integrand
from flexarm.simulation.layout import Layout

COUNT = 3
GIVEN = {"solver": fa.Solver(method="rk4", step=1e-3), "samples": 6, "progress": False}
PLAYED = HostGpu()


@pytest.fixture(scope="module")
def planar():
    return fa.Model(fa.load("subudhi-morris"))


@pytest.fixture(scope="module")
def rigid():
    return fa.Model(fa.load("rigid-two-link"))


@pytest.fixture(autouse=True)
def host(monkeypatch):
    """This processor in the part of the other."""
    monkeypatch.setattr(cuda, "device", lambda: PLAYED)
    PLAYED.launched.clear()


def threads(monkeypatch, parts):
    """Let each run of any program have so many threads."""
    monkeypatch.setattr(gpu_cooperative, "SIZES", ((0, parts),) if parts > 1 else ())


def starts(model, count=COUNT):
    rng = np.random.default_rng(3)
    q = np.array(model.arm.rest) + 1e-3 * rng.normal(size=(count, model.nq))
    return {"q0": q, "qd0": 1e-2 * rng.normal(size=(count, model.nv))}


def alike(monkeypatch, model, until, parts, **given):
    """Runs with several threads, whose bits are those of runs with one."""
    found = []
    for number in (1, parts):
        threads(monkeypatch, number)
        found.append(fa.simulate_many(model, until, device="gpu", **given))
        assert found[-1].attrs["threads_per_run"] == number
    one, several = found
    for name, x in one.data_vars.items():
        np.testing.assert_array_equal(several[name], x, err_msg=name)
    return several


# -- fused sums --------------------------------------------------------------------------------------------------------


def values(code, x):
    """The values of a fused program's instructions at x, and its outputs."""
    v, out = {}, {}
    for k, each in enumerate(code):
        a = [v[i] if not isinstance(i, float) else i for i in each.args]
        v[k] = computed(each, a, x)
        if each.op == OUTPUT:
            out[each.index] = a[0]
    return np.array([out[i] for i in sorted(out)])


def computed(each, a, x):
    """The value of an instruction with arguments a."""
    of = {
        INPUT: lambda: x[each.index],
        OUTPUT: lambda: None,
        INVERSE: lambda: 1.0 / a[0],
        SINCOS: lambda: (np.sin(a[0]), np.cos(a[0])),
        PART: lambda: a[0][each.index],
        ca.OP_ADD: lambda: a[0] + a[1],
        ca.OP_SUB: lambda: a[0] - a[1],
        ca.OP_MUL: lambda: a[0] * a[1],
        ca.OP_SQ: lambda: a[0] * a[0],
        ca.OP_TWICE: lambda: a[0] + a[0],
        ca.OP_NEG: lambda: -a[0],
        FMA: lambda: (
            {PLUS: 1, MINUS: 1, FROM: -1}[each.index] * a[0] * a[1] + (-1 if each.index == MINUS else 1) * a[2]
        ),
    }
    return of[each.op]()


def test_sums_with_products_are_fused():
    """Each form, with a square, with a shared product, and where a factor is also the summand."""
    x = ca.SX.sym("x", 4)
    a, b, c, d = ca.vertsplit(x)
    product = a * b
    sums = [product + c, product - c, c - product, a * a + d, d - a * a, a * b - a, b - a * b, a * b + c * d, product]
    function = ca.Function("f", [x], [ca.vertcat(*sums, product - d, 3.0 - product, ca.sin(a) * b + ca.cos(a))])
    code = fused(instructions(function))
    at = np.array([0.3, -1.7, 2.1, 0.9])
    np.testing.assert_allclose(values(code, at), np.array(function(at)).ravel(), rtol=1e-14)
    forms = [each.index for each in code if each.op == FMA]
    assert {*forms} == {PLUS, MINUS, FROM}
    for each in code:
        if each.op in (ca.OP_ADD, ca.OP_SUB):
            assert not any(code[i].op in (ca.OP_MUL, ca.OP_SQ) for i in each.args if isinstance(i, int))
    used = {i for each in code for i in each.args if isinstance(i, int)}
    assert all(k in used or each.op == OUTPUT for k, each in enumerate(code)), "nothing is computed in vain"


def test_the_emitted_sums_have_one_rounding(planar):
    """Neither LLVM nor the assembler chooses which sums are fused."""
    text = nvptx.straight(instructions(integrand(planar, "state_rate", 0).trace()), 100, "double")
    body = text[text.index("define void @evaluate") :]
    assert "llvm.fma.f64" in body
    assert "contract" not in body


# -- partitions --------------------------------------------------------------------------------------------------------


def check(code, found: Partition, room):
    """Every instruction is computed once, where its arguments are known. Return the values that phases leave in slots.

    A slot is read only in later phases than that in which its value is written, and before the next value is written.
    """
    computed_ = [k for part in found.phases for phase in part for k in phase]
    assert sorted(computed_) == [k for k, each in enumerate(code) if each.op != INPUT]
    assert found.size <= room
    slots: dict[int, int] = {}
    known = [set() for _ in found.phases]
    for f in range(len(found.phases[0])):
        read, written = set(), {}
        for p, (part, loads) in enumerate(zip(found.phases, found.loads, strict=True)):
            for a in loads[f]:
                assert slots[found.slots[a]] == a, "the slot has the value"
                read.add(found.slots[a])
                assert a not in known[p], "each value is read once"
                known[p].add(a)
            for k in part[f]:
                for a in code[k].args:
                    assert isinstance(a, float) or code[a].op == INPUT or a in known[p]
                known[p].add(k)
                if k in found.slots:
                    assert found.slots[k] not in written
                    written[found.slots[k]] = k
        assert not read & {*written}, "a slot that is read in a phase is not written in it"
        slots |= written


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_each_part_has_the_values_that_it_needs(planar, parts):
    code = fused(instructions(integrand(planar, "state_rate", 0).trace()))
    found = partition(code, parts, 1000)
    check(code, found, 1000)
    assert sorted(i for part in outputs(code, found) for i in part) == list(range(Layout.of(planar).size))
    few = partition(code, parts, found.size // 2)
    check(code, few, found.size // 2)
    assert few.size < found.size
    assert len(few.phases[0]) >= len(found.phases[0])
    with pytest.raises(NotImplementedError, match=f"{parts} threads need more than 0 shared values for each run"):
        partition(code, parts, 0)


def test_the_threads_of_a_large_program_have_less_work_than_one():
    code = fused(instructions(integrand(fa.Model(chain(3)), "state_rate", 0).trace()))
    total = sum(map(cost, code))
    two, four = (partition(code, parts, 100) for parts in (2, 4))
    for each in (two, four):
        check(code, each, 100)
    assert total / two.longest(code) > 1.5
    assert total / four.longest(code) > 2.0
    assert two.accesses < four.accesses < len(code)
    assert partition(code, 2, 100) == two, "the same each time"


def test_outputs_of_inputs_belong_to_the_part_with_the_fewest():
    x = ca.SX.sym("x", 6)
    function = ca.Function("f", [x], [ca.vertcat(x[1:], ca.sin(x[0]) * x[1], 2.0)])
    code = fused(instructions(function))
    found = partition(code, 2, 10)
    check(code, found, 10)
    assert sorted(len(each) for each in outputs(code, found)) == [3, 4]


# -- runs --------------------------------------------------------------------------------------------------------------


def slew(amplitude):
    return fa.Quintic((0.0, 0.0), (amplitude, -amplitude), 0.03)


INPUTS = {
    "jumps at different times": [fa.bang_bang([0.2, 0.1], duration=0.0152 + 0.004 * i) for i in range(COUNT)],
    "tables": [fa.Table([0.0, 0.0123 + 0.001 * i, 0.06], [[0, 0.1], [0.2, -0.1], [0, 0]]) for i in range(COUNT)],
    "a function of time": [fa.RigidInverseDynamics(slew(0.01 * (i + 1))) for i in range(COUNT)],
    "a controller with memory": [Integral(JointPD(slew(0.02), 50.0, 0.2), 30.0 + i) for i in range(COUNT)],
}


@pytest.mark.parametrize(("name", "parts", "real"), [
    ("jumps at different times", 2, "double"), ("tables", 4, "float"), ("a function of time", 2, "mixed"),
    ("a controller with memory", 4, "double"),
])  # fmt: skip
def test_several_threads_compute_the_bits_of_one(monkeypatch, planar, name, parts, real):
    given = {**GIVEN, **starts(planar), "u": INPUTS[name], "real": real}
    found = alike(monkeypatch, planar, 0.03, parts, **given)
    assert {*found.status.values} == {"completed"}
    expected = fa.simulate_many(planar, 0.03, **{**given, "real": "double"})
    assert np.abs(found.q - expected.q).max() < (1e-13 if real == "double" else 1e-5)


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")  # of Euler's method
@pytest.mark.parametrize("method", ["midpoint", "euler"])
def test_other_methods_with_stages_in_sequence(monkeypatch, rigid, method):
    solver = fa.Solver(method=method, step=2e-4)
    alike(monkeypatch, rigid, 0.01, 2, **{**GIVEN, "solver": solver}, u=[[0.1, 0.0], [0.0, 0.2]])


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")
def test_runs_that_diverge_or_end_in_other_launches_disturb_no_others(monkeypatch, planar):
    """One run of several blocks diverges. The runs need many launches, windows and parts."""
    given = {**GIVEN, **starts(planar, 35), "u": [0.1, 0.0], "solver": fa.Solver(method="rk4", step=0.0025)}
    given["qd0"][34, 0] = 3000.0
    found = alike(monkeypatch, planar, 0.05, 2, **given)
    assert found.status.values[34].startswith("diverged ")
    assert {*found.status.values[:34]} == {"completed"}
    once = len(PLAYED.launched)
    monkeypatch.setattr(gpu, "WORK", 1.0)
    monkeypatch.setattr(gpu, "WINDOW", 2 * 8 * 3 * Layout.of(planar).size)
    monkeypatch.setattr(gpu, "TOGETHER", 33)
    pieces = fa.simulate_many(planar, 0.05, device="gpu", **given)
    assert len(PLAYED.launched) - once > 11
    for name, x in found.data_vars.items():
        np.testing.assert_array_equal(pieces[name], x, err_msg=name)


def test_parameters_of_each_run(monkeypatch):
    model = fa.Model(fa.load("rigid-two-link"), vary=["payload.mass"])
    p = model.p * np.array([[0.8], [1.0], [1.3]])
    alike(monkeypatch, model, 0.02, 2, **GIVEN, p=p, u=[0.1, 0.0])


def test_large_programs_have_several_threads():
    """By the operations and the precision, for methods and inputs that the loops support."""
    rk4, euler, rk3, tsit5 = (METHODS[name] for name in ("rk4", "euler", "rk3", "tsit5"))
    small, large, larger = (fa.Model(chain(n)) for n in (3, 4, 6))
    for model, real, method, expected in (
        (small, "double", rk4, 1), (large, "double", rk4, 2), (large, "float", rk4, 1), (larger, "double", euler, 4),
        (larger, "float", rk4, 2), (larger, "mixed", rk4, 2), (larger, "double", rk3, 1), (larger, "double", tsit5, 1),
    ):  # fmt: skip
        rate, layout = integrand(model, "state_rate", 0), Layout.of(model)
        assert gpu_cooperative.threads(rate, layout, real, method) == expected
    longer = Layout(nq=100, nv=100, inputs=20)  # whose state leaves no room for other values
    assert gpu_cooperative.threads(integrand(larger, "state_rate", 0), longer, "double", rk4) == 1


def test_other_runs_have_one_thread(monkeypatch, planar):
    threads(monkeypatch, 2)
    given = {**GIVEN, **starts(planar)}
    sampled = Sampled(JointPD(slew(0.02), 50.0, 0.2), 0.003)
    for more in ({"u": sampled}, {"u": [0.0, 0.0], "solver": fa.Solver(method="tsit5", rtol=1e-5)},
                 {"u": [0.0, 0.0], "solver": fa.Solver(method="gauss4", step=2e-3)}):  # fmt: skip
        assert fa.simulate_many(planar, 0.01, device="gpu", **{**given, **more}).attrs["threads_per_run"] == 1


def test_what_several_threads_cannot_compute_is_one_line(monkeypatch, rigid):
    x = ca.SX.sym("x", 4)
    function = ca.Function("f", [x], [ca.vertcat(x, ca.atan2(x[0], x[1]))])
    kernel = type("Kernel", (), {"key": "f", "trace": lambda self: function})()
    _, parts, _ = gpu_cooperative.program(kernel, Layout.of(rigid), "double", 2)
    with refused("device is 'gpu'; no instruction of a GPU for the CasADi operation OP_ATAN2"):
        parts()


class WrongParts(HostGpu):
    """A processor that computes wrongly where several threads share a program."""

    name = "a processor with wrong barriers"

    def kernel(self, key, parts, entry, real):
        def wrong():
            first, *others = parts()
            return [first.replace("call nsz double @llvm.fma.f64(", "call nsz double @wrong(") + WRONG, *others]

        return super().kernel(key, wrong if entry.parts > 1 else parts, entry, real)


WRONG = """
define double @wrong(double %a, double %b, double %c) {
  ret double %a
}"""


def test_the_kernel_with_several_threads_is_checked_before_its_first_use(monkeypatch, tmp_path, planar):
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cuda, "device", WrongParts)
    given = {**GIVEN, **starts(planar), "u": [0.0, 0.0]}
    fa.simulate_many(planar, 0.002, device="gpu", **given)
    threads(monkeypatch, 2)
    message = r"machine code of state_rate for a processor with wrong barriers \(double\) is wrong"
    with pytest.raises(fa.FlexarmError, match=message):
        fa.simulate_many(planar, 0.002, device="gpu", **given)


# -- the text ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def fake(monkeypatch):
    """NVIDIA's package, over kernels that are computed line by line."""
    monkeypatch.setattr(cuda, "device", cuda.Cuda)
    monkeypatch.setitem(sys.modules, "cuda", played := FakeCuda())
    monkeypatch.setattr(cuda, "_loaded", lambda key, make: make())
    return played


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")
@pytest.mark.parametrize(("parts", "real"), [(2, "double"), (4, "mixed")])
def test_ptx_of_several_threads_computed_line_by_line(monkeypatch, fake, rigid, parts, real):
    """Without races, with runs that end at different times, diverge or do not exist."""
    u = [*(fa.bang_bang([0.2, 0.1], duration=0.0035 + 0.001 * i) for i in range(2)), [0.2, 0.0], [0.1, 0.0]]
    given = {**GIVEN, "solver": fa.Solver(method="rk4", step=2e-3), "samples": 3, "u": u, "real": real}
    given["qd0"] = [[0.1, 0.0], [0.0, -0.2], [1e160, 0.0], [0.0, 0.1]]
    found = alike(monkeypatch, rigid, 0.008, parts, **given)
    assert found.status.values[[0, 1, 3]].tolist() == ["completed"] * 3
    assert found.status.values[2].startswith("diverged ")
    steps = found.steps.values
    assert steps[0] > steps[1] > steps[3] > steps[2] == 0
    assert (32 * parts, "runs") in fake.launched


def test_a_launch_has_a_block_for_each_32_runs(fake, rigid):
    rate, layout = integrand(rigid, "state_rate", 0), Layout.of(rigid)
    device = cuda.device()
    for parts, runs, threads_ in ((2, 32, 64), (2, 33, 128), (4, 70, 3 * 128)):
        device.kernel(*gpu_cooperative.program(rate, layout, "double", parts), "double")(runs, [], [])
        assert fake.launched[-1] == (threads_, "runs")


def text_of(model, parts, real="double"):
    rate, layout = integrand(model, "state_rate", 0), Layout.of(model)
    return cuda.text(*gpu_cooperative.program(rate, layout, real, parts), real)


BROKEN = {
    "a barrier is missing": lambda text: [
        text[: at.start()] + text[at.end() :] for at in re.finditer(r"\tbar\.sync \t0;\n", text)
    ],
    "a value is written to the slot of another": lambda text: [
        re.sub(r"(st\.shared\.b64 \t\[%rd\d+\+)(\d+)(\])", lambda m: f"{m[1]}{int(m[2]) + 256}{m[3]}", text)
    ],
}


@pytest.mark.parametrize("what", BROKEN)
def test_races_are_found(monkeypatch, fake, rigid, what):
    """Each barrier is needed: without it, threads race or wait for ever."""
    threads(monkeypatch, 2)
    given = {**GIVEN, "solver": fa.Solver(method="rk4", step=2e-3), "samples": 2, "u": np.zeros((1, 2))}
    expected = fa.simulate_many(rigid, 0.002, device="gpu", **given)
    text = text_of(rigid, 2)
    broken = BROKEN[what](text)
    assert text not in broken
    assert broken
    for each in broken:
        monkeypatch.setattr(cuda, "text", lambda *given, each=each: each if given[2].name == "runs" else text_(*given))
        try:
            found = fa.simulate_many(rigid, 0.002, device="gpu", **given)
        except AssertionError:
            continue
        assert (found.q != expected.q).any()


text_ = cuda.text


def test_the_interpreter_finds_races():
    accesses = emulated.Accesses()
    accesses.write(8, 1)
    accesses.read(8, 1)
    accesses.read(16, 1)
    accesses.read(16, 2)
    with pytest.raises(emulated.Race, match="thread 2 reads what thread 1 writes"):
        accesses.read(8, 2)
    with pytest.raises(emulated.Race, match="threads 2 and 1 write one place"):
        accesses.write(8, 2)
    with pytest.raises(emulated.Race, match="thread 1 writes what thread 2 reads"):
        accesses.write(16, 1)
    accesses.clear()
    accesses.write(16, 1)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize(("parts", "real"), [(2, "double"), (4, "float")])
def test_the_assembler_takes_several_threads(planar, parts, real, arch):
    text = text_of(planar, parts, real)
    assert f".maxntid {32 * parts}" in text
    assert len(re.findall("ld.shared", text)) > 10
    assert not re.search(r"\.func|\bcall\b|\.extern", text)
    (found,) = ptxas.resources(text, arch)
    assert 0 < found.registers <= 255
    shared = int(re.search(r"\.shared \.align 16 \.b8 shared\[(\d+)\]", text)[1])
    assert 0 < shared <= nvptx.STATIC


def test_several_threads_have_less_local_memory():
    """With two threads, each has less than half the local memory of a single one."""
    model = fa.Model(fa.load("spatial-6r"))
    rate, layout = integrand(model, "state_rate", 0), Layout.of(model)
    assert gpu_cooperative.threads(rate, layout, "double", METHODS["rk4"]) == 2
    (one,), (two,) = (
        ptxas.resources(text) for text in (cuda.text(*gpu.program(rate, layout, "double"), "double"), text_of(model, 2))
    )
    assert two.stack < 0.5 * one.stack
