"""Arms of Lin & Lewis's examples, and the numbers computed for comparison with the paper's.

The paper's numbers are in inches, pounds and seconds. They are converted to SI on input and converted back for display.
Zeros of an output c q of M qdd + K q = B u are the s for which [M s^2 + K, -B; c, 0] loses rank.
"""

from dataclasses import dataclass
from functools import cache
from math import cos, sin
from typing import Any

import casadi as ca
import numpy as np
from scipy import linalg

from flexarm import Model, Payload, Rigid, load
from flexarm.arrays import Array
from flexarm.shapes import TipLoad, family, fitted, loaded_roots, quadrature

INCH = 0.0254
"""Inch [m]."""
POUND = 4.4482216152605
"""Pound of force [N]."""
AVOIRDUPOIS = 0.45359237
"""Pound of mass [kg]."""
LENGTH = 47 * INCH
EI = 4120 * POUND * INCH**2
RHO_A = 2.54e-4 * 0.14 * POUND / INCH**2
TIP_MASS = 0.1 * POUND / INCH
"""Tip mass, 0.1 lbf s^2/in [kg]. The text of the paper has lbm."""
RATE = float(np.sqrt(EI / RHO_A) / LENGTH**2)
"""sqrt(EI / (rho A L^4)) [1/s]. A mode of wave number beta has the frequency beta^2 times this."""


# -- arms --------------------------------------------------------------------------------------------------------------


@cache
def beam(shapes: Any, modes: int, tip_mass: float = TIP_MASS) -> Model:
    """Return the arm of example 4.2 with another family of shapes, number of modes and tip mass."""
    arm = load("lin-lewis-beam")
    link = arm.links[0]
    body = link.body.replace(shapes=shapes, modes={"y": modes})
    return Model(arm.replace(links=[link.replace(body=body)], payload=Payload(mass=tip_mass)))


@cache
def turret(shapes: str) -> Model:
    """Return the arm of example 4.3 with another family of shapes in both planes."""
    arm = load("lin-lewis-azimuth-elevation")
    first, last = arm.links
    return Model(arm.replace(links=[first, last.replace(body=last.body.replace(shapes=shapes))]))


@cache
def rfr(shapes: str) -> Model:
    """Return the arm of example 4.4 with one mode of another family of shapes."""
    arm = load("lin-lewis-rfr")
    first, middle, last = arm.links
    body = middle.body.replace(shapes=shapes, modes={"y": 1})
    return Model(arm.replace(links=[first, middle.replace(body=body), last]))


def value(model: Model, name: str, *arguments: Any) -> Array:
    """Return a quantity from its CasADi function, without compilation, which a few evaluations do not repay."""
    return np.array(model.function(name)(*arguments))


# -- M, K and B about a configuration, and the zeros -------------------------------------------------------------------


def linear(model: Model, q: Array | None = None) -> tuple[Array, Array, Array]:
    """Return M, K and B about a configuration at rest, without gravity. The strain energy is quadratic."""
    n = len(model.coordinates)
    q = np.zeros(n) if q is None else q
    K = value(model, "stiffness_force", np.eye(n))
    return value(model, "mass_matrix", q), K, value(model, "input_matrix", q)


def tip_row(model: Model) -> Array:
    """Return the lateral position of the tip of the arm of 4.2 per coordinate, at rest: (1, n)."""
    body: Any = model.arm.links[0].body
    tip = model.arm.payload
    shapes = fitted(body.shapes, body, "y", TipLoad(mass=tip.mass if tip else 0.0)).basis(body.counts["y"])
    return np.concatenate([[LENGTH], shapes.values(1.0)[0]])[None]


@cache
def at_rest(shapes: str, modes: int) -> tuple[Array, Array, Array, Array]:
    """Return M, K, B and the tip's row of the beam of 4.2 as read-only arrays."""
    found = (*linear(beam(shapes, modes)), tip_row(beam(shapes, modes)))
    for each in found:
        each.flags.writeable = False
    return found


def squares(M: Array, K: Array, B: Array, C: Array) -> Array:
    """Return s^2 of the zeros, from the pencil on the null space of C projected onto that of B^T."""
    N, P = linalg.null_space(C), linalg.null_space(B.T).T
    z = linalg.eigvals(P @ K @ N, -P @ M @ N)
    return z[np.argsort(np.abs(z))]


def zeros(M: Array, K: Array, B: Array, C: Array) -> Array:
    """Return the zeros s of the output C q, one of each pair +-s, by size."""
    return np.sqrt(squares(M, K, B, C).astype(complex))


def rigid_zeros(shapes: str, modes: int = 2) -> Array:
    """Return the zeros of the rigid coordinate of the beam of 4.2, the paper's output."""
    M, K, B, _ = at_rest(shapes, modes)
    return zeros(M, K, B, np.eye(1, modes + 1))


def zeros_in_pounds_of_mass() -> Array:
    """Return the zeros of two clamped-free modes with the tip mass of the text, 0.1 lbm."""
    return zeros(*linear(beam("clamped-free", 2, 0.1 * AVOIRDUPOIS)), np.eye(1, 3))


def zeros_with_rounded_roots(roots: tuple[float, float]) -> Array:
    """Return the zeros of two clamped-free modes whose stiffness is beta^4 EI int phi^2 with these roots beta L."""
    M, K, B, _ = at_rest("clamped-free", 2)
    share = np.diag([1.0, *(np.array(roots) / loaded_roots(2, 0.0)) ** 2])
    return zeros(M, share @ K @ share, B, np.eye(1, 3))


def zeros_with_M_RF_halved() -> Array:
    """Return the zeros of two pinned-pinned modes with M_RF halved.

    The rigid coordinate is held, so its column has no effect.
    """
    M, K, B, _ = at_rest("pinned-pinned", 2)
    halved = M.copy()
    halved[0, 1:] /= 2
    halved[1:, 0] /= 2
    return zeros(halved, K, B, np.eye(1, 3))


def eigenvalues() -> Array:
    """Return the eigenvalues of inv(M_FF) U_FF with 15 pinned-pinned modes, ascending [1/s^2]."""
    M, K, _, _ = at_rest("pinned-pinned", 15)
    return np.sort(linalg.eigvals(K[1:, 1:], M[1:, 1:]).real)


def shares_of_the_tip() -> Array:
    """Return the share of each mode of the arm of 4.2 in the tip's response to a step of torque. The hub is free."""
    M, K, B, C = at_rest("clamped-mass", 10)
    omega2, V = linalg.eigh(K, M)
    share = np.abs((C @ V)[0] * (V.T @ B)[:, 0])[1:] / omega2[1:]
    return share / share.sum()


def poles() -> Array:
    """Return the poles s of the vibrations of the arm of 4.2 with two modes and a free hub.

    They come from the Jacobians of its forward dynamics.
    """
    model = beam("clamped-free", 2)
    forward = model.function("forward_dynamics")
    x = forward.sx_in()
    qdd = forward(*x)
    slopes = ca.Function("slopes", x, [ca.densify(ca.jacobian(qdd, x[0])), ca.densify(ca.jacobian(qdd, x[1]))])
    to_q, to_qd = (np.array(slope) for slope in slopes(*(np.zeros(each.numel()) for each in x)))
    s = linalg.eigvals(np.block([[np.zeros((3, 3)), np.eye(3)], [to_q, to_qd]]))
    return s[np.abs(s) > 1.0]  # the hub's rotation has the double pole 0


# -- the matrices of 4.2 by the integrals of the paper -----------------------------------------------------------------


@dataclass(frozen=True)
class Blocks:
    """M of 4.2 as the paper writes it, with a bent beam: M_RR (1, 1), M_RF (1, n), M_FF (n, n)."""

    M: Array
    q: Array


def integrals(shapes: str, modes: int) -> Blocks:
    """Return M from the paper's integrals at some deflection.

    They are rho A times the integrals of y^2 + w^2, y phi and phi phi', plus the same terms of the tip mass.
    """
    basis = family(shapes).basis(modes)
    x, w = quadrature(basis)
    phi, end = basis.values(x), basis.values(1.0)[0]
    eta = 0.05 * np.cos(1.0 + np.arange(modes))
    y, deflection = LENGTH * x, phi @ eta
    M_RR = RHO_A * LENGTH * (w @ (y**2 + deflection**2)) + TIP_MASS * (LENGTH**2 + (end @ eta) ** 2)
    M_RF = RHO_A * LENGTH * ((w * y) @ phi) + TIP_MASS * LENGTH * end
    M_FF = RHO_A * LENGTH * (phi.T * w) @ phi + TIP_MASS * np.outer(end, end)
    return Blocks(np.block([[np.array([[M_RR]]), M_RF[None]], [M_RF[:, None], M_FF]]), np.array([0.7, *eta]))


def outside_the_block(shapes: str, few: int, many: int) -> float:
    """Return the difference of M_FF and U_FF of few modes from the leading blocks for many modes.

    It is relative to their largest entries.
    """
    pairs = zip(at_rest(shapes, few)[:2], at_rest(shapes, many)[:2], strict=True)
    return max(apart(b[1 : few + 1, 1 : few + 1], a[1:, 1:]) for a, b in pairs)


def apart(found: Any, wanted: Any) -> float:
    """Return the largest difference of two arrays over the largest entry of the second."""
    return float(np.abs(np.subtract(found, wanted)).max() / np.abs(wanted).max())


def textbook(x: Array, n: int, beta: float, sigma: float) -> Array:
    """Return the n-th derivative of cosh - cos - sigma (sinh - sin) at beta x.

    This is eq. 32 with the two conditions of the clamp.
    """
    y = beta * x
    hyperbolic = (np.cosh(y), np.sinh(y))
    circular = [(np.cos(y), np.sin(y)), (-np.sin(y), np.cos(y)), (-np.cos(y), -np.sin(y)), (np.sin(y), -np.cos(y))]
    even, odd = circular[n % 4]
    return beta**n * (hyperbolic[n % 2] - even - sigma * (hyperbolic[(n + 1) % 2] - odd))


# -- Theorem 1 and example 4.1 -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Structure:
    """Terms of Theorem 1 at a state: M and D of eqs. 25 and 26, D of eqs. 22 and 24, dM/dt."""

    M: Array
    D: Array
    D_22: Array
    M_rate: Array


def structure(model: Model, q: Array, qd: Array, qdd: Array) -> Structure:
    """Return the terms of Theorem 1 by exact derivatives.

    M and D of eqs. 25 and 26 come from the inverse dynamics, D of eq. 22 and dM/dt from M(q).
    """
    inverse = model.function("inverse_dynamics")
    x = inverse.sx_in()
    Q = inverse(*x)
    J = ca.jacobian(model.function("mass_matrix")(x[0]) @ x[1], x[0])  # J[a, k] = sum over g of dM[a, g]/dq_k qd_g
    M_rate = ca.jtimes(ca.vec(model.function("mass_matrix")(x[0])), x[0], x[1])
    terms = [ca.jacobian(Q, x[2]), ca.jacobian(Q, x[1]) / 2, J - J.T / 2, ca.reshape(M_rate, J.shape)]
    found = ca.Function("theorem", x, [ca.densify(term) for term in terms])(q, qd, qdd)
    return Structure(*(np.array(term) for term in found))


def asymmetry(M_rate: Array, D: Array) -> float:
    """Return the distance of dM/dt - 2 D from a skew matrix, over the largest entry of D."""
    W = M_rate - 2 * D
    return float(np.abs(W + W.T).max() / np.abs(D).max())


@dataclass(frozen=True)
class Theorem:
    """Errors of Theorem 1 on one arm at a random state, relative. Each is zero where the theorem holds."""

    off_M: float
    """Error of M by eq. 25 against M by composite bodies."""
    off_D: float
    """Error of D qd by eq. 26, from the recursion, against that by eq. 22, from M(q)."""
    skew_26: float
    skew_22: float


def theorem(name: str) -> Theorem:
    """Return the errors of Theorem 1 on an arm of the catalogue, in a bent configuration."""
    model = Model(load(name))
    joints, n = len(model.inputs), len(model.coordinates)
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-1, 1, (3, n)) * np.where(np.arange(n) < joints, 1.0, 0.1)
    s = structure(model, q, qd, qdd)
    skew = asymmetry(s.M_rate, s.D), asymmetry(s.M_rate, s.D_22)
    return Theorem(apart(s.M, value(model, "mass_matrix", q)), apart(s.D @ qd, s.D_22 @ qd), *skew)


def two_rigid_links() -> tuple[float, float, float]:
    """Return the largest relative errors of M, D and G of three random arms.

    The reference is Spong & Vidyasagar (1989), section 6.4.
    """
    rng = np.random.default_rng(41)
    arm = load("rigid-two-link")
    worst = np.zeros(3)
    for _ in range(3):
        l1, l2, a1, a2, m1, m2, I1, I2 = rng.uniform(0.3, 2.0, 8)
        bodies = [
            Rigid(length=l, mass=m, com=(a, 0, 0), inertia=I) for l, m, a, I in ((l1, m1, a1, I1), (l2, m2, a2, I2))
        ]
        links = [link.replace(body=body) for link, body in zip(arm.links, bodies, strict=True)]
        model = Model(arm.replace(links=links))
        q, qd, qdd = rng.uniform(-2, 2, (3, 2))
        c2, h, g = cos(q[1]), -m2 * l1 * a2 * sin(q[1]), 9.81
        d12 = m2 * (a2**2 + l1 * a2 * c2) + I2
        M = np.array([[m1 * a1**2 + m2 * (l1**2 + a2**2 + 2 * l1 * a2 * c2) + I1 + I2, d12], [d12, m2 * a2**2 + I2]])
        D = h * np.array([[qd[1], qd[0] + qd[1]], [-qd[0], 0.0]])
        far = m2 * a2 * g * cos(q[0] + q[1])
        G = np.array([(m1 * a1 + m2 * l1) * g * cos(q[0]) + far, far])
        s = structure(model, q, qd, qdd)
        gravity = value(model, "gravity_force", q)[:, 0]
        worst = np.maximum(worst, [apart(s.M, M), apart(s.D, D), apart(gravity, G)])
    return float(worst[0]), float(worst[1]), float(worst[2])


# -- 4.3: azimuth and elevation ----------------------------------------------------------------------------------------

LEVEL, RAISED = np.zeros(6), np.array([0.0, 0.6, 0.0, 0.0, 0.0, 0.0])


def turret_zeros(shapes: str, q: Array, slope_driven: bool = False) -> Array:
    """Return the zeros of both angles.

    With `slope_driven`, B is the paper's, where the azimuth torque also acts on the slope at the hub.
    """
    M, K, B = linear(turret(shapes), q)
    if slope_driven:
        B = B.copy()
        B[2:4, 0] = family(shapes).basis(2).values(0.0, 1)[0] / LENGTH * cos(q[1])
    return zeros(M, K, B, np.eye(2, 6))


AMPLITUDES = np.logspace(-4, -1, 7)
RATES = (1.0, 0.1)
"""Rates of the joints [rad/s]."""


@cache
def influence(rate: float) -> Array:
    """Return the median relative changes of the joints' M and velocity terms by vibrations: (amplitudes, 2).

    The barrel vibrates in the two lowest modes of each plane, of the arm with locked joints, at random phases and in
    random shares of an amplitude per length. The joints turn at the rate in either direction.
    """
    model = turret("clamped-free")
    M, K, _ = linear(model)
    omega2, V4 = linalg.eigh(K[2:, 2:], M[2:, 2:])
    V = np.vstack([np.zeros((2, 4)), V4 / np.abs(V4).max(axis=0)])
    changes = []
    for a in AMPLITUDES:
        rng = np.random.default_rng(43)
        phase, size = rng.uniform(0, 2 * np.pi, (200, 4)), rng.standard_normal((200, 4))
        size *= a * LENGTH / np.linalg.norm(size, axis=1)[:, None]
        q0, qd0 = np.zeros((200, 6)), np.zeros((200, 6))
        q0[:, :2], qd0[:, :2] = rng.uniform(-1, 1, (200, 2)), rng.choice([-rate, rate], (200, 2))
        q, qd = q0 + (size * np.cos(phase)) @ V.T, qd0 - (size * np.sqrt(omega2) * np.sin(phase)) @ V.T
        M0, M1 = (value(model, "mass_matrix", x.T).reshape(6, 200, 6)[:2, :, :2] for x in (q0, q))
        h0, h1 = (value(model, "bias", x.T, xd.T)[:2] for x, xd in ((q0, qd0), (q, qd)))
        in_M = linalg.norm(M1 - M0, axis=(0, 2)) / linalg.norm(M0, axis=(0, 2))
        in_h = linalg.norm(h1 - h0, axis=0) / linalg.norm(h0, axis=0)
        changes.append([np.median(in_M), np.median(in_h)])
    return np.array(changes)
