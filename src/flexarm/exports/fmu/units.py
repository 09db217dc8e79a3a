"""Units in FMI: powers of SI base units, so that tools can convert and check them."""

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
"""Units that descriptions use."""

DISPLAYED = {"rad": ("deg", 57.29577951308232), "rad/s": ("deg/s", 57.29577951308232)}
"""Units that a tool may display instead, and the number of them in one of the original unit."""

FACTOR = re.compile(r"([A-Za-z]+|1)(?:\^(\d+))?")


def powers(unit: str) -> dict[str, int] | None:
    """Return the powers of base units, e.g. of "N m/rad", or None for a text that is not a product of known units."""
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
    """Return the unit of a rate, from the unit of the quantity, or "" for no unit."""
    if unit in ("", "1"):
        return "1/s" if unit else ""
    return f"{unit}^2" if unit.endswith("/s") else f"{unit}/s"
