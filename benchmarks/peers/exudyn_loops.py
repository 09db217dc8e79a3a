"""Exudyn with closed loops: its kinematic tree with joints that close it, or rigid bodies in a plane with all joints.

Generalized alpha keeps the conditions of the joints in each step (index 3), or their rates (index 2, by Newmark's
formulas). Conditions that depend on others are left to the full pivoting of Exudyn's linear solver.
"""

from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.exudyn_models import exudyn
from benchmarks.peers import loops
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


def closed_tree(task: Task) -> Parts:
    """The tree, with a joint of the remaining conditions for each closure: two in a plane, five in space."""
    from exudyn import itemInterface as item

    equivalent = task.equivalent(1)
    parts = tree(task, equivalent)
    system, frames = parts.system, [to_z(joint.axis) for joint in equivalent.joints]
    ground = system.AddObject(item.ObjectGround())
    for pin in loops.pins(task.arm):
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


def bodies(task: Task) -> Parts:
    """Rigid bodies in a plane: each has three coordinates, each joint two conditions."""
    from exudyn import itemInterface as item

    exu = exudyn()
    container = exu.SystemContainer()
    system, arm = container.AddSystem(), task.arm
    ground, numbers = system.AddObject(item.ObjectGround()), []
    before, now, after = (poses(task, sign * STEP) for sign in (-1, 0, 1))
    for i, link in enumerate(arm.links):
        body = link.body
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

    def hinge(ends: list[tuple[int, Array]]) -> None:
        markers = [
            system.AddMarker(item.MarkerBodyPosition(bodyNumber=numbers[k] if k >= 0 else ground, localPosition=p))
            for k, p in ends
        ]
        system.AddObject(item.ObjectJointRevolute2D(markerNumbers=markers))

    def from_com(k: int, point: Array) -> Array:
        return point - np.array(arm.links[k].body.com) if k >= 0 else point

    for i, parent in enumerate(arm.parents):
        link = arm.links[i]
        ahead = [arm.links[parent].body.length, 0.0, 0.0] if parent >= 0 else link.placement.xyz
        hinge([(parent, from_com(parent, np.array(ahead))), (i, from_com(i, np.zeros(3)))])
    for pin in loops.pins(arm):
        hinge([(k, from_com(k, p)) for k, p in zip(pin.bodies, pin.points, strict=True)])
    tip = item.SensorBody(
        bodyNumber=numbers[arm.tip_link],
        localPosition=from_com(arm.tip_link, np.array([arm.links[arm.tip_link].body.length, 0.0, 0.0])),
        storeInternal=True,
        writeToFile=False,
        outputVariableType=exu.OutputVariableType.Position,
    )
    tip = system.AddSensor(tip)
    system.Assemble()
    return Parts(container, system, None, tip, [])


def poses(task: Task, t: float) -> Array:
    """Centres of mass and angles of the links (links, 3), so long after the start, at the rates of the start."""
    frames = fa.Model(task.arm.replace(closures=())).frames(task.q0 + t * task.qd0)
    found = []
    for link, T in zip(task.arm.links, frames, strict=False):
        x, y, _ = T[:3, 3] + T[:3, :3] @ np.array(link.body.com)
        found.append([x, y, np.arctan2(T[1, 0], T[0, 0])])
    return np.array(found)
