"""Description of an experiment: torques and currents, joints with given motions, sensors, initial states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault, checked_array, checked_number, counted, refused, shown, unknown_name
from flexarm.errors import DescriptionError
from flexarm.identification.plant import Plant, special
from flexarm.identification.records import Record, Smooth, as_list, records
from flexarm.identification.shooting import Measured, cuts
from flexarm.identification.unknowns import Unknown, signed
from flexarm.model import Model, closures
from flexarm.model.attitudes import unit_pose


@final
@dataclass(frozen=True, eq=False)
class Experiment:
    """Setup of an experiment without its data and the unknown values.

    Attributes
    ----------
    plant : Plant
    inputs : dict or None
        Signal of each driven input, by its index; None: the columns of "u".
    given : dict
        Signals of the inputs whose coordinates have a given motion: angle, or angle and rate.
    outputs : tuple of str
        Names of the measured signals, in the order of the plant's outputs.
    offsets : (outputs,) of bool
        True for outputs with an unknown offset.
    states : (free coordinates,) of bool
        True for coordinates with an unknown initial value and rate.
    q0, qd0 : (n,) or (records, n)
    """

    plant: Plant
    inputs: dict[int, str] | None
    given: dict[int, tuple[str, ...]]
    given_noise: float | None
    outputs: tuple[str, ...]
    offsets: Array
    states: Array
    q0: Array
    qd0: Array
    sample_rate: float | None
    held: bool
    segments: int
    joined: bool

    def measured(self, data: Any) -> tuple[Measured, ...]:
        """Return the records in the form that the simulation needs; raises `DescriptionError`."""
        found = records(data, self.sample_rate)
        for name, x in (("q0", self.q0), ("qd0", self.qd0)):
            if x.ndim == 2 and len(x) != len(found):
                raise DescriptionError(
                    f"{name} has {len(x)} rows for {counted(len(found), 'record')}; the numbers must be equal"
                )
        return tuple(self._measured(i, each) for i, each in enumerate(found))

    def _measured(self, i: int, record: Record) -> Measured:
        plant, model = self.plant, self.plant.model
        y = np.stack([record.signal(name, "an output") for name in self.outputs], axis=1)
        motions = []
        for number, names in self.given.items():
            angle, *rate = (record.signal(name, f"the motion of {model.inputs[number]}") for name in names)
            motions.append(Smooth(record.t, angle, rate[0] if rate else None, self.given_noise))
        kept = (self.q0, plant.free), (self.qd0, plant.moving)
        start = np.concatenate([(x if x.ndim == 1 else x[i])[list(places)] for x, places in kept])
        if (len(record.t) - 1) // self.segments < 2:
            raise DescriptionError(
                f"{record.name} has {counted(len(record.t), 'sample')}, too few for {counted(self.segments, 'segment')}"
            )
        return Measured(record.name, record.t, self._driving(record), tuple(motions), y, start)

    def _driving(self, record: Record) -> Array:
        """Driving signals (T, driven inputs); an input without a signal has no torque."""
        plant, names = self.plant, self.plant.model.inputs
        if self.inputs is not None:
            none = np.zeros(len(record.t))
            columns = [
                record.signal(self.inputs[i], f"input {names[i]}") if i in self.inputs else none for i in plant.driven
            ]
            return np.stack(columns, axis=1) if columns else np.zeros((len(record.t), 0))
        if not plant.driven:
            return np.zeros((len(record.t), 0))
        return record.u([names[i] for i in plant.driven])

    def own(
        self, measured: Sequence[Measured], first: int
    ) -> tuple[list[Unknown], tuple[Array, ...], tuple[Array, ...]]:
        """Return the unknowns of the records themselves, numbered from `first`: initial states and offsets, and their
        indices.
        """
        plant, arm = self.plant, self.plant.model.arm
        unknowns: list[Unknown] = []
        states, offsets = [], []
        names = [arm.coordinates[i] for i in plant.free]
        signals = [*names, *(f"{arm.velocities[i]} rate" for i in plant.moving)]
        units = [*(arm.units[i] for i in plant.free), *(arm.rate_units[i] for i in plant.moving)]
        for record in measured:
            of = f" of {record.name}" if len(measured) > 1 else ""
            first_samples = cuts(len(record.t), self.segments)
            places = np.full((self.segments, len(signals)), -1)
            for s in range(self.segments):
                for j, (name, unit) in enumerate(zip(signals, units, strict=True)):
                    if s > 0 or self.states[j % len(names)]:
                        places[s, j] = first + len(unknowns)
                        at = f"{name} at {record.t[first_samples[s]]:g} s{of}"
                        unknowns.append(signed(at, unit, float(record.x[j]), 1.0))
            states.append(places)
            there = np.full(len(self.outputs), -1)
            for j in np.flatnonzero(self.offsets).tolist():
                there[j] = first + len(unknowns)
                size = float(np.std(record.y[:, j])) or 1.0
                unknowns.append(signed(f"offset of {self.outputs[j]}{of}", self.units[j], 0.0, size))
            offsets.append(there)
        return unknowns, tuple(states), tuple(offsets)

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the outputs."""
        sensors, arm = self.plant.sensors, self.plant.model.arm
        return tuple(unit for each in sensors for unit in each.units(arm))


def _inputs(model: Model, names: Mapping[str, Any], what: str) -> dict[int, Any]:
    """Index the entries by actuator. An actuator is named as an input, or as the drive of a link."""
    if not isinstance(names, Mapping):
        raise DescriptionError(f"identify: {what} is {shown(names)}; it must be a dict by actuator")
    known = {name: i for i, name in enumerate(model.inputs)}
    layout, links = model.arm.layout, model.arm.links
    drives = {f"{links[layout[place].link].name}.drive": i for i, place in enumerate(model.arm.actuated)}
    for name in names:
        if name not in known and name not in drives:
            problem = f"identify: {what}: unknown actuator"
            raise DescriptionError(unknown_name(problem, name, known, "the actuators are"))
    return {(known | drives)[name]: value for name, value in names.items()}


def experiment(
    model: Model,
    inputs: Any,
    outputs: Any,
    given: Any,
    currents: Any,
    offsets: Any,
    states: Any,
    q0: Any,
    qd0: Any,
    given_noise: float | None,
    sample_rate: float | None,
    held: bool,
    segments: int,
    joined: bool,
) -> tuple[Experiment, dict[int, float]]:
    """Check the arguments of an experiment, and return the guesses of motor constants by input.

    The arguments are those of `fa.identify`. Raises `DescriptionError`.
    """
    driving = None if inputs is None else _inputs(model, inputs, "inputs")
    moving = {i: tuple(as_list(names)) for i, names in _inputs(model, given or {}, "given").items()}
    constants = _inputs(model, currents or {}, "currents")
    for i, names in moving.items():
        if len(names) > 2:
            raise DescriptionError(
                f"identify: given: {model.inputs[i]} has "
                f"{counted(len(names), 'signal')}; it must be an angle, or an angle "
                "and its rate"
            )
        if i in (driving or {}) or i in constants:
            raise DescriptionError(
                f"identify: {model.inputs[i]} has both a given motion and an input signal; it must have one of them"
            )
    with refused("identify"):
        for i, value in constants.items():
            constants[i] = checked_number(value, "N m/A", part=f"current of {model.inputs[i]}")
    for i in constants:
        if driving is not None and i not in driving:
            raise DescriptionError(f"identify: currents: {model.inputs[i]} has no signal in inputs; give one")
    if not outputs:
        raise DescriptionError(
            f"identify: outputs is {shown(outputs)}; it must be a list of sensors, or a dict of them"
        )
    sensors = tuple(outputs.values()) if isinstance(outputs, Mapping) else tuple(as_list(outputs))
    if more := (*model.states, *model.exogenous):
        how = "use smooth friction, and motors without inductance"
        raise DescriptionError(
            f"identify: arm {model.arm.name!r} has {more[0]}, which identification does not support; {how}"
        )
    plant = Plant(model, sensors, tuple(sorted(moving)), tuple(sorted(constants)))
    named = plant.outputs
    if isinstance(outputs, Mapping):
        for name, sensor in outputs.items():
            if len(sensor.names(model.arm)) != 1:
                raise DescriptionError(
                    f"identify: outputs: {shown(name)} is a sensor with several signals; give a list of sensors instead"
                )
        named = tuple(map(str, outputs))
    free = [model.coordinates[i] for i in plant.free]
    if (kind := special(model.arm)) and (segments > 1 or states is not False):
        what = "states" if segments == 1 else "segments"
        raise DescriptionError(
            f"identify: {what} is not supported yet for arms with {kind}, as {model.arm.name!r}; give q0 and qd0"
        )
    found = Experiment(
        plant,
        driving,
        {i: moving[i] for i in plant.given},
        given_noise,
        named,
        _chosen("offsets", offsets, named),
        _chosen("states", states, free),
        *_starts(model, q0, qd0),
        sample_rate,
        held,
        segments,
        joined,
    )
    return found, {i: constants[i] for i in plant.measured}


def _chosen(what: str, given: Any, names: Sequence[str]) -> Array:
    """True for each chosen name: all, none, or those in a list."""
    if isinstance(given, bool):
        return np.full(len(names), given)
    if not isinstance(given, list | tuple):
        raise DescriptionError(f"identify: {what} is {shown(given)}; it must be true, false or a list of names")
    for name in given:
        if name not in names:
            raise DescriptionError(unknown_name(f"identify: {what}: unknown name", name, names, "known names are"))
    return np.array([name in given for name in names])


def _starts(model: Model, q0: Any, qd0: Any) -> tuple[Array, Array]:
    """Initial coordinates and rates, (n,) or (records, n), which satisfy the closures."""
    q = _start("q0", q0, np.array(model.arm.rest), model.coordinates)
    qd = _start("qd0", qd0, np.zeros(model.nv), model.velocities)
    q = unit_pose("identify: q0", q, model.arm)
    if not model.arm.closures:
        return q, qd
    q, qd = np.broadcast_arrays(q, qd)
    return closures.started("identify", model, q, qd, (q0 is not None, qd0 is not None))


def _start(name: str, value: Any, otherwise: Array, known: Sequence[str]) -> Array:
    """Initial coordinates or rates (n,) or (records, n)."""
    if value is None:
        return otherwise
    if isinstance(value, Mapping):
        found = otherwise.copy()
        for coordinate, x in value.items():
            if coordinate not in known:
                problem = f"identify: {name}: unknown coordinate"
                raise DescriptionError(unknown_name(problem, coordinate, known, "the coordinates are"))
            with refused("identify"):
                found[known.index(coordinate)] = checked_number(x, part=f"{name} of {coordinate}")
        return found
    with refused("identify"):
        x = checked_array(value, name)
        if x.ndim not in (1, 2) or x.shape[-1] != len(known):
            raise Fault(name, f"has shape {x.shape}; it must be ({len(known)},), or have one row per record")
    return x
