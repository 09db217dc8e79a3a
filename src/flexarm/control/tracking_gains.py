"""Gains along a motion: its weights, with or without integrals of the encoders' errors, and the gains after the end."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.checks import shown
from flexarm.control import horizon
from flexarm.control.along import Motion, linear_models, stacked
from flexarm.control.gains import actuated, gain
from flexarm.control.lqr import pace
from flexarm.control.riccati import check_modes, held, linear, scales, stationary, weights
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.local import moved_by_joints

MOST_SAMPLES = 100_000
"""Largest number of samples in a motion. The gains and the cost-to-go of each are stored."""
LEAST = 1e-9
"""Small number added to Q in scaled coordinates where Q measures deviations, so that Q is positive definite."""


@final
@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of deviations from the motion.

    Attributes
    ----------
    Q, R : (2n, 2n), (m, m), optional
        As given, at all times.
    omega : float
        Bandwidth of the defaults, the energies at each time's configuration [rad/s].
    integral : (m,)
        Rates of the integrals of the encoders' errors [1/s]; empty without integrals. The weight of an integral in Q is
        the square of its rate times the weight of the joint's error, with the complete arm moving along.
    """

    Q: Array | None
    R: Array | None
    omega: float
    integral: Array

    @classmethod
    def of(
        cls,
        model: Model,
        q: Array,
        Q: ArrayLike | None,
        R: ArrayLike | None,
        bandwidth: float | None,
        integral: ArrayLike | None,
    ) -> "Weights":
        """Return the weights for a model, where q is the configuration at the end; raises `DescriptionError`."""
        n, m = model.nv, len(model.inputs)
        omega = pace("Tracking", bandwidth, model, q) if Q is None or R is None else 0.0
        both = (np.eye(2 * n) if Q is None else Q, np.eye(m) if R is None else R)
        given = weights("Tracking", *both, 2 * n, m)
        rates = np.empty(0)
        if integral is not None:
            found = np.diag(gain("Tracking: integral_rate", integral, m)).copy()
            if np.ndim(integral) > 1 or not (found > 0).all():
                must = f"it must be one positive number, or {m} of them, one per joint"
                raise DescriptionError(f"Tracking: integral_rate is {shown(integral)}; {must}")
            rates = found
        return cls(None if Q is None else given[0], None if R is None else given[1], omega, rates)

    def at(self, model: Model, q: Array) -> tuple[Array, Array]:
        """Q (k, s, s) and R (k, m, m) at configurations (k, n)."""
        k, n, w = len(q), model.nv, len(self.integral)
        M, B = model.mass_matrix(q), model.input_matrix(q)
        Q = np.zeros((k, 2 * n + w, 2 * n + w))
        if self.Q is None:
            stiff = stacked(model.slope("stiffness_force", 0), q)
            Q[:, :n, :n] = (stiff + np.swapaxes(stiff, 1, 2)) / 4 + self.omega**2 * M / 2  # `energy` of each
            Q[:, n : 2 * n, n : 2 * n] = M / 2
        else:
            Q[:, : 2 * n, : 2 * n] = self.Q
        if w:
            T = along_encoders(model) * self.integral
            Q[:, 2 * n :, 2 * n :] = T.T @ Q[:, :n, :n] @ T
        if self.R is not None:
            return Q, np.broadcast_to(self.R, (k, *self.R.shape))
        R = np.swapaxes(B, 1, 2) @ np.linalg.solve(M, B) / self.omega**2
        return Q, (R + np.swapaxes(R, 1, 2)) / 2


def along_encoders(model: Model) -> Array:
    """Derivative (n, m) of the coordinates in the encoders' readings, for an undeformed arm."""
    T = moved_by_joints(model.arm)
    return T @ np.linalg.inv(actuated(model) @ T)


@final
@dataclass(frozen=True, eq=False)
class Gains:
    """Gains of u = u_ref - K (x - x_ref, w), where w are integrals of the encoders' errors, if any.

    Attributes
    ----------
    times : (k,)
        From 0 to the end of the motion, or to the last sample before it [s].
    K : (k, m, s)
    until : float
        End of the motion [s].
    after : (m, s)
        Gain after the end.
    P : (k, s, s)
        For "lqr": x' P(t) x is the total future cost of a deviation x at t.
    poles : (s,)
        For "lqr": poles of the closed loop after the end [1/s].
    sizes : (s, s), (m, m), optional
        Scales L and L_u: entries of L' x, and of L_u' u, count alike.
    """

    times: Array
    K: Array
    until: float
    after: Array
    P: Array | None = None
    poles: Array | None = None
    sizes: tuple[Array, Array] | None = None


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """The linear-quadratic problem along a motion, in scaled coordinates S x.

    Attributes
    ----------
    errors : (s, s)
        Matrix from x to the rates of the integrals.
    period : float, optional
        With a period the integrals are sums of samples, and no part of A.
    """

    model: Model
    motion: Motion
    weighed: Weights
    S: Array
    errors: Array
    period: float | None

    def models(self, t: Array) -> tuple[Array, Array]:
        """A and B at times (k,); after the motion those of its end."""
        return self.scaled(*linear_models(self.model, self.motion, np.minimum(t, self.motion.end)))

    def weights(self, t: Array) -> tuple[Array, Array]:
        """Q and R at times (k,)."""
        return self.weighed_at(self.motion.states(np.minimum(t, self.motion.end))[0])

    def scaled(self, A: Array, B: Array) -> tuple[Array, Array]:
        """A and B (k, ...) of (q, qd) in scaled coordinates, with the integrals."""
        w = len(self.weighed.integral)
        A, B = np.pad(A, ((0, 0), (0, w), (0, w))), np.pad(B, ((0, 0), (0, w), (0, 0)))
        A, B = self.S[:, None] * A / self.S, self.S[:, None] * B
        return (A + self.errors if self.period is None else A), B

    def weighed_at(self, q: Array) -> tuple[Array, Array]:
        """Q and R at configurations (k, n) in scaled coordinates."""
        Q, R = self.weighed.at(self.model, q)
        return Q / np.outer(self.S, self.S), R

    def staying(self, A: Array, B: Array, q: Array) -> tuple[Array, Array, Array]:
        """P, K and poles [1/s] of the stationary problem."""
        (A,), (B,) = self.scaled(A[None], B[None])
        (Q,), (R,) = self.weighed_at(q[None])
        if self.period is None:
            return stationary("Tracking", A, B, Q, R, None)
        F, G = held(A, B, self.period)
        return stationary("Tracking", F + self.period * self.errors, G, Q, R, self.period)


def gains_along(model: Model, motion: Motion, q: Array, u: Array, weighed: Weights, period: float | None) -> Gains:
    """Return the gains with the least total future cost from any time on, along the motion and at the equilibrium after
    it.

    The cost is the integral of x' Q x + u' R u or, with a period, the sum over the samples. q, u are the equilibrium.
    """
    n, w = model.nv, len(weighed.integral)
    A, B = linear(model, q, u)
    M, T = model.mass_matrix(q), along_encoders(model)
    S = scales(A, M)
    check_modes("Tracking", S[:, None] * A / S, S[:, None] * B, M, model.velocities, period)
    errors = np.zeros((2 * n + w, 2 * n + w))
    if w:
        S = np.append(S, S[0] / np.sqrt(M[0, 0]) * np.sqrt(np.diag(T.T @ M @ T)) * weighed.integral)
        errors[2 * n :, :n] = actuated(model)
    problem = Problem(model, motion, weighed, S, S[:, None] * errors / S, period)
    _, after, poles = problem.staying(A, B, q)
    # if the motion does not end at rest, the solution of the equilibrium would begin with a jump, and ring
    (A,), (B,) = linear_models(model, motion, np.array([motion.end]))
    P_end = problem.staying(A, B, motion.q[-1])[0]
    if period is None:
        corners = np.unique(np.concatenate([[0.0], motion.jumps[motion.jumps < motion.end], [motion.end]]))
        found, until = horizon.continuous("Tracking", problem, corners, P_end), motion.end
    else:
        count = samples(motion.end, period)
        found, until = horizon.sampled(problem, period, count, P_end, period * problem.errors), count * period
    (Q,), (R,) = problem.weighed_at(q[None])
    sizes = S[:, None] * np.linalg.cholesky(Q + LEAST * np.eye(len(S))), np.linalg.cholesky(R)
    return Gains(found.times, found.K * S, until, after * S, S[:, None] * found.P * S, poles, sizes)


def samples(end: float, period: float) -> int:
    """Number of periods until a motion has ended; raises `DescriptionError` if there are too many."""
    count = np.ceil(end / period - 1e-9)
    if count > MOST_SAMPLES:
        most = f"at most {MOST_SAMPLES} are allowed"
        raise DescriptionError(f"Tracking: a motion of {end:g} s has {count:.3g} periods of {period:g} s, and {most}")
    return max(1, int(count))
