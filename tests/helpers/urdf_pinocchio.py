"""What Pinocchio makes of URDF files, in the package's order of coordinates; and trees at random, as URDF texts.

Writes tests/data/urdf: three robots of example-robot-data without what they look like, and numbers of Pinocchio's.

    python -m pip install pin example-robot-data
    PYTHONPATH=src:tests/helpers python tests/helpers/urdf_pinocchio.py FOLDER_OF_ROBOTS
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
from robot_files import state
from scipy.spatial.transform import Rotation

import flexarm as fa

FOLDER = Path(__file__).parents[1] / "data" / "urdf"
STORED = FOLDER / "pinocchio.json"
ROBOTS = {
    "panda": ("panda_description/urdf/panda.urdf", "panda_hand_tcp"),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "tool0"),
    "kinova": ("kinova_description/robots/kinova.urdf", "j2s6s200_end_effector"),
}


class Theirs:
    """A URDF text in Pinocchio, asked and answering as the arm of the report has its coordinates.

    Joints that the arm holds are held there too; Pinocchio's aba knows no damping: it is taken from the torques.
    """

    def __init__(self, pin, text, report):
        self.pin, self.arm = pin, report.arm
        free = (pin.JointModelFreeFlyer(),) if self.arm.free else ()
        model = pin.buildModelFromXML(text, *free)
        model.gravity.linear = np.array(self.arm.gravity)
        mine = ["root_joint"][: len(free)] + list(report.joints)
        held = [model.getJointId(name) for name in list(model.names)[1:] if name not in mine]
        self.model = pin.buildReducedModel(model, held, pin.neutral(model)) if held else model
        self.data = self.model.createData()
        self.joints = [self.model.joints[self.model.getJointId(name)] for name in report.joints]
        moving = [link.joint for link in self.arm.links if link.joint.moves]
        self.damping = np.array([joint.damping for joint in moving])

    def theirs(self, q, qd):
        pin, first = self.pin, 6 if self.arm.free else 0
        there, rates = pin.neutral(self.model), np.zeros(self.model.nv)
        if first:
            there[:3], there[3:6], there[6] = q[:3], q[4:7], q[3]
            rates[:6] = qd[:6]
        for joint, x, v in zip(self.joints, q[first + bool(first) :], qd[first:], strict=True):
            there[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else (np.cos(x), np.sin(x))
            rates[joint.idx_v] = v
        return there, rates

    def forward_dynamics(self, q, qd, u):
        first = 6 if self.arm.free else 0
        there, rates = self.theirs(q, qd)
        torque = np.zeros(self.model.nv)
        for joint, x in zip(self.joints, u - self.damping * qd[first:], strict=True):
            torque[joint.idx_v] = x
        found = self.pin.aba(self.model, self.data, there, rates, torque)
        return np.array([*found[:first], *(found[joint.idx_v] for joint in self.joints)])

    def frame(self, link, q):
        there, _ = self.theirs(q, np.zeros(len(self.arm.velocities)))
        self.pin.framesForwardKinematics(self.model, self.data, there)
        return self.data.oMf[self.model.getBodyId(link)].homogeneous


# -- trees at random ---------------------------------------------------------------------------------------------------


def _numbers(values):
    return " ".join(repr(float(x)) for x in values)


def _origin(rng):
    roll, pitch, yaw = rng.uniform(-3, 3, 3)
    if rng.random() < 0.3:
        pitch = rng.choice([-1, 1]) * np.pi / 2
    return f'<origin xyz="{_numbers(rng.uniform(-0.5, 0.5, 3))}" rpy="{_numbers((roll, pitch, yaw))}"/>'


def _inertial(rng):
    R = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
    a, b, c = rng.uniform(0.05, 0.3, 3)
    I = R @ np.diag([b + c, a + c, a + b]) @ R.T
    keys = " ".join(f'i{r}{c}="{float(I[i, j])!r}"' for i, r in enumerate("xyz") for j, c in enumerate("xyz") if i <= j)
    return f'<inertial>{_origin(rng)}<mass value="{rng.uniform(0.5, 4)!r}"/><inertia {keys}/></inertial>'


def random_urdf(seed):
    """The text of a tree of up to 14 links: every kind of joint, fixed ones in a row, frames without mass, damping."""
    rng = np.random.default_rng([seed, 900])
    count = int(rng.integers(8, 15))
    parts = [f'<link name="l0">{_inertial(rng)}</link>']
    for i in range(1, count):
        kind = str(rng.choice(["revolute", "continuous", "prismatic", "fixed"], p=[0.3, 0.15, 0.2, 0.35]))
        bare = kind == "fixed" and rng.random() < 0.3
        parts.append(f'<link name="l{i}">{"" if bare else _inertial(rng)}</link>')
        axis = rng.normal(size=3) if rng.random() < 0.6 else np.eye(3)[rng.integers(3)] * rng.choice([-1, 1])
        limit = '<limit lower="-3" upper="3" effort="100" velocity="2"/>' if kind != "fixed" else ""
        loss = f'<dynamics damping="{rng.uniform(0, 2)!r}"/>' if kind != "fixed" and rng.random() < 0.5 else ""
        parts.append(
            f'<joint name="j{i}" type="{kind}">{_origin(rng)}<parent link="l{rng.integers(i)}"/><child link="l{i}"/>'
            f'<axis xyz="{_numbers(axis / np.linalg.norm(axis))}"/>{limit}{loss}</joint>'
        )
    order = rng.permutation(len(parts)) if seed % 2 else range(len(parts))
    return f'<?xml version="1.0"?>\n<robot name="random {seed}">\n{chr(10).join(parts[i] for i in order)}\n</robot>\n'


# -- what is stored ----------------------------------------------------------------------------------------------------


def stripped(text):
    """The text without comments, shapes, materials and what simulators are told."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    for tag in ("visual", "collision", "gazebo", "material"):
        text = re.sub(rf"<{tag}\b[^>]*/>|<{tag}\b(?:[^>]*[^/])?>.*?</{tag}>", "", text, flags=re.S)
    return re.sub(r"\n\s*\n+", "\n", text)


def _written(robots):
    import pinocchio as pin

    stored = {"pinocchio": pin.__version__, "cases": []}
    for name, (path, tip) in ROBOTS.items():
        text = stripped((robots / path).read_text(encoding="utf-8"))
        first, rest = text.split("\n", 1)
        said = f"<!-- From example-robot-data 6.0.0, {path}, without shapes and materials; see README.md. -->"
        (FOLDER / f"{name}.urdf").write_text(f"{first}\n{said}\n{rest}", encoding="utf-8")
        for base in ("fixed", "free"):
            report = fa.urdf_report(FOLDER / f"{name}.urdf", tip=tip, base=base)
            theirs = Theirs(pin, text, report)
            for seed in range(3):
                q, qd, u = state(report.arm, seed)
                case = {"robot": name, "base": base, "tip": tip, "seed": seed, "joints": report.joints}
                case |= {"q": q.tolist(), "qd": qd.tolist(), "u": u.tolist()}
                case["qdd"] = theirs.forward_dynamics(q, qd, u).tolist()
                stored["cases"].append(case | {"frame": theirs.frame(tip, q).tolist()})
    STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _written(Path(sys.argv[1]))
