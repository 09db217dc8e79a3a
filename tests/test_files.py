"""Files are whole or not there, and what a killed process leaves behind is removed by the next one that writes."""

import os
import signal
import subprocess
import sys
import time

import pytest

import flexarm as fa
from flexarm import files
from flexarm.files import check_writable, remove_leftovers, write_whole

LEFT = ".flexarm-0123456789abcdef.new"


def test_pieces_become_a_file(tmp_path):
    path = tmp_path / "new" / "folder" / "run.nc"
    assert write_whole(path, b"two ", memoryview(b"pieces")) == path
    assert path.read_bytes() == b"two pieces"
    assert write_whole(str(path), b"other", durable=True) == path
    assert path.read_bytes() == b"other"
    assert os.listdir(path.parent) == ["run.nc"]


def test_files_have_the_usual_rights(tmp_path):
    mask = os.umask(0)
    os.umask(mask)
    assert write_whole(tmp_path / "run.nc", b"").stat().st_mode & 0o777 == 0o666 & ~mask


class Stop(Exception):
    pass


@pytest.mark.parametrize("kind", [Stop, KeyboardInterrupt, OSError])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(kind, call, tmp_path, monkeypatch):
    path = tmp_path / "run.nc"
    path.write_bytes(b"old")

    def fail(*_):
        assert path.read_bytes() == b"old"
        assert len(os.listdir(tmp_path)) == 2
        raise kind("no more")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(fa.DescriptionError if kind is OSError else kind, match="no more"):
        write_whole(path, b"new", durable=True)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["run.nc"]


BLOCKED = {
    "file/run.nc": "file is not a folder",
    "file/in/run.nc": "file is not a folder",
    "pipe/run.nc": "pipe is not a folder",
    "nowhere/in/run.nc": "nowhere is not a folder",
    "folder": "it is a folder",
    "pipe": "it is a device or a pipe, not a file",
    "n" * 300: "File name too long",
    "n" * 300 + "/run.nc": "File name too long",
    "new/" + "n" * 300 + "/run.nc": "File name too long",
    "zero\0byte": "embedded null",
    "/proc/none/run.nc": "No such file",
}


@pytest.mark.parametrize("name", BLOCKED)
@pytest.mark.parametrize("asked", [write_whole, check_writable])
def test_where_nothing_can_be_written(name, asked, tmp_path):
    (tmp_path / "file").write_text("a file, not a folder")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    os.symlink("there-is-none", tmp_path / "nowhere")
    with pytest.raises(fa.DescriptionError, match=f": cannot be written: .*{BLOCKED[name]}") as caught:
        asked(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name).replace("\0", "\\x00"))
    assert set(os.listdir(tmp_path)) <= {"file", "folder", "new", "nowhere", "pipe"}
    assert asked is write_whole or "new" not in os.listdir(tmp_path)
    assert os.listdir(tmp_path / "folder") == []


def test_a_name_without_end_is_shortened_in_the_line():
    for call in (lambda: write_whole("x" * 5000, b""), lambda: fa.load("y/" * 3000 + "arm.toml")):
        with pytest.raises(fa.DescriptionError) as refused:
            call()
        assert 600 < len(str(refused.value)) < 800 and "..." in str(refused.value)
    with pytest.raises(fa.DescriptionError, match=f"^{'z' * 550}.toml: "):
        fa.load("z" * 550 + ".toml")


def test_a_check_leaves_nothing(tmp_path):
    check_writable(tmp_path / "a" / "b" / "run.nc")
    assert os.listdir(tmp_path) == []
    path = write_whole(tmp_path / "run.nc", b"here")
    check_writable(path)
    assert path.read_bytes() == b"here" and os.listdir(tmp_path) == ["run.nc"]


def test_leftovers_are_removed_and_nothing_else(tmp_path):
    kept = {"run.nc", ".flexarm-0123456789abcdef.old", ".flexarm-xyz.new", "flexarm-0123456789abcdef.new"}
    for name in (*kept, LEFT):
        (tmp_path / name).write_text("")
    folder, link = ".flexarm-000000000000000f.new", ".flexarm-00000000000000f0.new"
    (tmp_path / folder).mkdir()
    (tmp_path / link).symlink_to(tmp_path / "run.nc")
    remove_leftovers(tmp_path)
    assert set(os.listdir(tmp_path)) == kept | {folder, link}
    remove_leftovers(tmp_path / "none")  # nothing to do is no error


WRITER = """
import os, sys, time
from flexarm.files import write_whole
def wait(*names):
    print("writing", flush=True)
    time.sleep(60)
os.replace = wait
write_whole(sys.argv[1], b"new")
"""


def test_what_is_being_written_stays_until_its_process_is_killed(tmp_path):
    path = tmp_path / "run.nc"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE)
    try:
        assert writer.stdout.readline() == b"writing\n"
        (left,) = os.listdir(tmp_path)
        old = time.time() - 1e6
        os.utime(tmp_path / left, (old, old))  # a clock that jumps changes nothing
        write_whole(tmp_path / "other.nc", b"")
        assert left in os.listdir(tmp_path)
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
    assert left in os.listdir(tmp_path)
    write_whole(path, b"next")
    assert sorted(os.listdir(tmp_path)) == ["other.nc", "run.nc"]


SUICIDE = """
import fcntl, os, signal, sys
from flexarm.files import write_whole
module, name, when = {"open": os, "flock": fcntl, "fsync": os, "replace": os}[sys.argv[2]], *sys.argv[2:]
call = getattr(module, name)
def last(*arguments):
    if when == "after":
        call(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(module, name, last)
write_whole(sys.argv[1], b"new" * 1000, durable=True)
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", ["open", "flock", "fsync", "replace"])
def test_killed_at_every_step(step, when, tmp_path):
    path = tmp_path / "run.nc"
    path.write_bytes(b"old")
    writer = subprocess.run([sys.executable, "-c", SUICIDE, path, step, when])
    assert writer.returncode == -signal.SIGKILL
    finished = (step, when) == ("replace", "after")
    assert path.read_bytes() == (b"new" * 1000 if finished else b"old")
    assert len(os.listdir(tmp_path)) == (1 if finished or (step, when) == ("open", "before") else 2)
    write_whole(path, b"next")
    assert os.listdir(tmp_path) == ["run.nc"]


def test_without_locks_age_decides(tmp_path, monkeypatch):
    def unknown(*_):
        raise OSError("this folder has no locks")

    monkeypatch.setattr(files.fcntl, "flock", unknown)
    left = tmp_path / LEFT
    left.write_text("")
    write_whole(tmp_path / "run.nc", b"x")
    assert left.exists()
    os.utime(left, (time.time() - 3700,) * 2)
    write_whole(tmp_path / "run.nc", b"x")
    assert os.listdir(tmp_path) == ["run.nc"]


def test_a_file_taken_for_a_leftover_before_it_is_locked_is_begun_again(tmp_path, monkeypatch):
    """Others clean at the worst moments: between making and locking, and while the lock is asked for."""
    flock, moments = files.fcntl.flock, iter(["removed", "locked", "fine"])

    def late(handle, how):
        if how & files.fcntl.LOCK_SH:
            moment = next(moments)
            if moment == "removed":
                for name in os.listdir(tmp_path):
                    os.unlink(tmp_path / name)
            if moment == "locked":
                raise BlockingIOError
        flock(handle, how)

    monkeypatch.setattr(files.fcntl, "flock", late)
    write_whole(tmp_path / "run.nc", b"whole")
    assert (tmp_path / "run.nc").read_bytes() == b"whole"
    assert next(moments, None) is None


def test_writers_that_clean_do_not_hinder_each_other(tmp_path):
    """Six processes write the same names many times over; each file is whole, nothing stays."""
    script = """
import sys
from flexarm.files import write_whole
for k in range(200):
    write_whole(f"{sys.argv[1]}/{k % 3}", sys.argv[2].encode() * 5000)
"""
    writers = [subprocess.Popen([sys.executable, "-c", script, tmp_path, str(k)]) for k in range(6)]
    assert [writer.wait() for writer in writers] == [0] * 6
    assert sorted(os.listdir(tmp_path)) == ["0", "1", "2"]
    for name in "012":
        content = (tmp_path / name).read_bytes()
        assert len(content) == 5000 and len(set(content)) == 1


LOOP = fa.control.Sampled(fa.control.JointPD([0.0, 0.0], 1.0, 1.0), 0.01)
ARM_ONLY = "export_c", "export_exudyn", "export_fmu", "export_mjcf", "export_modelica", "export_simulink"
OF_PATHS = {
    **{name: lambda model, name=name: getattr(fa, name)(model, "") for name in ARM_ONLY},
    **{name: lambda model, name=name: getattr(fa, name)(LOOP, model, "") for name in ("export_law", "export_law_fmu")},
    "export_controller": lambda model: fa.export_controller(LOOP, "", model),
    "export_ssp": lambda model: fa.export_ssp(LOOP, model, ""),
    "save": lambda model: model.arm.save(""),
    "simulate_many": lambda model: fa.simulate_many(model, 0.01, runs=2, folder="", progress=False),
    "load_result": lambda model: fa.load_result(""),
    "play": lambda model: fa.play(model, "", show=False),
}


@pytest.mark.parametrize("name", OF_PATHS)
def test_an_empty_path_is_refused(name, tmp_path, monkeypatch):
    """It would be the current folder, where nothing is written."""
    monkeypatch.chdir(tmp_path)
    line = "path is ''; it must be the name of a file or a folder; the current folder is '.'"
    with pytest.raises(fa.DescriptionError) as caught:
        OF_PATHS[name](fa.Model("rigid-two-link"))
    assert str(caught.value) == line
    assert os.listdir() == []


NO_PATHS = [float("nan"), 10**400, -1, 3, True, b"run.nc", None, ["run.nc"]]


@pytest.mark.parametrize("path", NO_PATHS, ids=[f"{type(each).__name__}-{i}" for i, each in enumerate(NO_PATHS)])
def test_what_is_no_path_is_refused(path):
    """To the system a number is an open file: nothing of that kind may be read, or closed."""
    line = f"path is of type {type(path).__name__}; it must be the name of a file"
    for use in (lambda: write_whole(path, b"new"), lambda: check_writable(path), lambda: fa.load_result(path)):
        with pytest.raises(fa.DescriptionError) as caught:
            use()
        assert str(caught.value) == line
