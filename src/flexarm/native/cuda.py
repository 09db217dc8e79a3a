"""Kernels on a graphics processor, through the driver's own interface: `cuda-core`, NVIDIA's package (extra `gpu`).

The driver compiles PTX when it is loaded and keeps what it made. Whatever is launched or copied stands in one stream,
and is waited for before anything is read. Which processor, where there are several, the environment says
(CUDA_VISIBLE_DEVICES).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, final

import numpy as np

from flexarm.errors import DescriptionError
from flexarm.native.cache import read, write
from flexarm.native.kernel import file_name
from flexarm.native.nvptx import ARCH, THREADS, Entry, ptx
from flexarm.native.once import Recent
from flexarm.native.sincos import Real

Array = np.ndarray

GENERATION = (8, 0)
"""The oldest, as PTX is written for it."""

LEAST = 8
"""Bytes that stand for none."""

LOADED = 20
"""Programs kept loaded."""

_loaded: "Recent[Any]" = Recent(LOADED)


class Memory(Protocol):
    """Where numbers lie on a device."""

    @property
    def address(self) -> int:
        """As a kernel sees it."""


class Launch(Protocol):
    """A kernel: called, it begins; `Device.get` waits for it."""

    def __call__(self, threads: int, memories: Sequence[Memory], integers: Sequence[int]) -> None:
        """For so many threads."""


class Device(Protocol):
    """What runs kernels."""

    name: str

    def kernel(self, key: str, parts: Callable[[], Sequence[str]], entry: Entry, real: Real) -> Launch:
        """The kernel of an entry, of parts in LLVM IR; `key` must determine them, given this version of flexarm."""

    def put(self, values: Array) -> Memory:
        """A copy of an array there."""

    def room(self, values: Array) -> Memory:
        """As much room as an array has, with nothing in it."""

    def get(self, memory: Memory, values: Array) -> None:
        """What lies there, into a contiguous array of that size, once all that was begun has ended."""

    def occupancy(self, key: str, parts: Callable[[], Sequence[str]], entry: Entry, real: Real) -> dict[str, int]:
        """Of a kernel as it was compiled there: registers, bytes of local memory, threads a multiprocessor holds."""


def device() -> Device:
    """The graphics processor, for the thread that asks.

    Raises
    ------
    DescriptionError
        Where there is none, or something is missing to use it.
    """
    return Cuda()


def text(key: str, parts: Callable[[], Sequence[str]], entry: Entry, real: Real) -> str:
    """PTX of an entry, from disk if it is there, else written and put there."""
    name = file_name(json.dumps(["ptx", key, entry.ir(real), real, ARCH]))
    kept = read(name)
    if kept is None:
        kept = ptx(parts(), [entry], real).encode()
        write(name, kept)
    return kept.decode()


@contextmanager
def _told(doing: str) -> Iterator[None]:
    """Say in one line what the driver says in many."""
    try:
        yield
    except Exception as error:
        if (
            not isinstance(error, RuntimeError | MemoryError) and type(error).__name__ != "CUDAError"
        ):  # of no base class
            raise
        why = " ".join(str(error).split()) or type(error).__name__
        raise DescriptionError(f"device is 'gpu'; {doing}: {why}") from error


@final
class _Memory:
    """Memory of the driver's."""

    def __init__(self, buffer: Any):
        self.buffer = buffer

    @property
    def address(self) -> int:
        """Of its first byte."""
        return int(self.buffer.handle)


@final
class Cuda:
    """The graphics processor as one thread uses it."""

    def __init__(self) -> None:
        try:
            from cuda import core
        except ImportError as error:
            why = "needs the package cuda-core, which is not there"
            raise DescriptionError(f"device is 'gpu'; it {why}: pip install 'flexarm[gpu]'") from error
        self._core = core
        with _told("no graphics processor of NVIDIA's can be used here"):
            self._device = core.Device()
            self._device.set_current()
            generation = tuple(self._device.compute_capability)
            self.name = str(self._device.name)
            self._stream = self._device.create_stream()
        if generation < GENERATION:
            has, must = (".".join(map(str, each)) for each in (generation, GENERATION))
            raise DescriptionError(f"device is 'gpu'; {self.name} is of generation {has}, and {must} is the oldest")

    def kernel(self, key: str, parts: Callable[[], Sequence[str]], entry: Entry, real: Real) -> Launch:
        """See `Device`."""
        kernel = self._kernel(text(key, parts, entry, real), entry)

        def launch(threads: int, memories: Sequence[Memory], integers: Sequence[int]) -> None:
            config = self._core.LaunchConfig(grid=-(-threads // THREADS), block=THREADS)
            words = [*(np.uint64(each.address) for each in memories), *map(np.int64, [*integers, threads])]
            with _told("a program could not be started"):
                self._core.launch(self._stream, config, kernel, *words)

        return launch

    def occupancy(self, key: str, parts: Callable[[], Sequence[str]], entry: Entry, real: Real) -> dict[str, int]:
        """See `Device`."""
        kernel = self._kernel(text(key, parts, entry, real), entry)
        blocks = kernel.occupancy.max_active_blocks_per_multiprocessor(THREADS, 0)
        found = kernel.attributes
        return {"registers": found.num_regs, "local": found.local_size_bytes, "threads": THREADS * blocks}

    def _kernel(self, written: str, entry: Entry) -> Any:
        def load() -> Any:
            with _told("the driver could not compile the program"):
                return self._core.ObjectCode.from_ptx(written.encode()).get_kernel(entry.name)  # of str: a file's name

        return _loaded(f"{self._device.device_id}\n{written}", load)

    def put(self, values: Array) -> Memory:
        """See `Device`."""
        values = np.ascontiguousarray(values)
        memory = self.room(values)
        if values.nbytes:
            with _told("numbers could not be copied there"):
                memory.buffer.copy_from(self._here(values), stream=self._stream)
                self._stream.sync()  # the array may be gone later
        return memory

    def room(self, values: Array) -> _Memory:
        """See `Device`."""
        with _told("there is not so much memory"):
            return _Memory(self._device.allocate(values.nbytes or LEAST, stream=self._stream))

    def get(self, memory: Memory, values: Array) -> None:
        """See `Device`."""
        assert isinstance(memory, _Memory) and values.flags.c_contiguous and values.nbytes
        with _told("the graphics processor gave up"):
            self._here(values).copy_from(memory.buffer, stream=self._stream)
            self._stream.sync()

    def _here(self, values: Array) -> Any:
        """An array as the driver sees it."""
        return self._core.Buffer.from_handle(values.ctypes.data, values.nbytes, owner=values)
