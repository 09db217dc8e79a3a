"""Plan of a study before its execution: the task, the parameters with their distributions, and the design."""

from dataclasses import dataclass
from typing import final

from flexarm.arrays import Array
from flexarm.studies.designs import Design
from flexarm.studies.digest import digest
from flexarm.studies.distributions import Quantile
from flexarm.studies.tasks import Samples, Task, Variable

LARGEST_CHUNK = 64
PARTS = 16
"""Smallest number of chunks in a small study, if it has enough runs."""


@final
@dataclass(frozen=True)
class Varied:
    """A parameter and its distribution."""

    variable: Variable
    quantile: Quantile


@final
@dataclass(frozen=True)
class Plan:
    """A study with all arguments checked.

    Attributes
    ----------
    size : int or None
        Number of runs in a chunk. None for a number that follows from the number of runs alone, since the machine may
        change.
    """

    task: Task
    varied: tuple[Varied, ...]
    design: Design
    size: int | None
    name: str

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        return [each.variable.name for each in self.varied]

    @property
    def quantiles(self) -> list[Quantile]:
        """Quantile functions of the parameters."""
        return [each.quantile for each in self.varied]

    def identity(self) -> str:
        """Return a digest that identifies the study. A study with more runs has the same digest and continues the
        earlier one."""
        design = {name: x for name, x in dict(self.design).items() if name not in ("runs", "base", "confidence")}
        return digest(self.task, self.names, self.quantiles, design)

    def samples(self, values: list[Array]) -> Samples:
        """Return the values of the parameters, (runs,) each, by their names."""
        return dict(zip(self.names, values, strict=True))

    def chunk_size(self, runs: int) -> int:
        """Return the number of runs in a chunk for this number of runs in the study."""
        return self.size or min(LARGEST_CHUNK, 2 ** max(0, (runs // PARTS).bit_length() - 1))
