"""What a peer is to the contest: settings that it proposes for a task, and a solution for each."""

import ast
import inspect
import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from time import perf_counter, process_time
from typing import Any, Protocol

import numpy as np

from benchmarks.peers.tasks import Derivation, Task

Array = np.ndarray

HINGES = (2, 3, 4, 6, 8, 12, 16)
"""A link that bends, of every peer that has no beams."""
FINER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Steps of one length between two times of comparison, of every peer that has such steps; or times the least."""
SLOW = 0.3
"""Seconds, of the clock and of the processor: a series of settings ends with the first run that takes as long."""


@dataclass(frozen=True)
class Setting:
    """A way to solve a task: its name, the numbers a peer needs for it, and which settings it belongs with.

    Settings of one `series` come from coarse to fine; the series ends where one takes too long.
    """

    name: str
    series: str
    numbers: tuple[Any, ...]


@dataclass(frozen=True)
class Solution:
    """What came of it.

    Attributes
    ----------
    error : float
        [m]; infinite where the run failed.
    seconds : float
        Of the clock, of a run alone, right after another of a system that was built with it.
    processor : float
        Seconds of all this process' threads in that time.
    setup : float
        Of the clock, from the description to a system that can run.
    lines : int
        Of code that loads and runs the system; without those that build it, which are for any arm.
    colder : float, optional
        Of the clock, of the run before that one: what ran before it was something else.
    """

    error: float
    seconds: float
    processor: float
    setup: float
    lines: int
    colder: float | None = None


class Peer(Protocol):
    """A file of this folder."""

    NAME: str
    PACKAGES: tuple[str, ...]

    def cannot(self, task: Task | Derivation) -> str:
        """Why it does not take part; "" where it does."""

    def settings(self, task: Any) -> Iterator[Setting]:
        """What is tried."""

    def solve(self, task: Any, setting: Setting) -> Solution:
        """Build, run, compare."""


def timed(task: Task, build: Callable[[], Any], run: Callable[[Any], Array | None], lines: int) -> Solution:
    """Build two systems and run one after the other, with nothing in between; a slow run is its own second."""
    began = perf_counter()
    system = build()
    built = perf_counter() - began
    other = build()
    tip, seconds, processor = _run(run, system)
    colder = seconds
    if min(seconds, processor) < SLOW:
        _, seconds, processor = _run(run, other)
    return Solution(task.error(tip), seconds, processor, built, lines, colder)


def _run(run: Callable[[Any], Array | None], system: Any) -> tuple[Array | None, float, float]:
    """What comes of it, and how long it takes by the clock and by the processor, that of forked processes included."""
    forked, clock, processor = _forked(), perf_counter(), process_time()
    tip = run(system)
    seconds, processor = perf_counter() - clock, process_time() - processor
    return tip, seconds, processor + _forked() - forked


def _forked() -> float:
    """Seconds of the processor of processes that have ended."""
    spent = os.times()
    return spent.children_user + spent.children_system


@cache
def lines_of(*parts: Callable[..., Any] | type) -> int:
    """Lines of code in functions, without blank lines, comments and docstrings."""
    count = 0
    for part in parts:
        tree = ast.parse(textwrap.dedent(inspect.getsource(part)))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and _is_text(body[0].value):
                body[0].value = ast.Constant(value=None)
        count += len([line for line in ast.unparse(tree).splitlines() if line.strip() not in ("", "None")])
    return count


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def missing(peer: Any) -> str:
    """Which of its packages are not there, in a line."""
    from importlib.util import find_spec

    gone = [name for name in peer.PACKAGES if find_spec(name) is None]
    return f"{', '.join(gone)} is not installed: make contest does" if gone else ""


def steps(intervals: int, least: int = 1) -> Sequence[int]:
    """Numbers of steps a run."""
    return [intervals * least * finer for finer in FINER]


def loop_steps(intervals: int) -> Sequence[int]:
    """Numbers of steps a run of a mechanism with closed loops: a shorter series, as these runs last 10 s."""
    return steps(intervals)[::2]


__all__ = ["HINGES", "SLOW", "Peer", "Setting", "Solution", "lines_of", "loop_steps", "missing", "steps", "timed"]
