"""Theodore & Ghosal 1997, an arm with a flexible link that slides out of its hub: eqs. 1 to 43, Figs. 4 to 8."""

from pathlib import Path

from flexarm_papers.theodore_ghosal import claims_frames, claims_model, claims_results, claims_stability, claims_waves
from flexarm_papers.theodore_ghosal.compute import DIRECTIONS, LONG, SHORT, Flexible, motion, sliding, varied
from flexarm_papers.theodore_ghosal.figures import draw_all
from flexarm_papers.theodore_ghosal.runs import Runs
from flexarm_papers.verdicts import Part

__all__ = ["DIRECTIONS", "LONG", "SHORT", "Flexible", "Runs", "motion", "parts", "reproduce", "sliding", "varied"]


def reproduce(folder: Path, runs: Runs | None = None) -> list[Part]:
    """Draw Figs. 4 to 8 and four of our own into the folder, and return the claims. `runs` may be shared."""
    runs = Runs() if runs is None else runs
    draw_all(folder, runs)
    return parts(runs)


def parts(runs: Runs) -> list[Part]:
    """Return the paper's equations, tables and figures in its order, then studies of our own."""
    return [
        claims_waves.sliding_beam(runs),
        claims_waves.waves_and_beam(runs),
        claims_model.boundary_conditions(runs),
        claims_model.frequency_in_time(runs),
        claims_frames.kinematics(runs),
        claims_model.convection(runs),
        claims_model.lagrange(runs),
        claims_frames.weight(runs),
        claims_stability.control_law(runs),
        claims_stability.free_vibration(runs),
        claims_stability.stability(runs),
        claims_results.table_1(runs),
        claims_results.desired_motion(runs),
        claims_results.vibration(runs),
        claims_results.eigenvalues(runs, "6", "extension"),
        claims_results.eigenvalues(runs, "7", "retraction"),
        claims_model.wave_numbers(runs),
        claims_results.response(runs),
        claims_results.finite_elements(runs),
        *claims_results.studies(runs),
    ]
