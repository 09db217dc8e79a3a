"""A graphics processor played by the processor: the kernels' own LLVM IR, compiled for it, thread by thread.

What differs is where a thread learns its number, and what the instructions round to. The threads of a block with
barriers are threads of this process.
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

LIBC = ctypes.CDLL(None)
KEY = ctypes.c_uint()
LIBC.pthread_key_create(ctypes.byref(KEY), None)

TOGETHER = f"""
@meeting = global ptr null
@votes = internal global i64 0
declare i64 @pthread_getspecific(i32)
declare i32 @pthread_barrier_wait(ptr)
define i64 @thread() alwaysinline {{
  %number = call i64 @pthread_getspecific(i32 {KEY.value})
  %run = lshr i64 %number, 8
  ret i64 %run
}}
define i64 @part() alwaysinline {{
  %number = call i64 @pthread_getspecific(i32 {KEY.value})
  %part = and i64 %number, 255
  ret i64 %part
}}
define void @barrier() alwaysinline {{
  %meeting = load ptr, ptr @meeting
  %met = call i32 @pthread_barrier_wait(ptr %meeting)
  ret void
}}
define i64 @any_of(i64 %flag) alwaysinline {{
  %before = atomicrmw or ptr @votes, i64 %flag seq_cst
  call void @barrier()
  %votes = load volatile i64, ptr @votes
  call void @barrier()
  store volatile i64 0, ptr @votes
  call void @barrier()
  ret i64 %votes
}}
"""
"""Threads of a block: their number is the run times 256, plus the part."""


def compiled(parts: Sequence[str], entry: Entry, real: str) -> tuple[Any, Callable[..., None], Any]:
    """Engine, `void entry(...)` of one thread, and where its number stands, or the barrier of a block's threads."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)
    texts = [*parts, HOST if entry.parts == 1 else TOGETHER, entry.ir(real, kind="")]
    module = nvptx.joined(texts, [entry.name], machine)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    kinds = [ctypes.c_int64] * (entry.pointers + entry.integers + 1)
    call = ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address(entry.name))
    name = "number" if entry.parts == 1 else "meeting"
    return engine, call, ctypes.c_int64.from_address(engine.get_global_value_address(name))


def block(call: Callable[[], None], runs: range, parts: int, meeting: ctypes.c_int64) -> None:
    """Run the threads of a block at the same time."""
    barrier = ctypes.create_string_buffer(64)
    LIBC.pthread_barrier_init(barrier, None, len(runs) * parts)
    meeting.value = ctypes.addressof(barrier)

    def thread(number: int) -> None:
        LIBC.pthread_setspecific(KEY, ctypes.c_void_p(number))
        call()

    threads = [threading.Thread(target=thread, args=(256 * run + part,)) for run in runs for part in range(parts)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


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
            with self._alone:
                if entry.parts > 1:
                    words = [*(each.address for each in memories), *integers, threads]
                    for first in range(0, threads, entry.runs):  # one idle run in the last block, not all
                        runs = range(first, min(first + entry.runs, threads + 1))
                        block(lambda: call(*words), runs, entry.parts, number)
                    return
                blocks = -(-threads // nvptx.THREADS)
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
