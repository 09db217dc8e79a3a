"""S-functions, compiled against a stand-in for Simulink's header and called as it calls; M functions in Octave."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from compiled import CC, built
from driven_loops import four_bar
from exported import OCTAVE
from random_arms import random_arm
from rubbing import random_drives

import flexarm as fa
from flexarm.errors import DescriptionError
from flexarm.exports.programs import state
from flexarm.exports.sfunction import simulink
from flexarm.model import closures

STAND_IN = Path(__file__).parent / "data" / "simulink"
needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler")


def rubbing_arm():
    """Friction with states behind a free base, and a force from outside."""
    arm = random_drives(random_arm(11, links=2, elastic=True), 7, brakes=False)
    base = fa.FreeBase(mass=9.0, inertia=(1.0, 2.0, 1.5))
    return arm.replace(base=base, forces=(fa.Force(name="push", link=arm.links[-1].name, at=1.0),))


CASES = {
    "planar": lambda: (fa.Model(fa.load("canadarm"), vary=["payload.mass"]), [fa.TipPosition()]),
    "driven": lambda: (fa.Model(fa.load("rigid-two-link")), [fa.Accelerometer(link="fore")]),
    "free base": lambda: (fa.Model(fa.load("canadarm-free")), []),
    "closures": lambda: (fa.Model(four_bar(flexible=True), vary=["rocker.mass"]), [fa.Accelerometer(link="rocker")]),
    "states and a push": lambda: (fa.Model(rubbing_arm()), [fa.TipPosition(axes="xz")]),
}


@pytest.fixture(scope="module", params=CASES)
def case(request, tmp_path_factory):
    """Model, sensors, folder, name."""
    model, sensors = CASES[request.param]()
    folder = tmp_path_factory.mktemp("simulink")
    files = fa.export_simulink(model, folder, sensors)
    (name,) = (file.name.removesuffix("_sfun.c") for file in files if file.name.endswith("_sfun.c"))
    return model, sensors, folder, name


def exact(model):
    """Relative error of equal computations; the correction towards closures moves even a closed state by rounding."""
    return 1e-10 if model.arm.closures else 1e-12


def lines(values):
    return f"{len(values)} " + " ".join(map(repr, map(float, values))) + "\n"


@pytest.fixture(scope="module")
def block(case):
    """(parameters, inputs) -> how the block's program ended, and its lines."""
    _, _, folder, name = case
    more = ["-DMATLAB_MEX_FILE", f"-I{STAND_IN}", "-Wno-unused-function"]
    program = built(folder, f"{name}_sfun.c", f"{name}_plant.c", program="block", level="-O0", more=more)

    def run(parameters, inputs):
        given = f"{len(parameters)}\n" + "".join(map(lines, [*parameters, *inputs]))
        done = subprocess.run([program], input=given, capture_output=True, text=True)
        return done.returncode, done.stdout

    return run


@needs_cc
def test_the_block_gives_the_models_numbers(case, block):
    model, sensors, _, _ = case
    at = state(model, np.random.default_rng(3))
    x = np.concatenate([at["q"], at["qd"], at["s"]])
    p = [[]] if len(model.p) else []
    status, text = block([x, *p], [at[a] for a in "uw" if len(at[a])])
    assert status == 0
    sizes, *outputs, rates = ([float(x) for x in line.split()] for line in text.splitlines())
    more = {a: at[a] for a in ("s", "w") if len(at[a])}
    seen = fa.outputs(model, sensors) if sensors else None
    assert sizes == [len(x) + 2, len(model.inputs), bool(seen and seen.driven)]
    expected = [at["q"], at["qd"], model.energy(at["q"], at["qd"], **{a: v for a, v in more.items() if a == "s"})]
    expected += [seen.values(at["q"], at["qd"], at["u"], **more)] if seen else []
    for found, value in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(found, np.ravel(value), rtol=0, atol=exact(model) * np.abs(value).max())
    value = model.evaluate("state_rate", at["q"], at["qd"], at["u"], **more)
    np.testing.assert_allclose(rates, value, rtol=0, atol=exact(model) * np.abs(value).max())


@needs_cc
def test_the_block_starts_at_rest_and_takes_parameters(case, block):
    model, _, _, _ = case
    u = np.linspace(0.3, 0.7, len(model.inputs))
    inputs = [u, *([np.zeros(len(model.exogenous))] if model.exogenous else [])]
    p = [model.p + 20.0] if len(model.p) else []
    status, text = block([[], *p], inputs)
    assert status == 0
    *_, rates = ([float(x) for x in line.split()] for line in text.splitlines())
    value = model.evaluate("state_rate", closures.rest(model), np.zeros(model.nv), u, p=p[0] if p else None)
    np.testing.assert_allclose(rates, value, rtol=0, atol=exact(model) * np.abs(value).max())


@needs_cc
def test_the_block_refuses_what_does_not_fit(case, block):
    model, _, _, name = case
    size = model.nq + model.nv + len(model.states)
    p = [[]] if len(model.p) else []
    status, said = block([[0.0] * (size - 1), *p], [])
    assert status == 1 and said.startswith(f"{name}: the state at the start must be [] or {size} numbers: q, qd")
    if p:
        assert block([[], [1.0, 2.0]], []) == (1, f"{name}: p must be [] or a vector of length 1\n")


@pytest.mark.skipif(OCTAVE is None, reason="no Octave")
def test_the_m_function_gives_the_models_numbers(case):
    model, _, folder, name = case
    at = state(model, np.random.default_rng(3))
    given = [at[a] for a in model.arguments("state_rate")]
    arrays = ", ".join("[" + "; ".join(map(repr, map(float, x))) + "]" for x in given)
    command = f"x = {name}_state_rate({arrays}); printf('%.17g ', x)"
    done = subprocess.run([OCTAVE, "--no-gui", "--eval", command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    more = {a: at[a] for a in ("s", "w") if len(at[a])}
    value = model.evaluate("state_rate", at["q"], at["qd"], at["u"], **more)
    np.testing.assert_allclose([*map(float, done.stdout.split())], value, rtol=0, atol=1e-12 * np.abs(value).max())


@pytest.mark.skipif(OCTAVE is None, reason="no Octave")
def test_octave_reads_the_build_script(case):
    _, _, folder, name = case
    command = f"mex = @(varargin) printf('%s ', varargin{{3:end}}); run('{name}_build.m')"
    text = (folder / f"{name}_build.m").read_text()
    assert f"'{name}_sfun.c'" in text and f"'{name}_plant.c'" in text
    done = subprocess.run([OCTAVE, "--no-gui", "--eval", command], cwd=folder, capture_output=True, text=True)
    assert done.stdout.split() == [str(folder / f"{name}_sfun.c"), str(folder / f"{name}_plant.c")]


@pytest.mark.skipif(OCTAVE is None, reason="no Octave")
def test_a_telescope_beyond_its_range_is_no_number_in_octave(tmp_path):
    model = fa.Model(fa.load("theodore-ghosal"))
    name = "theodore_ghosal_state_rate"
    (tmp_path / f"{name}.m").write_text(simulink(model)[f"{name}.m"], encoding="utf-8")
    q = "[" + "; ".join(["0.0"] * 2 + ["9.0"] + ["0.0"] * 4) + "]"
    command = f"printf('%g ', {name}({q}, zeros(7, 1), zeros(3, 1)))"
    done = subprocess.run([OCTAVE, "--no-gui", "--eval", command], cwd=tmp_path, capture_output=True, text=True)
    assert "NaN" in done.stdout.split()


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(DescriptionError, match=r"^export_simulink: model is 3; it must be a Model$"):
        fa.export_simulink(3, tmp_path)


def test_functions_of_a_long_name_are_matlabs():
    """It knows 63 letters."""
    files = simulink(fa.Model(fa.load("rigid-two-link").replace(name="long " * 40)))
    (function,) = (file.removesuffix(".m") for file in files if file.endswith("_state_rate.m"))
    assert max(len(file.rpartition(".")[0]) for file in files) == len(function) == 63
    assert f" = {function}(" in files[f"{function}.m"]


@needs_cc
def test_a_block_with_closures_works_at_the_nearest_state(tmp_path):
    """A gap of 1e-5 changes its numbers as the correction of a run does; one of 0.1 stops it."""
    model = fa.Model(four_bar(flexible=True))
    fa.export_simulink(model, tmp_path)
    more = ["-DMATLAB_MEX_FILE", f"-I{STAND_IN}", "-Wno-unused-function"]
    program = built(tmp_path, "four_bar_sfun.c", "four_bar_plant.c", program="block", level="-O0", more=more)

    def run(x):
        given = "1\n" + lines(x) + lines([2.5])
        done = subprocess.run([program], input=given, capture_output=True, text=True)
        return done.returncode, done.stdout

    q, qd = fa.assemble(model, [1.1, 0.2, 1.2, 0.01, 0.0], [2.0, 0.0, 0.0, 0.1, 0.0], held=["crank.joint"])
    away = q + [0.0, 1e-5, 0.0, 0.0, 0.0]
    status, text = run([*away, *qd])
    near = closures.corrected(model, away, qd)
    _, *outputs, rates = ([float(x) for x in line.split()] for line in text.splitlines())
    assert status == 0 and [*outputs[0], *outputs[1]] == pytest.approx(np.concatenate(near), rel=1e-12)
    assert rates == pytest.approx(model.evaluate("state_rate", *near, np.array([2.5])), rel=1e-9)
    status, text = run([*(q + [0.0, 0.1, 0.0, 0.0, 0.0]), *qd])
    assert status == 1 and "four_bar: the state does not satisfy the closures: give another start" in text
