"""Units as FMI has them: by the powers of the SI's base units, so that tools can convert and check."""

import re

BASE: dict[str, dict[str, int]] = {
    "1": {},
    "kg": {"kg": 1},
    "m": {"m": 1},
    "s": {"s": 1},
    "A": {"A": 1},
    "K": {"K": 1},
    "rad": {"rad": 1},
    "Hz": {"s": -1},
    "N": {"kg": 1, "m": 1, "s": -2},
    "Pa": {"kg": 1, "m": -1, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
    "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
    "ohm": {"kg": 1, "m": 2, "s": -3, "A": -2},
    "H": {"kg": 1, "m": 2, "s": -2, "A": -2},
}
"""Units that descriptions are written in."""

DISPLAYED = {"rad": ("deg", 57.29577951308232), "rad/s": ("deg/s", 57.29577951308232)}
"""What a tool may show in place of a unit, and how many of it are one."""

FACTOR = re.compile(r"([A-Za-z]+|1)(?:\^(\d+))?")


def powers(unit: str) -> dict[str, int] | None:
    """Powers of base units, e.g. of "N m/rad"; None of a text that is no product of known units."""
    found: dict[str, int] = {}
    for i, part in enumerate(unit.split("/")):
        for factor in part.split():
            match = FACTOR.fullmatch(factor)
            if not match or match[1] not in BASE:
                return None
            for base, power in BASE[match[1]].items():
                found[base] = found.get(base, 0) + power * int(match[2] or 1) * (-1 if i else 1)
    return {base: power for base, power in found.items() if power}


def per_second(unit: str) -> str:
    """The unit of a rate of what has this one; empty where it has none."""
    if unit in ("", "1"):
        return "1/s" if unit else ""
    return f"{unit}^2" if unit.endswith("/s") else f"{unit}/s"
