"""Predictive control: time of a step, and what solves its quadratic programs, condensed or with states between."""

import gc
import os
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from time import thread_time
from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.report import Table, time
from flexarm.control import Predictive
from flexarm.control.predictive_solver import OPTIONS, QuadraticProgram, miss
from flexarm.control.predictive_steps import ABOUT, Steps

Array = np.ndarray

ARMS: dict[str, tuple[str, float, dict[str, Any]]] = {
    "planar, 2 + 2 modes": (
        "subudhi-morris",
        0.01,
        {
            "reference": fa.Quintic((0.0, 0.0), (np.pi / 2, np.pi / 6), 2.0),
            "limit": 0.25,
            "deflection": 0.03,
            "bandwidth": 4.0,
        },
    ),
    "Canadarm, 3 x 2 modes": (
        "canadarm",
        0.02,
        {
            "reference": fa.Quintic((0.0, 0.0, 0.0), (0.75, 0.5, 1.0), 10.0),
            "limit": [1100.0, 800.0, 300.0],
            "deflection": 0.25,
        },
    ),
}
"""Torques and deflections are below what the motion would take."""
WEIGHTS: dict[str, Any] = {"Q": [30.0, 10.0, 10.0, 1.0, 0.1, 0.1], "R": 0.5}
HORIZONS = (20, 40, 125, [1] * 10 + [5] * 14)
CONDENSED: dict[str, dict[str, Any]] = {
    **OPTIONS,
    "proxqp": {"error_on_fail": False, "proxqp": {"backend": "dense", "max_iter": 10000.0, "eps_abs": 1e-9}},
    "qpoases": {"error_on_fail": False, "printLevel": "none"},
    "qrqp": {"error_on_fail": False, "print_iter": False, "print_header": False, "print_info": False},
}
QUIET = {"print_time": False, "error_on_fail": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-9}}
SPARSE: dict[str, dict[str, Any]] = {
    "hpipm": {"error_on_fail": False, "hpipm": {"mode": "balance"}},
    "fatrop": {"error_on_fail": False, "structure_detection": "manual", "fatrop": {"print_level": 0}},
    "osqp": OPTIONS["osqp"],
    "piqp": OPTIONS["piqp"],
    "nlpsol": {"error_on_fail": False, "nlpsol": "ipopt", "nlpsol_options": QUIET},
}


def held() -> dict[str, tuple[fa.Model, float, dict[str, Any], float]]:
    """Arms that are held at a place, by name: model, period [s], controller, and the fastest push [rad/s]."""
    canadarm = {"limit": [150.0, 90.0, 30.0], "rate_limit": [600.0, 400.0, 150.0], "deflection": 0.03}
    body = fa.Beam(length=0.7, mass=0.4, EI=40.0, modes={"y": 2}, damping=0.01)
    joint = fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.05)
    links = [fa.Link(name=f"link{i}", joint=joint, body=body) for i in range(3)]
    three = fa.Arm(name="three-links", links=links, payload=fa.Payload(mass=0.2))
    planar = {"limit": [3.0, 1.5, 0.6], "rate_limit": [60.0, 30.0, 12.0], "deflection": 0.01, "bandwidth": 6.0}
    return {
        "Canadarm, 3 x 2 modes": (
            fa.Model(fa.load("canadarm")),
            0.02,
            {"reference": (0.75, 0.5, 1.0), **canadarm},
            0.006,
        ),
        "planar, 2 + 2 + 2 modes": (fa.Model(three), 0.005, {"reference": (0.4, 0.7, -0.5), **planar}, 0.05),
    }


@contextmanager
def quiet() -> Any:
    """What solvers print goes nowhere."""
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def moved(
    model: fa.Model,
    given: Predictive,
    period: float,
    steps: int,
    seen: Callable[[Steps], None],
    bent: list[float] | None = None,
) -> Steps:
    """A run of the controller on the arm, and the largest deflection of a tip at each sample."""
    controller = given.stepper(model, period)
    course = controller.course
    plant = fa.Stepper(model, period, course.r[0, : model.nv], 0 * course.r[0, model.nv :])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(steps):
            began = thread_time()
            u = controller(k * period, plant.state)
            controller.seconds[-1] = thread_time() - began
            plant.step(u)
            seen(controller)
            if bent is not None:
                bent.append(float(np.abs(model.deflections(plant.q)[:, 1]).max()))
    return controller


def measure(quick: bool) -> list[Table]:
    """Steps, and their programs."""
    count = 60 if quick else 250
    return [
        _steps(count),
        _longest(1000 if quick else 1_000_000),
        _swings(),
        *(_solvers(name, 10 if quick else 60) for name in ARMS),
    ]


def _steps(count: int) -> Table:
    table = Table(
        "Predictive control: a step, from the state to the torques",
        (
            "arm",
            "horizon",
            "linearised about",
            "median",
            "99th percentile",
            "with active limits",
            "rate it allows [Hz]",
        ),
    )
    for name, (arm, period, given) in ARMS.items():
        model = fa.Model(fa.load(arm))
        for horizon in HORIZONS:
            for about in ("reference", "state", "prediction"):
                if about != "reference" and horizon != 40:
                    continue
                found = moved(model, Predictive(**given, horizon=horizon, about=about), period, count, lambda _: None)
                median, slow = np.percentile(found.seconds[5:], [50, 99])
                text = f"{sum(horizon)} in {len(horizon)} steps" if isinstance(horizon, list) else str(horizon)
                table.add(name, text, about, time(median), time(slow), f"{found.active} of {count}", f"{1 / slow:.0f}")
    table.notes.append(
        "The reference moves, so the linear models change from sample to sample. Times are processor time of one "
        "thread."
    )
    return table


def _longest(count: int) -> Table:
    """The longest of many steps of controllers that hold arms against pushes and new places."""
    table = Table(
        "Predictive control: the longest of many steps, 125 periods",
        (
            "arm",
            "operations allowed",
            "median",
            "99.99th percentile",
            "longest",
            "most operations",
            "most changes",
            "recovered",
            "median excess of these",
        ),
    )
    for name in held():
        for allowed in (None, FEW):
            found = Longest(name, allowed)
            seconds, operations, changes, excess = found.run(count)
            slowest = np.argsort(-seconds)[:SLOWEST]
            for block in sorted({int(k) // BLOCK for k in slowest}):
                mine = slowest[slowest // BLOCK == block]
                for _ in range(AGAIN):
                    again, same, *_ = found.block(block, int(mine.max()) % BLOCK + 1)
                    assert (same[mine % BLOCK] == operations[mine]).all(), "a repeated step does the same"
                    seconds[mine] = np.minimum(seconds[mine], again[mine % BLOCK])
            median, common = np.percentile(seconds, [50, 99.99])
            bad = excess[excess >= 0.0]
            table.add(
                name,
                "any" if allowed is None else f"{allowed / 1e6:g} million",
                time(median),
                time(common),
                time(seconds.max()),
                f"{operations.max() / 1e6:.2f} million",
                f"{changes.max():.0f}",
                str(len(bad)),
                f"{100 * np.median(bad):.2g} %" if len(bad) else "",
            )
            assert found.steps.failed == found.steps.recovered
    table.notes.append(
        f"Each run has {count} steps. Every 100 steps the arm is put to a random place up to 0.3 rad from its goal, so "
        f"that the previous plan is of no use, and every {BLOCK} steps the controller begins anew. The times are "
        "processor times from the state to the torques. An operation is a multiplication with an addition, and changes "
        f"are limits that became active or inactive. The {SLOWEST} slowest steps of a run are repeated {AGAIN} times "
        "from the beginning of their block. They do exactly the same, and their shortest time counts, so that "
        "interruptions by the system do not. Recovered steps need more operations than are allowed. Their plan is "
        "within the limits, and the last column has by how much its cost may exceed that of the optimum."
    )
    return table


BLOCK, SLOWEST, AGAIN = 1000, 200, 5
"""Steps of a block, slowest steps that are repeated, and how often."""

FEW = 3_000_000
"""Operations that bound a step, fewer than the worst steps take."""


class Longest:
    """A controller that holds an arm, in blocks of steps that are always the same."""

    def __init__(self, name: str, operations: int | None):
        model, self.period, given, self.rate = held()[name]
        self.steps = Predictive(**given, horizon=125, operations=operations).stepper(model, self.period)
        self.goal, self.n = self.steps.course.r[0], model.nv
        self.plant = fa.Stepper(model, self.period, self.goal[: self.n], self.goal[self.n :])

    def run(self, count: int) -> tuple[Array, Array, Array, Array]:
        """Times, operations, changes of active limits, and the excess of each step, -1 for an optimum, (count,)."""
        found = [self.block(b, min(BLOCK, count - b * BLOCK)) for b in range(-(-count // BLOCK))]
        seconds, operations, changes, excess = (np.concatenate(x) for x in zip(*found, strict=True))
        return seconds, operations, changes, excess

    def block(self, which: int, count: int) -> tuple[Array, Array, Array, Array]:
        """The same for the first steps of a block."""
        steps, goal, n, rng = self.steps, self.goal, self.n, np.random.default_rng([0, which])
        solver, along = steps._recursions, steps.along  # noqa: SLF001
        assert solver is not None and along is not None
        along.previous = along.planned = -1
        along.last[:] = steps.course.v[0]
        found = np.empty((4, count))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gc.disable()  # as in a loop in real time
            for k in range(count):
                if k % 100 == 0:
                    x = goal.copy()
                    x[:3] += rng.uniform(-0.3, 0.3, 3)
                    x[n : n + 3] = rng.uniform(-self.rate, self.rate, 3)
                    self.plant.reset(x[:n], x[n:])
                steps.loop.excess = -1.0
                began = thread_time()
                u = steps(k * self.period, self.plant.state)
                found[:, k] = thread_time() - began, solver.operations, solver.iterations, steps.excess
                self.plant.step(u)
            gc.enable()
        return found[0], found[1], found[2], found[3]


def _swings() -> Table:
    """A hub and a beam, 12 and 90 rad/s: by how much the deflection passes its limit on the arm itself."""
    table = Table(
        "Predictive control: a beam swings by a radian, its deflection limited to 6 mm",
        ("swing in [s]", *(f"about the {about}" for about in ABOUT)),
    )
    body = fa.Beam(length=1.0, mass=0.3, EI=8.0, modes={"y": 2}, damping=0.005)
    link = fa.Link(name="beam", joint=fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.05), body=body)
    model = fa.Model(fa.Arm(name="beam", links=[link], payload=fa.Payload(mass=0.1)))
    for duration in (1.2, 0.8, 0.5):
        row = []
        for about in ABOUT:
            bent: list[float] = []
            reference = fa.Quintic((0.0,), (1.0,), duration)
            given = Predictive(reference, limit=2.0, deflection=6e-3, horizon=30, about=about, **WEIGHTS)
            moved(model, given, 0.02, 75, lambda _: None, bent)
            row.append(f"{100 * (max(bent) / 6e-3 - 1):.2g} %")
        table.add(f"{duration:g}", *row)
    table.notes.append(
        "The table has the percentage by which the deflection exceeds its limit at the samples. Without a limit the "
        "deflection is 33 mm in the motion of 1.2 s."
    )
    return table


def _solvers(name: str, count: int) -> Table:
    arm, period, given = ARMS[name]
    model = fa.Model(fa.load(arm))
    table = Table(
        f"Quadratic programs of predictive control: {name}, 40 periods",
        ("solver", "form", "median", "99th percentile", "optimal to 1e-5", "largest error"),
    )
    kept: list[tuple[Any, ...]] = []
    native: list[float] = []
    misses: list[float] = []

    def keep(controller: Steps) -> None:
        plan = controller.plan
        if controller.solved > len(kept) and plan is not None and plan.active:
            found, stage = plan.solution(), controller.course.stage.rows(controller.course.at(plan.first, 40))
            p = found.program
            kept.append((p.D, p.g, p.A, found.low, found.high, plan, stage, controller))
            misses.append(miss(p.D, p.g, p.A, found.low, found.high, found.s, found.multipliers))
            native.append(controller.seconds[-1])

    moved(model, Predictive(**given, horizon=40, penalty=None), period, 3 * count, keep)
    kept = kept[:count]
    _add(table, "native, with the step", "recursions", native[:count], misses[:count])
    for solver, options in CONDENSED.items():
        OPTIONS.setdefault(solver, options)
        with quiet():
            rows, columns = kept[0][2].shape
            program, seconds, missed = QuadraticProgram(solver, rows, columns), [], []
            for D, g, A, low, high, *_ in kept:
                began = thread_time()
                s, multipliers, _ = program(D, g, A, low, high)
                seconds.append(thread_time() - began)
                missed.append(miss(D, g, A, low, high, s, multipliers))
        _add(table, solver, "condensed", seconds, missed)
    for solver in SPARSE:
        with quiet():
            seconds, missed = _sparse(solver, kept)
        _add(table, "ipopt" if solver == "nlpsol" else solver, "sparse", seconds, missed)
    table.notes.append(
        f"The {len(kept)} programs come from a run with limits on torque and hard limits on deflection. In condensed "
        f"form a program has {columns} unknowns and {rows} limits. Times are processor time of one thread. The last "
        "column has the largest violation of the optimality conditions. For the sparse form it has the largest "
        "difference of the first inputs from those of the native solver, relative to the limit. The time of the native "
        "solver includes everything from the state to the torques."
    )
    return table


def _add(table: Table, solver: str, form: str, seconds: list[float], misses: list[float]) -> None:
    median, slow = np.percentile(seconds, [50, 99])
    good = int((np.array(misses) <= 1e-5).sum())
    table.add(solver, form, time(median), time(slow), f"{good} of {len(misses)}", f"{np.nanmax(misses):.0e}")


def _sparse(solver: str, kept: list[tuple[Any, ...]]) -> tuple[list[float], list[float]]:
    """The same problems over all states and inputs: x0, u0, x1, ..., rows F x + G u - x' = 0 and those of outputs."""
    import casadi as ca

    *_, plan, stage, controller = kept[0]
    k, s, m = stage.G.shape
    p = len(controller.limits.low)
    width = s + m
    columns = k * width + s
    H = ca.diagcat(*[ca.Sparsity.dense(s, s), ca.Sparsity.dense(m, m)] * k, ca.Sparsity.dense(s, s))
    pattern = np.zeros((k * (s + p) + p, columns))
    for i in range(k):
        row, at = i * (s + p), i * width
        pattern[row : row + s, at : at + width] = 1.0
        pattern[row : row + s, at + width : at + width + s] = np.eye(s)
        pattern[row + s : row + s + p, at : at + s] = 1.0
    pattern[k * (s + p) :, k * width :] = 1.0
    A_ = ca.sparsify(ca.DM(pattern)).sparsity()
    options = dict(SPARSE[solver])
    if solver in ("hpipm", "fatrop"):
        options |= {"N": k, "nx": [s] * (k + 1), "nu": [*[m] * k, 0], "ng": [p] * (k + 1)}
    program = ca.conic("sparse", solver, {"h": H, "a": A_}, options)
    seconds, misses = [], []
    for *_, plan, stage, controller in kept:
        course, limits = controller.course, controller.limits
        rows = course.at(plan.first, k + 1)
        Hd = np.zeros((columns, columns))
        Ad = np.zeros(pattern.shape)
        lba, uba = np.zeros(len(pattern)), np.zeros(len(pattern))
        lbx, ubx = np.full(columns, -np.inf), np.full(columns, np.inf)
        for i in range(k + 1):
            at, row = i * width, i * (s + p)
            Hd[at : at + s, at : at + s] = stage.Q[i] if i < k else course.best.P[rows[-1]]
            C, y = controller.C[rows[i]], controller.y[rows[i]]
            of = row + s if i < k else row
            Ad[of : of + p, at : at + s] = C
            lba[of : of + p], uba[of : of + p] = limits.low - y, limits.high - y
            if i == 0:
                lba[of : of + p], uba[of : of + p] = -1e6, 1e6
            if i < k:
                Hd[at + s : at + width, at + s : at + width] = stage.R[i]
                Ad[row : row + s, at : at + width] = np.hstack([stage.F[i], stage.G[i]])
                Ad[row : row + s, at + width : at + width + s] = -np.eye(s)
                v = course.v[rows[i]]
                lbx[at + s : at + width], ubx[at + s : at + width] = -limits.u - v, limits.u - v
        lbx[:s] = ubx[:s] = plan.x0
        h, a = ca.project(ca.DM(Hd), H), ca.project(ca.DM(Ad), A_)
        began = thread_time()
        try:
            found = program(h=h, a=a, lba=lba, uba=uba, lbx=lbx, ubx=ubx)
        except RuntimeError:
            seconds.append(thread_time() - began)
            misses.append(np.inf)
            continue
        seconds.append(thread_time() - began)
        u = np.array(found["x"]).ravel()[s:width] + course.v[rows[0]]
        misses.append(float(np.abs((u - plan.u[0]) / limits.u).max()))
    return seconds, misses
