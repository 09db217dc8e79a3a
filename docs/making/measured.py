"""Measured numbers where they are spoken of: taken from the page that `make bench` writes, so that they are said once.

A directive `measured` shows rows of a table of that page: its argument is the table's heading, `:columns:` names some
of its columns, `:rows:` the beginnings of some rows. `missed` lists every row of every table whose target was missed.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from making.descriptions import table

PAGE = Path(__file__).parents[1] / "understand" / "benchmarks.md"
Row = tuple[str, ...]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("measured", Measured)
    app.add_directive("missed", Missed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def tables(text: str) -> dict[str, list[Row]]:
    """The table below each heading of the second level, its head first."""
    found: dict[str, list[Row]] = {}
    for section in text.split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        lines = [line for line in body.splitlines() if line.startswith("|")]
        rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
        found[title.strip()] = [row for row in rows if not set("".join(row)) <= set("-: ")]
    return found


def chosen(rows: list[Row], columns: list[str], beginnings: list[str]) -> list[Row]:
    """Some columns and rows; raises `ValueError` where one is not there."""
    head, *body = rows
    for name in columns:
        if name not in head:
            raise ValueError(f"no column {name!r}")
    places = [head.index(name) for name in columns] if columns else [*range(len(head))]
    for beginning in beginnings:
        if not any(row[0].startswith(beginning) for row in body):
            raise ValueError(f"no row begins with {beginning!r}")
    kept = [row for row in body if not beginnings or row[0].startswith(tuple(beginnings))]
    return [tuple(row[i] for i in places) for row in (head, *kept)]


def listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


class Measured(SphinxDirective):
    """A table of the page of measurements."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"columns": listed, "rows": listed}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(PAGE))
        title = self.arguments[0]
        try:
            rows = tables(PAGE.read_text(encoding="utf-8"))[title]
            head, *body = chosen(rows, self.options.get("columns", []), self.options.get("rows", []))
        except (KeyError, ValueError) as error:
            raise self.error(f"{PAGE.name}, {title}: {error}") from None
        return self.parse_text_to_nodes("\n".join(table(body, *head)))


def missed(text: str) -> Iterator[Row]:
    """Where, what, and the rest of each row whose last cell says no."""
    for title, (head, *body) in tables(text).items():
        for row in body:
            if row[-1].strip("*") == "no":
                said = (f"{name}: {cell}" for name, cell in zip(head[1:-1], row[1:-1], strict=True) if name and cell)
                yield (title, row[0], "; ".join(said))


class Missed(SphinxDirective):
    """Targets that were not met."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(PAGE))
        rows = missed(PAGE.read_text(encoding="utf-8"))
        return self.parse_text_to_nodes("\n".join(table(rows, "table", "what", "measured, and the target")))
