"""Inputs that give a linear arm's outputs a wanted motion exactly, by stable inversion.

Where the output is non-minimum phase (the tip of a flexible link), the inverse run forward in time grows without bound.
The bounded solution is not causal: the input begins before the output moves (Bayo 1987; Devasia, Chen & Paden 1996).
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.analysis import zeros
from flexarm.errors import DescriptionError

Array = np.ndarray

SEEN = 1e-3
"""Share of the largest input from which on it counts as begun."""


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
    """

    time: Array
    u: Array
    x: Array
    y: Array
    zeros: Array
    lead: float

    @property
    def minimum_phase(self) -> bool:
        """Whether no zero lies in the right half plane."""
        return not _right(self.zeros).any()

    def described(self) -> str:
        """One line on the phase and on the lead."""
        if self.minimum_phase:
            return "minimum phase: the input begins with the output"
        right = ", ".join(f"{z.real:.4g}" for z in self.zeros[_right(self.zeros)])
        return f"non-minimum phase, zeros at {right} 1/s: the input begins {self.lead:.3g} s before the output"


def stable_inversion(system: Any, times: Array, y: Array, before: float | None = None) -> Inversion:
    """The bounded inputs and states under which a linear system's outputs are y.

    The frequency response is inverted: [j w - A, -B; C, D] [x; u] = [0; y] at each frequency of y, which goes its way
    and, to be periodic, back again.

    Parameters
    ----------
    system : control.StateSpace
        Of a continuous time, with as many outputs as inputs; from `model.linearize`.
    times : (N,)
        Equally spaced, from 0 [s].
    y : (N, outputs)
        From rest to rest, as deviations.
    before : float, optional
        Time added before the motion and after it [s]. Default: eight time constants of the slowest zero, at least the
        motion's own duration.

    Raises
    ------
    DescriptionError
        When there are not as many outputs as inputs, times are not equally spaced, y does not rest at its ends, or a
        zero lies on the imaginary axis, where no bounded inverse exists.
    """
    times, y = np.asarray(times, dtype=float), np.asarray(y, dtype=float)
    y = y[:, None] if y.ndim == 1 else y
    A, B, C, D = (np.asarray(part) for part in (system.A, system.B, system.C, system.D))
    n, m = B.shape
    if C.shape[0] != m:
        raise DescriptionError(f"stable_inversion: {C.shape[0]} outputs for {m} inputs; there must be as many")
    if y.shape != (len(times), m):
        raise DescriptionError(f"stable_inversion: y has shape {y.shape}; it must have {(len(times), m)}")
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

    # 1. there and back again, with time for the input to begin early and to fade away
    h, duration = float(step[0]), float(times[-1] - times[0])
    slowest = 8 / np.abs(found.real).min() if len(found) else 0.0
    pad = int(np.ceil((max(duration, slowest) if before is None else before) / h))
    rising = np.concatenate([np.repeat(y[:1], pad, axis=0), y, np.repeat(y[-1:], pad, axis=0)])
    around = np.concatenate([rising, rising[::-1]])

    # 2. at each frequency the states and inputs of a steady oscillation
    count = len(around)
    Y = np.fft.rfft(around, axis=0)
    omega = 2 * np.pi * np.fft.rfftfreq(count, h)
    whole = np.zeros((len(omega), n + m), dtype=complex)
    for k, w in enumerate(omega):
        if np.abs(Y[k]).max() > 1e-14 * np.abs(Y).max():
            matrix = np.block([[1j * w * np.eye(n) - A, -B], [C, D]])
            whole[k] = np.linalg.solve(matrix, np.concatenate([np.zeros(n), Y[k]]))
    series = np.fft.irfft(whole, count, axis=0)[: len(rising)]
    time = times[0] + h * (np.arange(len(rising)) - pad)
    x, u = series[:, :n], series[:, n:]
    begun = np.abs(u).max(axis=1) > SEEN * np.abs(u).max()
    lead = max(0.0, float(times[0] - time[int(np.argmax(begun))]))
    return Inversion(time, u, x, rising, found, lead)


def _right(s: Array) -> Array:
    """Which zeros lie in the right half plane, rounding aside."""
    return s.real > 1e-6 * np.abs(s)
