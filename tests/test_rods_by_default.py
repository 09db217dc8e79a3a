"""Torsion and stretch with the default shapes: one mode beside the exact first frequency, with loads of all sizes."""

import numpy as np
import pytest
from scipy.optimize import brentq

import flexarm as fa
from flexarm.mechanics.chain import shapes_of
from flexarm.shapes import FixedLoaded

L, GJ, EA, INERTIA, MASS = 4.0, 8.0e3, 1e6, 0.35, 2.0
DIRECTIONS = ["torsion", "axial"]
X = np.linspace(0.05, 1.0, 8)


def rod(direction, count, ratio, **more):
    """A fixed rod with a body of `ratio` times its own inertia at the tip."""
    given = {"length": L, "mass_per_length": MASS, "GJ": GJ, "EA": EA, "polar_inertia": INERTIA, **more}
    body = fa.Beam(**given, modes={direction: count})
    load = fa.Payload(mass=ratio * MASS * L, inertia=ratio * INERTIA * L) if ratio else None
    return fa.Model(fa.Arm(name="rod", links=[fa.Link(name="a", joint=fa.Fixed(), body=body)], payload=load))


def exact(direction, ratio):
    """mu beta tan(beta) = 1, omega = beta / L sqrt(GJ / rho Ip), or sqrt(EA / m)."""
    beta = brentq(lambda b: ratio * b * np.sin(b) - np.cos(b), 1e-9, np.pi / 2 + 1e-9)
    return beta / L * np.sqrt(GJ / INERTIA if direction == "torsion" else EA / MASS)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("ratio", [0.0, 0.1, 1.0, 10.0, 100.0])
def test_one_mode_has_the_first_frequency_of_the_rod(direction, ratio):
    assert rod(direction, 1, ratio).frequencies(np.zeros(1))[0] == pytest.approx(exact(direction, ratio), rel=1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_each_mode_of_a_free_rod_is_exact(direction):
    omega = rod(direction, 3, 0.0).frequencies(np.zeros(3))
    assert omega == pytest.approx(exact(direction, 0.0) * np.array([1.0, 3.0, 5.0]), rel=1e-9)
    assert direction == "axial" or omega[0] == pytest.approx(59.37, abs=5e-3)


def elbow(shapes, count, mass, **hub):
    """A shaft that carries a forearm of 0.5 m on a joint across its axis."""
    body = fa.Beam(length=1.0, mass=1.0, GJ=10.0, polar_inertia=0.01, modes={"torsion": count}, **shapes)
    forearm = fa.Rigid(length=0.5, mass=mass, inertia=mass * np.array([1e-3, 0.25 / 12, 0.25 / 12]))
    links = [
        fa.Link(name="shaft", joint=fa.Fixed(), body=body),
        fa.Link(name="forearm", joint=fa.Revolute(axis=(0, 0, 1)), body=forearm, **hub),
    ]
    return fa.Arm(name="elbow", links=links)


def first(arm, angle):
    """The first frequency with the elbow at this angle."""
    model = fa.Model(arm)
    q = np.zeros(model.nv)
    q[model.arm.joints[-1]] = angle
    return model.frequencies(q)[0]


@pytest.mark.parametrize("mass", [0.01, 0.1, 1.0])
def test_behind_an_elbow_it_has_the_load_of_the_bent_arm(mass):
    """Right where the elbow is bent by a right angle, and at no angle worse than the polynomial."""
    polynomial = {"shapes": {"torsion": "polynomial"}}
    for angle in (0.0, 0.5, np.pi / 2):
        right = first(elbow(polynomial, 8, mass), angle)
        error = abs(first(elbow({}, 1, mass), angle) / right - 1.0)
        assert error <= abs(first(elbow(polynomial, 1, mass), angle) / right - 1.0) + 1e-9
        assert error < 1e-6 or angle < 1.0


def test_only_joints_beyond_the_tip_change_the_load_of_a_shaft():
    """A bar across the tip counts as it stands if it is fixed, even where a joint moves what hangs on the shaft's root.

    If it turns, it counts with half the trace of its inertia about the tip, behind a fixed link too.
    """
    bar = fa.Rigid(length=0.5, mass=0.3, inertia=(2e-3, 6e-3, 7e-3))
    fixed = fa.Link(name="bar", joint=fa.Fixed(), body=bar, placement={"rpy": (0.0, 0.0, 0.4)})
    turning = fixed.replace(joint=fa.Revolute())
    beside = fa.Link(name="beside", parent="shaft", at=0.0, body=bar)
    stub = fa.Link(name="stub", joint=fa.Fixed(), body=fa.Rigid(length=0.1, mass=0.2))
    across = 2e-3 * np.cos(0.4) ** 2 + (6e-3 + 0.3 * 0.25**2) * np.sin(0.4) ** 2
    center = 0.1 + 0.25 * np.exp(0.4j)
    cases = {
        "fixed": ([fixed, beside], across),
        "turns": ([turning], 7.5e-3 + 0.3 * 0.25**2),
        "turns behind a fixed link": ([stub, turning], 7.5e-3 + 0.3 * abs(center) ** 2 + 0.2 * 0.1**2 / 3),
    }
    for name, (beyond, load) in cases.items():
        found = shapes_of(fa.Arm(name="bars", links=[elbow({}, 1, 0.1).links[0], *beyond]))["shaft.torsion"]
        expected = FixedLoaded(load_ratio=load / 0.01).basis(1)
        np.testing.assert_allclose(found.values(X), expected.values(X), rtol=1e-13, err_msg=name)


def test_a_number_that_shapes_follow_weakly_is_found():
    """A hub's inertia of 1e-7 of the load: 3 % of it move the shaft's shapes by less than 1e-9."""
    arm = elbow({}, 1, 0.1, hub_inertia=1e-9)
    more = arm.replace(links=[arm.links[0], arm.links[1].replace(hub_inertia=1.03e-9)])
    mine, theirs = (shapes_of(x)["shaft.torsion"].values(X) for x in (arm, more))
    assert 1e-12 < np.abs(mine - theirs).max() < 1e-9
    model = fa.Model(arm, vary=["forearm.hub_inertia", "shaft.GJ"])
    assert {x.name: x.shapes for x in model.parameters} == {"forearm.hub_inertia": ("shaft.torsion",), "shaft.GJ": ()}


def test_rods_of_which_no_shape_is_known_have_polynomials():
    steel = fa.Material(E=2.1e11, density=7850.0, poisson=0.3)
    tapered = {"material": steel, "section": fa.Rod(diameter=0.02), "section_tip": fa.Rod(diameter=0.01)}
    plain = {"mass": 1.0, "EI": 1.0, "GJ": 1.0, "EA": 1.0}
    for more in (tapered, plain | {"segments": 2}, plain | {"lumps": [fa.Lump(at=0.5, mass=0.1)]}):
        families = fa.Beam(length=1.0, modes={"y": 1, "torsion": 1, "axial": 1}, **more).families
        assert families["torsion"] == families["axial"] == "polynomial"
    families = fa.Beam(length=1.0, modes={"y": 1, "torsion": 1, "axial": 1}, **plain).families
    assert families["torsion"] == families["axial"] == "fixed-loaded"


def test_a_part_of_a_beam_has_its_shapes():
    """Half a beam carries no lump, and a segment is a beam in one piece; both keep the polynomials of the whole."""
    plain = {"length": 1.0, "mass": 1.0, "EI": 1.0, "GJ": 1.0, "modes": {"y": 1, "torsion": 1}}
    for more in ({"lumps": [fa.Lump(at=0.9, mass=0.1)]}, {"segments": 2}, {}):
        whole = fa.Beam(**plain, **more)
        assert whole.part(0.0, 0.5).families == whole.families
