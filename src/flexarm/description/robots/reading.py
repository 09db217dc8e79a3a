"""`from_urdf`, `from_mjcf`, `robot_report`: a file, what a user says beside it, and the arm of both."""

import codecs
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, final

from flexarm.checks import Fault, shown
from flexarm.description.arm import Arm
from flexarm.description.robots import mjcf, urdf
from flexarm.description.robots.assembly import Setting, assembled
from flexarm.description.robots.named_files import named
from flexarm.description.robots.robot import Limits, Robot
from flexarm.description.robots.settings import Settings
from flexarm.description.robots.xml import read_xml
from flexarm.description.tables import printable, read_toml
from flexarm.errors import DescriptionError, NotUnderstood

START = 4096
"""Number of first bytes that are read to recognize a file."""

SUFFIXES = (".urdf", ".xml", ".mjcf")
"""Of files of robots."""

BESIDE = ".flex.toml"
"""How the file beside `robot.urdf` or `robot.xml` ends that says which links bend: `robot.flex.toml`."""


@final
@dataclass(frozen=True)
class RobotReport:
    """What became of a robot's file.

    Attributes
    ----------
    arm : Arm
    joints : dict
        By the names of the file's joints the names of the arm's coordinates.
    merged : dict
        By the names of links that are one with another the name of that, or "base".
    limits : dict
        By the names of coordinates the file's limits: `lower`, `upper` [rad or m], `velocity` [rad/s or m/s], `effort`
        [N m or N], None where the file has none; by the names of their inputs the `effort` of thrusters. The arm moves
        without them, unless its settings ask for stops or a motor.
    not_understood : tuple of str
        What of the file may matter to the motion and is not in the arm, with lines; also a warning.
    left_out : tuple of str
        What says nothing of the motion: shapes to look at and to collide with, materials, limits of ROS's controllers,
        sensors, how MuJoCo computes.
    notes : tuple of str
        What was decided: names, the tip, the beams that stand for inertias.
    """

    arm: Arm
    joints: dict[str, str]
    merged: dict[str, str]
    limits: dict[str, Limits]
    not_understood: tuple[str, ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        arm = self.arm
        lines = [f"{arm.name}: {len(arm.joints)} joints, {len(arm.links)} links, {len(self.merged)} merged"]
        for title, said in (
            ("not understood", self.not_understood),
            ("left out", self.left_out),
            ("notes", self.notes),
        ):
            lines += [f"{title}:", *(f"  {each}" for each in said)] if said else []
        return "\n".join(lines)


UrdfReport = RobotReport
"""Its name before there was MJCF."""


def from_urdf(
    path: str | PathLike[str],
    *,
    tip: str | None = None,
    flexible: Mapping[str, Any] | str | PathLike[str] | None = None,
    base: Literal["fixed", "free"] | None = None,
    gravity: Sequence[float] | None = None,
    locked: Mapping[str, float] | None = None,
) -> Arm:
    """The arm of a URDF file: all its links, those that bend as beams; what was not understood is one warning.

    Links keep their names and frames; a coordinate is named by its link, "panda_link3.joint". Links behind fixed joints
    are one with what carries them. Of links that bend the frame has its x along the beam. `urdf_report` says all that
    became of the file.

    Parameters
    ----------
    path : str or path
    tip : str, optional
        The link whose frame is the arm's tip; default the one behind the most joints. All branches are kept.
    flexible : dict or path, optional
        {"links": {name: {"EI": ..., ...}}, "joints": {name: {"stiffness": ..., ...}}}: fields of a `Beam` for links
        that bend, of a `Revolute` or `Prismatic` for joints; or the path of a TOML file with these tables, which may
        also have the arguments below.
    base : "fixed" or "free", optional
        Default: free where the root is nothing but the frame on which a floating joint stands.
    gravity : (3,), optional
        In the root link's frame [m/s^2]; default (0, 0, -9.81).
    locked : dict, optional
        Joints that do not move, and where they stand [rad or m].

    Raises
    ------
    DescriptionError
        Where the file or an argument cannot be understood; one line that begins with the file's name.
    """
    report = _report("from_urdf", path, "robot", flexible, tip=tip, base=base, gravity=gravity, locked=locked)
    return warned(report, path).arm


def from_mjcf(
    path: str | PathLike[str],
    *,
    tip: str | None = None,
    flexible: Mapping[str, Any] | str | PathLike[str] | None = None,
    base: Literal["fixed", "free"] | None = None,
    gravity: Sequence[float] | None = None,
    locked: Mapping[str, float] | None = None,
) -> Arm:
    """The arm of an MJCF file, MuJoCo's format: as `from_urdf`, whose words hold for bodies in the place of links.

    MuJoCo itself reads the file, in a process of its own: the extra `mjcf`. Bodies keep their names; a coordinate is
    named by its body, or by its joint where that is not the body's last.

    Parameters
    ----------
    path : str or path
    tip : str, optional
        The body or the site whose frame is the arm's tip; default the body behind the most joints.
    flexible, locked
        As of `from_urdf`.
    base : "fixed" or "free", optional
        Default: free where what stands in the world moves by no joint but a free one.
    gravity : (3,), optional
        In the world's frame [m/s^2]; default the file's.

    Raises
    ------
    DescriptionError
        Where the file or an argument cannot be understood, or MuJoCo is not installed; one line that begins with the
        file's name.
    """
    report = _report("from_mjcf", path, "mujoco", flexible, tip=tip, base=base, gravity=gravity, locked=locked)
    return warned(report, path).arm


def warned(report: RobotReport, path: str | PathLike[str]) -> RobotReport:
    """The report, after one warning of all that was not understood."""
    if report.not_understood:
        said = f"{printable(fspath(path))}: not understood: {'; '.join(report.not_understood)}"
        warnings.warn(said, NotUnderstood, stacklevel=3)
    return report


def robot_report(
    path: str | PathLike[str],
    *,
    tip: str | None = None,
    flexible: Mapping[str, Any] | str | PathLike[str] | None = None,
    base: Literal["fixed", "free"] | None = None,
    gravity: Sequence[float] | None = None,
    locked: Mapping[str, float] | None = None,
) -> RobotReport:
    """What becomes of a URDF or an MJCF file: the arm, names, limits, and all that is not in it; arguments as there."""
    return _report("robot_report", path, None, flexible, tip=tip, base=base, gravity=gravity, locked=locked)


def urdf_report(
    path: str | PathLike[str],
    *,
    tip: str | None = None,
    flexible: Mapping[str, Any] | str | PathLike[str] | None = None,
    base: Literal["fixed", "free"] | None = None,
    gravity: Sequence[float] | None = None,
    locked: Mapping[str, float] | None = None,
) -> RobotReport:
    """What becomes of a URDF file, as `robot_report` says; arguments as of `from_urdf`."""
    return _report("from_urdf", path, "robot", flexible, tip=tip, base=base, gravity=gravity, locked=locked)


def _report(caller: str, path: object, wanted: str | None, flexible: object, **more: object) -> RobotReport:
    """The report of a file; `wanted` is the name of its first element, None for one of both."""
    given = _path(caller, path)
    name = printable(given)
    beside, table = _settings(caller, flexible)
    table |= {key: value for key, value in more.items() if value is not None}
    try:
        settings = Settings(**table)
    except DescriptionError as error:
        raise error.inside(beside, "Settings") from None
    try:
        read = _robot(Path(given), wanted, settings)
        made = assembled(read, settings)
    except Setting as error:
        raise DescriptionError(f"{beside}: {error}") from None
    except Fault as fault:
        raise DescriptionError(f"{name}: {fault.message}") from None
    except DescriptionError as error:
        raise error.inside(name, "Arm") from None
    strange, notes = (*made.strange, *read.strange), (*read.notes, *made.notes)
    return RobotReport(made.arm, made.joints, made.merged, made.limits, strange, tuple(read.aside), notes)


def _robot(path: Path, wanted: str | None, settings: Settings) -> Robot:
    """What a file says, of the format that its first element names."""
    if other := _signed(path):
        raise Fault("", f"this is {other}; {ONLY}", sentence=True)
    root = read_xml(path)
    if root.name not in READERS:
        formats = (wanted and [wanted]) or list(READERS)
        which = " and ".join(f"that of {FILES[each]} file is <{each}>" for each in formats)
        other = f"; this is {OTHERS[root.name]}; {ONLY}" if root.name in OTHERS else ""
        raise Fault("", f"line {root.line}: the first element is <{root.name}>; {which}{other}", sentence=True)
    if wanted not in (None, root.name):
        said = f"that of {FILES[str(wanted)]} file is <{wanted}>; `{READERS[root.name]}` reads this one"
        raise Fault("", f"line {root.line}: the first element is <{root.name}>; {said}", sentence=True)
    if root.name == "robot":
        return urdf.robot(root)
    ends = [table.get("to") for table in settings.links.values()]
    return mjcf.robot(path, root, {x for x in (settings.tip, *ends) if isinstance(x, str)})


FILES = {"robot": "a URDF", "mujoco": "an MJCF"}
READERS = {"robot": "from_urdf", "mujoco": "from_mjcf"}
ONLY = "robots are read from URDF and MJCF files"
OTHERS = {
    "sdf": "an SDF file, Gazebo's",
    "gazebo": "an old SDF file, Gazebo's",
    "mujocoinclude": "a part of an MJCF file, which includes it",
    "COLLADA": "a COLLADA file, which has shapes",
    "Robot": "an OpenRAVE file",
    "KinBody": "an OpenRAVE file",
    "OpenSimDocument": "an OpenSim file",
}
"""Formats of robots that are not read, by their first elements."""
SIGNED = {b"#usda": "a USD file", b"PXR-USDC": "a USD file", b"#VRML_SIM": "a Webots file"}
"""Formats of robots that are not read, by their first bytes."""


FIRST = (b"<", codecs.BOM_UTF16_LE + "<".encode("utf-16-le"), codecs.BOM_UTF16_BE + "<".encode("utf-16-be"))
"""First bytes of an XML file, in one byte a character or in two."""


def is_robots(path: str) -> bool:
    """Return whether a file is a robot's, by the ending of its name or by its first bytes."""
    if path.lower().endswith(SUFFIXES):
        return True
    start = _start(Path(path))
    return bool(_signed(Path(path))) or start.startswith(FIRST)


def _signed(path: Path) -> str:
    """Return the format of a file that is not XML, by its first bytes, or "" if it is unknown."""
    start = _start(path)
    return next((what for sign, what in SIGNED.items() if start.startswith(sign)), "")


def _start(path: Path) -> bytes:
    """Return the first bytes of a file after white space; empty if it is not a file."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as opened:
            return opened.read(START).removeprefix(codecs.BOM_UTF8).lstrip()
    except (OSError, ValueError):  # ValueError: a name with a null byte
        return b""


def read_with(path: str | PathLike[str]) -> tuple[list[Path], list[Path]]:
    """Return the files beside a robot's that are read with it, and the files that it names: parts and shapes.

    Both are empty for a file that cannot be read.
    """
    file, found = Path(path), beside(path)
    try:
        root = read_xml(file)
    except Fault:
        root = None
    return [] if found is None else [found], [] if root is None else list(named(file, root))


def beside(path: str | PathLike[str]) -> Path | None:
    """The file beside a robot's that says which links bend, where there is one."""
    file = Path(_path("load", path))
    found = file.with_name(file.stem + BESIDE)
    return found if found.is_file() else None


def _path(caller: str, path: object) -> str:
    what = {"from_urdf": "a URDF", "from_mjcf": "an MJCF"}.get(caller, "a robot's")
    given = fspath(path) if isinstance(path, str | PathLike) else None
    if not isinstance(given, str) or not given:
        raise DescriptionError(f"{caller}: path is {shown(path)}; it must be the path of {what} file")
    return given


def _settings(caller: str, flexible: object) -> tuple[str, dict[str, Any]]:
    """What messages call them, and their tables."""
    if flexible is None:
        return caller, {}
    if isinstance(flexible, Mapping):
        for key in flexible:
            if not isinstance(key, str):
                raise DescriptionError(f"{caller}: flexible has the key {shown(key)}; its keys are texts")
        return f"{caller}: flexible", dict(flexible)
    given = _path(f"{caller}: flexible", flexible) if isinstance(flexible, str | PathLike) else None
    if given is None:
        said = "it must be a table with links and joints, or the path of a TOML file"
        raise DescriptionError(f"{caller}: flexible is {shown(flexible)}; {said}")
    return printable(given), read_toml(Path(given), given)
