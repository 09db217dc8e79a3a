"""Reaction wheels: rotors on the base that turn the base by exchanging angular momentum with it."""

from typing import Any

import numpy as np

from flexarm.checks import NOT_NEGATIVE, POSITIVE, checked_number, refused
from flexarm.description.arm import Link, Pose, Rigid
from flexarm.description.joints import Revolute
from flexarm.description.tree import BASE


def reaction_wheel(
    name: str,
    axis: Any,
    inertia: float,
    *,
    mass: float,
    placement: Pose | None = None,
    transverse: float | None = None,
) -> Link:
    """Return a link for a rotor on the base that turns about an axis through its centre of mass.

    The input is the motor's torque on the wheel [N m]. The opposite torque turns the base.

    Put the link into the list of an arm's links. A later link in the list that the wheel does not carry needs a
    `parent`. If the wheel is the last link, the arm needs a `tip`. Friction, motor limits and other parts belong to the
    joint: `wheel.replace(joint=wheel.joint.replace(drive=...))`.

    Parameters
    ----------
    name : str
        Name of the link. Its input is `name.joint`.
    axis : (3,)
        Unit vector along which the wheel turns, in the frame of `placement`.
    inertia : float
        Moment of inertia about the axis [kg m^2].
    mass : float
        Mass of the wheel [kg].
    placement : Pose, optional
        Pose of the wheel's centre in the base frame. Default: the origin of the base.
    transverse : float, optional
        Moment of inertia about any axis through the centre perpendicular to `axis` [kg m^2]. Default: half of
        `inertia`, as for a thin disc.

    Raises
    ------
    DescriptionError
        If an argument is not allowed.
    """
    joint = Revolute(axis=axis)
    with refused("reaction_wheel"):
        J = checked_number(inertia, "kg m^2", POSITIVE, "inertia")
        across = J / 2.0 if transverse is None else checked_number(transverse, "kg m^2", NOT_NEGATIVE, "transverse")
    n = np.array(joint.axis)
    along = np.outer(n, n)
    return Link(
        name=name,
        joint=joint,
        body=Rigid(length=0.0, mass=mass, inertia=(J * along + across * (np.eye(3) - along)).tolist()),
        placement=Pose() if placement is None else placement,
        parent=BASE,
    )
