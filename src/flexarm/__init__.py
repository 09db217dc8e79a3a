"""Serial manipulators whose links and joints bend: described in a few lines, derived once, compiled, simulated."""

from flexarm import shapes
from flexarm.arm import (
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
from flexarm.catalogue import bundled, load
from flexarm.errors import DescriptionError, FlexarmError, SimulationError
from flexarm.inputs import Piecewise, PrescribedMotion, RigidInverseDynamics, Table, bang_bang
from flexarm.model import Model
from flexarm.results import load_result, save_result
from flexarm.scenario import Scenario, bundled_scenarios, load_scenario
from flexarm.simulate import simulate
from flexarm.trajectory import Cycloidal, ParabolicBlends
from flexarm.version import __version__

__all__ = [
    "Arm",
    "Beam",
    "Box",
    "Cycloidal",
    "DescriptionError",
    "Fixed",
    "FlexarmError",
    "Link",
    "Material",
    "Model",
    "ParabolicBlends",
    "Payload",
    "Piecewise",
    "Pose",
    "PrescribedMotion",
    "Prismatic",
    "Revolute",
    "Rigid",
    "RigidInverseDynamics",
    "Rod",
    "Scenario",
    "SimulationError",
    "Table",
    "Telescope",
    "Tube",
    "__version__",
    "bang_bang",
    "bundled",
    "bundled_scenarios",
    "load",
    "load_result",
    "load_scenario",
    "save_result",
    "shapes",
    "simulate",
]
