"""Zero-phase-error tracking: feedforward through a linear system with zeros that must not be cancelled."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import Rule, checked_array, checked_number, counted, refused, shown
from flexarm.errors import DescriptionError
from flexarm.simulation.law import is_linear_system

if TYPE_CHECKING:
    from control import TransferFunction

INFINITE = 1e6
"""Size above which a zero counts as rounding of a zero at infinity."""
OUTSIDE = (1.3, 2.1, 3.7)
"""Points outside the unit circle, at which a system that is not zero has no pole and hardly three zeros."""
INSIDE: Rule = ("positive and at most 1", lambda x: 0 < x <= 1)


@final
@brief
@dataclass(frozen=True, eq=False)
class ZPETC:
    """Zero-phase-error tracking of a stable discrete system G(z) (Tomizuka 1987).

    The zeros of G within `radius` and all its poles are cancelled. With the polynomial U of the other zeros, the
    command F r of a reference r gives the output G F r = U(z) U(1/z) / U(1)^2 r. Its phase error is zero at all
    frequencies, its gain is |U(exp(j omega T))|^2 / U(1)^2, and a constant reference is reached exactly. F looks
    `preview` samples ahead.

    Parameters
    ----------
    system : control.StateSpace or control.TransferFunction
        Discrete and stable, with one input and one output: a closed loop from a command to the motion that is to follow
        the reference.
    radius : float
        Largest size of a zero that is cancelled. A command that cancels zeros of a size close to 1 decays slowly. A
        zero close to 1 that is not cancelled makes `gain` large at high frequencies.

    Attributes
    ----------
    cancelled, kept : (k,), (s,)
        Zeros within `radius`, and the roots of U.
    preview : int
        Number of samples that F looks ahead: the relative degree of G plus s.
    period : float
        Sampling period [s].

    Raises
    ------
    DescriptionError
        If the system is continuous or unstable, has several inputs or outputs, no gain, or a zero at 1.
    """

    system: Any
    radius: float = 0.95
    cancelled: Array = field(init=False, repr=False)
    kept: Array = field(init=False, repr=False)
    preview: int = field(init=False)
    period: float = field(init=False)

    def __post_init__(self) -> None:
        system = self.system
        with refused("ZPETC"):
            radius = checked_number(self.radius, "", INSIDE, "radius")
        if not is_linear_system(system) or not hasattr(system, "zeros"):
            raise DescriptionError(f"ZPETC: system is {shown(system)}; it must be a system of python-control")
        if system.ninputs != 1 or system.noutputs != 1:
            sizes = f"{counted(system.ninputs, 'input')} and {counted(system.noutputs, 'output')}"
            raise DescriptionError(f"ZPETC: the system has {sizes}; it must have one of each")
        if not system.dt or system.dt is True:
            raise DescriptionError(
                "ZPETC: the system has no sampling period; use control.sample_system(system, period)"
            )
        poles = np.atleast_1d(system.poles())
        if len(poles) and np.abs(poles).max() >= 1.0:
            most = f"a pole of the size {np.abs(poles).max():.6g}"
            raise DescriptionError(f"ZPETC: the system is unstable, with {most}; close a loop around it first")
        zeros = np.atleast_1d(system.zeros())
        if not any(np.any(system(z)) for z in OUTSIDE):
            raise DescriptionError("ZPETC: the system has the gain 0, so no command has an effect; check its matrices")
        zeros = zeros[np.abs(zeros) < INFINITE]
        inside = np.abs(zeros) <= radius
        if (np.abs(zeros[~inside] - 1.0) < 1e-6).any():
            raise DescriptionError("ZPETC: the system has a zero at 1, so it cannot follow a constant reference")
        put = object.__setattr__
        put(self, "cancelled", zeros[inside])
        put(self, "kept", zeros[~inside])
        put(self, "preview", len(poles) - len(zeros) + len(zeros[~inside]))
        put(self, "period", float(system.dt))

    def gain(self, omega: ArrayLike) -> Array:
        """Return the gain |U(exp(j omega T))|^2 / U(1)^2 from reference to output, in the shape of omega [rad/s]."""
        with refused("ZPETC.gain"):
            z = np.exp(1j * self.period * checked_array(omega, "omega"))
        U = np.atleast_1d(np.poly(self.kept))
        return np.abs(np.polyval(U, z) / np.polyval(U, 1.0)) ** 2

    def commands(self, reference: ArrayLike) -> Array:
        """Return the command (N,) at each sample of a reference (N,), both constant before and after.

        The command begins `preview` samples before the reference moves, so the reference should rest as long at first.
        """
        with refused("ZPETC.commands"):
            r = checked_array(reference, "reference")
        if r.ndim != 1 or not len(r):
            raise DescriptionError(f"ZPETC.commands: reference has shape {r.shape}; it must be (N,), N at least 1")
        from scipy.signal import lfilter

        b, a = self._coefficients
        ahead = np.concatenate([r - r[0], np.full(self.preview, r[-1] - r[0])])
        return lfilter(b, a, ahead)[self.preview :] + r[0] * b.sum() / a.sum()

    @property
    def filter(self) -> "TransferFunction":
        """F of z, delayed by `preview` samples so that it is causal, as a system of python-control."""
        from control import TransferFunction

        return TransferFunction(*self._coefficients, self.period)

    @property
    def _coefficients(self) -> tuple[Array, Array]:
        """Numerator and denominator of the causal filter in falling powers of z, of the same degree.

        With G = b C U / A, F = A(z) U(1/z) / (b C(z) U(1)^2), and z^s U(1/z) is U with reversed coefficients.
        """
        A, C, U = (np.atleast_1d(np.poly(x)).real for x in (self.system.poles(), self.cancelled, self.kept))
        far = 2.0  # no pole or zero of a stable, cancelled part is here
        while np.abs(np.polyval(U, far)) < 1e-9:
            far += 0.5
        b = float(np.real(self.system(far)) * np.polyval(A, far) / (np.polyval(C, far) * np.polyval(U, far)))
        numerator = np.polymul(A, U[::-1]) / (b * np.polyval(U, 1.0) ** 2)
        return numerator, np.concatenate([C, np.zeros(self.preview + len(self.kept))])
