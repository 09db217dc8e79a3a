"""Quantities of an arm, and whole runs, as functions of JAX arrays: `jit`, `vmap`, `grad`, `jvp` and `hessian` work.

This module needs the extra `jax`. The precision is that of JAX: double after
`jax.config.update("jax_enable_x64", True)`, otherwise single.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    from flexarm.errors import FlexarmError

    raise FlexarmError("flexarm.jax needs JAX, which is not installed: pip install 'flexarm[jax]'") from None

from flexarm.arrays import Array
from flexarm.differentiable.namespace import Namespace, operations
from flexarm.differentiable.quantity import Quantity, doubles
from flexarm.differentiable.rollout import METHOD, Rollout
from flexarm.jax.foreign import foreign
from flexarm.model import ModelLike
from flexarm.native.kernel import Kernel

__all__ = ["function", "simulate"]


def _array(value: Any, like: Any = None) -> Any:
    if hasattr(value, "detach"):  # a tensor of PyTorch
        value = jnp.from_dlpack(value.detach())
    return jnp.asarray(value, dtype=float)


XP = Namespace(
    name="JAX",
    functions=operations(jnp, jnp.where, _array),
    array=_array,
    stack=partial(jnp.stack, axis=-1),
    concatenate=partial(jnp.concatenate, axis=-1),
    broadcast=jnp.broadcast_to,
    broadcast_shapes=lambda shapes: jnp.broadcast_shapes(*shapes),
)


def function(model: ModelLike, name: str, route: str = "arrays") -> Callable[..., Any]:
    """Return a quantity of a model as a function of JAX arrays.

    Parameters
    ----------
    model : Model, Arm, str or path
    name : str
        Name of the quantity, such as "forward_dynamics", "mass_matrix" or "tip".
    route : "arrays" or "native"
        "arrays": operations of JAX, for any device and any order of derivative. JAX compiles them, which takes seconds
        for arms with many links and modes. "native": flexarm's native code on the CPU, with its exact Jacobian. First
        derivatives exist, forward and reverse.

    Returns
    -------
    function
        It takes the arguments of the model's method, as `model.arguments(name)` lists them, each (..., n), and
        optionally parameters p (..., k). It returns the value, (..., *shape). Derivatives with respect to coordinates
        are those of the numbers in q, also for quaternions.

    Raises
    ------
    DescriptionError
        If the quantity does not exist, or if an argument has a wrong shape.
    """
    quantity = Quantity.checked("flexarm.jax.function", model, name, route)
    of = _evaluated(quantity, route)

    def value(*arguments: Any, p: Any = None) -> Any:
        return of(quantity.filled(arguments, p, XP))

    value.__name__ = name
    return value


def _evaluated(quantity: Quantity, route: str) -> Callable[[Sequence[Any]], Any]:
    """Return the value of a quantity of arrays of JAX, with p last."""
    if route == "arrays":
        return lambda arrays: quantity.by_arrays(arrays, XP)
    native = _native(quantity)

    def value(arrays: Sequence[Any]) -> Any:
        shape = XP.broadcast_shapes([x.shape[:-1] for x in arrays])
        p = arrays[-1] if arrays[-1].ndim == 1 else _spread(arrays[-1], shape)  # one set, or one for each state
        y = native(*(_spread(x, shape) for x in arrays[:-1]), p)
        return y.reshape((*shape, *quantity.shape))

    return value


def _native(quantity: Quantity) -> Callable[..., Any]:
    """Return the value (..., result) by native code, with a rule for its derivatives.

    Doubles on a CPU go to native code directly, and others through Python.
    """

    def called(kernel: Kernel, evaluate: Callable[..., Array], more: tuple[int, ...], arrays: Sequence[Any]) -> Any:
        kind, shape = arrays[0].dtype, (*arrays[0].shape[:-1], quantity.result, *more)

        def call(*given: Any) -> Any:
            return evaluate(*doubles(given)).astype(kind)

        def through_python(*arrays: Any) -> Any:
            return jax.pure_callback(call, jax.ShapeDtypeStruct(shape, kind), *arrays, vmap_method="broadcast_all")

        def directly(*arrays: Any) -> Any:
            return foreign(kernel, len(arrays))(*arrays[:-1], _constants(kernel, arrays[-1])).reshape(shape)

        if kind != jnp.float64:
            return through_python(*arrays)
        return jax.lax.platform_dependent(*arrays, cpu=directly, default=through_python)

    @jax.custom_jvp
    def slopes(*arrays: Any) -> Any:
        return called(quantity.slopes_kernel, quantity.slopes, (sum(quantity.widths),), arrays)

    @slopes.defjvp
    def second(arrays: Sequence[Any], rates: Sequence[Any]) -> tuple[Any, Any]:
        raise quantity.second()

    @jax.custom_jvp
    def value(*arrays: Any) -> Any:
        return called(quantity.kernel, quantity.natively, (), arrays)

    @value.defjvp
    def slope(arrays: Sequence[Any], rates: Sequence[Any]) -> tuple[Any, Any]:
        J = slopes(*arrays)
        along = jnp.concatenate([_spread(x, J.shape[:-2]) for x in rates], axis=-1)
        return value(*arrays), jnp.einsum("...ij,...j->...i", J, along)

    return value  # type: ignore[no-any-return]


def _spread(x: Any, shape: tuple[int, ...]) -> Any:
    """Return an array (..., n) with these axes in front of the last."""
    return jnp.broadcast_to(x, (*shape, x.shape[-1]))


def _constants(kernel: Kernel, p: Any) -> Any:
    """Return a kernel's constants (..., n) at parameters p (..., k)."""
    if kernel.prologue is None:
        return jnp.asarray(kernel.constants)
    return foreign(kernel.prologue, 1)(p)


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
    route: str = "arrays",
    remember: bool = True,
) -> Run:
    """Return a run by fixed steps of an explicit method, which JAX can differentiate, compile and batch.

    Parameters
    ----------
    model : Model, Arm, str or path
    until : float
        End of the run [s].
    u : (steps, ..., m) array or function, optional
        Inputs that are held during each step, or a function of t, q and qd in operations of JAX, which is evaluated at
        each stage of the method. Default: no force.
    q0, qd0 : (..., n), optional
        Start; default at rest. Axes in front of the last mean several runs.
    steps : int
        Number of steps. Methods with fixed steps do not control their error: compare with twice as many steps.
    p : (..., k), optional
        Parameters in place of the model's.
    method : str
        Name of an explicit method, such as "rk4", "tsit5" or "dop853".
    route : "arrays" or "native"
        See `function`.
    remember : bool
        False: reverse gradients compute the stages of each step again, which needs less memory.

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

    shape, m = x.shape[:-1], len(plan.rate.model.inputs)
    t = jnp.arange(plan.steps + 1) * plan.h
    law = u if callable(u) else None
    held = plan.inputs(None if law else u, shape, XP)

    def step(x: Any, at: tuple[Any, Any]) -> tuple[Any, tuple[Any, Any]]:
        t, given = at
        q, qd = plan.split(x)[:2]
        first = given if law is None else jnp.broadcast_to(law(t, q, qd), (*shape, m))
        return plan.after(t, x, given, p, law, of), (x, first)

    last, (states, inputs) = jax.lax.scan(step if remember else jax.checkpoint(step), x, (t[:-1], held))
    return Run(t, *plan.split(jnp.concatenate([states, last[None]])), inputs)
