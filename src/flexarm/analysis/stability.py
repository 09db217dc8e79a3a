"""Stability of closed loops at rest, along a motion, and over ranges of parameters."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.analysis.balance import doubtful
from flexarm.analysis.loops import LinearLoop, designed, linear_loop
from flexarm.analysis.margins import Margins, Together, disk_gain, grows, is_stable, margins, together
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.cached import cached_property
from flexarm.checks import Fault, checked_array, checked_instance, checked_whole, refused, shown
from flexarm.errors import DescriptionError, FlexarmError, UncertainResult
from flexarm.model import Model, ModelLike, as_model
from flexarm.model.varied import named_in
from flexarm.simulation.closed_loop import ClosedLoop
from flexarm.simulation.passed import Passed, passed

if TYPE_CHECKING:
    import control
    import xarray

DRIFT = 1e-7
"""Share of the fastest pole below which a pole of an arm on a free base is its drift, which is conserved momentum."""
MOST_CORNERS = 64


@final
@brief
@dataclass(frozen=True, eq=False)
class Point:
    """A closed loop at one time.

    Attributes
    ----------
    linear : LinearLoop
        `closed(outputs)` and `broken(input)` return the systems.
    standing : bool
        True if arm and controller are at rest there. Otherwise the state is part of a motion, and the poles are frozen.
    held : bool
        True if the controller holds the arm there.
    """

    linear: LinearLoop
    standing: bool
    held: bool = True

    @property
    def time(self) -> float:
        """Time of the point [s]."""
        return self.linear.t

    @property
    def poles(self) -> Array:
        """Poles of the closed loop, the rightmost first, without the drift of a free base: (k,) complex [1/s]."""
        return _moving(self.linear)[0]

    @property
    def pole_errors(self) -> Array:
        """Bounds of how far rounding may have moved each pole [1/s]."""
        return _moving(self.linear)[1]

    @property
    def verdict(self) -> str:
        """One of "stable", "undamped" (a pole on the imaginary axis, up to rounding) or "unstable".

        The drift of a free base, which is conserved momentum, does not count.
        """
        if not self.held:
            return "unstable"
        s, error = _moving(self.linear)
        return "stable" if is_stable(s, error) else "unstable" if grows(s, error) else "undamped"

    @property
    def stable(self) -> bool:
        """True if all poles lie in the left half plane."""
        return self.verdict == "stable"

    @property
    def one_rate(self) -> bool:
        """True if the controller has one rate. With several rates the loop has poles, but no margins."""
        return len(self.linear.phases) == 1

    @cached_property
    def loops(self) -> tuple[Margins, ...]:
        """Margins of each actuator's loop, with the others closed."""
        names = self.linear.model.inputs
        if not (self.stable and self.one_rate):
            nan = float("nan")
            return tuple(Margins(name, (nan, nan), nan, nan, nan, nan, nan, nan, nan) for name in names)
        return tuple(margins(self.linear.broken(i), name, _drift(self.linear)) for i, name in enumerate(names))

    @cached_property
    def together(self) -> Together:
        """Margins of all loops at once."""
        if not (self.stable and self.one_rate):
            return Together(*4 * (float("nan"),))
        return together(self.linear.broken(), _drift(self.linear))

    @property
    def closed_loop(self) -> "control.StateSpace":
        """The closed loop as a system, see `analysis.closed_loop`."""
        return self.linear.closed()

    @property
    def loop(self) -> "control.StateSpace":
        """The open loop as a system, see `analysis.loop`."""
        return self.linear.broken()


@final
@brief
@dataclass(frozen=True, eq=False)
class Worst:
    """The smallest disk margin, or the fastest growth, that was found within the ranges of some parameters.

    Attributes
    ----------
    parameters : dict of values by name
    point : Point
    tried : int
        Number of sets of values that were tried.
    unstable : int
        Number of these that are unstable or have no equilibrium.
    """

    parameters: Mapping[str, float]
    point: Point
    tried: int
    unstable: int


@final
@brief
@dataclass(frozen=True, eq=False)
class Stability:
    """Result of `stability`; `str` is a table.

    Attributes
    ----------
    name : of the arm, or the scenario
    controller : one line
    period : float or None
        Period of a sampled loop [s].
    end : Point
        Equilibrium of the loop, or the last point of the motion if there is none nearby.
    along : tuple of Point
        Points on the motion, in order of time.
    worst : Worst or None
    """

    name: str
    controller: str
    period: float | None
    end: Point
    along: tuple[Point, ...] = ()
    worst: Worst | None = None

    @property
    def stable(self) -> bool:
        """True if the loop is stable at the end, and over the ranges; frozen poles along a motion do not decide."""
        return self.end.stable and (self.worst is None or self.worst.point.stable)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.controller}", *_told(self.end)]
        if self.along:
            lines += ["", "along the motion   rightmost pole [1/s]      disk margin"]
            for point in self.along:
                disk = f"{point.together.disk:.4g}" if point.stable and point.one_rate else "-"
                lines.append(f"t = {point.time:<10.4g} s   {shown_pole(point.poles[0]):<25} {disk}")
        if self.worst:
            values = ", ".join(f"{name} = {value:.5g}" for name, value in self.worst.parameters.items())
            lines += ["", f"worst of {self.worst.tried}: {values}", *_told(self.worst.point)]
        return "\n".join(lines)


def _told(point: Point) -> list[str]:
    where = "at rest" if point.standing else "moving"
    lines = [f"{point.verdict}, {where} at t = {point.time:.4g} s, rightmost pole {shown_pole(point.poles[0])} 1/s"]
    if not point.stable:
        return lines
    if not point.one_rate:
        return [*lines, "a loop with several sampling periods has no margins"]
    lines.append("loop   gain   phase [deg]   delay [s]   crossover [rad/s]   disk   |S|   |T|")
    for each in point.loops:
        numbers = (*each.gain, np.degrees(each.phase), each.delay, each.crossover, each.disk)
        first, last, *others = (f"{x:.4g}" for x in (*numbers, each.sensitivity, each.complementary))
        lines.append("   ".join([each.name, f"{first} to {last}", *others]))
    all_ = point.together
    low, high = disk_gain(all_.disk)
    lines.append(
        f"all loops at once: disk {all_.disk:.4g} (gains {low:.4g} to {high:.4g}), |S| {all_.sensitivity:.4g}, "
        f"|T| {all_.complementary:.4g}"
    )
    return lines


def shown_pole(s: complex) -> str:
    """Text of a pole, or of a pair of poles."""
    return f"{s.real:.4g} +- {abs(s.imag):.4g}j" if abs(s.imag) > 1e-9 * abs(s) else f"{s.real:.4g}"


def stability(
    model: ModelLike,
    controller: Any,
    q: ArrayLike | None = None,
    *,
    motion: "xarray.Dataset | None" = None,
    along: int = 5,
    vary: Mapping[str, Sequence[float]] | None = None,
    samples: int = 50,
    seed: int = 0,
    name: str = "",
    w: ArrayLike | None = None,
) -> Stability:
    """Return poles and margins of an arm under a controller: at rest, along a motion, and in the worst case.

    The controller may be continuous, or sampled with delay and observer. The linear models are exact, as in
    `closed_loop`. Limits are left out.

    Parameters
    ----------
    model : Model, Arm, str or path
    controller : Controller, Sampled or Law
    q : (nq,) or (m,), optional
        Configuration near which the loop is at rest, default the end of its reference.
    motion : Dataset, optional
        A run of this model under this controller, with q and qd, with drive_state if drives have states, and with w if
        the run has exogenous inputs.
    along : int
        Number of times of the motion that are analysed, evenly spaced from its beginning, in addition to the end.
    vary : dict of (low, high) by names, optional
        Ranges of the arm's parameters, such as "payload.mass". The controller is designed for the model and does not
        know these values. The search tries all corners (64 random ones if there are more), then random samples, then a
        local descent from the worst of these.
    samples : int
        Number of random samples within the ranges.
    seed : int
        Seed of the random samples.
    name : str
        Name of the report; default that of the arm.
    w : (exogenous,), optional
        Exogenous inputs at rest; default those at the end of the motion.

    Returns
    -------
    Stability

    Raises
    ------
    DescriptionError
        If the controller is a Python function, if the motion lacks a required variable, or if a range is invalid.
    FlexarmError
        If the loop has no equilibrium nearby, and there is no motion.
    """
    with refused("stability"):
        model = as_model(model)
        checked_instance(name, str, "name")
        checked_whole(along, 0, "along")
        checked_whole(samples, 0, "samples")
        checked_whole(seed, 0, "seed")
    law, period = designed("stability", controller, model)
    states = None if motion is None else passed(model, law, period, motion)
    w = states.w[-1] if w is None and states is not None and states.w is not None else w
    exogenous = None if w is None else model.single("stability", "w", w)
    loop = ClosedLoop(model, law, period, exogenous)
    points = () if states is None else tuple(_frozen(loop, states, i) for i in _places(states, along))
    try:
        end = Point(_end(loop, states, q), True)
    except FlexarmError:
        if states is None:
            raise
        end = _frozen(loop, states, len(states.t) - 1)
    _check_poles(end)
    worst = None if vary is None else _worst(loop, model, end, vary, samples, seed)
    kind = type(controller.controller if period else controller).__name__
    said = f"{kind}, continuous" if period is None else f"{kind}, sampled every {period:g} s"
    return Stability(name or model.arm.name, said, period, end, points, worst)


def _end(loop: ClosedLoop, states: Passed | None, q: Any) -> LinearLoop:
    """Linear model at rest: near the end of the motion, or near q, or at the reference's end."""
    if states is not None and q is None:
        t, x = float(states.t[-1]), loop.start(states.q[-1], None, states.s[-1], states.z[-1])
        try:
            t = loop.begins(t)
            return LinearLoop.of(loop, t, loop.standing(t, x))
        except FlexarmError:
            pass
    return linear_loop("stability", loop, q=q)


def _drift(linear: LinearLoop) -> float:
    """Size up to which poles are the drift of a free base, which may turn [1/s]; 0 without a free base."""
    if not linear.model.arm.free:
        return 0.0
    s, n = linear.poles, linear.model.nv
    turning = float(np.linalg.norm(linear.x[n + 3 : n + 6]))
    return max(DRIFT * float(np.abs(s[np.isfinite(s)]).max(initial=0.0)), 2.0 * turning)


def _moving(linear: LinearLoop) -> tuple[Array, Array]:
    """Poles without the drift of a free base, and their errors."""
    s, error = linear.poles, linear.pole_errors
    moving = ~(np.abs(s) <= _drift(linear)) if linear.model.arm.free else np.full(len(s), True)
    return s[moving], error[moving]


def _check_poles(point: Point) -> None:
    """Warn if rounding leaves open whether a pole is to the left of the imaginary axis or to the right."""
    s, error = point.poles, point.pole_errors
    open_ = doubtful(s, error) & (np.abs(s.real) <= error)
    if open_.any():
        i = int(np.flatnonzero(open_)[0])
        warnings.warn(
            f"stability: the pole {shown_pole(s[i])} 1/s is known to +-{error[i]:.2g} 1/s only, which leaves open "
            f"whether the loop is stable: its poles reach {np.abs(s[np.isfinite(s)]).max():.2g} 1/s; make the stiffest "
            "or lightest part rigid, or leave it out",
            UncertainResult,
            stacklevel=3,
        )


def _places(states: Passed, along: int) -> list[int]:
    return [int(i) for i in np.linspace(0, len(states.t) - 1, min(along, len(states.t)) + 1)[:-1]]


def _frozen(loop: ClosedLoop, states: Passed, i: int) -> Point:
    x = loop.start(states.q[i], states.qd[i], states.s[i], states.z[i])
    if states.w is not None:
        loop = replace(loop, w=states.w[i], slopes_of_law=loop.law_slopes)
    return Point(LinearLoop.of(loop, loop.begins(float(states.t[i])), x), False)


def _worst(
    loop: ClosedLoop, arm: Model, end: Point, vary: Mapping[str, Sequence[float]], samples: int, seed: int
) -> Worst:
    """Return the worst of corners, random samples, and a descent from the worst of these."""
    from scipy.optimize import minimize

    names, low, high = _ranges(vary)
    with named_in("stability: vary"):
        varied = Model(arm.arm_at(), vary=list(names))
    _check_names(varied, names)
    law = loop.law_slopes
    scores: list[tuple[float, Array]] = []

    def at(x: Array) -> LinearLoop | None:
        p = dict(zip(names, (low + x * (high - low)).tolist(), strict=True))
        near = ClosedLoop(varied.at(p), loop.law, loop.period, loop.w, law)
        try:
            return LinearLoop.of(near, end.time, near.standing(end.time, end.linear.x))
        except FlexarmError:
            return None

    def score(x: Array) -> float:
        found = _score(at(x))
        scores.append((found, x.copy()))
        return found

    generator = np.random.default_rng(seed)
    for x in [*_corners(len(names), generator), *generator.random((samples, len(names)))]:
        score(x)
    start = min(scores, key=lambda each: each[0])
    if np.isfinite(start[0]):
        bounds = [(0.0, 1.0)] * len(names)
        most = {"maxfev": 20 + 10 * len(names), "xatol": 1e-3, "fatol": 1e-4}
        minimize(score, start[1], method="Nelder-Mead", bounds=bounds, options=most)
    _, x = min(scores, key=lambda each: each[0])
    found = at(x)
    p = dict(zip(names, (low + x * (high - low)).tolist(), strict=True))
    where = replace(end, standing=False, held=False) if found is None else Point(found, True)
    return Worst(p, where, len(scores), sum(each < 0.0 for each, _ in scores))


def _score(found: LinearLoop | None) -> float:
    """Score of a loop: the simultaneous disk margin, or the negative of the fastest growth if the loop is unstable.

    For a loop of several rates it is the slowest decay [1/s]. It is minus infinity without an equilibrium.
    """
    if found is None:
        return -np.inf
    s, error = _moving(found)
    if len(found.phases) > 1 or not is_stable(s, error):
        return -float(s.real.max())
    return together(found.broken(), _drift(found)).disk


def _corners(count: int, generator: np.random.Generator) -> Array:
    """All corners, or `MOST_CORNERS` random ones."""
    if 2**count <= MOST_CORNERS:
        return np.array(list(product((0.0, 1.0), repeat=count)))
    return generator.integers(0, 2, (MOST_CORNERS, count)).astype(float)


def _ranges(vary: Mapping[str, Sequence[float]]) -> tuple[tuple[str, ...], Array, Array]:
    with refused("stability"):
        if not isinstance(vary, Mapping) or not vary:
            raise Fault("vary", f"is {shown(vary)}; it must be a dict of ranges (low, high) by parameter name")
        ends = []
        for name, given in vary.items():
            pair = checked_array(given, f"vary: {shown(name)}")
            if pair.shape != (2,) or not pair[0] <= pair[1]:
                raise Fault("vary", f"has {shown(given)} for {shown(name)}; it must be (low, high)")
            ends.append(pair)
    low, high = np.array(ends).T
    return tuple(vary), low, high


def _check_names(varied: Model, names: Sequence[str]) -> None:
    """Raise `DescriptionError` for a pattern or a symbol that means several parameters, or another name."""
    if tuple(each.name for each in varied.parameters) != tuple(names):
        there = ", ".join(each.name for each in varied.parameters)
        raise DescriptionError(
            f"stability: vary names {', '.join(names)}; patterns are not allowed; give names of parameters: {there}"
        )
