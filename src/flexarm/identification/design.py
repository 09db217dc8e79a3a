"""Design of an experiment: spectra that are most informative about the unknowns, and phases that keep peaks low.

Each candidate i is a line of one input. With power w_i it adds w_i I_i to the information, and w_i c_si to the mean
square of each signal s, in shares of its limit. The D-optimal design solves

    maximise log det sum_i w_i I_i    where    sum_i c_si w_i <= 1 for all s,    w_i >= 0

which is a concave problem. At its solution tr(M^-1 I_i) <= sum_s lambda_s c_si for all i, with equality where w_i > 0.
A line has power only if its information equals its cost, at prices lambda of the limits. Limits that are not active
have a price of zero.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.arrays import Array

STEPS = 3000
"""Largest number of steps in the search for a spectrum."""

ENOUGH = 1e-3
"""Relative excess of the best line's information over its cost at which the search for a spectrum ends."""

TRIALS = 30
"""Number of initial sets of phases."""

CLIPPED = 0.85
"""Share of the highest peak at which signals are clipped before the phases are updated."""

ROUNDS = 60
"""Number of iterations of clipping."""


@final
@dataclass(frozen=True, eq=False)
class Spectrum:
    """Powers w (i,) of the candidates, prices lambda (s,) of the limits, and the relative excess of the best line."""

    power: Array
    prices: Array
    gap: float


def d_optimal(information: Array, cost: Array) -> Spectrum:
    """Return the powers that solve the problem above, by multiplying each w_i by its line's information over its cost.

    Parameters
    ----------
    information : (i, k, k)
        Information of each candidate at unit power; their sum must be regular.
    cost : (s, i)

    Notes
    -----
    With one limit this is the algorithm of Silvey, Titterington & Torsney (1978), in which every step increases the
    determinant. The prices follow the loads, with smaller steps.
    """
    k = information.shape[1]
    w = 1 / (cost.max(axis=0) * cost.shape[1])
    prices = np.full(len(cost), k / len(cost))
    gap = np.inf
    for _ in range(STEPS):
        told = worth(information, w)
        asked = prices @ cost
        ratio = told / asked
        w = w * ratio
        loads = cost @ w
        gap = float(ratio.max() - 1)
        if gap < ENOUGH and loads.max() < 1 + ENOUGH:
            break
        prices = np.maximum(prices * np.sqrt(loads), 1e-12)
        prices *= k / prices.sum()
    return Spectrum(w / (cost @ w).max(), prices, gap)


def worth(information: Array, power: Array) -> Array:
    """Information tr(M^-1 I_i) of each candidate (i,), which is the slope of log det M in its power."""
    M = np.einsum("i,ikl->kl", power, information)
    return np.einsum("kl,ilk->i", np.linalg.inv(M), information)


def peaks(lines: Array, amplitude: Array, response: Array, samples: int) -> Array:
    """Largest sizes (s,) over a period of the signals of lines (l,) with complex amplitudes (l,)."""
    return np.abs(waves(lines, amplitude, response, samples)).max(axis=1)


def waves(lines: Array, amplitude: Array, response: Array, samples: int) -> Array:
    """Signals (s, samples) over a period: real parts of sum_l response[l, s] amplitude[l] e^(j 2 pi l t / period)."""
    spectrum = np.zeros((response.shape[1], samples // 2 + 1), dtype=complex)
    spectrum[:, lines] = (response * amplitude[:, None]).T
    return np.fft.irfft(spectrum, samples, axis=1) * samples / 2


def low_peaks(lines: Array, size: Array, response: Array, samples: int, seed: int) -> Array:
    """Complex amplitudes (l,) of the given sizes, with phases that make the highest peak of all signals low.

    The method starts from Schroeder's phases and from random ones. It clips all signals at a share of the highest peak
    and takes the phases of the clipped signals (van der Ouderaa, Schoukens & Renneboog 1988, for one signal).

    Parameters
    ----------
    lines : (l,) of int
        Multiples of the lowest frequency, below half the number of samples.
    size : (l,)
    response : (l, s) complex
        Response of each signal, divided by its limit.
    """
    rng = np.random.default_rng(seed)
    power = size**2 / (size**2).sum()
    # Schroeder: the phase's slope over frequency is a time, and each line has its share of the period
    begin = -2 * np.pi * np.cumsum(np.concatenate([[0.0], np.cumsum(power)[:-1] * np.diff(lines)]))
    best, least = size * np.exp(1j * begin), np.inf
    for trial in range(TRIALS):
        a = best if trial == 0 else size * np.exp(2j * np.pi * rng.random(len(size)))
        for _ in range(ROUNDS if trial < 3 else ROUNDS // 4):
            x = waves(lines, a, response, samples)
            most = np.abs(x).max()
            if most < least:
                best, least = a, most
            cut = np.fft.rfft(np.clip(x, -CLIPPED * most, CLIPPED * most), axis=1)[:, lines].T
            a = size * np.exp(1j * np.angle((np.conj(response) * cut).sum(axis=1)))
    return best
