"""Arms for every choice of options of a description: what stands on a link, and on what it stands.

    arm = arm_of(choice, seed)               # raises DescriptionError where the description refuses the choice
    q, qd, s, u, w, qdd = state_of(arm, 0)   # in general position: no zeros

An arm has the link `main`, which has nearly all options, and mostly a neighbour that it carries or that carries it.
`OPTIONS` names the values of every option, `STARTS` are choices that any pair of values is tried with.
"""

import json
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from covering import Choice, covering, random_choice
from part_files import solid_part
from random_arms import numbers, random_pose, random_state, unit
from scipy.spatial.transform import Rotation
from whole_oracle import bare

import flexarm as fa

Numbers = np.random.Generator
PART = "part"


@cache
def part_file() -> tuple[dict, str]:
    """A finite element part of twelve nodes, with three modes of its own, and its file."""
    part = solid_part(0.4, 0.03, 0.02, E=2e7, nu=0.3, density=1200.0, cells=(2, 1, 1))
    folder = tempfile.mkdtemp(prefix="flexarm-tests-part-")
    path = Path(folder) / "part.npz"
    np.savez(path, **{key: x for key, x in part.items() if x is not None})
    return part, str(path)


def _rod(r: Numbers, **more):
    return {"type": "rod", "diameter": r.uniform(0.02, 0.04)} | more


def _material(r: Numbers):
    return {"E": r.uniform(2e8, 4e8), "density": 2700.0, "poisson": r.uniform(0.2, 0.4)}


def _table(r: Numbers):
    """Columns with a step inside."""
    column = lambda low, high: r.uniform(low, high, 5).tolist()  # noqa: E731
    more = {"GJ": column(5, 40), "EA": column(1e3, 1e4), "polar_inertia": column(2e-3, 1e-2)}
    EI = {"y": column(5, 40), "z": column(5, 40)}
    return {"x": [0.0, 0.3, 0.3, 0.7, 1.0], "mass_per_length": column(0.5, 2.0), "EI": EI, **more}


def _plain_beam(r: Numbers):
    EI = dict(zip("yz", r.uniform(5, 40, 2).tolist(), strict=True))
    return {"EI": EI, "GJ": r.uniform(5, 40), "EA": r.uniform(1e3, 1e4), "polar_inertia": r.uniform(1e-3, 1e-2)}


def _either(r: Numbers, low: float, high: float):
    return {"forward": r.uniform(low, high), "backward": r.uniform(low, high)}


def _friction(r: Numbers, **more):
    return {
        "coulomb": r.uniform(0.1, 0.4),
        "viscous": r.uniform(0.05, 0.3),
        "stribeck_rate": r.uniform(0.2, 0.5),
    } | more


def _lugre(r: Numbers, **more):
    return _friction(r, model="lugre", bristle_stiffness=r.uniform(20, 90), bristle_damping=r.uniform(0.2, 2)) | more


def _voltage(r: Numbers, **more):
    electric = {"torque_constant": r.uniform(0.5, 1.0), "resistance": r.uniform(0.5, 2.0)}
    return {"input": "voltage", "back_emf_constant": r.uniform(0.4, 0.9), "voltage_limit": 1.3, **electric} | more


def _direction(r: Numbers):
    return numbers(unit(r))


def _counts(**modes: int):
    return lambda r: {"body": {"modes": modes}}


@cache
def _reduced(shapes: str, modes: int):
    """What the package makes of the part, read and reduced once."""
    return fa.FiniteElement(file=part_file()[1], modes=modes, shapes=shapes).part


def _part(shapes: str, modes: int):
    def made(r: Numbers):
        given = {"file": part_file()[1], "part": _reduced(shapes, modes), "modes": modes, "shapes": shapes}
        ratios = r.uniform(0.01, 0.05, modes).tolist()
        return {"body": {"type": "finite-element", **given}, "default_body": {"damping": ratios}}

    return made


def _family(name: str):
    return lambda r: {"bending": name}


def _rods(name: str):
    return lambda r: {"rods": name}


def _none(r: Numbers):
    return {}


def _lumps(*stations: float, whole: bool):
    def made(r: Numbers):
        lumps = [{"at": at, "mass": r.uniform(0.1, 0.4)} for at in stations]
        if whole:
            lumps = [x | {"offset": r.uniform(-0.05, 0.05, 3).tolist(), "inertia": _tensor(r, 0.02)} for x in lumps]
        return {"body": {"lumps": lumps}}

    return made


def _tensor(r: Numbers, scale: float):
    spread = r.uniform(0.05, 0.3, 3)
    Q, _ = np.linalg.qr(r.normal(size=(3, 3)))
    I = scale * Q @ np.diag(spread.sum() - spread) @ Q.T
    return tuple(numbers(row) for row in (I + I.T) / 2)


def _force(kind: str, axes: str = "base"):
    return lambda r: {"force": {"kind": kind, **({} if axes == "base" else {"axes": axes})}}


def _contact(**fields):
    """A wall that a wide ball about the station touches wherever the arm stands."""

    def made(r: Numbers):
        given = {"radius": r.uniform(5, 6), "normal": _direction(r), "stiffness": r.uniform(1, 3)}
        return {"contact": {**given, "point": r.uniform(-0.3, 0.3, 3).tolist(), **fields}}

    return made


VALUES = {
    "joint": {
        "turns about an axis": lambda r: {"joint": {"type": "revolute", "axis": (0, -1, 0)}},
        "fixed": lambda r: {"joint": {"type": "fixed"}},
        "turns": lambda r: {"joint": {"type": "revolute", "axis": _direction(r)}},
        "slides": lambda r: {"joint": {"type": "prismatic", "axis": _direction(r)}},
        "telescope": lambda r: {"joint": {"type": "telescope", "free_length": r.uniform(0.4, 0.6)}},
        "telescope of the paper": lambda r: {"joint": {"type": "telescope", "convection": "paper"}},
        "telescope, wave numbers solved": lambda r: {"joint": {"type": "telescope", "wave_numbers": "solved"}},
    },
    "rotor": {
        "none": _none,
        "relative": lambda r: {"joint": {"rotor_inertia": r.uniform(0.01, 0.05), "gear_ratio": r.uniform(1.2, 4)}},
        "absolute": lambda r: {
            "joint": {"rotor_inertia": r.uniform(0.01, 0.05), "gear_ratio": r.uniform(1.2, 4), "rotor": "absolute"}
        },
    },
    "stiffness": {
        "none": _none,
        "linear": lambda r: {"joint": {"stiffness": r.uniform(50, 200), "spring_damping": r.uniform(0.1, 1)}},
    },
    "spring": {
        "none": _none,
        "linear": lambda r: {"drive": {"spring": {"stiffness": r.uniform(20, 90), "damping": r.uniform(0.1, 1)}}},
        "cubic": lambda r: {"drive": {"spring": {"stiffness": r.uniform(20, 90), "cubic": r.uniform(50, 200)}}},
        "table": lambda r: {"drive": {"spring": {"table": [(-0.2, -3.0), (-0.05, -0.1), (0.1, 0.2), (0.16, 6.0)]}}},
        "hysteresis": lambda r: {
            "drive": {
                "spring": {
                    "stiffness": r.uniform(20, 90),
                    "hysteresis": {"stiffness": 60.0, "force": 20.5, "exponent": r.uniform(1.2, 2.4), "shape": 0.7},
                }
            }
        },
        "variable": lambda r: {"drive": {"spring": {"stiffness": r.uniform(20, 90), "variable": True}}},
    },
    "backlash": {
        "none": _none,
        "smooth": lambda r: {"drive": {"backlash": {"width": r.uniform(0.05, 0.2), "transition": 0.047}}},
        "sharp": lambda r: {"drive": {"backlash": {"width": r.uniform(0.05, 0.2), "sharp": True}}},
    },
    "bearing": {"none": _none, "viscous": lambda r: {"joint": {"damping": r.uniform(0.05, 0.5)}}},
    "motor": {
        "none": _none,
        "smooth limit": lambda r: {
            "drive": {"motor": {"torque_limit": 1.1, "torque_constant": 0.7, "saturation_width": 0.1}}
        },
        "sharp limit and line": lambda r: {
            "drive": {"motor": {"torque_limit": 1.2, "speed_limit": 2.1, "stall_torque": 1.7, "saturation": "sharp"}}
        },
        "curve": lambda r: {
            "drive": {
                "motor": {
                    "torque_speed": {"speed": [0.2, 0.6, 1.5], "torque": [2.5, 1.9, 0.6]},
                    "saturation_width": 0.03,
                }
            }
        },
        "voltage": lambda r: {"drive": {"motor": _voltage(r, torque_limit=1.4)}},
        "voltage and inductance": lambda r: {"drive": {"motor": _voltage(r, inductance=0.3)}},
        "lossy gear": lambda r: {
            "drive": {
                "motor": {
                    "efficiency": r.uniform(0.6, 0.9),
                    "back_efficiency": r.uniform(0.5, 0.8),
                    "efficiency_rate": 0.7,
                }
            }
        },
    },
    "friction": {
        "none": _none,
        "smooth": lambda r: {"drive": {"friction": _friction(r, creep_rate=0.11, static=r.uniform(0.4, 0.8))}},
        "smooth by direction, with load": lambda r: {
            "drive": {
                "friction": _friction(
                    r, coulomb=_either(r, 0.1, 0.3), viscous=_either(r, 0.1, 0.3), creep_rate=0.17, load=0.2
                )
            }
        },
        "bristles": lambda r: {"drive": {"friction": _lugre(r, static=r.uniform(0.4, 0.8))}},
        "bristles by direction, with load": lambda r: {
            "drive": {"friction": _lugre(r, coulomb=_either(r, 0.1, 0.3), static=_either(r, 0.4, 0.6), load=0.15)}
        },
    },
    "link friction": {
        "none": _none,
        "smooth, with load": lambda r: {"drive": {"link_friction": _friction(r, creep_rate=0.13, load=0.1)}},
        "bristles": lambda r: {"drive": {"link_friction": _lugre(r)}},
    },
    "brake": {
        "none": _none,
        "by default": lambda r: {"drive": {"brake": {"holding": r.uniform(0.5, 2)}}},
        "given": lambda r: {
            "drive": {"brake": {"holding": 1.3, "bristle_stiffness": 60.0, "bristle_damping": 0.4, "release_time": 0.1}}
        },
    },
    "stops": {
        "none": _none,
        "lower, smooth": lambda r: {
            "drive": {"stops": {"lower": 1.1, "stiffness": 21.0, "damping": 0.7, "transition": 0.9}}
        },
        "both, sharp": lambda r: {
            "drive": {"stops": {"lower": -0.3, "upper": 0.35, "stiffness": 17.0, "damping": 2.3, "sharp": True}}
        },
    },
    "parallel": {
        "none": _none,
        "spring": lambda r: {"drive": {"parallel": {"stiffness": 8.0, "rest": -0.2, "damping": r.uniform(0.1, 0.3)}}},
    },
    "body": {
        "beam": lambda r: {"body": {"type": "beam"}},
        "rod": lambda r: {"body": {"type": "rigid", "mass": r.uniform(0.5, 2)}},
        "rigid": lambda r: {
            "body": {
                "type": "rigid",
                "mass": r.uniform(0.5, 2),
                "com": r.uniform(0.05, 0.3, 3).tolist(),
                "inertia": _tensor(r, 0.4),
            }
        },
        "frame": lambda r: {"body": {"type": "frame"}},
        "one segment": lambda r: {"body": {"type": "beam", "segments": 1}},
        "two segments": lambda r: {"body": {"type": "beam", "segments": 2}},
        "four segments": lambda r: {"body": {"type": "beam", "segments": 4}},
        "part, loaded": _part("clamped-loaded", 3),
        "part, free": _part("clamped-free", 2),
        "part, craig-bampton": _part("craig-bampton", 7),
        "part, rigid": _part("clamped-free", 0),
    },
    "modes": {
        "none": _counts(),
        "absent": _none,
        "y": _counts(y=2),
        "z": _counts(z=2),
        "torsion": _counts(torsion=2),
        "axial": _counts(axial=1),
        "y, z": _counts(y=2, z=2),
        "y, torsion": _counts(y=2, torsion=1),
        "y, z, torsion": _counts(y=2, z=2, torsion=1),
        "y, twice z, twice torsion": _counts(y=1, z=2, torsion=2),
        "all": _counts(y=2, z=2, torsion=1, axial=1),
    },
    "bending": {"absent": _none}
    | {name: _family(name) for name in fa.shapes.FAMILIES if name != "free-form"}
    | {
        "clamped-mass of a body": lambda r: {"bending": {"family": "clamped-mass", "mass": 0.4, "inertia": 0.01}},
        "free-form": lambda r: {"bending": _free_form(r)},
    },
    "rods": {"absent": _none} | {name: _rods(name) for name in fa.shapes.ROD_FAMILIES if name != "free-form"},
    "section": {
        "rod": lambda r: {"body": {"material": _material(r), "section": _rod(r)}},
        "absent": _none,
        "mass": lambda r: {"body": {"mass": r.uniform(0.3, 3)} | _plain_beam(r)},
        "mass per length": lambda r: {"body": {"mass_per_length": r.uniform(0.3, 3)} | _plain_beam(r)},
        "hollow box": lambda r: {
            "body": {
                "material": _material(r),
                "section": {"type": "box", "width": 0.03, "height": 0.04, "thickness": 0.004},
            }
        },
        "tapered tube": lambda r: {
            "body": {
                "material": _material(r),
                "section": {"type": "tube", "outer_diameter": 0.04, "thickness": 0.008},
                "section_tip": {"type": "tube", "outer_diameter": 0.03, "thickness": 0.005},
            }
        },
        "table": lambda r: {"body": {"sections": _table(r)}},
    },
    "angles at rest": {
        "absent": _none,
        "bent": lambda r: {"body": {"initial_angles": {"y": r.uniform(0.2, 0.5), "z": r.uniform(0.2, 0.5)}}},
        "twisted": lambda r: {"body": {"initial_angles": {"z": r.uniform(0.2, 0.5), "torsion": r.uniform(0.3, 0.9)}}},
    },
    "foreshortening": {"absent": _none, "true": lambda r: {"body": {"foreshortening": True}}},
    "next joint": {"absent": _none, "chord": lambda r: {"body": {"next_joint": "chord"}}},
    "shear": {
        "absent": _none,
        "number": lambda r: {"body": {"shear": r.uniform(300, 600)}},
        "by plane": lambda r: {"body": {"shear": {"y": r.uniform(300, 600), "z": r.uniform(300, 600)}}},
        "coefficient": lambda r: {"body": {"shear_coefficient": 0.83}},
    },
    "rotary inertia": {
        "absent": _none,
        "true": lambda r: {"body": {"rotary_inertia": True}},
        "number": lambda r: {"body": {"rotary_inertia": r.uniform(0.002, 0.01)}},
        "by plane": lambda r: {"body": {"rotary_inertia": {"y": r.uniform(0.002, 0.01), "z": r.uniform(0.002, 0.01)}}},
    },
    "damping": {
        "absent": _none,
        "ratio": lambda r: {"body": {"damping": r.uniform(0.01, 0.05)}},
        "list": lambda r: {"ratios": True},
        "by direction": lambda r: {"body": {"damping": {"y": r.uniform(0.01, 0.05), "torsion": r.uniform(0.01, 0.05)}}},
        "tau": lambda r: {"body": {"tau": r.uniform(1e-3, 1e-2)}},
        "loss factor": lambda r: {"body": {"loss_factor": r.uniform(0.01, 0.1)}},
        "rayleigh": lambda r: {"body": {"rayleigh": {"mass": r.uniform(0.1, 0.5), "stiffness": r.uniform(1e-3, 1e-2)}}},
    },
    "lumps": {
        "absent": _none,
        "points": _lumps(0.25, 0.5, whole=False),
        "bodies": _lumps(0.5, 0.75, whole=True),
    },
    "hub": {
        "absent": _none,
        "number": lambda r: {"link": {"hub_mass": r.uniform(0.1, 1), "hub_inertia": r.uniform(0.01, 0.1)}},
        "tensor": lambda r: {"link": {"hub_mass": r.uniform(0.1, 1), "hub_inertia": _tensor(r, 0.3)}},
    },
    "payload": {
        "absent": _none,
        "point": lambda r: {"link": {"payload": {"mass": r.uniform(0.2, 1)}}},
        "tensor": lambda r: {"link": {"payload": {"mass": r.uniform(0.2, 1), "inertia": _tensor(r, 0.3)}}},
    },
    "placement": {"absent": _none, "general": lambda r: {"link": {"placement": dict(random_pose(r, False))}}},
    "neighbour": {
        "rigid, on the tip": lambda r: {"neighbour": "rigid", "at": 1.0},
        "rigid, half-way": lambda r: {"neighbour": "rigid", "at": 0.5},
        "rigid, at a place": lambda r: {"neighbour": "rigid", "at": dict(random_pose(r, False))},
        "rigid, beside": lambda r: {"neighbour": "rigid", "at": None},
        "beam, on the tip": lambda r: {"neighbour": "beam", "at": 1.0},
        "below, rigid": lambda r: {"below": "rigid", "at": 1.0},
        "below, half-way along a beam": lambda r: {"below": "beam", "at": 0.5},
        "below, an elastic joint and two segments": lambda r: {"below": "elastic", "at": 1.0},
        "below, a telescope": lambda r: {"below": "telescope", "at": 1.0},
        "none": _none,
    },
    "force": {
        "none": _none,
        "force": _force("force"),
        "force along the section": _force("force", "link"),
        "moment along the section": _force("moment", "link"),
        "wrench": _force("wrench"),
        "drive": _force("drive"),
        "distributed": _force("distributed"),
        "distributed along the sections": _force("distributed", "link"),
    },
    "contact": {
        "none": _none,
        "spring": _contact(),
        "Hertz, with friction": _contact(exponent=1.5, damping=0.05, friction=0.4, creep_rate=0.3),
        "bristles": _contact(exponent=1.2, friction=0.4, model="lugre", bristle_stiffness=30.0, bristle_damping=0.2),
    },
    "station": {"tip": lambda r: {"station": 1.0}, "half-way": lambda r: {"station": 0.5}},
    "strut": {
        "none": _none,
        "to a point": lambda r: {"strut": {"point": r.uniform(2, 3, 3).tolist(), "stiffness": 20.0, "length": 0.4}},
        "to a point, of no length": lambda r: {"strut": {"point": r.uniform(2, 3, 3).tolist(), "stiffness": 20.0}},
        "to the neighbour": lambda r: {"strut": {"to": "other", "to_at": 1.0, "stiffness": 20.0, "length": 0.2}},
    },
    "bushing": {
        "none": _none,
        "springs": lambda r: {"bushing": {"stiffness": r.uniform(3, 9), "angular_stiffness": r.uniform(2, 5)}},
        "damped": lambda r: {"bushing": {"damping": (0.3, 0.1, 0.6), "angular_damping": (0.1, 0.4, 0.2)}},
        "to the neighbour": lambda r: {"bushing": {"to": "other", "stiffness": (3.0, 9.0, 5.0), "damping": 0.4}},
    },
    "drag": {"none": _none, "drag": lambda r: {"drag": {"coefficient": r.uniform(0.2, 0.6, 3).tolist()}}},
    "coupling": {
        "none": _none,
        "two joints": lambda r: {"coupling": {"links": ["main", "other"], "matrix": [[1.1, 0.5], [-0.3, 1.2]]}},
    },
    "base": {
        "still": _none,
        "moved": lambda r: {"arm": {"base": {"type": "moving"}}},
        "free": lambda r: {"arm": {"base": _bus(r)}},
        "thrusters": lambda r: {
            "arm": {
                "base": _bus(r)
                | {
                    "thrusters": [
                        {"name": "jet", "direction": _direction(r), "at": r.uniform(-0.5, 0.5, 3).tolist()},
                        {"name": "gyro", "direction": _direction(r), "kind": "torque"},
                    ]
                }
            }
        },
        "orbit": lambda r: {
            "arm": {"base": _bus(r) | {"orbit": {"rate": 1.3, "radial": (0.6, 0.0, 0.8), "normal": (0.8, 0.0, -0.6)}}}
        },
    },
    "gravity": {"general": lambda r: {"arm": {"gravity": r.uniform(2, 6, 3).tolist()}}, "none": _none},
}
"""For each option its values: functions of a random generator that give what a value adds to a description."""


def _bus(r: Numbers):
    return {
        "type": "free",
        "mass": r.uniform(2, 9),
        "com": r.uniform(-0.2, 0.2, 3).tolist(),
        "inertia": _tensor(r, 9.0),
    }


def _free_form(r: Numbers):
    """Two shapes by seven samples each, clamped at the hub."""
    x = np.linspace(0, 1, 9)
    powers = np.array([x**2, x**3, x**4])
    return {
        "family": "free-form",
        "x": x.tolist(),
        "values": (r.uniform(0.5, 1.5, (2, 3)) * [[1, 0.3, -0.4], [-1, 1.4, 0.2]] @ powers).tolist(),
    }


OPTIONS = {name: list(values) for name, values in VALUES.items()}

PLAIN: Choice = {name: values[0] for name, values in OPTIONS.items()} | {
    "hub": "tensor",
    "modes": "y, torsion",
}
NOT_A_BEAM: Choice = {"modes": "absent", "section": "absent"}
STARTS: list[Choice] = [
    PLAIN,
    PLAIN | {"stiffness": "linear"},
    PLAIN | {"spring": "linear"},
    PLAIN | {"section": "mass"},
    PLAIN | {"section": "mass", "bending": "clamped-mass"},
    PLAIN | {"body": "two segments"},
    PLAIN | {"body": "two segments", "stiffness": "linear"},
    PLAIN | {"joint": "telescope"},
    PLAIN | {"joint": "fixed"},
    PLAIN | NOT_A_BEAM | {"body": "rigid"},
    PLAIN | NOT_A_BEAM | {"body": "rigid", "stiffness": "linear"},
    PLAIN | NOT_A_BEAM | {"body": "rigid", "joint": "fixed"},
    PLAIN | {"modes": "y, z", "section": "table"},
    PLAIN | {"modes": "torsion"},
    PLAIN | {"modes": "z"},
    PLAIN | {"body": "two segments", "joint": "fixed"},
    PLAIN | {"body": "two segments", "spring": "linear"},
    PLAIN | NOT_A_BEAM | {"body": "rigid", "spring": "linear"},
    PLAIN | {"body": "two segments", "joint": "fixed", "neighbour": "none", "modes": "y, twice z, twice torsion"},
]
"""Choices to which any two values are added. A pair that every one of them refuses counts as impossible.

The last is the kind of arm on which LLVM's fault was found."""


def arm_of(choice: Choice, seed: int) -> fa.Arm:
    """The arm of a choice, its numbers drawn from a seed; raises `DescriptionError`."""
    r = np.random.default_rng([seed, 31])
    found: dict = {"joint": {}, "drive": {}, "body": {}, "link": {}, "arm": {}}
    for name, value in choice.items():
        for key, given in VALUES[name][value](r).items():
            if isinstance(given, dict) and key in found:
                found[key] = found[key] | given
            else:
                found[key] = given
    joint, body = found["joint"], found["body"]
    if found["drive"]:
        joint["drive"] = found["drive"]
    elastic = "stiffness" in joint or "spring" in found["drive"]
    if elastic and "rotor_inertia" not in joint:
        joint |= {"rotor_inertia": r.uniform(0.01, 0.05), "gear_ratio": r.uniform(1.2, 4)}
    if body["type"] != "finite-element":
        body["length"] = r.uniform(0.7, 1.2)
    _shaped(found, body, r)
    main = {"name": "main", "joint": joint, "body": body, **found["link"]}
    arm = {"name": f"arm {seed}", "links": _links(found, main, r), "tip": "main" if "below" in found else None}
    station = {"at": found["station"]} if found["station"] != 1.0 else {}
    if "force" in found:
        spread = found["force"]["kind"] == "distributed"
        arm["forces"] = [{"name": "push", "link": "main", **({} if spread else station), **found["force"]}]
    if "contact" in found:
        arm["contacts"] = [{"name": "wall", "link": "main", **station, **found["contact"]}]
    if "strut" in found:
        arm["struts"] = [{"link": "main", **station, **found["strut"]}]
    if "bushing" in found:
        arm["bushings"] = [{"name": "mount", "link": "main", **station, **found["bushing"]}]
    if "drag" in found:
        arm["drags"] = [{"link": "main", **found["drag"]}]
    if "coupling" in found:
        arm["couplings"] = [found["coupling"]]
    return fa.Arm(**arm, **found["arm"])


def _shaped(found: dict, body: dict, r: Numbers) -> None:
    """Shapes, and a list of damping ratios of the right length."""
    for name, value in found.get("default_body", {}).items():
        body.setdefault(name, value)
    shapes = {}
    if "bending" in found:
        shapes |= {"y": found["bending"], "z": found["bending"]}
    if "rods" in found:
        shapes |= {"torsion": found["rods"], "axial": found["rods"]}
    if shapes:
        body["shapes"] = shapes
    if found.get("ratios"):
        count = body["modes"] if isinstance(body.get("modes"), int) else sum(body.get("modes", {}).values())
        body["damping"] = r.uniform(0.01, 0.05, count).tolist()


def _links(found: dict, main: dict, r: Numbers) -> list[dict]:
    """The link and its neighbour, if it has one, in their order."""
    if "at" not in found:
        return [main]
    there = {"placement": dict(random_pose(r, False))}
    if "below" in found:
        at = {} if found["at"] == 1.0 else {"at": found["at"]}
        return [{"name": "other", **_neighbour(found["below"], r), **there}, main | at]
    at = {"parent": "base"} if found["at"] is None else {"parent": "main"}
    if found["at"] not in (None, 1.0):
        at["at"] = found["at"]
    return [main, {"name": "other", **_neighbour(found["neighbour"], r), **there, **at}]


def _neighbour(kind: str, r: Numbers) -> dict:
    turn = {"type": "revolute", "axis": _direction(r)}
    EI = {"EI": {"y": r.uniform(5, 40), "z": r.uniform(5, 40)}, "GJ": r.uniform(5, 40), "polar_inertia": 5e-3}
    beam = {"type": "beam", "length": r.uniform(0.5, 0.9), "mass": r.uniform(0.3, 1), **EI, "damping": 0.02}
    if kind == "rigid":
        com = r.uniform(0.05, 0.2, 3).tolist()
        rigid = {"type": "rigid", "length": r.uniform(0.2, 0.4), "mass": r.uniform(0.2, 0.6), "com": com}
        return {"joint": turn | {"damping": 0.3}, "body": rigid | {"inertia": _tensor(r, 0.1)}}
    if kind == "beam":
        return {"joint": turn, "body": beam | {"modes": {"y": 1, "torsion": 1}}}
    if kind == "elastic":
        spring = {"stiffness": 80.0, "rotor_inertia": 0.03, "gear_ratio": 2.3}
        return {"joint": turn | spring, "body": beam | {"segments": 2, "modes": {"y": 1, "z": 1}, "damping": 0.0}}
    return {"joint": {"type": "telescope", "free_length": 0.41}, "body": beam | {"modes": {"y": 1, "z": 1}}}


def state_of(arm: fa.Arm, seed: int, size: float = 1.0) -> dict[str, np.ndarray]:
    """q, qd, s, u, w, qdd in general position, deflections times `size`; w without the motion of a moved base."""
    r = np.random.default_rng([seed, 77])
    q, qd, u = random_state(bare(arm), seed)
    flexible = np.array(arm.flexible, dtype=int)
    parts = np.array([arm.links[arm.layout[i].link].body.type == "finite-element" for i in flexible], dtype=bool)
    q[flexible[parts] + arm.free] *= 0.01
    q[flexible + arm.free] *= size
    qd[flexible] *= 0.1
    sizes = {"bristle": 0.3, "hysteresis": 0.2, "current": 1.2, "bristle_1": 0.02, "bristle_2": 0.02, "orbit": 0.9}
    s = [sizes[name.rpartition(".")[2]] * r.uniform(0.3, 1.2) * r.choice([-1, 1]) for name in arm.states]
    sizes = {"engaged": 0.6, "stiffness": 12.0}
    w = [sizes.get(name.rpartition(".")[2]) or r.choice([-1, 1]) for name in arm.exogenous]
    w = np.array(w, dtype=float) * r.uniform(0.4, 1.3, len(w))
    return {
        "q": q,
        "qd": qd,
        "s": np.array(s, dtype=float),
        "u": u,
        "w": w,
        "qdd": r.normal(size=len(qd)),
        "v": 0.7 - qd,
    }


CONDITIONS = {"ball": 3, "planar": 3, "universal": 4, "revolute": 5, "prismatic": 5, "fixed": 6}
"""Conditions of each joint of a closure."""


def joints_of_loop(arm: fa.Arm) -> list[str]:
    """Joints of a closure at the arm's tip that leave some freedom.

    There are none for a tip whose frame follows the chord: a closure is on the section.
    """
    tip, count = arm.links[arm.tip_link], len(arm.velocities) - 6 * arm.free
    chord = getattr(tip.body, "next_joint", "tangent") == "chord"
    return [joint for joint, conditions in CONDITIONS.items() if conditions < count and not chord]


def looped(arm: fa.Arm, q: np.ndarray, seed: int) -> fa.Arm:
    """The arm with its tip on the base, by a joint of `joints_of_loop` that is drawn at random and fits at q.

    Closures are no option of `arm_of`, since their places follow from a state.
    """
    r, model = np.random.default_rng([seed, 91]), fa.Model(arm)
    T = model.tip(q)
    if arm.free:
        stand = np.eye(4)
        w, *xyz = q[3:7]
        stand[:3, :3], stand[:3, 3] = Rotation.from_quat([*xyz, w]).as_matrix(), q[:3]
        T = np.linalg.inv(stand) @ T
    away = {"xyz": T[:3, 3].tolist(), "rpy": Rotation.from_matrix(T[:3, :3]).as_euler("xyz").tolist()}
    joint, axis = str(r.choice(joints_of_loop(arm))), unit(r)
    given = {"link": arm.links[arm.tip_link].name, "place": away, "joint": joint}
    if joint != "ball" and joint != "fixed":
        given["axis"] = axis.tolist()
    if joint == "universal":
        across = np.cross(axis, unit(r))
        given["axis_to"] = (across / np.linalg.norm(across)).tolist()
    return arm.replace(closures=[{"name": "loop", **given}])


def cabled(arm: fa.Arm, seed: int) -> fa.Arm:
    """The arm with a taut cable from a point of the world over the tip of a link to its last link."""
    r = np.random.default_rng([seed, 93])
    points = [{"point": r.uniform(2, 3, 3).tolist()}, {"link": arm.links[0].name}]
    points += [{"link": arm.links[-1].name}] if len(arm.links) > 1 else []
    cable = {"name": "rope", "points": points, "stiffness": r.uniform(5, 20), "length": r.uniform(0.3, 0.6)}
    return arm.replace(cables=[cable | {"damping": r.uniform(0.1, 0.5)}])


def refusal(choice: Choice) -> str | None:
    """Why the description refuses a choice, in its own words; None where there is such an arm."""
    try:
        arm_of(choice, 0)
    except fa.DescriptionError as error:
        return str(error)
    return None


STORED = Path(__file__).with_name("every_pair.json")
"""Choices that cover all pairs, found once as it takes minutes: `python tests/helpers/every_option.py` finds them anew
where options have changed. A test counts what they cover."""


@cache
def choices() -> list[Choice]:
    """The stored choices; raises `ValueError` where they are of other options."""
    stored = json.loads(STORED.read_text(encoding="ascii"))
    if stored["options"] != OPTIONS:
        raise ValueError(f"{STORED.name} has other options: run python tests/helpers/every_option.py")
    return [{name: OPTIONS[name][i] for name, i in zip(OPTIONS, row, strict=True)} for row in stored["rows"]]


def sample(*names: str, largest: int) -> list[int]:
    """Numbers of few stored choices that have every value of these options, in arms of at most so many coordinates."""
    rows = {i: {(name, row[name]) for name in names} for i, row in enumerate(choices())}
    missing, found = set().union(*rows.values()), []
    while missing:
        best = max(rows, key=lambda i: len(missing & rows[i]))
        if not missing & rows[best]:
            raise ValueError(f"no arm of {largest} coordinates has {sorted(missing)}")
        if len(arm_of(choice_of(best), best).layout) <= largest:
            found.append(best)
            missing -= rows[best]
        del rows[best]
    return found


def choice_of(number: int) -> Choice:
    """A choice for each number from 0: the stored ones, then choices drawn at random, of few changes and of many."""
    if number < len(choices()):
        return choices()[number]
    rng = np.random.default_rng([number, 500])
    share = rng.choice([0.05, 0.3, 1.0])
    return random_choice(OPTIONS, STARTS[number % len(STARTS)], share, refusal, rng)


def known() -> list[Choice]:
    """The stored choices, with the first value of each new option; none if a stored value is gone."""
    stored = json.loads(STORED.read_text(encoding="ascii"))
    if any(not {*values} <= {*OPTIONS.get(name, ())} for name, values in stored["options"].items()):
        return []
    first = {name: values[0] for name, values in OPTIONS.items()}
    rows = [zip(stored["options"].items(), row, strict=True) for row in stored["rows"]]
    return [first | {name: values[i] for (name, values), i in row} for row in rows]


def store() -> None:
    """Find choices that cover all pairs, the stored ones first, and write them."""
    found = covering(OPTIONS, STARTS, refusal, known=known())
    rows = [[OPTIONS[name].index(value) for name, value in one.items()] for one in found]
    rows_text = ",\n".join(map(json.dumps, rows))
    STORED.write_text(f'{{"options": {json.dumps(OPTIONS)},\n"rows": [\n{rows_text}\n]}}\n', encoding="ascii")


if __name__ == "__main__":
    store()
