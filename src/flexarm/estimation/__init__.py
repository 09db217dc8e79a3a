"""Nonlinear estimation of states, parameters and disturbances from sensors.

`estimators` has the descriptions of the filters: EKF, UKF. `running` is a filter on a model, and `loops` is its native
code. `record` estimates from records, and `consistency` checks innovations and errors.
"""

from flexarm.estimation.consistency import consistency
from flexarm.estimation.estimators import EKF, UKF
from flexarm.estimation.record import estimate

__all__ = ["EKF", "UKF", "consistency", "estimate"]
