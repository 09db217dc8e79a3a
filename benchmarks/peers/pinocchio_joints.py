"""Pinocchio with joints that follow others, with ball joints, and with cables.

A joint that follows another one is Pinocchio's mimic joint. Its articulated body algorithm does not support these
joints, so that the joint-space inertia is factored. The quaternions of ball joints are part of the state, and methods
of Runge and Kutta advance the components. A cable is an external force on each of its bodies.
"""

from typing import Any

import numpy as np

from benchmarks.peers import cables, joints
from benchmarks.peers.pinocchio_systems import System, kind
from benchmarks.peers.tasks import Array, Task


def system_of(task: Task, equivalent: Any) -> System:
    """Return the tree of a task with what it has: gears, ball joints or cables."""
    if task.spherical:
        return Balls(task)
    if task.geared:
        return Geared(task)
    return Tied(task, equivalent) if task.tied else System(task, equivalent)


def chain(task: Task, models: list[Any], places: list[Any]) -> Any:
    """Return a model of rigid links one after another, with these joints, and its tip at the end of the last one."""
    import pinocchio as pin

    model, number = pin.Model(), 0
    model.gravity.linear = np.array(task.arm.gravity)
    for link, joint, place in zip(task.arm.links, models, places, strict=True):
        body = link.body
        number = model.addJoint(number, joint, place, f"{link.name}.joint")
        inertia = pin.Inertia(body.mass, np.array(body.center), body.inertia_tensor)
        model.appendBodyToJoint(number, inertia, pin.SE3.Identity())
    end = pin.SE3(np.eye(3), np.array([task.arm.links[-1].body.length, 0.0, 0.0]))
    model.addFrame(pin.Frame("tip", number, end, pin.FrameType.OP_FRAME))
    return model


def placements(task: Task) -> list[Any]:
    """Return the pose of each joint of a chain in the frame of the joint before it."""
    import pinocchio as pin

    ahead = [0.0, *(link.body.length for link in task.arm.links[:-1])]
    return [
        pin.SE3(link.placement.rotation, np.array([x, 0.0, 0.0]) + link.placement.xyz)
        for x, link in zip(ahead, task.arm.links, strict=True)
    ]


class Chain(System):
    """A chain of rigid links without springs or motors."""

    def __init__(self, task: Task, model: Any):
        import pinocchio as pin

        n = model.nv
        self.mimics, self.ropes = {}, []
        self.pin, self.model, self.data, self.tip = pin, model, model.createData(), model.getFrameId("tip")
        self.q, self.v, self.u = task.q0.copy(), task.qd0.copy(), np.zeros(n)
        self.K, self.D, self.R, self.B = (np.zeros((n, k)) for k in (n, n, n, 0))
        self.free = self.soft = self.carried = False
        self.axes = [np.zeros(3)] * (model.njoints - 1)


class Geared(Chain):
    """Mimic joints, and the inertia matrix over the coordinates that are left."""

    def __init__(self, task: Task):
        import pinocchio as pin

        axes = [np.array(link.joint.direction) for link in task.arm.links]
        model = chain(task, [kind(axis, True) for axis in axes], placements(task))
        mimics: dict[int, tuple[int, float, float]] = {}
        numbers = {link.name: i for i, link in enumerate(task.arm.links, start=1)}
        for name, leader, ratio, offset in joints.followers(task.arm):
            led, factor, shift = mimics.get(numbers[leader], (numbers[leader], 1.0, 0.0))
            mimics[numbers[name]] = led, ratio * factor, ratio * shift + offset
        for number, (led, ratio, offset) in mimics.items():
            model = pin.transformJointIntoMimic(model, led, number, ratio, offset)
        super().__init__(task, model)
        self.mimics, self.carried, self.axes = mimics, True, axes


class Balls(Chain):
    """Ball joints with quaternions, scalar last."""

    def __init__(self, task: Task):
        import pinocchio as pin

        models = [pin.JointModelSpherical() for _ in task.arm.links]
        super().__init__(task, chain(task, models, placements(task)))
        self.q = np.roll(task.q0.reshape(-1, 4), -1, axis=1).ravel()

    def flow(self, x: Array) -> Array:
        """Return the rates of the quaternions and of the angular velocities."""
        q, w = x[: len(self.q)].reshape(-1, 4), x[len(self.q) :].reshape(-1, 3)
        q = q / np.linalg.norm(q, axis=1, keepdims=True)
        turned = 0.5 * np.hstack([q[:, 3:] * w + np.cross(q[:, :3], w), -np.sum(q[:, :3] * w, axis=1, keepdims=True)])
        return np.concatenate([turned.ravel(), self.rate(q.ravel(), w.ravel())])


class Tied(System):
    """Cables that pull at their ends."""

    def __init__(self, task: Task, equivalent: Any):
        super().__init__(task, equivalent)
        self.ropes = cables.ropes(equivalent.arm)
        self.forces = self.pin.StdVec_Force([self.pin.Force.Zero() for _ in range(self.model.njoints)])

    def rate(self, q: Array, v: Array) -> Array:
        """Return the acceleration under the forces of taut cables."""
        pin, model, data, forces = self.pin, self.model, self.data, self.forces
        pin.forwardKinematics(model, data, q)
        for i in range(model.njoints):
            forces[i].setZero()
        for rope in self.ropes:
            ends = [data.oMi[body + 1].act(point) for body, point in zip(rope.bodies, rope.points, strict=True)]
            apart = ends[1] - ends[0]
            distance = np.linalg.norm(apart)
            pull = max(0.0, rope.stiffness * (distance - rope.length)) / distance * apart
            for body, point, sign in zip(rope.bodies, rope.points, (1.0, -1.0), strict=True):
                force = sign * (data.oMi[body + 1].rotation.T @ pull)
                forces[body + 1] += pin.Force(force, np.cross(point, force))
        return pin.aba(model, data, q, v, self.u, forces)


def turned(task: Task, system: System, count: int) -> Array:
    """RK4 in steps of one length, over coordinates and velocities as one vector."""
    nq, h, every = len(system.q), task.until / count, count // task.intervals
    x, tip = np.concatenate([system.q, system.v]), [system.place(system.q)]
    for i in range(count):
        k1 = system.flow(x)
        k2 = system.flow(x + h / 2 * k1)
        k3 = system.flow(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + system.flow(x + h * k3))
        if (i + 1) % every == 0:
            tip.append(system.place(system.pin.normalize(system.model, x[:nq])))
    return np.array(tip)
