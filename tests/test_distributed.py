"""Forces that are spread over a link: virtual work, closed forms, power, and what they refuse."""

import numpy as np
import pytest
from compared import vector
from scipy.integrate import simpson

import flexarm as fa
from flexarm.analysis import equilibrium

L, EI = 1.5, 40.0


def wind(link="beam", axes="base"):
    return fa.Force(name="wind", link=link, kind="distributed", axes=axes)


def arm_of(*bodies, axes="base", on="beam0", **more):
    links = [
        fa.Link(name=f"beam{i}", joint=fa.Revolute(axis=(0, 0.6, 0.8), rotor_inertia=0.1), body=body)
        for i, body in enumerate(bodies)
    ]
    return fa.Arm(name="windy", links=links, forces=[wind(on, axes)], **more)


BODIES = {
    "one piece": fa.Beam(length=L, mass=0.6, EI=EI, GJ=9.0, modes={"y": 2, "z": 1, "torsion": 1}, polar_inertia=0.01),
    "curved": fa.Beam(length=L, mass=0.6, EI=EI, modes={"y": 1, "z": 1}, segments=2, initial_angles={"y": 0.7}),
    "rigid": fa.Rigid(length=L, mass=0.6, inertia=0.2, com=(0.5, 0.1, 0.0)),
}


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("axes", ["base", "link"])
def test_it_is_many_small_forces(kind, axes):
    """Forces at 21 stations with Simpson's weights do the same work. Lagrange's equations confirm those elsewhere."""
    arm = arm_of(BODIES["rigid"], BODIES[kind], axes=axes, on="beam1")
    x = np.linspace(0.0, 1.0, 21)
    small = [fa.Force(name=f"f{i}", link="beam1", at=float(at), axes=axes) for i, at in enumerate(x)]
    rng, F = np.random.default_rng(7), np.array([0.4, -1.3, 0.8])
    spread, many = fa.Model(arm), fa.Model(arm.replace(forces=small))
    q, qd = 0.1 * rng.normal(size=spread.nv), rng.normal(size=spread.nv)
    q[:2] = 0.5, -0.8
    shares = np.array([simpson(e, x=x) for e in np.eye(21)])
    found, without = (vector(spread, "forward_dynamics", q, qd, [0.2, 0.1], w) for w in (F, 0 * F))
    wanted = vector(many, "forward_dynamics", q, qd, [0.2, 0.1], np.outer(shares, F).ravel())
    np.testing.assert_allclose(found, wanted, atol=1e-4 * np.abs(wanted - without).max())


def test_a_cantilever_sags_as_in_the_books():
    """F L^3 / (8 EI) at the tip for the total force F; the hub holds F L / 2."""
    body = fa.Beam(length=L, mass=0.6, EI=EI, modes={"y": 4}, shapes="hermite")
    arm = fa.Arm(name="windy", links=[fa.Link(name="beam", joint=fa.Revolute(), body=body)], forces=[wind()])
    model, F = fa.Model(arm, vary=["beam.length"]), 2.0
    for length in (L, 1.3 * L):
        q, u = equilibrium(model.at([length]), [0.0], w={"wind.fy": F})
        assert model.at([length]).deflections(q)[0, 1] == pytest.approx(F * length**3 / (8 * EI), rel=1e-9)
        assert u[0] == pytest.approx(-F * length / 2, rel=1e-2)


def test_its_power_is_counted():
    body = fa.Beam(length=L, mass=0.6, EI=EI, modes={"y": 2}, segments=2)
    arm = fa.Arm(name="windy", links=[fa.Link(name="beam", joint=fa.Revolute(), body=body)], forces=[wind(axes="link")])
    result = fa.simulate(fa.Model(arm), 1.0, w={"wind.fy": lambda t: np.sin(5 * t), "wind.fx": -1.0}, progress=False)
    assert result.energy_drift < 1e-7 and float(result.work[-1]) > 0.01


def test_its_description():
    assert wind().exogenous == (("fx", "N"), ("fy", "N"), ("fz", "N"))
    with pytest.raises(fa.DescriptionError, match=r'at is 0.5, but kind is "distributed", which acts on the complete'):
        fa.Force(name="wind", link="a", kind="distributed", at=0.5)


@pytest.mark.parametrize("link", ["boom", "hub", "base"])
def test_a_link_without_a_fixed_length_is_refused(link):
    rod = fa.Beam(length=2.0, mass=1.0, EI=9.0, modes={"y": 1})
    links = [
        fa.Link(name="hub", joint=fa.Revolute(), body=fa.Frame(length=0.0)),
        fa.Link(name="boom", joint=fa.Telescope(free_length=1.0), body=rod),
    ]
    with pytest.raises(fa.DescriptionError, match=f"force 'wind': link is '{link}', which has no fixed length"):
        fa.Arm(name="x", links=links, forces=[wind(link)], base=fa.FreeBase(mass=3.0, inertia=1.0))
