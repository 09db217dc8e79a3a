"""Nonlinear estimation of states, parameters and disturbances from sensors.

`estimators` has the descriptions of the filters: EKF, UKF, MovingHorizon. `settings` is their base class, and `running`
a filter on a model. Its native code is in `loops` (a step and a correction), `horizon` (a window of samples) and
`samples`. `record` estimates from records, and `consistency` checks innovations and errors.
"""

from flexarm.estimation.consistency import consistency
from flexarm.estimation.estimators import EKF, UKF, MovingHorizon
from flexarm.estimation.record import estimate

__all__ = ["EKF", "UKF", "MovingHorizon", "consistency", "estimate"]
