"""Periods a second of arms that are to learn: one, a thousand, with readings and rewards; MuJoCo's chains beside."""

import statistics
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.report import Table, spread, time

PERIOD, MANY, SEGMENTS, RTOL = 0.05, 1024, 3, 1e-4
STEP = 2e-3
"""MuJoCo's default [s], its documentation's for robots."""
LONGEST = 200
"""Periods of one arm between two beginnings."""
ARMS = ("subudhi-morris", "canadarm")


def measure(quick: bool) -> list[Table]:
    """A table an arm."""
    return [_table(name, quick) for name in ARMS]


def _table(name: str, quick: bool) -> Table:
    columns = ("what", "time per period", "periods per second", "steps in a period")
    table = Table(f"Environments: {name}, {PERIOD:g} s a period", columns)
    calls = _ours(name) | _theirs(name)
    samples: dict[str, list[float]] = {what: [] for what in calls}
    for _ in range(3 if quick else 9):
        for what, (count, call, begin, _) in calls.items():
            repeats = max(1, LONGEST // count)
            begin()
            call()
            began = process_time()
            for _ in range(repeats):
                call()
            samples[what].append((process_time() - began) / repeats / count)
    for what, (*_, steps) in calls.items():
        rate = 1.0 / statistics.median(samples[what])
        table.add(what, spread(samples[what]), f"{rate:.3g}", steps)
    arm = fa.load(name)
    table.notes.append(
        f"Times are processor time in one thread, including the call from Python. The arm has {len(arm.coordinates)} "
        f"coordinates, and the chain of MuJoCo has as many hinges. A link of the chain consists of {SEGMENTS} rigid "
        "segments. The stiffness of the springs between them is EI divided by the length of a segment. Motors act at "
        f"the joints, and there are no contacts. The steps of {STEP:g} s by implicitfast are those that MuJoCo's "
        "documentation recommends. The chain has other frequencies than the beams. `rollout` returns the states of "
        "all steps, and flexarm only the last one."
    )
    return table


Call = tuple[int, Callable[[], Any], Callable[[], Any], str]
"""Of how many arms, a period of them, how they begin anew, and in which steps."""


def _ours(name: str) -> dict[str, Call]:
    model = fa.Model(fa.load(name))
    rest, m = np.array(model.arm.rest), len(model.inputs)
    u = 1e-2 * np.random.default_rng(1).normal(size=(MANY, m))
    one = fa.Stepper(model, PERIOD, rtol=RTOL)
    many = fa.Stepper(model, PERIOD, np.tile(rest, (MANY, 1)), rtol=RTOL)
    steps = f"{one.method}, rtol {RTOL:g}"
    found: dict[str, Call] = {
        "one arm, `Stepper`": (1, lambda: one.step(u[0]), one.reset, steps),
        f"{MANY} arms, `Stepper`": (MANY, lambda: many.step(u), many.reset, steps),
    }
    try:
        from flexarm.gymnasium import ArmEnv, ArmVectorEnv
    except fa.FlexarmError:
        return found
    env, envs = ArmEnv("Reach", name, period=PERIOD), ArmVectorEnv(MANY, "Reach", name, period=PERIOD)
    env.reset(seed=1)
    envs.reset(seed=1)
    a = np.zeros((MANY, m))

    def played() -> None:
        if env.step(a[0])[3]:
            env.reset()

    return found | {
        "one environment, `ArmEnv`": (1, played, env.reset, steps),
        f"{MANY} environments, `ArmVectorEnv`": (MANY, lambda: envs.step(a), envs.reset, steps),
    }


def chain(arm: fa.Arm) -> str:
    """A planar arm of uniform beams as MJCF: rigid rods with hinges, those within a link with springs."""
    opened, closed, motors, before = "", "", "", 0.0
    for link in arm.links:
        body: Any = link.body
        l, mass, k = body.length / SEGMENTS, body.total_mass / SEGMENTS, body.EI * SEGMENTS / body.length
        for i in range(SEGMENTS):
            where = f"{before:.9g} 0 0"
            spring = f' stiffness="{k:.9g}"' if i else ""
            opened += (
                f'<body pos="{where}"><joint name="{link.name}{i}" type="hinge" axis="0 0 1"{spring}/>'
                f'<inertial pos="{l / 2:.9g} 0 0" mass="{mass:.9g}" '
                f'diaginertia="{1e-6 * mass:.9g} {mass * l**2 / 12:.9g} {mass * l**2 / 12:.9g}"/>'
            )
            closed, before = closed + "</body>", l
        motors += f'<motor joint="{link.name}0"/>'
    option = f'<option timestep="{STEP:g}" integrator="implicitfast" gravity="0 0 0"><flag contact="disable"/></option>'
    return f"<mujoco>{option}<worldbody>{opened}{closed}</worldbody><actuator>{motors}</actuator></mujoco>"


def _theirs(name: str) -> dict[str, Call]:
    """MuJoCo's, where it is installed."""
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        return {}
    model: Any = mujoco.MjModel.from_xml_string(chain(fa.load(name)))
    data: Any = mujoco.MjData(model)
    count = round(PERIOD / STEP)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.zeros((MANY, mujoco.mj_stateSize(model, kind)))
    mujoco.mj_getState(model, data, start[0], kind)
    start[:] = start[0]
    control = np.repeat(1e-2 * np.random.default_rng(1).normal(size=(MANY, 1, model.nu)), count, axis=1)
    states = np.zeros((MANY, count, start.shape[1]))
    read = np.zeros((MANY, count, 0))
    given: dict[str, Any] = {"skip_checks": True, "nstep": count, "state": states, "sensordata": read}
    steps = f"implicitfast, {count} of {time(STEP)}"

    def one() -> None:
        data.ctrl[:] = control[0, 0]
        mujoco.mj_step(model, data, nstep=count)

    def many() -> None:
        rollout.rollout([model] * MANY, [data], start, control, **given)

    return {
        f"one chain, MuJoCo {mujoco.__version__}": (1, one, lambda: mujoco.mj_resetData(model, data), steps),
        f"{MANY} chains, `mujoco.rollout`": (MANY, many, lambda: None, steps),
    }
