"""A motion of the complete arm: its states and inputs at all times, and the linear models of the arm along it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.cached import cached_property
from flexarm.checks import Fault, checked_array, checked_flag, refused, shown
from flexarm.control.equilibrium import rest
from flexarm.control.gains import followed
from flexarm.control.timescales import time_scales
from flexarm.description.closures import refuse_closures
from flexarm.description.joints import refuse_balls
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.trajectory import reference_values

if TYPE_CHECKING:
    from scipy.interpolate import CubicHermiteSpline

POINTS = 401
"""Number of times at which the motion of a reference is evaluated."""
NODES = 17
"""Number of these times at which the equilibrium is found."""


@final
@dataclass(frozen=True, eq=False)
class Motion:
    """A motion that an arm makes under known torques.

    Attributes
    ----------
    times : (k,)
        From 0 on [s].
    q, qd : (k, n)
        Coordinates and rates. Between the times the motion is a cubic with these values at its ends.
    u : (k, m)
    held : bool
        True if each u is constant until the next time, False if u is linear between the times.
    """

    times: Array
    q: Array
    qd: Array
    u: Array
    held: bool

    @property
    def end(self) -> float:
        """The last time of the motion [s]."""
        return float(self.times[-1])

    @property
    def jumps(self) -> Array:
        """Times at which u jumps."""
        return self.times[1:][(np.diff(self.u, axis=0) != 0).any(axis=1)] if self.held else np.empty(0)

    @cached_property
    def _path(self) -> "CubicHermiteSpline":
        from scipy.interpolate import CubicHermiteSpline

        return CubicHermiteSpline(self.times, self.q, self.qd)

    def states(self, t: Array) -> tuple[Array, Array]:
        """q and qd (times, n) at times within the motion."""
        return self._path(t), self._path(t, 1)

    def inputs(self, t: Array) -> Array:
        """u (times, m) at times within the motion, from the right at a jump."""
        if self.held:
            return self.u[np.searchsorted(self.times, t, side="right") - 1]
        return np.stack([np.interp(t, self.times, row) for row in self.u.T], axis=1)

    def means(self, edges: Array, after: Array) -> Array:
        """Mean of u from each of the edges to the next (k - 1, m). After the motion u is `after` (m,)."""
        if self.held:
            gathered = np.cumsum(np.diff(self.times)[:, None] * self.u[:-1], axis=0)
        else:
            gathered = np.cumsum(np.diff(self.times)[:, None] * (self.u[:-1] + self.u[1:]) / 2, axis=0)
        gathered = np.vstack([np.zeros((1, self.u.shape[1])), gathered])
        inside = np.minimum(edges, self.end)
        k = np.clip(np.searchsorted(self.times, inside, side="right") - 1, 0, len(self.times) - 2)
        passed = (inside - self.times[k])[:, None]
        slope = 0.0 if self.held else np.diff(self.u, axis=0)[k] / np.diff(self.times)[k][:, None]
        total = gathered[k] + passed * (self.u[k] + passed * slope / 2) + (edges - inside)[:, None] * after
        return np.diff(total, axis=0) / np.diff(edges)[:, None]


def motion_of(what: str, model: Model, times: Any, q: Any, qd: Any, u: Any, held: Any) -> Motion:
    """Return a motion of a model's arm; raises `DescriptionError` if the parts do not fit."""
    n, m = model.nv, len(model.inputs)
    with refused(what):
        t, q, qd, u = (checked_array(x, name) for x, name in ((times, "times"), (q, "q"), (qd, "qd"), (u, "u_ref")))
        held = checked_flag(held, "hold")
        if t.ndim != 1 or len(t) < 2:
            raise Fault("times", f"has shape {t.shape}; it must be a list of at least two numbers")
        u = u[:, None] if u.ndim == 1 and m == 1 else u
        for x, name, columns in ((q, "q", n), (qd, "qd", n), (u, "u_ref", m)):
            if x.shape != (len(t), columns):
                arm = f"arm {model.arm.name!r} has {columns} {'inputs' if name == 'u_ref' else 'coordinates'}"
                raise Fault(name, f"has shape {x.shape}; it must be {(len(t), columns)}: {len(t)} times, {arm}")
        if t[0] != 0.0 or not (np.diff(t) > 0).all():
            raise Fault("times", f"begin at {shown(float(t[0]))} s; they must begin at 0 s and increase")
    return Motion(t, q, qd, u, held)


def held_of(given: Any, hold: Any) -> Any:
    """True if each u of a motion is constant until the next time: `hold` if it is given, else as the motion has it."""
    return not getattr(given, "linear", True) if hold is None else hold


def slow_motion(what: str, model: Model, given: Any) -> Motion:
    """Return the motion of an arm that follows a reference of its joints slowly: see `TimeScales.along`."""
    import casadi as ca

    reference = followed(what, given, model)
    found = rest(reference)
    if found is None:
        raise DescriptionError(f"{what}: the reference never comes to rest; give a reference that ends")
    if found[0] == 0.0:
        raise DescriptionError(f"{what}: the reference does not move; use LQR to hold the arm")
    scales, n, m = time_scales(model), model.nv, len(model.inputs)
    t = ca.SX.sym("t")
    along = ca.Function("along", [t], list(scales.along(reference, t)))
    times = np.linspace(0.0, found[0], POINTS)
    u, x = (np.array(part).T for part in along(times[None]))
    nodes = np.linspace(0.0, found[0], NODES)
    found_there = [np.concatenate(scales.beyond_first_order(at)) for at in reference_values(reference, nodes)]
    more = np.stack([np.interp(times, nodes, row) for row in np.array(found_there).T], axis=1)
    return Motion(times, x[:, :n] + more[:, m:] @ scales.T[:, m:].T, x[:, n:], u + more[:, :m], False)


def linear_models(model: Model, motion: Motion, t: Array) -> tuple[Array, Array]:
    """Linear models dx/dt = A x + B u of small deviations x = (q, qd) from a motion, by exact derivatives.

    Returns A (k, 2n, 2n) and B (k, 2n, m) at times (k,).
    """
    refuse_closures(model, "a controller along a motion")
    refuse_balls(model, "a controller along a motion")
    (q, qd), u, n = motion.states(t), motion.inputs(t), model.nv
    to_q, to_qd, to_u = (stacked(model.slope("forward_dynamics", to), q, qd, u) for to in ("q", "qd", "u"))
    zero, one = np.zeros((len(t), n, n)), np.broadcast_to(np.eye(n), (len(t), n, n))
    A = np.concatenate([np.concatenate([zero, one], axis=2), np.concatenate([to_q, to_qd], axis=2)], axis=1)
    return A, np.concatenate([np.zeros_like(to_u), to_u], axis=1)


def stacked(function: Any, *rows: Array) -> Array:
    """Evaluate a function's matrix for each of the rows of its arguments: (k, rows, columns)."""
    import casadi as ca

    if not isinstance(function, ca.Function):  # of a model with variable parameters, whose values are inserted
        x = [ca.SX.sym("x", row.shape[1]) for row in rows]
        function = ca.Function("stacked", x, [function(*x)])
    found = np.array(function.map(len(rows[0]))(*(row.T for row in rows)))
    return np.moveaxis(found.reshape(len(found), len(rows[0]), -1), 1, 0)
