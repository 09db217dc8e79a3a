"""Direct collocation: the equations of motion at the Gauss or Radau points of every interval of a grid.

The unknowns are the state x = (q, qd, s) at the points, the rates z that are not part of the state, the inputs u, and
the duration T. The rates are z = (pose rates of a free base, qdd, rates of s). With the polynomial through an
interval's points, its slopes C at these points, and the interval's share h of T,

    h T x_dot_j = sum_k C_kj x_k,        0 = residual(q_j, qd_j, s_j, u, z_j).

The residual is inverse dynamics, which is much shorter than forward dynamics, and it is evaluated at single points.
T appears only in products of two unknowns. Source: L. T. Biegler, Nonlinear Programming (SIAM 2010), chapter 10.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.cached import cached_property
from flexarm.model import Model
from flexarm.optimal.nlp import Block, Repeated, block

if TYPE_CHECKING:
    import casadi as ca


@final
@dataclass(frozen=True, eq=False)
class Grid:
    """Indices of all quantities in the vector of unknowns, for N intervals of K points each.

    The intervals of one stretch have equal lengths.

    Attributes
    ----------
    linear : bool
        True if the inputs are piecewise linear, False if they are constant over each interval.
    scheme : "radau", "legendre"
        A Radau grid's last point is the beginning of the next interval.
    stretches : int
        Number of stretches, which have equal numbers of intervals. Each stretch has its own duration.
    before : Grid, optional
        Grid of another arm that makes the motion under the same inputs. Its unknowns come before those of this grid.
    """

    model: Model
    intervals: int
    points: int = 3
    scheme: str = "radau"
    linear: bool = False
    stretches: int = 1
    before: "Grid | None" = None

    @property
    def widths(self) -> tuple[int, int, int]:
        """Sizes of x, z and u."""
        model = self.model
        n, states = model.nv, len(model.states)
        return model.nq + n + states, 7 * model.arm.free + n + states, len(model.inputs)

    @property
    def durations(self) -> Array:
        """Indices of the stretches' durations, (stretches,)."""
        return np.arange(self.stretches)

    @property
    def lasts(self) -> Array:
        """Index of the duration of each interval's stretch, (N, 1)."""
        return np.repeat(self.durations, self.intervals // self.stretches)[:, None]

    @property
    def share(self) -> float:
        """Length of an interval as a share of its stretch."""
        return self.stretches / self.intervals

    @cached_property
    def _places(self) -> dict[str, Array]:
        nx, nz, m = self.widths
        N, K, S = self.intervals, self.points, self.stretches
        own, ends = K * (nx + nz), nx * (self.scheme != "radau")
        begin = self.before.size if self.before else S + (N + 1) * m
        begins = begin + nx + np.arange(N)[:, None] * (own + ends)
        points = begins[:, :, None] + np.arange(K)[None, :, None] * (nx + nz) + np.arange(nx + nz)
        after = begins + own + np.arange(nx) if ends else points[:, -1, :nx]
        return {
            "inputs": self.before.inputs if self.before else S + np.arange((N + 1) * m).reshape(N + 1, m),
            "points": points,
            "nodes": np.vstack([begin + np.arange(nx), after]),
            "size": np.array(begins[-1, 0] + own + ends),
        }

    @property
    def size(self) -> int:
        """Number of unknowns so far.

        If inputs are constant over each interval, the last inputs are those that hold the arm at the end.
        """
        return int(self._places["size"])

    @property
    def inputs(self) -> Array:
        """Indices of u at the beginning of each interval and at the end, (N + 1, m)."""
        return self._places["inputs"]

    @property
    def x(self) -> Array:
        """Indices of the state at the points, (N, K, nx)."""
        return self._places["points"][:, :, : self.widths[0]]

    @property
    def z(self) -> Array:
        """Indices of the rates at the points, (N, K, nz)."""
        return self._places["points"][:, :, self.widths[0] :]

    @property
    def nodes(self) -> Array:
        """Indices of the state at the intervals' ends, (N + 1, nx)."""
        return self._places["nodes"]

    @cached_property
    def tau(self) -> Array:
        """Collocation points as shares of an interval, (K,)."""
        import casadi as ca

        return np.array(ca.collocation_points(self.points, self.scheme))

    @cached_property
    def coefficients(self) -> tuple[Array, Array, Array]:
        """Slopes C (K + 1, K) at the points, values D (K + 1,) at the end, and quadrature weights (K,)."""
        import casadi as ca

        C, D, B = ca.collocation_coeff(self.tau.tolist())
        return np.array(C), np.array(D).ravel(), np.array(B).ravel()

    @property
    def shares(self) -> Array:
        """Collocation points as shares of all intervals, (N, K)."""
        return (np.arange(self.intervals)[:, None] + self.tau) / self.intervals

    def at_points(self, columns: list[Array]) -> Array:
        """Concatenate index arrays (N, K, ...) into columns over all points, (N K, ...)."""
        return np.concatenate([x.reshape(self.intervals * self.points, -1) for x in columns], axis=1)

    @property
    def inputs_at_points(self) -> tuple[Array, Array]:
        """Indices of the inputs that determine u at each point, and the share of the interval at each point.

        The shapes are (N, K, m or 2m) and (N K, 1).
        """
        N, K = self.intervals, self.points
        u = np.concatenate([self.inputs[:-1], self.inputs[1:]], axis=1) if self.linear else self.inputs[:-1]
        return np.repeat(u[:, None, :], K, axis=1), np.tile(self.tau, N)[:, None]

    def input_symbols(self) -> tuple["ca.SX", "ca.SX", "ca.SX"]:
        """Symbols of the inputs that determine u, of the share of the interval, and the expression for u."""
        import casadi as ca

        m = self.widths[2]
        share, begin, end = ca.SX.sym("share"), ca.SX.sym("u", m), ca.SX.sym("u_end", m)
        return (ca.vertcat(begin, end), share, begin + share * (end - begin)) if self.linear else (begin, share, begin)

    def motion(self) -> list[Block]:
        """Return the blocks of the equations of motion."""
        N = self.intervals
        u, share = self.inputs_at_points
        own = np.concatenate([self.x, self.z], axis=2).reshape(N, -1)
        found = [
            block(
                "collocation",
                self._collocation(),
                np.hstack([self.lasts, self.nodes[:-1], own]),
                np.full((N, 1), self.share),
            ),
            block("dynamics", self._dynamics(), self.at_points([self.x, self.z, u]), share),
        ]
        if self.scheme != "radau":
            places = np.hstack([self.nodes[:-1], self.x.reshape(N, -1), self.nodes[1:]])
            found.append(block("continuity", self._continuity(), places))
        return found

    def _rates(self, x: "ca.SX", z: "ca.SX") -> "ca.SX":
        """Return x_dot from the state and z."""
        import casadi as ca

        model, free = self.model, self.model.arm.free
        _, _, qd, _ = ca.vertsplit(x, [0, model.nq, model.nq + 6 * free, model.nq + model.nv, x.numel()])
        pose, others = ca.vertsplit(z, [0, 7 * free, z.numel()])
        return ca.vertcat(pose, qd, others)

    def _collocation(self) -> "ca.Function":
        import casadi as ca

        nx, nz, _ = self.widths
        C, K = self.coefficients[0], self.points
        T, h, begin = ca.SX.sym("T"), ca.SX.sym("h"), ca.SX.sym("x0", nx)
        x = [begin, *(ca.SX.sym(f"x{j}", nx) for j in range(K))]
        z = [ca.SX.sym(f"z{j}", nz) for j in range(K)]
        rows = [h * T * self._rates(x[j + 1], z[j]) - sum(C[k, j] * x[k] for k in range(K + 1)) for j in range(K)]
        own = [part for pair in zip(x[1:], z, strict=True) for part in pair]
        return ca.Function("collocation", [ca.vertcat(T, begin, *own), h], [ca.vertcat(*rows)])

    def _dynamics(self) -> Repeated:
        """Residual at a point with its slopes, cached with the model because it is the same on every grid."""
        key = f"collocated dynamics, {'linear' if self.linear else 'held'}"
        return self.model.derived(key, lambda: Repeated(self._residual()))  # type: ignore[no-any-return]

    def _residual(self) -> "ca.Function":
        import casadi as ca

        model = self.model
        nx, nz, _ = self.widths
        n, states, pose = model.nv, len(model.states), 7 * model.arm.free
        x, z, (own, share, u) = ca.SX.sym("x", nx), ca.SX.sym("z", nz), self.input_symbols()
        q, qd, s = ca.vertsplit(x, [0, model.nq, model.nq + n, nx])
        pose_rates, qdd, s_dot = ca.vertsplit(z, [0, pose, pose + n, nz])
        residual, names = model.fixed("state_residual"), model.arguments("state_residual")
        given = {"q": q, "qd": qd, "s": s, "u": u, "w": ca.SX.zeros(len(model.exogenous)), "qdd": qdd}
        left, of_s, of_pose = ca.vertsplit(
            ca.densify(residual(*(given[name] for name in names))[: n + states + pose]),
            [0, n, n + states, n + states + pose],
        )
        return ca.Function(
            "dynamics", [ca.vertcat(x, z, own), share], [ca.vertcat(left, of_s - s_dot, of_pose - pose_rates)]
        )

    def _continuity(self) -> "ca.Function":
        import casadi as ca

        nx, D = self.widths[0], self.coefficients[1]
        x = [ca.SX.sym(f"x{k}", nx) for k in range(self.points + 2)]
        end = sum(d * each for d, each in zip(D, x, strict=False))
        return ca.Function("continuity", [ca.vertcat(*x), ca.SX.sym("c", 0)], [end - x[-1]])

    def integral(self, name: str, integrand: Any, weight: float) -> Block:
        """Return the integral over the motion of a function of u and its slope as a part of the cost.

        `integrand(u, slope)` returns an expression. The integral depends on T and on u at both ends of an interval.
        """
        import casadi as ca

        m = self.widths[2]
        T = ca.SX.sym("T")
        begin, end = ca.SX.sym("u", m), ca.SX.sym("u_end", m)
        h = T * self.share
        if self.linear:  # Simpson's rule is exact for squares
            rate = (end - begin) / h
            values = [integrand(begin + c * (end - begin), rate) for c in (0.0, 0.5, 1.0)]
            y, x = h * (values[0] + 4 * values[1] + values[2]) / 6, ca.vertcat(T, begin, end)
            places = np.hstack([self.lasts, self.inputs[:-1], self.inputs[1:]])
        else:
            y, x = h * integrand(begin, ca.SX.zeros(m)), ca.vertcat(T, begin)
            places = np.hstack([self.lasts, self.inputs[:-1]])
        return block(name, ca.Function(name, [x, ca.SX.sym("c", 0)], [y]), places, weights=weight)

    def lasting(self, weight: float) -> Block:
        """Return the duration as a part of the cost."""
        import casadi as ca

        T = ca.SX.sym("T")
        function = ca.Function("time", [T, ca.SX.sym("c", 0)], [T])
        return block("time", function, self.durations[:, None], weights=weight)

    def together(self, duration: float) -> Block:
        """Return the constraint that the durations of all stretches add up to `duration`."""
        import casadi as ca

        T = ca.SX.sym("T", self.stretches)
        function = ca.Function("together", [T, ca.SX.sym("c", 0)], [ca.sum1(T)])
        return block("together", function, self.durations[None], lower=duration, upper=duration)

    def slopes(self, most: Array) -> Block:
        """Return the constraint |du/dt| <= most, (m,), for piecewise linear inputs, where the limit is finite."""
        import casadi as ca

        kept = np.isfinite(most)
        m = int(kept.sum())
        T, begin, end = ca.SX.sym("T"), ca.SX.sym("u", m), ca.SX.sym("u_end", m)
        far = T * self.share * ca.DM(most[kept])
        y = ca.vertcat(end - begin - far, begin - end - far)
        function = ca.Function("slopes", [ca.vertcat(T, begin, end), ca.SX.sym("c", 0)], [y])
        places = np.hstack([self.lasts, self.inputs[:-1, kept], self.inputs[1:, kept]])
        return block("torque_rate", function, places, lower=-np.inf, upper=0.0)

    def stays(self, name: str, expression: Any, lower: Array, upper: Array) -> Block:
        """Return the constraint lower <= expression(q) <= upper at all points."""
        import casadi as ca

        q = ca.SX.sym("q", self.model.nq)
        function = ca.Function(name, [q, ca.SX.sym("c", 0)], [ca.densify(ca.vec(ca.SX(expression(q))))])
        return block(name, function, self.at_points([self.x[:, :, : self.model.nq]]), lower=lower, upper=upper)
