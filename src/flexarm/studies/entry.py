"""`fa.study`: parameters, their distributions, the task for each of their values, and its execution."""

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    Fault,
    advised,
    called,
    checked_instance,
    checked_number,
    checked_whole,
    choices,
    counted,
    did_you_mean,
    faulted,
    refused,
    shown,
    unknown_name,
    within,
)
from flexarm.model import Model
from flexarm.scenario import Scenario, load_scenario
from flexarm.simulation.inputs import as_input
from flexarm.simulation.options import options
from flexarm.simulation.performance import BAND
from flexarm.studies import designs
from flexarm.studies.conduct import Progress, conduct
from flexarm.studies.designs import Design, Sensitivity, WorstCase
from flexarm.studies.distributions import Choice, Distribution, distribution
from flexarm.studies.outcomes import RESERVED, kept
from flexarm.studies.plan import Plan, Varied
from flexarm.studies.tasks import FunctionTask, ModelTask, ScenarioTask, Task, Variable

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from xarray import Dataset


ARGUMENTS = ("until", "u", "q0", "qd0", "reference", "samples", "method", "rtol", "solver")
"""Arguments of `simulate_many` that a study of a model accepts."""

FORMER = ("atol", "step", "spectral_radius")
"""Former arguments, which are now fields of `solver`."""


def study(
    task: Any,
    parameters: Mapping[str, Any],
    design: Any = "latin-hypercube",
    *,
    runs: int | None = None,
    seed: int | None = None,
    keep: Any = None,
    knows: Literal["nominal", "true"] = "nominal",
    band: float = BAND,
    after: float = 0.0,
    executor: "Executor | str | int | None" = None,
    folder: str | PathLike[str] | None = None,
    chunk: int | None = None,
    progress: Progress | bool = True,
    name: str = "",
    **arguments: Any,
) -> "Dataset":
    """Return runs for many values of some parameters, as an `xarray.Dataset` with dimension `run`.

    Parameters
    ----------
    task : Scenario, str, path, Model or function
        One of three kinds of task. A scenario is given as an object, by its name or by its file. A model is given with
        `arguments` of its runs. A function takes a table of arrays (runs,), one for each parameter, and returns an
        array or a table of arrays whose first axis is the runs. It must be possible to pickle the function.
    parameters : dict
        Distribution of each parameter by its name. Parameters of the arm are given by name, symbol or pattern, as in
        `fa.equations`. All that match a pattern vary independently. Fields of the scenario have dotted names:
        "controller.Kp", "reference.duration", "controller.Kp.0" in a list. A distribution is a `Uniform`, `Normal`,
        `LogNormal` or `Choice` (module `flexarm.studies`), a table such as {"type": "uniform", "low": "-10 %", "high":
        "10 %"}, or a list of values.
    design : str, dict or object
        "random", "latin-hypercube" (default), "sobol", "grid", "sensitivity" (Sobol's indices), "worst-case", a table
        with its `type` and fields, or an object of one of the classes.
    runs, seed : int, optional
        Number of runs and seed of the design. For "sensitivity", the base becomes the largest that needs at most this
        number of runs.
    keep : list of str, optional
        Values to store of each run: outcomes (default: those of `fa.performance`; also "largest_deflection",
        "largest_input", "effort", "energy_drift") and trajectories by their names in a result.
    knows : "nominal" or "true"
        Arm for which the controllers and shapers are designed: the nominal one, or that of each run.
    band, after : float
        Arguments of `fa.performance`.
    executor : optional
        Place of the computation. Default: processes on all cores. A number of processes (1 for the calling process),
        any `concurrent.futures.Executor`, the address of a Dask scheduler, or "local" for a Dask cluster on this
        machine.
    folder : path, optional
        Folder for finished chunks. A study that was interrupted for any reason continues from this folder.
    chunk : int, optional
        Number of runs that are computed, stored and lost together. Default: at most 64.
    progress : bool or callable
        True for a bar in the terminal. A function is called with the number of finished runs, and of all runs.
    name : str
        Name of the result. Default: the name of the task.
    arguments
        For a model, arguments of `simulate_many`: until, u, q0, qd0, reference, samples, method, rtol, solver.

    Returns
    -------
    xarray.Dataset
        Coordinates (run): the parameters' values. Variables (run): the outcomes, and `status`, which is "completed" or
        the reason of a failure. Trajectories are over (run, time, ...). "sensitivity" adds first_order and total_order
        (outcome, parameter), and their bounds. "worst-case" adds the attribute `worst_run`.

    Raises
    ------
    DescriptionError
        If an argument is not valid, or the folder belongs to another study.
    SimulationError
        If the executor has died. Finished chunks are in the folder, and in the `result` of the error. After Ctrl-C the
        study ends with a warning and returns the finished runs.
    """
    plan = planned(
        task,
        parameters,
        design,
        runs=runs,
        seed=seed,
        keep=keep,
        knows=knows,
        band=band,
        after=after,
        chunk=chunk,
        name=name,
        arguments=arguments,
    )
    return conduct(plan, executor, folder, progress)


def planned(
    task: Any,
    parameters: Any,
    design: Any,
    *,
    runs: Any = None,
    seed: Any = None,
    keep: Any = None,
    knows: Any = "nominal",
    band: Any = BAND,
    after: Any = 0.0,
    chunk: Any = None,
    name: Any = "",
    arguments: Mapping[str, Any] | None = None,
    where: str = "study",
) -> Plan:
    """Return the plan from the checked arguments of `study`. Messages begin with `where`."""
    with refused(where):
        title = checked_instance(name, str, "name")
        chosen = _design(design, runs, seed)
        checked_number(band, "", POSITIVE, "band")
        checked_number(after, "s", NOT_NEGATIVE, "after")
        if not isinstance(knows, str) or knows not in ("nominal", "true"):
            raise Fault("knows", f"is {shown(knows)}; it must be 'nominal' or 'true'")
        size = None if chunk is None else checked_whole(chunk, 1, "chunk")
        what = _task(task, keep, knows, band, after, arguments or {})
        varied = _varied(what, parameters)
        if isinstance(chosen, Sensitivity) and runs is not None:
            chosen = _with_runs(chosen, runs, len(varied))
        _check_times(what, varied)
        if isinstance(chosen, WorstCase):
            _check_search(chosen, what, varied)
    return Plan(what, tuple(varied), chosen, size, title or what.title)


def _design(given: Any, runs: int | None, seed: int | None) -> Design:
    """Return a design from an object, its type, or a table. Raises `Fault`."""
    if isinstance(given, Design):
        table: dict[str, Any] = dict(given)
    elif isinstance(given, str):
        table = {"type": given}
    elif isinstance(given, Mapping):
        table = dict(given)
    else:
        raise Fault(
            "design", f"is {shown(given)}; it must be {choices(*map(repr, designs.KINDS))}, or a table with a type"
        )
    kind = table.get("type")
    if not isinstance(kind, str) or kind not in designs.KINDS:
        said = "has no type" if kind is None else f"is {shown(kind)}"
        raise Fault("design", f"{said}; it must be {choices(*map(repr, designs.KINDS))}")
    cls = designs.KINDS[kind]
    for name, value in (("runs", None if cls is Sensitivity else runs), ("seed", seed)):
        if value is not None:
            if name not in cls.model_fields:
                raise Fault(name, f"does not apply to a {kind} design" + "; set its levels instead" * (name == "runs"))
            table[name] = value
    with within("design"):
        return faulted(cls, table)  # type: ignore[no-any-return]


def _with_runs(design: Sensitivity, runs: Any, parameters: int) -> Sensitivity:
    """Return a design with the largest base that needs at most this number of runs. Raises `Fault`."""
    rows = checked_whole(runs, 1, "runs") // (parameters + 2)
    if rows < 2:
        least = (
            f"with {counted(parameters, 'parameter')} a sensitivity "
            f"study needs at least {counted(2 * (parameters + 2), 'run')}"
        )
        raise Fault("runs", f"is {runs}; {least}")
    table = dict(design) | {"base": 2 ** (rows.bit_length() - 1)}
    return faulted(Sensitivity, table)  # type: ignore[no-any-return]


def _task(given: Any, keep: Any, knows: Any, band: float, after: float, arguments: Mapping[str, Any]) -> Task:
    if isinstance(given, Model):
        return _model_task(given, keep, band, after, arguments)
    if arguments:
        raise Fault(next(iter(arguments)), "is unknown; only a study of a Model has arguments of simulate_many")
    if isinstance(given, str | PathLike):
        given = load_scenario(given)
    if isinstance(given, Scenario):
        follows = given.reference is not None
        return ScenarioTask(given.replace(arm=given.loaded_arm()), kept(keep, follows, band, after), knows)
    if not callable(given):
        must = "it must be a scenario, its name or file, a Model, or a function of samples"
        raise Fault("task", f"is {shown(given)}; {must}")
    if keep is not None:
        raise Fault("keep", "does not apply to a function, whose results are all stored; leave it out")
    return FunctionTask(given)


def _model_task(model: Model, keep: Any, band: float, after: float, arguments: Mapping[str, Any]) -> Task:
    former = {name: value for name, value in arguments.items() if name in FORMER}
    for name in arguments:
        if name not in (*ARGUMENTS, *FORMER):
            raise Fault(
                name,
                advised("is unknown", did_you_mean(name, ARGUMENTS), f"known arguments are {', '.join(ARGUMENTS)}"),
            )
    if "until" not in arguments:
        raise Fault("until", "is missing; it is the end of each run [s]")
    common = {name: arguments.get(name) for name in ("method", "rtol", "samples")}
    solver, save = options("study", arguments.get("solver"), None, common, former, stacklevel=6)
    drive = as_input(arguments.get("u"), model)
    follows = arguments.get("reference") is not None or drive.wanted is not None
    arm = model.arm_at(model.p) if model.varied else model.arm
    whole = {name: x for name, x in arguments.items() if name in ("until", "u", "q0", "qd0", "reference")}
    return ModelTask(arm, whole | {"solver": solver}, save.samples, kept(keep, follows, band, after))


def _varied(task: Task, parameters: Any) -> list[Varied]:
    """Return the parameters that vary, pattern by pattern. Raises `Fault` and `DescriptionError`."""
    if not isinstance(parameters, Mapping) or not parameters:
        raise Fault(
            "parameters", f"is {shown(parameters)}; it must be a dict of distributions by parameter name, not empty"
        )
    found: dict[str, Varied] = {}
    for pattern, given in flat(parameters).items():
        with within(f"parameters.{called(pattern)}"):
            each = distribution(given)
            for variable in task.variables(pattern):
                if variable.name in found:
                    raise Fault("", f"matches {variable.name}, which another entry varies already")
                if variable.name in RESERVED or "/" in variable.name or not variable.name.isprintable():
                    raise Fault("", "is not a valid name of a parameter; use another name")
                found[variable.name] = Varied(variable, each.quantile(_nominal(variable, each), variable.unit))
    return list(found.values())


def flat(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return distributions by name. TOML reads `upper.EI = {...}` as a table in a table."""
    found: dict[str, Any] = {}
    for name, given in parameters.items():
        tables = isinstance(given, Mapping) and given and "type" not in given
        if tables and all(isinstance(x, Mapping | list) for x in given.values()):
            found |= {f"{name}.{rest}": x for rest, x in flat(given).items()}
        else:
            found[str(name)] = given
    return found


def _nominal(variable: Variable, given: Distribution) -> Any:
    if isinstance(variable.nominal, str) and not isinstance(given, Choice):
        raise Fault("", f"is the text {shown(variable.nominal)}; give a list of texts")
    return variable.nominal


def _check_times(task: Task, varied: list[Varied]) -> None:
    """Raise `Fault` if trajectories would have different times."""
    kept_ = task.keep.trajectories if isinstance(task, ScenarioTask) else ()
    for each in varied if kept_ else ():
        name = each.variable.name
        if name in ("until", "samples") and len({*each.quantile.levels(2).tolist()}) > 1:
            raise Fault("keep", f"has {kept_[0]!r} and {name} varies; trajectories need the same times in all runs")


def _check_search(design: WorstCase, task: Task, varied: list[Varied]) -> None:
    for each in varied:
        if not each.quantile.bounded:
            where = f"parameters.{each.variable.name}"
            raise Fault(where, "has no bounds, which a search for the worst case needs; give low and high")
    outcomes = task.outcomes
    if outcomes and design.outcome not in outcomes:
        raise Fault("design.outcome", unknown_name("is", design.outcome, outcomes, "the outcomes in keep are"))
