"""A separate process that reads an untrusted NetCDF file and writes its content to a new file.

`python rewrite.py FILE` writes the new file to standard output, or ends with status 3 and one line with the reason. A
damaged file can cause infinite loops, huge allocations or crashes in HDF5. In this process they do no harm. Slow
imports are avoided because a caller waits: h5netcdf alone takes a quarter of the time of xarray.
"""

import contextlib
import io
import math
import os
import sys

SECONDS, BYTES_A_SECOND = 5, 10_000_000
"""Limit of processor time [s]: a start-up time, and a rate of reading [bytes/s]."""

MEMORY, MEMORY_A_BYTE = 2 << 30, 16
"""Limit of address space [bytes]: a basic amount, and an amount per byte of the file."""

COMPRESSION = 1100
"""Upper bound of HDF5's compression ratio, which reaches at most 1032."""

REFUSED = 3
"""Exit status for an invalid file. The reason is on standard output."""


def limit(size: int) -> None:
    """Set limits at which the system ends this process, even without its parent, for a file of this size."""
    if sys.platform == "win32":
        return
    import resource

    limits = {
        resource.RLIMIT_CPU: SECONDS + size // BYTES_A_SECOND,
        resource.RLIMIT_AS: MEMORY + MEMORY_A_BYTE * size,
        resource.RLIMIT_CORE: 0,
    }
    for what, most in limits.items():
        soft, hard = resource.getrlimit(what)
        lowest = min(x for x in (most, soft, hard) if x != resource.RLIM_INFINITY)
        with contextlib.suppress(ValueError, OSError):  # macOS rejects an address space below what is already reserved
            resource.setrlimit(what, (lowest, hard))


def check_whole(path: str) -> None:
    """Raise `ValueError` if a file refers to another file, which its reader may access and its writer perhaps not.

    References are links to other files, data stored in another file, and views of other files' data. The check reads
    only the names and follows no reference.
    """
    import h5py

    with h5py.File(path, "r") as file:

        def fault(name: str, link: object) -> str | None:
            if isinstance(link, h5py.ExternalLink):
                return f"{name[:60]!r} is a link to"
            if isinstance(link, h5py.HardLink) and isinstance(found := file[name], h5py.Dataset):
                if found.external:
                    return f"{name[:60]!r} is kept in"
                if found.is_virtual:
                    return f"{name[:60]!r} is a view of"
            return None

        if found := file.visititems_links(fault):
            raise ValueError(f"{found} another file; a result file must contain its numbers itself")


def rewritten(path: str, size: int) -> memoryview:
    """Return a new file with the dimensions, variables and attributes of a file."""
    import h5netcdf

    check_whole(path)
    content = io.BytesIO()
    with h5netcdf.File(path, "r") as old, h5netcdf.File(content, "w") as new:
        declared = sum(math.prod(variable.shape) * variable.dtype.itemsize for variable in old.variables.values())
        if declared > COMPRESSION * size:
            raise ValueError(f"the file declares {declared} bytes of numbers, and has {size} bytes")
        new.dimensions = {name: dimension.size for name, dimension in old.dimensions.items()}
        for name, variable in old.variables.items():
            copy = new.create_variable(name, variable.dimensions, variable.dtype, data=variable[...])
            copy.attrs.update(variable.attrs)
        new.attrs.update(old.attrs)
    return content.getbuffer()


def main(path: str) -> int:
    size = os.path.getsize(path)
    limit(size)
    try:
        content: bytes | memoryview = rewritten(path, size)
        status = 0
    except MemoryError:
        content, status = b"it takes too much memory", REFUSED
    except Exception as error:  # HDF5 reports damage by many kinds of errors
        content, status = str(error).encode(errors="replace"), REFUSED
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
    return status


if __name__ == "__main__":  # pragma: no cover  (runs in a process that ends without a record)
    os._exit(main(sys.argv[1]))  # skips the closing of HDF5's open objects, which may crash
