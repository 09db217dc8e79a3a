"""Subudhi & Morris 2002: two flexible links with elastic joints, their model and their controller.

`compute`, `modes`, `written`, `gains` and `control` compute the numbers. `claims`, `responses`, `tracking` and
`studies` compare the paper's claims with them. `figures` draws.
"""

from pathlib import Path

from flexarm_papers.subudhi_morris import claims, figures, responses, studies, tracking
from flexarm_papers.verdicts import Part

__all__ = ["reproduce"]


def reproduce(folder: Path) -> list[Part]:
    """Draw the figures into the folder and return the claims."""
    figures.draw_all(folder)
    paper = [*claims.parts(), *responses.parts(), *tracking.parts(), *studies.parts()]
    return [part for part in paper if not part.study] + [part for part in paper if part.study]
