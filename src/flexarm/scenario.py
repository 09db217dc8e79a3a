"""A scenario: an arm, what drives it, for how long, and how it is integrated; from Python or from a TOML file."""

from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Any, Literal, Self, final

from pydantic import BeforeValidator, Field, model_validator

from flexarm import fields, inputs, solvers
from flexarm.arm import Arm
from flexarm.catalogue import load, printable, read_toml
from flexarm.errors import DescriptionError
from flexarm.fields import FINITE, POSITIVE, Described, Fault, checked_number, checked_numbers, kind, number, numbers
from flexarm.model import Model
from flexarm.simulate import Progress, simulate


def _rows(value: object) -> tuple[tuple[float, ...], ...]:
    items = fields.checked_list(value, "a list of rows, one number an actuator")
    return tuple(
        checked_numbers(row, part=f"[{i}]")
        if isinstance(row, list | tuple)
        else (checked_number(row, part=f"[{i}]"),)
        for i, row in enumerate(items)
    )


rows = BeforeValidator(_rows)


# -- references and inputs ---------------------------------------------------------------------------------------------


@final
class CycloidalMotion(Described):
    """theta_i = k_i (t - T_i / pi sin(pi t / T_i)) for each joint (Mohan & Saha eq. 44)."""

    type: Literal["cycloidal"] = "cycloidal"
    rates: Annotated[tuple[float, ...], numbers("rad/s")]
    periods: Annotated[tuple[float, ...], numbers("s", POSITIVE)]

    def made(self) -> inputs.Reference:
        """The reference itself."""
        return inputs.Cycloidal(self.rates, self.periods)


@final
class ConstantInput(Described):
    """The same force at each actuator all the time."""

    type: Literal["constant"] = "constant"
    values: Annotated[tuple[float, ...], numbers("N m")]

    def made(self, reference: inputs.Reference | None) -> inputs.Input:
        """The input itself."""
        return inputs.constant(self.values)


@final
class BangBangInput(Described):
    """`amplitude` for `duration`, its opposite for as long, then nothing."""

    type: Literal["bang-bang"] = "bang-bang"
    amplitude: Annotated[tuple[float, ...], numbers("N m")]
    duration: Annotated[float, number("s", POSITIVE)]
    start: Annotated[float, number("s", FINITE)] = 0.0

    def made(self, reference: inputs.Reference | None) -> inputs.Input:
        """The input itself."""
        return inputs.bang_bang(self.amplitude, self.duration, self.start)


@final
class PiecewiseInput(Described):
    """Constant values, each from its time on."""

    type: Literal["piecewise"] = "piecewise"
    times: Annotated[tuple[float, ...], numbers("s")]
    values: Annotated[tuple[tuple[float, ...], ...], rows]

    def made(self, reference: inputs.Reference | None) -> inputs.Input:
        """The input itself."""
        return inputs.Piecewise(self.times, self.values)


@final
class TableInput(Described):
    """Values at given times, interpolated between them."""

    type: Literal["table"] = "table"
    times: Annotated[tuple[float, ...], numbers("s")]
    values: Annotated[tuple[tuple[float, ...], ...], rows]
    interpolation: Literal["cubic", "linear"] = "cubic"

    def made(self, reference: inputs.Reference | None) -> inputs.Input:
        """The input itself."""
        return inputs.Table(self.times, self.values, self.interpolation)


@final
class RigidInverseDynamicsInput(Described):
    """The torques that would move the arm along the scenario's reference if it were rigid."""

    type: Literal["rigid-inverse-dynamics"] = "rigid-inverse-dynamics"

    def made(self, reference: inputs.Reference | None) -> inputs.Input:
        """The input itself."""
        assert reference is not None  # the scenario has checked
        return inputs.RigidInverseDynamics(reference)


_INPUTS = (ConstantInput, BangBangInput, PiecewiseInput, TableInput, RigidInverseDynamicsInput)
AnyInput = Annotated[
    ConstantInput | BangBangInput | PiecewiseInput | TableInput | RigidInverseDynamicsInput,
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
        if (self.method in solvers.FIXED) != (self.step is not None):
            raise Fault("step", f"is {self.step}; method 'rk4' needs one and the others choose their own")
        return self


def _values(value: object) -> Any:
    """A list of numbers, or a table coordinate -> number."""
    if isinstance(value, Mapping):
        return {str(name): checked_number(x, part=f"{name}") for name, x in value.items()}
    return checked_numbers(value)


@final
class Initial(Described):
    """State at t = 0: lists, or tables of the coordinates that are not zero."""

    q: Annotated[Any, BeforeValidator(_values)] = {}
    qd: Annotated[Any, BeforeValidator(_values)] = {}


def _samples(value: object) -> int:
    count = fields.checked_integer(value, 10_000_000)
    if count < 2:
        raise Fault("", f"is {count}; it must be at least 2")
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
    reference : CycloidalMotion, optional
        Motion wanted of the joints.
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
    reference: CycloidalMotion | None = None
    solver: Solver = Solver()
    initial: Initial = Initial()

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if not isinstance(self.arm, str | Arm):
            raise Fault("arm", f"is {fields.shown(self.arm)}; it must be a name, a path or an Arm")
        if isinstance(self.input, RigidInverseDynamicsInput) and self.reference is None:
            raise Fault("reference", "is missing; the input 'rigid-inverse-dynamics' follows it")
        return self

    def loaded_arm(self) -> Arm:
        """The arm itself."""
        return self.arm if isinstance(self.arm, Arm) else load(self.arm)

    def run(self, model: Model | None = None, progress: Progress | bool = True) -> Any:
        """Simulate it; see `simulate`. The result is called by the scenario's name."""
        model = model or Model(self.loaded_arm())
        reference = self.reference.made() if self.reference else None
        return simulate(
            model,
            self.until,
            u=self.input.made(reference) if self.input else None,
            q0=_state("initial.q", self.initial.q, model),
            qd0=_state("initial.qd", self.initial.qd, model),
            method=self.solver.method,
            rtol=self.solver.rtol,
            atol=self.solver.atol,
            samples=self.samples,
            step=self.solver.step,
            reference=reference,
            progress=progress,
            name=self.name,
        )


def _state(name: str, given: Any, model: Model) -> Any:
    if not isinstance(given, Mapping):
        if len(given) != len(model.coordinates):
            names = ", ".join(model.coordinates)
            raise DescriptionError(f"{name} has {len(given)} numbers; it must have {len(model.coordinates)}: {names}")
        return given
    unknown = [coordinate for coordinate in given if coordinate not in model.coordinates]
    if unknown:
        raise DescriptionError(f"{name}: no coordinate {unknown[0]!r}; there are {', '.join(model.coordinates)}")
    return [given.get(coordinate, 0.0) for coordinate in model.coordinates]


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
        return Scenario(**table)
    except DescriptionError as error:
        raise DescriptionError(f"{printable(given)}: {str(error).removeprefix('Scenario: ')}") from None
