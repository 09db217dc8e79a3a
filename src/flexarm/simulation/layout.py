"""The state of a run, by names: nobody counts positions elsewhere."""

from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.description.free import POSE
from flexarm.model import Model

Array = np.ndarray

RIDING = ("work", "dissipated")
"""Integrals that ride along with the motion, for the energy audit [J]: of the inputs' power, of the dampers'."""


@final
@dataclass(frozen=True)
class Layout:
    """Where the parts of a run's state stand: q, qd, the input's memory z, the drives' states s, and the integrals that
    ride along. Behind u, an input writes the rates of its memory, and exogenous inputs w stand.

    Attributes
    ----------
    nq, nv : int
        Numbers of coordinates and of rates.
    pose : int
        Coordinates, the first ones, that are no integrals of rates: those of a free base, whose rates are N(q) v.
    memory : int
        Numbers that the input keeps: those of a continuous controller.
    own : int
        States of the arm's drives.
    inputs, exogenous : int
        Numbers of u and of w.
    """

    nq: int
    nv: int
    memory: int = 0
    own: int = 0
    inputs: int = 0
    exogenous: int = 0
    pose: int = 0

    @classmethod
    def of(cls, model: Model, memory: int = 0) -> "Layout":
        """The layout of a model's runs."""
        own, inputs, exogenous = len(model.states), len(model.inputs), len(model.exogenous)
        return cls(model.nq, model.nv, memory, own, inputs, exogenous, len(POSE) * model.arm.free)

    @property
    def unknowns(self) -> int:
        """Rates that an implicit method solves for: of the pose, qdd, dz/dt, ds/dt."""
        return self.pose + self.nv + self.memory + self.own

    @property
    def inner(self) -> int:
        """Among these unknowns, the acceleration of the first coordinate behind the pose."""
        return self.pose + self.nv - (self.nq - self.pose)

    @property
    def fed(self) -> int:
        """Numbers that stand behind the state for a rate: u, dz/dt, w."""
        return self.inputs + self.memory + self.exogenous

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
    def s(self) -> slice:
        """States of the drives."""
        return slice(self.z.stop, self.z.stop + self.own)

    @property
    def states(self) -> int:
        """Numbers but for the integrals."""
        return self.s.stop

    @property
    def steering(self) -> slice:
        """What the solver's step must follow: all but the integrals."""
        return slice(0, self.states)

    @property
    def work(self) -> int:
        """Integral of the inputs' power [J]."""
        return self.states + RIDING.index("work")

    @property
    def dissipated(self) -> int:
        """Integral of the power lost in dampers [J]."""
        return self.states + RIDING.index("dissipated")

    @property
    def size(self) -> int:
        """Numbers in all."""
        return self.states + len(RIDING)

    def parts(self, x: Array, w: Array) -> dict[str, Array]:
        """Parts of states (times, size) by name, and exogenous inputs w."""
        return {"q": x[:, self.q], "qd": x[:, self.qd], "z": x[:, self.z], "s": x[:, self.s], "w": w}

    def start(self, q: Array, qd: Array, z: Array, s: Array | None = None) -> Array:
        """The state at the beginning; nothing has been done or lost yet. The drives' states are zero by default."""
        return np.concatenate([q, qd, z, np.zeros(self.own) if s is None else s, np.zeros(len(RIDING))])
