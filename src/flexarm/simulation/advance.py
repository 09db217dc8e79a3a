"""Solvers in the form that native code calls: they integrate from a state to each of several times.

All solvers have one signature, `void advance(ptr record, double t0, ptr y, ptr times, i64 count, ptr out, ptr
reached)`. The states at the times go to out, one row per time. The number of these states that are finite and not
diverged goes to reached[0], and the number of steps goes to reached[1]. A loop over plants or over samples can
therefore call any of them. If a solver does not reach all times, the caller in Python finds the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.native.code import Address
from flexarm.native.functions import translated
from flexarm.native.language import Floats, Placed, Words
from flexarm.native.once import Once
from flexarm.simulation.implicit import FIRST, Implicit
from flexarm.simulation.rhs import DIVERGED
from flexarm.simulation.steps import Step, copied, integrate

LARGEST = 1.7976931348623157e308
"""Largest finite double. A number beyond it is infinite or NaN."""


@final
@dataclass(frozen=True)
class Stretch:
    """Result of a solver over an interval.

    Attributes
    ----------
    x : (k, states)
        States at the first k of the requested times.
    steps : int
    message : str
        Why the solver stopped early, if it did and reports it.
    diverged : (time, state), optional
        The first state that has diverged.
    spent : bool
        True if the solver stopped since it had used all evaluations that it is allowed.
    """

    x: Array
    steps: int
    message: str = ""
    diverged: tuple[float, Array] | None = None
    spent: bool = False


@final
@dataclass(frozen=True)
class Advance:
    """A solver in this form: addresses of its code and its record, and objects that must stay alive for them."""

    code: Address
    record: Address
    held: Any


@dataclass
class Newton:
    """An implicit method with steps no longer than `longest` [s]. The method chooses its steps if `longest` is 0."""

    step: Sequence[Step]
    longest: float


IMPLICIT = Once(lambda: translated(implicit_interval))


def newton(stepping: Implicit, longest: float) -> Advance:
    """Return an implicit solver, with fixed steps if `longest` is not 0.

    The solver keeps its matrices between intervals.
    """
    code = IMPLICIT()
    record = Placed(Newton(np.array([stepping.record.address]), longest))  # type: ignore[arg-type]
    return Advance(code.addresses["implicit_interval"], record.address, (code, record, stepping))


# -- translated functions ----------------------------------------------------------------------------------------------


def whole(x: float) -> int:
    """Return the least integer that is at least 1 and at least x, up to a rounding error."""
    count = int(x - 1e-9)
    if float(count) < x - 1e-9:
        count += 1
    return max(count, 1)


def is_motion(y: Floats, count: int) -> int:
    """Return 1 if all numbers are finite and within the bounds of a motion, else 0."""
    for i in range(count):
        if not abs(y[i]) < DIVERGED:
            return 0
    return 1


def is_finite(x: Floats, count: int) -> int:
    """Return 1 if all numbers are finite, else 0."""
    for i in range(count):
        if not abs(x[i]) <= LARGEST:
            return 0
    return 1


def implicit_interval(s: Newton, t0: float, y: Floats, times: Floats, count: int, out: Floats, reached: Words) -> None:
    """Integrate with equal steps, or with steps that the tolerance determines.

    The first step is as long as the last one of the previous interval.
    """
    step, length = s.step[0], times[count - 1] - t0
    h, steps, size = step.h, step.steps, step.size
    if s.longest > 0.0:
        step.h = length / float(whole(length / s.longest))
    else:
        step.h = min(h if h > 0.0 else FIRST * length, length)
    copied(y, step.y, size)
    known = integrate(step, t0, times, count, out)
    reached[0], reached[1] = 0, step.steps - steps
    while reached[0] < known and is_motion(out[reached[0] * size :], step.shared[0].states) == 1:
        reached[0] += 1
    if reached[0] < count:
        step.h = h
