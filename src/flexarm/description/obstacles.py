"""Obstacles of an arm: spheres and planes."""

from collections.abc import Mapping
from typing import Annotated, Any, final

from pydantic import BeforeValidator

from flexarm.checks import (
    POSITIVE,
    Described,
    Fault,
    Vector,
    checked_list,
    faulted,
    number,
    shown,
    unit_vector,
    vector,
    within,
)


def _names(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = checked_list(value, "a list of links' names")
    if not names or not all(isinstance(name, str) for name in names):
        raise Fault("", f"is {shown(value)}; it must be a list of links' names")
    return tuple(names)


Links = Annotated[tuple[str, ...] | None, BeforeValidator(_names)]


@final
class Sphere(Described):
    """A sphere that links must not touch.

    Parameters
    ----------
    center : (3,)
        Centre [m], in the base frame, or in the world if the base is free.
    radius : float
        [m]
    links : list of str, optional
        Names of the links that must stay out; default all.
    """

    center: Annotated[Vector, vector("m")]
    radius: Annotated[float, number("m", POSITIVE)]
    links: Links = None


@final
class Plane(Described):
    """A wall or a floor that links must stay on one side of.

    Parameters
    ----------
    point : (3,)
        Point of the plane [m], in the base frame, or in the world if the base is free.
    normal : (3,)
        Unit vector that points from the wall to the arm's side.
    links : list of str, optional
        Names of the links that must stay on that side; default all.
    """

    point: Annotated[Vector, vector("m")] = (0.0, 0.0, 0.0)
    normal: Annotated[Vector, unit_vector]
    links: Links = None


def checked_obstacle(value: object) -> Any:
    """Check a sphere or a plane: an object, or a table whose fields decide which of both it is."""
    if isinstance(value, Mapping):
        value = faulted(Plane if "normal" in value or "point" in value else Sphere, value)
    if not isinstance(value, Sphere | Plane):
        raise Fault("", f"is {shown(value)}; it must be a sphere {{center, radius}} or a plane {{point, normal}}")
    return value


def _obstacles(value: object) -> tuple[Any, ...]:
    """Check a list of spheres and planes."""
    if value is None:
        return ()
    found = []
    for i, each in enumerate(checked_list(value, "a list of spheres {center, radius} and planes {point, normal}")):
        with within(f"[{i}]"):
            found.append(checked_obstacle(each))
    return tuple(found)


Obstacles = Annotated[Any, BeforeValidator(_obstacles)]
