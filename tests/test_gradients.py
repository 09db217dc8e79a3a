"""Gradients of runs, against closed forms and against differences of runs that are replayed in NumPy.

`FLEXARM_RANDOM_ARMS=100` takes a hundred random arms in place of three.
"""

import os

import casadi as ca
import numpy as np
import pytest
from driven_loops import bars, four_bar
from replayed import STENCIL, VARIED, RandomRun, columns, difference, replayed
from scipy.linalg import expm, null_space

import flexarm as fa
from flexarm.attitude import displaced
from flexarm.control import LQR, JointPD, Law, Observed, Sampled
from flexarm.model import closures
from flexarm.native.kernel import loaded
from flexarm.native.translate import optimized
from flexarm.simulation import adjoint, adjoint_implicit, gradient_slopes, solvers
from flexarm.simulation.explicit import filled
from flexarm.simulation.rhs import NAN
from flexarm.simulation.sweep import Sweep

COUNT = int(os.environ.get("FLEXARM_RANDOM_ARMS", "0"))
FEW = 14, 32, 44
"""Random arms: small ones, which compile fast, with each kind of input."""
NUMBERS = range(COUNT) if COUNT else FEW
STIFF = {1: 1e-3, 6: 5e-4, 13: 2e-4, 23: 2e-4, 24: 2e-4, 49: 2e-5, 74: 2e-4, 84: 2e-5, 89: 2e-4}
"""Shorter steps [s] for arms whose friction is stiffer than their elasticity."""
EXACT = 1e-9


@pytest.mark.parametrize("number", NUMBERS)
def test_gradients_of_random_arms_are_differences_of_replayed_runs(number):
    try:
        off, uncertain = RandomRun(number, longest=STIFF.get(number, 0.02)).apart()
    except (fa.DescriptionError, fa.SimulationError) as error:
        if number in FEW:
            raise
        pytest.skip(str(error))
    assert off < max(EXACT, 3 * uncertain), (off, uncertain)
    assert uncertain < EXACT


IMPLICIT = dict.fromkeys(NUMBERS, "radau5") if COUNT else {0: "radau9", 61: "gauss4", 45: "radau5"}


@pytest.mark.parametrize("number", IMPLICIT)
def test_gradients_of_implicit_methods_are_differences_of_replayed_runs(number):
    """Two steps of each, whose stages the replay finds by iteration. One of the arms has a free base."""
    try:
        off, uncertain = RandomRun(number, IMPLICIT[number], STIFF.get(number, 0.02), steps=2).apart()
    except (fa.DescriptionError, fa.SimulationError) as error:
        if not COUNT:
            raise
        pytest.skip(str(error))
    assert off < max(EXACT, 3 * uncertain), (off, uncertain)
    assert uncertain < EXACT


def central(value, h):
    """Central difference of order 8 of a function of one number at zero."""
    return sum(c * (value(j * h) - value(-j * h)) for j, c in STENCIL.items()) / h


def best(value, sizes=(1e-1, 3e-2, 1e-2, 3e-3)):
    """Central difference of a function of one number at zero that agrees best with its neighbour, and how well."""
    found = np.array([central(value, h) for h in sizes])
    i = int(np.abs(np.diff(found)).argmin())
    return found[i + 1], abs(found[i + 1] - found[i])


@pytest.mark.filterwarnings("ignore::flexarm.errors.FlexarmWarning")  # about random gains and steps
@pytest.mark.parametrize("kind", ["continuous", "sampled"])
@pytest.mark.parametrize("number", range(COUNT) if COUNT else (14,))
def test_gradients_of_random_arms_under_controllers_are_differences_of_runs(number, kind):
    """Gains, points and times of a reference, start and parameters, together along one direction.

    Values of runs with fixed steps need no derivative. Half of the runs are integrated by an implicit method.
    """
    random = RandomRun(number, longest=STIFF.get(number, 0.02))
    run, rng, m = random.run, np.random.default_rng([number, 9]), len(random.model.arm.driven)
    step = run["until"] / 8
    method = ("rk4", "gauss4")[(number + (kind == "sampled")) % 2]
    x = {"Kp": 2.0 + rng.random(m), "Kd": 0.5 + rng.random(m), "points": 0.1 * rng.normal(size=(2, m))}
    x |= {"qd0": np.asarray(run["qd0"]), "p": random.model.p}
    d = {name: 0.1 * rng.normal(size=value.shape) * (np.abs(value) + (name == "qd0")) for name, value in x.items()}

    def moved(size):
        """The run with all numbers moved along the direction."""
        now = {name: value + size * d[name] for name, value in x.items()}
        reference = fa.MinimumJerk(now["points"], [0.0, 3 * run["until"]])
        pd = JointPD(reference, Kp=now["Kp"], Kd=now["Kd"], filter=1.0 / step)
        u = pd if kind == "continuous" else Sampled(pd, period=2 * step, delay=2 * step)
        solver = fa.Solver(method=method, step=step, rtol=1e-13, atol=1e-15)
        return run | {"u": u, "qd0": now["qd0"], "p": now["p"], "solver": solver, "method": None}

    before = "u." if kind == "continuous" else "u.controller."
    names = {"qd0": "qd0", "p": "p", "Kp": f"{before}Kp", "Kd": f"{before}Kd", "points": f"{before}reference.points"}
    scalars = {"of": lambda q, qd: ca.sumsqr(ca.sin(q)) + ca.sumsqr(ca.tanh(qd)), "integral": lambda u: ca.sumsqr(u)}
    try:
        found = fa.gradient(moved(0.0), [*names.values()], **scalars)
        expected, uncertain = best(lambda size: fa.gradient(moved(size), "qd0", **scalars).value)
    except (fa.DescriptionError, fa.SimulationError) as error:
        if not COUNT:
            raise
        pytest.skip(str(error))
    parts = [float((found[name] * d[short]).sum()) for short, name in names.items()]
    scale = sum(map(abs, parts))
    assert abs(sum(parts) - expected) < max(EXACT * scale, 3 * uncertain), (sum(parts), expected, uncertain / scale)
    if COUNT and uncertain > 10 * EXACT * scale:
        pytest.skip("differences of this stiff arm are not accurate enough")
    assert uncertain < 10 * EXACT * scale


@pytest.mark.parametrize("kind", ["linear", "cubic"])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 9])
def test_derivatives_by_the_values_of_a_table_are_sums_over_unit_tables(kind, count):
    rng = np.random.default_rng(count)
    times = np.cumsum(rng.uniform(0.1, 1.0, count))
    table, units = (fa.Table(times, values, kind) for values in (rng.normal(size=(count, 3)), np.eye(count)))
    weights = rng.normal(size=table.cubics[1].shape)
    expected = np.einsum("jkp,jmp->km", units.cubics[1], weights)
    found = gradient_slopes._of_table(table, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


# -- closed forms


def mass_on_spring():
    """A mass of 1.7 kg on a slide, with a parallel spring and a damper in its bearing."""
    drive = fa.Drive(parallel=fa.Parallel(stiffness=30.0))
    joint = fa.Prismatic(axis=(1, 0, 0), damping=0.4, drive=drive)
    link = fa.Link(name="cart", joint=joint, body=fa.Rigid(length=0.3, mass=1.7))
    return fa.Model(fa.Arm(name="spring", links=[link], gravity=(0, 0, 0)), vary=["cart.mass"])


def test_a_linear_run_has_the_gradient_of_the_matrix_exponential():
    """q(T) = e1' (expm(A T) x + sum of integrals of expm(A (T - t)) B u), with u constant in five intervals."""
    model, T = mass_on_spring(), 0.9
    A = np.array([[0.0, 1.0], [-30.0 / 1.7, -0.4 / 1.7]])
    times, values = np.arange(5) * T / 5, np.array([0.4, -1.0, 0.7, 0.2, -0.3])
    run = {"model": model, "until": T, "u": fa.Piecewise(times, values), "q0": [0.2], "qd0": [-0.5], "rtol": 1e-12}
    found = fa.gradient(run, ["q0", "qd0", "u"], of=lambda q: q)
    np.testing.assert_allclose([*found["q0"], *found["qd0"]], expm(A * T)[0], rtol=1e-9)
    full = np.zeros((3, 3))
    full[:2, :2], full[1, 2] = A, 1.0 / 1.7
    part = expm(full * T / 5)
    by_hand = [(np.linalg.matrix_power(part[:2, :2], 4 - i) @ part[:2, 2])[0] for i in range(5)]
    assert found["u"].shape == (5, 1)
    np.testing.assert_allclose(found["u"][:, 0], by_hand, rtol=1e-9)
    assert found.value == pytest.approx(fa.simulate(**run).q.values[-1, 0], abs=1e-13)
    assert repr(found).startswith("Gradient(value ") and "u (5, 1); dop853, " in repr(found)
    with pytest.raises(KeyError, match="the gradient has no 'p'; it has q0, qd0, u"):
        found["p"]


def test_a_constant_input_an_integral_and_a_parameter():
    """A free mass: q = q0 + v t + u t^2 / (2 m), exact for RK4; the integral of q over T, and its slopes."""
    link = fa.Link(name="cart", joint=fa.Prismatic(axis=(1, 0, 0)), body=fa.Rigid(length=0.3, mass=1.7))
    model = fa.Model(fa.Arm(name="cart", links=[link], gravity=(0, 0, 0)), vary=["cart.mass"])
    T, u, m = 0.8, 2.3, 1.9
    run = {"model": model, "until": T, "u": u, "q0": [0.3], "qd0": [0.7], "p": [m], "samples": 4}
    run |= {"method": "rk4", "solver": fa.Solver(method="rk4", step=0.1)}
    found = fa.gradient(run, ["q0", "qd0", "u", "p"], integral=lambda q, t, p, u: q + 2 * t * u + p[0] ** 2)
    assert found.value == pytest.approx(0.3 * T + 0.7 * T**2 / 2 + u * T**3 / 6 / m + u * T**2 + m**2 * T, rel=1e-13)
    np.testing.assert_allclose([found["q0"][0], found["qd0"][0]], [T, T**2 / 2], rtol=1e-13)
    np.testing.assert_allclose(found["u"], [T**3 / 6 / m + T**2], rtol=1e-13)
    np.testing.assert_allclose(found["p"], [-u * T**3 / 6 / m**2 + 2 * m * T], rtol=1e-13)


def test_values_at_several_times_are_summed_with_data():
    """The slopes of sum (q(t_k) - y_k)^2 of the free mass."""
    link = fa.Link(name="cart", joint=fa.Prismatic(axis=(1, 0, 0)), body=fa.Rigid(length=0.3, mass=1.7))
    run = {"model": fa.Arm(name="cart", links=[link], gravity=(0, 0, 0)), "until": 0.8, "u": 2.3, "q0": [0.3]}
    times, data = np.array([0.0, 0.31, 0.8]), np.array([0.1, 0.5, -0.2])
    q = 0.3 + 2.3 * times**2 / 2 / 1.7
    for method in ("rk4", "tsit5"):
        more = {"solver": fa.Solver(method="rk4", step=0.1)} if method == "rk4" else {"method": method}
        found = fa.gradient(run | more, ["q0", "qd0"], of=lambda q, data: (q - data) ** 2, times=times, data=data)
        assert found.value == pytest.approx(((q - data) ** 2).sum(), rel=1e-12)
        assert found["q0"][0] == pytest.approx((2 * (q - data)).sum(), rel=1e-12)
        assert found["qd0"][0] == pytest.approx((2 * (q - data) * times).sum(), rel=1e-12)


@pytest.mark.parametrize("method", ["dop853", "gauss8"])
def test_energies_of_a_run_and_their_slopes(method):
    """kinetic + potential - work + dissipated is the energy at the start, whose slopes are known."""
    model = mass_on_spring()
    run = {"model": model, "until": 0.5, "u": fa.Table([0.0, 0.5], [1.0, -2.0], "linear"), "q0": [0.2], "qd0": [-0.5]}
    run |= {"rtol": 1e-12, "method": method}

    def energy(kinetic, potential, work, dissipated):
        return kinetic + potential - work + dissipated

    found = fa.gradient(run, ["q0", "qd0", "u", "p"], of=energy)
    np.testing.assert_allclose(found["q0"], [30.0 * 0.2], rtol=1e-9)
    np.testing.assert_allclose(found["qd0"], [1.7 * -0.5], rtol=1e-9)
    np.testing.assert_allclose(found["u"], 0.0, atol=1e-9)
    np.testing.assert_allclose(found["p"], [0.5 * 0.5**2], rtol=1e-8)
    result = fa.simulate(**run)
    for name in ("work", "dissipated", "kinetic"):
        assert fa.gradient(run, "q0", of=name).value == pytest.approx(float(result[name][-1]), rel=1e-9)


@pytest.mark.parametrize("many", [False, True])
def test_a_run_that_loses_energy_warns(many):
    """Long steps of a pendulum: simulate warns, and its gradient in the same words."""
    link = fa.Link(name="rod", body=fa.Rigid(length=0.8, mass=1.5))
    run = {"model": fa.Model(fa.Arm(name="pendulum", links=[link], gravity=(0, -9.81, 0))), "until": 6.0}
    run |= {"q0": [0.3], "qd0": [1.0], "solver": fa.Solver(method="rk4", step=0.2), "samples": 4}
    with pytest.warns(fa.errors.EnergyDrift, match="the step of 0.2 s is too long") as simulated:
        fa.simulate(**run)
    if many:
        run |= {"q0": [[0.3], [0.0], [0.1]], "qd0": [[1.0], [0.0], [0.0]]}
    with pytest.warns(fa.errors.EnergyDrift) as warned:
        fa.gradient(run, "qd0", of=lambda q: q)
    said = str(simulated[0].message)
    assert str(warned[0].message) == "gradient: " + ("of run 0, " if many else "") + said
    assert warned[0].filename == __file__


# -- one flexible arm


@pytest.fixture(scope="module")
def arm():
    return fa.Model(fa.load("subudhi-morris"), vary=["payload.mass"])


@pytest.mark.parametrize("method", ["dop853", "tsit5"])
def test_adaptive_steps_are_constants_of_the_derivative(arm, method):
    rng = np.random.default_rng(1)
    u = rng.normal(size=(3, 2))
    run = {"model": arm, "until": 0.06, "u": fa.Piecewise([0.0, 0.02, 0.04], u), "q0": 0.01 * rng.normal(size=6)}
    run |= {"qd0": 0.01 * rng.normal(size=6), "method": method, "rtol": 1e-7}
    names = ["q0", "qd0", "p", "u"]
    found = fa.gradient(run, names, of=lambda q, qd: ca.sumsqr(q) + ca.sumsqr(qd), integral=lambda u: ca.sumsqr(u))
    d = {"q0": 0.003, "qd0": 0.1, "p": 0.01, "u": 0.3}
    d = {name: size * rng.normal(size=found[name].shape) for name, size in d.items()}
    start = {"q": columns(run["q0"], d["q0"]), "qd": columns(run["qd0"], d["qd0"]), "p": columns(arm.p, d["p"])}
    start |= dict.fromkeys(("s", "w"), np.zeros((0, len(VARIED))))

    def at(t, begin):
        k = int(begin / 0.02 + 1e-9)
        return columns(u[k], d["u"][k])

    x, total = replayed(arm, solvers.EXPLICIT[method], found.times, start, at, lambda t, v: (v["u"] ** 2).sum(axis=0))
    expected, uncertain = difference((x**2).sum(axis=0) + total)
    parts = [float((found[name] * d[name]).sum()) for name in names]
    assert abs(sum(parts) - expected) < EXACT * sum(map(abs, parts)), uncertain
    assert len(found.times) - 1 == len(np.unique(found.times)) - 1 > 6


def test_steps_that_are_computed_again_give_the_same_gradient(arm, monkeypatch):
    """A record of few steps: earlier ones are computed again, also across jumps of the input."""
    rng = np.random.default_rng(2)
    run = {"model": arm, "until": 0.1, "u": fa.Piecewise([0.0, 0.03, 0.07], rng.normal(size=(3, 2)))}
    for method in ({"method": "dop853"}, {"solver": fa.Solver(method="rk4", step=1e-3)}):
        more, scalars = run | method, {"of": lambda q: ca.sumsqr(q), "integral": lambda q: q[0]}
        whole = fa.gradient(more, ["q0", "u", "p"], **scalars)
        with monkeypatch.context() as patched:
            patched.setattr(adjoint, "RING", 1)
            patched.setattr(adjoint, "FEWEST", 7)
            again = fa.gradient(more, ["q0", "u", "p"], **scalars)
        assert len(whole.times) > 8
        for name in ("q0", "u", "p"):
            np.testing.assert_allclose(again[name], whole[name], rtol=1e-13, atol=1e-15)
        assert whole.value == again.value


def test_an_arm_at_rest_has_the_gradient_of_small_steps(arm):
    """Nothing moves, so error control alone would allow steps in which the derivatives of the modes explode."""
    run = {"model": arm, "until": 0.3, "u": fa.Piecewise([0.0, 0.1], np.zeros((2, 2)))}
    fine = run | {"solver": fa.Solver(method="rk4", step=1e-4), "samples": 2}
    found, exact = (fa.gradient(each, ["u", "qd0"], of=lambda q: q[0] + q[2]) for each in (run, fine))
    for name in ("u", "qd0"):
        np.testing.assert_allclose(found[name], exact[name], rtol=1e-6, atol=1e-8 * np.abs(exact[name]).max())
    pd = JointPD(reference=[0.0, 0.0], Kp=5.0, Kd=1.0, filter=3000.0)  # faster than the modes
    found, exact = (fa.gradient(each | {"u": pd}, "qd0", of=lambda q: q[0] + q[2]) for each in (run, fine))
    np.testing.assert_allclose(found["qd0"], exact["qd0"], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("method", ["radau9", "gauss4"])
def test_iteration_and_elimination_solve_the_same_systems(arm, method, monkeypatch):
    """A fast motion, in which the slopes of earlier steps are computed again, under a controller with a memory."""
    rng = np.random.default_rng(5)
    run = {"model": arm, "until": 0.3, "q0": 0.3 * rng.normal(size=6), "qd0": rng.normal(size=6)}
    run |= {"u": JointPD(reference=[0.4, 0.3], Kp=5.0, Kd=1.0, filter=40.0), "method": method, "rtol": 1e-4}
    names, scalars = ["q0", "p", "u.Kp"], {"of": lambda q, qd: ca.sumsqr(q) + qd[3], "integral": lambda u: u[1] ** 2}
    found = fa.gradient(run, names, **scalars)

    def again(**changed):
        """The gradient by code in which some names of the module are changed."""
        with monkeypatch.context() as patched:
            for name, value in changed.items():
                patched.setattr(adjoint_implicit, name, value)
            code = loaded(optimized(adjoint.repeated, adjoint.swept), ("repeated", "swept"))
            patched.setattr(adjoint, "CODE", lambda: code)
            return fa.gradient(run, names, **scalars)

    iterated, eliminated = again(eliminate=without_solution), again(ITERATIONS=0)
    assert found.value == iterated.value == eliminated.value
    for name in names:
        np.testing.assert_array_equal(found[name], iterated[name])  # every step converged
        within = {"rtol": 1e-10, "atol": 1e-11 * np.abs(found[name]).max()}
        np.testing.assert_allclose(found[name], eliminated[name], **within)
    assert (found["q0"] != eliminated["q0"]).any()


def without_solution(s: Sweep, h: float) -> None:
    """Take the place of the elimination, and leave no number."""
    filled(s.bars, NAN * h, s.stages * s.states)


LOOPS = {
    "continuous": (lambda pd: pd, "u."),
    "sampled": (lambda pd: Sampled(pd, period=4e-3, delay=4e-3, limit=3.0), "u.controller."),
}


@pytest.mark.parametrize("method", ["rk4", "radau5"])
@pytest.mark.parametrize("loop", LOOPS)
def test_a_controller_takes_part(arm, loop, method):
    """JointPD with a filter, which has a memory, along a reference that also sets the start of the joints.

    The derivatives along a direction of all numbers at once are differences of the value, which needs no derivative.
    """
    wrapped, before = LOOPS[loop]
    points = np.array([[0.02, 0.03], [0.3, 0.2]])
    gains = {"Kp": np.array([5.0, 4.0]), "Kd": 1.0, "filter": 40.0, "reference.points": points}
    rng = np.random.default_rng(4)
    run = {"model": arm, "until": 0.05, "qd0": 0.1 * rng.normal(size=6), "samples": 2}
    run |= {"solver": fa.Solver(method=method, step=5e-4, rtol=1e-13, atol=1e-15)}
    scalars = {"of": lambda q, qd: ca.sumsqr(q) + ca.sumsqr(qd), "integral": lambda u, q: ca.sumsqr(u) + q[1]}

    def moved(size):
        """The run with all numbers moved along the direction."""
        now = {name: x + size * d.get(before + name, 0.0) for name, x in gains.items()}
        pd = JointPD(fa.MinimumJerk(now.pop("reference.points"), [0.0, 0.3]), **now)
        return run | {
            "u": wrapped(pd),
            "qd0": run["qd0"] + size * d.get("qd0", 0.0),
            "p": arm.p + size * d.get("p", 0.0),
        }

    d: dict = {}
    names = ["qd0", "p", *(before + name for name in gains)]
    found = fa.gradient(moved(0.0), names, **scalars)
    scale = {"qd0": 0.1, "p": 0.01} | {before + name: 0.1 * x for name, x in gains.items()}
    d |= {name: scale[name] * rng.normal(size=found[name].shape) for name in names}
    parts = [float((found[name] * d[name]).sum()) for name in names]
    expected = central(lambda size: fa.gradient(moved(size), "qd0", **scalars).value, 3e-2)
    assert abs(sum(parts) - expected) < EXACT * sum(map(abs, parts))
    assert min(map(abs, parts)) > 1e-6 * max(map(abs, parts))


def test_the_design_of_a_controller_is_differentiated(arm):
    """The bandwidth of an LQR, whose gains come from Riccati's equation, in a run divided by times of the scalar."""
    run = {"model": arm, "until": 0.02, "qd0": np.full(6, 0.1), "samples": 2}
    run |= {"solver": fa.Solver(method="rk4", step=1e-3)}

    def found(bandwidth):
        u = Sampled(LQR(joints=[0.1, 0.2], bandwidth=bandwidth), period=5e-3)
        return fa.gradient(run | {"u": u}, "u.controller.bandwidth", of=lambda qd: ca.sumsqr(qd), times=[0.0075, 0.02])

    e = 0.02
    a, b, c, d = (found(5.0 + k * e).value for k in (-2, -1, 1, 2))
    assert float(found(5.0)["u.controller.bandwidth"]) == pytest.approx((8 * (c - b) - (d - a)) / (12 * e), rel=1e-6)


# -- closed loops


@pytest.fixture(scope="module")
def four_bar_model():
    return fa.Model(four_bar(flexible=True), vary=["crank.mass", "coupler.length"])


def assembled_at(model, crank):
    """Coordinates and rates of the four-bar with a flexible coupler at an angle of the crank, by Newton's method."""
    coupler, rocker = bars(crank)
    q = fa.assemble(model.arm, [crank, coupler - crank + 0.02, rocker - 0.01, 0.003, -0.002], held=["crank.joint"])
    free = null_space(closures.jacobian(model, q), rcond=1e-9)
    return q, free @ (free.T @ np.array([1.3, 0.0, 0.0, 0.0, 0.0]))


@pytest.mark.parametrize("method", ["rk4", "radau5"])
def test_closures_take_part_with_their_corrections(four_bar_model, method):
    """States are moved onto the closures at each stage; the derivatives are differences of the value."""
    model, rng = four_bar_model, np.random.default_rng(0)
    values, d, times = rng.normal(size=(2, 1)), rng.normal(size=(2, 1)), [0.0, 0.01]
    scalars = {"of": lambda q, qd, tip: ca.sumsqr(q) + 0.1 * ca.sumsqr(qd) + tip[0] * tip[1]}
    scalars["integral"] = lambda t, u, q, p: ca.sumsqr(u) + t * q[1] * p[0]
    q, qd = assembled_at(model, 0.9)
    run = {"model": model, "until": 0.02, "u": fa.Piecewise(times, values), "q0": q, "qd0": qd, "p": model.p}
    run |= {"solver": fa.Solver(method=method, step=1e-3, rtol=1e-10, atol=1e-12), "samples": 2}
    found = fa.gradient(run, ["q0", "qd0", "p", "u"], **scalars)
    adaptive = fa.gradient(run | {"method": "dop853", "solver": None}, "u", **scalars)
    assert found.value == pytest.approx(adaptive.value, rel=1e-4)
    np.testing.assert_allclose(adaptive["u"], found["u"], rtol=1e-3)

    def value(**more):
        return fa.gradient(run | more, "qd0", **scalars).value

    expected = central(lambda s: value(u=fa.Piecewise(times, values + s * d)), 1e-2)
    assert (found["u"] * d).sum() == pytest.approx(expected, rel=1e-8)
    starts = {s: assembled_at(model, 0.9 + s) for j in STENCIL for s in (1e-3 * j, -1e-3 * j)}
    along = [central(lambda s, k=k: starts[s][k], 1e-3) for k in (0, 1)]
    expected = central(lambda s: value(q0=starts[s][0], qd0=starts[s][1]), 1e-3)
    assert found["q0"] @ along[0] + found["qd0"] @ along[1] == pytest.approx(expected, rel=1e-8)
    for i, (h, within) in enumerate(((1e-2, 1e-8), (1e-7, 1e-6))):  # another length leaves a gap, at most 1e-6
        e = np.eye(2)[i]
        assert found["p"][i] == pytest.approx(central(lambda s, e=e: value(p=model.p + s * e), h), rel=within)


def test_a_start_that_is_assembled_has_no_derivative_by_parameters(four_bar_model):
    with pytest.raises(fa.DescriptionError, match="has p, but arm 'four-bar' has closures: give the run q0 and qd0"):
        fa.gradient({"model": four_bar_model, "until": 0.01}, "p", of="kinetic")


# -- many runs


def alone(run, i):
    """The i-th of many runs."""
    many = [name for name, x in run.items() if isinstance(x, list) or (isinstance(x, np.ndarray) and x.ndim == 2)]
    return run | {name: run[name][i] for name in many}


def equal_to_each(run, names, indices, rounding=1e-12, **scalars):
    """The gradient of many runs, after a comparison with that of some of them alone."""
    found = fa.gradient(run, names, **scalars)
    for i in indices:
        one = fa.gradient(alone(run, i), names, **scalars)
        assert found.value[i] == pytest.approx(one.value, rel=1e-12)
        for name in names:
            within = rounding * np.abs(one[name]).max()
            np.testing.assert_allclose(found[name][i], one[name], rtol=1e-12, atol=within, err_msg=name)
    return found


@pytest.fixture
def batches(monkeypatch):
    """The numbers of runs whose adjoints were computed at once."""
    seen, swept = [], adjoint.Recorded.swept
    monkeypatch.setattr(adjoint.Recorded, "swept", lambda self, *more: seen.append(self.width) or swept(self, *more))
    return seen


INPUTS = {
    "piecewise": lambda values, starts: [fa.Piecewise(starts, v) for v in values],
    "tables": lambda values, starts: [fa.Table(starts, v) for v in values],
    "constant": lambda values, starts: values[:, 0],
}


BATCHED = (
    {"solver": fa.Solver(method="rk4", step=1e-3)},
    {"method": "tsit5"},
    {},
    {"method": "radau9"},
    {"solver": fa.Solver(method="gauss4", step=1e-3)},
)


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("method", BATCHED)
def test_many_runs_at_once_have_the_gradients_of_each(arm, kind, method, batches):
    """Nine runs, that is two batches. Each run has its own steps, so that the results are those of single runs."""
    rng = np.random.default_rng(5)
    q0, p, starts = 0.01 * rng.normal(size=(9, 6)), arm.p * (1 + 0.1 * rng.random((9, 1))), [0.0, 0.02, 0.03]
    q0[3] *= 20.0  # a faster motion, with more steps
    scalars = {"of": lambda q, tip: ca.sumsqr(q) + tip[0], "times": [0.0, 0.025, 0.04]}
    scalars["integral"] = lambda t, u, w, q, p: ca.sumsqr(u) + t * q[1] * p[0] * w[0]
    run = {"model": arm, "until": 0.04, "q0": q0, "p": p, "samples": 3, "disturbance": {"tip.fy": 0.2}} | method
    run["u"] = INPUTS[kind](0.3 * rng.normal(size=(9, 3, 2)), starts)
    found = equal_to_each(run, ["q0", "qd0", "p", "u"], (0, 3, 8), **scalars)
    assert batches[:2] == [8, 1]
    assert found.value.shape == (9,) and repr(found).startswith("Gradient(value (9,); q0 (9, 6), ")


UNLIKE = {
    "periods": {
        "u": [Sampled(JointPD(reference=[0.1, 0.2], Kp=2.0, Kd=1.0), period=i * 1e-3) for i in (4, 4, 6)],
        "method": "radau9",
    },
    "kinds": {"u": [fa.Piecewise([0.0, 0.02], np.eye(2)), fa.Table([0.0, 0.02], np.eye(2)), [0.1, 0.2]]},
    "times": {"u": [fa.Piecewise([0.0, 0.01 * i], np.eye(2)) for i in (1, 2, 3)]},
    "w": {"disturbance": {"tip.fy": fa.Piecewise([0.0, 0.01], [[0.2], [-0.1]])}},
}


@pytest.mark.parametrize("which", UNLIKE)
def test_many_runs_that_are_not_alike_are_computed_alone(arm, which, batches):
    run = {"model": arm, "until": 0.03, "q0": 0.02 * np.arange(18.0).reshape(3, 6), "samples": 2} | UNLIKE[which]
    equal_to_each(run, ["q0", "qd0", "p"], (0, 1, 2), of=lambda q, qd: ca.sumsqr(q) + qd[3])
    assert set(batches) == {1}


def test_many_runs_with_closures_and_with_sharp_stops(four_bar_model):
    q = np.array([assembled_at(four_bar_model, 0.9 + 0.1 * i)[0] for i in range(3)])
    run = {"model": four_bar_model, "until": 0.01, "q0": q, "qd0": np.zeros_like(q)}
    equal_to_each(run, ["q0", "p"], (0, 1, 2), of="kinetic")
    model = stopped(stops=fa.Stops(**STOPS, damping=4.0))
    run = {"model": model, "until": 0.3, "q0": [[0.05], [0.05], [0.15]], "qd0": [[1.3], [0.1], [1.3]]}
    equal_to_each(run, ["q0", "qd0", "p"], (0, 1, 2), of=lambda q, qd: q + 0.1 * qd)


def test_a_batch_whose_record_is_too_long_is_computed_alone(arm, monkeypatch, batches):
    """The ring of each run in a batch has an eighth of the usual size."""
    run = {"model": arm, "until": 0.03, "q0": 0.02 * np.arange(18.0).reshape(3, 6), "samples": 2}
    whole = fa.gradient(run, "q0", of=lambda q: ca.sumsqr(q))
    stiff = fa.gradient(run | {"method": "gauss4"}, "q0", of=lambda q: ca.sumsqr(q))
    monkeypatch.setattr(adjoint, "FEWEST", 1)
    width = 6 + 6 + 2 + 2 * (6 + 6 + 2)
    monkeypatch.setattr(
        adjoint, "RING", 8 * width * (len(stiff.times) // 2)
    )  # an eighth has no room, and all of it has
    again = fa.gradient(run | {"method": "gauss4"}, "q0", of=lambda q: ca.sumsqr(q))
    np.testing.assert_allclose(again["q0"], stiff["q0"], rtol=1e-12, atol=1e-13)
    monkeypatch.setattr(adjoint, "RING", 1)
    monkeypatch.setattr(adjoint, "FEWEST", len(whole.times) // 2)
    again = fa.gradient(run, "q0", of=lambda q: ca.sumsqr(q))
    assert batches == [8, 8, 8, 1, 1, 1]
    np.testing.assert_allclose(again["q0"], whole["q0"], rtol=1e-12, atol=1e-13)


MANY = {
    "run is for many runs, but q0 has 3 rows, qd0 has 2 rows": {"q0": np.zeros((3, 1)), "qd0": np.zeros((2, 1))},
    "with_respect_to has u, but u is JointPD, cont": {"u": [JointPD(0.1, 1.0, 1.0), 0.5], "with_respect_to": "u"},
    "with_respect_to has u, which has in run 1 the shape \\(2, 1\\), in run 0 \\(1,\\); they must be the same": {
        "u": [0.5, fa.Piecewise([0.0, 0.1], [1.0, 2.0])],
        "with_respect_to": "u",
    },
}


@pytest.mark.parametrize("message", MANY)
def test_runs_that_cannot_be_together_are_refused_in_one_line(message):
    run = {"model": CART, "until": 0.5} | MANY[message]
    names = run.pop("with_respect_to", "q0")
    with pytest.raises(fa.DescriptionError, match=f"gradient: {message}") as caught:
        fa.gradient(run, names, of="kinetic")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("loop", LOOPS)
def test_many_runs_with_controllers_have_the_gradients_of_each(arm, loop, batches):
    """Nine runs, eight of them in one batch, have their own gains, starts and parameters."""
    wrapped, before = LOOPS[loop]
    rng, names = np.random.default_rng(8), ["q0", "p", f"{before}Kp", f"{before}reference"]
    u = [wrapped(JointPD(np.array([0.3, 0.1]) * (i + 1), Kp=[2.0 + i, 4.0], Kd=1.0, filter=40.0)) for i in range(9)]
    run = {"model": arm, "until": 0.02, "u": u, "q0": 0.1 * rng.normal(size=(9, 6)), "p": 0.1 + 0.1 * np.ones((9, 1))}
    scalars = {"of": lambda q: ca.sumsqr(q), "integral": lambda u, t: u[0] * (1 + t)}
    ways = [{}, {"solver": fa.Solver(method="rk4", step=5e-4)}, {"method": "radau5"}]
    for more in ways:
        found = equal_to_each(run | more, names, (0, 8), **scalars)
        assert found[f"{before}Kp"].shape == (9, 2)
        assert batches[:2] == [8, 1]
        batches.clear()
    between = {"times": [0.0, 0.0055, 0.012, 0.02]}  # some are no samples
    equal_to_each(run | {"solver": fa.Solver(method="gauss4", step=1e-4)}, names, (0, 3, 8), **scalars | between)
    assert batches[:2] == [8, 1]
    equal_to_each(run | {"u": u[1]}, names, (1,), **scalars)  # one controller for all
    u[2] = wrapped(JointPD([0.0, 0.0], Kp=3.0, Kd=1.0))  # without a memory
    three = {name: x[:3] if name in ("u", "q0", "p") else x for name, x in run.items()}
    equal_to_each(three, ["q0", "p"], (0, 1, 2), **scalars)
    assert 8 not in batches[-3:]


def test_many_runs_with_sampled_observers_and_noise_have_the_gradients_of_each(arm, batches):
    """Each run of an implicit method has its own seed, and ends between two samples."""
    gauges = [fa.Encoder(coordinate=name, noise=1e-3) for name in ("upper.joint", "fore.joint")]
    slew = fa.MinimumJerk([[0.02, 0.03], [0.3, 0.2]], [0.0, 0.3])
    u = [Sampled(Observed(LQR(reference=slew), gauges), 4e-3, seed=i) for i in range(9)]
    q0 = 0.02 * np.random.default_rng(9).normal(size=(9, 6))
    run = {"model": arm, "until": 0.0173, "u": u, "q0": q0, "qd0": np.zeros((9, 6)), "method": "radau5"}
    found = equal_to_each(run, ["q0", "p"], (0, 8), of=lambda q, qd: ca.sumsqr(q) + qd[0])
    assert batches[:2] == [8, 1]
    two = run | {"u": u[:2], "q0": None, "qd0": None}  # the observer's memory begins at the reference
    points = "u.controller.controller.reference.points"  # differences of designs
    equal_to_each(two, [points], (0, 1), rounding=1e-10, of=lambda q, qd: ca.sumsqr(q) + qd[0])
    same = fa.gradient(run | {"u": [u[0]] * 9}, "q0", of=lambda q, qd: ca.sumsqr(q) + qd[0])
    assert np.abs(same["q0"][1:] - found["q0"][1:]).max(axis=1).min() > 1e-6, "seeds matter"


def test_a_memory_that_is_not_finite_is_reported_by_its_run(arm):
    """The square root of a negative number, in the memory of a sampled controller that does not use it."""

    class Rooted:
        def law(self, model, period=None):
            return Law(lambda t, q, qd, z: (-0.1 * q[:2], ca.sqrt(0.005 - t)), memory=(0.0,))

    run = {"model": arm, "until": 0.02, "q0": 0.01 * np.eye(6)[:2], "u": Sampled(Rooted(), 2e-3), "method": "radau5"}
    with pytest.raises(
        fa.SimulationError, match=r"run 0 ends at t = 0\.00[68].* gave nan in its memory at t = 0.006 s"
    ):
        fa.gradient(run, "q0", of="kinetic")


BATCHES_OF_ARMS = {16: "radau5", 5: "radau9", 14: "gauss4", 23: "gauss8"}
"""Random arms with states of drives and exogenous inputs; of the first also adaptive steps."""


@pytest.mark.parametrize("number", BATCHES_OF_ARMS)
def test_random_arms_have_the_same_gradients_in_batches_of_an_implicit_method(number, batches):
    """Eleven runs: the second batch is not full. The motions, and so the numbers of steps, are very different."""
    made, count = RandomRun(number, BATCHES_OF_ARMS[number], steps=3), 11
    rng, scale = np.random.default_rng(number), 0.05 * np.arange(count)
    moved = 0.3 * scale[:, None] * rng.normal(size=(count, made.model.nv))
    made.run |= {
        "q0": np.array([displaced(made.model.arm, made.at["q"], each) for each in moved]),
        "qd0": made.at["qd"] * (1 + 3 * scale[:, None]),
        "s0": made.at["s"] * (1 + scale[:, None]),
        "p": made.model.p * (1 + 0.02 * rng.random((count, len(made.model.p)))),
        "u": [made.input(made.values * (1 + x)) for x in scale],
    }
    made.run.pop("method")
    a, b, _ = made.weights
    scalars = {
        "of": lambda q, kinetic: ca.dot(a, ca.sin(q)) + kinetic,
        "integral": lambda t, u, qd: ca.dot(b, qd) + t * u[0],
    }
    equal_to_each(made.run, list(made.direction), (0, 7, 10), **scalars)
    assert batches[:2] == [8, 8]
    if number == 16:
        solver = fa.Solver(method=BATCHES_OF_ARMS[number], rtol=1e-5)
        run = made.run | {"solver": solver, "until": 6 * made.run["until"]}
        steps = [len(fa.gradient(alone(run, i), "q0", of="kinetic").times) for i in (0, 10)]
        assert abs(steps[1] - steps[0]) > 0.15 * min(steps)
        equal_to_each(run, list(made.direction), (0, 10), **scalars)


def test_one_input_in_many_runs_is_that_of_each():
    """Cubics of a single input, which NumPy stores by columns."""
    values = np.random.default_rng(6).normal(size=(3, 5, 1))
    run = {"model": CART, "until": 0.7, "u": [fa.Table(np.linspace(0.0, 0.7, 5), x, "cubic") for x in values]}
    equal_to_each(run | {"method": "rk45"}, ["q0", "u"], (0, 1, 2), of=lambda q, qd: q[0] + qd[0])
    many = fa.simulate_many(fa.Model(CART), 0.7, run["u"], method="rk45", samples=3, progress=False)
    for i, u in enumerate(run["u"]):
        one = fa.simulate(CART, 0.7, u, method="rk45", samples=3, progress=False)
        np.testing.assert_allclose(many.q.values[i], one.q.values, rtol=1e-12)


@pytest.mark.parametrize("method", ["rk4", "gauss4"])
def test_one_of_many_runs_that_diverges_ends_all(method):
    run = {"model": fa.load("subudhi-morris"), "until": 2.0, "q0": [[0.0] * 6, [0.3] * 6], "samples": 2}
    with pytest.raises(fa.SimulationError, match="gradient: run 1 ends at t = "):
        fa.gradient(run | {"solver": fa.Solver(method=method, step=0.1)}, "q0", of="kinetic")


# -- what has no gradient


CART = fa.Arm(
    name="cart", links=[fa.Link(name="cart", joint=fa.Prismatic(axis=(1, 0, 0)), body=fa.Rigid(length=0.3, mass=1.7))]
)
REFUSED = {
    "run is a Model; it must be a dict": lambda run: (run["model"], "q0"),
    "run has the unknown argument 'q_0'; did you mean 'q0'": lambda run: (run | {"q_0": [0.0]}, "q0"),
    "run has no until": lambda run: ({"model": run["model"]}, "q0"),
    "run has changes of parameters": lambda run: (
        run | {"changes": [fa.Change(at=0.1, values={"cart.mass": 2.0})]},
        "q0",
    ),
    "with_respect_to is 3; it must be a list": lambda run: (run, 3),
    "with_respect_to has the unknown name 'qd'; did you mean 'qd0'": lambda run: (run, ["qd"]),
    "with_respect_to has p, but the model has no parameters": lambda run: (run, ["p"]),
    "with_respect_to has s0, but arm 'cart' has no drive with states": lambda run: (run, ["s0"]),
    "method is 'generalized-alpha'; this has no gradient yet: use another one": lambda run: (
        run | {"method": "generalized-alpha"},
        "q0",
    ),
    "u is a sampled controller that is a Python function": lambda run: (
        run | {"u": Sampled(lambda t, q, qd: 0.0 * q, 0.1)},
        "q0",
    ),
    "with_respect_to has w, but w is None; it must be numbers": lambda run: (run, "w"),
    "u is a controller that rounds a signal": lambda run: (
        run | {"u": Sampled(JointPD(0.1, 1.0, 1.0, filter=9.0, resolution=0.01), 0.1)},
        "q0",
    ),
    "with_respect_to has u.Kq, but a JointPD has no field 'Kq'; its fields are": lambda run: (
        run | {"u": JointPD(0.1, 1.0, 1.0)},
        "u.Kq",
    ),
    "with_respect_to has u.gravity, which is a bool": lambda run: (run | {"u": JointPD(0.1, 1.0, 1.0)}, "u.gravity"),
    "with_respect_to has u.Kp, but u is no controller": lambda run: (run, "u.Kp"),
    "u is the Python function <lambda>": lambda run: (run | {"u": lambda t: [t]}, "q0"),
    "u prescribes a motion": lambda run: (run | {"u": fa.PrescribedMotion(fa.Cycloidal([0.1], [1.0]))}, "q0"),
    "with_respect_to has u, but u is JointPD, continuous": lambda run: (run | {"u": JointPD(0.1, 1.0, 1.0)}, "u"),
    "w must consist of numbers": lambda run: (run | {"disturbance": lambda t: [t]}, "q0"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_run_without_a_gradient_is_refused_in_one_line(message):
    run, names = REFUSED[message]({"model": fa.Model(CART), "until": 0.5})
    with pytest.raises(fa.DescriptionError, match=f"^gradient: (arm 'cart': )?{message}") as caught:
        fa.gradient(run, names, of=lambda q: q)
    assert "\n" not in str(caught.value)


SCALARS = {
    "of is missing": {},
    "times and data are for the function of": {"integral": lambda q: q, "times": [0.1]},
    "times is .* it must increase, from 0 to 0.5 s": {"of": lambda q: q, "times": [0.1, 0.7]},
    "data has shape": {"of": lambda q: q, "times": [0.1, 0.2], "data": [1.0]},
    "of is 3; it must be a function of some of": {"of": 3},
    "of is 'kinetik'; did you mean 'kinetic'": {"of": "kinetik"},
    "of takes 'u'; ": {"of": lambda q, u: q},
    "integral takes 'work'; ": {"integral": lambda work: work},
    "of returns 'a'; it must return a scalar": {"of": lambda q: "a"},
    "of has 3 numbers; it must be a scalar": {"of": lambda tip: tip},
}


@pytest.mark.parametrize("message", SCALARS)
def test_a_wrong_scalar_is_refused_in_one_line(message):
    with pytest.raises(fa.DescriptionError, match=message) as caught:
        fa.gradient({"model": CART, "until": 0.5}, "q0", **SCALARS[message])
    assert "\n" not in str(caught.value)


def test_an_error_of_the_users_function_says_where_it_was_raised():
    with pytest.raises(ZeroDivisionError) as caught:
        fa.gradient({"model": CART, "until": 0.5}, "q0", of=lambda q: 1 / 0)
    assert "raised by the function of of gradient" in caught.value.__notes__[0]


def test_a_run_that_diverges_has_no_gradient():
    run = {"model": fa.load("subudhi-morris"), "until": 2.0, "q0": [0.3] * 6, "samples": 2}
    with pytest.raises(fa.SimulationError, match="gradient: the run ends at t = "):
        fa.gradient(run | {"solver": fa.Solver(method="rk4", step=0.1)}, "q0", of="kinetic")


# -- sharp contacts


def stopped(carts=1, **drive):
    """Masses on slides without gravity that run against sharp stops."""
    links = [
        fa.Link(
            name=f"cart-{i}",
            joint=fa.Prismatic(axis=(1, 0, 0), drive=fa.Drive(**drive)),
            body=fa.Rigid(length=0.3, mass=1.7),
            parent="base",
        )
        for i in range(carts)
    ]
    names = ["mass", *(f"drive.{kind}.{name}" for kind in drive for name in ("stiffness", "damping", "upper"))]
    return fa.Model(fa.Arm(name="stopped", links=links, gravity=(0, 0, 0)), vary=[f"cart-0.{name}" for name in names])


STOPS = {"lower": -0.1, "upper": 0.2, "stiffness": 300.0, "sharp": True}


@pytest.mark.parametrize("damping", [0.05, 4.0])
def test_sharp_stops_take_part_with_the_times_of_their_contacts(damping):
    """The mass touches, its force vanishes before the spring is straight, and it leaves; the force jumps at first."""
    model, values = stopped(stops=fa.Stops(**STOPS, damping=damping)), np.array([[0.4], [-1.0]])
    scalars = {"of": lambda q, qd, dissipated: q + 0.1 * qd + dissipated, "integral": lambda q, u: q * q + u * u}
    run = {"model": model, "until": 0.6, "u": fa.Piecewise([0.0, 0.25], values), "q0": [0.05], "qd0": [1.3]}
    run |= {"p": model.p, "rtol": 1e-12}
    found = fa.gradient(run, ["q0", "qd0", "u", "p"], **scalars)
    result = fa.simulate(**run)
    assert "stopped at " in result.method_reason
    end = float(result.q[-1, 0] + 0.1 * result.qd[-1, 0] + result.dissipated[-1])
    assert fa.gradient(run, "q0", of=scalars["of"]).value == pytest.approx(end, rel=1e-8)

    def slope(h, **more):
        return central(lambda s: fa.gradient(run | {name: f(s) for name, f in more.items()}, "q0", **scalars).value, h)

    within = 1e-6 * np.abs(found["p"]).max()
    assert found["q0"][0] == pytest.approx(slope(2e-3, q0=lambda s: [0.05 + s]), abs=within)
    assert found["qd0"][0] == pytest.approx(slope(2e-3, qd0=lambda s: [1.3 + s]), abs=within)
    d = np.array([[1.0], [-0.5]])
    along = slope(2e-3, u=lambda s: fa.Piecewise([0.0, 0.25], values + s * d))
    assert (found["u"] * d).sum() == pytest.approx(along, abs=within)
    d = model.p * [0.3, 1.0, 1.0, -0.1]
    assert found["p"] @ d == pytest.approx(slope(1e-3, p=lambda s: model.p + s * d), abs=within)


@pytest.mark.parametrize("number", range(COUNT // 10) if COUNT else (0, 1))
def test_random_masses_against_stops_have_the_differences_of_their_runs(number):
    """Two masses with random stops, some of them damped, that touch and leave at their own times."""
    rng = np.random.default_rng([number, 3])
    stops = [fa.Stops(**STOPS | {"stiffness": 300.0 * rng.random() + 100.0}, damping=5.0 * rng.random()) for _ in "ab"]
    model = stopped(2, stops=stops[0])
    links = [link.replace(joint=link.joint.replace(drive=fa.Drive(stops=each))) for link, each in zip(
        model.arm.links, stops, strict=True)]  # fmt: skip
    model = fa.Model(model.arm.replace(links=links), vary=[each.name for each in model.varied])
    x = {"q0": 0.1 * rng.random(2), "qd0": 1.0 + rng.random(2), "p": model.p, "u": rng.normal(size=2)}
    d = {name: 0.02 * rng.normal(size=value.shape) * np.abs(value) for name, value in x.items()}
    run = {"model": model, "until": 0.5, "rtol": 1e-12, "samples": 2}
    scalars = {"of": lambda q, qd, dissipated: ca.sumsqr(q) + 0.1 * qd[0] * qd[1] + dissipated,
               "integral": lambda q: q[0] ** 2}  # fmt: skip

    def moved(size):
        return run | {name: value + size * d[name] for name, value in x.items()}

    found = fa.gradient(moved(0.0), [*x], **scalars)
    expected, uncertain = best(lambda size: fa.gradient(moved(size), "q0", **scalars).value)
    parts = [float((found[name] * d[name]).sum()) for name in x]
    assert abs(sum(parts) - expected) < max(2e-6 * sum(map(abs, parts)), 3 * uncertain)
    assert uncertain < 1e-6 * sum(map(abs, parts))


@pytest.mark.parametrize("what", ["a jump of the input", "a time of the scalar"])
def test_a_contact_at_the_instant_of_something_else_takes_part(what):
    """The run as with a jump, or a time, that is a little earlier."""
    model = stopped(stops=fa.Stops(**STOPS, damping=4.0))
    run = {"model": model, "until": 0.4, "q0": [0.05], "qd0": [1.3], "rtol": 1e-12, "p": model.p}
    contact = 0.15 / 1.3  # without a force

    def found(t):
        if what == "a jump of the input":
            return fa.gradient(run | {"u": fa.Piecewise([0.0, t], [[0.0], [-0.5]])}, ["q0", "p"], of=lambda q: q)
        return fa.gradient(run, ["q0", "p"], of=lambda q: q, times=[t, 0.4])

    exact, near = found(contact), found(contact - 1e-7)
    for name in ("q0", "p"):
        np.testing.assert_allclose(exact[name], near[name], rtol=1e-4, atol=1e-5)


UNSEEN = {
    "steps are fixed": {"solver": fa.Solver(method="rk4", step=1e-3)},
    "a sampled controller acts": {"u": Sampled(JointPD(0.1, 1e-9, 1e-9), period=1e-2)},
}


@pytest.mark.parametrize("why", UNSEEN)
def test_a_force_that_jumps_within_a_step_is_reported(why):
    """The derivatives of such steps lack the change of the contact's time, however short the steps are."""
    run = {"model": stopped(stops=fa.Stops(**STOPS, damping=4.0)), "until": 0.3, "q0": [0.05], "qd0": [1.3]} | UNSEEN[
        why
    ]
    said = (
        rf"a force jumps at a contact right after t = 0.11\d* s, which no step ends at, as {why}: the derivatives lack"
    )
    with pytest.warns(fa.errors.UncertainResult, match=f"^gradient: {said}") as warned:
        fa.gradient(run, "q0", of=lambda q: q)
    assert warned[0].filename == __file__
    with pytest.warns(fa.errors.UncertainResult, match=f"^gradient: run 1: {said}"):
        fa.gradient(run | {"q0": [[0.05], [0.051]], "qd0": [[0.0], [1.3]]}, "q0", of=lambda q: q)
    with pytest.warns(fa.errors.UncertainResult, match=f"^simulate: {said}") as warned:
        fa.simulate(**run, sensitivities="q0")
    assert warned[0].filename == __file__
    without = run | {"model": stopped(stops=fa.Stops(**STOPS))}  # the force begins at zero
    assert np.isfinite(fa.gradient(without, "q0", of=lambda q: q)["q0"]).all()


def test_contacts_without_a_derivative_are_refused_where_they_are():
    two = stopped(2, stops=fa.Stops(**STOPS, damping=4.0))
    run = {"model": two, "until": 0.6, "q0": [0.05, 0.05], "qd0": [1.3, 1.3]}
    with pytest.raises(fa.SimulationError, match=r"gradient: at t = 0.115\d* s two contacts begin or end at once"):
        fa.gradient(run, "q0", of="kinetic")
    assert fa.gradient(run | {"qd0": [1.3, 1.2]}, "q0", of=lambda q: q[0]).value < 0.2


def test_sharp_stops_are_refused_where_steps_are_not_recorded():
    model = stopped(stops=fa.Stops(**STOPS))
    run = {"model": model, "until": 0.5, "q0": [0.19]}
    with pytest.raises(fa.DescriptionError, match="arm 'stopped' has sharp end stops or backlash") as said:
        fa.gradient(run | {"method": "radau5"}, "q0", of="kinetic")
    assert "\n" not in str(said.value)
    with pytest.raises(fa.DescriptionError, match=r"arm 'stopped' has sharp end stops or backlash.*use fa.gradient"):
        fa.simulate(**run, sensitivities="q0")
    fixed = fa.Solver(method="rk4", step=1e-2)
    assert fa.gradient(run | {"solver": fixed}, "q0", of="kinetic").value == 0.0


@pytest.mark.parametrize(("method", "name"), [("rk4", "MOST_STEPS"), ("gauss4", "FEWEST")])
def test_a_run_of_too_many_steps_is_refused(monkeypatch, method, name):
    monkeypatch.setattr(adjoint, "RING", 1)
    monkeypatch.setattr(adjoint, name, 20)
    with pytest.raises(fa.DescriptionError, match=r"the run takes (1000|500) steps; at most 20 have a gradient"):
        fa.gradient({"model": CART, "until": 0.5, "solver": fa.Solver(method=method, step=1e-3)}, "q0", of="kinetic")


def test_a_fixed_step_whose_equations_do_not_converge_ends_the_run(four_bar_model):
    """Corrections towards the closures leave gaps that are larger than this tolerance."""
    q, qd = assembled_at(four_bar_model, 0.9)
    run = {"model": four_bar_model, "until": 0.02, "q0": q, "qd0": qd}
    run |= {"solver": fa.Solver(method="gauss4", step=1e-3, rtol=1e-13, atol=1e-15)}
    with pytest.raises(fa.SimulationError, match="its steps became too short"):
        fa.simulate(**run)
