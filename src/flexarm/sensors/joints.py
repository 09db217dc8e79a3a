"""What is measured at joints: coordinates, their rates, what motors and transmissions give."""

from typing import Annotated, Any, ClassVar, Literal, final

from flexarm import checks
from flexarm.description.arm import Arm
from flexarm.description.free import TWIST, TWIST_UNITS
from flexarm.errors import DescriptionError
from flexarm.model import signal
from flexarm.sensors.places import check_coordinate, coordinate_unit, measured, place
from flexarm.sensors.sampling import Sampling


@final
class Encoder(Sampling):
    """The angle of a joint, or the length of a slide [rad or m].

    Parameters
    ----------
    coordinate : str
        `"upper.drive"`: what the actuator turns, whatever that is: the motor of an elastic joint, or the hub, which
        where shapes have a slope at the hub turns by joint + slope (Lin & Lewis: B' q). `"upper.hub"`: the same on the
        link's side of the spring. Or any coordinate of the arm by its name, as `"upper.joint"`, `"upper.motor"`, and of
        a free base `"base.x"`, `"base.qw"`.

    Notes
    -----
    Angles are those of the joint. One that counts on the motor's shaft sees them `gear_ratio` times: its resolution
    here is 2 pi / (counts gear_ratio).
    """

    type: Literal["encoder"] = "encoder"
    coordinate: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal, called like the coordinate: `upper_drive`."""
        check_coordinate(type(self).__name__, self.coordinate, arm)
        return (self.name or signal(self.coordinate),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[rad] or [m]."""
        return (coordinate_unit(arm, self.coordinate),)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """The coordinate."""
        return [measured(self.coordinate, arm, chain, q)]


@final
class Tachometer(Sampling):
    """The rate of a coordinate [rad/s or m/s].

    Parameters
    ----------
    coordinate : str
        As that of an `Encoder`; of a free base one of its rates, `"base.vx"`, `"base.wz"`, along its own axes.
    """

    type: Literal["tachometer"] = "tachometer"
    coordinate: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_drive_rate`, `base_vx`."""
        check_coordinate(type(self).__name__, self.coordinate, arm, of_rates=True)
        own = "" if self.coordinate in TWIST else "_rate"
        return (self.name or signal(self.coordinate) + own,)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[rad/s] or [m/s]."""
        check_coordinate(type(self).__name__, self.coordinate, arm, of_rates=True)
        if arm.free and self.coordinate in TWIST:
            return (TWIST_UNITS[TWIST.index(self.coordinate)],)
        return (coordinate_unit(arm, self.coordinate) + "/s",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """The coordinate is linear in q, and its rate the same of qd."""
        if arm.free and self.coordinate in TWIST:
            return [qd[TWIST.index(self.coordinate)]]
        return [measured(self.coordinate, arm, chain, qd)]


class OfMotor(Sampling):
    """What is measured of the motor of a joint: a function of the inputs and of the drives' states, not of qdd."""

    link: Annotated[str, checks.text]
    column: ClassVar[int]

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """There is none of q, qd and qdd: raises `DescriptionError`."""
        must = "it is a function of u and of the drives' states: read it by outputs(...).values or sampled"
        raise DescriptionError(f"{type(self).__name__}: link {self.link!r}: {must}")

    def input(self, arm: Arm) -> int:
        """The place of its motor's input in u."""
        link = arm.links[place(self, self.link, arm)]
        if not link.joint.moves:
            raise DescriptionError(f"{type(self).__name__}: link {self.link!r} has a joint without a motor")
        return [each.name for each in arm.links if each.joint.moves].index(link.name)


@final
class MotorTorque(OfMotor):
    """Torque of the motor of a joint, on the joint's side and before the gear has lost any of it [N m or N].

    Parameters
    ----------
    link : str
    """

    type: Literal["motor-torque"] = "motor-torque"
    column: ClassVar[int] = 0

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_motor_torque`."""
        self.input(arm)
        return (self.name or signal(f"{self.link}_motor_torque"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[N m] or [N]."""
        return (arm.links[place(self, self.link, arm)].joint.effort_unit,)


@final
class MotorCurrent(OfMotor):
    """Current of the motor of a joint [A], whose description must have a torque constant.

    Parameters
    ----------
    link : str
    """

    type: Literal["motor-current"] = "motor-current"
    column: ClassVar[int] = 1

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_motor_current`."""
        self.input(arm)
        drive = getattr(arm.links[place(self, self.link, arm)].joint, "drive", None)
        if drive is None or drive.motor is None or drive.motor.torque_constant is None:
            raise DescriptionError(f"MotorCurrent: link {self.link!r} has no motor with a torque_constant")
        return (self.name or signal(f"{self.link}_motor_current"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[A]"""
        return ("A",)


@final
class JointTorque(Sampling):
    """Torque in the transmission of an elastic joint, as a sensor behind its gear has it [N m or N].

    What its springs give the link, table, cubic and play included, and the joint's `spring_damping`; not what a
    hysteresis or the damping of a `Spring` adds.

    Parameters
    ----------
    link : str
    """

    type: Literal["joint-torque"] = "joint-torque"
    link: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_joint_torque`."""
        self._motor(arm)
        return (self.name or signal(f"{self.link}_joint_torque"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[N m] or [N]."""
        return (arm.links[place(self, self.link, arm)].joint.effort_unit,)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Stiffness and damping force on the motor's coordinate."""
        from flexarm.mechanics.dynamics import damping_force
        from flexarm.mechanics.quantities import stiffness_force

        motor = self._motor(arm)
        return [stiffness_force(chain, q)[motor] + damping_force(chain, q, qd)[motor]]

    def _motor(self, arm: Arm) -> int:
        """The place of the motor's coordinate."""
        i = place(self, self.link, arm)
        for joint, motor in arm.springs:
            if arm.layout[joint].link == i:
                return motor
        raise DescriptionError(f"JointTorque: link {self.link!r} has no elastic joint; give it a stiffness")
