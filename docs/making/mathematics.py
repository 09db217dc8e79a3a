"""Formulas as MathML, which every browser sets by itself: no script, no font to fetch, and the text can be searched.

docutils has the converter. What it cannot convert is a warning, and so stops the build.
"""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOG = logging.getLogger(__name__)

SHORT = re.compile(r"(\\[dt]?frac)\s*(\d)\s*(\d)")
r"""Fractions of two digits without braces, as in `\tfrac12`. docutils takes both digits for the numerator."""

DOTTED = re.compile(r'<mover accent="true">(?=\s*<m\w+>[^<]*</m\w+>\s*<mo[^>]*>[\u02d9\u00a8])')
"""Letters with dots, of rates: as accents Chromium sets them into the letter."""

APPLIED = re.compile(r"<mo>&ApplyFunction;</mo>(?!\s*<mo[^>]*>\()")
"""Places behind the name of a function, as in "sin x". Without brackets, browsers set no space there."""


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def converted(node: nodes.Element, as_block: bool) -> str:
    try:
        formula = SHORT.sub(r"\1{\2}{\3}", node.astext())
        found = tex2mathml(formula, as_block=as_block).replace("<mo>'</mo>", "<mo>\N{PRIME}</mo>")
        return APPLIED.sub('<mspace width="0.17em"/>', DOTTED.sub('<mover accent="false">', found))
    except MathError as error:
        LOG.warning("the formula %s: %s", node.astext(), error, location=node)
        return ""


def inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(converted(node, as_block=False))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.Element) -> None:
    translator.body.append(f'<div class="math">{converted(node, as_block=True)}</div>')
    raise nodes.SkipNode
