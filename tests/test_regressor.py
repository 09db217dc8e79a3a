"""Equations linear in parameters: Y p is the model's inverse dynamics, and p has no entry too many."""

from functools import cache

import numpy as np
import pytest
import sympy as sp

import flexarm as fa
from flexarm.closed_forms.equations import equations
from flexarm.errors import DescriptionError

CLOSE = 1e-12  # of the largest force: the same sums, added in another order
INDEPENDENT = 1e-8  # of the largest singular value: what smaller ones are is rounding, what larger ones are is not
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
TENSOR = ((0.03, 0.002, -0.001), (0.002, 0.04, 0.003), (-0.001, 0.003, 0.05))
SPRING = {"stiffness": 80.0, "spring_damping": 0.2, "rotor_inertia": 0.01, "gear_ratio": 3.0, "damping": 0.1}


def rod(i, axis=Z, com=(0.21, 0.0, 0.0), inertia=0.02, **joint):
    body = fa.Rigid(length=0.3 + 0.1 * i, mass=1.0 + 0.1 * i, com=com, inertia=inertia)
    return fa.Link(name=f"link{i}", joint=fa.Revolute(axis=axis, **joint), body=body)


def arm(name, *links, payload=None):
    return fa.Arm(name=name, links=links, gravity=(0.0, -9.81, 0.0), payload=payload)


BEAM = fa.Beam(length=0.8, mass=0.6, EI=20.0, modes={"y": 2}, damping=0.01)
ARMS = {
    "two links": fa.load("rigid-two-link"),
    "two links without weight": fa.load("rigid-two-link").replace(gravity=(0.0, 0.0, 0.0)),
    "planar, three links": arm("three", *(rod(i) for i in (1, 2, 3))),
    "spatial, three links": arm(
        "spatial", *(rod(i, a, (0.2, 0.03, -0.02), TENSOR) for i, a in enumerate((Z, Y, X), 1))
    ),
    "one flexible link": arm("flexible", fa.Link(name="beam", body=BEAM), payload=fa.Payload(mass=0.3, inertia=0.01)),
    "an elastic joint": arm("elastic", rod(1, **SPRING), rod(2)),
    "lin-lewis-rfr": fa.load("lin-lewis-rfr"),
    "two flexible links": fa.load("subudhi-morris-elastic"),
}
NUMBER = {"two links": 5, "two links without weight": 3, "an elastic joint": 9}


@cache
def derived(name):
    return equations(ARMS[name])


@cache
def regressor(name, *chosen):
    """The regressor, and its Y, p and rest as functions of a state."""
    found = derived(name)
    made = found.regressor(chosen)
    accelerations = [x.replace("d_", "dd_", 1) for x in found.rates]
    states = [[*map(sp.Symbol, names)] for names in (found.coordinates, found.rates, accelerations)]
    parts = [found.explicit(part) for part in (made.Y, made.p, made.rest)]
    return made, sp.lambdify([*states, [*found.values]], parts, "numpy", cse=True)


def states(name, count):
    model = fa.Model(ARMS[name])
    rng = np.random.default_rng(count)
    size = np.array([0.3 if x.startswith("eta") else 1.0 for x in derived(name).coordinates])
    for _ in range(count):
        q, qd, qdd = size * rng.uniform(0.4, 1.3, (3, len(size))) * rng.choice([-1, 1], (3, len(size)))
        yield q, qd, qdd, np.array(model.inverse_dynamics(q, qd, qdd))


def assert_gives_the_force(name, *chosen):
    made, evaluated = regressor(name, *chosen)
    for q, qd, qdd, tau in states(name, 5):
        Y, p, rest = evaluated(q, qd, qdd, derived(name).values.values())
        np.testing.assert_allclose((Y @ p + rest).ravel(), tau, rtol=0, atol=CLOSE * np.abs(tau).max())
    return made


@pytest.mark.parametrize("name", ARMS)
def test_the_regressor_gives_inverse_dynamics(name):
    made = assert_gives_the_force(name)
    n, found = len(derived(name).coordinates), derived(name)
    assert made.Y.shape == (n, len(made.p)) and made.rest == sp.zeros(n, 1)
    parameters = {*found.values}
    assert made.p.free_symbols <= parameters
    assert not made.Y.free_symbols & {x for x in parameters if str(x)[0] in "mI"}  # masses and inertias are all in p


@pytest.mark.parametrize("name", ARMS)
def test_no_parameter_is_too_many(name):
    """Over many states the columns of Y are independent."""
    made, evaluated = regressor(name)
    rows = [evaluated(q, qd, qdd, derived(name).values.values())[0] for q, qd, qdd, _ in states(name, 60)]
    stacked = np.vstack(rows)
    singular = np.linalg.svd(stacked / np.linalg.norm(stacked, axis=0), compute_uv=False)
    assert (singular > INDEPENDENT * singular[0]).sum() == len(made.p)
    assert len(made.p) == NUMBER.get(name, len(made.p))


def test_the_textbooks_base_parameters():
    """Of the double pendulum with gravity; without it the two of weight are gone."""
    m_1, m_2, L_1, lc_1, lc_2, I_1, I_2, g = sp.symbols("m_1 m_2 L_1 lc_1 lc_2 I_1 I_2 g")
    inertia = {I_1 + m_1 * lc_1**2 + m_2 * L_1**2, I_2 + m_2 * lc_2**2, m_2 * L_1 * lc_2}
    weight = {g * (m_1 * lc_1 + m_2 * L_1), g * m_2 * lc_2}
    for name, textbook in (("two links", inertia | weight), ("two links without weight", inertia)):
        assert {sp.expand(x) for x in regressor(name)[0].p} == {sp.expand(x) for x in textbook}


def test_the_textbooks_regressor():
    """Column by column, for the double pendulum."""
    made = regressor("two links")[0]
    q_1, q_2, v_1, v_2, a_1, a_2 = sp.symbols("q_1 q_2 qd_1 qd_2 qdd_1 qdd_2")
    L_1, m_2, lc_2, I_2, g = sp.symbols("L_1 m_2 lc_2 I_2 g")
    columns = {
        I_2 + m_2 * lc_2**2: (a_1 + a_2, a_1 + a_2),
        m_2 * L_1 * lc_2: (
            sp.cos(q_2) * (2 * a_1 + a_2) - sp.sin(q_2) * (v_2**2 + 2 * v_1 * v_2),
            sp.cos(q_2) * a_1 + sp.sin(q_2) * v_1**2,
        ),
        g * m_2 * lc_2: (sp.cos(q_1 + q_2), sp.cos(q_1 + q_2)),
    }
    p = [sp.expand(x) for x in made.p]
    for parameter, column in columns.items():
        difference = made.Y[:, p.index(sp.expand(parameter))] - sp.Matrix(column)
        assert difference.expand() == sp.zeros(2, 1)


@pytest.mark.parametrize(
    ("name", "chosen", "symbols"),
    [
        ("lin-lewis-rfr", ("m_2", "mP"), ["m_2", "mP"]),
        ("lin-lewis-rfr", ("mP", "middle.EI"), ["mP", "EI_2"]),
        ("two links", ("I_*", "m_1"), ["I_1", "I_2", "m_1"]),
        ("two links", ("*.mass", "m_2"), ["m_1", "m_2"]),
        ("two flexible links", ("EI_*", "mP"), ["EI_1", "EI_2", "mP"]),
        ("an elastic joint", ("link1.*stiffness", "ds_1"), ["ks_1", "ds_1"]),
    ],
)
def test_chosen_parameters(name, chosen, symbols):
    """Y p and the rest give the force, and neither Y nor the rest has a parameter that was chosen."""
    made = assert_gives_the_force(name, *chosen)
    assert [str(x) for x in made.p] == symbols
    explicit = [derived(name).explicit(part) for part in (made.Y, made.rest)]
    assert not {*map(sp.Symbol, symbols)} & (explicit[0].free_symbols | explicit[1].free_symbols)
    assert all(any(entry != 0 for entry in made.Y[:, c]) for c in range(len(symbols)))


def test_a_chosen_parameter_may_change():
    """Y and the rest at the arm's numbers, times other masses, are the force of the arm that has these."""
    name, masses = "planar, three links", {"m_1": 2.5, "m_3": 0.4}
    _, evaluated = regressor(name, *masses)
    links = ARMS[name].links
    heavier = [
        link.replace(body=link.body.replace(mass=masses.get(f"m_{i}", link.body.mass)))
        for i, link in enumerate(links, 1)
    ]
    model = fa.Model(ARMS[name].replace(links=tuple(heavier)))
    for q, qd, qdd, _ in states(name, 3):
        Y, _, rest = evaluated(q, qd, qdd, derived(name).values.values())
        tau = np.array(model.inverse_dynamics(q, qd, qdd))
        found = (Y @ [[x] for x in masses.values()] + rest).ravel()
        np.testing.assert_allclose(found, tau, rtol=0, atol=CLOSE * np.abs(tau).max())


def test_numbers_stay_numbers():
    """Parameters that were made numbers are in Y, and no longer in p."""
    numbers = {"L_1": 1.1, "g": 9.81}
    made = equations(ARMS["two links"], numbers).regressor()
    assert not {sp.Symbol("L_1"), sp.Symbol("g")} & (made.p.free_symbols | made.Y.free_symbols)
    assert len(made.p) == 4  # with both known, m_2 lc_2 is one parameter, alone and with the weight
    assert "9.81" in str(made.Y)


@pytest.mark.parametrize(
    ("name", "chosen", "why"),
    [
        (
            "two links",
            ("m_2", "L_1"),
            r"the equations are not linear in m_2, L_1: they have (L_1 m_2|m_2 L_1|L_1\^2 m_2)",
        ),
        ("two links", ("lc_1",), r"the equations are not linear in lc_1: they have lc_1\^2"),
        (
            "lin-lewis-rfr",
            ("EI_2", "k_2_1_1"),
            r"the equations are not linear in EI_2, k_2_1_1: they have EI_2 k_2_1_1",
        ),
        ("lin-lewis-rfr", ("phi_2_1",), r"the equations are not linear in phi_2_1: they have .*"),
        (
            "two links",
            ("mass",),
            r"unknown parameter 'mass'; the parameters are m_1 \(upper\.mass\), L_1 \(upper\.length\), .*",
        ),
        ("two links", ("m_1", "n_*"), r"unknown parameter 'n_\*'; the parameters are .*"),
    ],
)
def test_what_is_not_linear_is_refused(name, chosen, why):
    with pytest.raises(DescriptionError, match=f"^{why}$"):
        derived(name).regressor(chosen)


def test_an_angle_is_not_linear():
    """What stands within sines and cosines: a constant angle, or what the slope of a tip is made of."""
    tilted = rod(1).replace(placement=fa.Pose(rpy=(0.0, 0.0, 0.3)))
    with pytest.raises(DescriptionError, match=r"^the equations are not linear in yaw_1: .*"):
        equations(arm("tilted", tilted)).regressor(["yaw_1"])
    light = fa.Link(name="hand", body=fa.Rigid(length=0.3, mass=1.0, inertia=0.02, com=(0.1, 0.0, 0.0)))
    beam = fa.Link(name="beam", body=BEAM.replace(modes={"y": 1}, damping=0.0))
    with pytest.raises(DescriptionError, match=r"^the equations are not linear in dphi_1_1: .*"):
        equations(arm("bent", beam, light)).regressor(["dphi_1_1"])
