"""Damaged and hostile caches of machine code: numbers are the right ones, whatever lies in the folder."""

import hashlib
import json
import os
import resource
import shutil
from functools import cache
from pathlib import Path

import numpy as np

import flexarm as fa

from . import values
from .judge import Found
from .results import damaged

QUANTITIES = ("mass_matrix", "forward_dynamics")


def arm():
    """One that compiles in a moment."""
    return fa.Arm(name="rod", links=[fa.Link(name="rod", body=fa.Rigid(length=0.8, mass=1.5))], gravity=(0, -9.81, 0))


def numbers():
    """What is computed: with a new model, so that the cache is asked."""
    model = fa.Model(arm())
    q = np.array([[0.3], [0.4]])
    alone = [model.mass_matrix(q[0]), model.forward_dynamics(q[0], q[1], q[0])]
    return [x.tolist() for x in (*alone, model.mass_matrix(q), model.forward_dynamics(q, q, q))]


@cache
def fresh():
    """Names, modes and bytes of the files of a good cache, and the numbers."""
    folder = Path("good-cache").absolute()
    with using(folder):
        found = numbers()
    files = {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
    modes = {name: (folder / name).stat().st_mode for name in files} | {".": folder.stat().st_mode}
    shutil.rmtree(folder)
    return files, modes, found


class using:
    """Let the cache be in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        self.before = os.environ.get("FLEXARM_CACHE")
        os.environ["FLEXARM_CACHE"] = str(self.folder)

    def __exit__(self, *_):
        if self.before is None:
            del os.environ["FLEXARM_CACHE"]
        else:
            os.environ["FLEXARM_CACHE"] = self.before


def case(rng, folder, note):
    files, modes, expected = fresh()
    place = folder / rng.choice(("cache",) * 8 + ("é", "a b", "x\ny", "a/b/c", "\x1b[31m"))
    place.mkdir(parents=True)
    os.chmod(place, modes["."])
    for name, raw in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(raw)
        os.chmod(place / name, modes[name])
    done = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        if place.is_dir() and not place.is_symlink():
            done.append(rng.choice(HARMS)(rng, place, files))
    note(", ".join(done))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with using(place):
            if rng.random() < 0.1:
                note("the disk is full")
                resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
            found = numbers()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    if found != expected:
        raise Found("wrong", f"numbers\n{found}")
    return "right numbers"


def _one(rng, place):
    present = sorted(file for file in place.rglob("*") if file.is_file() and not file.is_symlink())
    return rng.choice(present) if present else place / "x.bin"


def _damaged(rng, place, files):
    file = _one(rng, place)
    raw, what = damaged(rng, file.read_bytes() if file.exists() else b"x")
    file.write_bytes(raw)
    return what


def _forged(rng, place, files):
    """Whole by a checksum that anybody can compute, and wrong."""
    file = _one(rng, place)
    raw = file.read_bytes() if file.exists() else b""
    head, _, code = raw[32:].partition(b"\n")
    try:
        facts = json.loads(head)
    except (ValueError, RecursionError):
        facts = {}
    facts = facts if isinstance(facts, dict) else {}
    kind = rng.choice(("head", "facts", "code", "no head", "not JSON", "not a table", "deep", "other key"))
    if kind == "facts" and facts:
        facts[rng.choice([*facts])] = rng.choice((-1, 0, 10**9, "x", None, [], 1.5))
    elif kind == "code":
        code = rng.choice(
            (b"", rng.randbytes(300), code[: rng.randrange(len(code) + 1)], damaged(rng, code or b"x")[0])
        )
    elif kind == "other key":
        facts[values.key(rng)] = 1
    head = json.dumps(facts).encode()
    if kind in ("head", "no head", "not JSON", "not a table", "deep"):
        head = {"head": b"{}", "no head": b"", "not JSON": b"{", "not a table": b"[1]", "deep": b"[" * 100_000}[kind]
    rest = head + b"\n" + code
    file.write_bytes(hashlib.sha256(rest).digest() + rest)
    return f"forged, {kind}"


def _swapped(rng, place, files):
    """The code of one function under the name of another."""
    one, other = _one(rng, place), _one(rng, place)
    if one.exists() and other.exists():
        a, b = one.read_bytes(), other.read_bytes()
        one.write_bytes(b)
        other.write_bytes(a)
    return "swapped"


def _emptied(rng, place, files):
    file = _one(rng, place)
    file.write_bytes(rng.choice((b"", b"\n", b"\0" * 32, b"\0" * 5000)))
    return "emptied"


def _instead(rng, place, files):
    """A folder, a link, a pipe in place of a file."""
    file = _one(rng, place)
    file.unlink(missing_ok=True)
    kind = rng.choice(("folder", "loop", "pipe", "nowhere", "null", "zero", "gone"))
    if kind == "folder":
        (file / "x").mkdir(parents=True)
    elif kind == "loop":
        file.symlink_to(file)
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind in ("nowhere", "null", "zero"):
        file.symlink_to({"nowhere": "/nowhere/x", "null": "/dev/null", "zero": "/dev/zero"}[kind])
    return f"{kind} instead of a file"


def _rights(rng, place, files):
    target = place if rng.random() < 0.6 else _one(rng, place)
    mode = rng.choice((0o777, 0o000, 0o555, 0o2770, 0o1777, 0o666, 0o700))
    if target.exists():
        os.chmod(target, mode)
        if os.geteuid() == 0 and rng.random() < 0.4:
            os.chown(target, 12345, 12345)
    return f"mode {mode:o} of {'the folder' if target == place else 'a file'}"


def _no_folder(rng, place, files):
    shutil.rmtree(place, ignore_errors=True)
    kind = rng.choice(("nothing", "file", "loop", "null", "link"))
    if kind == "file":
        place.write_bytes(b"x")
    elif kind == "loop":
        place.symlink_to(place)
    elif kind == "null":
        place.symlink_to("/dev/null")
    elif kind == "link":
        place.with_name("elsewhere").mkdir(exist_ok=True)
        place.symlink_to(place.with_name("elsewhere"))
    return f"{kind} instead of the folder"


def _litter(rng, place, files):
    for i in range(rng.choice((1, 50))):
        (place / rng.choice((f"{i}.bin", f"tmp{i}.new", f".{i}", f"{i:064x}.bin"))).write_bytes(rng.randbytes(50))
    return "litter"


HARMS = (_damaged, _damaged, _forged, _forged, _forged, _swapped, _emptied, _instead, _rights, _no_folder, _litter)
