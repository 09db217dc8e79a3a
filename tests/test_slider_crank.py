"""The flexible slider-crank of the IVP test set, with its own equations, beside an arm with a closure.

The test set (Simeon 1998; Lioen, de Swart & Hundsdorfer) has a rod with two sines across and a quadratic element along
it. Its mass matrix of the element, rho A L [[8, 1], [1, 2]], lacks the factor 1/15 of that element. The equations below
are those of the test set: with its matrix they give its published solution, and with the factor they are the arm's.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

import flexarm as fa

M1, M2, M3, L1, L2, J1, J2 = 0.36, 0.151104, 0.075552, 0.15, 0.30, 0.002727, 0.0045339259
E, B, H, RHO, OMEGA = 0.20e12, 0.0080, 0.0080, 7870.0, 150.0
START = np.array([0.0, 0.0, 0.450016933, 0.0, 0.0, 0.103339863e-4, 0.169327969e-4])
RATES = np.array(
    [0.15e3, -0.749957670e2, -0.268938672e-5, 0.444896105, 0.463434311e-2, -0.178591076e-5, -0.268938672e-5]
)
PUBLISHED = (
    1.500000000000104e1,
    -3.311734988256260e-1,
    1.697373328427860e-1,
    1.893192899613509e-4,
    2.375751249879174e-5,
    -5.323896770569702e-6,
    -8.363313279112129e-6,
)
"""Angles of crank and rod, place of the slider, amplitudes of the rod, at 0.1 s."""


def rates(pi, factor):
    """The rates of (p, v) from the equations of the test set; `factor` divides the mass matrix along the rod."""
    mass, stiffness, volume = RHO * B * H * L2, E * B * H / L2, B * H * L2
    M = np.diag([0.5, 0.5, 8.0 / factor, 2.0 / factor]) * mass
    M[2, 3] = M[3, 2] = mass / factor
    K = np.diag([pi**4 / 24 * (H / L2) ** 2, pi**4 * 2 / 3 * (H / L2) ** 2, 16 / 3, 7 / 3]) * stiffness
    K[2, 3] = K[3, 2] = -8 / 3 * stiffness
    Q = np.zeros((4, 4))
    Q[0, 2:], Q[1, 3] = (-16 / pi**3, 8 / pi**3 - 1 / pi), 0.5 / pi
    Q = ca.DM(RHO * volume * (Q - Q.T))
    c1, c2 = ca.DM([0, 0, 2 / 3, 1 / 6]) * RHO * volume, ca.DM([2 / pi, 0, 0, 0]) * RHO * volume
    c12, c21 = (ca.DM(x) * RHO * volume * L2 for x in ([0, 0, 1 / 3, 1 / 6], [1 / pi, -0.5 / pi, 0, 0]))
    M, K = ca.DM(M), ca.DM(K)

    y = ca.SX.sym("y", 14)
    p1, p2, q, v1, v2, w = y[0], y[1], y[3:7], y[7], y[8], y[10:]
    c, s, length = ca.cos(p1 - p2), ca.sin(p1 - p2), L2 + q[3]
    A, F, G = ca.SX.zeros(7, 7), ca.SX.zeros(7), ca.SX.zeros(3, 7)
    A[0, 0], A[2, 2] = J1 + M2 * L1**2, M3
    A[0, 1] = L1 * (0.5 * L2 * M2 * c + s * ca.dot(c2, q) + c * ca.dot(c1, q))
    A[1, 1] = J2 + ca.dot(q, M @ q) + 2 * ca.dot(c12, q)
    A[0, 3:], A[1, 3:], A[3:, 3:] = L1 * (c * c2 - s * c1).T, c21.T + q.T @ Q, M
    A = ca.triu2symm(ca.triu(A))
    F[0] = v2**2 * (-0.5 * L2 * M2 * s - s * ca.dot(c1, q) + c * ca.dot(c2, q))
    F[0] = L1 * (F[0] - 2 * v2 * (c * ca.dot(c1, w) + s * ca.dot(c2, w)))
    F[1] = L1 * v1**2 * (0.5 * L2 * M2 * s + s * ca.dot(c1, q) - c * ca.dot(c2, q))
    F[1] -= 2 * v2 * (ca.dot(c12, w) + ca.dot(w, M @ q)) + ca.dot(w, Q @ w)
    F[3:] = v2**2 * (M @ q + c12) + L1 * v1**2 * (c * c1 + s * c2) + 2 * v2 * Q @ w - K @ q
    G[0, [0, 1, 6]] = ca.horzcat(L1 * ca.cos(p1), length * ca.cos(p2), ca.sin(p2))
    G[1, [0, 1, 2, 6]] = ca.horzcat(L1 * ca.sin(p1), length * ca.sin(p2), 1.0, -ca.cos(p2))
    G[2, 0] = 1.0
    bending = ca.vertcat(
        -L1 * ca.sin(p1) * v1**2 - length * ca.sin(p2) * v2**2 + 2 * v2 * ca.cos(p2) * w[3],
        L1 * ca.cos(p1) * v1**2 + length * ca.cos(p2) * v2**2 + 2 * v2 * ca.sin(p2) * w[3],
        0.0,
    )
    both = ca.blockcat([[A, G.T], [G, ca.SX.zeros(3, 3)]])
    found = ca.solve(both, ca.vertcat(F, -bending))[:7]
    return {"x": y, "ode": ca.vertcat(y[7:], found)}


def solved(until, pi, factor, rtol, start=START, speeds=RATES):
    """Coordinates of the test set at a time."""
    options = {"reltol": rtol, "abstol": 1e-3 * rtol, "max_num_steps": 10**6}
    solver = ca.integrator("solver", "cvodes", rates(pi, factor), 0.0, until, options)
    return np.array(solver(x0=[*start, *speeds])["xf"]).ravel()[:7]


QUADRATIC = fa.shapes.FreeForm(
    functions=[lambda x: 4 * x * (1 - x), lambda x: x * (2 * x - 1)], pinned=True, scaled=False
)
NAMES = ("crank.joint", "chord.joint", "slider.joint", "rod.y1", "rod.y2", "rod.axial1", "rod.axial2")


@dataclass(frozen=True)
class Turning:
    """The crank at its constant rate."""

    def expression(self, t):
        return [OMEGA * t]

    def described(self):
        return "turning"


def arm():
    extra = J2 - M2 * L2**2 / 3  # rotary inertia of the sections, which turn with the chord
    crank = fa.Rigid(length=L1, mass=M1, inertia=(0.0, 0.0, J1 - M1 * L1**2 / 4))
    rod = fa.Beam(
        length=L2,
        mass=M2,
        EI=E * B * H**3 / 12,
        EA=E * B * H,
        modes={"y": 2, "axial": 2},
        shapes={"y": "pinned-pinned", "axial": QUADRATIC},
    )
    links = [
        fa.Link(name="crank", parent="base", body=crank),
        fa.Link(name="chord", joint=fa.Revolute(passive=True), body=fa.Frame(), hub_inertia=(0.0, 0.0, extra)),
        fa.Link(name="rod", joint=fa.Fixed(), body=rod),
        fa.Link(
            name="slider",
            parent="base",
            joint=fa.Prismatic(axis=(1.0, 0.0, 0.0), passive=True),
            body=fa.Rigid(length=0.0, mass=M3, inertia=0.0),
        ),
    ]
    return fa.Arm(name="slider-crank", links=links, closures=[fa.Closure(name="pin", link="rod", to="slider")])


def test_the_equations_give_the_published_solution():
    """Within what the test set's start, given with nine digits, determines."""
    assert solved(0.1, 3.1415927, 1.0, 1e-11) == pytest.approx(PUBLISHED, rel=1e-7)


def test_the_arm_moves_as_the_equations_with_the_mass_of_the_element():
    """From the same start, with the place and the rates of the slider that close the loop to rounding."""
    model, until = fa.Model(arm()), 0.004
    start, speeds = START.copy(), RATES.copy()
    start[2], speeds[1], speeds[2] = L1 + L2 + start[6], -L1 * OMEGA / (L2 + start[6]), speeds[6]
    to_chord = np.eye(7)
    to_chord[1, 0] = -1.0  # the angle of the rod is one in the frame of the crank
    order = [model.coordinates.index(name) for name in NAMES]
    q0, qd0 = np.zeros(7), np.zeros(7)
    q0[order], qd0[order] = to_chord @ start, to_chord @ speeds
    given = {"u": fa.PrescribedMotion(Turning()), "q0": q0, "qd0": qd0, "samples": 2, "progress": False}
    run = fa.simulate(model, until, solver=fa.Solver(rtol=1e-11, atol=1e-14), **given)
    found = np.linalg.solve(to_chord, run.q.values[-1][order])
    assert found == pytest.approx(solved(until, np.pi, 15.0, 1e-11, start, speeds), rel=1e-8)
