"""The protocol of references, and their values at given times."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault, checked_array, checked_number, checked_numbers, counted, refused, shown
from flexarm.errors import DescriptionError
from flexarm.model.user_code import digest, is_foreign


class Reference(Protocol):
    """A motion of the joints, as an expression."""

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""

    def described(self) -> str:
        """Text with everything on which the expression depends."""

    # A reference may have `jumps()`, the times at which its acceleration jumps.


@final
@dataclass(frozen=True)
class Still:
    """Constant reference at one position.

    Parameters
    ----------
    position : (joints,)
        [rad] or [m].
    """

    position: tuple[float, ...]

    def __post_init__(self) -> None:
        with refused("Still"):
            object.__setattr__(self, "position", checked_numbers(self.position, part="position"))

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""
        return list(self.position)

    def described(self) -> str:
        """Text with the position."""
        return f"standing at {list(self.position)}"


def checked_reference(value: Any, part: str = "reference") -> Any:
    """Return the value if it has the methods of a reference; raises `Fault`."""
    if isinstance(value, type) or not all(callable(getattr(value, name, None)) for name in ("expression", "described")):
        raise Fault(part, f"is {shown(value)}; it must be a reference, such as a Quintic")
    return value


def positions(reference: Reference, t: Any) -> Any:
    """Joint coordinates of a reference at the symbolic time t, as a CasADi column; raises `DescriptionError`."""
    import casadi as ca

    with refused():
        given = checked_reference(reference).expression(t)
    try:
        return ca.densify(ca.SX(ca.vertcat(*given)))
    except (NotImplementedError, TypeError):
        kind = type(reference).__name__
        message = f"{shown(given)} as its expression; it must return a list of scalars"
        raise DescriptionError(f"reference {kind} returns {message}") from None


def reference_key(reference: Reference) -> str:
    """Return a key for functions of a reference: its own text, or a digest of the expression of a user's class."""
    with refused():
        checked_reference(reference)
    if not is_foreign(reference):
        return reference.described()
    import casadi as ca

    t = ca.SX.sym("t")
    return digest(ca.Function("reference", [t], [positions(reference, t)]))


def jumps_of(reference: Reference) -> Array:
    """Times at which a reference's acceleration jumps; none if it has no method `jumps`."""
    with refused():
        checked_reference(reference)
        given = reference.jumps() if hasattr(reference, "jumps") else ()
        return checked_array(given, "the reference's jumps", finite=False).ravel()


def reference_function(reference: Reference) -> Callable[[Array], Array]:
    """Return the function from times (times,) to the joint coordinates of a reference, (times, joints)."""
    import casadi as ca

    s = ca.SX.sym("t")
    function = ca.Function("reference", [s], [positions(reference, s)])
    return lambda t: np.array(function(t[None, :])).T


def reference_values(reference: Reference, t: Array) -> Array:
    """Joint coordinates of a reference at times t: (times, joints)."""
    with refused():
        times = checked_array(t, "t").ravel()
    return reference_function(reference)(times)


def reference_rates(reference: Reference, t: Array) -> Array:
    """Rates of the joints of a reference at times t: (times, joints)."""
    import casadi as ca

    with refused():
        times = checked_array(t, "t").ravel()
    s = ca.SX.sym("t")
    rates = ca.Function("rates", [s], [ca.densify(ca.jacobian(positions(reference, s), s))])
    return np.array(rates(times[None, :])).T


def reference_motion(reference: Reference, t: float) -> tuple[Array, Array, Array]:
    """Coordinates, rates and accelerations of a reference at a time: (joints,) each."""
    import casadi as ca

    with refused():
        time = checked_number(t, "s", part="t")
    s = ca.SX.sym("t")
    function = ca.Function("reference", [s], [*with_rates(positions(reference, s), s)])
    return tuple(np.array(x).ravel() for x in function(time))  # type: ignore[return-value]


def with_rates(q: Any, t: Any) -> tuple[Any, Any, Any]:
    """Return a column of expressions in the symbol t, and its first and second derivatives."""
    import casadi as ca

    if q.is_constant():
        zeros = ca.SX.zeros(q.numel())
        return q, zeros, zeros
    qd = ca.jacobian(q, t)
    return q, ca.densify(qd), ca.densify(ca.jacobian(qd, t))


def share(t: Any, begin: Any, end: Any) -> Any:
    """Share of the interval (begin, end) that has passed at the symbolic time t: 0 before, 1 after.

    `begin` and `end` are numbers, or columns of numbers for the shares of many intervals. At `begin` the slope is that
    inside the interval, and at `end` that outside. With minimum and maximum the slope at both would be arbitrary, and
    two adjacent intervals would count it twice or not at all.
    """
    import casadi as ca

    return ca.if_else(t < begin, 0, ca.if_else(t < end, (t - begin) / (end - begin), 1))


def after_pieces(t: Any, start: Sequence[Any], times: Sequence[float], pieces: Any) -> list[Any]:
    """Joint coordinates at the symbolic time t, as the sum of the displacements in all intervals between `times`.

    A displacement is a polynomial of fifth degree without constant term, the highest power first, in the share of its
    interval: `pieces` has the shape (intervals, 6, joints). A program without branches computes every piece anyway. A
    tree of `if_else` would therefore save nothing, and would select six coefficients for each joint instead of one
    variable for all.
    """
    import casadi as ca

    c = [ca.DM(coefficient) for coefficient in np.moveaxis(np.asarray(pieces, dtype=float), 1, 0)]
    s = ca.repmat(share(t, ca.DM(times[:-1]), ca.DM(times[1:])), 1, len(start))
    moved = s * (c[4] + s * (c[3] + s * (c[2] + s * (c[1] + s * c[0]))))
    return ca.horzsplit(ca.sum1(ca.vertcat(ca.horzcat(*start), moved)))


def check_pairs(name: str, one: tuple[float, ...], other: tuple[float, ...], words: tuple[str, str]) -> None:
    """Raise `DescriptionError` if two fields are for different numbers of joints."""
    if len(one) != len(other):
        pair = f"{counted(len(one), words[0])} for {counted(len(other), words[1])}"
        raise DescriptionError(f"{name}: {pair}; give one of each per joint")


def rest(reference: Reference) -> tuple[float, Array] | None:
    """Return the time at which a reference comes to rest for good [s], and its position; None if it never does.

    The function knows only the values of a reference. It evaluates them over 13 orders of magnitude of time, 64 times
    an octave, and then brackets the end of the last movement.
    """
    octaves = 2.0 ** np.arange(-20, 22)
    times = np.concatenate([[0.0], np.outer(octaves, 1 + np.arange(64) / 64).ravel()])
    at = reference_function(reference)
    values = at(times)
    end = values[-1]

    def moves(x: Array) -> Array:
        return (np.abs(x - end) > 1e-12 * (1 + np.abs(end))).any(axis=-1)

    moving = np.flatnonzero(moves(values))
    if len(moving) == 0:
        return 0.0, end
    if times[moving[-1]] >= octaves[-1]:
        return None
    low, high = times[moving[-1]], times[moving[-1] + 1]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if moves(at(np.array([middle])))[0] else (low, middle)
    return float(high), end
