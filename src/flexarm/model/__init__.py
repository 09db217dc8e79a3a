"""The model of an arm, its outputs, its modes and its linear form. It is traced once and compiled on demand."""

from flexarm.model.core import Model, ModelLike, as_model
from flexarm.model.linear import signal
from flexarm.model.outputs import Sensor
from flexarm.model.tracing import QUANTITIES
from flexarm.model.varied import variable

__all__ = ["QUANTITIES", "Model", "ModelLike", "Sensor", "as_model", "signal", "variable"]
