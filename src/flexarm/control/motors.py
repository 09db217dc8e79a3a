"""Motor parameters that a controller needs for each input, and the voltage for a torque."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.description.arm import Arm
from flexarm.description.motors import Motor
from flexarm.model import Model


@final
@dataclass(frozen=True)
class Motors:
    """Parameters of an arm's motors, each (m,), on the joint's side of the gear.

    Attributes
    ----------
    per_ampere : k_t G [N m/A]
    emf : k_e G [V s/rad]
    resistance : [ohm]
        A motor with a torque input has 1, 0 and 1 for these three.
    inductance : [H]
        0 if the current is no state.
    highest : [V], or [N m] of a torque
        Limit of the input; infinite if there is none.
    currents : list of int
        Indices of the currents among the states of the arm's drives.
    """

    per_ampere: Array
    emf: Array
    resistance: Array
    inductance: Array
    highest: Array
    currents: list[int]

    @classmethod
    def of(cls, model: Model) -> "Motors":
        """Return the motors of a model's arm, with the values of its parameters."""
        rows, currents, passed = [], [], 0
        for link in model.arm_at().links:
            drive = getattr(link.joint, "drive", None)
            motor = drive and drive.motor
            if drive is not None:
                before = list(drive.parts.values())
                before = before[: before.index(motor)] if motor else before
                place = passed + sum(len(part.states) for part in before)
                currents += [place] if motor and motor.states else []
            passed += len(link.joint.states)
            if link.joint.actuated:
                rows.append(_numbers(motor, getattr(link.joint, "gear_ratio", 1.0)))
        kt, ke, R, L, most = np.array(rows, dtype=float).T.reshape(5, len(rows))
        return cls(kt, ke, R, L, most, currents)

    def inputs(self, torque: Any, rate: Any) -> Any:
        """Inputs for given torques at the actuators' rates, with settled currents: V = R tau / (k_t G) + k_e G rate.

        At a motor with a torque input, the input is the torque.
        """
        return (self.resistance / self.per_ampere) * torque + self.emf * rate


def _numbers(motor: Motor | None, G: float) -> tuple[float, ...]:
    if motor is None or motor.torque_constant is None or motor.resistance is None:
        most = None if motor is None else motor.torque_limit
        return 1.0, 0.0, 1.0, 0.0, np.inf if most is None else most
    kt, most = motor.torque_constant, motor.voltage_limit
    ke = kt if motor.back_emf_constant is None else motor.back_emf_constant
    return kt * G, ke * G, motor.resistance, motor.inductance or 0.0, np.inf if most is None else most


def with_torques(arm: Arm) -> Arm:
    """Return the same arm with ideal torque motors without limits for its voltage motors. Gears keep their losses."""
    links = []
    for link in arm.links:
        drive = getattr(link.joint, "drive", None)
        if drive is not None and drive.motor is not None and drive.motor.input == "voltage":
            motor = drive.motor
            kept = {name: getattr(motor, name) for name in ("efficiency", "back_efficiency", "efficiency_rate")}
            told = Motor(**kept)
            joint = link.joint.replace(drive=drive.replace(motor=told))
            link = link.replace(joint=joint)
        links.append(link)
    return arm.replace(links=links)
