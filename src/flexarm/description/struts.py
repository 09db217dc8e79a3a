"""Springs between two points of an arm, or between a point of the arm and the ground."""

from typing import Annotated, Self, final

from pydantic import model_validator

from flexarm import checks
from flexarm.checks import NOT_NEGATIVE, POSITIVE, SHARE, Described, Fault, Vector, number, vector


@final
class Strut(Described):
    """A spring from a station of a link to a fixed point, or to a station of another link.

    The spring pulls (or pushes) with its stiffness times its extension beyond the free length. With a free length of 0
    and a stiffness that matches the weight, it balances a link's weight in every position.

    Parameters
    ----------
    link : str
        Name of the link that carries the first end.
    at : float
        Station along the link, from 0 to 1 of its length. On a telescope only 1 is allowed.
    point : (3,)
        Position of the other end in the world frame, which is also the frame of a base that is not free [m].
    to : str, optional
        Link that carries the other end, at the station `to_at`. Leave out `point` in this case.
    to_at : float
        Station along that link.
    stiffness : float
        Stiffness [N/m].
    length : float
        Free length, at which the spring is unloaded [m].
    """

    link: Annotated[str, checks.text]
    at: Annotated[float, number("", SHARE)] = 1.0
    point: Annotated[Vector, vector("m")] = (0.0, 0.0, 0.0)
    to: Annotated[str, checks.text] = ""
    to_at: Annotated[float, number("", SHARE)] = 1.0
    stiffness: Annotated[float, number("N/m", POSITIVE)]
    length: Annotated[float, number("m", NOT_NEGATIVE)] = 0.0

    @model_validator(mode="after")
    def _has_two_ends(self) -> Self:
        if not self.to and self.to_at != 1.0:
            raise Fault("to_at", f"is {self.to_at}; without `to` there is no second end: leave it out")
        if (self.to, self.to_at) == (self.link, self.at):
            raise Fault("to_at", f"is {self.to_at}, where the strut begins; its two ends must be different points")
        return self
