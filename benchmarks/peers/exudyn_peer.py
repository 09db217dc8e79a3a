"""Exudyn: its kinematic tree, beams, cables, floating frames; the files beside this one build each of them."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from benchmarks.peers import exudyn_joints
from benchmarks.peers.exudyn_beams import cables, exact
from benchmarks.peers.exudyn_frames import frames
from benchmarks.peers.exudyn_loops import bodies, closed_options, closed_tree
from benchmarks.peers.exudyn_run import held, options, run, several, share, stretches
from benchmarks.peers.exudyn_tree import tree
from benchmarks.peers.peer import HINGES, Setting, Solution, lines_of, loop_steps, steps, timed
from benchmarks.peers.tasks import PERIOD, Derivation, Task

NAME = "Exudyn"
PACKAGES = ("exudyn",)
ALPHA = "GeneralizedAlpha"
NEWTON = (1e-3, 1e-5)
SPARSE = ("canadarm-slew",)
"""Where beams and cables are so many that matrices of few entries are the quicker to factor."""
TIGHT = (1e-5, 1e-8)
"""Newton's tolerances in mechanisms with closed loops."""
LOOPS = {
    True: (("tree", 3, 1.0), ("tree", 3, 0.9), ("bodies", 3, 0.9)),
    False: (("tree", 3, 1.0), ("tree", 3, 0.9), ("tree", 2, 1.0)),
}
"""Of loops in a plane or not: coordinates of joints or of bodies, the index, the spectral radius (index 2 has none).

In flat positions of the four-bars index 2 finds no solution, and with bodies neither does index 3 without damping."""
RODS = ((2, 1e8), (4, 1e8), (4, 1e9), (6, 1e9))
"""ANCF cables of the slider-crank's rod, and EA [N]. Ours does not stretch; with 1e7 N the error is 0.3 mm."""
RADII = (1.0, 0.9)
CABLES: dict[str, tuple[tuple[float, ...], tuple[int, ...]]] = {
    "two-link-rigid-joints-small": ((1e4, 1e5), (1, 2)),
    "two-link-large": ((1e5,), (2, 3)),
    "two-link-absolute-rotors-small": ((1e4, 1e5), (1, 2)),
    "two-link-absolute-rotors-large": ((1e5,), (2, 3)),
    "canadarm-slew": ((1e8,), (2, 3)),
    "spin-up-beam": ((3e8,), (4, 5, 6)),
}
"""EA [N] and cables a link. Ours do not stretch; a larger EA is stiffer to integrate and no more exact."""
BEAMS: dict[str, tuple[tuple[float, ...], tuple[int, ...]]] = {
    "two-link-rigid-joints-small": ((1e4, 1e5), (1, 2, 3)),
    "two-link-large": ((1e4, 3e4, 1e5), (1, 2, 3)),
    "two-link-absolute-rotors-small": ((1e4, 1e5), (1, 2, 3)),
    "two-link-absolute-rotors-large": ((1e4, 3e4, 1e5), (1, 2, 3)),
    "canadarm-slew": ((1e7, 1e8), (2, 3, 4)),
    "spin-up-beam": ((3e8,), (4, 6)),
}
"""The same of geometrically exact beams."""
FRAMES = {
    "two-link-rigid-joints-small": ((1, 2), (1, 3), (2, 2)),
    "two-link-absolute-rotors-small": ((1, 2), (1, 3), (2, 2)),
    "canadarm-slew": ((1, 2), (1, 3), (2, 2)),
}
"""Floating frames a link, and shapes of each; linear, so that none of them stiffens as it is spun up."""


def cannot(task: Task | Derivation) -> str:
    """Symbols."""
    return "no equations in symbols" if isinstance(task, Derivation) else ""


def settings(task: Task) -> Iterator[Setting]:
    """Discretisations; steps of generalized alpha, and of explicit methods where there are no constraints."""
    if task.closed:
        yield from closed_settings(task)
        return
    if task.geared or task.spherical or task.tied:
        yield from joint_settings(task)
        return
    if task.many:
        for method, count in product(("RK67", "RK44"), (20, 30, 40, 60, 80, 120, 160, 240, 320)):
            yield Setting(f"tree, {method}, {count} steps", method, ("tree", (1,), method, "EXUdense", 1.0, 1.0, count))
        return
    if task.feedback:
        least = round(task.until / task.intervals / PERIOD)
        for method, finer in product(("ExplicitMidpoint", "RK33", "RK44", "RK67"), (1, 2, 4)):
            count = finer * least * task.intervals
            yield Setting(f"tree, {method}, {count} steps", method, ("tree", (1,), method, "EXUdense", 1.0, 1.0, count))
        return
    forms: list[tuple[str, tuple[Any, ...], str]] = []
    for kind, short, chosen in (("exact", "exact beams", BEAMS), ("cables", "ANCF", CABLES)):
        axial, elements = chosen.get(task.name, ((), ()))
        forms += [(kind, (n, EA), f"{n} {short} a link, EA {EA:.0e} N") for n, EA in product(elements, axial)]
    forms += [("frames", (n, k), f"{n} FFRF a link, {k} shapes") for n, k in FRAMES.get(task.name, ())]
    forms += [
        ("tree", (n,), f"{n} hinges a link" if task.continuum else "tree") for n in (HINGES if task.continuum else (1,))
    ]
    for kind, numbers, each in forms:
        linear = "EigenSparse" if task.name in SPARSE and kind in ("cables", "exact") else "EigenDense"
        for radius, rtol, count in product(RADII[kind != "tree" :], NEWTON, steps(task.intervals)):
            series = f"{each}, rho {radius:g}, Newton {rtol:.0e}"
            yield Setting(f"{series}, {count} steps", series, (kind, numbers, ALPHA, linear, rtol, radius, count))
        for method, count in product(("RK67", "RK44") if kind == "tree" else (), steps(task.intervals)):
            series = f"{each}, {method}"
            yield Setting(f"{series}, {count} steps", series, (kind, numbers, method, linear, 1.0, 1.0, count))


def closed_settings(task: Task) -> Iterator[Setting]:
    """Coordinates of the joints, or of bodies in a plane; index and spectral radius, tolerances, steps."""
    shapes: dict[str, tuple[tuple[Any, ...], ...]] = {"tree": ((),), "bodies": ((),)}
    if task.continuum:
        shapes = {"tree": tuple((n,) for n in HINGES), "bodies": RODS}
    for kind, index, radius in LOOPS[task.planar]:
        for shape, rtol in product(shapes[kind], TIGHT):
            series = f"{kind}, {shaped(shape)}index {index}, rho {radius:g}, Newton {rtol:.0e}"
            linear = "EigenSparse" if kind == "bodies" or task.continuum else "EigenDense"
            for count in loop_steps(task.intervals):
                yield Setting(f"{series}, {count} steps", series, (kind, index, linear, rtol, radius, count, *shape))


def joint_settings(task: Task) -> Iterator[Setting]:
    """Gears and spherical joints as conditions; explicit methods of trees without conditions."""
    bodies = [("bodies", index, 0.9) for index in (3, 2)] if task.spherical else []
    geared = [("tree", index, radius) for index, radius in product((3, 2), RADII)]
    for (kind, index, radius), rtol in product(geared if task.geared else bodies, TIGHT):
        series = f"{kind}, index {index}, rho {radius:g}, Newton {rtol:.0e}"
        linear = "EigenSparse" if kind == "bodies" else "EigenDense"
        for count in steps(task.intervals):
            yield Setting(f"{series}, {count} steps", series, (kind, index, linear, rtol, radius, count))
    if task.geared:
        return
    for method, count in product(("RK67", "RK44"), steps(task.intervals)):
        series = f"tree, {method}"
        yield Setting(f"{series}, {count} steps", series, ("tree", method, "EXUdense", 1.0, 1.0, count))
    for radius, rtol, count in product(RADII, TIGHT, steps(task.intervals)):
        series = f"tree, rho {radius:g}, Newton {rtol:.0e}"
        yield Setting(f"{series}, {count} steps", series, ("tree", ALPHA, "EigenDense", rtol, radius, count))


def joined(task: Task, kind: str, index: int | str, linear: str, rtol: float, radius: float, count: int) -> Solution:
    """Build a system with gears, ball joints or cables, integrate."""
    forms = {
        "bodies": exudyn_joints.bodies,
        "tree": exudyn_joints.geared if task.geared else exudyn_joints.tied if task.tied else exudyn_joints.balls,
    }
    chosen = options if isinstance(index, str) else closed_options
    return timed(
        task,
        lambda: (forms[kind](task), chosen(task, index, linear, rtol, radius)),
        lambda system: run(task, *system, count),
        lines_of(*dict.fromkeys((options, chosen, run))),
    )


def shaped(shape: tuple[Any, ...]) -> str:
    """Hinges, or cables and their stiffness, in words; "" of rigid rods."""
    if len(shape) < 2:
        return f"{shape[0]} hinges a link, " if shape else ""
    return f"{shape[0]} ANCF a link, EA {shape[1]:.0e} N, "


def solve(task: Task, setting: Setting) -> Solution:
    """Build, integrate."""
    if task.closed:
        kind, index, linear, rtol, radius, count, *shape = setting.numbers
        built = closed_tree if kind == "tree" else bodies
        return timed(
            task,
            lambda: (built(task, *shape), closed_options(task, index, linear, rtol, radius)),
            lambda system: run(task, *system, count),
            lines_of(options, closed_options, run),
        )
    if task.geared or task.spherical or task.tied:
        return joined(task, *setting.numbers)
    kind, numbers, method, linear, rtol, radius, count = setting.numbers
    go, called = (held, [run, held]) if task.feedback else (several, [several, share]) if task.many else (run, [run])
    if kind == "tree":
        equivalent = task.equivalent(*numbers)
        made = partial(tree, task, equivalent)
    else:
        made = partial({"cables": cables, "exact": exact, "frames": frames}[kind], task, *numbers)
    lines = lines_of(options, *([] if task.many else [stretches]), *called)
    return timed(
        task,
        lambda: (made(), options(task, method, linear, rtol, radius)),
        lambda system: go(task, *system, count),
        lines,
    )
