"""Compilation of a shared library for this platform with an installed C compiler."""

import platform
import shutil
import subprocess  # noqa: TID251  (a compiler of the user's, with sources of the package's own)
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from flexarm.errors import FlexarmError
from flexarm.exports.fmu.description import Version

COMPILERS = ("cc", "gcc", "clang")
"""Names of C compilers, in the order of the search."""

SYSTEMS = {"linux": ("linux", ".so"), "darwin": ("darwin", ".dylib"), "win32": ("windows", ".dll")}
SHORT = {"linux": "linux", "darwin": "darwin", "windows": "win"}
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}

LONGEST = 1800.0
"""Longest time for the compiler [s]."""


def place(version: Version, name: str) -> str:
    """Return the path of this platform's binary inside an FMU."""
    system, suffix = SYSTEMS.get(sys.platform, ("linux", ".so"))
    machine = MACHINES.get(platform.machine().lower(), platform.machine().lower())
    bits = "64" if sys.maxsize > 2**32 else "32"
    folder = f"{machine}-{system}" if version == "3.0" else f"{SHORT[system]}{bits}"
    return f"binaries/{folder}/{name}{suffix}"


def compiler() -> str | None:
    """Return the path of an installed C compiler, or None."""
    return next((path for name in COMPILERS if (path := shutil.which(name))), None)


def library(path: str, texts: Mapping[str, str], files: Sequence[str], name: str) -> bytes:
    """Return the bytes of a shared library, from texts by file name.

    Raises
    ------
    FlexarmError
        If the compiler fails, with the first error that it reports.
    """
    with TemporaryDirectory(prefix="flexarm-fmu-") as folder:
        for file, text in texts.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        pic, maths = (["-fPIC"], ["-lm"]) if sys.platform != "win32" else ([], [])  # Windows has no libm of its own
        flags = ["-std=c99", "-O1", *pic, "-shared", "-fvisibility=hidden", "-w", "-I."]
        command = [path, *flags, *files, "-o", f"{name}.lib", *maths]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=LONGEST, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise FlexarmError(f"the C compiler {path} cannot be used: {error}") from None
        built = Path(folder, f"{name}.lib")
        if done.returncode or not built.is_file():
            said = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            raise FlexarmError(f"the C compiler {path} fails: {said[0] if said else f'status {done.returncode}'}")
        return built.read_bytes()
