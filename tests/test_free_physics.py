"""Free bases beside what mechanics has in closed form: flips, free-free beams, panels on a bus, momentum, wheels."""

from itertools import pairwise

import numpy as np
import pytest
from real_beams import hermite_beam
from scipy.integrate import quad, solve_ivp
from scipy.linalg import block_diag, eigh
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from scipy.special import ellipj

import flexarm as fa
from flexarm import attitude, quaternions
from flexarm.errors import DescriptionError

EXACT = {"rtol": 1e-11, "solver": fa.Solver(atol=1e-13), "progress": False}
KEPT = 1e-10  # of momentum, relative to the largest part of it: what the issue asks for
UPRIGHT = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


def of(result, arm, name):
    """A coordinate or a rate over time."""
    if name in arm.coordinates:
        return result.q.values[:, arm.coordinates.index(name)]
    return result.qd.values[:, arm.velocities.index(name)]


def attitudes(result):
    """(times, 3, 3)"""
    return quaternions.rotation(result.q.values[:, 3:7])


def assert_keeps_momentum(model, result, scale):
    """`scale` is the size of what is exchanged, (momentum, angular momentum)."""
    kept = model.momentum(result.q.values, result.qd.values)
    kept = np.abs(kept - kept[0]).max(axis=0)
    assert kept[:3].max() <= KEPT * scale[0]
    assert kept[3:].max() <= KEPT * scale[1]


def spun(turn):
    """Rotation matrices of turns, (..., 3)."""
    return Rotation.from_rotvec(turn).as_matrix()


# -- a rigid base that flips -------------------------------------------------------------------------------------------


def jacobis(I, energy, momentum, phase):
    """Rates of a free rigid body about its principal axes, I_1 < I_2 < I_3, as functions of time (t,) -> (t, 3).

    Landau and Lifshitz, Mechanics, section 37: with T and L its energy and momentum, L^2 > 2 T I_2,

        w_1 = sqrt((2 T I_3 - L^2) / I_1 (I_3 - I_1)) cn,   w_2 = sqrt((2 T I_3 - L^2) / I_2 (I_3 - I_2)) sn,
        w_3 = sqrt((L^2 - 2 T I_1) / I_3 (I_3 - I_1)) dn,   of t sqrt((I_3 - I_2) (L^2 - 2 T I_1) / I_1 I_2 I_3)

    and k^2 = (I_2 - I_1)(2 T I_3 - L^2) / ((I_3 - I_2)(L^2 - 2 T I_1)); where L^2 < 2 T I_2 axes 1 and 3 change places.
    """
    T2, L2 = 2 * energy, momentum**2
    swapped = L2 < T2 * I[1]
    I1, I2, I3 = I[::-1] if swapped else I
    more, less = T2 * I3 - L2, L2 - T2 * I1
    a = [more / (I1 * (I3 - I1)), more / (I2 * (I3 - I2)), less / (I3 * (I3 - I1))]
    pace = np.sqrt((I3 - I2) * less / (I1 * I2 * I3))
    m = (I2 - I1) * more / ((I3 - I2) * less)

    def rates(t):
        sn, cn, dn, _ = ellipj(pace * np.asarray(t) + phase, m)
        w = np.stack([np.sqrt(a[0]) * cn, np.sqrt(a[1]) * sn, np.sqrt(a[2]) * dn], axis=-1)
        return w[..., ::-1] if swapped else w

    return rates


def eulers_angles(I, rates, times):
    """Attitudes (t, 3, 3) to principal axes of a body whose angular momentum is along z, the first about some line.

    Angles phi, theta, psi about z, x, z: cos theta = I_3 w_3 / L, tan psi = I_1 w_1 / I_2 w_2, and
    d phi / dt = L (I_1 w_1^2 + I_2 w_2^2) / (I_1^2 w_1^2 + I_2^2 w_2^2), by quadrature.
    """
    I = np.array(I)
    size = np.linalg.norm(I * rates(0.0))

    def pace(t):
        w = rates(t)
        return size * (I[:2] @ w[:2] ** 2) / (I[:2] ** 2 @ w[:2] ** 2)

    steps = [quad(pace, a, b, epsabs=1e-13, epsrel=1e-13)[0] for a, b in pairwise(times)]
    L = I * rates(times)
    psi, theta = np.arctan2(L[:, 0], L[:, 1]), np.arccos(L[:, 2] / size)
    angles = np.stack([np.append(0.0, np.cumsum(steps)), theta, psi], axis=-1)
    return Rotation.from_euler("ZXZ", angles).as_matrix()


@pytest.mark.parametrize("share", [0.9999, 1.0001, 1.3], ids=["about-1", "about-3", "steady"])
def test_a_rigid_base_flips_as_jacobis_functions_say(share):
    """Dzhanibekov's: a bus with a box on it, turned about nearly its middle axis, drifts; rates and attitude.

    `share` is L^2 / 2 T I_2: near 1 the body turns over again and again, a long time after it was left alone.
    """
    base = fa.FreeBase(
        mass=3.0,
        com=(0.1, -0.05, 0.2),
        inertia=((2.0, 0.3, -0.2), (0.3, 3.1, 0.1), (-0.2, 0.1, 4.3)),
    )
    box = fa.Rigid(length=0.4, mass=0.7, com=(0.1, 0.2, 0.3), inertia=(0.02, 0.05, 0.06))
    place = fa.Pose(xyz=(0.3, 0.5, -0.2), rpy=(0.4, -0.7, 1.1))
    arm = fa.Arm(name="flipping", links=[fa.Link(name="box", joint=fa.Fixed(), body=box, placement=place)], base=base)

    parts = [(base.mass, np.array(base.com), np.array(base.inertia))]
    parts.append((0.7, place.xyz + place.rotation @ box.com, place.rotation @ np.diag(box.inertia) @ place.rotation.T))
    mass, com, J = composite(parts)
    I, axes = np.linalg.eigh(J)
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])

    energy = 0.5 * I[1] * 2.0**2
    rates = jacobis(I, energy, np.sqrt(2 * energy * I[1] * share), phase=-0.6)
    times = np.linspace(0, 25.0, 251)
    w = rates(times) @ axes.T
    R = eulers_angles(I, rates, times) @ axes.T
    if share != 1.3:
        flips = np.abs(np.diff(np.sign(np.round(rates(times)[:, 1], 6)))).sum() / 2
        assert flips >= 2

    drift, start = np.array([0.2, -0.1, 0.3]), np.array([1.0, 2.0, 3.0])
    x, y, z, real = Rotation.from_matrix(R[0]).as_quat()
    velocity = R[0].T @ drift - np.cross(w[0], com)
    model = fa.Model(arm)
    q0 = [*(start - R[0] @ com), real, x, y, z]
    run = fa.simulate(model, times[-1], q0=q0, qd0=[*velocity, *w[0]], samples=len(times), **EXACT)

    np.testing.assert_allclose(run.qd.values[:, 3:], w, rtol=0, atol=1e-9)
    np.testing.assert_allclose(attitudes(run), R, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.q.values[:, :3], start + np.outer(times, drift) - R @ com, rtol=0, atol=1e-8)
    assert_keeps_momentum(model, run, (mass * np.linalg.norm(drift), np.linalg.norm(I * rates(0.0)) + mass))
    assert run.energy_drift < 1e-10


def composite(parts):
    """Mass, centre of mass and inertia about it of rigid parts, each the same three in one frame."""
    mass = sum(m for m, _, _ in parts)
    com = sum(m * c for m, c, _ in parts) / mass
    about = (I + m * ((c - com) @ (c - com) * np.eye(3) - np.outer(c - com, c - com)) for m, c, I in parts)
    return mass, com, sum(about)


# -- beams that nothing holds ------------------------------------------------------------------------------------------

FREE_FREE = np.array([4.730040744862704, 7.853204624095838, 10.995607838001671, 14.137165491257464])
"""cos b cosh b = 1: 1.50562 pi, 2.49975 pi, ..."""


def winged(base, right, left, offset=0.0, **more):
    """A base with two beams clamped to it along x and -x, `offset` from its origin."""
    links = [
        fa.Link(name="right", joint=fa.Fixed(), body=right, placement=fa.Pose(xyz=(offset, 0, 0))),
        fa.Link(
            name="left",
            joint=fa.Fixed(),
            body=left,
            placement=fa.Pose(xyz=(-offset, 0, 0), rpy=(0, 0, np.pi)),
            parent="base",
        ),
    ]
    return fa.Arm(name="winged", links=links, base=base, **more)


def elastic(model, q=None):
    """Natural frequencies of a free arm without the six that are zero, to rounding, and those."""
    found = np.abs(model.frequencies(np.array(model.arm.rest) if q is None else q, locked=False))
    return found[6:], found[:6]


@pytest.mark.parametrize("turned", [False, True])
def test_two_halves_on_next_to_no_base_are_a_free_free_beam(turned):
    """Bending in both planes, torsion and stretch: b_j = (1.50562 pi, ...), j pi and j pi, by 8 polynomials a half."""
    L, m, Ip, EI, GJ, EA = 0.8, 0.5, 2e-3, {"y": 30.0, "z": 50.0}, 20.0, 4e3
    modes = {"y": 8, "z": 8, "torsion": 8, "axial": 8}
    half = fa.Beam(
        length=L,
        mass_per_length=m,
        EI=EI,
        GJ=GJ,
        EA=EA,
        polar_inertia=Ip,
        modes=modes,
        shapes=dict.fromkeys(modes, "polynomial"),
    )
    arm = winged(fa.FreeBase(mass=1e-9, inertia=1e-12), half, half)
    q = np.array(arm.rest)
    if turned:
        q[:7] = [3.0, -2.0, 1.0, *quaternions.quaternion(np.array([0.5, -1.0, 2.0]))]
    found, zero = elastic(fa.Model(arm), q)
    assert zero.max() < 1e-6 * found[0]
    whole, j = 2 * L, np.arange(1, 4)
    bending = [(FREE_FREE[:3] / whole) ** 2 * np.sqrt(EI[plane] / m) for plane in "yz"]
    others = [np.pi * j / whole * np.sqrt(GJ / Ip), np.pi * j / whole * np.sqrt(EA / m)]
    expected = np.sort(np.concatenate([*bending, *others]))
    for omega in expected:
        assert np.abs(found / omega - 1).min() < 1e-7, omega
    low = found[found < 1.01 * min(x[-1] for x in (*bending, *others))]
    assert len(low) == (expected <= low[-1] * (1 + 1e-6)).sum()  # and there are no others


def at(x, b):
    """Rows w, w', w'', w''' at x of the four solutions of w'''' = b^4 w: cos, sin, cosh, sinh of b x."""
    c, s, ch, sh = (f(b * x) for f in (np.cos, np.sin, np.cosh, np.sinh))
    rows = [[c, s, ch, sh], [-s, c, sh, ch], [-c, -s, ch, sh], [s, -c, sh, ch]]
    return np.array(rows) * np.array([[1], [b], [b**2], [b**3]])


def test_a_hub_with_two_beams_has_the_frequencies_of_its_transcendental_equation():
    """Bodies that keep their momentum: of beams w(x, t) at each side of a hub of mass M, inertia J and width 2 r,

    symmetric: w(0) = 1, w'(0) = 0 and M w(0) omega^2 = 2 EI w'''(0); antisymmetric: w(0) = r, w'(0) = 1 and
    J omega^2 + 2 EI (w''(0) - r w'''(0)) = 0; free ends, omega = b^2 sqrt(EI / m).
    """
    L, m, EI, M, J, r = 1.2, 0.4, 25.0, 1.5, 0.05, 0.2

    def heaving(b):
        w, end = at(0.0, b), at(L, b)
        return np.linalg.det([w[1], M * b**4 / m * w[0] - 2 * w[3], end[2], end[3]])

    def turning(b):
        w, end = at(0.0, b), at(L, b)
        return np.linalg.det([w[0] - r * w[1], J * b**4 / m * w[1] + 2 * (w[2] - r * w[3]), end[2], end[3]])

    grid = np.linspace(0.5, 12.0, 400) / L
    spans = [(f, x, y) for f in (heaving, turning) for x, y in pairwise(grid) if f(x) * f(y) < 0]
    b = np.sort([brentq(f, x, y, xtol=1e-14, rtol=1e-14) for f, x, y in spans])[:6]
    body = fa.Beam(length=L, mass_per_length=m, EI=EI, modes={"y": 12}, shapes="polynomial")
    found, _ = elastic(fa.Model(winged(fa.FreeBase(mass=M, inertia=J), body, body, r)))
    np.testing.assert_allclose(found[:6], b**2 * np.sqrt(EI / m), rtol=1e-8)


UNLIKE = {
    "right": {"length": 1.3, "mass_per_length": 0.4, "EI": 25.0},
    "left": {"length": 0.9, "mass_per_length": 0.7, "EI": 12.0},
}
HUB = {"mass": 1.5, "inertia": 0.05}
REACH, LOAD = 0.2, fa.Payload(mass=0.15, inertia=0.002)


def unlike_wings(modes):
    right, left = (fa.Beam(**UNLIKE[side], modes={"y": modes}, shapes="polynomial") for side in ("right", "left"))
    arm = winged(fa.FreeBase(**HUB), right, left, REACH, tip="right")
    return arm.replace(links=[arm.links[0].replace(payload=LOAD), arm.links[1]])


def assembled(elements):
    """M and K of `unlike_wings` in its plane by Hermite elements: y and turn of the hub, then nodes right, then left.

    Deflections and slopes of nodes are absolute; the beam to the left, along -x, has its deflections along -y.
    """
    n = 2 * elements
    blocks = [hermite_beam(x["length"], x["mass_per_length"], x["EI"], elements) for x in UNLIKE.values()]
    blocks[0][0][-2, -2] += LOAD.mass
    blocks[0][0][-1, -1] += LOAD.inertia
    T = np.zeros((2 * (n + 2), 2 + 2 * n))  # to those of both beams with their first nodes, on the hub
    T[: n + 2, 2 : 2 + n] = np.eye(n + 2)[:, 2:]
    T[n + 2 :, 2 + n :] = np.eye(n + 2)[:, 2:]
    T[0, :2], T[1, 1] = [1.0, REACH], 1.0
    T[n + 2, :2], T[n + 3, 1] = [-1.0, REACH], 1.0
    M, K = (T.T @ block_diag(*pair) @ T for pair in zip(*blocks, strict=True))
    M[0, 0] += HUB["mass"]
    M[1, 1] += HUB["inertia"]
    return M, K


def test_a_hub_with_two_unlike_beams_has_the_frequencies_of_finite_elements():
    M, K = assembled(48)
    expected = np.sqrt(np.abs(eigh(K, M, eigvals_only=True)))
    found, zero = elastic(fa.Model(unlike_wings(9)))
    assert zero.max() < 1e-6 * found[0] and expected[1] < 1e-3 * found[0]
    np.testing.assert_allclose(found[:6], expected[2:8], rtol=2e-6)  # 48 elements: (b h)^4 / 720 of the sixth


def test_beams_released_bent_shake_their_hub_as_finite_elements_do():
    """From rest, bent by 1e-6 m: the hub's place and turn and the deflection of a tip, over three slowest periods."""
    elements, size = 48, 1e-6
    arm = unlike_wings(12)
    basis = fa.shapes.family("polynomial", "y").basis(12)
    stations = np.linspace(0, 1, elements + 1)[1:]
    sag = [size * f / 3 for f in (6, -4, 1)]  # of a cantilever under its weight: x^2 (6 - 4 x + x^2)
    nodes = [sum(c * stations ** (2 + k) for k, c in enumerate(sag))]
    nodes.append(sum(c * (2 + k) * stations ** (1 + k) for k, c in enumerate(sag)) / UNLIKE["right"]["length"])
    eta, *_ = np.linalg.lstsq(basis.values(stations), nodes[0], rcond=None)
    M, K = assembled(elements)
    x0 = np.zeros(len(M))
    x0[2 : 2 + 2 * elements] = np.stack(nodes, axis=1).ravel()
    omega2, V = eigh(K, M)
    omega = np.sqrt(np.maximum(omega2, 0.0))
    times = np.linspace(0, 3 * 2 * np.pi / omega[2], 61)
    x = np.array([V @ (np.cos(omega * t) * (V.T @ M @ x0)) for t in times])

    q0 = np.array(arm.rest)
    at = arm.coordinates.index("right.y1")
    q0[at : at + 12] = eta
    run = fa.simulate(
        fa.Model(arm), times[-1], q0=q0, samples=len(times), solver=fa.Solver(rtol=1e-10, atol=1e-15), progress=False
    )
    np.testing.assert_allclose(of(run, arm, "base.y"), x[:, 0], atol=1e-4 * np.abs(x[:, 0]).max())
    turn = 2 * of(run, arm, "base.qz")
    np.testing.assert_allclose(turn, x[:, 1], atol=1e-4 * np.abs(x[:, 1]).max())


def test_a_free_free_beam_released_bent_keeps_its_shape_its_period_and_its_place():
    """In its first mode: the middle goes up and down as cos(omega t), omega = (4.73004 / 2 L)^2 sqrt(EI / m)."""
    L, m, EI, size = 0.5, 0.4, 10.0, 1e-6
    half = fa.Beam(length=L, mass_per_length=m, EI=EI, modes={"y": 8}, shapes="polynomial")
    arm = winged(fa.FreeBase(mass=1e-9, inertia=1e-9), half, half)
    b = FREE_FREE[0] / 2

    def shape(s):  # s from the middle, in units of L
        return np.cos(b * s) / np.cos(b) + np.cosh(b * s) / np.cosh(b)

    grid = np.linspace(0, 1, 41)
    middle, basis = shape(0.0), fa.shapes.family("polynomial", "y").basis(8)
    eta, *_ = np.linalg.lstsq(basis.values(grid), size * (shape(grid) - middle) / middle, rcond=None)
    q0 = np.array(arm.rest)
    q0[arm.coordinates.index("base.y")] = size
    for name, sign in (("right", 1.0), ("left", -1.0)):
        at = arm.coordinates.index(f"{name}.y1")
        q0[at : at + 8] = sign * eta
    omega = (FREE_FREE[0] / (2 * L)) ** 2 * np.sqrt(EI / m)
    times = np.linspace(0, 5 * 2 * np.pi / omega, 101)
    model = fa.Model(arm)
    run = fa.simulate(
        model, times[-1], q0=q0, samples=len(times), solver=fa.Solver(rtol=1e-10, atol=1e-16), progress=False
    )
    np.testing.assert_allclose(of(run, arm, "base.y"), size * np.cos(omega * times), atol=1e-5 * size)
    np.testing.assert_allclose(of(run, arm, "base.qz"), 0.0, atol=1e-9 * size)


# -- a bus with two panels ---------------------------------------------------------------------------------------------

CLAMPED = np.array([1.8751040687119611, 4.694091132974175, 7.854757438237613])  # cos b cosh b = -1


def likins(inertia, sigma, participation):
    """Vehicle frequencies of n modes of each of two panels: inertia + 2 sum P_k^2 w^2 / (sigma_k^2 - w^2) = 0.

    As many roots as modes, one behind each sigma_k.
    """

    def f(w2):
        return inertia + 2 * np.sum(participation**2 * w2 / (sigma**2 - w2))

    edges = [*sigma**2, 1e4 * sigma[-1] ** 2]
    return np.sqrt([brentq(f, a * (1 + 1e-13), b * (1 - 1e-13), xtol=1e-12, rtol=1e-14) for a, b in pairwise(edges)])


def test_a_bus_with_two_panels_has_the_vehicle_modes_that_likins_makes_of_cantilever_modes():
    """Two panels along y of a bus, each a beam that bends in two planes and twists, in the bus's own axes.

    With eta of panels clamped to a bus that does not move (constrained modes, frequencies sigma_k, modal mass 1) and
    participation factors P_k = int m phi_k dx (the bus shifts), H_k = int m (r + x) phi_k dx (it turns), of a
    symmetric vehicle of inertia I (mass, or moment of inertia, with the panels' as if rigid)

        I x'' + 2 sum P_k eta_k'' = 0,      eta_k'' + sigma_k^2 eta_k = -P_k x'',

    for both panels bent alike, or against one another. Unconstrained modes, with exp(i w t): eta_k = w^2 P_k x /
    (sigma_k^2 - w^2), I + 2 sum P_k^2 w^2 / (sigma_k^2 - w^2) = 0; of one mode alone w = sigma / sqrt(1 - 2 P^2 / I)
    (Likins, JPL TR 32-1329, 1970; Hughes, J. Appl. Mech. 41, 1974). Of a cantilever, phi of modal mass 1 and b_k its
    root: int m phi dx = sqrt(m L) 2 s_k / b_k with s = (cosh b + cos b) / (sinh b + sin b), int m x phi dx = sqrt(m L)
    L 2 / b_k^2; of torsion, shapes as sin(a_k x / L), a_k = (k - 1/2) pi, int Ip phi dx = sqrt(Ip L) sqrt(2) / a_k.
    """
    L, m, Ip, EI, GJ, r, M, J = 3.0, 1.4, 0.3, {"y": 900.0, "z": 2500.0}, 300.0, 0.8, 60.0, (25.0, 18.0, 30.0)
    panel = fa.Beam(
        length=L,
        mass_per_length=m,
        EI=EI,
        GJ=GJ,
        polar_inertia=Ip,
        modes={"y": 3, "z": 3, "torsion": 2},
        shapes={"y": "clamped-free", "z": "clamped-free", "torsion": "fixed-free"},
    )
    found, zero = elastic(fa.Model(winged(fa.FreeBase(mass=M, inertia=J), panel, panel, r)))

    b = CLAMPED
    s = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
    P = np.sqrt(m * L) * 2 * s / b
    H = r * P + np.sqrt(m * L) * L * 2 / b**2
    a = np.pi * np.array([0.5, 1.5])
    beside = 2 * m * ((r + L) ** 3 - r**3) / 3
    expected = []
    for plane, inertia in (("y", J[2]), ("z", J[1])):  # u_y turns the bus about z, u_z about y
        sigma = (b / L) ** 2 * np.sqrt(EI[plane] / m)
        expected.append(likins(M + 2 * m * L, sigma, P))
        expected.append(likins(inertia + beside, sigma, H))
    sigma, Q = a / L * np.sqrt(GJ / Ip), np.sqrt(2 * Ip * L) / a
    expected.append(likins(J[0] + 2 * Ip * L, sigma, Q))  # both twist one way, the bus the other
    expected.append(sigma)  # against one another: the bus is at rest
    assert zero.max() < 1e-6 * found[0]
    np.testing.assert_allclose(found, np.sort(np.concatenate(expected)), rtol=1e-9)


def test_of_one_mode_a_panel_the_vehicle_frequency_is_a_formula():
    """w = sigma / sqrt(1 - 2 H^2 / I), see above; the lighter the bus the higher; of a heavy one sigma."""
    L, m, EI, r = 3.0, 1.4, 900.0, 0.8
    panel = fa.Beam(length=L, mass_per_length=m, EI=EI, modes={"y": 1}, shapes="clamped-free")
    b = CLAMPED[0]
    P = np.sqrt(m * L) * 2 / b * (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
    H = r * P + np.sqrt(m * L) * L * 2 / b**2
    sigma = (b / L) ** 2 * np.sqrt(EI / m)
    beside = 2 * m * ((r + L) ** 3 - r**3) / 3
    for size in (0.1, 1.0, 10.0, 1e9):
        M, J = 60.0 * size, 30.0 * size
        found, _ = elastic(fa.Model(winged(fa.FreeBase(mass=M, inertia=J), panel, panel, r)))
        expected = [sigma / np.sqrt(1 - 2 * P**2 / (M + 2 * m * L)), sigma / np.sqrt(1 - 2 * H**2 / (J + beside))]
        np.testing.assert_allclose(found, np.sort(expected), rtol=1e-10)
    np.testing.assert_allclose(found, sigma, rtol=1e-6)


def test_the_bundled_satellite_has_the_modes_that_likins_makes_of_its_panels():
    """Its wheels lie off the panels' axis, so that all six motions of the bus couple: in matrices, with delta = (P, H)
    of the cantilevers about the bus's origin and the inertia I of all as one rigid body,

        (I  delta; delta^T  1) (x, eta)'' + (0, sigma^2 eta) = 0.

    With the shapes of cantilevers, two in bending and one in torsion, both are the same for any number of modes.
    """
    arm = fa.load("satellite")
    shapes, modes = {"y": "clamped-free", "z": "clamped-free", "torsion": "fixed-free"}, {"z": 2, "torsion": 1}
    panels = [link.replace(body=link.body.replace(shapes=shapes, modes=modes)) for link in arm.links[:2]]
    arm = arm.replace(links=[*panels, *arm.links[2:]])
    parts = [(arm.base.mass, np.array(arm.base.com), np.diag(arm.base.inertia))]
    sigma, delta = [], []
    for link in arm.links:
        R, r, body = link.placement.rotation, np.array(link.placement.xyz), link.body
        x, y, z = R.T
        if body.type == "rigid":
            parts.append((body.mass, r, R @ np.diag(body.inertia) @ R.T))
            continue
        L, mass, Ip = body.length, body.mass, body.polar_inertia
        I = mass * L**2 / 12 * (np.eye(3) - np.outer(x, x)) + Ip * L * np.outer(x, x)
        parts.append((mass, r + L / 2 * x, I))
        b = CLAMPED[:2]
        s = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
        for sums, moment in zip(np.sqrt(mass) * 2 * s / b, np.sqrt(mass) * L * 2 / b**2, strict=True):
            delta.append([*(sums * z), *(np.cross(r, sums * z) - moment * y)])
        sigma += [*((b / L) ** 2 * np.sqrt(body.EI["z"] * L / mass)), np.pi / 2 / L * np.sqrt(body.GJ / Ip)]
        delta.append([0, 0, 0, *(np.sqrt(2 * Ip * L) / (np.pi / 2) * x)])
    mass, com, I = composite(parts)
    C = np.cross(np.eye(3), com)  # C v = com x v
    rigid = np.block([[mass * np.eye(3), -mass * C], [mass * C, I - mass * C @ C]])
    M = np.block([[rigid, np.transpose(delta)], [np.array(delta), np.eye(6)]])
    K = np.diag([*np.zeros(6), *np.square(sigma)])
    expected = np.sqrt(eigh(K, M, eigvals_only=True)[6:])
    found = fa.Model(arm).frequencies(np.array(arm.rest))  # wheels held
    np.testing.assert_allclose(found[6:], expected, rtol=1e-8)


# -- an arm on an orbiter ----------------------------------------------------------------------------------------------

SHOULDER = fa.Pose(xyz=(-6.0, 1.0, 3.0), rpy=(0.3, -0.2, 0.5))
ORBITER = fa.FreeBase(mass=1e5, com=(2.0, 0.5, 0.0), inertia=(1.2e6, 9.4e6, 9.9e6))


def orbiter(rigid, base=ORBITER):
    arm = fa.load("canadarm")
    links = [arm.links[0].replace(placement=SHOULDER), *arm.links[1:]]
    arm = arm.replace(links=links, base=base)
    return arm.rigid() if rigid else arm


def rods(q, qd):
    """(mass, com, inertia about it, velocity of com, angular velocity) of the Canadarm's links as rods, in its base."""
    place, R = np.array(SHOULDER.xyz), SHOULDER.rotation
    z, angle, rate, v, found = R[:, 2], 0.0, 0.0, np.zeros(3), []
    for mass, length, more, pace in zip((140.0, 85.0, 95.0), (6.0, 7.0, 2.0), q, qd, strict=True):
        angle, rate = angle + more, rate + pace
        along = R @ [np.cos(angle), np.sin(angle), 0.0]
        middle, turning = place + length / 2 * along, rate * z
        I = mass * length**2 / 12 * (np.eye(3) - np.outer(along, along))
        found.append((mass, middle, I, v + np.cross(turning, length / 2 * along), turning))
        place, v = place + length * along, v + np.cross(turning, length * along)
    return found


def carried(q, qd):
    """By momentum conservation from rest: (v, w) of the base along its axes (generalised Jacobian), and its pose's com.

    Of bodies that move with v_i, w_i beside the base: sum m_i (v + w x c_i + v_i) = 0 and, about the centre of mass,
    I w + sum (I_i w_i + m_i (c_i - c) x v_i) = 0 with I of all as one rigid body.
    """
    bus = (ORBITER.mass, np.array(ORBITER.com), np.diag(ORBITER.inertia), np.zeros(3), np.zeros(3))
    parts = [bus, *rods(q, qd)]
    mass, com, I = composite([part[:3] for part in parts])
    h = sum(J @ w + m * np.cross(c - com, v) for m, c, J, v, w in parts)
    p = sum(m * v for m, _, _, v, _ in parts)
    w = -np.linalg.solve(I, h)
    return -p / mass - np.cross(w, com), w, com


SLEW = fa.Quintic((0.3, -0.4, 0.2), (1.8, 1.2, -0.9), 60.0)


def slewed(times):
    """Place and attitude of the orbiter along the slew: the rigid arm's, whatever the torques."""
    from flexarm.trajectory.reference import reference_motion

    def rate(t, e):
        q, qd, _ = (np.array(x).ravel() for x in reference_motion(SLEW, t))
        _, w, _ = carried(q, qd)
        return 0.5 * quaternions.product(e, np.append(0.0, w))

    e = solve_ivp(rate, (0.0, times[-1]), [1.0, 0, 0, 0], method="DOP853", t_eval=times, rtol=1e-12, atol=1e-14).y.T
    R = quaternions.rotation(e)
    coms = np.array([carried(np.array(reference_motion(SLEW, t)[0]).ravel(), np.zeros(3))[2] for t in times])
    return coms[0] - (R @ coms[:, :, None])[:, :, 0], R


def test_the_orbiter_turns_by_what_momentum_leaves_it_as_the_rigid_arm_slews():
    """Shoulder off the centre of mass and tilted, so that it shifts and turns about all axes."""
    times = np.linspace(0, 60.0, 61)
    place, R = slewed(times)
    model = fa.Model(orbiter(rigid=True))
    run = fa.simulate(model, 60.0, u=fa.PrescribedMotion(SLEW), samples=len(times), **EXACT)
    turn = Rotation.from_matrix(R[-1]).magnitude()
    assert 1e-3 < turn < 0.1
    np.testing.assert_allclose(run.q.values[:, :3], place, atol=1e-8 * np.abs(place[-1]).max())
    np.testing.assert_allclose(attitudes(run), R, atol=1e-8 * turn)


def test_the_generalised_jacobian_is_the_mass_matrix_solved():
    """M_bb v_b + M_bj q_j' = 0 at rest: the bus's rates are those of momentum conservation."""
    q, rates = np.array([0.4, -1.1, 0.7]), np.array([0.02, -0.01, 0.03])
    v, w, _ = carried(q, rates)
    arm = orbiter(rigid=True)
    model = fa.Model(arm)
    M = model.mass_matrix(np.append(UPRIGHT, q))
    np.testing.assert_allclose(-np.linalg.solve(M[:6, :6], M[:6, 6:] @ rates), [*v, *w], rtol=1e-10)
    total = model.momentum(np.append(UPRIGHT, q), [*v, *w, *rates])
    np.testing.assert_allclose(total, 0.0, atol=1e-10)


def test_the_canadarm_slews_on_a_free_orbiter():
    """Links that bend: what the arm takes up the orbiter gives, at any moment, and it ends turned as by a rigid arm."""
    arm = orbiter(rigid=False)
    model = fa.Model(arm)
    run = fa.simulate(
        model, 90.0, u=fa.PrescribedMotion(SLEW), samples=901, solver=fa.Solver(rtol=1e-10, atol=1e-13), progress=False
    )
    times = run.time.values
    place, R = slewed(times[times <= 60.0 + 1e-9])
    turn = Rotation.from_matrix(R[-1]).magnitude()
    own = ORBITER.mass * np.linalg.norm(run.qd.values[:, :3] + np.cross(run.qd.values[:, 3:6], ORBITER.com), axis=1)
    spin = np.linalg.norm(run.qd.values[:, 3:6] * ORBITER.inertia, axis=1)
    assert_keeps_momentum(model, run, (own.max(), spin.max()))
    after = attitudes(run)[times > 60.0]
    off = Rotation.from_matrix(R[-1].T @ after).as_rotvec()
    assert np.linalg.norm(off.mean(axis=0)) < 2e-4 * turn  # measured 5e-5: links left shaking
    assert np.abs(off).max() < 1e-3 * turn
    assert run.energy_drift < 1e-8


# -- damping inside ----------------------------------------------------------------------------------------------------


def test_a_satellite_spun_about_its_least_axis_ends_tumbled_about_its_greatest():
    """Explorer 1's: antennas that bend take energy and no angular momentum, so that L^2 / 2 I_x becomes L^2 / 2 I_z.

    The angle between the spin and its axis grows as long as there is a state of less energy for this momentum.
    """
    antenna = fa.Beam(length=1.0, mass=0.6, EI=0.25, modes={"y": 2}, shapes="clamped-free", damping=0.5)
    links = [
        fa.Link(
            name=name,
            joint=fa.Fixed(),
            body=antenna,
            placement=fa.Pose(xyz=(0, 0.2 * side, 0), rpy=(0, 0, side * np.pi / 2)),
            parent="base",
        )
        for name, side in (("right", -1), ("left", 1))
    ]
    arm = fa.Arm(name="explorer", links=links, base=fa.FreeBase(mass=5.0, inertia=(0.3, 1.5, 1.6)))
    model = fa.Model(arm)
    I = np.diag(model.mass_matrix(np.array(arm.rest)))[3:6]
    np.testing.assert_allclose(I, [0.3, 1.5, 1.6] + 2 * 0.6 * (1.2**3 - 0.2**3) / 3 * np.array([1, 0, 1]))
    spin = np.array([1.0, 0.05, 0.1])
    qd0 = np.zeros(model.nv)
    qd0[3:6] = spin
    run = fa.simulate(model, 4000.0, qd0=qd0, samples=401, **EXACT)
    L = np.linalg.norm(I * spin)
    energy = run.kinetic.values + run.potential.values
    assert np.all(np.diff(energy) < 1e-9)
    assert energy[0] > 1.9 * L**2 / (2 * I[2])
    np.testing.assert_allclose(
        energy[-1], L**2 / (2 * I[2]), rtol=3e-2
    )  # what is left of the nutation fades ever slower
    w = run.qd.values[-1, 3:6]
    assert abs(w[2]) == pytest.approx(L / I[2], rel=2e-2) and np.abs(w[:2]).max() < 0.3 * abs(w[2])
    assert_keeps_momentum(model, run, (1.0, L))


# -- gravity -----------------------------------------------------------------------------------------------------------


def tree_that_bends(**more):
    body = {"length": 1.0, "mass": 0.8, "EI": {"y": 30.0, "z": 20.0}, "modes": {"y": 2, "z": 1}, "damping": 0.01}
    links = [
        fa.Link(name="panel", joint=fa.Fixed(), body=fa.Beam(**body), placement=fa.Pose(xyz=(0.3, 0.1, 0.0))),
        fa.Link(
            name="arm",
            joint=fa.Revolute(axis=(0.0, 0.6, 0.8), damping=0.1),
            body=fa.Beam(**body),
            parent="panel",
            at=0.4,
            placement=fa.Pose(rpy=(0.5, 0.2, -0.3)),
        ),
        fa.Link(
            name="foot",
            joint=fa.Revolute(axis=(1.0, 0.0, 0.0)),
            body=fa.Rigid(length=0.4, mass=0.5),
            parent="base",
            hub_inertia=0.1,
        ),
    ]
    base = fa.FreeBase(mass=2.0, com=(0.05, -0.1, 0.02), inertia=(0.3, 0.4, 0.5))
    return fa.Arm(name="tree", links=links, base=base, **more)


def test_uniform_gravity_lets_the_centre_of_mass_fall_and_changes_nothing_inside():
    g = np.array([1.0, -2.0, -9.81])
    there, here = (fa.Model(tree_that_bends(gravity=tuple(x))) for x in (g, 0 * g))
    rng = np.random.default_rng(15)
    q, qd = rng.normal(size=(2, there.nv)) * 0.1
    q = attitude.configuration(there.arm, q)
    u = np.array([0.4, -0.2])
    difference = there.forward_dynamics(q, qd, u) - here.forward_dynamics(q, qd, u)
    np.testing.assert_allclose(difference[:3], quaternions.rotation(q[3:7]).T @ g, rtol=1e-11)
    np.testing.assert_allclose(difference[3:], 0.0, atol=1e-11)

    runs = [fa.simulate(m, 1.5, u=u, q0=q, qd0=qd, samples=16, **EXACT) for m in (there, here)]
    t = runs[0].time.values
    fallen = 0.5 * np.outer(t**2, g)
    np.testing.assert_allclose(runs[0].q.values[:, :3] - runs[1].q.values[:, :3], fallen, atol=1e-8)
    np.testing.assert_allclose(runs[0].q.values[:, 3:], runs[1].q.values[:, 3:], atol=1e-8)
    np.testing.assert_allclose(runs[0].qd.values[:, 3:], runs[1].qd.values[:, 3:], atol=1e-7)
    p = [m.momentum(r.q.values, r.qd.values)[:, :3] for m, r in zip((there, here), runs, strict=True)]
    mass = 2.0 + 0.8 + 0.8 + 0.5
    np.testing.assert_allclose(p[0] - p[0][0], mass * np.outer(t, g), atol=1e-8)
    np.testing.assert_allclose(p[1] - p[1][0], 0.0, atol=KEPT * mass)
    assert max(run.energy_drift for run in runs) < 1e-8


# -- reaction wheels ---------------------------------------------------------------------------------------------------


def wheeled(*wheels, **base):
    return fa.Arm(name="wheeled", links=wheels, base=fa.FreeBase(**base))


def test_a_wheel_is_a_rotor_about_its_axis():
    axis = np.array([0.6, 0.0, 0.8])
    wheel = fa.reaction_wheel("wheel", axis, 0.03, mass=2.0, transverse=0.02)
    I = np.array(wheel.body.inertia)
    np.testing.assert_allclose(I @ axis, 0.03 * axis)
    np.testing.assert_allclose(I @ [0.8, 0.0, -0.6], 0.02 * np.array([0.8, 0.0, -0.6]))
    np.testing.assert_allclose(I @ [0.0, 1.0, 0.0], [0.0, 0.02, 0.0])
    assert (wheel.parent, wheel.body.mass, wheel.body.length, wheel.joint.type) == ("base", 2.0, 0.0, "revolute")
    disc = fa.reaction_wheel("wheel", (0, 0, 1), 0.03, mass=2.0, placement=fa.Pose(xyz=(1, 2, 3)))
    np.testing.assert_allclose(disc.body.inertia, np.diag([0.015, 0.015, 0.03]))
    assert disc.placement.xyz == (1.0, 2.0, 3.0)
    assert fa.reaction_wheel("wheel", axis, 0.03, mass=2.0, transverse=0.0).body.inertia[1] == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"axis": (1, 1, 0)}, "Revolute: axis is"),
        ({"inertia": 0.0}, "reaction_wheel: inertia is 0.0 kg m^2; it must be positive"),
        ({"inertia": "much"}, "reaction_wheel: inertia is 'much'; it must be a number in kg m^2"),
        ({"transverse": -1.0}, "reaction_wheel: transverse is -1.0 kg m^2; it must be zero or positive"),
        ({"mass": -1.0}, "Rigid: mass is -1.0 kg; it must be positive"),
        ({"name": "a b"}, "link 'a b': name is 'a b'"),
        ({"placement": 3}, "link 'wheel': placement is 3"),
    ],
)
def test_a_wheel_that_cannot_be_is_refused(wrong, message):
    given = {"name": "wheel", "axis": (0, 0, 1), "inertia": 0.1, "mass": 2.0} | wrong
    with pytest.raises(DescriptionError) as raised:
        fa.reaction_wheel(**given)
    assert str(raised.value).startswith(message) and "\n" not in str(raised.value)


def test_torque_on_a_wheel_turns_the_bus_the_other_way():
    """About a principal axis through the centre of mass: bus -torque t / (I - J), wheel beside it the sum of both."""
    I, J, torque, until = 12.0, 0.05, 0.3, 8.0
    wheel = fa.reaction_wheel("wheel", (0, 0, 1), J, mass=3.0, placement=fa.Pose(xyz=(0, 0, 0.4)))
    arm = wheeled(wheel, mass=80.0, inertia=(10.0, 11.0, I - J))
    assert arm.inputs == ("wheel.joint",) and arm.input_units == ("N m",)
    model = fa.Model(arm)
    run = fa.simulate(model, until, u=[torque], samples=9, **EXACT)
    bus = -torque * run.time.values / (I - J)
    np.testing.assert_allclose(of(run, arm, "base.wz"), bus, atol=1e-11)
    np.testing.assert_allclose(
        of(run, arm, "wheel.joint"), torque * run.time**2 / 2 * (1 / J + 1 / (I - J)), rtol=1e-10
    )
    np.testing.assert_allclose(attitudes(run), spun(np.outer(bus * run.time.values / 2, [0, 0, 1])), atol=1e-10)
    assert np.abs(model.momentum(run.q.values, run.qd.values)).max() < KEPT


TOP = {"mass": 50.0, "inertia": (10.0, 10.0, 6.0)}
SPIN, ROTOR, ACROSS, HEIGHT, HEAVY = 200.0, 0.08, 0.05, 0.3, 4.0


def top(**base):
    """A bus of two equal moments of inertia with a wheel on its axis z; all moments about the common centre of mass."""
    wheel = fa.reaction_wheel(
        "wheel", (0, 0, 1), ROTOR, mass=HEAVY, transverse=ACROSS, placement=fa.Pose(xyz=(0, 0, HEIGHT))
    )
    arm = wheeled(wheel, **TOP, **base)
    apart = TOP["mass"] * HEAVY / (TOP["mass"] + HEAVY) * HEIGHT**2
    return arm, TOP["inertia"][0] + ACROSS + apart, TOP["inertia"][2] + ROTOR


def centred(arm, e, w):
    """Of a top whose centre of mass stands at the world's origin: q and the base's velocity."""
    c = np.array([0.0, 0.0, HEAVY * HEIGHT / (TOP["mass"] + HEAVY)])
    return [*(-quaternions.rotation(e) @ c), *e], -np.cross(w, c)


def test_a_bus_with_a_spinning_wheel_precesses_about_its_momentum():
    """An axisymmetric gyrostat: A and C its moments of inertia across and along z, h = J (w_3 + spin) - J w_3 what the
    wheel adds. w_1 + i w_2 turns with lambda = ((C - A) w_3 + J spin) / A, and R = exp(t L / A) R_0 exp(-lambda t e_z).
    """
    arm, A, C = top()
    e = quaternions.quaternion(np.array([0.3, -0.5, 0.9]))
    w = np.array([0.4, -0.2, 0.15])
    pose, v = centred(arm, e, w)
    q0, qd0 = [*pose, 0.0], [*v, *w, SPIN]
    times = np.linspace(0, 12.0, 61)
    model = fa.Model(arm)
    run = fa.simulate(model, times[-1], q0=q0, qd0=qd0, samples=len(times), **EXACT)

    rate = ((C - A) * w[2] + ROTOR * SPIN) / A
    turned = (w[0] + 1j * w[1]) * np.exp(1j * rate * times)
    np.testing.assert_allclose(run.qd.values[:, 3:6].T, [turned.real, turned.imag, 0 * times + w[2]], atol=1e-8)
    np.testing.assert_allclose(of(run, arm, "wheel.joint"), SPIN * times, rtol=1e-10)
    R0 = quaternions.rotation(e)
    L = R0 @ [A * w[0], A * w[1], C * w[2] + ROTOR * SPIN]
    expected = spun(np.outer(times, L / A)) @ R0 @ spun(np.outer(-rate * times, [0, 0, 1]))
    np.testing.assert_allclose(attitudes(run), expected, atol=1e-8)
    np.testing.assert_allclose(
        model.momentum(run.q.values, run.qd.values)[:, 3:], np.tile(L, (len(times), 1)), atol=1e-8
    )


def test_a_steady_torque_across_a_spinning_wheel_makes_the_bus_precess_about_the_third_axis():
    """M about x of the bus, h = J spin: w_1 = M / h sin(nu t), w_2 = M / h (1 - cos(nu t)), nu = h / A; on the average
    the bus turns with M / h about y: Euler's equations as they are, for w_3 stays zero."""
    torque = fa.Thruster(name="coil", direction=(1, 0, 0), kind="torque")
    arm, A, _ = top(thrusters=[torque])
    pose, v = centred(arm, np.array([1.0, 0, 0, 0]), np.zeros(3))
    M, h, times = 0.7, ROTOR * SPIN, np.linspace(0, 10.0, 41)
    assert arm.inputs == ("wheel.joint", "base.coil")
    run = fa.simulate(
        fa.Model(arm), times[-1], u=[0.0, M], q0=[*pose, 0.0], qd0=[*v, 0, 0, 0, SPIN], samples=len(times), **EXACT
    )
    nu = h / A
    expected = M / h * np.stack([np.sin(nu * times), 1 - np.cos(nu * times), 0 * times], axis=1)
    np.testing.assert_allclose(run.qd.values[:, 3:6], expected, atol=1e-9)


def test_an_arm_that_is_held_has_the_momentum_of_what_moves():
    """A rod that turns about its end: m w L / 2 across it, and m w L^2 / 3 about the end."""
    rod = fa.Link(name="rod", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=2.0, mass=3.0))
    found = fa.Model(fa.Arm(name="rod", links=[rod])).momentum([0.5], [0.7])
    across = 3.0 * 0.7 * np.array([-np.sin(0.5), np.cos(0.5), 0.0])
    np.testing.assert_allclose(found, [*across, 0.0, 0.0, 3.0 * 0.7 * 4.0 / 3.0], rtol=1e-14)
