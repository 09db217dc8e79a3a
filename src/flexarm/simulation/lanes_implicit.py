"""Implicit methods in SIMD batches of `LANES` runs: the steps of `steps.integrate`, translated for several runs.

Each run has its own steps, slopes and decisions. All runs of a batch advance through the same intervals, and a run with
fewer steps waits for the others at the end of an interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.native.code import Code
from flexarm.native.functions import translated
from flexarm.native.kernel import LANES
from flexarm.native.language import Each, Floats, Placed, Shared
from flexarm.native.once import Once
from flexarm.simulation import divergence
from flexarm.simulation.implicit import FIRST, step_of
from flexarm.simulation.lanes_plan import CALL, Stage
from flexarm.simulation.layout import RIDING, Layout
from flexarm.simulation.rhs import DIVERGED, RunRecord
from flexarm.simulation.steps import Step, Trail, integrate
from flexarm.simulation.tableaus import Tableau

CODE = Once(lambda: translated(through_interval, batch=(Trail,)))


@dataclass
class Interval:
    """An interval of the runs of a batch, from a time to each of `count` others.

    `out` has room for the states at these times, (count, size, LANES), and `done` is the number of those that a run has
    reached.
    """

    step: Step
    start: float
    times: Shared
    count: int
    out: Floats
    done: Each


@final
class BatchPlan:
    """Data that the steps of `LANES` runs share: code of the rates, inputs, and a buffer as that of a `Plan`.

    Parameters
    ----------
    rate : Code
        Code for `LANES` states.
    layout : Layout
    own : (LANES, k)
        Numbers of each run after u and the rates of its memory: constant exogenous inputs w, and constants.
    stage : Stage
        Inputs that a stage writes.
    behind : int
        Number of arguments of the rates after the constants.
    most : (layout.states,)
        Sizes of a state's numbers beyond which a run has diverged.

    Attributes
    ----------
    buffer : (n, LANES)
    fixed, constants
        The part of the buffer that contains the constants of all runs, and their number.
    """

    def __init__(self, rate: Code, layout: Layout, own: Array, stage: Stage, behind: int, most: Array):
        self._held, states = (rate, stage), layout.states
        self.tried = layout.inputs + layout.memory + own.shape[1]
        place = 1 + states + layout.inputs + layout.memory
        shared = RunRecord(
            rate=rate.addresses["evaluate"],
            stage=stage.code,
            data=stage.data,
            time=0.0,
            last=np.inf,
            stop=0,
            evaluations=0,
            exogenous=0,
            given=0,
            place=place,
            states=states,
            integrated=states + len(RIDING),
            buffer=np.zeros(1 + states + self.tried + behind),
            marks=np.zeros(0),
            gaps=np.zeros(0),
            most=most,
            bounded=states,
        )
        self.shared = Placed(shared, LANES)
        self.address = self.shared.address
        self.buffer = self.shared.buffer.reshape(-1, LANES)
        self.buffer[place : place + own.shape[1]] = own.T
        self.constants = own.shape[1] - layout.exogenous
        self.fixed = self.buffer[place + layout.exogenous :][: self.constants]

    def end(self, t: float) -> None:
        """Set the end of the interval, see `Plan.end`."""
        self.shared.last[:] = np.nextafter(t, -np.inf)


@final
class ImplicitBatch:
    """`LANES` runs by an implicit method.

    Parameters
    ----------
    tableau : Tableau
    plan : BatchPlan
        Its rates are the residual of the equation of motion.
    layout : Layout
    start : (LANES, layout.size)
    settings : (rtol, atol)
    step : float
        A fixed step [s], or 0 if the method chooses its steps.
    trails : list of Trail
        Records of the steps of each run.
    """

    def __init__(
        self,
        tableau: Tableau,
        plan: BatchPlan,
        layout: Layout,
        start: Array,
        settings: tuple[float, float],
        step: float,
        trails: Sequence[Placed],
    ):
        self._layout, self._fixed, self._plan, self._trails = layout, step, plan, trails
        more: dict[str, Any] = {"tried": plan.tried, "fixed": int(step > 0), "recorded": 1}
        more |= {"trail": np.array([each.address for each in trails], dtype=np.int64)}
        more |= {"rtol": settings[0], "atol": layout.tolerances(settings[1])}
        self._step = step_of(tableau, layout, np.array([plan.address]), runs=LANES, **more)
        self._step.limit = LANES * divergence.FIRST
        self._x = self._step.y.reshape(-1, LANES)
        self._x[:] = start.T
        self._run = CALL(CODE().addresses["through_interval"])

    def __call__(self, start: float, times: Array, u: Array) -> Array | None:
        """Return the states at these times, (times, layout.size, LANES), with constant u (LANES, m) unless m is 0.

        The result is None if a run has not reached them all.
        """
        step, length, count = self._step, float(times[-1] - start), len(times)
        if self._fixed:
            step.h[:] = length / max(np.ceil(length / self._fixed - 1e-9), 1.0)
        else:
            step.h[:] = np.minimum(np.where(step.h > 0.0, step.h, FIRST * length), length)
        self._plan.end(float(times[-1]))
        self._plan.buffer[1 + self._layout.states :][: u.shape[1]] = u.T
        out = np.empty((count, self._layout.size, LANES))
        done = np.zeros(LANES, dtype=np.int64)
        part = Placed(Interval(step, np.full(LANES, start), times, count, out, done))  # type: ignore[arg-type]
        self._run(part.address)
        if (done < count).any() or not (np.abs(out[:, : self._layout.states]) < DIVERGED).all():
            return None
        self._x[:] = out[-1]
        return out


# -- translated functions ----------------------------------------------------------------------------------------------


def through_interval(s: Interval) -> None:
    """Advance all runs to the end of an interval."""
    s.done = integrate(s.step, s.start, s.times, s.count, s.out)
