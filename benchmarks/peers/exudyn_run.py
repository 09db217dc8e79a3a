"""An assembled system of Exudyn, and its solvers: from jump to jump of the torques, under a sampled law, many times.

Nothing is written to files; one thread; the variant without range checks.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.exudyn_models import exudyn
from benchmarks.peers.tasks import GAINS, PERIOD, Array, Task


@dataclass
class Parts:
    """What a run needs.

    Attributes
    ----------
    container, system : SystemContainer, MainSystem
    solid : int
        The tree, where it is one.
    tip : int
        The sensor.
    loads : list of (input, load, parameter, unit)
        The load's parameter is the unit times the input of that number.
    kept : list
        Functions that the system calls.
    """

    container: Any
    system: Any
    solid: Any
    tip: Any
    loads: list[tuple[int, Any, str, Any]]
    kept: list[Any] = field(default_factory=list)


def beams(task: Task) -> list[tuple[Any, float, float]]:
    """Links that move, each with mass and inertia about z of what rides on its end: fixed links, the payload."""
    found: list[tuple[Any, float, float]] = []
    for link in task.arm.links:
        if link.joint.moves:
            found.append((link, 0.0, 0.0))
        else:
            found[-1] = (found[-1][0], *(a + b for a, b in zip(found[-1][1:], _rider(link.body), strict=True)))
    if task.arm.payload is not None:
        found[-1] = (found[-1][0], *(a + b for a, b in zip(found[-1][1:], _rider(task.arm.payload), strict=True)))
    return found


def _rider(body: Any) -> tuple[float, float]:
    return body.mass, float(np.ravel(body.inertia)[-1])


def options(task: Task, method: str, linear: str, rtol: float, radius: float) -> Any:
    """Steps of one length, Newton's method modified; rtol of the residual, and in shares of the largest torque."""
    exu = exudyn()
    s = exu.SimulationSettings()
    s.solution.file.write = False
    s.solution.sensors.writePeriod = task.until / task.intervals
    s.solution.sensors.append = True
    s.linearSolver.solverType = getattr(exu.LinearSolverType, linear)
    time = s.timeIntegration
    time.solverType = getattr(exu.DynamicSolverType, method)
    time.adaptiveStep = time.automaticStepSize = False
    time.explicit.computeEndOfStepAccelerations = False
    time.generalizedAlpha.spectralRadius = radius
    time.newton.useModifiedNewton = True
    time.newton.relativeTolerance = rtol
    time.newton.absoluteTolerance = rtol * np.abs(task.torques).max(initial=1.0)
    return s


def stretches(task: Task) -> Iterator[tuple[float, float, Array]]:
    """From jump to jump: beginning, end, and the torques in between."""
    for a, b in pairwise([0.0, *(float(t) for t in task.jumps if 0.0 < t < task.until), task.until]):
        yield a, b, task.torque((a + b) / 2)


def run(task: Task, parts: Parts, s: Any, count: int) -> Array | None:
    """The tip at the times of comparison; None where Newton gave up. What a stretch ends with, the next begins with."""
    exu, time = exudyn(), s.timeIntegration
    for a, b, torques in stretches(task):
        for i, load, parameter, unit in parts.loads:
            parts.system.SetLoadParameter(load, parameter, unit * torques[i])
        time.startTime, time.endTime, time.numberOfSteps = a, b, round(count * (b - a) / task.until)
        try:
            parts.system.SolveDynamic(s, updateInitialValues=True, storeSolver=False, showCausingItems=False)
        except exu.SolverError:
            return None
    found = np.array(parts.system.GetSensorStoredData(parts.tip))
    rows = np.searchsorted(found[:, 0], task.times - 1e-9)
    return found[rows, 1:] if rows[-1] < len(found) else None


def held(task: Task, parts: Parts, s: Any, count: int) -> Array | None:
    """The sampled law: a function of Python before each step, or each second one, and so on."""
    data, done, every = parts.system.systemData, iter(range(count)), round(PERIOD * count / task.until)

    def law(system: Any, t: float) -> bool:
        if next(done) % every == 0:
            u = -GAINS[0] * data.GetODE2Coordinates() - GAINS[1] * data.GetODE2Coordinates_t()
            system.SetObjectParameter(parts.solid, "jointForceVector", u)
        return True

    parts.system.SetPreStepUserFunction(law)
    return run(task, parts, s, count)


def several(task: Task, parts: Parts, s: Any, count: int) -> Array:
    """Many runs, a share of them on each core by Exudyn's own processing; a run alone holds Python's lock."""
    from exudyn.processing import ProcessParameterList

    cores = os.cpu_count() or 1
    s.timeIntegration.endTime, s.timeIntegration.numberOfSteps, s.solution.sensors.active = task.until, count, False
    SHARED[:] = [task, parts, s]
    shares = [{"runs": runs} for runs in np.array_split(np.arange(len(task.q0)), cores)]
    return np.vstack(ProcessParameterList(share, shares, useMultiProcessing=True, numberOfThreads=cores))


SHARED: list[Any] = []
"""Task, parts and options of the processes that are forked from this one."""


def share(parameters: dict[str, Any]) -> Array:
    """The tip at the end of some of the runs, which differ in where they begin."""
    task, parts, s = SHARED
    data, initial = parts.system.systemData, exudyn().ConfigurationType.Initial
    tip = []
    for i in parameters["runs"]:
        data.SetODE2Coordinates(task.q0[i], initial)
        data.SetODE2Coordinates_t(task.qd0[i], initial)
        parts.system.SolveDynamic(s, storeSolver=False, showCausingItems=False)
        tip.append(parts.system.GetSensorValues(parts.tip))
    return np.array(tip)
