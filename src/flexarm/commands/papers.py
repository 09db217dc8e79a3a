"""The four papers, reproduced: papers."""

from pathlib import Path
from typing import Annotated

import typer

from flexarm.commands.terminal import check_folder, say
from flexarm.files import write_whole


def papers(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[PAPER]", help="theodore-ghosal, lin-lewis, subudhi-morris or mohan-saha."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figures and the tables.")] = Path("papers"),
) -> None:
    """Reproduce the four papers (or one): draws their figures, prints each claim beside what comes out here."""
    import time

    from flexarm.papers import papers
    from flexarm.papers.tables import counted, details, markdown, overview

    chosen = papers(name)
    check_folder(out)
    for paper in chosen:
        began = time.perf_counter()
        say(f"{paper.title}\n", style="bold")
        parts = paper.reproduce(out)
        say(overview(parts))
        say(details(parts))
        path = write_whole(out / f"{paper.name}.md", markdown(parts).encode())
        say(f"{counted(parts)}; {time.perf_counter() - began:.1f} s; figures and {path.name} in {out}\n")
