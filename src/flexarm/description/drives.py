"""Parts of a drive between the actuator and its joint, beyond inertia, a linear spring and viscous friction.

The parameters of a linear drive belong to the joint itself (`joints.Driven`): rotor, gear ratio, viscous damping and
stiffness. A `Drive` adds further parts, each of them optional. All values refer to the joint side of the gear, except
the electrical parameters of a motor.
"""

from typing import ClassVar, final

from flexarm.checks import Described
from flexarm.description.friction import Brake, Friction
from flexarm.description.motors import Motor
from flexarm.description.parts import Part
from flexarm.description.springs import Backlash, Parallel, Spring, Stops


@final
class Drive(Described):
    """Optional parts between an actuator and its joint.

    Parameters
    ----------
    motor : Motor, optional
        Motor of the joint. Without one the input is an ideal torque (or force).
    friction, link_friction : Friction, optional
        Friction of the motor, and of the joint behind the spring. In a stiff transmission both act on the joint.
    brake : Brake, optional
        Brake of the motor. It is released unless its exogenous input `brake.engaged` is positive.
    spring : Spring, optional
        Spring of the transmission, in addition to the joint's `stiffness` or in its place.
    backlash : Backlash, optional
        Backlash of the transmission, before its spring.
    stops : Stops, optional
        End stops of the joint's range.
    parallel : Parallel, optional
        Spring parallel to the actuator.
    """

    PARTS: ClassVar[tuple[str, ...]] = (
        "motor", "friction", "link_friction", "brake", "spring", "backlash", "stops", "parallel",
    )  # fmt: skip
    motor: Motor | None = None
    friction: Friction | None = None
    link_friction: Friction | None = None
    brake: Brake | None = None
    spring: Spring | None = None
    backlash: Backlash | None = None
    stops: Stops | None = None
    parallel: Parallel | None = None

    @property
    def plain(self) -> bool:
        """True if the actuator's input acts directly and no other input does work."""
        return not self.exogenous and self.motor is None

    @property
    def touches(self) -> bool:
        """True if a part can make and break contact."""
        return self.backlash is not None or self.stops is not None

    @property
    def sharp(self) -> bool:
        """True if the solver stops at each contact."""
        return any(each is not None and each.sharp for each in (self.backlash, self.stops))

    def rigid(self) -> "Drive":
        """Return the same drive with a rigid transmission.

        Load-dependent friction then depends on the motor's torque, which must follow from the motor's input. A motor
        whose current is a state is therefore replaced by one whose current has settled.
        """
        loaded = any(each is not None and each.load for each in (self.friction, self.link_friction))
        settled = self.motor.replace(inductance=None) if self.motor is not None and loaded else self.motor
        return self.replace(spring=None, backlash=None, motor=settled)

    @property
    def parts(self) -> dict[str, Part]:
        """Parts of the drive by name, in the order of their states."""
        return {name: part for name in self.PARTS if (part := getattr(self, name)) is not None}

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each state of all parts, as in ("friction.bristle", "rad or m")."""
        return tuple((f"{part}.{name}", unit) for part, each in self.parts.items() for name, unit in each.states)

    @property
    def shares(self) -> tuple[str, ...]:
        """Names of the exogenous inputs whose range is 0 to 1: the engagement of the brake."""
        return tuple(f"brake.{name}" for name, _ in self.brake.exogenous) if self.brake is not None else ()

    @property
    def exogenous(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each exogenous input."""
        return tuple((f"{part}.{name}", unit) for part, each in self.parts.items() for name, unit in each.exogenous)
