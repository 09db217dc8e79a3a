"""What acts on an arm beside inertia and linear springs: on general arms, with elements of all sorts, in every way."""

import pickle
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from random_arms import random_arm, random_state
from rubbing import random_drives, random_signals

import flexarm as fa
from flexarm.mechanics import quantities
from flexarm.mechanics.chain import chain
from flexarm.mechanics.elements import Element, Push, along, generalized
from flexarm.model import QUANTITIES

# -- elements drawn at random ------------------------------------------------------------------------------------------


def random_element(rng, n, m):
    """Along two rates of the arm, one of which depends on the configuration: a state, an input from outside, a spring.

    f = (a s, c v_2 - w); s' = b v_1 - d s; V = 1/2 k sin(g . q)^2.
    """
    row, g = rng.normal(size=(2, n))
    a, b, c, d, k = rng.uniform(0.5, 1.5, 5)
    place = int(rng.integers(m))

    def rates(q, qd):
        lever = 1 + 0.3 * ca.sin(q[0])
        return [sum(row[i] * qd[i] for i in range(n)), lever * qd[-1]]

    def push(seen):
        (v1, v2), (s,), (w,) = seen.v, seen.s, seen.w
        help_of_motor = 0.0 if seen.u is None else 0.2 * seen.u
        s_dot = b * v1 - d * s
        force = [-a * s + help_of_motor, -c * v2 + w]
        lost = c * v2**2 + a / b * d * s**2
        return Push(force, [s_dot], lost=lost, supplied=w * v2 + help_of_motor * v1)

    def potential(q):
        return 0.5 * k * ca.sin(sum(g[i] * q[i] for i in range(n))) ** 2

    stored = lambda s: 0.5 * a / b * s[0] ** 2  # noqa: E731
    return Element(rates, push, potential, stored=stored, states=1, exogenous=1, input=place)


def with_elements(seed, count=2, **options):
    """A random arm's chain with elements, and a state of it."""
    arm = random_arm(seed, **options)
    rng = np.random.default_rng([seed, 77])
    made = chain(arm)
    acting = tuple(random_element(rng, made.size, len(made.driven)) for _ in range(count))
    q, qd, u = random_state(arm, seed)
    return replace(made, elements=acting), q, qd, rng.normal(size=count), u, rng.normal(size=count)


def evaluated(name, made, *values):
    """A quantity of a chain as numbers."""
    symbols = [ca.SX.sym("x", len(x)) for x in values]
    given = [[x[i] for i in range(x.numel())] for x in symbols]
    rows = getattr(quantities, name)(made, *given)
    rows = [ca.horzcat(*row) if isinstance(row, list) else row for row in rows]
    return np.array(ca.Function("f", symbols, [ca.SX(ca.vertcat(*rows))])(*values)).squeeze()


CASES = [(seed, {}) for seed in range(4)] + [(5, {"telescope": True}), (6, {"elastic": True})]


@pytest.mark.parametrize(("seed", "options"), CASES)
def test_power_is_in_balance(seed, options):
    """d(kinetic + potential + stored)/dt = supplied - lost, along the motion."""
    made, q, qd, s, u, w = with_elements(seed, **options)
    n = made.size
    rate = evaluated("state_rate", made, q, qd, s, u, w)
    qdd, s_dot, (supplied, lost) = rate[n : 2 * n], rate[2 * n : -2], rate[-2:]
    h = 1e-6
    ahead, behind = (evaluated("energy", made, q + x * qd, qd + x * qdd, s + x * s_dot).sum() for x in (h, -h))
    size = np.abs([supplied, lost]).max()
    assert (ahead - behind) / (2 * h) == pytest.approx(supplied - lost, abs=1e-5 * max(1.0, size))


@pytest.mark.parametrize(("seed", "options"), CASES[:3])
def test_both_dynamics_and_the_residual_agree(seed, options):
    made, q, qd, s, u, w = with_elements(seed, **options)
    n = made.size
    qdd = evaluated("forward_dynamics", made, q, qd, s, u, w)
    np.testing.assert_allclose(qdd, evaluated("forward_dynamics_dense", made, q, qd, s, u, w), rtol=1e-8, atol=1e-8)
    left = evaluated("state_residual", made, q, qd, s, u, w, qdd)
    np.testing.assert_allclose(left[:n], 0.0, atol=1e-8 * np.abs(qdd).max())
    rate = evaluated("state_rate", made, q, qd, s, u, w)
    np.testing.assert_allclose(left[n:], rate[2 * n :], rtol=1e-12)
    driven = [next(i for i in range(n) if row[i]) for row in evaluated("input_matrix", made, q).reshape(n, -1).T]
    prescribed = evaluated("prescribed_rate", made, q, qd, s, qdd[driven], w)
    power = np.atleast_1d(evaluated("prescribed_force", made, q, qd, s, qdd[driven], w)) @ qd[driven]
    outside = w.sum() * (1 + 0.3 * np.sin(q[0])) * qd[-1]
    assert prescribed[-2] == pytest.approx(power + outside, rel=1e-9)


def test_the_potential_pulls_down_its_slope():
    made, q, *_ = with_elements(1)
    bare = replace(made, elements=())
    force = evaluated("stiffness_force", made, q) - evaluated("stiffness_force", bare, q)
    h, V = 1e-6, lambda q: sum(float(e.potential(list(q))) for e in made.elements)
    exact = [(V(q + h * e) - V(q - h * e)) / (2 * h) for e in np.eye(len(q))]
    np.testing.assert_allclose(force, exact, atol=1e-8)


def test_a_force_along_rates_works_as_its_power():
    """B' f . qd = f . v for any rates, those whose rows turn with q too."""
    made, q, qd, *_ = with_elements(2)
    for element in made.elements:
        f = [0.7, -1.3]
        found = generalized(element.along, list(q), f)
        v = element.along(list(q), list(qd))
        assert float(ca.DM(ca.vertcat(*found)).T @ qd) == pytest.approx(float(np.dot(f, np.array(v, dtype=float))))
    assert along([1.0, 2.0])([0, 0], [3.0, 4.0]) == [11.0]


def test_a_motor_that_is_taken_over_acts_by_its_element_alone():
    made, q, qd, s, u, w = with_elements(3, count=0)
    drag = Element(along(np.eye(made.size)[0]), lambda seen: Push([0.0]), input=0, takes_over=True)
    taken = replace(made, elements=(drag,))
    without = u.copy()
    without[0] = 0.0
    given = (q, qd, np.empty(0))
    found = evaluated("forward_dynamics", taken, *given, u, np.empty(0))
    np.testing.assert_allclose(found, evaluated("forward_dynamics", made, *given, without, np.empty(0)), rtol=1e-10)


# -- models ------------------------------------------------------------------------------------------------------------


def driven_arm(seed=4, **options):
    """An arm of two links with drives that have states and inputs from outside."""
    arm = random_drives(random_arm(seed, links=2, **options), seed)
    first = arm.links[0]
    lugre = fa.Friction(coulomb=0.3, static=0.5, stribeck_rate=0.3, model="lugre", bristle_stiffness=50.0, viscous=0.1)
    drive = fa.Drive(
        friction=lugre, link_friction=fa.Friction(coulomb=0.1, creep_rate=0.05), brake=fa.Brake(holding=1.0)
    )
    joint = fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.05, stiffness=60.0, drive=drive)
    return arm.replace(links=[first.replace(joint=joint), *arm.links[1:]])


@pytest.fixture(scope="module")
def model():
    made = fa.Model(driven_arm())
    assert len(made.states) >= 2
    assert made.exogenous[0] == f"{made.arm.links[0].name}.brake.engaged"
    return made


@pytest.fixture(scope="module")
def state(model):
    q, qd, u = random_state(model.arm, 4)
    s, w = random_signals(model.arm, 4)
    return {
        "q": q,
        "qd": qd,
        "s": s,
        "u": u,
        "w": w,
        "qdd": np.random.default_rng(4).normal(size=len(q)),
        "v": 0.7 - qd,
    }


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in QUANTITIES
        if name not in ("prescribed_rate", "prescribed_force", "tension", "closure_gaps", "closure_reactions")
    ],
)
def test_slopes_of_quantities_are_differences(model, state, name):
    """To every argument, s and w among them. Two left out solve what prescribed_residual states.

    The arm has no cable and no closure.
    """
    names = model.arguments(name)
    values = [state[a] if a != "u" or not name.startswith("prescribed") else state["u"] for a in names]
    f = model.fixed(name)
    for i, each in enumerate(names):
        exact = np.array(model.slope(name, each)(*values))
        h = 1e-6
        for j in range(len(values[i])):
            moved = [[x.copy() for x in values] for _ in range(2)]
            moved[0][i][j] += h
            moved[1][i][j] -= h
            ahead, behind = (np.array(ca.vec(ca.DM(f(*x)))).ravel() for x in moved)
            difference = (ahead - behind) / (2 * h)
            np.testing.assert_allclose(exact[:, j], difference, atol=2e-5 * max(1.0, np.abs(difference).max()))


def test_states_and_outside_may_be_left_out_and_are_zero_then(model, state):
    for name in ("forward_dynamics", "state_rate", "energy"):
        names = model.arguments(name)
        few = [state[a] for a in names if a not in ("s", "w")]
        zero = [0 * state[a] if a in ("s", "w") else state[a] for a in names]
        np.testing.assert_array_equal(np.array(model.fixed(name)(*few)), np.array(model.fixed(name)(*zero)))
        np.testing.assert_array_equal(
            model.evaluate(name, *few),
            model.evaluate(name, *few, **{a: 0 * state[a] for a in ("s", "w") if a in names}),
        )
        alone = model.evaluate(name, *(state[a] for a in names))
        three = model.evaluate(name, *(np.tile(state[a], (3, 1)) for a in names))
        np.testing.assert_allclose(three[1], alone, rtol=1e-12)


def test_the_linear_model_has_them(model, state):
    q, qd, u = state["q"], state["qd"], state["u"]
    system, n = model.linearize(q, qd, u), len(q)
    k = len(model.states)
    x, h = np.concatenate([q, qd, np.zeros(k)]), 1e-6

    def rate(x):
        s = {"s": x[2 * n :]}
        return model.evaluate("state_rate", x[:n], x[n : 2 * n], u, **s)[: 2 * n + k]

    A = np.column_stack([(rate(x + h * e) - rate(x - h * e)) / (2 * h) for e in np.eye(len(x))])
    np.testing.assert_allclose(system.A, A, atol=2e-5 * np.abs(A).max())
    assert system.nstates == 2 * n + k
    assert [name.replace(".", "_") for name in model.states] == list(system.state_labels[2 * n :])


def test_pickles_keep_states(model, state):
    other = pickle.loads(pickle.dumps(model))
    assert (other.states, other.exogenous) == (model.states, model.exogenous)
    given = [state[a] for a in model.arguments("state_rate")]
    np.testing.assert_array_equal(other.evaluate("state_rate", *given), model.evaluate("state_rate", *given))


def test_the_wrong_number_of_states_is_refused(model, state):
    with pytest.raises(fa.DescriptionError):
        model.forward_dynamics(state["q"], state["qd"], state["u"], s=[0.0] * (len(model.states) + 1))
    plain = fa.Model(random_arm(1, links=1))
    n = len(plain.coordinates)
    with pytest.raises(fa.DescriptionError, match=r"s is given, but arm 'random 1' has no drive with states"):
        plain.forward_dynamics(np.zeros(n), np.zeros(n), np.zeros(len(plain.inputs)), s=[0.0])


# -- runs --------------------------------------------------------------------------------------------------------------


def run(model, **given):
    return fa.simulate(model, given.pop("until", 0.4), progress=False, **{"samples": 41, **given})


@pytest.fixture(scope="module")
def begun(model, state):
    return {"u": state["u"], "q0": 0.5 * state["q"], "qd0": 0.3 * state["qd"], "s0": 0.2 * state["s"]}


@pytest.fixture(scope="module")
def reference(model, begun, state):
    return run(model, w=state["w"], solver=fa.Solver(method="dop853", rtol=1e-11, atol=1e-13), **begun)


METHODS = ("rk45", "vern8", "radau5", "radau9", "gauss4", "gauss8", "vern7", "tsit5", "auto")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_same(model, begun, state, reference, method):
    found = run(model, w=state["w"], method=method, **begun)
    far = 1e-5 if method == "gauss4" else 2e-6
    np.testing.assert_allclose(found.q, reference.q, atol=far)
    np.testing.assert_allclose(found.drive_state, reference.drive_state, atol=100 * far)


def test_fixed_steps_and_generalized_alpha(model, begun, state, reference):
    # bristles have a kink where the rate is zero, which costs fixed steps their order for a step
    for method, step, far in (("rk4", 1e-4, 1e-5), ("generalized-alpha", 1e-4, 1e-3)):
        found = run(model, w=state["w"], solver=fa.Solver(method=method, step=step), **begun)
        np.testing.assert_allclose(found.drive_state, reference.drive_state, atol=far)


def test_scipy_integrates_the_same_rate(model, begun, state, reference):
    from scipy.integrate import solve_ivp

    n, k = len(model.coordinates), len(model.states)

    def rate(t, x):
        return model.evaluate("state_rate", x[:n], x[n : 2 * n], x[2 * n : 2 * n + k], state["u"], state["w"])

    start = np.concatenate([begun["q0"], begun["qd0"], begun["s0"], [0.0, 0.0]])
    exact = solve_ivp(rate, (0, 0.4), start, "LSODA", rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(reference.q[-1], exact[:n], atol=1e-7)
    np.testing.assert_allclose(reference.drive_state[-1], exact[2 * n : 2 * n + k], atol=1e-6)
    assert float(reference.work[-1]) == pytest.approx(exact[-2], abs=1e-6)
    assert float(reference.dissipated[-1]) == pytest.approx(exact[-1], abs=1e-6)
    assert reference.attrs["energy_drift"] < 1e-8


def test_a_file_holds_the_states(model, reference, tmp_path):
    path = fa.save_result(reference, tmp_path / "run.nc")
    back = fa.load_result(path)
    assert back.identical(reference)
    assert list(back.state.values) == list(model.states)


def test_kept_variables(model, begun, state):
    few = run(model, w=state["w"], save=fa.SaveAt(keep=["drive_state"]), **begun)
    assert set(few.data_vars) == {"drive_state"}
    with pytest.raises(fa.DescriptionError, match=r"keep has 'drive_state', which an arm whose drives have no states"):
        run(fa.Model(random_arm(1, links=1)), save=fa.SaveAt(keep=["drive_state"]))


def test_many_runs_abreast_are_those_alone(model, begun, tmp_path):
    """In lanes, with implicit methods, and from a folder."""
    starts = np.outer([0.5, 1.0, 1.5], begun["q0"])
    alone = [run(model, u=begun["u"], q0=q, method="dop853") for q in starts]
    given = {"u": begun["u"], "q0": starts, "samples": 41, "progress": False}
    for more in (
        {"method": "dop853"},
        {"method": "radau9"},
        {"method": "rk4", "solver": fa.Solver(step=1e-4)},
        {"folder": tmp_path / "f"},
    ):
        many = fa.simulate_many(model, 0.4, **given, **more)
        for i, each in enumerate(alone):
            np.testing.assert_allclose(many.q[i], each.q, atol=2e-6)
            np.testing.assert_allclose(many.drive_state[i], each.drive_state, atol=2e-4)


def test_steps_from_a_loop_of_ones_own(model, begun):
    whole = run(model, u=begun["u"], q0=begun["q0"], samples=41)
    for method in ("auto", "radau5"):
        plant = fa.Stepper(model, 0.01, q0=begun["q0"], method=method)
        x = [plant.step(begun["u"]) for _ in range(40)][-1]
        n = len(model.coordinates)
        np.testing.assert_allclose(x[:n], whole.q[-1], atol=2e-6)
        np.testing.assert_allclose(x[2 * n :], whole.drive_state[-1], atol=2e-4)
    pair = fa.Stepper(model, 0.01, q0=np.tile(begun["q0"], (3, 1)))
    both = [pair.step(np.tile(begun["u"], (3, 1))) for _ in range(40)][-1]
    np.testing.assert_allclose(both[2], x, atol=2e-4)


def test_laws_with_memory_stand_beside_states(model, begun, state):
    """Integral action keeps numbers of its own in front of the bristles; explicit, implicit, and sampled."""
    joints = [float(x) for x in np.asarray(begun["q0"])[list(model.arm.joints)]]
    pd = fa.control.JointPD(joints, [20.0] * len(joints), [3.0] * len(joints))
    law = fa.control.Integral(pd, [5.0] * len(joints))
    given = {"q0": begun["q0"], "s0": begun["s0"], "w": state["w"]}
    runs = [run(model, u=law, method=method, **given) for method in ("dop853", "radau9")]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-6)
    np.testing.assert_allclose(runs[0].drive_state, runs[1].drive_state, atol=1e-4)
    assert runs[0].attrs["energy_drift"] < 1e-7
    fast = fa.control.Sampled(law, period=1e-4)
    sampled = [run(model, u=fast, method=method, **given) for method in ("auto", "radau5")]
    np.testing.assert_allclose(sampled[0].q, sampled[1].q, atol=1e-5)
    np.testing.assert_allclose(sampled[0].q, runs[0].q, atol=5e-3)  # held over 0.1 ms


def test_parameters_vary_with_implicit_methods(begun, state):
    arm = driven_arm()
    name = f"{arm.links[0].name}.drive.friction.coulomb"
    varied = fa.Model(arm, vary=[name, "*.rotor_inertia"])
    p = varied.parameter_values({name: 0.4})
    rebuilt = fa.Model(varied.arm_at(p))
    for method in ("dop853", "radau9", "auto"):
        found = run(varied, p=p, method=method, w=state["w"], **begun)
        expected = run(rebuilt, method=method, w=state["w"], **begun)
        np.testing.assert_allclose(found.drive_state, expected.drive_state, atol=1e-5)
    many = fa.simulate_many(
        varied, 0.4, q0=begun["q0"], u=begun["u"], p=np.array([p, p * 1.1]), samples=41, progress=False
    )
    alone = run(varied, p=p * 1.1, q0=begun["q0"], u=begun["u"])
    np.testing.assert_allclose(many.drive_state[1], alone.drive_state, atol=1e-4)


def test_arms_without_elements_cost_nothing_more():
    """Not one operation: quantities of an arm whose drive is empty are those of one without."""
    arm = random_arm(2)
    links = [
        link if link.joint.type == "fixed" else link.replace(joint=link.joint.replace(drive=fa.Drive()))
        for link in arm.links
    ]
    bare, empty = fa.Model(arm), fa.Model(arm.replace(links=links))
    for name in ("forward_dynamics", "state_rate", "inverse_dynamics"):
        assert bare.function(name).n_instructions() == empty.function(name).n_instructions()
