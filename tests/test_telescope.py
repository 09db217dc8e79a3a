"""Telescopes whose shapes follow the load: numbers as series in the length, and what they cost."""

from functools import cache

import casadi as ca
import numpy as np
import pytest

import flexarm as fa
from flexarm.mechanics.series import Series, interpolated, nodes
from flexarm.mechanics.spatial import entries
from flexarm.native.program import operations
from flexarm.shapes import frequency_equation, loaded_roots
from flexarm.shapes.loaded import roots_along

LOW, HIGH = 0.12, 1.2
# kg, kg m^2: next to none, a point, one whose inertia makes wave numbers nearly meet, and others
LOADS = [(1e-6, 0.0), (0.5, 0.0), (0.1, 1e-5), (0.5, 0.01), (50.0, 3.0), (1e-3, 5.0)]


def functions(length):
    return [np.sin(3 * length), np.sqrt(length), 2.0 + 0 * length, 1 / (0.3 + length**2), 1e-6 * np.exp(length)]


def slopes(length):
    long = 0.3 + length**2
    return [3 * np.cos(3 * length), 0.5 / np.sqrt(length), 0 * length, -2 * length / long**2, 1e-6 * np.exp(length)]


@pytest.fixture(scope="module")
def series():
    lengths = nodes(LOW, HIGH)
    return interpolated(LOW, HIGH, lengths, np.array(functions(lengths)).T)


def test_a_series_is_the_function(series):
    at = np.linspace(LOW, HIGH, 57)
    np.testing.assert_allclose(series.values(at), np.array(functions(at)).T, rtol=1e-12)
    np.testing.assert_allclose(series.slopes(at), np.array(slopes(at)).T, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(series.slope.values(at), np.array(slopes(at)).T, rtol=1e-9, atol=1e-9)


def test_a_series_as_an_expression_has_the_values_and_the_slopes_of_its_numbers(series):
    length = ca.SX.sym("length")
    numbers = ca.vertcat(*series.at(entries(length)[0]))
    both = ca.Function("both", [length], [numbers, ca.jacobian(numbers, length)])
    for at in (0.13, 0.5, 1.19):
        value, slope = (np.array(x).ravel() for x in both(at))
        np.testing.assert_allclose(value, series.values(at), rtol=1e-13)
        np.testing.assert_allclose(slope, series.slopes(at), rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(series.at(at), series.values(at))


def test_a_number_that_is_not_known_better_has_no_terms_of_its_noise():
    lengths = nodes(LOW, HIGH)
    noise = np.random.default_rng(1).uniform(-1e-9, 1e-9, len(lengths))
    exact, noisy = (interpolated(LOW, HIGH, lengths, (np.sin(lengths) + more)[:, None]) for more in (0.0, noise))
    assert len(exact.coefficients) < 25
    assert len(noisy.coefficients) < len(exact.coefficients)


def test_series_are_the_same_by_their_numbers(series):
    again = Series(series.low, series.high, series.coefficients.copy())
    assert again == series
    assert hash(again) == hash(series)
    assert Series(series.low, series.high, 2 * series.coefficients) != series


def test_wave_numbers_of_many_bodies_are_those_of_each():
    ratios = np.random.default_rng(2).uniform(0.0, 2.0, (7, 3)) * [1.0, 0.5, 0.1]
    ratios[:, 2] = np.minimum(ratios[:, 2], np.sqrt(ratios[:, 0] * ratios[:, 1]))
    found = roots_along(5, ratios)
    assert found.shape == (7, 5)
    f = [frequency_equation(beta, *each) / np.cosh(beta) for beta, each in zip(found, ratios, strict=True)]
    np.testing.assert_allclose(f, 0.0, atol=1e-10)
    for beta, each in zip(found, ratios, strict=True):
        np.testing.assert_allclose(beta, loaded_roots(5, *each), rtol=1e-14)


def arm(free_length, wave_numbers, load=(0.5, 0.01), modes=None, shapes="clamped-mass"):
    joint = fa.Telescope(free_length=free_length, wave_numbers=wave_numbers)
    EI = {"y": 40.0, "z": 60.0}
    beam = fa.Beam(length=HIGH, mass=0.8, EI=EI, modes=modes or {"y": 3, "z": 3}, shapes=shapes, polar_inertia=1e-3)
    turn = fa.Link(name="turn", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=0.1, mass=1.0), hub_inertia=0.1)
    payload = fa.Payload(mass=load[0], inertia=load[1])
    return fa.Arm(name="slide", links=[turn, fa.Link(name="slide", joint=joint, body=beam)], payload=payload)


def stretched(model, length):
    q = np.zeros(len(model.coordinates))
    q[1] = length
    return q


@cache
def frequencies_at(length, load):
    """Squared frequencies of the arm whose shapes are those of one length, at that length."""
    return frequencies_of(fa.Model(arm(length, "fixed", load)), length)


def frequencies_of(model, length):
    q = ca.SX.sym("q", 8)
    strain = ca.jacobian(model.function("stiffness_force")(q), q)
    both = ca.Function("both", [q], [model.function("mass_matrix")(q), strain])
    M, K = (np.array(x)[2:, 2:] for x in both(stretched(model, length)))
    return np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real)


# integrated wave numbers are good to 1e-11, and modes far above mix into the lowest: a millionfold with the last load
@pytest.mark.parametrize(("wave_numbers", "rtol"), [("solved", 1e-11), ("integrated", 1e-8)])
@pytest.mark.parametrize("load", LOADS)
def test_at_each_length_the_arm_is_the_one_with_the_shapes_of_that_length(load, wave_numbers, rtol):
    """Frequencies do not depend on how a shape is scaled; those of the fixed shapes are exact at their own length."""
    model = fa.Model(arm(0.8, wave_numbers, load))
    for length in (0.125, 0.31, 0.777, 1.2):
        np.testing.assert_allclose(frequencies_of(model, length), frequencies_at(length, load), rtol=rtol)


@pytest.mark.parametrize("free_length", [0.8, HIGH], ids=["part of it is free", "all of it is free"])
def test_planes_that_are_alike_at_one_length_only_are_not_alike(free_length):
    """A load in ratios that are those of the other plane at full length: elsewhere the shapes differ."""
    mass = 0.5
    ratios = {"family": "clamped-mass", "mass_ratio": mass / 0.8, "inertia_ratio": 0.0, "moment_ratio": 0.0}
    point = {"family": "clamped-mass", "mass": mass}
    mixed, y, z = (
        fa.Model(arm(free_length, "solved", (mass, 0.0), {"y": 2, "z": 2}, shapes)).function("mass_matrix")
        for shapes in ({"y": point, "z": ratios}, point, ratios)
    )
    q = np.array([0.2, 0.4, 0.01, -0.002, 0.01, 0.003])
    mixed, y, z = (np.array(M(q)) for M in (mixed, y, z))
    np.testing.assert_allclose(mixed[2:4, 2:4], y[2:4, 2:4], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(mixed[4:, 4:], z[4:, 4:], rtol=1e-10, atol=1e-13)
    assert abs(y[4:, 4:] - z[4:, 4:]).max() > 1e-3


def cost(described):
    return sum(operations(fa.Model(described).function("forward_dynamics")))


@pytest.mark.parametrize(("modes", "times"), [({"y": 2, "z": 2}, 8), ({"y": 4, "z": 4}, 8), ({"y": 6}, 11)])
def test_shapes_that_follow_cost_a_few_times_what_fixed_ones_do(modes, times):
    """Each modal integral that is a function of its own is one series, and its slope another."""
    assert cost(arm(0.8, "solved", modes=modes)) < times * cost(arm(0.8, "fixed", modes=modes))


def test_a_second_plane_with_the_same_shapes_needs_no_series_of_its_own():
    one, both = (cost(arm(0.8, "solved", modes=modes)) for modes in ({"y": 4}, {"y": 4, "z": 4}))
    assert both < 1.5 * one


def test_a_point_mass_needs_short_series():
    """In the length itself they are more than twice as long."""
    assert cost(arm(0.8, "solved", (0.5, 0.0))) < 0.7 * cost(arm(0.8, "solved", (0.5, 0.01)))


# -- what twists and stretches -----------------------------------------------------------------------------------------

TWISTING = {"GJ": 7.0, "EA": 900.0, "polar_inertia": 2e-3}
RODS = {"y": "polynomial", "z": "polynomial", "torsion": "fixed-free", "axial": "fixed-free"}


def twisting(modes, free_length=0.8, load=(0.5, 0.01), shapes=RODS, **joint):
    """An arm whose telescope has these modes, gravity across it and along it."""
    beam = fa.Beam(
        length=HIGH, mass=0.8, EI={"y": 40.0, "z": 60.0}, modes=modes, shapes=shapes, damping=0.02, **TWISTING
    )
    turn = fa.Link(name="turn", joint=fa.Revolute(axis=(1, 0, 0)), body=fa.Rigid(length=0.1, mass=1.0), hub_inertia=0.1)
    slide = fa.Link(name="slide", joint=fa.Telescope(free_length=free_length, **joint), body=beam)
    return fa.Arm(
        name="slide", links=[turn, slide], payload=fa.Payload(mass=load[0], inertia=load[1]), gravity=(2.0, -3.0, 4.0)
    )


ALL = {"y": 2, "z": 1, "torsion": 2, "axial": 1}


def values(model, name, *state):
    return np.array(model.function(name)(*state))


def test_a_telescope_that_does_not_slide_is_a_beam_on_a_slide():
    """Of the same length: no part of it is in the hub, and what is held does not move."""
    sliding = twisting(ALL, free_length=HIGH)
    link = sliding.links[1]
    fixed = sliding.replace(links=[sliding.links[0], link.replace(joint=fa.Prismatic(axis=(1, 0, 0)))])
    both, rng = [fa.Model(sliding), fa.Model(fixed)], np.random.default_rng(3)
    q, qd = 0.1 * rng.uniform(-1, 1, (2, 8))
    qd[1] = 0.0
    lengths = np.array([HIGH, 0.0])
    states = [(np.concatenate([q[:1], [length], q[2:]]), qd) for length in lengths]
    others = [0, *range(2, 8)]
    for name in ("mass_matrix", "damping_force", "stiffness_force", "gravity_force", "inverse_dynamics", "tip"):
        more = {"mass_matrix": 1, "damping_force": 2, "inverse_dynamics": 3}.get(name, 1)
        found = [values(m, name, *(*x, np.zeros(8))[:more]) for m, x in zip(both, states, strict=True)]
        found = found if name == "tip" else [f[np.ix_(others, others)] if f.shape[1] > 1 else f[others] for f in found]
        np.testing.assert_allclose(found[0], found[1], rtol=1e-11, atol=1e-12)


def test_at_each_length_the_twisting_telescope_has_the_frequencies_of_a_rod():
    """pi / 2 sqrt(GJ / rho_Ip) / l and pi / 2 sqrt(EA / m) / l, nothing beyond the tip."""
    model = fa.Model(twisting({"torsion": 2, "axial": 2}, load=(1e-9, 0.0)))
    rod, free = model.arm.links[1].body, ca.SX.sym("free", 4)
    for length in (0.2, 0.5, HIGH):
        q = ca.vertcat(0.0, length, free)
        K = ca.Function("K", [free], [ca.jacobian(model.function("stiffness_force")(q)[2:], free)])
        M = values(model, "mass_matrix", [0.0, length, 0.0, 0.0, 0.0, 0.0])[2:, 2:]
        omega = np.sqrt(np.diag(np.array(K(np.zeros(4)))) / np.diag(M))
        speed = np.repeat([np.sqrt(rod.GJ / rod.rho_Ip), np.sqrt(rod.EA / rod.m)], 2)
        np.testing.assert_allclose(omega, [1, 3, 1, 3] * speed * np.pi / 2 / length, rtol=1e-8)


@pytest.mark.parametrize("torque", [0.5, 2.0])
def test_a_twisted_rod_is_driven_out_of_its_sleeve(torque):
    """With the force torque^2 / (2 GJ) (Bigoni, Dal Corso, Misseroni & Bosi 2014, torsional locomotion)."""
    shapes = {**RODS, "torsion": "polynomial"}  # the first is x: the rod is twisted evenly
    model = fa.Model(twisting({"torsion": 1}, shapes=shapes))
    length = 0.6
    force = values(model, "stiffness_force", [0.0, length, torque * length / TWISTING["GJ"]])
    np.testing.assert_allclose(force[2, 0], torque, rtol=1e-13)
    np.testing.assert_allclose(-force[1, 0], torque**2 / (2 * TWISTING["GJ"]), rtol=1e-13)


@pytest.mark.parametrize("convection", ["material", "paper"])
def test_particles_that_slide_turn_and_stretch_as_their_shapes_say(convection):
    """Kinetic energy by differences of each particle's angle and place along x (by the paper, of each place's)."""
    model = fa.Model(twisting({"torsion": 2, "axial": 2}, convection=convection, load=(1e-12, 0.0)))
    rod = model.arm.links[1].body
    q, qd = np.array([0.3, 0.7, 0.3, -0.1, 0.02, 0.03]), np.array([0.7, 0.9, 0.4, 0.6, -0.3, 0.2])
    s, w = np.polynomial.legendre.leggauss(40)
    bar = (1 + s) / 2

    def angle_and_stretch(x, t):
        a = np.pi / 2 * np.array([1, 3])
        shape = np.sin(np.outer(x, a)) * [1, -1]
        return np.array([shape @ (q[2:4] + t * qd[2:4]), shape @ (q[4:] + t * qd[4:])])

    def moved(t):
        l, t_ = q[1] + t * qd[1], t
        sigma = q[1] * (1 - bar)
        x = 1 - sigma / l if convection == "material" else q[1] * bar / l
        return angle_and_stretch(x, t_) + [[0], [t * qd[1]]]

    h = 1e-4
    spin, along = (8 * (moved(h) - moved(-h)) - moved(2 * h) + moved(-2 * h)) / (12 * h)
    free, hidden = q[1], HIGH - q[1]
    energy = (w / 2) @ (rod.rho_Ip * (spin + qd[0]) ** 2 + rod.m * along**2) * free / 2
    energy += hidden * (rod.rho_Ip * qd[0] ** 2 + rod.m * qd[1] ** 2) / 2
    turn = model.arm.links[0]
    energy += turn.hub_inertia * qd[0] ** 2 / 2
    T = values(model, "energy", q, qd)[0, 0]
    np.testing.assert_allclose(T, energy, rtol=1e-9)  # differences of the fourth order


def test_the_energy_of_a_telescope_that_twists_and_stretches_is_conserved():
    described = twisting(ALL)
    model = fa.Model(described.replace(links=[x.replace(body=x.body.replace(damping=0.0)) if i else x
                                              for i, x in enumerate(described.links)]))  # fmt: skip
    q0 = [0.0, 0.8, 0.02, 0.0, -0.02, 0.3, 0.0, 0.002]
    result = fa.simulate(model, 0.3, q0=q0, qd0=[1.0, -0.8, 0, 0, 0, 0, 0, 0], rtol=1e-9)
    assert result.energy_drift < 1e-7  # the solver's tolerance over some thousand steps
    assert np.ptp(result.q.values[:, 1]) > 0.1
    assert np.ptp(result.q.values[:, 5]) > 0.1


def test_torsion_and_stretch_keep_their_shapes_where_bending_follows_the_load():
    """A telescope whose bending shapes follow has the torsion and the stretch of one whose shapes are fixed."""
    modes = {"y": 2, "torsion": 2, "axial": 1}
    shapes = {**RODS, "y": "clamped-mass"}
    fixed, solved = (fa.Model(twisting(modes, shapes=shapes, wave_numbers=way)) for way in ("fixed", "solved"))
    q = np.array([0.2, 0.5, 0.0, 0.0, 0.1, -0.2, 0.01])
    here = np.ix_([0, 1, 4, 5, 6], [0, 1, 4, 5, 6])
    one, other = (values(model, "mass_matrix", q)[here] for model in (fixed, solved))
    np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-14)
    one, other = (values(model, "stiffness_force", q)[4:] for model in (fixed, solved))
    np.testing.assert_allclose(one, other, rtol=1e-11)


def test_a_telescope_of_a_material_and_a_section_is_that_of_its_numbers():
    material, section = fa.Material(E=7e10, density=2700.0, poisson=0.33), fa.Tube(outer_diameter=0.03, thickness=0.002)
    made = fa.Beam(length=HIGH, material=material, section=section, modes=ALL, shapes=RODS)
    EI = {d: made.stiffness[d] for d in "yz"}
    GJ, EA = made.stiffness["torsion"], made.stiffness["axial"]
    given = fa.Beam(
        length=HIGH, mass=made.total_mass, EI=EI, GJ=GJ, EA=EA, polar_inertia=made.rho_Ip, modes=ALL, shapes=RODS
    )
    q = np.array([0.2, 0.5, 0.01, 0.0, -0.01, 0.1, 0.0, 0.001])
    found = []
    for body in (made, given):
        described = twisting(ALL)
        links = [described.links[0], described.links[1].replace(body=body)]
        found.append(values(fa.Model(described.replace(links=links)), "mass_matrix", q))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
