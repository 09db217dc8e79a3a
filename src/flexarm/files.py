"""Files written whole or not at all.

A file grows under another name beside its place and is then renamed, so whoever looks sees the old file or the new one.
A process that is killed leaves the other name behind. While it lives it holds a lock on that file, which the system
takes away with the process, so the next write into the folder knows what is left over. (A process number in the name
lost: it is used again after a while, and it means nothing in another container or on another machine.)
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
"""Names of files that are being written, or were when their process ended."""

Bytes = bytes | bytearray | memoryview


def checked_path(path: object) -> str:
    """A path as a text; raises `DescriptionError` for what is none. (To the system a number is an open file.)"""
    given = fspath(path) if isinstance(path, str | PathLike) else None
    if not isinstance(given, str):
        raise DescriptionError(f"path is of type {type(path).__name__}; it must be the name of a file")
    return given


def check_ending(path: str | PathLike[str], *endings: str, where: str = "") -> None:
    """Raise `DescriptionError` where the name of a file does not end as the programs that read such a file want."""
    given = checked_path(path)
    if Path(given).suffix.lower() not in endings:
        raise DescriptionError(f"it must end with {' or '.join(endings)}", where or given, sentence=True)


def write_whole(path: str | PathLike[str], *pieces: Bytes, durable: bool = False) -> Path:
    """Write a file that consists of the pieces and return its path; a missing folder is made.

    An older file stays untouched until the new one is complete. What killed processes have left in the folder is
    removed. `durable` waits until the disk has it, so that it outlives a power cut.

    Raises `DescriptionError` where that cannot be done; then nothing half-written is left.
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
                    os.replace(temporary, target)  # still locked, or it could be taken for a leftover
            if sys.platform == "win32":
                os.replace(temporary, target)  # an open file cannot be renamed there
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        if durable:
            _sync(target.parent)
    except (OSError, ValueError) as error:  # ValueError: a path no system has, with a zero byte
        raise _unwritable(path, error) from None
    return target


def check_writable(path: str | PathLike[str]) -> None:
    """Before long work rather than after it: a file can be written there. Nothing is left of the attempt.

    Raises `DescriptionError` where it cannot.
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
    """Raise `OSError` where a new file must not take the place: of a folder, a device, a pipe; or has no name there."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.lstat(target).st_mode  # refuses names that are too long
        if stat.S_ISDIR(mode) or target.is_dir():
            raise IsADirectoryError("it is a folder")
        if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
            raise OSError("it is a device or a pipe, and no file")


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes have left in a folder; what somebody is writing and what others own stays."""
    with contextlib.suppress(OSError):
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if LEFTOVER.fullmatch(entry.name)]
        for entry in found:
            with contextlib.suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    _remove_if_abandoned(entry.path)


def _remove_if_abandoned(path: str) -> None:
    """Remove a file whose writer is gone; where there are no locks, one that is older than an hour."""
    handle = os.open(path, os.O_RDWR)
    try:
        if _lock(handle, exclusive=True) or time.time() - os.fstat(handle).st_mtime > 3600:
            os.unlink(path)
    finally:
        os.close(handle)


def _claimed(folder: Path) -> tuple[int, str]:
    """A new, empty file for writing, locked: its handle and path."""
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
        os.close(handle)  # somebody took it for a leftover before it was locked


def _lock(handle: int, exclusive: bool = False) -> bool:
    """Lock a file; False where there are no locks. A writer shares its lock: who reads the file in place may have one.

    Raises `BlockingIOError` where somebody else has it.
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
    """Within, whether nobody else is in here with the same file, which is made if it is missing and stays.

    The system takes the lock away with a process that is killed. Where there are no locks everybody is alone. Raises
    `DescriptionError` where the file cannot be written.
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
    """Have the disk keep the names in a folder, where a folder can be asked for that."""
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
    """Whether something else stands there: a file, a pipe, a link that leads nowhere."""
    return os.path.lexists(path) and not os.path.isdir(path)
