"""Drake: a multibody plant in continuous time, integrated by its own methods; or in discrete time, by its solver (SAP).

Joints are its revolute and prismatic ones, hinges have its springs, rotors its reflected inertia; a rotor whose energy
has the carrier's rate too is a body of its own, and its transmission a matrix over the state. All blocks are C++:
torques come from a trajectory source by a zero-order hold, the sampled law from a gain by one. There is no scene graph.
Gears, ball joints and cables are in `drake_joints.py`.
"""

from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

from benchmarks.peers import drake_joints
from benchmarks.peers.peer import HINGES, Setting, Solution, lines_of, steps, timed
from benchmarks.peers.tasks import GAINS, PERIOD, Array, Derivation, Task

NAME = "Drake"
PACKAGES = ("pydrake",)
ACCURACIES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
EXPLICIT = ("runge_kutta3", "runge_kutta5")
"""With error control; the second not where hinges are stiff: there it does not come back from a step in a minute."""
FIXED = ("runge_kutta2", "runge_kutta3", "runge_kutta5")
"""In steps of one length."""
IMPLICIT = ("radau3", "implicit_euler", "velocity_implicit_euler")
"""Their Jacobians are finite differences: that choice cannot be made from Python."""
LONGEST = 2.0
"""Seconds of the processor after which a run is given up at the next sample."""
POINT = 1e-9
"""Mass of a rotor of its own [kg]; its inertia is what it should be."""


def cannot(task: Task | Derivation) -> str:
    """Symbols, closed loops, rotors on links that turn behind a rigid gear."""
    if isinstance(task, Derivation):
        return "no equations in symbols"
    if task.closed:
        return "its constraints between bodies exist only in discrete time"
    if not task.spherical and task.carries_rotors:
        return "its reflected inertia depends only on the rate of the joint, and its gears exist only in discrete time"
    return ""


def settings(task: Task) -> Iterator[Setting]:
    """Methods with error control by accuracy; steps of one length; the discrete plant where there are hinges."""
    if task.geared:
        for count in steps(task.intervals):
            yield Setting(f"discrete, {count} steps", "discrete", (1, "discrete", 0.0, count))
        return
    for segments in HINGES[:5] if task.continuum else (1,):
        each = f"{segments} hinges a link, " if task.continuum else ""
        if not task.feedback:
            for scheme in (EXPLICIT[0], *IMPLICIT) if task.continuum else EXPLICIT:
                for accuracy in ACCURACIES:
                    name = f"{each}{scheme}, accuracy {accuracy:.0e}"
                    yield Setting(name, f"{segments} {scheme}", (segments, scheme, accuracy, 0))
        least = round(task.until / task.intervals / PERIOD) if task.feedback else 25 if task.many else 1
        for scheme in (*FIXED, *(("discrete",) if task.continuum else ())):
            for count in steps(1 if task.many else task.intervals, least):
                name = f"{each}{scheme}, {count} steps"
                yield Setting(name, f"{segments} {scheme} steps", (segments, scheme, 0.0, count))


def solve(task: Task, setting: Setting) -> Solution:
    """Build, advance."""
    segments, scheme, accuracy, count = setting.numbers
    if task.geared or task.spherical or task.tied:
        more = [drake_joints.tie] if task.tied else []
        return timed(
            task,
            lambda: drake_joints.Chain(task, scheme, accuracy, count),
            lambda chain: run(task, chain),
            lines_of(run, *more),
        )
    equivalent = task.equivalent(segments)
    advance = many if task.many else run
    lines = lines_of(wire, advance)
    return timed(
        task, lambda: System(task, equivalent, scheme, accuracy, count), lambda system: advance(task, system), lines
    )


class System:
    """The plant in a diagram with what acts on it, and a simulator."""

    def __init__(self, task: Task, equivalent: Any, scheme: str, accuracy: float, count: int):
        from pydrake.multibody.plant import MultibodyPlant
        from pydrake.multibody.tree import PrismaticJoint, RevoluteJoint, RevoluteSpring
        from pydrake.systems.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
        from pydrake.systems.framework import DiagramBuilder

        builder, arm = DiagramBuilder(), equivalent.arm
        step = task.until / count if count else 0.0
        plant = builder.AddSystem(MultibodyPlant(step if scheme == "discrete" else 0.0))
        plant.mutable_gravity_field().set_gravity_vector(np.array(arm.gravity))
        bodies, kinds = {-1: plant.world_body()}, {True: RevoluteJoint, False: PrismaticJoint}
        if arm.free:
            about = np.diag(arm.base.inertia) if np.ndim(arm.base.inertia) == 1 else np.array(arm.base.inertia)
            bodies[-1] = plant.AddRigidBody("base", drake_joints.inertia(arm.base.mass, np.array(arm.base.com), about))
        rotors = {link.name: link.joint for link in arm.links if link.joint.moves}
        gears, springs = {}, []
        for i, joint in enumerate(equivalent.joints):
            frame = plant.AddFrame(at(bodies[joint.parent], joint))
            if joint.transmission is not None:  # the motor
                absolute = rotors[joint.name].rotor == "absolute"
                gears[joint.name] = rotors[joint.name].gear_ratio if absolute else 1.0
                about = np.outer(joint.axis, joint.axis) * joint.rotor / gears[joint.name] ** 2
                rotor = plant.AddRigidBody(f"{joint.name}.rotor", drake_joints.inertia(POINT, np.zeros(3), about))
                carrier = frame if absolute else plant.world_frame()
                name = f"{joint.name}.motor"
                motor = plant.AddJoint(RevoluteJoint(name, carrier, rotor.body_frame(), joint.axis))
                plant.AddJointActuator(name, motor)
                springs.append((joint, motor))
            bodies[i] = plant.AddRigidBody(joint.name, drake_joints.inertia(joint.mass, joint.com, joint.inertia))
            name = f"{joint.name}.joint"
            made = kinds[joint.turns](name, frame, bodies[i].body_frame(), joint.axis, damping=joint.damping)
            made = plant.AddJoint(made)
            if joint.stiffness:
                plant.AddForceElement(RevoluteSpring(made, joint.rest, joint.stiffness))
            if name in task.arm.inputs:
                actuator = plant.AddJointActuator(name, made)
                actuator.set_default_rotor_inertia(joint.rotor)
                actuator.set_default_gear_ratio(1.0)
        plant.Finalize()
        wire(task, builder, plant, springs, gears)
        self.simulator = Simulator(builder.Build())
        if scheme != "discrete":
            config = SimulatorConfig(integration_scheme=scheme, max_step_size=step or 0.1, use_error_control=not count)
            config.accuracy = accuracy or config.accuracy
            ApplySimulatorConfig(config, self.simulator)
        self.context = plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        self.plant, self.gears = plant, gears
        link, self.tip = equivalent.tip
        self.body = bodies[link]
        self.names = list(arm.coordinates)
        self.rates = dict(zip(task.arm.velocities, np.atleast_2d(task.qd0)[0], strict=True))
        self.start(equivalent.start(task.q0 if task.q0.ndim == 1 else task.q0[0]))

    def start(self, q0: Array) -> None:
        """At these coordinates."""
        plant, given = self.plant, dict(zip(self.names, q0, strict=True))
        q, v = np.zeros(plant.num_positions()), np.zeros(plant.num_velocities())
        if self.names[0] == "base.x":
            q[:7] = [given[f"base.{name}"] for name in ("qw", "qx", "qy", "qz", "x", "y", "z")]
        for name in self.names[7 if self.names[0] == "base.x" else 0 :]:
            joint, gear = plant.GetJointByName(name), self.gears.get(name.removesuffix(".motor"), 1.0)
            gear = gear if name.endswith(".motor") else 1.0
            q[joint.position_start()] = gear * given[name]
            v[joint.velocity_start()] = gear * self.rates.get(name, 0.0)
        self.simulator.get_mutable_context().SetTime(0.0)
        plant.SetPositions(self.context, q)
        plant.SetVelocities(self.context, v)
        self.simulator.Initialize()

    def place(self) -> Array:
        """Of the tip."""
        return self.plant.EvalBodyPoseInWorld(self.context, self.body) @ self.tip


def at(body: Any, joint: Any) -> Any:
    """The frame of a joint on the body that carries it."""
    from pydrake.math import RigidTransform, RotationMatrix
    from pydrake.multibody.tree import FixedOffsetFrame

    return FixedOffsetFrame(f"{joint.name}.at", body.body_frame(), RigidTransform(RotationMatrix(joint.R), joint.p))


def wire(task: Task, builder: Any, plant: Any, springs: list[tuple[Any, Any]], gears: dict[str, float]) -> None:
    """Torques, the law, transmissions."""
    from pydrake.systems.primitives import MatrixGain, TrajectorySource, ZeroOrderHold
    from pydrake.trajectories import PiecewisePolynomial

    nq, nv = plant.num_positions(), plant.num_velocities()
    names = [plant.get_joint_actuator(i).name() for i in plant.GetJointActuatorIndices()]
    if len(task.jumps):
        order = [task.arm.inputs.index(name) for name in names]
        scale = np.array([gears.get(name.removesuffix(".motor"), 1.0) for name in names])
        values = np.vstack([task.torques, task.torques[-1:]])[:, order] / scale
        ends = np.array([*task.jumps, task.until + 1.0])
        # a step that ends at a jump has the torque before it in its last stage too: that of a hold
        source = builder.AddSystem(TrajectorySource(PiecewisePolynomial.ZeroOrderHold(ends, values.T)))
        hold = builder.AddSystem(ZeroOrderHold(np.diff(task.jumps).min() if len(task.jumps) > 1 else 1.0, len(names)))
        builder.Connect(source.get_output_port(), hold.get_input_port())
        builder.Connect(hold.get_output_port(), plant.get_actuation_input_port())
    if task.feedback:
        actuated = plant.MakeActuationMatrix().T
        gain = builder.AddSystem(MatrixGain(-np.hstack([GAINS[0] * actuated, GAINS[1] * actuated])))
        hold = builder.AddSystem(ZeroOrderHold(PERIOD, len(names)))
        builder.Connect(plant.get_state_output_port(), gain.get_input_port())
        builder.Connect(gain.get_output_port(), hold.get_input_port())
        builder.Connect(hold.get_output_port(), plant.get_actuation_input_port())
    if springs:
        force = np.zeros((nv, nq + nv))
        for joint, motor in springs:
            made = plant.GetJointByName(f"{joint.name}.joint")
            places, gear = [made.velocity_start(), motor.velocity_start()], gears[joint.name]
            pair = np.array([[1.0, -1.0 / gear], [-1.0 / gear, 1.0 / gear**2]])
            coordinates = [made.position_start(), motor.position_start()]
            force[np.ix_(places, coordinates)] -= joint.transmission * pair
            force[np.ix_(places, [nq + place for place in places])] -= joint.loss * pair
        transmission = builder.AddSystem(MatrixGain(force))
        builder.Connect(plant.get_state_output_port(), transmission.get_input_port())
        builder.Connect(transmission.get_output_port(), plant.get_applied_generalized_force_input_port())


def run(task: Task, system: System | drake_joints.Chain) -> Array | None:
    """From sample to sample."""
    found, began = [], process_time()
    for t in task.times:
        if process_time() - began > LONGEST:
            return None
        try:
            system.simulator.AdvanceTo(float(t))
        except RuntimeError:  # steps became too short, or it diverged
            return None
        found.append(system.place())
    return np.array(found)


def many(task: Task, system: System) -> Array | None:
    """One run after another."""
    found = []
    for q in task.q0:
        system.start(q)
        system.simulator.AdvanceTo(task.until)
        found.append(system.place())
    return np.array(found)
