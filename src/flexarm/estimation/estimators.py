"""Descriptions of nonlinear filters: what is unknown, and how large noise and disturbances are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from numpy.typing import ArrayLike

from flexarm.brief import brief
from flexarm.checks import NOT_NEGATIVE, POSITIVE, Fault, checked_number, checked_whole, refused, shown
from flexarm.estimation.running import Running
from flexarm.model import Model

MOST = 10_000
"""Largest number of periods of a horizon, and of iterations."""


@dataclass(frozen=True, kw_only=True)
class Estimator:
    """A filter that estimates an arm's coordinates and rates, and further unknowns, from its sensors.

    The estimate follows the equations of the arm by Runge-Kutta steps, and the covariance their exact derivatives. All
    covariances are square roots, so that rounding cannot make them indefinite.

    Parameters
    ----------
    parameters : dict, optional
        Unknown parameters of the arm, with the standard deviation of each initial guess, in the parameter's unit:
        {"payload.mass": 0.05}. Names and symbols as in `Model(arm, vary=...)`. A positive parameter stays positive, as
        its logarithm is estimated.
    start : dict, optional
        Initial guesses of these parameters; default the values of the arm.
    disturbances : dict, optional
        Actuators with an unknown additional torque, and the standard deviation of its initial value, which is guessed
        as zero [N m or N]: {"upper.drive": 0.5}.
    drift : dict, optional
        Unknowns that are not constant, but follow a random walk, with the standard deviation of their change in 1 s:
        {"upper.drive": 0.2}.
    process : float, (m,) or (m, m)
        Standard deviation of the random torque at each actuator, constant over each period [N m or N].
    unmodelled : float
        Standard deviation of the random acceleration of every coordinate, constant over each period [rad/s^2 or m/s^2].
    deviation : float or (2 n,), optional
        Standard deviations of the initial coordinates and rates. Default: the stationary covariance of the filter for
        the arm linearised at the start, with all parameters known. Unknowns are independent of them at the start.
    step : float, optional
        Longest Runge-Kutta step [s]; default a radian of the fastest mode.
    """

    parameters: Mapping[str, float] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)
    disturbances: Mapping[str, float] = field(default_factory=dict)
    drift: Mapping[str, float] = field(default_factory=dict)
    process: ArrayLike = 0.1
    unmodelled: float = 1.0
    deviation: ArrayLike | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        with refused(self.label):
            for name, rule in (("parameters", POSITIVE), ("disturbances", POSITIVE), ("drift", NOT_NEGATIVE)):
                table = getattr(self, name)
                if not isinstance(table, Mapping):
                    raise Fault(name, f"is {shown(table)}; it must be a dict of standard deviations by name")
                for key, value in table.items():
                    checked_number(value, "", rule, f"{name} of {key}")
            if not isinstance(self.start, Mapping):
                raise Fault("start", f"is {shown(self.start)}; it must be a dict of initial guesses by name")
            for key, value in self.start.items():
                checked_number(value, "", part=f"start of {key}")
            checked_number(self.unmodelled, "rad/s^2 or m/s^2", NOT_NEGATIVE, "unmodelled")
            if self.step is not None:
                checked_number(self.step, "s", POSITIVE, "step")

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
        return Running(self, model, sensors, period, q, qd)

    @property
    def label(self) -> str:
        """Name of the class, for messages."""
        return type(self).__name__

    @property
    def linear(self) -> bool:
        """True if the covariance follows derivatives, False if it follows points."""
        return True


@final
@brief
@dataclass(frozen=True, kw_only=True)
class EKF(Estimator):
    """The extended Kalman filter, with exact derivatives of the Runge-Kutta steps and of the sensors.

    See `Estimator` for the parameters. (Kailath, Sayed & Hassibi, Linear Estimation, 2000, sections 9.7 and 12.3.)
    """


@final
@brief
@dataclass(frozen=True, kw_only=True)
class UKF(Estimator):
    """The unscented Kalman filter with equal weights, also called cubature filter.

    The covariance follows 2 N points X +- sqrt(N) s_j, where s_j are the N columns of its square root, random torques
    included. No weight is negative, so the covariance remains positive. The filter takes about twice the time of `EKF`.
    See `Estimator` for the parameters. (Arasaratnam & Haykin, IEEE Trans. Automatic Control 54, 2009, 1254-1269,
    section VII.)
    """

    @property
    def linear(self) -> bool:
        """False, since the covariance follows points."""
        return False


@final
@brief
@dataclass(frozen=True, kw_only=True)
class MovingHorizon(Estimator):
    """Moving horizon estimation: the most likely motion over the last samples, by a Gauss-Newton method.

    At each sample the estimate minimises the squares of the readings' errors, of the random torques and accelerations
    and of the error at the beginning of the window, each divided by its standard deviation, for the nonlinear equations
    over the window. An extended filter summarises the samples before the window. A positive parameter stays positive.
    See `Estimator` for the further parameters. (Rao & Rawlings, AIChE J. 48, 2002, 97-109.)

    Parameters
    ----------
    horizon : int
        Number of periods in the window.
    iterations : int
        Gauss-Newton iterations for each sample. They continue those of the last sample, so that one is mostly enough.
    """

    horizon: int = 10
    iterations: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        with refused("MovingHorizon"):
            for name, value in (("horizon", self.horizon), ("iterations", self.iterations)):
                if checked_whole(value, 1, name) > MOST:
                    raise Fault(name, f"is {shown(value)}; at most {MOST} are allowed")

    def begin(
        self,
        model: Model,
        sensors: Sequence[Any],
        period: float,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
    ) -> Running:
        """Return the filter on a model, before its first sample, with an initial guess of the state."""
        return Running(self, model, sensors, period, q, qd, self.horizon, self.iterations)
