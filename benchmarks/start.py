"""Cold starts, each in a process of its own."""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.report import ROOT, Table, judged, spread, time
from benchmarks.timing import CACHE

TAKEN = "print(perf_counter() - began[0], process_time() - began[1])"
IMPORT = f"""
from time import perf_counter, process_time
began = perf_counter(), process_time()
import flexarm
{TAKEN}
"""
FIRST = """
from time import perf_counter, process_time
import flexarm as fa
from benchmarks.chains import chain, states
arm = {arm}
began = perf_counter(), process_time()
model = fa.Model(arm)
q, qd, u = ([0.1] * len(names) for names in (model.coordinates, model.coordinates, model.inputs))
model.forward_dynamics(q, qd, u)
{taken}
"""
CHAIN, CANADARM = FIRST.format(arm="chain(3)", taken=TAKEN), FIRST.format(arm="fa.load('canadarm')", taken=TAKEN)
CLI = ["-m", "flexarm", "simulate", "canadarm"]

Taken = tuple[float, float]
"""Seconds on the clock, and of the processor: user and system."""


def _process(arguments: list[str], folder: Path, **changes: str) -> tuple[Taken, str]:
    """What a whole process takes, and what it printed. It finds the sources as this one does, and keeps byte code.

    It finds no Dask, which the tests of clusters need: xarray imports it, and SciPy with it, where it is installed.
    """
    (folder / "without").mkdir(exist_ok=True)
    (folder / "without" / "sitecustomize.py").write_text("import sys; sys.modules['dask'] = None\n", encoding="utf-8")
    paths = [
        str(folder / "without"),
        *(str(Path(p).resolve()) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p),
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*paths, str(ROOT)])} | changes
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began, before = perf_counter(), _children()
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    taken = perf_counter() - began, _children() - before
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(arguments[-3:])} ended with status {done.returncode}: {done.stderr.strip()[-300:]}"
        )
    return taken, done.stdout


def _children() -> float:
    """Seconds of the processor in processes that this one has started."""
    spent = os.times()
    return spent.children_user + spent.children_system


def _printed(code: str, folder: Path, cache: Path) -> Taken:
    clock, processor = map(float, _process(["-c", code], folder, **{CACHE: str(cache)})[1].split())
    return clock, processor


def measure(quick: bool) -> list[Table]:
    """Import, first acceleration, first simulation."""
    found: dict[str, list[Taken]] = {}
    missing = ""
    with tempfile.TemporaryDirectory(prefix="flexarm-bench-") as name:
        folder = Path(name)
        _printed(IMPORT, folder, folder / "warm")  # the libraries' files come from the disk now
        for i in range(2 if quick else 7):
            fresh = [folder / f"fresh{i}{j}" for j in range(4)]

            def note(what: str, taken: Taken) -> None:
                found.setdefault(what, []).append(taken)

            note("import", _printed(IMPORT, folder, fresh[0]))
            for arm, code in (("chain", CHAIN), ("canadarm", CANADARM)):
                note(f"{arm} fresh", _printed(code, folder, fresh[1]))
                note(f"{arm} kept", _printed(code, folder, fresh[1]))
            try:
                note("cli fresh", _process(CLI, folder, **{CACHE: str(fresh[2])})[0])
                note("cli kept", _process(CLI, folder, **{CACHE: str(fresh[2])})[0])
                home = {
                    "HOME": str(fresh[3]),
                    "XDG_CACHE_HOME": str(fresh[3] / "cache"),
                    CACHE: str(fresh[3] / "flexarm"),
                }
                home |= {"MPLCONFIGDIR": str(fresh[3] / "fonts")}
                note("cli first", _process(CLI, folder, **home)[0])
            except RuntimeError as error:
                missing = str(error)

    table = Table("Starting", ("what", "time", "processor time", "target", "met"))

    def row(what: str, taken: list[Taken], limit: float | None = None) -> None:
        clock, processor = (statistics.median(column) for column in zip(*taken, strict=True))
        target = ("", "") if limit is None else judged(clock, limit, time(limit))
        table.add(what, spread([each[0] for each in taken]), time(processor), *target)

    row("`import flexarm`", found["import"], 0.2)
    row("`fa.Model(arm)` to the first acceleration, 3 links with 2 + 2 modes, empty cache", found["chain fresh"], 1.0)
    row("the same, kept machine code", found["chain kept"], 0.3)
    row("the same for the Canadarm, empty cache", found["canadarm fresh"], 1.0)
    row("the same for the Canadarm, kept machine code", found["canadarm kept"], 0.3)
    if missing:
        table.notes.append(f"`flexarm simulate canadarm` could not be run: {missing}")
    else:
        row("`flexarm simulate canadarm`, whole process, empty cache", found["cli fresh"], 1.5)
        row("the same, kept machine code", found["cli kept"])
        row("the same, empty cache, empty home (Matplotlib looks for fonts)", found["cli first"], 5.0)
    table.notes.append(
        "Each row is measured in a fresh process, after `import flexarm` unless the import itself is measured. The "
        "files of the libraries have been read before. Dask, which xarray imports if it is installed, is hidden from "
        "these processes. The processor time is the median of user and system time, on which other work on the "
        "machine has less effect."
    )
    return [table]
