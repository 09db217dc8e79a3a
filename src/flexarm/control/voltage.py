"""Torque controllers for motors with a voltage input."""

from dataclasses import dataclass, replace
from typing import Any, final

from flexarm.brief import brief
from flexarm.control.gains import actuated, actuators, inner_law
from flexarm.control.motors import Motors, with_torques
from flexarm.model import Model
from flexarm.simulation.law import Column, Controller, Law, clipped, parted


@final
@brief
@dataclass(frozen=True)
class VoltageDrive:
    """Voltages for the torques of a controller: V = R tau / (k_t G) + k_e G yd, where yd are the motors' rates.

    The controller is designed for the same arm with motors that take torques. The second term compensates the back-EMF.
    The torques are exact if motors have no inductance; otherwise they lag by L / R. Motors with a torque input are not
    changed. Voltages are saturated at the motors' limits, so that the controller's memory gets the torque that reaches
    the arm.

    Parameters
    ----------
    controller : Controller
        A controller that returns torques.
    """

    controller: Controller

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model."""
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
                """Return the controller's memory, which is computed from the applied torques."""
                volts, thrust = parted(applied, m)
                return after(ca.vertcat((volts - motors.emf * yd) * (motors.per_ampere / motors.resistance), thrust))

            return u, following

        return replace(inner, expression=expression)
