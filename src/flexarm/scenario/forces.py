"""Inputs in a scenario's file."""

from typing import Annotated, Literal, Self, final

from pydantic import Field, model_validator

from flexarm import trajectory
from flexarm.checks import FINITE, POSITIVE, Described, number, numbers, one_of
from flexarm.errors import DescriptionError
from flexarm.scenario.tables import check_table, rows
from flexarm.simulation import inputs


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
        check_table(self.times, self.values, least=1)
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
        check_table(self.times, self.values, least=2)
        return self

    def made(self, reference: trajectory.Reference | None) -> inputs.Input:
        """The input itself."""
        return inputs.Table(self.times, self.values, self.interpolation)

    def widths(self) -> dict[str, int]:
        """How many actuators each field is for."""
        return {f"values[{i}]": len(row) for i, row in enumerate(self.values)}


def _followed(kind: str, reference: trajectory.Reference | None) -> trajectory.Reference:
    if reference is None:
        raise DescriptionError(f"reference is missing; the input {kind!r} follows it")
    return reference


@final
class RigidInverseDynamicsInput(Described):
    """The torques that would move the arm along the scenario's reference if it were rigid."""

    type: Literal["rigid-inverse-dynamics"] = "rigid-inverse-dynamics"

    def made(self, reference: trajectory.Reference | None) -> inputs.Input:
        """The input itself."""
        return inputs.RigidInverseDynamics(_followed(self.type, reference))

    def widths(self) -> dict[str, int]:
        """How many actuators each field is for."""
        return {}


@final
class PrescribedMotionInput(Described):
    """The joints follow the scenario's reference exactly."""

    type: Literal["prescribed-motion"] = "prescribed-motion"

    def made(self, reference: trajectory.Reference | None) -> inputs.Input:
        """The input itself."""
        return inputs.PrescribedMotion(_followed(self.type, reference))

    def widths(self) -> dict[str, int]:
        """How many actuators each field is for."""
        return {}


@final
class OptimalTorquesInput(Described):
    """The torques that the scenario's reference, an optimal motion, has been found with; nothing is fed back."""

    type: Literal["optimal-torques"] = "optimal-torques"

    def made(self, reference: trajectory.Reference | None) -> inputs.Input:
        """The input itself."""
        torques = getattr(_followed(self.type, reference), "torques", None)
        if torques is None:
            raise DescriptionError(f"reference is no optimal motion; the input {self.type!r} has its torques")
        return torques  # type: ignore[no-any-return]

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
    OptimalTorquesInput,
)
AnyInput = Annotated[
    ConstantInput
    | BangBangInput
    | PiecewiseInput
    | TableInput
    | RigidInverseDynamicsInput
    | PrescribedMotionInput
    | OptimalTorquesInput,
    Field(discriminator="type"),
    one_of(*_INPUTS),
]
