"""Linear analysis of arms and control loops: equilibria, poles and zeros, responses, modes, margins, free bases.

    q, u = equilibrium(model, q0)
    system = model.linearize(q, 0 * q, u, outputs=[TipPosition(axes="y")])
    zeros(system, "tip_y", "u_upper_joint")

Functions of a system take a continuous-time `control.StateSpace`, with outputs and inputs by name or index.
"""

from typing import Any

from flexarm.analysis.along import (
    LyapunovRate,
    equations_along,
    flexible_equations,
    frozen_eigenvalues,
    lyapunov_rate,
    quadratic_eigenvalues,
)
from flexarm.analysis.convergence import Convergence, convergence
from flexarm.analysis.equilibrium import configuration, equilibrium
from flexarm.analysis.floating import base_rates, generalized_jacobian, reaction_null, tip_jacobian
from flexarm.analysis.inversion import Inversion, stable_inversion
from flexarm.analysis.linear import (
    Channels,
    ZeroDynamics,
    is_minimum_phase,
    poles,
    transfer_function,
    transfer_matrix,
    zero_dynamics,
    zeros,
)
from flexarm.analysis.loops import closed_loop, loop
from flexarm.analysis.margins import Margins, Together, margins, together
from flexarm.analysis.migration import PoleMigration, pole_migration
from flexarm.analysis.modes import mode_table, steady_modes
from flexarm.analysis.nonlinear_inversion import nonlinear_inversion
from flexarm.analysis.reactionless import ReactionlessLine
from flexarm.analysis.stability import Point, Stability, Worst, stability
from flexarm.renamed import renamed

__all__ = [
    "Channels",
    "Convergence",
    "Inversion",
    "LyapunovRate",
    "Margins",
    "Point",
    "PoleMigration",
    "ReactionlessLine",
    "Stability",
    "Together",
    "Worst",
    "ZeroDynamics",
    "base_rates",
    "closed_loop",
    "configuration",
    "convergence",
    "equations_along",
    "equilibrium",
    "flexible_equations",
    "frozen_eigenvalues",
    "generalized_jacobian",
    "is_minimum_phase",
    "loop",
    "lyapunov_rate",
    "margins",
    "mode_table",
    "nonlinear_inversion",
    "pole_migration",
    "poles",
    "quadratic_eigenvalues",
    "reaction_null",
    "stability",
    "stable_inversion",
    "steady_modes",
    "tip_jacobian",
    "together",
    "transfer_function",
    "transfer_matrix",
    "zero_dynamics",
    "zeros",
]


def __getattr__(name: str) -> Any:
    return renamed(__name__, {"frequency_response": "transfer_matrix"}, name)
