"""What every peer is asked, described once.

Motions are those of the package's public set (`flexarm.problems`): an arm, what it begins with, torques that are
constant between given times, and a converged trajectory with its uncertainty. The error is the largest distance of the
arm's tip from it at the set's times. Three tasks more are about other work: a derivation, a loop at 1 kHz, a thousand
runs. Five are mechanisms with closed loops, three have gears, ball joints or cables, and two are gradients of rollouts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.peers import cables, joints, loops
from benchmarks.peers.gradients.task import Rollout, six_hinges, two_links
from flexarm import problems
from flexarm.control import JointPD, Sampled
from flexarm.exports.lumped import Lumped, lumped

Array = np.ndarray

PERIOD = 1e-3
"""Of the sampled loop [s]."""
GAINS = (40.0, 4.0)
"""Kp [N m/rad] and Kd [N m s/rad] of the loop."""
RUNS = 1000


@dataclass(frozen=True)
class Task:
    """A motion: from rest or not, under torques that are constant between times.

    Attributes
    ----------
    name, title : str
    arm : Arm
    until : float
        [s]
    times : (samples,)
        When the tip is compared [s], evenly spaced.
    tip : (samples, 2 or 3) or (runs, 3)
        Converged places of the arm's tip [m]; of many runs those at the end.
    floor : float
        What they are known to [m].
    q0, qd0 : (nq,), (n,) or (runs, n)
        In the arm's coordinates.
    jumps, torques : (k,), (k, m)
        From each of these times on these inputs act; none where k = 0.
    continuum : bool
        Whether the converged solution is that of the beams, not of a discretisation.
    goals : tuple of float
        Errors asked for [m].
    feedback : bool
        Whether u = Kp (0 - q) - Kd qd, sampled each millisecond.
    """

    name: str
    title: str
    arm: fa.Arm
    until: float
    times: Array
    tip: Array
    floor: float
    q0: Array
    qd0: Array
    jumps: Array
    torques: Array
    continuum: bool
    goals: tuple[float, ...]
    feedback: bool = False

    @property
    def many(self) -> bool:
        """Whether it is a thousand runs."""
        return self.q0.ndim == 2

    @property
    def closed(self) -> bool:
        """Whether the arm has closed loops."""
        return bool(self.arm.closures)

    @property
    def geared(self) -> bool:
        """True if joints follow other joints."""
        return any(link.joint.leaders for link in self.arm.links)

    @property
    def spherical(self) -> bool:
        """True if the joints are ball joints."""
        return any(link.joint.spherical for link in self.arm.links)

    @property
    def tied(self) -> bool:
        """True if the arm has cables."""
        return bool(self.arm.cables)

    @property
    def planar(self) -> bool:
        """Whether the tip moves in a plane."""
        return self.tip.shape[-1] == 2

    @cached_property
    def model(self) -> fa.Model:
        """The arm's equations."""
        return fa.Model(self.arm)

    @property
    def intervals(self) -> int:
        """Between the times of comparison."""
        return len(self.times) - 1

    def error(self, tip: Array | None) -> float:
        """Largest distance of the tip [m]; infinite where a run did not come to its end."""
        if tip is None or not np.isfinite(tip).all():
            return np.inf
        return float(np.linalg.norm(np.asarray(tip)[..., : self.tip.shape[-1]] - self.tip, axis=-1).max())

    def torque(self, t: float | Array) -> Array:
        """The inputs at a time, or at each of some [N m]."""
        if not len(self.jumps):
            return np.zeros((*np.shape(t), len(self.arm.inputs)))
        return self.torques[np.searchsorted(self.jumps, t, side="right") - 1]

    @cached_property
    def carries_rotors(self) -> bool:
        """Whether a rotor behind a rigid gear turns with what carries it, too."""
        equivalent = self.equivalent(1)
        return any(x.transmission is None and equivalent.carried(i) for i, x in enumerate(equivalent.joints))

    def equivalent(self, segments: int) -> Lumped:
        """The arm as rigid segments; one that is rigid as it is."""
        return lumped(self.arm, segments)


@dataclass(frozen=True)
class Derivation:
    """Equations of motion in symbols of a planar arm with so many modes of each link."""

    name: str
    title: str
    modes: tuple[int, ...]


GOALS: dict[str, tuple[float, ...]] = {
    "two-link-rigid-joints-small": (1e-4, 1e-5),
    "two-link-large": (1e-3, 1e-4),
    "two-link-absolute-rotors-small": (1e-4, 1e-5),
    "two-link-absolute-rotors-large": (1e-3, 1e-4),
    "canadarm-slew": (1e-2, 1e-3),
    "spin-up-beam": (1e-1, 2e-2),
    "spatial-gravity": (1e-2, 1e-3),
    "elastic-joint-arm": (1e-4, 1e-7),
    "free-floating-arm": (1e-4, 1e-7),
    "rigid-chain-3": (1e-4, 1e-7),
    "rigid-chain-7": (1e-4, 1e-7),
    "rigid-chain-30": (1e-4, 1e-7),
}
"""Errors of the tip that are asked for [m], not below what the trajectory is known to."""
LOOP_GOALS = (1e-2, 1e-4, 1e-6)
"""The same of mechanisms with closed loops, whose rods are 1 m long."""
ROD_GOALS = (1e-4, 1e-5)
"""The same of the slider-crank, whose rod is 0.3 m long and bends by millimetres."""
GEAR_GOALS = (1e-2, 1e-4, 1e-6)
BALL_GOALS = (1e-4, 1e-7)
CABLE_GOALS = (1e-3, 1e-5)
"""The same of the rods with gears, on ball joints, and with cables. Cables have kinks, at which methods lose order."""


def motion(name: str) -> Task:
    """A motion of the public set."""
    given = problems.problem(name)
    model = fa.Model(given.arm)
    found = given.scenario.arguments(model)
    tips = [i for i, column in enumerate(given.columns) if column.startswith("tip.")]
    return Task(
        name, given.title, given.arm, float(given.times[-1]), given.times, given.values[:, tips],
        float(np.linalg.norm(given.uncertainty[tips])),
        _state(found.get("q0"), given.arm.rest), _state(found.get("qd0"), np.zeros(len(given.arm.velocities))),
        *_steps(found.get("u")), given.solution == "continuum", GOALS[name],
    )  # fmt: skip


def _state(given: Any, rest: Any) -> Array:
    return np.array(rest if given is None else given, dtype=float)


def _steps(u: Any) -> tuple[Array, Array]:
    """Times and values of an input of steps."""
    if u is None:
        return np.empty(0), np.empty((0, 0))
    if not isinstance(u, fa.Piecewise):
        raise TypeError(f"the input is {type(u).__name__}; the peers here are given steps")
    times, values = np.array(u.times), np.array(u.values_)
    return times, values


def closed_loop() -> Task:
    """The chain of seven rods is held by a sampled law; the converged motion is dop853's at 1e-12, sample by sample."""
    fall = motion("rigid-chain-7")
    law = Sampled(JointPD(np.zeros(7), *GAINS, gravity=False), PERIOD)
    times = np.linspace(0.0, 1.0, 101)
    tight = fa.simulate(
        fall.model,
        1.0,
        law,
        q0=fall.q0,
        samples=101,
        solver=fa.Solver(method="dop853", rtol=1e-12, atol=1e-13),
        progress=False,
    )
    other = fa.simulate(
        fall.model,
        1.0,
        law,
        q0=fall.q0,
        samples=101,
        solver=fa.Solver(method="radau9", rtol=1e-9, atol=1e-11),
        progress=False,
    )
    tip = tight.tip.values
    floor = float(np.linalg.norm(tip - other.tip.values, axis=1).max())
    return Task(
        "closed-loop-1khz", "Seven rods held by a law at 1 kHz", fall.arm, 1.0, times, tip, floor, fall.q0, fall.qd0,
        np.empty(0), np.empty((0, 0)), False, (1e-4, 1e-7), feedback=True,
    )  # fmt: skip


def thousand() -> Task:
    """The chain of three rods from a thousand configurations, one second; compared at the end."""
    fall = motion("rigid-chain-3")
    q0 = np.random.default_rng(1).uniform(-0.4, 0.4, (RUNS, len(fall.q0)))
    save = fa.SaveAt(samples=2, keep=["tip"])
    solvers = [fa.Solver(method="dop853", rtol=1e-12, atol=1e-14), fa.Solver(method="rk45", rtol=1e-11, atol=1e-13)]
    runs = [
        fa.simulate_many(fall.model, 1.0, q0=q0, solver=solver, save=save, progress=False).tip.values[:, -1]
        for solver in solvers
    ]
    floor = float(np.linalg.norm(runs[0] - runs[1], axis=1).max())
    return Task(
        "thousand-runs", "A thousand falls of three rods", fall.arm, 1.0, np.array([0.0, 1.0]), runs[0],
        floor, q0, np.zeros_like(q0), np.empty(0), np.empty((0, 0)), False, (1e-4, 1e-6),
    )  # fmt: skip


def four_bars(count: int) -> Task:
    """A chain of four-bars turns five times, through flat positions; the motion is known in closed form."""
    arm, times = loops.four_bars(count), np.linspace(0.0, 10.0, 101)
    qd0 = loops.rates(arm)
    tip = loops.swing(count, times)
    ours = converged(arm, times, 0 * qd0, qd0, fa.Solver(method="dop853", rtol=1e-10, atol=1e-12))
    floor = float(np.linalg.norm(ours[:, :2] - tip, axis=1).max())
    title = "A four-bar linkage" if count == 1 else f"A chain of {count} four-bar linkages"
    return Task(
        f"four-bars-{count}", title, arm, 10.0, times, tip, floor, 0 * qd0, qd0, np.empty(0), np.empty((0, 0)), False,
        LOOP_GOALS,
    )  # fmt: skip


def bricard() -> Task:
    """Bricard's mechanism falls from rest."""
    arm, times, rest = loops.bricard(), np.linspace(0.0, 10.0, 101), np.zeros(5)
    solvers = [fa.Solver(method="dop853", rtol=1e-12, atol=1e-14), fa.Solver(method="radau9", rtol=1e-9, atol=1e-11)]
    tip, other = (converged(arm, times, rest, rest, solver) for solver in solvers)
    floor = float(np.linalg.norm(tip - other, axis=1).max())
    return Task(
        "bricard", "Bricard's mechanism", arm, 10.0, times, tip, floor, rest, rest, np.empty(0), np.empty((0, 0)),
        False, LOOP_GOALS,
    )  # fmt: skip


def slider_crank() -> Task:
    """A crank with a rod that bends and a slider turns for 0.1 s, from a straight rod without deflection."""
    arm, times = loops.slider_crank(), np.linspace(0.0, 0.1, 101)
    solver = fa.Solver(method="radau9", rtol=1e-9, atol=1e-12)
    tips = []
    for segments in (4, 6):
        links = [link.replace(body=finer(link.body, segments)) for link in arm.links]
        model = fa.Model(arm.replace(links=links))
        rates = dict(zip(arm.velocities, loops.straight(arm), strict=True))
        qd0 = np.array([rates.get(name, 0.0) for name in model.velocities])
        tips.append(converged(model.arm, times, 0 * qd0, qd0, solver)[:, :2])
    floor = float(np.linalg.norm(tips[1] - tips[0], axis=1).max())
    qd0 = loops.straight(arm)
    return Task(
        "slider-crank", "A slider-crank whose rod bends", arm, 0.1, times, tips[1], floor, 0 * qd0, qd0, np.empty(0),
        np.empty((0, 0)), True, ROD_GOALS,
    )  # fmt: skip


def geared_rods() -> Task:
    """Three rods whose joints follow one another turn over for 10 s; their energy gives the motion."""
    arm, times = joints.geared_rods(), np.linspace(0.0, 10.0, 101)
    q0, qd0 = np.array([joints.START]), np.array([joints.RATE])
    tip = joints.geared_swing(times)
    ours = converged(arm, times, q0, qd0, fa.Solver(method="dop853", rtol=1e-12, atol=1e-14))
    floor = float(np.linalg.norm(ours[:, :2] - tip, axis=1).max())
    return Task(
        "geared-rods", "Three rods with gears", arm, 10.0, times, tip, floor, q0, qd0, np.empty(0), np.empty((0, 0)),
        False, GEAR_GOALS,
    )  # fmt: skip


def ball_chain() -> Task:
    """Five rods on ball joints fall for 2 s; the motion is Pinocchio's, as it is stored."""
    times, tip, floor = joints.ball_swing()
    q0, qd0 = (x.ravel() for x in joints.ball_start())
    return Task(
        "ball-chain", "Five rods on ball joints", joints.ball_chain(), float(times[-1]), times, tip, floor, q0, qd0,
        np.empty(0), np.empty((0, 0)), False, BALL_GOALS,
    )  # fmt: skip


def cable_arm() -> Task:
    """A two-link arm falls into its cables for 3 s; the motion is that of Lagrange's equations between events."""
    times, q0 = np.linspace(0.0, cables.UNTIL, 151), np.array(cables.START)
    (tip, _, _), (other, _, _) = (cables.cable_swing(times, rtol) for rtol in (1e-13, 1e-11))
    floor = float(np.linalg.norm(other - tip, axis=1).max())
    return Task(
        "cable-arm", "A two-link arm with cables", cables.cable_arm(), cables.UNTIL, times, tip, floor, q0, 0 * q0,
        np.empty(0), np.empty((0, 0)), False, CABLE_GOALS,
    )  # fmt: skip


def finer(body: Any, segments: int) -> Any:
    """A beam of so many segments with three polynomials each; other bodies as they are."""
    if not isinstance(body, fa.Beam):
        return body
    return body.replace(segments=segments, modes={"y": 3}, shapes="polynomial")


def converged(arm: fa.Arm, times: Array, q0: Array, qd0: Array, solver: fa.Solver) -> Array:
    """Places of the tip (samples, 3) in a run without torques."""
    return fa.simulate(
        arm, float(times[-1]), q0=q0, qd0=qd0, solver=solver, samples=len(times), progress=False
    ).tip.values


def derivation() -> Derivation:
    """Two links with two modes each, and a payload."""
    return Derivation("closed-form-derivation", "Equations of motion in symbols, two links, two modes each", (2, 2))


TASKS: dict[str, Callable[[], Task | Derivation | Rollout]] = {
    **{name: (lambda name=name: motion(name)) for name in GOALS},  # type: ignore[misc]
    "closed-form-derivation": derivation,
    "closed-loop-1khz": closed_loop,
    "thousand-runs": thousand,
    **{f"four-bars-{count}": partial(four_bars, count) for count in (1, 10, 40)},
    "bricard": bricard,
    "slider-crank": slider_crank,
    "geared-rods": geared_rods,
    "ball-chain": ball_chain,
    "cable-arm": cable_arm,
    "gradient-two-links": two_links,
    "gradient-six-hinges": six_hinges,
}
"""Every task of the contest, by the name that it has in the public set where it is there."""
