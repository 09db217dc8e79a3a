"""The equations in Markdown, with formulas between dollars."""

from collections.abc import Sequence

from flexarm import escape
from flexarm.closed_forms.formats.document import (
    Block,
    Derived,
    Formulas,
    Heading,
    Paragraph,
    document,
    pieces,
    titled,
)


def markdown(equations: Derived, parts: Sequence[str] | None = None) -> str:
    """Return the complete document, or some parts."""
    title = escaped(titled(equations.arm))
    return f"# {title}\n\n" + "\n\n".join(_block(block) for block in document(equations, parts)) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"## {escaped(block.text)}"
    if isinstance(block, Paragraph):
        return escaped(block.text)
    if isinstance(block, Formulas):
        lines = " \\\\\n".join(block.lines)
        return f"$$\n\\begin{{aligned}}\n{lines}\n\\end{{aligned}}\n$$"
    head, *rows = ["| " + " | ".join(map(escaped, row)) + " |" for row in (block.head, *block.rows)]
    return "\n".join([head, "| --- " * len(block.head) + "|", *rows])


def escaped(text: str) -> str:
    """Escape text for Markdown, except between dollars."""
    return "".join(part if is_formula else escape.markdown(part) for part, is_formula in pieces(text))
