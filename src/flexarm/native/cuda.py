"""Kernels on a graphics processor, through the driver's interface `cuda-core`, NVIDIA's package (extra `gpu`).

The driver compiles PTX when it is loaded, and caches the result. All launches and copies are in one stream, and finish
before results are read. The environment variable CUDA_VISIBLE_DEVICES selects one of several processors.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import DescriptionError
from flexarm.native.cache import read, write
from flexarm.native.kernel import file_name
from flexarm.native.nvptx import ARCH, Entry, ptx
from flexarm.native.once import Recent
from flexarm.native.sincos import Real

GENERATION = (8, 0)
"""Oldest supported compute capability, the target of the generated PTX."""

LEAST = 8
"""Size that replaces an allocation of zero bytes."""

LOADED = 20
"""Number of programs that stay loaded."""

_loaded: "Recent[Any]" = Recent(LOADED)


class Memory(Protocol):
    """An array in a device's memory."""

    @property
    def address(self) -> int:
        """Address on the device."""


@final
@dataclass(frozen=True)
class View:
    """Place of an array that belongs to another library.

    Attributes
    ----------
    address : int
        Address of the first number on the device.
    shape, strides : tuple of int
        Lengths of the axes, and the distances between neighbours along each, in numbers.
    dtype : numpy.dtype
        Type of the numbers.
    owner : object
        Keeps the array alive.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
    owner: Any


class Launch(Protocol):
    """A kernel. A call starts it, and `Device.get` waits for its end."""

    def __call__(self, runs: int, memories: Sequence[Memory], integers: Sequence[int]) -> None:
        """Start the kernel with one thread, or several, for each of so many runs or states."""


class Device(Protocol):
    """A device that runs kernels."""

    name: str

    def kernel(self, key: str, parts: Callable[[], Sequence[str]], entry: Entry, real: Real) -> Launch:
        """Return the kernel of an entry, from parts in LLVM IR.

        `key` must determine the parts for this version of flexarm.
        """

    def put(self, values: Array) -> Memory:
        """Return a copy of an array on the device."""

    def room(self, values: Array) -> Memory:
        """Return uninitialized memory of the size of an array."""

    def get(self, memory: Memory, values: Array) -> None:
        """Copy from the device into a contiguous array of the same size, after all work has ended."""

    def array(self, memory: Memory, values: Array, shape: Sequence[int], strides: Sequence[int], first: int) -> Any:
        """Return a part of an array on the device as an object with `__dlpack__`, without a copy.

        `values` has the type of the numbers. `strides` and `first`, the place of the first element, are in numbers.
        """

    def view(self, values: Any) -> "View":
        """Return where an array of another library lies, without a copy. Later launches wait for its numbers.

        Raises `TypeError`, `ValueError` or `BufferError` if the array is not on this device.
        """

    def wait(self) -> None:
        """Wait for all work."""

    def occupancy(self, key: str, parts: Callable[[], Sequence[str]], entry: Entry, real: Real) -> dict[str, int]:
        """Return a compiled kernel's resources: registers, bytes of local memory, and threads per multiprocessor."""


def device() -> Device:
    """Return the graphics processor for the calling thread.

    Raises
    ------
    DescriptionError
        There is none, or software for it is missing.
    """
    return Cuda()


def text(key: str, parts: Callable[[], Sequence[str]], entry: Entry, real: Real) -> str:
    """Return the PTX of an entry from the cache, or generate and cache it."""
    name = file_name(json.dumps(["ptx", key, entry.ir(real), real, ARCH]))
    kept = read(name)
    if kept is None:
        kept = ptx(parts(), [entry], real).encode()
        write(name, kept)
    return kept.decode()


@contextmanager
def _told(doing: str) -> Iterator[None]:
    """Convert an error of the driver to a DescriptionError with one line of text."""
    try:
        yield
    except Exception as error:
        if (
            not isinstance(error, RuntimeError | MemoryError) and type(error).__name__ != "CUDAError"
        ):  # CUDAError has no base class
            raise
        why = " ".join(str(error).split()) or type(error).__name__
        raise DescriptionError(f"device is 'gpu'; {doing}: {why}") from error


@final
class _Memory:
    """Memory that the driver allocated."""

    def __init__(self, buffer: Any):
        self.buffer = buffer

    @property
    def address(self) -> int:
        """Address of the first byte."""
        return int(self.buffer.handle)


@final
class Cuda:
    """The graphics processor, for one thread."""

    def __init__(self) -> None:
        try:
            from cuda import core
        except ImportError as error:
            why = "needs the package cuda-core, which is not installed"
            raise DescriptionError(f"device is 'gpu', which {why}: pip install 'flexarm[gpu]'") from error
        self._core = core
        with _told("no graphics processor of NVIDIA's can be used here"):
            self._device = core.Device()
            self._device.set_current()
            generation = tuple(self._device.compute_capability)
            self.name = str(self._device.name)
            self._stream = self._device.create_stream()
        if generation < GENERATION:
            has, must = (".".join(map(str, each)) for each in (generation, GENERATION))
            raise DescriptionError(
                f"device is 'gpu'; {self.name} has compute capability {has}; at least {must} is needed"
            )

    def kernel(self, key: str, parts: Callable[[], Sequence[str]], entry: Entry, real: Real) -> Launch:
        """See `Device`."""
        kernel = self._kernel(text(key, parts, entry, real), entry)

        def launch(runs: int, memories: Sequence[Memory], integers: Sequence[int]) -> None:
            config = self._core.LaunchConfig(grid=-(-runs // entry.runs), block=entry.threads)
            words = [*(np.uint64(each.address) for each in memories), *map(np.int64, [*integers, runs])]
            with _told("a program could not be started"):
                self._core.launch(self._stream, config, kernel, *words)

        return launch

    def occupancy(self, key: str, parts: Callable[[], Sequence[str]], entry: Entry, real: Real) -> dict[str, int]:
        """See `Device`."""
        kernel = self._kernel(text(key, parts, entry, real), entry)
        blocks = kernel.occupancy.max_active_blocks_per_multiprocessor(entry.threads, 0)
        found = kernel.attributes
        return {"registers": found.num_regs, "local": found.local_size_bytes, "threads": entry.threads * blocks}

    def _kernel(self, written: str, entry: Entry) -> Any:
        def load() -> Any:
            with _told("the driver could not compile the program"):
                # a str would be a file's name
                return self._core.ObjectCode.from_ptx(written.encode()).get_kernel(entry.name)

        return _loaded(f"{self._device.device_id}\n{written}", load)

    def put(self, values: Array) -> Memory:
        """See `Device`."""
        values = np.ascontiguousarray(values)
        memory = self.room(values)
        if values.nbytes:
            with _told("numbers could not be copied there"):
                memory.buffer.copy_from(self._here(values), stream=self._stream)
                self._stream.sync()  # the array may not exist later
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

    def array(self, memory: Memory, values: Array, shape: Sequence[int], strides: Sequence[int], first: int) -> Any:
        """See `Device`."""
        from cuda.core.utils import StridedMemoryView

        assert isinstance(memory, _Memory)
        place, size = memory.address + first * values.itemsize, values.nbytes - first * values.itemsize
        part = self._core.Buffer.from_handle(place, size, owner=memory.buffer)
        return StridedMemoryView.from_buffer(part, tuple(shape), tuple(strides), dtype=values.dtype)

    def view(self, values: Any) -> View:
        """See `Device`."""
        from cuda.core.utils import StridedMemoryView

        found = StridedMemoryView.from_any_interface(values, stream_ptr=int(self._stream.handle))
        if not found.is_device_accessible or found.device_id != self._device.device_id:
            raise BufferError("the array is not on this graphics processor")
        strides = found.strides or tuple(int(np.prod(found.shape[i + 1 :])) for i in range(len(found.shape)))
        return View(found.ptr, tuple(found.shape), tuple(strides), found.dtype, found)

    def wait(self) -> None:
        """See `Device`."""
        with _told("the graphics processor gave up"):
            self._stream.sync()

    def _here(self, values: Array) -> Any:
        """Return an array in the form that the driver takes."""
        return self._core.Buffer.from_handle(values.ctypes.data, values.nbytes, owner=values)
