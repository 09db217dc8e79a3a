"""Search for numbers of a run, such as gains of its controller, that minimize a scalar of it."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault, checked_array, checked_whole, counted, refused, shown, unknown_name
from flexarm.errors import EnergyDrift, FlexarmError, SimulationError
from flexarm.model import as_model
from flexarm.simulation.designs import numbers_of, with_numbers
from flexarm.simulation.gradient import gradient
from flexarm.simulation.gradient_start import OF_CONTROLLER
from flexarm.simulation.inputs import Piecewise, Table

OF = ("p", "u", "w")
"""Names of numbers that may vary, besides those of a controller."""

STEEP = 10.0
"""Rise of the scalar along a step to a run that fails, relative to its value. The search then takes a shorter step."""


@final
@dataclass(frozen=True, eq=False)
class Tuned:
    """Numbers of a run that minimize a scalar of it; `tuned["u.Kp"]` are those with this name.

    Attributes
    ----------
    run : dict or list of dicts
        The run, or the runs, with these numbers: `fa.simulate(**tuned.run)`.
    numbers : dict of arrays
        The numbers by name.
    value, before : float
        The scalar with these numbers and with those at the start.
    slopes : dict of arrays
        Derivatives of the scalar by name.
    evaluations, failed : int
        Number of evaluated sets of numbers, and of those with which a run failed or a controller was refused.
    message : str
        Reason for the end of the search, by SciPy.
    """

    run: Any
    numbers: Mapping[str, Array]
    value: float
    before: float
    slopes: Mapping[str, Array]
    evaluations: int
    failed: int
    message: str

    def __getitem__(self, name: str) -> Array:
        """Return the numbers with one of the names."""
        try:
            return self.numbers[name]
        except KeyError:
            raise KeyError(unknown_name("the tuned run has no", name, self.numbers, "it has")) from None

    @property
    def controller(self) -> Any:
        """The input u of the run, or of the first run."""
        return (self.run if isinstance(self.run, Mapping) else self.run[0])["u"]

    def __repr__(self) -> str:
        names = ", ".join(self.numbers)
        count = counted(self.evaluations, "evaluation")
        return f"Tuned({names}: {self.before:.6g} -> {self.value:.6g} in {count}; {self.message})"


def tune(
    run: Mapping[str, Any] | Iterable[Mapping[str, Any]],
    vary: str | Iterable[str] | Mapping[str, Any],
    of: Any = None,
    integral: Any = None,
    times: Any = None,
    data: Any = None,
    iterations: int = 50,
) -> Tuned:
    """Return numbers of a run, such as gains of its controller, that minimize a scalar of it.

    SciPy's L-BFGS-B method searches for a local minimum with the exact derivatives of `gradient`. It takes numbers
    relative to their size at the start. Where a run fails or its energy balance is off, or where a controller refuses
    its numbers, the search takes a shorter step.

    Parameters
    ----------
    run : dict or list of dicts
        Arguments of `fa.simulate` by name, see `gradient`; its numbers are the start of the search. A list has several
        runs with the same numbers, such as one for each payload; the sum of their scalars is minimized.
    vary : list of str, or dict of (low, high)
        Names of the numbers, as those of `gradient`: "u.Kp" or "u.controller.reference.periods" for numbers of a
        controller, "u" for the inputs, "p" for parameters, "w" for exogenous inputs. A dict gives the limits of each:
        two numbers or arrays, None for a side without limit.
    of, integral, times, data
        The scalar, see `gradient`.
    iterations : int
        Largest number of iterations; each takes one gradient or a few.

    Returns
    -------
    Tuned

    Raises
    ------
    DescriptionError
        An argument is not valid, or the run has a part without a gradient.
    SimulationError
        A run with the numbers at the start does not reach its end, or its energy balance is off.

    Notes
    -----
    Byrd, Lu, Nocedal & Zhu, SIAM J. Sci. Comput. 16 (1995) 1190, describe the method. A minimum depends on the start:
    give gains with which the arm is stable.
    """
    with refused("tune"):
        runs, one = _runs(run)
        numbers = _Numbers(runs, vary)
        checked_whole(iterations, 1, "iterations")
    search = _Search(numbers, {"of": of, "integral": integral, "times": times, "data": data})
    before = search.at_start()
    from scipy.optimize import minimize  # here, since it takes long to import

    limits = list(zip(numbers.low / numbers.size, numbers.high / numbers.size, strict=True))
    options = {"maxiter": iterations}
    found = minimize(search, numbers.start / numbers.size, jac=True, method="L-BFGS-B", bounds=limits, options=options)
    x = search.best
    changed = numbers.inserted(x)
    return Tuned(
        changed[0] if one else changed,
        numbers.by_name(x),
        search.value,
        before,
        numbers.by_name(search.slope),
        search.evaluations,
        search.failed,
        str(found.message).capitalize(),
    )


def _runs(run: Any) -> tuple[list[dict[str, Any]], bool]:
    """Return the runs, and whether one was given without a list. Raises `Fault`."""
    runs = [run] if isinstance(run, Mapping) else run
    if not isinstance(runs, list | tuple) or not runs or not all(isinstance(each, Mapping) for each in runs):
        must = "it must be a dict of the arguments of simulate, as dict(model=model, until=1.0, u=u), or a list of them"
        raise Fault("run", f"is {shown(run)}; {must}")
    for i, each in enumerate(runs):
        if missing := [name for name in ("model", "u") if name not in each]:
            raise Fault(
                "run" if run is runs[0] else f"run[{i}]", f"has no {missing[0]}; it must have model, until and u"
            )
    return [dict(each) for each in runs], isinstance(run, Mapping)


class _Numbers:
    """Numbers of runs by name, one after the other in one array, with their limits.

    Attributes
    ----------
    start, low, high, size : (k,)
        Values at the start, limits, and sizes of the numbers.
    """

    def __init__(self, runs: list[dict[str, Any]], vary: Any) -> None:
        limits = _by_name(vary)
        self.runs = runs
        self.shapes, parts = dict[str, tuple[int, ...]](), list[tuple[Array, Array, Array]]()
        for name, given in limits.items():
            x = _numbers(runs[0], name)
            for i, other in enumerate(runs[1:], start=1):
                if (own := _numbers(other, name)).shape != x.shape:
                    raise Fault(f"run[{i}]", f"has {name} of shape {own.shape}; it must be that of run[0], {x.shape}")
            low, high = _limits(name, given, x)
            self.shapes[name] = x.shape
            parts.append((x.ravel(), low.ravel(), high.ravel()))
        self.start, self.low, self.high = (np.concatenate(each) for each in zip(*parts, strict=True))
        between = np.where(np.isfinite(self.high - self.low), self.high - self.low, 1.0)
        self.size = np.where(self.start == 0.0, between, np.abs(self.start))

    def by_name(self, x: Array) -> dict[str, Array]:
        """Return numbers (k,) in their shapes."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])
        parts = np.split(x, ends[:-1])
        return {name: part.reshape(shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}

    def inserted(self, x: Array) -> list[dict[str, Any]]:
        """Return the runs with these numbers."""
        runs = [dict(each) for each in self.runs]
        for name, values in self.by_name(x).items():
            for each in runs:
                if name.startswith(OF_CONTROLLER):
                    each["u"] = with_numbers(each["u"], name.removeprefix(OF_CONTROLLER), values)
                else:
                    own = each.get(name)
                    each[name] = _refilled(own, values) if isinstance(own, Piecewise | Table) else values
        return runs


def _by_name(vary: Any) -> dict[str, Any]:
    """Return the limits of numbers by name, None for numbers without limits. Raises `Fault`."""
    given = [vary] if isinstance(vary, str) else vary
    if not isinstance(given, Mapping | list | tuple) or not given or not all(isinstance(each, str) for each in given):
        raise Fault("vary", f"is {shown(vary)}; it must be a list of names such as 'u.Kp', or a dict of their limits")
    return dict(given) if isinstance(given, Mapping) else dict.fromkeys(given)


def _numbers(run: Mapping[str, Any], name: str) -> Array:
    """Return numbers of a run by name. Raises `Fault`."""
    if name.startswith(OF_CONTROLLER):
        return numbers_of(run["u"], name.removeprefix(OF_CONTROLLER), "vary")
    if name not in OF:
        names = "the names are", f"{', '.join(OF)}, and numbers of a controller, as u.Kp"
        raise Fault("", unknown_name("vary has the unknown name", name, OF, *names))
    own = run.get(name)
    if name == "p":
        model = as_model(run["model"])
        own = model.p if own is None else model.parameter_values(own)
    if isinstance(own, Piecewise | Table):
        return np.array(own.values_)
    try:
        return checked_array(own, "")
    except Fault:
        raise Fault("vary", f"has {name}, but {name} is {shown(own)}; it must be numbers") from None


def _refilled(own: Piecewise | Table, values: Array) -> Piecewise | Table:
    """Return inputs with other values at the same times."""
    return Table(own.times, values, own.kind) if isinstance(own, Table) else Piecewise(own.times, values)


def _limits(name: str, given: Any, x: Array) -> tuple[Array, Array]:
    """Return the limits of numbers x. Raises `Fault`."""
    if given is None:
        return np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
    if not isinstance(given, list | tuple | np.ndarray) or len(given) != 2:
        raise Fault(f"vary[{name!r}]", f"is {shown(given)}; it must be (low, high), None for a side without limit")
    found = []
    for side, none in zip(given, (-np.inf, np.inf), strict=True):
        limit = np.full(x.shape, none) if side is None else checked_array(side, f"vary[{name!r}]")
        if limit.shape not in ((), x.shape):
            raise Fault(f"vary[{name!r}]", f"has a limit of shape {limit.shape}; it must be a number or {x.shape}")
        found.append(np.broadcast_to(limit, x.shape))
    low, high = found
    if not ((low <= x) & (x <= high) & (low < high)).all():
        must = f"the start {x.tolist()} must be between the low and the high limit"
        raise Fault(f"vary[{name!r}]", f"is {shown(given)}; {must}")
    return low, high


@dataclass
class _Search:
    """The scalar in a unit, and its derivatives, as a function of the numbers relative to their sizes."""

    numbers: _Numbers
    scalar: dict[str, Any]
    unit: float = 1.0
    evaluations: int = 0
    failed: int = 0
    value: float = np.inf
    best: Array = field(default_factory=lambda: np.zeros(0))
    slope: Array = field(default_factory=lambda: np.zeros(0))

    def at_start(self) -> float:
        """Return the scalar with the numbers at the start, whose size becomes the unit. Errors are raised."""
        try:
            self._gradient(self.numbers.start)
        except EnergyDrift as off:
            raise SimulationError(f"tune: with the numbers at the start, {off}") from None
        self.unit = abs(self.value) or 1.0
        return self.value

    def __call__(self, x: Array) -> tuple[float, Array]:
        size = self.numbers.size
        try:
            value, slope = self._gradient(x * size)
        except (FlexarmError, EnergyDrift):
            self.failed += 1
            rise = abs(self.value) + float(np.abs(self.slope) @ np.abs(x * size - self.best))
            value, slope = self.value + STEEP * rise, np.zeros(len(x))
        return value / self.unit, slope * size / self.unit

    def _gradient(self, x: Array) -> tuple[float, Array]:
        names, value, slope = list(self.numbers.shapes), 0.0, np.zeros(len(x))
        self.evaluations += 1
        for run in self.numbers.inserted(x):
            with warnings.catch_warnings():
                warnings.simplefilter("error", EnergyDrift)
                found = gradient(run, names, **self.scalar)
            value += float(found.value)
            slope += np.concatenate([np.ravel(found[name]) for name in names])
        if value < self.value:
            self.value, self.best, self.slope = value, x, slope
        return value, slope
