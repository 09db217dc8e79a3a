"""Machine code: LLVM IR that is compiled within the process, without a system compiler, and cached on disk.

The cache has two kinds of files. A program is found by the text of its IR, so that all kernels of one structure share
it. A kernel is found by its definition: its file names the program and contains the constants (`constants`).
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
from flexarm.checks import counted
from flexarm.forks import hold_at_forks
from flexarm.native.cache import read, write
from flexarm.native.calls import LANES, ManyStates, OneState
from flexarm.native.code import Code
from flexarm.native.constants import with_constants
from flexarm.native.once import BUILDING, Once
from flexarm.native.sincos import BORDER


@dataclass(frozen=True)
class Source:
    """Input of a compilation.

    It has the IR of one module, or of several with `BORDER` between them, the constants of the program, numbers stored
    with the code, the optimization level of LLVM, and a check of the code, which raises an error if it is wrong.
    """

    ir: str
    facts: dict[str, int] = field(default_factory=dict)
    constants: np.ndarray = field(default_factory=lambda: np.empty(0))
    name: str = "machine code"
    effort: int = 2
    verify: "Callable[[Code], None]" = lambda code: None


def code(key: str, symbols: tuple[str, ...], facts: tuple[str, ...], build: Callable[[], Source]) -> Code:
    """Return the machine code of `key` from the cache, or build and cache it.

    `key` must determine the result of `build`, for this version of flexarm's sources. `symbols` and `facts` are the
    names that the caller needs. A kernel with other names is built again.
    """
    name, compiled = file_name(key), None
    kernel = _kernel_file(read(name))
    if kernel is not None and set(kernel.facts) == set(facts):
        known = _cached(kernel.program, kernel.constants, symbols, kernel.facts, was_cached=True)
        if known is not None:
            return known
    with progress.said("tracing"):
        source = build()
        program = f"{_digest(source.ir, str(source.effort), *_compiler())}.program"
        found = _cached(program, source.constants, symbols, source.facts, was_cached=False)
        if found is None:
            with progress.said(f"compiling {source.name}"):
                compiled = _compile(source.ir, source.effort)
            found = _load(compiled, source.constants, symbols, source.facts, was_cached=False)
    source.verify(found)
    if compiled is not None:
        write(program, compiled)
    head = json.dumps({"program": program, "facts": source.facts}).encode()
    write(name, head + b"\n" + source.constants.tobytes())
    return found


def _cached(
    program: str, constants: np.ndarray, symbols: tuple[str, ...], facts: dict[str, int], was_cached: bool
) -> Code | None:
    """Return a program from the cache with constants, or None if it is missing or lacks a symbol."""
    if (objects := read(program)) is None:
        return None
    found = _load(objects, constants, symbols, facts, was_cached)
    return found if all(found.addresses.values()) else None


def file_name(key: str) -> str:
    """Return the cache's file name of a key for this version of flexarm, of its libraries, and this processor."""
    return f"{_digest(key, *_circumstances())}.bin"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class KernelFile:
    """Content of a kernel's file: the name of its program's file, its facts and its constants."""

    program: str
    facts: dict[str, int]
    constants: np.ndarray


def _kernel_file(content: bytes | None) -> KernelFile | None:
    """Return the parts of a kernel's file, or None if it is not valid."""
    if content is None:
        return None
    head, _, constants = content.partition(b"\n")
    try:
        said = json.loads(head)
        program, facts = said["program"], said["facts"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
    if not isinstance(program, str) or not isinstance(facts, dict) or len(constants) % 8:
        return None
    fits = Path(program).name == program and all(type(value) is int for value in facts.values())
    return KernelFile(program, facts, np.frombuffer(constants)) if fits else None


@cache
def _circumstances() -> tuple[str, ...]:
    """Return everything else on which a kernel's program depends: flexarm's sources, CasADi, the compiler."""
    from importlib import metadata  # here, since it imports the email package

    sources = sources_digest(Path(__file__).parents[1])  # the complete package
    return (sources, metadata.version("casadi"), *_compiler())


@cache
def _compiler() -> tuple[str, ...]:
    """Return everything else on which the machine code of a text depends: LLVM and the processor."""
    from importlib import metadata

    import llvmlite.binding as llvm
    from llvmlite.binding import ffi

    # threads that free machine code hold it, in addition to those that build
    hold_at_forks(ffi.lib._lock, after=BUILDING)  # noqa: SLF001
    features = llvm.get_host_cpu_features().flatten()
    return (metadata.version("llvmlite"), llvm.get_host_cpu_name(), features)


def sources_digest(folder: Path) -> str:
    """Return a digest of all source files below a folder with their paths. Any change invalidates the cache."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


# -- LLVM --------------------------------------------------------------------------------------------------------------


@cache
def target_machine(effort: int = 2) -> Any:
    """Return a compiler for this processor."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=effort, jit=True
    )


def _compile(ir: str, effort: int = 2) -> bytes:
    """Return object files, one per module, each preceded by its length in 8 bytes.

    There are no passes except those of the code generator: others would double the time and gain 5 %.
    """
    import llvmlite.binding as llvm

    machine = target_machine(effort)
    objects = [machine.emit_object(llvm.parse_assembly(module)) for module in ir.split(BORDER)]
    return b"".join(len(each).to_bytes(8, "little") + each for each in objects)


def loaded(ir: str, symbols: tuple[str, ...]) -> Code:
    """Return the machine code of IR that contains addresses of this process, which is not cached."""
    return _load(_compile(ir), np.empty(0), symbols, {}, was_cached=False)


def _objects(machine_code: bytes) -> list[bytes]:
    """Return the object files that `_compile` has concatenated."""
    found = []
    while machine_code:
        end = 8 + int.from_bytes(machine_code[:8], "little")
        found.append(machine_code[8:end])
        machine_code = machine_code[end:]
    return found


def _load(
    machine_code: bytes,
    constants: np.ndarray,
    symbols: tuple[str, ...],
    facts: dict[str, int],
    was_cached: bool,
) -> Code:
    import llvmlite.binding as llvm

    target_machine()
    features = llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True
    )  # an engine takes ownership of its machine
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    for each in with_constants(_objects(machine_code), constants):
        engine.add_object_file(llvm.ObjectFileRef.from_data(each))
    engine.finalize_object()
    addresses = {symbol: engine.get_function_address(symbol) for symbol in symbols}
    return Code(addresses, facts, was_cached, engine)


# -- kernels -----------------------------------------------------------------------------------------------------------

Check = Callable[[Callable[[np.ndarray], np.ndarray]], None]

EFFORT = 1
"""Optimization level of code for one state. Compared with level 2, compiling takes a tenth less time, and the code is
equally fast within a percent. Code for eight states would be up to 4 percent slower."""

FEW = 10_000
"""Largest number of states that code for one state evaluates in a row. To compile code for many states takes longer."""

ENTRIES = ("evaluate", "batch")
FACTS = ("n_in", "n_out", "multiplications", "additions")


@final
class Kernel:
    """A function from n_in to n_out numbers, compiled for one state and, on first use, for many.

    Some of its arguments may be constants w: numbers that follow from parameters, or those of a controller. Their
    values are given by `with_constants`, and kernels of the same code may have different values. Any number of threads
    may use a kernel at once.

    Parameters
    ----------
    key : str
        Definition of the function; see `code`.
    trace : () -> casadi.Function
        Returns the function itself, and is called only if no machine code is cached.
    check : (function of (n_in,) that returns (n_out,)) -> None, optional
        Checks the compiled function before its first use, and raises an error if it is wrong.

    Attributes
    ----------
    key, trace
        As given; code for other devices is generated from them.
    """

    def __init__(self, key: str, trace: Callable[[], Any], check: Check | None = None):
        self.key, self.trace = key, trace
        self._constants: Callable[[], np.ndarray] | None = None
        self._behind = 0
        self._prologue: Kernel | None = None

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
        self._in_parts: Callable[[], OneState] = self._one

    def with_constants(
        self, constants: Callable[[], np.ndarray], behind: int = 0, prologue: "Kernel | None" = None
    ) -> "Kernel":
        """Return a kernel of the same code with given constants w, (n_w,), before its last `behind` arguments.

        `constants` is called on first use. `prologue` is the kernel that computes w from parameters p, if there are
        any.
        """
        made, w = object.__new__(Kernel), Once(constants)

        def in_parts() -> OneState:
            n_in, n_out = (self.code.facts[name] for name in ("n_in", "n_out"))
            return self.one_state([n_in - len(w()) - behind, len(w()), behind], (n_out,))

        vars(made).update(vars(self), _constants=w, _behind=behind, _prologue=prologue, _in_parts=Once(in_parts))
        return made

    def __deepcopy__(self, _: Any) -> "Kernel":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a kernel belongs to its process; pickle the model, the controller or the input")

    @property
    def takes_constants(self) -> bool:
        """True if some of the code's arguments are constants, even if there are none of them."""
        return self._constants is not None

    @property
    def constants(self) -> np.ndarray:
        """Constants w, (n_w,)."""
        return np.empty(0) if self._constants is None else self._constants()

    @property
    def prologue(self) -> "Kernel | None":
        """Kernel that computes w from parameters p, or None."""
        return self._prologue

    def constants_of(self, p: np.ndarray) -> np.ndarray:
        """Return w at other parameters, (..., k) -> (..., n_w); p of doubles."""
        if self._prologue is None:
            return np.empty((*p.shape[:-1], 0))
        rows = p.reshape(-1, p.shape[-1])
        found = self._prologue.one(p.ravel())[None] if len(rows) == 1 else self._prologue.many(rows)
        return found.reshape(*p.shape[:-1], found.shape[-1])

    @property
    def code(self) -> Code:
        """Machine code for one state, which takes all arguments, constants included."""
        return self._one().code

    @property
    def vector_code(self) -> Code:
        """Machine code for `LANES` states at a time, each with its own constants."""
        return self._many().code

    def one(self, x: np.ndarray) -> np.ndarray:
        """Evaluate one state: (n_in,) without the constants -> (n_out,)."""
        return self._in_parts()(self.parts(x))[0]

    def many(self, x: np.ndarray) -> np.ndarray:
        """Evaluate many states: (N, n_in) without the constants -> (N, n_out); x of doubles."""
        return self._rows(x, self._many())

    def few(self, x: np.ndarray) -> np.ndarray:
        """Evaluate states as `many` does, by the code for one state unless there are more than `FEW`.

        A run has compiled this code already.
        """
        return self._rows(x, self._many() if len(x) > FEW else ManyStates(self.code))

    def _rows(self, x: np.ndarray, code: ManyStates) -> np.ndarray:
        parts = self.parts(x)
        if self.takes_constants:
            parts[1] = np.broadcast_to(parts[1], (len(x), len(parts[1])))
        return code(parts)[0]

    def parts(self, x: np.ndarray) -> list[np.ndarray]:
        """Return the arguments of the code in parts: x (..., n_in), with the constants in their place if it has any."""
        if self._constants is None:
            return [x]
        before = x.shape[-1] - self._behind
        return [x[..., :before], self._constants(), x[..., before:]]

    def one_state(self, lengths: Sequence[int], shape: tuple[int, ...]) -> OneState:
        """Return code for one state in parts of these lengths, all arguments together, and a value of this shape."""
        return OneState(self.code, lengths, shape)

    @property
    def many_states(self) -> ManyStates:
        """Code for many states in parts, constants included."""
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
    text, constants = llvm.ir(instructions(function), lanes)
    text += "\n" + batch(n_in, n_out, lanes)

    def check(code: Code) -> None:
        call, width = ManyStates(code), "one state" if lanes == 1 else f"{counted(lanes, 'state')} at once"
        verify(function, lambda x: call([x])[0], width)

    return Source(text, facts, constants, function.name(), EFFORT if lanes == 1 else 2, check)
