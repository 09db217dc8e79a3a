"""Sensitivities of results, against gradients, closed forms and differences of the runs themselves."""

import signal
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from driven_loops import four_bar
from replayed import STENCIL, RandomRun
from scipy.linalg import expm, null_space

import flexarm as fa
from flexarm.attitude import displaced
from flexarm.control import JointPD, Law, Sampled
from flexarm.model import closures
from flexarm.native.kernel import loaded
from flexarm.native.translate import optimized
from flexarm.simulation import adjoint, forward, forward_implicit, watch
from flexarm.simulation.directions import Forward
from flexarm.simulation.explicit import filled
from flexarm.simulation.gradient_start import Start
from flexarm.simulation.rhs import NAN

VARIABLES = ("q", "qd", "tip")


def along(result, direction):
    """Derivatives of q, qd and tip at all samples along a direction of all numbers."""
    return np.hstack([result[f"{name}_sensitivity"].values @ direction for name in VARIABLES])


def states(result):
    return np.hstack([result[name].values for name in VARIABLES])


def differences(run_at, h):
    """Central differences of order 8 of all samples of run_at(size) at zero."""
    return sum(c * (states(run_at(j * h)) - states(run_at(-j * h))) for j, c in STENCIL.items()) / h


def off(result, d, run_at, sizes):
    """The largest error of the derivatives along a direction, relative to the largest derivative of their kind."""
    found = along(result, d)
    each = [differences(run_at, h) for h in sizes]
    scale = np.abs(found).max()
    return min(np.abs(found - expected).max() for expected in each) / scale


# -- random arms


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift", "ignore::flexarm.errors.FastTelescope")
@pytest.mark.parametrize(("number", "method"), [(14, "rk4"), (32, "rk4"), (44, "rk4"), (0, "radau9"), (61, "gauss4")])
def test_sensitivities_of_random_arms_are_differences_of_runs(number, method):
    """All kinds of numbers at once, at all samples of runs with fixed steps. Those of implicit methods pass samples.

    One of the arms with an implicit method has a free base.
    """
    made = RandomRun(number, method, steps=10 if method == "rk4" else 2)
    run, d = made.run | {"samples": 6}, made.direction
    d["p"] *= made.model.p != 0.0  # a difference to both sides
    result = fa.simulate(**run, sensitivities=list(d))

    def moved(size):
        now = {name: run[name] + size * d[name] for name in ("qd0", "s0", "w", "p") if name in d}
        now["q0"] = displaced(made.model.arm, run["q0"], size * d["q0"])
        if "u" in d:
            now["u"] = made.input(made.values + size * d["u"])
        return fa.simulate(**run | now)

    direction = np.concatenate([x.ravel() for x in d.values()])
    assert off(result, direction, moved, (1e-2, 1e-3, 1e-4, 3e-5)) < 1e-9


# -- gradients


@pytest.fixture(scope="module")
def arm():
    return fa.Model(fa.load("subudhi-morris"), vary=["payload.mass", "upper.EI", "fore.length"])


@pytest.fixture(scope="module")
def run(arm):
    rng = np.random.default_rng(1)
    found = {"model": arm, "until": 0.06, "u": fa.Piecewise([0.0, 0.02, 0.04], rng.normal(size=(3, 2)))}
    found |= {"q0": 0.01 * rng.normal(size=6), "qd0": 0.1 * rng.normal(size=6), "progress": False}
    return found | {"samples": 7}


FIXED = {"solver": fa.Solver(method="rk4", step=5e-4)}
NAMES = ["q0", "qd0", "p", "u"]


@pytest.mark.parametrize(("more", "sample"), [({}, 6), (FIXED, 6), (FIXED, 3)])
def test_sensitivities_are_those_of_gradient(run, more, sample):
    """Twenty-one numbers are three batches of directions. With fixed steps, samples within the run agree, too."""
    result = fa.simulate(**run | more, sensitivities=NAMES)
    times = {} if sample == 6 else {"times": [result.time.values[sample]]}
    scalars = {"q": (1, lambda q: q[1]), "qd": (4, lambda qd: qd[4]), "tip": (0, lambda tip: tip[0])}
    for name, (i, of) in scalars.items():
        gradient = fa.gradient(run | more, NAMES, of=of, **times)
        expected = np.concatenate([gradient[each].ravel() for each in NAMES])
        assert len(expected) == 21
        found = result[f"{name}_sensitivity"].values[sample, i]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    assert result.attrs["method"] == gradient.method
    plain = fa.simulate(**run | more)
    atol = 1e-15 if more else 1e-8
    np.testing.assert_allclose(states(result), states(plain), rtol=0, atol=atol)


def test_parts_of_the_record_give_the_same(run, monkeypatch):
    whole = fa.simulate(**run, sensitivities=["p", "u"])
    monkeypatch.setattr(forward, "STEPS", 3)
    monkeypatch.setattr(adjoint, "RING", 1)
    monkeypatch.setattr(adjoint, "FEWEST", 2)
    again = fa.simulate(**run, sensitivities=["p", "u"])
    for name in VARIABLES:
        np.testing.assert_array_equal(again[f"{name}_sensitivity"], whole[f"{name}_sensitivity"])


def test_ball_joints_take_part():
    """Derivatives by the start are those by rotations about the axes of the body."""
    hip = fa.Link(
        name="hip", joint=fa.Ball(damping=0.3), body=fa.Rigid(length=0.8, mass=1.3, inertia=(0.03, 0.09, 0.1))
    )
    body = fa.Beam(length=1.1, mass_per_length=0.7, EI=30.0, modes={"z": 1})
    fore = fa.Link(name="fore", joint=fa.Revolute(axis=(0, 1, 0)), body=body)
    model = fa.Model(fa.Arm(name="hip", links=[hip, fore], gravity=(0, 0, -9.81)), vary=["hip.length"])
    rng, names = np.random.default_rng(6), ["q0", "qd0", "hip.length"]
    q0 = displaced(model.arm, np.array(model.arm.rest), 0.3 * rng.normal(size=model.nv))
    run = {"model": model, "until": 0.05, "q0": q0, "qd0": rng.normal(size=model.nv), "samples": 6, "progress": False}
    run |= {"solver": fa.Solver(method="rk4", step=2e-3)}
    d = rng.normal(size=2 * model.nv + 1)
    by_q0, by_qd0, by_p = np.split(d, [model.nv, 2 * model.nv])

    def moved(size):
        more = {"q0": displaced(model.arm, q0, size * by_q0), "qd0": run["qd0"] + size * by_qd0}
        return fa.simulate(**run | more, p=model.p + size * by_p)

    result = fa.simulate(**run, sensitivities=names)
    assert result.q_sensitivity.shape == (6, model.nq, len(d)) and result.qd_sensitivity.shape == (6, model.nv, len(d))
    assert off(result, d, moved, (1e-2, 3e-3, 1e-3)) < 1e-9
    assert result.qd_sensitivity.dims[1] == "velocity"


# -- times within steps


def mass_on_spring():
    """A mass of 1.7 kg on a slide, with a parallel spring and a damper in its bearing."""
    drive = fa.Drive(parallel=fa.Parallel(stiffness=30.0))
    joint = fa.Prismatic(axis=(1, 0, 0), damping=0.4, drive=drive)
    link = fa.Link(name="cart", joint=joint, body=fa.Rigid(length=0.3, mass=1.7))
    return fa.Model(fa.Arm(name="spring", links=[link], gravity=(0, 0, 0)), vary=["cart.mass"])


@pytest.mark.parametrize("method", ["auto", "radau9"])
def test_a_linear_run_has_the_sensitivities_of_the_matrix_exponential(method):
    A, times = np.array([[0.0, 1.0], [-30.0 / 1.7, -0.4 / 1.7]]), np.linspace(0.0, 0.9, 40)
    result = fa.simulate(
        *(mass_on_spring(), 0.9, 0.7, [0.2], [-0.5], method),
        rtol=1e-12,
        samples=40,
        sensitivities=["qd0", "u", "q0"],
    )
    full = np.zeros((3, 3))
    full[:2, :2], full[1, 2] = A, 1.0 / 1.7
    exact = np.array([expm(full * t)[:2] for t in times])[:, :, [1, 2, 0]]
    np.testing.assert_allclose(result.q_sensitivity[:, 0], exact[:, 0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.qd_sensitivity[:, 0], exact[:, 1], rtol=0, atol=1e-8)
    np.testing.assert_array_equal(result.tip_sensitivity[:, 0], result.q_sensitivity[:, 0])
    assert result.with_respect_to.values.tolist() == ["qd0[cart.joint]", "u[cart.joint]", "q0[cart.joint]"]
    assert result.attrs["steps"] < 39  # most samples lie within steps


@pytest.fixture
def equal_steps(monkeypatch):
    """Adaptive methods whose steps depend on nothing, so that differences of runs converge."""
    monkeypatch.setattr(Start, "longest", lambda *_: 4e-3)
    return {"solver": fa.Solver(rtol=1e3, atol=1e9), "samples": 24}


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")
@pytest.mark.parametrize(("method", "kind"), [("dop853", "cubic"), ("tsit5", "linear")])
def test_samples_within_steps_are_those_of_the_polynomial(run, arm, equal_steps, method, kind):
    rng, times = np.random.default_rng(3), np.array([0.0, 0.013, 0.04, 0.07])
    values = rng.normal(size=(4, 2))
    now = run | equal_steps | {"method": method}
    d = {"qd0": 0.1 * rng.normal(size=6), "p": 0.1 * arm.p, "u": rng.normal(size=(4, 2))}

    def moved(size, sensitivities=("qd0",)):
        more = {"u": fa.Table(times, values + size * d["u"], kind), "p": arm.p + size * d["p"]}
        more |= {"qd0": run["qd0"] + size * d["qd0"]}
        return fa.simulate(**now | more, sensitivities=list(sensitivities))

    result = moved(0.0, d)
    assert off(result, np.concatenate([x.ravel() for x in d.values()]), moved, (3e-2, 1e-2)) < 1e-9
    assert result.attrs["method"] == method and result.attrs["steps"] < 24


LOOPS = {
    "continuous": (lambda pd: pd, "u."),
    "sampled": (lambda pd: Sampled(pd, period=5e-3, delay=5e-3, limit=3.0), "u.controller."),
}


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")
@pytest.mark.parametrize("loop", LOOPS)
def test_a_controller_takes_part(run, arm, equal_steps, loop):
    """JointPD with a filter, which has a memory, along a reference that also sets the start of the joints."""
    wrapped, before = LOOPS[loop]
    gains = {"Kp": np.array([5.0, 4.0]), "Kd": 1.0, "reference.points": np.array([[0.02, 0.03], [0.3, 0.2]])}
    now = {name: x for name, x in run.items() if name not in ("q0", "u")} | equal_steps
    now |= {"save": fa.SaveAt(samples=24, record=["command"])}
    d = {"p": 0.1 * arm.p} | {before + name: 0.2 * np.asarray(x) for name, x in gains.items()}

    def moved(size, sensitivities=("qd0",)):
        own = {name: x * (1 + 0.2 * size) for name, x in gains.items()}
        pd = JointPD(fa.MinimumJerk(own.pop("reference.points"), [0.0, 0.3]), filter=40.0, **own)
        more = {"u": wrapped(pd), "p": arm.p + size * d["p"]}
        return fa.simulate(**now | more, sensitivities=list(sensitivities))

    result = moved(0.0, d)
    assert [*map(str, result.with_respect_to.values[3:])] == [
        *(f"{before}Kp[{i}]" for i in (0, 1)),
        f"{before}Kd",
        *(f"{before}reference.points[{i}, {j}]" for i in (0, 1) for j in (0, 1)),
    ]
    assert off(result, np.concatenate([np.ravel(x) for x in d.values()]), moved, (3e-2, 1e-2)) < 1e-8
    assert "command" in result


@pytest.mark.parametrize("loop", LOOPS)
def test_implicit_methods_have_the_derivatives_of_gradient(run, arm, loop, monkeypatch):
    """Controllers with a memory, in adaptive steps whose systems are solved by iteration, or by elimination."""
    wrapped, before = LOOPS[loop]
    pd = JointPD(fa.MinimumJerk([[0.02, 0.03], [0.3, 0.2]], [0.0, 0.3]), Kp=[5.0, 4.0], Kd=1.0, filter=40.0)
    now = {name: x for name, x in run.items() if name != "u"} | {"u": wrapped(pd), "method": "radau5", "rtol": 1e-6}
    names = ["p", "q0", f"{before}Kp", f"{before}reference.points"]
    found, gradient = fa.simulate(**now, sensitivities=names), fa.gradient(now, names, of=lambda qd: qd[1])
    expected = np.concatenate([gradient[each].ravel() for each in names])
    within = {"rtol": 0, "atol": 1e-11 * np.abs(expected).max()}
    np.testing.assert_allclose(found.qd_sensitivity.values[-1, 1], expected, **within)
    for changed in ({"ITERATIONS": 0}, {"eliminate": without_solution}) * (loop == "continuous"):
        with monkeypatch.context() as patched:
            for name, value in changed.items():
                patched.setattr(forward_implicit, name, value)
            code = loaded(optimized(forward.begun, forward.forwards), ("begun", "forwards"))
            patched.setattr(forward, "CODE", lambda code=code: code)
            again = fa.simulate(**now, sensitivities=names)
        for name in VARIABLES:
            one, other = (each[f"{name}_sensitivity"].values for each in (found, again))
            if "eliminate" in changed:  # every step converged
                np.testing.assert_array_equal(one, other)
            else:
                np.testing.assert_allclose(one, other, rtol=0, atol=1e-10 * np.abs(one).max())
                assert (one != other).any()


def without_solution(s: Forward, t: float, h: float) -> None:
    """Take the place of the elimination, and leave no number."""
    filled(s.changes_of.k, NAN * t * h, s.changes_of.stages * s.changes_of.width)


@dataclass(frozen=True)
class Switching:
    """A law whose gain changes at 0.025 s."""

    gain: float

    def law(self, model, period=None):
        def u(t, q, qd, z):
            return ca.if_else(t < 0.025, self.gain, -2.0) * q[:2] - 0.3 * qd[:2], []

        return Law(u, jumps=[0.025])


def test_a_jump_of_a_law_is_seen_from_the_left(run, equal_steps):
    now = {name: x for name, x in run.items() if name != "u"} | equal_steps

    def moved(size, sensitivities=("qd0",)):
        return fa.simulate(**now, u=Switching(3.0 + size), sensitivities=list(sensitivities))

    result = moved(0.0, ["u.gain"])
    assert result.with_respect_to.values.tolist() == ["u.gain"]
    assert off(result, np.ones(1), moved, (3e-1, 1e-1)) < 1e-9


@pytest.mark.parametrize("method", ["rk4", "gauss4"])
def test_closures_take_part_with_their_corrections(method):
    """A four-bar with a flexible coupler: changes of the start stay on the closures, and changes off them vanish."""
    model = fa.Model(four_bar(flexible=True), vary=["crank.mass"])
    rng, times = np.random.default_rng(0), [0.0, 0.01]
    values, d = rng.normal(size=(2, 1)), rng.normal(size=(2, 1))
    q = fa.assemble(model.arm, [0.9, 0.3, 0.2, 0.003, -0.002], held=["crank.joint"])
    free = null_space(closures.jacobian(model, q), rcond=1e-9)
    run = {"model": model, "until": 0.02, "q0": q, "qd0": free @ (free.T @ np.array([1.3, 0.0, 0.0, 0.0, 0.0]))}
    solver = fa.Solver(method=method, step=1e-3, rtol=1e-10, atol=1e-12)
    run |= {"solver": solver, "samples": 5, "progress": False}
    u = fa.Piecewise(times, values)
    result = fa.simulate(**run, u=u, sensitivities=["u", "crank.mass", "q0", "qd0"])

    def moved(size):
        return fa.simulate(**run, u=fa.Piecewise(times, values + size * d), p=model.p * (1 + 0.1 * size))

    direction = np.concatenate([d[:, 0], 0.1 * model.p, np.zeros(10)])
    assert off(result, direction, moved, (1e-1, 3e-2)) < 1e-8
    by_q0 = result.q_sensitivity.values[:, :, 3:8]
    for sample, x in enumerate(result.q.values):
        assert np.abs(closures.jacobian(model, x) @ by_q0[sample]).max() < 1e-9
    gradient = fa.gradient(run | {"u": u}, ["q0", "qd0"], of=lambda q: q[3])
    expected = np.concatenate([gradient["q0"], gradient["qd0"]])
    np.testing.assert_allclose(result.q_sensitivity[-1, 3, 3:], expected, rtol=0, atol=1e-11 * np.abs(expected).max())


# -- the result


def hostile():
    """A slide whose name has brackets, a comma and quotes."""
    link = fa.Link(name='u[0,"x"]é', joint=fa.Prismatic(axis=(1, 0, 0)), body=fa.Rigid(length=0.3, mass=1.7))
    return fa.Arm(name="hostile", links=[link], gravity=(0, 0, 0))


def test_the_result_has_names_and_units_and_is_stored(tmp_path):
    own = hostile().links[0].name
    model = fa.Model(hostile(), vary=[f"{own}.mass"])
    u, names = fa.Piecewise([0.0, 0.1], [[0.3], [0.1]]), [f"{own}.mass", "u", "p", "qd0", "u"]
    result = fa.simulate(model, 0.2, u, samples=3, sensitivities=names, save=fa.SaveAt(keep=["q", "qd"]))
    labels = [f"u[0, {own}.joint]", f"u[1, {own}.joint]", f"{own}.mass", f"qd0[{own}.joint]"]
    assert result.with_respect_to.values.tolist() == labels
    assert result.with_respect_to_unit.values.tolist() == ["N", "N", "kg", "m/s"]
    assert result.q_sensitivity.dims == ("time", "coordinate", "with_respect_to")
    assert result.q_sensitivity.attrs["units"] == "(rad or m) / with_respect_to_unit"
    assert "tip_sensitivity" not in result
    by_mass = result.q_sensitivity.sel(with_respect_to=f"{own}.mass")
    np.testing.assert_allclose(by_mass[-1, 0], -(0.3 * 0.015 + 0.1 * 0.005) / 1.7**2, rtol=1e-12)
    fa.save_result(result, tmp_path / "result.nc")
    stored = fa.load_result(tmp_path / "result.nc")
    assert stored.identical(result)
    with pytest.raises(fa.DescriptionError, match="q_sensitivity must have the dimensions time, coordinate, with_re"):
        fa.save_result(result.assign(q_sensitivity=result.q), tmp_path / "wrong.nc")
    few = fa.simulate(model, 0.2, u, samples=3, sensitivities="q0", save=fa.SaveAt(keep=["kinetic"]))
    assert "with_respect_to" not in few.coords


def test_a_run_that_fails_has_the_sensitivities_of_its_part():
    run = {"model": fa.load("subudhi-morris"), "until": 2.0, "q0": [0.3] * 6, "samples": 401, "sensitivities": "qd0"}
    with pytest.raises(fa.SimulationError) as caught:
        fa.simulate(**run, solver=fa.Solver(method="rk4", step=0.01))
    result = caught.value.result
    assert result.q_sensitivity.shape == (result.sizes["time"], 6, 6) and 2 < result.sizes["time"] < 41
    assert np.isfinite(result.q_sensitivity[:2]).all()


def test_an_interrupted_run_has_the_sensitivities_of_its_part(run, monkeypatch):
    """Ctrl-C within a step that passes samples: those before it have the derivatives of the complete run."""
    monkeypatch.setattr(watch, "MANY", 100)
    monkeypatch.setattr(watch, "INTERVAL", 0.0)
    now = run | {"samples": 61, "sensitivities": "qd0"}

    came = []

    def interrupt(t):
        if t > 0.03 and not came:
            came.append(t)
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(fa.errors.InterruptedRun):
        part = fa.simulate(**now | {"progress": interrupt})
    whole = fa.simulate(**now).isel(time=slice(part.sizes["time"]))
    assert 20 < part.sizes["time"] < 61
    for name in VARIABLES:
        np.testing.assert_array_equal(part[f"{name}_sensitivity"], whole[f"{name}_sensitivity"])


# -- refusals


def cart():
    link = fa.Link(name="cart", joint=fa.Prismatic(axis=(1, 0, 0)), body=fa.Rigid(length=0.3, mass=1.7))
    return fa.Arm(name="cart", links=[link])


PD = JointPD(0.1, 1.0, 1.0)
REFUSED = {
    "names are no list": ({}, 3),
    "no names": ({}, []),
    "no parameters": ({}, "p"),
    "no states": ({}, "s0"),
    "sampled function": ({"u": Sampled(lambda t, q, qd: 0.0 * q, 0.1)}, "q0"),
    "no w": ({}, "w"),
    "rounded": ({"u": Sampled(JointPD(0.1, 1.0, 1.0, filter=9.0, resolution=0.01), 0.1)}, "q0"),
    "no field": ({"u": PD}, "u.Kq"),
    "no number": ({"u": PD}, "u.gravity"),
    "no controller": ({}, "u.Kp"),
    "times of samples": ({"u": Sampled(PD, 0.1)}, "u.period"),
    "function": ({"u": lambda t: [t]}, "q0"),
    "prescribed": ({"u": fa.PrescribedMotion(fa.Cycloidal([0.1], [1.0]))}, "q0"),
    "u of a controller": ({"u": PD}, "u"),
    "function as w": ({"disturbance": lambda t: [t]}, "q0"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_runs_without_a_gradient_are_refused_in_the_words_of_gradient(what):
    more, names = REFUSED[what]
    run = {"model": cart(), "until": 0.5} | more
    with pytest.raises(fa.DescriptionError) as said:
        fa.gradient(run, names, of="kinetic")
    expected = str(said.value).replace("gradient:", "simulate:", 1).replace("with_respect_to", "sensitivities")
    with pytest.raises(fa.DescriptionError) as said:
        fa.simulate(**run, sensitivities=names)
    assert str(said.value) == expected and "\n" not in expected


def test_other_sensitivities_are_refused(monkeypatch):
    model = fa.Model(cart(), vary=["cart.mass"])
    with pytest.raises(
        fa.DescriptionError, match=r"^simulate: sensitivities has the unknown name 'mass'.*Model\(arm, v"
    ):
        fa.simulate(model, 0.5, sensitivities=["mass"])
    with pytest.raises(fa.DescriptionError, match="method is 'generalized-alpha'; this has no gradient yet"):
        fa.simulate(model, 0.5, sensitivities="q0", method="generalized-alpha")
    changes = [fa.Change(at=0.1, values={"cart.mass": 2.0})]
    with pytest.raises(fa.DescriptionError, match="sensitivities are given with changes of parameters"):
        fa.simulate(model, 0.5, sensitivities="q0", changes=changes)
    with pytest.raises(fa.DescriptionError, match="sensitivities are given with changes of parameters"):
        fa.simulate(model, 0.5, sensitivities="q0", p={"cart.mass": lambda t: 1.0 + t})
    monkeypatch.setattr(adjoint, "MOST_STEPS", 20)
    with pytest.raises(fa.DescriptionError, match=r"^simulate: the run takes 1000 steps; at most"):
        fa.simulate(model, 0.5, sensitivities="q0", solver=fa.Solver(method="rk4", step=1e-3))


def test_a_scenario_has_sensitivities():
    own = {"name": "slide", "arm": cart(), "until": 0.2, "samples": 3, "initial": {"qd": [0.4]}}
    scenario = fa.Scenario(**own, sensitivities=["cart.mass", "qd0"], input={"type": "constant", "values": [0.3]})
    result = scenario.run(progress=False)
    assert result.with_respect_to.values.tolist() == ["cart.mass", "qd0[cart.joint]"]
    np.testing.assert_allclose(result.q_sensitivity[-1, 0], [-0.3 * 0.02 / 1.7**2, 0.2], rtol=1e-9)
    with pytest.raises(fa.DescriptionError, match=r"sensitivities.*'cart\.mas'"):
        fa.Scenario(**own, sensitivities=["cart.mas"]).check(cart())
    for given in ("q0", [3]):
        with pytest.raises(fa.DescriptionError, match=r"sensitivities (is|has) .*; it must be "):
            fa.Scenario(**own, sensitivities=given)
    with pytest.raises(fa.DescriptionError, match="sensitivities are given with changes"):
        fa.Scenario(**own, sensitivities=["q0"], changes=[{"at": 0.1, "values": {"cart.mass": 2.0}}])


def test_the_derivative_of_a_sum_over_samples_is_that_of_gradient(run):
    """A sum of squares over samples, as a fit needs it: its gradient follows from the sensitivities."""
    result = fa.simulate(**run | FIXED, sensitivities="p")
    found = np.einsum("ti,tip->p", 2 * result.tip.values, result.tip_sensitivity.values)
    expected = fa.gradient(run | FIXED, "p", of=lambda tip: ca.sumsqr(tip), times=result.time.values)["p"]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


# -- ensembles


@pytest.mark.parametrize("loop", LOOPS)
def test_runs_of_an_ensemble_have_those_of_each(arm, run, loop, tmp_path):
    """Each run has its own parameters, start and gains. The runs are in three files."""
    wrapped, before = LOOPS[loop]
    rng = np.random.default_rng(7)
    shared = {"until": 0.02, "samples": 4, "method": "radau5", "rtol": 1e-5, "progress": False}
    p, q0 = arm.p * rng.uniform(0.8, 1.2, size=(3, 3)), 0.01 * rng.normal(size=(3, 6))
    u = [wrapped(JointPD([0.3, 0.2], Kp=[gain, 4.0], Kd=1.0, filter=40.0)) for gain in (3.0, 5.0, 9.0)]
    names = ["payload.mass", "q0", f"{before}Kp"]
    where = {"folder": tmp_path / "runs"} if loop == "sampled" else {}
    found = fa.simulate_many(arm, u=u, q0=q0, p=p, sensitivities=names, **shared, **where)
    assert found.tip_sensitivity.dims == ("run", "time", "axis", "with_respect_to")
    assert found.with_respect_to.values.tolist()[-2:] == [f"{before}Kp[0]", f"{before}Kp[1]"]
    for i in (0, 2):
        one = fa.simulate(arm, u=u[i], q0=q0[i], p=p[i], sensitivities=names, **shared)
        assert one.with_respect_to_unit.values.tolist() == found.with_respect_to_unit.values.tolist()
        for name in VARIABLES:
            np.testing.assert_array_equal(found[name][i], one[name])
            np.testing.assert_array_equal(found[f"{name}_sensitivity"][i], one[f"{name}_sensitivity"])
    few = fa.simulate_many(
        arm, u=[0.1, 0.2], q0=q0, sensitivities="u", save=fa.SaveAt(keep=["q"]), **shared | {"samples": None}
    )
    assert few.q_sensitivity.shape[2:] == (6, 2) and "tip_sensitivity" not in few


def test_an_ensemble_without_sensitivities_is_refused_at_once(arm, run):
    now = {"model": arm, "until": 0.02, "progress": False, "sensitivities": "q0"}
    tables = [fa.Piecewise([0.0], [[0.1, 0.1]]), fa.Piecewise([0.0, 0.01], [[0.1, 0.1], [0.1, 0.2]])]
    REFUSED_MANY = {
        "sensitivities are of different numbers: run 1 has 4 numbers, run 0 has 2": {"u": tables, "sensitivities": "u"},
        "a graphics processor has no sensitivities": {"device": "gpu", "runs": 2},
        "sensitivities are given with changes": {
            "changes": [fa.Change(at=0.01, values={"payload.mass": 1.0})],
            "runs": 2,
        },
        "sensitivities has the unknown name 'k'": {"sensitivities": ["k"], "runs": 2},
        "method is 'generalized-alpha'; this has no gradient": {"method": "generalized-alpha", "runs": 2},
        "u is the Python function": {"u": [[0.1, 0.2], lambda t: [t, t]]},
    }
    for said, more in REFUSED_MANY.items():
        with pytest.raises(fa.DescriptionError, match=f"^simulate_many: {said}"):
            fa.simulate_many(**now | more)


def test_a_run_that_fails_in_an_ensemble_has_the_sensitivities_of_its_part():
    q0 = [np.zeros(6), np.full(6, 0.3)]
    run = {"model": fa.load("subudhi-morris"), "until": 0.2, "samples": 41, "sensitivities": "qd0", "q0": q0}
    found = fa.simulate_many(**run, solver=fa.Solver(method="rk4", step=0.01), progress=False)
    known = round(float(found.time_reached[1]) / 0.005) + 1
    assert found.status.values[1] != "completed" and 2 < known < 41
    by = found.q_sensitivity.values[1]
    assert np.isfinite(by[:2]).all() and np.isnan(by[known:]).all()
