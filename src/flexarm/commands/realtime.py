"""Command that runs a scenario's exported controller in real time: realtime."""

from pathlib import Path
from typing import Annotated

import typer

from flexarm.commands.completion import ScenarioArgument
from flexarm.commands.document import Json, show_document
from flexarm.commands.terminal import say


def realtime(
    scenario: ScenarioArgument,
    until: Annotated[float | None, typer.Option(help="End of the run [s].")] = None,
    period: Annotated[
        float | None, typer.Option(help="Sampling period of the controller, if the scenario has none [s].")
    ] = None,
    misses: Annotated[int, typer.Option(help="Faulty samples in a row until the watchdog stops the controller.")] = 20,
    transport: Annotated[str, typer.Option(help="Exchange by datagrams (udp) or shared memory (shared).")] = "udp",
    program: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Program that runs in place of the exported controller.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show plots in the browser during the run.")] = False,
    json: Json = False,
) -> None:
    """Run a scenario's controller as C code in real time.

    The controller and its simulated arm are two processes, which exchange readings and outputs at every sample. Prints
    the missed deadlines and the latencies.
    """
    from flexarm.hardware.realtime import run_in_real_time

    found = run_in_real_time(
        scenario, until=until, period=period, misses=misses, transport=transport, program=program, watch=watch
    )
    if json:
        show_document("realtime", found.report())
    else:
        say(repr(found))
