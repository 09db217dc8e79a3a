"""What a URDF file says: links, joints, transmissions, each checked; and what in it is not understood."""

import re
from math import hypot, isfinite
from typing import Any

import numpy as np

from flexarm.checks import Fault, Vector, choices, meant, shown
from flexarm.description.robots.robot import LARGEST, Inertial, Joint, Limits, Mimic, Place, Robot
from flexarm.description.robots.xml import Element, lines_of

KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")

KNOWN: dict[str, dict[str, str]] = {
    "robot": {"link": "name type", "joint": "name type", "transmission": "name type"},
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
"""Elements that are understood, with their attributes, by the element in which they stand."""

ASIDE: dict[str, tuple[str, ...]] = {
    "robot": ("material",),
    "link": ("visual", "collision", "material"),
    "joint": ("safety_controller", "calibration"),
    "transmission": (),
    "transmission joint": ("hardwareInterface", "role"),
    "actuator": ("hardwareInterface",),
}
"""Elements that say nothing of how an arm moves: what it looks like, where it is measured, what limits its commands."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
ABOVE = re.compile(r"\+?inf(inity)?", re.ASCII | re.IGNORECASE)
UNLIMITED = {"lower": re.compile(r"-inf(inity)?", re.ASCII | re.IGNORECASE)} | dict.fromkeys(
    ("upper", "velocity", "effort"), ABOVE
)
"""What says in a <limit> that there is none."""


def robot(root: Element) -> Robot:
    """What a file says; raises `Fault`, one sentence that names the element and its line."""
    if root.name != "robot":
        raise Fault("", f"line {root.line}: the first element is <{root.name}>; that of a URDF file is <robot>", True)
    _refuse_xacro(root)
    links: dict[str, Inertial | None] = {}
    joints: dict[str, Joint] = {}
    for element in root.named("link"):
        name = _name(element, links)
        links[name] = _inertial(element, f"link {name!r}")
    for element in root.named("joint"):
        joint = _joint(element, _name(element, joints), list(links))
        joints[joint.name] = joint
    if not links:
        raise Fault("", "has no <link>", sentence=True)
    strange = []
    for element in root.named("transmission"):
        strange += _transmission(element, joints)
    more, aside = _unread(root)
    title = root.attributes.get("name", "").strip() or "robot"
    return Robot("URDF", title, links, joints, _root(links, joints), [*strange, *more], aside)


def _refuse_xacro(root: Element) -> None:
    for element in root.all():
        wrong = next((x for x in element.attributes.values() if "${" in x or "$(" in x), None)
        if wrong is not None or element.name in ("xacro:macro", "xacro:include", "xacro:property"):
            found = f"<{element.name}>" if wrong is None else shown(wrong)
            said = (
                f"line {element.line}: {found} is of xacro; write the URDF of it first, with `xacro FILE > robot.urdf`"
            )
            raise Fault("", said, sentence=True)


# -- links and joints --------------------------------------------------------------------------------------------------


def _name(element: Element, taken: Any) -> str:
    name = element.attributes.get("name")
    if name is None or not name.strip():
        raise Fault("", f"line {element.line}: a <{element.name}> has no name", sentence=True)
    if name in taken:
        raise Fault("", f"line {element.line}: {element.name} {shown(name)} is there twice", sentence=True)
    return name


def _wrong(where: str, element: Element, said: str) -> Fault:
    return Fault("", f"line {element.line}: {where}: {said}", sentence=True)


def _number(where: str, element: Element, key: str, default: float | None = None, text: str | None = None) -> float:
    """A number of an attribute, or of a text."""
    given = element.attributes.get(key) if text is None else text
    what = f"<{element.name}> {key}".strip()
    if given is None:
        if default is not None:
            return default
        raise _wrong(where, element, f"{what} is missing")
    if not NUMBER.fullmatch(given.strip()) or not isfinite(float(given)):
        raise _wrong(where, element, f"{what} is {shown(given)}; it must be a finite number")
    if abs(float(given)) > LARGEST:
        raise _wrong(where, element, f"{what} is {shown(given)}; it must be at most {LARGEST:g} in size")
    return float(given)


def _vector(where: str, element: Element | None, key: str, default: Vector) -> Vector:
    if element is None or (given := element.attributes.get(key)) is None:
        return default
    parts = given.split()
    if len(parts) != 3:
        said = f"<{element.name}> {key} is {shown(given)}; it must be three numbers"
        raise _wrong(where, element, said)
    x, y, z = (_number(where, element, key, text=part) for part in parts)
    return x, y, z


def _place(where: str, holder: Element) -> Place:
    origin = holder.one("origin")
    return Place(_vector(where, origin, "xyz", (0.0, 0.0, 0.0)), _vector(where, origin, "rpy", (0.0, 0.0, 0.0)))


def _inertial(link: Element, where: str) -> Inertial | None:
    element = link.one("inertial")
    if element is None:
        return None
    mass, inertia = element.one("mass"), element.one("inertia")
    if mass is None or inertia is None:
        raise _wrong(where, element, f"<inertial> has no <{'mass' if mass is None else 'inertia'}>")
    m = _number(where, mass, "value")
    if m < 0.0:
        raise _wrong(where, mass, f"<mass> value is {m} kg; it must be zero or positive")
    entries = {key: _number(where, inertia, key) for key in KNOWN["inertial"]["inertia"].split()}
    tensor = np.array([[entries["i" + "".join(sorted(r + c))] for c in "xyz"] for r in "xyz"])
    return Inertial(m, _place(where, element), tensor, f"line {inertia.line}")


def _joint(element: Element, name: str, links: list[str]) -> Joint:
    where, kind = f"joint {name!r}", element.attributes.get("type")
    if kind not in KINDS:
        given = "missing" if kind is None else shown(kind)
        raise _wrong(where, element, f"type is {given}; it must be {choices(*KINDS)}{meant(kind, KINDS)}")
    ends = []
    for key in ("parent", "child"):
        end = element.one(key)
        link = None if end is None else end.attributes.get("link")
        if end is None or link is None:
            raise _wrong(where, element, f"has no <{key} link=...>")
        if link not in links:
            raise _wrong(where, end, f"<{key}> is {shown(link)}, and no link has that name{meant(link, links)}")
        ends.append(link)
    axis = _vector(where, element.one("axis"), "xyz", (1.0, 0.0, 0.0))
    if (size := hypot(*axis)) < 1e-9 and kind not in ("fixed", "floating"):
        raise _wrong(where, element, "<axis> is zero; it must have a direction")
    x, y, z = (a / (size or 1.0) for a in axis)
    limit, dynamics, mimic = element.one("limit"), element.one("dynamics"), element.one("mimic")
    losses = {"damping": 0.0, "friction": 0.0}
    for key in losses if dynamics is not None else ():
        assert dynamics is not None
        losses[key] = _number(where, dynamics, key, 0.0)
        if losses[key] < 0.0:
            raise _wrong(where, dynamics, f"<dynamics> {key} is {losses[key]}; it must be zero or positive")
    return Joint(
        name,
        kind,
        parent=ends[0],
        child=ends[1],
        place=_place(where, element),
        axis=(x, y, z),
        limits=_limits(where, kind, limit),
        damping=losses["damping"],
        friction=losses["friction"],
        mimic=None if mimic is None else _mimic(where, mimic),
        at=f"line {element.line}",
    )


def _limits(where: str, kind: str, limit: Element | None) -> Limits:
    if limit is None:
        return Limits()
    given: dict[str, float | None] = dict.fromkeys(("lower", "upper", "velocity", "effort"))
    unlimited = {key for key in given if UNLIMITED[key].fullmatch(limit.attributes.get(key, "").strip())}
    said = {key for key in given if key in limit.attributes}
    given |= {key: _number(where, limit, key) for key in given if key in said - unlimited}
    if kind == "continuous":
        given |= {"lower": None, "upper": None}
    elif said & {"lower", "upper"}:
        given |= {key: 0.0 for key in ("lower", "upper") if key not in said}  # URDF: what is left out is zero
        if not unlimited & {"lower", "upper"} and given["lower"] > given["upper"]:  # type: ignore[operator]
            raise _wrong(where, limit, f"<limit> lower is {given['lower']}, above upper, {given['upper']}")
    for key in ("velocity", "effort"):
        if (x := given[key]) is not None and x < 0.0:
            raise _wrong(where, limit, f"<limit> {key} is {x}; it must be zero or positive")
    return Limits(**given)


def _mimic(where: str, element: Element) -> Mimic:
    master = element.attributes.get("joint")
    if master is None:
        raise _wrong(where, element, "<mimic> has no joint")
    multiplier, offset = (_number(where, element, key, x) for key, x in (("multiplier", 1.0), ("offset", 0.0)))
    return Mimic(master, multiplier, offset)


def _transmission(element: Element, joints: dict[str, Joint]) -> list[str]:
    """Puts what a simple transmission says to its joint; lines of what is not understood."""
    name = element.attributes.get("name", "")
    where = f"transmission {name!r}"
    kind = element.one("type")
    said = (element.attributes.get("type", "") if kind is None else kind.text).strip()
    held, actuators = list(element.named("joint")), list(element.named("actuator"))
    if len(held) != 1 or len(actuators) != 1 or not said.endswith("SimpleTransmission"):
        what = f"of type {said.rpartition('/')[2]!r}" if said else "without a type"
        return [f"line {element.line}: {where} {what}, of {len(held)} joints"]
    joint = joints.get(held[0].attributes.get("name", ""))
    if joint is None:
        given = held[0].attributes.get("name")
        return [f"line {held[0].line}: {where} of joint {shown(given)}, which is not there"]
    numbers: dict[str, float] = {}
    for part in actuators[0].children:
        if part.name == "mechanicalReduction":
            numbers["gear_ratio"] = _number(where, part, "", text=part.text)
        elif part.name in ("drake:gear_ratio", "drake:rotor_inertia"):
            numbers[part.name.removeprefix("drake:")] = _number(where, part, "value")
    if numbers.get("gear_ratio") == 0.0:
        raise _wrong(where, actuators[0], "its gear ratio is 0; it must be different from zero")
    if numbers.get("rotor_inertia", 0.0) < 0.0:
        raise _wrong(where, actuators[0], "its rotor inertia is negative; it must be zero or positive")
    joint.drive |= numbers
    return []


# -- the whole ---------------------------------------------------------------------------------------------------------


def _root(links: dict[str, Inertial | None], joints: dict[str, Joint]) -> str:
    """The link that no joint moves, where all others hang on it; raises `Fault`."""
    under: dict[str, Joint] = {}
    for joint in joints.values():
        if (other := under.setdefault(joint.child, joint)) is not joint:
            both = f"is moved by the joints {other.name!r} and {joint.name!r}; URDF has no closed loops"
            raise Fault("", f"{joint.at}: link {joint.child!r} {both}", sentence=True)
    roots = [name for name in links if name not in under]
    if len(roots) > 1:
        raise Fault("", f"has {len(roots)} roots, {', '.join(map(repr, roots[:5]))}; it must have one", sentence=True)
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
        raise Fault("", f"links go round in a circle: {' on '.join(map(repr, ring))}", sentence=True)
    return roots[0]


def _unread(root: Element) -> tuple[list[str], list[str]]:
    """Lines of what is not understood, and of what stands aside: elements and attributes of a kind together."""
    strange: dict[str, list[int]] = {}
    aside: dict[str, list[int]] = {}
    waiting = [(root, "robot")]
    while waiting:
        element, role = waiting.pop()
        for child in element.children:
            if child.name in KNOWN.get(role, {}):
                known = KNOWN[role][child.name].split()
                for key in child.attributes:
                    if key not in known and not key.startswith("xmlns"):
                        strange.setdefault(f"{key} of <{child.name}> in <{element.name}>", []).append(child.line)
                inside = (
                    f"transmission {child.name}" if role == "transmission" and child.name == "joint" else child.name
                )
                waiting.append((child, inside))
            else:
                which = aside if child.name in ASIDE.get(role, ()) else strange
                which.setdefault(f"<{child.name}> in <{element.name}>", []).append(child.line)
    return _sorted(strange), _sorted(aside)


def _sorted(found: dict[str, list[int]]) -> list[str]:
    told = sorted(found.items(), key=lambda item: min(item[1]))
    return lines_of({what: [f"line {line}" for line in sorted(at)] for what, at in told})
