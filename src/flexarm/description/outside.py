"""What acts on an arm from outside: forces and moments on its links, walls and floors, and a base that is moved."""

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
    """A force or a moment on a link, given as exogenous inputs: "push.fx", "push.fy", "push.fz".

    Parameters
    ----------
    name : str
        Of its inputs; no dots, no spaces. It may be that of the link.
    link : str
        Its name; "base" is a free base, at its origin.
    at : float
        Station along the link, from 0 to 1 of its length; of a telescope, 1 alone.
    axes : "base" or "link"
        Along whose axes it is given: those of the base, of a free one those of the world, or those of the link's
        section at the station, which turn with it. Where the link is not deformed these are the link's own.
    kind : "force", "moment", "wrench" or "drive"
        A wrench is both, the force first: fx, fy, fz [N], mx, my, mz [N m]. At the drive of the link's joint it is one
        number, "push.drive" [N m or N]: what is added to the actuator's torque or force, behind its motor's limits.
    """

    name: Annotated[str, checks.label]
    link: Annotated[str, checks.text]
    at: Annotated[float, number("", SHARE)] = 1.0
    axes: Literal["base", "link"] = "base"
    kind: Literal["force", "moment", "wrench", "drive"] = "force"

    @model_validator(mode="after")
    def _is_somewhere(self) -> Self:
        if self.kind == "drive" and (self.at != 1.0 or self.axes != "base"):
            raise Fault("kind", 'is "drive", which has no station and no axes: leave out at and axes')
        return self

    @property
    def exogenous(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each of its inputs."""
        return {"force": FORCES, "moment": MOMENTS, "wrench": FORCES + MOMENTS, "drive": DRIVE}[self.kind]


@final
class Contact(Described):
    """A station of a link against a plane that does not move in the base frame: a wall, a floor.

    What presses into the plane by d at a rate d' is pushed back with N = stiffness d^exponent (1 + damping d'), which
    never pulls (Hunt & Crossley 1975), and rubbed along the plane with up to friction N.

    Parameters
    ----------
    name : str
        No dots, no spaces.
    link : str
    at : float
        Station along the link, from 0 to 1 of its length; of a telescope, 1 alone.
    radius : float
        Of a ball about the station, which touches first [m].
    point : (3,)
        Of the plane, in the world, which is the frame of a base that is not free [m].
    normal : (3,)
        Unit vector out of the wall, to where the arm is.
    stiffness : float
        [N/m^exponent]
    exponent : float
        From 1 (a spring) to 3; 1.5 is Hertz's, of a ball.
    damping : float
        [s/m]
    friction : float
        Coefficient mu.
    model : "smooth" or "lugre"
        Of friction: mu N v / sqrt(v^2 + creep_rate^2), which creeps under any load; or with bristles for two states.
    creep_rate : float
        Of the smooth model [m/s]: under a force F < mu N it creeps at creep_rate F / sqrt((mu N)^2 - F^2).
    bristle_stiffness, bristle_damping : float
        Of the LuGre model, for each newton of N: sigma_0 [1/m], sigma_1 [s/m].
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
            raise Fault("friction", "is 0.0; the LuGre model needs a positive one")
        if self.model == "smooth" and self.bristle_stiffness is not None:
            raise Fault("bristle_stiffness", 'is given; it belongs to model = "lugre"')
        return self

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each: the bristles' deflection along two directions in the plane."""
        return (("bristle_1", "m"), ("bristle_2", "m")) if self.model == "lugre" else ()


class Base(Described):
    """What every kind of base says of itself; an arm that has none stands still."""

    type: str
    exogenous: ClassVar[tuple[tuple[str, str], ...]] = ()
    free: ClassVar[bool] = False
    """Whether it has coordinates of its own."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        checks.own_type(cls, Base)


@final
class MovingBase(Base):
    """A base that a vehicle, a ship or an earthquake moves, whatever the arm does.

    Its motion is given as exogenous inputs, along the base's own axes: `base.ax`, `ay`, `az`, acceleration of its
    origin [m/s^2]; `base.wx`, `wy`, `wz`, angular velocity [rad/s]; `base.alphax`, `alphay`, `alphaz`, its rate
    [rad/s^2]. The arm's `gravity` keeps its direction in the base: where the base turns, the change that gravity makes
    there is part of a, see `base_motion`. All places, rates and energies of the arm are those seen from the base.
    """

    type: Literal["moving"] = "moving"
    exogenous: ClassVar[tuple[tuple[str, str], ...]] = (
        *((f"a{axis}", "m/s^2") for axis in "xyz"),
        *((f"w{axis}", "rad/s") for axis in "xyz"),
        *((f"alpha{axis}", "rad/s^2") for axis in "xyz"),
    )
