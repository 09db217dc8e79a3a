"""Input shapers: a command is split into impulses whose vibrations cancel."""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import (
    POSITIVE,
    Fault,
    Rule,
    checked_array,
    checked_instance,
    checked_number,
    checked_numbers,
    counted,
    refused,
    shown,
)
from flexarm.errors import DescriptionError
from flexarm.trajectory.reference import Reference, checked_reference, jumps_of, positions, reference_motion


@final
@brief
@dataclass(frozen=True)
class Shaper:
    """Impulses with which a command is convolved: `A_1 r(t - t_1) + A_2 r(t - t_2) + ...`.

    The product of two shapers is their convolution. It cancels the vibrations that either of them cancels.

    Parameters
    ----------
    times : (k,)
        Increasing, the first not negative [s].
    amplitudes : (k,)
        Their sum is 1, so that the final value of the command does not change.
    """

    times: tuple[float, ...]
    amplitudes: tuple[float, ...]

    def __post_init__(self) -> None:
        with refused("Shaper"):
            for name, unit in (("times", "s"), ("amplitudes", "")):
                object.__setattr__(self, name, checked_numbers(getattr(self, name), unit, part=name))
            if len(self.times) != len(self.amplitudes):
                raise Fault(
                    "times",
                    f"has {counted(len(self.times), 'number')} and amplitudes "
                    f"has {len(self.amplitudes)}; they must be equal",
                )
            if self.times[0] < 0 or not (np.diff(self.times) > 0).all():
                raise Fault("times", f"is {shown(list(self.times))}; they must increase from 0 or later")
            if abs(sum(self.amplitudes) - 1) > 1e-9:
                raise Fault("amplitudes", f"has the sum {sum(self.amplitudes):.9g}; it must be 1")

    @property
    def impulses(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Times and amplitudes."""
        return self.times, self.amplitudes

    @property
    def duration(self) -> float:
        """Time by which a shaped motion ends later [s]."""
        return self.times[-1]

    def __mul__(self, other: "Shaper") -> "Shaper":
        if not isinstance(other, Shaper):
            return NotImplemented
        times = np.add.outer(self.times, other.times).ravel()
        amplitudes = np.multiply.outer(self.amplitudes, other.amplitudes).ravel()
        order = np.argsort(times, kind="stable")
        times, amplitudes = times[order], amplitudes[order]
        new = np.diff(times, prepend=-np.inf) > 1e-12 * times[-1]  # impulses at the same time are merged
        return Shaper(times[new].tolist(), np.add.reduceat(amplitudes, np.flatnonzero(new)).tolist())

    def residual(self, frequency: Any, damping_ratio: float = 0.0) -> Array:
        """Vibration of an oscillator after the impulses, relative to that after one impulse of the same sum.

        `V = exp(-zeta omega t_k) |sum A_i exp((zeta + j sqrt(1 - zeta^2)) omega t_i)|` (Singer & Seering 1990) is the
        amplitude just after the last impulse. `frequency`: omega of any shape [rad/s].
        """
        with refused("residual"):
            omega = checked_array(frequency, "frequency")
            z = checked_number(damping_ratio, "", UNDERDAMPED, "damping_ratio")
        late = omega[..., None] * (np.array(self.times) - self.times[-1])
        return np.abs(np.exp((z + 1j * np.sqrt(1 - z * z)) * late) @ np.array(self.amplitudes))

    def described(self) -> str:
        """Text with the impulses."""
        return f"impulses {list(self.amplitudes)} at {list(self.times)} s"


# -- kinds -------------------------------------------------------------------------------------------------------------

UNDERDAMPED: Rule = ("at least 0 and less than 1", lambda x: 0 <= x < 1)
MOST_DAMPED: Rule = ("from 0 to 0.4 (ZV and ZVD allow more)", lambda x: 0 <= x <= 0.4)
TOLERABLE: Rule = ("positive and at most 0.1", lambda x: 0 < x <= 0.1)


def ZV(frequency: float, damping_ratio: float = 0.0) -> Shaper:
    """Zero-vibration shaper: two impulses half a damped period apart (Singer & Seering 1990).

    Parameters
    ----------
    frequency : float
        Undamped frequency omega [rad/s].
    damping_ratio : float
        zeta, less than 1.
    """
    half, z = _half_period("ZV", frequency, damping_ratio, UNDERDAMPED)
    K = np.exp(-np.pi * z / np.sqrt(1 - z * z))  # amplitude of an oscillation after half a period
    return Shaper((0.0, half), (1 / (1 + K), K / (1 + K)))


def ZVD(frequency: float, damping_ratio: float = 0.0) -> Shaper:
    """Zero-vibration-and-derivative shaper: the square of ZV, three impulses (Singer & Seering 1990).

    Parameters
    ----------
    frequency : float
        Undamped frequency omega [rad/s].
    damping_ratio : float
        zeta, less than 1.
    """
    once = ZV(frequency, damping_ratio)
    return once * once


def EI(frequency: float, damping_ratio: float = 0.0, tolerance: float = 0.05) -> Shaper:
    """Extra-insensitive shaper: residual `tolerance` at the modelled frequency, zero at two others (Singhose et al.
    1994).

    It has three impulses over one damped period. Without damping they are `(1 + V) / 4, (1 - V) / 2, (1 + V) / 4`, half
    a period apart. With damping the definition is solved numerically: the residual is V at the frequency, and zero at
    one frequency above and one below with the same damping ratio. The polynomials of Singhose, Seering & Singer 1996,
    which are fitted to the solution, have errors of up to 3e-3.

    Parameters
    ----------
    frequency : float
        Undamped frequency omega [rad/s].
    damping_ratio : float
        zeta, at most 0.4, above which the upper frequency diverges.
    tolerance : float
        V, as in `Shaper.residual`; at most 0.1.
    """
    half, z = _half_period("EI", frequency, damping_ratio, MOST_DAMPED)
    with refused("EI"):
        V = checked_number(tolerance, "", TOLERABLE, "tolerance")
    a, c, middle = _extra_insensitive(z, V)
    return Shaper((0.0, 2 * half * middle, 2 * half), (a, 1 - a - c, c))


def _half_period(kind: str, frequency: float, damping_ratio: float, damped: Rule) -> tuple[float, float]:
    """Half a damped period [s], and the damping ratio."""
    with refused(kind):
        omega = checked_number(frequency, "rad/s", POSITIVE, "frequency")
        z = checked_number(damping_ratio, "", damped, "damping_ratio")
    return float(np.pi / (omega * np.sqrt(1 - z * z))), z


def _extra_insensitive(zeta: float, V: float) -> tuple[float, float, float]:
    """First and last amplitude, and the middle time in damped periods, by continuation from zeta = 0."""
    from scipy.optimize import root

    def faults(x: Array, z: float) -> list[float]:
        a, c, middle, below, above = x  # frequencies relative to the modelled one
        pole = 2 * np.pi * (z / np.sqrt(1 - z * z) + 1j)

        def left(omega: float) -> complex:
            s = omega * pole
            return a * np.exp(-s) + (1 - a - c) * np.exp(s * (middle - 1)) + c

        return [abs(left(1.0)) - V, *(part for f in map(left, (below, above)) for part in (f.real, f.imag))]

    aside = np.arccos((1 - V) / (1 + V)) / np.pi
    x = np.array([(1 + V) / 4, (1 + V) / 4, 0.5, 1 - aside, 1 + aside])
    for z in np.linspace(0.0, zeta, 2 + int(zeta / 0.02))[1:]:
        x = root(faults, x, args=(z,), tol=1e-13).x
    return float(x[0]), float(x[1]), float(x[2])


# -- shaping -----------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Shaped:
    """A reference convolved with a shaper. Each copy of it rests at its initial value, t = 0, until its impulse.

    Parameters
    ----------
    reference : Reference
    shaper : Shaper
    """

    reference: Reference
    shaper: Shaper

    def __post_init__(self) -> None:
        with refused("Shaped"):
            checked_reference(self.reference)
            checked_instance(self.shaper, Shaper, "shaper")

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""
        import casadi as ca

        def copy(late: float, amplitude: float) -> list[Any]:
            found = positions(self.reference, ca.if_else(t < late, 0, t - late))
            return [amplitude * x for x in ca.vertsplit(found)]

        copies = [copy(*impulse) for impulse in zip(*self.shaper.impulses, strict=True)]
        return [sum(parts[1:], parts[0]) for parts in zip(*copies, strict=True)]

    def jumps(self) -> Array:
        """Times at which the acceleration jumps: those of the reference, and its beginning, once for each impulse."""
        own = jumps_of(self.reference)
        begins = reference_motion(self.reference, 0.0)[2].any() or (own == 0).any()
        own = np.append(own[own > 0], 0.0) if begins else own[own > 0]
        return np.unique(np.add.outer(np.array(self.shaper.times), own))

    def described(self) -> str:
        """Text with the reference and the impulses."""
        return f"{self.reference.described()}, shaped by {self.shaper.described()}"


def shaped(given: Any, shaper: Shaper) -> Any:
    """Convolve a reference, or an input of steps (`Piecewise`, `bang_bang`), with a shaper. The type stays the same."""
    if not isinstance(shaper, Shaper):
        raise DescriptionError(f"shaped: shaper is {shown(shaper)}; it must be a Shaper, such as ZV(frequency)")
    if hasattr(given, "expression") and not isinstance(given, type):
        return Shaped(given, shaper)
    # Inputs are defined in a layer above this module. An input of steps is recognized by its fields, times and values.
    made_of = [f.name for f in fields(given)] if is_dataclass(given) and not isinstance(given, type) else []
    if made_of == ["times", "values_"]:
        return type(given)(*_shaped_steps(given.times, given.values_, shaper))
    message = "it must be a reference or a Piecewise input"
    raise DescriptionError(f"shaped: cannot shape {shown(given)}; {message}")


def _shaped_steps(times: Array, values: Array, shaper: Shaper) -> tuple[Array, Array]:
    """Times and values of the convolution of a piecewise constant function, zero before its first time."""
    steps = np.diff(values, axis=0, prepend=np.zeros((1, values.shape[1])))
    when = np.add.outer(np.array(shaper.times), times).ravel()
    heights = np.multiply.outer(np.array(shaper.amplitudes), steps).reshape(len(when), -1)
    unique, where = np.unique(when, return_inverse=True)
    sums = np.zeros((len(unique), values.shape[1]))
    np.add.at(sums, where, heights)
    return unique, np.cumsum(sums, axis=0)
