"""Slosh: pendulums that act on a tank as the waves of its liquid do."""

from math import cosh, pi, sinh, sqrt, tanh
from typing import Any, NamedTuple

from flexarm.checks import NOT_NEGATIVE, POSITIVE, checked_integer, checked_number, refused
from flexarm.description.arm import Fixed, Frame, Link, Payload, Pose, Revolute, Rigid

ROOTS = (1.8411837813406593, 5.3314427735250326, 8.5363163663462858, 11.706004902592064, 14.863588633909033)
"""Zeros of the derivative of the Bessel function J1, one for each antisymmetric wave in a cylinder."""


class Wave(NamedTuple):
    """Pendulum of a wave: its mass [kg], its length [m], and the height of its hinge above the bottom [m]."""

    mass: float
    length: float
    hinge: float


def wave(root: float, radius: float, height: float, mass: float) -> Wave:
    """Return the pendulum of the wave of a zero xi of J1' in an upright cylinder, in linear potential flow.

    With k = xi / R and a fill height h, the pendulum has the mass 2 m tanh(k h) / (k h (xi^2 - 1)) and the length
    1 / (k tanh(k h)). The resultant of the wave's pressure on wall and bottom acts at the height h - (cosh(k h) - 2) /
    (k sinh(k h)), which is the height of the hinge (Abramson, chapter 6).
    """
    k = root / radius
    share = 2.0 * tanh(k * height) / (k * height * (root**2 - 1.0))
    return Wave(mass * share, 1.0 / (k * tanh(k * height)), height - _lever(k * height) / k)


def _lever(x: float) -> float:
    """Return (cosh x - 2) / sinh x without overflow."""
    return 1.0 if x > 300.0 else (cosh(x) - 2.0) / sinh(x)


def slosh(
    name: str,
    *,
    radius: float,
    height: float,
    mass: float,
    waves: int = 1,
    damping: float = 0.0,
    gravity: float = 9.81,
    parent: str | None = None,
    at: Any = 1.0,
    placement: Pose | None = None,
) -> list[Link]:
    """Return links for the liquid in an upright cylindrical tank with a flat bottom: pendulums, and a fixed mass.

    Add these links to the list of an arm's links. The first link has the name `name` and contains the liquid that moves
    with the tank. The origin of its base frame is the centre of the tank's bottom. Its x axis points to the free
    surface, against gravity or along the thrust. A pendulum that swings in two planes represents each wave. The
    pendulum of the first wave consists of the links `name_y1` and `name_z1`, and its mass is the payload of `name_z1`.
    Its frequency is that of the lateral wave,

        omega^2 = (a / R) xi tanh(xi h / R),    xi = 1.8412, 5.3314, 8.5363, ...

    where a is the gravity or the acceleration of the arm. The model is linear: it holds for small waves. With the
    pendulums at rest, the lateral moment of inertia of all parts together is that of the frozen liquid, which is an
    upper bound. The moment of inertia about the axis of the tank is zero.

    Parameters
    ----------
    name : str
        Name of the first link. The names of the other links begin with it.
    radius, height : float
        Radius of the tank, and fill height of the liquid [m].
    mass : float
        Mass of the liquid [kg].
    waves : int
        Number of waves, up to five.
    damping : float
        Damping ratio of each wave.
    gravity : float
        Gravity, or acceleration of the tank, at which the waves have this damping ratio [m/s^2].
    parent, at, placement
        Place of the tank, as for a `Link`.

    Raises
    ------
    DescriptionError
        If an argument is not allowed.

    Source: H. N. Abramson (ed.), The dynamic behavior of liquids in moving containers, NASA SP-106, 1966, chapter 6; F.
    T. Dodge, The new dynamic behavior of liquids in moving containers, Southwest Research Institute, 2000, chapter 3.
    """
    with refused("slosh"):
        R = checked_number(radius, "m", POSITIVE, "radius")
        h = checked_number(height, "m", POSITIVE, "height")
        m = checked_number(mass, "kg", POSITIVE, "mass")
        ratio = checked_number(damping, "", NOT_NEGATIVE, "damping")
        g = checked_number(gravity, "m/s^2", POSITIVE, "gravity")
        count = checked_integer(waves, len(ROOTS), "waves", 1)
    found = [wave(root, R, h, m) for root in ROOTS[:count]]
    heights = [each.hinge - each.length for each in found]
    still = m - sum(each.mass for each in found)
    com = (m * h / 2.0 - sum(each.mass * z for each, z in zip(found, heights, strict=True))) / still
    moved = sum(each.mass * (z - h / 2.0) ** 2 for each, z in zip(found, heights, strict=True))
    across = m * (3.0 * R**2 + h**2) / 12.0 - moved - still * (com - h / 2.0) ** 2
    body = Rigid(length=h, mass=still, com=(com, 0.0, 0.0), inertia=(0.0, across, across))
    place = {"parent": parent, "at": at, "placement": Pose() if placement is None else placement}
    links = [Link(name=name, joint=Fixed(), body=body, **place)]
    for i, each in enumerate(found, start=1):
        viscous = 2.0 * ratio * each.mass * each.length**2 * sqrt(g / each.length)
        hinge = Pose(xyz=(each.hinge, 0.0, 0.0), rpy=(0.0, 0.0, pi))
        swing = [Revolute(axis=axis, damping=viscous, passive=True) for axis in ((0, 1, 0), (0, 0, 1))]
        bob = Payload(mass=each.mass)
        links.append(Link(name=f"{name}_y{i}", parent=name, at=hinge, joint=swing[0], body=Frame(length=0.0)))
        links.append(Link(name=f"{name}_z{i}", joint=swing[1], body=Frame(length=each.length), payload=bob))
    return links
