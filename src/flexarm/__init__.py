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
from flexarm.model import Model

__all__ = [
    "Arm",
    "Beam",
    "Box",
    "DescriptionError",
    "Fixed",
    "FlexarmError",
    "Link",
    "Material",
    "Model",
    "Payload",
    "Pose",
    "Prismatic",
    "Revolute",
    "Rigid",
    "Rod",
    "SimulationError",
    "Tube",
    "bundled",
    "load",
]
