"""`flexarm.jax`: the traced equations as operations of JAX, or its native code called by JAX."""

from collections.abc import Iterator

import flexarm as fa
from benchmarks.peers.gradients.jitted import Scalar, solved
from benchmarks.peers.gradients.task import Rollout, scalar
from benchmarks.peers.peer import Setting, Solution, lines_of

NAME = "flexarm.jax"
PACKAGES = ("jax",)
CHOSEN = {
    "gradient-two-links": (
        ("arrays", "rk4", 1), ("arrays", "tsit5", 2), ("native", "rk4", 1), ("native", "tsit5", 2),
    ),
    "gradient-six-hinges": (("arrays", "rk4", 16), ("native", "rk4", 16), ("native", "dop853", 6)),
}  # fmt: skip
"""Routes, methods, and steps in each interval of the torques: about one for each error that is asked for. No more are
tried, as JAX compiles operations of many stages for minutes."""


def cannot(task: Rollout) -> str:
    """Nothing."""
    return ""


def settings(task: Rollout) -> Iterator[Setting]:
    """Routes, methods with fixed steps."""
    for route, method, finer in CHOSEN.get(task.name, (("native", "rk4", 1),)):
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
