"""Other frames for stiff bodies, other coordinates for modes: the same equations, for less."""

import casadi as ca
import numpy as np
import pytest
from random_arms import random_arm, random_state

import flexarm as fa
from flexarm.mechanics import dynamics
from flexarm.mechanics.combination import combinations, following
from flexarm.mechanics.lean import lean
from flexarm.mechanics.spatial import matrix
from flexarm.native.program import operations

ROUNDING = 1e-12  # of the largest entry: some hundred operations, lengths that cancel by a digit or two


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING * np.abs(expected).max())


def equations(chain, q, qd, qdd):
    """Mass matrix, and all other forces of inertia and gravity."""
    M = dynamics.mass_matrix(chain, q.tolist())
    force = dynamics.inertial_force(chain, q.tolist(), qd.tolist(), qdd.tolist(), chain.gravity)
    return [np.array(ca.DM(ca.vertcat(*(ca.horzcat(*row) for row in rows)))) for rows in (M, [force])]


def assert_same_equations(model, q, qd):
    qdd = np.sin(np.arange(len(q)))
    for mine, plain in zip(*(equations(c, q, qd, qdd) for c in (lean(model.chain), model.chain)), strict=True):
        close(mine, plain)


def turned(*axes, bodies=("rigid",), kinds=("revolute",), placement=None):
    """Links along their axes: each (axis, kind of body, kind of joint), the last two in turn."""
    beam = fa.Beam(length=0.6, mass=1.0, EI=50.0, modes={"y": 1, "z": 1})
    stiff = fa.Rigid(length=0.4, mass=1.2, com=(0.2, 0.03, -0.05), inertia=(0.02, 0.03, 0.04))
    links = []
    for i, axis in enumerate(axes):
        joint = {"revolute": fa.Revolute, "prismatic": fa.Prismatic, "fixed": fa.Fixed}[kinds[i % len(kinds)]]
        links.append(
            fa.Link(
                name=f"l{i}",
                joint=joint()
                if joint is fa.Fixed
                else joint(axis=tuple(axis / np.linalg.norm(axis)), rotor_inertia=1e-3, gear_ratio=30.0),
                body={"rigid": stiff, "beam": beam}[bodies[i % len(bodies)]],
                placement=placement or {"xyz": (0.1, -0.07, 0.05), "rpy": (0.3, -0.4, 0.5)},
            )
        )
    payload = fa.Payload(mass=0.7, inertia=(0.01, 0.02, 0.03))
    return fa.Model(fa.Arm(name="turned", links=links, payload=payload, gravity=(1.0, -2.0, -9.0)))


SKEW = ((0.2, 0.5, 0.8), (0.9, -0.3, 0.1), (-0.4, -0.8, 0.2), (0.3, 0.3, -0.9))
CASES = {
    "general": turned(*SKEW),
    "prismatic between": turned(*SKEW, kinds=("revolute", "prismatic")),
    "fixed between": turned(*SKEW, kinds=("revolute", "revolute", "fixed")),
    "fixed first": turned(*SKEW, kinds=("fixed", "revolute", "revolute")),
    "a beam, then stiff ones": turned(*SKEW, bodies=("beam", "rigid", "rigid")),
    "stiff ones, then a beam": turned(*SKEW, bodies=("rigid", "rigid", "beam")),
    "in turn": turned(*SKEW, *SKEW, bodies=("beam", "rigid")),
    "along coordinates": turned((0, 0, 1), (0, 1, 0), (1, 0, 0), (0, -1, 0), placement={}),
    "parallel": turned((0, 0, 1), (0, 0, 1), (0, 0, -1), placement={"xyz": (0, 0.2, 0.1)}),
    "in line": turned((1, 0, 0), (1, 0, 0), (-1, 0, 0), placement={}),
    "nearly parallel": turned((0, 1, 0), (0, 0, 1), (0, 1e-6, 1), (1, 0, 0), placement={"xyz": (0, 0.2, 0)}),
}


@pytest.mark.parametrize("case", CASES)
def test_stiff_bodies_in_other_frames_have_the_same_equations(case):
    model = CASES[case]
    random = np.random.default_rng(3)
    n = len(model.coordinates)
    assert_same_equations(model, random.uniform(-2, 2, n), random.normal(size=n))


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("options", [{"rigid": True, "links": 5}, {"rotor": "absolute"}, {"planar": True}], ids=str)
def test_random_arms_have_the_same_equations(seed, options):
    arm = random_arm(seed, **options)
    q, qd, _ = random_state(arm, seed)
    assert_same_equations(fa.Model(arm), q, qd)


def test_the_way_between_two_stiff_bodies_is_their_common_normal():
    """Slide along and turn about it, slide along and turn about the joint; nothing behind the joint."""
    for segment in lean(CASES["general"].chain).segments[1:-1]:
        assert len(segment.steps) <= 4
        assert not segment.after


def test_a_rod_does_not_resist_a_turn_about_itself_in_any_frame():
    rod, pose = fa.Rigid(length=0.5, mass=1.0), {"rpy": (0.3, 0.2, 0.1)}
    links = [fa.Link(name="base", body=rod, placement=pose)]
    links += [fa.Link(name="rod", joint=fa.Revolute(axis=(1, 0, 0)), body=rod)]
    chain = lean(fa.Model(fa.Arm(name="rods", links=links)).chain)
    assert chain.bodies[1].inertia([])[3 + chain.segments[1].steps[-1].axis][3:6] == [0.0, 0.0, 0.0]


def test_axes_wherever_they_point_cost_a_turn_more():
    """Than along coordinates: that about the common normal of two axes."""
    placed = {"xyz": (0.1, -0.07, 0.05), "rpy": (0.3, -0.4, 0.5)}
    aligned, skew = (
        sum(operations(turned(*axes, placement=place).function("forward_dynamics")))
        for axes, place in (((((0, 0, 1), (0, 1, 0)) * 4), {}), (SKEW * 2, placed))
    )
    assert skew < aligned + 8 * 150


# -- combinations of modes ---------------------------------------------------------------------------------------------


def modal(k, rows, seed=0):
    """An inertia and slopes of tip functions: all modes coupled, `rows` tip functions that they move."""
    random = np.random.default_rng(seed)
    A = random.normal(size=(k, k))
    S = np.zeros((6, k))
    S[rows] = random.normal(size=(len(rows), k))
    return A @ A.T + np.eye(k), S


def of_numbers(M, S):
    return [np.array(x) for x in combinations(M, S)]


def of_expressions(M, S):
    """The same where every entry that is not zero is a symbol: decided elsewhere, 30 percent away."""
    x = [ca.SX.sym("x", *A.shape) for A in (M, S)]
    near = np.random.default_rng(3).uniform(0.7, 1.3)
    both = zip((M, S), (ca.triu2symm(ca.triu(x[0])), x[1]), strict=True)
    rows = [[[symbol[i, j] if A[i, j] else 0.0 for j in range(len(A[0]))] for i in range(len(A))] for A, symbol in both]
    found = following(*rows, near * M, S)
    return [np.array(ca.Function("f", x, [ca.densify(ca.SX(matrix(each)))])(M, S)) for each in found]


@pytest.mark.parametrize("of", [of_numbers, of_expressions])
@pytest.mark.parametrize(("k", "rows"), [(2, [1, 3]), (3, [1, 3]), (5, [2, 4]), (4, [0]), (1, [5])])
def test_combinations_carry_the_tip_or_leave_it_where_it_is(of, k, rows):
    M, S = modal(k, rows)
    T, S_T, own = of(M, S)
    np.testing.assert_allclose(own, T.T @ M @ T, atol=1e-11)
    np.testing.assert_allclose(S @ T, S_T, atol=1e-12)
    np.testing.assert_array_equal(S_T[rows], np.eye(len(rows), k))
    over_z = T.T @ M @ T
    r = len(rows)
    np.testing.assert_allclose(over_z[r:], np.eye(k)[r:], atol=1e-12)


@pytest.mark.parametrize("of", [of_numbers, of_expressions])
def test_coordinates_of_different_sizes_are_combined_until_six_digits_are_lost(of):
    """The scaling changes the condition number of the inertia and not the combinations."""
    for scale, combined in ((100.0, True), (2000.0, False)):
        (M, S), D = modal(3, [1, 3]), np.diag([1.0, scale, 1.0])
        M, S = D @ M @ D, S @ D
        assert (1e4 < np.linalg.cond(M) < 3e5) if combined else (np.linalg.cond(M) > 2e6)
        T, S_T, own = of(M, S)
        np.testing.assert_allclose(own, T.T @ M @ T, rtol=1e-9, atol=1e-9)
        if combined:
            np.testing.assert_array_equal(S_T[[1, 3]], np.eye(2, 3))
        else:
            np.testing.assert_array_equal(T, np.eye(3))


@pytest.mark.parametrize("of", [of_numbers, of_expressions])
def test_planes_are_combined_apart_and_what_nothing_moves_stays(of):
    (M1, S1), (M2, S2) = modal(3, [1, 3]), modal(2, [2, 4], seed=1)
    M, S = np.zeros((6, 6)), np.zeros((6, 6))
    M[:3, :3], M[3:5, 3:5], M[5, 5] = M1, M2, 2.0
    S[:, :3], S[:, 3:5] = S1, S2
    T, S_T, own = of(M, S)
    np.testing.assert_allclose(own, T.T @ M @ T, atol=1e-11)
    np.testing.assert_array_equal(S_T, np.eye(6)[:, [1, 2, 3, 4, 0, 0]] * [1, 1, 1, 1, 0, 0])
    assert not T[:3, [1, 3]].any()
    assert not T[3:, [0, 2]].any()
    assert T[5, 4] == 1.0
    assert np.count_nonzero(T[5]) == np.count_nonzero(T[:, 4]) == 1


@pytest.mark.parametrize("of", [of_numbers, of_expressions])
@pytest.mark.parametrize(
    ("M", "S"),
    [
        (np.eye(1), [[1.0], [0.5]]),  # fewer modes than tip functions
        (np.eye(3) + 0.1, [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),  # finite elements: the last two are at the tip
        (np.ones((2, 2)), np.eye(2)),  # without inertia of their own
        (np.eye(2), [[1.0, 1.0], [1.0, 1.0 + 1e-9]]),  # hardly more than one tip function
    ],
)
def test_coordinates_stay_where_combinations_are_no_use(of, M, S):
    k = len(M)
    padded = np.vstack([S, np.zeros((6 - len(S), k))])
    T, S_T, own = of(M, padded)
    np.testing.assert_array_equal(T, np.eye(k))
    np.testing.assert_array_equal(S_T, padded)
    np.testing.assert_array_equal(own, M)
