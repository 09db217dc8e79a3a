"""The site is built, without a warning and without a network, and read: what it says is what the package has.

The gallery's pictures and pages take a minute: here one scenario and one example are really made, the others are stubs.
"""

import ast
import json
import os
import re
import struct
import subprocess
import sys
import tomllib
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from importlib.metadata import packages_distributions
from pathlib import Path
from urllib.parse import unquote

import pytest
from pages import PAGES, ROOT, text

import flexarm as fa
from flexarm import analysis, control, optimal, problems, shapes, studies, trajectory
from flexarm.checks import Described

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


def stubs(gallery, folder):
    """A gallery of files that are no more than there."""
    folder.mkdir()
    for kind in gallery.KINDS:
        for entry in gallery.entries(kind):
            (folder / f"{entry.stem}.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 4, 3))
            (folder / f"{entry.stem}.html").touch()
    for arm in gallery.PLAYED:
        (folder / f"play-{arm}.html").touch()
    return folder


def sphinx(source, target, gallery):
    """What came of building pages; in an environment that has no way out."""
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-c", DOCS]
    command += ["-D", f"gallery_folder={gallery}", "-d", target / "doctrees", source, target / "site"]
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, **nowhere, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=500)


@pytest.fixture(scope="session")
def site(making, tmp_path_factory):
    """The folder of the site, built once."""
    place = tmp_path_factory.mktemp("docs")
    done = sphinx(DOCS, place, stubs(making("gallery"), place / "gallery"))
    assert (done.returncode, done.stderr) == (0, "")
    return place / "site"


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads by itself."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads, self.words, self.inside = set(), [], [], [], ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given, self.inside = dict(attrs), tag
        self.ids.add(given.get("id"))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe", "source", "video") and given.get("src"):
            self.loads.append(given["src"])
        elif tag == "link" and {*given["rel"].split()} & {"stylesheet", "icon", "preload", "modulepreload"}:
            self.loads.append(given["href"])

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside not in ("script", "style"):
            self.words.append(data)


@cache
def read(path):
    return Page(path)


def pages(site):
    """The site's own pages: not those of the gallery."""
    return sorted(path for path in site.rglob("*.html") if path.parent.name not in ("gallery", "_static"))


def local(base, link):
    """The file a link leads to and its anchor."""
    path, _, anchor = link.partition("#")
    path = unquote(path.partition("?")[0])
    target = (base.parent / path).resolve() if path else base
    return target, unquote(anchor)


# -- the whole ---------------------------------------------------------------------------------------------------------


def test_every_page_is_in_the_site_and_every_link_leads_somewhere(site):
    built = pages(site)
    written = {page.relative_to(DOCS).with_suffix(".html") for page in PAGES if page.is_relative_to(DOCS)}
    assert written <= {path.relative_to(site) for path in built}
    broken = []
    for path in built:
        for link in read(path).links:
            if link.startswith(("https://", "mailto:")):
                continue
            target, anchor = local(path, link)
            if not target.is_file() or (anchor and target.suffix == ".html" and anchor not in read(target).ids):
                broken.append((str(path.relative_to(site)), link))
    assert broken == []


def test_a_page_loads_nothing_from_elsewhere(site):
    for path in pages(site):
        for source in read(path).loads:
            if not source.startswith("data:"):
                assert not source.startswith(("http:", "https:", "//")), (path, source)
                assert local(path, source)[0].is_file(), (path, source)
    for style in site.rglob("*.css"):
        assert "@import url(http" not in style.read_text(encoding="utf-8")


def test_formulas_are_mathml(site):
    made = (site / "lookup" / "modal-integrals.html").read_text(encoding="utf-8")
    count = text(DOCS / "lookup" / "modal-integrals.md").count("$") // 2
    assert made.count("<math") >= count - 2 > 40  # those between $$ have two signs at each end
    assert "$" not in "".join(read(site / "lookup" / "modal-integrals.html").words)


def test_a_wrong_formula_and_a_missing_picture_stop_the_build(making, tmp_path):
    """A page of its own, with the site's configuration."""
    gallery = making("gallery")
    source = tmp_path / "docs"
    source.mkdir()
    (source / "index.md").write_text("# A\n\n$\\nosuchmacro{x}$\n\n:::{gallery} arm\n:::\n")
    done = sphinx(source, tmp_path, tmp_path)
    assert done.returncode == 1
    assert "nosuchmacro" in done.stderr and "arm-canadarm.png is missing" in done.stderr
    assert done.stderr.count(".png is missing") == len(gallery.PLAYED)


# -- what is looked up -------------------------------------------------------------------------------------------------


def public_names():
    """All names that a module says are public, by the one from which a user takes them."""
    found = {f"flexarm.{name}" for name in fa.__all__ if not name.startswith("__")}
    modules = ("analysis", "control", "drives", "optimal", "problems", "shapes", "inputs")
    found -= {f"flexarm.{name}" for name in modules}
    mine = {name.partition(".")[2] for name in found}
    for module in (analysis, control, optimal, problems, shapes, studies, trajectory):
        found |= {f"{module.__name__}.{name}" for name in module.__all__ if name not in mine}
    return found


def test_every_public_name_has_an_entry(site):
    ids = set().union(*(read(path).ids for path in (site / "lookup" / "api").glob("*.html")))
    assert {name for name in public_names() if name not in ids} == set()


def test_every_public_function_and_class_says_what_it_is():
    for name in public_names():
        module, _, last = name.rpartition(".")
        thing = getattr(import_module(module), last)
        if callable(thing):
            assert (thing.__doc__ or "").strip().partition("\n\n")[0].endswith((".", ":", "]")), name


def described():
    """Classes of what may stand in a file."""
    found, rest = set(), [Described]
    while rest:
        rest += (below := rest.pop().__subclasses__())
        found.update(below)
    homes = ("flexarm.description.", "flexarm.scenario", "flexarm.studies.")
    return {
        cls
        for cls in found
        if cls.__module__.startswith(homes) and cls.__name__ not in ("Joint", "Driven", "Body", "Base", "Part")
    }


def test_every_key_of_every_file_is_in_its_table(site, making):
    """And so is what its check says of it."""
    shown = {
        stem: "".join(read(site / "lookup" / f"{stem}.html").words)
        for stem in ("arm-file", "scenario-file", "study-file")
    }
    source = "".join(text(DOCS / "lookup" / f"{stem}.md") for stem in shown)
    assert len(described()) > 30
    for cls in described():
        assert f".{cls.__name__}\n" in source, cls
    whole = "".join(shown.values())
    for cls in described():
        for field in cls.model_fields:
            assert f"{field}\n" in whole, (cls, field)
    for kind, cls in making("descriptions").controllers().items():
        assert kind in shown["scenario-file"] and cls.__name__ in shown["scenario-file"]


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


def test_every_command_and_option_is_on_its_page(site, making):
    words = "".join(read(site / "lookup" / "command-line.html").words)
    known = making("commands").commands()
    assert len(known) >= 8
    for name, command in known.items():
        assert f"flexarm {name}" in words and f"flexarm-{name}" in read(site / "lookup" / "command-line.html").ids
        for parameter in command.params:
            options = [*parameter.opts, *parameter.secondary_opts]
            for option in options if parameter.param_type_name == "option" else ():
                assert option in words, (name, option)


def test_every_attribute_and_variable_of_a_result_is_on_its_page(site, making):
    page = text(DOCS / "lookup" / "file-formats.md")
    results = making("results").RESULTS
    run, ensemble = results["run"](), results["ensemble"]()
    for attribute in {*run.attrs, *ensemble.attrs} - {"threads"}:
        assert f"`{attribute}`" in page, attribute
    words = "".join(read(site / "lookup" / "file-formats.html").words)
    for variable in {*run.variables, *ensemble.variables}:
        assert f"{variable}\n" in words


def test_names_of_other_packages_lead_to_their_sites(site, making):
    """Each of those that have a place in the inventories made here is needed."""
    links = {link for path in (site / "lookup" / "api").glob("*.html") for link in read(path).links}
    for home, places in making("elsewhere").SITES.values():
        for name in " ".join(places.values()).split():
            assert any(link.startswith(home) and link.endswith(f"#{name}") for link in links), name


# -- the gallery -------------------------------------------------------------------------------------------------------


def test_everything_bundled_is_in_the_gallery(site, making):
    gallery = making("gallery")
    assert [entry.name for entry in gallery.entries("scenario")] == [*fa.bundled_scenarios()]
    assert {f"{entry.name}.py" for entry in gallery.entries("example")} == {
        p.name for p in (ROOT / "examples").glob("*.py")
    }
    page = read(site / "gallery.html")
    for kind in gallery.KINDS:
        for entry in gallery.entries(kind):
            assert entry.stem in page.ids and entry.about and f"gallery/{entry.stem}.html" in page.links
    assert {f"gallery/play-{arm}.html" for arm in gallery.PLAYED} <= {*page.links}
    assert 'src="gallery/scenario-canadarm.png"' in (whole := (site / "gallery.html").read_text(encoding="utf-8"))
    count = sum(len(gallery.entries(kind)) for kind in gallery.KINDS)
    assert whole.count('loading="lazy" width="4" height="3">') == count


@pytest.mark.parametrize(("kind", "name"), [("scenario", "subudhi-morris"), ("example", "describe_and_simulate")])
def test_an_entry_of_the_gallery_is_made(making, tmp_path, kind, name):
    gallery = making("gallery")
    entry = next(entry for entry in gallery.entries(kind) if entry.name == name)
    gallery.make(entry, tmp_path)
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {f"{entry.stem}{end}" for end in (".png", "-dark.png", ".html")}
    assert (tmp_path / f"{entry.stem}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


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
    assert re.search(r"^make check && make docs && make test$", words, re.M) and "set -euo pipefail" in words


def test_the_moving_picture_of_the_front_page_is_small():
    for name in ("canadarm.gif", "canadarm-dark.gif"):
        content = (DOCS / "static" / name).read_bytes()
        assert content[:6] == b"GIF89a" and 50_000 < len(content) < 400_000


def test_the_search_knows_the_pages(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))
    assert {"do/arms", "lookup/arm-file", "lookup/api/simulation"} <= {*found["docnames"]}
    assert Path(site / "search.html").is_file()


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


def test_the_targets_that_were_missed_are_listed(site, making):
    page = text(DOCS / "understand" / "benchmarks.md")
    rows = [line for line in page.splitlines() if line.endswith(("| **no** |", "| no |"))]
    words = "".join(read(site / "understand" / "limits.html").words).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    for row in rows:
        assert row.split("|")[1].strip() in words
    assert len([*making("measured").missed(page)]) == len(rows) > 0
