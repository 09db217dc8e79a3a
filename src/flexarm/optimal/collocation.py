"""Direct collocation: the equations of motion at the Gauss or Radau points of every interval of a grid.

The unknowns are the state x = (q, qd, s) at the points, the inputs u, and the duration T. With the polynomial through
an interval's points, its slopes C at these points, and the interval's share h of T, the rates of the state at point j
are r_j / T, where

    r_j = 1/h sum_k C_kj x_k,        0 = residual(q_j, qd_j, s_j, u, r_j / T).

The residual is inverse dynamics, which is much shorter than forward dynamics, and the rates of joints and of drives'
states. It is evaluated at single points, from x_j and r_j, which are linear in the unknowns. Source: L. T. Biegler,
Nonlinear Programming (SIAM 2010), chapter 10.
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
    from scipy import sparse


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
    def widths(self) -> tuple[int, int]:
        """Sizes of x and u."""
        model = self.model
        return model.nq + model.nv + len(model.states), len(model.inputs)

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
        nx, m = self.widths
        N, K, S = self.intervals, self.points, self.stretches
        own, ends = K * nx, nx * (self.scheme != "radau")
        begin = self.before.size if self.before else S + (N + 1) * m
        begins = begin + nx + np.arange(N)[:, None] * (own + ends)
        points = begins[:, :, None] + np.arange(K)[None, :, None] * nx + np.arange(nx)
        after = begins + own + np.arange(nx) if ends else points[:, -1]
        return {
            "inputs": self.before.inputs if self.before else S + np.arange((N + 1) * m).reshape(N + 1, m),
            "x": points,
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
        return self._places["x"]

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

        m = self.widths[1]
        share, begin, end = ca.SX.sym("share"), ca.SX.sym("u", m), ca.SX.sym("u_end", m)
        return (ca.vertcat(begin, end), share, begin + share * (end - begin)) if self.linear else (begin, share, begin)

    def motion(self) -> list[Block]:
        """Return the blocks of the equations of motion."""
        N = self.intervals
        found = [block("dynamics", self._dynamics(), self._at_points(), self.inputs_at_points[1])]
        if self.scheme != "radau":
            places = np.hstack([self.nodes[:-1], self.x.reshape(N, -1), self.nodes[1:]])
            found.append(block("continuity", self._continuity(), places))
        return found

    def _at_points(self) -> "sparse.csr_array":
        """Matrix that maps the unknowns to the variables of the dynamics: x, r, the inputs, and T, at every point."""
        from scipy import sparse

        N, K, C, nx = self.intervals, self.points, self.coefficients[0], self.widths[0]
        u, T = self.inputs_at_points[0].reshape(N * K, -1), np.repeat(self.lasts, K)[:, None]
        width = 2 * nx + u.shape[1] + 1
        first, rates = width * np.arange(N * K)[:, None], nx + np.arange(nx)
        others = np.delete(np.arange(width), rates)
        picked = np.hstack([self.x.reshape(N * K, nx), u, T])
        own = np.concatenate([self.nodes[:-1, None], self.x], axis=1)  # the polynomial's states, (N, K + 1, nx)
        summed = np.broadcast_to(own.swapaxes(1, 2)[:, None], (N, K, nx, K + 1))
        slopes = np.broadcast_to((C.T / self.share)[:, None], summed.shape)
        rows = np.append(first + others, np.repeat(first + rates, K + 1))
        values = np.append(np.ones(picked.size), slopes)
        return sparse.csr_array((values, (rows, np.append(picked, summed))), (width * N * K, self.size))

    def _dynamics(self) -> Repeated:
        """Residual at a point with its slopes, cached with the model because it is the same on every grid."""
        key = f"collocated dynamics, {'linear' if self.linear else 'held'}"
        return self.model.derived(key, lambda: Repeated(self._residual()))  # type: ignore[no-any-return]

    def _residual(self) -> "ca.Function":
        import casadi as ca

        model, nx = self.model, self.widths[0]
        n, states, free = model.nv, len(model.states), model.arm.free
        x, r, T, (own, share, u) = ca.SX.sym("x", nx), ca.SX.sym("r", nx), ca.SX.sym("T"), self.input_symbols()
        q, qd, s = ca.vertsplit(x, [0, model.nq, model.nq + n, nx])
        of_pose, of_q, of_qd, of_s = ca.vertsplit(r, [0, 7 * free, model.nq, model.nq + n, nx])
        residual, names = model.fixed("state_residual"), model.arguments("state_residual")
        given = {"q": q, "qd": qd, "s": s, "u": u, "w": ca.SX.zeros(len(model.exogenous)), "qdd": of_qd / T}
        left, s_dot, pose_rates = ca.vertsplit(
            ca.densify(residual(*(given[name] for name in names))[: n + states + 7 * free]),
            [0, n, n + states, n + states + 7 * free],
        )
        rates = ca.vertcat(T * pose_rates - of_pose, T * qd[6 * free :] - of_q, T * s_dot - of_s)
        return ca.Function("dynamics", [ca.vertcat(x, r, own, T), share], [ca.vertcat(left, rates)])

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

        m = self.widths[1]
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
