"""What a paper says, what we find, and whether the two agree."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, final

from flexarm.errors import DescriptionError

Verdict = Literal["met", "explained", "not met"]


@final
@dataclass(frozen=True)
class Claim:
    """A number or a statement of a paper, beside ours.

    Attributes
    ----------
    where : str
        Figure, table, equation or section.
    quantity : str
    printed : str
        As the paper has it.
    ours : str
    verdict : "met", "explained" or "not met"
        Explained: it does not come out as printed, and `note` says why, with a derivation in docs/papers.
    note : str
    """

    where: str
    quantity: str
    printed: str
    ours: str
    verdict: Verdict
    note: str = ""


@final
@dataclass(frozen=True)
class Paper:
    """A paper and its module.

    Attributes
    ----------
    name : str
        As in `flexarm papers NAME`.
    title : str
    """

    name: str
    title: str

    def reproduce(self, folder: Path) -> list[Claim]:
        """Draw the figures into the folder and check the claims."""
        run: Callable[[Path], list[Claim]] = import_module(f"flexarm.papers.{self.name.replace('-', '_')}").reproduce
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
        raise DescriptionError(f"unknown paper {name!r}; there are {', '.join(paper.name for paper in PAPERS)}")
    return chosen


def table(claims: list[Claim]) -> Any:
    """The claims as a table for the terminal."""
    from rich.table import Table

    drawn = Table("where", "quantity", "printed", "ours", "verdict", "note", show_lines=True)
    for claim in claims:
        drawn.add_row(claim.where, claim.quantity, claim.printed, claim.ours, claim.verdict, claim.note)
    return drawn


def markdown(claims: list[Claim]) -> str:
    """The claims as a Markdown table."""
    rows = [("where", "quantity", "printed", "ours", "verdict", "note"), ("---",) * 6]
    rows += [(c.where, c.quantity, c.printed, c.ours, c.verdict, c.note) for c in claims]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows)
