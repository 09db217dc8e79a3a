"""The file `llms.txt` of the site: every page with a link and one sentence, for programs that read documentation.

The format is that of llmstxt.org: a title, a quoted summary, and a list of links below a heading for each part. The
order is that of the site's navigation.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

LONGEST = 240
"""Number of characters of the sentence about a page."""


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        Path(app.outdir, "llms.txt").write_text(text_of(app), encoding="utf-8")


def text_of(app: Any) -> str:
    """Return the complete file."""
    env, root = app.env, app.config.root_doc
    lines = [f"# {env.titles[root].astext()}", "", f"> {sentence(env.get_doctree(root))}"]
    for part in below(env, root):
        lines += ["", f"## {env.titles[part].astext()}", ""]
        lines += [line(app, page) for page in (part, *descendants(env, part))]
    return "\n".join(lines) + "\n"


def line(app: Any, page: str) -> str:
    """Return the entry of a page."""
    about = sentence(app.env.get_doctree(page))
    address = app.builder.get_target_uri(page)
    return f"- [{app.env.titles[page].astext()}]({address}){f': {about}' if about else ''}"


def below(env: Any, page: str) -> list[str]:
    """Return the pages in the table of contents of a page, in its order."""
    found = [name for tree in env.get_doctree(page).findall(addnodes.toctree) for name in tree["includefiles"]]
    return [*dict.fromkeys(found)]


def descendants(env: Any, page: str) -> Iterator[str]:
    """Yield all pages below a page, each before those below it."""
    for name in below(env, page):
        yield name
        yield from descendants(env, name)


def sentence(doctree: nodes.document) -> str:
    """Return the first sentence of a page."""
    first = next((each for each in doctree.findall(nodes.paragraph) if not _is_hidden(each)), None)
    words = " ".join(first.astext().split()) if first is not None else ""
    words = re.split(r"(?<=[.!?:])\s+(?=[A-Z])", words)[0].rstrip(":")
    return words if len(words) <= LONGEST else words[:LONGEST].rpartition(" ")[0] + " ..."


def _is_hidden(paragraph: nodes.paragraph) -> bool:
    return isinstance(paragraph.parent, addnodes.toctree | nodes.entry | nodes.list_item)
