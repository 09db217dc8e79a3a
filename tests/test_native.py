"""Machine code and its cache on disk: built once, found again, rebuilt when damaged, safe between processes."""

import ctypes
import multiprocessing
import os
import shutil
import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.native import kernel as native
from flexarm.native.kernel import Kernel, Source

IR = """define double @answer() {{
  ret double {}
}}"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of this test's own."""
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch):
    """The programs compiled, in order; they are compiled none the less."""
    seen, compile_ = [], native._compile

    def counting(ir):
        seen.append(ir)
        return compile_(ir)

    monkeypatch.setattr(native, "_compile", counting)
    return seen


def answer(code):
    return ctypes.CFUNCTYPE(ctypes.c_double)(code.addresses["answer"])()


def source(value="4.2e1", facts=None):
    return Source(IR.format(value), ("answer",), facts or {"n": 3})


def never():
    raise AssertionError("built again")


def pendulum(key="pendulum"):
    q = ca.SX.sym("q", 2)
    return Kernel(key, lambda: ca.Function("f", [q], [ca.vertcat(q[1], -ca.sin(q[0]))]))


def test_the_second_time_nothing_is_built(folder):
    first = native.code("key", source)
    second = native.code("key", never)
    assert (first.was_cached, second.was_cached) == (False, True)
    assert answer(first) == answer(second) == 42.0
    assert first.facts == second.facts == {"n": 3}
    assert [file.suffix for file in folder.iterdir()] == [".bin"]


def test_another_key_is_another_kernel(folder):
    assert answer(native.code("one", lambda: source("1.0"))) == 1.0
    assert answer(native.code("two", lambda: source("2.0"))) == 2.0
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("circumstance", range(5))
def test_other_circumstances_make_another_kernel(folder, monkeypatch, circumstance):
    """Our sources, the libraries' versions and the processor are part of every key."""
    native.code("key", source)
    changed = list(native._circumstances())
    changed[circumstance] += "changed"
    monkeypatch.setattr(native, "_circumstances", lambda: tuple(changed))
    assert not native.code("key", source).was_cached


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


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_built_again(folder, damage):
    native.code("key", source)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(DAMAGES[damage](whole))
    again = native.code("key", source)
    assert not again.was_cached
    assert answer(again) == 42.0
    assert file.read_bytes() == whole
    assert native.code("key", never).was_cached


def test_a_folder_in_place_of_the_file_is_no_obstacle(folder):
    native.code("key", source)
    (file,) = folder.iterdir()
    file.unlink()
    (file / "within").mkdir(parents=True)
    assert answer(native.code("key", source)) == 42.0
    assert list(folder.iterdir()) == [file]  # and no temporary file beside it


def test_without_a_writable_folder_it_works_all_the_same(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path / "file" / "cache"))
    for _ in range(2):
        code = native.code("key", source)
        assert not code.was_cached
        assert answer(code) == 42.0


@pytest.mark.skipif(sys.platform == "win32" or getattr(os, "geteuid", int)() == 0, reason="root may write anywhere")
def test_a_read_only_folder_works_all_the_same(folder):
    folder.mkdir(mode=0o500)
    assert answer(native.code("key", source)) == 42.0
    assert not list(folder.iterdir())


def test_a_write_that_fails_leaves_nothing(folder, monkeypatch):
    def full(source, target):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    assert answer(native.code("key", source)) == 42.0
    assert not list(folder.iterdir())


def test_the_folder_is_the_system_s_place_for_caches(monkeypatch, tmp_path):
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))
    assert native.cache_folder() == tmp_path
    monkeypatch.delenv("FLEXARM_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert native.cache_folder() == tmp_path / "xdg" / "flexarm"


def kernel_in_another_process(ready, results):
    """Waits for the others, then compiles, writes and calls."""
    kernel = pendulum()
    q = np.array([0.5, 2.0])
    ready.wait()
    results.put((kernel.one(q).tolist(), kernel.many(np.array([q] * 9)).tolist()))


def test_two_processes_write_the_same_kernel_at_once(folder):
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(2), context.Queue()
    processes = [context.Process(target=kernel_in_another_process, args=(ready, results)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    found = [results.get() for _ in processes]
    for one, many in found:
        np.testing.assert_allclose([one, *many], [[2.0, -np.sin(0.5)]] * 10, rtol=1e-15)
    assert sorted(file.suffix for file in folder.iterdir()) == [".bin", ".bin"]
    assert pendulum().code.was_cached


def test_nothing_is_compiled_before_it_is_called(folder, compiled):
    kernel = pendulum()
    assert not compiled
    kernel.one(np.zeros(2))
    kernel.one(np.ones(2))
    assert len(compiled) == 1
    kernel.many(np.zeros((3, 2)))
    assert len(compiled) == 2
    again = pendulum()
    again.one(np.zeros(2))
    again.many(np.zeros((3, 2)))
    assert len(compiled) == 2


def test_a_cached_kernel_is_not_traced(folder):
    pendulum().one(np.zeros(2))
    np.testing.assert_array_equal(Kernel("pendulum", never).one(np.array([0.0, 3.0])), [3.0, 0.0])


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 16, 33])
def test_a_batch_of_any_length(rows):
    q = np.random.default_rng(rows).uniform(-3, 3, (rows, 2))
    found = pendulum().many(q)
    assert found.shape == (rows, 2)
    np.testing.assert_allclose(found, np.column_stack([q[:, 1], -np.sin(q[:, 0])]), rtol=1e-15)


def test_the_facts_of_a_kernel():
    assert pendulum().code.facts == {"n_in": 2, "n_out": 2, "multiplications": 0, "additions": 0}


def test_every_source_file_of_the_package_counts_for_what_is_kept(tmp_path):
    package = Path(flexarm.__file__).parent
    copy = tmp_path / "flexarm"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = native.sources_digest(copy)
    assert before == native.sources_digest(package)
    folders = {file.parent for file in copy.rglob("*.py")}
    assert len(folders) > 5
    for folder in folders:
        changed = next(folder.glob("*.py"))
        content = changed.read_bytes()
        changed.write_bytes(content + b"# changed\n")
        assert native.sources_digest(copy) != before, changed
        changed.write_bytes(content)
    changed.rename(changed.with_name("renamed.py"))
    assert native.sources_digest(copy) != before
