"""Pages of trees and of arms on a free base in a real browser: all stands where the mechanics has it."""

import io
from functools import cache

import numpy as np
import pytest
from browser import SETTLED, until
from free_arms import bus, state, torso
from PIL import Image

import flexarm as fa
from flexarm import attitude, quaternions
from flexarm.model.drawing import drawn
from flexarm.pictures.play import played
from flexarm.pictures.solids import solids
from flexarm.pictures.view import viewed

CLOSE = 5e-6
"""[m]: a page has q in single precision, of arms of some metres."""


@cache
def page(name, falling=0.0):
    """Return the page of a live arm; with a number it falls along z."""
    return played(fa.load(name).replace(gravity=(0.0, 0.0, falling)) if falling else name).html


@pytest.fixture(scope="module")
def model():
    return fa.Model(bus())


@pytest.fixture(scope="module")
def result(model):
    """Two seconds in which the bus drifts by some metres, turns, and is pushed."""
    q, v = state(model)
    v[:6] = [1.5, 0.3, -0.4, 0.2, 0.5, -0.3]
    u = [0.02, 0.5, -0.3, 20.0, 0.5]
    return fa.simulate(model, 2.0, u=u, q0=q, qd0=v, samples=41, name="drift", progress=False)


@pytest.fixture(scope="module")
def shown(result):
    return viewed(result).html


@pytest.fixture
def tab(opened, shown):
    return still(opened(shown))


def still(tab):
    tab.evaluate("flexarm.page.player.pause(), flexarm.page.player.seek(0)")
    return tab


def seek(tab, t):
    tab.evaluate("(t) => flexarm.page.player.seek(t)", float(t))


def matrix(tab, expression):
    """Of an object in the scene, (4, 4)."""
    return np.array(tab.evaluate(f"Array.from({expression}.elements)")).reshape(4, 4).T


def strut(tab, arm, k):
    """Its ends."""
    m = matrix(tab, f"{arm}.struts[{k}].matrix")
    return m[:3, 3] - m[:3, 2] / 2, m[:3, 3] + m[:3, 2] / 2


RUN = "flexarm.page.runs[0]"


def test_the_bus_stands_where_the_result_has_it(tab, result):
    for k in (0, 17, 40):
        seek(tab, result.time[k])
        q = result.q.values[k]
        pose = matrix(tab, f"{RUN}.main.bus.matrix")
        np.testing.assert_allclose(pose[:3, :3], quaternions.rotation(q[3:7]), atol=CLOSE)
        np.testing.assert_allclose(pose[:3, 3], q[:3], atol=CLOSE)
        np.testing.assert_allclose(tab.evaluate(f"{RUN}.main.base()"), q[:3], atol=CLOSE)
        np.testing.assert_allclose(tab.evaluate(f"{RUN}.main.tip()"), result.tip.values[k], atol=CLOSE)


def test_every_link_stands_on_what_carries_it(tab, result, model):
    """Panels, wheel and arm: their mounts have the frames' places and axes, struts their ends."""
    seek(tab, result.time[23])
    q = result.q.values[23]
    stations, frames = drawn(model, q)
    for i in range(5):
        np.testing.assert_allclose(matrix(tab, f"{RUN}.main.mounts[{i}].matrix")[:3], frames[i], atol=CLOSE)
    # struts in the order of links, the hand's last: panel and wheel stand in the bus, the arm before it
    assert tab.evaluate(f"{RUN}.main.ends") == [0, 1, 2, 3, 4, -1]
    seen = tab.evaluate(f"{RUN}.main.struts.map((strut) => strut.visible)")
    assert seen == [True, True, False, True, False, False]
    start, end = strut(tab, f"{RUN}.main", 3)
    np.testing.assert_allclose(end, frames[3, :, 3], atol=CLOSE)
    box = solids(model)["base"]["box"]
    R = quaternions.rotation(q[3:7]) @ box["R"]
    away = np.abs(R.T @ (start - q[:3] - quaternions.rotation(q[3:7]) @ box["xyz"])) - np.array(box["size"]) / 2
    assert abs(away.max()) < CLOSE, "from the surface of the box"
    assert stations.shape[0] == 5


def test_the_camera_stands_still_or_follows(tab, result):
    eye = "flexarm.page.scene.camera.position.toArray().concat(flexarm.page.scene.controls.target.toArray())"
    seek(tab, 0.0)
    tab.evaluate(SETTLED)
    still_ = np.array(tab.evaluate(eye))
    seek(tab, 2.0)
    np.testing.assert_allclose(tab.evaluate(eye), still_, rtol=0, atol=1e-12)  # its polar coordinates round
    tab.evaluate("flexarm.page.setFollowing('base')")
    assert tab.evaluate("flexarm.page.camera.value") == "base"
    places = [np.array(tab.evaluate(eye)).reshape(2, 3) - result.q.values[40, :3]]
    for k in (0, 11, 33):
        seek(tab, result.time[k])
        tab.evaluate(SETTLED)
        places.append(np.array(tab.evaluate(eye)).reshape(2, 3) - result.q.values[k, :3])
    np.testing.assert_allclose(places, np.tile(places[0], (4, 1, 1)), atol=1e-5)
    tab.keyboard.press("v")
    assert tab.evaluate("flexarm.page.following") == "nothing"


def test_all_of_the_way_is_in_view_and_near_where_the_camera_follows(opened, shown, result):
    tab = still(opened(shown))
    corners = """() => { const box = flexarm.page.scene.canvas.getBoundingClientRect();
        const main = flexarm.page.runs[0].main;
        return [main.base(), main.tip(), main.joint(0), main.joint(1)].map((p) => flexarm.page.scene.seen(p))
            .map(([x, y]) => [(x - box.left) / box.width, (y - box.top) / box.height]); }"""
    apart = {}
    for following in ("nothing", "base"):
        tab.evaluate("(what) => flexarm.page.setFollowing(what)", following)
        sizes = []
        for t in (0.0, 1.0, 2.0):
            seek(tab, t)
            tab.evaluate(SETTLED)
            at = np.array(tab.evaluate(corners))
            assert (at > 0).all() and (at < 1).all(), (following, t)
            sizes.append(np.ptp(at, axis=0).max())
        apart[following] = min(sizes)
    assert apart["base"] > apart["nothing"], "what need not hold the whole way is nearer"


def test_a_satellite_has_neither_foot_nor_shadow_and_the_grid_lies_below(tab, result):
    assert tab.evaluate(f"[{RUN}.main.foot, flexarm.page.scene.flat.children.length]") == [None, 0]
    lowest = tab.evaluate("flexarm.page.extent().flat().filter((_, i) => i % 3 === 2).reduce((a, b) => Math.min(a, b))")
    assert tab.evaluate("flexarm.page.scene.level") < lowest


def test_a_ghost_stands_on_the_bus_that_is_there(tab, result, model):
    seek(tab, result.time[30])
    tab.evaluate("flexarm.page.setHaunted('rigid')")
    until(tab, "page.runs[0].ghosts.rigid && page.runs[0].ghosts.rigid.object.visible")
    assert tab.evaluate(f"[{RUN}.ghosts.rigid.bus.visible, {RUN}.main.bus.visible]") == [False, True]
    q = result.q.values[30]
    np.testing.assert_allclose(tab.evaluate(f"{RUN}.ghosts.rigid.tip()"), drawn(model, q, 0.0)[1][-1, :, 3], atol=CLOSE)


def test_the_base_has_a_path_of_its_own(tab, result):
    tab.evaluate("flexarm.page.paths.value = true; flexarm.page.redraw()")
    until(tab, "page.runs[0].way")
    xyz = np.reshape(tab.evaluate(f"Array.from({RUN}.way.position.array)"), (-1, 4, 3)).mean(axis=1)
    np.testing.assert_allclose(xyz, result.q.values[:, :3], atol=CLOSE)
    tab.keyboard.press("p")
    until(tab, "!page.runs[0].way.object.visible && !page.runs[0].path.object.visible")


def test_a_box_is_seen_through_where_something_stands_in_it(tab, opened):
    assert tab.evaluate(f"[{RUN}.main.shell.transparent, {RUN}.main.hard.transparent]") == [True, False]
    links = [link for link in bus().links if link.name in ("upper", "fore")]
    other = opened(viewed(fa.Model(bus(links=links))).html)
    assert other.evaluate("flexarm.page.main.shell.transparent") is False
    size = solids(fa.Model(bus()))["base"]["box"]["size"]
    read = f"""() => {{ const g = {RUN}.main.bus.children[0].geometry; g.computeBoundingBox();
        return [g.boundingBox.min.toArray(), g.boundingBox.max.toArray()]; }}"""
    R = np.array(solids(fa.Model(bus()))["base"]["box"]["R"])
    low, high = np.array(tab.evaluate(read))
    np.testing.assert_allclose((low + high) / 2, [0.05, 0.0, 0.02], atol=1e-5)
    np.testing.assert_allclose(high - low, np.abs(R) @ size, rtol=0.02)  # but for its bevels


def luminance(rgb):
    """Relative luminance of WCAG 2 of an sRGB colour, (3,) from 0 to 255."""
    c = np.asarray(rgb) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("dark", [False, True])
def test_the_bus_is_visible_against_the_background(opened, shown, dark):
    """Faces towards the viewer have a contrast of at least 2, and the box has edges in the colour of the text."""
    tab = still(opened(shown, dark=dark))
    tab.evaluate("flexarm.page.fit(), flexarm.page.scene.still()")
    places = tab.evaluate("""() => {
        const { scene, runs } = flexarm.page, { main } = runs[0];
        const corners = flexarm.corners(main.description.base.box, main.ground, 0), found = [];
        const faces = ["0123", "4567", "0145", "2367", "0246", "1357"].map((face) => Array.from(face, Number));
        for (const [a, b, c, d] of faces) {
            const at = (i) => new THREE.Vector3(...corners.slice(3 * i, 3 * i + 3));
            const middle = at(a).add(at(d)).multiplyScalar(0.5);
            const normal = middle.clone().sub(new THREE.Vector3(...main.base()));
            if (normal.dot(scene.camera.position.clone().sub(middle)) < 0) continue;
            for (const x of [-0.6, 0.6]) for (const y of [-0.6, 0.6]) {
                const right = at(b).sub(at(a)).multiplyScalar(x / 2), up = at(c).sub(at(a)).multiplyScalar(y / 2);
                found.push(scene.seen(middle.clone().add(right).add(up).toArray()));
            }
        }
        return found;
    }""")
    pixels = np.asarray(Image.open(io.BytesIO(tab.screenshot())).convert("RGB")).astype(int)
    box = tab.locator(".scene canvas").first.bounding_box()
    sky = luminance(pixels[int(box["y"]) + 4, int(box["x"] + box["width"]) - 4])
    faces = np.array([luminance(pixels[round(y), round(x)]) for x, y in places])
    ratios = (np.maximum(faces, sky) + 0.05) / (np.minimum(faces, sky) + 0.05)
    assert len(faces) >= 4 and np.median(ratios) > 2.0, (np.sort(ratios), sky)
    lines = tab.evaluate(
        f"{RUN}.main.bus.children.filter((x) => x.isLineSegments).map((x) => x.material.color.getStyle())"
    )
    assert lines == [tab.evaluate("new THREE.Color(flexarm.style('--text')).getStyle()")]


def test_modes_move_the_base_as_the_mechanics_does(opened, model):
    q = state(model)[0]
    tab = opened(viewed(model, modes=True, q=q).html)
    rng = np.random.default_rng(7)
    for scale in (0.0, 0.3, 2.0):
        shape = scale * rng.normal(size=model.nv)
        found = tab.evaluate(
            "([shape, x]) => Array.from(flexarm.moved(flexarm.data(), shape, x))", [shape.tolist(), 0.7]
        )
        there = attitude.configuration(model.arm, attitude.local(model.arm, q, q) + 0.7 * shape, q)
        np.testing.assert_allclose(found, there, atol=1e-12)
    tab.evaluate("flexarm.page.playing = false; flexarm.page.choose(6); flexarm.page.phase = 0.25; flexarm.page.draw()")
    shape = np.array(tab.evaluate("Array.from(flexarm.data().modes[6].shape)"))
    there = attitude.configuration(model.arm, attitude.local(model.arm, q, q) + shape, q)
    np.testing.assert_allclose(tab.evaluate("flexarm.page.main.base()"), there[:3], atol=1e-9)
    np.testing.assert_allclose(tab.evaluate("flexarm.page.main.tip()"), drawn(model, there)[1][-1, :, 3], atol=1e-9)
    np.testing.assert_allclose(tab.evaluate("flexarm.page.rest.base()"), q[:3], atol=1e-9)


def test_a_tree_on_a_fixed_base_stands_on_its_feet(opened):
    model = fa.Model(torso())
    q = state(model)[0]
    tab = opened(viewed(model, q=q).html)
    stations, frames = drawn(model, q)
    arm = "flexarm.page.main"
    # struts of all that stand on links: left-fore, left, right, finger, and the hand
    assert tab.evaluate(f"{arm}.ends") == [0, 2, 3, 4, -1] and tab.evaluate(f"{arm}.foot.length") == 1
    start, end = strut(tab, arm, 3)
    np.testing.assert_allclose(start, stations[3, 10, :3], atol=1e-9)  # half way along the right one
    slid = q[model.coordinates.index("finger.joint")]
    np.testing.assert_allclose(end, frames[4, :, 3] - slid * frames[4, :, 0], atol=1e-9)  # at its sleeve
    start, end = strut(tab, arm, 1)
    np.testing.assert_allclose(end, frames[2, :, 3], atol=1e-9)
    size = np.array(solids(model)["links"][1]["box"]["size"])
    local = frames[1, :, :3].T @ (start - frames[1, :, 3])
    assert np.isclose(local[2], size[2] / 2) and np.isclose(local[1], size[1] / 2), "the nearest place of the trunk"
    loads = tab.evaluate(f"{arm}.loads.map((load) => load && load.position.toArray())")
    assert [load is not None for load in loads] == [False, False, True, False, False]
    np.testing.assert_allclose(loads[2], stations[2, -1, :3], atol=1e-9)
    np.testing.assert_allclose(tab.evaluate(f"{arm}.tip()"), frames[-1, :, 3], atol=1e-9)
    assert tab.evaluate("flexarm.page.scene.flat.children.length") == 1
    lowest = (frames[1, :, 3] + frames[1, :, :3] @ (np.array([0, 0, -0.5]) * size))[2]
    assert tab.evaluate("flexarm.page.scene.level") < lowest, "the trunk does not reach into the ground"


def test_feet_stand_below_every_place_on_the_base(opened):
    links = [
        fa.Link(name=name, parent="base", placement=fa.Pose(xyz=[x, 0, 0]), body=fa.Rigid(length=0.4, mass=1.0))
        for name, x in (("a", 0.0), ("b", 1.0), ("c", 1.0))
    ]
    tab = opened(viewed(fa.Model(fa.Arm(name="three", links=links))).html)
    feet = tab.evaluate("flexarm.page.main.foot.map((foot) => foot.position.toArray())")
    np.testing.assert_allclose([foot[0] for foot in feet], [0.0, 1.0])


def test_a_tree_is_alive_in_the_page(opened):
    tab = opened(played(torso()).html)
    until(tab, "live && live.time > 0.3")
    assert tab.evaluate("flexarm.page.live.fault") == ""
    tab.evaluate("flexarm.page.run(false)")
    model = fa.Model(torso())
    q = np.array(tab.evaluate("flexarm.page.draw(), Array.from(flexarm.page.live.q)"))
    np.testing.assert_allclose(tab.evaluate("flexarm.page.solid.tip()"), drawn(model, q)[1][-1, :, 3], atol=1e-9)
    front, *plots = (
        tab.evaluate("""[...document.querySelectorAll(".front, .play .plot")].map((x) => x.getBoundingClientRect())
        .map((box) => [box.left, box.right])""")
    )
    assert all(left >= front[0] and right <= front[1] for left, right in plots), "long names lie over nothing"


def test_a_cursor_stands_where_the_address_says(opened, shown, tmp_path):
    """Also where the plots get their width after it was put there."""
    path = tmp_path / "page.html"
    path.write_text(shown)
    tab = opened(path)
    tab.goto(f"{path.as_uri()}#t=1.5")
    tab.reload()
    until(tab, "page && page.player.time === 1.5")
    tab.evaluate(SETTLED)
    cursor, over = (tab.locator(f".plot:nth-child(1) {x}").bounding_box() for x in (".cursor", ".u-over"))
    assert cursor["x"] - over["x"] == pytest.approx(0.75 * over["width"], abs=1.0)


# -- alive -------------------------------------------------------------------------------------------------------------


def drawn_at_rest(tab):
    """Pictures of a paused page that nobody touches, in the time of twenty."""
    return tab.evaluate(
        """async () => {
            const next = () => new Promise((done) => requestAnimationFrame(done));
            for (let i = 0; i < 5; i++) await next(); // what was asked for before
            const before = flexarm.page.scene.frames;
            for (let i = 0; i < 20; i++) await next();
            return flexarm.page.scene.frames - before;
        }"""
    )


@pytest.mark.parametrize("name", ["satellite", "canadarm-bus"])
def test_a_bundled_arm_on_a_free_base_is_alive(opened, name):
    """Pulled, it drifts: the camera goes with the base, the ghost too; targets of wheels turn it."""
    tab = opened(page(name))
    until(tab, "page && page.scene.frames > 2")
    labels = tab.evaluate(
        "[...document.querySelectorAll('.side .group:first-of-type label')].map((x) => x.textContent)"
    )
    wheels = [f"base (wheel-{axis})" for axis in "xyz"]
    assert labels[:3] == (wheels if name == "satellite" else ["upper", "fore", "hand"])
    found = tab.evaluate(
        """() => {
            const { page } = flexarm, { live, scene } = page;
            page.run(false);
            page.draw();
            const before = [scene.camera.position.toArray(), Array.from(live.q.slice(0, 3))];
            live.aim(live.goal.map((x) => x + 0.3));
            live.force.set([0, 0.02 * live.given.push * live.given.reach, 0]);
            live.advance(1.0);
            page.draw();
            page.record();
            const { there } = live.aimed();
            return [before, [scene.camera.position.toArray(), Array.from(live.q.slice(0, 3))], Array.from(there),
                    page.ghost.tip(), Array.from(live.aimed().place), live.fault, live.drift().relative];
        }"""
    )
    assert drawn_at_rest(tab) <= 2
    (camera, place), (camera_after, place_after), there, ghost, aimed, fault, drift = found
    moved = np.array(place_after) - place
    assert np.linalg.norm(moved) > 1e-5
    np.testing.assert_allclose(np.array(camera_after) - camera, moved, atol=1e-9)
    np.testing.assert_allclose(there[:3], place_after, atol=1e-9)
    np.testing.assert_allclose(ghost, aimed, atol=1e-5 * max(1.0, np.linalg.norm(aimed)))
    assert fault == "" and abs(drift) < 1e-6


PHONE = (390, 844)
DRIFT = """() => {
    const { page } = flexarm, { live } = page;
    page.run(false);
    live.use("none");
    live.y.set([3.0, -4.0, 5.0]);
    page.draw();
    page.scene.home();
    page.scene.render(0);
}"""


def apart(tab):
    """How far the camera looks from the base [m]."""
    target, base = tab.evaluate("[flexarm.page.scene.controls.target.toArray(), flexarm.page.solid.base()]")
    return np.array(target) - base


@pytest.mark.parametrize("size", [PHONE, (1280, 720)])
def test_all_of_the_base_is_in_view(opened, size):
    tab = opened(page("canadarm-bus"), size=size)
    until(tab, "page && page.scene.frames > 2")
    found, box = tab.evaluate(
        """() => {
            const { page } = flexarm, all = flexarm.corners(page.data.solids.base.box, page.solid.ground, 0);
            const { left, right, top, bottom } = page.scene.canvas.getBoundingClientRect();
            const seen = Array.from({ length: 8 }, (_, i) => page.scene.seen(all.slice(3 * i, 3 * i + 3)));
            return [seen, [left, right, top, bottom]];
        }"""
    )
    x, y = np.transpose(found)
    assert box[0] < x.min() and x.max() < box[1] and box[2] < y.min() and y.max() < box[3]


def test_the_camera_comes_home_to_a_base_that_drifted(opened):
    """And gravity's arrow falls with it."""
    tab = opened(page("canadarm-bus", -1.0))
    until(tab, "page && page.scene.frames > 2")
    tab.evaluate("flexarm.page.run(false), flexarm.page.reset(), flexarm.page.run(false), flexarm.page.draw()")
    tab.evaluate("flexarm.page.fit()")
    before, arrow = apart(tab), tab.evaluate("flexarm.page.scene.pull.position.toArray()")
    tab.evaluate(DRIFT)
    np.testing.assert_allclose(apart(tab), before, atol=1e-9)
    moved = np.array(tab.evaluate("flexarm.page.scene.pull.position.toArray()")) - arrow
    np.testing.assert_allclose(moved, [3.0, -4.0, 5.0], atol=1e-9)


def test_a_pull_is_that_of_the_hand_wherever_the_base_drifts(opened):
    """The camera goes along: a hand that stands still on the screen pulls as before."""
    tab = opened(page("canadarm-bus"))
    until(tab, "page && page.scene.frames > 2")
    tab.evaluate("flexarm.page.run(false), flexarm.page.reset(), flexarm.page.run(false), flexarm.page.draw()")
    x, y = tab.evaluate("flexarm.page.scene.seen(flexarm.page.solid.tip())")
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 30, y + 40)
    first = tab.evaluate("Array.from(flexarm.page.live.force)")
    assert np.linalg.norm(first) > 0
    tab.evaluate("flexarm.page.live.y.set([3.0, -4.0, 5.0]), flexarm.page.draw(), flexarm.page.scene.draw()")
    tab.mouse.move(x + 31, y + 40)
    tab.mouse.move(x + 30, y + 40)
    np.testing.assert_allclose(tab.evaluate("Array.from(flexarm.page.live.force)"), first, rtol=1e-6)
    tab.mouse.up()


def test_the_words_of_a_free_base(opened):
    """Nothing weighs there, so no controller carries anything; wheels turn the base."""
    tab = opened(page("canadarm-bus", -1.0))
    until(tab, "page && page.scene.frames > 2")
    side = tab.inner_text(".side")
    assert "weight" not in side and "knows" not in side
    assert "No LQR: arm 'canadarm-bus': " in side and "add thrusters" in side
    assert tab.locator("[title='Target of the joint of upper']").count() == 1
    tab = opened(page("satellite"))
    until(tab, "page && page.scene.frames > 2")
    text = tab.inner_text("body")
    assert "joint PD" not in text and "PD of joints and base" in text and "a wheel's turns the base" in text
    assert tab.locator("[title='Target of the turn of base (wheel-x)']").count() == 1
