"""A delta robot from universal joints, a ball joint and ball closures, beside its closed-form inverse kinematics.

Three driven arms on a ring carry two rods each, which hold a platform (Clavel). The platform keeps its orientation.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import flexarm as fa

RING, ARM, ROD, PLATFORM, APART = 0.2, 0.25, 0.5, 0.08, 0.05
AROUND = np.array([0.3, 0.3 + 2 * np.pi / 3, 0.3 + 4 * np.pi / 3])


def outward(angle):
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def across(angle):
    return np.array([-np.sin(angle), np.cos(angle), 0.0])


def angles(centre):
    """The angles of the arms for a place of the platform: each elbow is on a circle and on a sphere."""
    found = []
    for around in AROUND:
        x = (PLATFORM - RING) + outward(around) @ centre
        y, z = across(around) @ centre, centre[2]
        # |a (cos, -sin) - (x, z)|^2 + y^2 = b^2:  x cos - z sin = k
        k = (x**2 + y**2 + z**2 + ARM**2 - ROD**2) / (2 * ARM)
        found.append(np.arctan2(-z, x) - np.arccos(k / np.hypot(x, z)))
    return np.array(found)


def points():
    """The ends of the six rods on the platform, in its frame."""
    return [PLATFORM * outward(a) + side * APART * across(a) for a in AROUND for side in (-1, 1)]


def robot():
    links, closures = [], []
    for i, around in enumerate(AROUND):
        place = fa.Pose(xyz=RING * outward(around), rpy=(0.0, 0.0, around))
        arm = fa.Rigid(length=ARM, mass=0.3)
        joint = fa.Revolute(axis=(0, 1, 0))
        links.append(fa.Link(name=f"arm{i}", parent="base", placement=place, joint=joint, body=arm))
        for j, side in enumerate((-1, 1)):
            at = fa.Pose(xyz=(ARM, side * APART, 0.0))
            joint = fa.Universal(axes=[(0, 1, 0), (0, 0, 1)], passive=True)
            rod = fa.Rigid(length=ROD, mass=0.1, inertia=(1e-5, 0.002, 0.002))
            links.append(fa.Link(name=f"rod{2 * i + j}", parent=f"arm{i}", at=at, joint=joint, body=rod))
    first, *others = points()
    level = fa.Pose(rpy=(0.0, -np.pi / 2, 0.0))
    body = fa.Rigid(length=0.0, mass=0.5, com=-first, inertia=(0.002, 0.002, 0.003))
    links.append(fa.Link(name="platform", parent="rod0", placement=level, joint=fa.Ball(angles=True), body=body))
    for n, point in enumerate(others, start=1):
        place = fa.Pose(xyz=point - first)
        closures.append(fa.Closure(name=f"ball{n}", link=f"rod{n}", to="platform", place=place, joint="ball"))
    return fa.Arm(name="delta", links=links, closures=closures, gravity=(0.0, 0.0, -9.81), tip="platform")


def configuration(arm, centre):
    """All coordinates for a place of the platform."""
    thetas, found = angles(centre), {}
    for n, point in enumerate(points()):
        theta, around, side = thetas[n // 2], AROUND[n // 2], (-1, 1)[n % 2]
        R = Rotation.from_euler("ZY", [around, theta])
        elbow = RING * outward(around) + R.apply([ARM, 0.0, 0.0]) + side * APART * across(around)
        x, y, z = R.inv().apply((centre + point - elbow) / ROD)
        alpha, beta = np.arctan2(-z, x), np.arcsin(y)
        found |= {f"arm{n // 2}.joint": theta, f"rod{n}_1.joint": alpha, f"rod{n}.joint": beta}
        if n == 0:
            level = R * Rotation.from_euler("YZY", [alpha, beta, -np.pi / 2])
            turned = level.inv().as_euler("XYZ")
            found |= dict(zip(("platform_1.joint", "platform_2.joint", "platform.joint"), turned, strict=True))
    return np.array([found[name] for name in arm.coordinates])


def test_a_delta_robot_beside_its_inverse_kinematics():
    arm = robot()
    model, first = fa.Model(arm), points()[0]
    here, there = np.array([0.03, -0.05, -0.42]), np.array([0.06, 0.01, -0.38])
    assert len(arm.coordinates) == 18 and arm.inputs == ("arm0.joint", "arm1.joint", "arm2.joint")
    q = configuration(arm, here)
    gaps, _ = model.closure_gaps(q, np.zeros(18))
    assert np.abs(gaps).max() < 1e-15
    q[list(arm.driven)] = angles(there)
    moved = fa.assemble(arm, q, held=list(arm.inputs))
    pose = model.tip(moved)
    assert np.abs(pose[:3, 3] - first - there).max() < 1e-10
    assert np.abs(pose[:3, :3] - np.eye(3)).max() < 1e-10
