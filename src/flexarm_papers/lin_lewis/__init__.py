"""Lin & Lewis 1994: Theorem 1, examples 4.1 to 4.4, and the inertia matrix of the appendix.

The arms and numbers are in `compute`, and those of one subject each in `zeros`, `loaded`, `elastic` and `appendix`. The
paper's claims are in `claims`, `claims_beam`, `claims_elastic` and `claims_rfr`. The figures are in `figures`.
"""

from pathlib import Path

from flexarm_papers.verdicts import Part


def reproduce(folder: Path) -> list[Part]:
    """Draw the figures into the folder and return the claims of the paper."""
    from flexarm_papers.lin_lewis import claims, figures

    figures.draw(folder)
    return claims.parts()
