"""Finite element models written down by hand, as files of parts: a row of Hermite elements, solids by scikit-fem."""

import numpy as np
from oracle import Solid
from scipy import sparse
from scipy.linalg import eigh


def cubic(t, h, derivative=0):
    """The four cubics of an element of length h at t in [0, 1]: deflection and slope at each end."""
    rows = {
        0: [1 - 3 * t**2 + 2 * t**3, h * (t - 2 * t**2 + t**3), 3 * t**2 - 2 * t**3, h * (t**3 - t**2)],
        1: [(6 * t**2 - 6 * t) / h, 1 - 4 * t + 3 * t**2, (6 * t - 6 * t**2) / h, 3 * t**2 - 2 * t],
        2: [(12 * t - 6) / h**2, (6 * t - 4) / h, (6 - 12 * t) / h**2, (6 * t - 2) / h],
    }
    return np.stack([np.broadcast_to(row, np.shape(t)) for row in rows[derivative]], axis=-1)


def beam_part(length, mass, EI_y, EI_z, GJ, EA, polar, elements, points=True):
    """A uniform beam along x in elements of two nodes that move and turn: M, K, nodes, root, tip, and mass points.

    EI_y resists deflection along y. Bending is cubic, torsion and stretch are linear; polar inertia turns the sections.
    """
    N, h = elements + 1, length / elements
    nodes = np.zeros((N, 3))
    nodes[:, 0] = np.linspace(0, length, N)
    t, w = np.polynomial.legendre.leggauss(6)
    t, w = (1 + t) / 2, w / 2
    B = cubic(t, h, 2)
    bending = (B.T * w * h) @ B
    M, K = np.zeros((6 * N, 6 * N)), np.zeros((6 * N, 6 * N))
    x, masses, shapes = [], [], []
    for e in range(elements):
        rows = np.zeros((len(t), 4, 6 * N))  # displacements along x, y, z, and the turn about x
        for end, a in ((0, 6 * e), (1, 6 * e + 6)):
            linear = t if end else 1 - t
            c = cubic(t, h)[:, 2 * end : 2 * end + 2]
            rows[:, 0, a] = rows[:, 3, a + 3] = linear
            rows[:, 1, a + 1], rows[:, 1, a + 5] = c.T
            rows[:, 2, a + 2], rows[:, 2, a + 4] = c[:, 0], -c[:, 1]
        inert = np.array([1.0, 1.0, 1.0, polar * length / mass])
        M += np.einsum("p,pai,paj,a->ij", w * mass * h / length, rows, rows, inert)
        a, b = 6 * e, 6 * e + 6
        y, z = [a + 1, a + 5, b + 1, b + 5], [a + 2, a + 4, b + 2, b + 4]
        sign = np.diag([1.0, -1.0, 1.0, -1.0])
        K[np.ix_(y, y)] += EI_y * bending
        K[np.ix_(z, z)] += EI_z * sign @ bending @ sign
        pair = np.array([[1.0, -1.0], [-1.0, 1.0]]) / h
        K[np.ix_([a, b], [a, b])] += EA * pair
        K[np.ix_([a + 3, b + 3], [a + 3, b + 3])] += GJ * pair
        x.append(np.column_stack([(e + t) * h, 0 * t, 0 * t]))
        masses.append(w * mass * h / length)
        shapes.append(rows[:, :3])
    ends = np.arange(N)
    part = {"M": M, "K": K, "nodes": nodes, "root": ends == 0, "tip": (ends == N - 1).astype(float)}
    if points:
        part |= {"points": np.vstack(x), "masses": np.concatenate(masses), "shapes": np.concatenate(shapes)}
    return part


def solid_part(length, width, height, E, nu, density, cells, element="ElementHex2"):
    """A block along x, by scikit-fem: width along y, height along z; M and K sparse, nodes, dofs, root, tip."""
    import skfem as fem
    from skfem.models.elasticity import lame_parameters, linear_elasticity

    x = np.linspace(0, length, cells[0] + 1)
    y, z = (np.linspace(-side / 2, side / 2, n + 1) for side, n in zip((width, height), cells[1:], strict=True))
    mesh = fem.MeshHex.init_tensor(x, y, z)
    basis = fem.Basis(mesh, fem.ElementVector(getattr(fem, element)()))
    K = linear_elasticity(*lame_parameters(E, nu)).assemble(basis)
    M = fem.BilinearForm(lambda u, v, w: density * (u[0] * v[0] + u[1] * v[1] + u[2] * v[2])).assemble(basis)
    direction = np.zeros(basis.N, dtype=int)
    for rows in (basis.nodal_dofs, basis.edge_dofs, basis.facet_dofs, basis.interior_dofs):
        for a, row in enumerate(rows):
            direction[row] = a + 1
    nodes, node = np.unique(basis.doflocs.T.round(9), axis=0, return_inverse=True)
    part = {"nodes": nodes, "dofs": np.column_stack([node.ravel() + 1, direction])}
    part |= {"root": nodes[:, 0] == 0, "tip": (nodes[:, 0] == length).astype(float)}
    return part | {
        f"{name}_{x}": getattr(A, x) for name, A in (("M", M), ("K", K)) for x in ("data", "indices", "indptr")
    }


# -- the same modes, worked out once more ------------------------------------------------------------------------------


def matrices(part):
    """Dense M and K of a part in nodes that only move, its free rows, and the node and direction of each."""
    M, K = (
        part[name]
        if name in part
        else sparse.csc_array(tuple(part[f"{name}_{x}"] for x in ("data", "indices", "indptr"))).toarray()
        for name in "MK"
    )
    N = len(part["nodes"])
    node, direction = part["dofs"].T - 1 if "dofs" in part else (np.repeat(np.arange(N), 3), np.tile(np.arange(3), N))
    return M, K, ~part["root"][node], node, direction


def tip_motion(part):
    """(6, n) and the tip's place: the rigid motion that comes nearest to that of its nodes, by least squares."""
    *_, node, direction = matrices(part)
    some = np.flatnonzero(part["tip"])
    place = part["nodes"][some].mean(axis=0)
    rows, of = [], []
    for i in some:
        for a in range(3):
            e = np.eye(3)[a]
            rows.append(np.concatenate([e, np.cross(part["nodes"][i] - place, e)]))  # e . (v + w x d)
            of.append(np.flatnonzero((node == i) & (direction == a))[0])
    W = np.zeros((6, len(node)))
    W[:, of] = np.linalg.pinv(np.array(rows))
    return W, place


def solid_of(part, count, load=None, ratios=0.0):
    """The oracle's net of a part of solid elements in its lowest modes, with a load (mass, first moment, inertia)."""
    M, K, free, node, direction = matrices(part)
    W, place = tip_motion(part)
    loaded = M.copy()
    if load is not None:
        m, s, I = load
        skew = np.array([[0, -s[2], s[1]], [s[2], 0, -s[0]], [-s[1], s[0], 0]])
        loaded += W.T @ np.block([[m * np.eye(3), -skew], [skew, I]]) @ W
    inside = np.ix_(free, free)
    _, u = eigh(K[inside], M[inside], subset_by_index=(0, count - 1))
    if load is not None:  # what Rayleigh and Ritz make of these and of what forces at the tip do
        u = np.linalg.qr(np.hstack([u, np.linalg.solve(K[inside], W[:, free].T) * 1e6]))[0]
        u = u @ eigh(u.T @ K[inside] @ u, u.T @ loaded[inside] @ u)[1][:, :count]
    omega2, v = eigh(u.T @ K[inside] @ u, u.T @ M[inside] @ u)
    x = part["nodes"]
    mass = np.zeros((len(x), len(x)))
    along_x = direction == 0
    mass[np.ix_(node[along_x], node[along_x])] = M[np.ix_(along_x, along_x)]
    full = np.zeros((len(M), count))
    full[free] = u @ v * np.sqrt(mass.sum())
    tip = W @ full
    still = np.abs(tip[:3]).max(axis=0) < 1e-4 * np.linalg.norm(place) * np.abs(tip[3:]).max(axis=0)
    sign = [np.sign(max(t[3:] if s else t[:3], key=abs)) for t, s in zip(tip.T, still, strict=True)]
    full, tip = full * sign, tip * sign
    phi = np.zeros((len(x), 3, count))
    phi[node, direction] = full
    omega = np.sqrt(omega2)
    m = mass.sum()
    return Solid(x, mass, phi, np.diag(omega2 * m), np.diag(2 * np.asarray(ratios) * omega * m), tip, place)
