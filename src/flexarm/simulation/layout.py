"""The state of a run, by names: nobody counts positions elsewhere."""

from dataclasses import dataclass
from typing import final

import numpy as np

Array = np.ndarray

RIDING = ("work", "dissipated")
"""Integrals that ride along with the motion, for the energy audit [J]: of the inputs' power, of the dampers'."""


@final
@dataclass(frozen=True)
class Layout:
    """Where the parts of a run's state stand: q, qd, the input's memory z, and the integrals that ride along.

    Attributes
    ----------
    nq, nv : int
        Numbers of coordinates and of rates.
    memory : int
        Numbers that the input keeps: those of a continuous controller.
    """

    nq: int
    nv: int
    memory: int = 0

    @property
    def q(self) -> slice:
        """Coordinates."""
        return slice(0, self.nq)

    @property
    def qd(self) -> slice:
        """Rates."""
        return slice(self.nq, self.nq + self.nv)

    @property
    def motion(self) -> slice:
        """Coordinates and rates."""
        return slice(0, self.nq + self.nv)

    @property
    def z(self) -> slice:
        """The input's memory."""
        return slice(self.motion.stop, self.motion.stop + self.memory)

    @property
    def steering(self) -> slice:
        """What the solver's step must follow: all but the integrals."""
        return slice(0, self.z.stop)

    @property
    def work(self) -> int:
        """Integral of the inputs' power [J]."""
        return self.z.stop + RIDING.index("work")

    @property
    def dissipated(self) -> int:
        """Integral of the power lost in dampers [J]."""
        return self.z.stop + RIDING.index("dissipated")

    @property
    def size(self) -> int:
        """Numbers in all."""
        return self.z.stop + len(RIDING)

    def start(self, q: Array, qd: Array, z: Array) -> Array:
        """The state at the beginning; nothing has been done or lost yet."""
        return np.concatenate([q, qd, z, np.zeros(len(RIDING))])
