"""Walls and floors: bouncing, Hunt and Crossley's losses, sliding, sticking, and arms that push."""

import numpy as np
import pytest
from scipy.optimize import brentq

import flexarm as fa
from flexarm.mechanics.outside import in_plane

G = 9.81


def mass(kg, axes, gravity=(0.0, 0.0, -G), **contact):
    """A point mass that slides along some axes above the floor z = 0."""
    links = [
        fa.Link(
            name=f"slide{i}",
            joint=fa.Prismatic(axis=axis),
            body=fa.Rigid(length=0.0, mass=kg if i == len(axes) - 1 else 1e-9, inertia=0.0),
        )
        for i, axis in enumerate(axes)
    ]
    floor = fa.Contact(name="floor", link=links[-1].name, normal=(0.0, 0.0, 1.0), **contact)
    return fa.Model(fa.Arm(name="mass", links=links, gravity=gravity, contacts=[floor]))


X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def run(model, until, **more):
    return fa.simulate(model, until, **{"rtol": 1e-11, "solver": fa.Solver(atol=1e-13), "progress": False} | more)


def test_a_mass_on_a_spring_floor_comes_back_to_where_it_fell_from():
    """Free fall, then d = v/w sin wt + g/w^2 (1 - cos wt) until d = 0: after the closed-form period all begins anew."""
    m, k, h = 0.7, 5e3, 0.4
    w, v = np.sqrt(k / m), np.sqrt(2 * G * h)
    pressed = 2 / w * (np.pi - np.arctan(v * w / G))
    period = 2 * np.sqrt(2 * h / G) + pressed
    model = mass(m, [Z], stiffness=k)
    result = run(model, 2 * period, q0=[h], samples=5)
    np.testing.assert_allclose(result.q.values[[2, 4], 0], h, atol=1e-8)
    np.testing.assert_allclose(result.qd.values[[2, 4], 0], 0.0, atol=1e-6)
    deepest = G / w**2 + np.hypot(G / w**2, v / w)
    assert float(result.q[1, 0]) == pytest.approx(-deepest, abs=1e-9)
    assert float(np.abs(result.energy_error).max()) < 1e-7 * m * G * h  # it is at rest whenever it is looked at


def test_a_ball_touches_before_its_centre():
    model = mass(1.0, [Z], stiffness=1e4, radius=0.2)
    _, u = fa.analysis.equilibrium(model, [0.1])
    assert u[0] == pytest.approx(1.0 * G - 1e4 * 0.1)  # what the drive must hold against the spring


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0])
def test_what_hunt_and_crossleys_damper_takes_is_the_same_for_every_exponent(exponent):
    """m v dv = -k d^n (1 + c v) dd: the integral of v / (1 + c v) from v_in to 0 is that from -v_out (no gravity)."""
    c, v_in = 0.6, 1.2
    model = mass(2.0, [Z], gravity=(0.0, 0.0, 0.0), stiffness=2e4, exponent=exponent, damping=c)
    result = run(model, 0.6, q0=[0.1], qd0=[-v_in], samples=301)

    def integral(v):
        return v / c - np.log1p(c * v) / c**2

    v_out = brentq(lambda v: integral(-v) - integral(v_in), 0.0, min(v_in, 0.999 / c))
    assert float(result.qd[-1, 0]) == pytest.approx(v_out, rel=1e-8)
    assert result.energy_drift < 1e-7
    lost = float(result.dissipated[-1])
    assert lost == pytest.approx(0.5 * 2.0 * (v_in**2 - v_out**2), rel=1e-8)


def test_a_contact_never_pulls():
    """Torn off faster than 1 / damping, which a damper alone would hinder: the force is zero, and so is the loss."""
    model = mass(1.0, [Z], gravity=(0.0, 0.0, 0.0), stiffness=1e4, damping=2.0)
    force = fa.outputs(model, [fa.ContactForce(contact="floor")])
    rates = np.array([-1.0, 0.0, 0.4, 0.5, 3.0])
    found = force.values(np.full((5, 1), -0.01), rates[:, None])[:, 0]
    np.testing.assert_allclose(found, 100.0 * np.maximum(1 - 2.0 * rates, 0.0), rtol=1e-12, atol=1e-12)
    assert force.values(np.array([0.01]), np.array([-1.0]))[0] == 0.0
    torn = run(
        model, 0.1, q0=[-0.01], qd0=[0.6], solver=fa.Solver(method="rk4", step=1e-5)
    )  # no force: others would step over it
    assert torn.energy_drift < 1e-7
    assert float(torn.qd[-1, 0]) == 0.6
    assert float(np.diff(torn.dissipated).min()) >= -1e-12


def test_a_mass_slides_to_rest_in_the_closed_form_distance():
    """v^2 / (2 mu g), less what the smooth model creeps: it slows down with mu g v / sqrt(v^2 + vc^2)."""
    mu, v, vc, m, k = 0.3, 2.0, 1e-3, 1.0, 1e5
    model = mass(m, [X, Z], stiffness=k, friction=mu, creep_rate=vc)
    result = run(model, 0.6, q0=[0.0, -m * G / k], qd0=[v, 0.0], samples=61, rtol=1e-9)
    # exactly: dv/dt = -mu g v / sqrt(v^2 + vc^2), so sqrt(v^2 + vc^2) falls on the way by mu g dx / sqrt(...)
    at = result.qd.values[:, 0]
    way = ((v**2 + vc**2) ** 0.5 * v + vc**2 * np.arcsinh(v / vc)) / 2
    way = (way - (np.sqrt(at**2 + vc**2) * at + vc**2 * np.arcsinh(at / vc)) / 2) / (mu * G)
    np.testing.assert_allclose(result.q.values[:, 0], way, atol=1e-7)
    assert v**2 / (2 * mu * G) == pytest.approx(0.6796, abs=1e-3)
    assert result.energy_drift < 1e-7


def test_what_sticks_creeps_as_stated():
    """Under F < mu N at creep_rate F / sqrt((mu N)^2 - F^2)."""
    mu, m, k, F, vc = 0.5, 1.0, 1e5, 3.0, 1e-2
    model = mass(m, [X, Z], stiffness=k, friction=mu, creep_rate=vc)
    result = run(model, 0.5, u=[F, 0.0], q0=[0.0, -m * G / k], samples=3, rtol=1e-9)
    assert float(result.qd[-1, 0]) == pytest.approx(vc * F / np.sqrt((mu * m * G) ** 2 - F**2), rel=1e-6)


def test_bristles_hold_as_a_spring_and_slide_with_mu():
    """LuGre: F / (sigma_0 N) of deflection in presliding; mu N in steady sliding, along any direction of the plane."""
    mu, m, k, sigma_0 = 0.4, 1.0, 1e5, 2e3
    lugre = {"friction": mu, "model": "lugre", "bristle_stiffness": sigma_0, "bristle_damping": 20.0}
    model = mass(m, [X, (0.0, 1.0, 0.0), Z], stiffness=k, **lugre)
    assert model.states == ("floor.bristle_1", "floor.bristle_2")
    start = [0.0, 0.0, -m * G / k]
    F = 0.02
    held = run(model, 2.0, u=[0.6 * F, 0.8 * F, 0.0], q0=start, samples=3, rtol=1e-9, method="radau9")
    x = F / (sigma_0 * m * G)
    np.testing.assert_allclose(held.q.values[-1, :2], [0.6 * x, 0.8 * x], rtol=2e-2)  # and 1 / (1 - F / mu N) of creep
    assert held.energy_drift < 1e-7
    slid = run(model, 0.2, qd0=[1.2, 1.6, 0.0], q0=start, samples=21, rtol=1e-9, method="radau9")
    late = slid.qd.values[10:]
    speed = np.hypot(late[:, 0], late[:, 1])
    np.testing.assert_allclose(np.diff(speed) / np.diff(slid.time.values[10:]), -mu * G, rtol=1e-3)
    np.testing.assert_allclose(late[:, 1] / late[:, 0], 4 / 3, rtol=1e-6)
    assert slid.energy_drift < 1e-7


def test_inverse_dynamics_sees_bristles_as_in_steady_sliding():
    """mu N against the motion in any direction of the plane, whatever the bristles' damping; at rest that alone."""
    mu, m, k, sigma_1 = 0.4, 1.0, 1e5, 20.0
    lugre = {"friction": mu, "model": "lugre", "bristle_stiffness": 2e3, "bristle_damping": sigma_1}
    model = mass(m, [X, (0.0, 1.0, 0.0), Z], stiffness=k, **lugre)
    q, N = np.array([0.0, 0.0, -m * G / k]), m * G
    for qd in ([3e-5, 4e-5, 0.0], [-0.6, 0.8, 0.0]):
        force = mu * N * np.array(qd) / np.linalg.norm(qd)
        np.testing.assert_allclose(model.damping_force(q, np.array(qd)), force, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.inverse_dynamics(q, np.array(qd), 0 * q), force, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.damping_force(q, 0 * q), 0.0, atol=1e-12)
    slope = np.array(model.slope("damping_force", 1)(q, 0 * q))
    np.testing.assert_allclose(slope, sigma_1 * N * np.diag([1.0, 1.0, 0.0]), rtol=1e-9, atol=1e-9)


def flexible(**contact):
    body = fa.Beam(length=1.0, mass=0.5, EI=30.0, modes={"y": 4}, shapes="hermite", damping=0.02)
    link = fa.Link(name="arm", joint=fa.Revolute(rotor_inertia=0.05, damping=0.5), body=body)
    wall = fa.Contact(name="wall", link="arm", point=(0.0, -0.1, 0.0), normal=(0.0, 1.0, 0.0), **contact)
    return fa.Model(fa.Arm(name="pusher", links=[link], contacts=[wall]))


def test_an_arm_that_pushes_stands_where_its_torque_is_the_walls():
    """The wall's force times its arm about the hub; found by Newton and by a run."""
    model = flexible(stiffness=2e4, damping=0.5, friction=0.0)
    sensor = fa.outputs(model, [fa.ContactForce(contact="wall")])
    tau = -3.0
    result = run(model, 6.0, u=[tau], q0=[-0.05, 0, 0, 0, 0], samples=3, rtol=1e-8)
    q = result.q.values[-1]
    (N,) = sensor.values(q, 0 * q)
    x_tip = model.tip(q)[0, 3]
    assert -tau == pytest.approx(N * x_tip, rel=1e-5)
    assert N * 1.0 > 2.9
    assert result.energy_drift < 1e-7
    still, u = fa.analysis.equilibrium(model, q)
    np.testing.assert_allclose(still, q, atol=1e-5)
    assert u[0] == pytest.approx(tau, rel=1e-4)


def test_the_account_is_kept_with_everything_on():
    """Hertz, damper, friction, gravity, a link that bends and is dragged along the wall."""
    model = flexible(stiffness=1e5, exponent=1.5, damping=0.8, friction=0.4, radius=0.02)
    model = fa.Model(model.arm.replace(gravity=(0.0, -G, 0.0), forces=[fa.Force(name="push", link="arm", at=0.5)]))
    result = run(model, 1.0, u=[-1.0], w={"push.fx": 1.0, "push.fy": lambda t: -np.sin(20 * t)}, rtol=1e-9)
    assert result.energy_drift < 1e-7
    assert float(result.dissipated[-1]) > 1e-3
    implicit = run(model, 1.0, u=[-1.0], w={"push.fx": 1.0, "push.fy": lambda t: -np.sin(20 * t)}, method="radau9")
    np.testing.assert_allclose(implicit.q[-1], result.q[-1], atol=1e-5)


def test_a_sensor_of_a_run_reads_the_force():
    model = flexible(stiffness=2e4)
    result = run(model, 0.5, u=[-1.0], samples=11)
    read = fa.sensor_readings([fa.ContactForce(contact="wall")], model, result, seed=0)
    assert float(read.wall_force.max()) > 0.5
    assert float(read.wall_force.min()) >= 0.0
    with pytest.raises(fa.DescriptionError) as caught:
        fa.outputs(model, [fa.ContactForce(contact="floor")])
    assert str(caught.value) == "ContactForce: unknown contact 'floor'; the contacts of the arm are wall"


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"normal": (0, 0, 2)}, "normal is (0.0, 0.0, 2.0), of length 2; it must be a unit vector"),
        ({"stiffness": -1.0}, "stiffness is -1.0 N/m^exponent; it must be positive"),
        ({"exponent": 0.5}, "exponent is 0.5; it must be from 1 to 3"),
        ({"at": 1.5}, "at is 1.5; it must be from 0 to 1"),
        ({"model": "lugre", "friction": 0.1}, "bristle_stiffness is missing; the LuGre model needs it"),
        ({"model": "lugre", "bristle_stiffness": 1.0}, "friction is 0.0; the LuGre model needs a positive value"),
        ({"link": "elbow"}, "link is 'elbow'; the links are arm"),
    ],
)
def test_bad_contacts_are_refused_in_one_line(fields, line):
    arm = flexible(stiffness=1.0).arm
    table = {"name": "wall", "link": "arm", "normal": (0, 1, 0), "stiffness": 1.0} | fields
    with pytest.raises(fa.DescriptionError) as caught:
        arm.replace(contacts=[table])
    assert str(caught.value) == f"contact 'wall': {line}"


@pytest.mark.parametrize("normal", [(0, 0, 1), (0, -1, 0), (1, 0, 0), (0.48, -0.6, 0.64)])
def test_bristles_lie_along_two_axes_of_the_plane_right_handed_with_its_normal(normal):
    axes = np.array([*in_plane([float(x) for x in normal]), normal])
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(axes) == pytest.approx(1.0)


def test_the_audit_keeps_up_with_a_beam_that_beats_on_a_floor():
    """What a contact takes comes in bursts, which a step that follows the motion alone passes over."""
    floor = fa.Contact(
        name="floor",
        link="a",
        normal=(0, 1, 0),
        point=(0, -0.2, 0),
        stiffness=1e5,
        exponent=1.5,
        damping=0.1,
        friction=0.3,
    )
    beam = fa.Beam(length=1.0, mass=1.0, EI=200.0, modes={"y": 2})
    link = fa.Link(name="a", joint=fa.Revolute(axis=(0, 0, 1)), body=beam)
    model = fa.Model(fa.Arm(name="beats", links=[link], gravity=(0.0, -G, 0.0), contacts=[floor]))
    result = fa.simulate(model, 5.0, method="dop853", samples=101, progress=False)
    assert result.energy_drift < 1e-6  # a nanoradian of the start, or another processor, makes it 4e-8 to 4e-7
    assert result.dissipated.values[-1] > 0.9


@pytest.mark.parametrize("kind", ["wall", "ball", "cable"])
def test_a_contact_shorter_than_a_step_is_found(kind):
    """A thrown mass touches a wall, or pulls a cable taut, just before it turns: the motion with many short steps."""
    g, v, until, stiffness, names = 9.0, 3.1, 0.62, 1e5, ("dop853", "rk45", "vern7", "radau5", "gauss8")
    body = fa.Rigid(length=0.0, mass=1.7, com=(0, 0, 0), inertia=0.1)
    link = fa.Link(name="a", joint=fa.Prismatic(axis=(1, 0, 0)), body=body)
    for depth in 10 ** np.random.default_rng(5).uniform(-6.5, -1.5, 8):
        top = v**2 / (2 * g) - depth
        if kind == "cable":
            points = [fa.CablePoint(point=(-1.0, 0, 0)), fa.CablePoint(link="a", at=0.0)]
            parts = {"cables": [fa.Cable(name="c", points=points, length=1.0 + top, stiffness=stiffness)]}
        else:
            wall = {"point": (top + 0.02, 0, 0), "normal": (-1, 0, 0), "radius": 0.02, "stiffness": stiffness}
            power = {"exponent": 1.5} if kind == "ball" else {}
            parts = {"contacts": [fa.Contact(name="w", link="a", at=0.0, damping=0.0, **wall, **power)]}
        model = fa.Model(fa.Arm(name="thrown", gravity=(-g, 0, 0), links=[link], **parts))
        given = {"qd0": [v], "samples": 2, "progress": False}
        short = fa.simulate(model, until, solver=fa.Solver(method="rk4", step=1e-5), **given).q.values[-1, 0]
        assert abs(short - (v * until - g * until**2 / 2)) > (1e-9 if kind == "ball" else depth)  # the contact matters
        for name in names:
            found = fa.simulate(model, until, solver=fa.Solver(method=name, rtol=1e-9), **given).q.values[-1, 0]
            assert abs(found - short) < 1e-6, (name, depth)
