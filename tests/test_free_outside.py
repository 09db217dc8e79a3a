"""What acts from outside on an arm whose base is free: forces, tethers, walls; momentum changes by their impulse."""

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.spatial.transform import Rotation

import flexarm as fa

ROUNDING = 1e-11  # relative: some thousand operations
RUNS = 1e-8  # relative: what tolerances of 1e-11 leave over a run


def assert_close(actual, expected, tolerance=ROUNDING):
    scale = max(1.0, np.max(np.abs(expected)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def flyer(modes=2, base=None, **more):
    """A bus with an arm of one link that bends."""
    body = fa.Beam(length=2.0, mass=1.5, EI={"y": 200.0, "z": 300.0}, modes={"y": modes, "z": 1}, damping=0.01)
    link = fa.Link(
        name="arm",
        joint=fa.Revolute(axis=(0, 0, 1), damping=0.5),
        body=body,
        placement=fa.Pose(xyz=(0.4, 0.1, 0.0)),
        payload=fa.Payload(mass=0.5),
    )
    base = base or fa.FreeBase(mass=8.0, com=(0.1, 0.0, -0.1), inertia=(1.0, 1.5, 2.0))
    return fa.Arm(name="flyer", links=[link], base=base, **more)


def start(arm):
    e = Rotation.from_rotvec([0.3, -0.5, 0.8]).as_quat(scalar_first=True)
    q = np.concatenate([[0.5, -0.3, 0.2], e, np.zeros(arm.layout.__len__() - 6)])
    q[7] = 0.4
    qd = np.zeros(len(arm.layout))
    qd[:6] = 0.2, 0.1, -0.3, 0.3, -0.2, 0.4
    return q, qd


def run(model, until=1.0, samples=201, **more):
    q, qd = start(model.arm)
    return fa.simulate(
        model, until, q0=q, qd0=qd, solver=fa.Solver(rtol=1e-11, atol=1e-12), samples=samples, progress=False, **more
    )


@pytest.mark.parametrize("kind", ["force", "moment", "wrench"])
def test_a_force_on_the_bus_in_its_axes_is_a_thruster_and_in_the_world_s_adds_its_impulse(kind):
    """Momentum changes by the impulse of the force, moment of momentum by that of the moment about the origin."""
    k = 6 if kind == "wrench" else 3
    given = np.array([0.7, -0.4, 1.1, 0.3, 0.5, -0.6])[:k]
    world = fa.Model(flyer(forces=[fa.Force(name="push", link="base", kind=kind)]))
    result = run(world, w=given)
    f, m = (given[:3], given[3:]) if k == 6 else (given, 0 * given) if kind == "force" else (0 * given, given)
    t = result.time.values
    p, L = result.momentum.values, result.angular_momentum.values
    assert_close(p - p[0], t[:, None] * f, RUNS)
    arms = np.cross(result.q.values[:, :3], f) + m
    impulse = [simpson(arms[: i + 1], x=t[: i + 1], axis=0) for i in (100, 200)]
    assert_close((L - L[0])[[100, 200]], impulse, RUNS)
    assert result.energy_drift < 1e-9 and result.momentum_changed_by == "forces"

    own = run(fa.Model(flyer(forces=[fa.Force(name="push", link="base", kind=kind, axes="link")])), w=given)
    jets = [
        fa.Thruster(name=f"{kind[0]}{axis}", direction=np.eye(3)[axis].tolist(), kind=kind)
        for kind in {"force": ["force"], "moment": ["torque"], "wrench": ["force", "torque"]}[kind]
        for axis in range(3)
    ]
    base = flyer().base.replace(thrusters=jets)
    thrown = run(fa.Model(flyer(base=base)), u=np.concatenate([[0.0], given]))
    assert_close(own.q.values, thrown.q.values, RUNS)


def test_a_body_on_a_tether_swings_at_the_frequency_of_its_spring():
    """Of free length 0 to a point of the world: three oscillators of omega^2 = k / m, about the point."""
    mark = fa.Link(name="mark", joint=fa.Fixed(), body=fa.Rigid(length=0.0, mass=1e-12, inertia=0.0))
    tether = fa.Strut(link="base", point=(1.0, 2.0, 3.0), stiffness=8.0)
    arm = fa.Arm(name="kite", links=[mark], base=fa.FreeBase(mass=2.0, inertia=1.0), struts=[tether])
    model = fa.Model(arm)
    qd = np.array([0.3, 0.0, 0.0, 0.1, 0.2, 0.3])
    result = fa.simulate(model, until=5.0, qd0=qd, solver=fa.Solver(rtol=1e-11, atol=1e-12), samples=51, progress=False)
    t, point = result.time.values[:, None], np.array([1.0, 2.0, 3.0])
    assert_close(result.q.values[:, :3], point - point * np.cos(2 * t) + qd[:3] / 2 * np.sin(2 * t), RUNS)
    assert result.energy_drift < 1e-9 and result.momentum_changed_by == "struts"


def test_a_strut_between_bus_and_arm_is_an_inner_force():
    strut = fa.Strut(link="arm", at=0.5, to="base", stiffness=60.0, length=0.3)
    result = run(fa.Model(flyer(struts=[strut])), until=3.0)
    assert result.momentum_drift < 1e-9 and result.angular_momentum_drift < 1e-9 and result.energy_drift < 1e-9
    assert np.abs(result.q.values[-1] - run(fa.Model(flyer()), until=3.0).q.values[-1]).max() > 0.1  # it does pull


@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_a_berthing_impact_gives_the_momentum_of_its_force(friction):
    """A free-flying arm comes to a wall with its tip, and leaves it: what the sensor reads is its impulse."""
    wall = fa.Contact(
        name="wall",
        link="arm",
        radius=0.05,
        point=(2.9, 0.0, 0.0),
        normal=(-1.0, 0.0, 0.0),
        stiffness=4e3,
        damping=0.4,
        friction=friction,
        creep_rate=0.05,  # or it sticks within less than a sample
    )
    arm = flyer(contacts=[wall])
    model = fa.Model(arm)
    q = np.zeros(model.nq)
    q[3], q[7] = 1.0, 0.2
    qd = np.zeros(model.nv)
    qd[:3] = 1.0, 0.1, 0.2
    result = fa.simulate(
        model,
        until=1.2,
        q0=q,
        qd0=qd,
        solver=fa.Solver(rtol=1e-10, atol=1e-12),
        samples=12001,
        progress=False,
        u=np.zeros(1),
    )
    y = fa.outputs(model, [fa.ContactForce(contact="wall"), fa.TipPosition(), fa.TipVelocity()]).values(
        result.q.values, result.qd.values
    )
    t, N, place, v = result.time.values, y[:, 0], y[:, 1:4], y[:, 4:]
    assert N.max() > 10.0 and N[0] == N[-1] == 0.0
    slip = v * [0.0, 1.0, 1.0]
    force = N[:, None] * (
        np.array([-1.0, 0.0, 0.0])
        - friction * slip / np.sqrt((slip**2).sum(axis=1, keepdims=True) + wall.creep_rate**2)
    )
    p, L = result.momentum.values, result.angular_momentum.values
    # Simpson's rule over the corners at which the contact opens and closes
    assert_close(p[-1] - p[0], simpson(force, x=t, axis=0), 1e-5)
    assert_close(L[-1] - L[0], simpson(np.cross(place, force), x=t, axis=0), 1e-5)
    if not friction:
        assert_close(p[:, 1:], p[:1, 1:] + 0 * p[:, 1:], 1e-9)
    assert result.energy_drift < 1e-8 and result.momentum_changed_by == "contacts"


def test_a_ball_that_is_the_bus_bounces_off_a_wall_as_any_mass_does():
    """Hunt & Crossley's loss: v1/c - ln(1 + c v1)/c^2 = -v2/c - ln(1 - c v2)/c^2."""
    c, v1 = 0.4, 1.5
    wall = fa.Contact(
        name="wall",
        link="base",
        radius=0.3,
        point=(2.0, 0, 0),
        normal=(-1, 0, 0),
        stiffness=3e3,
        exponent=1.5,
        damping=c,
    )
    mark = fa.Link(name="mark", joint=fa.Fixed(), body=fa.Rigid(length=0.0, mass=1e-12, inertia=0.0))
    model = fa.Model(fa.Arm(name="ball", links=[mark], base=fa.FreeBase(mass=2.0, inertia=1.0), contacts=[wall]))
    qd = np.array([v1, 0.2, 0.0, 0.0, 0.0, 0.0])
    result = fa.simulate(model, until=2.0, qd0=qd, solver=fa.Solver(rtol=1e-11, atol=1e-13), samples=5, progress=False)
    v2 = -result.qd.values[-1, 0]
    assert_close(v1 / c - np.log(1 + c * v1) / c**2, -v2 / c - np.log(1 - c * v2) / c**2, 1e-7)
    assert_close(result.qd.values[-1, 1:], qd[1:])
    seen = fa.outputs(model, [fa.ContactForce(contact="wall")]).values([1.71, 0, 0, 1, 0, 0, 0], np.zeros(6))
    assert_close(seen, [3e3 * 0.01**1.5], 1e-9)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            {"forces": [fa.Force(name="push", link="bas")]},
            "force 'push': link is 'bas'; did you mean 'base'? The links are arm, base",
        ),
        (
            {"forces": [fa.Force(name="push", link="base", at=0.5)]},
            "force 'push': at is 0.5; the base has no length, so leave out at",
        ),
        (
            {"contacts": [fa.Contact(name="wall", link="base", at=0.5, normal=(1, 0, 0), stiffness=1.0)]},
            "contact 'wall': at is 0.5; the base has no length, so leave out at",
        ),
        (
            {"struts": [fa.Strut(link="base", at=0.5, stiffness=1.0)]},
            "Arm: struts[0].at is 0.5; the base has no length, so leave out at",
        ),
        (
            {"struts": [fa.Strut(link="arm", to="base", to_at=0.5, stiffness=1.0)]},
            "Arm: struts[0].to_at is 0.5; the base has no length, so leave out to_at",
        ),
        (
            {"struts": [fa.Strut(link="bus", stiffness=1.0)]},
            "Arm: struts[0].link is 'bus'; the links are arm, base",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(given, line):
    with pytest.raises(fa.DescriptionError) as error:
        flyer(**given)
    assert str(error.value) == line


@pytest.mark.parametrize(
    "given",
    [
        {"forces": [fa.Force(name="push", link="base")]},
        {"contacts": [fa.Contact(name="wall", link="base", normal=(1, 0, 0), stiffness=1.0)]},
        {"struts": [fa.Strut(link="base", stiffness=1.0)]},
    ],
)
def test_a_base_that_is_not_free_is_not_pushed(given):
    with pytest.raises(fa.DescriptionError, match=r"link is 'base'; the (arm has|links are) arm$"):
        fa.Arm(name="held", links=flyer().links, **given)
