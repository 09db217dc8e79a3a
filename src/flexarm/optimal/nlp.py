"""Nonlinear programs of small functions, each repeated over many groups of variables, with exact derivatives.

Direct transcription evaluates the same few functions at hundreds of points. A `Block` is one such function with the
indices of its variables. Its derivatives are found once, as expressions of a single point, and mapped over all points.
The sparse Jacobian and Hessian are therefore assembled from known entries. IPOPT (Waechter & Biegler, Math. Program.
106, 2006) solves the program.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.cached import cached_property

if TYPE_CHECKING:
    import casadi as ca


@final
@dataclass(frozen=True, eq=False)
class Repeated:
    """A function y = f(x, c) of a single group of variables, with derivatives that are found once.

    Attributes
    ----------
    function : casadi.Function
        Maps x (k,) and constants c, both columns, to y (m,).
    """

    function: "ca.Function"

    @cached_property
    def slope(self) -> "ca.Function":
        """Sparse Jacobian dy/dx as a function of x and c."""
        import casadi as ca

        x, c = self.function.sx_in()
        return ca.Function("slope", [x, c], [ca.cse(ca.jacobian(self.function(x, c), x))])

    @cached_property
    def curvature(self) -> "ca.Function":
        """Upper triangle of the Hessian of l' y as a function of x, c and l."""
        import casadi as ca

        x, c = self.function.sx_in()
        y = self.function(x, c)
        factors = ca.SX.sym("l", y.numel())
        return ca.Function("curvature", [x, c, factors], [ca.cse(ca.triu(ca.hessian(ca.dot(factors, y), x)[0]))])


@final
@dataclass(frozen=True, eq=False)
class Block:
    """A function of many groups of variables, with lower <= y <= upper, or with weights that sum y into the cost.

    Attributes
    ----------
    name : str
    of : Repeated
    places : (N, k)
        Indices of x among all variables.
    constants : (N, constants)
    lower, upper : (N, m)
    weights : (N, m), optional
        Weights of y in the cost. Without them, y is bounded.
    """

    name: str
    of: Repeated
    places: Array
    constants: Array
    lower: Array = field(default_factory=lambda: np.zeros((0, 0)))
    upper: Array = field(default_factory=lambda: np.zeros((0, 0)))
    weights: Array | None = None

    @property
    def rows(self) -> int:
        """Number of bounded entries."""
        return 0 if self.weights is not None else self.lower.size


def block(
    name: str,
    given: "ca.Function | Repeated",
    places: Array,
    constants: Any = None,
    lower: Any = 0.0,
    upper: Any = 0.0,
    weights: Any = None,
) -> Block:
    """Return a `Block`. Limits, constants and weights that are not given for each group are the same for all."""
    of = given if isinstance(given, Repeated) else Repeated(given)
    N, m = len(places), of.function.numel_out(0)
    c = np.zeros((N, 0)) if constants is None else constants
    rows = [np.array(np.broadcast_to(np.asarray(x, dtype=float), (N, m))) for x in (lower, upper)]
    each = None if weights is None else np.array(np.broadcast_to(np.asarray(weights, dtype=float), (N, m)))
    return Block(name, of, places, np.broadcast_to(c, (N, of.function.numel_in(1))), rows[0], rows[1], each)


@final
class Program:
    """Blocks as one sparse nonlinear program in variables x, scaled to numbers of about one for the solver.

    Parameters
    ----------
    blocks : list of Block
    scale : (size,)
        Typical size of each variable.
    start : (size,)
        Initial guess of the solver. Every row is divided by its largest slope there.
    """

    def __init__(self, blocks: Sequence[Block], scale: Array, start: Array):
        self.scale, self.start = scale, start
        self.bounded = [each for each in blocks if each.weights is None]
        self.summed = [each for each in blocks if each.weights is not None]
        ends = np.cumsum([0, *(each.rows for each in self.bounded)])
        self.rows = {each.name: slice(a, b) for each, a, b in zip(self.bounded, ends, ends[1:], strict=False)}
        self.lower = np.concatenate([each.lower.ravel() for each in self.bounded])
        self.upper = np.concatenate([each.upper.ravel() for each in self.bounded])

    @cached_property
    def row_scale(self) -> Array:
        """One over the largest slope of each row at the start, in scaled variables."""
        import casadi as ca

        largest = np.zeros(len(self.lower))
        for each in self.bounded:
            X, c = _gathered(ca.DM(self.start), each)
            values, rows, columns = _entries(
                each.of.slope.map(len(each.places))(X, c), each, self.rows[each.name].start
            )
            np.maximum.at(largest, rows, np.abs(np.array(values).ravel() * self.scale[columns]))
        return 1.0 / np.where(largest > 0, largest, 1.0)

    @cached_property
    def functions(self) -> Mapping[str, "ca.Function"]:
        """The functions `nlp`, `jac_g`, `grad_f`, `hess_lag` of scaled variables that a solver of CasADi needs."""
        import casadi as ca

        size, count = len(self.scale), len(self.lower)
        w, p, lam_f, lam_g = (ca.MX.sym(*each) for each in (("w", size), ("p", 0), ("lam_f", 1), ("lam_g", count)))
        x, factors = ca.DM(self.scale) * w, ca.DM(self.row_scale) * lam_g
        g, slopes, bent = [], [], []
        for each in self.bounded:
            N, m = each.lower.shape
            X, c = _gathered(x, each)
            own = self.rows[each.name]
            g.append(ca.vec(each.of.function.map(N)(X, c)))
            slopes.append(_entries(each.of.slope.map(N)(X, c), each, own.start))
            own_factors = ca.reshape(factors[own.start : own.stop], m, N)
            bent.append(_curved(each.of.curvature.map(N)(X, c, own_factors), each))
        f, gradient = ca.MX(0), ca.MX.zeros(size)
        for each in self.summed:
            assert each.weights is not None
            N, m = each.weights.shape
            X, c = _gathered(x, each)
            W = each.weights.T
            f += ca.dot(ca.DM(W), each.of.function.map(N)(X, c))
            bent.append(_curved(each.of.curvature.map(N)(X, c, lam_f * ca.DM(W)), each))
            values, rows, columns = _entries(each.of.slope.map(N)(X, c), each, 0)
            gradient += ca.mtimes(
                _sums(columns, size, each.weights.ravel()[rows] * self.scale[columns]), ca.vec(values)
            )
        J = _assembled((count, size), slopes, self.row_scale, self.scale)
        H = _assembled((size, size), bent, self.scale, self.scale)
        g = ca.DM(self.row_scale) * ca.vertcat(*g)
        return {
            "nlp": ca.Function("nlp", [w, p], [f, g], ["x", "p"], ["f", "g"]),
            "jac_g": ca.Function("jac_g", [w, p], [g, J], ["x", "p"], ["g", "jac_g_x"]),
            "grad_f": ca.Function("grad_f", [w, p], [f, gradient], ["x", "p"], ["f", "grad_f_x"]),
            "hess_lag": ca.Function(
                "hess_lag", [w, p, lam_f, lam_g], [H], ["x", "p", "lam_f", "lam_g"], ["triu_hess_gamma_x_x"]
            ),
        }

    def solved(self, lower: Array, upper: Array, options: Mapping[str, Any], size: float, stop: Any = None) -> "Solved":
        """Solve by IPOPT with lower <= x <= upper.

        The cost at the start is scaled to `size`. The search ends early when `stop.came` is True.
        """
        import casadi as ca

        functions = self.functions
        begin = self.start / self.scale
        cost = abs(float(functions["nlp"](begin, [])[0])) or 1.0
        given: dict[str, Any] = {name: f for name, f in functions.items() if name != "nlp"}
        given |= {"print_time": False, "ipopt": {**options, "obj_scaling_factor": size / cost}}
        watch = _watch(len(begin), len(self.lower), stop) if stop is not None else None
        if watch is not None:
            given["iteration_callback"] = watch
        solver = ca.nlpsol("program", "ipopt", functions["nlp"], given)
        found = solver(
            x0=begin,
            lbx=lower / self.scale,
            ubx=upper / self.scale,
            lbg=self.lower * self.row_scale,
            ubg=self.upper * self.row_scale,
        )
        x, f, on_x, on_g = (np.array(found[name]).ravel() for name in ("x", "f", "lam_x", "lam_g"))
        statistics = solver.stats()
        said, steps = statistics["return_status"], int(statistics["iter_count"])
        return Solved(x * self.scale, float(f[0]), on_x / self.scale, on_g * self.row_scale, said, steps)


def _watch(size: int, rows: int, stop: Any) -> Any:
    """Return the callback in which IPOPT asks after each step whether to go on."""
    import casadi as ca

    class Watch(ca.Callback):  # type: ignore[misc]
        """Callback that returns 1 to stop the solver."""

        def __init__(self) -> None:
            ca.Callback.__init__(self)
            self.construct("watch", {})

        def get_n_in(self) -> int:
            return int(ca.nlpsol_n_out())

        def get_n_out(self) -> int:
            return 1

        def get_name_in(self, i: int) -> str:
            return str(ca.nlpsol_out(i))

        def get_sparsity_in(self, i: int) -> Any:
            lengths = {"x": size, "lam_x": size, "g": rows, "lam_g": rows, "f": 1}
            return ca.Sparsity.dense(lengths.get(ca.nlpsol_out(i), 0), 1)

        def eval(self, _: Any) -> list[float]:
            return [float(stop.came)]

    return Watch()


@final
@dataclass(frozen=True, eq=False)
class Solved:
    """Result of a solver: x, the cost, the multipliers of the bounds and of the rows, status and steps."""

    x: Array
    cost: float
    on_bounds: Array
    on_rows: Array
    said: str
    steps: int

    @property
    def found(self) -> bool:
        """True if the conditions of an optimum hold."""
        return self.said in ("Solve_Succeeded", "Solved_To_Acceptable_Level")


def _gathered(x: Any, each: Block) -> tuple[Any, "ca.DM"]:
    """Variables (k, N) and constants (constants, N) of a block."""
    import casadi as ca

    N, k = each.places.shape
    return ca.reshape(x[each.places.ravel().tolist()], k, N), ca.DM(np.ascontiguousarray(each.constants.T))


def _entries(values: Any, each: Block, offset: int) -> tuple[Any, Array, Array]:
    """Entries of the complete Jacobian: values, rows, columns."""
    rows, columns = (np.array(x, dtype=int) for x in each.of.slope.sparsity_out(0).get_triplet())
    N, m = len(each.places), each.of.function.numel_out(0)
    return values.nz[:], (offset + m * np.arange(N)[:, None] + rows).ravel(), each.places[:, columns].ravel()


def _curved(values: "ca.MX", each: Block) -> tuple["ca.MX", Array, Array]:
    """Entries of the upper triangle of the complete Hessian: values, rows, columns."""
    rows, columns = (np.array(x, dtype=int) for x in each.of.curvature.sparsity_out(0).get_triplet())
    a, b = each.places[:, rows].ravel(), each.places[:, columns].ravel()
    return values.nz[:], np.minimum(a, b), np.maximum(a, b)


def _sums(places: Array, size: int, factors: Array) -> "ca.DM":
    """The matrix (size, values) that multiplies values by factors and adds them at their indices."""
    import casadi as ca
    from scipy import sparse

    return ca.DM(sparse.csc_matrix((factors, (places, np.arange(len(places)))), (size, len(places))))


def _assembled(
    shape: tuple[int, int], parts: Sequence[tuple["ca.MX", Array, Array]], row_scale: Array, scale: Array
) -> "ca.MX":
    """Assemble a sparse matrix with scaled rows and columns. Entries with the same indices are added."""
    import casadi as ca

    values = ca.vertcat(*(ca.vec(each[0]) for each in parts))
    rows, columns = (np.concatenate([each[k] for each in parts]) for k in (1, 2))
    keys, places = np.unique(columns * shape[0] + rows, return_inverse=True)
    sparsity = ca.Sparsity.triplet(*shape, (keys % shape[0]).tolist(), (keys // shape[0]).tolist())
    return ca.MX(sparsity, ca.mtimes(_sums(places, len(keys), row_scale[rows] * scale[columns]), values))
