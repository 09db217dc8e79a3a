"""The bodies of links: what each kind says of itself, and the one that does not deform."""

from typing import Annotated, Any, Literal, NamedTuple, final

import numpy as np

from flexarm import checks
from flexarm.checks import NOT_NEGATIVE, POSITIVE, Described, Inertia, Vector, number, optional_vector, tensor
from flexarm.description.lumps import Lumps

MOST_MODES = 40


class Amplitude(NamedTuple):
    """A flexible coordinate of a body: what names it behind the link, its direction and its place.

    `number` counts the modes of its direction, from 1; `segment` the segments of a beam, from 1, 0 where it is whole.
    """

    name: str
    direction: str
    number: int
    segment: int = 0

    @property
    def unit(self) -> str:
        """rad or m."""
        return "rad" if self.direction == "torsion" else "m"


class Body(Described):
    """What every kind of body says of itself; its origin is the joint's, its tip lies along local x.

    Attributes
    ----------
    length : float
        From the origin to the tip [m].
    """

    type: str
    length: Annotated[float, number("m", NOT_NEGATIVE)]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        checks.own_type(cls, Body)

    @property
    def total_mass(self) -> float:
        """[kg]"""
        raise NotImplementedError

    @property
    def counts(self) -> dict[str, int]:
        """Number of flexible coordinates in each direction, in their order; torsion's are angles, others lengths."""
        return {}

    @property
    def amplitudes(self) -> tuple[Amplitude, ...]:
        """The flexible coordinates in their order."""
        return tuple(Amplitude(f"{d}{j}", d, j) for d, count in self.counts.items() for j in range(1, count + 1))

    @property
    def pieces(self) -> int:
        """Number of segments; 0 of a body in one piece."""
        return max((amplitude.segment for amplitude in self.amplitudes), default=0)

    def rigid(self) -> "Body":
        """What stands for it where nothing bends."""
        return self


@final
class Rigid(Body):
    """A link that does not deform, from its origin to its tip along local x.

    Parameters
    ----------
    length : float
        From the origin to the tip [m]; 0 is allowed.
    mass : float
        [kg]
    com : (3,), optional
        Centre of mass [m]; default (length/2, 0, 0).
    inertia : float, (3,) or (3, 3), optional
        About the centre of mass [kg m^2]; default a slender uniform rod along x.
    lumps : list of Lump
        Bodies that ride on it; mass, com and inertia are without them.
    """

    type: Literal["rigid"] = "rigid"
    length: Annotated[float, number("m", NOT_NEGATIVE)]
    mass: Annotated[float, number("kg", POSITIVE)]
    com: Annotated[Vector | None, optional_vector("m")] = None
    inertia: Annotated[Inertia | None, checks.optional_inertia] = None
    lumps: Lumps = ()

    @property
    def total_mass(self) -> float:
        """Without lumps [kg]."""
        return self.mass

    @property
    def center(self) -> Vector:
        """Centre of mass, given or by default [m]."""
        return (self.length / 2, 0.0, 0.0) if self.com is None else self.com

    @property
    def inertia_tensor(self) -> np.ndarray:
        """About the centre of mass, (3, 3), given or by default [kg m^2]."""
        if self.inertia is not None:
            return tensor(self.inertia)
        rod = self.mass * self.length**2 / 12
        return tensor((0.0, rod, rod))


@final
class Frame(Body):
    """A place on a link, without mass: a tool's point, a flange; or what lies between two joints that meet.

    Parameters
    ----------
    length : float
        From the origin to the tip [m].
    """

    type: Literal["frame"] = "frame"
    length: Annotated[float, number("m", NOT_NEGATIVE)] = 0.0

    @property
    def total_mass(self) -> float:
        """None [kg]."""
        return 0.0
