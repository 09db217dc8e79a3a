"""Plausibility checks: allowed parameter values that look like values in another unit, such as per cent or
millimetres."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flexarm.description.links import Link

CRITICAL = 1.0
"""Damping ratio from which a mode does not oscillate. No material comes near it, and rubber has about 0.1."""

LONG, TIMES = 100.0, 100.0
"""Smallest length [m] of a link that looks like one in millimetres, and smallest ratio to the next longest link.

Both must be exceeded, because a single long link, such as a tether, is plausible.
"""


def implausible(links: "Sequence[Link]") -> list[str]:
    """Return a line for each parameter of the links that looks like a value in another unit."""
    found = []
    for link in links:
        worst = max(getattr(link.body, "damping_ratios", ()), default=0.0)
        if worst >= CRITICAL:
            what = f"damping is {worst:g} of critical damping"
            found.append(f"link {link.name!r}: {what}; it is a ratio: give 0.02 for 2 %")
    lengths = sorted((float(getattr(link.body, "length", 0.0)), link.name) for link in links)
    if len(lengths) > 1 and lengths[-1][0] >= max(LONG, TIMES * lengths[-2][0]) and lengths[-2][0] > 0.0:
        (other, beside), (length, name) = lengths[-2:]
        what = f"length is {length:g} m, and the next longest link, {beside!r}, has {other:g} m"
        found.append(f"link {name!r}: {what}; lengths are in metres: give {length / 1000:g} for {length:g} mm")
    return found
