"""Frequencies and poles where eigenvalues span fourteen decades: slow modes beside fast ones keep their digits."""

import mpmath
import numpy as np
import pytest

import flexarm as fa
from flexarm import analysis
from flexarm.analysis.balance import eigenvalues
from flexarm.analysis.margins import grows, is_stable
from flexarm.errors import UncertainResult
from flexarm.model.linear import symmetric_modes


def column(g, **options):
    """A clamped column of 1 m and 1 N m^2 that has next to no mass, with 1 kg on its end, upright."""
    beam = fa.Beam(length=1.0, mass=1e-6, EI=1.0, **options)
    links = [fa.Link(name="b", joint=fa.Fixed(), body=beam)]
    return fa.Model(fa.Arm(name="column", gravity=(-g, 0, 0), links=links, payload=fa.Payload(mass=1.0)))


def swinging(g):
    """omega |omega| of a massless column: its end springs back by P / (tan(k L) / k - L), k^2 = P / EI, P = m g."""
    k = np.sqrt(g)
    return g / (np.tan(k) / k - 1.0)


COLUMNS = [{"segments": 8, "modes": {"y": 3}}, {"foreshortening": True, "modes": {"y": 4}}]


@pytest.mark.parametrize("g", [2.45, 2.49])
@pytest.mark.parametrize("options", COLUMNS, ids=["segments", "foreshortening"])
def test_a_column_under_nearly_its_critical_load(options, g):
    """pi^2 / 4 = 2.467 is critical. The stiffest mode is at 1e5 to 1e7 rad/s, squared 1e10 to 1e14."""
    model, right = column(g, **options), swinging(g)
    q = np.zeros(model.nv)
    slowest = model.frequencies(q)[0]
    assert slowest * abs(slowest) == pytest.approx(right, rel=1e-2)
    assert np.sign(slowest) == np.sign(right)
    assert analysis.mode_table(model, q).frequency.values[0] == slowest
    frozen = analysis.frozen_eigenvalues(model, q[None], 0 * q[None], qdd=0 * q[None])[0]
    slow = frozen[np.argmin(np.abs(frozen))]
    assert slow == pytest.approx(abs(slowest) if right < 0.0 else 1j * slowest, rel=1e-7)


def test_poles_that_are_lost_in_a_state_space_come_with_a_warning():
    model = column(2.49, segments=8, modes={"y": 2})
    q = np.zeros(model.nv)
    system = model.linearize(q, q, np.zeros(0))
    with pytest.warns(UncertainResult, match=r"^poles: the pole \S+ 1/s has an error of \+-0.1\S* 1/s, as poles"):
        found = analysis.poles(system)
    assert abs(abs(found[0].real) - abs(model.frequencies(q)[0])) < 0.1
    few = column(2.49, foreshortening=True, modes={"y": 4})
    q = np.zeros(4)
    assert analysis.poles(few.linearize(q, q, np.zeros(0)))[1] == pytest.approx(-few.frequencies(q)[0], rel=1e-6)


def test_pairs_at_random_beside_fifty_digits():
    """Inertias and stiffnesses of sizes that span eight decades, indefinite: no error is above its bound."""
    rng = np.random.default_rng(0)
    sharp = 0
    for _ in range(40):
        n = int(rng.integers(2, 6))
        d, e = (np.diag(10.0 ** rng.uniform(-4.0, 4.0, n)) for _ in range(2))
        X, Y = (rng.standard_normal((n, n)) for _ in range(2))
        M, K = d @ (X @ X.T + np.eye(n)) @ d, e @ (Y @ Y.T + rng.uniform(-1.0, 1.0) * np.eye(n)) @ e
        M, K = (M + M.T) / 2, (K + K.T) / 2
        omega2, V, error = symmetric_modes(M, K)
        with mpmath.workdps(60):
            L = mpmath.cholesky(mpmath.matrix(M)) ** -1
            exact = [float(x) for x in mpmath.eigsy(L * mpmath.matrix(K) * L.T, eigvals_only=True)]
        bound = error[np.argsort(omega2)] + 1e-13 * np.abs(np.sort(exact))  # of K, and of M
        assert (np.abs(np.sort(omega2) - np.sort(exact)) <= bound).all()
        sharp += bool((error <= 1e-6 * np.abs(omega2)).all())
        size = np.sqrt(np.diag(V.T @ M @ V))
        assert size == pytest.approx(np.ones(n), rel=1e-9)
    assert sharp >= 25, "most bounds are small"


def test_what_nothing_holds_is_at_zero_exactly():
    omega2, _, _ = symmetric_modes(np.diag([1.0, 3.0, 1e-9]), np.array([[7.0, -7, 0], [-7, 7, 0], [0, 0, 1e5]]))
    assert omega2[0] == 0.0 and omega2[1:] == pytest.approx([7.0 * 4 / 3, 1e14], rel=1e-9)


def test_a_frequency_that_is_lost_comes_with_a_warning():
    """A spring of 1e16 N/m between two masses hides whatever else holds them, and a spring of 1 N/m is there too."""
    stiff = fa.Prismatic(axis=(1, 0, 0), stiffness=1e16, rotor_inertia=1.0)
    soft = fa.Prismatic(axis=(0, 1, 0), stiffness=1.0, rotor_inertia=1.0)
    links = [
        fa.Link(name="a", joint=stiff, body=fa.Rigid(length=0.0, mass=1.0, inertia=1e-9)),
        fa.Link(name="b", joint=soft, body=fa.Rigid(length=0.0, mass=1.0, inertia=1e-9)),
    ]
    model = fa.Model(fa.Arm(name="pair", links=links))
    with pytest.warns(UncertainResult, match=r"^arm 'pair': a frequency is returned as 0, because its rounding error"):
        model.frequencies(np.zeros(model.nv), locked=False)


def test_a_slow_pole_beside_a_fast_one_is_judged_by_its_own_size():
    slow = np.array([[-1e-4, 1e-3], [0.0, -1e12]])
    assert is_stable(*eigenvalues(slow)) and not grows(*eigenvalues(slow))
    slow[0, 0] = 1e-4
    assert grows(*eigenvalues(slow))
    s, error = eigenvalues(np.array([[0.0, 1.0], [-4.0, 0.0]]))
    assert not is_stable(s, error) and not grows(s, error), "a pole on the axis is neither"
