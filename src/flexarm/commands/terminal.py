"""Common parts of the commands: arguments, output files, and messages."""

import io
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from flexarm import escape
from flexarm.commands.completion import bundled_or_file
from flexarm.errors import DescriptionError, InterruptedRun
from flexarm.files import check_writable
from flexarm.interrupts import heard_by

WIDE = 160
"""Width of a table without a terminal [columns]."""

ArmName = Annotated[
    str,
    typer.Argument(
        metavar="ARM",
        help="Name of a bundled arm, or path of an arm's .toml, .urdf, .xml (MJCF) or .sdf file.",
        autocompletion=bundled_or_file("arm", files=("toml", "urdf", "xml", "sdf")),
    ),
]


# -- files -------------------------------------------------------------------------------------------------------------


def check_folder(folder: Path, option: str = "--out") -> None:
    """Check before a long run that results can be written into a folder."""
    check_file(folder / "result", option, folder)


def check_file(path: Path, option: str, named: Path | None = None) -> None:
    """Check that a file can be written. `named` is the path in the error message."""
    try:
        check_writable(path)
    except DescriptionError as error:
        raise DescriptionError(error.message, f"{option} {named or path}", sentence=True) from None


def check_unread(files: Iterable[str | None], asked: Mapping[str, Path | None]) -> None:
    """Check that no option overwrites an input file, or a file next to a robot file or named in it."""
    from flexarm.description.robots.reading import is_robots, read_with

    for file in files:
        if file is None:
            continue
        near, named = read_with(file) if is_robots(file) else ([], [])
        places = {os.path.realpath(each): f"{file} refers to this file" for each in named}
        places |= {os.path.realpath(each): "the command reads this file" for each in (Path(file), *near)}
        for option, path in asked.items():
            if path is not None and (why := places.get(os.path.realpath(path))):
                raise DescriptionError(f"{option} {path}: {why}, so it is not overwritten; give another path")


@contextmanager
def finished_first() -> Iterator[None]:
    """Delay Ctrl-C until the block has ended, for example until a result's file is complete. A second Ctrl-C is
    immediate."""
    pressed: list[int] = []

    def press(number: int, _: Any) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)

    with heard_by(press):
        yield
    if pressed:
        raise KeyboardInterrupt


@contextmanager
def interruptions() -> Iterator[list[str]]:
    """Collect the warnings that Ctrl-C ended a computation, in place of showing them before its results."""
    pressed: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", InterruptedRun)
        show = warnings.showwarning
        warnings.showwarning = lambda message, kind, *rest: (
            pressed.append(str(message)) if issubclass(kind, InterruptedRun) else show(message, kind, *rest)
        )
        yield pressed


# -- output ------------------------------------------------------------------------------------------------------------


def table(*heads: str, header: bool = True) -> Any:
    """Return a table in the style of all commands. Wide cells are folded, not cut, and names stay on one line
    longest."""
    from rich.table import Table

    made = Table(*heads, box=None, padding=(0, 2, 0, 0), show_header=header)
    for column in made.columns:
        column.overflow = "fold"
    made.columns[0].no_wrap = True
    return made


def spaced(values: Any) -> str:
    return " ".join(f"{x:.5g}" for x in values) or "-"


def say(thing: Any, style: str | None = None) -> None:
    """Print a text or a table. Its contents are neither markup nor terminal commands."""
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.segment import Segment
    from rich.text import Text

    class Harmless:
        """Renderable that removes terminal commands from texts after they have been laid out."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for text, look, control in console.render(Text(thing) if isinstance(thing, str) else thing, options):
                yield Segment(text if control else escape.lines(text), look, control)

    if sys.stdout is None:  # closed by the program that started the command
        return
    wide = None if sys.stdout.isatty() else WIDE
    console = Console(highlight=False, markup=False, emoji=False, width=wide)
    if console.is_terminal or isinstance(thing, str):
        console.print(Harmless(), soft_wrap=not console.is_terminal, style=style)
        return
    with console.capture() as drawn:
        console.print(Harmless())
    sys.stdout.write(re.sub(" +$", "", drawn.get(), flags=re.MULTILINE))  # columns are padded with spaces


def say_next(commands: Iterable[str]) -> None:
    """Print the next commands in a form that can be typed."""
    say("Next:")
    for command in commands:
        say(f"  {command}")


def complain(message: str) -> None:
    """Print one line on standard error."""
    print("flexarm: " + " ".join(escape.line(message).split()), file=sys.stderr)


class Outlet(io.FileIO):
    """Standard output or error that ignores write errors, such as a closed pipe or a full disk.

    The work continues, since its results are files, and the exit status reports on them. `failure` is the first error.
    """

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        if self.failure is None:
            try:
                return super().write(data)
            except OSError as error:
                self.failure = error
        return len(data)


def usable_streams() -> None:
    """Replace standard output and error by streams that accept any character and do not fail, even if they are closed.

    Without this a closed stream would give its number to the next opened file, which would receive the messages.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is getattr(sys, f"__{name}__"):  # not replaced, as in a test or a notebook
            if stream is not None:
                stream.flush()
            if sys.platform == "win32" and stream is not None and stream.isatty():
                stream.reconfigure(errors="backslashreplace")  # bytes would appear in the console's own encoding
                continue
            encoding = "utf-8" if stream is None else stream.encoding
            raw = Outlet(number, "w", closefd=False)
            setattr(
                sys,
                name,
                io.TextIOWrapper(
                    io.BufferedWriter(raw), encoding, "backslashreplace", line_buffering=raw.isatty() or number == 2
                ),
            )


def unwritten() -> str:
    """Return the reason why standard output was not written completely, or "". A reader that closes it is no error."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    failure = raw.failure if isinstance(raw, Outlet) else None
    return "" if failure is None or isinstance(failure, BrokenPipeError) else failure.strerror or str(failure)
