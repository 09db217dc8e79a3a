"""The gallery: a card for every bundled scenario and example, and pages with its file and with its arm in motion.

    cd docs && python -m making.gallery ../build/gallery

makes the pictures and the pages in which arms move. The directive `gallery` puts cards on a page of the site. Each card
leads to a page with the description and the file. Pictures and moving pages are made where the site is built and stand
in no repository: together they are tens of megabytes, and each follows from the package alone. One picture does stand
there, the moving one of the README:

    cd docs && python -m making.gallery static front
"""

import ast
import contextlib
import html
import os
import re
import runpy
import struct
import sys
import tempfile
import textwrap
import time
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
CATALOGUE = ROOT / "src" / "flexarm" / "catalogue"

PLAYED = ("canadarm", "subudhi-morris", "spatial-6r", "theodore-ghosal", "satellite", "canadarm-bus")
"""Arms that have a page in which they are alive."""
SEEN = 0.05
"""Of an arm's reach: how large deflections are in a picture, where they are magnified."""
SHORT = 110
"""Number of characters of the description on a card."""

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """One thing that is shown: `kind` is "scenario", "example" or "arm", `code` the text of its file."""

    kind: str
    name: str
    about: str
    code: str

    @property
    def stem(self) -> str:
        """Name of its page and its pictures, without their endings."""
        return f"{self.kind}-{self.name}"

    @property
    def view(self) -> str:
        """Name of the page in which it moves."""
        return f"view-{self.stem}.html"

    @property
    def play(self) -> str:
        """Name of the page in which its arm runs live, where there is one."""
        arm = {"arm": self.name, "scenario": tomllib.loads(self.code).get("arm", "")}[self.kind] if self.is_file else ""
        return f"play-{arm}.html" if arm in PLAYED else ""

    @property
    def is_file(self) -> bool:
        """True for a TOML file, false for a program."""
        return self.kind != "example"

    @property
    def command(self) -> str:
        """Command that shows or runs it."""
        verbs = {"arm": "flexarm show", "scenario": "flexarm simulate", "example": "python"}
        return f"{verbs[self.kind]} {self.name if self.is_file else f'examples/{self.name}.py'}"

    @property
    def short(self) -> str:
        """Description on a card: the first sentence, on one line."""
        return textwrap.shorten(
            re.split(r"(?<=[.;])\s+(?=[A-Z])", self.about)[0].rstrip(".;"), SHORT, placeholder=" ..."
        )


def entries(kind: str) -> list[Entry]:
    """All there are of a kind, by name."""
    if kind == "example":
        found = []
        for path in sorted(EXAMPLES.glob("*.py")):
            text = path.read_text(encoding="utf-8")
            about, _, _ = text.removeprefix('"""').partition('"""')
            found.append(Entry(kind, path.stem, about.strip().partition("\n\n")[0], text.strip()))
        return found
    folder = CATALOGUE / f"{kind}s"
    named = PLAYED if kind == "arm" else sorted(path.stem for path in folder.glob("*.toml"))
    texts = {name: (folder / f"{name}.toml").read_text(encoding="utf-8") for name in named}
    return [Entry(kind, name, str(tomllib.loads(text).get("description", "")), text) for name, text in texts.items()]


KINDS = ("arm", "scenario", "example")


# -- pictures and pages ------------------------------------------------------------------------------------------------


def make(entry: Entry, folder: Path) -> float:
    """Its files; how long it took [s]."""
    began = time.perf_counter()
    {"arm": _arm, "scenario": _scenario, "example": _example}[entry.kind](entry, folder)
    return time.perf_counter() - began


def _picture(entry: Entry, folder: Path, result: Any) -> None:
    """The strip of poses of a result, on a white and on a dark card."""
    import flexarm as fa

    for dark in (False, True):
        path = folder / f"{entry.stem}{'-dark' if dark else ''}.png"
        fa.animate(result, path, poses=3, size=(290, 240), magnified=magnified(result), dark=dark)


def magnified(result: Any) -> float:
    """1, 2, 5 or 10: how much larger deflections are drawn, so that they are seen; the picture says so."""
    deflected = float(np.linalg.norm(result.deflection, axis=-1).max(initial=0.0))
    reach = float(np.linalg.norm(result.tip, axis=-1).max())
    return next((times for times in (10.0, 5.0, 2.0) if times * deflected <= SEEN * reach), 1.0) if deflected else 1.0


def front(folder: Path) -> None:
    """The picture of the README and of the site's first page: small, and the one that stands in the repository."""
    import flexarm as fa

    result = fa.load_scenario("canadarm").run(progress=False)
    for dark in (False, True):
        path = folder / f"canadarm{'-dark' if dark else ''}.gif"
        fa.animate(result, path, fps=12, speed=2.0, size=(480, 320), magnified=10.0, dark=dark)


def _scenario(entry: Entry, folder: Path) -> None:
    import flexarm as fa

    result = fa.load_scenario(entry.name).run(progress=False)
    _picture(entry, folder, result)
    fa.view(result, folder / entry.view, show=False)


def _arm(entry: Entry, folder: Path) -> None:
    import flexarm as fa
    from flexarm.plots import draw_modes, save_figure

    model = fa.Model(fa.load(entry.name))
    save_figure(draw_modes(model, count=3), folder / f"{entry.stem}.png")
    fa.view(model, folder / entry.view, modes=True, show=False)
    fa.play(model.arm, folder / f"play-{entry.name}.html", show=False)


def named_arms(code: str) -> list[str]:
    """Return the bundled arms whose names are strings in a program, in the order of the text."""
    import flexarm as fa

    texts = [each.value for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Constant)]
    return [name for name in texts if name in fa.bundled()]


def shown_of(made: dict[str, Any], entry: Entry) -> Any:
    """Return what the page of an example moves: the first run, scenario, model or arm that the program has left.

    A program that keeps none of them at its end is shown by the first bundled arm that it names.
    """
    import xarray as xr

    import flexarm as fa

    left = [*made.values()]
    runs = [each for each in left if isinstance(each, xr.Dataset) and "arm" in each.attrs and "q" in each]
    for run in runs:
        if run.q.dims[0] == "time":
            return run
    for scenario in left:
        if isinstance(scenario, fa.Scenario):
            return scenario.run(progress=False)
    models = [each for each in left if isinstance(each, fa.Model)]
    arms = [each for each in left if isinstance(each, fa.Arm)] + [fa.load(name) for name in named_arms(entry.code)]
    if not models and not arms:
        raise ValueError(
            f"the example {entry.name} leaves no run, scenario, model or arm and names no bundled arm, so the gallery "
            "has nothing to move; keep one of them in a variable of the program"
        )
    return models[0] if models else fa.Model(arms[0])


def _example(entry: Entry, folder: Path) -> None:
    """Write an example's figure, else its motion or the modes of its arm; and a page of that motion or arm."""
    import flexarm as fa
    from flexarm.plots import draw_modes, save_figure

    program = str(EXAMPLES / f"{entry.name}.py")
    quiet, called = contextlib.redirect_stdout(None), patch.object(sys, "argv", [program])
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place), quiet, called:
        made = runpy.run_path(program, run_name="__main__")
        drawn = sorted(Path(place).glob("*.png"))
        if drawn:
            (folder / f"{entry.stem}.png").write_bytes(drawn[0].read_bytes())
    shown = shown_of(made, entry)
    if not drawn and isinstance(shown, fa.Model):
        save_figure(draw_modes(shown, count=3), folder / f"{entry.stem}.png")
    elif not drawn:
        _picture(entry, folder, shown)
    fa.view(shown, folder / entry.view, show=False)


def main() -> None:
    """All of them, or those whose names are given behind the folder."""
    os.environ.setdefault("MPLBACKEND", "agg")
    folder, *named = sys.argv[1:]
    place = Path(folder).resolve()
    place.mkdir(parents=True, exist_ok=True)
    if named == ["front"]:
        front(place)
        return
    wanted = [entry for kind in KINDS for entry in entries(kind) if not named or entry.stem in named]
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 4), mp_context=get_context("spawn")) as processes:
        for entry, seconds in zip(wanted, processes.map(make, wanted, [place] * len(wanted)), strict=True):
            files = re.compile(rf"(view-)?{entry.stem}(-dark)?\.\w+|play-{entry.name}\.html")
            size = sum(path.stat().st_size for path in place.iterdir() if files.fullmatch(path.name))
            print(f"{entry.stem}: {seconds:.1f} s, {size / 1e6:.2f} MB", flush=True)


# -- on the site -------------------------------------------------------------------------------------------------------


def setup(app: Any) -> dict[str, bool]:
    app.add_config_value("gallery_folder", str(ROOT / "build" / "gallery"), "env")
    app.add_directive("gallery", Gallery)
    app.connect("html-collect-pages", _pages)
    app.connect("build-finished", _copied)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _copied(app: Any, error: Exception | None) -> None:
    """Copy the pictures and the moving pages to the site."""
    target = Path(app.outdir) / "gallery"
    if error is None and app.builder.format == "html":
        target.mkdir(exist_ok=True)
        for path in Path(app.config.gallery_folder).glob("*.*"):
            if path.suffix == ".png" or path.name.startswith(("view-", "play-")):
                (target / path.name).write_bytes(path.read_bytes())


class Gallery(SphinxDirective):
    """Cards of all entries of a kind."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        folder = Path(self.config.gallery_folder)
        kind = self.arguments[0]
        cards = nodes.bullet_list(classes=["cards", kind])
        for entry in entries(kind):
            for file in filter(None, (f"{entry.stem}.png", entry.view, entry.play)):
                if not (folder / file).is_file():
                    LOG.warning(
                        "%s is missing in %s; `make gallery` makes it", file, folder, location=self.get_location()
                    )
            page = f"gallery/{entry.stem}.html"
            picture = f'<a href="{html.escape(page)}">{pictures(entry, folder, "gallery/")}</a>'
            name = nodes.reference("", "", nodes.strong(text=entry.name), refuri=page)
            card = nodes.list_item(ids=[entry.stem])
            card += nodes.raw("", picture, format="html")
            card += nodes.paragraph("", "", name, nodes.Text(f": {entry.short}"))
            cards += card
        return [cards]


def _pages(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the page of each entry, where the site has a gallery."""
    if app.builder.format == "html" and "gallery" in app.env.found_docs:
        parents = [{"link": "../gallery.html", "title": "Gallery"}]
        for entry in (entry for kind in KINDS for entry in entries(kind)):
            body = body_of(entry, Path(app.config.gallery_folder), app.builder.highlighter.highlight_block)
            yield f"gallery/{entry.stem}", {"title": entry.name, "parents": parents, "body": body}, "page.html"


def body_of(entry: Entry, folder: Path, highlighted: Callable[[str, str], str]) -> str:
    """Return the content of an entry's page: its description, its picture, where it moves, and its file."""
    moving = {"Natural modes" if entry.kind == "arm" else "See it move": entry.view, "Move it yourself": entry.play}
    links = {words: page for words, page in moving.items() if page} | {"All of the gallery": "../gallery.html"}
    buttons = " ".join(f'<a href="{page}">{words}</a>' for words, page in links.items())
    blocks = {"sh": entry.command, "toml" if entry.is_file else "python": entry.code}
    parts = [
        f"<h1>{html.escape(entry.name)}</h1>",
        f"<p>{html.escape(' '.join(entry.about.split()))}</p>",
        f'<p><a href="{entry.view}">{pictures(entry, folder, "")}</a></p>',
        f'<p class="buttons">{buttons}</p>',
        *(f'<div class="highlight-{name}">{highlighted(code, name)}</div>' for name, code in blocks.items()),
    ]
    return "\n".join(parts)


def pictures(entry: Entry, folder: Path, place: str) -> str:
    """Return the picture as HTML, and that for dark pages where there is one."""
    dark = (folder / f"{entry.stem}-dark.png").is_file()
    sources = {f"{entry.stem}.png": "only-light" if dark else "on-paper"}
    sources |= {f"{entry.stem}-dark.png": "only-dark"} if dark else {}
    about = html.escape(" ".join(f"{entry.name}: {entry.about}".split()))
    return "".join(
        f'<img class="{kind}" src="{place}{name}" alt="{about}" loading="lazy"{_size(folder / name)}>'
        for name, kind in sources.items()
    )


def _size(path: Path) -> str:
    """Return the size of a PNG as attributes, so that the page keeps its place before it is loaded."""
    head = path.read_bytes()[:24] if path.is_file() else b""
    return ' width="{}" height="{}"'.format(*struct.unpack(">II", head[16:])) if len(head) == 24 else ""


if __name__ == "__main__":
    main()
