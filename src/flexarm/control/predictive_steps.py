"""A predictive controller in a run: the state, the program of each sample, and steps without a solution."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.cached import cached_property
from flexarm.control.predictive_ahead import Ahead
from flexarm.control.predictive_course import Course, Optimum, Slopes, Stage, models, optimum
from flexarm.control.predictive_horizon import Limits, Program, condensed, typical
from flexarm.control.predictive_loop import CODE, STEP, looped
from flexarm.control.predictive_recursions import MOST_OPERATIONS, Matrices, Recursions
from flexarm.control.predictive_samples import Along
from flexarm.control.predictive_solver import NATIVE, QuadraticProgram
from flexarm.errors import FlexarmError, NotReached, SimulationError
from flexarm.native.language import Placed
from flexarm.sensors import Outputs
from flexarm.simulation.stepped import NativeStep
from flexarm.simulation.stepper import Stepper

ABOUT = ("reference", "state", "prediction")
OTHERWISE = ("plan", "lqr", "raise")

PASSED = 1e-9
"""Share of a limit below which a violation counts as rounding."""

SLIGHT = 1e-6
"""Share of the largest multiplier below which a limit counts as inactive, for solvers that leave small ones."""


PREPARED = 20
"""Largest number of solutions before a run. Each may change as many limits as a step."""


@final
@dataclass(eq=False)
class Solution:
    """A program in condensed form, with its solution.

    Attributes
    ----------
    program : Program
    s, multipliers : of `program`
    low, high : (rows,)
    """

    program: Program
    s: Array
    multipliers: Array
    low: Array
    high: Array


@final
@dataclass(eq=False)
class Plan:
    """The solution of a sample.

    Attributes
    ----------
    first : int
        The sample at which the plan begins.
    x0 : (s + 1,)
        The state there, as in `Stage`.
    u : (periods, m)
        Inputs, period by period.
    active : True if a limit is active
    solution : () -> Solution
        The program with its solution, in condensed form.
    """

    first: int
    x0: Array
    u: Array
    active: bool
    solution: Callable[[], Solution]


@final
@dataclass(eq=False)
class Prediction:
    """A linear model over the horizon, with its program.

    Attributes
    ----------
    parts : () -> (Stage, Optimum, Array)
        Steps of the horizon, their optimum without limits, and the slopes (k, p, s + 1) of the outputs at their ends.
    y : (k, p)
        Outputs without deviation at the ends of the steps.
    """

    limits: Limits
    weight: float
    parts: Callable[[], tuple[Stage, Optimum, Array]]
    y: Array

    @cached_property
    def steps(self) -> tuple[Stage, Optimum, Array]:
        """The parts, which are computed once."""
        return self.parts()

    @cached_property
    def program(self) -> Program:
        """The program in condensed form."""
        stage, best, C = self.steps
        return Program.of(self.limits, condensed(stage, best, self.limits.steered), C, self.weight)


@final
@dataclass(eq=False)
class Steps:
    """The controller of one run: returns u (m,) from t and the state (2n,).

    Attributes
    ----------
    seconds : list of float
        Time of each call from Python [s]. `loop` has those of native code.
    solved, active, failed, recovered : int
        Calls with a quadratic program, with an active limit, without a solution, and those among these whose solution
        is unfinished but has a plan within the limits.
    excess : float
        Largest share by which the cost of such a plan may exceed the optimum.
    most : int
        Largest number of operations of a call.
    first_failure : str
        Text with the time and the reason of the first failure; "" if there is none.
    y, C : (samples, p), (samples, p, s + 1)
        Outputs of the trajectory, and their slopes in the coordinates of stages.
    along : Along or None
        Native code of samples along the reference, if the horizon needs no other models.
    ahead : Ahead or None
        Prediction over the delay.
    loop : Loop or None
        Native code of a complete sample, with its counts, if `along` is not None.
    """

    course: Course
    limits: Limits
    outputs: Outputs | None
    about: str
    otherwise: str
    solver: str
    penalty: float | None
    operations: int | None
    late: int
    places: Array
    start: Array
    seconds: list[float] = field(default_factory=list)
    solved: int = 0
    active: int = 0
    failed: int = 0
    recovered: int = 0
    excess: float = 0.0
    most: int = 0
    first_failure: str = ""
    _plan: Plan | None = None

    def __post_init__(self) -> None:
        course, model = self.course, self.course.model
        self._plant = Stepper(model, course.period, course.r[0, : model.nv], course.r[0, model.nv :])
        self._last = course.v[0].copy()
        self.lengths, self.edges = self.limits.lengths, self.limits.edges
        self._uniform = bool((self.lengths == 1).all())
        self._slopes = Slopes(model, self.outputs.sensors) if self.outputs else None
        self.y, self.C = self._outputs_along()
        self._weight = 1.0
        tail = self._along(len(course.r) - 1)
        stage, best, C = tail.steps
        if self.penalty is not None and len(self.limits.low):
            self._weight = self.penalty * typical(condensed(stage, best, self.limits.steered), C, self.limits)
        self._tail = replace(tail, weight=self._weight)
        self._recursions = self._solver = self.along = None
        if self.solver == NATIVE:
            self._recursions = Recursions(self.limits, C.shape[2], self._weight, self.operations or MOST_OPERATIONS)
            if self.about == "reference" and (self._uniform or len(course.r) == 1):
                self.along = self._placed()
            self._prepare()
        else:
            rows, columns = self._tail.program.A.shape
            self._solver = QuadraticProgram(self.solver, rows, columns) if rows else None
        self.ahead = Ahead(model, course.r[0], course.period, self.late, self.along) if self.late else None
        self.loop = None
        if self.along is not None:
            delayed = None if self.ahead is None else self.ahead.record
            self.loop = looped(self.along, delayed, self.late, course.period, self.places, course.best.P)

    @property
    def native(self) -> NativeStep | None:
        """Machine code of a sample along the reference."""
        if self.loop is None:
            return None
        code = CODE()
        return NativeStep(code.addresses["planned_sample"], self.loop.address, (self, code))

    def _placed(self) -> Placed:
        """Return the record of native code for samples along the reference."""
        course, limits, solver = self.course, self.limits, self._recursions
        assert solver is not None
        if self._uniform:
            following = course.at(1, len(course.r))
            solver.use(Matrices.of(course.stage, course.best, self.C[following]))
            solver.hold()
            K = course.best.K
        else:
            stage, best, C = self._tail.steps
            solver.use(Matrices.of(stage, best, C))
            K = best.K[:1]
        m = len(limits.u)
        return Placed(
            Along(
                horizon=np.array([solver.record.address]),  # type: ignore[arg-type]  # an address is one word
                rows=len(course.r),
                moving=int(self._uniform),
                saturates=int(self.otherwise == "lqr"),
                edges=self.edges.astype(np.int64),
                u=np.array(limits.u, dtype=float),
                rate=np.array(limits.rate, dtype=float),
                low=np.array(limits.low, dtype=float),
                high=np.array(limits.high, dtype=float),
                r=np.ascontiguousarray(course.r),
                v=np.ascontiguousarray(course.v),
                y=np.ascontiguousarray(self.y),
                K=np.ascontiguousarray(K),
                S=np.array(course.S, dtype=float),
                last=np.array(self._last, dtype=float),
                to=np.zeros(m),
                plan=np.zeros((len(self.lengths), m)),
                planned=-1,
                previous=-1,
                good=0,
                pushed=0,
                recovered=0,
                excess=0.0,
                wanted=np.zeros((len(self.lengths), m)),
            )
        )

    def _prepare(self) -> None:
        """Find the active limits of the first step, so that it is as short as the later ones."""
        course, x = self.course, self.start
        rows = course.at(self.late, int(self.edges[-1]))
        try:
            prediction = self._prediction(self.late, x)
        except SimulationError:
            return
        x0 = np.append(course.S * (x - course.r[rows[0]]), 1.0)
        for _ in range(PREPARED):
            if self.along is not None:
                assert self._recursions is not None
                found = self._recursions.along(self.along, self.late, x)
                self.along.last[:] = self._last
            else:
                found = self._by_recursions(self.late, prediction, x0, course.v[rows]) is not None
            if found:
                break
        self.solved = 0
        if self.along is not None:
            self.along.planned = -1

    @property
    def least(self) -> int:
        """Smallest number of operations that bounds the native solution of a step."""
        return 0 if self._recursions is None else self._recursions.least

    @property
    def records(self) -> tuple[Placed, Placed, tuple[Array, Array, Array]] | None:
        """Records of native code for samples along the reference: the horizon, the samples, and the matrices."""
        if self.along is None or self._recursions is None:
            return None
        return self._recursions.record, self.along, self._recursions.matrices

    # -- prediction of the arm

    def _outputs_along(self) -> tuple[Array, Array]:
        """Outputs (k, p) of the trajectory, and their slopes (k, p, 2n + 1) in the coordinates of stages."""
        return self._outputs_at(self.course.r), self._slopes_at(self.course.r)

    def _outputs_at(self, x: Array) -> Array:
        n = self.course.model.nv
        return self.outputs.values(x[:, :n], x[:, n:]) if self.outputs else np.zeros((len(x), 0))

    def _slopes_at(self, x: Array) -> Array:
        k, s = x.shape
        if self._slopes is None:
            return np.zeros((k, 0, s + 1))
        C = self._slopes(x) / self.course.S
        return np.concatenate([C, np.zeros((*C.shape[:2], 1))], axis=2)

    def _joined(self, stage: Stage, best: Optimum | None, C: Array, P: Array) -> tuple[Stage, Optimum, Array]:
        """Return the steps of the horizon from those of single periods, with their optimum."""
        if not self._uniform:
            stage, best = stage.joined(self.lengths), None
        return stage, optimum(stage, P) if best is None else best, C

    def _along(self, first: int) -> Prediction:
        """Prediction about the trajectory from a sample on."""
        course = self.course
        ends = course.at(first, self.edges[-1] + 1)[self.edges[1:]]

        def parts() -> tuple[Stage, Optimum, Array]:
            rows = course.at(first, self.edges[-1])
            best = course.best.rows(rows) if self._uniform else None
            return self._joined(course.stage.rows(rows), best, self.C[ends], course.best.P[ends[-1]])

        return Prediction(self.limits, self._weight, parts, self.y[ends])

    def _about(self, first: int, x: Array, u: Array) -> Prediction:
        """Prediction about the present state and inputs, with the same linear model over the horizon."""
        course, n, count = self.course, self.course.model.nv, int(self.edges[-1])
        Phi, Gamma = (X[0] for X in models(course.model, x[None, :n], x[None, n:], u[None], course.period))
        rest = self._moved(x, u) - Phi @ x - Gamma @ u
        rows = course.at(first, count + 1)
        after = course.r[rows[:-1]] @ Phi.T + course.v[rows[:-1]] @ Gamma.T + rest
        stage = course.staged(
            rows[:-1], np.broadcast_to(Phi, (count, *Phi.shape)), np.broadcast_to(Gamma, (count, *Gamma.shape)), after
        )
        (C,), (y,), ends = self._slopes_at(x[None]), self._outputs_at(x[None]), rows[self.edges[1:]]
        y = y + (course.S * (course.r[ends] - x)) @ C[:, :-1].T
        each = np.broadcast_to(C, (len(ends), *C.shape))
        parts = self._joined(stage, None, each, course.best.P[rows[-1]])
        return Prediction(self.limits, self._weight, lambda: parts, y)

    def _predicted(self, first: int, x: Array, u: Array) -> Prediction:
        """Prediction about the motion that the arm itself makes under the last plan's inputs (periods, m)."""
        course, n, count = self.course, self.course.model.nv, int(self.edges[-1])
        motion = np.empty((count + 1, 2 * n))
        motion[0] = self._plant.reset(x[:n], x[n:])
        for i in range(count):
            motion[i + 1] = self._plant.step(u[i])
        # one model for each step, at its middle
        begin, end = self.edges[:-1], self.edges[1:]
        middle, mean = (motion[begin] + motion[end]) / 2, np.add.reduceat(u, begin) / self.lengths[:, None]
        Phi, Gamma = models(course.model, middle[:, :n], middle[:, n:], mean, course.period)
        Phi, Gamma = np.repeat(Phi, self.lengths, axis=0), np.repeat(Gamma, self.lengths, axis=0)
        rows = course.at(first, count + 1)
        beside, inputs = course.r[rows[:-1]] - motion[:-1], course.v[rows[:-1]] - u
        after = motion[1:] + (Phi @ beside[..., None] + Gamma @ inputs[..., None])[..., 0]
        stage = course.staged(rows[:-1], Phi, Gamma, after)
        C = self._slopes_at(motion[end])
        shift = course.S * (course.r[rows[end]] - motion[end])
        y = self._outputs_at(motion[end]) + (C[..., :-1] @ shift[..., None])[..., 0]
        parts = self._joined(stage, None, C, course.best.P[rows[-1]])
        return Prediction(self.limits, self._weight, lambda: parts, y)

    def _moved(self, x: Array, u: Array) -> Array:
        """State one period later."""
        n = self.course.model.nv
        self._plant.reset(x[:n], x[n:])
        return self._plant.step(u)

    # -- a sample

    def __call__(self, t: float, seen: Array) -> Array:
        """Return u (m,)."""
        began = perf_counter()
        first = round(t / self.course.period)
        if self.loop is not None:
            u = self._sampled(first + self.late, t, seen)
        else:
            x = seen[self.places]
            if self.ahead is not None:  # inputs that reach the arm before those of this sample
                x = self.ahead.predicted(x)
            u = self._planned(first + self.late, x)
            if self.ahead is not None:
                self.ahead.send(u)
        self._last = u
        self.seconds.append(perf_counter() - began)
        return u

    def _prediction(self, first: int, x: Array) -> Prediction:
        if self.about == "state":
            return self._about(first, x, self._last)
        if self.about == "prediction" and self.plan is not None:
            return self._predicted(first, x, self._shifted(first))
        return self._referred(first)

    def _referred(self, first: int) -> Prediction:
        """Prediction along the reference from a sample on."""
        return self._tail if first >= len(self.course.r) - 1 else self._along(first)

    def _shifted(self, first: int) -> Array:
        """Inputs of the last plan from a sample on, and then those of the trajectory, (periods, m)."""
        assert self.plan is not None
        planned = self.plan.u[first - self.plan.first :]
        more = self.edges[-1] - len(planned)
        return np.vstack([planned, self.course.v[self.course.at(first + len(planned), more)]])

    def _planned(self, first: int, x: Array) -> Array:
        """Return the inputs of the program, or those of `otherwise` if it has no solution."""
        course, prediction = self.course, self._prediction(first, x)
        rows = course.at(first, int(self.edges[-1]))
        x0, v = np.append(course.S * (x - course.r[rows[0]]), 1.0), course.v[rows]
        solve = self._by_recursions if self._recursions is not None else self._condensed
        found = solve(first, prediction, x0, v)
        if found is None:
            return self._otherwise(first, x0, v, prediction)
        u, active, solution = found
        self.active += active
        u = (u if self._uniform else np.repeat(u, self.lengths, axis=0)) + v
        self._plan = Plan(first, x0, u, active, solution)
        return self._within(u[0])

    def _by_recursions(
        self, first: int, prediction: Prediction, x0: Array, v: Array
    ) -> tuple[Array, bool, Callable[[], Solution]] | None:
        """Return the inputs' deviations (k, m), True if a limit is active, and the solution; None without one."""
        solver, last = self._recursions, self._last
        assert solver is not None
        solver.use(Matrices.of(*prediction.steps))
        solver.low[:], solver.high[:] = self.limits.shares(v, last, prediction.y)
        solver.x0[:] = x0
        good = solver(first, 0)
        self.most = max(self.most, solver.operations)
        at, multipliers = solver.pushing
        sizes = np.abs(multipliers[at < solver.y.size])
        active = bool((sizes > SLIGHT * sizes.max(initial=0.0)).any())
        self.solved += active or not good
        if not good:
            return None
        return solver.inputs, active, self._solution(prediction, x0, v, last, at, multipliers)

    @property
    def plan(self) -> Plan | None:
        """The last plan, or None. Along the reference it is that of the last step, if this has a solution."""
        if self.along is None:
            return self._plan
        solver, course, first = self._recursions, self.course, self.along.planned
        assert solver is not None
        if not self.along.good or first < 0:
            return None
        at, multipliers = solver.pushing
        v, x0 = course.v[course.at(first, int(self.edges[-1]))], solver.x0.copy()
        solution = self._solution(self._referred(first), x0, v, self._before.copy(), at, multipliers)
        return Plan(first, x0, np.repeat(self.along.plan, self.lengths, axis=0), bool(self.along.pushed), solution)

    def _sampled(self, first: int, t: float, seen: Array) -> Array:
        """Return the inputs that reach the arm from a sample on, along the reference and in native code.

        The state is that of the present sample. If native code has computed the sample already, its result is reported.
        """
        assert self.loop is not None and self.along is not None and self._recursions is not None
        y, u = np.ascontiguousarray(seen, dtype=float), np.empty(len(self._last))
        STEP(CODE().addresses["planned_sample"])(
            self.loop.address, t, y.ctypes.data, u.ctypes.data, u.ctypes.data, u.ctypes.data
        )
        self._count()
        if self.loop.unreported:
            self.loop.unreported, self.loop.reported = 0, 1
            self._recursions.unfinished = bool(self.loop.unfinished)
            v = self.course.v[self.course.at(first, int(self.edges[-1]))]
            self._reported(first, v, self._recursions.x0.copy(), lambda: self._referred(first))
        return self.along.to.copy()

    def _count(self) -> None:
        """Take the counts of native code."""
        loop = self.loop
        assert loop is not None
        self.solved, self.active, self.failed, self.recovered = loop.solved, loop.active, loop.failed, loop.recovered
        self.excess, self.most = loop.excess, int(loop.most)

    @property
    def _before(self) -> Array:
        """Inputs before those of the last sample, or of the present one if Python computes it."""
        return self._last if self.loop is None else self.loop.before

    def _solution(
        self, prediction: Prediction, x0: Array, v: Array, last: Array, at: Array, multipliers: Array
    ) -> Callable[[], Solution]:
        """Return a function that returns the program with its native solution."""
        assert self._recursions is not None
        s = self._recursions.solution

        def solution() -> Solution:
            program = prediction.program
            on_rows = program.multipliers(at, multipliers)
            return Solution(program, s, on_rows, *program.bounds(x0, v, last, prediction.y))

        return solution

    def _condensed(
        self, _: int, prediction: Prediction, x0: Array, v: Array
    ) -> tuple[Array, bool, Callable[[], Solution]] | None:
        """Return the same as `_by_recursions`, from a solver of CasADi."""
        program = prediction.program
        low, high = program.bounds(x0, v, self._last, prediction.y)
        s, good = np.zeros(program.A.shape[1]), True
        multipliers = np.where(program.of_slack, -program.A @ program.g, 0.0)
        if ((low > PASSED) | (high < -PASSED)).any():  # the optimum without limits exceeds one
            assert self._solver is not None
            self.solved += 1
            s, multipliers, good = self._solver(program.D, program.g, program.A, low, high)
        if not good:
            return None
        pushing = np.abs(multipliers[~program.of_slack])
        active = bool((pushing > SLIGHT * pushing.max(initial=0.0)).any())
        c = program.c
        u = c.u_of_moves @ s[: c.u_of_moves.shape[2]] + c.u_of_x0 @ x0
        return u, active, lambda: Solution(program, s, multipliers, low, high)

    def _within(self, u: Array) -> Array:
        """Clip u to the limits of torque and its rate, which it exceeds by rounding at most."""
        last, limits = self._last, self.limits
        u = np.clip(u, last - limits.rate, last + limits.rate)
        return np.clip(u, -limits.u, limits.u)

    def _otherwise(self, first: int, x0: Array, v: Array, prediction: Prediction) -> Array:
        """Continue with the last plan, or saturate the optimum without limits."""
        self.failed += 1
        if not self.first_failure:
            self._reported(first, v, x0, lambda: prediction)
        if self.otherwise == "plan" and self.plan is not None and first - self.plan.first < len(self.plan.u):
            return self._within(self.plan.u[first - self.plan.first])
        return self._within(v[0] - prediction.steps[1].K[0] @ x0)

    def _reported(self, first: int, v: Array, x0: Array, prediction: Callable[[], Prediction]) -> None:
        """Report the first step without a solution."""
        solver, when = self._recursions, f"t = {(first - self.late) * self.course.period:.6g} s"
        if solver is not None and solver.unfinished and self.operations is not None:
            self.first_failure = (
                f"{when}: no solution within {self.operations} operations; more are allowed by operations"
            )
        else:  # takes much longer than a step
            there = prediction()
            program = there.program
            low, high = program.bounds(x0, v, self._before, there.y)
            # torque limits alone always allow a solution
            passed = np.where(program.of_outputs, np.maximum(low, -high), -np.inf)
            worst, step = program.where(int(np.argmax(passed)))
            ahead = (self.edges[step] + (worst in self.limits.names)) * self.course.period
            self.first_failure = (
                f"{when}: no solution within the limits; {worst} exceeds its limit most, {ahead:.3g} s ahead"
            )
        if self.otherwise == "raise":
            raise FlexarmError(f"Predictive at {self.first_failure}")
        does = "the last plan continues" if self.otherwise == "plan" else "saturated LQR takes over"
        if self.recovered:
            does = (
                f"a plan within the limits replaces it, whose cost is at most {1 + self.excess:.3g} times the optimum"
            )
        warnings.warn(f"Predictive at {self.first_failure}: {does}", NotReached, stacklevel=3)

    def report(self) -> dict[str, Any]:
        """Return attributes of a result: the number of steps, and their computing times."""
        steps, seconds = len(self.seconds), np.array(self.seconds)
        if self.loop is not None:
            self._count()
            steps, seconds = self.loop.samples, self.loop.seconds[: self.loop.stored]
        median, slow = np.percentile(seconds, [50, 99]) if steps else (0.0, 0.0)
        return {
            "predictive_steps": steps,
            "predictive_programs": self.solved,
            "predictive_active": self.active,
            "predictive_failed": self.failed,
            "predictive_first_failure": self.first_failure,
            "predictive_recovered": self.recovered,
            "predictive_excess": self.excess,
            "predictive_operations": self.most,
            "predictive_step_seconds_median": float(median),
            "predictive_step_seconds_99_percent": float(slow),
        }
