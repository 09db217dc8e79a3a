"""Zero-phase-error tracking and iterative learning control, against their formulas and simulated arms."""

import control as ct
import numpy as np
import pytest
from controlled import refused
from scipy.linalg import expm

import flexarm as fa
from flexarm.control import ZPETC, Every, JointPD, Sampled, Sum, learn

T = 0.02


def plant(zeros=(-1.7, 0.5, 1.3 + 0.4j, 1.3 - 0.4j), poles=(0.4, 0.9, 0.6 + 0.5j, 0.6 - 0.5j, 0.1, -0.2), gain=0.07):
    return ct.tf(gain * np.poly(zeros).real, np.poly(poles).real, T)


# -- zero-phase-error tracking -----------------------------------------------------------------------------------------


def test_the_phase_is_zero_and_the_gain_is_tomizukas():
    """F G at frequencies, with F without its delay: real, positive, |U|^2 / U(1)^2 with the zeros outside."""
    system = plant()
    found = ZPETC(system)
    assert sorted(np.abs(found.kept)) == pytest.approx([abs(1.3 + 0.4j)] * 2 + [1.7])
    assert found.cancelled == pytest.approx([0.5]) and found.preview == 2 + 3 and found.period == T
    omega = np.linspace(0.0, np.pi / T, 50)
    z = np.exp(1j * omega * T)
    both = system(z) * found.filter(z) * z**found.preview
    U = (z + 1.7) * (z - 1.3 - 0.4j) * (z - 1.3 + 0.4j) / (2.7 * (0.3**2 + 0.4**2))
    np.testing.assert_allclose(both, np.abs(U) ** 2, atol=1e-10 * np.abs(U).max() ** 2)
    np.testing.assert_allclose(found.gain(omega), np.abs(U) ** 2, rtol=1e-10)
    assert found.gain(0.0) == pytest.approx(1.0, rel=1e-12)


def test_the_output_is_the_reference_through_a_symmetric_filter():
    system = plant()
    found = ZPETC(system)
    t = T * np.arange(150)
    r = 0.3 + np.where(t < 0.5, 0.0, np.where(t < 1.5, np.sin(np.pi * (t - 0.5) / 2) ** 2, 1.0))
    u = found.commands(r)
    start = 0.3 / system(1.0).real  # the plant rests at the first value
    y = 0.3 + ct.forced_response(system, t, u - start).outputs
    U = np.poly(found.kept).real
    weights = np.convolve(U, U[::-1]) / U.sum() ** 2
    np.testing.assert_allclose(y, np.convolve(np.pad(r, 3, mode="edge"), weights, mode="valid"), atol=1e-10)


def test_the_radius_decides_what_is_cancelled():
    system = plant(zeros=(-0.97, 0.5), poles=(0.4, 0.9, 0.1))
    assert len(ZPETC(system).kept) == 1 and len(ZPETC(system, radius=1.0).kept) == 0
    t, r = T * np.arange(60), np.r_[np.zeros(10), np.ones(50)]
    y = ct.forced_response(system, t, ZPETC(system, radius=1.0).commands(r)).outputs
    np.testing.assert_allclose(y, r, atol=1e-10)  # all zeros cancelled: perfect tracking


def test_the_tip_of_a_flexible_link_follows():
    """From a held torque beside PD to the tip: zeros outside the circle; the tip's error against that without."""
    beam = fa.Beam(length=0.8, mass=0.3, EI=6.0, modes={"y": 2}, damping=0.01)
    link = fa.Link(name="a", joint=fa.Revolute(rotor_inertia=0.05), body=beam)
    model = fa.Model(fa.Arm(name="boom", links=[link], payload=fa.Payload(mass=0.2)))
    period, h = 0.01, 1e-7
    pd = JointPD(0.0, 10.0, 2.0)
    open_loop = model.linearize()
    held = ct.sample_system(ct.ss(open_loop.A, open_loop.B, np.eye(6), 0.0), period)
    A = held.A - held.B @ np.array([[10.0, 0, 0, 2.0, 0, 0]])
    C = [(model.tip(h * e) - model.tip(-h * e))[1, 3] / (2 * h) for e in np.eye(3)]
    loop = ct.ss(A, held.B, [[*C, 0.0, 0.0, 0.0]], 0.0, period)
    found = ZPETC(loop)
    assert (np.abs(found.kept) > 1.5).sum() == 2  # not minimum phase
    t = period * np.arange(151)
    r = np.interp(t, [0.0, 0.3], [0.0, 0.0]) + 0.02 * np.sin(np.pi / 2 * np.clip((t - 0.3) / 0.6, 0, 1)) ** 2
    naive = r / loop(1.0).real
    errors = []
    for u in (found.commands(r), naive):
        both = Sampled(Sum(fa.Piecewise(t, u), pd), period=period)
        run = fa.simulate(model, t[-1], u=both, samples=len(t), progress=False)
        errors.append(np.abs(run.tip.values[:, 1] - r).max())
    assert errors[0] < 5e-4 < 0.2 * errors[1]


def test_systems_that_cannot_be_followed():
    for system, line in {
        "x": "ZPETC: system is 'x'; it must be a system of python-control",
        ct.tf([1.0], [1.0, 2.0]): "ZPETC: the system has no sampling period; use control.sample_system.*",
        ct.tf([1.0], [1.0, -1.1], T): "ZPETC: the system is unstable, with a pole of the size 1.1; close a loop.*",
        ct.tf([1.0, -1.0], [1.0, -0.1, 0.0], T): "ZPETC: the system has a zero at 1, so it cannot follow a constant.*",
        ct.tf([0.0], [1.0, -0.5], T): "ZPETC: the system has the gain 0, so no command has an effect; check its.*",
        ct.ss(0.1 * np.eye(2), np.eye(2), np.eye(2), 0.0, T): "ZPETC: the system has 2 inputs and 2 outputs; it must.*",
    }.items():
        with refused(line):
            ZPETC(system)
    with refused("ZPETC: radius is 1.2; it must be positive and at most 1"):
        ZPETC(plant(), radius=1.2)
    with refused(r"ZPETC.commands: reference has shape \(1, 2\); it must be \(N,\), N at least 1"):
        ZPETC(plant()).commands([[0.0, 1.0]])


# -- learning ----------------------------------------------------------------------------------------------------------

MOVE = fa.Quintic([0.1], [0.9], 0.6)


@pytest.fixture(scope="module")
def rod():
    """A double integrator of 0.35 kg m^2."""
    body = fa.Rigid(length=0.5, mass=0.8, inertia=0.0, com=(0.25, 0.0, 0.0))
    return fa.Model(fa.Arm(name="rod", links=[fa.Link(name="rod", joint=fa.Revolute(rotor_inertia=0.3), body=body)]))


def test_errors_of_a_linear_plant_fall_as_the_theory_says(rod):
    """e_j = (1 + G G' / rho)^-j e_0, with G from the pulse response of the sampled loop, worked out here."""
    N, weight = 40, 0.05
    found = learn(rod, JointPD(MOVE, 9.0, 2.0), N * T, T, trials=6, weight=weight)
    A = expm(T * np.array([[0, 1.0, 0], [0, 0, 1 / 0.35], [0, 0, 0]]))
    F, b = A[:2, :2] - A[:2, 2:] @ [[9.0, 2.0]], A[:2, 2]
    pulse = [(np.linalg.matrix_power(F, k) @ b)[0] for k in range(N)]
    G = np.array([[pulse[i - k] if i >= k else 0.0 for k in range(N)] for i in range(N)])
    rho = weight * np.linalg.norm(G, 2) ** 2
    shrink = np.linalg.inv(np.eye(N) + G @ G.T / rho)
    t, x = T * np.arange(N), np.array([0.1, 0.0])
    s = np.minimum(t / 0.6, 1.0)
    r = 0.1 + 0.8 * (10 * s**3 - 15 * s**4 + 6 * s**5)
    rd = 0.8 / 0.6 * (30 * s**2 - 60 * s**3 + 30 * s**4)
    y = []
    for k in range(N):
        x = F @ x + b * (9.0 * r[k] + 2.0 * rd[k])
        y.append(x[0])
    s = np.minimum((t + T) / 0.6, 1.0)
    e = 0.1 + 0.8 * (10 * s**3 - 15 * s**4 + 6 * s**5) - y
    mine = []
    for _ in range(7):
        mine.append(np.sqrt(np.mean(e**2)))
        e = shrink @ e
    np.testing.assert_allclose(found.errors, mine, rtol=1e-6)
    np.testing.assert_allclose(found.expected, mine, rtol=1e-6)
    assert (np.diff(found.errors) < 0).all() and found.errors[-1] < 0.1 * found.errors[0]
    u = Sampled(Sum(found.feedforward, JointPD(MOVE, 9.0, 2.0)), period=T)
    again = fa.simulate(rod, N * T, u=u, samples=N + 1, progress=False)
    np.testing.assert_allclose(again.q, found.result.q, atol=1e-12)


def test_a_nonlinear_arm_learns_with_a_wrong_model():
    """Gravity and coupling; the design knows neither the payload nor gravity."""
    rods = [
        fa.Link(name="upper", joint=fa.Revolute(damping=0.4), body=fa.Rigid(length=0.7, mass=1.3)),
        fa.Link(name="fore", joint=fa.Revolute(damping=0.2), body=fa.Rigid(length=0.6, mass=0.8)),
    ]
    arm = fa.Arm(name="two", links=rods, gravity=(0.0, -9.81, 0.0), payload=fa.Payload(mass=0.3))
    move = fa.Quintic([0.1, 0.2], [0.8, -0.3], 0.8)
    design = fa.Model(arm.replace(payload=None, gravity=(0.0, 0.0, 0.0)))
    pd = JointPD(move, [25.0, 8.0], [5.0, 1.0], gravity=False)
    found = learn(fa.Model(arm), pd, 1.0, T, trials=8, design=design)
    assert found.errors[-1] < 0.02 * found.errors[0] and found.expected[0] == pytest.approx(found.errors[0])
    assert found.feedforward.values_.shape == (50, 2)


def test_the_joints_of_a_free_arm_learn():
    """A configuration with a quaternion has one number more than the rates."""
    links = [
        fa.Link(name=name, joint=fa.Revolute(rotor_inertia=0.02, damping=0.1), body=fa.Rigid(length=0.6, mass=1.0))
        for name in ("upper", "fore")
    ]
    base = fa.FreeBase(mass=20.0, inertia=[1.0, 1.2, 0.9])
    model = fa.Model(fa.Arm(name="free", gravity=(0.0, 0.0, 0.0), base=base, links=links))
    pd = JointPD(fa.Quintic([0.1, 0.2], [0.9, -0.4], 0.6), [9.0, 4.0], [2.0, 1.0])
    found = learn(model, pd, 0.8, T, trials=3)
    assert found.errors[0] > 0.05 and found.errors[-1] < 0.01 * found.errors[0]
    np.testing.assert_allclose(found.errors, found.expected, rtol=0.2)


def test_what_cannot_be_learned(rod):
    pd = JointPD(MOVE, 9.0, 2.0)
    for line, arguments in {
        r"learn: until is 0.7\d* s; it must be a whole number of periods of 0.02 s": (rod, pd, 0.77, T),
        "learn: the controller has several sampling periods; give another one": (rod, Every(pd, 2), 0.4, T),
        "learn: controller is a Sampled; give the controller in it.*": (rod, Sampled(pd, T), 0.4, T),
        "learn: controller is a float; it must be a controller.*": (rod, 3.0, 0.4, T),
        "learn: period is 0.0 s; it must be positive": (rod, pd, 0.4, 0.0),
        "learn: a run has 100000 samples of 1 joint; at most 2000 numbers are allowed: choose.*": (rod, pd, 1.0, 1e-5),
    }.items():
        with refused(line):
            learn(*arguments)
    with refused("learn: the controller has no reference; give another one"):
        learn(rod, fa.control.Linear(ct.ss([], [], [], [[-1.0]]), [fa.Encoder(coordinate="rod.joint")]), 0.4, T)
