"""Inertia of a beam's sections about their own axes."""

from collections.abc import Callable
from dataclasses import dataclass

from flexarm.mechanics.body import without_rounding
from flexarm.mechanics.modal import (
    integrals,
    named_mean,
    named_product,
    named_turning,
    named_turnings,
    per_length,
)
from flexarm.mechanics.parameters import Name
from flexarm.mechanics.shaped import Shaped
from flexarm.mechanics.spatial import Matrix, Scalar
from flexarm.mechanics.spatial import added as added_to


@dataclass(frozen=True)
class Turning:
    """Inertia of the sections about their own axes.

    Attributes
    ----------
    added : M -> None
        Adds it to an inertia over (v, w, r, eta_dot).
    factor : scalar
        Ratio of the inertia about x to the described one, if it varies.
    """

    added: Callable[[Matrix], None]
    factor: Scalar


def turning(beam: Shaped, name: Name, length: Scalar) -> Turning:
    """Return the inertia of turning sections: about x by the base frame and torsion, about y and z by bending."""
    whole = beam.description.length
    rho_Ip = beam.along.rho_Ip @ beam.weights
    polar = rho_Ip * whole
    about = "moment of inertia about the beam's axis"
    spin = name("Jx", "polar_inertia", polar, "kg m^2", about, per_length(None, polar, length / whole))
    twists = range(beam.start[2], beam.start[3])
    share = beam.along.rho_Ip * beam.weights / rho_Ip if rho_Ip else 0.0 * beam.weights
    mean, products = integrals(beam.bases[2].values(beam.x), share)
    first = [spin * named_mean(name, beam.modes[p], v) for p, v in zip(twists, mean, strict=True)]
    second = [
        [spin * named_product(name, beam.modes[p], beam.modes[r], v) for r, v in zip(twists, row, strict=True)]
        for p, row in zip(twists, products, strict=True)
    ]
    rotary = [_rotary(beam, d, name, length) for d in (0, 1)]

    def added(M: Matrix) -> None:
        M[3][3] = M[3][3] + spin
        for r, p in enumerate(twists):
            M[3][7 + p] = M[7 + p][3] = M[3][7 + p] + first[r]
            own = slice(7 + twists.start, 7 + twists.stop)
            M[7 + p][own] = added_to(M[7 + p][own], second[r])
        for each in rotary:
            each(M)

    return Turning(added, spin / polar if polar else 1.0)


def _rotary(beam: Shaped, d: int, name: Name, length: Scalar) -> Callable[[Matrix], None]:
    """Return a function that adds the inertia of sections that turn by psi eta / L, as bending along y or z turns them.

    Bending along y turns sections about z, and bending along z about -y. The axes are those of the straight beam. The
    effect of the sections' other axes on rotation of the base is of second order in the slopes, times a small inertia.
    """
    whole, plane = beam.description.length, "yz"[d]
    rho_I = (beam.along.rho_I_y, beam.along.rho_I_z)[d]
    mean_I = rho_I @ beam.weights
    if not mean_I:
        return lambda M: None
    inertia = mean_I * whole
    what = f"moment of inertia of all sections against turning along {plane}"
    follows = per_length(None, inertia, length / whole)
    J = name(f"Jr{plane}", f"rotary_inertia.{plane}", inertia, "kg m^2", what, follows)
    here = range(beam.start[d], beam.start[d + 1])
    psi = beam.bases[d].turned(beam.x)
    share = rho_I * beam.weights / mean_I
    mean, products = without_rounding(share @ psi), without_rounding((psi.T * share) @ psi)
    row, sign = (5, 1.0) if d == 0 else (4, -1.0)
    first = [sign * J / length * named_turning(name, beam.modes[p], float(v)) for p, v in zip(here, mean, strict=True)]
    second = [
        [
            J / length**2 * named_turnings(name, beam.modes[p], beam.modes[r], float(v))
            for r, v in zip(here, values, strict=True)
        ]
        for p, values in zip(here, products, strict=True)
    ]

    def added(M: Matrix) -> None:
        M[row][row] = M[row][row] + J
        for p, x, values in zip(here, first, second, strict=True):
            M[row][7 + p] = M[7 + p][row] = M[row][7 + p] + x
            for r, value in zip(here, values, strict=True):
                M[7 + p][7 + r] = M[7 + p][7 + r] + value

    return added
