"""An optimal motion: a reference of the joints with its torques, and an account of how it was found."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from flexarm.simulation.inputs import Piecewise, Table
from flexarm.trajectory.reference import share

Array = np.ndarray


@final
@dataclass(frozen=True, eq=False)
class OptimalMotion:
    """A motion from rest to rest, as `optimal_motion` gives it: a reference of the joints, usable wherever one is.

    Attributes
    ----------
    times : (k,)
        Of the grid, from 0 to the motion's duration [s].
    q, qd : (k, nq), (k, n)
        The whole arm's coordinates and rates then, in the native simulation of the torques.
    u : (k, m)
        Inputs: held from each time to the next, the last from the end on; or, where `linear`, straight lines between.
    linear : bool
    pieces : (k - 1, 6, joints)
        The joints' coordinates in each interval: coefficients of a polynomial in the share of it passed, the highest
        power first. It has the simulation's coordinates, rates and accelerations at both ends.
    on_inputs : (k, m)
        Multipliers of the limits on the inputs: positive where the upper one is active, negative where the lower is;
        per unit of input, of the cost. Where the motion is the fastest they change sign as the switching function does.
    on_limits : dict
        Of the other limits that are given, by name: the size of the largest multiplier of each in every interval,
        (k - 1,); per unit of what is limited, of the cost, at `torque_rate` per unit of the input's change.
    report : dict
        `cost`; `end_error` [m], by which the tip misses its place at the end; `residual` [m], how far
        it then swings with the drives held, zero of a free base, of which it is not looked at; `end_rate`, the largest
        rate left; `intervals` of the search, over each of which inputs are held or straight; `steps` of the solver;
        `status`; `rigid_duration` [s], the fastest motion's of the same arm without flexibility, where the time is
        minimised.
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
        """Of the motion [s]; before it the arm stands at the start, after it at the end."""
        return float(self.times[-1])

    @property
    def torques(self) -> Piecewise | Table:
        """The inputs, for `simulate`."""
        return torques(self.times, self.u, self.linear)

    def jumps(self) -> Array:
        """Where the acceleration jumps."""
        return self.times

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t: the way made in each interval, summed."""
        q: list[Any] = self.pieces[0, -1].tolist()
        for begin, end, piece in zip(self.times[:-1], self.times[1:], self.pieces, strict=True):
            s = share(t, float(begin), float(end))
            for i, c in enumerate(piece.T.tolist()):
                q[i] = q[i] + s * (c[4] + s * (c[3] + s * (c[2] + s * (c[1] + s * c[0]))))
        return q

    def described(self) -> str:
        """Ends, duration, and a digest of the joints' motion."""
        digest = hashlib.sha256(np.ascontiguousarray(self.pieces).tobytes() + self.times.tobytes()).hexdigest()[:16]
        first, last = self.pieces[0, -1].tolist(), self.pieces[-1].sum(axis=0).tolist()
        return f"an optimal motion from {first} to {last} in {self.duration!r} s, joints' motion {digest}"


def torques(times: Array, u: Array, linear: bool) -> Piecewise | Table:
    """Inputs (k, m) from times on: straight lines between these, or held."""
    return Table(times, u, "linear") if linear else Piecewise(times, u)


def hermite(h: Array, q: Array, qd: Array, after: Array, before: Array) -> Array:
    """Polynomials of degree five (k - 1, 6, joints) in the share s passed of intervals of lengths h (k - 1,), of
    coordinates and rates (k, joints) at the ends, and accelerations (k - 1, joints) at the beginning and at the end of
    each. Quintic Hermite interpolation: what D, V, A are short of beyond the beginning's own parabola, at s = 1, is the
    cubic to quintic terms' a + b + c, 3 a + 4 b + 5 c, 6 a + 12 b + 20 c."""
    h = h[:, None]
    begin, way, bend = q[:-1], qd[:-1] * h, after * h**2
    D, V, A = q[1:] - begin - way - bend / 2, qd[1:] * h - way - bend, before * h**2 - bend
    return np.stack([6 * D - 3 * V + A / 2, -15 * D + 7 * V - A, 10 * D - 4 * V + A / 2, bend / 2, way, begin], axis=1)
