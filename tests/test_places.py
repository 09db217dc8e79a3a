"""Places where results cannot be written: said before a run; where a disk fills up meanwhile, they go elsewhere."""

import os
import re
import resource
import shutil
import subprocess
import sys

import pytest

import flexarm as fa
from flexarm.cli import main
from flexarm.errors import shortened
from flexarm.scenario import Scenario

PUSH = 'name = "push"\narm = "rigid-two-link"\nuntil = 0.05\nsamples = 11\n'


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "push.toml").write_text(PUSH)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(capsys, monkeypatch):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["flexarm", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capsys.readouterr()

    return run


def ran(*arguments, limits=None, **how):
    # -B: a process with a limit on files would write half of the bytecode of a module
    command = [sys.executable, "-B", "-m", "flexarm", *arguments]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=limits, timeout=300, **how)


def said(done, status, *parts):
    assert done.returncode == status
    assert done.stderr.startswith("flexarm: ") and done.stderr.count("\n") == 1
    for part in parts:
        assert part in done.stderr


# -- before a run ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("out", "part"),
    [
        ("n" * 300, "File name too long"),
        ("new/" + "n" * 300, "File name too long"),
        ("n/" * 3000, "File name too long"),
        ("push.toml", "push.toml is not a folder"),
        ("push.toml/x", "push.toml is not a folder"),
        ("/proc/none", "No such file or directory"),
        ("/dev/null/x", "/dev/null is not a folder"),
    ],
    ids=lambda value: value[:20],
)
def test_a_place_that_cannot_be_is_refused_before_the_run(out, part, call, place, monkeypatch):
    monkeypatch.setattr(Scenario, "run", None)
    status, shown, told = call("simulate", "push.toml", "--out", out)
    assert (status, shown) == (2, "")
    named = shortened(f"--out {out.rstrip('/')}")
    assert told.startswith(f"flexarm: {named}: cannot be written: ") and told.endswith(f"{part}\n")
    assert os.listdir(place) == ["push.toml"]


def test_papers_look_before_they_reproduce(call, place, monkeypatch):
    monkeypatch.setattr("flexarm_papers.papers", lambda name: [None])
    status, shown, told = call("papers", "--out", "n" * 300)
    assert (status, shown) == (2, "") and told.endswith("cannot be written: File name too long\n")


def test_a_scenario_whose_name_is_too_long_for_a_file(call, place):
    """200 bytes of it are the file's name."""
    (place / "push.toml").write_text(PUSH.replace("push", "é" * 200), encoding="utf-8")
    status, _, _ = call("simulate", "push.toml")
    assert status == 0 and (place / f"{'é' * 100}.nc").is_file()


@pytest.fixture
def small_disk(place):
    """A file system of 64 kB."""
    (place / "disk").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "disk"]
    if os.geteuid() != 0 or not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("only root can make a small disk")
    yield place / "disk"
    subprocess.run(["umount", place / "disk"], check=True)


def test_a_disk_for_reading_is_refused_before_the_run(small_disk, call, monkeypatch):
    monkeypatch.setattr(Scenario, "run", None)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for out in ("disk", "disk/new"):
        assert call("simulate", "push.toml", "--out", out) == (
            2,
            "",
            f"flexarm: --out {out}: cannot be written: Read-only file system\n",
        )


# -- after it ----------------------------------------------------------------------------------------------------------


KEPT = r"flexarm: (.*); the result is in (\S+/flexarm-\w+/push\.nc)\n"


def test_a_result_that_a_full_disk_refuses_is_kept_elsewhere(small_disk, call, monkeypatch, tmp_path_factory):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("elsewhere")))
    status, shown, told = call("simulate", "push.toml", "--out", "disk", "--samples", "2000")
    assert status == 1 and "push: completed" in shown
    fault, kept = re.fullmatch(KEPT, told).groups()
    assert fault == "disk/push.nc: cannot be written: No space left on device"
    assert fa.load_result(kept).sizes["time"] == 2000
    assert os.listdir(small_disk) == []
    assert call("simulate", "push.toml", "--out", "disk", "--no-plot", "--no-view")[0] == 0  # a small one fits
    assert os.listdir(small_disk) == ["push.nc"]
    whole = fa.load_result(small_disk / "push.nc")
    assert call("simulate", "push.toml", "--out", "disk", "--samples", "2000")[0] == 1
    assert fa.load_result(small_disk / "push.nc").identical(whole)  # what was there stays


def test_a_figure_that_a_full_disk_refuses_leaves_the_result(small_disk, call):
    status, shown, told = call("simulate", "push.toml", "--out", "disk")
    assert status == 1 and "push: completed" in shown
    fault = "disk/push.png: cannot be written: No space left on device"
    assert told == f"flexarm: {fault}; the result is in disk/push.nc\n"
    assert os.listdir(small_disk) == ["push.nc"]
    assert fa.load_result(small_disk / "push.nc").attrs["name"] == "push"
    told = call("simulate", "push.toml", "--out", "disk", "--no-plot")[2]
    assert told == f"flexarm: {fault.replace('png', 'html')}; the result is in disk/push.nc\n"
    assert os.listdir(small_disk) == ["push.nc"]


def test_a_folder_that_goes_during_the_run(call, place, monkeypatch, tmp_path_factory):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("elsewhere")))
    run = Scenario.run

    def late(scenario):
        (place / "out").write_text("a file where the folder should be")
        return run(scenario)

    monkeypatch.setattr(Scenario, "run", late)
    status, shown, told = call("simulate", "push.toml", "--out", "out", "--no-plot")
    assert status == 1 and "push: completed" in shown
    fault, kept = re.fullmatch(KEPT, told).groups()
    assert fault == "out/push.nc: cannot be written: out is not a folder"
    assert fa.load_result(kept).attrs["name"] == "push"


def no_large_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))


def test_where_nothing_can_be_kept_that_is_said(place):
    done = ran("simulate", "push.toml", "--no-plot", limits=no_large_files)
    said(
        done,
        1,
        "push.nc: cannot be written: File too large; the result cannot be written to a temporary folder either: ",
    )
    assert os.listdir(place) == ["push.toml"]


def test_a_full_disk_does_not_crash_a_save(place):
    """HDF5 crashed the process after its own error."""
    result = fa.load_scenario("push.toml").run()
    fa.save_result(result, "push.nc")
    code = """
import resource
import flexarm as fa
result = fa.load_result("push.nc")
for size in (0, 100, 5000, 20000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    try:
        fa.save_result(result, "push.nc")
    except fa.DescriptionError as error:
        print(error)
"""
    # -B: a module that is imported at such a limit would leave half its bytecode
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout == "push.nc: cannot be written: File too large\n" * 4
    assert sorted(os.listdir(place)) == ["push.nc", "push.toml"]
    assert fa.load_result("push.nc").identical(result)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="how much memory there is, Linux tells")
def test_too_little_memory_does_not_crash_a_save(place):
    """It is tried with ever more: refused until it works."""
    code = """
import resource
import numpy as np
import flexarm as fa
small = fa.load_scenario("push.toml").run()
fa.save_result(small, "push.nc")
large = small.isel(time=np.zeros(400_000, int)).load()
pages = int(open("/proc/self/statm").read().split()[0])
for extra in range(0, 400, 20):
    most = pages * resource.getpagesize() + (extra << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
    try:
        fa.save_result(large, "push.nc")
        break
    except fa.DescriptionError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert {*done.stdout.splitlines()} == {"push.nc: cannot be written: too little memory"}
    assert fa.load_result("push.nc").sizes["time"] == 400_000


def test_without_a_home(place):
    """Nothing but the folder for results is written to."""
    environment = {**os.environ, "HOME": "/proc/none", "MPLCONFIGDIR": str(place / "mpl")}
    done = ran("simulate", "push.toml", "--out", "out", env=environment)
    assert done.returncode == 0 and done.stderr == ""
    assert sorted(os.listdir("out")) == ["push.html", "push.nc", "push.png"]


# -- standard output ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["list", "show rigid-two-link", "derive rigid-two-link", "simulate push.toml"])
def test_a_pipe_that_nobody_reads(command, place):
    """It ends quietly, and what was to be written is written."""
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "flexarm", *command.split()]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    assert done.stderr == "" and done.returncode in (0, 1)
    if "simulate" in command:
        assert {"push.html", "push.nc", "push.png"} < {*os.listdir(place)}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_standard_output_that_is_full(place):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "flexarm", "list"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    said(done, 2, "standard output: cannot be written: No space left on device")


def test_standard_output_that_is_closed(place):
    done = subprocess.run(
        f"{sys.executable} -m flexarm simulate push.toml --no-plot >&-", shell=True, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stderr == ""
    assert fa.load_result("push.nc").attrs["status"] == "completed"
