"""Inputs in the file of a scenario."""

from typing import Annotated, Literal, Self, final

from pydantic import Field, model_validator

from flexarm import trajectory
from flexarm.checks import FINITE, POSITIVE, Described, number, numbers, one_of
from flexarm.errors import DescriptionError
from flexarm.scenario.tables import check_table, rows
from flexarm.simulation import inputs


@final
class ConstantInput(Described):
    """The same constant force at each actuator."""

    type: Literal["constant"] = "constant"
    values: Annotated[tuple[float, ...], numbers("N m")]

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        """Return the input itself."""
        return inputs.constant(self.values)

    def widths(self) -> dict[str, int]:
        """Return the number of actuators of each field."""
        return {"values": len(self.values)}


@final
class BangBangInput(Described):
    """`amplitude` for `duration`, then the opposite for the same time, then zero."""

    type: Literal["bang-bang"] = "bang-bang"
    amplitude: Annotated[tuple[float, ...], numbers("N m")]
    duration: Annotated[float, number("s", POSITIVE)]
    start: Annotated[float, number("s", FINITE)] = 0.0

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        """Return the input itself."""
        return inputs.bang_bang(self.amplitude, self.duration, self.start)

    def widths(self) -> dict[str, int]:
        """Return the number of actuators of each field."""
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

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        """Return the input itself."""
        return inputs.Piecewise(self.times, self.values)

    def widths(self) -> dict[str, int]:
        """Return the number of actuators of each field."""
        return {f"values[{i}]": len(row) for i, row in enumerate(self.values)}


@final
class TableInput(Described):
    """Values at given times, with interpolation between them."""

    type: Literal["table"] = "table"
    times: Annotated[tuple[float, ...], numbers("s")]
    values: Annotated[tuple[tuple[float, ...], ...], rows]
    interpolation: Literal["cubic", "linear"] = "cubic"

    @model_validator(mode="after")
    def _rows_have_times(self) -> Self:
        check_table(self.times, self.values, least=2)
        return self

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        """Return the input itself."""
        return inputs.Table(self.times, self.values, self.interpolation)

    def widths(self) -> dict[str, int]:
        """Return the number of actuators of each field."""
        return {f"values[{i}]": len(row) for i, row in enumerate(self.values)}


def _followed(kind: str, reference: trajectory.Reference | None) -> trajectory.Reference:
    if reference is None:
        raise DescriptionError(f"reference is missing; the input {kind!r} needs it")
    return reference


@final
class RigidInverseDynamicsInput(Described):
    """Torques that would move a rigid arm along the scenario's reference."""

    type: Literal["rigid-inverse-dynamics"] = "rigid-inverse-dynamics"

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        """Return the input itself."""
        return inputs.RigidInverseDynamics(_followed(self.type, reference))

    def widths(self) -> dict[str, int]:
        """Return the number of actuators of each field."""
        return {}


@final
class PrescribedMotionInput(Described):
    """Exact motion of the joints along the scenario's reference."""

    type: Literal["prescribed-motion"] = "prescribed-motion"

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        """Return the input itself."""
        return inputs.PrescribedMotion(_followed(self.type, reference))

    def widths(self) -> dict[str, int]:
        """Return the number of actuators of each field."""
        return {}


@final
class OptimalTorquesInput(Described):
    """Torques of the scenario's reference, which must be an optimal motion, without feedback."""

    type: Literal["optimal-torques"] = "optimal-torques"

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        """Return the input itself."""
        torques = getattr(_followed(self.type, reference), "torques", None)
        if torques is None:
            raise DescriptionError(f"reference is not an optimal motion, whose torques the input {self.type!r} needs")
        return torques  # type: ignore[no-any-return]

    def widths(self) -> dict[str, int]:
        """Return the number of actuators of each field."""
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
