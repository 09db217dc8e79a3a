"""Arms whose equations give no finite numbers at rest are refused when first evaluated, with the likely reason."""

import numpy as np
import pytest

import flexarm as fa
from flexarm.model import QUANTITIES
from flexarm.model.faults import most_extreme

ROD = fa.Rigid(length=1.0, mass=1.0)


def arm(link=None, **given):
    return fa.Arm(name="arm", links=[link or fa.Link(name="rod", body=ROD)], **given)


def at_rest(arm, name):
    model = fa.Model(arm)
    q, u = np.array(arm.rest), np.zeros(len(model.inputs))
    return lambda: model.evaluate(name, *({"q": q, "u": u}.get(a, 0 * q) for a in QUANTITIES[name][0]))


BEAM = fa.Beam(length=1.0, mass=1.0, EI=10.0, modes={"y": 2})
EXTREME = {
    "payload.inertia, 1e+160": arm(fa.Link(name="beam", body=BEAM), payload=fa.Payload(mass=1.0, inertia=1e160)),
    "link 'rod': body.length, 1e+200": arm(fa.Link(name="rod", body=ROD.replace(length=1e200))),
    "link 'rod': body.length, 1e-170": arm(fa.Link(name="rod", body=ROD.replace(length=1e-170))),
    "link 'rod': joint.gear_ratio, 1e-200": arm(
        fa.Link(name="rod", body=ROD, joint=fa.Revolute(rotor_inertia=0.1, gear_ratio=1e-200, stiffness=1.0))
    ),
}


@pytest.mark.parametrize("number", EXTREME)
def test_the_number_at_fault_is_named(number):
    """Also of an arithmetic error while the equations are derived; and each time again, warm as cold."""
    for call in (at_rest(EXTREME[number], "forward_dynamics"),) * 2:
        with pytest.raises(fa.DescriptionError) as caught:
            call()
        said = "arm 'arm': its forward_dynamics is not finite at rest; its most extreme number is "
        assert str(caught.value) == said + number


def test_a_run_and_many_states_at_once_are_refused_too():
    bad = EXTREME["payload.inertia, 1e+160"]
    for model in (fa.Model(bad), fa.Model(bad)):
        with pytest.raises(fa.DescriptionError, match="not finite at rest"):
            model.forward_dynamics(np.zeros((9, 3)), np.zeros(3), np.zeros(1))
        with pytest.raises(fa.DescriptionError, match="not finite at rest"):
            fa.simulate(model, 0.1, progress=False)


@pytest.mark.parametrize("name", ["forward_dynamics", "state_rate", "forward_dynamics_dense"])
@pytest.mark.parametrize("turned", [(0.0, 0.0, 0.0), (0.3, 0.2, 0.1)])
def test_a_coordinate_without_inertia_is_named(name, turned):
    """Where no number is extreme; a constant inertia of zero is met by the tracer, another by machine code."""
    roll = fa.Link(name="roll", joint=fa.Revolute(axis=(1, 0, 0)), body=ROD)
    two = fa.Arm(name="arm", links=[fa.Link(name="rod", body=ROD, placement=fa.Pose(rpy=turned)), roll])
    with pytest.raises(
        fa.DescriptionError, match=r"\Aarm 'arm': nothing resists the acceleration of roll\.joint; .*\Z"
    ):
        at_rest(two, name)()


def test_an_inertia_that_is_not_finite():
    with pytest.raises(fa.DescriptionError, match=r"its mass_matrix is not finite at rest; .* body\.length, 1e\+200\Z"):
        at_rest(EXTREME["link 'rod': body.length, 1e+200"], "mass_matrix")()


def test_the_most_extreme_number():
    assert most_extreme(arm(gravity=(0.0, -9.81, 0.0))) == ("gravity[1]", -9.81)
    tiny = fa.Link(name="rod", body=ROD.replace(mass=1e-5))
    assert most_extreme(arm(tiny, gravity=(0.0, 0.0, -9999.0))) == ("link 'rod': body.mass", 1e-5)
