"""Drives as they are: what lies between an actuator and its joint beside inertia, a spring and a viscous bearing.

The linear drive stands with the joint itself (`joints.Driven`): rotor, gear ratio, viscous damping, stiffness. A
`Drive` adds the rest, each part of which may be absent. All numbers are those of the joint's side of the gear, but a
motor's electrical ones.
"""

from typing import ClassVar, final

from flexarm.checks import Described
from flexarm.description.friction import Brake, Friction
from flexarm.description.motors import Motor
from flexarm.description.parts import Part
from flexarm.description.springs import Backlash, Parallel, Spring, Stops


@final
class Drive(Described):
    """What lies between an actuator and its joint; each part may be absent.

    Parameters
    ----------
    motor : Motor, optional
        Without one the input is an ideal torque (or force).
    friction, link_friction : Friction, optional
        Of the motor, and of the joint behind the spring; where the transmission is stiff, both act on the joint.
    brake : Brake, optional
        Of the motor; free unless its exogenous input `brake.engaged` is more than 0.
    spring : Spring, optional
        Of the transmission, beside the joint's `stiffness` or in its place.
    backlash : Backlash, optional
        Play of the transmission, before its spring.
    stops : Stops, optional
        Ends of the joint's range.
    parallel : Parallel, optional
        A spring beside the actuator.
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
        """Whether the actuator's input acts as it is, and nothing else does work from outside."""
        return not self.exogenous and self.motor is None

    @property
    def touches(self) -> bool:
        """Whether a part makes contact and loses it."""
        return self.backlash is not None or self.stops is not None

    @property
    def sharp(self) -> bool:
        """Whether the solver is to stop at contact."""
        return any(each is not None and each.sharp for each in (self.backlash, self.stops))

    def rigid(self) -> "Drive":
        """The same without what bends in the transmission.

        Friction that goes with the load then rubs with the motor's torque, which must follow from its input: a current
        that is a state becomes one that has settled.
        """
        loaded = any(each is not None and each.load for each in (self.friction, self.link_friction))
        settled = self.motor.replace(inductance=None) if self.motor is not None and loaded else self.motor
        return self.replace(spring=None, backlash=None, motor=settled)

    @property
    def parts(self) -> dict[str, Part]:
        """The parts that are there, by their names, in the order of their states."""
        return {name: part for name in self.PARTS if (part := getattr(self, name)) is not None}

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each state of a part: ("friction.bristle", "rad or m")."""
        return tuple((f"{part}.{name}", unit) for part, each in self.parts.items() for name, unit in each.states)

    @property
    def shares(self) -> tuple[str, ...]:
        """Names of the exogenous inputs whose range is 0 to 1: how far the brake is engaged."""
        return tuple(f"brake.{name}" for name, _ in self.brake.exogenous) if self.brake is not None else ()

    @property
    def exogenous(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each exogenous input."""
        return tuple((f"{part}.{name}", unit) for part, each in self.parts.items() for name, unit in each.exogenous)
