"""Bodies that ride on links."""

import numpy as np
import pytest
from random_arms import random_state
from real_beams import FEW, FULL, ROUNDING, SOFT, agrees, arm_of, frequencies, lowest_roots, spatial
from scipy.linalg import expm

import flexarm as fa
from flexarm.errors import DescriptionError

POINT = {"at": 0.5, "mass": 0.3}
BODY = {"at": 0.7, "mass": 0.2, "inertia": (0.01, 0.02, 0.03), "offset": (0.05, -0.1, 0.07)}
AT_TIP = {"at": 1.0, "mass": 0.1, "offset": (0.0, 0.1, 0.0)}
FINE = 1e-6  # of 60 elements whose error is of fourth order in their length, in the first modes
TWISTED = ((0.02, 0.003, 0.001), (0.003, 0.03, -0.002), (0.001, -0.002, 0.025))


def exact(L, m, EI, count, at, mass, inertia=0.0, ahead=0.0):
    """Frequencies of a clamped beam with a body at a station, by the transfer matrices of the pieces beside it.

    The body's centre lies `ahead` along the beam; (w, w', M, Q), M = EI w'', Q = -EI w'''.
    """

    def determinant(omega):
        s = omega**2
        A = np.array([[0, 1, 0, 0], [0, 0, 1 / EI, 0], [0, 0, 0, -1], [-m * s, 0, 0, 0]])
        jump = np.eye(4)
        about = inertia + mass * ahead**2
        jump[2, :2] -= s * np.array([mass * ahead, about])
        jump[3, :2] -= s * np.array([mass, mass * ahead])
        end = expm(A * (1 - at) * L) @ jump @ expm(A * at * L)
        one, other = end[2:, 2:]
        return (one[0] * other[1] - one[1] * other[0]) / EI

    return lowest_roots(determinant, count, 0.01 * np.sqrt(EI / m) / L**2)


# -- modes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0.31, 0.5, 1.0])
@pytest.mark.parametrize(("inertia", "ahead"), [(0.0, 0.0), (0.05, 0.0), (0.05, 0.1)])
def test_frequencies_with_a_body_anywhere_are_those_of_two_pieces(at, inertia, ahead):
    L, m, EI, mass = 1.2, 0.8, 3.0, 0.6
    lump = {"at": at, "mass": mass, "inertia": inertia, "offset": (ahead, 0.0, 0.0)}
    body = fa.Beam(length=L, mass_per_length=m, EI=EI, modes={"y": 3}, lumps=[lump])
    expected = exact(L, m, EI, 3, at, mass, inertia, ahead)
    np.testing.assert_allclose(frequencies(arm_of(body)), expected, rtol=FINE)


@pytest.mark.parametrize(("plane", "about", "across"), [("y", 2, 1), ("z", 1, 2)])
def test_shapes_know_a_lump_that_is_not_round_and_lies_beside_the_axis(plane, about, across):
    """Of its inertia that about the axis of bending counts, of its offset what lies ahead and across in the plane."""
    L, m, EI, mass, inertia, offset = 1.2, 0.8, 3.0, 0.6, (0.01, 0.02, 0.05), (0.1, 0.2, -0.3)
    lump = {"at": 0.5, "mass": mass, "inertia": inertia, "offset": offset}
    body = fa.Beam(length=L, mass_per_length=m, EI=EI, modes={plane: 3}, lumps=[lump])
    expected = exact(L, m, EI, 3, 0.5, mass, inertia[about] + mass * offset[across] ** 2, offset[0])
    np.testing.assert_allclose(frequencies(arm_of(body)), expected, rtol=FINE)


def test_shapes_without_lumps_come_from_above():
    L, m, EI = 1.2, 0.8, 3.0
    body = fa.Beam(length=L, mass_per_length=m, EI=EI, modes={"y": 8}, shapes="polynomial", lumps=[POINT])
    expected = exact(L, m, EI, 2, 0.5, 0.3)
    found = frequencies(arm_of(body))[:2]
    assert np.all(found > expected * (1 - ROUNDING))
    np.testing.assert_allclose(found, expected, rtol=1e-3)  # the third derivative of polynomials cannot step


def test_a_lump_at_the_tip_is_a_payload():
    """Mass and inertia at the tip, on whatever carries them: with shapes that know no load, to rounding."""
    inertia = (0.02, 0.03, 0.01)
    body = fa.Beam(**SOFT, modes=FEW, shapes=dict.fromkeys(FEW, "polynomial"), foreshortening=True)
    ridden = spatial(body, body.replace(lumps=[{"at": 1.0, "mass": 0.4, "inertia": inertia}]))
    carried = spatial(body, body, payload=fa.Payload(mass=0.4, inertia=inertia))
    q, qd, u = random_state(ridden, 4)
    for name, arguments in (("mass_matrix", (q,)), ("bias", (q, qd)), ("gravity_force", (q,))):
        found, expected = (np.array(getattr(fa.Model(arm), name)(*arguments)) for arm in (ridden, carried))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_an_inner_links_shapes_know_the_lumps_beyond():
    """Its load is all that lies beyond: the same as a rigid link of that mass, centre and inertia."""
    inner = fa.Beam(**SOFT, modes={"y": 2, "z": 2}, shapes="clamped-mass")
    outer = fa.Rigid(length=0.6, mass=0.5, lumps=[POINT, BODY])
    mass, center, inertia = merged(outer)
    same = fa.Rigid(length=0.6, mass=mass, com=center, inertia=inertia)
    q, qd, u = random_state(spatial(inner, outer), 4)
    found, expected = (fa.Model(spatial(inner, body)).mass_matrix(q) for body in (outer, same))
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING * np.abs(expected).max())


# -- whole arms --------------------------------------------------------------------------------------------------------


def merged(body):
    """Mass, centre and inertia about it of a rigid link and its lumps, by Steiner's theorem."""

    def about(c):
        return c @ c * np.eye(3) - np.outer(c, c)

    rod = body.mass * body.length**2 / 12
    parts = [(body.mass, np.array([body.length / 2, 0, 0]), np.diag([0.0, rod, rod]))]
    for lump in body.lumps:
        parts.append(
            (lump.mass, np.array([lump.at * body.length, 0, 0]) + lump.offset, fa.description.arm.tensor(lump.inertia))
        )
    mass = sum(m for m, _, _ in parts)
    center = sum(m * c for m, c, _ in parts) / mass
    return mass, center, sum(I + m * about(c - center) for m, c, I in parts)


@pytest.mark.parametrize(("shapes", "foreshortening"), [("clamped-mass", False), ("polynomial", True)])
def test_a_flexible_arm_is_lagranges(foreshortening, shapes):
    body = fa.Beam(
        **SOFT,
        modes=FEW,
        lumps=[POINT, BODY, AT_TIP],
        foreshortening=foreshortening,
        shapes=shapes,
        damping=0.02,
        tau=0.01,
    )
    agrees(spatial(body, body, payload=fa.Payload(mass=0.3)))


def test_rigid_links_are_lagranges():
    body = fa.Rigid(length=0.8, mass=2.0, lumps=[POINT, {**BODY, "inertia": TWISTED}])
    agrees(spatial(body, body))


def test_a_rigid_beam_keeps_its_lumps():
    body = fa.Beam(**SOFT, modes={}, lumps=[POINT, BODY])
    agrees(spatial(body, body))
    rigid = spatial(body, body).rigid()
    assert all(len(link.body.lumps) == 2 for link in rigid.links)
    q = np.array([0.4, -0.7])
    np.testing.assert_allclose(
        fa.Model(rigid).mass_matrix(q), fa.Model(spatial(body, body)).mass_matrix(q), rtol=0, atol=ROUNDING
    )


def test_shapes_pinned_at_the_hub_carry_lumps():
    agrees(spatial(fa.Beam(**SOFT, modes=FEW, shapes="pinned-free", lumps=[POINT, BODY])))


def test_point_masses_cost_nothing():
    """They are a density like the beam's own: what is more are products that were zero, of shapes orthogonal before."""
    body = fa.Beam(**SOFT, modes=FULL, shapes="polynomial", foreshortening=True)
    ridden = body.replace(lumps=[POINT, {"at": 0.3, "mass": 0.1}])
    counts = [fa.Model(spatial(each, each)).function("forward_dynamics").n_instructions() for each in (body, ridden)]
    assert counts[1] <= counts[0] * 1.05
    sparse = body.replace(shapes="clamped-mass", foreshortening=False, modes={"y": 2})
    ridden = sparse.replace(lumps=[POINT])
    counts = [fa.Model(spatial(each)).function("forward_dynamics").n_instructions() for each in (sparse, ridden)]
    assert counts[1] <= counts[0] + 8


def test_energy_is_kept():
    body = fa.Beam(**SOFT, modes=FULL, lumps=[POINT, BODY], tau=1e-3)
    arm = spatial(body)
    q = np.zeros(len(arm.coordinates))
    q[list(arm.flexible)] = 0.02
    run = fa.simulate(fa.Model(arm), 0.3, None, q0=q, samples=31, progress=False)
    assert abs(run.attrs["energy_drift"]) < 1e-7 * run.attrs["energy_scale"]


# -- numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rigid", "beam"])
def test_what_varies_is_the_rebuilt_arm(kind):
    lumps = [POINT, {**BODY, "inertia": TWISTED}]
    if kind == "rigid":
        body = fa.Rigid(length=0.8, mass=2.0, lumps=lumps)
    else:
        body = fa.Beam(**SOFT, modes=FEW, shapes="polynomial", lumps=lumps, tau=0.01)
    arm = spatial(body)
    values = {
        "link0.length": 0.9, "link0.lumps.1.mass": 0.9, "link0.lumps.1.offset.y": 0.2, "link0.lumps.2.mass": 0.1,
        "link0.lumps.2.offset.x": -0.1, "link0.lumps.2.inertia.xx": 0.05, "link0.lumps.2.inertia.xy": -0.001,
    }  # fmt: skip
    model = fa.Model(arm, vary=list(values))
    p = [values[parameter.name] for parameter in model.parameters]
    changed = np.array(TWISTED)
    changed[0, 0], changed[0, 1], changed[1, 0] = 0.05, -0.001, -0.001
    other = [
        {"at": 0.5, "mass": 0.9, "offset": (0.0, 0.2, 0.0)},
        {"at": 0.7, "mass": 0.1, "offset": (-0.1, -0.1, 0.07), "inertia": changed},
    ]
    rebuilt = fa.Model(spatial(body.replace(length=0.9, lumps=other)))
    q, qd, u = random_state(arm, 4)
    for name, arguments in (
        ("mass_matrix", (q,)), ("bias", (q, qd)), ("gravity_force", (q,)), ("forward_dynamics", (q, qd, u)),
    ):  # fmt: skip
        found, expected = np.array(getattr(model, name)(*arguments, p=p)), getattr(rebuilt, name)(*arguments)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * max(1.0, np.abs(expected).max()))


def test_closed_forms_have_the_mass_of_a_lump():
    arm = arm_of(fa.Beam(length=1.0, mass=1.0, EI=2.0, modes={"y": 1}, shapes="clamped-free", lumps=[POINT]))
    equations = fa.equations(arm)
    assert "ml_1_1" in {str(symbol) for symbol in equations.M.free_symbols}
    values = {p.symbol: p.value for p in equations.parameters}
    found = np.array(equations.M.subs({s: values[str(s)] for s in equations.M.free_symbols}), dtype=float)
    np.testing.assert_allclose(found, fa.Model(arm).mass_matrix(np.zeros(1)), rtol=1e-12)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lumps", "said"),
    [
        (0.3, "lumps is 0.3; it must be a list of lumps, such as [{at = 0.5, mass = 0.2}]"),
        ([{"at": 1.5, "mass": 1.0}], "lumps[0].at is 1.5; it must be from 0 to 1"),
        ([{"at": 0.5}], "lumps[0].mass is missing"),
        ([{"at": 0.5, "mass": -1.0}], "lumps[0].mass is -1.0 kg; it must be zero or positive"),
        (
            [{"at": 0.5, "mass": 1.0, "place": 2}],
            "lumps[0]: unknown key 'place'; allowed keys are at, mass, inertia, offset",
        ),
        ([{"at": 0.5, "mass": 1.0}] * 51, "lumps has 51 lumps; a link has at most 50"),
    ],
)
def test_what_is_wrong_is_one_line(lumps, said):
    for make in (lambda: fa.Rigid(length=1.0, mass=1.0, lumps=lumps), lambda: fa.Beam(**SOFT, lumps=lumps)):
        with pytest.raises(DescriptionError) as caught:
            make()
        assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_telescope_carries_none():
    body = fa.Beam(length=1.0, mass=1.0, EI=1.0, lumps=[POINT])
    with pytest.raises(DescriptionError, match="lumps are given, but the beam of a telescope cannot carry lumps"):
        fa.Link(name="link", joint=fa.Telescope(), body=body)
