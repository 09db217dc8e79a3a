"""Exudyn's kinematic tree: the arm as rigid segments in minimal coordinates.

Joints turn about, or slide along, the z-axes of their links. A free base hangs on three slides and three turns. The
motor of an elastic joint is a link without mass that turns on its carrier, or on the ground where its rotor counts the
joint's rate alone; its coordinate is the rotor's angle, and a matrix of stiffness ties it to the joint.
"""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.peers.exudyn_run import Parts, exudyn
from benchmarks.peers.tasks import Array, Task

LIGHT = 1e-9
"""[kg] of a rotor: the tree divides by the masses."""

FREE = (("Prismatic", "xyz"), ("Revolute", "zyx"))


def to_z(axis: Array) -> Array:
    """A frame whose z is the axis, (3, 3)."""
    return np.eye(3) if axis[2] > 1 - 1e-12 else Rotation.align_vectors([axis], [[0.0, 0.0, 1.0]])[0].as_matrix()


class Links:
    """Lists of what the tree is told of its links."""

    def __init__(self) -> None:
        self.kinds: list[Any] = []
        self.parents: list[int] = []
        self.R: list[Array] = []
        self.p: list[Array] = []
        self.mass: list[float] = []
        self.com: list[Array] = []
        self.inertia: list[Array] = []

    def add(self, kind: str, parent: int, R: Array, p: Array, mass: float, com: Array, inertia: Array) -> int:
        """Its number."""
        self.kinds.append(getattr(exudyn().JointType, kind))
        self.parents.append(parent)
        self.R.append(R)
        self.p.append(p)
        self.mass.append(mass)
        self.com.append(com)
        self.inertia.append(inertia)
        return len(self.kinds) - 1


def tree(task: Task, equivalent: Any) -> Parts:
    """The arm's lumped equivalent."""
    from exudyn import itemInterface as item

    exu, arm, links = exudyn(), equivalent.arm, Links()
    number: dict[str, int] = {}
    gear: dict[str, float] = {}
    carrier, none = -1, (0.0, np.zeros(3), np.zeros((3, 3)))
    if arm.free:
        for kind, axes in FREE:
            for axis in axes:
                carrier = links.add(f"{kind}{axis.upper()}", carrier, np.eye(3), np.zeros(3), *none)
                number[f"base.{axis}" if kind == "Prismatic" else f"base.turn {axis}"] = carrier
        base = arm.base
        links.mass[-1], links.com[-1] = base.mass, np.array(base.com)
        links.inertia[-1] = np.diag(base.inertia) if np.ndim(base.inertia) == 1 else np.array(base.inertia)
    first = carrier
    frames = [to_z(joint.axis) for joint in equivalent.joints]
    rotors = {link.name: link.joint for link in arm.links if link.joint.moves}
    n = len(equivalent.joints)
    for joint, A in zip(equivalent.joints, frames, strict=True):
        parent, B = (first, np.eye(3)) if joint.parent < 0 else (number[f"{equivalent.joints[joint.parent].name}.joint"], frames[joint.parent])
        place = B.T @ joint.R @ A, B.T @ joint.p
        if joint.transmission is not None:
            absolute = rotors[joint.name].rotor == "absolute"
            G = rotors[joint.name].gear_ratio if absolute else 1.0
            about = np.diag([0.0, 0.0, joint.rotor / G**2])
            number[f"{joint.name}.motor"] = links.add("RevoluteZ", parent if absolute else -1, *place, LIGHT, np.zeros(3), about)
            gear[f"{joint.name}.motor"] = G
        number[f"{joint.name}.joint"] = links.add(
            "RevoluteZ" if joint.turns else "PrismaticZ", parent, *place,
            joint.mass, A.T @ joint.com, A.T @ joint.inertia @ A,
        )
    n = len(links.kinds)
    M, K, D, P, V = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for j, joint in enumerate(equivalent.joints):
        a, v = number[f"{joint.name}.joint"], np.zeros(n)
        P[a], V[a] = joint.stiffness, joint.damping
        if joint.transmission is None:
            v[a] = 1.0
            for k, share in equivalent.carried(j).items():
                v[number[f"{equivalent.joints[k].name}.joint"]] = share
            M += joint.rotor * np.outer(v, v)
        else:
            b = number[f"{joint.name}.motor"]
            v[a], v[b] = 1.0, -1.0 / gear[f"{joint.name}.motor"]
            K += joint.transmission * np.outer(v, v)
            D += joint.loss * np.outer(v, v)
    q, qd = np.zeros(n), np.zeros(n)
    for name, value in zip(arm.coordinates, equivalent.start(np.atleast_2d(task.q0)[0]), strict=True):
        if name in number:
            q[number[name]] = value * gear.get(name, 1.0)
    for name, value in zip(task.arm.velocities, np.atleast_2d(task.qd0)[0], strict=True):
        if name in number:
            qd[number[name]] = value * gear.get(name, 1.0)
    container = exu.SystemContainer()
    system = container.AddSystem()
    node = system.AddNode(
        item.NodeGenericODE2(
            numberOfODE2Coordinates=n, referenceCoordinates=[0.0] * n, initialCoordinates=list(q),
            initialCoordinates_t=list(qd),
        )
    )
    solid = system.AddObject(
        item.ObjectKinematicTree(
            nodeNumber=node,
            jointTypes=links.kinds,
            linkParents=links.parents,
            jointTransformations=exu.Matrix3DList(links.R),
            jointOffsets=exu.Vector3DList(links.p),
            linkInertiasCOM=exu.Matrix3DList(links.inertia),
            linkCOMs=exu.Vector3DList(links.com),
            linkMasses=links.mass,
            gravity=list(arm.gravity),
            **(dict(jointPControlVector=P, jointDControlVector=V, jointPositionOffsetVector=0 * P, jointVelocityOffsetVector=0 * V) if P.any() or V.any() else {}),
        )
    )
    if M.any() or K.any():
        system.AddObject(item.ObjectGenericODE2(nodeNumbers=[node], **{k: v for k, v in (("massMatrix", M), ("stiffnessMatrix", K), ("dampingMatrix", D)) if v.any()}))
    loads = []
    if len(task.jumps):
        for i, name in enumerate(task.arm.inputs):
            if name not in number:
                continue
            marker = system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=node, coordinate=number[name]))
            load = system.AddLoad(item.LoadCoordinate(markerNumber=marker, load=0.0))
            loads.append((i, load, "load", 1.0 / gear.get(name, 1.0)))
    link, tip = equivalent.tip
    tip = system.AddSensor(
        item.SensorKinematicTree(
            objectNumber=solid, linkNumber=number[f"{equivalent.joints[link].name}.joint"], localPosition=frames[link].T @ tip,
            storeInternal=True, writeToFile=False, outputVariableType=exu.OutputVariableType.Position,
        )
    )
    system.Assemble()
    return Parts(container, system, solid, tip, loads)
