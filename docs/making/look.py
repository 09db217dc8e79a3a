"""The look of pages: which pages are wide, and how pictures appear on a dark page.

Figures that `flexarm.plots.save_figure` writes as SVG have colours for both kinds of page. All other pictures on white
paper get the class `on-paper`, and the site's style turns them dark with the page.
"""

from pathlib import Path
from typing import Any

from docutils import nodes

WIDE = ("index", "gallery", "cookbook/index", "course/index")
"""Pages of cards. Their list of headings, beside the text, gives its room to the cards."""


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-resolved", _on_paper)
    app.connect("html-page-context", _wide, priority=900)  # after the theme has decided for itself
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def is_on_paper(picture: Path) -> bool:
    """Return whether a picture is on white paper on every page."""
    if picture.suffix == ".svg":
        return "prefers-color-scheme" not in picture.read_text(encoding="utf-8")
    return picture.suffix == ".png"


def _on_paper(app: Any, doctree: nodes.document, page: str) -> None:
    for image in doctree.findall(nodes.image):
        picture = Path(app.srcdir, image["uri"])
        if picture.is_file() and is_on_paper(picture):
            image["classes"].append("on-paper")


def _wide(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if page in WIDE:
        context["furo_hide_toc"] = True
