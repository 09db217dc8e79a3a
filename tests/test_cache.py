"""Machine code on disk: found again, rebuilt when it does not fit, safe between processes, accounts and versions."""

import ctypes
import hashlib
import hmac
import json
import multiprocessing
import os
import resource
import shutil
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import flexarm
import flexarm as fa
from flexarm.errors import NotCached
from flexarm.native import cache, llvm
from flexarm.native import kernel as native
from flexarm.native.constants import with_constants
from flexarm.native.kernel import Kernel, Source
from flexarm.native.program import instructions

IR = """define double @answer() {{
  ret double {}
}}"""

posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no owners and modes")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of this test's own."""
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_refused", set())
    return tmp_path / "cache"


def source(value="4.2e1"):
    return Source(IR.format(value), {"n": 3})


def never():
    raise AssertionError("built again")


def code(key="key", build=source):
    return native.code(key, ("answer",), ("n",), build)


def answer(code):
    return ctypes.CFUNCTYPE(ctypes.c_double)(code.addresses["answer"])()


def kernels(folder):
    """Files that contain the name of a kernel's program, its facts and its constants."""
    return sorted(folder.glob("*.bin"))


def programs(folder):
    """Files that contain machine code without its constants."""
    return sorted(folder.glob("*.program"))


KINDS = {"kernel": kernels, "program": programs}


def signed(folder, name, content):
    """A file as this package would have written it, whatever its content."""
    key = (folder / "secret").read_bytes()
    (folder / name).write_bytes(hmac.digest(key, name.encode() + b"\0" + content, "sha256") + content)


# -- found again -------------------------------------------------------------------------------------------------------


def test_the_second_time_nothing_is_built(folder):
    first = code()
    second = code(build=never)
    assert (first.was_cached, second.was_cached) == (False, True)
    assert answer(first) == answer(second) == 42.0
    assert first.facts == second.facts == {"n": 3}
    assert sorted(file.suffix for file in folder.iterdir()) == ["", ".bin", ".program"]  # the first is the secret


def test_another_key_is_another_kernel(folder):
    assert answer(code("one", lambda: source("1.0"))) == 1.0
    assert answer(code("two", lambda: source("2.0"))) == 2.0
    assert len(kernels(folder)) == 2


@pytest.fixture
def compiled(monkeypatch):
    """The texts compiled, in order."""
    texts, compile_ = [], native._compile
    monkeypatch.setattr(native, "_compile", lambda ir, effort: texts.append(ir) or compile_(ir, effort))
    return texts


@pytest.mark.parametrize("circumstance", range(5))
def test_other_circumstances_make_another_kernel(folder, monkeypatch, compiled, circumstance):
    """The package's sources, the libraries' versions and the processor are part of every key.

    A program is compiled again only where LLVM or the processor is another one.
    """
    code()
    changed = list(native._circumstances())
    changed[circumstance] += "changed"
    monkeypatch.setattr(native, "_circumstances", lambda: tuple(changed))
    if circumstance >= 2:
        monkeypatch.setattr(native, "_compiler", lambda: tuple(changed[2:]))
    assert not code().was_cached
    assert len(compiled) == (2 if circumstance >= 2 else 1)


def polynomial(*numbers):
    x = ca.SX.sym("x", 2)
    terms = [a * ca.sin(x[0] + i) * x[1] ** 3 for i, a in enumerate(numbers)]
    return ca.Function("f", [x], [ca.vertcat(sum(terms), ca.fmax(x[0], numbers[-1]))])


def test_kernels_that_differ_in_numbers_share_their_program(folder, compiled):
    rows = np.random.default_rng(4).uniform(-1.0, 1.0, (11, 2))
    for numbers in ((0.3, -1.7, 2.9), (5.1, 1e-3, -0.7), (1e300, 1e-300, 1.5), (0.3, 0.3, 2.1)):
        function = polynomial(*numbers)
        kernel = Kernel(json.dumps(numbers), lambda: function)  # noqa: B023 - called at once
        expected = np.array([np.array(function(row)).ravel() for row in rows])
        np.testing.assert_allclose([kernel.one(row) for row in rows], expected, rtol=1e-14)
        np.testing.assert_allclose(kernel.many(rows), expected, rtol=1e-14)
        found = Kernel(json.dumps(numbers), never)
        np.testing.assert_array_equal(found.many(rows), kernel.many(rows))
    assert len(compiled) == len(programs(folder)) == 2 and len(kernels(folder)) == 8


@pytest.mark.parametrize("numbers", [(0.3, 0.0, 2.9), (0.3, -1.7, float("inf"))])
def test_zero_and_infinity_belong_to_the_structure(folder, compiled, numbers):
    Kernel("known", lambda: polynomial(0.3, -1.7, 2.9)).one(np.ones(2))
    kernel = Kernel("other", lambda: polynomial(*numbers))
    expected = np.array(polynomial(*numbers)([0.4, 0.5])).ravel()
    np.testing.assert_allclose(kernel.one(np.array([0.4, 0.5])), expected, rtol=1e-14)
    assert len(compiled) == 2


@pytest.mark.parametrize("more", [-1, 1])
def test_a_program_with_other_places_than_its_constants_is_an_error(folder, more):
    text, constants = llvm.ir(instructions(polynomial(0.3, -1.7, 2.9)), 1)
    wrong = np.append(constants, 1.0)[: len(constants) + more]
    with pytest.raises(fa.FlexarmError, match="constant"):
        native.code("key", ("evaluate",), (), lambda: Source(text, constants=wrong))


def test_two_places_for_one_constant_are_an_error():
    text, constants = llvm.ir(instructions(polynomial(0.3, -1.7, 2.9)), 1)
    (each,) = native._objects(native._compile(text))
    assert len(with_constants([each], constants)) == 1
    with pytest.raises(fa.FlexarmError, match="one place for each constant"):
        with_constants([each, each], constants)


def test_a_program_whose_constants_are_missing_is_an_error(folder):
    text, constants = llvm.ir(instructions(polynomial(0.3, -1.7, 2.9)), 1)
    with pytest.raises(fa.FlexarmError, match="one place for each constant"):
        native.code("key", ("answer",), (), lambda: Source(IR.format("1.0"), constants=constants))


# -- what does not fit is built again ----------------------------------------------------------------------------------

DAMAGES = {
    "truncated": lambda content: content[: len(content) // 2],
    "without its last byte": lambda content: content[:-1],
    "only its digest": lambda content: content[:32],
    "with a bit flipped at the end": lambda content: content[:-9] + bytes([content[-9] ^ 4]) + content[-8:],
    "with a bit flipped in its head": lambda content: content[:40] + bytes([content[40] ^ 1]) + content[41:],
    "with a bit flipped in its digest": lambda content: bytes([content[0] ^ 128]) + content[1:],
    "empty": lambda content: b"",
    "garbage": lambda content: np.random.default_rng(1).bytes(len(content)),
    "of text": lambda content: b"not machine code\n" * 9,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_built_again(folder, damage, kind):
    code()
    (file,) = KINDS[kind](folder)
    whole = file.read_bytes()
    file.write_bytes(DAMAGES[damage](whole))
    again = code()
    assert not again.was_cached
    assert answer(again) == 42.0
    assert file.read_bytes() == whole
    assert code(build=never).was_cached


NOT_MINE = {
    "no signature": lambda rest: rest,
    "a checksum without a secret": lambda rest: hashlib.sha256(rest).digest() + rest,
    "a signature by another secret": lambda rest: hmac.digest(b"\0" * 32, rest, "sha256") + rest,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", NOT_MINE)
def test_code_that_somebody_else_has_written_is_not_run(folder, how, kind):
    """Not even where its content would do."""
    code()
    (file,) = KINDS[kind](folder)
    file.write_bytes(NOT_MINE[how](file.read_bytes()[32:]))
    assert not code().was_cached


@pytest.mark.parametrize("kind", KINDS)
def test_code_under_the_name_of_another_is_not_run(folder, kind):
    code("one", lambda: source("1.0"))
    (one,) = KINDS[kind](folder)
    code("two", lambda: source("2.0"))
    (two,) = set(KINDS[kind](folder)) - {one}
    shutil.copy(one, two)
    found = code("two", lambda: source("2.0"))
    assert (answer(found), found.was_cached) == (2.0, False)


HEADS = {
    "no JSON": b"{n: 3}",
    "empty": b"",
    "a list": b"[3]",
    "null": b"null",
    "nothing": b"{}",
    "no facts": b'{"program": "NAME"}',
    "no program": b'{"facts": {"n": 3}}',
    "other facts": b'{"program": "NAME", "facts": {"m": 3}}',
    "more facts": b'{"program": "NAME", "facts": {"m": 3, "n": 3}}',
    "facts that are a list": b'{"program": "NAME", "facts": [3]}',
    "a fact of another type": b'{"program": "NAME", "facts": {"n": "3"}}',
    "a fact that is a fraction": b'{"program": "NAME", "facts": {"n": 3.5}}',
    "a fact that is true": b'{"program": "NAME", "facts": {"n": true}}',
    "a program that is a number": b'{"program": 3, "facts": {"n": 3}}',
    "a program that is not there": b'{"program": "0NAME", "facts": {"n": 3}}',
    "a program in another folder": b'{"program": "../cache/NAME", "facts": {"n": 3}}',
    "not UTF-8": b'{"\xff": 3}',
    "an endless number": b'{"program": "NAME", "facts": {"n": ' + b"9" * 6000 + b"}}",
    "nested without end": b"[" * 200_000,
}


@pytest.mark.parametrize("head", HEADS)
def test_a_signed_file_with_another_head_is_built_again(folder, head):
    """As a mistake of ours would make it."""
    code()
    (file,), (program,) = kernels(folder), programs(folder)
    constants = file.read_bytes()[32:].partition(b"\n")[2]
    signed(folder, file.name, HEADS[head].replace(b"NAME", program.name.encode()) + b"\n" + constants)
    again = code()
    assert (answer(again), again.was_cached, again.facts) == (42.0, False, {"n": 3})
    assert code(build=never).was_cached


def test_a_kernel_whose_constants_are_cut_short_is_built_again(folder):
    code()
    (file,) = kernels(folder)
    signed(folder, file.name, file.read_bytes()[32:] + b"\0\0\0")
    assert not code().was_cached


def test_a_kernel_without_its_program_is_built_again(folder):
    code()
    (file,) = programs(folder)
    file.unlink()
    assert not code().was_cached
    assert code(build=never).was_cached


def test_code_without_what_the_caller_needs_is_built_again(folder):
    code()
    (file,) = programs(folder)
    other = native._compile("define double @question() {\n  ret double 4.2e1\n}")
    signed(folder, file.name, other)
    again = code()
    assert (answer(again), again.was_cached) == (42.0, False)
    assert code(build=never).was_cached


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_in_place_of_the_file_is_no_obstacle(folder, kind):
    code()
    (file,) = KINDS[kind](folder)
    file.unlink()
    (file / "within").mkdir(parents=True)
    assert answer(code()) == 42.0
    assert KINDS[kind](folder) == [file] and len(list(folder.iterdir())) == 3  # and no temporary file beside it


@posix
def test_a_pipe_in_place_of_a_file_is_not_waited_for(folder):
    for name in ("secret", None):
        code()
        (file,) = kernels(folder)
        file = folder / name if name else file
        file.unlink()
        os.mkfifo(file)
        assert answer(code()) == 42.0
    assert code().was_cached or code().was_cached


def test_a_file_without_end_is_not_read(folder):
    code()
    (file,) = kernels(folder)
    with open(file, "r+b") as opened:
        opened.truncate(2**40)  # with a hole, which takes no place
    assert not code().was_cached
    assert code(build=never).was_cached


# -- the secret --------------------------------------------------------------------------------------------------------


@posix
def test_the_cache_is_the_user_s_alone(folder):
    before = os.umask(0)
    try:
        code()
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "secret").stat().st_mode) == 0o600
    assert len((folder / "secret").read_bytes()) == 32


def test_each_folder_has_a_secret_of_its_own(folder, monkeypatch):
    code()
    secret = (folder / "secret").read_bytes()
    monkeypatch.setenv("FLEXARM_CACHE", str(folder / "other"))
    code()
    assert (folder / "other" / "secret").read_bytes() != secret
    (file,) = kernels(folder)
    shutil.copy(file, folder / "other" / file.name)
    assert not code().was_cached


@pytest.mark.parametrize("content", [None, b"", b"short", b"\0" * 31])
def test_a_secret_that_is_gone_or_cut_short_is_made_anew(folder, content):
    """As a process leaves it that is killed between two instructions."""
    code()
    secret = folder / "secret"
    before = secret.read_bytes()
    secret.unlink() if content is None else secret.write_bytes(content)
    assert not code().was_cached
    assert code(build=never).was_cached
    assert len(secret.read_bytes()) == 32 and secret.read_bytes() != before


@posix
def test_a_secret_that_others_can_read_is_none(folder):
    code()
    secret = folder / "secret"
    secret.chmod(0o640)
    before = secret.read_bytes()
    for _ in range(2):
        code()
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert secret.read_bytes() != before
    assert code(build=never).was_cached


OPENED = {"by the group": 0o770, "by all": 0o702, "by all, as in /tmp": 0o1777}


@posix
@pytest.mark.parametrize("how", OPENED)
def test_a_folder_that_others_can_write_is_not_used(folder, how):
    """It is said once, in one line; nothing is taken from there and nothing put there."""
    code()
    before = sorted(folder.iterdir())
    folder.chmod(OPENED[how])
    with pytest.warns(NotCached, match=r"the cache folder '.*' .* can be written by others; .*") as told:
        assert not code().was_cached
    assert len(told) == 1 and "\n" not in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert answer(code("new")) == 42.0
    assert sorted(folder.iterdir()) == before
    folder.chmod(0o755)  # others may look
    assert code(build=never).was_cached


@posix
@pytest.mark.parametrize("foreign", ["folder", "secret"])
def test_what_belongs_to_another_is_not_used(folder, foreign, monkeypatch):
    code()
    mine = os.geteuid()
    if mine == 0:
        os.chown(folder if foreign == "folder" else folder / "secret", 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    with pytest.warns(NotCached, match="belongs to another user") if foreign == "folder" else warnings.catch_warnings():
        assert not code().was_cached


@posix
def test_in_a_folder_that_others_can_write_nothing_is_signed(folder):
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(NotCached, match="can be written by others; compiled code is not cached"):
        assert cache.signature("result", b"numbers") == bytes(cache.SIZE)
    assert not list(folder.iterdir())


@posix
def test_a_secret_that_another_process_writes_meanwhile_is_the_secret(folder, monkeypatch):
    """The other process has locked the empty file first; this one waits for the lock and finds the secret."""
    other = bytes(range(cache.SIZE))
    monkeypatch.setattr(cache.fcntl, "flock", lambda file, how: (folder / cache.KEY_FILE).write_bytes(other))
    found = cache.signature("result", b"numbers")
    assert found == hmac.digest(other, b"result\0numbers", hashlib.sha256)
    assert (folder / cache.KEY_FILE).read_bytes() == other


def test_a_secret_that_can_only_be_read_signs(folder, monkeypatch):
    signature = cache.signature("result", b"numbers")

    def read_only(*arguments):
        raise PermissionError("read-only file system")

    monkeypatch.setattr(cache.os, "open", read_only)
    assert cache.is_signed("result", b"numbers", signature)
    assert any(signature)


# -- places ------------------------------------------------------------------------------------------------------------


def test_the_folder_is_the_system_s_place_for_caches(monkeypatch, tmp_path):
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))
    assert cache.cache_folder() == tmp_path
    monkeypatch.delenv("FLEXARM_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_folder() == tmp_path / "xdg" / "flexarm"


def test_without_a_home_folder_it_works_all_the_same(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    for name in ("FLEXARM_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert cache.signature("result", b"numbers") == bytes(cache.SIZE)
    assert not cache.is_signed("result", b"numbers", bytes(cache.SIZE))
    for _ in range(2):
        found = code()
        assert (answer(found), found.was_cached) == (42.0, False)


def test_without_a_writable_folder_it_works_all_the_same(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path / "file" / "cache"))
    for _ in range(2):
        found = code()
        assert not found.was_cached
        assert answer(found) == 42.0


def as_nobody(work):
    """Do something in a process that is not root's, to which every folder is open."""
    pid = os.fork()
    if pid == 0:
        try:
            if os.geteuid() == 0:
                os.seteuid(65534)
            work()
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


@posix
def test_a_folder_that_can_only_be_read_works_all_the_same(tmp_path, monkeypatch):
    """What it has is found, what it has not is built; nothing is written."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("FLEXARM_CACHE", str(folder))
    for parent in (tmp_path, *tmp_path.parents):
        if parent.owner() == tmp_path.owner() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)

    def first():
        code("known")

    def second():
        assert code("known", never).was_cached
        for _ in range(2):
            assert answer(code("new")) == 42.0

    as_nobody(first)
    folder.chmod(0o500)
    before = sorted(folder.iterdir())
    assert len(before) == 3
    as_nobody(second)
    assert sorted(folder.iterdir()) == before
    for file in before:
        file.unlink()
    folder.chmod(0o500)

    def third():
        assert answer(code("known")) == 42.0

    as_nobody(third)
    assert not list(folder.iterdir())


def test_a_write_that_fails_leaves_nothing(folder, monkeypatch):
    def full(source, target):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    assert answer(code()) == 42.0
    assert [file.name for file in folder.iterdir()] == ["secret"]


@posix
@pytest.mark.parametrize("room", [0, 10, 32, 33, 1000])
def test_a_full_disk_leaves_nothing(folder, room):
    """A limit on the size of files; with too little for the secret, for the code, or just not enough."""

    def work():
        sys.dont_write_bytecode = True  # half of it would be written
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        for _ in range(2):
            assert answer(code()) == 42.0

    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert {file.name for file in folder.iterdir()} <= {"secret", *(file.name for file in kernels(folder))}
    assert not code().was_cached
    assert code(build=never).was_cached


def test_what_a_killed_process_left_is_removed(folder):
    code()
    left = folder / ".flexarm-0123456789abcdef.new"
    left.write_bytes(b"half")
    code("another")
    assert not left.exists()


@pytest.mark.parametrize("jump", [-1e9, 1e9])
def test_a_clock_that_jumps_changes_nothing(folder, jump, monkeypatch):
    code()
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + jump)
    (file,) = kernels(folder)
    os.utime(file, (now() - jump, now() - jump))
    assert code(build=never).was_cached
    assert answer(code("another")) == 42.0
    assert code("another", never).was_cached


# -- processes ---------------------------------------------------------------------------------------------------------


def pendulum(key="pendulum"):
    q = ca.SX.sym("q", 2)
    return Kernel(key, lambda: ca.Function("f", [q], [ca.vertcat(q[1], -ca.sin(q[0]))]))


def pendulum_moves():
    q = np.array([0.5, 2.0])
    kernel = pendulum()
    return np.vstack([kernel.one(q), kernel.many(np.array([q] * 9))]).tolist()


MOVES = pytest.approx(np.array([[2.0, -np.sin(0.5)]] * 10), rel=1e-15)


def kernel_in_another_process(ready, results):
    """Waits for the others, then compiles, writes and calls."""
    ready.wait()
    results.put(pendulum_moves())


def test_six_processes_write_the_same_kernels_at_once(folder):
    """Into an empty cache; they agree on a secret, so that the next finds what they have left."""
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(6), context.Queue()
    processes = [context.Process(target=kernel_in_another_process, args=(ready, results)) for _ in range(6)]
    for process in processes:
        process.start()
    found = [results.get(timeout=300) for _ in processes]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert all(np.array(each) == MOVES for each in found)
    assert sorted(file.suffix for file in folder.iterdir()) == ["", ".bin", ".bin", ".program", ".program"]
    assert pendulum().code.was_cached and pendulum().vector_code.was_cached


@posix
def test_processes_that_ask_for_a_secret_at_once_agree(folder):
    """Six processes ask 40 times, each time all at once."""
    folder.mkdir(mode=0o700)
    ready = multiprocessing.get_context("fork").Barrier(6)
    workers = [asking_process(folder, ready) for _ in range(6)]
    for _ in range(40):
        (folder / "secret").unlink(missing_ok=True)
        for ask, _ in workers:
            os.write(ask, b"?")
        found = {os.read(answers, 64) for _, answers in workers}
        assert found == {(folder / "secret").read_bytes()}
        assert len(*found) == 32
    for ask, _ in workers:
        os.close(ask)
    for _, answers in workers:
        os.close(answers)
        assert os.wait()[1] == 0


def asking_process(folder, ready):
    """Start a process that answers each byte with the folder's secret; return the ends of the two pipes."""
    (questions, ask), (answers, answer) = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(ask)
        while os.read(questions, 1):
            ready.wait()
            os.write(answer, cache._secret(folder))
        os._exit(0)
    os.close(questions)
    os.close(answer)
    return ask, answers


VERSION = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import flexarm as fa
from flexarm.native import kernel
assert kernel.__file__.startswith(sys.argv[1])
model = fa.Model(fa.load("rigid-two-link"))
value = model.energy(np.full(2, 0.3), np.zeros(2))[1]
print(model.kernel("energy").code.was_cached, float(value))
"""


def test_two_versions_of_the_package_share_a_cache(folder, tmp_path):
    """Each finds its own code, and never the other's."""
    source, other = Path(flexarm.__file__).parent, tmp_path / "other" / "flexarm"
    shutil.copytree(source, other, ignore=shutil.ignore_patterns("__pycache__"))
    changed = other / "mechanics" / "quantities.py"
    before = changed.read_text(encoding="utf-8")
    changed.write_text(before + CHANGE, encoding="utf-8")

    def ran(place):
        command = [sys.executable, "-c", VERSION, str(place)]
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
        was_cached, value = ended.stdout.split()
        return was_cached == "True", float(value)

    values = []
    for was_cached in (False, True, True):
        for place in (source.parent, other.parent):
            found, value = ran(place)
            assert found == was_cached
            values.append(value)
    assert values[0::2] == [values[0]] * 3
    assert values[1::2] == [values[1]] * 3
    assert values[1] == pytest.approx(2 * values[0]) and values[0] != 0


CHANGE = """

energy_once = energy


def energy(*given):
    return [2 * each for each in energy_once(*given)]
"""
