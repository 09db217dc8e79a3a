"""The law of `Tracking` as a table in time: u = v(t) - K(t) x with v = u_ref + K x_ref, which has m rows and not 2n."""

from itertools import pairwise
from typing import Any, final

import numpy as np

from flexarm.control.along import Motion
from flexarm.control.gains import actuated
from flexarm.control.tables import (
    ROUNDING,
    Pieces,
    in_few_directions,
    interpolated,
    lines,
    on_pieces,
    on_steps,
    smoothed,
    through,
)
from flexarm.control.tracking_gains import Gains
from flexarm.model import Model
from flexarm.simulation.law import Column

Array = np.ndarray

INPUTS = 1e-4
"""Of the span of u_ref: what the table of v may miss."""
SMALL = 1e-3
"""Of the largest such span: a smaller one counts as this."""
GAINS = 3e-3
"""Of the largest gain, in coordinates in which Q and R are one: what the table of "lqr" may miss."""
NEGLECTED = 1e-3
"""Of the same: a direction in which the gains differ by less on average."""
MOST_NODES = 33
"""Of that table. Where torques jump, or the motion does not end at rest, the gains of a lightly damped arm ring as fast
as its fastest mode, which makes no difference to what is lost."""
GIVEN = 1e-4
"""Of a column's largest entry: what the table of gains given as numbers may miss."""
FINE = 2000
"""Rows from which the table of v is made, at least."""
TINY = 1e-300
AT_ONCE = 1e-9
"""Of the time of the end: what a gain's jump there takes."""

Smooth = tuple[Pieces, tuple[Array, Array]]
"""Pieces, and times and sizes of steps beside them."""


@final
class Table:
    """The parts of the law at the symbolic time t.

    Attributes
    ----------
    nodes : (k,)
        Of the gains [s].
    jumps : times at which a part is not smooth
    knots : how many each table has
    """

    def __init__(self, model: Model, motion: Motion, gains: Gains, q: Array, u: Array, period: float | None):
        self._motion, self._gains, self._end, self._period = motion, gains, (q, u), period
        self._states = 2 * model.nv
        if gains.sizes is None:
            at = lines(gains.times, gains.K, GIVEN * np.abs(gains.K).max(axis=(0, 1)) + TINY)
            self.nodes, self._K = gains.times[at], gains.K[at]
            self._L = np.eye(gains.K.shape[2]), np.eye(gains.K.shape[1])
        else:
            self._L = gains.sizes
            some = slice(None, None, -(-len(gains.times) // FINE))
            K = self._measured(gains.K[::-1][some][::-1])
            times = gains.times[::-1][some][::-1]
            self.nodes, self._K = smoothed(times, K, GAINS * np.abs(K).max(), MOST_NODES)
        until = gains.until if gains.until > self.nodes[-1] else gains.until * (1 + AT_ONCE)
        self.nodes = np.append(self.nodes, until)
        self._K = np.concatenate([self._K, self._measured(gains.after)[None]])
        if gains.sizes is not None:  # v is made with the gains as the law has them
            self._K = in_few_directions(self._K, NEGLECTED * np.abs(self._K).max())
        self._v, self._y = self._tables(actuated(model))
        self.jumps = np.unique(np.concatenate([self._v[0][0], self._v[1][0], self.nodes]))
        self.knots = {"inputs": len(self._v[0][0]), "steps": len(self._v[1][0]), "gains": len(self.nodes)}

    def wanted(self, t: Any) -> Column:
        """v (m,)."""
        return on_pieces(t, self._v[0]) + on_steps(t, *self._v[1])

    def feedback(self, t: Any, x: Column) -> Column:
        """K x of x = (q, qd)."""
        return self._times(t, self._L[0].T[:, : self._states] @ x)

    def integral(self, t: Any, w: Column) -> Column:
        """K_w w of the integrals."""
        return self._times(t, self._L[0].T[:, self._states :] @ w)

    def encoders(self, t: Any) -> Column:
        """What the actuators' encoders shall see (m,)."""
        return on_pieces(t, self._y[0]) + on_steps(t, *self._y[1])

    def _times(self, t: Any, x: Column) -> Column:
        return np.linalg.inv(self._L[1]).T @ interpolated(self._K, self.nodes, t, x, ROUNDING)

    def _measured(self, K: Array) -> Array:
        """L_u' K L'^-1: from L' x to L_u' u."""
        L, L_u = self._L
        return L_u.T @ np.swapaxes(np.linalg.solve(L, np.swapaxes(K, -1, -2)), -1, -2)

    def _gain(self, times: Array) -> Array:
        """K (k, m, 2n), as the law has it."""
        flat = self._K.reshape(len(self._K), -1).T
        K = np.stack([np.interp(times, self.nodes, row) for row in flat], axis=1).reshape(-1, *self._K.shape[1:])
        L, L_u = self._L
        return (np.linalg.solve(L_u.T, K) @ L.T)[:, :, : self._states]

    def _tables(self, C: Array) -> tuple[Smooth, Smooth]:
        """v, and what the encoders shall see: cubics, and steps beside them.

        A sampled law's torque lasts a period: in the place of u_ref it has its mean over that.
        """
        motion, n = self._motion, self._states // 2
        q_end, u_end = self._end
        x_end = np.append(q_end, np.zeros(n))
        if self._period is None:
            parts = -(-FINE // (len(motion.times) - 1))
            fine = [np.linspace(a, b, parts, endpoint=False) for a, b in pairwise(motion.times)]
            times = np.union1d(np.concatenate([*fine, [motion.end]]), self.nodes[self.nodes < motion.end])
            u = np.zeros((len(times), len(u_end))) if motion.held else motion.inputs(times)
        else:
            times = self._period * np.arange(round(self._gains.until / self._period) + 1)
            u = np.vstack([motion.means(times, u_end), u_end])
        x = np.hstack(motion.states(np.minimum(times, motion.end)))
        if self._period is not None:
            x[-1] = x_end
        v = u + (self._gain(times) @ x[:, :, None])[:, :, 0]
        span = np.maximum(np.ptp(motion.u, axis=0), SMALL * np.ptp(motion.u, axis=0).max())
        error = INPUTS * span + ROUNDING * np.abs(v).max() + TINY
        y = x[:, :n] @ C.T
        tables = through(times, v, error), through(times, y, INPUTS * np.ptp(y, axis=0) + TINY)
        if self._period is not None:
            none = np.empty(0), np.empty((0, len(u_end)))
            return (tables[0], none), (tables[1], none)
        over = np.array([motion.end])
        at_end = (u_end + self._gains.after[:, : self._states] @ x_end - v[-1])[None]
        steps = over, at_end
        if motion.held:
            changed = np.append(0, 1 + np.flatnonzero((np.diff(motion.u[:-1], axis=0) != 0).any(axis=1)))
            rises = np.diff(motion.u[changed], axis=0, prepend=0.0)
            steps = np.append(motion.times[changed], over), np.vstack([rises, at_end - rises.sum(axis=0)])
        return (tables[0], steps), (tables[1], (over, (q_end @ C.T - y[-1])[None]))
