"""The contest: `python -m benchmarks.peers`, or `make contest`.

Every peer that is installed proposes settings for each task; each is run once, and its error is found. Of those that
are exact enough for an error that is asked for, the few that took least are run again, all peers in turn: twice each,
first after another program, which leaves the processor's caches full of its own code, then with nothing in between, as
in a study of many runs.
The page gets the medians, what it took to set up, and how many lines of code; what a peer could not do; and where this
package lost. Tasks that are not measured again keep their tables, and each table says when it was measured.
"""

import argparse
import contextlib
import os
import re
import statistics
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from benchmarks import report
from benchmarks.peers import (
    drake_peer,
    exudyn_peer,
    flexarm_peer,
    mujoco_peer,
    pinocchio_cpp,
    pinocchio_peer,
    soromox_peer,
    sympy_peer,
)
from benchmarks.peers.gradients import diffrax_arm, flexarm_arrays, flexarm_native, mjx_arm
from benchmarks.peers.gradients.task import Rollout
from benchmarks.peers.peer import SLOW, Setting, Solution, missing
from benchmarks.peers.tasks import TASKS, Derivation, Task
from benchmarks.report import Picture, Table, time
from benchmarks.timing import empty_cache
from benchmarks.work_precision import ruled
from flexarm import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PEERS: tuple[ModuleType, ...] = (
    flexarm_peer, exudyn_peer, mujoco_peer, pinocchio_peer, drake_peer, soromox_peer, sympy_peer,
)  # fmt: skip
GRADIENT_PEERS: tuple[ModuleType, ...] = (flexarm_native, flexarm_arrays, mjx_arm, diffrax_arm)
"""Those that differentiate rollouts."""
ABSENT = {
    "PyElastica": "its Cosserat rods stretch and shear between nodes, and its steps are explicit. "
    "No model was written for it",
}
"""Peers that were looked at, and why they are not here."""
PAGE = report.ROOT / "docs" / "understand" / "contest.md"
BEGIN, END = "<!-- written by make contest -->", "<!-- end of what make contest wrote -->"
LOST, CANNOT = "Where flexarm is not the fastest", "What was not done"
"""Titles of the tables about all tasks, whose rows begin with a task's name."""
PROGRAMS = "versions", "other programs"
"""Circumstances above all tables; the others stand below each."""
TRIED, REPEATS = 3, 5
"""So many of the cheapest settings that are exact enough are run in turn, so often."""
MANY = 2.0
"""Seconds, of the clock and of the processor, after which a series is not refined of a thousand runs, or of a mechanism
with closed loops."""
WASTE = 4.0
"""A series ends, too, where it takes so many times what is known to be enough for all errors that are asked for."""
SLOW_TURNS = 2
"""So often runs as slow are repeated."""

AFTER = "after another"
CLOCKS = {"seconds": "clock", "processor": "processor", AFTER: AFTER}
"""What is measured of a run, as tables call it; the last is the clock of one that comes right after another program."""

ENOUGH, RESTS, FAR = 0.1, 0.02, 10.0
"""A series ends at this share of the smallest error asked for, or where its error changes by no more than that; what is
farther off than so many times the largest asked for says nothing."""


@dataclass
class Entry:
    """A setting of a peer, with what came of it, again and again."""

    peer: ModuleType
    setting: Setting
    found: list[Solution] = field(default_factory=list)

    @property
    def error(self) -> float:
        """[m]"""
        return self.found[0].error

    @property
    def cost(self) -> float:
        """Seconds by which settings are chosen for the repeats: the least that was seen, of clock or processor."""
        return min(min(x.seconds, x.processor) for x in self.found)

    def median(self, name: str) -> float:
        """Of a number of the repeats; of the first run, in which things are compiled and loaded, where there are none.

        "after another" are the seconds of those that ran right after another program.
        """
        again = self.found[1:] or self.found
        if name == AFTER:
            return statistics.median(x.seconds if x.colder is None else x.colder for x in again)
        return statistics.median(getattr(x, name) for x in again)


def main() -> None:
    """Run the tasks, print their tables, write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="flexarm and its peers, in turn.")
    parser.add_argument("--only", choices=TASKS, nargs="+", help="these tasks alone")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--write", type=Path, default=PAGE, help="the page whose block is written anew")
    options = parser.parse_args()
    console = Console()
    tables: dict[str, Table] = {}
    lost = Table(LOST, ("task", "required error", "measure", "fastest program", "its time", "time of flexarm", "ratio"))
    cannot = Table(CANNOT, ("task", *(peer.NAME for peer in PEERS[1:])))
    lost.notes.append("Times are medians, and ratios are ratios of medians.")
    cannot.notes += [f"{name}: {why}." for name, why in ABSENT.items()]
    with empty_cache(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.only or TASKS:
            facts = dict(circumstances())
            with console.status(name), quiet():
                tables[name] = contested(name, options.repeats, lost, cannot)
            tables[name].notes.append(measured(facts))
            console.print(tables[name].rich())
            write(options.write, [(name, facts[name]) for name in PROGRAMS], tables, lost, cannot)
    for table in (lost, cannot):
        console.print(table.rich())
    console.print(f"written: {options.write}", highlight=False)


def circumstances() -> list[tuple[str, str]]:
    """Date, machine, load; and the peers' versions."""
    from importlib import metadata

    names = {
        "Exudyn": ("exudyn",),
        "MuJoCo": ("mujoco", "mujoco-core"),
        "Pinocchio": ("pin",),
        "Drake": ("drake",),
        "SoRoMoX": ("soromox",),
        "SymPy": ("sympy",),
        "MJX": ("mujoco-mjx",),
        "diffrax": ("diffrax",),
        "JAX": ("jax",),
    }
    versions = []
    for name, packages in names.items():
        for package in packages:
            with contextlib.suppress(metadata.PackageNotFoundError):
                versions.append(f"{name} {metadata.version(package)}")
                break
    return [*report.circumstances(), ("other programs", ", ".join(versions))]


def measured(facts: dict[str, str]) -> str:
    """When and where a task was measured, below its table."""
    load = f"{facts['load before']} before and {os.getloadavg()[0]:.1f} after"
    return f"Measured {facts['date']} at commit {facts['commit']} on {facts['machine']}; load {load}."


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What libraries write on the process' own streams is thrown away."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
            os.close(kept[0])
            os.close(kept[1])


# -- a task ------------------------------------------------------------------------------------------------------------


def contested(name: str, repeats: int, lost: Table, cannot: Table) -> Table:
    """A table of one task; what was lost and not done is added to the other two."""
    task = TASKS[name]()
    peers = GRADIENT_PEERS if isinstance(task, Rollout) else PEERS
    with one_core() if isinstance(task, Rollout) else contextlib.nullcontext():
        return between(peers, name, task, repeats, lost, cannot)


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """This thread, and those that it starts, run on one core, where the system allows that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def between(peers: tuple[ModuleType, ...], name: str, task: Any, repeats: int, lost: Table, cannot: Table) -> Table:
    """The table of a task for some peers."""
    reasons = {peer.NAME: missing(peer) or peer.cannot(task) for peer in peers}
    tried: dict[str, list[Entry]] = {}
    for peer in peers:
        tried[peer.NAME] = []
        try:
            tried[peer.NAME] += [] if reasons[peer.NAME] else swept(peer, task)
        except Exception as error:  # the others go on, and the page says so
            reasons[peer.NAME] = f"**failed**: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    if any(reasons.values()) and peers is PEERS:
        cannot.add(name, *(reasons[peer.NAME] or "done" for peer in PEERS[1:]))
    columns = ("program", "required error", "time", "processor", AFTER, "error", "setting", "set-up", "lines")
    found = Table(f"{task.name}: {task.title}", columns)
    goals = (0.0,) if isinstance(task, Derivation) else task.goals
    chosen = {goal: {peer: cheapest(entries, goal) for peer, entries in tried.items()} for goal in goals}
    in_turn(task, [entry for sides in chosen.values() for entries in sides.values() for entry in entries], repeats)
    for goal in goals:
        best = {
            peer: min(entries, key=lambda entry: entry.median("seconds"))
            for peer, entries in chosen[goal].items()
            if entries
        }
        shown = sized(task, goal, 0)
        for peer in tried:
            if peer in best:
                found.add(peer, shown, *row(task, best[peer]))
            elif tried[peer]:
                least = min(entry.error for entry in tried[peer])
                found.add(peer, shown, *["-"] * 3, sized(task, least), "no tried setting reaches this error", "-", "-")
        loser(task.name, shown, best, lost)
    if isinstance(task, Rollout):
        found.notes.append(
            "The error is that of the worst derivative, relative to the largest derivative with respect to torques, "
            f"initial angles or initial rates. The exact derivatives are known to {task.floor:.0e}."
        )
        found.notes += [f"{peer}: {reason}." for peer, reason in reasons.items() if reason]
    if isinstance(task, Task):
        kind = "the beams themselves" if task.continuum else "the same equations"
        found.notes.append(
            f"The error is relative to a converged solution of {kind}, which is known to {task.floor:.0e} m."
        )
        found.notes += once(task, [entry for goal in goals for entries in chosen[goal].values() for entry in entries])
    if not isinstance(task, Derivation):
        found.picture = Picture(f"contest-{name}.svg", partial(diagram, task, tried))
    return found


def sized(task: Any, error: float, digits: int = 1) -> str:
    """An error with its unit, where it has one."""
    unit = "" if isinstance(task, Rollout) else " m"
    return "-" if isinstance(task, Derivation) else f"{error:.{digits}e}{unit}"


def swept(peer: ModuleType, task: Any) -> Iterator[Entry]:
    """Every setting once, twice where something was compiled; the rest of a series is left out where it takes long."""
    done: set[str] = set()
    before: dict[str, float] = {}
    least = np.inf
    for setting in peer.settings(task):
        if setting.series in done:
            continue
        entry = Entry(peer, setting, [peer.solve(task, setting)])
        if setting.series not in before or entry.found[0].processor > 10 * SLOW:
            entry.found = [peer.solve(task, setting)]
        if entry.cost > min(MANY if isinstance(task, Task) and (task.many or task.closed) else SLOW, WASTE * least):
            done.add(setting.series)
        if isinstance(task, Task | Rollout) and entry.error <= min(task.goals):
            least = min(least, entry.cost)
        if isinstance(task, Task | Rollout) and (
            entry.error < ENOUGH * min(task.goals) or _rests(task, before, setting, entry)
        ):
            done.add(setting.series)
        before[setting.series] = entry.error
        yield entry


def _rests(task: Task | Rollout, before: dict[str, float], setting: Setting, entry: Entry) -> bool:
    """Whether a finer step no longer helps: what is left is the error of the discretisation in space. What is far from
    all that is asked for has steps that are too long to say so."""
    near = entry.error < FAR * max(task.goals)
    return near and abs(entry.error / before.get(setting.series, np.inf) - 1.0) < RESTS


def cheapest(entries: list[Entry], goal: float) -> list[Entry]:
    """The few that took least of those exact enough."""
    return sorted((entry for entry in entries if entry.error <= goal), key=lambda entry: entry.cost)[:TRIED]


def in_turn(task: Any, entries: list[Entry], repeats: int) -> None:
    """All of them again and again, one peer after another; each solves it twice (`peer.timed`).

    What takes long takes part in two turns alone.
    """
    unique = list({id(entry): entry for entry in entries}.values())
    rows = [[entry for entry in unique if entry.peer is peer] for peer in dict.fromkeys(entry.peer for entry in unique)]
    unique = [entry for row in zip_longest(*rows) for entry in row if entry]
    if isinstance(task, Derivation) or task.many:
        repeats = min(repeats, 3)
    for turn in range(repeats):
        for entry in unique if turn < SLOW_TURNS else [each for each in unique if each.cost < SLOW]:
            entry.found.append(entry.peer.solve(task, entry.setting))


def once(task: Task, entries: list[Entry]) -> list[str]:
    """What is done once, whatever the arm, and in no column."""
    notes = []
    if ours := [entry for entry in entries if entry.peer is flexarm_peer]:
        seconds = flexarm_peer.first_run(task, ours[0].setting.numbers)
        notes.append(f"The first run of flexarm in a new process with an empty cache takes {time(seconds)} in total.")
    if any(pinocchio_cpp.NAME in entry.setting.name for entry in entries):
        seconds = pinocchio_cpp.library()[1]
        notes.append(f"Pinocchio's C++ is compiled once for all arms, which takes {time(seconds)}.")
    return notes


def row(task: Any, entry: Entry) -> tuple[str, ...]:
    """What a table shows of a setting."""
    setup = entry.median("setup")
    if entry.peer is flexarm_peer and isinstance(task, Task):
        first = flexarm_peer.first_setup(task, *entry.setting.numbers[:2])
        setup_text = f"{time(first)}, once"
    else:
        setup_text = time(setup) if setup else "-"
    clocks = (time(entry.median(name)) for name in CLOCKS)
    return *clocks, sized(task, entry.error), entry.setting.name, setup_text, str(entry.found[0].lines)


def loser(name: str, goal: str, best: dict[str, Entry], lost: Table) -> None:
    """Rows where another program was faster by one of the clocks, or alone reached the error."""
    best = {peer: entry for peer, entry in best.items() if not peer.startswith(f"{flexarm_peer.NAME}.")}
    mine = best.get(flexarm_peer.NAME)
    for clock in CLOCKS if mine else ("seconds",):
        if not best:
            return
        first = min(best, key=lambda peer: best[peer].median(clock))
        if first == flexarm_peer.NAME:
            continue
        theirs = best[first].median(clock)
        ours = mine.median(clock) if mine else None
        ratio = f"{ours / theirs:.2g}" if ours else "-"
        lost.add(name, goal, CLOCKS[clock], first, time(theirs), time(ours) if ours else "error too large", ratio)


# -- the page ----------------------------------------------------------------------------------------------------------


def diagram(task: Task | Rollout, tried: dict[str, list[Entry]]) -> "Figure":
    """Error over time, the front of each peer."""
    figure = style.figure(5.5, 4, layout="constrained")
    axes = figure.subplots()
    for i, (peer, entries) in enumerate(tried.items()):
        front: list[Entry] = []
        for entry in sorted(entries, key=clock):
            if entry.error < (front[-1].error if front else 1e3):
                front.append(entry)
        if front:
            errors = [max(entry.error, task.floor) for entry in front]
            axes.plot([clock(entry) for entry in front], errors, **style.joined(i), label=peer)
    ruled(axes, "time of a run [s]")
    axes.set_ylabel("largest error of a derivative" if isinstance(task, Rollout) else "largest error of the tip [m]")
    axes.legend()
    axes.set_title(task.title)
    return style.finished(figure)


def clock(entry: Entry) -> float:
    """Least seconds that were seen."""
    return min(x.seconds for x in entry.found)


def write(path: Path, facts: list[tuple[str, str]], tables: dict[str, Table], lost: Table, cannot: Table) -> None:
    """The block of the page between its marks, and the figures beside it. Other tasks keep what the page says."""
    before = path.read_text(encoding="utf-8") if path.exists() else f"# The contest\n\n{BEGIN}\n{END}\n"
    head, rest = before.split(BEGIN)
    old, tail = rest.split(END)
    parts = re.split("^## ", old, flags=re.M)[1:]
    sections = {part.split("\n")[0].partition(":")[0]: f"## {part}" for part in parts}
    for table in (lost, cannot):
        rows = [row for row in _rows(sections.get(table.title, "")) if row[0] not in tables] + table.rows
        rows.sort(key=lambda row: [*TASKS].index(row[0]))
        sections[table.title] = replace(table, rows=rows).markdown()
    sections |= {name: table.markdown() for name, table in tables.items()}
    lines = ["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in facts), ""]
    shown = [sections[name].rstrip("\n") + "\n" for name in (*TASKS, LOST, CANNOT) if name in sections]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + "\n".join([BEGIN, "", *lines, *shown, END]) + tail, encoding="utf-8")
    for found in tables.values():
        if found.picture is not None:
            found.picture.save(path.parent / report.FIGURES)


def _rows(section: str) -> list[tuple[str, ...]]:
    """The rows of a table about all tasks, as the page shows it."""
    cells = [tuple(line.strip("| ").split(" | ")) for line in section.splitlines() if line.startswith("|")]
    return [row for row in cells if row[0] in TASKS]


if __name__ == "__main__":
    main()
