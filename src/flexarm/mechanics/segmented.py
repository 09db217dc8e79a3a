"""A beam of segments: its bodies from root to tip, and the modal damping of the complete beam."""

from collections.abc import Sequence
from functools import partial

import casadi as ca
import numpy as np

from flexarm.description.arm import DIRECTIONS, Beam
from flexarm.mechanics.body import Body
from flexarm.mechanics.damping import material_damping, modal_damping, named_loss, named_ratio
from flexarm.mechanics.lumps import riding
from flexarm.mechanics.modal import named_shear, named_stiffness, per_length, shear_at_base
from flexarm.mechanics.parameters import Name, value_of
from flexarm.mechanics.segment import Numbers, segment
from flexarm.mechanics.spatial import (
    TIP,
    Matrix,
    Motion,
    Scalar,
    Vector,
    added,
    entries,
    is_zero,
    matrix,
    square_root,
)
from flexarm.shapes import quadrature


def segments(beam: Beam, name: Name = value_of) -> tuple[list[Body], Matrix]:
    """Return the bodies, each at the tip of the previous one, and the damping matrix over all their amplitudes.

    Numbers are those of the complete beam: its length and mass, and EI, GJ, EA at its base.
    """
    whole, known = beam.length, beam.total_mass
    length = name("L", "length", whole, "m", "length")
    mass = name("m", "mass", known, "kg", "mass", per_length(beam.mass, known, length / whole))
    turning = [_turning(part) for part in beam.parts]
    whole_turning = np.sum(turning, axis=0).tolist()
    named = [
        name(symbol, field, value, "kg m^2", meaning, per_length(None, value, length / whole)) if value else 0.0
        for (symbol, field, meaning), value in zip(TURNING, whole_turning, strict=True)
    ]
    lumps = [lump.m for lump in riding(beam.lumps, name)]
    rigidity = [named_stiffness(beam, name, d) if beam.counts[x] else 1.0 for d, x in enumerate(DIRECTIONS)]
    base = [beam.stiffness[x] if beam.counts[x] else 1.0 for x in DIRECTIONS]
    shears = [x in beam.sheared for x in DIRECTIONS[:2]]
    rigidity += [named_shear(beam, name, d) if acts else 1.0 for d, acts in enumerate(shears)]
    base += [shear_at_base(beam, d) if acts else 1.0 for d, acts in enumerate(shears)]

    def made(
        length: Scalar, mass: Scalar, about: list[Scalar], lumps: list[Scalar], rigidity: list[Scalar]
    ) -> list[Body]:
        """Return the bodies with these numbers of the complete beam."""
        found, first = [], 0
        for part, own in zip(beam.parts, turning, strict=True):
            share = [x / y * J if y else 0.0 for x, y, J in zip(own, whole_turning, about, strict=True)]
            carried = lumps[first : first + len(part.lumps)]
            first += len(part.lumps)
            of_mass = part.total_mass / known * mass
            found.append(segment(part, Numbers(part.length / whole * length, of_mass, share, carried, rigidity, base)))
        return found

    order = sorted(range(len(lumps)), key=lambda i: beam.lumps[i].at)
    bodies = made(length, mass, named, [lumps[i] for i in order], rigidity)
    inert = [mass / known, mass / known, named[0] / whole_turning[0] if whole_turning[0] else 1.0, mass / known]
    powers = [inert[d] * (rigidity[d] / base[d]) * (whole / length) ** (3 if d < 2 else 1) for d in range(4)]
    if not beam.amplitudes:
        return bodies, []
    material, ratio = material_damping(beam, name), named_ratio(beam, name, [], 0) + 0.5 * named_loss(beam, name)
    if is_zero(ratio) and material is None:
        return bodies, []
    M, K = (
        np.array(_rows(A))
        for A in at_rest(made(whole, known, whole_turning, [beam.lumps[i].mass for i in order], base))
    )
    D = _modal_damping(beam, M, K, powers, ratio, name)
    if material is not None:
        D = [added(row, more) for row, more in zip(D, material(*map(_rows, at_rest(bodies))), strict=True)]
    return bodies, D


TURNING = (
    ("Jx", "polar_inertia", "moment of inertia about the beam's axis"),
    ("Jrz", "rotary_inertia.z", "moment of inertia of all sections against turning along z"),
    ("Jry", "rotary_inertia.y", "moment of inertia of all sections against turning along y"),
)
"""Symbols, fields and meanings of the sections' axes x, y (about which it turns as it bends along z), z."""


def _turning(part: Beam) -> list[float]:
    """Return the moments of inertia of all sections about their own axes x, y and z [kg m^2]."""
    x, weights = quadrature(breaks=part.breaks)
    here = part.profile(x)
    return [float(weights @ along) * part.length for along in (here.rho_Ip, here.rho_I_z, here.rho_I_y)]


def _modal_damping(beam: Beam, M: np.ndarray, K: np.ndarray, powers: list[Scalar], ratio: Scalar, name: Name) -> Matrix:
    """Return D = M Phi diag(2 zeta omega) Phi' M of the unloaded, clamped beam alone, with one ratio for all modes."""
    amplitudes = beam.amplitudes
    planes = [0 if beam.curved else DIRECTIONS.index(a.direction) for a in amplitudes]  # those of a straight beam do
    order = np.argsort(planes, kind="stable")  # not couple
    start = np.cumsum([0, *(planes.count(i) for i in range(len(DIRECTIONS)))]).tolist()
    back = np.argsort(order)

    def of(zeta: float) -> np.ndarray:
        inside = np.ix_(order, order)
        return modal_damping(M[inside], K[inside], np.full(len(M), zeta), start)[np.ix_(back, back)]

    D, unit = of(beam.damping + beam.loss_factor / 2), of(1.0)
    marks = [a.name.replace(".", "") for a in amplitudes]

    def follows(i: int, j: int) -> Scalar:
        return square_root(powers[DIRECTIONS.index(amplitudes[i].direction)]) * (ratio * float(unit[i, j]))

    def entry(i: int, j: int) -> Scalar:
        one, other = marks[min(i, j)], marks[max(i, j)]
        given = float(D[i, j]), "N s/m", "modal damping", partial(follows, i, j)
        return name(f"d_{one}_{other}", f"modal_damping.{one}.{other}", *given)

    return [[entry(i, j) for j in range(len(D))] for i in range(len(D))]


def at_rest(bodies: Sequence[Body]) -> tuple[ca.SX, ca.SX]:
    """Return inertia and stiffness over all amplitudes of unloaded bodies in sequence, as numbers or symbols."""
    n, first = sum(body.size for body in bodies), 0
    M, K, twists = ca.SX(n, n), ca.SX(n, n), ca.SX(6, n)  # twist of the current frame, over all rates
    for body in bodies:
        k, rest = body.size, [0.0] * body.size
        z, own = ca.SX.sym("z", k), slice(first, first + k)
        eta = [z[i] for i in range(k)]
        mine = ca.SX(7 + k, n)
        mine[:6, :], mine[7:, own] = twists, ca.SX.eye(k)
        M = M + ca.mtimes([mine.T, matrix(body.inertia(rest)), mine])
        strain = ca.SX(body.potential(0.0, eta))
        slopes = ca.jacobian(ca.vertcat(*body.tip(eta)), z)
        K[own, own], slopes = ca.substitute([ca.hessian(strain, z)[0], slopes], [z], [ca.SX.zeros(k)])
        tips = ca.SX(6, n)
        tips[:, own] = slopes
        steps = [motion(axis, sign * value) for (motion, axis, sign), value in zip(TIP, body.tip(rest), strict=True)]
        twists = ca.horzcat(*(_moved(entries(twists[:, j]), steps, entries(tips[:, j])) for j in range(n)))
        first += k
    return M, K


def _moved(twist: Vector, steps: Sequence[Motion], rates: Vector) -> ca.SX:
    """Return the twist of a frame after elementary motions with rates of the tip functions."""
    for step, rate, (_, _, sign) in zip(steps, rates, TIP, strict=True):
        twist = step.acceleration(twist)
        twist[step.direction] = twist[step.direction] + sign * rate
    return ca.SX(ca.vertcat(*twist))


def _rows(A: ca.SX) -> Matrix:
    """Return the entries as rows, numbers as floats."""
    return [[float(x) if x.is_constant() else x for x in ca.horzsplit(row)] for row in ca.vertsplit(ca.densify(A))]
