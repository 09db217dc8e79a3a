"""Runs by fixed steps of an explicit method, in any library of arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from flexarm.checks import POSITIVE, Fault, checked_number, checked_whole, choices, refused, shown
from flexarm.differentiable.namespace import Namespace
from flexarm.differentiable.quantity import Quantity
from flexarm.errors import DescriptionError
from flexarm.simulation.butcher import METHODS, ButcherTableau

METHOD = "rk4"


@final
@dataclass(frozen=True, eq=False)
class Rollout:
    """Runs of an arm: `steps` steps of the length h.

    Attributes
    ----------
    rate : Quantity
        The quantity "state_rate".
    tableau : ButcherTableau
    steps : int
    h : float
        Length of a step [s].
    """

    rate: Quantity
    tableau: ButcherTableau
    steps: int
    h: float

    @classmethod
    def checked(cls, model: Any, until: Any, steps: Any, method: Any, route: str) -> "Rollout":
        """Return the runs of a model. Raises `DescriptionError`."""
        rate = Quantity.checked("simulate", model, "state_rate", route)
        with refused("simulate"):
            end = checked_number(until, "s", POSITIVE, "until")
            count = checked_whole(steps, 1, "steps")
            if not isinstance(method, str) or method not in METHODS:
                raise Fault("method", f"is {shown(method)}; it must be {choices(*METHODS)}")
        if rate.model.arm.closures:
            raise DescriptionError("simulate: closures are not supported in differentiable runs; use flexarm.simulate")
        if rate.model.arm.sharp or rate.model.exogenous:
            what = "sharp contacts" if rate.model.arm.sharp else f"the exogenous input {rate.model.exogenous[0]}"
            raise DescriptionError(f"simulate: {what} are not supported in differentiable runs; use flexarm.simulate")
        return cls(rate, METHODS[method], count, end / count)

    def begin(self, q0: Any, qd0: Any, p: Any, xp: Namespace) -> tuple[Any, Any]:
        """Return the states at the start, (..., n), and the parameters, as arrays of the library."""
        model = self.rate.model
        q0 = model.arm.rest if q0 is None else q0
        qd0 = [0.0] * model.nv if qd0 is None else qd0
        own = [0.0] * len(model.states)
        p = model.p if p is None else p
        like = next((x for x in (q0, qd0, p) if hasattr(x, "device")), None)
        parts = [xp.array(x, like) for x in (q0, qd0, own)]
        for name, part, width in zip(("q0", "qd0"), parts, (model.nq, model.nv), strict=False):
            if part.shape[-1:] != (width,):
                raise DescriptionError(f"simulate: {name} has shape {tuple(part.shape)}; its last axis must be {width}")
        p = xp.array(p, like)
        shape = xp.broadcast_shapes([tuple(part.shape[:-1]) for part in (*parts, p)])
        return xp.concatenate([xp.broadcast(part, (*shape, part.shape[-1])) for part in parts]), p

    def split(self, x: Any) -> tuple[Any, Any, Any]:
        """Return q, qd and the states of drives of states (..., n)."""
        nq, nv = self.rate.model.nq, self.rate.model.nv
        return x[..., :nq], x[..., nq : nq + nv], x[..., nq + nv :]

    def inputs(self, u: Any, shape: tuple[int, ...], xp: Namespace, like: Any = None) -> Any:
        """Return the inputs held during each step, (steps, ..., m). Raises `DescriptionError`."""
        m = len(self.rate.model.inputs)
        whole = (self.steps, *shape, m)
        if u is None:
            return xp.broadcast(xp.array(0.0, like), whole)
        given = xp.array(u, like)
        if given.ndim < 2 or given.shape[0] != self.steps or given.shape[-1] != m:
            must = f"it must be ({self.steps}, ..., {m}): a row for each step"
            raise DescriptionError(f"simulate: u has shape {tuple(given.shape)}; {must}")
        between = (1,) * (len(whole) - given.ndim)
        return xp.broadcast(given.reshape((self.steps, *between, *given.shape[1:])), whole)

    def after(self, t: Any, x: Any, u: Any, p: Any, law: Callable[..., Any] | None, of: Callable[..., Any]) -> Any:
        """Return the states after a step from t, under inputs u that are held, or under a law of t, q and qd.

        `of` evaluates the rate.
        """
        own = bool(self.rate.model.states)

        def rate(at: Any, state: Any) -> Any:
            q, qd, s = self.split(state)
            acting = u if law is None else law(at, q, qd)
            return of(q, qd, *([s] if own else []), acting, p=p)[..., : x.shape[-1]]

        return self.tableau.step(rate, t, x, self.h)[0]
