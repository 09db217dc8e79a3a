"""Exchange of readings and outputs with the controller's process: datagrams, or shared memory."""

import ctypes  # noqa: TID251  (calls what was compiled here)
import mmap
import os
import shutil
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, final

import numpy as np

from flexarm.arrays import Array
from flexarm.exports.controller.library import Board
from flexarm.exports.controller.programs import HELLO, MAGIC, NOTHING, STOP, offsets

MEMORY = Path("/dev/shm")  # noqa: S108  (the folder of shared memory on Linux; its files get names of their own)
"""Folder whose files are in memory and never on a disk, where there is one."""

MOST_STATUS = 31
"""Largest status of a sample, the sum of all flags of the watchdog."""

BRIDGE = """#define _POSIX_C_SOURCE 200809L
#include "NAME_shared.h"
void flexarm_publish(uint64_t *block, const uint64_t *words, int count);
int flexarm_await(const uint64_t *block, uint64_t *words, int count, uint64_t last, double seconds);
void flexarm_store(uint64_t *word, uint64_t value);
uint64_t flexarm_load(const uint64_t *word);
void flexarm_publish(uint64_t *block, const uint64_t *words, int count) { NAME_publish(block, words, count); }
int flexarm_await(const uint64_t *block, uint64_t *words, int count, uint64_t last, double seconds)
{
    return NAME_await(block, words, count, last, seconds);
}
void flexarm_store(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }
uint64_t flexarm_load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
"""
"""C with which Python writes and reads shared memory, by the functions of NAME_shared.h."""


INVALID = (np.zeros(0), -1)
"""Result for an answer of the controller's program that is not the outputs of a sample."""


class Transport(Protocol):
    """Line between the arm and the controller's process."""

    address: str
    """Argument of the controller's program."""

    def greeted(self, seconds: float) -> bool:
        """Wait for the first sign of the controller's program, and return whether it came."""

    def send(self, k: int, y: Sequence[float] | Array) -> None:
        """Send the readings of a sample."""

    def answer(self, k: int, until: float) -> tuple[Array, int] | None:
        """Return the outputs (m,) and the status of a sample, or None if they do not come until this time.

        The result is `INVALID` for an answer that is none. Raises `OSError` if the program has ended.
        """

    def stop(self) -> None:
        """Tell the controller's program to end."""

    def close(self) -> None:
        """Release what the line holds."""


@final
class Udp:
    """Datagrams on the loopback interface."""

    def __init__(self, ny: int, m: int):
        self._question, self._answer, self._m = struct.Struct(f"=Q{ny + 1}d"), struct.Struct(f"=Q{m}dQ"), m
        self._line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._line.bind(("127.0.0.1", 0))
        self.address = str(self._line.getsockname()[1])

    def greeted(self, seconds: float) -> bool:
        self._line.settimeout(seconds)
        try:
            data, sender = self._line.recvfrom(65536)
        except TimeoutError:
            return False
        if len(data) != self._answer.size or self._answer.unpack(data)[0] != HELLO:
            return False
        self._line.connect(sender)
        return True

    def send(self, k: int, y: Sequence[float] | Array) -> None:
        self._line.send(self._question.pack(k, *y, 0.0))

    def answer(self, k: int, until: float) -> tuple[Array, int] | None:
        while (left := until - time.perf_counter()) > 0.0:
            self._line.settimeout(left)
            try:
                data = self._line.recv(65536)
            except TimeoutError:
                return None
            if len(data) != self._answer.size:
                return INVALID
            number, *u, status = self._answer.unpack(data)
            if number == k:
                return _valid(np.array(u), status)
            if number > k and number != HELLO:
                return INVALID
        return None

    def stop(self) -> None:
        self.send(STOP, [0.0] * (self._question.size // 8 - 2))

    def close(self) -> None:
        self._line.close()


@final
class SharedMemory:
    """Words in a file in memory, with a sequence for each block; NAME_shared.h documents the layout."""

    def __init__(self, found: Board, bridge: Any, folder: Path):
        self._readings, self._outputs, count = offsets(found)
        self._ny, self._m, self._bridge = len(found.inputs.names), len(found.model.inputs), bridge
        file = folder / "memory"
        self.address = str(file)
        self._words = mapped(file, count)
        for block in (self._readings, self._outputs):
            self._words[block + 1] = NOTHING
        self._words[1:3] = self._ny, self._m
        self._words[3:4].view(float)[:] = found.feedback.period
        self._sent = np.zeros(1 + self._ny, dtype=np.uint64)
        self._got = np.zeros(2 + self._m, dtype=np.uint64)
        self._last = NOTHING
        bridge.flexarm_store(address(self._words), MAGIC)

    def greeted(self, seconds: float) -> bool:
        return self._next(seconds) and self._last == HELLO

    def send(self, k: int, y: Sequence[float] | Array) -> None:
        self._sent[0] = k
        self._sent[1:].view(float)[:] = y
        self._bridge.flexarm_publish(address(self._words, self._readings), address(self._sent), 1 + self._ny)

    def answer(self, k: int, until: float) -> tuple[Array, int] | None:
        while (left := until - time.perf_counter()) > 0.0:
            if not self._next(left):
                return None
            if self._last == k:
                return _valid(self._got[1:-1].view(float).copy(), int(self._got[-1]))
            if self._last > k and self._last != HELLO:
                return INVALID
        return None

    def _next(self, seconds: float) -> bool:
        """Wait for another block of outputs, and return whether it came."""
        block, got = address(self._words, self._outputs), address(self._got)
        came = bool(self._bridge.flexarm_await(block, got, 2 + self._m, self._last, seconds))
        self._last = int(self._got[0]) if came else self._last
        return came

    def stop(self) -> None:
        self.send(STOP, [0.0] * self._ny)

    def close(self) -> None:
        pass  # the folder of the file is removed by whoever made it


def _valid(u: Array, status: int) -> tuple[Array, int]:
    """Return outputs and status, or `INVALID` if they are not those of a controller."""
    if status > MOST_STATUS or not np.isfinite(u).all():
        return INVALID
    return u, status


def load_bridge(path: Path) -> Any:
    """Return the compiled functions of `BRIDGE`."""
    library = ctypes.CDLL(str(path))  # noqa: TID251
    word, number = ctypes.c_uint64, ctypes.c_void_p
    library.flexarm_publish.argtypes, library.flexarm_publish.restype = [number, number, ctypes.c_int], None
    library.flexarm_await.argtypes = [number, number, ctypes.c_int, word, ctypes.c_double]
    library.flexarm_store.argtypes, library.flexarm_store.restype = [number, word], None
    library.flexarm_load.argtypes, library.flexarm_load.restype = [number], word
    return library


def mapped(file: Path, count: int) -> Array:
    """Create a file of this many words, all zero, and return them as an array that other processes share.

    Raises `OSError` if there is no room.
    """
    with file.open("xb+") as opened:
        if hasattr(os, "posix_fallocate"):  # otherwise a full disk would end the process at its first write
            os.posix_fallocate(opened.fileno(), 0, 8 * count)
        else:
            opened.truncate(8 * count)
        return np.frombuffer(mmap.mmap(opened.fileno(), 8 * count), dtype=np.uint64)


def memory_folder(size: int) -> str | None:
    """Return the folder of shared memory if it has room for these bytes twice, or None for the usual folder."""
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 2 * size:
        return str(MEMORY)
    return None


def address(words: Array, i: int = 0) -> int:
    """Return the address of a word of an array."""
    return int(words.ctypes.data) + 8 * i
