"""Frequency response of a linear system, and frequencies at which its largest singular value has a given size."""

from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.analysis.balance import EPS, ROUNDED
from flexarm.arrays import Array
from flexarm.cached import cached_property

AXIS = 1e-5
"""Relative distance from the imaginary axis below which an eigenvalue may be on it.

An eigenvalue too many costs only one evaluation at its frequency.
"""
NOISE = 1e-12
"""Share of the largest eigenvalue by which rounding may have moved a smaller one."""

FEW = 3
"""Number of frequencies up to which a Schur form does not pay."""
CORRECTIONS = 2
"""Steps of iterative refinement before a frequency is solved by elimination instead."""
TRIES = 4
"""Number of systems with other last digits whose responses are compared, to see which digits are known."""


@final
@dataclass(frozen=True, eq=False)
class Response:
    """C (s - A)^-1 B + D on the imaginary axis or, with a period, C (z - A)^-1 B + D on the unit circle."""

    A: Array
    B: Array
    C: Array
    D: Array
    period: float | None = None

    @cached_property
    def _matrix(self) -> Array:
        """A, or for a system with a period A - 1, which keeps the digits of slow states."""
        return self.A if self.period is None else self.A - np.eye(len(self.A))

    @cached_property
    def _schur(self) -> tuple[Array, Array]:
        from scipy.linalg import schur

        T, Z = schur(self._matrix.astype(complex), output="complex")
        return T, Z

    def __call__(self, omega: Array) -> Array:
        """Evaluate at frequencies (k,) [rad/s]: (k, outputs, inputs), infinite at a pole.

        One Schur form serves all frequencies.
        """
        s = 1j * omega if self.period is None else np.expm1(1j * omega * self.period)
        with np.errstate(all="ignore"):
            return np.einsum("ij,jkl->kil", self.C, self._states(s)) + self.D

    def _states(self, s: Array) -> Array:
        """Return (s - A)^-1 B, (n, k, inputs), with residuals as small as rounding in every row.

        A Schur form is exact for a matrix that differs from A by rounding of its largest number; small numbers need
        iterative refinement: R. D. Skeel, Iterative refinement implies numerical stability for Gaussian elimination,
        Mathematics of Computation 35 (1980) 817-832.
        """
        n, (k, m) = len(self.A), (len(s), self.B.shape[1])
        B = np.broadcast_to(self.B[:, None, :], (n, k, m)).astype(complex)
        few = k <= FEW
        x = self._eliminated(s, B) if few else self._substituted(s, B)
        for step in range(CORRECTIONS + 1):
            left = B - s[:, None] * x + self._times(self._matrix, x)
            size = np.abs(s)[:, None] * np.abs(x) + self._times(np.abs(self._matrix), np.abs(x)) + np.abs(B)
            poor = (np.abs(left) > 4.0 * (n + 2) * EPS * size).any(axis=(0, 2))
            if not poor.any():
                break
            if few or step == CORRECTIONS:
                x[:, poor] = self._eliminated(s[poor], B[:, poor])
                break
            x[:, poor] += self._substituted(s[poor], left[:, poor])
        return x

    @staticmethod
    def _times(A: Array, x: Array) -> Array:
        return (A @ x.reshape(len(A), -1)).reshape(x.shape)

    def _eliminated(self, s: Array, B: Array) -> Array:
        """Solve by Gaussian elimination at each frequency, with one refinement."""
        pencil = s[:, None, None] * np.eye(len(self.A)) - self._matrix
        B = B.transpose(1, 0, 2)
        try:
            x = np.linalg.solve(pencil, B)
            x = x + np.linalg.solve(pencil, B - pencil @ x)
        except np.linalg.LinAlgError:  # one of the frequencies is a pole
            return self._substituted(s, B.transpose(1, 0, 2))
        return x.transpose(1, 0, 2)

    def _substituted(self, s: Array, B: Array) -> Array:
        """Solve by the Schur form; the result is infinite at a pole."""
        T, Z = self._schur
        y = self._times(Z.conj().T, B)
        for i in reversed(range(len(T))):
            y[i] = (y[i] + np.einsum("j,jkl->kl", T[i, i + 1 :], y[i + 1 :])) / (s - T[i, i])[:, None]
        return self._times(Z, y)

    def largest(self, omega: Array) -> Array:
        """Largest singular values (k,)."""
        return largest(self(omega))

    def uncertainty(self, omega: Array) -> Array:
        """Return the largest change (k,) of the values when the numbers of A, B and C have other last digits."""
        rng = np.random.default_rng(0)
        here, found = self(omega), np.zeros(len(omega))
        for _ in range(TRIES):
            A, B, C = (x * (1.0 + ROUNDED * rng.uniform(-1.0, 1.0, x.shape)) for x in (self.A, self.B, self.C))
            other = Response(A, B, C, self.D, self.period)(omega)
            found = np.maximum(found, np.abs(other - here).max(axis=(1, 2), initial=0.0))
        return found

    def continuous(self) -> "Response":
        """The continuous system whose value at omega is that of this one at 2 / period atan(omega period / 2)."""
        if self.period is None:
            return self
        a = 2.0 / self.period
        P = np.linalg.inv(self.A + np.eye(len(self.A)))
        A = a * P @ self._matrix
        root = np.sqrt(2.0 * a)
        return Response(A, root * P @ self.B, root * self.C @ P, self.D - self.C @ P @ self.B)

    def mapped(self, omega: Array) -> Array:
        """Frequencies of `continuous` that correspond to frequencies of this system [rad/s]."""
        if self.period is None:
            return omega
        return 2.0 / self.period * np.tan(np.minimum(omega * self.period / 2.0, np.pi / 2.0 - 1e-9))

    def unmapped(self, omega: float) -> float:
        """Frequency of this system that corresponds to one of `continuous` [rad/s]."""
        return omega if self.period is None else 2.0 / self.period * float(np.arctan(omega * self.period / 2.0))

    def at_level(self, level: float) -> Array:
        """Frequencies at which a singular value may be `level`, above that of D, ascending [rad/s]; continuous systems
        only.
        """
        A, B, C, D = self.A, self.B, self.C, self.D
        R = level**2 * np.eye(B.shape[1]) - D.T @ D
        if np.linalg.eigvalsh(R)[0] <= 0.0:
            return np.empty(0)
        F = A + B @ np.linalg.solve(R, D.T @ C)
        Q = C.T @ (np.eye(len(C)) + D @ np.linalg.solve(R, D.T)) @ C
        s = np.linalg.eigvals(np.block([[F, B @ np.linalg.solve(R, B.T)], [-Q, -F.T]]))
        near = AXIS * np.abs(s) + NOISE * np.abs(s).max(initial=0.0)
        return np.unique(s.imag[(np.abs(s.real) <= near) & (s.imag >= 0.0)])


def largest(values: Array) -> Array:
    """Largest singular values (k,) of matrices (k, outputs, inputs)."""
    if values.shape[1:] == (1, 1):
        return np.abs(values[:, 0, 0])
    return np.linalg.svd(np.where(np.isfinite(values), values, 1e300), compute_uv=False)[:, 0]
