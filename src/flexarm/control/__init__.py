"""Controllers: each a frozen object that designs a law for a model; one a file."""

from flexarm.control.attitude import AttitudePD
from flexarm.control.cascaded import Cascaded
from flexarm.control.composite import Composite
from flexarm.control.computed_torque import ComputedTorque
from flexarm.control.decoupling import Decoupling
from flexarm.control.designed_for import DesignedFor
from flexarm.control.equilibrium import equilibrium
from flexarm.control.every import Every
from flexarm.control.integral import Integral
from flexarm.control.linear import Linear
from flexarm.control.lqr import LQR
from flexarm.control.observer import Observed
from flexarm.control.on_links import OnLinks
from flexarm.control.pd import JointPD
from flexarm.control.saturated import Saturated
from flexarm.control.scheduled import ScheduledLQR
from flexarm.control.shaping import shaper, vibrations
from flexarm.control.strain import StrainRate
from flexarm.control.sum import Sum
from flexarm.control.voltage import VoltageDrive
from flexarm.simulation.law import Law
from flexarm.simulation.sampled import Sampled

__all__ = [
    "LQR",
    "AttitudePD",
    "Cascaded",
    "Composite",
    "ComputedTorque",
    "Decoupling",
    "DesignedFor",
    "Every",
    "Integral",
    "JointPD",
    "Law",
    "Linear",
    "Observed",
    "OnLinks",
    "Sampled",
    "Saturated",
    "ScheduledLQR",
    "StrainRate",
    "Sum",
    "VoltageDrive",
    "equilibrium",
    "shaper",
    "vibrations",
]
