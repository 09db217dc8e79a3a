"""Sums of controllers, and of inputs that depend on time alone."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import lcm
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.brief import brief
from flexarm.checks import checked_array, refused, takes
from flexarm.control.gains import actuators, followed, inner_law
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.block import Block
from flexarm.simulation.feedback import check_width, named
from flexarm.simulation.inputs import constant
from flexarm.simulation.law import Column, Law, column, is_linear_system, what_it_is
from flexarm.simulation.sampled import Sampled
from flexarm.trajectory import Reference

LATE = 1e-9
"""Share of a period by which an input may begin after a sample and still count at this sample."""


@final
@brief
@dataclass(frozen=True, init=False, eq=False)
class Sum:
    """Sum of controllers and of inputs that are known in advance: feedforward and feedback.

    Parameters
    ----------
    terms : controllers and inputs, one after the other
        Controllers; and inputs that depend on time alone: numbers, `Piecewise`, `Table`, `RigidInverseDynamics`, a
        function of the symbolic time that returns CasADi expressions, or an object whose attribute `torques` is one of
        these, such as an optimal motion.
    reference : Reference, float or (m,), optional
        Reference of the sum. A run begins there, and an `Integral` around the sum uses its error. Default: the
        reference of the controllers, which must then have the same one.

    Raises
    ------
    DescriptionError
        If there is no term. If a term is already sampled, depends on more than time without being a controller, or is a
        Python function. If controllers follow different references.

    Notes
    -----
    Each term has its own memory and noise. A term that needs the input of the arm, such as `Observed`, gets the total.
    """

    terms: tuple[Any, ...]
    reference: Reference | ArrayLike | None

    def __init__(self, *terms: Any, reference: Any = None):
        if not terms:
            raise DescriptionError("Sum: there are no terms; give controllers, or inputs that depend on time")
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "reference", reference)

    def discretised(self, method: str) -> "Sum":
        """Return the same sum with another method of discretisation for its systems."""
        if not any(hasattr(term, "discretised") for term in self.terms):
            raise DescriptionError(
                "Sampled: method applies only to a control.Linear, and the Sum contains none; leave method out"
            )
        terms = (term.discretised(method) if hasattr(term, "discretised") else term for term in self.terms)
        return Sum(*terms, reference=self.reference)

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model; its memory is that of its terms, one after the other."""
        actuators("Sum", model, period)
        laws = [_law(term, model, period) for term in self.terms]
        memory, noises = ([len(getattr(law, name)) for law in laws] for name in ("memory", "noise"))
        drives, accelerates = any(law.drives for law in laws), any(law.accelerates for law in laws)

        def expression(t: Any, q: Column, qd: Column, z: Column, *more: Column) -> tuple[Column, Any]:
            import casadi as ca

            noise, states, qdd = _given(more, sum(noises), drives, accelerates)
            total, afters = ca.SX.zeros(len(model.inputs)), []
            parts = zip(laws, self.terms, _parts(z, memory), _parts(noise, noises), strict=True)
            for law, term, own, drawn in parts:
                beside = [*([states] if law.drives else []), *([qdd] if law.accelerates else [])]
                u, after = law(t, q, qd, own, drawn, *beside)
                check_width(model, u, f"{named(term)} in a Sum")
                total += u
                afters.append(after)
            return total, lambda applied: ca.vertcat(*(after(applied) for after in afters))

        return Law(
            expression,
            sum((law.memory for law in laws), ()),
            sum((law.noise for law in laws), ()),
            np.unique(np.concatenate([law.jumps for law in laws])),
            self._followed(laws, model),
            reduce(lambda found, law: {**law.facts, **found}, laws, dict[str, Any]()),
            drives,
            accelerates,
            lcm(*(law.cycle for law in laws)),
        )

    def _followed(self, laws: list[Law], model: Model) -> Reference | None:
        """Reference of the sum."""
        if self.reference is not None:
            return followed("Sum", self.reference, model)
        found = {law.reference.described(): law.reference for law in laws if law.reference is not None}
        if len(found) > 1:
            one, other, *_ = found
            must = "give all the same reference, or give the Sum a reference="
            raise DescriptionError(f"Sum: its terms follow different references, {one} and {other}; {must}")
        return next(iter(found.values()), None)


def _law(term: Any, model: Model, period: float | None) -> Law:
    """Return the control law of a controller, or of an input that is known in advance."""
    where = f"Sum: a term is {what_it_is(term)}"
    if isinstance(term, Sampled):
        raise DescriptionError(f"{where}; give the controller itself, and put Sampled around the Sum")
    if hasattr(term, "stepper"):
        raise DescriptionError(
            f"{where}, which runs in Python; the terms of a Sum are compiled: add the others in its stepper"
        )
    if isinstance(term, type):
        raise DescriptionError(f"{where}; it must be an object: {term.__name__}(...)")
    if is_linear_system(term):
        raise DescriptionError(f"{where}; use control.Linear(system, sensors=[...])")
    if hasattr(term, "law"):
        return inner_law("Sum", term, model, period)
    given = getattr(term, "torques", term)
    late = 0.0 if period is None else LATE * period
    if not isinstance(given, Block):
        if callable(given):
            return Law(_alone(function_of_time("Sum", given)))
        must = "it must be a controller, numbers, a Piecewise, a Table, or a function of the time"
        try:
            with refused(where):
                values = checked_array(given)
        except DescriptionError:
            raise DescriptionError(f"{where}; {must}") from None
        given = constant(np.full(len(model.inputs), float(values)) if values.ndim == 0 else values)
    found = given.expressed(model, late)
    if found is None or given.of_state:
        must = "it must depend on time alone, and be available as an expression"
        raise DescriptionError(f"Sum: a term is {given.described()}; {must}")
    return Law(_alone(found), jumps=given.jumps())


def _alone(of_time: Callable[[Any], Column]) -> Callable[..., tuple[Column, Any]]:
    return lambda t, *_: (of_time(t), [])


def _given(more: tuple[Column, ...], noises: int, drives: bool, accelerates: bool) -> list[Column]:
    """Noise, states of the drives and accelerations, from the arguments of a control law after its memory.

    Empty ones are not among the arguments.
    """
    import casadi as ca

    given = iter(more)
    return [next(given, ca.SX(0, 1)) if there else ca.SX(0, 1) for there in (noises > 0, drives, accelerates)]


def _parts(x: Column, sizes: list[int]) -> list[Column]:
    """Split a column into parts of the given sizes."""
    import casadi as ca

    return ca.vertsplit(x, np.concatenate([[0], np.cumsum(sizes)]).astype(int).tolist())  # type: ignore[no-any-return]


def function_of_time(where: str, function: Any) -> Callable[[Any], Any]:
    """Return a function of the symbolic time that gives expressions. Raise `DescriptionError` if it does not."""
    name = getattr(function, "__name__", type(function).__name__)
    if not takes(function, 0.0):
        must = "it must be a function of the time, or a controller"
        raise DescriptionError(f"{where}: {name} does not take t alone; {must}")

    def at(t: Any) -> Any:
        must = "use CasADi operations in it, or give its values in a Table"
        try:
            found = column(function(t))
        except Exception as error:
            why = " ".join(str(error).split()) or type(error).__name__
            raise DescriptionError(f"{where}: {name} is not an expression of t: {why}; {must}") from error
        for each in found.elements():  # float(t) is NaN and raises no error
            if each.is_constant() and not each.is_regular():
                raise DescriptionError(f"{where}: {name} is not an expression of t: it returns {float(each)}; {must}")
        return found

    return at
