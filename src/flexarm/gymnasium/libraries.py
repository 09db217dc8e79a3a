"""Arrays of NumPy, PyTorch and JAX, which share their memory with each other where they can (DLPack)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault, choices
from flexarm.errors import FlexarmError

LIBRARIES = ("numpy", "torch", "jax")
"""Libraries of arrays."""

ALIGNED = 64
"""Alignment of memory that JAX shares [bytes]. It copies other arrays."""


def arrays_of(library: Any) -> Callable[[Array], Any]:
    """Return the function from arrays of NumPy to those of a library. Raises `Fault` for an unknown library."""
    if not isinstance(library, str) or library not in LIBRARIES:
        raise Fault("as_", f"is {library!r}; it must be {choices(*LIBRARIES)}")
    if library == "numpy":
        return lambda x: x
    try:
        if library == "torch":
            from torch import from_dlpack

            return from_dlpack
        from jax.numpy import from_dlpack as shared
    except ImportError:
        raise FlexarmError(f"as_={library!r} needs a package that is missing: pip install flexarm[{library}]") from None
    return lambda x: shared(aligned(x))


def aligned(x: Array) -> Array:
    """Return an array at an aligned address: itself, or a copy."""
    if x.ctypes.data % ALIGNED == 0 and x.flags.c_contiguous:
        return x
    room = np.empty(x.nbytes + ALIGNED, dtype=np.uint8)
    first = -room.ctypes.data % ALIGNED
    found = room[first : first + x.nbytes].view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


def numbers(x: Any) -> Array:
    """Return an array of any library as doubles of NumPy. Doubles of a CPU are not copied.

    Raises `TypeError` or `ValueError` if these are no numbers, and `BufferError` if they are on another device.
    """
    if hasattr(x, "detach"):  # a tensor of PyTorch, which may belong to a graph of derivatives
        x = x.detach()
    if hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray):
        try:
            x = np.from_dlpack(x)
        except RuntimeError as error:
            raise BufferError(str(error)) from None
    return np.asarray(x, dtype=float)
