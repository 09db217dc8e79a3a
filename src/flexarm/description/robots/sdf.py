"""Robots from SDF files, the format of Gazebo.

A link of the file becomes a link. If its joint turns about a point other than the link's origin, its frame is placed at
this point, so that the link turns about its own origin. The base is the world. Links that no joint connects to the
world float, as in Gazebo.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from math import hypot, pi, radians
from pathlib import Path

import numpy as np

from flexarm.checks import Fault, Vector, choices, counted, shown, unknown_name
from flexarm.description.robots.place import HERE, Posed, rpy
from flexarm.description.robots.robot import Beside, Inertial, Joint, Limits, Loop, Mimic, Place, Robot
from flexarm.description.robots.sdf_files import MOST_NESTED, TEMPLATE, File, Files, uri_of
from flexarm.description.robots.sdf_frames import WORLD, Part, Scope, every
from flexarm.description.robots.sdf_gearboxes import Gearbox, follow
from flexarm.description.robots.values import checked
from flexarm.description.robots.xml import Element, lines_of
from flexarm.quaternions import rotation

KINDS = ("revolute", "continuous", "prismatic", "fixed")
CLOSING = {kind: kind for kind in ("revolute", "prismatic", "fixed", "ball", "universal")} | {"continuous": "revolute"}
"""Joints of closures by the kinds of joints that can close a loop."""
BALL = "drake:ball_constraint"
"""Element of Drake that holds points of two links together."""
TWO = ("universal", "revolute2")
"""Kinds of joints with two axes."""
SEVERAL = (*TWO, "ball", "screw")
"""Kinds of joints that become several joints of the arm."""
GEARBOX = "gearbox"
"""Kind of joint that makes one shaft follow another one, and carries no link."""
MOST_LINKS = 5_000
UNLIMITED = 1e16
"""Size from which a limit counts as none: the default of older versions [rad, m, N m or N]."""
ROUNDED = 1e-15
"""Size below which a distance [m] or an angle [rad] is rounding of composed poses."""
TRUE, FALSE = ("1", "true"), ("0", "false")
INFINITE = re.compile(r"[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)
SAME = 1e-12
"""Distance below which a joint counts as being at the origin of its link [m]. Composed poses round to 1e-16."""
SMALL = 1e-6
"""Largest cosine between axes that count as perpendicular."""
DYNAMICS = ("damping", "friction", "spring_stiffness")
STANDARD = (0.0, 0.0, -9.8)
"""Gravity of a world without <gravity> [m/s^2], by the specification."""
USUAL = ("sun", "ground_plane")
"""Models of Gazebo that most worlds include: a light and a fixed plane."""
DRAKE = {"drake:rotor_inertia": "rotor_inertia", "drake:gear_ratio": "gear_ratio"}


def robot(path: Path, root: Element, points: Collection[str] = ()) -> Robot:
    """Return the robot in a file. Frames named in `points` become links without mass. Raises `Fault` with one
    sentence."""
    return _Reading(Files(path, root)).robot(points)


@dataclass(frozen=True)
class _Include:
    """An <include>: what it overrides in the model of another file."""

    file: File
    element: Element
    name: str
    pose: Element | None
    static: bool
    placement: str
    merge: bool


@dataclass(frozen=True)
class _Hinge:
    """A joint of the file, its links, and its frame and axis in the world."""

    part: Part
    kind: str
    prefix: str
    parent: str
    child: str
    place: Posed
    axis: np.ndarray
    axis_to: np.ndarray
    reference: str = ""
    """Link to which the angles of a gearbox are relative."""


class _Reading:
    """Reader of a file. An error in an element that affects the motion ends the reading. Other errors are listed."""

    def __init__(self, files: Files):
        self.files = files
        self.strange: list[str] = []
        self.aside: list[str] = []
        self.notes: list[str] = []
        self.told: dict[str, list[str]] = {}
        self.title = ""
        self.gravity: Vector = (0.0, 0.0, -9.81)
        self.links: dict[str, Inertial | Fault | None] = {WORLD: None}
        self.names: dict[int, str] = {}
        """Names of the links by the identities of their parts."""
        self.places: dict[str, Posed] = {WORLD: HERE}
        """Frames of the links in the world."""
        self.shifted: dict[str, Posed] = {}
        """Frames of the links that are not those of the file, in the frames of the file."""
        self.parts: dict[str, Part] = {}
        self.balls: list[tuple[Part, Scope]] = []
        self.fixed: list[str] = []
        self.heavy: list[tuple[Part, bool]] = []
        """Links with mass that are not static, each with True if gravity acts on it."""

    def robot(self, points: Collection[str]) -> Robot:
        top = self._top()
        scopes = list(every(top))
        for prefix, scope, pose in scopes:
            self._links(prefix, scope, pose)
        if len(self.links) == 1:
            raise Fault("", "has no <link>", sentence=True)
        if len(self.links) > MOST_LINKS:
            raise Fault("", f"has {counted(len(self.links) - 1, 'link')}; at most {MOST_LINKS} are supported", True)
        read: dict[str, _Hinge] = {}
        for prefix, scope, pose in scopes:
            for part in scope.parts:
                if part.kind == "joint" and (not scope.static or scope.world):
                    name = f"{prefix}{part.name}"
                    if name in read:
                        raise part.wrong("is defined twice")
                    read[name] = self._hinge(part, scope, pose, prefix)
        gearboxes = {name: hinge for name, hinge in read.items() if hinge.kind == GEARBOX}
        read = {name: hinge for name, hinge in read.items() if name not in gearboxes}
        joints, closing = self._tree(read)
        for name, hinge in gearboxes.items():
            follow(self._gearbox(name, hinge), joints, self.places)
        loops = [self._loop(name, read[name]) for name in closing]
        loops += [self._ball(part, scope) for part, scope in self.balls]
        for prefix, scope, pose in scopes:
            for part in scope.parts:
                if (name := f"{prefix}{part.name}") in points and name not in self.links:
                    self._point(name, part, scope, pose, joints)
        gravity = self._gravity()
        strange, aside = self.files.lines()
        return Robot(
            "SDF", self.title or "robot", self.links, joints, WORLD,
            strange=[*self.strange, *lines_of(self.told), *strange], aside=[*self.aside, *aside], notes=self.notes,
            world=True, gravity=gravity, loops=loops,
        )  # fmt: skip

    def _tell(self, file: File, element: Element, what: str) -> None:
        """List something that may matter to the motion, together with others of its kind."""
        self.told.setdefault(what, []).append(file.at(element))

    # models

    def _top(self) -> Scope:
        """Return the scope of the world, which a file with a model alone does not mention."""
        file = self.files.first
        worlds, models = (list(file.root.named(name)) for name in ("world", "model"))
        if len(worlds) > 1 or len(models) > 1 or (worlds and models):
            some = ", ".join(shown(x.attributes.get("name", "")) for x in [*worlds, *models][:5])
            what = f"{counted(len(worlds), 'world')} and {counted(len(models), 'model')}, {some}"
            raise Fault("", f"has {what} in <sdf>; it must have one of them", sentence=True)
        if not worlds and not models:
            raise Fault("", "has no <model>", sentence=True)
        top = Scope(static=True, world=True)
        if models:
            self._model(top, file, models[0], 0)
        else:
            self._contents(top, file, worlds[0], 0)
            self._world(file, worlds[0])
        top.settle()
        found = [part for part in top.parts if part.inside is not None]
        moving = [part for part in found if part.inside is not None and not part.inside.static] or found
        if len(moving) == 1:  # its links keep their names
            moving[0].plain, self.title = True, moving[0].name
        return top

    def _world(self, file: File, world: Element) -> None:
        """Read gravity, which is in <physics> up to version 1.5."""
        physics = world.one("physics")
        old = None if physics is None else physics.one("gravity")
        element = world.one("gravity")
        if file.minor <= 5 and old is not None and element is None:
            element = old
        elif old is not None:
            self._tell(file, old, "<gravity> in <physics> of a later version than 1.5")
        self.gravity = STANDARD if element is None else _vector(file, element, "<gravity>")
        self.title = world.attributes.get("name", "").strip()

    def _model(
        self, holder: Scope, file: File, element: Element, depth: int, include: "_Include | None" = None
    ) -> None:
        """Add a model to the scope that contains it."""
        if depth > MOST_NESTED:
            raise file.wrong(element, f"models are nested deeper than {MOST_NESTED}")
        static = _flag(file, element, "static") or (holder.static and not holder.world)
        canonical, placement = (
            element.attributes.get(key, "").strip() for key in ("canonical_link", "placement_frame")
        )
        name, pose, owner = _name(file, element), element.one("pose"), file
        if include is not None:
            static = static or include.static
            name = include.name or name
            if include.pose is not None:
                pose, owner, placement = include.pose, include.file, include.placement or placement
            elif include.placement:
                raise include.file.wrong(include.element, "<placement_frame> needs a <pose> in the same <include>")
        merged = include is not None and include.merge
        still, world = (holder.static, holder.world) if merged else (static, False)
        inside = Scope(static=still, world=world, canonical=canonical)
        kind, at = "merged" if merged else "model", (file, element)
        if include is not None:
            at = include.file, include.element
        raw, relative = self._pose(owner, pose)
        part = Part(kind, name, *at, raw, relative, inside=inside, placement=placement, plain=merged)
        if not merged:
            holder.add(part)
        self._contents(inside, file, element, depth)
        inside.settle()
        if merged:
            holder.merge(part)

    def _contents(self, scope: Scope, file: File, holder: Element, depth: int) -> None:
        """Add the elements of a model or of the world to its scope."""
        own_world = any(x.name == "link" and x.attributes.get("name") == WORLD for x in holder.children)
        for element in holder.children:
            if element.name == "model":
                self._model(scope, file, element, depth + 1)
            elif element.name == "include":
                self._include(scope, file, element, depth)
            elif element.name == BALL:
                self.balls.append((Part(BALL, "", file, element, HERE, ""), scope))
            elif element.name in ("link", "frame", "joint"):
                if element.name == "link" and scope.world:
                    if holder.name == "model":
                        raise file.wrong(element, "a link cannot be merged into the world; remove merge")
                    continue  # listed as not understood
                name, (raw, relative) = _name(file, element), self._pose(file, element.one("pose"))
                attached = ""
                if element.name == "frame":
                    attached = element.attributes.get("attached_to", "").strip()
                elif element.name == "joint":
                    attached = _text(file, element, "child", f"joint {name!r}")
                    if attached == WORLD and not own_world:
                        attached = ""
                part = Part(element.name, name, file, element, raw, relative or attached, attached)
                scope.add(part)

    def _include(self, scope: Scope, file: File, element: Element, depth: int) -> None:
        """Add the model of another file."""
        uri = uri_of(element)
        found = self.files.include(file, element)
        if found is None:
            self._missing(scope, file, element, uri)
            return
        models = list(found.root.named("model"))
        if len(models) != 1:
            said = f"has {counted(len(models), 'model')} in <sdf>; a file that is included must have one"
            raise file.wrong(element, f"<include> of {shown(uri)}: {said}")
        name, placement = (
            x.text.strip() if (x := element.one(key)) is not None else "" for key in ("name", "placement_frame")
        )
        merge = element.attributes.get("merge", "").strip().lower() in TRUE
        include = _Include(file, element, name, element.one("pose"), _flag(file, element, "static"), placement, merge)
        self._model(scope, found, models[0], depth + 1, include)

    def _missing(self, scope: Scope, file: File, element: Element, uri: str) -> None:
        """List a missing model of the world. Raises `Fault` for one that is a part of a model."""
        said = f"<include> of {shown(uri)}: there is no such file near the file"
        if not scope.world:
            raise file.wrong(element, f"{said}; give its path relative to the file, without a network address")
        usual = uri.rstrip("/").rpartition("/")[2].lower().replace(" ", "_") in USUAL
        (self.aside if usual else self.strange).append(f"{file.at(element)}: {said}; it is left out")

    # links

    def _links(self, prefix: str, scope: Scope, pose: Posed) -> None:
        """Add the links of one model."""
        for part in scope.parts:
            if part.kind != "link":
                continue
            assert part.pose is not None
            name = f"{prefix}{part.name}"
            while name in self.links:
                name += "_"
            self.names[id(part)], self.parts[name] = name, part
            self.places[name] = pose.then(part.pose)
            try:
                found: Inertial | Fault | None = self._inertial(part, scope)
            except Fault as fault:
                found = fault
            self.links[name] = found
            if scope.static:
                self.fixed.append(name)
            else:
                self._options(part, found)

    def _options(self, part: Part, found: Inertial | Fault | None) -> None:
        """Read the options of a link that act on its motion."""
        file, element = part.file, part.element
        if isinstance(found, Inertial) and found.mass:
            self.heavy.append((part, _flag(file, element, "gravity", True)))
        for key in ("kinematic", "must_be_base_link"):
            if _flag(file, element, key):
                self._tell(file, element, f"<{key}> of <link>; it has no effect")
        decay = element.one("velocity_decay")
        if decay is not None and any(_number(file, decay, key, 0.0, "") for key in ("linear", "angular")):
            self._tell(file, decay, "<velocity_decay> of <link>; the arm has no such damping")

    def _inertial(self, part: Part, scope: Scope) -> Inertial | None:
        """Return the inertia of a link in its frame, with the defaults of the specification, which are listed."""
        file, link, where = part.file, part.element, f"link {part.name!r}"
        element = link.one("inertial")
        if element is None:
            if not scope.static:
                self._tell(file, link, "<link> without <inertial>; it has SDF's default, 1 kg and 1 kg m^2")
            return Inertial(1.0, Place(), np.eye(3), file.at(link))
        if element.attributes.get("auto", "").strip().lower() in TRUE:
            said = "<inertial> with auto is not read; give its mass and inertia"
            raise file.wrong(element, f"{where}: {said}")
        m = _number(file, element, "mass", 1.0, where)
        if m < 0.0:
            raise file.wrong(element, f"{where}: <mass> is {m} kg; it must be zero or positive")
        inertia, entries = element.one("inertia"), dict.fromkeys(("ixx", "iyy", "izz"), 1.0)
        missing = [] if element.one("mass") is not None else ["mass"]
        if inertia is None:
            missing.append("inertia")
        else:
            missing += [key for key in entries if inertia.one(key) is None]
            entries = {
                key: _number(file, inertia, key, entries.get(key, 0.0), where)
                for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
            }
        if missing and not scope.static:
            some = ", ".join(f"<{key}>" for key in missing)
            self._tell(file, element, f"<inertial> without {some}, which has SDF's default, 1 kg or 1 kg m^2")
        tensor = np.array([[entries.get("i" + "".join(sorted(r + c)), 0.0) for c in "xyz"] for r in "xyz"])
        raw, relative = self._pose(file, element.one("pose"))
        if relative:
            raw = scope.pose(part.name, part).inverse().then(scope.pose(relative, part)).then(raw)
        return Inertial(m, _place(raw), tensor, file.at(element))

    def _gravity(self) -> Vector:
        """Return gravity, which is zero if it acts on no link. List links on which alone it does not act."""
        if not any(self.gravity) or all(acts for _, acts in self.heavy):
            return self.gravity
        if not any(acts for _, acts in self.heavy):
            self.notes.append("gravity acts on no link in the file; the arm has none")
            return (0.0, 0.0, 0.0)
        for part, acts in self.heavy:
            if not acts:
                self._tell(
                    part.file, part.element, "<gravity> of <link> is false, which is ignored: gravity acts in full"
                )
        return self.gravity

    def _point(self, name: str, part: Part, scope: Scope, pose: Posed, joints: dict[str, Joint]) -> None:
        """Add a link without mass at a frame."""
        assert part.pose is not None
        link = (
            scope.link(part.name, part) if part.kind != "model" or part.inside is None else part.inside.link("", part)
        )
        on = WORLD if link is None else self.names[id(link)]
        place = self.places[on].inverse().then(pose).then(part.pose)
        self.links[name] = None
        fixed = f"{name} (frame)"
        joints[fixed] = _joint(fixed, "fixed", on, name, place, part.file.at(part.element))

    # joints

    def _hinge(self, part: Part, scope: Scope, pose: Posed, prefix: str) -> _Hinge:
        """Return a joint with its links, its frame and its axis."""
        file, element, where = part.file, part.element, f"joint {part.name!r}"
        kind = element.attributes.get("type", "").strip()
        if kind not in (*KINDS, *SEVERAL, GEARBOX):
            allowed = f"it must be {choices(*KINDS)}"
            missing = f"type is missing; {allowed}"
            raise part.wrong(unknown_name("type is", kind, KINDS, allowed) if kind else missing)
        parent = self._end(part, scope, _text(file, element, "parent", where))
        child = self._end(part, scope, _text(file, element, "child", where))
        if parent == child:
            raise part.wrong(f"connects {parent!r} to itself")
        assert part.pose is not None
        there = pose.then(part.pose)
        if not part.attached and not _relative(element):
            there = part.raw  # a joint whose child is the world
        turned = {
            "axis": kind in (*KINDS, "revolute2", "screw", GEARBOX) and kind != "fixed",
            "axis2": kind in ("revolute2", GEARBOX),
        }
        axes = [
            self._axis(part, scope, pose, there, tag)
            if needed or (kind in TWO and element.one(tag) is not None)
            else np.array([0.0, 0.0, 1.0])
            for tag, needed in turned.items()
        ]
        reference = ""
        if kind == GEARBOX:
            reference = self._end(part, scope, _text(file, element, "gearbox_reference_body", where))
        return _Hinge(part, kind, prefix, parent, child, there, axes[0], axes[kind in (*TWO, GEARBOX)], reference)

    def _end(self, part: Part, scope: Scope, path: str) -> str:
        """Return the link with which the parent or the child frame of a joint moves."""
        if path == WORLD and ((found := scope.find(path)) is None or found[0].kind != "link"):
            return WORLD
        link = scope.link(path, part)
        return WORLD if link is None else self.names[id(link)]

    def _axis(self, part: Part, scope: Scope, pose: Posed, joint: Posed, tag: str = "axis") -> np.ndarray:
        """Return the unit vector along the axis of a joint in the world."""
        file, where = part.file, f"joint {part.name!r}"
        axis = part.element.one(tag)
        if axis is None:
            raise part.wrong(f"has no <{tag}>")
        xyz = axis.one("xyz")
        vector = np.array((0.0, 0.0, 1.0) if xyz is None else _vector(file, xyz, f"{where}: <xyz>"))
        if (size := hypot(*vector)) < 1e-9:
            raise file.wrong(axis, f"{where}: <xyz> is zero; it must have a direction")
        expressed = "" if xyz is None else xyz.attributes.get("expressed_in", "").strip()
        if file.minor <= 4 or (file.minor <= 6 and _flag(file, axis, "use_parent_model_frame")):
            return pose.R @ vector / size
        if axis.one("use_parent_model_frame") is not None and file.minor > 6:
            self._tell(file, axis, "<use_parent_model_frame> of a later version than 1.6; it has no effect")
        R = pose.R @ scope.pose(expressed, part).R if expressed else joint.R
        return R @ vector / size

    def _tree(self, read: dict[str, _Hinge]) -> tuple[dict[str, Joint], list[str]]:
        """Return the joints as a tree on the world, and the names of those that close loops.

        A joint leads away from the world. If its parent is farther from the world than its child in the file, the two
        are exchanged and the axis is reversed, which leaves its coordinate unchanged.
        """
        still, group = {WORLD, *self.fixed}, {name: name for name in self.links}

        def leader(name: str) -> str:
            while group[name] != name:
                group[name] = group[group[name]]
                name = group[name]
            return name

        on: dict[str, list[str]] = {name: [] for name in self.links}
        for link in self.fixed:
            group[leader(link)] = leader(WORLD)
        left = {name for name, hinge in read.items() if {hinge.parent, hinge.child} <= still}
        self.notes += [
            f"joint {name!r} connects links that do not move; it is left out" for name in read if name in left
        ]
        closing = []
        for name in _last_closing(read):
            one, other = leader(read[name].parent), leader(read[name].child)
            if name not in left and one == other:
                closing.append(name)
            group[one] = other
        tree = {name: hinge for name, hinge in read.items() if name not in left and name not in closing}
        for name, hinge in tree.items():
            on[hinge.parent].append(name)
            on[hinge.child].append(name)
        carriers: dict[str, str] = {}
        reached: set[str] = set()

        def walk(*starts: str) -> None:
            waiting = list(starts)
            reached.update(starts)
            while waiting:
                link = waiting.pop()
                for name in on[link]:
                    ends = {read[name].parent, read[name].child} - {link}
                    if not ends <= reached:
                        carriers[name] = link
                        reached.update(ends)
                        waiting.extend(ends)

        walk(WORLD, *self.fixed)
        made = {name: self._stand(name, link, "fixed") for link in self.fixed if (name := f"{link} (fixed)")}
        children = {hinge.child for hinge in tree.values()}
        for link in self.links:
            if link not in reached and link not in children:
                walk(link)
                made[f"{link} (floating)"] = self._stand(f"{link} (floating)", link, "floating")
        moved = {name: ({read[name].parent, read[name].child} - {carrier}).pop() for name, carrier in carriers.items()}
        self._shift({link: read[name] for name, link in moved.items()})
        found = {name: self._joint(name, read[name], carriers[name]) for name in read if name in carriers}
        return made | found, sorted(closing, key=list(read).index)

    def _loop(self, name: str, hinge: _Hinge) -> Loop:
        """Return the loop that a joint closes. Raises `Fault` for a kind that cannot."""
        file, element = hinge.part.file, hinge.part.element
        if hinge.kind not in CLOSING:
            kinds = choices(*CLOSING)
            raise hinge.part.wrong(f"closes a loop and is of type {hinge.kind!r}; to close a loop it must be {kinds}")
        for tag in ("axis", "axis2") if hinge.kind == "universal" else ():
            if element.one(tag) is None:
                raise hinge.part.wrong(f"has no <{tag}>")
        kind, R = CLOSING[hinge.kind], hinge.place.R
        axis, axis_to = (_exactly(R.T @ vector) for vector in (hinge.axis, hinge.axis_to))
        if kind == "universal" and abs(hinge.axis @ hinge.axis_to) > SMALL:
            raise hinge.part.wrong("its two axes are not perpendicular, as they must be to close a loop")
        first, second = (
            (link, _place(self.places[link].inverse().then(hinge.place))) for link in (hinge.parent, hinge.child)
        )
        acts = [x for tag in ("axis", "axis2") if (x := element.one(tag)) is not None]
        if any(_number(file, x, key, 0.0, "") for axis in acts for x in axis.named("dynamics") for key in DYNAMICS):
            self._tell(file, element, "<dynamics> of a <joint> that closes a loop; it is ignored")
        if any(axis.one("mimic") is not None for axis in acts) or any(element.one(tag) is not None for tag in DRAKE):
            self._tell(file, element, "a drive or <mimic> of a <joint> that closes a loop; it is ignored")
        self.notes.append(f"joint {name!r} closes a loop: it is a closure of the arm, without a coordinate or an input")
        return Loop(name, kind, (first, second), axis, axis_to, file.at(element))

    def _ball(self, part: Part, scope: Scope) -> Loop:
        """Return the loop that a ball constraint of Drake closes."""
        file, element, ends = part.file, part.element, []
        for side, point in (("A", "P"), ("B", "Q")):
            body, tag = f"{BALL}_body_{side}", f"{BALL}_p_{side}{point}"
            link = self._end(part, scope, _text(file, element, body, f"<{BALL}>"))
            if (given := element.one(tag)) is None:
                raise file.wrong(element, f"<{BALL}>: has no <{tag}>")
            place = _moved(np.array(_vector(file, given, f"<{BALL}>: <{tag}>")))
            ends.append((link, _place(self.shifted.get(link, HERE).inverse().then(place))))
        return Loop("", "ball", (ends[0], ends[1]), (0.0, 0.0, 1.0), (0.0, 0.0, 1.0), file.at(element))

    def _stand(self, name: str, link: str, kind: str) -> Joint:
        """Return the joint between the world and a link that no joint of the file connects to it."""
        part = self.parts[link]
        return _joint(name, kind, WORLD, link, self.places[link], part.file.at(part.element))

    def _shift(self, carried: dict[str, _Hinge]) -> None:
        """Move the frames of links to the axes about which their joints turn them."""
        apart = []
        for link, hinge in carried.items():
            anchor = self.places[link].inverse().then(hinge.place).p
            if hinge.kind in ("fixed", "prismatic") or np.abs(anchor).max() < SAME:
                continue
            apart.append(link)
            self.shifted[link] = _moved(anchor)
            self.places[link] = self.places[link].then(self.shifted[link])
            if isinstance(found := self.links[link], Inertial):
                place = _place(_moved(-anchor).then(Posed.of(found.place)))
                self.links[link] = replace(found, place=place)
        if apart:
            some = ", ".join(map(repr, apart[:5])) + (", ..." if len(apart) > 5 else "")
            self.notes.append(
                f"joints are not at the origins of {some}; the frames of these links are at the joints instead"
            )

    def _joint(self, name: str, hinge: _Hinge, carrier: str) -> Joint:
        """Return a joint whose parent is the link `carrier`, with everything that acts on its motion."""
        turned = carrier == hinge.child
        child = hinge.parent if turned else hinge.child
        file, element, where = hinge.part.file, hinge.part.element, f"joint {name!r}"
        place = self.places[carrier].inverse().then(self.places[child])
        joint = _joint(name, hinge.kind, carrier, child, place, file.at(element))
        if turned:
            self.notes.append(
                f"{where} carries its parent {child!r}; its axis is reversed, and its coordinate is not changed"
            )
        if hinge.kind in SEVERAL:
            return self._several(joint, hinge, turned)
        if not joint.moves:
            return joint
        x, y, z = (self.places[child].R.T @ (-hinge.axis if turned else hinge.axis)).tolist()
        joint.axis = (x, y, z)
        axis = element.one("axis")
        assert axis is not None
        self._dynamics(joint, file, axis)
        joint.limits = self._limits(joint, file, axis.one("limit"))
        mimic = axis.one("mimic")
        if mimic is not None:
            joint.mimic = self._mimic(joint, file, mimic, hinge.prefix)
        for tag, key in DRAKE.items():
            if element.one(tag) is not None:
                joint.drive[key] = _number(file, element, tag, 0.0, where)
        physics = element.one("physics")
        ode = None if physics is None else physics.one("ode")
        if ode is not None and any(_number(file, ode, key, 0.0, where) for key in ("max_force", "velocity")):
            self._tell(file, ode, "a motor of <ode> in <joint>; it is ignored")
        return joint

    def _several(self, joint: Joint, hinge: _Hinge, turned: bool) -> Joint:
        """Return a joint with several coordinates. Its frame is that of the link that it carries."""
        file, element, R = hinge.part.file, hinge.part.element, self.places[joint.child].R.T
        joint.kind = "universal" if hinge.kind in TWO else hinge.kind
        if turned and joint.kind in ("universal", "screw"):
            raise hinge.part.wrong(f"is of type {hinge.kind!r} and carries its parent; exchange parent and child")
        joint.axis, joint.second = ((R @ axis).tolist() for axis in (hinge.axis, hinge.axis_to))
        for tag in ("axis", "axis2") if hinge.kind in TWO else ():
            if element.one(tag) is None:
                raise hinge.part.wrong(f"has no <{tag}>")
        if hinge.kind == "screw":
            joint.pitch = self._pitch(file, element, f"joint {joint.name!r}")
            if (axis := element.one("axis")) is not None:
                self._dynamics(joint, file, axis)
                joint.limits = self._limits(joint, file, axis.one("limit"))
                if (mimic := axis.one("mimic")) is not None:
                    joint.mimic = self._mimic(joint, file, mimic, hinge.prefix)
            return joint
        for axis in filter(None, map(element.one, ("axis", "axis2"))):
            if joint.kind == "ball":
                self._dynamics(joint, file, axis)
            for tag in ("dynamics", "mimic") if joint.kind != "ball" else ("mimic",):
                if axis.one(tag) is not None:
                    self._tell(file, element, f"<{tag}> of a joint of type {hinge.kind!r}; it is ignored")
            limits = self._limits(joint, file, axis.one("limit"))
            joint.limits = joint.limits if limits == Limits() else limits
        return joint

    def _gearbox(self, name: str, hinge: _Hinge) -> Gearbox:
        """Return a gearbox. Nothing acts on it, because it has no coordinate."""
        file, element = hinge.part.file, hinge.part.element
        for axis in filter(None, map(element.one, ("axis", "axis2"))):
            for tag in ("dynamics", "mimic"):
                if axis.one(tag) is not None:
                    self._tell(file, element, f"<{tag}> of a joint of type {GEARBOX!r}; it is ignored")
        ratio = _number(file, element, "gearbox_ratio", 1.0, f"joint {name!r}")
        ends = (hinge.parent, hinge.axis), (hinge.child, hinge.axis_to)
        return Gearbox(hinge.part, hinge.reference, ends, ratio)

    def _pitch(self, file: File, element: Element, where: str) -> float:
        """Return the displacement of a screw per turn [m]."""
        old = _number(file, element, "thread_pitch", 0.0, where)
        pitch = _number(file, element, "screw_thread_pitch", -2 * pi / old if old else 0.0, where)
        if pitch == 0.0:
            raise file.wrong(element, f"{where}: <screw_thread_pitch> is missing or zero; it is the way per turn [m]")
        return pitch

    def _dynamics(self, joint: Joint, file: File, axis: Element) -> None:
        """Add damping, friction and a spring to a joint."""
        element = axis.one("dynamics")
        if element is None:
            return
        where = f"joint {joint.name!r}"
        keys = (*DYNAMICS, "spring_reference")
        damping, friction, stiffness, rest = (_number(file, element, key, 0.0, where) for key in keys)
        for key, value in (("damping", damping), ("friction", friction), ("spring_stiffness", stiffness)):
            if value < 0.0:
                raise file.wrong(element, f"{where}: <{key}> is {value}; it must be zero or positive")
        joint.damping, joint.friction = damping, friction
        if stiffness:
            joint.spring = Beside(stiffness, rest)

    def _limits(self, joint: Joint, file: File, element: Element | None) -> Limits:
        """Return the limits of a joint, None for each that is wrong, since limits do not affect the motion."""
        found: dict[str, float | None] = dict.fromkeys(("lower", "upper", "velocity", "effort"))
        if element is None:
            return Limits()
        for key in found:
            if (given := element.one(key)) is None or INFINITE.fullmatch(given.text.strip()):
                continue
            try:
                value = _number(file, element, key, 0.0, f"joint {joint.name!r}")
            except Fault as fault:
                self.strange.append(f"{fault.message}; it is left out")
                continue
            if abs(value) < UNLIMITED and (key in ("lower", "upper") or value >= 0.0):
                found[key] = value
        if joint.kind == "continuous":
            found |= {"lower": None, "upper": None}
        lower, upper = found["lower"], found["upper"]
        if lower is not None and upper is not None and lower > upper:
            said = f"<limit> lower is {lower}, above upper, {upper}; the range is left out"
            self.strange.append(f"{joint.at}: joint {joint.name!r}: {said}")
            found |= {"lower": None, "upper": None}
        elif lower is not None and lower == upper:
            said = f"<limit> allows only {lower}, which fixes it in Gazebo; here it moves, unless you lock it (locked)"
            self.strange.append(f"{joint.at}: joint {joint.name!r}: {said}")
        return Limits(**found)

    def _mimic(self, joint: Joint, file: File, element: Element, prefix: str) -> Mimic | None:
        """Return the joint that a joint follows, or None and a line in the list if it is wrong."""
        where, leader = f"joint {joint.name!r}", element.attributes.get("joint", "").strip()
        try:
            if not leader or element.attributes.get("axis", "axis").strip() not in ("", "axis"):
                raise file.wrong(element, f"{where}: <mimic> must name a joint and its axis")
            defaults = {"multiplier": 1.0, "offset": 0.0, "reference": 0.0}
            multiplier, offset, reference = (_number(file, element, *item, where) for item in defaults.items())
        except Fault as fault:
            self.strange.append(f"{fault.message}; the joint moves independently")
            return None
        return Mimic(f"{prefix}{leader}", multiplier, offset - multiplier * reference)

    def _pose(self, file: File, element: Element | None) -> tuple[Posed, str]:
        """Return a pose as written, and the name of the frame to which it is relative, or ""."""
        if element is None:
            return HERE, ""
        relative = element.attributes.get("relative_to", "").strip()
        if other := element.attributes.get("frame", "").strip():
            if file.minor > 6:
                self._tell(file, element, "frame of <pose> of a later version than 1.6; it has no effect")
            else:
                relative = relative or other
        kind = element.attributes.get("rotation_format", "euler_rpy").strip()
        if kind not in ("euler_rpy", "quat_xyzw"):
            said = unknown_name("<pose> rotation_format is", kind, ("euler_rpy", "quat_xyzw"))
            raise file.wrong(element, f"{said}; it must be 'euler_rpy' or 'quat_xyzw'")
        values = _numbers(file, element, "<pose>")
        if not values:
            return HERE, relative
        if len(values) != (count := 6 if kind == "euler_rpy" else 7):
            raise file.wrong(element, f"<pose> has {counted(len(values), 'number')}; it must have {count}")
        x, y, z, *turn = values
        if kind == "quat_xyzw":
            if (size := hypot(*turn)) < 1e-9:
                raise file.wrong(element, "<pose> has a quaternion of length zero")
            return Posed(rotation(np.array([turn[3], *turn[:3]]) / size), np.array([x, y, z])), relative
        degrees = element.attributes.get("degrees", "").strip().lower() in TRUE
        roll, pitch, yaw = map(radians, turn) if degrees else turn
        if not any(values):
            return HERE, relative
        return Posed.of(Place((x, y, z), (roll, pitch, yaw))), relative


def _last_closing(read: dict[str, _Hinge]) -> list[str]:
    """Return the names of joints in an order in which those that rather close a loop come last.

    These are joints whose child has a parent already.
    """
    first: dict[str, str] = {}
    for name, hinge in read.items():
        first.setdefault(hinge.child, name)
    return sorted(read, key=lambda name: first[read[name].child] != name)


# -- elements ----------------------------------------------------------------------------------------------------------


def _name(file: File, element: Element) -> str:
    name = element.attributes.get("name", "").strip()
    if not name:
        raise file.wrong(element, f"a <{element.name}> has no name")
    if file.minor > 6 and (name == WORLD or (name.startswith("__") and name.endswith("__"))):
        raise file.wrong(element, f"{element.name} {name!r}: this name is reserved")
    return name


def _text(file: File, holder: Element, key: str, where: str) -> str:
    """Return the text of an element that must exist."""
    element = holder.one(key)
    text = "" if element is None else element.text.strip()
    if not text:
        raise file.wrong(holder, f"{where}: has no <{key}>")
    return text


def _flag(file: File, holder: Element, key: str, default: bool = False) -> bool:
    """Return a truth value in an element."""
    element = holder.one(key)
    text = "" if element is None else element.text.strip().lower()
    if element is None or not text:
        return default
    if text not in (*TRUE, *FALSE):
        raise file.wrong(element, f"<{key}> is {shown(element.text.strip())}; it must be true or false")
    return text in TRUE


def _number(file: File, holder: Element, key: str, default: float, where: str) -> float:
    """Return the number in an element, or the default if the element does not exist."""
    element = holder.one(key)
    if element is None:
        return default
    what = f"<{key}>" if not where else f"{where}: <{key}>"
    return _checked(file, element, element.text, what)


def _numbers(file: File, element: Element, what: str) -> list[float]:
    return [_checked(file, element, part, what) for part in element.text.split()]


def _checked(file: File, element: Element, text: str, what: str) -> float:
    if any(sign in text for sign in TEMPLATE):
        said = "belongs to a template (Jinja, ERB, EmPy or xacro); generate the SDF file from it first"
        raise file.wrong(element, f"{what} is {shown(text.strip())}, which {said}")
    return checked(text, f"{file.at(element)}: {what}")


def _vector(file: File, element: Element, what: str) -> Vector:
    values = _numbers(file, element, what)
    if len(values) != 3:
        raise file.wrong(element, f"{what} is {shown(' '.join(element.text.split()))}; it must be three numbers")
    x, y, z = values
    return x, y, z


def _relative(joint: Element) -> str:
    """Return the frame to which the pose of a joint is relative, or ""."""
    pose = joint.one("pose")
    return "" if pose is None else pose.attributes.get("relative_to", "").strip()


def _joint(name: str, kind: str, parent: str, child: str, place: Posed, at: str) -> Joint:
    """Return a joint without dynamics and limits."""
    return Joint(name, kind, parent, child, _place(place), (1.0, 0.0, 0.0), Limits(), 0.0, 0.0, None, at)


def _moved(p: np.ndarray) -> Posed:
    return Posed(np.eye(3), p)


def _place(posed: Posed) -> Place:
    if posed.written is not None:
        return posed.written
    (x, y, z), (roll, pitch, yaw) = _exact(posed.p.tolist()), _exact(rpy(posed.R))
    return Place((x, y, z), (roll, pitch, yaw))


def _exactly(vector: np.ndarray) -> Vector:
    x, y, z = _exact(vector.tolist())
    return x, y, z


def _exact(values: Collection[float]) -> list[float]:
    """Return numbers with zeros in place of rounding."""
    return [x if abs(x) > ROUNDED else 0.0 for x in values]
