"""Bushings: springs and dampers between frames, against Lagrange's equations, closed forms and other elements."""

import numpy as np
import pytest
from compared import assert_close, vector
from oracle import Lagrangian
from random_arms import random_state
from random_trees import random_tree

import flexarm as fa
from flexarm.analysis import equilibrium

ROUNDING = 1e-10


def mounted(arm, seed):
    """The arm with a bushing between two links, and one between a link and the base."""
    rng = np.random.default_rng([seed, 31])
    draw = lambda low, high: rng.uniform(low, high, 3).tolist()  # noqa: E731
    frame = {"xyz": draw(-0.5, 0.5), "rpy": draw(-1, 1)}
    first, last = [link for link in arm.links if link.joint.type != "telescope"][:2]
    springs = {"stiffness": draw(10, 40), "angular_stiffness": draw(3, 9)}
    dampers = {"damping": draw(0.5, 2), "angular_damping": draw(0.3, 1)}
    return arm.replace(
        bushings=[
            {"name": "mount", "link": last.name, "at": 0.5, "to": first.name, **springs, **dampers},
            {"name": "foot", "link": first.name, "at": frame, "place": frame, **springs, **dampers},
        ]
    )


@pytest.mark.parametrize(("seed", "options"), [(0, {}), (1, {"elastic": True}), (2, {"telescope": True})])
def test_bushings_are_those_of_lagranges_equations(seed, options):
    arm = mounted(random_tree(40 + seed, free=seed == 0, links=3, **options), seed)
    model, oracle, (q, qd, u) = fa.Model(arm), Lagrangian(arm), random_state(arm, seed)
    expected = oracle.forward_dynamics(q, qd, u)
    assert_close(vector(model, "forward_dynamics", q, qd, u), expected, ROUNDING, 1.0)
    assert_close(vector(model, "energy", q, qd)[1], oracle.energy(q, qd)[1])


def crate(**springs):
    """A body on rails along x and y that turns about z, and a bushing that holds its tip on the base."""
    free = fa.Frame(length=0.0)
    links = [
        fa.Link(name="x", joint=fa.Prismatic(axis=(1, 0, 0)), body=free),
        fa.Link(name="y", joint=fa.Prismatic(axis=(0, 1, 0)), body=free),
        fa.Link(name="crate", joint=fa.Revolute(), body=fa.Rigid(length=0.4, mass=2.5, inertia=(0.1, 0.2, 0.3))),
    ]
    feet = fa.Bushing(name="feet", link="crate", at=0.5, place=(0.2, 0.0, 0.0), **springs)
    return fa.Model(fa.Arm(name="crate", links=links, bushings=[feet]))


def test_forces_are_along_the_axes_of_the_first_frame():
    """By hand, in the plane: the first frame is on the crate. It turns by a, and its bushing by -a."""
    kx, ky, kz, d = 70.0, 40.0, 9.0, 3.0
    model = crate(stiffness=(kx, ky, 5.0), angular_stiffness=(1.0, 2.0, kz), angular_damping=(0, 0, d))
    x, y, a = 0.1, -0.07, 2.4
    c, s = np.cos(a), np.sin(a)
    px, py = np.array([[c, s], [-s, c]]) @ [0.2 - (x + 0.2 * c), -(y + 0.2 * s)]
    fx, fy = np.array([[c, -s], [s, c]]) @ [kx * px, ky * py]  # on the crate, along x and y, at the second frame
    arm = 0.2 - x, -y
    force = [fx, fy, arm[0] * fy - arm[1] * fx - kz * np.sin(a)]
    held = model.inverse_dynamics([x, y, a], [0, 0, 0], [0, 0, 0])
    assert held == pytest.approx(np.negative(force), rel=1e-12)
    energy = (kx * px**2 + ky * py**2) / 2 + kz * (1 - c)
    assert model.energy([x, y, a], [0, 0, 0])[1] == pytest.approx(energy, rel=1e-12)
    lost = model.inverse_dynamics([0, 0, 0], [0, 0, 1.3], [0, 0, 0])
    assert lost[2] == pytest.approx(d * 1.3)
    k = model.linearize([0, 0, 0], [0, 0, 0]).A[5, 2]
    assert k == pytest.approx(-kz / 0.3)


def test_energy_is_balanced_and_a_full_turn_is_smooth():
    """A motion through 180 degrees, where the moment about the axis is zero."""
    model = crate(stiffness=60.0, angular_stiffness=2.0, damping=1.2, angular_damping=0.1)
    run = fa.simulate(model, 1.5, q0=[0.05, 0, 0], qd0=[0, 0, 9.0], rtol=1e-9, samples=31, progress=False)
    assert run.q.values[:, 2].max() > np.pi and run.energy_drift < 1e-7 and float(run.dissipated[-1]) > 0.5


def test_equal_springs_without_angular_stiffness_are_a_strut_of_no_length():
    beam = fa.Beam(length=0.9, mass=0.7, EI=30.0, modes={"y": 2})
    rod = fa.Rigid(length=0.5, mass=0.4)
    links = [fa.Link(name=name, joint=fa.Revolute(), body=body) for name, body in (("a", beam), ("b", rod))]
    arm, place = fa.Arm(name="held", links=links, gravity=(0, -9.81, 0)), [1.1, 0.3, 0.0]
    springs = {"bushings": [{"name": "pin", "link": "b", "place": place, "stiffness": 25.0}]}
    strut = {"struts": [{"link": "b", "point": place, "stiffness": 25.0}]}
    state = [0.4, -0.2, 0.01, 0.02], [0.5, 0.1, 0.2, -0.1], [0.3, 0.1]
    one, other = (fa.Model(arm.replace(**given)).forward_dynamics(*state) for given in (springs, strut))
    assert one == pytest.approx(other, rel=1e-11)


def test_a_rubber_foot_sags():
    """A beam stands on a bushing instead of a joint: the sag is that of the springs and of the beam in series."""
    L, EI, F = 0.8, 25.0, 3.0
    free = [
        fa.Link(name="slide", joint=fa.Prismatic(axis=(0, 1, 0), passive=True), body=fa.Frame(length=0.0)),
        fa.Link(name="beam", joint=fa.Revolute(passive=True), body=fa.Beam(length=L, mass=0.5, EI=EI, modes={"y": 3})),
    ]
    foot = {"name": "foot", "link": "beam", "at": 0.0, "stiffness": 400.0, "angular_stiffness": 90.0}
    pull = fa.Force(name="pull", link="beam", kind="force")
    q, _ = equilibrium(
        fa.Model(fa.Arm(name="foot", links=free, bushings=[foot], forces=[pull])), [0.0] * 5, w={"pull.fy": F}
    )
    assert q[0] == pytest.approx(F / 400.0, rel=2e-3) and q[1] == pytest.approx(F * L / 90.0, rel=2e-3)


def test_a_bushing_in_a_free_arm_changes_no_momentum():
    bus = fa.FreeBase(mass=4.0, inertia=0.6)
    link = fa.Link(name="arm", joint=fa.Revolute(axis=(0, 0.6, 0.8)), body=fa.Rigid(length=0.7, mass=1.2))
    mount = fa.Bushing(name="m", link="arm", place=(0.5, 0.2, 0.1), stiffness=(30, 20, 9), angular_stiffness=2.0,
                       damping=0.4, angular_damping=(0.1, 0.2, 0.3))  # fmt: skip
    run = fa.simulate(fa.Model(fa.Arm(name="sat", links=[link], base=bus, bushings=[mount])), 0.8, rtol=1e-11,
                      solver=fa.Solver(atol=1e-13), progress=False)  # fmt: skip
    assert run.momentum_drift < 1e-11 and run.angular_momentum_drift < 1e-11 and run.energy_drift < 1e-8
    assert np.ptp(run.q.values[:, 7]) > 0.05


def test_bushings_in_files(tmp_path):
    path = tmp_path / "crate.toml"
    path.write_text("""
name = "crate"

[[links]]
name = "crate"
joint = { type = "prismatic", axis = [0, 0, 1] }
body = { type = "rigid", length = 0.4, mass = 2.5 }

[[bushings]]
name = "feet"
link = "crate"
at = 0.5
place = [0.2, 0.0, 0.0]
stiffness = [100.0, 100.0, 300.0]
angular_stiffness = 20.0
""")
    arm = fa.load(path)
    (feet,) = arm.bushings
    assert feet.stiffness == (100.0, 100.0, 300.0) and feet.angular_stiffness == (20.0,) * 3
    assert fa.load(arm.save(tmp_path / "again.toml")) == arm and arm.outside == ("bushings",)
    with pytest.raises(fa.DescriptionError, match="bushings"):
        fa.equations(arm)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, "Bushing: stiffness is missing; give stiffness, angular_stiffness, damping or angular_damping"),
        ({"stiffness": [1, 2]}, "Bushing: stiffness has 2 numbers; give one number, or three"),
        ({"damping": [1, -2, 0]}, "Bushing: damping[1] is -2.0 N s/m; it must be zero or positive"),
        ({"to": "a", "damping": 1}, "Bushing: to is 'a', the link itself; a bushing connects two different links"),
        ({"place": 0.5, "damping": 1},
         "Bushing: place is 0.5; the base has no length: give a position (3,) or a pose"),
    ],
)  # fmt: skip
def test_wrong_bushings_are_refused_in_one_line(given, wanted):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.Bushing(name="b", link="a", **given)
    assert str(caught.value) == wanted


def test_wrong_links_and_names_of_bushings_are_refused_in_one_line():
    rod = fa.Link(name="a", joint=fa.Revolute(), body=fa.Rigid(length=0.7, mass=1.2))
    for given, wanted in (
        ({"name": "b", "link": "c"}, "Arm: bushings[0].link is 'c'; the links are a"),
        ({"name": "a", "link": "a"},
         "Arm: bushings[0].name is 'a', which is already in use; give each closure and bushing a different name"),
    ):  # fmt: skip
        with pytest.raises(fa.DescriptionError) as caught:
            fa.Arm(name="x", links=[rod], bushings=[fa.Bushing(stiffness=1.0, **given)])
        assert str(caught.value) == wanted
