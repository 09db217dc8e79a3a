"""Commands for a first start: list, new."""

import json as json_
import os
import shlex
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from flexarm import escape
from flexarm.commands.document import Json, show_document
from flexarm.commands.terminal import check_file, say, say_next, table
from flexarm.errors import DescriptionError
from flexarm.files import write_whole

KINDS = {"arms": "arm", "scenarios": "scenario", "studies": "study"}


def list_(
    search: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SEARCH]...", help="Words that the name or the description contains; or arms, scenarios, studies."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List bundled arms, scenarios and studies, or search them."""
    words = [word.casefold() for word in search or []]
    everything = _everything()
    asked = {kind for kind, one in KINDS.items() if {kind, one} & {*words}}
    sought = [word for word in words if word not in {*KINDS, *KINDS.values()}]
    found = {
        kind: [entry for entry in entries if _has(entry, sought)] if kind in (asked or KINDS) else []
        for kind, entries in everything.items()
    }
    if not any(found.values()) or not all(map(str.strip, sought)):
        raise DescriptionError(_nothing(sought, everything))
    if json:
        show_document("list", found)
        return
    for kind, entries in found.items():
        if entries:
            _show(kind, entries, sought)
    say("Next: flexarm show ARM, flexarm modes ARM, flexarm simulate SCENARIO, flexarm study STUDY; each has --help.")


def _everything() -> dict[str, list[dict[str, str]]]:
    """Return name and description of everything bundled, by kind."""
    from flexarm.description.load import bundled, catalogued, description_of

    names = {"arms": bundled(), "scenarios": catalogued("scenario"), "studies": catalogued("study")}
    return {
        kind: [{"name": name, "description": description_of(KINDS[kind], name)} for name in names[kind]]
        for kind in KINDS
    }


def _has(entry: dict[str, str], sought: list[str]) -> bool:
    text = "\n".join(entry.values()).casefold()
    return not [word for word in sought if word not in text]


def _nothing(sought: list[str], everything: dict[str, list[dict[str, str]]]) -> str:
    """Return a message that nothing was found, with similar names or words."""
    from flexarm.checks import advised, did_you_mean, shown

    entries = [entry for entries in everything.values() for entry in entries]
    names = [entry["name"] for entry in entries]
    others = {word.strip("(),.:&") for entry in entries for text in entry.values() for word in text.split()}
    missing = [word for word in sought if not any(_has(entry, [word]) for entry in entries)]
    hints = [did_you_mean(word, names) or did_you_mean(word, others) for word in missing]
    where = "bundled arm, scenario or study"
    problem = f"nothing found: no {where} has {shown(' '.join(sought))} in its name or description"
    return advised(problem, hints[0] if hints else "")


def _show(kind: str, entries: list[dict[str, str]], sought: list[str]) -> None:
    """Print one kind as a table with highlighted search words."""
    from rich.text import Text

    say(kind, style="bold")
    drawn = table("name", "description", header=False)
    for entry in entries:
        cells = Text(entry["name"], style="bold"), Text(entry["description"])
        for cell in cells:
            cell.highlight_words(sought, style="underline", case_sensitive=False)
        drawn.add_row(*cells)
    say(drawn)
    say("")


# -- files to start from -----------------------------------------------------------------------------------------------


class Kind(StrEnum):
    """Kinds of arms for a first start."""

    PLANAR = "planar"
    SPATIAL = "spatial"
    TELESCOPING = "telescoping"
    ELASTIC = "elastic"


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the arm and of its files.")],
    kind: Annotated[
        Kind,
        typer.Option(
            help="planar: two links that bend in a plane; spatial: three joints under gravity, links bend and twist; "
            "telescoping: a boom that slides out of its hub; elastic: rigid links on elastic joints."
        ),
    ] = Kind.PLANAR,
    out: Annotated[Path, typer.Option(help="Folder for the two files.")] = Path(),
) -> None:
    """Write an arm and a scenario to start from.

    Writes NAME.toml and NAME-slew.toml, with an explanation of every value. Existing files are not replaced.
    """
    name = name.removesuffix(".toml")
    if fault := _unfit(name):
        raise DescriptionError(f"NAME {fault}")
    arm, scenario = out / f"{name}.toml", out / f"{name}-slew.toml"
    for path in (arm, scenario):
        if os.path.lexists(path):
            raise DescriptionError(
                f"{path}: the file exists already and is not replaced; give another name, or a folder with --out"
            )
        check_file(path, "--out")
    for path, what in ((arm, "arm"), (scenario, "scenario")):
        write_whole(path, template(kind, what, name).encode())
    say(f"written: {arm}, {scenario}; open them in an editor; comments explain every number\n")
    commands = {"show": arm, "modes": arm, "simulate": scenario}
    say_next(shlex.join(["flexarm", command, str(path)]) for command, path in commands.items())


def _unfit(name: str) -> str:
    """Return the reason why a text is not a valid file name on every system and in every shell, or ""."""
    from flexarm.checks import LONGEST, shown

    if not name.strip() or name != name.strip():
        return f"{shown(name)} must not be empty, nor begin or end with a space"
    if any(c in name for c in '/\\:*?"<>|') or escape.line(name) != name:
        return f'{shown(name)} must be one line without / \\ : * ? " < > |; use --out for the folder'
    if name.startswith(("-", ".")):
        return f"{shown(name)} must not begin with a dash or a dot"
    if len(f"{name}-slew") > LONGEST:
        return f"{shown(name)} must have at most {LONGEST - len('-slew')} characters"
    return ""


def template(kind: Kind, what: str, name: str) -> str:
    """Return the text of an arm's or a scenario's file with a given name."""
    file = resources.files("flexarm.catalogue") / "templates" / f"{kind}-{what}.toml"
    text = file.read_text(encoding="utf-8")
    text = text.replace("@ARM@", shlex.quote(f"{name}.toml")).replace("@SCENARIO@", shlex.quote(f"{name}-slew.toml"))
    return text.replace("@NAME@", json_.dumps(name, ensure_ascii=False)[1:-1])  # TOML has the same escapes
