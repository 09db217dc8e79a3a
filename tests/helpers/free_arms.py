"""A bus with panels and an arm, a torso with two arms, and states of them in general position."""

import numpy as np

import flexarm as fa
from flexarm import attitude

I = np.array([[30.0, 2.0, -1.0], [2.0, 20.0, 1.5], [-1.0, 1.5, 26.0]])


def panel(name: str, side: int) -> fa.Link:
    """3 m x 0.9 m."""
    body = fa.Beam(
        length=3.0, mass=12.0, EI={"y": 4000.0, "z": 60.0}, GJ=40.0, polar_inertia=0.27, modes={"z": 1, "torsion": 1}
    )
    there = fa.Pose(xyz=[0.0, 0.7 * side, 0.0], rpy=[0.0, 0.0, side * np.pi / 2])
    return fa.Link(name=name, parent="base", placement=there, joint=fa.Fixed(), body=body)


def bus(**given) -> fa.Arm:
    """A bus with two panels, a wheel in it, and an arm of two links that bend, the second on an elastic joint."""
    pushes = [
        fa.Thruster(name="push", direction=[1, 0, 0], at=[-0.5, 0.0, 0.2]),
        fa.Thruster(name="roll", direction=[1, 0, 0], kind="torque"),
    ]
    elastic = fa.Revolute(axis=[0, 1, 0], stiffness=300.0, rotor_inertia=0.2)
    turning, there = fa.Revolute(axis=[0, 0, 1]), fa.Pose(xyz=[1.0, 0.0, 0.1])
    upper = fa.Beam(length=1.5, mass=4.0, EI=800.0, modes={"y": 1}, damping=0.01)
    links = [
        panel("left", 1),
        panel("right", -1),
        fa.reaction_wheel("wheel", [0, 0, 1], 0.1, mass=4.0, placement=fa.Pose(xyz=[-0.2, 0.0, -0.2])),
        fa.Link(name="upper", parent="base", placement=there, joint=turning, body=upper),
        fa.Link(name="fore", joint=elastic, body=fa.Beam(length=1.2, mass=3.0, EI=400.0, modes={"z": 1})),
    ]
    base = fa.FreeBase(mass=150.0, inertia=I.tolist(), com=[0.05, 0.0, 0.02], thrusters=pushes)
    return fa.Arm(
        **{"name": "servicer", "base": base, "links": links, "payload": fa.Payload(mass=10.0, inertia=0.3)} | given
    )


def torso() -> fa.Arm:
    """Two arms on a torso, of which one carries something on its way and at its tip, and one stands half way."""
    turning = fa.Revolute(axis=[0, 1, 0])
    beam = fa.Beam(length=0.6, mass=1.2, EI=120.0, modes={"z": 1}, damping=0.01)
    trunk = fa.Rigid(length=0.0, mass=20.0, inertia=[1.2, 1.1, 0.5])
    sides = {"left": fa.Pose(xyz=[0, 0.25, 0.5]), "right": fa.Pose(xyz=[0, -0.25, 0.5], rpy=[0, 0, 0.1])}
    sliding, above = fa.Prismatic(axis=[1, 0, 0]), fa.Pose(xyz=[0, 0, 0.1])
    left, right = (fa.Link(name=x, parent="trunk", at=at, joint=turning, body=beam) for x, at in sides.items())
    finger = fa.Link(name="finger", placement=above, joint=sliding, body=fa.Rigid(length=0.3, mass=0.2))
    links = [
        fa.Link(name="left-fore", parent="left", joint=turning, body=beam, payload=fa.Payload(mass=0.5)),
        fa.Link(name="trunk", parent="base", joint=fa.Revolute(), body=trunk),
        left.replace(payload=fa.Payload(mass=0.3)),
        right,
        finger.replace(parent="right", at=0.5),
    ]
    return fa.Arm(name="torso", gravity=[0.0, 0.0, -9.81], links=links, tip="left-fore")


def state(model: fa.Model, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """A general configuration, and rates."""
    rng = np.random.default_rng(seed)
    x, v = 0.2 * rng.normal(size=(2, model.nv))
    return attitude.configuration(model.arm, 3 * x if model.arm.free else x), v
