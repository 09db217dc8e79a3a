"""Beams that slide out of a hub (Theodore & Ghosal 1997). Their shapes may follow the load as the length changes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, final

import numpy as np

from flexarm.description.arm import Beam, Telescope
from flexarm.description.joints import SHORTEST
from flexarm.mechanics.body import Body, Loads, bordered, frame_inertia
from flexarm.mechanics.damping import material_damping, named_damping
from flexarm.mechanics.modal import (
    Fields,
    bases_of,
    integrals,
    labels,
    named_curvature,
    named_mean,
    named_product,
    named_stiffness,
    tip_deflections,
    tip_slopes,
)
from flexarm.mechanics.parameters import Label, Name, label, value_of
from flexarm.mechanics.series import Series, interpolated, nodes
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, dot, product, scaled, zeros
from flexarm.shapes import BENDING, DIRECTIONS, Basis, ClampedMass, TipLoad, family, fitted, quadrature
from flexarm.shapes.loaded import loaded_sensitivity, roots_along


def telescope(description: Beam, joint: Telescope, loads: Loads, name: Name = value_of) -> Body:
    """Return a beam that slides out of a hub along its own axis (Theodore & Ghosal 1997); eta = (l, amplitudes xi).

    The base frame stays at the hub's mouth. The free part is s = l x, x in (0, 1): r = s e_x + sum psi_j(x, l) xi_j. A
    particle keeps its distance from the tip, so its velocity is

        l_dot e_x + sum psi_j xi_dot_j + (psi_j' (1 - x) / l + d psi_j / dl) l_dot xi_j

    The paper's eq. 24 differentiates at fixed s instead: -x psi_j' for (1 - x) psi_j' (convection = "paper"). The part
    in the hub, s in (l - l0, 0), moves with l_dot along the axis and turns with the hub (eq. 28). The same holds for
    stretch, psi_j along x, and for torsion: a particle's section turns about x at the rate

        w_x + sum psi_j xi_dot_j + (psi_j' (1 - x) / l) l_dot xi_j

    and that of a particle in the hub at w_x. The part in the hub is neither bent, twisted nor stretched.

    Shapes depend on l if `wave_numbers` follow the ratio of load and beam (eqs. 9, 11). Modal integrals are then named
    functions of l, Chebyshev series from `SHORTEST` of the total length on. Such a shape is scaled to a largest
    deflection of 1 at the nominal length and keeps the integral of its square, so that it changes smoothly.
    """
    known = description.total_mass
    mass = name("m", "mass", known, "kg", "mass")
    total = name("L", "length", description.length, "m", "length")
    m = mass / total
    rest = joint.free_length or description.length
    at, lengths, low = _shapes_along(_Itself(description), _Itself(joint), tuple(loads.items()), rest)
    counts, starts, bases = bases_of(description, loads)
    n, k = starts[-1], 1 + starts[-1]
    mode = labels(counts, bases, len(set(_following(description, joint))) == 1)
    direction = [d for d in range(4) for _ in range(counts[d])]
    bends, twists = slice(0, starts[2]), range(starts[2], starts[3])
    moves = [j for j in range(n) if j not in twists]

    # 1. fields at the quadrature points: x, 1, psi_j, and the convective term of psi_j, over xi_j l_dot / l;
    #    those that move points, and those that turn sections
    x = at.x
    carried = (1.0 - x if joint.convection == "material" else -x)[:, None]
    axis = [0, 0, *(AXIS[direction[j]] for j in moves), *(AXIS[direction[j]] for j in moves)]
    field = ["x", "one", *(mode[j] for j in moves), *(f"s{mode[j]}" for j in moves)]
    turned = ["one", *(mode[j] for j in twists), *(f"s{mode[j]}" for j in twists)]
    sampled = (
        s.reshape(len(lengths), len(x), n)  # -1 would be ambiguous without modes
        for s in (
            at.values.values(lengths),
            at.slopes.values(lengths),
            at.values.slopes(lengths),
            at.strains.values(lengths),
        )
    )
    tables = []
    for length, psi, slope, change, strain in zip(lengths, *sampled, strict=True):
        sliding = carried * slope + length * change
        f = np.column_stack([x, np.ones_like(x), psi[:, moves], sliding[:, moves]])
        first, second = integrals(f, at.weights)
        spun = integrals(np.column_stack([np.ones_like(x), psi[:, twists], sliding[:, twists]]), at.weights)[1]
        K = np.equal.outer(direction, direction) * integrals(strain, at.weights)[1]
        tables.append(np.concatenate([first, second.ravel(), K.ravel(), spun.ravel()]))
    series = interpolated(low, description.length, lengths, np.array(tables))
    size = len(field)
    ends_of = np.cumsum([size, size**2, n**2, len(turned) ** 2]).tolist()
    integrals_at = name.along(_labels(field, turned, mode, direction), series)
    rigidity = [named_stiffness(description, name, d) for d in direction]

    def modal(length: Scalar) -> tuple[Fields, Matrix, Matrix]:
        """Return unscaled integrals at a length: of moving points, of strain energy, of turning sections."""
        numbers = integrals_at(length)
        first, second, strained, spun = (numbers[a:b] for a, b in pairwise([0, *ends_of]))
        K = [scaled(EI, strained[r * n : (r + 1) * n]) for r, EI in enumerate(rigidity)]
        fields = Fields(axis, scaled(m, first), [scaled(m, row) for row in _rows(second, size)], m)
        return fields, K, _rows(spun, len(turned))

    def inertia(eta: Vector) -> Matrix:
        length, xi = eta[0], eta[1:]
        z = [length, 0.0, *(xi[j] for j in moves), *([0.0] * len(moves))]
        V = zeros(size, k)
        V[1][0] = 1.0
        for row, j in enumerate(moves, start=2):
            V[row][1 + j] = 1.0
            V[row + len(moves)][0] = xi[j] / length
        fields, _, spun = modal(length)
        M = fields.inertia(z, V, scale=length)
        hidden = total - length
        turning = m * hidden**3 / 3
        inside = frame_inertia(m * hidden, [-(m * hidden**2 / 2), 0.0, 0.0], np.diag([0.0, 1.0, 1.0]).tolist(), k)
        for r in (4, 5):
            inside[r][r] = turning
        inside[0][7] = inside[7][0] = inside[7][7] = m * hidden
        M = [[a + b for a, b in zip(mine, theirs, strict=True)] for mine, theirs in zip(M, inside, strict=True)]
        M[3][3] = M[3][3] + spin
        turn(M, [scaled(spin / total * length, row) for row in spun], xi, length)
        return M

    def turn(M: Matrix, spun: Matrix, xi: Vector, length: Scalar) -> None:
        """Add the inertia of the free part's sections that turn by torsion, with the rates V (l_dot, xi_dot)."""
        V = zeros(len(spun), k)
        for row, j in enumerate(twists, start=1):
            V[row][1 + j] = 1.0
            V[row + len(twists)][0] = xi[j] / length
        for c in (0, *(1 + j for j in twists)) if twists else ():
            column = [row[c] for row in V]
            M[3][7 + c] = M[7 + c][3] = M[3][7 + c] + dot(spun[0], column)
            for e in (0, *(1 + j for j in twists)):
                M[7 + c][7 + e] = M[7 + c][7 + e] + dot(product(spun, column), [row[e] for row in V])

    polar = description.rho_Ip * description.length
    spin = name("Jx", "polar_inertia", polar, "kg m^2", "moment of inertia about the beam's axis")

    def potential(q: Scalar, eta: Vector) -> Scalar:
        K, xi = modal(eta[0])[1], eta[1:]
        bent = 0.5 * dot(xi[bends], product([row[bends] for row in K[bends]], xi[bends])) / eta[0] ** 3
        if counts[2] + counts[3] == 0:
            return bent
        rods = slice(starts[2], n)
        return bent + 0.5 * dot(xi[rods], product([row[rods] for row in K[rods]], xi[rods])) / eta[0]

    ends = tip_deflections(label, mode, np.zeros(n)) + tip_slopes(label, mode[bends], np.zeros(starts[2]))
    ends_at = name.along(ends, at.ends_at(1.0))

    def placed(station: float, deflection: Vector, slope: Vector, eta: Vector) -> Vector:
        """Return position and angles of a section, from the shapes' values and slopes there."""
        y, z, torsion, axial = (dot(deflection[a:b], eta[1 + a : 1 + b]) for a, b in pairwise(starts))
        angle = [dot(slope[a:b], eta[1 + a : 1 + b]) / eta[0] for a, b in pairwise(starts[:3])]
        return [station * eta[0] + axial, y, z, *angle, torsion]

    def tip(eta: Vector) -> Vector:
        values = ends_at(eta[0])
        return placed(1.0, values[:n], values[:n] if description.next_joint == "chord" else values[n:], eta)

    def bent_by(station: float, eta: Vector, rigidity: Vector) -> Vector:
        psi = at.strains_at(station).at(eta[0])
        share = [rigidity[j] * psi[j] * eta[1 + j] / eta[0] ** 2 for j in range(starts[2])]
        return [sum(share[a:b], 0.0) for a, b in pairwise(starts[:3])]

    def line(station: float, eta: Vector) -> Vector:
        values = at.ends_at(station).at(eta[0])
        return placed(station, values[:n], values[n:], eta)

    at_rest = series.values(rest)
    means, strained, spun = (
        at_rest[a:b].reshape(r, r) for (a, b), r in zip(pairwise(ends_of), (size, n, len(turned)), strict=True)
    )
    M_rest, own = np.zeros((n, n)), slice(1, 1 + len(twists))
    M_rest[np.ix_(moves, moves)] = description.m * rest * means[2 : 2 + len(moves), 2 : 2 + len(moves)]
    M_rest[np.ix_(twists, twists)] = description.rho_Ip * rest * spun[own, own]
    M_rest *= np.equal.outer(direction, direction)
    known_rigidity = np.array([description.stiffness[DIRECTIONS[d]] / rest ** (3 if d < 2 else 1) for d in direction])
    K_rest = known_rigidity * strained
    inert = [mass / known, mass / known, spin / polar if polar else 1.0, mass / known]
    powers = [
        inert[d] * (rigidity[starts[d]] / description.stiffness[DIRECTIONS[d]] if counts[d] else 1.0) for d in range(4)
    ]
    damping = named_damping(M_rest, K_rest, description, starts, name, powers)
    material = material_damping(description, name)

    def straining(eta: Vector) -> Matrix:
        """Return the damping of the current free part, over the rates of l and xi.

        It uses the strain rate at a fixed place.

        A particle that leaves the hub is bent at once to the curvature at the mouth. A Kelvin-Voigt material would then
        dissipate without bound. The contribution of l_dot alone to the strain rate is therefore omitted.
        """
        length = eta[0]
        fields, K, spun = modal(length)
        M = zeros(n, n)
        for first, own, whole in ((2, moves, fields.second), (1, twists, [scaled(spin / total, r) for r in spun])):
            for a, i in enumerate(own, start=first):
                for b, j in enumerate(own, start=first):
                    M[i][j] = length * whole[a][b] if direction[i] == direction[j] else 0.0
        power = [3 if d < 2 else 1 for d in direction]
        strained = [scaled(1.0 / length**p, row) for p, row in zip(power, K, strict=True)]
        return bordered(material(M, strained))  # type: ignore[misc]

    return Body(
        size=k,
        inertia=inertia,
        potential=potential,
        damping=bordered(damping, before=2),
        straining=None if material is None else straining,
        drive=[0.0, 1.0] + [0.0] * n,
        tip=tip,
        rest=(rest, *([0.0] * n)),
        flexible=tuple(range(1, k)),
        limits=((0, low if len(lengths) > 1 else 0.0, description.length),),
        convects=joint.convection == "paper",
        bending_moment=lambda station, eta: bent_by(station, eta, rigidity),
        curvature=lambda station, eta: bent_by(station, eta, [1.0] * n),
        line=line,
    )


AXIS = {0: 1, 1: 2, 3: 0}
"""Axis along which each direction moves points. Torsion moves none."""


def _rows(numbers: Vector, size: int) -> Matrix:
    """Return a square matrix from its entries."""
    return [numbers[r * size : (r + 1) * size] for r in range(size)]


def _labels(fields: list[str], turned: list[str], modes: list[str], directions: list[int]) -> list[Label | float]:
    """Return the labels of the tables' integrals, in their order, or values that do not depend on the shapes."""
    found = [named_mean(label, f, 0.0, True) for f in fields]
    found += [named_product(label, one, other, 0.0, True) for one in fields for other in fields]
    both = list(zip(modes, directions, strict=True))
    found += [
        named_curvature(label, one, other, 0.0, 2 if p < 2 else 1) if p == q else 0.0
        for one, p in both
        for other, q in both
    ]
    return found + [named_product(label, one, other, 0.0, True) for one in turned for other in turned]


# -- shapes along the length -------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Along:
    """Shapes of all directions as functions of the length: at quadrature points (points x modes), and at the tip."""

    x: np.ndarray
    weights: np.ndarray
    values: Series
    slopes: Series
    strains: Series
    """Curvatures in bending, slopes in torsion and stretch."""
    ends_at: Callable[[float], Series]
    """Deflections of all modes, then slopes of those that bend, at a station."""
    strains_at: Callable[[float], Series]
    """Strains of all modes at a station."""


@final
@dataclass(frozen=True, eq=False)
class _Itself:
    """A description as a key of a cache. It equals no other description, even if all fields are the same."""

    of: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.of is other.of

    def __hash__(self) -> int:
        return id(self.of)


@lru_cache(maxsize=8)  # a chain asks several times for each of its telescopes
def _shapes_along(
    beam: _Itself, along: _Itself, tip_loads: tuple[tuple[str, TipLoad], ...], rest: float
) -> tuple[Along, np.ndarray, float]:
    """Return the shapes, the lengths at which they are computed, and the shortest length of the range."""
    description, joint, loads = beam.of, along.of, dict(tip_loads)
    total = description.length
    low = SHORTEST * total
    used = [d for d in DIRECTIONS if d in BENDING or description.counts[d]]
    counts = [description.counts[d] for d in used]
    families = [_family(description, d, loads[d], rest) for d in used]
    follows = _following(description, joint)
    lengths = nodes(low, total) if any(follows) else np.array([rest])

    planes = [[f.basis(n)] * len(lengths) for n, f in zip(counts, families, strict=True)]
    if any(follows):
        alike = all(follows) and counts[0] == counts[1] and families[0] == families[1] and loads["y"] == loads["z"]
        planes[0] = _bases(description, joint, "y", counts[0], loads["y"], rest, lengths)
        planes[1] = planes[0] if alike else _bases(description, joint, "z", counts[1], loads["z"], rest, lengths)
    x, weights = quadrature(*(plane[0] for plane in planes))
    at_rest = [f.basis(n).values(x) for f, n in zip(families, counts, strict=True)]
    scale = [
        [_scale(plane[i].values(x), known, weights) for plane, known in zip(planes, at_rest, strict=True)]
        for i in range(len(lengths))
    ]

    def series(points: np.ndarray | float, orders: dict[str, int]) -> Series:
        """Return derivatives of the shapes, for the directions that have an order."""
        rows = [
            np.column_stack(
                [
                    plane[i].values(points, orders[d]) * c
                    for d, plane, c in zip(used, planes, scale[i], strict=True)
                    if d in orders
                ]
            ).ravel()
            for i in range(len(lengths))
        ]
        return interpolated(low, total, lengths, np.array(rows))

    values, slopes = (dict.fromkeys(DIRECTIONS, order) for order in (0, 1))
    strains = {d: 2 if d in BENDING else 1 for d in DIRECTIONS}

    @cache
    def ends_at(station: float) -> Series:
        both = [series(station, orders).coefficients for orders in (values, dict.fromkeys(BENDING, 1))]
        terms = max(len(c) for c in both)
        return Series(low, total, np.hstack([np.pad(c, ((0, terms - len(c)), (0, 0))) for c in both]))

    along_x = Along(
        x, weights, series(x, values), series(x, slopes), series(x, strains), ends_at,
        lambda station: series(station, strains),
    )  # fmt: skip
    return along_x, lengths, low


def _family(description: Beam, direction: str, load: TipLoad, length: float) -> Any:
    """Return the family of a plane for the beam with this free length."""
    per_length = {} if description.mass is None else {"mass": None, "mass_per_length": description.m}
    free = description.replace(length=length, **per_length)
    return fitted(description.families[direction], free, direction, load)


def _following(description: Beam, joint: Telescope) -> list[bool]:
    """Return, for each plane, True if its shapes change with the ratio of a load in SI units to the free beam."""
    families = [family(description.families[direction], direction) for direction in ("y", "z")]
    return [
        joint.wave_numbers != "fixed" and description.counts[d] > 0 and isinstance(f, ClampedMass) and not f.in_ratios
        for d, f in zip(("y", "z"), families, strict=True)
    ]


def _scale(values: np.ndarray, known: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return factors that give shapes the integral of the square, and the sign, of known ones."""
    size = np.sqrt((weights @ known**2) / (weights @ values**2))
    return size * np.where(weights @ (values * known) < 0, -1.0, 1.0)


def _bases(
    description: Beam, joint: Telescope, direction: str, count: int, load: TipLoad, rest: float, lengths: np.ndarray
) -> list[Basis]:
    """Return the shapes at each length, with wave numbers from the frequency equation or integrated from `rest`."""
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
    """Return M / (m l), I / (m l^3) and M_D / (m l^2) at each length, (lengths, 3)."""
    known = np.array(_family(description, direction, load, rest).ratios)
    return known * (rest / lengths)[:, None] ** np.array([1, 3, 2])


def integrated_wave_numbers(
    description: Beam, direction: str, load: TipLoad, count: int, rest: float, lengths: np.ndarray
) -> np.ndarray:
    """Return beta at each length (lengths, count) from the differential form of the frequency equation (eq. 11).

    The integration begins at `rest`. In time the equation is d beta / dt = (f1 / f2) l_dot. Only l enters, so that it
    is integrated over l once, instead of adding states to every run.
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
