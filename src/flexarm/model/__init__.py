"""The model of an arm, its outputs, its modes and its linear form. It is traced once and compiled on demand.

- `core` has the class `Model`, and `tracing` its functions with their slopes, traced and compiled on first use.
- `evaluation` calls them with arrays. `faults`, `attitudes` and `exogenous` check values and arguments.
- `varied` has parameters that vary, and `user_code` the cache keys of classes from outside the package.
- `linear` has modes and linear models, `outputs` sensor signals, `regressor` slopes with respect to parameters, and
  `drawing` positions of sections.
- `local` and `adrift` are for free bases, `closures`, `assembly` and `driven` for closed loops, `payloads` for the
  inertia of payloads.
"""

from flexarm.model.core import Model, ModelLike, as_model
from flexarm.model.linear import signal
from flexarm.model.outputs import Sensor
from flexarm.model.tracing import QUANTITIES
from flexarm.model.varied import variable

__all__ = ["QUANTITIES", "Model", "ModelLike", "Sensor", "as_model", "signal", "variable"]
