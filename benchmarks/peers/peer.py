"""What a peer is to the contest: settings that it proposes for a task, and a solution for each."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from time import perf_counter, process_time
from typing import Any, Protocol

import numpy as np

from benchmarks.peers.tasks import Derivation, Task

Array = np.ndarray


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
        Of the clock, of the run alone.
    processor : float
        Seconds of all this process' threads in that time.
    setup : float
        Of the clock, from the description to a system that can run.
    lines : int
        Of code, those of the peer's file that a user would write: building the system and running it.
    """

    error: float
    seconds: float
    processor: float
    setup: float
    lines: int


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
    """Build and run, each by the clock and by the processor."""
    began = perf_counter()
    system = build()
    built = perf_counter() - began
    clock, processor = perf_counter(), process_time()
    tip = run(system)
    seconds, processor = perf_counter() - clock, process_time() - processor
    return Solution(task.error(tip), seconds, processor, built, lines)


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


def steps(intervals: int, least: int, doublings: int) -> Sequence[int]:
    """Numbers of steps a run: multiples of the intervals, each twice the one before."""
    return [intervals * least * 2**i for i in range(doublings)]


__all__ = ["Peer", "Setting", "Solution", "lines_of", "missing", "steps", "timed"]
