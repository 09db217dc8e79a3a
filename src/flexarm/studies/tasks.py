"""Tasks of a study for each sample: a scenario, a model with arguments of `simulate_many`, or a function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault, checked_array, counted, named_or_fitting, plain, refused, unknown_name
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.model import Model
from flexarm.scenario import Scenario
from flexarm.simulation.ensemble import simulate_many
from flexarm.simulation.inputs import as_input
from flexarm.simulation.options import SaveAt, check_end
from flexarm.simulation.run import checked_wanted, simulate
from flexarm.studies.digest import digest
from flexarm.studies.outcomes import OUTCOMES, Keep, Rows, of_function

if TYPE_CHECKING:
    from xarray import Dataset

T = TypeVar("T")
Samples = Mapping[str, Array]
"""Values of each parameter, (runs,), which are numbers or words."""

TABLES = ("until", "samples", "input", "reference", "controller", "solver", "initial")
"""Fields of a scenario that a parameter may belong to."""


MODELS: dict[str, Model] = {}
ARGUMENTS: dict[str, dict[str, Any]] = {}
"""Objects that this process has used last, by their digests: a model, and arguments of runs."""


TOGETHER = {"controller", "initial"}
"""Fields of a scenario that may differ in runs of one batch."""


@final
@dataclass(frozen=True)
class Variable:
    """A parameter that a study can vary.

    Attributes
    ----------
    name : str
        Name of the parameter.
    nominal : float, str or None
        Nominal value, or None if it is unknown.
    unit, meaning : str
        Unit and meaning of the parameter.
    """

    name: str
    nominal: float | str | None = None
    unit: str = ""
    meaning: str = ""


class Task(Protocol):
    """Task for each sample. It can be pickled, and equal tasks have equal digests."""

    @property
    def title(self) -> str:
        """Name in messages and figures."""

    @property
    def outcomes(self) -> dict[str, tuple[str, str]]:
        """Unit and meaning of each stored outcome. Empty if they are unknown in advance."""

    def variables(self, pattern: str) -> list[Variable]:
        """Return the parameters that match a name or a pattern. Raises `DescriptionError`, which lists all
        parameters."""

    def check(self, samples: Samples) -> None:
        """Raise `DescriptionError` if the first sample is not possible."""

    def run(self, samples: Samples) -> "Dataset":
        """Return the runs of these samples, with dimension run. A failed run has the reason in its status."""


@final
@dataclass(frozen=True)
class ScenarioTask:
    """A scenario whose arm and fields vary.

    Attributes
    ----------
    scenario : Scenario
        Scenario with its arm as an object.
    keep : Keep
        Values to store of each run.
    knows : "nominal" or "true"
        Arm for which controllers and shapers are designed: the nominal one, or each run's own.
    """

    scenario: Scenario
    keep: Keep
    knows: Literal["nominal", "true"] = "nominal"

    @property
    def title(self) -> str:
        return self.scenario.name

    @property
    def outcomes(self) -> dict[str, tuple[str, str]]:
        return described(self.keep)

    def variables(self, pattern: str) -> list[Variable]:
        fields = leaves(self.scenario)
        if chosen := named_or_fitting(pattern, fields, lambda name: (name,)):
            return [Variable(name, fields[name]) for name in chosen]
        table, _, rest = pattern.partition(".")
        if table == "controller" and rest and "*" not in rest and self.scenario.controller is not None:
            return [Variable(pattern)]  # not given, such as a delay; `check` finds out whether it exists
        if table in TABLES:
            raise DescriptionError(unknown_name("the scenario has no field", pattern, fields, "its fields are"))
        return numbers(self.scenario.loaded_arm(), pattern)

    def check(self, samples: Samples) -> None:
        scenario = self._at(samples, 0)
        scenario.check(scenario.loaded_arm())

    def run(self, samples: Samples) -> "Dataset":
        """Return the runs. Those that differ only in arms, controllers and initial states are batched, others run one
        by one."""
        count = len(next(iter(samples.values())))
        rows = Rows(count, self.keep)
        names = [name for name in samples if name.partition(".")[0] not in TABLES]
        changing = [name for name in self.scenario.changing if name not in names]
        model = varied(self.scenario.loaded_arm(), [*names, *changing])
        p = np.array([samples[name] for name in names]).T
        asked: dict[int, tuple[Model, dict[str, Any]]] = {}
        one_design = self._one_design()
        alike = self._designed(model) if set(names) == {*samples} and one_design else None
        for i in range(count):
            try:
                each = model.at(dict(zip(names, p[i], strict=True))) if names else model
                asked[i] = each, alike or self._arguments(model if one_design else each, samples, i)
            except FlexarmError as error:
                rows.failed(i, str(error))
        if not asked:
            return rows.dataset()
        if one_design and {name.partition(".")[0] for name in samples if name not in names} <= TOGETHER:
            try:
                self._all(rows, model, asked)
                return rows.dataset()
            except DescriptionError:
                pass  # one of them cannot be computed; each reports its own error
        for i, (each, arguments) in asked.items():
            try:
                with self._at(samples, i).errors_named():
                    if one_design:
                        simulated(rows, model, {i: each}, arguments)
                    else:
                        rows.put(i, simulate(each, progress=False, **arguments))
            except FlexarmError as error:
                rows.failed(i, str(error))
        return rows.dataset()

    def _all(self, rows: Rows, model: Model, asked: dict[int, tuple[Model, dict[str, Any]]]) -> None:
        """Compute runs as a SIMD batch."""
        models = {i: each for i, (each, _) in asked.items()}
        arguments = [each for _, each in asked.values()]
        whole = dict(arguments[0])
        if any(each is not arguments[0] for each in arguments):
            whole["u"] = [each["u"] for each in arguments]
            for name in ("q0", "qd0"):
                if whole[name] is not None:
                    whole[name] = np.array([each[name] for each in arguments])
        simulated(rows, model, models, whole)

    def _one_design(self) -> bool:
        """Return True if the design for the nominal arm serves every arm, as in `simulate_many`."""
        return self.knows == "nominal" or self.scenario.reference is None

    def _arguments(self, model: Model, samples: Samples, i: int) -> dict[str, Any]:
        scenario = self._at(samples, i)
        save = SaveAt(samples=scenario.samples, keep=self.keep.needs())  # no records, as outcomes belong to the arm
        return scenario.arguments(model) | {"save": save}

    def _designed(self, model: Model) -> dict[str, Any]:
        """Return the arguments of runs that differ only in their arms, with the design for the nominal arm done."""

        def made() -> dict[str, Any]:
            arguments = self._arguments(model, {}, 0)
            with self.scenario.errors_named():
                return arguments | {"u": as_input(arguments["u"], model)}

        return _last(ARGUMENTS, digest(self.scenario, self.keep, model.fingerprint), made)

    def _at(self, samples: Samples, i: int) -> Scenario:
        """Return the scenario of one sample, except for its arm."""
        changes = {name: x[i] for name, x in samples.items() if name.partition(".")[0] in TABLES}
        return changed(self.scenario, changes) if changes else self.scenario


@final
@dataclass(frozen=True)
class ModelTask:
    """An arm with arguments of `simulate_many` and varying parameters.

    Attributes
    ----------
    arm : Arm
        Nominal arm.
    arguments : dict
        Arguments that are the same for all runs.
    samples : int
        Number of times in each run.
    keep : Keep
        Values to store of each run.
    """

    arm: Arm
    arguments: dict[str, Any]
    samples: int
    keep: Keep

    @property
    def title(self) -> str:
        return self.arm.name

    @property
    def outcomes(self) -> dict[str, tuple[str, str]]:
        return described(self.keep)

    def variables(self, pattern: str) -> list[Variable]:
        return numbers(self.arm, pattern)

    def check(self, samples: Samples) -> None:
        given = self.arguments
        check_end(given["until"], given["solver"])
        model = varied(self.arm, list(samples))
        with refused("study"):
            for name, signals in (("q0", model.coordinates), ("qd0", model.velocities)):
                x = None if given.get(name) is None else checked_array(given[name], name)
                if x is not None and x.shape != (len(signals),):
                    must = f"it must have {counted(len(signals), 'number')}: {', '.join(signals)}"
                    raise Fault(name, f"has shape {x.shape}; {must}")
        if given.get("reference") is not None:
            checked_wanted(given["reference"], model)

    def run(self, samples: Samples) -> "Dataset":
        rows = Rows(len(next(iter(samples.values()))), self.keep)
        model = varied(self.arm, list(samples))
        models = {}
        for i, p in enumerate(np.array(list(samples.values())).T):
            try:
                models[i] = model.at(p)
            except DescriptionError as error:
                rows.failed(i, str(error))
        arguments = self.arguments | {"save": SaveAt(samples=self.samples, keep=self.keep.needs())}
        try:
            if models:
                simulated(rows, model, models, arguments)
        except DescriptionError:  # the error of one of them, or of the arguments of all
            for i, each in models.items():
                try:
                    simulated(rows, model, {i: each}, arguments)
                except DescriptionError as error:
                    rows.failed(i, str(error))
        return rows.dataset()


@final
@dataclass(frozen=True)
class FunctionTask:
    """A function of samples, from a table of arrays (runs,), one for each parameter, to outcomes in the same form."""

    function: Callable[[dict[str, Array]], Any]

    @property
    def title(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def outcomes(self) -> dict[str, tuple[str, str]]:
        return {}

    def variables(self, pattern: str) -> list[Variable]:
        return [Variable(pattern)]

    def check(self, samples: Samples) -> None:
        pass

    def run(self, samples: Samples) -> "Dataset":
        with refused(f"study: the function {self.title}"):
            own = {name: values.copy() for name, values in samples.items()}  # a function may modify its arguments
            return of_function(self.function(own), len(next(iter(samples.values()))), samples)


# -- parameters of an arm ----------------------------------------------------------------------------------------------


def numbers(arm: Arm, pattern: str) -> list[Variable]:
    """Return the parameters that match a pattern. Raises `DescriptionError`, which lists all parameters."""
    try:
        found = Model(arm, vary=[pattern]).varied
    except DescriptionError as error:
        raise DescriptionError(str(error).removeprefix("vary: ")) from None
    return [Variable(p.name, p.value, p.unit, p.meaning) for p in found]


def varied(arm: Arm, names: list[str]) -> Model:
    """Return the nominal model in which these parameters vary. All chunks of a process share it."""
    return _last(MODELS, digest(arm, names), lambda: Model(arm, vary=names))


def _last(known: dict[str, T], key: str, make: Callable[[], T]) -> T:
    """Return the object that was made last if its key is the same, else make a new one."""
    if (found := known.get(key)) is None:
        found = make()
        known.clear()  # an object that another thread has just made stays its own
        known[key] = found
    return found


def simulated(rows: Rows, model: Model, models: Mapping[int, Model], arguments: Mapping[str, Any]) -> None:
    """Simulate runs as a SIMD batch. `models` has their models by row, each the given model with other parameters."""
    p = np.array([each.p for each in models.values()]) if model.varied else None
    found = simulate_many(model, p=p, runs=len(models), progress=False, **arguments)
    for k, i in enumerate(models):
        one = found.isel(run=k, drop=True)
        if (status := str(one.status.values)) != "completed":
            rows.failed(i, status)
            continue
        if "energy_drift" in one:
            one = one.assign_attrs(energy_drift=float(one.energy_drift))
        rows.put(i, one)


def described(keep: Keep) -> dict[str, tuple[str, str]]:
    """Return unit and meaning of the stored outcomes."""
    return {name: (OUTCOMES[name].unit, OUTCOMES[name].meaning) for name in keep.outcomes}


# -- fields of a scenario ----------------------------------------------------------------------------------------------


def leaves(scenario: Scenario) -> dict[str, float | str]:
    """Return the numbers and words of a scenario by their dotted names. Items of a list are numbered from 0."""
    found: dict[str, float | str] = {}

    def collect(name: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, item in value.items():
                collect(f"{name}.{key}", item)
        elif isinstance(value, list):
            for i, item in enumerate(value):
                collect(f"{name}.{i}", item)
        elif isinstance(value, int | float | str) and not isinstance(value, bool):
            found[name] = value

    for name in TABLES:
        collect(name, plain(getattr(scenario, name)))
    return found


def changed(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """Return the scenario with other values of some fields. Raises `DescriptionError` if they are not allowed."""
    tables = {name: plain(getattr(scenario, name)) for name in {name.partition(".")[0] for name in changes}}
    whole = leaves(scenario)
    for name, value in changes.items():
        *path, last = name.split(".")
        place: Any = tables
        for key in path:
            place = place[int(key) if isinstance(place, list) else key]
        if isinstance(whole.get(name), int) and not isinstance(value, str) and float(value).is_integer():
            value = int(value)
        place[int(last) if isinstance(place, list) else last] = value if isinstance(value, str | int) else float(value)
    return scenario.replace(**tables)
