"""Pinocchio: the articulated body algorithm, called from Python by SciPy's DOP853 or Radau, or by RK4; and from C++.

`pinocchio_runs.cpp` is compiled against the wheel's headers, once for all arms: the same RK4, the same DOP853, steps of
lower order. Radau is given its Jacobian by Pinocchio's derivatives of the algorithm.
Springs, dampers and motors are a matrix over the coordinates. A rotor that turns relative to its joint is its armature;
one whose energy has the carrier's rate too is a body of its own on the carrier, with inertia about its axis alone, or,
behind a rigid gear, a constant part of the inertia matrix: then that is factored in the place of the recursion.
Gears, ball joints and cables are in `pinocchio_joints.py`.
"""

from collections.abc import Iterator
from functools import partial

from benchmarks.peers import pinocchio_cpp, pinocchio_joints, pinocchio_loops
from benchmarks.peers.peer import HINGES, Setting, Solution, lines_of, steps, timed
from benchmarks.peers.pinocchio_systems import TOLERANCES, System, adaptive, fixed, implicit, many, rk4
from benchmarks.peers.tasks import PERIOD, Derivation, Task

NAME = "Pinocchio"
PACKAGES = ("pinocchio", "scipy")
PATIENT = 8
"""Hinges a link; explicit methods have more than so many in C++ alone."""
LOOSE = (1e-2, 1e-3, 1e-4, 1e-5)
"""Of Radau."""
LANGUAGES = (f"{pinocchio_cpp.NAME} ", "")


def cannot(task: Task | Derivation) -> str:
    """Symbols."""
    if isinstance(task, Derivation):
        return "no equations in symbols"
    return ""


def settings(task: Task) -> Iterator[Setting]:
    """DOP853 by tolerance, RK4 by steps, each in C++ and from Python; lower orders in C++; Radau where hinges are
    stiff. With closed loops from Python alone."""
    if task.closed:
        yield from pinocchio_loops.settings(task)
        return
    for segments in HINGES if task.continuum else (1,):
        each = f"{segments} hinges a link, " if task.continuum else ""
        if task.continuum and derivable(task):
            for rtol in LOOSE:
                yield Setting(f"{each}Radau, rtol {rtol:.0e}", f"{segments} Radau", (segments, "", "Radau", rtol))
        for language in LANGUAGES[bool(pinocchio_cpp.missing()) :]:
            if segments > PATIENT and not language:
                continue
            series = f"{segments} {language}"
            if not task.feedback and (language or not task.many):
                for rtol in TOLERANCES:
                    name = f"{each}{language}DOP853, rtol {rtol:.0e}"
                    yield Setting(name, f"{series} DOP853", (segments, language, "DOP853", rtol))
            least = round(task.until / task.intervals / PERIOD) if task.feedback else 50 if task.many else 1
            for order in ("RK4", "RK3", "RK2") if language and not task.arm.free else ("RK4",):
                for count in steps(1 if task.many else task.intervals, least):
                    name = f"{each}{language}{order}, {count} steps"
                    yield Setting(name, f"{series} {order}", (segments, language, order, count))


def derivable(task: Task) -> bool:
    """Whether accelerations are the articulated body algorithm's alone, on a fixed base: it has its derivatives."""
    return not (task.arm.free or task.carries_rotors)


def solve(task: Task, setting: Setting) -> Solution:
    """Build, integrate."""
    if task.closed:
        return pinocchio_loops.solve(task, *setting.numbers)
    segments, language, method, number = setting.numbers
    equivalent = None if task.spherical else task.equivalent(segments)
    built = partial(pinocchio_joints.system_of, task, equivalent)
    if language:
        pinocchio_cpp.library()  # compiled before, once for all arms
        return timed(
            task,
            lambda: pinocchio_cpp.Runs(task, built()),
            lambda runs: pinocchio_cpp.run(task, runs, method, number),
            pinocchio_cpp.lines(method, task.spherical or task.tied),
        )
    steps_of = pinocchio_joints.turned if task.spherical else fixed
    run = many if task.many else {"DOP853": adaptive, "Radau": implicit, "RK4": steps_of}[method]
    beside = {many: [rk4], fixed: [rk4], implicit: [adaptive, System.slopes]}.get(run, [])
    rate = pinocchio_joints.Tied.rate if task.tied else System.rate
    flow = pinocchio_joints.Balls.flow if task.spherical else System.flow
    flows = [flow] if run not in (many, fixed) else []
    lines = lines_of(System.load, rate, System.place, run, *beside, *flows)
    return timed(task, built, lambda system: run(task, system, number), lines)
