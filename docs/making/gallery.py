"""The gallery: every bundled scenario and example with a picture, a few lines of it, and pages in which its arm moves.

    cd docs && python -m making.gallery ../build/gallery

makes the pictures and pages; the directive `gallery` puts them on a page of the site. They are made where the site is
built and stand in no repository: together they are tens of megabytes, and each follows from the package alone. One
picture does stand there, the moving one of the README:

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
from collections.abc import Iterator
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
LINES = 10
"""Of a program that are shown before the rest."""

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
        """Of its files."""
        return f"{self.kind}-{self.name}"

    @property
    def arm(self) -> str:
        """The bundled arm it is about, where there is one."""
        return str(tomllib.loads(self.code).get("arm", "")) if self.kind == "scenario" else ""


def entries(kind: str) -> list[Entry]:
    """All there are of a kind, by name."""
    if kind == "example":
        found = []
        for path in sorted(EXAMPLES.glob("*.py")):
            text = path.read_text(encoding="utf-8")
            about, _, code = text.removeprefix('"""').partition('"""')
            found.append(Entry(kind, path.stem, about.strip().partition("\n\n")[0], code.strip()))
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
    fa.view(result, folder / f"{entry.stem}.html", show=False)


def _arm(entry: Entry, folder: Path) -> None:
    import flexarm as fa
    from flexarm.plots import draw_modes, save_figure

    model = fa.Model(fa.load(entry.name))
    save_figure(draw_modes(model, model.arm.rest, 3), folder / f"{entry.stem}.png")
    fa.view(model, folder / f"{entry.stem}.html", modes=True, show=False)
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
        save_figure(draw_modes(shown, shown.arm.rest, 3), folder / f"{entry.stem}.png")
    elif not drawn:
        _picture(entry, folder, shown)
    fa.view(shown, folder / f"{entry.stem}.html", show=False)


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
            files = re.compile(rf"({entry.stem}|play-{entry.name})(-dark)?\.\w+")
            size = sum(path.stat().st_size for path in place.iterdir() if files.fullmatch(path.name))
            print(f"{entry.stem}: {seconds:.1f} s, {size / 1e6:.2f} MB", flush=True)


# -- on the page -------------------------------------------------------------------------------------------------------


def setup(app: Any) -> dict[str, bool]:
    app.add_config_value("gallery_folder", str(ROOT / "build" / "gallery"), "env")
    app.add_directive("gallery", Gallery)
    app.connect("build-finished", _copied)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _copied(app: Any, error: Exception | None) -> None:
    """The pictures and pages beside the site's own."""
    target = Path(app.outdir) / "gallery"
    if error is None and app.builder.format == "html":
        target.mkdir(exist_ok=True)
        for path in Path(app.config.gallery_folder).glob("*.*"):
            (target / path.name).write_bytes(path.read_bytes())


def excerpt(entry: Entry) -> tuple[str, str]:
    """The lines that are shown, and the rest: of a program those behind its imports."""
    if entry.kind != "example":
        lines = [line for line in entry.code.splitlines() if not line.startswith(("name =", "description ="))]
        return "\n".join(lines).strip(), ""
    lines = entry.code.splitlines()
    first = next(i for i, line in enumerate(lines) if line and not line.startswith(("import ", "from ", "#")))
    return "\n".join(lines[first : first + LINES]).rstrip(), entry.code


class Gallery(SphinxDirective):
    """The entries of a kind."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return [node for entry in entries(self.arguments[0]) for node in self._card(entry)]

    def _card(self, entry: Entry) -> Iterator[nodes.Node]:
        folder = Path(self.config.gallery_folder)
        card = nodes.section(ids=[entry.stem], names=[entry.stem])
        card += nodes.title(text=entry.name)
        self.state.document.note_explicit_target(card)
        about = nodes.paragraph(text=textwrap.shorten(entry.about, 400))
        pages = {"See it move": f"{entry.stem}.html", "Move it yourself": f"play-{entry.arm or entry.name}.html"}
        if entry.kind == "arm":
            pages = {"Move it yourself": f"play-{entry.name}.html", "Natural modes": f"{entry.stem}.html"}
        links = {words: page for words, page in pages.items() if (folder / page).is_file()}
        for file in (f"{entry.stem}.png", *links.values()):
            if not (folder / file).is_file():
                LOG.warning("%s is missing in %s; `make gallery` makes it", file, folder, location=self.get_location())
        card += about
        card += nodes.raw("", self._pictures(entry, folder, [*links.values()]), format="html")
        buttons = (f'<a href="gallery/{html.escape(page)}">{words}</a>' for words, page in links.items())
        card += nodes.raw("", f'<p class="buttons">{" ".join(buttons)}</p>', format="html")
        shown, whole = excerpt(entry)
        language = "python" if entry.kind == "example" else "toml"
        if entry.kind == "arm":
            return iter([card])
        card += nodes.literal_block(shown, shown, language=language)
        if whole:
            card += nodes.raw("", "<details><summary>The whole program</summary>", format="html")
            card += nodes.literal_block(whole, whole, language=language)
            card += nodes.raw("", "</details>", format="html")
        return iter([card])

    def _pictures(self, entry: Entry, folder: Path, pages: list[str]) -> str:
        """The picture, and the one for dark pages where there is one; it leads to the first page."""
        dark = (folder / f"{entry.stem}-dark.png").is_file()
        sources = [(f"{entry.stem}.png", "only-light own-card" if dark else "")]
        sources += [(f"{entry.stem}-dark.png", "only-dark own-card")] if dark else []
        about = html.escape(re.sub(r"\s+", " ", f"{entry.name}: {entry.about}"))
        made = "".join(
            f'<img class="{classes}" src="gallery/{name}" alt="{about}" loading="lazy"{_size(folder / name)}>'
            for name, classes in sources
        )
        return f'<a class="picture" href="gallery/{pages[0]}">{made}</a>' if pages else made


def _size(path: Path) -> str:
    """Of a PNG, so that the page has room for it before it is there."""
    head = path.read_bytes()[:24] if path.is_file() else b""
    return ' width="{}" height="{}"'.format(*struct.unpack(">II", head[16:])) if len(head) == 24 else ""


if __name__ == "__main__":
    main()
