"""Writes rigid_trees.json: trees of rigid links as MuJoCo moves them, in the package's coordinates.

    python -m pip install mujoco
    PYTHONPATH=src:tests/helpers python tests/helpers/mujoco_trees.py

MuJoCo is no dependency of the tests, they read the file. A free joint's velocity there is the origin's along the
world's axes, then the angular velocity along the body's: v_theirs = T v, T = diag(R, 1), so M = T' M_theirs T, and
accelerations have T' d/dt: R (v_dot + w x v).
"""

import json
from pathlib import Path

import numpy as np
from oracle import tensor
from rigid_trees import applied, homogeneous, passive, rigid_parts, rigid_tree, tree_state
from scipy.spatial.transform import Rotation

STORED = Path(__file__).with_suffix("").with_name("rigid_trees.json")
CASES = ((100, False), (101, True), (102, True), (104, True), (105, False), (116, True))
"""Seeds, and whether the base is free; MuJoCo takes no slender rod, whose inertia about itself is zero."""


def text(values):
    return " ".join(repr(float(x)) for x in np.ravel(values))


def inertial(parts):
    """One body of several: mass, centre of mass, inertia about it."""
    mass = sum(m for m, _, _ in parts)
    com = sum(m * c for m, c, _ in parts) / mass
    about = sum(I + m * ((c - com) @ (c - com) * np.eye(3) - np.outer(c - com, c - com)) for m, c, I in parts)
    entries = [about[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return f'<inertial pos="{text(com)}" mass="{float(mass)!r}" fullinertia="{text(entries)}"/>'


def described(arm):
    """The arm as MuJoCo's XML: a body a link, named as it, and a site at the arm's tip."""
    parents, payloads = arm.parents, arm.payloads
    rotors, dampers = passive(arm)
    moving = [i for i, link in enumerate(arm.links) if link.joint.type != "fixed"]
    first = 6 if arm.free else 0

    def body(i):
        link, parent = arm.links[i], parents[i]
        place = homogeneous(link, arm.links[parent].body if parent >= 0 else None)
        x, y, z, w = Rotation.from_matrix(place[:3, :3]).as_quat()
        lines = [f'<body name="{link.name}" pos="{text(place[:3, 3])}" quat="{text([w, x, y, z])}">']
        lines.append(inertial(rigid_parts(link, payloads[i])))
        if i in moving:
            kind = {"revolute": "hinge", "prismatic": "slide"}[link.joint.type]
            n = first + moving.index(i)
            more = f'armature="{float(rotors[n])!r}" damping="{float(dampers[n])!r}"'
            lines.append(f'<joint name="{link.name}" type="{kind}" axis="{text(link.joint.axis)}" {more}/>')
        if i == arm.tip_link:
            lines.append(f'<site name="tip" pos="{link.body.length!r} 0 0"/>')
        lines += [body(j) for j, p in enumerate(parents) if p == i]
        return "\n".join([*lines, "</body>"])

    inner = "\n".join(body(j) for j, p in enumerate(parents) if p < 0)
    if arm.free:
        own = inertial([(arm.base.mass, np.array(arm.base.com), tensor(arm.base.inertia))])
        inner = f'<body name="base"><freejoint name="base"/>\n{own}\n{inner}</body>'
    option = f'<option gravity="{text(arm.gravity)}"/>'
    return f'<mujoco><compiler angle="radian"/>{option}<worldbody>{inner}</worldbody></mujoco>'


def answers(arm, q, qd, u):
    """What MuJoCo says of a state, in the package's coordinates."""
    import mujoco as mj

    model = mj.MjModel.from_xml_string(described(arm))
    data = mj.MjData(model)
    named = [link.name for link in arm.links if link.joint.type != "fixed"]
    first = 6 if arm.free else 0
    v = [*range(first), *(int(model.joint(name).dofadr[0]) for name in named)]
    places = [*range(7 if arm.free else 0), *(int(model.joint(name).qposadr[0]) for name in named)]
    data.qpos[places] = q
    T, turned = np.eye(len(qd)), np.zeros(len(qd))
    if arm.free:
        x = q[3:7]
        R = Rotation.from_quat([x[1], x[2], x[3], x[0]]).as_matrix()
        T[:3, :3] = R
        turned[:3] = R @ np.cross(qd[3:6], qd[:3])

    mj.mj_forward(model, data)
    weight = T.T @ data.qfrc_bias[v]
    data.qvel[v] = T @ qd
    data.qfrc_applied[v] = T @ applied(arm, u)  # T is orthogonal
    mj.mj_forward(model, data)
    mj.mj_subtreeVel(model, data)
    full = np.zeros((model.nv, model.nv))
    mj.mj_fullM(model, data, full)  # of MuJoCo 4
    theirs = full[np.ix_(v, v)]
    frames = []
    for link in arm.links:
        one = np.eye(4)
        one[:3, :3], one[:3, 3] = data.body(link.name).xmat.reshape(3, 3), data.body(link.name).xpos
        frames.append(one)
    one = np.eye(4)
    one[:3, :3], one[:3, 3] = data.site("tip").xmat.reshape(3, 3), data.site("tip").xpos
    whole = 1 if arm.free else 0
    return {
        "mass_matrix": T.T @ theirs @ T,
        "bias": T.T @ (theirs @ turned + data.qfrc_bias[v]) - weight,
        "gravity_force": weight,
        "forward_dynamics": T.T @ (data.qacc[v] - turned),
        "frames": np.array([*frames, one]),
        "com": data.subtree_com[whole],
        "momentum": sum(model.body_mass) * data.subtree_linvel[whole],
        "angular_momentum": data.subtree_angmom[whole],
    }


def main():
    import mujoco

    cases = []
    for seed, free in CASES:
        arm = rigid_tree(seed, free)
        q, qd, u = tree_state(arm, seed)
        found = {name: np.asarray(x).tolist() for name, x in answers(arm, q, qd, u).items()}
        state = {name: x.tolist() for name, x in {"q": q, "qd": qd, "u": u}.items()}
        cases.append({"arm": json.loads(arm.canonical()), **state, **found})
    STORED.write_text(json.dumps({"mujoco": mujoco.__version__, "cases": cases}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
