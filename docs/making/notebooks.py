"""Notebooks of the course: each page of docs/course is also a Jupyter notebook, which readers download from the page.

`making.cookbook` runs the cells of a page and calls `write`. The notebook has the text of the page, its code, and the
output and pictures of the run. The directive `notebook` puts the link for the download on the page.
"""

import base64
import json
import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]

PART = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```\n)?"
    r"|^:::\{drawn\} (?P<picture>\S+)\n(?P<alt>.*?)^:::\n"
    r"|^:::\{notebook\}\n:::\n"
    r"|^<details>\n<summary>(?P<solution>.*?)</summary>\n"
    r"|^</details>\n",
    re.M | re.S,
)
"""Parts of a page that are not text: code with its output, pictures, and what only the site shows."""

LINK = re.compile(r"\[([^\]]+)\]\((?!https:)([^)#\s]+)(?:#[^)\s]*)?\)")
"""A link to another page or file of the repository."""

DARK = re.compile(r"\n@media \(prefers-color-scheme: dark\) \{\n.*?\n\}\n", re.S)
"""Colours of a picture on a dark page. They follow the reader's system, and a notebook has a theme of its own."""

FORMAT = (4, 5)
"""Version of the format, the first in which cells have names."""

FOLDED = {"jp-MarkdownHeadingCollapsed": True}
"""With this, Jupyter hides the cells below a heading until the reader opens it."""

LOG = logging.getLogger(__name__)


# -- cells -------------------------------------------------------------------------------------------------------------


def notebook(page: Path, folder: Path) -> dict[str, Any]:
    """Return the notebook of a page as nbformat describes it. The pictures are in the folder."""
    made = cells(page, folder)
    for count, cell in enumerate(made, 1):
        cell["id"] = f"cell-{count}"
    for count, cell in enumerate([cell for cell in made if cell["cell_type"] == "code"], 1):
        cell["execution_count"] = count
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": made, "metadata": metadata, "nbformat": FORMAT[0], "nbformat_minor": FORMAT[1]}


def cells(page: Path, folder: Path) -> list[dict[str, Any]]:
    """Return the cells of a page in their order. A picture stands below the code that has drawn it."""
    text, at = page.read_text(encoding="utf-8"), 0
    made: list[dict[str, Any]] = []
    for part in PART.finditer(text):
        made += markdown(text[at : part.start()], page)
        at = part.end()
        if part["code"]:
            outputs = [stream(part["printed"])] if part["printed"] else []
            made.append(cell("code", part["code"].rstrip()) | {"outputs": outputs})
        elif part["picture"]:
            made[-1]["outputs"].append(display(folder / part["picture"], " ".join(part["alt"].split())))
        elif part["solution"]:
            made.append(cell("markdown", f"### {part['solution']}") | {"metadata": FOLDED})
    return made + markdown(text[at:], page)


def cell(kind: str, text: str) -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {}, "source": lines(text)}


def markdown(text: str, page: Path) -> list[dict[str, Any]]:
    """Return a cell of text, if there is any. A notebook is alone, so links become the names of what they lead to."""

    def named(link: re.Match[str]) -> str:
        return f"{link[1]} (`{Path(os.path.relpath(page.parent / link[2], ROOT)).as_posix()}`)"

    text = LINK.sub(named, text.strip())
    return [cell("markdown", text)] if text else []


def stream(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": lines(text)}


def display(path: Path, alt: str) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {"text/plain": [alt]} | picture(path), "metadata": {}}


def lines(text: str) -> list[str]:
    """Return the lines of a text with their ends, as notebooks store it."""
    return text.splitlines(keepends=True)


def picture(path: Path) -> dict[str, Any]:
    """Return a picture by its media type."""
    if path.suffix == ".svg":
        return {"image/svg+xml": lines(DARK.sub("\n", path.read_text(encoding="utf-8")))}
    return {f"image/{path.suffix[1:]}": base64.b64encode(path.read_bytes()).decode()}


def write(page: Path, folder: Path) -> None:
    """Write the notebook of a page beside its pictures."""
    text = json.dumps(notebook(page, folder), indent=1, ensure_ascii=False)
    (folder / f"{page.stem}.ipynb").write_text(text + "\n", encoding="utf-8")


# -- on the site -------------------------------------------------------------------------------------------------------


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("notebook", Notebook)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Notebook(SphinxDirective):
    """The link with which a reader downloads the notebook of the page."""

    def run(self) -> list[nodes.Node]:
        here = Path(self.env.doc2path(self.env.docname))
        path = Path(self.config.cookbook_folder, here.stem, f"{here.stem}.ipynb")
        if not path.is_file():
            LOG.warning("%s is missing; `make cookbook` makes it", path, location=self.get_location())
            return []
        link = Path(os.path.relpath(path, here.parent)).as_posix()
        words = nodes.inline(text="Download as a Jupyter notebook")
        reference = addnodes.download_reference("", "", words, reftarget=link, refdoc=self.env.docname)
        return [nodes.paragraph("", "", reference, classes=["buttons"])]
