"""Command that reproduces the four papers: papers."""

from pathlib import Path
from typing import Annotated, Any

import typer

from flexarm.commands.document import Json, show_document
from flexarm.commands.terminal import check_folder, say
from flexarm.files import write_whole


def _names(incomplete: str) -> list[tuple[str, str]]:
    from flexarm_papers.verdicts import PAPERS

    return [(paper.name, paper.title) for paper in PAPERS if paper.name.startswith(incomplete)]


def papers(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER]", help="theodore-ghosal, lin-lewis, subudhi-morris or mohan-saha.", autocompletion=_names
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figures and the tables.")] = Path("papers"),
    json: Json = False,
) -> None:
    """Reproduce the four papers, or one of them.

    Draws their figures, and prints each claim beside the result of this package.
    """
    import time

    from flexarm_papers import papers
    from flexarm_papers.tables import counted, details, markdown, overview

    chosen = papers(name)
    check_folder(out)
    found = []
    for paper in chosen:
        began = time.perf_counter()
        if not json:
            say(f"{paper.title}\n", style="bold")
        parts = paper.reproduce(out)
        path = write_whole(out / f"{paper.name}.md", markdown(parts).encode())
        seconds = time.perf_counter() - began
        found.append(_found(paper, parts, path, seconds))
        if not json:
            say(overview(parts))
            say(details(parts))
            say(f"{counted(parts)}; {seconds:.1f} s; figures and {path.name} in {out}\n")
    if json:
        show_document("papers", {"papers": found})


def _found(paper: Any, parts: list[Any], path: Path, seconds: float) -> dict[str, Any]:
    """Return the claims of a paper with the results of this package."""
    said = ("where", "says", "printed", "ours", "verdict", "correction", "note")
    return {
        "name": paper.name,
        "title": paper.title,
        "parts": [
            {
                "where": part.name,
                "says": part.says,
                "study": part.study,
                "verdict": None if part.study else part.verdict,
                "figure": path.parent / part.figure if part.figure else None,
                "claims": [{key: getattr(claim, key) for key in said} for claim in part.claims],
            }
            for part in parts
        ],
        "seconds": seconds,
        "written": [path],
    }
