"""Optimal motions beside what is known: exact solutions, rigid arms, shapers and controllers within the same limits."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, final

import numpy as np

import flexarm as fa
from benchmarks import known
from benchmarks.report import Picture, Table, judged, time
from benchmarks.settling import (
    KEPT,
    KINDS,
    SAMPLES,
    Arrival,
    controlled,
    led,
    place,
    settled,
    shaped_steps,
    standing,
    swing,
    window,
)
from flexarm.control import Composite, Decoupling, JointPD, Sampled
from flexarm.optimal import OptimalMotion, optimal_motion
from flexarm.trajectory import Still

Array = np.ndarray


# -- cases -------------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Case:
    """A motion from rest to rest.

    Attributes
    ----------
    arm : callable
    start, end : tuple
        Joints.
    limit : tuple
        On each input [N m] or [N].
    seconds : float
        Within which it is to be solved.
    first : float
        A duration to begin with [s].
    tolerance : float
        Of the tip [m].
    laws : dict
        By name: a controller that leads the arm along a quintic, as a bundled scenario does, and for how long its tip is
        watched after [s].
    more : dict
        Further arguments of `optimal_motion`.
    """

    arm: Callable[[], fa.Arm]
    start: tuple[float, ...]
    end: tuple[float, ...]
    limit: tuple[float, ...]
    seconds: float
    first: float
    tolerance: float = 1e-4
    laws: dict[str, tuple[Callable[[fa.Quintic], Any], float]] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def single(self) -> bool:
        """Whether one joint moves: forces that change sides are then shaped as they are."""
        return len(self.limit) == 1


def two_masses() -> fa.Arm:
    """Two unit masses and a spring of 1 N/m."""
    joint = fa.Prismatic(axis=[1, 0, 0], stiffness=1.0, rotor_inertia=1.0)
    return fa.Arm(name="two masses", links=[fa.Link(name="cart", joint=joint, body=fa.Rigid(length=0.1, mass=1.0))])


def two_links() -> fa.Arm:
    """The rigid arm of Luus: uniform rods of 1 kg and 1 m, 1 kg at the tip, in a horizontal plane."""
    rods = [
        fa.Link(name=name, joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=1.0, mass=1.0))
        for name in ("upper", "fore")
    ]
    return fa.Arm(name="two rods", links=rods, payload=fa.Payload(mass=1.0), gravity=(0, 0, 0))


def one_link() -> fa.Arm:
    """A hub and a beam with a load at its tip: 12 and 90 rad/s with the hub held."""
    body = fa.Beam(length=1.0, mass=0.3, EI=8.0, modes={"y": 2})
    link = fa.Link(name="beam", joint=fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.05), body=body)
    return fa.Arm(name="hub and beam", links=[link], payload=fa.Payload(mass=0.1), gravity=(0, 0, 0))


def bundled(name: str) -> Callable[[], fa.Arm]:
    return lambda: fa.load(name)


def composite(Kp: float, Kd: float, period: float) -> Callable[[fa.Quintic], Any]:
    return lambda reference: Sampled(Composite(reference, Kp, Kd), period=period)


def canadarm_shaped(reference: fa.Quintic) -> JointPD:
    """As the bundled scenario `canadarm-slew-shaped` has it."""
    gains = [113400.0, 30000.0, 507.0]
    model = fa.Model(fa.load("canadarm"))
    shaper = fa.shaper(model, None, "zvd", 1, controller=JointPD(reference, gains, gains))
    return JointPD(fa.shaped(reference, shaper), gains, gains)


PLANAR, SPATIAL = 5.0, 60.0
"""Seconds to solve in, of the issue."""

SUBUDHI: dict[str, Any] = {
    "start": (0.0, 0.0),
    "end": (1.57, 0.52),
    "limit": (0.5, 0.5),
    "seconds": PLANAR,
    "first": 2.0,
    "laws": {"composite": (composite(5.0, 2.0, 1e-3), 12.0)},
}

CASES = {
    "two masses": Case(two_masses, (0.0,), (1.0,), (1.0,), PLANAR, 3.0),
    "rigid two-link arm": Case(two_links, *known.LUUS, (1.0, 1.0), PLANAR, 3.0),
    "one-link flexible arm": Case(one_link, (0.0,), (1.0,), (1.0,), PLANAR, 1.0),
    "Subudhi & Morris, rigid joints": Case(bundled("subudhi-morris"), **SUBUDHI),
    "Subudhi & Morris, elastic joints": Case(bundled("subudhi-morris-elastic"), **SUBUDHI),
    "Canadarm's slew": Case(
        bundled("canadarm"),
        (0.0, 0.0, 0.0),
        (0.75, 0.5, 1.0),
        (1700.0, 860.0, 90.0),
        PLANAR,
        10.0,
        1e-3,
        {"composite": (composite(1.0, 2.0, 2e-3), 30.0), "shaped PD": (canadarm_shaped, 60.0)},
    ),
    "spatial 6R arm under gravity": Case(
        bundled("spatial-6r"),
        (0.0,) * 6,
        (0.8, 0.3, -0.5, 1.0, 0.6, 1.0),
        (600.0, 600.0, 250.0, 6.0, 25.0, 1.0),
        SPATIAL,
        1.0,
        laws={"composite": (composite(100.0, 20.0, 1e-3), 3.0)},
    ),
    "telescoping arm": Case(
        bundled("theodore-ghosal"),
        (0.0, 0.0, 0.3),
        (np.pi, -np.pi / 2, 1.0),
        (28.0, 62.5, 12.6),
        SPATIAL,
        1.0,
        laws={"decoupling": (lambda reference: Decoupling(reference, 100.0, 20.0), 3.0)},
    ),
}
"""Limits: of the Canadarm what its bundled slew of 10 s takes without feedback, rounded down; of the telescoping arm what its bundled
motion of 1 s takes; of the spatial arm a little more than its bundled motion of 1 s takes, of which gravity wants 410 N m."""


# -- measured ----------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class Solved:
    """An optimal motion, how long it took, when its tip rests, what is left then, and its run with the drives held after."""

    motion: OptimalMotion
    seconds: float
    rest: float
    left: float
    run: Any
    said: str


def fastest(model: fa.Model, case: Case) -> Solved:
    """The optimal motion; raises `FlexarmError` where none is found."""
    began = perf_counter()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        motion = optimal_motion(
            model, case.start, case.end, limits={"torque": list(case.limit)}, tolerance=case.tolerance, **case.more
        )
    seconds = perf_counter() - began
    run, held, there = played(model, case, motion)
    whole = joined(run, held, motion.duration)
    left = swing(whole, there, motion.duration)
    return Solved(motion, seconds, settled(whole, there, case.tolerance), left, run, "; ".join(map(_said, heard)))


def _said(warning: warnings.WarningMessage) -> str:
    return str(warning.message)


def played(model: fa.Model, case: Case, motion: OptimalMotion) -> tuple[Any, Any, Array]:
    """The run of the motion's torques, that which follows with the drives stopped and held at the end, and the tip's goal."""
    q0, qe = standing(model, case.start)[0], standing(model, case.end)[0]
    exact: dict[str, Any] = {"progress": False, "rtol": 1e-10, "atol": 1e-12, "samples": SAMPLES}
    run = fa.simulate(model, motion.duration, motion.torques, q0=q0, **exact)
    q, qd = run.q.values[-1].copy(), run.qd.values[-1].copy()
    drives = list(model.arm.actuated)
    q[drives], qd[drives] = qe[drives], 0.0
    stopped = fa.PrescribedMotion(Still(tuple(qe[drives].tolist())))
    held = fa.simulate(model, window(model, case.end), stopped, q0=q, qd0=qd, keep=KEPT, **exact)
    return run, held, place(model, case.end)


def joined(run: Any, held: Any, T: float) -> Any:
    """Tips of both runs, one after the other."""
    import xarray

    after = held[["tip"]].isel(time=slice(1, None)).assign_coords(time=held.time.values[1:] + T)
    return xarray.concat([run[["tip"]], after], "time")


def linear(model: fa.Model, case: Case) -> known.Linear:
    """An arm of one joint, linear about its start: positions and rates, in its modes."""
    M, K = model.mass_matrix(np.zeros(model.nq)), np.array(model.slope("stiffness_force", 0)(np.zeros(model.nq)))
    n = len(M)
    A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, 1))
    A[:n, n:], A[n:, :n] = np.eye(n), -np.linalg.solve(M, K)
    B[n:] = np.linalg.solve(M, model.input_matrix(np.zeros(model.nq)))
    way = np.zeros(2 * n)
    way[:n] = standing(model, case.end)[0] - standing(model, case.start)[0]
    return known.Linear(A, B, way, np.array(case.limit))


def exact(name: str, model: fa.Model, case: Case) -> float | None:
    """What the time is without the package, where that is known [s]."""
    if name == "two masses":
        return known.two_masses().end
    if name == "rigid two-link arm":
        return known.two_links().motion.end
    if name == "one-link flexible arm":
        arm, shares = linear(model, case), np.linspace(0, 1, 401)
        T = arm.fastest(shares, 0.5 * case.first, 4 * case.first)
        return arm.impossible(arm.farthest(shares, T)[2], 2 * T)
    return None
