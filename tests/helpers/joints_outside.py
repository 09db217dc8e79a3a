"""Joints from outside the package with force elements: `test_architecture` runs these tests in their own process."""

import numpy as np
import pytest
from scipy.linalg import expm

import flexarm as fa
from flexarm.description.joints import Driven
from flexarm.mechanics.drive import elements
from flexarm.mechanics.elements import Element, Push, along


class Relaxing(Driven):
    """A joint about z with a spring and a damper in series (Maxwell), and a torque from outside."""

    turns = property(lambda self: True)
    direction = property(lambda self: (0.0, 0.0, 1.0))
    states = property(lambda self: (("tension", "N m"),))
    exogenous = property(lambda self: (("wind", "N m"),))
    plain = property(lambda self: False)
    type: str = "relaxing"


K, C = 7.0, 3.0
"""Stiffness [N m/rad] and damping [N m s/rad] of the element."""


@elements.register
def relaxing(joint: Relaxing, rows, place, name):
    def push(seen):
        (v,), (f,), (w,) = seen.v, seen.s, seen.w
        return Push([w - f], [K * v - K / C * f], lost=f * f / C, supplied=w * v)

    return [Element(along(rows.moved), push, stored=lambda s: s[0] ** 2 / (2 * K), states=1, exogenous=1)]


def test_a_force_element_from_outside_has_states_and_exogenous_inputs():
    """I v' = w - f, f' = K v - K f / C: at a constant torque w the rate and the tension approach w / C and w."""
    link = fa.Link(name="a", joint=Relaxing(), body=fa.Rigid(length=0.5, mass=1.2))
    model = fa.Model(fa.Arm(name="relaxing", links=[link]))
    assert (model.states, model.exogenous) == (("a.tension",), ("a.wind",))
    inertia, w = 1.2 * 0.5**2 / 3, 0.6
    A = np.array([[0.0, -1 / inertia, w / inertia], [K, -K / C, 0.0], [0.0, 0.0, 0.0]])
    result = fa.simulate(model, 2.0, w=[w], rtol=1e-10, progress=False, samples=41)
    by_hand = np.array([expm(A * t) @ [0.0, 0.0, 1.0] for t in result.time.values])
    np.testing.assert_allclose(result.qd.values[:, 0], by_hand[:, 0], atol=1e-8)
    np.testing.assert_allclose(result.drive_state.values[:, 0], by_hand[:, 1], atol=1e-8)
    np.testing.assert_allclose(result.power.values, w * by_hand[:, 0], atol=1e-8)
    assert result.energy_drift < 1e-8


class Pulled(Driven):
    """A joint with an element that does nothing."""

    turns = property(lambda self: True)
    direction = property(lambda self: (0.0, 0.0, 1.0))
    type: str = "pulled"


@elements.register
def pulled(joint: Pulled, rows, place, name):
    return [Element()]


def test_closed_forms_of_a_joint_with_a_force_element_are_refused():
    link = fa.Link(name="a", joint=Pulled(), body=fa.Rigid(length=1.0, mass=1.0))
    with pytest.raises(fa.DescriptionError, match=r"a joint has a force element .*, which has no closed form"):
        fa.equations(fa.Arm(name="pulled", links=[link]))
