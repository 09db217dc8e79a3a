"""The tutorial and the how-tos as texts: what they show is what their programs give. They run in test_examples.py."""

from itertools import pairwise
from pathlib import Path

import pytest
from pages import PAGES, ROOT, assert_shown, blocks, figures, name, shown, text

LEARN = ROOT / "docs" / "learn"
DO = ROOT / "docs" / "do"
MADE_ELSEWHERE = {"excitation.svg", "learn-to-stop.svg", "mass-of-the-base.svg", "study-canadarm-robustness.png"}
"""By programs of the examples, by a study of ten thousand runs."""

WITH_FIGURES = [page for page in PAGES if {LEARN, DO} & {*page.parents} and figures(page)]
CHAPTERS = [page for page in PAGES if page.parent == LEARN and page.stem != "index"]


@pytest.mark.parametrize("page", WITH_FIGURES, ids=name)
def test_a_figure_is_drawn_by_the_page_that_shows_it(page):
    code = "\n".join(blocks("python", page))
    for figure in figures(page):
        assert (page.parent / figure).is_file()
        assert f'"{Path(figure).name}"' in code or Path(figure).name in MADE_ELSEWHERE, figure


def test_all_chapters_have_the_same_boom():
    """Each stands alone, so its file is in each; chapter 5 has a parabola of its own."""
    files = [toml for page in CHAPTERS for toml in blocks("toml", page)]
    assert len(files) == len(CHAPTERS) == 6
    booms = [toml for toml in files if toml.startswith("# boom.toml\n")]
    assert len(booms) == 5 and len(set(booms)) == 1


def test_every_chapter_shows_what_it_prints_and_leads_on():
    order = ["first-arm", "simulate", "modes", "control", "equations", "data"]
    assert {page.stem for page in CHAPTERS} == {*order}
    assert all(shown(page) for page in CHAPTERS)
    for stem, following in pairwise(order):
        assert text(LEARN / f"{stem}.md").endswith(f"]({following}.md).\n")


@pytest.mark.parametrize("wrong", [["two", "one"], ["one 2"], ["one", "one"], ["o...x"]])
def test_an_output_that_is_not_printed_is_found(wrong):
    assert_shown(["one", "t...o"], "one\ntwo\n")
    with pytest.raises(AssertionError):
        assert_shown(wrong, "one\ntwo\n")
