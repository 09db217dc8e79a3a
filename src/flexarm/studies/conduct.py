"""Execution of a study, chunk after chunk or generation after generation, and its result."""

import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import counted, refused, shown, unknown_name
from flexarm.errors import DescriptionError, InterruptedRun, SimulationError
from flexarm.files import alone
from flexarm.studies.bar import Bar
from flexarm.studies.designs import WorstCase
from flexarm.studies.digest import digest
from flexarm.studies.executors import Died
from flexarm.studies.folder import Folder
from flexarm.studies.places import place_of
from flexarm.studies.plan import Plan
from flexarm.studies.result import assembled
from flexarm.studies.schedule import Work
from flexarm.studies.work import Chunk, chunks
from flexarm.studies.worst import generation, search

if TYPE_CHECKING:
    from xarray import Dataset

Progress = Callable[[int, int], None]
"""Function that is called with the number of finished runs, and of all runs."""


def check_progress(progress: object) -> None:
    """Raise `DescriptionError` unless the argument is true, false or a function."""
    if not (isinstance(progress, bool | np.bool_) or callable(progress)):
        raise DescriptionError(
            f"study: progress is {shown(progress)}; it must be true, false or a function of two numbers"
        )


def conduct(plan: Plan, executor: Any, folder: Any, progress: Progress | bool) -> "Dataset":
    """Return the result of a study. `study` lists the errors."""
    check_progress(progress)
    began = time.perf_counter()
    task, design = digest(plan.task), plan.design
    if isinstance(design, WorstCase):
        members = generation(len(plan.varied), design.runs)
        total, listed = max(1, design.runs // members) * members, []
    else:
        with refused("study"):
            samples = plan.samples(design.samples(plan.quantiles))
        plan.task.check(samples)
        total = len(next(iter(samples.values())))
        listed = chunks(task, samples, plan.chunk_size(total))

    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("error", InterruptedRun)  # of a run in this process
        keeper = None
        if folder is not None:
            keeper = Folder(folder, plan.identity(), plan.name)
            if not stack.enter_context(alone(keeper.lock)):
                raise DescriptionError(
                    "another process is computing this study; wait until it ends", str(keeper.path), sentence=True
                )
        bar = Bar(total, plan.name, progress)
        stack.callback(bar.close)
        with refused("study"):
            place = place_of(executor, bar.say)
        work = Work(plan.task, place, keeper, bar)
        stopped = ""
        whole = interrupted = False
        try:
            if isinstance(design, WorstCase):
                _search(plan, design, task, work, listed)
            else:
                work.do(listed)
            whole = True
        except KeyboardInterrupt:
            interrupted = True
        except Died as error:
            stopped = str(error)
        finally:
            place.close(at_once=not whole)
    result = assembled(plan, listed, work, time.perf_counter() - began)
    if whole:
        return result
    done = sum(chunk.runs for chunk in listed if chunk.key in work.done)
    kept = (
        f"{done} of {counted(total, 'run')} are in {keeper.path}; start again to continue"
        if keeper and work.folder
        else ""
    )
    kept = kept or f"{done} of {counted(total, 'run')} are in the result"
    if not interrupted:
        raise SimulationError(f"study: {stopped}; {kept}", result)
    warnings.warn(f"interrupted; {kept}", InterruptedRun, stacklevel=3)
    return result


def _search(plan: Plan, design: WorstCase, task: str, work: Work, listed: list[Chunk]) -> None:
    """Compute the chunks of one generation after another, and add them to the list."""
    sign = 1.0 if design.worst == "largest" else -1.0

    def evaluate(shares: Array) -> Array:
        values = [quantile(column) for quantile, column in zip(plan.quantiles, shares.T, strict=True)]
        samples = plan.samples(values)
        if not listed:
            plan.task.check(samples)
        first = sum(chunk.runs for chunk in listed)
        new = chunks(task, samples, plan.chunk_size(design.runs), first)
        listed.extend(new)
        work.do(new)
        return np.concatenate([_badness(work, chunk, design.outcome, sign) for chunk in new])

    search(design, len(plan.varied), evaluate)


def _badness(work: Work, chunk: Chunk, outcome: str, sign: float) -> Array:
    """Return the badness of each run: infinite for a failed run, -infinite for one that was not computed."""
    part = work.done.get(chunk.key)
    if part is None:
        return np.full(chunk.runs, -np.inf)
    if outcome not in part or part[outcome].dims != ("run",):
        names = [str(name) for name in part if part[name].dims == ("run",) and name != "status"]
        raise DescriptionError(unknown_name("study: design.outcome is", outcome, names, "the outcomes are"))
    bad = sign * part[outcome].values
    ended = part.status.values == "completed"
    return np.where(ended & ~np.isnan(bad), bad, np.inf)
