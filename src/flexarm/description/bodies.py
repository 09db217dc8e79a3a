"""Bodies of links: the base class of all kinds, the rigid body, and the frame without mass."""

from typing import Annotated, Any, Literal, NamedTuple, final

import numpy as np

from flexarm import checks
from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    Described,
    Inertia,
    Vector,
    checked_list,
    checked_number,
    number,
    optional_vector,
    tensor,
)
from flexarm.description.lumps import Lumps

MOST_MODES = 40


def checked_ratios(value: object, part: str = "") -> Any:
    """Return one damping ratio, or a tuple of them."""
    if not isinstance(value, list | tuple | np.ndarray):
        return checked_number(value, "", NOT_NEGATIVE, part)
    return tuple(checked_number(x, "", NOT_NEGATIVE, f"{part}[{i}]") for i, x in enumerate(checked_list(value, "")))


class Amplitude(NamedTuple):
    """A flexible coordinate of a body: its name without the link's, its direction and its mode.

    `number` counts the modes of its direction from 1. `segment` counts the segments of a beam from 1, and is 0 for a
    beam in one piece.
    """

    name: str
    direction: str
    number: int
    segment: int = 0

    @property
    def unit(self) -> str:
        """Unit of the coordinate: rad or m."""
        return "rad" if self.direction == "torsion" else "m"


class Body(Described):
    """Base class of all kinds of body. The origin is the joint frame's, and the tip lies along local x.

    Attributes
    ----------
    length : float
        Distance from the origin to the tip [m].
    """

    type: str
    length: Annotated[float, number("m", NOT_NEGATIVE)]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        checks.own_type(cls, Body)

    @property
    def total_mass(self) -> float:
        """Mass of the body [kg]."""
        raise NotImplementedError

    @property
    def counts(self) -> dict[str, int]:
        """Number of flexible coordinates in each direction, in their order. Those of torsion are angles, all others
        lengths."""
        return {}

    @property
    def amplitudes(self) -> tuple[Amplitude, ...]:
        """Flexible coordinates in their order."""
        return tuple(Amplitude(f"{d}{j}", d, j) for d, count in self.counts.items() for j in range(1, count + 1))

    @property
    def pieces(self) -> int:
        """Number of segments, or 0 for a body in one piece."""
        return max((amplitude.segment for amplitude in self.amplitudes), default=0)

    def rigid(self) -> "Body":
        """Return the rigid body that replaces this body in a rigid arm."""
        return self


@final
class Rigid(Body):
    """A link that does not deform, from its origin to its tip along local x.

    Parameters
    ----------
    length : float
        Distance from the origin to the tip [m]. 0 is allowed.
    mass : float
        Mass [kg].
    com : (3,), optional
        Centre of mass [m]. Default: (length/2, 0, 0).
    inertia : float, (3,) or (3, 3), optional
        Moments of inertia about the centre of mass [kg m^2]. Default: those of a slender uniform rod along x.
    lumps : list of Lump
        Further rigid bodies on the link, which mass, com and inertia do not include.
    """

    type: Literal["rigid"] = "rigid"
    length: Annotated[float, number("m", NOT_NEGATIVE)]
    mass: Annotated[float, number("kg", POSITIVE)]
    com: Annotated[Vector | None, optional_vector("m")] = None
    inertia: Annotated[Inertia | None, checks.optional_inertia] = None
    lumps: Lumps = ()

    @property
    def total_mass(self) -> float:
        """Mass without lumps [kg]."""
        return self.mass

    @property
    def center(self) -> Vector:
        """Centre of mass, as given or by default [m]."""
        return (self.length / 2, 0.0, 0.0) if self.com is None else self.com

    @property
    def inertia_tensor(self) -> np.ndarray:
        """Inertia tensor about the centre of mass, (3, 3), as given or by default [kg m^2]."""
        if self.inertia is not None:
            return tensor(self.inertia)
        rod = self.mass * self.length**2 / 12
        return tensor((0.0, rod, rod))


@final
class Frame(Body):
    """A frame on a link, without mass: a tool point, a flange, or the frame between two joints with a common origin.

    Parameters
    ----------
    length : float
        Distance from the origin to the tip [m].
    """

    type: Literal["frame"] = "frame"
    length: Annotated[float, number("m", NOT_NEGATIVE)] = 0.0

    @property
    def total_mass(self) -> float:
        """Mass of the frame, which is zero [kg]."""
        return 0.0
