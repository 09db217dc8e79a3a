"""The equations as a LaTeX document that needs only amsmath."""

from collections.abc import Sequence

from flexarm import escape
from flexarm.closed_forms.formats.document import (
    Block,
    Derived,
    Formulas,
    Heading,
    Paragraph,
    Table,
    document,
    pieces,
    titled,
)

HEAD = r"""\documentclass[11pt,a4paper]{article}
\usepackage[margin=22mm]{geometry}
\usepackage{amsmath}
\usepackage{longtable}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\setlength{\parskip}{1ex}
"""


def latex(equations: Derived, parts: Sequence[str] | None = None) -> str:
    """Return the complete document, or some parts, ready for pdflatex."""
    body = "\n\n".join(_block(block) for block in document(equations, parts))
    title = escaped(titled(equations.arm))
    head = f"{HEAD}\\title{{{title}}}\n\\author{{}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle\n"
    return f"{head}\n{body}\n\\end{{document}}\n"


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return rf"\section*{{{escaped(block.text)}}}"
    if isinstance(block, Paragraph):
        return escaped(block.text)
    if isinstance(block, Formulas):
        lines = block.lines[0] + "".join(
            (" \\\\\n" if line.startswith("&") else " \\\\[3pt]\n") + line for line in block.lines[1:]
        )
        return f"\\begin{{align*}}\n{lines}\n\\end{{align*}}"
    return _table(block)


def _table(table: Table) -> str:
    rows = [" & ".join(map(escaped, row)) + r" \\" for row in table.rows]
    head = " & ".join(map(escaped, table.head)) + r" \\ \hline \endhead"
    columns = "".join(WIDTHS.get(title, "l") for title in table.head)
    return "\n".join([rf"\begin{{longtable}}{{@{{}}{columns}@{{}}}}", head, *rows, r"\end{longtable}"])


WIDTHS = {"what it is": "p{50mm}", "definition": "p{65mm}"}
"""Widths of columns whose lines may be broken."""


def escaped(text: str) -> str:
    """Escape text for LaTeX, except between dollars."""
    return "".join(part if is_formula else escape.latex(part) for part, is_formula in pieces(text))
