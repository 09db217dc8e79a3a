"""The frequency response of a linear system, and where its largest singular value has a given size."""

from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.cached import cached_property

Array = np.ndarray

AXIS = 1e-5
"""Of its size: an eigenvalue nearer to the imaginary axis may be on it. One too many costs a look at its frequency."""


FEW = 3
"""Frequencies for which a Schur form does not pay."""


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
    def _schur(self) -> tuple[Array, Array, Array]:
        from scipy.linalg import schur

        T, Z = schur(self.A.astype(complex), output="complex")
        return T, Z.conj().T @ self.B, self.C @ Z

    def __call__(self, omega: Array) -> Array:
        """At frequencies (k,) [rad/s]: (k, outputs, inputs), infinite at a pole. One Schur form serves all."""
        s = 1j * omega if self.period is None else np.exp(1j * omega * self.period)
        if len(s) <= FEW:
            try:
                x = np.linalg.solve(s[:, None, None] * np.eye(len(self.A)) - self.A, self.B.astype(complex))
                return self.C @ x + self.D
            except np.linalg.LinAlgError:  # a pole among them
                pass
        T, B, C = self._schur
        x = np.empty((len(T), len(s), B.shape[1]), dtype=complex)
        with np.errstate(all="ignore"):
            for i in reversed(range(len(T))):
                x[i] = (B[i] + np.tensordot(T[i, i + 1 :], x[i + 1 :], axes=1)) / (s - T[i, i])[:, None]
            return np.einsum("ij,jkl->kil", C, x) + self.D

    def largest(self, omega: Array) -> Array:
        """Largest singular values (k,)."""
        values = self(omega)
        if values.shape[1:] == (1, 1):
            return np.abs(values[:, 0, 0])
        return np.linalg.svd(np.where(np.isfinite(values), values, 1e300), compute_uv=False)[:, 0]

    def continuous(self) -> "Response":
        """The system in s that has at omega what this one has at 2 / period atan(omega period / 2)."""
        if self.period is None:
            return self
        a = 2.0 / self.period
        P = np.linalg.inv(self.A + np.eye(len(self.A)))
        A = a * P @ (self.A - np.eye(len(P)))
        root = np.sqrt(2.0 * a)
        return Response(A, root * P @ self.B, root * self.C @ P, self.D - self.C @ P @ self.B)

    def mapped(self, omega: Array) -> Array:
        """The frequencies of `continuous` that belong to those here [rad/s]."""
        if self.period is None:
            return omega
        return 2.0 / self.period * np.tan(np.minimum(omega * self.period / 2.0, np.pi / 2.0 - 1e-9))

    def unmapped(self, omega: float) -> float:
        """The frequency here of one of `continuous` [rad/s]."""
        return omega if self.period is None else 2.0 / self.period * float(np.arctan(omega * self.period / 2.0))

    def at_level(self, level: float) -> Array:
        """Frequencies at which a singular value may be `level`, above that of D, ascending [rad/s]; continuous."""
        A, B, C, D = self.A, self.B, self.C, self.D
        R = level**2 * np.eye(B.shape[1]) - D.T @ D
        if np.linalg.eigvalsh(R)[0] <= 0.0:
            return np.empty(0)
        F = A + B @ np.linalg.solve(R, D.T @ C)
        Q = C.T @ (np.eye(len(C)) + D @ np.linalg.solve(R, D.T)) @ C
        s = np.linalg.eigvals(np.block([[F, B @ np.linalg.solve(R, B.T)], [-Q, -F.T]]))
        return np.unique(s.imag[(np.abs(s.real) <= AXIS * np.abs(s)) & (s.imag >= 0.0)])
