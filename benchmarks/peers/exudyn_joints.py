"""Exudyn with joints that follow others, with ball joints, and with cables.

The kinematic tree has a constraint between coordinates for each gear, three hinges for each ball joint, or a spring for
each cable, whose force is a symbolic function that runs without Python. The rods on ball joints are also bodies with
Euler parameters between spherical joints. Exudyn's own elements for ropes have another law: their stiffness depends on
the present length.
"""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.exudyn_models import exudyn
from benchmarks.peers import cables, joints
from benchmarks.peers.exudyn_run import Parts
from benchmarks.peers.exudyn_tree import links_of, to_z, tree
from benchmarks.peers.tasks import Array, Task
from flexarm.exports.lumped import lumped


def geared(task: Task) -> Parts:
    """Return the tree with a constraint between the coordinates of each gear."""
    from exudyn import itemInterface as item

    equivalent = task.equivalent(1)
    number = links_of(equivalent).number
    begin = dict(zip(task.arm.coordinates, zip(task.q0, task.qd0, strict=True), strict=True))
    gears = joints.followers(task.arm)
    for name, leader, ratio, offset in gears:
        place, rate = begin[f"{leader}.joint"]
        begin[f"{name}.joint"] = ratio * place + offset, ratio * rate
    parts = tree(task, equivalent, begin)
    for name, leader, ratio, offset in gears:
        ends = (number[f"{each}.joint"] for each in (name, leader))
        markers = [parts.system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=0, coordinate=i)) for i in ends]
        parts.system.AddObject(item.ObjectConnectorCoordinate(markerNumbers=markers, factor1=ratio, offset=-offset))
    parts.system.Assemble()
    return parts


def tied(task: Task) -> Parts:
    """Return the tree with a spring for each cable that does not push."""
    from exudyn import itemInterface as item
    from exudyn.advancedUtilities import CreateSymbolicUserFunction

    exu, equivalent = exudyn(), task.equivalent(1)
    parts = tree(task, equivalent)
    system, frames = parts.system, [to_z(joint.axis) for joint in equivalent.joints]
    ground = system.AddObject(item.ObjectGround())

    def tension(mbs: Any, t: Any, number: Any, longer: Any, rate: Any, stiffness: Any, damping: Any, force: Any) -> Any:
        return exu.symbolic.IfThenElse(longer > 0, stiffness * longer, exu.symbolic.Real(0.0))

    for rope in cables.ropes(equivalent.arm):
        markers = []
        for body, point in zip(rope.bodies, rope.points, strict=True):
            if body < 0:
                marker = item.MarkerBodyPosition(bodyNumber=ground, localPosition=point)
            else:
                local = frames[body].T @ point
                marker = item.MarkerKinematicTreeRigid(objectNumber=parts.solid, linkNumber=body, localPosition=local)
            markers.append(system.AddMarker(marker))
        spring = system.AddObject(
            item.ObjectConnectorSpringDamper(
                markerNumbers=markers, stiffness=rope.stiffness, referenceLength=rope.length
            )
        )
        pull = CreateSymbolicUserFunction(system, tension, "springForceUserFunction", spring)
        system.SetObjectParameter(spring, "springForceUserFunction", pull)
        parts.kept.append(pull)
    system.Assemble()
    return parts


def balls(task: Task) -> Parts:
    """Return the tree with three hinges in the place of each ball joint."""
    begin = {}
    turns = Rotation.from_quat(np.roll(task.q0.reshape(-1, 4), -1, axis=1))
    for link, turn, w in zip(task.arm.links, turns, task.qd0.reshape(-1, 3), strict=True):
        a, b, c = turn.as_euler("XYZ")
        axes = [  # of the hinges, in the frame of the link
            [np.cos(b) * np.cos(c), -np.cos(b) * np.sin(c), np.sin(b)], [np.sin(c), np.cos(c), 0.0], [0.0, 0.0, 1.0],
        ]  # fmt: skip
        rates = np.linalg.solve(np.transpose(axes), w)
        names = (f"{link.name}{end}.joint" for end in ("_1", "_2", ""))
        begin |= dict(zip(names, zip((a, b, c), rates, strict=True), strict=True))
    return tree(task, lumped(joints.ball_chain(angles=True), 1), begin)


def bodies(task: Task) -> Parts:
    """Return rigid bodies with Euler parameters between spherical joints."""
    from exudyn import itemInterface as item

    exu = exudyn()
    container = exu.SystemContainer()
    system = container.AddSystem()
    before = system.AddObject(item.ObjectGround())
    point = np.zeros(3)
    for (R, p, w, v), link in zip(start(task), task.arm.links, strict=True):
        rod = link.body
        xyzw = Rotation.from_matrix(R).as_quat()
        turn = np.roll(xyzw, 1)
        rates = 0.5 * np.array([-turn[1:] @ w, *(turn[0] * w + np.cross(w, turn[1:]))])
        node = system.AddNode(
            item.NodeRigidBodyEP(
                referenceCoordinates=[*p, *turn], initialVelocities=[*v, *rates], addConstraintEquation=True
            )
        )
        inertia = rod.inertia_tensor[(0, 1, 2, 1, 0, 0), (0, 1, 2, 2, 2, 1)].tolist()
        body = system.AddObject(item.ObjectRigidBody(mass=rod.mass, inertia=inertia, nodeNumber=node))
        marker = system.AddMarker(item.MarkerBodyMass(bodyNumber=body))
        system.AddLoad(item.LoadMassProportional(markerNumber=marker, loadVector=list(task.arm.gravity)))
        centre = np.array(rod.center)
        ends = [(before, point), (body, -centre)]
        markers = [system.AddMarker(item.MarkerBodyPosition(bodyNumber=b, localPosition=at)) for b, at in ends]
        system.AddObject(item.ObjectJointSpherical(markerNumbers=markers))
        before, point = body, np.array([rod.length, 0.0, 0.0]) - centre
    tip = system.AddSensor(
        item.SensorBody(
            bodyNumber=before,
            localPosition=point,
            storeInternal=True,
            writeToFile=False,
            outputVariableType=exu.OutputVariableType.Position,
        )
    )
    system.Assemble()
    return Parts(container, system, None, tip, [])


def start(task: Task) -> list[tuple[Array, Array, Array, Array]]:
    """Return orientation, centre of mass, angular velocity and velocity of the centre of each rod, in the world."""
    found, R, p, w, v = [], np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3)
    turns = Rotation.from_quat(np.roll(task.q0.reshape(-1, 4), -1, axis=1)).as_matrix()
    for link, turn, rate in zip(task.arm.links, turns, task.qd0.reshape(-1, 3), strict=True):
        R = R @ link.placement.rotation @ turn
        w = w + R @ rate
        centre, ahead = R @ link.body.center, R @ [link.body.length, 0.0, 0.0]
        found.append((R, p + centre, w, v + np.cross(w, centre)))
        p, v = p + ahead, v + np.cross(w, ahead)
    return found
