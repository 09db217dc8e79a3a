"""Springs between an actuator and its joint, with or without backlash; end stops; springs parallel to an actuator.

All act on a deflection p of a coordinate y: p = y, or the part of y beyond the backlash. A force F of p acts along y as
F dp/dy, and its rate is p' = dp/dy y'. The energy balance is therefore the same with and without backlash.
"""

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import casadi as ca

from flexarm.description.parts import DAMPING, EFFORT, PLACE, STIFFNESS
from flexarm.description.springs import Backlash as Described
from flexarm.description.springs import Hysteresis, Parallel, Spring, Stops
from flexarm.mechanics.elements import Element, Push, Seen, along, no_crossings, no_touches
from flexarm.mechanics.parameters import Name
from flexarm.mechanics.spatial import Scalar, Vector, dot, is_zero


class Deflection(NamedTuple):
    """Deflection of a spring, and its slope with respect to the coordinate."""

    p: Scalar
    slope: Scalar


def beyond(y: Scalar, transition: Scalar) -> Deflection:
    """Return the part of y beyond 0.

    Its slope rises from 0 to 1 as x^2 (3 - 2 x) over the transition, or jumps if it is 0.
    """
    if isinstance(transition, float) and transition == 0.0:
        return Deflection(ca.fmax(y, 0.0), y > 0.0)
    x = ca.fmax(y / transition + 0.5, 0.0)
    within = x < 1.0  # both sides of a branch agree in value and slope there
    p = ca.if_else(within, transition * x**3 * (1 - 0.5 * x), y)
    return Deflection(p, ca.if_else(within, x**2 * (3 - 2 * x), 1.0))


class Straight:
    """No backlash: the complete stretch deflects the spring."""

    def __call__(self, y: Scalar) -> Deflection:
        """Return the stretch."""
        return Deflection(y, 1.0)


@dataclass(frozen=True)
class Play:
    """A backlash: the part of a stretch that deflects the spring, and the contact functions."""

    width: Scalar
    transition: Scalar

    def __call__(self, y: Scalar) -> Deflection:
        """Return the deflection beyond the backlash."""
        above, below = (beyond(x, self.transition) for x in self.beyond(y))
        return Deflection(above.p - below.p, above.slope + below.slope)

    def beyond(self, y: Scalar) -> Vector:
        """Return the distance beyond each side."""
        return [y - 0.5 * self.width, -y - 0.5 * self.width]


def play(description: Described, name: Name) -> Play:
    """Return the `Play` of a described backlash."""
    field = "drive.backlash"
    width = name("bw", f"{field}.width", description.width, PLACE, "width of the backlash")
    given = 0.1 * description.width if description.transition is None else description.transition
    follows = None if description.transition is not None else lambda: 0.1 * width
    if description.sharp:
        return Play(width, 0.0)
    return Play(width, name("bt", f"{field}.transition", given, PLACE, "transition at contact", follows))


def table_force(points: tuple[tuple[float, float], ...], d: Scalar) -> Scalar:
    """Interpolate linearly between the points. Extrapolate from the last two."""
    (x0, F0), kinks = points[0], _kinks(points)
    return F0 + sum(k * (d - x0 if i == 0 else ca.fmax(d - x, 0.0)) for i, (x, k) in enumerate(kinks))


def table_energy(points: tuple[tuple[float, float], ...], d: Scalar) -> Scalar:
    """Return the integral of `table_force` from 0."""

    def integral(d: Scalar) -> Scalar:
        (x0, F0), kinks = points[0], _kinks(points)
        return F0 * d + sum(
            0.5 * k * (d - x0 if i == 0 else ca.fmax(d - x, 0.0)) ** 2 for i, (x, k) in enumerate(kinks)
        )

    return integral(d) - float(ca.DM(integral(0.0)))


def _kinks(points: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    """Return the positions and sizes of changes of slope. The first is the initial slope."""
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(points)]
    return [
        (points[0][0], slopes[0]),
        *((p[0], b - a) for p, (a, b) in zip(points[1:], pairwise(slopes), strict=False)),
    ]


def touching(beyond: Vector, pressing: Vector, damping: Scalar) -> Vector:
    """Return functions that change sign where sides touch and, with a damper, where the force there vanishes."""
    ends = [] if is_zero(damping) else [ca.if_else(y > 0.0, F, -1.0) for y, F in zip(beyond, pressing, strict=True)]
    return [*beyond, *ends]


def never_pulling(drag: Scalar, force: Scalar) -> Scalar:
    """Return a damper's force in addition to a spring's if the two can only push.

    The damper dissipates then as well.
    """
    pushing, pulling = ca.fmax(drag, ca.fmin(-force, 0.0)), ca.fmin(drag, ca.fmax(-force, 0.0))
    return ca.if_else(force > 0.0, pushing, pulling)


def transmission(
    spring: Spring | None, backlash: Described | None, linear: tuple[Scalar, Scalar], row: Vector, name: Name
) -> Element:
    """Return the spring between motor and joint, with the stretch `row` . q and a `linear` stiffness and damping."""
    k, d = linear
    cubic: Scalar = 0.0
    points = None
    if spring is not None:
        field = "drive.spring"
        k = k + name("ktr", f"{field}.stiffness", spring.stiffness, STIFFNESS, "stiffness of the transmission")
        cubic = name("k3", f"{field}.cubic", spring.cubic, "N m/rad^3 or N/m^3", "cubic stiffness")
        d = d + name("dtr", f"{field}.damping", spring.damping, DAMPING, "viscous damping of the transmission")
        points = spring.table
    gap = None if backlash is None else play(backlash, name)
    sharp = gap if backlash is not None and backlash.sharp else None
    wound = Straight() if gap is None else gap
    yields = None if spring is None or spring.hysteresis is None else Yields(spring.hysteresis, name)

    def elastic(p: Scalar) -> Scalar:
        return k * p + cubic * p**3 + (0.0 if points is None else table_force(points, p))

    def energy(q: Vector) -> Scalar:
        p = wound(dot(row, q)).p
        return 0.5 * k * p**2 + 0.25 * cubic * p**4 + (0.0 if points is None else table_energy(points, p))

    def crossings(gap: Play, q: Vector, qd: Vector) -> Vector:
        """Return functions that change sign where a side touches and, with a damper, where the force on it vanishes."""
        y = dot(row, q)
        force = elastic(gap(y).p) + d * dot(row, qd)
        return touching(gap.beyond(y), [force, -force], d)

    def touches(gap: Play, q: Vector, _: Vector) -> Vector:
        return gap.beyond(dot(row, q))

    def push(seen: Seen) -> Push:
        (v,), (p, slope) = seen.v, wound(dot(row, seen.q))
        rate = slope * v
        drag = d * rate if backlash is None else never_pulling(d * rate, elastic(p))
        force, lost, supplied = drag, drag * rate, 0.0
        s_dot: Vector = []
        if yields is not None:
            more, z_dot, heat = yields(seen.s[0], rate)
            force, lost, s_dot = force + more, lost + heat, [z_dot]
        if seen.w:
            force, supplied = force + seen.w[0] * p, -seen.w[0] * p * rate
        return Push([-slope * force], s_dot, lost, supplied)

    return Element(
        along(row),
        push,
        energy,
        stored=lambda s: 0.0 if yields is None else yields.stored(s[0]),
        states=0 if spring is None else len(spring.states),
        exogenous=0 if spring is None else len(spring.exogenous),
        crossings=no_crossings if sharp is None else partial(crossings, sharp),
        touches=no_touches if gap is None else partial(touches, gap),
    )


class Yields:
    """Hysteresis of Bouc and Wen (Bouc 1967, Wen 1976). It stores the power k z z' and loses the remainder."""

    def __init__(self, description: Hysteresis, name: Name):
        field = "drive.spring.hysteresis"
        self._k = name("kh", f"{field}.stiffness", description.stiffness, STIFFNESS, "stiffness of the hysteresis")
        force = name("Fh", f"{field}.force", description.force, EFFORT, "force at which the hysteresis yields")
        self._shape = name("bh", f"{field}.shape", description.shape, "", "shape of the hysteresis' loop")
        self._yield, self._n = force / self._k, description.exponent

    def __call__(self, z: Scalar, rate: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return the force, z' and the power lost, at a rate of the deflection."""
        size = ca.fabs(z / self._yield)
        signed = z / self._yield if self._n == 1.0 else ca.sign(z) * size**self._n  # both forms have a slope at zero
        slip = self._shape * ca.fabs(rate) * signed + (1.0 - self._shape) * rate * size**self._n
        return self._k * z, rate - slip, self._k * z * slip

    def stored(self, z: Scalar) -> Scalar:
        """Return the energy of the elastic deflection."""
        return 0.5 * self._k * z**2


def stops(description: Stops, row: Vector, name: Name) -> Element:
    """Return the end stops of a coordinate `row` . q."""
    field = "drive.stops"
    k = name("kstop", f"{field}.stiffness", description.stiffness, STIFFNESS, "stiffness of the end stops")
    d = name("dstop", f"{field}.damping", description.damping, DAMPING, "viscous damping of the end stops")
    soft = name("et", f"{field}.transition", description.transition or 0.0, PLACE, "transition at the end stops")
    given = (("lower", description.lower, -1.0), ("upper", description.upper, 1.0))
    ends = [
        (name(f"q{end[0]}", f"{field}.{end}", x, PLACE, f"{end} end stop"), sign)
        for end, x, sign in given
        if x is not None
    ]

    def over(q: Vector) -> Vector:
        """Return the distance beyond each end."""
        return [sign * (dot(row, q) - end) for end, sign in ends]

    def energy(q: Vector) -> Scalar:
        return sum(0.5 * k * beyond(y, soft).p ** 2 for y in over(q))

    def push(seen: Seen) -> Push:
        (v,), force, lost = seen.v, 0.0, 0.0
        for y, (_, sign) in zip(over(seen.q), ends, strict=True):
            p, slope = beyond(y, soft)
            rate = sign * slope * v
            drag = ca.fmax(d * rate, -k * p)
            force, lost = force - sign * slope * drag, lost + drag * rate
        return Push([force], lost=lost)

    def crossings(q: Vector, qd: Vector) -> Vector:
        """Return functions that change sign where an end touches and, with a damper, where the force on it vanishes."""
        forces = [k * y + d * sign * dot(row, qd) for y, (_, sign) in zip(over(q), ends, strict=True)]
        return touching(over(q), forces, d)

    stop = Element(along(row), push, energy, touches=lambda q, s: over(q))
    return replace(stop, crossings=crossings) if description.sharp else stop


def parallel(description: Parallel, row: Vector, name: Name) -> Element:
    """Return a spring parallel to the actuator, on the coordinate `row` . q."""
    field = "drive.parallel"
    k = name("kp", f"{field}.stiffness", description.stiffness, STIFFNESS, "stiffness of the parallel spring")
    rest = name("rp", f"{field}.rest", description.rest, PLACE, "where the parallel spring is not wound")
    d = name("dp", f"{field}.damping", description.damping, DAMPING, "viscous damping of the parallel spring")

    def push(seen: Seen) -> Push:
        (v,) = seen.v
        return Push([-d * v], lost=d * v**2)

    return Element(along(row), push, lambda q: 0.5 * k * (dot(row, q) - rest) ** 2)
