"""Example 4.4: the mode of a beam with a load at its tip, and the constants of the appendix."""

from collections.abc import Callable
from math import cos, sin, sqrt
from typing import Any

import numpy as np
from scipy import linalg

from flexarm import load
from flexarm.shapes import ClampedLoaded, loaded_roots
from flexarm_papers.lin_lewis.compute import Array, linear, rfr, textbook, value

PHI_L = 0.5497897482078318
MEAN = 0.2748948741039159 * 0.7517462583877994
"""Mean of phi over the length, from M[1,4]. M[1,2] has 0.206651."""
MEAN_X = PHI_L * 0.2754985845918819
"""Mean of eta phi, from M[2,4]."""
MEAN_SQUARE = 0.07147226535009999
PRINTED = np.array([PHI_L, MEAN, MEAN_X, MEAN_SQUARE])
WAVE_NUMBER = 0.910726
"""beta L of the exact mode nearest to the printed constants."""
BETA, SIGMA = 0.912224, 1.1213
"""beta L and sigma with which the textbook's form has the printed constants in all their digits."""


def constants(values: Callable[[Array], Array]) -> Array:
    """Return phi(1) and the means of phi, x phi and phi^2."""
    t, w = np.polynomial.legendre.leggauss(24)
    x, w = (1 + t) / 2, w / 2
    phi = values(x)
    return np.array([values(np.ones(1))[0], w @ phi, w @ (x * phi), w @ phi**2])


def load_ratio(beta: float) -> float:
    """Return the tip mass over the beam's mass for which beta is a wave number."""
    c, s, C, S = cos(beta), sin(beta), np.cosh(beta), np.sinh(beta)
    return float((1 + c * C) / (beta * (s * C - c * S)))


def of_the_exact_mode() -> Array:
    """Return the constants of the clamped-loaded mode, scaled to the printed phi(L)."""
    shape = ClampedLoaded(mass_ratio=load_ratio(WAVE_NUMBER)).basis(1)
    return constants(lambda x: PHI_L * shape.values(x)[:, 0])


def of_the_rounded_mode() -> Array:
    """Return the constants of eq. 32 with rounded beta L and sigma, not scaled."""
    return constants(lambda x: textbook(x, 0, BETA, SIGMA))


def exact_sigma(beta: float) -> float:
    """Return sigma of cosh - cos - sigma (sinh - sin) with no curvature at the tip."""
    return float((np.cosh(beta) + cos(beta)) / (np.sinh(beta) + sin(beta)))


def mean_over_tip(curvature_vanishes_at: str) -> float:
    """Return the mean of phi over phi(L) by eqs. 28, 29 and 32, with eq. 30 at "0" (as printed) or at "L"."""
    if curvature_vanishes_at == "0":  # nothing but sinh - sin has phi = phi' = phi'' = 0 at the hub
        found = constants(lambda x: np.sinh(WAVE_NUMBER * x) - np.sin(WAVE_NUMBER * x))
    else:
        found = constants(lambda x: textbook(x, 0, WAVE_NUMBER, exact_sigma(WAVE_NUMBER)))
    return float(found[1] / found[0])


# -- the arm -----------------------------------------------------------------------------------------------------------


def first_frequency(shapes: str) -> float:
    """Return the first frequency of the arm of 4.4 with held joints, by one mode of a family [rad/s]."""
    M, K, _ = linear(rfr(shapes))
    return float(np.sqrt(linalg.eigvalsh(K[3:, 3:], M[3:, 3:])[0]))


def exact_frequency() -> float:
    """Return the exact first frequency of the arm of 4.4 with held joints [rad/s].

    The link on the chord turns by w / L and acts as a mass at the tip, so the beam is one with a tip mass.
    """
    arm: Any = load("lin-lewis-rfr")
    _, middle, hand = (link.body for link in arm.links)
    m, L, L3, m3 = middle.m * middle.length, middle.length, hand.length, hand.mass
    mass = m3 * (1 + L3 / (2 * L)) ** 2 + m3 * L3**2 / 12 / L**2 + arm.payload.mass * (1 + L3 / L) ** 2
    return float(loaded_roots(1, mass / m)[0] ** 2 * sqrt(middle.EI / (m * L**3)))


def turned_by_the_chord() -> tuple[float, float]:
    """Return the angles of the frames of links 2 and 3 minus th1 + th2 and th1 + th2 + th3 + w / L2 [rad]."""
    model = rfr("clamped-loaded")
    middle: Any = model.arm.links[1].body
    q = np.array([0.4, -0.7, 0.9, 0.05])  # the amplitude is the deflection of the tip
    poses = value(model, "frames", q)  # side by side
    second, third = (np.arctan2(poses[1, 4 * k], poses[0, 4 * k]) for k in (1, 2))
    return float(second - q[:2].sum()), float(third - q[:3].sum() - q[3] / middle.length)
