"""An optimal motion: a reference of the joints with its torques, and a report of the search."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.simulation.inputs import Piecewise, Table
from flexarm.trajectory.reference import after_pieces


@final
@brief
@dataclass(frozen=True, eq=False)
class OptimalMotion:
    """A motion from rest to rest, as `optimal_motion` returns it. It is a reference of the joints.

    Attributes
    ----------
    times : (k,)
        Times of the grid, from 0 to the motion's duration [s].
    q, qd : (k, nq), (k, n)
        Coordinates and rates of the complete arm at these times, in the native simulation of the torques.
    u : (k, m)
        Inputs. If `linear`, they are straight lines between the times. Otherwise each is constant from one time to the
        next, and the last one holds from the end on.
    linear : bool
    pieces : (k - 1, 6, joints)
        Polynomials of the joints' coordinates in each interval: coefficients, the highest power first, in the share of
        the interval that has passed. They have the simulation's coordinates, rates and accelerations at both ends.
    on_inputs : (k, m)
        Multipliers of the limits on the inputs, cost per unit of input: positive where the upper limit is active,
        negative where the lower is. In the fastest motion they change sign as the switching function does. NaN if they
        could not be computed.
    on_limits : dict
        For each other given limit, by name: the size of its largest multiplier in every interval, (k - 1,). The unit is
        cost per unit of the limited quantity, and at `torque_rate` per unit of the input's change.
    report : dict
        Result of the search:

        - `cost`
        - `end_error` [m], the distance of the tip from its goal at the end
        - `residual` [m], how far the tip then swings with the drives held; zero for a free base, where it is not
          computed
        - `end_rate`, the largest rate that is left
        - `excess`, for each given limit on the states, by name: the largest amount by which the simulation exceeds it,
          also between `times`, in the unit of the limit
        - `intervals` in which the inputs are constant or linear: as a rule two for each interval of the last grid
        - `steps` of the solver
        - `status`
        - `rigid_duration` [s], the duration of the fastest motion of the same arm without flexibility, where the time
          is minimised
    """

    times: Array
    q: Array = field(repr=False)
    qd: Array = field(repr=False)
    u: Array = field(repr=False)
    linear: bool
    pieces: Array = field(repr=False)
    on_inputs: Array = field(repr=False)
    on_limits: Mapping[str, Array] = field(repr=False)
    report: Mapping[str, Any]

    @property
    def duration(self) -> float:
        """Duration of the motion [s]. The arm rests at the start before it and at the end after it."""
        return float(self.times[-1])

    @property
    def torques(self) -> Piecewise | Table:
        """Inputs of the motion, for `simulate`."""
        return torques(self.times, self.u, self.linear)

    def jumps(self) -> Array:
        """Times at which the acceleration jumps."""
        return self.times

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""
        return after_pieces(t, self.pieces[0, -1].tolist(), self.times.tolist(), self.pieces)

    def described(self) -> str:
        """Text with the ends, the duration, and a digest of the joints' motion."""
        digest = hashlib.sha256(np.ascontiguousarray(self.pieces).tobytes() + self.times.tobytes()).hexdigest()[:16]
        first, last = self.pieces[0, -1].tolist(), self.pieces[-1].sum(axis=0).tolist()
        return f"an optimal motion from {first} to {last} in {self.duration!r} s, joints' motion {digest}"


def torques(times: Array, u: Array, linear: bool) -> Piecewise | Table:
    """Inputs (k, m) at the given times: piecewise linear, or constant from one time to the next."""
    return Table(times, u, "linear") if linear else Piecewise(times, u)


def hermite(h: Array, q: Array, qd: Array, after: Array, before: Array) -> Array:
    """Quintic Hermite interpolation: polynomials of degree five in each interval, (k - 1, 6, joints).

    The variable is the share s of the interval that has passed. The arguments are the lengths h (k - 1,) of the
    intervals, the coordinates and rates (k, joints) at their ends, and the accelerations (k - 1, joints) at the
    beginning (`after`) and at the end (`before`) of each. The parabola of the beginning misses the end values by D, V,
    A. The cubic to quintic terms a, b, c supply these at s = 1: a + b + c, 3 a + 4 b + 5 c, 6 a + 12 b + 20 c.
    """
    h = h[:, None]
    begin, way, bend = q[:-1], qd[:-1] * h, after * h**2
    D, V, A = q[1:] - begin - way - bend / 2, qd[1:] * h - way - bend, before * h**2 - bend
    return np.stack([6 * D - 3 * V + A / 2, -15 * D + 7 * V - A, 10 * D - 4 * V + A / 2, bend / 2, way, begin], axis=1)
