"""Errors of a trajectory against the converged one of a problem. Needs only Python 3.11.

    python score.py PROBLEM FILE.csv

`PROBLEM` is the problem's folder, with `trajectory.csv` and `converged.toml`. The first line of `FILE.csv` names the
columns with their units, `time [s],tip.x [m],upper.joint [rad]`: the time, and any of the problem's columns, in any
order. Rows are in the order of time. The file must have every time of the problem, and other times are ignored.

This file is complete: `flexarm benchmark-set score` calls it, and `flexarm benchmark-set export` copies it.
"""

import csv
import io
import math
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path

TIME = "time [s]"

MOST_BYTES = 256 * 1024**2
"""Largest size of a file that is scored."""

NEAR = 1e-6
"""Largest distance of a time from the problem's, as a share of the time between two samples."""

OTHER_UNITS = {"rad": {"deg": 180.0 / math.pi}, "m": {"mm": 1e3, "cm": 1e2}}
"""Other units in which numbers may be by mistake, with their number in one unit."""

QUATERNION = tuple(f"base.{each}" for each in ("qw", "qx", "qy", "qz"))


NUMBER = re.compile(r"[\s!-^`-~]*", re.ASCII)
"""Characters of a number. Python also reads 1_0 as ten, and digits of other scripts, which are likely mistakes."""


class Wrong(ValueError):
    """Error of a file, in one line."""


@dataclass(frozen=True)
class Table:
    """Columns over time: names, units, times [s], and the values of each column."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    times: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Column:
    """Errors of one column against the converged one.

    Attributes
    ----------
    name, unit : str
    error, rms : float
        Largest error, and the root of the mean square, in the column's unit.
    at : float
        Time of the largest error [s].
    size : float
        Largest distance of the converged column from its initial value, in its unit.
    uncertainty : float
        Uncertainty of the converged column, in its unit.
    """

    name: str
    unit: str
    error: float
    rms: float
    at: float
    size: float
    uncertainty: float

    @property
    def relative(self) -> float:
        """Largest error as a share of the size; infinite if the column is constant and the error is not 0."""
        if self.size:
            return self.error / self.size
        return math.inf if self.error else 0.0

    @property
    def agrees(self) -> bool:
        """True if the error is within the uncertainty, so that no file is demonstrably better."""
        return self.error <= self.uncertainty


# -- reading -----------------------------------------------------------------------------------------------------------


def read(path: str | PathLike[str]) -> Table:
    """Read a CSV file of numbers over time; raises `Wrong`."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MOST_BYTES + 1)  # limits also files without a known size
        if len(raw) > MOST_BYTES:
            raise Wrong(f"is larger than {MOST_BYTES // 1024**2} MiB; give one row for each time of the problem")
        return _table(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline="")))
    except (OSError, csv.Error) as error:
        raise Wrong(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except UnicodeDecodeError:
        raise Wrong("is not UTF-8 text") from None


def _table(lines: Iterator[list[str]]) -> Table:
    heads = [head.strip() for head in next(lines, [])]
    if not any(heads):
        raise Wrong(f"is empty; its first line must name the columns, beginning with {TIME!r} or not")
    if len(heads) == 1 and any(mark in heads[0] for mark in ";\t"):
        raise Wrong(f"has the one column {_short(heads[0])}; columns must be separated by commas")
    named = [_head(head) for head in heads]
    names = [name for name, _ in named]
    for name, count in Counter(names).items():
        if count > 1:
            raise Wrong(f"has the column {_short(name)} {count} times")
    rows = [(number, _row(number, heads, cells)) for number, cells in enumerate(lines, 2) if cells]
    if "time" not in names:
        raise Wrong(f"has no column {TIME!r}; it has {_listed(heads)}")
    place = names.index("time")
    if named[place][1] != "s":
        raise Wrong(f"column 'time' is in [{named[place][1]}]; it must be in [s]")
    columns = list(zip(*(row for _, row in rows), strict=True)) if rows else [()] * len(names)
    times = columns[place]
    for (_, before), (number, after) in pairwise(rows):
        if not after[place] > before[place]:
            said = f"is {after[place]:g} s and in the one before {before[place]:g} s; it must increase"
            raise Wrong(f"the time in row {number} {said}")
    others = [i for i in range(len(names)) if i != place]
    return Table(
        tuple(names[i] for i in others),
        tuple(named[i][1] for i in others),
        times,
        tuple(columns[i] for i in others),
    )


def _head(head: str) -> tuple[str, str]:
    """Return the name and the unit of a column."""
    name, bracket, unit = head.rpartition(" [")
    if not bracket or not unit.endswith("]") or not name.strip():
        raise Wrong(f"has the column {_short(head)} without a unit; write columns like {TIME!r}, 'tip.x [m]'")
    return name.strip(), unit[:-1].strip()


def _row(number: int, heads: Sequence[str], cells: list[str]) -> tuple[float, ...]:
    if len(cells) != len(heads):
        raise Wrong(f"row {number} has {len(cells)} numbers; there are {len(heads)} columns")
    found = []
    for head, cell in zip(heads, cells, strict=True):
        try:
            value = float(cell if NUMBER.fullmatch(cell) else "no")
        except ValueError:
            raise Wrong(f"row {number}, column {_short(head)}: {_short(cell)} is not a number") from None
        if not math.isfinite(value):
            raise Wrong(f"row {number}, column {_short(head)}: {_short(cell)} is not finite")
        found.append(value)
    return tuple(found)


def _short(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:40]) + (", ..." if len(names) > 40 else "")


# -- scoring -----------------------------------------------------------------------------------------------------------


def score(converged: Table, uncertainty: dict[str, float], path: str | PathLike[str]) -> list[Column]:
    """Return the errors of the file `path` against the converged trajectory, in the order of its columns; raises
    `Wrong`.
    """
    return compare(converged, uncertainty, read(path))


def compare(converged: Table, uncertainty: dict[str, float], given: Table) -> list[Column]:
    """Return the errors of columns that have been read."""
    if not given.names:
        raise Wrong(f"has only times; the problem has the columns {_listed(converged.names)}")
    for name, unit in zip(given.names, given.units, strict=True):
        if name not in converged.names:
            raise Wrong(f"has the column {_short(name)}; the problem has {_listed(converged.names)}")
        wanted = converged.units[converged.names.index(name)]
        if unit != wanted:
            raise Wrong(f"column {name!r} is in [{unit[:20]}]; it must be in [{wanted}]")
    rows = _rows(converged.times, given.times)
    taken = {name: [column[i] for i in rows] for name, column in zip(given.names, given.values, strict=True)}
    wanted_of = dict(zip(converged.names, converged.values, strict=True))
    _turn(taken, wanted_of)
    return [
        _scored(name, unit, taken[name], wanted_of[name], converged.times, uncertainty[name])
        for name, unit in zip(given.names, given.units, strict=True)
    ]


def _rows(wanted: Sequence[float], given: Sequence[float]) -> list[int]:
    """Index of each wanted time among the given ones."""
    near = NEAR * (wanted[1] - wanted[0])
    found, i = [], 0
    for t in wanted:
        while i < len(given) and given[i] < t - near:
            i += 1
        if i == len(given) or given[i] > t + near:
            end = f"; it ends at {given[-1]:g} s" if given and given[-1] < t else ""
            step = wanted[1] - wanted[0]
            every = f"every {step:g} s from {wanted[0]:g} to {wanted[-1]:g} s"
            raise Wrong(f"has no row for the time {t:g} s{end}; it must have one {every}")
        found.append(i)
    return found


def _turn(taken: dict[str, list[float]], wanted: dict[str, tuple[float, ...]]) -> None:
    """Change the sign of quaternions so that they are nearer to the reference, by their given components."""
    given = [name for name in QUATERNION if name in taken]
    for k in range(len(taken[given[0]]) if given else 0):
        if sum(taken[name][k] * wanted[name][k] for name in given) < 0.0:
            for name in given:
                taken[name][k] = -taken[name][k]


def _scored(
    name: str, unit: str, given: list[float], wanted: Sequence[float], times: Sequence[float], uncertainty: float
) -> Column:
    errors = [abs(a - b) for a, b in zip(given, wanted, strict=True)]
    rms = _rms(errors)
    left = {
        other: _rms([a / factor - b for a, b in zip(given, wanted, strict=True)])
        for other, factor in OTHER_UNITS.get(unit, {}).items()
    }
    if left and left[likely := min(left, key=left.__getitem__)] < 1e-2 * rms:
        raise Wrong(f"column {name!r} has numbers that look like [{likely}]; they must be in [{unit}]")
    size = max(abs(b - wanted[0]) for b in wanted)
    worst = max(range(len(errors)), key=errors.__getitem__)
    return Column(name, unit, errors[worst], rms, times[worst], size, uncertainty)


def _rms(errors: Sequence[float]) -> float:
    return math.sqrt(math.fsum(e * e for e in errors) / len(errors))


# -- as a program ------------------------------------------------------------------------------------------------------


def main(words: Sequence[str]) -> int:
    """Score a file; return the exit status, 2 for an error."""
    if len(words) != 2:
        print("usage: python score.py PROBLEM FILE.csv", file=sys.stderr)
        return 2
    folder, path = Path(words[0]), words[1]
    try:
        with open(folder / "converged.toml", "rb") as file:
            uncertainty = {name: float(each["uncertainty"]) for name, each in tomllib.load(file)["columns"].items()}
        converged = read(folder / "trajectory.csv")
    except (OSError, ValueError, KeyError) as error:
        print(_printable(f"{folder}: is no problem's folder: {error}"), file=sys.stderr)
        return 2
    try:
        columns = score(converged, uncertainty, path)
    except Wrong as error:
        print(_printable(f"{fspath(path)}: {error}"), file=sys.stderr)
        return 2
    print(f"{'column':<16}{'largest error':>15}{'rms error':>12}{'of its size':>13}{'uncertainty':>13}")
    for each in columns:
        head = f"{each.name} [{each.unit}]" if each.unit else each.name
        print(f"{head:<16}{each.error:>15.3g}{each.rms:>12.3g}{each.relative:>13.3g}{each.uncertainty:>13.3g}")
    return 0


def _printable(text: str) -> str:
    """Return a text in one line, without control characters for a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
