"""Serial manipulators whose links and joints bend: described in a few lines, derived once, compiled, simulated."""

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
    Tube,
)
from flexarm.catalogue import bundled, load
from flexarm.errors import DescriptionError, FlexarmError, SimulationError
from flexarm.inputs import Cycloidal, Piecewise, RigidInverseDynamics, Table, bang_bang
from flexarm.model import Model
from flexarm.simulate import simulate
from flexarm.version import __version__

__all__ = [
    "__version__",
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
    "Payload",
    "Piecewise",
    "Pose",
    "Prismatic",
    "Revolute",
    "Rigid",
    "RigidInverseDynamics",
    "Rod",
    "SimulationError",
    "Table",
    "Tube",
    "bang_bang",
    "bundled",
    "load",
    "simulate",
]
