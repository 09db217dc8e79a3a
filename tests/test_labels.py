"""Names in results, and suggestions for wrong ones."""

import numpy as np
import pytest

import flexarm as fa
from flexarm.checks import did_you_mean


@pytest.fixture(scope="module")
def result():
    return fa.simulate("subudhi-morris", 0.1, [0.1, 0.0], samples=5, progress=False)


def test_names_select_what_xarrays_own_method_selects(result, tmp_path):
    for name, labels in (
        ("q", {"coordinate": "fore.joint"}),
        ("q", {"coordinate": ["fore.joint", "upper.y1"], "time": slice(0.02, 0.08)}),
        ("deflection", {"link": "fore", "axis": "y"}),
        ("tip", {"time": 0.1}),
    ):
        np.testing.assert_array_equal(result[name].flexarm.sel(**labels), result[name].sel(**labels))
    whole = result.flexarm.sel(coordinate="fore.joint")
    np.testing.assert_array_equal(whole.q, result.q.sel(coordinate="fore.joint"))
    fa.save_result(result, tmp_path / "a.nc")
    again = fa.load_result(tmp_path / "a.nc")
    np.testing.assert_array_equal(again.q.flexarm.sel(coordinate="fore.joint"), whole.q)


def test_names_of_an_ensemble(result):
    many = fa.simulate_many("subudhi-morris", 0.1, [0.1, 0.0], runs=2, samples=5, progress=False)
    np.testing.assert_allclose(many.u.flexarm.sel(input="upper.joint")[1], result.u[:, 0])


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        (
            {"coordinate": "upper"},
            "sel: unknown coordinate 'upper'; did you mean 'upper.joint', 'upper.y1' or 'upper.y2'?",
        ),
        ({"coordinate": "fore.jont"}, "sel: unknown coordinate 'fore.jont'; did you mean 'fore.joint'? The names are "),
        ({"coordinate": ["fore.joint", "wrist"]}, "sel: unknown coordinate 'wrist'; the names are upper.joint, fore.j"),
        (
            {"coordinates": "fore.joint"},
            "sel: there is no dimension 'coordinates'; did you mean 'coordinate'? ",
        ),
    ],
)
def test_a_wrong_name_lists_the_right_ones(result, labels, line):
    for data in (result, result.q):
        with pytest.raises(fa.DescriptionError) as caught:
            data.flexarm.sel(**labels)
        assert str(caught.value).startswith(line)


def test_suggestions_are_similar_names_or_those_of_the_same_owner():
    names = ["upper.motor", "fore.motor", "fore.y1"]
    assert did_you_mean("upper.moter", names) == "did you mean 'upper.motor'?"
    assert did_you_mean("fore.joint", names) == "did you mean 'fore.motor'?"
    assert did_you_mean("fore.z", names) == "did you mean 'fore.y1'?"
    assert did_you_mean("upper.knee", names) == "did you mean 'upper.motor'?"
    assert did_you_mean("fore", names) == "did you mean 'fore.motor' or 'fore.y1'?"
    assert did_you_mean("wrist.joint", names) == did_you_mean("", names) == did_you_mean(".joint", names) == ""


def test_the_input_of_an_elastic_joint_is_suggested_for_its_coordinate():
    """A user knows the joint, and its motor is the input."""
    model = fa.Model("subudhi-morris-elastic")
    assert model.inputs == ("upper.motor", "fore.motor")
    record = {"torque": np.sin(np.arange(100) / 7.0), "angle": np.cos(np.arange(100) / 9.0)}
    with pytest.raises(fa.DescriptionError, match=r"input.* 'fore.joint'; did you mean .*'fore.motor'"):
        fa.identify(
            fa.Model("subudhi-morris-elastic", vary=["fore.EI"]), record, ["fore.EI"],
            outputs={"angle": fa.Encoder(coordinate="fore.motor")}, inputs={"fore.joint": "torque"}, sample_rate=100.0,
        )  # fmt: skip
    with pytest.raises(fa.DescriptionError, match=r"unknown place 'fore.joint'; did you mean 'fore.drive'"):
        fa.simulate(model, 0.1, disturbance={"fore.joint": 1.0}, progress=False)
