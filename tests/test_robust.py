"""Norms, H-infinity synthesis and loop shaping, against closed forms, dense grids and each other."""

import control as ct
import numpy as np
import pytest

import flexarm as fa
from flexarm import analysis, robust
from flexarm.control import Linear, Sampled


def largest(system, omega):
    """Largest singular value over a grid of frequencies, from the definition of the transfer matrix."""
    s = 1j * omega if not system.dt else np.exp(1j * omega * system.dt)
    x = np.linalg.solve(s[:, None, None] * np.eye(system.nstates) - system.A, system.B.astype(complex))
    return np.linalg.norm(system.C @ x + system.D, 2, axis=(1, 2)).max()


def damped(rng, n, m, p, slowest=0.01):
    """A random stable system with lightly damped modes."""
    A = rng.normal(size=(n, n))
    A -= (np.linalg.eigvals(A).real.max() + slowest) * np.eye(n)
    return ct.ss(A, rng.normal(size=(n, m)), rng.normal(size=(p, n)), 0.1 * rng.normal(size=(p, m)))


class TestNorms:
    @pytest.mark.parametrize("zeta", [1e-6, 0.03, 0.9])
    def test_of_one_mode(self, zeta):
        """The peak of g w^2 / (s^2 + 2 zeta w s + w^2) is g / (2 zeta sqrt(1 - zeta^2)), if zeta < 0.7."""
        w, g = 7.0, 2.5
        system = ct.ss(ct.tf([g * w**2], [1.0, 2 * zeta * w, w**2]))
        norm, frequency = robust.hinf_norm(system)
        inside = zeta < np.sqrt(0.5)
        assert norm == pytest.approx(g / (2 * zeta * np.sqrt(1 - zeta**2)) if inside else g, rel=2e-6)
        assert frequency == pytest.approx(w * np.sqrt(1 - 2 * zeta**2) if inside else 0.0, rel=1e-4)
        assert robust.h2_norm(system) == pytest.approx(np.sqrt(g**2 * w / (4 * zeta)), rel=1e-8)

    def test_of_random_systems_on_a_dense_grid(self):
        rng = np.random.default_rng(5)
        for _ in range(3):
            system = damped(rng, 7, 3, 2)
            norm, frequency = robust.hinf_norm(system)
            near = np.abs(system.poles().imag)
            omega = np.unique(
                np.concatenate([np.geomspace(1e-3, 1e2, 2000), *(x + np.linspace(-0.03, 0.03, 301) for x in near)])
            )
            grid = largest(system, omega)
            assert grid <= norm * (1 + 1e-6)
            assert grid == pytest.approx(norm, rel=2e-3)
            assert largest(system, np.array([frequency])) == pytest.approx(norm, rel=1e-6)

    def test_of_a_sampled_system_and_of_a_gain(self):
        system = ct.c2d(damped(np.random.default_rng(2), 4, 2, 2, 0.2), 0.3)
        norm, frequency = robust.hinf_norm(system)
        assert largest(system, np.linspace(0.0, np.pi / 0.3, 4000)) == pytest.approx(norm, rel=1e-4)
        assert largest(system, np.array([frequency])) == pytest.approx(norm, rel=1e-6)
        D = np.array([[3.0, 4.0], [0.0, 1.0]])
        assert robust.hinf_norm(ct.ss([], [], [], D)).value == pytest.approx(np.linalg.norm(D, 2))
        assert robust.h2_norm(ct.ss([], [], [], 0.0 * D)) == 0.0

    def test_h2_is_the_energy_of_the_impulse_response(self):
        system = damped(np.random.default_rng(8), 4, 1, 1, 0.4)
        system = ct.ss(system.A, system.B, system.C, 0.0)
        t = np.linspace(0.0, 60.0, 60001)
        y = ct.impulse_response(system, t).outputs
        assert robust.h2_norm(system) == pytest.approx(np.sqrt(np.trapezoid(y**2, t)), rel=1e-4)

    @pytest.mark.parametrize(
        ("call", "words"),
        [
            (
                lambda: robust.hinf_norm(ct.ss(0.5, 1, 1, 0)),
                "not stable, so its norm is infinite: it has a pole at 0.5",
            ),
            (lambda: robust.hinf_norm(ct.ss(0.0, 1, 1, 0)), "not stable"),
            (lambda: robust.hinf_norm(ct.ss(-1.1, 1, 1, 0, True)), "|z| = 1.1"),
            (lambda: robust.h2_norm(ct.ss(-1, 1, 1, 2)), "feedthrough"),
            (lambda: robust.h2_norm(ct.ss(0.5, 1, 1, 0, 0.1)), "discrete"),
            (lambda: robust.hinf_norm(3.0), "StateSpace"),
        ],
    )
    def test_refused(self, call, words):
        with pytest.raises(fa.DescriptionError) as caught:
            call()
        assert words in str(caught.value)


def unstable(rng, n, m, p):
    return ct.ss(
        rng.normal(size=(n, n)), rng.normal(size=(n, m)), rng.normal(size=(p, n)), 0.3 * rng.normal(size=(p, m))
    )


class TestSynthesis:
    @pytest.mark.parametrize(("seed", "size"), [(0, 1.0), (1, 1.0), (2, 0.15), (3, 0.15)])
    def test_of_random_plants(self, seed, size):
        """All D nonzero, and more errors and inputs than controls and measured signals.

        With a small response of the states D11 decides, so that all its parts enter the controller.
        """
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(6, 6))
        A = A if size == 1.0 else A - (np.linalg.eigvals(A).real.max() + 0.5) * np.eye(6)
        B, C, D = size * rng.normal(size=(6, 6)), size * rng.normal(size=(7, 6)), 0.5 * rng.normal(size=(7, 6))
        P = ct.ss(A, B, C, D)
        found = robust.hinf_synthesis(P, measured=3, controls=2)
        closed = P.lft(found.controller)  # python-control's, as an independent check
        assert closed.poles().real.max() < 0.0
        assert found.gamma == pytest.approx(found.best, rel=2e-3)
        assert found.best < found.norm <= found.gamma * (1 + 1e-6)
        grid = largest(closed, np.concatenate([np.geomspace(1e-4, 1e4, 600), [min(found.frequency, 1e6)]]))
        assert grid == pytest.approx(found.norm, rel=1e-5)
        loose = robust.hinf_synthesis(P, 3, 2, gamma=2.0 * found.gamma)
        assert robust.hinf_norm(P.lft(loose.controller)).value <= 2.0 * found.gamma
        with pytest.raises(fa.DescriptionError, match="no controller reaches gamma"):
            robust.hinf_synthesis(P, 3, 2, gamma=0.97 * found.gamma)

    @pytest.mark.parametrize("seed", [0, 1, 2, 7, 10, 13])
    def test_of_plants_whose_riccati_solutions_are_zero(self, seed):
        """As many errors as controls, or inputs as measured signals, with stable zeros: X or Y is rounding alone."""
        rng = np.random.default_rng(seed)
        w, z, m, p = ((2, 3, 3, 1), (3, 2, 2, 2), (3, 2, 2, 1))[seed % 3]
        n = (4, 2, 4)[seed % 3]
        A, B, C = rng.normal(size=(n, n)), rng.normal(size=(n, w + m)), rng.normal(size=(z + p, n))
        P = ct.ss(A, B, C, rng.normal(size=(z + p, w + m)))
        found = robust.hinf_synthesis(P, p, m)
        closed = P.lft(found.controller)
        assert closed.poles().real.max() < 0.0
        assert largest(closed, np.geomspace(1e-4, 1e4, 600)) <= found.gamma * (1 + 1e-4)
        assert found.gamma <= found.best * (1 + 0.02)
        # a looser bound is reachable, too
        assert robust.hinf_synthesis(P, p, m, gamma=3.0 * found.gamma).norm <= 3.0 * found.gamma

    def test_with_a_published_optimum(self):
        """Doyle, Glover, Khargonekar & Francis: with all states measured at no noise the optimum follows from X alone.

        For dx/dt = a x + w1 + u, z = (x, u), y = x + w2 the Riccati equations are scalars, 2 a X + X^2 (g^-2 - 1) + 1 =
        0 and Y likewise, and the optimum is where X Y = g^2.
        """
        a = 1.3
        P = ct.ss(a, [[1.0, 0.0, 1.0]], [[1.0], [0.0], [1.0]], [[0, 0, 0], [0, 0, 1], [0, 1, 0]])

        def root(g):
            return (a + np.sqrt(a**2 + 1 - g**-2)) / (1 - g**-2)

        from scipy.optimize import brentq

        optimum = brentq(lambda g: root(g) - g, 1.01, 50.0)
        found = robust.hinf_synthesis(P, 1, 1, accuracy=1e-7)
        assert found.gamma == pytest.approx(optimum, rel=1e-6)
        assert optimum > 2.0

    def test_normalized_coprime_factors_have_the_optimum_of_their_formula(self):
        """sqrt(1 + rho(Z X)) is the optimum of the four-block problem, which the bisection finds by other equations."""
        rng = np.random.default_rng(11)
        G = unstable(rng, 5, 2, 3)
        shaped = robust.loop_shaping(G)
        optimal = robust.hinf_synthesis(robust.four_block(G), 3, 2, accuracy=1e-7)
        assert optimal.gamma == pytest.approx(shaped.best, rel=1e-6)
        assert shaped.gamma == pytest.approx(1.1 * shaped.best)
        assert shaped.margin == pytest.approx(1 / shaped.gamma)
        closed = robust.four_block(G).lft(shaped.controller)
        assert robust.hinf_norm(closed).value == pytest.approx(shaped.gamma, rel=0.12)
        assert robust.hinf_norm(closed).value <= shaped.gamma * (1 + 1e-6)

    def test_loop_shaping_contains_its_weights(self):
        rng = np.random.default_rng(4)
        G, W1, W2 = unstable(rng, 3, 1, 1), ct.tf([2.0, 3.0], [1.0, 0.0]), 1.7
        shaped = robust.loop_shaping(G, W1, W2)
        inner = robust.loop_shaping(W2 * G * ct.ss(W1))
        s = np.array([0.3j, 2.0j, 40.0j])
        assert shaped.best == pytest.approx(inner.best, rel=1e-8)
        assert shaped.controller(s) == pytest.approx(ct.ss(W1)(s) * inner.controller(s) * W2, rel=1e-6)

    def test_four_block_is_its_equations(self):
        rng = np.random.default_rng(6)
        G = unstable(rng, 3, 2, 3)
        We, Wu, Wd = ct.tf([1.0], [1.0, 0.2]), robust.weight(0.1, 30.0, 8.0), np.array([0.3, 0.7])
        P = robust.four_block(G, error=We, effort=Wu, disturbance=Wd, noise=0.2)
        s = 0.4 + 1.9j
        g, e, u = G(s), We(s) * np.eye(3), Wu(s) * np.eye(2)
        seen = -np.hstack([g @ np.diag(Wd), 0.2 * np.eye(3), g])
        expected = np.vstack([e @ seen, np.hstack([np.zeros((2, 5)), u]), seen])
        assert P(s) == pytest.approx(expected, rel=1e-9)
        assert P.input_labels[-2:] == G.input_labels
        assert P.output_labels[-3:] == G.output_labels

    @pytest.mark.parametrize("order", [1, 3])
    def test_weight(self, order):
        W = robust.weight(40.0, 3.0, 0.2, order)
        assert [abs(W(1j * w)) for w in (1e-7, 3.0, 1e7)] == pytest.approx([40.0, 1.0, 0.2], rel=1e-5)
        assert W.nstates == order
        assert W.poles().real.max() < 0.0

    @pytest.mark.parametrize(
        ("call", "words"),
        [
            (lambda P: robust.hinf_synthesis(P, 4, 1), "4 outputs and 4 inputs; it needs more"),
            (lambda P: robust.hinf_synthesis(ct.ss(P.A, P.B, P.C, 0 * P.D), 2, 1), "D12"),
            (
                lambda P: robust.hinf_synthesis(
                    ct.ss(P.A, P.B, P.C, [[0, 0, 0, 0], [0, 0, 0, 1], [0] * 4, [0] * 4]), 2, 1
                ),
                "D21",
            ),
            (lambda P: robust.hinf_synthesis(ct.ss(P.A, P.B, P.C, P.D, 0.1), 1, 1), "discrete"),
            (lambda P: robust.hinf_synthesis(P, 1, 1, gamma=-1.0), "gamma"),
            (lambda P: robust.loop_shaping(P, excess=1.0), "it must be above 1"),
            (lambda P: robust.four_block(P, error=np.ones(3)), "error has 3 numbers; it must have 4"),
            (lambda P: robust.four_block(P, noise=ct.ss(-1, 1, 1, 0, 0.1)), "noise is discrete"),
            (lambda P: robust.four_block(P, effort=np.eye(2)), "effort has 2 inputs and 2 outputs; it must have 4"),
            (lambda P: robust.mu_bound([[1e300, 1e300], [1e-300, 1e300]], [1, 1]), "too large or too small"),
            (lambda P: robust.weight(2.0, 1.0, 3.0), "one of them must be below 1"),
            (lambda P: robust.loop_shaping(ct.ss(1.0, 0.0, 1.0, 0.0)), "no normalized coprime factors"),
            (
                lambda P: robust.hinf_synthesis(
                    ct.ss(1.0, [[1, 0, 0]], [[1], [0], [1]], [[0, 0, 0], [0, 0, 1], [0, 1, 0]]), 1, 1
                ),
                "no controller stabilizes",
            ),
        ],
    )
    def test_refused(self, call, words):
        rng = np.random.default_rng(0)
        P = unstable(rng, 3, 4, 4)
        with pytest.raises(fa.DescriptionError) as caught:
            call(P)
        assert words in str(caught.value)


@pytest.fixture(scope="module")
def designed():
    arm = fa.load("subudhi-morris-elastic")
    arm = arm.replace(links=[link.replace(body=link.body.replace(damping=0.02)) for link in arm.links])
    model = fa.Model(arm)
    slew = fa.Quintic(start=(0, 0), end=(1.2, 0.5), duration=2.0)
    q, u = analysis.equilibrium(model, (1.2, 0.5))
    sensors = [fa.Encoder(coordinate=name) for name in model.inputs]
    G = model.linearize(q, 0 * q, u, outputs=sensors)
    P = robust.four_block(
        G,
        error=robust.weight(100.0, 6.0, 0.5),
        effort=robust.weight(0.05, 60.0, 20.0),
        disturbance=0.3,
        noise=0.3,
    )
    return model, slew, sensors, robust.hinf_synthesis(P, 2, 2)


class TestOnAnArm:
    def test_it_runs_continuously_and_sampled(self, designed):
        model, slew, sensors, found = designed
        K = Linear(found.controller, sensors, slew)
        for u in (K, Sampled(K, period=1e-3, delay=1e-3)):
            stability = analysis.stability(model, u)
            assert stability.stable
            assert stability.end.together.disk > 0.4
            run = fa.simulate(model, 4.0, u=u, samples=21, progress=False)
            # the integral action of the error weight ends at 100, so a slow rest of the motion is left
            assert run.q.values[-1, -2:] == pytest.approx([1.2, 0.5], abs=0.01)

    def test_its_loop_has_the_norm_of_the_synthesis(self, designed):
        """The loop that `analysis.loop` linearizes gives the sensitivity that the synthesis bounds."""
        model, slew, sensors, found = designed
        L = analysis.loop(model, Linear(found.controller, sensors, slew))
        We, Wu = robust.weight(100.0, 6.0, 0.5), robust.weight(0.05, 60.0, 20.0)
        for w in (0.7, 5.0, 25.0, 300.0):
            s = 1j * w
            G = model.linearize(*_rest(model), outputs=sensors)(s)
            K = found.controller(s)
            S = np.linalg.inv(np.eye(2) + G @ K)
            blocks = np.block(
                [[We(s) * S @ (0.3 * G), We(s) * S * 0.3], [Wu(s) * K @ S @ G * 0.3, Wu(s) * K @ S * 0.3]]
            )
            assert np.linalg.norm(blocks, 2) <= found.norm * (1 + 1e-6)
            assert L(s) == pytest.approx(K @ G, rel=1e-6)


def _rest(model):
    q, u = analysis.equilibrium(model, (1.2, 0.5))
    return q, 0 * q, u
