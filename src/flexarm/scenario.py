"""A scenario: an arm, what drives it, for how long, and how it is integrated; from Python or from a TOML file."""

from collections.abc import Mapping, Sized
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Any, Literal, Self, final

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from flexarm import fields, inputs, solvers, trajectory
from flexarm.arm import Arm
from flexarm.catalogue import load, printable, read_toml
from flexarm.errors import DescriptionError
from flexarm.fields import FINITE, POSITIVE, Described, Fault, checked_number, checked_numbers, kind, number, numbers
from flexarm.model import Model
from flexarm.simulate import Progress, simulate


def _rows(value: object) -> tuple[tuple[float, ...], ...]:
    items = fields.checked_list(value, "a list of rows, one number an actuator")
    return tuple(
        checked_numbers(row, part=f"[{i}]") if isinstance(row, list | tuple) else (checked_number(row, part=f"[{i}]"),)
        for i, row in enumerate(items)
    )


rows = BeforeValidator(_rows)


def _check_table(times: tuple[float, ...], values: Sized, least: int, called: str = "values") -> None:
    if len(times) != len(values):
        raise Fault("times", f"has {_count(times)} and {called} has {len(values)} rows; they must be as many")
    if len(times) < least:
        raise Fault("times", f"has {_count(times)}; it must have at least {least}")
    for i, (before, after) in enumerate(pairwise(times), start=1):
        if not after > before:
            raise Fault(f"times[{i}]", f"is {after} s after {before} s; times must increase")


def _count(items: Sized) -> str:
    return f"{len(items)} number{'' if len(items) == 1 else 's'}"


# -- references --------------------------------------------------------------------------------------------------------


def _values(value: object) -> Any:
    """A list of numbers, or a table coordinate -> number; TOML reads `upper.joint = 1` as a table in a table."""
    if not isinstance(value, Mapping):
        return checked_numbers(value)
    flat: dict[str, Any] = {}
    for name, x in value.items():
        flat |= {f"{name}.{part}": y for part, y in x.items()} if isinstance(x, Mapping) else {str(name): x}
    return {name: checked_number(x, part=name) for name, x in flat.items()}


_MOST_MODES = 100


def _modes(value: object) -> int:
    count = fields.checked_integer(value, _MOST_MODES)
    if not count:
        raise Fault("", f"is 0; it must be an integer from 1 to {_MOST_MODES}")
    return count


@final
class ShaperTable(Described):
    """A shaper for the arm's slowest modes, which a reference is convolved with.

    Parameters
    ----------
    kind : "zv", "zvd", "ei"
    modes : int
        How many modes.
    at : list or table
        The configuration whose frequencies count; a table names the coordinates that differ from the default, where the
        reference is at the end of the run, and nothing bent.
    locked : bool
        Frequencies with the joints held, or free.
    tolerance : float
        Of "ei".
    """

    kind: Literal["zv", "zvd", "ei"]
    modes: Annotated[int, BeforeValidator(_modes)] = 1
    at: Annotated[Any, BeforeValidator(_values)] = ()
    locked: Annotated[bool, fields.flag] = True
    tolerance: Annotated[float, number("", trajectory.shapers.TOLERABLE)] = 0.05

    def check(self, coordinates: tuple[str, ...]) -> None:
        """Raise `DescriptionError` where the configuration is not the arm's."""
        _state("reference.shaper.at", self.at, coordinates)

    def made(self, model: Model, reference: trajectory.Reference, until: float) -> trajectory.Shaper:
        """The shaper itself."""
        q = dict(zip(model.coordinates, model.arm.rest, strict=True))
        ends = trajectory.reference_values(reference, np.array([until]))[0].tolist()
        for joint, end in zip((name for name in q if name.endswith(".joint")), ends, strict=True):
            motor = joint.removesuffix(".joint") + ".motor"
            q |= {joint: end, motor: end} if motor in q else {joint: end}
        q |= self.at if isinstance(self.at, Mapping) else dict(zip(q, self.at, strict=False))
        where = np.array(list(q.values()))
        return trajectory.shaper(model, where, self.kind, self.modes, self.locked, self.tolerance)


def _check_ends(start: tuple[float, ...], end: tuple[float, ...]) -> None:
    if len(start) != len(end):
        raise Fault("end", f"has {len(end)} numbers; it must have as many as start, {len(start)}")


@final
class CycloidalMotion(Described):
    """theta_i = k_i (t - T_i / pi sin(pi t / T_i)) for each joint (Mohan & Saha eq. 44)."""

    type: Literal["cycloidal"] = "cycloidal"
    rates: Annotated[tuple[float, ...], numbers("rad/s")]
    periods: Annotated[tuple[float, ...], numbers("s", POSITIVE)]
    shaper: ShaperTable | None = None

    def made(self, arm: Arm) -> trajectory.Reference:
        """The reference itself."""
        return trajectory.Cycloidal(self.rates, self.periods)

    def widths(self) -> dict[str, int]:
        """How many joints each field is for."""
        return {"rates": len(self.rates), "periods": len(self.periods)}


@final
class ParabolicMotion(Described):
    """From `start` to `end` with constant acceleration, rate and deceleration."""

    type: Literal["parabolic-blends"] = "parabolic-blends"
    start: Annotated[tuple[float, ...], numbers("rad")]
    end: Annotated[tuple[float, ...], numbers("rad")]
    duration: Annotated[float, number("s", POSITIVE)]
    blend: Annotated[float, number("s", POSITIVE)]
    shaper: ShaperTable | None = None

    @model_validator(mode="after")
    def _blends_fit(self) -> Self:
        if 2 * self.blend > self.duration:
            raise Fault("blend", f"is {self.blend} s; it must be at most half of the duration, {self.duration} s")
        _check_ends(self.start, self.end)
        return self

    def made(self, arm: Arm) -> trajectory.Reference:
        """The reference itself."""
        return trajectory.ParabolicBlends(self.start, self.end, self.duration, self.blend)

    def widths(self) -> dict[str, int]:
        """How many joints each field is for."""
        return {"start": len(self.start), "end": len(self.end)}


@final
class QuinticMotion(Described):
    """From `start` to `end`, rate and acceleration continuous (Subudhi & Morris eq. 71)."""

    type: Literal["quintic"] = "quintic"
    start: Annotated[tuple[float, ...], numbers("rad")]
    end: Annotated[tuple[float, ...], numbers("rad")]
    duration: Annotated[float, number("s", POSITIVE)]
    shaper: ShaperTable | None = None

    @model_validator(mode="after")
    def _ends_fit(self) -> Self:
        _check_ends(self.start, self.end)
        return self

    def made(self, arm: Arm) -> trajectory.Reference:
        """The reference itself."""
        return trajectory.Quintic(self.start, self.end, self.duration)

    def widths(self) -> dict[str, int]:
        """How many joints each field is for."""
        return {"start": len(self.start), "end": len(self.end)}


@final
class MinimumJerkMotion(Described):
    """Through `points` at `times`, with the least jerk, from rest to rest."""

    type: Literal["minimum-jerk"] = "minimum-jerk"
    points: Annotated[tuple[tuple[float, ...], ...], rows]
    times: Annotated[tuple[float, ...], numbers("s")]
    shaper: ShaperTable | None = None

    @model_validator(mode="after")
    def _points_have_times(self) -> Self:
        _check_table(self.times, self.points, least=2, called="points")
        return self

    def made(self, arm: Arm) -> trajectory.Reference:
        """The reference itself."""
        return trajectory.MinimumJerk(self.points, self.times)

    def widths(self) -> dict[str, int]:
        """How many joints each field is for."""
        return {f"points[{i}]": len(point) for i, point in enumerate(self.points)}


@final
class TaskLineMotion(Described):
    """The tip of the rigid arm along a straight line, with the timing of a quintic.

    Without `start` it begins where the tip is at `q0`.
    """

    type: Literal["task-line"] = "task-line"
    start: Annotated[tuple[float, ...], numbers("m")] | None = None
    end: Annotated[tuple[float, ...], numbers("m")]
    duration: Annotated[float, number("s", POSITIVE)]
    axes: Annotated[str, fields.text] = "xy"
    q0: Annotated[tuple[float, ...], numbers("rad")] | None = None
    tolerance: Annotated[float, number("m", POSITIVE)] = 1e-9
    shaper: ShaperTable | None = None

    @model_validator(mode="after")
    def _begins_somewhere(self) -> Self:
        if self.start is None and self.q0 is None:
            raise Fault("start", "is missing; without it q0 says where the tip is")
        if len(self.axes) != len(self.end):
            raise Fault("axes", f"is {self.axes!r}; it must name as many as end has numbers, {len(self.end)}")
        return self

    def made(self, arm: Arm) -> trajectory.Reference:
        """The reference itself."""
        return trajectory.TaskLine(arm, self.start, self.end, self.duration, self.axes, self.q0, self.tolerance)

    def widths(self) -> dict[str, int]:
        """How many joints each field is for."""
        given = {"start": self.start, "end": self.end, "q0": self.q0}
        return {name: len(values) for name, values in given.items() if values is not None}


_MOTIONS = (CycloidalMotion, ParabolicMotion, QuinticMotion, MinimumJerkMotion, TaskLineMotion)
AnyMotion = Annotated[
    CycloidalMotion | ParabolicMotion | QuinticMotion | MinimumJerkMotion | TaskLineMotion,
    Field(discriminator="type"),
    kind(*_MOTIONS),
]


# -- inputs ------------------------------------------------------------------------------------------------------------


@final
class ConstantInput(Described):
    """The same force at each actuator all the time."""

    type: Literal["constant"] = "constant"
    values: Annotated[tuple[float, ...], numbers("N m")]

    def made(self, reference: trajectory.Reference | None) -> inputs.Input:
        """The input itself."""
        return inputs.constant(self.values)

    def widths(self) -> dict[str, int]:
        """How many actuators each field is for."""
        return {"values": len(self.values)}


@final
class BangBangInput(Described):
    """`amplitude` for `duration`, its opposite for as long, then nothing."""

    type: Literal["bang-bang"] = "bang-bang"
    amplitude: Annotated[tuple[float, ...], numbers("N m")]
    duration: Annotated[float, number("s", POSITIVE)]
    start: Annotated[float, number("s", FINITE)] = 0.0

    def made(self, reference: trajectory.Reference | None) -> inputs.Input:
        """The input itself."""
        return inputs.bang_bang(self.amplitude, self.duration, self.start)

    def widths(self) -> dict[str, int]:
        """How many actuators each field is for."""
        return {"amplitude": len(self.amplitude)}


@final
class PiecewiseInput(Described):
    """Constant values, each from its time on."""

    type: Literal["piecewise"] = "piecewise"
    times: Annotated[tuple[float, ...], numbers("s")]
    values: Annotated[tuple[tuple[float, ...], ...], rows]

    @model_validator(mode="after")
    def _rows_have_times(self) -> Self:
        _check_table(self.times, self.values, least=1)
        return self

    def made(self, reference: trajectory.Reference | None) -> inputs.Input:
        """The input itself."""
        return inputs.Piecewise(self.times, self.values)

    def widths(self) -> dict[str, int]:
        """How many actuators each field is for."""
        return {f"values[{i}]": len(row) for i, row in enumerate(self.values)}


@final
class TableInput(Described):
    """Values at given times, interpolated between them."""

    type: Literal["table"] = "table"
    times: Annotated[tuple[float, ...], numbers("s")]
    values: Annotated[tuple[tuple[float, ...], ...], rows]
    interpolation: Literal["cubic", "linear"] = "cubic"

    @model_validator(mode="after")
    def _rows_have_times(self) -> Self:
        _check_table(self.times, self.values, least=2)
        return self

    def made(self, reference: trajectory.Reference | None) -> inputs.Input:
        """The input itself."""
        return inputs.Table(self.times, self.values, self.interpolation)

    def widths(self) -> dict[str, int]:
        """How many actuators each field is for."""
        return {f"values[{i}]": len(row) for i, row in enumerate(self.values)}


@final
class RigidInverseDynamicsInput(Described):
    """The torques that would move the arm along the scenario's reference if it were rigid."""

    type: Literal["rigid-inverse-dynamics"] = "rigid-inverse-dynamics"

    def made(self, reference: trajectory.Reference | None) -> inputs.Input:
        """The input itself."""
        assert reference is not None  # the scenario has checked
        return inputs.RigidInverseDynamics(reference)

    def widths(self) -> dict[str, int]:
        """How many actuators each field is for."""
        return {}


@final
class PrescribedMotionInput(Described):
    """The joints follow the scenario's reference exactly."""

    type: Literal["prescribed-motion"] = "prescribed-motion"

    def made(self, reference: trajectory.Reference | None) -> inputs.Input:
        """The input itself."""
        assert reference is not None  # the scenario has checked
        return inputs.PrescribedMotion(reference)

    def widths(self) -> dict[str, int]:
        """How many actuators each field is for."""
        return {}


_INPUTS = (
    ConstantInput,
    BangBangInput,
    PiecewiseInput,
    TableInput,
    RigidInverseDynamicsInput,
    PrescribedMotionInput,
)
AnyInput = Annotated[
    ConstantInput | BangBangInput | PiecewiseInput | TableInput | RigidInverseDynamicsInput | PrescribedMotionInput,
    Field(discriminator="type"),
    kind(*_INPUTS),
]


# -- the scenario ------------------------------------------------------------------------------------------------------


@final
class Solver(Described):
    """How to integrate; the fields are arguments of `simulate`."""

    method: str = "dop853"
    rtol: Annotated[float, number("", POSITIVE)] = 1e-8
    atol: Annotated[float, number("", POSITIVE)] = 1e-10
    step: Annotated[float | None, fields.optional_number("s", POSITIVE)] = None

    @model_validator(mode="after")
    def _method_exists(self) -> Self:
        if self.method not in (*solvers.METHODS, "auto"):
            allowed = ", ".join(("auto", *solvers.METHODS))
            raise Fault("method", f"is {self.method!r}; it must be one of {allowed}")
        if self.method in solvers.FIXED and self.step is None:
            raise Fault("step", f"is missing; method {self.method!r} needs one")
        if self.method not in solvers.FIXED and self.step is not None:
            raise Fault("step", f"is {self.step} s; method {self.method!r} chooses its own: leave it out, or use 'rk4'")
        return self


@final
class Initial(Described):
    """State at t = 0: lists, or tables of the coordinates that are not zero."""

    q: Annotated[Any, BeforeValidator(_values)] = ()
    qd: Annotated[Any, BeforeValidator(_values)] = ()


def _samples(value: object) -> int:
    most = 10_000_000
    try:
        count = fields.checked_integer(value, most)
    except Fault:
        count = 0
    if count < 2:
        raise Fault("", f"is {fields.shown(value)}; it must be an integer from 2 to {most}")
    return count


@final
class Scenario(Described):
    """An arm in motion.

    Parameters
    ----------
    name : str
    arm : str or Arm
        Name of a bundled arm, path of an arm's .toml (from a scenario file: relative to that file), or the arm itself.
    until : float
        End [s].
    input : ConstantInput, BangBangInput, PiecewiseInput, TableInput or RigidInverseDynamicsInput
        Default: no forces.
    reference : CycloidalMotion, ParabolicMotion, QuinticMotion, MinimumJerkMotion or TaskLineMotion, optional
        Motion wanted of the joints, with a `shaper` or without.
    samples : int
        Times in the result.
    solver : Solver
    initial : Initial
    description : str
    """

    name: Annotated[str, fields.title]
    description: Annotated[str, fields.text] = ""
    arm: Any
    until: Annotated[float, number("s", POSITIVE)]
    samples: Annotated[int, BeforeValidator(_samples)] = 1001
    input: AnyInput | None = None
    reference: AnyMotion | None = None
    solver: Solver = Solver()
    initial: Initial = Initial()

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if not isinstance(self.arm, str | Arm):
            raise Fault("arm", f"is {fields.shown(self.arm)}; it must be a name, a path or an Arm")
        if isinstance(self.input, RigidInverseDynamicsInput | PrescribedMotionInput) and self.reference is None:
            raise Fault("reference", f"is missing; the input {self.input.type!r} follows it")
        if self.solver.step is not None and self.solver.step > self.until:
            raise Fault("solver.step", f"is {self.solver.step} s; it must be no longer than the run, {self.until} s")
        return self

    def loaded_arm(self) -> Arm:
        """The arm itself."""
        if isinstance(self.arm, Arm):
            return self.arm
        try:
            return load(self.arm)
        except DescriptionError as error:
            raise DescriptionError(f"arm: {error}") from None

    def check(self, arm: Arm) -> None:
        """Raise `DescriptionError` where inputs, reference or initial state do not fit the arm."""
        joints = [name for name in arm.coordinates if name.endswith(".joint")]
        wanted = [("input", self.input, arm.inputs), ("reference", self.reference, tuple(joints))]
        for key, given, names in wanted:
            for field, width in given.widths().items() if given else ():
                if width != len(names):
                    count = f"{width} number{'' if width == 1 else 's'}"
                    raise DescriptionError(f"{key}.{field} has {count}; it must have {_listed(names)}")
        if self.reference and self.reference.shaper:
            self.reference.shaper.check(arm.coordinates)
        for field, state in (("q", self.initial.q), ("qd", self.initial.qd)):
            _state(f"initial.{field}", state, arm.coordinates)

    def motion(self, model: Model) -> trajectory.Reference | None:
        """The reference itself, shaped if it is to be; it must have passed `check`."""
        if self.reference is None:
            return None
        try:
            reference = self.reference.made(model.arm)
            if self.reference.shaper is None:
                return reference
            return trajectory.shaped(reference, self.reference.shaper.made(model, reference, self.until))
        except DescriptionError as error:
            raise DescriptionError(f"reference: {error}") from None

    def run(self, model: Model | None = None, progress: Progress | bool = True) -> Any:
        """Simulate it; see `simulate`. The result is called by the scenario's name."""
        model = model or Model(self.loaded_arm())
        self.check(model.arm)
        reference = self.motion(model)
        return simulate(
            model,
            self.until,
            u=self.input.made(reference) if self.input else None,
            q0=_state("initial.q", self.initial.q, model.coordinates),
            qd0=_state("initial.qd", self.initial.qd, model.coordinates),
            method=self.solver.method,
            rtol=self.solver.rtol,
            atol=self.solver.atol,
            samples=self.samples,
            step=self.solver.step,
            reference=reference,
            progress=progress,
            name=self.name,
        )


def _state(name: str, given: Any, coordinates: tuple[str, ...]) -> Any:
    if not len(given):
        return None
    if not isinstance(given, Mapping):
        if len(given) != len(coordinates):
            raise DescriptionError(f"{name} has {_count(given)}; it must have {_listed(coordinates)}")
        return given
    unknown = [coordinate for coordinate in given if coordinate not in coordinates]
    if unknown:
        raise DescriptionError(f"{name}: no coordinate {unknown[0]!r}; there are {', '.join(coordinates)}")
    return [given.get(coordinate, 0.0) for coordinate in coordinates]


def _listed(names: tuple[str, ...]) -> str:
    return f"{len(names)}: {', '.join(names)}" if names else "none: the arm has no actuators"


def bundled_scenarios() -> tuple[str, ...]:
    """Names of the scenarios that come with the package, sorted."""
    files = (resources.files("flexarm.catalogue") / "scenarios").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def load_scenario(name_or_path: str | PathLike[str]) -> Scenario:
    """A bundled scenario by its name, or one from the path of a .toml file.

    Raises `DescriptionError`, one line that begins with the file's name.
    """
    given = fspath(name_or_path)
    file: Traversable = Path(given)
    folder: Path | None = Path(given).parent
    if isinstance(name_or_path, str) and Path(given).name == given and not given.endswith(".toml"):
        if given not in bundled_scenarios():
            known = ", ".join(bundled_scenarios())
            raise DescriptionError(f"unknown scenario {given!r}; bundled are {known}, or give the path of a .toml file")
        given += ".toml"
        file, folder = resources.files("flexarm.catalogue") / "scenarios" / given, None
    table = read_toml(file, given)
    if "links" in table:
        raise DescriptionError(f"{printable(given)}: this is an arm; a scenario names one by its key 'arm'")
    arm = table.get("arm")
    if folder is not None and isinstance(arm, str) and arm.endswith(".toml"):
        table["arm"] = str(folder / arm)
    try:
        scenario = Scenario(**table)
        scenario.check(scenario.loaded_arm())
    except DescriptionError as error:
        raise DescriptionError(f"{printable(given)}: {str(error).removeprefix('Scenario: ')}") from None
    return scenario
