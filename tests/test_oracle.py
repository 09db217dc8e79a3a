"""The oracle itself, against closed forms, identities and Pinocchio: no mechanics of the package takes part."""

from functools import lru_cache

import numpy as np
import pytest
from oracle import Lagrangian, load_beyond, weight
from pinocchio_arms import pinocchio_arm, symmetric
from random_arms import PLAIN, random_arm, random_state
from random_trees import random_tree
from scipy.spatial.transform import Rotation

from flexarm.description import arm as fa
from flexarm.shapes import Basis

ROUNDING = 1e-12  # relative: some thousand operations in double precision
DIFFERENCES = 1e-8  # relative: sixth-order central differences with a step of 2e-3
BETA = np.array([1.8751040687119611, 4.694091132974175, 7.854757438237613])  # cos b cosh b = -1
SEEDS = range(12)


class Sines:
    """Pinned at both ends: sin(k pi x), a slope of k pi at the hub."""

    def basis(self, count):
        k = np.pi * np.arange(1, count + 1)
        return Basis(count, lambda x, n: k**n * np.sin(k * x[:, None] + n * np.pi / 2))


class Powers:
    """Clamped: x^2, x^3 and so on, orthogonal to nothing."""

    def basis(self, count):
        def values(x, n):
            columns = [np.polynomial.Polynomial.basis(k).deriv(n)(x) for k in range(2, count + 2)]
            return np.reshape(columns, (count, len(x))).T

        return Basis(count, values)


OPTIONS = (
    {"rotor": "absolute"},
    {"rotor": "absolute", "elastic": True},
    {"telescope": True},
    {"telescope": True, "convection": "paper", "rotor": "absolute"},
    {"telescope": True, "elastic": True, "families": [Powers()]},
    {"telescope": True, "rigid": True},
    {"families": [Sines()], "elastic": False},
    {"families": [Sines(), Powers()], "elastic": True, "chord": True},
    {"foreshortening": True},
    {"foreshortening": True, "families": [Sines()], "tapered": True},
    {"tapered": True, "chord": True},
    {"families": ["pinned-free", "hermite", {"family": "clamped-mass", "mass": 0.4, "inertia": 0.01}]},
    {"telescope": True, "twisting": True},
    {"telescope": True, "twisting": True, "convection": "paper"},
)
CASES = [(seed, {}) for seed in SEEDS[:6]] + [(20 + 2 * i, more) for i, more in enumerate(OPTIONS)]
general = pytest.mark.parametrize(("seed", "options"), CASES, scope="module")  # all tests of a case in a row


@lru_cache(maxsize=1)
def _general(seed):
    arm = random_arm(seed, **dict(CASES)[seed])
    return arm, Lagrangian(arm)


@pytest.fixture
def arm(seed):
    return _general(seed)[0]


@pytest.fixture
def oracle(seed):
    """What is derived for one test serves the next."""
    return _general(seed)[1]


def assert_close(actual, expected, tolerance=ROUNDING):
    """Equal to `tolerance` of the largest entry: small entries of a large matrix carry its rounding."""
    scale = max(1.0, np.max(np.abs(expected)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def slope(f, h=2e-3):
    """df/ds at s = 0 by sixth-order central differences."""
    return sum(c * (f(i * h) - f(-i * h)) for i, c in [(1, 3 / 4), (2, -3 / 20), (3, 1 / 60)]) / h


def tip_slope(beta):
    """Of a clamped-free mode on the unit interval, 1 at the tip."""
    return beta * (np.cosh(beta) + np.cos(beta)) / (np.sinh(beta) + np.sin(beta))


def single(joint, body, **more):
    arm_fields = {name: more.pop(name) for name in ("gravity", "payload") if name in more}
    return fa.Arm(name="one link", links=(fa.Link(name="link", joint=joint, body=body, **more),), **arm_fields)


# Closed forms


def test_two_link_textbook_arm():
    l1, m1, c1, I1, m2, c2, I2, g = 0.7, 2.0, 0.3, 0.11, 1.3, 0.25, 0.07, 9.81
    z = fa.Revolute(axis=(0, 0, 1))
    arm = fa.Arm(
        name="2R",
        links=(
            fa.Link(name="a", joint=z, body=fa.Rigid(length=l1, mass=m1, com=(c1, 0, 0), inertia=I1)),
            fa.Link(name="b", joint=z, body=fa.Rigid(length=0.5, mass=m2, com=(c2, 0, 0), inertia=I2)),
        ),
        gravity=(0, -g, 0),
    )
    q, qd = np.array([0.4, -1.1]), np.array([0.9, -1.7])
    a, b, d = I1 + I2 + m1 * c1**2 + m2 * (l1**2 + c2**2), m2 * l1 * c2, I2 + m2 * c2**2
    cos, sin = np.cos(q[1]), np.sin(q[1])
    oracle = Lagrangian(arm)
    assert oracle.coordinates == ("a.joint", "b.joint")
    assert_close(oracle.mass_matrix(q), [[a + 2 * b * cos, d + b * cos], [d + b * cos, d]])
    assert_close(oracle.bias(q, qd), [-b * sin * (2 * qd[0] * qd[1] + qd[1] ** 2), b * sin * qd[0] ** 2])
    far = m2 * c2 * g * np.cos(q.sum())
    assert_close(oracle.gravity_force(q), [(m1 * c1 + m2 * l1) * g * np.cos(q[0]) + far, far])


def test_rotating_rod_with_rotor_and_payload():
    m, L, g, mp, Ip, G, Ir = 1.7, 0.8, 9.81, 0.4, 0.03, 3.0, 0.02
    joint = fa.Revolute(axis=(0, 0, 1), rotor_inertia=Ir, gear_ratio=G, damping=0.3)
    arm = single(joint, fa.Rigid(length=L, mass=m), gravity=(0, -g, 0), payload=fa.Payload(mass=mp, inertia=Ip))
    oracle = Lagrangian(arm)
    q, qd, u = np.array([0.6]), np.array([1.3]), np.array([0.9])
    M = m * L**2 / 3 + mp * L**2 + Ip + G**2 * Ir
    weight = (m / 2 + mp) * g * L
    assert_close(oracle.mass_matrix(q), [[M]])
    assert_close(oracle.bias(q, qd), [0])
    assert_close(oracle.forward_dynamics(q, qd, u), (u - 0.3 * qd - weight * np.cos(q)) / M)
    assert_close(oracle.energy(q, qd), [M * qd[0] ** 2 / 2, weight * np.sin(q[0])])


def test_inertia_about_a_general_axis():
    """A body with a full tensor, a hub and an axis in general position: M = axis . I axis about the joint."""
    axis = np.array([1.0, -2.0, 3.0]) / np.sqrt(14)
    com = np.array([0.3, -0.2, 0.1])
    I = np.array([[0.5, 0.05, -0.02], [0.05, 0.6, 0.04], [-0.02, 0.04, 0.7]])
    hub = np.diag([0.2, 0.25, 0.3])
    body = fa.Rigid(length=0.5, mass=2.0, com=com, inertia=I)
    arm = single(fa.Revolute(axis=axis), body, hub_mass=5.0, hub_inertia=(0.2, 0.25, 0.3))
    oracle = Lagrangian(arm)
    about_joint = I + 2.0 * (com @ com * np.eye(3) - np.outer(com, com)) + hub
    assert_close(oracle.mass_matrix([0.9]), [[axis @ about_joint @ axis]])
    turned = np.eye(4)
    turned[:3, :3] = Rotation.from_rotvec(0.9 * axis).as_matrix()
    turned[:3, 3] = turned[:3, 0] * 0.5
    assert_close(oracle.tip([0.9]), turned)


def test_pendulum_on_a_cart():
    m1, m2, L, g = 1.2, 0.7, 0.9, 9.81
    arm = fa.Arm(
        name="cart",
        links=(
            fa.Link(name="cart", joint=fa.Prismatic(axis=(1, 0, 0)), body=fa.Rigid(length=0.1, mass=m1)),
            fa.Link(name="rod", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=L, mass=m2)),
        ),
        gravity=(0, -g, 0),
    )
    q, qd, s, c = np.array([0.3, 0.8]), np.array([0.5, -1.4]), np.sin(0.8), np.cos(0.8)
    oracle = Lagrangian(arm)
    assert_close(oracle.mass_matrix(q), [[m1 + m2, -m2 * L / 2 * s], [-m2 * L / 2 * s, m2 * L**2 / 3]])
    assert_close(oracle.bias(q, qd), [-m2 * L / 2 * c * qd[1] ** 2, 0])
    assert_close(oracle.gravity_force(q), [0, m2 * g * L / 2 * c])


def test_elastic_joint():
    joint = fa.Revolute(
        axis=(0, 0, 1), rotor_inertia=0.02, gear_ratio=2.0, damping=0.3, stiffness=90.0, spring_damping=0.7
    )
    oracle = Lagrangian(single(joint, fa.Rigid(length=1.0, mass=3.0)))
    assert oracle.coordinates == ("link.joint", "link.motor")
    q, qd = np.array([0.4, 0.6]), np.array([1.0, -0.5])
    assert_close(oracle.mass_matrix(q), np.diag([1.0, 0.08]))
    assert_close(oracle.stiffness_force(q), [-90 * 0.2, 90 * 0.2])
    assert_close(oracle.damping_force(q, qd), [0.3 + 0.7 * 1.5, -0.7 * 1.5])
    assert_close(oracle.input_matrix(q), [[0], [1]])
    assert_close(oracle.energy(q, qd)[1], 90 * 0.2**2 / 2)


def test_frequencies_of_a_clamped_beam():
    m, L, EI_y, EI_z, GJ, EA, rho_Ip, zeta = 0.6, 1.3, 4.0, 7.0, 3.0, 900.0, 0.004, 0.03
    body = fa.Beam(
        length=L,
        mass_per_length=m,
        EI={"y": EI_y, "z": EI_z},
        GJ=GJ,
        EA=EA,
        polar_inertia=rho_Ip,
        modes={"y": 3, "z": 2, "torsion": 2, "axial": 1},
        shapes=PLAIN,
        damping=zeta,
    )
    oracle = Lagrangian(single(fa.Fixed(), body))
    names = ("y1", "y2", "y3", "z1", "z2", "torsion1", "torsion2", "axial1")
    assert oracle.coordinates == tuple(f"link.{name}" for name in names)
    zero, quarter = np.zeros(8), np.pi / 2
    M = oracle.mass_matrix(zero)
    K = np.column_stack([oracle.stiffness_force(e) for e in np.eye(8)])
    omega = np.array([
        *(BETA**2 * np.sqrt(EI_y / m) / L**2),
        *(BETA[:2] ** 2 * np.sqrt(EI_z / m) / L**2),
        *(quarter * np.array([1, 3]) * np.sqrt(GJ / rho_Ip) / L),
        quarter * np.sqrt(EA / m) / L,
    ])  # fmt: skip
    masses = np.array([m * L / 4] * 5 + [rho_Ip * L / 2] * 2 + [m * L / 2])
    assert_close(M, np.diag(masses))
    assert_close(K, np.diag(masses * omega**2))
    assert_close(oracle.damping_force(zero, np.ones(8)), 2 * zeta * omega * masses)


def test_beam_on_a_turning_hub():
    """One mode in the plane: integrals of phi^2 and x phi are 1/4 and (+-)1/beta^2 for clamped-free modes."""
    m, L, mp, Ip, hub = 0.5, 1.4, 0.3, 0.02, 0.05
    body = fa.Beam(length=L, mass_per_length=m, EI=5.0, modes={"y": 2}, shapes="clamped-free")
    more = {"hub_mass": 1.0, "hub_inertia": hub, "payload": fa.Payload(mass=mp, inertia=Ip)}
    oracle = Lagrangian(single(fa.Revolute(axis=(0, 0, 1)), body, **more))
    eta, rates = np.array([0.06, -0.02]), np.array([0.7, -0.4])
    q, qd = np.array([0.8, *eta]), np.array([1.6, *rates])
    s = tip_slope(BETA[:2]) / L
    coupling = m * L**2 * np.array([1, -1]) / BETA[:2] ** 2 + mp * L + Ip * s
    flexible = m * L / 4 * np.eye(2) + mp * np.ones((2, 2)) + Ip * np.outer(s, s)
    still = m * L / 4 * np.eye(2) + mp * np.ones((2, 2))  # part that moves with the deflection
    M = np.zeros((3, 3))
    M[0, 0] = m * L**3 / 3 + hub + mp * L**2 + Ip + eta @ still @ eta
    M[0, 1:] = M[1:, 0] = coupling
    M[1:, 1:] = flexible
    assert_close(oracle.mass_matrix(q), M)
    assert_close(oracle.bias(q, qd), [2 * qd[0] * (eta @ still @ rates), *(-(qd[0] ** 2) * (still @ eta))])


def test_section_spin_of_a_twisting_beam():
    L, rho_Ip = 0.9, 0.006
    body = fa.Beam(length=L, mass=0.4, EI=5.0, GJ=3.0, polar_inertia=rho_Ip, modes={"torsion": 1}, shapes=PLAIN)
    oracle = Lagrangian(single(fa.Revolute(axis=(1, 0, 0)), body))
    M = rho_Ip * L * np.array([[1, 2 / np.pi], [2 / np.pi, 1 / 2]])
    assert_close(oracle.mass_matrix([0.7, 0.3]), M)
    assert_close(oracle.bias([0.7, 0.3], [1.2, -0.8]), [0, 0])


def test_tip_of_a_bent_beam():
    L, xyz, angles = 1.1, (0.2, -0.1, 0.3), (0.4, -0.7, 1.1)
    body = fa.Beam(
        length=L,
        mass=1.0,
        EI={"y": 1.0, "z": 2.0},
        GJ=1.0,
        EA=10.0,
        polar_inertia=0.01,
        modes={"y": 1, "z": 1, "torsion": 1, "axial": 1},
        shapes=PLAIN,
    )
    placement = fa.Pose(xyz=xyz, rpy=angles)
    oracle = Lagrangian(single(fa.Prismatic(axis=(0, 0.6, 0.8)), body, placement=placement))
    q = np.array([0.5, 0.05, -0.08, 0.3, 0.02])
    placed = Rotation.from_euler("ZYX", angles[::-1])
    at_tip = tip_slope(BETA[0])
    bent = Rotation.from_euler("ZYX", [at_tip * 0.05 / L, at_tip * 0.08 / L, 0.3])
    p = np.array(xyz) + placed.apply(0.5 * np.array([0, 0.6, 0.8]) + [L + 0.02, 0.05, -0.08])
    expected = np.block([[(placed * bent).as_matrix(), p[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
    assert_close(oracle.tip(q), expected)


# Closed forms: rotors, families bent at the hub, chord, foreshortening, tapered beams


@pytest.mark.parametrize("stiffness", [None, 80.0])
def test_absolute_rotor_of_a_two_link_arm(stiffness):
    """T grows by 1/2 I_r ((q1' + G rate)^2 - G^2 rate^2): the first motor stands on the ground, the second turns."""
    Ir, G = 0.03, 4.0
    rod = fa.Rigid(length=0.7, mass=2.0)

    def arm(rotor):
        motor = {"rotor_inertia": Ir, "gear_ratio": G, "rotor": rotor}
        joints = fa.Revolute(axis=(0, 0, 1), **motor), fa.Revolute(axis=(0, 0, 1), stiffness=stiffness, **motor)
        return fa.Arm(name="2R", links=[fa.Link(name=n, joint=j, body=rod) for n, j in zip("ab", joints, strict=True)])

    relative, absolute = Lagrangian(arm("relative")), Lagrangian(arm("absolute"))
    n = len(relative.coordinates)
    more = np.zeros((n, n))
    more[0, 0], more[0, -1], more[-1, 0] = Ir, Ir * G, Ir * G
    q, qd = np.array([0.4, -1.1, 0.3])[:n], np.array([0.9, -1.7, 0.6])[:n]
    assert_close(absolute.mass_matrix(q), relative.mass_matrix(q) + more)
    assert_close(absolute.bias(q, qd), relative.bias(q, qd))
    assert_close(absolute.stiffness_force(q), relative.stiffness_force(q))


def test_absolute_rotor_feels_the_turning_about_its_axis_only():
    """The second axis is placed 60 degrees away from the first; the sliding motor of the third link turns with both."""
    Ir, G = 0.03, 4.0
    motor = {"rotor_inertia": Ir, "gear_ratio": G}
    axis = np.array([0.0, np.sin(np.pi / 3), np.cos(np.pi / 3)])
    joints = fa.Revolute(axis=(0, 0, 1)), fa.Revolute(axis=axis, **motor), fa.Prismatic(axis=axis, **motor)

    def oracle(rotor):
        moving = (joints[0], *(joint.replace(rotor=rotor) for joint in joints[1:]))
        body = fa.Rigid(length=0.5, mass=1.0)
        links = [fa.Link(name=name, joint=joint, body=body) for name, joint in zip("abc", moving, strict=True)]
        return Lagrangian(fa.Arm(name="RRP", links=links))

    q = np.array([0.4, -1.1, 0.3])
    rows = np.array([[0.5, G, 0], [0.5, 1, G]])  # w . z + G rate of both rotors
    more = Ir * (rows.T @ rows - np.diag([0, G**2, G**2]))
    assert_close(oracle("absolute").mass_matrix(q), oracle("relative").mass_matrix(q) + more)


@pytest.mark.parametrize("plane", ["y", "z"])
@pytest.mark.parametrize("elastic", [False, True])
def test_pinned_base(plane, elastic):
    """sin(pi x / L) on a turning frame; the axle turns by q + (pi / L) eta, and all that sits on it does."""
    m, L, hub, G, Ir, c, k, d = 0.5, 1.4, 0.05, 3.0, 0.02, 0.3, 80.0, 0.7
    sign, axis = (1, (0, 0, 1)) if plane == "y" else (-1, (0, 1, 0))  # a turn about y takes x to -z
    body = fa.Beam(length=L, mass_per_length=m, EI=5.0, modes={plane: 1}, shapes=Sines())
    spring = {"stiffness": k, "spring_damping": d} if elastic else {}
    joint = fa.Revolute(axis=axis, rotor_inertia=Ir, gear_ratio=G, damping=c, **spring)
    oracle = Lagrangian(single(joint, body, hub_mass=1.0, hub_inertia=hub))
    n = 3 if elastic else 2
    angle, motor = np.array([1, sign * np.pi / L, 0])[:n], np.eye(n)[-1]
    twist = motor - angle
    M = np.zeros((n, n))
    M[:2, :2] = m * np.array([[L**3 / 3, sign * L**2 / np.pi], [sign * L**2 / np.pi, L / 2]])
    M += hub * np.outer(angle, angle)
    K = np.zeros((n, n))
    K[1, 1] = 5.0 * (np.pi / L) ** 4 * L / 2
    damping = c * np.outer(angle, angle)
    if elastic:
        M, K = M + G**2 * Ir * np.outer(motor, motor), K + k * np.outer(twist, twist)
        damping += d * np.outer(twist, twist)
    else:
        M += G**2 * Ir * np.outer(angle, angle)
    q, qd = np.array([0.8, 0.06, 1.0])[:n], np.array([1.3, -0.4, 0.7])[:n]
    M[0, 0] += m * L / 2 * 0.06**2  # int m u^2: bending adds to the inertia of the frame
    assert_close(oracle.mass_matrix(q), M)
    assert_close(oracle.stiffness_force(q), K @ q)
    assert_close(oracle.damping_force(q, qd), damping @ qd)
    assert_close(oracle.input_matrix(q), (motor if elastic else angle)[:, None])


def test_bending_across_the_axis_moves_no_actuator():
    body = fa.Beam(length=1.0, mass=1.0, EI=5.0, modes={"y": 1, "z": 1}, shapes=Sines())
    for joint in (fa.Revolute(axis=(1, 0, 0)), fa.Prismatic(axis=(0, 0, 1))):
        assert_close(Lagrangian(single(joint, body)).input_matrix(np.zeros(3)), [[1], [0], [0]])


def test_chord_of_a_bent_beam():
    L, eta = 1.1, np.array([0.05, -0.08])
    body = fa.Beam(length=L, mass=1.0, EI=1.0, modes={"y": 1, "z": 1}, shapes=Powers(), next_joint="chord")
    turn = Rotation.from_euler("ZY", [eta[0] / L, -eta[1] / L]).as_matrix()
    oracle = Lagrangian(single(fa.Fixed(), body))
    assert_close(oracle.tip(eta)[:3], np.column_stack([turn, [L, *eta]]))


def test_foreshortening_stiffens_a_rotating_beam():
    """K grows by w^2 int m x (int_0^x phi' phi') dx = w^2 / 2 int m (L^2 - x^2) phi' phi' dx, and by a payload's."""
    m, L, mp, w = 0.5, 1.4, 0.3, 2.2
    more = {"payload": fa.Payload(mass=mp)}
    body = fa.Beam(length=L, mass_per_length=m, EI=5.0, modes={"y": 2}, shapes=Powers())
    straight = Lagrangian(single(fa.Revolute(axis=(0, 0, 1)), body, **more))
    short = Lagrangian(single(fa.Revolute(axis=(0, 0, 1)), body.replace(foreshortening=True), **more))

    def tension(oracle):
        """d(bias)/d(eta) at eta = 0; the bias is cubic in eta at most."""
        rate = np.array([w, 0, 0])
        return np.column_stack([slope(lambda s, e=e: oracle.bias(s * e, rate)) for e in np.eye(3)[1:]])[1:]

    powers = np.array([[4 / 3, 6 / 4], [6 / 4, 9 / 5]])  # int_0^1 phi' phi' of x^2, x^3
    weighted = np.array([[4 / 5, 6 / 6], [6 / 6, 9 / 7]])  # int x^2 phi' phi'
    stiffening = w**2 * (m * L / 2 * (powers - weighted) * L / L + mp * powers)
    assert_close(tension(short) - tension(straight), stiffening, DIFFERENCES)
    eta = np.array([0.3, 0.05, -0.08])
    assert_close(short.tip(eta)[0, 3], np.cos(0.3) * (L - eta[1:] @ powers @ eta[1:] / 2 / L) + 0.03 * np.sin(0.3))


def test_tapered_beam():
    """A box whose height falls linearly, bent along z by x^2 and x^3; damping ratios of modes that are neither."""
    E, rho, width, high, low, L, zeta = 2e8, 1500.0, 0.03, 0.04, 0.02, 0.9, np.array([0.02, 0.05])
    body = fa.Beam(
        length=L,
        material=fa.Material(E=E, density=rho),
        section=fa.Box(width=width, height=high),
        section_tip=fa.Box(width=width, height=low),
        modes={"z": 2},
        shapes=Powers(),
        damping=tuple(zeta.tolist()),
    )
    oracle = Lagrangian(single(fa.Fixed(), body))
    height = np.polynomial.Polynomial([high, low - high])
    phi = [np.polynomial.Polynomial.basis(k) for k in (2, 3)]

    def integral(f):
        return f.integ()(1.0) - f.integ()(0.0)

    M = rho * width * L * np.array([[integral(height * f * g) for f in phi] for g in phi])
    K = E * width / 12 / L**3 * np.array([[integral(height**3 * f.deriv(2) * g.deriv(2)) for f in phi] for g in phi])
    assert_close(oracle.mass_matrix(np.zeros(2)), M)
    assert_close(np.column_stack([oracle.stiffness_force(e) for e in np.eye(2)]), K)
    omega = np.sort(np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K))))
    D = np.column_stack([oracle.damping_force(np.zeros(2), e) for e in np.eye(2)])
    companion = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    expected = omega * (-zeta + 1j * np.sqrt(1 - zeta**2))
    poles = np.linalg.eigvals(companion)
    np.testing.assert_allclose(
        sorted(poles, key=np.imag), sorted([*expected, *expected.conj()], key=np.imag), rtol=1e-9
    )


# Closed forms: telescopes


def turning_telescope(body, payload=None, gravity=(0.0, 0.0, 0.0), hub=0.0, **joint):
    """A telescope on a hub that turns about z."""
    turntable = fa.Link(name="hub", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=0.0, mass=1.0, inertia=hub))
    slide = fa.Link(name="link", joint=fa.Telescope(**joint), body=body)
    return fa.Arm(name="turning telescope", links=(turntable, slide), payload=payload, gravity=gravity)


def test_telescoping_rod():
    """A rod that slides through a turning hub: J = m (l^2 - l l0 + l0^2 / 3) + m_p l^2, Coriolis and centrifugal."""
    m, l0, mp, Ip, hub, g, G, Ir = 1.7, 1.6, 0.4, 0.03, 0.2, 9.81, 3.0, 0.02
    body, load = fa.Beam(length=l0, mass=m, modes={}), fa.Payload(mass=mp, inertia=Ip)
    oracle = Lagrangian(turning_telescope(body, load, (0, -g, 0), hub, rotor_inertia=Ir, gear_ratio=G, damping=0.4))
    assert oracle.coordinates == ("hub.joint", "link.joint")
    q, l, w, v = np.array([0.6, 0.9]), 0.9, 1.3, -0.7
    J, slope_of_J = m * (l**2 - l * l0 + l0**2 / 3) + mp * l**2, m * (2 * l - l0) + 2 * mp * l
    first = m * (l - l0 / 2) + mp * l
    assert_close(oracle.mass_matrix(q), np.diag([J + Ip + hub, m + mp + G**2 * Ir]))
    assert_close(oracle.bias(q, [w, v]), [slope_of_J * w * v, -slope_of_J / 2 * w**2])
    assert_close(oracle.gravity_force(q), [g * np.cos(0.6) * first, g * np.sin(0.6) * (m + mp)])
    assert_close(oracle.damping_force(q, [w, v]), [0, 0.4 * v])
    assert_close(oracle.input_matrix(q), np.eye(2))
    assert_close(oracle.tip(q)[:3, 3], [l * np.cos(0.6), l * np.sin(0.6), 0])


def test_elastic_telescope_with_an_absolute_rotor():
    m, G, Ir, k = 1.7, 3.0, 0.02, 90.0
    body = fa.Beam(length=1.6, mass=m, polar_inertia=0.01, modes={})
    motor = {"rotor_inertia": Ir, "gear_ratio": G, "stiffness": k, "spring_damping": 0.7, "rotor": "absolute"}
    spin = fa.Link(name="hub", joint=fa.Revolute(axis=(1, 0, 0)), body=fa.Rigid(length=0.0, mass=1.0))
    slide = fa.Link(name="link", joint=fa.Telescope(**motor), body=body, hub_mass=2.0, hub_inertia=(0.4, 0.5, 0.6))
    oracle = Lagrangian(fa.Arm(name="drill", links=(spin, slide)))
    q = np.array([0.3, 0.9, 1.1])
    assert_close(oracle.mass_matrix(q), [[0.016 + 0.4 + Ir, 0, Ir * G], [0, m, 0], [Ir * G, 0, Ir * G**2]])
    assert_close(oracle.stiffness_force(q), [0, -k * 0.2, k * 0.2])
    assert_close(oracle.damping_force(q, [1.0, 0.5, 0.2]), [0, 0.21, -0.21])
    assert_close(oracle.input_matrix(q), [[1, 0], [0, 0], [0, 1]])


@pytest.mark.parametrize(("convection", "coupling"), [("material", 1 / 8), ("paper", -3 / 8)])
def test_telescoping_beam_with_one_mode(convection, coupling):
    """int psi^2 = 1/4 gives the coupling: int psi psi' (1 - x) = 1/8, and -int psi psi' x = -3/8 (eq. 24)."""
    m, l0, mp, EI, zeta = 0.8, 1.6, 0.3, 5.0, 0.03
    body = fa.Beam(length=l0, mass=m, EI=EI, modes={"y": 1}, damping=zeta, shapes="clamped-free")
    oracle = Lagrangian(turning_telescope(body, fa.Payload(mass=mp), convection=convection, free_length=0.7))
    assert oracle.coordinates == ("hub.joint", "link.joint", "link.y1")
    l, xi = 0.9, 0.06
    q, density = np.array([0.4, l, xi]), m / l0
    M = oracle.mass_matrix(q)
    assert_close(M[1, 2], density * coupling * xi)
    assert_close(M[2, 2], density * l / 4 + mp)
    x, w = np.polynomial.legendre.leggauss(30)
    x, w = (1 + x) / 2, w / 2
    sigma = (np.sinh(BETA[0]) - np.sin(BETA[0])) / (np.cosh(BETA[0]) + np.cos(BETA[0]))

    def psi(x, n=0):
        hyperbolic = [np.cosh, np.sinh][n](BETA[0] * x) - sigma * [np.sinh, np.cosh][n](BETA[0] * x)
        circular = [np.cos, lambda a: -np.sin(a)][n](BETA[0] * x) - sigma * [np.sin, np.cos][n](BETA[0] * x)
        return BETA[0] ** n * (hyperbolic - circular) / 2

    drift = (1 - x if convection == "material" else -x) * psi(x, 1) / l * xi
    assert_close(M[1, 1], m + mp + density * l * (w @ drift**2))
    assert_close(M[0, 2], density * l**2 * (w @ (x * psi(x))) + mp * l)
    assert_close(M[0, 1], density * l * (w @ (l * x * drift - psi(x) * xi)) - mp * xi)
    K = EI * BETA[0] ** 4 / 4
    assert_close(oracle.stiffness_force(q), [0, -1.5 * K * xi**2 / l**4, K * xi / l**3])
    D = 2 * zeta * BETA[0] ** 2 * np.sqrt(EI / density) / 0.7**2 * density * 0.7 / 4
    assert_close(oracle.damping_force(q, [1.3, -0.7, 1.0]), [0, 0, D])
    turned = 0.4 + tip_slope(BETA[0]) * xi / l
    assert_close(oracle.tip(q)[:2, 1], [-np.sin(turned), np.cos(turned)])


def test_particles_of_a_telescope():
    """Kinetic energy from particles alone: each keeps its distance from the tip, in the hub and out of it."""
    m, l0, powers = 0.8, 1.6, Powers().basis(2)
    body = fa.Beam(length=l0, mass=m, EI=5.0, modes={"y": 2, "z": 2}, shapes=Powers())
    oracle = Lagrangian(turning_telescope(body, hub=0.2))
    q, qd = np.array([0.4, 0.9, 0.06, -0.03, 0.02, 0.05]), np.array([1.3, -0.7, 0.5, 0.8, -0.6, 0.9])
    t, weights = np.polynomial.legendre.leggauss(30)
    t, weights = (1 + t) / 2, weights / 2
    sigma = np.concatenate([q[1] * t, q[1] + (l0 - q[1]) * t])
    masses = m / l0 * np.concatenate([q[1] * weights, (l0 - q[1]) * weights])

    def places(time):
        angle, l, *xi = q + time * qd
        out = powers.values(np.maximum(1 - sigma / l, 0))  # x^2 and x^3: at rest at the mouth of the hub
        x, y, z = l - sigma, out @ xi[:2], out @ xi[2:]
        return np.array([np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y, z])

    T = masses @ np.sum(slope(places) ** 2, axis=0) / 2 + 0.2 * qd[0] ** 2 / 2
    assert_close(oracle.energy(q, qd)[0], T, DIFFERENCES)


@pytest.mark.parametrize("telescope", [False, True])
def test_the_weight_of_an_arm_is_what_a_free_base_feels_where_no_joint_moves(telescope):
    """The kinetic energy then is 1/2 y' I y over the base's (v, w); absolute rotors have 1/2 I_r (axis . w)^2 in it."""
    arm = random_arm(4 + telescope, rotor="absolute", telescope=telescope, gravity=False, payload=False)
    free = Lagrangian(arm.replace(base=fa.FreeBase(mass=1.0, inertia=1.0)))
    M = free.mass_matrix(np.array([0, 0, 0, 1, 0, 0, 0, *arm.rest], dtype=float))[:6, :6] - np.eye(6)
    mass, first, inertia = weight(arm, 0)
    assert_close(M[:3, :3], mass * np.eye(3))
    assert_close([M[1, 5], M[2, 3], M[0, 4]], first)
    assert_close(M[3:, 3:], inertia)
    relative = random_arm(4 + telescope, telescope=telescope, gravity=False, payload=False)
    assert np.abs(weight(relative, 0)[2] - inertia).max() > 1e-3


def test_load_beyond_a_link():
    """An arm turned 90 degrees at the elbow: what the first link carries, seen in its tip."""
    m1, m2, l1, l2, mp, hub = 1.2, 0.8, 0.7, 0.5, 0.3, 0.05
    links = (
        fa.Link(name="a", joint=fa.Revolute(), body=fa.Rigid(length=1.0, mass=3.0)),
        fa.Link(name="b", joint=fa.Revolute(), body=fa.Rigid(length=l1, mass=m1), hub_mass=0.4, hub_inertia=hub),
        fa.Link(
            name="c", joint=fa.Telescope(free_length=0.3), body=fa.Beam(length=l2, mass=m2, EI=1.0, polar_inertia=0.01),
            placement=fa.Pose(rpy=(0, 0, np.pi / 2)),
        ),
    )  # fmt: skip
    mass, first, inertia = load_beyond(fa.Arm(name="elbow", links=links, payload=fa.Payload(mass=mp)), 0)
    assert_close(mass, m1 + m2 + mp + 0.4)
    assert_close(first, [m1 * l1 / 2 + (m2 + mp) * l1, m2 * (0.3 - l2 / 2) + mp * 0.3, 0])
    along_c = m2 / l2 * (0.3**3 + 0.2**3) / 3 + mp * 0.3**2
    assert_close(inertia[0, 0], hub + along_c)
    assert_close(inertia[1, 1], hub + m1 * l1**2 / 3 + (m2 + mp) * l1**2 + 0.01 * l2)
    assert_close(inertia[2, 2], hub + m1 * l1**2 / 3 + (m2 + mp) * l1**2 + along_c)


# Identities


@general
def test_mass_matrix_is_symmetric_and_positive(arm, oracle, seed, options):
    q, qd, _ = random_state(arm, seed)
    M = oracle.mass_matrix(q)
    assert oracle.coordinates == arm.coordinates
    assert_close(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0
    assert_close(oracle.energy(q, qd)[0], qd @ M @ qd / 2)


@general
def test_power_is_the_rate_of_energy(arm, oracle, seed, options):
    q, qd, u = random_state(arm, seed)
    qdd = oracle.forward_dynamics(q, qd, u)
    step = 1 / max(1.0, np.max(np.abs(qdd)))  # qdd may be large where a mode is stiff

    def energy(s):
        return sum(oracle.energy(q + s * step * qd, qd + s * step * qdd))

    supplied = qd @ (oracle.input_matrix(q) @ u - oracle.damping_force(q, qd))
    T, V = oracle.energy(q, qd)
    assert abs(slope(energy) / step - supplied) < DIFFERENCES * (abs(T) + abs(V)) / step


@general
def test_mass_rate_minus_twice_coriolis_is_skew(arm, oracle, seed, options):
    """C = 1/2 d(bias)/d(qd) (Lin & Lewis, theorem 1); the difference quotient of a quadratic function is exact."""
    q, qd, _ = random_state(arm, seed)
    M_rate = slope(lambda s: oracle.mass_matrix(q + s * qd))
    C = np.column_stack([(oracle.bias(q, qd + e) - oracle.bias(q, qd - e)) / 4 for e in np.eye(len(q))])
    assert_close(C @ qd, oracle.bias(q, qd))
    skew = M_rate - 2 * C
    np.testing.assert_allclose(skew + skew.T, 0, atol=DIFFERENCES * max(1.0, np.max(np.abs(C))))


@general
def test_forces_are_slopes_of_the_potential(arm, oracle, seed, options):
    q, qd, _ = random_state(arm, seed)
    V = oracle.energy(q, qd)[1]
    force = np.array([slope(lambda s, e=e: oracle.energy(q + s * e, qd)[1]) for e in np.eye(len(q))])
    np.testing.assert_allclose(
        force, oracle.gravity_force(q) + oracle.stiffness_force(q), atol=DIFFERENCES * max(abs(V), np.abs(force).max())
    )


@general
def test_turning_the_base_changes_nothing(arm, oracle, seed, options):
    q, qd, _ = random_state(arm, seed)
    turn = Rotation.from_euler("ZYX", [0.7, -0.4, 1.2])
    first = arm.links[0]
    placement = fa.Pose(
        xyz=turn.apply(first.placement.xyz),
        rpy=(turn * Rotation.from_euler("ZYX", first.placement.rpy[::-1])).as_euler("ZYX")[::-1],
    )
    links = (first.replace(placement=placement), *arm.links[1:])
    turned = Lagrangian(arm.replace(links=links, gravity=turn.apply(arm.gravity)))
    assert_close(turned.mass_matrix(q), oracle.mass_matrix(q))
    assert_close(turned.bias(q, qd), oracle.bias(q, qd))
    assert_close(turned.gravity_force(q), oracle.gravity_force(q))
    assert_close(turned.tip(q)[:3], turn.as_matrix() @ oracle.tip(q)[:3])


@general
def test_more_gauss_points_change_nothing(arm, oracle, seed, options):
    q, qd, u = random_state(arm, seed)
    fine = Lagrangian(arm, points=28)
    assert_close(fine.mass_matrix(q), oracle.mass_matrix(q))
    assert_close(fine.bias(q, qd), oracle.bias(q, qd))
    assert_close(fine.gravity_force(q), oracle.gravity_force(q))
    assert_close(fine.stiffness_force(q), oracle.stiffness_force(q))


# Trees and free bases


TREES = (
    {},
    {"rigid": True},
    {"rotor": "absolute"},
    {"elastic": True, "rotor": "absolute"},
    {"telescope": True, "twisting": True},
    {"foreshortening": True},
)
trees = pytest.mark.parametrize(("seed", "options"), [(60 + i, more) for i, more in enumerate(TREES)])


def moved_on(q, qd, qdd, s):
    """A free arm's state after a short time s, exact to first order."""
    (w, x, y, z), v, turn = q[3:7], qd[:3], qd[3:6] / 2
    rate = np.array([-turn @ [x, y, z], *(w * turn + np.cross([x, y, z], turn))])
    place = Rotation.from_quat([x, y, z, w]).apply(v)
    return q + s * np.concatenate([place, rate, qd[6:]]), qd + s * qdd


def gentle(qdd):
    """A step in which accelerations, large where a mode is stiff, change rates by no more than a unit."""
    return 1 / max(1.0, np.max(np.abs(qdd)))


def rotation_of(q):
    return Rotation.from_quat(np.roll(q[3:7], -1)).as_matrix()


def test_branches_of_a_tree_at_a_tip_a_station_and_a_place():
    """Two pendulums on a beam's tip and middle, one on a place of its base frame: masses where they must be."""
    L, l, m, eta = 1.2, 0.3, np.array([0.5, 0.7, 0.9]), 0.06
    rods = [
        fa.Link(
            name=name,
            parent="beam",
            at=at,
            joint=fa.Revolute(axis=(0, 0, 1)),
            body=fa.Rigid(length=l, mass=mass, com=(l, 0, 0), inertia=0.0),
        )
        for name, at, mass in zip("abc", (1.0, 0.5, fa.Pose(xyz=(0.2, -0.1, 0.0), rpy=(0, 0, 0.4))), m, strict=True)
    ]
    beam = fa.Link(
        name="beam",
        parent="base",
        joint=fa.Revolute(axis=(0, 0, 1)),
        body=fa.Beam(length=L, mass=0.8, EI=5.0, modes={"y": 1}, shapes=Powers()),
        payload=fa.Payload(mass=0.4),
    )
    oracle = Lagrangian(fa.Arm(name="branches", links=[*rods, beam], tip="c", gravity=(0, -9.81, 0)))
    assert oracle.coordinates == ("a.joint", "b.joint", "c.joint", "beam.joint", "beam.y1")
    q = np.array([0.7, -0.4, 1.1, 0.3, eta])
    qd = np.array([0.5, 0.9, -0.6, 0.8, 0.2])

    def places(q):
        turn = np.exp(1j * q[3])
        tip, middle = L + 1j * q[4], L / 2 + 1j * q[4] / 4
        a = tip + l * np.exp(1j * (2 * q[4] / L + q[0]))
        b = middle + l * np.exp(1j * (q[4] / L + q[1]))
        c = 0.2 - 0.1j + l * np.exp(1j * (0.4 + q[2]))
        return turn * np.array([tip, a, b, c])

    speeds = slope(lambda s: places(q + s * qd))
    along = 0.8 * (L**2 * qd[3] ** 2 / 3 + (eta * qd[3]) ** 2 / 5 + qd[4] ** 2 / 5 + 2 * L * qd[3] * qd[4] / 4)
    T = (np.array([0.4, *m]) @ np.abs(speeds) ** 2 + along) / 2
    sag = (0.8 * np.exp(1j * q[3]) * (L / 2 + 1j * eta / 3)).imag
    V = 9.81 * (np.array([0.4, *m]) @ places(q).imag + sag) + 5.0 / L**3 * 4 * eta**2 / 2
    assert_close(oracle.energy(q, qd), [T, V], DIFFERENCES)
    end = places(q)[3]
    assert_close(oracle.tip(q)[:2, 3], [end.real, end.imag])
    assert_close(oracle.frames(q)[1, :2, 3], (lambda z: [z.real, z.imag])(np.exp(0.3j) * (L / 2 + 0.25j * eta)))
    assert_close(oracle.input_matrix(q), np.eye(5)[:, :4])


def test_a_free_rigid_body_moves_by_eulers_equations():
    """A base and a link fixed to it, thrust off its centre, under gravity."""
    I1, I2 = np.array([[0.5, 0.05, -0.02], [0.05, 0.6, 0.04], [-0.02, 0.04, 0.7]]), np.diag([0.2, 0.3, 0.4])
    m1, m2, c1, c2 = 3.0, 1.4, np.array([0.1, -0.05, 0.2]), np.array([0.6, 0.3, -0.2])
    d, at, e, g = np.array([0.6, 0.0, 0.8]), np.array([0.2, 0.5, -0.1]), np.array([0.0, 1.0, 0.0]), [0.3, -1.2, -9.0]
    base = fa.FreeBase(
        mass=m1,
        com=c1,
        inertia=I1,
        thrusters=[
            fa.Thruster(name="jet", direction=d, at=at),
            fa.Thruster(name="gyro", direction=e, kind="torque"),
        ],
    )
    link = fa.Link(name="tank", joint=fa.Fixed(), body=fa.Rigid(length=0.0, mass=m2, com=c2, inertia=(0.2, 0.3, 0.4)))
    arm = fa.Arm(name="body", links=[link], base=base, gravity=g)
    oracle = Lagrangian(arm)
    assert (oracle.coordinates, oracle.velocities) == (arm.coordinates, arm.velocities)
    q, qd, u = random_state(arm, 5)
    m = m1 + m2
    c = (m1 * c1 + m2 * c2) / m
    I = sum(
        J + n * ((r - c) @ (r - c) * np.eye(3) - np.outer(r - c, r - c)) for J, n, r in ((I1, m1, c1), (I2, m2, c2))
    )
    (v, w), R = qd.reshape(2, 3), rotation_of(q)
    turned = np.linalg.solve(I, np.cross(at - c, u[0] * d) + u[1] * e - np.cross(w, I @ w))
    a = u[0] * d / m + R.T @ g - np.cross(turned, c) - np.cross(w, np.cross(w, c)) - np.cross(w, v)
    assert_close(oracle.forward_dynamics(q, qd, u), [*a, *turned])
    T = (m * np.sum((v + np.cross(w, c)) ** 2) + w @ I @ w) / 2
    assert_close(oracle.energy(q, qd), [T, -m * np.array(g) @ (q[:3] + R @ c)])
    assert_close(oracle.frames(q)[0], np.block([[R, q[:3, None]], [np.zeros(3), 1.0]]))
    assert_close(oracle.mass_matrix(3 * q), oracle.mass_matrix(q))  # the quaternion's length does not matter
    assert_close(oracle.tip(np.array([*q[:3], *(2 * q[3:])])), oracle.tip(q))


@trees
def test_a_free_base_is_one_on_six_joints(seed, options):
    """Three slides and three turns that carry next to nothing: coordinates in the place of rates along its axes."""
    arm = random_tree(seed, free=True, **options)
    bus = arm.base
    nothing = fa.Rigid(length=0.0, mass=1e-15, inertia=0.0)
    axes = [*np.eye(3), *np.eye(3)[::-1]]
    six = [
        fa.Link(name=f"six{i}", parent=f"six{i - 1}" if i else "base", joint=kind(axis=axis), body=nothing)
        for i, (kind, axis) in enumerate(zip([fa.Prismatic] * 3 + [fa.Revolute] * 3, axes, strict=True))
    ]
    six[5] = six[5].replace(body=fa.Rigid(length=0.0, mass=bus.mass, com=bus.com, inertia=bus.inertia))
    on = [link.replace(parent="six5") if link.parent == "base" else link for link in arm.links]
    free, held = Lagrangian(arm), Lagrangian(arm.replace(links=[*six, *on], base=None))
    q, qd, u = random_state(arm, seed)
    u[-2:] = 0.0
    rate = gentle(free.forward_dynamics(q, qd, u))

    def by_joints(q, qd):
        """Coordinates and rates of the six joints: yaw, pitch, roll, for R = Rz Ry Rx and R' = R [w]x."""
        R = rotation_of(q)
        yaw, pitch, roll = Rotation.from_matrix(R).as_euler("ZYX")
        Rx, Ry = (Rotation.from_euler(a, x).as_matrix() for a, x in (("x", roll), ("y", pitch)))
        turns = np.linalg.solve(np.column_stack([Rx.T @ Ry.T[:, 2], Rx.T[:, 1], [1, 0, 0]]), qd[3:6])
        return np.array([*q[:3], yaw, pitch, roll, *q[7:]]), np.array([*(R @ qd[:3]), *turns, *qd[6:]])

    J = np.column_stack([by_joints(q, e)[1] for e in np.eye(len(qd))])
    x, xd = by_joints(q, qd)
    assert_close(J.T @ held.mass_matrix(x) @ J, free.mass_matrix(q))
    assert_close(held.energy(x, xd), free.energy(q, qd))
    qdd = free.forward_dynamics(q, qd, u)
    xdd = slope(lambda s: by_joints(*moved_on(q, qd, qdd, s * rate))[1]) / rate
    found = held.forward_dynamics(x, xd, np.concatenate([np.zeros(6), u[:-2]]))
    np.testing.assert_allclose(found, xdd, rtol=0, atol=DIFFERENCES / rate * np.abs(xd).max())
    assert_close(J.T @ held.gravity_force(x), free.gravity_force(q))
    assert_close(held.tip(x), free.tip(q))


@trees
def test_momentum_of_a_free_tree_changes_by_its_weight_and_its_thrusters(seed, options):
    arm = random_tree(seed, free=True, **options)
    oracle = Lagrangian(arm)
    q, qd, u = random_state(arm, seed)
    qdd = oracle.forward_dynamics(q, qd, u)
    step = gentle(qdd)

    def momentum(s):
        """Of all there is, and its moment about the world's origin."""
        x, xd = moved_on(q, qd, qdd, s * step)
        P, L = rotation_of(x) @ oracle.momentum(x, xd)[:6].reshape(2, 3, 1)
        return np.array([*P.ravel(), *(L.ravel() + np.cross(x[:3], P.ravel()))])

    R, weight = rotation_of(q), -oracle.gravity_force(q)[:6].reshape(2, 3)
    F, M = (R @ each for each in weight + (oracle.input_matrix(q)[:6] @ u).reshape(2, 3))
    expected = np.array([*F, *(M + np.cross(q[:3], F))])
    scale = max(1.0, np.abs(oracle.momentum(q, qd)).max()) / step
    np.testing.assert_allclose(slope(momentum) / step, expected, rtol=0, atol=DIFFERENCES * scale)


@trees
def test_power_is_the_rate_of_energy_of_a_free_tree(seed, options):
    arm = random_tree(seed, free=True, **options)
    oracle = Lagrangian(arm)
    q, qd, u = random_state(arm, seed)
    qdd = oracle.forward_dynamics(q, qd, u)
    step = gentle(qdd)
    supplied = qd @ (oracle.input_matrix(q) @ u - oracle.damping_force(q, qd))
    T, V = oracle.energy(q, qd)
    rate = slope(lambda s: sum(oracle.energy(*moved_on(q, qd, qdd, s * step)))) / step
    assert abs(rate - supplied) < DIFFERENCES * (abs(T) + abs(V)) / step


def test_springs_between_points_and_coupled_joints():
    """A strut's energy from its length by hand; two motors of a differential; a force of a spring on a free base."""
    rod = fa.Rigid(length=0.8, mass=2.0)
    links = [
        fa.Link(name=name, parent="base", joint=fa.Revolute(axis=(0, 0, 1)), body=rod, placement=fa.Pose(xyz=(x, 0, 0)))
        for name, x in (("a", 0.0), ("b", 1.0))
    ]
    struts = [
        fa.Strut(link="a", at=0.5, point=(0.0, 0.9, 0.0), stiffness=30.0, length=0.2),
        fa.Strut(link="a", to="b", to_at=0.25, stiffness=50.0),
    ]
    T = [[1.0, 0.5], [-0.3, 1.2]]
    coupled = fa.Arm(name="both", links=links, struts=struts, couplings=[fa.Coupling(links=["b", "a"], matrix=T)])
    oracle = Lagrangian(coupled)
    q = np.array([0.4, 2.1])
    a, b = 0.8 * np.exp(1j * q[0]), 1 + 0.2 * np.exp(1j * q[1])
    assert_close(oracle.energy(q, 0 * q)[1], 15 * (abs(a / 2 - 0.9j) - 0.2) ** 2 + 25 * abs(a - b) ** 2)
    assert_close(oracle.input_matrix(q), [[1.2, 0.5], [-0.3, 1.0]])


# Another library


@pytest.mark.parametrize("seed", SEEDS)
def test_rigid_arms_agree_with_pinocchio(seed):
    pin = pytest.importorskip("pinocchio")
    arm = random_arm(seed, rigid=True)
    model, tip, rotors = pinocchio_arm(pin, arm)
    data = model.createData()
    q, qd, u = random_state(arm, seed)
    oracle = Lagrangian(arm)
    qdd = oracle.forward_dynamics(q, qd, u)
    weight = pin.computeGeneralizedGravity(model, data, q).copy()
    assert_close(oracle.mass_matrix(q), symmetric(pin.crba(model, data, q)) + np.diag(rotors))
    assert_close(oracle.gravity_force(q), weight)
    assert_close(oracle.bias(q, qd), pin.nonLinearEffects(model, data, q, qd) - weight)
    assert_close(pin.rnea(model, data, q, qd, qdd) + rotors * qdd, u - oracle.damping_force(q, qd))
    pin.forwardKinematics(model, data, q)
    assert_close(oracle.tip(q), (data.oMi[model.njoints - 1] * tip).homogeneous)


# What the oracle will not answer, and what the random arms promise


def test_unknown_descriptions_are_refused():
    beam = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 1})

    class Spherical:
        type, model_fields = "spherical", {}

    arm = single(fa.Fixed(), beam).model_copy(
        update={"links": (random_arm(1).links[0].model_copy(update={"joint": Spherical()}),)}
    )
    with pytest.raises(NotImplementedError, match="link 'link1': the oracle has no spherical"):
        Lagrangian(arm)
    with pytest.raises(NotImplementedError, match="link 'link': the oracle has no telescope bent at its hub"):
        Lagrangian(single(fa.Telescope(), beam.replace(shapes=Sines())))


def test_random_arms_keep_to_their_options():
    for seed in SEEDS[:6]:
        assert all(link.body.type == "rigid" for link in random_arm(seed, rigid=True).links)
        assert len(random_arm(seed, links=5).links) == 5
        plane = random_arm(seed, planar=True, elastic=True)
        tip = Lagrangian(plane).tip(random_state(plane, seed)[0])
        assert_close(tip[2], [0, 0, 1, 0])
        assert all(link.joint.stiffness is not None for link in plane.links)
        assert not np.any(random_arm(seed, gravity=False).gravity)
        free = random_arm(seed, damping=False)
        assert not np.any(Lagrangian(free).D)
        assert {link.joint.type for link in random_arm(seed, telescope=True).links} >= {"telescope"}
        slid = random_arm(seed, telescope=True, rigid=True)
        assert not any(sum(link.body.counts.values()) for link in slid.links if link.body.type == "beam")
        moving = [link.joint for link in random_arm(seed, rotor="absolute").links if link.joint.type != "fixed"]
        assert all(joint.rotor == "absolute" and joint.rotor_inertia for joint in moving)
        many = random_arm(seed, tapered=True, foreshortening=True, chord=True, families=["clamped-free", Powers()])
        beams = [link.body for link in many.links if link.body.type == "beam"]
        assert all(beam.section_tip and beam.foreshortening and beam.next_joint == "chord" for beam in beams)


def test_random_arms_cover_the_kinds():
    arms = [random_arm(seed) for seed in SEEDS]
    links = [link for arm in arms for link in arm.links]
    assert {link.joint.type for link in links} == {"revolute", "prismatic", "fixed"}
    assert {link.body.type for link in links} == {"beam", "rigid"}
    assert {arm.payload is None for arm in arms} == {True, False}
    coordinates = {name.split(".")[1] for arm in arms for name in Lagrangian(arm).coordinates}
    directions = {f"{d}{k}" for d in ("y", "z", "torsion", "axial") for k in (1, 2)}
    assert coordinates == directions | {"joint", "motor"}
