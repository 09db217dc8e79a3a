"""A process that is forked while another thread is in the middle of something goes on."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from forked import exit_of

import flexarm as fa
from flexarm import forks
from flexarm.cached import cached_property

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")


class Slow:
    """A property that another thread is computing until it may go on."""

    def __init__(self):
        self.entered, self.go_on = threading.Event(), threading.Event()
        self.computed = 0

    @cached_property
    def value(self):
        self.entered.set()
        assert self.go_on.wait(60)
        self.computed += 1
        return self.computed


def test_a_property_that_another_thread_computes_is_computed_anew_in_a_child():
    slow, other = Slow(), Slow()
    other.go_on.set()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert slow.entered.wait(60)

    def child():
        assert other.value == 1  # the same property of another object
        slow.go_on.set()
        assert slow.value == 1

    status = exit_of(child)
    slow.go_on.set()
    thread.join()
    assert status == 0
    assert slow.value == 1 and slow.computed == 1


def test_arms_are_built_in_a_child_while_a_thread_of_the_parent_builds_them():
    """At eight moments of a thread that does nothing else."""
    text = fa.load("canadarm").canonical()
    stop = threading.Event()

    def build():
        while not stop.is_set():
            arm = fa.Arm.from_json(text)
            assert arm.coordinates and arm.joints and arm.velocities

    def child():
        arm = fa.Arm.from_json(text)
        assert len(fa.Model(arm).forward_dynamics(arm.rest, [0.0] * len(arm.velocities), [0.0] * len(arm.inputs))) > 0

    child()  # compiles: the children only load
    thread = threading.Thread(target=build)
    thread.start()
    try:
        statuses = [exit_of(child) for _ in range(8)]
    finally:
        stop.set()
        thread.join()
    assert statuses == [0] * 8


def test_a_figure_is_saved_in_a_child_while_a_thread_of_the_parent_saves_one():
    """Settings of matplotlib that hold for the process are guarded by a lock."""
    from flexarm import style

    entered, go_on = threading.Event(), threading.Event()

    def hold():
        with style._SAVING:
            entered.set()
            time.sleep(0.2)
        go_on.set()

    thread = threading.Thread(target=hold)
    thread.start()
    assert entered.wait(60)

    def child():
        with style._SAVING:
            pass

    assert exit_of(child, 10) == 0  # the fork waits until the figure is saved
    thread.join()


def test_models_compile_in_a_child_while_a_thread_of_the_parent_compiles_and_frees_them(traced_alone):
    """The library that compiles has a lock of its own, which is also held where machine code is freed."""
    text = fa.load("rigid-two-link").canonical()
    stop = threading.Event()

    def load():
        model = fa.Model(fa.Arm.from_json(text))
        assert model.mass_matrix([0.1, 0.2]).shape == (2, 2)

    def busy():
        while not stop.is_set():
            load()

    load()
    thread = threading.Thread(target=busy)
    thread.start()
    try:
        statuses = []
        for i in range(10):
            time.sleep(0.005 * i)
            statuses.append(exit_of(load))
    finally:
        stop.set()
        thread.join()
    assert statuses == [0] * 10


IMPORTS = """
import os, sys, threading, time
sys.path.insert(0, sys.argv[1])
from forked import exit_of
import flexarm as fa
from flexarm import forks

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "flexarm.simulation.run" and threading.current_thread() is not threading.main_thread():
            entered.set()
            time.sleep(0.9)

entered = threading.Event()
sys.meta_path.insert(0, Slow())
threading.Thread(target=lambda: fa.simulate).start()
assert entered.wait(60)
print(exit_of(lambda: fa.simulate, 5.0), {lock for lock in forks._taken})
"""


def test_a_fork_waits_for_an_import_in_another_thread():
    """The child would wait for the lock of the module, which nobody in the child holds."""
    helpers = Path(__file__).parent / "helpers"
    command = [sys.executable, "-c", IMPORTS, str(helpers)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("0 set()\n", "")


def test_a_fork_waits_for_imports_of_this_package_and_its_libraries_alone(monkeypatch):
    """A program of the user's may import what runs for ever, and the thread that forks may import itself."""
    me, another = threading.get_ident(), 1
    for name, owner, waits in (
        ("flexarm.simulation", another, True),
        ("xarray", another, True),
        ("xarrays", another, False),
        ("server", another, False),
        ("flexarm.simulation", me, False),
        ("flexarm.simulation", None, False),
    ):
        monkeypatch.setattr(forks._bootstrap, "_module_locks", {name: lambda owner=owner: SimpleNamespace(owner=owner)})
        assert forks._importing() == waits
    monkeypatch.setattr(forks._bootstrap, "_module_locks", {"flexarm": lambda: None})  # nobody needs it any more
    assert not forks._importing()


def test_a_child_hangs_if_it_does_nothing_or_works_without_end():
    """The tests above find a child that waits for a lock by this."""

    def waiting():
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()

    def endless():
        while True:
            pass

    stuck = []
    assert exit_of(waiting, 0.5, stuck=stuck.append) is None
    assert exit_of(endless, 0.5, stuck=stuck.append) is None
    assert len(stuck) == 2
