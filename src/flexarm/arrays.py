"""The type of arrays in signatures, whose shapes and units are in the docstrings, and their addresses."""

import ctypes  # noqa: TID251  (the address of an array, for native code)

import numpy as np

Array = np.ndarray


def address_of(array: Array) -> int:
    """Return `array.ctypes.data`, the address of the first number, in a third of its time."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]  # arrays are buffers
    except (TypeError, ValueError, BufferError):  # read-only, empty, or not in one piece
        return int(array.ctypes.data)
