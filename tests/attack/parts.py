"""Finite element models in NPZ and MAT files: arrays of wrong shapes, types and numbers, sparse matrices whose indices
lead nowhere, and damaged bytes; whatever is accepted becomes a link that moves."""

import io
import zipfile

import numpy as np

import flexarm as fa

from . import values
from .arms import finite, whole
from .results import damaged


def case(rng, folder, note):
    arrays, done = _arrays(), []
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        change = rng.choice(CHANGES)
        done.append(change(rng, arrays))
    name = rng.choice(("part.npz", "part.npz", "part.mat", "part.mat"))
    raw = (_npz if name.endswith("npz") else _mat)(rng, arrays, done)
    if not done or rng.random() < 0.4:
        raw, what = damaged(rng, raw)
        done.append(what)
    (folder / name).write_bytes(raw)
    note(f"{name}: {', '.join(done)}")
    body = fa.FiniteElement(file=folder / name, modes=rng.choice((0, 1, 2)))
    model = fa.Model(fa.Arm(name="part", links=[fa.Link(name="part", body=body)]))
    q = np.array(model.arm.rest)
    finite("mass matrix", model.mass_matrix(q))
    whole(fa.simulate(model, 1e-4, samples=3, progress=False))
    return "moved"


def _arrays():
    """A model of two modes of three points, as `right.part` has it."""
    shapes = np.zeros((3, 3, 2))
    shapes[:, 1, 0] = shapes[:, 2, 1] = 0.3, 1.0, 1.1
    points = np.array([[0.5, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.1, 0.1]])
    return {
        "K": 100 * np.eye(2),
        "points": points,
        "masses": np.array([0.5, 0.2, 0.1]),
        "shapes": shapes,
        "tip_position": points[1],
        "tip_shapes": np.vstack([shapes[1], 1.5 * shapes[1]]),
    }


# -- arrays ------------------------------------------------------------------------------------------------------------


def _real(x):
    """The real part of an array that an earlier change may have made complex: NumPy warns where a cast discards it."""
    return np.array(x).real if np.iscomplexobj(x) else np.array(x)


def _number(rng, arrays):
    name = rng.choice([*arrays])
    x = _real(arrays[name]).astype(float)
    if x.size:
        x.flat[rng.randrange(x.size)] = rng.choice((np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, -1.0, 0.0, 1e20))
    arrays[name] = x
    return f"a number of {name}"


def _shape(rng, arrays):
    name = rng.choice([*arrays])
    x = np.array(arrays[name])
    odd = (x[..., None], x.ravel(), x[:0], x[:-1] if x.ndim else x, np.repeat(x, 2, axis=0) if x.ndim else x, x.T)
    arrays[name] = rng.choice(odd)
    return f"the shape of {name}"


def _type(rng, arrays):
    name = rng.choice([*arrays])
    x = _real(arrays[name])
    with np.errstate(all="ignore"):
        arrays[name] = x.astype(rng.choice(("i1", "u8", "f4", "f2", "?", "c16", "U9", "S3", "O")))
    return f"the type of {name}"


def _gone(rng, arrays):
    name = rng.choice([*arrays])
    if len(arrays) > 1:
        del arrays[name]
    return f"{name} gone"


def _more(rng, arrays):
    name = rng.choice(("M", "nodes", "dofs", "root", "tip", "rigid", "held", "modes", values.text(rng)[:40] or "x"))
    arrays[name.replace("/", "-").replace("\0", "-")] = rng.choice(
        (np.eye(2), np.zeros(3), np.ones((3, 3)), np.array(1))
    )
    return f"{name[:20]!r} too"


def _sparse(rng, arrays):
    """K in three parts, one of them wrong."""
    parts = {"data": np.array([100.0, 100.0]), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2])}
    which = rng.choice([*parts])
    x = parts[which].astype(float)
    x.flat[rng.randrange(x.size)] = rng.choice((-1, 2, 3, 500_000_000, 2**31, 2**62, 0.5, 1e300, np.nan))
    whole = x.astype("i8") if np.abs(x).max() < 2**62 else x
    parts[which] = rng.choice((x, whole, whole, x[:-1], x[::-1], x[None]))
    arrays.pop("K", None)
    arrays |= {f"K_{name}": value for name, value in parts.items()}
    return f"{which} of a sparse K"


CHANGES = (_number, _shape, _type, _gone, _more, _sparse)

# -- files -------------------------------------------------------------------------------------------------------------


def _npz(rng, arrays, done):
    content = io.BytesIO()
    if rng.random() < 0.8:
        np.savez_compressed(content, **{name: x for name, x in arrays.items() if name not in ("file", "args", "kwds")})
        return content.getvalue()
    kind = rng.choice(("no array", "nested", "header", "bomb", "twice"))
    done.append(f"archive: {kind}")
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        if kind == "no array":
            archive.writestr("K.npy", rng.randbytes(100))
        elif kind == "nested":
            archive.writestr("a/../../K.npy", b"")
        elif kind == "header":
            head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }" % rng.choice((10**12, 10**18, -1))
            archive.writestr("K.npy", b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)
        elif kind == "bomb":
            archive.writestr("K.npy", bytes(300_000_000))
        else:
            for name in ("K", "K.npy"):
                archive.writestr(name, b"x")
    return content.getvalue()


def _mat(rng, arrays, done):
    """MATLAB's format; sparse matrices as such, with a structure that SciPy writes unchecked."""
    from scipy import sparse
    from scipy.io import savemat

    given = {}
    for name, x in arrays.items():
        given[name[:31] if name.isidentifier() else "x"] = x
    if rng.random() < 0.5:
        K = sparse.csc_array(np.array([[100.0, 0.0], [0.0, 100.0]]))
        K.has_sorted_indices = True
        which = rng.choice(("indices", "indptr", "data"))
        x = getattr(K, which)
        x[rng.randrange(len(x))] = rng.choice((-1, 0, 1, 2, 3, 500_000_000, 2**31 - 1))
        given = {key: x for key, x in given.items() if not key.startswith("K")} | {"K": K}
        done.append(f"{which} of a sparse K")
    content = io.BytesIO()
    try:
        savemat(content, given, do_compression=rng.random() < 0.5)
    except Exception as error:  # SciPy cannot write everything: then what it could is the file
        done.append(f"written in part: {type(error).__name__}")
    return content.getvalue()


def warm():
    """Import what a case needs."""
    import scipy.io
    import scipy.sparse  # noqa: F401
