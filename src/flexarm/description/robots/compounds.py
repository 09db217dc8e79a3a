"""Joints of robot files with several coordinates, as several joints with one coordinate each.

A ball joint on which at most damping acts remains one joint, with a quaternion.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from flexarm.description.compounds import Ball, Compound, Planar, Screw, Universal, Z
from flexarm.description.gears import Gear
from flexarm.description.joints import Joint as Described
from flexarm.description.joints import Prismatic
from flexarm.description.robots.place import Posed
from flexarm.description.robots.resistance import Resistance
from flexarm.description.robots.robot import Joint, Limits, Mimic, Place, Robot
from flexarm.description.robots.settings import Settings, theirs
from flexarm.errors import DescriptionError

KINDS = ("ball", "universal", "planar", "screw")
"""Kinds of joints that become several. A floating joint that is not on the root becomes three slides and a ball."""
SLIDES = tuple(Prismatic(axis=axis, passive=True) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
"""Translations of a floating joint."""
ANGLES = "angles"
"""Key in the settings of a ball joint that asks for three angles."""
FOR_ANGLES = f"{ANGLES} = true in its settings gives three angles with inputs"
"""Hint in the note on a ball joint."""


def described(joint: Joint) -> Compound:
    """Return the description of a joint."""
    if joint.kind == "ball":
        return Ball(angles=True, passive=False)
    if joint.kind == "universal":
        return Universal(axes=(joint.axis, joint.second))
    if joint.kind == "planar":
        return Planar(normal=joint.axis)
    return Screw(axis=joint.axis, pitch=joint.pitch)


def without_angles(robot: Robot, settings: Settings) -> Settings:
    """Return the settings without the choice of angles for ball joints. Raises `Setting` if it is wrong."""
    joints = dict(settings.joints)
    for name, table in joints.items():
        if name in robot.joints and robot.joints[name].kind == "ball" and ANGLES in table:
            try:
                Ball(angles=table[ANGLES])
            except DescriptionError as error:
                raise theirs(f"joints.{name}", error) from None
            joints[name] = {key: value for key, value in table.items() if key != ANGLES}
    return settings.replace(joints=joints)


def expanded(robot: Robot, settings: Settings) -> Robot:
    """Return the robot with one coordinate per joint, except ball joints with a quaternion.

    Raises `DescriptionError` for a joint that is impossible.
    """
    several = {name: x for name, x in robot.joints.items() if x.kind in KINDS or _floats(x, robot, settings)}
    if not several:
        return robot
    links, joints, notes, strange = dict(robot.links), dict[str, Joint](), list(robot.notes), list(robot.strange)
    balls = _balls(robot, several.values(), settings)
    for name, joint in robot.joints.items():
        if name not in several:
            joints[name] = joint
            continue
        whole = name in balls
        if joint.kind != "screw" and (lost := _lost(joint, whole)):
            strange.append(f"{joint.at}: joint {name!r} is {joint.kind}; left out: {lost}")
        parts = _parts(joint, whole)
        inner = parts if whole else parts[:-1]
        names = [_free(f"{name}_{i}", {*robot.joints, *joints}) for i in range(1, 1 + len(inner))]
        carriers = [_free(f"{joint.child}_{i}", links) for i in range(1, 1 + len(inner))]
        parent, place = joint.parent, joint.place
        for own, carrier, part in zip(names, carriers, inner, strict=True):
            links[carrier] = None
            joints[own] = replace(_one(joint, part), name=own, parent=parent, child=carrier, place=place)
            if isinstance(part, Gear):
                joints[own].mimic = Mimic(name, part.ratios[0], part.offset)
            parent, place = carrier, Place()
        spherical = replace(joint, spherical=True, axis=Z, limits=Limits(), mimic=None, drive={})
        joints[name] = replace(spherical if whole else _one(joint, parts[-1]), parent=parent, place=place)
        notes.append(_note(joint, names, whole))
    return replace(robot, links=links, joints=joints, notes=notes, strange=strange)


def _floats(joint: Joint, robot: Robot, settings: Settings) -> bool:
    """Return True for a floating joint that moves a mass and is not on the root, where it can be the base."""
    if joint.kind != "floating" or joint.parent == robot.root:
        return False
    return any(robot.links[x] is not None or x in settings.links for x in robot.outward(joint.child))


def _parts(joint: Joint, whole: bool) -> list[Described]:
    """Return the joints with one coordinate each. `whole` is True if a ball joint with a quaternion follows them."""
    if joint.kind == "floating":
        return [*SLIDES, *(() if whole else Ball(angles=True).joints(joint.name))]
    return [] if whole else [*described(joint).joints(joint.name)]


def _note(joint: Joint, names: list[str], whole: bool) -> str:
    """Return what a joint becomes: the joints of these names, and one of its own name."""
    if joint.kind == "ball" and whole:
        return f"joint {joint.name!r} is ball: link {joint.child!r} has a quaternion and no input ({FOR_ANGLES})"
    if joint.kind == "screw":
        return f"joint {joint.name!r} is a screw: the joint {names[0]!r} slides in proportion to its angle"
    some = ", ".join(map(repr, [*names, joint.name]))
    return f"joint {joint.name!r} is {joint.kind}: it becomes the joints {some}, one after the other"


def _balls(robot: Robot, several: Iterable[Joint], settings: Settings) -> set[str]:
    """Return the ball joints that have a quaternion. The others have three angles, each with an input.

    They have angles if more than damping acts on them in the file or in the settings, as only an angle can have it, and
    where no inertia resists a rotation, so that the angle about this axis can be fixed.
    """
    turning = [joint for joint in several if joint.kind in ("ball", "floating")]
    balls = [joint for joint in turning if not (_acted(joint) or _set(joint.name, settings))]
    if not balls:
        return set()
    held = {joint.name for joint in robot.joints.values() if joint.kind == "fixed"}
    resistance = Resistance(robot, settings, held, robot.outward(robot.root), lambda joint: Posed.of(joint.place))
    return {joint.name for joint in balls if resistance.about_all_axes(joint)}


def _acted(joint: Joint) -> bool:
    """Return True if a file has more than damping for a ball joint."""
    return bool(joint.driven or joint.friction or joint.spring or _limited(joint))


def _limited(joint: Joint) -> bool:
    """Return True if a joint has limits. An effort of 0 is that of a joint without a motor."""
    limits = joint.limits
    return any(x is not None for x in (limits.lower, limits.upper, limits.velocity, limits.effort or None))


def _set(name: str, settings: Settings) -> bool:
    """Return True if the settings have more than damping for a ball joint, or anything for one of its angles."""
    names = {f"{name}_1", f"{name}_2"} & {*settings.joints, *settings.locked}
    mine = settings.joints.get(name, {})
    return bool(names or name in settings.locked or mine.get(ANGLES) or mine.keys() - {ANGLES, "damping"})


def _lost(joint: Joint, whole: bool) -> str:
    """Return what a file gives for a joint that its parts do not have. `whole` is True for one with a quaternion."""
    given = {
        "damping": joint.damping if not whole else 0.0,
        "friction": joint.friction,
        "limits": _limited(joint),
        "<mimic>": joint.mimic,
        "spring": joint.spring,
        "rotor": joint.drive,
    }
    return ", ".join(name for name, value in given.items() if value)


def _one(joint: Joint, part: Described) -> Joint:
    """Return the joint with the kind and the axis of one of its parts. The drive belongs to a screw's turn."""
    alone = joint.kind == "screw" and part.turns
    kind = "continuous" if part.turns else "prismatic"
    if alone:
        return replace(joint, kind=kind, axis=part.direction)
    return Joint(
        joint.name, kind, joint.parent, joint.child, joint.place, part.direction, Limits(), 0.0, 0.0, None, joint.at,
        passive=joint.kind == "floating",
    )  # fmt: skip


def _free(name: str, taken: Collection[str]) -> str:
    """Return the name, with underscores if it is taken."""
    while name in taken:
        name += "_"
    return name
