"""The control law of `Tracking` as a table in time: u = v(t) - K(t) x with v = u_ref + K x_ref.

v has m rows, where x_ref has 2n.
"""

from itertools import pairwise
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
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

INPUTS = 1e-4
"""Largest error of the table of v, as a share of the span of u_ref."""
SMALL = 1e-3
"""Smallest span of an input, as a share of the largest such span, that the tolerance of v uses."""
GAINS = 3e-3
"""Largest error of the table of "lqr", as a share of the largest gain, in coordinates in which Q and R are one."""
NEGLECTED = 1e-3
"""Average size below which a direction in which the gains differ is left out, as a share of the largest gain."""
MOST_NODES = 33
"""Largest number of nodes of that table.

The gains of a lightly damped arm oscillate as fast as its fastest mode where torques jump, or if the motion does not
end at rest. These oscillations do not affect the cost.
"""
GIVEN = 1e-4
"""Largest error of a table of numeric gains, as a share of a column's largest entry."""
FINE = 2000
"""Least number of rows from which the table of v is made."""
TINY = 1e-300
AT_ONCE = 1e-9
"""Duration of a gain's jump at the end, as a share of the time of the end."""

Smooth = tuple[Pieces, tuple[Array, Array]]
"""Pieces, and times and sizes of additional steps."""


@final
class Table:
    """The parts of the control law at the symbolic time t.

    Attributes
    ----------
    nodes : (k,)
        Times of the gains [s].
    jumps : times at which a part is not smooth
    knots : number of knots of each table
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
        if gains.sizes is not None:  # v uses the gains as the law has them
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
        """Wanted readings of the actuators' encoders (m,)."""
        return on_pieces(t, self._y[0]) + on_steps(t, *self._y[1])

    def _times(self, t: Any, x: Column) -> Column:
        return np.linalg.inv(self._L[1]).T @ interpolated(self._K, self.nodes, t, x, ROUNDING)

    def _measured(self, K: Array) -> Array:
        """Scaled gain L_u' K L'^-1, from L' x to L_u' u."""
        L, L_u = self._L
        return L_u.T @ np.swapaxes(np.linalg.solve(L, np.swapaxes(K, -1, -2)), -1, -2)

    def _gain(self, times: Array) -> Array:
        """Gain K (k, m, 2n) as the law has it."""
        flat = self._K.reshape(len(self._K), -1).T
        K = np.stack([np.interp(times, self.nodes, row) for row in flat], axis=1).reshape(-1, *self._K.shape[1:])
        L, L_u = self._L
        return (np.linalg.solve(L_u.T, K) @ L.T)[:, :, : self._states]

    def _tables(self, C: Array) -> tuple[Smooth, Smooth]:
        """Tables of v and of the encoders' wanted readings: cubics, and additional steps.

        A sampled controller's torque is constant over a period, so its table has the mean of u_ref over the period.
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
