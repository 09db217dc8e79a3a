"""Machine code: LLVM IR compiled in the process, without a system compiler, and kept on disk.

A kernel is found on disk by what it is made from, so nothing is compiled twice. Files are written whole (a temporary
file, then a rename), so two processes may write the same kernel at once; each carries its own digest, and one that is
damaged or unreadable is built again.
"""

import ctypes
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, final

import numpy as np

from flexarm.native.once import Once

LANES = 8
"""States that one instruction handles in a batch: 8 doubles fill the widest registers there are."""

Address = int


@dataclass(frozen=True)
class Source:
    """What to compile: IR, the symbols others may call, and facts about it that are kept beside the code."""

    ir: str
    symbols: tuple[str, ...]
    facts: dict[str, Any] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Code:
    """Loaded machine code: the address of each symbol, and the facts kept with it."""

    addresses: dict[str, Address]
    facts: dict[str, Any]
    was_cached: bool
    _engine: Any = field(repr=False, compare=False)


def code(key: str, build: Callable[[], Source]) -> Code:
    """The machine code made from `key`, from disk if it is there, else built and put there.

    `key` must determine what `build` returns, given this version of flexarm's sources.
    """
    digest = hashlib.sha256("\n".join([key, *_circumstances()]).encode()).hexdigest()
    kept = _read(digest)
    if kept is None:
        source = build()
        machine_code = _compile(source.ir)
        _write(digest, source.symbols, source.facts, machine_code)
        return _load(machine_code, source.symbols, source.facts, was_cached=False)
    head, machine_code = kept
    return _load(machine_code, head["symbols"], head["facts"], was_cached=True)


# -- the cache on disk -------------------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """Where machine code is kept: $FLEXARM_CACHE, or the system's place for such things."""
    if chosen := os.environ.get("FLEXARM_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "flexarm"


@cache
def _circumstances() -> tuple[str, ...]:
    """What else machine code depends on: our own sources, the libraries, the processor."""
    import llvmlite.binding as llvm

    sources = sources_digest(Path(__file__).parents[1])  # the whole package
    features = llvm.get_host_cpu_features().flatten()
    versions = (metadata.version("casadi"), metadata.version("llvmlite"))
    return (sources, *versions, llvm.get_host_cpu_name(), features)


def sources_digest(folder: Path) -> str:
    """Of every source file below a folder, with its place: whichever of them changes, nothing kept fits any more."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _read(digest: str) -> tuple[dict[str, Any], bytes] | None:
    """Head and machine code, or None if they are not there or not whole."""
    try:
        content = (cache_folder() / f"{digest}.bin").read_bytes()
    except OSError:
        return None
    checksum, rest = content[:32], content[32:]
    if hashlib.sha256(rest).digest() != checksum:
        return None
    head, _, machine_code = rest.partition(b"\n")
    return json.loads(head), machine_code


def _write(digest: str, symbols: tuple[str, ...], facts: dict[str, Any], machine_code: bytes) -> None:
    """Keep a kernel. Where the folder cannot be written, nothing is kept and nothing is lost but time."""
    rest = json.dumps({"symbols": symbols, "facts": facts}).encode() + b"\n" + machine_code
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".new")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(rest).digest() + rest)
            os.replace(temporary, folder / f"{digest}.bin")
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError:
        pass


# -- LLVM --------------------------------------------------------------------------------------------------------------


@cache
def _target_machine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True
    )


def _compile(ir: str) -> bytes:
    """An object file. No passes beside those of the code generator: they cost as much again and gain a twentieth."""
    import llvmlite.binding as llvm

    machine = _target_machine()
    module = llvm.parse_assembly(ir)
    return machine.emit_object(module)


def _load(machine_code: bytes, symbols: tuple[str, ...], facts: dict[str, Any], was_cached: bool) -> Code:
    import llvmlite.binding as llvm

    _target_machine()
    features = llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True
    )  # an engine takes its machine for itself
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code))
    engine.finalize_object()
    addresses = {symbol: engine.get_function_address(symbol) for symbol in symbols}
    return Code(addresses, facts, was_cached, engine)


# -- kernels -----------------------------------------------------------------------------------------------------------

EVALUATE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
BATCH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


@final
@dataclass(frozen=True)
class Entry:
    """A way into machine code together with the code: it stays in memory as long as somebody may be running it."""

    code: Code
    call: Any
    n_out: int


@final
class Kernel:
    """A function of n_in numbers that gives n_out numbers, compiled for one state and, when first asked, for many.

    Any number of threads may ask and call at once.

    Parameters
    ----------
    key : str
        What the function is made from; see `code`.
    trace : () -> casadi.Function
        The function itself, called only when no machine code is kept.
    """

    def __init__(self, key: str, trace: Callable[[], Any]):
        self._one = Once(lambda: _entry(key, trace, 1, "evaluate", EVALUATE))
        self._many = Once(lambda: _entry(key, trace, LANES, "batch", BATCH))

    @property
    def code(self) -> Code:
        """Machine code for one state."""
        return self._one().code

    @property
    def vector_code(self) -> Code:
        """Machine code for `LANES` states at a time."""
        return self._many().code

    def one(self, x: np.ndarray) -> np.ndarray:
        """(n_in,) -> (n_out,); x contiguous, of doubles."""
        entry = self._one()
        y = np.empty(entry.n_out)
        entry.call(x.ctypes.data, y.ctypes.data)
        return y

    def many(self, x: np.ndarray) -> np.ndarray:
        """(N, n_in) -> (N, n_out); x contiguous, of doubles."""
        entry = self._many()
        y = np.empty((len(x), entry.n_out))
        if len(x):
            entry.call(x.ctypes.data, y.ctypes.data, len(x))
        return y


def _entry(key: str, trace: Callable[[], Any], lanes: int, symbol: str, prototype: Any) -> Entry:
    found = code(f"{key}\nlanes {lanes}", lambda: _source(trace(), lanes))
    return Entry(found, prototype(found.addresses[symbol]), found.facts["n_out"])


def _source(function: Any, lanes: int) -> Source:
    from flexarm.native import llvm
    from flexarm.native.program import instructions, operations
    from flexarm.native.sincos import batch

    n_in = sum(function.nnz_in(i) for i in range(function.n_in()))
    n_out = sum(function.nnz_out(i) for i in range(function.n_out()))
    multiplications, additions = operations(function)
    facts = {"n_in": n_in, "n_out": n_out, "multiplications": multiplications, "additions": additions}
    text = llvm.ir(instructions(function), lanes) + "\n" + batch(n_in, n_out, lanes)
    return Source(text, ("evaluate", "batch"), facts)
