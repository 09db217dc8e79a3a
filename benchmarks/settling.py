"""When an arm has come to rest: shaped commands and controlled motions slowed until their torques fit a limit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import xarray

import flexarm as fa
from flexarm.trajectory import Still

Array = np.ndarray

KINDS = ("zv", "zvd", "ei")
MODES = 3
"""Most modes that a shaper is made for: it takes as many as bring the arm to rest soonest."""
PERIODS = 3.0
"""Of the slowest vibration, for which a tip is watched after its motion has ended; in the last it must rest."""
SAMPLES = 1501
KEPT = ["tip", "u", "deflection"]
SAME = 1.003
"""Durations that differ by less are not told apart."""
FAR = 50.0
"""Times the first duration, and a part as small: what is looked at."""
LONGER = 1.12
"""By how much a motion is slowed at once whose torques fit and which leaves the tip swinging."""
SLOWEST = 4.0
"""Times the duration that the torques want: a motion that still swings then is given up."""


def settled(run: Any, end: Any, tolerance: float, since: float) -> float:
    """When the tip of a run has come within `tolerance` [m] of `end` (3,) for good [s]: from `since` [s] on at the
    latest, until the run is over; else infinite. Between samples the tip goes on a straight line."""
    t, off = run.time.values, np.linalg.norm(run.tip.values - np.asarray(end), axis=1)
    outside = np.flatnonzero(off > tolerance)
    if not len(outside):
        return 0.0
    k = int(outside[-1])
    if k == len(t) - 1 or t[k] > since:
        return float("inf")
    return float(np.interp(-tolerance, -off[k : k + 2], t[k : k + 2]))


def swing(run: Any, end: Any, since: float) -> float:
    """How far the tip of a run is from `end` at most after `since` [m]."""
    off = np.linalg.norm(run.tip.values - np.asarray(end), axis=1)
    return float(off[run.time.values >= since].max())


@final
@dataclass(frozen=True)
class Arrival:
    """A motion under limits.

    Attributes
    ----------
    duration, ends : float
        Of its reference, and when its command is over [s].
    rest : float
        When the tip is within the tolerance for good [s].
    used : float
        Largest input, as a share of its limit.
    left : float
        By how much the tip is off at most once the command is over [m].
    run : Dataset
    limited : Arrival, optional
        The fastest that the limits alone allow, where that one does not come to rest.
    """

    duration: float
    ends: float
    rest: float
    used: float
    left: float
    run: Any
    limited: "Arrival | None" = None


def attempt(
    moved: Callable[[], Any], limit: Any, times: tuple[float, float, float], there: Array, tolerance: float
) -> Arrival:
    """The arrival of a run; of one that fails, never, with more input than there is. `times`: the reference's duration,
    the command's end, and when the tip must rest at the latest."""
    try:
        run = moved()
    except fa.FlexarmError:
        return Arrival(*times[:2], float("inf"), float("inf"), float("inf"), None)
    used = float((np.abs(run.u.values) / np.asarray(limit)).max())
    return Arrival(*times[:2], settled(run, there, tolerance, times[2]), used, swing(run, there, times[1]), run)


def within(tried: Callable[[float], Arrival], first: float) -> Arrival | None:
    """The fastest of the motions `tried(duration)` whose inputs stay within their limits and which come to rest; the
    fastest that the limits allow where none rests, None where all want more.

    First the duration at which the inputs just fit is found, by halving from `first`; then it grows until the tip
    rests.
    """
    below, found, duration = 0.0, None, first
    while found is None or found.duration > max(SAME * below, first / FAR):
        each = tried(duration)
        if each.used <= 1:
            found = each
            duration = (below + duration) / 2
        elif duration > FAR * first:
            return None
        else:
            below = duration
            duration = (below + found.duration) / 2 if found else 2 * duration
    limited = found
    while found.used > 1 or not np.isfinite(found.rest):
        if found.duration > SLOWEST * limited.duration:
            return limited
        found = tried(LONGER * found.duration)
    return found if found is limited else replace(found, limited=limited)


def window(model: fa.Model, end: Any) -> float:
    """How long a tip is watched after a motion [s]."""
    slow = [omega for omega in model.frequencies(standing(model, end)[0]) if omega > 1e-6]
    return PERIODS * 2 * np.pi / min(slow) if slow else 1.0


def standing(model: fa.Model, joints: Any) -> tuple[Array, Array]:
    """The arm in equilibrium with its joints there, and what holds it."""
    return fa.analysis.equilibrium(model, fa.analysis.configuration(model, joints), held="joints")


def place(model: fa.Model, joints: Any) -> Array:
    """Of the tip, (3,)."""
    return np.array(model.tip(standing(model, joints)[0])[:3, 3])


def rests_by(run: Any) -> float:
    """When the tip of a run with a window at its end must rest at the latest [s]."""
    return float(run.attrs["ends"] + run.attrs["window"] * (1 - 1 / PERIODS))


def stopped(model: fa.Model, u: Any, ends: float, start: Sequence[float], end: Sequence[float]) -> Any:
    """The run of an input until `ends` [s], and on with the drives stopped where they are: tip, inputs, deflections."""
    exact: dict[str, Any] = {"progress": False, "rtol": 1e-10, "solver": fa.Solver(atol=1e-12), "samples": SAMPLES}
    run = fa.simulate(model, ends, u, q0=standing(model, start)[0], save=fa.SaveAt(keep=[*KEPT, "q", "qd"]), **exact)
    q, qd, drives = run.q.values[-1].copy(), run.qd.values[-1].copy(), list(model.arm.actuated)
    qd[drives] = 0.0
    brakes = fa.PrescribedMotion(Still(tuple(q[drives].tolist())))
    after = fa.simulate(model, window(model, end), brakes, q0=q, qd0=qd, save=fa.SaveAt(keep=KEPT), **exact)
    after = after[KEPT].isel(time=slice(1, None)).assign_coords(time=after.time.values[1:] + ends)
    found = xarray.concat([run[KEPT], after], "time")
    return found.assign_attrs(ends=ends, window=window(model, end))


def led(
    model: fa.Model, start: Sequence[float], end: Sequence[float], limit: Any, tolerance: float, kind: str, first: float
) -> Arrival | None:
    """The drives exactly along a shaped quintic, as under controllers that are stiff beyond measure. The soonest at
    rest of shapers for one, two and three modes of the arm at its end."""
    q0, qe = standing(model, start)[0], standing(model, end)[0]
    held = [i + model.nq - model.nv for i in model.arm.actuated]
    begin, goal = q0[held], qe[held]
    watched, there = window(model, end), place(model, end)
    found: Arrival | None = None
    for modes in range(1, MODES + 1):
        try:
            shaper = fa.design_shaper(model, qe, kind, modes)
        except fa.DescriptionError:
            break

        def tried(duration: float, shaper: fa.Shaper = shaper) -> Arrival:
            drives = fa.PrescribedMotion(fa.shaped(fa.Quintic(tuple(begin), tuple(goal), duration), shaper))
            until = duration + shaper.duration + watched

            def run() -> Any:
                return fa.simulate(
                    model, until, drives, q0=q0, samples=SAMPLES, save=fa.SaveAt(keep=KEPT), progress=False
                )

            ends = duration + shaper.duration
            return attempt(run, limit, (duration, ends, ends + watched * (1 - 1 / PERIODS)), there, tolerance)

        each = within(tried, first)
        if each is not None and (found is None or each.rest < found.rest):
            found = each
    return found


def controlled(
    model: fa.Model,
    start: Sequence[float],
    end: Sequence[float],
    limit: Any,
    tolerance: float,
    law: Callable[[fa.Quintic], Any],
    first: float,
    late: float,
) -> Arrival | None:
    """Under `law(reference)`, a controller, the reference a quintic; the tip is watched for `late` seconds after."""
    q0, there = standing(model, start)[0], place(model, end)

    def tried(duration: float) -> Arrival:
        def run() -> Any:
            u = law(fa.Quintic(tuple(start), tuple(end), duration))
            return fa.simulate(
                model,
                duration + late,
                u,
                q0=q0,
                method="auto",
                samples=2 * SAMPLES,
                save=fa.SaveAt(keep=KEPT),
                progress=False,
            )

        return attempt(
            run, limit, (duration, duration, duration + late - window(model, end) / PERIODS), there, tolerance
        )

    return within(tried, first)


def shaped_steps(model: fa.Model, way: float, limit: float, tolerance: float, kind: str) -> Arrival | None:
    """One input, one joint: a bang-bang force or torque, shaped for the arm's free vibrations about the start.

    The unshaped command may be larger than the limit where the shaped one nowhere reaches it.
    """
    rigid = fa.Model(model.arm.rigid())
    mass, there = float(rigid.mass_matrix(np.zeros(rigid.nq))[0, 0]), place(model, [way])
    found: Arrival | None = None
    for modes in range(1, MODES + 1):
        try:
            shaper = fa.design_shaper(model, np.zeros(model.nq), kind, modes, locked=False)
        except fa.DescriptionError:
            break

        def tried(duration: float, shaper: fa.Shaper = shaper) -> Arrival:
            u = fa.shaped(fa.bang_bang(4 * mass * way / duration**2, duration / 2), shaper)
            ends = duration + shaper.duration
            late = ends + window(model, [way]) * (1 - 1 / PERIODS)

            def run() -> Any:
                return stopped(model, u, ends, [0.0], [way])

            steps = float(np.abs(u.values_).max()) / limit
            times = (duration, ends, late)
            return replace(attempt(run, limit, times, there, tolerance), used=steps)

        each = within(tried, 2 * np.sqrt(mass * way / limit))
        if each is not None and (found is None or each.rest < found.rest):
            found = each
    return found
