"""What one more mode in every direction changes: against theory, by hand, and at the doors."""

import sys

import numpy as np
import pytest

import flexarm as fa
from flexarm import shapes
from flexarm.analysis import Convergence, convergence, equilibrium

L, MASS, EI, g = 1.3, 0.8, 4.0, 0.1
UNIT = np.sqrt(EI / (MASS / L)) / L**2  # omega = beta^2 UNIT


def clamped(count=2, payload=None, gravity=(0.0, -g, 0.0), **body):
    given = {"modes": {"y": count}, "shapes": "clamped-free"} | body
    link = fa.Link(name="beam", joint=fa.Fixed(), body=fa.Beam(length=L, mass=MASS, EI=EI, **given))
    return fa.Arm(name="clamped", links=[link], payload=payload, gravity=gravity)


def row(found, start):
    (only,) = (row for row in found.rows if row[0].startswith(start))
    return only


def test_a_clamped_beam():
    """Modes of the beam are exact; its sag and compliance are sums over them: 8 tip^2 / (m L omega^2) and so on."""
    found = convergence(clamped())
    exact = shapes.roots(3) ** 2 * UNIT
    np.testing.assert_allclose(found.locked, exact[:2], rtol=1e-12)
    np.testing.assert_allclose(found.more_locked, exact[:2], rtol=1e-12)
    np.testing.assert_allclose(found.free, exact[:2], rtol=1e-12)
    # generalized mass m L / 4, tip 1: 1 N moves the tip by the sum of 4 / (m L omega^2)
    compliance = np.cumsum(4 / (MASS * exact**2))
    np.testing.assert_allclose([found.compliance, found.more_compliance], compliance[1:], rtol=1e-12)
    mean = np.array([float(shapes.closed_form(shapes.ClampedFree(), "mean", 3, j).value) for j in (1, 2, 3)])
    sag = np.cumsum(-g * MASS * mean * 4 / (MASS * exact**2))
    np.testing.assert_allclose([found.sag[1], found.more_sag[1]], sag[1:], rtol=1e-9)
    assert found.modes == {"beam.y": (2, 3)} and found.kept == {}
    assert row(found, "drives locked, frequency 1")[3] == "0 %"
    share = 100 * (compliance[2] / compliance[1] - 1)
    assert row(found, "tip under 1 N")[3] == f"{share:+.2g} %"
    moved = abs(sag[2] - sag[1])
    assert row(found, "sag of the tip [m]")[3] == f"{100 * moved / abs(sag[1]):.2g} %, {moved:.2g} m"


def test_it_is_the_arm_with_one_mode_more():
    """Everything measured again on an arm written out by hand, joints bent, drives elastic, torsion and both planes."""
    body = {"EI": 20.0, "GJ": 8.0, "EA": 1e3, "polar_inertia": 0.01, "damping": (0.01, 0.02, 0.03, 0.04)}

    def arm(counts, **more):
        beam = fa.Beam(length=0.8, mass=0.5, modes=counts, **{**body, **more})
        joints = [fa.Revolute(axis=(0, 1, 0), rotor_inertia=0.01, stiffness=50.0), fa.Revolute()]
        links = [fa.Link(name=name, joint=joint, body=beam) for name, joint in zip("ab", joints, strict=True)]
        return fa.Arm(name="two", links=links, payload=fa.Payload(mass=0.2, inertia=0.01), gravity=(0.0, -1.0, -2.0))

    few = arm({"y": 1, "z": 2, "torsion": 1})
    more = fa.Model(arm({"y": 2, "z": 3, "torsion": 2}, damping=0.0))
    q = np.array(few.rest)
    q[list(few.joints)], q[list(few.motors)] = (0.4, -0.7), 0.4
    found = convergence(few, q)
    place = np.zeros(len(more.coordinates))
    place[list(more.arm.joints)], place[list(more.arm.motors)] = (0.4, -0.7), 0.4
    np.testing.assert_allclose(found.more_locked, more.frequencies(place)[: len(found.locked)], rtol=1e-12)
    np.testing.assert_allclose(found.more_free, more.frequencies(place, locked=False)[: len(found.free)], rtol=1e-12)
    sagged = more.tip(equilibrium(more, place)[0])[:3, 3] - more.tip(place)[:3, 3]
    np.testing.assert_allclose(found.more_sag, sagged, rtol=1e-12)
    assert found.modes == {f"{name}.{d}": (n, n + 1) for name in "ab" for d, n in (("y", 1), ("z", 2), ("torsion", 1))}
    assert len(found.locked) == 9 and len(found.free) == 11
    assert (found.more_locked <= found.locked * (1 + 1e-9)).all()  # from above, shape in shape


def test_compliance_is_that_of_a_force_at_the_tip():
    """1 N along any direction moves the tip by no more; along the softest by just that."""
    arm = fa.load("subudhi-morris")
    q = np.array([0.3, 0.9, 0, 0, 0, 0])
    found, model = convergence(arm, q), fa.Model(arm)
    K = np.array([model.stiffness_force(e) for e in np.eye(6)])[2:, 2:]
    h = 1e-6
    J = np.array([(model.tip(q + h * e) - model.tip(q - h * e))[:3, 3] / (2 * h) for e in np.eye(6)[2:]]).T
    C = J @ np.linalg.solve(K, J.T)
    assert found.compliance == pytest.approx(np.linalg.eigvalsh(C).max(), rel=1e-8)


def test_families_that_take_two_or_none():
    def kept(counts, shape, **more):
        body = fa.Beam(length=L, mass=MASS, EI=EI, GJ=1.0, EA=9.0, modes=counts, shapes=shape, **more)
        link = fa.Link(name="a", joint=fa.Revolute(), body=body, hub_inertia=0.1)
        found = convergence(fa.Arm(name="x", links=[link], payload=fa.Payload(mass=1.0, inertia=0.1)))
        return found.modes, found.kept

    assert kept({"y": 2, "z": 4}, {"y": "hermite", "z": "hermite"}) == ({"a.y": (2, 4), "a.z": (4, 6)}, {})
    square = {
        "family": "free-form",
        "x": np.linspace(0, 1, 9).tolist(),
        "values": [(np.linspace(0, 1, 9) ** 2).tolist()],
    }
    few = {"y": square, "z": "polynomial"}
    assert kept({"y": 1, "z": 1}, few) == ({"a.z": (1, 2)}, {"a.y": "the free-form family has only 1"})
    light = "without polar_inertia another mode has no inertia"
    assert kept({"y": 1, "torsion": 1}, "polynomial") == ({"a.y": (1, 2)}, {"a.torsion": light})
    assert kept({"y": 1, "torsion": 1}, "polynomial", polar_inertia=0.1)[0]["a.torsion"] == (1, 2)
    assert kept({"y": 40, "axial": 1}, "clamped-mass") == ({"a.axial": (1, 2)}, {"a.y": "40 is the largest number"})
    with pytest.raises(
        fa.DescriptionError, match=r"^arm 'x': no mode can be added; a\.y: the free-form family has only 1$"
    ):
        kept({"y": 1}, {"y": square})
    with pytest.raises(fa.DescriptionError, match=r"^arm 'rigid-two-link': no mode can be added; no link has modes$"):
        convergence(fa.load("rigid-two-link"))


def test_what_cannot_be_measured():
    arm = fa.load("subudhi-morris")
    with pytest.raises(fa.DescriptionError, match=r"^q has shape \(2,\); its last axis must have 6 numbers"):
        convergence(arm, np.zeros(2))
    with pytest.raises(fa.DescriptionError, match=r"^convergence: q has more than one axis; give one configuration$"):
        convergence(arm, np.zeros((3, 6)))


def test_the_table():
    found = convergence(clamped())
    lines = str(found).split("\n")
    assert isinstance(found, Convergence) and lines[0].split() == ["now", "with", "more", "modes", "change"]
    assert len(lines) == 2 + len(found.rows) and lines[-1] == "modes: beam.y 2 -> 3"
    assert len({line.index(row[1]) + len(row[1]) for line, row in zip(lines[1:-1], found.rows, strict=True)}) == 1
    assert not any("sag" in row[0] for row in convergence(clamped(gravity=(0, 0, 0))).rows)
    turning = convergence(fa.load("subudhi-morris"))
    free = [row[0] for row in turning.rows if "free" in row[0]]
    assert free[0] == "drives free, frequency 3 [rad/s]"  # the first two are the arm as a whole
    kept = convergence(clamped(2, modes={"y": 1, "z": 1}, shapes={"z": shapes.FreeForm(functions=[np.square])}))
    assert kept.notes[1] == "beam.z is unchanged: the free-form family has only 1"


def test_the_default_needs_no_more():
    """What a beginner gets moves little; clamped-free shapes of the same arm move much."""
    arm = fa.load("subudhi-morris")

    def moved(shape):
        links = [link.replace(body=link.body.replace(shapes=shape)) for link in arm.links]
        found = convergence(arm.replace(links=links, gravity=(0.0, -0.1, 0.0)))
        first = np.abs(found.more_locked / found.locked - 1)[:3].max()
        return first, np.linalg.norm(found.more_sag - found.sag) / np.linalg.norm(found.sag)

    ours, plain = moved(shapes.DEFAULTS["y"]), moved("clamped-free")
    assert ours[0] < 0.01 and ours[1] < 2e-4
    assert plain[0] > 0.03 and plain[1] > 0.01


def test_the_command(monkeypatch, capsys):
    from flexarm import cli

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["flexarm", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code or 0, *capsys.readouterr()

    status, out, _ = call("show", "subudhi-morris", "--converge")
    assert status == 0
    for row in convergence(fa.load("subudhi-morris")).rows:
        assert any(all(cell in line for cell in row) for line in out.splitlines())
    assert out.endswith("modes: upper.y 2 -> 3, fore.y 2 -> 3\n")
    assert "more modes" not in call("show", "subudhi-morris")[1]
    status, _, err = call("show", "rigid-two-link", "--converge")
    assert (status, err) == (2, "flexarm: arm 'rigid-two-link': no mode can be added; no link has modes\n")
