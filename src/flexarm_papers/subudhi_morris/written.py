"""Equations of Subudhi & Morris written out from their kinematics: eqs. 2 to 17, their number, and eqs. 58 to 62.

Positions follow from eqs. 1 to 5, energies from eqs. 7 to 17, and everything else from automatic derivatives. The
elastic rotation E is that of eq. 2, linear in the slope, or the exact rotation by that angle, as in flexarm.
"""

from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from flexarm.shapes import quadrature
from flexarm_papers.subudhi_morris.compute import (
    EI,
    I_P,
    KS,
    M_P,
    PULSE,
    RIGID,
    TORQUE,
    Array,
    J,
    L,
    M,
    Rotor,
    arm,
    chain_response,
    model,
    somewhere,
)
from flexarm_papers.subudhi_morris.modes import EQ_47, LOADS, shapes_of

MODES = 2
STEP = 1e-3
"""Step of Runge-Kutta [s], as in the paper."""


# -- eq. 2: the elastic rotation ---------------------------------------------------------------------------------------


@cache
def rigid_joints(rotor: Rotor, linear: bool) -> tuple[Any, Any, Any]:
    """Return CasADi functions of the arm with rigid joints: M(q), qdd(q, qd, tau), and the tip's position.

    q has both link angles, then two amplitudes of each link. `linear` selects E of eq. 2 as printed.
    """
    q, qd, tau = ca.SX.sym("q", 2 + 2 * MODES), ca.SX.sym("qd", 2 + 2 * MODES), ca.SX.sym("tau", 2)
    o, T, turned = ca.SX.zeros(2), ca.SX.eye(2), ca.SX(0)
    kinetic, strain = ca.SX(0), ca.SX(0)
    for i in range(2):
        basis = shapes_of((LOADS if rotor == "relative" else EQ_47)[i]).basis(MODES)
        own = q[2 + MODES * i : 2 + MODES * (i + 1)]
        T = T @ rotation(q[i])
        rotor_angle = q[i] if rotor == "relative" else turned + q[i]
        kinetic += J / 2 * ca.jtimes(rotor_angle, q, qd) ** 2
        turned = turned + q[i]
        x, w = quadrature(basis)
        b = np.column_stack([np.ones_like(x), L * x, basis.values(x)])  # a point of the link is C b(x)
        C = ca.horzcat(o, T[:, 0], T[:, 1] @ own.T)
        v = ca.reshape(ca.jtimes(ca.vec(C), q, qd), C.shape)
        kinetic += M / 2 * ca.dot(v @ ca.DM(b.T @ (w[:, None] * b)), v)
        curvature = basis.values(x, 2)
        strain += EI / L**3 * ca.bilin(ca.DM(curvature.T @ (w[:, None] * curvature)), own, own) / 2
        slope = ca.dot(ca.DM(basis.values(1.0, 1)[0]), own) / L
        o = o + T @ ca.vertcat(L, ca.dot(ca.DM(basis.values(1.0)[0]), own))
        T = T @ (ca.SX.eye(2) + slope * ca.DM([[0, -1], [1, 0]]) if linear else rotation(slope))
        turned = turned + slope
    v = ca.jtimes(o, q, qd)
    kinetic += M_P / 2 * ca.dot(v, v) + I_P / 2 * ca.jtimes(turned, q, qd) ** 2
    p = ca.gradient(kinetic, qd)
    inertia = ca.jacobian(p, qd)
    left = ca.jtimes(p, q, qd) - ca.gradient(kinetic, q) + ca.gradient(strain, q)
    qdd = ca.solve(inertia, ca.vertcat(tau, ca.SX.zeros(2 * MODES)) - left)
    return (
        ca.Function("M", [q], [inertia]),
        ca.Function("qdd", [q, qd, tau], [ca.cse(qdd)]),
        ca.Function("tip", [q], [o]),
    )


def rotation(angle: Any) -> Any:
    """Return A of eq. 1."""
    return ca.vertcat(ca.horzcat(ca.cos(angle), -ca.sin(angle)), ca.horzcat(ca.sin(angle), ca.cos(angle)))


def off_inertia(rotor: Rotor) -> float:
    """Return the relative error of M with the exact rotation against the model's, in a bent state."""
    q, _ = somewhere(2 + 2 * MODES)
    ours = model(arm(rotor)).mass_matrix(q)
    return float(np.abs(np.array(rigid_joints(rotor, False)[0](q)) - ours).max() / np.abs(ours).max())


def off_chain(rotor: Rotor, linear: bool) -> float:
    """Return the largest distance of the tip from that of a chain of short beams, with large angles, in 2 s [mm]."""
    return 1e3 * float(np.linalg.norm(tip_of(rotor, linear) - chain_response(rotor).tip.values[:, :2], axis=1).max())


@cache
def tip_of(rotor: Rotor, linear: bool, until: float = 2.0) -> Array:
    """Return the tip's path under the torque of Fig. 4(a), every 10 ms: (201, 2) [m]."""
    _, rate, tip = rigid_joints(rotor, linear)
    n = 2 + 2 * MODES
    x, u = ca.SX.sym("x", 2 * n), ca.SX.sym("u", 2)

    def f(z: Any) -> Any:
        return ca.vertcat(z[n:], rate(z[:n], z[n:], u))

    k1 = f(x)
    k2 = f(x + STEP / 2 * k1)
    k3 = f(x + STEP / 2 * k2)
    k4 = f(x + STEP * k3)
    step = ca.Function("step", [x, u], [x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])
    every, state, places = round(0.01 / STEP), np.zeros(2 * n), [np.array(tip(np.zeros(n))).ravel()]
    ten = step.mapaccum(every)
    for k in range(round(until / 0.01)):
        now = k * 0.01 + 1e-9
        torque = TORQUE if now < PULSE else -TORQUE if now < 2 * PULSE else 0.0
        state = np.array(ten(state, np.full((2, every), torque)))[:, -1]
        places.append(np.array(tip(state[:n])).ravel())
    return np.array(places)


# -- how many equations, and eqs. 58 to 62 -----------------------------------------------------------------------------


def equations_of(links: int, modes: int) -> int:
    """Return the number of Lagrange's equations of flexible links with elastic joints and `modes` modes each."""
    link = arm(ks=KS, modes={"y": modes}).links[0]
    return len(RIGID.replace(links=[link.replace(name=f"link{i}") for i in range(links)]).coordinates)


def eq_59() -> tuple[float, int, int]:
    """Return the relative error of eq. 62 with H_22 g_2 as in eq. 59, the columns of H_21, and the rows of g_2.

    The state is a bent, moving arm with elastic joints and damped links. f contains the velocity terms without bending,
    g the remaining ones.
    """
    one = arm(ks=KS, damping=0.01)
    found = model(one)
    n = len(one.coordinates)
    q, qd = somewhere(n)
    motors, joints, flexible = list(one.motors), list(one.joints), list(one.flexible)
    q[motors] = q[joints] + [0.003, -0.002]
    own = joints + flexible
    H = np.linalg.inv(found.mass_matrix(q)[np.ix_(own, own)])
    straight, still = q.copy(), qd.copy()
    straight[flexible], still[flexible] = 0.0, 0.0
    f = found.bias(straight, still)[own]
    g = found.bias(q, qd)[own] - f
    spring = KS * (q[motors] - q[joints])
    K_q, D_q = found.stiffness_force(q)[flexible], found.damping_force(q, qd)[flexible]
    H_21, H_22 = H[2:, :2], H[2:, 2:]
    ours = -H_21 @ (f[:2] + g[:2] - spring) - H_22 @ (f[2:] + g[2:] + K_q + D_q)
    expected = found.forward_dynamics(q, qd, np.array([TORQUE, -TORQUE]))[flexible]
    return float(np.abs(ours - expected).max() / np.abs(expected).max()), H_21.shape[1], len(g[2:])
