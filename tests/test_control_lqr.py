"""Equilibria, linear-quadratic control at a place and along a reference: other programs, identities, simulations."""

import warnings

import control as ct
import numpy as np
import pytest
from controlled import DOWN, elastic, operations, refused, slope, spatial
from random_arms import random_arm
from scipy.linalg import expm, solve_discrete_are, solve_discrete_lyapunov

import flexarm as fa
from flexarm.control import LQR, ScheduledLQR, design_shaper, equilibrium
from flexarm.control.equilibrium import rest
from flexarm.control.lqr import pace
from flexarm.control.riccati import doubling, effort, energy, from_sample_to_sample, held, linear, optimal, weights
from flexarm.simulation.feedback import Feedback
from flexarm.simulation.sampled import Sampled
from flexarm.trajectory import MinimumJerk, Quintic, shaped

RICCATI = 1e-6  # of a gain's largest entry: two solvers of one equation, differently scaled, poles from 0 to 2000 rad/s


def one_link(body=None, gravity=DOWN, **joint):
    given = {"axis": (0, 0, 1), "rotor_inertia": 0.02} | joint
    body = body or fa.Beam(length=0.5, mass=0.1, EI=1.0, modes={"y": 2})
    return fa.Model(
        fa.Arm(name="one", links=[fa.Link(name="a", joint=fa.Revolute(**given), body=body)], gravity=gravity)
    )


def at_once(controller, model, t, q, qd):
    """u of a continuous law at one state."""
    feedback = Feedback(controller.law(model), model, "test")
    return feedback.kernel.one(np.concatenate([[t], q, qd]))


# -- equilibria --------------------------------------------------------------------------------------------------------


def test_an_elastic_joint_is_wound_by_the_weight():
    """A rigid rod on a spring: u = m g l / 2 cos q carries it, and the motor is ahead of the link by u / k."""
    model = one_link(fa.Rigid(length=0.5, mass=0.8, com=(0.25, 0, 0)), stiffness=40.0)
    q, u = equilibrium(model, [0.3])
    weight = 0.8 * 9.81 * 0.25 * np.cos(0.3)
    assert u == pytest.approx([weight], rel=1e-12)
    assert q == pytest.approx([0.3, 0.3 + weight / 40.0], rel=1e-12)


def test_a_beam_sags_by_its_load():
    body = fa.Beam(length=0.8, mass=1e-9, EI=500.0, modes={"y": 4}, shapes="hermite")
    model = one_link(body)
    model = fa.Model(model.arm.replace(payload=fa.Payload(mass=0.4)))
    q, u = equilibrium(model, [0.0])
    load = 0.4 * 9.81
    assert model.deflections(q)[0, 1] == pytest.approx(-load * 0.8**3 / (3 * 500.0), rel=1e-6)
    assert u == pytest.approx([load * 0.8], rel=1e-6)


@pytest.mark.parametrize(
    ("seed", "options"),
    [
        (3, {"elastic": True}),
        (5, {}),
        (9, {"families": ("pinned-pinned",), "elastic": False}),
        (4, {"telescope": True}),
    ],
)
def test_nothing_moves_at_an_equilibrium(seed, options):
    arm = random_arm(seed, links=3, **options)
    stiff = [link.replace(body=link.body.replace(EI=400.0)) if link.body.type == "beam" else link for link in arm.links]
    model = fa.Model(arm.replace(links=stiff))
    joints = np.array([0.3, 0.5, 0.4])[: len(model.inputs)]
    q, u = equilibrium(model, joints)
    at = [i for i, name in enumerate(model.coordinates) if name.endswith(".joint")]
    np.testing.assert_array_equal(q[at], joints)
    forces = model.gravity_force(q) + model.stiffness_force(q) - model.input_matrix(q) @ u
    assert np.abs(model.gravity_force(q)).max() > 0.1
    np.testing.assert_allclose(forces, 0.0, atol=1e-9 * np.abs(model.gravity_force(q)).max())


def test_no_equilibrium():
    model = fa.Model(fa.load("canadarm").replace(gravity=(300.0, -1e3, 0.0)))
    message = r"no equilibrium found near 0\.1, 0\.2, 0\.3 with the joints held; the arm may be too soft for its load"
    with refused(rf"arm 'canadarm': {message}", fa.FlexarmError):
        equilibrium(model, [0.1, 0.2, 0.3])


def test_joints_that_do_not_fit():
    model = elastic()
    with refused(r"equilibrium: joints has 3 numbers; it must have 2: upper\.joint, fore\.joint"):
        equilibrium(model, [0.0, 0.0, 0.0])
    with refused(r"equilibrium: joints is 'up'; it must be a list of numbers"):
        equilibrium(model, "up")
    with refused(r"equilibrium: joints\[1\] is nan; it must be finite"):
        equilibrium(model, [0.0, float("nan")])


# -- where a reference comes to rest -----------------------------------------------------------------------------------


def test_a_reference_comes_to_rest():
    slew = Quintic([0.0, 0.2], [1.0, 0.2], 2.0)
    time, end = rest(slew)
    # of a fifth-order contact with the end, all but the last thousandth of the way is told from rest
    assert time == pytest.approx(2.0, rel=1e-3) and time <= 2.0
    np.testing.assert_allclose(end, [1.0, 0.2])
    there_and_back = MinimumJerk([[0.0], [1.0], [0.0]], [0.0, 1.0, 3.0])
    assert rest(there_and_back)[0] == pytest.approx(3.0, rel=1e-3)
    blends = fa.ParabolicBlends([0.0], [1.0], 1.5, 0.3)
    assert rest(blends)[0] == pytest.approx(1.5, rel=1e-5)
    assert rest(fa.Cycloidal([0.1], [1.0])) is None
    assert rest(Quintic([0.4], [0.4], 1.0))[0] == 0.0
    late = shaped(slew, design_shaper(elastic(), q=np.zeros(8)))
    assert rest(late)[0] > 2.5


# -- gains -------------------------------------------------------------------------------------------------------------


def own_weights(model, q, omega):
    """The default weights, written down anew."""
    M, B = model.mass_matrix(q), model.input_matrix(q)
    h, n = 1e-6, len(q)
    K = np.array([(model.stiffness_force(q + h * e) - model.stiffness_force(q - h * e)) / (2 * h) for e in np.eye(n)]).T
    Q = 0.5 * np.block([[K + omega**2 * M, np.zeros((n, n))], [np.zeros((n, n)), M]])
    return Q, B.T @ np.linalg.inv(M) @ B / omega**2


PLACES = {
    "planar": (elastic, (0.7, 0.4)),
    "sagging": (lambda: elastic(gravity=DOWN), (-1.1, 0.4)),
    "spatial": (spatial, (0.5, -0.6, 0.9)),
}


@pytest.mark.parametrize("case", PLACES)
def test_gains_are_those_of_python_control(case):
    model, joints = PLACES[case][0](), PLACES[case][1]
    q, u = equilibrium(model, joints)
    system = model.linearize(q, 0 * q, u)
    Q, R = own_weights(model, q, model.frequencies(q)[0])
    expected, _, poles = ct.lqr(system.A, system.B, Q, R)
    facts = LQR(joints).law(model).facts
    np.testing.assert_allclose(facts["K"], expected, atol=RICCATI * np.abs(expected).max())
    np.testing.assert_allclose(np.sort(facts["poles"].real), np.sort(poles.real), rtol=1e-5, atol=1e-5)

    n, m = len(q), len(u)
    Q, R = np.linspace(1.0, 3.0, 2 * n), np.linspace(0.5, 0.7, m)
    expected, _, _ = ct.lqr(system.A, system.B, np.diag(Q), np.diag(R))
    K = LQR(joints, Q=Q, R=R).law(model).facts["K"]
    np.testing.assert_allclose(K, expected, atol=RICCATI * np.abs(expected).max())


@pytest.mark.parametrize("case", PLACES)
def test_sampled_gains_are_those_of_python_control(case):
    model, joints = PLACES[case][0](), PLACES[case][1]
    q, u = equilibrium(model, joints)
    system = model.linearize(q, 0 * q, u)
    Q, R = own_weights(model, q, 5.0)
    sampled = ct.c2d(ct.ss(system.A, system.B, system.C, system.D), 1e-3)
    expected, _, multipliers = ct.dlqr(sampled.A, sampled.B, Q, R)
    facts = LQR(joints, bandwidth=5.0).law(model, period=1e-3).facts
    np.testing.assert_allclose(facts["K"], expected, atol=RICCATI * np.abs(expected).max())
    ours, theirs = np.exp(facts["poles"] * 1e-3), multipliers
    np.testing.assert_allclose(np.sort(np.abs(ours)), np.sort(np.abs(theirs)), rtol=1e-6)


def test_one_joint_by_hand():
    """J qdd = u, with weights J omega^2 / 2, J / 2 and 1 / (J omega^2): the Riccati equation's solution."""
    model = one_link(fa.Rigid(length=0.4, mass=0.3, inertia=0.01), gravity=(0, 0, 0))
    J, omega = float(model.mass_matrix(np.zeros(1))[0, 0]), 3.0
    K = LQR([0.2], bandwidth=omega).law(model).facts["K"]
    Kp = J * omega**2 / np.sqrt(2)
    np.testing.assert_allclose(K, [[Kp, np.sqrt(J**2 * omega**2 / 2 + 2 * J * Kp)]], rtol=1e-9)


# -- closed loops ------------------------------------------------------------------------------------------------------


def simulated_map(model, u, q, time, **solver):
    """d x(time) / d x(0) about rest at q, from runs that start a little beside it."""
    n, h = len(q), 1e-5
    ends = []
    for e in np.eye(2 * n):
        for sign in (1, -1):
            x = sign * h * e
            result = fa.simulate(model, time, u=u, q0=q + x[:n], qd0=x[n:], samples=2, **solver)
            ends.append(np.concatenate([result.q.values[-1], result.qd.values[-1]]))
    return (np.array(ends[::2]) - np.array(ends[1::2])).T / (2 * h)


def test_motion_decays_at_the_poles():
    model = elastic(gravity=DOWN)
    joints, time = (-1.1, 0.4), 0.05
    controller = LQR(joints)
    facts = controller.law(model).facts
    q, u = equilibrium(model, joints)
    system = model.linearize(q, 0 * q, u)
    expected = expm((system.A - system.B @ facts["K"]) * time)
    found = simulated_map(model, controller, q, time, solver=fa.Solver(rtol=1e-11, atol=1e-14))
    np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())
    by_size = np.sort(np.abs(np.linalg.eigvals(found)))
    np.testing.assert_allclose(by_size, np.sort(np.abs(np.exp(facts["poles"] * time))), rtol=2e-3)


def test_sampled_motion_decays_at_the_poles():
    model = one_link()
    controller, period = LQR([0.3], bandwidth=20.0), 4e-3
    q = equilibrium(model, [0.3])[0]
    facts = controller.law(model, period).facts
    found = simulated_map(
        model, Sampled(controller, period=period), q, 3 * period, solver=fa.Solver(method="rk4", step=2e-5)
    )
    multipliers = np.linalg.eigvals(found)
    expected = np.exp(facts["poles"] * 3 * period)
    np.testing.assert_allclose(np.sort(np.abs(multipliers)), np.sort(np.abs(expected)), rtol=1e-3, atol=1e-5)


def test_the_slowest_decay_is_seen_in_a_run():
    """A fit to what is left of a deviation once the faster motions have gone."""
    model = spatial()
    joints = (0.5, -0.6, 0.9)
    controller = LQR(joints)
    law = controller.law(model)
    q, _ = equilibrium(model, joints)
    slowest = np.sort(law.facts["poles"].real)[-1]
    shares = np.sort(law.facts["poles"].real)[::-1]
    start = q + 1e-4 * np.arange(1, len(q) + 1) * (np.array([name.endswith("joint") for name in model.coordinates]))
    result = fa.simulate(model, 6.0, u=controller, q0=start, solver=fa.Solver(rtol=1e-10, atol=1e-13), samples=601)
    size = np.linalg.norm(result.q.values - q, axis=1)
    late = slice(300, 600)
    rate = np.polyfit(result.time.values[late], np.log(size[late]), 1)[0]
    assert shares[2] < 0 and rate == pytest.approx(slowest, rel=0.1)


def test_a_reference_is_followed_to_its_end():
    model = elastic(gravity=DOWN)
    slew = Quintic([-1.2, 0.3], [-0.7, 0.6], 1.5)
    q0, _ = equilibrium(model, slew.start)
    q1, u1 = equilibrium(model, slew.end)
    for controller in (LQR(reference=slew), ScheduledLQR(slew, points=5)):
        result = fa.simulate(model, 12.0, u=controller, q0=q0)
        np.testing.assert_allclose(result.q.values[-1], q1, atol=1e-4)
        np.testing.assert_allclose(result.u.values[-1], u1, atol=1e-3)
        np.testing.assert_allclose(result.q_ref.values[-1], slew.end)
    law = LQR(reference=slew).law(model)
    np.testing.assert_allclose(law.facts["q"], q1)
    # beside the end the motors go with their joints, the deflections stay
    t, end = 0.6, LQR(slew.end)
    r = fa.trajectory.reference_values(slew, np.array([t]))[0]
    rates = fa.trajectory.reference_motion(slew, t)[1]
    moved, moving = q1.copy(), np.zeros(8)
    moved[:2] += r - slew.end
    moved[6:] += r - slew.end
    moving[:2] = moving[6:] = rates
    np.testing.assert_allclose(at_once(LQR(reference=slew), model, t, moved, moving), u1, rtol=1e-9)
    assert np.abs(at_once(end, model, t, moved, moving) - u1).max() > 0.1


def test_the_arm_elsewhere_than_the_reference_ends():
    model = elastic()
    slew = Quintic([0.0, 0.0], [1.0, 0.5], 2.0)
    here = LQR([0.5, 0.2]).law(model).facts["K"]
    np.testing.assert_array_equal(LQR([0.5, 0.2], reference=slew).law(model).facts["K"], here)
    assert np.abs(LQR(reference=slew).law(model).facts["K"] - here).max() > 1e-3


def test_a_reference_may_stand_first():
    slew = Quintic([0.0, 0.0], [1.0, 0.5], 2.0)
    assert LQR(slew, bandwidth=3.0) == LQR(reference=slew, bandwidth=3.0) != LQR(slew.end, bandwidth=3.0)
    assert LQR(slew.end, reference=slew).joints == slew.end


# -- gains along a reference -------------------------------------------------------------------------------------------

SLEW = Quintic([-1.2, 0.3], [-0.4, 1.2], 1.5)


def test_at_its_points_the_schedule_is_lqr():
    model = elastic(gravity=DOWN)
    scheduled = ScheduledLQR(SLEW, points=4)
    facts = scheduled.law(model).facts
    for t, joints, K in zip(facts["times"], facts["joints"], facts["K"], strict=True):
        q, u = equilibrium(model, joints)
        lqr = LQR(joints).law(model).facts["K"]
        np.testing.assert_array_equal(K, lqr)
        found = -slope(scheduled, model, t, q, np.zeros(8))
        np.testing.assert_allclose(found / np.abs(lqr).max(axis=0), lqr / np.abs(lqr).max(axis=0), atol=1e-3)
    assert np.abs(facts["K"][0] - facts["K"][-1]).max() > 0.05 * np.abs(facts["K"]).max()

    rng = np.random.default_rng(3)
    x = 0.1 * rng.standard_normal((2, 8))
    q, u = equilibrium(model, SLEW.end)
    ours, theirs = (at_once(c, model, 2.0, q + x[0], x[1]) for c in (scheduled, LQR(SLEW.end)))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(at_once(scheduled, model, 2.0, q, 0 * q), u, rtol=1e-9)


def test_between_its_points_the_schedule_goes_on_straight_lines():
    model = elastic()
    scheduled = ScheduledLQR(SLEW, points=3)
    facts = scheduled.law(model).facts
    a, b, _ = facts["times"]
    between = -slope(scheduled, model, a + 0.3 * (b - a), np.zeros(8), np.zeros(8))
    expected = 0.7 * facts["K"][0] + 0.3 * facts["K"][1]
    np.testing.assert_allclose(between, expected, atol=1e-3 * np.abs(expected).max())


def test_the_schedule_tracks_better_than_one_gain():
    model = elastic()
    slew = Quintic([0.0, 0.0], [np.pi / 2, np.pi / 6], 2.0)

    def error(controller):
        result = fa.simulate(model, 2.0, u=controller)
        return np.abs(result.q.values[-1, :2] - slew.end).max()

    assert error(ScheduledLQR(slew)) < 0.01 < 0.1 < error(LQR(reference=slew))


def test_points_up_to_a_time():
    model = elastic()
    turning = fa.Cycloidal([0.1, 0.1], [2.0, 1.0])
    with refused(r"ScheduledLQR: the reference never comes to rest; give its end as until \[s\]"):
        ScheduledLQR(turning).law(model)
    facts = ScheduledLQR(turning, points=3, until=4.0).law(model).facts
    np.testing.assert_allclose(facts["times"], [0.0, 2.0, 4.0])
    with refused(r"ScheduledLQR: until is -1\.0 s; it must be positive"):
        ScheduledLQR(turning, until=-1.0).law(model)
    with refused("ScheduledLQR: the reference does not move; use LQR to hold the arm"):
        ScheduledLQR(Quintic([0.1, 0.1], [0.1, 0.1], 1.0)).law(model)
    for points in (1, 2.5, True):
        with refused(rf"ScheduledLQR: points is {points}; it must be a whole number, at least 2"):
            ScheduledLQR(SLEW, points=points).law(model)
    with refused("ScheduledLQR: the reference moves 1 joint; the arm has 2: upper.joint, fore.joint"):
        ScheduledLQR(Quintic([0.0], [1.0], 1.0)).law(model)


# -- errors ------------------------------------------------------------------------------------------------------------


def with_sideways(damping):
    beam = fa.Beam(length=0.5, mass=0.1, EI=1.0, modes={"y": 1, "z": 1}, damping=damping)
    return one_link(beam, gravity=(0, 0, 0))


def test_what_no_actuator_reaches():
    """The joint's axis is z: bending along z is never excited, and with no damping it never ends."""
    model = with_sideways(0.0)
    at = model.frequencies(np.zeros(3))[0]
    message = rf"a mode at {at:.4g} rad/s, mainly of a\.z1, is neither stable nor controllable"
    with refused(rf"LQR: {message}; add damping or leave the mode out"):
        LQR([0.0]).law(model)
    with refused(rf"ScheduledLQR at t = 0 s: {message}; add damping or leave the mode out"):
        ScheduledLQR(Quintic([0.0], [1.0], 1.0)).law(model)
    facts = LQR([0.0]).law(with_sideways(0.01)).facts
    assert (facts["poles"].real < 0).all()
    np.testing.assert_allclose(facts["K"][0, [2, 5]], 0.0, atol=1e-9)
    assert np.isclose(facts["poles"].imag, at * np.sqrt(1 - 0.01**2), rtol=1e-6).any()  # it is left alone


@pytest.mark.parametrize(("stiffness", "at"), [(-4.0, r"that grows with 2 1/s"), (0.0, "without stiffness")])
def test_what_falls_or_drifts_unreached(stiffness, at):
    """Two masses; only the first is pushed."""
    zero, one = np.zeros((2, 2)), np.eye(2)
    A = np.block([[zero, one], [-np.diag([1.0, stiffness]), zero]])
    with refused(rf"two: a mode {at}, mainly of b, is neither stable nor controllable; .*"):
        optimal("two", A, np.eye(4)[:, 2:3], one, np.eye(4), np.eye(1), ("a", "b"), None)


def test_weights_that_do_not_fit():
    model = elastic()
    at = [0.0, 0.0]
    with refused(r"LQR: Q has shape \(3,\); it must be one number, a list of 16 numbers, or a matrix \(16, 16\)"):
        LQR(at, Q=[1, 2, 3]).law(model)
    with refused(r"LQR: R has shape \(3, 3\); it must be one number, a list of 2 numbers, or a matrix \(2, 2\)"):
        LQR(at, R=np.eye(3)).law(model)
    with refused(r"LQR: Q must be positive semidefinite; it has the eigenvalue -1"):
        LQR(at, Q=[-1.0] + [1.0] * 15, R=1.0).law(model)
    with refused(r"LQR: R must be positive definite; it has the eigenvalue 0"):
        LQR(at, Q=1.0, R=[1.0, 0.0]).law(model)
    with refused(r"LQR: R is not symmetric"):
        LQR(at, Q=1.0, R=[[1.0, 0.2], [0.0, 1.0]]).law(model)
    with refused(r"LQR: bandwidth is -2\.0 rad/s; it must be positive"):
        LQR(at, bandwidth=-2.0).law(model)
    tiny = np.concatenate([np.full(8, 1e-9), np.full(8, 1e3)])  # units do not matter: this is positive
    np.testing.assert_array_equal(weights("LQR", tiny, [1e-14, 1e3], 16, 2)[0], np.diag(tiny))


def test_doubling_solves_riccati_s_equation():
    """One state by hand, p = f^2 p r / (r + g^2 p) + q; many beside SciPy; none where the inputs reach nothing."""
    f, g, q, r = 1.3, 0.7, 2.0, 0.5
    b = r - f**2 * r - q * g**2
    p = (-b + np.sqrt(b**2 + 4 * g**2 * q * r)) / (2 * g**2)
    found = doubling(*(np.array([[x]]) for x in (f, g, q, r)))
    np.testing.assert_allclose(found, p, rtol=1e-13)
    rng = np.random.default_rng(3)
    for n in (2, 5, 12):
        F, G = rng.normal(size=(n, n)), rng.normal(size=(n, 2))
        Q, R = (X @ X.T for X in (rng.normal(size=(n, n)), rng.normal(size=(2, 2))))
        np.testing.assert_allclose(doubling(F, G, Q, R), solve_discrete_are(F, G, Q, R), rtol=1e-8, atol=1e-8)
    reached, sees = np.array([[1.0], [0.0]]), np.diag([0.0, 1.0])
    assert doubling(np.diag([2.0, 3.0]), reached, np.eye(2), np.eye(1)) is None
    assert doubling(np.array([[1.0, 0.1], [0.0, 1.0]]), reached[::-1], sees, np.eye(1)) is None


def test_a_cost_between_state_and_input_is_solved_both_ways(monkeypatch):
    rng = np.random.default_rng(4)
    F, G, X = rng.normal(size=(4, 4)), rng.normal(size=(4, 2)), rng.normal(size=(6, 6))
    W = X @ X.T
    given = F, G, W[:4, :4], W[4:, 4:], W[:4, 4:]
    by_scipy = from_sample_to_sample(*given)

    def refuses(*_, **__):
        raise np.linalg.LinAlgError("no order")

    monkeypatch.setattr("scipy.linalg.solve_discrete_are", refuses)
    np.testing.assert_allclose(from_sample_to_sample(*given), by_scipy, rtol=1e-9, atol=1e-9)
    with pytest.raises(np.linalg.LinAlgError, match="no order"):
        from_sample_to_sample(np.diag([2.0, 3.0]), np.array([[1.0], [0.0]]), np.eye(2), np.eye(1))


@pytest.mark.parametrize(("joints", "period"), [((-0.4, 0.55), 0.01), ((-0.2, 0.41), 0.01), ((0.4, -0.01), 0.02)])
def test_a_pencil_that_scipy_does_not_reorder(joints, period):
    """Some ordinary arms: the poles are still those of the arm under the gain, and the gain that of the least cost."""
    model = elastic()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*period is")
        facts = LQR(joints).law(model, period).facts
    A, B = linear(model, facts["q"], facts["u"])
    F, G = held(A, B, period)
    assert np.abs(np.linalg.eigvals(F - G @ facts["K"])).max() < 1
    M = model.mass_matrix(facts["q"])
    stiff = np.array(model.slope("stiffness_force", 0)(facts["q"]))
    omega = pace("LQR", None, model, facts["q"])
    Q, R = energy(M, stiff + omega**2 * M), effort(model, facts["q"], omega)

    def cost(K):
        closed = F - G @ K
        return np.trace(solve_discrete_lyapunov(closed.T, Q + K.T @ R @ K) @ np.diag(1 / np.diag(Q)))

    least = cost(facts["K"])
    for share in (0.97, 1.03):
        assert cost(share * facts["K"]) > least


def test_a_cost_that_does_not_see_what_drifts():
    """Without a weight on the angle, nothing brings it back."""
    model = one_link(fa.Rigid(length=0.4, mass=0.3, inertia=0.01), gravity=(0, 0, 0))
    unsolved = "the Riccati equation has no solution:"
    with refused(rf"LQR: {unsolved} its solution does not stabilize the arm; give undamped states a weight in Q"):
        LQR([0.0], Q=[0.0, 1.0], R=1.0).law(model)
    A, B = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]])
    with refused(rf"one: {unsolved} Failed to find a finite solution\."):
        optimal("one", A, B, np.eye(1), np.diag([1e-30, 1.0]), np.eye(1), ("a",), 0.1)


def test_what_must_be_given():
    model = elastic()
    with refused("LQR: give joints, a reference, or both"):
        LQR().law(model)
    with refused("LQR: the reference never comes to rest; give joints for the equilibrium too"):
        LQR(reference=fa.Cycloidal([0.1, 0.1], [2.0, 1.0])).law(model)
    with refused(
        r"LQR: joints has 1 number; it must have 2: upper\.joint, fore\.joint, or 8 for a whole configuration"
    ):
        LQR([0.0]).law(model)
    with refused("LQR: the reference moves 1 joint; the arm has 2: upper.joint, fore.joint"):
        LQR(reference=Quintic([0.0], [1.0], 1.0)).law(model)
    rigid = fa.Model(fa.load("rigid-two-link"))
    with refused(r"LQR: arm '.*' has no stiffness, so there is no default bandwidth; give bandwidth, or Q and R"):
        LQR([0.1, 0.1]).law(rigid)
    assert (LQR([0.1, 0.1], bandwidth=4.0).law(rigid).facts["poles"].real < 0).all()
    assert (LQR([0.1, 0.1], Q=1.0, R=1.0).law(rigid).facts["poles"].real < 0).all()
    post = fa.Model(
        fa.Arm(
            name="post",
            links=[fa.Link(name="a", joint=fa.Fixed(), body=fa.Beam(length=1.0, mass=1.0, EI=2.0, modes={"y": 1}))],
        )
    )
    for controller in (LQR([]), ScheduledLQR(Quintic([0.0], [1.0], 1.0))):
        with refused(rf"{type(controller).__name__}: arm 'post' has no actuator"):
            controller.law(post)


def test_a_period_that_is_too_long():
    model = elastic()
    fastest = model.frequencies(np.zeros(8), locked=False)[-1]
    half = np.pi / fastest
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LQR([0.0, 0.0]).law(model, period=0.99 * half)
    half_of = rf"half the fastest controlled mode's, {half:.4g} s \({fastest:.4g} rad/s\)"
    with pytest.warns(fa.errors.SlowSampling, match=rf"LQR: period is 0\.002 s, longer than {half_of}"):
        LQR([0.0, 0.0]).law(model, period=0.002)


# -- cost --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", PLACES)
def test_a_closed_loop_costs_little_more_than_the_arm(case):
    model, joints = PLACES[case][0](), PLACES[case][1]
    arm = operations(model.kernel("state_rate").code)
    law = operations(Feedback(LQR(joints).law(model), model, "test").kernel.code)
    assert arm + law < 2 * arm


def test_a_schedule_costs_what_its_directions_cost():
    """Nine points cost as many products with the state as the gains have directions, not nine."""
    model = elastic()
    few, many = (
        operations(Feedback(ScheduledLQR(SLEW, points=points).law(model), model, "test").kernel.code)
        for points in (5, 17)
    )
    assert many < 1.5 * few
