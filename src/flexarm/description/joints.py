"""Joints of links: the coordinate that each kind moves, and the drive that moves it.

To add a kind of joint, derive a class from `Joint`, or from `Driven` if it has an actuator. The field `type` is the
kind's name in a file. The rest of the package uses only the attributes and methods defined in this module.
"""

from collections.abc import Mapping
from math import isclose
from typing import Annotated, Any, ClassVar, Literal, Self, final

from pydantic import ValidationInfo, field_validator, model_validator

from flexarm.checks import (
    NOT_NEGATIVE,
    NOT_ZERO,
    POSITIVE,
    Described,
    Fault,
    Rule,
    Vector,
    a_kind,
    checked_number,
    flag,
    optional_number,
    own_type,
    shown,
    unit_vector,
)
from flexarm.description.beams import Beam
from flexarm.description.bodies import Body
from flexarm.description.drives import Drive
from flexarm.description.presets import filled
from flexarm.errors import DescriptionError

WITHOUT_PARTS = Drive()


class Joint(Described):
    """Base class of all kinds of joint.

    Attributes
    ----------
    moves : bool
        True if the joint has a coordinate. It also has an actuator, unless `actuated` is False.
    leaders : tuple of str
        Names of the links whose joints this joint follows, see `Gear`. Such a joint moves without its own coordinate.
    turns : bool
        True if the coordinate is an angle [rad]. If False, the coordinate is a length [m].
    carries : bool
        True if the coordinate moves the base frame of the body, about or along `direction`. If False, the coordinate
        belongs to the body itself: it is the free length of a beam that slides out of a fixed hub.
    spherical : bool
        True for a joint without such a coordinate that turns the body in all directions: four coordinates are a unit
        quaternion, and three rates are the angular velocity.
    """

    type: str
    moves: ClassVar[bool]
    turns: ClassVar[bool] = False
    carries: ClassVar[bool] = True

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        own_type(cls, Joint)
        if not isinstance(cls.model_fields["type"].default, str):
            return  # a base class of several kinds, not a kind itself
        if not isinstance(getattr(cls, "moves", None), bool):
            raise DescriptionError(f"{cls.__name__}: moves is missing; a class of joints must set it to True or False")
        if cls.moves and getattr(cls, "direction", None) is Joint.direction:
            must = "a joint that moves needs this property, the axis of its motion"
            raise DescriptionError(f"{cls.__name__}: direction is missing; {must}")

    @property
    def _parts(self) -> Drive:
        """Parts of the drive. A joint without a `drive` has none."""
        return WITHOUT_PARTS

    @property
    def leaders(self) -> tuple[str, ...]:
        """Names of the links whose joints this joint follows."""
        return ()

    @property
    def spherical(self) -> bool:
        """True if the joint has a quaternion and three rates."""
        return False

    @property
    def swivel_damping(self) -> float:
        """Damping of the angular velocity of a spherical joint [N m s/rad]."""
        return 0.0

    @property
    def moving(self) -> "Joint":
        """The joint that moves the body: for a joint that follows another one the one inside it."""
        return self

    @property
    def actuated(self) -> bool:
        """True if an actuator moves the coordinate, so that the joint has an input."""
        return self.moves

    @property
    def unit(self) -> str:
        """Unit of the coordinate: rad or m."""
        return "rad" if self.turns else "m"

    @property
    def direction(self) -> Vector:
        """Unit vector in the joint frame, about or along which the coordinate moves."""
        raise NotImplementedError

    @property
    def elastic(self) -> bool:
        """True if the transmission is flexible, so that the motor has its own coordinate."""
        return False

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each state of the drive, in addition to coordinates and rates."""
        return self._parts.states

    @property
    def exogenous(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each input of the drive except the actuator's own."""
        return self._parts.exogenous

    @property
    def shares(self) -> tuple[str, ...]:
        """Names of the exogenous inputs whose range is 0 to 1."""
        return self._parts.shares

    @property
    def plain(self) -> bool:
        """True if the only input is a force (or torque) along the coordinate that the actuator moves."""
        return self._parts.plain

    @property
    def touches(self) -> bool:
        """True if a part of the drive can make and break contact."""
        return self._parts.touches

    @property
    def uncoupled(self) -> str:
        """Reason why the actuator cannot move other joints as well, or "" if it can."""
        return "its joint has no actuator"

    @property
    def sharp(self) -> bool:
        """True if the solver stops where a part of the drive makes or breaks contact."""
        return self._parts.sharp

    @property
    def effort_unit(self) -> str:
        """Unit of the generalized force of the actuator: N m or N."""
        return "N m" if self.turns else "N"

    @property
    def input_unit(self) -> str:
        """Unit of the actuator's input."""
        return self.effort_unit

    def input_at_rest(self, effort: float) -> float:
        """Return the actuator input that holds the joint against a force or torque `effort`."""
        return effort

    def rest(self, body: Body) -> float:
        """Return the default value of the coordinate, used where no configuration is given."""
        return 0.0

    def check(self, body: Body) -> None:
        """Raise `Fault` if the joint cannot carry the body."""

    def rigid(self) -> "Joint":
        """Return the same joint with a rigid transmission."""
        return self

    def without_drive(self) -> "Joint":
        """Return the same joint without its `drive`."""
        return self

    def rigid_body(self, body: Body) -> Body:
        """Return the rigid body that replaces `body` in a rigid arm."""
        return checked_body(body).rigid()


def checked_body(body: object) -> Body:
    """Return the body. Raises `DescriptionError` if it is not a `Body`."""
    if not isinstance(body, Body):
        raise DescriptionError(f"body is {shown(body)}; it must be a Beam, a Rigid or another Body")
    return body


def refuse_passive(arm: Any, what: str) -> None:
    """Raise `DescriptionError` if an arm has passive joints, for a function that needs an actuator at each joint."""
    for link in arm.links:
        if (link.joint.moves and not link.joint.actuated) or link.joint.spherical:
            must = f"{what} needs an actuator at each joint"
            raise DescriptionError(f"arm {arm.name!r}: the joint of link {link.name!r} is passive; {must}")


def refuse_balls(what: Any, where: str) -> None:
    """Raise `DescriptionError` if an arm, or the arm of a model, has ball joints with a quaternion.

    What is neither is left to later checks.
    """
    for link in getattr(getattr(what, "arm", what), "links", ()):
        if link.joint.spherical:
            instead = "use angles = true"
            raise DescriptionError(f"{where} does not support the ball joint of link {link.name!r} yet; {instead}")


def units(turns: bool) -> dict[str, tuple[str, Rule]]:
    """Return the unit and the validation rule of each parameter of a drive."""
    per, effort = ("rad", "N m") if turns else ("m", "N")
    return {
        "rotor_inertia": ("kg m^2", NOT_NEGATIVE),
        "gear_ratio": ("" if turns else "rad/m", NOT_ZERO),
        "damping": (f"{effort} s/{per}", NOT_NEGATIVE),
        "stiffness": (f"{effort}/{per}", POSITIVE),
        "spring_damping": (f"{effort} s/{per}", NOT_NEGATIVE),
    }


class Driven(Joint):
    """A joint with an actuator, or a passive joint.

    Parameters
    ----------
    rotor_inertia : float
        Moment of inertia of the motor about its own axis, I_r [kg m^2].
    gear_ratio : float
        Turns of the motor per turn of the joint, or motor angle per length of a slide, G [1 or rad/m]. The rotor adds
        an inertia (or a mass) of G^2 I_r to the joint.
    damping : float
        Viscous damping on the link side [N m s/rad or N s/m].
    stiffness : float, optional
        Stiffness of the transmission [N m/rad or N/m]. With a stiffness the joint is elastic, and the motor has its own
        coordinate.
    spring_damping : float
        Damping of the transmission spring [N m s/rad or N s/m].
    rotor : "relative" or "absolute"
        Model of the rotor's kinetic energy: 1/2 G^2 I_r times the square of the joint rate ("relative"), or 1/2 I_r
        (w . axis + G rate)^2 ("absolute"), where w is the angular velocity of the link that carries the motor.
    drive : Drive, optional
        Further parts between actuator and joint, such as friction, backlash or end stops.
    preset : str, optional
        Name of a drive from the catalogue (see `fa.presets`), for revolute joints only. Its values are defaults for all
        parameters that are not given.
    passive : bool
        True for a joint without an actuator, which has no input. Such a joint can have damping and a rotor inertia, and
        friction, a brake, end stops and a parallel spring as parts of `drive`.
    """

    moves: ClassVar[bool] = True
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    damping: float = 0.0
    stiffness: float | None = None
    spring_damping: float = 0.0
    rotor: Literal["relative", "absolute"] = "relative"
    drive: Drive | None = None
    preset: str | None = None
    passive: Annotated[bool, flag] = False

    @model_validator(mode="before")
    @classmethod
    def _is_filled(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or given.get("preset") is None:
            return given
        if not cls.turns:
            raise Fault("preset", f"is {shown(given['preset'])}; only revolute joints can have a preset")
        return filled(given)

    @field_validator("rotor_inertia", "gear_ratio", "damping", "stiffness", "spring_damping", mode="before")
    @classmethod
    def _is_a_number(cls, value: object, info: ValidationInfo) -> Any:
        if value is None and info.field_name == "stiffness":
            return None
        return checked_number(value, *units(cls.turns)[str(info.field_name)])

    @model_validator(mode="after")
    def _spring_has_a_motor(self) -> Self:
        if self.stiffness is None and self.spring_damping > 0:
            unit = units(self.turns)["spring_damping"][0]
            raise Fault("spring_damping", f"is {self.spring_damping} {unit}; without stiffness it must be 0")
        if self.elastic and self.rotor_inertia <= 0:
            raise Fault(
                "rotor_inertia", "is 0.0 kg m^2; a joint with stiffness has a motor, whose inertia must be positive"
            )
        if self._parts.backlash is not None and not self.elastic:
            raise Fault("drive.backlash", "is given, but backlash needs a spring; give stiffness or drive.spring")
        return self

    @model_validator(mode="after")
    def _passive_has_no_motor(self) -> Self:
        if self.passive:
            self.check_passive("a passive joint")
        return self

    def check_passive(self, what: str) -> None:
        """Raise `Fault` if the joint has a motor or a transmission, for a joint of a kind that can have neither."""
        motor = "stiffness" if self.stiffness is not None else ""
        for part in ("motor", "spring", "backlash"):
            motor = motor or (f"drive.{part}" if getattr(self._parts, part) is not None else "")
        if motor:
            must = f"{what} has no motor and no transmission; for a spring, use drive.parallel"
            raise Fault(motor, f"is given, but {must}")

    @model_validator(mode="after")
    def _load_is_known(self) -> Self:
        """Raise `Fault` if load-dependent friction has no known load torque.

        The load torque is that of a spring, or that of a motor whose torque follows directly from its input.
        """
        motor = self._parts.motor
        if self.elastic or motor is None or not motor.states:
            return self
        for part in ("friction", "link_friction"):
            each = getattr(self._parts, part)
            if each is not None and each.load:
                why = "with a motor inductance, load-dependent friction needs a spring: give stiffness, or load = 0"
                raise Fault(f"drive.{part}.load", f"is {each.load}; {why}")
        return self

    @property
    def _parts(self) -> Drive:
        return WITHOUT_PARTS if self.drive is None else self.drive

    @property
    def actuated(self) -> bool:
        """True if an actuator moves the coordinate, so that the joint has an input."""
        return not self.passive

    @property
    def elastic(self) -> bool:
        """True if the transmission is flexible, so that the motor has its own coordinate."""
        return self.stiffness is not None or self._parts.spring is not None

    @property
    def uncoupled(self) -> str:
        """Reason why the actuator cannot move other joints as well, or "" if it can."""
        if self.passive:
            return "its joint is passive"
        if self.stiffness is not None:
            return "a coupled joint cannot have stiffness: use drive.spring instead"
        if self.rotor == "absolute":
            return "a coupled joint needs rotor = 'relative'"
        if self.rotor_inertia and not self.elastic:
            return "a coupled joint with rotor_inertia needs a spring, drive.spring"
        return ""

    @property
    def input_unit(self) -> str:
        """Unit of the actuator's input: that of a force or a torque, or V for a voltage-driven motor."""
        motor = self._parts.motor
        return "V" if motor and motor.input == "voltage" else self.effort_unit

    def input_at_rest(self, effort: float) -> float:
        """Return the actuator input that holds the joint against a force or torque `effort`.

        For a voltage-driven motor this input is the voltage that produces the required current, limits disregarded.
        """
        motor = self._parts.motor
        return motor.input_at_rest(effort, self.gear_ratio) if motor else effort

    def rigid(self) -> Self:
        """Return the same joint with a rigid transmission."""
        drive = None if self.drive is None else self.drive.rigid()
        return self.replace(stiffness=None, spring_damping=0.0, drive=drive)

    def without_drive(self) -> Self:
        """Return the same joint without its `drive`."""
        return self.replace(drive=None)


@final
class Revolute(Driven):
    """A joint that turns about an axis. The body's frame is the joint frame at angle 0.

    Parameters
    ----------
    axis : (3,)
        Unit vector in the joint frame.
    rotor_inertia, gear_ratio, damping, stiffness, spring_damping, rotor, drive, preset, passive
        Parameters of the drive, see `Driven`: [kg m^2], [1], [N m s/rad], [N m/rad], [N m s/rad].
    """

    turns: ClassVar[bool] = True
    type: Literal["revolute"] = "revolute"
    axis: Annotated[Vector, unit_vector] = (0.0, 0.0, 1.0)

    @property
    def direction(self) -> Vector:
        """Unit vector of the rotation axis in the joint frame."""
        return self.axis


@final
class Prismatic(Driven):
    """A joint that slides along an axis.

    Parameters
    ----------
    axis : (3,)
        Unit vector in the joint frame.
    rotor_inertia, gear_ratio, damping, stiffness, spring_damping, rotor, drive, passive
        Parameters of the drive, see `Driven`: [kg m^2], [rad/m], [N s/m], [N/m], [N s/m].
    """

    type: Literal["prismatic"] = "prismatic"
    axis: Annotated[Vector, unit_vector] = (0.0, 0.0, 1.0)

    @property
    def direction(self) -> Vector:
        """Unit vector of the sliding direction in the joint frame."""
        return self.axis


SHORTEST = 0.1
"""Smallest share of a telescope's total length for which shapes that depend on the load are known."""


@final
class Telescope(Driven):
    """A hub from which the link's beam slides out along local x. The joint coordinate is the free length [m].

    The base frame stays at the hub's mouth. The body must be a uniform `Beam` (modes = {} for a rigid one).

    Parameters
    ----------
    total_length : float, optional
        Total length of the beam, including the part inside the hub [m]. It must equal the length of the body, which is
        the default.
    free_length : float, optional
        Nominal free length, used where no configuration is given [m]. Default: the total length.
    rotor_inertia, gear_ratio, damping, stiffness, spring_damping, rotor, drive, passive
        Parameters of the drive, see `Driven`: [kg m^2], [rad/m], [N s/m], [N/m], [N s/m].
    convection : "material" or "paper"
        Definition of the velocity of a point of the moving beam. "material" takes the derivative at a fixed particle.
        "paper" takes the derivative at a fixed place, as eq. 24 of Theodore & Ghosal does for bending. Torsion and
        stretch use the same definition.
    wave_numbers : "fixed", "solved" or "integrated"
        Treatment of shapes that depend on the load (clamped-mass). "fixed" uses the shapes at the nominal free length.
        The other two follow the ratio of load to beam as the length changes: "solved" from the frequency equation
        (eq. 9), "integrated" from its differential form (eq. 11).
    """

    carries: ClassVar[bool] = False
    type: Literal["telescope"] = "telescope"
    total_length: Annotated[float | None, optional_number("m", POSITIVE)] = None
    free_length: Annotated[float | None, optional_number("m", POSITIVE)] = None
    convection: Literal["material", "paper"] = "material"
    wave_numbers: Literal["fixed", "solved", "integrated"] = "fixed"

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.total_length is not None:
            _check_free_length(self.free_length, self.total_length)
        return self

    @property
    def direction(self) -> Vector:
        """Unit vector of the sliding direction in the joint frame: its x axis."""
        return (1.0, 0.0, 0.0)

    def rest(self, body: Body) -> float:
        """Return the nominal free length [m], as given or by default."""
        return checked_body(body).length if self.free_length is None else self.free_length

    def check(self, body: Body) -> None:
        """Raise `Fault` unless the body is a uniform beam of the telescope's total length."""
        if not isinstance(body, Beam):
            raise Fault("body", f"is {a_kind(body)}; a telescope needs a Beam (modes = {{}} for a rigid one)")
        for field in ("section_tip", "sections"):
            if getattr(body, field) is not None:
                raise Fault(field, "is given; the beam of a telescope must be uniform")
        if body.segments is not None:
            raise Fault("segments", f"is {body.segments}; the beam of a telescope cannot have segments: leave it out")
        if body.foreshortening:
            raise Fault("foreshortening", "is true, which the beam of a telescope does not support; it must be false")
        if body.lumps:
            raise Fault(
                "lumps",
                "are given, but the beam of a telescope cannot carry lumps; put the mass on a separate link at its tip",
            )
        if not body.classical:
            field = "shear" if body.rotary_inertia is False else "rotary_inertia"
            raise Fault(
                field, "is given, but the beam of a telescope has neither shear nor rotary inertia; leave it out"
            )
        if self.total_length is not None and not isclose(self.total_length, body.length, rel_tol=1e-12):
            message = f"is {self.total_length} m; it must be the length of the body, {body.length} m"
            raise Fault("joint.total_length", message)
        _check_free_length(self.free_length, body.length, "joint.free_length")

    def rigid_body(self, body: Body) -> Body:
        """Return the same beam without modes. The beam still slides."""
        if not isinstance(body, Beam):
            raise DescriptionError(f"body is {shown(body)}; it must be a Beam")
        return body.replace(modes={}, damping=0.0)


def _check_free_length(free: float | None, total: float, part: str = "free_length") -> None:
    if free is not None and free > total:
        raise Fault(part, f"is {free} m; it must be at most the total length, {total} m")


@final
class Fixed(Joint):
    """A joint that does not move: it has no coordinate and no actuator."""

    moves: ClassVar[bool] = False
    type: Literal["fixed"] = "fixed"

    @property
    def direction(self) -> Vector:
        """Zero vector, because the joint has no axis."""
        return (0.0, 0.0, 0.0)
