"""Sections by a table over x."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from random_arms import random_state
from real_beams import FEW, ROUNDING, agrees, arm_of, frequencies, lowest_roots, spatial
from scipy.linalg import expm

import flexarm as fa
from flexarm import shapes
from flexarm.errors import DescriptionError

TABLE = {
    "x": [0, 0.3, 0.3, 0.6, 1],
    "mass_per_length": [2, 1.5, 1, 1, 0.5],
    "EI": {"y": [30, 20, 10, 10, 5], "z": [40, 20, 20, 15, 5]},
    "GJ": [20, 15, 15, 5, 5],
    "EA": [5e3, 4e3, 3e3, 3e3, 2e3],
    "polar_inertia": [0.02, 0.02, 0.01, 0.01, 0.005],
}
SHEARING = TABLE | {"shear": [900, 800, 300, 300, 200], "rotary_inertia": {"y": [0.02, 0.02, 0.01, 0.01, 0.005]}}
FINE = 1e-6  # of 60 elements whose error is of fourth order in their length, in the first modes


def beam(**options):
    return fa.Beam(**{"length": 0.7, "sections": TABLE, "modes": FEW, **options})


# -- what a table says -------------------------------------------------------------------------------------------------


def test_a_profile_is_linear_between_stations_and_steps_where_one_is_given_twice():
    along = beam().profile([0.0, 0.15, 0.3 - 1e-12, 0.3, 0.8, 1.0])
    np.testing.assert_allclose(along.m, [2, 1.75, 1.5, 1, 0.75, 0.5])
    np.testing.assert_allclose(along.EI_y, [30, 25, 20, 10, 7.5, 5])
    np.testing.assert_allclose(along.EI_z, [40, 30, 20, 20, 10, 5])
    np.testing.assert_allclose(along.GJ, [20, 17.5, 15, 15, 5, 5])
    assert not along.kGA_y.any() and not along.rho_I_y.any()


def test_mass_centre_and_inertia_are_sums_of_trapezia():
    body, L = beam(length=2.0, rotary_inertia=0.003), 2.0
    a, b = np.array(TABLE["x"][:-1]), np.array(TABLE["x"][1:])
    p, q = np.array(TABLE["mass_per_length"][:-1]), np.array(TABLE["mass_per_length"][1:])
    slope = np.divide(q - p, b - a, out=np.zeros(4), where=b > a)
    moments = [
        sum((p - slope * a) * (b ** (n + 1) - a ** (n + 1)) / (n + 1) + slope * (b ** (n + 2) - a ** (n + 2)) / (n + 2))
        for n in range(3)
    ]  # of x^n times the mass per length
    mass, first, second = (moment * L ** (n + 1) for n, moment in enumerate(moments))
    rigid = body.rigid()
    np.testing.assert_allclose([body.total_mass, rigid.mass], mass, rtol=ROUNDING)
    np.testing.assert_allclose(rigid.center, [first / mass, 0, 0], rtol=ROUNDING)
    polar = np.trapezoid(TABLE["polar_inertia"], TABLE["x"]) * L
    rod = second - first**2 / mass + 0.003 * L
    np.testing.assert_allclose(np.diag(rigid.inertia_tensor), [polar, rod, rod], rtol=ROUNDING)
    agrees(spatial(beam(modes={}), beam(modes={})))


def test_a_constant_table_is_a_uniform_beam():
    columns = {"mass_per_length": 1.2, "EI": 30.0, "GJ": 20.0, "EA": 5e3, "polar_inertia": 0.01}
    table = {"x": [0.0, 0.2, 0.7, 1.0]} | {name: [value] * 4 for name, value in columns.items()}
    for family, rods in (("polynomial", "polynomial"), ("clamped-mass", "fixed-loaded")):
        shapes = {"y": family, "z": family, "torsion": rods, "axial": rods}
        more = {"length": 1.1, "modes": FEW, "shapes": shapes, "foreshortening": family == "polynomial"}
        one, other = spatial(fa.Beam(sections=table, **more)), spatial(fa.Beam(**columns, **more))
        q, qd, u = random_state(one, 4)
        tolerance = ROUNDING if family == "polynomial" else 1e-6  # modes by elements, and in closed form
        for name, arguments in (("mass_matrix", (q,)), ("bias", (q, qd)), ("stiffness_force", (q,))):
            found, expected = (np.array(getattr(fa.Model(arm), name)(*arguments)) for arm in (one, other))
            np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def test_what_a_table_lacks_may_stand_beside_it():
    table = {name: TABLE[name] for name in ("x", "mass_per_length")}
    body = beam(sections=table, EI=7.0, GJ=3.0, EA=90.0, polar_inertia=0.02, shear=50.0, rotary_inertia=0.001)
    along = body.profile(0.5)
    found = [along.EI_y[0], along.EI_z[0], along.GJ[0], along.EA[0], along.rho_Ip[0], along.kGA_z[0], along.rho_I_y[0]]
    assert found == [7.0, 7.0, 3.0, 90.0, 0.02, 50.0, 0.001]
    assert body.stiffness == {"y": 7.0, "z": 7.0, "torsion": 3.0, "axial": 90.0}


def test_the_rotary_inertia_of_a_table_is_a_choice():
    assert not beam(sections=SHEARING).profile(0.5).rho_I_y.any()
    assert beam(sections=SHEARING, rotary_inertia=True).profile(0.5).rho_I_y.any()


def test_a_piece_of_a_table_is_a_table():
    whole = fa.SectionTable(**SHEARING)
    for a, b in ((0.0, 0.5), (0.1, 0.3), (0.3, 0.9), (0.2, 1.0)):
        part, x = whole.part(a, b), np.linspace(0.01, 0.99, 37)
        assert part.x[0] == 0 and part.x[-1] == 1
        for name in whole.columns:
            np.testing.assert_allclose(part.at(name, x), whole.at(name, a + (b - a) * x), rtol=1e-12)


# -- modes -------------------------------------------------------------------------------------------------------------


def stepped(L, pieces, count):
    """Frequencies of a clamped beam of uniform pieces (share of the length, m, EI, 1 / kGA, rho I), by shooting."""

    def determinant(omega):
        s, end = omega**2, np.eye(4)
        for share, m, EI, shear, rho_I in pieces:
            A = np.array([[0, 1, 0, shear], [0, 0, 1 / EI, 0], [0, -rho_I * s, 0, -1], [-m * s, 0, 0, 0]])
            end = expm(A * share * L) @ end
        one, other = end[2:, 2:]
        return one[0] * other[1] - one[1] * other[0]

    return lowest_roots(determinant, count, 0.02)


@pytest.mark.parametrize("thick", [False, True])
def test_a_stepped_beam_has_the_frequencies_of_its_pieces(thick):
    """A step that is no node of equal elements: the fine model has one there."""
    table = {"x": [0, 0.37, 0.37, 1], "mass_per_length": [2.0, 2.0, 0.5, 0.5], "EI": [6.0, 6.0, 1.0, 1.0]}
    pieces = [[0.37, 2.0, 6.0, 0.0, 0.0], [0.63, 0.5, 1.0, 0.0, 0.0]]
    if thick:
        table |= {"shear": [300.0, 300.0, 50.0, 50.0], "rotary_inertia": [0.01, 0.01, 0.001, 0.001]}
        pieces[0][3:], pieces[1][3:] = [1 / 300.0, 0.01], [1 / 50.0, 0.001]
    body = fa.Beam(length=1.3, sections=table, modes={"y": 3}, rotary_inertia=thick)
    np.testing.assert_allclose(frequencies(arm_of(body)), stepped(1.3, pieces, 3), rtol=FINE)


def test_a_linear_taper_gives_way_as_its_closed_form_says():
    """EI = a - c s under a force at the tip: int (L - s)^2 / EI ds; two static shapes of Craig and Bampton have it."""
    a, b, L, P = 5.0, 2.0, 1.0, 0.1
    table = {"x": [0, 1], "mass_per_length": [1.0, 0.6], "EI": [a, b]}
    body = fa.Beam(length=L, sections=table, modes={"y": 2}, shapes="craig-bampton")
    model = fa.Model(arm_of(body))
    K = np.column_stack([model.stiffness_force(e) for e in np.eye(2)])
    lever = np.array([np.array(model.tip(1e-6 * e))[1, 3] / 1e-6 for e in np.eye(2)])
    c = a - b  # with t = 1 - s: EI = b + c t
    expected = P * (1 / (2 * c) - b / c**2 + b**2 / c**3 * np.log((b + c) / b))
    np.testing.assert_allclose(lever @ np.linalg.solve(K, P * lever), expected, rtol=1e-6)


@pytest.mark.parametrize("family", ["polynomial", "clamped-mass"])
def test_integrals_respect_the_breaks(family):
    """Weighted with a mass that steps: exact for polynomials, piece by piece."""
    body = beam(modes={"y": 2}, shapes=family)
    basis = shapes.fitted(family, body, "y").basis(2)
    edges = np.unique([*TABLE["x"], *np.linspace(0, 1, 400)])
    t, w = np.polynomial.legendre.leggauss(6)
    M = np.zeros((2, 2))
    for a, b in pairwise(edges):
        x = (a + b) / 2 + (b - a) / 2 * t
        phi = basis.values(x)
        M += (phi.T * (w * (b - a) / 2 * body.profile(x).m * body.length)) @ phi
    found = fa.Model(arm_of(body)).mass_matrix(np.zeros(2))
    np.testing.assert_allclose(found, M, rtol=0, atol=1e-9 * np.abs(M).max())


# -- whole arms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "foreshortening"), [("clamped-mass", True), ("polynomial", False), ("craig-bampton", False)]
)
def test_an_arm_is_lagranges(family, foreshortening):
    body = beam(shapes=family, foreshortening=foreshortening, damping=0.02, tau=0.01)
    agrees(spatial(body, body, payload=fa.Payload(mass=0.3)))


def test_a_table_with_shear_and_lumps_is_lagranges():
    lumps = [{"at": 0.45, "mass": 0.3, "inertia": 0.01, "offset": (0.0, 0.05, 0.02)}]
    agrees(spatial(beam(sections=SHEARING, rotary_inertia=True, lumps=lumps, foreshortening=True)))


def test_energy_is_kept():
    arm = spatial(beam(sections=SHEARING, rotary_inertia=True, tau=1e-3))
    q = np.zeros(len(arm.coordinates))
    q[list(arm.flexible)] = 0.02
    run = fa.simulate(fa.Model(arm), 0.3, None, q0=q, samples=31, progress=False)
    assert abs(run.attrs["energy_drift"]) < 1e-7 * run.attrs["energy_scale"]


FILE = """
name = "boom"

[[links]]
name = "boom"
joint = { type = "revolute", axis = [0, 0, 1] }

[links.body]
type = "beam"
length = 2.0
modes = { y = 2, torsion = 1 }
tau = 1e-4
loss_factor = 0.01
rayleigh = { mass = 0.1, stiffness = 1e-5 }
lumps = [{ at = 0.5, mass = 0.2 }, { at = 1.0, mass = 0.1, inertia = 0.001, offset = [0.0, 0.05, 0.0] }]
rotary_inertia = true

[links.body.sections]
x = [0, 0.4, 0.4, 1]
mass_per_length = [3.0, 3.0, 1.5, 1.0]
EI = { y = [900.0, 900.0, 300.0, 150.0] }
GJ = [300.0, 300.0, 100.0, 50.0]
polar_inertia = [0.01, 0.01, 0.004, 0.002]
shear = { y = [9e5, 9e5, 4e5, 3e5] }
rotary_inertia = { y = [0.005, 0.005, 0.002, 0.001] }
"""


def test_all_of_it_stands_in_a_file(tmp_path: Path):
    path = tmp_path / "boom.toml"
    path.write_text(FILE)
    arm = fa.load(path)
    assert fa.Arm.from_json(arm.canonical()) == arm
    body = arm.links[0].body
    assert (body.tau, body.loss_factor, body.rayleigh.mass, body.rayleigh.stiffness) == (1e-4, 0.01, 0.1, 1e-5)
    assert [lump.mass for lump in body.lumps] == [0.2, 0.1]
    assert body.sections.part(0.0, 0.4).mass_per_length == (3.0, 3.0)
    agrees(arm)


# -- what is refused ---------------------------------------------------------------------------------------------------

WRONG = [
    ({"x": [0.0]}, "sections.x has 1 station; it must have from 2 to 500"),
    ({"x": [0.1, 0.5, 0.6, 0.7, 1]}, "sections.x goes from 0.1 to 1.0; it must go from 0 to 1"),
    (
        {"x": [0, 0.5, 0.4, 0.7, 1]},
        "sections.x[2] is 0.4; stations must increase; for a step, list a station between 0 and 1 twice",
    ),
    ({"x": [0, 0.5, 0.5, 0.5, 1]}, "sections.x[3] is 0.5; stations must increase"),
    ({"x": [0, 0, 0.5, 0.7, 1]}, "sections.x[1] is 0.0; stations must increase"),
    ({"GJ": [1.0]}, "sections.GJ has 1 number; it must have 5, one for each station"),
    ({"EI": {"y": [1.0, 2.0]}}, "sections.EI.y has 2 numbers; it must have 5"),
    ({"EI": {"x": [1.0, 2.0]}}, "sections.EI has the unknown key 'x'; allowed keys are y, z"),
    ({"EI": [1.0, 2.0, -1.0, 1.0, 1.0]}, "sections.EI[2] is -1.0 N m^2; it must be positive"),
]


@pytest.mark.parametrize(("options", "said"), WRONG, ids=[said for _, said in WRONG])
def test_a_wrong_table_is_one_line(options, said):
    with pytest.raises(DescriptionError) as caught:
        beam(sections=TABLE | options)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mass": 1.0}, "mass is given together with sections; give only one of mass, mass_per_length, sections, or "
                        "material and section"),
        ({"EI": 1.0}, "EI is given both here and in sections; give only one"),
        ({"polar_inertia": 1.0}, "polar_inertia is given both here and in sections; give only one"),
        ({"sections": SHEARING, "shear": 1.0}, "shear is given both here and in sections; give only one"),
        ({"sections": SHEARING, "rotary_inertia": 1.0}, "rotary_inertia is given both here and in sections"),
        ({"sections": SHEARING, "shear_coefficient": 0.8}, "shear_coefficient is given together with shear"),
        ({"rotary_inertia": True}, "rotary_inertia is true, but material and section are missing; give "
                                   "rotary_inertia as"),
        ({"sections": {name: TABLE[name] for name in ("x", "mass_per_length", "EI")}}, "GJ is missing; modes.torsion"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_what_is_wrong_beside_it_is_one_line(options, said):
    with pytest.raises(DescriptionError) as caught:
        beam(**options)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_telescope_is_uniform():
    with pytest.raises(DescriptionError, match="sections is given; the beam of a telescope must be uniform"):
        fa.Link(name="link", joint=fa.Telescope(), body=beam(modes={"y": 1}))


def test_numbers_of_sections_have_no_place_in_a_description():
    model = fa.Model(spatial(beam(tau=0.1)), vary=["link0.mass", "link0.tau"])
    with pytest.raises(DescriptionError, match="mass belongs to a tapered beam, which is described by its sections"):
        model.arm_at([1.0, 0.1])
    body = fa.Model(spatial(beam(tau=0.1)), vary=["link0.tau"]).arm_at([0.3]).links[0].body
    assert body.tau == 0.3 and body.sections == beam().sections
