"""The checked arguments of an optimal motion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, final

import numpy as np

from flexarm.analysis.equilibrium import configuration, equilibrium
from flexarm.arrays import Array
from flexarm.checks import (
    POSITIVE,
    Fault,
    called,
    checked_instance,
    checked_number,
    choices,
    refused,
    shown,
)
from flexarm.errors import DescriptionError, FlexarmError, errors_in
from flexarm.model import Model
from flexarm.optimal.goals import goal, joints_at
from flexarm.optimal.limits import Limits
from flexarm.optimal.measures import SLACK, Measure, measures, peaks

HELD = 1e-9
"""Relative difference that is allowed between the torques that hold several arms."""

PEAKS = ("deflection", "moment")
COSTS = ("time", "effort", "smoothness", *PEAKS)


@final
@dataclass(frozen=True, eq=False)
class Task:
    """The checked arguments of `optimal_motion` for one arm."""

    model: Model
    start: Array
    end: Array
    held: tuple[Array, Array]
    """Inputs that hold the arm at the start and at the end, (m,)."""
    limits: Limits
    measures: list[Measure]
    weights: Mapping[str, float]
    duration: float | None
    tolerance: float
    through: tuple[Array, ...] = ()
    """Configurations on the way, in equilibrium with the joints held."""
    placed: bool = True
    """True if the arm must end at its goal, False if it may rest anywhere."""
    peaks: tuple[Measure, ...] = ()
    """Quantities whose largest value is a part of the cost, by the names of their weights."""
    others: tuple["Task", ...] = ()
    """Tasks of further arms that make the motion under the same inputs."""

    @property
    def all(self) -> tuple["Task", ...]:
        """Tasks of this arm and of the others."""
        return (self, *self.others)

    @property
    def freed(self) -> "Task":
        """The same task without limits on deflections and moments."""
        measures = [each for each in self.measures if each.name not in PEAKS]
        return replace(self, measures=measures, others=tuple(each.freed for each in self.others))

    @property
    def places(self) -> list[Array]:
        """Joint coordinates at the start, on the way and at the end."""
        return [q[self.joints] for q in (self.start, *self.through, self.end)]

    def stretches(self) -> list["Task"]:
        """Return a task for each stretch from place to place.

        Raises `DescriptionError` if the limits do not allow the arm to rest at a place on the way.
        """
        q, held = [self.start, *self.through, self.end], [self.held[0]]
        for i, place in enumerate(self.through):
            name = f"through[{i}]"
            u = standing(self.model, place, place, self.limits, name)[1]
            _check_held(name, self.model, u, self.limits)
            _check_measures(name, place, self.measures)
            held.append(u)
        ends = zip(pairwise(q), pairwise([*held, self.held[1]]), strict=True)
        return [replace(self, start=a, end=b, held=both, through=()) for (a, b), both in ends]

    @property
    def linear(self) -> bool:
        """True if the inputs are piecewise linear, which is so if their slopes are limited or have a cost."""
        return self.limits.torque_rate is not None or self.weights["smoothness"] > 0

    @property
    def torque(self) -> Array:
        """Limits on the torques, (m,)."""
        return self.limits.sizes("torque", len(self.model.inputs))

    @property
    def scale(self) -> Array:
        """Divisors of the inputs in costs: their limits, or their own units, (m,)."""
        return np.where(np.isfinite(self.torque), self.torque, 1.0)

    @property
    def joints(self) -> list[int]:
        """Indices of the joints among the coordinates."""
        return task_joints(self.model)

    @property
    def weights_given(self) -> dict[str, float]:
        """The weights that are not zero."""
        return {name: weight for name, weight in self.weights.items() if weight}


def asked(
    model: Model,
    start: Any,
    end: Any,
    limits: Any,
    objective: Any,
    duration: Any,
    tolerance: Any,
    through: Any = (),
    plants: Any = (),
) -> Task:
    """Return the task of these arguments of `optimal_motion`; raises `DescriptionError`."""
    with refused("optimal_motion"):
        checked_instance(model, Model, "model")
        checked_number(tolerance, "m", POSITIVE, "tolerance")
        if not model.inputs:
            raise Fault("model", f"has no input: arm {model.arm.name!r} needs an actuator")
        if limits is not None and not isinstance(limits, Limits | Mapping):
            raise Fault("limits", f"is {shown(limits)}; it must be Limits, or a dict of them")
        weights = checked_weights(objective)
        if duration is not None:
            checked_number(duration, "s", POSITIVE, "duration")
        if duration is not None and weights["time"]:
            raise Fault("duration", f"is {duration} s; leave it out, because the objective includes the time")
        if duration is None and not weights["time"]:
            raise Fault("duration", "is missing; give it, because the objective does not include the time")
    given = (
        limits
        if isinstance(limits, Limits)
        else Limits(**{called(name): each for name, each in (limits or {}).items()})
    )
    given.check(model)
    if weights["time"] and not np.isfinite(given.sizes("torque", len(model.inputs))).all():
        raise DescriptionError("optimal_motion: limits.torque is missing; a fastest motion needs limits")
    first, u_first = standing(model, start, _rest(model), given, "start")
    last, u_last = standing(model, end, first[task_joints(model)], given, "end")
    found = measures(model, given)
    for name, q, u in (("start", first, u_first), ("end", last, u_last)):
        _check_held(name, model, u, given)
        _check_range(name, model, q, given)
        if name == "start" or not model.arm.free:  # the end of a free base is not known beforehand
            _check_measures(name, q, found)
    on_the_way, near = [], first
    for i, place in enumerate(_listed(through, "through")):
        if model.arm.free:
            raise DescriptionError("optimal_motion: through: the arm has a free base, which through does not support")
        near = standing(model, place, near[task_joints(model)], given, f"through[{i}]")[0]
        _check_range(f"through[{i}]", model, near, given)
        on_the_way.append(near)
    if weights["time"] and not on_the_way and np.array_equal(first, last):
        raise DescriptionError("optimal_motion: end is equal to start, so no motion is the fastest; give another end")
    task = Task(
        *(model, first, last, (u_first, u_last), given, found, weights, duration, float(tolerance)),
        through=tuple(on_the_way),
        peaks=tuple(peaks(model, [name for name in PEAKS if weights[name]], given.moment_at)),
    )
    return replace(task, others=tuple(_other(task, i, each) for i, each in enumerate(_listed(plants, "plants"))))


def task_joints(model: Model) -> list[int]:
    """Indices of the joints among the coordinates."""
    return [i + model.nq - model.nv for i in model.arm.driven]


def _listed(given: Any, name: str) -> list[Any]:
    if not isinstance(given, list | tuple | np.ndarray):
        raise DescriptionError(f"optimal_motion: {name} is {shown(given)}; it must be a list")
    return list(given)


def _other(task: Task, i: int, given: Any) -> Task:
    """Task of the same motion for another arm: a model, or values of the arm's parameters by their paths."""
    name, own = f"plants[{i}]", task.model
    if isinstance(given, Mapping):
        with errors_in(f"optimal_motion: {name}"):
            given = Model(own.arm_at(), vary=list(given)).at(dict(given))
    with refused("optimal_motion"):
        checked_instance(given, Model, name)
        if (given.coordinates, given.inputs, given.states) != (own.coordinates, own.inputs, own.states):
            raise Fault(name, f"has other coordinates or inputs than arm {own.arm.name!r}")
        if own.arm.free:
            raise Fault(name, "does not support an arm with a free base")
    start, *through, end = task.places
    found = asked(given, start, end, task.limits, task.weights_given, task.duration, task.tolerance, through)
    for at, u, other in zip(("start", "end"), task.held, found.held, strict=True):
        if np.abs(u - other).max() > HELD * (1.0 + np.abs(u).max()):
            raise DescriptionError(
                f"optimal_motion: {name}: at the {at} its holding torques differ from those of the first arm"
            )
    return replace(found, placed=False)


def standing(model: Model, given: Any, near: Array, limits: Limits, name: str) -> tuple[Array, Array]:
    """Return the equilibrium (nq,) and the inputs (m,) that hold the arm there.

    The place is given by joint coordinates, by a configuration, or by a goal of the tip. At a goal the joints are near
    `near` (joints,). Raises `DescriptionError`, with `name` for the argument.
    """
    if isinstance(given, Mapping):
        with refused("optimal_motion"):
            wanted = goal(given, name)
        given = joints_at(model, wanted, near, limits.ranges(len(near)), name)
    try:
        return equilibrium(model, configuration(model, given), held="joints")
    except DescriptionError as error:
        raise DescriptionError(f"optimal_motion: {name}: {error}") from None
    except FlexarmError as error:
        loose = (
            "; a motion cannot begin or end within backlash, where joints have no stiffness"
            if model.arm.touches
            else ""
        )
        raise FlexarmError(f"optimal_motion: {name}: {error}{loose}") from None


def _rest(model: Model) -> Array:
    return np.array(model.arm.rest)[task_joints(model)]


def checked_weights(objective: Any) -> dict[str, float]:
    """Return a weight for each part of the cost; raises `Fault`."""
    given = {objective: 1.0} if isinstance(objective, str) else objective
    if not isinstance(given, Mapping) or not given or not set(given) <= set(COSTS):
        raise Fault("objective", f"is {shown(objective)}; it must be {choices(*COSTS)}, or weights of them in a dict")
    found = dict.fromkeys(COSTS, 0.0)
    for name, weight in given.items():
        found[name] = checked_number(weight, "", POSITIVE, f"objective.{name}")
    return found


def _check_held(name: str, model: Model, u: Array, limits: Limits) -> None:
    most = limits.sizes("torque", len(u))
    for i in np.flatnonzero(np.abs(u) > most):
        unit = model.arm.input_units[i]
        needs = f"holding the arm at the {name} takes {abs(u[i]):.4g} {unit} at {model.inputs[i]!r}"
        raise DescriptionError(f"optimal_motion: {needs}; limits.torque allows {most[i]:.4g} {unit}")


def _check_range(name: str, model: Model, q: Array, limits: Limits) -> None:
    joints = task_joints(model)
    for i, (low, high) in zip(joints, limits.ranges(len(joints)), strict=True):
        if not low - SLACK <= q[i] <= high + SLACK:
            at, allowed = model.coordinates[i], f"limits.joint_range allows from {low:.4g} to {high:.4g}"
            raise DescriptionError(f"optimal_motion: {name}: {at!r} is {q[i]:.4g} {model.arm.units[i]}; {allowed}")


def _check_measures(name: str, q: Array, found: Sequence[Measure]) -> None:
    for each in found:
        if beyond := each.beyond(q):
            raise DescriptionError(f"optimal_motion: {name}: {beyond}")
