"""Sampled laws in SIMD batches, with data in the layout of native code."""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from collections.abc import Sequence
from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.native.code import Code
from flexarm.native.kernel import LANES
from flexarm.native.language import Placed
from flexarm.simulation.lanes import DONE, UNDER_WAY
from flexarm.simulation.lanes_plan import Abreast, Course, Shared
from flexarm.simulation.lanes_sampled import CODE, NO_LAW, Clocked

if TYPE_CHECKING:
    from flexarm.simulation.samples import Sampling

__all__ = ["NO_LAW", "Clock"]

Array = np.ndarray
CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)


@final
class Clock:
    """Up to `LANES` runs under one sampled law, from sample to sample.

    Parameters
    ----------
    shared : Shared
        Method and settings of the motion between samples.
    law : Code
        Code of the law for `LANES` states.
    samplings : list of Sampling
        The law of each run at its beginning.
    own : (runs, k)
        Numbers of each run after u.
    out, held : (runs, total, layout.size), (runs, total, m + recorded)
        Memory for states, and for u with recorded signals. It contains the first state.

    Attributes
    ----------
    status, known, left, stuck
        Results of the runs; see `lanes_sampled.Clocked`.
    what, value : (LANES,)
        Further results, with idle lanes behind the runs.
    steps, evaluations : (runs,)
    u : (m, LANES)
        Current constant inputs.
    """

    def __init__(
        self,
        shared: Shared,
        law: Code,
        samplings: Sequence["Sampling"],
        own: Array,
        out: Array,
        held: Array,
    ):
        layout, times = shared.layout, shared.times
        count, size, states, m = len(samplings), layout.size, layout.states, layout.inputs
        self._samplings, self._count, self._code = samplings, count, CODE()
        self._run = CALL(self._code.addresses["clocked"])
        self._m, self._states, self._held = m, states, held
        first = samplings[0]
        memory, noises = first.memory, first.noises
        status, known, evaluations, what = np.zeros((4, LANES), dtype=np.int64)
        status[count:], known[:] = DONE, 1
        left, value, stuck = np.zeros(LANES), np.zeros(LANES), np.zeros((LANES, size))
        laws = np.array([each.constants for each in samplings])
        given = np.zeros((1 + states + memory + noises + laws.shape[1], LANES))
        y = np.zeros((size, LANES))
        lanes = np.minimum(np.arange(LANES), count - 1)  # the last run fills idle lanes
        y[:] = out[lanes, 0].T
        given[1 + states : 1 + states + memory] = np.array([samplings[i].memory_now for i in lanes]).T
        given[1 + states + memory + noises :] = laws[lanes].T
        courses = [Course(np.zeros(2), np.zeros((1, m)))] * LANES
        start = np.zeros((LANES, size))
        self._motion = Abreast(shared, start, own[lanes], courses, np.arange(LANES), out)
        self._codes = law, out
        self.record = Placed(
            Clocked(
                runs=np.array([self._motion.record.address]),  # type: ignore[arg-type]
                law=law.addresses["evaluate"],
                size=size,
                states=states,
                inputs=m,
                memory=memory,
                recorded=held.shape[2] - m,
                noises=noises,
                total=len(times),
                late=first.late,
                times=times,
                edges=times,
                out=out,
                held=held,
                noise=times,
                given=given,
                found=np.zeros((m + memory, LANES)),
                u=np.zeros((m, LANES)),
                y=y,
                status=status,
                known=known,
                evaluations=evaluations,
                left=left,
                stuck=stuck,
                what=what,
                value=value,
                sample=1,
                shown=0,
                stop=0,
            )
        )
        self.status, self.known, self.left, self.stuck = status[:count], known[:count], left[:count], stuck[:count]
        self.u, self.what, self.value = self.record.u, what, value
        self.steps, self.evaluations = self._motion.steps[:count], evaluations[:count]

    def __call__(self, edges: Array) -> int:
        """Advance through the periods between these edges, and return how many were completed."""
        periods = len(edges) - 1
        noise = np.zeros((LANES, periods, max(self.record.noises, 1)))
        if self.record.noises:
            for row, sampling in zip(noise, self._samplings, strict=False):
                row[:] = sampling.drawn(periods)
        self._now = edges, noise
        self.record.edges, self.record.noise = edges.ctypes.data, noise.ctypes.data
        return self._run(self.record.address, periods)

    def stop(self) -> None:
        """End the runs, from another thread."""
        self.record.stop = 1
        self._motion.stop()

    def close(self) -> None:
        """Store the current u and recorded signals for the remaining known times."""
        u = self.record.u
        memory = self.record.given[1 + self._states : 1 + self._states + self.record.memory]
        now = np.vstack([u, memory[self.record.memory - self.record.recorded :]])
        for i in np.flatnonzero(self.status == UNDER_WAY):
            self._held[i, self.record.shown : self.known[i]] = now[:, i]
