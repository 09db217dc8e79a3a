"""Trees with springs in Pinocchio, and their integration from Python."""

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.peers.cables import Rope
from benchmarks.peers.tasks import GAINS, PERIOD, Array, Task

TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)


class System:
    """The rigid tree with its springs.

    Attributes
    ----------
    mimics : dict
        Number of each joint that follows another one, with the number of that joint, ratio and offset.
    ropes : list of Rope
        Cables of the arm.
    """

    mimics: dict[int, tuple[int, float, float]]
    ropes: list[Rope]

    def __init__(self, task: Task, equivalent: Any):
        import pinocchio as pin

        self.mimics, self.ropes = {}, []
        model, free = pin.Model(), equivalent.arm.free
        axes = [np.zeros(3)] if free else []
        model.gravity.linear = np.array(equivalent.arm.gravity)
        carrier: dict[int, int] = {-1: 0}
        if free:
            base = equivalent.arm.base
            carrier[-1] = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
            about = np.diag(base.inertia) if np.ndim(base.inertia) == 1 else np.array(base.inertia)
            model.appendBodyToJoint(carrier[-1], pin.Inertia(base.mass, np.array(base.com), about), pin.SE3.Identity())
        armature, gears = {}, {}
        rotors = {link.name: link.joint for link in equivalent.arm.links if link.joint.moves}
        carried = {}
        for i, joint in enumerate(equivalent.joints):
            place = pin.SE3(joint.R, joint.p)
            if joint.transmission is not None:  # the motor
                absolute = rotors[joint.name].rotor == "absolute"
                gear = rotors[joint.name].gear_ratio if absolute else 1.0
                axes.append(joint.axis)
                motor = model.addJoint(
                    carrier[joint.parent] if absolute else 0, kind(joint.axis, True),
                    place if absolute else pin.SE3.Identity(), f"{joint.name}.motor",
                )  # fmt: skip
                rotor = np.outer(joint.axis, joint.axis) * joint.rotor / gear**2
                model.appendBodyToJoint(motor, pin.Inertia(0.0, np.zeros(3), rotor), pin.SE3.Identity())
                gears[f"{joint.name}.motor"] = gear
            axes.append(joint.axis)
            carrier[i] = model.addJoint(
                carrier[joint.parent], kind(joint.axis, joint.turns), place, f"{joint.name}.joint"
            )
            body = pin.Inertia(joint.mass, joint.com, joint.inertia)
            model.appendBodyToJoint(carrier[i], body, pin.SE3.Identity())
            if joint.transmission is None and (shares := equivalent.carried(i)):
                carried[i] = {i: 1.0, **shares}
            rigid = joint.transmission is None and i not in carried
            armature[f"{joint.name}.joint"] = joint.rotor if rigid else 0.0
        link, tip = equivalent.tip
        self.tip = model.addFrame(pin.Frame("tip", carrier[link], pin.SE3(np.eye(3), tip), pin.FrameType.OP_FRAME))
        self.model, self.data, self.first = model, model.createData(), 6 * free
        number = {name: model.joints[model.getJointId(name)].idx_v for name in (*armature, *gears)}
        model.armature = self.spread(number, armature)
        self.K, self.D, self.R = np.zeros((3, model.nv, model.nv))
        for i, shares in carried.items():
            turning = self.spread(number, {f"{equivalent.joints[k].name}.joint": x for k, x in shares.items()})
            self.R += equivalent.joints[i].rotor * np.outer(turning, turning)
        for joint in equivalent.joints:
            a = number[f"{joint.name}.joint"]
            self.K[a, a] += joint.stiffness
            self.D[a, a] += joint.damping
            if joint.transmission is not None:
                b, G = number[f"{joint.name}.motor"], gears[f"{joint.name}.motor"]
                pair = np.array([[1.0, -1.0 / G], [-1.0 / G, 1.0 / G**2]])
                self.K[np.ix_([a, b], [a, b])] += joint.transmission * pair
                self.D[np.ix_([a, b], [a, b])] += joint.loss * pair
        self.B = np.zeros((model.nv, len(task.arm.inputs)))
        for j, name in enumerate(task.arm.inputs):
            self.B[number[name], j] = 1.0 / gears.get(name, 1.0)
        names, start = list(equivalent.arm.coordinates), equivalent.start(task.q0 if task.q0.ndim == 1 else task.q0[0])
        given = dict(zip(names, start, strict=True))
        self.q = pin.neutral(model)
        rates = dict(zip(task.arm.velocities, np.atleast_2d(task.qd0)[0], strict=True))
        self.v = self.spread(number, rates)
        for name, place in number.items():
            self.q[place + free] = given[name] * gears.get(name, 1.0)
            self.v[place] *= gears.get(name, 1.0)
        self.u, self.pin, self.free, self.axes = np.zeros(model.nv), pin, free, axes
        self.soft, self.carried = bool(self.K.any() or self.D.any()), bool(self.R.any())

    def spread(self, number: dict[str, int], values: dict[str, float]) -> Array:
        """Numbers by name as a vector."""
        found = np.zeros(self.model.nv)
        for name, place in number.items():
            found[place] = values.get(name, 0.0)
        return found

    def load(self, u: Array) -> None:
        """The torques that act from now on."""
        self.u = self.B @ u

    def rate(self, q: Array, v: Array) -> Array:
        """Acceleration."""
        tau = self.u
        if self.soft:
            tau = tau - self.K[:, self.first :] @ q[self.first + self.free :] - self.D @ v
        if not self.carried:
            return self.pin.aba(self.model, self.data, q, v, tau)
        M = self.pin.crba(self.model, self.data, q) + self.R
        return np.linalg.solve(M, tau - self.pin.nonLinearEffects(self.model, self.data, q, v))

    def flow(self, x: Array) -> Array:
        """Return the rates of coordinates and velocities (n,); a free base's quaternion is one of the coordinates."""
        nq, pin = len(self.q), self.pin
        q, v = x[:nq], x[nq:]
        if not self.free:
            return np.concatenate([v, self.rate(q, v)])
        q = pin.normalize(self.model, q)
        R = pin.Quaternion(q[3:7]).matrix()
        w, s = v[3:6], q[3:6]
        turned = 0.5 * np.array([*(q[6] * w + np.cross(s, w)), -s @ w])
        return np.concatenate([R @ v[:3], turned, v[6:], self.rate(q, v)])

    def slopes(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the slopes of the acceleration in q and in v. The task must be `derivable`."""
        self.pin.computeABADerivatives(self.model, self.data, q, v, self.u - self.K @ q - self.D @ v)
        upper = np.triu(self.data.Minv)
        inverse = upper + np.triu(upper, 1).T
        return self.data.ddq_dq - inverse @ self.K, self.data.ddq_dv - inverse @ self.D

    def place(self, q: Array) -> Array:
        """Return the position of the tip."""
        self.pin.framesForwardKinematics(self.model, self.data, q)
        return self.data.oMf[self.tip].translation.copy()


def kind(axis: Array, turns: bool) -> Any:
    """A joint's model; revolute ones along an axis of their frame are quicker."""
    import pinocchio as pin

    for letter, along in zip("XYZ", np.eye(3), strict=True):
        if turns and np.array_equal(axis, along):
            return getattr(pin, f"JointModelR{letter}")()
    return (pin.JointModelRevoluteUnaligned if turns else pin.JointModelPrismaticUnaligned)(axis)


def rk4(system: System, q: Array, v: Array, h: float) -> tuple[Array, Array]:
    """A step on the configuration's manifold: all stages are increments from its beginning."""
    pin, model = system.pin, system.model
    k1, a1 = v, system.rate(q, v)
    k2 = v + h / 2 * a1
    a2 = system.rate(pin.integrate(model, q, h / 2 * k1), k2)
    k3 = v + h / 2 * a2
    a3 = system.rate(pin.integrate(model, q, h / 2 * k2), k3)
    k4 = v + h * a3
    a4 = system.rate(pin.integrate(model, q, h * k3), k4)
    return pin.integrate(model, q, h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def fixed(task: Task, system: System, count: int) -> Array:
    """Steps of one length; the sampled law where there is one."""
    q, v, h = system.q, system.v, task.until / count
    tip, every, hold = [system.place(q)], count // task.intervals, round(PERIOD / h)
    for i in range(count):
        if task.feedback:
            if i % hold == 0:
                system.load(-GAINS[0] * q - GAINS[1] * v)
        elif len(task.jumps):
            system.load(task.torque((i + 0.5) * h))
        q, v = rk4(system, q, v, h)
        if (i + 1) % every == 0:
            tip.append(system.place(q))
    return np.array(tip)


def adaptive(task: Task, system: System, rtol: float, method: str = "DOP853", **more: Any) -> Array:
    """SciPy's steps by tolerance, anew where the torques jump; a free base's quaternion is one of the states."""
    from scipy.integrate import solve_ivp

    nq, pin = len(system.q), system.pin
    x, tip = np.concatenate([system.q, system.v]), []

    ends = [0.0, *(t for t in task.jumps if 0.0 < t < task.until), task.until]
    for a, b in pairwise(ends):
        if len(task.jumps):
            system.load(task.torque((a + b) / 2))
        inside = task.times[(task.times >= a) & ((task.times < b) | (b == task.until))]
        at = inside if inside[-1] == b else [*inside, b]
        found = solve_ivp(lambda _, x: system.flow(x), (a, b), x, method, at, rtol=rtol, atol=1e-2 * rtol, **more)
        if not found.success:
            return np.array([[np.nan] * 3])
        x = found.y[:, -1]
        tip += [system.place(pin.normalize(system.model, row[:nq])) for row in found.y.T[: len(inside)]]
    return np.array(tip)


def implicit(task: Task, system: System, rtol: float) -> Array:
    """SciPy's Radau, with the Jacobian by Pinocchio's derivatives of the articulated body algorithm."""
    n = len(system.q)
    J = np.zeros((2 * n, 2 * n))
    J[:n, n:] = np.eye(n)

    def jacobian(_: float, x: Array) -> Array:
        J[n:, :n], J[n:, n:] = system.slopes(x[:n], x[n:])
        return J.copy()

    return adaptive(task, system, rtol, "Radau", jac=jacobian)


def many(task: Task, system: System, count: int) -> Array:
    """One run after another."""
    found, h = [], task.until / count
    for q, v in zip(task.q0, task.qd0, strict=True):
        for _ in range(count):
            q, v = rk4(system, q, v, h)
        found.append(system.place(q))
    return np.array(found)
