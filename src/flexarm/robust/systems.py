"""Continuous linear systems as four matrices, and their interconnections."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy import linalg

from flexarm.analysis.balance import balanced, eigenvalues
from flexarm.analysis.linear import state_space
from flexarm.analysis.margins import is_stable
from flexarm.arrays import Array
from flexarm.errors import DescriptionError

if TYPE_CHECKING:
    import control

LOOP = 1e-12
"""Reciprocal condition number below which a loop without dynamics has no solution."""
EQUILIBRATIONS = 5
"""Number of times that rows and columns are divided by their largest entries."""


@final
@dataclass(frozen=True, eq=False)
class Matrices:
    """A continuous system dx/dt = A x + B u, y = C x + D u."""

    A: Array
    B: Array
    C: Array
    D: Array

    @classmethod
    def of(cls, where: str, system: Any) -> "Matrices":
        """Return the matrices of a continuous `control.StateSpace`. Raises `DescriptionError` for anything else."""
        state_space(where, system)
        if system.dt:
            raise DescriptionError(f"{where}: the system is discrete; give a continuous one")
        return cls(*(np.array(getattr(system, name), dtype=float) for name in "ABCD"))

    @classmethod
    def gain(cls, D: Array) -> "Matrices":
        """Return a system without states."""
        return cls(np.zeros((0, 0)), np.zeros((0, D.shape[1])), np.zeros((D.shape[0], 0)), D)

    @property
    def order(self) -> int:
        """Number of states."""
        return len(self.A)

    @property
    def balanced(self) -> "Matrices":
        """The same system with scaled states, see `analysis.balance.balanced`."""
        if not self.order:
            return self
        return Matrices(*balanced(self.A, self.B, self.C), self.D)

    @property
    def stable(self) -> bool:
        """True if all poles lie in the left half plane, by more than rounding."""
        return is_stable(*eigenvalues(self.A))

    def state_space(self, **names: Any) -> "control.StateSpace":
        """Return the system as a `control.StateSpace`."""
        import control

        return control.StateSpace(self.A, self.B, self.C, self.D, **names)

    def channels(self, outputs: Any, inputs: Any) -> "Matrices":
        """Return the system from some inputs to some outputs."""
        return Matrices(self.A, self.B[:, inputs], self.C[outputs], self.D[outputs][:, inputs])

    def __call__(self, s: complex) -> Array:
        """Evaluate the transfer matrix at s."""
        return self.C @ np.linalg.solve(s * np.eye(self.order) - self.A, self.B.astype(complex)) + self.D

    def frequency(self, omega: float) -> Array:
        """Evaluate the transfer matrix at a frequency [rad/s], which may be infinite."""
        return self(1j * omega) if np.isfinite(omega) else self.D.astype(complex)

    def at(self, omega: Array) -> Array:
        """Evaluate the transfer matrix at frequencies (k,) [rad/s]: (k, outputs, inputs)."""
        return np.array([self(1j * w) for w in omega])


def beside(*systems: Matrices) -> Matrices:
    """Return several systems with separate inputs and outputs as one."""
    return Matrices(*(linalg.block_diag(*(getattr(each, name) for each in systems)) for name in "ABCD"))


def wired(where: str, system: Matrices, F: Array, G: Array, H: Array, J: Array) -> Matrices:
    """Return the system with the inputs v = F y + G w, y its outputs, from w to z = H y + J w.

    Raises `DescriptionError` if a loop without dynamics has no solution.
    """
    loop = np.eye(len(system.D)) - system.D @ F
    if singular(loop):
        raise DescriptionError(f"{where}: an algebraic loop has no solution; remove a feedthrough matrix D from it")
    # y = loop^-1 (C x + D G w)
    C, D = np.linalg.solve(loop, system.C), np.linalg.solve(loop, system.D @ G)
    return Matrices(
        system.A + system.B @ F @ C,
        system.B @ (G + F @ D),
        H @ C,
        H @ D + J,
    )


def singular(A: Array) -> bool:
    """Return True if a matrix is singular up to rounding, whatever the units of its rows and columns are."""
    A = A.copy()
    for _ in range(EQUILIBRATIONS):
        for axis in (1, 0):
            size = np.abs(A).max(axis=axis, keepdims=True, initial=0.0)
            A = A / np.where(size > 0.0, size, 1.0)
    return bool(len(A)) and not np.linalg.cond(A) < 1.0 / LOOP


def series(first: Matrices, second: Matrices) -> Matrices:
    """Return the second system driven by the outputs of the first."""
    m, k = first.D.shape[1], len(first.D)
    F = np.zeros((m + k, k + len(second.D)))
    F[m:, :k] = np.eye(k)
    G = np.vstack([np.eye(m), np.zeros((k, m))])
    H = np.hstack([np.zeros((len(second.D), k)), np.eye(len(second.D))])
    return wired("series", beside(first, second), F, G, H, np.zeros((len(second.D), m)))


def lower(where: str, P: Matrices, K: Matrices) -> Matrices:
    """Return the lower linear fractional transformation: P with its last outputs and inputs closed by u = K y."""
    m, k = K.D.shape
    inputs, outputs = P.D.shape[1], len(P.D)
    F = np.zeros((inputs + k, outputs + m))
    F[inputs - m : inputs, outputs:] = np.eye(m)
    F[inputs:, outputs - k : outputs] = np.eye(k)
    G = np.eye(inputs + k)[:, : inputs - m]
    H = np.eye(outputs + m)[: outputs - k]
    return wired(where, beside(P, K), F, G, H, np.zeros((outputs - k, inputs - m)))
