"""Equations of motion of an arm whose outputs are commanded, differentiated until they determine motion and inputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.outputs import Sensor

HIGHEST = 8
"""Largest derivative of an output that is used. A command's samples do not determine higher ones."""
ABSENT = 1e-12
"""Size of a derivative, relative to the largest one of its equation, below which it is a rounding error of zero."""
SINGULAR = 1e-9
"""Reciprocal condition number of the system Jacobian below which it counts as singular."""
SOLVED, ITERATIONS = 1e-9, 10
"""Relative step at which Newton's method ends, and its largest number of steps. It needs one if inputs act linearly."""


@final
@dataclass(frozen=True, eq=False)
class ServoConstraints:
    """Equations E(q, dq/dt, d2q/dt2, u) = 0 of an arm and the constraints y(q) = r on its outputs.

    The unknowns are v = (q, u). Equation i is differentiated c_i times, so that the derivatives a of the unknowns, of
    the orders d_j, follow from the lower ones, x: a system of n + m equations whose Jacobian S is regular. The lower
    derivatives of the equations, C(x, r) = 0, are conditions on x. The numbers c and d are the smallest ones that the
    structure of the equations allows (J. D. Pryce, BIT 41 (2001) 364-394). The largest c of the constraints is their
    relative degree: 2 with rigid joints, 4 with elastic ones, 3 if their springs have dampers. Equations that contain
    inputs may be differentiated as well, which is a dynamic extension.

    Attributes
    ----------
    orders : (m,) of int
        Highest derivative of each command that the equations contain.
    size, conditions : int
        Lengths of x and of C.
    unit : float
        Unit of the time in all derivatives [s].
    """

    functions: tuple[Any, Any, Any, Any, Any]
    orders: list[int]
    conditions: int
    unit: float
    n: int
    below: Array
    following: Array
    q: Array
    qd: Array
    u: Array

    @classmethod
    def of(cls, where: str, model: Model, sensors: Sequence[Sensor], unit: float) -> "ServoConstraints":
        """Differentiate the equations. Raise `DescriptionError` if the inputs do not determine the outputs."""
        import casadi as ca

        n, m = model.nv, len(model.inputs)
        N = n + m
        residual, output = model.fixed("state_residual"), model.with_numbers(model.output_function(sensors))
        V = [ca.SX.sym(f"v{k}", N) for k in range(HIGHEST + 4)]
        R = [ca.SX.sym(f"r{k}", m) for k in range(HIGHEST + 2)]
        q, qd, qdd, u = V[0][:n], V[1][:n] / unit, V[2][:n] / unit**2, V[0][n:]
        y = output(q, ca.SX.zeros(n), ca.SX.zeros(n))
        if ca.depends_on(output(q, V[1][:n], V[2][:n]), ca.vertcat(V[1], V[2])):
            raise DescriptionError(f"{where}: the sensors must measure positions, not rates or accelerations")
        E = ca.vertcat(residual(q, qd, u, qdd)[:n], y - R[0])
        slopes = [ca.densify(ca.jacobian(E, v)) for v in V[:3]]
        rest = np.concatenate([np.array(model.arm.rest), np.zeros(m)])
        order = _orders(ca.Function("slopes", V[:3], slopes), rest)
        c, d = _offsets(where, model.arm.name, order)
        balance = ca.Function("balance", [*V[:3], R[0]], [E, slopes[0]])

        # derivatives that cancel are absent, although their symbols are there
        absent = [[V[k][j] for j in range(N) for k in range(order[i, j] + 1, 3)] for i in range(N)]
        e = ca.vertcat(*(ca.substitute(E[i], ca.vertcat(*v), ca.SX.zeros(len(v))) for i, v in enumerate(absent)))
        known = [(k, j) for k in range(max(d) + 1) for j in range(N) if k <= d[j]]
        now = ca.vertcat(*(V[k][j] for k, j in known), *R[:-1])
        later = ca.vertcat(*(V[k + 1][j] if k < d[j] else ca.SX(0.0) for k, j in known), *R[1:])
        lower, top, rows = [], [], list(range(N))
        for k in range(max(c) + 1):
            lower += [e[i] for i, row in enumerate(rows) if c[row] > k]
            top += [e[i] for i, row in enumerate(rows) if c[row] == k]
            e = ca.vertcat(*(e[i] for i, row in enumerate(rows) if c[row] > k))
            rows = [row for row in rows if c[row] > k]
            if rows:
                e = ca.jtimes(e, now, later)

        below, highest = [(k, j) for k, j in known if k < d[j]], [(d[j], j) for j in range(N)]
        place = {each: i for i, each in enumerate(below + highest)}
        x, a = (ca.vertcat(*(V[k][j] for k, j in each)) for each in (below, highest))
        r, C, G = ca.vertcat(*R[: max(c) + 1]), ca.vertcat(*lower), ca.vertcat(*top)
        functions = (
            balance,
            ca.Function("conditions", [x, r], [C, ca.densify(ca.jacobian(C, x))]),
            ca.Function("system", [x, a, r], [G, ca.densify(ca.jacobian(G, a))]),
            ca.Function("slopes", [x, a, r], [ca.densify(ca.jacobian(G, x))]),
            ca.Function("outputs", [q], [y]),
        )
        following = np.array([place[k + 1, j] for k, j in below])
        places = (np.array([place[k, j] for j in js]) for k, js in ((0, range(n)), (1, range(n)), (0, range(n, N))))
        return cls(functions, c[n:], len(lower), unit, n, np.array(below).T, following, *places)

    @property
    def size(self) -> int:
        """Number of derivatives in x."""
        return len(self.following)

    def state(self, derivatives: Array) -> Array:
        """Return x (k, size) from the unknowns and their derivatives (orders, k, n + m); missing ones are zero."""
        order, j = self.below
        found = np.zeros((derivatives.shape[1], self.size))
        given = order < len(derivatives)
        found[:, given] = derivatives[order[given], :, j[given]].T
        return found

    def balance(self, v: Array, rate: Array, acceleration: Array, y: Array) -> tuple[Array, Array]:
        """Return the undifferentiated equations (k, n + m) and their derivatives in v."""
        return _many(self.functions[0], v, rate, acceleration, y)

    def conditions_on(self, x: Array, r: Array) -> tuple[Array, Array]:
        """Return C (k, conditions) and dC/dx."""
        return _many(self.functions[1], x, r)

    def highest(self, x: Array, r: Array) -> tuple[Array, Array]:
        """Return a (k, n + m) and S (k, n + m, n + m)."""
        a = np.zeros((len(x), self.n + len(self.u)))
        for _ in range(ITERATIONS):
            G, S = _many(self.functions[2], x, a, r)
            step = np.linalg.solve(S, -G[..., None])[..., 0]
            a = a + step
            if not (np.abs(step).max(axis=0) > SOLVED * np.abs(a).max(axis=0)).any():
                break
        return a, S

    def rates(self, x: Array, a: Array) -> Array:
        """Return dx/dt (k, size)."""
        return np.hstack([x, a])[:, self.following]

    def slopes(self, x: Array, a: Array, S: Array, r: Array) -> Array:
        """Return the derivatives (k, size, size) of dx/dt in x."""
        da = -np.linalg.solve(S, _many(self.functions[3], x, a, r)[0].reshape(len(x), a.shape[1], self.size))
        same = np.broadcast_to(np.eye(self.size), (len(x), self.size, self.size))
        return np.concatenate([same, da], axis=1)[:, self.following]

    def outputs(self, x: Array) -> Array:
        """Return y (k, m)."""
        return _many(self.functions[4], x[:, self.q])[0]

    def regular(self, x: Array, r: Array) -> Array:
        """Return True (k,) where S is regular, up to rounding, so that the inputs determine the outputs."""
        S = _many(self.functions[2], x, np.zeros((len(x), self.n + len(self.u))), r)[1]
        S = S / np.abs(S).max(axis=2, keepdims=True)
        return np.linalg.cond(S / np.abs(S).max(axis=1, keepdims=True)) < 1.0 / SINGULAR

    def zero_dynamics(self, x: Array, r: Array) -> tuple[Array, Array]:
        """Return the motions N (size, k) near one rest x (1, size) with these outputs, and their matrix (k, k)."""
        a, S = self.highest(x, r)
        N = null_spaces(self.conditions_on(x, r)[1])[0]
        return N, N.T @ self.slopes(x, a, S, r)[0] @ N


def null_spaces(C: Array) -> Array:
    """Return orthonormal bases (k, columns, columns - rows) of the null spaces of matrices (k, rows, columns)."""
    return np.linalg.qr(C.transpose(0, 2, 1), mode="complete")[0][..., C.shape[1] :]


def _many(function: Any, *given: Array) -> tuple[Array, Array]:
    """Return a function's values (k, rows), and its second result (k, rows, columns) if there is one."""
    k = len(given[0])
    found = function.map(k)(*(each.T for each in given))
    value, *slope = [np.array(each) for each in (found if isinstance(found, tuple) else (found,))]
    if not slope:
        return value.reshape(len(value), k, -1).transpose(1, 0, 2).reshape(k, -1), np.empty(0)
    return value.T, slope[0].reshape(len(value), k, -1).transpose(1, 0, 2)


def _orders(slopes: Any, rest: Array) -> Array:
    """Return the order of the highest derivative of each unknown in each equation, -1 for none, near rest."""
    order, rng = np.full((len(rest), len(rest)), -1), np.random.default_rng(0)
    for _ in range(3):
        at = rest + 0.1 * rng.normal(size=len(rest))
        for k, J in enumerate(np.abs(np.array(each)) for each in slopes(at, *rng.normal(size=(2, len(rest))))):
            order[(J > ABSENT * J.max(axis=1, keepdims=True)) & (order < k)] = k
    return order


def _offsets(where: str, name: str, order: Array) -> tuple[list[int], list[int]]:
    """Return how often each equation is differentiated, c, and the order of each unknown's highest derivative, d."""
    from scipy.optimize import linear_sum_assignment

    never = -3 * order.size
    value = np.where(order < 0, never, order)
    rows, match = linear_sum_assignment(value, maximize=True)
    if (order[rows, match] < 0).any():
        raise DescriptionError(
            f"{where}: arm {name!r}: the inputs do not determine the outputs; measure the motion of other points"
        )
    c, d = np.zeros(len(order), dtype=int), np.zeros(len(order), dtype=int)
    while ((more := (value + c[:, None]).max(axis=0)) > d).any():
        d = more
        c = d[match] - order[rows, match]
    if max(c) > HIGHEST:
        raise DescriptionError(
            f"{where}: arm {name!r}: the inputs act on derivative {max(c)} of the outputs; at most {HIGHEST} are "
            'supported; take rotor = "relative", or rigid joints'
        )
    return c.tolist(), d.tolist()
