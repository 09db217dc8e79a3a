"""Implicit methods in SIMD batches of `LANES` runs: the steps of `steps.integrate`, translated for several runs.

Each run has its own steps, slopes and decisions. All runs of a batch advance through the same intervals, and a run with
fewer steps waits for the others at the end of an interval.
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

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
class ImplicitBatch:
    """Up to `LANES` runs by an implicit method. The last run fills idle lanes.

    Parameters
    ----------
    tableau : Tableau
    rate : Code
        Residual for `LANES` states.
    layout : Layout
    start : (LANES, layout.size)
    own : (LANES, k)
        Numbers of each run after u and the rates of its memory: constant exogenous inputs w, and constants.
    stage : Stage
        Inputs that a stage writes.
    settings : (rtol, atol)
    step : float
        A fixed step [s], or 0 if the method chooses its steps.
    most : (layout.states,)
        Sizes of a state's numbers beyond which a run has diverged.
    trails : list of Trail
        Records of the steps of each run.
    """

    def __init__(
        self,
        tableau: Tableau,
        rate: Code,
        layout: Layout,
        start: Array,
        own: Array,
        stage: Stage,
        settings: tuple[float, float],
        step: float,
        most: Array,
        trails: Sequence[Placed],
    ):
        self._layout, self._fixed, self._held = layout, step, (rate, stage, trails)
        self._given = layout.inputs + layout.memory
        place, states = 1 + layout.states + self._given, layout.states
        self._shared = Placed(
            RunRecord(
                rate.addresses["evaluate"],
                stage.code,
                stage.data,
                *(0.0, np.inf, 0, 0, 0, 0, place, states, states + len(RIDING)),
                np.zeros(place + own.shape[1] + layout.nv),
                most=most,
                bounded=states,
            ),
            LANES,
        )
        self._shared.buffer.reshape(-1, LANES)[place : place + own.shape[1]] = own.T
        rtol, atol = settings
        self._step = step_of(
            tableau,
            layout,
            np.array([self._shared.address]),
            runs=LANES,
            tried=self._given + own.shape[1],
            fixed=int(step > 0),
            rtol=rtol,
            atol=layout.tolerances(atol),
            recorded=int(len(trails) > 0),
            trail=np.array([each.address for each in trails], dtype=np.int64),
        )
        self._step.limit = divergence.FIRST
        self.x = self._step.y.reshape(-1, LANES)
        """States, (layout.size, LANES)."""
        self.x[:] = start.T
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
        self._shared.last[:] = np.nextafter(times[-1], -np.inf)
        self._shared.buffer.reshape(-1, LANES)[1 + self._layout.states :][: u.shape[1]] = u.T
        out = np.empty((count, self._layout.size, LANES))
        done = np.zeros(LANES, dtype=np.int64)
        part = Placed(Interval(step, np.full(LANES, start), times, count, out, done))  # type: ignore[arg-type]
        self._run(part.address)
        if (done < count).any() or not (np.abs(out[:, : self._layout.states]) < DIVERGED).all():
            return None
        self.x[:] = out[-1]
        return out


# -- translated functions ----------------------------------------------------------------------------------------------


def through_interval(s: Interval) -> None:
    """Advance all runs to the end of an interval."""
    s.done = integrate(s.step, s.start, s.times, s.count, s.out)
