"""Following a motion: controllers within the same torques, on the arm that they know and on arms that they do not.

`python -m benchmarks --only following` makes the tables and the figure, `python -m benchmarks.following FILE.html` the
page on which all of them move.
"""

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import flexarm as fa
from benchmarks.report import Picture, Table, time
from flexarm import analysis, style
from flexarm.control import Composite, DesignedFor, JointPD, Observed, Predictive, Sampled, Tracking
from flexarm.estimation import EKF
from flexarm.trajectory import reference_values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = np.ndarray

ARM = "subudhi-morris-elastic"
END = (np.pi / 2, np.pi / 6)
"""Of the joints, which stand at zero before."""
LIMIT, RESERVE = 0.5, 0.8
"""Torque of each motor [N m], and the share of it that the optimal motion takes where it leaves a reserve."""
PERIOD, SLOWLY = 1e-3, 5e-3
"""Between samples, and of the predictive controller's, which are Python [s]."""
LATE = 1e-3
"""Delay of the torques, a whole period at least [s]."""
UNTIL, NEAR = 8.0, 1e-3
"""Length of the runs [s]; within this distance the tip has arrived [m]."""
STEP = 2e-3
"""Between the samples of a run that are looked at [s]."""
FINE = 8
"""Parts of an interval of the optimal motion between which its states are known."""
HORIZON = [1] * 20 + [5] * 20
"""Of the predictive controller, in its periods."""
WINDOW = 50
"""Of those, of which a figure shows one."""
BANDWIDTH = 8.0
"""Of the linear-quadratic weights [rad/s]."""
SEED = 1

MEASURES = {
    "settled [s]": lambda run: "never" if np.isinf(run.settled) else f"{run.settled:.2f}",
    "swing after arrival [mm]": lambda run: two_digits(1e3 * run.residual),
    "swing in the last second [mm]": lambda run: two_digits(1e3 * run.left),
    "farthest from the reference [mm]": lambda run: two_digits(1e3 * run.error),
    "largest torque [N m]": lambda run: f"{run.torque:.2f}",
    "slowest pole [1/s]": lambda run: "" if run.pole is None else f"{run.pole:+.2g}" + " unstable" * (run.pole > 0),
}
"""What is said of a run, and how."""


@dataclass(frozen=True)
class Plant:
    """What really runs: the arm, whether torques come late, whether the state is seen through noisy sensors."""

    arm: fa.Arm
    late: bool = False
    noisy: bool = False


def plants() -> dict[str, Plant]:
    """The arm that the controllers know, and what they do not."""
    arm = fa.load(ARM)
    payload = arm.payload.replace(mass=1.5 * arm.payload.mass, inertia=1.5 * arm.payload.inertia)
    soft = [link.replace(body=link.body.replace(EI=0.8 * link.body.EI)) for link in arm.links]
    return {
        "nominal": Plant(arm),
        "payload +50 %": Plant(arm.replace(payload=payload)),
        "EI -20 %": Plant(arm.replace(links=soft)),
        "noise": Plant(arm, noisy=True),
        "1 ms late": Plant(arm, late=True),
    }


def sensors() -> list[Any]:
    """Encoders on both sides of the joints, and strain gauges at the links' roots."""
    sides = [f"{link}.{side}" for link in ("upper", "fore") for side in ("motor", "joint")]
    found: list[Any] = [fa.Encoder(coordinate=side, resolution=2e-4, noise=1e-4) for side in sides]
    return found + [fa.StrainGauge(link=link, noise=1e-3) for link in ("upper", "fore")]


@dataclass(frozen=True)
class Contender:
    """A controller, with what it is to follow.

    Attributes
    ----------
    law : of whether the state is seen through sensors, what goes into `Sampled`
    reference : (k,) times to (k, 3), where the tip is to be
    arrival : when the reference stands still [s]
    linear : of a plant, the law whose poles tell whether the loop is stable; None where there is none
    """

    law: Callable[[bool], Any]
    reference: Callable[[Array], Array]
    arrival: float
    period: float
    linear: Callable[[Plant], Any]


def contenders(motion: Callable[[float], Any]) -> dict[str, Contender]:
    """The controllers; `motion` gives the fastest motion within a torque."""
    model, seen = nominal(), sensors()

    def known(law: Any, noisy: bool) -> Any:
        return DesignedFor(Observed(law, seen) if noisy else law, model)

    def by_law(law: Callable[[bool], Any], place: Callable[[Array], Array], arrival: float) -> Contender:
        return Contender(law, place, arrival, PERIOD, lambda plant: law(plant.noisy))

    def shaped_pd() -> Contender:
        gains, slew = {"Kp": 3.0, "Kd": 1.5}, fa.Quintic((0.0, 0.0), END, 1.5)
        calm = fa.design_shaper(model, kind="zvd", controller=Sampled(JointPD(slew, **gains), PERIOD))
        reference = fa.shaped(slew, calm)
        encoder = {"filter": 200.0, "resolution": 2e-4, "noise": 1e-4}
        law = {noisy: JointPD(reference, **gains, **(encoder if noisy else {})) for noisy in (False, True)}
        place = partial(places_of_joints, reference)
        return by_law(lambda noisy: DesignedFor(law[noisy], model), place, 1.5 + calm.duration)

    def composite() -> Contender:
        slew = fa.Quintic((0.0, 0.0), END, 2.05)
        law = Composite(slew, Kp=9.0, Kd=6.0)
        return by_law(lambda noisy: known(law, noisy), partial(places_of_joints, slew), 2.05)

    def optimal(share: float) -> Contender:
        best = motion(share * LIMIT)
        follow = Tracking(best, bandwidth=BANDWIDTH)
        return by_law(lambda noisy: known(follow, noisy), partial(places_of_all, best), best.duration)

    def predictive(share: float) -> Contender:
        best = motion(share * LIMIT)
        given: dict[str, Any] = {"bandwidth": BANDWIDTH}
        follow = DesignedFor(Tracking(best, **given), model)

        def law(noisy: bool) -> Any:
            planned = Predictive(best, **given, limit=LIMIT, horizon=HORIZON, nominal=model)
            return DesignedFor(Observed(planned, seen, estimator=EKF()), model) if noisy else planned

        place = partial(places_of_all, best)
        return Contender(law, place, best.duration, SLOWLY, lambda plant: None if plant.noisy or plant.late else follow)

    return {
        "shaped PD": shaped_pd(),
        "composite": composite(),
        "optimal, LQR": optimal(RESERVE),
        "optimal, predictive": predictive(RESERVE),
        "no reserve, LQR": optimal(1.0),
        "no reserve, predictive": predictive(1.0),
    }


@cache
def nominal() -> fa.Model:
    """What all controllers know."""
    return fa.Model(fa.load(ARM))


@dataclass(frozen=True)
class Motion:
    """What the arm does under torques that are held from each time to the next."""

    times: Array
    q: Array
    qd: Array
    u: Array
    linear: bool = False

    @property
    def duration(self) -> float:
        """Of it [s]."""
        return float(self.times[-1])


@cache
def fastest(torque: float) -> Motion:
    """The optimal motion within a torque [N m], as the arm makes it between the times of its grid too: these lie so far
    apart that cubics between them miss its vibrations."""
    from scipy.interpolate import CubicHermiteSpline

    best = fa.optimal_motion(nominal(), (0.0, 0.0), END, limits={"torque": torque})
    samples = FINE * (len(best.times) - 1) + 1
    made = fa.simulate(nominal(), best.duration, u=best.torques, samples=samples, progress=False)
    way = CubicHermiteSpline(made.time.values, made.q.values, made.qd.values)
    near = np.abs(made.time.values[:, None] - best.times).min(axis=1) < 1e-9
    times = np.union1d(made.time.values[~near], best.times)
    held = best.u[np.searchsorted(best.times, times, side="right") - 1]
    return Motion(times, way(times), way(times, 1), held)


def places_of_joints(reference: Any, t: Array) -> Array:
    """Where a reference of the joints has the tip of the rigid arm (k, 3)."""
    return fa.Model(nominal().arm.rigid()).tip(reference_values(reference, t))[:, :3, 3]


def places_of_all(motion: Any, t: Array) -> Array:
    """Where a motion of all coordinates has the tip of the bent arm (k, 3)."""
    from scipy.interpolate import CubicHermiteSpline

    q = CubicHermiteSpline(motion.times, motion.q, motion.qd)(np.minimum(t, motion.duration))
    return nominal().tip(q)[:, :3, 3]


@cache
def ended() -> Array:
    """Where the tip is to be at last (3,)."""
    return np.array(fa.Model(nominal().arm.rigid()).tip(np.array(END))[:3, 3])


# -- runs --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """What became of a controller on a plant.

    Attributes
    ----------
    settled : from when on the tip stays within `NEAR` of its end [s], infinite where it does not
    residual, left : half the diagonal of the box in which the tip moves from the arrival on, and in the last second [m]
    error : farthest that the tip is from its reference [m]
    torque : largest [N m]
    pole : real part of the closed loop's slowest after the arrival [1/s], None where the law is no linear one
    """

    settled: float
    residual: float
    left: float
    error: float
    torque: float
    pole: float | None
    result: Any = field(repr=False)


def run(contender: Contender, plant: Plant, until: float = UNTIL) -> Run:
    """Simulate, and measure."""
    model, period = fa.Model(plant.arm), contender.period
    delay = max(LATE, period) if plant.late else 0.0
    u = Sampled(contender.law(plant.noisy), period, delay=delay, limit=LIMIT, seed=SEED)
    samples = round(until / STEP) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.errors.UnstableStart)
        warnings.filterwarnings("ignore", ".*period is")
        result = fa.simulate(model, until, u=u, samples=samples, method="auto", progress=False)
        pole = slowest(model, contender, plant, delay)
    t, tip = result.time.values, result.tip.values
    away = np.linalg.norm(tip - ended(), axis=1)
    return Run(
        settled=settled(t, away, NEAR),
        residual=swing(tip[t >= contender.arrival]),
        left=swing(tip[t >= until - 1.0]),
        error=float(np.linalg.norm(tip - contender.reference(t), axis=1).max()),
        torque=float(np.abs(result.u.values).max()),
        pole=pole,
        result=result,
    )


def slowest(model: fa.Model, contender: Contender, plant: Plant, delay: float) -> float | None:
    """Real part of the slowest pole, where the law is linear when all has arrived."""
    law = contender.linear(plant)
    if law is None:
        return None
    u, t = Sampled(law, contender.period, delay=delay), contender.arrival + 1.0
    where: dict[str, Any] = {"q": END}
    if isinstance(law.controller, Observed):  # which believes at first that it is at the start
        still, (q, _) = np.zeros(model.nv), analysis.equilibrium(model, END)
        where = {"q": q, "qd": still, "z": np.concatenate([q, still])}
    poles = analysis.closed_loop(model, u, t=t, **where).poles()
    return float(np.log(np.abs(poles).max()) / contender.period)


def settled(t: Array, away: Array, near: float) -> float:
    """The first of the times from which on what is away (k,) stays within a distance; infinite if there is none."""
    outside = np.flatnonzero(~(away <= near))
    first = outside[-1] + 1 if len(outside) else 0
    return float(t[first]) if first < len(t) else np.inf


def swing(tip: Array) -> float:
    """Half the diagonal of the box in which places (k, 3) lie."""
    return float(np.linalg.norm(np.ptp(tip, axis=0)) / 2)


def runs(given: Mapping[str, Contender], of: Mapping[str, Plant], until: float = UNTIL) -> dict[str, dict[str, Run]]:
    """Each controller on each plant: by plant, then by controller."""
    return {
        what: {name: run(contender, plant, until) for name, contender in given.items()} for what, plant in of.items()
    }


# -- what is made of them ----------------------------------------------------------------------------------------------


def measure(quick: bool) -> list[Table]:
    """The comparison."""
    return [compared(runs(contenders(fastest), plants(), 4.0 if quick else UNTIL))]


def compared(found: Mapping[str, Mapping[str, Run]]) -> Table:
    """One table of all numbers, the controllers beneath each other."""
    table = Table("Following a motion within 0.5 N m", ("what", "controller", *found))
    first = next(iter(found.values()))
    for what, said in MEASURES.items():
        for name in first:
            table.add(what, name, *(said(of[name]) for of in found.values()))
    until = float(next(iter(first.values())).result.time[-1])
    facts = [each.result.attrs for of in found.values() for each in of.values()]
    steps, failed = (sum(each.get(f"predictive_{what}", 0) for each in facts) for what in ("steps", "failed"))
    table.notes.append(
        f"The joints of the arm {ARM} move from (0, 0) to (pi / 2, pi / 6), in runs of {until:g} s. Times count from "
        f"the start. The tip has settled once it stays within {1e3 * NEAR:g} mm of its final position. The slowest "
        "pole is that of the closed loop with the actual plant after the arrival. The predictive controller is called "
        f"every {time(SLOWLY)} and has a delay of the same length. Its poles are those of the linear control law that "
        f"it equals while no limit is active. Of its {steps} steps, {failed} had no solution."
    )
    table.picture = Picture("following.svg", partial(diagram, found))
    return table


def two_digits(x: float) -> str:
    """Without an exponent where a number is large."""
    return f"{float(f'{x:.2g}'):g}"


def diagram(found: Mapping[str, Mapping[str, Run]]) -> "Figure":
    """The tip's distance from its end over time, the largest of every 100 ms, a panel for each plant."""
    figure = style.figure(9, 2.4 * -(-len(found) // 2), layout="constrained")
    panels = np.ravel(figure.subplots(-(-len(found) // 2), 2, sharex=True, sharey=True))
    for panel, (what, of) in zip(panels, found.items(), strict=False):
        for i, (name, each) in enumerate(of.items()):
            away = np.linalg.norm(each.result.tip.values[1:] - ended(), axis=1).reshape(-1, WINDOW).max(axis=1)
            t = each.result.time.values[1:].reshape(-1, WINDOW).mean(axis=1)
            panel.plot(t, 1e3 * np.maximum(away, 1e-6), **style.curve(i, len(t)), label=name)
        panel.axhline(1e3 * NEAR, **style.RULE)
        panel.set_yscale("log")
        panel.minorticks_off()
        panel.set_ylim(1e-2, 3e3)
        panel.set_title(what)
        panel.tick_params(labelbottom=True)
    for panel in panels[len(found) :]:
        panel.axis("off")
        panel.legend(*panels[0].get_legend_handles_labels(), loc="center")
    figure.supxlabel("time [s]", fontsize=style.SMALL)
    figure.supylabel("the tip from its end [mm]", fontsize=style.SMALL)
    return style.finished(figure)


def live(found: Mapping[str, Mapping[str, Run]], path: Path) -> Path:
    """The page on which all of them move: one plant at a time, its controllers in one place or side by side."""
    seen = slice(None, None, 5)
    cases = {what: {name: each.result.isel(time=seen) for name, each in of.items()} for what, of in found.items()}
    return fa.view(cases, path, show=False)


if __name__ == "__main__":
    print(live(runs(contenders(fastest), plants(), 5.0), Path(sys.argv[1])))
