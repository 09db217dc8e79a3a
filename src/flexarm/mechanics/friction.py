"""Friction along a rate: smooth, or with a bristle state (LuGre); and a brake."""

from collections.abc import Callable
from functools import partial

import casadi as ca

from flexarm.description.friction import GIVING, SETTLING, Brake, Friction
from flexarm.description.parts import DAMPING, EFFORT, RATE, STIFFNESS
from flexarm.mechanics.elements import Along, Element, Push, Seen
from flexarm.mechanics.parameters import Follows, Name
from flexarm.mechanics.spatial import Scalar, is_symbolic, is_zero

Pair = tuple[Scalar, Scalar]
"""Values for forward and backward motion, the same object if they are equal."""

Transmitted = Callable[[Seen], Scalar]
"""The force through the gear [N m or N]."""


def friction(
    description: Friction,
    rates: Along,
    name: Name,
    field: str,
    mark: str,
    transmitted: Transmitted,
    place: int | None,
) -> Element:
    """Return the element of friction along one rate. `field` and `mark` name its numbers.

    `transmitted` is the load in addition to its preload, and may depend on the input at index `place` in u.
    """

    def number(symbol: str, part: str, unit: str, meaning: str) -> Scalar:
        return name(f"{symbol}{mark}", f"{field}.{part}", getattr(description, part), unit, meaning)

    Fc = _pair(description.coulomb, name, f"Fc{mark}", f"{field}.coulomb", EFFORT, "Coulomb friction")
    Fs = _static(description, Fc, name, field, mark)
    vs = number("vs", "stribeck_rate", RATE, "Stribeck rate")
    viscous = _pair(description.viscous, name, f"dv{mark}", f"{field}.viscous", DAMPING, "viscous friction")
    mu = number("mu", "load", "", "share of the load that rubs")

    def resisting(v: Scalar, either: Callable[[Pair], Scalar], seen: Seen) -> Scalar:
        """Return the force of steady sliding without viscous part (Armstrong-Helouvry's form of the Stribeck curve)."""
        F = either(Fc)
        if Fs is not Fc:
            F = F + (either(Fs) - F) * ca.exp(-((v / vs) ** 2))
        return F if is_zero(mu) else F + mu * ca.fabs(transmitted(seen))

    if description.model == "smooth":
        creep = number("vc", "creep_rate", RATE, "creep rate of the smooth model")

        def smooth(seen: Seen) -> Push:
            (v,) = seen.v
            sign = ca.tanh(v / creep)

            def either(pair: Pair) -> Scalar:
                forward, backward = pair
                return forward if forward is backward else (forward + backward + (forward - backward) * sign) / 2

            F = resisting(v, either, seen) * sign + either(viscous) * v
            return Push([-F], lost=F * v)

        return Element(rates, smooth, input=place)

    sigma_0 = number("sigma0", "bristle_stiffness", STIFFNESS, "stiffness of the bristles")
    sigma_1 = number("sigma1", "bristle_damping", DAMPING, "damping of the bristles")

    def lugre(seen: Seen) -> Push:
        """Return the effect of LuGre friction: z' = v - sigma_0 |v| z / g(v), F = sigma_0 z + sigma_1 z' + d v.

        Source: Canudas de Wit et al. 1995, eqs. 1 to 3. The state is b = sigma_0 z, since forces have the size for
        which solver tolerances are meant, unlike z.
        """
        (v,), (b,) = seen.v, seen.s
        either = partial(_by_sign, v)
        z_dot = v - ca.fabs(v) * b / resisting(v, either, seen)
        F = b + sigma_1 * z_dot + either(viscous) * v
        return Push([-F], [sigma_0 * z_dot], lost=F * v - b * z_dot)

    def sliding(seen: Seen) -> list[Scalar]:
        (v,) = seen.v
        return [ca.sign(v) * resisting(v, partial(_by_sign, v), seen)]

    return Element(rates, lugre, stored=lambda s: 0.5 * s[0] ** 2 / sigma_0, states=1, input=place, steady=sliding)


def brake(description: Brake, rates: Along, name: Name) -> Element:
    """Return the element of a brake: bristles that follow e v and transmit e times their force, with e from 0 to 1.

    z' = e v - sigma_0 |e v| z / H - (1 - e) z / T,   F = e (sigma_0 z + sigma_1 z'): the force along e v does the work.
    The exogenous input is e. As with friction the state is sigma_0 z. An e beyond its range counts as the end of the
    range: a function or a law may give any number, and beyond 0 and 1 the bristle's deflection would diverge.
    """
    H = name("H", "drive.brake.holding", description.holding, EFFORT, "force that the brake holds")

    def number(symbol: str, part: str, given: float | None, other: Scalar, unit: str, meaning: str) -> Scalar:
        """Return a number that follows from another if it is not given."""
        left_out = given is None
        value = _nominal(description, part) if given is None else given
        follows: Follows = (lambda: other) if left_out else None
        made = name(symbol, f"drive.brake.{part}", value, unit, meaning, follows, plain=left_out)
        return other if left_out and not is_symbolic(made) else made

    sigma_0 = number(
        "sigma0b", "bristle_stiffness", description.bristle_stiffness, H / GIVING, STIFFNESS, "stiffness of the brake"
    )
    sigma_1 = number(
        "sigma1b", "bristle_damping", description.bristle_damping, SETTLING * sigma_0, DAMPING, "damping of the brake"
    )
    T = name("Tb", "drive.brake.release_time", description.release_time, "s", "release time of the brake")

    def push(seen: Seen) -> Push:
        (v,), (b,) = seen.v, seen.s
        e = ca.fmin(ca.fmax(seen.w[0], 0.0), 1.0)
        moved = e * v
        z_dot = moved - ca.fabs(moved) * b / H - (1 - e) * b / (sigma_0 * T)
        F = b + sigma_1 * z_dot
        return Push([-e * F], [sigma_0 * z_dot], lost=F * moved - b * z_dot)

    return Element(rates, push, stored=lambda s: 0.5 * s[0] ** 2 / sigma_0, states=1, exogenous=1)


def _nominal(description: Brake, part: str) -> float:
    stiffness = description.bristle_stiffness or description.holding / GIVING
    return {"bristle_stiffness": stiffness, "bristle_damping": SETTLING * stiffness}[part]


def _by_sign(v: Scalar, pair: Pair) -> Scalar:
    forward, backward = pair
    return forward if forward is backward else ca.if_else(v > 0, forward, backward)


def _pair(value: object, name: Name, symbol: str, field: str, unit: str, meaning: str) -> Pair:
    """Return the names of a number that may differ with the direction."""
    if isinstance(value, float):
        both = name(symbol, field, value, unit, meaning)
        return both, both
    forward, backward = (
        name(f"{symbol}{way[0]}", f"{field}.{way}", getattr(value, way), unit, f"{meaning} {way}")
        for way in ("forward", "backward")
    )
    return forward, backward


def _static(description: Friction, Fc: Pair, name: Name, field: str, mark: str) -> Pair:
    """Return the static friction: Coulomb's if it is not given, unless it varies by its own name."""
    meaning = "force that breaks loose"
    if description.static is not None:
        Fs = _pair(description.static, name, f"Fs{mark}", f"{field}.static", EFFORT, meaning)
        return Fc if all(not is_symbolic(x) for x in (*Fs, *Fc)) and Fs == Fc else Fs
    if not isinstance(description.coulomb, float):
        return Fc
    follows: Follows = lambda: Fc[0]  # noqa: E731
    alone = name(f"Fs{mark}", f"{field}.static", description.coulomb, EFFORT, meaning, follows, plain=True)
    return (alone, alone) if is_symbolic(alone) and alone is not Fc[0] else Fc
