"""Robust control: norms, H-infinity synthesis, uncertain models, structured singular values, model reduction.

- `systems`: interconnections of linear systems as matrices, and `norms` of systems
- `plants`, `synthesis`, `loop_shaping`: weights, and H-infinity controllers by Riccati equations
- `reduction`: linear models with fewer states, and `comparison`: their controllers on the complete arm
- `mu`: bounds of structured singular values, and `peaks`: their proof for all frequencies
- `mu_synthesis`: controllers for uncertain plants by D-K iteration
- `uncertain`: models with parameters in ranges, `structured`: their stability, and `worst`: their largest gains
"""

from flexarm.robust.comparison import Comparison, compare_reduced
from flexarm.robust.loop_shaping import LoopShaping, loop_shaping
from flexarm.robust.mu import Mu, mu_bound
from flexarm.robust.mu_synthesis import MuSynthesis, mu_synthesis
from flexarm.robust.norms import Norm, h2_norm, hinf_norm
from flexarm.robust.plants import four_block, weight
from flexarm.robust.reduction import Reduction, reduce_arm, reduce_system
from flexarm.robust.structured import RobustStability, robust_stability
from flexarm.robust.synthesis import Synthesis, hinf_synthesis
from flexarm.robust.uncertain import Uncertain, uncertain
from flexarm.robust.worst import WorstGain, worst_gain

__all__ = [
    "Comparison",
    "LoopShaping",
    "Mu",
    "MuSynthesis",
    "Norm",
    "Reduction",
    "RobustStability",
    "Synthesis",
    "Uncertain",
    "WorstGain",
    "compare_reduced",
    "four_block",
    "h2_norm",
    "hinf_norm",
    "hinf_synthesis",
    "loop_shaping",
    "mu_bound",
    "mu_synthesis",
    "reduce_arm",
    "reduce_system",
    "robust_stability",
    "uncertain",
    "weight",
    "worst_gain",
]
