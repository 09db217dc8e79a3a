"""Shear in beams of segments: Lagrange's equations, the exact rod, Timoshenko's beam, and what it refuses."""

import numpy as np
import pytest
from compared import values, vector
from oracle import Lagrangian
from rods import rod_in_space

import flexarm as fa
from flexarm.analysis import equilibrium

L, EI, KGA = 1.4, {"y": 12.0, "z": 7.0}, {"y": 300.0, "z": 220.0}
BENT = {"y": 0.5, "z": -0.4, "torsion": 0.6}


def beam(segments=1, **more):
    given = {"length": L, "mass": 0.9, "EI": EI, "GJ": 5.0, "shear": KGA, "modes": {"y": 2, "z": 2, "torsion": 1}}
    return fa.Beam(segments=segments, **(given | more))


def hung(body):
    """A clamped beam that holds 1 kg at its tip and weighs nothing."""
    link = fa.Link(name="rod", joint=fa.Fixed(), body=body.replace(mass=1e-9))
    arm = fa.Arm(name="hung", links=[link], payload=fa.Payload(mass=1.0), gravity=(1.0, 1.0, 1.0))
    return fa.Model(arm, vary=["gravity*"])


def sagged(body, force, steps):
    model, q = hung(body), np.zeros(len(body.amplitudes))
    for share in steps:
        q, _ = equilibrium(model.at(share * np.array(force)), q)
    return model, q


def test_the_equations_are_exact_to_the_third_order():
    """Halved angles leave an eighth of M's error, a quarter of forces', a sixteenth of the tip's."""
    taper = {"section": {"type": "box", "width": 0.05, "height": 0.06}, "EI": None, "GJ": None, "mass": None}
    taper |= {"section_tip": {"type": "box", "width": 0.04, "height": 0.05}, "shear": None, "shear_coefficient": 0.8}
    taper |= {"material": {"E": 2e7, "density": 900.0, "poisson": 0.2}, "modes": {"y": 2}}
    for more in ({"initial_angles": BENT, "rotary_inertia": 0.02}, taper):
        link = fa.Link(name="rod", joint=fa.Revolute(axis=(0, 0.6, 0.8)), body=beam(**more))
        arm = fa.Arm(name="one", links=[link], payload=fa.Payload(mass=0.4, inertia=0.02), gravity=(0.7, -3.0, -9.0))
        oracle, model = Lagrangian(arm, points=12), fa.Model(arm)
        rng, n = np.random.default_rng([3, 5]), len(arm.coordinates)
        q, qd, qdd = (rng.uniform(0.4, 1.2, n) * rng.choice([-1, 1], n) for _ in range(3))
        qd[1:] *= 0.1
        errors = []
        for size in (0.08, 0.04):
            at = q * [1.0, *[size] * (n - 1)]
            mine = values(model, "mass_matrix", at), vector(model, "inverse_dynamics", at, qd, qdd), model.tip(at)
            their = oracle.mass_matrix(at), oracle.inverse_dynamics(at, qd, qdd), oracle.tip(at)
            errors.append([np.abs(a - b).max() / np.abs(b).max() for a, b in zip(mine, their, strict=True)])
        fall = np.log2(np.divide(*errors))
        assert np.all(fall > [2.6, 1.6, 3.4]), (errors, fall)
        assert np.all(np.array(errors[-1]) < [5e-3, 5e-3, 1e-3]), errors


def test_a_small_force_bends_and_shears():
    """P L^3 / (3 EI) + P L / kGA along both directions, exactly, with one segment."""
    for k, d in ((1, "y"), (2, "z")):
        force = 1e-6 * np.eye(3)[k]
        model, q = sagged(beam(), force, [1.0])
        assert model.deflections(q)[0, k] == pytest.approx(1e-6 * (L**3 / 3 / EI[d] + L / KGA[d]), rel=1e-8)
        assert abs(model.deflections(q)[0, 3 if k == 1 else 4]) == pytest.approx(1e-6 * L**2 / 2 / EI[d], rel=1e-8)


def test_a_large_force_bends_it_as_the_exact_rod():
    """The stiffness along y and z differs, so the bend twists. Only the effects of shear and stretch are compared."""
    force, EA, modes = np.array([-1.0, 4.0, 3.0]), 500.0, {"y": 2, "z": 2, "torsion": 1}
    exact, plain = (
        rod_in_space(force, EI, 5.0, L, soft=soft)[0] for soft in ((1 / EA, 1 / KGA["y"], 1 / KGA["z"]), (0, 0, 0))
    )
    found = []
    for more in ({"EA": EA, "modes": modes | {"axial": 1}}, {"shear": None, "modes": modes}):
        model, q = sagged(beam(2, **more), force, [0.5, 1.0])
        found.append(model.tip(q)[:3, 3])
    effect = exact - plain
    assert np.linalg.norm(effect) > 0.01 * L
    np.testing.assert_allclose(found[0] - found[1], effect, atol=0.02 * np.linalg.norm(effect))


def test_a_twisted_strip_gives_way_as_the_integral_of_its_sections():
    """Bending and shear under a small force, each section along its own axes."""
    turn = 1.1
    x = np.linspace(0.0, 1.0, 2001)
    c, s = np.cos(turn * x), np.sin(turn * x)

    def both(y, z):  # of the components along the axes of the root
        rows = [[c * c * y + s * s * z, c * s * (y - z)], [c * s * (y - z), s * s * y + c * c * z]]
        return np.trapezoid(rows, x, axis=-1)

    arm = (L * (1 - x)) ** 2
    wanted = L * (both(arm / EI["y"], arm / EI["z"]) + both(1 / KGA["y"], 1 / KGA["z"]))
    body = beam(2, initial_angles={"torsion": turn}, modes={"y": 3, "z": 3})
    found = []
    for k in (1, 2):
        model, q = sagged(body, 1e-6 * np.eye(3)[k], [1.0])
        found.append(model.deflections(q)[0, 1:3] / 1e-6)
    np.testing.assert_allclose(found, wanted, atol=3e-3 * L / KGA["y"])


def test_frequencies_are_timoshenkos():
    """Beside the beam in one piece, whose shapes have shear strains of their own; without shear the third is off."""
    more = {"rotary_inertia": 0.004, "modes": {"y": 3}}
    link = fa.Link(name="rod", joint=fa.Fixed(), body=beam(4, **more))
    arm = fa.Arm(name="thick", links=[link], payload=fa.Payload(mass=0.2))
    one = link.replace(body=beam(None, rotary_inertia=0.004, modes={"y": 8}))
    found, exact, stiff = (
        np.array(fa.Model(arm.replace(links=[each])).frequencies(np.zeros(len(each.body.amplitudes)))[:3])
        for each in (link, one, link.replace(body=beam(4, **more | {"shear": None})))
    )
    assert stiff[2] > 1.15 * exact[2]
    assert (np.abs(found / exact - 1.0) < [2e-4, 1e-3, 4e-3]).all(), (found, exact, stiff)


def test_a_beam_without_shear_costs_nothing():
    """Shear across directions without modes leaves the program as it is."""
    arms = [
        fa.Arm(name="a", links=[{"name": "rod", "body": beam(2, modes={"y": 2}, shear=shear)}])
        for shear in (None, {"z": 200.0})
    ]
    counts = [fa.Model(arm).function("forward_dynamics").n_instructions() for arm in arms]
    assert counts[0] == counts[1]


def test_a_run_keeps_its_energy_and_modes_have_their_damping():
    arm = fa.Arm(
        name="a", links=[{"name": "rod", "body": beam(1, modes={"y": 2, "z": 2}, damping=0.04)}], gravity=(0, 3.0, 1.0)
    )
    run = fa.simulate(arm, 0.4, rtol=1e-8, progress=False)
    assert run.energy_drift < 1e-6 and float(run.dissipated[-1]) > 1e-3
    held = fa.Model(arm.replace(links=[arm.links[0].replace(joint=fa.Fixed())], gravity=(0, 0, 0)))
    poles = np.linalg.eigvals(held.linearize(np.zeros(4), np.zeros(4), []).A)
    np.testing.assert_allclose(-poles.real / np.abs(poles), 0.04, rtol=1e-7)


def test_what_varies_and_what_does_not():
    arm = fa.Arm(name="a", links=[{"name": "rod", "body": beam(1, modes={"y": 2})}])
    model = fa.Model(arm, vary=["rod.mass"])
    assert model.at([1.8]).mass_matrix(np.zeros(3))[0, 0] > model.mass_matrix(np.zeros(3))[0, 0]
    for name in ("rod.EI", "rod.length", "rod.shear"):
        with pytest.raises(fa.DescriptionError, match="the shear strains of a beam with segments depend on it"):
            fa.Model(arm, vary=[name])
    equations, q = fa.equations(arm, numbers=["*"]), np.array([0.3, 0.02, -0.01])
    M = np.array(equations.explicit(equations.M).subs(dict(zip(equations.coordinates, q, strict=True))), dtype=float)
    np.testing.assert_allclose(M, model.mass_matrix(q), rtol=1e-9)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"modes": {"y": 1}}, "modes.y is 1; with shear a segment needs at least 2, whose curvature varies"),
        ({"mass": None, "sections": {"x": [0, 1], "mass_per_length": [1, 1]}},
         "sections is given; with shear a beam of segments must be uniform or tapered"),
    ],
)  # fmt: skip
def test_what_is_refused(fields, message):
    with pytest.raises(fa.DescriptionError) as caught:
        beam(2, **fields)
    assert str(caught.value) == f"Beam: {message}"
