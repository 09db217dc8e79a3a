"""Friction and brakes against closed forms, and against equations integrated by somebody else."""

import math

import numpy as np
import pytest
from oracle import Lagrangian
from random_arms import random_arm, random_state
from rubbing import random_drives, random_signals, rubbing
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from varied_arms import quantity

import flexarm as fa
from flexarm.analysis.equilibrium import equilibrium
from flexarm.description.friction import Resistance, Viscosity

G = 9.81
BRISTLES = {"model": "lugre", "bristle_stiffness": 1e5, "bristle_damping": 100.0}


def slider(mass=2.0, slope=0.0, friction=None, link_friction=None, brake=None, **joint):
    """A mass that slides along x, down a slope."""
    drive = fa.Drive(friction=friction, link_friction=link_friction, brake=brake)
    link = fa.Link(
        name="slide", joint=fa.Prismatic(axis=(1, 0, 0), drive=drive, **joint), body=fa.Rigid(length=0.1, mass=mass)
    )
    gravity = (G * math.sin(slope), 0.0, -G * math.cos(slope))
    return fa.Model(fa.Arm(name="slider", links=[link], gravity=gravity))


def pendulum(friction, inertia=0.0):
    drive = fa.Drive(friction=friction)
    joint = fa.Revolute(axis=(0, 1, 0), drive=drive, rotor_inertia=inertia)
    body = fa.Rigid(length=0.5, mass=1.5, com=(0.4, 0, 0), inertia=0.02)
    return fa.Model(fa.Arm(name="pendulum", links=[fa.Link(name="rod", joint=joint, body=body)], gravity=(0, 0, -G)))


def run(model, until, **given):
    return fa.simulate(model, until, progress=False, **given)


def force(model, v, s=None, u=0.0, w=None):
    """What acts against the rate of a lone slider, from its acceleration."""
    return u - 2.0 * float(model.forward_dynamics([0.0], [v], [u], s=s, w=w)[0])


# -- closed forms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [{"creep_rate": 1e-5}, BRISTLES])
def test_a_mass_slides_to_rest_in_the_time_of_the_closed_form(kind):
    """t = m v / F_c, way = m v^2 / (2 F_c)."""
    m, v, Fc = 2.0, 1.5, 3.0
    model = slider(m, friction=fa.Friction(coulomb=Fc, **kind))
    result = run(model, 1.5, q0=[0.0], qd0=[v], samples=15001)
    t_end = float(result.time[np.argmax(np.array(result.qd[:, 0]) < 1e-3 * v)])
    assert t_end == pytest.approx(m * v / Fc, rel=3e-3)
    # bristles give way by v m v / F_c ... before they pull: of the order of F_c / sigma_0, 1e-4 s at the speed v
    assert float(result.q[-1, 0]) == pytest.approx(m * v**2 / (2 * Fc), abs=1e-6 if "model" not in kind else 2e-3)
    assert abs(float(result.qd[-1, 0])) < 1e-8
    assert result.attrs["energy_drift"] < 1e-7


def test_viscous_and_coulomb_friction_to_rest():
    """m v' = -F - d v: t = m/d ln(1 + d v / F)."""
    m, v, Fc, d = 2.0, 1.5, 3.0, 4.0
    model = slider(m, friction=fa.Friction(coulomb=Fc, viscous=d, creep_rate=1e-6))
    result = run(model, 0.8, q0=[0.0], qd0=[v], samples=8001)
    t_end = float(result.time[np.argmax(np.array(result.qd[:, 0]) < 1e-3)])
    assert t_end == pytest.approx(m / d * math.log(1 + d * v / Fc), rel=2e-3)
    way = m * v / d - m * Fc / d**2 * math.log(1 + d * v / Fc)
    assert float(result.q[-1, 0]) == pytest.approx(way, abs=1e-5)


def stick_slip(Fs, Fc, k, m, V):
    """Period and largest spring force of a mass on a spring that is drawn at V: it sticks up to F_s, slips against F_c.

    Slip is a harmonic about F_c / k that begins (F_s - F_c) / k off, the spring growing at V; it ends where it began.
    """
    A, omega = (Fs - Fc) / k, math.sqrt(k / m)
    period = 2 * A / V + (2 * math.pi - 2 * math.atan(A * omega / V)) / omega
    return period, Fc + k * math.hypot(A, V / omega)


def stuck_and_slipped(rate, V, k, m, Fs, Fc):
    """Periods and the largest spring force; the belt's frame moves along, so that the drawn end has the rate."""
    rubs = fa.Friction(coulomb=Fc, static=Fs, stribeck_rate=rate, creep_rate=rate / 100)
    model = slider(m, link_friction=rubs, stiffness=k, rotor_inertia=1e6)
    result = run(model, 2.2, q0=[0, 0], qd0=[0, V], samples=22001, method="radau9")
    v, stretch = np.array(result.qd[:, 0]), np.array(result.q[:, 1] - result.q[:, 0])
    slips = np.array(result.time)[1:][(v[1:] > V) & (v[:-1] <= V)]
    # the rotor stands for a machine of 5 kJ: the drift is relative to that
    assert result.attrs["energy_drift"] < 1e-9
    return np.diff(slips), k * stretch.max()


def test_stick_and_slip_on_a_belt():
    """The closed form jumps from F_s to F_c; Stribeck's curve comes close to it as the square root of its rate."""
    V, k, m, Fs, Fc = 0.1, 100.0, 1.0, 3.0, 2.0
    period, peak = stick_slip(Fs, Fc, k, m, V)
    errors = []
    for rate in (4e-3, 1e-3, 2.5e-4):
        periods, most = stuck_and_slipped(rate, V, k, m, Fs, Fc)
        assert len(periods) >= 2
        assert np.ptp(periods) < 4e-4  # samples
        errors.append((np.mean(periods) / period - 1, most / peak - 1))
    errors = np.abs(errors)
    assert (errors[1:] < 0.65 * errors[:-1]).all()
    assert errors[-1] == pytest.approx([0, 0], abs=8e-3)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_what_sticks_creeps_no_faster_than_stated(share):
    """The smooth model's bound: v_c atanh(F / F_c); it is reached where there is no Stribeck."""
    bound = 1e-3 * math.atanh(share)
    plain = slider(friction=fa.Friction(coulomb=3.0))
    creep = run(plain, 1.0, u=[3.0 * share]).qd[-1, 0]
    assert float(creep) == pytest.approx(bound, rel=1e-6)
    higher = slider(friction=fa.Friction(coulomb=3.0, static=5.0, viscous=10.0))
    assert 0 < float(run(higher, 1.0, u=[3.0 * share]).qd[-1, 0]) < bound
    for forward, backward in ((3.0, 0.5), (0.5, 3.0)):
        either = slider(friction=fa.Friction(coulomb=Resistance(forward=forward, backward=backward)))
        fast = run(either, 2.0, u=[forward * share]).qd[-1, 0]
        assert 0 < float(fast) <= 1e-3 * math.atanh(math.sqrt(share)) * (1 + 1e-6)


def test_lugre_sticks_for_good():
    """Under 0.9 F_c the smooth model goes on, bristles give by F / sigma_0 and stay."""
    model = slider(friction=fa.Friction(coulomb=3.0, **BRISTLES))
    result = run(model, 20.0, u=[2.7], samples=201)
    q = np.array(result.q[:, 0])
    assert abs(q[-1] - q[100]) < 1e-8  # of the smooth model's 1.5e-3 a second
    assert float(result.drive_state[-1, 0]) == pytest.approx(2.7, rel=1e-6)


@pytest.mark.parametrize("viscous", [0.0, 5.0])
def test_presliding_has_the_stiffness_and_the_damping_of_bristles(viscous):
    """Of small motions: m x'' + (sigma_1 + d) x' + sigma_0 x = 0; and by the linear model's matrix."""
    m, k, c = 2.0, 1e4, 20.0
    rubs = fa.Friction(coulomb=50.0, viscous=viscous, model="lugre", bristle_stiffness=k, bristle_damping=c)
    model = slider(m, friction=rubs)
    v = 1e-6
    result = run(model, 0.5, q0=[0], qd0=[v], samples=501)
    decay, omega = (c + viscous) / (2 * m), math.sqrt(k / m)
    omega_d = math.sqrt(omega**2 - decay**2)
    t = np.array(result.time)
    exact = v / omega_d * np.exp(-decay * t) * np.sin(omega_d * t)
    np.testing.assert_allclose(result.q[:, 0], exact, atol=2e-4 * v / omega_d)
    poles = np.linalg.eigvals(model.linearize([0], [0], [0]).A)
    expected = [0.0, complex(-decay, omega_d), complex(-decay, -omega_d)]  # 0: where it sticks is all the same
    np.testing.assert_allclose(np.sort_complex(poles), np.sort_complex(expected), atol=1e-6 * omega)


def ramp(force, until=1.0):
    """A force that grows slowly, and stays."""
    return lambda t: [force * math.sin(math.pi / 2 * min(t / until, 1.0))]


@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
def test_what_sticks_has_given_way_by_a_logarithm(share):
    """Pulled slowly one way, dz/dx = 1 - sigma_0 z / F_c: x = -F_c / sigma_0 ln(1 - F / F_c), at first a spring."""
    damped = {**BRISTLES, "bristle_damping": 900.0}
    result = run(slider(friction=fa.Friction(coulomb=3.0, **damped)), 3.2, u=ramp(3.0 * share, 3.0))
    assert float(result.q[-1, 0]) == pytest.approx(-3.0 / 1e5 * math.log(1 - share), rel=3e-3)
    assert float(result.drive_state[-1, 0]) == pytest.approx(3.0 * share, rel=1e-4)


def test_steady_sliding_follows_the_curve_of_stribeck():
    """F(v) = sgn(v) [F_c + (F_s - F_c) exp(-(v / v_s)^2)] + d v, each way; LuGre's state is where it stays."""
    Fc, Fs = Resistance(forward=2.0, backward=1.5), Resistance(forward=3.0, backward=1.8)
    given = {"coulomb": Fc, "static": Fs, "stribeck_rate": 0.1, "viscous": Viscosity(forward=0.5, backward=0.7)}
    smooth = slider(friction=fa.Friction(creep_rate=1e-5, **given))
    lugre = slider(friction=fa.Friction(**BRISTLES, **given))
    for v in (-1.0, -0.1, -0.03, 0.02, 0.1, 0.4):
        way = "forward" if v > 0 else "backward"
        c, s, d = (getattr(each, way) for each in (Fc, Fs, given["viscous"]))
        steady = math.copysign(c + (s - c) * math.exp(-((v / 0.1) ** 2)), v)
        assert force(smooth, v) == pytest.approx(steady + d * v, rel=1e-9)
        assert force(lugre, v, s=[steady]) == pytest.approx(steady + d * v, rel=1e-9)
        assert lugre.damping_force([0], [v])[0] == pytest.approx(steady + d * v, rel=1e-9)
        assert smooth.damping_force([0], [v])[0] == pytest.approx(steady + d * v, rel=1e-9)
        rate = lugre.evaluate("state_rate", [0.0], [v], [0.0], s=[steady])
        assert rate[2] == pytest.approx(0, abs=1e-6)


def test_it_breaks_loose_at_the_static_force():
    """Drawn slowly by a spring, the mass goes at F_s; with a thousandth of it in hand."""
    Fs, Fc, k = 3.0, 2.0, 100.0
    rubs = fa.Friction(coulomb=Fc, static=Fs, stribeck_rate=0.01, **BRISTLES)
    model = slider(1.0, link_friction=rubs, stiffness=k, rotor_inertia=1e6, spring_damping=1.0)
    V = 0.02
    result = run(model, 1.8, q0=[0, 0], qd0=[0, V], samples=18001, method="radau9")
    spring = k * np.array(result.q[:, 1] - result.q[:, 0])
    loose = int(np.argmax(np.array(result.qd[:, 0]) > 0.5 * V))
    assert spring[loose] == pytest.approx(Fs, rel=0.03)  # it needs a while to come up to half of V
    assert float(result.drive_state[:, 0].max()) <= Fs * (1 + 1e-6)  # bristles never hold more: |b| <= F_s stays so


def test_load_in_the_gear_rubs():
    """The spring's force where there is one, else the actuator's."""
    stiff = slider(friction=fa.Friction(coulomb=1.0, load=0.2, creep_rate=1e-6))
    for u in (-7.0, 3.0):
        assert force(stiff, 0.5, u=u) == pytest.approx(1.0 + 0.2 * abs(u), rel=1e-9)
    elastic = slider(
        friction=fa.Friction(coulomb=1.0, load=0.2, creep_rate=1e-6), stiffness=50.0, rotor_inertia=2.0, gear_ratio=1.0
    )
    qdd = elastic.forward_dynamics([0.0, 0.3], [0.0, 0.5], [9.0])
    assert 2.0 * qdd[1] == pytest.approx(9.0 - 50 * 0.3 - (1.0 + 0.2 * 15.0), rel=1e-9)
    away = elastic.damping_force([0.0, 0.3], [0.0, 0.5])
    assert away[1] == pytest.approx(1.0 + 0.2 * 15.0, rel=1e-9)  # the spring is there when motors are away


def test_a_mass_on_a_slope_stays_up_to_the_angle_of_friction():
    m, Fs = 2.0, 4.0
    angle = math.asin(Fs / (m * G))
    for share, moves in ((0.97, False), (1.03, True)):
        rubs = fa.Friction(coulomb=3.0, static=Fs, stribeck_rate=0.01, **BRISTLES)
        loaded = [min(share, 0.99) * Fs]  # it has stood there: bristles carry what they can
        result = run(slider(m, slope=math.asin(share * math.sin(angle)), friction=rubs), 2.0, s0=loaded)
        assert (float(result.q[-1, 0]) > 0.1) == moves


def test_a_pendulum_loses_the_same_in_each_half_swing():
    """Coulomb's friction takes 2 F_c / (m g l) of the sine from every small swing: amplitudes fall in a line."""
    Fc, arm = 0.05, 1.5 * G * 0.4
    model = pendulum(fa.Friction(coulomb=Fc, creep_rate=1e-5))
    down = math.pi / 2
    result = run(model, 6.0, q0=[down + 0.1], samples=6001)
    q = np.array(result.q[:, 0]) - down
    turns = np.flatnonzero(np.diff(np.sign(result.qd[1:, 0])))[:4] + 1
    tops = np.abs(q[turns])
    np.testing.assert_allclose(-np.diff([0.1, *tops]), 2 * Fc / arm, rtol=5e-3)


# -- somebody else's integration ---------------------------------------------------------------------------------------


def test_lugre_against_an_integration_of_its_own_equations():
    """Canudas de Wit et al. 1995 in z, on a pendulum, by SciPy."""
    given = {
        "coulomb": Resistance(forward=0.5, backward=0.7),
        "static": Resistance(forward=0.8, backward=0.9),
        "viscous": 0.05,
    }
    s0, s1, vs, load = 500.0, 2.0, 0.1, 0.1
    rubs = fa.Friction(model="lugre", bristle_stiffness=s0, bristle_damping=s1, stribeck_rate=vs, load=load, **given)
    model = pendulum(rubs, inertia=0.01)
    J, torque = 0.02 + 1.5 * 0.4**2 + 0.01, 1.5 * G * 0.4
    Fc, Fs = given["coulomb"], given["static"]

    def rate(t, x):
        q, v, z = x
        u = 3.0 * math.sin(2 * t) + 1.0
        c, s = (Fc.forward, Fs.forward) if v > 0 else (Fc.backward, Fs.backward)
        g = c + (s - c) * math.exp(-((v / vs) ** 2)) + load * abs(u)
        z_dot = v - s0 * abs(v) / g * z
        return [v, (u + torque * math.cos(q) - s0 * z - s1 * z_dot - 0.05 * v) / J, z_dot]

    exact = solve_ivp(rate, (0, 4), [0.3, 0, 0], "LSODA", rtol=1e-11, atol=1e-13, t_eval=np.linspace(0, 4, 401))
    result = run(
        model,
        4.0,
        u=lambda t: [3.0 * math.sin(2 * t) + 1.0],
        q0=[0.3],
        samples=401,
        solver=fa.Solver(rtol=1e-10, atol=1e-12),
    )
    np.testing.assert_allclose(result.q[:, 0], exact.y[0], atol=1e-7)
    np.testing.assert_allclose(result.drive_state[:, 0], s0 * exact.y[2], atol=1e-5)
    assert result.attrs["energy_drift"] < 1e-7


ARMS = [*((seed, {}) for seed in range(4)), (8, {"telescope": True}), (9, {"telescope": True, "elastic": True})]
ARMS += [(10, {"elastic": True}), (11, {"rotor": "absolute"}), (12, {"rigid": True})]


@pytest.mark.parametrize(("seed", "options"), ARMS)
def test_arms_with_friction_in_all_joints_against_the_oracle(seed, options):
    """Acceleration, rates of bristles, power lost; motors there and away."""
    arm = random_drives(random_arm(seed, **options), seed)
    model, exact = fa.Model(arm), Lagrangian(arm.without_drives())
    q, qd, u = random_state(arm, seed)
    qd = qd * np.random.default_rng(seed).choice([0.02, 1.0], len(qd))  # sticking too
    s, w = random_signals(arm, seed)
    acting, rates, lost = rubbing(exact, arm, q, qd, s, u, w)
    M = exact.mass_matrix(q)
    qdd = np.linalg.solve(M, exact.B @ u + acting - exact.inverse_dynamics(q, qd, 0 * q))
    state = {"q": q, "qd": qd, "s": s, "u": u, "w": w}
    n, count = len(q), len(model.states)
    rate = quantity(model, "state_rate", state).ravel()
    scale = np.abs(qdd).max()
    np.testing.assert_allclose(rate[n : 2 * n], qdd, atol=1e-9 * scale)
    np.testing.assert_allclose(quantity(model, "forward_dynamics_dense", state).ravel(), qdd, atol=1e-9 * scale)
    np.testing.assert_allclose(rate[2 * n : 2 * n + count], rates, rtol=1e-9, atol=1e-9)
    supplied, gone = rate[-2:]
    assert supplied == pytest.approx(float((exact.B.T @ qd) @ u), rel=1e-9)
    assert gone == pytest.approx(lost + float(qd @ exact.D @ qd), rel=1e-9)


@pytest.mark.parametrize("seed", [0, 3])
def test_the_account_of_a_run_with_everything_on(seed):
    arm = random_drives(random_arm(seed, links=2), seed)
    model = fa.Model(arm)
    assert model.states
    w = {"w": random_signals(arm, seed)[1]} if model.exogenous else {}
    q0 = 0.5 * random_state(arm, seed)[0]
    result = run(model, 1.0, u=random_state(arm, seed)[2], q0=q0, **w)
    assert result.attrs["energy_drift"] < 1e-7
    assert float(result.dissipated[-1]) > 0.05


# -- brakes ------------------------------------------------------------------------------------------------------------


def test_a_brake_holds_up_to_its_force_and_slips_with_it_beyond():
    model = slider(brake=fa.Brake(holding=20.0))
    assert model.exogenous == ("slide.brake.engaged",)
    held = run(model, 6.0, u=ramp(18.0, 3.0), w=[1.0])
    q = np.array(held.q[:, 0])
    assert abs(q[-1] - q[700]) < 1e-8
    assert q[-1] == pytest.approx(-1e-3 * math.log(1 - 18.0 / 20.0), rel=0.02)  # and a little by its momentum
    slips = run(model, 5.0, u=[22.0], w=[1.0])
    late = np.array(slips.qd[500:, 0])
    assert (late[-1] - late[0]) / 2.5 == pytest.approx((22.0 - 20.0) / 2.0, rel=1e-3)
    free = run(model, 1.0, u=[2.0], w=[0.0])
    assert float(free.qd[-1, 0]) == pytest.approx(1.0, rel=1e-9)
    for result in (held, slips, free):
        assert result.attrs["energy_drift"] < 1e-7


def test_a_brake_that_lets_go_keeps_nothing():
    """Its bristles straighten, and what they held is lost."""
    model = slider(brake=fa.Brake(holding=20.0, bristle_stiffness=1e4, release_time=0.02))
    result = run(model, 0.2, u=[0.0], s0=[10.0], w=[0.0], qd0=[0.0])
    np.testing.assert_allclose(result.drive_state[:, 0], 10.0 * np.exp(-np.array(result.time) / 0.02), atol=1e-6)
    assert float(result.dissipated[-1]) == pytest.approx(10.0**2 / 2 / 1e4, rel=1e-3)
    assert float(np.abs(result.qd).max()) == 0.0


# -- what else is asked of an arm with friction ------------------------------------------------------------------------


def test_linear_models_have_the_slope_of_friction():
    rubs = fa.Friction(coulomb=3.0, creep_rate=0.01, viscous=1.0)
    A = slider(friction=rubs).linearize([0], [0.02], [0]).A
    slope = 3.0 / 0.01 / math.cosh(2.0) ** 2 + 1.0
    assert A[1, 1] == pytest.approx(-slope / 2.0, rel=1e-9)


def test_equilibrium_is_where_nothing_rubs_and_frequencies_are_of_what_slides():
    """Friction holds an arm anywhere within its force: the one equilibrium is that without it."""
    free, rubs = pendulum(fa.Friction()), pendulum(fa.Friction(coulomb=1.0, **BRISTLES))
    for one, other in zip(equilibrium(free, [0.4]), equilibrium(rubs, [0.4]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(free.frequencies([1.5], locked=False), rubs.frequencies([1.5], locked=False))
    u = equilibrium(rubs, [0.4])[1]
    stays = run(rubs, 2.0, u=u + 0.9, q0=[0.4])
    assert abs(float(stays.q[-1, 0]) - 0.4) < 1e-4  # held off by nearly F_c
    assert abs(float(stays.qd[-1, 0])) < 1e-8


def test_feed_forward_of_inverse_dynamics_overcomes_friction():
    """Of bristles, that of steady sliding: not sigma_1 v, which bristles at rest would add."""
    reference = fa.Quintic(start=(0.0,), end=(1.0,), duration=1.0)
    rubs = {"coulomb": 2.0, "viscous": 0.5}
    for kind in ({"creep_rate": 1e-3}, {"model": "lugre", "bristle_stiffness": 1e5, "bristle_damping": 300.0}):
        model = pendulum(fa.Friction(**rubs, **kind))
        result = run(model, 1.0, u=fa.RigidInverseDynamics(reference), method="radau9")
        assert float(result.q[-1, 0]) == pytest.approx(1.0, abs=0.03)


def test_passive_is_what_barabanov_and_ortega_ask():
    """sigma_1 (F_s - F_c) <= F_c d; the numbers of Canudas de Wit et al. (table I) break it, and give energy out."""
    paper = fa.Friction(
        coulomb=1.0,
        static=1.5,
        stribeck_rate=0.001,
        viscous=0.4,
        model="lugre",
        bristle_stiffness=1e5,
        bristle_damping=math.sqrt(1e5),
    )
    assert not paper.passive
    assert paper.replace(bristle_damping=0.8).passive
    assert paper.replace(static=None).passive
    assert fa.Friction(coulomb=1.0, static=2.0).passive
    for friction in (paper, paper.replace(bristle_damping=0.8)):
        model = slider(friction=friction)
        v, b = np.meshgrid(np.logspace(-4, 1, 30), np.linspace(-1.5, 1.5, 31))
        v, b = v.reshape(-1, 1), b.reshape(-1, 1)
        lost = model.evaluate("state_rate", 0 * v, v, 0 * v, s=b)[:, -1]
        assert (lost.min() >= 0) == friction.passive


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"coulomb": 1.0, "static": 0.5}, r"Friction: static is 0\.5; it must be at least coulomb, 1\.0"),
        (
            {"coulomb": {"forward": 1.0, "backward": 2.0}, "static": {"forward": 1.5, "backward": 1.5}},
            r"Friction: static is 1\.5; it must be at least coulomb, 2\.0",
        ),
        ({"model": "lugre", "coulomb": 1.0}, "Friction: bristle_stiffness is missing; the LuGre model needs it"),
        (
            {"model": "lugre", "bristle_stiffness": 1.0, "coulomb": {"forward": 1.0, "backward": 0.0}},
            r"Friction: coulomb is 0\.0; the LuGre model needs a positive value",
        ),
        (
            {"coulomb": 1.0, "static": 2.0, "creep_rate": 0.02},
            r"Friction: creep_rate is 0\.02; it must be less than stribeck_rate, 0\.01",
        ),
        ({"coulomb": {"forward": 1.0}}, r"Friction: coulomb\.backward is missing"),
        (
            {"coulomb": {"forward": -1.0, "backward": 0.0}},
            r"coulomb\.forward is -1\.0 N m or N; it must be zero or pos",
        ),
        ({"coulomb": "much"}, r"coulomb is 'much'; it must be a number in N m or N"),
        ({"viscous": -1.0}, r"viscous is -1\.0 N m s/rad or N s/m; it must be zero or positive"),
        ({"load": -0.1}, r"load is -0\.1; it must be zero or positive"),
    ],
)
def test_what_is_no_friction_is_refused_in_one_line(given, message):
    with pytest.raises(fa.DescriptionError, match=message) as refused:
        fa.Friction(**given)
    assert "\n" not in str(refused.value)


def test_breakaway_is_found_by_the_force_that_just_moves():
    """The force, reached slowly, under which a mass has moved 10 mm after 3 s: F_s of the LuGre model, by bisection."""
    damped = {**BRISTLES, "bristle_damping": 900.0}
    model = slider(friction=fa.Friction(coulomb=2.0, static=3.0, stribeck_rate=0.01, **damped))
    moved = lambda F: float(run(model, 3.0, u=ramp(F, 2.0), samples=2, method="radau9").q[-1, 0]) - 0.01  # noqa: E731
    assert brentq(moved, 2.5, 3.5, xtol=0.01) == pytest.approx(3.0, abs=0.03)


# -- which method ------------------------------------------------------------------------------------------------------


def stuck_and_driven(friction):
    """Three elastic joints with friction: driven, then let go."""
    drive = fa.Drive(friction=friction)
    joint = fa.Revolute(axis=(0, 1, 0), rotor_inertia=0.05, stiffness=400.0, spring_damping=0.5, drive=drive)
    body = fa.Beam(length=0.6, mass=1.0, EI=60.0, modes={"z": 1}, damping=0.01)
    links = [fa.Link(name=name, joint=joint, body=body) for name in ("one", "two", "three")]
    return fa.Model(fa.Arm(name="three", links=links, gravity=(0, 0, -G)))


@pytest.mark.parametrize(
    "kind",
    [{"creep_rate": 1e-5}, {"model": "lugre", "bristle_stiffness": 1e5, "bristle_damping": 100.0, "static": 2.5}],
)
def test_auto_sees_what_sticks_on_the_way(kind):
    """It begins sliding, where nothing is stiff; DOP853 alone takes some ten times as many evaluations."""
    model = stuck_and_driven(fa.Friction(coulomb=2.0, stribeck_rate=0.05, viscous=0.2, **kind))
    u = fa.Piecewise(times=[0.0, 0.5], values=[[25.0, 10.0, 4.0], [0.0, 0.0, 0.0]])
    given = {"u": u, "save": fa.SaveAt(keep=["q", "qd", "energy_error"]), "samples": 201}
    auto, plain = (run(model, 1.0, method=method, **given) for method in ("auto", "dop853"))
    assert "radau9" in auto.attrs["method"]
    assert auto.attrs["evaluations"] < 0.4 * plain.attrs["evaluations"]
    np.testing.assert_allclose(auto.q, plain.q, atol=1e-6)
    assert len(auto.time) == 201


# -- what has no states, and no closed form ----------------------------------------------------------------------------


def test_closed_forms_and_pages_say_what_they_do_not_follow():
    from flexarm.pictures.live import Live

    smooth, bristles = pendulum(fa.Friction(coulomb=0.1)).arm, pendulum(fa.Friction(coulomb=0.1, **BRISTLES)).arm
    with pytest.raises(
        fa.DescriptionError, match=r"equations: arm 'pendulum': link 'rod' has a drive .*without_drives"
    ):
        fa.equations(smooth)
    assert fa.equations(smooth.without_drives()).damping.is_zero_matrix
    with pytest.raises(fa.DescriptionError, match=r"play: arm 'pendulum': its drives have rod\.friction\.bristle"):
        Live(bristles, [0.0], [0.5])
    assert Live(bristles.without_drives(), [0.0], [0.5]).bearable
    live = Live(smooth, [0.0], [0.5])
    _, qdd, power = live.motion.function([0.3], [1.2], [0.7], [0, 0, 0], live.model.p)
    assert float(qdd) == pytest.approx(fa.Model(smooth).forward_dynamics([0.3], [1.2], [0.7])[0], rel=1e-12)
    np.testing.assert_allclose(np.array(power).ravel(), [0.7 * 1.2, 0.1 * 1.2, 0.0], rtol=1e-9)


def test_friction_is_identified_from_a_record():
    """Coulomb's, viscous and the static part of a pendulum's joint, from its angle with noise of 0.1 mrad."""
    true = {"coulomb": 0.3, "static": 0.45, "viscous": 0.05}
    kind = {"creep_rate": 0.01, "stribeck_rate": 0.2}
    times = np.linspace(0, 6, 1201)
    u = 2.5 * np.sin(1.3 * times) + 1.5 * np.sin(3.1 * times + 1)
    names = ["rod.drive.friction.coulomb", "rod.drive.friction.static", "rod.drive.friction.viscous"]
    made = pendulum(fa.Friction(**true, **kind), inertia=0.02)
    record = run(made, 6.0, u=fa.Table(times, u[:, None], kind="linear"), samples=1201)
    sensors = [fa.Encoder(coordinate="rod.joint", noise=1e-4)]
    data = fa.sensor_readings(sensors, made, record, seed=1).assign(u=(("time", "input"), u[:, None]))
    guess = pendulum(fa.Friction(coulomb=0.2, static=0.5, viscous=0.1, **kind), inertia=0.02)
    found = fa.identify(guess, data, names, outputs=sensors)
    for name, exact in zip(names, true.values(), strict=True):
        assert found.values[name] == pytest.approx(exact, abs=4 * found.errors[name])
        assert found.values[name] == pytest.approx(exact, rel=0.05)


def test_the_linear_model_of_what_slides_and_of_what_is_braked():
    """States of drives and the brake are part of the point: a held mass swings on the brake's stiffness."""
    held = slider(brake=fa.Brake(holding=20.0, bristle_stiffness=5e3, bristle_damping=10.0))
    poles = np.linalg.eigvals(held.linearize([0], [0], [0], w=[1.0]).A)
    assert np.abs(poles).max() == pytest.approx(math.sqrt(5e3 / 2.0), rel=1e-9)
    rubs = slider(friction=fa.Friction(coulomb=3.0, viscous=0.4, **BRISTLES))
    sliding = np.linalg.eigvals(rubs.linearize([0], [0.5], [0], s=[3.0]).A)
    assert np.sort(sliding.real)[-1] == pytest.approx(0.0, abs=1e-6)
    assert np.sort(np.abs(sliding))[1] == pytest.approx(
        0.4 / 2.0, rel=1e-6
    )  # its rate decays by viscous friction alone
    assert np.abs(sliding).max() == pytest.approx(1e5 * 0.5 / 3.0, rel=1e-6)  # bristles follow at once
