"""Reaction wheels: rotors on the base that turn it by what they take up of its angular momentum."""

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
    """A rotor on the base that turns about an axis through its centre of mass: a link, to stand among an arm's links.

    Its input is the motor's torque on the wheel [N m], the opposite of which turns the base. A link that stands behind
    it in the list and is not to ride on the wheel needs a `parent`, and an arm whose last link it is a `tip`. Friction,
    a motor's limits and the like are the joint's: `wheel.replace(joint=wheel.joint.replace(drive=...))`.

    Parameters
    ----------
    name : str
        Of the link; its input is `name.joint`.
    axis : (3,)
        Unit vector along which the wheel turns, in the frame of `placement`.
    inertia : float
        About the axis [kg m^2].
    mass : float
        [kg]
    placement : Pose, optional
        Of the wheel's centre in the base's frame; default the base's origin.
    transverse : float, optional
        Moment of inertia about any axis through the centre and across the first [kg m^2]; default half of `inertia`,
        that of a thin disc.

    Raises
    ------
    DescriptionError
        When an argument is not allowed.
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
