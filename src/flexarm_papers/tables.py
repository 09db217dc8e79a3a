"""Parts and claims of a paper as tables for the terminal and in Markdown."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from flexarm_papers.verdicts import VERDICTS, Claim, Part


def overview(parts: Sequence[Part]) -> Any:
    """Return a table of the parts for the terminal."""
    from rich.table import Table

    drawn = Table("where", "what", "verdict", "our figure", box=None, padding=(0, 2, 0, 0))
    for part in parts:
        drawn.add_row(part.name, part.says, "(a study of ours)" if part.study else part.verdict, part.figure)
    return drawn


def details(parts: Sequence[Part]) -> Any:
    """Return a table of the claims for the terminal."""
    from rich.table import Table

    drawn = Table("where", "the paper says", "printed", "ours", "verdict", "note", show_lines=True)
    for claim in claims(parts):
        drawn.add_row(claim.where, claim.says, claim.printed, claim.ours, claim.verdict, remark(claim))
    return drawn


def markdown(parts: Sequence[Part], figures: str = "") -> str:
    """Return both tables and the corrections in Markdown.

    `figures` is the folder of the figures relative to the page.
    """
    rows = [("where", "what", "verdict", "our figure"), ("---",) * 4]
    for part in parts:
        picture = f"[figure]({figures}{part.figure})" if part.figure else ""
        rows.append((part.name, part.says, "a study of ours" if part.study else part.verdict, picture))
    corrections = [f"- **{c.where}.** {c.correction} {c.note}".rstrip() for c in claims(parts) if c.correction]
    long = [("where", "the paper says", "printed", "ours", "verdict", "note"), ("---",) * 6]
    long += [(c.where, c.says, c.printed, c.ours, c.verdict, remark(c)) for c in claims(parts)]
    mended = ["## Corrections", "", *corrections, ""] if corrections else []
    return "\n".join(["## At a glance", "", *_rows(rows), "", *mended, "## Claim by claim", "", *_rows(long), ""])


def counted(parts: Sequence[Part]) -> str:
    """Return the number of claims of the paper with each verdict, as text."""
    counts = Counter(claim.verdict for part in parts if not part.study for claim in part.claims)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def claims(parts: Sequence[Part]) -> list[Claim]:
    """Return all claims in order."""
    return [claim for part in parts for claim in part.claims]


def remark(claim: Claim) -> str:
    """Return the correction and the note."""
    return " ".join(filter(None, (claim.correction and f"Corrected: {claim.correction}", claim.note)))


def _rows(rows: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
