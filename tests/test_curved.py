"""Beams that are bent and twisted at rest: closed forms, an oracle, the exact rod, and what they refuse."""

import casadi as ca
import numpy as np
import pytest
from compared import values, vector
from oracle import Lagrangian
from rods import rod_in_space
from scipy.linalg import expm

import flexarm as fa
from flexarm.analysis import equilibrium
from flexarm.exports.lumped import lumped
from flexarm.mechanics.chain import chain
from flexarm.mechanics.expansion import Expansion, arc_sine, arc_tangent
from flexarm.mechanics.segmented import at_rest
from flexarm.model.drawing import drawn

pytestmark = pytest.mark.usefixtures("interpreted")

HELIX = {"y": 0.9, "z": -0.5, "torsion": 0.7}
L = 1.3


def beam(angles, segments=2, **more):
    given = {"length": L, "mass": 1.1, "EI": {"y": 1.2, "z": 0.8}, "GJ": 0.7, "modes": {"y": 2, "z": 1, "torsion": 1}}
    return fa.Beam(segments=segments, initial_angles=angles, **(given | more))


def arm_of(body, joint=None, payload=None, **more):
    link = fa.Link(name="rod", joint=joint or fa.Fixed(), body=body)
    return fa.Arm(name="curved", links=[link], payload=payload, **more)


def frame(angles, x=1.0):
    """Rotation and place of a helix, by the exponential of its twist."""
    a, b, c = angles.get("torsion", 0.0), -angles.get("z", 0.0), angles.get("y", 0.0)
    twist = np.array([[0, -c, b, L], [c, 0, -a, 0], [-b, a, 0, 0], [0, 0, 0, 0]])
    return expm(x * twist)


# -- at rest -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("angles", "segments"), [(HELIX, 2), (HELIX, 3), ({"y": 1.5}, 2), ({"z": 1.5}, 2), ({"torsion": -1.9}, 2)]
)
def test_at_rest_it_is_a_helix(angles, segments):
    """Its tip, its sections in drawings, and a force's station; deflections are counted from there."""
    arm = arm_of(beam(angles, segments), joint=fa.Revolute())
    model = fa.Model(arm)
    q = np.array(arm.rest)
    np.testing.assert_allclose(model.tip(q), frame(angles), atol=1e-13)
    places = drawn(model, q)[0][0, :, :3]
    wanted = [frame(angles, x)[:3, 3] for x in np.linspace(0.0, 1.0, len(places))]
    np.testing.assert_allclose(places, wanted, atol=1e-12)
    np.testing.assert_allclose(model.deflections(q), 0.0, atol=1e-13)


def test_the_rigid_arm_is_as_curved():
    arm = arm_of(beam(HELIX, damping=0.1), joint=fa.Revolute(), payload=fa.Payload(mass=0.3))
    model, rigid = fa.Model(arm), fa.Model(arm.rigid())
    assert rigid.coordinates == ("rod.joint",)
    np.testing.assert_allclose(rigid.tip([0.4]), model.tip([0.4, *[0.0] * 8]), atol=1e-13)
    np.testing.assert_allclose(rigid.mass_matrix([0.4])[0, 0], model.mass_matrix([0.4, *[0.0] * 8])[0, 0], rtol=1e-12)


def test_angles_of_zero_cost_nothing():
    """The same operations as without the field."""
    counts = [
        fa.Model(arm_of(body, joint=fa.Revolute())).function("forward_dynamics").n_instructions()
        for body in (beam({}), beam({"y": 0.0, "torsion": 0.0}))
    ]
    assert counts[0] == counts[1]


# -- the equations of motion -------------------------------------------------------------------------------------------


def test_the_equations_are_exact_to_the_third_order():
    """Halved angles leave an eighth of M's error, a quarter of forces', a sixteenth of the tip's."""
    inert = {"polar_inertia": 0.02, "rotary_inertia": {"y": 0.01, "z": 0.03}, "lumps": [{"at": 0.25, "mass": 0.2}]}
    bent = {"y": 0.6, "z": -0.4, "torsion": 0.5}
    body = beam(bent, 1, modes={"y": 1, "z": 1, "torsion": 1, "axial": 1}, EA=9.0, **inert)
    joint = fa.Revolute(axis=(0, 0.6, 0.8))
    arm = arm_of(body, joint, fa.Payload(mass=0.4, inertia=0.02), gravity=(0.7, -3.0, -9.0))
    oracle, model = Lagrangian(arm, points=20), fa.Model(arm)
    rng = np.random.default_rng([3, 4])
    q, qd, qdd = (rng.uniform(0.4, 1.2, 5) * rng.choice([-1, 1], 5) for _ in range(3))
    qd[1:] *= 0.1
    errors = []
    for size in (0.16, 0.08):
        at = q * [1.0, *[size] * 4]
        mine = (values(model, "mass_matrix", at), vector(model, "inverse_dynamics", at, qd, qdd), model.tip(at))
        their = (oracle.mass_matrix(at), oracle.inverse_dynamics(at, qd, qdd), oracle.tip(at))
        errors.append([np.abs(a - b).max() / np.abs(b).max() for a, b in zip(mine, their, strict=True)])
    fall = np.log2(np.divide(*errors))
    assert np.all(fall > [2.6, 1.6, 3.5]), (errors, fall)
    assert np.all(np.array(errors[-1]) < [5e-4, 5e-3, 1e-5]), errors


@pytest.mark.parametrize("a", [0.0, 0.6, -0.9])
def test_angles_of_expansions_are_exact_to_the_third_degree(a):
    """Taylor's terms of sine and cosine about an angle at rest give back the angle."""
    sine, cosine = np.sin(a), np.cos(a)
    powers = [(), (0,), (0, 0), (0, 0, 0)]
    s, c = (
        Expansion({m: np.array([x]) for m, x in zip(powers, some, strict=True)})
        for some in ((sine, cosine, -sine / 2, -cosine / 6), (cosine, -sine, -cosine / 2, sine / 6))
    )
    for found in (arc_sine(s), arc_tangent(s, c), arc_tangent(1.7 * s, 1.7 * c)):
        np.testing.assert_allclose([float(found.terms[m][0]) for m in powers], [a, 1.0, 0.0, 0.0], atol=1e-14)


def test_a_run_keeps_its_energy():
    model = fa.Model(arm_of(beam(HELIX, 2, modes={"y": 1, "z": 1, "torsion": 1}), gravity=(0.0, -1.0, 0.5)))
    result = fa.simulate(model, 1.0, samples=11, rtol=1e-8, progress=False)
    assert result.energy_drift < 1e-8 and np.abs(result.deflection).max() > 0.05


def test_every_mode_of_the_whole_has_the_damping_ratio():
    """Planes couple, so the modes are those of all directions together."""
    body = beam(HELIX, 2, damping=0.03, polar_inertia=0.01)
    arm = arm_of(body)
    model = fa.Model(arm)
    n = len(model.coordinates)
    M, K = (np.array(ca.DM(A)) for A in at_rest(chain(arm).bodies[:-1]))
    np.testing.assert_allclose(M, model.mass_matrix(np.zeros(n)), atol=1e-13)
    np.testing.assert_allclose(K, np.array(model.slope("stiffness_force", 0)(np.zeros(n))), rtol=1e-12, atol=1e-9)
    poles = np.linalg.eigvals(model.linearize(np.zeros(n), np.zeros(n), []).A)
    np.testing.assert_allclose(-poles.real / np.abs(poles), 0.03, rtol=1e-7)


def test_numbers_of_the_whole_vary():
    """The angles stay, so a longer beam is the same curve, larger."""
    arm = arm_of(beam(HELIX, tau=0.01), joint=fa.Revolute())
    given = fa.Model(arm, vary=["rod.length", "rod.mass", "rod.EI.y"]).at([1.7, 0.8, 2.1])
    other = fa.Model(given.arm_at())
    rng = np.random.default_rng(5)
    q, qd, u = 0.05 * rng.normal(size=9), rng.normal(size=9), [0.3]
    for name, arguments in (("forward_dynamics", (q, qd, u)), ("tip", (q,)), ("damping_force", (q, qd))):
        a, b = (np.array(model.fixed(name)(*arguments)) for model in (given, other))
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    damped = arm.replace(links=[arm.links[0].replace(body=beam(HELIX, damping=0.1))])
    with pytest.raises(fa.DescriptionError, match=r"vary: rod.length cannot vary: the modal damping .* initial angles"):
        fa.Model(damped, vary=["rod.length"])


# -- loads -------------------------------------------------------------------------------------------------------------


def hung(body):
    """Model of a clamped beam without weight, with 1 kg at its tip; its gravity is the load."""
    arm = arm_of(body.replace(mass=1e-9), payload=fa.Payload(mass=1.0), gravity=(1.0, 1.0, 1.0))
    return fa.Model(arm, vary=["gravity*"])


def test_a_quarter_of_a_circle_under_a_force_at_its_tip():
    """Castigliano's P R^3 (pi / 4 / EI) along x, (3 pi / 4 - 2) / EI along y, and pi / 4 / EI + (3 pi / 4 - 2) / GJ."""
    quarter, P, R = {"y": np.pi / 2}, 1e-4, L / (np.pi / 2)
    model = hung(beam(quarter, 2, modes={"y": 3, "z": 3, "torsion": 3}))
    across = np.pi / 4 / 0.8 + (3 * np.pi / 4 - 2) / 0.7
    for axis, wanted in enumerate((np.pi / 4 / 1.2, (3 * np.pi / 4 - 2) / 1.2, across)):
        q, _ = equilibrium(model.at(P * np.eye(3)[axis]), np.zeros(18))
        moved = model.tip(q)[axis, 3] - frame(quarter)[axis, 3]
        assert moved == pytest.approx(wanted * P * R**3, rel=2e-4)


def test_a_twisted_strip_is_as_stiff_as_the_integral_of_its_sections():
    """Deflections along two axes, and the coupling of both: int (L - x)^2 (c^2 / EI_1 + s^2 / EI_2) dx."""
    model, P = hung(beam({"torsion": 1.4}, 2, modes={"y": 3, "z": 3, "torsion": 1})), 1e-4
    x = np.linspace(0.0, L, 20001)
    c, s = np.cos(1.4 * x / L), np.sin(1.4 * x / L)
    for load, axis, of in (
        ((0, P, 0), 1, c**2 / 1.2 + s**2 / 0.8),
        ((0, 0, P), 2, s**2 / 1.2 + c**2 / 0.8),
        ((0, P, 0), 2, c * s * (1 / 1.2 - 1 / 0.8)),
    ):
        q, _ = equilibrium(model.at(load), np.zeros(14))
        assert model.deflections(q)[0, axis] == pytest.approx(P * np.trapezoid((L - x) ** 2 * of, x), rel=2e-4)


def test_an_end_moment_makes_it_straight():
    """A moment EI kappa_0 against its curvature; angles are exact, places fall with order 4."""
    errors = []
    for k in (2, 4):
        body = beam({"y": 1.2}, k, modes={"y": 2})
        arm = arm_of(body.replace(mass=1e-9), forces=[fa.Force(name="end", link="rod", kind="moment")])
        model = fa.Model(arm)
        q, _ = equilibrium(model, arm.rest, w={"end.mz": -1.2 * 1.2 / L})
        np.testing.assert_allclose(model.tip(q)[0, 0], 1.0, rtol=1e-12)
        errors.append(np.linalg.norm(model.tip(q)[:3, 3] - [L, 0, 0]))
    assert np.log2(errors[0] / errors[1]) > 3.5 and errors[1] < 1e-4, errors


def test_it_bends_in_space_as_the_exact_rod():
    """Bathe & Bolourchi's bend of 45 degrees at half their load: a force across the plane of an eighth of a circle."""
    radius, EI, load = 2.0, 3.0, 3.6 * 3.0 / 2.0**2
    tip, R = rod_in_space([0.0, 0.0, load], {"y": EI, "z": EI}, EI, radius * np.pi / 4, (0.0, 0.0, 1 / radius))
    errors = []
    for k in (3, 6):
        modes = {"y": 2, "z": 2, "torsion": 1}
        model = hung(fa.Beam(length=radius * np.pi / 4, mass=1.0, EI=EI, GJ=EI, modes=modes, segments=k,
                             initial_angles={"y": np.pi / 4}))  # fmt: skip
        q = np.zeros(5 * k)
        for share in (0.3, 0.7, 1.0):
            q, _ = equilibrium(model.at([0.0, 0.0, share * load]), q)
        errors.append(np.linalg.norm(model.tip(q)[:3, 3] - tip))
    assert np.log2(errors[0] / errors[1]) > 2.0 and errors[1] < 1e-3 * radius, errors
    np.testing.assert_allclose(model.tip(q)[:3, :3], R, atol=3e-3)


# -- descriptions ------------------------------------------------------------------------------------------------------

REFUSED = [
    ({"segments": None}, "initial_angles is given; a beam that is bent at rest needs segments, such as segments = 4"),
    ({"initial_angles": 0.3}, "initial_angles is 0.3; it must be a table such as {y = 0.3, torsion = 1.2}"),
    ({"initial_angles": {"axial": 0.3}}, "initial_angles has the unknown key 'axial'"),
    ({"initial_angles": {"y": "much"}}, "initial_angles.y is 'much'; it must be a number in rad"),
    (
        {"initial_angles": {"y": 45.0}},
        "initial_angles turns each segment by 22.5 rad; use at least 45 segments, or check",
    ),
    (
        {"initial_angles": {"y": 2.0, "z": 1.0}},
        "initial_angles turns each segment by 1.12 rad; use at least 3 segments",
    ),
]


@pytest.mark.parametrize(("fields", "message"), REFUSED)
def test_what_is_refused(fields, message):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.Beam(**({"length": 1.3, "mass": 1.0, "EI": 1.0, "segments": 2, "initial_angles": HELIX} | fields))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_lumped_equivalent_has_straight_links():
    with pytest.raises(fa.DescriptionError, match=r"link 'rod': body.initial_angles is given; a lumped"):
        lumped(arm_of(beam(HELIX), joint=fa.Revolute()), 4)


def test_a_rod_is_straight():
    assert fa.Beam(length=1.3, mass=0.7, EI=1.0).rod().mass == 0.7
    with pytest.raises(fa.DescriptionError, match="initial_angles is given, but a rigid rod is straight"):
        beam(HELIX).rod()


def test_it_is_read_from_a_file_and_written(tmp_path):
    text = """
name = "curved"

[[links]]
name = "rod"
joint = { type = "fixed" }

[links.body]
type = "beam"
length = 1.3
mass = 1.1
EI = { y = 1.2, z = 0.8 }
GJ = 0.7
modes = { y = 2, z = 1, torsion = 1 }
segments = 2
initial_angles = { y = 0.9, z = -0.5, torsion = 0.7 }
"""
    (tmp_path / "curved.toml").write_text(text)
    arm = fa.load(tmp_path / "curved.toml")
    assert arm == arm_of(beam(HELIX))
    arm.save(tmp_path / "again.toml")
    assert fa.load(tmp_path / "again.toml") == arm


def test_a_part_has_its_share_of_the_angles():
    first, second = beam(HELIX).parts
    assert (first.segments, first.initial_angles["y"]) == (1, 0.45) and first.curved
    assert beam({"y": 0.0}).part(0.0, 0.5).segments is None
    part = beam(HELIX).part(0.25, 0.75)
    np.testing.assert_allclose(fa.Model(arm_of(part)).tip(np.zeros(4))[:3, :3], frame(HELIX, 0.5)[:3, :3], atol=1e-13)
    assert second.mass == pytest.approx(0.55)
