"""Layout of a run's state, so that no other module counts positions."""

from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.model import Model

RIDING = ("work", "dissipated")
"""Quadrature states for the energy balance [J]: integrals of the inputs' power and of the dampers' power."""


@final
@dataclass(frozen=True)
class Layout:
    """Positions of the parts of a run's state: q, qd, the input's memory z, drives' states s, quadrature states.

    After u follow the rates of the input's memory, and the exogenous inputs w.

    Attributes
    ----------
    nq, nv : int
        Numbers of coordinates and of rates.
    pose : int
        Number of leading coordinates that are not integrals of rates: those of a free base and of ball joints, whose
        rates are N(q) v.
    memory : int
        Length of the input's memory: that of a continuous controller.
    own : int
        Number of states of the arm's drives.
    inputs, exogenous : int
        Lengths of u and of w.
    touches : bool
        True if parts of the arm make and break contact, or if mass arrives or leaves.
    """

    nq: int
    nv: int
    memory: int = 0
    own: int = 0
    inputs: int = 0
    exogenous: int = 0
    pose: int = 0
    touches: bool = False

    @classmethod
    def of(cls, model: Model, memory: int = 0, flows: bool = False) -> "Layout":
        """Return the layout of a model's runs, in which mass arrives or leaves if it `flows`."""
        own, inputs, exogenous = len(model.states), len(model.inputs), len(model.exogenous)
        return cls(model.nq, model.nv, memory, own, inputs, exogenous, model.arm.poses, model.arm.touches or flows)

    @property
    def unknowns(self) -> int:
        """Number of rates that an implicit method solves for: of the pose, qdd, dz/dt, ds/dt."""
        return self.pose + self.nv + self.memory + self.own

    @property
    def inner(self) -> int:
        """Index among these unknowns of the acceleration of the first coordinate after the pose."""
        return self.pose + self.nv - (self.nq - self.pose)

    @property
    def fed(self) -> int:
        """Number of arguments of a rate after the state: u, dz/dt, w."""
        return self.inputs + self.memory + self.exogenous

    @property
    def q(self) -> slice:
        """Slice of the coordinates."""
        return slice(0, self.nq)

    @property
    def qd(self) -> slice:
        """Slice of the rates."""
        return slice(self.nq, self.nq + self.nv)

    @property
    def motion(self) -> slice:
        """Slice of coordinates and rates."""
        return slice(0, self.nq + self.nv)

    @property
    def z(self) -> slice:
        """Slice of the input's memory."""
        return slice(self.motion.stop, self.motion.stop + self.memory)

    @property
    def s(self) -> slice:
        """Slice of the states of the drives."""
        return slice(self.z.stop, self.z.stop + self.own)

    @property
    def states(self) -> int:
        """Length of a state without quadrature states."""
        return self.s.stop

    @property
    def steering(self) -> slice:
        """Slice of the numbers whose error controls the solver's step: all except quadrature states.

        Where parts make contact or mass flows, powers change in ways that a step which follows only the motion may
        miss. Quadrature states then count, too.
        """
        return slice(0, self.size if self.touches else self.states)

    def tolerances(self, atol: float) -> Array:
        """Return the absolute tolerance of each number of a state, 1e300 for those that do not control the step."""
        found = np.full(self.size, 1e300)
        found[self.steering] = atol
        return found

    @property
    def work(self) -> int:
        """Index of the integral of the inputs' power [J]."""
        return self.states + RIDING.index("work")

    @property
    def dissipated(self) -> int:
        """Index of the integral of the power lost in dampers [J]."""
        return self.states + RIDING.index("dissipated")

    @property
    def size(self) -> int:
        """Length of a state."""
        return self.states + len(RIDING)

    def parts(self, x: Array, w: Array) -> dict[str, Array]:
        """Return the parts of states (times, size) by name, and exogenous inputs w."""
        return {"q": x[:, self.q], "qd": x[:, self.qd], "z": x[:, self.z], "s": x[:, self.s], "w": w}

    def start(self, q: Array, qd: Array, z: Array, s: Array | None = None) -> Array:
        """Return the initial state, with zero quadrature states. The drives' states are zero by default."""
        return np.concatenate([q, qd, z, np.zeros(self.own) if s is None else s, np.zeros(len(RIDING))])
