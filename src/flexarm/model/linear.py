"""A model near a configuration or a state: natural modes, and the linear model that control engineering works with."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexarm.attitude import crossed, local_names
from flexarm.checks import checked_flag, refused
from flexarm.errors import DescriptionError
from flexarm.model import outputs as outputs_
from flexarm.model.faults import without_inertia
from flexarm.model.outputs import Sensor
from flexarm.model.tracing import Traced

if TYPE_CHECKING:
    from control import StateSpace

Array = np.ndarray


def signal(name: str) -> str:
    """A coordinate's name, or any other, as that of a signal: a valid identifier."""
    plain = re.sub(r"\W", "_", name)
    return plain if plain.isidentifier() else f"_{plain}"


def held(B: Array) -> Array:
    """The deviations (n, n - m) that leave alone what the drives turn, B' dq = 0, in terms of the other coordinates.

    Each drive holds the coordinate that it moves most when those before it hold theirs; where the hub turns with the
    shapes, that coordinate undoes the others' slopes there.
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
    """Natural frequencies (k,) and modes (n, k), of M-norm 1, about a configuration; see `Model.modes`."""
    q = model.single("modes", "q", q)
    with refused("modes"):
        checked_flag(locked, "locked")
    drives = model.evaluate("input_matrix", q)[:, : len(model.arm.joints)]
    N = held(drives) if locked else np.eye(model.nv)
    if not N.shape[1]:
        return np.empty(0), N
    restoring = "stiffness_force" if model.arm.free else "restoring_force"  # what falls freely weighs nothing
    M, K = model.evaluate("mass_matrix", q), np.array(model.slope(restoring, 0)(q))
    if not (np.isfinite(M).all() and np.isfinite(K).all()):
        raise DescriptionError(f"arm {model.arm.name!r}: inertia or stiffness is not finite at this q")
    M, K = N.T @ M @ N, N.T @ K @ N
    whole = np.empty((model.nv, 0))
    if model.arm.free and not K[:6].any():  # the arm as a whole moves freely, and all else beside it
        N, M, K, whole = _beside_the_whole(N, M, K)
    try:
        C = np.linalg.inv(np.linalg.cholesky(M))
    except np.linalg.LinAlgError:
        fault = without_inertia(model, q) or "its inertia matrix is not positive definite"
        raise DescriptionError(f"arm {model.arm.name!r}: {fault}") from None
    omega2, V = np.linalg.eigh(C @ ((K + K.T) / 2) @ C.T)
    omega2[np.abs(omega2) < 1e-14 * np.abs(omega2).max(initial=0.0)] = 0.0
    omega = np.append(np.zeros(whole.shape[1]), np.sign(omega2) * np.sqrt(np.abs(omega2)))
    order = np.argsort(omega, kind="stable")
    return omega[order], np.hstack([whole, N @ C.T @ V])[:, order]


def _beside_the_whole(N: Array, M: Array, K: Array) -> tuple[Array, Array, Array, Array]:
    """Deviations that have no momentum, their inertia and stiffness; and the six motions of the whole, of M-norm 1."""
    base = np.linalg.cholesky(M[:6, :6])
    Y = np.vstack([-np.linalg.solve(M[:6, :6], M[:6, 6:]), np.eye(len(M) - 6)])
    return N @ Y, Y.T @ M @ Y, K[6:, 6:], N[:, :6] @ np.linalg.inv(base).T


def _turning(model: Traced, qd: Array) -> Array:
    """Rates of local coordinates by themselves (n, n): see `Traced.rates_in_tangent`; zero but for a free base's."""
    A = np.zeros((model.nv, model.nv))
    if model.arm.free:
        A[:3, :3] = A[3:6, 3:6] = -crossed(qd[3:6])
        A[:3, 3:6] = -crossed(qd[:3])
    return A


def _state_names(model: Traced) -> list[str]:
    """Of a linear model, for q and qd: a free base's are those of its shift and turn, and of its twist."""
    twist = 6 * model.arm.free
    rates = [*map(signal, model.velocities[:twist]), *(f"{signal(name)}_rate" for name in model.velocities[twist:])]
    return [*map(signal, local_names(model.arm)), *rates]


def linearize(
    model: Traced,
    q: Array,
    qd: Array,
    u: Array,
    outputs: Sequence[Sensor] | None,
    w: Array | None = None,
    s: Array | None = None,
) -> "StateSpace":
    """The arm near a state; see `Model.linearize`."""
    import control

    arguments = [model.single("linearize", name, x) for name, x in (("q", q), ("qd", qd), ("u", u))]
    n, k = model.nv, len(model.states)
    given = {"s": np.zeros(k) if s is None else model.single("linearize", "s", s)}
    if w is not None:
        given["w"] = model.single("linearize", "w", w)
    at = dict(zip(("q", "qd", "u"), arguments, strict=True)) | given
    acting = ["u"] if w is None or not model.exogenous else ["u", "w"]
    names = model.arguments("forward_dynamics")
    values = [at.get(name, np.zeros(len(model.exogenous))) for name in names]
    moved = ["q", "qd", *(["s"] if k else [])]
    slopes = {name: np.array(model.slope("forward_dynamics", name)(*values)) for name in (*moved[:2], *acting)}
    A = np.block([[_turning(model, arguments[1]), np.eye(n)], [slopes["q"], slopes["qd"]]])
    B = np.vstack([np.zeros((n, len(model.inputs))), slopes["u"]])
    if "w" in acting:
        B = np.hstack([B, np.vstack([np.zeros((n, len(model.exogenous))), slopes["w"]])])
    states = _state_names(model)
    if k:
        rates = {name: np.array(model.slope("state_rate", name)(*values))[: 2 * n + k] for name in (*moved, *acting)}
        A, B = np.hstack([rates[name] for name in moved]), np.hstack([rates[name] for name in acting])
        states += [signal(name) for name in model.states]
    inputs = ["u_" + re.sub(r"\W", "_", name) for name in model.inputs]
    if "w" in acting:
        inputs += ["w_" + re.sub(r"\W", "_", name) for name in model.exogenous]
    if outputs is None:
        C, D, names = np.eye(2 * n + k), np.zeros((2 * n + k, B.shape[1])), tuple(states)
    else:
        names = outputs_.names(model.arm, outputs)
        qdd = np.array(model.fixed("forward_dynamics")(*values)).ravel()
        y_q, y_qd, y_qdd = outputs_.slopes(model, outputs, arguments[0], arguments[1], qdd)
        C = np.hstack([y_q + y_qdd @ slopes["q"], y_qd + y_qdd @ slopes["qd"], y_qdd @ A[n : 2 * n, 2 * n :]])
        D = y_qdd @ B[n : 2 * n]
    return control.StateSpace(A, B, C, D, inputs=inputs, outputs=list(names), states=states)
