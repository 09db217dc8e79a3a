"""References: motions of the joints, as expressions in t, and input shapers."""

from flexarm.trajectory.compensated import TipCompensated
from flexarm.trajectory.lines import TaskLine
from flexarm.trajectory.motions import BangBang, Cycloidal, MinimumJerk, ParabolicBlends, Quintic
from flexarm.trajectory.reference import Reference, jumps_of, reference_motion, reference_values
from flexarm.trajectory.shapers import EI, ZV, ZVD, Shaped, Shaper, shaped, shaper, vibrations

__all__ = [
    "EI",
    "ZV",
    "ZVD",
    "BangBang",
    "Cycloidal",
    "MinimumJerk",
    "ParabolicBlends",
    "Quintic",
    "Reference",
    "Shaped",
    "Shaper",
    "TaskLine",
    "TipCompensated",
    "jumps_of",
    "reference_motion",
    "reference_values",
    "shaped",
    "shaper",
    "vibrations",
]
