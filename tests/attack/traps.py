"""Cases for the tests of the attack itself: each does one thing that must be seen, or must not."""

import contextlib
import ctypes
import json
import os
import subprocess
import time
import warnings

import numpy as np

import flexarm as fa
from flexarm import checks

from .judge import Found


def refused():
    fa.Rod(diameter=-1.0)


def refused_by_a_raise():
    checks.checked_integer(-1, 3)


def raw():
    checks.choices()  # unpacks an empty tuple


def raw_beyond():
    json.loads("{")  # a `raise`, and a ValueError, but not the package's


class Unescaped(fa.FlexarmError):
    """The package's own errors see to it that their text is one printable line; this one does not."""

    def __init__(self, message):
        Exception.__init__(self, message)


def several_lines():
    raise Unescaped("one\ntwo")


def escape():
    raise Unescaped("\x1b[31mred")


def foreign_warning():
    np.float64(1e308) * 10


def warning_of_a_case():
    warnings.warn("of nobody", stacklevel=1)


def noise():
    os.write(1, b"step 3 of 7\n")


def not_finite():
    raise Found("not finite", "a number")


def crash():
    ctypes.string_at(0)


def ended():
    os._exit(3)


def hang():
    while True:
        time.sleep(0.01)


def busy():
    for _ in iter(int, 1):
        pass


def deaf():
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            busy()


def memory():
    np.empty(5 << 30, dtype=np.int8)  # no more than its address space: nothing is written


def outside():
    open("/dev/shm/flexarm-attack", "w").close()


def program():
    subprocess.run(["true"], check=True)


TRAPS = (
    *(refused, refused_by_a_raise, raw, raw_beyond, several_lines, escape, foreign_warning, warning_of_a_case, noise),
    *(not_finite, crash, ended, hang, busy, deaf, memory, outside, program),
)


def case(rng, folder, note):
    trap = TRAPS[rng.number % len(TRAPS)]
    note(trap.__name__)
    trap()
    return "nothing"
