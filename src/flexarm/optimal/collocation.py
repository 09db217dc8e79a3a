"""Direct collocation: the equations of motion at the points of Gauss or Radau of every interval of a grid.

Unknowns are the state x = (q, qd, s) at the points, the rates that the state does not say by itself, z = (a free base's
pose rates, qdd, rates of s), the inputs, and the duration T. With the polynomial through an interval's points,
of slopes C at them, and h its share of T,

    h T x_dot_j = sum_k C_kj x_k,        0 = residual(q_j, qd_j, s_j, u, z_j),

so the residual, which is inverse dynamics and much shorter than forward dynamics, is asked at single points, and T
stands in products of two unknowns alone. Source: L. T. Biegler, Nonlinear Programming (SIAM 2010), chapter 10.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.cached import cached_property
from flexarm.model import Model
from flexarm.optimal.nlp import Block, Repeated, block

if TYPE_CHECKING:
    import casadi as ca

Array = np.ndarray


@final
@dataclass(frozen=True, eq=False)
class Grid:
    """Where everything stands among the unknowns, for N intervals of K points, equal within a stretch.

    Attributes
    ----------
    linear : bool
        Inputs are straight lines over an interval, and not held.
    scheme : "radau", "legendre"
        A Radau grid's last point is the next interval's beginning.
    stretches : int
        Of as many intervals, each with a duration of its own.
    before : Grid, optional
        Of another arm that makes the motion under the same inputs, whose unknowns stand before these.
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
        """Numbers in x, in z and in u."""
        model = self.model
        n, states = model.nv, len(model.states)
        return model.nq + n + states, 7 * model.arm.free + n + states, len(model.inputs)

    @property
    def durations(self) -> Array:
        """Places of the stretches' durations, (stretches,)."""
        return np.arange(self.stretches)

    @property
    def lasts(self) -> Array:
        """Place of the duration of each interval's stretch, (N, 1)."""
        return np.repeat(self.durations, self.intervals // self.stretches)[:, None]

    @property
    def share(self) -> float:
        """Of its stretch, an interval."""
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
        """How many unknowns there are so far; the last inputs, where held, are what holds the arm at the end."""
        return int(self._places["size"])

    @property
    def inputs(self) -> Array:
        """Places of u at the beginning of each interval and at the end, (N + 1, m)."""
        return self._places["inputs"]

    @property
    def x(self) -> Array:
        """Places of the state at the points, (N, K, nx)."""
        return self._places["points"][:, :, : self.widths[0]]

    @property
    def z(self) -> Array:
        """Places of the rates at the points, (N, K, nz)."""
        return self._places["points"][:, :, self.widths[0] :]

    @property
    def nodes(self) -> Array:
        """Places of the state at the intervals' ends, (N + 1, nx)."""
        return self._places["nodes"]

    @cached_property
    def tau(self) -> Array:
        """The points, as shares of an interval, (K,)."""
        import casadi as ca

        return np.array(ca.collocation_points(self.points, self.scheme))

    @cached_property
    def coefficients(self) -> tuple[Array, Array, Array]:
        """Slopes C (K + 1, K) at the points, values D (K + 1,) at the end, and weights (K,) of an integral."""
        import casadi as ca

        C, D, B = ca.collocation_coeff(self.tau.tolist())
        return np.array(C), np.array(D).ravel(), np.array(B).ravel()

    @property
    def shares(self) -> Array:
        """The points as shares of all intervals, (N, K)."""
        return (np.arange(self.intervals)[:, None] + self.tau) / self.intervals

    def at_points(self, columns: list[Array]) -> Array:
        """Places side by side at all points, (N K, ...), of parts (N, K, ...)."""
        return np.concatenate([x.reshape(self.intervals * self.points, -1) for x in columns], axis=1)

    @property
    def inputs_at_points(self) -> tuple[Array, Array]:
        """Places of what u at a point follows from, (N, K, m or 2m), and the share of the interval there, (N K, 1)."""
        N, K = self.intervals, self.points
        u = np.concatenate([self.inputs[:-1], self.inputs[1:]], axis=1) if self.linear else self.inputs[:-1]
        return np.repeat(u[:, None, :], K, axis=1), np.tile(self.tau, N)[:, None]

    def input_symbols(self) -> tuple["ca.SX", "ca.SX", "ca.SX"]:
        """What u follows from, the share of the interval, and u."""
        import casadi as ca

        m = self.widths[2]
        share, begin, end = ca.SX.sym("share"), ca.SX.sym("u", m), ca.SX.sym("u_end", m)
        return (ca.vertcat(begin, end), share, begin + share * (end - begin)) if self.linear else (begin, share, begin)

    def motion(self) -> list[Block]:
        """The equations of motion."""
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
        """x_dot of the state and z."""
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
        """The residual at a point: the same on every grid of a model, and so are its slopes."""
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
        """The integral over the motion of a function of u and its slope, T and both at an interval's ends known: a part
        of the cost. `integrand(u, slope)` is an expression."""
        import casadi as ca

        m = self.widths[2]
        T = ca.SX.sym("T")
        begin, end = ca.SX.sym("u", m), ca.SX.sym("u_end", m)
        h = T * self.share
        if self.linear:  # exact for squares: Simpson's rule
            rate = (end - begin) / h
            values = [integrand(begin + c * (end - begin), rate) for c in (0.0, 0.5, 1.0)]
            y, x = h * (values[0] + 4 * values[1] + values[2]) / 6, ca.vertcat(T, begin, end)
            places = np.hstack([self.lasts, self.inputs[:-1], self.inputs[1:]])
        else:
            y, x = h * integrand(begin, ca.SX.zeros(m)), ca.vertcat(T, begin)
            places = np.hstack([self.lasts, self.inputs[:-1]])
        return block(name, ca.Function(name, [x, ca.SX.sym("c", 0)], [y]), places, weights=weight)

    def lasting(self, weight: float) -> Block:
        """The duration as part of the cost."""
        import casadi as ca

        T = ca.SX.sym("T")
        function = ca.Function("time", [T, ca.SX.sym("c", 0)], [T])
        return block("time", function, self.durations[:, None], weights=weight)

    def together(self, duration: float) -> Block:
        """All stretches last so long."""
        import casadi as ca

        T = ca.SX.sym("T", self.stretches)
        function = ca.Function("together", [T, ca.SX.sym("c", 0)], [ca.sum1(T)])
        return block("together", function, self.durations[None], lower=duration, upper=duration)

    def slopes(self, most: Array) -> Block:
        """|du/dt| <= most, (m,), of inputs that are straight lines, those with a limit."""
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
        """lower <= expression(q) <= upper at all points."""
        import casadi as ca

        q = ca.SX.sym("q", self.model.nq)
        function = ca.Function(name, [q, ca.SX.sym("c", 0)], [ca.densify(ca.vec(ca.SX(expression(q))))])
        return block(name, function, self.at_points([self.x[:, :, : self.model.nq]]), lower=lower, upper=upper)
