"""Runs in SIMD batches, with shared and individual data in the layout of native code."""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.native.code import Code
from flexarm.native.kernel import LANES, Kernel
from flexarm.native.language import Placed
from flexarm.simulation.block import Cubics
from flexarm.simulation.butcher import METHODS
from flexarm.simulation.divergence import FIRST
from flexarm.simulation.lanes import CODE, By, Lanes, Tables
from flexarm.simulation.lanes_closures import BatchClosing
from flexarm.simulation.lanes_touches import BatchTouching
from flexarm.simulation.layout import Layout
from flexarm.simulation.stages import stages_of

JUDGE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
Judge = Callable[[int, float, Array, int], int]

CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@final
class Stage:
    """A stage that writes u in SIMD batches, for some trajectories of blocks.

    Attributes
    ----------
    code, data : addresses
    table : (LANES,)
        Memory for the index of each lane's trajectory.
    laws, given
        Constants of each trajectory's law, (courses, k), and the memory for those of the lanes.
    """

    def __init__(self, courses: "Sequence[Course]", inputs: int):
        self.table = np.zeros(LANES, dtype=np.int64)
        self.laws, self.given, self.data = np.array([each.constants for each in courses]), np.empty(0), 0
        self.code = CODE().addresses["nothing"]
        self._held: Any = courses
        kernel, cubics = courses[0].kernel, [each.cubics for each in courses if each.cubics is not None]
        if kernel is not None:
            code = kernel.vector_code
            known = code.facts["n_in"] - self.laws.shape[1]
            given = np.zeros(code.facts["n_in"] * LANES)
            self.given = given[LANES * known :]
            self._record = Placed(By(code.addresses["evaluate"], known, given))
            self.code, self.data = CODE().addresses["evaluated_by"], self._record.address
        elif cubics:
            counts = np.array([len(breaks) for breaks, _ in cubics])
            rows = [np.vstack([each, np.zeros((1, *each.shape[1:]))]) for _, each in cubics]
            self._record = Placed(
                Tables(
                    inputs=inputs,
                    table=self.table,
                    first=np.cumsum(counts) - counts,
                    intervals=counts - 1,
                    breaks=np.concatenate([breaks for breaks, _ in cubics]),
                    coefficients=np.ascontiguousarray(np.concatenate(rows)),  # one column may be stored by columns
                )
            )
            self.code, self.data = CODE().addresses["tables"], self._record.address


@final
@dataclass(frozen=True)
class Course:
    """A block over a run: intervals between breakpoints, and how native code computes u.

    Attributes
    ----------
    corners : (k + 1,)
        Ends of the intervals [s].
    held : (k, m)
        Constant u in each interval; no columns if a stage writes u.
    kernel, cubics
        See `Block.kernel_for` and `Block.cubics`; None if u is constant in each interval.
    """

    corners: Array
    held: Array
    kernel: Kernel | None = None
    cubics: Cubics | None = None

    @property
    def constants(self) -> Array:
        """Last arguments of the kernel."""
        return np.empty(0) if self.kernel is None else self.kernel.constants


@final
@dataclass(frozen=True)
class BatchSettings:
    """Settings that all runs of SIMD batches share.

    Attributes
    ----------
    rate : Code
        Code for `LANES` states.
    layout : Layout
    inputs : int
        Length of u, without the rates of memory after it.
    method : str
    rtol, atol : float
    step : float or (N,)
        Longest step [s], of all runs or of each.
    most : (states,)
        Sizes of the state's numbers beyond which a run has diverged.
    times : (total,)
        Times of the result [s].
    guess : float
        First adaptive step of an interval [s]; 0 to determine it.
    budget : int
        Evaluations of a run after which it is first checked.
    """

    rate: Code
    layout: Layout
    inputs: int
    method: str
    rtol: float
    atol: float
    step: float | Array
    most: Array
    times: Array
    guess: float = 0.0
    budget: int = FIRST


def ended(run: int, t: float, x: Array, evaluations: int) -> int:
    """A check that ends every run whose evaluations have reached its budget."""
    return 0


@final
class Abreast:
    """Runs that advance together in SIMD batches.

    Parameters
    ----------
    shared : BatchSettings
    start : (N, layout.size)
    own : (N, k)
        Numbers of each run after u: constant exogenous inputs w, and constants.
    courses, which : list of Course, (N,)
        Trajectories of inputs, and the index of each run's.
    out : (N, total, layout.size)
        Memory for states, which contains the first one.
    judge : (run, t, x, evaluations) -> look
        Checks a run that takes many evaluations; returns the evaluations of the next check, or 0 to end the run.
    closing : BatchClosing, optional
        The arm's closures, if it has some.
    touching : BatchTouching, optional
        The arm's contacts, if it has some.
    trails : list of Trail
        Records of the steps of each run for derivatives, if these are wanted.

    Attributes
    ----------
    status, known, steps, evaluations : (N,)
    left, stuck : (N,), (N, layout.size)
        Last times and states of runs that could not continue.
    """

    def __init__(
        self,
        shared: BatchSettings,
        start: Array,
        own: Array,
        courses: Sequence[Course],
        which: Array,
        out: Array,
        judge: Judge = ended,
        closing: BatchClosing | None = None,
        touching: BatchTouching | None = None,
        trails: Sequence[Placed] = (),
    ):
        count, layout, tableau = len(start), shared.layout, METHODS[shared.method]
        stage = Stage(courses, shared.inputs)
        rows = [np.vstack([each.held, np.zeros((1, each.held.shape[1]))]) for each in courses]
        lengths = np.array([len(each.corners) for each in courses])
        corners = np.concatenate([each.corners for each in courses])
        width = LANES * layout.size
        base = LANES * (1 + layout.states + layout.fed - layout.exogenous)  # w belongs to each run
        closing, touching = closing or BatchClosing(), touching or BatchTouching()
        self._held = stage, shared, CODE(), closing, touching
        self.look = np.full(count, shared.budget)
        self._judge = JUDGE(lambda _y, _t, lane: self._looked(judge, lane or 0))
        self.failure: BaseException | None = None
        self.status, self.known, self.steps, self.evaluations = np.zeros((4, count), dtype=np.int64)
        self.known[:] = 1
        self.left, self.stuck = np.zeros(count), np.zeros((count, layout.size))

        def places(number: int) -> Array:
            return np.zeros(number)

        def words() -> Array:
            return np.zeros(LANES, dtype=np.int64)

        self.record = Placed(
            Lanes(
                rate=shared.rate.addresses["evaluate"],
                stage=stage.code,
                data=stage.data,
                method=stages_of(tableau, width),  # type: ignore[arg-type]  # a record is placed
                closing=closing.record,  # type: ignore[arg-type]
                touching=touching.record,  # type: ignore[arg-type]
                size=layout.size,
                states=layout.states,
                weighed=layout.steering.stop,
                constants=own.shape[1],
                base=base,
                rtol=shared.rtol,
                atol=shared.atol,
                step=np.full(count, shared.step, dtype=float),
                guess=shared.guess,
                budget=shared.budget,
                count=count,
                total=len(shared.times),
                start=np.ascontiguousarray(start),
                own=np.ascontiguousarray(own),
                times=shared.times,
                out=out,
                corners=corners,
                before=np.nextafter(corners, -np.inf),
                held=np.concatenate(rows),
                inputs=rows[0].shape[1],
                where=(np.cumsum(lengths) - lengths)[which],
                stretches=(lengths - 1)[which],
                course=which.astype(np.int64),
                fixed=stage.laws.shape[1],
                laws=stage.laws,
                given=stage.given,
                most=shared.most,
                look=self.look,
                judge=ctypes.cast(self._judge, ctypes.c_void_p).value or 0,
                status=self.status,
                known=self.known,
                steps=self.steps,
                evaluations=self.evaluations,
                stuck=self.stuck,
                left=self.left,
                next=0,
                active=0,
                fresh=0,
                finished=0,
                stop=0,
                run=words(),
                part=words(),
                end=words(),
                sample=words(),
                refused=words(),
                count_down=words(),
                table=stage.table,
                t=places(LANES),
                h=places(LANES),
                dt=places(LANES),
                new=places(LANES),
                took=places(LANES),
                goal=places(LANES),
                a=places(LANES),
                b=places(LANES),
                buffer=places(base + LANES * own.shape[1]),
                y=places(width),
                end_y=places(width),
                M=places(width),
                f=places(width),
                g=places(width),
                recorded=int(len(trails) > 0),
                trails=np.array([each.address for each in trails], dtype=np.int64),  # type: ignore[arg-type]
                row=places(layout.size),
            )
        )

    def __call__(self) -> None:
        """Compute the runs, until their ends or until `stop`."""
        CALL(CODE().addresses["abreast"])(self.record.address)

    def stop(self) -> None:
        """Stop all runs at their current states."""
        self.record.stop = 1

    def _looked(self, judge: Judge, lane: int) -> None:
        record = self.record
        r = int(record.run[lane])
        x = record.y[lane::LANES][: record.states].copy()
        try:
            self.look[r] = judge(r, float(record.t[lane]), x, int(self.evaluations[r]))
        except BaseException as error:
            self.failure, self.look[r] = self.failure or error, 0
            self.stop()

    @property
    def finished(self) -> int:
        """Number of runs that have ended."""
        return self.record.finished
