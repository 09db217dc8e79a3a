"""Gearboxes of SDF: the joint of one link follows the joint of another link.

A gearbox couples two angles of the links on a reference body: theta_1 is the angle of its parent about `<axis>`, and
theta_2 is the angle of its child about `<axis2>`. The specification (sdformat, sdf/1.12/joint.sdf) says

    theta_2 = -gearbox_ratio * theta_1.

Gazebo classic does the same: deps/opende/src/joints/gearbox.cpp demands angle1 = -ratio * angle2, and body 1 is the
child (gazebo/physics/ode/ODEJoint.cc, `Attach`). It turns the child about `<axis>` and the parent about `<axis2>`,
which differs from the specification only if the shafts are not parallel. Both angles are zero in the pose of the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flexarm.description.robots.place import Posed
from flexarm.description.robots.robot import Joint, Mimic
from flexarm.description.robots.sdf_frames import Part

PARALLEL = 1e-6
"""Largest sine of the angle between axes that count as parallel."""
SIDES = (("parent", "axis"), ("child", "axis2"))
"""Ends of a gearbox, and the element with the axis of each."""


@dataclass(frozen=True)
class Gearbox:
    """A gearbox: the link to which its angles are relative, its two links with their axes in the world, its ratio."""

    part: Part
    reference: str
    ends: tuple[tuple[str, np.ndarray], tuple[str, np.ndarray]]
    ratio: float


def follow(gearbox: Gearbox, joints: Mapping[str, Joint], places: Mapping[str, Posed]) -> None:
    """Make the joint of the child follow that of the parent. Raises `Fault`.

    If these joints follow others already, the joint at the end of the child's way follows that of the parent's.
    `places` has the frames of the links in the world.
    """
    if not gearbox.ratio:
        raise gearbox.part.wrong("<gearbox_ratio> is zero; it must be another number")
    (first, turn), (second, turn_to) = (_shaft(gearbox, side, joints, places) for side in (0, 1))
    k = -gearbox.ratio * turn / turn_to
    leader, m, offset = _leader(first, joints)
    follower, m_to, offset_to = _leader(second, joints)
    if leader is follower:
        said = f"joints {first.name!r} and {second.name!r} follow each other already; remove it or the other relation"
        raise gearbox.part.wrong(said)
    if follower.mimic is not None:
        raise gearbox.part.wrong(f"joint {follower.name!r} cannot follow another one, as its <mimic> is wrong")
    follower.mimic = Mimic(leader.name, k * m / m_to, (k * offset - offset_to) / m_to)


def _shaft(gearbox: Gearbox, side: int, joints: Mapping[str, Joint], places: Mapping[str, Posed]) -> tuple[Joint, int]:
    """Return the joint between the reference body and an end, and the sign of the end's angle in its coordinate."""
    (end, axis), (name, tag) = gearbox.ends[side], SIDES[side]
    inward, outward = (_way(link, joints) for link in (gearbox.reference, end))
    between = [joints[x] for x in {**inward, **outward} if (x in inward) is not (x in outward)]
    moving = [joint for joint in between if joint.kind != "fixed"]
    if len(moving) != 1 or moving[0].kind not in ("revolute", "continuous"):
        some = " and ".join(f"{joint.name!r} ({joint.kind})" for joint in moving) or "none"
        said = f"needs one revolute joint between its reference body {gearbox.reference!r} and its {name} {end!r}"
        raise gearbox.part.wrong(f"{said}, and has {some}")
    (joint,) = moving
    along = places[joint.child].R @ np.array(joint.axis)
    if np.linalg.norm(np.cross(axis, along)) > PARALLEL:
        raise gearbox.part.wrong(f"its <{tag}> is not parallel to the axis of joint {joint.name!r}; correct its <xyz>")
    return joint, (1 if axis @ along > 0.0 else -1) * (1 if joint.name in outward else -1)


def _way(link: str, joints: Mapping[str, Joint]) -> dict[str, None]:
    """Return the names of the joints between a link and the world."""
    above = {joint.child: joint for joint in joints.values()}
    names = dict[str, None]()
    while link in above:
        names[above[link].name] = None
        link = above[link].parent
    return names


def _leader(joint: Joint, joints: Mapping[str, Joint]) -> tuple[Joint, float, float]:
    """Return the joint that a joint follows in the end, and its coordinate over that of this joint: factor, offset."""
    factor, offset, passed = 1.0, 0.0, {joint.name}
    while (mimic := joint.mimic) and mimic.multiplier and mimic.joint in joints and mimic.joint not in passed:
        factor, offset = factor * mimic.multiplier, factor * mimic.offset + offset
        joint = joints[mimic.joint]
        passed.add(joint.name)
    return joint, factor, offset
