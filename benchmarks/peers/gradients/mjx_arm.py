"""MJX: the arm by flexarm's export to MuJoCo, `mjx.step` in a loop of JAX, in double precision on the CPU.

What contacts, constraints and sensors would need is switched off, as there are none. JAX compiles a program of a minute
and more for each number of steps, so that few are tried: those that the error of RK4 asks for. The step of order 1,
Euler, would need thousands of steps for the first error that is asked for.
"""

from collections.abc import Iterator
from importlib.util import find_spec

from benchmarks.peers.gradients.jitted import Scalar, solved
from benchmarks.peers.gradients.task import Rollout, scalar
from benchmarks.peers.mujoco_peer import OFF, modelled
from benchmarks.peers.peer import Setting, Solution, lines_of
from flexarm.exports.lumped import lumped
from flexarm.exports.mjcf import written

NAME = "MJX"
PACKAGES = ("jax", "mujoco")
FINER = {"gradient-two-links": (1, 12), "gradient-six-hinges": (16,)}
"""Steps in each interval of the torques. For 1e-8 six hinges need more than 10 000 steps, a minute a gradient."""


def cannot(task: Rollout) -> str:
    """Nothing, where it is installed beside MuJoCo."""
    return "" if find_spec("mujoco.mjx") else "mujoco-mjx is not installed: make contest does"


def settings(task: Rollout) -> Iterator[Setting]:
    """Steps of RK4."""
    for finer in FINER.get(task.name, (1,)):
        name = f"RK4, {finer * len(task.torques)} steps"
        yield Setting(name, name, (finer,))


def solve(task: Rollout, setting: Setting) -> Solution:
    """Load the file, compile, differentiate."""
    return solved(task, NAME, setting, lambda: end(task, *setting.numbers), lines_of(modelled, end))


def end(task: Rollout, finer: int) -> Scalar:
    """Return the scalar as a function of torques and start."""
    import jax
    import jax.numpy as jnp
    from mujoco import mjx

    model = mjx.put_model(modelled(file(task), "RK4", task.interval / finer, (*OFF, "SENSOR")))
    start = mjx.make_data(model)

    def step(data, torques):  # type: ignore[no-untyped-def]
        return mjx.step(model, data.replace(ctrl=torques)), None

    def value(u, q0, qd0):  # type: ignore[no-untyped-def]
        data, _ = jax.lax.scan(step, start.replace(qpos=q0, qvel=qd0), jnp.repeat(u, finer, axis=0))
        return scalar(jnp, mjx.kinematics(model, data).site_xpos[0], data.qvel)

    return value


def file(task: Rollout) -> str:
    """Return the arm as MJCF."""
    return written(lumped(task.rods.arm, 1))
