"""An arm's equations traced with symbols for its numbers: by the functions that give a model its numbers.

Tip deflections and slopes that are sums of many modes, and all angles, stand as symbols of their own (w_1, alpha_1),
which is how one writes them; what they stand for goes along. So do modal integrals that change with a telescope's
length, and their derivatives.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

from flexarm.description.arm import Arm
from flexarm.description.numbers import coordinate_labels
from flexarm.mechanics import dynamics as dy
from flexarm.mechanics import quantities
from flexarm.mechanics.chain import Chain, named_chain, taken
from flexarm.mechanics.parameters import Ledger, LengthFunction, Parameter
from flexarm.mechanics.spatial import Vector, is_zero

TIPS = ("x", "w", "v", "alpha", "delta", "gamma")
"""Letters of a body's six tip functions: its length, deflections in y and z, slopes in y and z, torsion."""


@dataclass(frozen=True)
class Traced:
    """Expressions over q, qd, the tip functions s and their rates sd, functions f of a length, and parameters p.

    Those below are still to be `placed`: in them functions of a length stand so that they can be differentiated.

    Attributes
    ----------
    coordinates, rates : symbols of the coordinates, in the model's order, and of their rates
    stand_ins, stand_in_rates : symbols of tip functions, and of their rates
    functions : what the symbols in f are, derivatives among them
    """

    arm: Arm
    chain: Chain
    q: ca.SX
    qd: ca.SX
    s: ca.SX
    sd: ca.SX
    f: ca.SX
    p: ca.SX
    places: ca.SX
    """Where functions of a length are expanded, see `Ledger`."""
    lengths: ca.SX
    """The lengths, over q, that belong there."""
    tips: ca.SX
    """What the symbols in s stand for, over q and p."""
    coordinates: tuple[str, ...]
    rates: tuple[str, ...]
    stand_ins: tuple[str, ...]
    stand_in_rates: tuple[str, ...]
    functions: tuple[LengthFunction, ...]
    named: tuple[Parameter, ...]
    """What the symbols in p are."""

    @property
    def arguments(self) -> tuple[ca.SX, ...]:
        """All symbols."""
        return self.q, self.qd, self.s, self.sd, self.f, self.p

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, laid end to end."""
        functions, parameters = [f.symbol for f in self.functions], [p.symbol for p in self.named]
        tips = (*self.stand_ins, *self.stand_in_rates)
        return (*self.coordinates, *self.rates, *tips, *functions, *parameters)

    def placed(self, expression: ca.SX) -> ca.SX:
        """A finished expression over `arguments`: nothing is differentiated by a length any more."""
        (found,) = ca.substitute([ca.densify(expression)], [self.places], [self.lengths])
        return found

    @property
    def function_values(self) -> ca.SX:
        """What the symbols in f stand for, over q: series in the lengths."""
        lengths = {number: self.q[i] for number, i in _free_lengths(self.arm).items()}
        return _stacked([x for each in self.functions for x in each.series.at(lengths[each.link])])

    def length_of(self, function: LengthFunction) -> str:
        """The symbol of the coordinate that a function depends on."""
        return self.coordinates[_free_lengths(self.arm)[function.link]]

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those of the named numbers that the equations depend on."""
        met = self._met(self.inertia, self.gravity, self.stiffness_force, self.damping, self.input, self.energy)
        met |= self._met(self.tip, self.tips)
        return tuple(p for p in self.named if p.symbol in met)

    @cached_property
    def met_functions(self) -> tuple[LengthFunction, ...]:
        """Those of `functions` that the equations depend on."""
        if not self.functions:
            return ()
        met = self._met(self.inertia, self.bias, self.gravity, self.stiffness, self.stiffness_force, self.energy)
        met |= self._met(self.tips, self.tip_rates, self.tip, self.jacobian)
        return tuple(f for f in self.functions if f.symbol in met)

    def _met(self, *expressions: ca.SX) -> set[str]:
        return {x.name() for expression in expressions for x in ca.symvar(self.placed(expression))}

    @cached_property
    def inertia(self) -> ca.SX:
        """M."""
        return _matrix(quantities.mass_matrix(self.chain, self._q))

    @cached_property
    def bias(self) -> ca.SX:
        """Coriolis and centrifugal force."""
        return ca.SX(ca.vertcat(*quantities.bias(self.chain, self._q, self._qd)))

    @cached_property
    def coriolis(self) -> ca.SX:
        """D, half the slope of the bias in the rates (Lin & Lewis, Theorem 1): D qd is the bias, Mdot - 2 D is skew."""
        slope = ca.jacobian(self.bias, self.qd)
        return (slope + ca.mtimes(ca.jacobian(self.bias, self.sd), self.tip_slopes)) / 2

    @cached_property
    def stiffness_force(self) -> ca.SX:
        """Slope of the energy of strain and springs."""
        return ca.SX(ca.vertcat(*quantities.stiffness_force(self.chain, self._q)))

    @cached_property
    def stiffness(self) -> ca.SX:
        """U, the slope of the stiffness force; it is U q where U is constant."""
        return ca.jacobian(self.stiffness_force, self.q)

    @cached_property
    def gravity(self) -> ca.SX:
        """Slope of the energy of gravity."""
        return ca.SX(ca.vertcat(*quantities.gravity_force(self.chain, self._q)))

    @cached_property
    def damping(self) -> ca.SX:
        """Matrix of the damping force."""
        return ca.jacobian(ca.SX(ca.vertcat(*quantities.damping_force(self.chain, self._q, self._qd))), self.qd)

    @cached_property
    def input(self) -> ca.SX:
        """B."""
        return _matrix(quantities.input_matrix(self.chain, self._q))

    @cached_property
    def energy(self) -> ca.SX:
        """Kinetic and potential energy."""
        return ca.SX(ca.vertcat(*quantities.energy(self.chain, self._q, self._qd)))

    @cached_property
    def tip(self) -> ca.SX:
        """Pose of the payload frame, (4, 4)."""
        return _matrix(quantities.tip(self.chain, self._q))

    @cached_property
    def jacobian(self) -> ca.SX:
        """Velocity and angular velocity of the payload frame, in base axes, by the coordinates' rates: (6, n)."""
        p, R = self.tip[:3, 3], self.tip[:3, :3]
        turning = [ca.mtimes(ca.reshape(column, 3, 3), R.T) for column in ca.horzsplit(self._slope(ca.vec(R)))]
        w = [ca.vertcat(W[2, 1], W[0, 2], W[1, 0]) for W in turning]
        return ca.vertcat(self._slope(p), ca.horzcat(*w))

    @cached_property
    def tip_slopes(self) -> ca.SX:
        """Slopes of the stand-ins in the coordinates."""
        return ca.jacobian(self.tips, self.q)

    @property
    def tip_rates(self) -> ca.SX:
        """What the symbols in sd stand for."""
        return ca.mtimes(self.tip_slopes, self.qd)

    def _slope(self, x: ca.SX) -> ca.SX:
        return ca.jacobian(x, self.q) + ca.mtimes(ca.jacobian(x, self.s), self.tip_slopes)

    @cached_property
    def _q(self) -> Vector:
        return dy.entries(self.q)

    @cached_property
    def _qd(self) -> Vector:
        return dy.entries(self.qd)


def trace(arm: Arm) -> Traced:
    """The arm's chain with symbols for its numbers."""
    ledger = Ledger()
    chain = named_chain(arm, ledger)
    coordinates = _symbols(arm)
    q = _column(coordinates)
    free = _free_lengths(arm)
    places, lengths = _stacked([*ledger.places.values()]), _stacked([q[free[number]] for number in ledger.places])
    functions = [each for function in ledger.functions.values() for each in function.orders]
    tips: list[tuple[int, int, ca.SX]] = []
    for i, (body, own) in enumerate(zip(chain.bodies[:-1], chain.own, strict=False)):
        share = taken(dy.entries(q), own)[1:]
        for t, value in enumerate(body.tip(share)):
            (placed,) = ca.substitute([ca.SX(value)], [places], [lengths])
            if _needs_a_name(placed, t, share):
                tips.append((i, t, ca.SX(value)))
    names = [f"{TIPS[t]}_{i + 1}" for i, t, _ in tips]
    s, sd = _column(names), _column([_rate(name) for name in names])
    place = {(i, t): n for n, (i, t, _) in enumerate(tips)}

    def seen(i: int, values: Vector, rates: Vector) -> tuple[Vector, Vector]:
        known = [(t, place.get((i, t))) for t in range(6)]
        return (
            [values[t] if n is None else s[n] for t, n in known],
            [rates[t] if n is None or is_zero(rates[t]) else sd[n] for t, n in known],
        )

    return Traced(
        arm=arm,
        chain=replace(chain, seen=seen),
        q=q,
        qd=_column([_rate(name) for name in coordinates]),
        s=s,
        sd=sd,
        f=_stacked([ledger.values[each.symbol] for each in functions]),
        p=_stacked([*ledger.symbols.values()]),
        places=places,
        lengths=lengths,
        tips=_stacked([value for _, _, value in tips]),
        coordinates=coordinates,
        rates=tuple(map(_rate, coordinates)),
        stand_ins=tuple(names),
        stand_in_rates=tuple(map(_rate, names)),
        functions=tuple(functions),
        named=tuple(ledger.parameters.values()),
    )


def _needs_a_name(value: ca.SX, t: int, share: Sequence[ca.SX]) -> bool:
    """Whether a tip function is an angle, or a deflection made of several modes."""
    amplitudes = [x for x in share if ca.depends_on(value, x)]
    return len(amplitudes) > (1 if t < 3 else 0)


def _free_lengths(arm: Arm) -> dict[int, int]:
    """The coordinate of each link's joint, by the link's number: of a telescope that is its free length."""
    return {arm.layout[i].link + 1: i for i in arm.joints}


def _symbols(arm: Arm) -> tuple[str, ...]:
    """Symbols of the coordinates: q for joints, eta for amplitudes, theta for motors."""
    amplitudes = [
        f"eta_{i}_{label}"
        for i, link in enumerate(arm.links, start=1)
        for label in (coordinate_labels([*link.body.counts.values()]) if link.body.counts else [])
    ]
    joints = [f"q_{arm.layout[i].link + 1}" for i in arm.joints]
    motors = [f"theta_{arm.layout[i].link + 1}" for i in arm.motors]
    return (*joints, *amplitudes, *motors)


def _rate(name: str) -> str:
    letter, _, labels = name.partition("_")
    return f"{letter}d_{labels}"


def _column(names: Sequence[str]) -> ca.SX:
    return _stacked([ca.SX.sym(name) for name in names])


def _stacked(values: Sequence[ca.SX]) -> ca.SX:
    return ca.SX(ca.vertcat(*values)) if values else ca.SX(0, 1)


def _matrix(rows: list[Vector]) -> ca.SX:
    return ca.SX(ca.vertcat(*(ca.horzcat(*row) for row in rows)))
