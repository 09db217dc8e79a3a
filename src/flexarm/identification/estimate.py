"""How sure estimates are: from weighted residuals and their derivatives, whatever domain they come from.

With r the weighted residuals and J their derivatives by unknowns, each counted in shares of its size, the covariance
of least squares is s^2 (J'J)^-1 for residuals that are independent of each other. Those of a real arm are not: friction
that nobody modelled, an encoder's rounding and a vibration that is missing leave residuals that follow each other. Then

    C = (J'J)^-1 (J' R J) (J'J)^-1,    R the covariance of the residuals as their own correlation shows it

(Klein & Morelli, Aircraft System Identification, section 6.4: "colored residuals").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.identification.unknowns import Unknown, slopes

Array = np.ndarray

LAGS = 20
"""At which the correlation of residuals is tested."""

REACH = 3.0
"""Times the root of their number: up to this lag residuals are taken to hang together."""

DOUBTFUL = 0.5
"""Standard error of a combination, in shares of its size, from which on the data are said not to know it."""

SINGULAR = 1e-10
"""Of the largest singular value: one below is rounding."""

NAMED = 0.1
"""Share from which on an unknown is named in a combination."""


@final
@dataclass(frozen=True, eq=False)
class Direction:
    """A combination of unknowns, each counted in shares of its size.

    Attributes
    ----------
    share : (k,)
        Of each unknown, a unit vector.
    error : float
        Its standard error; infinite where the data say nothing about it.
    text : str
        "0.71 elbow.stiffness - 0.70 upper.EI", what is smaller than a tenth left out.
    """

    share: Array
    error: float
    text: str


@final
@dataclass(frozen=True, eq=False)
class Whiteness:
    """Whether residuals that follow each other in time are independent.

    Attributes
    ----------
    correlation : (lags + 1,)
        Of the residuals with themselves, 1 at lag 0.
    bound : float
        Of independent ones, 19 of 20 correlations are smaller in size.
    statistic, p : float
        Of Ljung and Box, over the lags from 1 on; p is the chance that independent residuals give as much.
    """

    correlation: Array
    bound: float
    statistic: float
    p: float

    @property
    def white(self) -> bool:
        """Whether p is at least 0.01."""
        return self.p >= 0.01


@final
@dataclass(frozen=True, eq=False)
class Statistics:
    """What data say about k unknowns, beside their values.

    Attributes
    ----------
    covariance : (k, k)
    errors : (k,)
        Standard errors, infinite where the data say nothing.
    correlation : (k, k)
    singular : (k,)
        Singular values of the weighted residuals' derivatives by the unknowns in shares of their sizes, descending.
    directions : k of Direction
        To the singular values, in their order.
    spread : float
        Standard deviation of the weighted residuals: 1 where the weights are right.
    inflation : (k,)
        How much larger the errors are than those of independent residuals would be.
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
        """Combinations that the data cannot tell apart: a standard error of half of their size or more, worst first."""
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
    """Covariance and what follows from it.

    Parameters
    ----------
    unknowns : k of them
    values : (k,)
        The estimates.
    residuals, jacobian : (N,), (N, k)
        Weighted, at the estimates; derivatives by the values.
    series : list of lists of slices, optional
        Rows that follow each other in time: a list a record, in it a slice of equal length for each of its signals.
        Their correlation counts. Rows in no series are independent.
    ties : (c, k), optional
        Derivatives of c conditions among the unknowns, with large weights: they bind, and tell nothing of noise.
    known : bool
        Whether the weights are the inverse of known standard deviations; else the residuals say how large the noise is.
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
    blind = (np.abs(V[~seen]) > np.sqrt(SINGULAR)).any(axis=0)  # an unknown that the data do not see at all
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
    """In words: the largest first and positive, what is smaller than a tenth left out."""
    order = np.argsort(-np.abs(share), kind="stable")
    share = share * (1.0 if share[order[0]] >= 0 else -1.0)
    first, *others = [i for i in order if abs(share[i]) >= min(NAMED, abs(share[order[0]]))]
    text = unknowns[first].name if not others else f"{share[first]:.2f} {unknowns[first].name}"
    for i in others:
        text += f" {'-' if share[i] < 0 else '+'} {abs(share[i]):.2f} {unknowns[i].name}"
    return text


def whiteness(residuals: Array, lags: int = LAGS) -> Whiteness:
    """Of residuals (T,) in the order of time; their mean counts too, as a correlation that does not end.

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
    """(lags + 1, m, m): mean of r_i(t) r_j(t + lag) over all T times of r (T, m), beyond whose end are zeros."""
    T = len(r)
    n = 1 << (T + lags).bit_length()
    F = np.fft.rfft(r, n, axis=0)
    return np.fft.irfft(np.conj(F)[:, :, None] * F[:, None, :], n, axis=0)[: lags + 1] / T


def _scores(residuals: Array, J: Array, series: Sequence[Sequence[slice]], noise: float) -> Array:
    """J' R J (k, k): the covariance of J' r, R that of the residuals.

    In a record R depends on the lag alone and fades with Parzen's window, which keeps it positive definite. Both are
    multiplied where that is a product, over frequencies.
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
    """100 (1 - |y - model| / |y - mean of y|) along the first axis: 100 is perfect, 0 no better than the mean.

    Complex values, as of a frequency response, count by their size.
    """
    spread = np.linalg.norm(measured - measured.mean(axis=0), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return 100 * (1 - np.linalg.norm(measured - modelled, axis=0) / spread)
