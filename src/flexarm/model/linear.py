"""A model near a configuration or a state: natural modes, and the linear model that control engineering works with."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

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

    Each drive holds the coordinate that it moves most; where the hub turns with the shapes, that coordinate undoes the
    others' slopes there.
    """
    n, m = B.shape
    taken = [int(np.argmax(np.abs(column))) for column in B.T]
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
    N = held(model.evaluate("input_matrix", q)) if locked else np.eye(len(q))
    if not N.shape[1]:
        return np.empty(0), N
    M, K = model.evaluate("mass_matrix", q), np.array(model.slope("restoring_force", 0)(q))
    if not (np.isfinite(M).all() and np.isfinite(K).all()):
        raise DescriptionError(f"arm {model.arm.name!r}: inertia or stiffness is not finite at this q")
    M, K = N.T @ M @ N, N.T @ K @ N
    try:
        C = np.linalg.inv(np.linalg.cholesky(M))
    except np.linalg.LinAlgError:
        fault = without_inertia(model, q) or "its inertia matrix is not positive definite"
        raise DescriptionError(f"arm {model.arm.name!r}: {fault}") from None
    omega2, V = np.linalg.eigh(C @ ((K + K.T) / 2) @ C.T)
    omega2[np.abs(omega2) < 1e-14 * np.abs(omega2).max(initial=0.0)] = 0.0
    return np.sign(omega2) * np.sqrt(np.abs(omega2)), N @ C.T @ V


def linearize(model: Traced, q: Array, qd: Array, u: Array, outputs: Sequence[Sensor] | None) -> "StateSpace":
    """The arm near a state; see `Model.linearize`."""
    import control

    arguments = [model.single("linearize", name, x) for name, x in (("q", q), ("qd", qd), ("u", u))]
    n, m = len(model.coordinates), len(model.inputs)
    slopes = [np.array(model.slope("forward_dynamics", i)(*arguments)) for i in range(3)]
    A = np.block([[np.zeros((n, n)), np.eye(n)], [slopes[0], slopes[1]]])
    B = np.vstack([np.zeros((n, m)), slopes[2]])
    plain = [signal(name) for name in model.coordinates]
    states = [*plain, *(f"{name}_rate" for name in plain)]
    inputs = ["u_" + re.sub(r"\W", "_", name) for name in model.inputs]
    if outputs is None:
        C, D, names = np.eye(2 * n), np.zeros((2 * n, m)), states
    else:
        names = list(outputs_.names(model.arm, outputs))
        qdd = np.array(model.fixed("forward_dynamics")(*arguments)).ravel()
        y_q, y_qd, y_qdd = outputs_.slopes(model, outputs, arguments[0], arguments[1], qdd)
        C = np.hstack([y_q + y_qdd @ slopes[0], y_qd + y_qdd @ slopes[1]])
        D = y_qdd @ slopes[2]
    return control.StateSpace(A, B, C, D, inputs=inputs, outputs=names, states=states)
