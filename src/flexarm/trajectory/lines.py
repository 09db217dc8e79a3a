"""Straight lines of the tip."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import POSITIVE, Fault, checked_number, checked_numbers, counted, refused, shown
from flexarm.description.arm import Arm, Telescope
from flexarm.description.joints import refuse_passive
from flexarm.errors import DescriptionError
from flexarm.model import Model, closures
from flexarm.model.driven import Driven
from flexarm.trajectory.motions import quintic
from flexarm.trajectory.reference import share

DEGREES = (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Degrees of the polynomial, tried one after another until the tip is close enough to the line."""

SOLVED = 1e-11
"""Distance at which a point counts as reached, as a share of the size of the problem."""

WORST_CONDITION = 1e6
"""Condition number of the tip's Jacobian above which the arm counts as singular."""


@final
@brief
@dataclass(frozen=True, eq=False)
class TaskLine:
    """Straight line of the rigid arm's tip, from rest to rest, with the timing of `Quintic`.

    For an arm on a free base the line is relative to the base in its pose of rest. With closures, the joints without a
    motor follow, and the motors must determine the position of the rigid arm.

    The constructor finds the joints' motion by Newton's method along the line from its start, on `arm.rigid()`. It
    stores the motion as a polynomial in the share of the line, interpolated at Chebyshev points. It raises the degree
    until the tip is within `tolerance` all along. A spline of degree five would need hundreds of knots for 1e-9 m, and
    a program without branches evaluates all its pieces. Away from singular configurations the motion is analytic, and a
    degree of ten to thirty is enough.

    Parameters
    ----------
    arm : Arm
        An arm of one to three joints; its flexibility is ignored.
    start, end : (joints,)
        Positions of the tip along `axes` [m]; `start=None` is the tip's position at `q0`.
    duration : float
        Duration of the motion [s]. The arm rests at the start before it and at the end after it.
    axes : str
        Coordinates of the tip, such as "xy": as many as the arm has joints. With closures: as many as it has free
        motions.
    q0 : (joints,), optional
        Initial guess of the search for the start, which decides between elbow up and elbow down. Default: every
        revolute joint at 0.5 rad. With closures: all joints of the rigid arm, also those without a motor.
    tolerance : float
        [m]

    Attributes
    ----------
    coefficients : (degree + 1, joints)
        Coefficients of Chebyshev polynomials on (-1, 1), which is the share of the line from 0 to 1.
    deviation : float
        Largest distance of the tip from its reference [m].

    Raises
    ------
    DescriptionError
        If the line leaves the arm's reach, if the arm becomes singular on it, or if the numbers of axes and joints
        differ.
    """

    arm: Arm
    start: Any
    end: Any
    duration: float
    axes: str = "xy"
    q0: Any = None
    tolerance: float = 1e-9
    coefficients: Array = field(init=False, repr=False)
    deviation: float = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.arm, Arm):
            raise DescriptionError(f"TaskLine: arm is {shown(self.arm)}; it must be an Arm")
        rigid = self.arm.rigid()
        if not rigid.closures:
            refuse_passive(rigid, "TaskLine")
        free = Driven.of("TaskLine", Model(rigid)).free if rigid.closures else rigid.driven
        joints = tuple(rigid.velocities[i] for i in free)
        with refused("TaskLine"):
            check_axes(self.axes, joints)
            for name, unit in (("start", "m"), ("end", "m"), ("q0", "")):
                given = getattr(self, name)
                if given is None and name != "end":
                    continue
                values = checked_numbers(given, unit, part=name)
                must = len(rigid.joints) if name == "q0" else len(joints)
                if len(values) != must:
                    raise Fault(name, f"has {counted(len(values), 'number')}; it must have {must}")
                object.__setattr__(self, name, values)
            if self.start is None and self.q0 is None:
                raise Fault("start", "is missing; without it q0 says where the tip is")
            for name, unit in (("duration", "s"), ("tolerance", "m")):
                object.__setattr__(self, name, checked_number(getattr(self, name), unit, POSITIVE, name))
        tip = _Tip(rigid, self.axes)
        if self.start is None:
            object.__setattr__(self, "start", tuple(tip.place(tip.closed(np.array(self.q0)))[: len(joints)].tolist()))
        line = _Line(tip, *(tip.whole(np.array(place)) for place in (self.start, self.end)))
        coefficients, deviation = line.fitted(line.followed(self.q0), self.tolerance)
        object.__setattr__(self, "coefficients", coefficients[:, tip.driven])
        object.__setattr__(self, "deviation", deviation)

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""
        x = 2 * quintic(share(t, 0.0, self.duration)) - 1
        return [clenshaw(c.tolist(), x) for c in self.coefficients.T]

    def described(self) -> str:
        """Text with the line, its duration, and a digest of the joints' motion."""
        digest = hashlib.sha256(np.ascontiguousarray(self.coefficients).tobytes()).hexdigest()[:16]
        way = f"from {list(self.start)} to {list(self.end)} ({self.axes}) in {self.duration!r} s"
        return f"a straight line of the tip {way}, joints' motion {digest}"


def check_axes(axes: object, joints: tuple[str, ...]) -> None:
    """Raise `Fault` if the axes are not some of x, y, z, as many as the joints."""
    if not isinstance(axes, str) or not axes or not set(axes) <= set("xyz") or len(set(axes)) < len(axes):
        raise Fault("axes", f"is {shown(axes)}; it must be some of x, y, z, such as 'xy'")
    if len(axes) != len(joints):
        raise Fault("axes", f"is {axes!r}; it must have one axis per joint, {len(joints)}: {', '.join(joints)}")


def clenshaw(c: list[float], x: Any) -> Any:
    """Sum of c_k T_k(x) by Clenshaw's method."""
    b1: Any = 0.0
    b2: Any = 0.0
    for k in range(len(c) - 1, 0, -1):
        b1, b2 = c[k] + 2 * x * b1 - b2, b1
    return c[0] + x * b1 - b2


class _Tip:
    """Position of a rigid arm's tip, and its Jacobian. The gaps of independent closures follow the position."""

    def __init__(self, arm: Arm, axes: str):
        import casadi as ca

        model, joints = Model(arm), len(arm.joints)
        pose, rest = np.split(closures.rest(model), [len(arm.rest) - joints])
        q = ca.SX.sym("q", joints)
        place = ca.SX(model.fixed("tip")(ca.vertcat(pose, q))[["xyz".index(a) for a in axes], 3])
        self.arm, self.axes, self.rest, self.model = arm, axes, rest, model
        self.turning = np.array([arm.layout[i].unit == "rad" for i in arm.joints])
        self.driven = [arm.joints.index(i) for i in arm.driven]
        if arm.closures:
            rows = closures.independent_rows(model, self.closed(rest + 0.5 * self.turning))
            place = ca.vertcat(place, closures.function(model, "gaps")(q)[rows])
        place = ca.densify(place)
        self._place = ca.Function("place", [q], [place])
        self._both = ca.Function("both", [q], [place, ca.densify(ca.jacobian(place, q))])
        links = [(k, arm.links[arm.layout[i].link]) for k, i in enumerate(arm.joints)]
        self._most = {i: link.body.length for i, link in links if isinstance(link.joint, Telescope)}

    def place(self, q: Array) -> Array:
        """Position of the tip and gaps: (joints,) -> (joints,), or (N, joints) -> (N, joints)."""
        return np.array(self._place(q.T)).T.reshape(q.shape)

    def whole(self, place: Array) -> Array:
        """Return a position of the tip with gaps of zero."""
        return np.append(place, np.zeros(len(self.rest) - len(place)))

    def closed(self, q: Array) -> Array:
        """Return joint coordinates near q that satisfy the closures."""
        return closures.assembled(self.model, q)[0] if self.arm.closures else q

    def slope(self, q: Array) -> Array:
        """Jacobian, (axes, joints)."""
        return np.array(self._both(q)[1])

    def nearest(self, target: Array, q: Array, size: float) -> tuple[Array, float]:
        """Return joint coordinates near q that bring the tip as near as possible to the target, and the distance [m].

        The method is that of Levenberg and Marquardt, with steps of at most half a radian.
        """
        damping = 1e-3
        place, J = (np.array(x) for x in self._both(q))
        error = target - place.ravel()
        for _ in range(100):
            if np.linalg.norm(error) < SOLVED * size / 10 or damping > 1e10:
                break
            A = J.T @ J
            step = np.linalg.solve(A + damping * (np.trace(A) / len(q) + 1e-300) * np.eye(len(q)), J.T @ error)
            trial = q + step * min(1.0, 0.5 / max(np.abs(step).max(), 1e-300))
            place, slope = (np.array(x) for x in self._both(trial))
            if np.linalg.norm(target - place.ravel()) < np.linalg.norm(error):
                q, J, error, damping = trial, slope, target - place.ravel(), damping / 10
            else:
                damping *= 10
        return q, float(np.linalg.norm(error))

    def guesses(self, q0: Any) -> list[Array]:
        """Initial guesses: the given configuration, then a bent one, then others."""
        rest, turning = self.rest, self.turning
        rng = np.random.default_rng(0)
        bent = [rest + 0.5 * turning, *(rest + rng.uniform(-2.5, 2.5, len(rest)) * turning for _ in range(8))]
        return [self.closed(q) for q in (bent if q0 is None else [np.array(q0), *bent])]

    def fits(self, q: Array) -> bool:
        """True if every telescope's free length is possible, and axes of closures are not opposite."""
        facing = not self.arm.closures or bool((closures.facing(self.model, q) > 0).all())
        return facing and all(0 < q[i] <= most for i, most in self._most.items())

    def allowed(self, q: Array) -> Array:
        """Return the joint coordinates with the lengths of telescopes clipped to possible ones."""
        return np.array([np.clip(x, 0.0, self._most[i]) if i in self._most else x for i, x in enumerate(q)])

    def shown(self, place: Array) -> str:
        """Text of a position, such as x = 0.5, y = 0.2 m."""
        return ", ".join(f"{a} = {p:.4g}" for a, p in zip(self.axes, place, strict=False)) + " m"


class _Line:
    """A line of the tip, and the joints' motion along it; s in (0, 1) is the share of the line."""

    def __init__(self, tip: _Tip, start: Array, end: Array):
        self.tip, self.start, self.way = tip, start, end - start
        self.size = float(np.abs([start, end]).max() + np.linalg.norm(tip.place(tip.rest)) + 1e-300)

    def at(self, s: Any) -> Array:
        """Reference position of the tip."""
        return self.start + np.multiply.outer(s, self.way)

    def followed(self, q0: Any) -> tuple[Array, Array]:
        """Return shares s (k,) and joints (k, joints) from start to end, dense enough for Newton's method between."""
        q = self._begin(q0)
        side = self._side(0.0, q)
        steps: list[tuple[float, Array]] = [(0.0, q)]
        s, h = 0.0, 1 / 16
        while s < 1:
            h = min(h, 1 - s)
            predicted = q + np.linalg.solve(self.tip.slope(q), self.way * h)
            trial, distance = self.tip.nearest(self.at(s + h), predicted, self.size)
            near = np.abs(trial - predicted).max() <= 0.25 * np.abs(predicted - q).max() + 1e-9
            if distance < SOLVED * self.size and near and np.linalg.det(self.tip.slope(trial)) * side > 0:
                s, q, h = s + h, trial, min(2 * h, 1 / 16)
                self._side(s, q)
                steps.append((s, q))
            else:
                h /= 2
                if h < 1e-7:
                    raise self._fault(s)
        return np.array([s for s, _ in steps]), np.array([q for _, q in steps])

    def _begin(self, q0: Any) -> Array:
        for guess in self.tip.guesses(q0):
            q, distance = self.tip.nearest(self.start, guess, self.size)
            if distance < SOLVED * self.size and self.tip.fits(q):
                return q
        raise self._fault(0.0)

    def _side(self, s: float, q: Array) -> float:
        """Sign of the Jacobian's determinant at q; raises `DescriptionError` at a singular or an impossible
        configuration.
        """
        if not self.tip.fits(q):
            raise self._fault(s)
        J = self.tip.slope(q)
        if np.linalg.cond(J) > WORST_CONDITION:
            raise self._fault(s)
        return float(np.sign(np.linalg.det(J)))

    def _fault(self, s: float) -> DescriptionError:
        """Return the error that explains why the line ends at s: out of reach there or farther on, or singular."""
        far = [(self._out_of_reach(at), at) for at in np.linspace(s, 1, 9)]
        distance, at = max(far)
        here = f"{100 * s:.3g} % of the line, {self.tip.shown(self.at(s))}"
        if distance > 1e-6 * self.size:
            there = "that" if at == s else self.tip.shown(self.at(at))
            message = f"reaches no farther than {here}; {there} is {distance:.3g} m out of reach"
            return DescriptionError(f"TaskLine: arm {self.tip.arm.name!r} {message}")
        return DescriptionError(f"TaskLine: arm {self.tip.arm.name!r} is in a singular configuration at {here}")

    def _out_of_reach(self, s: float) -> float:
        """Distance of a point of the line from the nearest point in the tip's reach [m]."""
        found = [self.tip.nearest(self.at(s), guess, self.size)[0] for guess in self.tip.guesses(None)]
        return min(float(np.linalg.norm(self.at(s) - self.tip.place(self.tip.allowed(q)))) for q in found)

    def fitted(self, path: tuple[Array, Array], tolerance: float) -> tuple[Array, float]:
        """Chebyshev coefficients (degree + 1, joints), and the largest distance of the tip from its reference [m]."""
        from numpy.polynomial import chebyshev

        deviation = np.inf
        for degree in DEGREES:
            x = np.cos(np.pi * np.arange(degree + 1) / degree)
            c = np.linalg.solve(chebyshev.chebvander(x, degree), np.array([self._joints(s, path) for s in (x + 1) / 2]))
            between = np.cos(np.pi * (np.arange(4 * degree) + 0.5) / (4 * degree))
            places = self.tip.place(chebyshev.chebval(between, c).T)
            deviation = float(np.linalg.norm(places - self.at((between + 1) / 2), axis=1).max())
            if deviation <= tolerance:
                return c, deviation
        raise DescriptionError(
            f"TaskLine: the tip is {deviation:.3g} m from the line, and tolerance is {tolerance} m; "
            "the line passes close to a singular configuration, or the tolerance is below rounding"
        )

    def _joints(self, s: float, path: tuple[Array, Array]) -> Array:
        guess = np.array([np.interp(s, path[0], column) for column in path[1].T])
        return self.tip.nearest(self.at(s), guess, self.size)[0]
