"""Reduced models: their bounds, their exact parts, and controllers that are designed on them."""

import control as ct
import numpy as np
import pytest

import flexarm as fa
from flexarm import analysis, robust


@pytest.fixture(scope="module")
def model():
    arm = fa.load("subudhi-morris-elastic")
    return fa.Model(arm.replace(links=[link.replace(body=link.body.replace(damping=0.02)) for link in arm.links]))


@pytest.fixture(scope="module")
def plant(model):
    q, u = analysis.equilibrium(model, (1.2, 0.5))
    return model.linearize(q, 0 * q, u, outputs=[*encoders(model), fa.TipPosition(axes="y")])


def encoders(model):
    return [fa.Encoder(coordinate=name) for name in model.inputs]


def difference(G, other, omega):
    """Largest singular value of the difference at each frequency."""
    return np.array([np.linalg.norm(G(1j * w) - other(1j * w), 2) for w in omega])


OMEGA = np.unique(
    np.concatenate(
        [np.geomspace(0.5, 5000.0, 300), *(w * np.linspace(0.99, 1.01, 41) for w in (13.5, 25.35, 53.6, 185.2))]
    )
)


class TestOfSystems:
    @pytest.mark.parametrize("static", [True, False])
    def test_states_without_effect_are_left_out(self, static):
        rng = np.random.default_rng(3)
        A = np.array([[-0.4, 3.0, 0.2], [-3.0, -0.4, 0.1], [0.0, 0.3, -1.7]])
        inner = ct.ss(A, rng.normal(size=(3, 2)), rng.normal(size=(2, 3)), 0.0)
        # two states that no input reaches, two that no output shows, in rotated coordinates
        A = np.block(
            [
                [A, rng.normal(size=(3, 2)), np.zeros((3, 2))],
                [np.zeros((2, 3)), -np.diag([0.7, 2.0]), np.zeros((2, 2))],
                [rng.normal(size=(2, 5)), -np.diag([1.1, 4.0])],
            ]
        )
        T = np.linalg.qr(rng.normal(size=(7, 7)))[0]
        B, C = (
            np.vstack([inner.B, np.zeros((2, 2)), rng.normal(size=(2, 2))]),
            np.hstack([inner.C, rng.normal(size=(2, 2)), np.zeros((2, 2))]),
        )
        full = ct.ss(T @ A @ T.T, T @ B, C @ T.T, 0.0)
        for order in (2, 3, 5, 7):
            found = robust.reduce_system(full, order, "balanced", static)
            assert found.order <= min(order, 5)
            assert difference(inner, found.system, OMEGA).max() <= found.error * (1 + 1e-5) + 1e-11
            assert found.error <= found.bound + 1e-11
        assert found.error < 1e-10

    @pytest.mark.parametrize("method", ["balanced", "modal"])
    @pytest.mark.parametrize("static", [True, False])
    def test_rigid_body_modes_are_kept_and_the_error_is_exact(self, plant, method, static):
        for order in (4, 6, 8):
            found = robust.reduce_system(plant, order, method, static)
            assert (found.order, found.kept) == (order, 4)
            grid = difference(plant, found.system, OMEGA)
            assert grid.max() <= found.error * (1 + 1e-6)
            ends = difference(plant, found.system, [0.05, 1e6])
            assert max(grid.max(), *ends) == pytest.approx(found.error, rel=1e-2)
            assert found.error <= found.bound * (1 + 1e-9)
            end = 0.05 if static else 1e7
            assert difference(plant, found.system, [end])[0] < 1e-4 * found.error + 1e-6 * np.abs(plant(1j * end)).max()
        low = 1j * 1e-2  # where the rigid-body modes dominate, by 10^5
        assert found.system(low) == pytest.approx(plant(low), rel=1e-5)

    def test_hankel_values_of_a_known_system(self):
        """1 / (s + a) has the Hankel value 1 / (2 a), and two such systems side by side have both."""
        G = ct.ss(np.diag([-0.3, -4.0]), np.eye(2), np.eye(2), 0.0)
        found = robust.reduce_system(G, 1, static=False)
        assert found.hankel == pytest.approx([1 / 0.6, 1 / 8.0])
        assert found.bound == pytest.approx(2 / 8.0)
        assert found.error == pytest.approx(1 / 4.0)  # the bound is exact here
        assert found.system.poles() == pytest.approx([-0.3])
        assert found.kept == 0

    def test_modal_reduction_keeps_the_slowest_poles(self, plant):
        found = robust.reduce_system(plant, 8, "modal")
        slow = sorted(plant.poles(), key=abs)[:8]
        assert sorted(np.abs(found.system.poles()))[4:] == pytest.approx(np.abs(slow)[4:], rel=1e-6)
        # the part at rest of the modes that are left out: the truncated residues -C A^-1 B of each mode
        s, V = np.linalg.eig(plant.A)
        residues = np.einsum("pi,im->ipm", plant.C @ V, np.linalg.solve(V, plant.B)) / -s[:, None, None]
        assert found.system.D == pytest.approx(
            residues[np.abs(s) > np.abs(slow).max() * 1.01].sum(axis=0).real, rel=1e-4
        )

    def test_an_unstable_mode_is_kept(self):
        rng = np.random.default_rng(1)
        A = np.diag([0.7, -1.0, -2.0, -30.0]) + 0.1 * np.triu(rng.normal(size=(4, 4)), 1)
        G = ct.ss(A, rng.normal(size=(4, 2)), rng.normal(size=(1, 4)), [[0.3, 0.1]])
        found = robust.reduce_system(G, 3)
        assert found.kept == 1
        assert found.system.poles().real.max() == pytest.approx(0.7)
        omega = np.geomspace(1e-3, 1e3, 300)
        assert difference(G, found.system, omega).max() == pytest.approx(found.error, rel=1e-3)
        whole = robust.reduce_system(G, 4)
        assert difference(G, whole.system, omega).max() < 1e-10

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ((3,), "order is 3; it must be from 4 to 16, as 4 states without decay must"),
            ((17,), "order is 17"),
            ((5, "modal"), "splits a pair of complex poles"),
            ((6, "best"), "it must be 'balanced' or 'modal'"),
            ((2.5,), "order"),
        ],
    )
    def test_refused(self, plant, arguments, words):
        with pytest.raises(fa.DescriptionError) as caught:
            robust.reduce_system(plant, *arguments)
        assert words in str(caught.value)


class TestOfArms:
    def test_value_and_slope_are_exact_at_the_points(self, model, plant):
        sensors = [*encoders(model), fa.TipPosition(axes="y")]
        found = robust.reduce_arm(model, (1.2, 0.5), sensors, 9.0)
        assert found.order == 10  # two rigid-body modes, and three responses that are new
        assert found.kept == 4
        h = 1e-3
        for s in (9.0 - h, 9.0, 9.0 + h):
            assert found.system(s) == pytest.approx(plant(s), rel=1e-8)
        far = np.abs(found.system(30.0) - plant(30.0)).max() / np.abs(plant(30.0)).max()
        assert far > 1e-6
        grid = difference(plant, found.system, OMEGA).max()
        assert 0.5 * found.error < grid <= found.error * (1 + 1e-6)

    def test_the_reduced_model_is_a_mechanical_system(self, model):
        found = robust.reduce_arm(model, (1.2, 0.5), encoders(model), [4.0, 30.0], modes=1).system
        n = found.nstates // 2
        A = np.asarray(found.A)
        assert np.array_equal(A[:n], np.hstack([np.zeros((n, n)), np.eye(n)]))
        K, D = -A[n:, :n], -A[n:, n:]  # the basis is orthonormal in M
        for part in (K, D):
            assert part == pytest.approx(part.T, abs=1e-9 * np.abs(part).max())
            assert np.linalg.eigvalsh((part + part.T) / 2).min() > -1e-9 * np.abs(part).max()
        assert np.asarray(found.C)[:, :n].T == pytest.approx(np.asarray(found.B)[n:], abs=1e-9)  # collocated

    def test_added_modes_have_their_frequencies(self, model):
        few = robust.reduce_arm(model, (1.2, 0.5), encoders(model), 5.0, modes=2).system
        lowest = sorted(np.abs(few.poles()))[4:8:2]
        assert lowest == pytest.approx(sorted(np.abs(_plant_poles(model)))[4:8:2], rel=1e-3)

    def test_of_an_arm_that_hangs(self):
        """Gravity replaces rigid-body modes, and the difference of both models is small."""
        arm = fa.load("subudhi-morris").replace(gravity=(0.0, -9.81, 0.0))
        arm = arm.replace(links=[link.replace(body=link.body.replace(damping=0.05)) for link in arm.links])
        hanging = fa.Model(arm)
        sensors = [fa.Encoder(coordinate=name) for name in hanging.inputs]
        q, u = analysis.equilibrium(hanging, (-np.pi / 2 + 0.1, 0.05), held="joints")
        G = hanging.linearize(q, 0 * q, u, outputs=sensors)
        found = robust.reduce_arm(hanging, (-np.pi / 2 + 0.1, 0.05), sensors, [1.0, 15.0])
        assert found.order < G.nstates
        assert found.system(1.0) == pytest.approx(G(1.0), rel=1e-8)
        assert found.system(15.0) == pytest.approx(G(15.0), rel=1e-8)

    @pytest.mark.parametrize(
        ("points", "modes", "words"),
        [(0.0, 0, "positive number"), ([[1.0]], 0, "positive number"), (1.0, -1, "modes")],
    )
    def test_refused(self, model, points, modes, words):
        with pytest.raises(fa.DescriptionError) as caught:
            robust.reduce_arm(model, (0.0, 0.0), encoders(model), points, modes)
        assert words in str(caught.value)

    def test_drives_with_states_are_refused(self):
        arm = fa.load("rigid-two-link")
        motor = fa.Motor(input="voltage", resistance=1.0, torque_constant=0.5, inductance=1e-3)
        links = [arm.links[0].replace(joint=arm.links[0].joint.replace(drive=fa.Drive(motor=motor))), *arm.links[1:]]
        driven = fa.Model(arm.replace(links=links))
        with pytest.raises(fa.DescriptionError, match="drives with states; use reduce_system"):
            robust.reduce_arm(driven, (0.0, 0.0), encoders(driven), 1.0)


def _plant_poles(model):
    q, u = analysis.equilibrium(model, (1.2, 0.5))
    return model.linearize(q, 0 * q, u).poles()


@pytest.fixture(scope="module")
def designs(model):
    """H-infinity controllers on models with no and with two flexible modes."""
    q, u = analysis.equilibrium(model, (1.2, 0.5))
    G = model.linearize(q, 0 * q, u, outputs=encoders(model))
    found = []
    for order, static in ((4, False), (8, True)):
        small = robust.reduce_system(G, order, static=static).system
        P = robust.four_block(small, robust.weight(100.0, 6.0, 0.5), robust.weight(0.05, 60.0, 20.0), 0.3, 0.3)
        found.append((small, robust.hinf_synthesis(P, 2, 2).controller))
    return found


SLEW = fa.Quintic(start=(0, 0), end=(1.2, 0.5), duration=2.0)


class TestComparison:
    def test_spillover_of_a_controller_for_the_rigid_arm(self, model, designs):
        found = robust.compare_reduced(model, designs[0][1], designs[0][0], encoders(model), SLEW, 4.0)
        assert found.reduced_poles.real.max() < -1.0
        assert found.reduced_margins.disk > 0.3
        assert not found.full.stable
        assert found.run is None
        assert "no run: the loop with the complete arm is unstable" in str(found)

    def test_two_modes_are_enough(self, model, plant, designs):
        small, K = designs[1]
        found = robust.compare_reduced(model, K, small, encoders(model), SLEW, 3.0, period=1e-3)
        # python-control closes the loop with the reduced model, as an independent check
        poles = ct.feedback(small * K, np.eye(2)).poles()
        assert np.sort(found.reduced_poles.real) == pytest.approx(np.sort(poles.real), rel=1e-5, abs=1e-6)
        assert found.reduced_margins.disk == pytest.approx(found.full.end.together.disk, rel=0.05)
        assert found.full.period == 1e-3
        assert found.performance.arrival == pytest.approx(2.0, abs=0.02)
        assert found.run.attrs["status"] == "finished" or float(found.run.time[-1]) == 3.0
        assert "run: error at arrival" in str(found)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"delay": 1e-3}, "delay needs a period"),
            ({"controller": ct.ss(-1, 1, 1, 0)}, "controller has 1 input and 1 output; it must have 2 and 2"),
            ({"sensors": [fa.Encoder(coordinate="upper.joint")]}, "the sensors have 1 signal; the reduced model has 2"),
            ({"until": -1.0}, "until"),
            ({"model": 3}, "model"),
        ],
    )
    def test_refused(self, model, designs, change, words):
        small, K = designs[1]
        given = {
            "model": model,
            "controller": K,
            "reduced": small,
            "sensors": encoders(model),
            "reference": SLEW,
            "until": 3.0,
        }
        with pytest.raises(fa.DescriptionError) as caught:
            robust.compare_reduced(**given | change)
        assert words in str(caught.value)
