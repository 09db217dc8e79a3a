"""A body at a state: its inertia, and the contributions of its velocities to the equations of motion."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import casadi as ca

from flexarm.mechanics.body import Body
from flexarm.mechanics.spatial import (
    Matrix,
    Scalar,
    Vector,
    added,
    cross,
    dot,
    entries,
    is_zero,
    matrix,
    product,
    scaled,
    transposed,
)


@dataclass(frozen=True)
class Moving:
    """A body at a state: inertia M and velocity wrench h over (v, w, r, eta), tip functions s, their derivatives."""

    M: Matrix
    h: Vector
    s: Vector
    sd: Vector
    sdd: Vector
    """d2s/dt2 at eta_ddot = 0."""
    s_eta: Matrix
    """ds/deta, (t, k)."""


def moving(
    body: Body, places: tuple[float, ...], own: Vector, own_rate: Vector, twist: Vector, gravity: Vector
) -> Moving:
    """Return the body's terms in the equations of motion at a state, own = (q, eta), by automatic differentiation.

    It has six tip functions for each of the places, stations from 0 to 1, at which it carries something.

    With y = (v, w, r, eta_dot) held fixed while differentiating and p = M y, the velocity wrench h is

        force     (dp_v/deta) eta_dot + w x p_v
        moment    (dp_w/deta) eta_dot + w x p_w
        joint     (dp_r/deta) eta_dot
        flexible  (dp_eta/deta) eta_dot - 1/2 d(y' M y)/deta

    for v = 0. This is no restriction if M_v,eta is the slope of the first moment S, because the body's equations are
    then the same for an observer in uniform motion. A body that `convects` has further terms (`_convected`).
    """
    arguments = (own[1:], own_rate[1:], twist[3:], own_rate[:1])
    M, h, s, sd, sdd, s_eta = body.once(("moving", places), lambda: _over_symbols(body, places))(arguments)
    if body.convects:
        more = body.once("convected", lambda: _convected(body))
        h = h + more((own[1:], own_rate[1:], twist[:3], twist[3:], gravity))[0]
    return Moving(rows_of(M), entries(h), entries(s), entries(sd), entries(sdd), rows_of(s_eta))


def _over_symbols(body: Body, places: tuple[float, ...]) -> "Terms":
    """Return M, h, s, sd, sdd and s_eta of `moving`, over (eta, eta_dot, w, r)."""
    k = body.size
    z, zd, omega, rate = (ca.SX.sym(name, n) for name, n in (("eta", k), ("etad", k), ("w", 3), ("r", 1)))
    M = body.inertia(entries(z))
    dense = matrix(M)
    slopes = [rows_of(ca.jtimes(dense, z, ca.DM([float(n == i) for n in range(k)]))) for i in range(k)]
    s = ca.vertcat(*(x for place in places for x in body.outlet(place, entries(z))))
    s_eta = ca.jacobian(s, z)
    sd = ca.mtimes(s_eta, zd)
    h = ca.vertcat(*_velocity_wrench(M, slopes, entries(omega) + entries(rate), entries(zd)))
    return Terms([z, zd, omega, rate], [dense, h, s, sd, ca.jtimes(sd, z, zd), s_eta])


def _velocity_wrench(M: Matrix, slopes: list[Matrix], turning: Vector, etad: Vector) -> Vector:
    """Return the wrench h of `moving`, with turning = (w, r), from the slopes of M with respect to each of eta.

    The terms are arranged such that cancelling terms vanish. With J_a,ij = dM_a,i/deta_j over the columns of eta,
    products of rates of eta enter as 1/2 eta_dot' (J_a + J_a') eta_dot, those with `turning` as (J_a - J_a') eta_dot.
    If points move in proportion to eta, J_a is constant and antisymmetric for a row a of the frame, and zero for a row
    of eta.
    """
    w, eta = turning[:3], range(len(slopes))
    J = [[[slope[a][7 + i] for slope in slopes] for i in eta] for a in range(7 + len(slopes))]
    M_dot = [[dot([slope[a][b] for slope in slopes], etad) for b in range(7)] for a in range(7)]
    p = [dot(row[3:], turning + etad) for row in M[:7]]
    along = cross(w, added(p[:3], [M_dot[1][5], M_dot[2][3], M_dot[0][4]]))  # w x p_v, and dM_v,w/dt w = w x S_dot
    about = added([dot(row[3:7], turning) for row in M_dot[3:7]], [*cross(w, p[3:6]), 0.0])
    h = [*along, *about]
    for i, slope in enumerate(slopes):
        across = [dot(added(J[a][i], scaled(-1, [row[i] for row in J[a]])), etad) for a in range(3, 7)]
        h.append(dot(turning, across) - _half_square([row[3:7] for row in slope[3:7]], turning))
    for a, rows in enumerate(J):
        curved = [added(row, column) for row, column in zip(rows, transposed(rows), strict=True)]
        if a >= 7:
            curved = [added(row, scaled(-1, less[7:])) for row, less in zip(curved, slopes[a - 7][7:], strict=True)]
        h[a] = h[a] + 0.5 * dot(product(curved, etad), etad)
    return h


def _half_square(A: Matrix, x: Vector) -> Scalar:
    """Return 1/2 x' A x for a symmetric A. Equal entries of A share a product."""
    terms: list[list[Scalar]] = []
    for r, row in enumerate(A):
        for c, entry in list(enumerate(row))[r:]:
            if is_zero(entry):
                continue
            weight = x[r] * x[c] * (0.5 if r == c else 1.0)
            same = next((term for term in terms if ca.is_equal(term[0], entry, 4)), None)
            if same is None:
                terms.append([entry, weight])
            else:
                same[1] = same[1] + weight
    return sum((entry * weight for entry, weight in terms), 0.0)


def _convected(body: Body) -> "Terms":
    """Return the contributions of v and gravity to h if the points' velocities are not the rates of their positions.

    They are functions of (eta, eta_dot, v, w, gravity). With c = M_v,eta eta_dot - dS/dt: moment v x c; flexible d/dt
    (M_eta,v v) - M_eta,v (a - w x v) - d/deta of v . (M_v,eta eta_dot + w x S). Gravity, an acceleration of the base,
    acts by M_eta,v instead of dS/deta, which requires the correction (M_eta,v - dS/deta)' gravity.

    The acceleration a of a moved base is part of gravity here. A base with the velocity V adds V . (M_v,eta eta_dot) to
    the energy, which is d/dt (V . S) - a . S if M_v,eta = dS/deta. Here it would make the equations depend on V, which
    is not an input. Therefore these velocities are relative to the base, and only - a . S remains.
    """
    k = body.size
    z, zd, v, w, g = (ca.SX.sym(name, n) for name, n in (("eta", k), ("etad", k), ("v", 3), ("w", 3), ("g", 3)))
    M = body.inertia(entries(z))
    S = ca.vertcat(M[1][5], M[2][3], M[0][4])
    M_v = matrix([row[7:] for row in M[:3]])
    c = ca.mtimes(M_v, zd) - ca.jtimes(S, z, zd)
    momentum = ca.mtimes(M_v.T, v)
    energy = ca.dot(v, ca.mtimes(M_v, zd) + ca.cross(w, S))
    flexible = ca.jtimes(momentum, z, zd) - ca.mtimes(M_v.T, ca.cross(w, v)) - ca.gradient(energy, z)
    flexible += ca.mtimes((M_v - ca.jacobian(S, z)).T, g)
    return Terms([z, zd, v, w, g], [ca.vertcat(0.0, 0.0, 0.0, ca.cross(v, c), 0.0, flexible)])


@final
class Terms:
    """Expressions over symbols that are replaced by values, for any number of states."""

    def __init__(self, symbols: list[ca.SX], expressions: list[ca.SX]):
        dense = [ca.densify(x) for x in expressions]
        self._function = ca.Function("terms", symbols, dense, {"allow_free": True})  # a chain's parameters stay free

    def __call__(self, values: Iterable[Vector]) -> list[ca.SX]:
        found = self._function.call([ca.SX(ca.vertcat(*x)) for x in values], True, False)
        return list(found)


def at(symbols: list[ca.SX], values: Iterable[Vector], terms: list[ca.SX]) -> list[ca.SX]:
    """Return the terms with values in place of the symbols."""
    return Terms(symbols, terms)(values)


def rows_of(M: ca.SX) -> Matrix:
    columns = [entries(column) for column in ca.horzsplit(M)]
    return [[column[r] for column in columns] for r in range(M.shape[0])]
