"""NVIDIA's package for Python over this processor's memory: kernels are interpreted, and calls are checked."""

import ctypes
import weakref

import numpy as np
import ptx as emulated


class FakeCuda:
    """`cuda` with `core` as cuda-core 1.2 has it, over this processor's memory; it checks what it is given.

    As there, copies and launches are begun in their order and have ended only when they are waited for.
    """

    def __init__(self, error=None, generation=(9, 0)):
        self.core, self.error, self.generation, self.launched, self.begun = self, error, generation, [], []
        self.ObjectCode = self.LaunchConfig = self.Buffer = self
        emulated.ALLOCATED.clear()

    def Device(self):
        if self.error:
            raise self.error
        return self

    device_id, name = 0, "a test's"
    compute_capability = property(lambda self: self.generation)

    def set_current(self):
        pass

    def create_stream(self):
        return self

    def sync(self):
        while self.begun:
            self.begun.pop(0)()

    def allocate(self, size, *, stream):
        assert size > 0
        assert stream is self
        buffer = FakeBuffer(ctypes.create_string_buffer(size), size)
        emulated.ALLOCATED[buffer.handle] = size
        return buffer

    def from_handle(self, pointer, size, owner):
        assert pointer == owner.ctypes.data
        assert size == owner.nbytes
        assert owner.flags.c_contiguous
        return FakeBuffer(weakref.ref(owner), size, pointer)

    def from_ptx(self, text):
        assert isinstance(text, bytes)
        self.text = text.decode()
        return self

    def get_kernel(self, name):
        assert f".visible .entry {name}(" in self.text
        return emulated.Kernel(self.text, name)

    def __call__(self, grid, block):
        return grid * block

    def launch(self, stream, config, kernel, *words):
        assert stream is self
        assert all(type(each) in (np.int64, np.uint64) for each in words)
        self.launched.append((config, kernel.name))
        assert len(self.begun) < 100, "nobody waits"
        self.begun.append(lambda: kernel(config, words))


class FakeBuffer:
    """Memory of the driver's, or an array's for as long as there is that array."""

    def __init__(self, owner, size, pointer=None):
        self.owner, self.size, self.handle = owner, size, pointer or ctypes.addressof(owner)

    def copy_from(self, other, *, stream):
        assert self.size == other.size
        of = [each.owner for each in (self, other)]

        def copied():
            assert all(each() is not None for each in of if isinstance(each, weakref.ref)), "the array is gone"
            ctypes.memmove(self.handle, other.handle, self.size)

        stream.begun.append(copied)
