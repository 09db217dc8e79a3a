"""Uncertain models against exact ones, bounds of mu against closed forms, and two published robustness margins."""

import control as ct
import numpy as np
import pytest
from scipy.optimize import linprog

import flexarm as fa
from flexarm import analysis, robust


@pytest.fixture(scope="module")
def model():
    arm = fa.load("subudhi-morris-elastic")
    return fa.Model(arm.replace(links=[link.replace(body=link.body.replace(damping=0.02)) for link in arm.links]))


VARY = {"payload.mass": (0.05, 0.2), "fore.stiffness": (70.0, 130.0), "upper.rotor_inertia": (0.01, 0.03)}
AT = (0.4, -0.9)


@pytest.fixture(scope="module")
def family(model):
    sensors = [*(fa.Encoder(coordinate=name) for name in model.inputs), fa.Accelerometer(link="fore")]
    return robust.uncertain(model, VARY, AT, sensors), sensors


def exact(model, p, sensors, at=AT):
    varied = fa.Model(model.arm, vary=list(p)).at(p)
    q, u = analysis.equilibrium(varied, at, held="joints")
    return varied.linearize(q, 0 * q, u, outputs=sensors)


class TestUncertain:
    def test_it_is_exact_for_masses_and_stiffnesses(self, model, family):
        found, sensors = family
        assert found.names == tuple(VARY)
        assert found.remainder < 1e-9
        rng = np.random.default_rng(0)
        for delta in [np.zeros(3), np.ones(3), *rng.uniform(-1.0, 1.0, (3, 3))]:
            p = found.parameters(delta)
            assert found.deviations(p) == pytest.approx(delta, abs=1e-12)
            G = exact(model, p, sensors)
            assert found.at(p).output_labels == G.output_labels
            for s in (3.0 + 2.0j, 20.0j, 700.0j):
                assert found.at(p)(s) == pytest.approx(G(s), rel=1e-7, abs=1e-9 * np.abs(G(s)).max())

    def test_blocks_have_the_ranks_of_the_parameters(self, family):
        found, _ = family
        # a spring between two coordinates has rank 1; a payload has two translations in the plane
        assert found.blocks[1] == 1
        assert found.blocks[0] <= 4
        assert found.system.ninputs == sum(found.blocks) + 2

    def test_the_remainder_tells_what_is_not_affine(self, model):
        """A length enters the inertia with its square and the stiffness with its inverse cube."""
        found = robust.uncertain(model, {"fore.length": (0.4, 0.6)}, AT, [fa.Encoder(coordinate="fore.joint")])
        assert found.remainder > 0.1
        # the damping of a ratio of the critical one grows with the square root of the stiffness
        bending = robust.uncertain(model, {"upper.EI": (0.8, 1.3)}, AT, [fa.Encoder(coordinate="fore.joint")])
        assert 1e-6 < bending.remainder < 1e-3
        ends = exact(model, {"fore.length": 0.6}, [fa.Encoder(coordinate="fore.joint")])
        assert found.at([0.6])(3.0j) == pytest.approx(ends(3.0j), rel=0.3)

    def test_closed_is_the_loop_of_the_arm(self, model, family):
        found, sensors = family
        K = ct.ss(np.diag([-30.0, -40.0]), np.eye(2, 5), np.diag([50.0, 20.0]), 0.0)
        loop = found.closed(K)
        p = {"payload.mass": 0.11, "fore.stiffness": 83.0}
        s = 2.0 + 9.0j
        G, k = found.at(p)(s), K(s)
        S = np.linalg.inv(np.eye(5) + G @ k)
        y = np.hstack([S @ G, S @ G @ k])
        u = np.hstack([np.eye(2) - k @ S @ G, k @ S])
        assert loop.at(p)(s) == pytest.approx(np.vstack([y, u]), rel=1e-8, abs=1e-9)
        assert loop.at(p).input_labels[2:] == [f"r_{name}" for name in found.at(p).output_labels]

    @pytest.mark.parametrize(
        ("call", "words"),
        [
            (lambda m, f: robust.uncertain(m, {}, AT, []), "vary is {}"),
            (lambda m, f: robust.uncertain(m, {"payload.mass": (0.2, 0.1)}, AT, []), "low below high"),
            (lambda m, f: robust.uncertain(m, {"payload.*": (0.1, 0.2)}, AT, []), "full names of parameters"),
            (lambda m, f: robust.uncertain(m, {"payload.mass": (-0.2, 0.2)}, AT, []), "payload.mass is -0.2 kg"),
            (lambda m, f: f.at({"payload": 1.0}), "has the unknown name"),
            (lambda m, f: f.at([1.0]), "has shape (1,); it must be (3,)"),
            (lambda m, f: f.closed(ct.ss(-1, 1, 1, 0)), "it must have 5 and 2"),
            (lambda m, f: robust.robust_stability(f), "not stable in the middle"),
            (lambda m, f: robust.worst_gain(f), "not stable in the middle"),
            (lambda m, f: robust.robust_stability(f, [-1.0]), "zero or positive"),
            (lambda m, f: robust.worst_gain(f, "nothing"), "unknown output"),
        ],
    )
    def test_refused(self, model, family, call, words):
        with pytest.raises(fa.DescriptionError) as caught:
            call(model, family[0])
        assert words in str(caught.value)

    def test_closures_are_refused(self):
        from loops import four_bar

        with pytest.raises(fa.DescriptionError, match="has closures; its linear model has no mass matrix"):
            robust.uncertain(fa.Model(four_bar()), {"payload.mass": (0.1, 0.2)}, [0.3], [])


class TestMu:
    def test_of_rank_one_is_a_linear_program(self):
        """1 - sum(delta_i m_i) = 0 with the smallest real delta: the bound is exact (P. M. Young, 1994)."""
        rng = np.random.default_rng(3)
        for _ in range(4):
            a, b = (rng.normal(size=4) + 1j * rng.normal(size=4) for _ in range(2))
            m = a * b
            c = np.r_[np.zeros(4), 1.0]
            bounds = [(None, None)] * 4 + [(0, None)]
            sides = np.vstack([np.hstack([np.eye(4), -np.ones((4, 1))]), np.hstack([-np.eye(4), -np.ones((4, 1))])])
            found = linprog(c, sides, np.zeros(8), np.array([[*m.real, 0.0], [*m.imag, 0.0]]), [1.0, 0.0], bounds)
            mu = robust.mu_bound(np.outer(a, b), [1] * 4)
            assert mu.upper == pytest.approx(1.0 / found.fun, rel=3e-3)
            assert mu.upper >= 1.0 / found.fun * (1 - 1e-9)
            complex_ = robust.mu_bound(np.outer(a, b), [1] * 4, real=False)
            assert complex_.upper == pytest.approx(np.abs(m).sum(), rel=3e-3)

    def test_of_one_repeated_number_is_an_eigenvalue(self):
        rng = np.random.default_rng(1)
        M = rng.normal(size=(4, 4))
        s = np.linalg.eigvals(M)
        assert robust.mu_bound(M, [4], real=False).upper == pytest.approx(np.abs(s).max(), rel=5e-3)
        real = np.abs(s[np.abs(s.imag) < 1e-9]).max(initial=0.0)
        assert robust.mu_bound(M, [4]).upper == pytest.approx(real, rel=5e-3)

    def test_its_scalings_prove_it(self):
        rng = np.random.default_rng(9)
        M = rng.normal(size=(5, 5)) + 1j * rng.normal(size=(5, 5))
        upper, D, G = robust.mu_bound(M, [2, 1, 2])
        N = D @ M @ np.linalg.inv(D)
        H = N.conj().T @ N + 1j * (G @ N - N.conj().T @ G)
        assert np.linalg.eigvalsh(H)[-1] == pytest.approx(upper**2, rel=1e-6)
        for part in (D, G):
            assert not part[:2, 2:].any()
            assert not part[2, 3:].any()
        assert G == pytest.approx(G.conj().T)
        # no real perturbation below 1 / upper makes 1 - M Delta singular
        for _ in range(300):
            delta = rng.uniform(-1.0, 1.0, 3)
            M_delta = M * np.repeat(delta / np.abs(delta).max(), [2, 1, 2])
            s = np.linalg.eigvals(M_delta)
            assert np.abs(s[np.abs(s.imag) < 1e-6 * np.abs(s)]).max(initial=0.0) <= upper
        assert upper < np.linalg.norm(M, 2)

    def test_of_zero(self):
        assert robust.mu_bound(np.zeros((2, 2)), [2]).upper == 0.0
        assert robust.mu_bound([[2.0j]], [1]).upper < 1e-3
        assert robust.mu_bound([[2.0j]], [1], real=False).upper == pytest.approx(2.0, rel=2e-3)

    @pytest.mark.parametrize(
        ("M", "blocks", "words"),
        [
            (np.eye(2), [1], "must add up to 2 rows and 2 columns"),
            (np.ones((1, 2)), [1], "must add up to 1 row and 2 columns"),
            (np.ones(2), [2], "must be a matrix"),
            (np.ones((1, 2)), [(1, 2, 3)], "a pair (rows, columns)"),
            ([[np.nan]], [1], "M"),
            (np.eye(1), 1, "blocks"),
        ],
    )
    def test_refused(self, M, blocks, words):
        with pytest.raises(fa.DescriptionError) as caught:
            robust.mu_bound(M, blocks)
        assert words in str(caught.value)


def carts():
    """Two carts and a spring (Wie & Bernstein 1992): the rotor is the first cart, the link the second."""
    joint = {"type": "prismatic", "axis": [1, 0, 0], "rotor_inertia": 1.0, "stiffness": 1.0}
    body = {"type": "rigid", "mass": 1.0, "length": 0.1, "com": [0, 0, 0], "inertia": [0, 0, 0]}
    return fa.Model(fa.Arm(name="carts", links=[{"name": "carts", "joint": joint, "body": body}]))


class TestPublished:
    def test_acc_benchmark(self):
        """288.6 % of ranges of 20 % make the loop unstable at 575 rad/s, as the Robust Control Toolbox publishes."""
        vary = {f"carts.{name}": (0.8, 1.2) for name in ("rotor_inertia", "mass", "stiffness")}
        family = robust.uncertain(carts(), vary, [0.0], [fa.Encoder(coordinate="carts.joint")])
        assert family.at([1.0, 1.0, 1.0])(0.3j) == pytest.approx(1 / (0.3j**2 * (0.3j**2 + 2)))
        s = ct.tf("s")
        loop = family.closed(ct.ss(100 * ((s + 1) / (0.001 * s + 1)) ** 3))
        found = robust.robust_stability(loop)
        assert found.upper == pytest.approx(2.886, abs=1e-3)
        assert found.frequency == pytest.approx(575.0, abs=0.5)
        assert found.lower == pytest.approx(found.upper, rel=2e-3)
        assert found.lower <= found.upper
        # at these parameters a pole is on the imaginary axis
        poles = loop.at(found.parameters).poles()
        assert np.abs(poles - 1j * found.frequency).min() < 1e-3
        assert found.omega[np.argmax(found.mu)] == pytest.approx(575.0, rel=0.01)

    def test_a_margin_that_a_grid_of_frequencies_misses(self):
        """1 / (s^2 + c s + 1), c = 1 +- 1: mu is 1 at 1 rad/s alone, where the search for deviations finds it."""
        M = ct.ss([[0, 1], [-1, -1]], [[0, 0], [-1, 1]], [[0, 1], [1, 0]], 0.0)
        damper = robust.Uncertain(("c",), np.zeros(1), np.full(1, 2.0), (1,), M, 0.0)
        assert damper.at([1.3])(2.0j) == pytest.approx(1 / (2.0j**2 + 1.3 * 2.0j + 1))
        found = robust.robust_stability(damper, np.geomspace(0.1, 10.0, 8))
        assert found.upper == pytest.approx(1.0, abs=1e-6)
        assert found.frequency == pytest.approx(1.0, abs=1e-4)
        assert found.lower == pytest.approx(1.0, rel=5e-3)
        assert found.parameters["c"] == pytest.approx(0.0, abs=1e-6)


class TestWorstGain:
    def test_of_a_resonance(self):
        """The gain 1 / (c w) is largest for the smallest damping, in a corner."""
        M = ct.ss([[0, 1], [-9, -0.5]], [[0, 0], [-0.2, 1]], [[0, 1], [1, 0]], 0.0)
        damper = robust.Uncertain(("c",), np.array([0.3]), np.array([0.7]), (1,), M, 0.0)
        found = robust.worst_gain(damper, samples=5)
        assert found.gain == pytest.approx(1 / (0.3 * np.sqrt(9 - 0.3**2 / 4)), rel=1e-5)
        assert found.gain * (1 - 1e-6) <= found.upper <= found.gain * (1 + 2e-3)
        assert found.nominal == pytest.approx(1 / (0.5 * np.sqrt(9 - 0.5**2 / 4)), rel=1e-5)
        assert found.parameters["c"] == pytest.approx(0.3)
        assert found.unstable == 0

    def test_on_an_arm_it_is_the_worst_of_many(self, model):
        sensors = [fa.Encoder(coordinate=name) for name in model.inputs]
        vary = {"payload.mass": (0.02, 0.3), "fore.stiffness": (40.0, 160.0)}
        loop = robust.uncertain(model, vary, AT, sensors).closed(_pd())
        found = robust.worst_gain(loop, output=0, input="r_upper_motor", samples=10)
        rng = np.random.default_rng(7)
        for _ in range(15):
            p = rng.uniform(loop.low, loop.high)
            channel = loop.at(p)[0, 2]
            assert robust.hinf_norm(channel).value <= found.gain * (1 + 1e-9)
        assert found.gain <= found.upper <= 1.02 * found.gain
        at_worst = exact(model, found.parameters, sensors)
        stable = robust.robust_stability(loop)
        assert 1.0 < stable.lower <= stable.upper * (1 + 1e-6)
        closed = ct.feedback(at_worst * _pd(), np.eye(2))
        assert robust.hinf_norm(closed[0, 0]).value == pytest.approx(found.gain, rel=1e-5)

    def test_the_upper_bound_holds_for_repeated_parameters(self):
        """A dense sweep of parameters and frequencies stays below the proven bound, and comes near to it."""
        rng = np.random.default_rng(4)
        for sizes in ((2,), (1, 2)):
            k, n, count = len(sizes), 4, sum(sizes)
            A = rng.normal(size=(n, n))
            A -= (np.linalg.eigvals(A).real.max() + 0.5) * np.eye(n)
            B, C = rng.normal(size=(n, count + 1)), rng.normal(size=(count + 2, n))
            B[:, :count] *= 0.05
            D = 0.1 * rng.normal(size=(count + 2, count + 1))
            names = ("a", "b")[:k]
            family = robust.Uncertain(names, -np.ones(k), np.ones(k), sizes, ct.ss(A, B, C, D), 0.0)
            found = robust.worst_gain(family, samples=5)
            omega, highest = np.geomspace(1e-2, 1e2, 400), 0.0
            for delta in np.stack(np.meshgrid(*[np.linspace(-1, 1, 9)] * k), -1).reshape(-1, k):
                G = family.at(delta)
                x = np.linalg.solve(1j * omega[:, None, None] * np.eye(n) - G.A, G.B.astype(complex))
                highest = max(highest, np.linalg.norm(G.C @ x + G.D, 2, axis=(1, 2)).max())
            assert highest <= found.upper
            assert highest >= 0.97 * found.upper
            # the grid of frequencies agrees with the proof for all of them
            stable = robust.robust_stability(family)
            grid = robust.robust_stability(family, np.geomspace(1e-3, 1e3, 200))
            assert 0.97 * grid.lower <= stable.lower <= grid.lower * (1 + 2e-3)

    def test_without_parameters_the_bound_is_the_norm(self):
        """Narrow resonances between the frequencies of any grid are found: the proof uses Hamiltonian matrices."""
        from flexarm.robust.mu import Block, bounded_gain
        from flexarm.robust.peaks import proven_peak
        from flexarm.robust.systems import Matrices

        modes = [(1.0, 0.4, 1.0), (7.3, 1e-4, 3e-4), (31.0, 1e-5, 3e-5)]
        parts = [ct.ss(ct.tf([g * w**2], [1, 2 * z * w, w**2])) for w, z, g in modes]
        G = parts[0] + parts[1] + parts[2]
        peak = proven_peak(
            Matrices.of("test", G),
            lambda M, enough: bounded_gain(M, (Block(1, "full"),), enough),
            lambda D, level: level**2 * D,
            grid=np.geomspace(0.1, 3.0, 5),
        )
        assert peak.upper == pytest.approx(robust.hinf_norm(G).value, rel=2e-3)
        assert peak.upper >= robust.hinf_norm(G).value

    def test_an_unstable_corner_has_an_infinite_gain(self):
        M = ct.ss([[0, 1], [-9, -0.5]], [[0, 0], [-0.6, 1]], [[0, 1], [1, 0]], 0.0)
        damper = robust.Uncertain(("c",), np.array([-0.1]), np.array([1.1]), (1,), M, 0.0)
        found = robust.worst_gain(damper, samples=0)
        assert found.gain == found.upper == np.inf
        assert found.unstable == 1
        assert found.parameters["c"] == pytest.approx(-0.1)


def _pd():
    filtered = ct.tf([2.0, 5.0], [0.002, 1.0])
    return ct.ss(ct.append(ct.ss(filtered), ct.ss(0.3 * filtered)))
