"""C(q, qd) v against Christoffel's symbols, textbooks and the skew property; the regressor against closed forms."""

import numpy as np
import pytest
from random_arms import random_arm, random_state

import flexarm as fa


def ball():
    """A ball joint, a beam and a hinge: rates that are no rates of coordinates, after and before others."""
    beam = fa.Beam(length=0.7, mass=0.4, EI=9.0, modes={"y": 1, "z": 1})
    links = (
        fa.Link(name="a", joint=fa.Revolute(axis=(0.0, 1.0, 0.0), rotor_inertia=0.3), body=beam),
        fa.Link(name="b", joint=fa.Ball(), body=fa.Rigid(length=0.3, mass=0.8, inertia=(0.03, 0.05, 0.02))),
        fa.Link(name="c", joint=fa.Revolute(axis=(0.0, 0.0, 1.0)), body=fa.Rigid(length=0.4, mass=0.6)),
    )
    return fa.Arm(name="ball", links=links)


ARMS = {
    "two": lambda: random_arm(0, links=2),
    "elastic": lambda: random_arm(5, links=2, elastic=True),
    "rigid": lambda: random_arm(7, links=3, rigid=True),
    "telescope": lambda: random_arm(3, links=2, telescope=True),
    "foreshortening": lambda: random_arm(4, links=1, foreshortening=True, elastic=False),
    "free": lambda: fa.load("satellite"),
    "ball": ball,
}


@pytest.fixture(scope="module", params=ARMS)
def case(request):
    arm = ARMS[request.param]()
    model = fa.Model(arm)
    if request.param == "ball":
        rng = np.random.default_rng(5)
        e = rng.normal(size=4)
        q, qd = np.concatenate([e / np.linalg.norm(e), 0.3 * rng.normal(size=model.nq - 4)]), rng.normal(size=model.nv)
    else:
        q, qd, _ = random_state(arm, 3)
    return request.param, model, q, qd


def matrix(model, q, qd):
    return model.coriolis_force(q, qd, np.eye(model.nv)).T


def test_the_rate_of_the_inertia_less_twice_c_is_skew(case):
    _, model, q, qd = case
    M_dot = (np.array(model.slope("mass_matrix", 0)(q)) @ qd).reshape(model.nv, model.nv)
    C = matrix(model, q, qd)
    skew = M_dot - 2 * C
    assert np.abs(C).max() > 1e-3
    assert np.abs(skew + skew.T).max() < 1e-12 * np.abs(C).max()
    np.testing.assert_allclose(C @ qd, model.bias(q, qd), atol=1e-13 * np.abs(C).max() * np.abs(qd).max())


def test_it_is_symmetric_but_for_the_bracket_of_twists(case):
    """C(x) y - C(y) x = M [x, y], with no bracket of rates of coordinates."""
    name, model, q, x = case
    y, bracket = np.random.default_rng(8).normal(size=model.nv), np.zeros(model.nv)
    if name == "free":
        bracket[:3] = np.cross(x[3:6], y[:3]) - np.cross(y[3:6], x[:3])
        bracket[3:6] = np.cross(x[3:6], y[3:6])
    if name == "ball":
        assert model.velocities[:3] == ("b.wx", "b.wy", "b.wz")
        bracket[:3] = np.cross(x[:3], y[:3])
    M = model.mass_matrix(q)
    difference = model.coriolis_force(q, x, y) - model.coriolis_force(q, y, x)
    np.testing.assert_allclose(difference, M @ bracket, atol=1e-12 * max(1.0, np.abs(M).max()))


def test_it_has_christoffels_symbols(case):
    """C_kj = sum over i of (dM_kj/dq_i + dM_ki/dq_j - dM_ij/dq_k) qd_i / 2, by differences of M."""
    name, model, q, qd = case
    if name in ("free", "ball"):
        pytest.skip("twists are no rates of coordinates")
    n, h = model.nv, 1e-5
    steps = h * np.eye(n)
    slopes = (model.mass_matrix(q + steps) - model.mass_matrix(q - steps)) / (2 * h)  # [i, k, j]
    C = np.einsum("ikj,i->kj", slopes, qd) + np.einsum("jki,i->kj", slopes, qd) - np.einsum("kij,i->kj", slopes, qd)
    np.testing.assert_allclose(matrix(model, q, qd), C / 2, atol=1e-8 * np.abs(C).max())


TWO = fa.Arm(
    name="two rods",
    gravity=(0.0, -9.81, 0.0),
    links=[
        fa.Link(name="upper", joint=fa.Revolute(damping=0.4), body=fa.Rigid(length=0.7, mass=1.3, inertia=0.09)),
        fa.Link(name="fore", joint=fa.Revolute(damping=0.2), body=fa.Rigid(length=0.6, mass=0.8, inertia=0.05)),
    ],
    payload=fa.Payload(mass=0.5),
)


def test_of_two_rods_it_is_the_textbooks():
    """Spong, Hutchinson & Vidyasagar: h = -(m_2 l_1 l_c2 + m_P l_1 l_2) sin q_2."""
    model = fa.Model(TWO)
    q, qd = np.array([0.4, -1.1]), np.array([0.7, 1.9])
    h = -(0.8 * 0.7 * 0.3 + 0.5 * 0.7 * 0.6) * np.sin(q[1])
    C = [[h * qd[1], h * (qd[0] + qd[1])], [-h * qd[0], 0.0]]
    np.testing.assert_allclose(matrix(model, q, qd), C, atol=1e-14)


def test_reference_dynamics_are_inverse_dynamics_of_equal_rates(case):
    _, model, q, qd = case
    v, qdd = np.random.default_rng(1).normal(size=(2, model.nv))
    tau = model.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(model.reference_dynamics(q, qd, qd, qdd), tau, rtol=1e-12, atol=1e-12 * abs(tau).max())
    more = model.reference_dynamics(q, qd, v, qdd) - tau
    C = model.coriolis_force(q, qd, v) - model.coriolis_force(q, qd, qd)
    np.testing.assert_allclose(more, C, atol=1e-12 * abs(tau).max())


# -- the regressor -----------------------------------------------------------------------------------------------------


def test_the_regressor_of_two_rods():
    """Columns by hand: inertia and mass of the forearm, the payload, a bearing, gravity."""
    model = fa.Model(TWO, vary=["fore.inertia", "fore.mass", "payload.mass", "upper.damping"])
    assert [p.name for p in model.parameters] == ["fore.inertia", "fore.mass", "payload.mass", "upper.damping"]
    q, qd, v, a = np.random.default_rng(2).normal(size=(4, 2))
    g, l1 = 9.81, 0.7

    def point(r):
        """Force per mass of a point at a distance r along the forearm."""
        c, s, x, y = np.cos(q[1]), np.sin(q[1]), np.cos(q[0]), np.cos(q.sum())
        M = np.array([[l1**2 + r**2 + 2 * l1 * r * c, r**2 + l1 * r * c], [r**2 + l1 * r * c, r**2]])
        h = -l1 * r * s
        C = np.array([[h * qd[1], h * (qd[0] + qd[1])], [-h * qd[0], 0.0]])
        return M @ a + C @ v + g * np.array([l1 * x + r * y, r * y])

    about = np.array([a.sum(), a.sum()])
    Y = np.array([about, point(0.3), point(0.6), [qd[0], 0.0]]).T
    np.testing.assert_allclose(model.regressor(q, qd, v, a), Y, atol=1e-13)
    batch = model.regressor(np.tile(q, (3, 1)), qd, v, a)
    assert batch.shape == (3, 2, 4)
    np.testing.assert_allclose(batch[1], Y, atol=1e-13)
    np.testing.assert_allclose(np.array(model.regressor_function()(q, qd, v, a)), Y, atol=1e-13)


def test_dynamics_of_a_flexible_arm_are_the_regressor_times_parameters():
    model = fa.Model("subudhi-morris", vary=["payload.mass", "payload.inertia", "*.mass", "*.EI"])
    rng = np.random.default_rng(3)
    q, qd, v, a = 0.2 * rng.normal(size=(4, model.nv))
    p = model.p * rng.uniform(0.5, 2.0, len(model.p))
    change = model.reference_dynamics(q, qd, v, a, p=p) - model.reference_dynamics(q, qd, v, a)
    np.testing.assert_allclose(model.regressor(q, qd, v, a) @ (p - model.p), change, atol=1e-12 * np.abs(change).max())
    assert np.abs(change).max() > 1e-3


def test_parameters_that_are_not_linear_are_refused():
    state = np.ones((4, 2))
    for vary, line in {
        (): "regressor: arm 'two rods': the model has no parameters; name them, as in Model",
        ("upper.length",): "not linear in 'upper.length': they contain the square or a function of it",
        ("fore.mass", "fore.com.x"): "not linear in 'fore.mass': they contain a product with 'fore.com.x'; leave one",
    }.items():
        with pytest.raises(fa.DescriptionError, match=line):
            fa.Model(TWO, vary=list(vary)).regressor(*state)
