"""A plugin of pytest that records, for each test, the lines that it runs and the processor time that it takes.

The lines go to coverage.py, whose context is the test's identifier. Functions that are translated to machine code leave
no trace there. Each use of their machine code is recorded instead, under the names of the functions.
"""

import json
import os
from pathlib import Path
from types import FunctionType
from weakref import WeakKeyDictionary

import coverage
import pytest

COSTS = "FLEXARM_COSTS"
"""The environment's name for the file to which processor times and translated functions are appended."""


def pytest_configure(config):
    if os.environ.get(COSTS) and not config.pluginmanager.has_plugin("record"):
        config.pluginmanager.register(Record(Path(os.environ[COSTS])), "record")


class Record:
    """Contexts, processor times and translated functions of the tests of one process."""

    def __init__(self, path):
        # imported here, since a plugin of the command line is loaded before conftest.py, which sets NumPy's threads
        from flexarm.native import once

        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("a", encoding="utf-8")
        self.passed = True
        self.used, self.names, original = set(), WeakKeyDictionary(), once.Once.__call__  # tests see what is freed

        def call(value):
            if value not in self.names:
                self.names[value] = translated(value._build)
            self.used |= self.names[value]
            return original(value)

        once.Once.__call__ = call

    def pytest_runtest_logreport(self, report):
        self.passed &= report.when != "call" or report.passed
        self.passed &= not report.failed

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        measured, before = coverage.Coverage.current(), os.times()
        self.used.clear()
        self.passed = True
        if measured:
            measured.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            if measured:
                measured.switch_context("")
            spent = sum(os.times()[:4]) - sum(before[:4])
            entry = {"test": item.nodeid, "seconds": round(spent, 3), "passed": self.passed}
            entry["translated"] = sorted(self.used)
            self.file.write(json.dumps(entry) + "\n")
            self.file.flush()


def translated(build):
    """Names, `file:function`, of the functions that a lambda translates, and of those that they call."""
    code = getattr(build, "__code__", None)
    if code is None or "translated" not in code.co_names:
        return frozenset()
    found, waiting = set(), [build]
    while waiting:
        function = waiting.pop()
        for name in function.__code__.co_names:
            called = function.__globals__.get(name)
            if name == "translated" or called in found or not isinstance(called, FunctionType):
                continue
            if called.__module__.startswith("flexarm."):
                found.add(called)
                waiting.append(called)
    return frozenset(f"{f.__module__.replace('.', '/')}.py:{f.__qualname__}" for f in found)
