"""Threads: whatever is public may be called from several at once, cold and warm."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from flexarm.checks import Described
from flexarm.native.once import Once

STRESS = Path(__file__).with_name("helpers") / "stress.py"


def stressed(folder, rounds):
    """The jobs done by the stress program; a crash of it is a failing test, with the stacks of all threads."""
    environment = {**os.environ, "FLEXARM_CACHE": str(folder)}
    command = [sys.executable, "-X", "faulthandler", str(STRESS), str(rounds)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, f"status {ended.returncode}\n{ended.stderr[-6000:]}"
    return int(ended.stdout)


def test_eight_threads_do_everything_at_once(tmp_path):
    """First with an empty cache, then with what the first round left."""
    assert stressed(tmp_path / "cache", 2) > 2 * 8 * 50


def test_what_eight_threads_ask_for_is_built_once():
    """All get the same object; one that raised is asked again."""
    calls, found, ready = [], [], threading.Barrier(8)

    def build():
        calls.append(0)
        time.sleep(0.05)
        if len(calls) == 1:
            raise ArithmeticError
        return object()

    value = Once(build)

    def ask():
        ready.wait()
        try:
            found.append(value())
        except ArithmeticError:
            found.append(value())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 2 and len(found) == 8 and set(found) == {value()}


LEFT = """
import sys, time
import numpy as np
import flexarm as fa

arm = fa.Arm(name="rotor", links=[fa.Link(name="rod", body=fa.Rigid(length=0.8, mass=1.5))])
calls = []

def torque(t, q, qd):
    calls.append(t)
    if sys.argv[1] == "slow" and len(calls) > 50:
        time.sleep(0.3)
    return [0.1 * np.sin(1000 * t)]

def leave(t):
    raise SystemExit(7)

def run():
    fa.simulate(fa.Model(arm), 1e5, u=torque, method=sys.argv[2], progress=leave if sys.argv[1] != "daemon" else None)

if sys.argv[1] == "daemon":
    import threading
    threading.Thread(target=run, daemon=True).start()
    while len(calls) < 50:
        time.sleep(0.01)
    raise SystemExit(7)
run()
"""


@pytest.mark.parametrize("kind", ["fast", "slow", "daemon"])
@pytest.mark.parametrize("method", ["dop853", "radau9"])
def test_a_process_may_end_while_a_run_that_was_left_goes_on(kind, method, tmp_path):
    """Compiled code that calls back into an interpreter that has ended aborts the process."""
    command = [sys.executable, "-X", "faulthandler", "-c", LEFT, kind, method]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (7, "")


def test_a_class_of_descriptions_is_made_ready_by_the_first_of_eight_threads():
    """The others wait: until pydantic 2.14 they would check by a base class, which has no fields."""
    calls, found, ready = [], [], threading.Barrier(8)

    class Slow(Described):
        x: float

        @classmethod
        def model_rebuild(cls, **options):
            calls.append(0)
            time.sleep(0.05)
            return super().model_rebuild(**options)

    def ask():
        ready.wait()
        found.append(Slow(x=1.0))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1 and found == 8 * [Slow(x=1.0)]
