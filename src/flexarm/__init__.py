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
from flexarm.version import __version__

if TYPE_CHECKING:
    from flexarm import analysis, control
    from flexarm.closed_forms.equations import Equations, equations
    from flexarm.control import shaper
    from flexarm.identification.excitation import Excitation, excitation
    from flexarm.identification.frequency import frequency_response
    from flexarm.identification.output_error import identify
    from flexarm.identification.result import Identification
    from flexarm.identification.rigs import measured
    from flexarm.pictures.animate import animate
    from flexarm.pictures.view import view
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
    from flexarm.simulation.ensemble import simulate_many
    from flexarm.simulation.inputs import Piecewise, PrescribedMotion, RigidInverseDynamics, Table, bang_bang
    from flexarm.simulation.performance import Performance, performance
    from flexarm.simulation.results import load_result, save_result
    from flexarm.simulation.run import simulate
    from flexarm.simulation.stepper import Stepper
    from flexarm.studies import study
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
    "Excitation",
    "Fixed",
    "FlexarmError",
    "Identification",
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
    "animate",
    "bang_bang",
    "bundled",
    "bundled_scenarios",
    "control",
    "equations",
    "excitation",
    "frequency_response",
    "identify",
    "inputs",
    "load",
    "load_result",
    "load_scenario",
    "measured",
    "outputs",
    "performance",
    "sampled",
    "save_result",
    "shaped",
    "shaper",
    "shapes",
    "simulate",
    "simulate_many",
    "study",
    "view",
]

LATE = {
    "closed_forms.equations": "Equations equations",
    "control": "shaper",
    "identification.excitation": "Excitation excitation",
    "identification.frequency": "frequency_response",
    "identification.output_error": "identify",
    "identification.result": "Identification",
    "identification.rigs": "measured",
    "pictures.animate": "animate",
    "pictures.view": "view",
    "scenario": "Scenario bundled_scenarios load_scenario",
    "sensors": "Accelerometer Encoder StrainGauge Tachometer TipDeflection TipPosition outputs sampled",
    "simulation.ensemble": "simulate_many",
    "simulation.inputs": "Piecewise PrescribedMotion RigidInverseDynamics Table bang_bang",
    "simulation.performance": "Performance performance",
    "simulation.results": "load_result save_result",
    "simulation.run": "simulate",
    "simulation.stepper": "Stepper",
    "studies": "study",
    "trajectory": "BangBang Cycloidal MinimumJerk ParabolicBlends Quintic TaskLine "
    "EI ZV ZVD Shaper TipCompensated shaped",
}
"""Names by the modules that have them, each imported when a name of it is first asked for: all together take longer
than the descriptions and the model, and the CasADi and SciPy of some of them longer still."""

MODULES = {"inputs": "simulation.inputs"} | {
    room: room for room in ("analysis", "control", "scenario", "sensors", "simulation", "studies", "trajectory")
}
"""Modules that come in the same way."""


def __getattr__(name: str) -> Any:
    for home, names in LATE.items():
        if name in names.split():
            return getattr(import_module(f"flexarm.{home}"), name)
    if name in MODULES:
        return import_module(f"flexarm.{MODULES[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
