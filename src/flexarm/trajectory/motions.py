"""Motions of each joint: cycloids, parabolic blends, quintics, way-points."""

from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import factorial
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import POSITIVE, Fault, checked_list, checked_number, checked_numbers, counted, refused
from flexarm.errors import DescriptionError
from flexarm.trajectory.reference import after_pieces, check_pairs, share

PASSED = 1e-6
"""Error of a spline at a point, relative to the largest point, above which it is rejected."""


@final
@dataclass(frozen=True)
class Cycloidal:
    """Cycloidal motion theta_i = k_i (t - T_i / pi sin(pi t / T_i)) (Mohan & Saha eq. 44).

    The joints are at rest at t = 0, and again at 2 T_i.

    Parameters
    ----------
    rates : (joints,)
        Mean rate k [rad/s or m/s].
    periods : (joints,)
        T [s].
    """

    rates: tuple[float, ...]
    periods: tuple[float, ...]

    def __post_init__(self) -> None:
        with refused("Cycloidal"):
            for name in ("rates", "periods"):
                object.__setattr__(self, name, checked_numbers(getattr(self, name), part=name))
        check_pairs("Cycloidal", self.rates, self.periods, ("rate", "period"))
        for T in self.periods:
            if not T > 0:
                raise DescriptionError(f"Cycloidal: a period is {T} s; it must be positive")

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""
        import casadi as ca

        return [k * (t - T / np.pi * ca.sin(np.pi / T * t)) for k, T in zip(self.rates, self.periods, strict=True)]

    def described(self) -> str:
        """Text with the rates and periods."""
        return f"a cycloidal motion, rates {list(self.rates)}, periods {list(self.periods)}"


@final
@dataclass(frozen=True)
class ParabolicBlends:
    """Linear segments with parabolic blends: from rest to rest, at constant acceleration, rate, deceleration.

    Parameters
    ----------
    start, end : (joints,)
        [rad] or [m].
    duration : float
        Duration of the motion [s]. The joints rest at `start` before it and at `end` after it.
    blend : float
        Duration of each blend [s], at most half of `duration`.
    """

    start: tuple[float, ...]
    end: tuple[float, ...]
    duration: float
    blend: float

    def __post_init__(self) -> None:
        with refused("ParabolicBlends"):
            for name in ("start", "end"):
                object.__setattr__(self, name, checked_numbers(getattr(self, name), part=name))
            for name in ("duration", "blend"):
                object.__setattr__(self, name, checked_number(getattr(self, name), "s", part=name))
        check_pairs("ParabolicBlends", self.start, self.end, ("start", "end"))
        if not 0 < 2 * self.blend <= self.duration:
            raise DescriptionError(
                f"ParabolicBlends: blend is {self.blend} s; it must be positive and at most half of {self.duration} s"
            )

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""
        import casadi as ca

        T, b = self.duration, self.blend
        rate = 1 / (T - b)  # of the linear segment, for a displacement of 1
        into, out = rate * t**2 / (2 * b), 1 - rate * (T - t) ** 2 / (2 * b)
        way = ca.if_else(t < b, into, ca.if_else(t < T - b, rate * (t - b / 2), out))
        way = ca.if_else(t < 0, 0, ca.if_else(t < T, way, 1))
        return [a + (z - a) * way for a, z in zip(self.start, self.end, strict=True)]

    def jumps(self) -> Array:
        """Times at which the acceleration jumps."""
        return np.array([0.0, self.blend, self.duration - self.blend, self.duration])

    def described(self) -> str:
        """Text with the ends and times."""
        ends = f"from {list(self.start)} to {list(self.end)}"
        return f"parabolic blends {ends} in {self.duration!r} s, blends of {self.blend!r} s"


def BangBang(start: Any, end: Any, duration: float) -> ParabolicBlends:
    """Constant acceleration for half the duration, then its opposite: the fastest motion for a given acceleration.

    Over a displacement d the acceleration is 4 d / duration^2. These are parabolic blends without a linear segment.

    Parameters
    ----------
    start, end : (joints,)
        [rad] or [m].
    duration : float
        [s]
    """
    with refused("BangBang"):
        a, z = checked_numbers(start, part="start"), checked_numbers(end, part="end")
        T = checked_number(duration, "s", POSITIVE, "duration")
    check_pairs("BangBang", a, z, ("start", "end"))
    return ParabolicBlends(a, z, T, T / 2)


def quintic(s: Any) -> Any:
    """Return 10 s^3 - 15 s^4 + 6 s^5: from 0 to 1, with zero rate and acceleration at both ends."""
    return s**3 * (10 - s * (15 - 6 * s))


@final
@dataclass(frozen=True)
class Quintic:
    """Quintic motion from rest to rest: q = a + (b - a)(10 s^3 - 15 s^4 + 6 s^5), s = t / duration.

    The source is Subudhi & Morris eq. 71. Rate and acceleration are continuous everywhere. The largest rate is 1.875
    (b - a) / duration, at half time. The largest acceleration is +-5.774 (b - a) / duration^2, at s = 1/2 -+ sqrt(3) /
    6.

    Parameters
    ----------
    start, end : (joints,)
        [rad] or [m].
    duration : float
        Duration of the motion [s]. The joints rest at `start` before it and at `end` after it.
    """

    start: tuple[float, ...]
    end: tuple[float, ...]
    duration: float

    def __post_init__(self) -> None:
        with refused("Quintic"):
            for name in ("start", "end"):
                object.__setattr__(self, name, checked_numbers(getattr(self, name), part=name))
            object.__setattr__(self, "duration", checked_number(self.duration, "s", POSITIVE, "duration"))
        check_pairs("Quintic", self.start, self.end, ("start", "end"))

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""
        way = quintic(share(t, 0.0, self.duration))
        return [a + (b - a) * way for a, b in zip(self.start, self.end, strict=True)]

    def described(self) -> str:
        """Text with the ends and the duration."""
        return f"a quintic from {list(self.start)} to {list(self.end)} in {self.duration!r} s"


@final
@brief
@dataclass(frozen=True)
class MinimumJerk:
    """Motion through way-points at given times with the least integral of jerk squared, from rest to rest.

    Rest means zero rate and acceleration. Both are free at the points between. By the calculus of variations the sixth
    derivative vanishes between the points and the fourth is continuous at them: a spline of degree five with four
    continuous derivatives. Two points give `Quintic` (Flash & Hogan 1985).

    Parameters
    ----------
    points : (k, joints)
        At least two points [rad] or [m]; (k,) for one joint. The joints rest there before the first time and after the
        last.
    times : (k,)
        Increasing [s].
    """

    points: tuple[tuple[float, ...], ...]
    times: tuple[float, ...]

    def __post_init__(self) -> None:
        with refused("MinimumJerk"):
            object.__setattr__(self, "times", checked_times(self.times))
            object.__setattr__(self, "points", checked_points(self.points))
        if len(self.points) != len(self.times):
            counts = f"{counted(len(self.points), 'point')} for {len(self.times)} times"
            raise DescriptionError(f"MinimumJerk: {counts}; give one time for each point")

    def pieces(self) -> Array:
        """Coefficients (k - 1, 6, joints) of each piece, the highest power first, in the share of its time."""
        from scipy.interpolate import make_interp_spline

        times, points = np.array(self.times), np.array(self.points)
        rest = [(d, np.zeros(points.shape[1])) for d in (1, 2)]
        h = np.diff(times)[:, None]
        with np.errstate(over="ignore", invalid="ignore"), suppress(ValueError, np.linalg.LinAlgError):
            spline = make_interp_spline(times, points, k=5, bc_type=(rest, rest))
            found = np.stack([spline(times[:-1], d) * h**d / factorial(d) for d in range(5, -1, -1)], axis=1)
            off = np.abs(found.sum(axis=1) - points[1:]).max()
            if np.isfinite(found).all() and off <= PASSED * np.abs(points).max():
                return found
        raise DescriptionError("MinimumJerk: no spline passes the points; times or points differ too much in size")

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""
        return after_pieces(t, self.points[0], self.times, self.pieces())

    def described(self) -> str:
        """Text with the points and times."""
        return f"minimum jerk through {[list(p) for p in self.points]} at {list(self.times)} s"


def checked_times(value: object) -> tuple[float, ...]:
    """Check two or more increasing times; raises `Fault`."""
    times = checked_numbers(value, "s", part="times")
    if len(times) < 2:
        raise Fault("times", "has 1 number; it must have at least 2")
    for i, (before, after) in enumerate(pairwise(times), start=1):
        if not after > before:
            raise Fault(f"times[{i}]", f"is {after} s after {before} s; times must increase")
    return times


def checked_points(value: object) -> tuple[tuple[float, ...], ...]:
    """Check rows of equal length, where a row may be a number for one joint; raises `Fault`."""
    rows = []
    for i, row in enumerate(checked_list(value, "a list of points", "points")):
        point = row if isinstance(row, list | tuple | np.ndarray) else [row]
        rows.append(checked_numbers(point, part=f"points[{i}]"))
        if len(rows[i]) != len(rows[0]):
            raise Fault(
                f"points[{i}]",
                f"has {counted(len(rows[i]), 'joint')} and points[0] has {len(rows[0])}; they must be equal",
            )
    return tuple(rows)
