"""Play in a transmission: against the exact piecewise motion, and against its describing function."""

import numpy as np
import pytest
from scipy.optimize import brentq

import flexarm as fa
from flexarm.simulation import methods
from flexarm.simulation.crossings import Stopped
from flexarm.simulation.inputs import as_input
from flexarm.simulation.layout import Layout
from flexarm.simulation.solvers import Stretch, python_rate

J_MOTOR, J_LINK = 0.5, 2.0
TOTAL, REDUCED = J_MOTOR + J_LINK, J_MOTOR * J_LINK / (J_MOTOR + J_LINK)
STIFFNESS, WIDTH = 1e3, 0.2


def two_inertias(damping=0.0, link_damping=0.0, stiffness=STIFFNESS, drive=None, **play):
    """A motor and a link that turn about one axis, with a spring and a play between them."""
    body = fa.Rigid(length=0.0, mass=1.0, com=(0, 0, 0), inertia=(1.0, 1.0, J_LINK))
    drive = fa.Drive(backlash=fa.Backlash(width=WIDTH, **play), **(drive or {}))
    joint = fa.Revolute(
        rotor_inertia=J_MOTOR, stiffness=stiffness, spring_damping=damping, damping=link_damping, drive=drive
    )
    return fa.Arm(name="two", links=[fa.Link(name="a", joint=joint, body=body)])


def run(arm, until, **given):
    given = {"u": np.zeros(1), "progress": False, "rtol": 1e-10, "solver": fa.Solver(atol=1e-12), **given}
    return fa.simulate(fa.Model(arm), until, **given)


def free_play(times, v, damping):
    """Stretch phi and its rate, from the middle of the play at rate v: straight lines and damped arcs.

    In contact y'' = -(k y + d y') / J from y = 0 at the rate v, until k y + d y' = 0; the spring then relaxes by itself
    while the sides part at the rate they have.
    """
    w0 = np.sqrt(STIFFNESS / REDUCED)
    zeta = damping / (2 * np.sqrt(STIFFNESS * REDUCED))
    beta, w = zeta * w0, w0 * np.sqrt(1 - zeta**2)
    lasts = (np.pi - np.arctan2(2 * beta * w, w**2 - beta**2)) / w

    def arc(t, v):
        e = np.exp(-beta * t)
        return v / w * e * np.sin(w * t), v * e * (np.cos(w * t) - beta / w * np.sin(w * t))

    found, t, at = np.empty((2, len(times))), 0.0, 0.0
    contacts = 0
    while True:
        contacts += 1
        free = (np.sign(v) * WIDTH / 2 - at) / v
        here = (times >= t) & (times <= t + free)
        found[0, here], found[1, here] = at + v * (times[here] - t), v
        t += free
        here = (times >= t) & (times <= t + lasts)
        y, rate = arc(times[here] - t, v)
        found[0, here], found[1, here] = np.sign(v) * WIDTH / 2 + y, rate
        t += lasts
        if t > times[-1]:
            break
        y, after = arc(lasts, v)
        at, v = np.sign(v) * WIDTH / 2 + y, after
    return found, contacts


@pytest.mark.parametrize("damping", [0.0, 1.0, 12.0])
@pytest.mark.parametrize("method", ["dop853", "auto", "radau9", "vern8"])
def test_two_inertias_with_sharp_play_move_as_the_exact_pieces_do(damping, method):
    v = 1.25
    result = run(two_inertias(damping, sharp=True), 3.0, qd0=[0.0, v], method=method, samples=301)
    (phi, rate), contacts = free_play(result.time.values, v, damping)
    stretch = result.q.values[:, 1] - result.q.values[:, 0]
    assert contacts >= 4
    looser = 100 if method == "radau9" else 1  # each of its stretches begins anew, with the error of a first step
    assert np.allclose(stretch, phi, atol=2e-8 * looser)
    assert np.allclose(result.qd.values[:, 1] - result.qd.values[:, 0], rate, atol=1e-6 * looser)
    middle = (J_LINK * result.q.values[:, 0] + J_MOTOR * result.q.values[:, 1]) / TOTAL
    assert np.allclose(middle, J_MOTOR * v / TOTAL * result.time.values, atol=1e-8)
    assert result.energy_drift < 1e-7


def test_the_reason_says_how_often_it_stopped():
    """Into contact and out of it again: two stops each; with a damper a third, as the force ends before the contact."""
    for damping, each in ((0.0, 2), (1.0, 3)):
        result = run(two_inertias(damping, sharp=True), 1.0, qd0=[0.0, 1.25], method="dop853")
        _, contacts = free_play(result.time.values, 1.25, damping)
        stops = int(result.method_reason.removeprefix("as asked; stopped at ").removesuffix(" contacts"))
        assert 0 <= each * contacts - stops <= each


def test_sharp_play_is_the_limit_of_a_smooth_one():
    """The transition's width goes into the motion with the third power, as it does into the energy of the spring."""
    sharp = run(two_inertias(sharp=True), 0.5, qd0=[0.0, 1.25]).q.values[-1]
    errors = [
        np.abs(run(two_inertias(transition=t), 0.5, qd0=[0.0, 1.25]).q.values[-1] - sharp).max()
        for t in (0.04, 0.02, 0.01)
    ]
    assert np.allclose(np.log2(np.divide(errors[:-1], errors[1:])), 3.0, atol=0.2)


def test_smooth_play_keeps_the_account_where_powers_come_in_bursts():
    """Contact is made within two milliseconds; what the damper takes there is in the account to the tolerance."""
    for damping in (0.0, 1.0):
        result = run(two_inertias(damping, transition=0.002), 5.0, qd0=[0.0, 1.0])
        assert result.energy_drift < 1e-7


def test_the_solver_is_stopped_nowhere_where_nobody_asks():
    assert "contacts" not in run(two_inertias(), 0.1).method_reason
    assert "contacts" not in run(two_inertias(sharp=True), 0.1, solver=fa.Solver(method="rk4", step=1e-3)).method_reason
    assert (
        "contacts" not in run(two_inertias(sharp=True), 0.1, solver=fa.Solver(method="gauss4", step=1e-3)).method_reason
    )


@pytest.mark.parametrize(
    ("method", "u"),
    [("auto", lambda t: [30.0 * np.sin(9.0 * t)]), ("radau9", [3.0]), ("auto", lambda t, q, qd: -q[1:])],
)
def test_runs_of_an_ensemble_that_do_not_go_in_lanes_stop_as_a_run_alone_does(method, u):
    model, given = fa.Model(two_inertias(sharp=True)), {"method": method, "samples": 21, "progress": False}
    u = u if callable(u) else np.array(u)
    alone = fa.simulate(model, 0.8, u=u, qd0=[0.0, 1.25], **given)
    together = fa.simulate_many(model, 0.8, u=u, qd0=[0.0, 1.25], runs=2, **given)
    assert "contacts" in alone.method_reason
    assert together.method_reason.values.tolist() == [alone.method_reason] * 2
    assert (together.q.values == alone.q.values).all()


def test_a_run_that_begins_on_a_contact_and_one_that_grazes_it_go_on():
    """At rest at the edge; and with just the energy that leads to it."""
    rest = run(two_inertias(sharp=True), 1.0, q0=[0.0, WIDTH / 2])
    assert np.allclose(rest.q, [0.0, WIDTH / 2], atol=1e-12)
    leaving = run(two_inertias(sharp=True), 0.3, q0=[0.0, WIDTH / 2], qd0=[0.0, -0.1])
    assert np.allclose(leaving.q.values[:, 1], WIDTH / 2 - 0.1 * leaving.time.values, atol=1e-10)
    touching = fa.Drive(stops=fa.Stops(upper=0.5, stiffness=1e4, damping=10.0, sharp=True))
    arm = fa.Arm(
        name="thrown",
        gravity=(-10.0, 0, 0),
        links=[
            fa.Link(
                name="a",
                joint=fa.Prismatic(axis=(1, 0, 0), drive=touching),
                body=fa.Rigid(length=0.0, mass=1.0, com=(0, 0, 0), inertia=0.1),
            )
        ],
    )
    thrown = run(arm, 0.6, qd0=[np.sqrt(10.0)])
    t = thrown.time.values
    assert np.allclose(thrown.q.values[:, 0], np.sqrt(10.0) * t - 5 * t**2, atol=1e-9)


@pytest.mark.parametrize("sharp", [True, False])
@pytest.mark.parametrize("method", ["auto", "rk45", "tsit5", "vern7", "radau5", "gauss8"])
def test_a_contact_shorter_than_a_step_is_found(method, sharp):
    """A thrown mass meets a stop just below the highest point, for 2 to 200 ms, against the exact motion."""
    mass, g, v, until = 1.7, 9.0, 3.1, 0.62
    body = fa.Rigid(length=0.0, mass=mass, com=(0, 0, 0), inertia=0.1)
    for depth in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        for stiffness in (1e3, 1e6):
            top, w = v**2 / (2 * g) - depth, np.sqrt(stiffness / mass)
            drive = fa.Drive(stops=fa.Stops(upper=top, stiffness=stiffness, sharp=sharp))
            link = fa.Link(name="a", joint=fa.Prismatic(axis=(1, 0, 0), drive=drive), body=body)
            thrown = run(
                fa.Arm(name="thrown", gravity=(-g, 0, 0), links=[link]), until, qd0=[v], solver=method_of(method)
            )
            slow = np.sqrt(v**2 - 2 * g * top)
            left = until - (v - slow) / g - 2 / w * np.arctan2(slow / w, g / w**2)  # since the mass left the stop
            error = abs(thrown.q.values[-1, 0] - (top - slow * left - g * left**2 / 2))
            assert error < (5e-8 if sharp else 2e-7), (depth, stiffness)


def method_of(name):
    return fa.Solver(method=name, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("method", ["rk45", "radau9"])
def test_short_contacts_of_random_motions(method):
    """A pendulum with a torque swings to a stop just before it turns: the same motion as with many short steps."""
    rng = np.random.default_rng(7)
    for _ in range(12):
        k, c, w, size = 10 ** rng.uniform(2.5, 5), rng.choice([0.0, 20.0]), rng.uniform(1, 30), rng.uniform(0.1, 3.0)
        q0, qd0, until = [0.9 * np.pi], [rng.uniform(1.0, 4.0)], rng.uniform(0.8, 1.5)
        table = fa.Table(np.linspace(0, 2, 201), size * np.sin(w * np.linspace(0, 2, 201))[:, None])
        given = {"u": table, "q0": q0, "qd0": qd0}
        free = run(pendulum(), until, samples=20001, **given).q.values[:, 0]
        first = np.flatnonzero(np.diff(free) <= 0.0)
        if not len(first) or not first[0]:
            continue
        model = pendulum(
            stops=fa.Stops(upper=free[first[0]] - 10 ** rng.uniform(-7, -2), stiffness=k, damping=c, sharp=True)
        )
        found = run(model, until, samples=2, solver=method_of(method), **given)
        short = run(model, until, samples=2, solver=fa.Solver(method="rk4", step=1e-5), **given)
        assert "stopped at 0" not in found.method_reason
        assert abs(found.q.values[-1, 0] - short.q.values[-1, 0]) < 5e-6


def test_a_step_ends_at_the_first_stage_beyond_a_contact():
    """The further stages of such a step would cost evaluations, and their states are unknown."""
    stops = fa.Stops(lower=np.pi - 0.2, upper=np.pi + 0.3, stiffness=1e4, damping=20.0, sharp=True)
    found = run(pendulum(stops=stops), 5.0, q0=[np.pi + 0.29], qd0=[2.0], solver=fa.Solver(method="dop853", rtol=1e-8))
    assert "stopped at 15 contacts" in found.method_reason
    assert found.evaluations < 21 * found.steps  # 25 with all stages; an accepted step has 12


def pendulum(**drive):
    joint = fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.1, drive=fa.Drive(**drive))
    body = fa.Rigid(length=0.7, mass=1.3, com=(0.3, 0, 0), inertia=0.2)
    return fa.Arm(name="pendulum", gravity=(-9.0, 0, 0), links=[fa.Link(name="a", joint=joint, body=body)])


def test_a_mass_that_comes_to_rest_on_a_stop_stops_a_finite_number_of_times():
    """It bounces lower and lower, then stays where the stop's spring carries its weight."""
    drive = fa.Drive(stops=fa.Stops(lower=0.0, stiffness=1e4, damping=60.0, sharp=True))
    link = fa.Link(
        name="a",
        joint=fa.Prismatic(axis=(0, 0, 1), drive=drive),
        body=fa.Rigid(length=0.0, mass=1.0, com=(0, 0, 0), inertia=0.1),
    )
    result = run(fa.Arm(name="ball", gravity=(0, 0, -9.81), links=[link]), 5.0, q0=[0.3])
    assert result.q.values[-1, 0] == pytest.approx(-9.81e-4, abs=1e-9)
    assert result.energy_drift < 1e-7
    assert 4 < int(result.method_reason.split("stopped at ")[1].split()[0]) < 100


# -- a limit cycle -----------------------------------------------------------------------------------------------------


KP, KD, MOTOR = 250.0, 0.4, 2.0
"""Of the controller of the link, and the motor's viscous friction."""


def predicted(gain):
    """Amplitude of the stretch, frequency, and stiffness, where the play is replaced by its gain N(A) for a sine.

    With the spring k N the loop has the polynomial J_l J_m s^4 + J_l d s^3 + k N (J_l + J_m) s^2 + k N (d + Kd) s +
    k N Kp, and i w is a root of it. N(A) = 1 - 2 (asin x + x sqrt(1 - x^2)) / pi, x = width / 2 A, is the dead zone's
    describing function (Nordin & Gutman 2002, section 3).
    """
    ratio = J_LINK * MOTOR / (MOTOR + KD)
    w2 = ratio * KP / (ratio * TOTAL - J_MOTOR * J_LINK)
    x = brentq(lambda x: 1 - 2 / np.pi * (np.arcsin(x) + x * np.sqrt(1 - x**2)) - gain, 1e-6, 1.0)
    return WIDTH / 2 / x, np.sqrt(w2), ratio * w2 / gain


@pytest.mark.parametrize("play", [{"sharp": True}, {"transition": 0.02}])
def test_a_pd_controller_of_the_link_swings_in_the_play_as_the_describing_function_says(play):
    """The first harmonic's amplitude within 2 %, the frequency within 3 %: what the describing function leaves out, the
    third harmonic and a second one (the cycle leans to one side), is filtered by the two inertias, not away."""
    amplitude, frequency, stiffness = predicted(0.5)
    arm = two_inertias(stiffness=stiffness, drive={"friction": fa.Friction(viscous=MOTOR)}, **play)
    start, law = [0.0, 1.2 * amplitude], lambda t, q, qd: [-KP * q[0] - KD * qd[0]]
    result = run(arm, 40.0, u=law, q0=start, solver=fa.Solver(method="dop853", rtol=1e-8, atol=1e-10), samples=20001)
    t, stretch = result.time.values, result.q.values[:, 1] - result.q.values[:, 0]
    t, stretch = t[t > 30.0], stretch[t > 30.0]
    up = np.flatnonzero((stretch[:-1] < 0) & (stretch[1:] >= 0))
    crossings = t[up] - stretch[up] * (t[1] - t[0]) / (stretch[up + 1] - stretch[up])
    turns = np.diff(crossings)
    assert np.ptp(turns) < 1e-3 * turns.mean()
    w = 2 * np.pi / turns.mean()
    whole = (t >= crossings[0]) & (t < crossings[-1])
    first = 2 * abs(np.mean(stretch[whole] * np.exp(-1j * w * t[whole])))
    assert w == pytest.approx(frequency, rel=0.03)
    assert first == pytest.approx(amplitude, rel=0.02)


# -- about a state -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("play", [{"sharp": True}, {"transition": 0.05}])
def test_in_the_gap_there_is_no_spring_and_beyond_it_the_whole_one(play):
    model = fa.Model(two_inertias(3.0, **play))
    w = np.sqrt(STIFFNESS / REDUCED)
    assert np.allclose(model.frequencies([0.0, 0.05], locked=False), [0.0, 0.0], atol=1e-6)
    assert np.allclose(model.frequencies([0.0, 0.2], locked=False), [0.0, w], atol=1e-6)
    for stretch, k, d in ((0.05, 0.0, 0.0), (0.2, STIFFNESS, 3.0), (-0.2, STIFFNESS, 3.0)):
        A = fa.Model.linearize(model, [0.0, stretch], [0.0, 0.0], [0.0]).A
        L = np.array([[1, -1]]).T / np.array([[J_LINK], [-J_MOTOR]])
        row = np.array([[-1.0, 1.0]])
        assert np.allclose(
            A[2:],
            np.hstack(
                [
                    np.array([[1 / J_LINK], [-1 / J_MOTOR]]) @ (k * row),
                    np.array([[1 / J_LINK], [-1 / J_MOTOR]]) @ (d * row),
                ]
            ),
            atol=1e-9,
        )
        assert L.shape == (2, 1)


def test_a_load_hangs_in_its_play():
    """Held by its motor, it leans on one side of the play and winds the spring there."""
    body = fa.Rigid(length=1.0, mass=2.0)
    joint = fa.Revolute(
        axis=(0, 1, 0), rotor_inertia=0.1, stiffness=500.0, drive=fa.Drive(backlash=fa.Backlash(width=0.1, sharp=True))
    )
    model = fa.Model(fa.Arm(name="hangs", gravity=(0, 0, -9.81), links=[fa.Link(name="a", joint=joint, body=body)]))
    q, u = fa.analysis.equilibrium(model, [0.1, 0.0])
    assert 500.0 * (q[0] - 0.05) == pytest.approx(9.81 * np.cos(q[0]), rel=1e-10)
    assert u[0] == pytest.approx(-9.81 * np.cos(q[0]), rel=1e-10)


def test_contacts_without_end_do_not_stop_a_run_for_ever():
    """A method that meets a contact whenever it is watched: unwatched times double until the end is reached."""
    model = fa.Model(two_inertias(sharp=True))
    layout = Layout.of(model)
    plan, _ = methods.planned(model, as_input([0.0], model), layout, "dop853")
    as_input([0.0], model).feed(plan, model, 0.0, np.zeros(layout.size))
    inside, beyond = (layout.start(np.array([0.0, x]), np.zeros(2), np.empty(0)) for x in (0.0, WIDTH))

    def solve(t, x, ends):
        if plan.shared.watch:
            plan.shared.last = np.inf
            python_rate(plan, len(x))(t, beyond)
            return Stretch(np.empty((0, len(x))), 1)
        return Stretch(np.tile(x, (len(ends), 1)), 1)

    stopped = Stopped(methods.Solve(solve, "none", "asked"), model, plan)
    found = stopped(0.0, inside, np.linspace(0.1, 1.0, 10))
    assert np.array_equal(found.x, np.tile(inside, (10, 1)))
    assert 20 < stopped.stops < 60


@pytest.mark.parametrize("method", ["radau9", "gauss8"])
def test_implicit_methods_pass_a_damped_stop_as_explicit_ones_do(method):
    """Beyond a contact the state moves on at its rates, which an implicit method's residuals are not."""
    stops = fa.Drive(stops=fa.Stops(lower=-0.1, upper=0.2, stiffness=300.0, damping=4.0, sharp=True))
    link = fa.Link(name="cart", joint=fa.Prismatic(axis=(1, 0, 0), drive=stops), body=fa.Rigid(length=0.3, mass=1.7))
    model = fa.Model(fa.Arm(name="stopped", links=[link], gravity=(0, 0, 0)))
    start = {"q0": [0.05], "qd0": [1.3], "samples": 2, "rtol": 1e-11, "progress": False}
    found, exact = (fa.simulate(model, 0.6, [50.0], method=each, **start) for each in (method, "dop853"))
    assert abs(found.q[-1, 0] - exact.q[-1, 0]) < 1e-7
    assert "stopped at 4 contacts" in found.method_reason and "stopped at 4 contacts" in exact.method_reason
