"""What a file misses of a problem's converged trajectory."""

from dataclasses import dataclass
from os import PathLike, fspath
from typing import final

from flexarm.description.load import path_text, printable
from flexarm.errors import DescriptionError
from flexarm.problems import scoring
from flexarm.problems.described import place, reference
from flexarm.problems.scoring import Column


@final
@dataclass(frozen=True)
class Score:
    """How far a file is from a problem's converged trajectory.

    Attributes
    ----------
    problem : str
    file : str
    columns : tuple of Column
        In the order of the file: `name`, `unit`, largest `error` and the time `at` which it is, `rms` error, `size`
        (how far the column moves), `relative` (error over size), `uncertainty` of the converged trajectory, and whether
        it `agrees` within that.
    """

    problem: str
    file: str
    columns: tuple[Column, ...]

    @property
    def worst(self) -> Column:
        """The column whose error is the largest share of its size."""
        return max(self.columns, key=lambda each: each.relative)


def score(name: str, path: str | PathLike[str]) -> Score:
    """How far a CSV file is from the converged trajectory of a problem.

    The first line names the columns with their units, `time [s],tip.x [m],upper.joint [rad]`: the time, and as many of
    the problem's columns as there are, in any order. Rows come in the order of time; every time of the problem must be
    there, and others are passed over. Of a quaternion and its negative the nearer is taken.

    Raises `DescriptionError`, one line that begins with the file's name: wrong columns, units, times, numbers.
    """
    place(name)
    given = path_text("score", "a problem", path)
    converged, uncertainty, _ = reference(name)
    try:
        columns = scoring.score(converged, uncertainty, given)
    except (scoring.Wrong, ValueError) as error:  # ValueError: a name with a null byte
        raise DescriptionError(str(error), printable(given), sentence=True) from None
    return Score(name, fspath(given), tuple(columns))
