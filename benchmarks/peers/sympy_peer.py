"""SymPy: `LagrangesMethod` of its mechanics module, and derivatives alone, on an energy written by hand."""

from collections.abc import Iterator

from benchmarks import lagrange
from benchmarks.closed_forms import apart, rival, rival_plain
from benchmarks.peers.peer import Setting, Solution, lines_of
from benchmarks.peers.tasks import Derivation, Task

NAME = "SymPy"
PACKAGES = ("sympy",)
WAYS = {
    "derivatives to plain symbols": (rival_plain, lagrange.plain),
    "LagrangesMethod": (rival, lagrange.equations),
}
ENERGY = (lagrange.Sums, lagrange.rigid, lagrange.beam, lagrange.turned, lagrange.lagrangian)


def cannot(task: Task | Derivation) -> str:
    """It derives; its equations, put into numbers, are not meant for these motions."""
    return "" if isinstance(task, Derivation) else "derives equations; no simulator"


def settings(task: Derivation) -> Iterator[Setting]:
    """The two ways, with energies by the links' means."""
    for name in WAYS:
        yield Setting(f"{name}, energies by the links' means", name, (name,))


def solve(task: Derivation, setting: Setting) -> Solution:
    """Derive."""
    way, code = WAYS[setting.numbers[0]]
    seconds = apart(way, task.modes)
    return Solution(0.0, seconds, seconds, 0.0, lines_of(*ENERGY, code))
