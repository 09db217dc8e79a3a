"""Division of a long list of assignments into pieces that a compiler handles one by one.

Compilers analyse a function as a whole, and their effort grows faster than its length. The derivatives of a spatial
arm's forward dynamics take a minute in one function and some seconds in ten. An array stores the values that pass from
one piece to another. Its places are reused when their values are no longer needed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from flexarm.closed_forms.formats.statements import Statement

MOST = 500
"""Number of statements in a piece."""

WHOLE = 2000
"""Largest number of statements that stay in one function."""

IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Piece:
    """Statements, and the names of arrays and parameters that they read or write."""

    statements: tuple[Statement, ...]
    names: frozenset[str]


def pieces(statements: Sequence[Statement], array: str, most: int = MOST) -> tuple[list[Piece], int]:
    """Return the statements in pieces, and the length of the array between them, which is 0 for one piece."""
    stretches = [statements[i : i + most] for i in range(0, len(statements), most)]
    where = {x.targets[0]: k for k, stretch in enumerate(stretches) for x in stretch if not x.output}
    last: dict[str, int] = {}
    for k, stretch in enumerate(stretches):
        for statement in stretch:
            for name in IDENTIFIER.findall(statement.text):
                if where.get(name, k) < k:
                    last[name] = k
    free: list[int] = []
    places: dict[str, int] = {}
    length = 0
    found = []
    for k, stretch in enumerate(stretches):
        for statement in stretch:
            name = statement.targets[0]
            if name in last and not statement.output:
                if free:
                    places[name] = free.pop()
                else:
                    places[name], length = length, length + 1
        written = tuple(_placed(statement, places, last, array) for statement in stretch)
        names = {name for x in written for text in (x.text, *x.targets) for name in IDENTIFIER.findall(text)}
        found.append(Piece(written, frozenset(names)))
        free += [places[name] for name, end in last.items() if end == k]
    return found, length


def _placed(statement: Statement, places: dict[str, int], passed: dict[str, int], array: str) -> Statement:
    """Return a statement that uses the array's places for values that pass between pieces.

    Such a value is an output of its piece.
    """

    def placed(found: re.Match[str]) -> str:
        name = found[0]
        return f"{array}[{places[name]}]" if name in passed else name

    text = IDENTIFIER.sub(placed, statement.text)
    name = statement.targets[0]
    if statement.output or name not in passed:
        return replace(statement, text=text)
    return Statement((f"{array}[{places[name]}]",), text, array)
