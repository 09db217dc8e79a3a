"""Files written completely or not at all.

A file is written under a temporary name in the same folder and then renamed, so that a reader sees the old file or the
new one. A process that is killed leaves the temporary file behind. A living process holds a lock on its temporary file,
which the system releases with the process. The next write into the folder therefore recognizes abandoned files. (A
process number in the name is no alternative: it is reused after a while, and has no meaning in another container or on
another machine.)
"""

import contextlib
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path

from flexarm.errors import DescriptionError

if sys.platform != "win32":
    import fcntl

LEFTOVER = re.compile(r"\.flexarm-[0-9a-f]{16}\.new")
"""Names of temporary files, of running or killed processes."""

ABANDONED = 3600.0
"""Age [s] from which a temporary file counts as abandoned on a system without file locks."""

Bytes = bytes | bytearray | memoryview


def checked_path(path: object, name: str = "path") -> str:
    """Return a path as a text. Raise `DescriptionError` for any other object, and for an empty text.

    A number would mean an open file, and an empty text the current folder.
    """
    given = fspath(path) if isinstance(path, str | PathLike) else None
    if not isinstance(given, str):
        raise DescriptionError(f"{name} is of type {type(path).__name__}; it must be the name of a file")
    if not given:
        raise DescriptionError(f"{name} is ''; it must be the name of a file or a folder; the current folder is '.'")
    return given


def check_ending(path: str | PathLike[str], *endings: str, where: str = "") -> None:
    """Raise `DescriptionError` if a file's name does not end as programs that read such a file require."""
    given = checked_path(path)
    if Path(given).suffix.lower() not in endings:
        raise DescriptionError(f"it must end with {' or '.join(endings)}", where or given, sentence=True)


def write_whole(path: str | PathLike[str], *pieces: Bytes, durable: bool = False) -> Path:
    """Write a file that consists of the pieces and return its path. A missing folder is created.

    An older file stays untouched until the new one is complete. Abandoned temporary files in the folder are removed.
    `durable` waits until the disk has stored the file, so that it survives a power failure.

    Raises `DescriptionError` if the file cannot be written. No partial file is left then.
    """
    target = Path(checked_path(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _check_replaceable(target)
        remove_leftovers(target.parent)
        handle, temporary = _claimed(target.parent)
        try:
            with open(handle, "wb") as file:
                file.writelines(pieces)
                file.flush()
                if durable:
                    os.fsync(handle)
                if sys.platform != "win32":
                    os.replace(temporary, target)  # still locked, otherwise it could count as abandoned
            if sys.platform == "win32":
                os.replace(temporary, target)  # an open file cannot be renamed on Windows
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        if durable:
            _sync(target.parent)
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte, which no system allows
        raise _unwritable(path, error) from None
    return target


def check_writable(path: str | PathLike[str]) -> None:
    """Check that a file can be written there, before long work. Nothing is left of the attempt.

    Raises `DescriptionError` if it cannot.
    """
    target = Path(checked_path(path))
    made = []
    try:
        made = [folder for folder in target.parents if not os.path.lexists(folder)]
        target.parent.mkdir(parents=True, exist_ok=True)
        _check_replaceable(target)
        handle, temporary = _claimed(target.parent)
        os.close(handle)
        os.unlink(temporary)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None
    finally:
        for folder in made:
            with contextlib.suppress(OSError, ValueError):
                folder.rmdir()


def _check_replaceable(target: Path) -> None:
    """Raise `OSError` if a new file must not replace the target: a folder, a device, a pipe, or an invalid name."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.lstat(target).st_mode  # raises for names that are too long
        if stat.S_ISDIR(mode) or target.is_dir():
            raise IsADirectoryError("it is a folder")
        if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
            raise OSError("it is a device or a pipe, not a file")


def remove_leftovers(folder: Path) -> None:
    """Remove abandoned temporary files in a folder. Files that are being written, or belong to others, stay."""
    with contextlib.suppress(OSError):
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if LEFTOVER.fullmatch(entry.name)]
        for entry in found:
            with contextlib.suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    _remove_if_abandoned(entry.path)


def _remove_if_abandoned(path: str) -> None:
    """Remove a file whose writer has ended; without file locks, remove a file that is older than an hour."""
    if sys.platform == "win32":
        if time.time() - os.stat(path).st_mtime > ABANDONED:
            os.unlink(path)  # it is not opened before, since an open file cannot be removed on Windows
        return
    handle = os.open(path, os.O_RDWR)
    try:
        if _lock(handle, exclusive=True) or time.time() - os.fstat(handle).st_mtime > ABANDONED:
            os.unlink(path)
    finally:
        os.close(handle)


def _claimed(folder: Path) -> tuple[int, str]:
    """Return handle and path of a new, empty, locked file for writing."""
    while True:
        path = os.path.join(folder, f".flexarm-{os.urandom(8).hex()}.new")
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with contextlib.suppress(BlockingIOError):
                _lock(handle)
                if os.path.lexists(path):
                    return handle, path
        except BaseException:  # Ctrl-C
            os.close(handle)
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise
        os.close(handle)  # another process took it for abandoned before it was locked


def _lock(handle: int, exclusive: bool = False) -> bool:
    """Lock a file, or return False on a system without file locks. A writer shares its lock with readers of the file.

    Raises `BlockingIOError` if another process has the lock.
    """
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # a network folder without locks
        return False
    return True


@contextlib.contextmanager
def alone(path: str | PathLike[str]) -> Iterator[bool]:
    """Yield True if no other process is in this context with the same file.

    A missing file is created, and stays.

    The system releases the lock of a process that is killed. Without file locks the result is always True. Raises
    `DescriptionError` if the file cannot be written.
    """
    target = Path(checked_path(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(target, os.O_RDWR | os.O_CREAT, 0o666)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None
    try:
        try:
            _lock(handle, exclusive=True)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def _sync(folder: Path) -> None:
    """Make the disk store the names in a folder, on systems that support it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _unwritable(path: str | PathLike[str], error: OSError | ValueError) -> DescriptionError:
    reason = getattr(error, "strerror", None) or str(error)
    if isinstance(error, FileExistsError | NotADirectoryError):
        reason = next((f"{file} is not a folder" for file in Path(path).parents if _is_no_folder(file)), reason)
    return DescriptionError(f"cannot be written: {reason}", fspath(path), sentence=True)


def _is_no_folder(path: Path) -> bool:
    """Return True if the path exists but is not a folder: a file, a pipe, a broken link."""
    return os.path.lexists(path) and not os.path.isdir(path)
