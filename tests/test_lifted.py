"""Programs apart from their numbers: the same values, one machine code for whatever differs in numbers alone."""

import copy
import os
import pickle
import threading

import casadi as ca
import numpy as np
import pytest

import flexarm as fa
from flexarm.control import LQR, Composite, ComputedTorque, Decoupling, Integral, JointPD, Sampled, Saturated
from flexarm.native import lifted as module
from flexarm.native.kernel import LANES, Kernel
from flexarm.native.lifted import lifted
from flexarm.native.once import Recent
from flexarm.native.program import instructions, repeats
from flexarm.simulation.feedback import Feedback
from flexarm.simulation.inputs import as_input

NAN, INFINITY = float("nan"), float("inf")
LAST_BITS = 1e-14
"""Relative: the compiler multiplies constants with each other where it knows them, and cannot where they are inputs."""


def function(expression, size=3):
    x = ca.SX.sym("x", size)
    given = expression(*ca.vertsplit(x))
    return ca.Function("f", [x], [ca.densify(ca.vertcat(*given) if isinstance(given, tuple) else ca.SX(given))])


def value(found, *x):
    return np.array(found.function()(np.array(x), found.constants)).ravel()


# -- structure and numbers ---------------------------------------------------------------------------------------------


def assert_one_structure(expression, *numbers):
    """What they have in common, and that each computes what it is to."""
    all_ = [function(lambda *x, number=number: expression(number, *x)) for number in numbers]
    found = [lifted(each) for each in all_]
    assert len({each.structure for each in found}) == 1
    assert len({repr(each.constants) for each in found}) == len(numbers)
    x = (0.3, -0.7, 1.9)
    for one, apart in zip(all_, found, strict=True):
        np.testing.assert_array_equal(value(apart, *x), np.array(one(x)).ravel())
    written = found[0].function()  # one function serves all numbers
    for one, apart in zip(all_, found, strict=True):
        np.testing.assert_array_equal(np.array(written(x, apart.constants)), np.array(one(x)))
    return found[0]


@pytest.mark.parametrize(
    "expression",
    [
        lambda c, x, y, z: c * x + y,
        lambda c, x, y, z: x * c - ca.sin(c * y),
        lambda c, x, y, z: ca.if_else(x < c, y, z),
        lambda c, x, y, z: ca.fmin(c, x) + ca.fmax(y, c),
        lambda c, x, y, z: ca.atan2(x, c),
        lambda c, x, y, z: (c, x),
    ],
)
@pytest.mark.parametrize("numbers", [(0.5, 3.0, -7.25), (2.0, 1e-300, 2.5, 1e300)])
def test_numbers_are_no_part_of_the_structure(expression, numbers):
    assert_one_structure(expression, *numbers)


def test_a_divisor_is_a_factor():
    apart = assert_one_structure(lambda c, x, y, z: x / c + y, 0.25, 3.0, 0.5)
    assert apart.constants.tolist() == [4.0]
    assert not any(step[0] in (ca.OP_DIV, ca.OP_INV) for step in steps_of(apart.function()))


def steps_of(f):
    return [(f.instruction_id(k), f.instruction_input(k)) for k in range(f.n_instructions())]


def test_equal_numbers_are_no_other_structure():
    apart = [
        lifted(function(lambda x, y, z, a=a, b=b: a * x + b * ca.sin(y) - a * z)) for a, b in ((5.0, 6.0), (5.0, 5.0))
    ]
    assert apart[0].structure == apart[1].structure
    assert [each.constants.tolist() for each in apart] == [[5.0, 6.0, 5.0], [5.0, 5.0, 5.0]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x, y, z: 3.0 * x + y, lambda x, y, z: 3.0 * x - y),
        (lambda x, y, z: 3.0 * x + y, lambda x, y, z: 3.0 * y + x),
        (lambda x, y, z: 3.0 * x + y, lambda x, y, z: x + y),
        (lambda x, y, z: 3.0 * x + y, lambda x, y, z: (3.0 * x, y)),
        (lambda x, y, z: (3.0 * x, y), lambda x, y, z: (y, 3.0 * x)),
        (lambda x, y, z: x**2.5, lambda x, y, z: x**3.5),
        (lambda x, y, z: 3.0 - x, lambda x, y, z: x - 3.0),
        (lambda x, y, z: ca.fmin(x, INFINITY), lambda x, y, z: ca.fmin(x, 5.0)),
        (lambda x, y, z: ca.fmin(x, INFINITY), lambda x, y, z: ca.fmin(x, -INFINITY)),
        (lambda x, y, z: x < 0.0, lambda x, y, z: x < 3.0),
        (lambda x, y, z: ca.fmax(x, 0.0), lambda x, y, z: ca.fmax(x, 3.0)),
    ],
)
def test_other_programs_have_other_structures(one, other):
    assert lifted(function(one)).structure != lifted(function(other)).structure


@pytest.mark.parametrize("other", [4, (2, 2)])
def test_other_shapes_have_other_structures(other):
    x, y = ca.SX.sym("x", 3), ca.SX.sym("x", *np.atleast_1d(other).tolist())
    one, two = ca.Function("f", [x], [3.0 * x[0]]), ca.Function("f", [y], [3.0 * y[0]])
    assert lifted(one).structure != lifted(two).structure


@pytest.mark.parametrize("number", [0.0, NAN, INFINITY, -INFINITY])
def test_numbers_of_the_form_stay(number):
    f = function(lambda x, y, z: ca.if_else(x < 0.25, number, y))
    apart = lifted(f)
    assert apart.constants.tolist() == [0.25]
    for x in ((0.1, 7.0, 0.0), (0.3, 7.0, 0.0)):
        np.testing.assert_array_equal(value(apart, *x), np.array(f(x)).ravel())


def test_several_of_the_form_stay_in_their_places():
    f = function(lambda x, y, z: ca.if_else(x < 0.0, INFINITY, ca.if_else(y < 0.0, NAN, ca.fmax(x**2.5, z**0.3))))
    apart = lifted(f)
    assert not len(apart.constants)
    for x in ((-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (2.0, 1.0, 1.0), (0.1, 1.0, 2.0)):
        np.testing.assert_array_equal(value(apart, *x), np.array(f(x)).ravel())


def test_exponents_stay():
    assert not len(lifted(function(lambda x, y, z: x**2.5 + ca.power(y, 0.3))).constants)
    assert lifted(function(lambda x, y, z: 2.5**x)).constants.tolist() == [2.5]


def test_a_division_by_next_to_nothing():
    """1 / c is infinite, which no constant is."""
    apart = lifted(function(lambda x, y, z: x / 5e-324))
    assert not len(apart.constants)
    assert value(apart, 2.0, 0.0, 0.0).tolist() == [INFINITY]


def test_several_arguments_and_results_with_zeros():
    x, y = ca.SX.sym("x", 2), ca.SX(ca.Sparsity.lower(2))
    y = ca.SX.sym("y", ca.Sparsity.lower(2))
    f = ca.Function("f", [x, y], [ca.diag(x) * 3.5, y @ x + 0.3])
    apart = lifted(f)
    g = apart.function()
    given = [1.0, 2.0], ca.DM(ca.Sparsity.lower(2), [0.1, 0.2, 0.3])
    for one, other in zip(f(*given), g(*given, apart.constants), strict=True):
        assert one.sparsity() == other.sparsity()
        np.testing.assert_array_equal(np.array(one), np.array(other))
    assert g.n_in() == 3 and g.nnz_out(0) == 2 and apart.constants.tolist().count(3.5) == 2


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed):
    """Any operations, any numbers: the same values, but for a factor in the place of a divisor."""
    rng = np.random.default_rng(seed)
    unary = [ca.sin, ca.cos, ca.fabs, ca.tanh, lambda a: -a, lambda a: a * a, lambda a: ca.sqrt(1 + a * a), ca.exp]
    binary = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (2 + ca.sin(b)), ca.fmin]
    binary += [ca.atan2, lambda a, b: ca.if_else(a < b, a, -b), lambda a, b: ca.logic_and(a < 0, b > 0.5) + a]
    x = ca.SX.sym("x", 3)
    known = ca.vertsplit(x)
    for _ in range(60):
        a = known[rng.integers(len(known))]
        numbers = [0.0, 1.0, -1.0, 2.0, 0.5, 3.0, *rng.normal(size=6)]
        b = rng.choice(numbers) if rng.random() < 0.5 else known[rng.integers(len(known))]
        known.append(
            ca.tanh(unary[rng.integers(len(unary))](a) if rng.random() < 0.3 else binary[rng.integers(8)](a, b))
        )
    f = ca.Function("f", [x], [ca.densify(ca.vertcat(*known[-9:]))])
    apart, given = lifted(f), rng.normal(size=(7, 3))
    for row in given:
        np.testing.assert_allclose(value(apart, *row), np.array(f(row)).ravel(), rtol=1e-11, atol=1e-13)
    made = module.kernel(f)
    burnt = Kernel(f"test {seed} {apart.structure} {apart.constants.tolist()}", lambda: f)
    np.testing.assert_allclose(made.many(given), burnt.many(given), rtol=1e-11, atol=1e-13)  # sines of sines of ...
    np.testing.assert_allclose(made.one(given[0]), burnt.one(given[0]), rtol=1e-11, atol=1e-13)


# -- laws --------------------------------------------------------------------------------------------------------------


def slew(n=2, end=0.3, duration=0.5):
    return fa.Quintic((0.0,) * n, tuple(end + 0.1 * i for i in range(n)), duration)


@pytest.fixture(scope="module")
def planar():
    return fa.Model(fa.load("subudhi-morris"))


@pytest.fixture(scope="module")
def elastic():
    return fa.Model(fa.load("subudhi-morris-elastic"))


def chain(n=20):
    links = [
        fa.Link(
            name=f"l{i}",
            joint=fa.Revolute(axis=(0, 0, 1) if i % 2 else (0, 1, 0), rotor_inertia=0.01),
            body=fa.Rigid(length=0.5 - 0.01 * i, mass=1 + 0.1 * i, inertia=0.02 + 0.001 * i),
        )
        for i in range(n)
    ]
    return fa.Model(fa.Arm(name="chain", links=links, gravity=(0.0, 0.0, -9.81)))


def burnt(feedback):
    """The law with its numbers in the code."""
    n = len(feedback.model.coordinates)
    sizes = (1, n, n, len(feedback.law.memory), len(feedback.law.noise))
    x = [ca.SX.sym("x", k) for k in sizes]
    u, after = feedback.law(*x)
    f = ca.Function("law", [ca.vertcat(*x)], ca.cse([ca.densify(ca.vertcat(u, after(u)))]))
    return f, Kernel(f"burnt {f.serialize()}", lambda: f)


LAWS = {
    "pd": lambda: JointPD(slew(), 5.0, 2.0),
    "two gains": lambda: JointPD(slew(), (5.0, 3.0), (2.0, 0.5)),
    "computed torque": lambda: ComputedTorque(slew(), 5.0, 2.0),
    "decoupling": lambda: Decoupling(slew(), 5.0, 2.0),
    "saturated": lambda: Saturated(JointPD(slew(), 5.0, 2.0), (3.0, 2.0)),
    "integral": lambda: Integral(JointPD(slew(), 5.0, 2.0), 1.5),
    "lqr": lambda: LQR(joints=(0.1, 0.2), bandwidth=20.0),
}


@pytest.mark.parametrize("name", LAWS)
def test_a_law_gives_what_it_gave(name, planar):
    feedback = as_input(LAWS[name](), planar)
    f, fixed = burnt(feedback)
    made, rng = feedback.kernel, np.random.default_rng(3)
    x = rng.normal(size=(50, f.nnz_in()))
    x[:, 0] = np.linspace(-0.1, 0.7, 50)
    wanted = fixed.many(x)
    scale = np.abs(wanted).max(axis=0)
    assert (np.abs(made.many(x) - wanted) <= 10 * LAST_BITS * scale).all()
    for row in x[::10]:
        assert (np.abs(made.one(row) - fixed.one(row)) <= 10 * LAST_BITS * scale).all()
    n_in, k = made.code.facts["n_in"], len(made.constants)
    assert n_in == f.nnz_in() + k == made.vector_code.facts["n_in"] and k > 0
    if name not in ("two gains",):  # a factor of 2 is counted as the multiplication that it is now
        assert abs(made.code.operations - fixed.code.operations) <= 0.02 * fixed.code.operations + 2


def test_the_law_of_a_composite(elastic):
    """Of thousands of operations; what is designed from the arm differs in numbers too."""
    made = [as_input(Composite(slew(), Kp=Kp, Kd=4.0), elastic) for Kp in (4.0, 5.5)]
    assert made[0].kernel.code is made[1].kernel.code
    for each in made:
        f, fixed = burnt(each)
        x = 0.1 * np.random.default_rng(3).normal(size=(20, f.nnz_in()))
        wanted = fixed.many(x)
        assert (np.abs(each.kernel.many(x) - wanted) <= 10 * LAST_BITS * np.abs(wanted).max(axis=0)).all()
    assert not np.allclose(made[0].kernel.one(x[0]), made[1].kernel.one(x[0]))


@pytest.fixture
def compiles_nothing(monkeypatch):
    """From when it is called on."""

    def forbid():
        def refuse(text, effort):
            raise AssertionError(f"compiled: {text[:80]}")

        monkeypatch.setattr("flexarm.native.kernel._compile", refuse)

    return forbid


VARIED = {
    "pd": lambda a: JointPD(slew(end=0.3 * a, duration=0.51 * a), 5.1 * a, 2.1 * a),
    "computed torque": lambda a: ComputedTorque(slew(), (5.1 * a, 5.1), 2.1 * a),
    "integral": lambda a: Integral(JointPD(slew(), 5.1, 2.1), 1.5 * a),
    "lqr": lambda a: LQR(joints=(0.1, 0.2), bandwidth=20.0 * a),
    "sampled": lambda a: Sampled(JointPD(slew(), 5.1 * a, 2.1), 0.01, limit=3.0 * a, rate_limit=100.0 * a),
    "delayed": lambda a: Sampled(JointPD(slew(), 5.1 * a, 2.1), 0.01, delay=0.01, limit=1.1 / a),
    "inverse dynamics": lambda a: fa.RigidInverseDynamics(slew(end=0.3 * a, duration=0.51 * a)),
    "prescribed": lambda a: fa.PrescribedMotion(slew(end=0.3 * a, duration=0.51 * a)),
    "function": lambda a: Sampled(lambda t, q, qd: [a * 3.0 * t, -q[0]], 0.01, limit=2.5 * a, rate_limit=70.0 * a),
}


@pytest.mark.parametrize("name", VARIED)
def test_other_numbers_compile_nothing(name, planar, compiles_nothing):
    def run(a):
        return fa.simulate(
            planar, 0.3, u=VARIED[name](a), samples=7, solver=fa.Solver(method="rk4", step=1e-3), progress=False
        )

    first = run(1.0)
    compiles_nothing()
    other = run(1.1)
    assert np.abs(other.u.values - first.u.values).max() > 1e-5  # and yet they are others


def test_an_arm_with_other_numbers_compiles_nothing(compiles_nothing):
    """Of a law that is derived from it, too."""
    model = fa.Model(fa.load("subudhi-morris"), vary=["payload.mass", "fore.EI"])

    def run(p, Kp):
        given = model.at(p)
        return fa.simulate(given, 0.3, u=ComputedTorque(slew(), Kp, 2.1), samples=7, method="dop853", progress=False)

    first = run(1.01 * model.p, 5.1)
    compiles_nothing()
    other = run(1.2 * model.p, 5.2)
    assert np.abs(other.u.values - first.u.values).max() > 1e-3


@pytest.mark.parametrize("method", ["dop853", "rk4", "radau5", "tsit5"])
@pytest.mark.parametrize("name", ["pd", "integral", "sampled", "inverse dynamics", "prescribed"])
def test_a_run_is_what_it_was(name, method, planar, monkeypatch):
    """With the numbers in the code: a kernel without constants."""

    def run():
        step = {"solver": fa.Solver(step=1e-3)} if method == "rk4" else {}
        return fa.simulate(planar, 0.3, u=VARIED[name](1.3), samples=7, method=method, progress=False, **step)

    found = run()
    nothing = np.empty(0)
    monkeypatch.setattr(
        module, "lifted", lambda f: module.Lifted(f"burnt {f.serialize()}", nothing, lambda: with_no_constants(f))
    )
    monkeypatch.setattr(module, "_BY_KEY", Recent(1))
    monkeypatch.setattr(module, "read", lambda name: None)
    monkeypatch.setattr(module, "write", lambda name, content: None)
    monkeypatch.setattr("flexarm.simulation.block.kernel_of", lambda key, trace: module.kernel(trace()))
    wanted = run()
    for variable in ("q", "qd", "u"):
        scale = np.abs(wanted[variable].values).max()
        # rounding of the law, carried on by the motion and by the steps that are chosen
        np.testing.assert_allclose(found[variable].values, wanted[variable].values, rtol=0, atol=1e-9 * scale)


def with_no_constants(f):
    return ca.Function(f.name(), [*f.sx_in(), ca.SX.sym("constants", 0)], [f(*f.sx_in())])


def test_many_states_with_constants_of_their_own(planar):
    """In lanes each state may have its own law: of one machine code, with the constants behind the state."""
    laws = [as_input(JointPD(slew(end=0.1 * i), 5.0 + i, 2.0 + 0.1 * i), planar).kernel for i in range(1, 1 + LANES)]
    assert len({id(each.vector_code) for each in laws}) == 1
    x = np.random.default_rng(1).normal(size=(LANES, laws[0].code.facts["n_in"] - len(laws[0].constants)))
    rows = np.hstack([x, [each.constants for each in laws]])
    for row, each in zip(x, laws, strict=True):
        np.testing.assert_allclose(each.many(row[None])[0], each.one(row), rtol=1e-13, atol=1e-13)
    found = laws[0].many_states([rows])[0]
    np.testing.assert_allclose(
        found, [each.one(row) for row, each in zip(x, laws, strict=True)], rtol=1e-13, atol=1e-13
    )


# -- loops -------------------------------------------------------------------------------------------------------------


def test_links_that_are_alike_remain_so():
    """A long chain's law is loops, with its numbers as inputs as with them in the code."""
    model = chain()
    n = len(model.coordinates)
    gains = tuple(5.0 + 0.1 * i for i in range(n))
    feedback = as_input(ComputedTorque(slew(n), gains, 2.1), model)
    f, fixed = burnt(feedback)
    apart = lifted(f)
    before, after = (repeats(instructions(each)) for each in (f, apart.function()))
    saved = [sum((each.rounds - 1) * each.period for each in found) for found in (before, after)]
    assert saved[1] >= saved[0] > 200
    x = 0.3 * np.random.default_rng(1).normal(size=(5, f.nnz_in()))
    wanted = fixed.many(x)
    assert (np.abs(feedback.kernel.many(x) - wanted) <= LAST_BITS * np.abs(wanted).max(axis=0)).all()


# -- what is kept ------------------------------------------------------------------------------------------------------


def test_a_key_is_traced_once(monkeypatch):
    f = function(lambda x, y, z: 3.25 * x + ca.sin(17.5 * y))
    key = f"test {np.random.default_rng().integers(2**60)}"
    first = module.kernel_of(key, lambda: f).one(np.ones(3))

    def refuse():
        raise AssertionError("traced again")

    assert module.kernel_of(key, refuse).one(np.ones(3)) == first
    monkeypatch.setattr(module, "_BY_KEY", Recent(4))  # as in another process
    again = module.kernel_of(key, refuse)
    assert again.one(np.ones(3)) == first and again.constants.tolist() == [3.25, 17.5]
    monkeypatch.setattr(module, "_BY_KEY", Recent(4))
    monkeypatch.setattr(module, "_BY_STRUCTURE", Recent(4))
    monkeypatch.setattr("flexarm.native.kernel.read", lambda name: None)  # the code is lost, the numbers are not
    assert module.kernel_of(key, lambda: f).one(np.ones(3)) == first


def test_those_used_last_are_kept():
    recent, made = Recent(3), []

    def make(key):
        return recent(key, lambda: made.append(key) or key.upper())

    assert [make(key) for key in "abcacdab"] == [*"ABCACDAB"]
    assert "".join(made) == "abcdb"


def test_large_objects_leave_room_for_fewer():
    """Also one that has grown since it was stored, and one that is too large by itself."""
    sizes = {"a": 1, "b": 2, "c": 3, "d": 9}
    recent, made = Recent(6, lambda key: sizes[key]), []

    def make(key):
        return recent(key, lambda: (made.append(key), key)[1])

    assert [make(key) for key in "abcabc"] == [*"abcabc"] and "".join(made) == "abc"
    sizes["c"] = 4  # a and b are older, and a is the first to leave
    assert [make(key) for key in "cbcba"] == [*"cbcba"] and "".join(made) == "abca"
    assert [make(key) for key in "ddb"] == [*"ddb"] and "".join(made) == "abcaddb"


def test_threads_share_what_is_compiled(planar, monkeypatch):
    """Each with numbers of its own, new to the process, at once: one machine code, and each its own numbers."""
    monkeypatch.setattr(module, "_BY_STRUCTURE", Recent(2))
    monkeypatch.setattr(module, "_BY_KEY", Recent(2))
    x = np.concatenate([[0.1], 0.1 * np.random.default_rng(0).normal(size=12)])
    found, start = {}, threading.Barrier(8)

    def work(i):
        start.wait()
        law = as_input(JointPD(slew(), 5.1 + i, 2.1), planar).kernel
        key = f"threads {i % 3} {os.getpid()}"
        known = module.kernel_of(key, lambda: function(lambda x, y, z: (3.1 + i % 3) * x + ca.tanh(y)))
        found[i] = law.code, law.one(x), known.one(x[:3])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len({id(code) for code, _, _ in found.values()}) == 1
    for i, (_, u, known) in found.items():
        np.testing.assert_array_equal(u, as_input(JointPD(slew(), 5.1 + i, 2.1), planar).kernel.one(x))
        assert known == pytest.approx((3.1 + i % 3) * x[0] + np.tanh(x[1]), rel=1e-14)


def test_it_belongs_to_its_process(planar):
    kernel = as_input(LAWS["pd"](), planar).kernel
    assert copy.deepcopy(kernel) is kernel
    with pytest.raises(
        TypeError, match=r"^a kernel belongs to its process; pickle the model, the controller or the input$"
    ):
        pickle.dumps(kernel)


def test_a_feedback_is_asked_at_many_states(planar):
    feedback = Feedback(JointPD(slew(), 5.0, 2.0).law(planar), planar, "pd")
    n = len(planar.coordinates)
    t, q, qd = np.linspace(0, 1, 11), *np.random.default_rng(0).normal(size=(2, 11, n))
    u = feedback.output(planar, t, q, qd, np.empty((11, 0)))
    for i in range(11):
        np.testing.assert_allclose(u[i], feedback.kernel.one(np.concatenate([[t[i]], q[i], qd[i]])), rtol=1e-13)
