"""Inputs that give a linear arm's outputs a wanted motion exactly, by stable inversion.

Where the output is non-minimum phase (the tip of a flexible link), the inverse run forward in time grows without bound.
The bounded solution is not causal: the input begins before the output moves (Bayo 1987; Devasia, Chen & Paden 1996).
"""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.analysis.linear import state_space, zeros
from flexarm.checks import NOT_NEGATIVE, checked_array, checked_number, refused
from flexarm.errors import DescriptionError

if TYPE_CHECKING:
    import control

Array = np.ndarray

SEEN = 1e-3
"""Share of the largest input from which on it counts as begun."""
CONSTANTS = 8.0
"""Time constants of a side's slowest zero that are added there: what is left then is 3e-4."""
LONGEST = 5.0
"""Durations of the motion that are added on either side at most, if nothing else is asked for."""
MOST = 1e7
"""Steps that are added before and after."""
WEIGHED = 9.0
"""Logarithm of what the weight e^(-sigma t) falls by until the end: rounding grows by as much, and what one period of
the transform hands on to the next falls by its square."""


@final
@dataclass(frozen=True)
class Inversion:
    """What gives the outputs their motion.

    Attributes
    ----------
    time : (N,)
        From before the motion to after it [s]; the motion begins at 0.
    u : (N, m), x : (N, states), y : (N, m)
        Inputs, states and outputs, as deviations.
    zeros : complex (k,)
        Of the system [1/s].
    lead : float
        How long before the output moves the input begins [s]: 0 for a minimum-phase system, but for rounding.
    cut : (before, after)
        What is left of the slowest zero's motion where `time` begins and where it ends, as shares: 3e-4, unless there
        was no room.
    """

    time: Array
    u: Array
    x: Array
    y: Array
    zeros: Array
    lead: float
    cut: tuple[float, float]

    @property
    def span(self) -> float:
        """From the first of the times to the last [s]: a run of the arm under u lasts as long."""
        return float(self.time[-1] - self.time[0])

    @property
    def minimum_phase(self) -> bool:
        """Whether no zero lies in the right half plane."""
        return not _right(self.zeros).any()

    def described(self) -> str:
        """One line on the phase and on the lead, and on what was cut."""
        if self.minimum_phase:
            said = "minimum phase: the input begins with the output"
        else:
            right = ", ".join(f"{z.real:.4g}" for z in self.zeros[_right(self.zeros)])
            said = f"non-minimum phase, zeros at {right} 1/s: the input begins {self.lead:.3g} s before the output"
        return said + self.missing

    @property
    def missing(self) -> str:
        """What was cut, in words; "" if nothing that counts."""
        ends = zip(("before", "after"), self.cut, (self.time[0], self.time[-1]), strict=True)
        return "".join(
            f"; cut at {abs(t):.3g} s {side} t = 0, where {100 * share:.2g} % of the slowest zero's motion is left"
            for side, share, t in ends
            if share > 2 * np.exp(-CONSTANTS)
        )


def stable_inversion(
    system: "control.StateSpace", times: Array, y: Array, before: float | None = None, after: float | None = None
) -> Inversion:
    """The bounded inputs and states under which a linear system's outputs are y.

    The system is inverted frequency by frequency, [s - A, -B; C, D] [x; u] = [0; y] at s = sigma + j w. What zeros in
    the right half plane ask for comes before the output moves, and what those in the left leave comes after; any sigma
    between the two gives the same x and u, and one that is positive makes what is left die out faster than it does in
    time, so that a motion of a second is not computed together with minutes of ringing.

    Parameters
    ----------
    system : control.StateSpace
        Of a continuous time, with as many outputs as inputs; from `model.linearize`.
    times : (N,)
        Equally spaced, from 0 [s].
    y : (N, outputs)
        From rest to rest, as deviations.
    before, after : float, optional
        Time added before the motion and after it [s]. Default: eight time constants of the slowest zero in the right
        half plane, and of the slowest in the left, at most five times the motion's duration. What that cuts is told in
        a warning, and in `Inversion.cut`.

    Raises
    ------
    DescriptionError
        When there are not as many outputs as inputs, times are not equally spaced, y does not rest at its ends, or a
        zero lies on the imaginary axis, where no bounded inverse exists.
    """
    state_space("stable_inversion", system)
    with refused("stable_inversion"):
        times, y = checked_array(times, "times"), checked_array(y, "y")
        for name, given in (("before", before), ("after", after)):
            if given is not None:
                checked_number(given, "s", NOT_NEGATIVE, name)
    y = y[:, None] if y.ndim == 1 else y
    A, B, C, D = (np.asarray(part) for part in (system.A, system.B, system.C, system.D))
    n, m = B.shape
    if C.shape[0] != m:
        raise DescriptionError(f"stable_inversion: {C.shape[0]} outputs for {m} inputs; there must be as many")
    if times.ndim != 1 or y.shape != (len(times), m):
        raise DescriptionError(f"stable_inversion: y has shape {y.shape}; it must be one row a time, {(times.size, m)}")
    step = np.diff(times)
    if len(times) < 4 or not np.allclose(step, step[0], rtol=1e-6) or step[0] <= 0:
        raise DescriptionError("stable_inversion: times must increase in equal steps")
    size = np.abs(y).max(initial=0.0) or 1.0
    if max(np.abs(y[1] - y[0]).max(), np.abs(y[-1] - y[-2]).max()) > 1e-2 * size:
        raise DescriptionError("stable_inversion: y does not begin and end at rest")
    found = zeros(system)
    away = np.abs(found.real) > 1e-6 * np.maximum(np.abs(found), 1e-300)
    if not away.all():
        lone = ", ".join(f"{abs(z.imag):.4g}" for z in found[~away] if z.imag >= 0)
        raise DescriptionError(
            f"stable_inversion: zeros at {lone} rad/s on the imaginary axis; no bounded input gives this output"
        )

    # 1. there, and much later back again: with time for the input to begin early and to fade away
    h, duration = float(step[0]), float(times[-1] - times[0])
    right = _right(found)
    rates = [np.abs(found[side].real).min(initial=np.inf) for side in (right, ~right)]
    asked = [
        min(CONSTANTS / rate, LONGEST * duration) if given is None else given
        for rate, given in zip(rates, (before, after), strict=True)
    ]
    if not sum(asked) / h <= MOST:
        added = f"{sum(asked):.3g} s in steps of {h:.3g} s before and after"
        raise DescriptionError(f"stable_inversion: {added}; at most {MOST:.0e} steps are possible")
    first, last = (int(np.ceil(time / h)) for time in asked)
    sides = zip(rates, (first, last), strict=True)
    cut = tuple(0.0 if rate == np.inf else float(np.exp(-rate * count * h)) for rate, count in sides)
    kept = first + len(y) + last
    aside = int(np.ceil(min(2 * CONSTANTS / rates[0], 8 * LONGEST * duration) / h))  # the way back is not to be felt
    parts = (y[:1], first), (y, 1), (y[-1:], last + aside), (y[::-1], 1), (y[:1], kept + last)
    around = np.concatenate([np.tile(part, (count, 1)) for part, count in parts]) - y[0]

    # 2. at each frequency the states and inputs of an oscillation that grows with sigma
    time = times[0] + h * (np.arange(len(around)) - first)
    sigma = min(WEIGHED / (time[kept - 1] - times[0]), rates[0] / 2)
    weight = np.exp(-sigma * (time - times[0]))
    still = np.block([[-A, -B], [C, D]])
    Y = np.fft.rfft(around * weight[:, None], axis=0)
    s = sigma + 2j * np.pi * np.fft.rfftfreq(len(around), h)
    whole = np.zeros((len(s), n + m), dtype=complex)
    for some in np.array_split(np.arange(len(s)), 1 + len(s) // 1000):
        matrices = still + s[some, None, None] * np.diag(np.r_[np.ones(n), np.zeros(m)])
        wanted = np.hstack([np.zeros((len(some), n)), Y[some]])
        whole[some] = np.linalg.solve(matrices, wanted[..., None])[..., 0]
    rest = np.linalg.solve(still, np.concatenate([np.zeros(n), y[0]]))
    series = rest + (np.fft.irfft(whole, len(around), axis=0) / weight[:, None])[:kept]
    time, x, u = time[:kept], series[:, :n], series[:, n:]
    size = np.abs(u - rest[n:]).max(axis=1)
    begun = size > SEEN * size.max()
    lead = max(0.0, float(times[0] - time[int(np.argmax(begun))]))
    inverse = Inversion(time, u, x, (around + y[0])[:kept], found, lead, (cut[0], cut[1]))
    if inverse.missing and before is None and after is None:
        warnings.warn(f"stable_inversion: {inverse.missing.removeprefix('; ')}", stacklevel=2)
    return inverse


def _right(s: Array) -> Array:
    """Which zeros lie in the right half plane, rounding aside."""
    return s.real > 1e-6 * np.abs(s)
