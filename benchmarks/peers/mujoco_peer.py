"""MuJoCo: the arm as a file of hinges with springs (`flexarm export --mjcf`), steps in C by `mujoco.rollout`."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.peers.peer import Setting, Solution, lines_of, steps, timed
from benchmarks.peers.tasks import GAINS, PERIOD, Array, Derivation, Task
from flexarm.exports.mjcf import written

NAME = "MuJoCo"
PACKAGES = ("mujoco",)
INTEGRATORS = ("RK4", "implicitfast")
"""Euler's differs from implicitfast where there is velocity-dependent force alone, and gained nothing."""
SEGMENTS = (4, 8, 16)


def cannot(task: Task | Derivation) -> str:
    """Symbols, and rotors that turn with their carrier."""
    if isinstance(task, Derivation):
        return "no equations in symbols"
    if any(link.joint.moves and link.joint.rotor == "absolute" for link in task.arm.links[1:]):
        return "rotors whose energy has the carrier's rate too: armature is that of the joint alone"
    return ""


def settings(task: Task) -> Iterator[Setting]:
    """Its three integrators, steps, and segments of what bends."""
    for segments in SEGMENTS if task.continuum else (1,):
        for integrator in INTEGRATORS:
            least = round(task.until / task.intervals / PERIOD) if task.feedback else 10 if task.many else 1
            for count in steps(20 if task.many else task.intervals, least, 8):
                each = f"{segments} hinges a link, " if task.continuum else ""
                series = f"{segments} {integrator}"
                yield Setting(f"{each}{integrator}, {count} steps", series, (segments, integrator, count))


def solve(task: Task, setting: Setting) -> Solution:
    """Build from the file, roll out."""
    segments, integrator, count = setting.numbers
    equivalent = task.equivalent(segments)
    text = written(equivalent)
    run = held if task.feedback else many if task.many else rolled
    start = places(task, equivalent)
    return timed(
        task,
        lambda: build(text, integrator, task.until / count),
        lambda system: run(task, system, start, count),
        lines_of(build, run),
    )


def build(text: str, integrator: str, step: float) -> tuple[Any, Any]:
    """The model and its data."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    model.opt.timestep = step
    return model, mujoco.MjData(model)


def places(task: Task, equivalent: Any) -> tuple[list[str], Array, Array]:
    """Names of coordinates, with where they begin: one row, or one a run."""
    names = list(equivalent.arm.coordinates)
    if task.many:
        return names, task.q0, task.qd0
    q = equivalent.start(task.q0)
    given = dict(zip(task.arm.velocities, task.qd0, strict=True))
    return names, q, np.array([given.get(name, 0.0) for name in equivalent.arm.velocities])


def state(system: tuple[Any, Any], start: tuple[list[str], Array, Array]) -> Array:
    """MuJoCo's own state vector; its coordinates stand in another order."""
    import mujoco

    model, data = system
    names, q, qd = start
    free = 7 if names[0] == "base.x" else 0
    data.qpos[:free] = q[:free]
    for name, value in zip(names[free:], q[free:], strict=True):
        data.joint(name).qpos[0] = value
    for name, value in zip(names[free:], qd[max(free - 1, 0) :], strict=True):
        data.joint(name).qvel[0] = value
    found = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, found, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    return found


def rolled(task: Task, system: tuple[Any, Any], start: tuple[list[str], Array, Array], count: int) -> Array | None:
    """One run under torques that are known beforehand, all of it in C."""
    import mujoco
    from mujoco import rollout

    model, data = system
    h = task.until / count
    control = np.array([task.torque((i + 0.5) * h) for i in range(count)]) if len(task.jumps) else None
    first = state(system, start)
    states, sensed = rollout.rollout(
        model, data, first[None], control if control is None else control[None], nstep=count
    )
    mujoco.mj_setState(model, data, states[0, -1], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    mujoco.mj_kinematics(model, data)
    return np.vstack([sensed[0, :: count // task.intervals], data.site("tip").xpos])  # sensors show a step's beginning


def held(task: Task, system: tuple[Any, Any], start: tuple[list[str], Array, Array], count: int) -> Array | None:
    """The sampled law: a step or several of C between two calls of Python."""
    import mujoco

    model, data = system
    state(system, start)
    samples = round(task.until / PERIOD)
    each, every = count // samples, samples // task.intervals
    site = data.site("tip")
    tip = []
    for k in range(samples):
        if k % every == 0:
            mujoco.mj_forward(model, data)
            tip.append(site.xpos.copy())
        data.ctrl[:] = -GAINS[0] * data.qpos - GAINS[1] * data.qvel
        mujoco.mj_step(model, data, each)
    mujoco.mj_forward(model, data)
    return np.array([*tip, site.xpos])


def many(task: Task, system: tuple[Any, Any], start: tuple[list[str], Array, Array], count: int) -> Array | None:
    """A thousand runs on all cores."""
    import mujoco
    from mujoco import rollout

    model, _ = system
    names, q, qd = start
    threads = [mujoco.MjData(model) for _ in range(os.cpu_count() or 1)]
    first = np.array([state((model, threads[0]), (names, a, b)) for a, b in zip(q, qd, strict=True)])
    states, _ = rollout.rollout(model, threads, first, nstep=count)
    last, data = states[:, -1], threads[0]
    tip = []
    for row in last:
        mujoco.mj_setState(model, data, row, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        mujoco.mj_kinematics(model, data)
        tip.append(data.site("tip").xpos.copy())
    return np.array(tip)
