"""Pages of fa.view in a real browser: what is drawn is the result's, and every control does what it says."""

import functools

import numpy as np
import pytest
from browser import PHONE, SETTLED

import flexarm as fa
from flexarm.model.drawing import drawn
from flexarm.pictures.solids import solids
from flexarm.pictures.view import viewed

CLOSE = 2e-6
"""Of an arm's reach: a page has q in single precision."""

ARM = fa.Arm(
    name="two",
    gravity=[0.0, 0.0, -9.81],
    links=[
        fa.Link(name="upper", joint=fa.Revolute(axis=[0, 0, 1]), body=fa.Rigid(length=0.4, mass=1.0)),
        fa.Link(
            name="fore",
            joint=fa.Revolute(axis=[0, 1, 0], stiffness=60.0, rotor_inertia=0.1),
            body=fa.Beam(length=0.6, mass=0.5, EI=4.0, modes={"y": 2, "z": 2}),
        ),
    ],
    payload=fa.Payload(mass=0.2),
)


@pytest.fixture(scope="module")
def result():
    """A swing under gravity that follows a reference badly."""
    reference = fa.Quintic([0.0, 0.0], [1.0, -0.5], 0.4)
    u = fa.RigidInverseDynamics(reference)
    return fa.simulate(fa.Model(ARM), 0.8, u=u, reference=reference, samples=81, name="swing", progress=False)


@pytest.fixture(scope="module")
def other():
    u = fa.bang_bang([0.5, 0.2], 0.4)
    return fa.simulate(fa.Model(ARM), 0.8, u=u, samples=41, name="other", progress=False)


@pytest.fixture
def tab(opened, result):
    """The page of a result, standing still."""
    return still(opened(viewed(result).html))


def still(tab):
    """At the start."""
    tab.evaluate("flexarm.page.player.pause(), flexarm.page.player.seek(0)")
    return tab


def seek(tab, t):
    tab.evaluate("(t) => flexarm.page.player.seek(t)", t)


def tip(tab, run=0, what="main"):
    return np.array(tab.evaluate(f"flexarm.page.runs[{run}].{what}.tip()"))


def visible(tab, kind):
    return tab.evaluate(f"Boolean(flexarm.page.runs[0].ghosts.{kind}?.object.visible)")


def test_the_tip_is_drawn_where_the_result_has_it(tab, result):
    for k in (0, 7, 40, 80):
        seek(tab, float(result.time[k]))
        np.testing.assert_allclose(tip(tab), result.tip.values[k], atol=CLOSE)


def test_between_samples_it_moves_smoothly(opened):
    """Much nearer to the motion, known at three times as many times, than straight from sample to sample."""
    model = fa.Model(ARM)
    fine = fa.simulate(model, 0.4, u=fa.bang_bang([2.0, 1.0], 0.4), samples=241, progress=False)
    tab = still(opened(viewed(fine.isel(time=slice(None, None, 3))).html))
    ks = [k for k in range(240) if k % 3]
    seen = tab.evaluate(
        "(times) => times.map((t) => { flexarm.page.player.seek(t); return flexarm.page.runs[0].main.tip(); })",
        fine.time.values[ks].tolist(),
    )
    curved, straight = [], []
    for k, drawn_ in zip(ks, seen, strict=True):
        curved.append(np.linalg.norm(drawn_ - fine.tip.values[k]))
        before, share = k - k % 3, k % 3 / 3
        between = (1 - share) * fine.q.values[before] + share * fine.q.values[before + 3]
        straight.append(np.linalg.norm(model.tip(between)[:3, 3] - fine.tip.values[k]))
    assert 0 < np.median(curved) < np.median(straight) / 5 and curved[0] < straight[0] / 5


def test_what_is_drawn_is_what_the_scene_shows(tab, result):
    """The last frame's matrix in the scene, not only numbers beside it."""
    seek(tab, 0.5)
    tab.evaluate(SETTLED)
    matrix = tab.evaluate("flexarm.page.runs[0].main.end.matrixWorld.elements.slice(12, 15)")
    np.testing.assert_allclose(matrix, result.tip.sel(time=0.5, method="nearest").values, atol=CLOSE)


def test_the_slider_moves_time(tab, result):
    slider = tab.locator("input.time")
    slider.fill("0.6")
    np.testing.assert_allclose(tip(tab), result.tip.values[60], atol=CLOSE)
    assert tab.locator(".clock").text_content() == "0.600 s" and tab.evaluate("flexarm.page.player.time") == 0.6
    slider.focus()
    slider.press("End")
    assert tab.evaluate("flexarm.page.player.time") == 0.8


def test_play_moves_time_until_it_is_paused(tab):
    play = tab.get_by_role("button", name="Play")
    play.click()
    tab.evaluate("async () => { while (flexarm.page.player.time < 0.02) await new Promise(requestAnimationFrame); }")
    tab.get_by_role("button", name="Pause").click()
    stopped = tab.evaluate("flexarm.page.player.time")
    tab.evaluate(SETTLED)
    assert stopped > 0 and tab.evaluate("flexarm.page.player.time") == stopped


def test_at_the_end_it_begins_again_or_stops(tab):
    """The clock by hand: a frame that comes a tenth of a second later."""
    ticks = (
        "(loop) => { const p = flexarm.page.player; p.setLoop(loop); p.setSpeed(1); p.seek(0.75); p.playing = true; "
    )
    ticks += "p.before = 0; p.tick(100); const found = [p.time, p.playing]; p.pause(); return found; }"
    assert tab.evaluate(ticks, True) == [pytest.approx(0.05), True]
    assert tab.evaluate(ticks, False) == [0.8, False]


def test_keys(tab, result):
    press, player = tab.keyboard.press, "flexarm.page.player"
    press("End")
    assert tab.evaluate(f"{player}.time") == 0.8
    press(",")
    assert tab.evaluate(f"{player}.time") == result.time.values[79]
    press("Home")
    press(".")
    press("ArrowRight")
    assert tab.evaluate(f"{player}.time") == pytest.approx(result.time.values[1] + 0.008)
    speed = tab.evaluate(f"{player}.speed")
    press("ArrowUp")
    assert tab.evaluate(f"{player}.speed") > speed
    press("ArrowDown")
    assert tab.evaluate(f"{player}.speed") == speed
    press("l")
    assert tab.evaluate(f"{player}.loop") is False
    press("Space")
    assert tab.evaluate(f"{player}.playing") is True
    press("Space")
    assert tab.evaluate(f"{player}.playing") is False
    for key, name, values in (
        ("m", "magnified", [3, 10, 30, 100, 1]),
        ("c", "colouring", ["deflection", "plain", "moment"]),
        ("g", "haunted", ["rigid", "reference", "none"]),
        ("f", "framed", [True, False]),
    ):
        for value in values:
            press(key)
            assert tab.evaluate(f"flexarm.page.{name}") == value
    press("?")
    assert tab.locator("dialog.keys").is_visible() and "play or pause" in tab.locator("dialog.keys").text_content()
    press("Escape")
    assert not tab.locator("dialog.keys").is_visible()


def test_keys_that_a_control_understands_are_its_own(tab):
    tab.locator("select").first.focus()
    tab.keyboard.press("End")
    assert tab.evaluate("flexarm.page.player.time") == 0.0
    tab.get_by_role("button", name="Play").focus()
    tab.keyboard.press("Space")
    assert tab.evaluate("flexarm.page.player.playing") is True


def test_deflections_are_magnified_beside_the_true_arm(tab, result):
    """The tip goes as far beyond the rigid arm's as the slider says, and the ghost stays where it was."""
    k = 60
    seek(tab, float(result.time[k]))
    model = fa.Model(ARM)
    slider = tab.get_by_label("Magnified")
    slider.fill("0.5")
    tab.evaluate(SETTLED)
    assert tab.evaluate("flexarm.page.magnified") == 10
    expected = drawn(model, result.q.values[k], magnified=10.0)[1][-1, :, 3]
    assert np.linalg.norm(expected - result.tip.values[k]) > 0.01
    np.testing.assert_allclose(tip(tab), expected, atol=10 * CLOSE)
    assert visible(tab, "true")
    np.testing.assert_allclose(tip(tab, what="ghosts.true"), result.tip.values[k], atol=CLOSE)
    tab.get_by_label("true arm").uncheck()
    tab.evaluate(SETTLED)
    assert not visible(tab, "true")
    slider.fill("0")
    tab.evaluate(SETTLED)
    np.testing.assert_allclose(tip(tab), result.tip.values[k], atol=CLOSE)


def first_magnification(model, results):
    """The largest step at which links bend by at most 6 % of the reach, and points move by at most 20 % of it."""
    reach = solids(model)["reach"]
    still_, bent = (np.concatenate([drawn(model, x.q.values, s)[0] for x in results]) for s in (0.0, 1.0))
    bend, away = bent[..., 8].max(), np.linalg.norm(bent[..., :3] - still_[..., :3], axis=-1).max()
    return max(s for s in (1, 2, 3, 5, 10, 20, 30, 50, 100) if s == 1 or max(s * bend / 0.06, s * away / 0.2) <= reach)


@pytest.mark.parametrize("EI", [4.0, 150.0])
def test_bending_is_magnified_until_it_is_seen(opened, EI):
    """A badge says how much; a soft arm is drawn as it is."""
    upper, fore = ARM.links
    model = fa.Model(ARM.replace(links=[upper, fore.replace(body=fore.body.replace(EI=EI))]))
    motion = fa.simulate(model, 0.4, u=[0.5, 0.0], samples=41, progress=False)
    tab = still(opened(viewed(motion).html))
    expected = first_magnification(model, [motion])
    assert (expected == 1) is (EI == 4.0)
    assert tab.evaluate("flexarm.page.magnified") == expected
    badge = tab.locator(".badge")
    assert badge.is_visible() and badge.text_content() == f"deflection \N{MULTIPLICATION SIGN}{expected}"
    tab.evaluate(SETTLED)
    assert visible(tab, "true") is (expected > 1)
    assert tab.get_by_text("pale: true deflection").is_visible() is (expected > 1)
    tab.keyboard.press("m")
    assert badge.text_content() == f"deflection \N{MULTIPLICATION SIGN}{next(s for s in (3, 10, 30) if s > expected)}"


def test_results_keep_their_colours_and_a_rigid_arm_has_no_badge(opened, result, other):
    assert still(opened(viewed([result, other]).html)).evaluate("flexarm.page.colouring") == "plain"
    rigid = fa.Model(fa.load("rigid-two-link"))
    tab = still(opened(viewed(fa.simulate(rigid, 0.3, u=[1.0, 0.5], samples=11, progress=False)).html))
    assert tab.locator(".badge").is_hidden() and tab.evaluate("flexarm.page.colouring") == "plain"


MOTION = """() => {
    const { page } = flexarm, box = page.scene.canvas.getBoundingClientRect(), found = [];
    for (let k = 0; k <= 40; k++) {
        page.player.seek((page.end * k) / 40);
        for (const { main } of page.runs) {
            const { stations } = main.out;
            for (let i = 0; i < stations.length; i += 9) found.push(page.scene.seen([...stations.slice(i, i + 3)]));
        }
    }
    const sides = ({ left, top, right, bottom }) => [left, top, right, bottom];
    const over = [".legend", ".under", ".compass", "header", ".show"].map((x) => document.querySelector(x));
    return [found, sides(box), over.map((element) => sides(element.getBoundingClientRect()))];
}"""


@pytest.mark.parametrize("size", [(1440, 900), (900, 700), PHONE])
def test_nothing_lies_over_the_arm_at_any_time(opened, result, other, size):
    """The whole motion is within the picture, as large as it can be, and beside compass and legends."""
    for what in ({"with": result, "without": other}, viewed_planar()):
        tab = still(opened(viewed(what).html, size=size))
        for times in (None, 20):
            if times:
                tab.evaluate("(times) => { flexarm.page.setMagnified(times); flexarm.page.fit(); }", times)
            points, (left, top, right, bottom), rects = tab.evaluate(MOTION)
            x, y = np.transpose(points)
            assert left < x.min() and x.max() < right and top < y.min() and y.max() < bottom
            assert max(np.ptp(x) / (right - left), np.ptp(y) / (bottom - top)) > 0.4
            for low_x, low_y, high_x, high_y in rects:
                assert not np.any((low_x < x) & (x < high_x) & (low_y < y) & (y < high_y))


@functools.cache
def viewed_planar():
    """A bent arm that turns around the corner of the picture where the compass is, and whose ends are magnified."""
    model = fa.Model(fa.load("canadarm"))
    q0 = np.concatenate([[-2.6, 0.2, 0.1], np.zeros(6)])
    q0[[3, 5]] = 0.1  # deflections of the two long links [m]
    return fa.simulate(model, 6.0, u=[150.0, 60.0, 5.0], q0=q0, samples=61, progress=False)


def test_letters_of_the_compass_do_not_collide(opened, result):
    letters = """() => Array.from(document.querySelectorAll(".compass text"),
        (text) => ["x", "y"].map((name) => Number(text.getAttribute(name))))"""
    for what in (viewed_planar(), result):
        tab = still(opened(viewed(what).html))
        for _ in range(8):
            a, b, c = np.array(tab.evaluate(letters))
            assert min(np.linalg.norm(x - y) for x, y in ((a, b), (a, c), (b, c))) > 10.0  # letters of 11 pixels
            tab.evaluate("flexarm.page.scene.orbit(0.7, 0.25), flexarm.page.scene.render(0)")


def test_units_and_references_are_written_out(opened, result):
    """The grid's squares, time, references; and every plot has at least two numbers beside it."""
    tab = still(opened(viewed(result.assign_attrs(name="two")).html, size=(900, 700)))
    tab.evaluate(SETTLED)
    lines = "flexarm.page.scene.ground.children[0].geometry.attributes.position.array"
    xyz = np.reshape(tab.evaluate(f"Array.from({lines})"), (-1, 3))
    side = np.diff(np.unique(np.round(xyz[::24, 0], 6))).min()
    said = tab.locator(".under .grid").text_content()
    number, unit = said.removeprefix("grid ").split()
    assert float(number) * {"m": 1.0, "mm": 1e-3}[unit] == pytest.approx(side, rel=1e-3)
    numbers = (
        "flexarm.page.plots.panels.map(({ plot }) => plot.axes.map((axis) => axis._values.filter((x) => x !== null)))"
    )
    for times, values in tab.evaluate(numbers):
        assert all(x.endswith(" s") for x in times) and len(values) >= 2
    assert tab.locator(".plot", has_text="joints").locator(".chip.reference").text_content() == "reference"
    assert tab.locator(".chip.reference").count() == 1
    assert tab.locator("h1").text_content() == "two" and "two" not in tab.locator(".about").text_content()


def test_one_of_several_cases_is_seen(opened, result, other):
    """Its arms, its plots, its names; what is hidden, coloured, magnified or side by side stays so."""
    tab = still(opened(viewed({"first": {"a": result, "b": other}, "second": {"a": other, "b": result}}).html))
    k, page = 40, "flexarm.page"
    tips = {"a": result.tip.values[k], "b": other.tip.values[k // 2]}
    seek(tab, float(result.time[k]))
    np.testing.assert_allclose([tip(tab, 0), tip(tab, 1)], [tips["a"], tips["b"]], atol=CLOSE)
    tab.get_by_role("button", name="b", exact=True).click()
    chooser = tab.get_by_label("Case")
    chooser.click(trial=True)  # nothing lies over it
    chooser.select_option("second")
    tab.evaluate(SETTLED)
    np.testing.assert_allclose(tip(tab, 0), tips["b"], atol=CLOSE)
    drawn_ = f"{page}.cases.map((c) => c.runs.map((r) => [r.main.object.visible, Boolean(r.path?.object.visible)]))"
    assert tab.evaluate(drawn_) == [[[False, False], [False, False]], [[True, True], [False, False]]]
    assert tab.locator("section.plots").count() == 1
    assert tab.evaluate(f"{page}.plots.panels[0].plot.data[0].length") == 81
    assert tab.locator(".legend .run").all_text_contents() == ["a", "b"]
    assert tab.locator(".legend .run").nth(1).get_attribute("aria-pressed") == "false"
    tab.evaluate(f"{page}.setMagnified(10), {page}.setColouring('moment'), {page}.setPlaced('beside')")
    tab.keyboard.press("n")
    tab.evaluate(SETTLED)
    assert chooser.input_value() == "0" and tab.evaluate(f"{page}.runs[0].offset.length()") > 0.1
    expected = drawn(fa.Model(ARM), result.q.values[k], magnified=10.0)[1][-1, :, 3]
    np.testing.assert_allclose(tip(tab), expected, atol=10 * CLOSE)
    assert tab.evaluate(f"{page}.runs[1].visible") is False and tab.evaluate(f"{page}.colouring") == "moment"


def test_the_address_names_a_case(opened, result, other, tmp_path):
    path = fa.view({"first": {"a": result}, "payload +50 %": {"a": other}}, tmp_path / "cases.html", show=False)
    tab = opened(path)
    tab.goto(path.as_uri() + "#case=payload%20%2B50%20%25&t=0.4")
    tab.reload()
    np.testing.assert_allclose(tip(tab), other.tip.values[20], atol=CLOSE)


def test_ghosts(tab, result):
    k = 50
    seek(tab, float(result.time[k]))
    model, q = fa.Model(ARM), result.q.values[k]
    wanted = np.zeros(len(q))
    wanted[list(ARM.joints)] = result.q_ref.values[k]
    wanted[list(ARM.motors)] = result.q_ref.values[k, 1]
    for kind, expected in (("rigid", drawn(model, q, magnified=0.0)), ("reference", drawn(model, wanted))):
        tab.get_by_label("Ghost").select_option(kind)
        tab.evaluate(SETTLED)
        assert visible(tab, kind)
        np.testing.assert_allclose(tip(tab, what=f"ghosts.{kind}"), expected[1][-1, :, 3], atol=CLOSE)
    tab.get_by_label("Ghost").select_option("none")
    tab.evaluate(SETTLED)
    assert not visible(tab, "rigid") and not visible(tab, "reference")


def test_colours_have_a_scale_to_the_largest_of_the_run(tab, result):
    scale = tab.locator(".corner.scale")
    assert scale.is_visible() and tab.evaluate("flexarm.page.colouring") == "moment"
    stations = drawn(fa.Model(ARM), result.q.values)[0][:, 1]  # of the link that bends
    largest = {"moment": np.hypot(stations[..., 6], stations[..., 7]).max(), "deflection": stations[..., 8].max()}
    for what, most in largest.items():
        tab.get_by_label("Colour", exact=True).select_option(what)
        low, high = tab.evaluate("flexarm.page.runs[0].main.range")
        assert (low, high) == (0, pytest.approx(most, rel=1e-4))
        assert scale.is_visible() and tab.evaluate("flexarm.page.runs[0].main.mode") == what
    tab.get_by_label("Colour", exact=True).select_option("plain")
    assert scale.is_hidden()


def test_the_path_is_the_tip_s(tab, result):
    path = "flexarm.page.runs[0].path"
    tab.evaluate(SETTLED)
    rows = tab.evaluate("flexarm.page.runs[0].rows")
    assert rows == list(range(81))
    xyz = np.array(tab.evaluate(f"Array.from({path}.position.array)")).reshape(81, -1, 3)
    np.testing.assert_allclose(xyz.mean(axis=1), result.tip.values, atol=5 * CLOSE)
    seek(tab, 0.4)
    whole, done = tab.evaluate(f"[{path}.all, {path}.past].map((x) => x.geometry.drawRange.count)")
    assert done == tab.evaluate(f"{path}.all.geometry.index.count") / 2 and whole > done
    tab.get_by_label("path").uncheck()
    tab.evaluate(SETTLED)
    assert tab.evaluate(f"{path}.object.visible") is False


def test_frames_on_demand(tab):
    frames = "flexarm.page.runs[0].main.triads.map((x) => x.visible)"
    assert not any(tab.evaluate(frames))
    tab.get_by_label("frames").check()
    assert all(tab.evaluate(frames)) and tab.evaluate(frames)


def test_the_cursor_of_the_plots_follows_and_leads(tab, result):
    seek(tab, 0.2)
    for k in range(tab.locator(".plot").count()):
        cursor, over = (tab.locator(f".plot:nth-child({k + 1}) {x}").bounding_box() for x in (".cursor", ".u-over"))
        assert cursor["x"] - over["x"] == pytest.approx(over["width"] / 4, abs=1.0)
    over = tab.locator(".u-over").first
    box = over.bounding_box()
    over.click(position={"x": 0.75 * box["width"], "y": 10})
    assert tab.evaluate("flexarm.page.player.time") == pytest.approx(0.6, abs=0.01)
    value = tab.locator(".plot").first.locator(".chip .value").first.text_content()
    k = int(np.argmin(np.abs(result.time.values - tab.evaluate("flexarm.page.player.time"))))
    assert float(value) == pytest.approx(float(result.q[k, 0]), rel=0.01)


def test_plots_have_the_curves_of_the_result(tab, result):
    plots = "flexarm.page.plots.panels.map((x) => [x.object.querySelector('h2').textContent, x.items])"
    found = dict(tab.evaluate(plots))
    assert list(found)[:2] == ["joints [rad]", "torques [N m]"]
    assert found["joints [rad]"] == ["upper", "fore"]
    data = np.array(tab.evaluate("Array.from(flexarm.page.plots.panels[0].plot.data[1])"))
    np.testing.assert_allclose(data, result.q.values[:, 0], atol=1e-6)
    chip = tab.locator(".chip").first
    chip.click()
    assert chip.get_attribute("aria-pressed") == "false"
    shown = "flexarm.page.plots.panels[0].plot.series.slice(1).map((x) => x.show)"
    assert tab.evaluate(shown) == [False, False, True, True]  # the joint and its reference


def test_several_results(opened, result, other):
    """Over each other in colours of their own, hidden one by one, or side by side."""
    tab = still(opened(viewed({"with": result, "without": other}).html))
    seek(tab, 0.4)
    np.testing.assert_allclose(tip(tab, 0), result.tip.values[40], atol=CLOSE)
    np.testing.assert_allclose(tip(tab, 1), other.tip.values[20], atol=CLOSE)
    assert tab.evaluate("flexarm.page.runs.map((x) => x.main.color)") == [0, 1]  # places among the page's colours
    swatches = tab.evaluate("[...document.querySelectorAll('.swatch')].map((x) => x.style.backgroundColor)")
    assert len({*swatches}) == 2 and "" not in swatches
    tab.get_by_role("button", name="without").click()
    tab.evaluate(SETTLED)
    assert tab.evaluate("flexarm.page.runs.map((x) => x.main.object.visible)") == [True, False]
    assert (
        tab.evaluate("flexarm.page.plots.panels[0].plot.series.slice(1).map((x) => x.show)") == [True] * 4 + [False] * 2
    )
    tab.get_by_role("button", name="without").click()
    tab.get_by_label("Results").select_option("beside")
    tab.evaluate(SETTLED)
    places = np.array(tab.evaluate("flexarm.page.runs.map((x) => x.main.end.matrixWorld.elements.slice(12, 15))"))
    apart = (places[1] - other.tip.values[20]) - (places[0] - result.tip.values[40])
    assert np.linalg.norm(apart) > 1.0 and np.count_nonzero(np.abs(apart) > 1e-4) == 1
    tab.keyboard.press("b")
    tab.evaluate(SETTLED)
    places = tab.evaluate("flexarm.page.runs.map((x) => x.main.end.matrixWorld.elements.slice(12, 15))")
    np.testing.assert_allclose(places, [result.tip.values[40], other.tip.values[20]], atol=CLOSE)


def test_a_result_that_ends_first_waits(opened, result, other):
    tab = still(opened(viewed([result, other.isel(time=slice(0, 21))]).html))
    seek(tab, 0.7)
    np.testing.assert_allclose(tip(tab, 0), result.tip.values[70], atol=CLOSE)
    np.testing.assert_allclose(tip(tab, 1), other.tip.values[20], atol=CLOSE)


def test_one_time_only_is_a_picture(opened, result):
    tab = still(opened(viewed(result.isel(time=[3])).html))
    tab.keyboard.press("ArrowRight")
    tab.evaluate("flexarm.page.setMagnified(1)")
    tab.evaluate(SETTLED)
    np.testing.assert_allclose(tip(tab), result.tip.values[3], atol=CLOSE)


def test_the_address_says_what_is_seen_first(opened, result, tmp_path):
    """For links to a moment; what it does not understand it leaves."""
    path = fa.view(result, tmp_path / "a.html", show=False)
    tab = opened(path)
    tab.goto("about:blank")
    tab.goto(path.as_uri() + "#t=0.3&magnified=30&colour=moment&ghost=reference&speed=0.2&x=%3Cimg%3E")
    page = "[flexarm.page.player.time, flexarm.page.player.playing, flexarm.page.magnified, flexarm.page.colouring, "
    page += "flexarm.page.haunted, flexarm.page.player.speed]"
    assert tab.evaluate(page) == [0.3, False, 30, "moment", "reference", 0.2]


def test_it_plays_at_once_but_for_who_wants_no_motion(opened, result):
    html = viewed(result).html
    assert opened(html).evaluate("flexarm.page.player.playing") is True
    assert opened(html, reduced_motion="reduce").evaluate("flexarm.page.player.playing") is False


def test_names_are_shown_as_text(opened, result):
    evil = '<img src=x onerror="flexarm.caught=1"></script><script>flexarm.caught=1</script>\'&amp;'
    arm = ARM.replace(
        name=evil,
        links=[link.replace(name=f"{link.name}<b>x</b>\"'") for link in ARM.links],
    )
    own = fa.simulate(fa.Model(arm), 0.1, q0=[0.1] * 7, samples=5, name=evil, progress=False)
    tab = opened(viewed({evil: own, "b": own}).html)
    assert tab.locator("h1").text_content() == f"{evil} and b"
    assert tab.locator(".run").first.text_content() == evil
    assert "upper<b>x</b>\"'" in tab.locator(".chip").first.text_content()
    assert tab.evaluate("flexarm.caught") is None and tab.locator("h1 img, .chip b").count() == 0
    for what in (viewed(arm), viewed(arm, modes=True)):
        tab = opened(what.html)
        assert evil in tab.locator("h1").text_content() and tab.evaluate("flexarm.caught") is None


def test_everything_has_a_name_and_can_be_reached(tab):
    """Each control by the keyboard, each with a name that is said."""
    unnamed = """() => [...document.querySelectorAll("button, input, select, summary, canvas[tabindex], [role]")]
        .filter((x) => !(x.labels?.length || x.getAttribute("aria-label") || x.textContent.trim()))
        .map((x) => x.outerHTML)"""
    assert tab.evaluate(unnamed) == []
    seen = set()
    tab.evaluate("document.activeElement.blur()")
    for _ in range(60):
        tab.keyboard.press("Tab")
        seen.add(tab.evaluate("document.activeElement.labels?.[0]?.textContent ?? document.activeElement.ariaLabel"))
    assert {"Magnified", "true arm", "Colour", "Ghost", "path", "frames", "Time", "Speed", "Play (space)"} <= seen
    assert tab.get_by_label("Magnified").get_attribute("aria-valuetext") == "1\N{MULTIPLICATION SIGN}"
    assert "seconds" in tab.locator("input.time").get_attribute("aria-valuetext")


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_everything_in_one_column(dark, opened, result):
    tab = still(opened(viewed(result).html, size=PHONE, dark=dark, has_touch=True))
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert tab.get_by_label("Magnified").is_hidden()
    tab.get_by_text("Show", exact=True).click()
    assert tab.get_by_label("Magnified").is_visible()
    for box in (tab.locator(x).first.bounding_box() for x in (".scene", "input.time", ".plot")):
        assert box["width"] > 0.8 * PHONE[0]
    assert tab.evaluate("flexarm.theme()") == ("dark" if dark else "light")


def test_light_and_dark_by_a_button(tab):
    colour = "flexarm.page.plots.panels[0].plot.series[1].stroke(flexarm.page.plots.panels[0].plot, 1)"
    light = tab.evaluate(colour)
    tab.get_by_role("button", name="Light or dark").click()
    assert tab.evaluate("flexarm.theme()") == "dark" and tab.evaluate(colour) != light


def test_modes(opened):
    model = fa.Model(ARM)
    omega, _ = model.modes(np.zeros(7))
    tab = opened(viewed(model, modes=True).html)
    modes = tab.locator("input[name=mode]")
    assert modes.count() == len(omega) and modes.first.is_checked()
    said = tab.locator(".mode .frequency").all_text_contents()
    assert [float(x.split(" Hz")[0]) for x in said] == pytest.approx(list(omega / (2 * np.pi)), rel=1e-3)
    tab.evaluate("flexarm.page.playing && flexarm.page.toggle()")
    modes.nth(1).check()
    tab.evaluate("() => { flexarm.page.phase = 0.25; flexarm.page.draw(); }")
    out, still_ = np.array(tab.evaluate("[flexarm.page.main.tip(), flexarm.page.rest.tip()]"))
    shape = np.array(tab.evaluate("Array.from(flexarm.data().modes[1].shape)"))
    np.testing.assert_allclose(out, model.tip(shape)[:3, 3], atol=1e-9)
    np.testing.assert_allclose(still_, model.tip(np.zeros(7))[:3, 3], atol=1e-9)
    times = omega[1] / (2 * np.pi * 0.5)
    assert float(tab.locator(".clock").text_content().split()[0]) == pytest.approx(times, rel=0.06)
    tab.get_by_label("Swing", exact=True).fill("2")
    np.testing.assert_allclose(tab.evaluate("flexarm.page.main.tip()"), model.tip(2 * shape)[:3, 3], atol=1e-9)
    tab.keyboard.press("Space")
    tab.evaluate("async () => { while (flexarm.page.phase < 0.3) await new Promise(requestAnimationFrame); }")


def test_an_arm_at_rest_follows_its_sliders(opened):
    model = fa.Model(ARM)
    tab = opened(viewed(model).html)
    tab.get_by_label("fore.joint").fill("0.7")
    tab.get_by_label("fore.z1").fill("0.01")
    q = tab.evaluate("Array.from(flexarm.page.q)")
    where = {name: q[i] for i, name in enumerate(model.coordinates)}
    assert where["fore.joint"] == where["fore.motor"] == 0.7 and where["fore.z1"] == 0.01
    np.testing.assert_allclose(tab.evaluate("flexarm.page.main.tip()"), model.tip(q)[:3, 3], atol=1e-9)
    tab.get_by_role("button", name="At rest").click()
    assert not any(tab.evaluate("Array.from(flexarm.page.q)"))


def test_a_page_in_a_notebook_s_frame(opened, result):
    """In a sandbox, and with the policy of the page."""
    tab = opened(f"<!DOCTYPE html><title>notebook</title>{viewed(result)._repr_html_()}")
    frame = tab.frames[1]
    frame.evaluate("flexarm.page.player.pause(), flexarm.page.player.seek(0.4)")
    np.testing.assert_allclose(frame.evaluate("flexarm.page.runs[0].main.tip()"), result.tip.values[40], atol=CLOSE)
