"""Four-bar linkages with motors at some joints, and their positions by trigonometry."""

import numpy as np

import flexarm as fa

A, B, C, D = 0.35, 0.9, 0.7, 0.85


def four_bar(driven=("crank",), flexible=False, gravity=9.81):
    """A four-bar whose joints have a motor only where `driven` says so."""

    def bar(name, length, mass, parent, **more):
        body = fa.Rigid(length=length, mass=mass)
        if flexible and name == "coupler":
            body = fa.Beam(length=length, mass_per_length=mass / length, EI=30.0, modes={"y": 2}, damping=0.01)
        joint = fa.Revolute(passive=name not in driven, damping=0.05)
        return fa.Link(name=name, parent=parent, joint=joint, body=body, **more)

    links = [
        bar("crank", A, 1.1, "base"),
        bar("coupler", B, 2.3, "crank"),
        bar("rocker", C, 1.7, "base", placement=fa.Pose(xyz=(D, 0.0, 0.0))),
    ]
    pin = fa.Closure(name="pin", link="coupler", to="rocker")
    return fa.Arm(name="four-bar", links=links, closures=[pin], gravity=(0.0, -gravity, 0.0), tip="coupler")


def bars(crank):
    """Angles of coupler and rocker in the world, by the triangle of the rocker's end, with the coupler above."""
    x, y = A * np.cos(crank) - D, A * np.sin(crank)
    r = np.hypot(x, y)
    rocker = np.arctan2(y, x) - np.arccos((r**2 + C**2 - B**2) / (2 * r * C))
    coupler = np.arctan2(C * np.sin(rocker) - y, C * np.cos(rocker) - x)
    return coupler, rocker


def at(arm, crank):
    """The assembled position at an angle of the crank, from a guess with the coupler above."""
    coupler, rocker = bars(crank)
    return fa.assemble(arm, [crank, coupler - crank + 0.2, rocker - 0.1], held=["crank.joint"])
