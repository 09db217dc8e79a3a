"""Score of a file: its errors against a problem's converged trajectory."""

from dataclasses import dataclass
from os import PathLike, fspath
from typing import final

from flexarm.brief import brief
from flexarm.description.load import path_text, printable
from flexarm.errors import DescriptionError
from flexarm.problems import scoring
from flexarm.problems.described import place, reference
from flexarm.problems.scoring import Column


@final
@brief
@dataclass(frozen=True)
class Score:
    """Errors of a file against a problem's converged trajectory.

    Attributes
    ----------
    problem : str
    file : str
    columns : tuple of Column
        In the order of the file: `name`, `unit`, largest `error` and its time `at`, `rms` error, `size` (largest change
        of the column), `relative` (error over size), `uncertainty` of the converged trajectory, and `agrees`, which is
        True if the error is within that uncertainty.
    """

    problem: str
    file: str
    columns: tuple[Column, ...]

    @property
    def worst(self) -> Column:
        """The column with the largest relative error."""
        return max(self.columns, key=lambda each: each.relative)


def score(name: str, path: str | PathLike[str]) -> Score:
    """Return the errors of a CSV file against the converged trajectory of a problem.

    The first line names the columns with their units, `time [s],tip.x [m],upper.joint [rad]`: the time, and any of the
    problem's columns, in any order. Rows are in the order of time. The file must have every time of the problem, and
    other times are ignored. The sign of a quaternion is chosen so that it is nearer to the reference.

    Raises `DescriptionError`, one line that begins with the file's name, for wrong columns, units, times or numbers.
    """
    place(name)
    given = path_text("score", "a problem", path)
    converged, uncertainty, _ = reference(name)
    try:
        columns = scoring.score(converged, uncertainty, given)
    except (scoring.Wrong, ValueError) as error:  # ValueError is raised for a name with a null byte
        raise DescriptionError(str(error), printable(given), sentence=True) from None
    return Score(name, fspath(given), tuple(columns))
