"""Export to MuJoCo: an arm's lumped equivalent as MJCF, with its hinges and springs.

Everything that moves must have mass in MuJoCo. A body is therefore a rigid segment with one or several joints, and
frames and hinges at one place become joints of the body that they carry. Rotors are represented as follows:

- A rotor that turns relative to its joint is the armature of the joint.
- The motor of an elastic joint is a separate body without weight, which turns about (or slides along) its own axis with
  the inertia of the rotor. A fixed tendon with the stiffness of the transmission connects it to the joint.
- An absolute rotor is the armature of a fixed tendon over its own joint (or motor) and those that turn its carrier.

Closed loops become equality constraints between sites, which are soft in MuJoCo: <connect> for a ball, <weld> for a
fixed joint, and two <connect> along the axis of a hinge. A joint that follows another one has an equality constraint
<joint>, and one that follows several has a constraint on a fixed tendon over all of them.
"""

from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree  # only for writing

import numpy as np
from scipy.spatial.transform import Rotation

from flexarm.arrays import Array
from flexarm.checks import choices, refused, tensor
from flexarm.description.arm import Arm, Pose
from flexarm.description.free import FreeBase
from flexarm.description.gears import Gear
from flexarm.description.joints import Fixed
from flexarm.description.robots.inertia import Lump, seen, together
from flexarm.description.tree import BASE
from flexarm.errors import DescriptionError
from flexarm.exports.lumped import SEGMENTS, Lumped, loads, lumped
from flexarm.files import check_ending, write_whole
from flexarm.model import ModelLike, as_model

ENDING = ".xml"
"""Ending of the file name. MuJoCo reads no other."""

LEAST = 1e-10
"""Smallest moment of inertia of a segment, as a share of its largest. MuJoCo rejects slender rods."""
SMALLEST = 1e-13
"""Mass [kg] and inertia [kg m^2] of points."""
REACH = 0.1
"""Distance of the two points that hold the axis of a hinge [m]."""
STIFF = f"{2e-3} 1"
"""solref of closed loops: the shortest time constant [s] that MuJoCo allows at the time step of the file, and the
damping ratio."""
RIGID = "0.9999 0.9999 0.001 0.5 2"
"""solimp of gears, with the largest impedance that MuJoCo allows. Softer gears would give way by 1e-5 rad."""
STEP = 1e-3
"""Time step in the file [s]. Programs that run the file usually set their own."""


def mjcf(arm: Arm, segments: int = SEGMENTS) -> str:
    """Return the arm's lumped equivalent as MJCF.

    Joints have the names of the equivalent's coordinates ("upper.joint", "upper_1y.joint"), and actuators those of the
    arm's inputs. The site and the sensor `tip` are at the tip of the arm. Custom text in the file describes the
    equivalent and states the deviation of its natural frequencies from those of the arm.

    Parameters
    ----------
    arm : Arm
        Arm to export.
    segments : int
        Number of hinges of each flexible link in each direction in which it bends.

    Raises
    ------
    DescriptionError
        If the arm cannot be lumped (see `lumped`), has an absolute rotor whose carrier turns about other axes, or has a
        closure that is no ball, fixed or revolute joint.
    """
    return written(lumped(arm, segments))


def export_mjcf(model: ModelLike, path: str | PathLike[str], segments: int = SEGMENTS) -> Path:
    """Write an arm as a file for MuJoCo, with rigid segments and springs as flexible links, and return its path.

    Varied parameters have the values of `model.at(p)`. The file states the deviation of its natural frequencies from
    those of the beams, and what it leaves out.

    Parameters
    ----------
    model : Model, Arm, str or path
        Model to export.
    path : path
        File to write.
    segments : int
        Number of hinges of each flexible link in each direction in which it bends.

    Raises
    ------
    DescriptionError
        As in `mjcf`, and if the file cannot be written or its name does not end with .xml.
    """
    with refused("export_mjcf"):
        model = as_model(model)
    check_ending(path, ENDING)
    return write_whole(path, mjcf(model.arm_at(), segments).encode())


def written(equivalent: Lumped) -> str:
    """Return a lumped equivalent as MJCF."""
    arm = equivalent.arm
    root = ElementTree.Element("mujoco", model=equivalent.source.name)
    _add(root, "compiler", angle="radian", autolimits="true")
    option = _add(root, "option", timestep=STEP, gravity=arm.gravity, integrator="implicitfast")
    _add(option, "flag", contact="disable")
    custom = _add(root, "custom")
    for i, line in enumerate(equivalent.statement):
        _add(custom, "text", name=f"flexarm_{i}", data=line)
    world = _add(root, "worldbody")
    base = _base(world, arm)
    seats: dict[str, Seat] = {"base": Seat(base, np.eye(3), np.zeros(3))}
    held: dict[str, list] = {}
    springs: list[tuple[str, float, float]] = []
    raised: list[str] = []
    parents = arm.parents
    on = [[j for j, carrier in enumerate(parents) if carrier == i] for i in range(len(parents))]
    goes_on = _going_on(arm, on, equivalent.stacked)
    shares = {x.name: equivalent.carried(j) for j, x in enumerate(equivalent.joints)}
    carried = {name: found for name, found in shares.items() if found}
    for i in arm.outward:
        link, parent = arm.links[i], parents[i]
        carrier = "base" if parent < 0 else arm.links[parent].name
        seat = seats[carrier].beyond(0.0 if parent < 0 else arm.links[parent].body.length, link, parent < 0)
        if carrier in goes_on:  # one body with another joint
            parts = held[carrier]
        else:
            body = _add(seat.body, "body", name=link.name, pos=seat.p, quat=_quaternion(seat.R))
            seat, parts = Seat(body, np.eye(3), np.zeros(3)), []
        seats[link.name], held[link.name] = seat, parts
        _joint(seat, link, springs, link.name in carried)
        parts += [seen(lump, seat.R, seat.p) for lump in loads(arm, i)]
        weighs = _weighs(parts) or (link.joint.moving.moves and not _carries(arm, on, i))
        if link.name not in goes_on and weighs:
            inertial, more = _inertial(parts)
            seat.body.insert(0, inertial)
            raised += [link.name] * more
        if i == arm.tip_link:
            tip = seat.p + seat.R @ np.array([link.body.length, 0.0, 0.0])
            _add(seat.body, "site", name="tip", pos=tip, quat=_quaternion(seat.R))
    places = {"world": world} | {name: seat.body for name, seat in seats.items()}
    _drives(root, places, equivalent, springs, carried)
    _ties(root, arm, seats, goes_on)
    _gears(root, arm)
    _ropes(root, world, arm, seats)
    _add(_add(root, "sensor"), "framepos", name="tip", objtype="site", objname="tip")
    if arm.closures:
        line = "not as in the arm: MuJoCo's equality constraints are soft, and closed loops may be open at qpos0"
        _add(custom, "text", name="flexarm_closures", data=line)
    if geared := [(link.name, gear.offset) for link in arm.links if isinstance(gear := link.joint, Gear)]:
        line = "not as in the arm: MuJoCo's equality constraints are soft, and gears are such constraints"
        if apart := [name for name, offset in geared if offset]:
            line += f"; at qpos0 these have not their offsets: {', '.join(apart)}"
        _add(custom, "text", name="flexarm_gears", data=line)
    if damped := [cable.name for cable in arm.cables if cable.damping]:
        line = f"not as in the arm: the damping of slack cables acts too, and may push: {', '.join(damped)}"
        _add(custom, "text", name="flexarm_cables", data=line)
    if raised:
        line = f"not as in the arm: moments of inertia are raised, as MuJoCo demands A + B >= C, of {', '.join(raised)}"
        line += "; natural frequencies are lower by it than said above"
        _add(custom, "text", name="flexarm_raised", data=line)
    if isinstance(arm.base, FreeBase) and arm.base.orbit is not None:
        line = "not as in the arm: gravity is the same everywhere; that of the base's orbit is left out"
        _add(custom, "text", name="flexarm_orbit", data=line)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


# -- elements of the file ----------------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return " ".join(repr(float(x)) for x in np.ravel(value))


def _add(parent: Any, tag: str, **attributes: Any) -> Any:
    return ElementTree.SubElement(parent, tag, {name: _text(value) for name, value in attributes.items()})


MOST_TENSION = 1e9
"""Largest tension of a cable whose tension is an input [N]. MuJoCo needs a limit to exclude negative tensions."""
TIES = {"ball": "connect", "fixed": "weld", "revolute": "connect"}
"""Constraints of MuJoCo by the joints of closures."""


class Tie(NamedTuple):
    """An end of a closure: a place on a link, like that of another link on it."""

    at: float | Pose
    placement: Pose = Pose()


class Seat(NamedTuple):
    """A body of the file, and the pose in it of a link's frame with its joints at zero: R (3, 3), p (3,)."""

    body: Any
    R: Array
    p: Array

    def beyond(self, length: float, link: Any, on_base: bool) -> "Seat":
        """Return the seat of a link on this one. `length` is the length of the carrying link."""
        R, p = self.R, self.p
        if isinstance(link.at, Pose):
            R, p = R @ link.at.rotation, p + R @ np.array(link.at.xyz)
        elif not on_base:
            p = p + R @ np.array([link.at * length, 0.0, 0.0])
        return Seat(self.body, R @ link.placement.rotation, p + R @ np.array(link.placement.xyz))


def _quaternion(R: Array) -> Array:
    return Rotation.from_matrix(R).as_quat(scalar_first=True)


def _going_on(arm: Arm, on: list[list[int]], stacked: frozenset[str]) -> set[str]:
    """Return the links that become joints of the body that they carry.

    They have negligible mass, or are frames with a single link, which moves. `on` lists the links on each link, here
    and below.
    """
    found = set(stacked)
    for i, link in enumerate(arm.links):
        alone = len(on[i]) == 1 and arm.links[on[i][0]].joint.moving.moves
        if link.joint.moving.moves and alone and not _weighs(loads(arm, i)):
            found.add(link.name)
    return found


def _weighs(parts: list) -> bool:
    return any(not lump.is_nothing for lump in parts)


def _carries(arm: Arm, on: list[list[int]], i: int) -> bool:
    """Return True if anything fixed to a link has mass."""
    fixed = [j for j in on[i] if not arm.links[j].joint.moving.moves]
    return any(_weighs(loads(arm, j)) or _carries(arm, on, j) for j in fixed)


def _inertial(parts: list) -> tuple[Any, bool]:
    """Return mass and inertia, and True if they had to be raised noticeably.

    MuJoCo rejects a mass of zero, an inertia of zero about an axis, and an inertia smaller than the difference of the
    other two. A short thick segment without rotary inertia has such an inertia.
    """
    mass, com, about = together(parts)
    values, axes = np.linalg.eigh(about)
    least = max(LEAST * values[-1], SMALLEST, (values[2] - values[1]) * (1 + 1e-9))
    if values[0] < least:
        about = axes @ np.diag(np.maximum(values, least)) @ axes.T
    entries = [about[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    attributes = {"pos": com, "mass": max(mass, SMALLEST), "fullinertia": entries}
    inertial = ElementTree.Element("inertial", {name: _text(value) for name, value in attributes.items()})
    return inertial, bool(least - values[0] > 1e-6 * values[-1]) or mass == 0.0


def _base(world: Any, arm: Arm) -> Any:
    """Return the element that carries the first links: the world, or a free body."""
    if not isinstance(arm.base, FreeBase):
        return world
    base = _add(world, "body", name="base")
    base.append(_inertial([Lump(arm.base.mass, np.array(arm.base.com), tensor(arm.base.inertia))])[0])
    _add(base, "freejoint", name="base")
    return base


def _joint(seat: Seat, link: Any, springs: list[tuple[str, float, float]], carried: bool) -> None:
    """Add the link's joint, with everything parallel to its actuator. Transmissions are added to `springs`.

    A rotor that turns with its carrier has a tendon.
    """
    joint = link.joint.moving
    if isinstance(joint, Fixed):
        return
    rotor = 0.0 if joint.elastic or carried else joint.rotor_inertia * joint.gear_ratio**2
    parallel = joint.drive.parallel if joint.drive is not None else None
    damping = joint.damping + (parallel.damping if parallel else 0.0)
    beside = {"stiffness": parallel.stiffness, "springref": parallel.rest} if parallel else {}
    _add(
        seat.body, "joint", name=f"{link.name}.joint", type="hinge" if joint.turns else "slide", pos=seat.p,
        axis=seat.R @ np.array(joint.axis), damping=damping, armature=rotor, **beside,
    )  # fmt: skip
    if joint.elastic:
        springs.append((link.name, joint.stiffness, joint.spring_damping))


def _drives(
    root: Any,
    places: dict[str, Any],
    equivalent: Lumped,
    springs: list[tuple[str, float, float]],
    carried: dict[str, dict[int, float]],
) -> None:
    """Add the motors of elastic joints, transmissions, rotors that turn with their carriers, and the actuators."""
    arm = equivalent.arm
    links = {link.name: link for link in arm.links}
    rotors = {x.name: x.rotor for x in equivalent.joints}
    for name, _, _ in springs:
        joint: Any = links[name].joint
        own = SMALLEST if name in carried else rotors[name]
        carrier = places[equivalent.joints[next(iter(carried[name]))].name if name in carried else "world"]
        motor = _add(carrier, "body", name=f"{name}.motor")
        about, beside = (own, 0.0) if joint.turns else (SMALLEST, own)  # a mass would fall, an armature does not
        _add(motor, "inertial", pos=(0.0, 0.0, 0.0), mass=SMALLEST, diaginertia=(about, about, about))
        kind = "hinge" if joint.turns else "slide"
        _add(motor, "joint", name=f"{name}.motor", type=kind, axis=joint.axis, armature=beside)
    elastic = {name for name, _, _ in springs}
    if springs or carried:
        tendons = _add(root, "tendon")
        for name, k, d in springs:
            tendon = _add(tendons, "fixed", name=f"{name}.spring", stiffness=k, damping=d, springlength=0.0)
            _add(tendon, "joint", joint=f"{name}.joint", coef=1.0)
            _add(tendon, "joint", joint=f"{name}.motor", coef=-1.0)
        for name, shares in carried.items():
            tendon = _add(tendons, "fixed", name=f"{name}.rotor", armature=rotors[name])
            _add(tendon, "joint", joint=f"{name}.{'motor' if name in elastic else 'joint'}", coef=1.0)
            for k, share in shares.items():
                _add(tendon, "joint", joint=f"{equivalent.joints[k].name}.joint", coef=share)
    actuators = _add(root, "actuator")
    thrusters = {f"base.{x.name}": x for x in arm.thrusters}
    for name in equivalent.source.inputs:
        if name not in thrusters:
            _add(actuators, "motor", name=name, joint=name)
            continue
        thruster, none = thrusters[name], (0.0, 0.0, 0.0)
        _add(places["base"], "site", name=name, pos=thruster.at)
        along = (*thruster.direction, *none) if thruster.kind == "force" else (*none, *thruster.direction)
        _add(actuators, "motor", name=name, site=name, gear=along)


def _ropes(root: Any, world: Any, arm: Arm, seats: dict[str, Seat]) -> None:
    """Add the cables of an arm as tendons that only pull, and an actuator for each cable whose tension is an input."""
    tendons, actuators = (_add(root, tag) for tag in ("tendon", "actuator")) if arm.cables else (None, None)
    for cable in arm.cables:
        given: dict[str, Any] = {}
        if cable.input == "none":
            stiffness = cable.stiffness if cable.EA is None else cable.EA / (cable.length or 0.0)
            given = {"stiffness": stiffness, "damping": cable.damping, "springlength": (0.0, cable.length)}
        else:
            pull = {"gear": -1.0, "ctrlrange": (0.0, MOST_TENSION)}
            _add(actuators, "motor", name=cable.name, tendon=cable.name, **pull)
        tendon = _add(tendons, "spatial", name=cable.name, **given)
        for i, point in enumerate(cable.points, start=1):
            seat = Seat(world, np.eye(3), np.array(point.point))
            if point.link:
                length = 0.0 if point.link == BASE else arm[point.link].body.length
                seat = seats[point.link].beyond(length, Tie(point.at), point.link == BASE)
            _add(seat.body, "site", name=f"{cable.name}.{i}", pos=seat.p)
            _add(tendon, "site", site=f"{cable.name}.{i}")


def _ties(root: Any, arm: Arm, seats: dict[str, Seat], shared: set[str]) -> None:
    """Add the closures of an arm. Links in `shared` have no body of their own."""
    equality = _add(root, "equality") if arm.closures else None
    for closure in arm.closures:
        where = f"closure {closure.name!r}"
        if closure.joint not in TIES:
            raise DescriptionError(f"is {closure.joint!r}; MuJoCo's constraints are {choices(*TIES)}", where, "joint")
        ends = [(closure.link, closure.at, closure.axis), (closure.to, closure.end, closure.axis_to or closure.axis)]
        for name, _, _ in ends:
            if name in shared:
                raise DescriptionError(
                    f"is on link {name!r}, which has no mass and no body of its own in MuJoCo", where
                )
        shifts = {"": 0.0} | ({".axis": REACH} if closure.joint == "revolute" else {})
        for suffix, shift in shifts.items():
            name = f"{closure.name}{suffix}"
            sites = {}
            for i, (link, at, axis) in enumerate(ends, start=1):
                seat = seats[link].beyond(0.0 if link == BASE else arm[link].body.length, Tie(at), link == BASE)
                sites[f"site{i}"] = f"{name}.{i}"
                p = seat.p + shift * seat.R @ np.array(axis)
                _add(seat.body, "site", name=f"{name}.{i}", pos=p, quat=_quaternion(seat.R))
            _add(equality, TIES[closure.joint], name=name, solref=STIFF, **sites)


def _gears(root: Any, arm: Arm) -> None:
    """Add the joints that follow others: <joint> for one other joint, and <tendon> for several."""
    gears = [(f"{link.name}.joint", gear) for link in arm.links if isinstance(gear := link.joint, Gear)]
    equality = _add(root, "equality") if gears else None
    given = {"solref": STIFF, "solimp": RIGID}
    for name, gear in gears:
        led = [f"{leader}.joint" for leader in gear.leaders]
        if len(led) == 1:
            polycoef = (gear.offset, gear.ratios[0], 0.0, 0.0, 0.0)
            _add(equality, "joint", name=name, joint1=name, joint2=led[0], polycoef=polycoef, **given)
            continue
        tendon = _add(_add(root, "tendon"), "fixed", name=name)
        for joint, ratio in ((name, -1.0), *zip(led, gear.ratios, strict=True)):
            _add(tendon, "joint", joint=joint, coef=-ratio)
        polycoef = (gear.offset, 0.0, 0.0, 0.0, 0.0)
        _add(equality, "tendon", name=name, tendon1=name, polycoef=polycoef, **given)
