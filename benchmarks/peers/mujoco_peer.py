"""MuJoCo: the arm as a file of hinges with springs (`flexarm export --mjcf`), steps in C by its `Batch`.

What contacts and constraints would need is switched off, as there are none. The rotor of an elastic joint, where it is
absolute, is a body of its own on the carrier; all else is the file's. Joints that follow others are equality
constraints, and cables are spatial tendons without damping. The file of the chain of ball joints is written here.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any
from xml.etree import ElementTree

import numpy as np

from benchmarks.peers.joints import followers
from benchmarks.peers.peer import HINGES, Setting, Solution, lines_of, loop_steps, steps, timed
from benchmarks.peers.tasks import GAINS, PERIOD, Array, Derivation, Task
from flexarm.exports.lumped import lumped
from flexarm.exports.mjcf import written

NAME = "MuJoCo"
PACKAGES = ("mujoco",)
INTEGRATORS = ("RK4", "implicitfast", "implicit", "Euler", "discrete")
OFF = ("CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT", "WARMSTART", "ISLAND", "AUTORESET", "CLAMPCTRL")
LOOPS = ("CONSTRAINT", "EQUALITY", "WARMSTART")
"""Options that stay on for closed loops and gears."""
IMPEDANCES = {"default": (0.9, 0.95, 2.0), "hard": (0.9999, 0.9999, 2.0), "hardest": (0.9999, 0.9999, 0.5)}
"""First two numbers of solimp of closed loops and gears, and the time constant of solref in steps.

The first are MuJoCo's own values, and 0.9999 is the largest that it allows. It allows time constants below two steps if
its option REFSAFE is off. These make gears more exact, with RK4."""


def cannot(task: Task | Derivation) -> str:
    """Symbols."""
    return "no equations in symbols" if isinstance(task, Derivation) else ""


def settings(task: Task) -> Iterator[Setting]:
    """Its five integrators, steps, and hinges of what bends; with constraints the two that its pages recommend."""
    if task.closed or task.geared:
        hinges, integrators = HINGES if task.continuum else (1,), ("implicitfast", "RK4")
        for n, impedance, integrator in product(hinges, IMPEDANCES, integrators):
            if impedance == "hardest" and (task.closed or integrator != "RK4"):
                continue
            each = f"{n} hinges a link, " if task.continuum else ""
            series = f"{each}{integrator}, {impedance} constraints"
            for count in (loop_steps if task.closed else steps)(task.intervals):
                yield Setting(f"{series}, {count} steps", series, (n, integrator, count, impedance))
        return
    least = round(task.until / task.intervals / PERIOD) if task.feedback else 20 if task.many else 1
    each_hinged, counts = HINGES if task.continuum else (1,), steps(task.intervals, least)
    for segments, integrator, count in product(each_hinged, INTEGRATORS, counts):
        each = f"{segments} hinges a link, " if task.continuum else ""
        yield Setting(f"{each}{integrator}, {count} steps", f"{segments} {integrator}", (segments, integrator, count))


def solve(task: Task, setting: Setting) -> Solution:
    """Build from the file, roll out."""
    segments, integrator, count, *impedance = setting.numbers
    gears = {link.name: link.joint.gear_ratio for link in task.arm.links if carried(link)}
    key = (task.name, segments)
    if key not in FILES:
        FILES[key] = balls(task) if task.spherical else file(task, segments, bool(gears))
    text = FILES[key]
    run = held if task.feedback else many if task.many else rolled
    return timed(
        task,
        lambda: build(task, text, integrator, task.until / count, gears, *impedance),
        lambda batch: run(task, batch, count),
        lines_of(modelled, run, *([closed] if task.closed or task.geared else [])),
    )


FILES: dict[tuple[str, int], str] = {}


def file(task: Task, segments: int, turned: bool) -> str:
    """MJCF; rotors of elastic joints as `turning` makes them."""
    if not turned:
        return written(task.equivalent(segments))
    links = [link.replace(joint=link.joint.replace(rotor="relative")) for link in task.arm.links]
    return turning(written(lumped(task.arm.replace(links=links), segments)), task.arm)


def balls(task: Task) -> str:
    """MJCF of a chain of rods on ball joints."""
    root = ElementTree.Element("mujoco")
    ElementTree.SubElement(root, "compiler", angle="radian", eulerseq="XYZ")
    ElementTree.SubElement(root, "option", gravity=words(task.arm.gravity))
    parent, end = ElementTree.SubElement(root, "worldbody"), np.zeros(3)
    for link in task.arm.links:
        rod, placement = link.body, link.placement
        parent = ElementTree.SubElement(
            parent, "body", name=link.name, pos=words(end + placement.xyz), euler=words(placement.rpy)
        )
        ElementTree.SubElement(parent, "joint", name=link.name, type="ball")
        inertia = words(np.diag(rod.inertia_tensor))
        ElementTree.SubElement(parent, "inertial", pos=words(rod.center), mass=str(rod.mass), diaginertia=inertia)
        end = np.array([rod.length, 0.0, 0.0])
    ElementTree.SubElement(parent, "site", name="tip", pos=words(end))
    sensors = ElementTree.SubElement(root, "sensor")
    ElementTree.SubElement(sensors, "framepos", name="tip", objtype="site", objname="tip")
    return ElementTree.tostring(root, encoding="unicode")


def words(numbers: Any) -> str:
    """Return numbers as an attribute of MJCF."""
    return " ".join(str(float(x)) for x in numbers)


def carried(link: Any) -> bool:
    """Whether a motor turns with what carries it, on an elastic joint."""
    return bool(link.joint.moves and link.joint.elastic and link.joint.rotor == "absolute")


def turning(text: str, arm: Any) -> str:
    """The rotors' bodies are put on their carriers and turn G times as fast; a body's inertia is not zero about any
    axis, so that a rotor has it about each, and its carrier has as much less across the rotor's."""
    root = ElementTree.fromstring(text)
    for link in filter(carried, arm.links):
        axis, G, inertia = np.array(link.joint.axis, dtype=float), link.joint.gear_ratio, link.joint.rotor_inertia
        carrier = root.find(f".//body[@name='{link.name}']/..")
        body, motor = (root.find(f".//body[@name='{name}']") for name in (link.name, f"{link.name}.motor"))
        root.find("worldbody").remove(motor)
        carrier.append(motor)
        motor.set("pos", body.get("pos"))
        motor.set("quat", body.get("quat"))
        motor.find("inertial").set("diaginertia", f"{inertia} {inertia} {inertia}")
        root.find(f".//fixed/joint[@joint='{link.name}.motor']").set("coef", str(-1 / G))
        root.find(f".//actuator/motor[@joint='{link.name}.motor']").set("gear", str(1 / G))
        if carrier.tag == "body":
            w, *v = (float(x) for x in body.get("quat").split())
            axis = axis + 2 * np.cross(v, np.cross(v, axis) + w * axis)
            less = inertia * (np.eye(3) - np.outer(axis, axis))
            solid = carrier.find("inertial")
            full = (
                np.array(solid.get("fullinertia").split(), dtype=float) - less[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
            )
            solid.set("fullinertia", " ".join(map(str, full)))
    return ElementTree.tostring(root, encoding="unicode")


def modelled(text: str, integrator: str, step: float, off: tuple[str, ...] = OFF) -> Any:
    """The model, with how it is integrated and without what there is none of."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    model.opt.timestep = step
    for flag in off:
        model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))
    return model


def closed(task: Task, text: str, integrator: str, step: float, impedance: str) -> Any:
    """The model with its closed loops or gears, as stiff as the step allows; in a plane a point holds a hinge."""
    *hardness, constant = IMPEDANCES[impedance]
    safe = ("REFSAFE",) if constant < 2.0 else ()
    model = modelled(text, integrator, step, (*safe, *(flag for flag in OFF if flag not in LOOPS)))
    model.eq_solref[:] = constant * step, 1.0
    model.eq_solimp[:, :2] = hardness
    for i in range(model.neq if task.planar else 0):
        model.eq_active0[i] = not model.equality(i).name.endswith(".axis")
    return model


def build(task: Task, text: str, integrator: str, step: float, gears: dict[str, float], impedance: str = "") -> Any:
    """The model, as often as there are runs, where they begin."""
    from mujoco.batch import Batch

    if task.closed or task.geared:
        model = closed(task, text, integrator, step, impedance)
    else:
        model = modelled(text, integrator, step)
    q, qd = np.atleast_2d(task.q0), np.atleast_2d(task.qd0)
    batch = Batch(model, len(q), 0 if task.many else 1)
    free = task.arm.free
    if task.spherical:
        for i, link in enumerate(task.arm.links):
            batch.joint(link.name).qpos[:] = q[:, 4 * i : 4 * i + 4]
            batch.joint(link.name).qvel[:] = qd[:, 3 * i : 3 * i + 3]
        return batch
    if free:
        batch.joint("base").qpos[:] = q[:, :7]
        batch.joint("base").qvel[:] = qd[:, :6]
    for i, name in enumerate(task.arm.velocities[6 * free :], start=6 * free):
        if name.endswith((".joint", ".motor")):
            gear = gears.get(name.removesuffix(".motor"), 1.0)
            batch.joint(name).qpos[:, 0], batch.joint(name).qvel[:, 0] = gear * q[:, i + free], gear * qd[:, i]
    for name, leader, ratio, offset in followers(task.arm):
        mine, led = (batch.joint(f"{each}.joint") for each in (name, leader))
        mine.qpos[:], mine.qvel[:] = ratio * led.qpos + offset, ratio * led.qvel
    return batch


def rolled(task: Task, batch: Any, count: int) -> Array | None:
    """One run under torques that are known beforehand, all of it in C."""
    import mujoco

    h, tip = task.until / count, batch.site("tip").xpos  # bound before the calls that fill it
    control = task.torque((np.arange(count) + 0.5) * h)[None] if len(task.jumps) else None
    found = batch.rollout(count, control, record=("sensordata",))["sensordata"][0, :: count // task.intervals]
    batch.forward(stage=mujoco.mjtStage.mjSTAGE_POS)
    return np.vstack([found, tip])  # sensors show a step's beginning


def held(task: Task, batch: Any, count: int) -> Array | None:
    """The sampled law: a step or several of C between two calls of Python."""
    import mujoco

    model, data = batch.get_model(0), batch.get_data(0)
    samples = round(task.until / PERIOD)
    each, every = count // samples, samples // task.intervals
    site, u, q, qd, tip = data.site("tip"), data.ctrl, data.qpos, data.qvel, []
    for k in range(samples):
        if k % every == 0:
            mujoco.mj_kinematics(model, data)
            tip.append(site.xpos.copy())
        u[:] = -GAINS[0] * q - GAINS[1] * qd
        mujoco.mj_step(model, data, each)
    mujoco.mj_kinematics(model, data)
    return np.array([*tip, site.xpos])


def many(task: Task, batch: Any, count: int) -> Array | None:
    """A thousand runs on all cores."""
    import mujoco

    tip = batch.site("tip").xpos  # bound before the call that fills it
    batch.step(nstep=count, stage=mujoco.mjtStage.mjSTAGE_POS)
    return tip
