"""CyRK's solvers in machine code, without its Python package, whose import of numba takes as long as a run.

The functions are found in CyRK's library by their C++ symbol names. These names include the argument types, so a
function with other arguments is not found. The package itself is imported if the symbols are missing (Windows uses
other names), or if the processor may lack instructions that CyRK was compiled for. The package then finds the functions
or raises an error.
"""

import ctypes  # noqa: TID251  (calls a library installed by pip)
from collections.abc import Callable
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

SOLVE = "_Z17numba_cysolve_ivpPFvPddS_PcPFvS0_dS_S0_EEddS_m9ODEMethodmmS0_mmmbS_mS2_P5EventmS_mS_mddb"
"""Symbol name in the library of the function that the package calls `c_numba_cysolve_ivp`."""

Address, Count, Flag, Real = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_bool, ctypes.c_double


class Entries(NamedTuple):
    """CyRK's functions. `solve` returns the address of a result, which the other functions take and `free` releases."""

    solve: Callable[..., int | None]
    success: Callable[[int | None], bool]
    size: Callable[[int | None], int]
    steps: Callable[[int | None], int]
    y: Callable[[int | None], Any]
    message: Callable[[int | None, int, int], None]
    free: Callable[[int | None], None]


@cache
def entries() -> Entries:
    """Return the functions. Raise ImportError if CyRK is not installed or does not support this processor."""
    return _exported() or _imported()


def _exported() -> Entries | None:
    """Return the functions from the library, or None if a symbol or a processor feature is missing."""
    import llvmlite.binding as llvm

    package = find_spec("CyRK")
    if package is None or package.origin is None or not llvm.get_host_cpu_features().get("avx2", True):
        return None
    files = [Path(package.origin).parent / "nb" / f"numba_c_api{suffix}" for suffix in EXTENSION_SUFFIXES]
    try:
        library = ctypes.CDLL(str(next(filter(Path.is_file, files))))  # noqa: TID251  (found as an import finds it)

        def entry(name: str, result: Any, *arguments: Any) -> Any:
            return ctypes.CFUNCTYPE(result, *arguments)((name, library))

        several = (Address, Count)
        return Entries(
            entry(
                SOLVE,
                Address,
                *(Address, Real, Real, *several, ctypes.c_int),
                *(Count, Count, *several, Count, Count, Flag, *several),
                *(Address, *several, *several, *several, Real, Real, Flag),
            ),
            entry("_Z20cysolver_get_successPv", Flag, Address),
            entry("_Z17cysolver_get_sizePv", Count, Address),
            entry("_Z24cysolver_get_steps_takenPv", Count, Address),
            entry("_Z18cysolver_get_y_ptrPv", ctypes.POINTER(Real), Address),
            entry("_Z27cysolver_get_message_bufferPvPcm", None, Address, Address, Count),
            entry("_Z13cysolver_freePv", None, Address),
        )
    except (StopIteration, OSError, AttributeError):
        return None


def _imported() -> Entries:
    """Return the functions from the package."""
    from CyRK.nb import numba_solver as nb

    seen = (nb.c_get_success, nb.c_get_size, nb.c_get_steps, nb.c_get_y_ptr, nb.c_get_msg_buf)
    return Entries(nb.c_numba_cysolve_ivp, *seen, nb.c_free)
