"""Linear models with fewer states, which keep rigid-body modes and every other mode that does not decay."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from flexarm.analysis import equilibrium
from flexarm.analysis.balance import computing
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import (
    Fault,
    checked_array,
    checked_flag,
    checked_integer,
    choices,
    counted,
    refused,
    shown,
)
from flexarm.errors import DescriptionError
from flexarm.model import ModelLike, as_model
from flexarm.model.linear import linearize, symmetric_modes
from flexarm.robust.norms import largest_gain
from flexarm.robust.systems import Matrices, beside, wired

if TYPE_CHECKING:
    import control

    from flexarm.model.outputs import Sensor

Method = Literal["balanced", "modal"]
METHODS = get_args(Method)

LARGEST = 10_000
"""Largest order."""
AXIS = 1e-9
"""Share of a pole's size. A pole that is nearer to the imaginary axis does not decay."""
STILL = 1e-7
"""Share of the fastest pole. A slower pole counts as zero, as rounding moves a double zero by up to 3e-8."""
REFINEMENTS = 3
SAME = 1e-6
"""Relative difference of the rigid-body parts of two models above which their difference has no finite norm."""
UNSEEN = 1e-11
"""Hankel singular value, in units of the largest, of a state that is not controllable or not observable."""
DEPENDENT = 1e-10
"""Share of a vector's length that must be left after projection, for a new direction in a basis."""


@final
@brief
@dataclass(frozen=True, eq=False)
class Reduction:
    """A reduced model.

    Attributes
    ----------
    system : control.StateSpace
        The reduced model, with the inputs and outputs of the complete one.
    kept : int
        Number of its states that belong to rigid-body modes and other modes that do not decay. They are exact.
    error : float
        Largest gain of the difference of the two models over all frequencies, exact to 1e-6. It is infinite if their
        parts that do not decay differ.
    bound : float
        Upper bound of the error, 2 (sigma_k+1 + ... + sigma_n) of a balanced reduction; otherwise the error.
    hankel : (n - kept,)
        Hankel singular values of the part that decays, the largest first.
    """

    system: "control.StateSpace"
    kept: int
    error: float
    bound: float
    hankel: Array

    @property
    def order(self) -> int:
        """Number of states of the reduced model."""
        return int(self.system.nstates)


@computing("reduce_system")
def reduce_system(
    system: "control.StateSpace", order: int, method: Method = "balanced", static: bool = True
) -> Reduction:
    """Return a model of a given order, in which all modes that do not decay are exact.

    The model is split into a part that decays and the rest: rigid-body modes, undamped and unstable modes. Only the
    part that decays is reduced.

    - "balanced": truncation of the states that are least controllable and observable. States without effect are left
      out, so that the order may be lower than asked. The error is at most twice the sum of the Hankel singular values
      that are left out: K. Glover, International Journal of Control 39 (1984) 1115-1193. With `static` the fast states
      are replaced by their values at rest, with the same bound (Y. Liu and B. D. O. Anderson, International Journal of
      Control 50 (1989) 1379-1405).
    - "modal": the slowest modes, which keep their frequencies and dampings. With `static` the others contribute their
      deflection at rest, by a feedthrough matrix D.

    Parameters
    ----------
    system : control.StateSpace
        Continuous, for example of `model.linearize`.
    order : int
        Number of states of the reduced model, including those that are kept.
    method : "balanced" or "modal"
    static : bool
        True for the exact response at zero frequency, False for an exact one at infinite frequency.

    Raises
    ------
    DescriptionError
        If the order is below the number of states that are kept, or would split a pair of complex poles.
    """
    where = "reduce_system"
    G = Matrices.of(where, system)
    with refused(where):
        order = checked_integer(order, LARGEST, "order")
        static = checked_flag(static, "static")
        if method not in METHODS:
            raise Fault("method", f"is {shown(method)}; it must be {choices(*map(repr, METHODS))}")
    rest, decaying = split(G)
    k = order - rest.order
    if not 0 <= k <= decaying.order:
        raise DescriptionError(
            f"{where}: order is {order}; it must be from {rest.order} to {G.order}, "
            f"as {counted(rest.order, 'state')} without decay must be kept"
        )
    hankel, T, Ti = balancing(decaying)
    if method == "balanced":
        minimal = int((hankel > UNSEEN * hankel[:1].max(initial=0.0)).sum())
        k, T, Ti = min(k, minimal), T[:, :minimal], Ti[:minimal]
        ordered = Matrices(Ti @ decaying.A @ T, Ti @ decaying.B, decaying.C @ T, decaying.D)
    else:
        ordered = _by_size(where, decaying, k, rest.order)
    small = _without(ordered, k, static)
    error = largest_gain(_difference(decaying, small)).value
    bound = 2.0 * float(hankel[k:].sum()) if method == "balanced" else error
    both = _added(rest, small)
    names = {"inputs": system.input_labels, "outputs": system.output_labels}
    return Reduction(both.state_space(**names), rest.order, error, bound, hankel)


@computing("reduce_arm")
def reduce_arm(
    model: ModelLike,
    q: ArrayLike,
    outputs: Sequence["Sensor"],
    points: ArrayLike,
    modes: int = 0,
) -> Reduction:
    """Return a model of an arm at rest that is again a mechanical system, by a projection of M, D and K.

    M d2x/dt2 + D dx/dt + K x = B u is projected onto the rigid-body modes, the slowest `modes` natural modes, and the
    responses (s^2 M + s D + K)^-1 B and (s^2 M + s D + K)^-T C' at real points s. These points are those of a Krylov
    method of second order: the transfer matrix and its slope are exact there. The reduced matrices are symmetric and
    positive semidefinite like those of the arm, so that the reduced model dissipates energy, too: Z. Bai and Y. Su,
    SIAM Journal on Scientific Computing 26 (2005) 1692-1709; C. Beattie and S. Gugercin, Systems & Control Letters 58
    (2009) 225-232.

    Parameters
    ----------
    model : Model, Arm, str or path
    q : (nq,) or (m,)
        Configuration near an equilibrium, or joint coordinates alone.
    outputs : list of Sensor
        Sensors of positions. Readings of rates and accelerations have exact values, but not exact slopes.
    points : float or (k,)
        Points s at which the reduced model is exact [1/s], positive, near the bandwidth of the controller.
    modes : int
        Number of natural modes that are added, the slowest first.

    Raises
    ------
    DescriptionError
        If the drives have states, if the arm has closures, or if an argument does not fit.
    """
    where = "reduce_arm"
    with refused(where):
        model = as_model(model)
        at_s = np.atleast_1d(checked_array(points, "points"))
        modes = checked_integer(modes, LARGEST, "modes")
        if at_s.ndim > 1 or not (at_s > 0.0).all():
            raise Fault("points", f"is {shown(points)}; it must be a positive number or a list of these")
    if model.states or model.arm.closures:
        what = "drives with states" if model.states else "closures"
        raise DescriptionError(f"{where}: arm {model.arm.name!r} has {what}; use reduce_system")
    at, u = equilibrium(model, q, held="joints")
    full = linearize(model, at, np.zeros(model.nv), u, outputs)
    n = model.nv
    M = model.mass_matrix(at)
    A, B, C, E = (np.asarray(part) for part in (full.A, full.B, full.C, full.D))
    K, D, F = -M @ A[n:, :n], -M @ A[n:, n:], M @ B[n:]
    K = (K + K.T) / 2.0
    V = _basis(M, D, K, F, C, at_s, modes)
    Mr, Dr, Kr = (V.T @ part @ V for part in (M, D, K))
    k = V.shape[1]
    small = Matrices(
        np.block([[np.zeros((k, k)), np.eye(k)], [-np.linalg.solve(Mr, Kr), -np.linalg.solve(Mr, Dr)]]),
        np.vstack([np.zeros((k, F.shape[1])), np.linalg.solve(Mr, V.T @ F)]),
        np.hstack([C[:, :n] @ V, C[:, n:] @ V]),
        E,
    )
    whole = Matrices(A, B, C, E)
    (rest, decaying), (rest_small, decaying_small) = split(whole), split(small)
    error = np.inf
    if rest.order == rest_small.order and _alike(rest, rest_small, decaying):
        error = largest_gain(_difference(decaying, decaying_small)).value
    names = {"inputs": full.input_labels, "outputs": full.output_labels}
    return Reduction(small.state_space(**names), rest.order, error, error, balancing(decaying)[0])


def split(G: Matrices) -> tuple[Matrices, Matrices]:
    """Return the part of a system that does not decay, and the part that decays, whose sum is the system.

    The feedthrough matrix D belongs to the part that decays. The parts are separated by an ordered Schur form and a
    Sylvester equation.
    """
    at = G.balanced
    zero = np.zeros_like(G.D)
    s = linalg.eigvals(at.A) if at.order else np.empty(0)
    still = np.abs(s) <= STILL * np.abs(s).max(initial=0.0)
    away = np.abs(s[~still])
    edge = np.sqrt(np.abs(s[still]).max(initial=0.0) * away.min(initial=np.inf)) if still.any() and len(away) else 0.0
    edge = np.inf if still.all() and len(s) else edge

    def decays(re: float, im: float) -> bool:
        return bool(np.hypot(re, im) > edge and re < -AXIS * np.hypot(re, im))

    if not len(s):
        return Matrices(at.A, at.B, at.C, zero), at
    T, Z, k = linalg.schur(at.A, output="real", sort=decays)
    U, V = Z[:, :k], Z[:, k:] + Z[:, :k] @ linalg.solve_sylvester(T[:k, :k], -T[k:, k:], -T[:k, k:])
    V, kept = _refined(at.A, U, T[:k, :k], V, T[k:, k:])
    B = np.linalg.solve(np.hstack([U, V]), at.B)
    return Matrices(kept, B[k:], at.C @ V, zero), Matrices(T[:k, :k], B[:k], at.C @ U, G.D)


def _refined(A: Array, U: Array, decaying: Array, V: Array, kept: Array) -> tuple[Array, Array]:
    """Return a more accurate basis V of the motions that do not decay, and their matrix, A V = V kept.

    Rotations lose the zeros of A, so that double zeros move by the square root of the rounding of its largest number.
    The residual of A V is exact to rounding of the numbers themselves.
    """
    for _ in range(REFINEMENTS if len(kept) else 0):
        k = len(decaying)
        off = np.linalg.solve(np.hstack([U, V]), A @ V - V @ kept)
        kept = kept + off[k:]
        if k:
            V = V + U @ linalg.solve_sylvester(decaying, -kept, -off[:k])
    return V, kept


def balancing(G: Matrices) -> tuple[Array, Array, Array]:
    """Return the Hankel singular values, T and T^-1 of balanced states x = T x_b of a stable system.

    Both Gramians are the diagonal matrix of these values in balanced states. States without effect have the value 0 and
    no direction in T.
    """
    n = G.order
    if not n:
        return np.empty(0), np.zeros((0, 0)), np.zeros((0, 0))
    P = linalg.solve_continuous_lyapunov(G.A, -G.B @ G.B.T)
    Q = linalg.solve_continuous_lyapunov(G.A.T, -G.C.T @ G.C)
    R, L = _root(P), _root(Q)
    U, hankel, V = np.linalg.svd(L.T @ R)
    root = np.sqrt(np.maximum(hankel, np.finfo(float).eps * max(hankel[0], 1e-300)))
    return hankel, R @ V.T / root, (U / root).T @ L.T


def _root(P: Array) -> Array:
    """Return R with R R' = P."""
    values, vectors = np.linalg.eigh((P + P.T) / 2.0)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _by_size(where: str, G: Matrices, k: int, others: int) -> Matrices:
    """Return the system in states whose first k belong to the slowest modes."""
    if k in (0, G.order):
        return G
    size = np.sort(np.abs(np.linalg.eigvals(G.A)))
    if not size[k] > (1.0 + 1e-9) * size[k - 1]:
        raise DescriptionError(
            f"{where}: order {k + others} splits a pair of complex poles at {size[k]:.4g} rad/s; take one more or less"
        )
    edge = np.sqrt(size[k - 1] * size[k])
    T, Z, _ = linalg.schur(G.A, output="real", sort=lambda re, im: bool(np.hypot(re, im) < edge))
    X = linalg.solve_sylvester(T[:k, :k], -T[k:, k:], -T[:k, k:])
    B, C = Z.T @ G.B, G.C @ Z
    A = linalg.block_diag(T[:k, :k], T[k:, k:])
    return Matrices(A, np.vstack([B[:k] - X @ B[k:], B[k:]]), np.hstack([C[:, :k], C[:, k:] + C[:, :k] @ X]), G.D)


def _without(G: Matrices, k: int, static: bool) -> Matrices:
    """Return the system with its first k states. With `static` the others have their values at rest."""
    A, B, C, D = G.A[:k, :k], G.B[:k], G.C[:, :k], G.D
    if not static or k == G.order:
        return Matrices(A, B, C, D)
    W = np.linalg.solve(G.A[k:, k:], np.hstack([G.A[k:, :k], G.B[k:]]))
    return Matrices(
        A - G.A[:k, k:] @ W[:, :k], B - G.A[:k, k:] @ W[:, k:], C - G.C[:, k:] @ W[:, :k], D - G.C[:, k:] @ W[:, k:]
    )


def _added(first: Matrices, second: Matrices, sign: float = 1.0) -> Matrices:
    """Return the sum of two systems, or their difference for the sign -1."""
    both = beside(first, second)
    (p, m), one = first.D.shape, np.eye(len(first.D))
    inputs, outputs = np.vstack([np.eye(m)] * 2), np.hstack([one, sign * one])
    return wired("reduction", both, np.zeros((2 * m, 2 * p)), inputs, outputs, np.zeros((p, m)))


def _difference(first: Matrices, second: Matrices) -> Matrices:
    return _added(first, second, -1.0)


def _alike(first: Matrices, second: Matrices, beside: Matrices) -> bool:
    """Return True if two parts that do not decay are equal, except for rounding, near the poles of a part that does."""
    if not first.order:
        return True
    size = np.abs(linalg.eigvals(beside.A)) if beside.order else np.ones(1)
    for omega in (0.3 * size.min(), size.max()):
        a, b = first(1j * omega), second(1j * omega)
        if np.abs(a - b).max() > SAME * np.abs(a).max():
            return False
    return True


def _basis(M: Array, D: Array, K: Array, F: Array, C: Array, points: Array, modes: int) -> Array:
    """Return an M-orthonormal basis (n, k) of modes and responses."""
    n = len(M)
    omega2, V, _ = symmetric_modes(M, K)
    first = np.argsort(omega2, kind="stable")
    rigid = int((omega2 <= 0.0).sum())
    tried = [V[:, first[: rigid + modes]]]
    for s in points:
        dynamic = s**2 * M + s * D + K
        tried += [np.linalg.solve(dynamic, F), np.linalg.solve(dynamic.T, (C[:, :n] + s * C[:, n:]).T)]
    L = np.linalg.cholesky(M).T  # M = L' L
    found = np.zeros((n, 0))
    for vector in np.hstack(tried).T:
        y = L @ vector
        size = np.linalg.norm(y)
        for _ in range(2):
            y = y - found @ (found.T @ y)
        if size and np.linalg.norm(y) > DEPENDENT * size:
            found = np.hstack([found, y[:, None] / np.linalg.norm(y)])
    return linalg.solve_triangular(L, found)
