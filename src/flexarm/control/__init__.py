"""Controllers: each is a frozen object that designs a control law for a model. Each file has one controller."""

from typing import Any

from flexarm.control.attitude import AttitudePD
from flexarm.control.cascaded import Cascaded
from flexarm.control.composite import Composite
from flexarm.control.computed_torque import ComputedTorque
from flexarm.control.decoupling import Decoupling
from flexarm.control.designed_for import DesignedFor
from flexarm.control.disturbance import DisturbanceObserver
from flexarm.control.equilibrium import equilibrium
from flexarm.control.every import Every
from flexarm.control.integral import Integral
from flexarm.control.learning import Learned, learn
from flexarm.control.linear import Linear
from flexarm.control.lqr import LQR
from flexarm.control.observer import Observed
from flexarm.control.on_links import OnLinks
from flexarm.control.pd import JointPD
from flexarm.control.predictive import Predictive
from flexarm.control.saturated import Saturated
from flexarm.control.scheduled import ScheduledLQR
from flexarm.control.shaping import design_shaper, vibrations
from flexarm.control.sliding_mode import SlidingMode
from flexarm.control.slotine_li import SlotineLi
from flexarm.control.strain import StrainRate
from flexarm.control.sum import Sum
from flexarm.control.time_delay import TimeDelay
from flexarm.control.tracking import Tracking
from flexarm.control.voltage import VoltageDrive
from flexarm.control.zpetc import ZPETC
from flexarm.renamed import renamed
from flexarm.simulation.law import Law
from flexarm.simulation.sampled import Sampled
from flexarm.simulation.shown import show

__all__ = [
    "LQR",
    "ZPETC",
    "AttitudePD",
    "Cascaded",
    "Composite",
    "ComputedTorque",
    "Decoupling",
    "DesignedFor",
    "DisturbanceObserver",
    "Every",
    "Integral",
    "JointPD",
    "Law",
    "Learned",
    "Linear",
    "Observed",
    "OnLinks",
    "Predictive",
    "Sampled",
    "Saturated",
    "ScheduledLQR",
    "SlidingMode",
    "SlotineLi",
    "StrainRate",
    "Sum",
    "TimeDelay",
    "Tracking",
    "VoltageDrive",
    "design_shaper",
    "equilibrium",
    "learn",
    "show",
    "vibrations",
]


def __getattr__(name: str) -> Any:
    return renamed(__name__, {"shaper": "design_shaper"}, name)
