"""Parameters of an arm that vary: their selection, their allowed values, and code that takes them as inputs."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.cached import cached_property
from flexarm.checks import checked_array, checked_number, counted, named_or_fitting, refused, shown, unknown_name
from flexarm.description import numbers
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError
from flexarm.native.kernel import Check, Kernel
from flexarm.native.once import Once
from flexarm.shapes import BENDING, RODS

if TYPE_CHECKING:
    import casadi as ca

    from flexarm.mechanics.chain import Known
    from flexarm.mechanics.parameters import Parameter
    from flexarm.native.prologue import Prologue

Traces = dict[str, Callable[[], "ca.Function"]]
"""Functions by their keys."""

STEPS = 0.03, 1e-3, 1e-5
"""Relative increases of a number (absolute if it is zero) at which shapes are compared. The first allowed one is
used."""
ROUNDING = dict.fromkeys(BENDING, 1e-9) | dict.fromkeys(RODS, 1e-12)
"""Largest difference of two shapes of a direction that differ by rounding alone.

Shapes in bending may come from eigenvalue problems. Shapes of rods are closed forms, so the search also finds a number
with a weak effect: a hub's inertia may move the shapes of the shaft before it by less than 1e-9.
"""
SMALL, LARGE = 1e-15, 1e15
"""Sizes between which numbers are checked together. Numbers outside, except zero, are checked one by one."""


@final
class Varied:
    """The parameters of an arm that a model takes as inputs.

    Parameters
    ----------
    arm : Arm
    vary : list of str
        Names, symbols, or patterns of them; a pattern matches those that vary and are not zero.
    """

    def __init__(self, arm: Arm, vary: Any):
        self.arm = arm
        self.parameters: tuple[Parameter, ...] = ()
        if not isinstance(vary, list | tuple):
            raise DescriptionError(f"vary is {shown(vary)}; it must be a list of names, symbols or patterns of them")
        if vary:
            _check_names(arm)
            self.parameters = _chosen(arm, vary)
        self.nominal = np.array([x.value for x in self.parameters])
        self._rules = [numbers.rule(arm, x.name) for x in self.parameters]
        zero, negative = (np.array([rule[1](x) for rule in self._rules], dtype=bool) for x in (0.0, -1.0))
        self._not_negative, self._not_zero = ~negative, ~zero
        self._tensors = self._varied_tensors()

    def __bool__(self) -> bool:
        return bool(self.parameters)

    def values(self, p: Any, otherwise: Array) -> Array:
        """Return parameters (..., k), given as an array, or by name with the others from `otherwise`.

        Raises `DescriptionError`.
        """
        none = "p is given, but the model has no varied parameters; choose them by Model(arm, vary=[...])"
        if isinstance(p, Mapping):
            if p and not self:
                raise DescriptionError(none)
            p = self._by_name(p, otherwise)
        x = p
        if type(x) is not np.ndarray or x.dtype != float:
            with refused():
                x = checked_array(p, "p", finite=False)
        if not self:
            raise DescriptionError(none)
        if x.ndim == 0 or x.shape[-1] != len(self.parameters):
            names = ", ".join(each.name for each in self.parameters)
            message = f"its last axis must have {counted(len(self.parameters), 'number')}: {names}"
            raise DescriptionError(f"p has shape {x.shape}; {message}")
        usual = (np.abs(x) < LARGE) & ((np.abs(x) > SMALL) | (x == 0.0))
        allowed = usual & ((x >= 0.0) | ~self._not_negative) & ((x != 0.0) | ~self._not_zero)
        if not allowed.all():
            self._refuse(x)
        if self._tensors:
            self._check_tensors(x)
        return x

    def _by_name(self, given: Mapping, otherwise: Array) -> Array:
        x = otherwise.copy()
        for name, value in given.items():
            found = [i for i, each in enumerate(self.parameters) if name in (each.name, each.symbol)]
            if not found:
                names, varied = [each.name for each in self.parameters], "varied parameters are"
                raise DescriptionError(unknown_name("p: the model does not vary", name, names, varied))
            with refused("p"):
                x[found[0]] = checked_number(value, self.parameters[found[0]].unit, self._rules[found[0]], str(name))
        return x

    def _refuse(self, x: Array) -> None:
        """Raise an error for the first number that is not allowed, if any."""
        for index in np.ndindex(x.shape[:-1]):
            where = "p" + "".join(f"[{i}]" for i in index)
            for each, rule, value in zip(self.parameters, self._rules, x[index], strict=True):
                with refused(where):
                    checked_number(float(value), each.unit, rule, each.name)

    def _check_tensors(self, x: Array) -> None:
        """Raise an error if a principal moment of inertia would be negative."""
        for name, (I, entries) in self._tensors.items():
            full = np.broadcast_to(I, (*x.shape[:-1], 3, 3)).copy()
            for r, c, place in entries:
                full[..., r, c] = x[..., place]
            least, size = np.linalg.eigvalsh(full)[..., 0], np.abs(full).max(axis=(-2, -1))
            free = self.arm.free and name == "base.inertia"
            bad = np.argwhere(least <= 1e-15 * size if free else least < -1e-12 * size)
            if len(bad):
                where = "p" + "".join(f"[{i}]" for i in bad[0])
                value = float(least[tuple(bad[0])])
                allowed = "all must be positive" if free else "none may be negative"
                raise DescriptionError(f"{where}: {name} has the principal value {value} kg m^2; {allowed}")

        if self.arm.payload is None and "payload.inertia" in self._tensors:
            mass = [i for i, each in enumerate(self.parameters) if each.name == "payload.mass"]
            turning = [place for _, _, place in self._tensors["payload.inertia"][1]]
            if (x[..., turning].any(axis=-1) & ~x[..., mass].any(axis=-1)).any():
                raise DescriptionError(
                    "p: payload.mass is 0.0 kg; it must be positive where payload.inertia is not zero"
                )

    def _varied_tensors(self) -> dict[str, tuple[Array, list[tuple[int, int, int]]]]:
        """Return the tensors with entries that vary, and each such entry's row, column and parameter index."""
        place = {each.name: i for i, each in enumerate(self.parameters)}
        found = {}
        for name, I in numbers.tensors(self.arm).items():
            names = {(r, c): numbers.entry_name(name, I, r, c) for r in range(3) for c in range(3)}
            if entries := [(*where, place[each]) for where, each in names.items() if each in place]:
                found[name] = I, entries
        return found

    def arm_at(self, x: Array, of_tapered: str = numbers.REFUSED, known: numbers.KnownLinks | None = None) -> Arm:
        """Return the description with these values, see `numbers.changed`. Raises `DescriptionError`."""
        values = {each.name: float(value) for each, value in zip(self.parameters, x, strict=True)}
        with refused(f"arm {self.arm.name!r}"):
            return numbers.changed(
                self.arm, numbers.told(values, {x.name: x.value for x in self.parameters}), of_tapered, known
            )

    @cached_property
    def described(self) -> tuple["Parameter", ...]:
        """The parameters, each with the shapes that would change in an arm rebuilt with another value."""
        beside = np.array([numbers.beside_shapes(self.arm, x.name) for x in self.parameters], dtype=bool)
        if beside.all():
            return self.parameters
        links: numbers.KnownLinks = {}
        weighed: Known = {}

        def bases(x: Array) -> dict[str, Array]:
            return self._bases(x, links, weighed)

        compared = [(x, bases(x)) for x in self._places(beside)]
        return tuple(
            each if beside[i] else replace(each, shapes=_followed(i, compared, bases))
            for i, each in enumerate(self.parameters)
        )

    def _places(self, beside: Array) -> list[Array]:
        """Return nominal values, and other values that are nonzero except for products of inertia.

        `beside` marks the numbers on which no shape depends.
        """
        scatter = 1.0 + 0.1 * np.random.default_rng(1).random(len(self.nominal))
        crossed = np.array([numbers.is_product(self.arm, x.name) for x in self.parameters])
        others = np.where(self.nominal == 0.0, 0.1, self.nominal) * scatter
        others = np.where(beside, self.nominal, others)  # parts of these numbers allow only consistent values
        straight = np.where(crossed, self.nominal, others)
        return [self.nominal, straight, np.where(crossed, 1e-3 * others, others)]

    def _bases(self, x: Array, links: numbers.KnownLinks, weighed: "Known") -> dict[str, Array]:
        """Return the shapes of an arm with these values, or {} if there is no such arm.

        `links` and `weighed` store parts of earlier arms.
        """
        from flexarm.mechanics.chain import shapes_of

        try:
            arm = self.arm_at(x, of_tapered=numbers.DENSER, known=links)
        except DescriptionError:
            return {}
        s = np.linspace(0.05, 1.0, 8)
        return {name: basis.values(s) for name, basis in shapes_of(arm, weighed).items()}


def _followed(
    i: int, compared: list[tuple[Array, dict[str, Array]]], bases: Callable[[Array], dict[str, Array]]
) -> tuple[str, ...]:
    """Return the shapes that change if a number is increased, near nominal values or away from them.

    Values away from the nominal ones are needed because an angle may matter only if another is not zero.
    """
    follows: dict[str, None] = {}
    for known, mine in compared:
        if all(name in follows for name in mine):
            continue
        for step in STEPS:
            x = known.copy()
            x[i] += step * (abs(x[i]) or 1.0)
            theirs = bases(x)
            if theirs:
                follows |= dict.fromkeys(name for name in mine if not _same(name, mine[name], theirs[name]))
                break
    return tuple(follows)


def _same(name: str, mine: Array, theirs: Array) -> bool:
    """Return True if two shapes called "link.direction" differ by rounding alone.

    The shapes of a part, "link.mode", count as bending.
    """
    most = ROUNDING.get(name.rpartition(".")[2], ROUNDING["y"])
    return np.allclose(mine, theirs, rtol=most, atol=most)


def _check_names(arm: Arm) -> None:
    """Raise an error if a name would mean two numbers."""
    for link in arm.links:
        if link.name in numbers.OWNERS:
            raise DescriptionError(
                f"vary: link {link.name!r} has a reserved name, that of the arm's {link.name}; "
                "give the link another name"
            )


@contextmanager
def named_in(argument: str) -> Iterator[None]:
    """Name the argument of a public function, such as "EKF: parameters", in errors of `Model(arm, vary=...)`."""
    try:
        yield
    except DescriptionError as error:
        raise DescriptionError(f"{argument}: {str(error).removeprefix('vary: ')}") from None


def variable(arm: Arm) -> tuple["Parameter", ...]:
    """Return the numbers of an arm that may vary, including zeros."""
    from flexarm.mechanics.varied import listed

    return tuple(x for x in listed(arm).found.values() if not numbers.fixed_reason(arm, x.name))


def _chosen(arm: Arm, vary: Sequence[Any]) -> tuple["Parameter", ...]:
    """Return the parameters that names, symbols and patterns select. Raises `DescriptionError`."""
    from flexarm.mechanics.varied import listed

    listing = listed(arm)
    known = list(listing.found.values())
    usual = [x for x in known if x.name not in listing.plain and not numbers.fixed_reason(arm, x.name)]
    chosen: dict[str, Parameter] = {}
    for pattern in vary:
        if not isinstance(pattern, str):
            raise DescriptionError(
                f"vary: {shown(pattern)} is not a text; it must be a name, a symbol or a pattern of them"
            )
        found = [x for x in known if pattern in _names(x)] or named_or_fitting(pattern, usual, _names)
        if not found:
            names = [name for x in usual for name in (x.symbol, x.name)]
            zero = (
                "parameters that are zero are found by their full name only: flexarm show ARM --parameters lists them"
            )
            all_names = f"{', '.join(f'{x.symbol} ({x.name})' for x in usual)}; {zero}"
            problem = "vary: unknown parameter"
            raise DescriptionError(unknown_name(problem, pattern, names, "the parameters are", all_names))
        for each in found:
            if reason := numbers.fixed_reason(arm, each.name):
                raise DescriptionError(f"vary: {each.name} cannot vary: {reason}")
            chosen[each.name] = each
    return tuple(chosen.values())


def _names(parameter: "Parameter") -> tuple[str, str]:
    return parameter.symbol, parameter.name


# -- code --------------------------------------------------------------------------------------------------------------


def place(names: Sequence[str]) -> int:
    """Return the position of constants among arguments of these names: before qdd if there is u, else last."""
    return names.index("qdd") if "u" in names and "qdd" in names else len(names)


@final
class Group:
    """Compiled functions whose last argument is p: the constants that follow from p, and the remainder of each.

    Parameters
    ----------
    key : str
        Definition of the functions.
    nominal : (k,)
    traces : dict
        The functions, by their own keys.
    """

    def __init__(self, key: str, nominal: Array, traces: Traces):
        self._key, self._nominal, self._traces = [*traces, key], nominal, traces
        self._split: Once[tuple[Prologue, dict[str, tuple[str, tuple[list, list]]]]] = Once(self._parted)
        self._kernels: dict[str, Kernel] = {}
        self.prologue = Kernel(json.dumps(["prologue", *self._key]), lambda: self._split()[0].function())

    def kernel(self, key: str, behind: int, check: Check | None, p: Array) -> Kernel:
        """Return one of the functions at parameters p, with the constants before its last `behind` numbers."""

        def trace() -> "ca.Function":
            import casadi as ca

            prologue, mains = self._split()
            name, (x, y) = mains[key]
            last = len(x) - (behind > 0)
            return ca.Function(name, [*x[:last], ca.vertcat(*prologue.w), *x[last:]], y)

        def whole(call: Callable[[Array], Array]) -> None:
            w = self.prologue.one(self._nominal)
            check(lambda x: call(np.concatenate([x[: len(x) - behind], w, x[len(x) - behind :]])))  # type: ignore[misc]

        if key not in self._kernels:
            made = Kernel(json.dumps(["main", key, *self._key]), trace, whole if check else None)
            self._kernels.setdefault(key, made)
        return self._kernels[key].with_constants(lambda: self.prologue.one(p), behind, self.prologue)

    def _parted(self) -> tuple["Prologue", dict[str, tuple[str, tuple[list, list]]]]:
        import casadi as ca

        from flexarm.native.prologue import Prologue

        prologue = Prologue(ca.SX.sym("p", len(self._nominal)))
        functions = {key: trace() for key, trace in self._traces.items()}
        return prologue, {key: (each.name(), prologue.main(each)) for key, each in functions.items()}
