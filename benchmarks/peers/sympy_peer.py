"""SymPy: `LagrangesMethod` of its mechanics module, on an energy written by hand with the same symbols."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.closed_forms import apart, rival
from benchmarks.peers.peer import Setting, Solution
from benchmarks.peers.tasks import Derivation, Task

NAME = "SymPy"
PACKAGES = ("sympy",)
SCRIPT = Path(__file__).parents[1] / "lagrange.py"


def cannot(task: Task | Derivation) -> str:
    """It derives; its equations, put into numbers, are not meant for these motions."""
    return "" if isinstance(task, Derivation) else "derives equations; no simulator"


def settings(task: Derivation) -> Iterator[Setting]:
    """The quickest of the ways that were tried."""
    yield Setting("LagrangesMethod, energies by the links' means", "", ())


def solve(task: Derivation, setting: Setting) -> Solution:
    """Derive."""
    seconds = apart(rival, task.modes)
    lines = [line for line in SCRIPT.read_text().splitlines() if line.strip() and not line.strip().startswith("#")]
    return Solution(0.0, seconds, seconds, 0.0, len(lines))
