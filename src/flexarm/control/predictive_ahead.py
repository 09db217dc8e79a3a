"""Prediction of the state over the delay with which inputs reach the arm."""

import ctypes  # noqa: TID251  (calls code that this package compiled)
import json
import math
from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.arrays import Array
from flexarm.control.predictive_samples import Delayed, predicted, sent
from flexarm.model import Model
from flexarm.native.functions import translated
from flexarm.native.kernel import Kernel
from flexarm.native.language import Placed
from flexarm.native.once import Once
from flexarm.simulation.butcher import RK4
from flexarm.simulation.methods import fastest_of

if TYPE_CHECKING:
    import casadi as ca

ANGLE = 0.25
"""Longest Runge-Kutta step, as an angle of the arm's fastest mode [rad]."""

CODE = Once(lambda: translated(predicted, sent))
CALL = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


@final
class Ahead:
    """The inputs that are under way to an arm, and the state at which the last of them has acted.

    Parameters
    ----------
    model : Model
    x : (2n,)
        A state of the motion, for the length of the steps.
    period : float
        [s]
    periods : int
        The delay in periods. The inputs are zero before the run.
    along : Along or None

    Attributes
    ----------
    record : Delayed
    rate : Kernel
        (x, u) -> dx/dt.
    """

    def __init__(self, model: Model, x: Array, period: float, periods: int, along: Placed | None):
        n, m = model.nv, len(model.inputs)
        self.rate = Kernel(json.dumps(["predicted", model.fingerprint, model.p.tolist()]), lambda: _rate(model))
        self._code = self.rate.code  # it must stay alive
        steps = max(1, math.ceil(period * fastest_of(model, x[:n]) / ANGLE - 1e-9))
        reach, shares = RK4.in_sequence
        self.record = Placed(
            Delayed(
                along=np.array([along.address if along else 0]),  # type: ignore[arg-type]  # an address is one word
                rate=self._code.addresses["evaluate"],
                states=2 * n,
                inputs=m,
                periods=periods,
                steps=steps,
                h=period / steps,
                under_way=np.zeros(periods * m),
                x=np.zeros(2 * n),
                z=np.zeros(2 * n + m),
                k=np.zeros(2 * n),
                total=np.zeros(2 * n),
                stages=RK4.stages,
                reach=reach,
                shares=shares,
            )
        )

    def predicted(self, x: Array) -> Array:
        """Return the state (2n,) at the end of the delay after the present state x (2n,)."""
        CALL(CODE().addresses["predicted"])(self.record.address, np.ascontiguousarray(x).ctypes.data)
        return self.record.x.copy()  # type: ignore[no-any-return]

    def send(self, u: Array) -> None:
        """Add inputs u (m,) to those that are under way."""
        CALL(CODE().addresses["sent"])(self.record.address, np.ascontiguousarray(u).ctypes.data)


def _rate(model: Model) -> "ca.Function":
    """Return the rates of the state (q, qd) under inputs u, without exogenous inputs."""
    import casadi as ca

    n, m = model.nv, len(model.inputs)
    z = ca.SX.sym("z", 2 * n + m)
    q, qd, u = ca.vertsplit(z, [0, n, 2 * n, 2 * n + m])
    return ca.Function("rate", [z], [ca.vertcat(qd, model.fixed("forward_dynamics")(q, qd, u))])
