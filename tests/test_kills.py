"""Kill -9 at any moment: no broken file, the next run succeeds, nothing finished is lost."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import flexarm as fa
from flexarm.files import LEFTOVER

KILLS = int(os.environ.get("FLEXARM_KILLS", "12"))
"""`make kills` has 200."""

SCENARIO = """
name = "swing"
arm = "pendulum.toml"
until = 0.2
samples = 2001
"""

ARM = """
name = "pendulum"
gravity = [0.0, -9.81, 0.0]
[[links]]
name = "rod"
body = { type = "rigid", length = 0.8, mass = 1.5 }
"""
"""One link, whose programs are short: a first run compiles as many of them as that of a larger arm."""

VICTIM = """
import itertools, os, select, signal, sys, time
import h5netcdf, xarray, xarray.backends, matplotlib.figure
import flexarm as fa, flexarm.plots, flexarm.pictures.view
from flexarm.cli import main
from flexarm.files import write_whole

def begin(what, folder, times):
    os.chdir(folder)
    os.environ["FLEXARM_CACHE"] = "cache"
    if what == "save":
        for _ in times(2):
            fa.save_result(result, "out/swing.nc")
    elif what == "write":
        content = open("whole.nc", "rb").read()
        for _ in times(30):
            write_whole("out/swing.nc", content, durable=True)
    else:
        sys.argv = ["flexarm", "simulate", "swing.toml", "--out", "out"] + ["--no-plot"] * (what == "compile")
        main()

def run(what, folder, times):
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 1
        try:
            begin(what, folder, times)
            status = 0
        except SystemExit as end:
            status = end.code
        finally:
            os._exit(status)
    return child

result = None
for line in sys.stdin:
    what, folder, delay = line.split("\\t")
    delay = float(delay)
    if what == "save" and result is None:
        result = fa.load_result(os.path.join(folder, "whole.nc"))
    began = time.perf_counter()
    child = run(what, folder, range if delay < 0 else itertools.count)  # what is to be killed goes on until it is
    if delay >= 0:
        until_it_ends = os.pidfd_open(child)
        if not select.select([until_it_ends], [], [], delay)[0]:
            os.kill(child, signal.SIGKILL)
        os.close(until_it_ends)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(status, time.perf_counter() - began, flush=True)
"""
"""Starts what is to be killed, forked from a process that has imported what it needs: the first moment is the first of
the work."""


@pytest.fixture(scope="module")
def victim():
    with subprocess.Popen([sys.executable, "-c", VICTIM], stdin=-1, stdout=-1, text=True) as process:

        def run(what, folder, delay=-1.0):
            """Its exit status, and the time it took [s]; killed after the delay where that is positive."""
            print(what, folder, delay, sep="\t", file=process.stdin, flush=True)
            status, seconds = process.stdout.readline().split()
            return int(status), float(seconds)

        yield run


@pytest.fixture(scope="module")
def first(victim, tmp_path_factory):
    """A folder in which the first run has been: its scenario, its cache and its results."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "swing.toml").write_text(SCENARIO)
    (folder / "pendulum.toml").write_text(ARM)
    assert victim("compile", folder)[0] == 0
    fa.save_result(fa.load_result(folder / "out" / "swing.nc"), folder / "whole.nc")
    return folder


def whole(folder):
    """The result in a folder in which nothing is broken: what killed processes were writing has a name that says so."""
    for path in folder.iterdir():
        if path.suffix == ".nc":
            assert path.name == "swing.nc"
        elif path.suffix == ".png":
            content = path.read_bytes()
            assert content.startswith(b"\x89PNG") and content.endswith(b"IEND\xaeB`\x82")
        elif path.suffix == ".html":
            assert path.read_bytes().endswith(b"</html>\n")
        else:
            assert LEFTOVER.fullmatch(path.name)
    return fa.load_result(folder / "swing.nc")


@pytest.mark.parametrize("what", ["compile", "run", "save", "write"])
def test_kill(what, victim, first, tmp_path, forked_readers):
    """A first run that compiles; another one; a process that saves all the time; one that is nearly always writing."""
    out = tmp_path / "out"
    shutil.copytree(first, tmp_path, dirs_exist_ok=True)
    expected = fa.load_result(out / "swing.nc")
    rng, left, killed, tries = np.random.default_rng(KILLS), 0, 0, 0
    if what == "compile":
        os.rename(tmp_path / "cache", tmp_path / "cache-0")
    status, longest = victim(what, tmp_path)
    assert status == 0
    while killed < KILLS // 4:
        tries += 1
        assert tries < 10 * KILLS, "it is always finished before it is killed"
        if what == "compile":
            os.rename(tmp_path / "cache", tmp_path / f"cache-{tries}")
        status, seconds = victim(what, tmp_path, rng.uniform(0, longest))
        assert status in (0, -9)
        if status == 0:
            longest = min(longest, seconds)  # the machine was busier before: most moments would come too late
        killed += status == -9
        left += sum(LEFTOVER.fullmatch(name) is not None for name in os.listdir(out))
        same(whole(out), expected)  # the old one or the new one
        if what == "compile":
            assert victim(what, tmp_path)[0] == 0
            assert not any(LEFTOVER.fullmatch(name) for name in os.listdir(tmp_path / "cache"))
            same(fa.load_result(out / "swing.nc"), expected)
    assert victim(what, tmp_path)[0] == 0
    assert sorted(name for name in os.listdir(out) if not name.endswith(".png")) == ["swing.html", "swing.nc"]
    assert left or what != "write" or killed < 50
    print(f"{what}: {killed} killed, {left} files left behind and removed")


def same(result, expected):
    timing = ("compile_seconds", "solve_seconds")
    xr.testing.assert_identical(
        result.assign_attrs(dict.fromkeys(timing, 0.0)), expected.assign_attrs(dict.fromkeys(timing, 0.0))
    )
