"""Trees and arms on free bases, given what they are not made for: right, or one line."""

import numpy as np
import pytest

import flexarm as fa
from flexarm import analysis, attitude, control
from flexarm.errors import DescriptionError, FlexarmError


def test_equilibrium_of_a_bent_satellite_far_from_its_rest():
    """What is left of forces that vanish is nothing, however small they are in the end."""
    arm = fa.load("satellite")
    x = 0.02 * np.random.default_rng(1).standard_normal(len(arm.velocities))
    q, u = analysis.equilibrium(fa.Model(arm), attitude.configuration(arm, x))
    np.testing.assert_allclose(q[10:], 0.0, atol=1e-12)
    np.testing.assert_allclose(u, 0.0, atol=1e-12)
    np.testing.assert_allclose(attitude.local(arm, q)[:6], x[:6], atol=1e-12)


def test_an_arm_that_falls_with_its_base_stands_nowhere():
    model = fa.Model(fa.load("canadarm-bus").replace(gravity=(0.0, -9.81, 0.0)))
    with pytest.raises(FlexarmError, match="nothing balances the load on its free base"):
        analysis.equilibrium(model, model.arm.rest)
    with pytest.raises(FlexarmError, match="nothing balances the load on its free base"):
        fa.simulate(model, 0.1, u=control.LQR([0.1, 0.2, 0.3]), progress=False)


# -- quaternions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0.0, -1e-200, 1e160])
def test_what_is_no_quaternion_is_refused(size):
    model = fa.Model(fa.load("satellite"))
    rest, qd, u = np.array(model.arm.rest), np.ones(model.nv), np.zeros(3)
    q = rest.copy()
    q[3] = size
    wrong = "base.qz has length .*; it must be 1"
    for name in ("mass_matrix", "gravity_force", "tip", "frames", "frequencies", "modes"):
        for given in (q, np.stack([rest, q]), q.tolist()) if name in ("tip", "frames") else (q,):
            with pytest.raises(DescriptionError, match=wrong):
                getattr(model, name)(given)
    for name in ("energy", "momentum", "bias"):
        with pytest.raises(DescriptionError, match=wrong):
            getattr(model, name)(q, qd)
    for ask in (model.linearize, model.forward_dynamics):
        with pytest.raises(DescriptionError, match=wrong):
            ask(q, qd, u)
    with pytest.raises(DescriptionError, match=wrong):
        fa.outputs(model, [fa.TipPosition()]).values(q, qd)
    for ask in (analysis.generalized_jacobian, analysis.base_rates, analysis.equilibrium, analysis.mode_table):
        with pytest.raises(DescriptionError, match=wrong):
            ask(model, q)


@pytest.mark.parametrize("length", [-1.0, 1e-50, 3.0, 1e50])
def test_quaternions_of_any_length_are_attitudes(length):
    model = fa.Model(fa.load("satellite"))
    q = attitude.configuration(model.arm, np.linspace(0.01, 0.02, model.nv))
    longer = q.copy()
    longer[3:7] *= length
    qd, u = np.linspace(-0.1, 0.1, model.nv), np.array([0.1, 0.2, 0.3])
    for name, more in (("tip", ()), ("momentum", (qd,)), ("forward_dynamics", (qd, u))):
        ask = getattr(model, name)
        np.testing.assert_allclose(ask(longer, *more), ask(q, *more), rtol=1e-12, atol=1e-13)
    assert model.tip(np.empty((0, model.nq))).shape == (0, 4, 4)


# -- identification ----------------------------------------------------------------------------------------------------


def test_excitation_does_not_follow_a_free_base():
    model = fa.Model(fa.load("canadarm-bus"), vary=["base.mass"])
    seen = [fa.Encoder(coordinate="upper.joint", noise=1e-3)]
    with pytest.raises(DescriptionError, match=r"^the base of arm 'canadarm-bus' is free, which identification"):
        fa.excitation(model, ["base.mass"], 40.0, outputs=seen, limits={"torque": 1.0}, sample_rate=50.0)


@pytest.mark.parametrize("size", [0.0, 1e-200, 2.0, 1e160])
def test_no_run_starts_from_what_is_no_unit_quaternion(size):
    model = fa.Model(fa.load("satellite"))
    q = np.array(model.arm.rest)
    q[3] = size
    for run in (fa.simulate, fa.simulate_many):
        with pytest.raises(DescriptionError, match=r"has length .*; it must be 1"):
            run(model, 0.1, q0=q if run is fa.simulate else np.stack([model.arm.rest, q]), progress=False)
