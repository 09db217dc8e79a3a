"""A case writes in its own folder and nowhere else, whoever runs it; it starts no program but those of the package, and
opens no connection.

Python tells of every such thing before it is done (PEP 578), and here it is refused as to somebody without the right.
"""

import contextlib
import errno
import os
import sys
import tempfile

import flexarm

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGING = {
    "os.chmod": 1,
    "os.chown": 1,
    "os.link": 2,
    "os.mkdir": 1,
    "os.mkfifo": 1,
    "os.remove": 1,
    "os.rename": 2,
    "os.rmdir": 1,
    "os.symlink": 2,
    "os.truncate": 1,
    "os.utime": 1,
    "shutil.rmtree": 1,
}
"""What changes the disk, and how many of its first arguments are places (of a link the second alone)."""
ELSEWHERE = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "socket.connect")


_forking = False


@contextlib.contextmanager
def forks():
    """In here a case may fork: its child is guarded as it is."""
    global _forking
    _forking = True
    try:
        yield
    finally:
        _forking = False


def guarded(*folders):
    """From now on this process changes nothing outside these folders."""
    package = os.path.dirname(flexarm.__file__) + os.sep
    inside = tuple(os.path.realpath(folder) + os.sep for folder in folders)

    def allowed(place, itself):
        if isinstance(place, int) or place is None:
            return True
        place = os.path.abspath(os.fsdecode(place))
        if itself:
            place = os.path.realpath(place)
        else:  # the entry, not what it points to
            place = os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))
        return (place + os.sep).startswith(inside) or (itself and place == os.devnull)

    def own(program, words):
        """Python with a file of the package: results without a digest are read so."""
        return program == sys.executable and any(os.fspath(word).startswith(package) for word in words[1:])

    def heard(event, arguments):
        if event == "open":
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            places, itself = arguments[:1] if flags & WRITING else (), True
        elif event in CHANGING:
            places, itself = arguments[: CHANGING[event]], event == "os.truncate"
            if event in ("os.symlink", "os.link"):
                places = places[1:]
        elif event == "os.fork" and _forking:
            return
        elif event in ELSEWHERE or (event == "subprocess.Popen" and not own(*arguments[:2])):
            raise PermissionError(errno.EPERM, f"the guard of the attack: {event}")
        else:
            return
        for place in places:
            if not allowed(place, itself):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fsdecode(place))

    sys.addaudithook(heard)


def homeless(folder):
    """Temporary files and the home folder lie in a folder of the case's own too."""
    for name in ("TMPDIR", "HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR"):
        os.environ[name] = str(folder)
    tempfile.tempdir = None
