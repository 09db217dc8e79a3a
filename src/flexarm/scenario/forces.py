"""Inputs in the file of a scenario."""

from typing import Annotated, ClassVar, Literal, Self, final

from pydantic import Field, model_validator

from flexarm import trajectory
from flexarm.checks import FINITE, POSITIVE, number, numbers, one_of
from flexarm.errors import DescriptionError
from flexarm.scenario.tables import Measured, check_table, rows
from flexarm.simulation import inputs


class _Input(Measured):
    """An input u of a run."""

    type: str

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        """Return the input itself."""
        raise NotImplementedError


@final
class ConstantInput(_Input):
    """The same constant force at each actuator."""

    measured: ClassVar[tuple[str, ...]] = ("values",)
    type: Literal["constant"] = "constant"
    values: Annotated[tuple[float, ...], numbers("N m")]

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        return inputs.constant(self.values)


@final
class BangBangInput(_Input):
    """`amplitude` for `duration`, then the opposite for the same time, then zero."""

    measured: ClassVar[tuple[str, ...]] = ("amplitude",)
    type: Literal["bang-bang"] = "bang-bang"
    amplitude: Annotated[tuple[float, ...], numbers("N m")]
    duration: Annotated[float, number("s", POSITIVE)]
    start: Annotated[float, number("s", FINITE)] = 0.0

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        return inputs.bang_bang(self.amplitude, self.duration, self.start)


@final
class PiecewiseInput(_Input):
    """Constant values, each from its time on."""

    measured: ClassVar[tuple[str, ...]] = ("values",)
    type: Literal["piecewise"] = "piecewise"
    times: Annotated[tuple[float, ...], numbers("s")]
    values: Annotated[tuple[tuple[float, ...], ...], rows]

    @model_validator(mode="after")
    def _rows_have_times(self) -> Self:
        check_table(self.times, self.values, least=1)
        return self

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        return inputs.Piecewise(self.times, self.values)


@final
class TableInput(_Input):
    """Values at given times, with interpolation between them."""

    measured: ClassVar[tuple[str, ...]] = ("values",)
    type: Literal["table"] = "table"
    times: Annotated[tuple[float, ...], numbers("s")]
    values: Annotated[tuple[tuple[float, ...], ...], rows]
    interpolation: Literal["cubic", "linear"] = "cubic"

    @model_validator(mode="after")
    def _rows_have_times(self) -> Self:
        check_table(self.times, self.values, least=2)
        return self

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        return inputs.Table(self.times, self.values, self.interpolation)


def _followed(kind: str, reference: trajectory.Reference | None) -> trajectory.Reference:
    if reference is None:
        raise DescriptionError(f"reference is missing; the input {kind!r} needs it")
    return reference


@final
class RigidInverseDynamicsInput(_Input):
    """Torques that would move a rigid arm along the scenario's reference."""

    type: Literal["rigid-inverse-dynamics"] = "rigid-inverse-dynamics"

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        return inputs.RigidInverseDynamics(_followed(self.type, reference))


@final
class PrescribedMotionInput(_Input):
    """Exact motion of the joints along the scenario's reference."""

    type: Literal["prescribed-motion"] = "prescribed-motion"

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        return inputs.PrescribedMotion(_followed(self.type, reference))


@final
class OptimalTorquesInput(_Input):
    """Torques of the scenario's reference, which must be an optimal motion, without feedback."""

    type: Literal["optimal-torques"] = "optimal-torques"

    def made(self, reference: trajectory.Reference | None) -> inputs.Block:
        torques = getattr(_followed(self.type, reference), "torques", None)
        if torques is None:
            raise DescriptionError(f"reference is not an optimal motion, whose torques the input {self.type!r} needs")
        return torques  # type: ignore[no-any-return]


Inputs = (
    ConstantInput
    | BangBangInput
    | PiecewiseInput
    | TableInput
    | RigidInverseDynamicsInput
    | PrescribedMotionInput
    | OptimalTorquesInput
)
AnyInput = Annotated[Inputs, Field(discriminator="type"), one_of(Inputs)]
