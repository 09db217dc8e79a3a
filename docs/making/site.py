"""Checks of the site that was built: every page and name is there, every link leads somewhere, nothing is fetched.

    cd docs && python -m making.site ../build/site

ends with status 1 and a line for each fault. `make docs` runs it, so that the site is built once for people and checks.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

import flexarm as fa
from flexarm.checks import Described
from making import commands, descriptions, elsewhere, gallery, measured, results

DOCS = Path(__file__).parents[1]
FILES = ("arm-file", "scenario-file", "study-file")
"""Pages with the tables of keys."""


# -- reading -----------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """The anchors of a page, its links, what it loads by itself, and its words."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids: set[str | None] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.parts: list[str] = []
        self.inside = ""
        self.html = path.read_text(encoding="utf-8") if path.is_file() else ""
        self.feed(self.html)
        self.words = "".join(self.parts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given, self.inside = dict(attrs), tag
        self.ids.add(given.get("id"))
        source, target = given.get("src"), given.get("href")
        if tag == "a" and target:
            self.links.append(target)
        elif tag in ("script", "img", "iframe", "source", "video") and source:
            self.loads.append(source)
        elif (
            tag == "link"
            and target
            and {*str(given["rel"]).split()} & {*"stylesheet icon preload modulepreload".split()}
        ):
            self.loads.append(target)

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside not in ("script", "style"):
            self.parts.append(data)


read = cache(Page)


def written(page: str) -> str:
    """The source of a page of the docs."""
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def pages(site: Path) -> list[Path]:
    """The site's own pages: not those in which an arm moves."""
    own = (path for path in site.rglob("*.html") if not path.name.startswith(("view-", "play-")))
    return sorted(path for path in own if path.parent.name != "_static")


def local(base: Path, link: str) -> tuple[Path, str]:
    """The file a link leads to and its anchor."""
    path, _, anchor = link.partition("#")
    path = unquote(path.partition("?")[0])
    return (base.parent / path).resolve() if path else base, unquote(anchor)


# -- the whole ---------------------------------------------------------------------------------------------------------


def missing_pages(site: Path) -> Iterator[str]:
    for page in sorted(DOCS.rglob("*.md")):
        made = page.relative_to(DOCS).with_suffix(".html")
        if not (site / made).is_file():
            yield f"the page {made} is not there"


def broken_links(site: Path) -> Iterator[str]:
    for path in pages(site):
        for link in read(path).links:
            if link.startswith(("https://", "mailto:")):
                continue
            target, anchor = local(path, link)
            if not target.is_file() or (anchor and target.suffix == ".html" and anchor not in read(target).ids):
                yield f"{path.relative_to(site)}: the link {link} leads nowhere"


def foreign_loads(site: Path) -> Iterator[str]:
    for path in pages(site):
        for source in read(path).loads:
            foreign = source.startswith(("http:", "https:", "//"))
            if not source.startswith("data:") and (foreign or not local(path, source)[0].is_file()):
                yield f"{path.relative_to(site)} loads {source}, which is not in the site"
    for style in sorted(site.rglob("*.css")):
        if "@import url(http" in style.read_text(encoding="utf-8"):
            yield f"{style.relative_to(site)} imports a style from elsewhere"


def formulas_that_are_no_mathml(site: Path) -> Iterator[str]:
    page = read(site / "lookup" / "modal-integrals.html")
    count = written("lookup/modal-integrals").count("$") // 2  # those between $$ have two signs at each end
    if not page.html.count("<math") >= count - 2 > 40:
        yield f"modal-integrals.html has {page.html.count('<math')} formulas of {count}"
    if "$" in page.words:
        yield "modal-integrals.html shows a dollar sign"


# -- what is looked up -------------------------------------------------------------------------------------------------


def public_names() -> set[str]:
    """All names that a module says are public, by the one from which a user takes them."""
    found = {f"flexarm.{name}" for name in fa.__all__ if not name.startswith("__")}
    modules = "analysis control estimation optimal presets problems robust shapes inputs"
    found -= {f"flexarm.{name}" for name in modules.split()}
    mine = {name.partition(".")[2] for name in found}
    for name in "analysis control estimation optimal problems robust shapes studies trajectory".split():
        module = import_module(f"flexarm.{name}")
        found |= {f"flexarm.{name}.{each}" for each in module.__all__ if each not in mine}
    return found


def described() -> set[type]:
    """Classes of what may stand in a file; their base classes are not final."""
    found: set[type] = set()
    rest: list[type] = [Described]
    while rest:
        rest += (below := rest.pop().__subclasses__())
        found.update(below)
    homes = ("flexarm.description.", "flexarm.scenario", "flexarm.studies.")
    return {cls for cls in found if cls.__module__.startswith(homes) and "__final__" in vars(cls)}


def names_without_an_entry(site: Path) -> Iterator[str]:
    ids = set().union(*(read(path).ids for path in (site / "lookup" / "api").glob("*.html")))
    for name in sorted(public_names() - ids):
        yield f"{name} has no entry under lookup/api"


def keys_without_a_row(site: Path) -> Iterator[str]:
    shown = {page: read(site / "lookup" / f"{page}.html").words for page in FILES}
    whole = "".join(shown.values())
    for cls in sorted(described(), key=lambda cls: cls.__name__):
        for field in cls.model_fields:  # type: ignore[attr-defined]
            if f"{field}\n" not in whole:
                yield f"the key {field} of {cls.__name__} is in no table"
    for kind, cls in descriptions.controllers().items():
        if kind not in shown["scenario-file"] or cls.__name__ not in shown["scenario-file"]:
            yield f"the controller {kind} is not on the page scenario-file"


def commands_that_are_missing(site: Path) -> Iterator[str]:
    page = read(site / "lookup" / "command-line.html")
    known = commands.commands()
    if len(known) < 8:
        yield f"flexarm has {len(known)} commands"
    for name, command in known.items():
        if f"flexarm {name}" not in page.words or f"flexarm-{name}" not in page.ids:
            yield f"the command {name} is not on its page"
        for parameter in command.params:
            options = [*parameter.opts, *parameter.secondary_opts]
            for option in options if parameter.param_type_name == "option" else ():
                if option not in page.words:
                    yield f"the option {option} of {name} is not on its page"


def variables_that_are_missing(site: Path) -> Iterator[str]:
    words = read(site / "lookup" / "file-formats.html").words
    variables = {name for result in results.RESULTS.values() for name in result().variables}
    for name in sorted(variables):
        if f"{name}\n" not in words:
            yield f"the variable {name} of a result is not on the page file-formats"


def names_that_lead_nowhere(site: Path) -> Iterator[str]:
    """Each name of another package that has a place in the inventories made here is needed."""
    links = {link for path in (site / "lookup" / "api").glob("*.html") for link in read(path).links}
    for home, places in elsewhere.SITES.values():
        for name in " ".join(places.values()).split():
            if not any(link.startswith(home) and link.endswith(f"#{name}") for link in links):
                yield f"no link leads to {name} at {home}"


def entries_without_a_card(site: Path) -> Iterator[str]:
    page = read(site / "gallery.html")
    for entry in [entry for kind in gallery.KINDS for entry in gallery.entries(kind)]:
        picture = rf'src="gallery/{re.escape(entry.stem)}\.png"[^>]* loading="lazy" width="\d+" height="\d+">'
        if not (entry.short and entry.stem in page.ids and re.search(picture, page.html)):
            yield f"{entry.stem} has no card with a picture in the gallery"
        if f"gallery/{entry.stem}.html" not in page.links:
            yield f"{entry.stem} has no page in the gallery"
        own = read(site / "gallery" / f"{entry.stem}.html")
        if not {*filter(None, (entry.view, entry.play))} <= {*own.links}:
            yield f"the page of {entry.stem} does not lead to its moving arm"
        if entry.code.splitlines()[-1] not in own.words:
            yield f"the page of {entry.stem} does not show its file"


def pages_that_the_search_lacks(site: Path) -> Iterator[str]:
    index = site / "searchindex.js"
    text = index.read_text(encoding="utf-8") if index.is_file() else '{"docnames": []}'
    found = {*json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))["docnames"]}
    for name in sorted({page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")} - found):
        yield f"the search does not know the page {name}"
    if not (site / "search.html").is_file():
        yield "there is no search.html"


def pages_that_llms_txt_lacks(site: Path) -> Iterator[str]:
    path = site / "llms.txt"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    listed = dict(re.findall(r"^- \[.+?\]\((\S+)\)(.*)$", text, re.M))
    for page in sorted({*DOCS.rglob("*.md")} - {DOCS / "index.md"}):
        name = page.relative_to(DOCS).with_suffix(".html").as_posix()
        if name not in listed:
            yield f"llms.txt does not list the page {name}"
        elif len(listed[name].split()) < 4:
            yield f"llms.txt does not say what is on the page {name}"
    for name in listed:
        if not (site / name).is_file():
            yield f"llms.txt leads to {name}, which is not in the site"
    if not text.startswith("# flexarm\n\n> flexarm "):
        yield "llms.txt does not begin with the name and one sentence"


def missed_targets_that_are_not_told(site: Path) -> Iterator[str]:
    page = written("understand/benchmarks")
    rows = [line for line in page.splitlines() if line.endswith(("| **no** |", "| no |"))]
    words = read(site / "understand" / "limits.html").words.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    for row in rows:
        if row.split("|")[1].strip() not in words:
            yield f"limits.html does not list the missed target {row}"
    if not len([*measured.missed(page)]) == len(rows) > 0:
        yield f"benchmarks.md has {len(rows)} rows with a missed target, and others are found"


CHECKS: tuple[Callable[[Path], Iterator[str]], ...] = (
    missing_pages,
    broken_links,
    foreign_loads,
    formulas_that_are_no_mathml,
    names_without_an_entry,
    keys_without_a_row,
    commands_that_are_missing,
    variables_that_are_missing,
    names_that_lead_nowhere,
    entries_without_a_card,
    pages_that_the_search_lacks,
    pages_that_llms_txt_lacks,
    missed_targets_that_are_not_told,
)


def main(folder: str) -> int:
    site = Path(folder).resolve()
    found = [f"{check.__name__.replace('_', ' ')}: {fault}" for check in CHECKS for fault in check(site)]
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
