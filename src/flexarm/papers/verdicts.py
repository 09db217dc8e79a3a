"""What a paper says, what a run of ours gives, and the verdict that follows from the two by computation.

A paper is a package of its own below this one: `compute` (arms and numbers), `claims` (what the paper says beside
those numbers), `figures` (pictures); its `reproduce(folder)` draws the pictures and returns the `Part`s of the paper
in its order: each figure, table or numbered result that says something about an arm.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module  # noqa: TID251  (names of the package's own)
from pathlib import Path
from typing import Literal, final

from flexarm.checks import meant, shown
from flexarm.errors import DescriptionError

Verdict = Literal["reproduced", "reproduced with a correction", "not reproduced", "no data printed"]
VERDICTS: tuple[Verdict, ...] = (
    "reproduced",
    "no data printed",
    "reproduced with a correction",
    "not reproduced",
)
"""From best to worst: a part of a paper has the worst of its claims."""


@final
@dataclass(frozen=True)
class Check:
    """A number of this run, and the range in which it must lie; NaN lies in none.

    Attributes
    ----------
    value : float
    low, high : float
        Both included.
    """

    value: float
    low: float
    high: float

    @property
    def met(self) -> bool:
        """Whether the number lies in its range."""
        return bool(self.low <= self.value <= self.high)


def near(value: float, printed: float, tolerance: float) -> Check:
    """A number against a printed one, no further off than `tolerance` (in the number's own unit)."""
    return Check(float(value), printed - tolerance, printed + tolerance)


def within(value: float, printed: float, share: float) -> Check:
    """A number against a printed one, no further off than a share of it."""
    return near(value, printed, share * abs(printed))


def below(value: float, limit: float) -> Check:
    """A size that must not pass a limit: |value| <= limit."""
    return Check(abs(float(value)), 0.0, limit)


def above(value: float, limit: float) -> Check:
    """A number that must reach a limit."""
    return Check(float(value), limit, float("inf"))


def holds(statement: bool) -> Check:
    """A statement that this run found true or false."""
    return Check(float(bool(statement)), 1.0, 1.0)


@final
@dataclass(frozen=True)
class Claim:
    """One thing a paper says, beside ours.

    Attributes
    ----------
    where : str
        Equation, figure, table or section, and what of it.
    says : str
        What the paper says, in a plain sentence.
    printed, ours : str
        The numbers, with units; `printed` is empty where the paper prints none.
    checks : list of Check
        What this run gives of the thing as printed. Where nothing is printed: what our own number must satisfy all the
        same (another method, convergence, an identity).
    correction : str
        What is changed in the paper's text or numbers, where something must be.
    corrected : list of Check
        What this run gives with the correction.
    note : str
        One or two plain sentences: why, or what was tried.
    """

    where: str
    says: str
    printed: str
    ours: str
    checks: Sequence[Check]
    correction: str = ""
    corrected: Sequence[Check] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if not self.checks:
            raise ValueError(f"{self.where}: a claim without a check cannot fail")
        if bool(self.correction) != bool(self.corrected):
            raise ValueError(f"{self.where}: a correction needs checks, and checks of a correction its name")

    @property
    def verdict(self) -> Verdict:
        """From the checks alone: a correction counts only where the print fails without it."""
        as_printed = all(check.met for check in self.checks)
        if not self.printed:
            return "no data printed" if as_printed else "not reproduced"
        if as_printed:
            return "reproduced"
        if self.corrected and all(check.met for check in self.corrected):
            return "reproduced with a correction"
        return "not reproduced"


@final
@dataclass(frozen=True)
class Part:
    """A figure, table or numbered result of a paper: its claims together.

    Attributes
    ----------
    name : str
        As the paper calls it: "Fig. 4", "Table 1", "Theorem 1".
    says : str
        One plain sentence for a reader who has the paper in hand and no program.
    claims : list of Claim
    figure : str
        File name of our picture of it, in the folder given to `reproduce`; empty where there is none.
    study : bool
        Whether it is a study of our own beside the paper, not a part of it; it then counts for no verdict of the paper.
    """

    name: str
    says: str
    claims: Sequence[Claim]
    figure: str = ""
    study: bool = False

    @property
    def verdict(self) -> Verdict:
        """The worst of its claims'."""
        return max((claim.verdict for claim in self.claims), key=VERDICTS.index)


@final
@dataclass(frozen=True)
class Paper:
    """A paper and its package.

    Attributes
    ----------
    name : str
        As in `flexarm papers NAME`.
    title : str
    """

    name: str
    title: str

    def reproduce(self, folder: Path) -> list[Part]:
        """Draw the figures into the folder and check the claims."""
        run: Callable[[Path], list[Part]] = import_module(f"flexarm.papers.{self.name.replace('-', '_')}").reproduce
        return run(folder)


PAPERS = (
    Paper("theodore-ghosal", "Theodore & Ghosal 1997: Modeling of flexible-link manipulators with prismatic joints"),
    Paper("lin-lewis", "Lin & Lewis 1994: Closed forms for arms with rigid and flexible links"),
    Paper("subudhi-morris", "Subudhi & Morris 2002: Flexible links and joints, composite control"),
    Paper("mohan-saha", "Mohan & Saha: Recursive forward dynamics for flexible links"),
)


def papers(name: str | None = None) -> tuple[Paper, ...]:
    """All papers, or the one of this name."""
    chosen = tuple(paper for paper in PAPERS if name in (None, paper.name))
    if not chosen:
        known = [paper.name for paper in PAPERS]
        raise DescriptionError(f"unknown paper {shown(name)}; there are {', '.join(known)}{meant(name, known)}")
    return chosen
