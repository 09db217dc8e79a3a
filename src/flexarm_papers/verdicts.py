"""Claims of papers, the results for them here, and the verdicts computed from both.

A paper is a package below this one: `compute` (arms and numbers), `claims` (claims of the paper with those numbers),
`figures`. Its `reproduce(folder)` draws the figures and returns the `Part`s of the paper in its order: each figure,
table or numbered result about an arm.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module  # noqa: TID251  (the papers' own packages)
from pathlib import Path
from typing import Literal, final

from flexarm import DescriptionError
from flexarm.checks import unknown_name

Verdict = Literal["reproduced", "reproduced with a correction", "not reproduced", "no data printed"]
VERDICTS: tuple[Verdict, ...] = (
    "reproduced",
    "no data printed",
    "reproduced with a correction",
    "not reproduced",
)
"""Verdicts from best to worst. A part of a paper has the worst verdict of its claims."""


@final
@dataclass(frozen=True)
class Check:
    """A number of this run and its permitted range. NaN lies in no range.

    Attributes
    ----------
    value : float
    low, high : float
        Bounds, both included.
    """

    value: float
    low: float
    high: float

    @property
    def met(self) -> bool:
        """True if the number lies in its range."""
        return bool(self.low <= self.value <= self.high)


def near(value: float, printed: float, tolerance: float) -> Check:
    """Return the check that a number differs from a printed one by at most `tolerance` (in the number's own unit)."""
    return Check(float(value), printed - tolerance, printed + tolerance)


def within(value: float, printed: float, share: float) -> Check:
    """Return the check that a number differs from a printed one by at most a share of it."""
    return near(value, printed, share * abs(printed))


def below(value: float, limit: float) -> Check:
    """Return the check |value| <= limit."""
    return Check(abs(float(value)), 0.0, limit)


def above(value: float, limit: float) -> Check:
    """Return the check value >= limit."""
    return Check(float(value), limit, float("inf"))


def holds(statement: bool) -> Check:
    """Return the check that a statement is true."""
    return Check(float(bool(statement)), 1.0, 1.0)


@final
@dataclass(frozen=True)
class Claim:
    """A claim of a paper and the result for it here.

    Attributes
    ----------
    where : str
        Equation, figure, table or section, with the quantity.
    says : str
        The paper's claim in a plain sentence.
    printed, ours : str
        Numbers with units. `printed` is empty where the paper prints none.
    checks : list of Check
        Checks of the claim as printed. Where nothing is printed, they check flexarm's number (against another method,
        by convergence, by an identity).
    correction : str
        Change of the paper's text or numbers, where one is needed.
    corrected : list of Check
        Checks of the claim with the correction.
    note : str
        One or two plain sentences with the reason, or with what was tried.
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
        """Verdict by the checks alone. A correction counts only where the printed claim fails."""
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
    """Claims of a figure, table or numbered result of a paper.

    Attributes
    ----------
    name : str
        Name in the paper: "Fig. 4", "Table 1", "Theorem 1".
    says : str
        One plain sentence for a reader who has the paper but not the program.
    claims : list of Claim
    figure : str
        File name of our figure in the folder given to `reproduce`, or empty.
    study : bool
        True for a study of our own, which counts for no verdict of the paper.
    """

    name: str
    says: str
    claims: Sequence[Claim]
    figure: str = ""
    study: bool = False

    @property
    def verdict(self) -> Verdict:
        """Worst verdict of the claims."""
        return max((claim.verdict for claim in self.claims), key=VERDICTS.index)


@final
@dataclass(frozen=True)
class Paper:
    """A paper and its package.

    Attributes
    ----------
    name : str
        Name in `flexarm papers NAME`.
    title : str
    """

    name: str
    title: str

    def reproduce(self, folder: Path) -> list[Part]:
        """Draw the figures into the folder and return the claims."""
        run: Callable[[Path], list[Part]] = import_module(f"flexarm_papers.{self.name.replace('-', '_')}").reproduce
        return run(folder)


PAPERS = (
    Paper("theodore-ghosal", "Theodore & Ghosal 1997: Modeling of flexible-link manipulators with prismatic joints"),
    Paper("lin-lewis", "Lin & Lewis 1994: Closed forms for arms with rigid and flexible links"),
    Paper("subudhi-morris", "Subudhi & Morris 2002: Flexible links and joints, composite control"),
    Paper("mohan-saha", "Mohan & Saha: Recursive forward dynamics for flexible links"),
)
"""The four papers."""


def papers(name: str | None = None) -> tuple[Paper, ...]:
    """Return all papers, or the one with this name."""
    chosen = tuple(paper for paper in PAPERS if name in (None, paper.name))
    if not chosen:
        known = [paper.name for paper in PAPERS]
        raise DescriptionError(unknown_name("unknown paper", name, known, "known papers are"))
    return chosen
