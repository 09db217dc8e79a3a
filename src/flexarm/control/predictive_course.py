"""The reference trajectory of a predictive controller at each sample: states, inputs, weights, and linear models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.control.along import Motion, stacked
from flexarm.control.riccati import check_modes, effort, energy, held, linear, scales, stationary
from flexarm.description.closures import refuse_closures
from flexarm.description.joints import refuse_balls
from flexarm.errors import SimulationError
from flexarm.model import Model
from flexarm.model.outputs import Sensor
from flexarm.simulation.stepper import Stepper


@final
@dataclass(frozen=True, eq=False)
class Stage:
    """Consecutive steps x' = F x + G u of a prediction, with the cost x' Q x + u' R u + 2 x' N u.

    x is (S dx, 1), where dx is the deviation from the reference trajectory in q, qd. u is the deviation of the inputs.
    The last column of F has the amount by which the trajectory violates the model.

    Attributes
    ----------
    F, G, Q, R, N : (k, s + 1, s + 1), (k, s + 1, m), (k, s + 1, s + 1), (k, m, m), (k, s + 1, m)
    """

    F: Array
    G: Array
    Q: Array
    R: Array
    N: Array

    def rows(self, i: Any) -> "Stage":
        """Return the steps of the given indices."""
        return Stage(self.F[i], self.G[i], self.Q[i], self.R[i], self.N[i])

    @classmethod
    def of(cls, F: Array, G: Array, d: Array, Q: Array, R: Array) -> "Stage":
        """Return the steps x' = F x + G u + d, where x lacks the entry 1."""
        k, s, m = G.shape
        wide = np.zeros((k, s + 1, s + 1))
        wide[:, :s, :s], wide[:, :s, s], wide[:, s, s] = F, d, 1.0
        paid = np.zeros_like(wide)
        paid[:, :s, :s] = Q
        below = np.concatenate([G, np.zeros((k, 1, m))], axis=1)
        return cls(wide, below, paid, R, np.zeros((k, s + 1, m)))

    def joined(self, lengths: Array) -> "Stage":
        """Join steps with N = 0 into longer ones of the given lengths, over which u is constant. The cost stays the
        same.
        """
        s, m = self.G.shape[1:]
        found = []
        first = 0
        for length in lengths.tolist():
            # in terms of (x, u) at the step's beginning
            now, paid = np.hstack([np.eye(s), np.zeros((s, m))]), np.zeros((s + m, s + m))
            for i in range(first, first + length):
                paid += now.T @ self.Q[i] @ now
                paid[s:, s:] += self.R[i]
                now = self.F[i] @ now
                now[:, s:] += self.G[i]
            found.append((now[:, :s], now[:, s:], paid[:s, :s], paid[s:, s:], paid[:s, s:]))
            first += length
        return Stage(*(np.array(part) for part in zip(*found, strict=True)))


@final
@dataclass(frozen=True, eq=False)
class Optimum:
    """The optimum without limits, step by step: u = -K x, the cost-to-go x' P x, and H in the cost u' H u of changes.

    Attributes
    ----------
    K, P, L : (k, m, s + 1), (k, s + 1, s + 1), (k, m, m)
        L is the Cholesky factor, H = L L'.
    """

    K: Array
    P: Array
    L: Array

    def rows(self, i: Any) -> "Optimum":
        """Return the steps of the given indices."""
        return Optimum(self.K[i], self.P[i], self.L[i])


def optimum(stage: Stage, P: Array) -> Optimum:
    """Solve Riccati's difference equation back from the terminal cost P (s + 1, s + 1).

    `horizon` uses Joseph's form over many more steps. That form takes a third longer, here at every sample.
    """
    k, s, m = stage.G.shape
    K, H, Ps = np.empty((k, m, s)), np.empty((k, m, m)), np.empty((k, s, s))
    for i in range(k - 1, -1, -1):
        F, G = stage.F[i], stage.G[i]
        PF, PG = P @ F, P @ G
        H[i], Y = stage.R[i] + G.T @ PG, stage.N[i].T + G.T @ PF
        K[i] = np.linalg.solve(H[i], Y)
        P = stage.Q[i] + F.T @ PF - Y.T @ K[i]
        P = (P + P.T) / 2
        Ps[i] = P
    return Optimum(K, Ps, np.linalg.cholesky(H))


@final
@dataclass(frozen=True, eq=False)
class Course:
    """The reference trajectory at the samples 0, 1, ... The last sample stands for all later ones.

    Attributes
    ----------
    r : (k, 2n)
        q, qd.
    v : (k, m)
        Inputs from each sample to the next.
    S : (2n,)
        Scales of the coordinates.
    Q, R : (k, 2n, 2n), (k, m, m)
        Weights of scaled deviations, and of inputs.
    stage, best : Stage, Optimum
        Steps of one period each of the arm linearised about the trajectory, and their optimum. The last P is that of
        the infinite horizon at the end.
    Phi, Gamma : (k, 2n, 2n), (k, 2n, m)
        Linear models in the arm's own units.
    poles : (2n,)
        Poles of the arm held at the end without limits [1/s].
    """

    model: Model
    period: float
    r: Array
    v: Array
    S: Array
    Q: Array
    R: Array
    stage: Stage
    best: Optimum
    Phi: Array
    Gamma: Array
    poles: Array

    def at(self, first: int, count: int) -> Array:
        """Indices of `count` samples from `first` on."""
        return np.minimum(first + np.arange(count), len(self.r) - 1)

    def staged(self, rows: Array, Phi: Array, Gamma: Array, after: Array) -> Stage:
        """Steps of one period at the given indices, for models that lead the trajectory to `after` (k, 2n)."""
        F, G = scaled(self.S, Phi, Gamma)
        following = self.r[np.minimum(rows + 1, len(self.r) - 1)]
        return Stage.of(F, G, self.S * (after - following), self.Q[rows], self.R[rows])


def scaled(S: Array, Phi: Array, Gamma: Array) -> tuple[Array, Array]:
    """Return Phi and Gamma for the scaled state S x."""
    return S[:, None] * Phi / S, S[:, None] * Gamma


def models(model: Model, q: Array, qd: Array, u: Array, period: float) -> tuple[Array, Array]:
    """Phi (k, 2n, 2n) and Gamma (k, 2n, m) of the arm linearised at states (k, n), over one period.

    The discretisation is exact for constant u, and the derivatives of the equations of motion are exact.
    """
    refuse_closures(model, "Predictive")
    refuse_balls(model, "Predictive")
    from scipy.linalg import expm

    n = model.nv
    at_q, at_qd, at_u = (stacked(model.slope("forward_dynamics", to), q, qd, u) for to in ("q", "qd", "u"))
    k, m = u.shape
    both = np.zeros((k, 2 * n + m, 2 * n + m))
    both[:, :n, n : 2 * n] = np.eye(n)
    both[:, n : 2 * n, :n], both[:, n : 2 * n, n : 2 * n], both[:, n : 2 * n, 2 * n :] = at_q, at_qd, at_u
    moved = expm(both * period)
    return moved[:, : 2 * n, : 2 * n], moved[:, : 2 * n, 2 * n :]


def moved(model: Model, r: Array, v: Array, period: float) -> Array:
    """States (k, 2n) of the arm itself one period after r (k, 2n) under constant inputs v (k, m).

    If the equations of motion fail there, the result is r. These states are only needed as a starting point.
    """
    n = model.nv
    try:
        return np.atleast_2d(Stepper(model, period, r[:, :n], r[:, n:]).step(v))
    except SimulationError:
        return r.copy()


@final
@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of deviations and inputs, as given or the energies of each configuration; see `LQR`."""

    Q: Array | None
    R: Array | None
    omega: float

    def at(self, model: Model, q: Array) -> tuple[Array, Array]:
        """Q (2n, 2n) and R (m, m)."""
        Q, R = self.Q, self.R
        if Q is None:
            M = model.mass_matrix(q)
            Q = energy(M, np.array(model.slope("stiffness_force", 0)(q)) + self.omega**2 * M)
        return Q, effort(model, q, self.omega) if R is None else R


def course(
    what: str, model: Model, motion: Motion | None, end: tuple[Array, Array], weights: Weights, period: float
) -> Course:
    """Return the reference trajectory along a motion, if any, into the equilibrium `end`, its coordinates and inputs.

    Raises `DescriptionError` if the arm cannot be held there; see `riccati.optimal`.
    """
    n, m = model.nv, len(model.inputs)
    q_e, u_e = end
    A, B = linear(model, q_e, u_e)
    M = model.mass_matrix(q_e)
    S = scales(A, M)
    check_modes(what, *scaled(S, A, B), M, model.velocities, period)
    r, v = np.concatenate([q_e, np.zeros(n)])[None], u_e[None]
    if motion is not None:
        edges = period * np.arange(int(np.ceil(motion.end / period - 1e-9)) + 1)
        inside = np.concatenate(motion.states(edges[:-1]), axis=1)
        r, v = np.vstack([inside, r]), np.vstack([motion.means(edges, u_e), v])
    k = len(r)
    Q, R = np.empty((k, 2 * n, 2 * n)), np.empty((k, m, m))
    for i in range(k):
        Q[i], R[i] = weights.at(model, r[i, :n])
    Q /= np.outer(S, S)
    Phi, Gamma = (X[None] for X in held(A, B, period))
    after = r.copy()
    if k > 1:
        middle = (r[:-1] + r[1:]) / 2
        along = models(model, middle[:, :n], middle[:, n:], v[:-1], period)
        Phi, Gamma = np.concatenate([along[0], Phi]), np.concatenate([along[1], Gamma])
        after[:-1] = moved(model, r[:-1], v[:-1], period)
    F, G = scaled(S, Phi, Gamma)
    d = S * (after - np.vstack([r[1:], r[-1:]]))
    P, _, poles = stationary(what, F[-1], G[-1], Q[-1], R[-1], period)
    stage = Stage.of(F, G, d, Q, R)
    wide = np.zeros((2 * n + 1, 2 * n + 1))
    wide[:-1, :-1] = P
    best = optimum(stage, wide)
    return Course(model, period, r, v, S, Q, R, stage, best, Phi, Gamma, poles)


@final
class Slopes:
    """Slopes dy/d(q, qd) of sensors that measure no acceleration, (k, p, 2n) at states (k, 2n)."""

    def __init__(self, model: Model, sensors: Sequence[Sensor]):
        import casadi as ca

        q, qd = ca.SX.sym("q", model.nq), ca.SX.sym("qd", model.nv)
        y = model.with_numbers(model.output_function(sensors))(q, qd, ca.DM.zeros(model.nv))
        slopes = ca.densify(ca.jacobian(y, ca.vertcat(q, qd)))
        self._function, self._n = ca.Function("slopes", [q, qd], [slopes]), model.nq

    def __call__(self, x: Array) -> Array:
        """Return the slopes at the given states."""
        return stacked(self._function, x[:, : self._n], x[:, self._n :])
