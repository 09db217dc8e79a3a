"""What an arm looks like, as numbers: what its description says, and what is chosen where it says nothing."""

import json
import math

import numpy as np
import pytest
from random_arms import random_arm

import flexarm as fa
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError
from flexarm.pictures.solids import payload_radius, solids

ALUMINIUM = {"E": 70e9, "density": 2700.0}


def arm_of(*bodies, **given):
    return Arm(name="arm", links=[{"name": f"link-{i}", "body": body} for i, body in enumerate(bodies)], **given)


def looks(arm):
    return solids(fa.Model(arm))


def beam(**given):
    return {"type": "beam", "length": 1.0, "mass": 1.0, "EI": 10.0, "modes": {"y": 1}} | given


def rigid(**given):
    return {"type": "rigid", "length": 1.0, "mass": 1.0} | given


@pytest.mark.parametrize(
    ("section", "tip", "round_", "base", "end"),
    [
        ({"type": "rod", "diameter": 0.05}, None, True, [0.05, 0.05], [0.05, 0.05]),
        ({"type": "tube", "outer_diameter": 0.08, "thickness": 0.002}, None, True, [0.08, 0.08], [0.08, 0.08]),
        ({"type": "box", "width": 0.03, "height": 0.09}, None, False, [0.03, 0.09], [0.03, 0.09]),
        ({"type": "rod", "diameter": 0.05}, {"type": "rod", "diameter": 0.02}, True, [0.05, 0.05], [0.02, 0.02]),
    ],
)
def test_sections_are_those_of_the_description(section, tip, round_, base, end):
    body = beam(mass=None, EI=None, material=ALUMINIUM, section=section, section_tip=tip)
    (link,) = looks(arm_of({key: value for key, value in body.items() if value is not None}))["links"]
    assert (link["round"], link["base"], link["tip"], link["length"]) == (round_, base, end, 1.0)


@pytest.mark.parametrize(
    ("given", "ratio"),
    [
        ({"modes": {"y": 2}}, 0.4),  # bends along y: thin there
        ({"modes": {"z": 2}}, 2.5),
        ({"modes": {"y": 1, "z": 1}}, 1.0),
        ({"modes": {"y": 1, "z": 1}, "EI": {"y": 4.0, "z": 1.0}}, 2.0),  # I goes with the square of the extent
        ({"modes": {"y": 1, "z": 1}, "EI": {"y": 1.0, "z": 1e6}}, 0.2),
        ({"modes": {}}, 1.0),
    ],
)
def test_a_beam_without_a_section_shows_how_it_bends(given, ratio):
    (link,) = looks(arm_of(beam(**given)))["links"]
    y, z = link["base"]
    assert y / z == pytest.approx(ratio) and link["round"] == (ratio == 1.0)
    assert math.sqrt(y * z) == pytest.approx(1 / 40), "slender"
    assert link["flexible"] == bool(given["modes"])


def test_what_is_too_thin_is_drawn_so_that_it_is_seen():
    section = {"type": "box", "width": 1e-5, "height": 0.02}
    body = {"type": "beam", "length": 1.0, "material": ALUMINIUM, "section": section, "modes": {"y": 1}}
    (link,) = looks(arm_of(body))["links"]
    assert link["base"] == [1 / 400, 0.02]


def test_rigid_links_lie_between_their_neighbours():
    section = {"type": "rod", "diameter": 0.05}
    flexible = {"type": "beam", "length": 1.0, "material": ALUMINIUM, "section": section, "modes": {"y": 1}}
    first, _, last, tiny = looks(arm_of(rigid(), flexible, rigid(), rigid(length=0.01)))["links"]
    for link in (first, last):
        assert link["base"] == link["tip"] == pytest.approx([0.055, 0.055])
    assert max(tiny["base"]) < 0.02, "no wider than it is long, or what can be seen"
    without = looks(arm_of(rigid(length=0.0), flexible))["links"][0]
    assert without["base"] == pytest.approx([0.055, 0.055]), "of one without length its joint alone is drawn"
    alone = looks(arm_of(rigid()))["links"][0]
    assert alone["base"] == pytest.approx([1 / 28] * 2) and not alone["flexible"]


def test_joints_say_their_kind_axis_and_places():
    """A prismatic, an elastic revolute, a fixed joint and a telescope; their coordinates in q."""
    links = [
        {"name": "a", "joint": {"type": "prismatic", "axis": [0, 0, 1]}, "body": rigid()},
        {"name": "b", "joint": {"type": "revolute", "stiffness": 10.0, "rotor_inertia": 0.1}, "body": beam()},
        {"name": "c", "joint": {"type": "fixed"}, "body": rigid()},
        {"name": "d", "joint": {"type": "telescope"}, "body": beam(length=2.0, modes={"y": 1})},
    ]
    arm = Arm(name="all", links=links)
    joints = [link["joint"] for link in looks(arm)["links"]]
    assert [joint["kind"] for joint in joints] == ["prismatic", "revolute", "fixed", "telescope"]
    assert [joint["elastic"] for joint in joints] == [False, True, False, False]
    assert [joint["axis"] for joint in joints] == [[0, 0, 1], [0, 0, 1], [0, 0, 0], [1, 0, 0]]
    names = arm.coordinates
    named = [(names[j["coordinate"]] if j["coordinate"] is not None else None) for j in joints]
    assert named == ["a.joint", "b.joint", None, "d.joint"]
    assert [j["motor"] and names[j["motor"]] for j in joints] == [None, "b.motor", None, None]


def test_a_hub_is_as_large_as_its_mass():
    """A cylinder of aluminium, twice as high as its radius, between the joint's own size and 1.7 times that."""
    arm = fa.load("spatial-6r")
    plain, heavy, huge = (
        looks(arm.replace(links=[*arm.links[:1], arm.links[1].replace(hub_mass=m), *arm.links[2:]]))["links"][1][
            "joint"
        ]
        for m in (0.0, 20.0, 1e6)
    )
    assert 2 * math.pi * heavy["radius"] ** 3 * 2700 == pytest.approx(20.0)
    assert huge["radius"] == pytest.approx(1.7 * plain["radius"])


@pytest.mark.parametrize(
    ("name", "plane", "up"),
    [
        ("canadarm", [0, 0, 1], [0, 0, 1]),
        ("rigid-two-link", [0, 0, 1], [0, 1, 0]),
        ("spatial-6r", None, [0, 0, 1]),
        ("theodore-ghosal", None, [0, 0, 1]),
        ("lin-lewis-azimuth-elevation", None, [0, 0, 1]),
    ],
)
def test_planes_and_what_is_up(name, plane, up):
    found = looks(fa.load(name))
    assert found["plane"] == (None if plane is None else pytest.approx(plane, abs=1e-12))
    assert found["up"] == pytest.approx(up, abs=1e-12)


def test_a_plane_is_one_of_the_base_frame():
    """The first joint placed on its side: all links turn about the base's y."""
    links = [
        {"name": "a", "placement": {"rpy": [-math.pi / 2, 0, 0]}, "body": rigid()},
        {"name": "b", "placement": {"rpy": [0, 0, 0.3]}, "body": rigid()},
    ]
    found = looks(Arm(name="upright", links=links, gravity=(0, 0, -9.81)))
    assert found["plane"] == pytest.approx([0, 1, 0], abs=1e-12)
    assert found["base"]["axis"] == pytest.approx([0, 1, 0], abs=1e-12)


def test_an_offset_out_of_the_plane_and_an_arm_that_only_slides_have_none():
    links = [{"name": "a", "body": rigid()}, {"name": "b", "placement": {"xyz": [0, 0, 0.1]}, "body": rigid()}]
    assert looks(Arm(name="offset", links=links))["plane"] is None
    slide = {"name": "a", "joint": {"type": "prismatic"}, "body": rigid()}
    assert looks(Arm(name="slide", links=[slide]))["plane"] is None


def test_a_payload_is_a_ball_of_its_mass():
    arm = fa.load("spatial-6r")
    ball = looks(arm)["payload"]
    assert ball["mass"] == 5.0
    assert 4 / 3 * math.pi * ball["radius"] ** 3 * 2700 == pytest.approx(5.0)
    assert looks(arm.replace(payload=None))["payload"] is None
    assert payload_radius(1e-9, 0.02, 3.0) == pytest.approx(0.03), "seen beside the tip"
    assert payload_radius(1e9, 0.02, 3.0) == pytest.approx(0.25), "smaller than the arm"


@pytest.mark.parametrize("seed", range(12))
def test_any_arm_has_solids_of_finite_positive_size(seed):
    """Random ones, with all kinds of joints, tapers and telescopes: JSON, and nothing flat."""
    arm = random_arm(seed, telescope=seed % 3 == 0, tapered=seed % 2 == 0)
    found = looks(arm)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for link, given in zip(found["links"], arm.links, strict=True):
        assert link["name"] == given.name and link["length"] == given.body.length
        sizes = [*link["base"], *link["tip"], link["joint"]["radius"], link["joint"]["half"]]
        assert min(sizes) > 0 and max(sizes) < 2 * found["reach"]
    assert np.linalg.norm(found["up"]) == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", ["canadarm", None, fa.load("canadarm")])
def test_only_models_have_solids(wrong):
    with pytest.raises(DescriptionError, match=r"^solids: model is .*; it must be a Model$"):
        solids(wrong)


def test_a_varied_arm_looks_as_it_runs():
    arm = arm_of(beam(), rigid(), payload={"mass": 0.1})
    longer = fa.Model(arm, vary=["link-0.length", "payload.mass"]).at({"link-0.length": 2.0, "payload.mass": 3.0})
    found = solids(longer)
    assert found == solids(fa.Model(longer.arm_at()))
    assert (found["links"][0]["length"], found["payload"]["mass"]) == (2.0, 3.0)


def test_where_a_description_has_no_place_for_a_number_an_arm_looks_as_described():
    sections = {"section": {"type": "rod", "diameter": 0.05}, "section_tip": {"type": "rod", "diameter": 0.02}}
    arm = arm_of({"type": "beam", "length": 1.0, "modes": {"y": 1}, "material": ALUMINIUM, **sections})
    model = fa.Model(arm, vary=["link-0.mass"])
    heavier = model.at(1.5 * model.p)
    with pytest.raises(DescriptionError):
        heavier.arm_at()
    assert solids(heavier) == solids(model)
