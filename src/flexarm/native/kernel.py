"""Machine code: LLVM IR compiled in the process, without a system compiler, and kept on disk.

A kernel is found on disk by what it is made from, so nothing is compiled twice.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, final

import numpy as np

from flexarm import progress
from flexarm.native.cache import read, write
from flexarm.native.calls import LANES, ManyStates, OneState
from flexarm.native.once import Once, hold_at_forks
from flexarm.native.sincos import BORDER

Address = int


@dataclass(frozen=True)
class Source:
    """Input of a compilation: IR of one module, or of several with `BORDER` between them; numbers stored beside the
    code; the optimization level of LLVM; and a check of the code, which raises an error if it is wrong."""

    ir: str
    facts: dict[str, int] = field(default_factory=dict)
    name: str = "machine code"
    effort: int = 2
    verify: "Callable[[Code], None]" = lambda code: None


@final
@dataclass(frozen=True)
class Code:
    """Loaded machine code: the address of each symbol, and the facts kept with it.

    It stays in memory as long as this object does.
    """

    addresses: dict[str, Address]
    facts: dict[str, int]
    was_cached: bool
    _engine: Any = field(repr=False, compare=False)

    @property
    def operations(self) -> int:
        """Of a kernel: multiplications and additions."""
        return self.facts["multiplications"] + self.facts["additions"]

    def __deepcopy__(self, _: Any) -> "Code":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("machine code belongs to its process; pickle the model")


def code(key: str, symbols: tuple[str, ...], facts: tuple[str, ...], build: Callable[[], Source]) -> Code:
    """The machine code made from `key`, from disk if it is there, else built and put there.

    `key` must determine what `build` returns, given this version of flexarm's sources. `symbols` and `facts` are the
    names that the caller needs; something kept that has others is built again.
    """
    name = file_name(key)
    if (kept := _parted(read(name))) is not None and set(kept[0]) == set(facts):
        found = _load(kept[1], symbols, kept[0], was_cached=True)
        if all(found.addresses.values()):
            return found
    with progress.said("tracing"):
        source = build()
        with progress.said(f"compiling {source.name}"):
            machine_code = _compile(source.ir, source.effort)
    found = _load(machine_code, symbols, source.facts, was_cached=False)
    source.verify(found)
    write(name, json.dumps(source.facts).encode() + b"\n" + machine_code)
    return found


def file_name(key: str) -> str:
    """What is kept under a key by this version of flexarm, of its libraries, on this processor."""
    return hashlib.sha256("\n".join([key, *_circumstances()]).encode()).hexdigest() + ".bin"


def _parted(kept: bytes | None) -> tuple[dict[str, int], bytes] | None:
    """The facts and the machine code, or None if that is not what it is."""
    if kept is None:
        return None
    head, _, machine_code = kept.partition(b"\n")
    try:
        facts = json.loads(head)
    except (ValueError, RecursionError):
        return None
    fits = machine_code and isinstance(facts, dict) and all(type(value) is int for value in facts.values())
    return (facts, machine_code) if fits else None


@cache
def _circumstances() -> tuple[str, ...]:
    """What else machine code depends on: our own sources, the libraries, the processor."""
    from importlib import metadata  # late: it reads mail

    import llvmlite.binding as llvm
    from llvmlite.binding import ffi

    hold_at_forks(ffi.lib._lock)  # noqa: SLF001  (threads that free machine code hold it, beside those that build)
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


# -- LLVM --------------------------------------------------------------------------------------------------------------


@cache
def target_machine(effort: int = 2) -> Any:
    """Of this processor, for compiling."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=effort, jit=True
    )


def _compile(ir: str, effort: int = 2) -> bytes:
    """Object files, one a module, each behind its length in 8 bytes.

    No passes beside those of the code generator: they cost as much again and gain a twentieth.
    """
    import llvmlite.binding as llvm

    machine = target_machine(effort)
    objects = [machine.emit_object(llvm.parse_assembly(module)) for module in ir.split(BORDER)]
    return b"".join(len(each).to_bytes(8, "little") + each for each in objects)


def _objects(machine_code: bytes) -> list[bytes]:
    """The object files that `_compile` has put together."""
    found = []
    while machine_code:
        end = 8 + int.from_bytes(machine_code[:8], "little")
        found.append(machine_code[8:end])
        machine_code = machine_code[end:]
    return found


def _load(machine_code: bytes, symbols: tuple[str, ...], facts: dict[str, int], was_cached: bool) -> Code:
    import llvmlite.binding as llvm

    target_machine()
    features = llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True
    )  # an engine takes its machine for itself
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    for each in _objects(machine_code):
        engine.add_object_file(llvm.ObjectFileRef.from_data(each))
    engine.finalize_object()
    addresses = {symbol: engine.get_function_address(symbol) for symbol in symbols}
    return Code(addresses, facts, was_cached, engine)


# -- kernels -----------------------------------------------------------------------------------------------------------

Check = Callable[[Callable[[np.ndarray], np.ndarray]], None]

EFFORT = 1
"""With which code for one state is made: that takes a tenth less time than with 2, and the code as long, within a
percent. Code for eight states would be slower by up to 4 percent."""

ENTRIES = ("evaluate", "batch")
FACTS = ("n_in", "n_out", "multiplications", "additions")


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
    check : (function of (n_in,) that gives (n_out,)) -> None, optional
        Called with the compiled function before anybody else can; raises what speaks against it.

    Attributes
    ----------
    key, trace
        As given: other machines are written for from them.
    """

    def __init__(self, key: str, trace: Callable[[], Any], check: Check | None = None):
        self.key, self.trace = key, trace

        def one() -> OneState:
            made = OneState(found := _code(key, trace, 1), [found.facts["n_in"]], (found.facts["n_out"],))
            if check is not None:
                check(lambda x: made([x])[0])
            return made

        def many() -> ManyStates:
            made = ManyStates(_code(key, trace, LANES))
            if check is not None:
                check(lambda x: made([x[None]])[0][0])
            return made

        self._one, self._many = Once(one), Once(many)

    constants = np.empty(0)
    """None of its inputs follows from parameters, see `varying.At`."""

    def constants_of(self, p: np.ndarray) -> np.ndarray:
        """None, whatever the parameters are: (..., k) -> (..., 0)."""
        return np.empty((*p.shape[:-1], 0))

    def __deepcopy__(self, _: Any) -> "Kernel":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a kernel belongs to its process; pickle the model")

    @property
    def code(self) -> Code:
        """Machine code for one state."""
        return self._one().code

    @property
    def vector_code(self) -> Code:
        """Machine code for `LANES` states at a time."""
        return self._many().code

    def one(self, x: np.ndarray) -> np.ndarray:
        """(n_in,) -> (n_out,)."""
        return self._one()([x])[0]

    def many(self, x: np.ndarray) -> np.ndarray:
        """(N, n_in) -> (N, n_out); x of doubles."""
        return self._many()([x])[0]

    def one_state(self, lengths: Sequence[int], shape: tuple[int, ...]) -> OneState:
        """For one state in parts of these lengths, n_in together, and a value of this shape."""
        return OneState(self.code, lengths, shape)

    @property
    def many_states(self) -> ManyStates:
        """For many states in parts."""
        return self._many()


def _code(key: str, trace: Callable[[], Any], lanes: int) -> Code:
    return code(f"{key}\nlanes {lanes}", ENTRIES, FACTS, lambda: _source(trace(), lanes))


def _source(function: Any, lanes: int) -> Source:
    from flexarm.native import llvm
    from flexarm.native.program import instructions, operations
    from flexarm.native.sincos import batch
    from flexarm.native.verification import verify

    n_in = sum(function.nnz_in(i) for i in range(function.n_in()))
    n_out = sum(function.nnz_out(i) for i in range(function.n_out()))
    multiplications, additions = operations(function)
    facts = dict(zip(FACTS, (n_in, n_out, multiplications, additions), strict=True))
    text = llvm.ir(instructions(function), lanes) + "\n" + batch(n_in, n_out, lanes)

    def check(code: Code) -> None:
        call, width = ManyStates(code), "one state" if lanes == 1 else f"{lanes} states at once"
        verify(function, lambda x: call([x])[0], width)

    return Source(text, facts, function.name(), EFFORT if lanes == 1 else 2, check)
