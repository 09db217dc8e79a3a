"""Arms with closures: four-bar linkages, chains of them, and loops of random trees."""

import numpy as np
from oracle import Lagrangian
from random_arms import unit

import flexarm as fa


def pose_in(frame, other):
    """Pose of a frame (R, p) in another one, as the description takes it."""
    (R, p), (S, r) = frame, other
    T, away = S.T @ R, S.T @ (p - r)
    angles = np.arctan2(T[2, 1], T[2, 2]), -np.arcsin(T[2, 0]), np.arctan2(T[1, 0], T[0, 0])
    return fa.Pose(xyz=away.tolist(), rpy=[float(x) for x in angles])


def turned(axis, angle):
    """Rotation about a unit axis."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def allowed(joint, axis, rng):
    """Rotation and position that a joint allows its second frame in its first one, and the axis in the second one."""
    turn, other = turned(axis, rng.uniform(0.3, 1.2)), turned(unit(rng), rng.uniform(0.3, 1.5))
    slide, still = rng.uniform(0.1, 0.4), np.zeros(3)
    across = np.cross(axis, unit(rng))
    if joint in ("revolute", "planar"):  # the axes are parallel, whatever their components in the second frame
        R = turn @ other
        return R, still if joint == "revolute" else slide * across, R.T @ axis
    if joint == "universal":
        return other, still, other.T @ (across / np.linalg.norm(across))
    return {"ball": (other, still), "fixed": (np.eye(3), still), "prismatic": (np.eye(3), slide * axis)}[joint] + (
        None,
    )


def closing(arm, q, joint, seed, count=1, opinion=Lagrangian):
    """The arm with closures between links, or a link and the base, which fit at q."""
    rng, oracle = np.random.default_rng([seed, 77]), opinion(arm)
    frames = {link.name: (T[:3, :3], T[:3, 3]) for link, T in zip(arm.links, oracle.frames(q), strict=False)}
    tips = {link.name: (T[:3, :3], T[:3, 3]) for link, T in zip(arm.links, oracle.tips(q), strict=True)}
    stand = np.eye(3), np.zeros(3)
    if arm.free:
        w, x, y, z = q[3:7]
        stand = (
            turned(
                np.array([x, y, z]) / max(np.linalg.norm([x, y, z]), 1e-30),
                2 * np.arctan2(np.linalg.norm([x, y, z]), w),
            ),
            q[:3],
        )
    found = []
    for i in range(count):
        ends = [link for link in arm.links if link.joint.type != "telescope"]
        first, second = (ends[k] for k in rng.choice(len(ends), 2, replace=False))
        axis = unit(rng)
        R, away, other = allowed(joint, axis, rng)
        S, p = tips[first.name]
        frame = S @ R, p + S @ away
        to, origin = ("base", stand) if i % 2 else (second.name, frames[second.name])
        axes = {"axis": axis.tolist()} | ({} if other is None else {"axis_to": other.tolist()})
        place = pose_in(frame, origin)
        found.append(fa.Closure(name=f"loop{i}", link=first.name, to=to, place=place, joint=joint, **axes))
    return arm.replace(closures=found)


def moving(arm, q, qd, oracle):
    """Rates near these that keep the gaps."""
    _, J, _ = oracle.closures(q, np.zeros(len(arm.velocities)))
    return qd - np.linalg.pinv(J, rcond=1e-10) @ (J @ qd)


A, B, C, D = 0.3, 0.7, 0.6, 0.8


def bar(name, length, mass, parent, **more):
    body = fa.Rigid(length=length, mass=mass, com=(length / 2, 0, 0), inertia=(0.001, 0.01, mass * length**2 / 12))
    return fa.Link(name=name, joint=fa.Revolute(), body=body, parent=parent, **more)


def four_bar(tilt=(0.0, 0.0, 0.0), flexible=False, **more):
    """A crank, a coupler and a rocker in a plane, which `tilt` turns."""
    coupler = bar("coupler", B, 2.3, "crank")
    if flexible:
        beam = fa.Beam(length=B, mass_per_length=3.3, EI=40.0, modes={"y": 2}, damping=0.01)
        coupler = coupler.replace(body=beam)
    turn, links = fa.Pose(rpy=tilt), [bar("crank", A, 1.1, "base"), coupler]
    ground = (turn.rotation @ [D, 0, 0]).tolist()
    links[0] = links[0].replace(placement=turn)
    links.append(bar("rocker", C, 1.7, "base", placement=fa.Pose(xyz=ground, rpy=tilt)))
    pin = fa.Closure(name="pin", link="coupler", to="rocker")
    gravity = (turn.rotation @ [0, -9.81, 0]).tolist()
    return fa.Arm(name="four-bar", links=links, tip="coupler", closures=[pin], gravity=gravity, **more)


def assembled(arm, rate=1.3):
    guess = np.zeros(len(arm.coordinates))
    guess[[0, 1, 2]] = 0.9, 0.0, 1.5
    rates = np.zeros(len(arm.coordinates))
    rates[0] = rate
    return fa.assemble(arm, guess, rates)


def gap_of(model, run):
    found = [model.closure_gaps(q, qd) for q, qd in zip(run.q.values, run.qd.values, strict=True)]
    return [max(np.abs(each[i]).max() for each in found) for i in range(2)]


def four_bars(count):
    """So many four-bars of the IFToMM benchmark: rods of 1 m and 1 kg, upright, which pass a flat position."""

    def rod(name, parent, placement):
        body = fa.Rigid(length=1.0, mass=1.0, com=(0.5, 0, 0), inertia=(1e-6, 1 / 12, 1 / 12))
        return fa.Link(name=name, parent=parent, joint=fa.Revolute(), body=body, placement=placement)

    up, level = (0, 0, np.pi / 2), fa.Pose(rpy=(0, 0, -np.pi / 2))
    links, closures = [rod("c0", "base", fa.Pose(rpy=up))], []
    for i in range(1, count + 1):
        links.append(rod(f"c{i}", "base", fa.Pose(xyz=(float(i), 0, 0), rpy=up)))
        links.append(rod(f"k{i}", f"c{i - 1}", level))
        closures.append(fa.Closure(name=f"p{i}", link=f"k{i}", to=f"c{i}"))
    return fa.Arm(name="four-bars", links=links, closures=closures, gravity=(0, -9.81, 0), tip="c0")
