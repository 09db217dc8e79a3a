"""`simulate_many`: thousands of runs of one model at once."""

import time as clock
import warnings
from collections.abc import Sequence
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from flexarm import escape
from flexarm.arrays import Array
from flexarm.checks import Fault, checked_array, checked_instance, checked_whole, choices, counted, refused, shown
from flexarm.errors import DescriptionError, EnergyDrift, Implausible, InterruptedRun, MissedInput, errors_in
from flexarm.floating import usual_errors
from flexarm.model import Model, ModelLike, as_model, closures
from flexarm.model.attitudes import unit_pose
from flexarm.native.calls import cores
from flexarm.progress import LOG
from flexarm.simulation import balance, memory
from flexarm.simulation.block import Block
from flexarm.simulation.dataset import kept_of, numbers
from flexarm.simulation.disturbance import disturbed_many, listed
from flexarm.simulation.ensemble_dataset import dataset, tally
from flexarm.simulation.ensemble_pool import Pool
from flexarm.simulation.ensemble_runs import INTERRUPTED, Asked, Runs, Task, groups, tasks
from flexarm.simulation.exogenous import ExogenousInputs, as_exogenous
from flexarm.simulation.feedback import initial
from flexarm.simulation.inputs import as_input
from flexarm.simulation.layout import Layout
from flexarm.simulation.options import SaveAt, Solver, check_end, options
from flexarm.simulation.parameters import parameter_rows
from flexarm.simulation.plausible import implausible
from flexarm.simulation.run import checked_wanted, missed_input
from flexarm.simulation.sampled import Sampled, like
from flexarm.simulation.varying import over_time, varying
from flexarm.simulation.watch import Bar, Progress
from flexarm.trajectory import Reference

if TYPE_CHECKING:
    from xarray import Dataset


CHUNK = 2e8
"""Approximate size of a file of runs [bytes]."""

MANY = 1000
"""Number of runs above which rows of constant u are not made into inputs one by one."""

AT_ONCE = 2
"""Number of tasks on a graphics processor: one computes while the results of the other are fetched."""


def simulate_many(
    model: ModelLike,
    until: float,
    u: Any = None,
    q0: Any = None,
    qd0: Any = None,
    p: Any = None,
    *,
    runs: int | None = None,
    method: str | None = None,
    rtol: float | None = None,
    samples: int | None = None,
    solver: Solver | None = None,
    save: SaveAt | None = None,
    reference: Reference | None = None,
    folder: str | PathLike[str] | None = None,
    progress: Progress | bool = True,
    name: str = "",
    w: Any = None,
    disturbance: Any = None,
    device: Literal["cpu", "gpu"] = "cpu",
    real: Literal["double", "float", "mixed"] = "double",
    as_: Literal["dataset", "dlpack"] = "dataset",
    changes: Any = None,
    sensitivities: Any = None,
    **former: Any,
) -> "Dataset":
    """Simulate N motions of an arm, and return an `xarray.Dataset` with the dimension `run`.

    Each run is the same as that of `simulate`. Explicit methods and sampled laws compute eight runs at a time as a SIMD
    batch, each run with its own time and step, on all cores.

    Parameters
    ----------
    model : Model, Arm, str or path
        The model, or what `Model` takes: an arm, the name of a bundled arm, or a file.
    until : float
        End [s].
    u : input or controller, list of N of them, or numbers (m,) or (N, m)
        As in `simulate`.
    q0, qd0 : (n,) or (N, n)
        Coordinates and rates at t = 0; default as in `simulate`, which also describes those of a free base.
    p : (k,) or (N, k), or a dict of some by name, each one number or N of them
        Parameters of the arms that move, where the model varies. Controllers are designed for the model as it is given.
        Functions of time, as in `simulate`, are the same in all runs.
    w : exogenous inputs of `simulate`, a list of N of them, or numbers (N, k)
        External loads. Runs with constant w are computed in SIMD batches.
    disturbance : disturbance of `simulate`, a list of N of them, or numbers (N, m)
        Additional forces at the drives or anywhere else.
    runs : int, optional
        N, if no other argument determines it.
    method, rtol, samples, solver, save, reference, name
        As in `simulate`. Explicit methods use SIMD batches, the others compute one run after the other.
        "auto" chooses for each run. All controllers must have the signals to record, which have `run` before `time`.
    folder : path, optional
        Folder to which the runs are written, in files of at most 200 MB, so that they need not fit into memory. The
        result reads its values from there on demand. The folder must be new or empty.
    progress : bool or callable
        True: a bar in the terminal after a second. A function is called with the number of runs that have ended.
    device : "cpu" or "gpu"
        Device that computes the runs. An NVIDIA graphics processor (the extra `gpu`) supports all methods except
        "auto". There u is constant, piecewise constant, a table, a compiled function of time or a continuous
        controller, and w is constant.
    real : "double", "float" or "mixed"
        Precision on a graphics processor: numbers of 64 or of 32 bits. "mixed" has states, sums and controllers in 64
        bits and accelerations in 32 bits.
    as_ : "dataset" or "dlpack"
        Form of the result. "dlpack" leaves the states on the graphics processor, where `torch.from_dlpack` and
        `jax.dlpack.from_dlpack` use them without a copy.
    changes : list of Change, optional
        Sudden changes of parameters in every run, as in `simulate`. Runs with such changes, or with parameters that are
        functions of time, are computed one after the other.
    sensitivities : list of str, optional
        Numbers of each run with respect to which the result has derivatives, as in `simulate`. Values of u or w in a
        `Piecewise` or a `Table` must be equally many in all runs. These runs are computed one by one, on all cores.
    former
        The former arguments of `simulate`, each with a `DeprecationWarning`.

    Returns
    -------
    xarray.Dataset
        The variables of `simulate` with `run` before `time`. For each run: status ("completed", or the error),
        time_reached [s], energy_drift, steps, evaluations, method, method_reason, and p (run, parameter). NaN after
        a run's end.
    dict
        With `as_="dlpack"`. "q" (times, coordinate, run) and "qd" (times, rate, run), or those of "q", "qd", "work" and
        "dissipated" that `save` keeps, are on the device. "time", "time_reached" and "status", "steps" and
        "evaluations" are NumPy arrays. The times are those after the initial one. After a run's end the numbers on the
        device have no meaning.

    Raises
    ------
    DescriptionError
        An argument is not valid, or the result does not fit into memory. A run that fails raises no error. Ctrl-C ends
        the runs with a warning and returns those that are complete. Exceptions of a Python function pass through.
    """
    with refused("simulate_many"):
        model = nominal = as_model(model)
        checked_instance(name, str, "name")
        if not (progress is None or isinstance(progress, bool | np.bool_) or callable(progress)):
            raise Fault(
                "progress", f"is {shown(progress)}; it must be true, false or a function of the number of finished runs"
            )
        if runs is not None:
            runs = checked_whole(runs, 1, "runs")
        choices_of = (
            ("device", device, ("cpu", "gpu")),
            ("real", real, ("double", "float", "mixed")),
            ("as_", as_, ("dataset", "dlpack")),
        )
        for where, given_, allowed in choices_of:
            if not isinstance(given_, str) or given_ not in allowed:
                raise Fault(where, f"is {shown(given_)}; it must be {choices(*allowed)}")
        if device == "cpu" and real != "double":
            raise Fault("real", f"is {real!r}; on the processor (device 'cpu') it is 'double'")
        if as_ == "dlpack" and (device == "cpu" or folder is not None):
            raise Fault("as_", "is 'dlpack', which needs device='gpu', and no folder")
    common = {"method": method, "rtol": rtol, "samples": samples}
    with refused():
        solver, save = options("simulate_many", solver, save, common, former)
    check_end(until, solver)
    levels = None
    if isinstance(u, np.ndarray) and u.ndim == 2 and u.dtype.kind in "fiu" and len(u) > MANY and sensitivities is None:
        levels = u
    drives, which = _drives(u, model, save.record) if levels is None else _constant(levels, model, save.record)
    given = {"q0": _rows("q0", q0, model.coordinates), "qd0": _rows("qd0", qd0, model.velocities)}
    p, functions = over_time(p)
    values = None if p is None else parameter_rows(model, p)
    if values is not None and values.ndim > 2:
        raise DescriptionError(f"p has shape {values.shape}; it must be ({len(model.p)},) or (N, {len(model.p)})")
    exogenous_inputs, around = _exogenous_inputs(w, model)
    disturbances, by = listed(disturbance)
    told = {"p": values, "u": which, "w": around, "disturbance": by}
    count = _count(runs, {**{k: x for k, x in given.items() if x is not None}, **told})
    if values is not None and values.ndim == 1:
        model, values = model.at(values), None
    model, exogenous_inputs, around = _disturbed(model, exogenous_inputs, around, disturbances, by)
    changing = varying(model, functions, changes, drives, float(until))
    if sensitivities is not None and device == "gpu":
        raise DescriptionError("simulate_many: a graphics processor has no sensitivities; use the CPU")
    if changing is not None and device == "gpu":
        raise DescriptionError("simulate_many: parameters cannot change in a run on a graphics processor; use the CPU")
    references = [drive.wanted if reference is None else reference for drive in drives]
    for each in references:
        if each is not None:
            checked_wanted(each, model)
    if strange := implausible(model, given["q0"], references, float(until)):
        warnings.warn(strange, Implausible, stacklevel=2)
    with refused("simulate_many"):
        wanted = next((each for each in references if each is not None), None)
        sizes = len(model.states), len(model.exogenous)
        kept = kept_of(save.keep, wanted, *sizes, model.arm.free, len(model.arm.cables))
    layout = Layout.of(model, max(len(drive.memory) for drive in drives))
    stays = as_ == "dlpack"
    size = 8.0 * save.samples * numbers(model, layout, kept, sum(len(each.signals) for each in drives[0].records))
    if folder is None and not stays:
        _check_size(count, size)
    which = np.zeros(count, dtype=np.int64) if which is None else which
    q, qd = _starts(given, drives, which, model)
    q = unit_pose("q0", q, model.arm)
    is_given = given["q0"] is not None, given["qd0"] is not None
    led = [drives[k].begins is not None for k in which] if model.arm.closures else False
    q, qd = closures.started("simulate_many", model, q, qd, is_given, values, led)
    sensitive = None
    if sensitivities is not None:
        from flexarm.simulation.ensemble_sensitivities import Sensitive  # here, since few ensembles need them

        arguments = {"model": nominal, "u": u, "q0": q0, "qd0": qd0, "w": w, "disturbance": disturbance}
        sensitive = Sensitive(sensitivities, arguments, layout, solver)
    times = np.linspace(0.0, float(until), save.samples)
    drives = [drive.begun(model, times) if drive.period is None else _checked(drive, model, times) for drive in drives]
    asked = Asked(times, solver.method, solver.step, solver.rtol, solver.atol, solver.spectral_radius, sensitive)
    levels = None if levels is None else levels.astype(float)
    everything = Runs(model, drives, which, q, qd, values, exogenous_inputs, around, changing, levels=levels)
    if sensitive is not None:
        sensitive.check(everything, asked)
        if folder is None:
            _check_size(count, size + 8.0 * save.samples * sensitive.columns(kept))

    if device == "gpu":
        from flexarm.simulation import gpu  # here, because the module imports CasADi

        gpu.check(solver.method, solver.step, drives, exogenous_inputs, model, real, solver.rtol)
    place, together = None, count
    if folder is not None:
        from flexarm.simulation.ensemble_files import Folder  # here, because the module imports h5py and xarray

        place = Folder(folder)
        together = _runs_of_a_file(count, size)
    bar = Bar(float(count), model.arm.name, "{task.completed:.0f} of {task.total:.0f} runs")
    seen = bar if progress is True else progress or None
    if stays:
        try:
            arrays, interrupted = gpu.arrays(everything, asked, save.keep or ("q", "qd"), real, seen)
        finally:
            bar.close()
        if interrupted:
            _warn_of_interruption(arrays["status"], count)
        return arrays  # type: ignore[return-value]  # the usual result is annotated, and only as_ changes its form
    made, interrupted, off, missed = [], False, balance.Tally(), dict[int, float]()
    try:
        for first in range(0, count, together):
            part = everything.some(slice(first, min(first + together, count)))
            with usual_errors():
                found, interrupted = _solved(
                    part, asked, kept, references, first, seen, name, real if device == "gpu" else None, off, missed
                )
            if place is None:
                made.append(found)
            else:
                place.add(found, first, count)
            if interrupted:
                break
    finally:
        bar.close()
    result = made[0] if place is None else place.opened()
    if said := off.warning(count, asked.rtol):
        warnings.warn(said, EnergyDrift, stacklevel=2)
    if missed:
        run = min(missed)
        said = f"{len(missed)} of {counted(count, 'run')}, first run {run}: {missed_input(missed[run])}"
        warnings.warn(said, MissedInput, stacklevel=2)
    if interrupted:
        _warn_of_interruption(result.status.values, count)
    return result


def _warn_of_interruption(status: Array, count: int) -> None:
    """Warn that not all runs ended. A folder has the states of the runs of its complete files alone."""
    ended = int((status != INTERRUPTED).sum())
    warnings.warn(f"interrupted after {ended} of {counted(count, 'run')}", InterruptedRun, stacklevel=3)


def _solved(
    runs: Runs,
    asked: Asked,
    kept: tuple[str, ...],
    references: Sequence[Reference | None],
    first: int,
    seen: Progress | None,
    name: str,
    on_gpu: Literal["double", "float", "mixed"] | None,
    off: balance.Tally,
    missed: dict[int, float],
) -> tuple["Dataset", bool]:
    """Return the result of some runs, and True if Ctrl-C was pressed.

    `on_gpu` is the precision of a graphics processor.

    `off` counts the runs with a wrong energy balance. `missed` collects the runs that stepped across changes of an
    input.
    """
    began = clock.perf_counter()
    threads = AT_ONCE if on_gpu else cores()
    kinds = groups(runs, asked)
    where = {}
    if on_gpu:
        from flexarm.simulation import gpu, gpu_implicit  # here, because these modules import CasADi

        there = [task for group in kinds for task in gpu_implicit.tasks(runs, group, asked, on_gpu)]
        work: list[Task] = [*there]
        where = {"device": gpu.name(), "real": on_gpu, "threads_per_run": max(each.threads for each in there)}
    else:
        work = [task for group in kinds for task in tasks(runs, group, asked, threads)]
    compiled = clock.perf_counter()
    pool = Pool(work, threads)
    pool((lambda ended: seen(first + ended)) if seen is not None else None)
    attributes = {
        "name": name or runs.model.arm.name,
        "rtol": asked.rtol,
        "atol": asked.atol,
        "compile_seconds": compiled - began,
        "solve_seconds": clock.perf_counter() - compiled,
        "threads": min(threads, len(work)),
        **where,
    }
    LOG.debug(
        "simulate_many: %s, runs %d to %d, %g s: %d evaluations, %.3g s",
        escape.line(name or runs.model.arm.name),
        first,
        first + len(runs) - 1,
        asked.until,
        sum(int(group.evaluations.sum()) for group in kinds),
        attributes["solve_seconds"],
    )
    found = dataset(runs, kinds, asked, kept, references, first, attributes)
    if "energy_drift" in found.variables and on_gpu in (None, "double"):
        tally(runs, kinds, asked, found.variables["energy_drift"].values, first, off)
    for group in kinds:
        missed.update({first + int(group.indices[i]): t for i, t in group.missed.items()})
    return found, pool.came


# -- arguments ---------------------------------------------------------------------------------------------------------


def _drives(u: Any, model: Model, record: tuple[str, ...]) -> tuple[list[Block], Array | None]:
    """Return the unique inputs, and the index of each run's input; None if all runs share one."""
    if isinstance(u, np.ndarray) and u.ndim == 2 and u.dtype.kind in "fiu":
        rows, which = np.unique(u, axis=0, return_inverse=True)
        return [_recording(as_input(row, model), record, model) for row in rows], which.ravel()
    if not isinstance(u, list | tuple) or all(isinstance(each, Real) for each in u):
        return [_recording(as_input(u, model), record, model)], None
    found: list[Block] = []
    places: dict[Any, int] = {}
    designed: dict[Any, Block] = {}
    which = np.zeros(len(u), dtype=np.int64)
    for i, each in enumerate(u):
        if id(each) not in places:
            with errors_in(f"u[{i}]"):
                found.append(_designed(each, model, designed, record))
            places[id(each)] = len(found) - 1
        which[i] = places[id(each)]
        if found[-1].records != found[0].records:
            must = (
                f"record: u[{i}] has the signals {_signals(found[-1])}, u[0] {_signals(found[0])}; they must be equal"
            )
            raise DescriptionError(must)
    return found, which


def _constant(levels: Array, model: Model, record: tuple[str, ...]) -> tuple[list[Block], Array]:
    """Return one input for many runs with constant u (N, m), whose values replace that of the input."""
    if not np.isfinite(levels).all():
        raise DescriptionError(f"u[{int(np.argmin(np.isfinite(levels).all(axis=1)))}] contains NaN or infinity")
    return [_recording(as_input(levels[0], model), record, model)], np.zeros(len(levels), dtype=np.int64)


def _signals(drive: Block) -> str:
    return "; ".join(f"{each.name} ({', '.join(each.signals)})" for each in drive.records)


def _recording(drive: Block, record: tuple[str, ...], model: Model) -> Block:
    return drive.recording(record, model) if record else drive


def _exogenous_inputs(w: Any, model: Model) -> tuple[list[ExogenousInputs], Array | None]:
    """Return the unique exogenous inputs, and the index of each run's; None if all runs share one."""
    rows = isinstance(w, np.ndarray) and w.ndim == 2
    if not rows and (not isinstance(w, list | tuple) or all(isinstance(each, Real) for each in w)):
        return [as_exogenous(w, model)], None
    found: list[ExogenousInputs] = []
    places: dict[int, int] = {}
    around = np.zeros(len(w), dtype=np.int64)
    for i, each in enumerate(w):
        if rows or id(each) not in places:
            with errors_in(f"w[{i}]"):
                found.append(as_exogenous(each, model))
            places[id(each)] = len(found) - 1
        around[i] = len(found) - 1 if rows else places[id(each)]
    return found, around


def _disturbed(
    model: Model,
    exogenous_inputs: list[ExogenousInputs],
    around: Array | None,
    disturbances: list[Any],
    by: Array | None,
) -> tuple[Model, list[ExogenousInputs], Array | None]:
    """Return the model of all runs, the exogenous inputs including disturbances, and the index of each run's."""
    if all(each is None for each in disturbances):
        return model, exogenous_inputs, around
    given = next((each for each in (around, by) if each is not None), None)
    alike = np.zeros(1 if given is None else len(given), dtype=np.int64)
    both = np.stack([alike if each is None else each for each in (around, by)], axis=1)
    pairs, which = np.unique(both, axis=0, return_inverse=True)
    model, found = disturbed_many(
        model, [exogenous_inputs[i] for i in pairs[:, 0]], [disturbances[j] for j in pairs[:, 1]]
    )
    return model, found, None if given is None else which.ravel()


def _designed(each: Any, model: Model, designed: dict[Any, Block], record: tuple[str, ...]) -> Block:
    """Return an input. Sampled controllers that differ only in their seeds are designed once."""
    if not isinstance(each, Sampled):
        return _recording(as_input(each, model), record, model)
    others = (x if isinstance(x, Real) else id(x) for x in (each.limit, each.rate_limit, each.sensors))
    key = id(each.controller), each.period, each.delay, each.method, *others
    if key not in designed:
        designed[key] = _recording(as_input(each, model), record, model)
    return like(designed[key], each.seed)


def _rows(name: str, value: Any, signals: tuple[str, ...]) -> Array | None:
    """Return an array (n,) or (N, n), or None if no value is given."""
    if value is None:
        return None
    n = len(signals)
    with refused():
        x = checked_array(value, name)
    if x.ndim not in (1, 2) or x.shape[-1] != n:
        must = f"it must be ({n},) or (N, {n}), N runs of {', '.join(signals)}"
        raise DescriptionError(f"{name} has shape {x.shape}; {must}")
    return x


def _count(runs: int | None, given: dict[str, Array | None]) -> int:
    """Return the number of runs. Raise `DescriptionError` if arguments disagree, or if none determines it."""
    said = {} if runs is None else {"runs": runs}
    said |= {
        key: len(x) for key, x in given.items() if x is not None and (x.ndim == 2 or key in ("u", "w", "disturbance"))
    }
    if not said:
        raise DescriptionError(
            "simulate_many: the number of runs is unknown; give runs=N, or q0, qd0, u or p for each run"
        )
    if len(set(said.values())) > 1:
        counts = ", ".join(f"{key} {count}" for key, count in said.items())
        raise DescriptionError(f"simulate_many: the arguments are for different numbers of runs: {counts}")
    if not (count := next(iter(said.values()))):
        raise DescriptionError("simulate_many: the number of runs is 0; it must be at least 1")
    return count


def _starts(given: dict[str, Array | None], drives: Sequence[Block], which: Array, model: Model) -> tuple[Array, Array]:
    """Return coordinates (N, nq) and rates (N, nv) at t = 0."""
    found, starts = [], [np.empty(0), np.empty(0)]
    if any(x is None for x in given.values()):
        rest = initial(model, None)  # most blocks share this initial state, which is slow to compute
        own = (rest if drive.begins is None else initial(model, drive.begins) for drive in drives)
        starts = [np.array(each) for each in zip(*own, strict=True)]
    for x, here, size in zip(given.values(), starts, (model.nq, model.nv), strict=True):
        found.append(np.ascontiguousarray(np.broadcast_to(here[which] if x is None else x, (len(which), size))))
    return found[0], found[1]


def _checked(drive: Block, model: Model, times: Array) -> Block:
    """Return a sampled law after a check that it fits the model. Each run restarts it."""
    drive.begun(model, times)
    return drive


def _runs_of_a_file(count: int, each: float) -> int:
    """Return how many of `count` runs are computed together and written to one file, from the size of each [bytes].

    They take up to a quarter of the available memory.
    """
    return max(1, min(count, int(min(CHUNK, memory.usable() / 4) / each)))


def _check_size(count: int, each: float) -> None:
    """Raise an error for a result that does not fit into memory, before memory is allocated."""
    needed, there = count * each, memory.usable()
    if needed > there:
        size = f"a result of {counted(count, 'run')} takes {needed / 1e9:.3g} GB and {there / 1e9:.3g} GB are free"
        advice = "use folder= to write it to disk, or reduce samples or keep"
        raise DescriptionError(f"{size}; {advice}")
