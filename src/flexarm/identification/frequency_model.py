"""Frequency response of an arm near a configuration, and its exact derivatives in the arm's parameters.

Near rest the equations of motion and the sensors are

    M qdd + D qd + K q = B u,    y = C q + C' qd + C'' qdd

with matrices that are derivatives of the model's functions. At s = j omega, Z = M s^2 + D s + K and
E = C + C' s + C'' s^2, the response is G = E Z^-1 B, and a parameter changes it by

    dG = dE X + Y (dB - dZ X),    X = Z^-1 B,    Y = E Z^-1

so two solutions with one matrix yield all derivatives. First-order states would need matrices of twice the size.

With closures, independent rows J of their conditions border the matrices: J q = 0, and the reactions follow q. K then
contains the effect of the reactions at rest, which the inputs with the least sum of squares leave to the closures.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.description.joints import refuse_balls
from flexarm.errors import DescriptionError
from flexarm.model import Model, Sensor, closures
from flexarm.model.outputs import key as output_key

if TYPE_CHECKING:
    import casadi as ca

BALANCED = 1e-6
"""Largest residual force of an arm at rest, as a share of the largest force."""
ROUNDING = 1e-12
"""Largest residual force of an arm at rest on which no force acts [N or N m]."""


@final
@dataclass(frozen=True, eq=False)
class Linear:
    """Matrices of an arm near rest, and their derivatives in the parameters, which have one more leading axis.

    Attributes
    ----------
    M, D, K : (n, n)
        With closures, n includes their independent conditions, and the unknowns their reactions.
    B : (n, m)
    C : (3, p, n)
        Derivatives of the outputs in q, qd and qdd.
    dM, dD, dK, dB, dC : (k, ...)
    """

    M: Array
    D: Array
    K: Array
    B: Array
    C: Array
    dM: Array
    dD: Array
    dK: Array
    dB: Array
    dC: Array

    def coordinates(self, frequency: Array) -> Array:
        """Response of the coordinates to the inputs at frequencies [Hz]: (f, n, m) complex."""
        s = 2j * np.pi * frequency[:, None, None]
        return np.linalg.solve(self.M * s**2 + self.D * s + self.K, np.broadcast_to(self.B, (len(s), *self.B.shape)))

    def response(self, frequency: Array) -> Array:
        """Response of the outputs to the inputs at frequencies [Hz]: (f, p, m) complex."""
        return self._observed(frequency) @ self.coordinates(frequency)

    def slopes(self, frequency: Array) -> tuple[Array, Array]:
        """Response (f, p, m), and its derivatives in the parameters (k, f, p, m)."""
        s = 2j * np.pi * frequency[:, None, None]
        Z, E = self.M * s**2 + self.D * s + self.K, self._observed(frequency)
        X = np.linalg.solve(Z, np.broadcast_to(self.B, (len(s), *self.B.shape)))
        Y = np.linalg.solve(Z.swapaxes(1, 2), E.swapaxes(1, 2)).swapaxes(1, 2)
        found = []
        for dM, dD, dK, dB, dC in zip(self.dM, self.dD, self.dK, self.dB, self.dC, strict=True):
            dZ, dE = dM * s**2 + dD * s + dK, dC[0] + dC[1] * s + dC[2] * s**2
            found.append(dE @ X + Y @ (dB - dZ @ X))
        G = E @ X
        return G, np.array(found).reshape(-1, *G.shape)

    def _observed(self, frequency: Array) -> Array:
        """E (f, p, n)."""
        s = 2j * np.pi * frequency[:, None, None]
        return self.C[0] + self.C[1] * s + self.C[2] * s**2


def holding(model: Model, q: Array) -> Array:
    """Inputs (m,) that hold the arm at rest at q, in the sense of least squares."""
    B, force = np.array(model.fixed("input_matrix")(q)), np.array(model.fixed("restoring_force")(q)).ravel()
    return closures.shared(model, q, B, force)


def check_rest(model: Model, q: Array) -> None:
    """Raise `DescriptionError` if no inputs hold the arm at q."""
    closures.check_closed("q", model, q)
    N, names = np.eye(model.nv), model.velocities
    if model.arm.closures:
        N, free = closures.independent(model, q)
        names = tuple(names[i] for i in free)
    B, forces = (
        np.array(model.fixed("input_matrix")(q)),
        [np.array(model.fixed(name)(q)).ravel() for name in ("gravity_force", "stiffness_force")],
    )
    # gravity and springs may have equal sizes and cancel, so the residual is compared with each, not with their sum
    left = np.abs(N.T @ (forces[0] + forces[1] - B @ holding(model, q)))
    if left.max(initial=0.0) > BALANCED * max(np.abs(force).max(initial=0.0) for force in forces) + ROUNDING:
        name = names[int(left.argmax())]
        said = f"the arm is not in equilibrium there: {name} has a residual of {left.max():.3g}"
        raise DescriptionError(f"q: {said}; use q from analysis.equilibrium")


def linear(model: Model, sensors: Sequence[Sensor], q: Array) -> Linear:
    """Return the linear model near q, where the inputs hold the arm. The deflections at rest are those in q.

    Raises `DescriptionError` if inputs are not forces and torques without dynamics.
    """
    arm = model.arm
    refuse_balls(arm, "identification")
    if arm.free:
        raise DescriptionError(f"the base of arm {arm.name!r} is free, which identification does not support")
    if arm.states or not arm.plain:
        said = "has motors, states of drives or exogenous inputs, which this identification does not support"
        raise DescriptionError(f"arm {arm.name!r} {said}; use arm.without_drives()")
    u, rows = holding(model, q), closures.independent_rows(model, q)
    n, m, p, k = len(q) + len(rows), len(u), len(model.output_names(sensors)), len(model.p)
    found = [np.array(x) for x in _matrices(model, sensors, q, rows)(q, u, model.p)]
    shapes = [(n, n), (n, n), (n, n), (n, m), (3, p, n)]
    flat = [(n, n), (n, n), (n, n), (n, m), (3 * p, n)]
    matrices = [x.reshape(shape) for x, shape in zip(found[:5], shapes, strict=True)]
    # a column of a slope is a matrix in column order
    slopes = [
        x.T.reshape(k, columns, rows).swapaxes(1, 2).reshape(k, *shape)
        for x, (rows, columns), shape in zip(found[5:], flat, shapes, strict=True)
    ]
    return Linear(*matrices, *slopes)


def _matrices(model: Model, sensors: Sequence[Sensor], at: Array, rows: Sequence[int]) -> "ca.Function":
    """CasADi Function of q, u, p: M, D, K, B, C, and the derivatives of each in p, in column order.

    `rows` are independent conditions of the closures at the configuration `at`.
    """
    free = closures.independent(model, at)[1] if rows else []

    def trace() -> "ca.Function":
        import casadi as ca

        n, m = len(model.coordinates), len(model.inputs)
        q, qd, qdd, u, p = (
            ca.SX.sym(a, size) for a, size in (("q", n), ("qd", n), ("qdd", n), ("u", m), ("p", len(model.p)))
        )

        more = (p,) if len(model.p) else ()

        def value(name: str, *arguments: Any) -> Any:
            return model.function(name)(*arguments, *more)

        def still(expression: Any) -> Any:
            at_rest = ca.substitute([ca.SX(expression)], [qd, qdd], [ca.DM.zeros(n), ca.DM.zeros(n)])
            return ca.densify(at_rest[0])

        B = value("input_matrix", q)
        function = model.output_function(sensors)
        y = function(q, qd, qdd, *more)
        restoring = value("restoring_force", q)
        matrices = [
            value("mass_matrix", q),
            ca.jacobian(value("damping_force", q, qd), qd),
            ca.jacobian(restoring - B @ u, q),
            B,
            ca.vertcat(*(ca.jacobian(y, x) for x in (q, qd, qdd))),
        ]
        if rows:
            J = closures.function(model, "slopes")(q, *more)
            reactions = _reactions(J, B, restoring, free)
            matrices[2] -= closures.function(model, "stiffening")(q, reactions, *more)
            matrices = _bordered(matrices, J[list(rows), :])
        matrices = [still(x) for x in matrices]
        slopes = [ca.densify(ca.jacobian(ca.vec(x), p)) for x in matrices]
        return ca.Function("near_rest", [q, u, p], [*matrices, *slopes])

    return model.traced(f"near rest, {output_key(model, sensors)}, {rows}, {free}", trace)


def _reactions(J: Any, B: Any, force: Any, free: Sequence[int]) -> Any:
    """Return the reactions at rest, under the inputs with the least sum of squares, as expressions."""
    import casadi as ca

    from flexarm.mechanics.closures import allowed, resolved
    from flexarm.mechanics.moving import rows_of

    N = ca.vertcat(*(ca.horzcat(*row) for row in allowed(rows_of(J), free)))
    W = ca.densify(N.T @ B)

    def least(A: Any, b: Any) -> Any:
        """Return x of least squares of A x = b, and of those the shortest."""
        return ca.vertcat(*resolved(rows_of(A.T @ A), ca.vertsplit(A.T @ b)))

    return least(J.T, force - B @ least(W, N.T @ force))


def _bordered(matrices: list[Any], J: Any) -> list[Any]:
    """Return the matrices with J q = 0, and with the reactions as additional unknowns."""
    import casadi as ca

    M, D, K, B, C = matrices
    k = J.shape[0]

    def padded(X: Any) -> Any:
        return ca.diagcat(X, ca.SX(k, k))

    bordered = ca.vertcat(ca.horzcat(K, J.T), ca.horzcat(J, ca.SX(k, k)))
    return [padded(M), padded(D), bordered, ca.vertcat(B, ca.SX(k, B.shape[1])), ca.horzcat(C, ca.SX(C.shape[0], k))]
