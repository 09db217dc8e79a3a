"""Arms whose equations give no finite numbers at rest are refused when first evaluated, with the likely reason."""

import numpy as np
import pytest
from quantities import taken

import flexarm as fa
from flexarm.mechanics import quantities
from flexarm.model.faults import most_extreme

ROD = fa.Rigid(length=1.0, mass=1.0)


def arm(link=None, **given):
    return fa.Arm(name="arm", links=[link or fa.Link(name="rod", body=ROD)], **given)


def at_rest(arm, name):
    model = fa.Model(arm)
    q, u = np.array(arm.rest), np.zeros(len(model.inputs))
    return lambda: model.evaluate(name, *({"q": q, "u": u}.get(a, 0 * q) for a in taken(name)))


def changed(link=None, **given):
    """An arm with elastic joints and links; of its second link some fields, or of the arm."""
    arm = fa.load("subudhi-morris-elastic").replace(name="arm")
    return arm.replace(links=[arm.links[0], arm.links[1].replace(**link)]) if link else arm.replace(**given)


EXTREME = {
    "payload.mass, 1e+30": changed(payload=fa.Payload(mass=1e30)),
    "link 'fore': hub_mass, 1e+34": changed({"hub_mass": 1e34}),
    "link 'fore': placement.rpy[2], 1e+30": changed({"placement": fa.Pose(rpy=(0.0, 0.0, 1e30))}),
}


@pytest.mark.parametrize("number", EXTREME)
def test_the_number_at_fault_is_named(number):
    """Each time again, warm as cold."""
    for call in (at_rest(EXTREME[number], "forward_dynamics"),) * 2:
        with pytest.raises(fa.DescriptionError) as caught:
            call()
        said = "arm 'arm': its forward_dynamics is not finite at rest; check its most extreme number, "
        assert str(caught.value) == said + number


def test_a_payload_that_nothing_turns_is_no_fault():
    """Its tip does not turn, all else moves: the deflection and the slope there are coordinates of their own."""
    model = fa.Model(changed(payload=fa.Payload(mass=0.1, inertia=1e30)))
    q, u = np.array(model.arm.rest), np.ones(2)
    qdd = model.forward_dynamics(q, 0 * q, u)
    force = model.input_matrix(q) @ u
    np.testing.assert_allclose(model.mass_matrix(q) @ qdd, force, rtol=0, atol=1e-9)


def test_a_run_and_many_states_at_once_are_refused_too():
    bad = EXTREME["payload.mass, 1e+30"]
    for model in (fa.Model(bad), fa.Model(bad)):
        with pytest.raises(fa.DescriptionError, match="not finite at rest"):
            model.forward_dynamics(np.zeros((9, 8)), np.zeros(8), np.zeros(2))
        with pytest.raises(fa.DescriptionError, match="not finite at rest"):
            fa.simulate(model, 0.1, progress=False)


@pytest.mark.parametrize("name", ["forward_dynamics", "state_rate", "forward_dynamics_dense"])
@pytest.mark.parametrize("turned", [(0.0, 0.0, 0.0), (0.3, 0.2, 0.1)])
def test_a_coordinate_without_inertia_is_named(name, turned):
    """Where no number is extreme; a constant inertia of zero is met by the tracer, another by machine code."""
    roll = fa.Link(name="roll", joint=fa.Revolute(axis=(1, 0, 0)), body=ROD)
    two = fa.Arm(name="arm", links=[fa.Link(name="rod", body=ROD, placement=fa.Pose(rpy=turned)), roll])
    with pytest.raises(
        fa.DescriptionError, match=r"\Aarm 'arm': no inertia resists the acceleration of roll\.joint; .*\Z"
    ):
        at_rest(two, name)()


def nowhere(chain, *state):
    return [[float("nan")]]


def beyond(chain, *state):
    raise OverflowError


@pytest.mark.parametrize("given", [nowhere, beyond])
def test_an_inertia_that_is_not_finite(given, monkeypatch, tmp_path):
    """As that of a body from outside the package may be, with numbers of its own; asked for or needed to explain."""
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))
    monkeypatch.setattr(quantities, "mass_matrix", given)
    said = r"\Aarm 'arm': its {} is not finite at rest; check its most extreme number, .*\Z"
    with pytest.raises(fa.DescriptionError, match=said.format("mass_matrix")):
        at_rest(arm(), "mass_matrix")()
    monkeypatch.setattr(quantities, "forward_dynamics", nowhere)
    with pytest.raises(fa.DescriptionError, match=said.format("forward_dynamics")):
        at_rest(arm(), "forward_dynamics")()


def test_the_most_extreme_number():
    assert most_extreme(arm(gravity=(0.0, -9.81, 0.0))) == ("gravity[1]", -9.81)
    tiny = fa.Link(name="rod", body=ROD.replace(mass=1e-5))
    assert most_extreme(arm(tiny, gravity=(0.0, 0.0, -9999.0))) == ("link 'rod': body.mass", 1e-5)
