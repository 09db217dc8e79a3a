"""Cache of machine code on disk. Cached code runs without further checks, so only the user may be able to write it.

The folder belongs to the user alone. Each file is signed with a secret key beside it that only the user can read. A
file that another account wrote, that is damaged, or that belongs under another name has no valid signature and is
ignored. Any failure of the cache only costs the time of another compilation.
"""

import hashlib
import hmac
import io
import os
import stat
import sys
import warnings
from pathlib import Path

from flexarm.errors import DescriptionError, NotCached
from flexarm.files import write_whole

if sys.platform != "win32":  # pragma: no branch  (Windows has no fcntl)
    import fcntl

KEY_FILE = "secret"
SIZE = 32
"""Length of the secret, and of a signature [bytes]."""

LARGEST = 2**28
"""Largest size of a file [bytes]; the code of an arm of a hundred links takes a tenth of it."""

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def cache_folder() -> Path | None:
    """Return the folder of the cache: $FLEXARM_CACHE, or the system's cache folder, or None if there is none."""
    if chosen := os.environ.get("FLEXARM_CACHE"):
        return Path(chosen)
    try:
        if sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home folder
        return None
    return base / "flexarm"


def read(name: str) -> bytes | None:
    """Return the content that `write` stored under this name, or None if it is missing or not valid."""
    folder = cache_folder()
    try:
        if folder is None or not _is_private(folder):
            return None
        path = folder / name
        if not _is_file(path.stat()):
            return None
        content, key = path.read_bytes(), _secret(folder)
    except OSError:
        return None
    signature, kept = content[:SIZE], content[SIZE:]
    return kept if hmac.compare_digest(signature, _signature(key, name, kept)) else None


def write(name: str, content: bytes) -> None:
    """Store content under a name. A failure leaves the cache unchanged."""
    folder = cache_folder()
    try:
        if folder is None:
            return
        folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
        if _is_private(folder):
            if (folder / name).exists() and not (folder / name).is_file():
                (folder / name).unlink()  # a pipe, which only the user can have created
            write_whole(folder / name, _signature(_secret(folder), name, content), content)
    except (OSError, DescriptionError):  # no such folder, not writable, or full
        pass


def signature(name: str, content: bytes) -> bytes:
    """Return the signature of data that is stored elsewhere, or zeros if there is no secret to sign with."""
    folder = cache_folder()
    try:
        if folder is not None:
            folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
            if _is_private(folder):
                return _signature(_secret(folder), name, content)
    except OSError:  # no such folder, not writable, or full
        pass
    return bytes(SIZE)


def is_signed(name: str, content: bytes, given: bytes) -> bool:
    """Return whether `signature` gave this value, on this machine and to this user."""
    return any(given) and hmac.compare_digest(given, signature(name, content))


def _signature(key: bytes, name: str, content: bytes) -> bytes:
    return hmac.digest(key, name.encode() + b"\0" + content, hashlib.sha256)


def _is_private(folder: Path) -> bool:
    """Return True if only the user can write into a folder. Otherwise warn once that the folder is not used."""
    status = folder.stat()
    if not _belongs_to_others(status, OTHERS_WRITE):
        return True
    if folder not in _refused:
        _refused.add(folder)
        why = f"the cache folder {str(folder)!r} belongs to another user or can be written by others"
        mend = "make it yours alone (chmod 700), or name another in FLEXARM_CACHE"
        warnings.warn(f"{why}; compiled code is not cached: {mend}", NotCached, stacklevel=2)
    return False


_refused: set[Path] = set()


def _secret(folder: Path) -> bytes:
    """Return the key of a folder's signatures. The first caller creates the key, also if several call at once."""
    path = folder / KEY_FILE
    with _opened(path) as file:
        status = os.fstat(file.fileno())
        if not _is_file(status) or _belongs_to_others(status, OTHERS):
            path.unlink()  # another user may have read it and could sign; the next call creates a new one
            raise PermissionError(f"{path} is no secret")
        found = file.read(SIZE)
        if len(found) == SIZE:
            return found
        if sys.platform != "win32":  # pragma: no branch  (Windows has no fcntl)
            fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        found = file.read(SIZE)
        if len(found) != SIZE:  # no other process has created it meanwhile
            found = os.urandom(SIZE)
            file.seek(0)
            file.write(found)
        return found


def _opened(path: Path) -> io.FileIO:
    """Open a file that only the user can read, without a buffer. Create an empty one if it is missing."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), stat.S_IRUSR | stat.S_IWUSR)
    except OSError:  # a read-only folder
        return open(path, "rb", buffering=0)
    return open(handle, "r+b", buffering=0)


def _is_file(status: os.stat_result) -> bool:
    """Return True for a regular file of a reasonable size."""
    return stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST


def _belongs_to_others(status: os.stat_result, rights: int) -> bool:
    """Return True if another user owns a file, or if others have one of the rights. Windows has no such rights."""
    return sys.platform != "win32" and (status.st_uid != os.geteuid() or bool(status.st_mode & rights))
