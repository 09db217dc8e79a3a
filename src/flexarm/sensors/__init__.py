"""Sensors: measured quantities of an arm, as outputs of the model, and readings of a real instrument.

    outputs(model, [Encoder(coordinate="upper.drive"), StrainGauge(link="upper")]).values(q, qd, u)
    model.linearize(q, qd, u, outputs=[TipPosition(axes="xy")])
    sensor_readings([Encoder(coordinate="upper.drive", sample_time=1e-3, resolution=1e-4)], model, result, seed=1)

A sensor is an expression in q, qd and qdd. Every sensor has four fields that describe its sampling and do not change
that expression: `sample_time` [s], `resolution` and `noise` in the unit of its signals, and a `name` for its signals.
"""

from typing import Any

from flexarm.renamed import renamed
from flexarm.sensors.joints import Encoder, JointTorque, MotorCurrent, MotorTorque, Tachometer
from flexarm.sensors.links import CableTension, ContactForce, StrainGauge, TipDeflection
from flexarm.sensors.model_outputs import Outputs, outputs
from flexarm.sensors.places import coordinate_unit
from flexarm.sensors.readings import sensor_readings
from flexarm.sensors.sampling import Sampling
from flexarm.sensors.sections import Accelerometer, Clearance, Gyroscope, StarTracker, TipPosition, TipVelocity

__all__ = [
    "Accelerometer",
    "CableTension",
    "Clearance",
    "ContactForce",
    "Encoder",
    "Gyroscope",
    "JointTorque",
    "MotorCurrent",
    "MotorTorque",
    "Outputs",
    "Sampling",
    "StarTracker",
    "StrainGauge",
    "Tachometer",
    "TipDeflection",
    "TipPosition",
    "TipVelocity",
    "coordinate_unit",
    "outputs",
    "sensor_readings",
]


def __getattr__(name: str) -> Any:
    return renamed(__name__, {"sampled": "sensor_readings"}, name)
