"""Finite element models of links, reduced to a few modes.

A model has displacements u, with M u'' + K u = f, and is clamped at its root. In a frame that moves with the root, a
point is at r0 + sum phi_j eta_j, with component modes phi_j that are zero at the root: the floating frame of Shabana,
"Dynamics of Multibody Systems", chapter 5. The equations of motion need only the integrals over the mass in `Reduced`,
not the nodes. There are several choices of modes: those of the clamped part, without or with a load at the tip, or
static shapes of the tip's six motions and modes with the tip clamped too (Craig & Bampton, AIAA J. 6, 1313, 1968).
"""

import base64
from dataclasses import dataclass, field, fields, replace
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import counted

STATIONS = 11
"""Number of stations of the centre line, from the root to the tip."""

DENSE = 900
"""Largest number of displacements for which eigenvalues come from dense matrices."""

NOTHING = 1e-13
"""Size relative to the largest below which an eigenvalue of a reduced matrix is rounding."""

SINGULAR = 1e-14
"""Pivot of K, scaled to a diagonal of 1, below which K counts as singular."""

LOOSE = "K is singular with the root clamped: a part of the model is not connected"

FAINT = 1e-4
"""Displacement relative to that of a rotation below which it does not determine a mode's sign."""

ALIKE = 1e-6
"""Relative difference below which two frequencies count as equal, since their modes cannot be separated."""


@final
@dataclass(frozen=True)
class MassPoints:
    """Points whose motion follows from the displacements, and their mass matrix: 2 T = sum_ab mass_ab v_a . v_b.

    Attributes
    ----------
    x : (P, 3)
        [m]
    mass : (P, P), sparse
        [kg]
    along : three of (P, n), sparse
        Displacement of each point along x, y and z.
    """

    x: Array
    mass: Any
    along: tuple[Any, Any, Any]

    def moved(self, u: Array) -> Array:
        """Return the displacements of the points, (P, 3, k), for displacements (n, k) of the model."""
        return np.stack([each @ u for each in self.along], axis=1)


@final
@dataclass(frozen=True)
class Elements:
    """A finite element model in SI units; the frame is that of the link.

    Attributes
    ----------
    M, K : (n, n), sparse
    held : (n,) of bool
        True for displacements that are zero at the root.
    rigid : (n, 6), optional
        Displacements of unit rigid motions: along x, y, z, and about them through the origin.
    tip : (6, n)
        Motion of the tip's frame, along and about x, y, z.
    place : (3,)
        Position of the tip's frame.
    points : MassPoints, optional
    inertia : str
        Dependence of the inertia on deformation, see `Reduced`.
    given : (n, m), optional
        Modes from the file.
    """

    M: Any
    K: Any
    held: Array
    rigid: Array | None
    tip: Array
    place: Array
    points: MassPoints | None
    inertia: str
    given: Array | None = None


@final
@dataclass(frozen=True, eq=False)
class Reduced:
    """A part that moves in k shapes.

    Attributes
    ----------
    count : int
        Number of modes for which it was made. k is equal, or larger by six if the modes depend on a load that is
        unknown.
    choice : str
        Choice of modes, see `reduced`.
    inertia : str
        "consistent": inertia of M at any deformation. "points": inertia of points with masses. "lumped": its variation
        with deformation is that of the nodes' masses. "rigid": it does not change.
    mass : (1,)
        [kg]
    first : (3,)
        int r0 [kg m]; every integral is over the mass.
    second : (3, 3)
        Moment of inertia about the origin [kg m^2].
    momentum : (6, k)
        int phi_j, int r0 x phi_j.
    M, K : (k, k)
    stretched : (k, 3, 3)
        int r0 phi_j'.
    bent : (k, k, 3, 3)
        int phi_i phi_j'.
    place : (3,)
        Position of the tip [m].
    tip : (6, k)
        Motion of the tip by the shapes.
    line : (k, STATIONS, 3)
        Displacement of the centre line.
    """

    count: int
    choice: str
    inertia: str
    mass: Array
    first: Array
    second: Array
    momentum: Array
    M: Array
    K: Array
    stretched: Array
    bent: Array
    place: Array
    tip: Array
    line: Array
    source: Any = field(default=None)
    """Source and method of the part, not compared as a part of its value."""

    @property
    def size(self) -> int:
        """Number of shapes."""
        return len(self.M)

    @property
    def slopes(self) -> Array:
        """Slopes of the centre line at the tip, (k, 3), times its length, from the rotation of the tip [m]."""
        return np.cross(self.tip[3:].T, self.place)

    def combined(self, T: Array) -> "Reduced":
        """Return the same part in shapes that are combinations of these, (k, k')."""
        return replace(
            self,
            momentum=self.momentum @ T,
            M=_symmetric(T.T @ self.M @ T),
            K=_symmetric(T.T @ self.K @ T),
            stretched=np.einsum("jab,jp->pab", self.stretched, T),
            bent=np.einsum("ijab,ip,jq->pqab", self.bent, T, T, optimize=True),
            tip=self.tip @ T,
            line=np.einsum("jsa,jp->psa", self.line, T),
        )

    def written(self) -> dict[str, Any]:
        """Return the part as a table, with its numbers as base64 without rounding."""
        numbers = np.concatenate([getattr(self, name).ravel() for name in NUMBERS])
        text = base64.b64encode(numbers.astype("<f8").tobytes()).decode()
        return {
            "modes": self.count,
            "size": self.size,
            "inertia": self.inertia,
            "choice": self.choice,
            "numbers": text,
        }

    def __repr__(self) -> str:
        return f"Reduced({counted(self.size, 'shape')}, {self.mass[0]:g} kg)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reduced) and self.written() == other.written()

    def __hash__(self) -> int:
        return hash(self.written()["numbers"])


NUMBERS = tuple(each.name for each in fields(Reduced) if each.name not in ("count", "choice", "inertia", "source"))


def shape_of(name: str, k: int) -> tuple[int, ...]:
    """Return the shape of one of the arrays of a part in k shapes."""
    return {
        "mass": (1,),
        "first": (3,),
        "second": (3, 3),
        "momentum": (6, k),
        "M": (k, k),
        "K": (k, k),
        "stretched": (k, 3, 3),
        "bent": (k, k, 3, 3),
        "place": (3,),
        "tip": (6, k),
        "line": (k, STATIONS, 3),
    }[name]


def read_back(modes: int, size: int, inertia: str, choice: str, numbers: str) -> Reduced:
    """Return the part of a table that `written` made.

    Raise ValueError if the text does not contain a part's numbers.
    """
    found = np.frombuffer(base64.b64decode(numbers.encode(), validate=True), dtype="<f8").astype(float)
    shapes = {name: shape_of(name, size) for name in NUMBERS}
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    if len(found) != ends[-1] or not np.isfinite(found).all():
        raise ValueError(
            f"the text has {counted(len(found), 'number')}; {counted(size, 'shape')} need {ends[-1]} finite numbers"
        )
    pieces = np.split(found, ends[:-1])
    arrays = {name: x.reshape(shape) for (name, shape), x in zip(shapes.items(), pieces, strict=True)}
    stiff, inert = np.diag(arrays["K"]), np.diag(arrays["M"])
    if not (arrays["mass"] > 0).all() or not (stiff > 0).all() or not (inert >= 0).all():
        raise ValueError("the mass or a stiffness of the part is not positive")
    if size < modes:
        raise ValueError(f"the text has {counted(size, 'shape')}; {counted(modes, 'mode')} need as many")
    d = 1 / np.sqrt(stiff)
    if not (np.linalg.eigvalsh(arrays["K"] * np.outer(d, d)) > 0).all():
        raise ValueError("the part can move without force")
    return Reduced(modes, choice, inertia, **arrays)


# -- from a model to a part --------------------------------------------------------------------------------------------


@final
class Held:
    """A model clamped at its root, and its compliance. Raises ValueError if K is not positive definite there."""

    def __init__(self, model: Elements):
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        free = np.flatnonzero(~model.held)
        self.K, self.M = csc_array(model.K)[free][:, free], csc_array(model.M)[free][:, free]
        self.tip, self.free, self.n = model.tip[:, free], free, len(model.held)
        diagonal = self.K.diagonal()
        if not (diagonal > 0).all():
            raise ValueError("K is not positive definite with the root clamped")
        d = 1 / np.sqrt(diagonal)
        unit = csc_array(self.K.multiply(d[:, None]).multiply(d[None, :]))
        try:
            factors = splu(unit, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:
            raise ValueError(LOOSE) from None
        pivots = factors.U.diagonal()
        if pivots.min() < -SINGULAR:
            raise ValueError("K is not positive definite with the root clamped")
        if pivots.min() < SINGULAR:
            raise ValueError(LOOSE)
        self._unit, self._scale = factors, d

    def solve(self, b: Array) -> Array:
        """Return displacements (n,) or (n, k) under forces."""
        d = self._scale.reshape(-1, *[1] * (b.ndim - 1))
        return d * self._unit.solve(d * b)

    def full(self, u: Array) -> Array:
        """Return displacements with zeros at the root."""
        found = np.zeros((self.n, u.shape[1]))
        found[self.free] = u
        return found

    def static(self) -> Array:
        """Return the displacements under unit forces and moments at the tip, (n, 6)."""
        return self.solve(np.ascontiguousarray(self.tip.T))

    def modes(self, count: int, tip_held: bool = False) -> Array:
        """Return the lowest modes, (n, count) or fewer if there are no more, with a free or a clamped tip."""
        n = len(self.free)
        if not count:
            return np.zeros((n, 0))
        if n <= DENSE:
            return self._dense(count, tip_held)
        from scipy.sparse.linalg import LinearOperator, eigsh

        static = self.static() if tip_held else np.zeros((n, 0))
        inner = np.linalg.pinv(self.tip @ static) if tip_held else np.zeros((0, 6))

        def compliance(b: Array) -> Array:
            u = self.solve(b)
            return u - static @ (inner @ (self.tip @ u))  # forces at the tip keep it in place

        inverse = LinearOperator((n, n), matvec=compliance, dtype=float)
        start = compliance(np.random.default_rng(1).standard_normal(n))  # the same in every run
        found, u = eigsh(self.M, count, self.K, Minv=inverse, v0=start, which="LA")
        order = np.argsort(-found)
        return u[:, order[found[order] > NOTHING * found.max()]]

    def _dense(self, count: int, tip_held: bool) -> Array:
        from scipy.linalg import eigh, null_space

        K, M = self.K.toarray(), self.M.toarray()
        N = null_space(self.tip) if tip_held else np.eye(len(K))
        if not N.shape[1]:
            return np.zeros((len(K), 0))
        inverse, u = eigh(_symmetric(N.T @ M @ N), _symmetric(N.T @ K @ N))
        inert = inverse > NOTHING * inverse.max(initial=0.0)
        order = np.argsort(-inverse)[: min(count, int(inert.sum()))]
        return N @ u[:, order]


def reduced(model: Elements, choice: str, count: int, source: Any = None) -> Reduced:
    """Return the part in `count` modes of a choice, "clamped-free", "craig-bampton" or "given".

    "clamped-loaded" returns six more shapes: those of the free tip and the static shapes, from which `loaded` computes
    the modes once the load is known. Raises ValueError, with the reason, if there are not so many modes.
    """
    held = Held(model)
    if choice == "given":
        assert model.given is not None
        u = model.given[held.free][:, :count]
    elif choice == "clamped-free":
        u = held.modes(count)
    elif choice == "craig-bampton":
        u = np.hstack([held.static(), held.modes(max(count - TIPS, 0), tip_held=True)])
    else:
        u = np.hstack([held.static(), held.modes(count)])
    u = u @ _independent(u.T @ (held.K @ u))
    most = u.shape[1] if choice == "clamped-loaded" else count
    if min(most, u.shape[1]) < count:
        raise ValueError(f"the part has only {u.shape[1]} such modes")
    u = u @ _own_modes(u.T @ (held.K @ u), u.T @ (held.M @ u), most)
    return _scaled(replace(_integrals(model, held.full(u), count), choice=choice, source=source))


TIPS = 6


def loaded(part: Reduced, load: Array) -> Reduced:
    """Return the modes of the part with `load`, (6, 6), at its tip: Rayleigh-Ritz approximations within its shapes.

    The coordinates in their span are those of the part's modes without load, as for every other choice.
    """
    if part.size == 0:
        return part
    T = _own_modes(part.K, part.M + part.tip.T @ load @ part.tip, part.count)
    some = part.combined(T)
    return _scaled(some.combined(_own_modes(some.K, some.M, part.count)))


def _own_modes(K: Array, M: Array, count: int) -> Array:
    """Return the lowest vectors of K v = M v omega^2. Those without inertia are the last."""
    from scipy.linalg import eigh

    if not len(K):
        return np.zeros((0, 0))
    d = 1 / np.sqrt(np.diag(K))  # entries differ much in size
    inverse, v = eigh(_symmetric(M * np.outer(d, d)), _symmetric(K * np.outer(d, d)))
    return d[:, None] * v[:, np.argsort(-inverse)][:, :count]


def _independent(K: Array) -> Array:
    """Return combinations of shapes that are orthonormal in K, without dependent ones."""
    d = 1 / np.sqrt(np.where(np.diag(K) > 0, np.diag(K), 1.0))
    size, v = np.linalg.eigh(_symmetric(K * np.outer(d, d)))
    some = size > 1e-11 * size.max(initial=1.0)
    return d[:, None] * v[:, some] / np.sqrt(size[some])


def _integrals(model: Elements, u: Array, count: int) -> Reduced:
    """Return the data of `Reduced`, for displacements (n, k) by each shape.

    Integrals that do not change with deformation follow from M if the rigid motions are known. Those that change follow
    from points and their mass matrix.
    """
    k = u.shape[1]
    Mu = model.M @ u
    own = _symmetric(u.T @ Mu)
    K = _symmetric(u.T @ (model.K @ u))
    stretched, bent = np.zeros((k, 3, 3)), np.zeros((k, k, 3, 3))
    points = model.points
    if points is not None:
        moved = points.moved(u)
        flat = moved.reshape(len(points.x), -1)
        weighed = points.mass @ flat
        stretched = np.einsum("pa,pbk->kab", points.x, weighed.reshape(moved.shape))
        bent = (flat.T @ weighed).reshape(3, k, 3, k).transpose(1, 3, 0, 2)
        bent = (bent + bent.transpose(1, 0, 3, 2)) / 2
    if model.rigid is not None:
        R = model.rigid
        block, momentum = R.T @ (model.M @ R), R.T @ Mu
        mass, first, second = block[0, 0], np.array([block[1, 5], block[2, 3], block[0, 4]]), block[3:, 3:]
    else:
        assert points is not None
        weights = points.mass @ points.x
        Q = points.x.T @ weights
        mass, first, second = points.mass.sum(), weights.sum(axis=0), np.trace(Q) * np.eye(3) - Q
        cross = [[stretched[j, b, c] - stretched[j, c, b] for j in range(k)] for b, c in CYCLE]
        momentum = np.vstack([weighed.reshape(moved.shape).sum(axis=0), np.reshape(cross, (3, k))])
    return Reduced(
        count,
        "",
        model.inertia,
        np.array([float(mass)]),
        first,
        _symmetric(second),
        momentum,
        own,
        K,
        stretched,
        bent,
        model.place,
        model.tip @ u,
        _line(model, u),
    )


CYCLE = ((1, 2), (2, 0), (0, 1))
"""The other two axes of each: x of a x b is a_y b_z - a_z b_y."""


def _scaled(part: Reduced) -> Reduced:
    """Return modes with reproducible size and sign, and reproducible combinations of modes of equal frequency.

    A mode's modal mass is the mass of the part, so that eta is the root mean square of its displacement [m]. Among
    modes of equal frequency, as in a round part, all but the first leave the tip's first motion (y, z, x, about them)
    unchanged, and so on. A shape without inertia has a stiffness of 1 N/m.
    """
    k = part.size
    if not k:
        return part
    stiff, inert = np.diag(part.K), np.diag(part.M)
    light = inert <= NOTHING * (inert / stiff).max(initial=0.0) * stiff
    sizes = np.sqrt(part.mass[0] / np.where(light, part.mass[0], inert))
    sizes = np.where(light, np.sqrt(1.0 / stiff), sizes)
    part = part.combined(np.diag(sizes))
    rate = np.diag(part.M) / np.diag(part.K)  # 1 / omega^2
    lengths = np.array([1.0, 1.0, 1.0, *[max(float(np.linalg.norm(part.place)), 1e-300)] * 3])
    order = [1, 2, 0, 4, 5, 3]
    T, begin = np.eye(k), 0
    seen = (part.tip * lengths[:, None])[order]
    for end in range(1, k + 1):
        if end < k and abs(rate[end] - rate[begin]) <= ALIKE * rate[begin]:
            continue
        block = slice(begin, end)
        rows = seen[:, block]
        if end - begin > 1:
            large = np.abs(rows).max(axis=1) > 1e-6 * max(np.abs(rows).max(), 1e-300)
            Q, _ = np.linalg.qr(rows[large].T, mode="complete")
            T[block, block] = Q
            rows = rows @ Q
        for c in range(end - begin):
            T[block, begin + c] *= _sign(rows[:, c])
        begin = end
    return part.combined(T)


def _sign(tip: Array) -> float:
    """Return the sign of the tip's largest displacement, or of the largest rotation if the mode only rotates it."""
    moved, turned = tip[:3], tip[3:]
    of = moved if np.abs(moved).max() > FAINT * np.abs(turned).max() else turned
    return -1.0 if of[np.abs(of).argmax()] < 0 else 1.0


def _line(model: Elements, u: Array) -> Array:
    """Return the displacement of the line from origin to tip, at its stations: zero at the root, the tip's at the end.

    Between them it is that of the mass near each station, on the line through it. Without such mass, it is the cubic
    with the tip's deflection and slope.
    """
    k, s = u.shape[1], np.linspace(0.0, 1.0, STATIONS)
    tip = model.tip @ u
    length = float(np.linalg.norm(model.place))
    turned = np.cross(tip[3:].T, model.place).T  # slope of the line at the tip
    found = np.outer(3 * s**2 - 2 * s**3, tip[:3]).reshape(STATIONS, 3, k)
    found = found + np.outer(s**3 - s**2, turned).reshape(STATIONS, 3, k)
    near = None if model.points is None or not length else _near(model.points, model.place / length, length, s)
    if near is not None and model.points is not None:
        moved = model.points.moved(u)
        for i, weights in near.items():
            found[i] = np.tensordot(weights, moved, axes=1)
    return np.ascontiguousarray(found.transpose(2, 0, 1))


def _near(points: MassPoints, along: Array, length: float, s: Array) -> dict[int, Array] | None:
    """Return, for each inner station, weights (P,) of the displacement there by a fit through points around it."""
    x = points.x @ along / length
    mass = np.maximum(points.mass.diagonal(), 0.0)
    found = {}
    for i in range(1, len(s) - 1):
        w = mass * np.maximum(1.0 - np.abs(x - s[i]) / (s[1] - s[0]), 0.0)
        total, mean = w.sum(), 0.0
        if not total > 0:
            return None
        mean = w @ x / total
        spread = w @ (x - mean) ** 2
        found[i] = w / total
        if spread > 1e-12 * total:
            found[i] = found[i] + (s[i] - mean) * w * (x - mean) / spread
    return found


def _symmetric(A: Array) -> Array:
    return (A + A.T) / 2
