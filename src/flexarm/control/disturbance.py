"""Disturbance observer beside another controller."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from flexarm.attitude import local
from flexarm.brief import brief
from flexarm.checks import POSITIVE, checked_number, refused
from flexarm.control.free import fixed_base
from flexarm.control.gains import actuated, actuators, inner_law, rigid_arm, torques
from flexarm.description.closures import refuse_closures
from flexarm.model import Model
from flexarm.simulation.feedback import initial
from flexarm.simulation.law import Column, Controller, Law, parted
from flexarm.simulation.shown import show


@final
@brief
@dataclass(frozen=True)
class DisturbanceObserver:
    """A controller's output minus an estimate d of the disturbing torques, with d' = bandwidth (d* - d).

    d* are all torques that the nominal rigid arm lacks: loads, friction, errors of its parameters. The estimate comes
    from the momentum, d = bandwidth (M yd - z) with z' = C(y, yd)' yd - the other forces + u + d, and needs no
    acceleration (De Luca & Mattone 2003). u is the torque after limits and delays, so that d does not wind up. On a
    rigid arm the estimate of a constant torque is exact, and the controller then acts as on the nominal arm.

    The actuators' encoders measure y. On a flexible arm the vibrations are among the disturbances, so that the
    bandwidth must stay well below the vibration that the controller leaves.

    Parameters
    ----------
    controller : Controller
        Controller whose output is corrected.
    bandwidth : float
        Bandwidth of the estimate [rad/s]. A sampled estimate has the pole exp(-bandwidth period).
    """

    controller: Controller
    bandwidth: float

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model; its memory is the controller's and z.

        Raises `DescriptionError` if an argument does not fit, and for arms with a free base, closures, passive joints
        or voltage inputs.
        """
        import casadi as ca

        m = actuators("DisturbanceObserver", model, period)
        torques("DisturbanceObserver", model)
        fixed_base("DisturbanceObserver", model, "leave DisturbanceObserver out")
        refuse_closures(model, "DisturbanceObserver")
        with refused("DisturbanceObserver"):
            omega = checked_number(self.bandwidth, "rad/s", POSITIVE, "bandwidth")
        inner, B_T = inner_law("DisturbanceObserver", self.controller, model, period), actuated(model)
        rate = omega if period is None else -np.expm1(-omega * period) / period
        rigid = rigid_arm("DisturbanceObserver", model)
        momentum = rigid.fixed("mass_matrix")
        restoring, damping = rigid.fixed("restoring_force"), rigid.fixed("damping_force")
        x, xd = ca.SX.sym("y", m), ca.SX.sym("yd", m)
        kinetic = ca.dot(xd, momentum(x) @ xd) / 2
        turned = ca.Function("turned", [x, xd], [ca.gradient(kinetic, x)])  # C(y, yd)' yd

        def expression(t: Any, q: Column, qd: Column, z: Column, *more: Column) -> tuple[Column, Any]:
            own, z = parted(z, len(inner.memory))
            y, yd = B_T @ q, B_T @ qd
            d = rate * (momentum(y) @ yd - z)
            u, after = inner(t, q, qd, own, *more)
            show("disturbance", d, [model.velocities[i] for i in model.arm.driven], "as that of u")
            forces = turned(y, yd) - restoring(y) - damping(y, yd) + d

            def following(applied: Column) -> Column:
                slope = forces + applied
                return ca.vertcat(after(applied), slope if period is None else z + period * slope)

            return u - d, following

        q0, qd0 = initial(model, inner.reference)
        start = np.array(momentum(B_T @ local(model.arm, q0)) @ (B_T @ qd0)).ravel()
        return replace(inner, expression=expression, memory=(*inner.memory, *start.tolist()))
