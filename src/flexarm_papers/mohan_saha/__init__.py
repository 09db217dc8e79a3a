"""Mohan & Saha, recursive forward dynamics of arms with flexible links: equations, Table 1, Figs. 4 to 8.

counts              the operations of Table 1
compute             the Canadarm's slew, by the recursion and by the dense path
shapes              the shapes of eq. 43
twists              the blocks of eqs. 8 to 11 and 24a
equations           the numbered equations as printed and as corrected, as numbers
claims_equations    the claims of sections 2 to 5
claims              the claims of sections 6 and 7
rounding, faults    two studies: errors against 50 digits; faults of the dense path
figures             the figures
"""

from pathlib import Path

from flexarm_papers.mohan_saha import claims, claims_equations, faults, figures, rounding
from flexarm_papers.mohan_saha.compute import slew
from flexarm_papers.verdicts import Part


def reproduce(folder: Path) -> list[Part]:
    """Draw Figs. 4 to 8 and the studies' figures into the folder, and return the claims in the paper's order."""
    arm = slew()
    for draw in (figures.fig_4, figures.fig_5, figures.fig_6, figures.fig_7, figures.fig_8):
        draw(folder, arm)
    figures.errors(folder, arm)
    figures.fault(folder, arm)
    return [
        claims_equations.foreshortening(arm),
        claims_equations.twists(arm),
        claims_equations.motion(arm),
        claims_equations.factors(arm),
        claims.table_1(),
        claims.section_6(),
        claims.table_2(arm),
        claims.eq_43(),
        claims.eq_44(arm),
        claims.fig_4(arm),
        claims.fig_5(arm),
        claims.section_7_1(arm),
        claims.stability(arm),
        claims.fig_6(arm),
        claims.fig_7(arm),
        claims.fig_8(arm),
        claims.energy(arm),
        rounding.study(arm),
        faults.study(arm),
    ]
