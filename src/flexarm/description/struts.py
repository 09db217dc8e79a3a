"""Springs between two points of an arm, or between one and the ground."""

from typing import Annotated, Self, final

from pydantic import model_validator

from flexarm import checks
from flexarm.checks import NOT_NEGATIVE, POSITIVE, SHARE, Described, Fault, Vector, number, vector


@final
class Strut(Described):
    """A spring from a station of a link to a point that does not move, or to a station of another link.

    It pulls (or pushes) with stiffness times what it is longer than its free length; of free length 0 it carries a
    link's weight in every position, if it is strong enough by the rule.

    Parameters
    ----------
    link : str
    at : float
        Station along the link, from 0 to 1 of its length; of a telescope, 1 alone.
    point : (3,)
        Where its other end is, in the world, which is the frame of a base that is not free [m].
    to : str, optional
        The link that carries its other end, at the station `to_at`; `point` is then left out.
    to_at : float
        Station along that link.
    stiffness : float
        [N/m]
    length : float
        Where it is not wound [m].
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
            raise Fault("to_at", f"is {self.to_at}; without `to` there is no such station: leave it out")
        if (self.to, self.to_at) == (self.link, self.at):
            raise Fault("to_at", f"is {self.to_at}, where the strut begins; its ends must be apart")
        return self
