"""Beams that slide out of a hub (Theodore & Ghosal 1997); their shapes may follow the load as the length changes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, final

import numpy as np

from flexarm.description.arm import Beam, Telescope
from flexarm.description.joints import SHORTEST
from flexarm.mechanics.body import Body, Loads, bordered, frame_inertia
from flexarm.mechanics.modal import (
    Fields,
    bases_of,
    integrals,
    labels,
    named_curvature,
    named_damping,
    named_mean,
    named_product,
    named_stiffness,
    tip_deflections,
    tip_slopes,
)
from flexarm.mechanics.parameters import Label, Name, label, value_of
from flexarm.mechanics.series import Series, interpolated, nodes
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, dot, product, scaled, zeros
from flexarm.shapes import Basis, ClampedMass, TipLoad, family, fitted, quadrature
from flexarm.shapes.loaded import loaded_sensitivity, roots_along


def telescope(description: Beam, joint: Telescope, loads: Loads, name: Name = value_of) -> Body:
    """A beam that slides out of a hub along its own axis (Theodore & Ghosal 1997); eta = (l, bending amplitudes xi).

    The base frame stays at the hub's mouth. The free part is s = l x, x in (0, 1): r = s e_x + sum psi_j(x, l) xi_j. A
    particle keeps its distance from the tip, so its velocity is

        l_dot e_x + sum psi_j xi_dot_j + (psi_j' (1 - x) / l + d psi_j / dl) l_dot xi_j

    The paper's eq. 24 differentiates at fixed s instead: -x psi_j' for (1 - x) psi_j' (convection = "paper"). The part
    still in the hub, s in (l - l0, 0), moves with l_dot along the axis and turns with the hub (eq. 28).

    Shapes depend on l where `wave_numbers` follow the ratio of load and beam (eqs. 9, 11); modal integrals are then
    functions of l, Chebyshev series from `SHORTEST` of the total length on, each with a name. Such a shape is scaled to
    a largest deflection of 1 at the nominal length and keeps the integral of its square, so that it changes smoothly.
    """
    known = description.total_mass
    mass = name("m", "mass", known, "kg", "mass")
    total = name("L", "length", description.length, "m", "length")
    m = mass / total
    rest = joint.free_length or description.length
    at, lengths, low = _shapes_along(description, joint, loads, rest)
    counts, starts, bases = bases_of(description, loads)
    modes = [d for d in (0, 1) for _ in range(counts[d])]
    n, k = len(modes), 1 + starts[-1]
    mode = labels(counts, bases, len(set(_following(description, joint))) == 1)

    # 1. fields at the quadrature points: x, 1, psi_j, and what of psi_j the sliding carries along, over xi_j l_dot / l
    x = at.x
    carried = (1.0 - x if joint.convection == "material" else -x)[:, None]
    axis = [0, 0, *(1 + d for d in modes), *(1 + d for d in modes)]
    field = ["x", "one", *mode, *(f"s{label}" for label in mode)]
    sampled = (
        s.reshape(len(lengths), len(x), n)  # -1 cannot tell where there is no mode
        for s in (
            at.values.values(lengths),
            at.slopes.values(lengths),
            at.values.slopes(lengths),
            at.curvatures.values(lengths),
        )
    )
    tables = []
    for length, psi, slope, change, curvature in zip(lengths, *sampled, strict=True):
        f = np.column_stack([x, np.ones_like(x), psi, carried * slope + length * change])
        first, second = integrals(f, at.weights)
        K = np.equal.outer(modes, modes) * integrals(curvature, at.weights)[1]
        tables.append(np.concatenate([first, second.ravel(), K.ravel()]))
    series = interpolated(low, description.length, lengths, np.array(tables))
    size = 2 + 2 * n
    integrals_at = name.along(_labels(field, mode, modes), series)
    EI = [named_stiffness(description, name, d) for d in modes]

    def modal(length: Scalar) -> tuple[Fields, Matrix]:
        """The fields' integrals and the strain energy's matrix at a length, before both are scaled with it."""
        numbers = integrals_at(length)
        first, rest_ = numbers[:size], numbers[size:]
        second = [scaled(m, rest_[r * size : (r + 1) * size]) for r in range(size)]
        stiff = rest_[size * size :]
        K = [scaled(EI[r], stiff[r * n : (r + 1) * n]) for r in range(n)]
        return Fields(axis, scaled(m, first), second, m), K

    def inertia(eta: Vector) -> Matrix:
        length, xi = eta[0], eta[1:]
        z = [length, 0.0, *xi, *([0.0] * n)]
        V = zeros(size, k)
        V[1][0] = 1.0
        for j in range(n):
            V[2 + j][1 + j] = 1.0
            V[2 + n + j][0] = xi[j] / length
        M = modal(length)[0].inertia(z, V, scale=length)
        hidden = total - length
        turning = m * hidden**3 / 3
        inside = frame_inertia(m * hidden, [-(m * hidden**2 / 2), 0.0, 0.0], np.diag([0.0, 1.0, 1.0]).tolist(), k)
        for r in (4, 5):
            inside[r][r] = turning
        inside[0][7] = inside[7][0] = inside[7][7] = m * hidden
        M = [[a + b for a, b in zip(mine, theirs, strict=True)] for mine, theirs in zip(M, inside, strict=True)]
        M[3][3] = M[3][3] + spin
        return M

    polar = description.rho_Ip * description.length
    spin = name("Jx", "polar_inertia", polar, "kg m^2", "moment of inertia about the beam's axis")

    def potential(q: Scalar, eta: Vector) -> Scalar:
        return 0.5 * dot(eta[1:], product(modal(eta[0])[1], eta[1:])) / eta[0] ** 3

    ends = tip_deflections(label, mode, np.zeros(n)) + tip_slopes(label, mode, np.zeros(n))
    ends_at = name.along(ends, at.ends_at(1.0))

    def tip(eta: Vector) -> Vector:
        values = ends_at(eta[0])
        deflection, slope = values[:n], values[n:]
        if description.next_joint == "chord":
            slope = deflection
        u, angle = ([dot(c[a:b], eta[1 + a : 1 + b]) for a, b in pairwise(starts[:3])] for c in (deflection, slope))
        return [eta[0], *u, angle[0] / eta[0], angle[1] / eta[0], 0.0]

    def bent_by(station: float, eta: Vector, rigidity: Vector) -> Vector:
        psi = at.curvatures_at(station).at(eta[0])
        share = [rigidity[j] * psi[j] * eta[1 + j] / eta[0] ** 2 for j in range(n)]
        return [sum((share[j] for j in range(n) if modes[j] == d), 0.0) for d in (0, 1)]

    def line(station: float, eta: Vector) -> Vector:
        values = at.ends_at(station).at(eta[0])
        u, angle = (
            [dot(c[a:b], eta[1 + a : 1 + b]) for a, b in pairwise(starts[:3])] for c in (values[:n], values[n:])
        )
        return [station * eta[0], *u, angle[0] / eta[0], angle[1] / eta[0], 0.0]

    at_rest = series.values(rest)[size:]
    second = description.m * rest * at_rest[: size * size].reshape(size, size)[2 : 2 + n, 2 : 2 + n]
    M_rest = np.equal.outer(modes, modes) * second
    rigidity = np.array([description.stiffness["yz"[d]] for d in modes])
    K_rest = rigidity * at_rest[size * size :].reshape(n, n) / rest**3
    bent = [EI[starts[d]] / description.stiffness["yz"[d]] if counts[d] else 1.0 for d in (0, 1)]
    powers = [mass / known * x for x in (*bent, 1.0, 1.0)]
    damping = named_damping(M_rest, K_rest, description, starts, name, powers)
    return Body(
        size=k,
        inertia=inertia,
        potential=potential,
        damping=bordered(damping, before=2),
        drive=[0.0, 1.0] + [0.0] * n,
        tip=tip,
        rest=(rest, *([0.0] * n)),
        flexible=tuple(range(1, k)),
        limits=((0, low if len(lengths) > 1 else 0.0, description.length),),
        convects=joint.convection == "paper",
        bending_moment=lambda station, eta: bent_by(station, eta, EI),
        curvature=lambda station, eta: bent_by(station, eta, [1.0] * n),
        line=line,
    )


def _labels(fields: list[str], modes: list[str], planes: list[int]) -> list[Label | float]:
    """What the integrals of the tables are called, in their order; those that are known whatever the shapes."""
    found = [named_mean(label, f, 0.0, True) for f in fields]
    found += [named_product(label, one, other, 0.0, True) for one in fields for other in fields]
    both = list(zip(modes, planes, strict=True))
    return found + [named_curvature(label, one, other, 0.0) if p == q else 0.0 for one, p in both for other, q in both]


# -- shapes along the length -------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Along:
    """Shapes of both planes as functions of the length: at quadrature points (points x modes), and at the tip."""

    x: np.ndarray
    weights: np.ndarray
    values: Series
    slopes: Series
    curvatures: Series
    ends_at: Callable[[float], Series]
    """Deflections, then slopes, of all modes at a station."""
    curvatures_at: Callable[[float], Series]
    """Curvatures of all modes at a station."""


def _shapes_along(description: Beam, joint: Telescope, loads: Loads, rest: float) -> tuple[Along, np.ndarray, float]:
    """The shapes, the lengths at which they are known, and the shortest of the range."""
    total = description.length
    low = SHORTEST * total
    counts = [description.counts[d] for d in ("y", "z")]
    families = [_family(description, d, loads[d], rest) for d in ("y", "z")]
    follows = any(_following(description, joint))
    lengths = nodes(low, total) if follows else np.array([rest])

    if follows:
        alike = counts[0] == counts[1] and families[0] == families[1] and loads["y"] == loads["z"]
        along_y = _bases(description, joint, "y", counts[0], loads["y"], rest, lengths)
        along_z = along_y if alike else _bases(description, joint, "z", counts[1], loads["z"], rest, lengths)
        planes = [along_y, along_z]
    else:
        planes = [[f.basis(n)] for n, f in zip(counts, families, strict=True)]
    x, weights = quadrature(*(plane[0] for plane in planes))
    at_rest = [f.basis(n).values(x) for f, n in zip(families, counts, strict=True)]
    scale = [
        [_scale(plane[i].values(x), known, weights) for plane, known in zip(planes, at_rest, strict=True)]
        for i in range(len(lengths))
    ]

    def series(points: np.ndarray | float, order: int) -> Series:
        rows = [
            np.column_stack(
                [plane[i].values(points, order) * c for plane, c in zip(planes, scale[i], strict=True)]
            ).ravel()
            for i in range(len(lengths))
        ]
        return interpolated(low, total, lengths, np.array(rows))

    @cache
    def ends_at(station: float) -> Series:
        both = [series(station, order).coefficients for order in (0, 1)]
        terms = max(len(c) for c in both)
        return Series(low, total, np.hstack([np.pad(c, ((0, terms - len(c)), (0, 0))) for c in both]))

    along_x = Along(x, weights, series(x, 0), series(x, 1), series(x, 2), ends_at, lambda station: series(station, 2))
    return along_x, lengths, low


def _family(description: Beam, direction: str, load: TipLoad, length: float) -> Any:
    """The family of a plane for the beam with this free length."""
    free = description.replace(length=length, mass=None, mass_per_length=description.m, material=None, section=None)
    return fitted(description.families[direction], free, direction, load)


def _following(description: Beam, joint: Telescope) -> list[bool]:
    """Whether the shapes of each plane change with the ratio of a load in SI units to the free part of the beam."""
    families = [family(description.families[direction], direction) for direction in ("y", "z")]
    return [
        joint.wave_numbers != "fixed" and description.counts[d] > 0 and isinstance(f, ClampedMass) and not f.in_ratios
        for d, f in zip(("y", "z"), families, strict=True)
    ]


def _scale(values: np.ndarray, known: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Factors that give shapes the integral of the square, and the sign, of known ones."""
    size = np.sqrt((weights @ known**2) / (weights @ values**2))
    return size * np.where(weights @ (values * known) < 0, -1.0, 1.0)


def _bases(
    description: Beam, joint: Telescope, direction: str, count: int, load: TipLoad, rest: float, lengths: np.ndarray
) -> list[Basis]:
    """The shapes at each length, their wave numbers from the frequency equation or integrated from `rest`."""
    if not _following(description, joint)["yz".index(direction)]:
        return [_family(description, direction, load, rest).basis(count)] * len(lengths)
    if joint.wave_numbers == "solved":
        ratios = _ratios(description, direction, load, rest, lengths)
        beta = roots_along(count, ratios)
    else:
        beta = integrated_wave_numbers(description, direction, load, count, rest, lengths)
    families = [_family(description, direction, load, float(length)) for length in lengths]
    return [f.basis(count, b) for f, b in zip(families, beta, strict=True)]


def _ratios(description: Beam, direction: str, load: TipLoad, rest: float, lengths: np.ndarray) -> np.ndarray:
    """M / (m l), I / (m l^3) and M_D / (m l^2) at each length, (lengths, 3)."""
    known = np.array(_family(description, direction, load, rest).ratios)
    return known * (rest / lengths)[:, None] ** np.array([1, 3, 2])


def integrated_wave_numbers(
    description: Beam, direction: str, load: TipLoad, count: int, rest: float, lengths: np.ndarray
) -> np.ndarray:
    """beta at each length (lengths, count) by the differential form of the frequency equation (eq. 11), from `rest` on.

    In time it reads d beta / dt = (f1 / f2) l_dot; since nothing but l enters, it is integrated over l once and for all
    instead of being carried as a state of every run.
    """
    from scipy.integrate import solve_ivp

    powers = np.array([1, 3, 2])  # of 1 / l in M / (m l), I / (m l^3), M_D / (m l^2)
    at_rest = _family(description, direction, load, rest)

    def rate(length: float, beta: np.ndarray) -> np.ndarray:
        ratios = at_rest.ratios * (rest / length) ** powers
        return loaded_sensitivity(beta, *ratios) @ (-powers * ratios / length)

    start = at_rest.roots(count)
    found = np.empty((len(lengths), count))
    for side in (lengths <= rest, lengths > rest):
        ends = np.sort(lengths[side])
        ends = ends[::-1] if (ends < rest).any() else ends  # outward from `rest` on either side
        if len(ends):
            path = solve_ivp(rate, (rest, ends[-1]), start, "DOP853", t_eval=ends, rtol=1e-12, atol=1e-13)
            found[[int(np.flatnonzero(lengths == e)[0]) for e in ends]] = path.y.T
    return found
