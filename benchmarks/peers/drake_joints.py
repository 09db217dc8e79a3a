"""Drake with joints that follow others, with ball joints, and with cables.

Gears are its coupler constraints, which exist only for plants in discrete time. A ball joint has roll, pitch and yaw.
Drake has no springs that only pull, so cables are functions of the state in symbols, which Drake evaluates in C++: one
block has the squared distances between the ends and their slopes, and the next one has the torques.
"""

from typing import Any

import numpy as np

from benchmarks.peers import cables, joints
from benchmarks.peers.tasks import Array, Task


def inertia(mass: float, com: Array, about: Array) -> Any:
    """A body's, of its mass, centre of mass and inertia about that."""
    from pydrake.multibody.tree import SpatialInertia, UnitInertia

    origin = about / mass + (com @ com * np.eye(3) - np.outer(com, com))
    unit = UnitInertia(*np.diag(origin), origin[0, 1], origin[0, 2], origin[1, 2])
    return SpatialInertia(mass, com, unit, skip_validity_check=True)


class Chain:
    """A chain of rods with gears, ball joints or cables, and a simulator."""

    def __init__(self, task: Task, scheme: str, accuracy: float, count: int):
        from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
        from pydrake.systems.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
        from pydrake.systems.framework import DiagramBuilder

        builder, step = DiagramBuilder(), task.until / count if count else 0.0
        plant = builder.AddSystem(MultibodyPlant(step if scheme == "discrete" else 0.0))
        plant.mutable_gravity_field().set_gravity_vector(np.array(task.arm.gravity))
        if task.geared:
            plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
        made = rods(task, plant)
        if task.geared:
            for name, leader, ratio, offset in joints.followers(task.arm):
                plant.AddCouplerConstraint(made[name], made[leader], ratio, offset)
        plant.Finalize()
        if task.tied:
            tie(task, builder, plant)
        self.simulator = Simulator(builder.Build())
        if scheme != "discrete":
            config = SimulatorConfig(integration_scheme=scheme, max_step_size=step or 0.1, use_error_control=not count)
            config.accuracy = accuracy or config.accuracy
            ApplySimulatorConfig(config, self.simulator)
        self.context = plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        self.plant, self.body = plant, plant.GetBodyByName(task.arm.links[-1].name)
        self.tip = np.array([task.arm.links[-1].body.length, 0.0, 0.0])
        start(task, plant, self.context, made)
        self.simulator.Initialize()

    def place(self) -> Array:
        """Return the position of the tip."""
        return self.plant.EvalBodyPoseInWorld(self.context, self.body) @ self.tip


def rods(task: Task, plant: Any) -> dict[str, Any]:
    """Add the rods, each on the end of the one before it, and return their joints."""
    from pydrake.math import RigidTransform, RotationMatrix
    from pydrake.multibody.tree import BallRpyJoint, FixedOffsetFrame, RevoluteJoint

    before, end, made = plant.world_body(), np.zeros(3), {}
    for link in task.arm.links:
        rod = link.body
        body = plant.AddRigidBody(link.name, inertia(rod.mass, np.array(rod.center), rod.inertia_tensor))
        place = RigidTransform(RotationMatrix(link.placement.rotation), end + link.placement.xyz)
        frame = plant.AddFrame(FixedOffsetFrame(f"{link.name}.at", before.body_frame(), place))
        if link.joint.spherical:
            joint = BallRpyJoint(f"{link.name}.joint", frame, body.body_frame())
        else:
            joint = RevoluteJoint(f"{link.name}.joint", frame, body.body_frame(), np.array(link.joint.direction))
        made[link.name] = plant.AddJoint(joint)
        before, end = body, np.array([rod.length, 0.0, 0.0])
    return made


def start(task: Task, plant: Any, context: Any, made: dict[str, Any]) -> None:
    """Set the state at the start; Drake's angular velocities are along the axes of the carrier."""
    from pydrake.common.eigen_geometry import Quaternion
    from pydrake.math import RollPitchYaw, RotationMatrix

    if task.spherical:
        for name, q, w in zip(made, task.q0.reshape(-1, 4), task.qd0.reshape(-1, 3), strict=True):
            R = RotationMatrix(Quaternion(q / np.linalg.norm(q)))
            made[name].set_angles(context, RollPitchYaw(R).vector())
            made[name].set_angular_velocity(context, R @ w)
        return
    at = {name.removesuffix(".joint"): x for name, *x in zip(task.arm.coordinates, task.q0, task.qd0, strict=True)}
    for name, leader, ratio, offset in joints.followers(task.arm):
        at[name] = [ratio * at[leader][0] + offset, ratio * at[leader][1]]
    for name, (angle, rate) in at.items():
        made[name].set_angle(context, angle)
        made[name].set_angular_rate(context, rate)


def tie(task: Task, builder: Any, plant: Any) -> None:
    """Connect the torques of the cables of an arm in a plane."""
    from pydrake.symbolic import Expression, MakeVectorVariable, Variable, sqrt
    from pydrake.symbolic import max as larger
    from pydrake.systems.primitives import SymbolicVectorSystem

    def block(inputs: Any, outputs: list[Any]) -> Any:  # with a state, as Drake integrates each block
        nothing = {"state": [Variable("nothing")], "dynamics": [Expression(0.0)]}
        return builder.AddSystem(SymbolicVectorSystem(input=inputs, output=np.array(outputs), **nothing))

    n, ropes, names = plant.num_positions(), cables.ropes(task.arm), [link.name for link in task.arm.links]
    state, symbols = MakeVectorVariable(plant.num_multibody_states(), "x"), plant.ToSymbolic()
    context = symbols.CreateDefaultContext()
    symbols.SetPositions(context, state[:n])
    distances: list[Any] = []
    for rope in ropes:
        ends = []
        for body, point in zip(rope.bodies, rope.points, strict=True):
            frame = symbols.GetFrameByName(names[body]) if body >= 0 else symbols.world_frame()
            place = symbols.CalcPointsPositions(context, frame, point.reshape(3, 1), symbols.world_frame())
            ends.append(place.ravel()[:2])
        apart = [b - a for a, b in zip(*ends, strict=True)]
        distances.append(sum(d * d for d in apart))
        distances += [sum(d * d.Differentiate(angle) for d in apart) for angle in state[:n]]
    seen, torques = MakeVectorVariable(len(distances), "d"), [Expression(0.0)] * n
    for rope, (squared, *slopes) in zip(ropes, seen.reshape(len(ropes), -1), strict=True):
        pull = rope.stiffness * larger(Expression(0.0), 1 - rope.length / sqrt(squared))
        torques = [torque - slope * pull for torque, slope in zip(torques, slopes, strict=True)]
    first, second = block(state, distances), block(seen, torques)
    builder.Connect(plant.get_state_output_port(), first.get_input_port())
    builder.Connect(first.get_output_port(), second.get_input_port())
    builder.Connect(second.get_output_port(), plant.get_applied_generalized_force_input_port())
