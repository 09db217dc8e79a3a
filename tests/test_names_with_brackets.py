"""Links may be called `a[1]` or `a*`: a name stands for itself, and only what is no name is a pattern."""

import numpy as np
import pytest

import flexarm as fa
from flexarm.checks import named_or_fitting


def arm():
    rod = {"type": "rigid", "length": 1.0, "mass": 3.0}
    joint = {"type": "revolute", "axis": (0.0, 0.0, 1.0)}
    names = ("a[1]", "a1", "a*", "ab")
    return fa.Arm(name="bracketed", links=[{"name": name, "joint": joint, "body": rod} for name in names])


@pytest.mark.parametrize(
    ("pattern", "links"),
    [
        ("a[1].mass", ["a[1]"]),
        ("a*.mass", ["a*"]),
        ("a1.mass", ["a1"]),
        ("a?.mass", ["a1", "a*", "ab"]),
        ("a[b1].mass", ["a1", "ab"]),
        ("*.mass", ["a[1]", "a1", "a*", "ab"]),
        ("m_?", ["a[1]", "a1", "a*", "ab"]),
        ("m_1", ["a[1]"]),
        ("a[1].m*", ["a[1]"]),
        ("a*.m*", ["a*"]),
    ],
)
def test_a_name_stands_for_itself_wherever_patterns_are_taken(pattern, links):
    """In models that vary, in equations, in what is identified, and in studies."""
    wanted = [f"{link}.mass" for link in links]
    model = fa.Model(arm(), vary=[pattern])
    assert [x.name for x in model.varied] == wanted
    for name in wanted:
        assert [x.name for x in fa.Model(arm(), vary=[name]).varied] == [name]
        assert [x.name for x in fa.mechanics.parameters.fitting(model.varied, name)] == [name]
    task = fa.studies.tasks.numbers(arm(), pattern)
    assert [x.name for x in task] == wanted


def test_a_changed_number_is_that_of_the_named_link():
    q, qd = np.array([0.2, -0.4, 0.3, 0.1]), np.array([1.0, -0.5, 0.2, 0.7])
    heavy = [link.model_copy(update={"body": fa.Rigid(length=1.0, mass=5.0)}) for link in arm().links]
    for place, name in enumerate(("a[1]", "a1", "a*", "ab")):
        model = fa.Model(arm(), vary=[f"{name}.mass"])
        links = [*arm().links[:place], heavy[place], *arm().links[place + 1 :]]
        wanted = fa.Model(fa.Arm(name="heavy", links=links))
        found = model.at({f"{name}.mass": 5.0})
        np.testing.assert_allclose(found.bias(q, qd), wanted.bias(q, qd), rtol=1e-12)


def test_what_is_no_name_is_a_pattern():
    names = ["a[1].x", "a1.x", "b.c.x"]
    assert named_or_fitting("a[1].x", names, lambda name: (name,)) == ["a[1].x"]
    assert named_or_fitting("[a]1.x", names, lambda name: (name,)) == ["a1.x"]
    assert named_or_fitting("b.*", names, lambda name: (name,)) == ["b.c.x"]
    assert named_or_fitting("a[[]1].x", names, lambda name: (name,)) == ["a[1].x"]
    assert named_or_fitting("a[12].x", names, lambda name: (name,)) == ["a1.x"]
    assert named_or_fitting("c", names, lambda name: (name,)) == []
