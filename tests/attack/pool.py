"""Cases in processes that are watched from outside.

Workers are forked from a process that has imported and warmed everything, so that a case costs milliseconds. After a
finding, and after a number of cases, a fresh one takes the place. The limit is one of the processor's time, because the
machine may be busy, with one on the clock for what waits. At the limit the worker first tells where it is
(faulthandler), then gets a Ctrl-C, then a kill.
"""

import contextlib
import faulthandler
import json
import multiprocessing as mp
import os
import pkgutil
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass, field
from importlib import import_module
from multiprocessing import connection
from pathlib import Path

from flexarm import child_process

from ..helpers import children
from . import guard
from .judge import KINDS, Finding, Verdict, at, verdict

SECONDS = 60.0
"""A case's limit: of the processor's time; on the clock six times as much."""
STOPPING = 5.0
"""Seconds in which a Ctrl-C ends whatever runs; where a case's limit is shorter, that."""
MEMORY = 3 << 30
"""Bytes a case may take beyond what its process has."""
CASES = {"results": 1, "caches": 1, "forks": 1}
"""Of one process, where not `MANY`: after a damaged file or damaged code, what a process does next says nothing."""
MANY = 50
STARTED = 8
"""One case in so many starts the package's programs that read files as new interpreters. The others fork."""
SHARED = []
"""Folders in which cases may write beside their own."""
PACKAGES = (
    "flexarm.exports flexarm.identification flexarm.optimal flexarm.pictures flexarm.plots flexarm.problems"
    " flexarm.scenario flexarm.simulation flexarm.studies flexarm_papers"
)
LIBRARIES = (
    "distributed email.policy h5netcdf mujoco multiprocessing.spawn rich.console rich.table scipy.integrate"
    " scipy.interpolate scipy.optimize scipy.spatial.transform unittest.mock xarray.computation.nanops"
    " xml.etree.ElementTree"
)
"""Libraries that cases import late. Each of the many workers would otherwise import them again."""


@dataclass
class Group:
    """Findings with one signature: how many, the shortest example, and whether that one comes again, alone."""

    finding: Finding
    kind: str
    seed: int
    example: str
    count: int = 1
    repeats: bool | None = None


@dataclass
class Tally:
    """What all cases have come to."""

    outcomes: dict[str, Counter] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    seconds: Counter = field(default_factory=Counter)

    @property
    def cases(self):
        return sum(sum(counts.values()) for counts in self.outcomes.values())

    def add(self, kind, seed, came, seconds):
        self.outcomes.setdefault(kind, Counter())[came.outcome] += 1
        self.seconds[kind] += seconds
        for finding in came.findings:
            group = self.groups.get(finding.signature)
            if group is None:
                self.groups[finding.signature] = Group(finding, kind, seed, came.example)
                continue
            group.count += 1
            if len(came.example) < len(group.example):
                group.finding, group.kind, group.seed, group.example = finding, kind, seed, came.example


# -- a worker ----------------------------------------------------------------------------------------------------------


def _work(pipe, folder, seconds):
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.dont_write_bytecode = True  # cases limit the size of files, and half of a module's bytecode would be written
    noise = os.open(folder / "noise", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.dup2(noise, 1)
    os.dup2(noise, 2)
    trace = open(folder / "trace", "w")  # noqa: SIM115 - it lives as long as the process
    faulthandler.enable(trace, all_threads=False)
    faulthandler.register(signal.SIGUSR1, trace, all_threads=False)
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + MEMORY, in_use + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    guard.homeless(folder)
    guard.guarded(folder, os.environ["FLEXARM_CACHE"], *SHARED)
    started = child_process.answer
    while True:
        try:
            kind, seed = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            os._exit(0)
        place = folder / "case"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        os.ftruncate(noise, 0)
        child_process.answer = _forked if seed % STARTED else started
        began = time.process_time()
        try:
            came = verdict(kind, seed, place)
        except KeyboardInterrupt:
            came = Verdict("stopped")
        spent = time.process_time() - began
        if said := (folder / "noise").read_text(errors="backslashreplace").strip("\0 \n"):
            came.findings.append(Finding("noise", "standard output or error", _gist(said), said[:2000]))
            came.outcome = "finding"
        os.chdir(folder)
        pipe.send((came, spent))


def _forked(*given, **more):
    """A program that reads a file, in a fork of the worker: it has the libraries, and is guarded too."""
    with guard.forks():
        return children.answer(*given, **more)


def _gist(text):
    """A line without its numbers, so that equal lines are equal."""
    return re.sub(r"[-+.\d]+(e[-+]?\d+)?", "#", text.partition("\n")[0])[:100]


class Worker:
    """One process, and what it is at."""

    def __init__(self, root, number, seconds):
        self.seconds, self.done, self.most = seconds, 0, MANY
        self.folder = Path(tempfile.mkdtemp(prefix=f"worker-{number}-", dir=root))
        self.pipe, other = mp.Pipe()
        self.process = mp.get_context("fork").Process(target=_work, args=(other, self.folder, seconds), daemon=True)
        self.process.start()
        with contextlib.suppress(OSError):  # it does so itself too: whoever comes first
            os.setpgid(self.process.pid, self.process.pid)
        other.close()
        self.case, self.told = None, None

    def begin(self, case):
        self.case, self.told = case, None
        self.most = CASES.get(case[0], self.most)
        self.at, self.spent = time.monotonic(), self._processor()
        self.pipe.send(case)

    def _processor(self):
        """Seconds of the processor, with those of the programs that it has started."""
        pid, ticks = self.process.pid, 0
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            for each in (pid, *children):
                fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))
        except OSError:  # one has just ended
            pass
        return ticks / os.sysconf("SC_CLK_TCK")

    def came(self):
        """The case's verdict and its seconds, or None while it runs."""
        if self.pipe.poll():
            try:
                found, spent = self.pipe.recv()
            except EOFError:
                return self._crashed(), 0.0
            self.done += 1
            if self.told is not None:
                return self._stopped(found), spent
            return found, spent
        if not self.process.is_alive():
            return self._crashed(), 0.0
        over = self._over()
        if over and self.told is None:
            os.kill(self.process.pid, signal.SIGUSR1)
            time.sleep(0.2)
            self.told = self._trace()
            os.kill(self.process.pid, signal.SIGINT)
            self.since, self.spent = time.monotonic(), self._processor()
        elif self.told is not None and self._goes_on():
            self.close()
            where, trace = self.told
            return Verdict("finding", self._example(), [Finding("hang", where, "not even Ctrl-C", "", trace)]), 0.0
        return None

    def _over(self):
        """Too much of the processor's time, or hardly any for a while: it waits for what does not come."""
        spent, passed = self._processor() - self.spent, time.monotonic() - self.at
        idle = passed > 2 * self.seconds and spent < passed / 50
        return spent > self.seconds or passed > 6 * self.seconds or idle

    def _goes_on(self):
        """Return True if the case still runs after the time in which a Ctrl-C must end it."""
        spent, passed = self._processor() - self.spent, time.monotonic() - self.since
        return spent + passed / 6 > min(STOPPING, self.seconds)

    def _stopped(self, found):
        """A Ctrl-C has ended it. A run that tells its progress may be long; whatever else may not."""
        where, trace = self.told
        if "in simulate\n" in trace and ("in watched" in trace or "in integrate" in trace):
            return Verdict("stopped", found.example)
        return Verdict("finding", self._example(), [Finding("hang", where, "until Ctrl-C", "", trace)])

    def _crashed(self):
        self.process.join(5)
        code = self.process.exitcode
        name = signal.Signals(-code).name if code is not None and code < 0 else f"exit {code}"
        where, trace = self._trace()
        if said := (self.folder / "noise").read_text(errors="backslashreplace").strip("\0 \n"):
            trace += "\n" + said[:2000]
        return Verdict("finding", self._example(), [Finding("crash", where, name, "", trace)])

    def _trace(self):
        """Where faulthandler has seen it."""
        text = (self.folder / "trace").read_text(errors="replace")
        lines = re.findall(r'File "(.*)", line (\d+) in (\S+)', text)
        frames = [traceback.FrameSummary(file, int(line), name) for file, line, name in reversed(lines)]
        return at(frames[next((i for i, f in enumerate(frames) if f.name == "verdict"), -1) + 1 :]), text

    def _example(self):
        file = self.folder / "case" / "case.txt"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def close(self):
        if self.process.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)  # with what it has started
        self.process.join()
        self.pipe.close()


# -- all of them -------------------------------------------------------------------------------------------------------


def attacked(cases, processes=2, seconds=SECONDS, kept=None, said=None, until=None):
    """Run cases, pairs (kind, seed), and tally them; examples of findings are copied to the folder `kept`.

    `said(tally)` is called about every ten seconds; `until` is a time on the monotonic clock from which on no case
    begins.
    """
    tally, waiting, told = Tally(), iter(cases), time.monotonic()
    root = Path(tempfile.mkdtemp(prefix="flexarm-attack-"))
    workers, number, exhausted = [], 0, False
    try:
        while True:
            for worker in [w for w in workers if w.case is None and w.done >= w.most]:
                worker.close()
                shutil.rmtree(worker.folder, ignore_errors=True)
                workers.remove(worker)
            while not exhausted and len(workers) < processes:
                number += 1
                workers.append(Worker(root, number, seconds))
            for worker in [w for w in workers if w.case is None and not exhausted]:
                case = next(waiting, None)
                if case is None or (until is not None and time.monotonic() > until):
                    exhausted = True
                    break
                worker.begin(case)
            busy = [w for w in workers if w.case is not None]
            if not busy and exhausted:
                return tally
            connection.wait([w.pipe for w in busy], timeout=0.2)
            for worker in busy:
                if (found := worker.came()) is None:
                    continue
                kind, seed = worker.case
                known = set(tally.groups)
                tally.add(kind, seed, *found)
                if kept is not None and any(each.signature not in known for each in found[0].findings):
                    _keep(Path(kept), worker, kind, seed, found[0])
                worker.case = None
                if found[0].findings or worker.told is not None:
                    worker.close()
                    shutil.rmtree(worker.folder, ignore_errors=True)
                    workers.remove(worker)
            if said is not None and time.monotonic() - told > 10:
                told = time.monotonic()
                said(tally)
    finally:
        for worker in workers:
            worker.close()
        shutil.rmtree(root, ignore_errors=True)


def repeated(tally, seconds=SECONDS):
    """Run the example of each group once more, in a process of its own."""
    for group in tally.groups.values():
        again = attacked([(group.kind, group.seed)], 1, seconds)
        group.repeats = group.finding.signature in again.groups


def _keep(kept, worker, kind, seed, came):
    folder = kept / f"{kind}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    for file in (worker.folder / "case").rglob("*"):  # no pipes, and no link to a device that never ends
        if file.is_file() and not file.is_symlink() and file.stat().st_size < 1 << 24:
            target = folder / file.relative_to(worker.folder / "case")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    facts = {"kind": kind, "seed": seed, "example": came.example, "findings": [asdict(f) for f in came.findings]}
    (folder / "finding.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")


def warmed(kinds, many=False):
    """Import and run what cases of these kinds need, once: what is forked from here has it.

    Many cases come to nearly every module: all are imported then.
    """
    import flexarm as fa

    if many:
        imported(kinds)
    model = fa.Model(fa.load("rigid-two-link"))
    fa.simulate(model, 0.01, samples=3, progress=False)
    fa.simulate(model, 0.01, samples=3, progress=False, method="radau5")
    import flexarm.analysis
    import flexarm.cli
    import flexarm.control

    from . import caches, parts, results, right, robots

    if {"calls", "references", "pulses"} & {*kinds}:
        right.warm()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        if "parts" in kinds:
            parts.warm()
        if "robots" in kinds:
            robots.warm()
        if "caches" in kinds:
            caches.fresh()
        for name in right.ARMS if "results" in kinds else ():
            results.saved(name)
    if {"calls", "commands"} & {*kinds}:
        fa.equations(model.arm).python()
    sys.stdout.flush()
    sys.stderr.flush()


def imported(kinds):
    """Import the modules of these kinds, those of both packages and libraries, as far as they are installed."""
    import flexarm

    source = Path(flexarm.__file__).parents[1]
    names = [f"{__package__}.{KINDS[kind]}" for kind in kinds] + LIBRARIES.split()
    for package in PACKAGES.split():
        folder = source.joinpath(*package.split("."))
        found = pkgutil.walk_packages([str(folder)], f"{package}.")
        names += [package, *(module.name for module in found if "__main__" not in module.name)]
    for name in names:
        with contextlib.suppress(ImportError):
            import_module(name)
    if threading.active_count() > 1:
        raise RuntimeError("an import has started a thread, and workers are forked")
