"""Damping of the material: Kelvin and Voigt, a loss factor, Rayleigh."""

import numpy as np
import pytest
from random_arms import random_state
from real_beams import FEW, FULL, SOFT, agrees, arm_of, frequencies, hermite_beam, spatial
from scipy.linalg import eigh, expm

import flexarm as fa
from benchmarks import damped_tips
from flexarm.errors import DescriptionError

SLENDER = {"length": 0.5, "mass_per_length": 0.2, "EI": 1.0, "modes": {"y": 3}}
ALL = {"tau": 0.01, "loss_factor": 0.03, "rayleigh": {"mass": 0.2, "stiffness": 0.003}, "damping": 0.01}
AUDIT = 1e-7  # of the largest energy: what the issue asks for


def matrices(arm, q=None):
    """M, D and K of an arm at rest."""
    model, n = fa.Model(arm), len(arm.coordinates)
    q = np.zeros(n) if q is None else q
    return (
        np.array(model.mass_matrix(q)),
        np.column_stack([model.damping_force(q, e) for e in np.eye(n)]),
        np.column_stack([model.stiffness_force(e) for e in np.eye(n)]),
    )


def ratios(arm):
    """Frequencies and ratios of critical damping of the modes, lowest first, where D is diagonal in them."""
    M, D, K = matrices(arm)
    omega2, V = eigh(K, M)
    C = V.T @ D @ V
    np.testing.assert_allclose(C, np.diag(np.diag(C)), atol=1e-9 * np.abs(C).max())
    return np.sqrt(omega2), np.diag(C) / 2 / np.sqrt(omega2)


# -- what each does to a mode ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"shear": 40.0, "rotary_inertia": 1e-4}, {"lumps": [{"at": 0.6, "mass": 0.05}]}])
def test_each_kind_damps_a_mode_by_its_formula_and_all_add(more):
    tau, eta, a, b, zeta = 2e-4, 0.04, 3.0, 1e-4, 0.01
    body = fa.Beam(**SLENDER, **more)
    kinds = {
        "tau": ({"tau": tau}, lambda w: tau * w / 2),
        "loss_factor": ({"loss_factor": eta}, lambda w: eta / 2 + 0 * w),
        "mass": ({"rayleigh": {"mass": a}}, lambda w: a / 2 / w),
        "stiffness": ({"rayleigh": {"stiffness": b}}, lambda w: b * w / 2),
        "damping": ({"damping": zeta}, lambda w: zeta + 0 * w),
    }
    for options, formula in kinds.values():
        omega, found = ratios(arm_of(body.replace(**options)))
        np.testing.assert_allclose(found, formula(omega), rtol=1e-9)
    together = body.replace(tau=tau, loss_factor=eta, rayleigh={"mass": a, "stiffness": b}, damping=zeta)
    omega, found = ratios(arm_of(together))
    np.testing.assert_allclose(found, sum(formula(omega) for _, formula in kinds.values()), rtol=1e-9)


def test_a_loss_factor_is_the_share_of_energy_lost_in_a_cycle():
    """A forced cycle at a mode's own frequency loses 2 pi loss_factor times its largest strain energy."""
    eta = 0.03
    M, D, K = matrices(arm_of(fa.Beam(**SLENDER, loss_factor=eta)))
    omega2, V = eigh(K, M)
    for w, v in zip(np.sqrt(omega2), V.T, strict=True):
        t = np.linspace(0, 2 * np.pi / w, 401)[:-1]
        rate = -w * np.sin(w * t)
        lost = np.mean(rate**2) * (v @ D @ v) * 2 * np.pi / w
        np.testing.assert_allclose(lost, 2 * np.pi * eta * (v @ K @ v) / 2, rtol=1e-9)


def test_torsion_and_stretch_are_damped_as_bending_is():
    omega, found = ratios(arm_of(fa.Beam(**SOFT, modes=FULL, tau=1e-3)))
    np.testing.assert_allclose(found, 1e-3 * omega / 2, rtol=1e-8)


# -- against an assembled finite element solution ----------------------------------------------------------------------


def test_what_has_no_inertia_has_no_damping_of_its_mode():
    """Critical is 2 sqrt(K M): of torsion without polar inertia zero, and so is its share; others keep theirs."""
    plain = fa.Beam(**(SOFT | {"polar_inertia": 0.0}), modes=FULL)
    q, qd = np.zeros(7), np.arange(1.0, 8.0)
    forces = [
        fa.Model(arm_of(plain.replace(damping=d))).damping_force(q, qd)
        for d in (0.1, {"y": 0.1, "z": 0.1, "axial": 0.1})
    ]
    np.testing.assert_allclose(*forces, rtol=1e-12)
    assert np.all(forces[0][4:6] == 0.0) and np.all(np.delete(forces[0], [4, 5]) > 0.0)


def test_a_step_of_torque_moves_the_tip_as_finite_elements_do():
    """A link on a hub turns by a small angle: 24 elements with D = tau K, solved by a matrix exponential."""
    L, m, EI, hub, mp, tau, torque, until = 0.5, 0.2, 1.0, 0.01, 0.05, 5e-3, 1e-4, 0.6
    M, K = hermite_beam(L, m, EI, 24)
    M[1, 1] += hub
    M[-2, -2] += mp
    M, K = M[1:, 1:], K[1:, 1:]  # the hub does not move but turns
    n = len(M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -tau * np.linalg.solve(M, K)]])
    b = np.concatenate([np.zeros(n), np.linalg.solve(M, torque * np.eye(n)[0])])
    augmented = np.block([[A, b[:, None]], [np.zeros((1, 2 * n + 1))]])
    times = np.linspace(0, until, 13)
    step = expm(augmented * (times[1] - times[0]))
    x, expected = np.append(np.zeros(2 * n), 1.0), []
    for _ in times:
        expected.append(x[n - 2])
        x = step @ x

    body = fa.Beam(length=L, mass_per_length=m, EI=EI, modes={"y": 6}, shapes="craig-bampton", tau=tau)
    link = fa.Link(name="link", joint=fa.Revolute(axis=(0, 0, 1)), body=body, hub_inertia=hub)
    model = fa.Model(fa.Arm(name="arm", links=[link], payload=fa.Payload(mass=mp)))
    run = fa.simulate(model, until, [torque], samples=13, solver=fa.Solver(rtol=1e-10, atol=1e-13), progress=False)
    # the tip's arc is straight to 1e-6 of its length; six static and clamped shapes leave 1e-6 of it too
    np.testing.assert_allclose(run["tip"][:, 1], expected, atol=1e-5 * np.abs(expected).max())


def test_the_tip_is_exudyns():
    """Subudhi & Morris's arm with tau = 1e-4 s, and 1e-2 s, at 0.05 N m beside ANCF cables: to 1e-5 m."""
    theirs = np.loadtxt(damped_tips.FILE, delimiter=",")
    assert theirs.shape == (damped_tips.SAMPLES, 5)
    tips = {}
    for i, tau in enumerate((0.0, *damped_tips.TAUS)):
        model, u = fa.Model(damped_tips.damped(tau)), damped_tips.torques()
        run = fa.simulate(model, damped_tips.UNTIL, u, samples=damped_tips.SAMPLES, progress=False)
        tips[tau] = np.array(run["tip"])[:, :2]
        if tau:
            np.testing.assert_allclose(run["time"], theirs[:, 0], atol=1e-9)
            assert np.abs(theirs[:, 2 * i - 1 : 2 * i + 1] - tips[tau]).max() < 1e-5
    assert np.abs(tips[1e-4] - tips[0.0]).max() > 4e-5  # what it is all about: more than the tolerance
    assert np.abs(tips[1e-2] - tips[0.0]).max() > 2e-3


# -- the whole arm -----------------------------------------------------------------------------------------------------


def telescope(**more):
    hub = fa.Link(name="hub", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=0.0, mass=1.0, inertia=0.2))
    body = fa.Beam(length=0.8, mass=1.0, EI=30.0, GJ=9.0, EA=900.0, polar_inertia=0.02, **{"modes": FEW, **more})
    slide = fa.Link(name="boom", joint=fa.Telescope(stiffness=900.0, rotor_inertia=0.1, gear_ratio=3.0), body=body)
    return fa.Arm(
        name="telescope", links=[hub, slide], payload=fa.Payload(mass=0.3, inertia=0.01), gravity=(0, -9.81, 0)
    )


ARMS = {
    "all": lambda: spatial(fa.Beam(**SOFT, modes=FULL, **ALL), fa.Beam(**SOFT, modes=FEW, **ALL)),
    "foreshortening": lambda: spatial(fa.Beam(**SOFT, modes=FULL, foreshortening=True, **ALL)),
    "tapered": lambda: spatial(
        fa.Beam(
            length=0.8, material=fa.Material(E=7e9, density=2700.0, G=2e9), section=fa.Box(width=0.05, height=0.03),
            section_tip=fa.Box(width=0.02, height=0.02), modes=FULL, **ALL,
        )
    ),
    "telescope": lambda: telescope(**ALL),
    "telescope with Rayleigh's mass": lambda: telescope(rayleigh={"mass": 0.5}),
}  # fmt: skip


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_is_lagranges(name):
    agrees(ARMS[name]())


@pytest.mark.parametrize("name", ["all", "tapered", "telescope"])
def test_what_is_lost_is_in_the_account(name):
    arm = ARMS[name]().replace(gravity=(0.0, 0.0, 0.0))
    q = np.array(arm.rest)
    q[list(arm.flexible)] = 0.01
    q[list(arm.joints)[-1]] *= 0.8
    q[list(arm.motors)] *= 0.8
    run = fa.simulate(fa.Model(arm), 0.5, None, q0=q, samples=51, progress=False)
    lost = float(run["dissipated"][-1])
    assert lost > 1e-3 * run.attrs["energy_scale"]
    assert abs(run.attrs["energy_drift"]) < AUDIT * run.attrs["energy_scale"]


def test_a_telescopes_damping_follows_its_length():
    """D = tau K(l): EI / l^3 of each plane."""
    arm = telescope(tau=0.01, modes={"y": 1})
    model = fa.Model(arm)
    found = []
    for l in (0.5, 1.0):
        q = np.array([0.0, l, 0.0, l])
        found.append(float(model.damping_force(q, np.array([0.0, 0.0, 1.0, 0.0]))[2]))
    np.testing.assert_allclose(found[0] / found[1], 8.0, rtol=1e-12)


def test_what_varies_is_the_rebuilt_arm():
    arm = spatial(fa.Beam(**SOFT, modes=FULL, shapes="craig-bampton", **ALL))
    vary = [f"link0.{name}" for name in ("tau", "loss_factor", "rayleigh.mass", "rayleigh.stiffness")]
    model = fa.Model(arm, vary=vary)
    names = [parameter.name for parameter in model.parameters]
    assert sorted(names) == sorted(vary)
    values = {"link0.tau": 0.02, "link0.loss_factor": 0.1, "link0.rayleigh.mass": 0.7, "link0.rayleigh.stiffness": 0.01}
    q, qd, _ = random_state(arm, 2)
    found = model.damping_force(q, qd, p=[values[name] for name in names])
    body = arm.links[0].body.replace(tau=0.02, loss_factor=0.1, rayleigh={"mass": 0.7, "stiffness": 0.01})
    rebuilt = fa.Model(arm.replace(links=[arm.links[0].replace(body=body)])).damping_force(q, qd)
    np.testing.assert_allclose(found, rebuilt, rtol=0, atol=1e-12 * np.abs(rebuilt).max())


def test_closed_forms_have_tau():
    arm = arm_of(fa.Beam(length=1.0, mass=1.0, EI=2.0, modes={"y": 2}, shapes="clamped-free", tau=0.01))
    equations = fa.equations(arm)
    C = equations.damping
    assert "tau_1" in {str(symbol) for symbol in C.free_symbols}
    values = {p.symbol: p.value for p in equations.parameters}
    numbers = np.array(C.subs({s: values[str(s)] for s in C.free_symbols}), dtype=float)
    np.testing.assert_allclose(numbers, matrices(arm)[1], rtol=1e-12)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tau": -1.0}, "tau is -1.0 s; it must be zero or positive"),
        ({"tau": "a"}, "tau is 'a'; it must be a number in s"),
        ({"loss_factor": -0.1}, "loss_factor is -0.1; it must be zero or positive"),
        ({"rayleigh": {"mass": -1.0}}, "rayleigh.mass is -1.0 1/s; it must be zero or positive"),
        ({"rayleigh": {"alpha": 1.0}}, "rayleigh: unknown key 'alpha'; allowed keys are mass, stiffness"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_one_line(options, said):
    with pytest.raises(DescriptionError) as caught:
        fa.Beam(**SLENDER, **options)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_frequencies_of_the_finite_elements_are_the_textbooks():
    """The other opinion is itself checked."""
    M, K = hermite_beam(1.0, 1.0, 1.0, 24)
    omega = np.sqrt(eigh(K[2:, 2:], M[2:, 2:])[0][:2])
    np.testing.assert_allclose(omega, np.array([1.8751040687, 4.6940911330]) ** 2, rtol=2e-6)  # (beta h)^4 / 720
    arm = arm_of(fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 2}, shapes="clamped-free"))
    np.testing.assert_allclose(frequencies(arm), omega, rtol=2e-6)
