"""What MuJoCo makes of MJCF files, in the package's order of coordinates; and what their reports leave out, left out.

    PYTHONPATH=src:tests/helpers python tests/helpers/mjcf_mujoco.py FILES...

says for each file how far forward dynamics are from MuJoCo's and, where it is installed and reads the file,
Pinocchio's. A free joint's velocity in MuJoCo is the origin's along the world's axes, then the angular velocity along
the body's: see `mujoco_trees`.
"""

import sys
import warnings

import mujoco as mj
import numpy as np
from scipy.spatial.transform import Rotation

import flexarm as fa

OFF = ("CONSTRAINT", "ACTUATION", "CLAMPCTRL")


class Theirs:
    """An MJCF file as MuJoCo itself compiles it, meshes and all, asked and answering as the arm of the report.

    Contacts, limits, friction, what holds joints together, fluids and compensated gravity are switched off.
    """

    def __init__(self, model, report):
        self.model, self.arm = model, report.arm
        for flag in OFF:
            model.opt.disableflags |= int(getattr(mj.mjtDisableBit, f"mjDSBL_{flag}"))
        model.opt.density, model.opt.viscosity = 0.0, 0.0
        model.body_gravcomp[:] = 0.0
        for key in ("stiffness", "damping", "armature", "stiffnesspoly", "dampingpoly"):
            getattr(model, f"tendon_{key}")[:] = 0.0
        model.opt.gravity[:] = self.arm.gravity
        self.data = mj.MjData(model)
        joints = [model.joint(name) for name in report.joints]
        self.places = [int(joint.qposadr[0]) for joint in joints]
        self.rates = [int(joint.dofadr[0]) for joint in joints]
        order = [self.arm.velocities.index(name) for name in report.joints.values()]
        self.order = [i - 6 * self.arm.free for i in order]
        self.root = int(np.flatnonzero(model.jnt_type == mj.mjtJoint.mjJNT_FREE)[0]) if self.arm.free else -1
        if self.arm.free:  # the one that carries the first joint
            first = int(model.jnt_bodyid[joints[0].id]) if joints else 1
            at = model.body_rootid[first]
            self.root = int(model.body_jntadr[at])
            v = int(model.jnt_dofadr[self.root])
            for key in ("damping", "armature"):
                getattr(model, f"dof_{key}")[v : v + 6] = 0.0
            model.jnt_stiffness[self.root] = 0.0

    def forward_dynamics(self, q, qd, u):
        model, data, n = self.model, self.data, 6 * self.arm.free
        mj.mj_resetData(model, data)
        T, turned = np.eye(6), np.zeros(6)
        if n:
            a, v = model.jnt_qposadr[self.root], model.jnt_dofadr[self.root]
            data.qpos[a : a + 7] = q[:7]
            R = Rotation.from_quat(q[3:7], scalar_first=True).as_matrix()
            T[:3, :3] = R
            turned[:3] = R @ np.cross(qd[3:6], qd[:3])
            data.qvel[v : v + 6] = T @ qd[:6]
        data.qpos[self.places] = q[n + bool(n) :][self.order]
        data.qvel[self.rates] = qd[n:][self.order]
        data.qfrc_applied[self.rates] = u[self.order]
        mj.mj_forward(model, data)
        found = np.zeros(len(qd))
        found[n:][self.order] = data.qacc[self.rates]
        if n:
            found[:6] = T.T @ (data.qacc[v : v + 6] - turned)
        return found

    def body(self, name):
        """Its frame, as of the last motion, (4, 4)."""
        found = np.eye(4)
        body = self.data.body(name)
        found[:3, :3], found[:3, 3] = body.xmat.reshape(3, 3), body.xpos
        return found


def state(arm, seed):
    """q, qd, u in general position."""
    rng = np.random.default_rng([seed, 1771])
    q = rng.uniform(0.3, 1.4, len(arm.coordinates)) * rng.choice([-1, 1], len(arm.coordinates))
    if arm.free:
        q[3:7] /= np.linalg.norm(q[3:7])
    qd = rng.uniform(0.3, 1.4, len(arm.velocities)) * rng.choice([-1, 1], len(arm.velocities))
    return q, qd, rng.uniform(-5, 5, len(arm.joints))


def frictionless(arm):
    """The arm without Coulomb's friction, which MuJoCo has as a constraint."""
    links = []
    for link in arm.links:
        drive = link.joint.drive if link.joint.moves else None
        if drive is not None and drive.link_friction is not None:
            link = link.replace(joint=link.joint.replace(drive=drive.replace(link_friction=None)))
        links.append(link)
    return arm.replace(links=links)


def pinocchios(path, report, q, qd, u):
    """Accelerations as Pinocchio has them; rotors, damping and springs are put in as the arm has them."""
    import pinocchio as pin

    arm = report.arm
    model = pin.buildModelFromMJCF(str(path))
    model.gravity.linear = np.array(arm.gravity)
    names = list(model.names)[1:]
    free = "free" in str(type(model.joints[1])) or model.joints[1].nq == 7
    if bool(free) != arm.free or set(names[bool(free) :]) != set(report.joints):
        raise LookupError("it has other joints")
    data = model.createData()
    there, rates, torque = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    first = 6 * arm.free
    if first:
        there[:3], there[3:6], there[6], rates[:6] = q[:3], q[4:7], q[3], qd[:6]
    moving = {f"{link.name}.joint": link.joint for link in arm.links if link.joint.moves}
    model.armature[:] = 0.0
    for name, mine in report.joints.items():
        joint, i = model.joints[model.getJointId(name)], arm.velocities.index(mine)
        x, v = q[i + bool(first)], qd[i]
        there[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else (np.cos(x), np.sin(x))
        rates[joint.idx_v] = v
        drive = moving[mine].drive
        spring = drive.parallel if drive is not None else None
        beside = spring.stiffness * (x - spring.rest) if spring is not None else 0.0
        torque[joint.idx_v] = u[i - first] - moving[mine].damping * v - beside
        model.armature[joint.idx_v] = moving[mine].rotor_inertia
    for each in ("lowerDryFrictionLimit", "upperDryFrictionLimit", "damping"):
        if hasattr(model, each):
            getattr(model, each)[:] = 0.0
    found = pin.aba(model, data, there, rates, torque)
    order = [model.joints[model.getJointId(name)].idx_v for name in report.joints]
    mine = np.zeros(len(qd))
    mine[:first] = found[:first]
    for v, name in zip(order, report.joints.values(), strict=True):
        mine[arm.velocities.index(name)] = found[v]
    return mine


def main(paths):
    for path in paths:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report = fa.robot_report(path)
        except fa.DescriptionError as error:
            print(path, "REFUSED", str(error).removeprefix(path)[:150], flush=True)
            continue
        if not report.joints:
            print(path, "nothing moves", flush=True)
            continue
        model = fa.Model(frictionless(report.arm))
        worst, ratio = 0.0, 0.0
        said = ""
        theirs = Theirs(mj.MjModel.from_xml_path(path), report)
        for seed in range(3):
            q, qd, u = state(report.arm, seed)
            mine = np.array(model.function("forward_dynamics")(q, qd, u)).squeeze(axis=1)
            other = theirs.forward_dynamics(q, qd, u)
            worst = max(worst, np.abs(mine - other).max() / max(1.0, np.abs(other).max()))
            try:
                third = pinocchios(path, report, q, qd, u)
                ratio = max(ratio, np.abs(mine - third).max() / max(1.0, np.abs(third).max()))
                said = f"{ratio:.1e}"
            except ImportError:
                pass
            except Exception as error:  # by whatever kind: it is told
                said = " ".join(str(error).split())[:60]
        kind = "free" if report.arm.free else "fixed"
        print(path, kind, len(report.joints), f"mujoco {worst:.1e}", "pinocchio", said, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
