"""Margins of loops: by formula, beside python-control's, and by what becomes of the loop when they are used up."""

import control as ct
import numpy as np
import pytest
from controlled import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from one_joint import bar, elastic_bar, inertia

import flexarm as fa
from flexarm import analysis
from flexarm.analysis.margins import bound, disk_gain, margins, peak, together
from flexarm.analysis.response import Response
from flexarm.control import LQR, Integral, JointPD, Sampled

Kp, Kd = 50.0, 4.0


def the_loop(system, **more):
    return margins(system, **more)


def random_loop(seed, m=1, period=None):
    """A loop that negative feedback holds, with resonances: stable by small enough a gain."""
    rng = np.random.default_rng(seed)
    n = 6
    A = rng.standard_normal((n, n))
    A -= (np.linalg.eigvals(A).real.max() + 0.05) * np.eye(n)
    B, C = rng.standard_normal((n, m)), rng.standard_normal((m, n))
    for gain in np.geomspace(3.0, 1e-4, 12):
        system = ct.ss(A, B, gain * C, np.zeros((m, m)))
        if period:
            system = ct.c2d(system, period, "zoh")
        s = ct.feedback(system, np.eye(m)).poles()
        if (np.abs(s).max() < 0.9999) if period else (s.real.max() < -1e-3):
            return system
    raise AssertionError


def test_of_a_double_integrator_under_pd():
    """L = (Kd s + Kp) / (J s^2): |L| = 1 at w^2 = (Kd^2 + sqrt(Kd^4 + 4 Kp^2 J^2)) / (2 J^2)."""
    model, J = bar(), inertia(bar())
    found = analysis.stability(model, JointPD(0.2, Kp, Kd)).end
    (one,) = found.loops
    crossover = np.sqrt((Kd**2 + np.sqrt(Kd**4 + 4 * Kp**2 * J**2)) / (2 * J**2))
    phase = np.arctan2(Kd * crossover, Kp)
    assert one.name == "bar.joint" and one.gain == (0.0, np.inf)
    assert one.crossover == pytest.approx(crossover, rel=1e-9)
    assert one.phase == pytest.approx(phase, rel=1e-9)
    assert one.delay == pytest.approx(phase / crossover, rel=1e-9)
    assert np.allclose(np.sort_complex(found.poles), np.sort_complex(np.roots([J, Kd, Kp])))
    # |S|^2 = J^2 x^2 / ((Kp - J x)^2 + Kd^2 x), x = w^2, is greatest at x = 2 Kp^2 / (2 Kp J - Kd^2)
    x = 2 * Kp**2 / (2 * Kp * J - Kd**2)
    assert one.sensitivity == pytest.approx(J * x / np.hypot(Kp - J * x, Kd * np.sqrt(x)), rel=1e-6)
    # the same of T's numerator Kp^2 + Kd^2 x, by hand at the root of its derivative
    roots = np.roots([Kd**2 * J**2, 2 * Kp**2 * J**2, 2 * Kp * -(Kp**2) * J])
    x = roots[roots > 0][0]
    T = np.sqrt((Kp**2 + Kd**2 * x) / ((Kp - J * x) ** 2 + Kd**2 * x))
    assert one.complementary == pytest.approx(T, rel=1e-6)
    assert found.together.disk == pytest.approx(one.disk, rel=1e-9), "one loop is all loops"


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_beside_python_control(seed):
    system = random_loop(seed)
    found = the_loop(system, name="x")
    gains, phases, _, _, _, _ = ct.stability_margins(system, returnall=True)
    assert found.gain[1] == pytest.approx(gains[gains > 1.0].min(initial=np.inf), rel=1e-4)
    assert np.degrees(found.phase) == pytest.approx(np.abs(phases).min(initial=np.inf), rel=1e-4)
    peaks = np.abs(ct.feedback(system, 1).poles())  # a grid passes by the peak of a loop that is hardly damped
    grid = np.concatenate([np.geomspace(1e-5, 1e5, 4000), *(peaks * (1.0 + x) for x in np.linspace(-0.02, 0.02, 201))])
    alpha = ct.disk_margins(system, np.unique(grid))[0]
    assert found.disk <= alpha * (1 + 1e-6) and (alpha < 0.2 or found.disk == pytest.approx(alpha, rel=2e-2))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_beside_a_dense_sweep_of_z(seed):
    """Of a sampled loop, up to Nyquist's frequency. (What python-control gives for these is off by percents.)"""
    period = 0.05
    system = random_loop(seed, period=period)
    found = the_loop(system)
    peaks = np.abs(np.angle(np.linalg.eigvals(system.A - system.B @ system.C))) / period  # which an even grid passes by
    beside = np.outer(peaks, 1.0 + np.linspace(-0.01, 0.01, 2001)).ravel()
    even = np.concatenate([np.geomspace(1e-9, 1e-4, 50), np.linspace(1e-4, np.pi / period, 200_001)])
    omega = np.union1d(even, beside[(beside > 1e-9) & (beside < np.pi / period)])
    response = Response(system.A, system.B, system.C, system.D, period)
    L = response(omega)[:, 0, 0]
    crossed = np.flatnonzero(np.diff(np.sign(np.abs(L) - 1.0)))
    angle = np.mod(np.angle(-L[crossed]), 2 * np.pi)
    assert found.phase == pytest.approx(np.minimum(angle, 2 * np.pi - angle).min(initial=np.inf), abs=2e-2)
    assert found.delay == pytest.approx((angle / omega[crossed]).min(initial=np.inf), rel=5e-2)
    assert found.sensitivity == pytest.approx(swept(lambda L: np.abs(1 / (1 + L)), response, omega, L), rel=1e-6)
    assert found.disk == pytest.approx(2 / swept(lambda L: np.abs((1 - L) / (1 + L)), response, omega, L), rel=1e-6)


def swept(size, response, omega, L):
    """The largest value over frequencies: of a sweep, then finer and finer between the neighbours of its largest."""
    for _ in range(5):
        i = int(np.argmax(size(L)))
        omega = np.linspace(omega[max(i - 1, 0)], omega[min(i + 1, len(omega) - 1)], 101)
        L = response(omega)[:, 0, 0]
    return size(L).max()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([None, 0.05]))
def test_used_up_margins_leave_a_pole_on_the_axis(seed, period):
    system = random_loop(seed, period=period)
    found = the_loop(system)

    def growth(factor):
        s = ct.feedback(factor * system, 1).poles()
        return np.abs(s).max() - 1.0 if period else s.real.max()

    low, high = found.gain
    for factor, towards in ((low, 1.001), (high, 0.999)):
        if 0.0 < factor < np.inf:
            assert growth(factor * towards) < 0.0 < growth(factor / towards)
    if np.isinf(high):
        assert growth(30.0) < 0.0
    # of the disk: the f that makes 1 + f L zero is on its rim, where it is nearest
    at = found.frequency
    if np.isfinite(at):
        f = -1.0 / complex(Response(system.A, system.B, system.C, system.D, period)(np.array([at]))[0, 0, 0])
        assert abs(2 * (f - 1) / (f + 1)) == pytest.approx(found.disk, rel=1e-4)
    if np.isfinite(found.delay):
        s = np.exp(1j * found.crossover * (period or 0.0)) if period else 1j * found.crossover
        L = complex((system.C @ np.linalg.solve(s * np.eye(6) - system.A, system.B)).item())
        assert abs(abs(L) - 1.0) < 1e-8


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([None, 0.05]))
def test_peaks_are_those_of_a_dense_grid(seed, period):
    """Of three by three systems, resonances a thousand times as narrow as their frequency among them."""
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.5, 30.0, 3)
    A = np.kron(np.diag(w), np.array([[0, 1], [-1, 0]])) - 1e-3 * np.diag(np.repeat(w, 2))
    system = ct.ss(A, rng.standard_normal((6, 3)), rng.standard_normal((3, 6)), 0.1 * rng.standard_normal((3, 3)))
    system = ct.c2d(system, period, "tustin") if period else system
    response = Response(system.A, system.B, system.C, system.D, period)
    top = np.pi / period if period else 1e3
    around = (w[:, None] * (1.0 + np.linspace(-0.02, 0.02, 801))).ravel()
    omega = np.concatenate([np.linspace(0.0, top, 4001), around[around < top]])
    if period:  # the bilinear map bends the frequencies
        omega = np.append(omega, 2.0 / period * np.arctan(around * period / 2.0))
    greatest = response.largest(omega).max()
    found, at = peak(response, np.geomspace(0.1, top, 30))
    assert greatest <= found * (1 + 2e-6) and found <= greatest * (1 + 1e-3)
    assert response.largest(np.array([min(at, 1e6)]))[0] == pytest.approx(found, rel=1e-5)


def test_loops_that_do_not_know_of_each_other():
    """Together they bear what the weaker bears alone."""
    one, other = random_loop(1), random_loop(2)
    both = ct.append(one, other)
    alone = [the_loop(each) for each in (one, other)]
    found = together(both)
    assert found.disk == pytest.approx(min(each.disk for each in alone), rel=1e-5)
    assert found.sensitivity == pytest.approx(max(each.sensitivity for each in alone), rel=1e-5)
    assert found.complementary == pytest.approx(max(each.complementary for each in alone), rel=1e-5)


def test_units_of_the_actuators_do_not_matter_to_the_disk():
    system = random_loop(5, m=3)
    D = np.diag([1.0, 1e3, 1e-2])
    scaled = ct.ss(system.A, system.B @ np.linalg.inv(D), D @ system.C, 0)
    plain, other = together(system), together(scaled)
    assert plain.disk == pytest.approx(other.disk, rel=1e-3)
    assert other.sensitivity > 10.0 * plain.sensitivity, "singular values are those of the units"


def test_the_bound_of_mu_is_sharp_for_two():
    """mu of [[a, b], [c, d]] for diagonal blocks is, where a = d = 0, sqrt(|b c|); and never above the norm."""
    assert bound(np.array([[0.0, 8.0], [2.0, 0.0]])) == pytest.approx(4.0)
    M = np.random.default_rng(0).standard_normal((50, 4, 4))
    found = bound(M)
    assert (found <= np.linalg.norm(M, 2, axis=(1, 2)) + 1e-12).all()
    assert (found >= np.abs(np.linalg.eigvals(M)).max(axis=1) - 1e-9).all(), "the spectral radius is a lower bound"


def test_all_loops_bear_their_disks_at_once():
    """Gains and phases at random inside all three disks at once leave the loop stable."""
    rng = np.random.default_rng(0)
    for seed in range(4):
        system = random_loop(seed, m=3)
        alpha = together(system).disk
        low, high = disk_gain(alpha)
        for _ in range(40):
            f = np.diag(rng.choice([low * 1.001, min(high, 1e3) * 0.999, 1.0], 3))
            assert ct.feedback(system * ct.ss([], [], [], f), np.eye(3)).poles().real.max() < 0.0


def test_a_loop_of_a_flexible_arm_goes_where_its_margin_says():
    model = elastic_bar()
    for make in (
        lambda k: Sampled(JointPD(0.2, k * Kp, k * Kd), 5e-3, delay=5e-3),
        lambda k: Sampled(Integral(JointPD(0.2, k * Kp, k * Kd), k * 30.0), 5e-3),
    ):
        (one,) = analysis.stability(model, make(1.0)).end.loops
        low, high = one.gain
        assert 1.0 < high < np.inf
        for factor, stable in ((0.999 * high, True), (1.001 * high, False)):
            assert analysis.stability(model, make(factor)).stable is stable
    K = LQR((0.2,), bandwidth=20.0)
    (one,) = analysis.stability(model, K, [0.2]).end.loops
    assert one.gain[1] == np.inf and one.gain[0] <= 0.5 + 1e-9 and one.phase >= np.pi / 3 - 1e-9, "Kalman's inequality"
    assert one.sensitivity == pytest.approx(1.0, abs=1e-6)


def test_nothing_comes_back():
    found = the_loop(ct.ss([[-1.0]], [[1.0]], [[0.0]], 0), name="u")
    assert found.gain == (0.0, np.inf) and found.phase == found.delay == np.inf
    assert found.disk == 2.0 and found.disk_gain == (0.0, np.inf) and found.disk_phase == pytest.approx(np.pi / 2)
    assert np.isnan(disk_gain(np.nan)).all()
    low, high = disk_gain(0.5)
    assert (low, high) == (pytest.approx(0.6), pytest.approx(1 / 0.6))


def test_what_is_refused():
    with refused(r"margins: the loop has 3 inputs and 3 outputs; it must have one of each"):
        margins(random_loop(0, m=3))
    with refused(r"margins: the loop has 1 input and 2 outputs; the numbers must be equal"):
        together(ct.ss([[-1.0]], [[1.0]], [[1.0], [1.0]], 0))
    with refused(r"margins: the loop has a feedthrough matrix D; .*"):
        margins(ct.ss([[-1.0]], [[1.0]], [[1.0]], 1.0))
    with refused(r"margins: drift is -1.0 1/s; .*"):
        together(random_loop(0), drift=-1.0)
    assert fa.analysis.margins is margins


@pytest.mark.parametrize("hidden", ["not reached", "not seen"])
@pytest.mark.parametrize("period", [None, 0.05])
def test_drift_is_left_out_exactly(hidden, period):
    """Of a loop that also has poles at zero which are not reached, or not seen, in mixed coordinates."""
    rng = np.random.default_rng(4)
    system = random_loop(3, m=2, period=period)
    n = len(system.A)
    own = np.zeros((2, 2)) if period is None else np.eye(2)
    A = np.block([[system.A, np.zeros((n, 2))], [np.zeros((2, n)), own]])
    B = np.vstack([system.B, np.zeros((2, 2)) if hidden == "not reached" else rng.standard_normal((2, 2))])
    C = np.hstack([system.C, np.zeros((2, 2)) if hidden == "not seen" else rng.standard_normal((2, 2))])
    T = rng.standard_normal((n + 2, n + 2))
    whole = ct.ss(np.linalg.solve(T, A @ T), np.linalg.solve(T, B), C @ T, 0, dt=period or 0)
    found, plain = together(whole, drift=1e-5), together(system)
    for name in ("disk", "sensitivity", "complementary"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name), rel=1e-5), name
