"""State estimate of a predictive controller from sensors: a Kalman filter along the motion of the arm itself."""

from dataclasses import dataclass, field
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.control.predictive_course import Course, Slopes
from flexarm.control.riccati import from_sample_to_sample
from flexarm.errors import DescriptionError
from flexarm.sensors import Outputs
from flexarm.simulation.stepper import Stepper


@final
@dataclass(eq=False)
class Estimate:
    """The estimate x^ (2n,) of a Kalman filter, sample by sample.

        x^ <- x^ + L (y - h(x^)),    L = P C' (C P C' + R)^-1,    P <- P - L C P
        x^ <- the arm's state one period after x^,    P <- Phi P Phi' + W

    C is the slope of h at x^, and Phi is that of the controller's model. The first P is that of the steady filter for
    the arm linearised where the trajectory begins.

    Attributes
    ----------
    x : (2n,)
        The estimate x^, at first the assumed initial state.
    noise : (p,)
        Variances of the readings.
    W : (2n, 2n)
        Covariance that a period adds.
    """

    course: Course
    sensors: Outputs
    x: Array
    noise: Array
    W: Array
    P: Array = field(init=False)

    def __post_init__(self) -> None:
        model = self.course.model
        n = model.nv
        self._plant = Stepper(model, self.course.period, self.x[:n], self.x[n:])
        self._slopes = Slopes(model, self.sensors.sensors)
        Phi, C = self.course.Phi[0], self._slopes(self.course.r[:1])[0]
        S = self.course.S
        F, H, W = S[:, None] * Phi / S, C / S, S[:, None] * self.W * S
        root = np.sqrt(self.noise)
        try:
            P = from_sample_to_sample(F.T, (H / root[:, None]).T, (W + W.T) / 2, np.eye(len(root)))
        except (np.linalg.LinAlgError, ValueError) as error:
            why = " ".join(str(error).split())
            must = "the sensors must observe every motion that does not decay"
            raise DescriptionError(f"Predictive: there is no stationary Kalman filter ({why}); {must}") from None
        self.P = P / np.outer(S, S)

    def corrected(self, y: Array) -> Array:
        """Return x^ corrected by the reading y."""
        n = self.course.model.nv
        C = self._slopes(self.x[None])[0]
        PC = self.P @ C.T
        L = np.linalg.solve(C @ PC + np.diag(self.noise), PC.T).T
        self.x = self.x + L @ (y - self.sensors.values(self.x[:n], self.x[n:]))
        self.P = self.P - L @ PC.T
        return self.x

    def moved(self, u: Array, Phi: Array) -> None:
        """Propagate the estimate by one period, in which u reached the arm."""
        n = self.course.model.nv
        self._plant.reset(self.x[:n], self.x[n:])
        self.x = self._plant.step(u)
        P = Phi @ self.P @ Phi.T + self.W
        self.P = (P + P.T) / 2
