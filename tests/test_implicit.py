"""Implicit methods: the order they are said to have, what they do to energy, and steps that ignore stiffness."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import flexarm as fa
from flexarm import control
from flexarm.simulation import solvers
from flexarm.simulation.implicit import Implicit
from flexarm.simulation.rhs import Plan
from flexarm.simulation.steps import scaled, size
from flexarm.simulation.tableaus import Tableau, gauss, generalized_alpha, radau

TABLEAUS = {
    "generalized-alpha": (generalized_alpha(1.0), 2),
    "gauss4": (gauss(2), 4),
    "gauss8": (gauss(4), 8),
    "radau5": (radau(3), 5),
    "radau9": (radau(5), 9),
}
METHODS = tuple(TABLEAUS)


def arm(EI: float | None = 4.0, stiffness: float | None = None, rotor: float = 0.0) -> fa.Arm:
    """Two links in gravity, the second flexible, large deflections included; without EI it is rigid."""
    joint = fa.Revolute(axis=(0, 0, 1))
    upper = fa.Link(
        name="upper",
        joint=fa.Revolute(axis=(0, 0, 1), stiffness=stiffness, rotor_inertia=rotor),
        body=fa.Rigid(mass=1.0, length=0.7, inertia=0.05),
    )
    shape = {"EI": EI, "modes": {"y": 2}, "shapes": "polynomial", "foreshortening": True} if EI else {"modes": {}}
    lower = fa.Link(name="lower", joint=joint, body=fa.Beam(length=0.8, mass=0.4, **shape))
    return fa.Arm(name="two", links=[upper, lower], gravity=(0, -9.81, 0))


def conditions(t: Tableau) -> list[float]:
    """Faults of a collocation method's simplifying conditions, which make its order."""
    s = t.stages
    k = np.arange(1, s + 1)
    return [
        *np.abs(t.a1 @ t.c[:, None] ** (k - 1) - t.c[:, None] ** k / k).ravel(),
        *np.abs(t.a2 - t.a1 @ t.a1).ravel(),
        *np.abs(t.b2 - t.b1 @ t.a1).ravel(),
    ]


@pytest.mark.parametrize(("name", "order"), [(name, TABLEAUS[name][1]) for name in METHODS[1:]])
def test_tableaus_fulfil_the_conditions_of_their_order(name: str, order: int) -> None:
    t = TABLEAUS[name][0]
    assert max(conditions(t)) < 1e-13
    quadrature = [abs(t.b1 @ t.c ** (k - 1) - 1 / k) for k in range(1, order + 2)]
    assert max(quadrature[:order]) < 1e-14
    assert quadrature[order] > 1e-8


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8, 1.0])
def test_generalized_alpha_damps_as_it_is_told(rho: float) -> None:
    """The matrix of one step of x'' = -w^2 x for w h to infinity has the spectral radius rho."""
    t, w2 = generalized_alpha(rho), 1e14
    (g, g0), (b, b0) = t.b1, t.b2
    # k = mix f1 + carried f0 + before k0, f = -w2 x, x1 = x + v + b k + b0 k0, v1 = v + g k + g0 k0
    S = 1 + t.mix * w2 * b
    k = np.array([-t.mix * w2 - t.carried * w2, -t.mix * w2, t.before - t.mix * w2 * b0]) / S
    x1, v1 = np.array([1, 1, b0]) + b * k, np.array([0, 1, g0]) + g * k
    # the scale of accelerations is w2
    A = np.array([x1, v1, k]) * np.array([1.0, 1.0, w2])[None, :] / np.array([1.0, 1.0, w2])[:, None]
    assert np.abs(np.linalg.eigvals(A)).max() == pytest.approx(rho, abs=2e-3)


@pytest.mark.parametrize("rho", [-0.1, 1.1, float("nan")])
def test_a_spectral_radius_is_between_zero_and_one(rho: float) -> None:
    with pytest.raises(fa.DescriptionError, match=r"spectral_radius is .*; it must be from 0 to 1"):
        generalized_alpha(rho)


@pytest.fixture(scope="module")
def exact() -> tuple[fa.Model, np.ndarray]:
    model = fa.Model(arm())
    return model, fa.simulate(
        model, 0.5, None, [0.5, 0.3, 0.02, 0.0], solver=fa.Solver(rtol=1e-13, atol=1e-14, method="dop853")
    ).q.values


@pytest.mark.parametrize(("name", "steps"), [
    ("generalized-alpha", (400, 800, 1600)), ("gauss4", (200, 400, 800)), ("gauss8", (60, 90, 135)),
    ("radau5", (100, 200, 400)), ("radau9", (50, 75, 112)),
])  # fmt: skip
def test_observed_order(exact: tuple[fa.Model, np.ndarray], name: str, steps: tuple[int, ...]) -> None:
    model, q = exact
    errors = []
    for count in steps:
        solver = fa.Solver(method=name, step=0.5 / count, rtol=1e-10, atol=1e-12)
        run = fa.simulate(model, 0.5, None, [0.5, 0.3, 0.02, 0.0], solver=solver, samples=2)
        errors.append(np.abs(run.q.values[-1] - q[-1]).max())
    observed = np.log(errors[0] / errors[-1]) / np.log(steps[-1] / steps[0])
    assert observed > TABLEAUS[name][1] - 0.6, errors


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("rtol", [1e-5, 1e-8])
def test_steps_of_its_own_keep_the_tolerance(exact: tuple[fa.Model, np.ndarray], name: str, rtol: float) -> None:
    model, q = exact
    run = fa.simulate(
        model, 0.5, None, [0.5, 0.3, 0.02, 0.0], solver=fa.Solver(method=name, rtol=rtol, atol=rtol * 1e-2)
    )
    order = TABLEAUS[name][1]
    assert np.abs(run.q.values - q).max() < 20 * rtol ** (order / (order + 1))  # of a step rtol, of a run h^order
    assert run.attrs["method"] == name


@pytest.mark.parametrize("name", ["generalized-alpha", "gauss4", "gauss8"])
def test_energy_stays_over_many_steps(name: str) -> None:
    """1e5 steps of an undamped arm that swings: the energy neither grows nor decays, it wavers by a step's error."""
    model = fa.Model(arm(EI=40.0))
    run = fa.simulate(
        model, 200.0, None, [0.3, 0.2, 0.0, 0.0], solver=fa.Solver(method=name, step=0.002, rtol=1e-8), samples=2001
    )
    E = (run.kinetic + run.potential).values
    first, last = E[:200], E[-200:]
    wave = np.ptp(first)
    assert abs(last.mean() - first.mean()) < 0.2 * wave + 1e-4 * np.ptp(run.kinetic.values)
    assert run.attrs["steps"] == 100_000


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")  # between steps the stiffest energy is not known
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("EI", "stiffness"), [(4e9, None), (0.5, 1e9), (4e9, 1e9)])
def test_steps_that_ignore_stiffness(name: str, EI: float, stiffness: float | None) -> None:
    """A step many times as long as the fastest period gives the motion of the arm that is rigid there."""
    rotor = 0.02 if stiffness else 0.0
    model = fa.Model(arm(EI, stiffness, rotor))
    wanted = fa.simulate(fa.Model(arm(None if EI > 1e8 else EI, None, rotor)), 0.4, method="dop853").tip.values
    omega = model.frequencies(np.zeros(len(model.coordinates)), locked=False).max()
    assert omega * 1e-3 > 50
    run = fa.simulate(model, 0.4, None, solver=fa.Solver(method=name, step=1e-3, rtol=1e-6, atol=1e-8))
    assert np.abs(run.tip.values - wanted).max() < 1e-4


def spread(model: fa.Model, name: str, until: float, **given: object) -> float:
    """Largest difference of the coordinates from those of dop853, relative to the largest of each."""
    runs = [
        fa.simulate(model, until, solver=fa.Solver(method=m, rtol=1e-8, atol=1e-10), samples=51, **given)
        for m in (name, "dop853")
    ]
    q = [run.q.values for run in runs]
    assert np.abs(runs[0].work - runs[1].work).max() < 1e-4 * np.abs(runs[1].work).max() + 1e-9
    return float((np.abs(q[0] - q[1]).max(axis=0) / (np.abs(q[1]).max(axis=0) + 1e-3)).max())


@pytest.mark.parametrize("name", ["radau5", "gauss4", "generalized-alpha"])
def test_whatever_drives_an_arm(name: str) -> None:
    """Laws with a memory of their own, sampled laws, prescribed motion, torques that jump, a telescope."""
    bound = 2e-3 if name == "generalized-alpha" else 2e-5
    model = fa.Model(fa.load("subudhi-morris-elastic"))
    slew = fa.Quintic(start=(0.0, 0.0), end=(0.4, 0.3), duration=0.6)
    law = control.Integral(control.JointPD(slew, Kp=5.0, Kd=1.0), Ki=3.0)
    assert spread(model, name, 0.8, u=law) < bound
    assert spread(model, name, 0.2, u=control.Sampled(control.JointPD(slew, Kp=5.0, Kd=1.0), period=1e-3)) < bound
    assert spread(model, name, 0.5, u=fa.bang_bang([0.3, 0.1], duration=0.13)) < bound
    rigid_joints = fa.Model(fa.load("subudhi-morris"))
    assert spread(rigid_joints, name, 0.8, u=fa.PrescribedMotion(slew)) < bound
    telescope = fa.Model(fa.load("theodore-ghosal"))
    q0 = np.array(telescope.arm.rest)
    assert spread(telescope, name, 0.3, u=[2.0, 1.0, 3.0], q0=q0) < bound


@pytest.mark.parametrize("EI", [1e6, 3e6])
def test_a_step_across_a_kink_is_seen(EI: float) -> None:
    """The torque's slope jumps at 0.4 s; where a shorter step is tried, those before it say nothing of its error."""
    body = fa.Beam(length=1.0, mass=1.0, EI=EI, modes={"y": 2}, damping=0.3)
    links = [fa.Link(name="upper", body=body), fa.Link(name="fore", body=fa.Rigid(length=0.8, mass=0.5))]
    model = fa.Model(fa.Arm(name="two", links=links, gravity=(0.0, -9.81, 0.0)))
    u = fa.RigidInverseDynamics(fa.Quintic(start=(0.0, 0.0), end=(0.4, 0.3), duration=0.4))
    wanted = fa.simulate(model, 0.5, u, solver=fa.Solver(method="radau5", rtol=1e-11, atol=1e-13), samples=101).q.values
    for rtol in (1e-6, 1e-7, 1e-8):
        found = fa.simulate(
            model, 0.5, u, solver=fa.Solver(method="radau9", rtol=rtol, atol=1e-2 * rtol), samples=101
        ).q.values
        assert np.abs(found - wanted).max() < 100 * rtol


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("step", [None, 1e-3])
def test_a_run_goes_on_after_a_limit(name: str, step: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it had not been left: to the tolerance, for what was decided of the next step is decided anew."""
    model = fa.Model(arm(EI=4e3))
    u = fa.Piecewise([0.0, 0.137], [[0.5, 0.2], [-0.4, 0.1]])
    given: dict[str, Any] = {
        "u": u,
        "method": name,
        "rtol": 1e-7,
        "solver": fa.Solver(atol=1e-9, step=step),
        "samples": 77,
    }
    whole = fa.simulate(model, 0.3, **given)
    left = []

    def in_parts(stepping: Implicit, plan: Plan, t: float, x: np.ndarray, times: np.ndarray) -> solvers.Stretch:
        rows, steps, known = [], 0, 0
        while known < len(times):
            found, taken = stepping(t, x, times[known:], plan.evaluations + 300, bool(rows))
            rows.append(found)
            steps, known = steps + taken, known + len(found)
            t, x = stepping.reached()
            left.append(t)
            assert len(left) < 5000
        return solvers.checked(plan, times, np.concatenate(rows), steps, "")

    monkeypatch.setattr(solvers, "integrate_implicit", in_parts)
    parts = fa.simulate(model, 0.3, **given)
    assert len(left) > 4 and (step or np.diff(left).max() < 0.2)
    bound = 1e-5 if name == "generalized-alpha" else 1e-6
    for part in ("q", "work"):
        assert np.abs(parts[part].values - whole[part].values).max() < bound
    if step:
        assert parts.attrs["steps"] == whole.attrs["steps"] == 137 + 163


@pytest.mark.parametrize(
    ("rho", "steps"), [(0.0, (6400, 25600)), (0.3, (6400, 25600)), (0.7, (400, 1600)), (1.0, (400, 1600))]
)
def test_generalized_alpha_is_of_order_two_for_any_radius(
    exact: tuple[fa.Model, np.ndarray], rho: float, steps: tuple[int, ...]
) -> None:
    """With short steps, where it damps: as long as it takes the fastest mode away, there is no order."""
    model, q = exact
    errors = []
    for count in steps:
        given = {"solver": fa.Solver(step=0.5 / count, atol=1e-12, spectral_radius=rho), "samples": 2, "rtol": 1e-10}
        run = fa.simulate(model, 0.5, None, [0.5, 0.3, 0.02, 0.0], method="generalized-alpha", **given)
        errors.append(np.abs(run.q.values[-1] - q[-1]).max())
    assert np.log2(errors[0] / errors[-1]) / 2 == pytest.approx(2.0, abs=0.2), errors


@pytest.mark.parametrize("name", METHODS)
def test_between_steps_as_at_their_ends(exact: tuple[fa.Model, np.ndarray], name: str) -> None:
    """The grid takes no part in the choice of steps, and what is read between them is about as exact."""
    model, q = exact
    solver = fa.Solver(method=name, rtol=1e-7, atol=1e-9)
    runs = [fa.simulate(model, 0.5, None, [0.5, 0.3, 0.02, 0.0], solver=solver, samples=count) for count in (2, 1001)]
    np.testing.assert_array_equal(runs[0].q.values[-1], runs[1].q.values[-1])
    assert runs[0].attrs["evaluations"] == runs[1].attrs["evaluations"]
    error = np.abs(runs[1].q.values - q).max(axis=1)
    assert error.max() < 100 * max(error[-1], 1e-9)


@pytest.mark.parametrize(("pose", "twist"), [(0, 0), (3, 2)])
def test_an_error_counts_by_what_it_does_to_coordinates_rates_and_memory(pose: int, twist: int) -> None:
    """Of an error r of the unknown rates in a step: h^2 r / 2 in q, h r in a pose, v and z, in units of tolerance."""
    inner, m, h, rtol = 2, pose + twist + 3, 0.1, 1e-3
    count = inner + m  # (pose, inner q, v, z)
    rng = np.random.default_rng(3)
    y, atol, r = rng.normal(size=count), rng.uniform(1e-5, 1e-4, count), rng.normal(size=m)
    s = SimpleNamespace(
        n=pose + inner, pose=pose, inner=pose + twist, m=m, rtol=rtol, atol=atol, y=y, scale=np.zeros(m)
    )
    scaled(s, h)
    own = 0.5 * h**2 * r[pose + twist : pose + twist + inner]
    done = np.concatenate([h * r[:pose], own, h * r[pose:]]) / (atol + rtol * np.abs(y))
    assert size(s, r) == pytest.approx(sum(done**2) / count, rel=1e-12)
