"""Exudyn's kinematic tree: the arm as rigid segments in minimal coordinates.

Joints turn about, or slide along, the z-axes of their links. A free base hangs on three slides and three turns, whose
second must not come near a right angle. The motor of an elastic joint is a link that turns on its carrier, or on the
ground where its rotor has the joint's rate alone; its coordinate is the rotor's angle, and matrices of stiffness and
damping tie it to the joint. All other rotors are a matrix of inertia.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.exudyn_models import exudyn
from benchmarks.peers.exudyn_run import Parts
from benchmarks.peers.tasks import Array, Task

LIGHT = 1e-9
"""[kg] of a rotor: the tree divides by masses."""
NOTHING = (0.0, np.zeros(3), np.zeros((3, 3)))
"""Mass, its centre, and inertia."""


def to_z(axis: Array) -> Array:
    """A frame whose z is the axis, (3, 3)."""
    return np.eye(3) if axis[2] > 1 - 1e-12 else Rotation.align_vectors([axis], [[0.0, 0.0, 1.0]])[0].as_matrix()


@dataclass
class Links:
    """What the tree is told of its links, in their order; the numbers of coordinates, and how much faster some turn."""

    kinds: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    places: list[tuple[Array, Array]] = field(default_factory=list)
    solids: list[tuple[float, Array, Array]] = field(default_factory=list)
    number: dict[str, int] = field(default_factory=dict)
    gear: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, kind: str, parent: int, place: Any, solid: Any) -> int:
        """Its number."""
        self.kinds.append(kind)
        self.parents.append(parent)
        self.places.append(place)
        self.solids.append(solid)
        self.number[name] = len(self.kinds) - 1
        return self.number[name]


def links_of(equivalent: Any) -> Links:
    """The base's joints where it is free, each joint's motor where it has one, the joints."""
    found, base = Links(), -1
    if equivalent.arm.free:
        for kind in ("PrismaticX", "PrismaticY", "PrismaticZ", "RevoluteX", "RevoluteY", "RevoluteZ"):
            name = f"base.{kind[-1].lower()}" if kind.startswith("P") else f"base {kind}"
            base = found.add(name, kind, base, (np.eye(3), np.zeros(3)), NOTHING)
        body = equivalent.arm.base
        about = np.diag(body.inertia) if np.ndim(body.inertia) == 1 else np.array(body.inertia)
        found.solids[-1] = (body.mass, np.array(body.com), about)
    frames = [to_z(joint.axis) for joint in equivalent.joints]
    gears = {link.name: link.joint.gear_ratio for link in equivalent.arm.links if link.joint.moves}
    number: list[int] = []
    for joint, A in zip(equivalent.joints, frames, strict=True):
        parent, B = (base, np.eye(3)) if joint.parent < 0 else (number[joint.parent], frames[joint.parent])
        place = B.T @ joint.R @ A, B.T @ joint.p
        if joint.transmission is not None:
            G = gears[joint.name] if joint.share else 1.0
            rotor = LIGHT, np.zeros(3), np.diag([0.0, 0.0, joint.rotor / G**2])
            found.add(f"{joint.name}.motor", "RevoluteZ", parent if joint.share else -1, place, rotor)
            found.gear[f"{joint.name}.motor"] = G
        kind = "RevoluteZ" if joint.turns else "PrismaticZ"
        solid = joint.mass, A.T @ joint.com, A.T @ joint.inertia @ A
        number.append(found.add(f"{joint.name}.joint", kind, parent, place, solid))
    return found


def matrices(equivalent: Any, links: Links) -> dict[str, Array]:
    """Inertia of rotors, stiffness and damping of transmissions, over the tree's coordinates, where there are any."""
    n = len(links.kinds)
    found = {name: np.zeros((n, n)) for name in ("massMatrix", "stiffnessMatrix", "dampingMatrix")}
    for j, joint in enumerate(equivalent.joints):
        rate = np.zeros(n)
        rate[links.number[f"{joint.name}.joint"]] = 1.0
        if joint.transmission is not None:
            motor = f"{joint.name}.motor"
            rate[links.number[motor]] = -1.0 / links.gear[motor]
            found["stiffnessMatrix"] += joint.transmission * np.outer(rate, rate)
            found["dampingMatrix"] += joint.loss * np.outer(rate, rate)
        elif joint.rotor:
            for k, share in equivalent.carried(j).items():
                rate[links.number[f"{equivalent.joints[k].name}.joint"]] = share
            found["massMatrix"] += joint.rotor * np.outer(rate, rate)
    return {name: value for name, value in found.items() if value.any()}


def start(task: Task, equivalent: Any, links: Links) -> tuple[Array, Array]:
    """Coordinates and rates; a free base begins without a turn."""
    q, qd = np.zeros(len(links.kinds)), np.zeros(len(links.kinds))
    places = zip(equivalent.arm.coordinates, equivalent.start(np.atleast_2d(task.q0)[0]), strict=True)
    rates = zip(task.arm.velocities, np.atleast_2d(task.qd0)[0], strict=True)
    for given, values in ((places, q), (rates, qd)):
        for name, value in given:
            if name in links.number:
                values[links.number[name]] = value * links.gear.get(name, 1.0)
    return q, qd


def tree(task: Task, equivalent: Any, begin: dict[str, tuple[float, float]] | None = None) -> Parts:
    """The system of an arm's lumped equivalent; it can be given the coordinate and the rate of each joint."""
    from exudyn import itemInterface as item

    exu, links = exudyn(), links_of(equivalent)
    container = exu.SystemContainer()
    system = container.AddSystem()
    q, qd = np.array([begin[name] for name in links.number]).T if begin else start(task, equivalent, links)
    n, number, none = len(q), links.number, [0.0] * len(q)
    node = item.NodeGenericODE2(
        numberOfODE2Coordinates=n, referenceCoordinates=none, initialCoordinates=q, initialCoordinates_t=qd
    )
    node = system.AddNode(node)
    stiffness, damping = np.zeros(n), np.zeros(n)
    for joint in equivalent.joints:
        place = number[f"{joint.name}.joint"]
        stiffness[place], damping[place] = joint.stiffness, joint.damping
    springs = {}
    if stiffness.any() or damping.any():
        springs = {"jointPControlVector": stiffness, "jointDControlVector": damping}
        springs |= {"jointPositionOffsetVector": none, "jointVelocityOffsetVector": none}
    solid = item.ObjectKinematicTree(
        nodeNumber=node,
        jointTypes=[getattr(exu.JointType, kind) for kind in links.kinds],
        linkParents=links.parents,
        jointTransformations=exu.Matrix3DList([R for R, _ in links.places]),
        jointOffsets=exu.Vector3DList([p for _, p in links.places]),
        linkMasses=[mass for mass, _, _ in links.solids],
        linkCOMs=exu.Vector3DList([com for _, com, _ in links.solids]),
        linkInertiasCOM=exu.Matrix3DList([inertia for _, _, inertia in links.solids]),
        gravity=list(equivalent.arm.gravity),
        **springs,
    )
    solid = system.AddObject(solid)
    more = matrices(equivalent, links)
    if more:
        system.AddObject(item.ObjectGenericODE2(nodeNumbers=[node], **more))
    loads = []
    for i, name in enumerate(task.arm.inputs if len(task.jumps) else ()):
        marker = system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=node, coordinate=number[name]))
        load = system.AddLoad(item.LoadCoordinate(markerNumber=marker, load=0.0))
        loads.append((i, load, "load", 1.0 / links.gear.get(name, 1.0)))
    last, tip = equivalent.tip
    joint = equivalent.joints[last]
    sensor = item.SensorKinematicTree(
        objectNumber=solid,
        linkNumber=number[f"{joint.name}.joint"],
        localPosition=to_z(joint.axis).T @ tip,
        storeInternal=True,
        writeToFile=False,
        outputVariableType=exu.OutputVariableType.Position,
    )
    sensor = system.AddSensor(sensor)
    system.Assemble()
    return Parts(container, system, solid, sensor, loads)
