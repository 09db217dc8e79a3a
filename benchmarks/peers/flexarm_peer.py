"""This package: beams of segments, or floating frames where deflections are small; the methods that it has."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.closed_forms import apart, canonical, matrices, planar
from benchmarks.peers.peer import Setting, Solution, lines_of, steps, timed
from benchmarks.peers.tasks import GAINS, PERIOD, Array, Derivation, Task
from benchmarks.timing import empty_cache
from benchmarks.timing import timed as clocked
from flexarm.control import JointPD, Sampled
from flexarm.model.tracing import RESIDUALS
from flexarm.simulation.solvers import IMPLICIT

NAME = "flexarm"
PACKAGES = ("flexarm",)
METHODS = ("dop853", "tsit5", "gauss4", "gauss8", "radau5", "radau9")
EXPLICIT = ("dop853", "tsit5")
FIXED = ("rk4", "rk3", "midpoint")
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
Form = tuple[int, int, int]
FORMS: dict[str, tuple[Form, ...]] = {
    "two-link-rigid-joints-small": ((0, 2, 0), (0, 3, 0), (1, 3, 0), (2, 3, 0)),
    "two-link-large": ((1, 3, 0), (2, 2, 0), (2, 3, 0), (3, 3, 0)),
    "two-link-absolute-rotors-small": ((0, 2, 0), (0, 3, 0), (1, 3, 0), (2, 3, 0)),
    "two-link-absolute-rotors-large": ((1, 3, 0), (2, 2, 0), (2, 3, 0), (3, 3, 0)),
    "canadarm-slew": ((0, 2, 0), (1, 3, 0), (2, 3, 0)),
    "spin-up-beam": ((2, 3, 0), (3, 3, 0), (4, 3, 0), (6, 3, 0)),
    "slider-crank": ((1, 3, 0), (1, 4, 0), (2, 3, 0), (3, 3, 0)),
    "spatial-gravity": ((1, 2, 0), (1, 2, 1), (1, 2, 2), (2, 2, 2), (3, 2, 2)),
}
"""Segments of each beam, none for a floating frame; polynomials of each direction in which it bends; and of its
torsion, where it has some: none, where it hardly twists."""


def cannot(task: Task | Derivation) -> str:
    """Nothing."""
    return ""


def settings(task: Task | Derivation) -> Iterator[Setting]:
    """Discretisations, methods, tolerances."""
    if isinstance(task, Derivation):
        yield Setting("fa.equations, in canonical form", "", ())
        return
    for form in FORMS.get(task.name, (None,)):
        for method in EXPLICIT if task.feedback or task.many else METHODS:
            for rtol in TOLERANCES:
                numbers = (form, method, rtol, None)
                yield Setting(f"{called(task, form)}{method}, rtol {rtol:.0e}", f"{form} {method}", numbers)
        if not task.many:
            least = round(task.until / task.intervals / PERIOD) if task.feedback else 1
            for method in FIXED:
                for count in steps(task.intervals, least):
                    numbers = (form, method, 1e-3, task.until / count)
                    yield Setting(f"{called(task, form)}{method}, {count} steps", f"{form} {method}", numbers)


def called(task: Task, form: Form | None) -> str:
    """A discretisation in words, "" where there is none."""
    if form is None:
        return ""
    segments, bending, torsion = form
    plural = "s" if segments > 1 else ""
    name = f"{segments} segment{plural} of {bending}" if segments else f"{bending} modes"
    twists = any("torsion" in link.body.modes for link in task.arm.links if isinstance(link.body, fa.Beam))
    if twists and torsion != bending:
        name += f" and {torsion} of torsion" if torsion else " without torsion"
    return f"{name}, "


def solve(task: Task | Derivation, setting: Setting) -> Solution:
    """Trace and compile (found again afterwards), simulate."""
    if isinstance(task, Derivation):
        seconds = apart(matrices, task.modes)
        return Solution(0.0, seconds, seconds, 0.0, lines_of(planar, canonical))
    form, method, rtol, step = setting.numbers
    run = many if task.many else motion
    return timed(
        task, lambda: model(task.name, task, form), lambda it: run(task, it, method, rtol, step), lines_of(run)
    )


def model(name: str, task: Task, form: Form | None) -> fa.Model:
    """The arm's equations, one for each discretisation."""
    key = (name, form)
    if key not in MODELS:
        MODELS[key] = fa.Model(arm_of(task, form))
    return MODELS[key]


MODELS: dict[Any, fa.Model] = {}


def arm_of(task: Task, form: Form | None) -> fa.Arm:
    """The arm with its beams so discretised."""
    if form is None:
        return task.arm
    segments, bending, torsion = form
    links = []
    for link in task.arm.links:
        body = link.body
        if isinstance(body, fa.Beam):
            counts = {"torsion": torsion} | dict.fromkeys(("y", "z"), bending)
            modes = {direction: counts[direction] for direction, given in body.modes.items() if given}
            pieces = {"segments": segments} if segments else {"segments": None, "foreshortening": False}
            body = body.replace(modes=modes, shapes="polynomial", **pieces)
        links.append(link.replace(body=body))
    return task.arm.replace(links=links)


def motion(task: Task, model: fa.Model, method: str, rtol: float, step: float | None) -> Array | None:
    """One run, from checking what is given to a result of states and tip."""
    given = dict(zip(task.model.coordinates, task.q0, strict=True))
    rates = dict(zip(task.model.velocities, task.qd0, strict=True))
    q0 = [given.get(name, value) for name, value in zip(model.coordinates, model.arm.rest, strict=True)]
    qd0 = [rates.get(name, 0.0) for name in model.velocities]
    u = fa.Piecewise(task.jumps, task.torques) if len(task.jumps) else None
    if task.feedback:
        u = Sampled(JointPD(np.zeros(7), *GAINS, gravity=False), PERIOD)
    solver = fa.Solver(method=method, rtol=rtol, atol=1e-2 * rtol, step=step)
    save = fa.SaveAt(samples=len(task.times), keep=["tip"])
    try:
        result = fa.simulate(model, task.until, u, q0=q0, qd0=qd0, solver=solver, save=save, progress=False)
    except fa.SimulationError:
        return None
    return result.tip.values


def many(task: Task, model: fa.Model, method: str, rtol: float, step: float | None) -> Array | None:
    """A thousand runs, eight at a time on all cores."""
    solver, save = fa.Solver(method=method, rtol=rtol, atol=1e-2 * rtol), fa.SaveAt(samples=2, keep=["tip"])
    result = fa.simulate_many(model, task.until, q0=task.q0, solver=solver, save=save, progress=False)
    return result.tip.values[:, -1]


def first_run(task: Task, numbers: tuple[Any, ...]) -> float:
    """Seconds of the first run of all in a fresh process, where nothing is kept on disk; libraries are loaded."""
    return apart(_first, replace(task), numbers)  # without the model, which does not travel


def _first(task: Task, numbers: tuple[Any, ...]) -> float:
    form, *how = numbers
    with empty_cache():
        return clocked(lambda: (many if task.many else motion)(task, fa.Model(arm_of(task, form)), *how))


def first_setup(task: Task, form: Form | None, method: str) -> float:
    """Seconds to derive and compile what a run needs, in a fresh process, where nothing is kept on disk."""
    arm = arm_of(task, form)
    key = (arm.canonical(), task.many, method in IMPLICIT)
    if key not in FIRST:
        FIRST[key] = apart(compiled, arm, task.many, method)
    return FIRST[key]


FIRST: dict[Any, float] = {}


def compiled(arm: fa.Arm, many: bool, method: str) -> float:
    """Seconds from the description to all the machine code of a run, its result included.

    What a process does once, whatever the arm, is done before: libraries are loaded, as those of the others are.
    """

    def built(model: fa.Model) -> None:
        rate = model.kernel(RESIDUALS["state_rate"] if method in IMPLICIT else "state_rate")
        codes = rate.vector_code if many else rate.code, model.kernel("tip").vector_code
        assert all(code.addresses for code in codes)

    with empty_cache():
        rod = fa.Link(name="rod", joint=fa.Revolute(), body=fa.Rigid(length=1.0, mass=1.0))
        built(fa.Model(fa.Arm(name="any other", links=[rod])))
        return clocked(lambda: built(fa.Model(arm)))
