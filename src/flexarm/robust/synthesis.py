"""H-infinity controllers by two algebraic Riccati equations."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy import linalg

from flexarm.analysis.balance import computing
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import POSITIVE, checked_integer, checked_number, counted, refused
from flexarm.errors import DescriptionError
from flexarm.robust.norms import largest_gain
from flexarm.robust.systems import Matrices, lower

if TYPE_CHECKING:
    import control

AXIS = 1e-9
"""Real part of a Hamiltonian eigenvalue, in units of its size, below which it counts as imaginary."""
SEMIDEFINITE = 1e-7
"""Negative eigenvalue of X or Y, in units of the largest, that counts as rounding."""
ROUNDING = 1e-10
"""Negative eigenvalue of X or Y that counts as rounding, in units of |C|^2 / |A|."""
FULL = 1e-10
"""Smallest singular value of D12 or D21, in units of the largest, at which they have full rank."""
LARGEST = 10_000
"""Largest number of signals."""
RETRIES = 5
"""Number of gammas that are tried after the bisection, by 0, 1, 3, 7 and 15 times the accuracy larger."""
DOUBLINGS = 60
"""Largest number of doublings of gamma until a controller exists."""


@final
@brief
@dataclass(frozen=True, eq=False)
class Synthesis:
    """An H-infinity controller and the loop that it closes.

    Attributes
    ----------
    controller : control.StateSpace
        K with u = K y, from the measured signals to the controls.
    closed : control.StateSpace
        Closed loop from the exogenous inputs w to the weighted errors z.
    gamma : float
        Bound for which the controller was computed.
    best : float
        Largest bound that was found not to be reachable. The optimum is between `best` and `gamma`.
    norm : float
        H-infinity norm of `closed`, at most `gamma`.
    frequency : float
        Frequency of this norm [rad/s].
    """

    controller: "control.StateSpace"
    closed: "control.StateSpace"
    gamma: float
    best: float
    norm: float
    frequency: float


@computing("hinf_synthesis")
def hinf_synthesis(
    plant: "control.StateSpace",
    measured: int,
    controls: int,
    gamma: float | None = None,
    accuracy: float = 1e-3,
) -> Synthesis:
    """Return a controller that makes the largest gain of a closed loop nearly as small as possible.

    The generalized plant [z; y] = P [w; u] contains the arm and the weights (see `four_block`). Its last inputs u are
    the controls, and its last outputs y are measured. Without `gamma` a bisection finds the smallest gamma for which
    both Riccati equations have stabilising solutions X, Y >= 0 with a spectral radius of X Y below gamma^2. The result
    is the central controller for a gamma that is larger by `accuracy`. D11 and D22 may be nonzero: K. Glover and J. C.
    Doyle, State-space formulae for all stabilizing controllers that satisfy an H-infinity norm bound, Systems & Control
    Letters 11 (1988) 167-172; K. Zhou, J. C. Doyle and K. Glover, Robust and Optimal Control, 1996, theorem 17.1.

    Parameters
    ----------
    plant : control.StateSpace
        Continuous. D12, from u to z, has full column rank, and D21, from w to y, has full row rank.
    measured, controls : int
        Numbers of measured signals y and of controls u.
    gamma : float, optional
        Bound on the gain. Default: nearly the smallest possible one.
    accuracy : float
        Relative distance of the found gamma from the optimum; up to 15 times as far where rounding requires it.

    Raises
    ------
    DescriptionError
        If the plant is not a continuous StateSpace of a fitting size, if D12 or D21 lacks rank, or if no controller
        reaches the bound.
    """
    where = "hinf_synthesis"
    given = Matrices.of(where, plant)
    with refused(where):
        checked_integer(measured, LARGEST, "measured", 1)
        checked_integer(controls, LARGEST, "controls", 1)
        checked_number(accuracy, "", POSITIVE, "accuracy")
        if gamma is not None:
            gamma = checked_number(gamma, "", POSITIVE, "gamma")
    outputs, inputs = given.D.shape
    if measured >= outputs or controls >= inputs:
        has = f"{counted(outputs, 'output')} and {counted(inputs, 'input')}"
        raise DescriptionError(
            f"{where}: the plant has {has}; it needs more than the {measured} measured signals and the "
            f"{controls} controls, to have errors z and exogenous inputs w"
        )
    problem = _Problem.of(where, given.balanced, measured, controls)
    if gamma is None:
        best, reached = _bisection(problem, accuracy)
        tried = [reached * (1.0 + accuracy) ** (2**i - 1) for i in range(RETRIES)]
    else:
        best, tried = problem.least, [gamma]
    # near the optimum rounding may leave no controller, or an unstable loop
    K, closed, level = None, None, tried[0]
    for level in tried:
        K = problem.controller(level)
        closed = None if K is None else lower(where, given, K)
        if closed is not None and closed.stable:
            break
    if K is None or closed is None:
        raise DescriptionError(f"{where}: no controller reaches gamma = {level:g}; leave gamma out, or relax a weight")
    if not closed.stable:
        raise DescriptionError(
            f"{where}: rounding left the closed loop unstable for gamma = {level:.6g}; give a larger gamma or accuracy"
        )
    norm, frequency = largest_gain(closed)
    names = _names(plant, measured, controls)
    return Synthesis(K.state_space(**names), closed.state_space(), float(level), float(best), norm, frequency)


def _names(plant: "control.StateSpace", measured: int, controls: int) -> dict[str, Any]:
    """Return the names of a controller's inputs and outputs, from the plant's if they are not defaults."""
    y, u = plant.output_labels[-measured:], plant.input_labels[-controls:]
    own = [*y, *u]
    if any(name[:2] in ("u[", "y[") for name in own) or len(set(own)) < len(own):
        return {}
    return {"inputs": y, "outputs": u}


def _bisection(problem: "_Problem", accuracy: float) -> tuple[float, float]:
    """Return a gamma that is not reachable, and one that is, at a relative distance of `accuracy`."""
    low, high = problem.least, max(2.0 * problem.least, 1.0)
    for _ in range(DOUBLINGS):
        if problem.solved(high) is not None:
            break
        low, high = high, 2.0 * high
    else:
        raise DescriptionError(
            f"hinf_synthesis: no controller stabilizes the plant for gamma up to {high:.2g}; the controls must reach "
            "and the measured signals must show every unstable mode, and P12 and P21 must have no zeros on the "
            "imaginary axis: let w act on an undamped mode, and let z contain it"
        )
    while high - low > accuracy * high / 2.0:
        middle = np.sqrt(low * high) if low > 0.0 else high / 2.0
        if high < 1e-9:
            break
        low, high = (low, middle) if problem.solved(middle) is not None else (middle, high)
    return low, (1.0 + accuracy / 2.0) * high


@final
@dataclass(frozen=True, eq=False)
class _Problem:
    """A plant with D12 = [0; 1], D21 = [0, 1] and D22 = 0, and the transformations that lead back.

    u = Su u~ and y~ = Sy y scale the controls and the measured signals. Rotations of z and w change no norm.
    """

    where: str
    P: Matrices
    measured: int
    controls: int
    D22: Array
    Su: Array
    Sy: Array

    @classmethod
    def of(cls, where: str, P: Matrices, measured: int, controls: int) -> "_Problem":
        z, w = len(P.D) - measured, P.D.shape[1] - controls
        D12, D21 = P.D[:z, w:], P.D[z:, :w]
        U, s, V = _full_rank(
            where, D12, "D12, from the controls u to the errors z", "column", "give each a weight in z"
        )
        Uz, Su = np.hstack([U[:, controls:], U[:, :controls]]), V.T / s
        U, s, V = _full_rank(where, D21.T, "D21, from w to the measured signals y", "row", "add noise to each")
        Vw, Sy = np.hstack([U[:, measured:], U[:, :measured]]), (V.T / s).T
        B = np.hstack([P.B[:, :w] @ Vw, P.B[:, w:] @ Su])
        C = np.vstack([Uz.T @ P.C[:z], Sy @ P.C[z:]])
        D = np.block([[Uz.T @ P.D[:z, :w] @ Vw, Uz.T @ D12 @ Su], [Sy @ D21 @ Vw, np.zeros((measured, controls))]])
        return cls(where, Matrices(P.A, B, C, D), measured, controls, P.D[z:, w:], Su, Sy)

    @property
    def _parts(self) -> tuple[Array, int, int]:
        """D11, and the numbers of its first rows and columns, which u and y do not reach."""
        z, w = len(self.P.D) - self.measured, self.P.D.shape[1] - self.controls
        return self.P.D[:z, :w], z - self.controls, w - self.measured

    @property
    def least(self) -> float:
        """Lower bound of gamma, from the part of D11 that no controller changes."""
        D11, rows, columns = self._parts
        return max(_size(D11[:rows]), _size(D11[:, :columns]))

    def solved(self, gamma: float) -> tuple[Array, Array] | None:
        """Return X and Y if a controller for gamma exists, else None."""
        if gamma <= self.least:
            return None
        A, B, C, D = self.P.A, self.P.B, self.P.C, self.P.D
        D11, _, _ = self._parts
        z, w = D11.shape
        X = _riccati(A, B, C[:z], D[:z], gamma, w)
        if X is None:
            return None
        Y = _riccati(A.T, C.T, B[:, :w].T, D[:, :w].T, gamma, z)
        if Y is None:
            return None
        return (X, Y) if np.abs(linalg.eigvals(X @ Y)).max(initial=0.0) < gamma**2 else None

    def controller(self, gamma: float) -> Matrices | None:
        """Return the central controller for gamma, or None if there is none."""
        found = self.solved(gamma)
        if found is None:
            return None
        X, Y = found
        A, B, C, D = self.P.A, self.P.B, self.P.C, self.P.D
        D11, rows, columns = self._parts
        z, w = D11.shape
        F = -np.linalg.solve(_weight(D[:z], gamma, w), D[:z].T @ C[:z] + B.T @ X)
        L = -np.linalg.solve(_weight(D[:, :w].T, gamma, z), (B[:, :w] @ D[:, :w].T + Y @ C.T).T).T
        F12, F2, L12, L2 = F[columns:w], F[w:], L[:, rows:z], L[:, z:]
        D1111, D1112, D1121, D1122 = (
            D11[:rows, :columns],
            D11[:rows, columns:],
            D11[rows:, :columns],
            D11[rows:, columns:],
        )
        G = gamma**2 * np.eye(rows) - D1111 @ D1111.T
        H = gamma**2 * np.eye(columns) - D1111.T @ D1111
        K11 = -D1121 @ D1111.T @ np.linalg.solve(G, D1112) - D1122
        K12 = np.linalg.cholesky(np.eye(self.controls) - D1121 @ np.linalg.solve(H, D1121.T))
        K21 = np.linalg.cholesky(np.eye(self.measured) - D1112.T @ np.linalg.solve(G, D1112)).T
        Z = np.linalg.inv(np.eye(len(A)) - Y @ X / gamma**2)
        B2 = Z @ (B[:, w:] + L12) @ K12
        C2 = -K21 @ (C[z:] + F12)
        B1 = -Z @ L2 + B2 @ np.linalg.solve(K12, K11)
        C1 = F2 + K11 @ np.linalg.solve(K21, C2)
        K = Matrices(A + B @ F + B1 @ np.linalg.solve(K21, C2), B1, C1, K11)
        K = Matrices(K.A, K.B @ self.Sy, self.Su @ K.C, self.Su @ K.D @ self.Sy)
        return _behind(self.where, K, self.D22)


def _full_rank(where: str, D: Array, name: str, kind: str, advice: str) -> tuple[Array, Array, Array]:
    """Return U, s and V of D = U s V, D with more rows than columns or as many, and of full rank."""
    U, s, V = np.linalg.svd(D)
    if len(s) < D.shape[1] or not s[-1] > FULL * s[0]:
        raise DescriptionError(f"{where}: {name}, must have full {kind} rank; {advice}")
    return U, s, V


def _size(D: Array) -> float:
    return float(np.linalg.norm(D, 2)) if D.size else 0.0


def _weight(D: Array, gamma: float, w: int) -> Array:
    """D' D - gamma^2 on the first w entries."""
    R = D.T @ D
    R[:w, :w] -= gamma**2 * np.eye(w)
    return R


def _riccati(A: Array, B: Array, C: Array, D: Array, gamma: float, w: int) -> Array | None:
    """Return the stabilising solution X >= 0 of the H-infinity Riccati equation, or None if there is none.

    A~' X + X A~ - X B R^-1 B' X + C~' C~ = 0 with R = D' D - gamma^2 diag(1, 0), from the stable subspace of its
    Hamiltonian matrix.
    """
    n = len(A)
    if not n:
        return np.zeros((0, 0))
    R = _weight(D, gamma, w)
    if not np.linalg.cond(R) < 1e15:
        return None
    T = np.linalg.solve(R, np.hstack([D.T @ C, B.T]))
    S = np.vstack([B, -C.T @ D])
    H = np.block([[A, np.zeros((n, n))], [-C.T @ C, -A.T]]) - S @ T
    try:
        U, Z, stable = linalg.schur(H, output="real", sort="lhp")
    except linalg.LinAlgError:
        return None
    s = linalg.eigvals(U)
    if stable != n or (np.abs(s.real) <= AXIS * np.abs(s)).any():
        return None
    X1, X2 = Z[:n, :n], Z[n:, :n]
    if not np.linalg.cond(X1) < 1e14:
        return None
    X = np.linalg.solve(X1.T, X2.T).T
    X = (X + X.T) / 2.0
    values = np.linalg.eigvalsh(X)
    # X is zero for a plant P12 that is square and has stable zeros, so that its size says nothing about rounding
    rounding = ROUNDING * float(np.linalg.norm(C)) ** 2 / max(float(np.linalg.norm(H[:n, :n])), 1e-300)
    return X if values[0] >= -SEMIDEFINITE * values[-1] - rounding else None


def _behind(where: str, K: Matrices, D22: Array) -> Matrices:
    """Return the controller for a plant with D22: K (1 + D22 K)^-1."""
    if not D22.any():
        return K
    loop = np.eye(len(D22)) + D22 @ K.D
    if not np.linalg.cond(loop) < 1e12:
        raise DescriptionError(f"{where}: the loop of D22 and the controller is singular; give a larger gamma")
    C, D = np.linalg.solve(loop, D22 @ K.C), np.linalg.inv(loop)
    return Matrices(K.A - K.B @ C, K.B @ D, K.C - K.D @ C, K.D @ D)
