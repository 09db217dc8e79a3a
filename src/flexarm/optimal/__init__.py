"""Motions that are the fastest, the cheapest or the smoothest within limits, and leave nothing ringing."""

from flexarm.optimal.limits import Limits
from flexarm.optimal.motion import OptimalMotion
from flexarm.optimal.search import optimal_motion

__all__ = ["Limits", "OptimalMotion", "optimal_motion"]
