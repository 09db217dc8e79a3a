"""The model of an arm: traced once, compiled on demand, called with arrays; its outputs, its modes and linear form."""

from flexarm.model.core import Model
from flexarm.model.linear import signal
from flexarm.model.outputs import Sensor
from flexarm.model.tracing import QUANTITIES
from flexarm.model.varied import variable

__all__ = ["QUANTITIES", "Model", "Sensor", "signal", "variable"]
