"""Subudhi & Morris, Figs. 7 and 8: what the controller is worth, and that less of a controller misses it."""

import numpy as np
import pytest
from scipy.linalg import expm

import flexarm as fa
from flexarm.control import Composite
from flexarm_papers.subudhi_morris import compute, modes, tracking
from flexarm_papers.subudhi_morris import control as sc
from flexarm_papers.subudhi_morris import gains as sg

END = np.array([np.pi / 2, np.pi / 6])


def test_the_scenario_is_the_run_of_the_figures():
    """The bundled scenario, judged by `performance` alone."""
    result = fa.load_scenario("subudhi-morris-composite").run(progress=False)
    t, q, tips = result.time.values, result.q.values, result.deflection.values[..., 1]
    np.testing.assert_allclose(result.q_ref.values[-1], END)
    at_2 = np.argmin(np.abs(t - 2.0))
    assert np.abs(q[at_2, :2] - END).max() < 5e-3
    free = fa.load_scenario("subudhi-morris-elastic").replace(until=4.0, samples=4001).run(progress=False)
    left = np.abs(free.deflection.values[free.time.values > 1.0, :, 1]).max(axis=0)
    assert (np.abs(tips[t >= 3.0]).max(axis=0) < 0.02 * left).all()
    ours = sc.tracked()
    np.testing.assert_allclose(ours.q.values, q, atol=1e-9)
    assert sc.residual(ours) == pytest.approx(np.abs(tips[t >= 3.0]).max(axis=0) / left, rel=1e-3)


def met(result):
    """Both targets."""
    return bool((sc.off(result)[0] < tracking.TRACKED).all() and (sc.residual(result) < tracking.RESIDUAL).all())


def test_less_of_a_controller_misses_the_targets():
    facts = sc.design()
    K_p, K_d = facts["K_p"], facts["K_d"]
    assert met(sc.tracked())
    broken = {
        "no fast gains": sg.Printed(0 * K_p, 0 * K_d, rotors=True),
        "hardly any": Composite(sg.REFERENCE, 5.0, 2.0, gains=(0.05 * K_p, 0.05 * K_d)),
        "only one actuator damps": Composite(sg.REFERENCE, 5.0, 2.0, gains=(K_p, K_d * [[1], [0.0]])),
        "too soft": Composite(sg.REFERENCE, 0.5, 0.5),
        "not corrected": sg.Printed(K_p, K_d, rotors=True),
    }
    assert [name for name, law in broken.items() if met(sc.follow(law))] == []


def test_the_tip_goes_where_a_rigid_arm_would_have_it():
    assert sc.astray(sc.tracked()) < 25 < 100 < sc.astray(sc.tracked("slow"))


# -- the law as printed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rotors", "stable"), [(False, False), (True, True)])
def test_poles_of_the_law_as_printed_are_seen_in_a_run(rotors, stable):
    """A small deviation from the end grows or decays as the linear arm says."""
    model = fa.Model(compute.arm("relative", compute.KS))
    law = sg.Printed(sg.ZERO, sg.ZERO, rotors, reference=fa.Quintic(END, END, 1.0))
    system = sg.Linear("relative", rotors)
    poles = system.poles()
    assert (poles.real.max() < 0) == stable
    start = np.zeros(8)
    start[[0, 1, 6, 7]] = np.r_[END, END]
    off = 1e-8 * np.array([1.0, -2.0, 0.5, 0.3, -0.4, 0.2, -1.0, 0.7])
    run = fa.simulate(
        model, 0.2, law, q0=start + off, samples=3, solver=fa.Solver(rtol=1e-11, atol=1e-18), progress=False
    )
    ours = run.q.values[-1] - start
    A = system.A + system.B @ system.slow
    expected = (expm(0.2 * A) @ np.r_[off, np.zeros(8)])[:8]
    np.testing.assert_allclose(ours, expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("rotor", ["relative", "absolute"])
def test_the_gains_are_scaled_by_the_shapes_of_their_own_arm(rotor):
    np.testing.assert_allclose(modes.frequencies(sg.loads(rotor)[0]), modes.link_1_in_arm(rotor), rtol=1e-5)


def test_a_f_as_printed_is_the_arm_without_rotors_and_two_rotors_apart():
    apart = np.sort([*compute.frequencies_of("none"), *np.sqrt([100 / 0.02] * 2)])
    np.testing.assert_allclose(sg.fast_frequencies(printed=True), apart, rtol=1e-9)


# -- the printed gains -------------------------------------------------------------------------------------------------


def in_the_papers_variables(k_c):
    """Eigenvalues of eq. 67 in x_f = k_c [q; delta], int rho phi^2 = m and the fast time, with the gains as printed."""
    model = fa.Model(compute.arm("relative", compute.KS))
    q = np.zeros(8)
    q[[0, 1, 6, 7]] = np.tile(END / 2, 2)
    T = np.zeros((8, 8))  # of (theta, q, delta): alpha = theta - delta
    T[:6, :6] = np.eye(6)
    T[6:, :2], T[6:, 6:] = np.eye(2), -np.eye(2)
    scale = np.ones(8)
    for i, link in enumerate(model.arm.links):
        assert link.body.shapes == "clamped-mass"
        x = np.linspace(0, 1, 2001)
        phi = modes.shapes_of(modes.LOADS[i]).basis(2).values(x)
        scale[2 + 2 * i : 4 + 2 * i] = 1 / np.sqrt(np.trapezoid(phi**2, x, axis=0))
    T = T * scale
    H = np.linalg.inv(T.T @ model.mass_matrix(q) @ T)
    step = 1e-6 * np.eye(8)
    K = T.T @ np.array([model.stiffness_force(q + s) - model.stiffness_force(q - s) for s in step]).T / 2e-6 @ T
    B = T.T @ model.input_matrix(q)
    fast = slice(2, 8)
    A = -(H @ K)[fast, fast] / k_c
    b = (H @ B)[fast]
    F = np.block([[np.zeros((6, 6)), np.eye(6)], [A + b @ sg.K_PF, b @ sg.K_VF]])
    return np.linalg.eigvals(F) * np.sqrt(k_c)


@pytest.mark.parametrize("k_c", [100.0, 2.1355])
def test_the_scaling_of_the_printed_gains(k_c):
    theirs = np.sort_complex(in_the_papers_variables(k_c))
    ours = np.sort_complex(sg.Linear("relative").fast_poles(*sg.reading(*sg.NATURAL, "k_c zeta", k_c, "relative")))
    assert theirs.real.max() == pytest.approx(ours.real.max(), rel=1e-3)
    assert np.abs(theirs).max() == pytest.approx(np.abs(ours).max(), rel=1e-4)
    assert np.prod(theirs) == pytest.approx(np.prod(ours), rel=1e-4)


def test_the_natural_reading_is_told_from_the_others():
    found = sg.readings("relative")
    fast = {key: both[0] for key, both in found.items()}
    natural = [key for key in fast if key[:2] == sg.NATURAL]
    assert len(fast) == 168 and len(natural) == 7
    assert all(fast[key] < 0 for key in natural)
    assert sum(x < 0 for key, x in fast.items() if key not in natural) < 0.1 * len(fast)
    assert {key[0] for key, x in fast.items() if x < 0} == {"modes, joints"}
    assert min(x for x, _ in sg.readings("absolute").values()) > 1
    assert sg.least_stiffness("relative")[1] == pytest.approx(100.0)
    whole = {key[2:]: found[key][1] for key in natural}
    assert all(whole["k_c zeta", k_c] > 0.1 for k_c in sg.least_stiffness("relative"))
    assert whole["zeta", sg.least_stiffness("relative")[1]] < -0.4
