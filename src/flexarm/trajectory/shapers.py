"""Input shapers: a command is split into impulses whose vibrations cancel."""

from collections.abc import Callable
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
    checked_integer,
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
MOST_DAMPED = {1: 0.4, 2: 0.3, 3: 0.2}
"""Largest damping ratio of an EI shaper by its number of humps, above which the highest zero of V diverges."""
TOLERABLE: Rule = ("positive and at most 0.1", lambda x: 0 < x <= 0.1)
STEP = 0.02
"""Step of the damping ratio in the continuation from the undamped shaper. Newton's method converges from each step."""


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


def ZVDD(frequency: float, damping_ratio: float = 0.0) -> Shaper:
    """Shaper with two zero derivatives: the cube of ZV, four impulses over one and a half periods (Singer & Seering).

    Parameters
    ----------
    frequency : float
        Undamped frequency omega [rad/s].
    damping_ratio : float
        zeta, less than 1.
    """
    return ZVD(frequency, damping_ratio) * ZV(frequency, damping_ratio)


def MZV(frequency: float, damping_ratio: float = 0.0, duration: float = 0.75) -> Shaper:
    """Modified zero-vibration shaper: three impulses at equal distances, with a duration between those of ZV and ZVD.

    With the angle theta = pi duration between two impulses, and the decay K of an oscillation during this time, the
    amplitudes are proportional to `1, -2 K cos(theta), K^2`. A duration of 0.75 is the shaper of that name in the
    firmware of 3D printers (Klipper), and 2/3 is the shaper of Shan, Liu & Sun 2005 with three impulses. A duration of
    1 is ZVD, and at 0.5, the duration of ZV, the middle impulse vanishes.

    Parameters
    ----------
    frequency : float
        Undamped frequency omega [rad/s].
    damping_ratio : float
        zeta, less than 1.
    duration : float
        Time of the last impulse in damped periods, above 0.5 and at most 1.
    """
    half, z = _half_period("MZV", frequency, damping_ratio, UNDERDAMPED)
    with refused("MZV"):
        duration = checked_number(duration, "damped periods", BETWEEN, "duration")
    theta = np.pi * duration
    K = np.exp(-theta * z / np.sqrt(1 - z * z))
    A = np.array([1.0, -2.0 * K * np.cos(theta), K * K])
    return Shaper((0.0, half * duration, 2 * half * duration), tuple((A / A.sum()).tolist()))


BETWEEN: Rule = ("above 0.5 (ZV) and at most 1 (ZVD)", lambda x: 0.5 < x <= 1)


def EI(frequency: float, damping_ratio: float = 0.0, tolerance: float = 0.05, humps: int = 1) -> Shaper:
    """Extra-insensitive shaper: its residual stays below `tolerance` between its lowest and its highest zero.

    Between the `humps + 1` zeros the residual rises to the tolerance V `humps` times (Singhose, Seering & Singer 1994;
    1997 for several humps). The shaper has `humps + 2` impulses. Without damping they are half a period apart. Their
    amplitudes are those of a Dolph-Chebyshev window, for one hump `(1 + V) / 4, (1 - V) / 2, (1 + V) / 4`.

    With damping the definition is solved numerically, with the same damping ratio at all frequencies. An odd number of
    humps has the residual V at the modelled frequency and lasts `(humps + 1) / 2` damped periods. Two humps have a
    residual of zero at the modelled frequency. The published polynomials, which are fitted to such solutions, have
    errors of up to 3e-3 for one hump and 1e-2 for two.

    Parameters
    ----------
    frequency : float
        Undamped frequency omega [rad/s].
    damping_ratio : float
        zeta, at most 0.4 with one hump, 0.3 with two and 0.2 with three. Above, the highest zero diverges.
    tolerance : float
        V, as in `Shaper.residual`; at most 0.1.
    humps : 1, 2, 3
        Number of humps. Each adds half a period to the duration.
    """
    with refused("EI"):
        humps = checked_integer(humps, 3, "humps", least=1)
        V = checked_number(tolerance, "", TOLERABLE, "tolerance")
    most = MOST_DAMPED[humps]
    damped: Rule = (f"from 0 to {most:g} (ZV and ZVD allow more)", lambda x: 0 <= x <= most)
    half, z = _half_period("EI", frequency, damping_ratio, damped)
    A, periods = _extra_insensitive(z, V, humps)
    return Shaper(tuple((2 * half * periods).tolist()), tuple(A.tolist()))


def UMZV(frequency: float, damping_ratio: float = 0.0) -> Shaper:
    """Unity-magnitude shaper: the impulses 1, -1, 1 (Singhose, Singer & Seering 1997).

    Without damping they are a sixth of a period apart, so that the shaper is shorter than ZV by a sixth of a period. It
    turns a step of a drive that is either on or off into such steps. The price is a larger excitation of the higher
    modes. With damping the times are solved numerically.

    Parameters
    ----------
    frequency : float
        Undamped frequency omega [rad/s].
    damping_ratio : float
        zeta, at most 0.5.
    """
    half, z = _half_period("UMZV", frequency, damping_ratio, HALF_DAMPED)
    return _timed((1.0, -1.0, 1.0), 2 * half, z)


def PSZV(frequency: float, damping_ratio: float = 0.0, peak: float = 1.0) -> Shaper:
    """Partial-sum shaper: the impulses P, -2 P, P + 1, whose sums stay within -P and P until the last (Singhose, Singer
    & Seering 1997).

    A shaped step is P, -P and 1. It is the time-optimal command within these limits for a drive that can give P times
    the step in both directions. Without damping the times follow from a triangle with the amplitudes as its sides:
    `cos(omega t_2) = (4 P^2 - 2 P - 1) / (4 P^2)`. With damping the times are solved numerically.

    Parameters
    ----------
    frequency : float
        Undamped frequency omega [rad/s].
    damping_ratio : float
        zeta, at most 0.5.
    peak : float
        P, from 1 to 10.
    """
    half, z = _half_period("PSZV", frequency, damping_ratio, HALF_DAMPED)
    with refused("PSZV"):
        P = checked_number(peak, "", PEAK, "peak")
    return _timed((P, -2 * P, P + 1), 2 * half, z)


HALF_DAMPED: Rule = ("from 0 to 0.5 (ZV and ZVD allow more)", lambda x: 0 <= x <= 0.5)
PEAK: Rule = ("from 1 to 10", lambda x: 1 <= x <= 10)

KINDS: dict[str, Callable[[float, float, float], Shaper]] = {
    "zv": lambda omega, zeta, V: ZV(omega, zeta),
    "zvd": lambda omega, zeta, V: ZVD(omega, zeta),
    "zvdd": lambda omega, zeta, V: ZVDD(omega, zeta),
    "mzv": lambda omega, zeta, V: MZV(omega, zeta),
    "ei": EI,
    "two-hump-ei": lambda omega, zeta, V: EI(omega, zeta, V, 2),
    "three-hump-ei": lambda omega, zeta, V: EI(omega, zeta, V, 3),
    "um-zv": lambda omega, zeta, V: UMZV(omega, zeta),
    "ps-zv": lambda omega, zeta, V: PSZV(omega, zeta),
}
"""Shapers by the names that `design_shaper` and scenario files use, from frequency, damping ratio and tolerance."""


def _half_period(kind: str, frequency: float, damping_ratio: float, damped: Rule) -> tuple[float, float]:
    """Half a damped period [s], and the damping ratio."""
    with refused(kind):
        omega = checked_number(frequency, "rad/s", POSITIVE, "frequency")
        z = checked_number(damping_ratio, "", damped, "damping_ratio")
    return float(np.pi / (omega * np.sqrt(1 - z * z))), z


def _pole(z: float) -> complex:
    """Exponent of the vibration's decay and phase over one damped period."""
    return complex(2 * np.pi * (z / np.sqrt(1 - z * z) + 1j))


def _continued(faults: Callable[[Array, float], Array], x: Array, zeta: float) -> Array:
    """Solve faults(x, z) = 0 at the damping ratio zeta by continuation from the solution x at zero."""
    from scipy.optimize import root

    for z in np.linspace(0.0, zeta, 2 + int(zeta / STEP))[1:] if zeta else ():
        x = root(faults, x, args=(z,), tol=1e-13).x
    return x


def _timed(A: tuple[float, float, float], period: float, zeta: float) -> Shaper:
    """Shaper with the amplitudes A, whose impulses form a triangle in the plane of phases."""

    def faults(x: Array, z: float) -> Array:
        V = np.array(A) @ np.exp(_pole(z) * np.concatenate([[0.0], x]))
        return np.array([V.real, V.imag])

    a, b, c = np.abs(A)
    middle = np.arccos((a * a + b * b - c * c) / (2 * a * b))
    last = np.pi - np.arccos((a * a + c * c - b * b) / (2 * a * c))
    x = _continued(faults, np.array([middle, last]) / (2 * np.pi), zeta)
    return Shaper((0.0, *(period * x).tolist()), A)


def _extra_insensitive(zeta: float, V: float, humps: int) -> tuple[Array, Array]:
    """Amplitudes and times in damped periods of an EI shaper.

    The unknowns are the amplitudes and times of the impulses, and the frequencies of the zeros and the humps relative
    to the modelled one. The symmetric zero or hump in the middle is at the modelled frequency.
    """
    odd, order = humps % 2, humps + 1

    # 1. without damping: V T(x_0 cos(pi r / 2)) at the relative frequency r, T Chebyshev's polynomial of this order
    x0 = np.cosh(np.arccosh(1 / V) / order)
    zeros = 2 / np.pi * np.arccos(np.cos((2 * np.arange(order) + 1) * np.pi / (2 * order)) / x0)
    tops = 2 / np.pi * np.arccos(np.cos(np.arange(1, order) * np.pi / order) / x0)
    A = np.poly(np.exp(1j * np.pi * zeros)).real
    times = np.arange(1, order + 1) / 2
    middle = order // 2
    if odd:
        times, tops = times[:-1], np.delete(tops, middle - 1)
    else:
        zeros = np.delete(zeros, middle)
    parts = np.cumsum([order, len(times), len(zeros)])

    def impulses(x: Array) -> tuple[Array, Array]:
        a, t = np.split(x, parts)[:2]
        return np.append(a, 1 - a.sum()), np.concatenate([[0.0], t, [order / 2] * odd])

    # 2. with damping
    def faults(x: Array, z: float) -> Array:
        a, t = impulses(x)
        below, hills = np.split(x, parts)[2:]
        late = _pole(z) * (t - t[-1])

        def left(r: Array, weights: Array) -> Array:
            return np.exp(np.multiply.outer(r, late)) @ weights

        nothing = left(below if odd else np.append(below, 1.0), a)
        height = left(hills, a)
        level = (left(hills, a * late) * height.conj()).real  # half the slope of |height|^2
        modelled = [abs(left(np.array(1.0), a)) - V] * odd
        return np.concatenate([nothing.real, nothing.imag, np.abs(height) - V, level, modelled])

    start = np.concatenate([(A / A.sum())[:-1], times, zeros, tops])
    return impulses(_continued(faults, start, zeta))


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
