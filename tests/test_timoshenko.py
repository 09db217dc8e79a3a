"""Beams that shear, with rotary inertia: against the solution of Timoshenko's equations by matrix exponentials."""

import numpy as np
import pytest
from random_arms import random_state
from real_beams import FEW, FULL, ROUNDING, SOFT, agrees, arm_of, frequencies, lowest_roots, spatial
from scipy.linalg import expm

import flexarm as fa
from flexarm import shapes
from flexarm.errors import DescriptionError
from flexarm.shapes.fine import fine_model, lowest, null_space

FOUR_DIGITS = 5e-5
FINE = 1e-6  # of 60 elements whose error is of fourth order in their length, in the first four modes

STEEL = fa.Material(E=210e9, density=7800.0, poisson=0.3)
OF_THE_BEAM = shapes.OF_THE_BEAM


def thick(height=0.2, count=4, family="clamped-mass", **options):
    """A steel beam of 1 m and a width of 0.1 m; 0.2 m high it is as thick as one may still call a beam."""
    section = fa.Box(width=height, height=0.1)
    both = {"shear_coefficient": 5 / 6, "rotary_inertia": True, **options}
    return fa.Beam(length=1.0, material=STEEL, section=section, modes={"y": count}, shapes=family, **both)


def exact(beam, count, mass=0.0, inertia=0.0, held=False):
    """Frequencies of a uniform beam clamped at x = 0 by shooting: w' = psi + Q / kGA, psi' = M / EI, and so on.

    At the tip a body, or, `held`, a clamp.
    """
    along, L = beam.profile(0.0), beam.length
    m, EI, kGA, rho_I = (float(x[0]) for x in (along.m, along.EI_y, along.kGA_y, along.rho_I_y))
    shear = 1 / kGA if kGA else 0.0

    def determinant(omega):
        s = omega**2
        A = np.array([[0, 1, 0, shear], [0, 0, 1 / EI, 0], [0, -rho_I * s, 0, -1], [-m * s, 0, 0, 0]])
        w, psi, M, Q = expm(A * L)[:, 2:]
        one, other = (w, psi) if held else (M - inertia * s * psi, Q - mass * s * w)
        return (one[0] * other[1] - one[1] * other[0]) / EI

    return lowest_roots(determinant, count, 0.02 * np.sqrt(EI / m) / L**2)


# -- frequencies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("height", [0.01, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("load", [(0.0, 0.0), (30.0, 2.0)], ids=["free", "with a body at the tip"])
@pytest.mark.parametrize("family", ["clamped-mass", "hermite-modes"])
def test_frequencies_are_timoshenkos(height, load, family):
    body = thick(height, family=family)
    payload = fa.Payload(mass=load[0], inertia=load[1]) if load[0] else None
    np.testing.assert_allclose(frequencies(arm_of(body, payload)), exact(body, 4, *load), rtol=FINE)


def test_clamped_free_shapes_leave_the_load_out():
    body = thick(family="clamped-free", count=6)
    np.testing.assert_allclose(frequencies(arm_of(body))[:4], exact(body, 4), rtol=FINE)
    loaded = frequencies(arm_of(body, fa.Payload(mass=30.0, inertia=2.0)))
    assert np.all(loaded[:2] > exact(body, 2, 30.0, 2.0) * (1 - ROUNDING))  # Rayleigh and Ritz: from above
    np.testing.assert_allclose(loaded[0], exact(body, 1, 30.0, 2.0)[0], rtol=1e-3)  # six shapes that know no load


def test_craig_bampton_comes_from_above():
    body = thick(family="craig-bampton", count=8)
    for load in ((0.0, 0.0), (30.0, 2.0)):
        payload = fa.Payload(mass=load[0], inertia=load[1]) if load[0] else None
        found, expected = frequencies(arm_of(body, payload))[:3], exact(body, 3, *load)
        assert np.all(found > expected * (1 - ROUNDING))
        np.testing.assert_allclose(found[:2], expected[:2], rtol=5e-4)  # eight shapes, static under a force at the tip


CLAMPED = {0.1: (4.57955, 7.33122, 9.85611, 12.1454), 0.2: (4.24201, 6.41794, 8.28532, 9.90372)}
"""Lee & Schultz, Eigenvalue analysis of Timoshenko beams and axisymmetric Mindlin plates by the pseudospectral method,
Journal of Sound and Vibration 269 (2004), Table 1: sqrt(omega L^2 sqrt(m / EI)) of a beam clamped at both ends, of
h / L, nu = 0.3 and kappa = 5/6."""


@pytest.mark.parametrize("height", CLAMPED)
def test_a_beam_clamped_at_both_ends_has_published_frequencies(height):
    """The fine model with its tip held, and the equations by shooting: two opinions on six printed digits."""
    body = thick(height)
    fine = fine_model(body, "y", 4)
    rows = np.array([fine.deflection(1.0)[0], fine.rotation(1.0)[0]])
    free = null_space(rows)
    omega2, _ = lowest(free.T @ fine.M @ free, free.T @ fine.K @ free, 4)
    unit = np.sqrt(float(body.profile(0.0).EI_y[0]) / body.m)
    printed = 4e-6  # half a unit of the last printed digit of 12.1454; the others have one more
    np.testing.assert_allclose(omega2**0.25 / np.sqrt(unit), CLAMPED[height], rtol=printed)
    np.testing.assert_allclose(np.sqrt(exact(body, 4, held=True) / unit), CLAMPED[height], rtol=printed)


def test_frequencies_converge_with_the_fourth_power_of_an_element(monkeypatch):
    body, errors = thick(), []
    for elements in (16, 32):
        monkeypatch.setattr("flexarm.shapes.fine.FEWEST", elements)
        fine = fine_model(body, "y", 3)
        errors.append(np.sqrt(lowest(fine.M, fine.K, 3)[0]) / exact(body, 3) - 1)
    order = np.log2(errors[0] / errors[1])
    assert np.all((order > 3.8) & (order < 4.2)), order


def test_a_slender_beam_does_not_lock():
    """A height of 10^-5: kappa G A L^2 is 10^10 times EI, and the frequencies are Euler and Bernoulli's."""
    body = thick(1e-5)
    slender = body.replace(shear_coefficient=None, rotary_inertia=False, shapes="hermite-modes")
    np.testing.assert_allclose(frequencies(arm_of(body)), frequencies(arm_of(slender)), rtol=1e-7)


def test_each_alone():
    shear, rotary = thick(rotary_inertia=False), thick(shear_coefficient=None)
    for body in (shear, rotary):
        np.testing.assert_allclose(frequencies(arm_of(body)), exact(body, 4), rtol=FINE)
    both = exact(thick(), 2)
    assert np.all(both < exact(shear, 2)) and np.all(both < exact(rotary, 2))


# -- statics -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["craig-bampton", "clamped-mass"])
def test_the_tip_gives_way_to_a_force_and_turns_with_its_section(family):
    """P L^3 / (3 EI) + P L / (kappa G A); the next link's angle is psi(L) = P L^2 / (2 EI), without the shear."""
    body = thick(count=2 if family == "craig-bampton" else 30, family=family)
    arm = arm_of(body)
    model, n, P = fa.Model(arm), len(arm.coordinates), 1e4
    K = np.column_stack([model.stiffness_force(e) for e in np.eye(n)])
    unit = 1e-6
    lever = np.array([np.array(model.tip(unit * e))[1, 3] / unit for e in np.eye(n)])
    q = np.linalg.solve(K, P * lever)
    T = np.array(model.tip(q))
    along = body.profile(0.0)
    EI, kGA = float(along.EI_y[0]), float(along.kGA_y[0])
    tolerance = 1e-9 if family == "craig-bampton" else 2e-3  # static shapes are in the first; modes converge
    np.testing.assert_allclose(lever @ q, P / 3 / EI + P / kGA, rtol=tolerance)
    np.testing.assert_allclose(T[1, 0], np.sin(P / 2 / EI), rtol=10 * tolerance)


# -- the whole arm, against the oracle ---------------------------------------------------------------------------------

SHEARED = {"shear": {"y": 300.0, "z": 500.0}, "rotary_inertia": {"y": 0.02, "z": 0.01}}


@pytest.mark.parametrize(
    ("family", "foreshortening"), [("clamped-free", False), ("clamped-mass", True), ("craig-bampton", False)]
)
def test_an_arm_is_lagranges(family, foreshortening):
    body = fa.Beam(
        **SOFT,
        **SHEARED,
        modes=FEW,
        shapes=family,
        foreshortening=foreshortening,
        damping=0.02,
        tau=0.01,
        loss_factor=0.03,
    )
    agrees(spatial(body, body, payload=fa.Payload(mass=0.4, inertia=0.1)))


def test_shear_along_one_direction_alone():
    body = fa.Beam(**SOFT, shear={"z": 300.0}, rotary_inertia={"y": 0.02}, modes=FEW, next_joint="chord")
    assert body.shears("z") and not body.shears("y")
    agrees(spatial(body, body))


def test_a_tapered_beam_of_a_material_shears():
    tip = fa.Box(width=0.1, height=0.05)
    body = thick(section_tip=tip).replace(modes={"y": 2, "z": 2}, foreshortening=True)
    agrees(spatial(body, payload=fa.Payload(mass=30.0)))


def test_a_rigid_beam_keeps_its_rotary_inertia():
    body = fa.Beam(**SOFT, rotary_inertia={"y": 0.02, "z": 0.01}, modes={})
    agrees(spatial(body, body))
    rigid, L = np.diag(body.rigid().inertia_tensor), body.length
    rod = 1.2 * L**2 / 12
    np.testing.assert_allclose(rigid, [0.01 * L, rod + 0.01 * L, rod + 0.02 * L], rtol=ROUNDING)
    model, other = fa.Model(spatial(body, body)), fa.Model(spatial(body.rigid(), body.rigid()))
    q = np.array([0.3, -0.4])
    np.testing.assert_allclose(model.mass_matrix(q), other.mass_matrix(q), rtol=ROUNDING)


def test_a_rigid_tapered_beam_keeps_its_rotary_inertia():
    """Of a table: int rho I of each plane beside that of the rod, y's about z."""
    table = {"x": [0, 1], "mass_per_length": [2.0, 2.0], "EI": [1.0, 1.0], "rotary_inertia": {"y": [1, 3], "z": [5, 7]}}
    made = fa.Beam(length=3.0, sections=table, rotary_inertia=True).rigid()
    rod = 6.0 * 3.0**2 / 12
    np.testing.assert_allclose(made.inertia, (0.0, rod + 6.0 * 3.0, rod + 2.0 * 3.0), rtol=1e-12)


# -- numbers that vary -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("modes", "planes"), [({"y": 1, "z": 1}, 2), ({"y": 1}, 1), ({"z": 1}, 1)])
@pytest.mark.parametrize("field", ["shear", "EI"])
def test_stiffness_has_a_name_for_each_plane_in_which_it_differs(field, modes, planes):
    """A parameter of each plane in which the beam bends, or of both where they are alike."""
    given = {"EI": 30.0, "shear": 300.0}
    for values in ((1.0, 1.0), (1.0, 2.0)):
        factors = dict(zip("yz", values, strict=True))
        some = given | {field: {plane: factor * given[field] for plane, factor in factors.items()}}
        arm = spatial(fa.Beam(length=0.7, mass=1.2, modes=modes, shapes="craig-bampton", **some))
        names = {p.name: p.value for p in fa.equations(arm).parameters if p.name.split(".")[1] == field}
        if planes == 2 and values[0] != values[1]:
            assert names == {f"link0.{field}.{plane}": some[field][plane] for plane in "yz"}
        else:
            assert names == {f"link0.{field}": some[field][min(modes)]}


def test_stiffness_against_shear_varies():
    """With shapes that do not follow it: two of Craig and Bampton's are not enough for that, so they are kept."""
    body = fa.Beam(**SOFT, **SHEARED, modes=FULL, shapes="craig-bampton", tau=0.01)
    arm = spatial(body)
    names = ["link0.shear.y", "link0.EI.z", "link0.tau", "link0.rotary_inertia.y"]
    model = fa.Model(arm, vary=names)
    q, qd, _ = random_state(arm, 3)
    kept = fa.Model(arm)
    for name in ("mass_matrix", "stiffness_force", "damping_force"):
        arguments = {"mass_matrix": (q,), "stiffness_force": (q,), "damping_force": (q, qd)}[name]
        nominal = getattr(model, name)(*arguments)
        np.testing.assert_allclose(nominal, getattr(kept, name)(*arguments), rtol=0, atol=1e-12 * np.abs(nominal).max())
    p = np.array([x.value for x in model.parameters])
    more = p.copy()
    more[0] *= 2.0
    y, z = (slice(1, 3), slice(3, 5))  # the flexible coordinates behind the joint's
    change = model.stiffness_force(q, p=more) - model.stiffness_force(q, p=p)
    assert np.abs(change[y]).max() > 0 and np.abs(change[z]).max() == 0
    np.testing.assert_allclose(model.stiffness_force(q, p=more), 0.5 * (
        model.stiffness_force(q, p=p) + model.stiffness_force(q, p=p + 2 * (more - p))
    ), atol=ROUNDING)  # fmt: skip


def test_rotary_inertia_follows_the_length():
    """It is given per length: a beam that is made longer is the rebuilt one, where its shapes do not follow it."""
    body = fa.Beam(**SOFT, rotary_inertia={"y": 0.02, "z": 0.01}, modes=FEW, shapes="polynomial", tau=0.01)
    arm, values = spatial(body), {"link0.length": 0.9, "link0.rotary_inertia.z": 0.03}
    q, qd, _ = random_state(arm, 3)
    for varied in (["link0.length"], list(values)):
        model = fa.Model(arm, vary=varied)
        given = {"y": 0.02, "z": 0.01 if len(varied) == 1 else 0.03 / 0.9}
        rebuilt = fa.Model(spatial(body.replace(length=0.9, rotary_inertia=given)))
        p = [values[parameter.name] for parameter in model.parameters]
        for name, arguments in (("mass_matrix", (q,)), ("bias", (q, qd)), ("damping_force", (q, qd))):
            found, expected = (
                getattr(each, name)(*arguments, **more) for each, more in ((model, {"p": p}), (rebuilt, {}))
            )
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * max(1.0, np.abs(expected).max()))


def test_modes_that_follow_many_numbers_keep_them():
    body = fa.Beam(**SOFT, **SHEARED, modes=FULL, damping=0.02)
    with pytest.raises(DescriptionError, match=r"link0.EI.y.*the modal damping of a link with lumps, shear, rotary"):
        fa.Model(spatial(body), vary=["link0.EI.y"])
    with pytest.raises(DescriptionError, match=r"link0.damping_ratio.*vary tau instead"):
        fa.Model(spatial(body.replace(damping=0.0)), vary=["link0.damping_ratio"])


# -- what is refused ---------------------------------------------------------------------------------------------------

WRONG = [
    ({"shear": -1.0}, "shear is -1.0 N; it must be positive"),
    ({"shear": {"x": 1.0}}, "shear has the unknown key 'x'; allowed keys are y, z"),
    (
        {"shear_coefficient": 0.8},
        "material is missing; shear_coefficient needs material and section (or give shear instead)",
    ),
    ({"shear": 1.0, "shear_coefficient": 0.8}, "shear_coefficient is given together with shear; give only one"),
    ({"rotary_inertia": True}, "rotary_inertia is true, but material and section are missing; give rotary_inertia as"),
    ({"rotary_inertia": -1.0}, "rotary_inertia is -1.0 kg m; it must be zero or positive"),
    ({"rotary_inertia": {"y": "a"}}, "rotary_inertia.y is 'a'; it must be a number in kg m"),
    (
        {"shear": 1.0, "shapes": "polynomial"},
        "shapes is 'polynomial', which has no shear deformation; it must be 'clamped-free'",
    ),
    ({"shear": 1.0, "shapes": {"z": "polynomial"}}, "shapes.z is 'polynomial', which has no shear"),
    ({"shear": 1.0, "shapes": {"family": "clamped-mass", "mass_ratio": 1.0}}, "shapes is 'clamped-mass', which has no"),
]


@pytest.mark.parametrize(("options", "said"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_wrong_is_one_line(options, said):
    with pytest.raises(DescriptionError) as caught:
        fa.Beam(length=1.0, mass=1.0, EI=1.0, **{"modes": {"y": 1, "z": 1}, **options})
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_shear_coefficient_needs_a_shear_modulus():
    material = fa.Material(E=1e9, density=1e3)
    with pytest.raises(
        DescriptionError, match=r"material.G is missing; shear_coefficient needs material.G or material.poisson"
    ):
        fa.Beam(length=1.0, material=material, section=fa.Rod(diameter=0.1), shear_coefficient=0.9)


def test_a_telescope_neither_shears_nor_has_rotary_inertia():
    for options, said in (({"shear": 1.0}, "shear is given"), ({"rotary_inertia": 1.0}, "rotary_inertia is given")):
        body = fa.Beam(length=1.0, mass=1.0, EI=1.0, **options)
        with pytest.raises(DescriptionError, match=f"{said}, but the beam of a telescope has neither shear nor rotary"):
            fa.Link(name="link", joint=fa.Telescope(), body=body)
