"""An arm under a control law: its equilibria, its poles, and the growth of deviations along a motion."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.arrays import Array
from flexarm.attitude import configuration, displaced, local
from flexarm.cached import cached_property
from flexarm.errors import FlexarmError
from flexarm.model import Model, closures
from flexarm.model.linear import of_independent, slopes
from flexarm.model.local import localized
from flexarm.simulation.law import Law

if TYPE_CHECKING:
    import casadi as ca


FELT = 1e-12
"""Share of the largest entry below which a coordinate counts as having no effect on the others."""

LONGEST = 0.5
"""Largest change of a number of the state in a step towards an equilibrium of an arm with closures.

Its coordinates follow curves, which the step does not. Without a limit the search left the closures from 0.4 rad away.
"""

LawSlopes = Callable[[float, Array, Array], tuple[Array, Array, Array, Array]]
"""A function (t, q, (qd, s, z, qdd)) -> u, next memory (or its rate), and the slopes of both with respect to (q, qd, s,
z, qdd). Slopes with respect to q are in local coordinates. qdd is present if the law measures it."""


@final
@dataclass(frozen=True, eq=False)
class Deviations:
    """Linear equations of small deviations x from a motion under a control law with memory z.

    With closures, x are deviations of the independent coordinates and rates, and of the states of the drives.

    Without sampling dx/dt = A x + B (u + d), with u = x_u x + z_u z. The rate dz/dt, or the next z, is x_z x + z_z z.

    Attributes
    ----------
    u, following, rate : u itself, the next memory or its rate, and the rate of (qd, s)
    A (k, k), B (k, m) : matrices of the arm, in continuous time
    to_u, to_z : slopes with respect to (x, z)
    felt (memory, m) : effect on the next memory of an input that is added to u at the drives
    all_of (2 n + s, k) : deviations of all (q, qd, s) as a function of x
    chosen : indices of x among (q, qd, s)
    """

    u: Array
    following: Array
    rate: Array
    A: Array
    B: Array
    to_u: Array
    to_z: Array
    felt: Array
    all_of: Array
    chosen: list[int]

    def plant(self, period: float | None) -> tuple[Array, Array]:
        """Return A and B. With a period, return the matrices of one period with constant u."""
        return (self.A, self.B) if period is None else held(self.A, self.B, period)

    def closed(self, period: float | None) -> tuple[Array, Array]:
        """Return A of (x, z) under the law, and B of an input that is added to u at the drives."""
        A, B = self.plant(period)
        memory = len(self.to_z)
        A = np.vstack([np.hstack([A, np.zeros((len(A), memory))]) + B @ self.to_u, self.to_z])
        return A, np.vstack([B, self.felt])


@final
@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """An arm under a control law, with the state x = (q, qd, s, z).

    s are the states of the drives and z is the law's memory. q are local coordinates, see `attitude.local`. Deviations
    of a free base are a shift and a rotation in its own axes. If a law measures accelerations, they are those that the
    last u caused, and z ends with this u.

    Attributes
    ----------
    period : sampling period [s] of a law that was designed for one
    w : constant exogenous inputs; default zero
    slopes_of_law : replaces the law's own slopes by differentiation
    """

    model: Model
    law: Law
    period: float | None = None
    w: Array | None = None
    slopes_of_law: LawSlopes | None = None

    @property
    def memory(self) -> tuple[float, ...]:
        """Initial value of z."""
        return (*self.law.memory, *[0.0] * (len(self.model.inputs) * self.law.accelerates))

    def start(self, q: Array, qd: Array | None = None, s: Array | None = None, z: Array | None = None) -> Array:
        """Return x at a configuration (nq,).

        By default the arm is at rest and the law's memory has its initial value.
        """
        model = self.model
        given = [
            np.zeros(model.nv) if qd is None else qd,
            np.zeros(len(model.states)) if s is None else s,
            np.array(self.memory) if z is None else z,
        ]
        return np.concatenate([local(model.arm, q), *given])

    def matrix(self, t: float, x: Array) -> Array:
        """Return A of small deviations from a motion through x, dx/dt = A x, by exact derivatives at fixed time.

        With a period, A is the matrix of one cycle of the law, usually one period: x at the next sample is A x.
        """
        return chained([at.closed(self.period) for at in self.cycle(t, x)])[0]

    def poles(self, t: float, x: Array) -> Array:
        """Return the eigenvalues of A [1/s]. With a free base, omit coordinates on which nothing depends."""
        phases = self.cycle(t, x)
        s = multipliers(self.model, phases, self.period)
        return s if self.period is None else continuous(s, len(phases) * self.period)

    def cycle(self, t: float, x: Array) -> "tuple[Deviations, ...]":
        """Return the deviations at all samples of one cycle of the law, which starts at t.

        Most laws have cycles of one sample.
        """
        T = self.period or 0.0
        return tuple(self.deviations(t + i * T, x) for i in range(self.law.cycle))

    def begins(self, t: float) -> float:
        """Return the first time at or after t at which a cycle of several samples begins."""
        if self.period is None or self.law.cycle == 1:
            return t
        span = self.law.cycle * self.period
        return float(np.ceil(t / span - 1e-9)) * span

    def standing(self, t: float, x: Array) -> Array:
        """Return the equilibrium of arm and law near x, by Newton's method. Raise `FlexarmError` if there is none."""
        model, n = self.model, self.model.nv
        for _ in range(50):
            x = self._on_closures(x)
            at = self.deviations(t, x)
            k, end = len(at.A), len(at.all_of)
            # at an equilibrium, the next value of a sampled memory equals its last value
            still = 0.0 if self.period is None else 1.0
            J = np.vstack([np.hstack([at.A, np.zeros((k, len(x) - end))]) + at.B @ at.to_u, at.to_z])
            J[k:, k:] -= still * np.eye(len(x) - end)
            try:
                moving = np.concatenate([x[n : 2 * n], at.rate])[at.chosen]
                left = np.concatenate([moving, at.following - still * x[end:]])
                # the equilibria of a free base, of a ball joint or of a link with backlash form a continuum: take the
                # nearest by least squares
                loose = bool(model.arm.quaternions) or model.arm.touches
                step = -np.linalg.lstsq(J, left)[0] if loose else -np.linalg.solve(J, left)
            except np.linalg.LinAlgError:
                break
            if not np.isfinite(step).all():
                break
            if model.arm.closures:
                step = step * min(1.0, LONGEST / np.abs(step).max(initial=LONGEST))
            step = np.concatenate([at.all_of @ step[:k], step[k:]])
            q = displaced(model.arm, configuration(model.arm, x[:n]), step[:n])
            x = np.concatenate([local(model.arm, q), x[n:] + step[n:]])
            if not np.isfinite(x).all():
                break
            if np.abs(step).max() <= 1e-10 * (1 + np.abs(x).max()):
                if model.arm.touches and np.abs(left).max() > 1e-10 * (1 + np.abs(J).max()):
                    break  # without support the arm falls
                return x
        raise FlexarmError(
            f"arm {model.arm.name!r}: no equilibrium of the closed loop is near the end of the reference"
        )

    def _on_closures(self, x: Array) -> Array:
        """Return a state nearby that satisfies the closures."""
        model, n = self.model, self.model.nv
        if not model.arm.closures:
            return x
        q, _ = closures.assembled(model, configuration(model.arm, x[:n]))
        q, qd = closures.closed(model, q, x[n : 2 * n])
        return np.concatenate([local(model.arm, q), qd, x[2 * n :]])

    @property
    def rounds(self) -> bool:
        """True if the law rounds a signal."""
        return rounds(self._traced)

    def deviations(self, t: float, x: Array) -> Deviations:
        """Return the linear equations of small deviations from a motion through x = (q, qd, s, z)."""
        model, n = self.model, self.model.nv
        k = 2 * n + len(model.states)
        q, qd, s = configuration(model.arm, x[:n]), x[n : 2 * n], x[2 * n : k]
        law, own = self.slopes_of_law or self.law_slopes, len(self.law.memory)
        u, following, to_u, to_z = law(t, q, np.concatenate([x[n : k + own], self.felt(x)]))
        felt = np.zeros((own, len(u)))
        if self.law.accelerates:
            A, B = slopes(model, q, qd, x[k + own :], s=s, w=self.w)
            both = np.vstack([to_u, to_z, to_u])
            given, to_qdd = both[:, :-n], both[:, -n:]
            given[:, :k] += to_qdd @ A[n : 2 * n]
            both = np.hstack([given, to_qdd @ B[n : 2 * n, : len(u)]])
            to_u, to_z, following = both[: len(u)], both[len(u) :], np.concatenate([following, u])
            felt = np.vstack([felt, np.eye(len(u))])
        A, B = slopes(model, q, qd, u, s=s, w=self.w)
        B, rate = B[:, : len(u)], self._rate(q, qd, u, s)
        T, chosen = of_independent("closed loop", model, q, qd)
        if model.arm.closures:
            A, B = (A @ T)[chosen], B[chosen]
            to_u, to_z = (np.hstack([to[:, :k] @ T, to[:, k:]]) for to in (to_u, to_z))
        return Deviations(u, following, rate, A, B, to_u, to_z, felt, T, chosen)

    def felt(self, x: Array) -> Array:
        """Return the accelerations qdd at x that the law measures, or an empty array if it measures none."""
        model, n = self.model, self.model.nv
        if not self.law.accelerates:
            return np.empty(0)
        k = 2 * n + len(model.states)
        q, qd, s, u = configuration(model.arm, x[:n]), x[n : 2 * n], x[2 * n : k], x[k + len(self.law.memory) :]
        return self._rate(q, qd, u, s)[:n]

    def _rate(self, q: Array, qd: Array, u: Array, s: Array) -> Array:
        """Return the rate of (qd, s)."""
        model = self.model
        w = np.zeros(len(model.exogenous)) if self.w is None else self.w
        at = {"q": q, "qd": qd, "u": u, "s": s, "w": w}
        values = [at[name] for name in model.arguments("forward_dynamics")]
        if not len(s):
            return np.array(model.fixed("forward_dynamics")(*values)).ravel()
        return np.array(model.fixed("state_rate")(*values)).ravel()[model.nq : model.nq + model.nv + len(s)]

    @cached_property
    def _traced(self) -> "ca.Function":
        """The law as a function (t, q, (qd, s, z, qdd)) -> u, next memory or its rate."""
        import casadi as ca

        model, n, k = self.model, self.model.nv, len(self.model.states)
        ends = np.cumsum([0, n, k, len(self.law.memory), n * self.law.accelerates]).tolist()
        t, q, x = ca.SX.sym("t"), ca.SX.sym("q", model.nq), ca.SX.sym("x", ends[-1])
        qd, s, z, qdd = ca.vertsplit(x, ends)
        more = [*([s] if self.law.drives else []), qdd]
        u, after = self.law(t, localized(model.arm, q), qd, z, ca.DM.zeros(len(self.law.noise)), *more)
        return ca.Function("law", [t, q, x], [ca.densify(u), ca.densify(after(u))])

    @cached_property
    def _with_slopes(self) -> "ca.Function":
        import casadi as ca

        law = self._traced
        given = law.sx_in()
        values = averaged(law) if rounds(law) else law(*given)
        found = []
        for y in values:
            to_q = self.model.to_tangent(ca.jacobian(y, given[1]), [given[1]], "q")
            found.append(ca.densify(ca.horzcat(to_q, ca.jacobian(y, given[2]))))
        return ca.Function("law", given, [*values, *found])

    def law_slopes(self, t: float, q: Array, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return u, the next memory and exact slopes, see `LawSlopes`."""
        u, following, to_u, to_z = (np.array(y) for y in self._with_slopes(t, q, x))
        return u.ravel(), following.ravel(), to_u, to_z


def chained(systems: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return A and B of several systems x_next = A x + B u in sequence, with the same u for all.

    A single system in continuous time is returned as it is.
    """
    (A, B), *others = systems
    for F, G in others:
        A, B = F @ A, F @ B + G
    return A, B


def multipliers(model: Model, phases: Sequence[Deviations], period: float | None) -> Array:
    """Return the eigenvalues of `closed_matrix`: poles [1/s] or, with a period, factors of the modes in one cycle."""
    return np.linalg.eigvals(closed_matrix(model, phases, period))


def closed_matrix(model: Model, phases: Sequence[Deviations], period: float | None) -> Array:
    """Return the closed loop's matrix, for a free base without the coordinates on which nothing depends."""
    A = chained([at.closed(period) for at in phases])[0]
    if model.arm.free:
        moved = np.abs(A - np.eye(len(A)) * (period is not None))
        felt = np.flatnonzero(moved.max(axis=0) > FELT * moved.max())
        A = A[np.ix_(felt, felt)]
    return A


def rounds(law: "ca.Function") -> bool:
    """Return True if a function rounds a value, so that its slopes are zero or undefined."""
    import casadi as ca

    return any(law.instruction_id(k) == ca.OP_FLOOR for k in range(law.n_instructions()))


def averaged(law: "ca.Function") -> list["ca.SX"]:
    """Return the outputs of a function in which x - 1/2 replaces each floor(x).

    It is the mean over many steps of a rounded signal.
    """
    import casadi as ca

    given, work = law.sx_in(), [ca.SX(0)] * law.sz_w()
    found = [ca.SX.zeros(law.size_out(i)) for i in range(law.n_out())]
    for k in range(law.n_instructions()):
        op, to, of = law.instruction_id(k), law.instruction_output(k), law.instruction_input(k)
        if op == ca.OP_CONST:
            work[to[0]] = ca.SX(law.instruction_constant(k))
        elif op == ca.OP_INPUT:
            work[to[0]] = given[of[0]].nz[of[1]]
        elif op == ca.OP_OUTPUT:
            found[to[0]].nz[to[1]] = work[of[0]]
        elif op == ca.OP_FLOOR:
            work[to[0]] = work[of[0]] - 0.5
        elif len(of) == 1:
            work[to[0]] = ca.SX.unary(op, work[of[0]])
        else:
            work[to[0]] = ca.SX.binary(op, work[of[0]], work[of[1]])
    return found


def held(A: Array, B: Array, period: float) -> tuple[Array, Array]:
    """Return F and G of x_next = F x + G u: the exact solution of dx/dt = A x + B u with constant u between samples."""
    from scipy.linalg import expm

    n, m = B.shape
    both = expm(np.block([[A, B], [np.zeros((m, n + m))]]) * period)
    return both[:n, :n], both[:n, n:]


def continuous(multipliers: Array, period: float) -> Array:
    """Return the poles [1/s] of multipliers of one period. A multiplier of zero gives a pole at minus infinity."""
    with np.errstate(divide="ignore"):
        s = np.log(multipliers.astype(complex))
    return s.real / period + 1j * (s.imag / period)


def growth(
    matrices: Sequence[Array], sizes: Sequence[Array], step: float, period: float | None = None
) -> tuple[float, int, int]:
    """Return the largest growth of a deviation, and the two steps between which it occurs.

    `matrices` are those of `ClosedLoop` at the middles of equal steps, taken as constant on each step. x' W x, with W
    of `sizes`, is the square of a deviation's size. The growth of a deviation does not depend on the coordinates,
    unlike the real parts of frozen poles where the inertia changes.
    """
    from scipy.linalg import expm

    count = 1 if period is None else max(1, round(step / period))
    moved = [expm(A * step) if period is None else np.linalg.matrix_power(A, count) for A in matrices]
    roots = [np.linalg.cholesky(W).T for W in sizes]
    worst = (0.0, 0, 0)
    for i in range(0, len(moved), max(1, len(moved) // 12)):
        total = np.linalg.inv(roots[i])
        for j in range(i, len(moved)):
            total = moved[j] @ total
            worst = max(worst, (float(np.linalg.norm(roots[j] @ total, 2)), i, j + 1))
    return worst
