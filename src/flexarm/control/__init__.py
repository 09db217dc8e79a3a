"""Controllers: each a frozen object that designs a law for a model; one a file."""

from flexarm.control.computed_torque import ComputedTorque
from flexarm.control.decoupling import Decoupling
from flexarm.control.designed_for import DesignedFor
from flexarm.control.integral import Integral
from flexarm.control.observer import Observed
from flexarm.control.pd import JointPD
from flexarm.control.saturated import Saturated
from flexarm.control.strain import StrainRate
from flexarm.feedback import Law, Sampled

__all__ = [
    "ComputedTorque",
    "Decoupling",
    "DesignedFor",
    "Integral",
    "JointPD",
    "Law",
    "Observed",
    "Sampled",
    "Saturated",
    "StrainRate",
]
