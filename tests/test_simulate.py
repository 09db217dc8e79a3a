"""Motions against closed forms, every solver, the energy audit, and every way a run can end early."""

import _thread
import itertools
import signal
import threading
import time

import numpy as np
import pytest
import xarray as xr
from scipy.special import ellipj, ellipk

import flexarm as fa
from flexarm.control import JointPD
from flexarm.errors import EnergyDrift
from flexarm.mechanics import quantities
from flexarm.simulation import methods, solvers
from flexarm.simulation import watch as progress

G = 9.81
RTOL, ATOL = 1e-8, 1e-10
GLOBAL = 100 * RTOL  # a local tolerance of RTOL, over a few periods
STEPS = {"rk4": 1e-3}
EXACT_METHODS = [name for name in solvers.names() if name not in ("euler", "midpoint", "rk3")]
"""Methods that are exact enough in few steps."""

ROD = fa.Rigid(length=0.8, mass=1.5)
INERTIA = 1.5 * 0.8**2 / 3  # of the rod about its end


def model(*links, gravity=(0.0, 0.0, 0.0), **arm):
    return fa.Model(fa.Arm(name="test", links=links, gravity=gravity, **arm))


def run(arm, until, samples=11, progress=False, **given):
    return fa.simulate(arm, until, samples=samples, progress=progress, **given)


@pytest.fixture(scope="module")
def pendulum():
    return model(fa.Link(name="rod", body=ROD), gravity=(0.0, -G, 0.0))


@pytest.fixture(scope="module")
def rotor():
    return model(fa.Link(name="rod", body=ROD))


@pytest.fixture(scope="module")
def canadarm():
    return fa.Model(fa.load("canadarm"))


def swing(t, amplitude):
    """Angle from the hanging position of the rod released at rest at `amplitude`."""
    k = np.sin(amplitude / 2)
    sn, cn, dn, _ = ellipj(np.sqrt(1.5 * G / 0.8) * t, k**2)
    return 2 * np.arcsin(k * cn / dn)


def start(amplitude):
    return [amplitude - np.pi / 2]


# -- closed forms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", EXACT_METHODS)
def test_pendulum_is_an_elliptic_function(pendulum, method):
    """Two and a half periods of a swing of 2 rad; methods of low order, whose steps are many, sum up more errors."""
    period = 4 * ellipk(np.sin(1.0) ** 2) / np.sqrt(1.5 * G / 0.8)
    result = run(
        pendulum,
        2.5 * period,
        q0=start(2.0),
        solver=fa.Solver(method=method, step=STEPS.get(method), rtol=RTOL, atol=ATOL),
    )
    error = result.q[:, 0] + np.pi / 2 - swing(result.time, 2.0)
    low = method.endswith(("radau5", "alpha"))
    assert abs(error).max() < (50 * GLOBAL if low else GLOBAL)
    assert result.attrs["method"] == method
    assert result.attrs["steps"] > 20
    assert result.attrs["evaluations"] > 20
    assert result.attrs["energy_drift"] < 20 * GLOBAL


def test_beam_vibrates_in_its_mode():
    EI, mass, length = 3.0, 0.4, 0.7
    beam = model(fa.Link(name="b", joint=fa.Fixed(), body=fa.Beam(length=length, mass=mass, EI=EI, modes={"y": 1})))
    omega = 1.8751040687119611**2 * np.sqrt(EI / (mass * length**3))
    result = run(beam, 20 / omega, q0=[0.01], samples=101)
    assert (result.q[:, 0]).values == pytest.approx(0.01 * np.cos(omega * result.time.values), abs=0.01 * GLOBAL)
    assert (result.qd[:, 0]).values == pytest.approx(
        -0.01 * omega * np.sin(omega * result.time.values), abs=0.01 * omega * GLOBAL
    )
    assert (result.deflection.sel(link="b", axis="y")).values == pytest.approx(result.q[:, 0].values)
    assert result.sizes["input"] == 0


def test_modal_damping_is_that_of_an_oscillator():
    zeta = 0.05
    body = fa.Beam(length=1.0, mass=1.0, EI=2.0, modes={"y": 1}, damping=zeta)
    beam = model(fa.Link(name="b", joint=fa.Fixed(), body=body))
    omega = beam.frequencies(np.zeros(1))[0]
    damped = omega * np.sqrt(1 - zeta**2)
    result = run(beam, 3.0, q0=[0.01])
    t = result.time.values
    expected = np.exp(-zeta * omega * t) * (np.cos(damped * t) + zeta * omega / damped * np.sin(damped * t))
    assert (result.q[:, 0]).values == pytest.approx(0.01 * expected, abs=0.01 * GLOBAL)


def test_free_fall():
    slide = model(fa.Link(name="s", joint=fa.Prismatic(axis=(0, 1, 0)), body=ROD), gravity=(0.0, -G, 0.0))
    result = run(slide, 2.0, qd0=[3.0])
    t = result.time.values
    assert (result.q[:, 0]).values == pytest.approx(3 * t - G * t**2 / 2, abs=1e-12)
    assert (result.potential - result.potential[0]).values == pytest.approx(1.5 * G * result.q[:, 0].values, abs=1e-11)
    assert result.kinetic.values == pytest.approx(0.5 * 1.5 * result.qd[:, 0].values ** 2)
    assert result.unit.values.tolist() == ["m"]


def test_bearing_takes_what_the_rotor_loses():
    d = 0.3
    braked = model(fa.Link(name="rod", joint=fa.Revolute(damping=d), body=ROD))
    result = run(braked, 2.0, qd0=[4.0])
    t = result.time.values
    rate = 4 * np.exp(-d / INERTIA * t)
    assert (result.qd[:, 0]).values == pytest.approx(rate, rel=GLOBAL)
    assert (result.q[:, 0]).values == pytest.approx((4 - rate) * INERTIA / d, abs=GLOBAL)
    assert result.dissipated.values == pytest.approx(INERTIA / 2 * (16 - rate**2), abs=GLOBAL)
    assert not result.work.any()


def test_elastic_joint_is_two_inertias_on_a_spring():
    k, J, a = 50.0, 0.02 * 3.0**2, 0.4
    joint = fa.Revolute(rotor_inertia=0.02, gear_ratio=3.0, stiffness=k)
    arm = model(fa.Link(name="rod", joint=joint, body=ROD))
    result = run(arm, 2.0, q0=[0.0, a])
    omega, total = np.sqrt(k * (1 / INERTIA + 1 / J)), INERTIA + J
    c = np.cos(omega * result.time.values)
    assert result.q.sel(coordinate="rod.joint").values == pytest.approx(a * J / total * (1 - c), abs=GLOBAL)
    assert result.q.sel(coordinate="rod.motor").values == pytest.approx(a * (J + INERTIA * c) / total, abs=GLOBAL)
    assert result.potential[0].values == pytest.approx(k * a**2 / 2)


def test_constant_torque_does_work(rotor):
    result = run(rotor, 2.0, u=3.0)
    t = result.time.values
    assert (result.q[:, 0]).values == pytest.approx(3 / INERTIA * t**2 / 2, abs=1e-12)
    assert result.work.values == pytest.approx(9 / INERTIA * t**2 / 2, abs=1e-11)
    assert result.power.values == pytest.approx(9 / INERTIA * t, abs=1e-11)
    assert result.u.values.tolist() == [[3.0]] * 11


# -- convergence -------------------------------------------------------------------------------------------------------


def test_rk4_is_of_order_four(pendulum):
    def error(step):
        result = run(pendulum, 1.6, q0=start(2.0), solver=fa.Solver(method="rk4", step=step), samples=2)
        return abs(float(result.q[-1, 0]) + np.pi / 2 - swing(1.6, 2.0))

    errors = np.array([error(step) for step in (0.02, 0.01, 0.005, 0.0025)])
    assert np.log2(errors[:-1] / errors[1:]) == pytest.approx(4, abs=0.25)


def test_rk4_takes_equal_steps_between_samples(pendulum):
    result = run(
        pendulum, 1.0, q0=start(1.0), solver=fa.Solver(method="rk4", step=0.03), samples=11
    )  # 0.1 is four steps of 0.025
    assert result.attrs["steps"] == 40
    assert result.attrs["evaluations"] == 160
    assert result.attrs["step"] == 0.03
    assert run(pendulum, 1.0, solver=fa.Solver(method="rk4", step=0.1), samples=11).attrs["steps"] == 10
    assert (
        run(pendulum, 3.3, solver=fa.Solver(method="rk4", step=1e-3), samples=2).attrs["steps"] == 3300
    )  # more than a look's worth


@pytest.mark.parametrize("method", ["dop853", "vern7", "vern8", "tsit5", "rk45", "radau5"])
def test_error_falls_with_the_tolerance(pendulum, method):
    errors = [
        abs(
            float(run(pendulum, 2.0, q0=start(2.0), solver=fa.Solver(method=method, rtol=r, atol=r)).q[-1, 0])
            + np.pi / 2
            - swing(2.0, 2.0)
        )
        for r in (1e-4, 1e-7, 1e-10)
    ]
    assert errors[1] < errors[0] / 20 and errors[2] < errors[1] / 20


def test_absolute_tolerance_counts(pendulum):
    few, many = (
        run(pendulum, 1.0, q0=start(2.0), solver=fa.Solver(rtol=1e-12, atol=a)).attrs["steps"] for a in (1e-2, 1e-12)
    )
    assert few < many / 2


# -- energy ------------------------------------------------------------------------------------------------------------


def test_canadarm_slew_keeps_its_energy(canadarm):
    reference = fa.Cycloidal((0.075, 0.05, 0.1), (10, 5, 5))
    result = run(canadarm, 10.0, u=fa.RigidInverseDynamics(reference), reference=reference, samples=101, rtol=1e-8)
    assert result.attrs["energy_drift"] < 1e-7
    assert result.attrs["energy_scale"] > 100
    joints = [name for name in canadarm.coordinates if name.endswith(".joint")]
    assert abs(result.q.sel(coordinate=joints).values - result.q_ref.values).max() < 0.04, "Mohan & Saha, Fig. 4"
    assert result.q_ref[-1].values == pytest.approx([0.75, 0.5, 1.0])
    power = np.einsum("ti,ti->t", result.u.values, result.qd.sel(coordinate=joints).values)
    assert result.power.values == pytest.approx(power)
    assert np.trapezoid(power, result.time) == pytest.approx(float(result.work[-1]), rel=1e-3)


def test_audit_covers_gravity_damping_springs_and_work():
    body = fa.Beam(length=0.6, mass=0.5, EI=4.0, modes={"y": 1, "z": 1}, damping=0.02)
    joint = fa.Revolute(
        axis=(0, 1, 0), rotor_inertia=0.01, gear_ratio=4.0, stiffness=30.0, damping=0.1, spring_damping=0.02
    )
    arm = model(
        fa.Link(name="a", joint=joint, body=body),
        fa.Link(name="b", joint=fa.Revolute(damping=0.1), body=ROD),
        gravity=(1.0, 2.0, -9.0),
    )
    result = run(arm, 1.0, u=lambda t: [2 * np.sin(5 * t), 1.0], samples=101, solver=fa.Solver(rtol=1e-10, atol=1e-12))
    assert result.attrs["energy_drift"] < 1e-9
    for name in ("kinetic", "work", "dissipated"):
        assert abs(result[name]).max() > 0.1
    balance = result.kinetic + result.potential - result.work + result.dissipated
    assert result.energy_error.values == pytest.approx((balance - balance[0]).values, abs=1e-14)


def test_audit_sees_a_coarse_step(pendulum):
    result = run(pendulum, 5.0, q0=start(2.5), solver=fa.Solver(method="rk4", step=0.1), samples=51)
    assert result.attrs["energy_drift"] > 1e-4


@pytest.mark.parametrize("wrong", ["power", "loss", "acceleration"])
def test_audit_sees_wrong_equations(wrong, tmp_path, monkeypatch):
    right = quantities.state_rate

    def state_rate(chain, q, qd, s, u, w):
        *rates, power, loss = right(chain, q, qd, s, u, w)
        if wrong == "power":
            power = power * 0.99
        elif wrong == "loss":
            loss = loss * 0.99
        else:
            rates[-1] = rates[-1] * 0.99
        return [*rates, power, loss]

    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))
    monkeypatch.setattr(quantities, "state_rate", state_rate)
    arm = model(fa.Link(name="rod", joint=fa.Revolute(damping=1.0), body=ROD), gravity=(0.0, -G, 0.0))
    with pytest.warns(EnergyDrift, match=r"the energy balance has an error of 0\.00\d+ of the 112 J"):
        assert run(arm, 1.0, u=10.0).attrs["energy_drift"] > 1e-4


def test_an_arm_at_rest_has_no_drift(rotor):
    result = run(rotor, 1.0)
    assert result.attrs["energy_drift"] == result.attrs["energy_scale"] == 0


# -- the choice of a method --------------------------------------------------------------------------------------------


def stiff_arm(EI, ratio=0.0):
    body = fa.Beam(length=1.0, mass=1.0, EI=EI, modes={"y": 2}, damping=ratio)
    return model(fa.Link(name="upper", body=body), fa.Link(name="fore", body=ROD))


def test_auto_is_explicit_for_a_soft_arm():
    result = run(stiff_arm(10.0), 0.1, method="auto", u=[0.1, 0.1])
    assert result.attrs["method"] == "dop853"
    assert "rad/s" in result.attrs["method_reason"]


def test_auto_is_implicit_for_a_stiff_arm():
    """Fast modes that are damped out at once: the torque moves the joints slowly."""
    arm = stiff_arm(1e12, ratio=0.5)
    result = run(arm, 1.0, method="auto", u=[0.1, 0.1])
    assert result.attrs["method"] == "radau9"
    assert "eigenvalue" in result.attrs["method_reason"] and "radau9 for 1 s" in result.attrs["method_reason"]
    assert result.attrs["evaluations"] < 10_000
    rigid = run(fa.Model(arm.arm.rigid()), 1.0, u=[0.1, 0.1])
    joints = list(rigid.coordinate.values)
    assert result.q.sel(coordinate=joints).values == pytest.approx(rigid.q.values, abs=1e-6)


def test_auto_leaves_the_implicit_method_when_it_falls_behind():
    """An undamped mode swings all the time: nobody can step over it, and explicit steps are cheaper."""
    arm, q0 = stiff_arm(1e6), [0.0, 0.0, 1e-4, 0.0]
    explicit, found = (
        run(arm, 1.0, solver=fa.Solver(method=method, rtol=1e-6, atol=1e-10), q0=q0) for method in ("dop853", "auto")
    )
    assert found.attrs["method"] == "radau9, dop853"
    behind = found.attrs["method_reason"].rpartition("then it was slower: dop853 for ")[2].split()[0]
    assert 0.8 < float(behind) < 1.0
    assert found.attrs["evaluations"] < 1.2 * explicit.attrs["evaluations"]
    assert found.q.values == pytest.approx(explicit.q.values, abs=1e-6)
    assert found.attrs["energy_drift"] < 1e-3


def test_auto_begins_anew_at_every_jump():
    """What is ahead in one stretch need not be in the next."""
    arm = stiff_arm(1e6, ratio=0.2)
    torque = fa.Piecewise([0.0, 0.3, 0.5], [[0.1, 0.1], [-0.2, 0.0], [0.0, 0.0]])
    explicit, found = (run(arm, 1.0, method=method, u=torque, rtol=1e-6) for method in ("dop853", "auto"))
    assert found.attrs["method"].startswith("radau9")
    assert found.attrs["evaluations"] < 0.5 * explicit.attrs["evaluations"]
    assert found.q.values == pytest.approx(explicit.q.values, abs=1e-6)


def test_auto_does_not_try_where_every_mode_has_to_be_followed():
    """A tight tolerance: no residual is compiled for a run of a few milliseconds."""
    arm = stiff_arm(1e6, ratio=0.2)
    loose, tight = (run(arm, 0.2, u=[0.1, 0.1], rtol=rtol).attrs["method"] for rtol in (1e-6, 1e-8))
    assert (loose, tight) == ("radau9", "dop853")


@pytest.mark.parametrize("law", [False, True])
def test_the_spectrum_is_that_of_the_linearised_arm(law):
    """With whatever drives it."""
    arm, u, gains = stiff_arm(10.0, ratio=0.3), [0.0, 0.0], np.zeros((4, 8))
    if law:
        u = JointPD(fa.Quintic((0.0, 0.0), (0.1, 0.1), 1.0), Kp=1e6, Kd=1.0)
        gains = np.zeros((2, 8))
        gains[[0, 1], [0, 1]], gains[[0, 1], [4, 5]] = 1e6, 1.0
        gains = arm.input_matrix(np.zeros(4)) @ gains
    system = arm.linearize(np.zeros(4), np.zeros(4), np.zeros(2))
    A = system.A.copy()
    A[4:] -= np.linalg.solve(arm.mass_matrix(np.zeros(4)), gains)
    fastest = abs(np.linalg.eigvals(A)).max()
    said = run(arm, 0.01, u=u, method="auto").attrs["method_reason"]
    assert float(said.removeprefix("fastest eigenvalue ").split()[0]) == pytest.approx(fastest, rel=0.1)


def test_a_spectral_radius_damps_what_is_fast():
    """A mode that swings 500 times in a step; at 1 its energy stays, to rounding. It belongs to one method."""
    arm, q0 = stiff_arm(1e8), [0.0, 0.0, 1e-7, 0.0]
    energies = []
    for radius in (1.0, 0.8, 0.0):
        result = run(arm, 0.1, solver=fa.Solver(method="generalized-alpha", step=1e-3, spectral_radius=radius), q0=q0)
        energies.append((result.kinetic + result.potential).values)
    assert energies[0] == pytest.approx(energies[0][0], rel=1e-6)
    assert 1e-30 < energies[1][-1] < 1e-10 * energies[0][0]
    assert energies[2][1] < 1e-10 * energies[0][0]
    only = "it must be from 0 to 1, and applies only to the method 'generalized-alpha'"
    for radius, method, message in (
        (1.5, "generalized-alpha", f"spectral_radius is 1.5; {only}"),
        ("x", "generalized-alpha", "spectral_radius is 'x'; it must be a number"),
        (0.5, "gauss4", f"spectral_radius is 0.5; {only}"),
        (0.5, "auto", f"spectral_radius is 0.5; {only}"),
    ):
        with pytest.raises(fa.DescriptionError) as caught:
            fa.Solver(method=method, spectral_radius=radius)
        assert str(caught.value) == f"Solver: {message}"


def test_a_method_asked_for_is_kept(pendulum):
    attrs = run(pendulum, 0.1, method="radau5").attrs
    assert (attrs["method"], attrs["method_reason"]) == ("radau5", "as asked")


@pytest.mark.parametrize(("former", "now"), solvers.FORMER.items())
def test_former_methods_warn_and_are_replaced(pendulum, former, now):
    said = f"method '{former}' is deprecated; '{now}' takes its place"
    with pytest.warns(DeprecationWarning, match=said) as caught:
        fa.Solver(method=former)
    assert caught[0].filename == __file__, "Python shows it for a line of the user's program only"
    with pytest.warns(DeprecationWarning, match=said) as caught:
        result = fa.simulate(pendulum, 0.1, method=former, progress=False)
    assert caught[0].filename == __file__
    assert result.attrs["method"] == (now if now != "auto" else "dop853")


# -- what comes out ----------------------------------------------------------------------------------------------------


def test_samples_are_a_uniform_grid_with_both_ends(pendulum):
    for samples, until in ((2, 0.3), (7, 1.0), (1001, 0.1)):
        result = run(pendulum, until, samples=samples)
        np.testing.assert_array_equal(result.time, np.linspace(0, until, samples))
        assert result.attrs["status"] == "completed"


def test_samples_between_the_steps_are_as_good_as_the_steps(pendulum):
    result = run(pendulum, 1.5, q0=start(2.0), samples=1001)
    assert result.attrs["steps"] < 200
    assert (result.q[:, 0] + np.pi / 2).values == pytest.approx(swing(result.time.values, 2.0), abs=GLOBAL)


def test_the_start_is_the_state_given(canadarm):
    q0, qd0 = np.linspace(0.01, 0.09, 9), np.linspace(-0.1, 0.1, 9)
    result = run(canadarm, 0.01, q0=q0, qd0=qd0, samples=2)
    np.testing.assert_array_equal(result.q[0], q0)
    np.testing.assert_array_equal(result.qd[0], qd0)


def test_quantities_beside_the_state_are_the_models(canadarm):
    result = run(canadarm, 0.1, qd0=np.linspace(-0.1, 0.1, 9), samples=3)
    q, qd = result.q.values, result.qd.values
    kinetic, potential = canadarm.energy(q, qd)
    assert result.kinetic.values == pytest.approx(kinetic)
    assert result.potential.values == pytest.approx(potential)
    np.testing.assert_allclose(result.tip, canadarm.tip(q)[:, :3, 3], rtol=1e-12, atol=1e-12)
    bent = canadarm.deflections(q)
    np.testing.assert_allclose(result.deflection, bent[..., :3], atol=1e-14)
    np.testing.assert_allclose(result.tip_angle, bent[..., 3:], atol=1e-14)


def test_names_units_and_attributes(canadarm):
    result = run(canadarm, 0.01, samples=2, name="a run", solver=fa.Solver(rtol=1e-6, atol=1e-7))
    assert isinstance(result, xr.Dataset)
    assert tuple(result.coordinate.values) == canadarm.coordinates
    assert tuple(result.input.values) == canadarm.inputs
    assert result.link.values.tolist() == ["upper", "fore", "hand"]
    assert result.time.attrs["units"] == "s" and result.kinetic.attrs["units"] == "J"
    assert all("units" in result[name].attrs for name in result.data_vars)
    assert result.unit.values.tolist() == ["rad"] * 3 + ["m"] * 6
    a = result.attrs
    assert fa.Arm.from_json(a["arm"]) == canadarm.arm
    assert (a["name"], a["rtol"], a["atol"]) == ("a run", 1e-6, 1e-7)
    assert a["input_description"] == "none"
    assert a["flexarm_version"] == fa.__version__
    assert run(canadarm, 0.01, samples=2).attrs["name"] == "canadarm"


def test_two_runs_at_once_do_not_disturb_each_other(pendulum):
    results = {}

    def work(amplitude):
        results[amplitude] = run(pendulum, 2.0, q0=start(amplitude))

    threads = [threading.Thread(target=work, args=(a,)) for a in (0.5, 1.0, 1.5, 2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for amplitude, result in results.items():
        assert (result.q[:, 0] + np.pi / 2).values == pytest.approx(swing(result.time.values, amplitude), abs=GLOBAL)
    assert len(results) == 4


# -- runs that end early -----------------------------------------------------------------------------------------------


def failure(*given, **options):
    with pytest.raises(fa.SimulationError) as caught:
        run(*given, **options)
    line = str(caught.value)
    assert line.isprintable() and line, "a message is one line"
    assert caught.value.result.attrs["status"] == line
    return line, caught.value.result


def moment(line):
    """The time in a message."""
    return float(line.partition("t = ")[2].split(" ")[0])


@pytest.mark.parametrize("method", EXACT_METHODS)
def test_a_motion_that_grows_without_bound_is_cut_off(rotor, method):
    """Negative damping of 12 / s: from 1 rad/s the rate is 1e12 rad/s at t = 2.3 s."""
    asked = []

    def push(t, q, qd):
        asked.append(abs(qd[0]))
        return 12 * INERTIA * qd

    line, result = failure(
        rotor, 10.0, qd0=[1.0], u=push, solver=fa.Solver(method=method, step=STEPS.get(method), rtol=1e-4)
    )
    assert "diverged" in line and "rod.joint" in line
    assert 1.2 < moment(line) < 3.1
    assert result.time.values.tolist() == [0, 1, 2]
    assert np.isfinite(result.q).all() and np.isfinite(result.energy_error).all()
    assert result.qd[1, 0].values == pytest.approx(np.exp(12), rel=0.01)
    assert max(asked) < 1e12, "a function is not asked about what is no motion"


def test_a_motion_that_has_diverged_is_not_followed_for_hours(pendulum):
    """So fast a pendulum would take 1e18 steps to the next sample."""
    line, result = failure(pendulum, 1e6, qd0=[2e12], samples=2)
    assert line.startswith("diverged by t = ") and "the rate of rod.joint reached 2e+12" in line
    assert result.sizes["time"] == 1


def test_a_step_too_long_is_said(canadarm):
    """RK4 is stable to |h omega| = 2.8; the first sample lies 1000 steps and more ahead."""
    line, result = failure(canadarm, 100.0, u=[10, 0, 0], solver=fa.Solver(method="rk4", step=0.01), samples=3)
    assert "diverged" in line and "a step of 0.01 s is too long" in line
    assert any(name in line for name in canadarm.coordinates)
    assert 0 < moment(line) < 50
    assert result.sizes["time"] == 1
    moments = {
        moment(failure(canadarm, 100.0, u=[10, 0, 0], solver=fa.Solver(method="rk4", step=0.01), samples=n)[0])
        for n in (11, 6)
    }
    assert moments == {moment(line)}, "when is found out to the step"


@pytest.mark.parametrize("method", ["dop853", "radau5", "vern7", "tsit5"])
def test_a_tolerance_that_cannot_be_met(pendulum, method):
    def pole(t):  # of the acceleration, so weak that the rate hardly grows before steps are as short as rounding
        return 1 / (abs(0.5 - t) + 1e-200) ** 1.2

    line, result = failure(pendulum, 1.0, u=pole, method=method, samples=11)
    assert "the solver could not meet the tolerance at t = 0.5 s" in line and "the acceleration of rod.joint is" in line
    assert result.sizes["time"] == 5


def test_a_budget_that_is_used_up_is_not_a_tolerance_that_cannot_be_met(pendulum, monkeypatch):
    """The same law needs no more than some thousand evaluations between its samples."""
    monkeypatch.setattr(methods, "MOST_EVALUATIONS", 100)
    u = fa.control.Sampled(lambda t, q, qd: [np.sin(t)], 0.5)
    line, _ = failure(pendulum, 1.0, u=u, method="rk45", samples=11)
    assert line.startswith("the solver used up its evaluations at t = ") and "(more than 1e+02 evaluations" in line
    assert line.endswith("; use a larger rtol, or method 'radau5'") and "tolerance" not in line
    monkeypatch.undo()
    assert run(pendulum, 1.0, u=u, method="rk45", samples=11).attrs["status"] == "completed"


@pytest.mark.parametrize("method", EXACT_METHODS)
def test_nan_from_a_function(rotor, method):
    def broken(t):
        return np.nan if t > 0.55 else 1.0

    line, result = failure(rotor, 1.0, u=broken, solver=fa.Solver(method=method, step=STEPS.get(method)))
    assert line.startswith("input broken gave nan for rod.joint at t = ")
    assert 0.55 < moment(line) < 1.1
    assert 1 <= result.sizes["time"] <= 6, "a solver that takes long steps has fewer samples before"
    assert (result.q[:, 0]).values == pytest.approx(result.time.values**2 / 2 / INERTIA, abs=1e-6)
    assert np.isfinite(result.u).all()


def test_nan_from_the_first(rotor):
    line, result = failure(rotor, 1.0, u=lambda t: np.inf)
    assert "inf for rod.joint at t = 0 s" in line
    assert result.sizes["time"] == 1


def test_nan_that_no_step_meets_is_only_in_the_result(rotor):
    """The motion is whole, but a result that is called completed has no NaN."""
    line, result = failure(rotor, 1.0, u=lambda t: np.nan if abs(t - 0.5) < 1e-12 else 0.0)
    assert line == "the motion is complete, but u of rod.joint is nan at t = 0.5 s"
    assert np.flatnonzero(np.isnan(result.u[:, 0])).tolist() == [5]
    assert result.attrs["status"] == line


@pytest.mark.parametrize("method", ["dop853", "radau9", "rk4"])
def test_wrong_shape_from_a_function(canadarm, method):
    def two(t, q, qd):
        return [1.0, 2.0] if t > 0.05 else [0.0, 0.0, 0.0]

    line, result = failure(canadarm, 0.1, u=two, solver=fa.Solver(method=method, step=STEPS.get(method)))
    assert line.startswith("input two gave shape (2,) at t = 0.0")
    assert 0.05 < moment(line) < 0.1
    assert line.endswith("upper.joint, fore.joint, hand.joint")
    assert 1 <= result.sizes["time"] <= 6


def test_no_number_from_a_function(rotor):
    line, _ = failure(rotor, 1.0, u=lambda t: "much")
    assert "'much'" in line and "at t = 0 s" in line


@pytest.mark.parametrize("method", ["dop853", "vern8", "radau5", "rk4"])
def test_what_a_function_raises_comes_out(rotor, method):
    class Unplugged(Exception):
        pass

    def motor(t):
        if t > 0.5:
            raise Unplugged("the plug")
        return 0.0

    with pytest.raises(Unplugged, match="the plug") as caught:
        run(rotor, 1.0, u=motor, solver=fa.Solver(method=method, step=STEPS.get(method)))
    note = caught.value.__notes__[0]
    assert "input motor" in note and 0.5 < moment(note) <= 1


def test_what_a_progress_function_raises_comes_out_and_the_run_ends(canadarm):
    def report(t):
        raise LookupError("no screen")

    before = threading.enumerate()
    with pytest.raises(LookupError):
        run(canadarm, 1e5, progress=report, u=[1.0, 0, 0])
    for thread in threading.enumerate():
        if thread not in before:
            thread.join()  # ends


def test_an_arm_without_inertia():
    line = "no inertia resists the acceleration of rod.joint"
    slender = model(fa.Link(name="rod", joint=fa.Revolute(axis=(1, 0, 0)), body=ROD))
    for method in ("dop853", "auto"):
        with pytest.raises(fa.DescriptionError, match=line):
            run(slender, 1.0, u=1.0, method=method)
    roll = fa.Link(name="rod", joint=fa.Revolute(axis=(1, 0, 0)), body=ROD)
    turned = model(fa.Link(name="base", body=ROD, placement=fa.Pose(rpy=(0.3, 0.2, 0.1))), roll)
    with pytest.raises(fa.FlexarmError, match=line):
        run(turned, 1.0, u=1.0)


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def default_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_when(reached):
    """A progress function that presses Ctrl-C, once, when the run has come so far."""
    pressed = []

    def look(t):
        if t > reached and not pressed:
            pressed.append(t)
            _thread.interrupt_main()

    return look


LONG = 1e6


@pytest.mark.parametrize("method", ["dop853", "vern7", "radau5", "rk4"])
@pytest.mark.usefixtures("default_handler")
def test_ctrl_c_keeps_what_was_computed(pendulum, method):
    with pytest.warns(UserWarning, match=r"interrupted at t = .* s of 1e\+06 s"):
        result = run(
            pendulum,
            LONG,
            1_000_001,
            q0=start(1.0),
            solver=fa.Solver(method=method, step=STEPS.get(method)),
            progress=interrupt_when(3),
        )
    assert result.attrs["status"] == "interrupted"
    assert 2 <= result.time[-1] < LONG
    np.testing.assert_array_equal(result.time, np.arange(result.sizes["time"]))
    assert (result.q[:3, 0] + np.pi / 2).values == pytest.approx(swing(np.arange(3.0), 1.0), abs=1e-5)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("default_handler")
def test_ctrl_c_between_many_jumps(rotor):
    """The runs from jump to jump are shorter than any wait: it comes at any moment after a first report."""
    times = np.arange(0, 1e5, 0.5)
    torque = fa.Piecewise(times, np.where(np.arange(len(times)) % 2, -1.0, 1.0))
    timers = []

    def started(t):
        if t > 3 and not timers:
            timers.append(threading.Timer(0.03, _thread.interrupt_main))
            timers[0].start()

    with pytest.warns(UserWarning, match="interrupted"):
        result = run(rotor, 1e5, 100_001, u=torque, progress=started)
    assert 1 < result.sizes["time"] < 100_001
    assert (result.qd[:, 0]).values == pytest.approx(0, abs=1e-8), "every second jump brings it to rest"


def test_a_handler_of_somebody_elses_is_left_alone(pendulum):
    calls = []

    def handler(number, frame):
        calls.append(signal.getsignal(signal.SIGINT))
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.warns(UserWarning, match="interrupted"):
            result = run(pendulum, LONG, 1_000_001, progress=interrupt_when(1))
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls == [handler]
    assert result.sizes["time"] > 1


@pytest.mark.usefixtures("default_handler")
def test_a_second_ctrl_c_is_as_always(rotor):
    """The function that gives u hangs; the first Ctrl-C waits for it, the second does not."""
    released, main = threading.Event(), threading.main_thread().ident

    def twice():
        handler = signal.getsignal(signal.SIGINT)
        signal.pthread_kill(main, signal.SIGINT)
        while not handler.came:
            time.sleep(0.01)
        signal.pthread_kill(main, signal.SIGINT)

    hand = threading.Thread(target=twice)

    def hanging(t):
        if not hand.ident:  # its first call
            hand.start()
        released.wait()
        return 0.0

    with pytest.raises(KeyboardInterrupt):
        run(rotor, 1.0, u=hanging)
    hand.join()
    released.set()


# -- progress ----------------------------------------------------------------------------------------------------------


def test_progress_is_told_the_time(pendulum):
    told = []

    def slow(t):
        time.sleep(2e-4)
        return 0.0

    run(pendulum, 20.0, u=slow, q0=start(1.0), progress=told.append)
    assert told and all(0 <= t <= 21 for t in told)
    assert all(a <= b + 1 for a, b in itertools.pairwise(told))


class Terminal:
    """A stderr that says it is a terminal."""

    def __init__(self, is_one):
        self.is_one, self.text = is_one, ""

    def isatty(self):
        return self.is_one

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize(
    ("seconds", "is_terminal", "shown"), [(0.5, True, False), (1.5, True, True), (1.5, False, False)]
)
def test_bar_appears_after_a_second_and_on_a_terminal_only(seconds, is_terminal, shown, monkeypatch):
    now = [100.0]
    terminal = Terminal(is_terminal)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress.sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    bar = progress.Bar(10.0, "my arm")
    now[0] += seconds
    bar(3.5)
    bar(4.25)
    bar.close()
    assert ("my arm" in terminal.text and "4.250 of 10 s" in terminal.text) == shown
    assert bool(terminal.text) == shown


# -- what cannot be asked ----------------------------------------------------------------------------------------------

WRONG = [
    ({"until": 0}, "until is 0.0 s; it must be positive"),
    ({"until": -1}, "until is -1.0 s; it must be positive"),
    ({"until": float("nan")}, "until is nan s; it must be finite"),
    ({"until": "1"}, "until is '1'; it must be a number in s"),
    ({"samples": 0}, "samples is 0; it must be a whole number, at least 2"),
    ({"samples": 1}, "samples is 1; it must be a whole number, at least 2"),
    ({"samples": 10.5}, "samples is 10.5; it must be a whole number, at least 2"),
    ({"samples": float("nan")}, "samples is nan; it must be finite"),
    ({"method": "leapfrog"}, "method is 'leapfrog'; it must be one of auto, dop853, vern8"),
    ({"rtol": 0}, "rtol is 0.0; it must be positive"),
    ({"solver": {"atol": -1e-9}}, "Solver: atol is -1e-09; it must be positive"),
    ({"method": "rk4"}, "step is missing; method 'rk4' needs one, as step = 1e-3 in its solver"),
    ({"solver": {"step": 0}}, "Solver: step is 0.0 s; it must be positive"),
    ({"method": "rk4", "solver": {"step": 2}}, "step is 2.0 s; rk4 needs a step no longer than the run, 1 s"),
    ({"solver": {"method": "rk4"}}, "Solver: step is missing; method 'rk4' needs one, as step = 1e-3 in its solver"),
    ({"solver": "rk4"}, "solver is 'rk4'; it must be a Solver, as fa.Solver(...)"),
    ({"save": ["q"]}, "save is ['q']; it must be a SaveAt, as fa.SaveAt(...)"),
    ({"solver": {"step": 0.1}}, "step is 0.1 s; method 'auto' chooses its own steps"),
    ({"q0": [0, 0]}, "q0 has shape (2,); it must have 1 number: rod.joint"),
    ({"qd0": [[0]]}, "qd0 has shape (1, 1); it must have 1 number: rod.joint"),
    ({"q0": [float("nan")]}, "q0 contains NaN or infinity"),
    ({"q0": ["a"]}, "q0 is not an array of numbers"),
    ({"u": [1, 2]}, "u: 2 columns for 1 actuator: rod.joint"),
    ({"u": [[1.0]]}, "u has shape (1, 1); it must have one number per actuator: rod.joint"),
    ({"u": "much"}, "u is a str; it must be numbers, an input, or a function of t"),
    ({"u": fa.Quintic([0.0], [1.0], 1.0)}, "u is a Quintic, which is a motion and not an input; give a "),
    ({"u": float("inf")}, "u contains NaN or infinity"),
    ({"u": lambda t, q: 0.0}, "u is <lambda>, of 2 arguments; it must be u(t) or u(t, q, qd)"),
    ({"reference": fa.Cycloidal((1, 2), (1, 1))}, "reference moves 2 joints; the arm has 1: rod.joint"),
]


@pytest.mark.parametrize(("given", "line"), WRONG, ids=[line[:40] for _, line in WRONG])
def test_what_is_not_possible_is_refused_in_one_line(rotor, given, line):
    def attempt():
        solver = {"solver": fa.Solver(**given["solver"])} if isinstance(given.get("solver"), dict) else {}
        return run(rotor, **{"until": 1.0, **given, **solver})

    with pytest.raises(fa.DescriptionError) as caught:
        attempt()
    assert str(caught.value).startswith(line)
    assert str(caught.value).isprintable()


def test_between_samples_of_an_arm_without_springs_one_step_is_enough():
    model = fa.Model(fa.load("rigid-two-link").replace(gravity=(0.0, 0.0, 0.0)))
    held = fa.control.Sampled(lambda t, q, qd: [0.1, 0.0], period=0.01)
    result = fa.simulate(model, 0.1, u=held, samples=11, method="auto", progress=False)
    assert (result.attrs["method"], result.attrs["step"], result.attrs["steps"]) == ("rk45", 0.01, 10)


def test_the_tolerance_counts_for_a_sampled_loop_too():
    """The tighter the tolerance, the more steps and the smaller the error."""
    model = fa.Model(fa.load("subudhi-morris"))
    held = fa.control.Sampled(lambda t, q, qd: [0.1 - q[0], 0.05 * np.cos(9.0 * t)], period=0.004)
    exact, tight, standard, loose = (
        fa.simulate(model, 0.2, u=held, samples=11, progress=False, **more)
        for more in (
            {"method": "dop853", "rtol": 1e-13, "solver": fa.Solver(atol=1e-14)},
            {"rtol": 1e-10, "solver": fa.Solver(atol=1e-13)},
            {},
            {"rtol": 1e-2, "solver": fa.Solver(atol=1e-2)},
        )
    )
    assert [run.attrs["method"] for run in (tight, standard, loose)] == ["dop853", "dop853", "rk45"]
    assert tight.attrs["steps"] > standard.attrs["steps"] > loose.attrs["steps"] >= 50
    errors = [float(np.abs(run.qd.values - exact.qd.values).max()) for run in (tight, standard, loose)]
    assert errors[0] < 1e-9 and errors[0] < 0.1 * errors[1] and errors[1] < 1e-6 and errors[1] < errors[2] < 0.1
