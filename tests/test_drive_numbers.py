"""Numbers of drives: they vary by name as all others do, and stand in files."""

import numpy as np
import pytest

import flexarm as fa
from flexarm.checks import NOT_NEGATIVE, POSITIVE
from flexarm.description import numbers
from flexarm.description.toml_text import toml_text
from flexarm.mechanics.varied import listed

FRICTION = {"coulomb": 0.2, "static": 0.3, "viscous": 0.05, "stribeck_rate": 0.1}
LUGRE = {"coulomb": 0.4, "model": "lugre", "bristle_stiffness": 300.0, "bristle_damping": 1.0}


def arm(friction, link_friction=None, **joint):
    drive = fa.Drive(friction=friction, link_friction=link_friction)
    first = fa.Link(
        name="upper",
        joint=fa.Revolute(axis=(0, 1, 0), rotor_inertia=0.1, drive=drive, **joint),
        body=fa.Beam(length=1.0, mass=1.0, EI=30.0, modes={"z": 1}),
    )
    second = fa.Link(name="fore", joint=fa.Prismatic(axis=(1, 0, 0)), body=fa.Rigid(length=0.5, mass=0.5))
    return fa.Arm(name="rubbing", links=[first, second], gravity=(0, 0, -9.81))


BOTH = arm(fa.Friction(**LUGRE), fa.Friction(**FRICTION), stiffness=50.0)


def same(one, other, p=None):
    """Whether two models accelerate alike, with all states of their drives."""
    rng = np.random.default_rng(3)
    n, states = len(one.coordinates), len(one.states)
    q, qd, u = rng.normal(size=(3, n))
    s = 1e-3 * rng.normal(size=states)
    more = {"s": s} if states else {}
    given = {} if p is None else {"p": p}
    found = one.evaluate("state_rate", q, qd, u[: len(one.inputs)], **more, **given)
    expected = other.evaluate("state_rate", q, qd, u[: len(one.inputs)], **more)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


NAMES = {
    "upper.drive.friction.coulomb": 0.7,
    "upper.drive.friction.bristle_stiffness": 200.0,
    "upper.drive.friction.bristle_damping": 2.0,
    "upper.drive.friction.viscous": 0.3,
    "upper.drive.link_friction.coulomb": 0.25,
    "upper.drive.link_friction.static": 0.5,
    "upper.drive.link_friction.stribeck_rate": 0.3,
    "upper.drive.link_friction.creep_rate": 0.02,
    "upper.drive.link_friction.viscous": 0.01,
}


@pytest.mark.parametrize("name", NAMES)
def test_each_number_varies_as_the_arm_rebuilt_with_it(name):
    model = fa.Model(BOTH, vary=[name])
    rebuilt = fa.Model(model.arm_at([NAMES[name]]))
    assert rebuilt.arm != BOTH
    same(model, rebuilt, p=[NAMES[name]])


def test_the_constant_of_a_motor_whose_input_is_a_torque_varies_too():
    """It gives the current, while the accelerations are those of any other value."""
    motor = fa.Motor(torque_limit=3.0, torque_constant=0.7, saturation_width=0.1)
    joint = fa.Revolute(axis=(0, 1, 0), drive=fa.Drive(motor=motor))
    link = fa.Link(name="upper", joint=joint, body=fa.Rigid(length=0.5, mass=0.5))
    model = fa.Model(fa.Arm(name="driven", links=[link]), vary=["upper.drive.motor.torque_constant"])
    same(model, fa.Model(model.arm_at([0.4])), [0.4])


def test_all_of_them_at_once_beside_those_of_the_link():
    model = fa.Model(BOTH, vary=["upper.*"])
    names = [name for name in NAMES if name != "upper.drive.friction.viscous"]  # zero, by name alone
    values = {**{name: NAMES[name] for name in names}, "upper.EI": 40.0, "upper.stiffness": 80.0}
    p = model.parameter_values(values)
    same(model, fa.Model(model.arm_at(p)), p=p)
    assert {x.name for x in model.parameters} > set(names)
    assert "upper.drive.friction.static" not in {x.name for x in model.parameters}  # it follows


EVERY_PART = {
    "motor": {"input": "voltage", "torque_constant": 0.5, "back_emf_constant": 0.4, "resistance": 1.0}
    | {"inductance": 1e-3, "voltage_limit": 10.0, "efficiency": 0.9, "back_efficiency": 0.8},
    "friction": LUGRE | {"load": 0.1, "static": {"forward": 0.5, "backward": 0.6}},
    "link_friction": FRICTION | {"load": 0.1, "viscous": {"forward": 0.1, "backward": 0.2}},
    "brake": {"holding": 1.0},
    "spring": {"stiffness": 10.0, "cubic": 1.0, "damping": 0.1, "hysteresis": {"stiffness": 1.0, "force": 1.0}},
    "backlash": {"width": 0.01},
    "stops": {"lower": -1.0, "upper": 1.0, "stiffness": 1e3, "damping": 1.0, "transition": 0.1},
    "parallel": {"stiffness": 1.0, "rest": 0.1, "damping": 0.1},
}


def test_every_number_has_a_symbol_of_its_own():
    """Of a link that has all that a link may have, and one whose motor takes a torque."""
    assert EVERY_PART.keys() == fa.Drive.model_fields.keys()
    beam = fa.Beam(
        length=1.0, mass=1.0, EI={"y": 3.0, "z": 4.0}, GJ=1.0, EA=1e4, polar_inertia=0.1, damping=0.01, tau=1e-4,
        modes={"y": 2, "z": 2, "torsion": 1, "axial": 1}, rayleigh={"mass": 0.1, "stiffness": 1e-4},
        lumps=[fa.Lump(at=0.5, mass=0.1, inertia=(0.2, 0.2, 0.3), offset=(0.1, 0.2, 0.3))],
    )  # fmt: skip
    gear = {"rotor_inertia": 0.1, "gear_ratio": 3.0}
    joint = fa.Revolute(axis=(0.6, 0.8, 0), stiffness=9.0, spring_damping=0.1, damping=0.2, drive=EVERY_PART, **gear)
    torque = fa.Motor(torque_constant=0.5, torque_limit=5.0, speed_limit=3.0, stall_torque=6.0, efficiency=0.9)
    place = fa.Pose(xyz=(0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3))
    links = [
        fa.Link(name="upper", joint=joint, body=beam, placement=place, hub_mass=0.1, hub_inertia=0.2),
        fa.Link(name="fore", joint=fa.Prismatic(drive=fa.Drive(motor=torque)), body=fa.Rigid(length=1.0, mass=1.0)),
    ]
    arm = fa.Arm(name="all", links=links, payload=fa.Payload(mass=1.0, inertia=(0.2, 0.2, 0.3)), gravity=(0, 0, -9.81))
    names = {}
    for each in listed(arm).found.values():
        names.setdefault(each.symbol, []).append(each.name)
    assert len(names) > 150
    assert [some for some in names.values() if len(some) > 1] == []


@pytest.mark.parametrize(
    ("motor", "seen"), [({"input": "voltage", "torque_constant": 0.5, "resistance": 1.0}, 1), (None, 0)]
)
def test_a_pattern_finds_a_gear_that_the_winding_sees(motor, seen):
    """Where the rotor has no inertia; without a winding nothing sees the gear."""
    joint = fa.Revolute(gear_ratio=3.0, drive=fa.Drive(motor=motor) if motor else None)
    geared = fa.Arm(name="a", links=[fa.Link(name="a", joint=joint, body=fa.Rigid(length=1.0, mass=1.0))])
    model = fa.Model(geared, vary=["*"])
    assert [each.name for each in model.parameters].count("a.gear_ratio") == seen
    if motor:
        p = model.parameter_values({"a.gear_ratio": 5.0})
        same(model, fa.Model(model.arm_at(p)), p=p)


def test_shapes_still_follow_what_they_follow():
    """A static friction that would be less than Coulomb's at scattered values hides nothing."""
    model = fa.Model(BOTH, vary=["upper.*", "fore.mass"])
    follows = {x.name: x.shapes for x in model.parameters}
    assert follows["fore.mass"] == ("upper.z",)
    assert all(follows[name] == () for name in NAMES if name in follows)


def test_shapes_follow_an_angle_that_counts_away_from_here_alone():
    """It is looked for at scattered numbers, among which a static friction below Coulomb's would be no arm."""
    even = arm(fa.Friction(coulomb=0.2, static=0.2))
    frictions = ["upper.drive.friction.coulomb", "upper.drive.friction.static"]
    for varied in ([], frictions, frictions[::-1]):
        model = fa.Model(even, vary=["fore.placement.rpy.roll", "fore.com.z", *varied])
        assert model.parameters[0].shapes == ("upper.z",)


def test_what_breaks_loose_follows_coulomb_where_it_is_left_out():
    plain = arm(fa.Friction(coulomb=0.2, stribeck_rate=2.0))
    model = fa.Model(plain, vary=["upper.drive.friction.coulomb"])
    same(model, fa.Model(arm(fa.Friction(coulomb=0.6, stribeck_rate=2.0))), p=[0.6])
    alone = fa.Model(plain, vary=["upper.drive.friction.static"])
    same(alone, fa.Model(arm(fa.Friction(coulomb=0.2, static=0.6, stribeck_rate=2.0))), p=[0.6])


def test_the_rule_is_that_of_the_field():
    assert numbers.rule(BOTH, "upper.drive.link_friction.coulomb") == NOT_NEGATIVE
    assert numbers.rule(BOTH, "upper.drive.link_friction.creep_rate") == POSITIVE
    assert numbers.rule(BOTH, "upper.drive.friction.coulomb") == POSITIVE  # bristles divide by it
    model = fa.Model(BOTH, vary=["upper.drive.link_friction.creep_rate"])
    with pytest.raises(fa.DescriptionError, match=r"creep_rate is 0\.0 rad/s or m/s; it must be positive"):
        model.forward_dynamics(np.zeros(4), np.zeros(4), np.zeros(2), p=[0.0])
    with pytest.raises(fa.DescriptionError, match=r"static is 0\.2; it must be at least coulomb, 0\.25"):
        fa.Model(BOTH, vary=["*link_friction.static", "*link_friction.coulomb"]).arm_at([0.2, 0.25])


def test_files_and_lines_hold_drives(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(toml_text(BOTH.canonical()))
    assert fa.load(path) == BOTH
    assert fa.Arm.from_json(BOTH.canonical()) == BOTH
    joint = """
name = "rubbing"
[[links]]
name = "upper"
joint = { type = "revolute", drive = { friction = { coulomb = 0.1 }, link_friction = { viscous = 2.0 } } }
body = { type = "rigid", length = 1.0, mass = 1.0 }
"""
    path.write_text(joint)
    drive = fa.Drive(friction=fa.Friction(coulomb=0.1), link_friction=fa.Friction(viscous=2.0))
    assert fa.load(path).links[0].joint.drive == drive
    path.write_text(joint.replace("coulomb", "columb"))
    with pytest.raises(
        fa.DescriptionError, match=r"joint\.drive\.friction: unknown key 'columb'.*did you mean 'coulomb'"
    ):
        fa.load(path)


def test_a_rigid_arm_keeps_its_drives():
    """What bends goes, what rubs stays."""
    rigid = BOTH.rigid()
    assert rigid.links[0].joint.drive == BOTH.links[0].joint.drive
    assert not rigid.links[0].elastic
    assert rigid.states == BOTH.states
