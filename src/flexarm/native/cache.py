"""Machine code on disk, from which it is run without another look: so nobody but the user may have written it.

The folder is the user's alone, and each file is signed with a secret that lies beside it and that only the user can
read. What another account has put there, what is damaged and what belongs under another name has no valid signature
and counts as not there. Whatever goes wrong here costs the time to build again, and nothing else.
"""

import hashlib
import hmac
import io
import os
import stat
import sys
import warnings
from pathlib import Path

from flexarm.errors import DescriptionError
from flexarm.files import write_whole

if sys.platform != "win32":
    import fcntl

KEY_FILE = "secret"
SIZE = 32
"""Bytes of the secret, and of a signature."""

LARGEST = 2**28
"""Bytes of a file; the code of an arm of a hundred links has a tenth of it."""

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def cache_folder() -> Path | None:
    """Where machine code is kept: $FLEXARM_CACHE, or the system's place for such things, if it names one."""
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
    """What `write` has kept by this name, or None: nothing, or nothing that can be trusted."""
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
    """Keep something by a name. Where that cannot be done nothing is kept."""
    folder = cache_folder()
    try:
        if folder is None:
            return
        folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
        if _is_private(folder):
            if (folder / name).exists() and not (folder / name).is_file():
                (folder / name).unlink()  # a pipe, which nobody but the user has put there
            write_whole(folder / name, _signature(_secret(folder), name, content), content)
    except (OSError, DescriptionError):  # no such place, not writable, or full
        pass


def signature(name: str, content: bytes) -> bytes:
    """Return the signature of data that is stored elsewhere, or zeros if there is no secret to sign with."""
    folder = cache_folder()
    try:
        if folder is not None:
            folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
            if _is_private(folder):
                return _signature(_secret(folder), name, content)
    except OSError:  # no such place, not writable, or full
        pass
    return bytes(SIZE)


def is_signed(name: str, content: bytes, given: bytes) -> bool:
    """Return whether `signature` gave this value, on this machine and to this user."""
    return any(given) and hmac.compare_digest(given, signature(name, content))


def _signature(key: bytes, name: str, content: bytes) -> bytes:
    return hmac.digest(key, name.encode() + b"\0" + content, hashlib.sha256)


def _is_private(folder: Path) -> bool:
    """Whether only the user can write into a folder; else it is said, once, that nothing is kept there."""
    status = folder.stat()
    if not _belongs_to_others(status, OTHERS_WRITE):
        return True
    if folder not in _refused:
        _refused.add(folder)
        why = f"the cache folder {str(folder)!r} belongs to another user or can be written by others"
        mend = "make it yours alone (chmod 700), or name another in FLEXARM_CACHE"
        warnings.warn(f"{why}; compiled code is neither taken from there nor kept: {mend}", stacklevel=2)
    return False


_refused: set[Path] = set()


def _secret(folder: Path) -> bytes:
    """The key of a folder's signatures; made when first asked for, by one of those who ask at once."""
    path = folder / KEY_FILE
    with _opened(path) as file:
        status = os.fstat(file.fileno())
        if not _is_file(status) or _belongs_to_others(status, OTHERS):
            path.unlink()  # who has seen it may sign; there is a new one next time
            raise PermissionError(f"{path} is no secret")
        found = file.read(SIZE)
        if len(found) == SIZE:
            return found
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        found = file.read(SIZE)
        if len(found) != SIZE:  # nobody else has made it meanwhile
            found = os.urandom(SIZE)
            file.seek(0)
            file.write(found)
        return found


def _opened(path: Path) -> io.FileIO:
    """A file that only the user can read, a new and empty one if there is none; unbuffered."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), stat.S_IRUSR | stat.S_IWUSR)
    except OSError:  # a folder that may only be read
        return open(path, "rb", buffering=0)
    return open(handle, "r+b", buffering=0)


def _is_file(status: os.stat_result) -> bool:
    """Whether something can be read to its end, in a reasonable time."""
    return stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST


def _belongs_to_others(status: os.stat_result, rights: int) -> bool:
    """Whether another user owns something, or others have one of the rights to it. (Windows has no such marks.)"""
    return sys.platform != "win32" and (status.st_uid != os.geteuid() or bool(status.st_mode & rights))
