"""Files of an SDF model: the first one, and those that <include> names, with limits on their number and size."""

import re
from dataclasses import dataclass
from pathlib import Path

from flexarm.checks import Fault, shown
from flexarm.description.robots.named_files import addresses, model_file
from flexarm.description.robots.values import Vocabulary, unread
from flexarm.description.robots.xml import MOST_ELEMENTS, Element, lines_of, read_xml
from flexarm.description.tables import printable

OLDEST, NEWEST = 4, 12
"""Second numbers of the oldest and of the newest version of SDF that are read: 1.4 and 1.12."""
MOST_INCLUDED, MOST_NESTED = 200, 40
"""Largest number of included models, and largest depth of models in models."""
NETWORK = ("http://", "https://")
TEMPLATE = ("{{", "{%", "<%", "@(", "${", "$(")
"""Signs of the template languages in which SDF files are generated: Jinja, ERB, EmPy and xacro."""

POSE = "relative_to frame rotation_format degrees"
KNOWN: dict[str, dict[str, str]] = {
    "sdf": {"world": "name", "model": "name canonical_link placement_frame"},
    "world": {
        "model": "name canonical_link placement_frame",
        "include": "merge",
        "frame": "name attached_to",
        "joint": "name type",
        "gravity": "",
    },
    "model": {
        "link": "name",
        "joint": "name type",
        "frame": "name attached_to",
        "model": "name canonical_link placement_frame",
        "include": "merge",
        "pose": POSE,
        "static": "",
        "drake:ball_constraint": "",
    },
    "drake:ball_constraint": {f"drake:ball_constraint_{x}": "" for x in ("body_A", "body_B", "p_AP", "p_BQ")},
    "include": {"uri": "", "name": "", "pose": POSE, "static": "", "placement_frame": ""},
    "frame": {"pose": POSE},
    "link": {
        "pose": POSE,
        "inertial": "auto",
        "gravity": "",
        "kinematic": "",
        "must_be_base_link": "",
        "velocity_decay": "",
    },
    "velocity_decay": {"linear": "", "angular": ""},
    "inertial": {"mass": "", "pose": POSE, "inertia": ""},
    "inertia": dict.fromkeys("ixx ixy ixz iyy iyz izz".split(), ""),
    "joint": {
        "parent": "",
        "child": "",
        "pose": POSE,
        "axis": "",
        "axis2": "",
        "thread_pitch": "",
        "screw_thread_pitch": "",
        "gearbox_ratio": "",
        "gearbox_reference_body": "",
        "drake:rotor_inertia": "",
        "drake:gear_ratio": "",
    },
    "axis": {"xyz": "expressed_in", "use_parent_model_frame": "", "dynamics": "", "limit": "", "mimic": "joint axis"},
    "dynamics": {"damping": "", "friction": "", "spring_reference": "", "spring_stiffness": ""},
    "limit": {"lower": "", "upper": "", "effort": "", "velocity": ""},
    "mimic": {"multiplier": "", "offset": "", "reference": ""},
}
"""Elements that are understood, with their attributes, by their parent elements."""
KNOWN["axis2"] = KNOWN["axis"]

SEVERAL = frozenset(
    {("sdf", "world"), ("sdf", "model"), ("model", "drake:ball_constraint")}
    | {(holder, each) for holder in ("world", "model") for each in ("model", "include", "frame", "joint", "link")}
)
"""Elements that may occur more than once in their parent. For all others the first counts."""

ASIDE: dict[str, tuple[str, ...]] = {
    "sdf": ("light", "actor"),
    "world": tuple(
        "light actor physics scene gui state audio atmosphere magnetic_field spherical_coordinates road".split()
    ),
    "model": ("self_collide", "allow_auto_disable", "enable_wind", "gripper"),
    "link": tuple(
        "visual collision sensor light projector audio_sink audio_source battery particle_emitter self_collide "
        "enable_wind".split()
    ),
    "inertial": ("density", "auto_inertia_params"),
    "joint": ("sensor", "physics"),
    **dict.fromkeys(("axis", "axis2"), ("initial_position",)),
    "limit": ("stiffness", "dissipation"),
}
"""Elements without effect on an arm's motion: appearance, measurements, initial states, numerical methods."""

WORDS = Vocabulary(KNOWN, SEVERAL, ASIDE)


@dataclass(frozen=True)
class File:
    """An SDF file: its path, its root element, the second number of its version, its name in messages with ", ", and
    the files that include it.

    The name is "" for the first file.
    """

    path: Path
    root: Element
    minor: int
    name: str
    above: frozenset[Path]

    def at(self, element: Element) -> str:
        """Return the position of an element in messages."""
        return f"{self.name}line {element.line}"

    def wrong(self, element: Element, said: str) -> Fault:
        """Return the error in an element."""
        return Fault("", f"{self.at(element)}: {said}", sentence=True)


class Files:
    """The first file of a robot, and the files that it includes."""

    def __init__(self, path: Path, root: Element):
        self._roots: dict[Path, Element] = {}
        self._included = self._elements = 0
        self.strange: dict[str, list[str]] = {}
        self.aside: dict[str, list[str]] = {}
        self.first = _opened(path, root, "", frozenset())
        self._list(self.first)

    def include(self, holder: File, element: Element) -> File | None:
        """Return the file that an <include> names, or None if it does not exist. Raises `Fault`."""
        text = uri_of(element)
        if not text:
            raise holder.wrong(element, "<include> has no <uri>")
        places = (holder.path.parent / text, *addresses(holder.path.parent, text))
        found = next(filter(None, map(model_file, places)), None) if not text.startswith(NETWORK) else None
        if found is None:
            return None
        whole = found.resolve()
        if whole in holder.above or whole == holder.path.resolve():
            raise holder.wrong(element, f"<include> of {shown(text)} includes itself")
        try:
            root = self._roots[whole] if (again := whole in self._roots) else read_xml(found)
            file = _opened(found, root, f"{printable(text)}, ", holder.above | {holder.path.resolve()})
            self._included += 1
            self._elements += sum(1 for _ in root.all())
            if self._included > MOST_INCLUDED:
                raise Fault("", f"more than {MOST_INCLUDED} models are included, the limit", sentence=True)
            if self._elements > MOST_ELEMENTS:
                raise Fault("", f"more than {MOST_ELEMENTS} elements, the limit for robot files", sentence=True)
        except Fault as fault:
            message = fault.message.removeprefix(f"{printable(text)}, ")
            raise holder.wrong(element, f"<include> of {shown(text)}: {message}") from None
        if not again:
            self._roots[whole] = root
            self._list(file)
        return file

    def _list(self, file: File) -> None:
        """List what is not understood in a file, and what has no effect."""
        for kind, found in zip((self.strange, self.aside), unread(file.root, WORDS), strict=True):
            for what, lines in found.items():
                kind.setdefault(what, []).extend(f"{file.name}line {line}" for line in lines)

    def lines(self) -> tuple[list[str], list[str]]:
        """Return the lines on elements that are not understood, and on elements without effect."""
        return lines_of(self.strange), lines_of(self.aside)


def _opened(path: Path, root: Element, name: str, above: frozenset[Path]) -> File:
    """Return a file, or raise `Fault` if it is not of a version of SDF that can be read."""
    if root.name != "sdf":
        said = "a URDF file, which cannot be included" if root.name == "robot" else "not an SDF file"
        raise Fault("", f"{name}line {root.line}: the first element is <{root.name}>; this is {said}", sentence=True)
    return File(path, root, _minor(File(path, root, 0, name, above)), name, above)


def _minor(file: File) -> int:
    """Return the second number of a file's version."""
    given = file.root.attributes.get("version")
    allowed = f"versions 1.{OLDEST} to 1.{NEWEST} can be read"
    if given is None:
        raise file.wrong(file.root, f"<sdf> has no version; {allowed}")
    found = re.fullmatch(r"\s*1\.(\d{1,3})(\.\d+)?\s*", given, re.ASCII)
    if found is None or not OLDEST <= int(found[1]) <= NEWEST:
        convert = "; convert the file with `gz sdf -p FILE`" if found and int(found[1]) < OLDEST else ""
        raise file.wrong(file.root, f"the version of <sdf> is {shown(given)}; {allowed}{convert}")
    return int(found[1])


def uri_of(include: Element) -> str:
    """Return the address in an <include>, or ""."""
    uri = include.one("uri")
    return "" if uri is None else uri.text.strip()
