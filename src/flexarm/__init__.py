"""Robot arms with flexible links and joints: described in a few lines, derived once, compiled, simulated.

For developers: `description` has what a user writes, `mechanics` the equations of motion, `native` makes machine code
of them, `model` evaluates them on demand, and `simulation` integrates them. Each package's first lines say what is in
it, and docs/understand/architecture.md shows how they work together.
"""

from importlib import import_module  # noqa: TID251  (modules of this package)
from typing import TYPE_CHECKING, Any

from flexarm import shapes
from flexarm.description.arm import (
    Arm,
    Beam,
    Box,
    FiniteElement,
    Fixed,
    Frame,
    Link,
    Lump,
    Material,
    Payload,
    Pose,
    Prismatic,
    Rayleigh,
    Revolute,
    Rigid,
    Rod,
    SectionTable,
    Telescope,
    Tube,
)
from flexarm.description.cables import Cable, CablePoint
from flexarm.description.closures import Bushing, Closure
from flexarm.description.compounds import Ball, Planar, Screw, Universal
from flexarm.description.couplings import Coupling
from flexarm.description.drives import Drive
from flexarm.description.free import FreeBase, Orbit, Thruster
from flexarm.description.friction import Brake, Friction
from flexarm.description.gears import Gear
from flexarm.description.load import bundled, load
from flexarm.description.motors import Motor, TorqueSpeed
from flexarm.description.outside import Contact, Drag, Force, MovingBase
from flexarm.description.robots import (
    RobotReport,
    UrdfReport,
    from_mjcf,
    from_sdf,
    from_urdf,
    robot_report,
    urdf_report,
)
from flexarm.description.sections import MATERIALS
from flexarm.description.slosh import slosh
from flexarm.description.springs import Backlash, Hysteresis, Parallel, Spring, Stops
from flexarm.description.struts import Strut
from flexarm.description.wheels import reaction_wheel
from flexarm.errors import (
    DescriptionError,
    FlexarmError,
    FlexarmWarning,
    NativeCodeError,
    NotUnderstood,
    SimulationError,
)
from flexarm.model import Model
from flexarm.renamed import renamed
from flexarm.version import __version__

if TYPE_CHECKING:
    from flexarm import analysis, control, estimation, optimal, presets, problems, robust
    from flexarm.closed_forms.equations import Equations, equations
    from flexarm.control import design_shaper
    from flexarm.exports.exudyn import export_exudyn
    from flexarm.exports.fmu.export import export_fmu, export_law_fmu
    from flexarm.exports.law import export_law
    from flexarm.exports.library import export_c
    from flexarm.exports.mjcf import export_mjcf
    from flexarm.exports.modelica import export_modelica
    from flexarm.exports.sfunction import export_simulink
    from flexarm.exports.ssp import export_ssp
    from flexarm.hardware.controller import export_controller
    from flexarm.hardware.realtime import run_in_real_time
    from flexarm.hardware.twin import twin
    from flexarm.identification.excitation import Excitation, excitation
    from flexarm.identification.frequency import frequency_response
    from flexarm.identification.output_error import identify
    from flexarm.identification.result import Identification
    from flexarm.identification.rigs import measured
    from flexarm.model.assembly import assemble
    from flexarm.optimal import OptimalMotion, optimal_motion
    from flexarm.pictures.animate import animate
    from flexarm.pictures.play import play
    from flexarm.pictures.recording import export_rerun
    from flexarm.pictures.view import view
    from flexarm.scenario import Scenario, bundled_scenarios, load_scenario
    from flexarm.sensors import (
        Accelerometer,
        CableTension,
        Clearance,
        ContactForce,
        Encoder,
        Gyroscope,
        JointTorque,
        MotorCurrent,
        MotorTorque,
        StarTracker,
        StrainGauge,
        Tachometer,
        TipDeflection,
        TipPosition,
        TipVelocity,
        outputs,
        sensor_readings,
    )
    from flexarm.simulation import inputs
    from flexarm.simulation.butcher import ButcherTableau
    from flexarm.simulation.changes import Change
    from flexarm.simulation.ensemble import simulate_many
    from flexarm.simulation.exogenous import BaseMotion
    from flexarm.simulation.gradient import gradient
    from flexarm.simulation.gradient_slopes import Gradient
    from flexarm.simulation.inputs import Piecewise, PrescribedMotion, RigidInverseDynamics, Table, bang_bang
    from flexarm.simulation.options import SaveAt, Solver
    from flexarm.simulation.performance import Performance, performance
    from flexarm.simulation.results import load_result, save_result
    from flexarm.simulation.run import simulate
    from flexarm.simulation.solvers import add_method
    from flexarm.simulation.stepper import Stepper
    from flexarm.simulation.tuning import Tuned, tune
    from flexarm.studies import study
    from flexarm.trajectory import (
        EI,
        MZV,
        PSZV,
        UMZV,
        ZV,
        ZVD,
        ZVDD,
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
    "MATERIALS",
    "MZV",
    "PSZV",
    "UMZV",
    "ZV",
    "ZVD",
    "ZVDD",
    "Accelerometer",
    "Arm",
    "Backlash",
    "Ball",
    "BangBang",
    "BaseMotion",
    "Beam",
    "Box",
    "Brake",
    "Bushing",
    "ButcherTableau",
    "Cable",
    "CablePoint",
    "CableTension",
    "Change",
    "Clearance",
    "Closure",
    "Contact",
    "ContactForce",
    "Coupling",
    "Cycloidal",
    "DescriptionError",
    "Drag",
    "Drive",
    "Encoder",
    "Equations",
    "Excitation",
    "FiniteElement",
    "Fixed",
    "FlexarmError",
    "FlexarmWarning",
    "Force",
    "Frame",
    "FreeBase",
    "Friction",
    "Gear",
    "Gradient",
    "Gyroscope",
    "Hysteresis",
    "Identification",
    "JointTorque",
    "Link",
    "Lump",
    "Material",
    "MinimumJerk",
    "Model",
    "Motor",
    "MotorCurrent",
    "MotorTorque",
    "MovingBase",
    "NativeCodeError",
    "NotUnderstood",
    "OptimalMotion",
    "Orbit",
    "ParabolicBlends",
    "Parallel",
    "Payload",
    "Performance",
    "Piecewise",
    "Planar",
    "Pose",
    "PrescribedMotion",
    "Prismatic",
    "Quintic",
    "Rayleigh",
    "Revolute",
    "Rigid",
    "RigidInverseDynamics",
    "RobotReport",
    "Rod",
    "SaveAt",
    "Scenario",
    "Screw",
    "SectionTable",
    "Shaper",
    "SimulationError",
    "Solver",
    "Spring",
    "StarTracker",
    "Stepper",
    "Stops",
    "StrainGauge",
    "Strut",
    "Table",
    "Tachometer",
    "TaskLine",
    "Telescope",
    "Thruster",
    "TipCompensated",
    "TipDeflection",
    "TipPosition",
    "TipVelocity",
    "TorqueSpeed",
    "Tube",
    "Tuned",
    "Universal",
    "UrdfReport",
    "__version__",
    "add_method",
    "analysis",
    "animate",
    "assemble",
    "bang_bang",
    "bundled",
    "bundled_scenarios",
    "control",
    "design_shaper",
    "equations",
    "estimation",
    "excitation",
    "export_c",
    "export_controller",
    "export_exudyn",
    "export_fmu",
    "export_law",
    "export_law_fmu",
    "export_mjcf",
    "export_modelica",
    "export_rerun",
    "export_simulink",
    "export_ssp",
    "frequency_response",
    "from_mjcf",
    "from_sdf",
    "from_urdf",
    "gradient",
    "identify",
    "inputs",
    "load",
    "load_result",
    "load_scenario",
    "measured",
    "optimal",
    "optimal_motion",
    "outputs",
    "performance",
    "play",
    "presets",
    "problems",
    "reaction_wheel",
    "robot_report",
    "robust",
    "run_in_real_time",
    "save_result",
    "sensor_readings",
    "shaped",
    "shapes",
    "show_versions",
    "simulate",
    "simulate_many",
    "slosh",
    "study",
    "tune",
    "twin",
    "urdf_report",
    "view",
]

LATE = {
    "closed_forms.equations": "Equations equations",
    "control": "design_shaper",
    "exports.exudyn": "export_exudyn",
    "exports.law": "export_law",
    "exports.fmu.export": "export_fmu export_law_fmu",
    "exports.library": "export_c",
    "exports.mjcf": "export_mjcf",
    "exports.modelica": "export_modelica",
    "exports.sfunction": "export_simulink",
    "exports.ssp": "export_ssp",
    "hardware.controller": "export_controller",
    "hardware.realtime": "run_in_real_time",
    "hardware.twin": "twin",
    "identification.excitation": "Excitation excitation",
    "identification.frequency": "frequency_response",
    "identification.output_error": "identify",
    "identification.result": "Identification",
    "identification.rigs": "measured",
    "optimal": "OptimalMotion optimal_motion",
    "pictures.animate": "animate",
    "pictures.play": "play",
    "pictures.recording": "export_rerun",
    "pictures.view": "view",
    "scenario": "Scenario bundled_scenarios load_scenario",
    "sensors": "Accelerometer CableTension Clearance ContactForce Encoder Gyroscope JointTorque MotorCurrent "
    "MotorTorque StarTracker StrainGauge Tachometer TipDeflection TipPosition TipVelocity outputs sensor_readings",
    "simulation.ensemble": "simulate_many",
    "simulation.inputs": "Piecewise PrescribedMotion RigidInverseDynamics Table bang_bang",
    "simulation.butcher": "ButcherTableau",
    "simulation.changes": "Change",
    "simulation.options": "SaveAt Solver",
    "model.assembly": "assemble",
    "simulation.solvers": "add_method",
    "simulation.exogenous": "BaseMotion",
    "simulation.gradient": "gradient",
    "simulation.gradient_slopes": "Gradient",
    "simulation.performance": "Performance performance",
    "simulation.results": "load_result save_result",
    "simulation.run": "simulate",
    "simulation.stepper": "Stepper",
    "simulation.tuning": "Tuned tune",
    "studies": "study",
    "trajectory": "BangBang Cycloidal MinimumJerk ParabolicBlends Quintic TaskLine "
    "EI MZV PSZV UMZV ZV ZVD ZVDD Shaper TipCompensated shaped",
    "versions": "show_versions",
}
"""Public names by their modules. A module is imported when one of its names is first used. To import all would
take longer than to import the descriptions and the model, and the CasADi and SciPy that some of them need longer still.
"""

MODULES = {"inputs": "simulation.inputs"} | {
    room: room
    for room in (
        "analysis",
        "control",
        "estimation",
        "optimal",
        "presets",
        "problems",
        "robust",
        "scenario",
        "sensors",
        "simulation",
        "studies",
        "trajectory",
    )
}
"""Public modules, imported on first use too."""


FORMER = {"drives": "presets", "sampled": "sensor_readings", "shaper": "design_shaper"}
"""Present names by former ones."""


def _notebook() -> Any:
    return import_module("flexarm.pictures.notebook")


Arm._repr_html_ = lambda arm: _notebook().of_arm(arm)  # type: ignore[attr-defined]
Model._repr_html_ = lambda model: _notebook().of_model(model)  # type: ignore[attr-defined]
"""Notebook views of arms and models. Their module is on a higher layer, and is imported when a view is needed."""


def load_ipython_extension(ipython: Any) -> None:
    """Load the extension (`%load_ext flexarm`), with which results appear as animated arms."""
    _notebook().load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Unload the extension (`%unload_ext flexarm`)."""
    _notebook().unload(ipython)


def __getattr__(name: str) -> Any:
    for home, names in LATE.items():
        if name in names.split():
            found = getattr(import_module(f"flexarm.{home}"), name)
            setattr(import_module(__name__), name, found)  # looked up once
            return found
    if name in MODULES:
        return import_module(f"flexarm.{MODULES[name]}")
    return renamed(__name__, FORMER, name)


def __dir__() -> list[str]:
    return __all__
