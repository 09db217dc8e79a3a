"""Uncertainty of estimates, from weighted residuals and their derivatives in any domain.

Let r be the weighted residuals and J their derivatives in the unknowns, each relative to its size. The covariance of
least squares is s^2 (J'J)^-1 if the residuals are independent of each other. Residuals of a real arm are correlated,
because of unmodelled friction, rounding of encoders and missing vibration modes. Then

    C = (J'J)^-1 (J' R J) (J'J)^-1,    R the covariance of the residuals from their own correlation

(Klein & Morelli, Aircraft System Identification, section 6.4: "colored residuals").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.identification.unknowns import Unknown, slopes

LAGS = 20
"""Number of lags at which the correlation of residuals is tested."""

REACH = 3.0
"""Factor on the square root of the number of residuals: the largest lag of their correlation."""

DOUBTFUL = 0.5
"""Relative standard error of a combination above which the data do not determine it."""

SINGULAR = 1e-10
"""Share of the largest singular value below which a singular value counts as rounding."""

NAMED = 0.1
"""Share above which an unknown is named in a combination."""


@final
@dataclass(frozen=True, eq=False)
class Direction:
    """A combination of unknowns, each relative to its size.

    Attributes
    ----------
    share : (k,)
        Shares of the unknowns, a unit vector.
    error : float
        Standard error of the combination; infinite if the data contain no information about it.
    text : str
        "0.71 elbow.stiffness - 0.70 upper.EI", without shares below a tenth.
    """

    share: Array
    error: float
    text: str


@final
@dataclass(frozen=True, eq=False)
class Whiteness:
    """Test whether the residuals of a time series are independent.

    Attributes
    ----------
    correlation : (lags + 1,)
        Autocorrelation of the residuals, 1 at lag 0.
    bound : float
        Bound below which 19 of 20 correlations of independent residuals lie.
    statistic, p : float
        Statistic of Ljung and Box over the lags from 1 on; p is the probability that independent residuals exceed it.
    """

    correlation: Array
    bound: float
    statistic: float
    p: float

    @property
    def white(self) -> bool:
        """True if p is at least 0.01."""
        return self.p >= 0.01


@final
@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of the estimates of k unknowns.

    Attributes
    ----------
    covariance : (k, k)
    errors : (k,)
        Standard errors, infinite if the data contain no information.
    correlation : (k, k)
    singular : (k,)
        Singular values of the weighted residuals' derivatives in the unknowns relative to their sizes, descending.
    directions : k of Direction
        Directions of the singular values, in the same order.
    spread : float
        Standard deviation of the weighted residuals: 1 if the weights are right.
    inflation : (k,)
        Ratio of the errors to those for independent residuals.
    """

    covariance: Array
    errors: Array
    correlation: Array
    singular: Array
    directions: tuple[Direction, ...]
    spread: float
    inflation: Array

    @property
    def indistinct(self) -> tuple[Direction, ...]:
        """Combinations that the data do not determine: a standard error of half of their size or more, worst first."""
        return tuple(each for each in reversed(self.directions) if not each.error < DOUBTFUL)


def statistics(
    unknowns: Sequence[Unknown],
    values: Array,
    residuals: Array,
    jacobian: Array,
    series: Sequence[Sequence[slice]] = (),
    ties: Array | None = None,
    known: bool = False,
) -> Statistics:
    """Return the covariance and the other statistics.

    Parameters
    ----------
    unknowns : k of them
    values : (k,)
        The estimates.
    residuals, jacobian : (N,), (N, k)
        Weighted residuals at the estimates, and their derivatives in the values.
    series : list of lists of slices, optional
        Rows that are consecutive in time: a list for each record, with a slice of equal length for each of its signals.
        Their correlation is taken into account. Rows in no series are independent.
    ties : (c, k), optional
        Derivatives of c conditions among the unknowns, with large weights. They reduce the freedom of the unknowns but
        contain no information about the noise.
    known : bool
        True if the weights are the inverse of known standard deviations. Otherwise the residuals determine the noise.
    """
    k = len(unknowns)
    size = slopes(unknowns, values)
    J = jacobian * size
    bound = J if ties is None else np.vstack([J, ties * size])
    freedom = len(residuals) - k + (0 if ties is None else len(ties))
    spread = float(np.sqrt(residuals @ residuals / max(freedom, 1)))
    _, s, V = np.linalg.svd(bound, full_matrices=False)
    s, V = np.pad(s, (0, k - len(s))), np.linalg.svd(bound)[2] if len(s) < k else V
    seen = s > SINGULAR * max(s.max(initial=0.0), np.finfo(float).tiny)
    inverse = (V[seen].T / s[seen] ** 2) @ V[seen]
    noise = 1.0 if known else spread**2
    plain = noise * inverse
    C = inverse @ _scores(residuals, J, series, noise) @ inverse if series else plain
    blind = (np.abs(V[~seen]) > np.sqrt(SINGULAR)).any(axis=0)  # an unknown on which the data do not depend
    share = np.where(blind, np.inf, np.sqrt(np.diag(C)))
    errors = share * np.abs(size)
    with np.errstate(invalid="ignore", divide="ignore"):
        inflation = np.sqrt(np.diag(C) / np.diag(plain))
        correlation = C / np.sqrt(np.outer(np.diag(C), np.diag(C)))
    along = np.where(seen, np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", V, C, V), 0.0)), np.inf)
    directions = tuple(Direction(v, float(e), combination(unknowns, v)) for v, e in zip(V, along, strict=True))
    covariance = C * np.outer(size, size)
    return Statistics(covariance, errors, correlation, s, directions, spread, inflation)


def combination(unknowns: Sequence[Unknown], share: Array) -> str:
    """Text of a combination: the largest share first and positive, without shares below a tenth."""
    order = np.argsort(-np.abs(share), kind="stable")
    share = share * (1.0 if share[order[0]] >= 0 else -1.0)
    first, *others = [i for i in order if abs(share[i]) >= min(NAMED, abs(share[order[0]]))]
    text = unknowns[first].name if not others else f"{share[first]:.2f} {unknowns[first].name}"
    for i in others:
        text += f" {'-' if share[i] < 0 else '+'} {abs(share[i]):.2f} {unknowns[i].name}"
    return text


def whiteness(residuals: Array, lags: int = LAGS) -> Whiteness:
    """Test the whiteness of residuals (T,) in the order of time. Their mean counts as a correlation that does not
    decay.

    Source: Ljung & Box (1978), "On a measure of lack of fit in time series models".
    """
    from scipy.stats import chi2

    T = len(residuals)
    lags = max(1, min(lags, T // 4))
    R = correlations(residuals[:, None], lags)[:, 0, 0]
    rho = R / R[0] if R[0] > 0 else np.eye(lags + 1)[0]
    Q = float(T * (T + 2) * np.sum(rho[1:] ** 2 / (T - np.arange(1, lags + 1))))
    return Whiteness(rho, 1.96 / np.sqrt(T), Q, float(chi2.sf(Q, lags)))


def correlations(r: Array, lags: int) -> Array:
    """Correlations (lags + 1, m, m): mean of r_i(t) r_j(t + lag) over all T times of r (T, m), zero outside."""
    T = len(r)
    n = 1 << (T + lags).bit_length()
    F = np.fft.rfft(r, n, axis=0)
    return np.fft.irfft(np.conj(F)[:, :, None] * F[:, None, :], n, axis=0)[: lags + 1] / T


def _scores(residuals: Array, J: Array, series: Sequence[Sequence[slice]], noise: float) -> Array:
    """Covariance J' R J (k, k) of J' r, where R is that of the residuals.

    Within a record R depends on the lag alone and decays with Parzen's window, which keeps it positive definite. The
    product is computed in the frequency domain.
    """
    k = J.shape[1]
    free = np.ones(len(residuals), dtype=bool)
    total = np.zeros((k, k))
    for record in series:
        for rows in record:
            free[rows] = False
        r = np.stack([residuals[rows] for rows in record], axis=1)
        T = len(r)
        lags = int(min(max(REACH * np.sqrt(T), 1), T - 1))
        R = correlations(r, lags) * _parzen(lags)[:, None, None]
        n = 1 << (T + lags).bit_length()
        around = np.zeros((n, *R.shape[1:]))
        around[: lags + 1] = R
        around[n - lags :] = R[:0:-1].swapaxes(1, 2)
        S = np.fft.fft(around, axis=0)[: n // 2 + 1]
        F = np.fft.rfft(np.stack([J[rows] for rows in record], axis=1), n, axis=0)  # (n / 2 + 1, m, k)
        twice = np.full(n // 2 + 1, 2.0)
        twice[[0, -1]] = 1.0
        total += np.einsum("f,fik,fji,fjl->kl", twice, np.conj(F), S, F, optimize=True).real / n
    return total + noise * J[free].T @ J[free]


def _parzen(lags: int) -> Array:
    """Parzen's window at lags 0 to `lags`."""
    x = np.arange(lags + 1) / (lags + 1)
    return np.where(x <= 0.5, 1 - 6 * x**2 + 6 * x**3, 2 * (1 - x) ** 3)


def fit_percent(measured: Array, modelled: Array) -> Array:
    """Fit 100 (1 - |y - model| / |y - mean of y|) along the first axis: 100 is perfect, 0 no better than the mean.

    Complex values, such as a frequency response, count by their absolute value.
    """
    spread = np.linalg.norm(measured - measured.mean(axis=0), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return 100 * (1 - np.linalg.norm(measured - modelled, axis=0) / spread)
