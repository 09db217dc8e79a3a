"""A run that stops at each contact of a sharp backlash or end stop, so that no solver step crosses it.

Functions of coordinates and rates (`crossings`) change their sign at a contact. The solver receives no rate for a state
on the other side of a contact. Any solver then shortens its steps until it is just before the contact, and stops. A
step whose stages are all on this side is shortened, too, if its polynomial touches the other side in between (`touches`
in `explicit`). From the last sample the motion is then integrated once more to that time without watching contacts. It
is extended a little beyond the contact, and the run continues there. The force of a `Contact` with a plane is
continuous and stops no run.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import counted
from flexarm.model import Model
from flexarm.model.tracing import Traced
from flexarm.native.code import Code
from flexarm.simulation import methods, solvers
from flexarm.simulation.advance import Contact, Stretch
from flexarm.simulation.block import Block
from flexarm.simulation.feedback import integrand
from flexarm.simulation.layout import Layout
from flexarm.simulation.methods import Solve
from flexarm.simulation.race import Race
from flexarm.simulation.rhs import Plan
from flexarm.simulation.solvers import python_rate
from flexarm.simulation.steps import CONTACT

if TYPE_CHECKING:
    import casadi as ca


LEAST = 1e-9
"""Least time between two stops, as a share of the interval's length.

After a stop that follows sooner, the motion continues for this time without watching contacts. This time doubles with
each further such stop, so that no run stalls.
"""

BEYOND = 1e-12
"""Time by which the motion is extended beyond a contact, as a share of the interval's length."""

FARTHEST = 1e-6
"""Longest time before a contact at which the state before it is looked for, as a share of the interval's length."""

TRIED = 1e-8
"""Time step for the rate of change of a contact function, as a share of the interval's length."""

NEAR, JUMP = 1e-10, 1e-4
"""Relative distance of two states on the sides of a contact, and the relative change of the rates between them that
counts as a jump. A stiff spring changes the rates by less."""

SHORTEST = 1e-14
"""Shortest time that a solver can integrate, relative to the current time."""


def crossings(model: Traced) -> "ca.Function":
    """Return the contact functions, a column, of (q, qd) and, where the model varies, p.

    Each changes sign at its contact.
    """

    def trace() -> "ca.Function":
        import casadi as ca

        from flexarm.mechanics import elements
        from flexarm.mechanics.spatial import entries

        q, qd = ca.SX.sym("q", model.nq), ca.SX.sym("qd", model.nv)
        values = ca.densify(ca.SX(ca.vertcat(*elements.crossings(*model.posed(entries(q)), entries(qd)))))
        return model.over_parameters("crossings", {"q": q, "qd": qd}, {"crossings": values})

    return model.traced("crossings", trace)


@final
class Stopped:
    """A method that stops at contacts and continues beyond them, in the form of `Solve`.

    Parameters
    ----------
    solve : Solve or Race
    model : Model
    plan : Plan
    noted, reached : functions, optional
        For a record of the steps: `noted` is called with each `Contact`, and `reached` returns time and state at the
        end of the last step of `solve`. The run then continues from there, so that each step is taken once.
    codes : (Code, Code), optional
        For an implicit method, whose plan evaluates residuals: the rates, and the residuals.

    Attributes
    ----------
    stops : int
        Number of stops so far.
    """

    advance = None

    def __init__(
        self,
        solve: Solve | Race,
        model: Model,
        plan: Plan,
        noted: Callable[[Contact], None] | None = None,
        reached: Callable[[], tuple[float, Array]] | None = None,
        codes: tuple[Code, Code] | None = None,
    ):
        self._codes = codes
        self._solve, self._plan, self._n = solve, plan, model.nq + model.nv
        self._noted, self._reached = noted, reached
        self._kernel = model.compiled("crossings", crossings)
        self._sides = plan.watch(self._kernel, self._n)
        self._known = np.zeros_like(self._sides)
        self.stops = 0

    @property
    def method(self) -> str:
        """Name of the underlying method."""
        return self._solve.method

    @property
    def reason(self) -> str:
        """Reason for the underlying method, and the number of stops at contacts."""
        return f"{self._solve.reason}; stopped at {counted(self.stops, 'contact')}"

    def __call__(self, t0: float, x0: Array, times: Array) -> Stretch:
        """Integrate from a state at t0 to the given times."""
        end, plan, way = float(times[-1]), self._plan, _Way(self._solve, t0, x0, times, self._reached)
        least, last, unwatched = LEAST * (end - t0), -np.inf, 0.0
        while True:
            if unwatched or not self._look(way.x):  # a state on a contact has no definite side
                if not way.leads(min(way.t + max(unwatched, least), end)):
                    return way.stretch()
                self._look(way.x)
            self._pass(way, end - t0)
            with plan.watching():
                if way.leads(end) or plan.met is None or plan.stopped or way.diverged:
                    return way.stretch()
            self.stops += 1
            # Not to the contact itself: rounding would put the last stage of a step on either side of it.
            if not way.leads(max(plan.met - CONTACT * (end - t0), way.t)):
                return way.stretch()
            x, rate = way.x, self._rates(way.t, way.x)
            way.slips(min(self._beyond(x, rate, end - t0), end - way.t), rate)
            if self._noted is not None:
                self._note(way, x, rate, end - t0)
            if way.t == end:
                return way.stretch()
            unwatched = max(2 * unwatched, least) if way.t - last < least + 2 * unwatched else 0.0
            last = way.t

    def _pass(self, way: "_Way", length: float) -> None:
        """Note contacts at the end of the interval before, or right after another one, at which no step has stopped."""
        if self._noted is None:
            return
        now, self._sides[:] = self._sides.copy(), np.where(self._known == 0.0, self._sides, self._known)
        if (now * self._sides < 0.0).any():
            self._note(way, way.x, self._rates(way.t, way.x), length)
        self._sides[:] = now
        self._known = np.where(now == 0.0, self._known, now)

    def _note(self, way: "_Way", x: Array, rate: Array, length: float) -> None:
        """Note a contact that was reached near a state x with these rates, and after which the run continues."""
        assert self._noted is not None
        now = np.sign(self._values(way.x))
        which = np.flatnonzero(now * self._sides < 0.0)
        dt = self._ago(x, rate, length)
        x = x - dt * rate
        self._noted(Contact(way.t, x, self._rates(way.t - dt, x), self._rates(way.t, way.x), which))
        self._known = np.where(now == 0.0, self._known, now)

    def _rates(self, t: float, x: Array) -> Array:
        """Return the rates of a state, also where the plan evaluates residuals."""
        rate = python_rate(self._plan, len(x))
        if self._codes is None:
            return rate(t, x)
        rates, residuals = self._codes
        self._plan.rate(rates)
        try:
            return rate(t, x)
        finally:
            self._plan.rate(residuals)

    def _look(self, x: Array) -> bool:
        """Set the sides from a state. Return True if the state is on a contact."""
        self._sides[:] = np.sign(self._values(x))
        return bool(self._sides.all())

    def _values(self, x: Array) -> Array:
        return self._kernel.one(np.ascontiguousarray(x[: self._n]))

    def _ago(self, x: Array, rate: Array, length: float) -> float:
        """Return a short time before which the state was on the sides from which it comes."""
        dt = BEYOND * length
        while dt < FARTHEST * length and (np.sign(self._values(x - dt * rate)) != self._sides).any():
            dt *= 2.0
        return dt

    def _beyond(self, x: Array, rate: Array, length: float) -> float:
        """Return the time until a function that is about to change sign has done so.

        The time of a contact is known only to a tolerance.
        """
        h, values = TRIED * length, self._values(x)
        rates = (self._values(x + h * rate) - values) / h
        ahead = zip(values, self._sides, rates, strict=True)
        left = [-g / v for g, side, v in ahead if g * side > 0 > v * side]
        for dt in sorted(dt for dt in left if dt < LEAST * length):
            after = dt + BEYOND * length
            if (np.sign(self._values(x + after * rate)) * self._sides < 0.0).any():
                return after  # else a function that jumps at another one's contact was taken for a line
        return BEYOND * length


def solving(
    method: str,
    plan: Plan,
    rate: Code,
    model: Model,
    drive: Block,
    layout: Layout,
    rtol: float,
    atol: float,
    step: float,
    reason: str,
    radius: float | None,
) -> Solve | Race | Stopped:
    """Return the solver of a run, "auto" or by a method.

    The solver stops at sharp contacts if the arm and method allow it.
    """
    found: Solve | Race
    if method == "auto":
        found = methods.race(plan, rate, model, drive, layout, rtol, atol)
    else:
        found = methods.solver(method, plan, model, drive, layout, rtol, atol, step, reason, radius)
    if not stops(model, drive, method) or step != 0.0:
        return found
    implicit = method in solvers.IMPLICIT
    codes = (integrand(model, drive.quantity, layout.memory).code, rate) if implicit else None
    return Stopped(found, model, plan, codes=codes)


def stops(model: Model, drive: Block, method: str) -> bool:
    """Return whether runs with adaptive steps stop at sharp contacts, which SIMD batches cannot do."""
    return model.arm.sharp and drive.period is None and not solvers.fixed(method)


def jumped(model: Model, layout: Layout, t: Array, x: Array) -> float | None:
    """Return the first time at which the rates of a motion jump at a sharp contact, or None.

    The motion has the states x (k, size) at times t (k,), at which a solver did not stop. The states at a contact lie
    on the straight line between two of them.
    """
    kernel, n = model.compiled("crossings", crossings), model.nq + model.nv
    signs = np.sign(kernel.few(np.ascontiguousarray(x[:, :n])))
    names, zeros = model.arguments("state_rate"), {"u": np.zeros(layout.inputs), "w": np.zeros(layout.exogenous)}

    def rates(at: Array) -> Array:
        parts = zeros | {"q": at[layout.q], "qd": at[layout.qd], "s": at[layout.s]}
        return model.evaluate("state_rate", *(parts[name] for name in names))

    for i in np.flatnonzero((signs[1:] != signs[:-1]).any(axis=1)):
        a, b = x[i], x[i + 1]
        while np.abs(b - a).max() > NEAR * (1.0 + np.abs(b).max()):
            middle = (a + b) / 2
            same = (np.sign(kernel.one(np.ascontiguousarray(middle[:n]))) == signs[i]).all()
            a, b = (middle, b) if same else (a, middle)
        before, after = rates(a), rates(b)
        if np.abs(after - before).max() > JUMP * np.abs(before).max():
            return float(t[i])
    return None


class _Way:
    """An integration in parts from an initial state to the wanted times. t and x are the current time and state."""

    def __init__(
        self,
        solve: Solve | Race,
        t: float,
        x: Array,
        times: Array,
        reached: Callable[[], tuple[float, Array]] | None = None,
    ):
        self._reached = reached
        self._solve, self._times, self._rows, self._steps = solve, times, np.empty((0, len(x))), 0
        self.t, self.x = t, x
        self._last = Stretch(self._rows, 0)

    def leads(self, to: float) -> bool:
        """Integrate to a time and return True if it was reached. Else t is the last wanted time that was reached."""
        if to <= self.t:
            return True
        left = self._times[len(self._rows) :]
        wanted = left[: np.searchsorted(left, to, side="right")]
        ends = wanted if len(wanted) and wanted[-1] == to else np.append(wanted, to)
        if to - self.t <= SHORTEST * abs(to):  # a difference by rounding alone
            self.slips(to - self.t, np.zeros_like(self.x))
            return True
        found = self._last = self._solve(self.t, self.x, ends)
        self._rows, self._steps = np.concatenate([self._rows, found.x[: len(wanted)]]), self._steps + found.steps
        if len(found.x):
            self.t, self.x = float(ends[len(found.x) - 1]), found.x[-1]
        if len(found.x) < len(ends) and self._reached is not None:
            self.t, self.x = self._reached()
        return len(found.x) == len(ends)

    def slips(self, dt: float, rate: Array) -> None:
        """Extrapolate at this rate over a time that is too short for a solver."""
        self.t, self.x = self.t + dt, self.x + dt * rate
        passed = max(int(np.searchsorted(self._times, self.t, side="right")) - len(self._rows), 0)
        self._rows = np.concatenate([self._rows, np.tile(self.x, (passed, 1))])

    @property
    def diverged(self) -> bool:
        """True if the last part ended in a diverged state. NaN means only that no rate was available."""
        return self._last.diverged is not None and bool(np.isfinite(self._last.diverged[1]).all())

    def stretch(self) -> Stretch:
        """Return the complete integration."""
        return Stretch(self._rows, self._steps, self._last.message, self._last.diverged, self._last.spent)
