"""Exudyn: beams of the absolute nodal coordinate formulation, and the arm as a tree (`flexarm export --exudyn`).

Torques are symbolic user functions, which run without Python; nothing is written to files; one thread, the variant
without range checks.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from benchmarks import exudyn_models
from benchmarks.peers.peer import Setting, Solution, lines_of, steps, timed
from benchmarks.peers.tasks import Array, Derivation, Task
from flexarm.exports.exudyn import RUN, written

NAME = "Exudyn"
PACKAGES = ("exudyn",)
CABLES = (2, 4, 8, 16)
SEGMENTS = (4, 8)
AXIAL = {"two-link-large": 1e6, "two-link-rigid-joints-small": 1e6, "canadarm-slew": 1e9, "spin-up-beam": 2.8e7}
"""EA of cables [N], so large that it does not count; ours do not stretch."""


def cannot(task: Task | Derivation) -> str:
    """Symbols, sampled laws but by Python, many runs but one by one, free bases and absolute rotors in its tree."""
    if isinstance(task, Derivation):
        return "no equations in symbols"
    if task.feedback or task.many:
        return "each sample, and each run, is a call of its solver from Python: not tried"
    if task.arm.free:
        return "its kinematic tree has no free base; redundant coordinates were not tried"
    if any(link.joint.moves and link.joint.rotor == "absolute" for link in task.arm.links[1:]):
        return "the exported tree has no rotors whose energy has the carrier's rate too"
    return ""


def settings(task: Task) -> Iterator[Setting]:
    """Elements and steps of generalized alpha; the tree's equations also by an explicit method of its own."""
    if task.continuum and task.planar:
        for elements in CABLES:
            for radius in (1.0, 0.9):
                for count in steps(task.intervals, 2, 6):
                    name = f"{elements} ANCF a link, rho {radius:g}, {count} steps"
                    yield Setting(name, f"ANCF {elements} {radius}", ("cables", elements, count, radius))
    for segments in SEGMENTS if task.continuum else (1,):
        each = f"{segments} hinges a link" if task.continuum else "tree"
        for count in steps(task.intervals, 2, 6):
            yield Setting(f"{each}, {count} steps", f"tree {segments}", ("tree", segments, count, 1.0))
        for count in steps(task.intervals, 1, 6):
            yield Setting(f"{each}, RK67, {count} steps", f"RK67 {segments}", ("RK67", segments, count, 1.0))


def solve(task: Task, setting: Setting) -> Solution:
    """Build, integrate."""
    kind, number, count, radius = setting.numbers
    if kind == "cables":
        lines = lines_of(cables, exudyn_models.cables, run)
        return timed(task, lambda: cables(task, number), lambda system: run(task, system, count, kind, radius), lines)
    text = written(task.equivalent(number))
    lines = lines_of(tree, run) + len([line for line in RUN.split("if __name__")[0].splitlines() if line.strip()])
    return timed(task, lambda: tree(task, text), lambda system: run(task, system, count, kind, radius), lines)


def torques(task: Task) -> list[Any]:
    """Of each input, as functions of the symbolic time."""
    return [exudyn_models.steps(task.jumps, column) for column in task.torques.T]


def cables(task: Task, elements: int) -> Any:
    """Each link so many geometrically exact beams."""
    drives = torques(task)
    counts = (elements,) * len(task.arm.links)
    peer = exudyn_models.cables(task.arm, counts, AXIAL[task.name], drives, task.until)
    return peer.container, peer.system, peer.sensor, peer.held


def tree(task: Task, text: str) -> Any:
    """The exported script's system, with symbolic torques."""
    from exudyn.advancedUtilities import CreateSymbolicUserFunction

    exudyn_models.exudyn()
    script: dict[str, Any] = {"__name__": "exported"}
    exec(compiled(text), script)
    equivalent_start = dict(zip(task.arm.coordinates, task.q0, strict=True))
    rates = dict(zip(task.arm.velocities, task.qd0, strict=True))
    names = [f"{name}.joint" for name in script["JOINTS"]]
    names += [f"{script['JOINTS'][motor[0]]}.motor" for motor in script["MOTORS"]]
    start = [equivalent_start.get(name, 0.0) for name in names]
    container, system, tip, loads = script["build"](None, start, [rates.get(name, 0.0) for name in names])
    held = []
    for load, torque in zip(loads, torques(task), strict=False):
        held.append(CreateSymbolicUserFunction(system, _of_load(torque), "loadUserFunction", load))
        system.SetLoadParameter(load, "loadUserFunction", held[-1])
    return container, system, tip, held


def _of_load(torque: Any) -> Any:
    """With the arguments that Exudyn gives."""

    def value(mbs: Any, t: Any, load: Any) -> Any:
        return torque(t)

    return value


@cache
def compiled(text: str) -> Any:
    """The script as code."""
    return compile(text, "exported by flexarm", "exec")


def run(task: Task, parts: Any, count: int, kind: str, radius: float) -> Array | None:
    """Generalized alpha with modified Newton, or a Runge-Kutta method."""
    exu = exudyn_models.exudyn()
    _, system, sensor, _ = parts
    s = exu.SimulationSettings()
    time = s.timeIntegration
    time.numberOfSteps, time.endTime, time.adaptiveStep = count, task.until, False
    time.newton.useModifiedNewton = True
    scale = np.abs(task.torques).max(initial=1.0)
    rtol = 1e-5 if kind == "cables" else 1e-7
    time.newton.relativeTolerance, time.newton.absoluteTolerance = rtol, rtol * scale
    time.generalizedAlpha.spectralRadius = radius
    s.solution.file.write = False
    s.solution.sensors.writePeriod = task.until / task.intervals
    s.linearSolver.solverType = exu.LinearSolverType.EigenSparse if kind == "cables" else exu.LinearSolverType.EXUdense
    s.parallel.numberOfThreads = 1
    try:
        if kind == "RK67":
            system.SolveDynamic(s, solverType=exu.DynamicSolverType.RK67, storeSolver=False, showCausingItems=False)
        else:
            system.SolveDynamic(s, storeSolver=False, showCausingItems=False)
    except exu.SolverError:
        return None
    tip = np.array(system.GetSensorStoredData(sensor))[:, 1:4]
    return tip if len(tip) == len(task.times) else None
