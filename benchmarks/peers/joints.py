"""Rods whose joints follow one another, and rods on ball joints: arms, and motions from other programs than flexarm.

The rods with gears have one degree of freedom, so the integral of their energy gives the time at which they pass an
angle. The motion of the chain of ball joints is stored in `ball_chain.csv`, which `ball_chain.py` writes.
"""

from pathlib import Path

import numpy as np

import flexarm as fa

Array = np.ndarray

GRAVITY = 9.81
"""[m/s^2]"""
LENGTHS, MASSES = (0.8, 0.6, 0.45), (1.7, 1.1, 0.7)
"""Rods with gears [m, kg]."""
RATIOS, OFFSETS = (-2.0, 1.5), (0.4, -0.3)
"""Angle of the second joint per angle of the first one, and of the third per angle of the second; offsets [rad]."""
START, RATE = -1.2, 6.0
"""Angle [rad] and rate [rad/s] of the first joint at the start. The rods turn over and over."""
NODES, PANEL = 24, 0.1
"""Nodes of Gauss and Legendre in an interval of the first angle, and its length [rad]."""
BALL_LENGTHS, BALL_MASSES = (0.5, 0.45, 0.4, 0.55, 0.35), (1.3, 1.1, 0.9, 1.2, 0.7)
"""Rods on ball joints [m, kg]."""
THICKNESS = 0.06
"""Radius of the rods on ball joints [m], which are cylinders."""
TURNS = (
    (0.2, -0.7, 0.4), (-0.3, 0.3, 0.6), (0.4, 0.4, -0.5), (0.1, -0.5, -0.4), (-0.2, -0.3, 0.4),
)  # fmt: skip
"""Rotation vector of each ball joint at the start [rad]. Without a rotation the rods hang down."""
RATES = (
    (1.5, 0.4, -0.8), (-2.0, 0.5, 0.6), (1.0, -0.7, 0.3), (2.5, 0.2, 0.9), (-1.5, 0.6, 0.6),
)  # fmt: skip
"""Angular velocity of each rod relative to its carrier at the start, along its own axes [rad/s]."""
DATA = Path(__file__).with_name("ball_chain.csv")
"""Times and places of the tip of the chain."""


def geared_rods() -> fa.Arm:
    """Return three rods in a vertical plane. The second joint follows the first one, and the third the second."""
    joints: list[fa.Revolute | fa.Gear] = [fa.Revolute(passive=True)]
    for leader, ratio, offset in zip(("rod0", "rod1"), RATIOS, OFFSETS, strict=True):
        joints.append(fa.Gear(joint=fa.Revolute(passive=True), follows=leader, ratio=ratio, offset=offset))
    links = []
    for i, (length, mass, joint) in enumerate(zip(LENGTHS, MASSES, joints, strict=True)):
        across = mass * length**2 / 12
        body = fa.Rigid(length=length, mass=mass, inertia=(across / 100, across, across))
        links.append(fa.Link(name=f"rod{i}", joint=joint, body=body))
    return fa.Arm(name="geared-rods", links=links, gravity=(0, -GRAVITY, 0), tip="rod2")


def absolute() -> tuple[Array, Array]:
    """Return slopes and offsets of the angles of the rods with the x-axis, over the angle of the first joint."""
    slopes, offsets = [1.0], [0.0]
    for ratio, offset in zip(RATIOS, OFFSETS, strict=True):
        slopes.append(ratio * slopes[-1])
        offsets.append(ratio * offsets[-1] + offset)
    return np.cumsum(slopes), np.cumsum(offsets)


def inertia_and_energy(q: Array) -> tuple[Array, Array]:
    """Return the inertia [kg m^2] and the potential energy [J] of the rods at angles of the first joint (...).

    The centre of rod k is at c_k = sum_(j<k) L_j exp(i phi_j) + L_k exp(i phi_k) / 2 in the complex plane, with
    phi_j = a_j q + b_j. The inertia is sum_k m_k (|dc_k/dq|^2 + L_k^2 a_k^2 / 12).
    """
    slopes, offsets = absolute()
    along = np.array(LENGTHS) * np.exp(1j * (np.multiply.outer(q, slopes) + offsets))
    ends, turned = np.cumsum(along, axis=-1), np.cumsum(1j * slopes * along, axis=-1)
    centres, rates = ends - along / 2, turned - 1j * slopes * along / 2
    inertia = (np.abs(rates) ** 2 + (np.array(LENGTHS) * slopes) ** 2 / 12) @ MASSES
    return inertia, GRAVITY * (centres.imag @ MASSES)


def geared_swing(times: Array) -> Array:
    """Return the tip of the rods with gears (samples, 2).

    The energy E gives the time at which the first joint passes an angle: t = int sqrt(J(q) / (2 (E - V(q)))) dq. The
    integral is that of Gauss and Legendre in intervals of equal length, and Newton's method inverts it.
    """
    J, V = inertia_and_energy(np.array(START))
    energy = 0.5 * J * RATE**2 + V

    def slowness(q: Array) -> Array:
        J, V = inertia_and_energy(q)
        return np.sqrt(J / (2 * (energy - V)))

    nodes, weights = np.polynomial.legendre.leggauss(NODES)

    def duration(a: Array, b: Array) -> Array:
        half = (b - a) / 2
        return half * (slowness(((a + b) / 2)[..., None] + half[..., None] * nodes) @ weights)

    edges = [START]
    passed = [0.0]
    while passed[-1] <= times[-1]:
        edges.append(START + PANEL * len(edges))
        passed.append(passed[-1] + float(duration(*np.array(edges[-2:]))))
    first = np.searchsorted(passed, times, side="right") - 1
    begin, left = np.array(edges)[first], times - np.array(passed)[first]
    q = begin + left / slowness(begin)
    for _ in range(20):
        q = q + (left - duration(begin, q)) / slowness(q)
    slopes, offsets = absolute()
    tip = np.exp(1j * (np.multiply.outer(q, slopes) + offsets)) @ np.array(LENGTHS)
    return np.column_stack([tip.real, tip.imag])


def ball_chain(angles: bool = False) -> fa.Arm:
    """Return five rods on ball joints that hang down at rest, with quaternions or with three angles for each joint."""
    links = []
    for i, (length, mass) in enumerate(zip(BALL_LENGTHS, BALL_MASSES, strict=True)):
        across = mass * (3 * THICKNESS**2 + length**2) / 12
        body = fa.Rigid(length=length, mass=mass, inertia=(mass * THICKNESS**2 / 2, across, across))
        down = {} if i else {"placement": fa.Pose(rpy=(0.0, np.pi / 2, 0.0))}
        links.append(fa.Link(name=f"rod{i}", joint=fa.Ball(angles=angles), body=body, **down))
    return fa.Arm(name="ball-chain", links=links, gravity=(0, 0, -GRAVITY))


def ball_start() -> tuple[Array, Array]:
    """Return quaternions (5, 4), scalar first, and angular velocities (5, 3) of the ball joints at the start."""
    turns = np.array(TURNS)
    angles = np.linalg.norm(turns, axis=1, keepdims=True)
    return np.hstack([np.cos(angles / 2), np.sin(angles / 2) * turns / angles]), np.array(RATES)


def ball_swing() -> tuple[Array, Array, float]:
    """Return times (samples,) [s], places of the tip (samples, 3) [m] and their uncertainty [m] from the data file."""
    lines = DATA.read_text(encoding="utf-8").splitlines()
    floor = next(float(line.split("=")[1].split()[0]) for line in lines if "uncertainty" in line and "=" in line)
    rows = np.array([[float(x) for x in line.split(",")] for line in lines if line[0].isdigit()])
    return rows[:, 0], rows[:, 1:], floor


def followers(arm: fa.Arm) -> list[tuple[str, str, float, float]]:
    """Return follower, leader, ratio and offset of each gear; all gears follow one joint."""
    gears = [(link.name, link.joint) for link in arm.links if isinstance(link.joint, fa.Gear)]
    return [(name, gear.leaders[0], gear.ratios[0], gear.offset) for name, gear in gears]
