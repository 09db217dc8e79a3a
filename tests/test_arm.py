"""The description: sections against textbook formulas, round trips, and every way to be wrong."""

import copy
import dataclasses
import math
import pickle
import subprocess
import sys
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import AfterValidator

import flexarm as fa
from flexarm.checks import Described, kind, own_type, shown
from flexarm.description.arm import (
    KNOWN_SHAPES,
    Arm,
    Beam,
    Box,
    Fixed,
    Link,
    Material,
    Payload,
    Pose,
    Prismatic,
    Revolute,
    Rigid,
    Rod,
    Telescope,
    Tube,
    tensor,
)
from flexarm.description.bodies import Body
from flexarm.description.joints import Joint
from flexarm.description.load import bundled, load, read_toml
from flexarm.errors import DescriptionError

EXACT = 1e-13  # relative: a handful of roundings

BEAM = {"type": "beam", "length": 2.0, "mass": 3.0, "EI": 40.0}
RIGID = {"type": "rigid", "length": 2.0, "mass": 3.0}
ALUMINIUM = {"E": 70e9, "density": 2700.0, "poisson": 0.33}
TUBE = {"type": "tube", "outer_diameter": 0.1, "thickness": 0.004}


def an_arm(**changes):
    """A dictionary, as a file would give it, whose second link is called 'forearm'."""
    links = [{"name": "upper", "body": RIGID}, {"name": "forearm", "body": BEAM, **changes}]
    return {"name": "test", "links": links}


def message(build, *args, **data):
    """The one line that the call raises."""
    with pytest.raises(DescriptionError) as caught:
        build(*args, **data)
    line = str(caught.value)
    assert line.isprintable(), "a message is one line"
    assert caught.value.__cause__ is None, "no report of pydantic behind it"
    assert "pydantic" not in line and "Value error" not in line
    return line


# -- sections ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "section",
    [Rod(diameter=0.07), Tube(outer_diameter=0.09, thickness=0.013), Box(width=0.05, height=0.08),
     Box(width=0.05, height=0.08, thickness=0.006)],
)  # fmt: skip
def test_area_and_moments_are_integrals_over_the_section(section):
    """Midpoint rule on a fine grid, from the definition of each shape alone."""
    n, half = 2000, 0.05
    grid = (np.arange(n) + 0.5) / n * 2 * half - half
    y, z = np.meshgrid(grid, grid, indexing="ij")
    if isinstance(section, Box):
        inside = (abs(y) < section.width / 2) & (abs(z) < section.height / 2)
        if section.thickness:
            t = section.thickness
            inside &= ~((abs(y) < section.width / 2 - t) & (abs(z) < section.height / 2 - t))
    else:
        radius = np.hypot(y, z)
        outer = section.diameter if isinstance(section, Rod) else section.outer_diameter
        inner = 0 if isinstance(section, Rod) else section.outer_diameter - 2 * section.thickness
        inside = (radius < outer / 2) & (radius > inner / 2)
    dA = (2 * half / n) ** 2
    assert section.area == pytest.approx(inside.sum() * dA, rel=1e-3)
    assert section.I_y == pytest.approx((y[inside] ** 2).sum() * dA, rel=1e-3)
    assert section.I_z == pytest.approx((z[inside] ** 2).sum() * dA, rel=1e-3)
    assert section.polar == pytest.approx(section.I_y + section.I_z, rel=EXACT)


def test_a_thin_tube_has_the_moment_of_a_ring():
    r, t = 0.05, 1e-5
    assert Tube(outer_diameter=2 * r + t, thickness=t).I_y == pytest.approx(math.pi * r**3 * t, rel=1e-6)


def test_a_tube_without_a_hole_is_a_rod():
    rod, tube = Rod(diameter=0.1), Tube(outer_diameter=0.1, thickness=0.05)
    for name in ("area", "I_y", "I_z", "J", "polar"):
        assert getattr(tube, name) == pytest.approx(getattr(rod, name), rel=EXACT)


def test_a_box_with_its_hole_filled_is_a_solid_box():
    """Parallel subtraction: outer minus inner rectangle."""
    outer, inner = Box(width=0.05, height=0.08), Box(width=0.04, height=0.07)
    hollow = Box(width=0.05, height=0.08, thickness=0.005)
    for name in ("area", "I_y", "I_z", "polar"):
        assert getattr(hollow, name) == pytest.approx(getattr(outer, name) - getattr(inner, name), rel=1e-12)


@pytest.mark.parametrize(("ratio", "k1"), [(1.0, 0.1406), (1.5, 0.196), (2.0, 0.229), (4.0, 0.281), (10.0, 0.312)])
def test_torsion_of_a_solid_box(ratio, k1):
    """J = k1 a b^3, the table in section 109 of Timoshenko & Goodier; the long side may be either one."""
    b = 0.03
    for box in (Box(width=ratio * b, height=b), Box(width=b, height=ratio * b)):
        assert box.J == pytest.approx(k1 * ratio * b**4, rel=2.5e-3)


def test_torsion_of_a_solid_square_from_the_torsion_equation():
    """J of a unit square is twice the integral of Prandtl's function, laplacian -2: five-point stencil."""
    n = 80
    h = 1 / n
    second = (np.diag(np.full(n - 1, 2.0)) - np.diag(np.ones(n - 2), 1) - np.diag(np.ones(n - 2), -1)) / h**2
    values, vectors = np.linalg.eigh(second)
    ones = vectors.T @ np.ones((n - 1, n - 1)) @ vectors
    prandtl = vectors @ (2 * ones / (values[:, None] + values[None, :])) @ vectors.T
    assert Box(width=1.0, height=1.0).J == pytest.approx(2 * prandtl.sum() * h**2, rel=1e-3)


def test_torsion_of_a_hollow_square_is_bredts():
    """4 A^2 t / perimeter with A and perimeter on the middle line."""
    a, t = 0.06, 0.002
    middle = a - t
    assert Box(width=a, height=a, thickness=t).J == pytest.approx(4 * middle**4 * t / (4 * middle), rel=EXACT)


def test_the_shear_modulus():
    assert Material(E=70e9, density=2700, poisson=0.25).shear_modulus == pytest.approx(28e9, rel=EXACT)
    assert Material(E=70e9, density=2700, G=26e9).shear_modulus == 26e9
    assert Material(E=70e9, density=2700).shear_modulus is None


# -- beams, rigid links, poses -----------------------------------------------------------------------------------------


def test_a_beam_from_its_section():
    modes = {"y": 1, "z": 2, "torsion": 3, "axial": 4}
    section = Box(width=0.05, height=0.08)
    beam = Beam(length=2.0, material=Material(**ALUMINIUM), section=section, modes=modes)
    assert beam.m == pytest.approx(2700 * 0.05 * 0.08, rel=EXACT)
    assert beam.total_mass == pytest.approx(2 * beam.m, rel=EXACT)
    assert beam.rho_Ip == pytest.approx(2700 * 0.05 * 0.08 * (0.05**2 + 0.08**2) / 12, rel=EXACT)
    G = 70e9 / (2 * 1.33)
    wanted = {"y": 70e9 * 0.08 * 0.05**3 / 12, "z": 70e9 * 0.05 * 0.08**3 / 12, "torsion": G * section.J,
              "axial": 70e9 * 0.05 * 0.08}  # fmt: skip
    assert beam.stiffness == pytest.approx(wanted, rel=EXACT)
    assert beam.counts == modes


def test_stiffnesses_follow_another_section_unless_they_were_given():
    """So the fields stay as given, and `stiffness` answers: twice the height bends eight times as hard."""
    thin, thick = (fa.Box(width=0.02, height=height) for height in (0.01, 0.02))
    beam = Beam(length=1.0, material="aluminium", section=thin, modes={"z": 1})
    stiff = beam.replace(section=thick)
    assert (beam.EI, beam.GJ, beam.EA, stiff.EI) == (None, None, None, None)
    assert stiff.stiffness["z"] == pytest.approx(8 * beam.stiffness["z"], rel=1e-12)
    given = beam.replace(EI={"y": 3.0, "z": 7.0})
    assert given.replace(section=thick).stiffness["z"] == 7.0


def test_what_is_given_beside_a_section_wins():
    beam = Beam(length=2.0, material=ALUMINIUM, section=TUBE, EI={"y": 5.0}, GJ=6.0, EA=7.0, polar_inertia=8.0)
    plain = Beam(length=2.0, material=ALUMINIUM, section=TUBE)
    assert beam.stiffness == {"y": 5.0, "z": plain.stiffness["z"], "torsion": 6.0, "axial": 7.0}
    assert beam.rho_Ip == 8.0


def test_a_beam_from_plain_numbers():
    beam = Beam(length=2.0, mass=3.0, EI={"y": 4.0, "z": 5.0}, GJ=6, modes={"torsion": 1, "y": 2})
    assert (beam.m, beam.total_mass, beam.rho_Ip) == (1.5, 3.0, 0.0)
    assert beam.stiffness == {"y": 4.0, "z": 5.0, "torsion": 6.0}
    assert list(beam.counts.items()) == [("y", 2), ("z", 0), ("torsion", 1), ("axial", 0)]
    assert Beam(length=2.0, mass_per_length=1.5, EI=1.0).total_mass == 3.0
    assert Beam(length=2.0, mass=3.0, modes={}).stiffness == {}


@pytest.mark.parametrize(
    ("damping", "ratios"),
    [
        (0.1, (0.1,) * 5),
        ([1, 2, 3, 4, 5], (1.0, 2.0, 3.0, 4.0, 5.0)),
        ({"y": 0.1, "torsion": 0.3}, (0.1, 0.1, 0.0, 0.0, 0.3)),
        ({"z": [0.1, 0.2], "axial": 0.5}, (0.0, 0.0, 0.1, 0.2, 0.0)),
        (np.array([1.0, 2, 3, 4, 5]), (1.0, 2.0, 3.0, 4.0, 5.0)),
    ],
)
def test_damping_ratios(damping, ratios):
    beam = Beam(length=1, mass=1, EI=1, GJ=1, modes={"y": 2, "z": 2, "torsion": 1}, damping=damping)
    assert beam.damping_ratios == ratios


def test_a_rigid_link_is_a_uniform_rod_by_default():
    link = Rigid(length=2.0, mass=3.0)
    assert link.center == (1.0, 0.0, 0.0) and link.total_mass == 3.0
    assert np.allclose(link.inertia_tensor, np.diag([0, 1, 1]), rtol=EXACT, atol=0)
    given = Rigid(length=0, mass=3, com=(0.1, 0.2, 0.3), inertia=[1, 2, 3])
    assert given.center == (0.1, 0.2, 0.3) and np.array_equal(given.inertia_tensor, np.diag([1.0, 2, 3]))


def test_three_ways_to_write_an_inertia():
    full = [[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 4.0]]
    assert np.array_equal(tensor(2.0), 2 * np.eye(3))
    assert np.array_equal(tensor((1, 2, 3)), np.diag([1.0, 2, 3]))
    assert np.array_equal(tensor(Payload(mass=1, inertia=np.array(full)).inertia), full)


def test_a_pose_turns_roll_then_pitch_then_yaw():
    def elementary(axis, angle):
        x, y, z = np.eye(3)[axis]
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross

    roll, pitch, yaw = 0.4, -0.7, 1.9
    wanted = elementary(2, yaw) @ elementary(1, pitch) @ elementary(0, roll)
    assert np.allclose(Pose(rpy=(roll, pitch, yaw)).rotation, wanted, rtol=0, atol=1e-15)


def test_an_axis_is_normalised():
    axis = Revolute(axis=(0.6, 0.8000001, 0)).axis
    assert math.hypot(*axis) == pytest.approx(1.0, rel=EXACT)


@pytest.mark.parametrize(
    ("section", "tip"),
    [(Rod(diameter=0.07), Rod(diameter=0.03)), (Box(width=0.05, height=0.08), Box(width=0.06, height=0.02)),
     (Tube(outer_diameter=0.09, thickness=0.013), Tube(outer_diameter=0.06, thickness=0.002)),
     (Box(width=0.05, height=0.08, thickness=0.006), Box(width=0.05, height=0.04, thickness=0.003))],
)  # fmt: skip
def test_a_tapered_beam(section, tip):
    """Dimensions go linearly from base to tip; mass, centre and inertia are integrals by the midpoint rule."""
    beam = Beam(length=2.0, material=ALUMINIUM, section=section, section_tip=tip)
    x = (np.arange(2000) + 0.5) / 2000
    p = beam.profile(x)
    for i in (0, 700, 1999):
        size = {
            name: (1 - x[i]) * value + x[i] * getattr(tip, name) for name, value in section if name != "type" and value
        }
        here = Beam(length=2.0, material=ALUMINIUM, section=type(section)(**size))
        wanted = (here.m, *(here.stiffness[d] for d in ("y", "z", "torsion", "axial")), here.rho_Ip)
        assert [getattr(p, name)[i] for name in ("m", "EI_y", "EI_z", "GJ", "EA", "rho_Ip")] == pytest.approx(wanted)
    base = beam.replace(section_tip=None)
    assert (beam.m, beam.stiffness, beam.rho_Ip) == (base.m, base.stiffness, base.rho_Ip)
    assert beam.total_mass == pytest.approx(2.0 * p.m.mean(), rel=1e-6)
    rigid, s = beam.rigid(), 2.0 * x
    center = (p.m @ s) / p.m.sum()
    assert rigid.mass == pytest.approx(beam.total_mass, rel=EXACT) and rigid.length == 2.0
    assert rigid.com == pytest.approx((center, 0, 0), rel=1e-6)
    assert rigid.inertia == pytest.approx((p.rho_Ip.mean() * 2.0, *[p.m @ (s - center) ** 2 / 1000] * 2), rel=1e-6)


def test_the_profile_of_a_uniform_beam():
    beam = Beam(length=2.0, mass=3.0, EI={"y": 4.0}, modes={"y": 1})
    p = beam.profile([0.0, 0.3, 1.0])
    assert p.m.tolist() == [1.5] * 3 and p.EI_y.tolist() == [4.0] * 3
    assert p.EI_z.tolist() == p.GJ.tolist() == p.EA.tolist() == p.rho_Ip.tolist() == [0.0] * 3
    given = Beam(length=2.0, material=ALUMINIUM, section=TUBE, section_tip={**TUBE, "thickness": 0.002}, EI=7.0)
    assert given.profile([0.0, 1.0]).EI_y.tolist() == [7.0, 7.0], "a stiffness given beside sections wins everywhere"
    assert given.profile(np.zeros(0)).m.shape == (0,)


# -- arms --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def mixed():
    """Every kind of joint and body."""
    spring = Revolute(axis=(0, 1, 0), rotor_inertia=0.02, gear_ratio=50, damping=0.1, stiffness=100, spring_damping=1)
    slide = Prismatic(axis=(1, 0, 0), rotor_inertia=0.01, gear_ratio=200, stiffness=1e4)
    modes = {"axial": 1, "torsion": 1, "z": 1, "y": 2}
    bending = Beam(length=2, mass=3, EI=4, GJ=5, EA=6, polar_inertia=0.1, modes=modes, damping={"y": [0.1, 0.2]})
    return Arm(
        name="mixed",
        links=[
            Link(name="a", joint=spring, body=bending, hub_mass=1, hub_inertia=(1, 2, 3)),
            Link(name="b", joint=Fixed(), body=Rigid(length=0, mass=1, com=(0, 1, 0)), placement=Pose(rpy=(1, 2, 3))),
            Link(name="c", joint=slide, body=Beam(length=1, material=ALUMINIUM, section=TUBE, modes={"z": 1})),
            Link(name="d", body=Rigid(length=1, mass=2, inertia=[[1, 0.1, 0], [0.1, 2, 0], [0, 0, 3]])),
        ],
        payload=Payload(mass=0.1, inertia=0.2),
        gravity=(0.1, 0.2, -9.81),
        description="two\nlines",
    )


def test_names_of_coordinates_and_inputs(mixed):
    joints, flexible = ("a.joint", "c.joint", "d.joint"), ("a.y1", "a.y2", "a.z1", "a.torsion1", "a.axial1", "c.z1")
    assert mixed.coordinates == (*joints, *flexible, "a.motor", "c.motor")
    assert mixed.inputs == ("a.motor", "c.motor", "d.joint")


def test_the_rigid_arm(mixed):
    rigid = mixed.rigid()
    assert rigid.coordinates == rigid.inputs == ("a.joint", "c.joint", "d.joint")
    a = rigid.links[0]
    assert np.allclose(a.body.inertia_tensor, np.diag([0.2, 1.0, 1.0]), rtol=EXACT, atol=0)
    assert (a.body.length, a.body.mass, a.hub_mass, a.hub_inertia) == (2.0, 3.0, 1.0, (1.0, 2.0, 3.0))
    assert a.joint == Revolute(axis=(0, 1, 0), rotor_inertia=0.02, gear_ratio=50, damping=0.1)
    assert rigid.links[1] == mixed.links[1] and rigid.payload == mixed.payload and rigid.gravity == mixed.gravity
    assert rigid.rigid() == rigid


def test_a_telescope():
    body = Beam(length=1.3, mass=0.5, EI=10, modes={"y": 2, "z": 1}, damping=[0.1, 0.2, 0.3], shapes="clamped-mass")
    links = [Link(name="a", body=RIGID), Link(name="b", joint=Telescope(free_length=0.4), body=body),
             Link(name="c", joint={"type": "telescope", "total_length": 1.3, "stiffness": 1, "rotor_inertia": 1},
                  body=body)]  # fmt: skip
    arm = Arm(name="x", links=links)
    assert arm.coordinates[:3] == ("a.joint", "b.joint", "c.joint") and arm.inputs == ("a.joint", "b.joint", "c.motor")
    assert arm.rest == (0.0, 0.4, 1.3, *[0.0] * 6, 1.3), "a motor rests where its joint does"
    assert [link.free_length for link in arm.links] == [None, 0.4, 1.3]
    rigid = arm.rigid()
    assert rigid.coordinates == rigid.inputs == ("a.joint", "b.joint", "c.joint") and rigid.rest == (0, 0.4, 1.3)
    assert isinstance(rigid.links[1].joint, Telescope) and rigid.links[1].body.counts["y"] == 0
    assert rigid.links[1].body.total_mass == 0.5 and rigid.rigid() == rigid
    assert Arm.from_json(arm.canonical()) == arm


def test_an_arm_without_telescopes_rests_at_zero(mixed):
    assert mixed.rest == (0.0,) * len(mixed.coordinates)


def test_canonical_round_trip(mixed):
    text = mixed.canonical()
    again = Arm.from_json(text)
    assert again == mixed and again.canonical() == text and "\n" not in text
    assert mixed.replace(gravity=(0, 0, 0)).canonical() != text
    assert pickle.loads(pickle.dumps(mixed)) == mixed


def test_canonical_does_not_depend_on_how_a_number_was_written():
    one = Beam(length=1, mass=np.float32(2), EI=np.int64(1), modes={"z": 1, "y": 2})
    two = Beam(length=1.0, mass=2.0, EI=1.0, modes={"y": np.int64(2), "z": 1})
    texts = {Arm(name="x", links=[Link(name="a", body=body)]).canonical() for body in (one, two)}
    assert len(texts) == 1


@dataclasses.dataclass(frozen=True)
class Family:
    power: int = 2

    def basis(self, count):
        return count


def with_family(family):
    return Arm(name="x", links=[Link(name="a", body=Beam(length=1, mass=1, EI=1, shapes=family))])


def test_a_family_object_is_written_as_a_digest():
    arm = with_family(Family(3))
    assert arm.links[0].body.shapes == Family(3)
    assert arm.canonical() == with_family(Family(3)).canonical() != with_family(Family(4)).canonical()
    wanted = "link 'a': shapes.family is 'test_arm.Family'; known families are "
    assert message(Arm.from_json, arm.canonical()).startswith(wanted)


def test_a_family_object_that_cannot_be_written():
    @dataclasses.dataclass(frozen=True)
    class Local(Family):
        pass

    assert "cannot be pickled" in message(with_family(Local()).canonical)


JOINTS = "'revolute', 'prismatic', 'telescope', 'fixed', 'gear', 'universal', 'ball', 'planar' or 'screw'"


@pytest.mark.parametrize("text", ["{", "", '{"name": ', "[" * 100_000])
def test_a_damaged_json_text(text):
    assert message(Arm.from_json, text).startswith("Arm: the text is not valid JSON: ")


def test_a_json_text_of_something_else():
    assert message(Arm.from_json, "[1]") == "Arm: the JSON text is [1]; it must be an object"
    assert message(Arm.from_json, None).startswith("Arm: the text is not valid JSON: ")
    assert "gravity[2] is nan" in message(Arm.from_json, '{"name": "x", "links": [], "gravity": [0, 0, NaN]}'.replace(
        "[]", '[{"name": "a", "body": {"type": "rigid", "length": 1, "mass": 1}}]'))  # fmt: skip


# -- wrong values ------------------------------------------------------------------------------------------------------

FOREARM = [
    # body, plain
    ({"body": {**BEAM, "mass": -1}}, "mass is -1.0 kg; it must be positive"),
    ({"body": {**BEAM, "mass": 0}}, "mass is 0.0 kg; it must be positive"),
    ({"body": {**BEAM, "length": 0.0}}, "length is 0.0 m; it must be positive"),
    ({"body": {**BEAM, "length": math.nan}}, "length is nan m; it must be finite"),
    ({"body": {**BEAM, "length": math.inf}}, "length is inf m; it must be finite"),
    ({"body": {**BEAM, "length": 10**400}}, "length is inf m; it must be finite"),
    ({"body": {**BEAM, "length": "2"}}, "length is '2'; it must be a number in m"),
    ({"body": {**BEAM, "length": True}}, "length is True; it must be a number in m"),
    ({"body": {**BEAM, "length": None}}, "length is None; it must be a number in m"),
    ({"body": {**BEAM, "EI": -2}}, "EI is -2.0 N m^2; it must be positive"),
    ({"body": {**BEAM, "EI": {"y": -2}}}, "EI.y is -2.0 N m^2; it must be positive"),
    ({"body": {**BEAM, "EI": {"w": 2}}}, "EI has the unknown key 'w'; allowed keys are y, z"),
    ({"body": {**BEAM, "EI": {"y": 2}}}, "EI.z is missing; modes.z is 2, which needs EI.z [N m^2]"),
    ({"body": {**BEAM, "EI": None}}, "EI.y is missing; modes.y is 2, which needs EI.y [N m^2]"),
    ({"body": {**BEAM, "GJ": 0}}, "GJ is 0.0 N m^2; it must be positive"),
    ({"body": {**BEAM, "EA": -1}}, "EA is -1.0 N; it must be positive"),
    ({"body": {**BEAM, "modes": {"torsion": 1}}}, "GJ is missing; modes.torsion is 1, which needs GJ [N m^2]"),
    ({"body": {**BEAM, "modes": {"axial": 3}}}, "EA is missing; modes.axial is 3, which needs EA [N]"),
    ({"body": {**BEAM, "polar_inertia": -1}}, "polar_inertia is -1.0 kg m; it must be zero or positive"),
    ({"body": {**BEAM, "mass_per_length": 0, "mass": None}}, "mass_per_length is 0.0 kg/m; it must be positive"),
    ({"body": {**BEAM, "mass": None}},
     "mass is missing; give one of mass, mass_per_length, sections, or material and section"),
    ({"body": {**BEAM, "mass_per_length": 2}},
     "mass is given together with mass_per_length; give only one of mass, mass_per_length, sections, or material and "
     "section"),
    ({"body": {**BEAM, "material": ALUMINIUM, "section": TUBE}},
     "mass is given together with material; give only one of mass, mass_per_length, sections, or material and section"),
    ({"body": {**BEAM, "section": TUBE}}, "material is missing; section and material must be given together"),
    ({"body": {**BEAM, "material": ALUMINIUM}}, "section is missing; material and section must be given together"),
    ({"body": {**BEAM, "modes": 2}}, "modes is 2; it must be a table such as {y = 2, z = 2}"),
    ({"body": {**BEAM, "modes": {"y": -1}}}, "modes.y is -1; it must be an integer from 0 to 40"),
    ({"body": {**BEAM, "modes": {"y": 41}}}, "modes.y is 41; it must be an integer from 0 to 40"),
    ({"body": {**BEAM, "modes": {"y": 1.5}}}, "modes.y is 1.5; it must be an integer from 0 to 40"),
    ({"body": {**BEAM, "modes": {"y": True}}}, "modes.y is True; it must be an integer from 0 to 40"),
    ({"body": {**BEAM, "modes": {"x": 1}}}, "modes has the unknown key 'x'; allowed keys are y, z, torsion, axial"),
    ({"body": {**BEAM, "shapes": 3}},
     "shapes is 3; it must be the name of a family or an object with a method 'basis'"),
    ({"body": {**BEAM, "damping": -0.1}}, "damping is -0.1; it must be zero or positive"),
    ({"body": {**BEAM, "damping": [0, 0, -1, 0]}}, "damping[2] is -1.0; it must be zero or positive"),
    ({"body": {**BEAM, "damping": [0, 0, 0]}}, "damping has 3 ratios; give one number, or 4 numbers, one per mode"),
    ({"body": {**BEAM, "damping": {"y": [0.1]}}},
     "damping.y has 1 ratio; give one number, or 2 numbers, one per mode"),
    ({"body": {**BEAM, "damping": {"y": [0.1, "a"]}}}, "damping.y[1] is 'a'; it must be a number"),
    ({"body": {**BEAM, "damping": {"x": 0.1}}},
     "damping has the unknown key 'x'; allowed keys are y, z, torsion, axial"),
    ({"body": {**BEAM, "lenght": 1}},
     "unknown key 'lenght'; did you mean 'length'? Allowed keys are length, mass, mass_per_length, EI, GJ, EA, "
     "polar_inertia, modes, shapes, damping, material, section, section_tip, segments, initial_angles, foreshortening, "
     "next_joint, sections, tau, loss_factor, rayleigh, lumps, shear, shear_coefficient, rotary_inertia"),
    ({"body": {"type": "beam", "mass": 1.0, "EI": 1.0}}, "length is missing"),
    ({"body": {"type": "bem"}},
     "body.type is 'bem'; did you mean 'beam'? It must be 'rigid', 'frame', 'beam' or 'finite-element'"),
    ({"body": {"length": 1}}, "body.type is missing; it must be 'rigid', 'frame', 'beam' or 'finite-element'"),
    ({"body": 3}, "body is 3; it must be a Rigid, Frame, Beam or FiniteElement"),
    # section and material
    ({"body": {"type": "beam", "length": 1, "material": {"E": -1, "density": 1}, "section": TUBE}},
     "material.E is -1.0 N/m^2; it must be positive"),
    ({"body": {"type": "beam", "length": 1, "material": {"E": 1}, "section": TUBE}}, "material.density is missing"),
    ({"body": {"type": "beam", "length": 1, "material": 7, "section": TUBE}},
     "material is 7; it must be a Material"),
    ({"body": {"type": "beam", "length": 1, "material": {**ALUMINIUM, "poisson": 0.6}, "section": TUBE}},
     "material.poisson is 0.6; it must be above -1 and at most 0.5"),
    ({"body": {"type": "beam", "length": 1, "material": {**ALUMINIUM, "G": 1}, "section": TUBE}},
     "material.G is given together with poisson; give only one"),
    ({"body": {"type": "beam", "length": 1, "material": {"E": 1, "density": 1}, "section": TUBE,
               "modes": {"torsion": 1}}},
     "material.G is missing; modes.torsion is 1, which needs material.G [N/m^2] or material.poisson"),
    ({"body": {"type": "beam", "length": 1, "material": ALUMINIUM, "section": {**TUBE, "thickness": 0.06}}},
     "section.thickness is 0.06 m; it must be at most half the outer diameter, 0.05 m"),
    ({"body": {"type": "beam", "length": 1, "material": ALUMINIUM, "section": {**TUBE, "wall": 1}}},
     "section: unknown key 'wall'; allowed keys are outer_diameter, thickness"),
    ({"body": {"type": "beam", "length": 1, "material": ALUMINIUM,
               "section": {"type": "box", "width": 0.1, "height": 0.2, "thickness": 0.05}}},
     "section.thickness is 0.05 m; it must be less than half the smaller side, 0.1 m"),
    ({"body": {"type": "beam", "length": 1, "material": ALUMINIUM, "section": {"type": "pipe"}}},
     "section.type is 'pipe'; it must be 'rod', 'tube' or 'box'"),
    # rigid bodies and inertias
    ({"body": {**RIGID, "length": -1}}, "length is -1.0 m; it must be zero or positive"),
    ({"body": {**RIGID, "mass": 0}}, "mass is 0.0 kg; it must be positive"),
    ({"body": {**RIGID, "com": [0, 0]}}, "com has 2 entries; it must have three"),
    ({"body": {**RIGID, "inertia": -1}}, "inertia is -1.0 kg m^2; it must be zero or positive"),
    ({"body": {**RIGID, "inertia": [1, -1, 1]}}, "inertia[1] is -1.0 kg m^2; it must be zero or positive"),
    ({"body": {**RIGID, "inertia": [1, 1]}},
     "inertia has 2 entries; it must be one number, three principal values or a 3 x 3 tensor"),
    ({"body": {**RIGID, "inertia": "x"}},
     "inertia is 'x'; it must be one number, three principal values or a 3 x 3 tensor"),
    ({"body": {**RIGID, "inertia": [[1, 0, 0], 1, [0, 0, 1]]}}, "inertia[1] is 1; it must be a row of three numbers"),
    ({"body": {**RIGID, "inertia": [[1, 0, 0], [0, 1], [0, 0, 1]]}},
     "inertia[1] has 2 entries; it must be a row of three numbers"),
    ({"body": {**RIGID, "inertia": [[1, 0, 0], [0, 1, math.nan], [0, 0, 1]]}},
     "inertia[1][2] is nan kg m^2; it must be finite"),
    ({"body": {**RIGID, "inertia": [[1, 0, 0], [1, 1, 0], [0, 0, 1]]}},
     "inertia is [(1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 0.0, 1.0)]; it must be symmetric"),
    ({"body": {**RIGID, "inertia": [[1, 0, 0], [0, -2, 0], [0, 0, 1]]}},
     "inertia has the principal value -2.0 kg m^2; none may be negative"),
    # link
    ({"hub_mass": -1}, "hub_mass is -1.0 kg; it must be zero or positive"),
    ({"hub_inertia": [1, 2, -3]}, "hub_inertia[2] is -3.0 kg m^2; it must be zero or positive"),
    ({"hub_mas": 1}, "unknown key 'hub_mas'; did you mean 'hub_mass'? Allowed keys are name, joint, body, placement, "
     "hub_mass, hub_inertia, parent, at, payload"),
    ({"placement": 3}, "placement is 3; it must be a Pose"),
    ({"placement": {"xyz": [0, 0, "a"]}}, "placement.xyz[2] is 'a'; it must be a number in m"),
    ({"placement": {"rpy": 3}}, "placement.rpy is 3; it must be a list of three numbers"),
    ({"placement": {"rot": 3}}, "placement: unknown key 'rot'; allowed keys are xyz, rpy"),
    # joint
    ({"joint": {"type": "revolute", "axis": [0, 0, 2]}},
     "joint.axis is (0.0, 0.0, 2.0), of length 2; it must be a unit vector"),
    ({"joint": {"type": "prismatic", "axis": [0, 0, 0]}},
     "joint.axis is (0.0, 0.0, 0.0), of length 0; it must be a unit vector"),
    ({"joint": {"type": "revolute", "damping": -1}}, "joint.damping is -1.0 N m s/rad; it must be zero or positive"),
    ({"joint": {"type": "prismatic", "damping": -1}}, "joint.damping is -1.0 N s/m; it must be zero or positive"),
    ({"joint": {"type": "revolute", "gear_ratio": 0}}, "joint.gear_ratio is 0.0; it must be different from zero"),
    ({"joint": {"type": "revolute", "stiffness": 0, "rotor_inertia": 1}},
     "joint.stiffness is 0.0 N m/rad; it must be positive"),
    ({"joint": {"type": "revolute", "stiffness": 1}},
     "joint.rotor_inertia is 0.0 kg m^2; a joint with stiffness has a motor, whose inertia must be positive"),
    ({"joint": {"type": "prismatic", "spring_damping": 1}},
     "joint.spring_damping is 1.0 N s/m; without stiffness it must be 0"),
    ({"joint": {"type": "fixed", "axis": [0, 0, 1]}}, "joint: unknown key 'axis'; the only allowed key is type"),
    ({"joint": {"type": "hinge"}}, f"joint.type is 'hinge'; it must be {JOINTS}"),
    ({"joint": {"axis": [0, 0, 1]}},
     f"joint.type is missing; it must be {JOINTS}"),
    ({"joint": {"type": "revolute", "rotor": "fixed"}},
     "joint.rotor is 'fixed'; it must be 'relative' or 'absolute'"),
    # telescope
    ({"joint": {"type": "telescope", "free_length": 0}}, "joint.free_length is 0.0 m; it must be positive"),
    ({"joint": {"type": "telescope", "free_length": 2.5}},
     "joint.free_length is 2.5 m; it must be at most the total length, 2.0 m"),
    ({"joint": {"type": "telescope", "free_length": 2.5, "total_length": 2.2}},
     "joint.free_length is 2.5 m; it must be at most the total length, 2.2 m"),
    ({"joint": {"type": "telescope", "total_length": 2.2}},
     "joint.total_length is 2.2 m; it must be the length of the body, 2.0 m"),
    ({"joint": {"type": "telescope", "axis": [1, 0, 0]}}, "joint: unknown key 'axis'; allowed keys are total_length, "
     "free_length, convection, wave_numbers, rotor_inertia, gear_ratio, damping, stiffness, spring_damping, rotor, "
     "drive, preset, passive"),
    ({"joint": {"type": "telescope", "convection": "none"}},
     "joint.convection is 'none'; it must be 'material' or 'paper'"),
    ({"joint": {"type": "telescope", "stiffness": 1}},
     "joint.rotor_inertia is 0.0 kg m^2; a joint with stiffness has a motor, whose inertia must be positive"),
    ({"joint": {"type": "telescope"}, "body": RIGID},
     "body is a Rigid; a telescope needs a Beam (modes = {} for a rigid one)"),
    ({"joint": {"type": "telescope"}, "body": {**BEAM, "foreshortening": True}},
     "foreshortening is true, which the beam of a telescope does not support; it must be false"),
    ({"joint": {"type": "telescope"}, "body": {"type": "beam", "length": 1, "material": ALUMINIUM, "section": TUBE,
                                               "section_tip": TUBE}},
     "section_tip is given; the beam of a telescope must be uniform"),
    # tapered beams and the ways to join
    ({"body": {**BEAM, "section_tip": TUBE}}, "section is missing; section_tip needs section"),
    ({"body": {"type": "beam", "length": 1, "material": ALUMINIUM, "section": TUBE,
               "section_tip": {"type": "rod", "diameter": 1}}},
     "section_tip.type is 'rod'; it must be the same type as section, 'tube'"),
    ({"body": {"type": "beam", "length": 1, "material": ALUMINIUM, "section": TUBE,
               "section_tip": {**TUBE, "thickness": 0}}}, "section_tip.thickness is 0.0 m; it must be positive"),
    ({"body": {"type": "beam", "length": 1, "material": ALUMINIUM, "section": {"type": "box", "width": 1, "height": 1},
               "section_tip": {"type": "box", "width": 1, "height": 1, "thickness": 0.1}}},
     "section_tip.thickness must be given if section.thickness is given, and only then"),
    ({"body": {**BEAM, "next_joint": "tip"}}, "next_joint is 'tip'; it must be 'slope' or 'chord'"),
    ({"body": {**BEAM, "foreshortening": 1}}, "foreshortening is 1; it must be true or false"),
    ({"joint": None}, "joint is None; use Fixed() for a rigid connection, or leave it out for a Revolute"),
    ({"joint": "revolute"},
     "joint is 'revolute'; it must be a Revolute, Prismatic, Telescope, Fixed, Gear, Universal, Ball, Planar or Screw"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "wanted"), FOREARM, ids=[wanted[:40] for _, wanted in FOREARM])
def test_a_wrong_link_is_named_with_its_field(changes, wanted):
    assert message(Arm, **an_arm(**changes)) == f"link 'forearm': {wanted}"
    assert message(Link, **an_arm(**changes)["links"][1]) == f"link 'forearm': {wanted}"


def test_an_unknown_family_lists_the_known_ones():
    line = message(Arm, **an_arm(body={**BEAM, "shapes": "wavy"}))
    assert line.startswith("link 'forearm': shapes is 'wavy'; known families are ")
    assert all(repr(name) in line for name in KNOWN_SHAPES)


def test_a_family_class_is_not_a_family_object():
    line = message(Arm, **an_arm(body={**BEAM, "shapes": Family}))
    assert line.startswith("link 'forearm': shapes is <class ")


@pytest.mark.parametrize(
    ("build", "data", "wanted"),
    [
        (Beam, {"length": -1, "mass": 1, "EI": 1}, "Beam: length is -1.0 m; it must be positive"),
        (Beam, {"length": 1, "mass": 1}, "Beam: EI.y is missing; modes.y is 2, which needs EI.y [N m^2]"),
        (Rod, {"diameter": 0}, "Rod: diameter is 0.0 m; it must be positive"),
        (Revolute, {"type": "prismatic"}, "Revolute: type is 'prismatic'; it must be 'revolute'"),
        (Payload, {"mass": 0}, "Payload: mass is 0.0 kg; it must be positive; leave out the payload if there is none"),
        (Pose, {"x": 1, "self": 2}, "Pose: unknown key 'x'; allowed keys are xyz, rpy"),
        (Link, {"body": BEAM}, "Link: name is missing"),
        (Link, {"name": "", "body": BEAM}, "Link: name is ''; it must be one line and not empty"),
        (Link, {"name": "a.b", "body": BEAM}, "link 'a.b': name is 'a.b'; it must have no dots and no spaces"),
        (Link, {"name": "a b", "body": BEAM}, "link 'a b': name is 'a b'; it must have no dots and no spaces"),
        (Link, {"name": 3, "body": BEAM}, "Link: name is 3; it must be a text"),
        (Arm, {}, "Arm: name is missing (and 1 more)"),
        (Arm, {"name": "a\nb", "links": [{"name": "a", "body": BEAM}]},
         "Arm: name is 'a\\nb'; it must be one line and not empty"),
        (Arm, {**an_arm(), "links": []}, "Arm: links is empty; an arm needs at least one link"),
        (Arm, {**an_arm(), "links": 3}, "Arm: links is 3; it must be a list of links"),
        (Arm, {**an_arm(), "links": [3]}, "link 1 is 3; it must be a Link"),
        (Arm, {**an_arm(), "links": [{"body": BEAM}]}, "link 1: name is missing"),
        (Arm, {**an_arm(), "gravity": [0, math.nan, 0]}, "Arm: gravity[1] is nan m/s^2; it must be finite"),
        (
            Arm,
            {**an_arm(), "payload": {"mass": -1}},
            "Arm: payload.mass is -1.0 kg; it must be positive; leave out the payload if there is none",
        ),
        (Arm, {**an_arm(), "payload": 1}, "Arm: payload is 1; it must be a Payload"),
        (Arm, {**an_arm(), "description": 1}, "Arm: description is 1; it must be a text"),
        (Arm, {**an_arm(), "joints": 1},
         "Arm: unknown key 'joints'; allowed keys are name, links, payload, gravity, forces, contacts, base, "
         "description, couplings, struts, closures, tip, cables, bushings, drags"),
        (Arm, {**an_arm(name="upper")},
         "link 'upper': name is the same for links 1 and 2; give each link a different name"),
    ],
)  # fmt: skip
def test_a_wrong_part_is_named(build, data, wanted):
    assert message(build, **data) == wanted


def test_the_first_of_several_errors_is_reported():
    body = {"type": "beam", "length": -1, "mass": -2, "EI": -3}
    line = message(Arm, **an_arm(body=body))
    assert line == "link 'forearm': length is -1.0 m; it must be positive (and 2 more)"


def test_a_long_value_is_shortened():
    assert len(message(Arm, **an_arm(body="x" * 1000))) < 150
    assert len(message(Arm, **an_arm(hub_mass=np.zeros((50, 50))))) < 150


def test_fields_are_given_by_name():
    assert message(Beam, 1.0) == "Beam: give its fields by name, as in Beam(field=value)"


def test_a_description_is_frozen():
    def change():
        Pose().xyz = (1, 2, 3)

    assert message(change) == "Pose: xyz cannot be changed; use replace(xyz=...) for a copy"


def test_replace_validates():
    beam = Beam(**BEAM)
    assert beam.replace(length=3.0).length == 3.0 and beam.length == 2.0
    assert message(beam.replace, length=-3.0) == "Beam: length is -3.0 m; it must be positive"


# -- an error's parts --------------------------------------------------------------------------------------------------


def raised(build, *args, **data):
    with pytest.raises(DescriptionError) as caught:
        build(*args, **data)
    return caught.value


@pytest.mark.parametrize(
    ("changes", "where", "field", "message"),
    [
        ({"hub_mass": -1}, "link 'forearm'", "hub_mass", "is -1.0 kg; it must be zero or positive"),
        ({"body": 3}, "link 'forearm'", "body", "is 3; it must be a Rigid, Frame, Beam or FiniteElement"),
        ({"body": {**BEAM, "mass": -1}}, "link 'forearm'", "mass", "is -1.0 kg; it must be positive"),
        ({"joint": {"type": "revolute", "axis": [0, 0, "1"]}}, "link 'forearm'", "joint.axis[2]",
         "is '1'; it must be a number"),
        ({"joint": {"type": "fixed", "axis": 1}}, "link 'forearm'", "joint",
         "unknown key 'axis'; the only allowed key is type"),
        ({"colour": 1}, "link 'forearm'", "",
         "unknown key 'colour'; allowed keys are name, joint, body, placement, hub_mass, hub_inertia, parent, at, "
         "payload"),
        ({"name": 3}, "link 2", "name", "is 3; it must be a text"),
        ({"name": "upper"}, "link 'upper'", "name", "is the same for links 1 and 2; give each link a different name"),
    ],
)  # fmt: skip
def test_an_error_has_its_parts(changes, where, field, message):
    """Whose fault, which field, what is wrong: together the line; kept by copies, in another process, from a file."""
    error = raised(Arm, **an_arm(**changes))
    error.add_note("seen by a test")
    for each in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (each.where, each.field, each.message) == (where, field, message)
        assert str(each) == str(error)
        assert each.__notes__ == ["seen by a test"]
    told = error.inside("arm.toml", "Arm")
    assert (told.where, told.field, told.message) == (f"arm.toml: {where}", field, message)
    assert str(told) == f"arm.toml: {error}"
    again = pickle.loads(pickle.dumps(told))
    assert (str(again), again.where) == (str(told), told.where)


def test_an_error_of_a_file_as_a_whole_names_the_file():
    error = raised(Arm, **{**an_arm(), "gravity": 1})
    told = error.inside("arm.toml", "Arm")
    assert (error.where, told.where, told.field) == ("Arm", "arm.toml", "gravity")
    assert str(told) == "arm.toml: gravity is 1; it must be a list of three numbers"
    plain = DescriptionError("nothing moves").inside("arm.toml", "Arm")
    assert (str(plain), plain.where, plain.message) == ("arm.toml: nothing moves", "arm.toml", "nothing moves")


# -- kinds from outside ------------------------------------------------------------------------------------------------


class Wheel(Described):
    """A base of this test's own: what is defined here is no joint for the other tests."""

    type: str

    @classmethod
    def __pydantic_init_subclass__(cls, **_):
        own_type(cls, Wheel)


class Car(Described):
    joint: Annotated[Wheel, kind(Wheel)]


def wheel(tag, name="Tyre", **annotated):
    """A class defined as by a cell of a notebook, which may be run again."""
    fields = {"__annotations__": {"type": Literal[tag], **annotated}, "type": tag, "__qualname__": name}
    return type(Wheel)(name, (Wheel,), {**fields, "__module__": "notebook"})


def test_kinds_are_the_classes_that_state_a_type():
    first, plain = wheel("tyre"), type(Wheel)("Plain", (Wheel,), {})
    assert type(Car(joint={"type": "tyre"}).joint) is first
    again = wheel("tyre", pressure=float)
    made = Car(joint={"type": "tyre", "pressure": 2.0})
    assert type(made.joint) is again, "the class of the cell that was run last"
    assert Car(joint=first()).joint == first(), "an object made before is still one"
    for nothing in (Wheel(type="tyre"), plain(type="tyre"), first):
        assert message(Car, joint=nothing) == f"Car: joint is {shown(nothing)}; it must be a Tyre"


def test_a_field_of_a_class_from_outside_is_said_in_pydantics_words():
    wheel("tube", "Tube", pressure=float)
    said = message(Car, joint={"type": "tube", "pressure": "much"})
    assert said == "Car: joint.pressure is 'much'; input should be a valid number, unable to parse string as a number"


def test_what_a_validator_from_outside_says_is_passed_on():
    def even(value):
        raise ValueError("It is odd")

    wheel("hoop", "Hoop", spokes=Annotated[int, AfterValidator(even)])
    assert message(Car, joint={"type": "hoop", "spokes": 3}) == "Car: joint.spokes is 3; it is odd"


def test_a_type_belongs_to_one_class():
    """Else every file that says "revolute" would get the other class."""
    for base in (Revolute, Rigid):
        tag = base.model_fields["type"].default
        line = f"Mine: type is {tag!r}, which {base.__name__} already uses; give the class a different type"
        assert message(type(base), "Mine", (base,), {}) == line
        stated = {"__annotations__": {"type": Literal[tag]}, "type": tag}
        assert message(type(base), "Mine", (base.__base__,), stated) == line
        made = Link(name="a", joint={"type": "revolute"}, body={"type": "rigid", "length": 1, "mass": 1})
        assert (type(made.joint), type(made.body)) == (Revolute, Rigid)


@pytest.mark.parametrize("field", ["joint", "body"])
def test_what_is_common_to_all_kinds_is_none_of_them(field):
    base = {"joint": Joint(type="revolute"), "body": Body(type="rigid", length=1.0)}[field]
    line = message(Link, **{"name": "a", "body": Rigid(length=1.0, mass=1.0), field: base})
    assert line.startswith(f"link 'a': {field} is {type(base).__name__}(type=")


@pytest.mark.parametrize(
    ("length", "line"),
    [
        (-1, "Body: length is -1.0 m; it must be zero or positive"),
        ("1", "Body: length is '1'; it must be a number in m"),
        (None, "Body: length is None; it must be a number in m"),
    ],
)
def test_the_length_of_any_body_is_checked(length, line):
    assert message(Body, type="pogo", length=length) == line


# -- files -------------------------------------------------------------------------------------------------------------

FILE = """
name = "from a file"
gravity = [0, 0, -9.81]

[[links]]
name = "upper"
placement = { xyz = [0, 0, 1], rpy = [0, 0.5, 0] }
joint = { type = "revolute", axis = [0, 1, 0] }
body = { type = "rigid", length = 1.0, mass = 2.0 }
hub_mass = 1.5

[[links]]
name = "forearm"
body = { type = "beam", length = 1.0, mass = 2.0, EI = { y = 3.0, z = 4.0 } }

[payload]
mass = 1.0
inertia = [0.1, 0.2, 0.3]
"""


def test_a_file_mirrors_the_classes(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(FILE)
    upper = Link(name="upper", placement=Pose(xyz=(0, 0, 1), rpy=(0, 0.5, 0)), joint=Revolute(axis=(0, 1, 0)),
                 body=Rigid(length=1, mass=2), hub_mass=1.5)  # fmt: skip
    forearm = Link(name="forearm", body=Beam(length=1, mass=2, EI={"y": 3, "z": 4}))
    payload = Payload(mass=1, inertia=(0.1, 0.2, 0.3))
    wanted = Arm(name="from a file", links=[upper, forearm], payload=payload, gravity=(0, 0, -9.81))
    assert load(path) == load(str(path)) == wanted


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (FILE.replace("y = 3.0", "y = -2.0"), "link 'forearm': EI.y is -2.0 N m^2; it must be positive"),
        (FILE.replace("y = 3.0", "y = nan"), "link 'forearm': EI.y is nan N m^2; it must be finite"),
        (FILE.replace("gravity", "gravty"),
         "unknown key 'gravty'; did you mean 'gravity'? Allowed keys are name, links, payload, gravity, forces, "
         "contacts, base, description, couplings, struts, closures, tip, cables, bushings, drags"),
        (FILE.replace('"forearm"', '"upper"'),
         "link 'upper': name is the same for links 1 and 2; give each link a different name"),
        (FILE.replace("[[links]]", "[links]", 1).split("[[links]]")[0], "links is {'name': 'upper'"),
        (FILE[:200], "not a TOML file: "),
        (FILE.replace("hub_mass =", "hub_mass"),
         "not a TOML file: Expected '=' after a key in a key/value pair (at line 10"),
        ("a = " + "[" * 100_000, "not a TOML file: nested too deep"),
        ("", "name is missing (and 1 more)"),
        (b"name = 'x'\nlinks = '\xff'", "byte 0xff on line 2 is not UTF-8 text"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_named(tmp_path, monkeypatch, content, wanted):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arms").mkdir()
    (tmp_path / "arms" / "x.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert message(load, "arms/x.toml").startswith(f"arms/x.toml: {wanted}")


def test_a_file_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message(load, "x.toml") == "x.toml: cannot be read: No such file or directory"
    (tmp_path / "d.toml").mkdir()
    assert message(load, "d.toml").startswith("d.toml: cannot be read: ")
    assert message(load, "a\0.toml").startswith("'a\\x00.toml': cannot be read: ")
    assert message(load, "a\n.toml").startswith("'a\\n.toml': cannot be read: ")


def test_a_byte_order_mark_is_no_error(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1\r\n")
    assert read_toml(path, "x.toml") == {"a": 1}


def test_an_unknown_name_lists_the_bundled_arms():
    line = message(load, "kanadarm")
    assert line.startswith("unknown arm 'kanadarm'; did you mean 'canadarm'? Give the path of a ") and all(
        name in line for name in bundled()
    )
    assert message(load, 3) == "load: 3 is neither the name of an arm nor a path"


# -- bundled arms ------------------------------------------------------------------------------------------------------


def test_what_is_bundled():
    assert {"canadarm", "rigid-two-link", "spatial-6r", "subudhi-morris"} <= set(bundled()) and list(
        bundled()
    ) == sorted(bundled())


@pytest.mark.parametrize("name", bundled())
def test_a_bundled_arm_loads(name):
    arm = load(name)
    assert arm.name == name and arm.description
    assert Arm.from_json(arm.canonical()) == arm
    assert len(arm.rigid().joints) == len(arm.joints) == len(arm.inputs)


def test_the_canadarm_is_table_2_of_mohan_and_saha():
    arm = load("canadarm")
    facts = [(link.body.length, link.body.total_mass, link.body.EI, link.joint.axis) for link in arm.links]
    z = (0.0, 0.0, 1.0)
    assert facts == [(6.0, 140.0, 1e5, z), (7.0, 85.0, 1e5, z), (2.0, 95.0, 1e5, z)]
    assert arm.payload is None and arm.gravity == (0, 0, 0)
    assert all(link.body.counts == {"y": 2, "z": 0, "torsion": 0, "axial": 0} for link in arm.links)


def test_subudhi_morris_is_table_1():
    arm = load("subudhi-morris")
    for link in arm.links:
        assert (link.body.length, link.body.m, link.body.EI) == (0.5, 0.2, 1.0)
        assert (link.joint.rotor_inertia, link.joint.gear_ratio, link.joint.stiffness) == (0.02, 1.0, None)
    assert arm.payload == Payload(mass=0.1, inertia=0.005) and arm.gravity == (0, 0, 0)


def test_the_spatial_arm_reaches_three_metres():
    arm = load("spatial-6r")
    assert len(arm.inputs) == 6 and sum(isinstance(link.body, Beam) for link in arm.links) == 2
    assert sum(link.body.length for link in arm.links[1:]) == pytest.approx(3.0)


def test_the_description_needs_no_heavy_library():
    heavy = ["casadi", "llvmlite", "scipy", "xarray", "sympy", "control", "matplotlib"]
    code = f"import sys, flexarm.description.load; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_was_found_of_an_arm_is_no_field_of_it():
    """What follows from its fields is found once, and seen by nothing that copies, compares or writes an arm."""
    arm, same = (fa.load("rigid-two-link") for _ in range(2))
    found = {name for name in dir(type(arm)) if isinstance(getattr(type(arm), name), cached_property)}
    for name in found:
        getattr(arm, name)
    assert {"layout", "joints", "parents"} <= found <= arm.__dict__.keys()
    assert arm.layout is arm.layout
    assert dict(arm).keys() == type(arm).model_fields.keys()
    assert arm == same and hash(arm) == hash(same) and repr(arm) == repr(same) and arm.canonical() == same.canonical()
    assert pickle.loads(pickle.dumps(arm)) == same
    longer = arm.replace(links=[*arm.links, fa.Link(name="third", body=fa.Rigid(length=0.2, mass=0.1))])
    assert len(longer.layout) == 1 + len(arm.layout) and longer.joints == (0, 1, 2)
