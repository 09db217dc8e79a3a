"""Beams that bend in two planes: second order against the exact rod, lateral buckling, and what a turn about x does.

The exact rod is Kirchhoff's, with stretch, clamped at one end; it shares nothing with the package. Its moment about a
section is that of the dead load F at the point P, m = (P - r) x F, so that its strains follow from its place and turn

    r' = (1 + F . R e_x / EA) R e_x,    R' = R [k]x,    k = (m_x / GJ, m_y / EI_z, m_z / EI_y) along its own axes,

and P is found by shooting.
"""

from collections import Counter
from functools import cache

import casadi as ca
import numpy as np
import pytest
from oracle import Lagrangian
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, root
from scipy.spatial.transform import Rotation

import flexarm as fa
from flexarm.mechanics.second import pairs_of
from flexarm.mechanics.shaped import shaped
from flexarm.shapes import NO_LOAD

LENGTH, EI, GJ, EA = 1.3, {"y": 10.0, "z": 16.0}, 6.0, 400.0
LOAD = np.array([-0.5, 1.2, 0.9])  # of 1: the tip moves by 0.12 m, and turns by 0.16 rad
OFFSET = np.array([0.1, 0.2, -0.15])  # of the point where it acts, along the tip's axes: a torque too
ENOUGH = {"y": 6, "z": 6, "torsion": 5, "axial": 3}  # polynomials that have the strains of second order in them
NO_LOADS = dict.fromkeys(("y", "z", "torsion", "axial"), NO_LOAD)


def exact(F, GJ=GJ, EA=EA):
    """Place and turn of the exact rod's tip."""

    def tip(P):
        def rate(_, state):
            r, R = state[:3], state[3:].reshape(3, 3)
            m = R.T @ np.cross(P - r, F)
            x, y, z = m / [GJ, EI["z"], EI["y"]]
            K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
            return np.concatenate([(1 + R[:, 0] @ F / EA) * R[:, 0], (R @ K).ravel()])

        start = np.concatenate([np.zeros(3), np.eye(3).ravel()])
        end = solve_ivp(rate, (0, LENGTH), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
        return end[:3], end[3:].reshape(3, 3)

    def miss(P):
        r, R = tip(P)
        return r + R @ OFFSET - P

    return tip(root(miss, OFFSET + [LENGTH, 0, 0], tol=1e-12).x)


@cache
def loaded(foreshortening, torsion=True):
    """A beam next to without mass that carries 1 kg away from its tip, gravity being the load."""
    modes = ENOUGH if torsion else {d: ENOUGH[d] for d in "yz"}
    body = fa.Beam(
        length=LENGTH, mass=1e-9, EI=EI, GJ=GJ, EA=EA, modes=modes, shapes="polynomial", foreshortening=foreshortening
    )
    weight = fa.Rigid(length=0.0, mass=1.0, com=tuple(OFFSET.tolist()), inertia=1e-3)
    links = [fa.Link(name="beam", joint=fa.Fixed(), body=body), fa.Link(name="load", joint=fa.Fixed(), body=weight)]
    return fa.Model(fa.Arm(name="rod", links=links, gravity=(1.0, 1.0, 1.0)), vary=["gravity.*"])


def newton(forces, size, *given):
    """A function of q and of numbers for the symbols `given`: the force, and its slope in q."""
    x = ca.SX.sym("q", size)
    f = forces(x)
    return ca.Function("step", [x, *given], [f, ca.jacobian(f, x)])


def balanced(step, *given):
    """q at which the force of such a function is zero, by Newton's method from zero."""
    q = np.zeros(step.size1_in(0))
    for _ in range(20):
        force, slope = (np.array(each) for each in step(q, *given))
        q -= np.linalg.solve(slope, force).ravel()
    return q


def tips_of(model, loads):
    gravity, strain, tip = (model.function(name) for name in ("gravity_force", "stiffness_force", "tip"))
    F = ca.SX.sym("F", 3)
    step = newton(lambda x: gravity(x, F) + strain(x, F), len(model.coordinates), F)
    for load in loads:
        T = np.array(tip(balanced(step, load), load))
        yield T[:3, 3], T[:3, :3]


@cache
def exact_tips(**stiff):
    """Those of the exact rod under LOADS."""
    return [exact(F, **stiff) for F in LOADS]


def errors(model, **stiff):
    """Return the errors of the tip's position [m] and rotation [rad] under each of LOADS, (loads, 2)."""
    found = []
    for (p, Q), (r, R) in zip(tips_of(model, LOADS), exact_tips(**stiff), strict=True):
        found.append([np.linalg.norm(p - r), Rotation.from_matrix(Q.T @ R).magnitude()])
    return np.array(found)


def orders(errors):
    """Observed, where each load is half the one before."""
    return np.log2(errors[:-1] / errors[1:])


LOADS = [LOAD / 2**i for i in (2, 3)]


def test_a_loaded_cantilever_is_the_exact_rod_but_for_third_order():
    """Bent in two planes, twisted and stretched, by a force with a lever of its own."""
    second, first = (errors(loaded(foreshortening)) for foreshortening in (True, False))
    assert (orders(second) > 2.9).all()
    assert (orders(first) < 2.1).all()
    assert (second[-1] < first[-1] / 20).all()


def test_a_beam_that_has_no_torsion_modes_twists_as_it_bends_in_two_planes():
    """Its sections do not turn against each other about its axis, so that the tip does: phi = -int v'' w'."""
    model = loaded(True, torsion=False)
    assert (orders(errors(model, GJ=1e9, EA=1e9)) > 2.9).all()
    q = np.random.default_rng(1).uniform(-0.1, 0.1, len(model.coordinates))
    beam = shaped(model.arm.links[0].body, NO_LOADS)
    s, w = np.polynomial.legendre.leggauss(40)
    curvature, slope = (
        beam.bases[d].values((1 + s) / 2, order) @ q[beam.start[d] : beam.start[d + 1]] for d, order in ((0, 2), (1, 1))
    )
    torsion = np.array(model.function("deflections")(q, LOAD))[0, 5]
    np.testing.assert_allclose(torsion, -(w / 2) @ (curvature * slope) / LENGTH**2, rtol=1e-12)


@pytest.mark.parametrize("ratio", [0.2, 1.0, 3.0])
def test_a_deep_cantilever_buckles_sideways_under_prandtls_load(ratio):
    """P = 4.0126 sqrt(EI GJ) / L^2 of a beam next to stiff in the plane of the load (Prandtl 1899, Michell 1899)."""
    EI_z = 2.0
    body = fa.Beam(
        length=LENGTH, mass=1e-9, EI={"y": 1e6, "z": EI_z}, GJ=ratio * EI_z, modes={"y": 1, "z": 6, "torsion": 5},
        shapes="polynomial", foreshortening=True,
    )  # fmt: skip
    arm = fa.Arm(
        name="strip",
        links=[fa.Link(name="strip", joint=fa.Fixed(), body=body)],
        payload=fa.Payload(mass=1.0),
        gravity=(0.0, -1.0, 0.0),
    )
    model = fa.Model(arm, vary=["gravity"])
    q, g = ca.SX.sym("q", 12), ca.SX.sym("g")
    force = model.function("gravity_force")(q, g) + model.function("stiffness_force")(q, g)
    step = ca.Function("step", [q, g], [force, ca.jacobian(force, q)])

    def lowest(P):
        _, slope = step(balanced(step, P), P)
        return np.linalg.eigvalsh(np.array(slope)[1:, 1:])[0]

    scale = np.sqrt(ratio) * EI_z / LENGTH**2
    assert brentq(lowest, 3 * scale, 5 * scale) / scale == pytest.approx(4.0126, abs=2e-4)


def test_axes_turned_about_a_round_beam_change_nothing_but_in_third_order():
    """The same strains, seen from axes turned about x, are the same beam; the order of the tip's turns is not."""
    body = fa.Beam(
        length=LENGTH, mass=1.0, EI=5.0, GJ=GJ, EA=EA, modes=ENOUGH, shapes="polynomial", foreshortening=True
    )
    model = fa.Model(fa.Arm(name="round", links=[fa.Link(name="rod", joint=fa.Fixed(), body=body)]))
    tip, angle = model.function("tip"), 0.7
    turn = Rotation.from_rotvec([angle, 0, 0]).as_matrix()
    q = np.random.default_rng(2).uniform(-0.2, 0.2, 20)
    bent = q[:12].reshape(2, 6)
    turned = np.concatenate([(turn[1:, 1:] @ bent).ravel(), q[12:]])
    found = []
    for share in (0.2, 0.1, 0.05):
        T, seen = (np.array(tip(share * x)) for x in (q, turned))
        place = np.linalg.norm(seen[:3, 3] - turn @ T[:3, 3])
        found.append([place, np.linalg.norm(seen[:3, :3] - turn @ T[:3, :3] @ turn.T)])
    assert np.max(np.array(found)[:, 0]) < 1e-14  # the places are quadratic, and turn exactly
    assert (orders(np.array(found)[:, 1]) > 2.9).all()


def arm(modes, **options):
    body = fa.Beam(
        length=0.9, mass=0.7, EI=EI, GJ=GJ, EA=EA, polar_inertia=2e-3, modes=modes, shapes="polynomial", **options
    )
    turn = fa.Link(name="turn", joint=fa.Revolute(axis=(0.0, 0.6, 0.8)), body=body, hub_inertia=0.1)
    return fa.Arm(
        name="one", links=[turn], payload=fa.Payload(mass=0.4, inertia=(0.01, 0.02, 0.03)), gravity=(3, -8, 4)
    )


def test_frequencies_about_a_bent_state_are_the_oracles():
    """What twist, stretch and both planes do to each other where the beam hangs bent."""
    described = arm({"y": 2, "z": 2, "torsion": 1, "axial": 1}, foreshortening=True)
    model, oracle = fa.Model(described), Lagrangian(described)
    strain, gravity = (model.function(name) for name in ("stiffness_force", "gravity_force"))
    x = ca.SX.sym("x", 6)
    q = np.concatenate([[0.3], balanced(newton(lambda x: (strain(full(x)) + gravity(full(x)))[1:], 6))])
    K = np.array(ca.Function("K", [x], [ca.jacobian((strain(full(x)) + gravity(full(x)))[1:], x)])(q[1:]))
    M = np.array(model.function("mass_matrix")(q))[1:, 1:]

    def force(e):
        return (oracle.stiffness_force(q + e) + oracle.gravity_force(q + e))[1:]

    h = 1e-4 * np.eye(7)[1:]
    slopes = np.column_stack([(8 * (force(e) - force(-e)) - force(2 * e) + force(-2 * e)) / 12e-4 for e in h])
    squares = [np.sort(np.linalg.eigvals(np.linalg.solve(*each)).real) for each in (
        (M, K), (oracle.mass_matrix(q)[1:, 1:], slopes))]  # fmt: skip
    assert abs(q[1:]).max() > 0.03
    np.testing.assert_allclose(squares[0], squares[1], rtol=1e-7)  # differences of the fourth order


def full(x):
    return ca.vertcat(0.3, x)


def test_energy_is_conserved_by_a_beam_that_bends_both_ways_and_twists():
    model = fa.Model(arm({"y": 1, "z": 1, "torsion": 1}, foreshortening=True))
    result = fa.simulate(model, 1.0, q0=[0.0, 0.1, -0.08, 0.2], qd0=[2.0, 0.0, 0.0, 0.0], rtol=1e-9)
    assert result.energy_drift < 1e-7  # the solver's tolerance over some thousand steps
    assert abs(result.q[:, 3]).max() > 0.1


@pytest.mark.parametrize(
    ("modes", "kinds"),
    [
        ({"y": 3}, {"g": 6}),
        ({"z": 2}, {"g": 3}),
        ({"axial": 2}, {}),
        ({"torsion": 2}, {}),
        ({"y": 2, "z": 2}, {"g": 6, "r": 4}),
        ({"y": 1, "axial": 2}, {"g": 1, "e": 2}),
        ({"z": 2, "torsion": 1}, {"g": 3, "h": 2, "dh": 2}),
    ],
)
def test_each_pair_of_directions_has_its_own_parts_and_one_plane_shortening_alone(modes, kinds):
    body = fa.Beam(length=1.0, mass=1.0, EI=1.0, GJ=1.0, EA=1.0, modes=modes, foreshortening=True)
    assert Counter(pair.kind.letter for pair in pairs_of(shaped(body, NO_LOADS))) == kinds


def test_shortening_of_many_modes_is_that_of_their_product():
    """24 points on the whole beam are not enough for the highest."""
    body = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 12}, shapes="clamped-free", foreshortening=True)
    beam = shaped(body, NO_LOADS)
    s, w = np.polynomial.legendre.leggauss(120)
    slopes = beam.bases[0].values((1 + s) / 2, 1)
    for pair in pairs_of(beam):
        whole = (w / 2) @ (slopes[:, pair.i] * slopes[:, pair.j])
        assert pair.g(np.ones(1))[0] == pytest.approx(whole * (0.5 if pair.i == pair.j else 1.0), rel=1e-11, abs=1e-9)
