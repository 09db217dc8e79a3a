"""U D U' and the natural orthogonal complement of trees, on bases that are fixed or free."""

import numpy as np
import pytest
from compared import in_order
from random_arms import random_state
from random_trees import random_tree

from flexarm.analysis.factorization import body_inertia, columns, denoc, order, rows, udu
from flexarm.attitude import configuration, local

CASES = [
    pytest.param((seed, {"free": free, **options}), id=f"{seed} {' '.join([*options, 'free'][: len(options) + free])}")
    for free in (False, True)
    for seed, options in (
        (30, {}),  # two stations and the tip of one link carry others
        (6, {"telescope": True}),
        (1, {"rigid": True}),  # ends with fixed links
        (2, {"rotor": "absolute", "elastic": True}),
        (53, {"foreshortening": True}),
    )
]


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """A model, a configuration, and M there in the recursion's order, with what its entries are measured by."""
    seed, options = request.param
    return in_order(random_tree(seed, **options), seed)


def test_the_order_is_outward_the_base_first(case):
    model, *_ = case
    arm = model.arm
    found = [arm.layout[i] for i in order(model)]
    assert sorted(order(model)) == list(range(model.nv))
    assert [x.name for x in found[: 6 * arm.free]] == list(arm.velocities[: 6 * arm.free])
    met = list(dict.fromkeys(x.link for x in found[6 * arm.free :]))
    assert met == [i for i in arm.outward if i in met]
    for i in met:
        roles = [x.role for x in found if x.link == i]
        assert roles == sorted(roles, key=["joint", "flexible", "motor"].index)


@pytest.mark.parametrize("blocks", [False, True])
def test_u_d_u_transposed_is_the_inertia_matrix(case, blocks):
    model, q, M, size = case
    U, D = udu(model, q, blocks)
    np.testing.assert_allclose(U @ D @ U.T / size, M / size, rtol=0, atol=1e-12)
    assert (np.abs(np.tril(U, -1)) < 1e-12).all()
    within = np.zeros_like(D)
    for own in columns(model):
        within[own, own] = 1.0
    assert (D[within == 0] == 0).all()
    assert (np.diag(D) > 0).all()


def test_u_is_empty_between_branches(case):
    """A joint of one branch and one of another meet in M, but in no column of U: neither carries the other."""
    model, q, *_ = case
    U, _ = udu(model, q)
    arm, place = model.arm, {n: k for k, n in enumerate(order(model))}

    def inward(i):
        return [i, *inward(arm.parents[i])] if i >= 0 else []

    for a, x in enumerate(arm.layout):
        for b, y in enumerate(arm.layout):
            if min(x.link, y.link) >= 0 and x.link not in inward(y.link) and y.link not in inward(x.link):
                assert U[place[a], place[b]] == 0


def test_n_l_n_d_gives_the_twists_of_all_links(case):
    """Against differences of the frames along each rate."""
    model, q, *_ = case
    N_l, N_d = denoc(model, q)
    N = N_l @ N_d
    arm, frames, step = model.arm, model.function("frames"), 1e-6
    base = int(arm.free)

    def poses(x):
        return np.array(frames(configuration(arm, x, q))).reshape(4, -1, 4).swapaxes(0, 1)

    here, at = poses(local(arm, q, q)), rows(model)
    for c, n in enumerate(order(model)):
        dx = step * (np.arange(model.nv) == n)
        x = local(arm, q, q)
        change = (poses(x + dx) - poses(x - dx)) / (2 * step)
        for k, i in enumerate(arm.outward):
            R = here[i][:3, :3]
            v, W = R.T @ change[i][:3, 3], R.T @ change[i][:3, :3]
            own = at[base + k]
            np.testing.assert_allclose(N[own, c][:6], [*v, W[2, 1], W[0, 2], W[1, 0]], rtol=0, atol=1e-8)


def test_the_bodies_inertia_projected_is_the_inertia_matrix(case):
    model, q, M, size = case
    N_l, N_d = denoc(model, q)
    N, inertia = N_l @ N_d, body_inertia(model, q)
    np.testing.assert_allclose(N.T @ inertia @ N / size, M / size, rtol=0, atol=1e-12)
    if model.arm.free:
        bus = inertia[rows(model)[0], rows(model)[0]]
        assert bus[0, 0] == model.arm.base.mass
        np.testing.assert_array_equal(N_d[:6, :6], np.eye(6))


def test_steps_with_the_factors_are_the_forward_dynamics(case):
    model, q, *_ = case
    _, qd, u = random_state(model.arm, 77)
    U, D = udu(model, q)
    P = list(order(model))
    rest = model.inverse_dynamics(q, qd, np.zeros(model.nv))
    hat = np.linalg.solve(U, (model.input_matrix(q) @ u - rest)[P])
    found = np.linalg.solve(U.T, hat / np.diag(D))
    expected = np.array(model.function("forward_dynamics")(q, qd, u)).ravel()[P]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
