"""Hardware in the loop on one machine: an exported controller and its simulated arm, in real time."""

import os
import subprocess  # noqa: TID251  (a C compiler, and the program that it makes of the package's own code)
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import POSITIVE, Fault, checked_instance, checked_number, choices, refused, shown
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.exports.controller.library import Board, board, c_controller
from flexarm.exports.controller.programs import PATIENCE, shared_header
from flexarm.exports.controller.programs import program as controller_program
from flexarm.exports.fmu import build
from flexarm.files import checked_path
from flexarm.hardware.controller import loop_of
from flexarm.hardware.transports import BRIDGE, INVALID, SharedMemory, Transport, Udp, load_bridge, memory_folder
from flexarm.hardware.watch import Watched
from flexarm.model import ModelLike
from flexarm.model.evaluation import begun_at
from flexarm.scenario import Scenario, load_scenario
from flexarm.simulation.feedback import initial
from flexarm.simulation.sampled import Sampled
from flexarm.simulation.stepper import Stepper

if TYPE_CHECKING:
    from xarray import Dataset

WHERE = "run_in_real_time"
"""Name of the public function in messages."""

SPIN = 2e-4
"""Time before a sample during which the arm's program waits without sleeping, since a sleep may end late [s]."""

MOST_SAMPLES = 10_000_000
"""Largest number of samples of a run, whose numbers fit into memory. It is about three hours at 1 kHz."""

TRANSPORTS: dict[str, str] = {"udp": "datagrams on the loopback interface", "shared": "shared memory"}
"""Ways in which the two processes exchange readings and outputs."""


@final
@dataclass(frozen=True)
class RealTimeRun:
    """A run of an exported controller and its simulated arm in real time.

    Attributes
    ----------
    result : Dataset
        Over `time` [s]: `q`, `qd`, `u` as in `simulate`, `status` of the controller, `latency` from the readings to the
        outputs [s], which is NaN where the deadline was missed, and `late`, the delay of the sample itself [s].
    period : float
        [s]
    missed : int
        Samples without outputs before the next sample was due. The arm then kept its last inputs.
    overruns : int
        Samples that the arm's own program began more than a period late. The clock of the run then waited.
    slipped : float
        Total time by which the clock waited [s].
    safe : int
        Samples whose outputs were the safe ones of the watchdog.
    invalid : int
        Answers of the controller's program that were ignored: of another size, with outputs that are not finite, or
        with an unknown status or sample.
    """

    result: "Dataset"
    period: float
    missed: int
    overruns: int
    slipped: float
    safe: int
    invalid: int = 0

    @property
    def samples(self) -> int:
        """Number of samples."""
        return int(self.result.sizes["time"])

    def report(self) -> dict[str, float | int | None]:
        """Return the counts and times as numbers, with None for a latency if no outputs arrived."""
        latency = self.result.latency.values[np.isfinite(self.result.latency.values)]
        return {
            "samples": self.samples,
            "period": self.period,
            "missed": self.missed,
            "latency_median": float(np.median(latency)) if len(latency) else None,
            "latency_largest": float(latency.max()) if len(latency) else None,
            "late_largest": float(self.result.late.values.max()),
            "overruns": self.overruns,
            "slipped": self.slipped,
            "safe": self.safe,
            "invalid": self.invalid,
        }

    def __repr__(self) -> str:
        found = self.report()
        times = "no outputs arrived"
        if (middle := found["latency_median"]) is not None and (most := found["latency_largest"]) is not None:
            times = f"outputs after {1e6 * middle:.0f} us (median), {1e6 * most:.0f} us (largest)"
        late, slips = 1e6 * self.result.late.values.max(), f"{self.overruns} overruns of {self.slipped:.3g} s in total"
        return "\n".join(
            [
                f"{self.samples} samples every {1e3 * self.period:g} ms in real time",
                f"missed deadlines: {self.missed} ({100 * self.missed / self.samples:.3g} %); {times}",
                f"the arm's own samples: at most {late:.0f} us late; {slips}",
                f"samples with safe outputs: {self.safe}",
                *([f"invalid answers, ignored: {self.invalid}"] if self.invalid else []),
            ]
        )


def run_in_real_time(
    controller: Sampled | Scenario | str | PathLike[str],
    model: ModelLike | None = None,
    *,
    until: float | None = None,
    period: float | None = None,
    q0: Any = None,
    qd0: Any = None,
    misses: int = 20,
    transport: str = "udp",
    program: str | PathLike[str] | None = None,
    watch: bool = False,
) -> RealTimeRun:
    """Run an exported controller against its simulated arm in real time on this machine.

    The controller is the C code of `export_controller` in a process of its own. At each sample the simulated arm sends
    its readings, and the controller answers with its outputs, over UDP on the loopback interface or through shared
    memory. The arm then moves to the next sample, at which it waits for the clock. If the answer has not arrived when
    the next sample is due, the deadline is missed, and the arm keeps its last inputs. Without missed deadlines the
    motion is that of `simulate`.

    Nothing gives the two processes priority, so that misses depend on the load of the machine.

    Parameters
    ----------
    controller : Sampled, Scenario, or the name or path of a scenario
        As in `export_controller`.
    model : Model, Arm, str or path, optional
        Arm that moves. Required for a `Sampled`. Default: the scenario's arm.
    until : float, optional
        End of the run [s]. Required for a `Sampled`. Default: that of the scenario.
    period : float, optional
        Sampling period, if the controller of a scenario is continuous [s].
    q0, qd0 : (n,), optional
        Initial state. Default: that of the scenario, otherwise on the reference.
    misses : int
        Consecutive missing or late samples for which the controller continues, see `export_controller`.
    transport : "udp" or "shared"
        Exchange by datagrams, or through shared memory.
    program : path, optional
        Program that runs in place of the exported controller. Its only argument is the port of the arm, or the path of
        the shared memory. `export_controller` with `targets=["shared"]` writes the layout of this memory as a header,
        and a program to start from.
    watch : bool
        Show plots in the browser while the loop runs. A process of its own serves the page on this machine.

    Raises
    ------
    DescriptionError
        As `export_controller`, if the end is missing, if there are more than ten million samples, or if there is no
        compiler.
    FlexarmError
        If the controller does not compile or does not start, or if the arm diverges.
    """
    scenario = None
    if not isinstance(controller, Sampled):
        scenario = load_scenario(controller) if isinstance(controller, str | PathLike) else controller
    loop, arm, place = loop_of(WHERE, controller if scenario is None else scenario, model, period)
    given = scenario.arguments(arm) if scenario is not None else {"q0": None, "qd0": None, "until": None}
    until = given["until"] if until is None else until
    if until is None:
        raise DescriptionError(f"{WHERE}: until is missing; give the end of the run in seconds")
    with refused(WHERE):
        until = checked_number(until, "s", POSITIVE, "until")
        if (count := max(1, round(until / loop.period))) > MOST_SAMPLES:
            raise Fault("until", f"is {until:g} s, which has {count:.3g} samples; it must have at most {MOST_SAMPLES}")
        if not isinstance(transport, str) or transport not in TRANSPORTS:
            raise Fault("transport", f"is {shown(transport)}; it must be {choices(*TRANSPORTS)}")
        watch = checked_instance(watch, bool, "watch")
        own = None if program is None else _checked_program(program)
    if (compiler := build.compiler()) is None:
        raise DescriptionError(f"{WHERE}: no C compiler is installed; install {choices(*build.COMPILERS)}")
    found = board(loop, arm, misses=misses, where=WHERE, place=place)
    q, qd = initial(arm, found.feedback.law.reference)
    q = begun_at("q0", given["q0"] if q0 is None else q0, q, arm.coordinates, WHERE)
    qd = begun_at("qd0", given["qd0"] if qd0 is None else qd0, qd, arm.velocities, WHERE)
    plant = Stepper(arm, loop.period, q0=q, qd0=qd)
    plant.step(np.zeros(len(arm.inputs)))  # compiles what is needed before the clock runs
    plant.reset()
    width = len(plant.state) + len(arm.inputs) + 3
    size = 8 * width * count if watch else 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="flexarm-")))
        executable = _compiled(found, transport, folder, compiler) if own is None else own
        line: Transport = Udp(len(found.inputs.names), len(arm.inputs))
        rows, published = np.zeros((count, width)), _nothing
        if transport == "shared" or watch:
            memory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="flexarm-", dir=memory_folder(size))))
            bridge = _bridge(found, memory, compiler)
        if transport == "shared":
            line.close()
            line = SharedMemory(found, bridge, memory)
        stack.callback(line.close)
        if watch:
            page = stack.enter_context(Watched(found, count, width, memory, bridge))
            rows, published = page.rows, page.published
        return _run(found, plant, line, executable, rows, published)


def _nothing(count: int) -> None:
    """Do nothing with the number of finished rows."""


def _checked_program(program: Any) -> Path:
    """Return the path of a program. Raises `Fault`."""
    file = Path(checked_path(program, "program")).absolute()
    if not file.is_file():
        raise Fault("program", f"is {shown(str(program))}, which is not a file; give the path of an executable program")
    if not os.access(file, os.X_OK):
        raise Fault("program", f"is {shown(str(program))}, which is not executable; compile it, or use chmod +x")
    return file


def _compiled(found: Board, transport: str, folder: Path, compiler: str) -> Path:
    """Compile the controller's program and return its path."""
    texts = {**c_controller(found), **controller_program(found, transport)}
    return _built(folder, compiler, texts, f"{found.name}_{transport}.c", f"{found.name}.c", "-o", "program")


def _bridge(found: Board, folder: Path, compiler: str) -> Any:
    """Compile the functions with which Python reads and writes shared memory, and return them."""
    texts = {**shared_header(found), "bridge.c": BRIDGE.replace("NAME", found.name)}
    return load_bridge(_built(folder, compiler, texts, "bridge.c", "-shared", "-fPIC", "-o", "bridge.so"))


def _built(folder: Path, compiler: str, texts: dict[str, str], *arguments: str) -> Path:
    """Compile these texts, and return the path of the last argument."""
    for file, content in texts.items():
        (folder / file).write_text(content, encoding="utf-8")
    command = [compiler, "-std=c99", "-O2", *arguments, "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise FlexarmError(f"{WHERE}: {compiler} failed: {' '.join(done.stderr.split())[:300]}")
    return folder / arguments[-1]


def _run(
    found: Board, plant: Stepper, line: Transport, program: Path, rows: Array, published: Callable[[int], None]
) -> RealTimeRun:
    """Start the controller's program and exchange samples with it."""
    try:
        process = subprocess.Popen([str(program), line.address])
    except OSError as error:
        raise FlexarmError(f"{WHERE}: program {shown(str(program))} cannot be started: {error.strerror}") from None
    try:
        _await_start(line, process)
        return _exchanged(found, plant, line, rows, published)
    finally:
        try:
            line.stop()
            process.wait(2.0)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()


def _await_start(line: Transport, process: "subprocess.Popen[bytes]") -> None:
    """Wait for the first message of the controller's program."""
    until = time.monotonic() + PATIENCE
    ended = None
    while time.monotonic() < until and ended is None:
        ended = process.poll()  # before the message is looked for, which a program that has ended may have sent
        if line.greeted(0.1):
            return
    why = f"it sent no message within {PATIENCE:g} s" if ended is None else f"it ended with status {ended}"
    check = "a program of your own must belong to this controller and to this transport"
    raise FlexarmError(f"{WHERE}: the controller's program did not start: {why}; {check}")


def _exchanged(
    found: Board, plant: Stepper, line: Transport, rows: Array, published: Callable[[int], None]
) -> RealTimeRun:
    model, of, period = found.model, found.inputs.measured.of, found.feedback.period
    m, ns, cuts = len(model.inputs), len(plant.state), np.cumsum([model.nq, model.nv])
    accelerates = found.inputs.measured.accelerates
    u, overruns, slipped, invalid = np.zeros(m), 0, 0.0, 0
    begin = time.perf_counter() + 20 * SPIN
    for k, row in enumerate(rows):
        due = begin + k * period
        late = _waited(due)
        if late > period:
            overruns, slipped, begin, due = overruns + 1, slipped + late, begin + late, due + late
        q, qd, s = np.split(plant.state, cuts)
        qdd = model.forward_dynamics(q, qd, u) if accelerates else np.zeros(model.nv)
        y = np.array(of(q, qd, s, qdd)).ravel()
        sent, latency, status = time.perf_counter(), np.nan, 0
        try:
            line.send(k, y)
            while (answer := line.answer(k, due + period)) is INVALID:
                invalid += 1
            if answer is not None and time.perf_counter() <= due + period:
                latency = time.perf_counter() - sent
                u, status = answer
        except OSError:  # the controller's program has ended
            _waited(due + period)
        row[:ns], row[ns : ns + m], row[ns + m :] = plant.state, u, (latency, late, status)
        published(k + 1)
        plant.step(u)
    return _result(found, rows, ns, overruns, slipped, invalid)


def _waited(due: float) -> float:
    """Wait until a time of the clock, and return how late it is [s]."""
    while (left := due - time.perf_counter()) > 0.0:
        if left > SPIN:
            time.sleep(left - SPIN)
    return -left


def _result(found: Board, rows: Array, ns: int, overruns: int, slipped: float, invalid: int) -> RealTimeRun:
    import xarray as xr

    model, period = found.model, found.feedback.period
    x, u, (latency, late, status) = rows[:, :ns], rows[:, ns:-3], rows[:, -3:].T.copy()
    result = xr.Dataset(
        {
            "q": (("time", "coordinate"), x[:, : model.nq].copy()),
            "qd": (("time", "velocity"), x[:, model.nq : model.nq + model.nv].copy()),
            "u": (("time", "input"), u.copy()),
            "status": ("time", status.astype(int)),
            "latency": ("time", latency, {"units": "s"}),
            "late": ("time", late, {"units": "s"}),
        },
        coords={
            "time": ("time", period * np.arange(len(x)), {"units": "s"}),
            "coordinate": list(model.coordinates),
            "velocity": list(model.velocities),
            "input": list(model.inputs),
        },
        attrs={"title": f"{model.arm.name}: in real time"},
    )
    missed, safe = int(np.isnan(latency).sum()), int(((result.status.values & 16) > 0).sum())
    return RealTimeRun(result, float(period), missed, overruns, slipped, safe, invalid)
