"""The package's docstrings as autodoc needs them.

They are written with Markdown's backquotes and bare asterisks: here names become references, other code stays code, and
what would be markup in reStructuredText is not. Signatures of descriptions are made of their fields.
"""

import dataclasses
import inspect
import re
import sys
from importlib import import_module
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from sphinx import addnodes
from sphinx.pycode import ModuleAnalyzer
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

HOMES = (
    "flexarm.shapes",
    "flexarm.trajectory",
    "flexarm.analysis",
    "flexarm.control",
    "flexarm.estimation",
    "flexarm.robust",
    "flexarm",
)
"""Modules with public names; of two that have one, the last."""
TYPED = re.compile(r"(\*{0,2}\w+(?:, \w+)* : )(\S.*)")
NAME = re.compile(r"(?:fa\.)?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?")


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("names", Names)
    app.connect("autodoc-process-docstring", _plain, priority=100)  # before napoleon takes the sections apart
    app.connect("autodoc-process-signature", _fields)
    app.connect("autodoc-skip-member", _skipped)
    app.add_post_transform(LinkedNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def escaped(line: str) -> str:
    """A line of a docstring in reStructuredText."""
    parts = re.split(r"(`[^`]+`)", line)
    return "".join(_code(part[1:-1]) if part[:1] == "`" and len(part) > 2 else _text(part) for part in parts)


def _code(code: str) -> str:
    return f":py:obj:`{code}`" if NAME.fullmatch(code) and "(" not in code else f"``{code}``"


def _text(text: str) -> str:
    return re.sub(r"(?<=\w)_(?!\w)|[*|]", lambda sign: "\\" + sign[0], text)


def _plain(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if what == "data":
        lines[:] = _of_data(name, thing) or lines
    for i, line in enumerate(lines):
        field = TYPED.fullmatch(line)
        lines[i] = field[1] + _type(field[2]) if field else escaped(line)
    for i, (line, gap, block) in enumerate(zip(lines, lines[1:], lines[2:], strict=False)):
        if line.endswith(":") and not gap and _depth(block) > _depth(line):
            lines[i] += ":"  # set off by its indentation alone


def _of_data(name: str, thing: Any) -> list[str]:
    """The text below a value where it is assigned. autodoc looks for it only in the module that exports the value."""
    package, last = name.partition(".")[0], name.rpartition(".")[2]
    homes = [home for home, module in list(sys.modules.items()) if f"{home}.".startswith(f"{package}.") and module]
    for home in sorted(homes):
        if vars(sys.modules[home]).get(last) is thing:
            found = ModuleAnalyzer.for_module(home).find_attr_docs().get(("", last))
            if found:
                return list(found)
    return []


def _type(text: str) -> str:
    """The type of a parameter, the classes in it with links."""
    homes = {name: module for module in HOMES for name in import_module(module).__all__ if name[0].isupper()}
    homes["xarray.Dataset"] = ""
    words = re.split(r"(?<![\w\"'`.])(xarray\.Dataset|[A-Z]\w+)(?![\w\"'`])", escaped(text))
    full = {word: f"~{homes[word]}.{word}" if homes[word] else word for word in words if word in homes}
    return "".join(f":py:obj:`{full[word]}`" if word in full else word for word in words)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _fields(app: Any, what: str, name: str, thing: Any, options: Any, signature: Any, returns: Any) -> Any:
    """Of a description its fields: pydantic's own signature says nothing."""
    if not (inspect.isclass(thing) and issubclass(thing, BaseModel)):
        return None
    own = [(name, field) for name, field in thing.model_fields.items() if name != "type"]
    shown = ["*"]
    for field_name, field in sorted(own, key=lambda each: not each[1].is_required()):
        default = field.get_default(call_default_factory=True)
        shown.append(field_name if default is PydanticUndefined else f"{field_name}={_value(default)}")
    return f"({', '.join(shown)})" if len(shown) > 1 else "()", returns


def _value(default: Any) -> str:
    return f"{type(default).__name__}()" if isinstance(default, BaseModel) else repr(default)


def _skipped(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """What pydantic adds is none of a description's own."""
    home = getattr(thing, "__module__", "") or ""
    return True if home.startswith("pydantic") or name.startswith("model_") else None


class Names(SphinxDirective):
    """Entries for the names of a module that stand in its content, under a table of them."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        module = self.arguments[0]
        names = " ".join(self.content).split()
        listed = self.env.__dict__.setdefault("flexarm_names", {})
        listed.setdefault(self.env.docname, []).extend(f"{module}.{name}" for name in names)
        lines = [f".. currentmodule:: {module}", "", ".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in names]
        for name in names:
            kind = _directive(getattr(import_module(module), name))
            lines += ["", f".. {kind}:: {module}.{name}", *(["   :members:"] if kind == "autoclass" else [])]
        text = StringList([*lines, ""], source=self.get_source_info()[0])
        node = nodes.Element()
        node.document = self.state.document
        self.state.nested_parse(text, 0, node)
        return node.children


def _directive(thing: Any) -> str:
    if inspect.isclass(thing):
        return "autoexception" if issubclass(thing, BaseException) else "autoclass"
    return "autofunction" if callable(thing) and not dataclasses.is_dataclass(thing) else "autodata"


class LinkedNames(SphinxPostTransform):
    """`fa.simulate` in the text of a page leads to its entry."""

    default_priority = 5

    def run(self, **_: Any) -> None:
        for node in list(self.document.findall(nodes.literal)):
            found = re.fullmatch(r"fa\.([A-Za-z_]\w*(?:\.\w+)*)(\(.*\))?", node.astext())
            inside = isinstance(node.parent, nodes.reference | addnodes.pending_xref)
            if found is None or inside or "flexarm." + found[1] not in self.env.domains.python_domain.objects:
                continue
            domain = self.env.domains.python_domain
            made = domain.resolve_xref(
                self.env,
                self.env.docname,
                self.app.builder,
                "obj",
                "flexarm." + found[1],
                _reference(),
                node.deepcopy(),
            )
            if made is not None:
                node.replace_self(made)


def _reference() -> Any:
    return addnodes.pending_xref("", refspecific=False)
