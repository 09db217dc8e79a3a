"""Links as functions of their own coordinates: inertia, potential, tip.

This is all the dynamics ever asks of a link; a new kind of link is a new function that returns a `Body`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise

import numpy as np

from flexarm.description.arm import DIRECTIONS, Beam, Payload, Rigid, tensor
from flexarm.mechanics.parameters import Name, value_of
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, cross, dot, product, scaled, zeros
from flexarm.shapes import Basis, TipLoad, fitted, quadrature

Loads = dict[str, TipLoad]
"""What a link carries beyond its tip, by direction; in torsion an inertia, in stretch a mass alone."""


@dataclass(frozen=True)
class Body:
    """A link and its drive, seen from its base frame, which stands behind the joint.

    Attributes
    ----------
    size : int
        Number k of own coordinates eta: a telescope's length, the flexible ones, the motor of an elastic joint.
    inertia : eta -> (7 + k, 7 + k)
        M(eta): kinetic energy = 1/2 y' M y with y = (v, w, r, eta_dot); v is the velocity of the base frame's origin, r
        the rate of the joint that moves the base frame (it matters to a rotor alone).
    potential : (q, eta) -> scalar
        Energy of strain and of the joint's spring [J]; q is the joint's coordinate.
    damping : (1 + k, 1 + k)
        Constant matrix D over (r, eta_dot).
    drive : (1 + k,)
        What the actuator moves: its power is u (drive . (r, eta_dot)). All zero where there is none.
    tip : eta -> (p_x, p_y, p_z, slope_y, slope_z, torsion)
        The distal frame: moved by p, then turned by Rz(slope_y) Ry(-slope_z) Rx(torsion).
    rest : (k,)
        eta where no configuration is given: the telescope's nominal length, else zero.
    """

    size: int
    inertia: Callable[[Vector], Matrix]
    potential: Callable[[Scalar, Vector], Scalar]
    damping: Matrix
    drive: Vector
    tip: Callable[[Vector], Vector]
    rest: tuple[float, ...] = ()
    flexible: tuple[int, ...] = ()
    """Positions in eta of the amplitudes: what is zero in a body that is not deformed."""
    limits: tuple[tuple[int, float, float], ...] = ()
    """Position in eta of what must stay in a range, low excluded: a telescope's length."""
    convects: bool = False
    """Whether M gives points velocities that are not the rates of their positions."""
    root: Callable[[Vector], Vector] = lambda eta: [0.0, 0.0]
    """Slopes in y and z at the hub; zero where the beam is clamped."""
    bending_moment: Callable[[float, Vector], Vector] = lambda x, eta: [0.0, 0.0]
    """EI times the curvature in y and z at the station x in [0, 1] of the (free) length [N m]."""


def undeformed(body: Body, eta: Vector) -> Vector:
    """eta with the amplitudes zero."""
    return [0.0 if i in body.flexible else x for i, x in enumerate(eta)]


# -- rigid bodies ------------------------------------------------------------------------------------------------------


def rigid(description: Rigid, name: Name = value_of) -> Body:
    """A rigid link; its tip lies at (length, 0, 0)."""
    m = name("m", "mass", description.mass, "kg", "mass")
    length = name("L", "length", description.length, "m", "length")
    x, y, z = description.center
    c = [
        name("lc", "com.x", x, "m", "centre of mass along x"),
        name("yc", "com.y", y, "m", "centre of mass along y"),
        name("zc", "com.z", z, "m", "centre of mass along z"),
    ]
    I = named_tensor(description.inertia_tensor, name, "I", "inertia", "moment of inertia about the centre of mass")
    for r in range(3):
        for s in range(3):
            I[r][s] = I[r][s] + m * ((dot(c, c) if r == s else 0.0) - c[r] * c[s])
    return _lump(m, scaled(m, c), I, length)


def payload(description: Payload | None, name: Name = value_of) -> Body:
    """The body held by the last tip; without mass where there is no payload."""
    if description is None:
        return _lump(0.0, [0.0] * 3, zeros(3, 3), 0.0)
    m = name("mP", "mass", description.mass, "kg", "mass of the payload")
    I = named_tensor(tensor(description.inertia), name, "IP", "inertia", "moment of inertia of the payload")
    return _lump(m, [0.0] * 3, I, 0.0)


def named_tensor(I: np.ndarray, name: Name, letter: str, field: str, meaning: str) -> Matrix:
    """The entries of a tensor, each named once; one name for principal values that are the same."""
    lone, unit = np.array_equal(I, np.diag(np.diag(I))) and I[1, 1] == I[2, 2], "kg m^2"

    def entry(r: int, c: int) -> Scalar:
        if lone and (r == c != 0 or (r == c and I[0, 0] == I[1, 1])):
            return name(letter, field, I[r, c], unit, meaning)
        axes = "xyz"[r] + "xyz"[c]
        return name(letter + axes, f"{field}.{axes}", I[r, c], unit, f"{meaning}, {axes}")

    return [[entry(min(r, c), max(r, c)) for c in range(3)] for r in range(3)]


def _lump(m: Scalar, S: Vector, J: Matrix, length: Scalar) -> Body:
    """A body without coordinates of its own: mass, first moment and second moment about its base."""
    M = frame_inertia(m, S, J, 0)
    tip = [length, 0.0, 0.0, 0.0, 0.0, 0.0]
    return Body(0, lambda eta: M, lambda q, eta: 0.0, zeros(1, 1), [0.0], lambda eta: tip)


def frame_inertia(m: Scalar, S: Vector, J: Matrix, size: int) -> Matrix:
    """The (7 + size) inertia of mass m, first moment S and second moment J; rows of r and eta still empty."""
    M = zeros(7 + size, 7 + size)
    for r in range(3):
        M[r][r] = m
        M[3 + r][3:6] = J[r]
    M[0][4] = M[4][0] = S[2]  # force = m a - S x alpha
    M[0][5] = M[5][0] = -S[1]
    M[1][3] = M[3][1] = -S[2]
    M[1][5] = M[5][1] = S[0]
    M[2][3] = M[3][2] = S[1]
    M[2][4] = M[4][2] = -S[0]
    return M


# -- bodies whose points are sums of fields ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Fields:
    """A body whose points are r = sum f_i(x) z_i along axes a_i, and whose velocities are sum f_i(x) (V eta_dot)_i.

    Attributes
    ----------
    axis : (fields,)
        0, 1 or 2.
    first, second : (fields,), (fields, fields)
        Modal integrals int m f_i and int m f_i f_j; products of fields along different axes too.
    mass : float
        int m.
    """

    axis: list[int]
    first: Vector
    second: Matrix
    mass: Scalar

    def inertia(self, z: Vector, V: Matrix, scale: Scalar = 1.0) -> Matrix:
        """M over (v, w, r, eta_dot), all integrals multiplied by `scale`; V has a row for each field."""
        z = list(z)
        S = self._along(self.first, z)  # int m r
        G = [self._along(row, z) for row in self.second]  # int m f_i r
        Q = [self._along([g[c] for g in G], z) for c in range(3)]  # int m r r'
        J = [[Q[1][1] + Q[2][2], -Q[0][1], -Q[0][2]], [-Q[0][1], Q[0][0] + Q[2][2], -Q[1][2]]]
        J += [[-Q[0][2], -Q[1][2], Q[0][0] + Q[1][1]]]
        k = len(V[0]) if V else 0
        M = frame_inertia(self.mass, S, J, k)
        turned = [cross(g, [float(c == a) for c in range(3)]) for g, a in zip(G, self.axis, strict=True)]
        for c in range(k):
            column = [row[c] for row in V]
            _couple(M, 7 + c, self._along(self.first, column) + [dot([t[d] for t in turned], column) for d in range(3)])
            same = [self._along(row, column)[a] for row, a in zip(self.second, self.axis, strict=True)]
            for e in range(c, k):
                M[7 + c][7 + e] = M[7 + e][7 + c] = dot(same, [row[e] for row in V])
        return M if isinstance(scale, float) and scale == 1.0 else [[scale * x for x in row] for row in M]

    def _along(self, numbers: Vector, amplitudes: Vector) -> Vector:
        """The vector sum of numbers_i amplitudes_i, each along its field's axis."""
        chosen = [[i for i, a in enumerate(self.axis) if a == c] for c in range(3)]
        return [dot([numbers[i] for i in some], [amplitudes[i] for i in some]) for some in chosen]


def beam(description: Beam, loads: Loads, name: Name = value_of) -> Body:
    """A beam with assumed modes: r(x) = x e_x + sum phi_j(x) eta_j along y, z and x, and torsion about x.

    With foreshortening, r_x is less by 1/2 int_0^x (u_y'^2 + u_z'^2) (Mohan & Saha eq. 1b, sign corrected): one more
    field along x for each pair of modes of a plane, with the amplitude -eta_i eta_j.
    """
    length = name("L", "length", description.length, "m", "length")
    mass = name("m", "mass", description.total_mass, "kg", "mass")
    counts, start, bases = bases_of(description, loads)
    k = start[-1]
    modes = labels(counts, bases, description.section_tip is None)
    x, weights = quadrature(*bases)
    along = description.profile(x)

    # 1. the fields: x, the modes along y, z and x, and what each pair of modes of a plane takes from r_x
    axis, values, field = [0], [x], ["x"]
    place: list[int] = []  # the coordinate of each field of a mode
    for d, direction in ((1, 0), (2, 1), (0, 3)):
        axis += [d] * counts[direction]
        values += list(bases[direction].values(x).T)
        place += range(start[direction], start[direction + 1])
    field += [modes[p] for p in place]
    pairs: list[tuple[int, int]] = []
    for direction in (0, 1) if description.foreshortening else ():
        pairs += combinations_with_replacement(range(start[direction], start[direction + 1]), 2)
    shortening = [_shortening(bases, start, i, j) for i, j in pairs]
    axis += [0] * len(pairs)
    values += [g(x) for g in shortening]
    field += [f"g{modes[i]}_{modes[j]}" for i, j in pairs]
    size = [length] + [1.0] * len(place) + [1.0 / length] * len(pairs)

    # 2. modal integrals without dimension, and what they are multiplied with
    share = along.m * weights / (along.m @ weights)
    mean, product_ = integrals(np.column_stack(values), share)
    uniform = description.section_tip is None
    first = [mass * s * named_mean(name, f, v, uniform) for s, f, v in zip(size, field, mean, strict=True)]
    second = [
        [
            mass * (size[i] * size[j]) * named_product(name, field[i], field[j], product_[i, j], uniform)
            for j in range(len(size))
        ]
        for i in range(len(size))
    ]
    fields = Fields(axis, first, second, mass)

    rho_Ip = along.rho_Ip @ weights
    spin = name("Jx", "polar_inertia", rho_Ip * description.length, "kg m^2", "moment of inertia about the beam's axis")
    twists = range(start[2], start[3])
    polar = along.rho_Ip * weights / rho_Ip if rho_Ip else 0.0 * weights
    mean_twist, product_twist = integrals(bases[2].values(x), polar)
    twist_first = [spin * named_mean(name, modes[p], v) for p, v in zip(twists, mean_twist, strict=True)]
    twist_second = [
        [spin * named_product(name, modes[p], modes[r], v) for r, v in zip(twists, row, strict=True)]
        for p, row in zip(twists, product_twist, strict=True)
    ]

    stiffness = _stiffness(description, name, bases, start, x, weights, modes, length)

    def inertia(eta: Vector) -> Matrix:
        z: Vector = [1.0] + [eta[p] for p in place]
        V = zeros(len(axis), k)
        for row, p in enumerate(place, start=1):
            V[row][p] = 1.0
        for row, (i, j) in enumerate(pairs, start=1 + len(place)):
            z.append(-(eta[i] * eta[j]))
            V[row][i] = V[row][i] - eta[j]
            V[row][j] = V[row][j] - eta[i]
        M = fields.inertia(z, V)
        M[3][3] = M[3][3] + spin
        for r, p in enumerate(twists):
            _couple(M, 7 + p, [0.0, 0.0, 0.0, twist_first[r], 0.0, 0.0])
            M[7 + p][7 + twists.start : 7 + twists.stop] = twist_second[r]
        return M

    tip = tip_functions(bases, start, length, description.next_joint, name, modes)
    drawn = [
        name(f"g_{f[1:]}", f"tip_shortening.{f[1:]}", float(g(np.ones(1))[0]), "", f"{_spelled(f)} at the tip") / length
        for f, g in zip(field[1 + len(place) :], shortening, strict=True)
    ]

    def shortened_tip(eta: Vector) -> Vector:
        s = tip(eta)
        for g, (i, j) in zip(drawn, pairs, strict=True):
            s[0] = s[0] - g * (eta[i] * eta[j])
        return s

    M_eta = np.zeros((k, k))
    same = np.equal.outer(axis[1 : 1 + len(place)], axis[1 : 1 + len(place)])
    M_eta[np.ix_(place, place)] = description.total_mass * (same * product_[1 : 1 + len(place), 1 : 1 + len(place)])
    M_eta[twists.start : twists.stop, twists.start : twists.stop] = rho_Ip * description.length * product_twist
    K = _stiffness(description, value_of, bases, start, x, weights, modes, description.length)
    D = modal_damping(M_eta, np.array(K).reshape(k, k), np.array(description.damping_ratios), start)

    def bending_moment(station: float, eta: Vector) -> Vector:
        at = description.profile(station)
        return [
            float(EI[0])
            * dot((bases[d].values(station, 2)[0] / description.length**2).tolist(), eta[start[d] : start[d + 1]])
            for d, EI in ((0, at.EI_y), (1, at.EI_z))
        ]

    return Body(
        size=k,
        inertia=inertia,
        potential=lambda q, eta: 0.5 * dot(eta, product(stiffness, eta)),
        damping=bordered(named_damping(D, name, coordinate_labels(counts))),
        drive=[0.0] * (1 + k),
        tip=shortened_tip,
        rest=(0.0,) * k,
        flexible=tuple(range(k)),
        root=_root(bases, start, length, name, modes),
        bending_moment=bending_moment,
    )


def labels(counts: list[int], bases: list[Basis], uniform: bool) -> list[str]:
    """What names the shape of each mode: its number, behind y or z where the planes' shapes or sections differ."""
    x = np.linspace(0.0, 1.0, 7)
    n = min(counts[:2])
    alike = n == 0 or (uniform and np.array_equal(bases[0].values(x)[:, :n], bases[1].values(x)[:, :n]))
    return _numbered(["", "", "t", "x"] if alike else ["y", "z", "t", "x"], counts)


def coordinate_labels(counts: list[int]) -> list[str]:
    """What names each amplitude: its number, behind the direction where there is more than one."""
    return _numbered(["y", "z", "t", "x"] if np.count_nonzero(counts) > 1 else [""] * 4, counts)


def _numbered(marks: list[str], counts: list[int]) -> list[str]:
    return [f"{mark}{j}" for mark, count in zip(marks, counts, strict=True) for j in range(1, count + 1)]


def integrals(f: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means of fields sampled at quadrature points (points, fields), and of their products."""
    return without_rounding(weights @ f), without_rounding(_symmetric((f.T * weights) @ f))


def named_mean(name: Name, field: str, value: float, uniform: bool = False) -> Scalar:
    """The mean of a field; of x and of 1, where the beam is uniform, it is known."""
    if uniform and field in ("x", "one"):
        return 0.5 if field == "x" else 1.0
    return name(f"a_{field}", f"mean.{field}", float(value), "", f"mean of {_spelled(field)}")


def named_product(name: Name, one: str, other: str, value: float, uniform: bool = False) -> Scalar:
    """The mean of a product of two fields; with x itself a first moment, with 1 a mean."""
    if other == "one" or (other == "x" and one != "one"):
        one, other = other, one
    if one == "one":
        return named_mean(name, other, value, uniform)
    if one == other == "x" and uniform:
        return 1.0 / 3.0
    if one == "x" != other:
        return name(f"b_{other}", f"moment.{other}", float(value), "", f"mean of x {_spelled(other)}")
    one, other = sorted((one, other), key=_order)
    meaning = f"mean of {_spelled(one)} {_spelled(other)}"
    return name(f"c_{one}_{other}", f"product.{one}.{other}", float(value), "", meaning)


def _order(label: str) -> tuple[str, int]:
    """Labels in the order of their modes."""
    digits = "".join(filter(str.isdigit, label))
    return label.rstrip("0123456789_"), int(digits or 0)


def _spelled(field: str) -> str:
    kinds = {"g": "int_0^x phi' phi' of ", "s": "what sliding makes of phi_"}
    return field if field == "x" else kinds.get(field[0], "phi_") + field.lstrip("gs")


def bases_of(description: Beam, loads: Loads) -> tuple[list[int], list[int], list[Basis]]:
    """Number of modes in each direction, where each direction starts in eta, and its shapes."""
    counts = [description.counts[d] for d in DIRECTIONS]
    families = [fitted(shapes, description, d, loads[d]) for d, shapes in description.families.items()]
    bases = [f.basis(n) for f, n in zip(families, counts, strict=True)]
    return counts, np.cumsum([0, *counts]).tolist(), bases


def _stiffness(
    description: Beam,
    name: Name,
    bases: list[Basis],
    start: list[int],
    x: np.ndarray,
    weights: np.ndarray,
    modes: list[str],
    length: Scalar,
) -> Matrix:
    """Strain energy's matrix over eta: bending strains by curvature, torsion and stretch by slope."""
    K = zeros(start[-1], start[-1])
    along = description.profile(x)
    for d, (values, order) in enumerate(zip((along.EI_y, along.EI_z, along.GJ, along.EA), (2, 2, 1, 1), strict=True)):
        here = range(start[d], start[d + 1])
        if not here:
            continue
        rigidity = named_stiffness(description, name, d)
        s = bases[d].values(x, order)
        share = values / description.stiffness[DIRECTIONS[d]] * weights
        for i, row in zip(here, without_rounding(_symmetric((s.T * share) @ s)), strict=True):
            for j, value in zip(here, row, strict=True):
                K[i][j] = rigidity / length ** (2 * order - 1) * named_curvature(name, modes[i], modes[j], value, order)
    return K


def named_stiffness(description: Beam, name: Name, direction: int) -> Scalar:
    """EI, GJ or EA; one name for EI that is the same in both planes."""
    known = description.stiffness
    symbol, field, unit, meaning = (
        ("EIy", "EI.y", "N m^2", "bending stiffness along y"),
        ("EIz", "EI.z", "N m^2", "bending stiffness along z"),
        ("GJ", "GJ", "N m^2", "torsional stiffness"),
        ("EA", "EA", "N", "axial stiffness"),
    )[direction]
    value = known[DIRECTIONS[direction]]
    bent = [known[d] for d in DIRECTIONS[:2] if description.counts[d]]
    if direction < 2 and bent.count(value) == len(bent):
        symbol, field, meaning = "EI", "EI", "bending stiffness"
    return name(symbol, field, value, unit, meaning)


def named_curvature(name: Name, one: str, other: str, value: float, order: int = 2) -> Scalar:
    """The integral of a product of the shapes' second derivatives (of first ones, for torsion and stretch)."""
    one, other = sorted((one, other), key=_order)
    prime = "'" * order
    meaning = f"int phi_{one}{prime} phi_{other}{prime}"
    return name(f"k_{one}_{other}", f"curvature.{one}.{other}", float(value), "", meaning)


def tip_functions(
    bases: list[Basis], start: list[int], length: Scalar, next_joint: str, name: Name, modes: list[str]
) -> Callable[[Vector], Vector]:
    """The six tip functions; the next joint's angle is measured from the slope at the tip, or from the chord."""
    ends = tip_deflections(name, modes, np.concatenate([basis.values(1.0)[0] for basis in bases]))
    slopes = tip_slopes(name, modes[: start[2]], np.concatenate([basis.values(1.0, 1)[0] for basis in bases[:2]]))
    if next_joint == "chord":
        slopes = ends[: start[2]]

    def tip(eta: Vector) -> Vector:
        y, z, torsion, axial = ((eta[a:b], ends[a:b]) for a, b in pairwise(start))
        p = [length + dot(*axial), dot(*y), dot(*z)]
        slope = [dot(slopes[a:b], eta[a:b]) / length for a, b in pairwise(start[:3])]
        return [*p, *slope, dot(*torsion)]

    return tip


def tip_deflections(name: Name, modes: list[str], values: np.ndarray) -> Vector:
    """phi(1) of the modes."""
    return [name(f"phi_{m}", f"tip.{m}", float(v), "", f"phi_{m}(1)") for m, v in zip(modes, values, strict=True)]


def tip_slopes(name: Name, modes: list[str], values: np.ndarray) -> Vector:
    """phi'(1) of the modes."""
    return [
        name(f"dphi_{m}", f"tip_slope.{m}", float(v), "", f"phi_{m}'(1)") for m, v in zip(modes, values, strict=True)
    ]


def _root(
    bases: list[Basis], start: list[int], length: Scalar, name: Name, modes: list[str]
) -> Callable[[Vector], Vector]:
    """Slopes in y and z at the hub."""
    values = [without_rounding(np.append(basis.values(0.0, 1)[0], 1.0))[:-1] for basis in bases[:2]]
    slopes = [
        name(f"dphi0_{m}", f"root_slope.{m}", float(v), "", f"phi_{m}'(0)")
        for m, v in zip(modes, np.concatenate(values), strict=False)
    ]
    return lambda eta: [dot(slopes[a:b], eta[a:b]) / length for a, b in pairwise(start[:3])]


def _shortening(bases: list[Basis], start: list[int], i: int, j: int) -> Callable[[np.ndarray], np.ndarray]:
    """g(x) = int_0^x phi_i' phi_j' dx, or half of it where i = j: the pair takes eta_i eta_j g / L from r_x."""
    direction = 0 if j < start[1] else 1
    basis = bases[direction]
    t, w = np.polynomial.legendre.leggauss(24)

    def integral(a: float, b: float) -> float:
        s = basis.values((a + b) / 2 + (b - a) / 2 * t, 1)
        return float(w @ (s[:, i - start[direction]] * s[:, j - start[direction]])) * (b - a) / 2

    def g(x: np.ndarray) -> np.ndarray:
        edges = np.unique(np.concatenate([[0.0], x, [e for e in basis.breaks if e < x.max()]]))
        sums = np.concatenate([[0.0], np.cumsum([integral(a, b) for a, b in pairwise(edges)])])
        return sums[np.searchsorted(edges, x)] * (0.5 if i == j else 1.0)

    return g


# -- small things ------------------------------------------------------------------------------------------------------


def modal_damping(M: np.ndarray, K: np.ndarray, ratios: np.ndarray, start: list[int]) -> np.ndarray:
    """The damping matrix that gives each mode of the clamped link, alone and without load, its damping ratio.

    In each direction (a block of `start`) ratios go with the modes in the order of their frequencies:
    D = M Phi diag(2 zeta omega) Phi' M with K Phi = M Phi diag(omega^2), Phi' M Phi = 1.
    """
    D = np.zeros_like(K)
    for a, b in pairwise(start):
        if not ratios[a:b].any():
            continue
        block = slice(a, b)
        C = np.linalg.cholesky(M[block, block])
        C_inv = np.linalg.inv(C)
        omega2, V = np.linalg.eigh(C_inv @ K[block, block] @ C_inv.T)
        D[block, block] = without_rounding(C @ V @ np.diag(2 * ratios[a:b] * np.sqrt(omega2)) @ V.T @ C.T)
    return D


def named_damping(D: np.ndarray, name: Name, modes: list[str]) -> Matrix:
    """The entries of the modal damping matrix."""
    return [
        [
            name(f"d_{modes[min(i, j)]}_{modes[max(i, j)]}", f"modal_damping.{modes[min(i, j)]}.{modes[max(i, j)]}",
                 float(D[i, j]), "N s/m", "modal damping")
            for j in range(len(D))
        ]
        for i in range(len(D))
    ]  # fmt: skip


def slopes_of(function: Callable[[Vector], Vector], size: int) -> Matrix:
    """Slopes of a linear function of eta: one row for each of its values."""
    columns = [function([float(i == j) for i in range(size)]) for j in range(size)]
    return [[column[r] for column in columns] for r in range(len(function([0.0] * size)))]


def bordered(D: Matrix, before: int = 1, after: int = 0) -> Matrix:
    """The matrix with empty rows and columns before it and after it."""
    size = before + len(D) + after
    rows = [[*[0.0] * before, *row, *[0.0] * after] for row in D]
    return zeros(before, size) + rows + zeros(after, size)


def _couple(M: Matrix, column: int, wrench: Vector) -> None:
    for r in range(6):
        M[r][column] = M[column][r] = wrench[r]


def _symmetric(A: np.ndarray) -> np.ndarray:
    return (A + A.T) / 2


def without_rounding(A: np.ndarray) -> np.ndarray:
    """A with entries that are zero but for rounding set to zero: a term that vanishes then costs nothing.

    Entries are measured against the diagonal of a square matrix, which is what bounds them, else against the largest.
    """
    if A.ndim == 2 and A.shape[0] == A.shape[1]:
        d = np.sqrt(np.abs(np.diag(A)))
        size = np.outer(d, d)
    else:
        size = np.abs(A).max(initial=0.0) * np.ones_like(A)
    return np.where(np.abs(A) <= 1e-12 * size, 0.0, A)
