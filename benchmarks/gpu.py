"""Forward dynamics and whole runs on a graphics processor: `python -m benchmarks.gpu`, in one go.

What ptxas makes of the programs needs none; numbers and speeds are measured where there is one, and where there is none
the table says why.
"""

import argparse
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

import flexarm as fa
from benchmarks import report
from benchmarks.chains import chain, states
from benchmarks.report import Table, judged, spread
from flexarm.errors import DescriptionError
from flexarm.native import cuda, nvptx, ptxas
from flexarm.simulation import gpu, gpu_states
from flexarm.simulation.feedback import integrand
from flexarm.simulation.gpu_states import evaluate_on_gpu
from flexarm.simulation.layout import Layout

REALS = ("double", "float")
GOAL = 1e8  # forward dynamics a second
ERRORS = {"double": 1e-9, "float": 1e-3}  # of the largest number of a quantity
STEP = 1e-4
"""Step of RK4 [s]. The fastest mode of 3 links with 2 + 2 modes has 1276 rad/s, so RK4 is stable up to 2.2 ms around a
straight arm at rest; in motion 0.2 ms already diverges from some starts."""
BENT = 0.01
"""Deflections and their rates at the start, over those of `chains.states`. The latter bend a link of 1 m by 0.1 m, and
the motion from there is so irregular that rounding alone grows to its size within 0.2 s."""
ARMS = {
    "two planar links, 2 modes each": lambda: fa.load("subudhi-morris"),
    "Canadarm": lambda: fa.load("canadarm"),
    "3 links, 2 + 2 modes": lambda: chain(3),
    "spatial 6R": lambda: fa.load("spatial-6r"),
    "8 links, 2 + 2 modes": lambda: chain(8),
}


def measure(quick: bool) -> list[Table]:
    """What the programs take, and, where there is a graphics processor, what they give and how fast."""
    model = fa.Model(chain(3))
    found = [taken(quick)]
    try:
        device = cuda.device()
    except DescriptionError as error:
        table = Table("Speeds on a graphics processor", ("what", "measured", "target", "met"))
        table.notes.append(f"Not measured: {str(error).rstrip('.')}.")
        return [*found, table]
    return [*found, alike(model, quick), speeds(model, device, quick)]


def programs(model: fa.Model, real: Any) -> dict[str, tuple[Any, ...]]:
    """Of a model what `cuda.Device.kernel` takes, by name."""
    runs = gpu.program(integrand(model, "state_rate", 0), Layout.of(model), real)
    key, parts = gpu_states.program(model.kernel("forward_dynamics"), real)
    return {"forward dynamics": (key, parts, nvptx.EACH), "runs": runs}


def taken(quick: bool) -> Table:
    """Registers and spills, from ptxas."""
    columns = (
        "arm",
        "operations",
        "program",
        "numbers",
        "registers",
        "spills, stored + loaded",
        "own memory",
        "threads",
    )
    table = Table("What a thread takes on sm_90", columns)
    for name, build in list(ARMS.items())[: 3 if quick else None]:
        model = fa.Model(build())
        operations = model.kernel("forward_dynamics").code.operations
        for real in REALS:
            for what, program in programs(model, real).items():
                try:
                    (one,) = ptxas.resources(cuda.text(*program, real), "sm_90")
                except DescriptionError as error:
                    table.notes.append(f"{name}: {error}")
                    continue
                spills = f"{one.stores} + {one.loads} B"
                resident = one.resident(nvptx.THREADS)
                table.add(name, operations, what, real, one.registers, spills, f"{one.stack} B", resident)
    table.notes.append(
        "The column of own memory has the arrays and spills of a thread. The last column has the threads that run at "
        "once on a multiprocessor, of at most 2048."
    )
    return table


def alike(model: fa.Model, quick: bool) -> Table:
    """The same numbers as on the processor?"""
    table = Table(
        "Numbers of a graphics processor beside the processor's", ("what", "largest difference", "limit", "met")
    )
    q, qd, u = states(model, 1000 if quick else 20_000)
    p = {
        "method": "rk4",
        "solver": fa.Solver(step=STEP),
        "samples": 11,
        "progress": False,
        "save": fa.SaveAt(keep=["q", "qd"]),
    }
    start = starts(model, 20 if quick else 1000)
    expected = model.forward_dynamics(q, qd, u)
    until = 0.02 if quick else 0.2
    runs = fa.simulate_many(model, until, **start, **p)
    for real in REALS:
        found = evaluate_on_gpu(model, "forward_dynamics", q, qd, u, real=real)
        compared(table, f"forward dynamics, {real}", found, expected, real)
        there = fa.simulate_many(model, until, device="gpu", real=real, **start, **p)
        for name in ("q", "qd"):
            compared(table, f"{name} of runs, {real}", there[name].values, runs[name].values, real)
    return table


def starts(model: fa.Model, runs: int) -> dict[str, np.ndarray]:
    """Return random `q0` and `qd0` of runs, hardly bent, and a small constant input."""
    q, qd, u = states(model, runs)
    size = np.full(model.nv, BENT)
    size[list(model.arm.joints)] = 1.0
    return {"q0": size * q, "qd0": 0.1 * size * qd, "u": 0.1 * u[0]}


def finite(what: str, *values: np.ndarray) -> None:
    """Raise ValueError unless all numbers are finite: NaN beside NaN compares nothing, and no speed counts then."""
    bad = sum(int(np.count_nonzero(~np.isfinite(each))) for each in values)
    if bad:
        raise ValueError(f"{what}: {bad} numbers are not finite; the runs diverged, so choose a shorter step")


def compared(table: Table, what: str, found: np.ndarray, expected: np.ndarray, real: str) -> None:
    """A row: the largest difference, over the largest number."""
    finite(what, found, expected)
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    limit, met = judged(error, ERRORS[real], f"{ERRORS[real]:g}")
    table.add(what, f"{error:.2g}", limit, met)


def speeds(model: fa.Model, device: Any, quick: bool) -> Table:
    """Evaluations and steps a second."""
    table = Table(f"Speeds on {device.name}, 3 links with 2 + 2 modes", ("what", "measured", "target", "met"))
    for real in REALS:
        program = programs(model, real)
        for name, each in program.items():
            said = device.occupancy(*each, real)
            text = f"{said['registers']} registers, {said['local']} B, {said['threads']} threads a multiprocessor"
            table.add(f"{name}, {real}: the driver's program", text, "", "")
        for count in (256,) if quick else (2**15, 2**18, 2**21):
            seconds = evaluations(model, device, program["forward dynamics"], real, count, 3 if quick else 20)
            best = count / min(seconds)
            target, met = (f"> {GOAL:.0e}", "yes" if best > GOAL else "**no**") if count == 2**21 else ("", "")
            table.add(f"forward dynamics a second, {real}, {count} states", f"{best:.3g}", target, met)
        stepping(table, model, real, 20 if quick else 2**17, quick)
    x = states(model, 2**10 if quick else 2**17)
    lanes = [taken_by(lambda: model.forward_dynamics(*x)) for _ in range(3)]
    table.add("forward dynamics a second, the processor, from Python", f"{len(x[0]) / min(lanes):.3g}", "", "")
    table.notes.append("States and results stay on the device. A sample is the fastest of several launches.")
    return table


def evaluations(model: fa.Model, device: Any, program: tuple, real: Any, count: int, repeats: int) -> list[float]:
    """Seconds of one launch for so many states, that lie there already."""
    T = gpu.TYPES[real]
    x = np.ascontiguousarray(np.concatenate(states(model, count), axis=1).T, dtype=T)
    y, one = np.empty((model.nv, count), T), np.zeros(1)
    launch = device.kernel(*program, real)
    there, found, mark = device.put(x), device.room(y), device.put(one)
    seconds = []
    for _ in range(6):
        began = perf_counter()
        for _ in range(repeats):
            launch(count, [there, there, found], [count])
        device.get(mark, one)  # which waits
        seconds.append((perf_counter() - began) / repeats)
    device.get(found, y)
    finite(f"forward dynamics of {count} states, {real}", y)
    return seconds[1:]


def stepping(table: Table, model: fa.Model, real: Any, count: int, quick: bool) -> None:
    """Steps of whole runs, from call to dataset and without what is done around them."""
    given = {
        "method": "rk4",
        "solver": fa.Solver(step=STEP),
        "samples": 2,
        "progress": False,
        "save": fa.SaveAt(keep=["q"]),
        **starts(model, count),
    }
    until = 1e-3 if quick else 0.1
    whole = []
    for _ in range(3):
        began = perf_counter()
        found = fa.simulate_many(model, until, device="gpu", real=real, **given)
        whole.append(perf_counter() - began)
    finite(f"q of {count} runs, {real}", found.q.values)
    steps = int(found.steps.sum())
    table.add(f"steps a second, {real}, {count} runs, all in all", f"{steps / min(whole):.3g}", "", "")
    inside = found.attrs["solve_seconds"]
    table.add(f"steps a second, {real}, {count} runs, copies and steps", f"{steps / inside:.3g}", "", "")
    table.add(f"{count} runs of {until:g} s, {real}", spread(whole), "", "")


def taken_by(call: Any) -> float:
    """Seconds of a call."""
    began = perf_counter()
    call()
    return perf_counter() - began


def main() -> None:
    """Measure, print, and write a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description="Measure a graphics processor.")
    parser.add_argument("--quick", action="store_true", help="few states, short runs")
    path = report.ROOT / "out" / "gpu.md"
    options, console = parser.parse_args(), Console(width=160)
    facts, tables = report.circumstances(), measure(options.quick)
    for table in tables:
        console.print(table.rich())
    path.parent.mkdir(exist_ok=True)
    path.write_text(report.page(facts, tables, "Speeds are the best of several repeats."), encoding="utf-8")
    console.print(f"written: {path}", highlight=False)


if __name__ == "__main__":
    main()
