"""Friction of joints and motors, and brakes."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, final

from pydantic import BeforeValidator, model_validator

from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    Described,
    Fault,
    Rule,
    checked_number,
    faulted,
    number,
    optional_number,
)
from flexarm.description.parts import DAMPING, EFFORT, RATE, STIFFNESS, Part


@final
class Resistance(Described):
    """A friction force that depends on the direction of motion.

    Parameters
    ----------
    forward, backward : float
        Size of the force at positive and at negative rate [N m or N].
    """

    forward: Annotated[float, number(EFFORT, NOT_NEGATIVE)]
    backward: Annotated[float, number(EFFORT, NOT_NEGATIVE)]


@final
class Viscosity(Described):
    """Viscous friction that depends on the direction of motion.

    Parameters
    ----------
    forward, backward : float
        Coefficient at positive and at negative rate [N m s/rad or N s/m].
    """

    forward: Annotated[float, number(DAMPING, NOT_NEGATIVE)]
    backward: Annotated[float, number(DAMPING, NOT_NEGATIVE)]


def _either_way(kind: type[Resistance] | type[Viscosity], unit: str, optional: bool = False) -> BeforeValidator:
    """Return a validator of a field that is one number, or one number for each direction."""

    def check(value: object) -> Any:
        if optional and value is None:
            return None
        if isinstance(value, kind):
            return value
        return faulted(kind, value) if isinstance(value, Mapping) else checked_number(value, unit, NOT_NEGATIVE)

    return BeforeValidator(check)


def either_way(value: "float | Resistance | Viscosity") -> tuple[float, float]:
    """Return the values for the forward and the backward direction."""
    return (value, value) if isinstance(value, float) else (value.forward, value.backward)


@final
class Friction(Part):
    """Friction of a joint or of a motor. Values of the form `a | b` may depend on the direction.

    Parameters
    ----------
    coulomb : float | {forward, backward}
        Friction force at high rates, F_c [N m or N].
    static : float | {forward, backward}, optional
        Breakaway force, F_s [N m or N]. Default: `coulomb`.
    stribeck_rate : float
        Rate over which the force falls from F_s to F_c, v_s [rad/s or m/s].
    viscous : float | {forward, backward}
        Coefficient of viscous friction [N m s/rad or N s/m].
    load : float
        Load coefficient mu: F_c and F_s increase by mu times the force through the gear. This is the force of the
        spring of an elastic joint, otherwise the force of the actuator.
    model : "smooth" or "lugre"
        Friction model. "smooth" is a function of the rate with tanh(v / creep_rate) as its sign, so that a sticking
        contact creeps. "lugre" (Canudas de Wit et al. 1995) has the force of bristles as a state, so that a sticking
        contact stays.
    creep_rate : float
        Rate v_c of the smooth model [rad/s or m/s]. Under a force F < F_c the joint creeps no faster than v_c atanh(F /
        F_c), or v_c atanh(sqrt(F / F_c)) if the forces depend on the direction. Half of F_c gives 0.55 v_c, 99 % gives
        2.7 v_c.
    bristle_stiffness, bristle_damping : float
        Parameters of the LuGre model, sigma_0 [N m/rad or N/m] and sigma_1 [N m s/rad or N s/m].
    """

    coulomb: Annotated[float | Resistance, _either_way(Resistance, EFFORT)] = 0.0
    static: Annotated[float | Resistance | None, _either_way(Resistance, EFFORT, optional=True)] = None
    stribeck_rate: Annotated[float, number(RATE, POSITIVE)] = 0.01
    viscous: Annotated[float | Viscosity, _either_way(Viscosity, DAMPING)] = 0.0
    load: Annotated[float, number("", NOT_NEGATIVE)] = 0.0
    model: Literal["smooth", "lugre"] = "smooth"
    creep_rate: Annotated[float, number(RATE, POSITIVE)] = 1e-3
    bristle_stiffness: Annotated[float | None, optional_number(STIFFNESS, POSITIVE)] = None
    bristle_damping: Annotated[float, number(DAMPING, NOT_NEGATIVE)] = 0.0

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.static is not None:
            for at_rest, sliding in zip(either_way(self.static), either_way(self.coulomb), strict=True):
                if at_rest < sliding:
                    raise Fault("static", f"is {at_rest}; it must be at least coulomb, {sliding}")
        if self.model == "lugre":
            if self.bristle_stiffness is None:
                raise Fault("bristle_stiffness", "is missing; the LuGre model needs it")
            if 0.0 in either_way(self.coulomb):
                raise Fault("coulomb", "is 0.0; the LuGre model needs a positive value")
        elif self.bristle_stiffness is not None:
            raise Fault("bristle_stiffness", 'is given; it applies only to model = "lugre"')
        elif self.static is not None and self.static != self.coulomb and self.creep_rate >= self.stribeck_rate:
            must = f"it must be less than stribeck_rate, {self.stribeck_rate}: otherwise friction never reaches static"
            raise Fault("creep_rate", f"is {self.creep_rate}; {must}")
        return self

    @property
    def passive(self) -> bool:
        """True if the model is passive: it never returns more energy than its bristles store.

        For the LuGre model the necessary and sufficient condition is sigma_1 (F_s - F_c) <= F_c times the viscous
        coefficient (Barabanov & Ortega 2000). Usual parameters violate the condition. Near breakaway the model then
        returns energy for a moment. The smooth model is always passive.
        """
        if self.model == "smooth" or self.static is None:
            return True
        each = zip(*map(either_way, (self.coulomb, self.static, self.viscous)), strict=True)
        return all(self.bristle_damping * (Fs - Fc) <= Fc * viscous for Fc, Fs, viscous in each)

    def rule(self, field: str) -> Rule:
        """Return the validation rule of a parameter that may vary. The LuGre model divides by the Coulomb force."""
        if field in ("static", "viscous"):
            return NOT_NEGATIVE
        if field.partition(".")[0] == "coulomb":
            return POSITIVE if self.model == "lugre" else NOT_NEGATIVE
        return super().rule(field)

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of the bristles' force, sigma_0 times their deflection."""
        return (("bristle", EFFORT),) if self.model == "lugre" else ()


GIVING = 1e-3
"""Default deflection of a brake's bristles under the holding force [rad or m]."""

SETTLING = 5e-3
"""Default ratio of damping to stiffness of a brake's bristles [s]."""


@final
class Brake(Part):
    """A brake on the motor side that holds without creep: LuGre bristles, engaged by an exogenous input.

    Parameters
    ----------
    holding : float
        Largest force that the engaged brake holds, which is also its force when it slips [N m or N].
    bristle_stiffness : float, optional
        Stiffness sigma_0 [N m/rad or N/m]. Default: a deflection of 0.001 rad or m under `holding`.
    bristle_damping : float, optional
        Damping sigma_1 [N m s/rad or N s/m]. Default: 0.005 s times sigma_0.
    release_time : float
        Time constant with which the bristles relax while the brake is released [s].
    """

    holding: Annotated[float, number(EFFORT, POSITIVE)]
    bristle_stiffness: Annotated[float | None, optional_number(STIFFNESS, POSITIVE)] = None
    bristle_damping: Annotated[float | None, optional_number(DAMPING, NOT_NEGATIVE)] = None
    release_time: Annotated[float, number("s", POSITIVE)] = 0.01

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of the bristles' force, sigma_0 times their deflection."""
        return (("bristle", EFFORT),)

    @property
    def exogenous(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of the engagement of the brake, from 0 (released) to 1 (engaged)."""
        return (("engaged", ""),)
