"""Native code as a function that compiled programs of JAX call themselves, without Python (XLA's foreign functions).

XLA calls a handler with the address of a frame, which names the arguments and results; the records here have the words
of its C interface, `xla/ffi/api/c_api.h`. A handler consists of two parts. `handled` is the same for all kernels. A
caller, made for each kernel, has the address of the kernel's record and memory for the job of `batch`.
"""

import ctypes  # noqa: TID251  (JAX takes addresses of functions in this form)
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from flexarm.native.calls import LANES
from flexarm.native.code import Address, Code
from flexarm.native.functions import translated
from flexarm.native.kernel import Kernel, file_name, loaded
from flexarm.native.language import Floats, Placed, Words, call
from flexarm.native.once import Once

HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


@dataclass
class Metadata:
    """Data of a handler: the version of the interface, in two halves of a word, and its properties."""

    size: int
    version_size: int
    version_extension: int
    version: int
    traits: int
    state: int


@dataclass
class Extension:
    """The extension of a frame, by which XLA asks for the metadata."""

    size: int
    kind: int
    following: int
    metadata: Metadata


@dataclass
class Buffer:
    """An array: the type of its numbers, their address, and its shape."""

    size: int
    extension: int
    kind: int
    data: Floats
    rank: int
    shape: Words


@dataclass
class Frame:
    """The frame of a call: its arguments and results, each with a size, an extension, a count and kinds before."""

    size: int
    extension: Extension
    api: int
    context: int
    stage: int
    args_size: int
    args_extension: int
    args_count: int
    args_kinds: int
    args: Sequence[Buffer]
    rets_size: int
    rets_extension: int
    rets_count: int
    rets_kinds: int
    rets: Sequence[Buffer]


@dataclass
class Located(Buffer):
    """A `Buffer` whose address is a number."""

    data: int  # type: ignore[assignment]


@dataclass
class Places(Frame):
    """A `Frame` whose extension and buffers are numbers."""

    extension: int  # type: ignore[assignment]
    args: Sequence[Located]  # type: ignore[assignment]
    rets: Sequence[Located]  # type: ignore[assignment]


@dataclass
class Foreign:
    """A kernel: the version of the interface, and its code for one state and for `LANES` states at a time."""

    version: int
    one: Address
    many: Address
    lanes: int


def handled(frame: Frame, places: Places, made: Foreign, job: Words) -> None:
    """Evaluate a kernel for all rows of its arguments, or give the metadata that XLA asks for.

    A row of an argument is its last axis. An argument with one row is the same for all. Rows with NaN or infinity get
    NaN.
    """
    if places.extension != 0:
        frame.extension.metadata.version = made.version
        frame.extension.metadata.traits = 0
        return
    rows = rows_of(frame.rets[0])
    if rows == 0:
        return
    job[0] = 0
    job[1] = rows
    job[2] = places.rets[0].data
    parts = 0
    for i in range(frame.args_count):
        width = width_of(frame.args[i])
        if width > 0:
            job[4 + 4 * parts] = places.args[i].data
            job[5 + 4 * parts] = width
            job[6 + 4 * parts] = 0 if rows_of(frame.args[i]) == 1 else 8 * width
            job[7 + 4 * parts] = 8
            parts = parts + 1
    job[3] = parts
    if rows < made.lanes:
        call(made.one, job)
    else:
        call(made.many, job)
    for i in range(frame.args_count):
        width, count = width_of(frame.args[i]), rows_of(frame.args[i])
        for r in range(count):
            wrong = 0.0
            for j in range(width):
                wrong = wrong + (frame.args[i].data[r * width + j] - frame.args[i].data[r * width + j])
            if wrong != 0.0:
                spoil(frame.rets[0].data, width_of(frame.rets[0]), r, rows, count, wrong)


def width_of(x: Buffer) -> int:
    """Return the length of the last axis."""
    return x.shape[x.rank - 1]


def rows_of(x: Buffer) -> int:
    """Return the number of rows, over all axes but the last."""
    count = 1
    for d in range(x.rank - 1):
        count = count * x.shape[d]
    return count


def spoil(y: Floats, width: int, row: int, rows: int, count: int, nan: float) -> None:
    """Write NaN to a row of results, or to all of them if the argument has one row."""
    first = row if count > 1 else 0
    end = row + 1 if count > 1 else rows
    for k in range(first * width, end * width):
        y[k] = nan


CODE = Once(lambda: translated(handled))

CALLER = """
define ptr @caller(ptr %frame) {{
  %job = alloca [{words} x i64], align 8
  %handled = inttoptr i64 {handled} to ptr
  %made = inttoptr i64 {made} to ptr
  call void %handled(ptr %frame, ptr %frame, ptr %made, ptr %job)
  ret ptr null
}}
"""
"""Handler of one kernel in LLVM IR. A result of null means that there is no error."""


@dataclass(frozen=True)
class Target:
    """A registered handler, with everything that must stay in memory while XLA may call it."""

    name: str
    caller: Code
    made: Placed
    codes: tuple[Code, ...]


TARGETS: dict[str, Once[Target]] = {}
"""Registered handlers by their names. XLA may call them until the process ends."""


def version() -> int:
    """Return the version of the interface of the installed JAX as a word: the major one in its lower half."""
    text = (Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text()
    major, minor = (int(re.findall(rf"define XLA_FFI_API_{part} (\d+)", text)[0]) for part in ("MAJOR", "MINOR"))
    return major + minor * 2**32


def target(kernel: Kernel, arguments: int) -> Target:
    """Return the handler of a kernel with a number of arguments, constants included, and register it on first use.

    Its name determines the kernel's code, so that programs which JAX stores on disk find the same code or none.
    """
    name = f"flexarm_{arguments}_{file_name(kernel.key).removesuffix('.bin')}"
    return TARGETS.setdefault(name, Once(lambda: registered(name, kernel, arguments)))()


def registered(name: str, kernel: Kernel, arguments: int) -> Target:
    """Return a new handler after it is registered."""
    codes = kernel.code, kernel.vector_code, CODE()
    one, many = (code.addresses["batch"] for code in codes[:2])
    made = Placed(Foreign(version(), one, many, LANES))
    words = {"words": 4 + 4 * arguments, "handled": codes[2].addresses["handled"], "made": made.address}
    caller = loaded(CALLER.format(**words), ("caller",))
    handler = jax.ffi.pycapsule(HANDLER(caller.addresses["caller"]))
    jax.ffi.register_ffi_target(name, handler, platform="cpu")
    return Target(name, caller, made, codes)


def foreign(kernel: Kernel, arguments: int) -> Callable[..., Any]:
    """Return a kernel as a function of JAX arrays of doubles (..., n), its constants included: (..., n_out)."""
    found, size = target(kernel, arguments), kernel.code.facts["n_out"]

    def value(*arrays: Any) -> Any:
        shape = max((x.shape[:-1] for x in arrays), key=len)
        result = jax.ShapeDtypeStruct((*shape, size), float)
        return jax.ffi.ffi_call(found.name, result, vmap_method="broadcast_all")(*arrays)

    return value
