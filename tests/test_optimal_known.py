"""Optimal motions beside what is known without the package: exact switches, linear programs, adjoint equations,
shapers."""

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
import small_arms
from searched import on_its_grid

import flexarm as fa
from benchmarks import known
from benchmarks.motions import CASES, linear, one_link, switches, two_links, two_masses
from benchmarks.settling import shaped_steps
from flexarm.optimal import optimal_motion

SLIDE, FORCE = 0.3, 2.0
"""Way and limit of the beam that slides [m], [N]."""


@pytest.fixture(scope="module")
def masses():
    return fa.Model(two_masses())


@pytest.fixture(scope="module")
def rods():
    return fa.Model(two_links())


@pytest.fixture(scope="module")
def slide():
    return small_arms.slide(modes=2)


@pytest.fixture(scope="module")
def hub():
    return fa.Model(one_link())


@pytest.fixture(scope="module")
def of_masses(masses):
    return optimal_motion(masses, [0.0], [1.0], {"torque": 1.0}, tolerance=1e-5)


@pytest.fixture(scope="module")
def of_rods(rods):
    return optimal_motion(rods, *known.LUUS, {"torque": 1.0}, tolerance=1e-5)


@pytest.fixture(scope="module")
def of_slide(slide):
    return optimal_motion(slide, [0.0], [SLIDE], {"torque": FORCE}, tolerance=1e-5)


@pytest.fixture(scope="module")
def of_hub(hub):
    return optimal_motion(hub, [0.0], [1.0], {"torque": 1.0}, tolerance=1e-5)


@pytest.fixture(scope="module")
def sliding(slide):
    case = CASES["one-link flexible arm"]
    return linear(slide, type(case)(lambda: slide.arm, (0.0,), (SLIDE,), (FORCE,), 1.0, 1.0))


# -- the references themselves -----------------------------------------------------------------------------------------


def test_the_switches_of_two_masses_are_those_of_the_literature():
    found = known.two_masses()
    np.testing.assert_allclose([*found.switches[0], found.end], [1.00268, 2.10893, 3.21519, 4.21787], atol=5e-6)


def test_the_known_force_brings_two_masses_to_rest_a_metre_on(masses):
    found = known.two_masses()
    times = np.array([0.0, *found.switches[0], found.end])
    u = fa.Piecewise(times, [[1.0], [-1.0], [1.0], [-1.0], [0.0]])
    run = fa.simulate(masses, found.end, u, solver=fa.Solver(rtol=1e-12, atol=1e-14), samples=2, progress=False)
    np.testing.assert_allclose(run.q.values[-1], [1.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(run.qd.values[-1], 0.0, atol=1e-9)


def test_the_switching_function_of_two_masses_has_the_sign_of_the_force():
    found = known.two_masses()
    t = np.linspace(0, found.end, 1000)
    S = known.two_masses_switching(t)
    np.testing.assert_allclose(known.two_masses_switching(np.array(found.switches[0])), 0.0, atol=1e-14)
    assert (np.sign(S) * found.signs(t)[:, 0] > 0).all() or (np.sign(S) * found.signs(t)[:, 0] < 0).all()


def test_the_two_rods_are_those_that_luus_prints(rods):
    rng = np.random.default_rng(3)
    for w1, w2, theta, alpha, *u in rng.normal(size=(5, 6)):
        rates = known.two_links_rate(np.array([w1, w2, theta, alpha]), np.array(u))
        qdd = rods.forward_dynamics([alpha, theta], [w1, w2 - w1], u)
        np.testing.assert_allclose([qdd[0], qdd[0] + qdd[1]], rates[:2], rtol=1e-12)


def test_the_motion_of_two_rods_is_extremal():
    """Pontryagin: the switching functions have the signs of the torques, and p' f is one all along."""
    found = known.two_links()
    np.testing.assert_allclose(found.hamiltonian, 1.0, atol=1e-9)
    signs = found.motion.signs(found.times)
    clear = np.abs(found.switching) > 1e-6
    assert (np.sign(found.switching)[clear] == signs[clear]).all() and clear.mean() > 0.99
    assert 2.983021 - 1e-3 < found.motion.end < 2.983021  # PSOPT with 80 nodes, from above


def test_linear_programs_close_in_on_two_masses_from_both_sides(masses):
    case = CASES["two masses"]
    arm, end = linear(masses, case), known.two_masses().end
    shares = np.linspace(0, 1, 121)
    above = arm.fastest(shares, 3.0, 6.0)
    farthest, u, y = arm.farthest(shares, above)
    below = arm.impossible(y, 6.0)
    assert farthest == pytest.approx(1.0, abs=1e-9) and np.abs(u).max() <= 1.0 + 1e-12
    assert below < end < above
    assert above - below < 1e-3
    G = arm.moved(shares, above)
    np.testing.assert_allclose(np.einsum("nkm,km->n", G, u), arm.way, atol=1e-9)
    assert np.abs(np.einsum("n,nkm->km", y, G)).sum() == pytest.approx(1.0, abs=1e-9)  # strong duality


def test_held_inputs_of_a_linear_arm_move_it_as_they_do_in_a_simulation(slide, sliding):
    shares, T = np.array([0.0, 0.1, 0.4, 0.5, 0.8, 1.0]), 0.7
    u = np.array([1.3, -0.4, 2.0, 0.7, -1.1])
    run = fa.simulate(
        slide,
        T,
        fa.Piecewise(T * shares[:-1], u[:, None]),
        solver=fa.Solver(rtol=1e-12, atol=1e-14),
        samples=2,
        progress=False,
    )
    x = np.concatenate([run.q.values[-1], run.qd.values[-1]])
    np.testing.assert_allclose(sliding.moved(shares, T)[:, :, 0] @ u, x, atol=1e-9)


def test_an_input_inside_its_limits_changes_sides_where_its_mean_says():
    """Up for 1.7 s of 2, then down: intervals of 0.5 s have 1, 1, 1, -0.2, -1, of twice that limit."""
    motion = SimpleNamespace(times=np.arange(6) * 0.5, u=2.0 * np.array([[1.0], [1.0], [1.0], [-0.2], [-1.0], [0.0]]))
    assert switches(motion, np.array([2.0])) == [[pytest.approx(1.7)]]


def test_no_dual_vector_forbids_what_is_possible(masses):
    arm, end = linear(masses, CASES["two masses"]), known.two_masses().end
    for y in np.random.default_rng(4).normal(size=(20, 4)):
        assert arm.impossible(y, 10.0) < end + 1e-6


# -- what the package finds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["masses", "rods"])
def test_ends_and_switches_are_the_known_ones(name, request):
    found = request.getfixturevalue(f"of_{name}")
    truth = known.two_masses() if name == "masses" else known.two_links().motion
    assert found.duration == pytest.approx(truth.end, abs=1e-4)
    for own, wanted in zip(switches(found, np.ones(len(truth.begins))), truth.switches, strict=True):
        np.testing.assert_allclose(own, wanted, atol=1e-3)


def test_a_sliding_beam_takes_the_time_of_the_linear_program(of_slide, sliding):
    """The same held inputs, the same least time; and none that no input could reach."""
    shares = on_its_grid(of_slide).times / of_slide.duration
    T = sliding.fastest(shares, 0.5 * of_slide.duration, 1.5 * of_slide.duration)
    assert of_slide.duration == pytest.approx(T, abs=1e-4)
    fine = np.linspace(0, 1, 241)
    y = sliding.farthest(fine, sliding.fastest(fine, 0.5 * T, 1.5 * T))[2]
    assert sliding.impossible(y, 2 * T) < of_slide.duration


@pytest.mark.parametrize("name", ["masses", "rods", "slide", "hub"])
def test_multipliers_follow_from_the_adjoint_equation(name, request):
    """The costate at the end that fits the multipliers best gives all of them; they have the inputs' signs, are zero
    where an input is inside its limits, and the Hamiltonian is one, the cost's multiplier."""
    model, found = request.getfixturevalue(name), on_its_grid(request.getfixturevalue(f"of_{name}"))
    limit = FORCE if name == "slide" else 1.0
    worth, f = adjoint(model, found)  # (N, m, n) and (N, n): what a costate at the end makes of an input, and of time
    on = found.on_inputs[:-1]
    p, *_ = np.linalg.lstsq(worth.reshape(on.size, -1), on.ravel(), rcond=None)
    size, h = np.abs(on / np.diff(found.times)[:, None]).max(), np.diff(found.times)
    np.testing.assert_allclose((worth @ p) / h[:, None], on / h[:, None], atol=1e-2 * size)
    inside = np.abs(found.u[:-1]) < limit * (1 - 1e-4)
    clear = ~inside & (np.abs(on) > 0.02 * np.abs(on).max())  # polished switches: multipliers are those of the grid
    assert clear.mean() > 0.7 and (np.sign(on[clear]) == np.sign(found.u[:-1][clear])).all()
    assert np.abs(on[inside]).max(initial=0.0) < 1e-3 * np.abs(on).max()
    H = f @ p
    assert (h @ H) / found.duration == pytest.approx(1.0, abs=2e-3)
    assert np.abs(H - 1.0).max() < 0.25  # steps of held inputs: it falls with the intervals' lengths


def adjoint(model, motion, substeps=12):
    """Of p at the end: p' dx/du_k, the end of interval k over its inputs (N, m, 2n), and p' f at its beginning (N,
    2n), both linear in it; by Runge and Kutta's method along the arm's equations."""
    n, m = model.nv, len(model.inputs)
    x, u, h = ca.SX.sym("x", 2 * n), ca.SX.sym("u", m), ca.SX.sym("h")
    state_rate = model.fixed("state_rate")

    def rate(x):
        return state_rate(x[:n], x[n:], u)[: 2 * n]

    k1 = rate(x)
    k2 = rate(x + h / 2 * k1)
    k3 = rate(x + h / 2 * k2)
    step = ca.Function("step", [x, u, h], [x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))])
    X, U, H = ca.MX.sym("x", 2 * n), ca.MX.sym("u", m), ca.MX.sym("h")
    after = X
    for _ in range(substeps):
        after = step(after, U, H / substeps)
    slopes = ca.Function("slopes", [X, U, H], [ca.jacobian(after, X), ca.jacobian(after, U)])
    states, P = np.hstack([motion.q, motion.qd]), np.eye(2 * n)
    worth, f = [], []
    for k in range(len(motion.times) - 2, -1, -1):
        A, B = (np.array(y) for y in slopes(states[k], motion.u[k], motion.times[k + 1] - motion.times[k]))
        worth.append((P @ B).T)
        P = P @ A
        f.append(P @ np.array(state_rate(states[k, :n], states[k, n:], motion.u[k])).ravel()[: 2 * n])
    return np.array(worth[::-1]), np.array(f[::-1])


@pytest.mark.parametrize("kind", ["zv", "zvd"])
def test_no_shaper_is_faster(kind, masses, hub, of_masses, of_hub):
    """Two masses: an unshaped force twice the limit for 2 s, whose copies half a period apart nowhere overlap."""
    of_steps = shaped_steps(masses, 1.0, 1.0, 1e-4, kind)
    if kind == "zv":
        assert of_steps.ends == pytest.approx(2.0 + np.pi / np.sqrt(2), rel=2e-3)
    assert of_masses.duration < of_steps.ends
    assert of_hub.duration < shaped_steps(hub, 1.0, 1.0, 1e-2, kind).ends


def test_no_arm_is_faster_than_the_rigid_one(of_masses, of_hub):
    assert of_masses.duration > 2 * np.sqrt(2.0) + 1e-3 and of_hub.duration > of_hub.report["rigid_duration"]
