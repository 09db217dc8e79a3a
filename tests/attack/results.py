"""Damaged result files and files that only look like results; results that cannot be written."""

import hashlib
import os
import resource
from functools import cache

import numpy as np

import flexarm as fa
from flexarm.simulation import netcdf

from . import right, values
from .judge import Found

BLOCK = 512


def case(rng, folder, note):
    name = rng.choice(right.ARMS)
    if rng.random() < 0.2:
        return written(rng, folder, note, right.result(name))
    path = folder / "given.nc"
    if rng.random() < 0.7:
        whole = saved(name)
        without = rng.random() < 0.5  # its digest: else that is all that is looked at
        raw, what = damaged(rng, whole[: -netcdf.SEALED] if without else whole)
        what += ", without its digest" * without
        path.write_bytes(raw)
    else:
        maker = rng.choice(MADE)
        what = maker(rng, path, name)
    note(f"{name}: {what}")
    result = fa.load_result(path)
    note("read")
    return used(result)


def used(result):
    """What was read as a result serves as one, or is refused."""
    fa.performance(result)
    return "read, used"


@cache
def saved(name):
    """The bytes of a file as it should be."""
    path = fa.save_result(right.result(name), "saved.nc")
    raw = path.read_bytes()
    path.unlink()
    return raw


# -- damage ------------------------------------------------------------------------------------------------------------


def damaged(rng, raw):
    """Other bytes, one to three times."""
    done = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        if not raw:
            break
        kind = rng.choice([*DAMAGES])
        raw, where = DAMAGES[kind](rng, raw)
        done.append(f"{kind} at {where}")
    return raw, ", ".join(done)


def _place(rng, raw):
    """Anywhere, or where the structure stands."""
    return rng.randrange(len(raw)) if rng.random() < 0.6 else rng.randrange(min(len(raw), 4096))


def _bit(rng, raw):
    at = _place(rng, raw)
    return raw[:at] + bytes([raw[at] ^ 1 << rng.randrange(8)]) + raw[at + 1 :], at


def _bytes(rng, raw):
    at, size = _place(rng, raw), rng.choice((1, 2, 4, 8, 8, 64))
    new = rng.choice((b"\xff" * size, b"\0" * size, rng.randbytes(size), (1 << 62).to_bytes(8, "little")))
    return raw[:at] + new + raw[at + len(new) :], at


def _block(rng, raw):
    at = _place(rng, raw) // BLOCK * BLOCK
    size = BLOCK * rng.choice((1, 1, 1, 2, 8))
    new = rng.choice((b"\0" * size, b"\0" * size, b"\xff" * size, rng.randbytes(size)))
    return raw[:at] + new[: len(raw) - at] + raw[at + size :], at


def _copied(rng, raw):
    """A block where another belongs."""
    source, at = (_place(rng, raw) // BLOCK * BLOCK for _ in range(2))
    block = raw[source : source + BLOCK]
    return raw[:at] + block + raw[at + len(block) :], at


def _cut(rng, raw):
    at = _place(rng, raw)
    return raw[:at], at


def _pushed(rng, raw):
    at = _place(rng, raw)
    return raw[:at] + rng.randbytes(rng.choice((1, 7, 512))) + raw[at:], at


def _gone(rng, raw):
    at = _place(rng, raw)
    return raw[:at] + raw[at + rng.choice((1, 7, 512)) :], at


DAMAGES = {
    "bit": _bit,
    "bytes": _bytes,
    "block": _block,
    "copied block": _copied,
    "cut": _cut,
    "pushed": _pushed,
    "gone": _gone,
}

# -- files that only look like results ---------------------------------------------------------------------------------


def _changed(rng, path, name):
    """A result with something of it gone, of another type or size; written as it should be."""
    result = right.result(name).copy(deep=True)
    kind = rng.choice(("variable", "attribute", "odd attribute", "number", "type", "short", "dimension", "coordinate"))
    which = ""
    if kind == "variable":
        which = rng.choice([*result.data_vars])
        result = result.drop_vars(which)
    elif kind == "attribute":
        which = rng.choice([*result.attrs])
        del result.attrs[which]
    elif kind == "odd attribute":
        which = rng.choice([*result.attrs])
        odd = (values.text(rng).replace("\0", "") or "x", float("nan"), 10**18, np.zeros(5), "x" * 70_000, "[" * 5000)
        result.attrs[which] = rng.choice(odd)
    elif kind == "number":
        which = rng.choice([*result.data_vars])
        result[which].values.flat[rng.randrange(result[which].size)] = rng.choice((np.nan, np.inf, 1e300))
    elif kind == "type":
        which = rng.choice([*result.data_vars])
        result[which] = result[which].astype(rng.choice((str, np.int8, np.float32)))
    elif kind == "short":
        which = rng.choice([*result.dims])
        result = result.isel({which: slice(0, rng.choice((0, 1)))})
    elif kind == "dimension":
        which = rng.choice([*result.dims])
        result = result.rename({which: "other"})
    else:
        which = rng.choice([*result.coords])
        result = result.drop_vars(which)
    result.to_netcdf(path, engine="h5netcdf")
    return f"{kind} {which}"


def _hdf(rng, path, name):
    """An HDF5 file that is no NetCDF, or one with traps."""
    import h5py

    kind = rng.choice(("empty", "links", "bomb", "types", "attributes", "groups", "external", "virtual"))
    if kind in ("external", "virtual"):  # a whole result, one of whose variables is the bytes of another file
        path.write_bytes(saved(name)[: -netcdf.SEALED])
        with h5py.File(path, "a") as file:
            where = rng.choice(("q", "time", "beside", "deep/beside"))
            count = file[where].shape if where in file else (4,)
            if where in file:
                del file[where]
            if kind == "external":
                file.create_dataset(where, count, "f8", external=[("/etc/passwd", 0, h5py.h5f.UNLIMITED)])
            else:
                layout = h5py.VirtualLayout(shape=count, dtype="f8")
                layout[...] = h5py.VirtualSource(rng.choice(("/etc/passwd", ".")), "x", shape=count)
                file.create_virtual_dataset(where, layout)
        if rng.random() < 0.3:
            body = path.read_bytes()
            path.write_bytes(body + netcdf.SEAL + hashlib.sha256(body).digest() + rng.randbytes(netcdf.DIGEST))
        return f"hdf5, {kind} at {where}"
    with h5py.File(path, "w") as file:
        if kind == "links":
            file["q"] = h5py.SoftLink("/q")
            file["x"] = h5py.ExternalLink("/etc/passwd", "/x")
        elif kind == "bomb":
            file.create_dataset("q", (10**10,), "f8", chunks=(1 << 20,), compression="gzip")
            file.attrs["arm"] = "{}"
        elif kind == "types":
            file["q"] = np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
            file.attrs["arm"] = "{}"
        elif kind == "attributes":
            file["q"] = np.zeros(3)
            file.attrs["arm"] = rng.choice((np.zeros(3), 1, "x", b"\xff"))
        elif kind == "groups":
            group = file
            for _ in range(200):
                group = group.create_group("g")
    return f"hdf5, {kind}"


def _other(rng, path, name):
    """Something that is no file of this kind at all."""
    kind = rng.choice(("empty", "text", "random", "netcdf3", "folder", "pipe", "loop", "nothing", "zeros"))
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "text":
        path.write_text("q,qd\n1,2\n")
    elif kind == "random":
        path.write_bytes(rng.choice((b"", b"\x89HDF\r\n\x1a\n", b"CDF\x01", b"CDF\x02")) + rng.randbytes(2000))
    elif kind == "netcdf3":
        right.result(name)[["time"]].to_netcdf(path, engine="scipy")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "zeros":
        path.write_bytes(saved(name)[:100] + b"\0" * 10_000)
    return kind


MADE = (_changed, _changed, _hdf, _other)

# -- writing -----------------------------------------------------------------------------------------------------------

PLACES = (
    *(
        "new.nc",
        "a/b/new.nc",
        "old.nc",
        "x" * 300,
        "x" * 250 + ".nc",
        "folder",
        "old.nc/new.nc",
        "a\nb.nc",
        "\x1b[31m.nc",
    ),
    *(
        "a\0b.nc",
        "",
        ".",
        "..",
        "/dev/full",
        "/dev/full/x.nc",
        "/proc/x.nc",
        "loop.nc",
        "loop.nc/x",
        "é.nc",
        "~/x",
        "-x",
    ),
)


def written(rng, folder, note, result):
    """A file is whole or is the old one; nothing is left beside it."""
    old = b"the old file"
    (folder / "old.nc").write_bytes(old)
    (folder / "folder").mkdir()
    (folder / "loop.nc").symlink_to(folder / "loop.nc")
    place, most = rng.choice(PLACES), rng.choice((None, None, 0, 100, 5000))
    note(f"save_result to {place[:40]!r}, files of at most {most} bytes")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    if most is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    path = None
    try:
        path = fa.save_result(result, place)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        left = [each.name for each in folder.rglob("*") if each.name.endswith(".new")]
        if left:
            raise Found("left behind", f"a temporary file\n{left}")
        if path is None and (folder / "old.nc").read_bytes() != old:
            raise Found("lost", "the old file")
    if not fa.load_result(path).identical(result):
        raise Found("wrong", "another result comes back from its file")
    return "written"
