"""External loads on an arm: forces and moments on its links, contact with walls and floors, and a moving base."""

from typing import Annotated, Any, ClassVar, Literal, Self, final

from pydantic import model_validator

from flexarm import checks
from flexarm.checks import NOT_NEGATIVE, POSITIVE, SHARE, Described, Fault, Rule, Vector, number, unit_vector, vector

EXPONENT: Rule = ("from 1 to 3", lambda x: 1.0 <= x <= 3.0)
FORCES = tuple((f"f{axis}", "N") for axis in "xyz")
MOMENTS = tuple((f"m{axis}", "N m") for axis in "xyz")
DRIVE = (("drive", "N m or N"),)


@final
class Force(Described):
    """An external force or moment on a link, given by exogenous inputs: "push.fx", "push.fy", "push.fz".

    Parameters
    ----------
    name : str
        Name that begins the names of its inputs, without dots and spaces. It may equal the name of the link.
    link : str
        Name of the link. "base" is the origin of a free base.
    at : float
        Station along the link, from 0 to 1 of its length. On a telescope only 1 is allowed.
    axes : "base" or "link"
        Axes along which the components are given. "base": the axes of the base, or those of the world if the base is
        free. "link": the axes of the link's section at the station, which turn with the section. On an undeformed link
        they are the link's own axes.
    kind : "force", "moment", "wrench", "distributed" or "drive"
        A wrench is a force and a moment: fx, fy, fz [N], mx, my, mz [N m]. A "distributed" force, such as wind, is
        spread evenly over the length of the link, and fx, fy, fz [N] are its total. With axes = "link" each part of it
        follows its own section. A "drive" load has one component, "push.drive" [N m or N]. It adds to the torque or
        force of the actuator of the link's joint, after the motor's limits.
    """

    name: Annotated[str, checks.label]
    link: Annotated[str, checks.text]
    at: Annotated[float, number("", SHARE)] = 1.0
    axes: Literal["base", "link"] = "base"
    kind: Literal["force", "moment", "wrench", "distributed", "drive"] = "force"

    @model_validator(mode="after")
    def _is_somewhere(self) -> Self:
        if self.kind == "drive" and (self.at != 1.0 or self.axes != "base"):
            raise Fault("kind", 'is "drive", which has no point of application and no axes: leave out at and axes')
        if self.kind == "distributed" and self.at != 1.0:
            raise Fault(
                "at", f'is {self.at:g}, but kind is "distributed", which acts on the complete link: leave out at'
            )
        return self

    @property
    def exogenous(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each of the inputs."""
        known = {"moment": MOMENTS, "wrench": FORCES + MOMENTS, "drive": DRIVE}
        return known.get(self.kind, FORCES)


@final
class Drag(Described):
    """Viscous drag of still air or water, spread evenly over the length of a link.

    If a link moves with the velocity v along an axis of its sections, without rotation, the force is -coefficient v. In
    general each part of the length has its own velocity and its share of the coefficient. Velocities are relative to
    the base, or to the world if the base is free. The drag does not resist the rotation of sections about their own
    axes.

    Parameters
    ----------
    link : str
        Name of the link, which must have a length. A telescope cannot have a drag.
    coefficient : float or (3,)
        Total drag coefficient along the axes x, y and z of the sections [N s/m]. One number applies to all three axes.
    """

    link: Annotated[str, checks.text]
    coefficient: Annotated[Vector, checks.three_numbers("N s/m")]


@final
class Contact(Described):
    """Contact between a station of a link and a plane fixed in the base frame, such as a wall or a floor.

    A penetration depth d with rate d' gives the normal force N = stiffness d^exponent (1 + damping d'), which never
    pulls (Hunt & Crossley 1975). Friction along the plane is at most `friction` times N.

    Parameters
    ----------
    name : str
        Name of the contact, without dots and spaces.
    link : str
        Name of the link that touches the plane.
    at : float
        Station along the link, from 0 to 1 of its length. On a telescope only 1 is allowed.
    radius : float
        Radius of a ball around the station, whose surface makes the contact [m].
    point : (3,)
        Point of the plane in the world frame, which is also the frame of a base that is not free [m].
    normal : (3,)
        Unit normal of the plane, which points to the side of the arm.
    stiffness : float
        Contact stiffness [N/m^exponent].
    exponent : float
        Exponent of the depth, from 1 (a linear spring) to 3. The value of a Hertzian ball is 1.5.
    damping : float
        Hunt-Crossley damping [s/m].
    friction : float
        Friction coefficient mu.
    model : "smooth" or "lugre"
        Friction model. "smooth": mu N v / sqrt(v^2 + creep_rate^2), which creeps under any load. "lugre": bristles with
        two states.
    creep_rate : float
        Parameter of the smooth model [m/s]. Under a force F < mu N the contact creeps at creep_rate F / sqrt((mu N)^2 -
        F^2).
    bristle_stiffness, bristle_damping : float
        Parameters of the LuGre model per newton of N: sigma_0 [1/m], sigma_1 [s/m].
    """

    name: Annotated[str, checks.label]
    link: Annotated[str, checks.text]
    at: Annotated[float, number("", SHARE)] = 1.0
    radius: Annotated[float, number("m", NOT_NEGATIVE)] = 0.0
    point: Annotated[Vector, vector("m")] = (0.0, 0.0, 0.0)
    normal: Annotated[Vector, unit_vector]
    stiffness: Annotated[float, number("N/m^exponent", POSITIVE)]
    exponent: Annotated[float, number("", EXPONENT)] = 1.0
    damping: Annotated[float, number("s/m", NOT_NEGATIVE)] = 0.0
    friction: Annotated[float, number("", NOT_NEGATIVE)] = 0.0
    model: Literal["smooth", "lugre"] = "smooth"
    creep_rate: Annotated[float, number("m/s", POSITIVE)] = 1e-3
    bristle_stiffness: Annotated[float | None, checks.optional_number("1/m", POSITIVE)] = None
    bristle_damping: Annotated[float, number("s/m", NOT_NEGATIVE)] = 0.0

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.model == "lugre" and self.bristle_stiffness is None:
            raise Fault("bristle_stiffness", "is missing; the LuGre model needs it")
        if self.model == "lugre" and self.friction == 0.0:
            raise Fault("friction", "is 0.0; the LuGre model needs a positive value")
        if self.model == "smooth" and self.bristle_stiffness is not None:
            raise Fault("bristle_stiffness", 'is given; it applies only to model = "lugre"')
        return self

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each state: the bristles' deflection along two directions in the plane."""
        return (("bristle_1", "m"), ("bristle_2", "m")) if self.model == "lugre" else ()


class Base(Described):
    """Base class of all kinds of base. An arm without one has a fixed base."""

    type: str
    exogenous: ClassVar[tuple[tuple[str, str], ...]] = ()
    free: ClassVar[bool] = False
    """True if the base has its own coordinates."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        checks.own_type(cls, Base)


@final
class MovingBase(Base):
    """A base with a prescribed motion, such as a vehicle, a ship or the ground in an earthquake. The arm does not act
    on it.

    The motion is given by exogenous inputs along the axes of the base:

    - `base.ax`, `ay`, `az`: acceleration of its origin [m/s^2]
    - `base.wx`, `wy`, `wz`: angular velocity [rad/s]
    - `base.alphax`, `alphay`, `alphaz`: angular acceleration [rad/s^2]

    The arm's `gravity` has a constant direction in the base frame. If the base turns, include the change of gravity in
    the acceleration, see `BaseMotion`. All positions, rates and energies of the arm are relative to the base.
    """

    type: Literal["moving"] = "moving"
    exogenous: ClassVar[tuple[tuple[str, str], ...]] = (
        *((f"a{axis}", "m/s^2") for axis in "xyz"),
        *((f"w{axis}", "rad/s") for axis in "xyz"),
        *((f"alpha{axis}", "rad/s^2") for axis in "xyz"),
    )
