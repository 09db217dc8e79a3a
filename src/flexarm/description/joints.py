"""The joints of links: what each kind moves, how, and by what drive.

A new kind is a new class below `Joint` (or `Driven`, where it has an actuator): its name in a file is its `type`, and
everything else in the package asks only for what stands here.
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
    checked_number,
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


class Joint(Described):
    """What every kind of joint says of itself.

    Attributes
    ----------
    moves : bool
        Whether it has a coordinate, and an actuator that moves it.
    turns : bool
        Whether the coordinate is an angle [rad]; else it is a length [m].
    carries : bool
        Whether the coordinate moves the body's base frame, about or along `direction`. Else it is the body's own: the
        free length of a beam that slides out of a hub that stays where it is.
    """

    type: str
    moves: ClassVar[bool]
    turns: ClassVar[bool] = False
    carries: ClassVar[bool] = True

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        own_type(cls, Joint)
        if not isinstance(cls.model_fields["type"].default, str):
            return  # no kind yet, but what kinds have in common
        if not isinstance(getattr(cls, "moves", None), bool):
            raise DescriptionError(f"{cls.__name__}: moves is missing; a kind of joint must say True or False")
        if cls.moves and getattr(cls, "direction", None) is Joint.direction:
            must = "a joint that moves must have a property that says about or along what"
            raise DescriptionError(f"{cls.__name__}: direction is missing; {must}")

    @property
    def unit(self) -> str:
        """Of the coordinate."""
        return "rad" if self.turns else "m"

    @property
    def direction(self) -> Vector:
        """Unit vector in the joint frame, about or along which the coordinate moves."""
        raise NotImplementedError

    @property
    def elastic(self) -> bool:
        """Whether its transmission bends, so that the motor has a coordinate of its own."""
        return False

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each state that its drive keeps beside coordinates and rates."""
        return ()

    @property
    def exogenous(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each input of its drive that is not the actuator's."""
        return ()

    @property
    def shares(self) -> tuple[str, ...]:
        """Names of the exogenous inputs whose range is 0 to 1."""
        return ()

    @property
    def plain(self) -> bool:
        """Whether its input is a force (or a torque) that acts along what the actuator moves, and nothing else."""
        return True

    @property
    def touches(self) -> bool:
        """Whether something of its drive makes contact and loses it."""
        return False

    @property
    def uncoupled(self) -> str:
        """Why the actuator cannot move other joints too; "" where it can."""
        return "its joint has no actuator"

    @property
    def sharp(self) -> bool:
        """Whether a solver is to stop where something makes contact."""
        return False

    @property
    def effort_unit(self) -> str:
        """Of what moves it: a torque or a force."""
        return "N m" if self.turns else "N"

    @property
    def input_unit(self) -> str:
        """Of what its actuator is told."""
        return self.effort_unit

    def input_at_rest(self, effort: float) -> float:
        """What its actuator is told for a force or a torque that holds it."""
        return effort

    def rest(self, body: Body) -> float:
        """The coordinate where no configuration is given."""
        return 0.0

    def check(self, body: Body) -> None:
        """Raise `Fault` where the joint cannot carry the body."""

    def rigid(self) -> "Joint":
        """The same joint without what bends in it."""
        return self

    def without_drive(self) -> "Joint":
        """The same joint without what stands in `drive`."""
        return self

    def rigid_body(self, body: Body) -> Body:
        """What stands for the body where nothing bends."""
        return checked_body(body).rigid()


def checked_body(body: object) -> Body:
    """The body; raises `DescriptionError` where it is none."""
    if not isinstance(body, Body):
        raise DescriptionError(f"body is {shown(body)}; it must be a Beam, a Rigid or another Body")
    return body


def units(turns: bool) -> dict[str, tuple[str, Rule]]:
    """Unit and rule of each of a drive's numbers."""
    per, effort = ("rad", "N m") if turns else ("m", "N")
    return {
        "rotor_inertia": ("kg m^2", NOT_NEGATIVE),
        "gear_ratio": ("" if turns else "rad/m", NOT_ZERO),
        "damping": (f"{effort} s/{per}", NOT_NEGATIVE),
        "stiffness": (f"{effort}/{per}", POSITIVE),
        "spring_damping": (f"{effort} s/{per}", NOT_NEGATIVE),
    }


WITHOUT_PARTS = Drive()


class Driven(Joint):
    """A joint with an actuator.

    Parameters
    ----------
    rotor_inertia : float
        Of the motor about its own axis, I_r [kg m^2].
    gear_ratio : float
        Turns of the motor per turn of the joint, or its turning per length of a slide, G [1 or rad/m]: the joint feels
        the inertia (or mass) G^2 I_r.
    damping : float
        Viscous, on the link side [N m s/rad or N s/m].
    stiffness : float, optional
        Of the transmission [N m/rad or N/m]. With it the joint is elastic and the motor has a coordinate of its own.
    spring_damping : float
        Of the transmission [N m s/rad or N s/m].
    rotor : "relative" or "absolute"
        Kinetic energy of the rotor: 1/2 G^2 I_r times the square of the joint's rate, or 1/2 I_r (w . axis + G rate)^2
        with w the angular velocity of the link that carries the motor.
    drive : Drive, optional
        What else lies between actuator and joint: friction, and more.
    preset : str, optional
        Of a joint that turns: a drive by name, whose numbers stand where nothing else is given (see `fa.drives`).
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

    @model_validator(mode="before")
    @classmethod
    def _is_filled(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or given.get("preset") is None:
            return given
        if not cls.turns:
            raise Fault("preset", f"is {shown(given['preset'])}; only a joint that turns may have one")
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
            raise Fault("rotor_inertia", "is 0.0 kg m^2; a joint with stiffness has a motor, so it must be positive")
        if self._parts.backlash is not None and not self.elastic:
            raise Fault("drive.backlash", "is given; it needs a spring: give the joint a stiffness, or drive.spring")
        return self

    @model_validator(mode="after")
    def _load_is_known(self) -> Self:
        """Friction that goes with the load sees a spring's torque, or that of a motor which follows from its input."""
        motor = self._parts.motor
        if self.elastic or motor is None or not motor.states:
            return self
        for part in ("friction", "link_friction"):
            each = getattr(self._parts, part)
            if each is not None and each.load:
                why = "behind a motor with inductance the joint needs a stiffness, so it must be 0"
                raise Fault(f"drive.{part}.load", f"is {each.load}; {why}")
        return self

    @property
    def _parts(self) -> Drive:
        """The drive, without any parts where none is given."""
        return WITHOUT_PARTS if self.drive is None else self.drive

    @property
    def elastic(self) -> bool:
        """Whether its transmission bends, so that the motor has a coordinate of its own."""
        return self.stiffness is not None or self._parts.spring is not None

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each state of the drive."""
        return self._parts.states

    @property
    def exogenous(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each exogenous input of the drive."""
        return self._parts.exogenous

    @property
    def shares(self) -> tuple[str, ...]:
        """Names of the exogenous inputs whose range is 0 to 1."""
        return self._parts.shares

    @property
    def plain(self) -> bool:
        """Whether the input is a force (or a torque) that acts along what the actuator moves, and nothing else."""
        return self._parts.plain

    @property
    def uncoupled(self) -> str:
        """Why the actuator cannot move other joints too; "" where it can."""
        if self.stiffness is not None:
            return "the spring of a coupled joint is drive.spring: give that in place of stiffness"
        if self.rotor == "absolute":
            return "the rotor of a coupled joint must be relative"
        if self.rotor_inertia and not self.elastic:
            return "a rotor of a coupled joint needs a spring, drive.spring, for a coordinate of its own"
        return ""

    @property
    def touches(self) -> bool:
        """Whether something of the drive makes contact and loses it."""
        return self._parts.touches

    @property
    def sharp(self) -> bool:
        """Whether a solver is to stop where something of the drive makes contact."""
        return self._parts.sharp

    @property
    def input_unit(self) -> str:
        """Of what the actuator is told: a force or a torque, or the voltage of a motor."""
        motor = self._parts.motor
        return "V" if motor and motor.input == "voltage" else self.effort_unit

    def input_at_rest(self, effort: float) -> float:
        """Of a motor with a voltage for input that of the current for it, without limits."""
        motor = self._parts.motor
        return motor.input_at_rest(effort, self.gear_ratio) if motor else effort

    def rigid(self) -> Self:
        """The same joint with a stiff transmission."""
        drive = None if self.drive is None else self.drive.rigid()
        return self.replace(stiffness=None, spring_damping=0.0, drive=drive)

    def without_drive(self) -> Self:
        """The same joint without what stands in `drive`."""
        return self.replace(drive=None)


@final
class Revolute(Driven):
    """A joint that turns about an axis; the body's frame is the joint frame at angle 0.

    Parameters
    ----------
    axis : (3,)
        Unit vector in the joint frame.
    rotor_inertia, gear_ratio, damping, stiffness, spring_damping, rotor, drive, preset
        The drive's, see `Driven`: [kg m^2], [1], [N m s/rad], [N m/rad], [N m s/rad].
    """

    turns: ClassVar[bool] = True
    type: Literal["revolute"] = "revolute"
    axis: Annotated[Vector, unit_vector] = (0.0, 0.0, 1.0)

    @property
    def direction(self) -> Vector:
        """Unit vector in the joint frame, about which it turns."""
        return self.axis


@final
class Prismatic(Driven):
    """A joint that slides along an axis.

    Parameters
    ----------
    axis : (3,)
        Unit vector in the joint frame.
    rotor_inertia, gear_ratio, damping, stiffness, spring_damping, rotor, drive
        The drive's, see `Driven`: [kg m^2], [rad/m], [N s/m], [N/m], [N s/m].
    """

    type: Literal["prismatic"] = "prismatic"
    axis: Annotated[Vector, unit_vector] = (0.0, 0.0, 1.0)

    @property
    def direction(self) -> Vector:
        """Unit vector in the joint frame, along which it slides."""
        return self.axis


SHORTEST = 0.1
"""Share of its total length below which a telescope's shapes that follow the load are not known."""


@final
class Telescope(Driven):
    """A hub out of which the link's beam slides along its own x; the joint coordinate is the free length [m].

    The base frame stays at the hub's mouth. The body must be a uniform `Beam` (modes = {} for a rigid one).

    Parameters
    ----------
    total_length : float, optional
        Of the beam, the part still in the hub included [m]. Default, and only value: the length of the body.
    free_length : float, optional
        Nominal free length [m], where no configuration is given. Default: the total length.
    rotor_inertia, gear_ratio, damping, stiffness, spring_damping, rotor, drive
        The drive's, see `Driven`: [kg m^2], [rad/m], [N s/m], [N/m], [N s/m].
    convection : "material" or "paper"
        Velocity of a point of the moving beam: the derivative at a fixed particle, or at a fixed place, as Theodore &
        Ghosal's eq. 24 has it for bending; torsion and stretch are then taken the same way.
    wave_numbers : "fixed", "solved" or "integrated"
        Of shapes that depend on the load (clamped-mass): those at the nominal free length, or following the ratio of
        load and beam as the length changes, from the frequency equation (eq. 9) or its differential form (eq. 11).
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
        """Unit vector in the joint frame, along which the beam slides."""
        return (1.0, 0.0, 0.0)

    def rest(self, body: Body) -> float:
        """The nominal free length [m], given or by default."""
        return checked_body(body).length if self.free_length is None else self.free_length

    def check(self, body: Body) -> None:
        """Raise `Fault` where the body is no uniform beam, or its length is another."""
        if not isinstance(body, Beam):
            raise Fault("body", f"is a {type(body).__name__}; a telescope needs a Beam (modes = {{}} for a rigid one)")
        for field in ("section_tip", "sections"):
            if getattr(body, field) is not None:
                raise Fault(field, "is given; the beam of a telescope must be uniform")
        if body.segments is not None:
            raise Fault("segments", f"is {body.segments}; the beam of a telescope is in one piece: leave it out")
        if body.foreshortening:
            raise Fault("foreshortening", "is true; the beam of a telescope is of first order, so it must be false")
        if body.lumps:
            raise Fault(
                "lumps", "are given; what the beam of a telescope carries must hang at its tip, on a link of its own"
            )
        if not body.classical:
            field = "shear" if body.rotary_inertia is False else "rotary_inertia"
            raise Fault(field, "is given; the beam of a telescope has neither shear nor rotary inertia")
        if self.total_length is not None and not isclose(self.total_length, body.length, rel_tol=1e-12):
            message = f"is {self.total_length} m; it must be the length of the body, {body.length} m"
            raise Fault("joint.total_length", message)
        _check_free_length(self.free_length, body.length, "joint.free_length")

    def rigid_body(self, body: Body) -> Body:
        """The same beam without modes: it still slides."""
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
        """Zero: along no axis."""
        return (0.0, 0.0, 0.0)
