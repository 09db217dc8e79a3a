"""Robustness of feedback loops: gain, phase and delay margins, disk margins, peaks of sensitivities.

A loop transfer function L leads from the plant's inputs to the negative of the controller's outputs. 1 + L must not be
singular: S = (1 + L)^-1, T = L S. L of a sampled loop is a system in z, and all frequencies are below half the sampling
rate.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.analysis.balance import balanced, eigenvalues
from flexarm.analysis.linear import state_space, zeros_with_errors
from flexarm.analysis.response import Response, largest
from flexarm.arrays import Array
from flexarm.checks import NOT_NEGATIVE, checked_instance, checked_number, counted, refused
from flexarm.errors import DescriptionError, UncertainResult

if TYPE_CHECKING:
    import control

UNSTABLE = 1e-9
"""Share of a pole's size. A pole farther to the right is unstable; a pole nearer to the axis counts as on the axis."""
SWEEP = 40
"""Frequencies per decade of the grid, in addition to those near poles and zeros."""
SMALLEST = 1e-16
"""Share of the largest pole or zero; a smaller one counts as zero."""
ABOUT = np.concatenate([[0.0], *(np.array([-1.0, 1.0]) * 2.0**k for k in range(-3, 7))])
"""Grid points about a resonance, in half-widths of the resonance."""
TURN = 0.3
"""Relative change of a response between two neighbouring frequencies above which more are added between them."""
FINEST = 1e-10
"""Smallest relative distance of two frequencies, as on both sides of a pole on the axis."""
BISECTIONS = 40
MOST = 50_000
"""Number of frequencies above which no more are added."""
STILL = 1e-6
"""Share of the fastest pole. A slower pole counts as zero if rounding may have moved it that far."""
DETERMINED = 1e-3
"""Relative change of the loop by the last digits of its numbers above which its margins come with a warning."""
ROUNDING = 1e-9
"""Factor of gain below which it counts as 0, as in a loop with a pole at zero."""
ACCURACY = 1e-6
"""Relative accuracy of a peak."""
PEAKS = 3
"""Number of maxima of the grid that are refined."""


@final
@dataclass(frozen=True)
class Margins:
    """Margins of one loop with the others closed; NaN if the closed loop is not stable.

    Attributes
    ----------
    name : of the actuator
    gain : (low, high)
        Factors on the loop's gain between which the loop stays stable, one at a time: 0 and infinity if there is no
        limit.
    phase : float
        Smallest phase lag or lead that would make the loop unstable; infinite if none does [rad].
    delay : float
        Smallest additional delay that would make the loop unstable [s].
    crossover : float
        Frequency at which the loop's gain is 1, at the phase margin; NaN if there is none [rad/s].
    disk : float
        Balanced disk margin alpha = 2 / max |S - T|: gain and phase may change together, by any f in the disk
        f = (1 + d / 2) / (1 - d / 2), |d| < alpha (P. Seiler, A. Packard, P. Gahinet, An introduction to disk margins,
        IEEE Control Systems 40 (2020) 78-95).
    frequency : float
        Frequency of the disk margin [rad/s].
    sensitivity, complementary : float
        max |S| and max |T|.
    """

    name: str
    gain: tuple[float, float]
    phase: float
    delay: float
    crossover: float
    disk: float
    frequency: float
    sensitivity: float
    complementary: float

    @property
    def disk_gain(self) -> tuple[float, float]:
        """Factors of gain inside the disk, at zero phase: 0 and infinity from alpha = 2 on."""
        return disk_gain(self.disk)

    @property
    def disk_phase(self) -> float:
        """Phase inside the disk, 2 atan(alpha / 2) [rad]."""
        return 2.0 * float(np.arctan(self.disk / 2.0))


def disk_gain(alpha: float) -> tuple[float, float]:
    """Factors of gain inside a balanced disk of the margin alpha."""
    if np.isnan(alpha):
        return np.nan, np.nan
    return (0.0, np.inf) if alpha >= 2.0 else ((2.0 - alpha) / (2.0 + alpha), (2.0 + alpha) / (2.0 - alpha))


@final
@dataclass(frozen=True)
class Together:
    """Margins of all loops at once; NaN if the closed loop is not stable.

    Attributes
    ----------
    disk : float
        Simultaneous balanced disk margin: each loop may change by its own disk of this size. It is a lower bound,
        2 / max mu(S - T) with mu bounded by diagonal scaling.
    frequency : float
        Frequency of this margin [rad/s].
    sensitivity, complementary : float
        Largest singular values of S and T.
    """

    disk: float
    frequency: float
    sensitivity: float
    complementary: float


def is_stable(poles: Array, errors: Array | float = 0.0) -> bool:
    """True if all poles [1/s] lie in the left half plane, by more than rounding, see `eigenvalues`."""
    return bool((poles.real < -_near_axis(poles, errors)).all())


def grows(poles: Array, errors: Array | float = 0.0) -> bool:
    """True if a pole [1/s] lies in the right half plane, by more than rounding, see `eigenvalues`."""
    return bool((poles.real > _near_axis(poles, errors)).any())


def _near_axis(poles: Array, errors: Array | float) -> Array:
    """Distances from the imaginary axis within which a pole may be on it."""
    size = np.where(np.isfinite(poles), np.abs(poles), 0.0)
    return np.maximum(UNSTABLE * size, errors)


def margins(loop: "control.StateSpace", name: str = "", drift: float = 0.0) -> Margins:
    """Return the margins of one loop with one input, one output and a stable closed loop.

    Poles of the closed loop of at most the size `drift` [1/s] are left out: those of a free base's momentum and
    position. Raises `DescriptionError` for another loop.
    """
    A, B, C, period = _checked(loop, drift)
    with refused("margins"):
        checked_instance(name, str, "name")
    if loop.ninputs != 1 or loop.noutputs != 1:
        raise DescriptionError(
            f"margins: the loop has {counted(loop.ninputs, 'input')} and "
            f"{counted(loop.noutputs, 'output')}; it must have one of each"
        )
    name = name or loop.input_labels[0]
    if not np.any(B) or not np.any(C):  # there is no feedback
        return Margins(name, (0.0, np.inf), np.inf, np.inf, np.nan, 2.0, np.nan, 1.0, 0.0)
    L = Response(A, B, C, np.zeros((1, 1)), period)
    features = [*_poles(A, period), *_poles(A - B @ C, period), *_zeros(loop, period)]
    omega, values = _resolved(L, _looked_at(features, period))
    gain, crossings = _gain_margin(L, omega, values[:, 0, 0]), _crossings(L, omega, values[:, 0, 0])
    lag = np.array([_lag(L, w) for w in crossings])
    lead = 2.0 * np.pi - lag
    angle = np.minimum(lag, lead)
    at = int(np.argmin(angle)) if len(angle) else -1
    S, T, both = _sensitivities(A, B, C, period, drift)
    closed = T(omega)
    worst, frequency = peak(both, omega, 1.0 - 2.0 * closed)
    _check_determined(name, L, both, np.array([frequency, *gain.frequencies, *crossings]))
    return Margins(
        name,
        gain.factors,
        float(angle[at]) if len(angle) else np.inf,
        float((lag / crossings).min()) if len(angle) else np.inf,
        float(crossings[at]) if len(angle) else np.nan,
        2.0 / worst,
        frequency,
        peak(S, omega, 1.0 - closed)[0],
        peak(T, omega, closed)[0],
    )


def together(loop: "control.StateSpace", drift: float = 0.0) -> Together:
    """Margins of all loops at once, with as many inputs as outputs and a stable closed loop; see `margins`."""
    A, B, C, period = _checked(loop, drift)
    if len(C) != B.shape[1]:
        raise DescriptionError(
            f"margins: the loop has {counted(B.shape[1], 'input')} and "
            f"{counted(len(C), 'output')}; the numbers must be equal"
        )
    S, T, both = _sensitivities(A, B, C, period, drift)
    omega, values = _resolved(both, _looked_at([*_poles(A, period), *_poles(A - B @ C, period)], period))
    worst, frequency = _structured(both, omega, values)
    _check_determined("all loops", Response(A, B, C, 0.0 * both.D, period), both, np.array([frequency]))
    closed = T(omega)
    sizes = peak(S, omega, np.eye(len(C)) - closed)[0], peak(T, omega, closed)[0]
    return Together(2.0 / worst, frequency, *sizes)


def _checked(loop: Any, drift: Any) -> tuple[Array, Array, Array, float | None]:
    """Return A, B and C of the loop in balanced states, and its period.

    Raises `DescriptionError` if the loop has numbers that are not finite, or a feedthrough matrix D other than zero.
    """
    state_space("margins", loop)
    with refused("margins"):
        checked_number(drift, "1/s", NOT_NEGATIVE, "drift")
    if np.any(loop.D):
        raise DescriptionError("margins: the loop has a feedthrough matrix D; it must be zero")
    A, B, C = balanced(*(np.asarray(x, dtype=float) for x in (loop.A, loop.B, loop.C)))
    return A, B, C, loop.dt or None


def _check_determined(name: str, L: Response, both: Response, omega: Array) -> None:
    """Warn if the last digits of the loop's numbers change it by more than `DETERMINED` at the frequencies of its
    margins.

    The digits matter if large numbers cancel, and if closing the loop and opening it again does not return it.
    """
    omega = omega[np.isfinite(omega) & (omega > 0.0)]
    if not len(omega):
        return
    values, one = L(omega), np.eye(len(both.D))
    known = np.isfinite(values).all(axis=(1, 2))
    omega, values = omega[known], values[known]
    closed = np.linalg.solve(one + values, one - values)  # S - T, as S = (1 + L)^-1 and T = L S
    distance = np.linalg.svd(one + values, compute_uv=False)[:, -1]
    size = np.maximum(np.linalg.norm(closed, axis=(1, 2)), 1.0)
    change = np.maximum(
        L.uncertainty(omega) / np.minimum(distance, np.linalg.norm(values, axis=(1, 2))),
        np.maximum(np.abs(both(omega) - closed).max(axis=(1, 2)), both.uncertainty(omega)) / size,
    )
    if len(change) and not change.max() <= DETERMINED:
        at = omega[int(np.argmax(np.where(np.isnan(change), np.inf, change)))]
        warnings.warn(
            f"margins of {name}: near {at:.4g} rad/s the loop changes by {100 * change.max():.2g} % with the last "
            "digits of its numbers, so its margins are not reliable; give the controller in another form, its "
            "fastest poles in modal or cascade form",
            UncertainResult,
            stacklevel=3,
        )


def peak(system: Response, omega: Array, values: Array | None = None) -> tuple[float, float]:
    """Largest singular value of a stable system over all frequencies, to 1e-6, and its frequency [rad/s].

    `values` are those of the system at the frequencies omega, ascending, if they are known.

    The search begins with the largest value at some frequencies and uses the imaginary eigenvalues of Hamiltonian
    matrices: N. A. Bruinsma and M. Steinbuch, A fast algorithm to compute the H-infinity norm, Systems & Control
    Letters 14 (1990) 287-293. A sampled system is mapped to continuous time by the bilinear map, which preserves the
    values.
    """
    given = system.continuous()
    best, at = _highest(system, omega, system(omega) if values is None else values)
    at = float(system.mapped(np.array([at]))[0])
    if best < (far := float(np.linalg.norm(given.D, 2))):
        best, at = far, np.inf
    for _ in range(30):
        axis = given.at_level((1.0 + ACCURACY) * best)
        if not len(axis):
            break
        tried = np.concatenate([axis, (axis[1:] + axis[:-1]) / 2])
        found = given.largest(tried)
        if not found.max() > (1.0 + ACCURACY) * best:
            break
        best, at = float(found.max()), float(tried[int(np.argmax(found))])
    return best, float(system.unmapped(at))


def _highest(system: Response, omega: Array, values: Array) -> tuple[float, float]:
    """Return the largest singular value near some frequencies, refined, and its frequency [rad/s]."""
    omega = np.concatenate([[0.0], omega])
    values = largest(np.concatenate([system(omega[:1]), values]))
    values = np.where(np.isfinite(values), values, 0.0)
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    tops = np.flatnonzero((values >= padded[:-2]) & (values >= padded[2:]))
    starts = tops[np.argsort(values[tops])[-PEAKS:]]
    return _refined(lambda w: float(system.largest(np.array([w]))[0]), omega, values, starts)


def _refined(height: Callable[[float], float], omega: Array, values: Array, starts: Array) -> tuple[float, float]:
    """Return the largest value of a function of the frequency, and its frequency [rad/s].

    `values` are its values at the frequencies omega. The search refines those with the indices `starts`.
    """
    from scipy.optimize import minimize_scalar

    best, at = float(values.max()), float(omega[int(np.argmax(values))])
    for i in starts:
        low, high = float(omega[max(i - 1, 0)]), float(omega[min(i + 1, len(omega) - 1)])
        found = minimize_scalar(
            lambda w: -height(w), bounds=(low, high), method="bounded", options={"xatol": 1e-9 * high}
        )
        if -found.fun > best:
            best, at = float(-found.fun), float(found.x)
    return best, at


def _sensitivities(
    A: Array, B: Array, C: Array, period: float | None, drift: float
) -> tuple[Response, Response, Response]:
    """S, T, S - T."""
    one = np.eye(len(C))
    closed, B, C = balanced(*_without_drift(A - B @ C, B, C, period, drift))
    return (
        Response(closed, B, -C, one, period),
        Response(closed, B, C, 0.0 * one, period),
        Response(closed, B, -2.0 * C, one, period),
    )


def _without_drift(A: Array, B: Array, C: Array, period: float | None, drift: float) -> tuple[Array, Array, Array]:
    """The system without its slowest eigenvalues, which the inputs do not control or the outputs do not observe."""
    if not drift:
        return A, B, C
    from scipy.linalg import schur, solve_sylvester

    at, size = (0.0, drift) if period is None else (1.0, drift * period)
    T, Z, k = schur(A, output="real", sort=lambda re, im: np.hypot(re - at, im) > size)
    X = solve_sylvester(T[:k, :k], -T[k:, k:], -T[:k, k:])  # decouples the two parts
    return T[:k, :k], Z[:, :k].T @ B - X @ Z[:, k:].T @ B, C @ Z[:, :k]


def _poles(A: Array, period: float | None) -> Array:
    """Poles [1/s] that are not at zero, up to rounding."""
    s, error = eigenvalues(A if period is None else A - np.eye(len(A)))
    s = s[~_at_zero(s, error)]
    if period is None:
        return s
    s = s[np.abs(s + 1.0) > 1e-12]
    return np.log1p(s) / period


def _at_zero(s: Array, error: Array) -> Array:
    """True for poles that rounding may have moved from zero."""
    return (np.abs(s) <= error) & (np.abs(s) <= STILL * np.abs(s).max(initial=0.0))


def _zeros(loop: "control.StateSpace", period: float | None) -> Array:
    try:
        z, _ = zeros_with_errors(loop)
    except DescriptionError:
        return np.empty(0)
    return z if period is None else np.log(z[np.abs(z) > 1e-12]) / period


def _looked_at(features: Iterable[complex], period: float | None) -> Array:
    """Frequencies [rad/s], ascending: a sweep, and more near poles and zeros."""
    s = np.array([x for x in features if np.isfinite(x)], dtype=complex)
    size = np.abs(s[np.abs(s) > SMALLEST * np.abs(s).max(initial=0.0)])
    highest = np.inf if period is None else np.pi / period
    top = min(1e3 * size.max(initial=1e-3), highest)
    low = min(1e-3 * size.min(initial=1.0), 1e-3 * top)
    sweep = np.geomspace(low, top, int(SWEEP * np.log10(top / low)))
    near = (np.abs(s.imag)[:, None] + np.maximum(np.abs(s.real), 1e-7 * np.abs(s))[:, None] * ABOUT).ravel()
    omega = np.unique(np.concatenate([sweep, near[near > 0.0], size]))
    return omega[omega <= highest]


def _resolved(system: Response, omega: Array) -> tuple[Array, Array]:
    """Return the frequencies and the response at them, with more frequencies where the response changes much.

    Frequencies at which the response is not finite are left out.
    """
    values = system(omega)
    for _ in range(BISECTIONS):
        known = np.isfinite(values).all(axis=(1, 2))
        omega, values = omega[known], values[known]
        size = np.linalg.norm(values, axis=(1, 2))
        change = np.linalg.norm(np.diff(values, axis=0), axis=(1, 2))
        wide = (change > TURN * np.maximum(size[1:], size[:-1])) & (omega[1:] - omega[:-1] > FINEST * omega[1:])
        if not wide.any() or len(omega) > MOST:
            break
        between = np.sqrt(omega[1:][wide] * omega[:-1][wide])
        order = np.argsort(np.concatenate([omega, between]), kind="stable")
        omega = np.concatenate([omega, between])[order]
        values = np.concatenate([values, system(between)])[order]
    return omega, values


def _value(L: Response, omega: float) -> complex:
    return complex(L(np.array([omega]))[0, 0, 0])


def _crossings(L: Response, omega: Array, values: Array) -> Array:
    """Frequencies with |L| = 1, ascending [rad/s]."""
    with np.errstate(divide="ignore"):
        size = np.log(np.abs(values))
    return _roots(lambda w: float(np.log(abs(_value(L, w)))), omega, size)


def _roots(function: Callable[[float], float], omega: Array, values: Array) -> Array:
    from scipy.optimize import brentq

    found = []
    for i in np.flatnonzero(np.sign(values[1:]) * np.sign(values[:-1]) < 0):
        a, b = float(omega[i]), float(omega[i + 1])
        if function(a) * function(b) < 0.0:  # otherwise the change is due to rounding
            found.append(brentq(function, a, b, rtol=1e-12, xtol=1e-300))
    return np.array(found)


def _lag(L: Response, omega: float) -> float:
    """Phase lag, above 0, that moves L to -1."""
    return float(np.mod(np.angle(-_value(L, omega)), 2.0 * np.pi)) or 2.0 * np.pi


@dataclass(frozen=True)
class _Gain:
    """Factors on the gain for which L passes through -1, and the frequencies [rad/s] of these crossings."""

    factors: tuple[float, float]
    frequencies: tuple[float, ...]


def _gain_margin(L: Response, omega: Array, values: Array) -> _Gain:
    """Return the factors below and above 1 for which L passes through -1."""
    at = _roots(lambda w: _value(L, w).imag, omega, values.imag)
    ends = [] if L.period is None else [np.pi / L.period]
    s = eigenvalues(L.A if L.period is None else L.A - np.eye(len(L.A)))
    if not _at_zero(*s).any():  # L has no value at a pole
        ends.append(0.0)
    passed = []
    for w, end in [*((w, False) for w in at), *((w, True) for w in ends)]:
        x = _value(L, w)
        if np.isfinite(x) and x.real < 0.0 and (end or abs(x.imag) < 1e-4 * abs(x)):
            passed.append((-1.0 / x.real, float(w)))
    passed = [each for each in passed if each[0] > ROUNDING]
    low = max((each for each in passed if each[0] < 1.0), default=(0.0, np.nan))
    high = min((each for each in passed if each[0] >= 1.0), default=(np.inf, np.nan))
    return _Gain((low[0], high[0]), (low[1], high[1]))


def _structured(system: Response, omega: Array, values: Array) -> tuple[float, float]:
    """Largest upper bound of mu for diagonal perturbations over all frequencies, and its frequency [rad/s].

    At each frequency it is the norm of D M D^-1 with the diagonal D that balances rows and columns (E. Osborne, On
    pre-conditioning of matrices, J. ACM 7 (1960) 338-345).
    """
    if len(system.D) == 1:
        return peak(system, omega, values)
    values = bound(values)
    starts = np.argsort(values)[-3:]
    return _refined(lambda w: float(bound(system(np.array([w])))[0]), omega, values, starts)


def bound(M: Array) -> Array:
    """Upper bounds of mu for diagonal complex perturbations, of matrices (..., m, m)."""
    m = M.shape[-1]
    N = np.abs(M) * (1.0 - np.eye(m))
    d = np.ones(M.shape[:-1])
    for _ in range(20):
        for i in range(m):
            row = np.linalg.norm(N[..., i, :] / d, axis=-1)
            column = np.linalg.norm(N[..., :, i] * d, axis=-1)
            both = (row > 0.0) & (column > 0.0)
            d[..., i] = np.where(both, np.sqrt(np.where(both, column, 1.0) / np.where(both, row, 1.0)), d[..., i])
    scaled = d[..., :, None] * M / d[..., None, :]
    sizes = [np.linalg.svd(x, compute_uv=False)[..., 0] for x in (M, scaled)]
    return np.minimum(*sizes)
