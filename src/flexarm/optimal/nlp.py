"""Nonlinear programs of small functions, each repeated over many groups of variables, with exact derivatives.

Direct transcription evaluates the same few functions at hundreds of points. A `Block` is one such function f(x) with a
sparse matrix G, which maps all unknowns w of the program to the variables x of all groups. The derivatives f' and f''
are found once, as expressions of a single point, and mapped over all points. Those of the program are then f' G and
G' f'' G. IPOPT (Waechter & Biegler, Math. Program. 106, 2006) solves the program.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.cached import cached_property
from flexarm.native.calls import cores

if TYPE_CHECKING:
    import casadi as ca
    from scipy import sparse


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
    variables : (N k, unknowns)
        Sparse matrix that maps the unknowns to the x of all groups, one group after another. Unknowns beyond its last
        column are not used.
    constants : (N, constants)
    lower, upper : (N, m)
    weights : (N, m), optional
        Weights of y in the cost. Without them, y is bounded.
    """

    name: str
    of: Repeated
    variables: "sparse.csr_array"
    constants: Array
    lower: Array = field(default_factory=lambda: np.zeros((0, 0)))
    upper: Array = field(default_factory=lambda: np.zeros((0, 0)))
    weights: Array | None = None

    @property
    def rows(self) -> int:
        """Number of bounded entries."""
        return 0 if self.weights is not None else self.lower.size

    def among(self, scale: Array) -> "ca.DM":
        """Matrix that maps all unknowns of a program, each divided by its scale, to the variables."""
        import casadi as ca
        from scipy import sparse

        given = self.variables
        whole = sparse.csr_array((given.data, given.indices, given.indptr), (given.shape[0], len(scale)))
        return ca.DM(whole.multiply(scale).tocsc())


def block(
    name: str,
    given: "ca.Function | Repeated",
    variables: Any,
    constants: Any = None,
    lower: Any = 0.0,
    upper: Any = 0.0,
    weights: Any = None,
) -> Block:
    """Return a `Block`. Limits, constants and weights that are not given for each group are the same for all.

    `variables` is the matrix of a block, or has the indices of the groups' variables among the unknowns, (N, k).
    """
    from scipy import sparse

    of = given if isinstance(given, Repeated) else Repeated(given)
    m, k = of.function.numel_out(0), of.function.numel_in(0)
    if isinstance(variables, np.ndarray):
        rows = np.arange(variables.size)
        variables = sparse.csr_array((np.ones(len(rows)), (rows, variables.ravel())))
    N = variables.shape[0] // k
    c = np.zeros((N, 0)) if constants is None else constants
    low, high = (np.array(np.broadcast_to(np.asarray(x, dtype=float), (N, m))) for x in (lower, upper))
    each = None if weights is None else np.array(np.broadcast_to(np.asarray(weights, dtype=float), (N, m)))
    return Block(name, of, variables, np.broadcast_to(c, (N, of.function.numel_in(1))), low, high, each)


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
    def _variables(self) -> Mapping[str, "ca.DM"]:
        """Matrix of each block that maps the scaled unknowns to its variables."""
        return {each.name: each.among(self.scale) for each in (*self.bounded, *self.summed)}

    @cached_property
    def row_scale(self) -> Array:
        """One over the largest slope of each row at the start, in scaled variables."""
        import casadi as ca

        begin = ca.DM(self.start / self.scale)
        found = np.concatenate([_largest(_slopes(begin, each, self._variables[each.name])) for each in self.bounded])
        return 1.0 / np.where(found > 0, found, 1.0)

    @cached_property
    def functions(self) -> Mapping[str, "ca.Function"]:
        """The functions `nlp`, `jac_g`, `grad_f`, `hess_lag` of scaled variables that a solver of CasADi needs."""
        import casadi as ca

        size, count = len(self.scale), len(self.lower)
        w, p, lam_f, lam_g = (ca.MX.sym(*each) for each in (("w", size), ("p", 0), ("lam_f", 1), ("lam_g", count)))
        factors = ca.DM(self.row_scale) * lam_g
        G = self._variables
        g = [_values(w, each, G[each.name]) for each in self.bounded]
        slopes = [_slopes(w, each, G[each.name]) for each in self.bounded]
        curved = [_curvature(w, each, G[each.name], factors[self.rows[each.name]]) for each in self.bounded]
        f, gradient = ca.MX(0), ca.MX.zeros(1, size)
        for each in self.summed:
            assert each.weights is not None
            weights = ca.DM(each.weights.ravel())
            f += ca.dot(weights, _values(w, each, G[each.name]))
            gradient += ca.mtimes(weights.T, _slopes(w, each, G[each.name]))
            curved.append(_curvature(w, each, G[each.name], lam_f * weights))
        by = ca.DM(self.row_scale)
        g, J = by * ca.vertcat(*g), ca.mtimes(ca.diag(by), ca.vertcat(*slopes))
        H = ca.triu(sum(curved, ca.MX(size, size)))
        return {
            "nlp": ca.Function("nlp", [w, p], [f, g], ["x", "p"], ["f", "g"]),
            "jac_g": ca.Function("jac_g", [w, p], [g, J], ["x", "p"], ["g", "jac_g_x"]),
            "grad_f": ca.Function("grad_f", [w, p], [f, ca.densify(gradient.T)], ["x", "p"], ["f", "grad_f_x"]),
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


def _gathered(w: Any, each: Block, G: "ca.DM") -> tuple[Any, "ca.DM"]:
    """Variables (k, N) and constants (constants, N) of a block at scaled unknowns."""
    import casadi as ca

    N = len(each.constants)
    return ca.reshape(ca.mtimes(G, w), -1, N), ca.DM(np.ascontiguousarray(each.constants.T))


def _for_all(function: "ca.Function", each: Block) -> "ca.Function":
    """Return the function of all groups of a block, whose values are side by side. Threads share the groups."""
    N = len(each.constants)
    return function.map(N, "thread", min(N, cores()))


def _values(w: Any, each: Block, G: "ca.DM") -> Any:
    """Values of a block at scaled unknowns, as a column."""
    import casadi as ca

    return ca.vec(_for_all(each.of.function, each)(*_gathered(w, each, G)))


def _slopes(w: Any, each: Block, G: "ca.DM") -> Any:
    """Jacobian of a block in the scaled unknowns."""
    import casadi as ca

    return ca.mtimes(_of_all(each.of.slope, each, *_gathered(w, each, G)), G)


def _curvature(w: Any, each: Block, G: "ca.DM", factors: Any) -> Any:
    """Hessian of the sum of a block's values times factors in the scaled unknowns."""
    import casadi as ca

    factors = ca.reshape(factors, -1, len(each.constants))
    own = _of_all(each.of.curvature, each, *_gathered(w, each, G), factors)
    return ca.mtimes(G.T, ca.mtimes(ca.triu2symm(own), G))


def _of_all(matrix: "ca.Function", each: Block, *given: Any) -> Any:
    """Matrices of all groups, as the blocks of a block-diagonal matrix."""
    import casadi as ca

    return ca.sparsity_cast(_for_all(matrix, each)(*given), ca.diagcat(*[matrix.sparsity_out(0)] * len(each.constants)))


def _largest(matrix: "ca.DM") -> Array:
    """Largest absolute value of each row."""
    values = matrix.sparse()
    return np.asarray(abs(values).max(axis=1).toarray()).ravel()
