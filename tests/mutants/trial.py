"""The tests of a fault, in a copy of the source tree and in a process that has loaded the libraries but not flexarm.

The limit is one of processor time, counted from what the tests took when they were recorded, and generous: the verdict
does not depend on how busy the machine is. A process that uses no processor time at all for long is waiting for
something that does not come.
"""

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from programs import LIBRARIES

IGNORED = {".git", ".venv", ".venv-peers", "build", "out", "dist", "node_modules", "__pycache__", ".hypothesis"}
LONGER, LEAST = 20.0, 120.0
"""Processor time [s] at which a fault counts as endless: as many times what was recorded, and at least so much."""
STILL = 1800
"""Looks, one a second, at a process that uses no processor time before it counts as waiting."""


@dataclass(frozen=True)
class Outcome:
    """How a run of tests ended."""

    verdict: str
    """caught, survived, endless, waiting or crashed."""
    test: str = ""
    """The first test that failed."""
    message: str = ""
    ran: int = 0
    seconds: float = 0.0
    """Processor time of the process and of those that it started."""


class Tree:
    """A copy of the working tree, in which one file at a time has a fault."""

    def __init__(self, root, folder):
        self.folder = folder / "tree"
        ignore = shutil.ignore_patterns(*IGNORED, ".*_cache", "*.pyc")
        shutil.copytree(root, self.folder, ignore=ignore, symlinks=True)

    def run(self, tests, seconds, fault=None):
        """Run tests, by their identifiers, until the first one fails; `seconds` is their recorded processor time."""
        if fault is None:
            return self._ended(tests, LEAST + LONGER * seconds)
        path = self.folder / "src" / fault.file
        source = path.read_text(encoding="utf-8")
        path.write_text(fault.applied(source), encoding="utf-8")
        try:
            return self._ended(tests, LEAST + LONGER * seconds)
        finally:
            path.write_text(source, encoding="utf-8")

    def _ended(self, tests, limit):
        report = self.folder.parent / "report.json"
        report.unlink(missing_ok=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        child = os.fork()
        if child == 0:
            _pytest(self.folder, tests, report, limit)
        status, waits = _waited(child)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what the tests have started and left
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        facts = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
        code = os.waitstatus_to_exitcode(status)
        verdict = {0: "survived", 1: "caught", 2: "caught"}.get(code, "crashed")
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            verdict = "waiting" if waits else "endless"
        if code in (3, 4, 5):
            verdict = "caught" if facts.get("message") else "not judged"
        return Outcome(verdict, facts.get("test", ""), facts.get("message", ""), facts.get("ran", 0), spent)


def _waited(child):
    """The status of a process at its end, and whether it was ended because it used no processor time."""
    still, spent = 0, -1
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status, False
        now = _processor(child)
        still, spent = (still + 1, spent) if now == spent else (0, now)
        if still > STILL:
            os.killpg(child, signal.SIGKILL)
            return os.waitpid(child, 0)[1], True
        time.sleep(0.05 if still == 0 and now < 10 else 1.0)


def _processor(pid):
    """Clock ticks of a process and of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return -1
    return sum(map(int, fields[11:15]))


class First:
    """A plugin that writes down the first test that fails, or the module that cannot be imported."""

    def __init__(self, path, source):
        self.path, self.source, self.facts = path, source, {"ran": 0}

    def pytest_sessionstart(self):
        import flexarm

        assert Path(flexarm.__file__).is_relative_to(self.source), flexarm.__file__

    def pytest_collectreport(self, report):
        if report.failed:
            self._failed(report)

    def pytest_runtest_logreport(self, report):
        self.facts["ran"] += report.when == "call"
        if report.failed:
            self._failed(report)

    def pytest_sessionfinish(self):
        self.path.write_text(json.dumps(self.facts), encoding="utf-8")

    def _failed(self, report):
        if "test" not in self.facts:
            crash = getattr(report.longrepr, "reprcrash", None)
            message = crash.message if crash else str(report.longrepr)[-300:]
            self.facts |= {"test": report.nodeid, "message": " ".join(message.split())[:200]}


def _pytest(folder, tests, report, limit):
    """In a fork: the tests, and then the end of the process."""
    os.setpgid(0, 0)
    os.chdir(folder)
    source, root = str(folder / "src"), Path(os.environ["MUTANTS_ROOT"])
    os.environ["PYTHONPATH"] = source
    working = {"", *map(str, (root, root / "src", root / "tests" / "helpers"))}
    sys.path[:] = [source, *(place for place in sys.path if place not in working)]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "programs", "figures")]:
        del sys.modules[name]
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 30))
    with open(report.with_suffix(".log"), "w", encoding="utf-8") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    code = 3
    try:
        options = ["-x", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(folder)]
        code = int(pytest.main([*options, *tests], plugins=[First(report, folder / "src")]))
    except BaseException as error:
        report.write_text(json.dumps({"message": f"{type(error).__name__}: {error}"[:200]}), encoding="utf-8")
    sys.stdout.flush()
    os._exit(code)


def load_libraries():
    """Import what tests and package need, but nothing of the package: forks have it then."""
    assert "flexarm" not in sys.modules
    for name in LIBRARIES:
        __import__(name)
