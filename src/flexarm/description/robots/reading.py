"""Arms from robot files and the user's settings: `from_urdf`, `from_mjcf`, `from_sdf`, `robot_report`."""

import codecs
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, final

from flexarm.brief import brief
from flexarm.checks import Fault, counted, shown
from flexarm.description.arm import Arm
from flexarm.description.robots import mjcf, sdf, urdf
from flexarm.description.robots.assembly import assembled
from flexarm.description.robots.compounds import expanded, without_angles
from flexarm.description.robots.named_files import named
from flexarm.description.robots.robot import Limits, Robot
from flexarm.description.robots.settings import Setting, Settings
from flexarm.description.robots.xml import read_xml
from flexarm.description.tables import printable, read_toml
from flexarm.errors import DescriptionError, NotUnderstood, errors_in

START = 4096
"""Number of first bytes that are read to recognize a file."""

SUFFIXES = (".urdf", ".xml", ".mjcf", ".sdf")
"""Endings of the names of robot files."""

BESIDE = ".flex.toml"
"""Ending of the settings file next to `robot.urdf`, `robot.xml` or `robot.sdf`, which lists the flexible links:
`robot.flex.toml`."""


@final
@brief
@dataclass(frozen=True)
class RobotReport:
    """Result of reading a robot file.

    Attributes
    ----------
    arm : Arm
        The arm.
    joints : dict
        Names of the arm's coordinates, by the names of the file's joints. Ball joints with a quaternion are in `notes`.
    merged : dict
        Links that were combined with another: the name of the other link, or "base", by the name of the link.
    limits : dict
        Limits in the file by the names of coordinates: `lower`, `upper` [rad or m], `velocity` [rad/s or m/s], `effort`
        [N m or N], None if the file has none. For thrusters, the `effort` by the name of the input. The arm moves
        without these limits, unless its settings add stops or a motor.
    not_understood : tuple of str
        Lines on contents that may matter to the motion and are not in the arm. They are also a warning.
    left_out : tuple of str
        Contents without effect on the motion: shapes for visualization and collision, materials, limits of ROS
        controllers, sensors, numerical methods of MuJoCo.
    notes : tuple of str
        Decisions of the reader: names, the tip, beams in place of inertias.
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
        lines = [
            f"{arm.name}: {counted(len(arm.joints) + len(arm.balls), 'joint')}, "
            f"{counted(len(arm.links), 'link')}, {len(self.merged)} merged"
        ]
        for title, said in (
            ("not understood", self.not_understood),
            ("left out", self.left_out),
            ("notes", self.notes),
        ):
            lines += [f"{title}:", *(f"  {each}" for each in said)] if said else []
        return "\n".join(lines)


UrdfReport = RobotReport
"""Previous name of `RobotReport`, from before MJCF was supported."""


def from_urdf(
    path: str | PathLike[str],
    *,
    tip: str | None = None,
    flexible: Mapping[str, Any] | str | PathLike[str] | None = None,
    base: Literal["fixed", "free"] | None = None,
    gravity: Sequence[float] | None = None,
    locked: Mapping[str, float] | None = None,
) -> Arm:
    """Return the arm of a URDF file with all its links, the flexible ones as beams.

    One warning lists all contents that were not understood. Links keep their names and frames. A coordinate is named
    after its link, "panda_link3.joint". Links behind fixed joints are combined with the link that carries them. The
    frame of a flexible link has its x axis along the beam. `urdf_report` returns a report on the complete file.

    Parameters
    ----------
    path : str or path
        URDF file.
    tip : str, optional
        Link whose frame is the tip of the arm. Default: the link behind the most joints. All branches are kept.
    flexible : dict or path, optional
        {"links": {name: {"EI": ..., ...}}, "joints": {name: {"stiffness": ..., ...}}}: fields of a `Beam` for flexible
        links, and of a `Revolute` or `Prismatic` for joints. A path names a TOML file with these tables, which may also
        have the arguments below.
    base : "fixed" or "free", optional
        Kind of base. Default: free if the root only carries a floating joint.
    gravity : (3,), optional
        Gravity in the frame of the root link [m/s^2]. Default: (0, 0, -9.81).
    locked : dict, optional
        Joints that do not move, with their fixed coordinates [rad or m].

    Raises
    ------
    DescriptionError
        If the file or an argument cannot be understood. The message is a line that begins with the file's name.
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
    """Return the arm of an MJCF file, the format of MuJoCo. `from_urdf` describes the result, with bodies in place of
    links.

    MuJoCo itself reads the file, in a process of its own (extra `mjcf`). Bodies keep their names. A coordinate is named
    after its body, or after its joint if the joint is not the last of its body.

    Parameters
    ----------
    path : str or path
        MJCF file.
    tip : str, optional
        Body or site whose frame is the tip of the arm. Default: the body behind the most joints.
    flexible, locked
        As in `from_urdf`.
    base : "fixed" or "free", optional
        Kind of base. Default: free if a free joint is the only joint by which bodies move in the world.
    gravity : (3,), optional
        Gravity in the world frame [m/s^2]. Default: the value in the file.

    Raises
    ------
    DescriptionError
        If the file or an argument cannot be understood, or MuJoCo is not installed. The message is a line that begins
        with the file's name.
    """
    report = _report("from_mjcf", path, "mujoco", flexible, tip=tip, base=base, gravity=gravity, locked=locked)
    return warned(report, path).arm


def from_sdf(
    path: str | PathLike[str],
    *,
    tip: str | None = None,
    flexible: Mapping[str, Any] | str | PathLike[str] | None = None,
    base: Literal["fixed", "free"] | None = None,
    gravity: Sequence[float] | None = None,
    locked: Mapping[str, float] | None = None,
) -> Arm:
    """Return the arm of an SDF file, the format of Gazebo, in the versions 1.4 to 1.12. `from_urdf` describes the
    result.

    The file has a model, or a world with models. Links and joints of nested models have names such as "hand::palm". A
    link whose joint turns about another point than the link's origin has its frame at this point. Models in other
    files are included if these files are near the file.

    Parameters
    ----------
    path : str or path
        SDF file.
    tip : str, optional
        Link or frame of the file whose frame is the tip of the arm. Default: the link behind the most joints.
    flexible, locked
        As in `from_urdf`.
    base : "fixed" or "free", optional
        Kind of base. Default: free if no joint connects a moving model to the world, as in Gazebo.
    gravity : (3,), optional
        Gravity in the world frame [m/s^2]. Default: the value of the world in the file, or (0, 0, -9.81) for a model.

    Raises
    ------
    DescriptionError
        If the file or an argument cannot be understood. The message is a line that begins with the file's name.
    """
    report = _report("from_sdf", path, "sdf", flexible, tip=tip, base=base, gravity=gravity, locked=locked)
    return warned(report, path).arm


def warned(report: RobotReport, path: str | PathLike[str]) -> RobotReport:
    """Return the report, after one warning on all contents that were not understood."""
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
    """Return the report of a URDF, MJCF or SDF file: the arm, names, limits, and contents that are not in the arm.

    The arguments are those of `from_urdf`, `from_mjcf` and `from_sdf`.
    """
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
    """Return the report of a URDF file, as `robot_report` does. The arguments are those of `from_urdf`."""
    return _report("from_urdf", path, "robot", flexible, tip=tip, base=base, gravity=gravity, locked=locked)


def _report(caller: str, path: object, wanted: str | None, flexible: object, **more: object) -> RobotReport:
    """Return the report of a file. `wanted` is the name of its first element, or None for all formats."""
    given = _path(caller, path)
    name = printable(given)
    beside, table = _settings(caller, flexible)
    table |= {key: value for key, value in more.items() if value is not None}
    with errors_in(beside, "Settings"):
        settings = Settings(**table)
    try:
        robot = _robot(Path(given), wanted, settings)
        read = expanded(robot, settings)
        made = assembled(read, without_angles(robot, settings))
    except Setting as error:
        raise DescriptionError(f"{beside}: {error}") from None
    except Fault as fault:
        raise DescriptionError(f"{name}: {fault.message}") from None
    except DescriptionError as error:
        raise error.inside(name, "Arm") from None
    strange, notes = (*made.strange, *read.strange), (*read.notes, *made.notes)
    return RobotReport(made.arm, made.joints, made.merged, made.limits, strange, tuple(read.aside), notes)


def _robot(path: Path, wanted: str | None, settings: Settings) -> Robot:
    """Return the contents of a file in the format that its first element names."""
    if other := _signed(path):
        raise Fault("", f"this is {other}; {ONLY}", sentence=True)
    root = read_xml(path)
    if root.name not in READERS:
        formats = (wanted and [wanted]) or list(READERS)
        which = ", ".join(f"{FILES[each]} file begins with <{each}>" for each in formats)
        other = f"; this is {OTHERS[root.name]}; {ONLY}" if root.name in OTHERS else ""
        raise Fault("", f"line {root.line}: the first element is <{root.name}>; {which}{other}", sentence=True)
    if wanted not in (None, root.name):
        said = f"{FILES[str(wanted)]} file begins with <{wanted}>; use `{READERS[root.name]}` for this file"
        raise Fault("", f"line {root.line}: the first element is <{root.name}>; {said}", sentence=True)
    if root.name == "robot":
        return urdf.robot(root)
    ends = [table.get("to") for table in settings.links.values()]
    points = {x for x in (settings.tip, *ends) if isinstance(x, str)}
    return (mjcf if root.name == "mujoco" else sdf).robot(path, root, points)


FILES = {"robot": "a URDF", "mujoco": "an MJCF", "sdf": "an SDF"}
READERS = {"robot": "from_urdf", "mujoco": "from_mjcf", "sdf": "from_sdf"}
ONLY = "only URDF, MJCF and SDF files can be read"
OTHERS = {
    "gazebo": "an old SDF file (Gazebo)",
    "mujocoinclude": "a part that another MJCF file includes",
    "COLLADA": "a COLLADA file, which contains only shapes",
    "Robot": "an OpenRAVE file",
    "KinBody": "an OpenRAVE file",
    "OpenSimDocument": "an OpenSim file",
}
"""Names in messages of robot formats that are not supported, by their first elements."""
SIGNED = {b"#usda": "a USD file", b"PXR-USDC": "a USD file", b"#VRML_SIM": "a Webots file"}
"""Names in messages of robot formats that are not supported, by their first bytes."""


FIRST = (b"<", codecs.BOM_UTF16_LE + "<".encode("utf-16-le"), codecs.BOM_UTF16_BE + "<".encode("utf-16-be"))
"""First bytes of an XML file, with one or with two bytes per character."""


def is_robots(path: str) -> bool:
    """Return True for a robot file, by the ending of its name or by its first bytes."""
    if path.lower().endswith(SUFFIXES):
        return True
    start = _start(Path(path))
    return bool(_signed(Path(path))) or start.startswith(FIRST)


def _signed(path: Path) -> str:
    """Return the format of a file that is not XML, by its first bytes, or "" if it is unknown."""
    start = _start(path)
    return next((what for sign, what in SIGNED.items() if start.startswith(sign)), "")


def _start(path: Path) -> bytes:
    """Return the first bytes of a file after white space, or nothing if it is not a file."""
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
    """Return the settings file next to a robot file, or None if there is none."""
    file = Path(_path("load", path))
    found = file.with_name(file.stem + BESIDE)
    return found if found.is_file() else None


def _path(caller: str, path: object) -> str:
    what = {"from_urdf": "a URDF", "from_mjcf": "an MJCF", "from_sdf": "an SDF"}.get(caller, "a robot's")
    given = fspath(path) if isinstance(path, str | PathLike) else None
    if not isinstance(given, str) or not given:
        raise DescriptionError(f"{caller}: path is {shown(path)}; it must be the path of {what} file")
    return given


def _settings(caller: str, flexible: object) -> tuple[str, dict[str, Any]]:
    """Return the name of the settings in messages, and their tables."""
    if flexible is None:
        return caller, {}
    if isinstance(flexible, Mapping):
        for key in flexible:
            if not isinstance(key, str):
                raise DescriptionError(f"{caller}: flexible has the key {shown(key)}; keys must be texts")
        return f"{caller}: flexible", dict(flexible)
    given = _path(f"{caller}: flexible", flexible) if isinstance(flexible, str | PathLike) else None
    if given is None:
        said = "it must be a table with links and joints, or the path of a TOML file"
        raise DescriptionError(f"{caller}: flexible is {shown(flexible)}; {said}")
    return printable(given), read_toml(Path(given), given)
