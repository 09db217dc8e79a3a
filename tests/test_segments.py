"""Beams of segments: large deflections against exact curves, an oracle, published and closed numbers, and limits."""

from dataclasses import dataclass
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from compared import values, vector
from oracle import Lagrangian
from rods import rod_in_space
from scipy.integrate import solve_ivp
from scipy.linalg import eigh
from scipy.optimize import brentq

import flexarm as fa
from flexarm.description.arm import Arm
from flexarm.mechanics.chain import chain
from flexarm.mechanics.segmented import at_rest
from flexarm.model.drawing import drawn

G = 9.81


def beam(segments, modes=None, **more):
    """One metre, 1 N m^2 and 1 kg, unless it is said."""
    given = {"length": 1.0, "mass": 1.0, "EI": 1.0, "GJ": 0.7, "modes": modes or {"y": 3}} | more
    return fa.Beam(segments=segments, **given)


def cantilever(body, force=(0.0, 0.0, 0.0)):
    """A clamped beam that weighs nothing and holds 1 kg at its tip."""
    light = body.replace(mass=1e-9)
    link = fa.Link(name="rod", joint=fa.Fixed(), body=light)
    return fa.Arm(name="cantilever", links=[link], payload=fa.Payload(mass=1.0), gravity=tuple(force))


def sagged(arm, steps=10):
    """The model and its equilibrium, the load applied little by little."""
    model, q = fa.Model(arm, vary=["gravity*"]), np.zeros(len(arm.coordinates))
    for share in np.linspace(0.0, 1.0, steps + 1)[1:]:
        q, _ = fa.analysis.equilibrium(model.at(share * model.p), q)
    return model, q


def orders(counts, errors):
    """Of convergence, between each two."""
    return -np.diff(np.log(errors)) / np.diff(np.log(counts))


# -- what it looks like from outside -----------------------------------------------------------------------------------


def two_links(**more):
    lumps = [{"at": 0.25, "mass": 0.2}, {"at": 0.5, "mass": 0.1}]
    given = {"polar_inertia": 0.02, "rotary_inertia": {"y": 0.01, "z": 0.03}, "lumps": lumps} | more
    body = beam(2, {"y": 2, "z": 1, "torsion": 1}, **given)
    elastic = fa.Revolute(axis=(0, 0, 1), stiffness=40.0, rotor_inertia=0.02, gear_ratio=2.0, rotor="absolute")
    turn = fa.Revolute(axis=(0, 1, 0), damping=0.3)
    links = [
        fa.Link(name="upper", joint=elastic, body=body, hub_mass=0.2, hub_inertia=(0.01, 0.02, 0.03)),
        fa.Link(
            name="fore",
            joint=turn,
            body=body.replace(segments=1, modes={"y": 1}, lumps=()),
            placement={"xyz": (0, 0, 0.1)},
        ),
        fa.Link(name="hand", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=0.2, mass=0.3)),
    ]
    return fa.Arm(name="two", links=links, payload=fa.Payload(mass=0.4, inertia=0.01), gravity=(0.0, -3.0, -9.0))


def test_one_link_whose_coordinates_say_their_segment():
    arm = two_links()
    assert arm.coordinates == (
        *("upper.joint", "fore.joint", "hand.joint"),
        *("upper.s1.y1", "upper.s1.y2", "upper.s1.z1", "upper.s1.torsion1"),
        *("upper.s2.y1", "upper.s2.y2", "upper.s2.z1", "upper.s2.torsion1"),
        *("fore.s1.y1", "upper.motor"),
    )
    assert arm.units[3:12] == ("m", "m", "m", "rad", "m", "m", "m", "rad", "m")
    assert arm.flexible == tuple(range(3, 12))
    assert [coordinate.link for coordinate in arm.layout] == [0, 1, 2, *[0] * 8, 1, 0]
    result = fa.simulate(fa.Model(arm), 0.01, samples=3, progress=False)
    assert dict(result.deflection.sizes)["link"] == 3
    assert fa.Model(arm).frames(np.zeros(13)).shape == (4, 4, 4)
    assert fa.Model(arm.rigid()).coordinates == ("upper.joint", "fore.joint", "hand.joint")


def test_the_description_says_what_segments_have():
    made = fa.Beam(length=1, mass=1, EI=1, segments=2)
    assert (made.shapes, made.foreshortening) == ("polynomial", True)
    again = fa.load("subudhi-morris").links[0].body.replace(segments=3)
    assert (again.segments, again.families["y"]) == (3, "polynomial")
    arm = two_links()
    assert Arm.from_json(arm.canonical()) == arm


REFUSED = [
    ({"segments": 0}, "segments is 0; it must be an integer from 1 to 100"),
    ({"segments": 2, "foreshortening": "no"}, "foreshortening is 'no'; it must be true or false"),
    ({"segments": 1.5}, "segments is 1.5; it must be an integer from 1 to 100"),
    ({"shapes": "clamped-free"}, "shapes is 'clamped-free'; a beam with segments needs 'polynomial' shapes"),
    ({"shapes": {"z": "hermite"}}, "shapes.y is 'clamped-mass'; a beam with segments needs 'polynomial' shapes"),
    ({"modes": {"y": 7}}, "modes.y is 7; a segment can have at most 6 modes: use more segments instead"),
    ({"damping": [0.1, 0.1, 0.1]}, "damping is a list; with segments give one ratio"),
    ({"damping": {"y": 0.1}}, "damping is a table; with segments give one ratio"),
    (
        {
            "mass": None,
            "EI": None,
            "sections": {"x": [0, 1], "mass_per_length": [1, 1], "EI": [1, 1], "shear": [1, 1]},
        },
        "sections is given; with shear a beam of segments must be uniform or tapered",
    ),
    (
        {"lumps": [{"at": 0.1, "mass": 1.0}, {"at": 0.5, "mass": 1.0, "inertia": 0.1}]},
        "lumps[1].inertia is given; with segments a lump is a point mass on the axis, so it must be 0",
    ),
    ({"lumps": [{"at": 0.5, "mass": 1.0, "offset": [0, 0.1, 0]}]}, "lumps[0].offset is given; with segments a lump"),
    ({"next_joint": "chord"}, "next_joint is 'chord'; with segments it must be 'slope'"),
]


@pytest.mark.parametrize(("fields", "message"), REFUSED)
def test_what_segments_do_not_take(fields, message):
    with pytest.raises(fa.DescriptionError) as caught:
        beam(**({"segments": 2} | fields))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_telescope_is_in_one_piece():
    with pytest.raises(fa.DescriptionError, match="segments is 2; the beam of a telescope cannot have segments"):
        fa.Link(name="a", joint=fa.Telescope(), body=beam(2))


@pytest.mark.parametrize(
    ("a", "b", "message"), [(0.5, 0.5, "b is 0.5; it must be larger than a"), (-0.1, 1, "a is -0.1")]
)
def test_a_part_lies_between_two_stations(a, b, message):
    with pytest.raises(fa.DescriptionError, match=message):
        beam(2).part(a, b)


def test_a_part_has_its_share():
    tube = {"material": {"E": 7e10, "density": 2700.0, "poisson": 0.3}, "modes": {"y": 2, "z": 2}}
    base = {"type": "tube", "outer_diameter": 0.05, "thickness": 0.004}
    end = {"type": "tube", "outer_diameter": 0.02, "thickness": 0.001}
    whole = fa.Beam(length=2.0, section=base, section_tip=end, segments=4, **tube)
    x = np.linspace(0.0, 1.0, 5)
    for i, part in enumerate(whole.parts):
        here, there = part.profile(x), whole.profile((i + x) / 4)
        for field in ("m", "EI_y", "EI_z", "GJ", "EA", "rho_Ip"):
            np.testing.assert_allclose(getattr(here, field), getattr(there, field), rtol=1e-13)
    np.testing.assert_allclose(sum(part.total_mass for part in whole.parts), whole.total_mass, rtol=1e-13)
    np.testing.assert_allclose([part.length for part in whole.parts], 0.5)
    table = {"x": [0, 0.3, 0.3, 1], "mass_per_length": [1, 2, 4, 3], "EI": [3, 2, 2, 1]}
    lumps = [{"at": at, "mass": 0.1 * (1 + at)} for at in (0.0, 0.2, 0.5, 1.0)]
    stepped = fa.Beam(length=2.0, sections=table, modes={"y": 2}, segments=2, lumps=lumps)
    for i, part in enumerate(stepped.parts):
        np.testing.assert_allclose(part.profile(x[:-1]).m, stepped.profile((i + x[:-1]) / 2).m, rtol=1e-13)
    assert [[lump.at for lump in part.lumps] for part in stepped.parts] == [[0.0, 0.4], [0.0, 1.0]]
    assert sum(part.total_mass for part in stepped.parts) == pytest.approx(stepped.total_mass, rel=1e-13)
    assert beam(None, mass=3.0).part(0.2, 0.7).total_mass == pytest.approx(1.5, rel=1e-14)


# -- the equations of motion -------------------------------------------------------------------------------------------


def test_the_equations_are_exact_to_the_third_order():
    """Against exact curves: halved angles leave an eighth of M's error, a quarter of forces', 1/16 of the tip's."""
    arm = two_links()
    oracle, model = Lagrangian(arm, points=8), fa.Model(arm)
    rng = np.random.default_rng([14, 2])
    n, flexible = len(arm.coordinates), list(arm.flexible)
    q, qd, qdd = (rng.uniform(0.4, 1.2, n) * rng.choice([-1, 1], n) for _ in range(3))
    qd[flexible] *= 0.1
    errors = []
    for size in (0.004, 0.002):
        at = q.copy()
        at[flexible] *= size
        mine = (
            values(model, "mass_matrix", at),
            vector(model, "inverse_dynamics", at, qd, qdd),
            values(model, "tip", at),
        )
        their = (oracle.mass_matrix(at), oracle.inverse_dynamics(at, qd, qdd), oracle.tip(at))
        errors.append([np.abs(a - b).max() / np.abs(b).max() for a, b in zip(mine, their, strict=True)])
    errors = np.array(errors)
    fall = np.log2(errors[:-1] / errors[1:])
    assert np.all(fall > [2.7, 1.6, 3.3]), (errors, fall)
    assert np.all(errors[-1] < [1e-3, 1e-3, 1e-7]), errors


def test_a_segments_inertia_is_exact_to_the_second_order():
    """Of one alone, about a slanted axis: nothing beyond it hides what its own inertia leaves out."""
    body = two_links().links[0].body.replace(segments=1)
    link = fa.Link(name="upper", joint=fa.Revolute(axis=(0, 0.6, 0.8)), body=body)
    arm = fa.Arm(name="one", links=[link])
    oracle, model = Lagrangian(arm, points=24), fa.Model(arm)
    errors, q = [], np.array([0.7, 0.9, -0.6, 1.1, 0.8])
    for size in (0.1, 0.05):
        at = q * [1.0, size, size, size, size]
        errors.append(np.abs(values(model, "mass_matrix", at) - oracle.mass_matrix(at)).max())
    assert np.all(-np.diff(np.log2(errors)) > 2.7) and errors[-1] < 5e-5, errors


def test_velocities_positions_and_energies_fit():
    """Identities: forward dynamics undoes inverse dynamics, power is the rate of energy, M is symmetric, positive."""
    arm = two_links(damping=0.02)
    model = fa.Model(arm)
    rng = np.random.default_rng(3)
    q, qd, u = rng.normal(size=13), rng.normal(size=13), rng.normal(size=3)
    q[list(arm.flexible)] *= 0.005
    qd[list(arm.flexible)] *= 0.1
    qdd = model.forward_dynamics(q, qd, u)
    np.testing.assert_allclose(
        vector(model, "forward_dynamics_dense", q, qd, u), qdd, rtol=1e-9, atol=1e-9 * np.abs(qdd).max()
    )
    back = vector(model, "inverse_dynamics", q, qd, qdd) - values(model, "input_matrix", q) @ u
    np.testing.assert_allclose(back, 0.0, atol=1e-9 * np.abs(qdd).max())
    assert np.linalg.eigvalsh(values(model, "mass_matrix", q)).min() > 0
    result = fa.simulate(model, 0.1, q0=q, qd0=qd, solver=fa.Solver(rtol=1e-9, atol=1e-11), samples=11, progress=False)
    assert result.attrs["energy_drift"] < 1e-7


# -- exact curves ------------------------------------------------------------------------------------------------------


def elastica(load):
    """Tip (x, y) and the bending moment at the root of a cantilever of length and EI 1 under a force across it.

    theta'' = -load cos(theta), theta(0) = 0, theta'(1) = 0: the first root of the free end's moment over the root's.
    """

    def shot(moment):
        def rate(s, y):
            return [y[1], -load * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])]

        return solve_ivp(rate, (0, 1), [0, moment, 0, 0], rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]

    tries = np.linspace(0.01, load, 60)
    ends = [shot(moment)[1] for moment in tries]
    i = next(i for i, (a, b) in enumerate(pairwise(ends)) if a * b < 0)
    moment = brentq(lambda moment: shot(moment)[1], tries[i], tries[i + 1], xtol=1e-14)
    return shot(moment)[2:], moment


ELASTICA = [(3.0, 3, (3, 4, 6), 1.3e-4), (10.0, 3, (4, 6, 8), 6e-5), (3.0, 1, (8, 12), 1e-3)]


@pytest.mark.parametrize(("load", "modes", "counts", "last"), ELASTICA)
def test_a_cantilever_bends_as_the_elastica(load, modes, counts, last):
    """Order 4 in the number of segments with two modes or more, 2 with one: a piece of constant curvature."""
    tip, moment = elastica(load)
    errors = []
    for k in counts:
        model, q = sagged(cantilever(beam(k, {"y": modes}), (0.0, load, 0.0)))
        errors.append(np.linalg.norm(model.tip(q)[:2, 3] - tip))
    assert errors[-1] < last
    assert np.all(orders(counts, errors) > (3.7 if modes > 1 else 1.9)), errors
    if modes > 1:  # sensors and drawings: the moment at the root, and at a place of each segment
        at = np.linspace(0.0, 1.0, 21)
        gauges = [fa.sensors.StrainGauge(link="rod", at=float(x), name=f"m{i}") for i, x in enumerate(at)]
        seen = np.array(model.output_function(gauges)(q, 0 * q, 0 * q, model.p)).ravel()
        arms = load * (tip[0] - drawn(model, q)[0][0, :, 0])
        np.testing.assert_allclose(seen, arms, atol=2e-2 * moment)
        np.testing.assert_allclose(seen[0], moment, rtol=5e-3)
        np.testing.assert_allclose(arms[0], moment, rtol=1e-3)


def rolled(k, angle):
    """A cantilever of length and EI 1 and its equilibrium under an end moment: moment and energy are linear in q."""
    model = fa.Model(cantilever(beam(k, {"y": 2})))
    turns = np.array([model.deflections(e)[0, 3] for e in 1e-3 * np.eye(2 * k)]) / 1e-3
    K = np.array(model.slope("stiffness_force", 0)(np.zeros(2 * k)))
    return model, np.linalg.solve(K, angle * turns)


def test_an_end_moment_rolls_it_up_to_a_circle():
    """theta = M s is in the span of the shapes, so that angles are exact, and places with order 4."""
    errors, counts = [], (4, 6, 8, 12)
    for k in counts:
        model, q = rolled(k, np.pi)
        errors.append(np.linalg.norm(model.tip(q)[:2, 3] - [0.0, 2 / np.pi]))
        curvature = fa.sensors.StrainGauge(link="rod", at=0.6, distance=-1.0)
        assert float(model.output_function([curvature])(q, 0 * q, 0 * q)) == pytest.approx(np.pi, rel=1e-10)
    assert np.all(orders(counts, errors) > 3.8) and errors[-1] < 4e-5, errors
    model, q = rolled(6, 2 * np.pi)
    np.testing.assert_allclose(model.tip(q)[:2, 3], 0.0, atol=1e-12)  # a regular hexagon closes
    assert model.deflections(q)[0, 3] == pytest.approx(2 * np.pi, rel=1e-10)  # whole turns are counted


def test_slopes_of_a_link_that_bends_up_by_more_than_a_right_angle():
    """In the plane of z the angles about z and x stay zero, and the one about y goes on."""
    model = fa.Model(cantilever(beam(6, {"z": 2})))
    turns = np.array([model.deflections(e)[0, 4] for e in 1e-3 * np.eye(12)]) / 1e-3
    K = np.array(model.slope("stiffness_force", 0)(np.zeros(12)))
    for angle in (1.0, 2.5, 4.0, 6.0):
        found = model.deflections(np.linalg.solve(K, angle * turns))[0]
        np.testing.assert_allclose(found[3:], [0.0, angle, 0.0], atol=1e-10)


PRINCETON = {"length": 0.508, "width": 12.7e-3, "height": 3.2024e-3, "E": 71.7e9, "poisson": 0.31}
"""Dowell & Traybar 1975: a bar of aluminium 7075, clamped upright at an angle, with a weight at its tip."""


def test_the_princeton_beam():
    """Bent in two planes, and twisted by it: 13.345 N at 60 degrees, against the exact rod."""
    angle = 60.0
    L, w, h, E = (PRINCETON[x] for x in ("length", "width", "height", "E"))
    EI = {"y": E * h * w**3 / 12, "z": E * w * h**3 / 12}
    GJ = E / (2 * (1 + PRINCETON["poisson"])) * w * h**3 / 3 * (1 - 0.63 * h / w)
    force = 13.345 * np.array([0.0, np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    tip, R = rod_in_space(force, EI, GJ, L)
    twist = np.arctan2(R[2, 1], R[2, 2])
    errors, counts = [], (4, 6)
    for k in counts:
        body = fa.Beam(length=L, mass=1e-9, EI=EI, GJ=GJ, modes={"y": 2, "z": 2, "torsion": 2}, segments=k)
        model, q = sagged(cantilever(body, force), steps=4)
        errors.append(np.linalg.norm(model.tip(q)[:3, 3] - tip))
    assert errors[-1] < 1e-4 * L and orders(counts, errors)[0] > 2.6, errors  # turns in space are exact to O(3)
    torsion = model.deflections(q)[0, 5]
    assert torsion == pytest.approx(twist, rel=5e-3) and abs(twist) > 0.01


# -- motions -----------------------------------------------------------------------------------------------------------


def test_a_spinning_beam_is_stiffened_as_published():
    """First flapwise frequencies of a spinning uniform cantilever, Wright, Smith, Thresher & Wang 1982, hub radius 0.

    Over sqrt(EI / rho A L^4), at spins of the same unit; chordwise omega^2 is less by spin^2.
    """
    published = {0.0: 3.5160, 2.0: 4.1373, 4.0: 5.5850, 8.0: 9.2568, 12.0: 13.1702}
    body = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 3, "z": 3}, segments=4)
    model = fa.Model(fa.Arm(name="rotor", links=[fa.Link(name="a", joint=fa.Revolute(axis=(0, 0, 1)), body=body)]))
    q, M = np.zeros(25), values(model, "mass_matrix", np.zeros(25))
    names = [name.split(".")[-1][0] for name in model.coordinates]
    for spin, known in published.items():
        qd = np.zeros(25)
        qd[0] = spin
        K = np.array(model.slope("bias", 0)(q, qd)) + np.array(model.slope("stiffness_force", 0)(q))
        lowest = {}
        for plane in "yz":
            some = np.ix_(*[[i for i, name in enumerate(names) if name == plane]] * 2)
            lowest[plane] = np.linalg.eigvals(np.linalg.solve(M[some], K[some])).real.min()
        assert np.sqrt(lowest["z"]) == pytest.approx(known, rel=3e-4)
        assert lowest["z"] - lowest["y"] == pytest.approx(spin**2, rel=1e-8, abs=1e-8)


@dataclass(frozen=True)
class SpinUp:
    """From rest to the rate `final` in the time T, without a jump in acceleration."""

    final: float
    T: float

    def expression(self, t):
        wave = (self.T / (2 * np.pi)) ** 2 * (ca.cos(2 * np.pi * t / self.T) - 1)
        return [ca.if_else(t < self.T, self.final / self.T * (t**2 / 2 + wave), self.final * (t - self.T / 2))]

    def described(self):
        return f"spin-up {self.final!r} {self.T!r}"


def test_a_beam_is_spun_up():
    """Simo & Vu-Quoc 1987, Kane 1987: to 6 rad/s in 15 s. The tip lags by some 0.58 m, and comes back to 0.

    Where the foreshortening is left out, it runs away.
    """
    T, final = 15.0, 6.0
    body = fa.Beam(length=10.0, mass=12.0, EI=1.4e4, modes={"y": 3}, segments=2)
    arm = fa.Arm(name="rotor", links=[fa.Link(name="a", joint=fa.Revolute(axis=(0, 0, 1)), body=body)])
    u = fa.PrescribedMotion(SpinUp(final, T))
    result = fa.simulate(fa.Model(arm), 20.0, u, samples=201, solver=fa.Solver(rtol=1e-7, atol=1e-9), progress=False)
    bent = result.deflection.values[:, 0, 1]
    finer = arm.replace(links=[arm.links[0].replace(body=body.replace(segments=3))])
    again = fa.simulate(fa.Model(finer), 20.0, u, samples=201, solver=fa.Solver(rtol=1e-7, atol=1e-9), progress=False)
    np.testing.assert_allclose(again.deflection.values[:, 0, 1], bent, atol=5e-4)
    assert -0.60 < bent.min() < -0.55
    assert np.abs(bent[result.time.values > 15.0]).max() < 5e-3


def test_a_flying_beam_keeps_its_momentum():
    """A free beam pushed and turned at one end (Simo & Vu-Quoc 1986), far beyond small angles: its centre of mass goes
    where the force takes it, and the angular momentum about the origin is what force and moment have made."""
    light = fa.Rigid(length=0.0, mass=1e-9, inertia=0.0)
    body = fa.Beam(length=10.0, mass=10.0, EI=500.0, modes={"y": 2}, segments=5)
    links_ = [
        fa.Link(name="x", joint=fa.Prismatic(axis=(1, 0, 0)), body=light),
        fa.Link(name="y", joint=fa.Prismatic(axis=(0, 1, 0)), body=light),
        fa.Link(name="rod", joint=fa.Revolute(axis=(0, 0, 1)), body=body),
    ]
    model = fa.Model(fa.Arm(name="flying", links=links_))
    F, M, pulse = 8.0, -80.0, 2.5
    u = fa.Piecewise([0.0, pulse], [[F, 0.0, M], [0.0, 0.0, 0.0]])
    result = fa.simulate(model, 5.0, u, samples=51, solver=fa.Solver(rtol=1e-8, atol=1e-10), progress=False)
    assert np.abs(result.deflection.values[:, 2, 1]).max() > 1.0  # metres
    assert result.attrs["energy_drift"] < 1e-7
    q, qd = result.q.values, result.qd.values
    p = np.einsum("tij,tj->ti", model.mass_matrix(q), qd)  # generalized momenta: those of x and y are linear ones
    t = result.time.values
    np.testing.assert_allclose(p[:, 0], F * np.minimum(t, pulse), atol=1e-6)
    np.testing.assert_allclose(p[:, 1], 0.0, atol=1e-6)
    about = p[:, 2] + q[:, 0] * p[:, 1] - q[:, 1] * p[:, 0]  # about the origin
    work = np.cumsum(np.append(0.0, np.diff(t) * -F * (q[1:, 1] + q[:-1, 1]) / 2 * (t[1:] <= pulse + 1e-9)))
    np.testing.assert_allclose(about, M * np.minimum(t, pulse) + work, atol=0.02 * abs(M) * pulse)
    late = t > pulse
    np.testing.assert_allclose(about[late], about[late][0], atol=1e-4)


def test_a_segment_that_is_bent_too_far_says_so():
    """Its inertia, cut off, is not positive any more; one that lasts is not stopped."""
    body = beam(1, {"y": 3})
    model = fa.Model(fa.Arm(name="soft", links=[fa.Link(name="a", joint=fa.Revolute(axis=(0, 0, 1)), body=body)]))
    q, qd = np.array([0.0, 0.3, 0.4, -0.3]), np.array([0.0, 5.0, 5.0, -5.0])
    with pytest.raises(fa.SimulationError, match=r"segment 1 of link 'a' bends by [0-9.]+ rad, too much for one"):
        fa.simulate(model, 2.0, q0=q, qd0=qd, samples=3, progress=False)
    fa.simulate(model, 0.2, q0=0.2 * q, qd0=0.1 * qd, samples=3, progress=False)


# -- limits ------------------------------------------------------------------------------------------------------------


def test_frequencies_converge_to_those_of_a_clamped_beam():
    roots = np.array([1.87510407, 4.69409113, 7.85475744]) ** 2
    counts, errors = (2, 4, 8), []
    for k in counts:
        found = fa.Model(cantilever(beam(k, {"y": 2})).replace(payload=None)).frequencies(np.zeros(2 * k))
        errors.append(found[0] * np.sqrt(1e-9) / roots[0] - 1)
    assert np.all(np.array(errors) > 0) and np.all(orders(counts, errors) > 3.7)
    fine = fa.Model(cantilever(beam(3, {"y": 4})).replace(payload=None)).frequencies(np.zeros(12))
    np.testing.assert_allclose(fine[:3] * np.sqrt(1e-9), roots, rtol=2e-5)


def test_one_segment_is_the_linear_beam_at_rest():
    """The same polynomials: the same inertia and stiffness."""
    arm = two_links()
    one = arm.replace(links=[link.replace(body=plain(link.body, 1)) for link in arm.links])
    whole = arm.replace(links=[link.replace(body=plain(link.body, None)) for link in arm.links])
    q = np.zeros(len(one.coordinates))
    q[:3] = 0.3, -0.7, 1.1
    for name in ("mass_matrix", "gravity_force", "tip"):
        a, b = (getattr(fa.Model(x), name)(q) for x in (one, whole))
        np.testing.assert_allclose(a, b, atol=1e-12)
    for name in ("stiffness_force", "restoring_force"):  # under gravity the fields of second order count, twist and all
        a, b = (np.array(fa.Model(x).slope(name, 0)(q)) for x in (one, whole))
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("rotary", [{"y": [0.01, 0.03], "z": [0.05, 0.02]}, {"z": [0.05, 0.02]}])
def test_sections_turn_about_their_own_axes(rotary):
    """Of a table whose inertia against turning goes another way in each plane, or is none in one."""
    table = {"x": [0, 1], "mass_per_length": [1.0, 0.5], "EI": [1.0, 0.5], "rotary_inertia": rotary}
    body = fa.Beam(length=1.0, sections=table, modes={"y": 2, "z": 2}, rotary_inertia=True, segments=1)
    one, whole = (fa.Model(alone(plain(body, segments))).mass_matrix(np.zeros(5)) for segments in (1, None))
    np.testing.assert_allclose(one, whole, rtol=1e-10, atol=1e-12)


def plain(body, segments):
    more = {"segments": segments, "shapes": "polynomial", "foreshortening": True}
    return body.replace(**more) if isinstance(body, fa.Beam) else body


def test_every_mode_of_the_whole_has_the_damping_ratio():
    body = beam(3, {"y": 2, "z": 1, "torsion": 1}, damping=0.03, polar_inertia=0.01, EI={"y": 1.0, "z": 2.0})
    link = fa.Link(name="rod", joint=fa.Fixed(), body=body)
    model = fa.Model(fa.Arm(name="damped", links=[link]))
    n = len(model.coordinates)
    poles = np.linalg.eigvals(model.linearize(np.zeros(n), np.zeros(n), []).A)
    np.testing.assert_allclose(-poles.real / np.abs(poles), 0.03, rtol=1e-8)
    assert len(poles) == 2 * n == 24


def test_damping_of_the_material():
    """tau K, Rayleigh's a M + b K, and half the loss factor as a ratio; over steps of a table, with a lump."""
    table = {"x": [0, 0.4, 0.4, 1], "mass_per_length": [1.0, 1.0, 2.0, 2.0], "EI": [1.0, 1.0, 3.0, 2.0]}
    lump = {"at": 0.7, "mass": 0.3}
    plain = fa.Beam(length=1.0, sections=table, modes={"y": 2}, segments=3, lumps=[lump])

    def found(**more):
        model = fa.Model(fa.Arm(name="d", links=[fa.Link(name="a", joint=fa.Fixed(), body=plain.replace(**more))]))
        q = np.zeros(6)
        K = np.array(model.slope("stiffness_force", 0)(q))
        D = np.array([model.damping_force(q, e) for e in np.eye(6)]).T
        return model.mass_matrix(q), K, D

    M, K, D = found(tau=0.01)
    np.testing.assert_allclose(D, 0.01 * K, rtol=1e-12, atol=1e-12)
    M, K, D = found(rayleigh={"mass": 0.3, "stiffness": 0.002})
    np.testing.assert_allclose(D, 0.3 * M + 0.002 * K, rtol=1e-10, atol=1e-12)
    M, K, D = found(loss_factor=0.06)
    omega2, Phi = eigh(K, M)
    np.testing.assert_allclose(Phi.T @ D @ Phi, np.diag(0.06 * np.sqrt(omega2)), atol=1e-9 * np.sqrt(omega2[-1]))


def test_steps_of_a_table_are_where_they_are():
    """Inside a segment: frequencies are those of the beam in one piece, of many elements between the steps."""
    table = {"x": [0, 0.4, 0.4, 1], "mass_per_length": [1.0, 1.0, 2.0, 2.0], "EI": [1.0, 1.0, 3.0, 2.0]}
    given = {"length": 1.0, "sections": table, "lumps": [{"at": 0.7, "mass": 0.3}]}
    whole = fa.Beam(modes={"y": 20}, shapes="hermite", **given)
    found = [
        fa.Model(fa.Arm(name="s", links=[fa.Link(name="a", joint=fa.Fixed(), body=body)])).frequencies(np.zeros(20))
        for body in (whole, fa.Beam(modes={"y": 4}, segments=5, **given))
    ]
    np.testing.assert_allclose(found[1][:3], found[0][:3], rtol=2e-4)


def test_inertia_at_rest_is_that_of_the_recursion():
    """What the modal damping of the whole is made from."""
    body = beam(3, {"y": 2, "z": 2, "torsion": 1, "axial": 1}, polar_inertia=0.01, EA=3.0)
    arm = fa.Arm(name="rest", links=[fa.Link(name="rod", joint=fa.Fixed(), body=body)])
    M, K = (np.array(ca.DM(A)) for A in at_rest(chain(arm).bodies[:-1]))
    model = fa.Model(arm)
    np.testing.assert_allclose(M, model.mass_matrix(np.zeros(18)), atol=1e-14)
    np.testing.assert_allclose(K, np.array(model.slope("stiffness_force", 0)(np.zeros(18))), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize(
    ("more", "varied"),
    [
        ({"damping": 0.02, "lumps": (), "rotary_inertia": False}, {"upper.damping_ratio": 0.05}),
        ({"tau": 0.01, "rayleigh": {"mass": 0.1}}, {"upper.tau": 0.02, "upper.lumps.2.mass": 0.5}),
    ],
)
def test_numbers_of_the_whole_vary(more, varied):
    """Length, mass, EI, GJ, damping ratio of the link, not of a segment: as the arm written with them."""
    arm = two_links(**more)
    arm = arm.replace(links=arm.links[:1])
    values = {"upper.length": 1.3, "upper.mass": 0.7, "upper.EI": 2.1, "upper.GJ": 0.4} | varied
    given = fa.Model(arm, vary=list(values)).at(values)
    other = fa.Model(given.arm_at())
    rng = np.random.default_rng(5)
    n = len(arm.coordinates)
    q, qd, u = 0.05 * rng.normal(size=n), rng.normal(size=n), rng.normal(size=1)
    for name in ("forward_dynamics", "damping_force", "energy", "tip", "deflections"):
        arguments = {"forward_dynamics": (q, qd, u), "damping_force": (q, qd), "energy": (q, qd)}.get(name, (q,))
        a, b = (np.array(model.fixed(name)(*arguments)) for model in (given, other))
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_a_damping_that_is_zero_varies_by_name():
    body = beam(2, {"y": 1, "torsion": 1}, polar_inertia=0.01)
    model = fa.Model(alone(body), vary=["rod.damping_ratio", "rod.loss_factor"])
    given, q, qd = model.at([0.05, 0.02]), 0.1 * np.ones(5), np.ones(5)
    assert not model.damping_force(q, qd).any()
    np.testing.assert_allclose(given.damping_force(q, qd), fa.Model(given.arm_at()).damping_force(q, qd), rtol=1e-12)


@pytest.mark.parametrize("more", [{"damping": 0.1}, {"loss_factor": 0.1}, {"tau": 0.1}, {"rayleigh": {"mass": 1.0}}])
def test_without_modes_it_is_rigid_whatever_its_damping(more):
    arm = alone(fa.Beam(length=1.0, mass=1.0, polar_inertia=0.1, modes={}, segments=3, **more))
    model = fa.Model(arm, vary=["rod.mass", "rod.length"])
    rigid = fa.Model(arm.rigid())
    assert model.coordinates == ("rod.joint",)
    np.testing.assert_allclose(model.mass_matrix([0.3]), rigid.mass_matrix([0.3]), rtol=1e-12)
    assert [x.shapes for x in model.parameters] == [(), ()]


def test_parameters_of_a_lossy_beam_of_segments():
    """Which shapes follow them is asked of a beam without modes."""
    model = fa.Model(alone(beam(2, loss_factor=0.1)), vary=["rod.mass"])
    assert model.parameters[0].shapes == ()


def test_lumps_of_one_segment_in_any_order():
    lumps = [{"at": 0.9, "mass": 1.0}, {"at": 0.5, "mass": 2.0}, {"at": 0.1, "mass": 5.0}, {"at": 0.5, "mass": 0.2}]
    for segments in (1, 2, 4):
        one, other = (
            fa.Model(alone(beam(segments, {"y": 2}, lumps=some)), vary=["rod.lumps.*.mass"])
            for some in (sorted(lumps, key=lambda lump: lump["at"]), lumps)
        )
        q = np.append(0.3, 0.02 * np.ones(2 * segments))
        np.testing.assert_allclose(other.mass_matrix(q), one.mass_matrix(q), rtol=1e-12)
        heavier = other.at({"rod.lumps.1.mass": 3.0})
        np.testing.assert_allclose(heavier.mass_matrix(q), one.at({"rod.lumps.4.mass": 3.0}).mass_matrix(q), rtol=1e-12)


def alone(body):
    link = fa.Link(name="rod", joint=fa.Revolute(axis=(0, 0, 1)), body=body)
    return fa.Arm(name="alone", links=[link])


def test_a_stiff_one_is_the_rigid_arm():
    arm = two_links()
    stiff = arm.replace(links=[link.replace(body=hard(link.body)) for link in arm.links])
    free = [i for i, x in enumerate(stiff.layout) if x.role == "flexible"]
    model, rigid = fa.Model(stiff), fa.Model(arm.replace(links=[x.replace(body=x.body.rigid()) for x in arm.links]))
    q = np.zeros(len(stiff.coordinates))
    q[:3], q[-1] = (0.3, -0.7, 1.1), 0.35
    N = np.delete(np.eye(len(q)), free, axis=1)
    np.testing.assert_allclose(N.T @ model.mass_matrix(q) @ N, rigid.mass_matrix(N.T @ q), atol=1e-12)
    assert model.frequencies(q, locked=False)[-len(free)] > 1e3


def hard(body):
    return body.replace(EI=1e9, GJ=1e9) if isinstance(body, fa.Beam) else body


# -- what else is made of an arm ---------------------------------------------------------------------------------------


def test_closed_forms_are_the_models():
    """Numbers in place of symbols give the model's inertia and forces."""
    body = beam(2, {"y": 1})
    arm = fa.Arm(
        name="closed",
        links=[fa.Link(name="a", joint=fa.Revolute(axis=(0, 0, 1)), body=body)],
        payload=fa.Payload(mass=0.5),
        gravity=(0.0, -9.81, 0.0),
    )
    equations, model = fa.equations(arm), fa.Model(arm)
    q, qd = np.array([0.3, 0.02, -0.03]), np.array([0.4, -0.2, 0.3])
    values = equations.values
    symbols = [*map(sp.Symbol, (*equations.coordinates, *equations.rates)), *values]
    at = [*q, *qd, *values.values()]
    M, bias = (sp.lambdify(symbols, equations.explicit(x), cse=True)(*at) for x in (equations.M, equations.bias))
    np.testing.assert_allclose(M, model.mass_matrix(q), rtol=1e-10)
    np.testing.assert_allclose(np.ravel(bias), model.bias(q, qd), rtol=1e-9, atol=1e-12)
    assert {"alpha_1s1", "alpha_1s2"} <= {str(symbol) for symbol in equations.definitions}
    assert "m_1" in map(str, values) and "EI_1" in map(str, values)


def test_drawings_follow_the_curve():
    """21 stations over the whole link: the last is the tip, and they lie on a circle where the curvature is even."""
    model, q = rolled(8, np.pi / 2)
    stations, frames = drawn(model, q)
    places = stations[0, :, :2]
    np.testing.assert_allclose(places[-1], model.tip(q)[:2, 3], atol=1e-12)
    radius = np.linalg.norm(places - [0.0, 2 / np.pi], axis=1)
    np.testing.assert_allclose(radius, 2 / np.pi, rtol=2e-5)
    np.testing.assert_allclose(stations[0, :, 6], np.pi / 2, rtol=1e-10)  # the bending moment
    away = np.linalg.norm(places - np.column_stack([np.linspace(0, 1, 21), np.zeros(21)]), axis=1)
    np.testing.assert_allclose(stations[0, :, 8], away, atol=1e-12)
    still, _ = drawn(model, q, 0.0)
    np.testing.assert_allclose(still[0, :, 0], np.linspace(0, 1, 21), atol=1e-12)
    assert frames.shape == (2, 3, 4)


def test_what_is_shown_of_it():
    from flexarm.analysis import convergence

    arm = two_links()
    assert [link.body.pieces for link in arm.links] == [2, 1, 0]
    few = fa.Arm(name="few", links=[fa.Link(name="a", body=beam(2, {"y": 6}))])
    with pytest.raises(fa.DescriptionError, match="6 is the largest number"):
        convergence(few)


def test_a_force_at_a_station_of_the_whole_link():
    """0.7 of two segments is 0.4 of the second: the force's share of M qdd is the slope of the section's place."""
    link = fa.Link(name="a", joint=fa.Revolute(axis=(0, 0, 1)), body=beam(2, {"y": 2}))
    arm = fa.Arm(name="pushed", links=[link], forces=[{"name": "push", "link": "a", "at": 0.7}])
    model, q, F = fa.Model(arm), np.array([0.4, 0.03, -0.02, 0.05, 0.01]), np.array([0.3, -1.2, 0.7])
    still = np.zeros(5)
    with_it, without = (model.forward_dynamics(q, still, [0.0], w=w) for w in (F, 0 * F))
    h = 1e-6
    J = np.array([(place(model, q + h * e) - place(model, q - h * e)) / (2 * h) for e in np.eye(5)])
    np.testing.assert_allclose(model.mass_matrix(q) @ (with_it - without), J @ F, atol=1e-8)


def place(model, q):
    return drawn(model, q)[0][0, 14, :3]
