"""Pictures, pages, figures and tables of trees and of arms on a free base: what is drawn is the mechanics'."""

import json
from dataclasses import astuple

import numpy as np
import pytest
from alive import made, run
from command_line import caller
from free_arms import I, bus, state, torso
from javascript import needs_node

import flexarm as fa
from flexarm import attitude, quaternions
from flexarm.description.tree import carriers
from flexarm.errors import DescriptionError
from flexarm.model.drawing import drawn
from flexarm.pictures.animate import Options, Stage
from flexarm.pictures.curves import panels
from flexarm.pictures.notebook import of_arm, rest
from flexarm.pictures.sketch import body, held, pose, skeleton, solid
from flexarm.pictures.solids import solids
from flexarm.pictures.view import viewed
from flexarm.plots import draw, draw_frequencies, draw_modes
from flexarm.plots.recorded import motions
from flexarm.plots.run import base_motion, thrusters

EXACT = 1e-12
CLOSE = 2e-6
"""Of an arm's reach: a page has q in single precision."""


@pytest.fixture(scope="module")
def model() -> fa.Model:
    return fa.Model(bus())


@pytest.fixture(scope="module")
def result(model: fa.Model):
    q, v = state(model)
    reference = fa.Quintic([0.1, 0.8, -0.5], [1.0, 0.2, 0.3], 1.0)
    u = [0.02, 0.5, -0.3, 2.0, 0.5]
    return fa.simulate(model, 1.0, u=u, q0=q, qd0=v, reference=reference, samples=41, name="run", progress=False)


# -- what an arm looks like --------------------------------------------------------------------------------------------


def test_a_free_base_is_the_uniform_box_of_its_mass_and_inertia(model):
    base = solids(model)["base"]
    size, R = np.array(base["box"]["size"]), np.array(base["box"]["R"])
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=EXACT)
    assert np.linalg.det(R) == pytest.approx(1.0)
    own = 150.0 / 12.0 * np.diag(np.sum(size**2) - size**2)
    np.testing.assert_allclose(R @ own @ R.T, I, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(base["box"]["xyz"], [0.05, 0.0, 0.02])


def test_a_base_of_any_inertia_is_seen():
    """A rod, whose box has no width, and one far too large for its mass."""
    for inertia in ([1e-9, 40.0, 40.0], [1e9, 1e9, 1e9]):
        look = solids(fa.Model(bus(base=fa.FreeBase(mass=100.0, inertia=inertia))))
        size = np.array(look["base"]["box"]["size"])
        assert np.isfinite(size).all() and (size > 0.02 * look["reach"]).all() and (size <= 4 * look["reach"]).all()


def test_nozzles_are_those_of_forces_and_a_box_is_open_where_something_stands_in_it(model):
    base = solids(model)["base"]
    assert base["nozzles"] == [{"at": [-0.5, 0.0, 0.2], "direction": [1.0, 0.0, 0.0]}]
    assert base["free"] and base["open"]
    links = [link for link in bus().links if link.name in ("upper", "fore")]
    outside = solids(fa.Model(bus(links=links)))["base"]
    assert not outside["open"] and [root["link"] for root in outside["roots"]] == [0]
    fixed = solids(fa.Model(torso()))["base"]
    assert not fixed["free"] and fixed["box"] is None and not fixed["open"]


def test_a_rotor_is_the_disc_of_its_mass_and_inertia(model):
    links = {link["name"]: link for link in solids(model)["links"]}
    wheel = links["wheel"]["wheel"]
    assert wheel["radius"] == pytest.approx(np.sqrt(2 * 0.1 / 4.0))  # J = m r^2 / 2
    assert wheel["half"] == pytest.approx(0.12 * wheel["radius"])  # a thin disc is drawn as one that is seen
    assert [name for name, link in links.items() if link["wheel"]] == ["wheel"]
    thick = fa.reaction_wheel("wheel", [0, 0, 1], 0.1, mass=4.0, transverse=0.08)
    (look,) = (each for each in solids(fa.Model(bus(links=[thick, *bus().links[3:]])))["links"] if each["wheel"])
    height = np.sqrt(12 * (0.08 / 4.0 - wheel["radius"] ** 2 / 4))  # of a cylinder: m (3 r^2 + h^2) / 12 across
    assert look["wheel"]["half"] == pytest.approx(height / 2)


def test_panels_are_as_wide_as_their_inertia_and_sections_say(model):
    links = {link["name"]: link for link in solids(model)["links"]}
    assert links["left"]["panel"] and not links["upper"]["panel"]
    assert links["left"]["base"][0] == pytest.approx(np.sqrt(12 * 0.27 * 3.0 / 12.0))  # y is the stiff side
    assert links["left"]["base"][1] < 0.1 * links["left"]["base"][0]
    aluminium = fa.Material(E=7e10, density=2700.0)
    box = fa.Beam(length=3.0, section=fa.Box(width=0.9, height=0.02), material=aluminium, modes={"z": 1})
    other = bus().links[0].replace(body=box)
    look = solids(fa.Model(bus(links=[other, *bus().links[1:]])))["links"][0]
    assert look["panel"] and look["base"] == [0.9, 0.02]


def test_a_link_that_carries_several_is_the_box_of_its_inertia():
    look = solids(fa.Model(torso()))
    trunk = look["links"][1]["box"]
    size = np.array(trunk["size"])
    np.testing.assert_allclose(20.0 / 12.0 * (np.sum(size**2) - size**2), [1.2, 1.1, 0.5])
    assert [link["name"] for link in look["links"] if link["box"]] == ["trunk"]
    assert look["hand"] == 0 and look["payload"]["mass"] == 0.5 and look["links"][2]["payload"]["mass"] == 0.3
    assert look["links"][0]["payload"] is None, "the arm's own stands apart"


def test_links_say_what_carries_them_and_where():
    arm = torso()
    look = solids(fa.Model(arm))
    assert [link["parent"] for link in look["links"]] == list(arm.parents) == [2, -1, 1, 1, 3]
    assert look["links"][4]["at"] == 0.5 and look["links"][0]["at"] == 1.0
    assert carriers(arm.links, arm.parents) == ("left", "base", "trunk at a pose", "trunk at a pose", "right at 0.5")


def test_looks_do_not_depend_on_the_order_of_links():
    """Sizes come from what carries and is carried, not from what stands before and behind in the list."""
    arm = torso()
    order = [3, 0, 4, 2, 1]
    other = arm.replace(links=[arm.links[i].replace(parent=arm.links[i].parent) for i in order])
    looks = [{link["name"]: link for link in solids(fa.Model(each))["links"]} for each in (arm, other)]
    for name, link in looks[0].items():
        there = dict(looks[1][name])
        assert link["joint"] | {"coordinate": 0} == there["joint"] | {"coordinate": 0}
        for key in ("round", "base", "tip", "at", "payload", "wheel", "box", "length", "flexible"):
            assert link[key] == there[key], (name, key)
    assert solids(fa.Model(arm))["reach"] == pytest.approx(solids(fa.Model(other))["reach"])


def test_a_rigid_link_lies_between_what_carries_it_and_what_it_carries():
    """Not between those before and behind it in the list."""
    thick, thin = (fa.Rod(diameter=d) for d in (0.08, 0.03))
    steel = fa.Material(E=2e11, density=7800.0)
    root, hand = (fa.Beam(length=1.0, section=x, material=steel, modes={"y": 1}) for x in (thick, thin))
    links = {
        "root": fa.Link(name="root", parent="base", body=root),
        "wrist": fa.Link(name="wrist", parent="root", body=fa.Rigid(length=0.5, mass=1.0)),
        "hand": fa.Link(name="hand", parent="wrist", body=hand),
        "other": fa.Link(name="other", parent="base", body=hand),
    }
    for order in (
        ("root", "wrist", "hand", "other"),
        ("hand", "other", "root", "wrist"),
        ("other", "wrist", "root", "hand"),
    ):
        looks = solids(fa.Model(fa.Arm(name="arm", links=[links[name] for name in order])))["links"]
        (wrist,) = (link for link in looks if link["name"] == "wrist")
        assert wrist["base"] == pytest.approx([0.088, 0.088]) and wrist["tip"] == pytest.approx([0.033, 0.033])


def test_a_chain_written_as_a_tree_looks_the_same():
    chain = fa.load("canadarm")
    names = [link.name for link in chain.links]
    links = [link.replace(parent=parent) for link, parent in zip(chain.links, ["base", *names], strict=False)]
    tree = chain.replace(links=links)
    assert solids(fa.Model(tree)) == solids(fa.Model(chain))
    shuffled = solids(fa.Model(chain.replace(links=links[::-1], tip=names[-1])))
    assert shuffled["reach"] == pytest.approx(solids(fa.Model(chain))["reach"])
    assert shuffled["plane"] == solids(fa.Model(chain))["plane"]


def test_the_reach_is_the_longest_way():
    assert solids(fa.Model(torso()))["reach"] == pytest.approx(np.hypot(0.25, 0.5) + 1.2)
    look = solids(fa.Model(bus()))
    assert look["reach"] == pytest.approx(np.hypot(1.0, 0.1) + 2.7)


def test_two_arms_in_one_plane_have_one_and_a_free_base_has_none():
    def pair(height):
        links = [
            fa.Link(name=name, parent="base", placement=fa.Pose(xyz=[0, 0, z]), body=fa.Rigid(length=0.5, mass=1.0))
            for name, z in (("a", 0.0), ("b", height))
        ]
        return fa.Arm(name="pair", links=links)

    assert solids(fa.Model(pair(0.0)))["plane"] == [0.0, 0.0, 1.0]
    assert solids(fa.Model(pair(0.2)))["plane"] is None
    free = pair(0.0).replace(base=fa.FreeBase(mass=1.0, inertia=1.0))
    assert solids(fa.Model(free))["plane"] is None


@pytest.mark.parametrize("arm", [torso(), bus(), bus(base=None)], ids=["torso", "bus", "held"])
def test_an_arm_at_rest_stands_where_the_mechanics_has_it(arm):
    stations, frames = drawn(fa.Model(arm), arm.rest)
    mine, places = rest(arm)
    np.testing.assert_allclose(mine, stations[:, [0, -1], :6], atol=EXACT)
    np.testing.assert_allclose(places, frames, atol=EXACT)


# -- shaded faces and lines --------------------------------------------------------------------------------------------


def test_faces_go_where_the_base_goes(model):
    """A shift and a turn of the base shift and turn every face: nothing is left where the base was."""
    look, q = solids(model), state(model)[0]
    there = q.copy()
    q[:7] = np.array(model.arm.rest)[:7]
    R, p = pose(there, True)
    colours = [np.ones(3)] * len(model.arm.links)

    def corners(q):
        parts = solid(look, *drawn(model, q), colours, np.zeros(3), base=pose(q, True))
        return [part.corners for part in parts]

    drawn_here, drawn_there = corners(q), corners(there)
    assert len(drawn_here) == len(drawn_there)
    # a cylinder begins at the world's axis that lies across it, so that its middle alone turns along
    for a, b in zip(drawn_here, drawn_there, strict=True):
        np.testing.assert_allclose(a.mean(axis=(0, 1)) @ R.T + p, b.mean(axis=(0, 1)), atol=1e-9)
    np.testing.assert_allclose(body(look, q)[..., :] @ R.T + p, body(look, there), atol=EXACT)


def test_struts_reach_from_what_carries_a_link_to_its_joint(model):
    look, q = solids(model), state(model)[0]
    stations, frames = drawn(model, q)
    R, p = pose(q, True)
    box = look["base"]["box"]
    axes, half, centre = R @ box["R"], np.array(box["size"]) / 2, p + R @ box["xyz"]
    for i, outside in ((0, True), (2, False), (3, True)):
        start, end = held(look, i, stations, frames, (R, p))
        np.testing.assert_allclose(end, frames[i, :, 3])
        away = np.abs(axes.T @ (start - centre))
        assert (away <= half + 1e-12).all()
        assert (np.linalg.norm(end - start) > 1e-3) == outside
        assert not outside or np.isclose(away, half).any(), "from its surface"
    np.testing.assert_allclose(held(look, 4, stations, frames, (R, p))[0], stations[3, -1, :3])
    arm = fa.Model(torso())
    look, q = solids(arm), state(arm)[0]
    stations, frames = drawn(arm, q)
    np.testing.assert_allclose(held(look, 4, stations, frames)[0], stations[3, 10, :3])  # half way along the right


def test_a_skeleton_has_a_line_for_every_branch():
    arm = fa.Model(torso())
    q = state(arm)[0]
    stations, frames = drawn(arm, q)
    lines = skeleton(solids(arm), stations, frames)
    assert len(lines) == 4  # the trunk, the left arm of two links, the right one, its finger
    ends = {tuple(np.round(line[-1], 9)) for line in lines}
    assert ends == {tuple(np.round(stations[i, -1, :3], 9)) for i in (0, 1, 3, 4)}
    chain = fa.Model(fa.load("subudhi-morris"))
    q = np.array(chain.arm.rest) + 0.1
    (line,) = skeleton(solids(chain), *(places := drawn(chain, q)))
    np.testing.assert_allclose(line[1:-1], np.concatenate(list(places[0][..., :3])))


def test_a_strip_shows_all_of_a_satellite(result, tmp_path):
    options = Options(1.0, "rigid", True, (200, 140), False)
    stage = Stage(motions(result), np.linspace(0.0, 1.0, 3), options, None)
    (low, high), look = stage.box, stage.looks[0]
    for t in stage.times:
        polygons, _ = stage.faces(t)
        assert (polygons.reshape(-1, 2) > low).all() and (polygons.reshape(-1, 2) < high).all()
        (ghost,) = stage.ghosts(t)
        assert np.isnan(ghost[:, 0]).sum() == 3, "left, right, wheel, and the arm"
    assert look["base"]["open"]
    assert fa.animate(result, tmp_path / "strip.png", poses=2, size=(200, 140)).stat().st_size > 1000


# -- results -----------------------------------------------------------------------------------------------------------


def test_a_motion_has_the_references_where_the_base_is(result, model):
    (motion,) = motions(result)
    np.testing.assert_array_equal(motion.q, result.q.values)
    np.testing.assert_array_equal(motion.wanted[:, :7], result.q.values[:, :7])
    names = list(model.coordinates)
    for k, name in enumerate(["wheel.joint", "upper.joint", "fore.joint"]):
        np.testing.assert_array_equal(motion.wanted[:, names.index(name)], result.q_ref.values[:, k])
    np.testing.assert_array_equal(motion.wanted[:, names.index("fore.motor")], result.q_ref.values[:, 2])
    assert not motion.wanted[:, names.index("upper.y1")].any()


def test_a_quaternion_and_its_opposite_are_one_attitude(result):
    """Between samples that have opposite ones nothing turns through the middle of nowhere."""
    sign = np.where(np.arange(result.sizes["time"]) % 3 == 1, -1.0, 1.0)
    other = result.copy(deep=True)
    other.q.values[:, 3:7] *= sign[:, None]
    (given,), (found,) = motions(result), motions(other)
    np.testing.assert_array_equal(found.q, given.q)
    np.testing.assert_array_equal(found.at(0.0625), given.at(0.0625))


def test_a_quaternion_that_is_none_is_refused_in_a_line(result, model, call):
    broken = result.copy(deep=True)
    broken.q.values[5, 3:7] = 0.0
    with pytest.raises(DescriptionError, match="has a quaternion of length 0; it must be 1"):
        viewed(broken)
    q = np.zeros(model.nq)
    with pytest.raises(DescriptionError, match=r"q: .* has length 0; it must be 1"):
        viewed(model, q=q)
    with pytest.raises(DescriptionError, match=r"q: .* has length 0; it must be 1"):
        draw_modes(model, q)
    status, _, err = call("modes", "satellite", "--at", "base.qx=0.7")
    assert status == 2 and err.startswith(
        "flexarm: --at: the quaternion base.qw, base.qx, base.qy, base.qz has length 1.221"
    )


def test_turns_go_on_beyond_half_a_turn():
    angle = np.linspace(0.0, 7 * np.pi, 200)
    n = np.array([0.36, -0.48, 0.8])
    e = quaternions.quaternion(np.outer(angle, n))
    e[::2] *= -3.0  # neither its sign nor its length matters
    np.testing.assert_allclose(quaternions.turns(e), np.outer(angle, n), atol=1e-12)
    start = quaternions.quaternion(np.array([0.3, 1.0, -0.4]))
    q = np.hstack([np.outer(angle, [1.0, 2.0, 3.0]), quaternions.product(e, start)])
    moved, turned = base_motion(q)
    np.testing.assert_allclose(turned, np.outer(angle, n), atol=1e-12)  # since the start, along the world's axes
    np.testing.assert_array_equal(moved, q[:, :3])


def revived(page):
    """What a page has been given, arrays as lists of their bytes left out."""
    text = page.html.split('id="flexarm-data">')[1].split("</script>")[0]
    return json.loads(text)


def test_plots_of_a_page_show_the_base_and_its_thrusters(model):
    u = [0.01, 0.2, 0.1, 3.0, 0.5]
    ran = fa.simulate(model, 0.2, u=u, samples=5, progress=False)
    found = {panel["title"]: panel for panel in panels([ran], [np.arange(5)])}
    titles = [
        "joints",
        "torques",
        "forces",
        "place of the base",
        "turn of the base since the start",
        "deflection of tips",
    ]
    assert list(found)[:6] == titles
    named = {title: [each["name"] for each in found[title]["runs"][0]] for title in found}
    assert named["torques"] == ["wheel", "upper", "fore", "base.roll"] and named["forces"] == ["base.push"]
    assert found["forces"]["unit"] == "N" and found["forces"]["runs"][0][0]["values"].tolist() == [3.0] * 5
    assert thrusters(ran) == {"base.push": "force", "base.roll": "torque"}
    joints = found["joints"]["runs"][0]
    for each, name in zip(joints, ["wheel.joint", "upper.joint", "fore.joint"], strict=True):
        np.testing.assert_allclose(each["values"], ran.q.sel(coordinate=name), rtol=1e-6, atol=1e-12)
    place = found["place of the base"]
    unit = {"m": 1.0, "mm": 1e-3, "\N{MICRO SIGN}m": 1e-6}[place["unit"]]
    for c, each in enumerate(place["runs"][0]):
        np.testing.assert_allclose(unit * each["values"], ran.q.values[:, c], rtol=1e-5, atol=1e-12)


def test_rates_of_joints_are_those_of_the_joints(model):
    """In qd they stand one before where they stand in q."""
    q, v = state(model)
    ran = fa.simulate(model, 0.1, q0=q, qd0=v, samples=3, progress=False)
    (rates,) = (panel for panel in panels([ran], [np.arange(3)]) if panel["title"] == "joint rates")
    for each, name in zip(rates["runs"][0], ["wheel.joint", "upper.joint", "fore.joint"], strict=True):
        np.testing.assert_allclose(each["values"], ran.qd.sel(velocity=name), rtol=1e-6)
    labels = {line.get_label(): line.get_ydata() for line in draw(ran).figure.axes[3].lines}
    for name in ("wheel.joint", "upper.joint", "fore.joint"):
        np.testing.assert_array_equal(labels[name], ran.qd.sel(velocity=name))


def test_a_figure_of_a_satellite_has_its_place_and_turn(result, model):
    figure = draw(result).figure
    assert len(figure.axes) == 6
    place, turn, joints, inputs = figure.axes[:4]
    np.testing.assert_array_equal([line.get_ydata() for line in place.lines], result.q.values[:, :3].T)
    e = result.q.values[:, 3:7]
    last = quaternions.turn(quaternions.product(e[-1], quaternions.conjugate(e[0])))
    np.testing.assert_allclose([line.get_ydata()[-1] for line in turn.lines], last)
    labels = [line.get_label() for line in joints.lines]
    assert labels[:4] == ["wheel.joint", "upper.joint", "fore.joint", "fore.motor"] and labels[4] == "reference"
    assert [line.get_label() for line in inputs.lines] == list(model.inputs)
    assert inputs.get_ylabel() == "inputs [N m or N]"
    assert len(draw(fa.simulate(fa.Model(torso()), 0.01, samples=3, progress=False)).figure.axes) == 4


def test_modes_in_a_figure_move_the_base_against_the_arm(model):
    q, phi = state(model)[0], model.modes(state(model)[0])[1]
    figure = draw_modes(model, q, count=2).figure
    axes, k = figure.axes[0], 6
    step = 1e-4 * phi[:, k]
    moved = np.subtract(
        *(
            drawn(model, attitude.configuration(model.arm, attitude.local(model.arm, q, q) + s * step, q))[0][..., :3]
            for s in (1, -1)
        )
    )
    still = drawn(model, q)[0][..., :3]
    size = np.ptp(np.vstack([still.reshape(-1, 3), q[:3]]), axis=0).max()
    moved *= 0.1 * size / np.linalg.norm(moved, axis=-1).max()
    a, b = ("xyz".index(label()[0]) for label in (axes.get_xlabel, axes.get_ylabel))
    ends = [line.get_xydata() for line in axes.lines[2 * 5 : 3 * 5]]
    np.testing.assert_allclose(ends, (still + moved)[..., [a, b]], atol=1e-9)
    lines = draw_frequencies(model, "fore.joint", [0.0, 1.0], count=8).figure.axes[0].lines
    assert len(lines) == 8 and not np.any([line.get_ydata() for line in lines[:6]])


# -- pages -------------------------------------------------------------------------------------------------------------


def test_sliders_and_modes_of_a_page_are_of_the_arm_s_own_coordinates(model):
    data = revived(viewed(model))
    names = list(model.coordinates)
    assert [each["name"] for each in data["sliders"]] == [
        *("wheel.joint", "upper.joint", "fore.joint"),
        *("left.z1", "left.torsion1", "right.z1", "right.torsion1", "upper.y1", "fore.z1"),
    ]
    for each in data["sliders"]:
        moved = [names[i] for i in each["moves"]]
        assert moved == (["fore.joint", "fore.motor"] if each["name"] == "fore.joint" else [each["name"]])
        assert each["role"] == ("joint" if ".joint" in each["name"] else "flexible")
    twist = next(each for each in data["sliders"] if each["name"] == "left.torsion1")
    assert 0.3 < twist["high"] <= 0.6001 and twist["low"] == -twist["high"]
    page = revived(viewed(model, modes=True))
    assert page["free"] and len(page["modes"]) == len(model.modes(model.arm.rest)[0])
    assert [mode["omega"] for mode in page["modes"][:6]] == [0.0] * 6
    assert "base.d" in page["modes"][0]["parts"] and "z1" in page["modes"][6]["parts"]


@pytest.mark.parametrize("locked", [True, False])
@pytest.mark.parametrize("arm", [bus(), torso()], ids=["bus", "torso"])
def test_no_mode_swings_farther_than_it_can_be_seen(arm, locked, monkeypatch):
    """Neither a wheel, which moves nothing, nor a twist, nor a shape that shortens its link."""
    from flexarm.pictures import view

    seen = []
    monkeypatch.setattr(view, "_page", lambda data, arms: seen.append(data))
    model = fa.Model(arm)
    q = state(model)[0]
    viewed(model, modes=True, q=q, locked=locked)
    still = drawn(model, q)[0]
    size = np.ptp(np.vstack([still[..., :3].reshape(-1, 3), q[:3] if arm.free else np.zeros(3)]), axis=0).max()
    omega, phi = model.modes(q, locked)
    assert len(seen[0]["modes"]) == len(omega)
    for mode, shape in zip(seen[0]["modes"], phi.T, strict=True):
        swing = mode["shape"]
        assert np.isfinite(swing).all() and abs(swing @ shape) == pytest.approx(
            np.linalg.norm(swing) * np.linalg.norm(shape)
        )
        for sign in (1, -1):
            there = drawn(model, attitude.configuration(arm, attitude.local(arm, q, q) + sign * swing, q))[0]
            away = np.linalg.norm((there - still)[..., :3], axis=-1).max()
            assert away <= 1.5 * 0.1 * size
        assert np.abs(swing).max() > 0.01
        if arm.free:  # a wheel's joint, which stands behind the base's six
            assert abs(swing[6]) < 0.61


def test_a_notebook_shows_what_carries_what(model):
    html = of_arm(model.arm)
    assert "free base 150 kg" in html and "payload 10 kg" in html and "<th>on</th>" in html
    assert "<td>upper</td><td>base</td>" in html and "<td>fore</td><td>upper</td>" in html and "<svg" in html
    assert "payloads 0.5, 0.3 kg" in of_arm(torso()) and "<td>right at 0.5</td>" in of_arm(torso())
    assert "<th>on</th>" not in of_arm(fa.load("canadarm"))
    many = [
        fa.Link(name=f"l{i}", parent="base" if i % 7 == 0 else None, body=fa.Rigid(length=1.0, mass=1.0))
        for i in range(50)
    ]
    assert of_arm(fa.Arm(name="bush", links=many)).count("<polyline") == 8


# -- commands ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Status, what it printed, what it said on stderr; of an arm in this folder."""
    monkeypatch.chdir(tmp_path)
    command = caller(monkeypatch, capsys)
    return lambda *words: astuple(command(*words))


SATELLITE = """
name = "servicer"
tip = "fore"
[base]
type = "free"
mass = 150.0
inertia = [[30.0, 2.0, 0.0], [2.0, 20.0, 0.0], [0.0, 0.0, 26.0]]
com = [0.1, 0.0, 0.0]
[[base.thrusters]]
name = "push"
direction = [1, 0, 0]
at = [0, 0.5, 0]
[[base.thrusters]]
name = "roll"
direction = [0, 0, 1]
kind = "torque"
[[links]]
name = "fore"
parent = "upper"
at = 0.5
body = { type = "rigid", length = 0.5, mass = 1.0 }
payload = { mass = 2.0 }
[[links]]
name = "upper"
parent = "base"
body = { type = "rigid", length = 1.0, mass = 3.0 }
payload = { mass = 0.25 }
"""
SCENARIO = """
name = "pushed"
arm = "servicer.toml"
until = 0.5
samples = 11
[input]
type = "constant"
values = [0.0, 0.1, 3.0, 0.2]
"""


@pytest.fixture
def written(tmp_path):
    (tmp_path / "servicer.toml").write_text(SATELLITE)
    (tmp_path / "pushed.toml").write_text(SCENARIO)


def test_show_tells_of_base_parents_payloads_and_rates(call, written):
    status, out, err = call("show", "servicer.toml")
    assert (status, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "free base: 150 kg, inertia 30 20 26, xy 2 kg m^2 about its centre of mass (0.1, 0, 0) m" in lines
    assert "thruster push: force [N] along (1, 0, 0) at (0, 0.5, 0) m" in lines
    assert "thruster roll: torque [N m] along (0, 0, 1)" in lines
    assert "fore upper at 0.5 revolute rigid 0.5 1 2 -" in lines and "upper base revolute rigid 1 3 0.25 -" in lines
    assert any(line.startswith("total mass 156.25 kg, payload 2 kg") for line in lines)
    assert any(line.startswith("8 rates: base.vx [m/s]") for line in lines)
    status, out, _ = call("show", "canadarm")
    assert " on " not in out.splitlines()[2] and "free base" not in out and " rates:" not in out


def test_documents_tell_the_same(call, written):
    found = json.loads(call("show", "servicer.toml", "--json")[1])
    assert found["base"]["mass"] == 150.0 and found["base"]["inertia"][0] == [30.0, 2.0, 0.0]
    assert [each["unit"] for each in found["base"]["thrusters"]] == ["N", "N m"]
    assert [(link["on"], link["payload"]) for link in found["links"]] == [("upper at 0.5", 2.0), ("base", 0.25)]
    assert len(found["coordinates"]) == 9 and [each["unit"] for each in found["rates"][2:5]] == [
        "m/s",
        "rad/s",
        "rad/s",
    ]
    assert json.loads(call("show", "canadarm", "--json")[1])["base"] is None
    found = json.loads(call("modes", "servicer.toml", "--json", "--free")[1])
    assert found["along"][:2] == ["base.dx", "base.dy"] and found["along"][6:] == ["upper.joint", "fore.joint"][::-1]
    assert {len(mode["relative"]) for mode in found["modes"]} == {8}


def test_modes_name_what_moves(call, written):
    _, out, _ = call("modes", "servicer.toml", "--free", "--at", "base.x=2", "--at", "upper.joint=0.4")
    assert "base.t" in out and "fore.joint" in out and "q = 2 0 0 1" in out
    status, _, err = call("modes", "servicer.toml", "--at", "base.vx=1")
    assert status == 2 and "unknown coordinate 'base.vx'" in err


def test_a_summary_says_where_the_base_has_gone(call, written):
    status, out, err = call("simulate", "pushed.toml")
    assert (status, err) == (0, ""), err
    result = fa.load_result("pushed.nc")
    moved = np.linalg.norm(result.q.values[-1, :3])
    (line,) = (line for line in out.splitlines() if line.startswith("base "))
    assert f"moved by {moved:.4g} m" in line and "(at most" in line
    assert "flexarm play pushed.toml" in out and "flexarm view" in out
    found = json.loads(call("simulate", "pushed.toml", "--json")[1])
    assert found["base"]["moved"] == pytest.approx(moved) and found["units"]["turned"] == "rad"


# -- alive -------------------------------------------------------------------------------------------------------------


@needs_node
def test_a_tree_is_alive(tmp_path):
    """Its motion in the page is that of simulate, its tip the rigid arm's, its payloads those that the slider says."""
    live = made(torso())
    q = np.array(live.arm.rest) + 0.1 * np.random.default_rng(4).normal(size=live.model.nq)
    u = [0.3, -0.2, 0.5, 0.1, 0.4]
    script = f"""
        live.use("none");
        live.y.set({q.tolist()});
        const command = live.command;
        live.command = function (...x) {{ command.apply(this, x); this.u.set({u}); }};
        for (let k = 0; k < 300; k++) live.step();
        return [live.q, live.qd, live.aimed().place, live.fault];
    """
    found, rates, tip, fault = run(live, script, tmp_path)
    assert fault == ""
    h = live.step
    there = fa.simulate(
        live.model, 300 * h, u=u, q0=q, solver=fa.Solver(method="rk4", step=h), samples=2, progress=False
    )
    np.testing.assert_allclose(found, there.q.values[-1], atol=1e-10)
    np.testing.assert_allclose(rates, there.qd.values[-1], atol=1e-9)
    np.testing.assert_allclose(tip, live.model.tip(np.array(live.arm.rest))[:3, 3], atol=EXACT)
