"""A two-link arm that falls into cables, which become slack and taut: the arm, and its motion without flexarm.

The equations of motion are those of Lagrange, written by hand for two rods in a plane. SciPy's DOP853 integrates them
from event to event, where a cable becomes slack or taut, so that each step has smooth forces.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import flexarm as fa

Array = np.ndarray

GRAVITY = 9.81
"""[m/s^2]"""
LENGTHS, MASSES = (0.9, 0.7), (2.4, 1.5)
"""The two rods [m, kg]."""
STATIONS = (0.8, 0.9)
"""Station of each rod, in shares of its length, at which its cable ends."""
ANCHORS = ((-0.35, 0.75), (1.25, 0.9))
"""Point of the world from which the cable of each rod runs [m]."""
STIFFNESSES, SLACK = (2600.0, 900.0), (1.22, 1.05)
"""Stiffness [N/m] and unstretched length [m] of the cables. They have no damping."""
START = (0.5, 0.4)
"""Angles of the joints at the start, at rest [rad]."""
UNTIL = 3.0
"""[s]"""
MOST_EVENTS = 1000


def cable_arm() -> fa.Arm:
    """Return the two rods with a cable from a point of the world to each of them."""
    links, cables = [], []
    for i, (length, mass) in enumerate(zip(LENGTHS, MASSES, strict=True)):
        across = mass * length**2 / 12
        body = fa.Rigid(length=length, mass=mass, inertia=(across / 100, across, across))
        links.append(fa.Link(name=f"rod{i}", joint=fa.Revolute(passive=True), body=body))
        ends = [fa.CablePoint(point=(*ANCHORS[i], 0.0)), fa.CablePoint(link=f"rod{i}", at=STATIONS[i])]
        cables.append(fa.Cable(name=f"cable{i}", points=ends, stiffness=STIFFNESSES[i], length=SLACK[i]))
    return fa.Arm(name="cable-arm", links=links, cables=cables, gravity=(0, -GRAVITY, 0), tip="rod1")


def stretches(q: Array) -> tuple[Array, Array]:
    """Return the distance between the ends of each cable minus its unstretched length (2,), and its slopes (2, 2)."""
    (a, b), (s, r) = LENGTHS, STATIONS
    phi = np.cumsum(q)
    along = np.column_stack([np.cos(phi), np.sin(phi)])
    across = np.column_stack([-np.sin(phi), np.cos(phi)])
    ends = np.array([s * a * along[0], a * along[0] + r * b * along[1]]) - ANCHORS
    distances = np.linalg.norm(ends, axis=1)
    pull = ends / distances[:, None]
    second = r * b * across[1] @ pull[1]
    slopes = np.array([[s * a * across[0] @ pull[0], 0.0], [a * across[0] @ pull[1] + second, second]])
    return distances - SLACK, slopes


def acceleration(q: Array, qd: Array, taut: Array) -> Array:
    """Return the angular accelerations [rad/s^2] with tension in the cables that are taut, also where they push."""
    (a, b), (m, n) = LENGTHS, MASSES
    phi, c, s = np.cumsum(q), np.cos(q[1]), np.sin(q[1])
    far = n * b**2 / 3
    cross = n * a * b / 2
    M = np.array([[m * a**2 / 3 + n * a**2 + far + 2 * cross * c, far + cross * c], [far + cross * c, far]])
    h = cross * s * np.array([-(2 * qd[0] + qd[1]) * qd[1], qd[0] ** 2])
    outer = n * b / 2 * np.cos(phi[1])
    weight = GRAVITY * np.array([(m / 2 + n) * a * np.cos(phi[0]) + outer, outer])
    stretch, slopes = stretches(q)
    return np.linalg.solve(M, -h - weight - slopes.T @ (np.array(STIFFNESSES) * stretch * taut))


def energy(q: Array, qd: Array) -> float:
    """Return the energy of the rods and of the taut cables [J]."""
    phi, rates = np.cumsum(q), np.cumsum(qd)
    along = np.array(LENGTHS) * np.exp(1j * phi)
    centres, turned = np.cumsum(along) - along / 2, np.cumsum(1j * rates * along) - 1j * rates * along / 2
    kinetic = 0.5 * np.array(MASSES) @ (np.abs(turned) ** 2 + (np.array(LENGTHS) * rates) ** 2 / 12)
    stretched = np.maximum(stretches(q)[0], 0.0)
    return float(kinetic + GRAVITY * np.array(MASSES) @ centres.imag + 0.5 * np.array(STIFFNESSES) @ stretched**2)


def cable_swing(times: Array, rtol: float = 1e-13) -> tuple[Array, list[float], Array]:
    """Return the tip (samples, 2) [m], the times at which a cable becomes slack or taut, and the last state (4,)."""
    x, t, found, events = np.array([*START, 0.0, 0.0]), 0.0, [], []
    taut = stretches(x[:2])[0] > 0

    def rate(_: float, x: Array) -> Array:
        return np.concatenate([x[2:], acceleration(x[:2], x[2:], taut)])

    def change(i: int) -> Any:
        def event(_: float, x: Array) -> float:
            return float(stretches(x[:2])[0][i])

        event.terminal = True  # type: ignore[attr-defined]
        event.direction = -1.0 if taut[i] else 1.0  # type: ignore[attr-defined]
        return event

    for _ in range(MOST_EVENTS):
        watched = [change(0), change(1)]
        run = solve_ivp(
            rate, (t, times[-1]), x, "DOP853", dense_output=True, events=watched, rtol=rtol, atol=1e-2 * rtol
        )
        inside = times[(times >= t) & ((times < run.t[-1]) | (run.t[-1] == times[-1]))]
        found += [run.sol(at)[:2] for at in inside]
        t, x = run.t[-1], run.y[:, -1]
        if run.status == 0:
            break
        events.append(float(t))
        changed = [len(at) > 0 for at in run.t_events]
        taut = np.where(changed, ~taut, taut)
    phi = np.cumsum(found, axis=1)
    along = np.exp(1j * phi) @ np.array(LENGTHS)
    return np.column_stack([along.real, along.imag]), events, x


@dataclass(frozen=True)
class Rope:
    """A cable between two points: numbers of moving joints (-1 for the base), and points in their frames."""

    bodies: tuple[int, int]
    points: tuple[Array, Array]
    stiffness: float
    length: float


def ropes(arm: fa.Arm) -> list[Rope]:
    """Return the cables of an arm between two points each."""
    moving = [i for i in arm.outward if arm.links[i].joint.moves]
    number = {arm.links[i].name: n for n, i in enumerate(moving)}
    found = []
    for cable in arm.cables:
        bodies = [number.get(end.link, -1) for end in cable.points]
        points = [
            np.array([end.at * arm[end.link].body.length, 0.0, 0.0]) if end.link else np.array(end.point)
            for end in cable.points
        ]
        found.append(Rope((bodies[0], bodies[1]), (points[0], points[1]), cable.stiffness or 0.0, cable.length or 0.0))
    return found
