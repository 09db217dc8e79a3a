"""The pages of the docs by themselves: links and anchors, TOML that is what it says, commands that are there.

Python programs and `flexarm` commands of the pages run in test_examples.py; `make docs` builds the site and checks it.
"""

import re
import shlex
import tomllib
from itertools import pairwise

import numpy as np
import pytest
from markdown_it import MarkdownIt
from pages import PAGES, ROOT, blocks, name, shell_lines, text
from part_files import beam_part

import flexarm as fa
from flexarm.description.robots.settings import Settings
from flexarm.scenario import Scenario
from flexarm.studies.file import Study

DOCS = ROOT / "docs"
SITE = [page for page in PAGES if page.is_relative_to(DOCS)]
PARTS = ("learn", "cookbook", "course", "do", "lookup", "understand")


# -- links -------------------------------------------------------------------------------------------------------------


def headings(page):
    """The anchors of a page's headings, as GitHub and MyST make them: the first of a kind without a number."""
    found = []
    tokens = MarkdownIt().parse(text(page))
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            words = "".join(child.content for child in inline.children if child.type in ("text", "code_inline"))
            slug = re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")
            count = sum(re.fullmatch(rf"{re.escape(slug)}(-\d+)?", each) is not None for each in found)
            found.append(f"{slug}-{count}" if count else slug)
    return found


def links(page):
    """Where a page's links and pictures lead, as written."""
    children = [child for token in MarkdownIt().parse(text(page)) for child in token.children or ()]
    return [str(child.attrs.get("href") or child.attrs.get("src")) for child in children if child.attrs]


def fault(page, link):
    """What is wrong with a link; "" where nothing is."""
    if re.match(r"(https?|mailto):", link):
        return "" if link.startswith("https://") else "is not https"
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.is_file() or not target.is_relative_to(ROOT):
        return "leads nowhere"
    if anchor and (target.suffix != ".md" or anchor not in headings(target)):
        return "has no such heading"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page):
    assert [(link, why) for link in links(page) if (why := fault(page, link))] == []


def test_a_broken_link_is_found():
    page = DOCS / "do" / "arms.md"
    wrong = {
        "nowhere.md": "leads nowhere",
        "#no-such-heading": "has no such heading",
        "../do/shapes.md#no-such-heading": "has no such heading",
        "../../../outside.md": "leads nowhere",
        "http://example.org": "is not https",
    }
    assert {link: fault(page, link) for link in wrong} == wrong
    assert fault(page, "#what-is-allowed") == fault(page, "../do/shapes.md") == fault(page, "https://example.org") == ""


def test_the_pages_stand_in_five_parts():
    """A page beside them is found by nobody; each part has a page that lists it."""
    assert {page.parent.name for page in SITE if page.parent.parent == DOCS} == {*PARTS}
    assert {page.stem for page in SITE if page.parent == DOCS} == {"index", "gallery"}
    for part in PARTS:
        assert (DOCS / part / "index.md").is_file()


@pytest.mark.parametrize("page", SITE, ids=name)
def test_a_page_has_one_title_and_no_heading_skips_a_level(page):
    levels = [int(token.tag[1]) for token in MarkdownIt().parse(text(page)) if token.type == "heading_open"]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


# -- files and commands that are shown ---------------------------------------------------------------------------------

TOML = [(page, block) for page in PAGES for block in blocks("toml", page)]


def check_toml(toml):
    """Raise where a block is not what its keys say: an arm, a scenario, a study, or a part of one."""
    table = tomllib.loads(toml)
    if isinstance(table.get("links"), dict):
        Settings(**table)
    elif "links" in table:
        fa.Arm(**table)
    elif "scenario" in table:
        Study(**table)
    elif "until" in table:
        Scenario(**table)
    else:
        part_of_a_scenario = {"name": "x", "arm": "rigid-two-link", "until": 1.0}
        Scenario(**part_of_a_scenario | table)


@pytest.mark.parametrize(("page", "toml"), TOML, ids=lambda value: name(value) if value in PAGES else "")
def test_a_toml_block_is_what_it_says(page, toml, tmp_path):
    np.savez(tmp_path / "part.npz", **beam_part(1.0, 0.8, 20.0, 30.0, 9.0, 1e4, 0.002, 2))
    part = (tmp_path / "part.npz").as_posix()
    check_toml(re.sub(r'file = "[^"]+\.npz"', f'file = "{part}"', toml))  # which a program of the page writes


@pytest.mark.parametrize(
    "toml", ["a = ", "[[links]]\nname = 'a'", "until = 1.0", "[reference]\ntype = 'no'", "scenario = 'x'"]
)
def test_a_wrong_toml_block_is_found(toml):
    with pytest.raises((fa.DescriptionError, tomllib.TOMLDecodeError)):
        check_toml(toml)


TARGETS = {*re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)}


def check_command(line):
    """Raise where a command of a page is not there: a target of make, a module; `flexarm` runs in test_examples."""
    words = [word for word in shlex.split(line, comments=True) if not re.match(r"[A-Z_]+=", word)]
    program, *rest = words
    program = program.removesuffix("3")
    if program == "make":
        assert {*rest} <= TARGETS, line
    elif program == "python" and rest[:1] == ["-m"]:
        path = ROOT.joinpath(*rest[1].split("."))
        assert rest[1] in ("pip", "venv") or path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), line
    elif program == "python":
        assert any(list((ROOT / folder).rglob(rest[0])) for folder in ("docs", "examples", "benchmarks")), line
    else:
        assert program in ("flexarm", "pip", "cd", "ncdump", "source", "dask", "node", "octave", "pdflatex"), line


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_that_is_shown_is_there(page):
    for line in shell_lines(page):
        check_command(line)


@pytest.mark.parametrize("line", ["make no-such-target", "python -m benchmarks.none", "python none.py", "sudo rm"])
def test_a_command_that_is_not_there_is_found(line):
    with pytest.raises(AssertionError):
        check_command(line)
