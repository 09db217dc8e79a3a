"""Systems of python-control between sensors and actuators, beside what python-control itself simulates."""

import pickle

import casadi as ca
import control
import numpy as np
import pytest
from controlled import refused
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import flexarm as fa
from flexarm.control import JointPD, Linear, Sampled, Saturated, Sum
from flexarm.sensors import Accelerometer, Encoder, MotorTorque, StrainGauge, Tachometer, TipPosition
from flexarm.simulation.feedback import kernel

M, K, D, T = 0.5, 3.0, 0.2, 0.02
DRIVE, RATE = Encoder(coordinate="a.drive"), Tachometer(coordinate="a.drive")
FELT = Accelerometer(axes="x", gravity=False)
S = control.tf("s")
LEAD = 20 * (S + 3) / (S + 40) * (S + 0.5) / S
"""With an integral and a straight way from reading to force."""
FINE = {"method": "dop853", "rtol": 1e-11, "solver": fa.Solver(atol=1e-13)}
ROUNDING = 1e-8
"""Of continuous runs of some hundred steps, and of python-control's exponentials."""


def slide(**changes):
    """A mass on a spring: x'' = (u - d x' - k x) / m."""
    joint = fa.Prismatic(axis=(1, 0, 0), damping=D, drive=fa.Drive(parallel=fa.Parallel(stiffness=K)))
    links = [fa.Link(name="a", joint=joint, body=fa.Rigid(length=1.0, mass=M, inertia=0.1))]
    return fa.Model(fa.Arm(name="slide", links=links).replace(**changes))


def pair():
    """Two slides across each other, each with a motor behind a spring: linear, of four coordinates."""
    links = [
        fa.Link(
            name=name,
            joint=fa.Prismatic(axis=axis, rotor_inertia=0.3, stiffness=40.0, damping=0.1, spring_damping=0.2),
            body=fa.Rigid(length=0.2, mass=mass, inertia=0.1),
        )
        for name, axis, mass in (("a", (1, 0, 0), 0.5), ("b", (0, 1, 0), 0.4))
    ]
    return fa.Model(fa.Arm(name="pair", links=links))


def plant(model, sensors, x=None):
    n = len(model.coordinates)
    x = np.zeros(2 * n) if x is None else x
    return model.linearize(x[:n], x[n:], np.zeros(len(model.inputs)), outputs=sensors)


@pytest.fixture(scope="module")
def single():
    return slide()


@pytest.fixture(scope="module")
def double():
    return pair()


def run(model, u, until=2.0, **more):
    given = {"q0": np.zeros(len(model.coordinates)), "samples": round(until / T) + 1, "progress": False} | FINE | more
    if isinstance(u, Sampled):
        given |= {"method": "rk4", "solver": fa.Solver(step=u.period / 40, atol=1e-13)} if "method" not in more else {}
    return fa.simulate(model, until, u=u, **given)


# -- beside python-control ---------------------------------------------------------------------------------------------


def test_a_loop_of_one_compensator(single):
    result = run(single, Linear(LEAD, [DRIVE], reference=0.3))
    loop = control.feedback(plant(single, [DRIVE]) * control.ss(LEAD))
    wanted = control.forced_response(loop, result.time.values, 0.3 * np.ones(len(result.time))).outputs
    np.testing.assert_allclose(result.q.values[:, 0], wanted, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("method", ["tustin", "zoh", "euler", "backward_diff"])
def test_it_is_made_discrete_as_python_control_does_it(method, single):
    result = run(single, Sampled(Linear(LEAD, [DRIVE], reference=0.3), T, method=method))
    held = control.sample_system(plant(single, [DRIVE]), T, "zoh")
    loop = control.feedback(held * control.sample_system(control.ss(LEAD), T, method))
    wanted = control.forced_response(loop, result.time.values, 0.3 * np.ones(len(result.time))).outputs
    np.testing.assert_allclose(result.q.values[:, 0], wanted, rtol=0, atol=ROUNDING)
    by_itself = run(single, Sampled(Linear(LEAD, [DRIVE], reference=0.3, method=method), T))
    np.testing.assert_array_equal(by_itself.q.values, result.q.values)


def test_prewarping_keeps_a_frequency(single):
    """The gain of the discrete law at one frequency is that of the continuous one."""
    omega = 0.7 * np.pi / T
    u = Linear(LEAD, [DRIVE], reference=0.0, prewarp=omega)
    law = u.law(single, T)
    step = kernel(law, single)
    n = len(law.memory)

    def at(y, z):
        return step.one(np.concatenate([[0.0, y, 0.0], z]))

    A, B = (np.array([at(0.0, e)[1:] for e in np.eye(n)]).T, at(1.0, np.zeros(n))[1:])
    C, Dd = np.array([at(0.0, e)[0] for e in np.eye(n)]), at(1.0, np.zeros(n))[0]
    gain = C @ np.linalg.solve(np.exp(1j * omega * T) * np.eye(n) - A, B) + Dd
    assert -gain == pytest.approx(complex(LEAD(1j * omega)), rel=1e-10)
    plain = Linear(LEAD, [DRIVE], reference=0.0).law(single, T)
    assert not np.allclose(kernel(plain, single).one(np.eye(3 + n)[1])[0], step.one(np.eye(3 + n)[1])[0])


def test_a_discrete_system_is_taken_as_it_is(single):
    discrete = control.tf([4.0, -3.9], [1.0, -0.6], T)
    held = control.sample_system(plant(single, [DRIVE]), T, "zoh")
    for given in (discrete, control.tf([4.0, -3.9], [1.0, -0.6], True), control.ss(discrete)):
        result = run(single, Sampled(Linear(given, [DRIVE], reference=0.3), T))
        loop = control.feedback(held * discrete)
        wanted = control.forced_response(loop, result.time.values, 0.3 * np.ones(len(result.time))).outputs
        np.testing.assert_allclose(result.q.values[:, 0], wanted, rtol=0, atol=ROUNDING)


def test_two_inputs_and_two_outputs_with_every_entry(double):
    """A transfer matrix that python-control itself would not realise; its loop put together from its entries."""
    sensors = [Encoder(coordinate="b.motor"), Tachometer(coordinate="a.motor")]
    given = control.tf([[[3], [5, 5]], [[12], [-2]]], [[[1, 4], [1, 9]], [[1, 3, 9], [1, 3]]])
    result = run(double, Linear(given, sensors, wanted={"b_motor": 0.2, "a_motor_rate": -0.1}), q0=[0.1, 0, 0, -0.2])
    each = control.append(*(control.ss(given[i, j]) for i in (0, 1) for j in (0, 1)))
    K = control.ss([], [], [], [[1, 1, 0, 0], [0, 0, 1, 1]]) * each * control.ss([], [], [], [[1, 0], [0, 1]] * 2)
    loop = control.feedback(plant(double, sensors) * K, np.eye(2))
    start = np.zeros(loop.nstates)
    start[-8:][[0, 3]] = 0.1, -0.2
    r = np.outer([0.2, -0.1], np.ones(len(result.time)))
    found = control.forced_response(loop, result.time.values, r, start).outputs
    seen = fa.outputs(double, sensors).values(result.q.values, result.qd.values)
    np.testing.assert_allclose(seen, found.T, rtol=0, atol=ROUNDING)


def test_two_degrees_of_freedom(double):
    """r goes one way and y another; names say which is which, in any order."""
    sensors = [Encoder(coordinate="a.motor"), Encoder(coordinate="b.motor")]
    rng = np.random.default_rng(4)
    B, C, D4 = rng.normal(size=(3, 4)), rng.normal(size=(2, 3)), rng.normal(size=(2, 4))
    A = np.array([[-2.0, 1.0, 0.0], [-1.0, -3.0, 0.5], [0.0, 0.0, -5.0]])
    D4[:, 2:] = -np.eye(2) * 8.0
    reference = fa.Quintic((0.0, 0.1), (0.3, -0.2), 1.0)
    plain = run(double, Linear(control.ss(A, B, C, D4), sensors, reference=reference))
    own = plant(double, sensors)
    loop = control.interconnect(
        [
            control.ss(A, B, C, D4, name="K", inputs=["ra", "rb", "a_motor", "b_motor"], outputs=own.input_labels),
            control.ss(own, name="P"),
        ],
        inputs=["ra", "rb"],
        outputs=own.output_labels,
    )
    r = np.array([fa.trajectory.reference_motion(reference, t)[0] for t in plain.time.values]).T
    start = np.concatenate([np.zeros(3), np.zeros(8)])
    start[3:][[double.coordinates.index(f"b.{part}") for part in ("joint", "motor")]] = 0.1
    wanted = control.forced_response(loop, plain.time.values, r, start).outputs  # between the times r is linear
    given = run(double, Linear(control.ss(A, B, C, D4), sensors, reference=reference), q0=None)
    seen = fa.outputs(double, sensors).values(given.q.values, given.qd.values)
    np.testing.assert_allclose(seen, wanted.T, rtol=0, atol=2e-4)
    turned = [3, 0, 1, 2]
    names = np.array(["a_motor_ref", "b_motor_ref", "a_motor", "b_motor"])[turned]
    named = control.ss(
        A, B[:, turned], C[::-1], D4[::-1][:, turned], inputs=list(names), outputs=["u_b_motor", "u_a_motor"]
    )
    again = run(double, Linear(named, sensors, reference=reference))
    np.testing.assert_allclose(again.q.values, plain.q.values, rtol=0, atol=1e-12)


def test_a_state_at_the_start_and_no_reference(single):
    """Its sign is the system's own, and nothing but its state moves the arm."""
    given = control.ss([[-1.0, 2.0], [-2.0, -1.0]], [[0.5], [1.0]], [[3.0, -1.0]], [[-0.7]])
    result = run(single, Linear(given, [DRIVE], initial=[0.4, -0.3]))
    loop = control.feedback(given * plant(single, [DRIVE]), sign=1)
    start = np.concatenate([[0.4, -0.3], np.zeros(2)])
    wanted = control.initial_response(
        control.feedback(given, plant(single, [DRIVE]), sign=1), result.time.values, start
    )
    assert loop.nstates == 4
    np.testing.assert_allclose(result.u.values[:, 0], wanted.outputs, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("method", ["tustin", "zoh", "euler", "backward_diff"])
def test_a_state_at_the_start_is_the_system_s_however_it_is_made_discrete(method, single):
    """Nothing being read, u is C x at the start, and then falls as the method has x' = A x."""
    A, C = np.array([[-20.0, 4.0], [-4.0, -9.0]]), np.array([[3.0, 1.0]])
    given = control.ss(A, [[1.0], [0.5]], C, 2.0)
    law = Linear(given, [DRIVE], initial=[1.0, -0.4], method=method).law(single, T)
    step, z, x, found, wanted = kernel(law, single), np.array(law.memory), np.array([1.0, -0.4]), [], []
    one = np.eye(2)
    after = {
        "tustin": np.linalg.solve(one - A * T / 2, one + A * T / 2),
        "zoh": expm(A * T),
        "euler": one + A * T,
        "backward_diff": np.linalg.inv(one - A * T),
    }[method]
    for _ in range(5):
        u, z = np.split(step.one(np.concatenate([[0.0, 0.0, 0.0], z])), [1])
        found, wanted, x = [*found, u], [*wanted, C @ x], after @ x
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_an_accelerometer_in_a_continuous_loop(single):
    """u makes qdd, and qdd goes to the filter, which is strictly proper: no algebraic loop."""
    given = control.ss(-4.0 / (S + 7.0))
    result = run(single, Linear(given, [FELT]), q0=[0.2])
    x = np.array([0.2, 0.0])
    sensors = plant(single, [FELT])
    loop = control.feedback(sensors, given, sign=1)
    wanted = control.initial_response(loop, result.time.values, np.concatenate([x, [0.0]]))
    np.testing.assert_allclose(result.q.values[:, 0], wanted.states[0], rtol=0, atol=ROUNDING)
    limited = run(single, Saturated(Linear(given, [FELT]), 0.2), q0=[0.2])
    a, b, c = (part.item() for part in (given.A, given.B, given.C))

    def rate(t, x):
        """What it reads is of the force that the arm gets."""
        qdd = (np.clip(c * x[2], -0.2, 0.2) - D * x[1] - K * x[0]) / M
        return x[1], qdd, a * x[2] + b * qdd

    found = solve_ivp(rate, (0, 2), [0.2, 0.0, 0.0], "DOP853", limited.time.values, rtol=1e-9, atol=1e-11, max_step=T)
    assert np.abs(limited.u.values).max() == pytest.approx(0.2)
    np.testing.assert_allclose(limited.q.values[:, 0], found.y[0], rtol=0, atol=1e-6)


def test_an_accelerometer_in_a_sampled_loop(single):
    """It is read before the force changes, so with the last one; straight ways are possible."""
    k, last, x = -0.2, 0.0, np.array([0.2, 0.0])
    held = control.sample_system(plant(single, [DRIVE]), T, "zoh")
    result = run(single, Sampled(Linear([[k]], [FELT]), T, limit=0.1, delay=T), q0=[0.2])
    found, under_way = [], 0.0
    for _ in range(len(result.time)):
        found.append(x[0])
        asked = np.clip(k * (last - D * x[1] - K * x[0]) / M, -0.1, 0.1)
        last, under_way = under_way, asked
        x = held.A @ x + held.B[:, 0] * last
    np.testing.assert_allclose(result.q.values[:, 0], found, rtol=0, atol=ROUNDING)


# -- identities --------------------------------------------------------------------------------------------------------


def arm():
    return fa.Model(fa.load("subudhi-morris-elastic"))


def test_a_matrix_of_gains_is_a_pd():
    model, reference = arm(), fa.Quintic((0.0, 0.0), (0.8, 0.4), 0.3)
    kinds = [make(coordinate=f"{name}.drive") for make in (Encoder, Tachometer) for name in ("upper", "fore")]
    gains = np.hstack([np.diag([5.0, 3.0]), np.diag([2.0, 1.0])])
    rng = np.random.default_rng(2)
    x = np.concatenate([[0.1], 0.1 * rng.normal(size=2 * len(model.coordinates))])
    wanted = kernel(JointPD(reference, (5.0, 3.0), (2.0, 1.0)).law(model), model).one(x)
    for given in (gains, control.ss([], [], [], gains)):
        u = Linear(given, kinds, reference=reference)
        np.testing.assert_allclose(kernel(u.law(model), model).one(x), wanted, rtol=1e-12)
        np.testing.assert_allclose(kernel(u.law(model, 0.01), model).one(x), wanted, rtol=1e-12)
    one = Linear([[5.0, 2.0]], kinds[::2], reference=reference, actuators=["upper.motor"])
    np.testing.assert_allclose(kernel(one.law(model), model).one(x), [wanted[0], 0.0], rtol=1e-12)


def test_what_sensors_shall_read_is_of_the_arm_that_does_not_bend():
    """Along a reference the rigid arm's tip; gauges nothing; and what `wanted` says in place of it."""
    model, reference = fa.Model(fa.load("subudhi-morris")), fa.Quintic((0.2, 0.3), (0.8, 0.4), 1.0)
    sensors = [TipPosition(axes="xy"), StrainGauge(link="fore"), Tachometer(coordinate="upper.drive"), FELT]
    p, t, n = 5, 0.37, len(model.coordinates)
    u = Linear(np.eye(2, p + p), sensors, reference=reference)
    motion = fa.trajectory.reference_motion(reference, t)
    q, qd, qdd = (np.concatenate([each, np.zeros(n - 2)]) for each in motion)
    y = np.array(model.output_function(sensors)(q, qd, qdd)).ravel()
    rng = np.random.default_rng(2)
    state = np.concatenate([[t], 0.1 * rng.normal(size=2 * n)])
    for rows in ([0, 1], [2, 3], [3, 4]):
        gains = np.zeros((2, 2 * p))
        gains[[0, 1], rows] = 1.0
        law = Linear(gains, sensors, reference=reference).law(model, 0.01)
        found = kernel(law, model).one(np.concatenate([state, np.zeros(n)]))
        np.testing.assert_allclose(found[:2], y[rows], rtol=1e-12, atol=1e-13)
    law = Linear(np.eye(2, 2 * p), sensors, reference=reference, wanted={"tip_y": 0.123}).law(model, 0.01)
    found = kernel(law, model).one(np.concatenate([state, np.zeros(n)]))
    np.testing.assert_allclose(found[:2], [y[0], 0.123], rtol=1e-12)
    assert u.law(model, 0.01).reference == reference


def test_where_a_joint_rests_is_not_where_it_shall_be():
    """A telescope rests at its full length, and shall be where the reference has it."""
    model = fa.Model(fa.load("theodore-ghosal"))
    place = np.array(model.arm.rest)[list(model.arm.joints)] * 0.7 + 0.1
    sensors = [Encoder(coordinate=f"{model.arm.coordinates[i]}") for i in model.arm.joints]
    q = np.array(model.arm.rest)
    found = kernel(Linear(np.eye(len(place)), sensors, reference=place).law(model), model).one(
        np.concatenate([[0.0], q, np.zeros(model.nv)])
    )
    assert q[list(model.arm.joints)].any()
    np.testing.assert_allclose(found, place - q[list(model.arm.joints)], atol=1e-14)


def test_a_free_base_is_read_by_its_place_and_turn():
    model = fa.Model(fa.load("satellite"))
    names = model.inputs
    sensors = [Encoder(coordinate=each) for each in model.coordinates[:7]] + [fa.StarTracker()]
    law = Linear(np.eye(len(names), 10), sensors).law(model)
    q = model.arm.rest + 0.1 * np.random.default_rng(1).normal(size=model.nq)
    q[3:7] /= np.linalg.norm(q[3:7])
    y = fa.outputs(model, sensors).values(q, np.zeros(model.nv))
    found = kernel(law, model).one(np.concatenate([[0.0], q, np.zeros(model.nv)]))
    np.testing.assert_allclose(found, y[: len(names)], rtol=1e-10, atol=1e-12)


def test_readings_are_noisy_and_rounded_where_they_are_sampled(single):
    noise, step = 0.03, 0.25
    sensors = [DRIVE.replace(noise=noise), RATE.replace(resolution=step, sample_time=T)]
    off = np.array([[1.0, 0.0], [0.0, 1.0]])
    for row, rounds in zip(off, (False, True), strict=True):
        result = run(
            single,
            Sampled(Linear([row], sensors), T, seed=5),
            10.0,
            q0=[0.5],
            method="rk4",
            solver=fa.Solver(step=T, atol=1e-13),
        )
        u, y = result.u.values[:-1, 0], [result.q, result.qd][rounds].values[:-1, 0]
        if rounds:
            np.testing.assert_allclose(u / step, np.floor(y / step + 0.5), rtol=0, atol=1e-9)
        else:
            assert np.std(u - y) == pytest.approx(noise, rel=0.12)
    continuous = [each.replace(sample_time=None) for each in sensors]
    law = Linear([[-1.0, -1.0]], continuous).law(single)
    assert law.noise == () and kernel(law, single).one(np.array([0.0, 0.3, 0.1])) == pytest.approx(-0.4)


def test_states_of_a_fast_filter_are_as_large_as_its_input(single):
    """Far from the form of a textbook, whose states are smaller by the filter's frequency squared: they are
    integrated within a tolerance."""
    omega = 1e4
    law = Linear(omega**2 / (S**2 + omega * S + omega**2), [DRIVE]).law(single)
    z = ca.SX.sym("z", 2)
    _, after = law(ca.SX(0), ca.SX([1.0]), ca.SX([0.0]), z)
    rate = after(ca.SX(0))
    A = np.array(ca.DM(ca.jacobian(rate, z)))
    b = np.array(ca.Function("b", [z], [rate])(np.zeros(2)))
    assert 0.1 < np.abs(np.linalg.solve(A, b)).max() < 10.0


def test_it_travels_and_goes_in_lanes(single):
    u = Sampled(Linear(control.ss(LEAD), [DRIVE.replace(noise=1e-3)], reference=0.3), T, delay=T)
    wanted = run(single, u, method="dop853")
    for thing in (u, fa.inputs.as_input(u, single)):
        sent = run(single, pickle.loads(pickle.dumps(thing)), method="dop853")
        np.testing.assert_array_equal(sent.q.values, wanted.q.values)
    given = {"samples": len(wanted.time), "method": "rk4", "solver": fa.Solver(step=T / 40), "progress": False}
    many = fa.simulate_many(single, 2.0, u=u, q0=np.zeros((9, 1)), **given)
    np.testing.assert_allclose(many.q.values[4], wanted.q.values, rtol=0, atol=1e-9)


# -- what is refused ---------------------------------------------------------------------------------------------------

ONE = control.tf([1.0], [1.0, 2.0])
WRONG = {
    "no system": ({"system": "PD"}, r"Linear: system is 'PD'; it must be a StateSpace or a TransferFunction of .*"),
    "nothing": ({"system": None}, r"Linear: system is None; it must be a StateSpace .*"),
    "function": ({"system": np.sin}, r"Linear: system is a ufunc; it must be a StateSpace .*"),
    "row": ({"system": [1.0, 2.0]}, r"Linear: system has shape \(2,\); it must be a StateSpace .*"),
    "measured": (
        {"system": control.frd([1.0, 2.0], [1.0, 2.0])},
        r"Linear: system is a FrequencyResponseData of python-control; it must be a StateSpace or a TransferFunction",
    ),
    "not a number": (
        {"system": control.ss([[np.nan]], [[1.0]], [[1.0]], [[0.0]])},
        r"Linear: the system's A contains .*",
    ),
    "derivative": (
        {"system": control.tf([1.0, 0.0, 1.0], [1.0, 2.0])},
        r"Linear: a transfer function of the system is improper, with numerator degree 2 and denominator degree 1; .*",
    ),
    "inputs": (
        {"system": control.ss([], [], [], [[1.0, 2.0]])},
        r"Linear: the system has 2 inputs; the sensors' signals: a_drive",
    ),
    "inputs with a reference": (
        {"system": control.ss([], [], [], [[1.0, 2.0, 3.0]]), "reference": 0.1},
        r"Linear: the system has 3 inputs; the sensors' signals \(or twice as many, with .*\): a_drive",
    ),
    "outputs": (
        {"system": control.ss([], [], [], [[1.0], [2.0]])},
        r"Linear: the system has 2 outputs; the actuators: u_a_joint",
    ),
    "labels": (
        {"system": control.tf([1.0], [1.0, 2.0], inputs="e")},
        r"Linear: the system's input is called 'e'; the sensors' signals: a_drive; use these names, or .*",
    ),
    "label of an output": (
        {"system": control.tf([1.0], [1.0, 2.0], outputs="f")},
        r"Linear: the system's output is called 'f'; the actuators: u_a_joint; use these names, .* \(y\[0\], .*\)",
    ),
    "discrete": (
        {"system": control.tf([1.0], [1.0, 2.0], T)},
        r"Linear: the system is discrete, of period 0\.02 s; use Sampled\(\.\.\.\) with this period",
    ),
    "discrete of any": (
        {"system": control.tf([1.0], [1.0, 2.0], True)},
        r"Linear: the system is discrete; use Sampled\(\.\.\.\) with this period",
    ),
    "other period": (
        {"system": control.tf([1.0], [1.0, 2.0], 0.03), "sampled": True},
        r"Linear: the system's period is 0\.03 s and the loop's 0\.02 s; they must be equal",
    ),
    "method": (
        {"method": "guess"},
        r"Linear: method is 'guess'; it must be 'tustin', 'zoh', 'euler' or 'backward_diff'",
    ),
    "prewarp": ({"prewarp": -1.0}, r"Linear: prewarp is -1\.0 rad/s; it must be positive"),
    "prewarp too fast": (
        {"prewarp": 200.0, "sampled": True},
        r"Linear: prewarp is 200 rad/s; it must be less than pi / period, 157\.1 rad/s",
    ),
    "prewarp of another": (
        {"prewarp": 20.0, "method": "zoh", "sampled": True},
        r"Linear: prewarp applies only to method 'tustin'; the method is 'zoh'",
    ),
    "singular": (
        {"system": control.tf([1.0], [1.0, -100.0]), "sampled": True},
        r"Linear: the design failed, .*",
    ),
    "initial": ({"initial": [1.0]}, r"Linear: initial applies only to a StateSpace; leave it out"),
    "initial of another": (
        {"system": control.ss(ONE), "initial": [1.0, 2.0]},
        r"Linear: initial has shape \(2,\); the system has 1 state, so it must be \(1,\)",
    ),
    "sensors": ({"sensors": []}, r"outputs is \[\]; it must be a list of sensors"),
    "sample time": (
        {"sensors": [DRIVE.replace(sample_time=0.03)], "sampled": True},
        r"Linear: Encoder samples every 0\.03 s; it must be the controller's period of 0\.02 s",
    ),
    "sample time of none": (
        {"sensors": [DRIVE.replace(sample_time=0.03)]},
        r"Linear: Encoder samples every 0\.03 s; use Sampled\(\.\.\.\) with this period",
    ),
    "motors": ({"sensors": [MotorTorque(link="a")]}, r"MotorTorque: link 'a': its value depends on u .*"),
    "loop": (
        {"sensors": [FELT], "system": 3.0},
        r"Linear: algebraic loop: u depends on tip_acceleration_x without delay, and .*",
    ),
    "actuator": (
        {"actuators": ["b.joint"]},
        r"Linear: actuators has 'b\.joint'; did you mean 'a\.joint'\? The inputs of the arm are a\.joint",
    ),
    "actuators twice": (
        {"system": [[1.0], [2.0]], "actuators": ["a.joint", "a.joint"]},
        r"Linear: actuators has 'a\.joint' twice; give each actuator once",
    ),
    "no name": (
        {"actuators": np.zeros((1, 2))},
        r"Linear: actuators has array\(\[0\., 0\.\]\); the inputs of the arm are .*",
    ),
    "actuators": ({"actuators": "a.joint"}, r"Linear: actuators is 'a\.joint'; it must be names of inputs"),
    "wanted": ({"wanted": 3.0}, r"Linear: wanted is 3\.0; it must be a dict of numbers by signal name"),
    "wanted of none": (
        {"wanted": {"b": 0.0}},
        r"Linear: wanted has the unknown name 'b'; signals of the sensors are a_drive",
    ),
    "wanted number": ({"wanted": {"a_drive": "0"}}, r"Linear: wanted\['a_drive'\] is '0'; it must be a number"),
    "wanted of some": (
        {"sensors": [DRIVE, RATE], "wanted": {"a_drive": 0.0}},
        r"Linear: wanted has no value for signal a_drive_rate; give its value too, or a reference",
    ),
    "reference": ({"reference": "there"}, r"Linear: reference is 'there'; it must be a reference, one number, .*"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name, single):
    given, line = WRONG[name]
    given = {"system": ONE, "sensors": [DRIVE]} | given
    sampled = given.pop("sampled", False)
    with refused(line):
        u = Linear(**given)
        run(single, Sampled(u, T) if sampled else u, 2 * T)


def test_accelerations_beside_what_acts_from_outside():
    """Sampled, they are those of the arm that runs, with all that pushes it; a continuous law does not know that."""
    pushed = slide(forces=[fa.Force(name="push", link="a", at=1.0)])
    for u in (Linear([[0.5]], [FELT]), Sum(Linear([[0.2]], [FELT]), 0.0, Linear([[0.3]], [FELT]))):
        for model, push in ((pushed, {"w": [0.3, 0.0, 0.0]}), (slide(), {"disturbance": {"a.drive": 0.3}})):
            result = run(model, Sampled(u, T), save=fa.SaveAt(record=["measured"]), until=20 * T, **push)
            x, v, last = result.q.values[1:-1, 0], result.qd.values[1:-1, 0], result.u.values[:-2, 0]
            felt = (0.3 + last - D * v - K * x) / M
            np.testing.assert_allclose(result.measured.values[1:-1, 0], felt, rtol=0, atol=1e-12)
            np.testing.assert_allclose(result.u.values[1:-1, 0], 0.5 * felt, rtol=0, atol=1e-12)
    with refused(
        r"Linear: arm 'slide': tip_acceleration_x measures acceleration, which depends on exogenous inputs .*"
    ):
        run(pushed, Linear([[1.0]], [FELT]))


def test_a_method_for_what_is_not_linear(single):
    with refused(r"Sampled: controller is a JointPD; method applies only to a control\.Linear, .*"):
        Sampled(JointPD(0.0, 1.0, 1.0), T, method="zoh")
    with refused(r"Linear: method is 'guess'; .*"):
        Sampled(Linear(ONE, [DRIVE]), T, method="guess")


@pytest.mark.parametrize("given", [ONE, control.ss(ONE)])
def test_a_system_alone_is_told_what_makes_it_a_controller(given, single):
    with refused(r"u is a .* of python-control, .*; use control\.Linear\(system, sensors=\[\.\.\.\]\)"):
        run(single, given)
