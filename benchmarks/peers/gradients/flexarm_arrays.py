"""`flexarm.jax`: the traced equations as operations of JAX, or its native code called by JAX."""

from collections.abc import Iterator
from itertools import product

import flexarm as fa
from benchmarks.peers.gradients.jitted import Scalar, solved
from benchmarks.peers.gradients.task import Rollout, scalar
from benchmarks.peers.peer import Setting, Solution, lines_of

NAME = "flexarm.jax"
PACKAGES = ("jax",)
ROUTES = ("arrays", "native")
CHOSEN: dict[str, tuple[tuple[str, int], ...]] = {
    "gradient-two-links": (("rk4", 1), ("tsit5", 2)),
    "gradient-six-hinges": (("rk4", 16), ("dop853", 6)),
}
"""Methods, and their steps in each interval of the torques, one for each error that is asked for: JAX compiles operations
of many stages for minutes. The errors are those of `fa.gradient` with the same steps."""


def cannot(task: Rollout) -> str:
    """Nothing."""
    return ""


def settings(task: Rollout) -> Iterator[Setting]:
    """Routes, methods with fixed steps."""
    for route, (method, finer) in product(ROUTES, CHOSEN.get(task.name, (("rk4", 1),))):
        name = f"{route}, {method}, {finer * len(task.torques)} steps"
        yield Setting(name, name, (route, method, finer))


def solve(task: Rollout, setting: Setting) -> Solution:
    """Trace, compile, differentiate."""
    return solved(task, NAME, setting, lambda: end(task, *setting.numbers), lines_of(end))


def end(task: Rollout, route: str, method: str, finer: int) -> Scalar:
    """Return the scalar as a function of torques and start."""
    import jax.numpy as jnp

    import flexarm.jax

    model = fa.Model(task.rods.arm)
    tip = flexarm.jax.function(model, "tip")

    def value(u, q0, qd0):  # type: ignore[no-untyped-def]
        inputs = jnp.repeat(u, finer, axis=0)
        run = flexarm.jax.simulate(model, task.until, inputs, q0, qd0, steps=len(inputs), method=method, route=route)
        return scalar(jnp, tip(run.q[-1])[:2, 3], run.qd[-1])

    return value
