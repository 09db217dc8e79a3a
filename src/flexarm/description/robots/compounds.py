"""Joints of robot files with several coordinates, as several joints with one coordinate each."""

from collections.abc import Collection
from dataclasses import replace

from flexarm.description.compounds import Ball, Compound, Planar, Screw, Universal
from flexarm.description.gears import Gear
from flexarm.description.joints import Joint as Described
from flexarm.description.robots.robot import Joint, Limits, Mimic, Place, Robot

KINDS = ("ball", "universal", "planar", "screw")
"""Kinds of joints that become several."""


def described(joint: Joint) -> Compound:
    """Return the description of a joint."""
    if joint.kind == "ball":
        return Ball(angles=True, passive=False)
    if joint.kind == "universal":
        return Universal(axes=(joint.axis, joint.second))
    if joint.kind == "planar":
        return Planar(normal=joint.axis)
    return Screw(axis=joint.axis, pitch=joint.pitch)


def expanded(robot: Robot) -> Robot:
    """Return the robot with one coordinate per joint. Raises `DescriptionError` for a joint that is impossible."""
    if not any(joint.kind in KINDS for joint in robot.joints.values()):
        return robot
    links, joints, notes, strange = dict(robot.links), dict[str, Joint](), list(robot.notes), list(robot.strange)
    for name, joint in robot.joints.items():
        if joint.kind not in KINDS:
            joints[name] = joint
            continue
        *inner, last = described(joint).joints(name)
        if joint.kind != "screw" and (lost := _lost(joint)):
            strange.append(f"{joint.at}: joint {name!r} is {joint.kind}; its {lost} are left out")
        names = [_free(f"{name}_{i}", {*robot.joints, *joints}) for i in range(1, 1 + len(inner))]
        carriers = [_free(f"{joint.child}_{i}", links) for i in range(1, 1 + len(inner))]
        parent, place = joint.parent, joint.place
        for own, carrier, part in zip(names, carriers, inner, strict=True):
            links[carrier] = None
            joints[own] = replace(_one(joint, part), name=own, parent=parent, child=carrier, place=place)
            if isinstance(part, Gear):
                joints[own].mimic = Mimic(name, part.ratios[0], part.offset)
            parent, place = carrier, Place()
        joints[name] = replace(_one(joint, last), parent=parent, place=place)
        if isinstance(inner[0], Gear):
            notes.append(f"joint {name!r} is a screw: the joint {names[0]!r} slides in proportion to its angle")
        else:
            some = ", ".join(map(repr, [*names, name]))
            notes.append(f"joint {name!r} is {joint.kind}: it becomes the joints {some}, one after the other")
    return replace(robot, links=links, joints=joints, notes=notes, strange=strange)


def _lost(joint: Joint) -> str:
    """Return what a file gives for a joint that its parts do not have."""
    given = {
        "damping": joint.damping,
        "friction": joint.friction,
        "limits": any(x is not None for x in vars(joint.limits).values()),
        "<mimic>": joint.mimic,
        "spring": joint.spring,
        "drive": joint.drive,
    }
    return " and ".join(name for name, value in given.items() if value)


def _one(joint: Joint, part: Described) -> Joint:
    """Return the joint with the kind and the axis of one of its parts. The drive belongs to a screw's turn."""
    alone = joint.kind == "screw" and part.turns
    kind = "continuous" if part.turns else "prismatic"
    if alone:
        return replace(joint, kind=kind, axis=part.direction)
    return Joint(
        joint.name, kind, joint.parent, joint.child, joint.place, part.direction, Limits(), 0.0, 0.0, None, joint.at
    )


def _free(name: str, taken: Collection[str]) -> str:
    """Return the name, with underscores if it is taken."""
    while name in taken:
        name += "_"
    return name
