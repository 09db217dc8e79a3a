"""Exported controllers: instructions of the worst of many samples with random readings, and the time of a sample."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import flexarm as fa
from benchmarks.report import Table
from flexarm.control import LQR, JointPD, Observed, Predictive, Sampled
from flexarm.estimation import EKF, UKF
from flexarm.exports.controller.library import Board, board, c_controller
from flexarm.hardware.controller import loop_of

PERIOD = 1e-3
BOUND = 500_000
"""Operations in a step of predictive control, of which a typical one takes a fifth."""

BLOCK = 20
"""Number of samples between two readings of the clock, which take longer than a short law."""

SEED = 88172645463325252

LOOP = """
#include "NAME.h"
#include <stdio.h>

static uint64_t state = SEEDu;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

#ifdef BLOCK
#include <time.h>
#else
#define BLOCK 1
#endif

static NAME_inputs in[BLOCK];

void mark(void);
__attribute__((noinline)) void mark(void)
{
    __asm__ volatile("nop");
}

int main(void)
{
    static NAME self;
    NAME_outputs out;
    double time = 0.0;
    NAME_init(&self);
    for (int k = 0; k < SAMPLES; k++) {
        for (int j = 0; j < BLOCK; j++) {
            for (int i = 0; i < BIG_NY; i++) {
                in[j].y[i] = SIZE * (1e-3 * (double)(next() % 2000u) - 1.0);
            }
            in[j].fresh = 1u;
        }
#if BLOCK > 1
        struct timespec began, ended;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
        for (int j = 0; j < BLOCK; j++) {
            time += PERIOD;
            NAME_step(&self, &in[j], time, &out);
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
        long nanoseconds = 1000000000L * (ended.tv_sec - began.tv_sec) + ended.tv_nsec - began.tv_nsec;
        printf("%.9g\\n", 1e-9 * (double)nanoseconds / BLOCK);
#else
        in[0].fresh = ((next() % 32u) == 0u) ? 0u : 1u;
        time += ((next() % 64u) == 0u) ? 0.5 : PERIOD;
        if ((next() % 16u) == 0u) {
            NAME_reset(&self);
        }
        self.sample += next() % 100u;
        mark();
        NAME_step(&self, &in[0], time, &out);
        mark();
#endif
    }
    fprintf(stderr, "%u\\n", (unsigned)out.status);
    return 0;
}
"""
"""Random readings within a size, 3 % of them missing, 2 % late, at random times of the reference.

With a BLOCK of several samples, no readings are missing or late, and the program prints the mean time of a sample of
each block [s].
"""

SMALL = 1e-4
"""Size of the readings of estimators, which large random readings make diverge."""


def controllers() -> Iterator[tuple[str, Sampled, fa.Model]]:
    """Yield controllers of the same arm by their names."""
    loop, model, _ = loop_of("benchmarks", "subudhi-morris-elastic-shaped")
    yield "joint PD, shaped reference", loop, model
    slew = fa.Quintic(start=[0.0, 0.0], end=[0.4, -0.3], duration=0.25)
    yield "LQR of 12 states", Sampled(LQR(slew), PERIOD, limit=5.0), model
    sensors = [
        sensor
        for name in ("upper", "fore")
        for sensor in (
            fa.Encoder(coordinate=f"{name}.drive", resolution=1e-5),
            fa.StrainGauge(link=name, resolution=1e-6),
        )
    ]
    read = [fa.Encoder(coordinate=f"{name}.joint", resolution=1e-4) for name in ("upper", "fore")]
    read += [fa.StrainGauge(link=name, resolution=1e-4) for name in ("upper", "fore")]
    bending = fa.Model(fa.load("subudhi-morris"))
    for kind in (EKF, UKF):
        filtered = Observed(JointPD(slew, 5.0, 1.0), read, estimator=kind(parameters={"payload.mass": 0.02}))
        yield f"joint PD and {kind.__name__}, payload unknown", Sampled(filtered, PERIOD, limit=5.0), bending
    planned = Predictive([0.4, -0.3], limit=0.15, rate_limit=4.0, horizon=25, operations=BOUND)
    yield f"predictive, 25 steps, at most {BOUND / 1e6:g} million operations", Sampled(planned, 2e-3), model
    yield "LQR and Kalman filter, nonlinear prediction", Sampled(Observed(LQR(slew), sensors), PERIOD, limit=5.0), model


def measure(quick: bool) -> list[Table]:
    """Instructions by Valgrind and by QEMU."""
    table = Table(
        "Exported controllers: instructions of one sample, smallest to largest",
        ("controller", "numbers", "x86-64, gcc -O2", "Cortex-A7 (Thumb-2), gcc -O2"),
    )
    samples = 100 if quick else 1000
    for name, loop, model in controllers():
        for real in ("double", "float"):
            if real == "float" and isinstance(loop.controller, Predictive):
                continue
            found = board(loop, model, misses=1, real=real)  # type: ignore[arg-type]
            with tempfile.TemporaryDirectory() as folder:
                place = Path(folder)
                counts = [by_valgrind(found, place, samples), by_qemu(found, place, samples // 10)]
            table.add(name, real, *(f"{min(each)} to {max(each)}" if each else "not installed" for each in counts))
    table.notes.append(
        f"Valgrind counts the instructions of each of {samples} samples, QEMU those of {samples // 10}. Both include "
        "the mathematics library. Readings are random, 3 % are missing and 2 % late. Instructions are not cycles."
    )
    return [table]


def by_valgrind(found: Board, folder: Path, samples: int) -> list[int]:
    """Return the instructions of each sample on this machine; none without Valgrind."""
    if not (shutil.which("valgrind") and shutil.which("gcc")):
        return []
    _compiled(found, folder, samples, "gcc", "-static")
    step = f"{found.name}_step"
    options = [f"--toggle-collect={step}", f"--dump-after={step}", "--callgrind-out-file=cost"]
    command = ["valgrind", "--tool=callgrind", *options, "./loop"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    totals = (line for file in folder.glob("cost.*") for line in file.read_text().splitlines() if line[:6] == "totals")
    return [int(line.split()[1]) for line in totals]


def by_qemu(found: Board, folder: Path, samples: int) -> list[int]:
    """Return the instructions of each sample on an ARM processor; none without QEMU and a cross compiler."""
    if not (shutil.which("qemu-arm") and shutil.which("arm-none-eabi-gcc")):
        return []
    core = ["-mcpu=cortex-a7", "-mthumb", "-mfloat-abi=hard", "-mfpu=vfpv4-d16", "--specs=rdimon.specs"]
    _compiled(found, folder, samples, "arm-none-eabi-gcc", *core)
    names = subprocess.run(["arm-none-eabi-nm", "loop"], cwd=folder, capture_output=True, text=True, check=True).stdout
    mark = next(int(line.split()[0], 16) & ~1 for line in names.splitlines() if line.endswith(" mark"))
    command = ["qemu-arm", "-singlestep", "-d", "exec,nochain", "./loop"]
    counts, since, marks = [], 0, 0
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as traced:
        assert traced.stderr is not None
        for line in traced.stderr:
            if not line.startswith("Trace"):
                continue
            since += 1
            if int(line.split("[")[1].split("/")[1], 16) == mark:
                marks += 1
                counts += [since] if marks % 2 == 0 else []
                since = 0
    return counts


def by_clock(found: Board, folder: Path, blocks: int) -> list[float]:
    """Return the mean processor time of a sample [s] for some blocks of samples; none without a compiler."""
    if not shutil.which("gcc"):
        return []
    _compiled(found, folder, blocks, "gcc", f"-DBLOCK={BLOCK}")
    printed = subprocess.run(["./loop"], cwd=folder, capture_output=True, text=True, check=True).stdout
    return [float(line) for line in printed.splitlines()]


def _compiled(found: Board, folder: Path, samples: int, compiler: str, *options: str) -> None:
    size = SMALL if found.stage is not None else 1.0
    numbers = {"NAME": found.name, "BIG": found.name.upper(), "SEED": str(SEED), "SAMPLES": str(samples)}
    numbers |= {"SIZE": repr(size), "PERIOD": repr(found.feedback.period)}
    text = LOOP
    for key, value in numbers.items():
        text = text.replace(key, value)
    for file, content in {**c_controller(found), "loop.c": text}.items():
        (folder / file).write_text(content, encoding="utf-8")
    command = [compiler, "-std=gnu99", "-O2", *options, "loop.c", f"{found.name}.c", "-lm", "-o", "loop"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
