"""Joints of URDF files that close loops, which URDF itself does not have: elements of Isaac Sim, Drake and Gazebo."""

from collections.abc import Collection, Mapping

import numpy as np

from flexarm.checks import Vector, choices, counted, unknown_name
from flexarm.description.robots.place import HERE, Posed
from flexarm.description.robots.robot import Loop, Place
from flexarm.description.robots.urdf_elements import axis_of, link_of, pose_of, vector, wrong
from flexarm.description.robots.values import checked
from flexarm.description.robots.xml import Element

LOOP, BALL, GAZEBO = "loop_joint", "drake:ball_constraint", "gazebo"
MODEL = "__model__"
"""Name in SDF of the frame of the model, which is that of the root link."""
KINDS = {
    "spherical": "ball",
    "ball": "ball",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
}
"""Joints of closures by the types of joints that close loops."""
KNOWN: dict[str, dict[str, str]] = {
    LOOP: {"link1": "link xyz rpy", "link2": "link xyz rpy", "axis": "xyz"},
    BALL: {f"{BALL}_{key}": "name value" for key in ("body_A", "body_B", "p_AP", "p_BQ")},
}
"""Elements that are understood, with their attributes, by their parent elements."""
Z: Vector = (0.0, 0.0, 1.0)


def loops(root: Element, links: Collection[str], poses: Mapping[str, Posed], strange: list[str]) -> list[Loop]:
    """Return the loops that elements of a file close. Raises `Fault`.

    `poses` are those of the links at rest. Parts of the elements that are ignored are added to `strange`.
    """
    found = []
    for element in root.children:
        if element.name == LOOP:
            found.append(_loop(element, links))
        elif element.name == BALL:
            found.append(_ball(element, links))
        elif element.name == GAZEBO and "reference" not in element.attributes:
            for joint in element.named("joint"):
                found.append(_joint(joint, links, poses))
                if _resisted(joint):
                    strange.append(f"line {joint.line}: <dynamics> of a <joint> that closes a loop; it is ignored")
    return found


def without(root: Element) -> Element:
    """Return a file without those elements of Gazebo that contain nothing but joints, which `loops` reads."""
    children = [x for x in root.children if not (x.name == GAZEBO and x.children and _only_joints(x))]
    return Element(root.name, root.attributes, root.line, root.text, children, root.before)


def _only_joints(element: Element) -> bool:
    return "reference" not in element.attributes and all(x.name == "joint" for x in element.children)


def _kind(where: str, element: Element) -> str:
    kind = element.attributes.get("type", "")
    if kind not in KINDS:
        allowed = f"it must be {choices(*KINDS)}"
        raise wrong(
            where, element, unknown_name("type is", kind, KINDS, allowed) if kind else f"type is missing; {allowed}"
        )
    return KINDS[kind]


def _loop(element: Element, links: Collection[str]) -> Loop:
    """Return the loop of an element of Isaac Sim, which older versions of Drake had, too.

    The documentation of Isaac Sim names both links <link1>.
    """
    name = element.attributes.get("name", "")
    where = f"{LOOP} {name!r}"
    ends = [x for x in element.children if x.name in ("link1", "link2")]
    if len(ends) != 2:
        raise wrong(where, element, "must have one <link1> and one <link2>")
    first, second = (
        (link_of(where, end, end.name, end.attributes.get("link"), links), pose_of(where, end)) for end in ends
    )
    kind = _kind(where, element)
    axis = axis_of(where, element) if kind in ("revolute", "prismatic") else Z
    return Loop(name, kind, (first, second), axis, axis, f"line {element.line}")


def _ball(element: Element, links: Collection[str]) -> Loop:
    """Return the loop of a ball constraint of Drake."""
    ends = []
    for body, point in (("body_A", "p_AP"), ("body_B", "p_BQ")):
        holder, place = (element.one(f"{BALL}_{key}") for key in (body, point))
        name = None if holder is None else holder.attributes.get("name")
        link = link_of(f"<{BALL}>", element, f"{BALL}_{body}", name, links)
        if place is None or "value" not in place.attributes:
            raise wrong(f"<{BALL}>", element, f"has no <{BALL}_{point} value=...>")
        ends.append((link, Place(vector(f"<{BALL}>", place, "value", Z))))
    return Loop("", "ball", (ends[0], ends[1]), Z, Z, f"line {element.line}")


def _joint(element: Element, links: Collection[str], poses: Mapping[str, Posed]) -> Loop:
    """Return the loop of a joint of SDF in an element of Gazebo. Its frame is in that of its child, at rest."""
    name = element.attributes.get("name", "")
    where = f"joint {name!r} in <{GAZEBO}>"
    kind = _kind(where, element)
    parent, child = (
        link_of(where, element, key, None if (end := element.one(key)) is None else end.text.strip(), links)
        for key in ("parent", "child")
    )
    place = _pose(where, element.one("pose"))
    frame = poses[child].then(place)
    axis = _axis(where, element, frame, poses) if kind in ("revolute", "prismatic") else Z
    first = poses[parent].inverse().then(frame)
    pose = first.pose(), place.pose()
    ends = (parent, Place(pose[0].xyz, pose[0].rpy)), (child, Place(pose[1].xyz, pose[1].rpy))
    return Loop(name, kind, ends, axis, axis, f"line {element.line}")


def _numbers(where: str, element: Element, count: int) -> list[float]:
    parts = element.text.split()
    if len(parts) != count:
        raise wrong(where, element, f"<{element.name}> has {counted(len(parts), 'number')}; it must have {count}")
    return [checked(part, f"line {element.line}: {where}: <{element.name}>") for part in parts]


def _pose(where: str, element: Element | None) -> Posed:
    if element is None or not element.text.strip():
        return HERE
    if element.attributes:
        raise wrong(where, element, "<pose> has attributes; give the pose in the frame of the child without them")
    x, y, z, *angles = _numbers(where, element, 6)
    return Posed.of(Place((x, y, z), (angles[0], angles[1], angles[2])))


def _axis(where: str, joint: Element, frame: Posed, poses: Mapping[str, Posed]) -> Vector:
    """Return the axis of a joint in its frame."""
    axis = joint.one("axis")
    xyz = None if axis is None else axis.one("xyz")
    if axis is None or xyz is None:
        raise wrong(where, joint, "has no <axis> with <xyz>")
    direction = np.array(_numbers(where, xyz, 3))
    if (size := float(np.linalg.norm(direction))) < 1e-9:
        raise wrong(where, xyz, "<xyz> is zero; it must have a direction")
    model = axis.one("use_parent_model_frame")
    given = MODEL if model is not None and model.text.strip() in ("1", "true") else ""
    given = xyz.attributes.get("expressed_in", "").strip() or given
    if given and given != MODEL and given not in poses:
        raise wrong(where, xyz, unknown_name("expressed_in names the unknown link", given, poses))
    if given:
        other = HERE if given == MODEL else poses[given]
        direction = frame.R.T @ other.R @ direction
    x, y, z = (direction / size).tolist()
    return x, y, z


def _resisted(joint: Element) -> bool:
    """Return True if a joint has damping, friction or a spring."""
    axis = joint.one("axis")
    parts = () if axis is None else (x for each in axis.named("dynamics") for x in each.children)
    return any(x.name != "spring_reference" and x.text.strip() not in ("0", "0.0") for x in parts)
