"""Quantities of an arm, and whole runs, as functions of PyTorch tensors, with their gradients.

This module needs the extra `torch`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

try:
    import torch
except ImportError:
    from flexarm.errors import FlexarmError

    raise FlexarmError("flexarm.torch needs PyTorch, which is not installed: pip install 'flexarm[torch]'") from None

from flexarm.differentiable.namespace import Namespace, operations
from flexarm.differentiable.quantity import Quantity, doubles
from flexarm.differentiable.rollout import METHOD, Rollout
from flexarm.model import ModelLike

__all__ = ["function", "simulate"]


def _array(value: Any, like: Any = None) -> Any:
    kind, device = torch.float64, None
    if isinstance(like, torch.Tensor):
        kind, device = (like.dtype if like.is_floating_point() else kind), like.device
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        value = np.array(value)  # a tensor cannot share the memory of an array that is read-only
    elif hasattr(value, "__dlpack__") and not isinstance(value, torch.Tensor | np.ndarray):
        value = torch.from_dlpack(value)  # an array of another library
    return torch.as_tensor(value, dtype=kind, device=device)


XP = Namespace(
    name="PyTorch",
    functions=operations(torch, torch.where, _array),
    array=_array,
    stack=partial(torch.stack, dim=-1),
    concatenate=partial(torch.cat, dim=-1),
    broadcast=torch.broadcast_to,
    broadcast_shapes=lambda shapes: tuple(torch.broadcast_shapes(*shapes)),
)


def function(model: ModelLike, name: str, route: str = "arrays") -> Callable[..., Any]:
    """Return a quantity of a model as a function of PyTorch tensors.

    Parameters
    ----------
    model : Model, Arm, str or path
    name : str
        Name of the quantity, such as "forward_dynamics", "mass_matrix" or "tip".
    route : "arrays" or "native"
        "arrays": operations of PyTorch, for any device and any order of derivative, one call for each operation.
        "native": flexarm's native code on the CPU, with its exact Jacobian. First derivatives exist.

    Returns
    -------
    function
        It takes the arguments of the model's method, as `model.arguments(name)` lists them, each (..., n), and
        optionally parameters p (..., k). It returns the value, (..., *shape), in the precision of the first tensor, or
        in double precision without one. Derivatives with respect to coordinates are those of the numbers in q, also
        for quaternions.

    Raises
    ------
    DescriptionError
        If the quantity does not exist, or if an argument has a wrong shape.
    """
    quantity = Quantity.checked("flexarm.torch.function", model, name, route)
    of = _evaluated(quantity, route)

    def value(*arguments: Any, p: Any = None) -> Any:
        return of(quantity.filled(arguments, p, XP))

    value.__name__ = name
    return value


def _evaluated(quantity: Quantity, route: str) -> Callable[[Sequence[Any]], Any]:
    """Return the value of a quantity of tensors, with p last."""
    if route == "arrays":
        return lambda arrays: quantity.by_arrays(arrays, XP)

    def value(arrays: Sequence[Any]) -> Any:
        shape = XP.broadcast_shapes([x.shape[:-1] for x in arrays])
        y = Native.apply(quantity, *(torch.broadcast_to(x, (*shape, x.shape[-1])) for x in arrays))
        return y.reshape((*shape, *quantity.shape))

    return value


class Native(torch.autograd.Function):
    """The value (..., result) of a quantity by native code, with its derivatives."""

    @staticmethod
    def forward(quantity: Quantity, *arrays: Any) -> Any:
        """Return the value."""
        return _called(quantity.natively, arrays)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep the arguments for the derivatives."""
        ctx.quantity, *arrays = inputs
        ctx.save_for_backward(*arrays)
        ctx.save_for_forward(*arrays)

    @staticmethod
    def backward(ctx: Any, weights: Any) -> Any:
        """Return the gradients with respect to the arguments."""
        J = Slopes.apply(ctx.quantity, *ctx.saved_tensors)
        whole = torch.einsum("...ij,...i->...j", J, weights)
        return None, *torch.split(whole, list(ctx.quantity.widths), dim=-1)

    @staticmethod
    def jvp(ctx: Any, _: Any, *rates: Any) -> Any:
        """Return the derivative along rates of the arguments."""
        arrays = ctx.saved_tensors
        given = [torch.zeros_like(x) if rate is None else rate for x, rate in zip(arrays, rates, strict=True)]
        return torch.einsum("...ij,...j->...i", Slopes.apply(ctx.quantity, *arrays), torch.cat(given, dim=-1))

    @staticmethod
    def vmap(info: Any, in_dims: Any, quantity: Quantity, *arrays: Any) -> Any:
        """Return the value of a batch."""
        return Native.apply(quantity, *_in_front(info, in_dims, arrays)), 0


class Slopes(torch.autograd.Function):
    """The Jacobian (..., result, arguments) of a quantity by native code. It has no derivative."""

    @staticmethod
    def forward(quantity: Quantity, *arrays: Any) -> Any:
        """Return the Jacobian."""
        return _called(quantity.slopes, arrays)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep the quantity for a message."""
        ctx.quantity = inputs[0]

    @staticmethod
    def backward(ctx: Any, weights: Any) -> Any:
        """Raise an error."""
        raise ctx.quantity.second()

    @staticmethod
    def jvp(ctx: Any, *rates: Any) -> Any:
        """Raise an error."""
        raise ctx.quantity.second()

    @staticmethod
    def vmap(info: Any, in_dims: Any, quantity: Quantity, *arrays: Any) -> Any:
        """Return the Jacobians of a batch."""
        return Slopes.apply(quantity, *_in_front(info, in_dims, arrays)), 0


def _in_front(info: Any, in_dims: Any, arrays: Sequence[Any]) -> list[Any]:
    """Return the arguments of a batch, with its axis in front."""
    return [
        x.expand(info.batch_size, *x.shape) if at is None else x.movedim(at, 0)
        for x, at in zip(arrays, in_dims[1:], strict=True)
    ]


def _called(evaluate: Callable[..., Any], tensors: Sequence[Any]) -> Any:
    found = evaluate(*doubles([x.detach().cpu().numpy() for x in tensors]))
    return torch.as_tensor(found, dtype=tensors[0].dtype, device=tensors[0].device)


class Run(NamedTuple):
    """Result of `simulate`: times, coordinates, rates, states of drives, inputs."""

    t: Any
    q: Any
    qd: Any
    s: Any
    u: Any


def simulate(
    model: ModelLike,
    until: float,
    u: Any = None,
    q0: Any = None,
    qd0: Any = None,
    *,
    steps: int,
    p: Any = None,
    method: str = METHOD,
    route: str = "native",
) -> Run:
    """Return a run by fixed steps of an explicit method, which PyTorch can differentiate.

    Parameters
    ----------
    model : Model, Arm, str or path
    until : float
        End of the run [s].
    u : (steps, ..., m) tensor or function, optional
        Inputs that are held during each step, or a function of t, q and qd, such as a neural network, which is
        evaluated at each stage of the method. Default: no force.
    q0, qd0 : (..., n), optional
        Start; default at rest. Axes in front of the last mean several runs.
    steps : int
        Number of steps. Methods with fixed steps do not control their error: compare with twice as many steps.
    p : (..., k), optional
        Parameters in place of the model's.
    method : str
        Name of an explicit method, such as "rk4", "tsit5" or "dop853".
    route : "native" or "arrays"
        See `function`.

    Returns
    -------
    Run
        A named tuple: times t (steps + 1,) [s], coordinates q, rates qd and states of drives s, each
        (steps + 1, ..., n), and inputs u (steps, ..., m) at the beginning of each step.

    Raises
    ------
    DescriptionError
        If an argument does not fit, or for an arm with closures, sharp contacts or exogenous inputs.
    """
    plan = Rollout.checked(model, until, steps, method, route)
    x, p = plan.begin(q0, qd0, p, XP)
    evaluate = _evaluated(plan.rate, route)

    def of(*arguments: Any, p: Any) -> Any:
        return evaluate([*arguments, p])

    shape, m = tuple(x.shape[:-1]), len(plan.rate.model.inputs)
    t = torch.arange(plan.steps + 1, dtype=x.dtype, device=x.device) * plan.h
    law = u if callable(u) else None
    held = plan.inputs(None if law else u, shape, XP, x)
    states, inputs = [x], []
    for i in range(plan.steps):
        q, qd = plan.split(x)[:2]
        inputs.append(held[i] if law is None else torch.broadcast_to(law(t[i], q, qd), (*shape, m)))
        x = plan.after(t[i], x, held[i], p, law, of)
        states.append(x)
    return Run(t, *plan.split(torch.stack(states)), torch.stack(inputs))
