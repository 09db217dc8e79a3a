"""Inputs for an exact motion of a nonlinear arm's outputs, which begin before the motion."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.analysis.balance import computing
from flexarm.analysis.equilibrium import equilibrium
from flexarm.analysis.inversion import CONSTANTS, LONGEST, SEEN, Inversion
from flexarm.arrays import Array
from flexarm.checks import NOT_NEGATIVE, POSITIVE, checked_array, checked_instance, checked_number, counted, refused
from flexarm.description.joints import refuse_balls
from flexarm.errors import DescriptionError, FlexarmError, NotReached
from flexarm.model import Model
from flexarm.model.outputs import Sensor

ITERATIONS = 30
"""Largest number of Newton's steps."""
HALVINGS = 4
"""Number of times that a step of Newton's method is halved if it does not reduce the residual."""
SMALLEST = 1 / 16
"""Smallest part of the motion by which it is increased."""
LEAST = 1e-3
"""Share of the coordinates' size that counts as a motion where the arm does not move."""
MOST_NODES = 20_000
"""Largest number of times at which the motion is computed."""
RATE = 3.0
"""Rate at which a deviation of the output from its motion decays in the iteration, in units of the slowest zero."""
AXIS = 1e-6
"""Share of a zero's size. A zero nearer to the imaginary axis has no bounded inverse."""
DEGREE = 1e-9
"""Reciprocal condition number of the outputs' accelerations by the inputs, below which they are not independent."""
AT_REST = 1e-2
"""Share of the motion that the first and the last step of the output may have."""


@computing("nonlinear_inversion")
def nonlinear_inversion(
    model: Model,
    sensors: Sequence[Sensor],
    times: ArrayLike,
    y: ArrayLike,
    q0: ArrayLike,
    before: float | None = None,
    after: float | None = None,
    tolerance: float = 1e-8,
) -> Inversion:
    """Return the bounded inputs and the motion of an arm under which its outputs are y, without linearization.

    The inputs follow from the outputs' accelerations, J M^-1 (B u - c) + dJ/dt qd = d2y/dt2. The remaining motion, the
    zero dynamics, is a boundary value problem: before the motion the arm leaves the rest position along the unstable
    directions of its zeros, and after the motion it returns to rest along the stable ones (S. Devasia, D. Chen and B.
    Paden, IEEE Transactions on Automatic Control 41 (1996) 930-942; R. Seifried, Dynamics of Underactuated Multibody
    Systems, 2014, section 4.3). Newton's method solves the problem for all times at once, with cubic polynomials that
    satisfy the equations at both ends and the middle of each step (order 4), from a quasi-static motion.

    Parameters
    ----------
    model : Model
    sensors : list of Sensor
        As many signals as inputs. They measure positions, such as `TipPosition`.
    times : (N,)
        Equally spaced, from 0 [s].
    y : (N,) or (N, m)
        Readings at these times, from rest to rest. They need two continuous derivatives.
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
        If an argument does not fit, if the inputs do not accelerate the outputs independently (an elastic joint between
        them), if a zero is on the imaginary axis, or if the arm has closures, ball joints, a free base or drives with
        states.
    FlexarmError
        If there is no rest position or no bounded motion nearby: take a slower or smaller motion.
    """
    where = "nonlinear_inversion"
    with refused(where):
        checked_instance(model, Model, "model")
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
    size = np.ptp(wanted, axis=0).max(initial=0.0) or 1.0
    if max(np.abs(wanted[1] - wanted[0]).max(), np.abs(wanted[-1] - wanted[-2]).max()) > AT_REST * size:
        raise DescriptionError(f"{where}: y must begin and end at rest; extend it")

    h = float(step[0])
    inner = _Inner.of(where, model, sensors)
    path = _path(where, inner, equilibrium(model, q0, held="joints")[0], wanted)
    s = inner.zeros(path[0], wanted[0])
    _check_zeros(where, s)
    rate = RATE * float(np.abs(s.real).min(initial=1.0 / (t[-1] - t[0])))
    inner = inner.with_rate(rate)
    right = s.real > 0.0
    rates = [np.abs(s[side].real).min(initial=np.inf) for side in (right, ~right)]
    longest = LONGEST * (t[-1] - t[0])
    asked = [
        min(CONSTANTS / each, longest) if given is None else given
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
        part = wanted[0] + share * (wanted - wanted[0])
        along = _path(where, inner, path[0], part)
        x = np.concatenate([np.tile(along[0], (first, 1)), along, np.tile(along[-1], (last, 1))])
        return _command(t, part, time), np.hstack([x, np.gradient(x, h, axis=0)]), along[[0, -1]]

    x, command = _continued(where, inner, started, h, tolerance)
    u, seen = inner.inputs(x, command[::2])
    rest = np.concatenate([path[0], np.zeros(model.nv)])[None]
    begun = np.abs(u - inner.inputs(rest, inner.resting(wanted[0]))[0]).max(axis=1)
    lead = max(0.0, float(t[0] - time[int(np.argmax(begun > SEEN * begun.max(initial=0.0)))]))
    sides = zip(rates, (first, last), strict=True)
    cut = tuple(0.0 if each == np.inf else float(np.exp(-each * count * h)) for each, count in sides)
    inverse = Inversion(time - t[0], u, x, seen, s, lead, (cut[0], cut[1]))
    if inverse.missing and before is None and after is None:
        warnings.warn(f"{where}: {inverse.missing.removeprefix('; ')}", NotReached, stacklevel=2)
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


@final
@dataclass(frozen=True, eq=False)
class _Inner:
    """The arm under the input that accelerates its outputs as commanded: dx/dt = F(x, r), r = (y, dy/dt, d2y/dt2).

    A deviation e of the outputs decays as (d/dt + rate)^2 e = 0, so that x is not restricted to motions with these
    outputs.
    """

    build: Callable[[float], tuple[Any, Any, Any]]
    functions: tuple[Any, Any, Any]
    n: int
    m: int

    @classmethod
    def of(cls, where: str, model: Model, sensors: Sequence[Sensor]) -> "_Inner":
        import casadi as ca

        n, m = model.nv, len(model.inputs)
        forward, output = model.fixed("forward_dynamics"), model.with_numbers(model.output_function(sensors))
        q, qd, u, r = (ca.SX.sym(name, count) for name, count in (("q", n), ("qd", n), ("u", m), ("r", 3 * m)))
        still = ca.SX.zeros(n)
        y = output(q, qd, still)
        if ca.depends_on(ca.vertcat(y, output(q, still, qd)), qd):
            raise DescriptionError(f"{where}: the sensors must measure positions, not rates or accelerations")
        acceleration = forward(q, qd, u)
        J = ca.jacobian(y, q)
        yd = J @ qd
        free = ca.substitute(acceleration, u, ca.SX.zeros(m))
        by_u = ca.jacobian(acceleration, u)
        gain = J @ by_u
        _check_degree(where, model, ca.Function("gain", [q], [ca.substitute(gain, u, ca.SX.zeros(m))]))

        def build(rate: float) -> tuple[Any, Any, Any]:
            v = r[2 * m :] + 2.0 * rate * (r[m : 2 * m] - yd) + rate**2 * (r[:m] - y)
            force = ca.solve(gain, v - J @ free - ca.jacobian(yd, q) @ qd)
            rates = ca.vertcat(qd, free + by_u @ force)
            x = ca.vertcat(q, qd)
            F = ca.Function("rates", [x, r], [rates])
            return (
                F,
                ca.Function("slopes", [x, r], [ca.densify(ca.jacobian(rates, x))]),
                ca.Function("seen", [x, r], [force, y]),
            )

        return cls(build, build(1.0), n, m)

    def with_rate(self, rate: float) -> "_Inner":
        """Return the same with another decay of the outputs' deviations."""
        return _Inner(self.build, self.build(rate), self.n, self.m)

    def rates(self, x: Array, r: Array) -> Array:
        """Return F at states (k, 2n) and commands (k, 3m)."""
        return np.array(self.functions[0].map(len(x))(x.T, r.T)).T

    def slopes(self, x: Array, r: Array) -> Array:
        """Return dF/dx (k, 2n, 2n)."""
        found = np.array(self.functions[1].map(len(x))(x.T, r.T))
        return found.reshape(2 * self.n, len(x), 2 * self.n).transpose(1, 0, 2)

    def inputs(self, x: Array, r: Array) -> tuple[Array, Array]:
        """Return the inputs (k, m) and the outputs (k, m)."""
        u, y = self.functions[2].map(len(x))(x.T, r.T)
        return np.array(u).T, np.array(y).T

    def resting(self, y: Array) -> Array:
        """Return the command to stay at outputs (m,)."""
        return np.concatenate([y, np.zeros(2 * self.m)])[None]

    def zeros(self, q: Array, y: Array) -> Array:
        """Return the zeros at a rest position: eigenvalues except those of the outputs' deviations."""
        x = np.concatenate([q, np.zeros(self.n)])[None]
        s = np.linalg.eigvals(self.slopes(x, self.resting(y))[0])
        rate, left = 1.0, list(s)
        for _ in range(2 * self.m):
            left.pop(int(np.argmin(np.abs(np.array(left) + rate))))
        return np.array(sorted(left, key=lambda z: (abs(z), z.imag)), dtype=complex)


def _check_degree(where: str, model: Model, gain: Any) -> None:
    value = np.array(gain(np.array(model.arm.rest) + 0.1))
    if not np.isfinite(value).all() or not np.linalg.cond(value) < 1.0 / DEGREE:
        raise DescriptionError(
            f"{where}: arm {model.arm.name!r}: the inputs do not accelerate the outputs directly and independently; "
            "make elastic joints between them rigid, or choose other sensors"
        )


def _path(where: str, inner: _Inner, q: Array, y: Array) -> Array:
    """Return the rest positions (N, n) with outputs (N, m), each from the one before."""
    n, found = inner.n, []
    for wanted in y:
        r = inner.resting(wanted)
        for _ in range(ITERATIONS):
            x = np.concatenate([q, np.zeros(n)])[None]
            step = -np.linalg.lstsq(inner.slopes(x, r)[0, n:, :n], inner.rates(x, r)[0, n:])[0]
            q = q + step
            if not np.isfinite(q).all() or np.abs(step).max() < 1e-11 * (1.0 + np.abs(q).max()):
                break
        x = np.concatenate([q, np.zeros(n)])[None]
        if not np.isfinite(q).all() or np.abs(inner.inputs(x, r)[1] - wanted).max() > 1e-6 * (
            1.0 + np.abs(wanted).max()
        ):
            at = ", ".join(f"{each:.4g}" for each in wanted)
            raise FlexarmError(f"{where}: the arm has no rest position near q0 with the outputs {at}; check y and q0")
        found.append(q)
    return np.array(found)


def _command(t: Array, y: Array, time: Array) -> Array:
    """Return (y, dy/dt, d2y/dt2) at the times and between them, (2k - 1, 3m), by a spline of degree 5."""
    from scipy.interpolate import make_interp_spline

    ends = [(order, np.zeros(y.shape[1])) for order in (1, 2)]
    spline = make_interp_spline(t, y, k=5, bc_type=(ends, ends))
    fine = np.linspace(time[0], time[-1], 2 * len(time) - 1)
    inside = np.clip(fine, t[0], t[-1])
    moving = ((fine > t[0]) & (fine < t[-1]))[:, None]
    return np.hstack([spline(inside), moving * spline(inside, 1), moving * spline(inside, 2)])


def _continued(
    where: str, inner: _Inner, started: Callable[[float], tuple[Array, Array, Array]], h: float, tolerance: float
) -> tuple[Array, Array]:
    """Return the motion (k, 2n) and its command, by way of smaller motions if Newton's method fails for the whole."""
    done, step, off = 0.0, 1.0, 0.0
    while step >= SMALLEST:
        share = min(1.0, done + step)
        command, slow, ends = started(share)
        x = _solved(where, inner, slow + (share / done * off if done else 0.0), command, h, ends, tolerance)
        if x is None:
            step /= 2.0
        elif share == 1.0:
            return x, command
        else:
            done, off = share, x - slow
    raise FlexarmError(
        f"{where}: no bounded motion was found beyond {100 * done:.3g} % of the motion; take a slower or smaller motion"
    )


def _solved(where: str, inner: _Inner, x: Array, r: Array, h: float, ends: Array, tolerance: float) -> Array | None:
    """Return the motion (k, 2n) between the manifolds of both rest positions, or None.

    Newton's method is applied to Simpson's rule.
    """
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    k, d = x.shape
    rest = [np.concatenate([q, np.zeros(inner.n)]) for q in ends]
    stable = _directions(inner, rest[0], r[:1], True)
    unstable = _directions(inner, rest[1], r[-1:], False)
    if len(stable) + len(unstable) != d:
        raise FlexarmError(f"{where}: the number of unstable zeros differs at both ends; take a smaller motion")
    one = np.eye(d)
    rows, columns = _places(k, d, len(stable), len(unstable))

    def evaluated(x: Array) -> tuple[Array, Array, Array]:
        """Return F at the times, the states in the middle of the steps, and the residual."""
        F = inner.rates(x, r[::2])
        middle = (x[1:] + x[:-1]) / 2.0 + h / 8.0 * (F[:-1] - F[1:])
        defect = x[1:] - x[:-1] - h / 6.0 * (F[:-1] + 4.0 * inner.rates(middle, r[1::2]) + F[1:])
        return F, middle, np.concatenate([stable @ (x[0] - rest[0]), defect.ravel(), unstable @ (x[-1] - rest[1])])

    _, middle, residual = evaluated(x)
    for _ in range(ITERATIONS):
        A, Am = inner.slopes(x, r[::2]), inner.slopes(middle, r[1::2])
        left = -one - h / 6.0 * (A[:-1] + 4.0 * Am @ (one / 2.0 + h / 8.0 * A[:-1]))
        right = one - h / 6.0 * (A[1:] + 4.0 * Am @ (one / 2.0 - h / 8.0 * A[1:]))
        values = np.concatenate([stable.ravel(), np.concatenate([left, right], axis=2).ravel(), unstable.ravel()])
        if not np.isfinite(values).all():
            return None
        try:
            step = splu(csc_matrix((values, (rows, columns)), shape=(k * d, k * d))).solve(-residual).reshape(k, d)
        except RuntimeError:  # the matrix is singular
            return None
        size, length = np.linalg.norm(residual), 1.0
        for _ in range(HALVINGS):
            _, middle, residual = evaluated(x + length * step)
            if np.linalg.norm(residual) < size or length * np.abs(step).max() < tolerance:
                break
            length /= 2.0
        else:
            return None
        x = x + length * step
        parts = zip(np.hsplit(step, 2), np.hsplit(x, 2), strict=True)
        floor = LEAST * (1.0 + np.abs(x[:, : d // 2]).max())
        if length == 1.0 and all(np.abs(part).max() <= tolerance * (np.ptp(whole) + floor) for part, whole in parts):
            return x
    return None


def _directions(inner: _Inner, x: Array, r: Array, stable: bool) -> Array:
    """Return the rows W (k, 2n) for which W (x - rest) = 0 leaves only unstable motions, or only stable ones."""
    from scipy.linalg import schur

    A = inner.slopes(x[None], r)[0]
    _, Z, count = schur(A.T, output="real", sort="lhp" if stable else "rhp")
    return Z[:, :count].T


def _places(k: int, d: int, first: int, last: int) -> tuple[Array, Array]:
    """Return rows and columns of the entries: conditions at the start, of each step, and at the end."""
    start = np.mgrid[0:first, 0:d].reshape(2, -1)
    step, i, j = np.mgrid[0 : k - 1, 0:d, 0 : 2 * d]
    inner = np.stack([first + step * d + i, step * d + j]).reshape(2, -1)
    end = np.mgrid[0:last, 0:d].reshape(2, -1) + np.array([[k * d - last], [(k - 1) * d]])
    rows, columns = np.concatenate([start, inner, end], axis=1)
    return rows, columns
