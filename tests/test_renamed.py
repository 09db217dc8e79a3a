"""Former names, which work for one version and say what replaces them."""

import warnings

import pytest

import flexarm as fa
from flexarm import analysis, control, sensors

FORMER = {
    ("flexarm", "shaper"): (fa, "design_shaper"),
    ("flexarm", "sampled"): (fa, "sensor_readings"),
    ("flexarm.control", "shaper"): (control, "design_shaper"),
    ("flexarm.sensors", "sampled"): (sensors, "sensor_readings"),
    ("flexarm.analysis", "frequency_response"): (analysis, "transfer_matrix"),
}


@pytest.mark.parametrize("former", FORMER, ids=".".join)
def test_a_former_name_is_the_same_object_and_warns_where_it_is_used(former):
    module, name = FORMER[former]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = getattr(module, former[1])
    assert found is getattr(module, name) and former[1] not in module.__all__ and name in module.__all__
    assert [(str(each.message), each.category) for each in said] == [
        (f"{former[0]}.{former[1]} is deprecated; use {name}", DeprecationWarning)
    ]
    assert said[0].filename == __file__


def test_a_name_that_never_was_is_pythons_own_error():
    for module in (fa, control, sensors, analysis):
        with pytest.raises(AttributeError, match=rf"module '{module.__name__}' has no attribute 'colour'"):
            module.colour  # noqa: B018


def test_the_response_of_a_model_and_the_one_from_data_have_different_names():
    assert fa.frequency_response.__module__ == "flexarm.identification.frequency"
    assert "frequency_response" in fa.__all__ and "frequency_response" not in analysis.__all__
