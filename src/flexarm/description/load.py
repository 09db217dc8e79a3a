"""Bundled arms, and arms read from files."""

import os
from importlib import resources
from importlib.resources.abc import Traversable
from os import PathLike
from pathlib import Path
from typing import Any

from flexarm.catalogue import PLACES
from flexarm.checks import advised, choices, did_you_mean, shown
from flexarm.description.arm import Arm
from flexarm.description.robots.reading import BESIDE, SUFFIXES, beside, is_robots, robot_report, warned
from flexarm.description.tables import MOST_BYTES, path_text, printable, read_toml
from flexarm.errors import DescriptionError, errors_in

__all__ = ["MOST_BYTES", "SUFFIXES", "bundled", "load", "path_text", "printable", "read_toml"]


NAMED_BY = {
    "scenario": "not a scenario; a scenario names its arm by the key 'arm'",
    "study": "not a study; a study names its scenario by the key 'scenario'",
}
"""Hint for a file that is given in place of another kind of file."""


def bundled() -> tuple[str, ...]:
    """Return the sorted names of the arms that come with the package."""
    return catalogued("arm")


def catalogued(kind: str) -> tuple[str, ...]:
    """Return the sorted names of everything of a kind, such as "arm", that comes with the package."""
    files = (resources.files("flexarm.catalogue") / PLACES[kind]).iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def table_of(kind: str, name: str) -> dict[str, Any]:
    """Return the tables of a bundled file unchanged."""
    file, given, _ = located("table_of", kind, name)
    return read_toml(file, given)


def description_of(kind: str, name: str) -> str:
    """Return the description that a bundled file contains."""
    return str(table_of(kind, name).get("description", ""))


def located(caller: str, kind: str, name_or_path: object) -> tuple[Traversable, str, Path | None]:
    """Return the file of a bundled name or of the path of a .toml file, its name in messages, and its folder.

    The folder is None for a bundled file. Raises `DescriptionError`.
    """
    given = path_text(caller, _one(kind), name_or_path)
    if kind != "arm" and os.path.isfile(given) and is_robots(given) and given not in catalogued(kind):
        raise DescriptionError(f"{printable(given)}: this is an arm, {NAMED_BY[kind]}")
    if not isinstance(name_or_path, str) or Path(given).name != given or given.endswith(".toml"):
        return Path(given), given, Path(given).parent
    if given not in catalogued(kind):
        path = f"give the path of a {choices(*_endings(kind))} file, or the name of a bundled {kind}"
        advice = f"{path}: {', '.join(catalogued(kind))}"
        raise DescriptionError(advised(f"unknown {kind} {shown(given)}", _hint(kind, given), advice))
    given += ".toml"
    return resources.files("flexarm.catalogue") / PLACES[kind] / given, given, None


def _hint(kind: str, given: str) -> str:
    """Return a hint for an unknown name: an existing file, a bundled name of another kind, or a similar name."""
    for ending in _endings(kind):
        if os.path.isfile(given + ending):
            return f"did you mean {shown(given + ending)}?"
    if others := [other for other in PLACES if given in catalogued(other)]:
        return f"{shown(given)} is the name of {_one(others[0])}."
    return did_you_mean(given, catalogued(kind))


def _endings(kind: str) -> tuple[str, ...]:
    """Return the endings of the files that can contain something of this kind."""
    return (".toml", *SUFFIXES) if kind == "arm" else (".toml",)


def seen_from(folder: Path | None, arm: object) -> object:
    """Return the arm that a file in this folder names, either by a name or by a path relative to the folder."""
    if folder is None or not isinstance(arm, str) or arm in bundled():
        return arm
    path = str(folder / arm)
    return path if arm.lower().endswith(".toml") or is_robots(path) else arm


def _one(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def load(name_or_path: str | PathLike[str]) -> Arm:
    """Return a bundled arm by its name, or an arm from the path of a .toml, URDF, MJCF or SDF file.

    A file that begins like XML is a robot file, whatever its ending. Its first element distinguishes URDF, MJCF and
    SDF. A file `robot.flex.toml` next to `robot.urdf`, `robot.xml` or `robot.sdf` lists the flexible links and the
    elastic joints, see `from_urdf`, `from_mjcf` and `from_sdf`.

    Raises `DescriptionError` with a line that begins with the file's name, also for a scenario or a study.
    """
    path = path_text("load", "an arm", name_or_path)
    if path.lower().endswith(".xacro") and os.path.isfile(path):
        said = "this is a xacro file; convert it to URDF first: `xacro FILE > robot.urdf`"
        raise DescriptionError(f"{printable(path)}: {said}")
    if is_robots(path) and path not in bundled():
        return warned(robot_report(path, flexible=beside(path)), path).arm
    if path.endswith(BESIDE):
        each = [path.removesuffix(BESIDE) + suffix for suffix in SUFFIXES]
        robot = next((file for file in each if os.path.isfile(file)), each[0])
        raise DescriptionError(
            f"{printable(path)}: this file has the settings of a robot; load the robot file {shown(robot)}"
        )
    file, given, folder = located("load", "arm", name_or_path)
    table = read_toml(file, given)
    for kind, key in (("study", "scenario"), ("scenario", "arm")):
        if key in table:
            raise DescriptionError(f"{printable(given)}: this is a {kind}; its {key} is {shown(table[key])}")
    with errors_in(printable(given), "Arm"):
        return Arm(**_seen_from(folder, table))


def _seen_from(folder: Path | None, table: dict[str, Any]) -> dict[str, Any]:
    """Return the table of an arm, with the files of its parts relative to the arm's folder."""
    links = table.get("links")
    for link in links if folder is not None and isinstance(links, list) else ():
        body = link.get("body") if isinstance(link, dict) else None
        if isinstance(body, dict) and isinstance(body.get("file"), str):
            body["file"] = str(folder / body["file"])
    return table
