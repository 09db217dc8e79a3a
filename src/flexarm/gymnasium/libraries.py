"""Arrays of NumPy, PyTorch and JAX, which share their memory with each other where they can (DLPack)."""

from collections.abc import Callable
from typing import Any, get_args

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault, choices
from flexarm.errors import FlexarmError
from flexarm.native.sincos import Real

LIBRARIES = ("numpy", "torch", "jax", "dlpack")
"""Libraries of arrays; arrays with DLPack belong to none."""

DEVICES = ("cpu", "gpu")
"""Processors that move arms."""

PRECISIONS: tuple[str, ...] = get_args(Real)
"""Precisions of environments on a graphics processor. The mixed one of `simulate_many` is for its own kernels."""

ALIGNED = 64
"""Alignment of memory that JAX shares [bytes]. It copies other arrays."""


def arrays_of(library: Any) -> Callable[[Array], Any]:
    """Return the function from arrays of NumPy to those of a library. Raises `Fault` for an unknown library."""
    if not isinstance(library, str) or library not in LIBRARIES:
        raise Fault("as_", f"is {library!r}; it must be {choices(*LIBRARIES)}")
    if library in ("numpy", "dlpack"):
        return lambda x: x
    try:
        if library == "torch":
            from torch import from_dlpack

            return from_dlpack
        from jax.numpy import from_dlpack as shared
    except ImportError:
        what = f"as_={library!r} needs a package that is missing"
        raise FlexarmError(f"{what}: pip install 'flexarm[{library}]'") from None
    return lambda x: shared(aligned(x) if isinstance(x, np.ndarray) else x)


def check_device(device: Any, real: Any, library: Any) -> None:
    """Raise `Fault` if there is no such device, or if it has no such numbers or arrays."""
    if not isinstance(device, str) or device not in DEVICES:
        raise Fault("device", f"is {device!r}; it must be {choices(*DEVICES)}")
    if not isinstance(real, str) or real not in PRECISIONS:
        raise Fault("real", f"is {real!r}; it must be {choices(*PRECISIONS)}")
    if device == "gpu" and library == "numpy":
        raise Fault("as_", "is 'numpy', whose arrays are on the CPU; with device='gpu' it must be torch, jax or dlpack")
    if device == "cpu" and real != "double":
        raise Fault("real", f"is {real!r}; on the CPU it must be 'double'")


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
