"""A study before it is carried out: what is done, what varies and how, at which samples."""

from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.studies.designs import Design
from flexarm.studies.digest import digest
from flexarm.studies.distributions import Quantile
from flexarm.studies.tasks import Samples, Task, Variable

Array = np.ndarray

LARGEST_CHUNK = 64
PARTS = 16
"""Chunks that a small study has at least, if it has the runs."""


@final
@dataclass(frozen=True)
class Varied:
    """A parameter: what varies, and how."""

    variable: Variable
    quantile: Quantile


@final
@dataclass(frozen=True)
class Plan:
    """A study.

    Attributes
    ----------
    size : int or None
        Runs of a chunk; None: as many as its number of runs asks for, whatever the machine, which may change.
    """

    task: Task
    varied: tuple[Varied, ...]
    design: Design
    size: int | None
    name: str

    @property
    def names(self) -> list[str]:
        """Of the parameters."""
        return [each.variable.name for each in self.varied]

    @property
    def quantiles(self) -> list[Quantile]:
        """Of the parameters."""
        return [each.quantile for each in self.varied]

    def identity(self) -> str:
        """Digest of what the study is; one with more runs is the same, and goes on from those there are."""
        design = {name: x for name, x in dict(self.design).items() if name not in ("runs", "base", "confidence")}
        return digest(self.task, self.names, self.quantiles, design)

    def samples(self, values: list[Array]) -> Samples:
        """Values of the parameters, (runs,) each, by their names."""
        return dict(zip(self.names, values, strict=True))

    def chunk_size(self, runs: int) -> int:
        """Runs of a chunk in a study of so many."""
        return self.size or min(LARGEST_CHUNK, 2 ** max(0, (runs // PARTS).bit_length() - 1))
