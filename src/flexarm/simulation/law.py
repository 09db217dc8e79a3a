"""Control laws: CasADi expressions that a controller designs for a model, and limits and delays after a law."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.checks import Fault, a_kind, checked_array, checked_instance, checked_whole, refused, shown
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.shown import show
from flexarm.trajectory import Reference
from flexarm.trajectory.reference import checked_reference

Column = Any
"""A CasADi SX column."""
After = Callable[[Column], Column]
"""A function from the u that reaches the arm to the rate of a law's memory, or to a sampled law's next memory."""

MOST_UNDER_WAY = 10_000
"""Largest number of commands in a delay line. Each command is a number of the law's memory."""


@final
@dataclass(frozen=True)
class Law:
    """A control law for one model, as CasADi expressions.

    Attributes
    ----------
    expression : (t, q, qd, z) -> (u, following)
        t is a scalar; q, qd, the memory z and u are columns. On a free base q are local coordinates, one per rate, see
        `attitude.local`. `following` is dz/dt or, if the law was designed with a period, the next z. A law that needs
        the u after limits and delays returns a function of that u instead. If `noise` is not empty, the noise is a
        further argument. If `drives` is true, the states s of the arm's drives are a further argument.
    memory : z at the start
    noise : standard deviations of the independent normal numbers that a sampled law gets each time
    jumps : times at which u is discontinuous [s]
    reference : the motion of the joints that the law follows, if any
    facts : results of the design: gains, poles, ratios
    drives : True if the law, which must be sampled, measures the states of the arm's drives: currents
    accelerates : True if the law, which must be sampled, measures accelerations. Its last argument is then qdd just
        before the sample, under the previous u and all external loads
    cycle : number of samples after which the law, which must be sampled, repeats
    """

    expression: Callable[..., tuple[Any, Any]]
    memory: tuple[float, ...] = ()
    noise: tuple[float, ...] = ()
    jumps: Array = field(default_factory=lambda: np.empty(0))
    reference: Reference | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    drives: bool = False
    accelerates: bool = False
    cycle: int = 1

    def __post_init__(self) -> None:
        with refused("Law"):
            if not callable(self.expression):
                raise Fault("expression", f"is {shown(self.expression)}; it must be a function of t, q, qd and z")
            for name in ("memory", "noise"):
                object.__setattr__(self, name, tuple(checked_row(getattr(self, name), name).tolist()))
            object.__setattr__(self, "jumps", checked_row(self.jumps, "jumps", finite=False))
            if self.reference is not None:
                checked_reference(self.reference)
            checked_instance(self.facts, Mapping, "facts")
            checked_whole(self.cycle, 1, "cycle")

    def __call__(self, t: Any, q: Column, qd: Column, z: Column, *more: Column) -> tuple[Column, After]:
        """Return u, and a function from the u that reaches the arm to the next memory or its rate.

        `more` are the noise, s, and qdd.
        """
        given = self.expression(t, q, qd, z, *(each for each in more if each.numel()))
        if not isinstance(given, list | tuple) or len(given) != 2:
            raise DescriptionError(f"a law returns {shown(given)}; it must return u and the next memory")
        u, following = given
        return column(u), lambda applied: column(following(applied) if callable(following) else following)


def checked_row(value: Any, part: str, finite: bool = True) -> Array:
    """Return the value as a one-dimensional array of numbers. Raises `Fault`."""
    given = checked_array(value, part, finite)
    if given.ndim != 1:
        raise Fault(part, f"has shape {given.shape}; it must be numbers in a row")
    return given


def column(values: Any) -> Column:
    """Return a column from a column or a list of scalars. Raise `DescriptionError` for any other value."""
    import casadi as ca

    try:
        return ca.SX(ca.vertcat(*values) if isinstance(values, list | tuple) else values)
    except (NotImplementedError, TypeError):
        raise DescriptionError(f"a law gives {shown(values)}; it must give a column, or a list of scalars") from None


def parted(x: Column, size: int) -> tuple[Column, Column]:
    """Return the first entries of a column, and the others. Slices of a single entry would not be columns."""
    import casadi as ca

    if size == x.numel():
        return x, ca.SX(0, 1)
    first, others = ca.vertsplit(x, [0, size, x.numel()])
    return first, others


class Controller(Protocol):
    """An object that designs a control law for a model."""

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the law for the model. With a period [s], the law is called once per period."""


def law_of(where: str, controller: Any, model: Model, period: float | None = None) -> Law:
    """Return the law of a controller for a model. Raise `DescriptionError` if the object is not a controller."""
    fault = f"{where} is {what_it_is(controller)}"
    must = "it must be a controller, an object with a method law(model, period)"
    designed = getattr(controller, "law", None)
    try:
        inspect.signature(designed).bind(model, period)  # type: ignore[arg-type]
    # not a function, a function with other arguments, or a built-in without a signature
    except (TypeError, ValueError):
        raise DescriptionError(f"{fault}; {must}") from None
    if isinstance(controller, type):
        raise DescriptionError(f"{fault}; {must}")
    found = designed(model, period)  # type: ignore[misc]
    if not isinstance(found, Law):
        raise DescriptionError(f"{fault}, whose law is {what_it_is(found)}, not a Law; {must}")
    return found


def what_it_is(thing: Any) -> str:
    """Return a phrase for messages: "a JointPD" for an object, or "the class JointPD" for a class."""
    return f"the class {thing.__name__}" if isinstance(thing, type) else a_kind(thing)


def is_linear_system(thing: Any) -> bool:
    """Return True for a system of python-control, which is a function of frequency, not of time."""
    return any(each.__module__.partition(".")[0] == "control" for each in type(thing).__mro__)


# -- combinators -------------------------------------------------------------------------------------------------------


def passed_through(law: Law, element: Callable[[Column, Column], tuple[Column, Column]], memory: int = 0) -> Law:
    """Return a law whose u passes through a further element before it reaches the arm.

    The element is a function (u, z) -> (u, next z). Its memory z of this length starts at zero.
    """
    import casadi as ca

    def expression(t: Any, q: Column, qd: Column, z: Column, *more: Column) -> tuple[Column, After]:
        own, z = parted(z, len(law.memory))
        u, after = law(t, q, qd, own, *more)
        u, following = element(u, z)
        return u, lambda applied: ca.vertcat(after(applied), following)

    return replace(law, expression=expression, memory=(*law.memory, *[0.0] * memory))


def commanded(law: Law, inputs: Sequence[str]) -> Law:
    """Return a law whose u can be recorded as its command, unless a law inside it has one."""

    def element(u: Column, z: Column) -> tuple[Column, Column]:
        show("command", u, inputs, "as that of u", once=True)
        return u, z

    return passed_through(law, element)


def saturated(law: Law, limit: Array) -> Law:
    """Return a law whose u is limited to a size (m,)."""
    return passed_through(law, lambda u, z: (clipped(u, limit), z))


def rate_limited(law: Law, limit: Array, period: float) -> Law:
    """Return a sampled law whose u changes by at most `limit` (m,) in a second."""

    def element(u: Column, last: Column) -> tuple[Column, Column]:
        u = last + clipped(u - last, limit * period)
        return u, u

    return passed_through(law, element, len(limit))


def delayed(law: Law, delay: float, period: float, m: int) -> Law:
    """Return a sampled law whose u (m,) reaches the arm after a delay, a whole number of periods [s]."""
    import casadi as ca

    steps = delay / period
    if not steps <= MOST_UNDER_WAY:
        message = f"{steps:.3g} periods of {period} s; at most {MOST_UNDER_WAY} are allowed"
        raise DescriptionError(f"delay is {delay} s, {message}")
    if abs(steps - round(steps)) > 1e-9:
        raise DescriptionError(f"delay is {delay} s; it must be a whole number of periods of {period} s")
    if not round(steps):
        return law
    return passed_through(law, lambda u, waiting: parted(ca.vertcat(waiting, u), m), m * round(steps))


def limits(what: str, value: ArrayLike, count: int) -> Array:
    """Return a limit for each actuator, from one positive number or one each."""
    with refused():
        given = checked_array(value, what, finite=False)
    if given.shape not in ((), (count,)) or not (given > 0).all():
        raise DescriptionError(
            f"{what} is {shown(value)}; it must be one positive number, or {count} of them, one per actuator"
        )
    return np.broadcast_to(given, (count,))


def clipped(u: Column, limit: Array) -> Column:
    """Return u limited to a size. A NaN stays NaN, which minimum and maximum would hide."""
    import casadi as ca

    return ca.if_else(u > limit, limit, ca.if_else(u < -limit, -limit, u))
