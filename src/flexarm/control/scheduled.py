"""Linear-quadratic control along a reference, with gains that follow the configuration."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import POSITIVE, checked_number, refused, shown
from flexarm.control.equilibrium import equilibrium, rest
from flexarm.control.free import fixed_base
from flexarm.control.gains import actuators, designing, followed, torques
from flexarm.control.lqr import regulator
from flexarm.control.tables import interpolated
from flexarm.control.timescales import time_scales
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.law import Column, Law, parted
from flexarm.trajectory import Reference, jumps_of, reference_values

MOST_POINTS = 1000


@final
@brief
@dataclass(frozen=True)
class ScheduledLQR:
    """Gain-scheduled LQR: u = u_r - K(t) (x - x_r), with the gains of `LQR` at points of a reference.

    The gains are interpolated linearly in time. u_r is the inverse dynamics of the rigid arm along the reference. x_r
    is the state that belongs to it, deflections included (`TimeScales.along`). Both are completed by the second-order
    effect of gravity, also interpolated. At rest at a point the controller is that of `LQR` there, within a
    ten-thousandth of the gains. The controller needs the complete state.

    Parameters
    ----------
    reference : Reference
        Reference of all joints.
    points : int
        Number of points, at least 2, at equal intervals from t = 0 to the time at which the reference comes to rest.
    Q, R, bandwidth
        See `LQR`; the defaults are computed at each point.
    until : float, optional
        Time of the last point [s], required if the reference never comes to rest.
    """

    reference: Reference
    points: int = 9
    Q: ArrayLike | None = None
    R: ArrayLike | None = None
    bandwidth: float | None = None
    until: float | None = None

    @designing("ScheduledLQR")
    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model. With a period, its gains are for a zero-order hold.

        Facts: `times` (points,), `joints` (points, m), `K` (points, m, 2n), `poles` (points, 2n). See `LQR.law` for
        errors.
        """
        m = actuators("ScheduledLQR", model, period)
        fixed_base("ScheduledLQR", model, "use LQR with a reference")
        torques("ScheduledLQR", model)
        reference = followed("ScheduledLQR", self.reference, model)
        scales = time_scales(model)
        nodes = self._nodes(reference)
        joints = reference_values(reference, nodes)
        gains, poles = [], []
        for t, at in zip(nodes, joints, strict=True):
            q, u = equilibrium(model, at)
            found = regulator(f"ScheduledLQR at t = {t:.4g} s", model, q, u, self.Q, self.R, self.bandwidth, period)
            gains.append(found[0])
            poles.append(found[1])
        beyond = [np.concatenate(scales.beyond_first_order(at))[:, None] for at in joints]

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            import casadi as ca

            u_r, x_r = scales.along(reference, t)
            du, dzeta = parted(interpolated(beyond, nodes, t, ca.SX(1.0)), m)
            x = ca.vertcat(q - scales.T[:, m:] @ dzeta, qd) - x_r
            return u_r + du - interpolated(gains, nodes, t, x), []

        facts = {"times": nodes, "joints": joints, "K": np.array(gains), "poles": np.array(poles)}
        return Law(expression, jumps=np.union1d(jumps_of(reference), nodes), reference=reference, facts=facts)

    def _nodes(self, reference: Reference) -> Array:
        if isinstance(self.points, bool) or not isinstance(self.points, int) or self.points < 2:
            raise DescriptionError(
                f"ScheduledLQR: points is {shown(self.points)}; it must be a whole number, at least 2"
            )
        if self.points > MOST_POINTS:
            raise DescriptionError(f"ScheduledLQR: points is {shown(self.points)}; at most {MOST_POINTS} are allowed")
        if self.until is not None:
            with refused("ScheduledLQR"):
                end = checked_number(self.until, "s", POSITIVE, "until")
            return np.linspace(0.0, end, self.points)
        found = rest(reference)
        if found is None:
            raise DescriptionError("ScheduledLQR: the reference never comes to rest; give its end as until [s]")
        if found[0] == 0.0:
            raise DescriptionError("ScheduledLQR: the reference does not move; use LQR to hold the arm")
        return np.linspace(0.0, found[0], self.points)
