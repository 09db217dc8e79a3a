"""Serial manipulators whose links and joints bend: described in a few lines, derived once, compiled, simulated."""

from importlib import import_module  # noqa: TID251  (names of the package's own)
from typing import TYPE_CHECKING, Any

from flexarm import shapes
from flexarm.description.arm import (
    Arm,
    Beam,
    Box,
    Fixed,
    Link,
    Material,
    Payload,
    Pose,
    Prismatic,
    Revolute,
    Rigid,
    Rod,
    Telescope,
    Tube,
)
from flexarm.description.load import bundled, load
from flexarm.errors import DescriptionError, FlexarmError, SimulationError
from flexarm.model import Model
from flexarm.scenario import Scenario, bundled_scenarios, load_scenario
from flexarm.sensors import (
    Accelerometer,
    Encoder,
    StrainGauge,
    Tachometer,
    TipDeflection,
    TipPosition,
    outputs,
    sampled,
)
from flexarm.simulation import inputs
from flexarm.simulation.inputs import Piecewise, PrescribedMotion, RigidInverseDynamics, Table, bang_bang
from flexarm.simulation.performance import Performance, performance
from flexarm.simulation.results import load_result, save_result
from flexarm.simulation.run import simulate
from flexarm.simulation.stepper import Stepper
from flexarm.trajectory import (
    EI,
    ZV,
    ZVD,
    BangBang,
    Cycloidal,
    MinimumJerk,
    ParabolicBlends,
    Quintic,
    Shaper,
    TaskLine,
    TipCompensated,
    shaped,
)
from flexarm.version import __version__

if TYPE_CHECKING:
    from flexarm import analysis, control
    from flexarm.closed_forms.equations import Equations, equations
    from flexarm.control import shaper

__all__ = [
    "EI",
    "ZV",
    "ZVD",
    "Accelerometer",
    "Arm",
    "BangBang",
    "Beam",
    "Box",
    "Cycloidal",
    "DescriptionError",
    "Encoder",
    "Equations",
    "Fixed",
    "FlexarmError",
    "Link",
    "Material",
    "MinimumJerk",
    "Model",
    "ParabolicBlends",
    "Payload",
    "Performance",
    "Piecewise",
    "Pose",
    "PrescribedMotion",
    "Prismatic",
    "Quintic",
    "Revolute",
    "Rigid",
    "RigidInverseDynamics",
    "Rod",
    "Scenario",
    "Shaper",
    "SimulationError",
    "Stepper",
    "StrainGauge",
    "Table",
    "Tachometer",
    "TaskLine",
    "Telescope",
    "TipCompensated",
    "TipDeflection",
    "TipPosition",
    "Tube",
    "__version__",
    "analysis",
    "bang_bang",
    "bundled",
    "bundled_scenarios",
    "control",
    "equations",
    "inputs",
    "load",
    "load_result",
    "load_scenario",
    "outputs",
    "performance",
    "sampled",
    "save_result",
    "shaped",
    "shaper",
    "shapes",
    "simulate",
]


def __getattr__(name: str) -> Any:
    # late: CasADi and SciPy take longer to import than all the rest
    if name in ("Equations", "equations"):
        return getattr(import_module("flexarm.closed_forms.equations"), name)
    if name == "shaper":
        return import_module("flexarm.control").shaper
    if name in ("analysis", "control"):
        return import_module(f"flexarm.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
