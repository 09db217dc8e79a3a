"""Thousands of runs at once: beside `simulate`'s native solve alone, a loop over it, and a pool of processes."""

import multiprocessing
import os
import resource
import statistics
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from time import perf_counter, process_time
from types import SimpleNamespace
from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.report import Table, spread, time
from flexarm.control import Composite, Sampled
from flexarm.simulation import ensemble, run
from flexarm.simulation.inputs import as_input

Array = np.ndarray

GAIN = 4.0  # target: runs a second and core, beside the native solve of `simulate` alone
MANY = 10_000
SLEW = fa.Quintic((0.0, 0.0, 0.0), (0.75, 0.5, 1.0), 10.0)


@dataclass(frozen=True)
class Case:
    """Runs of a kind: of which arm, for how long, and what the i-th of them is given."""

    title: str
    model: Callable[[], fa.Model]
    until: float
    u: Callable[[int], Any]
    p: Callable[[int], list[float] | None]
    options: dict[str, Any]
    runs: int
    alone: int

    def many(self, count: int) -> Any:
        """So many runs at once."""
        p = None if self.p(0) is None else np.array([self.p(i) for i in range(count)])
        u = [self.u(i) for i in range(count)] if p is None else self.u(0)
        model = self.model()
        began = perf_counter()
        found = fa.simulate_many(model, self.until, u=u, p=p, progress=False, **self.options)
        return found, perf_counter() - began

    def one(self, i: int, **options: Any) -> Any:
        """The i-th by itself."""
        given = self.options | options
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fa.simulate(self.model(), self.until, self.u(i), p=self.p(i), progress=False, **given)


@cache
def planar() -> fa.Model:
    """Subudhi & Morris's arm."""
    return fa.Model(fa.load("subudhi-morris"))


@cache
def canadarm() -> fa.Model:
    """The Canadarm with any payload."""
    return fa.Model(fa.load("canadarm"), vary=["payload.mass"])


def pushed(i: int) -> Any:
    """Bang-bang torques, each run's its own."""
    return fa.bang_bang(tuple(0.2 * np.random.default_rng(i).uniform(0.5, 1.0, 2)), 0.5)


def nothing(i: int) -> None:
    """No parameters."""


@cache
def designed() -> Any:
    """The composite controller, 1000 samples a second, its law traced and compiled: a part of no run's solve."""
    found = as_input(Sampled(Composite(SLEW, 1.0, 2.0), period=1e-3), canadarm())
    assert found.kernel.code
    return found


def composite(i: int) -> Any:
    """The same for each run."""
    return designed()


def payload(i: int) -> list[float]:
    """Each run's own [kg]."""
    return [float(np.random.default_rng(i).uniform(100.0, 1000.0))]


CASES = {
    "push": Case(
        "Subudhi & Morris's arm, 2 s of bang-bang, dop853, rtol 1e-8, 201 samples",
        planar,
        2.0,
        pushed,
        nothing,
        {"method": "dop853", "samples": 201, "save": fa.SaveAt(keep=["q"])},
        1024,
        40,
    ),
    "slew": Case(
        "the Canadarm under composite control at 1 ms, 10 s, a payload for each run, 101 samples",
        canadarm,
        10.0,
        composite,
        payload,
        {"method": "auto", "samples": 101, "save": fa.SaveAt(keep=["q"])},
        64,
        6,
    ),
}


@contextmanager
def counting_processor_time() -> Iterator[None]:
    """`solve_seconds` are what the processor spent, since others use it too."""
    before, clock = (run.clock, ensemble.clock), SimpleNamespace(perf_counter=process_time)
    run.clock = ensemble.clock = clock
    try:
        yield
    finally:
        run.clock, ensemble.clock = before


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Of this process."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def measure(quick: bool) -> list[Table]:
    """Gain a core, cores and memory, and 10 000 runs."""
    return [_gain(quick), _cores(quick), _ten_thousand(quick)]


def _gain(quick: bool) -> Table:
    columns = ("runs", "simulate, native solve alone", "simulate_many", "gain", "target", "met", "error")
    table = Table("An ensemble and single runs: time per run", columns)
    for case in CASES.values():
        count, single = (case.runs // 4, case.alone // 3) if quick else (case.runs, case.alone)
        case.many(8), case.one(0)
        alone, abreast = [], []
        for _ in range(2 if quick else 7):  # in turn
            with counting_processor_time():
                alone.append(statistics.fmean(case.one(i).attrs["solve_seconds"] for i in range(single)))
                found, _ = case.many(count)
            abreast.append(found.attrs["solve_seconds"] / count)
        gains = [a / b for a, b in zip(alone, abreast, strict=True)]
        met = "yes" if statistics.median(gains) > GAIN else "**no**"
        errors = _errors(case, found)
        table.add(case.title, spread(alone), spread(abreast), _gains(gains), f"> {GAIN:g}", met, errors)
    table.notes.append(
        "Times are seconds of processor time on one core. Both functions use the same method and the same tolerances. "
        "The last column has the largest difference of a coordinate of the first run from a run with rtol 1e-12 (for "
        "the sampled loop: with less than half the step), for `simulate` and for `simulate_many`."
    )
    return table


def _gains(gains: list[float]) -> str:
    return f"{statistics.median(gains):.1f} ({min(gains):.1f} .. {max(gains):.1f})"


def _errors(case: Case, found: Any) -> str:
    tight = {"rtol": 1e-12, "solver": fa.Solver(atol=1e-14)}
    if case.options["method"] == "auto":
        tight = {"method": "rk4", "solver": fa.Solver(step=1e-3 / 12)}
    exact = case.one(0, **tight).q.values
    one = abs(case.one(0).q.values - exact).max()
    return f"{one:.1e}, {abs(found.q.values[0] - exact).max():.1e}"


def _cores(quick: bool) -> Table:
    columns = ("runs", "cores", "time per run", "speed-up", "processor time per run", "parallel share")
    table = Table("An ensemble on several cores", (*columns, "memory per run"))
    there = len(os.sched_getaffinity(0))
    for case in CASES.values():
        count = case.runs // 4 if quick else case.runs
        seconds: dict[int, list[tuple[float, float, float]]] = {n: [] for n in range(1, there + 1)}
        before = _memory()
        for _ in range(2 if quick else 5):
            for n, times in seconds.items():
                with on_cores(n), counting_processor_time():
                    began = process_time()
                    found, wall = case.many(count)
                    spent = process_time() - began
                times.append((wall / count, spent / count, found.attrs["solve_seconds"] / spent))
        grown = max(_memory() - before, 0.0) / count
        alone = statistics.median(wall for wall, _, _ in seconds[1])
        for n, times in seconds.items():
            walls, spent_, shares = zip(*times, strict=True)
            size = f"{found.nbytes / count / 1e3:.3g} kB of result, {grown / 1e3:.3g} kB more at most"
            table.add(
                *(case.title if n == 1 else "", n, spread(walls), f"{alone / statistics.median(walls):.2f}"),
                *(spread(spent_), f"{100 * statistics.median(shares):.0f} %", size if n == 1 else ""),
            )
    load = f" The load of the {there} cores was {os.getloadavg()[0]:.1f}." if hasattr(os, "getloadavg") else ""
    table.notes.append(
        f"Times are those of the complete call: Python, layout of the data, computation and dataset.{load}"
    )
    return table


def _memory() -> float:
    """Bytes that the process had at most."""
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _single(i: int) -> float:
    """Seconds of the processor for a run of the pool."""
    began = process_time()
    CASES["push"].one(i)
    return process_time() - began


def _ten_thousand(quick: bool) -> Table:
    table = Table(
        f"{MANY} runs of Subudhi & Morris's arm, 2 s of bang-bang",
        ("way", "measured", "for all, seconds of one core", "relative to simulate_many"),
    )
    case, part = CASES["push"], 100 if quick else 400
    case.one(0)
    began = process_time()
    for i in range(part):
        case.one(i)
    loop = (process_time() - began) / part * MANY
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=context) as pool:
        list(pool.map(_single, range(8)))  # its processes are there, and have loaded the code
        pooled = sum(pool.map(_single, range(4 * part), chunksize=10)) / (4 * part) * MANY
    case.many(8)
    began = process_time()
    case.many(MANY // 10 if quick else MANY)
    many = (process_time() - began) * (10 if quick else 1)
    for way, measured, seconds in (
        ("a loop over `simulate`", f"{part} runs", loop),
        (f"a pool of {len(os.sched_getaffinity(0))} processes", f"{4 * part} runs", pooled),
        ("`simulate_many`", f"{MANY // 10 if quick else MANY} runs", many),
    ):
        table.add(way, measured, time(seconds), f"{seconds / many:.1f}")
    table.notes.append(
        "Times are processor time of the complete calls. Numbers from fewer than all runs are extrapolated. The "
        "processes of the pool were started before the measurement."
    )
    return table
