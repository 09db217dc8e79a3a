"""Former names, which work for one version and say what replaces them."""

import sys
import warnings

import pytest

import flexarm as fa
from flexarm import analysis, control, presets, sensors

FORMER = {
    ("flexarm", "shaper"): (fa, "design_shaper"),
    ("flexarm", "drives"): (fa, "presets"),
    ("flexarm", "sampled"): (fa, "sensor_readings"),
    ("flexarm.control", "shaper"): (control, "design_shaper"),
    ("flexarm.presets", "presets"): (presets, "names"),
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
    for module in (fa, control, sensors, analysis, presets):
        with pytest.raises(AttributeError, match=rf"module '{module.__name__}' has no attribute 'colour'"):
            module.colour  # noqa: B018


def test_the_module_of_presets_can_still_be_imported_by_its_former_name():
    sys.modules.pop("flexarm.drives", None)
    with pytest.warns(DeprecationWarning, match=r"^flexarm.drives is deprecated; use flexarm.presets$") as said:
        import flexarm.drives as former
    assert said[0].filename == __file__
    assert (former.preset, former.presets) == (presets.preset, presets.names)
    del sys.modules["flexarm.drives"], fa.drives


def test_the_response_of_a_model_and_the_one_from_data_have_different_names():
    assert fa.frequency_response.__module__ == "flexarm.identification.frequency"
    assert "frequency_response" in fa.__all__ and "frequency_response" not in analysis.__all__
