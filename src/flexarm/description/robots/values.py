"""Numbers in the elements of robot files, and lists of the elements that are not understood."""

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import NamedTuple

from flexarm.checks import Fault, shown
from flexarm.description.robots.robot import LARGEST
from flexarm.description.robots.xml import Element

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def checked(text: str, what: str) -> float:
    """Return the finite number in a text. Raises `Fault` with a sentence that begins with `what`."""
    if not NUMBER.fullmatch(text.strip()) or not isfinite(float(text)):
        raise Fault("", f"{what} is {shown(text)}; it must be a finite number", sentence=True)
    if abs(float(text)) > LARGEST:
        raise Fault("", f"{what} is {shown(text)}; it must be at most {LARGEST:g} in size", sentence=True)
    return float(text)


class Vocabulary(NamedTuple):
    """Elements of a format by their parent elements.

    `known` has the elements that are read, with their attributes. `aside` has those without effect on the motion.
    `several` has pairs of a parent and an element that may occur more than once. `role` returns the key of an element
    in these tables from the key of its parent.
    """

    known: Mapping[str, Mapping[str, str]]
    several: frozenset[tuple[str, str]]
    aside: Mapping[str, tuple[str, ...]]
    role: Callable[[str, Element], str] = lambda _, element: element.name


Findings = dict[str, list[int]]


def unread(root: Element, words: Vocabulary) -> tuple[Findings, Findings]:
    """Return the elements that are not understood, and those without effect: the lines of each kind, by its text.

    Each dict is in the order of the first lines.
    """
    strange: Findings = {}
    aside: Findings = {}
    waiting = [(root, root.name)]
    while waiting:
        element, role = waiting.pop()
        read: set[str] = set()
        for child in element.children:
            if child.name not in words.known.get(role, {}):
                which = aside if child.name in words.aside.get(role, ()) else strange
                which.setdefault(f"<{child.name}> in <{element.name}>", []).append(child.line)
                continue
            if child.name in read and (role, child.name) not in words.several:
                said = f"another <{child.name}> in <{element.name}>; only the first is used"
                strange.setdefault(said, []).append(child.line)
                continue
            read.add(child.name)
            for key in child.attributes:
                if key not in words.known[role][child.name].split() and not key.startswith("xmlns"):
                    strange.setdefault(f"{key} of <{child.name}> in <{element.name}>", []).append(child.line)
            waiting.append((child, words.role(role, child)))
    return _sorted(strange), _sorted(aside)


def _sorted(found: Findings) -> Findings:
    return {what: sorted(lines) for what, lines in sorted(found.items(), key=lambda item: min(item[1]))}
