"""Linear-quadratic control along a reference, with gains that follow the configuration."""

import json
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.checks import POSITIVE, Fault, checked_number, shown
from flexarm.control.equilibrium import Array, checked_joints, equilibrium, rest
from flexarm.control.gains import times
from flexarm.control.lqr import regulator
from flexarm.control.timescales import interpolated, time_scales
from flexarm.errors import DescriptionError
from flexarm.mechanics.spatial import Vector
from flexarm.model import Model
from flexarm.simulation.feedback import Law
from flexarm.trajectory import Reference, jumps_of, reference_values


@final
@dataclass(frozen=True)
class ScheduledLQR:
    """u = u_r - K(t) (x - x_r): the gains of `LQR` at points of a reference, between them on straight lines in time.

    u_r is the inverse dynamics of the rigid arm along the reference and x_r the state that goes with it, deflections
    included (`TimeScales.along`), with what equilibrium adds under gravity, interpolated too. At rest at a point the
    law is that of `LQR` there, to a ten-thousandth of the gains. The whole state must be known.

    Parameters
    ----------
    reference : Reference
        Of all joints.
    points : int
        At equal intervals from t = 0 to where the reference comes to rest; at least 2.
    Q, R, bandwidth
        See `LQR`; the defaults are made anew at each point.
    until : float, optional
        Time of the last point [s], needed where the reference never comes to rest.
    """

    reference: Reference
    points: int = 9
    Q: Any = None
    R: Any = None
    bandwidth: float | None = None
    until: float | None = None

    def law(self, model: Model, period: float | None = None) -> Law:
        """The law for a model; with a period, of gains for a zero-order hold. See `LQR.law` for what it raises.

        Facts: `times` (points,), `joints` (points, m), `K` (points, m, 2n), `poles` (points, 2n).
        """
        n, m, reference = len(model.coordinates), len(model.inputs), self.reference
        if not m:
            raise DescriptionError(f"ScheduledLQR: arm {model.arm.name!r} has no actuator")
        scales = time_scales(model)
        nodes = self._nodes()
        joints = reference_values(reference, nodes)
        checked_joints("ScheduledLQR: the reference", joints[0], model)
        gains, poles = [], []
        for t, at in zip(nodes, joints, strict=True):
            q, u = equilibrium(model, at)
            found = regulator(f"ScheduledLQR at t = {t:.4g} s", model, q, u, self.Q, self.R, self.bandwidth, period)
            gains.append(found[0])
            poles.append(found[1])
        beyond = [np.concatenate(scales.beyond_first_order(at))[:, None] for at in joints]

        def expression(t: Any, q: Vector, qd: Vector, z: Vector, noise: Vector) -> tuple[Vector, Vector]:
            u_r, x_r = scales.along(reference, t)
            more = interpolated(beyond, nodes, t, [1.0])
            still = times(scales.T[:, m:], more[m:]) + [0.0] * n
            x = [a - b - c for a, b, c in zip([*q, *qd], x_r, still, strict=True)]
            return [a + b - c for a, b, c in zip(u_r, more[:m], interpolated(gains, nodes, t, x), strict=True)], []

        facts = {"times": nodes, "joints": joints, "K": np.array(gains), "poles": np.array(poles)}
        numbers = [nodes.tolist(), facts["K"].tolist(), np.array(beyond).tolist()]
        key = json.dumps(["ScheduledLQR", reference.described(), *numbers])
        return Law(expression, key, jumps=np.union1d(jumps_of(reference), nodes), facts=facts)

    def _nodes(self) -> Array:
        if isinstance(self.points, bool) or not isinstance(self.points, int) or self.points < 2:
            raise DescriptionError(
                f"ScheduledLQR: points is {shown(self.points)}; it must be a whole number, at least 2"
            )
        if self.until is not None:
            try:
                end = checked_number(self.until, "s", POSITIVE, "until")
            except Fault as fault:
                raise DescriptionError(f"ScheduledLQR: {fault.part} {fault.message}") from None
            return np.linspace(0.0, end, self.points)
        found = rest(self.reference)
        if found is None:
            raise DescriptionError("ScheduledLQR: the reference never comes to rest; give until")
        if found[0] == 0.0:
            raise DescriptionError("ScheduledLQR: the reference does not move; use LQR")
        return np.linspace(0.0, found[0], self.points)
