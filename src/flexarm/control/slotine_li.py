"""Adaptive control of Slotine and Li: tracking while parameters of the arm are estimated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from numpy.typing import ArrayLike

from flexarm.brief import brief
from flexarm.checks import Fault, checked_list, refused
from flexarm.control.free import fixed_base
from flexarm.control.gains import actuated, actuators, decaying, definite, followed, rigid_arm, sliding, torques
from flexarm.description.closures import refuse_closures
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.law import Column, Law
from flexarm.simulation.shown import show
from flexarm.trajectory import Reference, jumps_of


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
    """

    reference: Reference | ArrayLike
    parameters: Sequence[str]
    Lambda: ArrayLike
    Kd: ArrayLike
    Gamma: ArrayLike
    start: ArrayLike | Mapping[str, float] | None = None

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
        rigid = Model(rigid_arm("SlotineLi", model).arm, vary=list(names))
        try:
            start = rigid.p if self.start is None else rigid.at(self.start).p
        except DescriptionError as error:
            raise DescriptionError(f"SlotineLi: start: {error}") from None
        Gamma = definite("SlotineLi: Gamma", self.Gamma, len(start))
        dynamics, regressor = rigid.function("reference_dynamics"), rigid.regressor_function()

        def expression(t: Any, q: Column, qd: Column, p: Column) -> tuple[Column, Any]:
            y, yd = B_T @ q, B_T @ qd
            s, v, a = sliding(reference, t, y, yd, Lambda)
            rate = -Gamma @ (regressor(y, yd, v, a).T @ s)
            show("estimates", p, [each.name for each in rigid.varied], "as in parameters")
            show("sliding", s, [model.velocities[i] for i in model.arm.driven], "rad/s or m/s")
            return dynamics(y, yd, v, a, p) - Kd @ s, rate if period is None else p + period * rate

        facts = {"parameters": tuple(each.name for each in rigid.varied)}
        return Law(expression, tuple(start.tolist()), jumps=jumps_of(reference), reference=reference, facts=facts)
