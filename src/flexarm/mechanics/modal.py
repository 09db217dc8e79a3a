"""Named modal integrals, and common functions of bodies with assumed modes: beams and telescopes."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from flexarm.description.arm import DIRECTIONS, Beam
from flexarm.description.numbers import numbered
from flexarm.mechanics.body import Loads, couple, frame_inertia, symmetric, without_rounding
from flexarm.mechanics.parameters import Follows, Name
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, cross, dot
from flexarm.shapes import Basis, fitted


@dataclass(frozen=True)
class Fields:
    """A body whose points are r = sum f_i(x) z_i along axes a_i, and whose velocities are sum f_i(x) (V eta_dot)_i.

    Attributes
    ----------
    axis : (fields,)
        0, 1 or 2.
    first, second : (fields,), (fields, fields)
        Modal integrals int m f_i and int m f_i f_j, including products of fields along different axes.
    mass : float
        int m.
    """

    axis: list[int]
    first: Vector
    second: Matrix
    mass: Scalar

    def inertia(self, z: Vector, V: Matrix, scale: Scalar = 1.0) -> Matrix:
        """Return M over (v, w, r, eta_dot), with all integrals multiplied by `scale`. V has a row for each field."""
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
            couple(M, 7 + c, self._along(self.first, column) + [dot([t[d] for t in turned], column) for d in range(3)])
            same = [self._along(row, column)[a] for row, a in zip(self.second, self.axis, strict=True)]
            for e in range(c, k):
                M[7 + c][7 + e] = M[7 + e][7 + c] = dot(same, [row[e] for row in V])
        return M if isinstance(scale, float) and scale == 1.0 else [[scale * x for x in row] for row in M]

    def _along(self, numbers: Vector, amplitudes: Vector) -> Vector:
        return along_axes(self.axis, numbers, amplitudes)


def along_axes(axis: list[int], numbers: Vector, amplitudes: Vector) -> Vector:
    """Return the vector sum of numbers_i amplitudes_i, each along the axis (0, 1 or 2) of its field."""
    chosen = [[i for i, a in enumerate(axis) if a == c] for c in range(3)]
    return [dot([numbers[i] for i in some], [amplitudes[i] for i in some]) for some in chosen]


def integrals(f: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted means of fields sampled at quadrature points (points, fields), and of their products."""
    return without_rounding(weights @ f), without_rounding(symmetric((f.T * weights) @ f))


def labels(counts: list[int], bases: list[Basis], uniform: bool) -> list[str]:
    """Return the label of each mode's shape: its index, after y or z if the planes' shapes or sections differ."""
    x = np.linspace(0.0, 1.0, 7)
    n = min(counts[:2])
    alike = n == 0 or (uniform and np.array_equal(bases[0].values(x)[:, :n], bases[1].values(x)[:, :n]))
    return numbered(["", "", "t", "x"] if alike else ["y", "z", "t", "x"], counts)


def named_mean(name: Name, field: str, value: float, uniform: bool = False) -> Scalar:
    """Return the mean of a field. Those of x and of 1 are known for a uniform beam."""
    if uniform and field in ("x", "one"):
        return 0.5 if field == "x" else 1.0
    return name(f"a_{field}", f"mean.{field}", float(value), "", f"mean of {spelled(field)}")


def named_product(name: Name, one: str, other: str, value: float, uniform: bool = False) -> Scalar:
    """Return the mean of a product of two fields: a first moment if one is x, a mean if one is 1."""
    if other == "one" or (other == "x" and one != "one"):
        one, other = other, one
    if one == "one":
        return named_mean(name, other, value, uniform)
    if one == other == "x" and uniform:
        return 1.0 / 3.0
    if one == "x" != other:
        return name(f"b_{other}", f"moment.{other}", float(value), "", f"mean of x {spelled(other)}")
    one, other = sorted((one, other), key=_order)
    meaning = f"mean of {spelled(one)} {spelled(other)}"
    return name(f"c_{one}_{other}", f"product.{one}.{other}", float(value), "", meaning)


def _order(label: str) -> tuple[str, int]:
    """Return a sort key that orders labels by their modes."""
    digits = "".join(filter(str.isdigit, label))
    return label.rstrip("0123456789_"), int(digits or 0)


def spelled(field: str) -> str:
    kinds = {"g": "int_0^x phi' phi' of ", "e": "int_0^x phi' phi' of ", "h": "int_0^x int phi phi'' of "}
    kinds["s"] = "what sliding makes of phi_"
    return field if field == "x" else kinds.get(field[0], "phi_") + field.lstrip("gesh")


def named_curvature(name: Name, one: str, other: str, value: float, order: int = 2) -> Scalar:
    """Return the integral of a product of the shapes' second derivatives (first ones for torsion and stretch)."""
    one, other = sorted((one, other), key=_order)
    prime = "'" * order
    meaning = f"int phi_{one}{prime} phi_{other}{prime}"
    return name(f"k_{one}_{other}", f"curvature.{one}.{other}", float(value), "", meaning)


def named_stiffness(description: Beam, name: Name, direction: int) -> Scalar:
    """Return EI, GJ or EA. EI has one name if it is the same in both planes."""
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


def shear_at_base(description: Beam, direction: int) -> float:
    """Return kappa G A for shear along y or z."""
    base = description.profile(0.0)
    return float((base.kGA_y, base.kGA_z)[direction][0])


def named_shear(description: Beam, name: Name, direction: int) -> Scalar:
    """Return kappa G A. It has one name if it is the same in both planes."""
    bent = [shear_at_base(description, d) for d in (0, 1) if description.counts[DIRECTIONS[d]]]
    value = shear_at_base(description, direction)
    if bent.count(value) == len(bent):
        return name("kGA", "shear", value, "N", "stiffness against shear")
    plane = DIRECTIONS[direction]
    return name(f"kGA{plane}", f"shear.{plane}", value, "N", f"stiffness against shear along {plane}")


def named_shearing(name: Name, one: str, other: str, value: float) -> Scalar:
    """Return the integral of a product of the shapes' shear strains, phi' - psi."""
    one, other = sorted((one, other), key=_order)
    meaning = f"int gamma_{one} gamma_{other}"
    return name(f"ss_{one}_{other}", f"shearing.{one}.{other}", float(value), "", meaning)


def named_turning(name: Name, mode: str, value: float) -> Scalar:
    """Return the mean of a shape's rotation."""
    return name(f"pm_{mode}", f"turning.{mode}", float(value), "", f"mean of psi_{mode}")


def named_turnings(name: Name, one: str, other: str, value: float) -> Scalar:
    """Return the mean of a product of the shapes' rotations."""
    one, other = sorted((one, other), key=_order)
    return name(f"pp_{one}_{other}", f"turnings.{one}.{other}", float(value), "", f"mean of psi_{one} psi_{other}")


def bases_of(description: Beam, loads: Loads) -> tuple[list[int], list[int], list[Basis]]:
    """Return the number of modes in each direction, the start of each direction in eta, and its shapes."""
    counts = [description.counts[d] for d in DIRECTIONS]
    families = [fitted(shapes, description, d, loads[d]) for d, shapes in description.families.items()]
    bases = [f.basis(n) for f, n in zip(families, counts, strict=True)]
    return counts, np.cumsum([0, *counts]).tolist(), bases


def tip_functions(
    bases: list[Basis], start: list[int], length: Scalar, next_joint: str, name: Name, modes: list[str]
) -> Callable[[Vector], Vector]:
    """Return the six tip functions. The next joint's angle is relative to the slope at the tip, or to the chord."""
    ends = tip_deflections(name, modes, np.concatenate([basis.values(1.0)[0] for basis in bases]))
    slopes = tip_slopes(name, modes[: start[2]], np.concatenate([basis.turned(1.0)[0] for basis in bases[:2]]))
    if next_joint == "chord":
        slopes = ends[: start[2]]

    def tip(eta: Vector) -> Vector:
        y, z, torsion, axial = ((eta[a:b], ends[a:b]) for a, b in pairwise(start))
        p = [length + dot(*axial), dot(*y), dot(*z)]
        slope = [dot(slopes[a:b], eta[a:b]) / length for a, b in pairwise(start[:3])]
        return [*p, *slope, dot(*torsion)]

    return tip


def tip_deflections(name: Name, modes: list[str], values: np.ndarray) -> Vector:
    """Return phi(1) of the modes."""
    return [name(f"phi_{m}", f"tip.{m}", float(v), "", f"phi_{m}(1)") for m, v in zip(modes, values, strict=True)]


def tip_slopes(name: Name, modes: list[str], values: np.ndarray) -> Vector:
    """Return phi'(1) of the modes."""
    return [
        name(f"dphi_{m}", f"tip_slope.{m}", float(v), "", f"phi_{m}'(1)") for m, v in zip(modes, values, strict=True)
    ]


def per_length(given: float | None, value: float, stretched: Scalar) -> Follows:
    """Return a function for a beam's number that is given per length, from the beam's relative length; else None."""
    return None if given is not None else lambda: value * stretched
