"""A model near a configuration or a state: natural modes, and the linear model for control design."""

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexarm.arrays import Array
from flexarm.attitude import local_names
from flexarm.checks import checked_flag, refused
from flexarm.errors import DescriptionError, UncertainResult
from flexarm.model import closures
from flexarm.model import outputs as outputs_
from flexarm.model.faults import without_inertia
from flexarm.model.outputs import Sensor
from flexarm.model.tracing import Traced
from flexarm.quaternions import crossed

if TYPE_CHECKING:
    from control import StateSpace

ROUNDED = 10.0 * float(np.finfo(float).eps)
"""Assumed relative error of each number of a matrix, which is a sum of some terms."""
LOW = 1e-3
"""Share of the largest omega^2 below which modes are computed again in the space that they span."""
UNKNOWN = 1e-3
"""Share of the smallest nonzero omega^2 above which an error by rounding comes with a warning."""


PUNCTUATION = r"\W"
"""Pattern of characters that no identifier has."""


def signal(name: str) -> str:
    """Return a name as a valid identifier, for a signal."""
    plain = re.sub(PUNCTUATION, "_", name)
    return plain if plain.isidentifier() else f"_{plain}"


def signals(names: Sequence[str], before: str = "") -> list[str]:
    """Return different signal names for several names: "a-b" and "a_b" become "a_b" and "a_b_2"."""
    found: list[str] = []
    for name in names:
        plain = f"{before}{re.sub(PUNCTUATION, '_', name)}" if before else signal(name)
        other, count = plain, 1
        while other in found:
            count += 1
            other = f"{plain}_{count}"
        found.append(other)
    return found


def input_signals(model: Traced, exogenous: bool = False) -> list[str]:
    """Return the names of a linear system's inputs, such as "u_upper_joint", and "w_push_fx" for exogenous inputs."""
    return [*signals(model.inputs, "u_"), *(signals(model.exogenous, "w_") if exogenous else [])]


def tip_jacobian(model: Traced, q: Array) -> Array:
    """Return the velocity and angular velocity of the tip, along the world's axes, by the rates qd: (6, n)."""
    R = model.evaluate("tip", q)[:3, :3]
    slope = np.array(model.slope("tip", "q")(q)).reshape(4, 4, -1)  # a pose is stored column by column
    turning = np.einsum("cik,jc->ijk", slope[:3, :3], R)
    return np.vstack([slope[3, :3], turning[2, 1], turning[0, 2], turning[1, 0]])


def held(B: Array) -> Array:
    """Return the deviations (n, n - m) that do not move the drives, B' dq = 0, in terms of the other coordinates.

    Each drive fixes the coordinate that it moves most while the previous drives fix theirs. If the hub turns with the
    shapes, that coordinate compensates the other coordinates' slopes there.
    """
    n, m = B.shape
    taken, left = [], B.copy()
    for j in range(m):
        taken.append(int(np.argmax(np.abs(left[:, j]))))
        left -= np.outer(left[:, j], left[taken[j]] / left[taken[j], j])
    free = [i for i in range(n) if i not in taken]
    N = np.zeros((n, n - m))
    N[free] = np.eye(n - m)
    if m:
        N[taken] = -np.linalg.solve(B[taken].T, B[free].T)
    return N


def modes(model: Traced, q: Array, locked: bool) -> tuple[Array, Array]:
    """Return natural frequencies (k,) and modes (n, k), of M-norm 1, about a configuration; see `Model.modes`."""
    q = model.single("modes", "q", q)
    with refused("modes"):
        checked_flag(locked, "locked")
    drives = model.evaluate("input_matrix", q)[:, : len(model.arm.driven)]
    N = held(drives) if locked else np.eye(model.nv)
    # gravity has no effect on an arm in free fall
    restoring = "stiffness_force" if model.arm.free else "restoring_force"
    stiffening = np.zeros((model.nv, model.nv))
    if model.arm.closures:
        N, stiffening = _within_closures(model, q, drives if locked else drives[:, :0], model.evaluate(restoring, q))
    if not N.shape[1]:
        return np.empty(0), N
    M, K = model.evaluate("mass_matrix", q), np.array(model.slope(restoring, 0)(q)) - stiffening
    if not (np.isfinite(M).all() and np.isfinite(K).all()):
        raise DescriptionError(f"arm {model.arm.name!r}: inertia or stiffness is not finite at this q")
    M, K = N.T @ M @ N, N.T @ K @ N
    whole = np.empty((model.nv, 0))
    if model.arm.free and not K[:6].any():  # rigid motions of the complete arm are decoupled from the other modes
        N, M, K, whole = _beside_the_whole(N, M, K)
    try:
        omega2, V, error = symmetric_modes(M, (K + K.T) / 2, len(M) * ROUNDED * _pendulum(model))
    except np.linalg.LinAlgError:
        fault = without_inertia(model, q) or "its inertia matrix is not positive definite"
        raise DescriptionError(f"arm {model.arm.name!r}: {fault}") from None
    _check_known(model, omega2, error)
    omega = np.append(np.zeros(whole.shape[1]), np.sign(omega2) * np.sqrt(np.abs(omega2)))
    order = np.argsort(omega, kind="stable")
    return omega[order], np.hstack([whole, N @ V])[:, order]


def _within_closures(model: Traced, q: Array, held: Array, force: Array) -> tuple[Array, Array]:
    """Return the motions (n, k) that closures and held drives allow, and the reactions' part of the stiffness.

    The reactions are those that balance the restoring force at rest, as far as drives and closures can.
    """
    closures.check_closed("modes", model, q)
    J = closures.jacobian(model, q)
    balance = np.linalg.lstsq(np.vstack([J, held.T]).T, force, rcond=closures.INDEPENDENT)[0]
    return closures.free_directions(np.vstack([J, held.T]))[0], closures.stiffening(model, q, balance[: len(J)])


def _pendulum(model: Traced) -> float:
    """Return omega^2 of a pendulum of the shortest link's length [1/s^2], the size of gravity terms that may cancel."""
    lengths = [x for link in model.arm.links if (x := getattr(link.body, "length", 0.0)) > 0.0]
    return float(np.linalg.norm(model.arm.gravity)) / min(lengths, default=1.0)


def symmetric_modes(M: Array, K: Array, floor: float = 0.0) -> tuple[Array, Array, Array]:
    """Return omega^2 (n,), V (n, n) with K V = M V omega^2 and V' M V = 1, and bounds (n,) of the errors of omega^2.

    The bounds follow from the rounding of the numbers of K. `floor` is the error by terms that cancelled in K. An
    omega^2 that is not above its error is 0. The eigenvalues of L^-1 K L^-T, M = L L', have rounding errors relative to
    the largest. Modes far below it are therefore computed again in the space that they span, where K has only small
    numbers, by the Rayleigh-Ritz method, whose errors are of second order in those of the space (B. N. Parlett, The
    symmetric eigenvalue problem, SIAM 1998, chapter 11). Raises `LinAlgError` if M is not positive definite.
    """
    n = len(M)
    if not n:
        return np.empty(0), np.empty((0, 0)), np.empty(0)
    C = np.linalg.inv(np.linalg.cholesky(M))
    omega2, V = np.linalg.eigh(C @ K @ C.T)
    V = C.T @ V
    size = np.abs(omega2)
    shared = n * (ROUNDED**2 / LOW) * size.max()  # from the remaining parts of fast modes in the space of the slow ones
    slow = size < LOW * size.max()
    within = np.zeros(n)
    if slow.any():
        S = V[:, slow]
        omega2[slow], W, within[slow] = symmetric_modes(S.T @ M @ S, S.T @ K @ S)
        V[:, slow] = S @ W
    own = n * ROUNDED * np.einsum("ik,ij,jk->k", np.abs(V), np.abs(K), np.abs(V))
    error = np.maximum(within, own) + shared + floor
    omega2[np.abs(omega2) <= error] = 0.0
    return omega2, V, error


def _check_known(model: Traced, omega2: Array, error: Array) -> None:
    """Warn if rounding leaves open whether a mode is stable."""
    known = np.abs(omega2[omega2 != 0.0])
    if (error[omega2 == 0.0] > UNKNOWN * known.min(initial=np.inf)).any():
        worst = np.sqrt(error[omega2 == 0.0].max())
        warnings.warn(
            f"arm {model.arm.name!r}: a frequency is returned as 0, because its rounding error is {worst:.2g} rad/s: "
            f"others reach {np.sqrt(known.max()):.2g} rad/s; make the stiffest or lightest part rigid, or use fewer "
            "modes",
            UncertainResult,
            stacklevel=4,
        )


def _beside_the_whole(N: Array, M: Array, K: Array) -> tuple[Array, Array, Array, Array]:
    """Return deviations without momentum, their inertia and stiffness, and the six rigid motions of M-norm 1."""
    base = np.linalg.cholesky(M[:6, :6])
    Y = np.vstack([-np.linalg.solve(M[:6, :6], M[:6, 6:]), np.eye(len(M) - 6)])
    return N @ Y, Y.T @ M @ Y, K[6:, 6:], N[:, :6] @ np.linalg.inv(base).T


def _turning(model: Traced, qd: Array) -> Array:
    """Return the rates of local coordinates by their own motion (n, n), nonzero for a free base and for ball joints.

    See `Traced.rates_in_tangent`.
    """
    A = np.zeros((model.nv, model.nv))
    for _, at in model.arm.quaternions:
        A[at, at] = -crossed(qd[at])
    if model.arm.free:
        A[:3, :3] = -crossed(qd[3:6])
        A[:3, 3:6] = -crossed(qd[:3])
    return A


def state_names(model: Traced) -> list[str]:
    """Return the names of a linear model's states: q, qd and states of drives.

    A free base has a shift, a turn and a twist, and a ball joint has a turn and an angular velocity.
    """
    twists = model.arm.twists
    rates = [*model.velocities[:twists], *(f"{name}_rate" for name in model.velocities[twists:])]
    return signals([*local_names(model.arm), *rates, *model.states])


def slopes(
    model: Traced, q: Array, qd: Array, u: Array, w: Array | None = None, s: Array | None = None
) -> tuple[Array, Array]:
    """Return A (k, k) and B (k, m) of deviations from a motion through a state, for (q, qd, s), q in local coordinates.

    If w is given, B also has columns for the exogenous inputs, after those of u.
    """
    n, k = model.nv, len(model.states)
    exogenous = np.zeros(len(model.exogenous)) if w is None else w
    at = {"q": q, "qd": qd, "u": u, "s": np.zeros(k) if s is None else s, "w": exogenous}
    values = [at[name] for name in model.arguments("forward_dynamics")]
    acting = ["u"] if w is None or not model.exogenous else ["u", "w"]
    moved = ["q", "qd", *(["s"] if k else [])]
    if k:
        rates = {name: np.array(model.slope("state_rate", name)(*values))[: 2 * n + k] for name in (*moved, *acting)}
        return np.hstack([rates[name] for name in moved]), np.hstack([rates[name] for name in acting])
    found = {name: np.array(model.slope("forward_dynamics", name)(*values)) for name in (*moved, *acting)}
    A = np.block([[_turning(model, qd), np.eye(n)], [found["q"], found["qd"]]])
    B = np.hstack([found[name] for name in acting])
    return A, np.vstack([np.zeros((n, B.shape[1])), B])


def of_independent(where: str, model: Traced, q: Array, qd: Array) -> tuple[Array, list[int]]:
    """Return small (q, qd, s) as a linear function of the independent ones of these, and the indices of these.

    J(q) qd = 0 determines the other coordinates and rates. Without closures all are independent. Raises
    `DescriptionError` for a state that does not satisfy the closures.
    """
    n, k = model.nv, len(model.states)
    if not model.arm.closures:
        return np.eye(2 * n + k), list(range(2 * n + k))
    closures.check_closed(where, model, q, qd)
    J, (N, free) = closures.jacobian(model, q), closures.independent(model, q)
    others = [i for i in range(n) if i not in free]
    P = np.zeros_like(N)
    P[others] = -np.linalg.lstsq(J[:, others], closures.rate_slopes(model, q, qd) @ N, rcond=closures.INDEPENDENT)[0]
    f = len(free)
    T = np.zeros((2 * n + k, 2 * f + k))
    T[:n, :f], T[n : 2 * n, :f], T[n : 2 * n, f : 2 * f], T[2 * n :, 2 * f :] = N, P, N, np.eye(k)
    return T, [*free, *(n + i for i in free), *range(2 * n, 2 * n + k)]


def linearize(
    model: Traced,
    q: Array,
    qd: Array,
    u: Array,
    outputs: Sequence[Sensor] | None,
    w: Array | None = None,
    s: Array | None = None,
) -> "StateSpace":
    """Return the linear model near a state; see `Model.linearize`."""
    import control

    arguments = [model.single("linearize", name, x) for name, x in (("q", q), ("qd", qd), ("u", u))]
    n, k = model.nv, len(model.states)
    given = {"s": np.zeros(k) if s is None else model.single("linearize", "s", s)}
    if w is not None:
        given["w"] = model.single("linearize", "w", w)
    at = dict(zip(("q", "qd", "u"), arguments, strict=True)) | given
    acting = ["u"] if w is None or not model.exogenous else ["u", "w"]
    values = [at.get(name, np.zeros(len(model.exogenous))) for name in model.arguments("forward_dynamics")]
    A, B = slopes(model, at["q"], at["qd"], at["u"], w=given.get("w"), s=given["s"])
    states = state_names(model)
    inputs = input_signals(model, exogenous="w" in acting)
    if outputs is None:
        C, D, names = np.eye(2 * n + k), np.zeros((2 * n + k, B.shape[1])), tuple(states)
    else:
        names = outputs_.names(model.arm, outputs)
        qdd = np.array(model.fixed("forward_dynamics")(*values)).ravel()
        y_q, y_qd, y_qdd = outputs_.slopes(model, outputs, arguments[0], arguments[1], qdd)
        C = np.hstack([y_q, y_qd, np.zeros((len(names), k))]) + y_qdd @ A[n : 2 * n]
        D = y_qdd @ B[n : 2 * n]
    if model.arm.closures:
        T, chosen = of_independent("linearize", model, at["q"], at["qd"])
        A, B, C, states = (A @ T)[chosen], B[chosen], C @ T, [states[i] for i in chosen]
    return control.StateSpace(A, B, C, D, inputs=inputs, outputs=list(names), states=states)
