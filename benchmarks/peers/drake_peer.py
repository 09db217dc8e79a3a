"""Drake: a multibody plant in continuous time, integrated by its own Runge-Kutta methods with error control.

Joints are its revolute and prismatic ones, hinges have its springs, rotors its reflected inertia. Torques come from a
trajectory source, a zero-order hold in C++.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.peers.peer import Setting, Solution, lines_of, timed
from benchmarks.peers.tasks import Array, Derivation, Task

NAME = "Drake"
PACKAGES = ("pydrake",)
SEGMENTS = (4, 8)
ACCURACIES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
SCHEMES = ("runge_kutta3", "runge_kutta5")


def cannot(task: Task | Derivation) -> str:
    """Symbols; what was not written for it."""
    if isinstance(task, Derivation):
        return "no equations in symbols"
    if task.feedback or task.many:
        return "not tried"
    if task.arm.free:
        return "not tried"
    if any(joint.transmission is not None for joint in task.equivalent(1).joints):
        return "an elastic transmission to a motor of its own was not tried"
    return ""


def settings(task: Task) -> Iterator[Setting]:
    """Two explicit methods by accuracy."""
    for segments in SEGMENTS if task.continuum else (1,):
        each = f"{segments} hinges a link, " if task.continuum else ""
        for scheme in SCHEMES:
            for accuracy in ACCURACIES:
                name = f"{each}{scheme}, accuracy {accuracy:.0e}"
                yield Setting(name, f"{segments} {scheme}", (segments, scheme, accuracy))


def solve(task: Task, setting: Setting) -> Solution:
    """Build, advance."""
    segments, scheme, accuracy = setting.numbers
    equivalent = task.equivalent(segments)
    lines = lines_of(build, run)
    return timed(task, lambda: build(task, equivalent, scheme, accuracy), lambda parts: run(task, parts), lines)


def build(task: Task, equivalent: Any, scheme: str, accuracy: float) -> Any:
    """The plant in a diagram with its torques, and a simulator."""
    from pydrake.math import RigidTransform, RotationMatrix
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
    from pydrake.multibody.tree import PrismaticJoint, RevoluteJoint, RevoluteSpring, SpatialInertia, UnitInertia
    from pydrake.systems.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
    from pydrake.systems.framework import DiagramBuilder
    from pydrake.systems.primitives import TrajectorySource
    from pydrake.trajectories import PiecewisePolynomial

    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    plant.mutable_gravity_field().set_gravity_vector(np.array(equivalent.arm.gravity))
    bodies = [plant.world_body()]
    for joint in equivalent.joints:
        c, m = joint.com, joint.mass
        about = joint.inertia / m + (c @ c * np.eye(3) - np.outer(c, c))
        unit = UnitInertia(*np.diag(about), about[0, 1], about[0, 2], about[1, 2])
        body = plant.AddRigidBody(joint.name, SpatialInertia(m, c, unit, skip_validity_check=True))
        kind = RevoluteJoint if joint.turns else PrismaticJoint
        place = RigidTransform(RotationMatrix(joint.R), joint.p)
        made = kind(f"{joint.name}.joint", plant.AddFrame(_fixed(bodies[joint.parent + 1], place, joint.name)),
                    body.body_frame(), joint.axis, damping=joint.damping)  # fmt: skip
        made = plant.AddJoint(made)
        if joint.stiffness:
            plant.AddForceElement(RevoluteSpring(made, joint.rest, joint.stiffness))
        if f"{joint.name}.joint" in task.arm.inputs:
            actuator = plant.AddJointActuator(joint.name, made)
            actuator.set_default_rotor_inertia(joint.rotor)
            actuator.set_default_gear_ratio(1.0)
        bodies.append(body)
    plant.Finalize()
    if len(task.jumps):
        ends = np.array([*task.jumps, task.until + 1.0])
        source = TrajectorySource(
            PiecewisePolynomial.ZeroOrderHold(ends, np.vstack([task.torques, task.torques[-1:]]).T)
        )
        builder.AddSystem(source)
        builder.Connect(source.get_output_port(), plant.get_actuation_input_port())
    diagram = builder.Build()
    simulator = Simulator(diagram)
    ApplySimulatorConfig(SimulatorConfig(integration_scheme=scheme, accuracy=accuracy, max_step_size=0.1), simulator)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    start = dict(zip(equivalent.arm.coordinates, equivalent.start(task.q0), strict=True))
    rates = dict(zip(task.arm.velocities, task.qd0, strict=True))
    for name, value in start.items():
        joint = plant.GetJointByName(name)
        plant.SetPositions(context, [*_replaced(plant.GetPositions(context), joint.position_start(), value)])
        rate = rates.get(name, 0.0)
        plant.SetVelocities(context, [*_replaced(plant.GetVelocities(context), joint.velocity_start(), rate)])
    simulator.Initialize()
    link, tip = equivalent.tip
    return simulator, plant, context, bodies[link + 1], tip


def _fixed(body: Any, place: Any, name: str) -> Any:
    from pydrake.multibody.tree import FixedOffsetFrame

    return FixedOffsetFrame(f"{name}.at", body.body_frame(), place)


def _replaced(values: Array, i: int, value: float) -> Array:
    values = np.array(values)
    values[i] = value
    return values


def run(task: Task, parts: Any) -> Array | None:
    """From sample to sample."""
    simulator, plant, context, body, tip = parts
    found = []
    for t in task.times:
        simulator.AdvanceTo(float(t))
        found.append(plant.EvalBodyPoseInWorld(context, body) @ tip)
    return np.array(found)
