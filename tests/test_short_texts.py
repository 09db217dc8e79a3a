"""Short texts: what a terminal shows of arms, controllers and results; materials by name."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import flexarm as fa
from flexarm import analysis, control, shapes
from flexarm.brief import LONGEST, brief


@pytest.mark.parametrize("name", fa.bundled())
def test_the_text_of_an_arm_builds_the_arm_again(name):
    arm = fa.load(name)
    names = {each: getattr(fa, each) for each in fa.__all__}
    assert eval(repr(arm), {**vars(shapes), **names}) == arm


def test_the_text_of_an_arm_has_only_what_a_user_would_write():
    beam = fa.Beam(length=0.5, mass=0.3, EI=2.0, modes={"y": 2})
    arm = fa.Arm(name="arm", links=[fa.Link(name="a", body=beam)])
    text = "Link(name='a', body=Beam(length=0.5, mass=0.3, EI=2.0, modes={'y': 2}))"
    assert repr(arm) == f"Arm(name='arm', links=({text},))"
    assert repr(fa.Revolute()) == "Revolute()"
    assert (
        repr(fa.Rigid(length=0.4, mass=2.0, com=(0.1, 0.0, 0.0))) == "Rigid(length=0.4, mass=2.0, com=(0.1, 0.0, 0.0))"
    )


@brief
@dataclass(frozen=True)
class Many:
    one: float
    matrix: np.ndarray
    vector: np.ndarray
    words: str = "usual"
    items: tuple = ()
    table: dict = field(default_factory=dict)
    other: object = None


def test_long_values_are_replaced_and_defaults_left_out():
    many = Many(1.5, np.eye(7), np.array([0.25, 3.0]))
    assert repr(many) == "Many(one=1.5, matrix=<array 7 x 7>, vector=[0.25, 3.  ])"
    long = Many(2, np.zeros(100), np.float64(3.0), "w" * 70, tuple(range(50)), {i: i for i in range(40)}, Many)
    text = repr(long)
    assert "matrix=<array 100>" in text
    assert f"words='{'w' * (LONGEST - 3)}...'" in text
    assert "items=<tuple of 50>, table=<dict of 40>" in text
    assert "other=<class" in text
    assert len(text) < 400
    assert repr(Many(1, np.eye(2), long, other=long)).endswith("vector=Many(...), other=Many(...))")


def test_controllers_and_results_fit_on_two_lines():
    model = fa.Model("subudhi-morris")
    n, m = 2 * model.nv, len(model.inputs)
    lqr = control.LQR(joints=[0.1, 0.2], Q=np.eye(n), R=np.eye(m))
    assert repr(lqr) == "LQR(joints=[0.1, 0.2], Q=<array 12 x 12>, R=<array 2 x 2>)"
    pd = control.JointPD([1.0, 0.5], Kp=2.0, Kd=0.3)
    times = np.linspace(0.0, 1.0, 101)
    found = analysis.stability(model, pd)
    for thing in (pd, control.Sampled(pd, period=0.01), found, fa.Table(times, np.outer(times, [1, 2]))):
        assert len(repr(thing)) < 240
    assert repr(found).startswith("Stability(name='subudhi-morris', controller='JointPD, continuous'")


def test_materials_have_names():
    tube = fa.Tube(outer_diameter=0.05, thickness=0.002)
    beam = fa.Beam(length=1.2, material="aluminium", section=tube, modes={"y": 1, "torsion": 1})
    same = fa.Beam(length=1.2, material=fa.MATERIALS["aluminium"], section=tube, modes={"y": 1, "torsion": 1})
    assert beam == same
    assert beam.material.E == pytest.approx(68.9e9)
    for name, each in fa.MATERIALS.items():  # a metal's shear modulus is 0.37 to 0.39 of E; fibres shear easily
        ratio = each.shear_modulus / each.E
        assert (0.37 < ratio < 0.39) != (name == "carbon-fibre")
        assert 1e3 < each.density < 1e4
        assert 3e3 < np.sqrt(each.E / each.density) < 1e4  # speed of sound along a thin rod [m/s]


def test_a_material_in_a_file(tmp_path):
    text = """
    name = "tube"
    [[link]]
    name = "a"
    [link.body]
    type = "beam"
    length = 1.2
    material = "titanium"
    section = { type = "tube", outer_diameter = 0.05, thickness = 0.002 }
    """
    path = tmp_path / "tube.toml"
    path.write_text(text.replace("[[link]]", "[[links]]").replace("[link.body]", "[links.body]"))
    arm = fa.load(path)
    assert arm["a"].body.material == fa.MATERIALS["titanium"]
    arm.save(tmp_path / "again.toml")
    assert fa.load(tmp_path / "again.toml") == arm


def test_an_unknown_material_is_refused_with_a_suggestion():
    rod = fa.Rod(diameter=0.02)
    with pytest.raises(fa.DescriptionError, match=r"Beam: material is 'steal'.*did you mean 'steel'\?"):
        fa.Beam(length=1.0, material="steal", section=rod)
    with pytest.raises(fa.DescriptionError, match="material is 7; it must be a Material"):
        fa.Beam(length=1.0, material=7, section=rod)


def test_the_reference_has_the_materials_numbers():
    page = (Path(__file__).parents[1] / "docs/lookup/arm-file.md").read_text(encoding="utf-8")
    rows = {row[1].strip(" `"): row for row in (line.split("|") for line in page.splitlines()) if len(row) == 8}
    for name, each in fa.MATERIALS.items():
        shear = rows[name][5].removeprefix(" G = ").removesuffix(" GPa ")
        numbers = (1e9 * float(rows[name][3]), float(rows[name][4]), float(shear))
        expected = each.poisson if each.G is None else each.G / 1e9
        assert numbers == pytest.approx((each.E, each.density, expected))


def test_completion_shows_fields_and_methods_of_ours_alone():
    arm = fa.load("canadarm")
    names = {name for name in dir(arm) if not name.startswith("_")}
    assert {"links", "replace", "save", "coordinates"} <= names
    assert not {name for name in names if name.startswith("model_")} and not names & {"json", "dict", "schema", "copy"}
    fields = {name for name in dir(arm["upper"].body) if not name.startswith("_")}
    assert {"length", "mass", "EI", "replace"} <= fields
