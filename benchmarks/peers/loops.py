"""Mechanisms with closed loops: arms, an exact motion, and their pins.

Four-bars and Bricard's mechanism are from the IFToMM library of multibody benchmarks. Their rods are 1 m long and have
1 kg, evenly spread, as published (Gonzalez, Dopico, Gonzalez & Cuadrado 2006). The slider-crank has the numbers of the
Test Set for IVP Solvers (Simeon 1998).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ellipj, ellipk

import flexarm as fa

Array = np.ndarray

GRAVITY = 9.81
"""[m/s^2]"""
RATE = 1.0
"""Speed at which the tips of the upright cranks begin, in the direction of x [m/s]."""
THIN = 1e-9
"""Inertia of a rod about its axis [kg m^2]. It is not published: a rod is a line."""
SPEED = 150.0
"""Rate of the slider-crank's crank at the start [rad/s]."""
REACH = 0.5
"""Distance of the two points that hold the axis of a hinge in programs that pin points [m]."""


def four_bars(count: int) -> fa.Arm:
    """Return a chain of four-bars in a plane, with upright cranks and level couplers.

    Each link follows the one that carries it: Pinocchio needs the joints of a branch one after another.
    """
    inertia = (THIN, 1 / 12, 1 / 12)

    def rod(name: str, parent: str, placement: fa.Pose) -> fa.Link:
        body = fa.Rigid(length=1.0, mass=1.0, com=(0.5, 0, 0), inertia=inertia)
        return fa.Link(name=name, parent=parent, joint=fa.Revolute(passive=True), body=body, placement=placement)

    up, level = (0, 0, np.pi / 2), fa.Pose(rpy=(0, 0, -np.pi / 2))
    links, closures = [rod("crank0", "base", fa.Pose(rpy=up))], []
    for i in range(1, count + 1):
        links.append(rod(f"coupler{i}", f"crank{i - 1}", level))
        links.append(rod(f"crank{i}", "base", fa.Pose(xyz=(float(i), 0, 0), rpy=up)))
        closures.append(fa.Closure(name=f"pin{i}", link=f"coupler{i}", to=f"crank{i}"))
    return fa.Arm(name=f"four-bars-{count}", links=links, closures=closures, gravity=(0, -GRAVITY, 0), tip="crank0")


def rates(arm: fa.Arm) -> Array:
    """Return the rates of its joints at the start: couplers do not turn."""
    return np.array([-RATE if name.startswith("crank") else RATE for name in arm.velocities])


def swing(count: int, times: Array) -> Array:
    """Return the tip of the first crank (samples, 2), in closed form.

    All cranks stay parallel. The energy is that of a pendulum which passes its lowest position with the rate w, so that
    its angle from there is 2 am(w t / 2 - K(m), m) with m = 4 k / w^2 and k = g P / J (Jacobi).
    """
    J, P = (count + 1) / 3 + count, (count + 1) / 2 + count
    k = GRAVITY * P / J
    w2 = RATE**2 + 4 * k
    m = 4 * k / w2
    sn, cn, _, _ = ellipj(0.5 * np.sqrt(w2) * times - ellipk(m), m)
    return np.column_stack([-2 * sn * cn, 2 * sn**2 - 1])


def bricard() -> fa.Arm:
    """Return Bricard's mechanism: five rods and six hinges along the edges of a cube.

    Its conditions are as many as its coordinates, and one of them depends on the others. It moves nevertheless.
    """
    steps = [(1, 0, 0), (0, -1, 0), (0, 0, 1), (-1, 0, 0), (0, 1, 0)]
    axes = [(0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)]
    links = []
    for i, (step, axis) in enumerate(zip(steps, axes, strict=False)):
        inertia = (np.eye(3) - np.diag(np.abs(step))) / 12 + THIN * np.eye(3)
        body = fa.Rigid(length=1.0, mass=1.0, com=[x / 2 for x in step], inertia=inertia.tolist())
        at = {"at": fa.Pose(xyz=steps[i - 1])} if i else {}
        joint = fa.Revolute(axis=axis, passive=True)
        links.append(fa.Link(name=f"rod{i}", parent=f"rod{i - 1}" if i else "base", joint=joint, body=body, **at))
    place = [float(x) for x in np.sum(steps, axis=0)]
    last = fa.Closure(name="last", link="rod4", at=steps[4], place=place, axis=axes[5])
    return fa.Arm(name="bricard", links=links, gravity=(0, -GRAVITY, 0), closures=[last], tip="rod0")


def slider_crank() -> fa.Arm:
    """Return a crank, a rod that bends and a slider; the tip is the middle of the rod.

    The rod is a beam that neither stretches nor shears. In the test set the crank keeps its rate; here it is free.
    """
    length, mass, width, modulus = (0.15, 0.3), (0.36, 0.151104, 0.075552), 0.008, 2e11
    about_pivot = 0.002727
    turn, slide = fa.Revolute(passive=True), fa.Prismatic(axis=(1.0, 0.0, 0.0), passive=True)
    inertia = (THIN, about_pivot - mass[0] * length[0] ** 2 / 4, about_pivot - mass[0] * length[0] ** 2 / 4)
    rod = fa.Beam(length=length[1], mass=mass[1], EI=modulus * width**4 / 12, modes={"y": 2}, segments=2)
    block = fa.Rigid(length=0.0, mass=mass[2], inertia=1e-5)
    links = [
        fa.Link(name="crank", joint=turn, body=fa.Rigid(length=length[0], mass=mass[0], inertia=inertia)),
        fa.Link(name="rod", joint=turn, body=rod),
        fa.Link(name="slider", parent="base", joint=slide, body=block, placement=fa.Pose(xyz=(sum(length), 0.0, 0.0))),
        fa.Link(name="middle", parent="rod", at=0.5, joint=fa.Fixed(), body=fa.Frame()),
    ]
    return fa.Arm(
        name="slider-crank", links=links, closures=[fa.Closure(name="pin", link="rod", to="slider")], tip="middle"
    )


def straight(arm: fa.Arm) -> Array:
    """Return the rates of the slider-crank at the start: the end of the straight rod stands still."""
    crank, rod = (arm[name].body.length for name in ("crank", "rod"))
    rates = {"crank.joint": SPEED, "rod.joint": -SPEED * (1 + crank / rod)}
    return np.array([rates.get(name, 0.0) for name in arm.velocities])


@dataclass(frozen=True)
class Pin:
    """The two ends of a closure: numbers of moving joints (-1 for the base), a point and the axis in their frames."""

    bodies: tuple[int, int]
    points: tuple[Array, Array]
    axes: tuple[Array, Array]


def pins(arm: fa.Arm) -> list[Pin]:
    """Return the closures of an arm between links that move."""
    moving = [i for i in arm.outward if arm.links[i].joint.moves]
    number = {"base": -1} | {arm.links[i].name: n for n, i in enumerate(moving)}
    found = []
    for closure in arm.closures:
        axes = closure.axis, closure.axis_to or closure.axis
        ends = [(closure.link, closure.at), (closure.to, closure.end)]
        points = [_point(arm, *end) for end in ends]
        bodies = number[ends[0][0]], number[ends[1][0]]
        found.append(Pin(bodies, (points[0], points[1]), (np.array(axes[0]), np.array(axes[1]))))
    return found


def _point(arm: fa.Arm, link: str, at: float | fa.Pose) -> Array:
    if isinstance(at, fa.Pose):
        return np.array(at.xyz, dtype=float)
    return np.array([at * arm[link].body.length, 0.0, 0.0])
