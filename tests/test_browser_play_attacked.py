"""The live arm in a real browser, attacked: hostile names, the browser's own keys, readers who want less motion."""

import pytest

import flexarm as fa
from flexarm.pictures.play import played

ARM = fa.Arm(
    name="</script><script>window.ran = 1</script>",
    links=[
        fa.Link(name="upper", body=fa.Rigid(length=0.5, mass=1.0)),
        fa.Link(name="<b>fore</b>", body=fa.Beam(length=0.5, mass=0.4, EI=8.0, modes={"y": 1})),
    ],
)


@pytest.fixture(scope="module")
def page():
    return played(ARM).html


def test_names_are_shown_and_never_run(opened, page):
    tab = opened(page)
    assert tab.evaluate("window.ran") is None
    assert tab.inner_text("h1") == ARM.name and "<b>fore</b>" in tab.inner_text("aside.side")


def test_keys_of_the_browser_stay_the_browser_s(opened, page):
    tab = opened(page)
    tab.evaluate("flexarm.page.live.advance(0.1)")
    kept = """(given) => !document.body.dispatchEvent(
        new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...given }))"""
    tab.evaluate("flexarm.page.run(false)")
    time = tab.evaluate("flexarm.page.live.time")
    assert not tab.evaluate(kept, {"key": "r", "ctrlKey": True})
    assert tab.evaluate("flexarm.page.live.time") == time
    assert tab.evaluate(f"(given) => [({kept})(given), flexarm.page.live.time]", {"key": "r"}) == [True, 0]


def test_who_wants_less_motion_starts_it(opened, page):
    tab = opened(page, reduced_motion="reduce")
    assert tab.evaluate("[flexarm.page.running, flexarm.page.live.time]") == [False, 0]
    tab.keyboard.press(" ")
    assert tab.evaluate("flexarm.page.running")


def test_numbers_beside_an_axis_have_room(opened, page):
    tab = opened(page)
    said = tab.evaluate("[0, 0.25, -1200, 1e6, -2.5e9, 2e-12, 0.1 + 0.2].map((x) => flexarm.Strip.said(x))")
    assert said == ["0", "0.25", "\N{MINUS SIGN}1200", "1e6", "\N{MINUS SIGN}2.5e9", "2e\N{MINUS SIGN}12", "0.3"]
    said = tab.evaluate("[0, -0.25, 1.8217e-11, 4e-9].map((x) => flexarm.number(x, 'J'))")
    assert said == ["0 J", "\N{MINUS SIGN}0.25 J", "1.82e\N{MINUS SIGN}5 \N{MICRO SIGN}J", "0.004 \N{MICRO SIGN}J"]
