"""Parameters of an arm by their names in equations: validation rules, and copies of the arm with other values.

Names are those of `fa.equations`: "upper.EI", "elbow.rotor_inertia", "payload.mass", "gravity". A payload of a link has
"upper.payload.mass", and a free base has "base.mass".
"""

from collections.abc import Container, Mapping, Sequence
from functools import singledispatch
from math import acos, atan2, cos, sin
from typing import Any, TypeVar

import numpy as np

from flexarm.checks import FINITE, NOT_NEGATIVE, NOT_ZERO, POSITIVE, Described, Fault, Rule, tensor
from flexarm.description.arm import Arm, Beam, FiniteElement, Link, Payload, Rayleigh, Rigid
from flexarm.description.bodies import Body
from flexarm.description.free import FreeBase
from flexarm.description.joints import Joint, Telescope
from flexarm.description.parts import changed_at, rule_at
from flexarm.description.tree import BASE
from flexarm.shapes import BENDING

D = TypeVar("D", bound=Described)

OWNERS = ("payload", "gravity")
"""Owners of parameters other than the links."""
OF_ANY_SECTION = ("length", "damping_ratio", "tau", "loss_factor", "rayleigh")
"""Fields of a beam's parameters that do not follow from its sections."""
TENSORS = ("inertia", "hub_inertia")
_OF_SHAPES = (
    *("mean", "moment", "product", "curvature", "shearing", "turning", "turnings", "tip", "tip_slope", "root_slope"),
    *("tip_shortening", "tip_stretch", "tip_swing", "tip_swing_slope", "tip_twist"),
)
REFUSED, DENSER = "refused", "denser"
"""Treatment of a tapered beam's mass and stiffness, which follow from its sections: see `changed`."""
FOLLOWING = ("mass", "polar_inertia", "rotary_inertia", "com", "inertia")
"""Fields of parameters that may follow from a link's length or mass by default."""
_OF_SHEAR = ("length", "EI", "GJ", "shear")
OF_MODES = ("mass", "length", "EI", "GJ", "EA", "polar_inertia", "shear", "rotary_inertia", "lumps")
"""Parameters on which a link's modes depend."""
RULES: dict[str, Rule] = {
    "mass": POSITIVE,
    "inertia": NOT_NEGATIVE,
    "hub_mass": NOT_NEGATIVE,
    "hub_inertia": NOT_NEGATIVE,
    "polar_inertia": NOT_NEGATIVE,
    "rotor_inertia": NOT_NEGATIVE,
    "gear_ratio": NOT_ZERO,
    "ratio": NOT_ZERO,
    "damping": NOT_NEGATIVE,
    "spring_damping": NOT_NEGATIVE,
    "stiffness": POSITIVE,
    "EI": POSITIVE,
    "GJ": POSITIVE,
    "EA": POSITIVE,
    "damping_ratio": NOT_NEGATIVE,
    "stiffness_factor": POSITIVE,
    "tau": NOT_NEGATIVE,
    "loss_factor": NOT_NEGATIVE,
    "rayleigh": NOT_NEGATIVE,
    "shear": POSITIVE,
    "rotary_inertia": NOT_NEGATIVE,
}
"""Validation rules of fields. A field that is not listed may have any value."""


def _parted(arm: Arm, name: str) -> tuple[Link | Payload | FreeBase | Arm | None, str, str]:
    """Return the owner of a parameter, its field and the rest of its name: (link, "inertia", "xy") for
    "upper.inertia.xy"."""
    owner, _, rest = name.partition(".")
    if owner == "gravity":
        return arm, "gravity", rest
    field, _, part = rest.partition(".")
    if owner == "payload":
        return arm.payload, field, part
    if owner == BASE and isinstance(arm.base, FreeBase):
        return arm.base, field, part
    link = next((link for link in arm.links if link.name == owner), None)
    if field == "payload" and link is not None:
        field, _, part = part.partition(".")
        return link.payload, field, part
    return link, field, part


def rule(arm: Arm, name: str) -> Rule:
    """Return the validation rule of a parameter."""
    owner, field, part = _parted(arm, name)
    if is_product(arm, name):
        return FINITE
    if isinstance(owner, FreeBase) and field == "inertia":
        return POSITIVE
    if field == "lumps":
        return FINITE if part.split(".")[1] == "offset" else NOT_NEGATIVE
    if name == "payload.mass" and arm.payload is None:
        return NOT_NEGATIVE
    if of_drive(arm, name) and isinstance(owner, Link):
        return rule_at(owner.joint.moving.drive, part)  # type: ignore[attr-defined]
    if field == "length":
        return POSITIVE if isinstance(owner, Link) and isinstance(owner.body, Beam) else NOT_NEGATIVE
    if field == "rotor_inertia" and isinstance(owner, Link) and owner.elastic:
        return POSITIVE
    return RULES.get(field, FINITE)


def of_drive(arm: Arm, name: str) -> bool:
    """Return True if a parameter belongs to a part of a drive."""
    owner, field, _ = _parted(arm, name)
    return isinstance(owner, Link) and field == "drive"


def beside_shapes(arm: Arm, name: str) -> bool:
    """Return True if no mode shape depends on a parameter: those of a drive's parts and of a free base."""
    return of_drive(arm, name) or isinstance(_parted(arm, name)[0], FreeBase)


def _has_axis(joint: Joint) -> bool:
    return "axis" in type(joint.moving).model_fields


def fixed_reason(arm: Arm, name: str) -> str:
    """Return the reason why a parameter is fixed in a model of the arm, or "" if it may vary."""
    owner, field, part = _parted(arm, name)
    if field in _OF_SHAPES:
        return "it belongs to the mode shapes, which follow from their family"
    if field == "part":
        return "it follows from the file of the part"
    if field == "modal_damping":
        return "it follows from damping_ratio"
    if field == "joint" and part in ("axis.x", "axis.y", "axis.z"):
        return "it follows from joint.axis.azimuth and joint.axis.tilt"
    if field == "joint" and isinstance(owner, Link) and not _has_axis(owner.joint):
        return "the joint's description gives no axis"
    if field == "length" and isinstance(owner, Link) and isinstance(owner.joint, Telescope):
        return "the range and the shapes of a telescope depend on its length"
    if not (isinstance(owner, Link) and isinstance(owner.body, Beam)):
        return ""
    if owner.body.segments and owner.body.sheared and field in _OF_SHEAR:
        return "the shear strains of a beam with segments depend on it"
    if not owner.body.one_factor:
        modal = any(ratio + owner.body.loss_factor for ratio in owner.body.damping_ratios)
        if modal and field in OF_MODES:
            of = "a link with lumps, shear, rotary inertia or initial angles"
            return f"the modal damping of {of} depends on it; give the damping as tau"
        if not modal and field in ("damping_ratio", "loss_factor"):
            return "it needs the modes of a link with lumps, shear or rotary inertia, which vary; vary tau instead"
    return ""


def tensor_axes(I: np.ndarray, r: int, c: int) -> str:
    """Return the axes that identify an entry of a tensor, such as "xy", or "" for equal principal values."""
    same = r == c and I[1, 1] == I[2, 2] and (r != 0 or I[0, 0] == I[1, 1])
    lone = same and np.count_nonzero(I) == np.count_nonzero(I.diagonal())
    return "" if lone else "xyz"[min(r, c)] + "xyz"[max(r, c)]


def entry_name(field: str, I: np.ndarray, r: int, c: int) -> str:
    """Return the name of a tensor's entry: "inertia", "inertia.xy"."""
    axes = tensor_axes(I, r, c)
    return f"{field}.{axes}" if axes else field


def tensors(arm: Arm) -> dict[str, np.ndarray]:
    """Return the inertia tensors of an arm, (3, 3), by the names of their fields: "upper.inertia",
    "payload.inertia"."""
    found = {f"{BASE}.inertia": tensor(arm.base.inertia)} if isinstance(arm.base, FreeBase) else {}
    for link in arm.links:
        found[f"{link.name}.hub_inertia"] = tensor(link.hub_inertia)
        if isinstance(link.body, Rigid):
            found[f"{link.name}.inertia"] = link.body.inertia_tensor
        for i, lump in enumerate(link.body.lumps if isinstance(link.body, Beam | Rigid) else (), start=1):
            found[f"{link.name}.lumps.{i}.inertia"] = tensor(lump.inertia)
        if link.payload is not None:
            found[f"{link.name}.payload.inertia"] = tensor(link.payload.inertia)
    found["payload.inertia"] = tensor(0.0 if arm.payload is None else arm.payload.inertia)
    return found


def is_product(arm: Arm, name: str) -> bool:
    """Return True if a parameter is a product of inertia, which may be negative."""
    _, field, part = _parted(arm, name)
    if field == "lumps":
        _, field, part = (*part.split("."), "", "")[:3]
    return field in TENSORS and part != "" and part[0] != part[1]


def told(values: Mapping[str, float], known: Mapping[str, float]) -> dict[str, float]:
    """Return the parameters that must be passed to `changed`.

    These are the parameters that differ from the known values, and the parameters that would follow from them by
    default. If a link's mass or length changes, defaults of its description would change other parameters, so that
    those are included with their old values.
    """
    others = {name: x for name, x in values.items() if x != known[name]}
    parted = {name: name.partition(".") for name in values}
    followed = {parted[name][0] for name in others if parted[name][2] in ("mass", "length")}
    kept = {
        name: x for name, x in values.items() if parted[name][0] in followed and _field(parted[name][2]) in FOLLOWING
    }
    return others | kept


KnownLinks = dict[tuple[Any, ...], Link]
"""Links with other parameter values, by their names and these values."""


def changed(arm: Arm, values: Mapping[str, float], of_tapered: str = REFUSED, known: KnownLinks | None = None) -> Arm:
    """Return the arm with other parameter values, validated like any description.

    Defaults and values per length follow the new values, as if the arm were written with them. A description has no
    field for a tapered beam's mass and stiffness. These are rejected, or (with `DENSER`) they scale the density at
    equal stiffness, which keeps the mode shapes.

    `known` stores links for more calls with the same arm and `of_tapered`.

    Raises `Fault` if a description has no field for a parameter, and `DescriptionError` for a value that is not
    allowed.
    """
    known = {} if known is None else known
    links = []
    for link in arm.links:
        own = _inside(values, link.name)
        key = (link.name, *own.items())
        if key not in known:
            known[key] = _changed_link(link, own, of_tapered)
        links.append(known[key])
    base = arm.base
    if isinstance(base, FreeBase):
        base = _edited(base, _inside(values, BASE))
    payload, mine = arm.payload, _inside(values, "payload")
    if mine:
        mass, inertia = (0.0, 0.0) if payload is None else (payload.mass, payload.inertia)
        mass, inertia = mine.get("mass", mass), _changed_tensor(tensor(inertia), mine, "inertia")
        payload = None if mass == 0.0 and not np.any(inertia) else Payload(mass=mass, inertia=inertia)
    gravity = list(arm.gravity)
    for i, axis in enumerate("xyz"):
        if "gravity" in values:
            gravity[i] = float(np.sign(gravity[i])) * values["gravity"]
        gravity[i] = values.get(f"gravity.{axis}", gravity[i])
    return arm.replace(links=links, base=base, payload=payload, gravity=tuple(gravity))


# -- edits by path -----------------------------------------------------------------------------------------------------

AXES = {"rpy": ("roll", "pitch", "yaw")}
"""Names of the components of a vector, by its field. Those of other vectors are x, y and z."""


def _field(path: str) -> str:
    """Return the field that a parameter's path inside a description begins with: "rpy" of "rpy.yaw"."""
    return path.partition(".")[0]


def _inside(values: Mapping[str, float], field: str) -> dict[str, float]:
    """Return the values inside a field, by their paths there; "" is the path of the field itself."""
    return {path.partition(".")[2]: x for path, x in values.items() if _field(path) == field}


def _some(values: Mapping[str, float], fields: Container[str]) -> dict[str, float]:
    """Return the values inside some fields."""
    return {path: x for path, x in values.items() if _field(path) in fields}


def _edited(thing: D, values: Mapping[str, float]) -> D:
    """Return a description with other values of its numbers, by their paths: "mass", "com.x", "inertia.xy"."""
    changes = _edits(thing, values)
    return thing.replace(**changes) if changes else thing


def _edits(thing: Described, values: Mapping[str, float]) -> dict[str, Any]:
    """Return the new content of the fields that contain these numbers."""
    fields = dict.fromkeys(map(_field, values))
    return {field: _edited_field(field, getattr(thing, field, None), values) for field in fields}


def _edited_field(field: str, old: Any, values: Mapping[str, float]) -> Any:
    """Return the new content of a field, from values by their paths in its description."""
    inside = _inside(values, field)
    if field == "drive":
        return changed_at(old, inside)
    if field in TENSORS:
        return _changed_tensor(tensor(old), values, field)
    if isinstance(old, Described):
        return _edited(old, inside)
    if not isinstance(old, tuple):
        return inside.get("", old)  # a part that is absent stays absent
    if field == "lumps":
        return tuple(_edited(each, _inside(inside, str(i))) for i, each in enumerate(old, start=1))
    return tuple(inside.get(axis, x) for axis, x in zip(AXES.get(field, "xyz"), old, strict=True))


def _changed_tensor(I: np.ndarray, values: Mapping[str, float], field: str, default: np.ndarray | None = None) -> Any:
    """Return a tensor with other entries, which have the names of those of I. Other entries are those of `default`."""
    old = I if default is None else default
    return tuple(tuple(float(values.get(entry_name(field, I, r, c), old[r, c])) for c in range(3)) for r in range(3))


# -- edits of links ----------------------------------------------------------------------------------------------------


def _changed_link(link: Link, values: dict[str, float], of_tapered: str) -> Link:
    if not values:
        return link
    axis, fields = _inside(values, "joint"), type(link.joint).model_fields.keys() | type(link.joint.moving).model_fields
    of_joint = _some(values, fields - {"joint"})
    of_link = _some(values, type(link).model_fields.keys() - {"joint"})
    rest = {path: x for path, x in values.items() if path not in of_joint | of_link and _field(path) != "joint"}
    joint = _changed_joint(link.joint, of_joint, axis)
    return link.replace(**_edits(link, of_link), joint=joint, body=_changed_body(link.body, rest, of_tapered))


def _changed_joint(joint: Joint, values: dict[str, float], axis: dict[str, float]) -> Joint:
    """Return the joint with other values of its numbers, and another azimuth or tilt of its axis."""
    changes = _edits(joint, _some(values, type(joint).model_fields))
    if joint.moving is not joint:
        changes["joint"] = _changed_joint(joint.moving, values, axis)
    elif axis:
        changes["axis"] = _turned(np.array(joint.direction), axis)
    return joint.replace(**changes) if changes else joint


@singledispatch
def _changed_body(body: Body, values: dict[str, float], of_tapered: str) -> Body:
    """Return the body of a link with other values of its parameters."""
    return _edited(body, values)


@_changed_body.register
def _(body: Rigid, values: dict[str, float], of_tapered: str) -> Rigid:
    made = _edited(body, _some(values, ("length", "mass", "lumps")))
    changes: dict[str, Any] = {}
    if _some(values, ("com",)):
        changes["com"] = _edited_field("com", made.center, values)
    if _some(values, ("inertia",)):
        changes["inertia"] = _changed_tensor(body.inertia_tensor, values, "inertia", made.inertia_tensor)
    return made.replace(**changes) if changes else made


@_changed_body.register
def _(body: FiniteElement, values: dict[str, float], of_tapered: str) -> FiniteElement:
    labels = [str(j) for j in range(1, 1 + len(body.damping_ratios))]
    changes = _edits(body, _some(values, ("mass", "stiffness_factor")))
    return body.replace(**changes, **_damping(values, labels, body.damping_ratios))


@_changed_body.register
def _(body: Beam, values: dict[str, float], of_tapered: str) -> Beam:
    body = _edited(body, _some(values, ("lumps",)))
    values = {path: x for path, x in values.items() if _field(path) != "lumps"}
    if not body.uniform and of_tapered == DENSER:
        return _denser(body, values)
    return _changed_beam(body, values)


def _changed_beam(body: Beam, values: dict[str, float]) -> Beam:
    given = [path for path in values if _field(path) not in OF_ANY_SECTION]
    if not body.uniform and given:
        raise Fault(
            given[0], "belongs to a tapered beam, which is described by its sections; change the sections instead"
        )
    length = values.get("length", body.length)
    changes: dict[str, Any] = {path: values[path] for path in ("GJ", "EA", "tau", "loss_factor") if path in values}
    changes |= {"length": length, **_inertias(body, values, length), **_rigidities(body, values)}
    if rayleigh := _inside(values, "rayleigh"):
        changes["rayleigh"] = _edited(body.rayleigh or Rayleigh(), rayleigh)
    changes |= _damping(values, coordinate_labels([*body.counts.values()]), body.damping_ratios)
    return body.replace(**changes)


def _inertias(body: Beam, values: Mapping[str, float], length: float) -> dict[str, Any]:
    """Return the changes of a beam's fields for its mass and its moments of inertia."""
    changes: dict[str, Any] = {}
    if "mass" in values and body.material is not None:
        changes = {"polar_inertia": body.rho_Ip, **_rotary(body)}
        density = body.material.density * values["mass"] / (body.m * length)
        changes["material"] = body.material.replace(density=density)
    elif "mass" in values:
        changes = {"mass": values["mass"], "mass_per_length": None}
    if "polar_inertia" in values:
        changes["polar_inertia"] = values["polar_inertia"] / length
    if rotary := _inside(values, "rotary_inertia"):
        old = _rotary(body)["rotary_inertia"]
        changes["rotary_inertia"] = {d: rotary[d] / length if d in rotary else x for d, x in old.items()}
    return changes


def _rigidities(body: Beam, values: Mapping[str, float]) -> dict[str, Any]:
    """Return the changes of a beam's fields for its stiffness against bending and shear."""
    changes: dict[str, Any] = {}
    EI = {d: body.stiffness[d] for d in BENDING if d in body.stiffness}
    bent = _by_plane(body, EI, _inside(values, "EI"))
    if bent != EI:
        changes["EI"] = bent
    if shear := _inside(values, "shear"):
        base = body.profile(0.0)
        known = {d: float(x[0]) for d, x in (("y", base.kGA_y), ("z", base.kGA_z)) if x[0]}
        changes |= {"shear": _by_plane(body, known, shear), "shear_coefficient": None}
    return changes


def _by_plane(body: Beam, known: Mapping[str, float], values: Mapping[str, float]) -> dict[str, float]:
    """Return the numbers of both planes. The path "" is for all planes that have modes."""
    return {d: values.get(d, values.get("", x) if body.counts[d] else x) for d, x in known.items()}


def _damping(values: Mapping[str, float], labels: Sequence[str], old: Sequence[float]) -> dict[str, Any]:
    """Return the change of a body's field for its damping ratios: one number, or one for each label of a mode."""
    ratios = _inside(values, "damping_ratio")
    if not ratios:
        return {}
    if "" in ratios:
        return {"damping": ratios[""]}
    return {"damping": tuple(ratios.get(label, x) for label, x in zip(labels, old, strict=True))}


def _rotary(body: Beam) -> dict[str, Any]:
    """Return the rotary inertia of a uniform beam as numbers, if it has any."""
    base = body.profile(0.0)
    known = {d: float(x[0]) for d, x in (("y", base.rho_I_y), ("z", base.rho_I_z)) if x[0]}
    return {"rotary_inertia": known} if known else {}


def _denser(body: Beam, values: dict[str, float]) -> Beam:
    """Return a tapered beam with other inertia. The same stiffness of all sections keeps its shapes."""
    factor = values.get("mass", body.total_mass) / body.total_mass
    if "polar_inertia" in values:
        factor *= values["polar_inertia"] / (body.rho_Ip * body.length)
    shape = _some(values, OF_ANY_SECTION)
    material = body.material and body.material.replace(density=body.material.density * factor)
    table = body.sections and body.sections.denser(factor)
    return _changed_beam(body.replace(material=material, sections=table), shape)


def coordinate_labels(counts: Sequence[int]) -> list[str]:
    """Return the label of each amplitude: its number, after the direction if there are several directions."""
    return numbered(list("yztx"[: len(counts)]) if np.count_nonzero(counts) > 1 else [""] * len(counts), counts)


def numbered(marks: Sequence[str], counts: Sequence[int]) -> list[str]:
    """Return 1, 2, ... for each direction, after its mark."""
    return [f"{mark}{j}" for mark, count in zip(marks, counts, strict=True) for j in range(1, count + 1)]


def alignment(axis: np.ndarray) -> tuple[int, int, float, float]:
    """Return k, sign, alpha, beta such that axis = sign R_k(alpha) R_j(beta) e_k. A rotation about j = k - 1 turns k to
    k + 1.

    k is the largest component of the axis, so that coordinate axes need no rotation.
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
    """Return the axis at another azimuth or tilt."""
    k, sign, alpha, beta = alignment(axis)
    alpha, beta = values.get("axis.azimuth", alpha), values.get("axis.tilt", beta)
    found = np.zeros(3)
    found[k], found[(k + 1) % 3], found[(k + 2) % 3] = cos(beta), sin(beta) * cos(alpha), sin(beta) * sin(alpha)
    return tuple((sign * found / np.linalg.norm(found)).tolist())
