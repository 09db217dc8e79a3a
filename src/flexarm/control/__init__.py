"""Controllers: each a frozen object that designs a law for a model; one a file."""

from flexarm.control.pd import JointPD
from flexarm.feedback import Law, Sampled

__all__ = ["JointPD", "Law", "Sampled"]
