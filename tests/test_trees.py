"""Trees and free bases: against the Lagrangian of positions alone, identities, invariances, limits, descriptions."""

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from compared import ACCELERATIONS, DIFFERENCES, assert_close, check_loads, kinds, slope, values, vector
from oracle import Lagrangian, load_beyond
from part_files import solid_of, solid_part
from random_arms import numbers, random_arm, random_state, unit
from random_trees import laced, random_tree
from rubbing import random_drives, random_signals, rubbing
from scipy.spatial.transform import Rotation
from varied_arms import quantity

import flexarm as fa
from flexarm.analysis.factorization import body_inertia, denoc, order, udu
from flexarm.attitude import configuration, local
from flexarm.model.drawing import STATIONS, drawing

AUTO = ["clamped-loaded", "clamped-mass", {"y": "craig-bampton", "z": "clamped-loaded", "torsion": "fixed-loaded"}]
FAMILIES = ["clamped-pinned", "polynomial", "hermite", "pinned-pinned", {"family": "clamped-mass", "mass": 0.3}]
TREES = {
    "general": [{"seed": 0}, {"seed": 0, "free": True}, {"seed": 3, "free": True}],
    "rigid": [{"seed": seed, "rigid": True, "free": free} for seed, free in ((6, False), (6, True), (7, True))],
    "elastic": [{"seed": 8, "elastic": True}],
    "telescope": [{"seed": 11, "telescope": True}],
    "twisting": [
        {"seed": 12, "telescope": True, "twisting": True, "convection": "paper", "elastic": True, "free": True}
    ],
    "absolute": [{"seed": 14, "rotor": "absolute", "elastic": False, "free": True}],
    "foreshortening": [
        {"seed": seed, "foreshortening": True, "chord": bool(seed % 2), "free": seed == 16} for seed in (15, 16)
    ],
    "auto": [{"seed": seed, "families": AUTO, "free": seed == 18} for seed in (17, 18)],
    "families": [{"seed": 21, "families": FAMILIES, "foreshortening": True, "free": True}],
    "tapered": [{"seed": 22, "tapered": True, "chord": True}],
    "bushy": [{"seed": 23, "links": 8, "rotor": "absolute", "free": True}],
}
"""Seeds are chosen so that every kind of joint, body and family is drawn; half of the trees are on a free base."""
CASES = [
    pytest.param(options, id=f"{'free' if options.get('free') else 'fixed'}-{name}-{options['seed']}")
    for name, group in TREES.items()
    for options in group
]


def same_accelerations(arm, found, expected, tolerance=ACCELERATIONS):
    for kind in kinds(arm):
        assert_close(found[kind], expected[kind], tolerance)


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """A tree, its model, its oracle and a state; what is traced for one test serves the next."""
    options = dict(request.param)
    seed = options.pop("seed")
    arm = random_tree(seed, **options)
    q, qd, u = random_state(arm, seed)
    qdd = np.random.default_rng(seed).normal(size=len(qd))
    return SimpleNamespace(arm=arm, model=fa.Model(arm), oracle=Lagrangian(arm), q=q, qd=qd, u=u, qdd=qdd)


# -- against the Lagrangian of positions alone -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["forward_dynamics", "forward_dynamics_dense"])
def test_accelerations(case, name):
    found = vector(case.model, name, case.q, case.qd, case.u)
    same_accelerations(case.arm, found, case.oracle.forward_dynamics(case.q, case.qd, case.u))


def test_forces(case):
    model, oracle, q, qd, qdd = case.model, case.oracle, case.q, case.qd, case.qdd
    assert (model.coordinates, model.velocities) == (oracle.coordinates, oracle.velocities)
    inverse = oracle.inverse_dynamics(q, qd, qdd)
    assert_close(vector(model, "inverse_dynamics", q, qd, qdd), inverse)
    assert_close(vector(model, "bias", q, qd), oracle.bias(q, qd), scale=np.abs(inverse).max())
    for name in ("gravity_force", "stiffness_force"):
        assert_close(vector(model, name, q), getattr(oracle, name)(q))
    assert_close(vector(model, "damping_force", q, qd), oracle.damping_force(q, qd))
    restoring = oracle.gravity_force(q) + oracle.stiffness_force(q)
    assert_close(vector(model, "restoring_force", q), restoring)


def test_matrices(case):
    model, oracle, q = case.model, case.oracle, case.q
    M = values(model, "mass_matrix", q)
    assert_close(M, oracle.mass_matrix(q))
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0
    assert_close(values(model, "input_matrix", q), oracle.input_matrix(q))


def test_places(case):
    q, frames = case.q, case.oracle.frames(case.q)
    assert_close(values(case.model, "frames", q), np.hstack(frames))
    assert_close(values(case.model, "tip", q), frames[-1])


def test_energies_and_momentum(case):
    model, oracle, q, qd = case.model, case.oracle, case.q, case.qd
    T, V = oracle.energy(q, qd)
    found = vector(model, "energy", q, qd)
    assert_close(found, [T, V])
    assert_close(found[0], qd @ oracle.mass_matrix(q) @ qd / 2)
    if case.arm.free:
        P, L = rotation_of(q) @ oracle.momentum(q, qd)[:6].reshape(2, 3, 1)
        expected = np.array([*P.ravel(), *(L.ravel() + np.cross(q[:3], P.ravel()))])
        assert_close(vector(model, "momentum", q, qd), expected)


def test_state_rate(case):
    """What a simulation integrates: N(q) v, the accelerations, powers of inputs and dampers beside them."""
    model, oracle, q, qd, u = case.model, case.oracle, case.q, case.qd, case.u
    q = q.copy()
    q[3:7] *= 1.1 if case.arm.free else 1.0  # of a quaternion that has drifted
    rate = vector(model, "state_rate", q, qd, u)
    expected = oracle.forward_dynamics(q, qd, u)
    same_accelerations(case.arm, rate[len(q) : -2], expected)
    assert_close(rate[-2:], [qd @ oracle.input_matrix(q) @ u, qd @ oracle.damping_force(q, qd)], scale=1.0)
    if not case.arm.free:
        np.testing.assert_array_equal(rate[: len(q)], qd)
        return
    np.testing.assert_array_equal(rate[7 : len(q)], qd[6:])
    R, v, w = rotation_of(q), qd[:3], qd[3:6]
    assert_close(rate[:3], R @ v)
    assert_close(slope(lambda s: rotation_of(q + s * rate[: len(q)])), R @ np.cross(np.eye(3), w), DIFFERENCES)
    e = q[3:7]
    assert_close(2 * e @ rate[3:7], 2 * (1 - e @ e) * (e @ e))  # its length goes to 1, from above and below


def rotation_of(q):
    """Of the base, whatever the quaternion's length."""
    return Rotation.from_quat(np.roll(q[3:7], -1)).as_matrix()


LACED = (
    {},
    {"rigid": True},
    {"elastic": True, "rotor": "absolute"},
    {"foreshortening": True, "chord": True},
    {"telescope": True, "twisting": True},
)
laces = pytest.mark.parametrize(
    ("seed", "options", "free"), [(30 + i, more, i % 2 == 0) for i, more in enumerate(LACED)]
)


@laces
def test_struts_couplings_and_forces(seed, options, free):
    """On every link a force, a moment or both, along the world's axes or its own; the account is whole."""
    arm = laced(random_tree(seed, free=free, links=3, **options), seed)
    model, oracle, (q, qd, u) = fa.Model(arm), Lagrangian(arm), random_state(arm, seed)
    assert len(arm.struts) == 2 and len(arm.forces) == len(arm.links)
    w = np.random.default_rng(seed).normal(size=len(arm.exogenous))
    expected = oracle.forward_dynamics(q, qd, u, w)
    for name in ("forward_dynamics", "forward_dynamics_dense"):
        same_accelerations(arm, vector(model, name, q, qd, u, w), expected)
    assert_close(vector(model, "stiffness_force", q), oracle.stiffness_force(q))
    assert_close(vector(model, "energy", q, qd), oracle.energy(q, qd))
    assert_close(values(model, "input_matrix", q), oracle.input_matrix(q))
    whole_account(model, q, qd, vector(model, "state_rate", q, qd, u, w))


def test_a_force_on_a_free_base():
    """Along the world's axes and its own; it has no stations, and no other base can be pushed."""
    seed = 46
    arm = random_tree(seed, free=True)
    forces = [
        fa.Force(name=f"pull{i}", link="base", axes=axes, kind=kind)
        for i, (axes, kind) in enumerate([("base", "wrench"), ("link", "force"), ("link", "moment")])
    ]
    pulled = arm.replace(forces=forces)
    model, oracle, (q, qd, u) = fa.Model(pulled), Lagrangian(pulled), random_state(arm, seed)
    w = np.random.default_rng(seed).normal(size=12)
    same_accelerations(arm, vector(model, "forward_dynamics", q, qd, u, w), oracle.forward_dynamics(q, qd, u, w))
    R = rotation_of(q)
    expected = [*(R.T @ w[:3] + w[6:9]), *(R.T @ w[3:6] + w[9:])]
    assert_close(oracle.pushed(q, w)[:6], expected)
    whole_account(model, q, qd, vector(model, "state_rate", q, qd, u, w))
    for bad, said in (
        (arm.replace, "force 'pull': at is 0.5; the base has no length, so leave out at"),
        (arm.replace(base=None).replace, "force 'pull': link is 'base'; the links are "),
    ):
        with pytest.raises(fa.DescriptionError) as caught:
            bad(forces=[fa.Force(name="pull", link="base", at=0.5)])
        assert str(caught.value).startswith(said)


def whole_account(model, q, qd, rate):
    """What energy gains is what is supplied less what is lost."""
    x, v = ca.SX.sym("q", len(q)), ca.SX.sym("qd", len(qd))
    total = ca.sum1(model.function("energy")(x, v))
    gained = ca.Function("E", [x, v], [ca.jtimes(total, ca.vertcat(x, v), ca.DM(rate[: len(q) + len(qd)]))])(q, qd)
    scale = max(1.0, abs(rate[-2]), abs(rate[-1]), np.abs(rate[len(q) : -2]).max())
    assert float(gained) == pytest.approx(rate[-2] - rate[-1], abs=1e-10 * scale)


def test_couplings_are_among_them():
    """The random arms of the test above have joints to couple."""
    arms = [laced(random_tree(30 + i, links=3, **more), 30 + i) for i, more in enumerate(LACED)]
    assert sum(len(arm.couplings) for arm in arms) >= 4


@pytest.mark.parametrize(
    ("seed", "options", "free"),
    [(40, {}, False), (40, {}, True), (41, {"elastic": True}, True), (42, {"telescope": True}, False)],
)
def test_drives(seed, options, free):
    """Friction, bristles and brakes in all joints of a tree, whose rates and powers are written down by hand."""
    arm = random_drives(random_tree(seed, free=free, **options), seed)
    model, oracle, (q, qd, u) = fa.Model(arm), Lagrangian(arm.without_drives()), random_state(arm, seed)
    s, w = random_signals(arm, seed)
    turned = local(arm, q)  # as long as rates are: what winds springs
    acting, rates, lost = rubbing(oracle, arm, turned, qd, s, u, w)
    expected = np.linalg.solve(
        oracle.mass_matrix(q), oracle.B @ u + acting - oracle.inverse_dynamics(q, qd, np.zeros(len(qd)))
    )
    rate = quantity(model, "state_rate", {"q": q, "qd": qd, "s": s, "u": u, "w": w}).ravel()
    same_accelerations(arm, rate[len(q) : len(q) + len(qd)], expected)
    assert_close(rate[len(q) + len(qd) : -2], rates, 1e-11)
    assert rate[-1] == pytest.approx(lost + qd @ oracle.damping_force(q, qd), rel=1e-10)


@pytest.mark.parametrize("free", [False, True])
def test_contacts(free):
    """Every link has one; the force by hand from where its station is and how fast it moves, along the world's axes."""
    seed = 45
    arm, rng = random_tree(seed, free=free, foreshortening=True), np.random.default_rng(seed)
    q, qd, u = random_state(arm, seed)
    at = dict(zip((link.name for link in arm.links), (0.5, 1.0, 0.25, 0.0, 0.75), strict=False))
    forces = [fa.Force(name=f"push{i}", link=name, at=x) for i, (name, x) in enumerate(at.items())]
    oracle = Lagrangian(arm.replace(forces=forces))
    contacts, given = [], []
    pushed = np.column_stack([oracle.pushed(q, e) for e in np.eye(3 * len(forces))])
    for i, (name, p) in enumerate(zip(at, oracle.places(q), strict=True)):
        n, v = unit(rng), pushed[:, 3 * i : 3 * i + 3].T @ qd
        wall = fa.Contact(
            name=f"wall{i}",
            link=name,
            at=at[name],
            radius=0.02,
            point=numbers(p + 0.01 * n),
            normal=numbers(n),
            stiffness=3e3,
            exponent=1.5,
            damping=0.05,
            friction=0.4,
            creep_rate=0.05,
        )
        contacts.append(wall)
        depth = wall.radius - n @ (p - wall.point)
        N = wall.stiffness * depth**1.5 * (1 - wall.damping * (n @ v))
        slip = v - n * (n @ v)
        assert N > 0
        given.append(N * n - wall.friction * N * slip / np.sqrt(slip @ slip + wall.creep_rate**2))
    model = fa.Model(arm.replace(contacts=contacts))
    expected = oracle.forward_dynamics(q, qd, u, np.concatenate(given))
    same_accelerations(arm, vector(model, "forward_dynamics", q, qd, u), expected)
    same_accelerations(arm, vector(model, "forward_dynamics_dense", q, qd, u), expected)
    whole_account(model, q, qd, vector(model, "state_rate", q, qd, u))


@pytest.mark.parametrize(
    ("seed", "options"), [(47, {}), (48, {"elastic": True, "rotor": "absolute"}), (49, {"telescope": True})]
)
def test_a_base_that_is_moved(seed, options):
    """A tree on a base that accelerates and turns: places that depend on time; the inertial forces' work is counted."""
    arm = random_tree(seed, **options)
    (q, qd, u), base = random_state(arm, seed), np.random.default_rng(seed).normal(size=(3, 3))
    other = Lagrangian(arm, base=base)
    w = np.concatenate([base[0], *other.base_turns])
    model = fa.Model(arm.replace(base=fa.MovingBase()))
    expected = other.forward_dynamics(q, qd, u)
    for name in ("forward_dynamics", "forward_dynamics_dense"):
        same_accelerations(arm, vector(model, name, q, qd, u, w), expected)
    whole_account(model, q, qd, vector(model, "state_rate", q, qd, u, w))


@pytest.mark.parametrize("free", [False, True])
def test_native_code_and_many_states_at_once(free):
    """The compiled functions of one state and of a row of states give what the expressions do."""
    seed = 52
    arm = random_tree(seed, free=free, links=3)
    model, states = fa.Model(arm), [random_state(arm, seed + i) for i in range(3)]
    q, qd, u = (np.array(x) for x in zip(*states, strict=True))
    expected = [vector(model, "forward_dynamics", *each) for each in states]
    for found in (model.forward_dynamics(q, qd, u), [model.forward_dynamics(*each) for each in states]):
        for one, each in zip(found, expected, strict=True):
            same_accelerations(arm, one, each)
    assert_close(model.mass_matrix(q)[1], values(model, "mass_matrix", q[1]))
    assert_close(model.tip(q)[2], values(model, "tip", q[2]))


@pytest.mark.parametrize("free", [False, True])
def test_what_is_drawn_stands_where_it_is(free):
    """Sections along all links and all frames, in the world."""
    seed = 53
    arm = random_tree(seed, free=free, foreshortening=True)
    at = np.linspace(0.0, 1.0, STATIONS)
    picked = [1, STATIONS // 3, STATIONS - 2]
    forces = [fa.Force(name=f"{link.name}{k}", link=link.name, at=float(at[k])) for link in arm.links for k in picked]
    oracle, (q, _, _) = Lagrangian(arm.replace(forces=forces)), random_state(arm, seed)
    stations, frames = drawing(fa.Model(arm))(q, 1.0)
    shown = np.array(stations).reshape(len(arm.links), STATIONS, -1)[:, picked, :3]
    assert_close(shown.reshape(-1, 3), oracle.places(q))
    assert_close(np.array(frames).reshape(-1, 3, 4), oracle.frames(q)[:, :3])


@pytest.mark.parametrize(("seed", "free"), [(54, False), (55, True)])
def test_factors_of_the_inertia_matrix(seed, free):
    """U D U', and the twists of all bodies: N' M N over the bodies."""
    arm = random_tree(seed, free=free, elastic=None)
    model, (q, _, _) = fa.Model(arm), random_state(arm, seed)
    P = list(order(model))
    M = Lagrangian(arm).mass_matrix(q)[np.ix_(P, P)]
    assert sorted(P) == list(range(len(arm.velocities)))
    for blocks in (False, True):
        U, D = udu(model, q, blocks=blocks)
        assert_close(U @ D @ U.T, M, 1e-11)
    N_l, N_d = denoc(model, q)
    N = N_l @ N_d
    assert_close(N.T @ body_inertia(model, q) @ N, M, 1e-11)


# -- bodies of other kinds ---------------------------------------------------------------------------------------------


def test_branches_of_a_beam_of_segments():
    """Its equations are exact to the third order (test_segments.py): so are those of what hangs half-way along it."""
    given = {"length": 1.0, "mass": 1.0, "EI": 1.0, "GJ": 0.7, "polar_inertia": 0.02}
    body = fa.Beam(segments=2, modes={"y": 2, "z": 1, "torsion": 1}, **given)
    rod = fa.Rigid(length=0.2, mass=0.3)
    links = [
        fa.Link(name="upper", joint=fa.Revolute(axis=(0, 0, 1)), body=body, payload=fa.Payload(mass=0.2)),
        fa.Link(name="half", at=0.5, joint=fa.Revolute(axis=(0, 1, 0)), body=rod),
        fa.Link(name="late", parent="upper", at=0.75, joint=fa.Revolute(axis=(0, 0, 1)), body=rod),
        fa.Link(name="foot", parent="upper", at=fa.Pose(xyz=(0.1, 0, 0)), joint=fa.Revolute(axis=(0, 1, 0)), body=rod),
    ]
    base = fa.FreeBase(mass=3.0, inertia=0.5)
    arm = fa.Arm(name="reed", links=links, base=base, gravity=(0.0, -3.0, -9.0))
    model, oracle, (q, qd, _) = fa.Model(arm), Lagrangian(arm, points=12), random_state(arm, 50)
    flexible = np.array(arm.flexible)
    qdd = np.random.default_rng(50).normal(size=len(qd))
    qd[flexible] *= 0.1
    errors = []
    for size in (0.02, 0.01):
        at = q.copy()
        at[flexible + 1] *= size / 0.05  # amplitudes of the order of `size`
        mine = (values(model, "mass_matrix", at), vector(model, "inverse_dynamics", at, qd, qdd), model.frames(at))
        theirs = (oracle.mass_matrix(at), oracle.inverse_dynamics(at, qd, qdd), oracle.frames(at))
        errors.append([np.abs(a - b).max() / np.abs(b).max() for a, b in zip(mine, theirs, strict=True)])
    fall = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(fall > [2.7, 1.6, 2.7]), (errors, fall)
    assert np.all(np.array(errors[-1]) < [2e-4, 2e-4, 1e-5]), errors


@pytest.mark.parametrize(("shapes", "free"), [("clamped-free", True), ("clamped-loaded", False)])
def test_branches_of_a_finite_element_part(tmp_path, free, shapes):
    """Of its tip and of a place of its base frame, as the oracle has it; half-way, the account of energy is whole."""
    part = solid_part(0.4, 0.03, 0.02, E=2e7, nu=0.3, density=1200.0, cells=(2, 1, 1))
    np.savez(tmp_path / "part.npz", **{key: x for key, x in part.items() if x is not None})
    body = fa.FiniteElement(file=tmp_path / "part.npz", modes=4, shapes=shapes)
    rod = fa.Rigid(length=0.2, mass=0.05, com=(0.1, 0.02, 0.03), inertia=(0.001, 0.002, 0.003))
    turn = fa.Revolute(axis=(0, 0.6, 0.8))
    links = [
        fa.Link(name="part", joint=turn, body=body),
        fa.Link(name="a", joint=turn, body=rod, placement=fa.Pose(rpy=(0.3, 0.2, -0.4))),
        fa.Link(name="b", parent="part", at=fa.Pose(xyz=(0.1, 0.02, 0), rpy=(0, 0, 0.5)), joint=turn, body=rod),
        fa.Link(name="c", parent="part", joint=turn, body=rod, payload=fa.Payload(mass=0.03)),
    ]
    base = fa.FreeBase(mass=1.0, inertia=0.05) if free else None
    arm = fa.Arm(name="solid", links=links, base=base, gravity=(0.3, -3.0, -9.0), tip="a")
    load = None
    if shapes == "clamped-loaded":
        mass, first, inertia = load_beyond(arm, 0)
        load = (mass, np.array([first[0], 0, 0]), np.diag(np.diag(inertia)))
    oracle = Lagrangian(arm, solids={"part": solid_of(part, 4, load)})
    model, (q, qd, u) = fa.Model(arm), random_state(arm, 51)
    q[np.array(arm.flexible) + free] *= 0.02
    assert_close(values(model, "mass_matrix", q), oracle.mass_matrix(q), 1e-10)  # eigenvectors twice, as there
    assert_close(vector(model, "bias", q, qd), oracle.bias(q, qd), 1e-10)
    assert_close(vector(model, "forward_dynamics", q, qd, u), oracle.forward_dynamics(q, qd, u), 1e-9)
    assert_close(values(model, "frames", q), np.hstack(oracle.frames(q)), 1e-10)
    half = fa.Model(arm.replace(links=[*links[:3], links[3].replace(at=0.5)]))
    whole_account(half, q, qd, vector(half, "state_rate", q, qd, u))
    qdd = vector(half, "forward_dynamics", q, qd, u)
    inverse = vector(half, "inverse_dynamics", q, qd, qdd)
    assert_close(inverse, values(half, "input_matrix", q) @ u, 1e-11, scale=np.abs(qdd).max())


@pytest.mark.parametrize("seed", range(4))
def test_loads_for_shapes_are_what_lies_beyond(seed, monkeypatch):
    """All that hangs on a tip; of what hangs half-way, its share. Against point masses placed by the oracle."""
    check_loads(random_tree(seed, links=5, telescope=seed % 2 == 0, stations=(0.5, 1.0), free=seed > 1), monkeypatch)


def test_the_share_of_a_load_half_way():
    """A cantilever with a force at its tip bends there to 5/16 of its tip: a mass there counts (5/16)^2."""
    rod = fa.Rigid(length=0.0, mass=3.2)
    links = [
        fa.Link(name="beam", joint=fa.Fixed(), body=fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 1})),
        fa.Link(name="half", at=0.5, joint=fa.Fixed(), body=rod),
        fa.Link(name="foot", parent="beam", at=fa.Pose(xyz=(1.0, 0, 0)), joint=fa.Fixed(), body=rod),
    ]
    assert load_beyond(fa.Arm(name="half", links=links), 0)[0] == pytest.approx(3.2 * 25 / 256)


# -- identities --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "options", "free"),
    [(61, {}, False), (61, {}, True), (62, {"elastic": True}, True), (63, {"telescope": True}, False)],
)
def test_residuals_and_prescribed_motions_are_the_same_motion(seed, options, free):
    """What is left of the equations at the accelerations of a motion is nothing; driven by these it is the motion."""
    arm = random_tree(seed, free=free, **options)
    model, (q, qd, u) = fa.Model(arm), random_state(arm, seed)
    n, nq, m = len(qd), len(q), len(arm.joints)
    rate = vector(model, "state_rate", q, qd, u)
    qdd = rate[nq : nq + n]
    left = vector(model, "state_residual", q, qd, u, qdd)
    scale = np.abs(values(model, "mass_matrix", q) @ np.diag(np.abs(qdd))).max()
    np.testing.assert_allclose(left[:n], 0.0, atol=1e-11 * scale)
    np.testing.assert_allclose(left[n:], [*rate[: 7 * free], *rate[-2:]], rtol=1e-11, atol=1e-12)
    given = np.concatenate([qdd[list(arm.actuated)], u[m:]])
    led = vector(model, "prescribed_rate", q, qd, given)
    same_accelerations(arm, led[nq : nq + n], qdd, 1e-9)
    assert_close(led[-2:], rate[-2:], 1e-9, scale=1.0)
    np.testing.assert_allclose(vector(model, "prescribed_force", q, qd, given), u, atol=1e-11 * scale)
    left = vector(model, "prescribed_residual", q, qd, given, qdd)
    np.testing.assert_allclose(left[:n], 0.0, atol=1e-11 * scale)


@pytest.mark.parametrize("seed", [64, 65])
def test_slopes_in_local_coordinates(seed):
    """Of accelerations and of all that is integrated, at a base that moves and turns: against differences."""
    arm = random_tree(seed, free=True, links=3, elastic=False)
    model, (q, qd, u) = fa.Model(arm), random_state(arm, seed)
    n, nq = len(qd), len(q)
    f = model.function("state_rate")

    def rates(x, v):
        """Of local coordinates about the reference, which moves too, and of the rates."""
        at = configuration(arm, x, q)
        mine, ref = (np.array(f(a, b, u)).ravel() for a, b in ((at, v), (q, qd)))
        moving = slope(lambda t: local(arm, at + t * mine[:nq], q + t * ref[:nq]))
        return np.concatenate([moving, mine[nq:]])

    here = local(arm, q, q)
    for argument, at in (("q", lambda e: (here + e, qd)), ("qd", lambda e: (here, qd + e))):
        expected = np.column_stack([slope(lambda s, e=e, at=at: rates(*at(s * e))) for e in np.eye(n)])
        found = np.array(model.slope("state_rate", argument)(q, qd, u))
        np.testing.assert_allclose(found, expected, atol=1e-6 * max(1.0, np.abs(expected).max()))
        direct = np.array(model.slope("forward_dynamics", argument)(q, qd, u))
        assert_close(direct, found[n : 2 * n], 1e-11)
    linear = model.linearize(q, qd, u)
    A = np.vstack([np.array(model.slope("state_rate", a)(q, qd, u))[: 2 * n].T for a in ("q", "qd")]).T
    assert_close(linear.A, A, 1e-11)


VARIED = [(1, False, {}), (3, True, {"telescope": True}), (5, True, {"elastic": True, "foreshortening": True})]


@pytest.mark.parametrize(("seed", "free", "options"), VARIED)
def test_every_number_of_a_tree_may_vary(seed, free, options):
    """All at once, a base's and payloads' among them: the same as the arm that is described with these numbers."""
    arm = random_tree(seed, links=3, free=free, **options)
    model = fa.Model(arm, vary=["*"])
    names = [x.name for x in model.parameters]
    loads = [x.name for x in arm.links if x.payload is not None]
    assert {f"{name}.payload.mass" for name in loads} | ({"base.mass", "base.com.y"} if free else set()) <= {*names}
    model = model.at(1.15 * np.array(model.p))
    other = Lagrangian(model.arm_at())
    q, qd, u = random_state(arm, seed)
    qdd = np.random.default_rng(seed).normal(size=len(qd))

    def found(name, *arguments):
        return np.array(model.fixed(name)(*arguments))

    assert_close(found("inverse_dynamics", q, qd, qdd).ravel(), other.inverse_dynamics(q, qd, qdd))
    assert_close(found("energy", q, qd).ravel(), other.energy(q, qd))
    assert_close(found("tip", q), other.tip(q))
    same_accelerations(arm, found("forward_dynamics", q, qd, u).ravel(), other.forward_dynamics(q, qd, u))


def test_numbers_of_a_base_and_of_payloads_keep_their_rules():
    links = [link("a", payload=fa.Payload(mass=0.5, inertia=0.1)), link("b", "a")]
    arm = fa.Arm(name="two", links=links, base=fa.FreeBase(mass=2.0, inertia=(1.0, 2.0, 3.0)))
    for given, said in (
        ({"base.mass": 0.0}, "base.mass is 0.0 kg; it must be positive"),
        ({"a.payload.mass": -1.0}, "a.payload.mass is -1.0 kg; it must be positive"),
        ({"base.inertia.xx": -1.0}, "base.inertia.xx is -1.0 kg m^2; it must be positive"),
    ):
        with pytest.raises(fa.DescriptionError) as caught:
            fa.Model(arm, vary=[*given]).at(given)
        assert said in str(caught.value) and "\n" not in str(caught.value)


# -- invariances -------------------------------------------------------------------------------------------------------


def as_a_tree(arm):
    """The chain with the parent of every link, where it is carried and the arm's tip said."""
    names = ["base", *(link.name for link in arm.links)]
    links = [link.replace(parent=names[i], at=1.0) for i, link in enumerate(arm.links)]
    return arm.replace(links=links, tip=names[-1])


@pytest.mark.parametrize(
    ("seed", "options"),
    [
        (70, {}),
        (71, {"elastic": True}),
        (72, {"telescope": True}),
        (73, {"foreshortening": True}),
        (74, {"rigid": True}),
    ],
)
def test_a_chain_written_as_a_tree_is_the_chain(seed, options):
    """To the last bit, and to the last operation."""
    arm = random_arm(seed, **options)
    chain, tree = fa.Model(arm), fa.Model(as_a_tree(arm))
    q, qd, u = random_state(arm, seed)
    for name in ("state_rate", "forward_dynamics", "forward_dynamics_dense"):
        a, b = chain.function(name), tree.function(name)
        assert a.n_instructions() == b.n_instructions()
        np.testing.assert_array_equal(np.array(a(q, qd, u)), np.array(b(q, qd, u)))


@pytest.mark.parametrize(
    ("seed", "options", "free"), [(75, {}, False), (76, {"elastic": True, "rotor": "absolute"}, True)]
)
def test_the_order_of_links_is_free(seed, options, free):
    arm = random_tree(seed, free=free, links=5, **options)
    order = [4, 2, 0, 3, 1]
    names = ["base", *(link.name for link in arm.links)]
    said = [x.replace(parent=x.parent or names[i]) for i, x in enumerate(arm.links)]
    other = arm.replace(links=[said[i] for i in order])
    assert other.coordinates != arm.coordinates
    coordinates, velocities, inputs = (
        [getattr(arm, name).index(x) for x in getattr(other, name)] for name in ("coordinates", "velocities", "inputs")
    )
    mine, theirs, (q, qd, u) = fa.Model(arm), fa.Model(other), random_state(arm, seed)
    moved = q[coordinates], qd[velocities], u[inputs]
    same_accelerations(
        other, vector(theirs, "forward_dynamics", *moved), vector(mine, "forward_dynamics", q, qd, u)[velocities], 1e-9
    )
    M = values(mine, "mass_matrix", q)[np.ix_(velocities, velocities)]
    assert_close(values(theirs, "mass_matrix", moved[0]), M)
    assert_close(values(theirs, "tip", moved[0]), values(mine, "tip", q))
    frames = [np.hsplit(values(x, "frames", at), 6) for x, at in ((mine, q), (theirs, moved[0]))]
    assert_close(frames[1], [frames[0][i] for i in (*order, 5)])


@pytest.mark.parametrize(("seed", "options"), [(77, {}), (78, {"elastic": True, "rotor": "absolute"}), (79, {})])
def test_a_free_base_seen_from_another_frame_is_the_same_body(seed, options):
    """Its frame shifted by p and turned by R: joints accelerate alike, the base as a point of it."""
    arm, rng = random_tree(seed, free=True, **options), np.random.default_rng(seed)
    turn, p = Rotation.from_rotvec(rng.normal(size=3)), rng.normal(size=3)
    R, bus = turn.as_matrix(), arm.base

    def seen(pose):
        angles = (turn.inv() * Rotation.from_euler("ZYX", pose.rpy[::-1])).as_euler("ZYX")[::-1]
        return fa.Pose(xyz=numbers(R.T @ (pose.xyz - p)), rpy=numbers(angles))

    inertia = np.asarray(bus.inertia, float)
    inertia = (
        R.T @ (inertia * np.eye(3) if inertia.ndim == 0 else np.diag(inertia) if inertia.ndim == 1 else inertia) @ R
    )
    jets = [
        fa.Thruster(
            name=x.name,
            kind=x.kind,
            direction=numbers(R.T @ x.direction),
            at=numbers(R.T @ (x.at - p)) if x.kind == "force" else (0, 0, 0),
        )
        for x in bus.thrusters
    ]
    base = fa.FreeBase(
        mass=bus.mass, com=numbers(R.T @ (bus.com - p)), inertia=(inertia + inertia.T) / 2, thrusters=jets
    )
    links = [x.replace(placement=seen(x.placement)) if x.parent == "base" else x for x in arm.links]
    other = arm.replace(base=base, links=links)
    q, qd, u = random_state(arm, seed)
    pose, v, w = Rotation.from_quat(np.roll(q[3:7], -1)), qd[:3], qd[3:6]
    e = np.roll((pose * turn).as_quat(), 1)
    moved = np.array([*(q[:3] + pose.apply(p)), *e, *q[7:]])
    rates = np.array([*(R.T @ (v + np.cross(w, p))), *(R.T @ w), *qd[6:]])
    mine, theirs = fa.Model(arm), fa.Model(other)
    qdd = vector(mine, "forward_dynamics", q, qd, u)
    expected = np.array([*(R.T @ (qdd[:3] + np.cross(qdd[3:6], p))), *(R.T @ qdd[3:6]), *qdd[6:]])
    same_accelerations(arm, vector(theirs, "forward_dynamics", moved, rates, u), expected, 1e-9)
    for name in ("energy", "momentum"):
        assert_close(vector(theirs, name, moved, rates), vector(mine, name, q, qd), 1e-12)
    assert_close(values(theirs, "tip", moved), values(mine, "tip", q), 1e-12)


@pytest.mark.parametrize(("seed", "options"), [(80, {}), (81, {"elastic": True}), (82, {"rotor": "absolute"})])
def test_a_very_heavy_free_base_is_one_that_is_moved(seed, options):
    """It falls, so that gravity is not felt on it, and turns as it does: joints tend to what they do there as 1 / m."""
    arm = random_tree(seed, **options)
    q, qd, u = random_state(arm, seed)
    v, w = np.random.default_rng(seed).normal(size=(2, 3))
    held = fa.Model(arm.replace(base=fa.MovingBase(), gravity=(0, 0, 0)))
    expected = vector(held, "forward_dynamics", q, qd, u, [0, 0, 0, *w, 0, 0, 0])
    e = np.array([0.5, -0.1, 0.7, 0.4])
    errors = []
    for mass in (1e4, 1e5, 1e6):
        model = fa.Model(arm.replace(base=fa.FreeBase(mass=mass, inertia=mass)))
        qdd = vector(model, "forward_dynamics", [1.0, -2.0, 3.0, *(e / np.linalg.norm(e)), *q], [*v, *w, *qd], u)
        errors.append([np.abs(qdd[6:] - expected).max(), np.abs(qdd[3:6]).max()])
    np.testing.assert_allclose(np.log10(errors[:-1]) - np.log10(errors[1:]), 1.0, atol=0.05)
    assert errors[-1][0] < 1e-3 * np.abs(expected).max()


def test_cost_grows_by_the_same_for_every_branch():
    """A free base with one to four equal arms of two links that bend: what the third adds is what the fourth does."""
    beam = fa.Beam(length=1.0, mass=1.0, EI=10.0, modes={"y": 2})

    def model(count):
        links = []
        for i in range(count):
            placement = fa.Pose(
                xyz=(0.3 * np.cos(1.3 * i + 0.2), 0.3 * np.sin(1.3 * i + 0.2), 0.1), rpy=(0.1, 0.2, i + 1)
            )
            links += [
                fa.Link(name=f"a{i}", parent="base", placement=placement, body=beam),
                fa.Link(name=f"b{i}", parent=f"a{i}", body=beam),
            ]
        return fa.Model(fa.Arm(name="star", links=links, base=fa.FreeBase(mass=9.0, com=(0.1, 0.2, 0.3), inertia=2.0)))

    counts = [model(k).function("forward_dynamics").n_instructions() for k in (1, 2, 3, 4)]
    more = np.diff(counts)
    assert np.ptp(more) <= 0.01 * more[0], counts


# -- descriptions ------------------------------------------------------------------------------------------------------


def link(name, parent=None, **more):
    return fa.Link(name=name, parent=parent, body=fa.Rigid(length=1.0, mass=1.0), **more)


def test_what_a_tree_says_of_itself():
    links = [link("c", "b"), link("b", "a", at=0.5), link("d", "b"), link("a", "base", payload=fa.Payload(mass=0.1))]
    arm = fa.Arm(name="tree", links=links, tip="d", payload=fa.Payload(mass=2.0))
    assert arm.parents == (1, 3, 1, -1)
    assert arm.outward == (3, 1, 0, 2)
    assert arm.tip_link == 2
    assert [x and x.mass for x in arm.payloads] == [None, None, 2.0, 0.1]
    chain = fa.Arm(name="chain", links=[link("a"), link("b"), link("c")])
    assert (chain.parents, chain.outward, chain.tip_link) == ((-1, 0, 1), (0, 1, 2), 2)
    named = fa.Arm(name="named", links=[link("base"), link("b", "base")])  # a link of that name is meant
    assert named.parents == (-1, 0)


TREE = """
name = "tree"
tip = "arm"
[base]
type = "free"
mass = 5.0
com = [0.1, 0.0, 0.0]
inertia = [1.0, 2.0, 3.0]
thrusters = [
    { name = "jet", direction = [1, 0, 0], at = [0, 0.5, 0] },
    { name = "gyro", direction = [0, 0, 1], kind = "torque" },
]
[[links]]
name = "arm"
parent = "boom"
at = 0.25
body = { type = "rigid", length = 1.0, mass = 2.0 }
payload = { mass = 0.5 }
[[links]]
name = "boom"
parent = "base"
joint = { type = "fixed" }
body = { type = "rigid", length = 2.0, mass = 1.0 }
[[links]]
name = "dish"
at = { xyz = [0.5, 0.0, 0.1], rpy = [0.0, 0.0, 1.0] }
body = { type = "rigid", length = 0.3, mass = 0.2 }
"""


def test_a_file_gives_what_the_classes_do(tmp_path):
    (tmp_path / "tree.toml").write_text(TREE)
    jets = [
        fa.Thruster(name="jet", direction=(1, 0, 0), at=(0, 0.5, 0)),
        fa.Thruster(name="gyro", direction=(0, 0, 1), kind="torque"),
    ]
    links = [
        fa.Link(name="arm", parent="boom", at=0.25, body=fa.Rigid(length=1.0, mass=2.0), payload=fa.Payload(mass=0.5)),
        fa.Link(name="boom", parent="base", joint=fa.Fixed(), body=fa.Rigid(length=2.0, mass=1.0)),
        fa.Link(name="dish", at=fa.Pose(xyz=(0.5, 0, 0.1), rpy=(0, 0, 1)), body=fa.Rigid(length=0.3, mass=0.2)),
    ]
    base = fa.FreeBase(mass=5.0, com=(0.1, 0, 0), inertia=(1, 2, 3), thrusters=jets)
    arm = fa.Arm(name="tree", links=links, base=base, tip="arm")
    assert fa.load(tmp_path / "tree.toml") == arm
    assert fa.Arm.from_json(arm.canonical()) == arm
    assert arm.coordinates == (
        *(f"base.{x}" for x in ("x", "y", "z", "qw", "qx", "qy", "qz")),
        "arm.joint",
        "dish.joint",
    )
    assert arm.velocities == (*(f"base.{x}" for x in ("vx", "vy", "vz", "wx", "wy", "wz")), "arm.joint", "dish.joint")
    assert arm.units == ("m",) * 3 + ("1",) * 4 + ("rad",) * 2
    assert arm.rate_units == ("m/s",) * 3 + ("rad/s",) * 5
    assert arm.joints == (6, 7)
    assert arm.inputs == ("arm.joint", "dish.joint", "base.jet", "base.gyro")
    assert arm.input_units == ("N m", "N m", "N", "N m")
    assert arm.rest == (0, 0, 0, 1, 0, 0, 0, 0, 0)


WRONG_TREES = [
    ([link("a", "b")], {}, "link 'a': parent is 'b'; it must be one of base, a"),
    (
        [link("upper"), link("b", "uper")],
        {},
        "parent is 'uper'; did you mean 'upper'? It must be one of base, upper, b",
    ),
    ([link("a", "a")], {}, "link 'a': parent forms a cycle: 'a' on 'a'"),
    ([link("a"), link("b", "c"), link("c", "b")], {}, "link 'b': parent forms a cycle: 'b' on 'c' on 'b'"),
    (
        [link("a", at=0.5)],
        {},
        "link 'a': at is given, but the link is on the base, which has no length; use placement instead",
    ),
    (
        [link("a", at=fa.Pose())],
        {},
        "link 'a': at is given, but the link is on the base, which has no length; use placement instead",
    ),
    ([link("a"), link("a")], {}, "link 'a': name is the same for links 1 and 2; give each link a different name"),
    ([link("a")], {"tip": "b"}, "tip is 'b'; the links are a"),
    ([link("a")], {"tip": 3}, "tip is 3; it must be a text"),
    (
        [link("a", payload=fa.Payload(mass=1.0))],
        {"payload": fa.Payload(mass=1.0)},
        "link 'a': payload is given both for the link and for the arm; remove one of them",
    ),
    (
        [link("base")],
        {"base": fa.FreeBase(mass=1.0, inertia=1.0)},
        "link 'base': name is reserved for the free base; give the link another name",
    ),
]


@pytest.mark.parametrize(("links", "more", "said"), WRONG_TREES)
def test_a_wrong_tree_is_refused_in_one_line(links, more, said):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.Arm(name="tree", links=links, **more)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_telescope_carries_at_its_tip_alone():
    slide = fa.Link(name="slide", joint=fa.Telescope(), body=fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 1}))
    fa.Arm(name="tip", links=[slide, link("b", at=1.0)])
    for at, said in ((0.5, "0.5"), (fa.Pose(), "Pose")):
        with pytest.raises(
            fa.DescriptionError, match=rf"^link 'b': at is {said}.*; a link on the telescope 'slide' must"
        ):
            fa.Arm(name="tip", links=[slide, link("b", at=at)])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"at": 1.5}, "at is 1.5; it must be from 0 to 1, or a pose in the base frame of the link"),
        ({"at": "tip"}, "at is 'tip'; it must be a number"),
        ({"at": {"xzy": (0, 0, 0)}}, "link 'b': at: unknown key 'xzy'; allowed keys are xyz, rpy"),
        ({"at": {"xyz": (0, 0)}}, "link 'b': at.xyz has 2 entries; it must have three"),
        ({"parent": 3}, "parent is 3; it must be a text"),
        ({"payload": {"mass": -1.0}}, "payload.mass is -1.0 kg; it must be positive"),
    ],
)
def test_a_wrong_link_is_refused_in_one_line(given, said):
    with pytest.raises(fa.DescriptionError) as caught:
        link("b", **given)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mass": 0.0}, "mass is 0.0 kg; it must be positive"),
        ({"inertia": 0.0}, "inertia is 0.0; it must be positive about every axis of a free base"),
        ({"inertia": (1.0, 1.0, 0.0)}, "it must be positive about every axis of a free base"),
        ({"thrusters": 3}, "thrusters is 3; it must be a list of thrusters"),
        (
            {"thrusters": [{"name": "a", "direction": (0, 0, 1), "kind": "torque", "at": (1, 0, 0)}]},
            "thrusters[0].at is (1.0, 0.0, 0.0); a torque has no point of application: leave it out",
        ),
        (
            {"thrusters": [{"name": "a", "direction": (0, 0, 1)}, {"name": "a", "direction": (0, 1, 0)}]},
            "thrusters[1].name is 'a', which is already in use; give each thruster a different name",
        ),
        ({"thrusters": [{"name": "vx", "direction": (0, 0, 1)}]}, "thrusters[0].name is 'vx', which is already in use"),
        (
            {"thrusters": [{"name": "orbit", "direction": (0, 0, 1)}], "orbit": {"rate": 1e-3}},
            "thrusters[0].name is 'orbit', which is already in use",
        ),
        ({"thrusters": [{"name": "a", "direction": (0, 0, 2)}]}, "thrusters[0].direction"),
        ({"thrusters": [{"name": "a", "direction": (0, 0, 1), "kind": "jet"}]}, "thrusters[0].kind is 'jet'"),
    ],
)
def test_a_wrong_free_base_is_refused_in_one_line(given, said):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.FreeBase(**{"mass": 1.0, "inertia": 1.0, **given})
    assert said in str(caught.value) and "\n" not in str(caught.value)
