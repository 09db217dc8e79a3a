"""Optimal state feedback of a linear system in coordinates and rates, and the conditions for its existence."""

import warnings

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.control.gains import gain
from flexarm.errors import DescriptionError, SlowSampling
from flexarm.model import Model, closures
from flexarm.simulation.closed_loop import continuous, held

UNREACHED = 1e-9
"""Relative size below which the inputs do not move an eigenvalue, so that its mode is not controllable.

The reference is the norm of the system matrix, in scaled coordinates. Rounding leaves 1e-15, and a hub's torque moves
the 20th mode of a beam by 1e-6.
"""
STABLE = 1e-11
"""Relative size below which a negative real part does not count as stable."""
ORIGIN = 3e-8
"""Relative size below which an eigenvalue counts as 0, because rounding splits double eigenvalues."""
DOUBLINGS, ROUNDED, SOLVED = 60, 1e-16, 1e-10
"""Largest number of doublings, and two tolerances relative to P.

The first is the change in a doubling that ends the iteration. The second is the largest residual of Riccati's equation.
"""


def linear(model: Model, q: Array, u: Array) -> tuple[Array, Array]:
    """A (2n, 2n) and B (2n, m) of the arm near rest at q under u, for (q, qd): exact derivatives, local coordinates."""
    n, m = model.nv, len(u)
    q_, qd_, u_ = (np.array(model.slope("forward_dynamics", to)(q, np.zeros(n), u)) for to in ("q", "qd", "u"))
    return np.block([[np.zeros((n, n)), np.eye(n)], [q_, qd_]]), np.vstack([np.zeros((n, m)), u_])


def energy(M: Array, K: Array) -> Array:
    """Q for (p, pd) so that x' Q x is the energy p' K p / 2 + pd' M pd / 2."""
    zero = np.zeros_like(M)
    Q = np.block([[K, zero], [zero, M]]) / 2
    return (Q + Q.T) / 2


def effort(model: Model, q: Array, omega: float) -> Array:
    """R = B' M^-1 B / omega^2: u' R u is twice the energy that u gives the arm, from rest, in the time 1 / omega.

    With closures, M and B are those of the motions that they allow. With an energy for Q, units and the choice of
    coordinates make no difference. A shape with another scale leads to the same control law. Bryson's rule, by the
    largest allowed values, would need such a value for every amplitude.
    """
    B, M = model.input_matrix(q), model.mass_matrix(q)
    if model.arm.closures:
        N = closures.independent(model, q)[0]
        B, M = N.T @ B, N.T @ M @ N
    R = B.T @ np.linalg.solve(M, B) / omega**2
    return (R + R.T) / 2


def weights(what: str, Q: ArrayLike, R: ArrayLike, states: int, inputs: int) -> tuple[Array, Array]:
    """Return Q and R as matrices; raises `DescriptionError` unless they are symmetric, Q >= 0 and R > 0."""
    found = []
    for name, value, size in (("Q", Q, states), ("R", R, inputs)):
        W = gain(f"{what}: {name}", value, size)
        scale = np.abs(W).max()
        if np.abs(W - W.T).max() > 1e-9 * scale:
            raise DescriptionError(f"{what}: {name} is not symmetric")
        W = (W + W.T) / 2
        d = np.sqrt(np.where(np.diag(W) > 0, np.diag(W), scale or 1.0))
        least = float(np.linalg.eigvalsh(W / np.outer(d, d))[0])  # independent of units
        if least <= (-1e-9 if name == "Q" else 1e-12):
            must = "be positive semidefinite" if name == "Q" else "be positive definite"
            raise DescriptionError(f"{what}: {name} must {must}; it has the eigenvalue {np.linalg.eigvalsh(W)[0]:.4g}")
        found.append(W)
    return found[0], found[1]


def optimal(
    what: str, A: Array, B: Array, M: Array, Q: Array, R: Array, names: tuple[str, ...], period: float | None
) -> tuple[Array, Array]:
    """K (m, 2k) and the closed loop's poles [1/s], of dx/dt = A x + B u under u = -K x, x = (p, pd).

    K minimises the integral of x' Q x + u' R u. With a period it minimises the sum of the same over the samples, for
    the system driven through a zero-order hold. M (k, k) is an inertia matrix for p, which scales the equations and the
    modes. `names` are those of p.

    Raises `DescriptionError` if an unstable mode is not controllable, or if no stabilising solution is found.
    """
    S = scales(A, M)
    A, B = S[:, None] * A / S, S[:, None] * B
    check_modes(what, A, B, M, names, period)
    F, G = (A, B) if period is None else held(A, B, period)
    _, K, poles = stationary(what, F, G, Q / np.outer(S, S), R, period)
    return K * S, poles


def scales(A: Array, M: Array) -> Array:
    """Scales S (2k,) of coordinates and rates: entries of S x have similar sizes, x' S^2 x / 2 is about an energy."""
    root = np.sqrt(np.diag(M))
    omega = float(np.abs(np.linalg.eigvals(A)).max()) or 1.0
    return np.concatenate([root * omega, root])


def stationary(what: str, F: Array, G: Array, Q: Array, R: Array, period: float | None) -> tuple[Array, Array, Array]:
    """Solve the algebraic Riccati equation in scaled coordinates.

    Returns P, K and the closed loop's poles [1/s]. With a period, F and G are those of the discrete system. Raises
    `DescriptionError` if there is no stabilising solution.
    """
    from scipy.linalg import LinAlgError, solve_continuous_are

    try:
        P = solve_continuous_are(F, G, Q, R) if period is None else from_sample_to_sample(F, G, Q, R)
    except (LinAlgError, ValueError) as error:
        raise _unsolved(what, " ".join(str(error).split())) from None
    K = np.linalg.solve(R, G.T @ P) if period is None else np.linalg.solve(R + G.T @ P @ G, G.T @ P @ F)
    poles = np.linalg.eigvals(F - G @ K)
    if not np.isfinite(poles).all() or not is_stable(poles, period):
        raise _unsolved(what, "its solution does not stabilize the arm; give undamped states a weight in Q")
    return P, K, poles if period is None else continuous(poles, period)


def from_sample_to_sample(F: Array, G: Array, Q: Array, R: Array, S: Array | None = None) -> Array:
    """P of F' P F - P + Q = (F' P G + S)(R + G' P G)^-1 (G' P F + S'), S default zero: by SciPy, or by `doubling`.

    Raises SciPy's error if neither finds it.
    """
    from scipy.linalg import LinAlgError, solve_discrete_are

    try:
        return solve_discrete_are(F, G, Q, R, s=S)  # type: ignore[no-any-return]
    except (LinAlgError, ValueError):
        fed = np.zeros_like(G.T) if S is None else np.linalg.solve(R, S.T)  # eliminates the cross term
        doubled = doubling(F - G @ fed, G, Q if S is None else _even(Q - S @ fed), R)
        if doubled is None:
            raise
        return doubled


def doubling(F: Array, G: Array, Q: Array, R: Array) -> Array | None:
    """P of the discrete algebraic Riccati equation by structured doubling and one Newton step, or None.

    After k doublings H is the cost-to-go over 2^k samples. SciPy reorders eigenvalues of the pencil, which fails if
    they are too close to each other. Doubling does not reorder. (Chu, Fan, Lin & Wang, Int. J. Control 77, 2004, eq. 17
    to 19; Hewer, IEEE Trans. Automatic Control 16, 1971.)
    """
    from scipy.linalg import LinAlgError, solve_discrete_lyapunov

    n, A, N, H = len(F), F, G @ np.linalg.solve(R, G.T), Q
    with np.errstate(all="ignore"):
        try:
            for _ in range(DOUBLINGS):
                W = np.linalg.solve(np.eye(n) + N @ H, np.hstack([A, N]))  # (I + N H)^-1 [A, N]
                more = A.T @ H @ W[:, :n]
                A, N, H = A @ W[:, :n], _even(N + A @ W[:, n:] @ A.T), _even(H + more)
                if not np.abs(more).max() > ROUNDED * np.abs(H).max():
                    break
            K = np.linalg.solve(R + G.T @ H @ G, G.T @ H @ F)
            if not is_stable(np.linalg.eigvals(F - G @ K), 1.0):
                return None
            P = _even(solve_discrete_lyapunov((F - G @ K).T, Q + K.T @ R @ K, method="bilinear"))
            rest = F.T @ P @ (F - G @ np.linalg.solve(R + G.T @ P @ G, G.T @ P @ F)) + Q - P
        except (LinAlgError, ValueError):
            return None
        return P if np.abs(rest).max() <= SOLVED * np.abs(P).max() else None


def _even(X: Array) -> Array:
    return (X + X.T) / 2  # type: ignore[no-any-return]


def _unsolved(what: str, why: str) -> DescriptionError:
    return DescriptionError(f"{what}: the Riccati equation has no solution: {why}")


def is_stable(poles: Array, period: float | None = None) -> bool:
    """True if every pole lies in the left half plane or, with a period, every multiplier inside the unit circle."""
    return bool((poles.real < 0).all() if period is None else (np.abs(poles) < 1).all())


def check_modes(what: str, A: Array, B: Array, M: Array, names: tuple[str, ...], period: float | None) -> None:
    """Raise `DescriptionError` for an unstable mode that is not controllable (Popov, Belevitch, Hautus).

    Warns if the period is too long for the fastest controllable mode. A and B are scaled, see `scales`.
    """
    M = M / np.sqrt(np.outer(np.diag(M), np.diag(M)))
    size = float(np.linalg.norm(A, 2)) or 1.0
    sizes = np.linalg.norm(B, axis=0)
    B = B * size / np.where(sizes > 0, sizes, 1.0)  # scales each actuator by itself: newtons and newton metres
    fastest = 0.0
    for s in np.linalg.eigvals(A):
        s = 0.0 if abs(s) < ORIGIN * size else s
        left, singular, _ = np.linalg.svd(np.hstack([s * np.eye(len(A)) - A, B]))
        if singular[-1] > UNREACHED * size:
            fastest = max(fastest, abs(np.imag(s)))
        elif np.real(s) > -STABLE * size:
            k = len(names)
            momentum = left[k:, -1] if np.abs(left[k:, -1]).max() > 1e-3 else left[:k, -1]
            name = names[int(np.argmax(np.abs(np.linalg.solve(M, momentum))))]
            at = f"at {abs(np.imag(s)):.4g} rad/s" if abs(np.imag(s)) > 0 else f"that grows with {np.real(s):.4g} 1/s"
            at = at if s else "without stiffness"
            message = f"a mode {at}, mainly of {name}, is neither stable nor controllable"
            raise DescriptionError(f"{what}: {message}; add damping or leave the mode out")
    if period is not None and period * fastest > np.pi:
        half = f"half the fastest controlled mode's, {np.pi / fastest:.4g} s ({fastest:.4g} rad/s)"
        warnings.warn(
            f"{what}: period is {float(period):g} s, longer than {half}; this mode is aliased: sample faster",
            SlowSampling,
            stacklevel=2,
        )
