"""Threads: whatever is public may be called from several at once, cold and warm."""

import os
import subprocess
import sys
from pathlib import Path

STRESS = Path(__file__).with_name("helpers") / "stress.py"


def stressed(folder, rounds):
    """The jobs done by the stress program; a crash of it is a failing test, with the stacks of all threads."""
    environment = {**os.environ, "FLEXARM_CACHE": str(folder)}
    command = [sys.executable, "-X", "faulthandler", str(STRESS), str(rounds)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, f"status {ended.returncode}\n{ended.stderr[-6000:]}"
    return int(ended.stdout)


def test_eight_threads_do_everything_at_once(tmp_path):
    """First with an empty cache, then with what the first left."""
    cold = stressed(tmp_path / "cache", 1)
    assert cold > 8 * 50
    assert stressed(tmp_path / "cache", 2) == 2 * cold
