"""What the four papers' kinds of links and joints do: spin-up with foreshortening, telescopes, costs."""

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from compared import check_loads
from mpmath import mp
from random_arms import random_arm

import flexarm as fa
from flexarm.native.program import operations

SOLVER = 1e-7  # of the energies of a run at rtol 1e-9


@dataclass(frozen=True)
class SpinUp:
    """Kane, Ryan & Banerjee 1987: from rest to the rate Omega in the time T, without a jump in acceleration."""

    Omega: float
    T: float

    def expression(self, t):
        rising = self.Omega / self.T * (t**2 / 2 + (self.T / (2 * np.pi)) ** 2 * (ca.cos(2 * np.pi * t / self.T) - 1))
        return [ca.if_else(t < self.T, rising, self.Omega * (t - self.T / 2))]

    def described(self):
        return f"spin-up {self.Omega!r} {self.T!r}"


def rotor_blade(foreshortening):
    body = fa.Beam(length=10.0, mass_per_length=1.2, EI=1.4e4, modes={"y": 3}, foreshortening=foreshortening)
    return fa.Model(fa.Arm(name="blade", links=[fa.Link(name="blade", joint=fa.Revolute(), body=body)]))


def test_a_spinning_beam_settles_with_foreshortening_and_diverges_without():
    """Above the beam's first frequency, 3.8 rad/s, only the centrifugal stiffening holds it."""
    slow, fast = SpinUp(2.0, 15.0), SpinUp(6.0, 15.0)
    first = rotor_blade(False).frequencies(np.zeros(4))[0]
    assert 3.7 < first < 3.9
    stiff = fa.simulate(rotor_blade(True), 30.0, u=fa.PrescribedMotion(fast))
    tip = stiff.deflection.sel(axis="y", link="blade")
    assert abs(tip).max() < 1.0
    assert abs(tip.sel(time=slice(20, 30))).max() < 0.05 * abs(tip).max()
    soft = rotor_blade(False)
    try:
        lost = fa.simulate(soft, 30.0, u=fa.PrescribedMotion(fast))
    except fa.SimulationError as error:
        lost = error.result
    assert abs(lost.deflection).max() > 100 * abs(tip).max()
    below = fa.simulate(soft, 30.0, u=fa.PrescribedMotion(slow))  # below the critical rate it holds, if softer
    assert abs(below.deflection.sel(axis="y").sel(time=slice(20, 30))).max() < 0.1


def telescope_arm(convection="material", wave_numbers="fixed", shapes="clamped-mass", elastic=False, load_inertia=0.0):
    drive = {"rotor_inertia": 1e-3, "gear_ratio": 20.0, "stiffness": 500.0} if elastic else {}
    joint = fa.Telescope(free_length=0.8, convection=convection, wave_numbers=wave_numbers, **drive)
    beam = fa.Beam(length=1.3, mass=0.43, EI=20.0, modes={"y": 2, "z": 1}, shapes=shapes)
    turn = fa.Link(name="turn", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=0.1, mass=1.0), hub_inertia=0.1)
    slide = fa.Link(name="slide", joint=joint, body=beam)
    payload = fa.Payload(mass=0.08, inertia=load_inertia)
    return fa.Arm(name="slide", links=[turn, slide], payload=payload, gravity=(0.0, -3.0, -2.0))


@pytest.mark.parametrize("wave_numbers", ["fixed", "solved", "integrated"])
@pytest.mark.parametrize("convection", ["material", "paper"])
def test_the_energy_of_a_free_telescope_is_conserved(convection, wave_numbers):
    """The moving boundary is part of the Lagrangian."""
    model = fa.Model(telescope_arm(convection, wave_numbers))
    q0 = np.array(model.arm.rest)
    q0[2:] = 0.01, 0.001, -0.01
    qd0 = np.array([0.5, -0.4, 0.0, 0.0, 0.0])
    result = fa.simulate(model, 0.5, q0=q0, qd0=qd0, rtol=1e-9)
    assert result.energy_drift < SOLVER
    assert abs(result.q[-1, 1] - q0[1]) > 0.1
    assert result.group_velocity_ratio > 0


def test_wave_numbers_by_the_differential_form_are_those_of_the_frequency_equation():
    q, qd, u = np.array([0.2, 0.5, 0.01, -0.002, 0.01]), np.array([1.0, 0.5, 0.2, 0.1, -0.1]), np.zeros(2)
    solved, integrated = (
        fa.Model(telescope_arm(wave_numbers=way, load_inertia=0.004)).function("forward_dynamics")(q, qd, u)
        for way in ("solved", "integrated")
    )
    np.testing.assert_allclose(np.array(solved), np.array(integrated), rtol=1e-9)


@pytest.mark.parametrize("wave_numbers", ["solved", "integrated"])
def test_one_plane_follows_the_load_and_the_other_need_not(wave_numbers):
    """Motions in the plane of a family are those of the arm that has it in both planes."""
    both = {"y": "clamped-mass", "z": "polynomial"}
    models = [fa.Model(telescope_arm(wave_numbers=wave_numbers, shapes=x)) for x in (both, *both.values())]
    q = np.array([0.2, 0.5, 0.01, -0.002, 0.01])
    mixed, y, z = (np.array(model.function("mass_matrix")(q)) for model in models)
    np.testing.assert_allclose(mixed[2:4, 2:4], y[2:4, 2:4], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(mixed[4, 4], z[4, 4], rtol=1e-12)
    assert abs(y[4, 4] - z[4, 4]) > 1e-3 * z[4, 4]
    mixed, y, z = (np.array(model.function("stiffness_force")(q)) for model in models)
    np.testing.assert_allclose(mixed[2:4], y[2:4], rtol=1e-12)
    np.testing.assert_allclose(mixed[4], z[4], rtol=1e-12)


def test_shapes_given_in_ratios_follow_nothing():
    """A ratio that is given does not change with the length, whichever way wave numbers are found."""
    given = {"family": "clamped-mass", "mass_ratio": 0.4}
    q = np.array([0.2, 0.5, 0.01, -0.002, 0.01])
    ways = ("fixed", "solved", "integrated")
    fixed, *others = (fa.Model(telescope_arm(wave_numbers=way, shapes=given)) for way in ways)
    for other in others:
        np.testing.assert_array_equal(other.function("mass_matrix")(q), fixed.function("mass_matrix")(q))


def test_kinetic_energy_of_shapes_that_follow_the_length():
    """Against particles at a fixed distance from the tip, moved by differences of shapes at neighbouring lengths."""
    model = fa.Model(telescope_arm(wave_numbers="solved"))
    body, m, M_L, h = model.arm.links[1].body, 0.43 / 1.3, 0.08, 1e-5
    from flexarm.shapes import ClampedMass

    def shape(length, x):
        basis = ClampedMass(mass_ratio=M_L / (m * length), inertia_ratio=0.0, moment_ratio=0.0).basis(2)
        values = basis.values(x)
        nodes, w = np.polynomial.legendre.leggauss(40)
        norm = np.sqrt((w / 2) @ basis.values((1 + nodes) / 2) ** 2)
        rest = ClampedMass(mass_ratio=M_L / (m * 0.8), inertia_ratio=0.0, moment_ratio=0.0).basis(2)
        return values / norm * np.sqrt((w / 2) @ rest.values((1 + nodes) / 2) ** 2)

    q, qd = np.array([0.0, 0.55, 0.02, -0.004, 0.0]), np.array([0.0, 0.7, 0.3, -0.2, 0.0])
    nodes, w = np.polynomial.legendre.leggauss(40)
    x = np.append((1 + nodes) / 2, 1.0)
    s = q[1] * (1 - x)  # distance from the tip

    def u_y(t):
        length, eta = q[1] + qd[1] * t, q[2:4] + qd[2:4] * t
        return shape(length, (length - s) / length) @ eta

    across = (u_y(h) - u_y(-h)) / (2 * h)
    masses = np.append(w / 2 * m * q[1], M_L)
    expected = masses @ (across**2 + qd[1] ** 2) / 2 + m * (1.3 - q[1]) * qd[1] ** 2 / 2
    np.testing.assert_allclose(model.energy(q, qd)[0], expected, rtol=1e-7)
    assert body.counts["y"] == 2


def test_a_length_that_leaves_its_range_stops_the_run():
    model = fa.Model(telescope_arm())
    with pytest.raises(fa.SimulationError, match="a free length, leaves its range from 0 to") as e:
        fa.simulate(model, 5.0, u=[0.0, 30.0])
    lengths = e.value.result.q.sel(coordinate="slide.joint")
    assert len(lengths) > 2
    assert ((lengths > 0) & (lengths <= 1.3)).all()


def test_a_fast_telescope_is_warned_of():
    fast = fa.ParabolicBlends((0.0, 0.4), (0.0, 1.2), 0.06, 0.02)
    with pytest.warns(fa.errors.FastTelescope, match=r"of U_g = sqrt\(EI / m\) / l: its mode shapes are inaccurate"):
        fa.simulate(fa.Model(telescope_arm()), 0.06, u=fa.PrescribedMotion(fast))


def chain_of(shapes="clamped-free", **joint):
    links = [
        fa.Link(
            name=f"link{i}",
            joint=fa.Revolute(axis=axis, rotor_inertia=0.01, **joint),
            body=fa.Beam(length=1.0 + 0.1 * i, mass=1.0, EI=10.0, modes={"y": 2, "z": 2}, shapes=shapes),
        )
        for i, axis in enumerate(((0, 0, 1), (0, 1, 0), (0, 0, 1)))
    ]
    return fa.Arm(name="chain", links=links, payload=fa.Payload(mass=0.1, inertia=0.01))


def cost(arm):
    return sum(operations(fa.Model(arm).function("forward_dynamics")))


def test_elastic_joints_cost_less_than_twice():
    plain = cost(chain_of())
    assert cost(chain_of(stiffness=100.0)) < 2 * plain
    assert cost(chain_of(stiffness=100.0, rotor="absolute")) < 2 * plain


@pytest.mark.parametrize("shapes", ["clamped-mass", "polynomial", "hermite", "pinned-pinned", "pinned-free"])
def test_no_family_changes_the_cost(shapes):
    """Modes that are not orthogonal have a few more products than those that are."""
    assert cost(chain_of(shapes)) < 1.1 * cost(chain_of())


def test_stiff_elastic_joints_tend_to_rigid_ones():
    """First order in 1/K: frequencies of the free arm."""
    q = np.zeros(15)
    rigid = fa.Model(chain_of()).frequencies(q, locked=False)[3:8]
    errors = [
        np.abs(fa.Model(chain_of(stiffness=K)).frequencies(np.zeros(18), locked=False)[3:8] - rigid).max()
        for K in (1e5, 1e6, 1e7)
    ]
    np.testing.assert_allclose(np.log10(errors[:-1]) - np.log10(errors[1:]), 1.0, atol=0.1)


@pytest.mark.parametrize("seed", range(6))
def test_loads_for_shapes_are_what_lies_beyond(seed, monkeypatch):
    check_loads(random_arm(seed, telescope=seed % 2 == 0), monkeypatch)


def test_prescribed_motion_by_an_implicit_solver_with_its_own_jacobian():
    blade, spin = rotor_blade(False), fa.PrescribedMotion(SpinUp(2.0, 2.0))
    explicit = fa.simulate(blade, 2.0, u=spin, samples=11)
    implicit = fa.simulate(blade, 2.0, u=spin, samples=11, solver=fa.Solver(method="radau9", rtol=1e-6, atol=1e-9))
    np.testing.assert_allclose(implicit.q, explicit.q, rtol=0, atol=1e-5)


def test_only_a_joint_alone_can_be_prescribed():
    body = fa.Beam(length=1.0, mass=1.0, EI=10.0, modes={"y": 2}, shapes="pinned-pinned")
    model = fa.Model(fa.Arm(name="pinned", links=[fa.Link(name="link", joint=fa.Revolute(), body=body)]))
    for keep in (None, ["q"]):
        with pytest.raises(fa.DescriptionError, match=r"input 'link\.joint' moves its joint and the slopes"):
            fa.simulate(model, 1.0, u=fa.PrescribedMotion(SpinUp(1.0, 1.0)), save=fa.SaveAt(keep=keep))


@pytest.mark.parametrize("ratio", [1e3, 1e6, 1e9])
def test_wave_numbers_under_heavy_loads_keep_their_digits(ratio):
    """The first falls as (3 / mu)^(1/4), where cosh - cos and the like cancel; the second stays large."""
    found = fa.shapes.ClampedMass(mass_ratio=ratio, inertia_ratio=0.0, moment_ratio=0.0).roots(2)

    def f(b):
        c, s, C, S = mp.cos(b), mp.sin(b), mp.cosh(b), mp.sinh(b)
        return 1 + c * C - ratio * b * (s * C - c * S)

    with mp.workdps(60):
        exact = [float(mp.findroot(f, mp.mpf(float(b)))) for b in found]
    np.testing.assert_allclose(found, exact, rtol=1e-13)
    assert found[0] == pytest.approx((3 / ratio) ** 0.25, rel=1e-3) and found[1] > 3.9
