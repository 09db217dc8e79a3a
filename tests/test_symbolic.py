"""Closed forms against the native model's numbers, against textbooks term by term, and in themselves.

Numbers: every matrix at random values equals what the model gives. Symbols: Lin & Lewis' Theorem 1, energies, Spong's
two-link arm, the papers' examples and the printed matrix of Lin & Lewis' appendix, monomial by monomial.
"""

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from evaluated import evaluated
from oracle import clamped_free_root
from random_arms import PLAIN, random_arm, random_state

import flexarm as fa
from flexarm import shapes
from flexarm.closed_forms import equations as module
from flexarm.closed_forms.ring import Limit
from flexarm.errors import DescriptionError
from flexarm.shapes import family
from flexarm_papers.lin_lewis import appendix as paper
from flexarm_papers.lin_lewis.loaded import PRINTED

CLOSE = 1e-12  # relative to the largest entry: some thousand operations, in another order
NAMES = ("M", "D", "damping", "U", "G", "B", "bias", "stiffness_force", "kinetic", "potential", "tip", "jacobian")
FAMILIES = [
    {"family": "clamped-mass", "mass": 0.3, "inertia": 0.02, "first_moment": 0.01},
    {"family": "clamped-loaded", "mass": 0.2},
    *("pinned-pinned", "pinned-free", "clamped-pinned", "polynomial", "hermite"),
]
BY_DIRECTION = [
    {"y": "polynomial", "z": "clamped-mass", "torsion": "polynomial", "axial": "linear-elements"},
    {"y": "pinned-pinned", "z": "clamped-free", "torsion": "fixed-loaded", "axial": "polynomial"},
]


# -- numbers -----------------------------------------------------------------------------------------------------------


def straight(arm):
    """The arm with its joints along coordinate axes and nothing turned: its closed forms are short."""
    links = []
    for link in arm.links:
        joint = link.joint
        if hasattr(joint, "axis"):
            k = int(np.argmax(np.abs(joint.axis)))
            joint = joint.replace(axis=tuple(np.sign(joint.axis[k]) * np.eye(3)[k]))
        links.append(link.replace(joint=joint, placement=link.placement.replace(rpy=(0.0, 0.0, 0.0))))
    return arm.replace(links=links)


def catalogue(name, **joint):
    """A bundled arm; a telescope's shapes fixed."""
    arm = fa.load(name)
    links = [x.replace(joint=x.joint.replace(**joint)) if x.joint.type == "telescope" else x for x in arm.links]
    return arm.replace(links=links, gravity=(1.0, -9.81, 0.7))


def flat(**options):
    return lambda seed: random_arm(seed, planar=True, **options)


def spatial(**options):
    return lambda seed: straight(random_arm(seed, **options))


ARMS = {
    "one link": (spatial(links=1), [2]),
    "slanted": (lambda seed: random_arm(seed, links=1), [6]),
    "slanted, rigid": (lambda seed: random_arm(seed, links=1, rigid=True), [0]),
    "two links": (spatial(links=2), [7, 8]),
    "planar": (flat(links=2), [0]),
    "planar, three links": (flat(links=3), [3]),
    "rigid": (spatial(links=3, rigid=True), [0, 1]),
    "elastic": (spatial(links=2, elastic=True), [0]),
    "elastic, chord": (flat(links=2, elastic=True, chord=True), [2]),
    "absolute": (flat(links=2, elastic=True, rotor="absolute"), [0]),
    "absolute, spatial": (spatial(links=1, elastic=True, rotor="absolute"), [3]),
    "absolute, rigid joints": (flat(links=2, elastic=False, rotor="absolute"), [1]),
    "chord": (spatial(links=2, chord=True), [2]),
    "foreshortening": (spatial(links=1, foreshortening=True), [1]),
    "foreshortening, planar": (flat(links=2, foreshortening=True), [0]),
    "tapered": (spatial(links=1, tapered=True), [0]),
    "families": (flat(links=2, families=FAMILIES), [0, 4, 7]),
    "families, spatial": (spatial(links=1, families=FAMILIES), [1, 3]),
    "directions": (spatial(links=1, families=BY_DIRECTION), [0, 1, 2]),
    "telescope": (spatial(links=1, telescope=True), [1]),
    "telescope that twists": (spatial(links=1, telescope=True, twisting=True), [2]),
    "telescope, planar": (flat(links=2, telescope=True), [2]),
    "telescope, elastic": (flat(links=2, telescope=True, elastic=True, rotor="absolute"), [1]),
    "telescope, paper": (spatial(links=1, telescope=True, convection="paper"), [1]),
    "azimuth-elevation": (lambda seed: catalogue("lin-lewis-azimuth-elevation"), [0]),
    "rigid-flexible-rigid": (lambda seed: catalogue("lin-lewis-rfr"), [0]),
    "De Luca & Siciliano": (lambda seed: catalogue("de-luca-siciliano"), [0]),
}
CASES = [pytest.param(make, seed, id=f"{name}-{seed}") for name, (make, seeds) in ARMS.items() for seed in seeds]


def numeric(eq, expressions, q, qd):
    """Expressions at a state, with the arm's numbers for its parameters."""
    state = zip(map(sp.Symbol, (*eq.coordinates, *eq.rates)), (*q, *qd), strict=True)
    return evaluated(expressions, {**dict(state), **eq.values})


def expected(model, q, qd, names=NAMES):
    """Matrices from the model: slopes by CasADi's exact derivatives."""

    def value(name, *arguments):
        return np.array(model.function(name)(*arguments))

    def slope(f, at):
        x = ca.SX.sym("x", len(q))
        return np.array(ca.Function("slope", [x], [ca.densify(ca.jacobian(f(x), x))])(at))

    def jacobian():
        columns = slope(lambda x: ca.vec(model.function("tip")(x)), q).T.reshape(-1, 4, 4).swapaxes(1, 2)
        turning = columns[:, :3, :3] @ value("tip", q)[:3, :3].T
        return np.vstack([columns[:, :3, 3].T, turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]])

    by_name = {
        "M": lambda: value("mass_matrix", q),
        "D": lambda: slope(lambda x: model.function("bias")(q, x), qd) / 2,
        "damping": lambda: slope(lambda x: model.function("damping_force")(q, x), qd),
        "U": lambda: slope(model.function("stiffness_force"), q),
        "G": lambda: value("gravity_force", q),
        "B": lambda: value("input_matrix", q),
        "bias": lambda: value("bias", q, qd),
        "stiffness_force": lambda: value("stiffness_force", q),
        "kinetic": lambda: value("energy", q, qd)[0],
        "potential": lambda: value("energy", q, qd)[1],
        "tip": lambda: value("tip", q),
        "jacobian": jacobian,
    }
    return {name: by_name[name]() for name in names}


def assert_close(found, wanted, scale=0.0, message=""):
    found = np.asarray(found, float).reshape(np.shape(wanted))
    scale = max(scale, np.max(np.abs(wanted), initial=0.0))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=CLOSE * scale, err_msg=message)


@pytest.mark.parametrize(("make", "seed"), CASES)
def test_numbers(make, seed):
    """Every closed form equals the native model; every symbol in it is known; D qd is the bias."""
    arm = make(seed)
    eq = fa.equations(arm, however_large=True)
    q, qd, _ = random_state(arm, seed)
    wanted = expected(fa.Model(arm), q, qd)
    forms = {name: eq.explicit(getattr(eq, name)) for name in NAMES}
    known = {*map(sp.Symbol, (*eq.coordinates, *eq.rates)), *eq.values}
    assert {str(s) for form in forms.values() for s in form.free_symbols - known} == set()
    found = dict(zip(NAMES, numeric(eq, forms.values(), q, qd), strict=True))
    force = np.max(np.abs(wanted["M"])) * np.max(np.abs(qd))  # what a bias that cancels is measured against
    for name in NAMES:
        scale = {"D": force, "bias": force * np.max(np.abs(qd))}.get(name, 0.0)
        assert_close(found[name], wanted[name], scale, name)
    assert_close(found["D"] @ qd, wanted["bias"], force * np.max(np.abs(qd)))


SKEW = {
    "one link": (spatial(links=1), [5]),
    "slanted": (lambda seed: random_arm(seed, links=1), [3]),
    "two links": (spatial(links=2), [7]),
    "elastic, absolute": (flat(links=2, elastic=True, rotor="absolute"), [0]),
    "foreshortening": (spatial(links=1, foreshortening=True), [1]),
    "pinned hub": (spatial(links=1, families=[PLAIN | {"y": "pinned-pinned", "z": "pinned-pinned"}]), [0]),
    "telescope": (spatial(links=1, telescope=True), [1]),
    "telescope, paper": (spatial(links=1, telescope=True, convection="paper"), [1]),
    "telescope, paper, planar": (flat(links=2, telescope=True, convection="paper"), [0]),
}
SKEW_CASES = [pytest.param(make, seed, id=f"{name}-{seed}") for name, (make, seeds) in SKEW.items() for seed in seeds]


@pytest.mark.parametrize(("make", "seed"), SKEW_CASES)
def test_mass_rate_less_twice_D_is_skew(make, seed):
    """Theorem 1. The paper's convection is no exception: its equations are Lagrange's of an energy 1/2 qd' M(q) qd."""
    arm = make(seed)
    eq = fa.equations(arm, however_large=True)
    q, qd, _ = random_state(arm, seed)
    rate, D = numeric(eq, [eq.rate(eq.M), eq.explicit(eq.D)], q, qd)
    assert np.abs(D).max() > 0
    assert_close(rate, rate.T, np.abs(D).max())
    assert_close(rate - 2 * D, -(rate - 2 * D).T, np.abs(D).max())


def test_the_papers_convection_is_another_energy():
    """What does not hold: 1/2 qd' M qd is not the energy of the particles, though they are in the same places."""
    arms = [spatial(links=1, telescope=True, convection=c)(1) for c in ("material", "paper")]
    q, qd, _ = random_state(arms[0], 1)
    eqs = [fa.equations(one) for one in arms]
    T, theirs = (numeric(eq, [eq.explicit(eq.kinetic)], q, qd)[0] for eq in eqs)
    assert abs(T - theirs) > 1e-3 * T
    assert eqs[0].tip == eqs[1].tip


# -- identities in symbols ---------------------------------------------------------------------------------------------

Z = (0.0, 0.0, 1.0)


def link(i, body=None, **joint):
    """A link on a joint about z, with a beam of one mode."""
    body = fa.Beam(length=0.7 + 0.1 * i, mass=0.4, EI=3.0, modes={"y": 1}) if body is None else body
    return fa.Link(name=f"link{i}", joint=fa.Revolute(**{"axis": Z} | joint), body=body)


def beam(shapes="clamped-free", **modes):
    return fa.Beam(length=0.8, mass=0.5, EI=3.0, modes=modes, shapes=shapes)


def arm(*links):
    return fa.Arm(name="small", links=links, payload=fa.Payload(mass=0.3, inertia=0.01), gravity=(0.0, -9.81, 0.0))


SMALL = {
    "rigid": fa.load("rigid-two-link"),
    "one mode": arm(link(1)),
    "two modes": arm(link(1, beam(y=2))),
    "pinned-pinned": arm(link(1, beam("pinned-pinned", y=2)).replace(hub_inertia=0.02)),
    "elastic joint": arm(link(1), link(2, rotor_inertia=0.02, gear_ratio=3.0, stiffness=50.0, rotor="absolute")),
    "two links, damped": arm(link(1, damping=0.1), link(2, beam(y=1).replace(damping=0.02), damping=0.2)),
    "spatial": arm(link(1, beam(y=1, z=1)), link(2, beam(y=1), axis=(0.0, 1.0, 0.0))).replace(payload=None),
    "telescope": arm(link(1), fa.Link(name="tube", joint=fa.Telescope(), body=beam(y=1))),
}


@pytest.fixture(scope="module", params=SMALL)
def small(request):
    return fa.equations(SMALL[request.param])


SAME = {sp.Symbol("a_2_s1"): sp.Symbol("a_2_1")}
"""The mean of (1 - x) psi' is that of psi: with this, identities hold for a telescope."""


def zero(expression):
    """Whether an expression or a matrix is zero once products are multiplied out."""
    return sp.expand(expression.subs(SAME)) == 0 * expression


def columns(eq):
    q, qd = (sp.Matrix(sp.symbols(names, seq=True)) for names in (eq.coordinates, eq.rates))
    return q, qd


def test_theorem_1_in_symbols(small):
    """M is symmetric, D half the slope of the bias, D qd the bias, Mdot - 2 D skew: identically."""
    _, qd = columns(small)
    M, D, bias = (small.explicit(X) for X in (small.M, small.D, small.bias))
    assert small.M == small.M.T
    assert zero(D - bias.jacobian(qd) / 2)
    assert zero(D * qd - bias)
    W = small.rate(M) - 2 * D
    assert zero(W + W.T)


def test_energies_in_symbols(small):
    """Kinetic energy is 1/2 qd' M qd; forces are slopes of the potential energy."""
    q, qd = columns(small)
    assert zero(small.explicit(small.kinetic) - small.explicit((qd.T * small.M * qd)[0]) / 2)
    force = sp.Matrix([small.explicit(small.potential)]).jacobian(q).T
    assert zero(force - small.explicit(small.stiffness_force + small.G))
    assert zero(small.stiffness_force.jacobian(q) - small.U)
    assert small.damping == small.damping.T


def test_gravity_is_the_slope_of_its_energy(small):
    """The part of the potential energy that is proportional to gravity."""
    q, _ = columns(small)
    weight = sp.Symbol("g") * sp.diff(small.explicit(small.potential), sp.Symbol("g"))
    assert zero(sp.Matrix([weight]).jacobian(q).T - small.explicit(small.G))
    assert zero(small.G.subs(sp.Symbol("g"), 0))


def test_stiffness_is_constant_but_for_a_telescope(small):
    q, _ = columns(small)
    slides = any(link.joint.type == "telescope" for link in small.arm.links)
    assert bool(small.U.free_symbols & set(q)) == slides
    assert zero(small.U * q - small.stiffness_force) == (not slides)


def test_jacobian_is_the_slope_of_the_tip(small):
    """Velocity: the slope of its place. Angular velocity: W = dR/dq R', skew."""
    q, _ = columns(small)
    tip, jacobian = small.explicit(small.tip), small.explicit(small.jacobian)
    assert zero(tip[:3, 3].jacobian(q) - jacobian[:3, :])
    for i, x in enumerate(q):
        x_, y_, z_ = jacobian[3:, i]
        W = sp.Matrix([[0, -z_, y_], [z_, 0, -x_], [-y_, x_, 0]])
        difference = sp.diff(tip[:3, :3], x) - W * tip[:3, :3]
        symbols = sorted(difference.free_symbols, key=str)
        (found,) = evaluated([difference], dict(zip(symbols, np.linspace(0.3, 1.4, len(symbols)), strict=True)))
        np.testing.assert_allclose(found, 0, atol=1e-13)


def test_rates_of_the_stand_ins(small):
    """alphad_1 stands for the rate of what alpha_1 stands for."""
    names = {str(s): s for s in small.definitions}
    for name, s in names.items():
        letter, _, number = name.partition("_")
        if f"{letter}d_{number}" in names:
            assert zero(small.rate(s) - small.definitions[names[f"{letter}d_{number}"]])
    assert ("alpha_1" in names) == ("eta_1_1" in small.coordinates or "eta_1_y1" in small.coordinates)


def test_stand_ins_are_what_one_writes():
    """Angles, and deflections of several modes, stand as symbols in all that lies beyond, and so do their rates."""
    eq = fa.equations(arm(link(1, beam(y=2)), link(2)))
    assert {str(s) for s in eq.definitions} == {"w_1", "alpha_1", "alpha_2", "wd_1", "alphad_1", "alphad_2"}
    found = {str(s) for s in eq.D.free_symbols}
    assert {"w_1", "alpha_1", "wd_1", "alphad_1"} <= found
    assert {str(s) for s in eq.tip.free_symbols} == {
        *("q_1", "q_2", "w_1", "alpha_1", "alpha_2", "eta_2_1", "phi_2_1", "L_1", "L_2")
    }
    assert {str(s) for s in eq.M.free_symbols} & {"w_2", "eta_1_1", "eta_1_2"} == {"eta_1_1", "eta_1_2"}


def test_rate_of_numbers_and_matrices(small):
    q, qd = columns(small)
    assert zero(small.rate(q) - qd)
    assert zero(small.rate(sp.Matrix([small.explicit(small.potential)])) - sp.Matrix([small.rate(small.potential)]))
    assert small.rate(sp.Integer(3)) == 0


def test_no_number_is_a_float(small):
    """Coefficients of what has only symbols are whole or fractions: 1/3, not 0.333."""
    for name in NAMES:
        assert getattr(small, name).atoms(sp.Float) == set(), name


# -- the textbook's two-link arm ---------------------------------------------------------------------------------------


def test_rigid_two_link_arm_is_spongs():
    """Spong & Vidyasagar (1989), section 6.4: d11, d12, d22, h and the matrix of Christoffel symbols, g1, g2."""
    eq = fa.equations(fa.load("rigid-two-link"))
    m1, m2, l1, a1, a2, I1, I2, g = sp.symbols("m_1 m_2 L_1 lc_1 lc_2 I_1 I_2 g")
    q1, q2, q1d, q2d = sp.symbols("q_1 q_2 qd_1 qd_2")
    d11 = m1 * a1**2 + m2 * (l1**2 + a2**2 + 2 * l1 * a2 * sp.cos(q2)) + I1 + I2
    d12 = m2 * (a2**2 + l1 * a2 * sp.cos(q2)) + I2
    d22 = m2 * a2**2 + I2
    h = -m2 * l1 * a2 * sp.sin(q2)
    far = m2 * a2 * g * sp.cos(q1 + q2)
    assert zero(eq.M - sp.Matrix([[d11, d12], [d12, d22]]))
    assert zero(eq.D - sp.Matrix([[h * q2d, h * (q1d + q2d)], [-h * q1d, 0]]))
    assert zero(eq.G - sp.Matrix([(m1 * a1 + m2 * l1) * g * sp.cos(q1) + far, far]))
    assert eq.B == sp.eye(2) and zero(eq.U) and zero(eq.damping)
    assert {str(s) for s in eq.M.free_symbols} == {"m_1", "m_2", "L_1", "lc_1", "lc_2", "I_1", "I_2", "q_2"}
    with_subs = (eq.M[0, 0] - d11).subs(eq.values)
    assert with_subs.is_zero or sp.expand(with_subs) == 0


# -- Lin & Lewis: one flexible link ------------------------------------------------------------------------------------

ORDERS = (2, 5, 9)


def one_link(shapes, count, payload=True):
    arm = fa.load("lin-lewis-beam")
    body = arm.links[0].body.replace(shapes=shapes, modes={"y": count})
    return arm.replace(links=[arm.links[0].replace(body=body)], payload=arm.payload if payload else None)


@pytest.fixture(scope="module", params=["pinned-pinned", "clamped-free"])
def orders(request):
    return request.param, {n: fa.equations(one_link(request.param, n)) for n in ORDERS}


def test_lower_orders_are_blocks_of_higher_ones(orders):
    """Lin & Lewis 4.2: M and U of fewer modes are leading blocks, symbol by symbol; M_RR has a term more for each."""
    _, eqs = orders
    most = eqs[ORDERS[-1]]
    M, U = most.explicit(most.M), most.U
    for n in ORDERS[:-1]:
        eq, k = eqs[n], n + 1
        assert eq.U == U[:k, :k] and eq.B == most.B[:k, :]
        assert eq.M[1:, :] == most.M[1:k, :k]
        without = {sp.Symbol(f"eta_1_{j}"): 0 for j in range(k, ORDERS[-1] + 1)}
        assert zero(eq.explicit(eq.M)[0, 0] - M[0, 0].subs(without))


def test_structure_of_one_flexible_link(orders):
    """U diagonal; M_FF that of the beam, diagonal, and that of the tip mass, phi phi'; pinned-pinned has no tip."""
    shapes, eqs = orders
    for n, eq in eqs.items():
        L, m, EI, mP = sp.symbols("L_1 m_1 EI_1 mP")
        c, k, phi, b, root = (
            [sp.Symbol(f"{letter}_1_{j}{behind}") for j in range(1, n + 1)]
            for letter, behind in (("c", "_{}"), ("k", "_{}"), ("phi", ""), ("b", ""), ("dphi0", ""))
        )
        c, k = ([sp.Symbol(s.name.format(j)) for j, s in enumerate(x, start=1)] for x in (c, k))
        assert eq.U == sp.diag(0, *(EI * x / L**3 for x in k))
        tip = sp.Matrix(phi) if shapes == "clamped-free" else sp.zeros(n, 1)
        assert zero(eq.M[1:, 1:] - m * sp.diag(*c) - mP * tip * tip.T)
        assert zero(eq.M[1:, 0] - L * (m * sp.Matrix(b) + mP * tip))
        assert zero(eq.B[1:, 0] - (sp.Matrix(root) / L if shapes == "pinned-pinned" else sp.zeros(n, 1)))
        eta = sp.Matrix([sp.Symbol(f"eta_1_{j}") for j in range(1, n + 1)])
        bent = (eta.T * eq.M[1:, 1:] * eta)[0]
        assert zero(eq.explicit(eq.M)[0, 0] - bent - m * L**2 / 3 - mP * L**2)


def test_numbers_of_one_flexible_link(orders):
    """Native model; k_jj in closed form: (j pi)^4 / 2 or beta_j^4 / 4."""
    shapes, eqs = orders
    for n, eq in eqs.items():
        model = fa.Model(eq.arm)
        q, qd, _ = random_state(eq.arm, n)
        names = ("M", "U", "D", "B", "bias")
        found = numeric(eq, [eq.explicit(getattr(eq, name)) for name in names], q, qd)
        wanted = expected(model, q, qd, names)
        for name, value in zip(names, found, strict=True):
            assert_close(value, wanted[name], message=name)
        j = np.arange(1, n + 1)
        roots = np.pi * j if shapes == "pinned-pinned" else np.array([float(clamped_free_root(int(i))[0]) for i in j])
        k = [float(eq.values[sp.Symbol(f"k_1_{i}_{i}")]) for i in j]
        np.testing.assert_allclose(k, roots**4 / (2 if shapes == "pinned-pinned" else 4), rtol=1e-11)


def test_azimuth_and_elevation():
    """Lin & Lewis 4.3, out of the plane: Theorem 1 in symbols; the azimuth, a symmetry, is in no matrix."""
    eq = fa.equations(fa.load("lin-lewis-azimuth-elevation"))
    assert eq.coordinates == ("q_1", "q_2", "eta_2_y1", "eta_2_y2", "eta_2_z1", "eta_2_z2")
    W = eq.rate(eq.M) - 2 * eq.explicit(eq.D)
    assert zero(W + W.T)
    assert sp.Symbol("q_1") not in eq.explicit(eq.M).free_symbols | eq.explicit(eq.D).free_symbols
    assert sp.Symbol("q_2") in eq.M.free_symbols and sp.Symbol("q_1") in eq.tip.free_symbols


# -- Lin & Lewis: the appendix -----------------------------------------------------------------------------------------

PHI, PHI_2, TWICE = 0.5497897482078318, 0.3022687672344311, 1.099579496415663
SIX_DIGITS = 1.5e-6
"""Relative: half a unit in the last place of 0.413302 is 1.2e-6; other coefficients have sixteen digits."""


def appendix():
    """Lin & Lewis' inertia matrix, rigid-flexible-rigid, as printed but for the corrections marked; upper triangle.

    Paper's symbols stand for ours: L[i], Lc[i] for L_i, lc_i; ms[i] for m_i; mpd for mP; A[2] ro[2] for m_2 / L_2;
    Ix[i] for I_i; th[i] for q_i; v[2, 1] for eta_2_1; 0.5497897482078318 v[2, 1] / L[2] for alpha_2.
    """
    L1, L2, L3, Lc1, Lc3, ms1, ms3, mpd = sp.symbols("L_1 L_2 L_3 lc_1 lc_3 m_1 m_3 mP")
    Ix1, Ix3, th2, th3, star, v = sp.symbols("I_1 I_3 q_2 q_3 alpha_2 eta_2_1")
    ro = sp.Symbol("m_2") / L2
    c2, s2, c3, s3, c23 = sp.cos(th2), sp.sin(th2), sp.cos(th3 + star), sp.sin(th3 + star), sp.cos(th2 + th3 + star)
    M = {}
    M[1, 1] = (
        Ix1 + Ix3 + mpd * L1**2 + 2 * mpd * c2 * L1 * L2 + mpd * L2**2 + 2 * mpd * c23 * L1 * L3
        + 2 * mpd * c3 * L2 * L3 + mpd * L3**2 + Lc1**2 * ms1 + L1**2 * ms3 + 2 * c2 * L1 * L2 * ms3 + L2**2 * ms3
        + 2 * c23 * L1 * Lc3 * ms3 + 2 * c3 * L2 * Lc3 * ms3 + Lc3**2 * ms3 + L1**2 * L2 * ro + c2 * L1 * L2**2 * ro
        + L2**3 * ro / 3 - 1.09958 * mpd * L1 * s2 * v - 1.09958 * L1 * ms3 * s2 * v
        - 0.413302 * L1 * L2 * ro * s2 * v + TWICE * mpd * L3 * s3 * v
        + TWICE * Lc3 * ms3 * s3 * v  # v is missing in print
        + PHI_2 * mpd * v**2 + PHI_2 * ms3 * v**2 + 0.07147226535009999 * L2 * ro * v**2
    )  # fmt: skip
    M[1, 2] = (
        mpd * c2 * L1 * L2 + mpd * L2**2 + mpd * c23 * L1 * L3 + 2 * mpd * c3 * L2 * L3 + mpd * L3**2
        + c2 * L1 * L2 * ms3 + L2**2 * ms3
        + c23 * L1 * Lc3 * ms3  # L[3] in print
        + 2 * c3 * L2 * Lc3 * ms3 + Lc3**2 * ms3
        + c2 * L1 * L2**2 * ro / 2  # over L[2] in print
        + L2**3 * ro / 3 - 0.54979 * mpd * L1 * s2 * v - 0.54979 * L1 * ms3 * s2 * v
        - 0.206651 * L1 * L2 * ro * s2 * v  # + in print
        + TWICE * mpd * L3 * s3 * v + TWICE * Lc3 * ms3 * s3 * v
        + PHI_2 * mpd * v**2 + PHI_2 * ms3 * v**2 + 0.07147226535009999 * L2 * ro * v**2
    )  # fmt: skip
    M[1, 3] = (
        Ix3 + mpd * (c23 * L1 * L3 + c3 * L2 * L3 + L3**2 + PHI * L3 * s3 * v)
        + ms3 * (c23 * L1 * Lc3 + c3 * L2 * Lc3 + Lc3**2 + PHI * Lc3 * s3 * v)
    )  # fmt: skip
    M[1, 4] = 0.2748948741039159 / L2 * (
        2 * mpd * c2 * L1 * L2 + 2 * mpd * L2**2  # run into one, 2 mpd cos(th2) L[1] L[2]^2, in print
        + 2 * mpd * c23 * L1 * L3 + 4 * mpd * c3 * L2 * L3 + 2 * mpd * L3**2 + 2 * c2 * L1 * L2 * ms3 + 2 * L2**2 * ms3
        + 2 * c23 * L1 * Lc3 * ms3 + 4 * c3 * L2 * Lc3 * ms3 + 2 * Lc3**2 * ms3
        + 0.7517462583877994 * c2 * L1 * L2**2 * ro + 0.5509971691837638 * L2**3 * ro + TWICE * mpd * L3 * s3 * v
        + TWICE * Lc3 * ms3 * s3 * v
    )  # fmt: skip
    M[2, 2] = (
        mpd * L2**2 + 2 * mpd * c3 * L2 * L3 + mpd * L3**2 + L2**2 * ms3 + 2 * c3 * L2 * Lc3 * ms3 + Lc3**2 * ms3
        + L2**3 * ro / 3 + TWICE * mpd * L3 * s3 * v + TWICE * Lc3 * ms3 * s3 * v + PHI_2 * mpd * v**2
        + PHI_2 * ms3 * v**2 + 0.07147226535009999 * L2 * ro * v**2
    )  # fmt: skip
    M[2, 3] = (
        mpd * (c3 * L2 * L3 + L3**2 + PHI * L3 * s3 * v) + ms3 * (c3 * L2 * Lc3 + Lc3**2 + PHI * Lc3 * s3 * v)
    )  # fmt: skip
    M[2, 4] = PHI / L2 * (
        mpd * L2**2 + 2 * mpd * c3 * L2 * L3 + mpd * L3**2 + L2**2 * ms3 + 2 * c3 * L2 * Lc3 * ms3 + Lc3**2 * ms3
        + 0.2754985845918819 * L2**3 * ro + PHI * mpd * L3 * s3 * v + PHI * Lc3 * ms3 * s3 * v
    )  # fmt: skip
    M[3, 3] = Ix3 + mpd * L3**2 + Lc3**2 * ms3
    M[3, 4] = PHI * mpd * c3 * L3 + PHI * mpd * L3**2 / L2 + PHI * c3 * Lc3 * ms3 + PHI * Lc3**2 * ms3 / L2
    M[4, 4] = (
        PHI_2 * mpd + 2 * PHI_2 * mpd * c3 * L3 / L2 + PHI_2 * mpd * L3**2 / L2**2 + PHI_2 * ms3
        + 2 * PHI_2 * c3 * Lc3 * ms3 / L2
        + PHI_2 * Lc3**2 * ms3 / L2**2  # L[3] in print
        + 0.07147226535009999 * L2 * ro
    )  # fmt: skip
    return M


def link_3_turns():
    """What print leaves out: link 3 turns with th1 + th2 + th3 and the chord, not with th1 + th3 alone."""
    whole, printed = [1, 1, 1, PHI / sp.Symbol("L_2")], [1, 0, 1, 0]
    return {
        (i, j): sp.Symbol("I_3") * (whole[i - 1] * whole[j - 1] - printed[i - 1] * printed[j - 1])
        for i in range(1, 5)
        for j in range(i, 5)
    }


def monomials(expression):
    return {term: float(c) for term, c in sp.expand(expression).as_coefficients_dict().items()}


def test_the_appendix_monomial_by_monomial():
    """All ten entries: the same products of symbols, with coefficients that are the same to the printed digits."""
    eq = fa.equations(fa.load("lin-lewis-rfr"))
    modal = dict(zip(sp.symbols("phi_2_1 a_2_1 b_2_1 c_2_1_1"), PRINTED, strict=True))
    assert zero(eq.definitions[sp.Symbol("alpha_2")] - sp.sympify("phi_2_1 * eta_2_1 / L_2"))
    turning, printed = link_3_turns(), appendix()
    assert len(printed) == 10
    for (i, j), entry in printed.items():
        ours = monomials(eq.M[i - 1, j - 1].subs(modal))
        theirs = monomials(entry + turning[i, j])
        assert ours.keys() == theirs.keys()
        rtol = SIX_DIGITS if (i, j) in ((1, 1), (1, 2)) else 1e-14
        for term, c in ours.items():
            assert theirs[term] == pytest.approx(c, rel=rtol), (i, j, term)
    assert eq.M == eq.M.T


def test_the_appendix_is_transcribed():
    """The symbols above, with numbers put in, are the reproduction's corrected matrix."""
    a = paper.random_state(np.random.default_rng(5))
    values = {f"L_{i}": a.L[i] for i in (1, 2, 3)} | {f"lc_{i}": a.Lc[i] for i in (1, 3)}
    values |= {f"m_{i}": a.ms[i] for i in (1, 3)} | {f"I_{i}": a.Ix[i] for i in (1, 3)}
    values |= {"mP": a.mpd, "m_2": a.ro_A * a.L[2], "q_2": a.th2, "q_3": a.th3, "eta_2_1": a.v}
    values["alpha_2"] = PHI * a.v / a.L[2]
    wanted, turning = paper.corrected_matrix(a), link_3_turns()
    for (i, j), entry in appendix().items():
        assert float((entry + turning[i, j]).subs(values)) == pytest.approx(wanted[i - 1, j - 1], rel=1e-12)


# -- De Luca & Siciliano -----------------------------------------------------------------------------------------------

QUOTED = {
    "f": ((0.48, 1.80), (2.18, 15.91)),
    "phi": ((0.186, 0.215), (0.883, -0.069)),
    "dphi": ((0.657, -0.560), (2.641, -10.853)),
    "a": ((0.007, 0.013), (0.033, 0.054)),
    "b": ((0.002, 0.004), (0.012, 0.016)),
}
"""De Luca & Siciliano (1991): frequencies [Hz], phi, phi' [1/m], int rho phi, int rho x phi, as quoted."""


def test_modal_constants_of_de_luca_and_siciliano():
    """To the digits quoted, in their scale: a mode and the load it was made for have the mass of the link.

    The sign of a mode is free: that of the last is the opposite there. M is that of the modes with their loads where
    the second link is at a right angle.
    """
    arm = fa.load("de-luca-siciliano")
    eq = fa.equations(arm)
    at = {sp.Symbol("q_2"): sp.pi / 2} | {sp.Symbol(x): 0 for x in eq.coordinates if x[0] == "e"}
    M = np.array(eq.explicit(eq.M).subs(at).subs(eq.values), float)
    U = np.array(eq.U.subs(eq.values), float)
    for i, j, n in ((1, 1, 2), (1, 2, 3), (2, 1, 4), (2, 2, 5)):
        mass, length = arm.links[i - 1].body.total_mass, arm.links[i - 1].body.length
        scale = np.sqrt(mass / M[n, n]) * np.sign(QUOTED["phi"][i - 1][j - 1])
        found = {"f": np.sqrt(U[n, n] / M[n, n]) / (2 * np.pi)}
        known = {str(s): v for s, v in eq.values.items()}
        found |= {"phi": scale * known[f"phi_{i}_{j}"], "dphi": scale * known[f"dphi_{i}_{j}"] / length}
        if f"a_{i}_{j}" in known:
            found["a"] = scale * mass * known[f"a_{i}_{j}"]
        found["b"] = scale * mass * length * known[f"b_{i}_{j}"]
        for name, x in found.items():
            digits = 2 if name == "f" else 3
            assert round(x, digits) == QUOTED[name][i - 1][j - 1], (name, i, j)
    assert abs(M[2, 3]) < 1e-13 and abs(M[4, 5]) < 1e-13


# -- numbers instead of symbols ----------------------------------------------------------------------------------------


def two_links():
    """A planar arm with two beams, one placed at an angle."""
    first, second = link(1), link(2, beam("pinned-free", y=1))
    return arm(first, second.replace(placement=fa.Pose(xyz=(0.1, 0.0, 0.0), rpy=(0.0, 0.0, 0.4))))


NUMBERS = {
    "a field": (["link1.mass"], {"m_1"}),
    "a pattern of symbols": (["phi_*"], {"phi_1_1", "phi_2_1"}),
    "a pattern of fields": (["payload.*", "gravity"], {"mP", "IP", "g"}),
    "a link": (["link2.placement.*"], {"px_2", "yaw_2"}),
    "values": ({"m_1": 2.5, "yaw_2": -0.7}, {"m_1", "yaw_2"}),
    "some values": ({"link1.mass": None, "EI_?": 4.0}, {"m_1", "EI_1", "EI_2"}),
    "everything": (["*"], None),
}
GIVEN = {"values": {"m_1": 2.5, "yaw_2": -0.7}, "some values": {"EI_1": 4.0, "EI_2": 4.0}}


MATRICES = ("M", "D", "G", "U", "B", "damping", "tip", "jacobian", "stiffness_force")


@pytest.fixture(scope="module")
def symbolic():
    """The closed forms with all their symbols, and all matrices as a function of state and values."""
    eq = fa.equations(two_links())
    symbols = sp.symbols([*eq.coordinates, *eq.rates, *(p.symbol for p in eq.parameters)])
    return eq, sp.lambdify(symbols, [eq.explicit(getattr(eq, name)) for name in MATRICES], cse=True)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_instead_of_symbols(symbolic, name):
    """The same matrices as with the values put into the symbols."""
    numbers, gone = NUMBERS[name]
    whole, function = symbolic
    eq = fa.equations(two_links(), numbers=numbers)
    known = {p.symbol: p.value for p in whole.parameters}
    gone = set(known) if gone is None else gone
    assert {p.symbol for p in eq.parameters} == known.keys() - gone
    assert eq.numbers.keys() == gone and not eq.closed_forms.keys() & gone
    assert eq.numbers == {symbol: GIVEN.get(name, {}).get(symbol, known[symbol]) for symbol in gone}
    found = [getattr(eq, name) for name in MATRICES]
    assert not {s.name for X in found for s in eq.explicit(X).free_symbols} & gone
    q, qd, _ = random_state(eq.arm, 3)
    wanted = function(*q, *qd, *(known | eq.numbers).values())
    for name, value, other in zip(MATRICES, numeric(eq, map(eq.explicit, found), q, qd), wanted, strict=True):
        assert_close(value, other, message=name)


def test_everything_a_number():
    eq = fa.equations(two_links(), numbers=["*"])
    assert eq.parameters == () and eq.values == {} and eq.closed_forms == {}
    assert eq.M.free_symbols <= {sp.Symbol(s) for s in (*eq.coordinates, "alpha_1")}


@pytest.mark.parametrize("name", ["m_9", "link1.weight", "M_1", "zz*"])
def test_an_unknown_name_lists_the_parameters(name):
    with pytest.raises(DescriptionError) as error:
        fa.equations(two_links(), numbers=["m_1", name])
    line = str(error.value)
    assert line.startswith(f"unknown parameter {name!r}; ") and "he parameters are " in line and "\n" not in line
    for p in fa.equations(two_links()).parameters:
        assert f"{p.symbol} ({p.name})" in line


def test_a_number_is_finite():
    with pytest.raises(DescriptionError, match="parameter 'm_1' is inf; it must be finite"):
        fa.equations(two_links(), numbers={"m_1": float("inf")})


# -- parameters --------------------------------------------------------------------------------------------------------


def test_parameters_are_the_arms_numbers():
    eq = fa.equations(two_links())
    found = {p.symbol: p for p in eq.parameters}
    assert (found["m_2"].name, found["m_2"].value, found["m_2"].unit) == ("link2.mass", 0.5, "kg")
    assert (found["mP"].name, found["mP"].value) == ("payload.mass", 0.3)
    assert (found["g"].name, found["g"].value, found["g"].unit) == ("gravity", 9.81, "m/s^2")
    assert (found["yaw_2"].value, found["yaw_2"].unit) == (0.4, "rad")
    assert all(p.meaning and p.name for p in eq.parameters)
    assert len({p.name for p in eq.parameters}) == len(found) == len(eq.parameters)
    assert repr(eq) == f"Equations('small': 4 coordinates, {len(found)} parameters)"


def test_hub_mass_of_the_first_link_is_in_its_potential_energy():
    """A constant, which no force depends on: its symbol is a parameter nevertheless."""
    eq = fa.equations(arm(link(1).replace(hub_mass=0.3, placement=fa.Pose(xyz=(0.0, 0.2, 0.0)))))
    left = eq.explicit(eq.potential).free_symbols - {*map(sp.Symbol, eq.coordinates), *eq.values}
    assert left == set()


def test_definitions_grow_with_the_matrices():
    """A sum within a sine that no angle is gets its name when it is first met; asking before is no harm."""
    described = arm(link(1, beam("pinned-pinned", y=1, z=1)).replace(hub_inertia=(0.1, 0.2, 0.3)))
    early, late = fa.equations(described), fa.equations(described)
    assert "alpha_1" in {s.name for s in early.definitions}
    for eq in (early, late):
        assert {s.name for s in eq.M.free_symbols} & {"psi_1", "psi_2"}
    assert early.definitions == late.definitions
    assert early.explicit(early.M) == late.explicit(late.M)
    assert zero(early.rate(early.M) - late.rate(late.M))


CLOSED = {
    "clamped-free": True,
    "pinned-pinned": True,
    "pinned-free": True,
    "clamped-pinned": True,
    "polynomial": True,
    "hermite": True,
    "clamped-mass": False,
    "clamped-loaded": False,
}


@pytest.mark.parametrize("shapes", CLOSED)
def test_closed_forms_have_the_parameters_values(shapes):
    """Of every modal integral where the family has them, to 1e-12; none where it has not; the symbols stay."""
    body = fa.Beam(length=0.8, mass=0.5, EI={"y": 3.0, "z": 2.0}, modes={"y": 2, "z": 2}, shapes=shapes)
    eq = fa.equations(arm(link(1, body)))
    value = {p.symbol: p.value for p in eq.parameters}
    modal = {s for s in value if s.split("_")[0] in ("a", "b", "c", "k", "phi", "dphi", "dphi0")}
    assert len(modal) > 6
    assert eq.closed_forms.keys() == (modal if CLOSED[shapes] else set())
    for symbol, form in eq.closed_forms.items():
        assert form.value == pytest.approx(value[symbol], rel=1e-12), symbol


def test_closed_forms_of_torsion_and_stretch():
    body = fa.Beam(length=0.8, mass=0.5, EI=3.0, GJ=1.0, EA=100.0, polar_inertia=1e-3,
                   modes={"y": 1, "torsion": 2, "axial": 1},
                   shapes={"torsion": "polynomial", "axial": "polynomial"})  # fmt: skip
    eq = fa.equations(arm(link(1, body)))
    value = {p.symbol: p.value for p in eq.parameters}
    assert {"k_1_t1_t1", "k_1_t2_t2", "k_1_x1_x1", "phi_1_t1", "c_1_x1_x1"} <= eq.closed_forms.keys() & value.keys()
    for symbol, form in eq.closed_forms.items():
        assert form.value == pytest.approx(value[symbol], rel=1e-12), symbol


def test_closed_forms_of_a_family_in_each_direction():
    """Each plane has those of its own family; the line on what has none names the families that lack them."""
    kinds = {"y": "polynomial", "z": "clamped-free", "torsion": "polynomial", "axial": "linear-elements"}
    kinds = {"y": "polynomial", "z": "clamped-free", "torsion": "polynomial", "axial": "linear-elements"}
    body = fa.Beam(length=0.8, mass=0.5, EI=3.0, GJ=1.0, EA=100.0, polar_inertia=1e-3, shapes=kinds,
                   modes={"y": 2, "z": 2, "torsion": 2, "axial": 3})  # fmt: skip
    eq = fa.equations(arm(link(1, body)))
    value = {p.symbol: p.value for p in eq.parameters}
    alone = {p.symbol for p in eq.parameters if p.modal} - eq.closed_forms.keys()
    across = {f"c_1_{a}{i}_{b}{j}" for a, b in ("yz", "xy", "xz") for i in range(1, 4) for j in range(1, 3)}
    assert alone and alone <= across  # products of two families
    for symbol, form in eq.closed_forms.items():
        assert form.value == pytest.approx(value[symbol], rel=1e-12), symbol
    texts = {symbol: eq.closed_forms[symbol].text for symbol in ("c_1_y1_y1", "c_1_z1_z1", "c_1_t1_t1", "k_1_x1_x2")}
    assert texts == {"c_1_y1_y1": "1/5", "c_1_z1_z1": "1/4", "c_1_t1_t1": "1/3", "k_1_x1_x2": "-3"}
    assert "link1 (products across directions)" in eq.without_closed_forms
    other = body.replace(shapes={"y": "clamped-mass", "z": "clamped-free", "torsion": "fixed-loaded"})
    eq = fa.equations(arm(link(1, other)))
    assert "link1 (clamped-mass, fixed-loaded)" in eq.without_closed_forms
    assert eq.closed_forms["c_1_z1_z1"].text == "1/4" and "c_1_y1_y1" not in eq.closed_forms


def test_planes_named_as_one_have_the_closed_forms_of_that_with_more_modes():
    """An object of one's own in y that makes the polynomials of z: what the planes share has one name, and a form."""

    class Mine:
        def basis(self, count):
            return family("polynomial").basis(count)

    body = fa.Beam(length=0.8, mass=0.5, EI=3.0, modes={"y": 1, "z": 2}, shapes={"y": Mine(), "z": "polynomial"})
    eq = fa.equations(arm(link(1, body)))
    value = {p.symbol: p.value for p in eq.parameters}
    assert {"c_1_1_1", "c_1_2_2"} <= value.keys() & eq.closed_forms.keys()
    for symbol, form in eq.closed_forms.items():
        assert form.value == pytest.approx(value[symbol], rel=1e-12), symbol
    assert eq.without_closed_forms == ""
    other = fa.equations(arm(link(1, body.replace(shapes={"z": Mine(), "y": "clamped-free"}))))
    assert "link1 (Mine)" in other.without_closed_forms


def test_a_tapered_beam_has_no_closed_forms():
    eq = fa.equations(spatial(links=1, tapered=True)(1))
    assert eq.closed_forms == {} and any(p.symbol.startswith("k_1_") for p in eq.parameters)


# -- doors -------------------------------------------------------------------------------------------------------------


def planar(links, modes):
    """Links in a row with bending in one plane: their poses are small, their equations grow fast."""
    body = fa.Beam(length=0.8, mass=0.5, EI=3.0, modes={"y": modes})
    row = [fa.Link(name=f"link{i}", joint=fa.Revolute(axis=Z), body=body) for i in range(links)]
    return fa.Arm(name="row", links=row, payload=fa.Payload(mass=0.3), gravity=(0.0, -9.81, 0.0))


def narrowing():
    """Two tubes that narrow, with bending in both planes and torsion, turning in space."""
    wide, thin = (fa.Tube(outer_diameter=d, thickness=0.002) for d in (0.04, 0.03))
    aluminium = fa.Material(E=7e10, density=2700.0, poisson=0.33)
    modes = {"y": 2, "z": 2, "torsion": 1}
    tube = fa.Beam(length=0.8, material=aluminium, section=wide, section_tip=thin, modes=modes)
    axes = ((0.0, 1.0, 0.0), Z)
    links = [fa.Link(name=f"link{i}", joint=fa.Revolute(axis=a), body=tube) for i, a in enumerate(axes)]
    return fa.Arm(name="narrowing", links=links, gravity=(0.0, 0.0, -9.81))


@pytest.fixture
def work(monkeypatch):
    """What deriving closed forms has done: single products and sums of terms, and forms collected from them."""
    done = {"products": 0, "collected": 0}
    limited, collect = Limit.count, module.collected

    def count(self, products, terms):
        done["products"] += products
        limited(self, products, terms)

    def collected(terms, *more):
        done["collected"] += len(terms)
        return collect(terms, *more)

    monkeypatch.setattr(Limit, "count", count)
    monkeypatch.setattr(module, "collected", collected)
    return done


LARGE = {
    "ten links in a plane": planar(10, 3),
    "five links in a plane": planar(5, 3),
    "tubes that narrow, with torsion": narrowing(),
    "six joints in space": fa.load("spatial-6r"),
}


@pytest.mark.parametrize(
    ("name", "form"),
    [*((x, "latex") for x in LARGE), ("five links in a plane", "text"), ("five links in a plane", "markdown")],
)
def test_a_document_that_is_too_large_is_refused_early(name, form, work):
    """After a number of products that does not depend on the arm, and before anything is collected or printed."""
    eq = fa.equations(LARGE[name])
    with pytest.raises(DescriptionError, match=r"^arm '.*': [MD] is too large as a closed form: ") as error:
        getattr(eq, form)()
    line = str(error.value)
    assert "\n" not in line and "fewer modes or links make it smaller" in line and "--yes" in line
    parts = 3  # M, D and, before them, the pose of the tip
    assert 0 < work["products"] <= parts * 1.01 * module.PRODUCTS  # one row of a product may go beyond
    assert work["collected"] == 0


@pytest.mark.parametrize("name", [x for x in LARGE if x != "ten links in a plane"])
def test_small_parts_of_a_large_arm_can_be_had(name):
    """And they are the native model's."""
    described = LARGE[name]
    eq = fa.equations(described)
    names = ["U", "B", "damping", "stiffness_force", *(["G"] if name != "six joints in space" else [])]
    q, qd, _ = random_state(described, 1)
    wanted = expected(fa.Model(described), q, qd, names)
    for part in names:
        (found,) = numeric(eq, [eq.explicit(getattr(eq, part))], q, qd)
        assert_close(found, wanted[part], message=part)


def test_numbers_for_parameters_make_it_smaller(monkeypatch):
    """The refusal says so where it is true: here of M alone."""
    described = planar(3, 2)
    monkeypatch.setattr(module, "LARGEST", 2000)
    with pytest.raises(DescriptionError, match=r"M is too .* more than 2000 terms; numbers for parameters \(numbers, "):
        _ = fa.equations(described).M
    eq = fa.equations(described, numbers=["*"])
    q, qd, _ = random_state(described, 1)
    assert_close(numeric(eq, [eq.explicit(eq.M)], q, qd)[0], fa.Model(described).mass_matrix(q))


def test_sums_that_grow_on_the_way_are_refused(monkeypatch):
    monkeypatch.setattr(module, "ON_THE_WAY", 100)
    with pytest.raises(DescriptionError, match=r"D is too large .* sums of more than 100 terms or takes .* products;"):
        _ = fa.equations(planar(2, 2)).D
    monkeypatch.undo()
    monkeypatch.setattr(module, "PRODUCTS", 1000)
    with pytest.raises(DescriptionError, match=r"D is too large .* or takes 1000 products; fewer modes"):
        _ = fa.equations(planar(2, 2)).D


def test_a_long_pose_is_not_squared(work):
    """M of an arm whose tip's pose is long is refused without trying; what has no poses is not."""
    eq = fa.equations(fa.load("spatial-6r"))
    with pytest.raises(DescriptionError, match=r"M is too large .*: the pose of the tip alone has more than 5000"):
        _ = eq.M
    before = work["products"]
    with pytest.raises(DescriptionError, match="D is too large"):
        _ = eq.D
    assert work["products"] == before
    assert eq.U.shape == (16, 16)


def test_however_large(monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 10)
    small = arm(link(1), link(2))
    with pytest.raises(DescriptionError, match="too large"):
        _ = fa.equations(small).M
    assert fa.equations(small, however_large=True).M.shape == (4, 4)


# -- shapes that follow the load ---------------------------------------------------------------------------------------


def follower(**changes):
    """Theodore & Ghosal's arm with weight; its tip may bend less, its convection be the paper's."""
    described = fa.load("theodore-ghosal").replace(gravity=(1.0, -9.81, 0.7))
    *before, slide = described.links
    joint = slide.joint.replace(**{k: v for k, v in changes.items() if k in ("convection", "wave_numbers")})
    body = slide.body.replace(**{k: v for k, v in changes.items() if k in ("modes", "damping")})
    return described.replace(links=[*before, slide.replace(joint=joint, body=body)])


FOLLOWERS = {
    "integrated": follower(),
    "solved, one plane": follower(wave_numbers="solved", modes={"y": 1}, damping=0.01),
    "the paper's convection": follower(convection="paper", modes={"y": 2}),
}
FOLLOWS = 1e-10  # relative: numbers of a series of thirty terms, and of its derivatives, which are 100 times as large


@pytest.fixture(scope="module", params=FOLLOWERS)
def following(request):
    described = FOLLOWERS[request.param]
    return fa.equations(described), fa.Model(described)


def test_numbers_of_shapes_that_follow_their_load(following):
    """Every closed form at a random state: integrals are functions of the length that SymPy evaluates."""
    eq, model = following
    q, qd, _ = random_state(eq.arm, 1)
    wanted = expected(model, q, qd)
    forms = {name: eq.explicit(getattr(eq, name)) for name in NAMES}
    force = np.max(np.abs(wanted["M"])) * np.max(np.abs(qd))
    for name, found in zip(NAMES, numeric(eq, forms.values(), q, qd), strict=True):
        size = max(np.max(np.abs(wanted[name]), initial=0.0), force if name in ("D", "bias") else 0.0)
        np.testing.assert_allclose(np.asarray(found, float).reshape(np.shape(wanted[name])), wanted[name], rtol=0,
                                   atol=FOLLOWS * size, err_msg=name)  # fmt: skip


def test_theorem_1_of_shapes_that_follow_their_load(following):
    """Mdot - 2 D is skew, Mdot by SymPy through the functions, and M is the slope of inverse dynamics."""
    eq, model = following
    q, qd, _ = random_state(eq.arm, 3)
    rate, D, M = numeric(eq, [eq.rate(eq.M), eq.explicit(eq.D), eq.explicit(eq.M)], q, qd)
    W = rate - 2 * D
    np.testing.assert_allclose(W, -W.T, rtol=0, atol=FOLLOWS * np.abs(D).max())
    assert np.abs(D).max() > 0
    h = 1e-6
    moved = (model.mass_matrix(q + h * qd) - model.mass_matrix(q - h * qd)) / (2 * h)
    np.testing.assert_allclose(rate, moved, rtol=0, atol=1e-7 * np.abs(moved).max())  # of the difference, second order
    at_rest = model.inverse_dynamics(q, qd, np.zeros(len(q)))
    columns = [model.inverse_dynamics(q, qd, e) - at_rest for e in np.eye(len(q))]
    np.testing.assert_allclose(M, np.transpose(columns), rtol=0, atol=FOLLOWS * np.abs(at_rest).max())


def test_forces_of_shapes_that_follow_their_load_are_slopes(following):
    """Of the potential energy, in symbols: SymPy differentiates the functions by the length."""
    eq, _ = following
    q, _ = columns(eq)
    force = sp.Matrix([eq.explicit(eq.potential)]).jacobian(q).T
    state = random_state(eq.arm, 4)[:2]
    found, right = numeric(eq, [force, eq.explicit(eq.stiffness_force + eq.G)], *state)
    np.testing.assert_allclose(found, right, rtol=0, atol=FOLLOWS * np.abs(right).max())
    U, slope = numeric(eq, [eq.U, eq.stiffness_force.jacobian(q)], *state)
    np.testing.assert_allclose(U, slope, rtol=0, atol=FOLLOWS * np.abs(U).max())


def test_functions_of_the_length_are_the_integrals():
    """By quadrature of the shapes at other lengths than the series was made from; constant is what they keep."""
    described = follower(wave_numbers="solved")
    eq = fa.equations(described)
    functions = {f.symbol: f for f in eq.functions}
    assert {f.letters.partition("_")[0] for f in eq.functions} == {"a", "b", "c", "k", "phi", "dphi"}
    constant = {p.symbol: p.value for p in eq.parameters if p.modal}
    # the shapes keep their mean square, and so half of it with what sliding makes of them
    assert {"c_3_1_1", "c_3_2_2"} <= set(constant) <= {"c_3_1_1", "c_3_2_2", "c_3_1_s1", "c_3_2_s2"}
    for i in {"1", "2"} & {name[-1] for name in constant if "s" in name}:
        assert constant[f"c_3_{i}_s{i}"] == pytest.approx(constant[f"c_3_{i}_{i}"] / 2, rel=1e-11)
    assert {eq.length_of(f) for f in eq.functions} == {"q_3"}
    beam, x, w = described.links[-1].body, *np.polynomial.legendre.leggauss(60)
    x, w = (x + 1) / 2, w / 2
    square = shapes.ClampedMass(mass_ratio=0.0828 / (0.331 * 1.0)).basis(2).values(x) ** 2
    for length in (0.3, 0.77, 1.21):
        ratio = 0.0828 / (beam.total_mass / beam.length * length)
        basis = shapes.ClampedMass(mass_ratio=ratio).basis(2)
        psi = basis.values(x)
        scale = np.sqrt((w @ square) / (w @ psi**2))
        for j in (1, 2):
            assert functions[f"b_3_{j}"](length) == pytest.approx(w @ (x * psi[:, j - 1]) * scale[j - 1], rel=1e-9)
            bent = w @ basis.values(x, 2)[:, j - 1] ** 2
            assert functions[f"k_3_{j}_{j}"](length) == pytest.approx(bent * scale[j - 1] ** 2, rel=1e-9)
            assert functions[f"phi_3_{j}"](length) == pytest.approx(
                basis.values(1.0)[0, j - 1] * scale[j - 1], rel=1e-9
            )
    h = 1e-5
    for f in eq.functions:
        if f.order < 2:
            slope = (f(0.9 + h) - f(0.9 - h)) / (2 * h)
            assert f.slope(0.9) == pytest.approx(slope, rel=1e-6, abs=1e-6)
    many = functions["a_3_1"](np.array([[0.4, 0.5], [0.6, 0.7]]))
    assert many.shape == (2, 2) and many[1, 0] == functions["a_3_1"](0.6)


def test_a_function_of_the_length_in_sympy():
    """It stands as a function of the coordinate; derivatives are functions too, and all of them have numbers."""
    eq = fa.equations(follower(wave_numbers="solved", modes={"y": 1}))
    length = sp.Symbol("q_3")
    f = next(x for x in eq.M.atoms(sp.Function) if x.func.__name__ == "phi_3_1")
    assert f.args == (length,)
    assert f.diff(length).func.__name__ == "phi_3_1_l" and f.diff(length, 2).func.__name__ == "phi_3_1_ll"
    known = {x.symbol: x for x in eq.functions}
    assert float(f.subs(length, 0.8)) == pytest.approx(float(known["phi_3_1"](0.8)), rel=1e-14)
    assert float(f.diff(length).subs(length, 0.8).evalf()) == pytest.approx(float(known["phi_3_1_l"](0.8)), rel=1e-14)


def test_a_regressor_of_shapes_that_follow_their_load():
    eq = fa.equations(follower(wave_numbers="solved", modes={"y": 1}))
    made = eq.regressor(["mP", "EI_3"])
    q, qd, _ = random_state(eq.arm, 5)
    qdd = np.linspace(-1, 1, len(q))
    more = {name.replace("d_", "dd_", 1): x for name, x in zip(eq.rates, qdd, strict=True)}
    tau = eq.explicit(made.Y * made.p + made.rest).subs(more)
    found = numeric(eq, [tau], q, qd)[0]
    right = fa.Model(eq.arm).inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(np.ravel(found), right, rtol=0, atol=FOLLOWS * np.abs(right).max())


def test_theodore_ghosal_with_fixed_shapes():
    described = catalogue("theodore-ghosal", wave_numbers="fixed")
    eq = fa.equations(described)
    q, qd, _ = random_state(described, 1)
    wanted = expected(fa.Model(described), q, qd)
    names = ("M", "U", "G", "B", "damping", "tip", "kinetic")
    for name, found in zip(names, numeric(eq, [eq.explicit(getattr(eq, n)) for n in names], q, qd), strict=True):
        assert_close(found, wanted[name], message=name)


def test_where_nothing_moves():
    post = fa.Link(name="post", joint=fa.Fixed(), body=fa.Rigid(length=1.0, mass=1.0))
    still = fa.Arm(name="post", links=[post])
    with pytest.raises(DescriptionError, match="arm 'post': nothing moves; give it a joint or a link with modes"):
        fa.equations(still)
