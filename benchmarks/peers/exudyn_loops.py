"""Exudyn with closed loops: its kinematic tree with joints that close it, or bodies in a plane with all joints.

A body is rigid, or a beam of ANCF cables.

Generalized alpha keeps the conditions of the joints in each step (index 3), or their rates (index 2, by Newmark's
formulas). Conditions that depend on others are left to the full pivoting of Exudyn's linear solver.
"""

from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.exudyn_models import exudyn
from benchmarks.peers import loops
from benchmarks.peers.exudyn_beams import connected, coordinate
from benchmarks.peers.exudyn_run import Parts, options
from benchmarks.peers.exudyn_tree import to_z, tree
from benchmarks.peers.tasks import Array, Task

STEP = 1e-6
"""Of the difference that gives the rates of bodies at the start [s]."""


def closed_options(task: Task, index: int, linear: str, rtol: float, radius: float) -> Any:
    """The index, and a linear solver for conditions that depend on others."""
    s = options(task, "GeneralizedAlpha", linear, rtol, radius)
    s.timeIntegration.generalizedAlpha.useIndex2Constraints = index == 2
    s.timeIntegration.generalizedAlpha.useNewmark = index == 2
    s.linearSolver.ignoreSingularJacobian = linear == "EigenDense"
    return s


def closed_tree(task: Task, segments: int = 1) -> Parts:
    """The tree, with a joint of the remaining conditions for each closure: two in a plane, five in space."""
    from exudyn import itemInterface as item

    equivalent = task.equivalent(segments)
    parts = tree(task, equivalent)
    system, frames = parts.system, [to_z(joint.axis) for joint in equivalent.joints]
    ground = system.AddObject(item.ObjectGround())
    for pin in loops.pins(equivalent.arm):
        markers, turns = [], []
        for body, point, axis in zip(pin.bodies, pin.points, pin.axes, strict=True):
            A = frames[body] if body >= 0 else np.eye(3)
            turns.append(A.T @ to_z(axis))
            if body < 0:
                marker = item.MarkerBodyRigid(bodyNumber=ground, localPosition=point)
            else:
                marker = item.MarkerKinematicTreeRigid(
                    objectNumber=parts.solid, linkNumber=body, localPosition=A.T @ point
                )
            markers.append(system.AddMarker(marker))
        system.AddObject(
            item.ObjectJointGeneric(
                markerNumbers=markers,
                constrainedAxes=[1, 1, 0, 0, 0, 0] if task.planar else [1, 1, 1, 1, 1, 0],
                rotationMarker0=turns[0],
                rotationMarker1=turns[1],
            )
        )
    system.Assemble()
    return parts


def bodies(task: Task, count: int = 0, axial: float = 0.0) -> Parts:
    """Bodies in a plane: a rigid one has three coordinates, a beam `count` cables, and a joint two conditions."""
    from exudyn import itemInterface as item

    exu = exudyn()
    container = exu.SystemContainer()
    system, arm = container.AddSystem(), task.arm
    ground, numbers, cables = system.AddObject(item.ObjectGround()), [], dict[int, list[int]]()
    point = system.AddNode(item.NodePointGround())
    before, now, after = (poses(task, sign * STEP) for sign in (-1, 0, 1))
    for i, link in enumerate(arm.links):
        body = link.body
        if isinstance(body, fa.Beam):
            cables[i] = line(system, task, i, count)
            connected(system, cables[i], body, axial)
        if not isinstance(body, fa.Rigid):
            numbers.append(-1)
            continue
        rates = (after[i] - before[i]) / (2 * STEP)
        node = system.AddNode(
            item.NodeRigidBody2D(
                referenceCoordinates=now[i], initialCoordinates=[0.0] * 3, initialVelocities=rates.tolist()
            )
        )
        numbers.append(
            system.AddObject(
                item.ObjectRigidBody2D(
                    physicsMass=body.mass, physicsInertia=float(np.ravel(body.inertia)[-1]), nodeNumber=node
                )
            )
        )
        marker = system.AddMarker(item.MarkerBodyMass(bodyNumber=numbers[i]))
        system.AddLoad(item.LoadMassProportional(markerNumber=marker, loadVector=list(arm.gravity)))
        if not link.joint.turns:  # along x
            for c in (1, 2):
                markers = [coordinate(system, point, 0), coordinate(system, node, c)]
                system.AddObject(item.ObjectConnectorCoordinate(markerNumbers=markers))

    def marker(k: int, at: Array) -> int:
        if k in cables:
            return system.AddMarker(item.MarkerNodePosition(nodeNumber=node_at(k, at)))
        body, place = (numbers[k], at - np.array(arm.links[k].body.center)) if k >= 0 else (ground, at)
        return system.AddMarker(item.MarkerBodyPosition(bodyNumber=body, localPosition=place))

    def node_at(k: int, at: Array) -> int:
        return cables[k][round(count * at[0] / arm.links[k].body.length)]

    def hinge(ends: list[tuple[int, Array]]) -> None:
        system.AddObject(item.ObjectJointRevolute2D(markerNumbers=[marker(*end) for end in ends]))

    for i, parent in enumerate(arm.parents):
        link = arm.links[i]
        ahead = [arm.links[parent].body.length, 0.0, 0.0] if parent >= 0 else link.placement.xyz
        if link.joint.moves and link.joint.turns:
            hinge([(parent, np.array(ahead)), (i, np.zeros(3))])
    for pin in loops.pins(arm):
        hinge(list(zip(pin.bodies, pin.points, strict=True)))
    given = {"storeInternal": True, "writeToFile": False, "outputVariableType": exu.OutputVariableType.Position}
    last = arm.links[arm.tip_link]
    end = np.array([last.body.length, 0.0, 0.0])
    if last.joint.moves:
        place = end - np.array(last.body.center)
        tip = system.AddSensor(item.SensorBody(bodyNumber=numbers[arm.tip_link], localPosition=place, **given))
    else:  # a frame on a beam
        carrier = arm.parents[arm.tip_link]
        at = last.at * arm.links[carrier].body.length + end
        tip = system.AddSensor(item.SensorNode(nodeNumber=node_at(carrier, at), **given))
    system.Assemble()
    return Parts(container, system, None, tip, [])


def line(system: Any, task: Task, i: int, count: int) -> list[int]:
    """The nodes of a beam that is straight at the start, with their places, slopes and rates."""
    from exudyn import itemInterface as item

    at = np.linspace(0.0, task.arm.links[i].body.length, count + 1)
    before, now, after = (frames(task, sign * STEP)[i] for sign in (-1, 0, 1))

    def coordinates(T: Array) -> Array:
        return np.hstack([T[:2, 3] + np.outer(at, T[:2, 0]), np.tile(T[:2, 0], (count + 1, 1))])

    rates = (coordinates(after) - coordinates(before)) / (2 * STEP)
    return [
        system.AddNode(item.NodePoint2DSlope1(referenceCoordinates=x, initialVelocities=v))
        for x, v in zip(coordinates(now).tolist(), rates.tolist(), strict=True)
    ]


def frames(task: Task, t: float) -> Array:
    """Frames of the links (links, 4, 4), so long after the start, at the rates of the start."""
    return fa.Model(task.arm.replace(closures=())).frames(task.q0 + t * task.qd0)


def poses(task: Task, t: float) -> Array:
    """Centres of mass and angles of the links (links, 3), so long after the start, at the rates of the start."""
    found = []
    for link, T in zip(task.arm.links, frames(task, t), strict=False):
        com = link.body.center if isinstance(link.body, fa.Rigid) else np.zeros(3)
        x, y, _ = T[:3, 3] + T[:3, :3] @ np.array(com)
        found.append([x, y, np.arctan2(T[1, 0], T[0, 0])])
    return np.array(found)
