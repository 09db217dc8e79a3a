"""Tree of links: the parent of each link."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flexarm.checks import Fault, unknown_name

if TYPE_CHECKING:
    from flexarm.description.links import Link

BASE = "base"
"""Parent of a link on the base, unless a link has this name."""


def resolved(links: Sequence[tuple[str, str | None]]) -> tuple[int, ...]:
    """Return the index of each link's parent, or -1 for the base, from pairs (name, parent). Raises `Fault`.

    Without a parent, a link is on the previous link of the list.
    """
    names = {name: i for i, (name, _) in enumerate(links)}
    found = []
    for i, (name, parent) in enumerate(links):
        if parent is None:
            found.append(i - 1)
        elif parent in names:
            found.append(names[parent])
        elif parent == BASE:
            found.append(-1)
        else:
            message = unknown_name("is", parent, [BASE, *names], "it must be one of")
            raise Fault("parent", message, where=f"link {name!r}")
    for i, (name, _) in enumerate(links):
        way, at = [i], found[i]
        while at >= 0:
            if at == i:
                circle = " on ".join(repr(links[n][0]) for n in [*way, i])
                raise Fault(
                    "parent", f"forms a cycle: {circle}; put one of these links on the base", where=f"link {name!r}"
                )
            if at in way:
                break  # a cycle of other links, which their own iteration reports
            way.append(at)
            at = found[at]
    return tuple(found)


def carriers(links: "Sequence[Link]", parents: Sequence[int]) -> tuple[str, ...]:
    """Return the parent of each link in words: "base", "upper", "upper at 0.5"."""
    found = []
    for link, parent in zip(links, parents, strict=True):
        where = "" if link.at == 1.0 else f" at {link.at:g}" if isinstance(link.at, float) else " at a pose"
        found.append(BASE if parent < 0 else f"{links[parent].name}{where}")
    return tuple(found)
