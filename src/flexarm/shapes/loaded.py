"""Modes of a uniform beam that is clamped at the hub and carries a rigid body at its tip."""

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import factorial, isfinite
from typing import Annotated, Any, Literal, Self, final

import numpy as np
from pydantic import model_validator

from flexarm.checks import (
    NOT_NEGATIVE,
    Fault,
    checked_array,
    checked_number,
    optional_number,
    refused,
    shown,
)
from flexarm.errors import DescriptionError
from flexarm.shapes.basis import Basis, Family, checked_count, scaled
from flexarm.shapes.uniform import clamped_roots, roots, sine


@final
@dataclass(frozen=True)
class TipLoad:
    """The rigid body at a beam's tip, as it acts on bending in one plane.

    Attributes
    ----------
    mass : [kg]
    inertia : about the tip [kg m^2]
    first_moment : [kg m]; positive if the centre of mass is beyond the tip, along +x
    """

    mass: float = 0.0
    inertia: float = 0.0
    first_moment: float = 0.0

    @property
    def possible(self) -> "TipLoad":
        """The load without rounding errors of a point mass, that is, with inertia of at least first_moment^2 / mass."""
        if self.mass <= 0:
            return TipLoad(inertia=max(self.inertia, 0.0))
        return replace(self, inertia=max(self.inertia, self.first_moment**2 / self.mass))


NO_LOAD = TipLoad()
"""A free tip."""


def checked_case(where: str, beam: Any, load: TipLoad) -> None:
    """Raise `DescriptionError` unless these are a beam and a load, for which a family can be `fitted`."""
    if isinstance(beam, type) or not callable(getattr(beam, "profile", None)):
        raise DescriptionError(f"{where}: beam is {shown(beam)}; it must be a Beam")
    if not isinstance(load, TipLoad):
        raise DescriptionError(f"{where}: load is {shown(load)}; it must be a TipLoad")


class Carrying(Family):
    """A family that depends on the body at the tip.

    Values that are not given are zero, or those of the links beyond.
    """

    mass: Annotated[float | None, optional_number("kg", NOT_NEGATIVE)] = None
    inertia: Annotated[float | None, optional_number("kg m^2", NOT_NEGATIVE)] = None
    first_moment: Annotated[float | None, optional_number("kg m")] = None
    tip: Literal["auto"] | None = None

    @model_validator(mode="after")
    def _load_is_possible(self) -> Self:
        if self.auto:
            return self
        mass, inertia, moment = (value or 0.0 for value in (self.mass, self.inertia, self.first_moment))
        if moment**2 > mass * inertia * (1 + 1e-9):
            message = f"is {moment} kg m; its square must be at most mass times inertia, {mass * inertia} kg^2 m^2"
            raise Fault("first_moment", message)
        return self

    @property
    def auto(self) -> bool:
        """True if values that are not given come from the links and the payload beyond."""
        given = (getattr(self, name) for name in type(self).model_fields if name not in ("family", "tip"))
        return self.tip == "auto" or all(value is None for value in given)

    def load(self, beyond: TipLoad) -> TipLoad:
        """Return the effective load: given values, and otherwise those of the load beyond (or zero, without `auto`)."""
        if not isinstance(beyond, TipLoad):
            raise DescriptionError(f"beyond is {shown(beyond)}; it must be a TipLoad")
        names = ("mass", "inertia", "first_moment")
        given = {name: getattr(self, name) for name in names}
        beyond = beyond.possible if self.auto else NO_LOAD
        return TipLoad(**{name: getattr(beyond, name) if given[name] is None else given[name] for name in names})


@final
class ClampedMass(Carrying):
    """Bending of a uniform beam clamped at x = 0 with a rigid body at x = 1; the largest deflection is 1.

    The body has the mass M_E, the inertia I_E about the tip and the first moment M_DE, positive if its mass is beyond
    the tip. With mu = M_E / (rho A L), iota = I_E / (rho A L^3) and sigma = M_DE / (rho A L^2), Hamilton's principle
    gives (Subudhi & Morris eqs. 27 to 30, whose signs of the first moment are lost in print)

        phi(0) = phi'(0) = 0
        phi''(1)  = +beta^4 (iota phi'(1) + sigma phi(1))
        phi'''(1) = -beta^4 (mu phi(1) + sigma phi'(1))

    which a mode can satisfy if (their 39; without sigma Theodore & Ghosal's 8; c = cos beta, C = cosh beta and so on)

        1 + c C - mu beta (s C - c S) - iota beta^3 (s C + c S) - 2 sigma beta^2 s S
            + (mu iota - sigma^2) beta^4 (1 - c C) = 0

    Modes are orthogonal in mass including the body: int phi_i phi_j + mu phi_i phi_j + sigma (phi_i phi_j)' + iota
    phi_i' phi_j' at x = 1 is zero for i != j, and int phi_i'' phi_j'' too.

    Parameters
    ----------
    mass, inertia, first_moment : float, optional
        In SI units: `fitted` divides them by the beam's. If none is given, they come from the links and the payload
        beyond.
    mass_ratio, inertia_ratio, moment_ratio : float, optional
        mu, iota, sigma instead.
    tip : "auto", optional
        Take values that are not given from the load beyond. Without `tip`, they are zero.
    """

    family: Literal["clamped-mass"] = "clamped-mass"
    mass_ratio: Annotated[float | None, optional_number("", NOT_NEGATIVE)] = None
    inertia_ratio: Annotated[float | None, optional_number("", NOT_NEGATIVE)] = None
    moment_ratio: Annotated[float | None, optional_number("")] = None

    @model_validator(mode="after")
    def _is_given_one_way(self) -> Self:
        if self.in_ratios:
            for name in ("mass", "inertia", "first_moment", "tip"):
                if getattr(self, name) is not None:
                    raise Fault(name, "is given together with a ratio; give either values in SI units or ratios")
            mu, iota, sigma = self.ratios
            if sigma**2 > mu * iota * (1 + 1e-9):
                message = f"is {sigma}; its square must be at most mass_ratio times inertia_ratio, {mu * iota}"
                raise Fault("moment_ratio", message)
        return self

    @property
    def in_ratios(self) -> bool:
        """True if the load is given as ratios, so that no beam is needed."""
        return any(ratio is not None for ratio in self._given)

    @property
    def _given(self) -> tuple[float | None, float | None, float | None]:
        return self.mass_ratio, self.inertia_ratio, self.moment_ratio

    @property
    def ratios(self) -> tuple[float, float, float]:
        """Ratios mu, iota, sigma. Raises `DescriptionError` if they depend on a beam that is unknown."""
        if not self.in_ratios:
            raise self.not_fitted()
        mu, iota, sigma = (ratio or 0.0 for ratio in self._given)
        return mu, iota, sigma

    def fitted(self, beam: Any, direction: str, load: TipLoad) -> "ClampedMass":
        """Return the family in ratios, for a beam (`total_mass`, `length`) with `load`, the same in both planes."""
        checked_case(self.name, beam, load)
        if self.in_ratios:
            return self
        return ClampedMass(**_ratios(self.load(load), beam))

    def roots(self, count: int) -> np.ndarray:
        """Return the wave numbers beta of the first modes: (count,)."""
        return loaded_roots(count, *self.ratios)

    def sensitivity(self, count: int) -> np.ndarray:
        """Return d beta / d (mu, iota, sigma), (count, 3), which give d beta / dl of a telescoping beam."""
        return loaded_sensitivity(self.roots(count), *self.ratios)

    def basis(self, count: int, beta: np.ndarray | None = None) -> Basis:
        """Return the `count` modes of lowest frequency. Wave numbers from elsewhere (as from eq. 11) may be given."""
        if beta is None:
            return _loaded_basis(checked_count(count), *self.ratios)
        return _basis_of(_wave_numbers(beta, checked_count(count)), *self.ratios)


@final
class ClampedLoaded(Family):
    """Bending with a point mass at the tip (Lin & Lewis, example 4.4): `ClampedMass` without inertia and first moment.

    Lin & Lewis scale their shape otherwise: for a load of 4.12475 times the beam's mass, beta = 0.910726, their phi(L)
    is 0.5497897, ours 1. All their shape integrals are smaller by this factor, and amplitudes are larger.

    Parameters
    ----------
    mass : float, optional
        [kg]; if nothing is given, the mass of the links and the payload beyond.
    mass_ratio : float, optional
        Mass over the beam's mass, instead.
    """

    family: Literal["clamped-loaded"] = "clamped-loaded"
    mass: Annotated[float | None, optional_number("kg", NOT_NEGATIVE)] = None
    mass_ratio: Annotated[float | None, optional_number("", NOT_NEGATIVE)] = None

    @model_validator(mode="after")
    def _is_given_once(self) -> Self:
        if self.mass is not None and self.mass_ratio is not None:
            raise Fault("mass", "is given together with mass_ratio; give only one")
        return self

    def fitted(self, beam: Any, direction: str, load: TipLoad) -> "ClampedLoaded":
        """Return the family as a ratio, for a beam (`total_mass`) that carries `load`."""
        checked_case(self.name, beam, load)
        if self.mass_ratio is not None:
            return self
        mass = load.mass if self.mass is None else self.mass
        return ClampedLoaded(mass_ratio=mass / beam.total_mass)

    def roots(self, count: int) -> np.ndarray:
        """Return the wave numbers beta of the first modes: (count,)."""
        return loaded_roots(count, self._ratio)

    def basis(self, count: int) -> Basis:
        """Return the `count` modes of lowest frequency."""
        return _loaded_basis(checked_count(count), self._ratio, 0.0, 0.0)

    @property
    def _ratio(self) -> float:
        if self.mass_ratio is None:
            raise self.not_fitted()
        return self.mass_ratio


def _wave_numbers(beta: Any, count: int) -> np.ndarray:
    """Return wave numbers (count,), each positive. Raises `DescriptionError`."""
    with refused("clamped-mass"):
        given = checked_array(beta, "beta")
    if given.shape != (count,):
        raise DescriptionError(f"clamped-mass: beta has shape {given.shape}; it must be a list of {count} wave numbers")
    if not np.all((given > 0) & (given < MOST_BETA)):
        raise DescriptionError(f"clamped-mass: beta is {shown(beta)}; each must be from 0 to {MOST_BETA:g}")
    return given


MOST_BETA = 1e4
"""Largest wave number. A beam with so many waves has thousands of modes, and powers of the number stay finite."""


def _ratios(load: TipLoad, beam: Any) -> dict[str, float]:
    m, L = beam.total_mass, beam.length
    ratios = {
        "mass_ratio": load.mass / m,
        "inertia_ratio": load.inertia / (m * L**2),
        "moment_ratio": load.first_moment / (m * L),
    }
    for name, value in ratios.items():
        if not isfinite(value):
            raise DescriptionError(f"clamped-mass: {name} is {value}; it must be finite")
    return ratios


# -- the frequency equation --------------------------------------------------------------------------------------------


def frequency_equation(beta, mu, iota=0.0, sigma=0.0, math: Any = np):
    """Return f of `ClampedMass`'s docstring, which is zero at a wave number; with `math=casadi`, of expressions."""
    c, s, C, S = math.cos(beta), math.sin(beta), math.cosh(beta), math.sinh(beta)
    return (
        (1 + c * C)
        - mu * beta * (s * C - c * S)
        - iota * beta**3 * (s * C + c * S)
        - 2 * sigma * beta**2 * s * S
        + (mu * iota - sigma**2) * beta**4 * (1 - c * C)
    )


def f1(beta, l, mass, inertia, m, math: Any = np):
    """Return the numerator of d beta / dl, Theodore & Ghosal eq. 12: - df/dl at free length l [m].

    `mass` [kg] and `inertia` [kg m^2] are at the tip, `m` [kg/m] is that of the beam; with `math=casadi`, of
    expressions.
    """
    c, s, C, S = math.cos(beta), math.sin(beta), math.cosh(beta), math.sinh(beta)
    return (
        mass / (m * l**2) * beta * (S * c - C * s)
        - 3 * inertia / (m * l**4) * beta**3 * (S * c + C * s)
        + 4 * mass * inertia / (m**2 * l**5) * beta**4 * (1 - C * c)
    )


def f2(beta, l, mass, inertia, m, math: Any = np):
    """Return the denominator of d beta / dl, Theodore & Ghosal eq. 13: df/d beta; arguments as in `f1`."""
    c, s, C, S = math.cos(beta), math.sin(beta), math.cosh(beta), math.sinh(beta)
    M, J = mass / (m * l), inertia / (m * l**3)
    return (
        (1 + M * (1 - J * beta**4)) * (S * c - C * s)
        - 3 * J * beta**2 * (S * c + C * s)
        + 2 * J * beta**3 * (2 * M - (1 + 2 * M) * C * c)
        - 2 * M * beta * S * s
    )


def loaded_roots(count: int, mu: float, iota: float = 0.0, sigma: float = 0.0) -> np.ndarray:
    """Return the wave numbers of the first modes of a clamped beam with a body at its tip: (count,).

    Wittrick & Williams (1971) count the modes below any beta: those of the beam clamped at both ends, and one for every
    negative eigenvalue of the 2 x 2 dynamic stiffness at the tip. Bisection on the count finds every root, even if two
    are close together. Newton's method on the frequency equation gives the last digits.

    Raises `DescriptionError` for an invalid load or count.
    """
    count = checked_count(count)
    with refused():
        mu, iota = (checked_number(x, "", NOT_NEGATIVE, name) for name, x in (("mu", mu), ("iota", iota)))
        sigma = checked_number(sigma, part="sigma")
    return roots_along(count, np.array([[mu, iota, sigma]]))[0]


def roots_along(count: int, ratios: np.ndarray) -> np.ndarray:
    """Return the wave numbers, (bodies, count), for many bodies at once: mu, iota and sigma are (bodies, 3)."""
    if not count:
        return np.empty((len(ratios), 0))
    mu, iota, sigma = ratios.T[:, :, None]
    held = clamped_roots(count + 2)
    k = np.arange(1, count + 1)
    low, high = np.zeros(count), roots(count) * (1 + 1e-9)  # a load only lowers frequencies
    for _ in range(60):
        beta = (low + high) / 2
        below = _modes_below(beta, held, mu, iota, sigma) >= k
        low, high = np.where(below, low, beta), np.where(below, beta, high)
    beta = (low + high) / 2
    for _ in range(3):
        terms = _terms(beta)
        step = _f(terms, beta, mu, iota, sigma) / _slope(terms, beta, mu, iota, sigma)
        beta = np.where(np.abs(step) < 1e-7 * beta, beta - step, beta)
    return beta


def _modes_below(beta, held, mu, iota, sigma):
    p, q, r, w, d = terms = _terms(beta)
    f = _f(terms, beta, mu, iota, sigma)
    stiffness = r - mu * beta * d  # force at the tip per deflection, times d / beta^3
    negative = np.where(f * d < 0, 1, np.where(stiffness * d < 0, 2, 0))
    return np.searchsorted(held, beta) + negative


def _f(terms, beta, mu, iota, sigma):
    p, q, r, w, d = terms
    both = (mu * iota - sigma**2) * beta**4 * d
    return p - mu * beta * q - iota * beta**3 * r - 2 * sigma * beta**2 * w + both


def _slope(terms, beta, mu, iota, sigma):
    """Return df / d beta, over cosh(beta) like `_f`."""
    p, q, r, w, d = terms
    return (
        -q
        - mu * (q + 2 * beta * w)
        - iota * (3 * beta**2 * r + 2 * beta**3 * np.cos(beta))
        - 2 * sigma * (2 * beta * w + beta**2 * r)
        + (mu * iota - sigma**2) * (4 * beta**3 * d + beta**4 * q)
    )


def loaded_sensitivity(beta: np.ndarray, mu: float, iota: float, sigma: float) -> np.ndarray:
    """Return d beta / d (mu, iota, sigma), (count, 3), at beta, (count,), that are approximate wave numbers."""
    p, q, r, w, d = terms = _terms(beta)
    by_mu = -beta * q + iota * beta**4 * d
    by_iota = -(beta**3) * r + mu * beta**4 * d
    by_sigma = -2 * beta**2 * w - 2 * sigma * beta**4 * d
    return -np.column_stack([by_mu, by_iota, by_sigma]) / _slope(terms, beta, mu, iota, sigma)[:, None]


SMALL = 2.0
"""Wave number below which the modes use Duncan's functions, because differences such as cosh - cos cancel there."""


def _terms(beta):
    """Return 1 + c C, s C - c S, s C + c S, s S and 1 - c C, each over C = cosh(beta)."""
    c, s, sech, tanh = np.cos(beta), np.sin(beta), 1 / np.cosh(np.minimum(beta, 700)), np.tanh(beta)
    large = (sech + c, s - c * tanh, s + c * tanh, s * tanh, sech - c)
    if np.all(beta >= SMALL):
        return large
    D = [duncan(np.minimum(beta, SMALL), k) for k in range(4)]
    small = (D[0] ** 2 - D[1] * D[3], D[1] * D[2] - D[0] * D[3], D[0] * D[1] - D[2] * D[3])
    small = (*(2 * term for term in small), D[1] ** 2 - D[3] ** 2, 2 * (D[2] ** 2 - D[1] * D[3]))
    return [np.where(beta < SMALL, b * sech, a) for a, b in zip(large, small, strict=True)]


RECIPROCALS = [1 / factorial(n) for n in range(28)]


def duncan(z, k):
    """Return the sum of z^(4j + k) / (4j + k)! over j, |z| <= 2: (C + c) / 2, (S + s) / 2, (C - c) / 2, (S - s) / 2.

    The derivative of each is the previous one; k counts modulo 4.
    """
    k %= 4
    fourth, total = (z * z) ** 2, 0.0
    for j in reversed(range(7)):
        total = total * fourth + RECIPROCALS[4 * j + k]
    return total * z**k


# -- the shapes --------------------------------------------------------------------------------------------------------


@lru_cache(256)
def _loaded_basis(count, mu, iota, sigma):
    """Return the modes. Equal links share them, and so do both planes of most beams."""
    return _basis_of(loaded_roots(count, mu, iota, sigma), mu, iota, sigma)


def _basis_of(beta, mu, iota, sigma):
    """Return the shapes with these wave numbers."""
    count = len(beta)
    ones = np.ones(count)
    first, second = (_tip(beta, a * ones, b * ones) for a, b in ((1, 0), (0, 1)))
    # Either condition at the tip gives the mode as a sum of the two solutions clamped at the hub. The condition further
    # from 0 = 0 is used.
    best = np.zeros(count)
    a, b = ones, ones
    for weights in ((-(beta**2) * sigma, -(beta**3) * iota, 1, 0), (beta * mu, beta**2 * sigma, 0, 1)):
        one, two = (sum(w * value for w, value in zip(weights, u, strict=True)) for u in (first, second))
        unit = sum(abs(w) * (abs(u) + abs(v)) for w, u, v in zip(weights, first, second, strict=True))
        size = np.hypot(one, two) / unit
        better = size > best
        length = np.hypot(one, two)
        a, b = np.where(better, two / length, a), np.where(better, -one / length, b)
        best = np.maximum(best, size)
    return scaled(Basis(count, partial(_loaded, beta, a, b)))


def _tip(beta, a, b):
    """Return phi and its first three derivatives at x = 1, the n-th over beta^n."""
    return [_loaded(beta, a, b, np.ones(1), n)[0] / beta**n for n in range(4)]


def _loaded(beta, a, b, x, n):
    """Return a times one and b times the other of two solutions that are clamped at x = 0, each of size 1."""
    x = x[:, None]
    z = beta * x
    # e^(-z) - cos z + sin z  and  e^(z - beta) - e^(-beta) (cos z + sin z)
    end = np.exp(-beta)
    sin, cos = sine(z, n), sine(z, n + 1)
    one = (-1) ** n * np.exp(-z) - cos + sin
    two = np.exp(-beta * (1 - x)) - end * (cos + sin)
    # z^2 / 2 + ... and z^3 / 6 + ..., scaled to about 1 at the tip
    few = beta < SMALL
    small = beta[few]
    one[:, few] = 2 / small**2 * duncan(small * x, 2 - n)
    two[:, few] = 6 / small**3 * duncan(small * x, 3 - n)
    return beta**n * (a * one + b * two)
