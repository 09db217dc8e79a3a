"""This package: beams of segments, or floating frames where deflections are small; the methods that it has."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.closed_forms import apart, derivation
from benchmarks.peers.peer import Setting, Solution, lines_of, steps, timed
from benchmarks.peers.tasks import GAINS, PERIOD, Array, Derivation, Task
from benchmarks.timing import empty_cache
from benchmarks.timing import timed as clocked
from flexarm.control import JointPD, Sampled

NAME = "flexarm"
PACKAGES = ("flexarm",)
METHODS = ("dop853", "gauss8", "radau9")
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
FORMS: dict[str, tuple[tuple[int, int], ...]] = {
    "two-link-rigid-joints-small": ((0, 2), (0, 3), (1, 3), (2, 3)),
    "two-link-large": ((1, 3), (2, 2), (2, 3), (3, 3)),
    "canadarm-slew": ((0, 2), (1, 3), (2, 3)),
    "spin-up-beam": ((2, 3), (3, 3), (4, 3), (6, 3)),
    "spatial-gravity": ((1, 2), (2, 2), (3, 2)),
}
"""Segments of each beam, none for a floating frame, and polynomials of each direction."""


def cannot(task: Task | Derivation) -> str:
    """Nothing."""
    return ""


def settings(task: Task | Derivation) -> Iterator[Setting]:
    """Discretisations, methods, tolerances."""
    if isinstance(task, Derivation):
        yield Setting("fa.equations without simplification", "", ())
        return
    for form in FORMS.get(task.name, (None,)):
        methods = ("dop853",) if task.feedback or task.many else METHODS[1:] if task.continuum else METHODS
        for method in methods:
            for rtol in TOLERANCES:
                name = "" if form is None else f"{form[0]} segments of {form[1]}, " if form[0] else f"{form[1]} modes, "
                numbers = (form, method, rtol, None)
                yield Setting(f"{name}{method}, rtol {rtol:.0e}", f"{form} {method}", numbers)
        if form is None and not task.many:
            least = round(task.until / task.intervals / PERIOD) if task.feedback else 1
            for count in steps(task.intervals, least, 6):
                yield Setting(f"rk4, {count} steps", f"{form} rk4", (form, "rk4", 1e-3, task.until / count))


def solve(task: Task | Derivation, setting: Setting) -> Solution:
    """Trace and compile (found again afterwards), simulate."""
    if isinstance(task, Derivation):
        seconds = apart(derivation, task.modes)
        return Solution(0.0, seconds, seconds, 0.0, 2)
    form, method, rtol, step = setting.numbers
    run = many if task.many else motion
    seconds: list[float] = []
    found = timed(
        task,
        lambda: model(task.name, task, form),
        lambda it: run(task, it, (method, rtol, step), seconds),
        lines_of(run),
    )
    return Solution(found.error, seconds[0] if seconds else found.seconds, found.processor, found.setup, found.lines)


def model(name: str, task: Task, form: tuple[int, int] | None) -> fa.Model:
    """The arm's equations, one for each discretisation."""
    key = (name, form)
    if key not in MODELS:
        MODELS[key] = fa.Model(arm_of(task, form))
    return MODELS[key]


MODELS: dict[Any, fa.Model] = {}


def arm_of(task: Task, form: tuple[int, int] | None) -> fa.Arm:
    """The arm with its beams so discretised."""
    if form is None:
        return task.arm
    segments, count = form
    links = []
    for link in task.arm.links:
        body = link.body
        if isinstance(body, fa.Beam):
            modes = {direction: count for direction, given in body.modes.items() if given}
            pieces = {"segments": segments} if segments else {"segments": None, "foreshortening": False}
            body = body.replace(modes=modes, shapes="polynomial", **pieces)
        links.append(link.replace(body=body))
    return task.arm.replace(links=links)


def motion(task: Task, model: fa.Model, how: tuple[str, float, Any], seconds: list[float]) -> Array | None:
    """One run; its seconds are those of the solver."""
    method, rtol, step = how
    given = dict(zip(task.model.coordinates, task.q0, strict=True))
    rates = dict(zip(task.model.velocities, task.qd0, strict=True))
    q0 = [given.get(name, value) for name, value in zip(model.coordinates, model.arm.rest, strict=True)]
    qd0 = [rates.get(name, 0.0) for name in model.velocities]
    u = fa.Piecewise(task.jumps, task.torques) if len(task.jumps) else None
    if task.feedback:
        u = Sampled(JointPD(np.zeros(7), *GAINS, gravity=False), PERIOD)
    try:
        result = fa.simulate(
            model, task.until, u, q0=q0, qd0=qd0, method=method, rtol=rtol, atol=1e-2 * rtol,
            step=step, samples=len(task.times), progress=False,
        )  # fmt: skip
    except fa.SimulationError:
        return None
    seconds.append(result.attrs["solve_seconds"])
    return result.tip.values


def many(task: Task, model: fa.Model, how: tuple[str, float, Any], seconds: list[float]) -> Array | None:
    """A thousand runs, eight at a time on all cores."""
    method, rtol, _ = how
    result = fa.simulate_many(
        model, task.until, q0=task.q0, method=method, rtol=rtol, atol=1e-2 * rtol, samples=2, keep=["tip"],
        progress=False,
    )  # fmt: skip
    return result.tip.values[:, -1]


def first_setup(task: Task, form: tuple[int, int] | None) -> float:
    """Seconds to derive and compile what a run needs, in a fresh process, where nothing is kept on disk."""
    arm = arm_of(task, form)
    key = arm.canonical()
    if key not in FIRST:
        FIRST[key] = apart(compiled, arm)
    return FIRST[key]


FIRST: dict[str, float] = {}


def compiled(arm: fa.Arm) -> float:
    """Seconds from the description to the first rates of a state."""

    def first() -> None:
        model = fa.Model(arm)
        model.kernel("state_rate").many(np.array([[*arm.rest, *np.zeros(model.nv + len(model.inputs))]]))

    with empty_cache():
        return clocked(first)
