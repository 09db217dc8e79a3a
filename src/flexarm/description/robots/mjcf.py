"""Robots from MJCF files, compiled by MuJoCo, which resolves defaults, frames, orientations and inertias of shapes.

A body becomes a link. Its frame is placed at its joint, so that the link turns about its own origin. If a body has
several joints, each joint but the last carries a link without mass, with the name of the joint. Coordinates are those
of MuJoCo, including `ref`.
"""

import json
import os
import tempfile
from collections.abc import Collection
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from flexarm import child_process
from flexarm.checks import Fault, Vector, counted
from flexarm.description.robots import mjcf_process
from flexarm.description.robots.mjcf_files import Written, written
from flexarm.description.robots.place import HERE, Posed, rpy, turned
from flexarm.description.robots.robot import (
    LARGEST,
    Beside,
    Inertial,
    Joint,
    Limits,
    Loop,
    Mimic,
    Place,
    Robot,
    Rope,
    Thrust,
)
from flexarm.description.robots.xml import Element, lines_of
from flexarm.quaternions import rotation

PATIENCE = child_process.PATIENCE
MOST_BODIES = 5_000
LONGEST = 300
"""Largest number of characters of MuJoCo's error messages in ours."""
KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "ball", "free": "floating"}


def robot(path: Path, root: Element, points: Collection[str] = ()) -> Robot:
    """Return the robot in a file. Sites named in `points` become links without mass. Raises `Fault` with one
    sentence."""
    files = written(path, root)
    return _Reading(files, _compiled(path)).robot(points)


def _compiled(path: Path) -> dict[str, Any]:
    """Return the model that MuJoCo compiles from a file, in a process with limits."""
    if find_spec("mujoco") is None:
        raise Fault("", 'reading MJCF files needs MuJoCo: pip install "flexarm[mjcf]"', sentence=True)
    with tempfile.TemporaryDirectory(prefix="flexarm-mjcf-") as folder:  # the folder for MuJoCo's log
        said = _answer(os.path.abspath(path), folder)

    def refuse(constant: str) -> None:
        raise Fault("", f"has a number that is {constant}; all must be finite", sentence=True)

    def number(text: str) -> float:
        if abs(float(text)) > LARGEST:
            raise Fault("", f"has a number that is {text}; all must be at most {LARGEST:g} in size", sentence=True)
        return float(text)

    found: dict[str, Any] = json.loads(said, parse_constant=refuse, parse_float=number)
    if len(found["bodies"]) > MOST_BODIES:
        count = len(found["bodies"])
        raise Fault("", f"has {counted(count, 'body')}; at most {MOST_BODIES} are supported", sentence=True)
    return found


def _answer(path: str, folder: str) -> str:
    """Return the output of the program that runs MuJoCo in a folder."""
    try:
        said = child_process.answer(mjcf_process.__file__, path, folder=folder, patience=PATIENCE)
    except child_process.RefusedError as error:
        raise Fault("", f"MuJoCo rejects the file: {_one_line(str(error))}", sentence=True) from None
    except child_process.EndedError as error:
        if error.status is None:
            raise Fault("", "MuJoCo does not finish reading the file", sentence=True) from None
        stuck = error.status == child_process.TOO_LONG
        how = "does not finish" if stuck else f"ends with status {error.status} while"
        raise Fault("", f"MuJoCo {how} reading the file", sentence=True) from None
    return said.decode(errors="replace")


def _one_line(said: str) -> str:
    """Return MuJoCo's error message on one line, without the word error and without positions in its own files."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    text = "; ".join(line.removeprefix("XML Error: ").removeprefix("Error: ") for line in lines)
    return f"{text[:LONGEST]}{'...' * (len(text) > LONGEST)}" if text else "no reason is given"


class _Reading:
    def __init__(self, files: Written, said: dict[str, Any]):
        self.files, self.said = files, said
        self.off: set[str] = set(said["off"])
        self.strange: list[str] = []
        self.notes: list[str] = []
        self.told: dict[str, list[str]] = {}
        self.thrusts: list[Thrust] = []
        self.ropes: list[Rope] = []
        self.loops: list[Loop] = []
        self.pulling: set[int] = set()
        """Indices among `elsewhere` of actuators that pull on a cable."""
        self.scaled: list[str] = []
        self.links: dict[str, Inertial | Fault | None] = {}
        self.joints: dict[str, Joint] = {}
        self.shifted: dict[int, Posed] = {}
        """Frames of bodies in the file, relative to the frames of their links."""
        bodies, joints = said["bodies"], said["joints"]
        self.names = _named(bodies, "body")
        self.names[0] = "world"
        self.of_joints = _named(joints, "joint")
        self.moved: dict[int, list[int]] = {}
        for j, joint in enumerate(joints):
            self.moved.setdefault(joint["body"], []).append(j)

    def robot(self, points: Collection[str]) -> Robot:
        self.links["world"] = None
        self.shifted[0] = HERE
        for i in range(1, len(self.said["bodies"])):
            self._body(i)
        if apart := [self.names[i] for i, x in self.shifted.items() if x is not HERE]:
            some = ", ".join(map(repr, apart[:5])) + (", ..." if len(apart) > 5 else "")
            self.notes.append(
                f"joints are not at the origins of {some}; the frames of these links are at the joints instead"
            )
        for site in self.said["sites"]:
            if site["name"] in points and site["name"] not in self.links:
                self._point(site)
        self._equalities()
        self._tendons()
        self._actuators()
        self._loose_parts()
        self._medium()
        if "refused" in self.said:
            self.strange.append(
                f"MuJoCo rejects a part of the file that the arm does not use: {_one_line(self.said['refused'])}"
            )
        unread, aside = self.files.unread()
        gravity = (0.0, 0.0, 0.0) if "gravity" in self.off else _vector(self.said["option"]["gravity"])
        if others := [x for x in ("spring", "damper", "frictionloss") if x in self.off]:
            self.notes.append(f"<flag> disables {', '.join(others)}; the arm has none of these")
        return Robot(
            "MJCF", self.said["name"].strip() or "robot", self.links, self.joints, "world",
            strange=[*self.strange, *lines_of(self.told), *unread], aside=aside, notes=self.notes, world=True,
            gravity=gravity, thrusts=self.thrusts, ropes=self.ropes, loops=self.loops,
        )  # fmt: skip

    def _tell(self, what: str, tag: str, part: dict[str, Any]) -> None:
        """List something that is not understood, together with others of its kind."""
        self.told.setdefault(what, []).append(self._at(tag, part))

    def _at(self, tag: str, part: dict[str, Any]) -> str:
        return self.files.at(tag, part["line"], part.get("name", ""))

    # bodies and joints

    def _body(self, i: int) -> None:
        """Add the link of a body, and a link for each of its joints but the last."""
        body, name = self.said["bodies"][i], self.names[i]
        if body["gravcomp"] and "gravity" not in self.off:
            self._tell(f"gravcomp {body['gravcomp']:g} of <body> is ignored: gravity acts in full", "body", body)
        if body["mocap"]:
            self._tell("mocap of <body>: the body does not move", "body", body)
        at, parent = self._at("body", body), self.names[body["parent"]]
        place = self.shifted[body["parent"]].then(_posed(body["pos"], body["quat"]))
        moved = self.moved.get(i, [])
        for j in moved[:-1]:
            between = self.of_joints[j]
            while between in self.names or between in self.links:
                between += "_"
            self.links[between] = None
            place = self._joint(j, place, parent, between)
            parent = between
        if moved:
            place = self._joint(moved[-1], place, parent, name)
        else:
            fixed = f"{name} (fixed)"
            self.joints[fixed] = Joint(
                fixed, "fixed", parent, name, _place(place), (1.0, 0.0, 0.0), Limits(), 0.0, 0.0, None, at
            )
            place = HERE
        self.shifted[i] = place
        inertial = place.then(_posed(body["ipos"], body["iquat"]))
        inertia = np.diag(body["inertia"])
        self.links[name] = Inertial(body["mass"], _place(inertial), inertia, at) if body["mass"] or any(
            body["inertia"]
        ) else None  # fmt: skip

    def _joint(self, j: int, place: Posed, parent: str, child: str) -> Posed:
        """Add a joint, and return the frame of its body in that of the child. `place` is the body's frame in the
        parent."""
        said, name = self.said["joints"][j], self.of_joints[j]
        kind, at = KINDS[said["kind"]], self._at("joint", said)
        axis = _vector(said["axis"])
        anchor = np.array(said["pos"]) if kind in ("revolute", "ball") else np.zeros(3)
        before = place.then(_moved(anchor)) if anchor.any() else place
        if kind == "revolute" and said["ref"]:
            before = before.then(Posed(turned(axis, -said["ref"]), np.zeros(3)))
        elif kind == "prismatic" and said["ref"]:
            before = before.then(_moved(-said["ref"] * np.array(axis)))
        for what in said["more"]:
            self._tell(f"{what} of <joint>", "joint", said)
        passive = [key for key in ("stiffness", "damping", "armature", "frictionloss") if said[key]]
        if kind == "floating" and passive:
            self._tell(f"{', '.join(passive)} of a {said['kind']} joint", "joint", said)
        joint = Joint(
            name, kind, parent, child, _place(before), axis, self._limits(said, kind),
            damping=0.0 if "damper" in self.off else said["damping"],
            friction=0.0 if self.off & {"frictionloss", "constraint"} else said["frictionloss"],
            mimic=None, at=at,
        )  # fmt: skip
        acts = joint.moves or kind == "ball"
        if said["armature"] and acts:
            joint.drive["rotor_inertia"] = said["armature"]
        if said["stiffness"] and acts and "spring" not in self.off:
            if said["stiffness"] > 0.0:
                joint.spring = Beside(said["stiffness"], said["rest"])
            else:
                self._tell("negative stiffness of <joint>", "joint", said)
        self.joints[name] = joint
        return _moved(-anchor) if anchor.any() else HERE

    def _limits(self, said: dict[str, Any], kind: str) -> Limits:
        lower, upper = said["range"] if said["range"] and kind != "floating" else (None, None)
        return Limits(lower, upper, effort=None if said["effort"] is None else max(map(abs, said["effort"])))

    def _point(self, site: dict[str, Any]) -> None:
        """Add a link without mass at a site."""
        name, body = site["name"], self.names[site["body"]]
        place = self.shifted[site["body"]].then(_posed(site["pos"], site["quat"]))
        self.links[name] = None
        fixed = f"{name} (site)"
        self.joints[fixed] = Joint(
            fixed, "fixed", body, name, _place(place), (1.0, 0.0, 0.0), Limits(), 0.0, 0.0, None, "the model"
        )

    # actuators and constraints

    def _actuators(self) -> None:
        driven: dict[str, list[float]] = {}
        acted: set[str] = set()
        for k, each in enumerate(self.said["elsewhere"]):
            if k not in self.pulling:
                self._tell(f"<actuator> on a {each['on']}", "actuator", each)
        for each in self.said["actuators"]:
            for what in each["more"]:
                self._tell(f"{what} of <actuator>", "actuator", each)
            if each["on"] == "site":
                self._thrust(each)
                continue
            joint = self.joints[self.of_joints[each["at"]]]
            acted.add(joint.name)
            if not joint.moves:
                joint.driven = True
                self._tell(f"<actuator> on a joint that is {joint.kind}", "actuator", each)
                continue
            gear = each["gear"][0]
            if each["armature"]:
                drive = joint.drive
                drive["rotor_inertia"] = drive.get("rotor_inertia", 0.0) + gear**2 * each["armature"]
            if "damper" not in self.off:
                joint.damping += gear**2 * each["damping"]
            if strange := _no_motor(each):
                self._tell(strange, "actuator", each)
            elif (factor := gear * each["gains"][0]) != 1.0:
                self.scaled.append(f"{factor:g} for {joint.name!r}")
            if (effort := _effort(each, gear)) is not None:
                driven.setdefault(joint.name, []).append(effort)
        for name, efforts in driven.items():
            joint = self.joints[name]
            own, together = joint.limits.effort, float(sum(efforts))
            effort = together if own is None else min(own, together)
            joint.limits = Limits(joint.limits.lower, joint.limits.upper, effort=effort)
        if self.scaled:
            factors = ", ".join(self.scaled)
            self.notes.append(f"inputs are torques and forces at the joints: MuJoCo's ctrl times {factors}")
        if self.said["actuators"] or self.said["elsewhere"]:
            without = [
                name for name, joint in self.joints.items() if joint.moves and not (name in acted or joint.mimic)
            ]
            if without:
                some = ", ".join(map(repr, without[:8])) + (", ..." if len(without) > 8 else "")
                self.notes.append(
                    f"no actuator acts on {some}; the arm has an input for every joint, which can stay 0 for these"
                )

    def _thrust(self, said: dict[str, Any]) -> None:
        """Add a thruster for an actuator on a site, which pushes along a fixed line of its body or turns the body about
        one."""
        force, torque = np.array(said["gear"][:3]), np.array(said["gear"][3:])
        if strange := _no_motor(said):
            self._tell(strange, "actuator", said)
        elif said["seen_from"] >= 0 or bool(force.any()) == bool(torque.any()):
            self._tell(
                "<actuator> on a site that is not a thruster (one force or one torque fixed to the site)",
                "actuator",
                said,
            )
        else:
            site = self.said["sites"][said["at"]]
            place = self.shifted[site["body"]].then(_posed(site["pos"], site["quat"]))
            gear = force if force.any() else torque
            factor = float(np.linalg.norm(gear)) * said["gains"][0]
            if not factor:
                self._tell("zero gain of <actuator>", "actuator", said)
                return
            if factor != 1.0:
                self.scaled.append(f"{abs(factor):g} for {said['name']!r}")
            direction = place.R @ gear * np.sign(factor) / np.linalg.norm(gear)
            at, turns = self._at("actuator", said), bool(torque.any())
            effort = _effort(said, float(np.linalg.norm(gear)))
            body = self.names[site["body"]]
            x, y = _vector(place.p.tolist()), _vector(direction.tolist())
            self.thrusts.append(Thrust(said["name"], body, x, y, turns, effort, at))

    def _equalities(self) -> None:
        closing = iter(self.said["closing"])
        for each in self.said["equalities"]:
            kind, (first, second) = each["kind"], each["names"]
            ends = next(closing) if kind in mjcf_process.CLOSING else None
            if not each["active"] or self.off & {"equality", "constraint"}:
                self.notes.append(f"{self._at(kind, each)}: <{kind}> in <equality> is inactive; it is left out")
                continue
            if ends is not None:
                self._close(each, ends)
                continue
            joint = self.joints.get(first) if kind == "joint" else None
            offset, slope, *curved = each["data"]
            if joint is None or not second or any(curved) or joint.mimic is not None:
                self._tell(f"<{kind}> in <equality>; it is ignored", kind, each)
                continue
            refs = {name: said["ref"] for name, said in zip(self.of_joints, self.said["joints"], strict=True)}
            offset += refs[first] - slope * refs.get(second, 0.0)
            joint.mimic = Mimic(second, slope, offset)
        if self.loops:
            self.notes.append(
                f"{counted(len(self.loops), 'closed loop')} of <equality>: MuJoCo's constraint is soft (solref, "
                "solimp), and the closure of the arm is exact"
            )
            if any(said["ref"] for said in self.said["joints"]):
                self.notes.append(
                    "the loops close at MuJoCo's qpos0, where each coordinate is the ref of its joint: give these "
                    "values to fa.assemble"
                )

    def _close(self, said: dict[str, Any], ends: list[dict[str, Any]]) -> None:
        """Add the loop that a <connect> or a <weld> closes."""
        if any(self.said["bodies"][end["body"]]["mocap"] for end in ends):
            self._tell(f"<{said['kind']}> to a mocap body; it is ignored", said["kind"], said)
            return
        first, second = (
            (self.names[end["body"]], _place(self.shifted[end["body"]].then(_posed(end["pos"], end["quat"]))))
            for end in ends
        )
        kind = "fixed" if ends[0]["still"] else "ball"
        axis = (0.0, 0.0, 1.0)
        self.loops.append(Loop(said["name"], kind, (first, second), axis, axis, self._at(said["kind"], said)))

    def _tendons(self) -> None:
        """Add a cable for each straight tendon with a spring, and one for each actuator that pulls on such a tendon."""
        for each, rope in zip_longest(self.said["tendons"], self.said["ropes"]):
            acts = list(each["acts"])
            if rope is not None and rope["sites"] is not None and rope["stiffness"] > 0.0 and rope["spring"][1] > 0.0:
                self._spring(each, rope)
                if acts := [x for x in acts if x not in ("stiffness", "damping")]:
                    self._tell(f"{', '.join(acts)} of a tendon; its cable has none", "tendon", each)
                continue
            if acts:
                self._tell(f"tendon with {', '.join(acts)}; it is ignored", "tendon", each)
        ropes = {rope["id"]: rope for rope in self.said["ropes"]}
        pulls = {(pull["name"], pull["line"]): pull for pull in self.said["pulls"]}
        for k, each in enumerate(self.said["elsewhere"]):
            pull = pulls.get((each["name"], each["line"]))
            if pull is not None and ropes[pull["at"]]["sites"] is not None and self._pull(pull, ropes[pull["at"]]):
                self.pulling.add(k)

    def _spring(self, said: dict[str, Any], rope: dict[str, Any]) -> None:
        """Add a cable for a tendon with a spring."""
        if "spring" in self.off:
            return
        shortest, length = rope["spring"]
        damping = 0.0 if "damper" in self.off else rope["damping"]
        for what in rope["more"]:
            self._tell(f"{what} of a tendon", "tendon", said)
        if shortest > 0.0:
            self._tell("tendon that pushes when shorter than its springlength; its cable only pulls", "tendon", said)
        if damping:
            self._tell("damping of a slack tendon; that of its cable acts only while it is taut", "tendon", said)
        numbers = {"stiffness": rope["stiffness"], "length": length, "damping": damping}
        self._rope(said["name"] or "tendon", rope, numbers, self._at("tendon", said))

    def _pull(self, said: dict[str, Any], rope: dict[str, Any]) -> bool:
        """Add a cable for an actuator that only pulls on a tendon, and return True if there is one."""
        factor = -said["gear"][0] * said["gains"][0]
        ends = [-said["gear"][0] * x for x in said["force"]] if said["force"] is not None else []
        ends += [factor * x for x in said["ctrl"]] if said["ctrl"] is not None else []
        if _no_motor(said) or said["more"] or said["armature"] or said["damping"] or not ends or min(ends) < 0.0:
            return False
        name = said["name"] or "pull"
        self._rope(name, rope, {"input": "tension"}, self._at("actuator", said))
        if factor != 1.0:
            self.scaled.append(f"{factor:g} for the tension of {name!r}")
        return True

    def _rope(self, name: str, rope: dict[str, Any], numbers: dict[str, Any], at: str) -> None:
        points = []
        for site in (self.said["sites"][i] for i in rope["sites"]):
            place = self.shifted[site["body"]].then(_posed(site["pos"], site["quat"]))
            points.append((self.names[site["body"]], _vector(place.p.tolist())))
        self.ropes.append(Rope(name, tuple(points), numbers, at))

    def _loose_parts(self) -> None:
        if self.said["flexes"]:
            self.strange.append(
                f"{self.said['flexes']} <flex>: deformable bodies become separate points without elasticity"
            )
        if self.said["plugins"]:
            self.strange.append("<plugin>: plugins are ignored")

    def _medium(self) -> None:
        option = self.said["option"]
        if some := [key for key in ("density", "viscosity") if option[key]]:
            wind = " and wind" if any(option["wind"]) else ""
            self.strange.append(f"{' and '.join(some)}{wind} of <option>: fluid resistance is ignored")


def _no_motor(actuator: dict[str, Any]) -> str:
    """Return the reason why an actuator's input is not a torque or force, or "" if it is one."""
    if actuator["dynamics"] != "none":
        return f"dynamics ({actuator['dynamics']}) of <actuator>; inputs act without delay"
    if actuator["bias"] == "affine" and any(actuator["biases"][:3]):
        return "<actuator> that is a servo; its input becomes a torque or force"
    if actuator["gain"] != "fixed" or actuator["bias"] not in ("none", "affine"):
        kind = actuator["gain"] if actuator["gain"] != "fixed" else actuator["bias"]
        return f"<actuator> of type {kind}; its input becomes a torque or force"
    return ""


def _effort(actuator: dict[str, Any], gear: float) -> float | None:
    """Return the largest effort of an actuator on its joint, from the ranges of its force and of its input."""
    found = []
    if actuator["force"] is not None:
        found.append(abs(gear) * max(map(abs, actuator["force"])))
    plain = actuator["gain"] == "fixed" and actuator["bias"] == "none" and actuator["dynamics"] == "none"
    if plain and actuator["ctrl"] is not None:
        found.append(abs(gear * actuator["gains"][0]) * max(map(abs, actuator["ctrl"])))
    return min(found) if found else None


def _named(parts: list[dict[str, Any]], what: str) -> list[str]:
    """Return names of all parts, with new names for parts that have none in the file."""
    taken, found = {part["name"] for part in parts}, []
    for i, part in enumerate(parts):
        name = part["name"]
        if not name:
            name = f"{what}{i}"
            while name in taken:
                name += "_"
            taken.add(name)
        found.append(name)
    return found


def _vector(values: list[float]) -> Vector:
    x, y, z = values
    return x, y, z


def _posed(pos: list[float], quat: list[float]) -> Posed:
    plain = quat[0] == 1.0 and not any(quat[1:])
    return Posed(np.eye(3) if plain else rotation(np.array(quat)), np.array(pos))


def _moved(p: np.ndarray) -> Posed:
    return Posed(np.eye(3), p)


def _place(posed: Posed) -> Place:
    xyz, (roll, pitch, yaw) = posed.p.tolist(), rpy(posed.R)
    return Place(_vector(xyz), (roll + 0.0, pitch + 0.0, yaw + 0.0))
