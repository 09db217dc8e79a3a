"""Links from finite element models: against beams of the package, scikit-fem, closed forms and the oracle."""

import base64
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import sympy as sp
from oracle import Lagrangian, load_beyond
from part_files import beam_part, matrices, solid_of, solid_part, tip_motion
from scipy import sparse
from scipy.io import savemat
from scipy.linalg import eigh

import flexarm as fa
from flexarm.analysis import convergence
from flexarm.description.finite_file import model_of
from flexarm.model.tracing import description_digest
from flexarm.pictures.solids import solids
from flexarm.shapes import finite as finite_shapes

ROUNDING = 1e-10  # of the largest number: a few thousand operations, behind a solver of eigenvalues
SLENDER = {"length": 1.0, "mass": 0.8, "EI_y": 20.0, "EI_z": 30.0, "GJ": 9.0, "EA": 1e4, "polar": 0.002}
STEEL = {"E": 2.1e11, "nu": 0.3, "density": 7850.0}
PLASTIC = {"E": 2e9, "nu": 0.35, "density": 1100.0}


@cache
def beam(elements=2, points=True):
    return beam_part(**SLENDER, elements=elements, points=points)


@cache
def block(*cells, length=0.4, width=0.03, height=0.02, element="ElementHex2", **material):
    return solid_part(length, width, height, **(material or PLASTIC), cells=cells or (4, 1, 1), element=element)


@pytest.fixture
def written(tmp_path):
    """Writes the arrays of a part and gives the path."""

    def write(part, name="part.npz", **changes):
        np.savez(tmp_path / name, **{key: x for key, x in (part | changes).items() if x is not None})
        return tmp_path / name

    return write


def close(actual, expected, tolerance=ROUNDING):
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def frequencies(body):
    return np.sqrt(np.diag(body.part.K) / np.diag(body.part.M))


def alone(body, **more):
    return fa.Arm(name="part", links=[fa.Link(name="part", body=body)], **more)


def in_the_middle(body):
    """An arm in general position with the body as its second link of three."""
    rigid = fa.Rigid(length=0.3, mass=0.5, com=(0.1, 0.02, 0.03), inertia=(0.01, 0.02, 0.03))
    first = fa.Link(name="first", joint=fa.Revolute(axis=(0.0, 0.6, 0.8), damping=0.1), body=rigid)
    part = fa.Link(
        name="part",
        joint=fa.Revolute(axis=(0.6, 0.0, 0.8), rotor_inertia=0.01),
        body=body,
        placement=fa.Pose(xyz=(0.1, -0.05, 0.02), rpy=(0.3, -0.2, 0.5)),
        hub_mass=0.1,
        hub_inertia=0.02,
    )
    last = fa.Link(
        name="last",
        joint=fa.Revolute(axis=(0.0, 1.0, 0.0), rotor_inertia=0.1, stiffness=50.0),
        body=rigid,
        placement=fa.Pose(xyz=(0.1, 0.2, 0.05), rpy=(0.3, -0.2, 0.4)),
    )
    payload = fa.Payload(mass=0.3, inertia=0.01)
    return fa.Arm(name="general", links=[first, part, last], payload=payload, gravity=(1.0, -9.81, 3.0))


def general_state(model, size=0.03):
    rng = np.random.default_rng(5)
    q, qd = rng.normal(size=(2, len(model.coordinates)))
    q[list(model.arm.flexible)] *= size
    return q, qd, rng.normal(size=len(model.inputs))


# -- a beam written out and read back ----------------------------------------------------------------------------------


def as_beam(elements, damping=0.02):
    """The same elements as a family of the package: every coordinate of every node."""
    counts = {"y": 2 * elements, "z": 2 * elements, "torsion": elements, "axial": elements}
    shapes = {"y": "hermite", "z": "hermite", "torsion": "linear-elements", "axial": "linear-elements"}
    given = {"EI": {"y": 20.0, "z": 30.0}, "GJ": 9.0, "EA": 1e4, "polar_inertia": 0.002}
    return fa.Beam(length=1.0, mass=0.8, modes=counts, shapes=shapes, damping=damping, **given)


def own_modes(beam, sign_of):
    """Modes of a beam's coordinates with the modal mass of its mass, and the signs of those of a part."""
    model = fa.Model(alone(beam))
    rest = np.zeros(len(model.coordinates))
    M = model.mass_matrix(rest)[1:, 1:]
    K = np.array(model.slope("stiffness_force", "q")(rest))[1:, 1:]
    omega2, V = eigh(K, M)
    chain = model.chain.bodies[0]
    tip = (
        np.array([[float(x) for x in chain.tip(list(v))] for v in V.T]).T - np.array(chain.tip([0.0] * len(V)))[:, None]
    )
    tip = np.vstack([tip[:3], tip[5], -tip[4], tip[3]])
    return np.sqrt(omega2), V * np.sqrt(beam.total_mass) * np.sign((tip * sign_of.part.tip).sum(axis=0))


@pytest.mark.parametrize("elements", [1, 3])
def test_a_beam_written_out_and_read_back_is_the_beam(written, elements):
    """All modes of a row of Hermite elements: every quantity in general position, large deflections among them."""
    part = fa.FiniteElement(file=written(beam(elements)), modes=6 * elements, shapes="clamped-free", damping=0.02)
    assert part.part.inertia == "points"
    mine, theirs = (fa.Model(in_the_middle(body)) for body in (part, as_beam(elements)))
    omega, V = own_modes(as_beam(elements), part)
    np.testing.assert_allclose(frequencies(part), omega, rtol=1e-11)
    T = np.eye(len(mine.coordinates))
    own = np.array(mine.arm.flexible)
    T[np.ix_(own, own)] = V
    q, qd, u = general_state(mine)
    close(T @ mine.forward_dynamics(q, qd, u), theirs.forward_dynamics(T @ q, T @ qd, u))
    close(mine.mass_matrix(q), T.T @ theirs.mass_matrix(T @ q) @ T)
    close(mine.bias(q, qd), T.T @ theirs.bias(T @ q, T @ qd))
    for quantity in ("gravity_force", "stiffness_force"):
        close(mine.evaluate(quantity, q), T.T @ theirs.evaluate(quantity, T @ q))
    close(mine.damping_force(q, qd), T.T @ theirs.damping_force(T @ q, T @ qd))
    close(mine.tip(q), theirs.tip(T @ q))


def test_a_run_of_both_is_the_same(written):
    part = fa.FiniteElement(file=written(beam(1)), modes=6, shapes="clamped-free", damping=0.05)
    mine, theirs = (fa.Model(alone(body, gravity=(0.0, -9.81, 0.0))) for body in (part, as_beam(1, 0.05)))
    runs = [
        fa.simulate(m, 0.5, u=[1.0], solver=fa.Solver(rtol=1e-10, atol=1e-12), progress=False) for m in (mine, theirs)
    ]
    np.testing.assert_allclose(
        runs[0].tip, runs[1].tip, rtol=0, atol=1e-8
    )  # a hundred times the solver's own tolerance
    assert runs[0].energy_drift < 1e-9


def test_masses_at_the_nodes_tend_to_the_mass_between_them(written):
    """Of nodes that turn M says no products of deflections: those of the nodes' masses, with an error of h^2."""
    errors = []
    for elements in (2, 4, 8):
        bodies = [
            fa.FiniteElement(file=written(beam(elements, points)), modes=4, shapes="clamped-free")
            for points in (True, False)
        ]
        assert [body.part.inertia for body in bodies] == ["points", "lumped"]
        exact, lumped = (fa.Model(in_the_middle(body)) for body in bodies)
        q, qd, u = general_state(exact)
        rest = q.copy()
        rest[list(exact.arm.flexible)] = 0.0
        close(lumped.mass_matrix(rest), exact.mass_matrix(rest))  # not bent it is M
        errors.append(np.abs(lumped.mass_matrix(q) - exact.mass_matrix(q)).max())
    assert errors[-1] < 2e-3
    assert all(1.7 < order < 2.3 for order in np.log2(np.array(errors[:-1]) / errors[1:]))


# -- solids ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes", ["clamped-free", "clamped-loaded"])
def test_a_solid_link_is_the_oracle_s(written, shapes):
    """Lagrange's equations of all its nodes, with the mass between them, by automatic differentiation."""
    part = block(2, 1, 1)
    ratios = (0.01, 0.02, 0.03, 0.04, 0.05)
    body = fa.FiniteElement(file=written(part), modes=5, shapes=shapes, damping=ratios)
    assert body.part.inertia == "consistent"
    arm = in_the_middle(body)
    load = load_beyond(arm, 1) if shapes == "clamped-loaded" else None
    straight = None if load is None else (load[0], np.array([load[1][0], 0, 0]), np.diag(np.diag(load[2])))
    oracle = Lagrangian(arm, solids={"part": solid_of(part, 5, straight, ratios)})
    model = fa.Model(arm)
    assert oracle.coordinates == model.coordinates
    q, qd, u = general_state(model)
    close(model.mass_matrix(q), oracle.mass_matrix(q))
    close(model.bias(q, qd), oracle.bias(q, qd))
    close(model.gravity_force(q), oracle.gravity_force(q))
    close(model.damping_force(q, qd), oracle.damping_force(q, qd))
    close(model.stiffness_force(q), oracle.stiffness_force(q))
    close(model.forward_dynamics(q, qd, u), oracle.forward_dynamics(q, qd, u), 1e-9)
    close(model.tip(q), oracle.tip(q))
    close(model.energy(q, qd), oracle.energy(q, qd))


def test_frequencies_of_a_solid_cantilever(written):
    """Against scikit-fem's own solution, and the beam's closed form to what shear and rotary inertia take away."""
    import skfem as fem

    part = block(12, 1, 1, length=0.5, width=0.02, height=0.01, **STEEL)
    body = fa.FiniteElement(file=written(part), modes=6, shapes="clamped-free")
    M, K, free, *_ = matrices(part)
    solved, _ = fem.solve(
        *fem.condense(sparse.csr_matrix(K), sparse.csr_matrix(M), I=np.flatnonzero(free)),
        solver=fem.solver_eigen_scipy_sym(k=6, sigma=0.0),
    )
    np.testing.assert_allclose(frequencies(body), np.sqrt(np.sort(solved)), rtol=1e-7)
    assert body.total_mass == pytest.approx(7850 * 0.5 * 0.02 * 0.01, rel=1e-12)
    E, rho = STEEL["E"], STEEL["density"]
    bending = [1.8751040687**2 / 0.5**2 * np.sqrt(E * h**2 / 12 / rho) for h in (0.01, 0.02)]
    assert frequencies(body)[:2] == pytest.approx(bending, rel=1e-2)  # held across, too, a root stiffens it


def timoshenko(length, depth, breadth, E, nu, density, count):
    """The lowest frequencies of a thick cantilever: bending and shear by Legendre polynomials, Cowper's coefficient."""
    kappa, G = 10 * (1 + nu) / (12 + 11 * nu), E / (2 * (1 + nu))
    A, I = breadth * depth, breadth * depth**3 / 12
    t, w = np.polynomial.legendre.leggauss(40)
    s = np.polynomial.Polynomial([0, 1])
    x, dx = (1 + t) / 2 * length, w / 2 * length
    P = [np.polynomial.Legendre.basis(k).convert(kind=np.polynomial.Polynomial)(2 * s - 1) * s for k in range(12)]
    phi = np.array([p(x / length) for p in P])
    slope = np.array([p.deriv()(x / length) / length for p in P])

    def inner(f, g):
        return (f * dx) @ g.T

    zero = np.zeros((len(P), len(P)))
    K = np.block(
        [
            [kappa * G * A * inner(slope, slope), -kappa * G * A * inner(slope, phi)],
            [-kappa * G * A * inner(phi, slope), E * I * inner(slope, slope) + kappa * G * A * inner(phi, phi)],
        ]
    )
    M = np.block([[density * A * inner(phi, phi), zero], [zero, density * I * inner(phi, phi)]])
    d = 1 / np.sqrt(np.diag(M))
    return np.sqrt(eigh(K * np.outer(d, d), M * np.outer(d, d), eigvals_only=True)[:count])


def test_frequencies_of_a_thick_cantilever(written):
    """L / h = 5: Timoshenko's to half a percent, where the slender beam's second is off by a sixth."""
    part = block(8, 2, 1, length=0.5, width=0.1, height=0.02, **(STEEL | {"nu": 0.0}))
    body = fa.FiniteElement(file=written(part), modes=8, shapes="clamped-free")
    known = timoshenko(0.5, 0.1, 0.02, STEEL["E"], 0.0, STEEL["density"], 2)
    edgewise = frequencies(body)[np.abs(body.part.tip[1]) > 10 * np.abs(body.part.tip[2])][:2]
    np.testing.assert_allclose(edgewise, known, rtol=5e-3)
    slender = 22.0345 / 0.5**2 * np.sqrt(STEEL["E"] * 0.1**2 / 12 / STEEL["density"])
    assert slender > 1.15 * edgewise[1]


def test_an_arm_of_a_slender_solid_swings_as_the_beam(written):
    """A torque swings it up and bends it; tips agree to a thousandth of the way, deflections to a percent."""
    length, width, height = 1.0, 0.02, 0.01
    part = block(20, 1, 1, length=length, width=width, height=height, E=7e9, nu=0.0, density=2700.0)
    solid = fa.FiniteElement(file=written(part), modes=8, damping=0.05)
    material = fa.Material(E=7e9, density=2700.0, poisson=0.0)
    slender = fa.Beam(
        length=length, material=material, section=fa.Box(width=width, height=height), modes={"y": 3}, damping=0.05
    )
    runs = [
        fa.simulate(fa.Model(alone(body, payload=fa.Payload(mass=0.2))), 0.6, u=[0.5], progress=False, samples=61)
        for body in (solid, slender)
    ]
    way = np.abs(runs[1].tip - runs[1].tip[0]).max()
    assert way > 0.1
    assert np.abs(runs[0].tip - runs[1].tip).max() < 2e-3 * way
    bent = [run.deflection.sel(axis="y").values for run in runs]
    assert np.abs(bent[0] - bent[1]).max() < 0.02 * np.abs(bent[1]).max()
    assert runs[0].energy_drift < 1e-8


# -- choices of modes --------------------------------------------------------------------------------------------------


def test_modes_under_a_load_are_those_of_the_whole_model_with_the_load(written):
    """Held at the joint, the arm has the frequencies of all nodes with the payload's mass on the tip."""
    part = block()
    body = fa.FiniteElement(file=written(part), modes=6)
    payload = fa.Payload(mass=0.4, inertia=(1e-4, 2e-4, 3e-4))
    found = fa.Model(alone(body, payload=payload)).frequencies(np.zeros(7))
    M, K, free, *_ = matrices(part)
    W, _ = tip_motion(part)
    L = np.diag([0.4, 0.4, 0.4, 1e-4, 2e-4, 3e-4])
    exact = np.sqrt(eigh(K[free][:, free], (M + W.T @ L @ W)[free][:, free], eigvals_only=True)[:6])
    np.testing.assert_allclose(found[:6], exact, rtol=1e-4)
    np.testing.assert_allclose(found[:3], exact[:3], rtol=1e-6)


def test_static_shapes_carry_a_force_exactly(written):
    """Craig-Bampton: the tip yields under any force or moment as all nodes do; six free modes alone are too stiff."""
    part = block()
    M, K, free, *_ = matrices(part)
    W, _ = tip_motion(part)
    exact = W[:, free] @ np.linalg.solve(K[free][:, free], W[:, free].T)
    body, few = (fa.FiniteElement(file=written(part), modes=6, shapes=x) for x in ("craig-bampton", "clamped-free"))
    found, stiffer = (b.part.tip @ np.linalg.solve(b.part.K, b.part.tip.T) for b in (body, few))
    close(found / np.abs(exact).max(), exact / np.abs(exact).max(), 1e-9)
    assert np.abs(stiffer - exact).max() > 1e-3 * np.abs(exact).max()


def test_static_shapes_of_a_very_stiff_part_are_not_taken_for_rounding(written):
    """Forces of 1 N do a millionth of the work there that they do in the soft one; the shapes are the same."""
    part = block()
    stiff = {key: 1e6 * np.asarray(x) for key, x in part.items() if key in ("K", "K_data")}
    soft, hard = (
        fa.FiniteElement(file=written(part, name, **more), modes=8, shapes="craig-bampton")
        for name, more in (("soft.npz", {}), ("hard.npz", stiff))
    )
    np.testing.assert_allclose(frequencies(hard), 1e3 * frequencies(soft), rtol=1e-9)
    np.testing.assert_allclose(hard.part.tip, soft.part.tip, rtol=0, atol=1e-6 * np.abs(soft.part.tip).max())


def test_a_shape_without_inertia_has_a_stiffness_of_its_own(written):
    """Torsion of a beam without polar inertia: 1 N/m, and the tip turns under a moment by L / GJ."""
    part = beam_part(**(SLENDER | {"polar": 0.0}), elements=2)
    body = fa.FiniteElement(file=written(part), modes=6, shapes="craig-bampton")
    inert, stiff = np.diag(body.part.M), np.diag(body.part.K)
    assert abs(inert[-1]) < 1e-12 and stiff[-1] == pytest.approx(1.0, rel=1e-9)
    np.testing.assert_allclose(inert[:-1], 0.8, rtol=1e-9)
    assert body.part.tip[3, -1] ** 2 == pytest.approx(SLENDER["length"] / SLENDER["GJ"], rel=1e-9)


def test_static_shapes_and_held_modes_converge_to_the_free_ones(written):
    part = block()
    free = fa.FiniteElement(file=written(part), modes=6, shapes="clamped-free")
    errors = [
        (
            frequencies(fa.FiniteElement(file=written(part), modes=6 + n, shapes="craig-bampton"))[:6]
            / frequencies(free)
            - 1
        )
        for n in (0, 4, 8)
    ]
    assert all((error > -1e-9).all() for error in errors)  # Rayleigh: from above
    assert errors[2].max() < 0.1 * errors[0].max() and errors[2].max() < 5e-3


@pytest.mark.parametrize("shapes", ["clamped-loaded", "clamped-free", "craig-bampton"])
def test_sparse_eigenvalues_are_those_of_dense_matrices(written, shapes, monkeypatch):
    path = written(block(6, 1, 1))
    dense = fa.FiniteElement(file=path, modes=8, shapes=shapes).part
    monkeypatch.setattr(finite_shapes, "DENSE", 0)
    found = fa.FiniteElement(file=path, modes=8, shapes=shapes).part
    for name in finite_shapes.NUMBERS:
        size = np.abs(getattr(dense, name)).max()
        np.testing.assert_allclose(getattr(found, name), getattr(dense, name), rtol=0, atol=1e-6 * size, err_msg=name)


def test_modes_from_the_file(written):
    """Its own: here the six lowest and one that is too stiff, mixed."""
    part = block()
    free = fa.FiniteElement(file=written(part), modes=4, shapes="clamped-free")
    M, K, rows, *_ = matrices(part)
    _, u = eigh(K[rows][:, rows], M[rows][:, rows], subset_by_index=(0, 3))
    modes = np.zeros((len(M), 4))
    modes[rows] = u @ np.random.default_rng(1).normal(size=(4, 4))
    given = fa.FiniteElement(file=written(part, modes=modes), modes=4, shapes="given")
    np.testing.assert_allclose(frequencies(given), frequencies(free), rtol=1e-8)
    np.testing.assert_allclose(given.part.tip, free.part.tip, atol=1e-6 * np.abs(free.part.tip).max())
    with pytest.raises(fa.DescriptionError, match=r"file 'part\.npz': the part has only 4 such modes"):
        fa.FiniteElement(file=written(part, modes=modes), modes=5, shapes="given")
    with pytest.raises(fa.DescriptionError, match="shapes is 'given', but the file has no modes; choose other shapes"):
        fa.FiniteElement(file=written(part, "other.npz"), modes=2, shapes="given")
    modes[0] = 1.0
    with pytest.raises(fa.DescriptionError, match="modes are not zero where the root is clamped"):
        fa.FiniteElement(file=written(part, modes=np.ones_like(modes)), modes=4, shapes="given")


def test_two_planes_of_one_frequency_are_told_apart(written):
    """A square bar: y before z, whatever combination the solver finds."""
    body = fa.FiniteElement(file=written(block(width=0.02, height=0.02)), modes=4, shapes="clamped-free")
    omega = frequencies(body)
    assert omega[0] == pytest.approx(omega[1], rel=1e-9)
    tip = body.part.tip[:3, :2]
    close(tip / np.abs(tip).max(), np.array([[0, 0], [1, 0], [0, 1]]), 1e-6)


# -- layouts of files --------------------------------------------------------------------------------------------------


def same_part(mine, theirs, tolerance=1e-8):
    assert mine.inertia == theirs.inertia
    for name in finite_shapes.NUMBERS:
        size = np.abs(getattr(theirs, name)).max()
        np.testing.assert_allclose(
            getattr(mine, name), getattr(theirs, name), rtol=0, atol=tolerance * size, err_msg=name
        )


def test_rows_in_order_need_no_list_of_them(written):
    part = block()
    M, K, _, node, direction = matrices(part)
    order = np.argsort(3 * node + direction)
    plain = {"M": M[order][:, order], "K": K[order][:, order], **{key: part[key] for key in ("nodes", "root", "tip")}}
    same_part(fa.FiniteElement(file=written(plain)).part, fa.FiniteElement(file=written(part)).part)


@pytest.mark.parametrize("compressed", [False, True])
def test_matlab_s_files_are_read(written, tmp_path, compressed):
    part = block()
    M, K, *_ = matrices(part)
    rest = {key: part[key] for key in ("nodes", "dofs", "root", "tip")}
    wanted = fa.FiniteElement(file=written(part)).part
    for name, arrays in (
        ("dense.mat", {"M": M, "K": K}),
        ("sparse.mat", {"M": sparse.csc_array(M), "K": sparse.csc_array(K)}),
    ):
        savemat(tmp_path / name, arrays | rest, do_compression=compressed)
        same_part(fa.FiniteElement(file=tmp_path / name).part, wanted)


def in_millimetres(part, generalized=()):
    """The same model in t, mm, s: displacements that are lengths are numbers a thousand times as large."""
    M, K, *_ = (part["M"], part["K"]) if "M" in part else matrices(part)
    direction = (
        part["dofs"][:, 1]
        if "dofs" in part
        else np.tile(np.arange(len(M) // len(part["nodes"])) + 1, len(part["nodes"]))
    )
    S = np.where(direction <= 3, 1e-3, 1.0)
    made = {key: x for key, x in part.items() if not key.startswith(("M_", "K_"))}
    return made | {"M": 1e3 * M * np.outer(S, S), "K": 1e3 * K * np.outer(S, S), "nodes": 1e3 * part["nodes"]}


@pytest.mark.parametrize("kind", ["solid", "beam"])
def test_millimetres_and_tonnes(written, kind):
    part = block() if kind == "solid" else beam(2, False)
    wanted = fa.FiniteElement(file=written(part)).part
    made = fa.FiniteElement(file=written(in_millimetres(part), "mm.npz"), unit="mm")
    same_part(made.part, wanted)
    assert made.length == pytest.approx(0.4 if kind == "solid" else 1.0)


def test_millimetres_of_mass_points(written):
    part = beam(2)
    M = in_millimetres(part)
    S = np.tile([1e-3] * 3 + [1.0] * 3, 3)
    M |= {"points": 1e3 * part["points"], "masses": 1e-3 * part["masses"], "shapes": 1e3 * part["shapes"] * S}
    same_part(fa.FiniteElement(file=written(M, "mm.npz"), unit="mm").part, fa.FiniteElement(file=written(part)).part)


def test_the_joint_need_not_be_where_the_file_has_its_origin(written):
    part = block()
    shift = np.array([0.3, -0.2, 0.1])
    moved = part | {"nodes": part["nodes"] + shift}
    same_part(
        fa.FiniteElement(file=written(moved, "moved.npz"), origin=shift).part, fa.FiniteElement(file=written(part)).part
    )


def general_layout(part, R):
    """The model without nodes: matrices, rigid motions, what is held, and how the tip moves."""
    M, K, free, *_ = matrices(part)
    W, place = tip_motion(part)
    return {"M": M, "K": K, "rigid": R, "held": ~free, "tip_position": place, "tip_shapes": W}


def rigid_motions(part):
    *_, node, direction = matrices(part)
    R = np.zeros((len(node), 6))
    for i, (n, d) in enumerate(zip(node, direction, strict=True)):
        e = np.eye(3)[d]
        R[i] = [*e, *np.cross(part["nodes"][n], e)]
    return R


@pytest.mark.parametrize("unit", ["m", "mm"])
def test_matrices_and_six_rigid_motions_alone(written, unit):
    """What they say: all of a part that is not bent, momentum and weight of one that is; no more."""
    part = block()
    full = fa.FiniteElement(file=written(part), modes=4)
    arrays, origin = general_layout(part, rigid_motions(part)), (0.0, 0.0, 0.0)
    if unit == "mm":
        arrays |= {"M": 1e-3 * arrays["M"], "K": 1e-3 * arrays["K"]}
        arrays["rigid"] = arrays["rigid"] @ np.diag([1.0] * 3 + [1e3] * 3)
        arrays["tip_shapes"] = np.diag([1.0] * 3 + [1e-3] * 3) @ arrays["tip_shapes"]
        arrays["tip_position"] = 1e3 * arrays["tip_position"]
        for key in ("M", "K"):  # with t, mm, s: (1e-3)^2 for lengths, 1e3 for energies
            arrays[key] = arrays[key] * 1e3 * 1e3 * 1e-6
    made = fa.FiniteElement(file=written(arrays, "alone.npz"), modes=4, unit=unit, origin=origin)
    assert made.part.inertia == "rigid"
    exact, first = fa.Model(in_the_middle(full)), fa.Model(in_the_middle(made))
    q, _, _ = general_state(exact, 0.01)
    rest = q.copy()
    rest[list(exact.arm.flexible)] = 0.0
    close(first.mass_matrix(rest), exact.mass_matrix(rest), 1e-7)
    close(first.gravity_force(q), exact.gravity_force(q), 1e-7)
    assert np.abs(first.mass_matrix(q) - exact.mass_matrix(q)).max() > 1e-5


def test_matrices_alone_about_another_origin(written):
    part = block()
    shift = np.array([0.3, -0.2, 0.1])
    moved = part | {"nodes": part["nodes"] + shift}
    arrays = general_layout(part, rigid_motions(moved)) | {"tip_position": tip_motion(moved)[1]}
    wanted = fa.FiniteElement(file=written(general_layout(part, rigid_motions(part)), "a.npz"))
    same_part(fa.FiniteElement(file=written(arrays, "b.npz"), origin=shift).part, wanted.part)


def test_modes_at_points_with_masses(written):
    """What any program can export: K of a few modes, their values at points that have masses, and the tip's motion."""
    full = fa.FiniteElement(file=written(beam(3)), modes=2, shapes="clamped-free")
    M, K = beam(3)["M"][6:, 6:], beam(3)["K"][6:, 6:]
    omega2, u = eigh(K, M, subset_by_index=(0, 3))
    arrays = {key: beam(3)[key] for key in ("points", "masses")}
    arrays |= {"K": np.diag(omega2), "M": np.eye(4), "shapes": beam(3)["shapes"][:, :, 6:] @ u}
    arrays |= {"tip_position": [1.0, 0.0, 0.0], "tip_shapes": u[-6:]}
    made = fa.FiniteElement(file=written(arrays, "modal.npz"), modes=2, shapes="clamped-free")
    np.testing.assert_allclose(full.part.second - made.part.second, np.diag([0.002, 0, 0]), atol=1e-12)
    same_part(replace(made.part, second=full.part.second), full.part)  # points on a line do not turn about it
    without = fa.FiniteElement(file=written(arrays, "no-m.npz", M=None), modes=2, shapes="clamped-free")
    np.testing.assert_allclose(frequencies(without), np.sqrt(omega2[:2]), rtol=1e-9)


def reduction(part, count):
    """A Craig-Bampton reduction as programs write it: displacements of both ends' nodes, and held modes behind them."""
    M, K = part["M"], part["K"]
    n = len(M)
    boundary = np.r_[0:6, n - 6 : n]
    inner = np.setdiff1d(np.arange(n), boundary)
    static = np.linalg.solve(K[np.ix_(inner, inner)], -K[np.ix_(inner, boundary)])
    _, held = eigh(K[np.ix_(inner, inner)], M[np.ix_(inner, inner)], subset_by_index=(0, count - 1))
    T = np.zeros((n, 12 + count))
    T[boundary, range(12)] = 1.0
    T[np.ix_(inner, range(12))] = static
    T[np.ix_(inner, range(12, 12 + count))] = held
    dofs = [(node, d) for node in (1, 2) for d in range(1, 7)] + [(0, j + 1) for j in range(count)]
    arrays = {"M": T.T @ M @ T, "K": T.T @ K @ T, "nodes": part["nodes"][[0, -1]], "dofs": np.array(dofs)}
    return arrays | {"root": [1, 0], "tip": [0, 1]}, T


def test_a_craig_bampton_reduction_is_the_part(written):
    part = beam(8)
    full = fa.FiniteElement(file=written(part), modes=6, shapes="clamped-free")
    arrays, T = reduction(part, 12)
    made = fa.FiniteElement(file=written(arrays, "reduced.npz"), modes=6, shapes="clamped-free")
    assert made.part.inertia == "rigid"
    np.testing.assert_allclose(frequencies(made), frequencies(full), rtol=1e-3)  # twelve held modes
    np.testing.assert_allclose(made.part.momentum, full.part.momentum, atol=1e-3 * np.abs(full.part.momentum).max())
    np.testing.assert_allclose(made.part.second, full.part.second, atol=1e-9)
    points = {"points": part["points"], "masses": part["masses"], "shapes": part["shapes"] @ T}
    exact = fa.FiniteElement(file=written(arrays | points, "points.npz"), modes=6, shapes="clamped-free")
    assert exact.part.inertia == "points"
    np.testing.assert_allclose(exact.part.bent, full.part.bent, atol=1e-2 * np.abs(full.part.bent).max())


# -- in an arm ---------------------------------------------------------------------------------------------------------


def test_it_hangs_as_the_static_solution_says(written):
    """Under its weight, with as many modes as it has: the tip's sag by all nodes."""
    part = beam(2)
    body = fa.FiniteElement(file=written(part), modes=12, shapes="clamped-free")
    arm = fa.Arm(name="held", links=[fa.Link(name="part", joint=fa.Fixed(), body=body)], gravity=(0.0, 0.0, -9.81))
    q, _ = fa.analysis.equilibrium(fa.Model(arm), np.zeros(12))
    assert fa.Model(arm).tip(q)[2, 3] == pytest.approx(-0.8 * 9.81 / (8 * 30.0), rel=1e-9)  # w L^4 / 8 EI


def test_without_modes_it_is_a_rigid_body(written):
    body = fa.FiniteElement(file=written(block()), modes=0)
    assert (
        body.counts == {"mode": 0} and alone(fa.FiniteElement(file=written(block()))).rigid().links[0].body.modes == 0
    )
    part = body.part
    com = part.first / part.mass[0]
    about = part.second - part.mass[0] * (com @ com * np.eye(3) - np.outer(com, com))
    rigid = fa.Rigid(length=0.4, mass=part.mass[0], com=com, inertia=((about + about.T) / 2).tolist())
    mine, theirs = (fa.Model(in_the_middle(x)) for x in (body, rigid))
    q, qd, u = general_state(mine)
    close(mine.forward_dynamics(q, qd, u), theirs.forward_dynamics(q, qd, u))
    E = PLASTIC["density"] * 0.4 * 0.03 * 0.02
    np.testing.assert_allclose(np.diag(about)[1], E * (0.4**2 + 0.02**2) / 12, rtol=1e-12)


def test_mass_stiffness_and_damping_may_vary(written):
    """As the description with other numbers, and as the physics says."""
    body = fa.FiniteElement(file=written(block()), modes=3, shapes="clamped-free", damping=(0.01, 0.02, 0.03))
    names = ["part.mass", "part.stiffness_factor", "part.damping_ratio.2"]
    model = fa.Model(alone(body), vary=names).at([0.6, 1.7, 0.2])
    again = fa.Model(model.arm_at())
    assert again.arm.links[0].body.mass == 0.6 and again.arm.links[0].body.damping == (0.01, 0.2, 0.03)
    q, qd, u = general_state(model)
    close(model.forward_dynamics(q, qd, u), again.forward_dynamics(q, qd, u))
    factor = np.sqrt(1.7 * body.total_mass / 0.6)
    rest = np.zeros(4)
    np.testing.assert_allclose(again.frequencies(rest), factor * fa.Model(alone(body)).frequencies(rest), rtol=1e-9)
    one = fa.Model(alone(body.replace(damping=0.01)), vary=["part.damping_ratio"]).at([0.05])
    assert fa.Model(one.arm_at()).arm.links[0].body.damping == 0.05
    with pytest.raises(fa.DescriptionError, match="follows from the file of the part"):
        fa.Model(alone(body), vary=["part.part.c.1.1"])


def test_what_the_load_changes_is_told(written):
    arm = alone(fa.FiniteElement(file=written(block()), modes=2), payload=fa.Payload(mass=0.1))
    (payload,) = fa.Model(arm, vary=["payload.mass"]).parameters
    assert payload.shapes == ("part.mode",)
    (stiffness,) = fa.Model(arm, vary=["part.stiffness_factor"]).parameters
    assert stiffness.shapes == ()


def test_closed_forms_have_its_numbers_by_name(written):
    body = fa.FiniteElement(file=written(beam(2)), modes=2, shapes="clamped-free", damping=0.01)
    arm = alone(body, gravity=(0.0, -9.81, 0.0))
    found, model = fa.equations(arm), fa.Model(arm)
    assert "k_1_1_1" in {p.symbol for p in found.parameters}
    q, qd, _ = general_state(model)
    values = found.values | dict(zip(map(sp.Symbol, found.coordinates), q, strict=True))
    M = np.array(found.explicit(found.M).subs(values), dtype=float)
    close(M, model.mass_matrix(q))


def test_the_centre_line_ends_at_the_tip_and_bends_as_the_beam(written):
    body = fa.FiniteElement(file=written(beam(6)), modes=4, shapes="clamped-free")
    of = fa.Model(alone(body)).chain.bodies[0]
    eta = [0.02, -0.01, 0.005, 0.004]
    x = np.linspace(0, 1, 9)
    line = np.array([[float(c) for c in of.section(s, eta)] for s in x])
    close(line[-1][:3], of.tip(eta)[:3])
    close(line[0][:3], np.zeros(3))
    omega, V = own_modes(
        as_beam(6), fa.FiniteElement(file=written(beam(6), "all.npz"), modes=36, shapes="clamped-free")
    )
    theirs = fa.Model(alone(as_beam(6))).chain.bodies[0]
    other = np.array([[float(c) for c in theirs.section(s, list(V[:, :4] @ eta))] for s in x])
    assert np.abs(line[:, 1:3] - other[:, 1:3]).max() < 0.01 * np.abs(other[:, 1:3]).max()
    assert np.abs(line[:, 3:5] - other[:, 3:5]).max() < 0.05 * np.abs(other[:, 3:5]).max()


def turned_part(part, R):
    """The same beam along another axis."""
    T = np.kron(np.eye(2 * len(part["nodes"])), R)
    found = part | {"M": T @ part["M"] @ T.T, "K": T @ part["K"] @ T.T, "nodes": part["nodes"] @ R.T}
    if "points" in part:
        found |= {"points": part["points"] @ R.T, "shapes": np.einsum("ab,pbi,ji->paj", R, part["shapes"], T)}
    return found


@pytest.mark.parametrize("points", [True, False])
@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.0), (0.0, 0.0, np.pi / 2), (0.3, -0.7, 1.1)])
def test_a_section_turns_with_the_part_wherever_that_points(written, rpy, points):
    """At the last station it is the distal frame; between, what turns in a part that lies along x."""
    R = fa.Pose(rpy=rpy).rotation
    straight = beam(6, points)
    here, there = (
        fa.Model(alone(fa.FiniteElement(file=written(arrays, name), modes=4, shapes="clamped-free"))).chain.bodies[0]
        for arrays, name in ((straight, "x.npz"), (turned_part(straight, R), "r.npz"))
    )

    def slopes(body, s):
        """What each mode moves and turns, in the part's axes."""
        rows = [np.array(body.section(s, [1e-3 * (i == j) for i in range(4)])) for j in range(4)]
        moved, at = np.array(rows) - np.array(body.section(s, [0.0] * 4)), np.column_stack
        return moved[:, :3], at([moved[:, 5], -moved[:, 4], moved[:, 3]])

    for s in (0.31, 0.72, 1.0):
        (u, turn), (v, spin) = slopes(here, s), slopes(there, s)
        sign = np.sign((u @ R.T * v).sum(axis=1) + (turn @ R.T * spin).sum(axis=1))[:, None]
        close(1e3 * sign * v, 1e3 * u @ R.T, 1e-7)
        close(1e3 * sign * spin, 1e3 * turn @ R.T, 1e-7)
    eta = [0.02, -0.01, 0.005, 0.004]
    for body in (here, there):
        close(np.array(body.section(1.0, eta)), np.array(body.tip(eta)))


def test_the_centre_line_between_points_that_lie_unevenly_is_that_of_their_line():
    """What moves the points in proportion to their place moves a station in proportion to its own."""
    x, masses = np.sort(np.random.default_rng(2).uniform(0.0, 2.0, 60)), np.random.default_rng(3).uniform(0.5, 2.0, 60)
    points = finite_shapes.MassPoints(np.outer(x, [1.0, 0.0, 0.0]), sparse.diags_array(masses), ())
    s = np.linspace(0.0, 1.0, finite_shapes.STATIONS)
    near = finite_shapes._near(points, np.array([1.0, 0.0, 0.0]), 2.0, s)
    for i, weights in near.items():
        np.testing.assert_allclose([weights.sum(), weights @ x / 2.0], [1.0, s[i]], rtol=1e-12)


def test_a_part_whose_tip_is_at_its_root_turns_there(written):
    body = fa.FiniteElement(file=written(beam(2)), modes=3, origin=(1.0, 0.0, 0.0))
    assert body.length == 0.0
    of = fa.Model(alone(body)).chain.bodies[0]
    eta = [0.02, -0.01, 0.005]
    close(np.array(of.section(1.0, eta)), np.array(of.tip(eta)))


def test_a_reduction_without_inner_nodes_is_drawn_as_a_cubic(written):
    arrays, _ = reduction(beam(4), 4)
    body = fa.FiniteElement(file=written(arrays), modes=2, shapes="clamped-free")
    s = np.linspace(0, 1, finite_shapes.STATIONS)
    static = 1.5 * s**2 - 0.5 * s**3  # of a force at the tip; the first mode is near it
    first = body.part.line[0, :, 1] / body.part.line[0, -1, 1]
    np.testing.assert_allclose(first, static, atol=0.02)


def test_a_picture_has_its_section(written):
    """A block of 30 mm by 20 mm is drawn as one."""
    (link,) = solids(fa.Model(alone(fa.FiniteElement(file=written(block()), modes=2))))["links"]
    assert link["flexible"] and not link["round"]
    np.testing.assert_allclose([link["base"], link["tip"]], [[0.03, 0.02]] * 2, rtol=1e-9)


def test_sensors_views_and_more_modes(written):
    arm = alone(fa.FiniteElement(file=written(block()), modes=2), payload=fa.Payload(mass=0.1), gravity=(0, -9.81, 0))
    model = fa.Model(arm)
    seen = fa.outputs(model, [fa.TipDeflection(link="part", axis="y")])
    assert seen.names == ("part_deflection_y",)
    with pytest.raises(fa.DescriptionError, match="StrainGauge: link 'part' does not bend along y"):
        fa.outputs(model, [fa.StrainGauge(link="part")])
    assert convergence(arm).modes == {"part.mode": (2, 3)}
    with pytest.raises(fa.DescriptionError, match=r"part\.mode: its file is unknown"):
        convergence(fa.Arm.from_json(arm.canonical()))
    few = fa.FiniteElement(file=written(beam(1), "few.npz"), modes=6)
    with pytest.raises(fa.DescriptionError, match=r"no mode can be added; part\.mode: 'few\.npz': the part has only"):
        convergence(alone(few.replace(shapes="clamped-free")))


# -- what is kept ------------------------------------------------------------------------------------------------------


def test_an_arm_keeps_its_part_and_not_the_file(written):
    path = written(block())
    arm = alone(fa.FiniteElement(file=path, modes=3, damping=0.01))
    text = arm.canonical()
    assert str(path) not in text and len(text) < 20_000
    before = description_digest(arm)
    path.unlink()
    again = fa.Arm.from_json(text)
    assert again.canonical() == text and description_digest(again) == before
    q, qd, u = general_state(fa.Model(arm))
    np.testing.assert_array_equal(fa.Model(again).forward_dynamics(q, qd, u), fa.Model(arm).forward_dynamics(q, qd, u))
    assert arm.replace(name="other").links[0].body.part == arm.links[0].body.part  # nor is it read once more
    assert arm.links[0].body.replace(damping=0.1).modes == 3
    with pytest.raises(fa.DescriptionError, match="modes is 4, but part was reduced with 3; give the file"):
        again.links[0].body.replace(modes=4)
    with pytest.raises(
        fa.DescriptionError, match="shapes is 'clamped-free', but part was reduced with 'clamped-loaded'"
    ):
        again.links[0].body.replace(shapes="clamped-free")
    assert "Reduced(9 shapes, 0.264 kg)" in repr(arm)
    assert hash(arm.links[0].body.part) == hash(again.links[0].body.part)


def test_a_table_of_a_part_that_is_none(written):
    body = fa.FiniteElement(file=written(plain()), modes=2)
    good = body.written()["part"]
    assert fa.FiniteElement(part=good, modes=2).part == body.part

    def said(**changes):
        arrays = {name: getattr(body.part, name) for name in finite_shapes.NUMBERS} | changes
        numbers = np.concatenate([np.ravel(x) for x in arrays.values()])
        table = good | {"numbers": base64.b64encode(numbers.tobytes()).decode()}
        with pytest.raises(fa.DescriptionError) as error:
            fa.FiniteElement(part=table, modes=2)
        return str(error.value)

    assert "part.numbers cannot be read: the mass or a stiffness of the part is not positive" in said(mass=[-1.0])
    assert "the mass or a stiffness of the part is not positive" in said(M=-body.part.M)
    coupled = np.array(body.part.K)
    coupled[0, 1] = coupled[1, 0] = 2 * np.sqrt(coupled[0, 0] * coupled[1, 1])
    assert "the part can move without force" in said(K=coupled)
    assert "finite numbers" in said(first=[np.nan, 0.0, 0.0])


def test_a_table_with_fewer_shapes_than_modes_is_refused(written):
    table = fa.FiniteElement(file=written(beam()), modes=2, shapes="clamped-free").part.written()
    with pytest.raises(fa.DescriptionError, match="the text has 2 shapes; 3 modes need as many"):
        fa.FiniteElement(part=table | {"modes": 3}, modes=3, shapes="clamped-free")


def test_another_file_is_another_arm(written):
    """Read again under the same name: other code, other results."""
    part = block()
    path = written(part)
    before = fa.FiniteElement(file=path, modes=3)
    softer = fa.FiniteElement(file=written(part, K_data=0.5 * part["K_data"]), modes=3)
    assert softer.file == before.file
    assert description_digest(alone(before)) != description_digest(alone(softer))
    np.testing.assert_allclose(frequencies(softer), np.sqrt(0.5) * frequencies(before), rtol=1e-9)
    assert (
        fa.Model(alone(softer)).frequencies(np.zeros(4))[0] < 0.8 * fa.Model(alone(before)).frequencies(np.zeros(4))[0]
    )


def test_what_a_file_says_is_not_kept_for_another(written):
    """The length, which nobody gave; a part without its file does not stand for another one."""
    body = fa.FiniteElement(file=written(block()), modes=3)
    longer = written(block(length=0.5), "longer.npz")
    assert body.replace(file=longer) == fa.FiniteElement(file=longer, modes=3)
    assert body.replace(unit="mm") == fa.FiniteElement(file=body.file, modes=3, unit="mm")
    assert body.replace(origin=(0.1, 0, 0)) == fa.FiniteElement(file=body.file, modes=3, origin=(0.1, 0, 0))
    with pytest.raises(fa.DescriptionError, match=r"length is 0.3 m, but the tip in the file is 0.5 m from the origin"):
        body.replace(file=longer, length=0.3)
    alone_again = fa.Arm.from_json(alone(body).canonical()).links[0].body
    assert alone_again.file is None and alone_again.replace(file=longer) == body.replace(file=longer)
    for field, value in (("unit", "mm"), ("origin", (0.1, 0, 0))):
        with pytest.raises(fa.DescriptionError, match=f"{field} is given with part and without file"):
            alone_again.replace(**{field: value})


def test_a_result_is_shown_again_without_the_file(written, tmp_path):
    path = written(block())
    result = fa.simulate(fa.Model(alone(fa.FiniteElement(file=path, modes=26))), 0.01, progress=False, samples=3)
    assert len(result.attrs["arm"]) > 65_536  # more than an attribute of HDF5 holds in its header
    fa.save_result(result, tmp_path / "run.nc")
    path.unlink()
    loaded = fa.load_result(tmp_path / "run.nc")
    assert loaded.attrs["arm"] == result.attrs["arm"]
    assert fa.view(loaded).save(tmp_path / "run.html").stat().st_size > 10_000


def test_a_toml_file_names_it_as_seen_from_there(written, tmp_path):
    written(block())
    (tmp_path / "arm.toml").write_text(
        'name = "part"\n[[links]]\nname = "part"\nbody = { type = "finite-element", file = "part.npz", modes = 2 }\n'
    )
    arm = fa.load(tmp_path / "arm.toml")
    assert arm.coordinates == ("part.joint", "part.mode1", "part.mode2")
    assert arm.links[0].body.length == pytest.approx(0.4)


def test_show_tells_what_it_is(written, tmp_path, capsys, monkeypatch):
    from flexarm.cli import main

    written(block())
    (tmp_path / "arm.toml").write_text(
        'name = "part"\n[[links]]\nname = "part"\nbody = { type = "finite-element", file = "part.npz", modes = 2 }\n'
    )
    monkeypatch.setattr("sys.argv", ["flexarm", "show", str(tmp_path / "arm.toml"), "--json"])
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 0
    (link,) = json.loads(capsys.readouterr().out)["links"]
    assert link["body"] == "finite-element" and link["modes"] == {"mode": 2} and link["mass"] == pytest.approx(0.264)


# -- what is refused ---------------------------------------------------------------------------------------------------


def refused(message, written, arrays, **fields):
    with pytest.raises(fa.DescriptionError) as error:
        fa.FiniteElement(file=written(arrays), **fields)
    said = str(error.value)
    assert message in said and "\n" not in said


def plain(elements=2):
    return dict(beam(elements, False))


def changed(key, change):
    part = plain()
    part[key] = change(np.array(part[key]))
    return part


def put(array, index, value):
    array = np.array(array, dtype=float)
    array[index] = value
    return array


def written_part(**changes):
    return {"part": {"modes": 1, "size": 1, "inertia": "", "choice": "", "numbers": ""} | changes}


def six(**more):
    return {"M": np.eye(6), "K": np.eye(6), "rigid": np.eye(6), "held": [1] * 6} | more


def skewed(M):
    """Mass at the tip's node that is felt along x alone where it should be felt along y, by the turn about z."""
    M = M.copy()
    M[12, 16] = M[16, 12] = M[12, 16] + 0.1
    return M


def wider(M):
    """More mass along x than along y and z."""
    return M * np.outer(*2 * [np.tile([1.1, 1, 1, 1, 1, 1], 3)])


def two_pieces():
    """Elements with one that holds on to nothing: free, and no rigid motion strains it."""
    one, other = plain(1), plain(1)
    M, K = (np.block([[one[x], np.zeros((12, 12))], [np.zeros((12, 12)), other[x]]]) for x in "MK")
    nodes = np.vstack([one["nodes"], one["nodes"] + [0, 1, 0]])
    return {"M": M, "K": K, "nodes": nodes, "root": [1, 0, 0, 0], "tip": [0, 1, 0, 0]}


def indefinite():
    """A spring that pushes, between nodes 2 and 3, against the stretch of the beam."""
    part = plain()
    part["K"] = part["K"].copy()
    for a, b in ((6, 6), (12, 12)):
        part["K"][a, b] -= 1e6
    part["K"][6, 12] += 1e6
    part["K"][12, 6] += 1e6
    return part


def unsparse():
    made = plain() | {"M": None}
    return made | {"M_data": np.ones(3), "M_indices": np.array([0, 1, 99]), "M_indptr": np.array([0, 1, 2, 3])}


def modal():
    return {"K": np.eye(2), "points": np.eye(3), "masses": np.ones(3), "shapes": np.ones((3, 3, 2))}


WRONG = {
    "no K": (lambda: plain() | {"K": None}, "has no K; it needs the stiffness matrix of the free part"),
    "no M": (lambda: plain() | {"M": None}, "has no M; it needs the mass matrix, or points"),
    "no root": (lambda: plain() | {"root": None}, "has no root; it needs the nodes that are held"),
    "key": (
        lambda: plain() | {"node": 1.0},
        "has the unknown key 'node'; did you mean 'nodes'? Allowed keys are M, K, nodes",
    ),
    "both": (lambda: plain() | {"rigid": np.ones((18, 6))}, "rigid is given, but follows from nodes: leave it out"),
    "without": (lambda: plain() | {"nodes": None}, "root is given, but needs nodes: add nodes, or leave it out"),
    "shape": (lambda: changed("M", lambda M: M[:, :-1]), "M has shape (18, 17); it must be square"),
    "other": (lambda: changed("M", lambda M: M[:-1, :-1]), "M has shape (17, 17); it must be that of K, (18, 18)"),
    "vector": (lambda: changed("K", lambda K: K[0]), "K has shape (18,); it must be (n, n)"),
    "text": (lambda: plain() | {"K": np.array("stiff")}, "K is not an array of real numbers"),
    "complex": (lambda: changed("K", lambda K: K * 1j), "K is not an array of real numbers"),
    "empty": (lambda: plain() | {"nodes": np.zeros((0, 3))}, "nodes is empty"),
    "NaN": (lambda: changed("K", lambda K: put(K, (0, 0), np.nan)), "K contains NaN or infinity"),
    "NaN nodes": (lambda: changed("nodes", lambda x: put(x, (0, 0), np.inf)), "nodes contains NaN or infinity"),
    "zero": (lambda: changed("K", lambda K: 0 * K), "K is zero"),
    "skew": (lambda: changed("M", lambda M: put(M, (0, 6), 1.0)), "M is not symmetric: entries differ by"),
    "negative": (lambda: changed("M", lambda M: put(M, (1, 1), -1.0)), "M has -1 on its diagonal"),
    "rows": (
        lambda: plain() | {"nodes": np.zeros((4, 3))},
        "dofs is missing; 4 nodes without dofs need a K of 12 or 24 rows, not ",
    ),
    "root's shape": (lambda: plain() | {"root": [True]}, "root has shape (1,); it must be (3,)"),
    "numbers": (lambda: plain() | {"root": [2, 0, 0]}, "root must be true (1) or false (0) for each"),
    "nothing": (lambda: plain() | {"root": [0, 0, 0]}, "root has no true entry; at least one must be true"),
    "tip": (lambda: plain() | {"tip": [0, -1, 1]}, "tip must have weights that are zero or positive"),
    "tip held": (lambda: plain() | {"tip": [1, 0, 1]}, "tip has the node 1, which root clamps; choose a free node"),
    "fraction": (lambda: plain() | {"dofs": np.full((18, 2), 1.5)}, "dofs must have whole numbers"),
    "node": (lambda: plain() | {"dofs": np.full((18, 2), 4)}, "dofs has the node 4; nodes go from 1 to 3"),
    "direction": (
        lambda: plain() | {"dofs": np.full((18, 2), (1, 7))},
        "dofs has the direction 7; directions go from 1",
    ),
    "twice": (lambda: plain() | {"dofs": np.full((18, 2), 1)}, "dofs lists a direction of a node twice"),
    "held K": (
        lambda: changed("K", lambda K: K + np.diag([1e6] * 6 + [0] * 12)),
        "K resists moving along x as a rigid body",
    ),
    "masses": (lambda: changed("M", lambda M: wider(M)), "M has the mass 0.968 kg along x"),
    "size": (lambda: plain() | {"M": 1e50 * plain()["M"]}, "M has the mass 8e+49 kg; it must be from 1e-40 to 1e+40"),
    "momenta": (
        lambda: changed("M", lambda M: skewed(M)),
        "M gives rigid motions momenta that are impossible for a rigid body; check M and the nodes",
    ),
    "loose": (lambda: two_pieces(), "is singular with the root clamped: a part of the model is not connected"),
    "indefinite": (lambda: indefinite(), "K is not positive definite with the root clamped"),
    "points": (
        lambda: plain() | {"points": np.zeros((1, 3))},
        "points is given alone; points, masses and shapes must be given together",
    ),
    "light": (lambda: beam(2) | {"masses": 0.5 * beam(2)["masses"]}, "masses have the sum 0.4 kg, and M has 0.8 kg"),
    "negative point": (
        lambda: beam(2) | {"masses": put(beam(2)["masses"], 0, -1.0)},
        "masses has -1; masses must not be negative",
    ),
    "moved": (lambda: beam(2) | {"shapes": 1.1 * beam(2)["shapes"]}, "shapes do not follow the rigid motions"),
    "sparse": (lambda: plain() | {"M_data": np.ones(3)}, "M must be given as one array, or as the three arrays M_data"),
    "no sparse": (lambda: unsparse(), "M is not a valid sparse matrix"),
    "all modes": (lambda: plain(1), "the part has only 6 such modes", {"modes": 7, "shapes": "clamped-free"}),
    "no rigid": (lambda: {"M": np.eye(2), "K": np.eye(2)}, "has no nodes; a file without nodes needs rigid, or points"),
    "no tip": (lambda: six(), "has no tip_position"),
    "tip shapes": (lambda: six(tip_position=[1, 0, 0]), "has no tip_shapes"),
    "held alone": (lambda: modal() | {"held": [1, 0]}, "held is given without rigid"),
    "length": (
        lambda: plain(),
        "length is 1000.0 m, but the tip in the file is 1 m from the origin; check length and unit",
        {"length": 1000.0},
    ),
    "ratios": (
        lambda: plain(),
        "damping has 2 ratios; give one number, or 3 numbers, one per mode",
        {"modes": 3, "damping": [0.1, 0.2]},
    ),
    "count": (lambda: plain(), "modes is 41; it must be an integer from 0 to 40", {"modes": 41}),
    "choice": (lambda: plain(), "shapes is 'free'; it must be 'clamped-loaded', 'clamped-free'", {"shapes": "free"}),
    "unit": (lambda: plain(), "unit is 'in'; it must be 'm' or 'mm'", {"unit": "in"}),
    "part": (lambda: plain(), "part is 3; it must be a table", {"part": 3}),
    "part's keys": (lambda: plain(), "part.modes is missing", {"part": {}}),
    "part's texts": (lambda: plain(), "part.choice is 1; it must be a text", written_part(choice=1)),
    "part's numbers": (
        lambda: plain(),
        "part.numbers cannot be read: the text has 0 numbers; ",
        written_part(),
    ),
    "part's base64": (lambda: plain(), "part.numbers cannot be read", written_part(numbers="ä")),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_one_line(case, written):
    make, message, *fields = WRONG[case]
    refused(message, written, make(), **(fields[0] if fields else {}))


def test_a_root_that_does_not_hold_and_a_tip_that_does_not_turn(written):
    part = block(2, 1, 1)
    corner = np.all(part["nodes"] == part["nodes"].min(axis=0), axis=1)
    refused("root prevents 3 of the six rigid motions", written, part | {"root": corner})
    edge = (part["nodes"][:, 0] == part["nodes"][:, 0].min()) & (part["nodes"][:, 1] == part["nodes"][:, 1].min())
    refused("root prevents 5 of the six rigid motions", written, part | {"root": edge})
    end = (part["nodes"][:, 0] == part["nodes"][:, 0].max()) & (part["nodes"][:, 1] == 0)
    refused(
        "tip has only nodes on one line, without rotations of their own", written, part | {"tip": end.astype(float)}
    )
    away = part["dofs"][:, 0] != np.flatnonzero(part["tip"])[0] + 1
    M, K, *_ = matrices(part)
    fewer = {"M": M[away][:, away], "K": K[away][:, away], "dofs": part["dofs"][away]}
    refused(
        "for which K has no displacements along x, y and z",
        written,
        {key: part[key] for key in ("nodes", "root", "tip")} | fewer,
    )


def test_files_that_are_none(tmp_path, written):
    def said(path, **fields):
        with pytest.raises(fa.DescriptionError) as error:
            fa.FiniteElement(file=path, **fields)
        assert "\n" not in str(error.value)
        return str(error.value)

    assert said(tmp_path / "none.npz") == "FiniteElement: file 'none.npz': cannot be read: No such file or directory"
    assert "is neither a .npz nor a .mat file" in said(tmp_path / "part.h5")
    assert "file is 3; it must be the name of a .npz or .mat file" in said(3)
    assert "file is missing; give the .npz or .mat file of the part" in said(None)
    assert "cannot be read" in said("nul\0.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK\3\4 no archive")
    assert "is not an NPZ file of arrays of numbers" in said(tmp_path / "bad.npz")
    np.savez(tmp_path / "objects.npz", K=np.array([{}], dtype=object))
    assert "is not an NPZ file of arrays of numbers: Object arrays cannot be loaded" in said(tmp_path / "objects.npz")
    (tmp_path / "bad.mat").write_bytes(b"no matrices here, but long enough for a header" * 8)
    assert "is not a readable MATLAB file" in said(tmp_path / "bad.mat")
    (tmp_path / "new.mat").write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512) + b"\x89HDF\r\n")
    assert "is a MATLAB v7.3 file, which cannot be read; save the data with '-v7'" in said(tmp_path / "new.mat")
    savemat(tmp_path / "cell.mat", {"K": np.array([{"a": 1}], dtype=object)})
    assert "K is not an array of real numbers" in said(tmp_path / "cell.mat")
    savemat(tmp_path / "complex.mat", {"K": sparse.csc_array(1j * np.eye(3))})
    assert "K is not an array of real numbers" in said(tmp_path / "complex.mat")
    whole = written(block()).read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    assert "is not an NPZ file of arrays of numbers" in said(tmp_path / "half.npz")


def test_too_much_is_not_read(tmp_path, written, monkeypatch):
    from flexarm.description import finite_file

    path = written(plain())
    monkeypatch.setattr(finite_file, "MOST_DISPLACEMENTS", 10)
    with pytest.raises(fa.DescriptionError, match="K has 18 rows; at most 10 are allowed"):
        fa.FiniteElement(file=path)
    np.savez_compressed(tmp_path / "zeros.npz", K=np.zeros((300, 300)))
    monkeypatch.setattr(finite_file, "MOST_UNPACKED", 40_000)
    with pytest.raises(fa.DescriptionError, match="is larger than 0 MiB when it is unpacked"):
        fa.FiniteElement(file=tmp_path / "zeros.npz")
    monkeypatch.setattr(finite_file, "MOST_BYTES", 100)
    with pytest.raises(fa.DescriptionError, match="is larger than 0 MiB"):
        fa.FiniteElement(file=path)


def test_a_telescope_needs_a_beam(written):
    body = fa.FiniteElement(file=written(plain()))
    with pytest.raises(fa.DescriptionError, match="body is a FiniteElement; a telescope needs a Beam"):
        fa.Link(name="part", joint=fa.Telescope(), body=body)


def test_the_model_of_a_file_is_in_si_units(written):
    model = model_of(str(written(plain())), "m", (0.0, 0.0, 0.0))
    np.testing.assert_allclose(model.rigid.T @ (model.M @ model.rigid), rigid_rod(0.8, 1.0, 0.002), atol=1e-9)


def rigid_rod(m, L, polar):
    """Over (v, w), about the rod's end."""
    M = np.diag([m, m, m, polar * L, m * L**2 / 3, m * L**2 / 3])
    M[1, 5] = M[5, 1] = m * L / 2
    M[2, 4] = M[4, 2] = -m * L / 2
    return M
