"""Conversion of a robot to an arm: which links move, which are combined, their frames, and the lines on the result.

A rigid link keeps its frame of the file. A flexible link has a frame of its own at the same origin, with its x axis
along the beam. R_LB turns vectors of this frame into the frame of the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexarm.checks import Fault, Vector, checked_vector, counted, shown, tensor, unknown_name
from flexarm.description.arm import Arm, Link, Pose
from flexarm.description.beams import Beam
from flexarm.description.bodies import Frame
from flexarm.description.cables import Cable, CablePoint
from flexarm.description.closures import Closure
from flexarm.description.compounds import Ball
from flexarm.description.free import POSE, TWIST, FreeBase, Thruster
from flexarm.description.joints import Driven, Fixed, Prismatic, Revolute
from flexarm.description.robots.inertia import NOTHING, ROUNDED, Lump, excess, least, lump_of, raised, seen, together
from flexarm.description.robots.place import HERE, Posed, rpy, turned
from flexarm.description.robots.resistance import SAYS_MASS, Resistance
from flexarm.description.robots.robot import Inertial, Joint, Limits, Loop, Place, Robot
from flexarm.description.robots.settings import Setting, Settings, theirs
from flexarm.description.robots.xml import lines_of
from flexarm.description.tree import BASE
from flexarm.errors import DescriptionError

SMALL = 1e-9
"""Largest length that counts as zero [m]: two joints this close meet."""
SAME = 0.01
"""Relative difference between a beam's mass, centre or inertia and the file's above which the beam is listed.

No link is known more accurately.
"""

CLOSED = 1e-6
"""Largest gap of a closed loop within one link [m or 1], from the rounding of numbers in files."""


@dataclass
class Mount:
    """A link with a body of its own: its joint, the link that carries it, its pose, and the inertias combined in it."""

    link: str
    joint: Joint
    carrier: str
    place: Posed
    moves: bool
    parts: list[Lump] = field(default_factory=list)
    frame: Posed = HERE  # that of its body in the file's frame
    length: float = 0.0


@dataclass(frozen=True)
class Assembled:
    """An arm, and the lines on how it was made."""

    arm: Arm
    joints: dict[str, str]
    merged: dict[str, str]
    limits: dict[str, Limits]
    strange: list[str]
    notes: list[str]


def assembled(robot: Robot, settings: Settings) -> Assembled:
    """Return the arm of a robot. Raises `Setting` and `DescriptionError`."""
    return _Assembly(robot, settings).arm()


class _Assembly:
    def __init__(self, robot: Robot, settings: Settings):
        self.robot, self.settings = robot, settings
        self.strange: list[str] = []
        self.notes: list[str] = []
        self.told: dict[str, list[str]] = {}
        self.merged: dict[str, str] = {}
        self.locked = self._locked()
        self.ground, self.free = self._ground()
        self.held = self._held()
        self.held |= self._unresisted()
        self.tip = self._tip()
        self._check_tables()
        self.standing = self._standing()
        self.mounts: dict[str, Mount] = {}
        self.base_parts: list[Lump] = []
        self.on_base: dict[str, Posed] = {}
        self.placed: dict[str, tuple[str, Posed]] = {}
        """Carrier of each link's body, \"\" for the base, and the link's frame in the carrier's."""
        self.names: dict[str, str] = {}
        self.taken: set[str] = set()
        """Names of the arm's parts."""
        self.points: dict[tuple[str, Place], Link] = {}
        """Links without mass, at poses on a body at which no section of it is."""

    def arm(self) -> Assembled:
        self._mount()
        self._geared()
        self._name()
        ahead = self._way_to_tip()
        for mount in self.mounts.values():
            if mount.link in self.settings.links:
                self._lay(mount, ahead)
        links = [self._link(mount) for mount in self.mounts.values()]
        moving = [mount for mount in self.mounts.values() if mount.moves and mount.joint.name not in self.following]
        alone = [mount for mount in moving if not mount.joint.spherical]
        names = {mount.joint.name: f"{self.names[mount.link]}.joint" for mount in alone}
        limits = {names[mount.joint.name]: mount.joint.limits for mount in alone}
        thrusters = self._thrusters(limits)
        self.taken = {*self.names.values(), BASE, "payload", "gravity"}
        cables, closures = self._cables(), self._closures()
        title = "".join(c if c.isprintable() else " " for c in self.robot.name)[:200]
        arm = Arm(
            name=title,
            links=[*links, *self.points.values()],
            base=self._base(thrusters),
            cables=cables,
            closures=closures,
            gravity=self.robot.gravity if self.settings.gravity is None else self.settings.gravity,
            tip=self.names[self.tip],
        )
        merged = {link: self.names.get(carrier, BASE) for link, carrier in self.merged.items()}
        return Assembled(arm, names, merged, limits, [*self.strange, *lines_of(self.told)], self.notes)

    # which joints move

    def _locked(self) -> dict[str, float]:
        """Return the joints that the user locks, and those that follow locked ones by <mimic>, with their
        coordinates."""
        locked, joints = dict(self.settings.locked), self.robot.joints
        for name in locked:
            if name not in joints:
                raise Setting(unknown_name("locked: there is no joint", name, joints))
            if not joints[name].moves:
                raise Setting(
                    f"locked: joint {name!r} is {joints[name].kind}; only joints with one coordinate can be locked"
                )
        following = {}
        for name, joint in joints.items():
            if joint.mimic and not joint.moves:
                self.strange.append(f"{joint.at}: joint {name!r} is {joint.kind}; its <mimic> has no effect")
            elif joint.mimic and name not in locked:
                following[name] = joint.mimic
        found = True
        while found:
            found = False
            for name, mimic in list(following.items()):
                if mimic.joint in locked:
                    locked[name] = mimic.multiplier * locked[mimic.joint] + mimic.offset
                    self.notes.append(f"joint {name!r} is fixed at {locked[name]:g}, because {mimic.joint!r} is locked")
                    del following[name]
                    found = True
        self.following = following
        for name in self.settings.locked:
            leader = joints[name].mimic
            if leader and leader.joint not in locked:
                self.strange.append(f"{joints[name].at}: joint {name!r} is locked; it does not follow {leader.joint!r}")
        return locked

    def _geared(self) -> None:
        """Keep of the joints that follow others by <mimic> those that can, and list the others."""
        joints = self.robot.joints
        moving = {mount.joint.name for mount in self.mounts.values() if mount.moves}
        following = {name: mimic for name, mimic in self.following.items() if name in moving}
        self.following = {}
        for name, mimic in following.items():
            way, at = [name], mimic.joint
            while at in following and at not in way:
                way.append(at)
                at = following[at].joint
            if at in way:
                reason = "which follows itself"
            elif at not in joints or at not in moving:
                reason = "which does not move" if at in joints else "which does not exist"
            elif joints[at].spherical:
                reason = "which is a ball joint"
            elif mimic.multiplier == 0.0:
                reason = "by the factor 0"
            else:
                self.following[name] = mimic
                formula = f"{mimic.multiplier:g} * {mimic.joint}" + (f" + {mimic.offset:g}" if mimic.offset else "")
                self.notes.append(f"joint {name!r} has no coordinate: it follows {mimic.joint!r}, {name} = {formula}")
                continue
            said = f"joint {name!r} mimics {mimic.joint!r}, {reason}; the joint moves independently"
            self.strange.append(f"{joints[name].at}: {said}")

    def _ground(self) -> tuple[str, bool]:
        """Return the link that is the base, and True if the base is free."""
        root, wanted = self.robot.root, self.settings.base
        on_root = self.robot.below(root)
        if wanted == "fixed" or self._weighs(root):
            return root, wanted == "free"
        if self.robot.world:
            return self._of_the_world(on_root)
        if len(on_root) != 1 or on_root[0].kind != "floating":
            return root, wanted == "free"
        joint = on_root[0]
        if any(joint.place.xyz) or any(joint.place.rpy):
            said = "its <origin> is an initial position, which is not part of the arm"
            self.strange.append(f"{joint.at}: joint {joint.name!r} is floating; {said}")
        return joint.child, True

    def _of_the_world(self, on_root: list[Joint]) -> tuple[str, bool]:
        """Return the same for a file with a world.

        The base is the floating link with the most joints, if no other link on the world moves.
        """
        joints = {joint.name: self._moving_from(joint) for joint in on_root}
        floating = [joint for joint in on_root if joint.kind == "floating"]
        if not floating or any(joints[joint.name] for joint in on_root if joint.kind != "floating"):
            return self.robot.root, self.settings.base == "free"
        base = max(floating, key=lambda joint: joints[joint.name])
        self.notes.append(f"link {base.child!r} is the free base; its place in the file is only an initial position")
        for joint in on_root:
            if joint.kind == "floating" and joint is not base:
                self.strange.append(f"{joint.at}: link {joint.child!r} floats separately from the base; it is left out")
            elif joint is not base:
                self.notes.append(f"link {joint.child!r} is fixed in the world; it is not part of the arm")
        return base.child, True

    def _moving_from(self, joint: Joint) -> int:
        """Return the number of moving joints, including this one and those outboard of it."""
        count, waiting = 0, [joint]
        while waiting:
            at = waiting.pop()
            count += at.moves
            waiting += self.robot.below(at.child)
        return count

    def _held(self) -> set[str]:
        """Return the joints without a coordinate."""
        held = {joint.name for joint in self.robot.joints.values() if not joint.moves} | set(self.locked)
        heavy: set[str] = set()
        for link in reversed(self._outward()):
            bends = link in self.settings.links
            if bends or self._weighs(link) or any(x.child in heavy for x in self.robot.below(link)):
                heavy.add(link)
        for joint in self.robot.joints.values():
            if joint.child not in self._outward_set or joint.child == self.ground:
                continue
            loose = joint.kind == "floating" and self.settings.base == "fixed"
            light = joint.child not in heavy and joint.kind != "fixed"
            if light and (joint.name not in held or joint.kind == "floating"):
                held.add(joint.name)
                self.strange.append(f"{joint.at}: joint {joint.name!r} moves no mass; it is fixed")
            elif joint.kind != "fixed" and not joint.moves and not loose:
                self.strange.append(
                    f"{joint.at}: joint {joint.name!r} is {joint.kind}, which is not supported; it is fixed"
                )
        return held

    def _outward(self) -> list[str]:
        """Return the links on the base, each after its parent, complete branches in the order of the file."""
        found = self.robot.outward(self.ground)
        self._outward_set = set(found)
        return found

    def _weighs(self, link: str) -> bool:
        """Return True if the file gives an inertia for a link, even a wrong one."""
        given = self.robot.links[link]
        return isinstance(given, Fault) or (given is not None and not lump_of(given).is_nothing)

    def _own(self, link: str) -> Lump:
        """Return the inertia of one link in its frame."""
        given = self.robot.links[link]
        if given is None:
            return NOTHING
        if isinstance(given, Fault):
            if link not in self.standing:
                raise given
            self.strange.append(f"{given.message}; this does not matter, because the link does not move")
            return NOTHING
        lump, told = lump_of(given), f"{given.at}: link {link!r}: <inertia> has"
        if (smallest := least(lump)) < 0.0:
            said = (
                f"{told} the principal value {smallest:.3g} kg m^2, which is impossible for a rigid body; it is used "
                "unchanged"
            )
            self.strange.append(said)
        elif excess(lump):
            values = ", ".join(f"{x:.3g}" for x in np.linalg.eigvalsh(lump.I))
            said = (
                f"{told} the principal values {values} kg m^2; for a rigid body none exceeds the sum of the other two"
            )
            self.strange.append(f"{said}; they are used unchanged")
        R, p, _ = Posed.of(given.place)
        return seen(lump, R, p)

    def _standing(self) -> set[str]:
        """Return the links that do not move: fixed joints connect them to a fixed base, with no flexible link
        between."""
        found, waiting = set(), [] if self.free else [self.ground]
        while waiting:
            link = waiting.pop()
            if link not in self.settings.links:
                found.add(link)
                waiting += [joint.child for joint in self.robot.below(link) if joint.name in self.held]
        return found

    def _unresisted(self) -> set[str]:
        """Return the joints that move no inertia about their axes, and list combined motions without inertia."""
        resistance = Resistance(self.robot, self.settings, self.held, self._outward(), self._stood)
        alone = resistance.alone()
        for joint in alone:
            about = "its axis" if not joint.spherical else "one of its axes"
            nothing = "mass" if joint.kind == "prismatic" else f"inertia about {about}"
            self.strange.append(f"{joint.at}: joint {joint.name!r} moves no {nothing}; it is fixed")
        if names := resistance.together():
            said = f"no inertia resists the combined motion of the joints {', '.join(map(repr, names))}"
            self.strange.append(f"{said}; the arm cannot be simulated before one of their links or rotors has inertia")
        return {joint.name for joint in alone}

    def _tip(self) -> str:
        """Return the link whose frame is the tip: the user's choice, or the link behind the most joints."""
        links = self._outward()
        if (given := self.settings.tip) is not None:
            if given not in self.robot.links:
                raise Setting(unknown_name("tip: there is no link", given, self.robot.links))
            if given not in links or given == self.ground:
                raise Setting(f"tip: link {given!r} is the base; the tip must be a link on a joint")
            return given
        if len(links) == 1:
            raise Fault("", "has no joints; an arm needs at least one link on its base", sentence=True)
        far = {self.ground: (0, 0)}
        for link in links[1:]:
            joint = self.robot.above(link)
            assert joint is not None
            moved, long = far[joint.parent]
            far[link] = (moved + (joint.name not in self.held), long + 1)
        ends = [link for link in links[1:] if not self.robot.below(link)]
        tip = max(ends, key=lambda link: far[link])
        if len(ends) > 1:
            self.notes.append(f"the tip is link {tip!r}: of {len(ends)} ends it has the most joints to the base")
        return tip

    def _check_tables(self) -> None:
        """Raise `Setting` if the settings name links or joints that do not exist, or that cannot be flexible."""
        links, joints = self.robot.links, self.robot.joints
        for name in self.settings.links:
            if name not in links:
                raise Setting(unknown_name("links: there is no link", name, links))
            if name == self.ground or name not in self._outward_set:
                raise Setting(f"links: link {name!r} is the base; a flexible link must be on a joint")
        for name in self.settings.joints:
            if name not in joints:
                raise Setting(unknown_name("joints: there is no joint", name, joints))
            if joints[name].child not in self._outward_set or joints[name].child == self.ground:
                raise Setting(f"joints: joint {name!r} is not part of the arm, so it has no drive")
            if name in self.held:
                kind = "fixed, as it moves no inertia" if joints[name].moves else joints[name].kind
                why = "locked" if name in self.locked else kind
                raise Setting(f"joints: joint {name!r} is {why}; it has no drive")

    # which links are bodies

    def _mount(self) -> None:
        """Collect the links that have bodies, and combine all others with them or with the base."""
        waiting: list[tuple[str, str, Posed]] = [(self.ground, "", HERE)]
        while waiting:
            link, carrier, place = waiting.pop()
            joint, own = self.robot.above(link), self._own(link)
            if joint is None or link == self.ground:
                self.base_parts.append(own)
                self.on_base[link] = HERE
            elif self._is_a_body(link, joint, carrier, own):
                mount = Mount(link, joint, carrier, place, joint.name not in self.held, [own])
                self.mounts[link] = mount
                carrier, place = link, HERE
            else:
                self.merged[link] = carrier
                parts = self.mounts[carrier].parts if carrier else self.base_parts
                parts.append(seen(own, place.R, place.p))
                if not carrier:
                    self.on_base[link] = place
            self.placed[link] = carrier, place
            for each in reversed(self.robot.below(link)):
                waiting.append((each.child, carrier, place.then(self._stood(each))))

    def _is_a_body(self, link: str, joint: Joint, carrier: str, own: Lump) -> bool:
        if joint.name not in self.held or link == self.tip or link in self.settings.links:
            return True
        return carrier in self.settings.links and not own.is_nothing

    def _stood(self, joint: Joint) -> Posed:
        """Return the frame of a joint's child in its parent's, with the joint at zero or at its locked coordinate."""
        place, value = Posed.of(joint.place), self.locked.get(joint.name, 0.0)
        if not value:
            return place
        if joint.kind == "prismatic":
            return place.then(Posed(np.eye(3), value * np.array(joint.axis)))
        return place.then(Posed(turned(joint.axis, value), np.zeros(3)))

    def _name(self) -> None:
        """Give each link a name without dots and spaces that differs from the base's."""
        taken: set[str] = set()
        for link in self.mounts:
            name = _label(link)
            while name in taken or name == BASE:
                name += "_"
            taken.add(name)
            self.names[link] = name
            if name != link:
                self.notes.append(f"link {link!r} is renamed {name!r}")

    # flexible links

    def _way_to_tip(self) -> dict[str, Joint]:
        """Return the joint that leads on to the tip, by the name of each link on the path to the tip."""
        ahead: dict[str, Joint] = {}
        link = self.tip
        while link != self.ground and (joint := self.robot.above(link)) is not None:
            ahead[joint.parent] = joint
            link = joint.parent
        return ahead

    def _lay(self, mount: Mount, ahead: Mapping[str, Joint]) -> None:
        """Set the frame of a beam: x to its end, and z across the beam as close to the joint's axis as possible, or as
        given."""
        table, where = self.settings.links[mount.link], f"links.{mount.link}"
        end = self._end(mount, table.get("to"), ahead, where)
        length = float(np.linalg.norm(end))
        if length < SMALL:
            raise Setting(f"{where}: the beam has no length; give its end, `to`: a link on the beam or a point [m]")
        x = end / length
        axes = [np.array(mount.joint.axis), np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])]
        if "z" in table:
            axes = [self._vector(table["z"], f"{where}.z")]
        z = next((a - (a @ x) * x for a in axes if np.linalg.norm(a - (a @ x) * x) > 1e-6 * np.linalg.norm(a)), None)
        if z is None:
            raise Setting(
                f"{where}.z: is {shown(table['z'])}; it must not be parallel to the beam, which lies along {_text(x)}"
            )
        z /= np.linalg.norm(z)
        mount.frame, mount.length = Posed(np.column_stack([x, np.cross(z, x), z]), np.zeros(3)), length

    def _end(self, mount: Mount, to: object, ahead: Mapping[str, Joint], where: str) -> np.ndarray:
        """Return the end of a beam, in the link's frame of the file."""
        if to is not None and not isinstance(to, str):
            return self._vector(to, f"{where}.to")
        on = self.robot.below(mount.link)
        if isinstance(to, str):
            found = [joint for joint in on if joint.child == to]
            if not found:
                known = [joint.child for joint in on]
                allowed = f"give a point [m], or one of the links on link {mount.link!r}:"
                raise Setting(unknown_name(f"{where}.to is", to, known, allowed))
            return np.array(found[0].place.xyz)
        if mount.link in ahead:
            place = HERE
            link = mount.link
            while (joint := ahead.get(link)) is not None:  # links that only rename a frame lead on
                place, link = place.then(self._stood(joint)), joint.child
                if np.linalg.norm(place.p) > SMALL or joint.name not in self.held:
                    return place.p
            return place.p
        some = [joint for joint in on if joint.name not in self.held] or on
        if len(some) != 1:
            what = (
                (f"carries {counted(len(some), 'link')}, none of them on the path to the tip")
                if some
                else "carries no other link"
            )
            raise Setting(f"{where}: the link {what}; give the end of the beam, `to`: a link on it or a point [m]")
        return np.array(some[0].place.xyz)

    def _vector(self, value: object, where: str) -> np.ndarray:
        try:
            found = checked_vector(value, "m")
        except Fault as fault:
            raise Setting(f"{where}{fault.part}: {fault.message}") from None
        if not any(found):
            raise Setting(f"{where}: is zero; it must have a direction")
        return np.array(found)

    # the parts of the description

    def _link(self, mount: Mount) -> Link:
        table: dict[str, Any] = {"name": self.names[mount.link], "joint": self._joint(mount)}
        table |= self._body(mount) | self._where(mount)
        return Link(**table)

    def _where(self, mount: Mount) -> dict[str, Any]:
        """Return the parent, the place on it and the placement."""
        place = mount.place if mount.frame is HERE else mount.place.then(mount.frame)
        if not mount.carrier:
            return {"parent": BASE, "placement": place.pose()}
        carrier, parent = self.mounts[mount.carrier], {"parent": self.names[mount.carrier]}
        if carrier.frame is HERE:
            return {**parent, "at": place.pose()}
        place = carrier.frame.inverse().then(place)
        x, off = float(place.p[0]) / carrier.length, np.array(place.p)
        station = float(np.clip(x, 0.0, 1.0))
        station = round(station) if min(station, 1.0 - station) < SMALL else station
        off[0] -= station * carrier.length
        off[np.abs(off) < SMALL * carrier.length] = 0.0
        return {**parent, "at": float(station), "placement": Posed(place.R, off).pose()}

    def _body(self, mount: Mount) -> dict[str, Any]:
        whole = together(mount.parts)
        if mount.link in self.settings.links:
            return {"body": self._beam(mount, whole)}
        tensor = _rows(whole)
        if whole.m == 0.0:
            return {"body": {"type": "frame"}, "hub_inertia": tensor if whole.I.any() else 0.0}
        com = tuple(whole.c.tolist())
        return {"body": {"type": "rigid", "length": 0.0, "mass": whole.m, "com": com, "inertia": tensor}}

    def _beam(self, mount: Mount, whole: Lump) -> Beam:
        given = self.settings.links[mount.link]
        table = {key: x for key, x in given.items() if key not in ("to", "z")}
        for key in ("length", "type"):
            if key in table:
                why = "the beam ends at the next joint or at `to`" if key == "length" else "a flexible link is a beam"
                raise Setting(f"links.{mount.link}.{key}: is given, but {why}; leave it out")
        files = all(table.get(key) is None for key in SAYS_MASS)
        if files:
            if whole.m == 0.0:
                said = f"the {self.robot.format} file has no mass for the link; give one of {', '.join(SAYS_MASS)}"
                raise Setting(f"links.{mount.link}: {said}")
            table["mass"] = whole.m
        R = mount.frame.R.T
        there = Lump(whole.m, R @ whole.c, R @ whole.I @ R.T)
        own = all(table.get(key) is None for key in ("polar_inertia", "material", "sections"))
        if own and there.I[0, 0] > ROUNDED * np.trace(there.I):
            table["polar_inertia"] = float(there.I[0, 0]) / mount.length
        said = f"centre of mass {_text(there.c)} m and central moments of inertia {_text(np.diag(there.I))} kg m^2"
        self.notes.append(
            f"link {mount.link!r} is a beam of {mount.length:.4g} m, which replaces a rigid body of {there.m:.4g} kg "
            "with "
            f"{said}, in the axes of the beam"
        )
        try:
            beam = Beam(length=mount.length, **table)
        except DescriptionError as error:
            raise theirs(f"links.{mount.link}", error) from None
        if files:
            self._compare(mount.link, _of_beam(beam), there)
        return beam

    def _compare(self, link: str, mine: Lump, there: Lump) -> None:
        """Add a line to the list if a beam distributes the file's mass differently from the file."""
        size = SAME * max(float(np.linalg.norm(there.c)), float(np.linalg.norm(mine.c)))
        most = SAME * max(np.abs(there.I).max(), np.abs(mine.I).max())
        other = [
            said
            for differs, said in (
                (abs(mine.m - there.m) > SAME * there.m, f"mass {mine.m:.4g} instead of {there.m:.4g} kg"),
                (
                    np.abs(mine.c - there.c).max() > size,
                    f"centre of mass {_text(mine.c)} instead of {_text(there.c)} m",
                ),
                (
                    np.abs(mine.I - there.I).max() > most,
                    f"moments of inertia {_text(np.diag(mine.I))} instead of {_text(np.diag(there.I))} kg m^2",
                ),
            )
            if differs
        ]
        if other:
            given = self.robot.links[link]
            at = f"{given.at}: " if isinstance(given, Inertial) else ""
            said = f"link {link!r} is a beam that differs from the file, in the axes of the beam"
            self.strange.append(f"{at}{said}: {'; '.join(other)}; sections and lumps can distribute its mass")

    def _joint(self, mount: Mount) -> Driven | Ball | dict[str, Any]:
        joint = mount.joint
        if not mount.moves:
            return {"type": "fixed"}
        given = dict(self.settings.joints.get(joint.name, {}))
        for key in ("type", "axis"):
            if key in given:
                raise Setting(
                    f"joints.{joint.name}.{key}: is given, but the {self.robot.format} file defines it; leave it out"
                )
        if joint.spherical:
            return self._ball(joint, given)
        axis = mount.frame.R.T @ np.array(joint.axis)
        own: dict[str, Any] = {
            "type": "prismatic" if joint.kind == "prismatic" else "revolute",
            "axis": tuple((axis / np.linalg.norm(axis)).tolist()),
            "damping": joint.damping,
            **({"passive": True} if joint.passive else {}),
            **joint.drive,
        }
        drive = self._drive(joint, given.pop("drive", None))
        table = {**own, **given, **({"drive": drive} if drive is not None else {})}
        if mimic := self.following.get(joint.name):
            leader = self.names[self.robot.joints[mimic.joint].child]
            return {
                "type": "gear",
                "joint": table,
                "follows": leader,
                "ratio": mimic.multiplier,
                "offset": mimic.offset,
            }
        if joint.name not in self.settings.joints:
            return table
        try:
            return (Prismatic if joint.kind == "prismatic" else Revolute)(**table)
        except DescriptionError as error:
            if error.field.startswith((*own.keys() - given.keys(),)):
                return table  # an error in the robot's file, which its link reports
            raise theirs(f"joints.{joint.name}", error) from None

    def _ball(self, joint: Joint, given: Mapping[str, Any]) -> Ball | dict[str, Any]:
        """Return a ball joint with a quaternion."""
        if not given:
            return {"type": "ball", "damping": joint.damping}  # its link reports an error in the robot's file
        try:
            return Ball(**given)
        except DescriptionError as error:
            raise theirs(f"joints.{joint.name}", error) from None

    def _drive(self, joint: Joint, given: Any) -> Any:
        """Return the drive with the file's friction, and with the file's limits for parts that have none of their
        own."""
        if given is not None and not isinstance(given, Mapping):
            return given  # a complete Drive
        drive = dict(given or {})
        if joint.friction and not drive.keys() & {"friction", "link_friction"}:
            drive["link_friction"] = {"coulomb": joint.friction}
        if joint.spring is not None and "parallel" not in drive:
            drive["parallel"] = {"stiffness": joint.spring.stiffness, "rest": joint.spring.rest}
        limits = joint.limits
        if isinstance(stops := drive.get("stops"), Mapping) and not stops.keys() & {"lower", "upper"}:
            drive["stops"] = {"lower": limits.lower, "upper": limits.upper, **stops}
        if isinstance(motor := drive.get("motor"), Mapping) and limits.effort is not None:
            other = motor.keys() & {"torque_limit", "stall_torque", "torque_speed"}
            if not other and motor.get("input", "torque") == "torque":
                if limits.effort > 0.0:
                    drive["motor"] = {"torque_limit": limits.effort, **motor}
                else:
                    said = "<limit> effort is 0; its motor gets no torque limit"
                    self.strange.append(f"{joint.at}: joint {joint.name!r}: {said}")
        return drive or None

    def _base(self, thrusters: list[Thruster]) -> FreeBase | None:
        if not self.free:
            return None
        whole = together(self.base_parts)
        if whole.m == 0.0:
            said = f"link {self.ground!r} is the free base but has no mass; give it a mass"
            raise Fault("", said, sentence=True)
        inertia = _rows(whole)
        return FreeBase(mass=whole.m, com=tuple(whole.c.tolist()), inertia=inertia, thrusters=tuple(thrusters))

    def _cables(self) -> list[Cable]:
        cables: list[Cable] = []
        for rope in self.robot.ropes:
            if self._is_lost(rope.at, "a cable through", [x for x, _ in rope.points if x != self.robot.root]):
                continue
            name = _free(_label(rope.name), self.taken)
            points = [self._point(link, place, name) for link, place in rope.points]
            points = [x for i, x in enumerate(points) if i == 0 or x != points[i - 1]]
            if len(points) < 2 or not any(x.link for x in points):
                self.strange.append(f"{rope.at}: a cable that moves nothing; it is ignored")
                continue
            cables.append(Cable(name=name, points=tuple(points), **rope.numbers))
            if name != rope.name:
                self.notes.append(f"tendon {rope.name!r} is the cable {name!r}")
        return cables

    def _is_lost(self, at: str, what: str, links: list[str]) -> bool:
        """Return True and add a line to the list if a part is on a link that is not part of the arm."""
        lost = next((link for link in links if link not in self.placed), None)
        if lost is not None:
            self.strange.append(f"{at}: {what} {lost!r}, which is not part of the arm; it is ignored")
        return lost is not None

    def _point(self, link: str, place: Vector, name: str) -> CablePoint:
        """Return a point of a cable."""
        carrier, frame = self.placed.get(link, ("", HERE))
        p = frame.p + frame.R @ np.array(place) + 0.0
        if not carrier and (not self.free or link not in self.placed):
            return CablePoint(point=tuple(p.tolist()))
        if not carrier and not p.any():
            return CablePoint(link=BASE)
        if carrier and self.mounts[carrier].frame is HERE and not p.any():
            return CablePoint(link=self.names[carrier])
        owner, at = self._section(carrier, Posed(np.eye(3), p), name)
        return CablePoint(link=owner, at=at)

    def _section(self, carrier: str, place: Posed, name: str, turned: bool = False) -> tuple[str, float]:
        """Return the link and the station at a pose in the frame of a body.

        If the body has no section there, this is a link without mass, whose name begins with `name`. The orientation
        counts if `turned` is True.
        """
        joint = Joint("", "fixed", carrier, "", Place(), (1.0, 0.0, 0.0), Limits(), 0.0, 0.0, None, "")
        where = self._where(Mount("", joint, carrier, place, False, []))
        if isinstance(at := where.get("at"), float):
            offset = where["placement"]
            if not any(offset.xyz) and not (turned and any(offset.rpy)):
                return self.names[carrier], at
        xyz, angles = tuple(place.p.tolist()), rpy(place.R)
        key = (carrier, Place(xyz, angles))
        if key not in self.points:
            link = _free(f"{name}_point", self.taken)
            self.points[key] = Link(name=link, joint=Fixed(), body=Frame(length=0.0), **where)
        return self.points[key].name, 1.0

    # loops

    def _closures(self) -> list[Closure]:
        return [closure for loop in self.robot.loops if (closure := self._closure(loop)) is not None]

    def _closure(self, loop: Loop) -> Closure | None:
        """Return the closure of a loop, or None if the arm moves as it does without it."""
        links = [link for link, _ in loop.ends]
        if self._is_lost(loop.at, "a joint that closes a loop on", links):
            return None
        if links[0] == links[1]:
            said = f"closes a loop from link {links[0]!r} to itself; it must be between two links"
            raise Fault("", f"{loop.at}: {said}", sentence=True)
        ends = [(self.placed[link][0], self.placed[link][1].then(Posed.of(place))) for link, place in loop.ends]
        axes = [loop.axis, loop.axis_to]
        if not ends[0][0]:  # the first end of a closure is on a link
            ends, axes = ends[::-1], axes[::-1]
        (first, here), (second, there) = ends
        (one, a), (other, b) = self._rigidly_on(first, here), self._rigidly_on(second, there)
        if one == other:
            self._refuse_gap(loop, one, *_gaps(loop.kind, axes, a.inverse().then(b)))
            return None
        name = _free(_label(loop.name or f"{links[0]}_{links[1]}"), self.taken)
        link, at = self._end_of(first, here, name, loop.kind)
        to, place = self._end_of(second, there, name, loop.kind)
        table = {"axis": axes[0]} if loop.kind not in ("ball", "fixed") else {}
        if loop.kind == "universal" or (loop.kind == "revolute" and axes[0] != axes[1]):
            table["axis_to"] = axes[1]
        return Closure(name=name, link=link, at=at, to=to, place=place, joint=loop.kind, **table)

    def _rigidly_on(self, carrier: str, place: Posed) -> tuple[str, Posed]:
        """Return the innermost body that moves rigidly with a body, and the pose in its frame."""
        while carrier and not self._moves_alone(mount := self.mounts[carrier]):
            carrier, place = mount.carrier, mount.place.then(place)
        return carrier, place

    def _moves_alone(self, mount: Mount) -> bool:
        """Return True if a body moves relative to the body that carries it, by its joint or by bending."""
        return mount.moves or bool({mount.link, mount.carrier} & self.settings.links.keys())

    def _end_of(self, carrier: str, place: Posed, name: str, kind: str) -> tuple[str, float | Pose]:
        """Return the link and the place on it of an end of a closure."""
        if carrier and self.mounts[carrier].frame is not HERE:
            return self._section(carrier, place, name, turned=kind != "ball")
        return self.names.get(carrier, BASE), place.pose()

    def _refuse_gap(self, loop: Loop, carrier: str, away: float, turned: float) -> None:
        """Raise `Fault` for a loop within one body that leaves a gap. Add a note on a loop that leaves none."""
        first, second = (link for link, _ in loop.ends)
        one = f"{first!r} and {second!r} are parts of link {self.names.get(carrier, BASE)!r}"
        if max(away, turned) > CLOSED:
            gap = f"the gap is {away:.3g} m" if away > CLOSED else "its frames are turned"
            said = f"closes a loop that no joint can close: {one}, and {gap}; unlock a joint between them"
            raise Fault("", f"{loop.at}: {said}", sentence=True)
        self.notes.append(f"{loop.at}: a loop that is always closed, since {one}; it is left out")

    def _thrusters(self, limits: dict[str, Limits]) -> list[Thruster]:
        """Return the actuators that push and turn the base. Their limits are added to those of the joints."""
        found: dict[str, Thruster] = {}
        for thrust in self.robot.thrusts:
            place = self.on_base.get(thrust.link)
            if not self.free or place is None:
                said = "<actuator> on a site of a link other than the free base; it is ignored"
                self.told.setdefault(said, []).append(thrust.at)
                continue
            name = _label(thrust.name.removeprefix(f"{BASE}.") or "thruster")
            while name in found or f"{BASE}.{name}" in (*POSE, *TWIST):
                name += "_"
            at = (0.0, 0.0, 0.0) if thrust.turns else tuple((place.p + place.R @ thrust.place + 0.0).tolist())
            direction = tuple((place.R @ thrust.direction + 0.0).tolist())
            kind = "torque" if thrust.turns else "force"
            found[name] = Thruster(name=name, direction=direction, at=at, kind=kind)
            if f"{BASE}.{name}" != thrust.name:
                self.notes.append(f"actuator {thrust.name!r} is the thruster {name!r} of the base")
            if thrust.effort is not None:
                limits[f"{BASE}.{name}"] = Limits(effort=thrust.effort)
        return list(found.values())


def _gaps(kind: str, axes: list[Vector], apart: Posed) -> tuple[float, float]:
    """Return the distance [m] and the turn that a joint does not allow, from the second frame's pose in the first."""
    p, R = apart.p, apart.R
    axis, other = np.array(axes[0]), R @ np.array(axes[1])
    away = p - (p @ axis) * axis if kind == "prismatic" else p
    turned = {"ball": np.zeros(1), "universal": np.array([axis @ other]), "revolute": other - axis}
    return float(np.linalg.norm(away)), float(np.linalg.norm(turned.get(kind, R - np.eye(3))))


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, and add it to those that are."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _label(name: str) -> str:
    """Return a name without dots and spaces, for coordinates and inputs."""
    return "".join("_" if c == "." or c.isspace() or not c.isprintable() else c for c in name)[:150]


def _of_beam(beam: Beam) -> Lump:
    """Return the inertia of an undeformed beam with its lumps, in its own frame."""
    rod = beam.rod()
    parts = [Lump(rod.mass, np.array(rod.center), rod.inertia_tensor)]
    for lump in beam.lumps:
        place = np.array(lump.offset) + np.array([lump.at * beam.length, 0.0, 0.0])
        parts.append(Lump(lump.mass, place, tensor(lump.inertia)))
    return together(parts)


def _rows(lump: Lump) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in raised(lump).tolist())


def _text(values: np.ndarray) -> str:
    return f"({', '.join(f'{x:.4g}' for x in values + 0.0)})"
