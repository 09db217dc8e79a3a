"""Damaged copies of a file, and NetCDF files that lie about themselves."""

import io

import h5netcdf
import h5py
import numpy as np

BLOCK = 512


def zeroed(content):
    """A copy for every block of a disk, with zeros in it."""
    for start in range(0, len(content), BLOCK):
        yield content[:start] + bytes(len(content[start : start + BLOCK])) + content[start + BLOCK :]


def damaged(content, rng):
    """One damaged copy; it differs."""
    while (copy := _KINDS[rng.integers(len(_KINDS))](content, rng)) == content:
        pass
    return copy


def _byte(content, rng):
    copy = bytearray(content)
    for at in rng.integers(len(copy), size=rng.integers(1, 4)):
        copy[at] = rng.integers(256)
    return bytes(copy)


def _head(content, rng):
    """Where HDF5 keeps what it follows: among the bytes of the first structures, and to favourite numbers."""
    copy = bytearray(content)
    for at in rng.integers(min(len(copy), 4096), size=rng.integers(1, 9)):
        copy[at] = rng.choice([0, 1, 2, 127, 128, 254, 255])
    return bytes(copy)


def _number(content, rng):
    """Eight bytes that may be an address or a size become another, or an enormous one."""
    copy = bytearray(content)
    at = 8 * rng.integers(len(copy) // 8)
    value = rng.choice([0, 96, 2**31, 2**40, 2**62, 2**63 - 1, len(copy), len(copy) // 2, at])
    copy[at : at + 8] = int(value).to_bytes(8, "little")
    return bytes(copy)


def _truncated(content, rng):
    return content[: rng.integers(len(content))]


def _swapped(content, rng):
    one, other = BLOCK * rng.integers(len(content) // BLOCK, size=2)
    copy = bytearray(content)
    copy[one : one + BLOCK], copy[other : other + BLOCK] = content[other : other + BLOCK], content[one : one + BLOCK]
    return bytes(copy)


def _noise(content, rng):
    start, length = rng.integers(len(content)), rng.integers(1, 2000)
    noise = rng.bytes(length)
    return (content[:start] + noise + content[start + length :])[: len(content)]


def _missing(content, rng):
    """Some bytes fell out, or came in, and all that follows has moved."""
    start, length = rng.integers(len(content)), rng.integers(1, 100)
    return content[:start] + (content[start + length :] if rng.integers(2) else rng.bytes(length) + content[start:])


_KINDS = [_byte, _head, _number, _truncated, _swapped, _noise, _missing]


def hostile(content):
    """Files that HDF5 takes for whole, made from a result: by name, what lies."""

    def made(change):
        file = io.BytesIO(content)
        with h5py.File(file, "a") as f:
            change(f)
        return file.getvalue()

    for kind, how in {"never written": {"chunks": (10**6,)}, "without chunks": {}}.items():
        file = io.BytesIO(content)
        with h5netcdf.File(file, "a") as f:
            f.dimensions["many"] = 10**12
            f.create_variable("much", ("many",), "f8", **how)
        yield f"a variable {kind}", file.getvalue()
    yield "many dimensions", made(lambda f: f.create_dataset("many", shape=(2,) * 32, dtype="f8", chunks=(1,) * 32))
    yield "a long attribute", made(lambda f: f.attrs.create("note", "x" * 60_000))
    yield "a name of controls", made(lambda f: f.create_dataset("\x1b[2J\n", data=[1.0]))
    yield "a link to nothing", made(lambda f: f.__setitem__("dangling", h5py.SoftLink("/nowhere")))
    yield "a link to itself", made(lambda f: f.__setitem__("self", h5py.SoftLink("/self")))
    yield "a circle of groups", made(lambda f: f.create_group("a").__setitem__("b", f))
    yield "a link to a device", made(lambda f: f.__setitem__("out", h5py.ExternalLink("/dev/zero", "/")))
    yield (
        "a variable in a device",
        made(lambda f: f.create_dataset("device", shape=(10**9,), dtype="f8", external=[("/dev/zero", 0, 8 * 10**9)])),
    )
    yield "a variable of another file", made(_virtual)
    yield "a variable of this file", made(_own_view)
    yield "references", made(lambda f: f.create_dataset("refs", data=[f.ref] * 3, dtype=h5py.ref_dtype))
    yield "a compound", made(lambda f: f.create_dataset("pairs", data=np.zeros(3, "i4,f8")))
    yield "bytes", made(lambda f: f.create_dataset("opaque", data=np.zeros(3, "V7")))
    for value in ("days since 1-1-1", "x" * 1000):
        yield f"units {value:.8}", made(lambda f, value=value: f["time"].attrs.__setitem__("units", value))
    for name, value in {"_FillValue": 0.0, "scale_factor": "many", "dtype": "bool", "coordinates": "q q q"}.items():
        yield f"an attribute {name}", made(lambda f, n=name, v=value: f["qd"].attrs.__setitem__(n, v))


def _own_view(f):
    layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
    layout[:] = h5py.VirtualSource(".", "time", shape=(3,))
    f.create_virtual_dataset("again", layout)


def _virtual(f):
    layout = h5py.VirtualLayout(shape=(10**9,), dtype="f8")
    layout[:] = h5py.VirtualSource("/dev/zero", "x", shape=(10**9,))
    f.create_virtual_dataset("virtual", layout)
