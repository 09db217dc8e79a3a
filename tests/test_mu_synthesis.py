"""D-K iteration on the distillation column of Skogestad & Postlethwaite, and full blocks of mu against optimization."""

import sys

import control as ct
import numpy as np
import pytest
from scipy.optimize import minimize

import flexarm as fa
from flexarm import robust
from flexarm.errors import NotReached

BLOCKS = [1, 1, (2, 2)]


def column():
    """Generalized plant of section 8.12.4: errors of 20 % of the inputs, and a weighted sensitivity below 1."""
    G = np.array([[87.8, -86.4], [108.2, -109.6]])
    plant = ct.ss(-np.eye(2) / 75.0, np.eye(2) / 75.0, G, 0.0)
    twice = [ct.ss(ct.tf(n, d)) for n, d in (([1.0, 0.2], [0.5, 1.0]), ([0.5, 0.05], [1.0, 1e-6]))]
    uncertain, error = (ct.append(each, each) for each in twice)
    # v = (into wI, into G, into wP), w = (d, r, u), z = (wI u, wP (G (u + d) + r)), y = -(G (u + d) + r)
    one, zero = np.eye(2), np.zeros((2, 2))
    parts = ct.append(uncertain, plant, error)
    F = np.block([[zero, zero, zero], [zero, zero, zero], [zero, one, zero]])
    G = np.block([[zero, zero, one], [one, zero, one], [zero, one, zero]])
    H = np.block([[one, zero, zero], [zero, zero, one], [zero, -one, zero]])
    J = np.block([[zero, zero, zero], [zero, zero, zero], [zero, -one, zero]])
    A, B, C, D = parts.A, parts.B, parts.C, parts.D
    loop = np.linalg.inv(np.eye(6) - D @ F)  # y = C x + D (F y + G w)
    C, D = loop @ C, loop @ D @ G
    return ct.ss(A + B @ F @ C, B @ (G + F @ D), H @ C, H @ D + J)


def lowest(M, sizes):
    """Smallest norm of D M D^-1 over one positive number for each block, by a general optimizer."""

    def norm(x):
        d = np.exp(np.repeat([*x, 0.0], sizes))
        return np.linalg.norm(d[:, None] * M / d, 2)

    return min(
        minimize(norm, x0, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9, "maxfev": 2000}).fun
        for x0 in (np.zeros(len(sizes) - 1), np.full(len(sizes) - 1, 1.0))
    )


def test_bounds_with_full_blocks():
    rng = np.random.default_rng(2)
    M = rng.normal(size=(5, 5)) + 1j * rng.normal(size=(5, 5))
    M[:, 2:] *= 30.0
    assert robust.mu_bound(M, [1, 1, (3, 3)], real=False).upper == pytest.approx(lowest(M, [1, 1, 3]), rel=2e-3)
    # one full block alone has mu = the norm, also if it is not square
    assert robust.mu_bound(M[:2], [(5, 2)]).upper == pytest.approx(np.linalg.norm(M[:2], 2), rel=2e-3)
    # a real number beside a full block: the smallest perturbation of a random search is never below 1 / mu
    upper, D, G = robust.mu_bound(M[:4, :4], [1, (3, 3)])
    assert not G[1:].any()
    assert D[1:, 1:] == pytest.approx(D[1, 1] * np.eye(3))
    for delta in np.linspace(-1.0, 1.0, 41) / upper:
        inner = M[1:4, 1:4] + M[1:4, :1] @ M[:1, 1:4] * delta / (1.0 - M[0, 0] * delta)
        assert np.linalg.norm(inner, 2) <= upper * (1.0 + 1e-9)


@pytest.fixture(scope="module")
def designed():
    P = column()
    return P, robust.mu_synthesis(P, 2, 2, BLOCKS, iterations=2)


class TestDistillationColumn:
    def test_published_values(self, designed):
        """Skogestad & Postlethwaite: norm 1.1823 and mu 1.1818 at first, 1.0238 and 1.019 later; optimum 0.974."""
        _, found = designed
        assert found.norms[0] == pytest.approx(1.1823, rel=2e-3)
        assert found.initial == pytest.approx(1.1818, rel=2e-3)
        assert found.peaks[0] <= found.initial
        assert 0.974 < found.mu < 1.045
        assert found.mu <= 1.01 * found.peaks.min()
        assert found.states[0] == 6
        assert found.states[1] <= 6 + 2 * 2 * 4

    def test_mu_of_the_loop_by_another_optimizer(self, designed):
        P, found = designed
        closed = P.lft(found.controller)
        assert closed.poles().real.max() < 0.0
        for w in np.geomspace(1e-3, 1e2, 9):
            assert lowest(closed(1j * w), [1, 1, 2]) <= found.mu * (1.0 + 1e-6)
        assert lowest(closed(1j * found.frequency), [1, 1, 2]) == pytest.approx(found.mu, rel=0.01)

    def test_no_perturbation_breaks_the_bound(self, designed):
        """The largest gain of the sensitivity for perturbations up to 1 / mu is at most mu."""
        P, found = designed
        closed, rng = P.lft(found.controller), np.random.default_rng(0)
        omega = np.geomspace(1e-4, 1e3, 120)
        for _ in range(20):
            phase = np.exp(2j * np.pi * rng.random((len(omega), 2))) / found.mu
            for w, delta in zip(omega, phase, strict=True):
                M = closed(1j * w)
                gain = M[2:, 2:] + M[2:, :2] * delta @ np.linalg.solve(np.eye(2) - M[:2, :2] * delta, M[:2, 2:])
                assert np.linalg.norm(gain, 2) <= found.mu * (1.0 + 1e-6)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"blocks": [1, 1]}, "must add up to 4 rows and 4 columns"),
        ({"blocks": [(4, 4)]}, "needs no scaling; use hinf_synthesis"),
        ({"blocks": [4, (0, 2)]}, "blocks"),
        ({"iterations": -1}, "iterations"),
        ({"order": 100}, "order"),
    ],
)
def test_refused(more, words):
    with pytest.raises(fa.DescriptionError) as caught:
        robust.mu_synthesis(column(), **{"measured": 2, "controls": 2, "blocks": BLOCKS, **more})
    assert words in str(caught.value)


def test_an_iteration_without_a_controller_is_reported(monkeypatch):
    P, module = column(), sys.modules["flexarm.robust.mu_synthesis"]

    def fails_when_scaled(plant, *rest):
        if plant is not P:
            raise fa.DescriptionError("hinf_synthesis: rounding")
        return robust.hinf_synthesis(plant, *rest)

    monkeypatch.setattr(module, "hinf_synthesis", fails_when_scaled)
    with pytest.warns(NotReached, match="iteration 1 found no controller for the scaled plant.*rounding"):
        found = robust.mu_synthesis(P, 2, 2, BLOCKS, iterations=3)
    assert found.mu == found.initial
    assert len(found.peaks) == 1
