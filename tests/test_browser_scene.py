"""The scene in a real browser: what is drawn, where, lit, named and moved."""

import io
import math

import matplotlib
import numpy as np
import pytest
from browser import LAPTOP, PHONE
from PIL import Image

import flexarm as fa
from flexarm.closed_forms.formats import javascript
from flexarm.description.arm import Arm
from flexarm.pictures.drawing import drawing_program, drawn
from flexarm.pictures.page import page
from flexarm.pictures.solids import solids

MAIN = """
const stage = flexarm.element("div");
stage.style.height = "100vh";
document.body.append(stage);
const scene = new flexarm.Scene(stage);
const arm = scene.add(new flexarm.Arm(flexarm.data().solids, drawing));
arm.update(flexarm.data().q);
scene.fit(Array.from(flexarm.data().solids.links, (link, i) => arm.joint(i)).flat().concat(arm.tip()));
flexarm.page = { scene, arm };
"""

ALUMINIUM = {"E": 70e9, "density": 2700.0, "poisson": 0.33}


def one_link(name="one", gravity=(0.0, 0.0, 0.0), **body):
    """A beam that turns about z and bends in both planes."""
    given = {"type": "beam", "length": 1.2, "material": ALUMINIUM, "modes": {"y": 2, "z": 1, "torsion": 1}} | body
    return Arm(name=name, links=[{"name": "link", "body": given}], payload={"mass": 2.0}, gravity=gravity)


def arm_page(arm, q=None, title="An arm"):
    model = fa.Model(arm)
    data = {"solids": solids(model), "q": np.array(arm.rest if q is None else q)}
    return page(title, data, [], [javascript(drawing_program(model)), MAIN])


def state(arm, seed=5):
    """Coordinates in general position: angles large, deflections some hundredths."""
    rng = np.random.default_rng(seed)
    size = [0.03 if coordinate.role == "flexible" else 0.4 for coordinate in arm.layout]
    return np.array(arm.rest) + rng.uniform(-1, 1, len(size)) * size


def sweep(tab, link=0):
    """Places and normals of the vertices of a link, and its triangles."""
    read = f"""() => {{ const g = flexarm.page.arm.links[{link}].geometry;
    return [g.attributes.position.array, g.attributes.normal.array, g.index.array].map((x) => Array.from(x)) }}"""
    places, normals, index = tab.evaluate(read)
    return np.reshape(places, (-1, 3)), np.reshape(normals, (-1, 3)), np.reshape(index, (-1, 3))


def volume(places, faces):
    """By the divergence theorem: positive where every face looks outwards."""
    a, b, c = (places[faces[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6


def picture(tab):
    """What is seen, once it rests, as an array of pixels."""
    tab.evaluate("flexarm.page.scene.still()")
    return np.asarray(Image.open(io.BytesIO(tab.screenshot())).convert("RGB")).astype(int)


def seen(tab, point):
    return [round(x) for x in tab.evaluate("(p) => flexarm.page.scene.seen(p)", list(map(float, point)))]


# -- data and the page -------------------------------------------------------------------------------------------------


def test_data_arrive_as_they_were(opened):
    data = {
        "t": np.linspace(0, 1, 7),
        "q": np.arange(6, dtype="float32").reshape(2, 3),
        "$array": {"__proto__": [1], "b": "</script>"},
    }
    tab = opened(page("<b>An arm", data, []))
    assert tab.title() == "<b>An arm"
    assert tab.evaluate("Array.from(flexarm.data().t)") == data["t"].tolist()
    assert tab.evaluate("[flexarm.data().q.constructor.name, flexarm.data().q.shape]") == ["Float32Array", [2, 3]]
    assert tab.evaluate("Object.entries(flexarm.data().$array)") == [["__proto__", [1]], ["b", "</script>"]]


def test_a_program_runs_before_the_page_s_own_scripts_and_texts_are_texts(opened):
    program = 'document.body.append(flexarm.element("p", {id: "name"}, "<img src=x onerror=alert(1)></script>"))'
    tab = opened(page("An arm", {}, [], [program]))
    assert tab.text_content("#name") == "<img src=x onerror=alert(1)></script>"


@pytest.mark.parametrize("attempt", ["fetch('https://example.org')", "new Image().src = 'https://example.org/x.png'"])
def test_nothing_leaves_a_page(opened, attempt):
    """The policy stops what would, and the fixture hears of it."""
    tab = opened(page("An arm", {}, []))
    answers = []
    tab.on("response", lambda answer: answers.append(answer.url))
    with tab.expect_console_message(lambda said: said.type == "error"):
        tab.evaluate(f"void (async () => {{ try {{ await ({attempt}) }} catch {{}} }})()")
    assert opened.errors and all("Content Security Policy" in said for said in opened.errors)
    assert answers == []
    opened.errors.clear()
    opened.asked.clear()


def test_numbers_are_written_to_be_read(opened):
    tab = opened(page("An arm", {}, []))
    texts = {
        (0.0746, "m"): "74.6 mm", (14321, "N m"): "14.3 kN m", (-2.5, "N m"): "\u22122.5 N m", (0, "m"): "0 m",
        (3e-6, "m"): "3 \u00b5m", (9.81, "m/s\u00b2"): "9.81 m/s\u00b2", (0.01, "rad"): "0.01 rad", (2e6, "N"): "2 MN",
        (1234.5, ""): "1230",
    }  # fmt: skip
    for given, text in texts.items():
        assert tab.evaluate("([value, unit]) => flexarm.number(value, unit)", list(given)) == text


# -- where things are drawn --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["canadarm", "spatial-6r", "theodore-ghosal", "subudhi-morris-elastic", "lin-lewis-rfr"]
)
def test_the_tip_and_the_joints_are_drawn_where_they_are(opened, name):
    arm = fa.load(name)
    model, q = fa.Model(arm), state(arm)
    tab = opened(arm_page(arm, tuple(q)))
    assert tab.evaluate("flexarm.page.arm.tip()") == pytest.approx(model.tip(q)[:3, 3].tolist(), abs=1e-12)
    stations, frames = drawn(model, q)
    for i in range(len(arm.links)):
        assert tab.evaluate(f"flexarm.page.arm.joint({i})") == pytest.approx(frames[i, :, 3].tolist(), abs=1e-12)
        mount = tab.evaluate(f"flexarm.page.arm.mounts[{i}].matrixWorld.elements")
        assert np.allclose(np.reshape(mount, (4, 4)).T[:3], frames[i], atol=1e-9)
        places = sweep(tab, i)[0]
        sides = (len(places) - 2) // 23
        rings = places[: 21 * sides].reshape(21, sides, 3)
        assert np.allclose(rings.mean(1), stations[i, :, :3], atol=1e-6), "rings about the sections"
        assert np.allclose(places[-2:], stations[i, [0, -1], :3], atol=1e-6), "the middles of both ends"


def test_a_payload_stands_at_the_tip_and_is_seen_there(opened):
    arm = one_link(section={"type": "tube", "outer_diameter": 0.08, "thickness": 0.004}, gravity=(0.0, 0.0, -9.81))
    for dark in (False, True):
        tab = opened(arm_page(arm), dark=dark)
        pixels = picture(tab)
        x, y = seen(tab, tab.evaluate("flexarm.page.arm.tip()"))
        red, green, blue = pixels[y, x]
        assert red > green > blue + 40, "the payload's ochre"
        middle_x, middle_y = seen(tab, (0.6, 0.0, 0.0))
        red, green, blue = pixels[middle_y, middle_x]
        assert blue > green > red, "the link's blue"
        corner = pixels[5, 5]
        assert (corner.max() < 60) if dark else (corner.min() > 200), "the page's own light or dark"


SECTIONS = {
    "rod": ({"type": "rod", "diameter": 0.05}, None),
    "tube": ({"type": "tube", "outer_diameter": 0.08, "thickness": 0.004}, None),
    "box": ({"type": "box", "width": 0.03, "height": 0.09}, None),
    "tapered rod": ({"type": "rod", "diameter": 0.08}, {"type": "rod", "diameter": 0.03}),
    "tapered box": ({"type": "box", "width": 0.03, "height": 0.09}, {"type": "box", "width": 0.02, "height": 0.03}),
}


def area(section):
    """Of the outline that is drawn: a polygon of 18 sides, or a rectangle without its corners of 16 % of a side."""
    if section["type"] == "box":
        w, h = section["width"], section["height"]
        r = 0.16 * min(w, h)
        return w * h - 4 * (1 - math.sin(math.pi / 4)) * r**2  # corners of two chords of 45 degrees
    d = section.get("diameter", section.get("outer_diameter"))
    return 18 / 2 * math.sin(2 * math.pi / 18) * d**2 / 4


@pytest.mark.parametrize("name", SECTIONS)
def test_links_have_their_true_sections(opened, name):
    """Straight, the volume of the mesh is that of the solid, so that every face looks outwards, ends too.

    Bent and twisted, normals are those of the surface, beside those of the faces around each vertex; magnified, too.
    """
    section, tip = SECTIONS[name]
    arm = one_link(section=section, **({} if tip is None else {"section_tip": tip}))
    tab = opened(arm_page(arm, tuple(state(arm))))
    tab.evaluate("flexarm.page.arm.update(flexarm.data().q.map(() => 0))")
    places, normals, faces = sweep(tab)
    if tip is None:
        expected = area(section) * 1.2
    else:  # Simpson's rule is exact: extents go linearly, the rounding with them
        middle = {key: value if key == "type" else (value + tip[key]) / 2 for key, value in section.items()}
        expected = 1.2 / 6 * (area(section) + 4 * area(middle) + area(tip))
    assert volume(places, faces) == pytest.approx(expected, rel=1e-5)
    assert np.allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-6)

    if section["type"] == "rod":  # a cone's normals lean towards its tip
        slope = (section["diameter"] - (tip or section)["diameter"]) / 2 / 1.2
        assert np.allclose(normals[: 21 * 18, 0], slope / math.hypot(1, slope), atol=1e-6)
    for magnified in (1, 4):
        tab.evaluate(f"flexarm.page.arm.update(flexarm.data().q, {magnified})")
        places, normals, faces = sweep(tab)
        a, b, c = (places[faces[:, i]] for i in range(3))
        across = np.cross(b - a, c - a)
        across /= np.linalg.norm(across, axis=1)[:, None]
        cosines = np.einsum("fi,fvi->fv", across, normals[faces])
        # a face of a rounded edge turns by up to 22.5 degrees from its vertices, one of 18 sides by 10
        assert cosines.min() > math.cos(math.radians(23.5))
        flat = cosines[-2 * (len(places) - 2) // 23 :]
        assert flat.min() > 0.999, "the ends"


def test_deflections_are_magnified(opened):
    """0 draws the rigid arm, and small deflections grow in proportion."""
    arm = fa.load("canadarm")
    q = np.array(arm.rest)
    q[3:] = 1e-5 * np.arange(1, 7)
    rigid, true = q.copy(), fa.Model(arm).tip(q)[:3, 3]
    rigid[3:] = 0
    still = fa.Model(arm).tip(rigid)[:3, 3]
    tab = opened(arm_page(arm, tuple(q)))
    tips = [tab.evaluate(f"flexarm.page.arm.update(flexarm.data().q, {s}), flexarm.page.arm.tip()") for s in (0, 1, 50)]
    assert tips[0] == pytest.approx(still.tolist(), abs=1e-12)
    assert tips[1] == pytest.approx(true.tolist(), abs=1e-12)
    assert tips[2][1] - tips[0][1] == pytest.approx(50 * (true - still)[1], rel=1e-3)


def test_a_telescope_slides_out_of_its_hub(opened):
    """What is not free is in the hub, behind its mouth, and is as long as what is missing."""
    arm = fa.load("theodore-ghosal")
    for free in (1.0, 0.6):
        q = np.array(arm.rest)
        q[2] = free
        tab = opened(arm_page(arm, tuple(q)))
        read = "flexarm.page.arm.mounts[2].userData.inner"
        assert tab.evaluate(f"{read}.scale.x") == pytest.approx(1.3 - free)
        low = tab.evaluate(f"{read}.geometry.computeBoundingBox(), {read}.geometry.boundingBox.min.x")
        assert low == pytest.approx(-1.0)


def test_a_slide_has_its_sleeve_where_it_starts(opened):
    """A prismatic joint: its sleeve stays at the end of what lies before, its rod leads to the link's frame."""
    axis = (0.0, 0.6, 0.8)
    body = {"type": "rigid", "length": 0.5, "mass": 1}
    slide = {
        "name": "slide",
        "joint": {"type": "prismatic", "axis": axis},
        "placement": {"xyz": [0.1, 0, 0]},
        "body": body,
    }
    tab = opened(arm_page(Arm(name="slide", links=[{"name": "first", "body": body}, slide]), (0.0, 0.3)))
    assert tab.evaluate("flexarm.page.arm.joint(1)") == pytest.approx([0.6, 0.18, 0.24])
    parts = "flexarm.page.arm.mounts[1].userData"
    assert tab.evaluate(f"new THREE.Vector3().setFromMatrixPosition({parts}.sleeve.matrixWorld).toArray()") == (
        pytest.approx([0.6, 0, 0])
    )
    ends = """([part, sign]) => new THREE.Vector3(0, 0, sign * 0.5).applyMatrix4(
        part === "rod" ? flexarm.page.arm.mounts[1].userData.rod.matrixWorld : flexarm.page.arm.struts[0].matrix
    ).toArray()"""
    assert tab.evaluate(ends, ["rod", -1]) == pytest.approx([0.6, 0, 0], abs=1e-9)
    assert tab.evaluate(ends, ["rod", 1]) == pytest.approx([0.6, 0.18, 0.24])
    assert tab.evaluate(ends, ["strut", -1]) == pytest.approx([0.5, 0, 0], abs=1e-9)
    assert tab.evaluate(ends, ["strut", 1]) == pytest.approx([0.6, 0, 0], abs=1e-9)


def test_a_strut_joins_what_is_apart(opened):
    """From a link's tip to the next frame; where they meet there is none."""
    links = [
        {"name": "a", "body": {"type": "rigid", "length": 0.5, "mass": 1}},
        {"name": "b", "placement": {"xyz": [0, 0.1, 0.2]}, "body": {"type": "rigid", "length": 0.5, "mass": 1}},
    ]
    tab = opened(arm_page(Arm(name="offset", links=links), (0.4, -0.7)))
    ends = tab.evaluate("""() => { const m = flexarm.page.arm.struts[0].matrix;
        return [-0.5, 0.5].map((z) => new THREE.Vector3(0, 0, z).applyMatrix4(m).toArray()) }""")
    c, s = math.cos(0.4), math.sin(0.4)
    assert ends[0] == pytest.approx([0.5 * c, 0.5 * s, 0.0])
    assert ends[1] == pytest.approx([0.5 * c - 0.1 * s, 0.5 * s + 0.1 * c, 0.2])
    assert tab.evaluate("flexarm.page.arm.struts.map((strut) => strut.visible)") == [True, False]


# -- colours, shadows, words -------------------------------------------------------------------------------------------


def viridis(x):
    """Matplotlib's, in linear light as vertices have it."""
    colour = matplotlib.colormaps["viridis"](x)[:, :3]
    return np.where(colour < 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def test_links_show_their_moments_and_deflections(opened):
    """Ring by ring the colour of its value, from zero to the largest; the scale says what it is."""
    arm = fa.load("spatial-6r")
    q = state(arm)
    tab = opened(arm_page(arm, tuple(q)))
    stations, _ = drawn(fa.Model(arm), q)
    values = {"moment": np.hypot(stations[..., 6], stations[..., 7]), "deflection": stations[..., 8]}
    for mode, title in (("moment", "bending moment"), ("deflection", "deflection")):
        most = tab.evaluate(f"flexarm.page.arm.most('{mode}')")
        assert most == pytest.approx(values[mode][1:3].max()), "of the two links that bend"
        tab.evaluate(
            f"flexarm.page.arm.colour('{mode}', [0, {most}]), flexarm.page.scene.scale.set('{mode}', [0, {most}])"
        )
        for link in (1, 2):
            colours = np.reshape(tab.evaluate(f"Array.from(flexarm.page.arm.links[{link}].color.array)"), (-1, 3))
            rings = colours[: 21 * 18].reshape(21, 18, 3)
            assert np.ptp(rings, axis=1).max() == 0
            # the scale has 256 steps between 16 colours of matplotlib's 256
            assert np.abs(rings[:, 0] - viridis(values[mode][link] / most)).max() < 0.02
        assert tab.locator(".scale").is_visible() and title in tab.inner_text(".scale")
    tab.evaluate('flexarm.page.arm.colour("plain"), flexarm.page.scene.scale.set("plain")')
    assert set(tab.evaluate("Array.from(flexarm.page.arm.links[1].color.array)")) == {1}
    assert not tab.locator(".scale").is_visible()


def test_shadows_lie_on_the_ground_below_the_arm(opened):
    arm = fa.load("spatial-6r")
    tab = opened(arm_page(arm, tuple(state(arm))))
    read = "(p) => new THREE.Vector3(...p).applyMatrix4(flexarm.page.scene.flat.matrix).toArray()"
    level = tab.evaluate("flexarm.page.scene.level")
    assert level < 0
    for point in ([1.0, 2.0, 3.0], [-0.3, 0.2, 0.1]):
        x, y, z = tab.evaluate(read, point)
        assert z == pytest.approx(level, abs=0.01) and abs(x - point[0]) < 1.2 and abs(y - point[1]) < 1.2
    lowest = min(sweep(tab, i)[0][:, 2].min() for i in range(6))
    assert level < lowest, "nothing is in the ground"


HOSTILE = "<img src=x onerror=\"document.title='run'\"></div><script>document.title='run'</script>'\"&amp;"


def test_names_of_users_are_words(opened):
    arm = one_link(section={"type": "rod", "diameter": 0.05}, name="<script>document.title='run'</script>")
    tab = opened(arm_page(arm, title="A title"))
    tab.evaluate("(name) => flexarm.page.scene.label(name, () => flexarm.page.arm.tip())", HOSTILE)
    word = tab.locator(".word").last
    assert word.text_content() == HOSTILE and word.locator("*").count() == 0
    assert tab.title() == "A title"


def test_light_turns_dark(opened):
    tab = opened(arm_page(fa.load("canadarm")))
    assert tab.evaluate("flexarm.theme()") == "light"
    before = picture(tab)[5, 5]
    tab.get_by_label("light or dark").click()
    assert tab.evaluate("flexarm.theme()") == "dark"
    assert picture(tab)[5, 5].sum() < before.sum() - 300
    tab.emulate_media(color_scheme="dark")
    tab.get_by_label("light or dark").click()
    assert tab.evaluate("flexarm.theme()") == "light", "what the reader has chosen wins"


def test_a_ghost_and_a_second_arm(opened):
    """A ghost is pale, without base and shadow; another arm has rings, for those who see no colours."""
    tab = opened(arm_page(fa.load("canadarm"), (0.3, 0.4, 0.5, 0, 0, 0, 0, 0, 0)))
    tab.evaluate("""() => { const { scene } = flexarm.page; const { solids, q } = flexarm.data();
        for (const options of [{ ghost: true, color: 2 }, { color: 1, pattern: 1 }]) {
            const other = scene.add(new flexarm.Arm(solids, drawing, options));
            other.update(q, 0);
            flexarm.page[options.ghost ? "ghost" : "second"] = other;
        } }""")
    assert tab.evaluate("[flexarm.page.ghost.foot, flexarm.page.ghost.material.transparent]") == [None, True]
    assert tab.evaluate("flexarm.page.scene.flat.children.length") == 2, "two shadows of three arms"
    shades = tab.evaluate("Array.from(flexarm.page.second.links[0].color.array)")
    assert len(set(shades)) == 2
    tab.evaluate("flexarm.page.scene.remove(flexarm.page.second)")
    assert tab.evaluate("flexarm.page.scene.flat.children.length") == 1
    picture(tab)


# -- the camera --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["canadarm", "spatial-6r", "rigid-two-link"])
def test_everything_is_seen(opened, name):
    """On a laptop and on a phone, whose window changes its shape."""
    arm = fa.load(name)
    tab = opened(arm_page(arm, tuple(state(arm))))
    for width, height in (LAPTOP, PHONE):
        tab.set_viewport_size({"width": width, "height": height})
        tab.wait_for_function(f"() => Math.abs(flexarm.page.scene.camera.aspect - {width / height}) < 0.01")
        places = [tab.evaluate(f"flexarm.page.arm.joint({i})") for i in range(len(arm.links))]
        for point in (*places, tab.evaluate("flexarm.page.arm.tip()")):
            x, y = seen(tab, point)
            assert 0 < x < width and 0 < y < height


def test_the_camera_turns_zooms_and_comes_home(opened):
    tab = opened(arm_page(fa.load("spatial-6r")))
    place = "flexarm.page.scene.camera.position.toArray()"
    far = "flexarm.page.scene.camera.position.distanceTo(flexarm.page.scene.controls.target)"
    home, distance = tab.evaluate(place), tab.evaluate(far)
    tab.mouse.move(640, 600)
    tab.mouse.down()
    tab.mouse.move(760, 560, steps=4)
    tab.mouse.up()
    tab.wait_for_function("() => !flexarm.page.scene.pending")
    turned = tab.evaluate(place)
    assert math.dist(home, turned) > 0.1 * distance and tab.evaluate(far) == pytest.approx(distance)
    canvas = tab.locator("canvas").first
    canvas.press("-")
    assert tab.evaluate(far) > 1.1 * distance
    canvas.press("Shift+ArrowLeft")
    canvas.press("Home")
    assert tab.evaluate(place) == pytest.approx(home)


def test_a_ray_goes_through_what_is_seen(opened):
    tab = opened(arm_page(fa.load("canadarm")))
    point = [3.0, 2.0, 0.5]
    x, y = tab.evaluate("(p) => flexarm.page.scene.seen(p)", point)
    off = tab.evaluate(
        "([x, y, p]) => flexarm.page.scene.pick({clientX: x, clientY: y}).distanceToPoint(new THREE.Vector3(...p))",
        [x, y, point],
    )
    assert off < 1e-3


def test_it_draws_when_something_asks_for_it(opened):
    """A frame a call of those that return true, and none when nothing moves."""
    tab = opened(arm_page(fa.load("canadarm")))
    tab.wait_for_function("() => !flexarm.page.scene.pending")
    wait = """new Promise((done) => {
        let k = 0;
        const step = () => (++k > 12 ? done() : requestAnimationFrame(step));
        step();
    })"""
    before = tab.evaluate("flexarm.page.scene.frames")
    tab.evaluate(wait)
    assert tab.evaluate("flexarm.page.scene.frames") == before
    tab.evaluate("window.left = 5; flexarm.page.scene.onframe(() => left-- > 0)")
    tab.wait_for_function("() => left < 0 && !flexarm.page.scene.pending")
    assert tab.evaluate("flexarm.page.scene.frames") == before + 6


def test_a_path_is_strong_up_to_a_point(opened):
    tab = opened(arm_page(fa.load("canadarm")))
    points = np.cumsum(np.random.default_rng(2).normal(size=(30, 3)), axis=0)
    tab.evaluate(
        "(points) => { flexarm.page.path = flexarm.page.scene.add(new flexarm.Path(points, {radius: 0.01})); }",
        points.ravel().tolist(),
    )
    tab.evaluate("flexarm.page.path.upto(10)")
    assert tab.evaluate("flexarm.page.path.past.geometry.drawRange.count") == 10 * 4 * 6
    rings = np.reshape(tab.evaluate("Array.from(flexarm.page.path.position.array)"), (30, 4, 3))
    assert np.allclose(rings.mean(1), points, atol=1e-5)
    assert np.allclose(np.linalg.norm(rings - points[:, None], axis=2), 0.01, rtol=1e-3)


def test_a_browser_without_webgl_says_so(opened):
    nothing = """const had = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind) {
            return kind === "2d" ? had.call(this, kind) : null;
        };"""
    model = fa.Model(fa.load("canadarm"))
    data = {"solids": solids(model), "q": np.zeros(9)}
    tab = opened(page("An arm", data, [], [nothing, javascript(drawing_program(model)), MAIN]))
    assert "does not draw in three dimensions" in tab.inner_text("body")
    assert opened.errors
    opened.errors.clear()
