"""The command line as it is: a directive `commands` writes what `flexarm --help` knows of each."""

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from making.descriptions import cell, table


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def commands() -> dict[str, Any]:
    """The commands by their names, in the order of the help."""
    from flexarm.cli import app

    return dict(get_command(app).commands)  # type: ignore[attr-defined]


def options(command: Any) -> Iterator[tuple[str, ...]]:
    for each in command.params:
        default = each.default
        if each.param_type_name == "argument":
            yield (f"`{each.metavar or each.name.upper()}`", "", cell(each.help or ""))
            continue
        names = " / ".join(f"`{name}`" for name in [*each.opts, *each.secondary_opts])
        flag = each.is_flag or default is None or callable(default)
        yield (names, "" if flag else f"`{default}`", cell(each.help or ""))


def entry(name: str, command: Any) -> list[str]:
    usage = [each.metavar or each.name.upper() for each in command.params if each.param_type_name == "argument"]
    text = "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n"))
    taken = [*options(command)]
    shown = " ".join(["flexarm", name, *usage, *(["[OPTIONS]"] if len(taken) > len(usage) else [])])
    rows = table(taken, "argument", "default", "meaning") if taken else []
    return [f"**`{shown}`**", "", text.replace("*", r"\*"), "", *rows, ""]


class Commands(SphinxDirective):
    """All of them."""

    def run(self) -> list[nodes.Node]:
        made: list[nodes.Node] = []
        for name, command in commands().items():
            section = nodes.section(ids=[f"flexarm-{name}"], names=[f"flexarm {name}"])
            section += nodes.title("", "", nodes.literal(text=f"flexarm {name}"))
            self.state.document.note_explicit_target(section)
            section += self.parse_text_to_nodes("\n".join(entry(name, command)))
            made.append(section)
        return made
