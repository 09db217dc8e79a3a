"""What a coordinate is, is said by the arm; no name is ever parsed. What is held are the drives."""

import ast
from pathlib import Path

import numpy as np
import pytest
from random_arms import random_arm, random_state
from scipy.linalg import eigh, null_space

import flexarm as fa

MISLEADING = ("motor", "joint", "motorboom", "y1", "hub")
"""Names of links that look like something else."""


def arm(names=("upper", "fore"), **more):
    """Two elastic joints, two beams, a telescope last."""
    beam = fa.Beam(length=0.5, mass=0.1, EI=1.0, modes={"y": 1, "z": 1}, shapes="clamped-free")
    elastic = fa.Revolute(axis=(0, 0, 1), stiffness=100.0, rotor_inertia=0.02)
    return fa.Arm(
        name="two links",
        links=[fa.Link(name=name, joint=elastic, body=beam) for name in names],
        payload=fa.Payload(mass=0.1, inertia=0.005),
        **more,
    )


def test_an_arm_says_where_its_coordinates_stand():
    slide = fa.Link(
        name="slide",
        joint=fa.Telescope(free_length=0.4),
        body=fa.Beam(length=1.0, mass=1.0, EI=1.0, GJ=1.0, modes={"y": 1}, shapes="clamped-free"),
    )
    hand = fa.Link(name="hand", joint=fa.Fixed(), body=fa.Rigid(length=0.1, mass=0.1))
    made = arm().replace(links=[*arm().links, slide, hand])
    assert made.coordinates == (
        *("upper.joint", "fore.joint", "slide.joint"),
        *("upper.y1", "upper.z1", "fore.y1", "fore.z1", "slide.y1"),
        *("upper.motor", "fore.motor"),
    )
    assert (made.joints, made.flexible, made.motors) == ((0, 1, 2), (3, 4, 5, 6, 7), (8, 9))
    assert made.springs == ((0, 8), (1, 9))
    assert made.actuated == (8, 9, 2)
    assert made.inputs == ("upper.motor", "fore.motor", "slide.joint")
    assert made.units == ("rad", "rad", "m", "m", "m", "m", "m", "m", "rad", "rad")
    assert made.rest == (0.0, 0.0, 0.4, *[0.0] * 7)
    assert [coordinate.link for coordinate in made.layout] == [0, 1, 2, 0, 0, 1, 1, 2, 0, 1]


@pytest.mark.parametrize("name", MISLEADING)
def test_a_links_name_does_not_matter(name):
    """The same arm under other names: the same compensated reference, equilibrium, starts, results and figures."""
    q = np.linspace(0.1, 0.8, 8)
    found = []
    for first in ("upper", name):
        model = fa.Model(arm((first, "fore")))
        slew = fa.Quintic(start=(0.1, 0.2), end=(0.4, -0.2), duration=1.0)
        path = fa.TipCompensated(slew, model)
        values = fa.trajectory.reference_values(path, np.array([0.0, 0.3, 0.7, 1.0]))
        held = model.frequencies(q)
        run = fa.simulate(model, 0.05, u=fa.control.JointPD(slew, Kp=5.0, Kd=1.0), samples=6, progress=False)
        assert np.isfinite(values).all()
        found.append((values, held, run.q.values, run.q_ref.values))
    for one, other in zip(*found, strict=True):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-14)


def test_no_source_parses_the_name_of_a_coordinate():
    """No comparison of a text's beginning or end with a role, no cut at a dot, in any source file."""
    roles = {".joint", ".motor", "joint", "motor", ".spring"}
    places, package = [], Path(fa.__file__).parent
    own = (f"description/{name}.py" for name in ("numbers", "parts", "friction", "stations"))
    # of numbers and fields: users type them
    names = (*own, "model/varied.py", "studies/tasks.py", "commands/optimize.py", "simulation/designs.py")
    files = {*package.rglob("*.py"), *package.with_name("flexarm_papers").rglob("*.py")}
    for file in sorted(files - {package / name for name in names}):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            texts = {
                part.value
                for given in node.args
                for part in ast.walk(given)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            }
            of_a_module = isinstance(node.func.value, ast.Attribute) and node.func.value.attr == "__module__"
            cut = (
                node.func.attr in ("split", "rsplit", "partition", "rpartition") and texts == {"."} and not of_a_module
            )
            told = node.func.attr in ("endswith", "startswith", "replace", "removesuffix", "index") and texts & roles
            if cut or told:
                places.append(f"{file.name}:{node.lineno}")
    assert not places


def beam(shapes, count):
    link = fa.Link(
        name="beam",
        body=fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": count}, shapes=shapes),
        hub_inertia=0.01,
    )
    return fa.Model(fa.Arm(name="one beam", links=[link]))


def test_with_the_drives_held_everything_else_vibrates():
    """A beam whose shapes turn its hub: held at the hub, its tip still moves (the chord turns): it is clamped-free."""
    clamped_free = np.array([3.516015268, 22.03449156])
    for shapes, count, share in (("polynomial", 8, 1e-6), ("pinned-pinned", 24, 0.02), ("pinned-free", 24, 0.02)):
        omega, shape = beam(shapes, count).modes(np.zeros(count + 1))
        assert omega[:2] == pytest.approx(clamped_free, rel=share), shapes
        assert len(omega) == count
        B = beam(shapes, count).input_matrix(np.zeros(count + 1))
        assert np.abs(B.T @ shape).max() < 1e-9 * np.abs(shape).max()  # the drive stands still
    errors = [beam("pinned-pinned", n).frequencies(np.zeros(n + 1))[0] - clamped_free[0] for n in (6, 12, 24)]
    assert errors[0] > errors[1] > errors[2] > 0
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.05)  # sines do not vanish in slope: order 1


def test_modes_with_the_drives_held_are_those_of_the_other_coordinates_under_the_constraint():
    """M-orthonormal, K-orthogonal, in the null space of B', for a chain whose hubs turn with the shapes."""
    links = [
        fa.Link(
            name=name,
            joint=fa.Revolute(rotor_inertia=0.01),
            body=fa.Beam(length=0.5, mass=0.2, EI=2.0, modes={"y": 3}, shapes="pinned-pinned"),
        )
        for name in ("upper", "fore")
    ]
    model = fa.Model(fa.Arm(name="turning hubs", links=links, payload=fa.Payload(mass=0.1, inertia=0.001)))
    q = np.array([0.3, -0.8, 0.01, -0.02, 0.005, 0.02, 0.01, -0.004])
    omega, V = model.modes(q)
    assert V.shape == (8, 6)
    assert V.T @ model.mass_matrix(q) @ V == pytest.approx(np.eye(6), abs=1e-9)
    K = np.array(model.slope("restoring_force", 0)(q))
    assert V.T @ K @ V == pytest.approx(np.diag(omega**2), abs=1e-8 * omega[-1] ** 2)
    assert model.input_matrix(q).T @ V == pytest.approx(np.zeros((2, 6)), abs=1e-9 * np.abs(V).max())


TURNING = ("pinned-pinned", "pinned-free", "polynomial", "clamped-mass")

GENERAL = {
    "anything": {},
    "absolute rotors": {"rotor": "absolute", "families": TURNING},
    "telescope, elastic joints": {"telescope": True, "elastic": True},
    "planar, hubs that turn": {"planar": True, "families": TURNING[:2], "rotor": "absolute"},
    "planar, telescope": {"planar": True, "families": TURNING, "telescope": True},
}


@pytest.mark.parametrize("options", GENERAL)
@pytest.mark.parametrize("seed", range(10))
def test_positions_are_those_of_the_names(options, seed):
    """Names are for readers; here, and only here, they are parsed."""
    made = random_arm(seed, **GENERAL[options])
    names = made.coordinates
    links, roles = zip(*(name.split(".") for name in names), strict=True)
    of = {role: tuple(i for i, each in enumerate(roles) if each == role) for role in ("joint", "motor")}
    assert (made.joints, made.motors) == (of["joint"], of["motor"])
    assert sorted((*made.joints, *made.flexible, *made.motors)) == list(range(len(names)))
    assert tuple((links[j], links[m]) for j, m in made.springs) == tuple((links[m], links[m]) for m in made.motors)
    assert all((roles[j], roles[m]) == ("joint", "motor") for j, m in made.springs)
    assert tuple(names[i] for i in made.actuated) == made.inputs
    assert [links[i] for i in made.actuated] == [link.name for link in made.links if link.joint.type != "fixed"]
    for i, coordinate in enumerate(made.layout):
        link = made.links[coordinate.link]
        assert (coordinate.name, link.name) == (names[i], links[i])
        turns = link.joint.type == "revolute" if coordinate.role != "flexible" else roles[i].startswith("torsion")
        assert coordinate.unit == made.units[i] == ("rad" if turns else "m")
        lies_out = link.joint.type == "telescope" and coordinate.role != "flexible"
        assert made.rest[i] == (link.free_length if lies_out else 0.0)


@pytest.mark.parametrize("options", GENERAL)
@pytest.mark.parametrize("seed", [1, 2])
def test_with_the_drives_held_modes_are_those_in_the_null_space_of_the_drives(options, seed):
    """By another basis of the null space, an orthonormal one, and another solver."""
    made = random_arm(seed, links=2, **GENERAL[options])
    model, (q, _, _) = fa.Model(made), random_state(made, seed)
    omega, V = model.modes(q)
    M, K, B = model.mass_matrix(q), np.array(model.slope("restoring_force", 0)(q)), model.input_matrix(q)
    N = null_space(B.T)
    squares = eigh(N.T @ (K + K.T) / 2 @ N, N.T @ M @ N, eigvals_only=True)
    assert np.sign(omega) * omega**2 == pytest.approx(squares, abs=1e-9 * np.abs(squares).max())
    assert B.T @ V == pytest.approx(np.zeros((len(made.inputs), len(omega))), abs=1e-9 * np.abs(V).max())
    assert V.T @ M @ V == pytest.approx(np.eye(len(omega)), abs=1e-9)


def test_the_coordinate_without_inertia_is_named():
    point = fa.Link(name="point", joint=fa.Revolute(axis=(1, 0, 0)), body=fa.Rigid(length=1.0, mass=1.0))
    model = fa.Model(fa.Arm(name="needle", links=[point]))
    for locked in (False,):
        with pytest.raises(fa.DescriptionError, match=r"no inertia resists the acceleration of point\.joint"):
            model.modes(np.zeros(1), locked=locked)
    assert len(model.frequencies(np.zeros(1))) == 0


def test_a_telescopes_range_in_messages_is_that_of_its_body():
    """Shapes fixed: down to zero. Shapes that follow the load: down to a tenth. The message names both ends."""
    from flexarm.simulation.diagnosis import telescope_ranges

    for kind, low in (("fixed", 0.0), ("solved", 0.1)):
        link = fa.Link(
            name="slide",
            joint=fa.Telescope(wave_numbers=kind),
            body=fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 1}, shapes="clamped-mass"),
        )
        model = fa.Model(fa.Arm(name="one", links=[link], payload=fa.Payload(mass=0.1)))
        assert telescope_ranges(model) == {0: (pytest.approx(low), 1.0)}
    # shapes that do not depend on the load do not follow it, whatever is asked: no shortest length
    model = fa.Model(fa.Arm(name="two", links=[link.replace(body=link.body.replace(shapes="clamped-free"))]))
    assert telescope_ranges(model) == {0: (0.0, 1.0)}
