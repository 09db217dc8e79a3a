"""Programs in processes of their own, as a user would start them, but without the second that imports take.

A server has imported the libraries and the package, and has used neither. For each program it makes a copy of itself
(`fork`), so nothing that another test has done helps or harms. What must be a new interpreter from its first line on,
the time and the warnings of an import among that, is started by `subprocess` where it is tested.
"""

import json
import multiprocessing
import os
import runpy
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

from figures import keep_what_is_saved

LIBRARIES = (
    "pytest numpy scipy.integrate scipy.interpolate scipy.linalg scipy.optimize scipy.signal casadi pydantic control"
    " llvmlite.binding xarray h5netcdf mpmath sympy typer rich.progress"
    " matplotlib.pyplot matplotlib.backends.backend_agg"
).split()
PACKAGE = (
    "flexarm flexarm.cli flexarm.commands.arms flexarm.commands.runs flexarm.commands.start flexarm.commands.studies"
    " flexarm.model flexarm.mechanics.quantities flexarm.native.functions flexarm.native.translate"
    " flexarm.simulation.run flexarm.simulation.ensemble flexarm.scenario flexarm.analysis flexarm.control"
    " flexarm.closed_forms flexarm.plots flexarm.pictures.view"
).split()

server = multiprocessing.get_context("forkserver")
server.set_forkserver_preload([*LIBRARIES, *PACKAGE, "programs"])


@dataclass(frozen=True)
class Ended:
    """What a program has left: its status, what it printed, and what the figures show that it saved, in order."""

    returncode: int
    stdout: str
    stderr: str
    figures: list


def run(*arguments, folder, strict=True, figures=True, unread=False, **variables):
    """`python ARGUMENTS` in a folder; arguments are the path of a program and its own, or -m, a module, its own.

    Strict: every warning is an error, as with -W error. Unread: standard output is a pipe that nobody reads.
    `variables` are more of the environment's.
    """
    with tempfile.TemporaryDirectory() as place:
        environment = {name: x for name, x in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        environment |= variables  # without a display no browser is opened
        process = _started(arguments, folder, environment, strict, figures, unread, place)
        process.join()
        out, err, figures = (Path(place, name).read_text(encoding="utf-8") for name in ("out", "err", "figures"))
        return Ended(process.exitcode, out, err, json.loads(figures))


def begun(*arguments, folder, place, **variables):
    """The process of a program that goes on, which writes to the files `out` and `err` of another folder."""
    return _started(arguments, folder, os.environ | variables, False, False, False, place)


def _started(arguments, folder, environment, strict, figures, unread, place):
    told = [str(argument) for argument in arguments], str(folder), environment, strict, figures, unread, str(place)
    process = server.Process(target=_program, args=told)
    process.start()
    return process


def ran(*arguments, folder, strict=True):
    """The same of a program that must end well and say nothing on stderr."""
    ended = run(*arguments, folder=folder, strict=strict)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
    return ended


def _program(arguments, folder, environment, strict, figures, unread, place):
    """In the copy: everything as a new interpreter would have it, then the program."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for name, descriptor in (("out", 1), ("err", 2)):
        os.dup2(os.open(os.path.join(place, name), os.O_WRONLY | os.O_CREAT, 0o600), descriptor)
    if unread:
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, 1)
    sys.dont_write_bytecode = False
    kept = keep_what_is_saved() if figures else []
    if strict:
        warnings.simplefilter("error")
    try:
        if arguments[0] == "-m":
            sys.path.insert(0, folder)
            sys.argv = arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            runpy.run_path(arguments[0], run_name="__main__")
    finally:
        Path(place, "figures").write_text(json.dumps(kept), encoding="utf-8")
