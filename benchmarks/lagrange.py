"""Lagrange's equations by SymPy's own mechanics module: what closed forms cost without flexarm.

A planar arm of links in a row, each behind a revolute joint about z, with a payload at the last tip. The neutral axis
of link i is its local x: in the frame behind the joint its point at x in (0, 1) stands at `(L x, sum phi_j(x) eta_j)`,
and the next joint turns from the slope at the tip. Modal integrals are symbols, so the energy is a sum of means over
the link. Nothing here comes from the package: the equations are a second opinion as well as a measure.

Symbols of link i and its shape j, the mean being over x in (0, 1):

    m_i, L_i, EI_i          mass, length, bending stiffness
    a_i_j, b_i_j, c_i_j_j   mean of phi_j, of x phi_j, of phi_j^2; the mean of phi_j phi_k is zero
    k_i_j_j                 mean of (d^2 phi_j / dx^2)^2; that of other products is zero too
    phi_i_j, dphi_i_j       phi_j and d phi_j / dx at the tip
    s_i, I_i                of a link without modes, in place of all but m_i and L_i: distance of its centre of mass
                            from the joint, moment of inertia about that centre
    m_P, I_P, g             payload, gravity along -y
"""

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

TIME = dynamicsymbols._t  # noqa: SLF001 (its public name for the time)


@dataclass(frozen=True)
class Sums:
    """What a link's energy needs of its points (x, u), u being the deflection.

    Attributes
    ----------
    m, S, J : Expr
        Mass, mean of x, and second moment about the frame's origin, the mean of u^2 included.
    u, ud, xud, udud : Expr
        Means of u, du/dt, x du/dt and (du/dt)^2.
    strain : Expr
        Energy of bending.
    tip : tuple of Expr
        x, u and slope at the tip.
    """

    m: sp.Expr
    S: sp.Expr
    J: sp.Expr
    u: sp.Expr
    ud: sp.Expr
    xud: sp.Expr
    udud: sp.Expr
    strain: sp.Expr
    tip: tuple[sp.Expr, sp.Expr, sp.Expr]


def rigid(i: int) -> Sums:
    """Link i, which does not deform."""
    m, L, s, I = sp.symbols(f"m_{i} L_{i} s_{i} I_{i}", positive=True)
    none = sp.Integer(0)
    return Sums(m, s, I + m * s**2, none, none, none, none, none, (L, none, none))


def beam(i: int, eta: Sequence[sp.Expr]) -> Sums:
    """Link i, which bends with amplitudes eta."""
    m, L, EI = sp.symbols(f"m_{i} L_{i} EI_{i}", positive=True)

    def weighted(letter: str, values: Sequence[sp.Expr], twice: bool = False) -> sp.Expr:
        marks = [f"{letter}_{i}_{j}_{j}" if twice else f"{letter}_{i}_{j}" for j in range(1, len(values) + 1)]
        return sp.Add(*(sp.Symbol(mark, real=True) * value for mark, value in zip(marks, values, strict=True)))

    rate = [e.diff(TIME) for e in eta]
    squares, squared_rates = [e**2 for e in eta], [e**2 for e in rate]
    return Sums(
        m=m,
        S=L / 2,
        J=m * (L**2 / 3 + weighted("c", squares, twice=True)),
        u=weighted("a", eta),
        ud=weighted("a", rate),
        xud=L * weighted("b", rate),
        udud=weighted("c", squared_rates, twice=True),
        strain=EI / (2 * L**3) * weighted("k", squares, twice=True),
        tip=(L, weighted("phi", eta), weighted("dphi", eta) / L),
    )


def turned(angle: sp.Expr) -> sp.Matrix:
    """R(angle)."""
    c, s = sp.cos(angle), sp.sin(angle)
    return sp.Matrix([[c, -s], [s, c]])


def lagrangian(modes: Sequence[int], gravity: bool = False) -> tuple[sp.Expr, list[sp.Expr]]:
    """Kinetic less potential energy, and the coordinates: joint angles, then amplitudes link by link.

    `modes` has the number of shapes of each link; none is a rigid link. Velocities are kept in the axes of the frame
    they belong to: with velocities in fixed axes SymPy needs two to three times as long and its results are longer.
    """
    numbers = range(1, len(modes) + 1)
    q = [dynamicsymbols(f"q_{i}") for i in numbers]
    etas = [[dynamicsymbols(f"eta_{i}_{j}") for j in range(1, modes[i - 1] + 1)] for i in numbers]
    m_P, I_P, g = sp.symbols("m_P I_P g", positive=True)
    T, V = sp.Integer(0), sp.Integer(0)
    v, w, slope = sp.zeros(2, 1), sp.Integer(0), sp.Integer(0)  # velocity, rate and slope of the tip that comes before
    p, angle = sp.zeros(2, 1), sp.Integer(0)  # its place in fixed axes, which gravity alone asks for
    for i, eta in zip(numbers, etas, strict=True):
        link = beam(i, eta) if eta else rigid(i)
        turn = slope + q[i - 1]
        w, v = w + turn.diff(TIME), turned(-turn) * v
        T += link.m * (v.dot(v) + link.udud) / 2 + link.J * w**2 / 2
        T += link.m * (v[1] * (w * link.S + link.ud) + w * (link.xud - v[0] * link.u))
        V += link.strain
        x, u, slope = link.tip
        v += sp.Matrix([-w * u, w * x + u.diff(TIME)])
        if gravity:
            angle += turn
            R = turned(angle)
            V += link.m * g * (p + R * sp.Matrix([link.S, link.u]))[1]
            p += R * sp.Matrix([x, u])
    T += m_P * v.dot(v) / 2 + I_P * (w + slope.diff(TIME)) ** 2 / 2
    if gravity:
        V += m_P * g * p[1]
    return T - V, [*q, *(e for eta in etas for e in eta)]


def plain(modes: Sequence[int]) -> tuple[sp.Matrix, sp.Matrix]:
    """The same inertia matrix and forcing by derivatives alone, coordinates and rates being plain symbols.

    q and qd are no functions of time then, so that nothing is differentiated twice: a third of the time.
    """
    L, q = lagrangian(modes)
    rates, places = sp.symbols(f"qd:{len(q)}"), sp.symbols(f"q:{len(q)}")
    L = L.subs(dict(zip([x.diff(TIME) for x in q], rates, strict=True))).subs(dict(zip(q, places, strict=True)))
    momentum = sp.Matrix([L]).jacobian(rates)
    forcing = sp.Matrix([L]).jacobian(places).T - momentum.jacobian(places) * sp.Matrix(rates)
    return momentum.jacobian(rates), forcing


def equations(modes: Sequence[int], gravity: bool = False) -> LagrangesMethod:
    """Lagrange's equations, formed: `mass_matrix`, and `forcing`, what stands on the right of M qdd."""
    method = LagrangesMethod(*lagrangian(modes, gravity))
    method.form_lagranges_equations()
    return method
