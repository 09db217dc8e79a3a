"""Program that reads an untrusted MATLAB file in a process of its own, and writes its arrays as an NPZ file.

`python mat_process.py MOST_BYTES < FILE` writes the NPZ file on standard output. If it cannot, it writes the reason in
one line and ends with status 3. SciPy's reader crashes on damaged files, and a few megabytes may unpack to gigabytes.
In this process neither harms the caller. It imports only SciPy's reader, since the caller waits.

The first array of the NPZ file has a label for each of the others: "", "data", "indices", "indptr" or "shape", a blank,
and the variable's name. The last four are the arrays of a sparse matrix, whose structure the caller checks before use.
A variable that is not an array of numbers becomes a text, which the caller rejects by the field's name.
"""

import contextlib
import io
import os
import sys
from typing import Any

SECONDS, BYTES_A_SECOND = 5, 50_000_000
"""Limit of processor time: seconds to start with, and bytes of the file that each further second allows for."""

COMPRESSION = 1032
"""Largest ratio of unpacked to packed bytes that zlib's format allows."""

PARTS = ("data", "indices", "indptr", "shape")
"""SciPy's names for the arrays of a sparse matrix."""

MEMORY = 1 << 30
"""Address space in bytes for everything except the arrays: Python, SciPy, and working memory of the reader."""

REFUSED = 3
"""Exit status for a wrong file. The reason is on standard output."""


def limit(size: int, most_bytes: int) -> None:
    """Set limits at which the system ends this process, even if its parent is gone.

    The limits exceed the needs of any valid file of this size.
    """
    if sys.platform == "win32":
        return
    import resource

    unpacked = min(most_bytes, COMPRESSION * size)
    limits = {
        resource.RLIMIT_CPU: SECONDS + (size + unpacked) // BYTES_A_SECOND,
        resource.RLIMIT_AS: MEMORY + size + unpacked,
        resource.RLIMIT_CORE: 0,
    }
    for what, most in limits.items():
        soft, hard = resource.getrlimit(what)
        lowest = min(x for x in (most, soft, hard) if x != resource.RLIM_INFINITY)
        with contextlib.suppress(ValueError, OSError):  # macOS rejects an address space below what is already reserved
            resource.setrlimit(what, (lowest, hard))


def arrays(content: bytes, most_bytes: int) -> dict[str, Any]:
    """Return the arrays of a file by their labels. Raises the errors of SciPy, and `ValueError`."""
    import numpy as np
    from scipy.io import loadmat

    found: dict[str, Any] = {}
    for name, value in loadmat(io.BytesIO(content)).items():
        if name.startswith("__"):
            continue
        if hasattr(value, "indptr"):
            found |= {f"{part} {name}": np.asarray(getattr(value, part)) for part in PARTS}
        else:
            numbers = isinstance(value, np.ndarray) and value.dtype.kind in "biufc"
            found[f" {name}"] = value if numbers else np.array("no numbers")
    if sum(each.nbytes for each in found.values()) > most_bytes:
        raise ValueError(f"it is larger than {most_bytes >> 20} MiB when it is unpacked")
    return found


def main(most_bytes: int) -> int:
    content = sys.stdin.buffer.read()
    limit(len(content), most_bytes)
    try:
        found = arrays(content, most_bytes)
    except MemoryError:
        line = f"it takes more memory than {most_bytes >> 20} MiB when it is unpacked"
    except Exception as error:  # SciPy's reader reports damage by many kinds of errors
        line = " ".join(str(error).split()) or type(error).__name__
    else:
        import numpy as np

        np.savez(sys.stdout.buffer, np.array([*found], dtype=str), *found.values())
        sys.stdout.buffer.flush()
        return 0
    sys.stdout.buffer.write(line.encode(errors="replace"))
    sys.stdout.buffer.flush()
    return REFUSED


if __name__ == "__main__":
    os._exit(main(int(sys.argv[1])))  # skips the cleanup of SciPy's reader
