"""NetCDF files with this user's signature, and untrusted files.

A file ends with a seal: the digest of its content, and the digest's signature with the secret of the cache of machine
code. HDF5 ignores the seal, and removes it when the file is changed. A digest shows that a file is unchanged, but not
who wrote it. Files without this user's signature are therefore read in another process.
"""

import hashlib
import io
import os
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from flexarm import child_process
from flexarm.errors import DescriptionError
from flexarm.files import checked_path
from flexarm.native import cache
from flexarm.simulation import rewrite

if TYPE_CHECKING:
    from xarray import Dataset

SEAL = b"\0flexarm digests"
DIGEST = hashlib.sha256().digest_size
SEALED = len(SEAL) + 2 * DIGEST
"""Bytes of a seal: its mark, the digest, and the signature of the digest."""

SIGNED = "result"
"""Purpose of a signature, so that signatures of other data do not match."""

ROOM = 10_000_000
"""Upper bound of a file's size without its numbers [bytes]."""

PATIENCE = child_process.PATIENCE


def image(dataset: "Dataset") -> memoryview:
    """Return a file's content. Raises `MemoryError`.

    The content grows in memory, which is allocated first as a test: HDF5 crashes on a full disk or without memory.
    """
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    np.empty(2 * dataset.nbytes + ROOM, np.uint8)  # twice, because an old and a new buffer exist while it grows
    content = io.BytesIO()
    with h5netcdf.File(content, "w") as file:
        dataset.dump_to_store(H5NetCDFStore(file))
    return content.getbuffer()


def seal(content: bytes | memoryview) -> bytes:
    """Return the seal of a file's content."""
    digest = hashlib.sha256(content).digest()
    return SEAL + digest + cache.signature(SIGNED, digest)


def read(path: str | PathLike[str]) -> "Dataset":
    """Return the content of a NetCDF file. The function ends within seconds, whatever the file's bytes are.

    Raises `DescriptionError` for a file that is missing, damaged, or not a NetCDF file.
    """
    import xarray as xr

    path = checked_path(path)
    if not os.path.isfile(path):
        raise DescriptionError(f"{path}: the file does not exist")
    try:
        source = path if _sealed(path) else io.BytesIO(_rewritten(path))
        with xr.open_dataset(source, engine="h5netcdf", decode_times=False) as dataset:
            return dataset.load()
    except Exception as error:  # HDF5 reports damage by many kinds of errors
        reason = " ".join(str(error).split())
        raise DescriptionError(f"{path}: cannot be read as a result: {reason}") from None


def _sealed(path: str | PathLike[str]) -> bool:
    """Return whether this user has signed a file's seal; raises `ValueError` if the digest does not match."""
    with open(path, "rb") as file:
        rest = os.fstat(file.fileno()).st_size - SEALED
        if rest < 0:
            return False
        file.seek(rest)
        found = file.read(SEALED)
        if not found.startswith(SEAL):
            return False
        file.seek(0)
        digest = hashlib.sha256()
        while rest and (block := file.read(min(rest, 1 << 20))):
            digest.update(block)
            rest -= len(block)
    if not found.startswith(SEAL + digest.digest()):
        raise ValueError("the file is damaged: its content does not match its checksum")
    return cache.is_signed(SIGNED, digest.digest(), found[len(SEAL) + DIGEST :])


def _rewritten(path: str | PathLike[str]) -> bytes:
    """Return a file's content after a process with limits has read and rewritten it.

    Raises `ValueError` if that fails.
    """
    try:
        return child_process.answer(rewrite.__file__, os.path.abspath(path), patience=PATIENCE)
    except child_process.RefusedError as error:
        raise ValueError(str(error)) from None
    except child_process.EndedError as error:
        if error.status is None:
            raise ValueError("reading takes too long") from None
        stuck = error.status == child_process.TOO_LONG
        why = "does not end" if stuck else f"ends with status {error.status}"
        raise ValueError(f"the file is damaged: reading it {why}") from None
