"""diffrax: equations of motion that are written by hand (`task.rates`), integrated interval by interval.

Within an interval the torques are constant, so that no step crosses a jump. Adaptive steps, over all intervals at once,
took longer for the same error. Reverse derivatives are exact for the steps, with checkpoints (diffrax' own choice) or
with everything stored.
"""

from collections.abc import Iterator
from itertools import product

from benchmarks.peers.gradients.jitted import Scalar, solved
from benchmarks.peers.gradients.task import Rods, Rollout, rates, scalar, tip
from benchmarks.peers.peer import Setting, Solution, lines_of

NAME = "diffrax"
PACKAGES = ("jax", "diffrax")
METHODS = ("Tsit5", "Dopri8")
ADJOINTS = {"checkpoints": "RecursiveCheckpointAdjoint", "stored": "DirectAdjoint"}
FINER = (1, 2, 4, 8, 16)
"""Steps of one length in each interval of the torques."""


def cannot(task: Rollout) -> str:
    """Nothing."""
    return ""


def settings(task: Rollout) -> Iterator[Setting]:
    """Methods, adjoints, steps."""
    for method, adjoint, finer in product(METHODS, ADJOINTS, FINER):
        series = f"{method}, {adjoint}"
        yield Setting(f"{series}, {finer * len(task.torques)} steps", series, (method, ADJOINTS[adjoint], finer))


def solve(task: Rollout, setting: Setting) -> Solution:
    """Compile, differentiate."""
    lines = lines_of(Rods.couplings.fget, rates, tip, end)  # type: ignore[attr-defined]
    return solved(task, NAME, setting, lambda: end(task, *setting.numbers), lines)


def end(task: Rollout, method: str, adjoint: str, finer: int) -> Scalar:
    """Return the scalar as a function of torques and start."""
    import diffrax
    import jax
    import jax.numpy as jnp

    rods, n = task.rods, len(task.q0)
    term = diffrax.ODETerm(lambda t, x, u: rates(jnp, rods, x, u))
    solver, memory = getattr(diffrax, method)(), getattr(diffrax, adjoint)()

    def interval(x, u):  # type: ignore[no-untyped-def]
        h = task.interval
        found = diffrax.diffeqsolve(term, solver, 0.0, h, h / finer, x, u, adjoint=memory, max_steps=finer)
        return found.ys[-1], None

    def value(u, q0, qd0):  # type: ignore[no-untyped-def]
        x, _ = jax.lax.scan(interval, jnp.concatenate([q0, qd0]), u)
        return scalar(jnp, tip(jnp, rods, x[:n]), x[n:])

    return value
