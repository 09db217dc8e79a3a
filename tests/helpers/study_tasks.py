"""Functions that studies in tests are of: they tell in a folder what they do, and wait there until they may go on.

The folder is $STUDY_TEST. `log` has a line for each chunk that is begun or ended, with who does it; `allowed` is how
many chunks may end, each of which takes a token by making a folder.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

PATIENCE = 240
"""Seconds after which whoever waits gives up, so that nothing is left behind by a test that fails."""


def until(condition, what="it"):
    """Wait for what another process does."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"{what} has not come")
        time.sleep(0.02)
    return found


def allow(folder, count):
    """So many chunks in all may end."""
    new = Path(folder, "allowed.new")
    new.write_text(str(count))
    new.rename(Path(folder, "allowed"))


def log(folder):
    """Lines of the log: begin or end, process, first value of x."""
    path = Path(folder, "log")
    return [tuple(line.split()) for line in path.read_text().splitlines()] if path.exists() else []


def _tell(folder, what, x):
    with open(Path(folder, "log"), "a") as file:
        file.write(f"{what} {os.getpid()} {x!r}\n")


def _token(folder):
    for token in range(int(Path(folder, "allowed").read_text())):
        try:
            os.mkdir(Path(folder, f"token-{token}"))
        except FileExistsError:
            continue
        return True
    return False


def steered(samples):
    """x squared, when it may."""
    folder = os.environ["STUDY_TEST"]
    x = samples["x"]
    _tell(folder, "begin", float(x[0]))
    until(lambda: _token(folder), "a token")
    _tell(folder, "end", float(x[0]))
    return {"square": x**2, "sine": np.sin(x)}


def sick(samples):
    """Fails wherever it is first tried, and everywhere for the largest x; who has tried stands in the log."""
    folder = os.environ["STUDY_TEST"]
    x = samples["x"]
    worker = sys.modules["distributed"].get_worker().address if "distributed" in sys.modules else os.getpid()
    with open(Path(folder, "log"), "a") as file:
        file.write(f"try {worker} {float(x[0])!r}\n")
    try:
        os.mkdir(Path(folder, f"tried-{float(x[0])!r}"))
    except FileExistsError:
        if x.max() < 0.9:
            return x**2
    raise ArithmeticError("no root here")


def deadly(samples):
    """Kills its process where x is large, as the system does for want of memory."""
    if samples["x"].max() > 0.9:
        os.kill(os.getpid(), 9)
    return samples["x"] ** 2


def squared(samples):
    """x squared."""
    return samples["x"] ** 2


def ishigami(samples):
    """The function of Ishigami and Homma, whose indices are known."""
    a, b, c = (samples[name] for name in "abc")
    return np.sin(a) + 7.0 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)
