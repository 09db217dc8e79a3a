"""Solvers as native code calls them: from a state over one stretch to the times asked for.

All have one form, `void advance(ptr record, double t0, ptr y, ptr times, i64 count, ptr out, ptr reached)`: the states
at the times go to out, a row each, to reached[0] how many of them are a motion's, and to reached[1] how many steps that
took. A loop over plants or over samples then need not know which it calls. Where not all are reached, a solver called
from Python finds out why.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.native.functions import translated
from flexarm.native.kernel import Address
from flexarm.native.language import Floats, Placed, Words
from flexarm.native.once import Once
from flexarm.simulation.implicit import FIRST, Implicit
from flexarm.simulation.rhs import DIVERGED, Plan, Shared, rk4
from flexarm.simulation.steps import Step, copied, integrate

CHUNK = 1000
"""Fixed steps between two looks at where they lead."""


LARGEST = 1.7976931348623157e308
"""A number beyond it is none."""


@final
@dataclass(frozen=True)
class Advance:
    """A solver of that form: the addresses of its code and of its record, and what must stay alive for them."""

    code: Address
    record: Address
    held: Any


@dataclass
class Fixed:
    """The Runge-Kutta method with steps no longer than `step` [s]."""

    shared: Sequence[Shared]
    step: float
    y: Floats
    work: Floats


@dataclass
class Newton:
    """An implicit method with steps no longer than `longest` [s], or, where that is 0, of its own."""

    step: Sequence[Step]
    longest: float


FIXED, IMPLICIT = Once(lambda: translated(fixed)), Once(lambda: translated(implicit))


def runge_kutta(plan: Plan, size: int, step: float) -> Advance:
    """Fixed steps on a plan with states of `size` numbers."""
    code = FIXED()
    record = Placed(Fixed(np.array([plan.address]), step, np.zeros(size), np.zeros(5 * size)))  # type: ignore[arg-type]
    return Advance(code.addresses["fixed"], record.address, (code, record, plan))


def newton(stepping: Implicit, longest: float) -> Advance:
    """An implicit method, with fixed steps where `longest` is not 0; what it knows is kept from stretch to stretch."""
    code = IMPLICIT()
    record = Placed(Newton(np.array([stepping.record.address]), longest))  # type: ignore[arg-type]
    return Advance(code.addresses["implicit"], record.address, (code, record, stepping))


# -- what is translated ------------------------------------------------------------------------------------------------


def whole(x: float) -> int:
    """The least integer that is 1 or more, and x or more but for a rounding error."""
    count = int(x - 1e-9)
    if float(count) < x - 1e-9:
        count += 1
    return max(count, 1)


def is_motion(y: Floats, count: int) -> int:
    """Whether no number is beyond what a motion has, or none at all."""
    for i in range(count):
        if not abs(y[i]) < DIVERGED:
            return 0
    return 1


def is_finite(x: Floats, count: int) -> int:
    """Whether all are numbers."""
    for i in range(count):
        if not abs(x[i]) <= LARGEST:
            return 0
    return 1


def fixed(f: Fixed, t0: float, y: Floats, times: Floats, count: int, out: Floats, reached: Words) -> None:
    """Between two times, equal steps no longer than asked for."""
    shared = f.shared[0]
    size, t = shared.integrated, t0
    copied(y, f.y, size)
    reached[0], reached[1] = 0, 0
    for i in range(count):
        end = times[i]
        left = whole((end - t) / f.step)
        h, at = (end - t) / float(left), t
        while left > 0 and end > t:
            many = min(CHUNK, left)
            rk4(f.shared, f.y, f.work, at, h, many)
            if shared.stop != 0 or is_motion(f.y, shared.states) == 0:
                return
            reached[1] += many
            left -= many
            at += float(many) * h
        copied(f.y, out[i * size :], size)
        reached[0] = i + 1
        t = end


def implicit(s: Newton, t0: float, y: Floats, times: Floats, count: int, out: Floats, reached: Words) -> None:
    """Equal steps, or such as the tolerance asks for; the first is as long as the last one of the stretch before."""
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
