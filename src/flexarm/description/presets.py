"""Catalogue of drives for revolute joints. Their values are defaults, which the parameters of the joint override.

Each preset states the source of its values. "Typical" values are not in a data sheet: they are usual for parts of this
kind and size.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from flexarm.checks import Described, Fault, unknown_name


@final
@dataclass(frozen=True)
class Preset:
    """A drive of the catalogue.

    Attributes
    ----------
    name : str
        Name of the preset.
    about : str
        Description of the drive.
    source : str
        Source of its values.
    joint : dict
        Fields of a joint, as in a file.
    """

    name: str
    about: str
    source: str
    joint: Mapping[str, Any] = field(default_factory=dict)


CATALOGUE = (
    "Harmonic Drive, CSF & CSG series component sets, engineering data: torsional stiffness of ratios of 80 and more, "
    "K_1 up to T_1, K_2 up to T_2, K_3; moment of inertia of the wave generator; quoted from memory, so check "
    "the data sheet of your part; efficiency and friction typical"
)


def _harmonic(
    size: int, inertia: float, T: tuple[float, float], K: tuple[float, float, float], coulomb: float, viscous: float
) -> Preset:
    about = f"harmonic drive of size {size}, 100 to 1, wave generator in, flexspline out; without the motor's rotor"
    first = T[0] / K[0]
    second = first + (T[1] - T[0]) / K[1]
    bends = [(first, T[0]), (second, T[1]), (2.0 * second, T[1] + K[2] * second)]  # beyond: with the last slope
    joint = {
        "gear_ratio": 100.0,
        "rotor_inertia": inertia,
        "drive": {
            "motor": {"efficiency": 0.8, "back_efficiency": 0.7},
            "friction": {"coulomb": coulomb, "viscous": viscous, "creep_rate": 0.01},
            "spring": {"table": [*((-d, -f) for d, f in reversed(bends)), *bends]},
        },
    }
    return Preset(f"harmonic-drive-{size}-100", about, CATALOGUE, joint)


PRESETS: dict[str, Preset] = {
    each.name: each
    for each in (
        _harmonic(14, 0.033e-4, (2.0, 6.9), (4.7e3, 6.1e3, 7.1e3), 1.0, 0.5),
        _harmonic(17, 0.079e-4, (3.9, 12.0), (1.0e4, 1.4e4, 1.6e4), 2.0, 1.0),
        _harmonic(20, 0.193e-4, (7.0, 25.0), (1.6e4, 2.5e4, 2.9e4), 3.0, 2.0),
        _harmonic(25, 0.413e-4, (14.0, 48.0), (3.1e4, 5.0e4, 5.7e4), 5.0, 4.0),
        _harmonic(32, 1.69e-4, (29.0, 108.0), (6.7e4, 1.1e5, 1.2e5), 10.0, 9.0),
        Preset(
            "planetary-gear-25",
            "planetary gear of two stages, with backlash, and the size of 80 mm, 25 to 1, without the motor's rotor",
            "typical of servo gears of standard precision, as makers' data sheets have them: torsional stiffness of "
            "6 N m/arcmin, backlash of 10 arcmin, efficiency of two stages 0.94",
            {
                "gear_ratio": 25.0,
                "rotor_inertia": 2e-5,
                "stiffness": 2.0e4,
                "drive": {
                    "motor": {"efficiency": 0.94},
                    "backlash": {"width": 2.9e-3, "transition": 1e-3},
                    "friction": {"coulomb": 0.5, "viscous": 0.1, "creep_rate": 0.01},
                },
            },
        ),
        Preset(
            "series-elastic",
            "motor, gear of 50 to 1 and a soft spring that measures torque",
            "idea: G. A. Pratt and M. M. Williamson, Series elastic actuators, IROS 1995; numbers typical of 40 N m",
            {
                "gear_ratio": 50.0,
                "rotor_inertia": 6e-5,
                "stiffness": 300.0,
                "spring_damping": 0.3,
                "drive": {
                    "motor": {"torque_limit": 40.0, "speed_limit": 12.0, "stall_torque": 120.0, "efficiency": 0.8},
                    "friction": {"coulomb": 1.0, "viscous": 0.3, "creep_rate": 0.01},
                },
            },
        ),
        Preset(
            "direct-drive",
            "motor on the joint itself, without a gear",
            "idea: H. Asada and T. Kanade, Design of direct-drive mechanical arms, 1983; numbers typical of 50 N m",
            {
                "gear_ratio": 1.0,
                "rotor_inertia": 0.02,
                "drive": {
                    "motor": {"torque_limit": 50.0},
                    "friction": {"coulomb": 0.5, "viscous": 0.05, "creep_rate": 0.01},
                },
            },
        ),
    )
}


def filled(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a joint with the defaults of its preset. Raises `Fault` for an unknown preset."""
    name = table["preset"]
    if not isinstance(name, str) or name not in PRESETS:
        raise Fault("preset", unknown_name("is", name, PRESETS, "known presets are"))
    return _over(PRESETS[name].joint, table)


def _over(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults, overridden by the given values.

    Nested tables are merged. A description counts as a table of the fields that were set.
    """
    found = dict(defaults)
    for key, value in given.items():
        under = defaults.get(key)
        if isinstance(under, Mapping) and isinstance(value, Described):
            value = {name: getattr(value, name) for name in value.model_fields_set}
        found[key] = _over(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return found
