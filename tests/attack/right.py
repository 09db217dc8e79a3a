"""Right arguments for every parameter, by its name, or as `Class.field` where that says too little."""

import inspect
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import flexarm as fa
from flexarm import analysis, control, robust, shapes, trajectory
from flexarm.estimation import EKF, estimate

LEFT_OUT = object()
"""A wrong value too: the argument is not given."""

ARMS = ("rigid-two-link", "lin-lewis-beam", "subudhi-morris-elastic", "rigid-two-link")


@dataclass
class Context:
    """An arm with a state of its own, and a folder for files."""

    name: str
    model: fa.Model
    folder: Path
    q: Any = field(init=False)
    qd: Any = field(init=False)
    u: Any = field(init=False)

    def __post_init__(self):
        n, m = len(self.model.coordinates), len(self.model.inputs)
        self.q = np.array(self.model.arm.rest) + 1e-3 * np.arange(1, n + 1)
        self.qd = np.linspace(0.01, 0.02, n)
        self.u = np.linspace(0.1, 0.2, m)

    @property
    def arm(self):
        return self.model.arm

    @property
    def joints(self):
        return len(self.arm.joints)


@cache
def _model(name):
    return fa.Model(fa.load(name))


@cache
def result(name):
    """A run of an arm, with a reference."""
    context = Context(name, _model(name), Path())
    return fa.simulate(context.model, 0.05, u=pd(context), samples=6, progress=False)


@cache
def many(name):
    """Two runs of an arm."""
    return fa.simulate_many(_model(name), 0.02, q0=[_model(name).arm.rest] * 2, samples=3, progress=False)


@cache
def response():
    """A frequency response of four lines."""
    t = np.arange(800) / 100.0
    u = sum(np.sin(2 * np.pi * k * t) for k in (1, 2, 3, 5))
    return fa.frequency_response({"u": u, "y": 2 * u}, "u", "y", 1.0, sample_rate=100.0)


def linear(c):
    """An arm's linear model."""
    return c.model.linearize(c.q, c.qd, c.u)


@cache
def _equations():
    return fa.equations(fa.load("rigid-two-link"))


def warm():
    """Whatever takes long is made once, before workers are forked."""
    for name in ARMS:
        result(name)
        many(name)
        context = Context(name, _model(name), Path())
        context.model.linearize(context.q, context.qd, context.u)
        context.model.frequencies(context.q)
    _equations()


def context(rng, folder):
    name = rng.choice(ARMS)
    return Context(name, _model(name), folder)


def trajectory_of(name):
    """The file of a problem's converged trajectory."""
    return Path(fa.__file__).parent / "problems" / "set" / name / "trajectory.csv"


def slew(c):
    return fa.Quintic([0.0] * c.joints, [0.1] * c.joints, 0.05)


def pd(c):
    return control.JointPD(slew(c), Kp=10.0, Kd=2.0)


def sensors(c):
    return [fa.Encoder(coordinate=c.arm.coordinates[0]), fa.TipPosition(axes="xy")]


def noisy(c):
    return [fa.Encoder(coordinate=c.arm.coordinates[i], noise=1e-4) for i in c.arm.joints]


def record(c):
    names = c.model.output_names(noisy(c))
    return {"u": np.zeros((9, len(c.model.inputs))), **{name: np.zeros(9) for name in names}}


@cache
def estimated(name):
    c = Context(name, _model(name), Path())
    return estimate(c.arm, record(c), noisy(c), EKF(deviation=0.01), sample_rate=100.0)


def beam(c):
    return fa.Beam(length=1.0, mass=0.5, EI=10.0, modes={"y": 1})


def link(c):
    return fa.Link(name="a", body=fa.Rigid(length=1.0, mass=1.0))


def part(c):
    """A file of two modes of three points."""
    shapes = np.zeros((3, 3, 2))
    shapes[:, 1, 0] = shapes[:, 2, 1] = 0.3, 1.0, 1.1
    points, tip = [[0.5, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.1, 0.1]], np.vstack([shapes[1], 1.5 * shapes[1]])
    arrays = {"K": 100 * np.eye(2), "points": points, "masses": [0.5, 0.2, 0.1], "shapes": shapes}
    np.savez(c.folder / "part.npz", tip_position=points[1], tip_shapes=tip, **arrays)
    return c.folder / "part.npz"


INERTIAL = """<inertial><origin xyz="0.2 0 0"/><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>"""
ROBOT = f"""<robot name="arm"><link name="ground"/>
<link name="upper">{INERTIAL}</link><link name="fore">{INERTIAL}</link>
<joint name="shoulder" type="continuous"><parent link="ground"/><child link="upper"/><axis xyz="0 0 1"/></joint>
<joint name="elbow" type="continuous"><origin xyz="0.5 0 0"/><parent link="upper"/><child link="fore"/>
<axis xyz="0 0 1"/></joint></robot>"""


def robot(c):
    """A URDF file."""
    path = c.folder / "robot.urdf"
    path.write_text(ROBOT)
    return path


def mjcf(c):
    """The same for MuJoCo."""
    path = c.folder / "robot.xml"
    box = '<inertial pos="0.2 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>'
    fore = f'<body name="fore" pos="0.5 0 0">{box}<joint name="elbow"/></body>'
    path.write_text(
        f'<mujoco><worldbody><body name="upper">{box}<joint name="shoulder"/>{fore}</body></worldbody></mujoco>'
    )
    return path


def sdf(c):
    """The same for Gazebo."""
    path = c.folder / "robot.sdf"
    body = "<inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"
    links = f'<link name="upper">{body}</link><link name="fore"><pose>0.5 0 0 0 0 0</pose>{body}</link>'
    joints = "".join(
        f'<joint name="{name}" type="continuous"><parent>{parent}</parent><child>{child}</child><axis/></joint>'
        for name, parent, child in (("shoulder", "world", "upper"), ("elbow", "upper", "fore"))
    )
    path.write_text(f'<sdf version="1.7"><model name="arm">{links}{joints}</model></sdf>')
    return path


def flexible(c):
    """Tables beside it."""
    return {"links": {"upper": {"EI": 10.0, "modes": {"y": 1}}}, "joints": {"elbow": {"rotor_inertia": 0.1}}}


ALIKE = {"path": robot, "tip": lambda c: "fore", "flexible": flexible, "base": lambda c: "fixed"}
OF_URDF = ALIKE | {"gravity": lambda c: [0.0, 0.0, -9.81], "locked": lambda c: {"shoulder": 0.1}}


def _discrete(c):
    from control import tf

    return tf([1.0, 2.0], [1.0, -0.5, 0.1], 0.01)


def table(c):
    return np.array([0.0, 0.01, 0.02]), np.ones((3, c.joints))


NAMED = {
    "model": lambda c: c.model,
    "arm": lambda c: c.arm,
    "q": lambda c: c.q,
    "qd": lambda c: c.qd,
    "qdd": lambda c: 0.1 * c.qd,
    "v": lambda c: 0.5 + c.qd,
    "u": lambda c: c.u,
    "q0": lambda c: c.q,
    "qd0": lambda c: c.qd,
    "joints": lambda c: [0.1] * c.joints,
    "locked": lambda c: True,
    "reference": slew,
    "given": slew,
    "shaper": lambda c: fa.ZV(20.0),
    "controller": pd,
    "sensors": sensors,
    "outputs": sensors,
    "result": lambda c: result(c.name),
    "path": lambda c: c.folder / "written",
    "name_or_path": lambda c: c.name,
    "system": lambda c: c.model.linearize(c.q, 0 * c.qd, c.u),
    "output": lambda c: 0,
    "input": lambda c: 0,
    "omega": lambda c: np.array([1.0, 2.0]),
    "Kp": lambda c: 10.0,
    "Kd": lambda c: 2.0,
    "Ki": lambda c: 1.0,
    "Lambda": lambda c: 3.0,
    "Gamma": lambda c: 0.5,
    "layer": lambda c: 0.5,
    "limit": lambda c: 5.0,
    "rate_limit": lambda c: 100.0,
    "bandwidth": lambda c: 5.0,
    "period": lambda c: 0.01,
    "until": lambda c: 0.01,
    "samples": lambda c: 3,
    "progress": lambda c: False,
    "start": lambda c: [0.0] * c.joints,
    "end": lambda c: [0.1] * c.joints,
    "duration": lambda c: 0.05,
    "blend": lambda c: 0.01,
    "points": lambda c: [[0.0] * c.joints, [0.1] * c.joints],
    "times": lambda c: [0.0, 0.05],
    "values": lambda c: [[0.1] * c.joints] * 2,
    "rates": lambda c: [0.1] * c.joints,
    "periods": lambda c: [0.1] * c.joints,
    "position": lambda c: (0.1,) * c.joints,
    "amplitude": lambda c: [0.1] * c.joints,
    "amplitudes": lambda c: (0.5, 0.5),
    "frequency": lambda c: 20.0,
    "numbers": lambda c: {},
    "parts": lambda c: ["M"],
    "name": lambda c: "name",
    "names": lambda c: ("M",),
    "coordinate": lambda c: c.arm.coordinates[0],
    "link": lambda c: c.arm.links[0].name,
    "at": lambda c: 0.1,
    "axes": lambda c: "xy"[: c.joints],
    "function": lambda c: _flexible(c),
    "M": lambda c: np.eye(2),
    "C": lambda c: 0.1 * np.eye(2),
    "K": lambda c: np.eye(2),
    "text": lambda c: c.arm.canonical(),
    "body": beam,
    "beam": beam,
    "links": lambda c: [link(c)],
    "length": lambda c: 1.0,
    "mass": lambda c: 0.5,
    "EI": lambda c: 10.0,
    "modes": lambda c: {"y": 1},
    "E": lambda c: 7e10,
    "density": lambda c: 2700.0,
    "poisson": lambda c: 0.3,
    "diameter": lambda c: 0.02,
    "outer_diameter": lambda c: 0.02,
    "thickness": lambda c: 0.002,
    "width": lambda c: 0.02,
    "height": lambda c: 0.02,
    "count": lambda c: 2,
    "mu": lambda c: 1.0,
    "seed": lambda c: 1,
    "figure": lambda c: _figure(),
    "shapes": lambda c: "clamped-free",
    "family": lambda c: shapes.ClampedFree(),
    "direction": lambda c: "y",
    "load": lambda c: shapes.TipLoad(mass=0.1),
    "basis": lambda c: shapes.ClampedFree().basis(2),
    "bases": lambda c: (shapes.ClampedFree().basis(2),),
    "quantity": lambda c: "phi",
    "j": lambda c: 0,
    "k": lambda c: 0,
    "x": lambda c: np.linspace(0.0, 1.0, 5),
    "t": lambda c: 0.1,
    "beta": lambda c: 1.9,
    "l": lambda c: 1.0,
    "inertia": lambda c: 0.1,
    "m": lambda c: 1.0,
    "value": lambda c: 0.5,
    "K_": lambda c: 0.1,
    "changes": lambda c: {},
    "former": lambda c: {},
    "linear": lambda c: None,
}

PARTICULAR = {
    "export_law.controller": lambda c: control.Sampled(pd(c), 1e-4),
    "export_law.sensors": lambda c: (),
    "export_controller.controller": lambda c: control.Sampled(pd(c), 1e-4),
    "export_controller.model": lambda c: c.model,
    "export_controller.sensors": lambda c: (),
    "export_controller.scale": lambda c: None,
    "export_controller.safe": lambda c: 0.0,
    "export_controller.period": lambda c: LEFT_OUT,
    "export_controller.misses": lambda c: 2,
    "export_controller.jitter": lambda c: 1e-5,
    "export_controller.targets": lambda c: (),
    "export_fmu.version": lambda c: "2.0",
    "export_fmu.binary": lambda c: False,
    "export_fmu.s0": lambda c: LEFT_OUT,
    "export_fmu.step": lambda c: 1e-3,
    "export_fmu.tolerance": lambda c: 0.0,
    "export_mjcf.segments": lambda c: 2,
    "export_exudyn.segments": lambda c: 2,
    "export_law_fmu.loop": lambda c: control.Sampled(pd(c), 1e-4),
    "export_law_fmu.version": lambda c: "3.0",
    "export_law_fmu.binary": lambda c: False,
    "problem.name": lambda c: "rigid-chain-3",
    "score.name": lambda c: "rigid-chain-3",
    "score.path": lambda c: trajectory_of("rigid-chain-3"),
    "export.path": lambda c: c.folder / "set",
    "shaper.controller": lambda c: LEFT_OUT,
    "shaper.q": lambda c: c.q,
    "shaper.modes": lambda c: 1,
    "vibrations.locked": lambda c: True,
    "simulate.method": lambda c: "dop853",
    "simulate.u": lambda c: c.u,
    "simulate.reference": slew,
    "simulate.step": lambda c: LEFT_OUT,
    "simulate.disturbance": lambda c: {"tip.fy": 0.1},
    "simulate.changes": lambda c: [],
    "simulate_many.changes": lambda c: [],
    "Change.values": lambda c: {"payload.mass": 0.1},
    "simulate_many.disturbance": lambda c: 0.1,
    "simulate_many.device": lambda c: "cpu",
    "simulate_many.real": lambda c: "double",
    "simulate_many.as_": lambda c: "dataset",
    "Scenario.disturbance": lambda c: {"tip.fy": 0.1},
    "Scenario.record": lambda c: ["command"],
    "JointPD.filter": lambda c: 100.0,
    "show.name": lambda c: "seen",
    "show.values": lambda c: [0.1, 0.2],
    "show.signals": lambda c: ["one", "two"],
    "Stepper.q0": lambda c: c.q,
    "Stepper.qd0": lambda c: c.qd,
    "Stepper.reset.q": lambda c: c.q,
    "Stepper.reset.qd": lambda c: c.qd,
    "load_result.path": lambda c: _saved(c),
    "load_scenario.name_or_path": lambda c: "rigid-two-link",
    "RigidInverseDynamics.reference": slew,
    "TaskLine.arm": lambda c: fa.load("rigid-two-link"),
    "TaskLine.start": lambda c: [1.2, 0.5],
    "TaskLine.end": lambda c: [1.0, 0.8],
    "TaskLine.axes": lambda c: "xy",
    "TaskLine.q0": lambda c: [0.1, 1.0],
    "TipCompensated.model": lambda c: _model("subudhi-morris-elastic"),
    "TipCompensated.reference": lambda c: fa.Quintic([0.0, 0.3], [0.1, 0.4], 0.05),
    "TipCompensated.axes": lambda c: "xy",
    "Scenario.arm": lambda c: c.arm,
    "Scenario.reference": lambda c: {
        "type": "quintic",
        "start": [0.0] * c.joints,
        "end": [0.1] * c.joints,
        "duration": 1.0,
    },
    "Scenario.input": lambda c: LEFT_OUT,
    "Scenario.controller": lambda c: {"type": "joint-pd", "Kp": 1.0, "Kd": 1.0},
    "Scenario.solver": lambda c: {},
    "Scenario.initial": lambda c: {},
    "Initial.q": lambda c: list(c.q),
    "Initial.qd": lambda c: list(c.qd),
    "Solver.method": lambda c: "dop853",
    "Solver.step": lambda c: LEFT_OUT,
    "ConstantInput.values": lambda c: [0.1] * c.joints,
    "BangBangInput.start": lambda c: 0.0,
    "bang_bang.start": lambda c: 0.0,
    "constant.values": lambda c: [0.1] * c.joints,
    "ParabolicBlends.end": lambda c: [0.1] * c.joints,
    "Beam.shapes": lambda c: "clamped-free",
    "Beam.EI": lambda c: 10.0,
    "Beam.mass": lambda c: 0.5,
    "Beam.modes": lambda c: {"y": 1},
    "Beam.mass_per_length": lambda c: LEFT_OUT,
    "Beam.material": lambda c: LEFT_OUT,
    "Beam.section": lambda c: LEFT_OUT,
    "Beam.section_tip": lambda c: LEFT_OUT,
    "FiniteElement.file": part,
    "FiniteElement.modes": lambda c: 2,
    "FiniteElement.shapes": lambda c: "clamped-free",
    "FiniteElement.mass": lambda c: 0.5,
    "FiniteElement.length": lambda c: LEFT_OUT,
    "FiniteElement.part": lambda c: LEFT_OUT,
    **{
        f"{name}.{each}": made
        for name in ("from_urdf", "urdf_report", "robot_report")
        for each, made in OF_URDF.items()
    },
    **{f"from_mjcf.{each}": made for each, made in (OF_URDF | {"path": mjcf}).items()},
    **{f"from_sdf.{each}": made for each, made in (OF_URDF | {"path": sdf}).items()},
    "Rigid.com": lambda c: [0.5, 0.0, 0.0],
    "Revolute.axis": lambda c: [0, 0, 1],
    "Prismatic.axis": lambda c: [0, 1, 0],
    "reaction_wheel.axis": lambda c: [0, 0, 1],
    "Link.joint": lambda c: fa.Revolute(),
    "Link.body": beam,
    "Arm.payload": lambda c: fa.Payload(mass=0.1),
    "Material.G": lambda c: LEFT_OUT,
    "StrainRate.K": lambda c: 0.1,
    "StrainRate.link": lambda c: next((x.name for x in c.arm.links if any(x.body.counts.values())), "a"),
    "StrainGauge.link": lambda c: next((x.name for x in c.arm.links if any(x.body.counts.values())), "a"),
    "LQR.Q": lambda c: LEFT_OUT,
    "LQR.R": lambda c: LEFT_OUT,
    "LQR.joints": lambda c: LEFT_OUT,
    "LQR.reference": slew,
    "LQR.bandwidth": lambda c: 5.0,
    "LQR.wheels": lambda c: LEFT_OUT,
    "OnLinks.controller": lambda c: control.JointPD(0.1, Kp=10.0, Kd=2.0),
    "OnLinks.links": lambda c: [c.arm.links[0].name],
    "AttitudePD.actuators": lambda c: LEFT_OUT,
    "AttitudePD.attitude": lambda c: [1.0, 0.0, 0.0, 0.0],
    "reaction_null.links": lambda c: LEFT_OUT,
    "ReactionlessLine.links": lambda c: LEFT_OUT,
    "ReactionlessLine.way": lambda c: [0.1, 0.0, 0.0],
    "ScheduledLQR.bandwidth": lambda c: 5.0,
    "ScheduledLQR.points": lambda c: 3,
    "ScheduledLQR.until": lambda c: LEFT_OUT,
    "Clearance.obstacle": lambda c: {"center": [0.1, 0.2, 3.0], "radius": 0.1},
    "Predictive.limit": lambda c: 50.0,
    "Predictive.rate_limit": lambda c: 1e4,
    "Predictive.deflection": lambda c: LEFT_OUT,
    "Predictive.outputs": lambda c: [fa.Encoder(coordinate=c.arm.coordinates[0])],
    "Predictive.bounds": lambda c: [10.0],
    "Predictive.horizon": lambda c: 3,
    "Predictive.Q": lambda c: LEFT_OUT,
    "Predictive.R": lambda c: LEFT_OUT,
    "Predictive.penalty": lambda c: 100.0,
    "Predictive.about": lambda c: "state",
    "Predictive.otherwise": lambda c: "lqr",
    "Predictive.solver": lambda c: "daqp",
    "Predictive.operations": lambda c: 10_000_000,
    "Predictive.hold": lambda c: False,
    "Predictive.sensors": lambda c: [fa.Encoder(coordinate=c.arm.coordinates[i], noise=1e-4) for i in c.arm.joints],
    "Predictive.process": lambda c: 0.1,
    "Predictive.unmodelled": lambda c: 1.0,
    "Predictive.nominal": lambda c: c.model,
    "Predictive.delay": lambda c: 0.0,
    "Predictive.stepper.period": lambda c: 1e-3,
    "Tracking.reference": slew,
    "Tracking.x_ref": lambda c: LEFT_OUT,
    "Tracking.u_ref": lambda c: LEFT_OUT,
    "Tracking.K": lambda c: "lqr",
    "Tracking.Q": lambda c: LEFT_OUT,
    "Tracking.R": lambda c: LEFT_OUT,
    "Tracking.bandwidth": lambda c: 5.0,
    "Tracking.integral_rate": lambda c: 1.0,
    "Tracking.integral_limit": lambda c: 2.0,
    "Tracking.hold": lambda c: False,
    "hinf_norm.system": lambda c: stable(),
    "h2_norm.system": lambda c: stable(),
    "hinf_synthesis.plant": lambda c: robust.four_block(stable()),
    "hinf_synthesis.measured": lambda c: 2,
    "hinf_synthesis.controls": lambda c: 1,
    "mu_synthesis.plant": lambda c: robust.four_block(stable()),
    "mu_synthesis.measured": lambda c: 2,
    "mu_synthesis.controls": lambda c: 1,
    "mu_synthesis.blocks": lambda c: [(1, 2), (2, 1)],
    "mu_synthesis.iterations": lambda c: 1,
    "mu_synthesis.order": lambda c: 1,
    "four_block.plant": lambda c: stable(),
    "loop_shaping.plant": lambda c: stable(),
    "weight.low": lambda c: 10.0,
    "weight.crossover": lambda c: 3.0,
    "weight.high": lambda c: 0.2,
    "reduce_system.system": lambda c: stable(),
    "reduce_system.order": lambda c: 2,
    "reduce_arm.points": lambda c: 5.0,
    "reduce_arm.outputs": lambda c: [fa.Encoder(coordinate=c.arm.coordinates[0])],
    "compare_reduced.controller": lambda c: -1.0 * stable()[0, 0],
    "compare_reduced.reduced": lambda c: stable()[0, 0],
    "compare_reduced.sensors": lambda c: [fa.Encoder(coordinate=c.arm.coordinates[0])],
    "compare_reduced.until": lambda c: 0.1,
    "uncertain.vary": lambda c: {"payload.mass": (0.1, 0.2)},
    "uncertain.outputs": lambda c: [fa.Encoder(coordinate=c.arm.coordinates[0])],
    "robust_stability.loop": lambda c: family(),
    "worst_gain.system": lambda c: family(),
    "mu_bound.M": lambda c: np.array([[0.5, 0.2], [0.1, 0.3]]),
    "mu_bound.blocks": lambda c: [1, 1],
    "nonlinear_inversion.sensors": lambda c: [fa.TipPosition(axes="xy"[: len(c.model.inputs)])],
    "nonlinear_inversion.times": lambda c: np.linspace(0.0, 1.0, 41),
    "nonlinear_inversion.y": lambda c: np.zeros((41, len(c.model.inputs))),
    "nonlinear_inversion.q0": lambda c: c.q,
    "optimal_motion.limits": lambda c: {"torque": 200.0, "joint_rate": 5.0},
    "optimal_motion.objective": lambda c: "effort",
    "optimal_motion.duration": lambda c: 2.0,
    "optimal_motion.intervals": lambda c: 4,
    "optimal_motion.most_intervals": lambda c: 4,
    "optimal_motion.tolerance": lambda c: 10.0,
    "optimal_motion.steps": lambda c: 60,
    "optimal_motion.through": lambda c: (),
    "optimal_motion.plants": lambda c: (),
    "Limits.torque": lambda c: 50.0,
    "Limits.torque_rate": lambda c: [100.0] * c.joints,
    "Limits.joint_range": lambda c: [[-1.0, 1.0]] * c.joints,
    "Limits.joint_rate": lambda c: 2.0,
    "Limits.deflection": lambda c: 0.1,
    "OptimalReference.limits": lambda c: {"torque": 50.0},
    "OptimalReference.through": lambda c: ([0.05] * c.joints,),
    "OptimalReference.plants": lambda c: ({f"{c.arm.links[0].name}.mass": 1.0},),
    "OptimalReference.objective": lambda c: {"time": 1.0, "effort": 0.1},
    "DesignedFor.model": lambda c: c.model,
    "Sampled.delay": lambda c: 0.0,
    "Observed.sensors": lambda c: [fa.Encoder(coordinate=c.arm.coordinates[i], noise=1e-4) for i in c.arm.joints],
    "Observed.configuration": lambda c: LEFT_OUT,
    "consistency.estimates": lambda c: estimated(c.name),
    **{
        f"{name}.{key}": value
        for name in ("estimate", "EKF.begin", "UKF.begin", "MovingHorizon.begin")
        for key, value in {
            "outputs": lambda c: noisy(c),
            "sensors": lambda c: noisy(c),
            "data": lambda c: record(c),
            "sample_rate": lambda c: 100.0,
        }.items()
    },
    **{
        f"{name}.{key}": value
        for name in ("EKF", "UKF", "MovingHorizon")
        for key, value in {
            "parameters": lambda c: {f"{c.arm.links[0].name}.mass": 0.1},
            "start": lambda c: {f"{c.arm.links[0].name}.mass": 0.9},
            "disturbances": lambda c: {c.model.inputs[0]: 0.1},
            "drift": lambda c: {c.model.inputs[0]: 0.1},
            "deviation": lambda c: 0.01,
        }.items()
    },
    "Linear.system": lambda c: 0.1 * np.ones((c.joints, 3)),
    "Every.periods": lambda c: 2,
    "Every.discretised.method": lambda c: "zoh",
    "Linear.discretised.method": lambda c: "zoh",
    "Sum.discretised.method": lambda c: "zoh",
    "Sum.terms": lambda c: (pd(c), 0.1),
    "Model.function.name": lambda c: "mass_matrix",
    "Model.kernel.name": lambda c: "mass_matrix",
    "Model.evaluate.name": lambda c: "mass_matrix",
    "Model.evaluate.values": lambda c: (c.q,),
    "Model.argument.name": lambda c: "q",
    "Model.argument.value": lambda c: c.q,
    "Model.slope.name": lambda c: "mass_matrix",
    "Model.slope.argument": lambda c: 0,
    "draw_bode.systems": lambda c: linear(c),
    "draw_bode.measured": lambda c: response(),
    "draw_bode.output": lambda c: 0,
    "draw_bode.input": lambda c: 0,
    "draw_poles.systems": lambda c: {"a": linear(c), "b": c.model},
    "draw_runs.result": lambda c: many(c.name),
    "draw_runs.variable": lambda c: "tip",
    "draw_stroboscope.poses": lambda c: 3,
    "draw_path.results": lambda c: result(c.name),
    "draw_path.wanted": lambda c: result(c.name).tip.values,
    "draw_frequencies.values": lambda c: np.array([0.0, 0.1]),
    "FreeForm.x": lambda c: np.linspace(0.0, 1.0, 9).tolist(),
    "FreeForm.values": lambda c: [(np.linspace(0.0, 1.0, 9) ** 2).tolist()],
    "FreeForm.basis.count": lambda c: 1,
    "ClampedMass.load.load": lambda c: shapes.TipLoad(mass=0.1),
    "ClampedMass.mass_ratio": lambda c: 1.0,
    "ClampedMass.inertia_ratio": lambda c: 0.1,
    "ClampedMass.moment_ratio": lambda c: 0.1,
    "ClampedLoaded.mass_ratio": lambda c: 2.0,
    "FixedLoaded.load_ratio": lambda c: 2.0,
    "closed_form.quantity": lambda c: "mean",
    "coordinate_unit.name": lambda c: c.arm.coordinates[0],
    "frozen_eigenvalues.qdd": lambda c: LEFT_OUT,
    "lyapunov_rate.qdd": lambda c: LEFT_OUT,
    "frozen_eigenvalues.u": lambda c: c.u,
    "lyapunov_rate.u": lambda c: c.u,
    "reference_values.t": lambda c: np.linspace(0.0, 0.1, 3),
    "zero_dynamics.output": lambda c: 0,
    "zero_dynamics.input": lambda c: 0,
    "FreeForm.functions": lambda c: LEFT_OUT,
    "checked.shapes": lambda c: "clamped-free",
    "closed_form.family": lambda c: shapes.ClampedFree(),
    "Basis.function": lambda c: lambda x, d: np.zeros((2, len(x))),
    "family.shapes": lambda c: "clamped-free",
    "Computed.function": lambda c: lambda t: np.zeros(c.joints),
    "as_input.u": lambda c: c.u,
    "Law.expression": lambda c: lambda t, q, qd, z: ([0.0] * c.joints, []),
    "Law.reference": lambda c: LEFT_OUT,
    "PointsMotion.times": lambda c: [0.0, 0.1],
    "Outputs.names": lambda c: ("a", "b", "c"),
    "Outputs.units": lambda c: ("rad", "m", "m"),
    "Outputs.sensors": lambda c: tuple(sensors(c)),
    "equations.numbers": lambda c: {},
    "Equations.derive.names": lambda c: ("M",),
    "Equations.regressor.names": lambda c: (),
    "Equations.elements.name": lambda c: "M",
    "Equations.forms.name": lambda c: "M",
    "Still.position": lambda c: (0.1,) * c.joints,
    "quadratic_eigenvalues.M": lambda c: np.eye(2),
    "Cycloidal.periods": lambda c: [0.1] * c.joints,
    "SlotineLi.parameters": lambda c: [c.arm.links[0].name + ".mass"],
    "SlidingMode.K": lambda c: 5.0,
    "ZPETC.system": _discrete,
    "ZPETC.commands.reference": lambda c: [0.0, 0.1, 0.1],
    "MZV.duration": lambda c: 0.75,
    "Shaper.times": lambda c: (0.0, 0.05),
    "Shaper.amplitudes": lambda c: (0.5, 0.5),
}


def _flexible(c):
    if not c.arm.flexible:
        c = Context("lin-lewis-beam", _model("lin-lewis-beam"), c.folder)
    return analysis.flexible_equations(c.model)


def _figure():
    from matplotlib.figure import Figure

    return Figure()


def _saved(c):
    return fa.save_result(result(c.name), c.folder / "saved.nc")


def made(cls, c):
    """A right object of a class."""
    if cls is fa.Model:
        return c.model
    if cls is fa.Arm:
        return c.arm
    if cls.__name__ == "Equations":
        return _equations()
    given = {k: v for k, v in arguments(cls.__name__, cls, c).items() if v is not LEFT_OUT}
    if cls is control.Sum:
        return cls(*given.pop("terms"), **given)
    return cls(**given)


def arguments(name, call, c):
    """Right arguments for a call, by the names of its parameters."""
    given = {}
    for parameter in inspect.signature(call).parameters.values():
        key = f"{name}.{parameter.name}"
        required = parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        )
        if key in PARTICULAR:
            given[parameter.name] = PARTICULAR[key](c)
        elif required and parameter.name in NAMED:
            given[parameter.name] = NAMED[parameter.name](c)
        elif required:
            given[parameter.name] = _by_annotation(parameter.annotation)
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            given[parameter.name] = NAMED[parameter.name](c) if parameter.name in NAMED else ()
        else:
            given[parameter.name] = parameter.default
    return given


def _by_annotation(annotation):
    known = {int: 2, float: 0.5, str: "x", bool: True, "int": 2, "float": 0.5, "str": "x", "bool": True}
    return known.get(annotation, 0.5) if isinstance(annotation, str | type) else 0.5


def stable():
    """A stable linear system with one input and two outputs."""
    import control as ct

    return ct.ss([[-0.5, 3.0, 0.0], [-3.0, -0.5, 1.0], [0.0, 0.0, -7.0]], [[0], [1], [2]], np.eye(2, 3), 0.0)


def family():
    """A stable linear system with one parameter."""
    import control as ct

    M = ct.ss([[0, 1], [-9, -0.5]], [[0, 0], [-0.2, 1]], [[0, 1], [1, 0]], 0.0)
    return robust.Uncertain(("c",), np.array([0.3]), np.array([0.7]), (1,), M, 0.0)


def other(rng, c):
    """A right object of another kind, or of another arm."""
    another = Context(
        "other", _model(rng.choice(("lin-lewis-beam", "subudhi-morris-elastic", "rigid-two-link"))), c.folder
    )
    makers = [maker for name, maker in NAMED.items() if name not in ("function", "linear")]
    more = (lambda c: trajectory, lambda c: fa.Model, lambda c: fa.Quintic, lambda c: control.Sampled(pd(c), 0.01))
    return rng.choice((*makers, *more))(another)
