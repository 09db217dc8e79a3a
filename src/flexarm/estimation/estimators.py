"""Descriptions of nonlinear filters: what is unknown, and how large noise and disturbances are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from numpy.typing import ArrayLike

from flexarm.brief import brief
from flexarm.checks import Fault, checked_whole, refused, shown
from flexarm.estimation.running import Running
from flexarm.estimation.settings import Estimator
from flexarm.model import Model

MOST = 10_000
"""Largest number of periods of a horizon, and of iterations."""


@dataclass(frozen=True, kw_only=True)
class NonlinearFilter(Estimator):
    """An estimator that begins on a model. See `Estimator` for the parameters."""

    @property
    def window(self) -> tuple[int, int]:
        """Number of periods in the window, and of iterations for each sample. Filters without a window have none."""
        return 0, 1

    def begin(
        self,
        model: Model,
        sensors: Sequence[Any],
        period: float,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
    ) -> Running:
        """Return the filter on a model, before its first sample, with an initial guess of the state.

        Raises `DescriptionError` if a part does not fit the arm.
        """
        return Running(self, model, sensors, period, q, qd, *self.window)


@final
@brief
@dataclass(frozen=True, kw_only=True)
class EKF(NonlinearFilter):
    """The extended Kalman filter, with exact derivatives of the Runge-Kutta steps and of the sensors.

    See `Estimator` for the parameters. (Kailath, Sayed & Hassibi, Linear Estimation, 2000, sections 9.7 and 12.3.)
    """


@final
@brief
@dataclass(frozen=True, kw_only=True)
class UKF(NonlinearFilter):
    """The unscented Kalman filter with equal weights, also called cubature filter.

    The covariance follows 2 N points X +- sqrt(N) s_j, where s_j are the N columns of its square root, random torques
    included. No weight is negative, so the covariance remains positive. The filter takes about 1.5 times as long as
    `EKF`. See `Estimator` for the parameters. (Arasaratnam & Haykin, IEEE Trans. Automatic Control 54, 2009, 1254-1269,
    section VII.)
    """

    @property
    def linear(self) -> bool:
        """False, since the covariance follows points."""
        return False


@final
@brief
@dataclass(frozen=True, kw_only=True)
class MovingHorizon(NonlinearFilter):
    """Moving horizon estimation: the most likely motion over the last samples, by a Gauss-Newton method.

    At each sample the estimate minimises the squares of the readings' errors, of the random torques and accelerations
    and of the error at the beginning of the window, each divided by its standard deviation, for the nonlinear equations
    over the window. An extended filter summarises the samples before the window. A positive parameter stays positive.
    With one iteration, periods are linearised again once their linear equations are wrong by more than 0.001 standard
    deviations. See `Estimator` for the further parameters. (Rao & Rawlings, AIChE J. 48, 2002, 97-109.)

    Parameters
    ----------
    horizon : int
        Number of periods in the window.
    iterations : int
        Most Gauss-Newton iterations for each sample. They continue those of the last sample, so that one is mostly
        enough, and end when they have converged.
    """

    horizon: int = 10
    iterations: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        with refused("MovingHorizon"):
            for name, value in (("horizon", self.horizon), ("iterations", self.iterations)):
                if checked_whole(value, 1, name) > MOST:
                    raise Fault(name, f"is {shown(value)}; at most {MOST} are allowed")

    @property
    def window(self) -> tuple[int, int]:
        """Number of periods in the window, and of iterations for each sample."""
        return self.horizon, self.iterations
