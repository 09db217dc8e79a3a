"""The command `flexarm` with a Ctrl-C at a moment that can be repeated: `python pressed.py N ARGUMENTS...`.

The moment is the N-th call of a function of the package; 0 is never: then the file `calls` says how many there are.
In place of the papers, which take minutes, stands one that runs `push.toml`. LLVM, in which no function of the package
is called, is asked once for each program.
"""

import os
import signal
import sys
from inspect import CO_GENERATOR
from types import SimpleNamespace

signal.signal(signal.SIGINT, signal.default_int_handler)  # in a background job it would be ignored

import machine_code  # noqa: E402

import flexarm  # noqa: E402
from flexarm import cli  # noqa: E402
from flexarm_papers.verdicts import PAPERS, Part  # noqa: E402

PACKAGE = os.path.dirname(flexarm.__file__)
calls = 0


def reproduce(folder):
    flexarm.load_scenario("push.toml").run()
    return [Part("Fig. 1", "Nothing.", [], study=True)]


def counted(frame, event, _):
    global calls
    if frame.f_code.co_flags & CO_GENERATOR:  # closing one that is thrown away is a call, and what it raises is dropped
        return
    if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
        calls += 1
        if calls == moment:
            signal.raise_signal(signal.SIGINT)


if __name__ == "__main__":
    moment = int(sys.argv.pop(1))
    machine_code.keep_as_the_tests_do()
    for paper in PAPERS:
        sys.modules[f"flexarm_papers.{paper.name.replace('-', '_')}"] = SimpleNamespace(reproduce=reproduce)
    sys.settrace(counted)  # of calls alone: setprofile would tell of those into libraries and of every return too
    try:
        cli.main()
    finally:
        sys.settrace(None)
        if not moment:
            with open("calls", "w", encoding="ascii") as file:
                file.write(str(calls))
