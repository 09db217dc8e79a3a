"""A graphics processor played by the processor: the kernels' own LLVM IR, compiled for it, thread by thread.

What differs is where a thread learns its number, and what the instructions round to.
"""

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from flexarm.native import nvptx
from flexarm.native.cuda import View
from flexarm.native.nvptx import Entry

HOST = """
@number = global i64 0
define i64 @thread() alwaysinline {
  %thread = load i64, ptr @number
  ret i64 %thread
}
"""


def compiled(parts: Sequence[str], entry: Entry, real: str) -> tuple[Any, Callable[..., None], Any]:
    """Engine, `void entry(...)` of one thread, and where that thread's number stands."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)
    texts = [*parts, HOST, entry.ir(real, kind="")]
    module = nvptx.joined(texts, [entry.name], machine)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    kinds = [ctypes.c_int64] * (entry.pointers + entry.integers + 1)
    call = ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address(entry.name))
    return engine, call, ctypes.c_int64.from_address(engine.get_global_value_address("number"))


class HostMemory:
    """An array, as it would lie on the other side."""

    def __init__(self, values: np.ndarray):
        self.values = values

    @property
    def address(self) -> int:
        return self.values.ctypes.data


class HostGpu:
    """What `cuda.Cuda` is, without a graphics processor; counts what is launched."""

    name = "processor in the part of a graphics processor"

    def __init__(self) -> None:
        self.kernels: dict[Any, Any] = {}
        self._alone = threading.Lock()
        self.launched: list[tuple[str, int, list[int]]] = []

    def kernel(self, key: str, parts: Callable[[], Sequence[str]], entry: Entry, real: str) -> Callable[..., None]:
        which = key, entry, real
        if which not in self.kernels:
            self.kernels[which] = compiled(parts(), entry, real)
        _, call, number = self.kernels[which]

        def launch(threads: int, memories: Sequence[HostMemory], integers: Sequence[int]) -> None:
            self.launched.append((entry.name, threads, list(integers)))
            blocks = -(-threads // nvptx.THREADS)
            with self._alone:
                for number.value in range(blocks * nvptx.THREADS):  # the last block's idle threads among them
                    call(*(each.address for each in memories), *integers, threads)

        return launch

    def put(self, values: np.ndarray) -> HostMemory:
        return HostMemory(np.array(values, order="C", copy=True))

    def room(self, values: np.ndarray) -> HostMemory:  # what lay there before
        return HostMemory(np.full_like(values, 77))

    def get(self, memory: HostMemory, values: np.ndarray) -> None:
        assert memory.values.nbytes == values.nbytes
        values[...] = memory.values

    def array(self, memory, values, shape, strides, first):
        of = memory.values.reshape(-1).view(values.dtype)[first:]
        return np.lib.stride_tricks.as_strided(of, shape, [of.itemsize * each for each in strides])

    def view(self, values: Any) -> View:
        of = np.from_dlpack(values)
        return View(of.ctypes.data, of.shape, tuple(each // of.itemsize for each in of.strides), of.dtype, of)

    def wait(self) -> None:
        """Do nothing, as each launch has ended when it returns."""

    def occupancy(self, *program: Any) -> dict[str, int]:
        return {"registers": 16, "local": 0, "threads": 1}
