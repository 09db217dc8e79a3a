"""Linear analysis: the paper's numbers, closed forms, identities, and other ways to the same result."""

import warnings

import control
import numpy as np
import pytest
import xarray as xr
from random_arms import random_arm, random_state
from scipy import linalg

import flexarm as fa
from flexarm import analysis, plots
from flexarm.model.drawing import STATIONS
from flexarm.sensors import Accelerometer, Encoder, StrainGauge, Tachometer, TipPosition, outputs
from flexarm_papers import theodore_ghosal as theodore
from flexarm_papers.lin_lewis import compute as lin_lewis
from flexarm_papers.lin_lewis.zeros import FAMILIES

pytestmark = pytest.mark.usefixtures("interpreted")


def refused(match, error=fa.DescriptionError):
    """An error of one line."""
    return pytest.raises(error, match=rf"\A{match}\Z")


def at_rest(model, sensors=None, q=None):
    """The linear model without motion and inputs."""
    n = len(model.coordinates)
    return model.linearize(np.zeros(n) if q is None else q, np.zeros(n), np.zeros(len(model.inputs)), sensors)


def cantilever(joint=None, **changes):
    given = {"length": 0.8, "mass": 0.6, "EI": 12.0, "modes": {"y": 2}} | changes
    link = fa.Link(name="beam", joint=joint or fa.Fixed(), body=fa.Beam(**given))
    return fa.Arm(name="one", links=[link])


JOINT, DRIVE, TIP = Encoder(coordinate="beam.joint"), Encoder(coordinate="beam.drive"), TipPosition(axes="y")


# -- equilibria --------------------------------------------------------------------------------------------------------


def test_a_cantilever_sags_under_its_load():
    arm = cantilever(fa.Revolute(axis=(0, 0, 1)), shapes="hermite", modes={"y": 4}, mass=1e-9, EI=500.0)
    model = fa.Model(arm.replace(gravity=(0, -9.81, 0), payload=fa.Payload(mass=0.4)))
    q, u = analysis.equilibrium(model, np.zeros(5))
    P, L = 0.4 * 9.81, 0.8
    assert q[0] == 0.0
    assert model.deflections(q)[0, 1] == pytest.approx(-P * L**3 / (3 * 500), rel=1e-6)
    assert u[0] == pytest.approx(P * L, rel=1e-6)


@pytest.mark.parametrize(
    ("seed", "options"), [(3, {}), (5, {"elastic": True}), (5, {"families": ("pinned-pinned",), "elastic": False})]
)
def test_an_arm_at_equilibrium_stays_there(seed, options):
    arm = stiffer(random_arm(seed, links=2, **options))
    model = fa.Model(arm)
    q0, _, _ = random_state(arm, seed)
    q, u = analysis.equilibrium(model, q0)
    drives = outputs(model, [Encoder(coordinate=f"{name.split('.')[0]}.drive") for name in arm.inputs])
    np.testing.assert_allclose(drives.values(q, 0 * q), drives.values(q0, 0 * q), atol=1e-12)
    scale = np.abs(model.gravity_force(q)).max()
    assert scale > 1.0
    np.testing.assert_allclose(model.inverse_dynamics(q, 0 * q, 0 * q), model.input_matrix(q) @ u, atol=1e-9 * scale)


def stiffer(arm):
    """The same arm with beams that carry themselves."""
    links = []
    for link in arm.links:
        if link.body.type == "beam":
            body = link.body.replace(EI={d: 50 * v for d, v in link.body.stiffness.items() if d in "yz"})
            link = link.replace(body=body)
        links.append(link)
    return arm.replace(links=links)


def test_an_arm_that_cannot_stand():
    arm = fa.load("canadarm").replace(gravity=(0.0, -1e3, 0.0))
    message = "no equilibrium found near 0, .*, 0 with the drives held; the arm may be too soft for its load"
    with refused(f"arm 'canadarm': {message}", fa.FlexarmError):
        analysis.equilibrium(fa.Model(arm), np.zeros(9))


def test_an_equilibrium_of_one_configuration():
    with refused("q has more than one axis; give one configuration"):
        analysis.equilibrium(fa.Model(cantilever()), np.zeros((3, 2)))


def test_what_is_held_keeps_its_place():
    """The joints on the links' side, or what the drives turn; an equilibrium of the one is one of the other."""
    model = fa.Model(fa.load("subudhi-morris-elastic").replace(gravity=(0.0, -9.81, 0.0)))
    given = np.array([-0.7, 0.4, 0.0, 0.0, 0.0, 0.0, -0.7, 0.4])
    q, u = analysis.equilibrium(model, given, held="joints")
    np.testing.assert_array_equal(q[:2], given[:2])
    np.testing.assert_allclose(q[6:] - q[:2], u / 100.0, rtol=1e-9)  # what the springs of 100 N m/rad carry
    assert np.abs(u).min() > 0.05
    again, same = analysis.equilibrium(model, q, held="drives")
    np.testing.assert_allclose(again, q, atol=1e-12)
    np.testing.assert_allclose(same, u, rtol=1e-9)
    driven, _ = analysis.equilibrium(model, given)
    np.testing.assert_array_equal(driven[6:], given[6:])
    assert np.abs(driven[:2] - given[:2]).min() > 1e-3
    np.testing.assert_array_equal(analysis.equilibrium(model, [-0.7, 0.4], held="joints")[0], q)


def test_joints_alone_are_a_configuration():
    model = fa.Model(fa.load("theodore-ghosal"))
    q = analysis.configuration(model, [0.1, 0.2, 0.7])
    np.testing.assert_array_equal(q, [0.1, 0.2, 0.7, 0, 0, 0, 0])
    np.testing.assert_array_equal(analysis.configuration(model, q), q)
    elastic = fa.Model(fa.load("subudhi-morris-elastic"))
    np.testing.assert_array_equal(analysis.configuration(elastic, [1, 2]), [1, 2, 0, 0, 0, 0, 1, 2])
    with refused("equilibrium: held is 'hub'; it must be 'drives' or 'joints'"):
        analysis.equilibrium(model, q, held="hub")
    with refused(r"q has shape \(4,\); it must have 8 numbers: .*; or the joints alone: upper\.joint, fore\.joint"):
        analysis.configuration(elastic, [1, 2, 3, 4])
    for wrong in ("up", [[1.0], [1.0, 2.0]], [True, False]):
        with refused("q is not an array of numbers"):
            analysis.configuration(elastic, wrong)
    with refused("q is None; it must be a number"):
        analysis.configuration(elastic, None)
    with refused("q contains NaN or infinity"):
        analysis.configuration(elastic, [1.0, np.inf])


# -- Lin & Lewis 4.2 ---------------------------------------------------------------------------------------------------


def test_zeros_of_lin_lewis():
    """Clamped-free 1.0914 and 76.95 rad/s; pinned-pinned +-56.42 and +-163.96."""
    clamped = analysis.zeros(at_rest(lin_lewis.beam("clamped-free", 2), [JOINT]))
    assert clamped.imag == pytest.approx([-1.09144, 1.09144, -76.954, 76.954], abs=5e-4)
    assert np.abs(clamped.real).max() < 1e-9
    pinned = analysis.zeros(at_rest(lin_lewis.beam("pinned-pinned", 2), [JOINT]))
    assert np.sort(pinned.real) == pytest.approx([-163.96, -56.42, 56.42, 163.96], abs=5e-3)
    assert np.abs(pinned.imag).max() < 1e-9


def test_eigenvalues_of_lin_lewis():
    """(k pi / L)^4 EI / rho A with the rigid coordinate held; free, the poles of the whole arm."""
    M, K, _ = lin_lewis.linear(lin_lewis.beam("pinned-pinned", 2))
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M[1:, 1:], K[1:, 1:]), np.zeros((2, 2))]])
    held = analysis.poles(control.StateSpace(A, np.zeros((4, 1)), np.zeros((1, 4)), 0))
    assert held.imag[1::2] ** 2 == pytest.approx([2312.83, 3.70e4], rel=5e-4)
    free = analysis.poles(at_rest(lin_lewis.beam("pinned-pinned", 2)))
    omega = np.sqrt(linalg.eigh(K, M, eigvals_only=True)[1:])
    assert free.imag == pytest.approx([0, 0, -omega[0], omega[0], -omega[1], omega[1]], rel=1e-9)


@pytest.mark.parametrize("shapes", FAMILIES)
@pytest.mark.parametrize("modes", [2, 4, 10, 20])
def test_zeros_are_those_of_the_undamped_pencil(shapes, modes):
    """M s^2 + K between the null spaces of output and input: nothing at infinity, nothing of the state space."""
    model = lin_lewis.beam(shapes, modes)
    system = at_rest(model, [DRIVE, TIP])
    M, K, B = lin_lewis.linear(model)
    for output, C, tolerance in ((0, B.T, 1e-7), (1, lin_lewis.tip_row(model), 1e-5)):
        half = lin_lewis.zeros(M, K, B, C)[:3]  # the low ones: those that matter, and that double precision knows
        expected = np.sort(np.abs([*half, *half]))[:6]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = analysis.zeros(system, output)
            minimum_phase = analysis.is_minimum_phase(system, output)
        np.testing.assert_allclose(np.abs(found[:6]), expected[: len(found)], rtol=tolerance)
        assert minimum_phase == (output == 0)
        assert all("zeros, from" in str(each.message) for each in said)
        assert not said or (output == 1 and modes >= 10), "fast ones of the tip alone are lost to rounding"


def test_two_angles_of_the_turret():
    model = lin_lewis.turret("clamped-free")
    q = np.array([0.0, 0.6, 0.0, 0.0, 0.0, 0.0])
    joints = [Encoder(coordinate=name) for name in model.inputs]
    found = analysis.zeros(at_rest(model, joints, q))
    expected = lin_lewis.zeros(*lin_lewis.linear(model, q), np.eye(2, 6))
    np.testing.assert_allclose(np.sort(np.abs(found)), np.sort(np.abs([*expected, *expected])), rtol=1e-9)
    assert analysis.is_minimum_phase(at_rest(model, joints, q))


# -- zeros of any system -----------------------------------------------------------------------------------------------


def test_zeros_of_a_transfer_function():
    system = control.tf2ss(control.tf(np.poly([-1.0, 2.0]), np.poly([-3.0, -4.0, -5.0, -6.0])))
    assert analysis.zeros(system) == pytest.approx([-1.0, 2.0], rel=1e-9)
    assert not analysis.is_minimum_phase(system)
    biproper = control.tf2ss(control.tf(np.poly([-1.0, -2.0]), np.poly([-3.0, -4.0])))
    assert analysis.zeros(biproper) == pytest.approx([-1.0, -2.0], rel=1e-9)
    assert analysis.is_minimum_phase(biproper)
    none = control.tf2ss(control.tf([1.0], np.poly([-3.0, -4.0, -5.0])))
    assert len(analysis.zeros(none)) == 0
    assert analysis.is_minimum_phase(none)


@pytest.mark.parametrize("seed", range(6))
def test_zeros_come_in_exactly_conjugate_pairs(seed):
    """So that python-control takes them."""
    arm = random_arm(seed, links=2, telescope=False)
    model = fa.Model(arm)
    q, _, _ = random_state(arm, seed)
    system = at_rest(model, [TipPosition(axes="xy")], q)
    for output in system.output_labels:
        for input in system.input_labels:
            s = analysis.zeros(system, output, input)
            upper = np.sort_complex(s[s.imag > 0])
            np.testing.assert_array_equal(upper, np.sort_complex(s[s.imag < 0].conj()))
            assert len(upper) * 2 + (s.imag == 0).sum() == len(s)
            control.zpk(s, analysis.poles(system), 1.0)


def driven(damping=0.1):
    """A beam behind an elastic joint: seen from the motor all is collocated, from the joint or the tip it is not."""
    joint = fa.Revolute(rotor_inertia=0.02, damping=damping, stiffness=60.0, spring_damping=0.02)
    beam = fa.Beam(length=0.6, mass=0.2, EI=4.0, modes={"y": 2}, damping=0.02, shapes="clamped-mass")
    arm = fa.Arm(name="one", links=[fa.Link(name="a", joint=joint, body=beam)], payload=fa.Payload(mass=0.1))
    sensors = [Encoder(coordinate="a.motor"), Encoder(coordinate="a.joint"), TipPosition(axes="xy")]
    return at_rest(fa.Model(arm), sensors)


def test_a_transfer_function_has_the_systems_response():
    system = driven()
    omega = np.logspace(-2, 4, 60)
    for name in ("a_motor", "a_joint", "tip_y"):
        found = analysis.transfer_function(system, name)
        assert (found.input_labels, found.output_labels) == (["u_a_motor"], [name])
        wanted = analysis.transfer_matrix(system, omega)[:, system.output_labels.index(name), 0]
        np.testing.assert_allclose(found(1j * omega), wanted, rtol=1e-7)
        assert len(found.zeros()) == len(analysis.zeros(system, name))
        assert (found.poles() == 0).sum() == 1, "the joint is free to turn, exactly"


def test_margins_are_those_of_the_closed_loop():
    """Beyond the gain margin the loop closed by a gain is unstable; a collocated loop has none.

    What python-control's own conversion leaves in the numerator of the latter makes one.
    """
    system = driven()
    for name in ("a_joint", "tip_y"):
        margin = control.stability_margins(analysis.transfer_function(system, name))[0]
        C = system.C[[system.output_labels.index(name)]]
        for share, stable in ((0.999, True), (1.001, False)):
            poles = np.linalg.eigvals(system.A - share * margin * system.B @ C)
            assert (poles.real.max() < 0) == stable
    arm = fa.load("lin-lewis-beam")
    link = arm.links[0]
    damped = link.replace(joint=link.joint.replace(damping=0.1), body=link.body.replace(damping=0.02))
    hub = at_rest(fa.Model(arm.replace(links=[damped])), [DRIVE])
    assert control.stability_margins(analysis.transfer_function(hub))[0] == np.inf
    assert np.linalg.eigvals(hub.A - 1e4 * hub.B @ hub.C).real.max() < 0
    assert 1e9 < control.stability_margins(control.tf(hub))[0] < np.inf, "else python-control has mended it"


def test_a_transfer_function_leaves_out_what_is_not_reached_or_seen():
    model = fa.Model(cantilever(fa.Revolute(axis=(0, 0, 1)), EI={"y": 12.0, "z": 9.0}, modes={"y": 2, "z": 1}))
    system = at_rest(model, [JOINT, TipPosition(axes="yz")])
    found = analysis.transfer_function(system, "tip_y")
    assert len(found.poles()) == 6 and len(system.A) == 8
    nothing = analysis.transfer_function(system, "tip_z")
    assert nothing(1j) == 0
    omega = np.logspace(-1, 3, 20)
    both = analysis.transfer_function(system, ["beam_joint", "tip_y"])
    assert both.output_labels == ["beam_joint", "tip_y"]
    wanted = analysis.transfer_matrix(system, omega)[:, :2]
    np.testing.assert_allclose(np.moveaxis(both(1j * omega, squeeze=False), -1, 0), wanted, rtol=1e-6)
    direct = control.ss(-2.0, 1.0, 3.0, 0.5)
    assert analysis.transfer_function(direct)(1.0) == pytest.approx(1.5)
    with refused("unknown output 'hub'; the system has beam_joint, tip_y, tip_z"):
        analysis.transfer_function(system, "hub")


@pytest.mark.parametrize("seed", range(4))
def test_several_outputs_and_inputs_lose_rank_at_their_zeros(seed):
    """At each zero the system matrix has a null vector; at other places it has none."""
    rng = np.random.default_rng(seed)
    n, m = 7, 2
    A, B, C = rng.standard_normal((n, n)), rng.standard_normal((n, m)), rng.standard_normal((m, n))
    D = np.zeros((m, m))
    if seed % 2:
        D[0] = rng.standard_normal(m)  # one output with a direct way, one without
    system = control.StateSpace(A, B, C, D)
    found = analysis.zeros(system)
    assert len(found) == (n - 1 if seed % 2 else n - m)

    def smallest(s):
        return np.linalg.svd(np.block([[A - s * np.eye(n), B], [C, D]]), compute_uv=False)[-1]

    assert max(smallest(s) for s in found) < 1e-10
    assert min(smallest(s) for s in found + 0.3) > 1e-6


def test_more_outputs_than_inputs_have_the_zeros_they_share():
    """Two positions of one undamped arm: only a mode that is not reached stays, here that of the other plane."""
    model = fa.Model(cantilever(fa.Revolute(axis=(0, 0, 1)), EI={"y": 12.0, "z": 5.0}, modes={"y": 2, "z": 1}))
    system = at_rest(model, [DRIVE, TIP])
    omega = model.frequencies(np.zeros(4))  # clamped
    apart = fa.Model(cantilever(EI=5.0, modes={"y": 1})).frequencies([0.0])[0]
    assert np.min(np.abs(omega - apart)) < 1e-9
    for turned in (system, control.StateSpace(system.A.T, system.C.T, system.B.T, system.D.T)):
        found = analysis.zeros(turned)
        assert found.imag == pytest.approx([-apart, apart], rel=1e-9)
        assert np.abs(found.real).max() < 1e-9 * apart


def test_units_do_not_matter():
    """Outputs in millimetres, inputs in kN m, states in any unit."""
    model = lin_lewis.beam("clamped-mass", 6)
    system = at_rest(model, [DRIVE, TIP])
    rng = np.random.default_rng(1)
    T = 10 ** rng.uniform(-4, 4, len(system.A))
    other = control.StateSpace(system.A * T / T[:, None], 1e3 * system.B / T[:, None], 1e-3 * system.C * T, system.D)
    for output in (0, 1):
        np.testing.assert_allclose(
            analysis.zeros(other, output)[:8], analysis.zeros(system, output)[:8], rtol=1e-6, atol=1e-6
        )


def test_a_mode_that_is_not_seen_is_a_zero():
    """An accelerometer does not see where the arm stands, nor how fast it drifts: twice zero, exactly."""
    found = analysis.zeros(at_rest(lin_lewis.beam("clamped-free", 4), [Accelerometer(axes="y")]))
    np.testing.assert_array_equal(found[:2], 0.0)
    seen = analysis.zeros(at_rest(lin_lewis.beam("clamped-free", 4), [TIP]))
    np.testing.assert_allclose(found[2:6], seen[:4], rtol=1e-8)


def test_channels_have_names_and_numbers():
    model = fa.Model(fa.load("subudhi-morris"))
    system = at_rest(model, [Encoder(coordinate=name) for name in model.inputs])
    by_name = analysis.zeros(system, "upper_joint", "u_fore_joint")
    np.testing.assert_array_equal(by_name, analysis.zeros(system, 0, 1))
    np.testing.assert_array_equal(by_name, analysis.zeros(system, ["upper_joint"], ["u_fore_joint"]))
    assert len(by_name) != len(analysis.zeros(system)) or np.any(by_name != analysis.zeros(system))
    with refused("unknown output 'x'; the system has upper_joint, fore_joint"):
        analysis.zeros(system, "x")
    with refused("unknown input 2; the system has u_upper_joint, u_fore_joint"):
        analysis.zeros(system, 0, 2)


def test_nothing_that_depends_on_the_inputs():
    model = fa.Model(cantilever(fa.Revolute(axis=(0, 0, 1)), EI={"y": 12.0, "z": 5.0}, modes={"y": 2, "z": 1}))
    with refused("zeros: no output depends on any of the inputs"):
        analysis.zeros(at_rest(model, [StrainGauge(link="beam", plane="z")]))


# -- zero dynamics -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [2, 5])
def test_zero_dynamics_leave_the_outputs_at_zero(seed):
    arm = random_arm(seed, links=2, elastic=False)
    model = fa.Model(arm)
    q, qd, u = random_state(arm, seed)
    system = model.linearize(q, qd, u, [Encoder(coordinate=name) for name in arm.inputs])
    found = analysis.zero_dynamics(system)
    T, F, Z = found.basis, found.gain, found.matrix
    size = np.abs(system.A).max()
    np.testing.assert_allclose(system.A @ T + system.B @ F, T @ Z, atol=1e-10 * size * np.abs(T).max())
    np.testing.assert_allclose(system.C @ T + system.D @ F, 0.0, atol=1e-12 * np.abs(T).max())
    assert np.linalg.matrix_rank(T) == len(Z) == 2 * len(q) - 2 * len(u)
    expected = analysis.zeros(system)
    eigenvalues = np.linalg.eigvals(Z)
    for s in expected:
        assert np.min(np.abs(eigenvalues - s)) < 1e-6 * np.abs(expected).max()


def test_with_its_drives_held_an_arm_vibrates_at_its_locked_frequencies():
    """The zeros of all collocated outputs are the locked modes, also under gravity."""
    arm = random_arm(26, links=2, elastic=True, damping=False)
    model = fa.Model(stiffer(arm))
    q, u = analysis.equilibrium(model, random_state(arm, 7)[0])
    system = model.linearize(q, 0 * q, u, [Encoder(coordinate=name) for name in arm.inputs])
    omega = model.frequencies(q)
    found = np.linalg.eigvals(analysis.zero_dynamics(system).matrix)
    np.testing.assert_allclose(np.sort(found.imag)[len(omega) :], omega, rtol=1e-6)
    np.testing.assert_allclose(np.sort(analysis.zeros(system).imag)[len(omega) :], omega, rtol=1e-6)
    assert analysis.is_minimum_phase(system)


def test_zero_dynamics_of_as_many_outputs_as_inputs():
    system = at_rest(lin_lewis.beam("clamped-free", 2), [JOINT, TIP])
    with refused("zero dynamics: 2 outputs for 1 input; the numbers must be equal"):
        analysis.zero_dynamics(system)
    A, B = np.diag([-1.0, -2.0, -3.0]), np.ones((3, 2))
    twice = control.StateSpace(A, B, np.eye(2, 3), np.zeros((2, 2)))
    with refused("zero dynamics: outputs or inputs are linearly dependent, so u is not unique"):
        analysis.zero_dynamics(twice)


# -- responses ---------------------------------------------------------------------------------------------------------


def test_a_response_is_the_sum_of_the_modes():
    arm = random_arm(26, links=2, elastic=True, damping=False, gravity=False)
    model = fa.Model(arm)
    n = len(arm.coordinates)
    omega, phi = model.modes(np.zeros(n), locked=False)
    B = model.input_matrix(np.zeros(n))
    w = np.array([0.7, 13.0, 210.0])
    found = analysis.transfer_matrix(at_rest(model), w)
    expected = np.einsum("ik,wk,jk->wij", phi, 1 / (omega**2 - w[:, None] ** 2), (B.T @ phi))
    assert found.shape == (3, 2 * n, len(arm.inputs))
    for a, b in zip(found[:, :n], expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6 * np.abs(b).max())
    for a, b, s in zip(found[:, n:], found[:, :n], 1j * w, strict=True):
        np.testing.assert_allclose(a, s * b, atol=1e-9 * np.abs(a).max())


def test_at_a_pole_a_response_is_infinite():
    system = at_rest(lin_lewis.beam("clamped-free", 2), [JOINT])
    found = analysis.transfer_matrix(system, 0.0)
    assert found.shape == (1, 1, 1)
    assert not np.isfinite(found).any()


# -- modes -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def elastic():
    return fa.Model(fa.load("subudhi-morris-elastic"))


BENT = np.array([0.3, 0.9, 0.0, 0.0, 0.0, 0.0, 0.3, 0.9])


def test_shares_of_the_modes_add_up(elastic):
    sensors = [TipPosition(axes="xy"), StrainGauge(link="fore"), Encoder(coordinate="upper.joint")]
    table = analysis.mode_table(elastic, BENT, sensors)
    np.testing.assert_allclose((table.controllability**2).sum("mode"), 1.0, rtol=1e-9)
    np.testing.assert_allclose((table.observability**2).sum("mode"), 1.0, rtol=1e-6)
    np.testing.assert_allclose(table.frequency, elastic.frequencies(BENT, locked=False))
    assert list(table.output.values) == list(elastic.output_names(sensors))


def test_a_kick_puts_its_energy_where_the_controllability_says(elastic):
    """qd = M^-1 b; of the energy of the motion that follows, each mode has a share that never changes."""
    table = analysis.mode_table(elastic, BENT)
    M, B = elastic.mass_matrix(BENT), elastic.input_matrix(BENT)
    for j in range(2):
        qd = np.linalg.solve(M, B[:, j])
        amplitude = table["shape"].values @ M @ qd
        share = amplitude**2 / 2 / elastic.energy(BENT, qd)[0]
        np.testing.assert_allclose(table.controllability.values[:, j] ** 2, share, rtol=1e-6, atol=1e-12)


class Millimetres:
    """The tip's position along y, in a unit of its own."""

    def names(self, arm):
        return ("mm",)

    def expression(self, arm, chain, q, qd, qdd):
        return [1e3 * x for x in TIP.expression(arm, chain, q, qd, qdd)]

    def described(self):
        return "mm"


def test_observability_has_no_unit_and_sees_rates_and_accelerations(elastic):
    bare = Accelerometer(axes="y", frame="base", gravity=False)
    rates = [Encoder(coordinate="fore.joint"), Tachometer(coordinate="fore.joint")]
    table = analysis.mode_table(elastic, BENT, [TIP, Millimetres(), bare, *rates])
    tip, mm, felt, angle, rate = table.observability.values.T
    np.testing.assert_allclose(mm, tip, rtol=1e-9)
    vibrates = table.frequency.values > 0
    np.testing.assert_allclose(felt[vibrates], tip[vibrates], rtol=1e-6)  # the same direction times -omega^2
    np.testing.assert_allclose(rate[vibrates], angle[vibrates], rtol=1e-9)
    np.testing.assert_array_equal(felt[~vibrates], 0.0)
    np.testing.assert_array_equal(rate[~vibrates], 0.0)


def test_observability_is_of_what_the_sensor_reads_of_the_mode():
    """Under gravity an accelerometer feels the tip tilt as well as shake: its reading is C (phi, lambda phi)."""
    arm = stiffer(random_arm(3, links=2, damping=False))
    model = fa.Model(arm)
    q, u = analysis.equilibrium(model, random_state(arm, 3)[0])
    sensors = [Accelerometer(), Accelerometer(frame="base", gravity=False, name="shake")]
    table = analysis.mode_table(model, q, sensors)
    system = model.linearize(q, 0 * q, u, sensors)
    omega, phi = model.modes(q, locked=False)
    lam = np.emath.sqrt(-np.sign(omega) * omega**2)
    C = system.C @ np.vstack([phi, lam * phi])  # (outputs, modes)
    y_q, y_qd, y_qdd = model.output_slopes(sensors, q, 0 * q, 0 * q)
    assert np.abs(y_q[:3] @ phi[:, :3]).max() > 0.1 * np.abs(C[:3, :3]).max()
    c = y_q + lam[:, None, None] * y_qd + (lam**2)[:, None, None] * y_qdd
    size = np.sqrt(np.einsum("kpi,ij,kpj->pk", c, np.linalg.inv(model.mass_matrix(q)), c.conj()).real)
    few = slice(0, 4)  # in C the stiffest modes cancel: of the low ones more digits are left than of differences
    np.testing.assert_allclose((table.observability.values.T * size)[:, few], np.abs(C)[:, few], rtol=1e-4)


def test_a_plane_that_is_not_driven_or_seen():
    arm = cantilever(fa.Revolute(axis=(0, 0, 1)), EI={"y": 12.0, "z": 5.0}, modes={"y": 2, "z": 1})
    model = fa.Model(arm)
    table = analysis.mode_table(model, np.zeros(4), [DRIVE, StrainGauge(link="beam")])
    across = table.coordinate_most_moved.values == "beam.z1"
    assert across.sum() == 1
    np.testing.assert_array_equal(table.controllable, ~across)
    # the joint's angle sees where the arm stands, and with it all modes of its plane
    np.testing.assert_array_equal(table.observable, ~across)
    strain = analysis.mode_table(model, np.zeros(4), [StrainGauge(link="beam", plane="z")])
    np.testing.assert_array_equal(strain.observable, across)
    np.testing.assert_array_equal(strain.controllability, table.controllability)


def test_equal_frequencies_need_as_many_inputs_and_outputs():
    """A round mast that bends alike in both planes: one gauge sees one combination of each pair of modes."""
    model = fa.Model(cantilever(modes={"y": 2, "z": 2}))
    y, z = StrainGauge(link="beam"), StrainGauge(link="beam", plane="z")
    one, both = (analysis.mode_table(model, np.zeros(4), sensors) for sensors in ([y], [y, z]))
    np.testing.assert_allclose(one.frequency[::2], one.frequency[1::2], rtol=1e-9)
    assert not one.observable.any() and both.observable.all()
    assert not one.controllable.any() and one.sizes["input"] == 0


def test_two_free_joints_need_two_sensors():
    model = fa.Model(fa.load("subudhi-morris"))
    q = np.zeros(6)
    upper, fore = (Encoder(coordinate=f"{name}.joint") for name in ("upper", "fore"))
    for sensors, whole in (([upper], False), ([upper, fore], True)):
        table = analysis.mode_table(model, q, sensors)
        assert (table.frequency.values[:2] == 0).all()
        assert table.observable.values[:2].tolist() == [whole, whole]
        assert table.observable.values[2:].all()
        assert table.controllable.all()
        system = at_rest(model, sensors)
        for s, seen in ((0.0, whole), (1j * table.frequency.values[3], True)):  # the rank test, by itself
            A = system.A / np.abs(system.A).max()
            rank = np.linalg.matrix_rank(np.vstack([A - s / np.abs(system.A).max() * np.eye(12), system.C]), tol=1e-9)
            assert (rank == 12) == seen


def test_damping_ratios():
    """A mast has those of its description; a small bearing's are half the width of the pole, to first order."""
    mast = analysis.mode_table(fa.Model(cantilever(damping=(0.03, 0.01))), np.zeros(2))
    np.testing.assert_allclose(mast.damping_ratio, [0.03, 0.01], rtol=1e-9)
    model = fa.Model(cantilever(fa.Revolute(axis=(0, 0, 1), damping=1e-3), damping=0.002))
    table = analysis.mode_table(model, np.zeros(3))
    s = analysis.poles(at_rest(model))[2::2]
    np.testing.assert_allclose(table.damping_ratio[1:], -s.real / np.abs(s), rtol=1e-3)
    assert np.isnan(table.damping_ratio[0])


def test_a_mode_in_which_the_arm_falls():
    link = fa.Link(name="rod", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=0.8, mass=2.0))
    model = fa.Model(fa.Arm(name="pendulum", links=[link], gravity=(0, -9.81, 0)))
    table = analysis.mode_table(model, [np.pi / 2])
    assert table.frequency.values == pytest.approx([-np.sqrt(3 * 9.81 / 1.6)])
    assert table.controllability.values == pytest.approx(np.ones((1, 1)))
    assert np.isnan(table.damping_ratio.values[0])


# -- along a trajectory ------------------------------------------------------------------------------------------------


def test_flexible_equations_are_the_slopes_of_the_inverse_dynamics():
    arm = random_arm(26, links=2, elastic=True)
    model = fa.Model(arm)
    q, qd, _ = random_state(arm, 5)
    qdd = np.random.default_rng(5).normal(size=len(q))
    M, C, K, g = (
        x[0] for x in analysis.equations_along(analysis.flexible_equations(model), q[None], qd[None], qdd[None])
    )
    free = [i for i, name in enumerate(arm.coordinates) if name not in arm.inputs]
    h = 1e-5
    for found, k in ((K, 0), (C, 1), (M, 2)):
        columns = []
        for i in free:
            a, b = ([x.copy() for x in (q, qd, qdd)] for _ in range(2))
            a[k][i] += h
            b[k][i] -= h
            columns.append((model.inverse_dynamics(*a) - model.inverse_dynamics(*b))[free] / (2 * h))
        np.testing.assert_allclose(found, np.array(columns).T, atol=1e-6 * np.abs(found).max())
    np.testing.assert_allclose(g, -model.inverse_dynamics(q, qd, qdd)[free], rtol=1e-9)


@pytest.mark.parametrize("direction", theodore.DIRECTIONS)
def test_frozen_eigenvalues_of_theodore_ghosal(direction):
    """Figs. 6 and 7, from a simulated motion; and from the accelerations instead of the forces."""
    model = fa.Model(fa.load("theodore-ghosal"))
    reference = theodore.motion(direction)
    run = fa.simulate(model, 1.0, fa.PrescribedMotion(reference), samples=201, progress=False)
    some = slice(5, -5, 10)
    t, q, qd, u = (x.values[some] for x in (run.time, run.q, run.qd, run.u))
    found = analysis.frozen_eigenvalues(model, q, qd, u)
    expected = theodore.Flexible(model.arm).eigenvalues(reference, t)
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
    sums = found.real[t > 0.1].sum(axis=1)
    assert (sums < 0).all() if direction == "extension" else (sums > 0).all()
    other = analysis.frozen_eigenvalues(model, q, qd, qdd=model.forward_dynamics(q, qd, u))
    np.testing.assert_allclose(found, other, rtol=1e-12)


def test_a_turning_beam_is_softer_in_its_plane():
    """One mode about z: s^2 = -(omega^2 - rate^2) in the plane of the turning, -omega^2 across it."""
    model = fa.Model(cantilever(fa.Revolute(axis=(0, 0, 1)), modes={"y": 1, "z": 1}, EI={"y": 12.0, "z": 5.0}))
    omega = model.frequencies(np.zeros(3))
    rate = np.array([0.0, 2.0, 5.0])
    qd = np.outer(rate, [1.0, 0.0, 0.0])
    found = analysis.frozen_eigenvalues(model, np.zeros((3, 3)), qd, qdd=np.zeros((3, 3)))
    expected = np.column_stack([np.full(3, omega[0]), np.sqrt(omega[1] ** 2 - rate**2)])
    np.testing.assert_allclose(found.imag, np.sort(expected, axis=1), rtol=1e-9)
    np.testing.assert_allclose(found.real, 0.0, atol=1e-9)


def test_a_hub_that_turns_with_the_shapes_is_held_with_its_slope():
    """Frozen at rest they are the zeros of the drive's own encoder, not of the joint's coordinate."""
    model = lin_lewis.beam("pinned-pinned", 4)
    still = np.zeros((1, 5))
    found = analysis.frozen_eigenvalues(model, still, still, qdd=still)[0]
    zeros = analysis.zeros(at_rest(model, [DRIVE]))
    np.testing.assert_allclose(found.imag, zeros.imag[1::2], rtol=1e-7)


def test_damping_shows_in_the_real_parts():
    model = fa.Model(cantilever(fa.Revolute(axis=(0, 0, 1), damping=3.0), damping=(0.03, 0.01)))
    still = np.zeros((1, 3))
    s = analysis.frozen_eigenvalues(model, still, still, qdd=still)[0]
    np.testing.assert_allclose(-s.real / np.abs(s), [0.03, 0.01], rtol=1e-9)


def vibrating(direction):
    """A telescope that vibrates in one mode while it slides, and its run."""
    arm = theodore.varied(fa.load("theodore-ghosal"), "clamped-free", modes=1, wave_numbers="fixed")
    model = fa.Model(arm)
    reference = theodore.motion(direction, slewing=False)
    q0 = np.zeros(5)
    q0[2:] = theodore.SHORT if direction == "extension" else theodore.LONG, 2e-3, -1e-3
    drive = fa.PrescribedMotion(reference)
    return model, fa.simulate(
        model, 1.0, drive, q0=q0, samples=20001, solver=fa.Solver(rtol=1e-10, atol=1e-13), progress=False
    )


@pytest.mark.parametrize("direction", theodore.DIRECTIONS)
def test_energy_of_vibration_and_its_rate(direction):
    """dV/dt along the motion; its part by eq. 42, -3/2 (U/l) xi' K xi; the rest is -1/2 xi_d' dM/dt xi_d."""
    model, run = vibrating(direction)
    q, qd, u, t = (x.values for x in (run.q, run.qd, run.u, run.time))
    found = analysis.lyapunov_rate(model, q, qd, u)
    h = t[1]
    slope = (8 * (found.value[3:-1] - found.value[1:-3]) - (found.value[4:] - found.value[:-4])) / (12 * h)
    inside = (t[2:-2] > 0.11) & (t[2:-2] < 0.89)  # between the blends
    scale = np.abs(found.rate).max()
    np.testing.assert_allclose(slope[inside], found.rate[2:-2][inside], atol=1e-4 * scale)

    l, U, xi, xid = q[:, 2], qd[:, 2], q[:, 3:], qd[:, 3:]
    EI, m = theodore.sliding(model.arm)[1].stiffness["y"], theodore.sliding(model.arm)[1].m
    k = model.function("stiffness_force")(np.r_[0, 0, 0.7, 1.0, 0.0]).full()[3, 0] * 0.7**3
    assert k == pytest.approx(12.3624 / 4 * EI, rel=1e-4)
    expected = -1.5 * U / l**4 * k * (xi**2).sum(axis=1)
    np.testing.assert_allclose(found.stiffness, expected, atol=1e-9 * np.abs(expected).max())
    assert (found.stiffness[U > 0] <= 0).all() and (found.stiffness[U < 0] >= 0).all()
    # what is left is of the same sign on average: extension loses twice what eq. 42 says, or so
    rest = -0.5 * U * m / 4 * (xid**2).sum(axis=1)
    mean = [x[(U != 0) & (t > 0.2) & (t < 0.8)].mean() for x in (found.rate - found.stiffness, rest)]
    assert mean[0] == pytest.approx(mean[1], rel=0.02)


def test_a_trajectory_at_the_door():
    model = fa.Model(cantilever(fa.Revolute(axis=(0, 0, 1))))
    q, u = np.zeros((4, 3)), np.zeros((4, 1))
    for given in ({}, {"u": u, "qdd": q}):
        with refused("along a trajectory: give either u or qdd"):
            analysis.frozen_eigenvalues(model, q, q, **given)
    with refused(r"along a trajectory: q has shape \(4, 3\) and qd \(3, 3\); both must be \(times, n\)"):
        analysis.lyapunov_rate(model, q, q[:3], qdd=q)
    with refused(r"along a trajectory: q has shape \(3,\) and qd \(3,\); both must be \(times, n\)"):
        analysis.frozen_eigenvalues(model, q[0], q[0], u)


# -- pictures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "options"), [(3, {}), (5, {"families": ("pinned-pinned", "hermite")}), (6, {"telescope": True})]
)
def test_neutral_axes_end_where_the_tips_are(seed, options):
    arm = random_arm(seed, **options)
    model = fa.Model(arm)
    q, _, _ = random_state(arm, seed)
    frames, deflections = model.frames(q), model.deflections(q)
    for i, (link, line) in enumerate(zip(arm.links, plots.neutral_axes(model, q), strict=True)):
        local = (line - frames[i, :3, 3]) @ frames[i, :3, :3]
        np.testing.assert_allclose(local[0], 0.0, atol=1e-12)
        rest = [
            q[arm.coordinates.index(f"{link.name}.joint")] if link.joint.type == "telescope" else link.body.length,
            0,
            0,
        ]
        np.testing.assert_allclose(local[-1], rest + deflections[i, :3], atol=1e-12)


def test_neutral_axes_of_a_beam_that_bends_in_one_plane():
    """Its stiffness is a number for that plane alone; a varied model draws what the rebuilt arm draws."""

    def arm(EI):
        beam = fa.Beam(length=0.5, mass=0.1, EI={"y": EI}, modes={"y": 2})
        return fa.Arm(name="plane", links=[fa.Link(name="one", joint=fa.Revolute(axis=(0, 0, 1)), body=beam)])

    q = np.array([0.3, 0.05, -0.01])
    rebuilt = fa.Model(arm(2.0))
    line = plots.neutral_axes(rebuilt, q)[0]
    varied = plots.neutral_axes(fa.Model(arm(1.0), vary=["one.EI"]).at([2.0]), q)[0]
    np.testing.assert_allclose(varied, line, rtol=1e-12, atol=1e-14)
    frame = rebuilt.frames(q)[0]
    local = (line - frame[:3, 3]) @ frame[:3, :3]
    np.testing.assert_allclose(local[-1], [0.5, *rebuilt.deflections(q)[0, 1:3]], atol=1e-12)
    assert np.abs(local[-1, 1]) > 1e-3


def test_modes_are_drawn():
    """The first mode of a mast is the clamped-free shape, drawn a tenth of the arm's size wide."""
    model = fa.Model(cantilever())
    figure = plots.draw_modes(model, np.zeros(2)).figure
    still, low, high = figure.axes[0].lines[:3]
    np.testing.assert_allclose(still.get_xdata(), np.linspace(0, 0.8, STATIONS), atol=1e-12)
    np.testing.assert_allclose(still.get_ydata(), 0.0, atol=1e-12)
    phi = fa.shapes.family("clamped-free").basis(1).values(np.linspace(0, 1, STATIONS))[:, 0]
    np.testing.assert_allclose(np.abs(high.get_ydata()), 0.08 * phi, atol=1e-6)
    np.testing.assert_allclose(low.get_ydata(), -np.asarray(high.get_ydata()), atol=1e-12)
    omega = model.frequencies(np.zeros(2))
    assert [axes.get_title() for axes in figure.axes] == [f"mode {k + 1}: {w:.4g} rad/s" for k, w in enumerate(omega)]


def test_a_mode_is_seen_in_its_plane(tmp_path):
    model = fa.Model(fa.load("theodore-ghosal"))
    q = np.array(model.arm.rest)
    figure = plots.draw_modes(model, q, count=2).figure
    seen = {axes.get_xlabel()[0] + axes.get_ylabel()[0] for axes in figure.axes}
    assert seen == {"yz", "xz"}
    free = plots.draw_modes(fa.Model(fa.load("canadarm")), np.zeros(9), count=4, locked=False).figure
    assert [axes.get_title()[:6] for axes in free.axes[:4]] == ["mode 4", "mode 5", "mode 6", "mode 7"]
    assert free.axes[4].axison is False
    assert plots.save_figure(free, tmp_path / "modes.png").stat().st_size > 10_000


def test_modes_are_by_default_those_at_rest():
    """A slide at rest is half out of its hub, so zeros would be another configuration."""
    model = fa.Model(fa.load("theodore-ghosal"))
    rest = np.array(model.arm.rest)
    assert rest.any()
    drawn = [plots.draw_modes(model, *given, count=2).figure.axes for given in ((), (rest,), (0.9 * rest,))]
    default, here, elsewhere = ([axes.get_title() for axes in panels] for panels in drawn)
    assert default == here != elsewhere
    xr.testing.assert_identical(analysis.mode_table(model), analysis.mode_table(model, rest))
    assert not analysis.mode_table(model).equals(analysis.mode_table(model, 0.9 * rest))


def test_frequencies_are_drawn():
    model = fa.Model(fa.load("theodore-ghosal"))
    lengths = np.linspace(0.3, 1.0, 5)
    axes = plots.draw_frequencies(model, "slide.joint", lengths, count=3).figure.axes[0]
    q = np.tile(model.arm.rest, (5, 1))
    q[:, 2] = lengths
    expected = np.array([model.frequencies(x) for x in q])[:, :3]
    np.testing.assert_allclose(np.array([line.get_ydata() for line in axes.lines]).T, expected, rtol=1e-12)
    assert axes.get_xlabel() == "slide.joint [m]"
    assert axes.get_yscale() == "log"
    one = plots.draw_frequencies(fa.Model(cantilever(fa.Revolute(axis=(0, 0, 1)))), "beam.joint", 0.3).figure.axes[0]
    assert len(one.lines) == 2


def test_pictures_at_the_door():
    rigid = fa.Model(fa.load("rigid-two-link"))
    with refused("arm '.*' has no vibration mode with locked drives"):
        plots.draw_modes(rigid, np.zeros(2), locked=np.True_)
    with refused("unknown coordinate 'x'; the coordinates are .*"):
        plots.draw_frequencies(rigid, "x", [0.0])
    with refused("values is not an array of numbers"):
        plots.draw_frequencies(rigid, rigid.coordinates[0], "all")
    with refused(r"q has shape \(3,\); .*"):
        plots.draw_modes(rigid, np.zeros(3))
