"""Hardware in the loop on one machine: an exported controller and its simulated arm, in real time over UDP."""

import socket
import struct
import subprocess  # noqa: TID251  (a C compiler, and the program that it makes of the package's own code)
import tempfile
import time
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import POSITIVE, Fault, checked_number, choices, refused
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.exports.controller.library import Board, board, c_controller
from flexarm.exports.fmu import build
from flexarm.hardware.controller import loop_of
from flexarm.model import Model
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

HELLO, STOP = 2**64 - 1, 2**64 - 2
"""Numbers of the first datagram of the controller and of the last one of the arm, in place of a sample's number."""

MOST_SAMPLES = 10_000_000
"""Largest number of samples of a run, whose numbers fit into memory. It is about three hours at 1 kHz."""

PATIENCE = 5.0
"""Longest time until the controller's program has started [s]."""

PROGRAM = """// The controller of a board as a process: readings arrive and outputs leave as datagrams of UDP.
#define _POSIX_C_SOURCE 200809L
#include "NAME.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    uint64_t k;
    double y[BIG_NY + 1];
} question;

typedef struct {
    uint64_t k;
    double u[BIG_NU];
    uint64_t status;
} answer;

int main(int count, char **words)
{
    static NAME self;
    static question in;
    static answer out;
    NAME_inputs inputs;
    NAME_outputs outputs;
    const struct timeval patience = {SECONDS, MICROSECONDS};
    struct sockaddr_in arm;
    if (count != 2) {
        return 2;
    }
    memset(&arm, 0, sizeof arm);
    memset(&inputs, 0, sizeof inputs);
    arm.sin_family = AF_INET;
    arm.sin_port = htons((uint16_t)atoi(words[1]));
    arm.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int line = socket(AF_INET, SOCK_DGRAM, 0);
    if ((line < 0) || (connect(line, (struct sockaddr *)&arm, sizeof arm) != 0)) {
        return 1;
    }
    (void)setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    NAME_init(&self);
    out.k = UINT64_MAX;
    if (send(line, &out, sizeof out, 0) < 0) {
        return 1;
    }
    for (int idle = 0; idle < IDLE; idle++) {
        struct timespec now;
        const ssize_t size = recv(line, &in, sizeof in, 0);
        const int heard = (size == (ssize_t)sizeof in);
        if (heard && (in.k == (UINT64_MAX - 1u))) {
            break;
        }
        for (int i = 0; i < BIG_NY; i++) {
            inputs.y[i] = in.y[i];
        }
        inputs.fresh = 1u;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        NAME_step(&self, heard ? &inputs : NULL, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec, &outputs);
        if (heard) {
            out.k = in.k;
            for (int i = 0; i < BIG_NU; i++) {
                out.u[i] = outputs.u[i];
            }
            out.status = outputs.status;
            (void)send(line, &out, sizeof out, 0);
            idle = 0;
        }
    }
    (void)close(line);
    return 0;
}
"""


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
    """

    result: "Dataset"
    period: float
    missed: int
    overruns: int
    slipped: float
    safe: int

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
            ]
        )


def run_in_real_time(
    controller: Sampled | Scenario | str | PathLike[str],
    model: Model | None = None,
    *,
    until: float | None = None,
    period: float | None = None,
    q0: Any = None,
    qd0: Any = None,
    misses: int = 20,
) -> RealTimeRun:
    """Run an exported controller against its simulated arm in real time on this machine.

    The controller is the C code of `export_controller` in a process of its own. At each sample the simulated arm sends
    its readings as a datagram (UDP on the loopback interface), and the controller answers with its outputs. The arm
    then moves to the next sample, at which it waits for the clock. If the answer has not arrived when the next sample
    is due, the deadline is missed, and the arm keeps its last inputs. Without missed deadlines the motion is that of
    `simulate`.

    Nothing gives the two processes priority, so that misses depend on the load of the machine.

    Parameters
    ----------
    controller : Sampled, Scenario, or the name or path of a scenario
        As in `export_controller`.
    model : Model, optional
        Arm that moves. Required for a `Sampled`. Default: the scenario's arm.
    until : float, optional
        End of the run [s]. Required for a `Sampled`. Default: that of the scenario.
    period : float, optional
        Sampling period, if the controller of a scenario is continuous [s].
    q0, qd0 : (n,), optional
        Initial state. Default: that of the scenario, otherwise on the reference.
    misses : int
        Consecutive missing or late samples for which the controller continues, see `export_controller`.

    Raises
    ------
    DescriptionError
        As `export_controller`, if the end is missing, if there are more than ten million samples, or if there is no
        compiler.
    FlexarmError
        If the controller does not compile or does not start.
    """
    scenario = None
    if not isinstance(controller, Sampled):
        scenario = load_scenario(controller) if isinstance(controller, str | PathLike) else controller
    loop, arm = loop_of(WHERE, controller if scenario is None else scenario, model, period)
    given = scenario.arguments(arm) if scenario is not None else {"q0": None, "qd0": None, "until": None}
    until = given["until"] if until is None else until
    if until is None:
        raise DescriptionError(f"{WHERE}: until is missing; give the end of the run in seconds")
    with refused(WHERE):
        until = checked_number(until, "s", POSITIVE, "until")
        if (count := max(1, round(until / loop.period))) > MOST_SAMPLES:
            raise Fault("until", f"is {until:g} s, which has {count:.3g} samples; it must have at most {MOST_SAMPLES}")
    if (compiler := build.compiler()) is None:
        raise DescriptionError(f"{WHERE}: no C compiler is installed; install {choices(*build.COMPILERS)}")
    found = board(loop, arm, misses=misses, where=WHERE)
    start = initial(arm, found.feedback.law.reference)
    q, qd = (
        first if first is not None else (of_scenario if of_scenario is not None else usual)
        for first, of_scenario, usual in zip((q0, qd0), (given["q0"], given["qd0"]), start, strict=True)
    )
    plant = Stepper(arm, loop.period, q0=q, qd0=qd)
    plant.step(np.zeros(len(arm.inputs)))  # compiles what is needed before the clock runs
    plant.reset()
    with tempfile.TemporaryDirectory() as folder:
        program = _compiled(found, Path(folder), compiler)
        return _run(found, plant, program, count)


def _compiled(found: Board, folder: Path, compiler: str) -> Path:
    """Compile the controller's program and return its path."""
    period = found.feedback.period
    seconds, rest = divmod(1.5 * period, 1.0)
    text = PROGRAM
    numbers = {"MICROSECONDS": f"{max(1, round(1e6 * rest))}", "SECONDS": f"{int(seconds)}"}
    numbers |= {"IDLE": f"{max(10, round(PATIENCE / (1.5 * period)))}", "NAME": found.name, "BIG": found.name.upper()}
    for key, value in numbers.items():
        text = text.replace(key, value)
    if not found.inputs.names:
        text = text.replace("            inputs.y[i] = in.y[i];\n", "            (void)in.y[i];\n")
    for file, content in {**c_controller(found), "program.c": text}.items():
        (folder / file).write_text(content, encoding="utf-8")
    command = [compiler, "-std=c99", "-O2", "program.c", f"{found.name}.c", "-o", "program", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise FlexarmError(f"{WHERE}: {compiler} failed: {' '.join(done.stderr.split())[:300]}")
    return folder / "program"


def _run(found: Board, plant: Stepper, program: Path, count: int) -> RealTimeRun:
    """Start the controller's program and exchange datagrams with it, sample by sample."""
    model, period = found.model, found.feedback.period
    ny, m = len(found.inputs.names), len(model.inputs)
    line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    line.bind(("127.0.0.1", 0))
    process = subprocess.Popen([str(program), str(line.getsockname()[1])])
    try:
        _greeted(line, process)
        return _exchanged(found, plant, line, struct.Struct(f"=Q{ny + 1}d"), struct.Struct(f"=Q{m}dQ"), count, period)
    finally:
        try:
            line.send(struct.pack(f"=Q{ny + 1}d", STOP, *[0.0] * (ny + 1)))
            process.wait(2.0)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        line.close()


def _greeted(line: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    """Wait for the first datagram of the controller and connect to its sender."""
    line.settimeout(0.1)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        try:
            data, sender = line.recvfrom(4096)
        except TimeoutError:
            continue
        if struct.unpack("=Q", data[:8])[0] == HELLO:
            line.connect(sender)
            return
    raise FlexarmError(f"{WHERE}: the controller's program did not start")


def _exchanged(
    found: Board,
    plant: Stepper,
    line: socket.socket,
    question: struct.Struct,
    answer: struct.Struct,
    count: int,
    period: float,
) -> RealTimeRun:
    model, of = found.model, found.inputs.measured.of
    m, cuts = len(model.inputs), np.cumsum([model.nq, model.nv])
    accelerates = found.feedback.law.accelerates
    x, u_all = np.zeros((count, len(plant.state))), np.zeros((count, m))
    latency, late, status = np.full(count, np.nan), np.zeros(count), np.zeros(count, dtype=int)
    u, overruns, slipped = np.zeros(m), 0, 0.0
    begin = time.perf_counter() + 20 * SPIN
    for k in range(count):
        due = begin + k * period
        late[k] = _waited(due)
        if late[k] > period:
            overruns, slipped, begin, due = overruns + 1, slipped + late[k], begin + late[k], due + late[k]
        q, qd, s = np.split(plant.state, cuts)
        qdd = model.forward_dynamics(q, qd, u) if accelerates else np.zeros(model.nv)
        y = np.array(of(q, qd, s, qdd)).ravel()
        sent = time.perf_counter()
        found_u = None
        try:
            line.send(question.pack(k, *y, 0.0))
            found_u = _answer(line, answer, k, due + period)
        except OSError:  # the controller's program has ended
            _waited(due + period)
        if found_u is not None:
            latency[k] = time.perf_counter() - sent
            u, status[k] = np.array(found_u[1 : 1 + m]), found_u[-1]
        x[k], u_all[k] = plant.state, u
        plant.step(u)
    return _result(found, x, u_all, latency, late, status, overruns, slipped)


def _waited(due: float) -> float:
    """Wait until a time of the clock, and return how late it is [s]."""
    while (left := due - time.perf_counter()) > 0.0:
        if left > SPIN:
            time.sleep(left - SPIN)
    return -left


def _answer(line: socket.socket, answer: struct.Struct, k: int, until: float) -> tuple[Any, ...] | None:
    """Return the answer to a question, or None if it has not arrived in time. Answers to earlier ones are dropped."""
    while (left := until - time.perf_counter()) > 0.0:
        line.settimeout(left)
        try:
            data = line.recv(4096)
        except TimeoutError:
            return None
        found = answer.unpack(data)
        if found[0] == k:
            return found
    return None


def _result(
    found: Board, x: Array, u: Array, latency: Array, late: Array, status: Array, overruns: int, slipped: float
) -> RealTimeRun:
    import xarray as xr

    model, period = found.model, found.feedback.period
    result = xr.Dataset(
        {
            "q": (("time", "coordinate"), x[:, : model.nq]),
            "qd": (("time", "velocity"), x[:, model.nq : model.nq + model.nv]),
            "u": (("time", "input"), u),
            "status": ("time", status),
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
    missed = int(np.isnan(latency).sum())
    return RealTimeRun(result, float(period), missed, overruns, slipped, int(((status & 16) > 0).sum()))
