"""The page of a live arm in a real browser: what is dragged moves, what is set is so, and nothing else happens."""

import functools

import numpy as np
import pytest
from browser import LAPTOP, PHONE, SETTLED, until

import flexarm as fa
from flexarm.pictures.live import KD_STOPS, KP_STOPS
from flexarm.pictures.play import _live, played

HOSTILE = '<img src=x onerror="alert(1)"></script><script>alert(2)</script>'
NAME = "<svg/onload=alert(3)>"  # a link's has no spaces


@functools.cache
def page_of(name):
    return played(name).html


@functools.cache
def alive(name):
    return _live(name)[2]


@functools.cache
def hostile():
    """An arm all of whose names are code; with a telescope, which leaves its range at the first pull."""
    beam = {"type": "beam", "length": 1.0, "mass": 0.5, "EI": 200.0, "modes": {"y": 1}, "shapes": "clamped-free"}
    links = [
        {"name": NAME, "joint": {"type": "revolute"}, "body": {"type": "rigid", "length": 0.2, "mass": 1.0}},
        {"name": "slide", "joint": {"type": "telescope", "free_length": 0.6}, "body": beam},
    ]
    arm = fa.Arm(name=f"arm {HOSTILE}", description=HOSTILE, links=links, payload={"mass": 0.2})
    return played(arm).html


def started(tab):
    """The page, once it has drawn some frames."""
    until(tab, "page && page.scene.frames > 2")
    return tab


def value(tab, expression):
    return tab.evaluate(f"(() => {{ const page = flexarm.page, live = page.live; return {expression}; }})()")


def still(tab):
    """The arm where its target is, at rest, and the page paused: so that pointers meet what they aim at."""
    tab.evaluate(
        """() => {
            const { live } = flexarm.page, { given } = live;
            flexarm.page.run(false);
            live.reset();
            live.aim(given.start);
            flexarm.page.retarget();
            flexarm.page.fit();
        }"""
    )
    tab.evaluate(SETTLED)


def drag(tab, start, by):
    x, y = start
    tab.mouse.move(x, y)
    tab.mouse.down()
    for share in (0.3, 0.7, 1.0):
        tab.mouse.move(x + share * by[0], y + share * by[1])
    return x + by[0], y + by[1]


def seen(tab, what):
    return value(tab, f"page.scene.seen(page.{what}.tip())")


def test_a_drag_moves_the_target_and_the_arm_arrives(opened):
    tab = started(opened(page_of("subudhi-morris")))
    still(tab)
    before = value(tab, "[...live.goal]")
    x, y = seen(tab, "ghost")
    drag(tab, (x + 14, y), (-60, -110))  # the ring, outside the ball
    tab.mouse.up()
    goal = np.array(value(tab, "[...live.goal]"))
    assert np.abs(goal - before).max() > 0.1
    dropped = np.array(seen(tab, "ghost"))
    assert dropped == pytest.approx([x - 60, y - 110], abs=3.0)  # the target is under the pointer
    assert [float(s) for s in value(tab, "page.goals.map((slider) => slider.input.value)")] == pytest.approx(goal)
    tab.evaluate("flexarm.page.run(true)")
    far = "Array.from(live.seen(), (y, j) => Math.abs(y - live.goal[j]))"
    until(tab, f"live.time > 1 && Math.max(...{far}, ...live.qd.map(Math.abs)) < 0.01")
    assert seen(tab, "solid") == pytest.approx(dropped, abs=4.0)


def test_a_pull_is_a_force_as_long_as_it_lasts(opened):
    tab = started(opened(page_of("subudhi-morris")))
    still(tab)
    x, y = seen(tab, "solid")
    q = value(tab, "[...live.q]")
    drag(tab, (x, y), (30, -90))
    fx, fy, fz = value(tab, "[...live.force]")
    assert fx > 0 and fy > 0 and fz == pytest.approx(0, abs=1e-9)  # a planar arm is pulled in its plane
    assert value(tab, "page.scene.controls.enabled") is False
    tab.evaluate("flexarm.page.run(true)")
    until(tab, "live.time > 0.3")
    assert value(tab, "page.shaft.visible") is True
    assert np.abs(np.array(value(tab, "[...live.q]")) - q).max() > 1e-3
    tab.mouse.up()
    assert value(tab, "[...live.force]") == [0, 0, 0] and value(tab, "page.scene.controls.enabled") is True
    work = value(tab, "live.y[live.y.length - 1]")
    assert work > 0


def test_elsewhere_the_camera_turns(opened):
    tab = started(opened(page_of("subudhi-morris")))
    still(tab)
    before = value(tab, "page.scene.camera.position.toArray()")
    box = tab.locator(".scene canvas").first.bounding_box()
    drag(tab, (box["x"] + 60, box["y"] + box["height"] - 120), (80, 20))
    tab.mouse.up()
    until(tab, f"Math.hypot(...page.scene.camera.position.toArray().map((x, i) => x - {before}[i])) > 1e-3")
    assert value(tab, "[...live.force]") == [0, 0, 0]


@pytest.mark.parametrize("name", ["subudhi-morris", "vertical"])
def test_a_miss_beside_the_ring_never_turns_a_planar_arm_edge_on(opened, name):
    """Long drags in all directions, and keys: the plane of the arm stays open to the viewer."""
    arm = fa.load("subudhi-morris")
    tab = started(opened(page_of(name) if name != "vertical" else played(arm.replace(gravity=[0, -9.81, 0])).html))
    still(tab)
    x, y = seen(tab, "ghost")
    opening = """() => { const { camera, controls, plane } = flexarm.page.scene;
        const sight = camera.position.clone().sub(controls.target).normalize();
        return Math.abs(sight.dot(plane)); }"""
    before = tab.evaluate(opening)
    watch = f"window.least = Math.min(window.least ?? 1, ({opening})())"
    tab.evaluate(f"() => flexarm.page.scene.controls.addEventListener('change', () => ({watch}))")
    for by in ((600, 0), (-900, 0), (0, 300), (0, -200), (500, 400)):
        drag(tab, (x - 60, y + 60), by)
        tab.mouse.up()
        tab.wait_for_function("() => !flexarm.page.scene.pending")
    for _ in range(12):
        tab.locator(".scene canvas").first.press("Shift+ArrowDown")
    tab.evaluate(SETTLED)
    assert np.cos(np.radians(72.0)) < tab.evaluate("least") < before - 0.05
    tab.get_by_label("Whole arm in view").click()
    assert tab.evaluate(opening) == pytest.approx(before, abs=1e-6)


def slid(tab, label, share):
    """Puts a slider to a part of its range, as a hand does."""
    slider = tab.get_by_label(label, exact=True)
    low, high = (float(slider.get_attribute(name)) for name in ("min", "max"))
    slider.evaluate(
        "(slider, x) => { slider.value = x; slider.dispatchEvent(new Event('input')); }", low + share * (high - low)
    )
    return low + share * (high - low)


def test_sliders_change_the_arm(opened):
    tab = started(opened(page_of("subudhi-morris")))
    names = value(tab, "motion.symbols")
    payload = slid(tab, "Payload", 0.5)
    p = dict(zip(names, value(tab, "[...live.p]"), strict=True))
    assert p["mP"] == pytest.approx(payload)
    slid(tab, "Stiffness", 1.0)
    gravity = slid(tab, "Gravity", 0.25)
    p = dict(zip(names, value(tab, "[...live.p]"), strict=True))
    assert p["EI_1"] == p["EI_2"] == pytest.approx(4.0)
    assert -gravity == pytest.approx(next(x for name, x in p.items() if name.startswith("g")))
    assert tab.locator("output", has_text="4\N{MULTIPLICATION SIGN}").count() >= 1
    angle = slid(tab, "upper", 0.6)
    assert value(tab, "live.goal[0]") == pytest.approx(angle)


def test_controllers_and_their_gains(opened):
    tab = started(opened(page_of("subudhi-morris")))
    choice = tab.get_by_label("Controller", exact=True)
    bandwidth, gain = tab.get_by_label("Bandwidth"), tab.get_by_label("Stiffness Kp")
    last = ("composite", bandwidth, gain), ("shaped", gain, bandwidth), ("pd", gain, bandwidth)
    for key, shown, hidden in (("lqr", bandwidth, gain), *last):
        choice.select_option(key)
        assert value(tab, "live.controller") == key
        assert shown.is_visible() and not hidden.is_visible()
    choice.select_option("composite")
    omega = slid(tab, "Bandwidth", 0.0) or value(tab, "live.given.composite.stops[0]")
    said = tab.locator(".control", has_text="Bandwidth").locator("output").text_content()
    assert value(tab, "live.places.composite") == 0 and value(tab, "live.K.length") == 2 * 2 * 4
    assert float(said.split()[0]) == pytest.approx(omega / (2 * np.pi), rel=0.01) and said.endswith(" Hz")
    choice.select_option("none")
    assert not gain.is_visible() and not bandwidth.is_visible()
    until(tab, "live.u.every((x) => x === 0)")
    choice.select_option("pd")
    before = value(tab, "live.Kp[0]")
    slid(tab, "Stiffness Kp", 1.0)
    assert value(tab, "live.Kp[0]") == pytest.approx(16 * before)


def test_the_shaper_is_chosen(opened):
    """The impulses are those of Python, and the page names the shaper and its duration."""
    tab = started(opened(page_of("subudhi-morris")))
    choice = tab.get_by_label("Shaper", exact=True)
    assert not choice.is_visible()
    tab.get_by_label("Controller", exact=True).select_option("shaped")
    assert choice.input_value() == "zvd"
    designs, place = alive("subudhi-morris").shapers, KP_STOPS.index(1.0) * len(KD_STOPS) + KD_STOPS.index(1.0)
    for kind, label in (("mzv", "MZV"), ("um-zv", "UM-ZV"), ("ei", "EI")):
        choice.select_option(label=label)
        expected = designs[kind][place]
        assert value(tab, "[...live.shaper.times]") == list(expected.times)
        assert value(tab, "[...live.shaper.amplitudes]") == list(expected.amplitudes)
        text = tab.locator("p", has_text="splits the reference").text_content()
        name, _, duration = text.replace(",", "").partition(
            f" splits the reference into {len(expected.times)} parts over "
        )
        assert name == label and float(duration.split()[0]) == pytest.approx(expected.duration, rel=0.01)
        assert duration.split()[1] == "s"
    choice.select_option("three-hump-ei")
    assert value(tab, "live.shaper") is None and "damping_ratio is 0.26" in designs["three-hump-ei"][place]
    assert tab.locator("p", has_text="no such shaper. EI: damping_ratio is 0.26").is_visible()
    tab.get_by_label("Controller", exact=True).select_option("pd")
    assert not choice.is_visible()


def test_pause_and_reset(opened):
    tab = started(opened(page_of("subudhi-morris")))
    until(tab, "live.time > 0.5")
    tab.get_by_label("Pause (space)").click()
    stopped = value(tab, "live.time")
    tab.wait_for_timeout(400)
    assert value(tab, "live.time") == stopped
    tab.locator("body").press(" ")
    until(tab, f"live.time > {stopped} + 0.1")
    reset = tab.get_by_label("Reset", exact=True)
    assert reset.evaluate("(button) => { button.click(); return flexarm.page.live.time; }") == 0
    until(tab, "page.strips.joints.time.length > 5")
    assert value(tab, "page.strips.joints.time[0]") < 0.2


def test_time_that_a_hidden_tab_misses_is_not_caught_up(opened):
    tab = started(opened(page_of("subudhi-morris")))
    before = value(tab, "live.time")
    tab.evaluate("() => { flexarm.page.last = performance.now() / 1000 - 3600; flexarm.page.frame(); }")
    assert value(tab, "live.time") - before < 1.0


def test_the_tip_is_drawn_where_it_is(opened):
    tab = started(opened(page_of("subudhi-morris")))
    until(tab, "live.time > 0.5")
    drawn, q = value(tab, "(page.run(false), page.draw(), [page.solid.tip(), [...live.q]])")
    assert drawn == pytest.approx(fa.Model(fa.load("subudhi-morris")).tip(np.array(q))[:3, 3], abs=1e-12)


@pytest.mark.parametrize(("size", "dark"), [(LAPTOP, False), (PHONE, True)], ids=["laptop", "phone, dark"])
def test_names_are_text(opened, size, dark):
    """And what has stopped says so, until it is reset."""
    tab = started(opened(hostile(), size=size, dark=dark))
    assert tab.text_content("h1") == f"arm {HOSTILE}" and tab.text_content(".about") == HOSTILE
    assert NAME in tab.text_content(".side")
    assert NAME in tab.text_content(".plots") and tab.locator("img").count() == 0
    assert value(tab, "document.documentElement.scrollWidth <= innerWidth") is True
    tab.evaluate("() => { const { live } = flexarm.page; live.use('none'); live.qd[1] = 50; flexarm.page.run(true); }")
    notice = tab.locator(".notice")
    notice.wait_for(state="visible")
    assert notice.locator("span").text_content() == "slide.joint has left its range."
    notice.get_by_role("button").click()
    assert notice.is_hidden()
    until(tab, "live.time > 0.1 || !page.notice.hidden")


def test_what_runs_is_said(opened):
    tab = started(opened(page_of("subudhi-morris")))
    until(tab, "live.time > 0.5")
    assert "6 coordinates" in tab.text_content(".how") and "Runge-Kutta steps of" in tab.text_content(".how")
    error = tab.text_content(".side .energy")
    assert error.startswith("Energy error") and "%" in error
    assert abs(value(tab, "live.drift().relative")) < 1e-4
    assert value(tab, "page.measure(0.2, 2)") > 0


def test_what_the_tip_does_comes_first(opened):
    """Its error and when it has settled; angles in degrees, and deflections with their sign."""
    tab = started(opened(page_of("subudhi-morris")))
    names = tab.locator(".status .name").all_text_contents()
    assert [x.strip() for x in names] == ["Tip error", "Settled within 5 mm", "Time", "Speed"]
    found = tab.evaluate("""() => {
        const { page } = flexarm, { live, strips } = page;
        page.run(false);
        live.reset();
        live.use("none");
        live.qd[2] = 0.5; // of the first bending shape
        for (const strip of Object.values(strips)) strip.clear();
        page.drawn = 0;
        for (let k = 0; k < 120; k++) {
            live.advance(0.04);
            page.record();
        }
        return [strips.bending.values[0], strips.joints.values.map((x) => x.at(-1)), Array.from(live.seen()),
                Array.from(live.measured().deflection), strips.bending.values.map((x) => x.at(-1))];
    }""")
    bending, joints, seen_, now, shown = found
    assert min(bending) < -1.0 and max(bending) > 1.0  # it swings to both sides [mm]
    assert joints[:2] == pytest.approx(np.degrees(seen_)) and shown == pytest.approx(1e3 * np.array(now))
    units = tab.locator(".plots .unit").all_text_contents()
    assert units[0] == " [\N{DEGREE SIGN}]" and "rad" not in tab.inner_text("body").replace("gradient", "")
    said = tab.evaluate("(flexarm.page.spoken = 0, flexarm.page.say(1), document.querySelector('.status').textContent)")
    error = tab.evaluate("flexarm.page.live.tipError()")
    number, unit = said.removeprefix("Tip error ").split("Settled")[0].split()
    assert float(number) * {"m": 1.0, "mm": 1e-3}[unit] == pytest.approx(error, rel=0.01) and "not yet" in said
