"""Cascaded control as in servo drives: position, velocity, current."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import checked_array, checked_flag, choices, refused, shown
from flexarm.control.gains import actuated, actuators, followed, gravity_torque, motion, of_all, rigid_arm, rigid_loops
from flexarm.control.motors import Motors
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.adrift import joint_forces, with_pose, without_momentum
from flexarm.simulation.law import Column, Law, clipped, limits, parted
from flexarm.trajectory import Reference, jumps_of

FEEDFORWARD = ("none", "gravity", "dynamics")


@final
@brief
@dataclass(frozen=True)
class Cascaded:
    """Cascaded control of each joint with its motor's encoder: position P, velocity PI, current PI.

    The encoders measure y = B' q and yd = B' qd.

    - Position: v* = rd + Kp (r - y).
    - Velocity: tau* = Kv (v* - yd) + w + feedforward, w' = (Kv / Ti) (v* - yd), saturated at `torque_limit`.
    - Current: A motor with a torque input gets tau*. A motor with a voltage input and no inductance gets
      V = R tau* / (k_t G) + k_e G yd. With inductance, i* = tau* / (k_t G) and V = Kc (i* - i) + v + k_e G yd. V is
      constant over a period. The gains give the current the single pole exp(-current_bandwidth period), because the
      zero of the PI controller cancels exp(-R period / L).

    The integrators have anti-windup (Hanus' conditioning). Each integrates the error that would have led to the
    saturated value.

    Parameters
    ----------
    reference : Reference, float or (m,)
        Reference of all joints, or their constant target positions. Motors of elastic joints follow it as well.
    Kp : float or (m,)
        Gain of the position loop [1/s].
    Kv : float or (m,)
        Gain of the velocity loop, on the joint's side [N m s/rad or N s/m].
    Ti : float or (m,)
        Reset time of the velocity loop [s]; infinite for none.
    rate : bool
        True to feed rd forward.
    feedforward : "none", "gravity" or "dynamics"
        Feedforward torque of the rigid arm: its gravity torque at y, or its complete inverse dynamics along the
        reference, with rotors and friction. An arm on a free base has no gravity torque. Its inverse dynamics assume
        that the base moves with zero momentum. With closures, the torques have the least sum of squares.
    torque_limit : float or (m,), optional
        Largest size of tau* [N m or N].
    current_bandwidth : float or (m,), optional
        [rad/s]. Default: half a radian per period.
    """

    reference: Reference | ArrayLike
    Kp: ArrayLike
    Kv: ArrayLike
    Ti: ArrayLike = float("inf")
    rate: bool = True
    feedforward: Literal["none", "gravity", "dynamics"] = "none"
    torque_limit: ArrayLike | None = None
    current_bandwidth: ArrayLike | None = None

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model.

        Its memory is w of the joints whose Ti is finite, then v of the motors with a current.
        """
        import casadi as ca

        m = actuators("Cascaded", model, period)
        Kp, Kv, Ti = (_each(name, getattr(self, name), m) for name in ("Kp", "Kv", "Ti"))
        with refused("Cascaded"):
            checked_flag(self.rate, "rate")
        reference, B_T = followed("Cascaded", self.reference, model), actuated(model)
        limit = (
            np.full(m, np.inf) if self.torque_limit is None else limits("Cascaded: torque_limit", self.torque_limit, m)
        )
        forward, motors = self._feedforward(model, reference, B_T), Motors.of(model)
        slow = motors.inductance > 0.0
        currents, gain, decay = motors.currents, motors.resistance, np.ones(m)
        if slow.any():
            gain, decay = _current_loops(motors, period, self._bandwidth(m, period))
        own, integrates = np.eye(m)[slow], np.eye(m)[np.isfinite(Ti)]

        def expression(t: Any, q: Column, qd: Column, z: Column, *more: Column) -> tuple[Column, Any]:
            y, yd = B_T @ q, B_T @ qd
            r, rd, _ = motion(reference, t)
            w, v = parted(z, len(integrates))
            i = own.T @ more[-1][currents] if slow.any() else ca.DM.zeros(m)
            error = Kp * (r - y) - yd + (rd if self.rate else 0.0)
            wanted = Kv * error + integrates.T @ w + forward(t, q)
            torque = clipped(wanted, limit)
            off = torque / motors.per_ampere - i
            full = gain * off + own.T @ v + motors.emf * yd
            u = clipped(full, motors.highest)
            off = off + (u - full) / gain  # the error that would have led to u
            given = motors.per_ampere * (off + i)
            rates = integrates @ (Kv / Ti * (error + (given - wanted) / Kv))
            following = w + period * rates if period is not None else rates
            return of_all(model, u), ca.vertcat(following, v + own @ ((1.0 - decay) * gain * off))

        memory, jumps = (0.0,) * (len(integrates) + len(own)), jumps_of(reference)
        facts = {"Kc": gain[slow], "windings": decay[slow]} if slow.any() else {}
        return Law(expression, memory, jumps=jumps, reference=reference, facts=facts, drives=bool(slow.any()))

    def _feedforward(self, model: Model, reference: Reference, B_T: Array) -> Callable[[Any, Column], Column]:
        """Return the feedforward torque of the rigid arm as a function of t and q."""
        if self.feedforward not in FEEDFORWARD:
            must = f"it must be {choices(*map(repr, FEEDFORWARD))}"
            raise DescriptionError(f"Cascaded: feedforward is {shown(self.feedforward)}; {must}")
        if self.feedforward == "none":
            return lambda t, q: 0.0
        if self.feedforward == "gravity":
            carried = gravity_torque("Cascaded", model)
            return lambda t, q: 0.0 if model.arm.free else carried(q, B_T @ q)
        if model.arm.closures:
            return _in_loops(model, reference)
        rigid = rigid_arm("Cascaded", model)
        inverse, rates = joint_forces(rigid), without_momentum(rigid)

        def along(t: Any, _: Column) -> Column:
            r, rd, rdd = motion(reference, t)
            q = with_pose(rigid, r)
            return inverse(q, rates(q, rd), rdd)

        return along

    def _bandwidth(self, m: int, period: float | None) -> Array:
        if self.current_bandwidth is not None:
            return _each("current_bandwidth", self.current_bandwidth, m)
        return np.full(m, 0.5 / period if period is not None else 1.0)


def _in_loops(model: Model, reference: Reference) -> Callable[[Any, Column], Column]:
    """Return the inverse dynamics of a rigid arm with closures along a reference, near the measured position."""
    driven = rigid_loops("Cascaded", model)

    def along(t: Any, q: Column) -> Column:
        r, rd, rdd = motion(reference, t)
        start, rates = driven.placed(model, q, r), driven.placed(model, 0 * q, rd)
        return driven.forces(*driven.closed(start, rates), rdd)

    return along


def _current_loops(motors: Motors, period: float | None, bandwidth: Array) -> tuple[Array, Array]:
    """Gains Kc [V/A] of the current controllers, and the decay factors of the windings' currents over a period.

    A constant V moves a current by i -> a i + (1 - a) V / R, a = exp(-R T / L). A PI controller with its zero at a
    leaves the pole 1 - Kc (1 - a) / R. A motor without inductance has no such dynamics, and V = R i.
    """
    if period is None:
        must = "its current controller must be sampled: use Sampled(Cascaded(...), period)"
        raise DescriptionError(f"Cascaded: a motor has inductance; {must}")
    slow, gain, decay = motors.inductance > 0.0, motors.resistance.copy(), np.ones(len(bandwidth))
    decay[slow] = np.exp(-period * motors.resistance[slow] / motors.inductance[slow])
    gain[slow] *= (1.0 - np.exp(-bandwidth[slow] * period)) / (1.0 - decay[slow])
    return gain, decay


def _each(name: str, value: Any, m: int) -> Array:
    """Check a positive number for each joint; Ti may be infinite."""
    with refused():
        given = checked_array(value, f"Cascaded: {name}", finite=name != "Ti")
    if given.shape not in ((), (m,)) or not (given > 0).all():
        must = f"it must be one positive number, or {m} of them, one per joint"
        raise DescriptionError(f"Cascaded: {name} is {shown(value)}; {must}")
    return np.broadcast_to(given, (m,)).copy()
