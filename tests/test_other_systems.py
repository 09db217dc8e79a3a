"""Windows and macOS, as far as stand-ins on this machine can show: missing modules, other platforms, other processors.

The workflow in .github runs all tests on the systems themselves.
"""

import ctypes
import io
import math
import os
import re
import resource
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from alone import alone

import flexarm as fa
from flexarm import escape, files
from flexarm.commands import terminal
from flexarm.description import mat_process
from flexarm.description.robots import mjcf_process
from flexarm.exports.fmu import build
from flexarm.native import cache, kernel
from flexarm.native.sincos import BORDER
from flexarm.simulation import memory, rewrite
from flexarm.studies import executors

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the stand-ins replace parts of Linux")
pytestmark = LINUX

WITHOUT = """
import sys, os
import casadi, h5netcdf, h5py, llvmlite.binding, matplotlib.figure, multiprocessing.reduction, numpy, rich.console
import scipy.integrate, scipy.optimize, subprocess, sympy, tempfile, typer, xarray, concurrent.futures, platform
try:
    import dask.array  # which xarray imports where it is installed
except ImportError:
    pass
{stand_in}
import flexarm as fa
from flexarm import cli
from flexarm.simulation import memory
memory.PROCESS = memory.SYSTEM = memory.PROCESS.with_name("missing")
model = fa.Model(fa.load("rigid-two-link"))
result = fa.simulate(model, 0.1, u=[0.3, 0.1], samples=3, progress=False)
again = fa.load_result(fa.save_result(result, "run.nc"))
assert again.identical(result), "a saved result differs"
assert fa.view(result, "run.html", show=False).stat().st_size > 1000
assert memory.room() > 0
sys.argv = ["flexarm", "list"]
try:
    cli.main()
except SystemExit as end:
    assert end.code == 0, end.code
left = [name for name in os.listdir() if name.endswith(".new")]
assert not left, left
"""

WINDOWS = """
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("register_at_fork", "sched_getaffinity", "sysconf", "geteuid", "getuid", "fork"):
    delattr(os, name)
sys.platform = "win32"
os.environ["LOCALAPPDATA"] = os.getcwd()
"""

MACOS = """
delattr(os, "sched_getaffinity")
sys.platform = "darwin"
os.environ["HOME"] = os.getcwd()
"""


@pytest.mark.parametrize(("stand_in", "place"), [(WINDOWS, "flexarm"), (MACOS, "Library/Caches/flexarm")])
def test_the_package_runs_where_modules_and_functions_of_linux_are_missing(stand_in, place, tmp_path):
    program = WITHOUT.format(stand_in=stand_in)
    environment = {name: value for name, value in os.environ.items() if name != "FLEXARM_CACHE"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "canadarm" in done.stdout
    assert any((tmp_path / place).glob("*.bin"))  # the cache is in the system's place


# -- files -------------------------------------------------------------------------------------------------------------


def is_open(path):
    """True if this process has a file open, which Windows would neither rename nor remove."""
    numbers = Path("/proc/self/fd").iterdir()
    return any(os.path.realpath(number) == os.path.realpath(path) for number in numbers)


@pytest.fixture
def windows_files(monkeypatch):
    """Windows without file locks, on which an open file is neither renamed nor removed."""
    replace, unlink = os.replace, os.unlink

    def checked(function):
        def call(path, *more):
            if is_open(path):
                raise PermissionError(13, "it is open", str(path))
            return function(path, *more)

        return call

    monkeypatch.setattr(files.sys, "platform", "win32")
    monkeypatch.delattr(files, "fcntl")
    monkeypatch.setattr(os, "replace", checked(replace))
    monkeypatch.setattr(os, "unlink", checked(unlink))


def test_files_are_written_whole_where_open_ones_cannot_be_renamed(windows_files, tmp_path):
    for content in (b"first\n", b"second\r\n"):
        files.check_writable(tmp_path / "file")
        files.write_whole(tmp_path / "file", content, durable=True)
        assert (tmp_path / "file").read_bytes() == content
    assert os.listdir(tmp_path) == ["file"]
    with files.alone(tmp_path / "lock") as first:
        assert first


def test_abandoned_files_are_removed_where_open_ones_cannot_be(windows_files, tmp_path):
    old, new = (tmp_path / f".flexarm-{digit * 16}.new" for digit in "ab")
    for file in (old, new):
        file.write_bytes(b"half")
    past = time.time() - 2 * files.ABANDONED
    os.utime(old, (past, past))
    files.write_whole(tmp_path / "file", b"whole")
    assert sorted(os.listdir(tmp_path)) == sorted([new.name, "file"])


@pytest.mark.parametrize("name", ["con", "NUL", "aux.toml", "Com1", "lpt9.x.y", "prn "])
def test_names_of_devices_are_no_names_of_files(name):
    assert escape.file_name(name) == f"-{name}"
    assert escape.file_name(f"{name}x".replace(".", "").replace(" ", "")) != f"-{name}x"


@pytest.mark.parametrize("name", ["console", "common.nc", "auxiliary", "com10", "null"])
def test_names_that_only_begin_like_devices_stay(name):
    assert escape.file_name(name) == name


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/flexarm"),
        ("win32", {"HOME": "/home/me"}, "/home/me/AppData/Local/flexarm"),
        ("darwin", {"HOME": "/home/me"}, "/home/me/Library/Caches/flexarm"),
        ("linux", {"HOME": "/home/me"}, "/home/me/.cache/flexarm"),
    ],
)
def test_the_cache_is_in_each_system_s_place(platform, variables, expected, monkeypatch):
    for name in ("FLEXARM_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(cache.sys, "platform", platform)
    assert cache.cache_folder() == Path(expected)


# -- memory and limits -------------------------------------------------------------------------------------------------


def test_without_any_report_memory_is_unlimited(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setattr(memory, "PROCESS", Path("/missing"))
    monkeypatch.setattr(memory, "SYSTEM", Path("/missing"))
    monkeypatch.setattr(memory, "GROUPS", ())
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert memory.room() == pages  # macOS
    monkeypatch.delattr(os, "sysconf")
    assert memory.room() == math.inf  # Windows


@pytest.mark.parametrize(
    "limit", [lambda: mat_process.limit(1000, 10**6), mjcf_process.limit, lambda: rewrite.limit(1000)]
)
def test_a_limit_that_macos_rejects_leaves_the_others(limit, monkeypatch):
    given = {}

    def setrlimit(what, limits):
        if what == resource.RLIMIT_AS:
            raise ValueError("current limit exceeds maximum limit")
        given[what] = limits

    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    limit()
    assert given.keys() == {resource.RLIMIT_CPU, resource.RLIMIT_CORE}
    assert 0 < given[resource.RLIMIT_CPU][0] < 1000
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "resource", None)
    limit()


def test_a_pool_on_windows_has_no_more_processes_than_it_can_wait_for(monkeypatch):
    monkeypatch.setattr(executors.sys, "platform", "win32")
    pool = executors.Pool(200)
    monkeypatch.undo()
    pool.close(at_once=True)
    assert pool.ahead == executors.MOST_ON_WINDOWS + 1


# -- terminals ---------------------------------------------------------------------------------------------------------


def test_the_console_of_windows_keeps_its_own_stream(monkeypatch):
    """It alone writes every character; bytes would be read in the code page of the console."""

    class Console(io.TextIOWrapper):
        def isatty(self):
            return True

    console = Console(io.BytesIO(), "ascii")
    for name in ("stdout", "__stdout__"):
        monkeypatch.setattr(sys, name, console)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(sys, "platform", "win32")
    terminal.usable_streams()
    monkeypatch.setattr(sys, "platform", "linux")
    assert sys.stdout is console
    print("\N{GREEK SMALL LETTER OMEGA}")
    assert terminal.unwritten() == ""
    assert console.buffer.getvalue() == rb"\u03c9" + os.linesep.encode()


# -- compilers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "machine", "second", "third"),
    [
        ("win32", "AMD64", "win64/arm.dll", "x86_64-windows/arm.dll"),
        ("darwin", "arm64", "darwin64/arm.dylib", "aarch64-darwin/arm.dylib"),
        ("linux", "x86_64", "linux64/arm.so", "x86_64-linux/arm.so"),
    ],
)
def test_binaries_of_an_fmu_are_in_the_folder_of_their_system(platform, machine, second, third, monkeypatch):
    monkeypatch.setattr(build.sys, "platform", platform)
    monkeypatch.setattr(build.platform, "machine", lambda: machine)
    assert build.place("2.0", "arm") == f"binaries/{second}"
    assert build.place("3.0", "arm") == f"binaries/{third}"


@pytest.mark.parametrize(("platform", "expected"), [("win32", set()), ("darwin", {"-fPIC", "-lm"})])
def test_options_of_the_compiler_suit_the_system(platform, expected, monkeypatch):
    commands = []

    def run(command, cwd, **_):
        commands.append(command)
        Path(cwd, command[command.index("-o") + 1]).write_bytes(b"library")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(build.subprocess, "run", run)
    monkeypatch.setattr(build.sys, "platform", platform)
    assert build.library("cc", {"a.c": "int a;\n"}, ["a.c"], "arm") == b"library"
    assert {"-fPIC", "-lm"} & {*commands[0]} == expected


# -- machine code ------------------------------------------------------------------------------------------------------

OF_COMPILERS = {"__chkstk", "__chkstk_ms", "_GLOBAL_OFFSET_TABLE_", ""}
"""Symbols that LLVM itself resolves: among them the check of large stack frames on Windows."""


def undefined(content):
    """Return the undefined symbols of an object file in the ELF format (64 bits, little endian)."""

    def number(at, size):
        return int.from_bytes(content[at : at + size], "little")

    start, size, count = number(0x28, 8), number(0x3A, 2), number(0x3C, 2)
    sections = [start + i * size for i in range(count)]
    found = set()
    for section in sections:
        if number(section + 4, 4) != 2:  # a table of symbols
            continue
        table, length, names = number(section + 24, 8), number(section + 32, 8), sections[number(section + 40, 4)]
        texts = number(names + 24, 8)
        for symbol in range(table, table + length, 24):
            if number(symbol + 6, 2) == 0:  # in no section
                begin = texts + number(symbol, 4)
                found.add(content[begin : content.index(b"\0", begin)].decode())
    return found


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Modules of LLVM IR of runs with an explicit and an implicit method, for one state and for several."""
    found, original = [], kernel._compile
    with alone(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLEXARM_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(kernel, "_compile", lambda ir, effort=2: (found.append(ir), original(ir, effort))[1])
        model = fa.Model(fa.load("subudhi-morris"))
        for method in ("tsit5", "radau9"):
            fa.simulate(model, 0.01, u=[0.1, 0.1], samples=3, method=method, progress=False)
        fa.simulate_many(model, 0.01, u=[0.1, 0.1], q0=[model.arm.rest] * 2, samples=3, progress=False)
    return [module for ir in found for module in ir.split(BORDER)]


@pytest.mark.parametrize("triple", ["x86_64-pc-windows-msvc-elf", "aarch64-unknown-linux-gnu", "x86_64-pc-linux-gnu"])
def test_machine_code_for_other_systems_calls_functions_that_every_system_has(triple, programs):
    """On Windows LLVM loads objects in the ELF format alone; Apple's processors have the instructions of ARM64."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(opt=1, jit=True)
    assert len(programs) > 3
    library, names = ctypes.CDLL(None), set()
    for text in programs:
        module = llvm.parse_assembly(text)
        module.triple = triple
        module.data_layout = str(machine.target_data)
        declared = {function.name for function in module.functions if function.is_declaration}
        names |= undefined(machine.emit_object(module)) - {x for x in declared if x.startswith("piece")}
    foreign = {name for name in names - OF_COMPILERS if not hasattr(library, name)}
    assert not foreign
    assert {name for name in names if re.fullmatch("__(?!chkstk).*", name)} == set()


def test_the_reader_of_objects_finds_what_is_undefined():
    import llvmlite.binding as llvm

    text = textwrap.dedent(
        """
        declare double @cosh(double)
        define double @twice(double %x) {
          %y = call double @cosh(double %x)
          ret double %y
        }
        """
    )
    content = kernel.target_machine().emit_object(llvm.parse_assembly(text))
    assert "cosh" in undefined(content)
    assert "twice" not in undefined(content)
