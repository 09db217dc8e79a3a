"""Finite element models of links from files: checked arrays in SI units and in the frame of the link."""

import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from flexarm import child_process
from flexarm.arrays import Array
from flexarm.checks import ANY_SIZE, SIZES, Fault, counted, shown, unknown_name
from flexarm.description import mat_process
from flexarm.shapes.finite import CYCLE, Elements, MassPoints

Vector = tuple[float, float, float]

SUFFIXES = (".npz", ".mat")
MOST_BYTES = 1024**3
MOST_UNPACKED = 2 * MOST_BYTES
"""Largest number of bytes of a file's unpacked arrays, however small the file is."""
MOST_DISPLACEMENTS = 300_000
"""Largest number of displacements of a model. The compliance of a larger model needs more memory than most machines
have."""

SPARSE = ("data", "indices", "indptr")
ALLOWED: dict[str, str] = {
    "M": "mass matrix",
    "K": "stiffness matrix",
    "nodes": "places of the nodes",
    "dofs": "node and direction of each row",
    "root": "nodes that are held",
    "tip": "weights of the tip's nodes",
    "rigid": "rigid motions",
    "held": "rows that are held",
    "tip_position": "place of the tip",
    "tip_shapes": "motion of the tip",
    "points": "places of mass points",
    "masses": "their masses",
    "shapes": "their motion",
    "modes": "component modes",
}
"""Keys that a file may have. M and K may also be three arrays each: "M_data", "M_indices", "M_indptr"."""

UNITS = {"m": 1.0, "mm": 1e-3}
"""Metres per unit of length of the file. Masses are in kg, or in tonnes with mm. Forces are in N, times in s."""

PLACES = ("nodes", "points", "tip_position")
"""Keys of the arrays whose entries are lengths."""

LARGEST = 1e75
"""Largest size of any other number, in the units of the file. It keeps products of a few numbers finite."""

SAME = 1e-6
"""Tolerance for numbers of other programs that should be zero or equal, relative to the largest."""


def model_of(path: str, unit: str, origin: Vector) -> Elements:
    """Return the model in a file. Raises `Fault` for the field `file`, with a line that names the error."""
    name = Path(path).name
    try:
        return _Reader(_arrays(path), UNITS[unit], np.array(origin)).model()
    except Fault as fault:
        raise Fault("file", f"{shown(name)}: {fault.part}{' ' * bool(fault.part)}{fault.message}") from None


# -- files -------------------------------------------------------------------------------------------------------------


def _arrays(path: str) -> dict[str, Any]:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise Fault("", "is neither a .npz nor a .mat file")
    try:
        with open(path, "rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise Fault("", f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > MOST_BYTES:
        raise Fault("", f"is larger than {MOST_BYTES // 1024**2} MiB")
    found = _from_npz(content) if suffix == ".npz" else _from_mat(content)
    known = [*ALLOWED, *(f"{matrix}_{part}" for matrix in "MK" for part in SPARSE)]
    for key in found:
        if key not in known:
            raise Fault("", unknown_name("has the unknown key", key, known, "allowed keys are", ", ".join(ALLOWED)))
    return found


class Sparse(NamedTuple):
    """A sparse matrix in compressed columns, whose structure is not yet checked."""

    data: Array
    indices: Array
    indptr: Array
    shape: Array


def _from_npz(content: bytes) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            if sum(each.file_size for each in archive.infolist()) > MOST_UNPACKED:
                raise Fault("", f"is larger than {MOST_UNPACKED // 1024**2} MiB when it is unpacked")
        with np.load(BytesIO(content), allow_pickle=False) as opened:  # noqa: TID251  (without objects)
            return {key: opened[key] for key in opened.files}
    except Fault:
        raise
    except Exception as error:  # zipfile, zlib and NumPy's reader raise many kinds of error for a damaged file
        raise Fault("", f"is not an NPZ file of arrays of numbers: {_line(error)}") from None


def _from_mat(content: bytes) -> dict[str, Any]:
    """Return arrays by name, and sparse matrices in parts. Another process reads the file, as SciPy crashes on damaged
    files."""
    if b"MATLAB 7.3" in content[:128] or b"\x89HDF" in content[:516]:
        raise Fault("", "is a MATLAB v7.3 file, which cannot be read; save the data with '-v7'")
    try:
        said = child_process.answer(
            mat_process.__file__, str(MOST_UNPACKED), content=content, patience=child_process.PATIENCE
        )
    except child_process.RefusedError as error:
        raise Fault("", f"is not a readable MATLAB file: {_line(error)}") from None
    except child_process.EndedError as error:
        why = (
            "does not finish" if error.status in (None, child_process.TOO_LONG) else f"ends with status {error.status}"
        )
        raise Fault("", f"is not a readable MATLAB file: it may be damaged, because its reader {why}") from None
    except OSError as error:
        raise Fault("", f"cannot be read: the reader process cannot be started: {_line(error)}") from None
    labels, *arrays = _from_npz(said).values()
    parts: dict[str, dict[str, Any]] = {}
    for label, array in zip(labels.tolist(), arrays, strict=True):
        part, _, name = label.partition(" ")
        parts.setdefault(name, {})[part] = array
    return {name: Sparse(**found) if "" not in found else found[""] for name, found in parts.items()}


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


# -- contents of a file ------------------------------------------------------------------------------------------------


@final
class _Reader:
    """The arrays of a file, each checked when it is taken out. Displacements stay in the units of the file."""

    def __init__(self, arrays: dict[str, Any], metre: float, origin: Array):
        self.arrays, self.metre, self.origin = arrays, metre, origin
        self.energy = 1.0 if metre == 1.0 else metre  # the units t, mm, s give energies in N mm
        self.kilogram = self.energy / metre**2

    def model(self) -> Elements:
        """Return the checked model."""
        K = self._matrix("K")
        if K is None:
            raise Fault("", "has no K; it needs the stiffness matrix of the free part")
        self.n = K.shape[0]
        nodal = "nodes" in self.arrays
        for key in ("rigid", "held", "tip_position", "tip_shapes") if nodal else ("dofs", "root", "tip"):
            if key in self.arrays:
                raise Fault(
                    key,
                    "is given, but "
                    f"{'follows from nodes: leave it out' if nodal else 'needs nodes: add nodes, or leave it out'}",
                )
        points = self._points()
        M = self._matrix("M")
        if M is None:
            if points is None:
                raise Fault("", "has no M; it needs the mass matrix, or points, masses and shapes")
            M = sum(each.T @ points.mass @ each for each in points.along) / self.energy
        if M.shape != K.shape:
            raise Fault("M", f"has shape {M.shape}; it must be that of K, {K.shape}")
        if not M.diagonal().min() >= 0:
            raise Fault("M", f"has {M.diagonal().min():g} on its diagonal; no entry there may be negative")
        M, K = M * self.energy, K * self.energy
        made = self._nodal(M, K, points) if nodal else self._general(M, K, points)
        _check_rigid(made)
        return made

    # common parts of the layouts

    def _array(self, key: str, *shape: int | str) -> Array | None:
        """Return an array of finite numbers with this shape, or None if the file has none. A text in `shape` is any
        size."""
        if key not in self.arrays:
            return None
        given = self.arrays[key]
        if not isinstance(given, np.ndarray) or given.dtype.kind not in "biuf":
            raise Fault(key, "is not an array of real numbers")
        if len(shape) == 1 and given.ndim == 2 and 1 in given.shape:  # MATLAB has no vectors
            given = given.ravel()
        wanted = f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"
        if given.size > MOST_UNPACKED // 8:
            raise Fault(key, f"has {counted(given.size, 'number')}; at most {MOST_UNPACKED // 8} are allowed")
        if given.ndim != len(shape) or any(
            isinstance(s, int) and s != g for s, g in zip(shape, given.shape, strict=True)
        ):
            raise Fault(key, f"has shape {given.shape}; it must be {wanted}")
        if not given.size:
            raise Fault(key, "is empty")
        found = given.astype(float)
        if not np.isfinite(found).all():
            raise Fault(key, "contains NaN or infinity")
        most = SIZES["m"][1] / self.metre if key in PLACES else LARGEST
        if (largest := np.abs(found).max()) > most:
            raise Fault(key, f"has a number of size {largest:g}; at most {most:g} is allowed")
        return found

    def _needed(self, key: str, *shape: int | str) -> Array:
        found = self._array(key, *shape)
        if found is None:
            raise Fault("", f"has no {key}; it needs the {ALLOWED[key]}")
        return found

    def _matrix(self, key: str) -> Any:
        """Return M or K as a sparse, symmetric matrix, or None if the file has none."""
        from scipy.sparse import csc_array

        parts = [f"{key}_{part}" for part in SPARSE if f"{key}_{part}" in self.arrays]
        given = self.arrays.get(key)
        if parts:
            if given is not None or len(parts) < 3:
                raise Fault(
                    key, "must be given as one array, or as the three arrays " + ", ".join(f"{key}_{p}" for p in SPARSE)
                )
            data, indices, indptr = (self._needed(f"{key}_{part}", "any") for part in SPARSE)
            A = _compressed(key, Sparse(data, indices, indptr, np.full(2, len(indptr) - 1)))
        elif given is None:
            return None
        elif isinstance(given, Sparse):
            A = _compressed(key, given)
        else:
            A = csc_array(self._needed(key, "n", "n"))
        if A.shape[0] != A.shape[1]:
            raise Fault(key, f"has shape {A.shape}; it must be square")
        if A.shape[0] > MOST_DISPLACEMENTS:
            raise Fault(key, f"has {A.shape[0]} rows; at most {MOST_DISPLACEMENTS} are allowed")
        if not np.isfinite(A.data).all():
            raise Fault(key, "contains NaN or infinity")
        largest = abs(A).max()
        if not largest > 0:
            raise Fault(key, "is zero")
        skew = abs(A - A.T).max()
        if skew > SAME * largest:
            raise Fault(key, f"is not symmetric: entries differ by {skew:.3g} from their mirror images")
        return csc_array((A + A.T) / 2)

    def _points(self) -> MassPoints | None:
        """Return the mass points of the file in SI units."""
        from scipy.sparse import csr_array, diags_array

        given = [key for key in ("points", "masses", "shapes") if key in self.arrays]
        if not given:
            return None
        if len(given) < 3:
            raise Fault(given[0], "is given alone; points, masses and shapes must be given together")
        x = self._needed("points", "P", 3)
        masses = self._needed("masses", len(x)) * self.kilogram
        if not (masses >= 0).all() or not masses.sum() > 0:
            raise Fault(
                "masses",
                f"has {masses.min() / self.kilogram:g}; masses must not be negative, and their sum must be positive",
            )
        shapes = self._needed("shapes", len(x), 3, self.n) * self.metre
        along = tuple(csr_array(shapes[:, a]) for a in range(3))
        return MassPoints(x * self.metre - self.origin, diags_array(masses), along)  # type: ignore[arg-type]

    def _modes(self, held: Array) -> Array | None:
        found = self._array("modes", self.n, "m")
        if found is not None and np.abs(found[held]).max(initial=0.0) > SAME * np.abs(found).max():
            raise Fault("modes", "are not zero where the root is clamped")
        return found

    # model given by its matrices, or by its modes, without nodes

    def _general(self, M: Any, K: Any, points: MassPoints | None) -> Elements:
        rigid = self._array("rigid", self.n, 6)
        if rigid is None and points is None:
            raise Fault("", "has no nodes; a file without nodes needs rigid, or points, masses and shapes")
        held = np.zeros(self.n, dtype=bool)
        if rigid is not None:
            held = _flags("held", self._needed("held", self.n))
            rigid = rigid / np.array([self.metre] * 3 + [1.0] * 3)
            for a in range(3):  # about the link's origin in place of the file's
                rigid[:, 3 + a] -= rigid[:, :3] @ np.cross(np.eye(3)[a], self.origin)
        elif "held" in self.arrays:
            raise Fault("held", "is given without rigid; add rigid, or leave out held")
        place = self._needed("tip_position", 3) * self.metre - self.origin
        tip = self._needed("tip_shapes", 6, self.n) * np.array([[self.metre]] * 3 + [[1.0]] * 3)
        return Elements(
            M, K, held, rigid, tip, place, points, "rigid" if points is None else "points", self._modes(held)
        )

    # model given by its nodes

    def _nodal(self, M: Any, K: Any, points: MassPoints | None) -> Elements:
        nodes = self._needed("nodes", "N", 3) * self.metre - self.origin
        N, n = len(nodes), self.n
        node, direction = self._rows(N)
        root = _flags("root", self._needed("root", N))
        weights = self._needed("tip", N)
        if not (weights >= 0).all() or not weights.any():
            raise Fault("tip", "must have weights that are zero or positive, at least one of them positive")
        if (root & (weights > 0)).any():
            raise Fault(
                "tip", f"has the node {int((root & (weights > 0)).argmax()) + 1}, which root clamps; choose a free node"
            )
        shift = direction <= 3
        real = node >= 0
        rigid = np.zeros((n, 6))
        at = nodes[np.maximum(node, 0)]
        for a in range(3):
            rigid[real & (direction == a + 1), a] = 1 / self.metre
            rigid[real & (direction == a + 4), 3 + a] = 1.0
            turned = np.cross(np.eye(3)[a], at) / self.metre
            rows = np.flatnonzero(real & shift)
            rigid[rows, 3 + a] = turned[rows, direction[rows] - 1]
        held = real & root[np.maximum(node, 0)]
        place = weights @ nodes / weights.sum()
        tip = self._tip(nodes - place, weights, node, direction)
        inertia = "points"
        if points is None:
            points, inertia = self._between(M, nodes, node, direction)
        return Elements(M, K, held, rigid, tip, place, points, inertia, self._modes(held))

    def _rows(self, N: int) -> tuple[Array, Array]:
        """Return the node of each row, from 0, or -1 for none, and the row's direction from 1 to 6."""
        n, given = self.n, self._array("dofs", self.n, 2)
        if given is None:
            if n not in (3 * N, 6 * N):
                raise Fault(
                    "dofs",
                    f"is missing; {counted(N, 'node')} without dofs need a K of {3 * N} or {6 * N} rows, not {n}",
                )
            return np.repeat(np.arange(N), n // N), np.tile(np.arange(n // N) + 1, N)
        if not np.array_equal(given, np.round(given)):
            raise Fault("dofs", "must have whole numbers: nodes from 1, directions from 1 to 6")
        node, direction = given.astype(int).T
        if node.min() < 0 or node.max() > N:
            raise Fault("dofs", f"has the node {node.min() if node.min() < 0 else node.max()}; nodes go from 1 to {N}")
        real = node > 0
        if not ((direction[real] >= 1) & (direction[real] <= 6)).all():
            bad = direction[real & ((direction < 1) | (direction > 6))][0]
            raise Fault("dofs", f"has the direction {bad}; directions go from 1 to 6")
        pairs = given[real]
        if len(np.unique(pairs, axis=0)) < len(pairs):
            raise Fault("dofs", "lists a direction of a node twice")
        return node - 1, direction

    def _tip(self, arms: Array, weights: Array, node: Array, direction: Array) -> Array:
        """Return the motion of the tip, (6, n): the mean displacement of its nodes, and their mean or best-fit
        rotation.

        If the nodes have rotations of their own, these are averaged. Otherwise nodes with weights w at d from their
        middle give the best-fit rotation (sum w (d.d - d d'))^-1 sum w d x u.
        """
        row = {(i, d): r for r, (i, d) in enumerate(zip(node.tolist(), direction.tolist(), strict=True)) if i >= 0}
        some = np.flatnonzero(weights)
        share = weights / weights.sum()
        tip = np.zeros((6, self.n))
        if missing := [int(i) + 1 for i in some if any((i, d) not in row for d in (1, 2, 3))]:
            raise Fault("tip", f"has the node {missing[0]}, for which K has no displacements along x, y and z")
        turning = all((i, d) in row for i in some for d in (4, 5, 6))
        spread = np.einsum("i,ia,ia->", share, arms, arms) * np.eye(3) - np.einsum("i,ia,ib->ab", share, arms, arms)
        size = np.linalg.eigvalsh(spread)
        if not turning and not size[0] > 1e-12 * max(size[-1], 1e-300):
            raise Fault(
                "tip",
                "has only nodes on one line, without rotations of their own; add a node that is not on the line",
            )
        fit = np.zeros((3, 3)) if turning else np.linalg.inv(spread)
        for i in some:
            for a in range(3):
                tip[a, row[i, a + 1]] += share[i] * self.metre
                if turning:
                    tip[3 + a, row[i, a + 4]] += share[i]
                else:
                    tip[3:, row[i, a + 1]] += fit @ (share[i] * self.metre * np.cross(arms[i], np.eye(3)[a]))
        return tip

    def _between(self, M: Any, nodes: Array, node: Array, direction: Array) -> tuple[MassPoints | None, str]:
        """Return the mass between nodes, and its kind.

        For solid elements it is M itself, which is equal in all directions. For others it is a share at each node.
        """
        from scipy.sparse import csr_array, diags_array

        if (node < 0).any():
            return None, "rigid"  # the motion of points with a mode of a reduction is unknown
        N, n = len(nodes), self.n
        row = np.full((N, 3), -1)
        shift = direction <= 3
        row[node[shift], direction[shift] - 1] = np.flatnonzero(shift)
        massive = (row >= 0).all(axis=1)
        row = row[massive]
        along = tuple(
            csr_array((np.full(len(row), self.metre), (np.arange(len(row)), row[:, a])), shape=(len(row), n))
            for a in range(3)
        )
        blocks = [M[row[:, a]][:, row[:, a]] for a in range(3)]
        largest = abs(M).max()
        alike = all(abs(blocks[0] - other).max() <= SAME * largest for other in blocks[1:])
        if n == 3 * len(row) and alike:
            apart = abs(M).sum() - sum(abs(block).sum() for block in blocks)
            if apart <= SAME * abs(M).sum():
                mass = sum(blocks) / 3 / self.metre**2
                return MassPoints(nodes[massive], mass, along), "consistent"  # type: ignore[arg-type]
        share = np.mean([block.diagonal() for block in blocks], axis=0)
        whole = sum(block.sum() for block in blocks) / 3 / self.metre**2
        if not share.sum() > 0:
            return None, "rigid"
        return MassPoints(nodes[massive], diags_array(share / share.sum() * whole), along), "lumped"  # type: ignore[arg-type]


def _compressed(key: str, given: Sparse) -> Any:
    """Return a sparse matrix after a check of its structure. SciPy does not check indices and may crash."""
    from scipy.sparse import csc_array

    data, shape = given.data, tuple(int(n) for n in given.shape)
    if data.dtype.kind not in "biuf":
        raise Fault(key, "is not an array of real numbers")
    if len(shape) != 2 or shape[0] != shape[1]:
        raise Fault(key, f"has shape {shape}; it must be square")
    if shape[0] > MOST_DISPLACEMENTS:
        raise Fault(key, f"has {shape[0]} rows; at most {MOST_DISPLACEMENTS} are allowed")
    indices, starts = (_whole(key, name, each) for name, each in (("indices", given.indices), ("indptr", given.indptr)))
    if len(starts) != shape[1] + 1 or starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] > len(indices):
        raise Fault(key, "is not a valid sparse matrix: its indptr does not divide its indices into columns")
    if len(data) < starts[-1]:
        raise Fault(
            key, f"is not a valid sparse matrix: it has {counted(len(data), 'number')} for {starts[-1]} indices"
        )
    indices, data = indices[: starts[-1]], data[: starts[-1]]
    if len(indices) and not 0 <= indices.min() <= indices.max() < shape[0]:
        bad = indices.min() if indices.min() < 0 else indices.max()
        raise Fault(key, f"is not a valid sparse matrix: it has the row index {bad}; rows go from 0 to {shape[0] - 1}")
    found = csc_array((data.astype(float), indices, starts), shape=shape)
    if np.isfinite(found.data).all() and (largest := np.abs(found.data).max(initial=0.0)) > LARGEST:
        raise Fault(key, f"has a number of size {largest:g}; at most {LARGEST:g} is allowed")
    return found


def _whole(key: str, name: str, given: Array) -> Array:
    """Return the integers of one array of a sparse matrix."""
    found = given.ravel()
    if found.dtype.kind not in "biuf" or not ((found >= -(2.0**53)) & (found <= 2.0**53) & (found % 1 == 0)).all():
        raise Fault(key, f"is not a valid sparse matrix: its {name} must be whole numbers")
    return found.astype(np.int64)


def _flags(key: str, given: Array) -> Array:
    if not np.isin(given, (0.0, 1.0)).all():
        raise Fault(key, "must be true (1) or false (0) for each node or row, not a list of their numbers")
    if not given.any():
        raise Fault(key, "has no true entry; at least one must be true")
    return given == 1.0


MOTIONS = (
    "moving along x",
    "moving along y",
    "moving along z",
    "turning about x",
    "turning about y",
    "turning about z",
)


def _check_rigid(model: Elements) -> None:
    """Raise `Fault` if the six rigid motions are wrong.

    A rigid motion must not strain the part, must have mass, and must be impossible while the root is held.
    """
    R, points = model.rigid, model.points
    if R is None:
        return
    force = np.abs(model.K @ R).max(axis=0)
    size = (abs(model.K) @ np.abs(R)).max(axis=0)
    for c in range(6):
        if force[c] > SAME * size[c]:
            raise Fault(
                "K",
                f"resists {MOTIONS[c]} as a rigid body; it must be the stiffness of the free part, without supports",
            )
    B = R.T @ (model.M @ R)
    m = B[0, 0]
    if not m > 0 or np.abs(B[:3, :3] - m * np.eye(3)).max() > SAME * abs(m):
        masses = ", ".join(f"{x:.6g} kg along {a}" for x, a in zip(np.diag(B)[:3], "xyz", strict=True))
        raise Fault("M", f"has the mass {masses}; the mass must be the same in all directions")
    if not ANY_SIZE[0] <= m <= ANY_SIZE[1]:
        raise Fault("M", f"has the mass {m:g} kg; it must be from {ANY_SIZE[0]:g} to {ANY_SIZE[1]:g} kg")
    first = [(B[(a + 1) % 3, 3 + (a + 2) % 3], B[(a + 2) % 3, 3 + (a + 1) % 3]) for a in range(3)]
    length = max(np.sqrt(np.abs(np.diag(B)[3:]).max() / m), np.abs(model.place).max())
    if any(abs(x + y) > SAME * m * length for x, y in first) or np.abs(np.diag(B[:3, 3:])).max() > SAME * m * length:
        raise Fault("M", "gives rigid motions momenta that are impossible for a rigid body; check M and the nodes")
    scale = np.array([1.0] * 3 + [1.0 / max(length, 1e-300)] * 3)
    rank = np.linalg.matrix_rank(R[model.held] * scale, tol=1e-9 * np.abs(R[model.held] * scale).max(initial=0.0))
    if rank < 6:
        raise Fault(
            "root",
            f"prevents {rank} of the six rigid motions; clamp three nodes that are not on one line to prevent all six",
        )
    if points is None or model.inertia != "points":
        return
    whole = float(points.mass.sum())
    if abs(whole - m) > 1e-3 * m:
        raise Fault("masses", f"have the sum {whole:.6g} kg, and M has {m:.6g} kg; they must agree to 0.1 %")
    turned = np.zeros((len(points.x), 3, 6))
    turned[:, range(3), range(3)] = 1.0
    for a, (b, c) in enumerate(CYCLE):  # rotation about a moves points along c with b, and along b against c
        turned[:, c, 3 + a], turned[:, b, 3 + a] = points.x[:, b], -points.x[:, c]
    if np.abs((points.moved(R) - turned) * scale).max() > SAME:
        raise Fault("shapes", "do not follow the rigid motions of the part; check shapes and points")
