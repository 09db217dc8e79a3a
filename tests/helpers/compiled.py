"""C that the package writes, compiled with every warning an error, and called from Python."""

import ctypes
import shutil
import subprocess

import numpy as np

CC = shutil.which("cc") or shutil.which("gcc")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Wshadow", "-pedantic", "-Werror"]


def built(folder, *sources, program=None, shared=None, level="-O0", more=(), strict=True):
    """A program or a shared library of C files in a folder; warnings are errors."""
    out = ["-o", program] if program else ["-shared", "-fPIC", "-o", shared]
    command = [CC, *(STRICT if strict else []), *more, level, *sources, *out, "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[:2000]
    return folder / (program or shared)


class Library:
    """The functions of a shared library, of arrays of numbers: those that go in, then sizes of those that come out."""

    def __init__(self, path, real="double"):
        self._library = ctypes.CDLL(str(path))
        self.kind, self.number = {
            "double": (np.float64, ctypes.c_double),
            "float": (np.float32, ctypes.c_float),
        }[real]

    def call(self, name, given, *sizes):
        """Results of these sizes, from arrays and single numbers."""
        results = [np.full(size, np.nan, dtype=self.kind) for size in sizes]
        self._pass(name, [*given, *results])
        return results

    def in_place(self, name, x, given):
        """The array x after a function that reads and writes it."""
        x = np.array(x, dtype=self.kind)
        self._pass(name, [x, *given, x])
        return x

    def _pass(self, name, given):
        arrays = [x if np.ndim(x) == 0 else np.ascontiguousarray(x, dtype=self.kind) for x in given]  # kept alive
        passed = [self.number(x) if np.ndim(x) == 0 else ctypes.c_void_p(x.ctypes.data) for x in arrays]
        getattr(self._library, name)(*passed)

    def numbers(self, name, size):
        """A constant array."""
        return np.array((self.number * size).in_dll(self._library, name))
