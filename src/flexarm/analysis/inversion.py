"""Inputs for an exact motion of a linear arm's outputs, by stable inversion.

If the output is non-minimum phase (the tip of a flexible link), the inverse grows without bound forward in time. The
bounded solution is not causal: the input begins before the output moves (Bayo 1987; Devasia, Chen & Paden 1996).
"""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.analysis.linear import state_space, zeros
from flexarm.arrays import Array
from flexarm.checks import NOT_NEGATIVE, checked_array, checked_number, counted, refused
from flexarm.errors import DescriptionError, NotReached

if TYPE_CHECKING:
    import control

SEEN = 1e-3
"""Share of the largest input above which the input counts as begun."""
CONSTANTS = 8.0
"""Time constants of a side's slowest zero that are added there; the remaining share of its motion is 3e-4."""
LONGEST = 5.0
"""Largest default extension on either side, in durations of the motion."""
MOST = 1e7
"""Largest number of steps added before and after."""
WEIGHED = 9.0
"""Logarithm of the decay of the weight e^(-sigma t) until the end.

Rounding errors grow by the same factor. The wrap-around from one period of the transform to the next decays by its
square.
"""


@final
@dataclass(frozen=True)
class Inversion:
    """Result of a stable inversion.

    Attributes
    ----------
    time : (N,)
        From before the motion to after it [s]; the motion begins at 0.
    u : (N, m), x : (N, states), y : (N, m)
        Inputs, states and outputs, as deviations.
    zeros : complex (k,)
        Zeros of the system [1/s].
    lead : float
        Time by which the input begins before the output moves [s]: 0 for a minimum-phase system, except for rounding.
    cut : (before, after)
        Remaining shares of the slowest zero's motion where `time` begins and where it ends: 3e-4, unless the extension
        was limited.
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
        """Time from the first to the last sample [s], which is the duration of a run under u."""
        return float(self.time[-1] - self.time[0])

    @property
    def minimum_phase(self) -> bool:
        """True if no zero lies in the right half plane."""
        return not _right(self.zeros).any()

    def described(self) -> str:
        """One line about the phase, the lead, and what was cut."""
        if self.minimum_phase:
            said = "minimum phase: the input starts with the output"
        else:
            right = ", ".join(f"{z.real:.4g}" for z in self.zeros[_right(self.zeros)])
            said = f"non-minimum phase, zeros at {right} 1/s: the input starts {self.lead:.3g} s before the output"
        return said + self.missing

    @property
    def missing(self) -> str:
        """Text about what was cut; "" if the remaining shares are small."""
        ends = zip(("before", "after"), self.cut, (self.time[0], self.time[-1]), strict=True)
        return "".join(
            f"; cut at {abs(t):.3g} s {side} t = 0, where {100 * share:.2g} % of the slowest zero's motion is left"
            for side, share, t in ends
            if share > 2 * np.exp(-CONSTANTS)
        )


def stable_inversion(
    system: "control.StateSpace", times: Array, y: Array, before: float | None = None, after: float | None = None
) -> Inversion:
    """Return the bounded inputs and states under which a linear system's outputs are y.

    The system is inverted frequency by frequency, [s - A, -B; C, D] [x; u] = [0; y] at s = sigma + j w. The effect of
    zeros in the right half plane comes before the output moves, and that of zeros in the left half plane comes after.
    Any sigma between the two gives the same x and u. With a positive sigma the effect decays faster than in time, so a
    motion of one second does not need a transform over minutes of vibration.

    Parameters
    ----------
    system : control.StateSpace
        A continuous-time system with as many outputs as inputs, from `model.linearize`.
    times : (N,)
        Equally spaced, from 0 [s].
    y : (N, outputs)
        From rest to rest, as deviations.
    before, after : float, optional
        Time added before the motion and after it [s]. Default: eight time constants of the slowest zero in the right
        half plane, and of the slowest in the left, at most five times the motion's duration. A warning and
        `Inversion.cut` report what this limit cuts.

    Raises
    ------
    DescriptionError
        If the numbers of outputs and inputs differ, times are not equally spaced, or y is not at rest at its ends. Also
        if a zero lies on the imaginary axis, where no bounded inverse exists.
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
        raise DescriptionError(
            f"stable_inversion: {counted(C.shape[0], 'output')} for {counted(m, 'input')}; the numbers must be equal"
        )
    if times.ndim != 1 or y.shape != (len(times), m):
        raise DescriptionError(
            f"stable_inversion: y has shape {y.shape}; it must have one row per time, {(times.size, m)}"
        )
    step = np.diff(times)
    if len(times) < 4 or not np.allclose(step, step[0], rtol=1e-6) or step[0] <= 0:
        raise DescriptionError("stable_inversion: times must increase in equal steps")
    size = np.abs(y).max(initial=0.0) or 1.0
    if max(np.abs(y[1] - y[0]).max(), np.abs(y[-1] - y[-2]).max()) > 1e-2 * size:
        raise DescriptionError("stable_inversion: y must begin and end at rest; extend it")
    found = zeros(system)
    away = np.abs(found.real) > 1e-6 * np.maximum(np.abs(found), 1e-300)
    if not away.all():
        lone = ", ".join(f"{abs(z.imag):.4g}" for z in found[~away] if z.imag >= 0)
        raise DescriptionError(
            f"stable_inversion: zeros at {lone} rad/s on the imaginary axis; no bounded input gives this output"
        )

    # 1. the motion, and much later the way back, with time for the input to begin early and to decay
    h, duration = float(step[0]), float(times[-1] - times[0])
    right = _right(found)
    rates = [np.abs(found[side].real).min(initial=np.inf) for side in (right, ~right)]
    asked = [
        min(CONSTANTS / rate, LONGEST * duration) if given is None else given
        for rate, given in zip(rates, (before, after), strict=True)
    ]
    if not sum(asked) / h <= MOST:
        added = f"{sum(asked):.3g} s in steps of {h:.3g} s before and after"
        raise DescriptionError(f"stable_inversion: {added}; at most {MOST:.0e} steps are allowed")
    first, last = (int(np.ceil(time / h)) for time in asked)
    sides = zip(rates, (first, last), strict=True)
    cut = tuple(0.0 if rate == np.inf else float(np.exp(-rate * count * h)) for rate, count in sides)
    kept = first + len(y) + last
    aside = int(np.ceil(min(2 * CONSTANTS / rates[0], 8 * LONGEST * duration) / h))  # the way back must have no effect
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
        warnings.warn(f"stable_inversion: {inverse.missing.removeprefix('; ')}", NotReached, stacklevel=2)
    return inverse


def _right(s: Array) -> Array:
    """True for zeros in the right half plane, with a tolerance for rounding."""
    return s.real > 1e-6 * np.abs(s)
