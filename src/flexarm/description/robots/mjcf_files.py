"""Contents of MJCF files as text: the files that make one model, and the elements that this package does not know.

MuJoCo itself rejects what its version does not know. Elements of later versions that this package does not know are
found here, in the text, so that they are listed and not dropped.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path

from flexarm.checks import Fault, shown
from flexarm.description.robots.robot import LARGEST
from flexarm.description.robots.xml import Element, lines_of, read_xml
from flexarm.description.tables import printable

MOST_FILES, MOST_COPIES = 200, 10_000

ANY = "*"
PLACED = "pos quat axisangle xyaxes zaxis euler"
JOINT = (
    "name class type group pos axis springdamper limited actuatorfrclimited solreflimit solimplimit solreffriction "
    "solimpfriction stiffness range actuatorfrcrange actuatorgravcomp margin ref springref springyield armature "
    "damping frictionloss user"
)
READ: dict[str, str] = {
    "mujoco": "model",
    "compiler": ANY,  # MuJoCo itself applies it
    "lengthrange": ANY,
    "default": "class",
    "worldbody": ANY,
    "body": f"name childclass {PLACED} mocap gravcomp user sleep",
    "frame": ANY,
    "replicate": ANY,
    "attach": ANY,
    "include": "file",
    "inertial": ANY,
    "joint": JOINT,
    "freejoint": "name group align",
    "site": ANY,
    "option": "gravity density viscosity wind",
    "asset": "",
    "model": ANY,
}
"""Elements with their attributes that are understood or that MuJoCo resolves."""

TOLD = frozenset("equality tendon actuator extension deformable composite flexcomp plugin".split())
"""Elements that are read from the compiled model."""

ASIDE = frozenset(
    "geom camera light contact sensor keyframe custom visual statistic size mesh texture material hfield skin "
    "flag".split()
)
"""Elements without effect on an arm's own motion: shapes, collision, visualization and measurements."""

SIMULATOR = frozenset(
    "timestep impratio tolerance ls_tolerance noslip_tolerance ccd_tolerance sleep_tolerance magnetic o_margin "
    "o_solref o_solimp o_friction integrator cone jacobian solver iterations ls_iterations noslip_iterations "
    "ccd_iterations sdf_iterations sdf_initpoints actuatorgroupdisable".split()
)
"""Attributes of <option> that set the numerical methods of MuJoCo."""


@dataclass
class Written:
    """An MJCF file and the files that it names, as text: the name and the root element of each."""

    files: tuple[tuple[str, Element], ...]

    def __post_init__(self) -> None:
        self._named: dict[str, list[tuple[str, str]]] = {}
        for number, (file, root) in enumerate(self.files):
            for element in root.all():
                if name := element.attributes.get("name"):
                    self._named.setdefault(name, []).append((element.name, _where(number, file, element)))

    def at(self, tag: str, line: int, name: str = "") -> str:
        """Return the position of an element in words: its line, and its file unless it is the first.

        MuJoCo does not keep the lines of included elements, which are found by name.
        """
        if line:
            return f"line {line}"
        found = [where for kind, where in self._named.get(name, ()) if kind == tag or tag not in ("body", "joint")]
        return found[0] if len(found) == 1 else "the model"

    def unread(self) -> tuple[list[str], list[str]]:
        """Return lines on elements that are not understood, and on elements without effect, combined by kind."""
        strange: dict[str, list[str]] = {}
        aside: dict[str, list[str]] = {}
        for number, (name, root) in enumerate(self.files):
            for element, holder in _within(root):
                where = _where(number, name, element)
                if element.name in ASIDE:
                    aside.setdefault(f"<{element.name}> in <{holder}>", []).append(where)
                elif element.name not in READ:
                    strange.setdefault(f"<{element.name}> in <{holder}>", []).append(where)
                elif READ[element.name] != ANY:
                    for key in element.attributes:
                        which = aside if element.name == "option" and key in SIMULATOR else strange
                        if key not in READ[element.name].split():
                            which.setdefault(f"{key} of <{element.name}> in <{holder}>", []).append(where)
        return lines_of(strange), lines_of(aside)


def _where(number: int, file: str, element: Element) -> str:
    return f"line {element.line}" if not number else f"{printable(file)}, line {element.line}"


def _within(root: Element) -> Iterator[tuple[Element, str]]:
    """Return elements and the names of their parents, except those whose parts are read from the compiled model.

    Of defaults only those of joints are returned. All others apply to elements that are found themselves.
    """
    waiting = [(root, "the file")]
    while waiting:
        element, holder = waiting.pop()
        if element.name in TOLD or (holder == "default" and element.name not in ("joint", "default")):
            continue
        if element.name != "mujocoinclude":
            yield element, holder
        if element.name not in ASIDE:
            waiting += [(child, element.name) for child in reversed(element.children)]


def written(path: Path, root: Element) -> Written:
    """Return the files of a model, from the root element of the first. Raises `Fault`."""
    if root.name != "mujoco":
        raise Fault(
            "",
            f"line {root.line}: the first element is <{root.name}>; an MJCF file begins with <mujoco>",
            sentence=True,
        )
    files, waiting, seen = [(path.name, root)], [(path, root)], {path.resolve()}
    while waiting:
        holder, at = waiting.pop(0)
        for element in at.all():
            _check_copies(element)
            _check_sizes(element, "" if holder == path else f"{printable(holder.name)}, ")
            named = element.name == "include" or (element.name == "model" and "file" in element.attributes)
            if not named or not (given := element.attributes.get("file", "")).strip():
                continue
            found = next((x for x in (path.parent / given, holder.parent / given) if x.is_file()), None)
            if found is None:
                said = f"line {element.line}: <{element.name}> refers to {shown(given)}, but there is no such file"
                raise Fault("", said if holder == path else f"{printable(holder.name)}, {said}", sentence=True)
            if (whole := found.resolve()) in seen:
                continue  # a second mention, which MuJoCo rejects itself where it is not allowed
            seen.add(whole)
            if len(seen) > MOST_FILES:
                raise Fault("", f"refers to more than {MOST_FILES} files, the limit", sentence=True)
            if element.name == "model" and found.suffix.lower() not in (".xml", ".mjcf"):
                continue
            try:
                read = read_xml(found)
            except Fault as fault:
                raise Fault("", f"{printable(given)}: {fault.message}", sentence=True) from None
            files.append((given, read))
            waiting.append((found, read))
    return Written(tuple(files))


def _check_copies(element: Element) -> None:
    """Raise `Fault` if an element asks for more copies than a robot needs."""
    given = element.attributes.get("count", "") if element.name in ("replicate", "composite", "flexcomp") else ""
    product = 1.0
    for part in given.split():
        try:
            product *= max(float(part), 1.0)
        except ValueError:
            return  # MuJoCo reports it
    if product > MOST_COPIES:
        said = (
            f"line {element.line}: <{element.name}> count is {shown(given)}; at most {MOST_COPIES} copies are supported"
        )
        raise Fault("", said, sentence=True)


def _check_sizes(element: Element, file: str) -> None:
    """Raise `Fault` for numbers whose squares overflow. MuJoCo replaces such axes and quaternions by zeros."""
    for key, given in element.attributes.items():
        try:
            numbers = [abs(float(part)) for part in given.split()]
        except ValueError:
            continue  # names, and values that MuJoCo rejects
        if any(LARGEST < number < inf for number in numbers):
            said = f"{file}line {element.line}: {key} of <{element.name}> is {shown(given)}"
            raise Fault("", f"{said}; numbers must be at most {LARGEST:g} in size", sentence=True)
