"""Base class of nonlinear filters, with the sizes of noise, disturbances and unknown parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numpy.typing import ArrayLike

from flexarm.checks import NOT_NEGATIVE, POSITIVE, Fault, checked_array, checked_number, refused, shown


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
        Actuators with an unknown additional torque, or exogenous inputs such as a force, and the standard deviation of
        the initial value, which is guessed as zero [N m or N]: {"upper.drive": 0.5}.
    drift : dict, optional
        Unknowns that are not constant, but follow a random walk, with the standard deviation of their change in 1 s:
        {"upper.drive": 0.2}. States of drives, such as a current or a bristle, follow their equations, and this change
        is added: without it the filter trusts these equations completely.
    process : float, (m,) or (m, m)
        Standard deviation of the random torque at each actuator, constant over each period [N m or N]. A matrix W
        stands for the covariance W W'.
    unmodelled : float
        Standard deviation of the random acceleration of every coordinate, constant over each period [rad/s^2 or m/s^2].
    deviation : float or (2 n + states,), optional
        Standard deviations of the initial coordinates, rates and states of drives, in local coordinates on a free base
        and at ball joints (see `estimate`). Default: the stationary covariance of the filter for
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
                    if isinstance(value, Mapping):
                        must = "it must be a number; in a file, write a name with a dot in quotes"
                        raise Fault(f"{name} of {key}", f"is {shown(value)}; {must}")
                    checked_number(value, "", rule, f"{name} of {key}")
            if not isinstance(self.start, Mapping):
                raise Fault("start", f"is {shown(self.start)}; it must be a dict of initial guesses by name")
            for key, value in self.start.items():
                checked_number(value, "", part=f"start of {key}")
            process = checked_array(self.process, "process")
            if process.ndim < 2 and (process < 0.0).any():
                raise Fault("process", f"is {shown(self.process)}; standard deviations must be zero or positive")
            checked_number(self.unmodelled, "rad/s^2 or m/s^2", NOT_NEGATIVE, "unmodelled")
            if self.step is not None:
                checked_number(self.step, "s", POSITIVE, "step")

    @property
    def label(self) -> str:
        """Name of the class, for messages."""
        return type(self).__name__

    @property
    def linear(self) -> bool:
        """True if the covariance follows derivatives, False if it follows points."""
        return True
