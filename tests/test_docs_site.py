"""The programs that make the site, and the checks of the built site. No test here builds the complete site.

`make docs`, which `.ci/run` calls, builds the site once and runs the checks of `docs/making/site.py` on it. Here each
of those checks finds its fault in a small site that has them all. The gallery's pictures and pages take a minute: one
scenario and one example are really made.
"""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import packages_distributions

import pytest
from pages import PAGES, ROOT, blocks, text

import flexarm as fa

DOCS = ROOT / "docs"
pytest.importorskip("sphinx", reason="the extra `docs` is not installed")
pytest.importorskip("myst_parser", reason="the extra `docs` is not installed")


@pytest.fixture(scope="session")
def making():
    """The modules of docs/making by their names."""
    sys.path.insert(0, str(DOCS))
    try:
        yield lambda name: import_module(f"making.{name}")
    finally:
        sys.path.remove(str(DOCS))


def sphinx(source, target, gallery, **more):
    """Build pages in an environment that has no network, and return the ended process."""
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-c", DOCS]
    command += [f"-Dgallery_folder={gallery}", *(f"-D{name}={value}" for name, value in more.items())]
    command += ["-d", target / "doctrees", source, target / "site"]
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, **nowhere, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=500)


# -- the checks of the whole site -------------------------------------------------------------------------------------

LOADING = (
    '<script src="https://example.org/x.js"></script><link rel="stylesheet" href="gone.css">'
    '<img src="data:image/png;base64,"><script src="//example.org/y.js"></script><img src="gone.png">'
)
ONE_PAGE = '<a href="index.html#top">a</a><a href="index.html#no">b</a><a href="gone.html">c</a><a href="#me">d</a>'
ONE_PAGE += '<a href="https://example.org">e</a><a href="mailto:a@example.org">f</a><p id="me">$x$</p>'


@pytest.fixture(scope="session")
def faulty(making, tmp_path_factory):
    """A site of three pages in which everything is wrong: faults by the names of the checks that find them."""
    place = tmp_path_factory.mktemp("faulty")
    (place / "lookup" / "api").mkdir(parents=True)
    (place / "index.html").write_text(f'<p id="top">{LOADING}</p>')
    (place / "do").mkdir()
    (place / "do" / "arms.html").write_text(ONE_PAGE.replace("index", "../index"))
    (place / "lookup" / "modal-integrals.html").write_text("<p>$x$ <math>y</math></p>")
    (place / "site.css").write_text("@import url(https://example.org/z.css);")
    (place / "searchindex.js").write_text('Search.setIndex({"docnames": ["index"]})')
    (place / "llms.txt").write_text("- [Arms](do/arms.html)\n- [Gone](gone.html): This page is not there.\n")
    site = making("site")
    return place, {check.__name__: [*check(place)] for check in site.CHECKS}


def test_every_check_of_the_site_can_fail(faulty):
    _, found = faulty
    assert len(found) >= 13 and {name for name, faults in found.items() if not faults} == set()


def test_links_and_loads_that_lead_nowhere_are_found(faulty):
    _, found = faulty
    assert found["broken_links"] == [
        "do/arms.html: the link ../index.html#no leads nowhere",
        "do/arms.html: the link gone.html leads nowhere",
    ]
    assert [fault.partition(" loads ")[2].partition(",")[0] for fault in found["foreign_loads"][:-1]] == [
        "https://example.org/x.js",
        "gone.css",
        "//example.org/y.js",
        "gone.png",
    ]
    assert found["foreign_loads"][-1] == "site.css imports a style from elsewhere"


def test_what_a_site_lacks_is_named(faulty, making):
    _, found = faulty
    assert "the page do/shapes.html is not there" in found["missing_pages"]
    assert len(found["missing_pages"]) == len([p for p in PAGES if p.is_relative_to(DOCS)]) - 3
    assert "flexarm.simulate has no entry under lookup/api" in found["names_without_an_entry"]
    assert "the key foreshortening of Beam is in no table" in found["keys_without_a_row"]
    assert any("joint-pd" in fault for fault in found["keys_without_a_row"])
    assert "the command simulate is not on its page" in found["commands_that_are_missing"]
    assert any("--json" in fault for fault in found["commands_that_are_missing"])
    assert any("energy_error" in fault for fault in found["variables_that_are_missing"])
    assert any("xarray.Dataset" in fault for fault in found["names_that_lead_nowhere"])
    assert "scenario-canadarm has no page in the gallery" in found["entries_without_a_card"]
    assert "the page of arm-canadarm does not lead to its moving arm" in found["entries_without_a_card"]
    assert "the page of example-own_loop does not show its file" in found["entries_without_a_card"]
    assert "the search does not know the page do/arms" in found["pages_that_the_search_lacks"]
    assert "llms.txt does not list the page do/shapes.html" in found["pages_that_llms_txt_lacks"]
    assert "llms.txt does not say what is on the page do/arms.html" in found["pages_that_llms_txt_lacks"]
    assert "llms.txt leads to gone.html, which is not in the site" in found["pages_that_llms_txt_lacks"]
    assert any("shows a dollar sign" in fault for fault in found["formulas_that_are_no_mathml"])
    count = len([*making("measured").missed(text(DOCS / "understand" / "benchmarks.md"))])
    assert len(found["missed_targets_that_are_not_told"]) == count > 0


def test_a_fault_of_the_site_ends_make_docs(faulty, making, capsys):
    place, found = faulty
    assert making("site").main(str(place)) == 1
    assert len(capsys.readouterr().out.splitlines()) == sum(map(len, found.values()))
    recipe = re.search(r"^docs:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M)[1]
    build, check = (recipe.index(f"-m {name} ") for name in ("sphinx", "making.site"))
    assert build < check and "build/site" in recipe[check:].partition("\n")[0] and "-W" in recipe[build:check]
    assert all(f"{name}=http://127.0.0.1:9" in recipe for name in ("http_proxy", "https_proxy"))


def test_a_wrong_formula_and_a_missing_picture_stop_the_build(making, tmp_path):
    """A page of its own, with the site's configuration."""
    gallery = making("gallery")
    source = tmp_path / "docs"
    source.mkdir()
    contents = ":::{toctree}\nb\n:::\n"
    (source / "index.md").write_text(
        f"# A\n\nAn arm. It bends.\n\n$\\nosuchmacro{{x}}$\n\n:::{{gallery}} arm\n:::\n\n{contents}"
    )
    (source / "b.md").write_text("# B\n\n[All about *b*](index.md): the end. More of it.\n")
    done = sphinx(source, tmp_path, tmp_path)
    assert done.returncode == 1
    assert "nosuchmacro" in done.stderr and "arm-canadarm.png is missing" in done.stderr
    assert done.stderr.count(".png is missing") == len(gallery.PLAYED)
    listed = (tmp_path / "site" / "llms.txt").read_text(encoding="utf-8")
    assert listed == "# A\n\n> An arm.\n\n## B\n\n- [B](b.html): All about b: the end.\n"


# -- what is looked up -------------------------------------------------------------------------------------------------


def test_every_public_function_and_class_says_what_it_is(making):
    for name in making("site").public_names():
        module, _, last = name.rpartition(".")
        thing = getattr(import_module(module), last)
        if callable(thing):
            assert (thing.__doc__ or "").strip().partition("\n\n")[0].endswith((".", ":", "]")), name


def test_every_public_value_says_what_it_is(making):
    """Not what a tuple is, and without a colon, which napoleon takes for the end of a type."""
    docstrings = making("docstrings")
    values = 0
    for name in [*making("site").public_names(), "flexarm_papers.PAPERS"]:
        module, _, last = name.rpartition(".")
        thing = getattr(import_module(module), last)
        if not inspect.ismodule(thing) and docstrings._directive(thing) == "autodata":
            lines = ["Built-in immutable sequence."]
            docstrings._plain(None, "data", name, thing, None, lines)
            assert lines[0].endswith(".") and "Built-in" not in lines[0] and ":" not in lines[0], name
            values += 1
    assert values >= 9


def test_every_class_of_a_file_has_its_table(making):
    described = making("site").described()
    source = "".join(text(DOCS / "lookup" / f"{page}.md") for page in making("site").FILES)
    assert len(described) > 30
    for cls in described:
        assert f".{cls.__name__}\n" in source, cls


@pytest.mark.parametrize(
    ("cls", "field", "expected"),
    [
        (fa.Beam, "mass", ("a number, positive", "kg")),
        (fa.Beam, "polar_inertia", ("a number, zero or positive", "kg m")),
        (fa.Revolute, "gear_ratio", ("a number, different from zero", "")),
        (fa.Prismatic, "damping", ("a number, zero or positive", "N s/m")),
        (fa.Arm, "gravity", ("a list of three numbers", "m/s^2")),
        (fa.Beam, "next_joint", ("'slope' or 'chord'", "")),
        (fa.Beam, "foreshortening", ("true or false", "")),
        (fa.Link, "body", ("a Rigid, Frame, Beam or FiniteElement", "")),
        (fa.Scenario, "samples", ("an integer from 2 to 10000000", "")),
        (fa.Scenario, "arm", ("", "")),
    ],
)
def test_a_key_is_what_its_check_says(making, cls, field, expected):
    assert making("descriptions").allowed(cls, field) == expected


def test_defaults_are_written_as_in_a_file(making):
    written = making("descriptions").written
    values = {None: "", "zv": '`"zv"`', True: "`true`", 0.05: "`0.05`", 1001: "`1001`", (0.0, 0.0, 1.0): "`[0, 0, 1]`"}
    assert {value: written(value) for value in values} == values


def test_a_docstring_is_taken_apart(making):
    descriptions = making("descriptions")
    assert descriptions.parameters(fa.Beam)["mass"] == (
        "float",
        "Mass [kg], or mass per length [kg/m]. Give one of them, or a material and a section.",
    )
    assert descriptions.meanings(fa.Revolute)["damping"][1].startswith("Viscous damping on the link side")
    assert descriptions.summary(fa.Payload) == "Payload of a link, with its centre of mass at the tip."


def test_markup_of_docstrings_is_that_of_the_site(making):
    escaped = making("docstrings").escaped
    assert escaped("`simulate` of *.EI and a_") == ":py:obj:`simulate` of \\*.EI and a\\_"
    assert escaped("`a * b` | c") == "``a * b`` \\| c"


def test_every_attribute_of_a_result_is_on_its_page(making):
    page = text(DOCS / "lookup" / "file-formats.md")
    results = making("results").RESULTS
    for attribute in {*results["run"]().attrs, *results["ensemble"]().attrs} - {"threads"}:
        assert f"`{attribute}`" in page, attribute


def test_a_function_without_brackets_has_a_space_in_a_formula(making):
    inline = making("mathematics").converted
    nodes = pytest.importorskip("docutils.nodes")
    assert '<mi>sin</mi>\n  <mspace width="0.17em"/>' in inline(nodes.math("", r"\sin x"), as_block=False)
    assert "mspace" not in inline(nodes.math("", r"\sin(x)"), as_block=False)


@pytest.mark.parametrize("formula", [r"\tfrac12 x", r"\frac1 2\int x", r"\dfrac 32\,y"])
def test_a_fraction_of_two_digits_needs_no_braces(making, formula):
    nodes = pytest.importorskip("docutils.nodes")
    found = making("mathematics").converted(nodes.math("", formula), as_block=False)
    top, bottom = re.search(r"<mfrac[^>]*>\s*<mn>(\d+)</mn>\s*<mn>(\d+)</mn>\s*</mfrac>", found).groups()
    assert (top, bottom) == tuple(re.findall(r"\d", formula))


# -- the gallery -------------------------------------------------------------------------------------------------------


def test_everything_bundled_is_in_the_gallery(making):
    gallery = making("gallery")
    assert [entry.name for entry in gallery.entries("scenario")] == [*fa.bundled_scenarios()]
    assert {f"{entry.name}.py" for entry in gallery.entries("example")} == {
        p.name for p in (ROOT / "examples").glob("*.py")
    }


@pytest.mark.parametrize(("kind", "name"), [("scenario", "subudhi-morris"), ("example", "describe_and_simulate")])
def test_an_entry_of_the_gallery_is_made(making, tmp_path, kind, name):
    gallery = making("gallery")
    entry = next(entry for entry in gallery.entries(kind) if entry.name == name)
    gallery.make(entry, tmp_path)
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {f"{entry.stem}.png", f"{entry.stem}-dark.png", entry.view}
    assert (tmp_path / f"{entry.stem}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_page_of_an_entry_has_its_file_and_leads_to_its_moving_arm(making, tmp_path):
    gallery = making("gallery")
    entries = {entry.stem: entry for kind in gallery.KINDS for entry in gallery.entries(kind)}
    bodies = {
        stem: gallery.body_of(entry, tmp_path, lambda code, _: f"<pre>{code}</pre>") for stem, entry in entries.items()
    }
    body = bodies["scenario-subudhi-morris"]
    assert 'href="view-scenario-subudhi-morris.html"' in body and 'href="play-subudhi-morris.html"' in body
    assert "<pre>flexarm simulate subudhi-morris</pre>" in body and entries["scenario-subudhi-morris"].code in body
    assert "play-" not in bodies["scenario-theodore-ghosal"].replace("play-theodore-ghosal.html", "")
    assert "<pre>python examples/own_loop.py</pre>" in bodies["example-own_loop"]
    assert all(0 < len(entry.short) <= gallery.SHORT and "\n" not in entry.short for entry in entries.values())


def test_an_example_without_a_model_is_shown_by_the_arm_that_it_names(making):
    gallery = making("gallery")
    entry = next(entry for entry in gallery.entries("example") if entry.name == "learn_to_stop")
    assert gallery.shown_of({}, entry).arm == fa.load("subudhi-morris")
    kept = fa.load("canadarm")
    assert gallery.shown_of({"arm": kept}, entry).arm == kept


def test_an_example_that_shows_nothing_is_refused_by_name(making):
    gallery = making("gallery")
    with pytest.raises(ValueError, match="example mute leaves no run, scenario, model or arm"):
        gallery.shown_of({"x": 1.0}, gallery.Entry("example", "mute", "", "x = 1.0"))


def test_the_docs_extra_installs_what_the_examples_import():
    """Only `.[docs]` is installed where the site is built, and there the gallery runs every example."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    packages = {normal(line) for line in [*project["dependencies"], *extras["docs"]]}
    extended = {name for line in extras["docs"] for name in re.findall(r"^flexarm\[(.*)\]", line)}
    owners, missing = packages_distributions(), set()
    for path in (ROOT / "examples").glob("*.py"):
        for module in imported(path):
            first, second = [*module.split("."), ""][:2]
            if first == "flexarm" and second in extras and second not in extended:
                missing.add(f"{path.name}: flexarm[{second}]")
            if first != "flexarm" and first not in sys.stdlib_module_names:
                found = {normal(name) for name in owners.get(first, [first])}
                missing |= set() if found & packages else {f"{path.name}: {first}"}
    assert not missing


def imported(path):
    """Names of the modules that a program imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def normal(requirement):
    """A distribution's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def test_ci_builds_the_site():
    words = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert (
        re.search(r"^make --jobs=2 --output-sync=target check docs && make test$", words, re.M)
        and "set -euo pipefail" in words
    )


def test_the_moving_picture_of_the_front_page_is_small():
    for name in ("canadarm.gif", "canadarm-dark.gif"):
        content = (DOCS / "static" / name).read_bytes()
        assert content[:6] == b"GIF89a" and 50_000 < len(content) < 400_000


def test_a_published_version_stands_beside_earlier_ones_and_the_newest_is_first(making, tmp_path):
    publish = making("versions").publish
    site, folder = tmp_path / "site", tmp_path / "all"
    site.mkdir()
    (site / "objects.inv").write_text("")
    for version in ("0.9.0", "0.10.0", "0.2.0", "0.10.0"):
        (site / "index.html").write_text(version)
        versions = publish(site, folder, version)
    assert versions == json.loads((folder / "versions.json").read_text()) == ["0.10.0", "0.9.0", "0.2.0"]
    assert [(folder / version / "index.html").read_text() for version in versions] == versions
    assert 'url=0.10.0/index.html"' in (folder / "index.html").read_text()


# -- the cookbook ------------------------------------------------------------------------------------------------------

RECIPES = [page for page in PAGES if page.parent == DOCS / "cookbook" and page.stem != "index"]
RECIPE = """# A

This page prints.

```toml
# a.toml
x = 7
```

```python
from pathlib import Path

print(Path("a.toml").read_text().splitlines()[1])
Path("b.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
```

:::{printed}
:::

:::{drawn} b.svg
Nothing
:::
"""


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_a_recipe_is_one_program_with_its_output_and_pictures(page):
    (program,) = blocks("python", page)
    drawn = re.findall(r"^:::\{drawn\} (\S+)\n\S.+\n:::$", text(page), re.M)
    assert drawn and all(f'"{name}"' in program for name in drawn)
    assert "print(" in program and text(page).count(":::{printed}\n:::\n") == 1
    assert "\n**Change it**\n" in text(page)


def test_every_recipe_has_a_card():
    listed = re.search(r":::\{recipes\}\n(.*?)^:::$", text(DOCS / "cookbook" / "index.md"), re.M | re.S)[1]
    assert sorted(listed.split()) == [page.stem for page in RECIPES]


def test_a_recipe_leaves_its_output_and_pictures(making, tmp_path):
    page = tmp_path / "a.md"
    page.write_text(RECIPE)
    assert making("cookbook").run(page, tmp_path) == "x = 7\n"
    made = {path.name: path.read_text() for path in (tmp_path / "a").iterdir()}
    assert made == {"printed.txt": "x = 7\n", "b.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>"}


@pytest.mark.parametrize("line", ["raise ValueError('too short')", "import warnings; warnings.warn('too short')"])
def test_a_recipe_that_fails_or_warns_is_refused(making, tmp_path, line):
    page = tmp_path / "a.md"
    page.write_text(f"# A\n\n```python\n{line}\n```\n")
    with pytest.raises(RuntimeError, match=r"a\.md:[\s\S]*too short"):
        making("cookbook").run(page, tmp_path)
    assert not (tmp_path / "a").exists()


def test_a_missing_outcome_stops_the_build_and_a_recipe_shows_what_was_made(making, tmp_path):
    source, made = tmp_path / "docs", tmp_path / "made"
    source.mkdir()
    (source / "index.md").write_text("# I\n\n:::{toctree}\na\nc\n:::\n")
    (source / "a.md").write_text(RECIPE)
    (source / "c.md").write_text(RECIPE.replace("# A", "# C"))
    making("cookbook").run(source / "a.md", made)
    done = sphinx(source, tmp_path, tmp_path, cookbook_folder=made)
    assert done.returncode == 1
    missing = re.findall(r"(\S+) is missing; `make cookbook` makes it", done.stderr)
    assert missing == [str(made / "c" / name) for name in ("printed.txt", "b.svg")]
    html = (tmp_path / "site" / "a.html").read_text(encoding="utf-8")
    assert (
        "x = 7\n</pre>" in re.sub(r"</?span.*?>", "", html)
        and 'alt="Nothing" class="on-paper" src="_images/b.svg"' in html
    )


# -- the course --------------------------------------------------------------------------------------------------------

LECTURES = [page for page in PAGES if page.parent == DOCS / "course" and page.stem != "index"]
LECTURE = """# A

This page sees $x$, as [the arms](../do/arms.md#what-is-allowed) and [others](https://example.org) do.

:::{notebook}
:::

```python
from pathlib import Path

print(1)
Path("b.svg").write_text("<svg><style>\\n@media (prefers-color-scheme: dark) {\\n#a {}\\n}\\n</style></svg>")
```

```text
1
```

:::{drawn} b.svg
A picture
of nothing
:::

## Solutions

<details>
<summary>Solution 1</summary>

It is two.

```python
print(2)
```

```text
2
```

</details>
"""


def lecture(folder):
    page = folder / "course" / "a.md"
    page.parent.mkdir()
    page.write_text(LECTURE)
    return page


def written(part):
    """The text of a cell, or of one of its outputs."""
    return "".join(part)


@pytest.mark.parametrize("page", LECTURES, ids=lambda page: page.stem)
def test_a_lecture_has_goals_pictures_exercises_and_as_many_solutions(page):
    words = text(page)
    assert words.count(":::{notebook}\n:::\n") == 1
    goals = re.search(r"^After this lecture you can\n\n((?:.+\n)+)", words, re.M)[1]
    assert len(re.findall(r"^- ", goals, re.M)) == 3
    exercises = re.search(r"^## Exercises\n\n(.*?)^## Solutions$", words, re.M | re.S)[1]
    count = len(re.findall(r"^\d\. ", exercises, re.M))
    assert re.findall(r"<summary>(.*?)</summary>", words) == [f"Solution {i + 1}" for i in range(count)]
    assert 4 <= count <= 6 and words.count("</details>") == count
    assert "$$" in words and words.count(":::{drawn}") >= 2


@pytest.mark.parametrize("page", LECTURES, ids=lambda page: page.stem)
def test_the_notebook_of_a_lecture_is_valid_and_has_its_code_output_and_pictures(page, making, tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="the extra `docs` is not installed")
    drawn = re.findall(r"^:::\{drawn\} (\S+)$", text(page), re.M)
    for name in drawn:
        (tmp_path / name).write_text(f"<svg><text>{name}</text></svg>")
    made = making("notebooks").notebook(page, tmp_path)
    nbformat.validate(made)
    code = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    assert [written(cell["source"]) + "\n" for cell in code] == blocks("python", page)
    outputs = [output for cell in code for output in cell["outputs"]]
    printed = [written(output["text"]) for output in outputs if output["output_type"] == "stream"]
    assert printed == blocks("text", page)
    shown = [written(output["data"]["image/svg+xml"]) for output in outputs if output["output_type"] == "display_data"]
    assert shown == [f"<svg><text>{name}</text></svg>" for name in drawn]
    prose = "".join(written(cell["source"]) for cell in made["cells"] if cell["cell_type"] == "markdown")
    assert not re.search(r":::|<details>|</|```|\]\((?!https:)", prose)


def test_every_lecture_has_a_card():
    listed = re.search(r":::\{recipes\}\n(.*?)^:::$", text(DOCS / "course" / "index.md"), re.M | re.S)[1]
    assert sorted(listed.split()) == [page.stem for page in LECTURES]


def test_a_lecture_becomes_a_notebook(making, tmp_path):
    page = lecture(tmp_path)
    assert making("cookbook").run(page, tmp_path) == "1\n2\n"
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"a.ipynb", "b.svg", "printed.txt"}
    made = json.loads((tmp_path / "a" / "a.ipynb").read_text(encoding="utf-8"))
    first, code, heading, title, answer, second = made["cells"]
    assert [cell["id"] for cell in made["cells"]] == [f"cell-{i}" for i in range(1, 7)]
    where = os.path.relpath(tmp_path / "do" / "arms.md", ROOT)
    assert f"the arms (`{where}`) and [others](https://example.org)" in written(first["source"])
    stream, picture = code["outputs"]
    assert written(stream["text"]) == "1\n" and written(picture["data"]["text/plain"]) == "A picture of nothing"
    assert "@media" not in written(picture["data"]["image/svg+xml"])
    assert (written(heading["source"]), written(title["source"])) == ("## Solutions", "### Solution 1")
    assert title["metadata"] == {"jp-MarkdownHeadingCollapsed": True} and written(answer["source"]) == "It is two."
    assert (code["execution_count"], second["execution_count"]) == (1, 2)


def test_a_lecture_offers_its_notebook_and_a_missing_one_stops_the_build(making, tmp_path):
    page, made = lecture(tmp_path), tmp_path / "made"
    (page.parent / "index.md").write_text("# I\n\n:::{toctree}\na\nc\n:::\n")
    lone = LECTURE.replace("# A", "# C").replace("[the arms](../do/arms.md#what-is-allowed)", "arms")
    page.write_text(LECTURE.replace("[the arms](../do/arms.md#what-is-allowed)", "arms"))
    (page.parent / "c.md").write_text(lone)
    making("cookbook").run(page, made)
    done = sphinx(page.parent, tmp_path, tmp_path, cookbook_folder=made)
    assert done.returncode == 1
    missing = re.findall(r"(\S+) is missing; `make cookbook` makes it", done.stderr)
    assert missing == [str(made / "c" / name) for name in ("c.ipynb", "b.svg")]
    html = (tmp_path / "site" / "a.html").read_text(encoding="utf-8")
    link = re.search(r'href="(_downloads/\w+/a\.ipynb)"', html)[1]
    assert json.loads((tmp_path / "site" / link).read_text(encoding="utf-8"))["nbformat"] == 4
    assert "<details>" in html


# -- what was measured -------------------------------------------------------------------------------------------------

MEASURED = """# M
## One
| what | time | target | met |
| --- | ---: | ---: | --- |
| a | 1 s | < 2 s | yes |
| b | 3 s | < 2 s | **no** |
## Two
text
"""


def test_measured_rows_are_those_of_the_page(making):
    measured = making("measured")
    tables = measured.tables(MEASURED)
    assert tables["One"] == [
        ("what", "time", "target", "met"),
        ("a", "1 s", "< 2 s", "yes"),
        ("b", "3 s", "< 2 s", "**no**"),
    ]
    assert measured.chosen(tables["One"], ["time"], ["b"]) == [("time",), ("3 s",)]
    assert [*measured.missed(MEASURED.partition("## Two")[0])] == [("One", "b", "time: 3 s; target: < 2 s")]
    for columns, rows in ((["none"], []), ([], ["none"])):
        with pytest.raises(ValueError, match="none"):
            measured.chosen(tables["One"], columns, rows)


def test_pages_show_measured_rows_that_are_there(making):
    """Each directive `measured` of the pages finds its table, its columns and its rows, before the site is built."""
    measured = making("measured")
    tables = measured.tables(text(DOCS / "understand" / "benchmarks.md"))
    shown = 0
    for page in DOCS.rglob("*.md"):
        for title, options in re.findall(r"^ *:::\{measured\} (.*)\n((?: *:.*:.*\n)*)", text(page), re.MULTILINE):
            asked = dict(re.findall(r":(columns|rows): (.*)", options))
            assert title in tables, (page, title)
            try:
                measured.chosen(tables[title], *(measured.listed(asked.get(name, "")) for name in ("columns", "rows")))
            except ValueError as error:
                pytest.fail(f"{page}, {title}: {error}")
            shown += 1
    assert shown > 10
