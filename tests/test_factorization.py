"""U D U' and the natural orthogonal complement: products that must be M, twists that must be rates of frames."""

import numpy as np
import pytest
from compared import in_order
from random_arms import random_arm, random_state

import flexarm as fa
from flexarm.analysis.factorization import body_inertia, columns, denoc, order, rows, udu
from flexarm.errors import DescriptionError

KINDS = [{}, {"telescope": True}, {"rotor": "absolute", "elastic": True}, {"foreshortening": True}, {"rigid": True}]
CASES = [(seed, {"links": 2 + seed % 2, **KINDS[seed % len(KINDS)]}) for seed in (10, 1, 2, 13, 4, 5)]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: " ".join(case[1]))
def case(request):
    """A model, a configuration, and M there in the recursion's order, with what its entries are measured by."""
    seed, options = request.param
    return in_order(random_arm(seed, **options), seed)


def test_the_order_is_link_by_link_a_joint_before_what_bends_a_motor_last(case):
    model, *_ = case
    expected = []
    for link in model.arm.links:
        expected += [f"{link.name}.joint"] * (link.joint.type != "fixed")
        counts = link.body.counts if link.body.type == "beam" else {}
        expected += [f"{link.name}.{d}{j}" for d, n in counts.items() for j in range(1, n + 1)]
        expected += [f"{link.name}.motor"] * link.elastic
    assert [model.coordinates[i] for i in order(model)] == expected


def test_u_d_u_transposed_is_the_inertia_matrix(case):
    model, q, M, size = case
    U, D = udu(model, q)
    np.testing.assert_allclose(U @ D @ U.T / size, M / size, rtol=0, atol=1e-12)
    assert (np.tril(U, -1) == 0).all()
    assert (np.diag(U) == 1).all()
    assert (D == np.diag(np.diag(D))).all()
    assert (np.diag(D) > 0).all()


def test_the_factors_link_by_link_are_those_of_the_paper(case):
    """Eqs. 36 to 38 from the blocks A, P and the bodies' inertia; A_{i,i+1} in print must be A_{i+1,i}."""
    model, q, M, size = case
    U, D = udu(model, q, blocks=True)
    np.testing.assert_allclose(U @ D @ U.T / size, M / size, rtol=0, atol=1e-12)
    (N_l, N_d), inertia = denoc(model, q), body_inertia(model, q)
    at, own = rows(model), columns(model)
    count = len(at)
    hat = inertia[at[-1], at[-1]]  # M^ of the payload
    psi: dict[int, np.ndarray] = {}
    for i in reversed(range(count - 1)):
        A = N_l[at[i + 1], at[i]]
        if i + 1 in psi:
            hat = hat - psi[i + 1] @ D[own[i + 1], own[i + 1]] @ psi[i + 1].T  # M-
        hat = inertia[at[i], at[i]] + A.T @ hat @ A
        P = N_d[at[i], own[i]]
        if not P.size:
            continue
        I_hat = P.T @ hat @ P
        psi[i] = hat @ P @ np.linalg.inv(I_hat)
        scale = size[own[i], own[i]]
        np.testing.assert_allclose(D[own[i], own[i]] / scale, I_hat / scale, rtol=0, atol=1e-11)
        np.testing.assert_allclose(U[own[i], own[i]], np.eye(P.shape[1]), rtol=0, atol=1e-12)
        for j in range(i):
            expected = N_d[at[j], own[j]].T @ N_l[at[i], at[j]].T @ psi[i]
            np.testing.assert_allclose(U[own[j], own[i]], expected, rtol=0, atol=1e-9 * np.abs(U).max())


def test_steps_a_b_c_with_the_factors_are_the_forward_dynamics(case):
    model, q, *_ = case
    _, qd, u = random_state(model.arm, 77)
    U, D = udu(model, q)
    still = np.zeros(len(q))
    rest = np.array(model.function("inverse_dynamics")(q, qd, still)).ravel()
    phi = (np.array(model.function("input_matrix")(q)) @ u - rest)[list(order(model))]
    hat = np.linalg.solve(U, phi)  # eq. 39
    tilde = hat / np.diag(D)  # eq. 40
    qdd = np.linalg.solve(U.T, tilde)  # eq. 41
    expected = np.array(model.function("forward_dynamics")(q, qd, u)).ravel()[list(order(model))]
    np.testing.assert_allclose(qdd, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_n_l_n_d_gives_the_twists_of_all_bodies(case):
    """Against differences of the frames; for a joint's own rate and those of eta, the rates themselves."""
    model, q, *_ = case
    N_l, N_d = denoc(model, q)
    N = N_l @ N_d
    frames, step = model.function("frames"), 1e-6

    def poses(x):
        return np.array(frames(x)).reshape(4, -1, 4).swapaxes(0, 1)

    here = poses(q)
    for c, n in enumerate(order(model)):
        dq = step * (np.arange(len(q)) == n)
        change = (poses(q + dq) - poses(q - dq)) / (2 * step)
        for i, (at, own) in enumerate(zip(rows(model), columns(model), strict=True)):
            R = here[i][:3, :3]
            v, W = R.T @ change[i][:3, 3], R.T @ change[i][:3, :3]
            twist = [*v, W[2, 1], W[0, 2], W[1, 0]]
            np.testing.assert_allclose(N[at, c][:6], twist, rtol=0, atol=1e-8)
            rates = np.zeros(at.stop - at.start - 6)
            if own.start <= c < own.stop:  # the joint's row, which a fixed joint and a telescope leave empty, and eta
                rates[len(rates) - (own.stop - own.start) + c - own.start] = 1.0
            np.testing.assert_array_equal(N[at, c][6:], rates)


def test_twists_are_carried_from_body_to_body(case):
    """A_ij A_jk = A_ik (below eq. 11), unit blocks on the diagonal, nothing above."""
    model, q, *_ = case
    N_l, N_d = denoc(model, q)
    at, own = rows(model), columns(model)
    for i in range(len(at)):
        np.testing.assert_array_equal(N_l[at[i], at[i]], np.eye(at[i].stop - at[i].start))
        for j in range(i):
            assert (N_l[at[j], at[i]] == 0).all()
            assert (N_d[at[j], own[i]] == 0).all() and (N_d[at[i], own[j]] == 0).all()
            for k in range(j):
                carried = N_l[at[i], at[j]] @ N_l[at[j], at[k]]
                np.testing.assert_allclose(carried, N_l[at[i], at[k]], rtol=0, atol=1e-12)


def test_the_bodies_inertia_projected_is_the_inertia_matrix(case):
    model, q, M, size = case
    N_l, N_d = denoc(model, q)
    N, inertia = N_l @ N_d, body_inertia(model, q)
    np.testing.assert_allclose(N.T @ inertia @ N / size, M / size, rtol=0, atol=1e-12)
    for i, at in enumerate(rows(model)):
        for other in rows(model)[:i]:
            assert (inertia[at, other] == 0).all() and (inertia[other, at] == 0).all()


def test_one_configuration_at_a_time():
    model = fa.Model(fa.load("canadarm"))
    with pytest.raises(DescriptionError, match="give one configuration"):
        udu(model, np.zeros((2, 9)))
    with pytest.raises(DescriptionError, match="last axis must have 9 numbers"):
        denoc(model, np.zeros(3))
