"""What may stand in a file, found out from the classes that check it.

A directive `keys` with a class makes the table of its keys. Each field is asked with wrong values, and what its
check then says of the right ones stands in the table: so the table is what the package does. What a key means is in the
docstring. A directive `controllers` does the same for the controllers of a scenario, which are dataclasses.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from inspect import cleandoc, get_annotations
from itertools import pairwise
from typing import Any

from docutils import nodes
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticUndefined
from sphinx.util.docutils import SphinxDirective

MUST = "it must be "
WRONG: tuple[Any, ...] = (object(), [object()], [object()] * 3, -1.0, 0.0)
"""Nothing that a file could say; a list of that, and of three; numbers that many fields do not allow."""


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("keys", Keys)
    app.add_directive("controllers", Controllers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


# -- what a check says -------------------------------------------------------------------------------------------------


def said(cls: type[BaseModel], field: str, value: Any) -> str:
    """What a field must be, in the words in which its check refuses the value; "" where it takes it."""
    try:
        cls.model_validate({field: value})
    except ValidationError as error:
        for each in error.errors(include_url=False):
            if each["loc"][:1] == (field,):
                context = each.get("ctx", {})
                if "expected" in context or "class_name" in context:
                    return str(context.get("expected") or f"a {context['class_name']}")
                return str(context.get("error", "")).partition(MUST)[2]
    return ""


def allowed(cls: type[BaseModel], field: str) -> tuple[str, str]:
    """What a field may be, and its unit: ("a number, positive", "kg")."""
    plain, listed, three, negative, zero = (said(cls, field, value) for value in WRONG)
    inner = three if plain.startswith("a list of three") else listed if plain.startswith("a list of numbers") else ""
    unit = next((text.partition(" in ")[2] for text in (plain, inner) if text.startswith("a number in ")), "")
    words = plain.partition(" in ")[0] if unit and not inner else plain
    rule = zero if zero and zero == negative else negative or zero
    more = f", {rule}" if rule and rule != plain and not rule.startswith("a ") else ""
    return words + more, unit


# -- what a docstring says ---------------------------------------------------------------------------------------------


def parameters(cls: type) -> dict[str, tuple[str, str]]:
    """What the section Parameters (or Attributes) of a class says of each: its type, and the rest on one line."""
    lines = cleandoc(cls.__doc__ or "").splitlines()
    kinds: dict[str, str] = {}
    texts: dict[str, list[str]] = {}
    names: list[str] = []
    inside = False
    for line, below in pairwise([*lines, ""]):  # a class without a docstring has no lines
        if below.startswith("---"):
            inside = line in ("Parameters", "Attributes")
        elif inside and line.startswith(" "):
            for name in names:
                texts[name].append(line.strip())
        elif inside and line and not line.startswith("---"):
            head, _, kind = line.partition(" : ")
            names = [name.strip() for name in head.split(",")]
            kinds |= dict.fromkeys(names, kind)
            texts |= {name: [] for name in names}
    return {name: (kinds[name], " ".join(texts[name])) for name in kinds}


def meanings(cls: type) -> dict[str, tuple[str, str]]:
    """Of each field, in the words of the class that first has it."""
    found: dict[str, tuple[str, str]] = {}
    for each in reversed(cls.__mro__):
        own = get_annotations(each)
        told = parameters(each) if each.__module__.startswith("flexarm") else {}
        found |= {name: text for name, text in told.items() if name in own or name not in found}
    return found


def summary(cls: type) -> str:
    """The docstring before its sections, in Markdown."""
    text = cleandoc(cls.__doc__ or "")
    return re.split(r"\n\n\w+\n-{3,}\n", text, maxsplit=1)[0].replace("*", r"\*")


# -- tables ------------------------------------------------------------------------------------------------------------


def cell(text: str) -> str:
    return re.sub(r"(`[^`]*`)|([*|])", lambda m: m[1] or "\\" + m[2], " ".join(text.split()))


def table(rows: Iterable[tuple[str, ...]], *columns: str) -> list[str]:
    made = [columns, ("---",) * len(columns), *rows]
    return [f"| {' | '.join(row)} |" for row in made]


def written(value: Any) -> str:
    """A default as a TOML file would have it."""
    if value is None or value in ((), {}, ""):
        return ""
    if isinstance(value, BaseModel):
        return f'`type = "{value.type}"`' if hasattr(value, "type") else ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str):
        return f'`"{value}"`'
    if isinstance(value, dict):
        return "`{" + ", ".join(f"{key} = {each}" for key, each in value.items()) + "}`"
    if isinstance(value, tuple):
        inside = ", ".join(written(each).strip("`") if isinstance(each, tuple) else f"{each:g}" for each in value)
        return f"`[{inside}]`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def choices(text: str) -> str:
    """Names of classes as the tables they stand for, each with a link to its section."""
    names = re.fullmatch(r"an? ([A-Z]\w+(?:, [A-Z]\w+)*(?: or [A-Z]\w+)?)", text)
    if names is None:
        return cell(re.sub(r"'([\w-]+)'", r'`"\1"`', text))
    return "a table, see " + re.sub(r"[A-Z]\w+", lambda name: f"[{name[0]}](#{name[0].lower()})", names[1])


def rows(cls: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    told = meanings(cls)
    for name, field in cls.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if name == "type":
            yield (f"`{name}`", f'`"{default}"`', "", "**needed**", "Says which kind it is.")
            continue
        must, unit = allowed(cls, name)
        given = "**needed**" if default is PydanticUndefined else written(default)
        kind, text = told.get(name, ("", ""))
        text = text.replace(f" [{unit}]", "").removeprefix(f"[{unit}]") if unit else text
        yield (f"`{name}`", choices(must or kind), unit and f"`{unit}`", given, cell(text))


class Keys(SphinxDirective):
    """The keys of a table that a class describes."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module, _, name = self.arguments[0].rpartition(".")
        cls = getattr(import_module(module), name)
        lines = [summary(cls), "", *table(rows(cls), "key", "may be", "unit", "default", "meaning"), ""]
        return self.parse_text_to_nodes("\n".join(lines))


def of_controller(kind: type) -> Iterator[tuple[str, ...]]:
    told = parameters(kind)
    for field in dataclasses.fields(kind):
        if field.name in ("reference", "controller") or not field.init:
            continue
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        default = None if needed or field.default is dataclasses.MISSING else field.default
        kind, text = told.get(field.name, ("", ""))
        yield (f"`{field.name}`", cell(kind), "**needed**" if needed else written(default), cell(text))


def controllers() -> dict[str, type]:
    """Each controller that a scenario may name, and what goes around one, by what stands in the file."""
    from flexarm import control
    from flexarm.scenario.controllers import ADDED, kinds

    found = {f'type = "{name}"': kind for name, kind in kinds().items()}
    return found | {f"[controller.{name}]": getattr(control, kind) for name, kind in ADDED.items()}


class Controllers(SphinxDirective):
    """All of them, and their keys."""

    def run(self) -> list[nodes.Node]:
        lines: list[str] = []
        for name, kind in controllers().items():
            keys = table(of_controller(kind), "key", "may be", "default", "meaning")
            lines += [f"**`{name}`**, in Python `fa.control.{kind.__name__}`. {summary(kind)}", "", *keys, ""]
        return self.parse_text_to_nodes("\n".join(lines))
