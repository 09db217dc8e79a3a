"""The fastest, cheapest or smoothest motions within limits, which end without residual vibration."""

from flexarm.optimal.limits import Limits
from flexarm.optimal.motion import OptimalMotion
from flexarm.optimal.search import optimal_motion

__all__ = ["Limits", "OptimalMotion", "optimal_motion"]
