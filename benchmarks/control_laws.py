"""Controllers: time of a sample in machine code, in a run and in exported C, and the time to design feedforward."""

import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import thread_time
from types import SimpleNamespace
from typing import Any
from unittest import mock

import control as ct
import numpy as np

import flexarm as fa
from benchmarks.boards import by_clock, by_valgrind
from benchmarks.chains import over_rows
from benchmarks.report import Table, spread, time
from flexarm import analysis
from flexarm.control import (
    LQR,
    ZPETC,
    Composite,
    ComputedTorque,
    Decoupling,
    DisturbanceObserver,
    JointPD,
    Observed,
    Predictive,
    Sampled,
    SlidingMode,
    SlotineLi,
    Sum,
    TimeDelay,
    learn,
)
from flexarm.errors import SimulationError
from flexarm.estimation import EKF, UKF, MovingHorizon
from flexarm.exports.controller.library import board

PERIOD, ROWS = 1e-3, 2048
BLOCKS = 100
ARMS = {
    "subudhi-morris": ((0.4, -0.3), 2.0, "payload.mass"),
    "canadarm": ((0.4, -0.3, 0.2), 0.2, "hand.mass"),
}
"""Goals [rad], bandwidths [rad/s] and unknown parameters by arm. Samples of 1 ms limit the second bandwidth."""

RUN: dict[str, Any] = {"method": "rk4", "solver": fa.Solver(step=PERIOD / 2), "samples": 2, "progress": False}


def laws(model: fa.Model, goal: tuple[float, ...], omega: float, unknown: str) -> Iterator[tuple[str, Any]]:
    """Yield controllers of an arm by name, with the bandwidth omega of the joints."""
    arm = model.arm
    rigid = fa.Model(arm.rigid())
    inertia = np.diag(rigid.mass_matrix(np.array(rigid.arm.rest)))
    slew = fa.Quintic(start=[0.0] * len(goal), end=list(goal), duration=2.0)
    Kp, Kd = omega**2 * inertia, 2.0 * omega * inertia
    pd, torque, gains = JointPD(slew, Kp, Kd), Kp.copy(), (slew, omega**2, 2.0 * omega)
    times = PERIOD * np.arange(1000)
    table = fa.Piecewise(times, 0.01 * torque * np.sin(3.0 * times)[:, None])
    sensors = [fa.Encoder(coordinate=name, noise=1e-4, resolution=1e-5) for name in model.inputs]
    sensors += [fa.StrainGauge(link=link.name, noise=1e-5) for link in arm.links]
    disturbed = {"disturbances": {model.inputs[0]: 0.1 * torque[0]}}
    yield "JointPD", pd
    shaper = fa.design_shaper(model, list(goal), kind="zvd")
    yield "JointPD, shaped reference (ZVD)", JointPD(fa.shaped(slew, shaper), Kp, Kd)
    yield "JointPD and feedforward (learn, ZPETC), 1000 samples", Sum(table, pd)
    yield "ComputedTorque", ComputedTorque(*gains)
    yield "Decoupling", Decoupling(*gains)
    yield "Composite", Composite(*gains)
    yield "LQR", LQR(slew)
    yield "SlotineLi", SlotineLi(slew, [unknown], omega, Kd, 0.1)
    yield "SlidingMode", SlidingMode(slew, omega, torque, torque / Kd)
    yield "TimeDelay", TimeDelay(*gains, 0.01 * inertia)
    yield "DisturbanceObserver with JointPD", DisturbanceObserver(pd, omega)
    yield "Observed, LQR", Observed(LQR(slew), sensors)
    for estimator in (EKF(**disturbed), UKF(**disturbed), MovingHorizon(horizon=10, **disturbed)):
        name = type(estimator).__name__
        yield f"Observed, JointPD, {name} with a torque", Observed(pd, sensors, estimator=estimator)
    yield "Predictive, 25 periods", Predictive(slew, limit=torque, horizon=25, operations=3_000_000, otherwise="lqr")


def measure(quick: bool) -> list[Table]:
    """Each controller on each arm, and each design."""
    return [*(_samples(name, quick) for name in ARMS), _designs(quick)]


def _samples(name: str, quick: bool) -> Table:
    table = Table(
        f"Time of a sample of a controller: {name}",
        ("controller", "machine code", "in a run", "exported C", "instructions in C"),
    )
    model, until, repeats = fa.Model(name), 0.1 if quick else 5.0, 1 if quick else 7
    plain = [seconds_of_a_sample(model, None, until) for _ in range(repeats + 1)][1:]
    for what, law in laws(model, *ARMS[name]):
        loop = Sampled(law, PERIOD)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the motion of some laws is no example
            try:
                runs = [seconds_of_a_sample(model, loop, until) - median(plain) for _ in range(repeats + 1)][1:]
            except SimulationError:  # a law for rigid arms may be unstable on a flexible one
                runs = []
            within = spread(runs) if runs else "the loop is unstable"
            table.add(what, _alone(loop, model, repeats), within, *_in_c(loop, model, quick))
    table.notes.append(
        f"Times of the processor. A run has {until / PERIOD:.0f} samples and two steps of rk4 between samples, and the "
        f"time of the same run without a controller, {time(median(plain))}, is subtracted. It includes sensors, limits "
        "and the loop from sample to sample, and some 0.3 us for the start of the run. Machine code is the law alone "
        "for one state after another, where the complete law is one kernel. C is compiled by gcc -O2 and gets random "
        f"readings, {BLOCKS} blocks of samples for the time. Valgrind counts the instructions, smallest to largest, of "
        "samples that may be late or missing."
    )
    return table


def seconds_of_a_sample(model: fa.Model, u: Any, until: float) -> float:
    """Return the processor time of a run for each of its samples, without its preparation [s]."""
    with mock.patch("flexarm.simulation.run.clock", SimpleNamespace(perf_counter=thread_time)):
        run = fa.simulate(model, until, u=np.zeros(len(model.inputs)) if u is None else u, **RUN)
    return float(run.attrs["solve_seconds"]) * PERIOD / until


def _alone(loop: Sampled, model: fa.Model, repeats: int) -> str:
    """Return the time of the machine code of a law for random arguments, or nothing for a law in several parts."""
    feedback = loop.feedback(model)
    if feedback.function is not None:
        return ""
    kernel = feedback.kernel
    given = 0.1 * np.random.default_rng(1).standard_normal((ROWS, kernel.code.facts["n_in"]))
    given[:, given.shape[1] - len(kernel.constants) :] = kernel.constants
    call = over_rows(kernel.code, given)
    return spread([_seconds(call) / ROWS for _ in range(2 * repeats)][repeats:])


def _in_c(loop: Sampled, model: fa.Model, quick: bool) -> tuple[str, str]:
    """Return the time of a sample in C and its instructions, as far as the tools are installed."""
    found = board(loop, model, misses=1)
    with tempfile.TemporaryDirectory() as folder:
        seconds = by_clock(found, Path(folder), 5 if quick else BLOCKS)
        counts = by_valgrind(found, Path(folder), 20 if quick else 300)
    shown = f"{min(counts)} to {max(counts)}" if counts else "no Valgrind"
    return (spread(seconds) if seconds else "no gcc"), shown


def _seconds(call: Callable[[], Any]) -> float:
    began = thread_time()
    call()
    return thread_time() - began


def _designs(quick: bool) -> Table:
    """Calls that design shapers and feedforward."""
    model = fa.Model("lin-lewis-beam")
    tip = [fa.TipPosition(axes="y")]
    arm = model.linearize(outputs=tip)
    B = model.input_matrix(np.array(model.arm.rest))
    closed = ct.ss(arm.A - arm.B @ np.hstack([30.0 * B.T, 10.0 * B.T]), arm.B, arm.C, 0.0)
    loop = ct.sample_system(closed, 0.02)
    inverse, t = ZPETC(loop), np.linspace(0.0, 4.0, 2001)
    s = t / t[-1]
    path = 0.05 * (35 * s**4 - 84 * s**5 + 70 * s**6 - 20 * s**7)
    two, slew = fa.Model("subudhi-morris"), fa.Quintic(start=[0.0, 0.0], end=[0.4, -0.3], duration=1.0)
    calls: dict[str, Callable[[], Any]] = {
        "design_shaper, ZVD, one mode": lambda: fa.design_shaper(two, [0.4, -0.3], kind="zvd"),
        "design_shaper, ZVD, closed loop": lambda: fa.design_shaper(
            two, controller=JointPD(slew, 2.0, 0.5), kind="zvd"
        ),
        "ZPETC, design": lambda: ZPETC(loop),
        f"ZPETC, commands of {len(path)} samples": lambda: inverse.commands(path),
        f"stable_inversion, {len(path)} times": lambda: analysis.stable_inversion(arm, t, path[:, None]),
        "learn, 5 runs of 100 samples": lambda: learn(two, JointPD(slew, 2.0, 0.5), 1.0, 0.01, 4),
    }
    table = Table("Shapers, inverses and learning: time of a call", ("call", "time"))
    for name, call in calls.items():
        call()
        table.add(name, spread([_seconds(call) for _ in range(1 if quick else 7)]))
    table.notes.append("Times of the processor. The linear models of the inverses are those of a single link.")
    return table
