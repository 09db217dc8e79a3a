"""Tracing and compilation of an arm's equations, and calls with arrays."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, final

import numpy as np

from flexarm import progress
from flexarm.arrays import Array
from flexarm.checks import Described, Fault, checked_instance, checked_integer, choices, refused, shown, unknown_name
from flexarm.description.arm import Arm, Beam
from flexarm.errors import DescriptionError
from flexarm.model.attitudes import checked_attitude
from flexarm.model.evaluation import Evaluation, argument
from flexarm.model.exogenous import all_constants
from flexarm.model.faults import not_finite
from flexarm.model.user_code import digest, is_foreign
from flexarm.model.varied import Group, Traces, Varied, place
from flexarm.native.kernel import Check, Kernel
from flexarm.native.once import BUILDING, Once, Recent
from flexarm.shapes import TipLoad, fitted, quadrature

if TYPE_CHECKING:
    import casadi as ca

    from flexarm.mechanics.chain import Chain
    from flexarm.mechanics.parameters import Parameter

T = TypeVar("T")
Trace = Callable[["Traced"], "ca.Function"]
"""A function that traces for a model."""

STATE = ("q", "qd")
MOVED = ("q", "qd", "s", "u", "w")
ABSENT = {"s": "no drive with states", "w": "no exogenous input"}
"""Features that an arm lacks if its quantities do not have these arguments."""

QUANTITIES: dict[str, tuple[tuple[str, ...], tuple[str | int, ...]]] = {
    "mass_matrix": (("q",), ("n", "n")),
    "bias": (STATE, ("n",)),
    "gravity_force": (("q",), ("n",)),
    "stiffness_force": (("q",), ("n",)),
    "restoring_force": (("q",), ("n",)),
    "damping_force": (STATE, ("n",)),
    "input_matrix": (("q",), ("n", "m")),
    "forward_dynamics": (MOVED, ("n",)),
    "forward_dynamics_dense": (MOVED, ("n",)),
    "inverse_dynamics": ((*STATE, "qdd"), ("n",)),
    "coriolis_force": ((*STATE, "v"), ("n",)),
    "reference_dynamics": ((*STATE, "v", "qdd"), ("n",)),
    "energy": ((*STATE, "s"), (2,)),
    "momentum": (STATE, (6,)),
    "power": (MOVED, (1,)),
    "motors": (MOVED, ("m", 2)),
    "tension": ((*STATE, "s", "w"), ("cables",)),
    "closure_gaps": (STATE, ("conditions", 2)),
    "closure_reactions": (MOVED, ("closures", 6)),
    "frames": (("q",), ("bodies", 4, 4)),
    "tip": (("q",), (4, 4)),
    "deflections": (("q",), ("links", 6)),
    "state_rate": (MOVED, ("nq + n + s + 2",)),
    "state_residual": ((*MOVED, "qdd"), ("n + s + pose + 2",)),
    "prescribed_rate": (MOVED, ("nq + n + s + 2",)),
    "prescribed_residual": ((*MOVED, "qdd"), ("n + s + pose + 2",)),
    "prescribed_force": (MOVED, ("m",)),
    "observed": ((*STATE, "s"), ("5 + 6 links + m",)),
}
"""Arguments and shape of every quantity in the module `quantities`. s and w are absent for an arm without them."""
RESIDUALS = {"state_rate": "state_residual", "prescribed_rate": "prescribed_residual"}
"""Residuals that an implicit method solves, by the rates that an explicit method integrates."""
WHOLE = ("state_rate", "observed", "frames")
"""Quantities that together depend on all methods of a joint or a body."""
PARTNERS = RESIDUALS | {residual: rate for rate, residual in RESIDUALS.items()}
"""Quantities between which a run may switch. Both have the same constants."""


def description_digest(arm: Arm) -> str:
    """Return everything on which an arm's equations depend, except user-defined classes.

    A user-defined shape family enters by its shapes.
    """
    digest = hashlib.sha256(arm.canonical().encode())
    beams = [link.body for link in arm.links if isinstance(link.body, Beam)]
    for beam, direction, shapes in ((each, *family) for each in beams for family in each.families.items()):
        if not isinstance(shapes, str | Described):
            load = TipLoad(mass=beam.total_mass)  # any load will do, since the payload is part of the description
            basis = fitted(shapes, beam, direction, load).basis(beam.counts[direction])
            x, w = quadrature(basis)
            for derivative in range(3):
                digest.update(np.ascontiguousarray(basis.values(x, derivative)).tobytes())
    return digest.hexdigest()


def taken_by(name: str) -> tuple[str, ...]:
    """Return the arguments of a quantity. Raise `DescriptionError` for an unknown name."""
    try:
        return QUANTITIES[name][0]
    except (KeyError, TypeError):  # a name that is not a text may not be hashable
        raise DescriptionError(unknown_name("unknown quantity", name, QUANTITIES, "known quantities are")) from None


def quantity(name: str) -> Trace:
    """Return the function that traces a quantity, with its result in a column."""
    return lambda model: model.laid_out(name)


def _chain(arm: Arm, varied: tuple["Parameter", ...]) -> tuple["Chain", Any]:
    """Return the chain, and its symbols p if parameters vary."""
    from flexarm.mechanics.chain import chain  # here, since CasADi takes long to import
    from flexarm.mechanics.outside import with_outside

    if not varied:
        return with_outside(chain(arm), arm), None
    from flexarm.mechanics.varied import varied_chain

    return varied_chain(arm, varied)


def _state(arm: Arm, chain: "Chain") -> "State":
    """Return the state at which the quantities of an arm are traced."""
    import casadi as ca

    from flexarm.mechanics.chain import posed
    from flexarm.mechanics.remembered import remembering
    from flexarm.mechanics.spatial import entries

    names = {"q": arm.coordinates, "u": arm.inputs, "s": arm.states, "w": arm.exogenous}
    names |= dict.fromkeys(("qd", "v", "qdd"), arm.velocities)
    symbols = {a: ca.SX.sym(a, len(each)) for a, each in names.items()}
    scalars = {a: entries(x) for a, x in symbols.items()}
    chain, scalars["q"] = posed(chain, scalars["q"])
    return State(symbols, remembering(chain), scalars)


class State(NamedTuple):
    """Symbols of all arguments, the chain at their pose, which remembers, and the scalars for its recursions."""

    symbols: "dict[str, ca.SX]"
    chain: "Chain"
    scalars: dict[str, list]


def _kept(known: dict[str, Any], key: str, trace: Callable[[], Any]) -> Any:
    """Return the cached value of a key, or trace and cache it."""
    if key not in known:
        with BUILDING, progress.said(f"tracing {key}"):
            if key not in known:
                known[key] = trace()
    return known[key]


@final
class ArmTraces:
    """Data that models of equal arms share for all parameters.

    Attributes
    ----------
    size : int
        Estimate of the used memory, in operations of a CasADi Function, of about 300 bytes each.
    model : Traced, optional
        The model that traces, with nominal parameters. It belongs to no caller, so that no caller's model stays in
        memory.
    """

    def __init__(self, arm: Arm, vary: Sequence[str]):
        self.varied = varied = Varied(arm, vary)
        self.size: int = LEAST
        self.model: Traced | None = None
        self.kernels: dict[str, Kernel] = {}
        self.groups: dict[tuple[str, ...], Group] = {}
        self.functions: dict[str, Any] = {}
        self.facts: dict[Callable[[Arm], Any], Any] = {}
        self.chain = chain = Once(lambda: _chain(arm, varied.parameters))
        self.state = Once(lambda: _state(arm, chain()[0]))
        names = "\n".join(["", *(parameter.name for parameter in varied.parameters)])
        self.description = Once(lambda: f"{description_digest(arm)}{names}")
        self.foreign = Once(lambda: is_foreign(arm))

    def keep(self, key: str, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """Return a cached object, made on first use. `size` gives its size."""

        def counted() -> T:
            made = make()
            self.size += size(made)
            return made

        return _kept(self.functions, key, counted)  # type: ignore[no-any-return]


LARGEST = 2**20
"""Largest total size of the data of arms that stay in memory without a model, in the unit of
`ArmTraces.size`: 300 MB."""
LEAST = LARGEST // 32
"""Size of an arm's data before any function is traced. At most 31 arms stay in memory without a model."""
FLAT = 500
"""Size of a kernel, and of any other object that is not a Function."""

recent: Recent[ArmTraces] = Recent(LARGEST, lambda shared: shared.size)
"""Data of the arms that models were most recently made of."""


def shared_by(arm: Arm, vary: Sequence[str]) -> ArmTraces:
    """Return the data that all models of equal arms with the same `vary` share in this process.

    An arm with user-defined parts shares with no other, since its description does not contain their code.
    """
    if is_foreign(arm, vary):
        return ArmTraces(arm, vary)
    found = recent(f"{arm.canonical()}\n{vary!r}", lambda: ArmTraces(arm, vary))
    return found if found.varied.arm == arm else ArmTraces(arm, vary)  # such as the same part from another file


class Traced:
    """An arm's functions, each traced on first use, compiled on first call, and cached by its key.

    Attributes
    ----------
    arm : Arm
    coordinates, velocities, inputs, states, exogenous : tuple of str
        Names in the order of q, of qd, of u, of the states s of drives, and of the exogenous inputs w.
    nq, nv : int
        Numbers of coordinates and of rates: equal unless the base is free, which has seven and six.
    p : (k,)
        Values of the parameters that vary, see `Model`.
    """

    def __init__(self, arm: Arm | str | PathLike[str], vary: Sequence[str] = ()):
        if isinstance(arm, str | PathLike):
            from flexarm.description.load import load  # here, since most models are those of arms

            arm = load(arm)
        with refused("Model"):
            checked_instance(arm, Arm, "arm")
        if not arm.coordinates:
            raise DescriptionError(f"arm {arm.name!r}: nothing moves; give it a joint or a link with modes")
        self._shared = shared_by(arm, vary)
        self.arm = arm
        self.coordinates = arm.coordinates
        self.inputs = arm.inputs
        self.velocities = arm.velocities
        self.nq, self.nv = len(arm.coordinates), len(arm.velocities)
        n, m = self.nv, len(arm.inputs)
        self._more = bool(arm.states or arm.exogenous)
        self.states, self.exogenous = arm.states, arm.exogenous
        self._signals = {"q": arm.coordinates} | dict.fromkeys(("qd", "v", "qdd"), arm.velocities)
        self._signals |= {"u": arm.inputs, "s": arm.states, "w": arm.exogenous}
        self._sizes: dict[str, int] = {
            "n": n,
            "m": m,
            "bodies": len(arm.links) + 1,
            "links": len(arm.links),
            "cables": len(arm.cables),
            "closures": len(arm.closures),
            "conditions": sum(closure.conditions for closure in arm.closures),
            "nq + n + s + 2": len(arm.coordinates) + n + len(arm.states) + 2,
            "n + s + pose + 2": n + len(arm.states) + arm.poses + 2,
            "5 + 6 links + m": 5 + 6 * len(arm.links) + m,
        }
        self._begin(self._shared.varied.nominal)

    def _begin(self, p: Array) -> None:
        """Set the parameters, and clear the caches that depend on them."""
        self.p = p.copy()
        self.p.flags.writeable = False  # cached constants depend on it
        self._kernels: dict[str, Kernel] = {}
        self._evaluations: dict[str, Evaluation] = {}
        self._derived: dict[str, Any] = {}

    def at(self, p: Any) -> Self:
        """Return the same model with other values of its parameters, without tracing or compiling.

        Parameters
        ----------
        p : (k,) or dict
            In the order of `parameters`; or some of them by name or symbol, the others as in this model.

        Raises
        ------
        DescriptionError
            A value is out of range, or the model has no such parameter.
        """
        values = self.parameter_values(p)
        if values.ndim != 1:
            raise DescriptionError(f"p has shape {values.shape}; it must be one set of parameters")
        return self._with_parameters(values)

    def _with_parameters(self, p: Array) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        Traced._begin(other, p)
        return other

    @property
    def _tracing(self) -> "Traced":
        """The model that traces for all models of equal arms."""
        if self._shared.model is None:
            self._shared.model = self._with_parameters(self._shared.varied.nominal)
        return self._shared.model

    def function(self, name: str) -> "ca.Function":
        """Return the CasADi Function of a quantity, as "forward_dynamics", for optimisation and export.

        Its arguments have the names of the method's, and its result has the name of the quantity. If the model varies,
        p is the last argument.
        """
        names = taken_by(name)

        def trace() -> "ca.Function":
            import casadi as ca

            from flexarm.mechanics import quantities

            symbols, chain, scalars = self._shared.state()
            symbols = {a: symbols[a] for a in self.arguments(name)}
            try:
                value = getattr(quantities, name)(chain, *([*scalars[a]] for a in names))
            except ArithmeticError:  # with numbers instead of symbols, such as a constant inertia of zero
                raise not_finite(self, name) from None
            rows = [ca.horzcat(*row) if isinstance(row, list) else row for row in value]
            expression = ca.cse(ca.densify(ca.SX(ca.vertcat(*rows))))
            return self.over_parameters(name, symbols, {name: expression})

        return self.traced(name, trace)

    def arguments(self, name: str) -> tuple[str, ...]:
        """Return the arguments of a quantity of this arm, including s and w if it has some."""
        return tuple(a for a in taken_by(name) if a not in ("s", "w") or self._signals[a])

    def _filled(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of a quantity's arguments in which s and w may be omitted. They are then zero."""
        names = self.arguments(name)
        few = [a for a in names if a not in ("s", "w")]
        if few == list(names):
            return function

        def filled(*given: Any) -> Any:
            if len(given) != len(few):
                return function(*given)
            values = dict(zip(few, given, strict=True))
            return function(*(values.get(a, np.zeros(len(self._signals[a]))) for a in names))

        return filled

    def posed(self, q: list) -> "tuple[Chain, list]":
        """Return the chain at the pose of a free base and of ball joints in the coordinates (nq).

        Also return the coordinates over the rates (nv).
        """
        from flexarm.mechanics.chain import posed

        return posed(self.chain, q)

    def to_tangent(self, slope: "ca.SX", x: "Sequence[ca.SX]", argument: str) -> "ca.SX":
        """Convert a derivative with respect to q, one of all arguments x, to local coordinates."""
        if argument != "q" or not self.arm.poses:
            return slope
        import casadi as ca

        from flexarm.mechanics.chain import tangent
        from flexarm.mechanics.spatial import entries, matrix

        return ca.mtimes(slope, matrix(tangent(self.chain, entries(x[0]))))

    def rates_in_tangent(self, name: str, slope: "ca.SX", x: "Sequence[ca.SX]", argument: str) -> "ca.SX":
        """Convert the derivative of a rate that a simulation integrates to the rates of q in local coordinates.

        Near a motion with the twist (v, w), a shift d and a rotation t of a free base have the rates d' = dv - w x d -
        v x t and t' = dw - w x t. The latter is also the rate of a rotation of a ball joint.
        """
        twists = self.arm.twists
        if name not in RESIDUALS or not twists:
            return slope
        import casadi as ca

        rows = ca.SX.zeros(self.nv, slope.shape[1])
        rows[twists:, :] = slope[self.arm.poses : self.nq, :]
        if argument == "q":
            for _, at in self.arm.quaternions:
                rows[at, at] = -ca.skew(x[1][at])
            if self.arm.free:
                rows[:3, :6] = -ca.horzcat(ca.skew(x[1][3:6]), ca.skew(x[1][:3]))
        if argument == "qd":
            rows[:twists, :twists] = ca.SX.eye(twists)
        return ca.vertcat(rows, slope[self.nq :, :])

    def over_parameters(self, name: str, arguments: dict[str, "ca.SX"], results: dict[str, "ca.SX"]) -> "ca.Function":
        """Return the Function of expressions over the chain, of these arguments and, if the model varies, of p."""
        import casadi as ca

        p = {} if self.symbols is None else {"p": self.symbols}
        given = {**arguments, **p}
        return ca.Function(name, list(given.values()), list(results.values()), list(given), list(results))

    @property
    def symbols(self) -> "ca.SX | None":
        """Symbols of the parameters in the chain, (k,); None if nothing varies."""
        return self._shared.chain()[1]

    def with_numbers(self, function: "ca.Function") -> Callable[..., Any]:
        """Return a function of `over_parameters` with this model's parameters inserted."""
        if not self._shared.varied:
            return function
        return lambda *x: function(*x, self.p)

    def fixed(self, name: str) -> Callable[..., Any]:
        """Return `function` with this model's parameters inserted, so that it takes the other arguments alone."""
        return self._filled(name, self.with_numbers(self.function(name)))

    def slope(self, name: str, argument: int | str) -> Callable[..., Any]:
        """Return the derivative of a quantity with respect to one of its arguments, by index or name, including "p".

        The function takes all arguments except p, which is this model's. States of drives and exogenous inputs may be
        omitted. On a free base the derivative is with respect to local coordinates (nv): those of the base are a shift
        and a rotation along its axes. Derivatives of coordinates' rates are those of local coordinates.
        """
        return self._filled(name, self.with_numbers(self.slope_function(name, argument)))

    def slope_function(self, name: str, argument: int | str) -> "ca.Function":
        """Return the CasADi Function of a `slope`, of all arguments of the quantity.

        If the model varies, p is the last.
        """
        names = (*self.arguments(name), *(["p"] if self._shared.varied else []))
        with refused(f"slope of {name}"):
            if isinstance(argument, str):
                if argument not in names:
                    raise Fault("argument", f"is {argument!r}; it must be {choices(*names)}")
                argument = names.index(argument)
            argument = checked_integer(argument, len(names) - 1, "argument")

        def trace() -> "ca.Function":
            import casadi as ca

            x = self.function(name).sx_in()
            found = self.to_tangent(ca.jacobian(self.function(name)(*x), x[argument]), x, names[argument])
            return ca.Function("slope", x, [ca.densify(self.rates_in_tangent(name, found, x, names[argument]))])

        return self.traced(f"{name} to {argument}", trace)

    def traced(self, key: str, trace: Callable[[], "ca.Function"]) -> "ca.Function":
        """Return a cached function, traced on first use. Its last argument is p if the model varies."""
        return self._shared.keep(key, trace, lambda made: made.n_instructions())

    def derived(self, key: str, trace: Callable[[], Any]) -> Any:
        """Return a cached function of the model with its parameters inserted, traced on first use."""
        if self._shared.varied:
            return _kept(self._derived, key, trace)
        return self._shared.keep(key, trace, lambda _: FLAT)

    def of_arm(self, make: Callable[[Arm], T]) -> T:
        """Return `make(arm)`, computed once for all models of the arm."""
        facts = self._shared.facts
        if make not in facts:
            facts.setdefault(make, make(self.arm))
        return facts[make]  # type: ignore[no-any-return]

    def kernel(self, name: str) -> Kernel:
        """Return the compiled form of a quantity, from its concatenated arguments to its value, the last axis fastest.

        The first call raises `DescriptionError` if the value is not finite at rest.
        """
        model, names = self._tracing, self.arguments(name)
        others = sum(len(self._signals[a]) for a in names[1:])
        partners = {other: quantity(other) for rate, other in PARTNERS.items() if rate == name}

        def check(call: Callable[[Array], Array]) -> None:
            at_rest = np.concatenate([model.arm.rest, np.zeros(others)])
            if not np.isfinite(call(at_rest)).all():
                raise not_finite(model, name)

        behind = self.nv if place(names) < len(names) else 0
        return self.compiled(name, quantity(name), check, partners, behind)

    def laid_out(self, name: str) -> "ca.Function":
        """Return `function` with its result in a column, the last axis fastest."""
        import casadi as ca

        function, shape = self.function(name), self._shape(QUANTITIES[name][1])
        if len(shape) == 1:
            return function
        *stack, rows, columns = shape
        places = np.arange(math.prod(shape)).reshape(*stack, columns, rows)  # CasADi stores matrices by columns
        x = function.sx_in()
        y = ca.densify(ca.vec(function(*x)))[places.swapaxes(-1, -2).ravel().tolist()]
        return ca.Function(name, x, [y], function.name_in(), [name])

    def compiled(
        self,
        key: str,
        trace: Trace,
        check: Check | None = None,
        partners: dict[str, Trace] | None = None,
        behind: int = 0,
    ) -> Kernel:
        """Return the compiled form of a function that the model and the key determine, from the cache if possible.

        `trace` takes a model of an equal arm with the same varied parameters.

        If the model varies, p is the last argument of the function. Values that depend on p alone are computed once and
        become constants, an input before the last `behind` numbers of the others. `partners` are other functions by
        their keys that share the constants.
        """
        if not self._shared.varied:
            known = self._shared.kernels
            if key not in known:
                bound = partial(trace, self._tracing)
                known.setdefault(key, Kernel(json.dumps([key, *self._known(bound)]), bound, check))
                self._shared.size += FLAT
            return known[key]
        if key not in self._kernels:
            sorted_ = sorted({key: trace, **(partners or {})}.items())
            traces: Traces = {name: partial(each, self._tracing) for name, each in sorted_}
            keys = tuple(traces)
            if keys not in self._shared.groups:
                made = Group("\n".join(self._known(*traces.values())), self._shared.varied.nominal, traces)
                self._shared.groups.setdefault(keys, made)
                self._shared.size += FLAT * (1 + len(keys))
            group = self._shared.groups[keys]
            self._kernels.setdefault(key, group.kernel(key, behind, check, self.p))
        return self._kernels[key]

    def _known(self, *traces: Callable[[], "ca.Function"]) -> list[str]:
        """Return the key of functions: the description, and their expressions for user-defined joints or bodies."""
        said = self._shared.description()
        return [said, digest(*(trace() for trace in traces))] if self._shared.foreign() else [said]

    @property
    def varied(self) -> tuple["Parameter", ...]:
        """Parameters that are inputs."""
        return self._shared.varied.parameters

    @property
    def chain(self) -> "Chain":
        """The arm in the form of the recursions. If the model varies, the chain contains symbols of its parameters."""
        return self._shared.chain()[0]

    @property
    def fingerprint(self) -> str:
        """Everything on which the equations depend: the description, and expressions of user-defined parts."""
        functions = [partial(self.laid_out, name) for name in WHOLE]
        text = "\n".join(self._known(*functions))
        return f"{text}\n{self.p.tolist()}" if self.varied else text

    def number(self, name: str, nominal: float) -> float:
        """Return a number of the arm in this model. A number that does not vary is nominal."""
        return next((float(x) for each, x in zip(self.varied, self.p, strict=True) if each.name == name), nominal)

    @property
    def gravity(self) -> tuple[float, ...]:
        """Acceleration of gravity in the world, which is the frame of a fixed base [m/s^2]."""
        lone = self.number("gravity", 1.0) if any(x.name == "gravity" for x in self.varied) else None
        given = [float(np.sign(g)) * lone if lone is not None else g for g in self.arm.gravity]
        return tuple(self.number(f"gravity.{axis}", g) for axis, g in zip("xyz", given, strict=True))

    def evaluate(self, name: str, *values: Any, p: Any = None, s: Any = None, w: Any = None) -> Array:
        """Return the value of any quantity at one state or many, with the arguments of its method.

        p are parameters (k,) or (..., k) in place of this model's. s and w are states of drives and exogenous inputs,
        for an arm that has some, by default zero.
        """
        try:
            found = self._evaluations[name]
        except (KeyError, TypeError):  # not evaluated before, or not a name
            kernel = self.kernel(name)
            shape = QUANTITIES[name][1]
            found = self._evaluations.setdefault(name, self.evaluation(name, kernel, self.arguments(name), shape))
        if self._more or s is not None or w is not None:
            values = tuple(self._with_states(name, values, {"s": s, "w": w}))
        return found(values) if p is None else found(values, self.parameter_values(p))

    def _with_states(self, name: str, values: Sequence[Any], more: dict[str, Any]) -> Sequence[Any]:
        """Return the values of all arguments of a quantity."""
        names = self.arguments(name)
        for each, value in more.items():
            if value is not None and each not in names:
                absent = f"arm {self.arm.name!r} has {ABSENT[each]}"
                why = f"{name} does not depend on {each}" if self._signals[each] else absent
                raise DescriptionError(f"{name}: {each} is given, but {why}; leave {each} out")
        few = [a for a in names if a not in more]
        if len(values) != len(few):
            return values
        given = {**more, **dict(zip(few, values, strict=True))}
        return [np.zeros(len(self._signals[a])) if given[a] is None else given[a] for a in names]

    def parameter_values(self, p: Any) -> Array:
        """Return parameters (..., k) from an array, or from a dict by name with the others as in this model.

        Raises `DescriptionError` for a value out of range or an unknown name.
        """
        return self._shared.varied.values(p, self.p)

    def evaluation(self, name: str, kernel: Kernel, names: tuple[str, ...], sizes: tuple[str | int, ...]) -> Evaluation:
        """Return a kernel as a function of arguments of these names, with a value in the shape of `sizes`."""
        signals = {a: self._signals[a] for a in names}
        quaternions = (names.index("q"), self.arm) if self.arm.quaternions and "q" in names else None
        return Evaluation(name, kernel, signals, self._shape(sizes), place(names), quaternions)

    def signals_of(self, argument: str) -> tuple[str, ...]:
        """Return the names of the entries of an argument: q, qd, v, qdd, u, s or w. Raises `DescriptionError`."""
        try:
            return self._signals[argument]
        except (KeyError, TypeError):  # a name that is not a text may not be hashable
            raise DescriptionError(f"argument is {shown(argument)}; it must be {choices(*self._signals)}") from None

    def shape_of(self, name: str) -> tuple[int, ...]:
        """Return the shape of a quantity at one state."""
        return self._shape(QUANTITIES[name][1])

    def _shape(self, sizes: tuple[str | int, ...]) -> tuple[int, ...]:
        return tuple(s if isinstance(s, int) else self._sizes[s] for s in sizes)

    def argument(self, name: str, value: Any) -> Array:
        """Return an argument q, qd, qdd (..., n) or u (..., m) as an array of floats. Raises `DescriptionError`."""
        there = {a: signals for a, signals in self._signals.items() if signals or a not in ("s", "w")}
        try:
            signals = there[name]
        except (KeyError, TypeError):  # a name that is not a text may not be hashable
            raise DescriptionError(f"name is {shown(name)}; it must be {choices(*there)}") from None
        x = argument(name, signals, value)
        if name == "q":
            checked_attitude(x, self.arm)
        return x

    def single(self, where: str, name: str, value: Any) -> Array:
        """Return an `argument` of one state: (n,) or (m,). Exogenous inputs w may be a dict of numbers by name."""
        if isinstance(name, str):  # `argument` refuses other names
            if name in ABSENT and not self._signals[name]:
                raise DescriptionError(f"{where}: {name} is given, but arm {self.arm.name!r} has {ABSENT[name]}")
            if name == "w" and isinstance(value, Mapping):
                value = all_constants(value, self._signals["w"])
        x = self.argument(name, value)
        if x.ndim != 1:
            one = "configuration" if name == "q" else "state"
            raise DescriptionError(f"{where}: {name} has more than one axis; give one {one}")
        return x
