"""A run that stops where something makes contact, so that no step leads across.

What is watched are functions of coordinates and rates that change their sign at contact. A state on the other side of
it than where a stretch began has no rate: any solver then shortens its steps until it stands before the contact, and
gives up.
From the last sample the motion is taken once more, unwatched, to that time and a little beyond; there it goes on.
"""

from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.model import Model
from flexarm.native.kernel import Code
from flexarm.simulation import methods
from flexarm.simulation.layout import Layout
from flexarm.simulation.methods import Solve
from flexarm.simulation.protocol import Input
from flexarm.simulation.race import Race
from flexarm.simulation.rhs import Plan
from flexarm.simulation.solvers import Stretch, python_rate

if TYPE_CHECKING:
    import casadi as ca

Array = np.ndarray

METHODS = (
    *("auto", "dop853", "rk45", "tsit5", "vern7", "vern8", "scipy-dop853", "scipy-rk45"),
    *("generalized-alpha", "gauss4", "gauss8", "radau5", "radau9"),
)
"""That can be stopped: those that take no slopes by differences across a contact, with steps of their own."""

LEAST = 1e-9
"""Time between two stops, of a stretch's length. After one that follows sooner the motion goes on unwatched for that
long, for twice as long if that happens again, and so on: no run stops for ever."""

BEYOND = 1e-12
"""Time that the motion is taken beyond a contact, of a stretch's length."""

TRIED = 1e-8
"""Time in which it is seen how fast such a function changes, of a stretch's length."""

SHORTEST = 1e-14
"""Time that no solver can take, of the time reached."""


def crossings(model: Model) -> "ca.Function":
    """Of (q, qd) and, where the model varies, p: what changes its sign where something makes contact, a column."""

    def trace() -> "ca.Function":
        import casadi as ca

        from flexarm.mechanics.elements import contacts
        from flexarm.mechanics.spatial import entries

        q, qd = ca.SX.sym("q", model.nq), ca.SX.sym("qd", model.nv)
        values = ca.densify(ca.SX(ca.vertcat(*contacts(*model.posed(entries(q)), entries(qd)))))
        return model.over_parameters("contacts", {"q": q, "qd": qd}, {"contacts": values})

    return model.traced("contacts", trace)


@final
class Stopped:
    """A method that stops at contacts and goes on beyond them, of the form of `Solve`.

    Parameters
    ----------
    solve : Solve or Race
    model : Model
    plan : Plan

    Attributes
    ----------
    stops : int
        So far.
    """

    advance = None

    def __init__(self, solve: Solve | Race, model: Model, plan: Plan):
        self._solve, self._plan, self._n = solve, plan, model.nq + model.nv
        self._kernel = model.compiled("contacts", lambda: crossings(model))
        self._sides = plan.watch(self._kernel, self._n)
        self.stops = 0

    @property
    def method(self) -> str:
        """That of what is stopped."""
        return self._solve.method

    @property
    def reason(self) -> str:
        """Of that, and how often it was stopped."""
        return f"{self._solve.reason}; stopped at {self.stops} contacts"

    def __call__(self, t0: float, x0: Array, times: Array) -> Stretch:
        """From a time and a state there to the times given."""
        end, plan, way = float(times[-1]), self._plan, _Way(self._solve, t0, x0, times)
        least, last, unwatched = LEAST * (end - t0), -np.inf, 0.0
        while True:
            if unwatched or not self._look(way.x):  # on a contact: nobody knows to which side it leads
                if not way.leads(min(way.t + max(unwatched, least), end)):
                    return way.stretch()
                self._look(way.x)
            with plan.watching():
                if way.leads(end) or plan.met is None or plan.stopped or way.diverged:
                    return way.stretch()
            self.stops += 1
            if not way.leads(plan.met):
                return way.stretch()
            rate = python_rate(plan, len(x0))(way.t, way.x)
            way.slips(min(self._beyond(way.x, rate, end - t0), end - way.t), rate)
            if way.t == end:
                return way.stretch()
            unwatched = max(2 * unwatched, least) if way.t - last < least + 2 * unwatched else 0.0
            last = way.t

    def _look(self, x: Array) -> bool:
        """From now on the sides are those of a state; whether it is on no contact."""
        self._sides[:] = np.sign(self._values(x))
        return bool(self._sides.all())

    def _values(self, x: Array) -> Array:
        return self._kernel.one(np.ascontiguousarray(x[: self._n]))

    def _beyond(self, x: Array, rate: Array, length: float) -> float:
        """Time until what is about to change its sign has done so: a contact is known to a tolerance only."""
        h, values = TRIED * length, self._values(x)
        rates = (self._values(x + h * rate) - values) / h
        ahead = zip(values, self._sides, rates, strict=True)
        left = [-g / v for g, side, v in ahead if g * side > 0 > v * side]
        near = [dt for dt in left if dt < LEAST * length]
        return min(near, default=0.0) + BEYOND * length


def solving(
    method: str,
    plan: Plan,
    rate: Code,
    model: Model,
    drive: Input,
    layout: Layout,
    rtol: float,
    atol: float,
    step: float,
    reason: str,
    radius: float | None,
) -> Solve | Race | Stopped:
    """How a run is solved, "auto" or by a method; stopped at sharp contacts where there are some and it can be."""
    found: Solve | Race
    if method == "auto":
        found = methods.race(plan, rate, model, drive, layout, rtol, atol)
    else:
        found = methods.solver(method, plan, model, drive, layout, rtol, atol, step, reason, radius)
    able = model.arm.sharp and drive.period is None and step == 0.0 and method in METHODS
    return Stopped(found, model, plan) if able else found


class _Way:
    """From a time and a state to the times wanted, in parts; t and x are where it has come to."""

    def __init__(self, solve: Solve | Race, t: float, x: Array, times: Array):
        self._solve, self._times, self._rows, self._steps = solve, times, np.empty((0, len(x))), 0
        self.t, self.x = t, x
        self._last = Stretch(self._rows, 0)

    def leads(self, to: float) -> bool:
        """Go on to a time; whether it was reached. Else it has come to the last of the times wanted before."""
        if to <= self.t:
            return True
        left = self._times[len(self._rows) :]
        wanted = left[: np.searchsorted(left, to, side="right")]
        ends = wanted if len(wanted) and wanted[-1] == to else np.append(wanted, to)
        if to - self.t <= SHORTEST * abs(to):  # rounding alone
            self.slips(to - self.t, np.zeros_like(self.x))
            return True
        found = self._last = self._solve(self.t, self.x, ends)
        self._rows, self._steps = np.concatenate([self._rows, found.x[: len(wanted)]]), self._steps + found.steps
        if len(found.x):
            self.t, self.x = float(ends[len(found.x) - 1]), found.x[-1]
        return len(found.x) == len(ends)

    def slips(self, dt: float, rate: Array) -> None:
        """Go on for a time that no solver takes, at this rate."""
        self.t, self.x = self.t + dt, self.x + dt * rate
        passed = max(int(np.searchsorted(self._times, self.t, side="right")) - len(self._rows), 0)
        self._rows = np.concatenate([self._rows, np.tile(self.x, (passed, 1))])

    @property
    def diverged(self) -> bool:
        """Whether the last part led to a state that is no motion; NaN says no more than that there was no rate."""
        return self._last.diverged is not None and bool(np.isfinite(self._last.diverged[1]).all())

    def stretch(self) -> Stretch:
        """All of it."""
        return Stretch(self._rows, self._steps, self._last.message, self._last.diverged)
