"""Cold starts, each in a process of its own."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.report import ROOT, Table
from benchmarks.timing import CACHE

IMPORT = """
from time import perf_counter
began = perf_counter()
import flexarm
print(perf_counter() - began)
"""
FIRST = """
import sys
from time import perf_counter
import flexarm as fa
from benchmarks.chains import chain, states
arm = {arm}
began = perf_counter()
model = fa.Model(arm)
q, qd, u = ([0.1] * len(names) for names in (model.coordinates, model.coordinates, model.inputs))
model.forward_dynamics(q, qd, u)
print(perf_counter() - began)
"""
CHAIN, CANADARM = FIRST.format(arm="chain(3)"), FIRST.format(arm="fa.load('canadarm')")
CLI = ["-m", "flexarm", "simulate", "canadarm"]


def _process(arguments: list[str], folder: Path, **changes: str) -> tuple[float, str]:
    """Seconds of a whole process, and what it printed. It finds the sources as this one does."""
    paths = [str(Path(p).resolve()) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*paths, str(ROOT)])} | changes
    began = perf_counter()
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    seconds = perf_counter() - began
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(arguments[-3:])} ended with status {done.returncode}: {done.stderr.strip()[-300:]}"
        )
    return seconds, done.stdout


def _printed(code: str, folder: Path, cache: Path) -> float:
    return float(_process(["-c", code], folder, **{CACHE: str(cache)})[1])


def measure(quick: bool) -> list[Table]:
    """Import, first acceleration, first simulation."""
    found: dict[str, list[float]] = {}
    missing = ""
    with tempfile.TemporaryDirectory(prefix="flexarm-bench-") as name:
        folder = Path(name)
        _printed(IMPORT, folder, folder / "warm")  # the libraries' files come from the disk now
        for i in range(2 if quick else 7):
            fresh = [folder / f"fresh{i}{j}" for j in range(4)]

            def note(what: str, seconds: float) -> None:
                found.setdefault(what, []).append(seconds)

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
                home |= {"MPLCONFIGDIR": str(fresh[3] / "fonts"), "NUMBA_CACHE_DIR": str(fresh[3] / "numba")}
                note("cli first", _process(CLI, folder, **home)[0])
            except RuntimeError as error:
                missing = str(error)

    table = Table("Starting", ("what", "time", "target", "met"))
    table.compare("`import flexarm`", found["import"], 0.5)
    table.compare(
        "`fa.Model(arm)` to the first acceleration, 3 links with 2 + 2 modes, empty cache", found["chain fresh"], 1.0
    )
    table.compare("the same, kept machine code", found["chain kept"], 0.3)
    table.compare("the same for the Canadarm, empty cache", found["canadarm fresh"], 1.0)
    table.compare("the same for the Canadarm, kept machine code", found["canadarm kept"], 0.3)
    if missing:
        table.notes.append(f"`flexarm simulate canadarm` could not be run: {missing}")
    else:
        table.compare("`flexarm simulate canadarm`, whole process, empty cache", found["cli fresh"], 5.0)
        table.compare("the same, kept machine code", found["cli kept"])
        table.compare("the same, empty cache, empty home (Matplotlib looks for fonts)", found["cli first"], 5.0)
    table.notes.append(
        "Each in a fresh process, after `import flexarm` where that is not itself measured; the libraries' files have "
        "been read before."
    )
    return [table]
