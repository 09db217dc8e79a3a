"""The equations of motion: against an independent Lagrangian and Pinocchio, identities, limits, convergence, cost.

Quantities are evaluated by CasADi's virtual machine, which needs no compiling; that native code gives the same numbers
is tested in test_model.py, and once here for the accelerations.
"""

import operator
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from compared import ACCELERATIONS, DIFFERENCES, FORCES, assert_close, kinds, slope, values, vector
from long_arms import long_arm
from mpmath import mp
from oracle import Lagrangian
from pinocchio_arms import pinocchio_arm, symmetric
from random_arms import PLAIN, random_arm, random_state
from scipy.spatial.transform import Rotation

import flexarm as fa
from flexarm import shapes
from flexarm.mechanics import quantities
from flexarm.mechanics.chain import chain
from flexarm.mechanics.moving import moving
from flexarm.mechanics.spatial import entries, is_zero
from flexarm.native.program import operations
from flexarm.shapes import DEFAULTS

FAMILIES = [
    {"family": "clamped-mass", "mass": 0.3, "inertia": 0.02, "first_moment": 0.01},
    {"family": "clamped-loaded", "mass": 0.2},
    "clamped-pinned",
    "polynomial",
    "hermite",
]
BY_DIRECTION = [
    {"y": "polynomial", "z": "clamped-mass", "torsion": "fixed-loaded", "axial": "polynomial"},
    {"y": "pinned-pinned", "z": "clamped-free", "torsion": "linear-elements", "axial": "fixed-loaded"},
    {"z": "hermite", "torsion": "polynomial", "axial": "linear-elements"},
]
ARMS = {
    "general": [{"seed": seed} for seed in (1, 3, 7, 20)],
    "planar": [{"seed": seed, "planar": True} for seed in (24, 31)],
    "elastic": [{"seed": seed, "elastic": True} for seed in (32, 35)],
    "telescope": [{"seed": seed, "telescope": True} for seed in (40, 42, 45)],
    "paper": [{"seed": seed, "telescope": True, "convection": "paper"} for seed in (46, 47)],
    "twisting": [{"seed": seed, "telescope": True, "twisting": True} for seed in (100, 102)],
    "twisting, paper": [{"seed": 104, "telescope": True, "twisting": True, "convection": "paper"}],
    "absolute": [{"seed": seed, "rotor": "absolute", "telescope": seed % 2 == 0} for seed in range(48, 52)],
    "foreshortening": [{"seed": seed, "foreshortening": True} for seed in (54, 55)],
    "foreshortening, chord": [{"seed": 106, "foreshortening": True, "chord": True}],
    "chord": [{"seed": seed, "chord": True, "telescope": seed == 57} for seed in (57, 58)],
    "tapered": [{"seed": 59, "tapered": True, "links": 2}],
    "pinned": [{"seed": seed, "families": ["pinned-pinned", "pinned-free"]} for seed in (60, 62)],
    "families": [{"seed": seed, "families": FAMILIES, "foreshortening": True} for seed in (63, 65, 66)],
    "directions": [{"seed": seed, "families": BY_DIRECTION, "foreshortening": seed == 69} for seed in (69, 70, 71, 73)],
    "default": [{"seed": seed, "families": [DEFAULTS], "tapered": seed == 81} for seed in (79, 81)],
    "default, telescope": [{"seed": 83, "families": [DEFAULTS], "telescope": True}],
    "directions, tapered": [{"seed": 75, "families": BY_DIRECTION, "tapered": True}],
    "directions, telescope": [{"seed": 77, "families": [{"y": "polynomial", "z": "clamped-mass"}], "telescope": True}],
}
"""Seeds are chosen so that every kind of joint, drive, body and family of shapes is drawn, after each kind of link."""
CASES = [pytest.param(options, id=f"{name}-{options['seed']}") for name, group in ARMS.items() for options in group]


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """An arm, its model, its oracle and a state; what is traced for one test serves the next."""
    options = dict(request.param)
    seed = options.pop("seed")
    arm = random_arm(seed, **options)
    q, qd, u = random_state(arm, seed)
    qdd = np.random.default_rng(seed).normal(size=len(q))
    model = fa.Model(arm)
    return SimpleNamespace(arm=arm, model=model, oracle=Lagrangian(arm), q=q, qd=qd, u=u, qdd=qdd)


# -- against the Lagrangian of positions alone -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["forward_dynamics", "forward_dynamics_dense"])
def test_accelerations(case, name):
    found = vector(case.model, name, case.q, case.qd, case.u)
    expected = case.oracle.forward_dynamics(case.q, case.qd, case.u)
    for kind in kinds(case.arm):
        assert_close(found[kind], expected[kind], ACCELERATIONS)


def test_forces(case):
    model, oracle, q, qd, qdd = case.model, case.oracle, case.q, case.qd, case.qdd
    assert model.coordinates == oracle.coordinates
    assert_close(vector(model, "inverse_dynamics", q, qd, qdd), oracle.inverse_dynamics(q, qd, qdd), FORCES)
    assert_close(vector(model, "bias", q, qd), oracle.bias(q, qd), FORCES)
    assert_close(vector(model, "gravity_force", q), oracle.gravity_force(q), FORCES)
    assert_close(vector(model, "stiffness_force", q), oracle.stiffness_force(q), FORCES)
    assert_close(vector(model, "damping_force", q, qd), oracle.damping_force(q, qd), FORCES)
    restoring = oracle.gravity_force(q) + oracle.stiffness_force(q)
    assert_close(vector(model, "restoring_force", q), restoring, FORCES)


def test_matrices(case):
    model, oracle, q = case.model, case.oracle, case.q
    M = values(model, "mass_matrix", q)
    assert_close(M, oracle.mass_matrix(q), FORCES)
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0
    assert_close(values(model, "input_matrix", q), oracle.input_matrix(q), FORCES)
    assert_close(values(model, "tip", q), oracle.tip(q), FORCES)


def test_energies(case):
    T, V = case.oracle.energy(case.q, case.qd)
    found = vector(case.model, "energy", case.q, case.qd)
    assert_close(found, [T, V], FORCES)
    assert_close(found[0], case.qd @ case.oracle.mass_matrix(case.q) @ case.qd / 2, FORCES)


@pytest.mark.parametrize("seed", [3, 6, 7])
def test_state_rate(seed):
    """What a simulation integrates: the accelerations, and the power of the inputs and of the dampers beside them."""
    arm = random_arm(seed)
    q, qd, u = random_state(arm, seed)
    model, oracle, n = fa.Model(arm), Lagrangian(arm), len(q)
    rate = vector(model, "state_rate", q, qd, u)
    np.testing.assert_array_equal(rate[:n], qd)
    assert_close(rate[n:-2], oracle.forward_dynamics(q, qd, u), ACCELERATIONS)
    assert_close(rate[-2:], [qd @ oracle.input_matrix(q) @ u, qd @ oracle.damping_force(q, qd)], FORCES)


@pytest.mark.parametrize("seed", [2, 7, 33])
def test_native_accelerations(seed):
    arm = random_arm(seed)
    q, qd, u = random_state(arm, seed)
    expected = Lagrangian(arm).forward_dynamics(q, qd, u)
    model = fa.Model(arm)
    for found in (model.forward_dynamics(q, qd, u), model.forward_dynamics(q[None], qd, u)[0]):
        for kind in kinds(arm):
            assert_close(found[kind], expected[kind], ACCELERATIONS)


# -- identities --------------------------------------------------------------------------------------------------------


def test_inverse_dynamics_undoes_forward_dynamics(case):
    model, q, qd, u = case.model, case.q, case.qd, case.u
    qdd = vector(model, "forward_dynamics", q, qd, u)
    M = values(model, "mass_matrix", q)
    force = vector(model, "inverse_dynamics", q, qd, qdd)
    # each row is a sum of terms as large as |M| |qdd|, which cancel
    assert_close(force, values(model, "input_matrix", q) @ u, FORCES, scale=np.max(np.abs(M) @ np.abs(qdd)))


def test_mass_matrix_is_the_slope_of_inverse_dynamics(case):
    model, q, qd, qdd = case.model, case.q, case.qd, case.qdd
    still = vector(model, "inverse_dynamics", q, qd, np.zeros(len(q)))
    difference = vector(model, "inverse_dynamics", q, qd, qdd) - still
    M = values(model, "mass_matrix", q)
    assert_close(difference, M @ qdd, FORCES, scale=np.max(np.abs(still)))


def test_mass_rate_minus_twice_coriolis_is_skew(case):
    """C = 1/2 d(bias)/d(qd) (Lin & Lewis, theorem 1); the difference quotient of a quadratic function is exact."""
    model, q, qd = case.model, case.q, case.qd
    rate = slope(lambda s: values(model, "mass_matrix", q + s * qd))
    step = np.eye(len(q))
    C = np.column_stack([(vector(model, "bias", q, qd + e) - vector(model, "bias", q, qd - e)) / 4 for e in step])
    assert_close(C @ qd, vector(model, "bias", q, qd), FORCES, scale=np.max(np.abs(C)))
    skew = rate - 2 * C
    assert_close(skew + skew.T, np.zeros_like(skew), DIFFERENCES, scale=np.max(np.abs(C)))


def test_power_is_the_rate_of_energy(case):
    model, q, qd, u = case.model, case.q, case.qd, case.u
    qdd = vector(model, "forward_dynamics", q, qd, u)
    step = 1 / max(1.0, np.max(np.abs(qdd)))  # qdd may be large where a mode is stiff
    found = slope(lambda s: vector(model, "energy", q + s * step * qd, qd + s * step * qdd).sum()) / step
    supplied = qd @ (values(model, "input_matrix", q) @ u - vector(model, "damping_force", q, qd))
    assert abs(found - supplied) < DIFFERENCES * np.abs(vector(model, "energy", q, qd)).sum() / step


def test_forces_are_slopes_of_the_potential(case):
    model, q, qd = case.model, case.q, case.qd
    V = vector(model, "energy", q, qd)[1]
    found = np.array([slope(lambda s, e=e: vector(model, "energy", q + s * e, qd)[1]) for e in np.eye(len(q))])
    assert_close(found, vector(model, "restoring_force", q), DIFFERENCES, scale=abs(V))


def test_deflections_lead_from_frame_to_frame(case):
    """Each link's tip functions, its length and the placement after it make the next frame at a joint at rest."""
    model, arm, q = case.model, case.arm, case.q.copy()
    joints = [link.joint for link in arm.links if link.joint.type != "fixed"]
    lengths = [x if joint.type == "telescope" else 0.0 for joint, x in zip(joints, q, strict=False)]
    q[: len(joints)] = lengths
    free = iter(x for x in lengths if x)
    frames = values(model, "frames", q).reshape(4, -1, 4).swapaxes(0, 1)
    moved = values(model, "deflections", q)
    T = pose(arm.links[0].placement.xyz, arm.links[0].placement.rotation)
    for i, link in enumerate(arm.links):
        assert_close(frames[i], T, FORCES)
        x, y, z, slope_y, slope_z, torsion = moved[i]
        turned = Rotation.from_euler("ZYX", [slope_y, -slope_z, torsion]).as_matrix()
        length = next(free) if link.joint.type == "telescope" else link.body.length
        T = T @ pose([length + x, y, z], turned)
        if i + 1 < len(arm.links):
            after = arm.links[i + 1].placement
            T = T @ pose(after.xyz, after.rotation)
    assert_close(frames[-1], T, FORCES)
    assert_close(values(model, "tip", q), T, FORCES)


def pose(p, R):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


@pytest.mark.parametrize("seed", range(5))
def test_turning_base_and_gravity_changes_nothing(seed):
    arm = random_arm(seed)
    q, qd, u = random_state(arm, seed)
    turn = Rotation.from_euler("ZYX", [0.7, -0.4, 1.2])
    first = arm.links[0]
    placement = fa.Pose(
        xyz=turn.apply(first.placement.xyz),
        rpy=(turn * Rotation.from_matrix(first.placement.rotation)).as_euler("ZYX")[::-1],
    )
    links = (first.replace(placement=placement), *arm.links[1:])
    turned, model = fa.Model(arm.replace(links=links, gravity=turn.apply(arm.gravity))), fa.Model(arm)
    before, after = (vector(m, "forward_dynamics", q, qd, u) for m in (model, turned))
    for kind in kinds(arm):
        assert_close(after[kind], before[kind], ACCELERATIONS)
    assert_close(values(turned, "tip", q)[:3], turn.as_matrix() @ values(model, "tip", q)[:3], FORCES)


def test_a_link_cut_in_two_is_the_same_link():
    """A rigid link, and its two halves held together by a fixed joint."""
    whole = random_arm(3, rigid=True, links=3)
    link = whole.links[1]
    body = link.body.replace(length=1.0, mass=2.0, com=None, inertia=None)
    half = body.replace(length=0.5, mass=1.0)
    one = whole.replace(links=[whole.links[0], link.replace(body=body), whole.links[2]])
    rest = fa.Link(name="rest", joint=fa.Fixed(), body=half)
    two = whole.replace(links=[whole.links[0], link.replace(body=half), rest, whole.links[2]])
    q, qd, u = random_state(one, 3)
    cut, uncut = (vector(fa.Model(arm), "forward_dynamics", q, qd, u) for arm in (two, one))
    assert_close(cut, uncut, ACCELERATIONS)


# -- other coordinates, the same motion --------------------------------------------------------------------------------


class Mixed:
    """The clamped-free shapes, mixed: phi A. No two are orthogonal, in mass or in stiffness."""

    A = np.array([[1.0, 0.4], [-0.3, 0.8]])

    def basis(self, count):
        def mixed(x, derivative):
            return shapes.ClampedFree().basis(count).values(x, derivative) @ self.A[:count, :count]

        return shapes.Basis(count, mixed)


@pytest.mark.parametrize("seed", [0, 2])
def test_mixed_mode_shapes_give_the_same_motion(seed):
    """eta = A eta_mixed, so M_mixed = A' M A and so on; the modes keep their damping ratios."""
    arm = random_arm(seed)
    q, qd, u = random_state(arm, seed)
    mixed = PLAIN | {"y": Mixed(), "z": Mixed()}
    bodies = [b if b.type == "rigid" else b.replace(shapes=mixed) for b in (link.body for link in arm.links)]
    links = [link.replace(body=body) for link, body in zip(arm.links, bodies, strict=True)]
    model, other = fa.Model(arm), fa.Model(arm.replace(links=links))
    A = np.eye(len(q))
    for link in arm.links:
        for d in ("y", "z"):
            own = [i for i, name in enumerate(arm.coordinates) if name.startswith(f"{link.name}.{d}")]
            A[np.ix_(own, own)] = Mixed.A[: len(own), : len(own)]
    assert not np.array_equal(A, np.eye(len(q)))
    p, pd = np.linalg.solve(A, q), np.linalg.solve(A, qd)
    assert_close(values(other, "mass_matrix", p), A.T @ values(model, "mass_matrix", q) @ A, FORCES)
    for name in ("stiffness_force", "damping_force", "bias"):
        count = len(model.function(name).name_in())
        before, after = vector(model, name, *(q, qd)[:count]), vector(other, name, *(p, pd)[:count])
        assert_close(after, A.T @ before, FORCES)
    for name in ("forward_dynamics", "forward_dynamics_dense"):
        expected = vector(model, name, q, qd, u)
        found = A @ vector(other, name, p, pd, u)
        for kind in kinds(arm):
            assert_close(found[kind], expected[kind], ACCELERATIONS)


@pytest.mark.parametrize("seed", [0, 2])
def test_curved_coordinates_give_the_same_motion(seed):
    """eta = xi + xi^2 / 2: links whose inertia, strain and tip are no longer linear in their coordinates."""
    arm = random_arm(seed, damping=False, elastic=False)
    straight = chain(arm)
    curved = replace(straight, bodies=tuple(curved_body(body) for body in straight.bodies))
    p, pd, u = random_state(arm, seed)
    flexible = kinds(arm)[1]
    scale, rate = np.where(flexible, 1 + p, 1.0), np.where(flexible, pd, 0.0)  # d eta/d xi, and how fast it grows
    q, qd = np.where(flexible, p + p**2 / 2, p), scale * pd
    for dynamics in (quantities.forward_dynamics, quantities.forward_dynamics_dense):

        def bare(chain, q, qd, u, dynamics=dynamics):
            return dynamics(chain, q, qd, [], u, [])

        expected = evaluated(bare, straight, q, qd, u)
        found = scale * evaluated(bare, curved, p, pd, u) + rate * pd
        for kind in kinds(arm):
            assert_close(found[kind], expected[kind], ACCELERATIONS)


def curved_body(body):
    def eta(xi):
        return [x + x * x / 2 for x in xi]

    def inertia(xi):
        scale = [1.0] * 7 + [1 + x for x in xi]
        M = body.inertia(eta(xi))
        return [[scale[r] * M[r][c] * scale[c] for c in range(len(M))] for r in range(len(M))]

    return replace(
        body,
        inertia=inertia,
        potential=lambda q, xi: body.potential(q, eta(xi)),
        tip=lambda xi: body.tip(eta(xi)),
    )


def evaluated(quantity, chain, *arguments):
    """A quantity of a chain, as numbers."""
    symbols = [ca.SX.sym("x", len(x)) for x in arguments]
    expression = quantity(chain, *([x[i] for i in range(x.numel())] for x in symbols))
    return np.array(ca.Function("f", symbols, [ca.vertcat(*expression)])(*arguments)).ravel()


# -- another library ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_rigid_arms_agree_with_pinocchio(seed):
    pin = pytest.importorskip("pinocchio")
    arm = random_arm(seed, rigid=True)
    theirs, tip, rotors = pinocchio_arm(pin, arm)
    data = theirs.createData()
    q, qd, u = random_state(arm, seed)
    qdd = np.random.default_rng(seed).normal(size=len(q))
    model = fa.Model(arm)
    loss = vector(model, "damping_force", q, qd)
    M = symmetric(pin.crba(theirs, data, q)) + np.diag(rotors)
    assert_close(values(model, "mass_matrix", q), M, FORCES)
    force = pin.rnea(theirs, data, q, qd, qdd) + rotors * qdd + loss
    assert_close(vector(model, "inverse_dynamics", q, qd, qdd), force, FORCES)
    weight = pin.computeGeneralizedGravity(theirs, data, q).copy()
    assert_close(vector(model, "gravity_force", q), weight, FORCES)
    pin.forwardKinematics(theirs, data, q)
    assert_close(values(model, "tip", q), (data.oMi[theirs.njoints - 1] * tip).homogeneous, FORCES)
    theirs.armature = rotors
    assert_close(model.forward_dynamics(q, qd, u), pin.aba(theirs, data, q, qd, u - loss), ACCELERATIONS)


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_stiff_arm_moves_as_the_rigid_one(seed):
    """Where the links' vibrations are at rest (eta'' = eta' = 0) joints accelerate as the rigid arm's, to O(1 / EI)."""
    arm = random_arm(seed, elastic=False)
    q, qd, u = random_state(arm, seed)
    joint, flexible = kinds(arm)
    rigid = fa.Model(arm.rigid())
    assert_close(values(fa.Model(arm), "tip", q * joint), values(rigid, "tip", q[joint]), FORCES)
    expected = vector(rigid, "forward_dynamics", q[joint], qd[joint], u)
    errors, sizes = [], []
    for factor in (1e5, 2e5):
        q, qdd = at_rest(fa.Model(stiffened(arm, factor)), q * joint, qd * joint, u, joint)
        errors.append(np.linalg.norm(qdd[joint] - expected))
        sizes.append(np.linalg.norm(q[flexible]))
    np.testing.assert_allclose([errors[0] / errors[1], sizes[0] / sizes[1]], 2.0, rtol=1e-3)
    assert errors[1] < 1e-3 * np.linalg.norm(expected)


def at_rest(model, q, qd, u, joint):
    """Flexible coordinates in balance with the motion: those that do not accelerate, and all accelerations then."""
    K = np.array([vector(model, "stiffness_force", e) for e in np.eye(len(q))])[np.ix_(~joint, ~joint)]
    q, qdd = q.copy(), np.zeros(len(q))
    for _ in range(8):
        M = values(model, "mass_matrix", q)
        rest = vector(model, "inverse_dynamics", q, qd, np.zeros(len(q))) - vector(model, "stiffness_force", q)
        qdd[joint] = np.linalg.solve(M[np.ix_(joint, joint)], u - rest[joint])
        q[~joint] = -np.linalg.solve(K, M[np.ix_(~joint, joint)] @ qdd[joint] + rest[~joint])
    return q, vector(model, "forward_dynamics", q, qd, u)


def stiffened(arm, factor):
    def body(b):
        if b.type == "rigid":
            return b
        EI = {d: factor * b.stiffness[d] for d in ("y", "z") if d in b.stiffness}
        GJ, EA = (factor * b.stiffness[d] if d in b.stiffness else None for d in ("torsion", "axial"))
        return b.replace(EI=EI, GJ=GJ, EA=EA)

    return arm.replace(links=[link.replace(body=body(link.body)) for link in arm.links])


@pytest.mark.parametrize("seed", range(6))
def test_elastic_joints_wound_up_by_the_load_move_as_rigid_ones(seed):
    """With springs wound so that motor and joint accelerate alike, the arm is the one without springs."""
    arm = random_arm(seed, rigid=True, elastic=True)
    plain = arm.rigid()
    n = len(plain.coordinates)
    q, qd, u = random_state(plain, seed)
    moving = [link.joint for link in arm.links if link.joint.type != "fixed"]
    k = np.array([joint.stiffness for joint in moving])
    J = np.array([joint.gear_ratio**2 * joint.rotor_inertia for joint in moving])
    expected = vector(fa.Model(plain), "forward_dynamics", q, qd, u)
    wound = q + (u - J * expected) / k
    found = vector(fa.Model(arm), "forward_dynamics", np.append(q, wound), np.append(qd, qd), u)
    assert_close(found[:n], expected, ACCELERATIONS)
    assert_close(found[n:], expected, ACCELERATIONS)


def test_stiff_joints_give_the_frequencies_of_rigid_ones():
    """Motors held: frequencies approach those of the arm with locked rigid joints from below, to O(1 / k)."""
    arm = random_arm(1, elastic=True, links=2)
    q, _, _ = random_state(arm, 1)
    plain = arm.replace(links=[link.replace(joint=rigid_joint(link.joint)) for link in arm.links])
    n = len(plain.coordinates)
    locked = fa.Model(plain).frequencies(q[:n])
    errors = []
    for factor in (1e4, 2e4):
        joints = [link.joint.replace(stiffness=factor * link.joint.stiffness) for link in arm.links]
        stiff = [link.replace(joint=joint) for link, joint in zip(arm.links, joints, strict=True)]
        low = fa.Model(arm.replace(links=stiff)).frequencies(q)[: len(locked)]
        assert np.all(low < locked)
        errors.append((locked - low) / locked)
    np.testing.assert_allclose(errors[0] / errors[1], 2.0, rtol=2e-2)
    assert np.max(errors) < 1e-2


def rigid_joint(joint):
    return joint.replace(stiffness=None, spring_damping=0.0)


# -- frequencies of a single beam --------------------------------------------------------------------------------------

LENGTH, MASS, STIFFNESS = 1.3, 0.8, 4.0
UNIT = np.sqrt(STIFFNESS / (MASS / LENGTH)) / LENGTH**2  # omega = beta^2 UNIT


def single(joint, modes, payload=None, **more):
    body = fa.Beam(length=LENGTH, mass=MASS, EI=STIFFNESS, modes=modes, **{"shapes": PLAIN} | more)
    return fa.Model(fa.Arm(name="one", links=[fa.Link(name="link", joint=joint, body=body)], payload=payload))


def roots(f, low, count):
    """The first roots of f above `low`, one in each interval of a quarter where it changes sign."""
    found, a = [], mp.mpf(low)
    while len(found) < count:
        if f(a) * f(a + 0.25) < 0:
            found.append(float(mp.findroot(f, (a, a + 0.25), solver="anderson")))
        a += 0.25
    return np.array(found)


def test_a_clamped_beam():
    beta = roots(lambda b: mp.cos(b) * mp.cosh(b) + 1, 0.1, 3)
    polar = 0.004
    model = single(fa.Fixed(), {"y": 3, "z": 2, "torsion": 2, "axial": 1}, GJ=3.0, EA=90.0, polar_inertia=polar)
    rod = np.pi / 2 / LENGTH
    expected = np.concatenate([
        beta**2 * UNIT,
        beta[:2] ** 2 * UNIT,
        rod * np.array([1, 3]) * np.sqrt(3.0 / polar),
        [rod * np.sqrt(90.0 * LENGTH / MASS)],
    ])  # fmt: skip
    np.testing.assert_allclose(model.frequencies(np.zeros(8)), np.sort(expected), rtol=1e-12)


def converging(models, expected, factor):
    """Frequencies of arms with 1, 2, 4, ... modes fall towards the exact ones (Rayleigh), each time closer."""
    errors = []
    for model in models:
        q = np.zeros(len(model.coordinates))
        found = model.frequencies(q, locked=not model.inputs)[-(len(q) - len(model.inputs)) :][: len(expected)]
        errors.append(found / expected - 1)
    errors = np.array(errors)
    assert np.all(errors > 0)
    assert np.all(errors[1:] < errors[:-1] * factor)
    return errors


def test_a_beam_on_a_free_joint():
    """tan b = tanh b: pinned at the joint, free at the tip; and one turn as a whole at frequency 0."""
    beta = roots(lambda b: mp.sin(b) * mp.cosh(b) - mp.cos(b) * mp.sinh(b), 3.0, 2)
    np.testing.assert_allclose(beta, [3.9266, 7.0686], atol=1e-4)
    models = [single(fa.Revolute(), {"y": count}) for count in (2, 4, 8, 16)]
    assert models[0].frequencies(np.zeros(3), locked=False)[0] == 0.0
    errors = converging(models, beta**2 * UNIT, 0.5)
    assert np.all(errors[-1] < 0.01)


@pytest.mark.parametrize("ratio", [0.2, 1.0, 5.0])
def test_a_clamped_beam_with_a_mass_at_its_tip(ratio):
    def equation(b):
        return 1 + mp.cos(b) * mp.cosh(b) + ratio * b * (mp.cos(b) * mp.sinh(b) - mp.sin(b) * mp.cosh(b))

    beta = roots(equation, 0.1, 2)
    payload = fa.Payload(mass=ratio * MASS)
    models = [single(fa.Fixed(), {"z": count}, payload) for count in (2, 4, 8, 16)]
    errors = converging(models, beta**2 * UNIT, 0.5)
    assert np.all(errors[-1] < [1e-4, 0.01])


def test_a_beam_that_sags():
    """A clamped beam under its own weight: m g L^4 / (8 EI) at the tip, to the sum of modes that are there."""
    g = 0.1
    body = fa.Beam(length=LENGTH, mass=MASS, EI=STIFFNESS, modes={"y": 12})
    arm = fa.Arm(name="sag", links=[fa.Link(name="link", joint=fa.Fixed(), body=body)], gravity=(0, -g, 0))
    model = fa.Model(arm)
    K = np.array([vector(model, "stiffness_force", e) for e in np.eye(12)])
    eta = -np.linalg.solve(K, vector(model, "gravity_force", np.zeros(12)))
    sag = values(model, "deflections", eta)[0, 1]
    assert sag == pytest.approx(-MASS / LENGTH * g * LENGTH**4 / (8 * STIFFNESS), rel=1e-4)


# -- cost --------------------------------------------------------------------------------------------------------------


@cache
def test_operations_of_eight_links():
    """Two modes in each of two planes, axes in turn. Mohan & Saha's table 1 has 17573; promised are 7500."""
    facts = long_arm(8, shapes="clamped-free").kernel("forward_dynamics").code.facts
    assert facts["multiplications"] + facts["additions"] <= 7500


def test_operations_with_the_default_shapes():
    """Modes with a load are orthogonal with it alone, and differ from plane to plane: a few products more."""
    plain, ours = (sum(operations(long_arm(8, **more).function("forward_dynamics"))) for more in (
        {"shapes": "clamped-free"}, {}))  # fmt: skip
    assert ours < 1.1 * plain


def test_operations_grow_linearly():
    counts = [sum(operations(long_arm(n, shapes="clamped-free").function("forward_dynamics"))) for n in (8, 12, 16)]
    assert counts[1] - counts[0] == counts[2] - counts[1]


# -- scalars -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", ["+", "-", "*", "/"])
@pytest.mark.parametrize("other", [2.5, 3, np.float64(0.7), np.int64(2), ca.SX.sym("y"), ca.DM(1.5)], ids=type)
def test_entries_of_a_column_calculate_as_casadi_does(sign, other):
    """On either side of what a recursion may meet; and the result goes on so."""
    x = ca.SX.sym("x", 2)
    work = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[sign]
    (quick, second), plain = entries(x), x[0]
    for found, expected in (
        (work(quick, other), work(plain, other)),
        (work(other, quick), work(other, plain)),
        (-work(work(quick, other), second), -work(work(plain, other), x[1])),
    ):
        assert isinstance(found, ca.SX)
        assert ca.is_equal(ca.SX(found), ca.SX(expected), 10)


def test_entries_of_a_column_of_numbers():
    """CasADi makes a DM of numbers alone, and leaves out what is zero."""
    column = ca.vertcat(0.0, 2.0)
    assert [float(x) for x in entries(column)] == [0.0, 2.0]
    sparse = ca.SX(3, 1)
    sparse[1] = ca.SX.sym("x")
    assert [is_zero(x) for x in entries(sparse)] == [True, False, True]
    assert is_zero(entries(column)[0] * entries(column)[1])


def test_what_is_found_of_a_body_is_its_own_and_its_places():
    """It is kept with the body, by the places: neither another body nor other places may get it."""
    beam = fa.Beam(length=1.2, mass=2.0, EI=100.0, modes={"y": 2})
    arm = fa.Arm(name="one", links=[fa.Link(name="only", joint=fa.Revolute(axis=(0.0, 0.0, 1.0)), body=beam)])
    body = chain(arm).bodies[0]
    heavier = replace(body, inertia=lambda eta: [[2.0 * x for x in row] for row in body.inertia(eta)])

    def found(of, places):
        eta = [0.3, 0.03, -0.02], [0.1, 0.2, 0.3]
        here = moving(of, places, *eta, [0.0, 0.0, 0.0, 0.0, 0.0, 0.5], [0.0, 0.0, 0.0])
        return np.array(here.M, dtype=float), np.array(here.h, dtype=float), np.array(here.s, dtype=float)

    M, h, s = found(body, (1.0,))
    assert [np.array_equal(a, b) for a, b in zip(found(body, (1.0,)), (M, h, s), strict=True)] == [True] * 3
    twice = found(heavier, (1.0,))
    assert twice[0] == pytest.approx(2.0 * M) and twice[1] == pytest.approx(2.0 * h) and np.array_equal(twice[2], s)
    assert found(body, (0.5, 1.0))[2][6:] == pytest.approx(s)
    assert found(body, (0.5,))[2][0] == pytest.approx(0.6) != s[0]
