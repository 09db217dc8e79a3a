"""Automatic method selection (`method="auto"`) between two jumps of the input: an explicit or an implicit method.

The cost of the explicit method is known in advance: if the motion allows long steps, stability of the fastest mode
limits them. The cost of the implicit method depends on the amplitude of that mode, which only its steps show. If much
can be saved, the run therefore begins with the implicit method. After each tenth of the explicit method's remaining
cost, its progress decides whether it continues. No interval is computed twice.
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from collections.abc import Callable
from functools import cache
from typing import final

import numpy as np

from flexarm.arrays import Array, address_of
from flexarm.native.code import Code
from flexarm.simulation import solvers
from flexarm.simulation.advance import Stretch
from flexarm.simulation.explicit import Explicit
from flexarm.simulation.implicit import Implicit
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import ENDLESS, Plan, loops

EXPLICIT = "dop853"
"""The explicit method."""

EVALUATIONS = 3.5
"""Evaluations of DOP853 per radian of the fastest mode with the longest stable steps; each step has 12 evaluations."""

SHORT, TIGHT = 2e7, 1e-6
"""Operations, some milliseconds, below which an interval is integrated explicitly without a trial.

A trial may have to compile the residual. The limit is five times as large for tolerances below TIGHT, at which even a
mode of small amplitude must be resolved.
"""

SHARE = 0.1
"""Share of the explicit method's remaining cost that the implicit method may use until its progress is checked."""

LEAST = 30
"""Least number of evaluations per unknown of a trial of the implicit method, for Newton's matrix and short first
steps."""

TURNS = 24
"""Number of power iterations for the fastest eigenvalue."""

RARELY = 10
"""Evaluations between two computations of that eigenvalue, as a multiple of its cost, since intervals may be very
short."""

SPELL = 200
"""Explicit steps (or a twelfth of the implicit evaluations) after which the stiffness of an arm with friction is
checked.

A sticking joint is a thousand times as stiff as a sliding one.
"""

PATIENCE = 32
"""Largest number of explicit parts between two trials, if the implicit method was slower again and again."""

GROWTH = ctypes.CFUNCTYPE(
    ctypes.c_double,
    *(ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double),
    *(ctypes.c_int64, ctypes.c_void_p),
)


@final
class Race:
    """An explicit method, and an implicit one that is tried where stability would limit the explicit steps.

    Parameters
    ----------
    plan : Plan
        Plan of the rate; it changes to the residual and back.
    rate, residual : Code, () -> Code
        The functions that the methods evaluate; the residual is compiled on first use.
    layout : Layout
    implicit : (str, () -> Implicit)
        Name of the implicit method, and the method on the same plan.
    rtol : float
    atol : (layout.size,)
    changing : bool
        True if the arm's stiffness may change during the motion.
    """

    advance = None

    def __init__(
        self,
        plan: Plan,
        rate: Code,
        residual: Callable[[], Code],
        layout: Layout,
        implicit: tuple[str, Callable[[], Implicit]],
        rtol: float,
        atol: Array,
        changing: bool = False,
    ):
        self._changing = changing
        self._plan, self._rate, self._residual, self._layout = plan, rate, residual, layout
        self._name, self._make = implicit
        self._explicit, self._rtol = EXPLICIT, rtol
        self._steady = Explicit(solvers.EXPLICIT[EXPLICIT], plan, rtol, atol)
        self._stepping: Implicit | None = None
        self._taken: dict[str, float] = {}
        self._fastest, self._top, self._look, self._behind = 0.0, 0.0, 0, False
        self._cost = rate.operations + 35 * layout.size

    @property
    def method(self) -> str:
        """Names of the methods in the order of their first use."""
        return ", ".join(self._taken) or self._explicit

    @property
    def reason(self) -> str:
        """Reason for the choice of methods."""
        found = f"fastest eigenvalue {max(self._top, self._fastest):.3g} rad/s"
        ahead, rest = self._taken.get(self._name), self._taken.get(self._explicit)
        if ahead is None and self._behind:
            why = f"{found}; {self._name} was slower from the start"
        elif ahead is None:
            why = f"{found}: an explicit method needs few steps"
        elif rest is None:
            why = f"{found}; {self._name} for {ahead:.4g} s"
        else:
            then = "then it was slower" if self._behind else "the rest has short intervals"
            why = f"{found}; {self._name} for {ahead:.4g} s, {then}: {self._explicit} for {rest:.4g} s"
        return why

    def __call__(self, t0: float, x0: Array, times: Array) -> Stretch:
        """Integrate from a state at t0 to the given times."""
        if self._changing:
            return self._by_spells(t0, x0, times)
        t, x, end = t0, x0, float(times[-1])
        if self._plan.evaluations >= self._look:
            self._fastest = fastest(self._plan, t0, x0)
            self._look = self._plan.evaluations + RARELY * (TURNS + 1)
        rows, steps = np.empty((0, len(x0))), 0
        if self._explicit_cost(end - t0) > (SHORT if self._rtol >= TIGHT else 5 * SHORT):
            rows, steps, t, x = self._ahead(t, x, times)
            found = solvers.checked(self._plan, times, rows, steps, "")
            if len(rows) == len(times) or self._plan.stopped or self._plan.met is not None or found.diverged:
                return found
            self._behind = True
        rest = self._steady(t, x, times[len(rows) :])
        self._note(self._explicit, (end if self._plan.met is None else self._plan.met) - t)
        return Stretch(np.concatenate([rows, rest.x]), steps + rest.steps, rest.message, rest.diverged, rest.spent)

    def _by_spells(self, t0: float, x0: Array, times: Array) -> Stretch:
        """Integrate an arm whose stiffness may change during the motion, with repeated selection of the method."""
        t, x, end = t0, x0, float(times[-1])
        rows, steps, known = [np.empty((0, len(x0)))], 0, 0
        wait, waited, going = 1, 1, False
        least = SHORT if self._rtol >= TIGHT else 5 * SHORT
        while True:
            now = fastest(self._plan, t, x)
            self._fastest, self._top = now, max(self._top, now)
            if self._explicit_cost(end - t) > least and waited >= wait:
                begun, waited, going = t, 0, False
                found, taken, t, x = self._ahead(t, x, times[known:])
                done = solvers.checked(self._plan, times[known:], found, taken, "")
                rows, steps, known = [*rows, done.x], steps + taken, known + len(done.x)
                if known == len(times) or self._plan.stopped or done.diverged:
                    return Stretch(np.concatenate(rows), steps, done.message, done.diverged)
                self._behind = True
                wait = 1 if t > begun else min(2 * wait, PATIENCE)
            waited += 1
            before = t
            done = self._steady(t, x, times[known:], 12 * SPELL, going)
            t, x = self._steady.reached()
            rows, steps, known = [*rows, done.x], steps + done.steps, known + len(done.x)
            self._note(self._explicit, t - before)
            going = done.spent
            if not going:
                return Stretch(np.concatenate(rows), steps, done.message, done.diverged)

    def _explicit_cost(self, length: float) -> float:
        """Return a lower bound of the explicit method's operations."""
        return EVALUATIONS * self._fastest * length * self._cost

    def _ahead(self, t: float, x: Array, times: Array) -> tuple[Array, int, float, Array]:
        """Integrate with the implicit method as long as it is faster.

        Return its rows, steps, and last time and state.
        """
        plan, layout, end = self._plan, self._layout, float(times[-1])
        residual = self._residual()
        if self._stepping is None:
            self._stepping = self._make()
        stepping, m = self._stepping, layout.unknowns
        cost = residual.operations + 60 * m + 0.8 * m * m
        rows, steps, going, begun = [np.empty((0, len(x)))], 0, False, t
        plan.rate(residual)
        try:
            while True:
                budget = int(min(max(SHARE * self._explicit_cost(end - t) / cost, LEAST * m), ENDLESS))
                if self._changing:
                    budget = min(budget, max(12 * SPELL, LEAST * m))
                before, t_before, known = plan.evaluations, t, sum(map(len, rows))
                found, taken = stepping(t, x, times[known:], before + budget, going)
                rows.append(found)
                steps, going = steps + taken, True
                t, x = stepping.reached()
                spent = (plan.evaluations - before) * cost
                if known + len(found) == len(times) or plan.stopped or t == t_before:
                    break
                if self._changing:
                    self._renew(t, x, residual)
                if spent > self._explicit_cost(t - t_before) or plan.evaluations < before + budget:
                    break
        finally:
            plan.rate(self._rate)
        self._note(self._name, t - begun)
        return np.concatenate(rows), steps, t, x

    def _renew(self, t: float, x: Array, residual: Code) -> None:
        """Update the fastest eigenvalue at a state that the implicit method reached."""
        self._plan.rate(self._rate)
        now = fastest(self._plan, t, x)
        self._fastest, self._top = now, max(self._top, now)
        self._plan.rate(residual)

    def _note(self, name: str, seconds: float) -> None:
        if seconds > 0.0:
            self._taken[name] = self._taken.get(name, 0.0) + seconds


@cache
def _direction(size: int) -> Array:
    """Return random numbers, the same ones at each call: a direction that the fastest mode is part of."""
    return np.random.default_rng(1).uniform(-1.0, 1.0, size)


def fastest(plan: Plan, t: float, x: Array) -> float:
    """Return the size of the largest eigenvalue of the motion's Jacobian at t in the state x [rad/s], for any input."""
    holder = np.array([plan.address], dtype=np.int64)
    v = _direction(len(x)).copy()
    x, work = np.array(x, dtype=float), np.empty(3 * len(x))
    h = 1e-7 * max(1e-2, float(np.abs(x[: plan.states]).max()))
    run = GROWTH(loops().addresses["growth"])
    with plan.blind():
        return float(run(address_of(holder), t, address_of(x), address_of(v), h, TURNS, address_of(work)))
