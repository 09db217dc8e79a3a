"""`from_urdf`, `urdf_report`: a file, what a user says beside it, and the arm of both."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, final

from flexarm.checks import Fault, shown
from flexarm.description.arm import Arm
from flexarm.description.robots.assembly import Assembled, Setting, assembled
from flexarm.description.robots.robot import Limits
from flexarm.description.robots.settings import Settings
from flexarm.description.robots.urdf import robot
from flexarm.description.robots.xml import read_xml
from flexarm.description.tables import printable, read_toml
from flexarm.errors import DescriptionError, NotUnderstood

BESIDE = ".flex.toml"
"""How the file beside `robot.urdf` ends that says which links bend: `robot.flex.toml`."""


@final
@dataclass(frozen=True)
class UrdfReport:
    """What became of a URDF file.

    Attributes
    ----------
    arm : Arm
    joints : dict
        By the names of the file's joints the names of the arm's coordinates.
    merged : dict
        By the names of links that are one with another the name of that, or "base".
    limits : dict
        By the names of coordinates the file's limits: `lower`, `upper` [rad or m], `velocity` [rad/s or m/s], `effort`
        [N m or N], None where the file has none. The arm moves without them, unless its settings ask for stops or a
        motor.
    not_understood : tuple of str
        What of the file may matter to the motion and is not in the arm, with lines; also a warning.
    left_out : tuple of str
        What says nothing of the motion: shapes to look at and to collide with, materials, limits of ROS's controllers.
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
    return warned(urdf_report(path, tip=tip, flexible=flexible, base=base, gravity=gravity, locked=locked), path).arm


def warned(report: UrdfReport, path: str | PathLike[str]) -> UrdfReport:
    """The report, after one warning of all that was not understood."""
    if report.not_understood:
        said = f"{printable(fspath(path))}: not understood: {'; '.join(report.not_understood)}"
        warnings.warn(said, NotUnderstood, stacklevel=3)
    return report


def urdf_report(
    path: str | PathLike[str],
    *,
    tip: str | None = None,
    flexible: Mapping[str, Any] | str | PathLike[str] | None = None,
    base: Literal["fixed", "free"] | None = None,
    gravity: Sequence[float] | None = None,
    locked: Mapping[str, float] | None = None,
) -> UrdfReport:
    """What becomes of a URDF file: the arm, names, limits, and all that is not in it; arguments as of `from_urdf`."""
    given = _path("from_urdf", path)
    name = printable(given)
    beside, table = _settings(flexible)
    more = {"tip": tip, "base": base, "gravity": gravity, "locked": locked}
    table |= {key: value for key, value in more.items() if value is not None}
    try:
        settings = Settings(**table)
    except DescriptionError as error:
        raise error.inside(beside, "Settings") from None
    try:
        read = robot(read_xml(Path(given)))
        made = assembled(read, settings)
    except Setting as error:
        raise DescriptionError(f"{beside}: {error}") from None
    except Fault as fault:
        raise DescriptionError(f"{name}: {fault.message}") from None
    except DescriptionError as error:
        raise error.inside(name, "Arm") from None
    return _report(made, read.strange, read.aside)


def _report(made: Assembled, strange: Sequence[str], aside: Sequence[str]) -> UrdfReport:
    not_understood = (*made.strange, *strange)
    return UrdfReport(made.arm, made.joints, made.merged, made.limits, not_understood, tuple(aside), tuple(made.notes))


def beside(path: str | PathLike[str]) -> Path | None:
    """The file beside a URDF file that says which links bend, where there is one."""
    file = Path(_path("load", path))
    found = file.with_name(file.stem + BESIDE)
    return found if found.is_file() else None


def _path(caller: str, path: object) -> str:
    given = fspath(path) if isinstance(path, str | PathLike) else None
    if not isinstance(given, str) or not given:
        raise DescriptionError(f"{caller}: path is {shown(path)}; it must be the path of a URDF file")
    return given


def _settings(flexible: object) -> tuple[str, dict[str, Any]]:
    """What messages call them, and their tables."""
    if flexible is None:
        return "from_urdf", {}
    if isinstance(flexible, Mapping):
        for key in flexible:
            if not isinstance(key, str):
                raise DescriptionError(f"from_urdf: flexible has the key {shown(key)}; its keys are texts")
        return "from_urdf: flexible", dict(flexible)
    given = _path("from_urdf: flexible", flexible) if isinstance(flexible, str | PathLike) else None
    if given is None:
        said = "it must be a table with links and joints, or the path of a TOML file"
        raise DescriptionError(f"from_urdf: flexible is {shown(flexible)}; {said}")
    return printable(given), read_toml(Path(given), given)
