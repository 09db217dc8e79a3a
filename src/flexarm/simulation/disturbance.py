"""Disturbances: forces at drives or anywhere else, on an arm that does not declare them.

The integration does not change. `forces` are added to the arm's description, and the disturbances are some of the
exogenous inputs of that arm.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, final

import numpy as np

from flexarm.checks import Fault, checked_array, counted, shown, unknown_name
from flexarm.description.arm import Arm
from flexarm.description.outside import FORCES, MOMENTS, Force
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.block import Block
from flexarm.simulation.exogenous import ExogenousInputs, as_exogenous, given_by
from flexarm.simulation.rhs import Plan

COMPONENTS = {"f": "force", "m": "moment"}
COMPONENTS |= {name: "force" for name, _ in FORCES} | {name: "moment" for name, _ in MOMENTS}
"""Components of a force at a point, and the kind of force that has each component."""

LATE = 1e-9
"""Share of a period by which a jump may precede the sample at which it is due."""

Found = list[tuple[tuple[str, ...], str, Any]]
"""Names of some exogenous inputs, the user's name for them, and their values."""


def disturbed(model: Model, w: Any, disturbance: Any) -> tuple[Model, ExogenousInputs]:
    """Return the model of the arm with its disturbances, and all its exogenous inputs; see `simulate`."""
    more, (found,) = disturbed_many(model, [as_exogenous(w, model)], [disturbance])
    return more, found


def disturbed_many(
    model: Model, exogenous_inputs: Sequence[ExogenousInputs], disturbances: Sequence[Any]
) -> tuple[Model, list[ExogenousInputs]]:
    """Return one model for several runs, and the exogenous inputs of each.

    There are as many `exogenous_inputs` as `disturbances`.

    Raises `DescriptionError` if a disturbance has no place on the arm, or is not a number where one is required.
    """
    if all(each is None for each in disturbances):
        return model, list(exogenous_inputs)
    forces: list[Force] = []
    asked = [_asked(each, model.arm, forces) for each in disturbances]
    whole = _with(model, _merged(forces)) if forces else model
    return whole, [_together(whole, *each) for each in zip(exogenous_inputs, asked, strict=True)]


@final
@dataclass(frozen=True)
class Disturbed:
    """Disturbances of plants that advance by one period at a time.

    Attributes
    ----------
    model : Model
        Model of the arm with its disturbances.
    exogenous_inputs : tuple of ExogenousInputs
        Exogenous inputs of each plant.
    own : list of int
        Indices of the arm's own exogenous inputs among those of the model.
    """

    model: Model
    exogenous_inputs: tuple[ExogenousInputs, ...]
    own: list[int]

    @property
    def changing(self) -> bool:
        """True if any disturbance changes in time."""
        return not all(each.constant for each in self.exogenous_inputs)

    @property
    def held(self) -> np.ndarray:
        """Constant part of w of each plant (N, k)."""
        found, none = np.zeros((len(self.exogenous_inputs), len(self.model.exogenous))), np.empty((1, 0))
        for i, each in enumerate(self.exogenous_inputs):
            if each.constant:
                found[i] = each.output(self.model, np.zeros(1), none, none)[0]
        return found

    def stretches(self, i: int, a: float, b: float) -> list[tuple[float, float]]:
        """Return the intervals between the jumps of a plant's disturbance.

        None is shorter than the resolution of times.
        """
        late = LATE * (b - a)
        inner = self.exogenous_inputs[i].between(a + late, b - late)[1:-1]
        return list(pairwise([a, *inner, b]))

    def feed(self, plan: Plan, i: int, a: float, b: float, x: np.ndarray, w: np.ndarray) -> None:
        """Set the plan's w to that of a plant from a to b. The plant's own exogenous inputs come from w."""
        self.exogenous_inputs[i].feed(plan, self.model, a + LATE * (b - a), x)
        plan.w[self.own] = w[self.own]
        plan.end(b)


def disturbed_plants(model: Model, disturbance: Any, count: int) -> Disturbed:
    """Return the disturbances of `count` plants.

    Raises `DescriptionError` as `disturbed_many` does, or if the number of disturbances differs from `count`.
    """
    disturbances, which = listed(disturbance)
    if which is not None and len(which) != count:
        raise DescriptionError(f"disturbance has {counted(len(which), 'entry')}; give one for all plants, or {count}")
    moved, exogenous_inputs = disturbed_many(model, [as_exogenous(None, model)] * len(disturbances), disturbances)
    own = [moved.exogenous.index(name) for name in model.exogenous]
    return Disturbed(moved, tuple(exogenous_inputs[i] for i in ([0] * count if which is None else which)), own)


def listed(given: Any) -> tuple[list[Any], np.ndarray | None]:
    """Return the unique disturbances of several runs, and the index of each run's; None if all runs share one."""
    if isinstance(given, np.ndarray) and given.ndim == 2:
        return list(given), np.arange(len(given))
    if not isinstance(given, list | tuple) or all(isinstance(each, Real) for each in given):
        return [given], None
    unique = {id(each): each for each in given}
    return list(unique.values()), np.array([[*unique].index(id(each)) for each in given], dtype=np.int64)


def _with(model: Model, forces: tuple[Force, ...]) -> Model:
    """Return the model with these forces. The model caches it, as it caches its functions."""
    arm = model.arm

    def made() -> Model:
        found = Model(arm.replace(forces=(*arm.forces, *forces)), [x.name for x in model.varied])
        return found.at(model.p) if model.varied else found

    return model.derived(f"disturbed by {forces}", made)  # type: ignore[no-any-return]


def _merged(forces: Sequence[Force]) -> tuple[Force, ...]:
    """Return the forces without duplicates. A force and a moment at one place become one wrench."""
    found: dict[tuple[str, bool], Force] = {}
    for each in forces:
        known = found.setdefault((each.name, each.kind == "drive"), each)
        if known.replace(kind=each.kind) != each:
            raise DescriptionError(f"disturbance: two forces have the name {each.name!r}; give them different names")
        if known.kind != each.kind:
            found[each.name, False] = known.replace(kind="wrench")
    return tuple(found.values())


def _together(whole: Model, own: ExogenousInputs, asked: Found) -> ExogenousInputs:
    """Return the exogenous inputs of the arm together with the disturbances, in the order of the complete model."""
    names = whole.exogenous
    parts: list[tuple[int, int, Block]] = []
    for first, count, part in own.parts:
        moved = [names.index(name) for name in own.outputs[first : first + count]]
        if moved != [*range(moved[0], moved[0] + count)]:
            raise DescriptionError("w: with a disturbance, give w by names, such as {'base': ...}")
        parts.append((moved[0], count, part))
    parts += [
        (names.index(mine[0]), len(mine), given_by(f"disturbance{called}", value, whole, mine))
        for mine, called, value in asked
    ]
    return ExogenousInputs(names, tuple(sorted(parts, key=lambda part: part[0])))


def _asked(disturbance: Any, arm: Arm, forces: list[Force]) -> Found:
    """Return the requested disturbances, and add the forces that they need to `forces`."""
    if disturbance is None:
        return []
    links = [arm.links[arm.layout[i].link].name for i in arm.driven]
    if not isinstance(disturbance, Mapping):
        if not links:
            raise DescriptionError(
                f"disturbance: arm {arm.name!r} has no drive; give the disturbance by names, such as {{'tip.fy': ...}}"
            )
        forces += map(_drive, links)
        return [(tuple(f"{link}.drive" for link in links), "", _for_all(disturbance, len(links)))]
    found: Found = []
    given: dict[str, str] = {}
    for key, value in disturbance.items():
        force, names = _at(key, arm, links)
        if taken := next((name for name in names if name in arm.exogenous), None):
            message = f"{taken!r} is an exogenous input of the arm; use w for it"
            raise DescriptionError(f"disturbance: {message}")
        for name in names:
            if name in given:
                raise DescriptionError(f"disturbance: {name} is given twice, by {given[name]} and by {shown(key)}")
            given[name] = shown(key)
        forces.append(force)
        found.append((names, f"[{shown(key)}]", value))
    return found


def _for_all(value: Any, count: int) -> Any:
    """Return a single number as the value of every drive."""
    try:
        number = checked_array(value, "")
    except Fault:
        return value  # not a number
    return np.full(count, float(number)) if number.ndim == 0 else value


def _drive(link: str) -> Force:
    return Force(name=link, link=link, kind="drive")


def _at(key: Any, arm: Arm, links: Sequence[str]) -> tuple[Force, tuple[str, ...]]:
    """Return the force of a key, and the names of the key's exogenous inputs."""
    if isinstance(key, Force):
        return key, tuple(f"{key.name}.{name}" for name, _ in key.exogenous)
    drives = dict(zip(arm.inputs, links, strict=False)) | {f"{link}.drive": link for link in links}
    if isinstance(key, str) and key in drives:
        return _drive(drives[key]), (f"{drives[key]}.drive",)
    places = {"tip": arm.links[arm.tip_link].name, **{link.name: link.name for link in arm.links}}
    places |= {"base": "base"} if arm.free else {}
    known = {f"{place}.{component}": (place, component) for place in places for component in COMPONENTS}
    if not isinstance(key, str) or key not in known:
        names = [*(f"{link}.drive" for link in links), *(f"{name}.fx" for name in places)]
        there = f"{', '.join(names)} (fx to mz, or f and m for three), or a Force of your own"
        raise DescriptionError(unknown_name("disturbance: unknown place", key, names, "the arm has", there))
    place, component = known[key]
    force = Force(name=place, link=places[place], kind=COMPONENTS[component])
    return force, tuple(f"{place}.{component}{axis}" for axis in ("xyz" if component in ("f", "m") else ("",)))
