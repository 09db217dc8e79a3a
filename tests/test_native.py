"""Machine code: compiled when called, found again, called with arrays."""

import shutil
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from interpreted import REPLACED, evaluated

import flexarm
from flexarm.native import kernel as native
from flexarm.native.kernel import Kernel


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of this test's own."""
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch):
    """The programs compiled, in order; they are compiled none the less."""
    seen, compile_ = [], native._compile

    def counting(ir, effort):
        seen.append(ir)
        return compile_(ir, effort)

    monkeypatch.setattr(native, "_compile", counting)
    return seen


def never():
    raise AssertionError("built again")


def pendulum(key="pendulum"):
    q = ca.SX.sym("q", 2)
    return Kernel(key, lambda: ca.Function("f", [q], [ca.vertcat(q[1], -ca.sin(q[0]))]))


def test_nothing_is_compiled_before_it_is_called(folder, compiled, monkeypatch):
    kernel = pendulum()
    assert not compiled
    kernel.one(np.zeros(2))
    kernel.one(np.ones(2))
    assert len(compiled) == 1
    rows = np.random.default_rng(1).normal(size=(11, 2))
    few = kernel.few(rows)
    assert len(compiled) == 1  # by the code for one state
    np.testing.assert_allclose(kernel.many(rows), few, rtol=1e-15)
    assert len(compiled) == 2
    monkeypatch.setattr(native, "FEW", 10)
    np.testing.assert_array_equal(kernel.few(rows), kernel.many(rows))
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


def test_casadi_in_the_place_of_machine_code(folder, compiled):
    """As tests of mechanics have it: for one state and for many, with constants, and for inputs that are not finite."""
    kernel = pendulum("to be evaluated")
    rows = np.random.default_rng(2).normal(size=(5, 2))
    with evaluated(REPLACED):
        one, many = [kernel.one(row) for row in rows], kernel.many(rows)
        state, finite = kernel.one_state([1, 1], (2, 1))([rows[0, :1], rows[0, 1:]])
        assert kernel.many_states([np.full((2, 2), np.nan)])[1] is False
    assert not compiled and finite and state.shape == (2, 1)
    np.testing.assert_array_equal(many, one)
    np.testing.assert_array_equal(state.ravel(), one[0])
    np.testing.assert_allclose(kernel.many(rows), many, rtol=1e-14)
    assert len(compiled) == 1
