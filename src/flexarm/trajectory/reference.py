"""What a reference is, and its values at given times."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from flexarm.checks import Fault
from flexarm.errors import DescriptionError

Array = np.ndarray


class Reference(Protocol):
    """A motion of the joints, as an expression."""

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""

    def described(self) -> str:
        """Everything the expression depends on."""

    # A reference may say `jumps()`, the times at which its acceleration jumps.


@final
@dataclass(frozen=True)
class Still:
    """Standing at one place.

    Parameters
    ----------
    position : (joints,)
        [rad] or [m].
    """

    position: tuple[float, ...]

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""
        return list(self.position)

    def described(self) -> str:
        """Where."""
        return f"standing at {list(self.position)}"


def jumps_of(reference: Reference) -> Array:
    """Where a reference's acceleration jumps; nowhere if it does not say."""
    return reference.jumps() if hasattr(reference, "jumps") else np.empty(0)


def reference_function(reference: Reference) -> Callable[[Array], Array]:
    """From times (times,) to the joint coordinates of a reference, (times, joints)."""
    import casadi as ca

    s = ca.SX.sym("t")
    function = ca.Function("reference", [s], [ca.densify(ca.SX(ca.vertcat(*reference.expression(s))))])
    return lambda t: np.array(function(np.asarray(t, dtype=float)[None, :])).T


def reference_values(reference: Reference, t: Array) -> Array:
    """Joint coordinates of a reference at times t: (times, joints)."""
    return reference_function(reference)(t)


def reference_motion(reference: Reference, t: float) -> tuple[Array, Array, Array]:
    """Coordinates, rates and accelerations of a reference at a time: (joints,) each."""
    import casadi as ca

    s = ca.SX.sym("t")
    q = ca.SX(ca.vertcat(*reference.expression(s)))
    qd = ca.jacobian(q, s)
    function = ca.Function("reference", [s], [ca.densify(x) for x in (q, qd, ca.jacobian(qd, s))])
    return tuple(np.array(x).ravel() for x in function(t))  # type: ignore[return-value]


def share(t: Any, begin: float, end: float) -> Any:
    """The part of (begin, end) that has passed at the symbolic time t: 0 before, 1 after.

    At `begin` its slope is that of the inside and at `end` that of the outside. Minimum and maximum would leave the
    slope at both to chance, and two intervals that touch would count it twice or not at all.
    """
    import casadi as ca

    return ca.if_else(t < begin, 0, ca.if_else(t < end, (t - begin) / (end - begin), 1))


@contextmanager
def refused(name: str) -> Iterator[None]:
    """Turns a fault of a field into the one line of whoever has the field."""
    try:
        yield
    except Fault as fault:
        raise DescriptionError(f"{name}: {fault.part} {fault.message}") from None


def check_pairs(name: str, one: tuple[float, ...], other: tuple[float, ...], words: tuple[str, str]) -> None:
    """Raises `DescriptionError` where two fields are not for as many joints."""
    if len(one) != len(other):
        raise DescriptionError(f"{name}: {len(one)} {words[0]} for {len(other)} {words[1]}; one of each a joint")
