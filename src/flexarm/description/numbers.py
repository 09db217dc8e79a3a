"""Parameters of an arm by their names in equations: validation rules, and copies of the arm with other values.

Names are those of `fa.equations`: "upper.EI", "elbow.rotor_inertia", "payload.mass", "gravity". A payload of a link has
"upper.payload.mass", and a free base has "base.mass".
"""

from collections.abc import Mapping, Sequence
from math import acos, atan2, cos, sin
from typing import Any

import numpy as np

from flexarm.checks import FINITE, NOT_NEGATIVE, NOT_ZERO, POSITIVE, Fault, Rule, tensor
from flexarm.description.arm import Arm, Beam, FiniteElement, Link, Lump, Payload, Rayleigh, Rigid
from flexarm.description.free import FreeBase
from flexarm.description.joints import Telescope
from flexarm.description.parts import changed_at, rule_at
from flexarm.description.tree import BASE

OWNERS = ("payload", "gravity")
"""Owners of parameters other than the links."""
OF_ANY_SECTION = ("length", "damping", "tau", "loss_factor", "rayleigh")
"""Beginnings of names of a beam's parameters that do not follow from its sections."""
TENSORS = ("inertia", "hub_inertia")
_OF_SHAPES = (
    *("mean", "moment", "product", "curvature", "shearing", "turning", "turnings", "tip", "tip_slope", "root_slope"),
    *("tip_shortening", "tip_stretch", "tip_swing", "tip_swing_slope", "tip_twist"),
)
REFUSED, DENSER = "refused", "denser"
"""Treatment of a tapered beam's mass and stiffness, which follow from its sections: see `changed`."""
FOLLOWING = ("mass", "polar_inertia", "rotary_inertia", "com", "inertia")
"""Beginnings of names of parameters that may follow from a link's length or mass by default."""
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
        return FINITE if ".offset." in name else NOT_NEGATIVE
    if name == "payload.mass" and arm.payload is None:
        return NOT_NEGATIVE
    if of_drive(arm, name) and isinstance(owner, Link):
        return rule_at(owner.joint.drive, part)  # type: ignore[attr-defined]
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
    if field == "joint" and isinstance(owner, Link) and "axis" not in type(owner.joint).model_fields:
        return "the joint's description gives no axis"
    if field == "length" and isinstance(owner, Link) and isinstance(owner.joint, Telescope):
        return "the range and the shapes of a telescope depend on its length"
    if isinstance(owner, Link) and isinstance(owner.body, Beam) and not owner.body.one_factor:
        modal = any(ratio + owner.body.loss_factor for ratio in owner.body.damping_ratios)
        if modal and field in OF_MODES:
            return (
                "the modal damping of a link with lumps, shear or rotary inertia depends on it; give the damping as tau"
            )
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
        name: x for name, x in values.items() if parted[name][0] in followed and parted[name][2].startswith(FOLLOWING)
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
        own = _own(values, link.name)
        key = (link.name, *own.items())
        if key not in known:
            known[key] = _changed_link(link, own, of_tapered)
        links.append(known[key])
    base = arm.base
    if isinstance(base, FreeBase):
        base = _changed_base(base, _own(values, BASE))
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
    return arm.replace(links=links, base=base, payload=payload, gravity=tuple(gravity))


def _own(values: Mapping[str, float], owner: str) -> dict[str, float]:
    return {name.partition(".")[2]: x for name, x in values.items() if name.partition(".")[0] == owner}


def _changed_tensor(I: np.ndarray, values: Mapping[str, float], field: str) -> Any:
    return tuple(tuple(float(values.get(entry_name(field, I, r, c), I[r, c])) for c in range(3)) for r in range(3))


def _any(values: Mapping[str, float], *fields: str) -> bool:
    return any(name.partition(".")[0] in fields for name in values)


def _changed_base(base: FreeBase, values: Mapping[str, float]) -> FreeBase:
    if not values:
        return base
    return base.replace(
        mass=values.get("mass", base.mass),
        com=tuple(values.get(f"com.{a}", x) for a, x in zip("xyz", base.com, strict=True)),
        inertia=_changed_tensor(tensor(base.inertia), values, "inertia"),
    )


def _changed_link(link: Link, values: dict[str, float], of_tapered: str) -> Link:
    if not values:
        return link
    changes: dict[str, Any] = {}
    if "hub_mass" in values:
        changes["hub_mass"] = values["hub_mass"]
    if _any(values, "hub_inertia"):
        changes["hub_inertia"] = _changed_tensor(tensor(link.hub_inertia), values, "hub_inertia")
    if _any(values, "payload") and link.payload is not None:
        held = {name.removeprefix("payload."): x for name, x in values.items() if name.startswith("payload.")}
        inertia = _changed_tensor(tensor(link.payload.inertia), held, "inertia")
        changes["payload"] = Payload(mass=held.get("mass", link.payload.mass), inertia=inertia)
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
    if _any(values, "drive"):
        mine = {name.partition(".")[2]: x for name, x in values.items() if name.startswith("drive.")}
        joint["drive"] = changed_at(link.joint.drive, mine)  # type: ignore[attr-defined]
    changes["joint"] = link.joint.replace(**joint) if joint else link.joint
    rest = {field: x for field, x in values.items() if field not in joint and not _elsewhere(field)}
    if _any(rest, "lumps") and isinstance(link.body, Beam | Rigid):
        link = link.replace(body=link.body.replace(lumps=_changed_lumps(link.body.lumps, rest)))
        rest = {field: x for field, x in rest.items() if not field.startswith("lumps.")}
    if isinstance(link.body, Beam):
        tapered = not link.body.uniform and of_tapered == DENSER
        changes["body"] = _denser(link.body, rest) if tapered else _changed_beam(link.body, rest)
    elif isinstance(link.body, Rigid):
        changes["body"] = _changed_rigid(link.body, rest)
    elif isinstance(link.body, FiniteElement):
        changes["body"] = _changed_part(link.body, rest)
    elif rest:
        changes["body"] = link.body.replace(**rest)
    return link.replace(**changes)


def _changed_lumps(lumps: Sequence[Lump], values: Mapping[str, float]) -> list[Lump]:
    found = []
    for i, lump in enumerate(lumps, start=1):
        own = {name.removeprefix(f"lumps.{i}."): x for name, x in values.items() if name.startswith(f"lumps.{i}.")}
        changes: dict[str, Any] = {"mass": own.get("mass", lump.mass)}
        changes["offset"] = tuple(own.get(f"offset.{a}", x) for a, x in zip("xyz", lump.offset, strict=True))
        if _any(own, "inertia"):
            changes["inertia"] = _changed_tensor(tensor(lump.inertia), own, "inertia")
        found.append(lump.replace(**changes))
    return found


def _elsewhere(field: str) -> bool:
    return field.partition(".")[0] in ("hub_mass", "hub_inertia", "placement", "joint", "drive", "payload")


def _changed_rigid(body: Rigid, values: dict[str, float]) -> Rigid:
    changes: dict[str, Any] = {name: values[name] for name in ("length", "mass") if name in values}
    made = body.replace(**changes)
    if _any(values, "com"):
        changes["com"] = tuple(values.get(f"com.{a}", x) for a, x in zip("xyz", made.center, strict=True))
    if _any(values, "inertia"):
        I, there = body.inertia_tensor, made.inertia_tensor
        changes["inertia"] = tuple(
            tuple(float(values.get(entry_name("inertia", I, r, c), there[r, c])) for c in range(3)) for r in range(3)
        )
    return made.replace(**changes)


def _changed_beam(body: Beam, values: dict[str, float]) -> Beam:
    given = [name for name in values if not name.startswith(OF_ANY_SECTION)]
    if not body.uniform and given:
        raise Fault(
            given[0], "belongs to a tapered beam, which is described by its sections; change the sections instead"
        )
    changes: dict[str, Any] = {}
    length = values.get("length", body.length)
    changes["length"] = length
    if "mass" in values:
        if body.material is not None:
            changes["polar_inertia"] = body.rho_Ip
            changes |= _rotary(body)
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
    changes |= {name: values[name] for name in ("GJ", "EA", "tau", "loss_factor") if name in values}
    if _any(values, "rayleigh"):
        old = body.rayleigh or Rayleigh()
        changes["rayleigh"] = Rayleigh(
            mass=values.get("rayleigh.mass", old.mass), stiffness=values.get("rayleigh.stiffness", old.stiffness)
        )
    if _any(values, "shear"):
        base = body.profile(0.0)
        known = {d: float(x[0]) for d, x in (("y", base.kGA_y), ("z", base.kGA_z)) if x[0]}
        changes["shear"] = {
            d: values.get(f"shear.{d}", values.get("shear", x) if body.counts[d] else x) for d, x in known.items()
        }
        changes["shear_coefficient"] = None
    if _any(values, "rotary_inertia"):
        turned = _rotary(body)["rotary_inertia"]
        changes["rotary_inertia"] = {
            d: values[f"rotary_inertia.{d}"] / length if f"rotary_inertia.{d}" in values else x
            for d, x in turned.items()
        }
    if "damping_ratio" in values:
        changes["damping"] = values["damping_ratio"]
    elif _any(values, "damping_ratio"):
        labels = coordinate_labels([*body.counts.values()])
        ratios = zip(labels, body.damping_ratios, strict=True)
        changes["damping"] = tuple(values.get(f"damping_ratio.{label}", x) for label, x in ratios)
    return body.replace(**changes)


def _changed_part(body: FiniteElement, values: dict[str, float]) -> FiniteElement:
    changes: dict[str, Any] = {name: values[name] for name in ("mass", "stiffness_factor") if name in values}
    if "damping_ratio" in values:
        changes["damping"] = values["damping_ratio"]
    elif _any(values, "damping_ratio"):
        changes["damping"] = tuple(
            values.get(f"damping_ratio.{j}", x) for j, x in enumerate(body.damping_ratios, start=1)
        )
    return body.replace(**changes)


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
    shape = {name: x for name, x in values.items() if name.startswith(OF_ANY_SECTION)}
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
    alpha, beta = values.get("joint.axis.azimuth", alpha), values.get("joint.axis.tilt", beta)
    found = np.zeros(3)
    found[k], found[(k + 1) % 3], found[(k + 2) % 3] = cos(beta), sin(beta) * cos(alpha), sin(beta) * sin(alpha)
    return tuple((sign * found / np.linalg.norm(found)).tolist())
