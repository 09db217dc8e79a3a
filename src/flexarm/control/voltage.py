"""Torque laws for motors that have a voltage for input."""

from dataclasses import dataclass, replace
from typing import Any, final

from flexarm.control.gains import actuated, actuators, inner_law
from flexarm.control.motors import Motors, with_torques
from flexarm.model import Model
from flexarm.simulation.law import Column, Controller, Law, clipped, parted


@final
@dataclass(frozen=True)
class VoltageDrive:
    """The voltages for the torques that a controller gives: V = R tau / (k_t G) + k_e G yd, yd the motors' rates.

    The controller is designed for the same arm with motors that take torques; the second term makes up for the
    back-EMF. Exact where motors have no inductance; else the torque lags behind by L / R. Where motors take torques
    nothing is changed. Voltages are cut off at the motors' limits, so that a memory knows what reaches the arm.

    Parameters
    ----------
    controller : Controller
        One that gives torques.
    """

    controller: Controller

    def law(self, model: Model, period: float | None = None) -> Law:
        """The law for a model."""
        m = actuators("VoltageDrive", model, period)
        inner = inner_law("VoltageDrive", self.controller, Model(with_torques(model.arm_at())), period)
        motors, B_T = Motors.of(model), actuated(model)

        def expression(t: Any, q: Column, qd: Column, z: Column, *more: Column) -> tuple[Column, Any]:
            import casadi as ca

            torque, after = inner(t, q, qd, z, *more)
            torque, thrust = parted(torque, m)
            yd = B_T @ qd
            u = ca.vertcat(clipped(motors.inputs(torque, yd), motors.highest), thrust)

            def following(applied: Column) -> Column:
                """In torques, as the controller knows them."""
                volts, thrust = parted(applied, m)
                return after(ca.vertcat((volts - motors.emf * yd) * (motors.per_ampere / motors.resistance), thrust))

            return u, following

        return replace(inner, expression=expression)
