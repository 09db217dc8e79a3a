"""Adaptive control of Slotine and Li: tracking while parameters of the arm are estimated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import Fault, checked_array, checked_instance, checked_list, refused, shown, unknown_name
from flexarm.control.free import fixed_base
from flexarm.control.gains import actuated, actuators, decaying, definite, followed, rigid_arm, sliding, torques
from flexarm.description.closures import refuse_closures
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.varied import named_in
from flexarm.simulation.law import Column, Law
from flexarm.simulation.shown import show
from flexarm.trajectory import Reference, jumps_of

FADING = 0.05
"""Part of the range of an estimate in which the rate towards a bound fades."""


@final
@brief
@dataclass(frozen=True)
class SlotineLi:
    """Adaptive control: u = M a + C(y, yd) v + the other forces of the rigid arm - Kd s, with estimated parameters p.

    With the error e = y - r, the reference rates are v = rd - Lambda e, the reference accelerations are a = v', and s =
    yd - v. The estimates follow p' = -Gamma Y' s with the regressor Y(y, yd, v, a) of the rigid arm (Slotine & Li
    1987). On a rigid arm, V = s' M s / 2 + (p - p*)' Gamma^-1 (p - p*) / 2 falls with the rate -s' Kd s, where p* are
    the true parameters. The tracking error vanishes then. The estimates reach p* only if the motion excites them.

    The actuators' encoders measure y. On a flexible arm the control law neglects the vibrations, so that its bandwidth
    must stay well below them.

    Parameters
    ----------
    reference : Reference, float or (m,)
        Reference of all joints, or their constant target positions.
    parameters : list of str
        Parameters of the rigid arm to estimate, as in `Model(arm.rigid(), vary=parameters)`. They must enter linearly.
    Lambda : float, (m,) or (m, m)
        Bandwidth of the error on the surface s = 0 [1/s].
    Kd : float, (m,) or (m, m)
        Positive definite [N m s/rad].
    Gamma : float, (k,) or (k, k)
        Positive definite gain of the adaptation, in units of the squared parameter over N m.
    start : (k,) or dict, optional
        First estimates. The default is the parameters of the model for which the law is designed.
    bounds : dict, optional
        Least and largest estimates by name: {"payload.mass": (0.0, 3.0)}. Near a bound, within 5 % of the range, the
        rate towards it fades, so that no estimate passes it (projection, Lavretsky & Wise, Robust and Adaptive Control,
        2013, section 11.4). V still falls if the true parameter is not within these 5 %. Gamma must then be diagonal.
    """

    reference: Reference | ArrayLike
    parameters: Sequence[str]
    Lambda: ArrayLike
    Kd: ArrayLike
    Gamma: ArrayLike
    start: ArrayLike | Mapping[str, float] | None = None
    bounds: Mapping[str, tuple[float, float]] | None = None

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model; its memory is p. With a period, p advances by Euler steps.

        Raises `DescriptionError` if a gain or a name does not fit the arm, if a parameter does not enter linearly, and
        for arms with a free base, closures, passive joints or voltage inputs.
        """
        m = actuators("SlotineLi", model, period)
        torques("SlotineLi", model)
        fixed_base("SlotineLi", model, "use ComputedTorque")
        refuse_closures(model, "SlotineLi")
        Lambda, Kd = decaying("SlotineLi: Lambda", self.Lambda, m), definite("SlotineLi: Kd", self.Kd, m)
        reference, B_T = followed("SlotineLi", self.reference, model), actuated(model)
        with refused("SlotineLi"):
            names = checked_list(self.parameters, "a list of names", "parameters")
            if not names:
                raise Fault("parameters", "is empty; name at least one, such as 'payload.mass', or use ComputedTorque")
        rigid_model = rigid_arm("SlotineLi", model)
        with named_in("SlotineLi: parameters"):
            rigid = Model(rigid_model.arm, vary=list(names))
        try:
            start = rigid.p if self.start is None else rigid.at(self.start).p
        except DescriptionError as error:
            raise DescriptionError(f"SlotineLi: start: {error}") from None
        Gamma = definite("SlotineLi: Gamma", self.Gamma, len(start))
        projected = self._projection([each.name for each in rigid.varied], start, Gamma)
        with named_in("SlotineLi: parameters"):
            regressor = rigid.regressor_function()
        dynamics = rigid.function("reference_dynamics")

        def expression(t: Any, q: Column, qd: Column, p: Column) -> tuple[Column, Any]:
            y, yd = B_T @ q, B_T @ qd
            s, v, a = sliding(reference, t, y, yd, Lambda)
            rate, held = projected(p, -Gamma @ (regressor(y, yd, v, a).T @ s))
            show("estimates", p, [each.name for each in rigid.varied], "as in parameters")
            show("sliding", s, [model.velocities[i] for i in model.arm.driven], "rad/s or m/s")
            return dynamics(y, yd, v, a, p) - Kd @ s, rate if period is None else held(p + period * rate)

        facts = {"parameters": tuple(each.name for each in rigid.varied)}
        return Law(expression, tuple(start.tolist()), jumps=jumps_of(reference), reference=reference, facts=facts)

    def _projection(self, names: list[str], start: Array, Gamma: Array) -> Callable[[Column, Column], Any]:
        """Return a function of estimates and rates: the rates within the bounds, and what puts a step within them."""
        import casadi as ca

        if self.bounds is None:
            return lambda p, rate: (rate, lambda step: step)
        low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
        with refused("SlotineLi"):
            for name, given in checked_instance(self.bounds, Mapping, "bounds").items():
                if name not in names:
                    raise DescriptionError(
                        unknown_name("SlotineLi: bounds: no estimate has the name", name, names, "the estimates are")
                    )
                pair = checked_array(given, f"bounds of {name}")
                if pair.shape != (2,) or not pair[0] < pair[1]:
                    raise Fault(f"bounds of {name}", f"is {shown(given)}; it must be a lower and a larger upper bound")
                k = names.index(name)
                if not pair[0] <= start[k] <= pair[1]:
                    raise Fault(
                        f"bounds of {name}", f"is {shown(given)}; the first estimate {start[k]:g} must be within"
                    )
                low[k], high[k] = pair
            if (Gamma != np.diag(np.diag(Gamma))).any():
                raise Fault("bounds", "needs a Gamma without couplings; give one number, or one for each parameter")
        places = np.flatnonzero(np.isfinite(low)).tolist()

        def projected(p: Column, rate: Column) -> tuple[Column, Any]:
            found = [rate[i] for i in range(len(names))]
            for k in places:
                width = FADING * (high[k] - low[k])
                upward, downward = (
                    ca.fmin(1.0, ca.fmax(0.0, room / width)) for room in (high[k] - p[k], p[k] - low[k])
                )
                found[k] = ca.fmax(0.0, rate[k]) * upward + ca.fmin(0.0, rate[k]) * downward
            return ca.vertcat(*found), lambda step: ca.fmin(high, ca.fmax(low, step))

        return projected
