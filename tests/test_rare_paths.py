"""Branches that ordinary arms and runs do not take. Each is entered with the smallest case that leads to it."""

import copy
import pickle

import casadi as ca
import numpy as np
import pytest

import flexarm as fa
from flexarm.mechanics.drive import bare
from flexarm.mechanics.nominal import Nominal
from flexarm.mechanics.parameters import Label, Ledger, Series, value_of
from flexarm.mechanics.telescope import integrated_wave_numbers
from flexarm.shapes import TipLoad, loaded_roots
from flexarm.simulation.contacts import crossings

# -- mechanics ---------------------------------------------------------------------------------------------------------


def test_a_body_of_an_unknown_kind_is_refused():
    with pytest.raises(TypeError, match="nothing is registered for a body of type dict"):
        bare({}, fa.Fixed(), None, value_of)


def test_only_sharp_elements_have_contacts():
    """The link stands before its sharp upper end stop; friction, which is smooth, adds no contact function."""
    drive = fa.Drive(stops=fa.Stops(upper=0.3, stiffness=1e4, sharp=True), friction=fa.Friction(coulomb=0.2))
    joint = fa.Revolute(drive=drive)
    arm = fa.Arm(name="one", links=[fa.Link(name="a", joint=joint, body=fa.Rigid(length=0.5, mass=2.0))])
    found = crossings(fa.Model(arm))([0.1], [0.7])
    np.testing.assert_allclose(np.array(found).ravel(), [0.1 - 0.3], rtol=1e-14)


def test_rows_that_depend_on_more_than_parameters_are_returned_unchanged():
    p, q = ca.SX.sym("p"), ca.SX.sym("q")
    nominal = Nominal(p, np.array([0.7]))
    rows = [[p - p * (1 + 1e-18), q]]
    assert nominal.without_rounding(rows) is rows
    assert nominal(rows) is None


def test_one_symbol_does_not_name_two_numbers():
    name = Ledger().of("2", "upper")
    assert str(name("m", "mass", 1.3, "kg", "mass")) == str(name("m", "mass", 1.3 + 1e-12, "kg", "mass")) == "m_2"
    with pytest.raises(AssertionError, match=r"m_2 names two numbers, 1\.3 and 1\.4"):
        name("m", "mass", 1.4, "kg", "mass")


def test_one_symbol_does_not_name_two_functions():
    name, of_mode = Ledger().of("2", "upper"), Label("a_1", "y.1.mean", "mean of the shape")
    lengths = np.array([[0.8], [0.1]])
    name.along([of_mode], Series(0.1, 1.2, lengths))
    name.along([of_mode], Series(0.1, 1.2, lengths * (1 + 1e-15)))
    with pytest.raises(AssertionError, match="a_2_1 names two functions"):
        name.along([of_mode], Series(0.1, 1.2, 2 * lengths))


def test_the_slope_of_a_constant_series_is_zero():
    constant = Series(0.1, 1.2, np.array([[3.0, -2.0]]))
    np.testing.assert_array_equal(constant.slope.values(np.array([0.2, 0.9])), np.zeros((2, 2)))
    np.testing.assert_array_equal(constant.slope.slopes(0.5), np.zeros(2))


@pytest.mark.parametrize("lengths", [[0.9, 0.7, 1.2], [0.6, 0.3, 0.5]])
def test_wave_numbers_on_one_side_of_the_rest_are_those_of_the_frequency_equation(lengths):
    beam = fa.Beam(length=1.2, mass=0.8, EI=40.0, modes={"y": 2}, shapes="clamped-mass")
    load, m, lengths = TipLoad(mass=0.5, inertia=0.01), 0.8 / 1.2, np.array(lengths)
    found = integrated_wave_numbers(beam, "y", load, 2, 0.6, lengths)
    expected = [loaded_roots(2, load.mass / (m * length), load.inertia / (m * length**3), 0.0) for length in lengths]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


# -- native ------------------------------------------------------------------------------------------------------------


def test_a_kernel_at_parameters_belongs_to_its_process():
    kernel = fa.Model(fa.load("rigid-two-link"), vary=["payload.mass"]).kernel("mass_matrix")
    assert copy.deepcopy(kernel) is kernel
    with pytest.raises(TypeError, match="a kernel belongs to its process; pickle the model"):
        pickle.dumps(kernel)
