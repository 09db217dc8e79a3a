"""Springs between points of an arm and of the ground."""

import numpy as np
import pytest

import flexarm as fa

G = 9.81


def one_link(struts, mass=2.0, length=0.8, **more):
    link = fa.Link(name="a", joint=fa.Revolute(axis=(0, -1, 0)), body=fa.Rigid(length=length, mass=mass))
    return fa.Arm(name="held", gravity=(0, 0, -G), links=[link], struts=struts, **more)


def test_a_spring_of_free_length_zero_balances_a_link_in_every_position():
    """k r h = m g L / 2, the spring from h above the joint to the station r of the link."""
    m, L, h, r = 2.0, 0.8, 0.3, 0.4
    model = fa.Model(one_link([fa.Strut(link="a", at=r / L, point=(0, 0, h), stiffness=m * G * L / 2 / (r * h))], m, L))
    q = np.linspace(-3, 3, 13)[:, None]
    assert np.allclose(model.inverse_dynamics(q, 0 * q, 0 * q), 0.0, atol=1e-12)
    assert np.ptp(model.energy(q, 0 * q)[1]) < 1e-12
    result = fa.simulate(model, 2.0, q0=[0.7], progress=False)
    assert np.allclose(result.q, 0.7, atol=1e-10)


def test_an_ordinary_spring_pulls_along_its_length():
    """Its moment by hand, from the lengths of a triangle."""
    k, h, free = 150.0, 0.5, 0.2
    arm = one_link([fa.Strut(link="a", point=(0, 0, h), stiffness=k, length=free)])
    model, q = fa.Model(arm), 0.6
    length = np.sqrt(0.8**2 + h**2 - 2 * 0.8 * h * np.sin(q))
    slope = -0.8 * h * np.cos(q) / length
    assert model.stiffness_force([q])[0] == pytest.approx(k * (length - free) * slope, rel=1e-12)
    assert fa.simulate(model, 1.0, q0=[q], progress=False).energy_drift < 1e-7


def test_a_spring_between_two_links_that_bend_is_the_slope_of_its_energy():
    """Where its ends are, the tip says; the force is minus the slope of its energy, by differences."""
    beam = fa.Beam(length=0.7, mass=0.5, EI=20.0, modes={"z": 2})
    links = [fa.Link(name=name, joint=fa.Revolute(axis=(0, -1, 0)), body=beam) for name in ("a", "b")]
    arm = fa.Arm(name="two", links=links, struts=[fa.Strut(link="b", to="a", to_at=0.0, stiffness=80.0, length=0.3)])
    model, q = fa.Model(arm), np.array([0.3, 0.9, 0.01, -0.02, 0.02, 0.01])
    plain = fa.Model(arm.replace(struts=[]))

    def energy(q):
        return 40.0 * (np.linalg.norm(model.tip(q)[:3, 3]) - 0.3) ** 2

    assert model.energy(q, 0 * q)[1] - plain.energy(q, 0 * q)[1] == pytest.approx(energy(q), rel=1e-12)
    slope = [(energy(q + d) - energy(q - d)) / 2e-6 for d in 1e-6 * np.eye(len(q))]
    assert np.allclose(model.stiffness_force(q) - plain.stiffness_force(q), slope, rtol=1e-6, atol=1e-6)


def test_wrong_struts_are_refused_in_one_line():
    for strut, said in (
        ({"link": "b"}, "struts[0].link is 'b'; the links are a"),
        ({"link": "a", "to": "c"}, "struts[0].to is 'c'; the links are a"),
        (
            {"link": "a", "to": "a", "to_at": 0.0, "point": (1, 0, 0)},
            "struts[0].point is (1.0, 0.0, 0.0), but `to` is given; give either point or to",
        ),
    ):
        with pytest.raises(fa.DescriptionError) as caught:
            one_link([fa.Strut(stiffness=1.0, **strut)])
        assert str(caught.value) == f"Arm: {said}"


def test_a_strut_without_two_ends_is_refused_in_one_line():
    for strut, said in (
        ({"to_at": 0.5}, "to_at is 0.5; without `to` there is no second end: leave it out"),
        (
            {"at": 0.5, "to": "a", "to_at": 0.5},
            "to_at is 0.5, where the strut begins; its two ends must be different points",
        ),
    ):
        with pytest.raises(fa.DescriptionError) as caught:
            fa.Strut(link="a", stiffness=1.0, **strut)
        assert str(caught.value) == f"Strut: {said}"


@pytest.mark.parametrize(("strut", "field"), [({"link": "a"}, "at"), ({"link": "b", "to": "a"}, "to_at")])
def test_on_a_telescope_only_the_tip_carries_a_strut(strut, field):
    """A station before it is no particle: what pulls there would not do the work of its energy."""
    sliding = fa.Link(name="a", joint=fa.Telescope(free_length=0.5), body=fa.Beam(length=0.8, mass=0.5, modes={}))
    arm = one_link([]).replace(links=[sliding, fa.Link(name="b", body=fa.Rigid(length=0.3, mass=1.0))])
    arm.replace(struts=[fa.Strut(stiffness=1.0, **strut)])
    with pytest.raises(fa.DescriptionError) as caught:
        arm.replace(struts=[fa.Strut(stiffness=1.0, **strut, **{field: 0.5})])
    assert str(caught.value) == f"Arm: struts[0].{field} is 0.5; on a telescope it must be 1 (the tip)"
