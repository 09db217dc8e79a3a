"""Motors: the conversion of an input into a torque at the joint."""

from typing import Annotated, Literal, Self, final

from pydantic import BeforeValidator, model_validator

from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    Described,
    Fault,
    Rule,
    counted,
    number,
    numbers,
    optional_number,
    shown,
)
from flexarm.description.parts import EFFORT, RATE, Part

SHARE: Rule = ("above 0 and at most 1", lambda x: 0 < x <= 1)


def _table(value: object) -> object:
    """Return a curve unchanged. A list of pairs is rejected, because it does not show which entry is the speed."""
    if value is not None and not isinstance(value, dict | TorqueSpeed):
        raise Fault("", f"is {shown(value)}; it must be a table such as {{speed = [0.0, 2.0], torque = [90.0, 40.0]}}")
    return value


@final
class TorqueSpeed(Described):
    """Largest torque of a motor in the direction in which it turns, piecewise linear in the speed.

    Parameters
    ----------
    speed : (k,)
        Speeds in ascending order, not negative [rad/s or m/s]. The first torque is available below the first speed and
        while the motor brakes. The last torque is available above the last speed.
    torque : (k,)
        Largest torque at each speed [N m or N].
    """

    speed: Annotated[tuple[float, ...], numbers(RATE, NOT_NEGATIVE)]
    torque: Annotated[tuple[float, ...], numbers(EFFORT, NOT_NEGATIVE)]

    @model_validator(mode="after")
    def _is_a_curve(self) -> Self:
        if any(b <= a for a, b in zip(self.speed, self.speed[1:], strict=False)):
            raise Fault("speed", f"is {list(self.speed)}; it must increase")
        if len(self.torque) != len(self.speed):
            raise Fault(
                "torque", f"has {counted(len(self.torque), 'number')}; it must have {len(self.speed)}, one per speed"
            )
        if self.torque[0] <= 0.0:
            raise Fault("torque", f"begins with {self.torque[0]}; it must begin with a positive number")
        return self


@final
class Motor(Part):
    """A motor and its gear, which convert an input into a torque (or force) along the coordinate that the actuator
    moves.

    Limits refer to the joint side of the gear. The rotor's inertia is the joint's `rotor_inertia`.

    Parameters
    ----------
    input : "torque" or "voltage"
        Kind of input: torque or force on the joint side [N m or N], or voltage of the winding [V].
    torque_constant : float, optional
        Torque constant of the motor, k_t [N m/A]. Required for a voltage input.
    back_emf_constant : float, optional
        Back-EMF constant k_e [V s/rad]. Default: k_t, as conservation of energy requires. With another value the
        difference counts as loss.
    resistance : float, optional
        Resistance R of the winding [ohm]. Required for a voltage input.
    inductance : float, optional
        Inductance L of the winding [H]. With it the current is a state, L di/dt = V - R i - k_e G v. Without it i = (V
        - k_e G v) / R.
    voltage_limit : float, optional
        Voltage limit of the amplifier [V].
    torque_limit : float, optional
        Torque limit [N m or N]. For a voltage input it is a limit of the current, for which the amplifier reduces its
        voltage. It is not allowed with inductance, since a current that is a state cannot be cut off. Limit the
        controller's output instead.
    speed_limit : float, optional
        Largest speed of a motor with a torque input [rad/s or m/s]. The available torque in the direction of motion
        falls linearly from `stall_torque` at rest to zero at this speed.
    stall_torque : float, optional
        Torque at rest of the line of `speed_limit` [N m or N]. Default: `torque_limit`. It may be larger than
        `torque_limit`: the available torque is then the smaller of both.
    torque_speed : TorqueSpeed, optional
        Torque-speed curve in place of the line of `speed_limit`.
    saturation : "smooth" or "sharp"
        Form of all limits, see `saturation_width`. Smooth limits can be differentiated any number of times. At a sharp
        limit the slope jumps from 1 to 0.
    saturation_width : float
        Width of the transition to a smooth limit, as a share of the limit. The smooth limit deviates from the sharp one
        by at most this share.
    efficiency : float
        Efficiency of the gear when the motor drives: torque at the joint over torque of the motor.
    back_efficiency : float, optional
        Efficiency when the joint drives the motor: torque of the motor over torque at the joint. Default: `efficiency`.
    efficiency_rate : float
        Rate over which the loss sets in, by tanh [rad/s or m/s]. At lower rates the gear loses less.
    """

    input: Literal["torque", "voltage"] = "torque"
    torque_constant: Annotated[float | None, optional_number("N m/A", POSITIVE)] = None
    back_emf_constant: Annotated[float | None, optional_number("V s/rad", NOT_NEGATIVE)] = None
    resistance: Annotated[float | None, optional_number("ohm", POSITIVE)] = None
    inductance: Annotated[float | None, optional_number("H", POSITIVE)] = None
    voltage_limit: Annotated[float | None, optional_number("V", POSITIVE)] = None
    torque_limit: Annotated[float | None, optional_number(EFFORT, POSITIVE)] = None
    speed_limit: Annotated[float | None, optional_number(RATE, POSITIVE)] = None
    stall_torque: Annotated[float | None, optional_number(EFFORT, POSITIVE)] = None
    torque_speed: Annotated[TorqueSpeed | None, BeforeValidator(_table)] = None
    saturation: Literal["smooth", "sharp"] = "smooth"
    saturation_width: Annotated[float, number("", SHARE)] = 0.01
    efficiency: Annotated[float, number("", SHARE)] = 1.0
    back_efficiency: Annotated[float | None, optional_number("", SHARE)] = None
    efficiency_rate: Annotated[float, number(RATE, POSITIVE)] = 0.01

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        electrical = ("torque_constant", "resistance", "back_emf_constant", "inductance", "voltage_limit")
        mechanical = ("speed_limit", "stall_torque", "torque_speed")
        if self.input == "voltage":
            for name in electrical[:2]:
                if getattr(self, name) is None:
                    raise Fault(name, "is missing; a motor with input = 'voltage' needs it")
            for name in mechanical:
                if getattr(self, name) is not None:
                    raise Fault(name, "is given, but follows from the back-EMF with input = 'voltage'; leave it out")
            if self.inductance is not None and self.torque_limit is not None:
                raise Fault(
                    "torque_limit", "is given together with inductance; limit the current in the controller instead"
                )
            return self
        for name in ("back_emf_constant", "resistance", "inductance", "voltage_limit"):
            if getattr(self, name) is not None:
                raise Fault(name, 'is given; it applies only to input = "voltage"')
        if self.torque_speed is not None and (self.speed_limit is not None or self.stall_torque is not None):
            raise Fault(
                "torque_speed",
                "is given together with speed_limit or stall_torque; give either this curve or their line",
            )
        if self.speed_limit is None and self.stall_torque is not None:
            raise Fault("stall_torque", "is given without speed_limit; the torque-speed line needs both")
        if self.speed_limit is not None and self.torque_limit is None and self.stall_torque is None:
            raise Fault("stall_torque", "is missing; speed_limit needs it (or torque_limit) for the torque-speed line")
        return self

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of the current, if there is an inductance."""
        return (("current", "A"),) if self.inductance is not None else ()

    def input_at_rest(self, effort: float, gear_ratio: float) -> float:
        """Return the input for a force or a torque at rest, without limits. At rest a gear has no loss."""
        if self.torque_constant is None or self.resistance is None:
            return effort
        return self.resistance * effort / (self.torque_constant * gear_ratio)
