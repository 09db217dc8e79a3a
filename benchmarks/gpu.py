"""Forward dynamics and whole runs on a graphics processor, in less than ten minutes: `python -m benchmarks.gpu`.

Register and spill counts come from ptxas and need no graphics processor. Numbers and speeds are measured where there is
one. Otherwise the table says why they are not.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

import flexarm as fa
from benchmarks import report
from benchmarks.chains import chain, states
from benchmarks.report import Table, judged, spread
from flexarm.control import JointPD, Sampled
from flexarm.errors import DescriptionError
from flexarm.native import cuda, nvptx, ptxas
from flexarm.simulation import gpu, gpu_cooperative, gpu_implicit, gpu_states, solvers
from flexarm.simulation.butcher import METHODS
from flexarm.simulation.feedback import integrand
from flexarm.simulation.gpu_states import evaluate_on_gpu
from flexarm.simulation.layout import Layout

REALS = ("double", "float")
GOAL = 1e8  # forward dynamics a second
SHARE = 0.8  # of a call's time in the kernel
STEPS = {"two planar links, 2 modes each": 3e9, "3 links, 2 + 2 modes": 2.3e9 / 4}
"""Steps of RK4 a second in double. The second has half of the measured rate of forward dynamics, 4.6e9 a second."""
TOLERANCE = {"double": 1e-8, "float": 1e-5, "mixed": 1e-5}
ERRORS = {"double": 1e-9, "float": 1e-3, "mixed": 1e-3}  # of the largest number of a quantity
STIFF = 1e-3
"""Step of the implicit method [s], ten times that of RK4."""
STEP = 1e-4
"""Step of RK4 [s]. The fastest mode of 3 links with 2 + 2 modes has 1276 rad/s, so RK4 is stable up to 2.2 ms around a
straight arm at rest; in motion 0.2 ms already diverges from some starts."""
THREADS = (1, 2, 4)
"""Numbers of threads for each run that are compared."""
LONG = 1000
"""Operations of a program above which only the resources of RK4 are counted, since ptxas takes long for tsit5."""
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
    tables = [alike(model, quick), speeds(model, device, quick), *calls(quick), shared(quick), policies(quick)]
    return [*found, *tables, mjx_speed(quick)]


def programs(model: fa.Model, real: Any, methods: Sequence[str] = ("rk4",)) -> dict[str, tuple[Any, ...]]:
    """Return what `cuda.Device.kernel` takes, by name: forward dynamics, and runs by some methods."""
    rate, layout = integrand(model, "state_rate", 0), Layout.of(model)
    key, parts = gpu_states.program(model.kernel("forward_dynamics"), real)
    runs = {f"runs, {name}": gpu.program(rate, layout, real, METHODS[name]) for name in methods if name in METHODS}
    if rate.code.operations >= LONG:
        for count in THREADS[1:]:
            runs[f"runs, rk4, {count} threads"] = gpu_cooperative.program(rate, layout, real, count)
    if "gauss4" in methods:
        residual = integrand(model, "state_residual", 0)
        runs["runs, gauss4"] = gpu_implicit.program(residual, layout, solvers.IMPLICIT["gauss4"], None, table=False)
    return {"forward dynamics": (key, parts, nvptx.EACH), **runs}


def reals(what: str) -> tuple[Any, ...]:
    """Return the precisions in which a method is measured."""
    return ("double",) if what in solvers.IMPLICIT else ("double", "mixed", "float")


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
            methods = ("rk4", "tsit5") if operations < LONG else ("rk4",)
            methods = (*methods, "gauss4") if operations < LONG and real == "double" else methods
            for what, program in programs(model, real, methods).items():
                try:
                    (one,) = ptxas.resources(cuda.text(*program, real), "sm_90")
                except DescriptionError as error:
                    table.notes.append(f"{name}: {error}")
                    continue
                spills = f"{one.stores} + {one.loads} B"
                resident = one.resident(program[2].threads)
                table.add(name, operations, what, real, one.registers, spills, f"{one.stack} B", resident)
    table.notes.append(
        "The column of own memory has the arrays and spills of a thread. The last column has the threads that run at "
        "once on a multiprocessor, of at most 2048."
    )
    return table


def alike(model: fa.Model, quick: bool) -> Table:
    """Compare the results with those of the CPU."""
    table = Table(
        "Numbers of a graphics processor beside the processor's", ("what", "largest difference", "limit", "met")
    )
    q, qd, u = states(model, 1000 if quick else 20_000)
    expected = model.forward_dynamics(q, qd, u)
    for real in REALS:
        found = evaluate_on_gpu(model, "forward_dynamics", q, qd, u, real=real)
        compared(table, f"forward dynamics, {real}", found, expected, real)
    until, start = 0.02 if quick else 0.2, starts(model, 20 if quick else 1000)
    for what, given in ways(model).items():
        own = {**start, **given, "samples": 11, "progress": False}
        keep = fa.SaveAt(keep=["q", "qd"])
        for real in reals(what):
            solver = tolerant(given["solver"], real)
            here = fa.simulate_many(model, until, **{**own, "solver": solver}, save=keep)
            there = fa.simulate_many(model, until, device="gpu", real=real, **{**own, "solver": solver}, save=keep)
            for name in ("q", "qd"):
                compared(table, f"{name} of runs, {what}, {real}", there[name].values, here[name].values, real)
    return table


def ways(model: fa.Model) -> dict[str, dict[str, Any]]:
    """Return methods and inputs that are measured, by name."""
    still = JointPD([0.0] * len(model.arm.driven), 1.0, 0.1, gravity=False)
    return {
        "rk4": {"solver": fa.Solver(method="rk4", step=STEP)},
        "tsit5": {"solver": fa.Solver(method="tsit5")},
        "dop853": {"solver": fa.Solver(method="dop853")},
        "gauss4": {"solver": fa.Solver(method="gauss4", step=STIFF)},
        "rk4, sampled PD": {"solver": fa.Solver(method="rk4", step=STEP), "u": Sampled(still, 1e-3)},
    }


def tolerant(solver: fa.Solver, real: str) -> fa.Solver:
    """Return the solver with the tolerance for a precision."""
    return fa.Solver(method=solver.method, step=solver.step, rtol=TOLERANCE[real])


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
        program = programs(model, real, ("rk4",))
        for name, each in program.items():
            said = device.occupancy(*each, real)
            text = f"{said['registers']} registers, {said['local']} B, {said['threads']} threads a multiprocessor"
            table.add(f"{name}, {real}: the driver's program", text, "", "")
        for count in (256,) if quick else (2**15, 2**18, 2**21):
            seconds = evaluations(model, device, program["forward dynamics"], real, count, 3 if quick else 20)
            best = count / min(seconds)
            target, met = (f"> {GOAL:.0e}", "yes" if best > GOAL else "**no**") if count == 2**21 else ("", "")
            table.add(f"forward dynamics a second, {real}, {count} states", f"{best:.3g}", target, met)
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


class Timed:
    """A device that waits for each launch of runs and counts the seconds of its kernel."""

    def __init__(self, device: Any):
        self._device, self._one, self.seconds = device, np.zeros(1), 0.0
        self._mark = device.put(self._one)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def kernel(self, key: str, parts: Callable[[], Sequence[str]], entry: nvptx.Entry, real: Any) -> Any:
        """See `cuda.Device`."""
        launch = self._device.kernel(key, parts, entry, real)

        def timed(threads: int, memories: Sequence[Any], integers: Sequence[int]) -> None:
            self._device.get(self._mark, self._one)
            began = perf_counter()
            launch(threads, memories, integers)
            self._device.get(self._mark, self._one)
            if entry.name in ("runs", "environments"):
                self.seconds += perf_counter() - began

        return timed


@contextmanager
def in_kernels() -> Iterator[list[Timed]]:
    """Yield the devices that are used meanwhile, whose kernels are timed."""
    used: list[Timed] = []
    usual = cuda.device

    def device() -> Any:
        used.append(Timed(usual()))
        return used[-1]

    cuda.device = device
    try:
        yield used
    finally:
        cuda.device = usual


def calls(quick: bool) -> list[Table]:
    """Measure whole calls: steps a second, and the kernel's share of the time, with results there and as a dataset."""
    count = 20 if quick else 2**18
    columns = ("what", "steps a second in the kernel", "target", "met", "kernel", "call, arrays there", "share", "met")
    found = []
    for name in STEPS:
        model = fa.Model(ARMS[name]())
        table = Table(f"Whole calls with {count} runs of {0.1:g} s: {name}", (*columns, "call, dataset", "share"))
        for what, given in ways(model).items():
            if name != "two planar links, 2 modes each" and what == "dop853":
                continue  # the driver takes minutes to compile it
            for real in reals(what):
                measured(table, model, what, {**starts(model, count), **given}, real, STEPS[name], quick)
        table.notes.append(
            "The rows of a method have different precisions. Implicit methods leave no arrays there. A time is the "
            "fastest of three calls."
        )
        found.append(table)
    return found


def measured(
    table: Table, model: fa.Model, what: str, given: dict[str, Any], real: Any, target: float, quick: bool
) -> None:
    """Add a row of a method and a precision to the table."""
    solver, until = tolerant(given["solver"], real), 1e-3 if quick else 0.1
    save = fa.SaveAt(samples=2, keep=["q"])
    own = {**given, "solver": solver, "save": save, "progress": False, "device": "gpu", "real": real}
    kernel, there, whole = [], [], []
    form: Any = {} if what in solvers.IMPLICIT else {"as_": "dlpack"}
    fa.simulate_many(model, until, **own)  # the driver compiles the program
    for _ in range(3):
        with in_kernels() as used:
            there.append(taken_by(lambda: fa.simulate_many(model, until, **form, **own)))
        kernel.append(sum(each.seconds for each in used))
        whole.append(taken_by(lambda: fa.simulate_many(model, until, **own)))
    runs = fa.simulate_many(model, until, **own)
    finite(f"q of runs, {what}, {real}", runs.q.values)
    speed = int(runs.steps.sum()) / min(kernel)
    wanted = what == "rk4" and real == "double"
    goal, met = (f"> {target:.2g}", "yes" if speed > target else "**no**") if wanted else ("", "")
    share = min(kernel) / min(there)
    table.add(
        f"{what}, {real}",
        f"{speed:.3g}",
        goal,
        met,
        f"{min(kernel):.3g} s",
        spread(there),
        f"{100 * share:.0f} %",
        "yes" if share > SHARE else "**no**",
        spread(whole),
        f"{100 * min(kernel) / min(whole):.0f} %",
    )


def shared(quick: bool) -> Table:
    """Compare one thread for each run with several, where the choice of the package may be wrong."""
    columns = ("arm", "numbers", "threads for each run", "steps of RK4 a second in the kernel", "chosen")
    table, usual = Table("Steps of large arms with one or several threads for each run", columns), gpu_cooperative.SIZES
    count, until = (3, 1e-3) if quick else (2**15, 5e-3)
    for name, build in list(ARMS.items())[0 if quick else 2 :]:
        model = fa.Model(build())
        rate, layout = integrand(model, "state_rate", 0), Layout.of(model)
        for real in REALS:
            solver, save = fa.Solver(method="rk4", step=STEP), fa.SaveAt(samples=2, keep=["q"])
            own = {**starts(model, count), "solver": solver, "save": save, "progress": False}
            chosen, first = gpu_cooperative.threads(rate, layout, real, METHODS["rk4"]), None
            for threads in THREADS:
                gpu_cooperative.SIZES = ((0, threads),)
                try:
                    seconds = []
                    for _ in range(3):  # the driver compiles the program in the first call
                        with in_kernels() as used:
                            runs = fa.simulate_many(model, until, device="gpu", real=real, **own)
                        seconds.append(sum(each.seconds for each in used))
                finally:
                    gpu_cooperative.SIZES = usual
                finite(f"q of runs, {name}, {real}, {threads} threads", runs.q.values)
                first = runs.q.values if first is None else first
                if (runs.q.values != first).any():
                    raise ValueError(f"{name}, {real}: {threads} threads for each run compute other numbers than one")
                speed = int(runs.steps.sum()) / min(seconds)
                table.add(name, real, threads, f"{speed:.3g}", "yes" if threads == chosen else "")
    table.notes.append("The last column marks the number of threads that the package chooses.")
    return table


def policies(quick: bool) -> Table:
    """Measure periods of environments under a policy, whose observations and actions stay on the device."""
    columns = ("what", "periods a second", "a period of all", "in the kernel", "share", "met")
    count, periods = (4, 2) if quick else (2**16, 50)
    table = Table(f"{count} environments on the device", columns)
    if not find_spec("gymnasium"):
        table.notes.append("Not measured: gymnasium is not installed.")
        return table
    from flexarm.gymnasium import ArmVectorEnv

    for name, method in (("subudhi-morris", "dop853"), ("subudhi-morris", "tsit5")):
        for real in REALS:
            with in_kernels() as used:
                given = {"task": "Reach", "arm": name, "method": method, "real": real, "device": "gpu"}
                library, policy = acting(count, real)
                envs: Any = ArmVectorEnv(count, as_=library, **given)
                seen, _ = envs.reset(seed=1)
                envs.step(policy(envs, seen))  # the driver compiles the program
                before, seconds = used[-1].seconds, []
                for _ in range(periods):
                    began = perf_counter()
                    seen, reward, *_ = envs.step(policy(envs, seen))
                    seconds.append(perf_counter() - began)
            finite(f"states of environments, {real}", envs.states)
            kernel, whole = (used[-1].seconds - before) / periods, sum(seconds) / periods
            who = f"{name}, {method}, {real}, {'a network of PyTorch' if library == 'torch' else 'constant actions'}"
            share = kernel / whole
            times = spread(seconds), f"{kernel:.3g} s", f"{100 * share:.0f} %", "yes" if share > SHARE else "**no**"
            table.add(who, f"{count / whole:.3g}", *times)
    table.notes.append(
        "An observation goes through a network with two hidden layers of 64 neurons, and the actions go back, without "
        "a copy. Each launch is waited for, which the share of the kernel contains."
    )
    return table


def acting(count: int, real: Any) -> tuple[str, Callable[[Any, Any], Any]]:
    """Return the library of arrays, and a policy: a network where PyTorch has the device, else constant actions."""
    if find_spec("torch"):
        import torch

        if torch.cuda.is_available():
            kind = torch.float64 if real == "double" else torch.float32
            layers: list[Any] = []

            def policy(envs: Any, seen: Any) -> Any:
                if not layers:
                    width, inputs = seen.shape[1], envs.single_action_space.shape[0]
                    torch.manual_seed(1)
                    net = torch.nn.Sequential(
                        torch.nn.Linear(width, 64),
                        torch.nn.Tanh(),
                        torch.nn.Linear(64, 64),
                        torch.nn.Tanh(),
                        torch.nn.Linear(64, inputs),
                        torch.nn.Tanh(),
                    )
                    layers.append(net.to("cuda", kind))
                with torch.no_grad():
                    return layers[0](seen)

            return "torch", policy
    device, T = cuda.device(), gpu.TYPES[real]
    made: list[Any] = []

    def constant(envs: Any, seen: Any) -> Any:
        if not made:
            values = np.full((count, envs.single_action_space.shape[0]), 0.1, T)
            made.append(device.array(device.put(values), values, values.shape, [values.shape[1], 1], 0))
        return made[0]

    return "dlpack", constant


def mjx_speed(quick: bool) -> Table:
    """Measure steps of RK4 by MJX on the same card: the lumped equivalent of the two-link arm, by flexarm's export."""
    table = Table("MuJoCo MJX on the same card", ("what", "steps a second"))
    if not (find_spec("jax") and find_spec("mujoco") and find_spec("mujoco.mjx")):
        table.notes.append("Not measured: jax, mujoco and mujoco-mjx are not installed.")
        return table
    import jax
    import jax.numpy as jnp
    from mujoco import mjx

    from benchmarks.peers.mujoco_peer import OFF, modelled
    from flexarm.exports.lumped import lumped
    from flexarm.exports.mjcf import written

    card = jax.devices()[0]
    model = mjx.put_model(modelled(written(lumped(fa.load("subudhi-morris"), 1)), "RK4", STEP, (*OFF, "SENSOR")))
    start, steps = mjx.make_data(model), 2 if quick else 100
    for count in (4,) if quick else (2**13, 2**16):
        q = jnp.asarray(start.qpos) + 1e-3 * jax.random.normal(jax.random.key(1), (count, model.nq))

        @jax.jit
        def run(q: Any) -> Any:
            data = jax.vmap(lambda each: start.replace(qpos=each))(q)
            return jax.lax.scan(lambda x, _: (jax.vmap(lambda d: mjx.step(model, d))(x), None), data, length=steps)[
                0
            ].qpos

        jax.block_until_ready(run(q))
        seconds = min(taken_by(lambda q=q, run=run: jax.block_until_ready(run(q))) for _ in range(3))
        table.add(f"{count} runs, {q.dtype}, {card.device_kind}", f"{count * steps / seconds:.3g}")
    return table


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
