"""Names, numbers and poses in the elements of URDF files."""

from collections.abc import Collection
from math import hypot
from typing import Any

from flexarm.checks import Fault, Vector, shown, unknown_name
from flexarm.description.robots.robot import Place
from flexarm.description.robots.values import checked
from flexarm.description.robots.xml import Element


def name_of(element: Element, taken: Any) -> str:
    """Return the name of an element, which must differ from those that are taken."""
    name = element.attributes.get("name")
    if name is None or not name.strip():
        raise Fault("", f"line {element.line}: a <{element.name}> has no name", sentence=True)
    if name in taken:
        raise Fault("", f"line {element.line}: {element.name} {shown(name)} is defined twice", sentence=True)
    return name


def wrong(where: str, element: Element, said: str) -> Fault:
    """Return the error in an element."""
    return Fault("", f"line {element.line}: {where}: {said}", sentence=True)


def number(where: str, element: Element, key: str, default: float | None = None, text: str | None = None) -> float:
    """Return a number of an attribute, or of a text."""
    given = element.attributes.get(key) if text is None else text
    what = f"<{element.name}> {key}".strip()
    if given is None:
        if default is not None:
            return default
        raise wrong(where, element, f"{what} is missing")
    return checked(given, f"line {element.line}: {where}: {what}")


def vector(where: str, element: Element | None, key: str, default: Vector) -> Vector:
    """Return the three numbers of an attribute."""
    if element is None or (given := element.attributes.get(key)) is None:
        return default
    parts = given.split()
    if len(parts) != 3:
        said = f"<{element.name}> {key} is {shown(given)}; it must be three numbers"
        raise wrong(where, element, said)
    x, y, z = (number(where, element, key, text=part) for part in parts)
    return x, y, z


def place_of(where: str, holder: Element) -> Place:
    """Return the pose in the <origin> of an element."""
    return pose_of(where, holder.one("origin"))


def pose_of(where: str, element: Element | None) -> Place:
    """Return the pose in the attributes of an element."""
    return Place(vector(where, element, "xyz", (0.0, 0.0, 0.0)), vector(where, element, "rpy", (0.0, 0.0, 0.0)))


def link_of(where: str, holder: Element, key: str, name: str | None, links: Collection[str]) -> str:
    """Return the name of a link in an element, which must exist."""
    if name is None:
        raise wrong(where, holder, f"has no <{key}>")
    if name not in links:
        raise wrong(where, holder, unknown_name(f"<{key}> names the unknown link", name, links))
    return name


def axis_of(where: str, joint: Element) -> Vector:
    """Return the unit vector along the axis of a joint."""
    element = joint.one("axis")
    axis = vector(where, element, "xyz", (1.0, 0.0, 0.0))
    if (size := hypot(*axis)) < 1e-9:
        raise wrong(where, joint, "<axis> is zero; it must have a direction")
    x, y, z = (a / size for a in axis)
    return x, y, z
