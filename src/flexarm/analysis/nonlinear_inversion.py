"""Inputs for an exact motion of a nonlinear arm's outputs, which begin before the motion."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flexarm.analysis.balance import computing
from flexarm.analysis.equilibrium import equilibrium
from flexarm.analysis.inversion import CONSTANTS, LONGEST, SEEN, Inversion
from flexarm.analysis.servo_constraints import ServoConstraints, null_spaces
from flexarm.arrays import Array
from flexarm.checks import NOT_NEGATIVE, POSITIVE, checked_array, checked_number, counted, refused
from flexarm.description.joints import refuse_balls
from flexarm.errors import DescriptionError, FlexarmError, NotReached
from flexarm.model import Model, ModelLike, as_model
from flexarm.model.outputs import Sensor

ITERATIONS = 15
"""Largest number of Newton's steps."""
HALVINGS = 6
"""Number of times that a step of Newton's method is halved if the next step would not be shorter."""
SMALLEST = 1 / 16
"""Smallest part of the motion by which it is increased."""
LEAST = 1e-3
"""Share of the coordinates' size that counts as a motion where the arm does not move."""
MOST_NODES = 20_000
"""Largest number of times at which the motion is computed."""
AXIS = 1e-6
"""Share of a zero's size. A zero nearer to the imaginary axis has no bounded inverse."""
EXACT = 1e-11
"""Share of an output's size up to which a spline may miss its samples, which are rounded."""
ROUGH = 0.1
"""Largest change of an output's highest derivative if every second sample is left out, relative to its size."""
UNITS = 20.0
"""Duration of the motion in units of time of the equations, so that derivatives of all orders have similar sizes."""
COARSE = 3e-5
"""Largest difference between an input and a cubic spline through its samples without a warning, in units of its range,
as an average over the motion. Outputs of a run under the spline then have a similar error."""
TINY = 1e-6
"""Range of an input that counts as none [N m, N or V]."""
CORRECTIONS = 2
"""Number of times that the quasi-static motion is corrected by its own inertial forces."""
WITHIN = 1e-6
"""Largest error of a step, as a share of the motion. A smooth motion in short steps has errors near 1e-10."""


@computing("nonlinear_inversion")
def nonlinear_inversion(
    model: ModelLike,
    sensors: Sequence[Sensor],
    times: ArrayLike,
    y: ArrayLike,
    q0: ArrayLike,
    before: float | None = None,
    after: float | None = None,
    tolerance: float = 1e-8,
) -> Inversion:
    """Return the bounded inputs and the motion of an arm under which its outputs are y, without linearization.

    The equations of motion and the constraints y(q) = y are differentiated as often as the inputs need it: twice for a
    motor that moves the outputs directly, four times for one with an elastic joint between, three times if the joint's
    spring has a damper, and also mixed. The remaining motion, the zero dynamics, is a boundary value problem: before
    the motion the arm leaves the rest position along the unstable directions of its zeros, and after the motion it
    returns to rest along the stable ones (S. Devasia, D. Chen and B. Paden, IEEE Transactions on Automatic Control 41
    (1996) 930-942; R. Seifried, Dynamics of Underactuated Multibody Systems, 2014, section 4.3). Newton's method
    solves the problem for all times at once, from a quasi-static motion. Cubic polynomials satisfy the differential
    equations at both ends and the middle of each step (order 4), and the constraints and their derivatives are exact at
    the ends (projected collocation: U. M. Ascher and L. R. Petzold, SIAM Journal on Numerical Analysis 28 (1991)
    1097-1120).

    Parameters
    ----------
    model : Model, Arm, str or path
    sensors : list of Sensor
        As many signals as inputs. They measure positions, such as `TipPosition`.
    times : (N,)
        Equally spaced, from 0 [s].
    y : (N,) or (N, m)
        Readings at these times, from rest to rest. They need as many continuous derivatives as given above, all zero at
        both ends. `scipy.special.betainc(k + 1, k + 1, t / T)` goes from 0 to 1 with k of them.
    q0 : (nq,) or (m,)
        Configuration at rest near the beginning, or joint coordinates alone.
    before, after : float, optional
        Time added before the motion and after it [s]; default as in `stable_inversion`.
    tolerance : float
        Largest step of Newton's method at the end, in units of the largest coordinates.

    Returns
    -------
    Inversion
        `x` is (q, qd), `u` and `y` are complete values instead of deviations, and `zeros` are those at the beginning.

    Raises
    ------
    DescriptionError
        If an argument does not fit, if y is not smooth enough, if the inputs do not determine the outputs, if a zero is
        on the imaginary axis, or if the arm has closures, ball joints, a free base or drives with states.
    FlexarmError
        If there is no rest position or no bounded motion nearby: take a slower or smaller motion. Also if the motion
        changes within a step, as at an end stop: take more samples.

    Warns
    -----
    NotReached
        If a motion is cut at its ends, or if the samples of the inputs do not describe them.
    """
    where = "nonlinear_inversion"
    with refused(where):
        model = as_model(model)
        t, wanted = checked_array(times, "times"), checked_array(y, "y")
        tolerance = checked_number(tolerance, "", POSITIVE, "tolerance")
        for name, given in (("before", before), ("after", after)):
            if given is not None:
                checked_number(given, "s", NOT_NEGATIVE, name)
    _check_arm(where, model)
    wanted = wanted[:, None] if wanted.ndim == 1 else wanted
    names, m = model.output_names(sensors), len(model.inputs)
    if len(names) != m:
        raise DescriptionError(
            f"{where}: {counted(len(names), 'signal')} for {counted(m, 'input')}; the numbers must be equal"
        )
    if t.ndim != 1 or wanted.shape != (len(t), m):
        raise DescriptionError(f"{where}: y has shape {wanted.shape}; it must have one row per time, {(t.size, m)}")
    step = np.diff(t)
    if len(t) < 6 or not np.allclose(step, step[0], rtol=1e-6) or step[0] <= 0.0:
        raise DescriptionError(f"{where}: times must be at least 6 and increase in equal steps")

    h, duration = float(step[0]), float(t[-1] - t[0])
    servo = ServoConstraints.of(where, model, sensors, duration / UNITS)
    splines = [_spline(where, *each) for each in zip(names, [t] * m, wanted.T, servo.orders, strict=True)]
    path = _path(where, servo, np.concatenate(equilibrium(model, q0, held="joints")), wanted)
    regular = servo.regular(servo.state(path[None, [0, -1]]), _resting(servo, wanted[[0, -1]]))
    if not regular.all():
        at = _listed(wanted[0] if not regular[0] else wanted[-1])
        raise DescriptionError(
            f"{where}: arm {model.arm.name!r}: the inputs do not act on the outputs independently where these are "
            f'{at}; choose other sensors or another place, or take rotor = "relative"'
        )
    s = np.linalg.eigvals(servo.zero_dynamics(servo.state(path[None, :1]), _resting(servo, wanted[:1]))[1]) / servo.unit
    s = np.array(sorted(s, key=lambda z: (abs(z), z.imag)), dtype=complex)
    _check_zeros(where, s)
    right = s.real > 0.0
    rates = [np.abs(s[side].real).min(initial=np.inf) for side in (right, ~right)]
    asked = [
        min(CONSTANTS / each, LONGEST * duration) if given is None else given
        for each, given in zip(rates, (before, after), strict=True)
    ]
    first, last = (int(np.ceil(each / h)) for each in asked)
    if not first + last + len(t) <= MOST_NODES:
        raise DescriptionError(
            f"{where}: {first + last + len(t)} times in steps of {h:.3g} s; at most {MOST_NODES} are allowed; take "
            "longer steps, or give before and after"
        )
    time = t[0] + h * (np.arange(first + len(t) + last) - first)

    def started(share: float) -> tuple[Array, Array, Array]:
        """Return command, quasi-static motion and rest positions of a share of the motion."""
        command = _command(servo, splines, t, time, share)
        along = _path(where, servo, path[0], command[::2, :m][first : first + len(t)])
        v = np.concatenate([np.tile(along[0], (first, 1)), along, np.tile(along[-1], (last, 1))])
        return command, _slow(servo, v, h / servo.unit, command[::2, :m]), servo.state(along[None, [0, -1]])

    x, command = _continued(where, servo, started, h / servo.unit, tolerance)
    steps = _Steps(servo, x, command, h / servo.unit)
    off = np.abs(steps.defect[:, np.hstack([servo.q, servo.qd])]).max(axis=1)
    moved = _floor(servo, x) + max(float(np.ptp(x[:, each], axis=0).max()) for each in (servo.q, servo.qd))
    if off.max() > WITHIN * moved:
        raise FlexarmError(
            f"{where}: the motion changes within a step near t = {time[int(np.argmax(off))] - t[0]:.4g} s; take more "
            "samples or a slower motion; contacts, end stops and backlash with elastic joints have no such inputs"
        )
    u = np.hstack([x, steps.a])[:, servo.u]
    between = np.hstack([steps.middle, steps.a_middle])[:, servo.u]
    _check_samples(where, time - t[0], duration, u, between)
    begun = np.abs(u - path[0, model.nv :]).max(axis=1)
    lead = max(0.0, float(t[0] - time[int(np.argmax(begun > SEEN * begun.max(initial=0.0)))]))
    sides = zip(rates, (first, last), strict=True)
    cut = tuple(0.0 if each == np.inf else float(np.exp(-each * count * h)) for each, count in sides)
    motion = np.hstack([x[:, servo.q], x[:, servo.qd] / servo.unit])
    inverse = Inversion(time - t[0], u, motion, servo.outputs(x), s, lead, (cut[0], cut[1]))
    if inverse.missing and before is None and after is None:
        warnings.warn(f"{where}: {inverse.missing.removeprefix('; ')}", NotReached, stacklevel=3)
    return inverse


def _check_arm(where: str, model: Model) -> None:
    refuse_balls(model, where)
    for there, what in (
        (model.arm.free, "a free base"),
        (model.arm.closures, "closures"),
        (model.states, "drives with states"),
    ):
        if there:
            raise DescriptionError(f"{where}: arm {model.arm.name!r} has {what}, which is not supported")


def _check_zeros(where: str, s: Array) -> None:
    lone = s[np.abs(s.real) <= AXIS * np.abs(s)]
    if len(lone):
        at = ", ".join(f"{abs(z.imag):.4g}" for z in lone if z.imag >= 0.0)
        raise DescriptionError(
            f"{where}: zeros at {at} rad/s on the imaginary axis; no bounded input gives this output; add damping"
        )


def _check_samples(where: str, time: Array, duration: float, u: Array, between: Array) -> None:
    """Warn if inputs in the middle of the steps, (k - 1, m), are not on a cubic spline through inputs at the times."""
    from scipy.interpolate import CubicSpline

    middle = (time[1:] + time[:-1]) / 2.0
    off = (np.abs(CubicSpline(time, u)(middle) - between) / (np.ptp(u, axis=0) + TINY)).max(axis=1)
    if np.mean(off) * np.ptp(time) > COARSE * duration:
        i = int(np.argmax(off))
        warnings.warn(
            f"{where}: an input changes fast near t = {middle[i]:.4g} s: between two samples it differs by "
            f"{100 * off[i]:.2g} % of its range from a cubic spline through them; take more samples",
            NotReached,
            stacklevel=4,
        )


def _listed(y: Array) -> str:
    return ", ".join(f"{each:.4g}" for each in y)


def _spline(where: str, name: str, t: Array, y: Array, order: int) -> Any:
    """Return a spline through samples, with the derivatives up to the order continuous, and zero at both ends.

    It has as few pieces as the samples allow, since each derivative multiplies their rounding errors by one over the
    length of a piece. Raises `DescriptionError` if the highest derivative depends on the number of samples.
    """
    from scipy.interpolate import make_interp_spline

    count, ends = len(t) - 1, [(each, 0.0) for each in range(1, order + 1)]

    def through(pieces: int) -> Any:
        some = np.round(np.linspace(0, count, pieces + 1)).astype(int)
        return make_interp_spline(t[some], y[some], k=2 * order + 1, bc_type=(ends, ends))

    pieces, best, least = 1, None, EXACT * np.abs(y).max()
    while pieces < count:
        spline = through(pieces)
        missed = np.abs(spline(t) - y).max()
        if best is not None and missed > least / 4.0:  # the rest is rounding
            return best
        if missed <= least:
            best, least = spline, missed
        pieces *= 2
    if best is not None:
        return best
    spline, fine = through(count), np.linspace(t[0], t[-1], 2 * count + 1)
    off = np.abs(spline(fine, order) - through(count // 2)(fine, order))
    if not off.max() <= ROUGH * np.abs(spline(fine, order)).max():
        at = fine[int(np.argmax(off))] - t[0]
        raise DescriptionError(
            f"{where}: the inputs act on derivative {order} of {name}, which is not smooth near t = {at:.4g} s; y must "
            f"begin and end at rest, with {order} continuous derivatives and enough unrounded samples, such as "
            f"scipy.special.betainc({order + 1}, {order + 1}, t / T) from 0 to 1"
        )
    return spline


def _command(servo: ServoConstraints, splines: list[Any], t: Array, time: Array, share: float) -> Array:
    """Return r, y and its derivatives in units of time, at the times and between them: (2k - 1, orders m)."""
    fine = np.linspace(time[0], time[-1], 2 * len(time) - 1)
    inside = np.clip(fine, t[0], t[-1])
    moving = ((fine > t[0]) & (fine < t[-1]))[:, None]
    start = np.array([spline(t[0]) for spline in splines])

    def derivative(k: int) -> Array:
        values = [
            spline(inside, k) if k <= most else 0.0 * inside for spline, most in zip(splines, servo.orders, strict=True)
        ]
        return share * servo.unit**k * np.stack(values, axis=1)

    y = start + derivative(0) - share * start
    return np.hstack([y, *(moving * derivative(k) for k in range(1, max(servo.orders) + 1))])


def _resting(servo: ServoConstraints, y: Array) -> Array:
    """Return the commands (k, orders m) to stay at outputs (k, m)."""
    return np.hstack([y, np.zeros((len(y), max(servo.orders) * y.shape[1]))])


def _path(where: str, servo: ServoConstraints, v: Array, y: Array) -> Array:
    """Return the rest positions and inputs (N, n + m) with outputs (N, m), each from the one before."""
    none, found = np.zeros((1, len(v))), []
    for wanted in y:
        for _ in range(ITERATIONS):
            e, slope = servo.balance(v[None], none, none, wanted[None])
            step = -np.linalg.lstsq(slope[0], e[0])[0]
            v = v + step
            if not np.isfinite(v).all() or np.abs(step[: servo.n]).max() < 1e-11 * (1.0 + np.abs(v[: servo.n]).max()):
                break
        off = servo.balance(v[None], none, none, wanted[None])[0][0, servo.n :]
        if not np.isfinite(v).all() or np.abs(off).max() > 1e-6 * (1.0 + np.abs(wanted).max()):
            raise FlexarmError(
                f"{where}: the arm has no rest position near q0 with the outputs {_listed(wanted)}; check y and q0"
            )
        found.append(v)
    return np.array(found)


def _slow(servo: ServoConstraints, v: Array, h: float, y: Array) -> Array:
    """Return x (k, size) of a motion (k, n + m) through rest positions, corrected by its own inertial forces."""
    for _ in range(CORRECTIONS):
        rate = np.gradient(v, h, axis=0)
        acceleration = np.gradient(rate, h, axis=0)
        for _ in range(3):
            e, slope = servo.balance(v, rate, acceleration, y)
            v = v - np.linalg.solve(slope, e[..., None])[..., 0]
    derivatives = [v]
    for _ in range(int(servo.below[0].max())):
        derivatives.append(np.gradient(derivatives[-1], h, axis=0))
    return servo.state(np.array(derivatives))


def _continued(
    where: str,
    servo: ServoConstraints,
    started: Callable[[float], tuple[Array, Array, Array]],
    h: float,
    tolerance: float,
) -> tuple[Array, Array]:
    """Return x (k, size) and its command, by way of smaller motions if Newton's method fails for the whole."""
    done, step, off = 0.0, 1.0, 0.0
    while step >= SMALLEST:
        share, x = min(1.0, done + step), None
        with suppress(np.linalg.LinAlgError):  # of an iterate where the inputs have no effect
            command, slow, ends = started(share)
            x = _solved(where, servo, slow + (share / done * off if done else 0.0), command, h, ends, tolerance)
        if x is None:
            step /= 2.0
        elif share == 1.0:
            return x, command
        else:
            done, off = share, x - slow
    raise FlexarmError(
        f"{where}: no bounded motion was found beyond {100 * done:.3g} % of the motion; take a slower or smaller motion"
    )


class _Steps:
    """Errors of Simpson's rule for a motion x (k, size) under a command, with cubic polynomials between the times."""

    def __init__(self, servo: ServoConstraints, x: Array, r: Array, h: float):
        self.a, self.S = servo.highest(x, r[::2])
        F = servo.rates(x, self.a)
        self.middle = (x[1:] + x[:-1]) / 2.0 + h / 8.0 * (F[:-1] - F[1:])
        self.a_middle, self.S_middle = servo.highest(self.middle, r[1::2])
        self.defect = x[1:] - x[:-1] - h / 6.0 * (F[:-1] + 4.0 * servo.rates(self.middle, self.a_middle) + F[1:])


def _solved(
    where: str, servo: ServoConstraints, x: Array, r: Array, h: float, ends: Array, tolerance: float
) -> Array | None:
    """Return the motion (k, size) between the manifolds of both rest positions, or None.

    Newton's method is applied to the conditions at all times, and to Simpson's rule in the directions that they leave.
    """
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    k, d = x.shape
    stable, unstable = _directions(servo, ends[:1], r[:1], True), _directions(servo, ends[1:], r[-1:], False)
    if len(stable) + len(unstable) != d - servo.conditions:
        raise FlexarmError(f"{where}: the number of unstable zeros differs at both ends; take a smaller motion")
    one, rows, columns = np.eye(d), *_places(k, d, len(stable) + servo.conditions, len(unstable))

    def residual(x: Array, N: Array) -> tuple[_Steps, Array]:
        steps, C = _Steps(servo, x, r, h), servo.conditions_on(x, r[::2])[0]
        inside = np.hstack([(N @ steps.defect[..., None])[..., 0], C[1:]])
        return steps, np.concatenate([stable @ (x[0] - ends[0]), C[0], inside.ravel(), unstable @ (x[-1] - ends[1])])

    for _ in range(ITERATIONS):
        C = servo.conditions_on(x, r[::2])[1]
        if not np.isfinite(C).all():
            return None
        N = null_spaces(C[:-1]).transpose(0, 2, 1)
        steps, off = residual(x, N)
        A = servo.slopes(x, steps.a, steps.S, r[::2])
        Am = servo.slopes(steps.middle, steps.a_middle, steps.S_middle, r[1::2])
        left = -one - h / 6.0 * (A[:-1] + 4.0 * Am @ (one / 2.0 + h / 8.0 * A[:-1]))
        right = one - h / 6.0 * (A[1:] + 4.0 * Am @ (one / 2.0 - h / 8.0 * A[1:]))
        inside = np.block([[N @ left, N @ right], [np.zeros_like(C[1:]), C[1:]]])
        values = np.concatenate([each.ravel() for each in (stable, C[0], inside, unstable)])
        if not np.isfinite(values).all():
            return None
        try:
            solve = splu(csc_matrix((values, (rows, columns)), shape=(k * d, k * d))).solve
        except RuntimeError:  # the matrix is singular
            return None
        step, length = solve(-off).reshape(k, d), 1.0
        for _ in range(HALVINGS):
            next_step = np.linalg.norm(solve(residual(x + length * step, N)[1]))
            if next_step < (1.0 - length / 4.0) * np.linalg.norm(step) or np.abs(step).max() < tolerance:
                break
            length /= 2.0
        else:
            return None
        x = x + length * step
        parts = [(step[:, each], x[:, each]) for each in (servo.q, servo.qd)]
        floor = _floor(servo, x)
        if length == 1.0 and all(np.abs(part).max() <= tolerance * (np.ptp(whole) + floor) for part, whole in parts):
            return x
    return None


def _floor(servo: ServoConstraints, x: Array) -> float:
    """Return the size of a motion that counts as none."""
    return float(LEAST * (1.0 + np.abs(x[:, servo.q]).max()))


def _directions(servo: ServoConstraints, x: Array, r: Array, stable: bool) -> Array:
    """Return the rows W (k, size) for which W (x - rest) = 0 leaves only unstable motions, or only stable ones."""
    from scipy.linalg import schur

    N, A = servo.zero_dynamics(x, r)
    if not len(A):
        return np.empty((0, servo.size))
    _, Z, count = schur(A.T, output="real", sort="lhp" if stable else "rhp")
    return Z[:, :count].T @ N.T


def _places(k: int, d: int, first: int, last: int) -> tuple[Array, Array]:
    """Return rows and columns of the entries: conditions at the start, of each step, and at the end."""
    start = np.mgrid[0:first, 0:d].reshape(2, -1)
    step, i, j = np.mgrid[0 : k - 1, 0:d, 0 : 2 * d]
    inner = np.stack([first + step * d + i, step * d + j]).reshape(2, -1)
    end = np.mgrid[0:last, 0:d].reshape(2, -1) + np.array([[k * d - last], [(k - 1) * d]])
    rows, columns = np.concatenate([start, inner, end], axis=1)
    return rows, columns
