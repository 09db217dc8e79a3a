"""The equations in Markdown, with formulas between dollars."""

from collections.abc import Sequence

from flexarm.closed_forms.formats.document import DOLLAR, Block, Derived, Formulas, Heading, Paragraph, document, titled


def markdown(equations: Derived, parts: Sequence[str] | None = None) -> str:
    """The whole document, or what is said of some parts."""
    text = f"# {titled(equations.arm)}\n\n" + "\n\n".join(_block(block) for block in document(equations, parts)) + "\n"
    return text.replace(DOLLAR, r"\$")


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"## {block.text}"
    if isinstance(block, Paragraph):
        return block.text
    if isinstance(block, Formulas):
        lines = " \\\\\n".join(block.lines)
        return f"$$\n\\begin{{aligned}}\n{lines}\n\\end{{aligned}}\n$$"
    rows = [block.head, tuple("---" for _ in block.head), *block.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
