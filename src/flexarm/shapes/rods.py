"""Shapes of torsion and stretch: a rod fixed at x = 0, where its value is zero but its slope is not."""

from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self, final

import numpy as np
from pydantic import model_validator

from flexarm.checks import NOT_NEGATIVE, Fault, checked_number, optional_number, refused
from flexarm.shapes.basis import RODS, Basis, Family, checked_count, gauss
from flexarm.shapes.loaded import TipLoad, checked_case
from flexarm.shapes.pieces import jacobi
from flexarm.shapes.uniform import sine

HEAVIEST = 1e15
"""Largest ratio of load and rod, which also stands for a rod without inertia. Its shapes are those of the limit."""


@final
class FixedFree(Family):
    """Torsion or stretch of a uniform rod fixed at x = 0 and free at x = 1: sin((2k - 1) pi x / 2), +1 at the tip.

    Their strain vanishes at the tip, so a load there needs many of them.
    """

    directions: ClassVar[tuple[str, ...]] = RODS
    family: Literal["fixed-free"] = "fixed-free"

    def basis(self, count: int) -> Basis:
        """Return the `count` modes of lowest frequency."""
        return Basis(count, partial(_fixed_free, np.arange(1, 2 * checked_count(count), 2) * (np.pi / 2)))


def _fixed_free(beta, x, n):
    return np.sin(beta) * beta**n * sine(beta * x[:, None], n)


@final
class FixedLoaded(Family):
    """Torsion or stretch of a uniform rod fixed at x = 0 with a rigid body at x = 1; the largest deflection is 1.

    The modes are sin(beta x) with mu beta tan(beta) = 1, where mu is the body's inertia about the axis over the rod's,
    or its mass over the rod's: the torque (or force) at the tip is phi'(1) = mu beta^2 phi(1). Modes are orthogonal
    including the body: int phi_i phi_j + mu phi_i(1) phi_j(1) = 0 for i != j. The first tends to x, the static shape,
    as mu grows. A rod without inertia has the shapes of the heaviest load: x, sin(k pi x).

    Parameters
    ----------
    load : float, optional
        Moment of inertia about the axis [kg m^2] in torsion, mass [kg] in stretch; if nothing is given, that of the
        links and the payload beyond. In torsion with joints beyond, it is half the trace of their inertia: slender
        links have that moment about the shaft where the elbow is bent by a right angle.
    load_ratio : float, optional
        mu instead.
    """

    directions: ClassVar[tuple[str, ...]] = RODS
    family: Literal["fixed-loaded"] = "fixed-loaded"
    load: Annotated[float | None, optional_number("kg m^2, or kg", NOT_NEGATIVE)] = None
    load_ratio: Annotated[float | None, optional_number("", NOT_NEGATIVE)] = None

    @model_validator(mode="after")
    def _is_given_once(self) -> Self:
        if self.load is not None and self.load_ratio is not None:
            raise Fault("load", "is given together with load_ratio; give only one")
        return self

    def fitted(self, beam: Any, direction: str, load: TipLoad) -> "FixedLoaded":
        """Return the family as a ratio, for a beam that carries `load`. A tapered beam enters by its total inertia."""
        checked_case(self.name, beam, load)
        if self.load_ratio is not None:
            return self
        beyond = max(load.inertia, 0.0) if direction == "torsion" else load.mass
        own = polar_inertia(beam) if direction == "torsion" else beam.total_mass
        carried = beyond if self.load is None else self.load
        return FixedLoaded(load_ratio=min(carried / own, HEAVIEST) if own else HEAVIEST)

    def roots(self, count: int) -> np.ndarray:
        """Return the wave numbers beta of the first modes: (count,)."""
        if self.load_ratio is None:
            raise self.not_fitted()
        return rod_roots(count, self.load_ratio)

    def basis(self, count: int) -> Basis:
        """Return the `count` modes of lowest frequency."""
        beta = self.roots(count)
        size = np.where(beta < np.pi / 2, np.sin(beta), np.sign(np.sin(beta)))
        return Basis(count, partial(_fixed_loaded, beta, size))


def polar_inertia(beam: Any) -> float:
    """Return the inertia of a complete beam about its axis [kg m^2]."""
    if beam.uniform:
        return float(beam.rho_Ip * beam.length)
    t, weights = gauss(4)  # exact: fourth degree in x
    low, step = np.array(beam.breaks[:-1]), np.diff(beam.breaks)
    x = (low[:, None] + step[:, None] * (1 + t) / 2).ravel()
    return float((step[:, None] * weights / 2).ravel() @ beam.profile(x).rho_Ip * beam.length)


def rod_roots(count: int, mu: float) -> np.ndarray:
    """Return the wave numbers of a rod with a body of `mu` times its inertia at the tip: mu beta tan(beta) = 1.

    Root k is in ((k - 1) pi, (k - 1/2) pi], above the lower end by arctan(1 / (mu beta)). The residual beta - (k - 1)
    pi - arctan(1 / (mu beta)) is increasing and concave: from below, Newton's method increases to the root and never
    passes it. tan(b) < b / (1 - (2 b / pi)^2) and arctan(b) < b give starting values below the root.

    Raises `DescriptionError` for an invalid load or count.
    """
    count = checked_count(count)
    with refused():
        mu = checked_number(mu, "", NOT_NEGATIVE, "mu")
    low = np.arange(count) * np.pi
    beta = np.maximum(np.maximum(low, (low + np.pi / 2) / (1 + mu)), 1 / np.sqrt(mu + (2 / np.pi) ** 2))
    for _ in range(12):  # 7 steps are enough for mu from 0 to 1e30
        beta = beta - (beta - low - np.arctan2(1.0, mu * beta)) / (1 + mu / (1 + (mu * beta) ** 2))
    return beta


def _fixed_loaded(beta, size, x, n):
    return beta**n * sine(beta * x[:, None], n) / size


@final
class RodPolynomial(Family):
    """Polynomials zero at x = 0, orthogonal over the rod: x P_k(2x - 1), P_k Jacobi's of (0, 2), k = 0, 1, ...

    They span x, ..., x^count. phi(1) = +1 is the largest deflection, and int phi_i phi_j is 1 / (2k + 3) for i = j,
    else 0. The first is the static shape of a torque or force at the tip.
    """

    directions: ClassVar[tuple[str, ...]] = RODS
    family: Literal["polynomial"] = "polynomial"

    def basis(self, count: int) -> Basis:
        """Return the `count` polynomials of lowest degree."""
        return jacobi(count, 1)


@final
class LinearElements(Family):
    """Finite elements of a rod fixed at x = 0: `count` equal elements, with the value at each node as a coordinate."""

    directions: ClassVar[tuple[str, ...]] = RODS
    family: Literal["linear-elements"] = "linear-elements"

    def basis(self, count: int) -> Basis:
        """Return the functions of `count` elements."""
        count = checked_count(count)
        return Basis(count, partial(_hats, count), tuple(np.linspace(0, 1, max(count, 1) + 1).tolist()))


def _hats(count, x, n):
    values = np.zeros((x.size, count + 1))
    if count and n < 2:
        e = np.clip(np.floor(x * count).astype(int), 0, count - 1)
        xi = x * count - e
        here = np.arange(x.size)
        values[here, e], values[here, e + 1] = (1 - xi, xi) if n == 0 else (-float(count), float(count))
    return values[:, 1:]  # the first node is fixed
