"""Margins of 100 random loops, beside a dense frequency response that is a product over poles and zeros.

The product knows nothing of a realization. Realizations are companion forms, and cascades whose states have units at
random. Poles spread over up to ten decades, some are multiple, some hardly damped.
"""

import warnings
from dataclasses import dataclass

import control as ct
import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.signal import butter

import flexarm as fa
from flexarm import analysis
from flexarm.analysis.balance import balanced, eigenvalues
from flexarm.analysis.margins import margins, together
from flexarm.control import Linear
from flexarm.errors import UncertainResult

COUNT = 100
PERIOD = 0.01


@dataclass
class Factors:
    """A loop transfer gain prod(s - zeros) / prod(s - poles), each factor divided by its size at s = 0.

    With a period each factor (s - a) is exp(s T) - exp(a T), divided in the same way.
    """

    zeros: np.ndarray
    poles: np.ndarray
    gain: float
    period: float | None = None

    def __call__(self, omega):
        value = np.full(np.shape(omega), self.gain, dtype=complex)
        for roots, power in ((self.zeros, 1), (self.poles, -1)):
            for a in roots:
                value = value * self._factor(1j * np.asarray(omega), a) ** power
        return value

    def _factor(self, s, a):
        if self.period is None:
            return s if a == 0 else (s - a) / abs(a)
        T = self.period
        difference = np.exp(a * T) * np.expm1((s - a) * T)
        return difference / (T if a == 0 else abs(np.expm1(a * T)))

    def cascade(self):
        """State space, a section of first or second order after the other; fastest first."""
        real, pairs = ([z for z in self.zeros if z.imag == 0.0], [z for z in self.zeros if z.imag > 0.0])
        sections = []
        for p in sorted((p for p in self.poles if p.imag >= 0.0), key=abs, reverse=True):
            both, left = ([p, np.conj(p)], pairs) if p.imag > 0.0 else ([p], real)
            zeros = [left.pop()] if left else []
            sections.append(self._section(both, [*zeros, *np.conj(zeros)] if p.imag > 0.0 else zeros))
        assert not real and not pairs
        system = sections[0]
        for each in sections[1:]:
            system = each * system
        A, B, C = system.A, self.gain * system.B, system.C
        assert not np.any(system.D)
        return np.asarray(A), np.asarray(B), np.asarray(C)

    def _section(self, poles, zeros):
        """x' = A x + B u in the companion form of one or two poles."""
        T = self.period
        at = [np.exp(np.array(x, dtype=complex) * T) if T else np.array(x, dtype=complex) for x in (zeros, poles)]
        sizes = []
        for roots in (zeros, poles):
            each = [(T or 1.0) if a == 0 else (abs(np.expm1(a * T)) if T else abs(a)) for a in roots]
            sizes.append(np.prod(each))
        num, den = np.real(np.poly(at[0])) * sizes[1] / sizes[0], np.real(np.poly(at[1]))
        num = np.concatenate([np.zeros(len(den) - len(np.atleast_1d(num))), np.atleast_1d(num)])
        n = len(den) - 1
        A = np.vstack([-den[1:], np.eye(n)[:-1]])
        return ct.ss(A, np.eye(n)[:, :1], (num[1:] - num[0] * den[1:])[None], num[0], dt=T or 0)

    def companion(self):
        """State space, the companion form of all poles at once, of a continuous time."""
        size = np.prod([abs(a) for a in self.poles if a]) / np.prod([abs(a) for a in self.zeros if a])
        num, den = self.gain * size * np.atleast_1d(np.real(np.poly(self.zeros))), np.real(np.poly(self.poles))
        n = len(den) - 1
        A = np.vstack([-den[1:], np.eye(n)[:-1]])
        return A, np.eye(n)[:, :1], np.concatenate([np.zeros(n - len(num)), num])[None]


def random_factors(rng, sampled):
    """Poles and zeros of an arm's loop: integrators, resonances with zeros between, filters far above."""
    slow = 10.0 ** rng.uniform(-3.0, 0.0)
    poles, zeros = [0.0] * int(rng.integers(0, 3)), []
    zeros += [-slow * 10.0 ** rng.uniform(0.0, 1.0)] * max(len(poles) - 1, 0)
    if not poles:
        poles.append(-slow)
    w = slow
    for _ in range(int(rng.integers(1, 4))):
        w *= 10.0 ** rng.uniform(0.5, 1.0)
        damping = 10.0 ** rng.uniform(-5.0, -1.0)
        if rng.random() < 0.6:  # before its pole, as of a sensor beside the actuator
            zero = w * rng.uniform(0.5, 0.9)
            zeros += [zero * (-damping + 1j), zero * (-damping - 1j)]
        poles += [w * (-damping + 1j), w * (-damping - 1j)]
    if sampled:
        limit = 0.8 * np.pi / PERIOD
        scale = min(1.0, limit / w)
        return [p * scale for p in poles], [z * scale for z in zeros]
    filters = int(rng.integers(0, 4))
    fast = w * 10.0 ** rng.uniform(1.0, 4.0)
    if filters == 1:
        poles += [-fast] * int(rng.integers(1, 5))
    elif filters == 2:
        poles += list(butter(int(rng.integers(2, 9)), fast, analog=True, output="zpk")[1])
    elif filters == 3:
        poles += [-fast, -fast * 10.0 ** rng.uniform(0.0, 3.0)]
    return poles, zeros


def paired(roots):
    """Conjugate pairs exactly so."""
    roots = np.array(roots, dtype=complex)
    roots.imag[np.abs(roots.imag) < 1e-12 * np.abs(roots)] = 0.0
    upper = roots[roots.imag > 0.0]
    return np.concatenate([roots[roots.imag == 0.0], upper, upper.conj()])


def closed_poles(A, B, C, period):
    A, B, C = balanced(A, B, C)
    s, error = eigenvalues(A - B @ C)
    if period:
        return np.log(s[np.abs(s) > 1e-9]) / period, error / period
    return s, error


def random_loop(seed):
    """Factors of a loop that negative feedback holds, its realization, and poles of the closed loop."""
    rng = np.random.default_rng(seed)
    period = PERIOD if seed % 4 == 3 else None
    while True:  # until some gain holds it
        poles, zeros = (paired(x) for x in random_factors(rng, bool(period)))
        cascade = Factors(zeros, poles, 1.0, period).cascade()
        for gain in np.geomspace(10.0 ** rng.uniform(-1.0, 3.0), 1e-6, 40):
            s, error = closed_poles(*cascade[:2], gain * cascade[2], period)
            if (s.real < -np.maximum(1e-6 * np.abs(s), 10.0 * error[: len(s)])).all():
                found = Factors(zeros, poles, gain, period)
                A, B, C = found.companion() if seed % 4 == 1 else found.cascade()
                units = 10.0 ** rng.uniform(-6.0, 6.0, len(A))
                return found, ct.ss(A / units[:, None] * units, B / units[:, None], C * units, 0, dt=period or 0), s


def dense(L, closed, high):
    """Frequencies: evenly in their logarithm, and about each pole and zero by its own width."""
    features = np.concatenate([L.zeros, L.poles, closed])
    features = features[(np.abs(features) > 0.0) & np.isfinite(features)]
    about = np.concatenate([[0.0], np.geomspace(0.01, 300.0, 60), -np.geomspace(0.01, 300.0, 60)])
    near = np.abs(features.imag)[:, None] + np.abs(features.real)[:, None] * about
    size = np.abs(features)
    top = min(1e3 * size.max(), high)
    sweep = np.geomspace(1e-3 * size.min(), top, int(150 * np.log10(top / (1e-3 * size.min()))))
    omega = np.unique(np.concatenate([sweep, near.ravel(), size]))
    undamped = np.abs(features.imag)[features.real == 0.0]  # a pole has no value
    return omega[(omega > 0.0) & (omega <= top) & ~np.isin(omega, undamped)]


def roots(function, omega):
    values = function(omega)
    return np.array(
        [
            brentq(lambda w: float(function(np.array(w))), omega[i], omega[i + 1], rtol=1e-13, xtol=1e-300)
            for i in np.flatnonzero(np.sign(values[1:]) * np.sign(values[:-1]) < 0)
        ]
    )


def expected(L, closed):
    """Gain, phase and delay margins, the disk margin, from the product."""
    high = np.pi / L.period if L.period else np.inf
    omega = dense(L, closed, high)
    crossings = roots(lambda w: np.log(np.abs(L(w))), omega)
    lag = np.mod(np.angle(-L(crossings)), 2 * np.pi)
    turned = roots(lambda w: L(w).imag, omega)
    values = list(L(turned))
    if not (L.poles == 0.0).any():
        values.append(L(np.array(0.0)))
    if L.period:
        values.append(complex(L(np.array(high)).real))
    factors = np.array([-1.0 / x.real for x in values if x.real < 0.0 and abs(x.imag) < 1e-6 * abs(x)])
    factors = factors[factors > 1e-9]

    def size(w):
        v = L(w)
        return np.abs((1 - v) / (1 + v))

    values = size(omega)
    worst = [values.max(), 1.0 if not L.period else 0.0]
    for i in np.argsort(values)[-3:]:
        ends = omega[max(i - 1, 0)], omega[min(i + 1, len(omega) - 1)]
        found = minimize_scalar(
            lambda w: -float(size(np.array(w))), bounds=ends, method="bounded", options={"xatol": 1e-9 * ends[1]}
        )
        worst.append(-found.fun)
    if not (L.poles == 0.0).any():
        worst.append(float(size(np.array(0.0))))
    return {
        "low": factors[factors < 1.0].max(initial=0.0),
        "high": factors[factors >= 1.0].min(initial=np.inf),
        "phase": np.minimum(lag, 2 * np.pi - lag).min(initial=np.inf),
        "delay": (lag / crossings).min(initial=np.inf) if len(crossings) else np.inf,
        "disk": 2.0 / max(worst),
    }


def judged(system):
    """Margins, and whether a warning came with them."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = margins(system)
    assert all(each.category is UncertainResult for each in said)
    low, high = found.gain
    return {"low": low, "high": high, "phase": found.phase, "delay": found.delay, "disk": found.disk}, bool(said)


@pytest.mark.parametrize("part", range(4), ids=["cascade", "companion", "cascade again", "sampled"])
def test_margins_of_random_loops_are_those_of_a_dense_response(part):
    """Each is right to 1e-3, or comes with a warning, which few have."""
    warned = 0
    for seed in range(part, COUNT, 4):
        L, system, closed = random_loop(seed)
        found, uncertain = judged(system)
        warned += uncertain
        if not uncertain:
            assert found == pytest.approx(expected(L, closed), rel=1e-3, abs=1e-12), seed
    assert warned <= COUNT // 50


def test_two_loops_with_units_at_random_bear_what_the_weaker_bears():
    for seed in (0, 1, 3):
        pair = [random_loop(seed)[1], random_loop(seed + 4)[1]]
        alone = [margins(each) for each in pair]
        found = together(ct.append(*pair))
        assert found.disk == pytest.approx(min(each.disk for each in alone), rel=1e-4)
        assert found.sensitivity == pytest.approx(max(each.sensitivity for each in alone), rel=1e-4)


def test_digits_that_cancel_give_a_warning():
    """L = k (1 / (s + 1) - 1 / (s + 1 + 3e-15)) / (s + 1): its size is in the last digits of its numbers."""
    A = np.diag([-1.0, -1.0 - 4e-15, -1.0])
    A[2, :2] = 1.0, -1.0
    with pytest.warns(UncertainResult, match=r"^margins of u\[0\]: near \S+ rad/s the loop changes by \S+ % .*; give"):
        margins(ct.ss(A, [[1e15], [1e15], [0.0]], [[0.0, 0.0, 1.0]], 0))


FILTERS = {
    "four poles": np.full(4, -5e3),
    "Butterworth, order 6": butter(6, 5e3, analog=True, output="zpk")[1],
    "Butterworth, order 8": butter(8, 5e3, analog=True, output="zpk")[1],
}


def floating_mass():
    """Two masses of 1 kg, a spring of 1 N/m between motor and body, nothing else."""
    joint = fa.Prismatic(axis=(1, 0, 0), stiffness=1.0, rotor_inertia=1.0)
    body = fa.Rigid(length=0.0, mass=1.0, inertia=1e-9)
    return fa.Model(fa.Arm(name="a", links=[fa.Link(name="m", joint=joint, body=body)]))


def test_of_a_controller_in_companion_form():
    """100 ((s + 1) / (s / 1000 + 1))^3 at the body of two masses: its numbers reach 1e20."""
    s = ct.tf("s")
    law = ct.ss(100 * ((s + 1) / (1e-3 * s + 1)) ** 3)
    found = analysis.stability(floating_mass(), Linear(law, sensors=[fa.TipPosition(axes="x")], reference=[0.0])).end
    L = Factors(np.full(3, -1.0 + 0j), np.array([0.0, 0.0, 1j * 2**0.5, -1j * 2**0.5, *[-1e3] * 3]), 50.0)
    # 1 / (s^2 (s^2 + 2)) is the body's transfer of a force at the motor
    (one,) = found.loops
    right = expected(L, found.poles)
    low, high = one.gain
    values = {"low": low, "high": high, "phase": one.phase, "delay": one.delay, "disk": one.disk}
    assert values == pytest.approx(right, rel=1e-4)
    assert right["low"] == pytest.approx(0.0038, rel=2e-2) and right["high"] == pytest.approx(8.83, rel=1e-3)
    assert found.together.disk == pytest.approx(right["disk"], rel=1e-4)


@pytest.mark.parametrize("name", FILTERS)
def test_of_a_pd_law_behind_fast_filters(name):
    poles = np.asarray(FILTERS[name], dtype=complex)
    L = Factors(np.array([-50.0 + 0j]), np.array([0.0, 0.0, *poles]), 1e4)
    system = ct.ss(*L.companion(), 0)
    found, uncertain = judged(system)
    assert not uncertain and found == pytest.approx(expected(L, closed_poles(*L.companion(), None)[0]), rel=1e-5)


def test_zeros_of_random_loops():
    """Right to 1e-3, or with a warning: zeros that are 1e-8 of the fastest pole, and not at 0, among them."""
    warned = 0
    for seed in (x for x in range(COUNT) if x % 4 != 3 and x % 3 == 1):
        L, system, _ = random_loop(seed)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = analysis.zeros(system)
        warned += bool(said)
        if not said:
            assert len(found) == len(L.zeros), seed
            for zero in L.zeros:
                assert np.abs(found - zero).min() <= 1e-3 * abs(zero), seed
    assert warned <= 5


def test_a_pole_and_a_zero_far_below_the_fastest_pole_are_not_at_zero():
    slow, fast = 0.02, 1e7
    A, B, C = Factors(np.array([-2 * slow + 0j]), np.array([-slow, -fast, -2 * fast], dtype=complex), 3.0).cascade()
    system = ct.ss(A, B, C, 0)
    assert analysis.zeros(system) == pytest.approx([-2 * slow], rel=1e-6)
    found = analysis.transfer_function(system)
    assert np.sort(found.poles().real) == pytest.approx([-2 * fast, -fast, -slow], rel=1e-6)
