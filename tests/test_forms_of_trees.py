"""Closed forms and source code of trees and of arms on a free base, against the model's numbers and in themselves."""

import json
import pickle
import re

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from compared import values, vector
from evaluated import evaluated
from exported import GCC, in_matlab, in_python, run
from exported import LETTERS as RENAMED
from javascript import needs_node, node
from random_arms import random_state
from random_trees import laced, random_tree

import flexarm as fa
from flexarm.attitude import configuration, local
from flexarm.closed_forms.formats.mathematics import symbol
from flexarm.closed_forms.parts import PARTS, of_motion
from flexarm.closed_forms.traced import rate_of, trace
from flexarm.errors import DescriptionError
from flexarm.quaternions import rotation

CLOSE = 1e-12  # of a part's largest number: some thousand operations, in another order
BY_STEPS = 1e-7  # central differences over 1e-6
BUS = fa.FreeBase(
    mass=5.0,
    com=(0.1, -0.05, 0.02),
    inertia=(0.4, 0.5, 0.6),
    thrusters=[
        fa.Thruster(name="jet", direction=(0, 1, 0), at=(0.2, 0, 0)),
        fa.Thruster(name="gyro", direction=(0, 0, 1), kind="torque"),
    ],
)


def bush(*, free=True, at=1.0, gravity=(0.3, -9.81, 1.0), segments=None, **changes):
    """A bent link with a payload and a branch on it, and a panel beside them."""
    pieces = {} if segments is None else {"segments": segments}
    beam = fa.Beam(length=1.2, mass=0.7, EI=20.0, modes={"y": 2}, shapes="polynomial", **pieces)
    wing = fa.Beam(length=0.8, mass=0.3, EI=9.0, modes={"z": 1}, shapes="polynomial")
    load = fa.Payload(mass=0.4, inertia=0.02)
    branch = fa.Revolute(axis=(0, 1, 0))
    links = [
        fa.Link(name="panel", joint=fa.Fixed(), body=wing, parent="base", placement=fa.Pose(xyz=(-0.3, 0.2, 0))),
        fa.Link(name="branch", joint=branch, body=fa.Rigid(length=0.5, mass=0.6), parent="lower", at=at),
        fa.Link(name="lower", body=beam, parent="base", payload=load),
    ]
    made = {"name": "bush", "links": links, "base": BUS if free else None, "gravity": gravity, "tip": "branch"}
    return fa.Arm(**(made | changes))


def lone(**changes):
    """A bus with an arm of one rigid link."""
    made = {"name": "lone", "links": [fa.Link(name="rod", body=fa.Rigid(length=0.5, mass=0.6))], "base": BUS}
    return fa.Arm(**(made | changes))


def geared():
    """The bush on a fixed base, whose panel turns after the lower link."""
    arm = bush(free=False)
    gear = fa.Gear(joint=fa.Revolute(axis=(0.6, 0, 0.8), damping=0.3), follows="lower", ratio=-0.7, offset=0.2)
    return arm.replace(links=[arm.links[0].replace(joint=gear), *arm.links[1:]])


CASES = {
    "geared": geared,
    "fixed": lambda: bush(free=False),
    "free": bush,
    "station": lambda: bush(at=0.5),
    "place": lambda: bush(at=fa.Pose(xyz=(0.3, 0.1, 0.0), rpy=(0.2, 0.0, 0.4))),
    "segments": lambda: bush(at=0.75, segments=2),
    "lone": lone,
}


def parted(model, q, qd):
    """Every part by the model and exact slopes of its quantities, but D, whose numbers no quantity has."""
    arm = model.arm
    R = values(model, "tip", q)[:3, :3]
    slope = np.array(model.slope("tip", "q")(q)).reshape(4, 4, -1, order="F")
    turning = np.einsum("ijk,lj->ilk", slope[:3, :3], R)
    N = np.zeros((model.nq, model.nv))
    N[arm.free :, :] = np.eye(model.nv)
    if arm.free:
        w, x, y, z = q[3:7]
        N[:7, :6] = 0.0
        N[:3, :3] = rotation(q[3:7])
        N[3:7, 3:6] = 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])
    return {
        "M": values(model, "mass_matrix", q),
        "damping": np.array(model.slope("damping_force", "qd")(q, qd)),
        "U": np.array(model.slope("stiffness_force", "q")(q)),
        "G": vector(model, "gravity_force", q),
        "B": values(model, "input_matrix", q),
        "bias": vector(model, "bias", q, qd),
        "stiffness_force": vector(model, "stiffness_force", q),
        "energy": vector(model, "energy", q, qd),
        "tip": values(model, "tip", q),
        "jacobian": np.vstack([slope[:3, 3], turning[2, 1], turning[0, 2], turning[1, 0]]),
        "kinematics": N,
    }


def assert_parts(found, model, q, qd):
    """Parts by name against the model; of D that D qd is the bias and that Mdot - 2 D is skew."""
    wanted = parted(model, q, qd)
    assert found.keys() == {*wanted, "D"}
    force = np.abs(wanted["M"]).max() * np.abs(qd).max()
    for name, value in wanted.items():
        scale = max(np.abs(value).max(initial=0.0), {"bias": force * np.abs(qd).max()}.get(name, 0.0))
        np.testing.assert_allclose(
            np.reshape(found[name], value.shape), value, rtol=0, atol=CLOSE * scale, err_msg=name
        )
    D = found["D"]
    np.testing.assert_allclose(D @ qd, wanted["bias"], rtol=0, atol=CLOSE * force * np.abs(qd).max())
    step = 1e-6 * wanted["kinematics"] @ qd
    rate = (values(model, "mass_matrix", q + step) - values(model, "mass_matrix", q - step)) / 2e-6
    skew = rate - 2 * D
    assert np.abs(skew + skew.T).max() < BY_STEPS * np.abs(D).max()


@pytest.mark.parametrize("name", [x for x in CASES if x != "segments"])  # of second order, so long
def test_closed_forms_are_the_models_numbers(name):
    arm = CASES[name]()
    eq, model = fa.equations(arm, however_large=True), fa.Model(arm)
    q, qd, _ = random_state(arm, 4)
    forms = {"energy": sp.Matrix([eq.kinetic, eq.potential])}
    forms |= {part: getattr(eq, part) for part in PARTS if part != "energy"}
    forms = {part: eq.explicit(form) for part, form in forms.items()}
    values = dict(zip(map(sp.Symbol, (*eq.coordinates, *eq.rates)), (*q, *qd), strict=True)) | eq.values
    assert {str(s) for form in forms.values() for s in form.free_symbols - {*values}} == set()
    assert_parts(dict(zip(forms, evaluated(forms.values(), values), strict=True)), model, q, qd)


RANDOM_TREES = [
    {"free": True},
    {"rigid": True},
    {"elastic": True, "rotor": "absolute", "free": True},
    {"telescope": True, "free": True},
    {"foreshortening": True},
]


@pytest.mark.parametrize(("seed", "options"), list(enumerate(RANDOM_TREES)))
def test_source_code_of_random_trees(seed, options):
    """Too large for closed forms, most of them; the program is traced from the same expressions."""
    arm = random_tree(40 + seed, links=3, **options)
    q, qd, _ = random_state(arm, seed)
    assert_parts(in_python(fa.equations(arm), tuple(PARTS))(q, qd), fa.Model(arm), q, qd)


def test_what_stands_still_where_the_base_goes():
    """M, D, C, U, B and the bias do not know where the base stands; gravity knows its attitude alone."""
    eq = fa.equations(bush())
    where = {*map(sp.Symbol, eq.coordinates[:7])}
    for part in ("M", "D", "damping", "U", "B", "bias", "stiffness_force"):
        assert not eq.explicit(getattr(eq, part)).free_symbols & where, part
    assert eq.explicit(eq.G).free_symbols & where == {*sp.symbols("e_w e_x e_y e_z")}
    assert eq.explicit(eq.potential).free_symbols >= {*sp.symbols("p_x p_y p_z")}
    assert fa.equations(bush(gravity=(0.0, 0.0, 0.0))).G == sp.zeros(11, 1)


def test_a_base_by_itself_is_newtons_and_eulers():
    """Of a bus that turns about its centre of mass, term by term: m (v' + w x v), I w' + w x I w."""
    eq = fa.equations(lone(base=BUS.replace(com=(0, 0, 0), thrusters=()), gravity=(0.0, 0.0, -9.81)))
    m, Ix, Iy, Iz, g = sp.symbols("m_0 Ixx_0 Iyy_0 Izz_0 g")
    v, w = sp.Matrix(sp.symbols("v_x v_y v_z")), sp.Matrix(sp.symbols("w_x w_y w_z"))
    I, rod = sp.diag(Ix, Iy, Iz), {sp.Symbol(name): 0 for name in ("m_1", "I_1")}

    def own(X):
        return X.subs(rod).applyfunc(sp.expand)

    assert own(eq.M[:6, :6]) == sp.diag(m, m, m, Ix, Iy, Iz)
    assert own(eq.bias[:6, :]) == sp.Matrix([*(m * w.cross(v)), *w.cross(I * w)]).applyfunc(sp.expand)
    L = -I * w
    turned = sp.Matrix([[0, -L[2], L[1]], [L[2], 0, -L[0]], [-L[1], L[0], 0]])
    assert own(eq.D[3:6, 3:6]) == turned.applyfunc(sp.expand)  # -[I w]: skew, and its product with w is w x I w
    assert own(eq.G[:3, :]) == m * g * sp.Matrix(sp.symbols("R_zx R_zy R_zz"))


def test_mass_rate_less_twice_D_is_skew_in_symbols():
    eq = fa.equations(lone())
    skew = eq.rate(eq.M) - 2 * eq.explicit(eq.D)
    assert sp.expand(skew + skew.T) == sp.zeros(7, 7)
    assert sp.expand(eq.D * sp.Matrix(sp.symbols(eq.rates)) - eq.bias) == sp.zeros(7, 1)
    half = sp.Matrix(eq.bias).jacobian(sp.symbols(eq.rates)) / 2
    assert sp.expand(half + half.T - eq.rate(eq.M)) != sp.zeros(7, 7)  # what Theorem 1 gives where rates are those of q


def test_rates_of_the_base():
    """`rate` goes along N qd: the tip's place changes by its Jacobian, the quaternion keeps its length."""
    eq = fa.equations(lone())
    q, qd, _ = random_state(eq.arm, 1)
    symbols = [*map(sp.Symbol, (*eq.coordinates, *eq.rates)), *eq.values]
    p, J = eq.rate(eq.tip[:3, 3]), eq.explicit(eq.jacobian)
    p, J = sp.lambdify(symbols, [p, J])(*q, *qd, *eq.values.values())
    np.testing.assert_allclose(p.ravel(), (J @ qd)[:3], rtol=0, atol=1e-13)
    e = sp.Matrix(sp.symbols("e_w e_x e_y e_z"))
    assert sp.expand(eq.rate((e.T * e)[0])) == 0
    R, v = sp.symbols("R_xx R_xy R_xz"), sp.symbols("v_x v_y v_z")
    assert sp.expand(eq.rate(sp.Symbol("p_x")) - eq.explicit(sum(a * b for a, b in zip(R, v, strict=True)))) == 0


@pytest.mark.parametrize("name", ["fixed", "free", "lone"])
def test_the_regressor_gives_inverse_dynamics_and_has_no_column_too_many(name):
    arm = CASES[name]()
    eq, model, rng = fa.equations(arm), fa.Model(arm), np.random.default_rng(2)
    found = eq.regressor()
    symbols = [sp.Symbol(x) for x in (*eq.coordinates, *eq.rates, *map(rate_of, eq.rates))]
    Y = eq.explicit(found.Y)  # angles stand in it
    assert Y.free_symbols <= {*symbols, *eq.values} and found.p.free_symbols <= {*eq.values}
    numbers = sp.lambdify([*symbols, *eq.values], [Y, found.p], cse=True)
    rows = []
    for _ in range(found.Y.shape[1] // model.nv + 4):
        q = configuration(arm, local(arm, np.array(arm.rest)) + 0.4 * rng.normal(size=model.nv))
        qd, qdd = rng.normal(size=model.nv), rng.normal(size=model.nv)
        Y, p = (np.array(x, float) for x in numbers(*q, *qd, *qdd, *eq.values.values()))
        force = model.inverse_dynamics(q, qd, qdd)
        np.testing.assert_allclose((Y @ p).ravel(), force, rtol=0, atol=1e-11 * np.abs(force).max())
        rows.append(Y)
    assert np.linalg.matrix_rank(np.vstack(rows)) == found.Y.shape[1]


def test_a_regressor_in_the_numbers_of_the_bus():
    eq = fa.equations(bush())
    found = eq.regressor(["base.mass", "base.inertia.xx"])
    assert [str(x) for x in found.p] == ["m_0", "Ixx_0"]
    assert found.Y[0, 1] == 0 and found.Y[0, 0].has(sp.Symbol("vd_x")) and found.rest[0].has(sp.Symbol("m_1"))


def test_names():
    """Each number has a symbol of its own; so have a section within a link and its tip."""
    eq = fa.equations(bush(at=0.5))
    named = {p.name: p.symbol for p in eq.parameters}
    assert len({*named.values()}) == len(named)
    assert named["base.mass"] == "m_0" and named["base.com.y"] == "cy_0" and named["base.inertia.zz"] == "Izz_0"
    assert named["lower.payload.mass"] == "mP_3" and named["branch.mass"] == "m_2"
    assert eq.coordinates[:8] == ("p_x", "p_y", "p_z", "e_w", "e_x", "e_y", "e_z", "q_2")
    assert eq.rates[:7] == ("v_x", "v_y", "v_z", "w_x", "w_y", "w_z", "qd_2")
    assert eq.stations == {"3p1": 0.5}
    assert {"w_3", "w_3p1", "alpha_3p1", "alphad_3p1"} <= {str(x) for x in eq.definitions}
    assert fa.equations(bush(at=0.75, segments=2)).stations == {"3s2p1": 0.75}


@pytest.mark.parametrize("seed", range(4))
def test_different_names_are_written_differently(seed):
    names = trace(random_tree(seed, free=True, elastic=True)).names
    assert len({symbol(name) for name in names}) == len(names) == len({*names})


def test_equations_are_pickled_as_what_they_are_of():
    eq = pickle.loads(pickle.dumps(fa.equations(lone(), numbers=["base.mass"])))
    assert eq.numbers == {"m_0": 5.0}
    assert repr(eq).startswith("Equations('lone': 8 coordinates, ")


# -- source code -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", [in_python, in_matlab], ids=["Python", "MATLAB"])
def test_source_code_is_the_models(language):
    arm = bush(at=0.5)
    q, qd, _ = random_state(arm, 3)
    assert_parts(language(fa.equations(arm), tuple(PARTS))(q, qd), fa.Model(arm), q, qd)


def test_source_code_at_another_bus():
    arm = bush()
    q, qd, _ = random_state(arm, 3)
    other = arm.replace(base=BUS.replace(mass=9.0, com=(0.3, -0.05, 0.02)))
    changed = in_python(fa.equations(arm), tuple(PARTS))(q, qd, m_0=9.0, cx_0=0.3)
    assert_parts(changed, fa.Model(other), q, qd)


def test_what_is_asked_for_of_a_free_base():
    """The force of strain, which is no U q where q has a number more, and N."""
    assert of_motion(bush()) == ("M", "D", "damping", "U", "G", "B", "stiffness_force", "kinematics")
    assert of_motion(bush(free=False)) == ("M", "D", "damping", "U", "G", "B")
    text = fa.equations(bush()).python()
    assert "M qdd + (D + C) qd + f + G = B u, q' = N qd" in text
    assert "base.qw" in text and "base.wx" in text


@pytest.mark.skipif(GCC is None, reason="no C compiler")
@pytest.mark.parametrize("name", ["fixed", "station", "segments"])
def test_c_passes_its_own_test(name, tmp_path):
    done = run(fa.equations(CASES[name]()).c(tuple(PARTS)), tmp_path)
    assert done.returncode == 0, done.stdout
    assert re.findall(r"^(\w+): largest relative error", done.stdout, re.M) == [RENAMED.get(x, x) for x in PARTS]


@needs_node
def test_javascript_is_the_models(tmp_path):
    arm = bush(at=0.5)
    q, qd, _ = random_state(arm, 3)
    eq, model = fa.equations(arm), fa.Model(arm)
    script = f"""
        const found = require("./bush.js")({json.dumps(q.tolist())}, {json.dumps(qd.tolist())});
        console.log(JSON.stringify(Object.fromEntries(Object.entries(found).map(([k, v]) => [k, [...v]]))));
    """
    found = node(tmp_path, script, bush=eq.javascript(tuple(PARTS)))
    sizes = {"D": (model.nv, model.nv)}
    parts = {part: np.reshape(found[RENAMED.get(part, part)], sizes.get(part, -1)) for part in PARTS}
    assert_parts(parts, model, q, qd)


# -- documents ---------------------------------------------------------------------------------------------------------


def test_a_document_says_what_the_base_is():
    text = fa.equations(bush(at=0.5)).latex()
    for line in (
        r"$p_{x}$ & base.x & place of the base in the world along x",
        r"$e_{w}$ & base.qw & unit quaternion of the base's attitude",
        r"$w_{z}$ & base.wz & angular velocity of the base along its own z",
        r"$m_{0}$ & mass of the base & base.mass & $5$ & kg",
        r"\dot{\mathbf q} &= N(\mathbf q)\,\mathbf v",
        r"R_{xx} &= 1 - 2\,e_{y}^{2} - 2\,e_{z}^{2}",
        r"$3p1$ at 0.5 of the length",
        r"M(\mathbf q)\,\dot{\mathbf v} + D(\mathbf q,\mathbf v)\,\mathbf v + f(\mathbf q)",
        "Position $r$ and rotation $Q$ of the payload's frame in the world:",
    ):
        assert line.replace("&", "").replace("  ", " ") in text.replace("&", "").replace("  ", " "), line


def test_a_chains_document_has_nothing_of_it():
    text = fa.equations(fa.load("rigid-two-link")).markdown()
    assert "base." not in text and "rate |" not in text and "quaternion" not in text


def test_text_is_read_by_sympy():
    eq = fa.equations(bush())
    lines = dict(re.findall(r"^  (\S+) = (.*)$", eq.text(["G", "kinematics"]), re.MULTILINE))
    for r in range(11):
        if f"G[{r + 1},1]" in lines:
            assert sp.expand(sp.sympify(lines[f"G[{r + 1},1]"]) - eq.G[r]) == 0
    assert sp.sympify(lines["N[4,4]"]) == eq.kinematics[3, 3] == -sp.Symbol("e_x") / 2
    assert sp.expand(sp.sympify(lines["R_yz"]) - eq.explicit(sp.Symbol("R_yz"))) == 0


# -- what cannot be ----------------------------------------------------------------------------------------------------


def test_what_acts_from_outside_on_a_tree_is_refused():
    arm = laced(random_tree(3, free=True, links=3, elastic=False, rigid=True), 3)
    with pytest.raises(
        DescriptionError, match=r"^equations: arm '.*': closed forms do not include forces, struts; use"
    ):
        fa.equations(arm)
    fa.equations(arm.replace(forces=(), struts=()))


def test_joints_behind_turned_places_have_names_for_the_sum():
    """A number and a coordinate within one sine: the arm's poses are the model's, two names a link are enough."""
    link = fa.Link(name="a", body=fa.Rigid(length=0.5, mass=0.6), parent="base")
    roll = fa.Revolute(axis=(1, 0, 0))
    turned = [fa.Pose(xyz=(0.1, 0.2, 0.3), rpy=(0.1 + i, 0.2 + i, 0.3 + i)) for i in range(3)]
    more = [link.replace(name=f"b{i}", joint=roll, parent="a", at=at) for i, at in enumerate(turned)]
    arm = fa.Arm(name="hedgehog", links=[link, *more], gravity=(0.0, -9.81, 0.0))
    eq, q = fa.equations(arm), np.array([0.3, -0.4, 0.8, 1.1])
    assert [str(x) for x in eq.definitions if str(x).startswith("psi")]
    values = {**dict(zip(eq.coordinates, q, strict=True)), **eq.values}
    found = np.array(eq.explicit(eq.tip).subs(values), float)
    np.testing.assert_allclose(found, fa.Model(arm).tip(q), rtol=0, atol=1e-14)


# -- CasADi ------------------------------------------------------------------------------------------------------------


def test_casadi_functions_take_q_and_give_slopes_in_rates():
    arm = bush()
    model = fa.Model(arm)
    q, qd, u = random_state(arm, 2)
    f = model.function("forward_dynamics")
    assert [f.size1_in(name) for name in ("q", "qd", "u")] == [12, 11, 4] and f.size1_out(0) == 11
    assert model.function("state_rate").size1_out(0) == 12 + 11 + 2
    x = ca.MX.sym("x", 12)
    whole = ca.Function("whole", [x], [ca.jacobian(f(x, qd, u), x)])(q)  # over all of q, as CasADi sees it
    assert whole.shape == (11, 12)
    tangent = parted(model, q, qd)["kinematics"]
    np.testing.assert_allclose(np.array(whole) @ tangent, model.slope("forward_dynamics", "q")(q, qd, u), atol=1e-9)
