"""The command `flexarm`: its commands together, and the status they end with."""

import sys
from typing import Any

import typer

from flexarm.commands.arms import list_, modes, show
from flexarm.commands.derive import derive
from flexarm.commands.papers import papers
from flexarm.commands.runs import compare, simulate
from flexarm.commands.terminal import fail
from flexarm.errors import FlexarmError

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Serial manipulators whose links and joints bend: described in a file, derived, compiled, simulated.",
    epilog="Errors are one line, with exit status 2.",
)
app.command("list")(list_)
for command in (show, modes, derive, simulate, compare, papers):
    app.command()(command)


def main() -> None:
    """Entry point: every error a user can cause is one line on stderr and exit status 2."""
    usage: Any = typer.BadParameter.__mro__[2]  # ClickException, of click or of typer's own copy of it
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except FlexarmError as error:
        fail(str(error))
    except usage as error:
        fail(error.format_message())
    except (typer.Abort, KeyboardInterrupt):
        fail("interrupted", status=130)
    if status == 130:  # typer has caught a Ctrl-C itself
        fail("interrupted", status)
    raise SystemExit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    main()
