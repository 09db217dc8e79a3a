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
    """A force of friction that differs with the direction.

    Parameters
    ----------
    forward, backward : float
        Its size where the rate is positive, and where it is negative [N m or N].
    """

    forward: Annotated[float, number(EFFORT, NOT_NEGATIVE)]
    backward: Annotated[float, number(EFFORT, NOT_NEGATIVE)]


@final
class Viscosity(Described):
    """Viscous friction that differs with the direction.

    Parameters
    ----------
    forward, backward : float
        [N m s/rad or N s/m]
    """

    forward: Annotated[float, number(DAMPING, NOT_NEGATIVE)]
    backward: Annotated[float, number(DAMPING, NOT_NEGATIVE)]


def _either_way(kind: type[Resistance] | type[Viscosity], unit: str, optional: bool = False) -> BeforeValidator:
    """A field that is one number, or one for each direction."""

    def check(value: object) -> Any:
        if optional and value is None:
            return None
        if isinstance(value, kind):
            return value
        return faulted(kind, value) if isinstance(value, Mapping) else checked_number(value, unit, NOT_NEGATIVE)

    return BeforeValidator(check)


def either_way(value: "float | Resistance | Viscosity") -> tuple[float, float]:
    """Forward and backward."""
    return (value, value) if isinstance(value, float) else (value.forward, value.backward)


@final
class Friction(Part):
    """Friction of a joint or of a motor; what is written `a | b` may differ with the direction.

    Parameters
    ----------
    coulomb : float | {forward, backward}
        Force at high rates, F_c [N m or N].
    static : float | {forward, backward}, optional
        Force that breaks it loose, F_s [N m or N]; default `coulomb`.
    stribeck_rate : float
        Rate over which the force falls from F_s to F_c, v_s [rad/s or m/s].
    viscous : float | {forward, backward}
        [N m s/rad or N s/m]
    load : float
        Share of the force through the gear by which F_c and F_s grow, mu: of the spring's where the joint is elastic,
        else of the actuator's.
    model : "smooth" or "lugre"
        A function of the rate, tanh(v / creep_rate) for the sign: what sticks creeps; or Canudas de Wit et al. 1995,
        with the force of bristles for a state: what sticks stays.
    creep_rate : float
        Of the smooth model, v_c [rad/s or m/s]: under a force F < F_c it creeps no faster than v_c atanh(F / F_c), and
        v_c atanh(sqrt(F / F_c)) where forces differ with the direction. Half of F_c is 0.55 v_c, 99 % 2.7 v_c.
    bristle_stiffness, bristle_damping : float
        Of the LuGre model, sigma_0 [N m/rad or N/m], sigma_1 [N m s/rad or N s/m].
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
                raise Fault("coulomb", "is 0.0; the LuGre model needs a positive one")
        elif self.bristle_stiffness is not None:
            raise Fault("bristle_stiffness", 'is given; it belongs to model = "lugre"')
        elif self.static is not None and self.static != self.coulomb and self.creep_rate >= self.stribeck_rate:
            must = f"it must be less than stribeck_rate, {self.stribeck_rate}, or it never resists with static"
            raise Fault("creep_rate", f"is {self.creep_rate}; {must}")
        return self

    @property
    def passive(self) -> bool:
        """Whether it never gives out more energy than its bristles hold: sigma_1 (F_s - F_c) <= F_c times the viscous.

        Necessary and sufficient for the LuGre model (Barabanov & Ortega 2000), whose usual numbers break it: near
        breaking loose it then returns energy for a moment. The smooth model is passive.
        """
        if self.model == "smooth" or self.static is None:
            return True
        each = zip(*map(either_way, (self.coulomb, self.static, self.viscous)), strict=True)
        return all(self.bristle_damping * (Fs - Fc) <= Fc * viscous for Fc, Fs, viscous in each)

    def rule(self, field: str) -> Rule:
        """What is allowed of a number while it varies: bristles divide by Coulomb's."""
        if field in ("static", "viscous"):
            return NOT_NEGATIVE
        if field.partition(".")[0] == "coulomb":
            return POSITIVE if self.model == "lugre" else NOT_NEGATIVE
        return super().rule(field)

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """The bristles' force, sigma_0 times their deflection."""
        return (("bristle", EFFORT),) if self.model == "lugre" else ()


GIVING = 1e-3
"""Deflection of a brake's bristles under the force that it holds, where nothing else is said [rad or m]."""

SETTLING = 5e-3
"""Damping of a brake's bristles over their stiffness, where nothing else is said [s]."""


@final
class Brake(Part):
    """A brake on the motor's side that truly holds: LuGre's bristles, which an input from outside presses together.

    Parameters
    ----------
    holding : float
        Force up to which it holds while engaged, and with which it then slips [N m or N].
    bristle_stiffness : float, optional
        sigma_0 [N m/rad or N/m]; default: it gives by 0.001 rad or m under `holding`.
    bristle_damping : float, optional
        sigma_1 [N m s/rad or N s/m]; default 0.005 s times sigma_0.
    release_time : float
        Time constant with which bristles straighten while it is free [s].
    """

    holding: Annotated[float, number(EFFORT, POSITIVE)]
    bristle_stiffness: Annotated[float | None, optional_number(STIFFNESS, POSITIVE)] = None
    bristle_damping: Annotated[float | None, optional_number(DAMPING, NOT_NEGATIVE)] = None
    release_time: Annotated[float, number("s", POSITIVE)] = 0.01

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """The bristles' force, sigma_0 times their deflection."""
        return (("bristle", EFFORT),)

    @property
    def exogenous(self) -> tuple[tuple[str, str], ...]:
        """How far it is engaged, from 0 (free) to 1 (held)."""
        return (("engaged", ""),)
