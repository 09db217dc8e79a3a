"""Robots from URDF files: checked links, joints and transmissions, and the elements that are not understood."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from flexarm.checks import Fault, choices, counted, shown, unknown_name
from flexarm.description.robots import urdf_loops
from flexarm.description.robots.place import HERE, Posed
from flexarm.description.robots.robot import Inertial, Joint, Limits, Mimic, Robot
from flexarm.description.robots.urdf_elements import axis_of, link_of, name_of, number, place_of, wrong
from flexarm.description.robots.values import Findings, Vocabulary, unread
from flexarm.description.robots.xml import Element, lines_of

Result = TypeVar("Result")

WORLD = "world"
"""Name of the ground link, to which files refer without a declaration, as Gazebo and Drake allow."""

SRDF = frozenset(
    "group group_state end_effector virtual_joint passive_joint disable_collisions disable_default_collisions".split()
)
"""Elements of SRDF, in which MoveIt groups the joints of a robot."""

KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")

DRAKE = "drake:joint"
"""Element of Drake for the kinds of joints that URDF does not have: ball, planar, screw, universal."""

PITCH = "drake:screw_thread_pitch"
"""Element of Drake for the displacement of a screw per turn [m]."""

KNOWN: dict[str, dict[str, str]] = {
    "robot": {
        "link": "name type",
        "joint": "name type",
        DRAKE: "name type",
        "transmission": "name type",
        urdf_loops.LOOP: "name type",
        urdf_loops.BALL: "",
    },
    "link": {"inertial": ""},
    "inertial": {
        "origin": "xyz rpy",
        "mass": "value",
        "inertia": "ixx ixy ixz iyy iyz izz",
    },
    "joint": {
        "origin": "xyz rpy",
        "parent": "link",
        "child": "link",
        "axis": "xyz",
        "limit": "lower upper effort velocity",
        "dynamics": "damping friction",
        "mimic": "joint multiplier offset",
    },
    "transmission": {"type": "", "joint": "name", "actuator": "name"},
    "transmission joint": {},
    "actuator": {"mechanicalReduction": "", "drake:gear_ratio": "value", "drake:rotor_inertia": "value"},
}
"""Elements that are understood, with their attributes, by their parent elements."""
KNOWN[DRAKE] = KNOWN["joint"] | {PITCH: "value"}
KNOWN |= urdf_loops.KNOWN

SEVERAL = frozenset({("transmission", "joint"), ("transmission", "actuator"), (urdf_loops.LOOP, "link1")}) | {
    ("robot", each) for each in KNOWN["robot"]
}
"""Elements that may occur more than once in their parent. For all others the first counts."""

ASIDE: dict[str, tuple[str, ...]] = {
    "robot": ("material",),
    "link": ("visual", "collision", "material"),
    "joint": ("safety_controller", "calibration"),
    "transmission": (),
    "transmission joint": ("hardwareInterface", "role"),
    "actuator": ("hardwareInterface",),
}
"""Elements without effect on an arm's motion: appearance, measurements and limits of commands."""
ASIDE[DRAKE] = ASIDE["joint"]

ABOVE = re.compile(r"\+?inf(inity)?", re.ASCII | re.IGNORECASE)
UNLIMITED = {"lower": re.compile(r"-inf(inity)?", re.ASCII | re.IGNORECASE)} | dict.fromkeys(
    ("upper", "velocity", "effort"), ABOVE
)
"""Values in a <limit> that mean no limit."""


def robot(root: Element) -> Robot:
    """Return the robot in a file. Raises `Fault` with one sentence that names the element and its line."""
    if root.name != "robot":
        raise Fault("", f"line {root.line}: the first element is <{root.name}>; a URDF file begins with <robot>", True)
    return _Reading(root).robot()


class _Reading:
    """Reader of a file. An error in an element that affects the motion ends the reading. Other errors are listed."""

    def __init__(self, root: Element):
        self.root = root
        self.strange: list[str] = []
        self.links: dict[str, Inertial | Fault | None] = {}
        self.joints: dict[str, Joint] = {}

    def robot(self) -> Robot:
        root = self.root
        if root.before:
            self.strange.append(f"line 1: the text {shown(root.before)} before the XML is ignored")
        _refuse_xacro(root)
        for element in root.named("link"):
            name = name_of(element, self.links)
            self.links[name] = self._inertial(element, f"link {name!r}")
        if not self.links:
            raise Fault("", f"has no <link>{_semantic(root)}", sentence=True)
        elements = [child for child in root.children if child.name in ("joint", DRAKE)]
        self._declare_the_world(elements)
        for element in elements:
            joint = self._joint(element, name_of(element, self.joints))
            self.joints[joint.name] = joint
        for element in root.named("transmission"):
            where = f"transmission {element.attributes.get('name', '')!r}"
            self._try(partial(_transmission, where, element, self.joints), "it is left out")
        more, aside = map(_lines, unread(urdf_loops.without(root), Vocabulary(KNOWN, SEVERAL, ASIDE, _role)))
        title = root.attributes.get("name", "").strip() or "robot"
        base = _root(root, self.links, self.joints)
        loops = urdf_loops.loops(root, self.links, self._at_rest(base), self.strange)
        return Robot("URDF", title, self.links, self.joints, base, [*self.strange, *more], aside, loops=loops)

    def _at_rest(self, base: str) -> dict[str, Posed]:
        """Return the poses of all links in the root's frame, with the joints at zero."""
        on: dict[str, list[Joint]] = {}
        for joint in self.joints.values():
            on.setdefault(joint.parent, []).append(joint)
        found, waiting = {base: HERE}, [base]
        while waiting:
            for joint in on.get(link := waiting.pop(), ()):
                found[joint.child] = found[link].then(Posed.of(joint.place))
                waiting.append(joint.child)
        return found

    def _try(self, read: Callable[[], Result], otherwise: str) -> Result | None:
        """Return an element that does not affect the motion, or None and a line in the list if it is wrong."""
        try:
            return read()
        except Fault as fault:
            self.strange.append(f"{fault.message}; {otherwise}")
            return None

    def _declare_the_world(self, joints: list[Element]) -> None:
        """Add the link "world" if joints stand on it and the file does not declare it."""
        parents = [(end.attributes.get("link"), end) for x in joints if (end := x.one("parent")) is not None]
        found = next((end for name, end in parents if name == WORLD), None)
        if found is not None and WORLD not in self.links:
            self.links = {WORLD: None, **self.links}
            self.strange.append(f"line {found.line}: no <link> has the name {WORLD!r}; it is used as the ground")

    def _inertial(self, link: Element, where: str) -> Inertial | Fault | None:
        """Return the inertia of a link, or its fault, which matters only if the link moves."""
        element = link.one("inertial")
        if element is None:
            return None
        try:
            found = _inertial(where, element)
        except Fault as fault:
            return fault
        if element.one("inertia") is None:
            said = f"<inertial> has no <inertia>; its mass, {found.mass:g} kg, is treated as a point mass"
            self.strange.append(f"line {element.line}: {where}: {said}")
        return found

    def _joint(self, element: Element, name: str) -> Joint:
        where, kind = f"joint {name!r}", element.attributes.get("type")
        if kind is None or (kind not in KINDS and element.name != DRAKE):
            allowed = f"it must be {choices(*KINDS)}"
            missing = f"type is missing; {allowed}"
            raise wrong(where, element, missing if kind is None else unknown_name("type is", kind, KINDS, allowed))
        parent, child = (self._end(where, element, key) for key in ("parent", "child"))
        joint = Joint(
            name,
            kind,
            parent,
            child,
            place=place_of(where, element),
            axis=(1.0, 0.0, 0.0),
            limits=Limits(),
            damping=0.0,
            friction=0.0,
            mimic=None,
            at=f"line {element.line}{f': <{DRAKE}>' * (element.name == DRAKE)}",
        )
        axis, dynamics = partial(axis_of, where, element), partial(_dynamics, where, element)
        if joint.moves:
            joint.axis = axis()
            joint.damping, joint.friction = dynamics()
        elif kind in ("planar", "ball", "universal"):
            if kind == "planar":
                joint.axis = axis() if element.name != DRAKE else (0.0, 0.0, 1.0)
            joint.damping, joint.friction = dynamics()
        elif kind == "screw":
            joint.axis, joint.pitch = axis(), _pitch(where, element)
            joint.damping, joint.friction = dynamics()
        else:
            moot = f"it has no effect, because the joint is {kind}"
            self._try(axis, moot)
            self._try(dynamics, moot)
        joint.limits = self._limits(where, kind, element.one("limit"))
        joint.mimic = self._try(lambda: _mimic(where, element.one("mimic")), "the joint moves independently")
        return joint

    def _end(self, where: str, joint: Element, key: str) -> str:
        """Return the parent or the child link of a joint."""
        end = joint.one(key)
        name = None if end is None else end.attributes.get("link")
        if end is None or name is None:
            raise wrong(where, joint, f"has no <{key} link=...>")
        return link_of(where, end, key, name, self.links)

    def _limits(self, where: str, kind: str, limit: Element | None) -> Limits:
        """Return the limits of a joint, None for each that is wrong, since limits do not affect the motion."""
        if limit is None:
            return Limits()
        found = {key: self._try(partial(_limit, where, limit, key), "it is left out") for key in UNLIMITED}
        if kind == "continuous":
            found |= {"lower": None, "upper": None}
        elif limit.attributes.keys() & {"lower", "upper"}:
            found |= {key: 0.0 for key in ("lower", "upper") if key not in limit.attributes}  # URDF's default
            if found["lower"] is not None and found["upper"] is not None and found["lower"] > found["upper"]:
                said = f"<limit> lower is {found['lower']}, above upper, {found['upper']}; the range is left out"
                self.strange.append(f"line {limit.line}: {where}: {said}")
                found |= {"lower": None, "upper": None}
        return Limits(**found)


def _semantic(root: Element) -> str:
    """Return a hint for a file without links, which may be in a format with the same first element."""
    if any(child.name in SRDF for child in root.children):
        return "; this is an SRDF file, which adds to the URDF file of a robot: give the URDF file instead"
    return ""


def _refuse_xacro(root: Element) -> None:
    """Raise `Fault` if elements that are read, or macros, are those of xacro. Shapes may contain any text."""
    waiting = [(root, "robot")]
    while waiting:
        element, role = waiting.pop()
        wrong = next((x for x in element.attributes.values() if "${" in x or "$(" in x), None)
        if wrong is not None or element.name in ("xacro:macro", "xacro:include", "xacro:property"):
            found = f"<{element.name}>" if wrong is None else shown(wrong)
            said = (
                f"line {element.line}: {found} belongs to xacro; convert the file to URDF first: `xacro FILE > "
                "robot.urdf`"
            )
            raise Fault("", said, sentence=True)
        some = [x for x in element.children if x.name in KNOWN.get(role, {}) or x.name.startswith("xacro:")]
        waiting += [(x, _role(role, x)) for x in reversed(some)]


# -- links and joints --------------------------------------------------------------------------------------------------


def _inertial(where: str, element: Element) -> Inertial:
    mass, inertia = element.one("mass"), element.one("inertia")
    if mass is None:
        raise wrong(where, element, "<inertial> has no <mass>")
    m = number(where, mass, "value")
    if m < 0.0:
        raise wrong(where, mass, f"<mass> value is {m} kg; it must be zero or positive")
    if inertia is None:
        return Inertial(m, place_of(where, element), np.zeros((3, 3)), f"line {element.line}")
    entries = {key: number(where, inertia, key) for key in KNOWN["inertial"]["inertia"].split()}
    tensor = np.array([[entries["i" + "".join(sorted(r + c))] for c in "xyz"] for r in "xyz"])
    return Inertial(m, place_of(where, element), tensor, f"line {inertia.line}")


def _dynamics(where: str, joint: Element) -> tuple[float, float]:
    """Return the damping and the friction of a joint."""
    element = joint.one("dynamics")
    if element is None:
        return 0.0, 0.0
    damping, friction = (number(where, element, key, 0.0) for key in ("damping", "friction"))
    for key, value in (("damping", damping), ("friction", friction)):
        if value < 0.0:
            raise wrong(where, element, f"<dynamics> {key} is {value}; it must be zero or positive")
    return damping, friction


def _pitch(where: str, joint: Element) -> float:
    """Return the displacement of a screw per turn [m]."""
    element = joint.one(PITCH)
    pitch = 0.0 if element is None else number(where, element, "value")
    if pitch == 0.0:
        raise wrong(where, joint, f"<{PITCH}> is missing or zero; it is the displacement per turn [m]")
    return pitch


def _limit(where: str, limit: Element, key: str) -> float | None:
    """Return one limit of a joint, or None if there is none."""
    given = limit.attributes.get(key)
    if given is None or UNLIMITED[key].fullmatch(given.strip()):
        return None
    x = number(where, limit, key)
    if x < 0.0 and key in ("velocity", "effort"):
        raise wrong(where, limit, f"<limit> {key} is {x}; it must be zero or positive")
    return x


def _mimic(where: str, element: Element | None) -> Mimic | None:
    if element is None:
        return None
    master = element.attributes.get("joint")
    if master is None:
        raise wrong(where, element, "<mimic> has no joint")
    multiplier, offset = (number(where, element, key, x) for key, x in (("multiplier", 1.0), ("offset", 0.0)))
    return Mimic(master, multiplier, offset)


def _transmission(where: str, element: Element, joints: dict[str, Joint]) -> None:
    """Add the values of a simple transmission to its joint. Raises `Fault` if it is not understood."""
    kind = element.one("type")
    said = (element.attributes.get("type", "") if kind is None else kind.text).strip()
    held, actuators = list(element.named("joint")), list(element.named("actuator"))
    if len(held) != 1 or len(actuators) != 1 or not said.endswith("SimpleTransmission"):
        what = f"of type {said.rpartition('/')[2]!r}" if said else "without a type"
        raise Fault(
            "",
            f"line {element.line}: {where} {what} and with {counted(len(held), 'joint')} is not supported",
            sentence=True,
        )
    joint = joints.get(held[0].attributes.get("name", ""))
    if joint is None:
        given = held[0].attributes.get("name")
        raise Fault("", f"line {held[0].line}: {where} of joint {shown(given)}, which does not exist", sentence=True)
    numbers: dict[str, float] = {}
    for part in actuators[0].children:
        if part.name == "mechanicalReduction":
            numbers["gear_ratio"] = number(where, part, "", text=part.text)
        elif part.name in ("drake:gear_ratio", "drake:rotor_inertia"):
            numbers[part.name.removeprefix("drake:")] = number(where, part, "value")
    if numbers.get("gear_ratio") == 0.0:
        raise wrong(where, actuators[0], "its gear ratio is 0; it must be different from zero")
    if numbers.get("rotor_inertia", 0.0) < 0.0:
        raise wrong(where, actuators[0], "its rotor inertia is negative; it must be zero or positive")
    joint.drive |= numbers
    joint.driven = True


# -- the tree of links -------------------------------------------------------------------------------------------------


def _root(file: Element, links: dict[str, Any], joints: dict[str, Joint]) -> str:
    """Return the link that no joint moves and that carries all others. Raises `Fault`."""
    under: dict[str, Joint] = {}
    for joint in joints.values():
        if (other := under.setdefault(joint.child, joint)) is not joint:
            both = (
                f"is moved by the joints {other.name!r} and {joint.name!r}; URDF has no closed loops: use <loop_joint>"
            )
            raise Fault("", f"{joint.at}: link {joint.child!r} {both}", sentence=True)
    roots = [name for name in links if name not in under]
    if len(roots) > 1:
        said = (
            f"has {counted(len(roots), 'link')} without a parent, "
            f"{', '.join(map(repr, roots[:5]))}; it must have only one"
        )
        raise Fault("", said + _unread_joint(file), sentence=True)
    reached, waiting = set(roots), list(roots)
    on: dict[str, list[str]] = {}
    for joint in joints.values():
        on.setdefault(joint.parent, []).append(joint.child)
    while waiting:
        for child in on.get(waiting.pop(), ()):
            reached.add(child)
            waiting.append(child)
    if circling := [name for name in links if name not in reached]:
        way = [circling[0]]
        while (before := under[way[-1]].parent) not in way:
            way.append(before)
        ring = [*way[way.index(before) :], before]
        raise Fault("", f"links form a cycle: {' on '.join(map(repr, ring))}", sentence=True)
    return roots[0]


def _unread_joint(file: Element) -> str:
    """Return a hint for a file with unconnected links: the first element that may have been meant as a joint."""
    for child in file.children:
        if child.name == urdf_loops.LOOP:
            return f"; line {child.line}: <{child.name}> closes a loop, but carries no link: use <joint>"
        if child.name not in KNOWN["robot"] and any(x.attributes.keys() & {"link"} for x in child.children):
            return f"; line {child.line}: <{child.name}> in <robot> is not understood"
    return ""


def _role(holder: str, element: Element) -> str:
    """Return the key of an element in the tables above, which distinguish a transmission's joint from a robot's."""
    return f"{holder} {element.name}" if (holder, element.name) == ("transmission", "joint") else element.name


def _lines(found: Findings) -> list[str]:
    return lines_of({what: [f"line {line}" for line in at] for what, at in found.items()})
