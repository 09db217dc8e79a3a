"""Results on disk: what is saved is what is loaded, and a file is whole or not there."""

import os

import numpy as np
import pytest
import xarray as xr

import flexarm as fa


@pytest.fixture(scope="module")
def result():
    model = fa.Model(fa.load("subudhi-morris"))
    reference = fa.Cycloidal([0.1, 0.2], [1, 1])
    return fa.simulate(model, 0.05, u=[0.1, -0.2], reference=reference, samples=6, name="a run", progress=False)


def test_round_trip(result, tmp_path):
    path = fa.save_result(result, tmp_path / "run.nc")
    assert path == tmp_path / "run.nc"
    loaded = fa.load_result(path)
    xr.testing.assert_identical(loaded, result)  # values, names, coordinates, units, attributes
    assert loaded.q.dtype == np.float64
    assert loaded.q.attrs["units"] == "rad or m"
    assert loaded.attrs["energy_drift"] == result.attrs["energy_drift"]
    assert fa.Arm.from_json(loaded.attrs["arm"]) == fa.load("subudhi-morris")
    assert loaded.sel(coordinate="fore.y1").q.shape == (6,)
    fa.save_result(loaded, path)  # the file is not held open
    xr.testing.assert_identical(fa.load_result(path), result)


def test_the_arm_of_a_result_gives_its_numbers_again(result, tmp_path):
    loaded = fa.load_result(fa.save_result(result, tmp_path / "run.nc"))
    model = fa.Model(fa.Arm.from_json(loaded.attrs["arm"]))
    kinetic, potential = model.energy(loaded.q.values, loaded.qd.values)
    assert kinetic == pytest.approx(loaded.kinetic.values, rel=1e-12)
    assert potential == pytest.approx(loaded.potential.values, rel=1e-12)


def test_an_arm_without_inputs_and_a_partial_result(tmp_path):
    body = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 1})
    beam = fa.Model(fa.Arm(name="b", links=[fa.Link(name="b", joint=fa.Fixed(), body=body)]))
    free = fa.simulate(beam, 0.1, q0=[0.01], samples=3, progress=False)
    xr.testing.assert_identical(fa.load_result(fa.save_result(free, tmp_path / "free.nc")), free)
    rotor = fa.Model(fa.load("rigid-two-link"))
    with pytest.raises(fa.SimulationError) as caught:
        fa.simulate(rotor, 1.0, u=lambda t: [np.nan, 0], samples=3, progress=False)
    partial = caught.value.result
    xr.testing.assert_identical(fa.load_result(fa.save_result(partial, tmp_path / "partial.nc")), partial)


def test_any_netcdf_reader_reads_it(result, tmp_path):
    path = fa.save_result(result, tmp_path / "run.nc")
    with xr.open_dataset(path, engine="h5netcdf") as dataset:
        np.testing.assert_array_equal(dataset.q, result.q)
    assert path.read_bytes()[:8] == b"\x89HDF\r\n\x1a\n"


def test_folders_are_made(result, tmp_path):
    assert fa.save_result(result, tmp_path / "a" / "b" / "run.nc").is_file()


def test_where_nothing_can_be_written(result, tmp_path):
    (tmp_path / "file").write_text("a file, not a folder")
    (tmp_path / "run.nc").mkdir()
    for path in (tmp_path / "file" / "run.nc", tmp_path / "run.nc"):
        with pytest.raises(fa.DescriptionError) as caught:
            fa.save_result(result, path)
        line = str(caught.value)
        assert line.startswith(f"{path}: cannot be written: ") and line.isprintable()
    assert sorted(os.listdir(tmp_path)) == ["file", "run.nc"]


# -- files that are no results -----------------------------------------------------------------------------------------


def refused(path):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.load_result(path)
    line = str(caught.value)
    assert line.startswith(f"{path}: ") and line.isprintable()
    return line


def test_no_file(tmp_path):
    assert refused(tmp_path / "none.nc").endswith("the file does not exist")
    assert refused(tmp_path).endswith("the file does not exist")
    assert refused(tmp_path / ("n" * 300)).endswith("the file does not exist")


@pytest.mark.parametrize("path", [float("nan"), 3])
def test_a_result_is_not_written_to_what_is_no_path(path, result):
    for given in (result, result.drop_vars("q")):
        with pytest.raises(fa.DescriptionError, match=r"^path is of type .*; it must be the name of a file$"):
            fa.save_result(given, path)


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file(result, part, tmp_path):
    path = fa.save_result(result, tmp_path / "run.nc")
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    assert "cannot be read as a result" in refused(path)


def test_a_damaged_file(result, tmp_path):
    path = fa.save_result(result, tmp_path / "run.nc")
    content = bytearray(path.read_bytes())
    content[8:2000] = b"\x00" * 1992
    path.write_bytes(content)
    assert "cannot be read as a result" in refused(path)


def test_a_foreign_file(tmp_path):
    text = tmp_path / "notes.nc"
    text.write_text("dear diary\n" * 100)
    assert "cannot be read as a result" in refused(text)
    other = tmp_path / "weather.nc"
    xr.Dataset({"rain": ("time", [1.0, 2.0])}).to_netcdf(other, engine="h5netcdf")
    assert "not a result of flexarm" in refused(other)
