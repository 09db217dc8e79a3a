"""Telescopes whose shapes follow the load: numbers as series in the length, and what they cost."""

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


# integrated wave numbers are good to 1e-11, and modes far above mix into the lowest: a millionfold with the last load
@pytest.mark.parametrize(("wave_numbers", "rtol"), [("solved", 1e-11), ("integrated", 1e-8)])
@pytest.mark.parametrize("load", LOADS)
def test_at_each_length_the_arm_is_the_one_with_the_shapes_of_that_length(load, wave_numbers, rtol):
    """Frequencies do not depend on how a shape is scaled; those of the fixed shapes are exact at their own length."""
    model = fa.Model(arm(0.8, wave_numbers, load))
    for length in (0.125, 0.31, 0.777, 1.2):
        fixed = fa.Model(arm(length, "fixed", load)).function("mass_matrix"), model.function("mass_matrix")
        strain = fa.Model(arm(length, "fixed", load)).function("stiffness_force"), model.function("stiffness_force")
        found = []
        for M, K in zip(fixed, strain, strict=True):
            q = ca.SX.sym("q", 8)
            both = ca.Function("both", [q], [M(q), ca.jacobian(K(q), q)])
            M_, K_ = (np.array(x)[2:, 2:] for x in both(stretched(model, length)))
            found.append(np.sort(np.linalg.eigvals(np.linalg.solve(M_, K_)).real))
        np.testing.assert_allclose(found[1], found[0], rtol=rtol)


def test_planes_that_are_alike_at_one_length_only_are_not_alike():
    """A load in ratios that are those of the other plane at full length: elsewhere the shapes differ."""
    mass = 0.5
    ratios = {"family": "clamped-mass", "mass_ratio": mass / 0.8}
    point = {"family": "clamped-mass", "mass": mass}
    mixed, y, z = (
        fa.Model(arm(0.8, "solved", (mass, 0.0), {"y": 2, "z": 2}, shapes)).function("mass_matrix")
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
