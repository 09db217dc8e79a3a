"""References, which are motions of the joints as expressions in t, and input shapers."""

from flexarm.trajectory.compensated import TipCompensated
from flexarm.trajectory.lines import TaskLine
from flexarm.trajectory.motions import BangBang, Cycloidal, MinimumJerk, ParabolicBlends, Quintic
from flexarm.trajectory.reference import Reference, Still, jumps_of, reference_motion, reference_values
from flexarm.trajectory.shapers import EI, MZV, PSZV, UMZV, ZV, ZVD, ZVDD, Shaped, Shaper, shaped

__all__ = [
    "EI",
    "MZV",
    "PSZV",
    "UMZV",
    "ZV",
    "ZVD",
    "ZVDD",
    "BangBang",
    "Cycloidal",
    "MinimumJerk",
    "ParabolicBlends",
    "Quintic",
    "Reference",
    "Shaped",
    "Shaper",
    "Still",
    "TaskLine",
    "TipCompensated",
    "jumps_of",
    "reference_motion",
    "reference_values",
    "shaped",
]
