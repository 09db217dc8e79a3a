"""An arm's numbers by their names in equations: which values each may have, and the arm with other values.

Names are those of `fa.equations`: "upper.EI", "elbow.rotor_inertia", "payload.mass", "gravity".
"""

from collections.abc import Mapping, Sequence
from math import acos, atan2, cos, sin
from typing import Any

import numpy as np

from flexarm.checks import FINITE, NOT_NEGATIVE, NOT_ZERO, POSITIVE, Fault, Rule, tensor
from flexarm.description.arm import Arm, Beam, Link, Payload, Rigid
from flexarm.description.joints import Telescope

OWNERS = ("payload", "gravity")
"""Owners of numbers beside the links."""
TENSORS = ("inertia", "hub_inertia")
REFUSED, DENSER = "refused", "denser"
"""What becomes of a tapered beam's mass and stiffness, which follow from its sections: see `changed`."""
RULES: dict[str, Rule] = {
    "mass": POSITIVE,
    "inertia": NOT_NEGATIVE,
    "hub_mass": NOT_NEGATIVE,
    "hub_inertia": NOT_NEGATIVE,
    "polar_inertia": NOT_NEGATIVE,
    "rotor_inertia": NOT_NEGATIVE,
    "gear_ratio": NOT_ZERO,
    "damping": NOT_NEGATIVE,
    "spring_damping": NOT_NEGATIVE,
    "stiffness": POSITIVE,
    "EI": POSITIVE,
    "GJ": POSITIVE,
    "EA": POSITIVE,
    "damping_ratio": NOT_NEGATIVE,
}
"""Of fields; those that are not here may be any."""


def _parted(arm: Arm, name: str) -> tuple[Link | Payload | Arm | None, str, str]:
    """Whose number it is, its field and what follows: ("upper.inertia.xy") is (link, "inertia", "xy")."""
    owner, _, rest = name.partition(".")
    if owner == "gravity":
        return arm, "gravity", rest
    found = arm.payload if owner == "payload" else next((link for link in arm.links if link.name == owner), None)
    field, _, part = rest.partition(".")
    return found, field, part


def rule(arm: Arm, name: str) -> Rule:
    """What is allowed of a number."""
    owner, field, part = _parted(arm, name)
    if is_product(arm, name):
        return FINITE
    if name == "payload.mass" and arm.payload is None:
        return NOT_NEGATIVE
    if field == "length":
        return POSITIVE if isinstance(owner, Link) and isinstance(owner.body, Beam) else NOT_NEGATIVE
    if field == "rotor_inertia" and isinstance(owner, Link) and owner.elastic:
        return POSITIVE
    return RULES.get(field, FINITE)


def fixed_reason(arm: Arm, name: str) -> str:
    """Why a number has no other value in a model of the arm; "" where it may have one."""
    owner, field, part = _parted(arm, name)
    if field in ("mean", "moment", "product", "curvature", "tip", "tip_slope", "root_slope", "tip_shortening"):
        return "it belongs to the mode shapes, which follow from their family"
    if field == "modal_damping":
        return "it follows from damping_ratio"
    if field == "joint" and part in ("axis.x", "axis.y", "axis.z"):
        return "it follows from joint.axis.azimuth and joint.axis.tilt"
    if field == "joint" and isinstance(owner, Link) and "axis" not in type(owner.joint).model_fields:
        return "the joint's description gives no axis"
    if field == "length" and isinstance(owner, Link) and isinstance(owner.joint, Telescope):
        return "a telescope's range and shapes are made for its length"
    return ""


def tensor_axes(I: np.ndarray, r: int, c: int) -> str:
    """What tells an entry of a tensor from the others: "xy", or nothing for principal values that are the same."""
    lone = np.array_equal(I, np.diag(np.diag(I))) and I[1, 1] == I[2, 2]
    return "" if lone and r == c and (r != 0 or I[0, 0] == I[1, 1]) else "xyz"[min(r, c)] + "xyz"[max(r, c)]


def entry_name(field: str, I: np.ndarray, r: int, c: int) -> str:
    """The name of a tensor's entry: "inertia", "inertia.xy"."""
    axes = tensor_axes(I, r, c)
    return f"{field}.{axes}" if axes else field


def tensors(arm: Arm) -> dict[str, np.ndarray]:
    """The inertia tensors of an arm, (3, 3), by the names of their fields: "upper.inertia", "payload.inertia"."""
    found = {}
    for link in arm.links:
        found[f"{link.name}.hub_inertia"] = tensor(link.hub_inertia)
        if isinstance(link.body, Rigid):
            found[f"{link.name}.inertia"] = link.body.inertia_tensor
    found["payload.inertia"] = tensor(0.0 if arm.payload is None else arm.payload.inertia)
    return found


def is_product(arm: Arm, name: str) -> bool:
    """Whether a number is a product of inertia, which may be negative."""
    _, field, part = _parted(arm, name)
    return field in TENSORS and part != "" and part[0] != part[1]


def changed(arm: Arm, values: Mapping[str, float], of_tapered: str = REFUSED) -> Arm:
    """The arm with other numbers, validated as any description is.

    What it leaves to a default or gives per length follows, as it does when the arm is written with these numbers.
    A description has no place for a tapered beam's mass and stiffness: they are refused, or (`DENSER`) stand for
    another density, and the same stiffness, which has the same mode shapes.
    Raises `Fault` where a description has no place for a number, `DescriptionError` for a value that is not allowed.
    """
    links = [_changed_link(link, _own(values, link.name), of_tapered) for link in arm.links]
    payload, mine = arm.payload, _own(values, "payload")
    if mine:
        mass, inertia = (0.0, 0.0) if payload is None else (payload.mass, payload.inertia)
        mass, inertia = mine.get("mass", mass), _changed_tensor(tensor(inertia), mine, "inertia")
        payload = None if mass == 0.0 and not np.any(inertia) else Payload(mass=mass, inertia=inertia)
    gravity = list(arm.gravity)
    for i, axis in enumerate("xyz"):
        if "gravity" in values:
            gravity[i] = float(np.sign(gravity[i])) * values["gravity"]
        gravity[i] = values.get(f"gravity.{axis}", gravity[i])
    return arm.replace(links=links, payload=payload, gravity=tuple(gravity))


def _own(values: Mapping[str, float], owner: str) -> dict[str, float]:
    return {name.partition(".")[2]: x for name, x in values.items() if name.partition(".")[0] == owner}


def _changed_tensor(I: np.ndarray, values: Mapping[str, float], field: str) -> Any:
    return tuple(tuple(float(values.get(entry_name(field, I, r, c), I[r, c])) for c in range(3)) for r in range(3))


def _any(values: Mapping[str, float], *fields: str) -> bool:
    return any(name.partition(".")[0] in fields for name in values)


def _changed_link(link: Link, values: dict[str, float], of_tapered: str) -> Link:
    if not values:
        return link
    changes: dict[str, Any] = {}
    if "hub_mass" in values:
        changes["hub_mass"] = values["hub_mass"]
    if _any(values, "hub_inertia"):
        changes["hub_inertia"] = _changed_tensor(tensor(link.hub_inertia), values, "hub_inertia")
    place = link.placement
    for field, parts in (("xyz", "xyz"), ("rpy", ("roll", "pitch", "yaw"))):
        old = getattr(place, field)
        new = tuple(values.get(f"placement.{field}.{part}", x) for part, x in zip(parts, old, strict=True))
        if new != old:
            place = place.replace(**{field: new})
    changes["placement"] = place
    joint: dict[str, Any] = {field: x for field, x in values.items() if field in type(link.joint).model_fields}
    if _any(values, "joint"):
        joint["axis"] = _turned(np.array(link.joint.direction), values)
    changes["joint"] = link.joint.replace(**joint) if joint else link.joint
    rest = {field: x for field, x in values.items() if field not in joint and not _elsewhere(field)}
    if isinstance(link.body, Beam):
        tapered = link.body.section_tip is not None and of_tapered == DENSER
        changes["body"] = _denser(link.body, rest) if tapered else _changed_beam(link.body, rest)
    elif isinstance(link.body, Rigid):
        changes["body"] = _changed_rigid(link.body, rest)
    elif rest:
        changes["body"] = link.body.replace(**rest)
    return link.replace(**changes)


def _elsewhere(field: str) -> bool:
    return field.partition(".")[0] in ("hub_mass", "hub_inertia", "placement", "joint")


def _changed_rigid(body: Rigid, values: dict[str, float]) -> Rigid:
    changes: dict[str, Any] = {name: values[name] for name in ("length", "mass") if name in values}
    made = body.replace(**changes)
    if _any(values, "com"):
        changes["com"] = tuple(values.get(f"com.{a}", x) for a, x in zip("xyz", made.center, strict=True))
    if _any(values, "inertia"):
        names = _changed_tensor(body.inertia_tensor, values, "inertia")
        known = _changed_tensor(body.inertia_tensor, {}, "inertia")
        changes["inertia"] = tuple(
            tuple(new if new != old else x for new, old, x in zip(*rows, strict=True))
            for rows in zip(names, known, made.inertia_tensor.tolist(), strict=True)
        )
    return made.replace(**changes)


def _changed_beam(body: Beam, values: dict[str, float]) -> Beam:
    given = [name for name in values if not name.startswith(("length", "damping"))]
    if body.section_tip is not None and given:
        raise Fault(given[0], "is that of a tapered beam, whose description has sections in its place")
    changes: dict[str, Any] = {}
    length = values.get("length", body.length)
    changes["length"] = length
    if "mass" in values:
        if body.material is not None:
            changes["polar_inertia"] = body.rho_Ip
            density = body.material.density * values["mass"] / (body.m * length)
            changes["material"] = body.material.replace(density=density)
        else:
            changes |= {"mass": values["mass"], "mass_per_length": None}
    if "polar_inertia" in values:
        changes["polar_inertia"] = values["polar_inertia"] / length
    EI = {d: body.stiffness[d] for d in ("y", "z") if d in body.stiffness}
    bent = {d: values.get(f"EI.{d}", values.get("EI", x) if body.counts[d] else x) for d, x in EI.items()}
    if bent != EI:
        changes["EI"] = bent
    changes |= {name: values[name] for name in ("GJ", "EA") if name in values}
    if "damping_ratio" in values:
        changes["damping"] = values["damping_ratio"]
    elif _any(values, "damping_ratio"):
        labels = coordinate_labels([*body.counts.values()])
        ratios = zip(labels, body.damping_ratios, strict=True)
        changes["damping"] = tuple(values.get(f"damping_ratio.{label}", x) for label, x in ratios)
    return body.replace(**changes)


def _denser(body: Beam, values: dict[str, float]) -> Beam:
    """A tapered beam with other inertia; stiffness of all sections alike leaves its shapes as they are."""
    factor = values.get("mass", body.total_mass) / body.total_mass
    if "polar_inertia" in values:
        factor *= values["polar_inertia"] / (body.rho_Ip * body.length)
    shape = {name: x for name, x in values.items() if name.startswith(("length", "damping"))}
    material = body.material and body.material.replace(density=body.material.density * factor)
    return _changed_beam(body.replace(material=material), shape)


def coordinate_labels(counts: Sequence[int]) -> list[str]:
    """What names each amplitude: its number, behind the direction where there is more than one."""
    return numbered(["y", "z", "t", "x"] if np.count_nonzero(counts) > 1 else [""] * 4, counts)


def numbered(marks: Sequence[str], counts: Sequence[int]) -> list[str]:
    """1, 2, ... for each direction, behind its mark."""
    return [f"{mark}{j}" for mark, count in zip(marks, counts, strict=True) for j in range(1, count + 1)]


def alignment(axis: np.ndarray) -> tuple[int, int, float, float]:
    """k, sign, alpha, beta such that axis = sign R_k(alpha) R_j(beta) e_k; turning about j = k - 1 takes k to k + 1.

    k is the axis' largest component, so that coordinate axes need no turn at all.
    """
    k = int(np.argmax(np.abs(axis)))
    sign = 1 if axis[k] > 0 else -1
    i, j = (k + 1) % 3, (k + 2) % 3
    n = sign * axis
    beta = acos(min(1.0, n[k]))  # R_j(beta) e_k = cos(beta) e_k + sin(beta) e_i
    if beta < 1e-12:
        return k, sign, 0.0, 0.0
    return k, sign, atan2(n[j], n[i]), beta


def _turned(axis: np.ndarray, values: Mapping[str, float]) -> tuple[float, ...]:
    """The axis at another azimuth or tilt."""
    k, sign, alpha, beta = alignment(axis)
    alpha, beta = values.get("joint.axis.azimuth", alpha), values.get("joint.axis.tilt", beta)
    found = np.zeros(3)
    found[k], found[(k + 1) % 3], found[(k + 2) % 3] = cos(beta), sin(beta) * cos(alpha), sin(beta) * sin(alpha)
    return tuple((sign * found / np.linalg.norm(found)).tolist())
