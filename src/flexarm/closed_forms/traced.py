"""An arm's equations traced with symbols for its parameters, by the functions that a model evaluates.

Tip deflections and slopes that are sums of many modes, and all angles, have their own symbols (w_1, alpha_1), as in
textbooks. The sums they stand for are part of the result. Modal integrals that change with a telescope's length, and
their derivatives, also have symbols.

On a free base, inertia, bias, damping, stiffness and inputs depend on joints and amplitudes alone. Gravity, the tip and
the energy depend on the base's attitude. The attitude has symbols as a matrix (R_xx, ..) of a unit quaternion
(e_w, e_x, e_y, e_z).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from flexarm.cached import cached_property
from flexarm.description.arm import Arm, Beam
from flexarm.description.bodies import Body
from flexarm.description.numbers import coordinate_labels
from flexarm.errors import DescriptionError
from flexarm.mechanics import closures as loops
from flexarm.mechanics import dynamics as dy
from flexarm.mechanics import quantities
from flexarm.mechanics.body import Body as Member
from flexarm.mechanics.chain import Chain, Frame, moved_pose, named_chain, rotation, taken
from flexarm.mechanics.parameters import Ledger, LengthFunction, Parameter
from flexarm.mechanics.spatial import Vector, is_zero
from flexarm.model import Model, closures

TIPS = ("x", "w", "v", "alpha", "delta", "gamma")
"""Letters of a body's six tip functions: its length, deflections in y and z, slopes in y and z, torsion."""
PLACE = ("p_x", "p_y", "p_z", "e_w", "e_x", "e_y", "e_z")
"""Symbols of a free base's position, and of the quaternion of its attitude."""
TWIST = ("v_x", "v_y", "v_z", "w_x", "w_y", "w_z")
"""Symbols of a free base's rates: velocity and angular velocity along its own axes."""
ATTITUDE = tuple(f"R_{r}{c}" for r in "xyz" for c in "xyz")
"""Symbols of the matrix that turns vectors of a free base's frame into the world's."""


@dataclass(frozen=True)
class Traced:
    """Expressions over q, qd, the tip functions s and their rates sd, functions f of a length, and parameters p.

    The expressions are still to be `placed`: their functions of a length are in a form that can be differentiated.

    Attributes
    ----------
    coordinates, rates : symbols of the coordinates, in the model's order, and of the rates
    stand_ins, stand_in_rates : symbols of tip functions, then of a base's attitude; symbols of the tip functions' rates
    stations : position on its link, from 0 to 1, of a stand-in that is not at the tip, by its suffix ("2_p1")
    functions : meanings of the symbols in f, derivatives among them
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
    """Lengths at which functions are expanded, see `Ledger`."""
    lengths: ca.SX
    """The lengths, over q, that replace `places`."""
    tips: ca.SX
    """Sums that the symbols in s stand for, over q and p."""
    coordinates: tuple[str, ...]
    rates: tuple[str, ...]
    stand_ins: tuple[str, ...]
    stand_in_rates: tuple[str, ...]
    stations: dict[str, float]
    functions: tuple[LengthFunction, ...]
    named: tuple[Parameter, ...]
    """Meanings of the symbols in p."""

    @property
    def arguments(self) -> tuple[ca.SX, ...]:
        """All symbols."""
        return self.q, self.qd, self.s, self.sd, self.f, self.p

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all symbols, in one list."""
        functions, parameters = [f.symbol for f in self.functions], [p.symbol for p in self.named]
        tips = (*self.stand_ins, *self.stand_in_rates)
        return (*self.coordinates, *self.rates, *tips, *functions, *parameters)

    def placed(self, expression: ca.SX) -> ca.SX:
        """Return a finished expression over `arguments`, which cannot be differentiated in a length any more."""
        (found,) = ca.substitute([ca.densify(expression)], [self.places], [self.lengths])
        return found

    @property
    def function_values(self) -> ca.SX:
        """Values of the symbols in f, over q: series in the lengths."""
        lengths = {number: self._q[i] for number, i in _free_lengths(self.arm).items()}
        return _stacked([x for each in self.functions for x in each.series.at(lengths[each.link])])

    def length_of(self, function: LengthFunction) -> str:
        """Return the symbol of the coordinate on which a function depends."""
        return self.coordinates[_free_lengths(self.arm)[function.link] + self.arm.free]

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Named parameters on which the equations depend."""
        met = self._met(self.inertia, self.gravity, self.stiffness_force, self.damping, self.input, self.energy)
        met |= self._met(self.tip, self.tips, *([self.closure_gaps] if self.arm.closures else []))
        return tuple(p for p in self.named if p.symbol in met)

    @cached_property
    def met_functions(self) -> tuple[LengthFunction, ...]:
        """Those of `functions` on which the equations depend."""
        if not self.functions:
            return ()
        met = self._met(self.inertia, self.bias, self.gravity, self.stiffness, self.stiffness_force, self.energy)
        met |= self._met(self.tips, self.tip_rates, self.tip, self.jacobian)
        met |= self._met(self.closure_gaps, self.closure_bias) if self.arm.closures else set()
        return tuple(f for f in self.functions if f.symbol in met)

    def _met(self, *expressions: ca.SX) -> set[str]:
        return {x.name() for expression in expressions for x in ca.symvar(self.placed(expression))}

    @cached_property
    def inertia(self) -> ca.SX:
        """Inertia matrix M."""
        return _matrix(quantities.mass_matrix(self.chain, self._q))

    @cached_property
    def bias(self) -> ca.SX:
        """Coriolis and centrifugal force."""
        return ca.SX(ca.vertcat(*quantities.bias(self.chain, self._q, self._qd)))

    @cached_property
    def coriolis(self) -> ca.SX:
        """Coriolis matrix D: D qd is the bias, Mdot - 2 D is skew, see `coriolis`."""
        slope = ca.jacobian(self.bias, self.qd)
        slope += ca.mtimes(ca.jacobian(self.bias, self.sd), self.tip_slopes[: self.sd.shape[0], :])
        return coriolis(slope, self.inertia, self.qd, self.arm.free)

    @cached_property
    def stiffness_force(self) -> ca.SX:
        """Slope of the energy of strain and springs."""
        return ca.SX(ca.vertcat(*quantities.stiffness_force(self.chain, self._q)))

    @cached_property
    def stiffness(self) -> ca.SX:
        """Stiffness matrix U, the slope of the stiffness force, which is U q if U is constant."""
        return self._by_coordinates(self.stiffness_force)

    @cached_property
    def gravity(self) -> ca.SX:
        """Slope of the energy of gravity."""
        return ca.SX(ca.vertcat(*quantities.gravity_force(self._posed, self._q)))

    @cached_property
    def damping(self) -> ca.SX:
        """Matrix of the damping force."""
        return ca.jacobian(ca.SX(ca.vertcat(*quantities.damping_force(self.chain, self._q, self._qd))), self.qd)

    @cached_property
    def input(self) -> ca.SX:
        """Input matrix B."""
        return _matrix(quantities.input_matrix(self.chain, self._q))

    @cached_property
    def energy(self) -> ca.SX:
        """Kinetic and potential energy."""
        return ca.SX(ca.vertcat(*quantities.energy(self._posed, self._q, self._qd, [])))

    @cached_property
    def tip(self) -> ca.SX:
        """Pose of the payload frame in the world, (4, 4)."""
        return _matrix(quantities.tip(self._posed, self._q))

    @cached_property
    def jacobian(self) -> ca.SX:
        """Velocity and angular velocity of the payload frame, in the world's axes, by the rates: (6, n)."""
        tip = _matrix(quantities.tip(self.chain, self._q))  # in the base's frame
        p, R = tip[:3, 3], tip[:3, :3]
        turning = [ca.mtimes(ca.reshape(column, 3, 3), R.T) for column in ca.horzsplit(self._slope(ca.vec(R)))]
        w = [ca.vertcat(W[2, 1], W[0, 2], W[1, 0]) for W in turning]
        found = ca.vertcat(self._slope(p), ca.horzcat(*w))
        if not self.arm.free:
            return found
        found[:, :6] = ca.SX.eye(6)
        found[:3, 3:6] = -ca.skew(p)
        B = _matrix(self._posed.pose.R)
        return ca.vertcat(ca.mtimes(B, found[:3, :]), ca.mtimes(B, found[3:, :]))

    @cached_property
    def closure_gaps(self) -> ca.SX:
        """Gaps of the closures, (k, 1), without those that are zero in every position."""
        if not self.arm.closures:
            raise DescriptionError(f"equations: arm {self.arm.name!r} has no closures; leave out their parts")
        every = ca.SX(ca.vertcat(*loops.gaps(self._with_named_ends, self._q)))
        return every[closures.restricting(Model(self.arm))]

    @property
    def _with_named_ends(self) -> Chain:
        """The chain whose sections have symbols where something is mounted, as at the tips.

        A closure at the end of a beam with a chord is at its last section, which has none.
        """

        def named(i: int, body: Member) -> Member:
            def line(x: float, eta: Vector) -> Vector:
                if x not in self.chain.places[i]:
                    return body.section(x, eta)
                values = [value for place in self.chain.places[i] for value in body.outlet(place, eta)]
                k = 6 * self.chain.places[i].index(x)
                return self.chain.seen(i, values, [0.0] * len(values))[0][k : k + 6]

            return replace(body, line=line)

        chords = [
            link
            for link, one in enumerate(self.arm.links)
            if isinstance(one.body, Beam) and one.body.next_joint == "chord"
        ]
        plain = {i for link in chords for i in self.chain.links[link]}
        bodies = (body if i in plain else named(i, body) for i, body in enumerate(self.chain.bodies))
        return replace(self.chain, bodies=tuple(bodies))

    @cached_property
    def closure_jacobian(self) -> ca.SX:
        """Jacobian A of these gaps, (k, nv): their rates are A qd. The pose of a free base does not change them."""
        return ca.densify(self._slope(self.closure_gaps))

    @cached_property
    def closure_bias(self) -> ca.SX:
        """Part (dA/dt) qd of the accelerations of these gaps, (k, 1)."""
        return ca.mtimes(self._slope(ca.mtimes(self.closure_jacobian, self.qd)), self.qd)

    @cached_property
    def kinematics(self) -> ca.SX:
        """Matrix N, (nq, nv): the rates of the coordinates are N qd."""
        n = len(self.rates)
        if not self.arm.free:
            return ca.SX.eye(n)
        found = ca.SX.zeros(n + 1, n)
        found[7:, 6:] = ca.SX.eye(n - 6)
        found[:3, :3] = _matrix(self._posed.pose.R)
        turned = [moved_pose(self._posed.stood, [0.0] * 3 + unit)[3:] for unit in _unit(3)]
        found[3:7, 3:6] = _matrix(turned).T
        return found

    @cached_property
    def tip_slopes(self) -> ca.SX:
        """Slopes of the stand-ins in the coordinates, one column for each rate."""
        return self._by_coordinates(self.tips)

    @property
    def tip_rates(self) -> ca.SX:
        """Sums that the symbols in sd stand for."""
        return ca.mtimes(self.tip_slopes, self.qd)[: self.sd.shape[0]]

    def _slope(self, x: ca.SX) -> ca.SX:
        return self._by_coordinates(x) + ca.mtimes(ca.jacobian(x, self.s), self.tip_slopes)

    def _by_coordinates(self, x: ca.SX) -> ca.SX:
        """Slopes in joints, amplitudes and motors, (.., nv); empty columns for a free base's rates."""
        slope = ca.jacobian(x, self.q)
        return ca.horzcat(ca.SX(x.shape[0], 6), slope[:, 7:]) if self.arm.free else slope

    @cached_property
    def _q(self) -> Vector:
        """Coordinates, one for each rate; zeros for a free base, whose local coordinates they are."""
        return inner(self.arm, dy.entries(self.q))

    @cached_property
    def _qd(self) -> Vector:
        return dy.entries(self.qd)

    @cached_property
    def _posed(self) -> Chain:
        """The chain with a free base at the pose of the coordinates and of its attitude's symbols."""
        if not self.arm.free:
            return self.chain
        stood = dy.entries(self.q)[:7]
        R = dy.entries(self.s)[-len(ATTITUDE) :]
        return replace(self.chain, pose=Frame(stood[:3], [R[:3], R[3:6], R[6:]]), stood=stood)


def coriolis(slope: Any, M: Any, qd: Any, free: bool) -> Any:
    """Return D from the slope of the bias in the rates: D qd is the bias, and Mdot - 2 D is skew.

    The arguments are all SX or all DM of CasADi. If the rates are those of coordinates, D is half the slope (Lin &
    Lewis, Theorem 1). The rates (v, w) of a free base add a term to the bias, which turns its momentum (p, L):

        (w x p, w x L + v x p) = W (p, L) = A (v, w)

    A is skew, so D has A for this term, and half the slope of all other terms.
    """
    if not free:
        return slope / 2
    momentum, twist = ca.mtimes(M[:6, :], qd), qd[:6]
    p, L, v, w = (ca.skew(x[part]) for x in (momentum, twist) for part in (slice(0, 3), slice(3, 6)))
    zero = type(slope)(3, 3)
    A, W = -ca.blockcat([[zero, p], [p, L]]), ca.blockcat([[w, zero], [v, w]])
    D = slope / 2
    D[:6, :] -= ca.mtimes(W, M[:6, :]) / 2
    D[:6, :6] += A / 2
    return D


def trace(arm: Arm) -> Traced:
    """Return the arm's chain with symbols for its parameters."""
    ledger = Ledger()
    chain = named_chain(arm, ledger)
    moving = _symbols(arm)
    coordinates, rates = moving, tuple(map(rate_of, moving))
    if arm.free:
        coordinates, rates = (*PLACE, *coordinates), (*TWIST, *rates)
    q = _column(coordinates)
    over_rates, free = inner(arm, dy.entries(q)), _free_lengths(arm)
    places = _stacked([*ledger.places.values()])
    lengths = _stacked([over_rates[free[number]] for number in ledger.places])
    functions = [each for function in ledger.functions.values() for each in function.orders]
    marks = {i: Mark(n, j, len(some)) for n, some in enumerate(chain.links, 1) for j, i in enumerate(some, 1)}
    stations: dict[str, float] = {}
    tips: list[tuple[int, int, ca.SX]] = []
    names: list[str] = []
    for i, mark in marks.items():
        body, share = chain.bodies[i], taken(over_rates, chain.own[i])[1:]
        for k, x in enumerate(chain.places[i]):
            for t, value in enumerate(body.outlet(x, share)):
                (placed,) = ca.substitute([ca.SX(value)], [places], [lengths])
                if _needs_a_name(placed, t, share):
                    tips.append((i, 6 * k + t, ca.SX(value)))
                    names.append(f"{TIPS[t]}_{mark.at(k, x)}")
                    stations |= {mark.at(k, x): mark.station(x)} if x < 1.0 else {}
    tip_rates = tuple(map(rate_of, names))
    attitude = rotation(dy.entries(q)[3:7], unit=True) if arm.free else []
    names += ATTITUDE[: 3 * len(attitude)]
    s, sd = _column(names), _column(tip_rates)
    place = {(i, t): n for n, (i, t, _) in enumerate(tips)}

    def seen(i: int, values: Vector, rates: Vector) -> tuple[Vector, Vector]:
        known = [(t, place.get((i, t))) for t in range(len(values))]
        return (
            [values[t] if n is None else s[n] for t, n in known],
            [rates[t] if n is None or is_zero(rates[t]) else sd[n] for t, n in known],
        )

    return Traced(
        arm=arm,
        chain=replace(chain, seen=seen),
        q=q,
        qd=_column(rates),
        s=s,
        sd=sd,
        f=_stacked([ledger.values[each.symbol] for each in functions]),
        p=_stacked([*ledger.symbols.values()]),
        places=places,
        lengths=lengths,
        tips=_stacked([*(value for _, _, value in tips), *(x for row in attitude for x in row)]),
        coordinates=coordinates,
        rates=rates,
        stand_ins=tuple(names),
        stand_in_rates=tip_rates,
        stations=stations,
        functions=tuple(functions),
        named=tuple(ledger.parameters.values()),
    )


@dataclass(frozen=True)
class Mark:
    """Suffix that distinguishes a body's tip functions: index of its link, index of the segment, number of segments."""

    link: int
    segment: int
    segments: int

    def at(self, k: int, x: float) -> str:
        """Suffix of the body's place k at its station x: "2", "2s3" for a segment, "2p1" if it is not the tip."""
        return f"{self.link}{f's{self.segment}' * (self.segments > 1)}{f'p{k + 1}' * (x < 1.0)}"

    def station(self, x: float) -> float:
        """Convert a station of the body to one of the link."""
        return (self.segment - 1 + x) / self.segments


def _needs_a_name(value: ca.SX, t: int, share: Sequence[ca.SX]) -> bool:
    """True if a tip function is an angle, or a deflection made of several modes."""
    amplitudes = [x for x in share if ca.depends_on(value, x)]
    return len(amplitudes) > (1 if t < 3 else 0)


def inner(arm: Arm, q: Vector) -> Vector:
    """Coordinates, one for each rate; zeros for a free base, whose local coordinates about its pose they are."""
    return [*[0.0] * 6, *q[7:]] if arm.free else q


def _free_lengths(arm: Arm) -> dict[int, int]:
    """Index of each link's joint among the rates, by the link's number; a telescope's coordinate is its free length."""
    return {arm.layout[i].link + 1: i for i in arm.joints}


def _symbols(arm: Arm) -> tuple[str, ...]:
    """Symbols of the coordinates except those of the base: q for joints, eta for amplitudes, theta for motors."""
    amplitudes = [f"eta_{i}_{label}" for i, link in enumerate(arm.links, start=1) for label in _labels(link.body)]
    joints = [f"q_{arm.layout[i].link + 1}" for i in arm.joints]
    motors = [f"theta_{arm.layout[i].link + 1}" for i in arm.motors]
    return (*joints, *amplitudes, *motors)


def _labels(body: Body) -> list[str]:
    """Labels of a body's amplitudes, segment by segment."""
    own = coordinate_labels([*body.counts.values()]) if body.counts else []
    return [f"s{i}{label}" for i in range(1, body.pieces + 1) for label in own] if body.pieces else own


def rate_of(name: str) -> str:
    """Return the symbol of a symbol's rate."""
    letter, _, labels = name.partition("_")
    return f"{letter}d_{labels}"


def _unit(n: int) -> list[Vector]:
    return [[float(r == c) for c in range(n)] for r in range(n)]


def _column(names: Sequence[str]) -> ca.SX:
    return _stacked([ca.SX.sym(name) for name in names])


def _stacked(values: Sequence[ca.SX]) -> ca.SX:
    return ca.SX(ca.vertcat(*values)) if values else ca.SX(0, 1)


def _matrix(rows: list[Vector]) -> ca.SX:
    return ca.SX(ca.vertcat(*(ca.horzcat(*row) for row in rows)))
