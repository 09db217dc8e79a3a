"""An arm's equations traced with symbols for its numbers: by the functions that give a model its numbers.

Tip deflections and slopes that are sums of many modes, and all angles, stand as symbols of their own (w_1, alpha_1),
which is how one writes them; what they stand for goes along.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

from flexarm.description.arm import Arm, Beam
from flexarm.mechanics import dynamics as dy
from flexarm.mechanics import quantities
from flexarm.mechanics.chain import Chain, named_chain, taken
from flexarm.mechanics.modal import coordinate_labels
from flexarm.mechanics.parameters import Ledger, Parameter
from flexarm.mechanics.spatial import Vector, is_zero

TIPS = ("x", "w", "v", "alpha", "delta", "gamma")
"""Letters of a body's six tip functions: its length, deflections in y and z, slopes in y and z, torsion."""


@dataclass(frozen=True)
class Traced:
    """Expressions over q, qd, the tip functions s and their rates sd, and parameters p.

    Attributes
    ----------
    coordinates, rates : symbols of the coordinates, in the model's order, and of their rates
    stand_ins, stand_in_rates : symbols of tip functions, and of their rates
    """

    chain: Chain
    q: ca.SX
    qd: ca.SX
    s: ca.SX
    sd: ca.SX
    p: ca.SX
    tips: ca.SX
    """What the symbols in s stand for, over q and p."""
    coordinates: tuple[str, ...]
    rates: tuple[str, ...]
    stand_ins: tuple[str, ...]
    stand_in_rates: tuple[str, ...]
    named: tuple[Parameter, ...]
    """What the symbols in p are."""

    @property
    def arguments(self) -> tuple[ca.SX, ...]:
        """All symbols."""
        return self.q, self.qd, self.s, self.sd, self.p

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, laid end to end."""
        return (*self.coordinates, *self.rates, *self.stand_ins, *self.stand_in_rates, *(p.symbol for p in self.named))

    def part(self, name: str) -> ca.SX:
        """One of the expressions below, by the letter it has in the equations of motion or by its name."""
        letters = {"M": "inertia", "D": "coriolis", "U": "stiffness", "G": "gravity", "B": "input"}
        return getattr(self, letters.get(name, name))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those of the named numbers that the equations depend on."""
        parts = (self.inertia, self.gravity, self.stiffness_force, self.damping, self.input, self.energy, self.tip)
        met = {x.name() for part in parts for x in ca.symvar(part)} | {x.name() for x in ca.symvar(self.tips)}
        return tuple(p for p in self.named if p.symbol in met)

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
    tips: list[tuple[int, int, ca.SX]] = []
    for i, (body, own) in enumerate(zip(chain.bodies[:-1], chain.own, strict=False)):
        share = taken(dy.entries(q), own)[1:]
        for t, value in enumerate(body.tip(share)):
            if _needs_a_name(ca.SX(value), t, share):
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
        chain=replace(chain, seen=seen),
        q=q,
        qd=_column([_rate(name) for name in coordinates]),
        s=s,
        sd=sd,
        p=ca.vertcat(*ledger.symbols.values()),
        tips=ca.SX(ca.vertcat(*(value for _, _, value in tips))) if tips else ca.SX(0, 1),
        coordinates=coordinates,
        rates=tuple(map(_rate, coordinates)),
        stand_ins=tuple(names),
        stand_in_rates=tuple(map(_rate, names)),
        named=tuple(ledger.parameters.values()),
    )


def _needs_a_name(value: ca.SX, t: int, share: Sequence[ca.SX]) -> bool:
    """Whether a tip function is an angle, or a deflection made of several modes."""
    amplitudes = [x for x in share if ca.depends_on(value, x)]
    return len(amplitudes) > (1 if t < 3 else 0)


def _symbols(arm: Arm) -> tuple[str, ...]:
    """Symbols of the coordinates: q for joints, eta for amplitudes, theta for motors."""
    joints, flexible, motors = [], [], []
    for i, link in enumerate(arm.links, start=1):
        if f"{link.name}.joint" in arm.coordinates:
            joints.append(f"q_{i}")
        if isinstance(link.body, Beam):
            flexible += [f"eta_{i}_{label}" for label in coordinate_labels(list(link.body.counts.values()))]
        if link.elastic:
            motors.append(f"theta_{i}")
    return (*joints, *flexible, *motors)


def _rate(name: str) -> str:
    letter, _, labels = name.partition("_")
    return f"{letter}d_{labels}"


def _column(names: Sequence[str]) -> ca.SX:
    return ca.vertcat(*(ca.SX.sym(name) for name in names)) if names else ca.SX(0, 1)


def _matrix(rows: list[Vector]) -> ca.SX:
    return ca.SX(ca.vertcat(*(ca.horzcat(*row) for row in rows)))
