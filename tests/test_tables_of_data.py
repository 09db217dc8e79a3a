"""Tables of pandas wherever arrays are taken."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import flexarm as fa
from flexarm.identification.records import records
from flexarm.studies.digest import digest

RATE = 250.0
TIME = np.arange(500) / RATE
TORQUE = 0.4 * np.sin(2 * np.pi * 3 * TIME)
ANGLE = 0.07 * np.sin(2 * np.pi * 3 * TIME - 0.8)
DATA = xr.Dataset({"torque": ("time", TORQUE), "angle": ("time", ANGLE)}, coords={"time": TIME})
PLAIN = pd.DataFrame({"torque": TORQUE, "angle": ANGLE})
TABLES = {
    "a column": PLAIN.assign(time=TIME),
    "a column with its unit": pd.DataFrame({"t [s]": TIME, "torque": TORQUE, "angle": ANGLE}),
    "the index": PLAIN.set_axis(pd.Index(TIME, name="time")),
}


@pytest.mark.parametrize("name", TABLES)
def test_records_of_a_table_are_those_of_the_dataset(name):
    (found,), (expected,) = records(TABLES[name], None), records(DATA, None)
    np.testing.assert_array_equal(found.t, expected.t)
    assert list(found.signals) == list(expected.signals)
    for signal, values in expected.signals.items():
        np.testing.assert_array_equal(found.signals[signal], values)


@pytest.mark.parametrize("data", [TABLES["the index"], PLAIN])
def test_the_frequency_response_of_a_table_is_that_of_the_dataset(data):
    rate = RATE if data is PLAIN else None
    found = fa.frequency_response(data, "torque", "angle", period=1.0, sample_rate=rate)
    expected = fa.frequency_response(DATA, "torque", "angle", period=1.0)
    np.testing.assert_allclose(found.response.values, expected.response.values, rtol=1e-12)
    ratio = complex(found.response.values.squeeze())
    assert ratio == pytest.approx(0.07 / 0.4 * np.exp(-0.8j), rel=1e-9)


def test_a_table_without_times_needs_a_sample_rate():
    with pytest.raises(fa.DescriptionError, match="sample_rate is missing; arrays and a DataFrame without"):
        records(PLAIN, None)
    with pytest.raises(fa.DescriptionError, match="sample_rate is missing"):
        fa.frequency_response(PLAIN, "torque", "angle", period=1.0)
    ((found,), (expected,)) = (records(PLAIN, RATE), records(DATA, None))
    np.testing.assert_allclose(found.t, expected.t, atol=1e-12)


def test_inputs_references_and_sections_take_columns():
    table = pd.DataFrame({"a": [0.1, 0.4, 0.2], "b": [1.0, 0.5, 2.0]}, index=pd.Index([0.0, 0.7, 1.5], name="time"))
    assert digest(fa.Table(table.index, table)) == digest(fa.Table([0.0, 0.7, 1.5], table.to_numpy()))
    assert digest(fa.Piecewise(table.index, table["a"])) == digest(fa.Piecewise([0.0, 0.7, 1.5], [0.1, 0.4, 0.2]))
    rows = [tuple(row) for row in table.to_numpy()]
    motion = fa.MinimumJerk(points=table.to_numpy(), times=table.index)
    assert motion == fa.MinimumJerk(points=rows, times=[0.0, 0.7, 1.5])
    section = fa.SectionTable(x=table.index / 1.5, mass_per_length=table["b"], EI=table["b"] + 1.0)
    assert section == fa.SectionTable(x=[0.0, 0.7 / 1.5, 1.0], mass_per_length=[1.0, 0.5, 2.0], EI=[2.0, 1.5, 3.0])
