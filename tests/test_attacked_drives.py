"""Arms with drives, contacts and far bends, given what they are not made for: right, or one line."""

import warnings

import numpy as np
import pytest

import flexarm as fa
from flexarm import analysis
from flexarm.errors import DescriptionError, LargeDeflection
from flexarm.identification.frequency_model import linear

BEAM = fa.Beam(length=1.0, mass=1.0, EI=50.0, modes={"y": 1})
VOLTS = {"input": "voltage", "torque_constant": 0.2, "resistance": 3.0}


def one_link(drive=None, body=BEAM, **more):
    joint = fa.Revolute(drive=drive, rotor_inertia=1e-3, gear_ratio=10.0, stiffness=more.pop("stiffness", None))
    return fa.Arm(name="one", gravity=(0, -9.81, 0), links=[fa.Link(name="a", joint=joint, body=body)], **more)


def resting(arm):
    model = fa.Model(arm)
    return model, np.zeros(len(model.coordinates)), np.zeros(len(model.inputs))


# -- slopes at rest ----------------------------------------------------------------------------------------------------


def test_a_linear_model_at_rest_of_a_contact_with_bristles():
    contact = fa.Contact(
        name="floor",
        link="a",
        normal=(0, 1, 0),
        point=(0, 0.01, 0),
        stiffness=1e3,
        friction=0.3,
        model="lugre",
        bristle_stiffness=2e3,
        bristle_damping=1.0,
    )
    model, q, u = resting(one_link(contacts=[contact]))
    A = model.linearize(q, 0 * q, u).A
    assert np.isfinite(A).all()
    moving = [0.3, 0.2]
    h = 1e-6
    rate = lambda qd: model.evaluate("state_rate", q, qd, u)[: len(A)]  # noqa: E731
    slopes = np.stack([(rate(moving + h * e) - rate(moving - h * e)) / (2 * h) for e in np.eye(2)], axis=1)
    np.testing.assert_allclose(model.linearize(q, moving, u).A[:, 2:4], slopes, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0])
def test_a_linear_model_at_rest_of_a_spring_that_yields(exponent):
    """At z = 0 the spring is elastic: its force follows the deflection, and z' = d'."""
    hysteresis = {"stiffness": 3.0, "force": 0.3, "exponent": exponent}
    model, q, u = resting(one_link(fa.Drive(spring={"stiffness": 5.0, "hysteresis": hysteresis})))
    A = model.linearize(q, 0 * q, u).A
    assert np.isfinite(A).all()
    n = len(q)
    np.testing.assert_allclose(A[-1, n : 2 * n], [-1.0, 0.0, 1.0])


# -- motors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inductance", [None, 1e-3])
def test_the_inputs_of_an_equilibrium_are_what_motors_are_told(inductance):
    arm = one_link(fa.Drive(motor={**VOLTS, "inductance": inductance}))
    model, q, _ = resting(arm)
    q, u = analysis.equilibrium(model, [0.4])
    s = np.zeros(len(model.states)) + u / VOLTS["resistance"]
    np.testing.assert_allclose(model.forward_dynamics(q, 0 * q, u, **({"s": s} if len(s) else {})), 0, atol=1e-11)
    assert u[0] == pytest.approx(3.0 * 4.905 * np.cos(0.4) / (0.2 * 10.0), rel=1e-2)


@pytest.mark.parametrize("sharp", [False, True])
def test_an_arm_with_play_settles_where_its_spring_is_wound(sharp):
    """m g l cos(q) / 2 = k (|q| - w / 2) with the motor held at 0."""
    drive = fa.Drive(backlash={"width": 0.02, "sharp": sharp})
    model = fa.Model(one_link(drive, body=fa.Rigid(length=0.5, mass=1.0), stiffness=100.0))
    q, u = analysis.equilibrium(model, [0.0])
    assert q[1] == 0.0
    assert 100.0 * (-q[0] - 0.01) == pytest.approx(9.81 * 0.25 * np.cos(q[0]), rel=1e-10)
    assert u == pytest.approx(9.81 * 0.25 * np.cos(q[0]), rel=1e-10)
    weightless = fa.Model(model.arm.replace(gravity=(0, 0, 0)))
    np.testing.assert_array_equal(analysis.equilibrium(weightless, [0.003, 0.0])[0], [0.003, 0.0])


def test_an_arm_in_its_play_has_no_compliance():
    drive = fa.Drive(backlash={"width": 0.02})
    with pytest.raises(DescriptionError, match=r"^convergence: arm 'one': a motion has no stiffness there"):
        analysis.convergence(one_link(drive, stiffness=100.0))


def test_the_bundled_arm_with_play_has_an_equilibrium():
    model = fa.Model(fa.load("industrial-arm"))
    q, u = analysis.equilibrium(model, np.zeros(6))
    current = u / [link.joint.drive.motor.resistance for link in model.arm.links]
    np.testing.assert_allclose(model.forward_dynamics(q, 0 * q, u, s=current), 0, atol=1e-9)


def test_frozen_eigenvalues_do_not_guess_a_current():
    model, q, _ = resting(one_link(fa.Drive(motor={**VOLTS, "inductance": 1e-3})))
    still = np.zeros((2, len(q)))
    with pytest.raises(DescriptionError, match=r"depend on a\.motor\.current too: give qdd instead of u"):
        analysis.frozen_eigenvalues(model, still, still, u=np.ones((2, 1)))
    assert analysis.frozen_eigenvalues(model, still, still, qdd=still).shape == (2, 1)


def test_an_arm_with_friction_of_the_load_behind_an_inductance_has_a_rigid_one():
    friction = {"coulomb": 0.1, "load": 0.05}
    drive = fa.Drive(motor={**VOLTS, "inductance": 1e-3}, friction=friction)
    rigid = one_link(drive, stiffness=50.0).rigid()
    assert rigid.states == ()
    assert rigid.links[0].joint.drive.friction == drive.friction
    assert one_link(fa.Drive(motor=drive.motor), stiffness=50.0).rigid().states == ("a.motor.current",)


def test_a_page_does_not_give_torques_to_a_motor_that_takes_a_voltage():
    with pytest.raises(
        DescriptionError, match=r"play: arm 'one': the input 'a\.joint' is a voltage; the controllers of the live page"
    ):
        fa.play(one_link(fa.Drive(motor=VOLTS)))


OUTSIDE = {
    "forces": [fa.Force(name="p", link="a")],
    "base": fa.MovingBase(),
    "contacts": [fa.Contact(name="floor", link="a", normal=(0, 1, 0), stiffness=1e3)],
}


@pytest.mark.parametrize("what", [*OUTSIDE, "struts"])
def test_closed_forms_say_that_nothing_from_outside_stands_in_them(what):
    arm = one_link(**{what: (OUTSIDE | {"struts": [fa.Strut(link="a", point=(0, 1, 0), stiffness=30.0)]})[what]})
    nothing = None if what == "base" else ()
    with pytest.raises(DescriptionError) as caught:
        fa.equations(arm)
    advice = f"use arm.replace({what}={nothing})"
    assert str(caught.value) == f"equations: arm 'one': closed forms do not include {what}; {advice}"
    assert fa.equations(arm.replace(**{what: nothing})).M.shape == (2, 2)


def test_closed_forms_name_all_that_acts_from_outside():
    with pytest.raises(
        DescriptionError, match=r"do not include forces, contacts, base; .* arm\.replace\(forces=\(\), "
    ):
        fa.equations(one_link(**OUTSIDE))


@pytest.mark.parametrize(("what", "name"), [("forces", "p.fx"), ("base", "base.ax")])
def test_a_page_says_what_acts_from_outside(what, name):
    with pytest.raises(
        DescriptionError, match=f"play: arm 'one' has {name}, which the live page does not support; use smooth"
    ):
        fa.play(one_link(**{what: OUTSIDE[what]}))


# -- identification ----------------------------------------------------------------------------------------------------

LUGRE = fa.Friction(coulomb=0.3, viscous=0.1, model="lugre", bristle_stiffness=50.0)
IN_TIME = {
    "bristles": (fa.Drive(friction=LUGRE), "a.friction.bristle"),
    "current": (fa.Drive(motor={**VOLTS, "inductance": 1e-2}), "a.motor.current"),
    "stiffness": (fa.Drive(spring={"stiffness": 100.0, "variable": True}), "a.spring.stiffness"),
}


@pytest.mark.parametrize("what", IN_TIME)
def test_identification_refuses_what_it_does_not_follow(what):
    drive, name = IN_TIME[what]
    model = fa.Model(one_link(drive), vary=["a.mass"])
    data = {"q": np.zeros(50), "u": np.zeros(50)}
    sensor = {"q": fa.Encoder(coordinate="a.joint")}
    with pytest.raises(DescriptionError, match=f"^identify: arm 'one' has {name}, which identification"):
        fa.identify(model, data, ["a.mass"], outputs=sensor, sample_rate=100.0)


def test_a_motor_that_takes_a_voltage_is_identified_in_time():
    arm = one_link(fa.Drive(motor=VOLTS), body=fa.Rigid(length=0.5, mass=1.0)).replace(gravity=(0, 0, 0))
    model = fa.Model(arm, vary=["a.drive.motor.resistance"])
    p = {"a.drive.motor.resistance": 4.0}
    table = fa.Table(np.linspace(0, 1, 201), 8 * np.sin(np.linspace(0, 8, 201))[:, None], "linear")
    run = fa.simulate(model, 1.0, table, p=p, progress=False, samples=201)
    data = {"q": run.q.values[:, 0], "u": run.u.values[:, 0]}
    sensor = {"q": fa.Encoder(coordinate="a.joint")}
    found = fa.identify(model, data, [*p], inputs={"a.joint": "u"}, outputs=sensor, sample_rate=200.0, step=5e-4)
    assert found.estimates == pytest.approx([4.0], rel=1e-5)


def test_frequency_responses_are_not_those_of_motors():
    """M, D, K and B alone have neither back-EMF nor volts."""
    model = fa.Model(one_link(fa.Drive(motor=VOLTS), body=fa.Rigid(length=0.5, mass=1.0)), vary=["a.mass"])
    sensor = fa.Encoder(coordinate="a.joint", noise=1e-4)
    with pytest.raises(DescriptionError, match="arm 'one' has motors, states of drives or exogenous inputs"):
        linear(model, [sensor], np.zeros(1))


# -- numbers without their model ---------------------------------------------------------------------------------------


def test_bristles_of_a_smooth_friction_are_refused():
    with pytest.raises(
        DescriptionError, match=r'Friction: bristle_stiffness is given; it applies only to model = "lugre"'
    ):
        fa.Friction(coulomb=1.0, bristle_stiffness=100.0)
    with pytest.raises(DescriptionError, match=r'bristle_stiffness is given; it applies only to model = "lugre"'):
        fa.Contact(name="floor", link="a", normal=(0, 1, 0), stiffness=1e3, bristle_stiffness=2e3)


# -- bends that are too far --------------------------------------------------------------------------------------------


def bending(body, **more):
    model, q, u = resting(one_link(body=body))
    return fa.simulate(model, 0.5, u, progress=False, samples=51, method="dop853", **more)


def test_a_bend_of_more_than_half_the_length_is_warned_of():
    soft = BEAM.replace(EI=0.3)
    with pytest.warns(LargeDeflection, match=r"^link 'a' bends by \S+ m, \d+% of its length, at t = \S+ s; .*segments"):
        result = bending(soft)
    assert np.abs(result.deflection.values[:, 0, 1]).max() > 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bending(soft, save=fa.SaveAt(keep=["q"]))
        assert np.abs(bending(BEAM.replace(EI=3.0)).deflection.values).max() < 0.5
        assert np.abs(bending(soft.replace(segments=2, modes={"y": 2})).deflection.values).max() > 0.5


def test_a_bend_is_measured_by_the_length_that_a_model_has_now():
    model = fa.Model(one_link(body=BEAM.replace(EI=0.3)), vary=["a.length"]).at([1.2])
    with pytest.warns(LargeDeflection, match=r"bends by 0\.7 m, 58% of its length"):
        fa.simulate(model, 0.5, q0=[0.0, 0.7], samples=3, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fa.simulate(model, 0.01, q0=[0.0, 0.55], samples=3, progress=False)


def test_a_run_asks_for_no_description_of_the_arm_with_other_numbers():
    """A tapered beam of another stiffness has none."""
    metal = fa.Material(E=7e9, density=2700.0, G=2e9)
    sections = {"section": fa.Box(width=0.05, height=0.03), "section_tip": fa.Box(width=0.02, height=0.02)}
    body = fa.Beam(length=1.0, material=metal, modes={"y": 1}, **sections)
    model = fa.Model(one_link(body=body), vary=["a.EI"]).at([500.0])
    assert fa.simulate(model, 0.01, progress=False).status == "completed"
