"""Sensors at joints: coordinates, their rates, outputs of motors and transmissions."""

from typing import Annotated, Any, ClassVar, Literal, final

from flexarm import checks
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError
from flexarm.model import signal
from flexarm.sensors.places import check_coordinate, coordinate_unit, linked, measured, place
from flexarm.sensors.sampling import Sampling


@final
class Encoder(Sampling):
    """The angle of a joint, or the length of a slide [rad or m].

    Parameters
    ----------
    coordinate : str
        `"upper.drive"` is the coordinate on which the actuator acts: the motor of an elastic joint, or the hub. If
        shapes have a slope at the hub, the hub turns by joint + slope (Lin & Lewis: B' q). `"upper.hub"` is the same on
        the link's side of the spring. It may also be any coordinate of the arm by its name, such as `"upper.joint"`,
        `"upper.motor"`, or on a free base `"base.x"`, `"base.qw"`.

    Notes
    -----
    Angles are those of the joint. An encoder on the motor's shaft measures `gear_ratio` times these angles, so its
    resolution here is 2 pi / (counts gear_ratio).
    """

    type: Literal["encoder"] = "encoder"
    coordinate: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """Return one signal, named like the coordinate: `upper_drive`."""
        check_coordinate(type(self).__name__, self.coordinate, arm)
        return (self.name or signal(self.coordinate),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """Return [rad] or [m]."""
        return (coordinate_unit(arm, self.coordinate),)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Return the coordinate."""
        return [measured(self.coordinate, arm, chain, q)]


@final
class Tachometer(Sampling):
    """The rate of a coordinate [rad/s or m/s].

    Parameters
    ----------
    coordinate : str
        As in an `Encoder`; on a free base one of its rates, `"base.vx"`, `"base.wz"`, along its own axes.
    """

    type: Literal["tachometer"] = "tachometer"
    coordinate: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """Return one signal: `upper_drive_rate`, `base_vx`."""
        check_coordinate(type(self).__name__, self.coordinate, arm, of_rates=True)
        own = "" if self.coordinate in arm.velocities[: arm.twists] else "_rate"
        return (self.name or signal(self.coordinate) + own,)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """Return [rad/s] or [m/s]."""
        check_coordinate(type(self).__name__, self.coordinate, arm, of_rates=True)
        if self.coordinate in (turning := arm.velocities[: arm.twists]):
            return (arm.rate_units[turning.index(self.coordinate)],)
        return (coordinate_unit(arm, self.coordinate) + "/s",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Return the rate. The coordinate is linear in q, so its rate is the same function of qd."""
        if self.coordinate in (turning := arm.velocities[: arm.twists]):
            return [qd[turning.index(self.coordinate)]]
        return [measured(self.coordinate, arm, chain, qd)]


class OfMotor(Sampling):
    """A sensor of the motor of a joint: a function of the inputs and of the drives' states, not of qdd."""

    link: Annotated[str, checks.text]
    column: ClassVar[int]

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Raise `DescriptionError`, because the reading is no function of q, qd and qdd."""
        must = "its value depends on u and on states of drives: use outputs(...).values or sampled"
        raise DescriptionError(f"{type(self).__name__}: link {self.link!r}: {must}")

    def input(self, arm: Arm) -> int:
        """Index of the motor's input in u."""
        link = linked(self, self.link, arm)
        if not link.joint.actuated:
            raise DescriptionError(f"{type(self).__name__}: link {self.link!r} has a joint without a motor")
        return [each.name for each in arm.links if each.joint.actuated].index(link.name)


@final
class MotorTorque(OfMotor):
    """Torque of the motor of a joint, on the joint's side and before the losses of the gear [N m or N].

    Parameters
    ----------
    link : str
    """

    type: Literal["motor-torque"] = "motor-torque"
    column: ClassVar[int] = 0

    def names(self, arm: Arm) -> tuple[str, ...]:
        """Return one signal: `upper_motor_torque`."""
        self.input(arm)
        return (self.name or signal(f"{self.link}_motor_torque"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """Return [N m] or [N]."""
        return (linked(self, self.link, arm).joint.effort_unit,)


@final
class MotorCurrent(OfMotor):
    """Current of the motor of a joint [A]. The motor's description must have a torque constant.

    Parameters
    ----------
    link : str
    """

    type: Literal["motor-current"] = "motor-current"
    column: ClassVar[int] = 1

    def names(self, arm: Arm) -> tuple[str, ...]:
        """Return one signal: `upper_motor_current`."""
        self.input(arm)
        drive = getattr(linked(self, self.link, arm).joint, "drive", None)
        if drive is None or drive.motor is None or drive.motor.torque_constant is None:
            raise DescriptionError(f"MotorCurrent: link {self.link!r} has no motor with a torque_constant")
        return (self.name or signal(f"{self.link}_motor_current"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """Return [A]."""
        return ("A",)


@final
class JointTorque(Sampling):
    """Torque in the transmission of an elastic joint, as a sensor behind its gear measures it [N m or N].

    It is the torque of its springs on the link, with table, cubic term and backlash, and of the joint's
    `spring_damping`. It does not include the torque of a hysteresis or of the damping of a `Spring`.

    Parameters
    ----------
    link : str
    """

    type: Literal["joint-torque"] = "joint-torque"
    link: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """Return one signal: `upper_joint_torque`."""
        self._motor(arm)
        return (self.name or signal(f"{self.link}_joint_torque"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """Return [N m] or [N]."""
        return (linked(self, self.link, arm).joint.effort_unit,)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Return the stiffness and damping force on the motor's coordinate."""
        from flexarm.mechanics.dynamics import damping_force
        from flexarm.mechanics.quantities import stiffness_force

        motor = self._motor(arm)
        return [stiffness_force(chain, q)[motor] + damping_force(chain, q, qd)[motor]]

    def _motor(self, arm: Arm) -> int:
        """Index of the motor's coordinate."""
        i = place(self, self.link, arm)
        for joint, motor in arm.springs:
            if arm.layout[joint].link == i:
                return motor
        raise DescriptionError(f"JointTorque: link {self.link!r} has no elastic joint; give it a stiffness")
