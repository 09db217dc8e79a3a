"""The command `flexarm`: its commands, its error messages, and its exit status.

    0    done
    1    a run failed; the part before is stored
    2    rejected: the request cannot be understood, done, read or written
    70   an internal error of flexarm, which should never occur
    130  Ctrl-C; the part of a run before it is stored

Every error message is one line on standard error.
"""

import atexit
import gc
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from itertools import pairwise, takewhile
from typing import Annotated, Any, NoReturn

import typer

from flexarm.commands.arms import modes, show
from flexarm.commands.benchmark_set import benchmark_set
from flexarm.commands.derive import derive
from flexarm.commands.export import export
from flexarm.commands.optimize import optimize
from flexarm.commands.papers import papers
from flexarm.commands.play import play
from flexarm.commands.published import published
from flexarm.commands.realtime import realtime
from flexarm.commands.runs import compare, simulate
from flexarm.commands.stability import stability
from flexarm.commands.start import list_, new
from flexarm.commands.studies import study
from flexarm.commands.terminal import complain, say, unwritten, usable_streams
from flexarm.commands.view import view
from flexarm.errors import DescriptionError, FlexarmError, InterruptedRun, NativeCodeError, SimulationError
from flexarm.version import __version__

DONE, FAILED, REFUSED, FAULT, INTERRUPTED = 0, 1, 2, 70, 130

app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="Model, simulate and control manipulators with flexible links and joints.",
    epilog="Error messages fit on one line. Exit status: 0 success, 1 failed run with a partial result, 2 invalid "
    "input, 130 Ctrl-C.",
)
app.command("list")(list_)
for command in (
    *(new, show, modes, derive, export, simulate, realtime, view, play, compare, stability, optimize, study),
    *(papers, published),
):
    app.command()(command)
app.command("benchmark-set")(benchmark_set)


def _version(asked: bool) -> None:
    if asked:
        say(f"flexarm {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of `flexarm` itself, without a command."""


USAGE: Any = typer.BadParameter.__mro__[2]
"""Class of errors in the arguments: ClickException, of click or of typer's own copy of it."""

LEAST_MEMORY = 800_000_000
"""Smallest address space in bytes with which all libraries work.

With less, libraries fail, hang or end the process: OpenBLAS when it is loaded (0.35 GB), LLVM when it compiles (0.55
GB), HDF5 when it writes (0.7 GB), measured with the Canadarm.
"""

NOT_LOADED = re.compile(r"shared object|dylib|DLL load|annot allocate memory")
"""Words in Python's message on a shared library that cannot be loaded."""

NEW_OBJECTS = 500_000
"""Number of new objects between two garbage collections, which is more than a short command creates.

With Python's default, 700, the objects of imported libraries are searched hundreds of times. This takes a tenth of the
command's time.
"""


def main() -> NoReturn:
    """Entry point."""
    gc.set_threshold(NEW_OBJECTS)
    atexit.register(gc.freeze)  # skips the last collection over all objects, which takes a third of a second
    try:
        usable_streams()
        status = too_little_memory() or ended(lambda: app(words(sys.argv[1:]), standalone_mode=False))
        if (reason := unwritten()) and status == DONE:
            complain(f"standard output: cannot be written: {reason}")
            status = REFUSED
    except KeyboardInterrupt:  # before or after the work
        complain("interrupted")
        status = INTERRUPTED
    raise SystemExit(status)


def words(given: list[str]) -> list[str]:
    """Return the words of a command. Raise `DescriptionError` for an option with an empty value."""
    options = takewhile(lambda word: word != "--", given)
    for option, value in pairwise([*options, "end"]):
        if option.startswith("--") and (value == "" or option.endswith("=")):
            raise DescriptionError(f"{option.rstrip('=')} is ''; give the option a value, or leave it out")
    return given or ["--help"]


def ended(work: Callable[[], Any]) -> int:
    """Do the work, print one line on an error that stopped it, and return the exit status.

    Warnings are lines, too, without repetition. A run that Ctrl-C ends stops the command, unless the command asks for
    the part, since nobody compares a part with complete runs.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedRun)
        warnings.filterwarnings("always", "method '.*' is deprecated", DeprecationWarning)  # of a scenario's file
        warned: set[str] = set()

        def warn(message: Warning | str, *_: Any, **__: Any) -> None:
            if str(message) not in warned:
                warned.add(str(message))
                complain(f"warning: {message}")

        warnings.showwarning = warn
        try:
            status = work()
        except (typer.Abort, KeyboardInterrupt):
            status = INTERRUPTED
        except InterruptedRun as error:
            complain(str(error))
            return INTERRUPTED
        except SimulationError as error:
            complain(str(error))
            return FAILED
        except NativeCodeError as error:
            complain(str(error))
            return FAULT
        except FlexarmError as error:
            complain(str(error))
            return REFUSED
        except USAGE as error:
            said = error.format_message()  # contains the complete input, and a word from pydantic
            said = said.replace(": Value error, ", ": ", 1)
            complain(said if len(said) <= 1000 else f"{said[:500]} ... {said[-200:]}")
            return REFUSED
        except MemoryError:
            complain("there is not enough memory")
            return REFUSED
        except Exception as error:
            if isinstance(error, ImportError | OSError) and NOT_LOADED.search(str(error)):
                complain(f"a library cannot be loaded, perhaps for lack of memory (ulimit -v): {_first(str(error))}")
                return REFUSED
            complain(f"internal error of flexarm, please report it: {type(error).__name__}: {error}; {_place(error)}")
            return FAULT
        if status == INTERRUPTED:  # typer has caught Ctrl-C itself
            complain("interrupted")
        return status if isinstance(status, int) else DONE


def too_little_memory() -> int:
    """Return the status of a command whose memory limit is too low to load the libraries, or 0 if it is high enough."""
    try:
        import resource
    except ImportError:  # Windows
        return DONE
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY or limit >= LEAST_MEMORY:
        return DONE
    least = LEAST_MEMORY // 10**6
    complain(f"the memory limit of this process is {limit // 10**6} MB (ulimit -v); flexarm needs at least {least} MB")
    return REFUSED


def _first(text: str) -> str:
    """Return the first sentence of a library's message."""
    return text.partition(". ")[0]


def _place(error: Exception) -> str:
    """Return the place in the package where an error was raised, for the report."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "flexarm" in frame.filename] or frames
    return f"{ours[-1].filename.rpartition('flexarm')[2].lstrip('/' + os.sep)}, line {ours[-1].lineno}"


if __name__ == "__main__":
    main()
