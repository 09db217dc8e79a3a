"""References: motions of the joints, as expressions in t."""

from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from flexarm.errors import DescriptionError

Array = np.ndarray


class Reference(Protocol):
    """A motion of the joints, as an expression."""

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""

    def described(self) -> str:
        """Everything the expression depends on."""


@final
@dataclass(frozen=True)
class Cycloidal:
    """theta_i = k_i (t - T_i / pi sin(pi t / T_i)): rest at t = 0, and again at 2 T_i (Mohan & Saha eq. 44).

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
        object.__setattr__(self, "rates", tuple(float(x) for x in self.rates))
        object.__setattr__(self, "periods", tuple(float(x) for x in self.periods))
        if len(self.rates) != len(self.periods):
            counts = f"{len(self.rates)} rates for {len(self.periods)} periods"
            raise DescriptionError(f"Cycloidal: {counts}; one of each a joint")
        for T in self.periods:
            if not T > 0:
                raise DescriptionError(f"Cycloidal: a period is {T} s; it must be positive")

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""
        import casadi as ca

        return [k * (t - T / np.pi * ca.sin(np.pi / T * t)) for k, T in zip(self.rates, self.periods, strict=True)]

    def described(self) -> str:
        """Rates and periods."""
        return f"a cycloidal motion, rates {list(self.rates)}, periods {list(self.periods)}"


def reference_values(reference: Reference, t: Array) -> Array:
    """Joint coordinates of a reference at times t: (times, joints)."""
    import casadi as ca

    s = ca.SX.sym("t")
    function = ca.Function("reference", [s], [ca.vertcat(*reference.expression(s))])
    return np.array(function(np.asarray(t)[None, :])).T


@final
@dataclass(frozen=True)
class ParabolicBlends:
    """Linear segments with parabolic blends: from rest to rest, at constant acceleration, rate, deceleration.

    Parameters
    ----------
    start, end : (joints,)
        [rad] or [m].
    duration : float
        Of the motion [s]; before it the joints stand at `start`, after it at `end`.
    blend : float
        Of each blend [s], at most half the duration.
    """

    start: tuple[float, ...]
    end: tuple[float, ...]
    duration: float
    blend: float

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            object.__setattr__(self, name, tuple(float(x) for x in getattr(self, name)))
        if len(self.start) != len(self.end):
            raise DescriptionError(
                f"ParabolicBlends: {len(self.start)} starts for {len(self.end)} ends; one of each a joint"
            )
        if not 0 < 2 * self.blend <= self.duration:
            raise DescriptionError(
                f"ParabolicBlends: blend is {self.blend} s; it must be positive and at most half of {self.duration} s"
            )

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""
        import casadi as ca

        T, b = self.duration, self.blend
        rate = 1 / (T - b)  # of the straight part, for a way of 1
        into, out = rate * t**2 / (2 * b), 1 - rate * (T - t) ** 2 / (2 * b)
        share = ca.if_else(t < b, into, ca.if_else(t < T - b, rate * (t - b / 2), out))
        share = ca.if_else(t < 0, 0, ca.if_else(t < T, share, 1))
        return [a + (z - a) * share for a, z in zip(self.start, self.end, strict=True)]

    def jumps(self) -> Array:
        """Where the acceleration jumps."""
        return np.array([0.0, self.blend, self.duration - self.blend, self.duration])

    def described(self) -> str:
        """Ends and times."""
        ends = f"from {list(self.start)} to {list(self.end)}"
        return f"parabolic blends {ends} in {self.duration!r} s, blends of {self.blend!r} s"


def jumps_of(reference: Reference) -> Array:
    """Where a reference's acceleration jumps; nowhere if it does not say."""
    return reference.jumps() if hasattr(reference, "jumps") else np.empty(0)


def reference_motion(reference: Reference, t: float) -> tuple[Array, Array, Array]:
    """Coordinates, rates and accelerations of a reference at a time: (joints,) each."""
    import casadi as ca

    s = ca.SX.sym("t")
    q = ca.vertcat(*reference.expression(s))
    qd = ca.jacobian(q, s)
    function = ca.Function("reference", [s], [ca.densify(x) for x in (q, qd, ca.jacobian(qd, s))])
    return tuple(np.array(x).ravel() for x in function(t))  # type: ignore[return-value]
