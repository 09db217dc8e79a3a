"""The scene in a real browser: what is drawn, lit, named and moved."""

import numpy as np
import pytest

from flexarm.pictures.page import page


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
