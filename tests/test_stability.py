"""`analysis.stability`, the command, and what is said before a run that starts unstable."""

import contextlib
import json
import re
import sys
import warnings

import numpy as np
import pytest
from command_line import caller
from controlled import refused
from one_joint import bar, elastic_bar, inertia

import flexarm as fa
from flexarm import analysis, control
from flexarm.control import LQR, Every, Integral, JointPD, Law, Observed, Sampled, Saturated, Sum
from flexarm.errors import FlexarmError, UnstableStart
from flexarm.sensors import Encoder
from flexarm.simulation.closed_loop import ClosedLoop
from flexarm.simulation.feedback import initial
from flexarm.simulation.inputs import as_input
from flexarm.simulation.unstable import by_differences

Kp, Kd, T = 50.0, 4.0, 5e-3


# -- ranges of parameters ----------------------------------------------------------------------------------------------


def loaded(mass=0.5, **changes):
    return bar(payload=fa.Payload(mass=mass), **changes)


def test_the_worst_is_found_where_it_must_be():
    """PD damps the heavier bar less: zeta = Kd / (2 sqrt(Kp J)). The disk margin there is that of the arm built so."""
    found = analysis.stability(loaded(), JointPD(0.2, Kp, Kd), vary={"payload.mass": (0.1, 3.0)}, samples=5)
    assert found.worst.parameters == {"payload.mass": 3.0} and found.worst.unstable == 0
    own = analysis.stability(loaded(3.0), JointPD(0.2, Kp, Kd)).end
    assert found.worst.point.loops[0].disk == pytest.approx(own.loops[0].disk, rel=1e-9)
    assert found.worst.tried >= 7 and found.stable


def test_a_worst_inside_the_ranges_is_descended_to():
    """The spring that a sampled loop with its delay likes least is neither the softest nor the stiffest."""
    law, name = Sampled(JointPD(0.2, 20.0, 2.0), T, delay=T), "bar.stiffness"
    arm = fa.Model(elastic_bar().arm, vary=[name])
    disks = [analysis.stability(arm.at({name: k}), law).end.together.disk for k in np.linspace(2.0, 80.0, 40)]
    assert 1 < int(np.argmin(disks)) < 30, "the case is one"
    found = analysis.stability(elastic_bar(), law, vary={name: (2.0, 80.0)}, samples=6).worst
    assert found.point.together.disk <= min(disks) * (1 + 1e-3)


def test_a_range_may_hold_what_is_unstable():
    """Upside down: the pole is that of J s^2 + Kd s + Kp - (load) at the corner, and the report says so."""
    model = loaded(gravity=(0.0, -9.81, 0.0))
    law = JointPD(np.pi / 2, 12.0, Kd, gravity=False)
    found = analysis.stability(model, law, vary={"payload.mass": (0.1, 3.0)}, samples=8).worst
    arm = loaded(3.0, gravity=(0.0, -9.81, 0.0))
    load = abs(float(arm.slope("gravity_force", 0)([np.pi / 2])))
    assert found.parameters["payload.mass"] == 3.0 and found.point.verdict == "unstable" and found.unstable > 1
    assert found.point.poles[0].real == pytest.approx(np.roots([inertia(arm), Kd, 12.0 - load]).max(), rel=1e-6)
    assert np.isnan(found.point.together.disk) and np.isnan(found.point.loops[0].phase)


def test_many_ranges_have_corners_at_random(monkeypatch):
    monkeypatch.setattr(sys.modules["flexarm.analysis.stability"], "MOST_CORNERS", 4)
    model = loaded()
    names = ["bar.mass", "bar.inertia", "payload.mass"]
    ranges = {each.name: (0.9 * each.value, 1.1 * each.value) for each in fa.Model(model.arm, vary=names).parameters}
    found = analysis.stability(model, JointPD(0.2, Kp, Kd), vary=ranges, samples=0).worst
    assert found.tried >= 4 and all(ranges[name][0] <= x <= ranges[name][1] for name, x in found.parameters.items())
    assert all(x == pytest.approx(ranges[name][1], rel=1e-2) for name, x in found.parameters.items()), (
        "heavier is worse"
    )


# -- along a motion ----------------------------------------------------------------------------------------------------


def test_along_a_motion_the_loop_is_frozen_where_it_is():
    motion = fa.Quintic(start=[0.0, 0.0], end=[0.5, 1.0], duration=1.0)
    model = fa.Model(fa.load("rigid-two-link"))
    law = JointPD(motion, 300.0, 20.0)
    result = fa.simulate(model, 1.5, law, samples=151, progress=False)
    found = analysis.stability(model, law, motion=result, along=3)
    assert [each.time for each in found.along] == [0.0, 0.5, 1.0] and not found.along[0].standing
    loop = ClosedLoop(model, law.law(model))
    x = np.concatenate([result.q.values[50], result.qd.values[50]])
    assert np.allclose(np.sort_complex(found.along[1].poles), np.sort_complex(loop.poles(0.5, x)))
    assert found.end.standing and found.end.time == 1.5
    assert np.allclose(found.end.linear.x[:2], (0.5, 1.0), atol=1e-9), "gravity is carried"
    assert np.allclose(found.end.loop.A, analysis.loop(model, law).A, atol=1e-6)
    assert np.allclose(np.sort_complex(found.end.closed_loop.poles()), np.sort_complex(found.end.poles))
    table = str(found)
    assert table.startswith("rigid-two-link: JointPD, continuous\nstable, at rest at t = 1.5 s")
    assert "upper.joint" in table and "t = 0.5 " in table


def test_momentum_of_a_free_base_is_no_instability():
    scenario = fa.load_scenario("satellite-pd")
    model = fa.Model(scenario.loaded_arm())
    law = scenario.arguments(model)["u"]
    end = analysis.stability(model, law, np.array(model.arm.rest)).end
    assert end.verdict == "stable" and (end.linear.poles.real > -1e-9).any() and (end.poles.real < -1e-4).all()
    whole = analysis.loop(model, law, np.array(model.arm.rest))
    omega = np.geomspace(0.01, 30.0, 400)
    L = np.moveaxis(whole(1j * omega), -1, 0)
    m = len(model.inputs)
    S = np.linalg.inv(np.eye(m) + L)
    assert np.linalg.norm(S, 2, axis=(1, 2)).max() <= end.together.sensitivity * (1 + 1e-6)
    assert np.linalg.norm(S, 2, axis=(1, 2)).max() == pytest.approx(end.together.sensitivity, rel=1e-2)
    assert end.loops[0].phase > 0.5 and 0.0 < end.together.disk <= min(each.disk for each in end.loops) + 1e-9


def test_undamped_is_neither_stable_nor_not():
    model = elastic_bar()
    free = fa.Model(model.arm.replace(links=[model.arm.links[0].replace(joint=fa.Revolute(
        axis=(0, 0, 1), stiffness=80.0, rotor_inertia=0.1))]))  # fmt: skip
    found = analysis.stability(free, Law(lambda t, q, qd, z: (-30.0 * q[1:], [])), [0.0])
    assert found.end.verdict == "undamped" and not found.stable and np.isnan(found.end.loops[0].disk)


def test_what_is_refused():
    model, law = loaded(), JointPD(0.2, Kp, Kd)
    for wrong in ({}, [1.0], "payload.mass"):
        with refused(r"stability: vary is .*; it must be a dict of ranges \(low, high\) by parameter name"):
            analysis.stability(model, law, vary=wrong)
    with refused(r"stability: vary has \(3.0, 1.0\) for 'payload.mass'; it must be \(low, high\)"):
        analysis.stability(model, law, vary={"payload.mass": (3.0, 1.0)})
    with refused(
        r"stability: vary names m_P; patterns are not allowed; give names of parameters: payload.mass|.*m_P.*"
    ):
        analysis.stability(model, law, vary={"m_P": (0.1, 1.0)})
    with refused(r"motion: the value must be a result of simulate with q, qd"):
        analysis.stability(model, law, motion=3)
    other = fa.simulate(elastic_bar(), 0.1, samples=3, progress=False)
    with refused(r"motion: its coordinates are bar.joint, bar.motor, which differ from the model's"):
        analysis.stability(model, law, motion=other)
    with refused(r"stability: along is -1; .*"):
        analysis.stability(model, law, along=-1)


def test_a_loop_of_several_rates_has_poles_and_no_margins():
    model, slow = loaded(), JointPD(0.2, Kp, Kd)
    found = analysis.stability(model, Sampled(Every(slow, 4), T), vary={"payload.mass": (0.1, 1.0)}, samples=3)
    one = analysis.stability(model, Sampled(slow, 4 * T))
    assert found.stable and found.end.poles[:2].real == pytest.approx(one.end.poles[:2].real)
    assert all(np.isnan(each.gain).all() for each in found.end.loops) and np.isnan(found.end.together.disk)
    assert str(found).count("a loop with several sampling periods has no margins") == 2 and found.worst.point.stable
    late = Sampled(Every(JointPD(0.2, Kp, 8 * Kd), 50), T)
    motion = fa.simulate(bar(), 3.2 * T, late, samples=5, progress=False)
    bad = analysis.stability(bar(), late, motion=motion)
    assert not bad.stable and "unstable" in str(bad)


# -- before a run ------------------------------------------------------------------------------------------------------


def said_before(model, controller, until=2.0, **more):
    """What warnings say before a run."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.suppress(FlexarmError):  # it diverged, as was said
            fa.simulate(model, until, controller, samples=3, progress=False, **more)
    return [str(each.message) for each in caught if issubclass(each.category, UnstableStart)]


@pytest.mark.parametrize(
    ("controller", "what", "advice"),
    [
        (
            Sampled(JointPD(0.2, Kp, 8 * Kd), 50 * T),
            "JointPD, sampled every 0.25 s",
            "called every 0.025 s the loop would be stable",
        ),
        (
            Sampled(JointPD(0.2, Kp, Kd), T, delay=50 * T),
            "JointPD, sampled",
            "without its delay of 0.25 s the loop would be stable",
        ),
        (
            Integral(JointPD(0.2, Kp, Kd), 40 * Kp),
            "Integral, continuous",
            "with gains 10 times as large the loop would be stable",
        ),
        (JointPD(0.2, Kp, -4.0), "JointPD, continuous", "no common factor of its gains"),
        (Sampled(JointPD(0.2, 5.0, 300.0), T), "JointPD, sampled", "called every 0.0005 s the loop would be stable"),
        (
            Sampled(Every(JointPD(0.2, Kp, 8 * Kd), 50), T),
            "Every, sampled",
            "called every 0.0005 s the loop would be stable",
        ),
    ],
)
def test_a_run_that_starts_unstable_is_told_so_once(controller, what, advice):
    (line,) = said_before(bar(), controller)
    assert re.fullmatch(
        rf"controller {what}.*: the closed loop is unstable at the start: a pole at .* 1/s moves bar.joint most; .*",
        line,
    )
    assert advice in line and line.endswith("; see flexarm stability") and "\n" not in line


def test_a_stable_start_is_remembered_for_equal_numbers_alone():
    """The verdict of an earlier run is used where arm, law, state and parameters are equal, and for nothing else."""
    model, weak = bar(gravity=(0.0, -9.81, 0.0)), fa.Model(bar().arm, vary=["bar.mass"])
    for _ in range(2):
        assert said_before(model, JointPD(np.pi / 2, 2000.0, Kd, gravity=False), 4.0) == []
        assert said_before(bar(), JointPD(np.pi / 2, 2.0, Kd, gravity=False), 4.0) == []
        assert len(said_before(model, JointPD(np.pi / 2, 2.0, Kd, gravity=False), 4.0)) == 1
        assert said_before(bar(), Sampled(JointPD(0.2, Kp, 8 * Kd), 0.1 * T)) == []
        assert len(said_before(bar(), Sampled(JointPD(0.2, Kp, 8 * Kd), 50 * T))) == 1
        assert said_before(weak.at([1e3]), Sampled(JointPD(0.2, Kp, 8 * Kd), 50 * T)) == []
        assert len(said_before(weak, Sampled(JointPD(0.2, Kp, 8 * Kd), 50 * T))) == 1


def test_the_pole_that_is_told_is_the_loop_s():
    controller = Integral(JointPD(0.2, Kp, Kd), 40 * Kp)
    (line,) = said_before(bar(), controller)
    pole = analysis.stability(bar(), controller).end.poles[0]
    assert f"a pole at {pole.real:.4g} +- {abs(pole.imag):.4g}j 1/s" in line


def test_gains_that_would_do_are_named():
    """Upside down with too weak a spring; gravity is carried where it stands."""
    model = bar(gravity=(0.0, -9.81, 0.0))
    (line,) = said_before(model, JointPD(np.pi / 2, 2.0, Kd, gravity=False), 4.0)
    assert re.search(r"with gains (2|4|10) times as large the loop would be stable", line)
    factor = float(re.search(r"gains (\S+) times", line)[1])
    assert said_before(model, JointPD(np.pi / 2, factor * 2.0, factor * Kd, gravity=False), 4.0) == []


def turning(t, q, qd):
    return [5.0 * (0.3 - q[0]) + 2.0 * qd[0]]


@pytest.mark.parametrize(
    "controller",
    [
        JointPD(0.2, Kp, Kd),
        JointPD(fa.Quintic(start=[0.0], end=[2.0], duration=0.5), Kp, Kd),
        Sampled(JointPD(0.2, Kp, Kd), T, delay=T, limit=0.1, rate_limit=1.0),
        Saturated(JointPD(2.0, Kp, -Kd), 0.1),
        Sampled(Sum(Every(JointPD(0.2, Kp, 0.0), 4), JointPD(0.2, 0.0, Kd)), T),
        Sampled(turning, T),
        turning,
        Law(lambda t, q, qd, z: (0.3 + 0 * q, [])),
        Sampled(Observed(JointPD(0.2, Kp, Kd), [Encoder(coordinate="bar.joint", resolution=1e-3)]), T),
        control.ComputedTorque(fa.Quintic(start=[0.0], end=[2.0], duration=0.5), 30.0, 10.0),
    ],
    ids=lambda each: type(each).__name__,
)
def test_nothing_is_said_of_others(controller):
    """Of what is stable, saturated where it begins, no law that can be differentiated, or one that reads nothing."""
    given = controller
    if isinstance(controller, Law):
        given = type("Made", (), {"law": lambda self, model, period=None: controller})()
    assert said_before(bar(), given, 0.5) == []


def test_nothing_is_said_where_a_motion_begins_moving_or_ends_before_it_grows():
    model = bar()
    assert said_before(model, JointPD(0.2, Kp, -0.1), 0.2) == [], "it would grow by a tenth"
    assert len(said_before(model, JointPD(0.2, Kp, -0.5), 20.0)) == 1
    moving = fa.Quintic(start=[0.0], end=[1.0], duration=1.0)
    late = type(
        "Late", (), {"expression": lambda self, t: moving.expression(t + 0.4), "described": lambda self: "late"}
    )
    assert said_before(model, JointPD(late(), Kp, -0.5), 20.0) == []


def test_bundled_scenarios_start_stable():
    """Each controller of them, looked at without its run."""
    from flexarm.simulation.unstable import unstable_start

    for name in ("canadarm-slew-pd", "dual-arm", "satellite-lqr", "subudhi-morris-composite"):
        scenario = fa.load_scenario(name)
        model = fa.Model(scenario.loaded_arm())
        drive = as_input(scenario.arguments(model)["u"], model)
        assert (
            unstable_start(model, drive, initial(model, drive.begins)[0], np.zeros(len(model.states)), scenario.until)
            == ""
        )


@pytest.mark.parametrize(
    "controller",
    [LQR((0.2,), bandwidth=20.0), Integral(JointPD(0.2, Kp, Kd), 9.0), Sampled(JointPD(0.2, Kp, Kd), T, delay=2 * T)],
)
def test_differences_of_compiled_laws_are_their_slopes(controller):
    model = elastic_bar()
    drive = as_input(controller, model)
    loop = ClosedLoop(model, drive.law, drive.period)
    x = loop.start(np.array([0.21, 0.2])) + 0.01
    for a, b in zip(loop.law_slopes(0.1, x[:2], x[2:]), by_differences(model, drive)(0.1, x[:2], x[2:]), strict=True):
        assert np.allclose(a, b, rtol=1e-9, atol=1e-9)


# -- laws that feel accelerations --------------------------------------------------------------------------------------

FELT = 0.6, 0.2, 0.3
"""Gains on the angle, its rate and its acceleration."""


class Feeling:
    """u = g (Kp (r - q) - Kd qd - Ka qdd) of a rod, at samples."""

    def __init__(self, gain=1.0, Kp=FELT[0], Kd=FELT[1], Ka=FELT[2]):
        self.gains = gain * Kp, gain * Kd, gain * Ka

    def law(self, model, period=None):
        Kp, Kd, Ka = self.gains
        return Law(lambda t, q, qd, z, qdd: (Kp * (0.1 - q) - Kd * qd - Ka * qdd, []), accelerates=True)


def rod():
    """Free to turn, of the inertia 1 kg m^2."""
    link = fa.Link(name="rod", joint=fa.Revolute(), body=fa.Rigid(length=1.0, mass=3.0))
    return fa.Model(fa.Arm(name="rod", links=[link]))


def one_period(g, period, Kp=FELT[0], Kd=FELT[1], Ka=FELT[2]):
    """Of (q, qd, u before): qdd is u before, and u is held."""
    K = -g * np.array([Kp, Kd, Ka])
    F = np.array([[1.0, period, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    return F + np.outer([period**2 / 2, period, 1.0], K)


def test_the_acceleration_that_a_law_feels_is_that_of_the_u_before():
    import control as pycontrol

    period = 0.5
    closed = analysis.closed_loop(rod(), Sampled(Feeling(), period), [0.1])
    assert np.abs(np.asarray(closed.A) - one_period(1.0, period)).max() < 1e-12
    assert np.abs(np.asarray(closed.B)[:, 0] - [period**2 / 2, period, 1.0]).max() < 1e-12
    opened = analysis.loop(rod(), Sampled(Feeling(), period), [0.1])
    for g in (0.4, 1.0, 1.9):  # an actuator that gives g times what it is told to
        whole = pycontrol.feedback(g * opened, 1)
        expected = np.sort_complex(np.linalg.eigvals(one_period(g, period)))
        assert np.abs(np.sort_complex(whole.poles()) - expected).max() < 1e-9


def test_a_run_whose_law_feels_too_much_is_told_of_and_gains_that_would_do():
    (line,) = said_before(rod(), Sampled(Feeling(Ka=1.5), 0.05), 2.0)
    pole = np.log(np.abs(np.linalg.eigvals(one_period(1.0, 0.05, Ka=1.5)).min())) / 0.05
    assert f"a pole at {pole:.4g} +- " in line and "moves rod.joint most; with gains 0.5 times as large" in line
    assert said_before(rod(), Sampled(Feeling(0.5, Ka=1.5), 0.05), 2.0) == []


FEELING = [
    Encoder(coordinate="bar.drive", noise=1e-9),
    Encoder(coordinate="bar.joint", noise=1e-9),
    fa.Accelerometer(axes="y", noise=1e-7),
]


def test_an_observer_with_an_accelerometer_is_linear_as_its_runs_are():
    """Two runs with the same noise and other beginnings differ as the matrices say."""
    model, period = elastic_bar(), 0.01
    law = Sampled(Observed(JointPD(0.2, Kp, Kd), FEELING), period, seed=1)
    closed = analysis.closed_loop(model, law)
    A, d = np.asarray(closed.A), np.array([1e-5, -2e-5, 3e-4, 1e-4])
    more = {"samples": 31, "progress": False, "rtol": 1e-12, "solver": fa.Solver(atol=1e-14), "method": "dop853"}
    a, b = (fa.simulate(model, 30 * period, law, [0.2, 0.2] + x[:2], x[2:], **more) for x in (0 * d, d))
    found = np.hstack([b.q - a.q, b.qd - a.qd])
    x = np.concatenate([d, np.zeros(len(A) - 4)])
    for k in range(31):
        assert np.abs(found[k] - x[:4]).max() < 1e-4 * np.abs(found).max(), k
        x = A @ x
    names = closed.output_labels
    gains = np.real(np.asarray(closed(1.0)))[:, closed.input_labels.index("r_bar_joint")]
    assert gains[[names.index(name) for name in ("bar_joint", "bar_motor")]] == pytest.approx([1.0, 1.0], rel=1e-9)


def test_the_memory_along_a_run_is_that_which_a_feeling_law_had():
    from flexarm.simulation.passed import passed

    model, period = elastic_bar(), 0.01
    law = Sampled(Observed(JointPD(fa.Quintic((0.0,), (0.3,), 0.2), Kp, Kd), FEELING), period)
    motion = fa.simulate(model, 0.3, law, samples=301, progress=False, save=fa.SaveAt(record=["memory"]), rtol=1e-10)
    drive = as_input(law, model)
    states = passed(model, drive.law, period, motion)
    own = len(drive.law.memory)
    at = 10 * np.arange(1, 29)  # samples; what is recorded there is what the law was called with
    size = np.abs(motion.memory.values).max()
    assert np.abs(states.z[at, :own] - motion.memory.values[at]).max() < 1e-3 * size
    assert np.abs(states.z[at, own:] - motion.u.values[at - 1]).max() < 1e-3 * np.abs(motion.u.values).max()
    found = analysis.stability(model, law, motion=motion, along=3, vary={"payload.mass": (0.5, 1.5)}, samples=2)
    assert len(found.along) == 3 and found.stable


def test_of_what_varies_the_arm_s_own_acceleration_is_felt():
    """A heavier rod is accelerated less by the same u, and a law that was designed for another feels that."""
    model = fa.Model(rod().arm, vary=["rod.mass"])
    found = analysis.stability(rod(), Sampled(Feeling(), 0.5), q=[0.1], vary={"rod.mass": (1.5, 6.0)}, samples=2).worst
    J = model.at(found.parameters).mass_matrix(np.zeros(1))[0, 0]
    F = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    A = F - np.outer([0.125 / J, 0.5 / J, 1.0], FELT * np.array([1.0, 1.0, 1.0 / J]))
    z = np.exp(found.point.linear.poles * 0.5)
    assert J != pytest.approx(1.0)
    assert np.abs(np.sort_complex(z) - np.sort_complex(np.linalg.eigvals(A))).max() < 1e-6


# -- what acts from outside, and what touches --------------------------------------------------------------------------


def test_what_acts_from_outside_may_hold_an_arm_where_it_is_unstable():
    """Hung, with a weak spring: held up by a torque beyond the horizontal, it falls to either side."""
    model = bar(gravity=(9.81, 0.0, 0.0))
    law, q0 = JointPD(0.0, 1.0, 0.5, gravity=False), 2.2
    load = float(model.inverse_dynamics([q0], [0.0], [0.0])[0])
    stiffness = float(model.slope("gravity_force", 0)([q0]))
    torque = load + 1.0 * q0
    J = inertia(model)
    pole = np.roots([J, 0.5, 1.0 + stiffness]).max()
    assert pole > 1.5
    assert said_before(model, law, q0=[q0]) == []
    (line,) = said_before(model, law, q0=[q0], disturbance=torque)
    assert f"a pole at {pole:.4g} 1/s" in line
    for other in (fa.Piecewise([0.0], [[torque]]), fa.Table([0.0, 5.0], [[torque], [torque]])):
        assert said_before(model, law, q0=[q0], disturbance=other) == [line]
    assert said_before(model, law, q0=[q0], disturbance=lambda t: [torque]) == [], "nobody knows what it gives later"
    declared = fa.Model(model.arm.replace(forces=[fa.Force(name="lift", link="bar", kind="drive")]))
    assert said_before(declared, law, q0=[q0], w=[torque]) == [line]


def played(width, gap=None):
    """A motor of 0.1 kg m^2 before a rod of 1 kg m^2, with play; a wall beside its tip."""
    drive = fa.Drive(backlash=fa.Backlash(width=width, sharp=True))
    joint = fa.Revolute(stiffness=400.0, spring_damping=2.0, rotor_inertia=0.1, drive=drive)
    link = fa.Link(name="rod", joint=joint, body=fa.Rigid(length=1.0, mass=3.0))
    place = {"point": (0, gap, 0), "normal": (0, -1, 0), "stiffness": 1e4}
    wall = [] if gap is None else [fa.Contact(name="wall", link="rod", exponent=1.0, **place)]
    return fa.Model(fa.Arm(name="played", links=[link], contacts=wall, gravity=(0.0, 0.0, 0.0)))


@pytest.mark.parametrize("gap", [None, 0.5])
def test_a_loop_that_chatters_in_its_play_is_told_of(gap):
    """There the motor is alone: Kd T / J must be less than 2."""
    period, J = 0.01, 0.1
    strong, weak = (Sampled(JointPD(0.0, 5.0, Kd), period) for Kd in (25.0, 15.0))
    (line,) = said_before(played(0.01, gap), strong, 1.0)
    K = np.array([5.0, 25.0]) / J
    A = np.array([[1.0, period], [0.0, 1.0]]) - np.outer([period**2 / 2, period], K)
    pole = np.log(np.abs(np.linalg.eigvals(A)).max()) / period
    assert f"a pole at {pole:.4g} +- " in line and "moves rod.motor most" in line
    assert said_before(played(0.01, gap), weak, 1.0) == []


def test_nothing_is_said_where_something_just_touches():
    law = Sampled(JointPD(0.0, 5.0, 25.0), 0.01)
    assert len(said_before(played(0.01, 0.1), law, 1.0)) == 1
    assert said_before(played(0.01, 0.0), law, 1.0) == []


@pytest.mark.parametrize("g", [0.0, 9.81])
def test_a_link_that_falls_through_its_play_stands_nowhere_in_it(g):
    drive = fa.Drive(backlash=fa.Backlash(width=0.01, sharp=True))
    joint = fa.Prismatic(axis=(0, 1, 0), stiffness=400.0, spring_damping=2.0, rotor_inertia=0.1, drive=drive)
    link = fa.Link(name="slide", joint=joint, body=fa.Rigid(length=1.0, mass=3.0))
    model = fa.Model(fa.Arm(name="falling", links=[link], gravity=(0.0, -g, 0.0)))
    said = said_before(model, Sampled(JointPD(0.0, 5.0, 25.0, gravity=False), 0.01), 0.1)
    assert len(said) == (g == 0.0)


# -- the command -------------------------------------------------------------------------------------------------------


ARM = """
name = "arm"
gravity = [0.0, 0.0, 0.0]
payload = { mass = 0.5 }
links = [{ name = "bar", joint = { type = "revolute" }, body = { type = "rigid", length = 0.8, mass = 1.5 } }]
"""
SLEW = """
name = "slew"
arm = "arm.toml"
until = 1.0
samples = 101
reference = { type = "quintic", start = [0.0], end = [0.5], duration = 0.5 }
controller = { type = "joint-pd", Kp = 50.0, Kd = 4.0, period = 0.002, delay = 0.004 }
"""


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.toml").write_text(ARM)
    (tmp_path / "slew.toml").write_text(SLEW)
    return caller(monkeypatch, capsys)


def test_the_command_shows_what_python_finds(call):
    model = fa.Model(fa.load("arm.toml"))
    scenario = fa.load_scenario("slew.toml")
    found = analysis.stability(
        model, scenario.arguments(model)["u"], motion=scenario.run(progress=False), along=2,
        vary={"payload.mass": (0.1, 2.0)}, samples=3,
    )  # fmt: skip
    words = ("stability", "slew.toml", "--along", "2", "--vary", "payload.mass=0.1:2", "--samples", "3")
    said = call(*words)
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == "slew: JointPD, sampled every 0.002 s" and lines[1] == "stable, at rest at t = 1 s"
    assert f"{np.degrees(found.end.loops[0].phase):.4g}" in said.out and "payload.mass = 2" in said.out
    told = json.loads(call(*words, "--json").out)
    assert told["stable"] is True and told["period"] == 0.002 and told["units"]["phase"] == "rad"
    (loop,) = told["end"]["loops"]
    (own,) = found.end.loops
    for key in ("phase", "delay", "crossover", "disk", "sensitivity", "complementary"):
        assert loop[key] == pytest.approx(getattr(own, key), rel=1e-9), key
    assert [point["time"] for point in told["along"]] == [0.0, 0.5]
    assert told["worst"]["parameters"] == [{"name": "payload.mass", "value": 2.0}]
    assert [complex(s["real"], s["imaginary"]) for s in told["end"]["poles"]] == pytest.approx(found.end.poles)


def test_the_command_tells_of_what_is_unstable(call, tmp_path):
    """Its own run may diverge, and nothing is said twice."""
    (tmp_path / "wild.toml").write_text(
        SLEW.replace("delay = 0.004", "delay = 0.4").replace("until = 1.0", "until = 9.0")
    )
    said = call("stability", "wild.toml", "--along", "0")
    assert (said.status, said.err) == (0, "") and said.out.splitlines()[1].startswith("unstable, ")
    assert json.loads(call("stability", "wild.toml", "--json").out)["stable"] is False


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["rigid-two-link"], "the scenario has no controller, so no closed loop"),
        (["slew.toml", "--vary", "payload.mass"], "--vary is 'payload.mass'; it must be NAME=LOW:HIGH"),
        (["slew.toml", "--vary", "payload.mass=2:1"], "it must be NAME=LOW:HIGH"),
        (["slew.toml", "--vary", "payload.mas=1:2"], "payload.mas"),
        (["slew.toml", "--along", "-3"], "along is -3"),
    ],
)
def test_the_command_refuses(call, words, why):
    said = call("stability", *words)
    assert (said.status, said.out) == (2, "") and why in said.err and said.err.count("\n") == 1, said.err
