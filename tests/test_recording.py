"""Recordings for the Rerun viewer, read with Rerun's own reader: positions and series are those of the result."""

import importlib.util
import re

import numpy as np
import pytest

import flexarm as fa
from flexarm import quaternions
from flexarm.model.drawing import drawn
from flexarm.pictures import recording

pytest.importorskip("rerun")

SINGLE = 1e-6
"""Positions are stored in single precision, whose relative error is 6e-8; arms here are up to 15 m long."""


@pytest.fixture(scope="module")
def planar():
    model = fa.Model(fa.load("subudhi-morris-elastic"))
    reference = fa.Cycloidal([0.4, 0.8], [0.2, 0.2])
    return model, fa.simulate(
        model, 0.2, u=[0.3, -0.2], reference=reference, samples=11, name="a plane", progress=False
    )


@pytest.fixture(scope="module")
def spatial():
    model = fa.Model(fa.load("theodore-ghosal"))
    q0, n = np.array(model.arm.rest), len(model.coordinates)
    q0[:3] = [0.3, 0.7, 0.8]
    return model, fa.simulate(model, 0.1, q0=q0, qd0=[1.0, 0.5, 0.4] + [0.0] * (n - 3), samples=6, progress=False)


@pytest.fixture(scope="module")
def free():
    model = fa.Model(fa.load("satellite"))
    return model, fa.simulate(model, 4.0, u=[0.05, 0.03, -0.02], samples=9, progress=False)


def read(path):
    """Return the columns of a recording by entity and component, each with its times [s] or None if it is static."""
    from rerun.chunk import RrdReader

    found = {}
    for chunk in RrdReader(path).stream().to_chunks():
        table = chunk.to_record_batch()
        times = None if chunk.is_static else table.column("time").cast("int64").to_numpy() * 1e-9
        for name in table.schema.names:
            if ":" in name:
                before, values = found.get((chunk.entity_path, name), (None, []))
                times = times if before is None else np.concatenate([before, times])
                found[chunk.entity_path, name] = times, values + table.column(name).to_pylist()
    return found


def written(result, path, **more):
    assert fa.export_rerun(result, path, **more) == path
    return read(path)


@pytest.mark.parametrize("name", ["planar", "spatial", "free"])
@pytest.mark.parametrize("piece", [4, 2000])
def test_links_joints_and_tip_are_where_the_result_has_them(name, piece, request, tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "PIECE", piece)
    model, result = request.getfixturevalue(name)
    found = written(result, tmp_path / "run.rrd")
    stations, frames = drawn(model, result.q.values)
    for k, link in enumerate(result.link.values):
        times, strips = found[f"/arm/links/{link}", "LineStrips3D:strips"]
        np.testing.assert_allclose(times, result.time, rtol=0, atol=1e-9)
        np.testing.assert_allclose(np.array(strips)[:, 0], stations[:, k, :, :3], rtol=SINGLE, atol=SINGLE)
    np.testing.assert_allclose(
        found["/arm/joints", "Points3D:positions"][1], frames[:, :-1, :, 3], rtol=SINGLE, atol=SINGLE
    )
    tip = np.array(found["/arm/tip", "Points3D:positions"][1])[:, 0]
    np.testing.assert_allclose(tip, result.tip, rtol=SINGLE, atol=SINGLE)
    (path,) = found["/arm/path", "LineStrips3D:strips"][1]
    np.testing.assert_allclose(path[0], result.tip, rtol=SINGLE, atol=SINGLE)


def test_series_are_those_of_the_result_with_their_units(planar, tmp_path):
    _, result = planar
    found = written(result, tmp_path / "run.rrd")
    lines = {}
    for (entity, component), (_, values) in found.items():
        if component == "SeriesLines:names":
            times, numbers = found[entity, "Scalars:scalars"]
            np.testing.assert_allclose(times, result.time, rtol=0, atol=1e-9)
            lines[entity.replace("\\", ""), values[0][0]] = np.array(numbers)[:, 0]
    expected = {}
    for k, (joint, coordinate) in enumerate([("upper", "upper.joint"), ("fore", "fore.joint")]):
        angles = "/series/joints [rad]"
        expected[f"{angles}/{joint}", f"{joint} [rad]"] = result.q.sel(coordinate=coordinate)
        expected[f"{angles}/{joint}, reference", f"{joint}, reference [rad]"] = result.q_ref[:, k]
        expected[f"/series/torques [N m]/{joint}", f"{joint} [N m]"] = result.u[:, k]
        bent = result.deflection.sel(link=joint, axis="y")
        expected[f"/series/deflection of tips [m]/{joint} y", f"{joint} y [m]"] = bent
    for axis in "xyz":
        expected[f"/series/place of the tip [m]/{axis}", f"{axis} [m]"] = result.tip.sel(axis=axis)
    energies = {"kinetic": result.kinetic, "change of potential": result.potential - result.potential[0]}
    for energy, values in (energies | {"work": result.work, "dissipated": result.dissipated}).items():
        if np.abs(values).max() > 0:
            expected[f"/series/energy [J]/{energy}", f"{energy} [J]"] = values
    assert lines.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(lines[name], values, err_msg=str(name))


def test_the_reference_is_a_thin_arm_without_deflection(planar, tmp_path):
    model, result = planar
    found = written(result, tmp_path / "run.rrd")
    q = np.zeros_like(result.q)
    for role in ("joint", "motor"):
        q[:, result.role == role] = result.q_ref
    stations, _ = drawn(model, q)
    for k, link in enumerate(result.link.values):
        strips = np.array(found[f"/arm/reference/{link}", "LineStrips3D:strips"][1])[:, 0]
        np.testing.assert_allclose(strips, stations[:, k, :, :3], atol=SINGLE)
        thin = found[f"/arm/reference/{link}", "LineStrips3D:radii"][1][0][0]
        assert thin < found[f"/arm/links/{link}", "LineStrips3D:radii"][1][0][0]


def test_the_box_of_a_free_base_moves_with_the_base(free, tmp_path):
    _, result = free
    found = written(result, tmp_path / "run.rrd")
    place = np.array(found["/arm/base", "Transform3D:translation"][1])[:, 0]
    x, y, z, w = np.array(found["/arm/base", "Transform3D:quaternion"][1])[:, 0].T
    np.testing.assert_allclose(place, result.q[:, :3], atol=SINGLE)
    expected = quaternions.rotation(result.q.values[:, 3:7])
    np.testing.assert_allclose(quaternions.rotation(np.stack([w, x, y, z], axis=-1)), expected, atol=SINGLE)
    assert np.abs(expected[-1] - expected[0]).max() > 1e3 * SINGLE  # the base has turned
    assert ("/arm/base/box", "Boxes3D:half_sizes") in found


def test_inputs_of_voltage_driven_motors_are_volts(tmp_path):
    motor = fa.Motor(torque_constant=0.05, resistance=1.2, input="voltage")
    joint = fa.Revolute(rotor_inertia=1e-3, drive=fa.Drive(motor=motor))
    links = [fa.Link(name="upper", body=fa.Rigid(length=0.7, mass=1.3), joint=joint)]
    result = fa.simulate(fa.Model(fa.Arm(name="arm", links=links)), 0.1, u=[3.0], samples=3, progress=False)
    found = written(result, tmp_path / "run.rrd")
    assert found[r"/series/voltages\ \[V\]/upper", "Scalars:scalars"][1] == [[3.0]] * 3


def test_hostile_names_stay_single_parts_of_a_path(tmp_path):
    name = "a/b[m]\\<x>**"
    arm = fa.Arm(name=name, links=[fa.Link(name=name, body=fa.Rigid(length=0.7, mass=1.3), joint=fa.Revolute())])
    result = fa.simulate(fa.Model(arm), 0.1, u=[0.2], samples=3, progress=False)
    found = written(result, tmp_path / "run.rrd")
    (entity,) = {entity for entity, _ in found if entity.startswith("/arm/links/")}
    assert re.sub(r"\\(.)", r"\1", entity) == f"/arm/links/{name}"
    assert found["/__properties", "RecordingInfo:name"][1] == [[result.attrs["name"]]]


def test_a_recording_opens_with_a_layout_of_its_own(planar, tmp_path):
    from rerun.chunk import RrdReader

    fa.export_rerun(planar[1], tmp_path / "run.rrd")
    reader = RrdReader(tmp_path / "run.rrd")
    (layout,) = reader.blueprints()
    names = set()
    for chunk in reader.stream(store=layout).to_chunks():
        table = chunk.to_record_batch()
        if "ViewBlueprint:display_name" in table.schema.names:
            names |= {row[0] for row in table.column("ViewBlueprint:display_name").to_pylist()}
    expected = "joints [rad]|torques [N m]|deflection of tips [m]|energy [J]|place of the tip [m]"
    assert names == {"subudhi-morris-elastic", *expected.split("|")}


def test_without_rerun_one_line_says_what_to_install(planar, tmp_path, monkeypatch):
    true = importlib.util.find_spec
    monkeypatch.setattr(recording, "find_spec", lambda name: None if name == "rerun" else true(name))
    with pytest.raises(fa.DescriptionError, match=r'pip install "flexarm\[rerun\]"') as caught:
        fa.export_rerun(planar[1], tmp_path / "run.rrd")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run.rrd").exists()


def test_wrong_arguments_are_refused(planar, tmp_path):
    _, result = planar
    with pytest.raises(fa.DescriptionError, match=r"must end with \.rrd"):
        fa.export_rerun(result, tmp_path / "run.html")
    with pytest.raises(fa.DescriptionError, match="must be a Dataset"):
        fa.export_rerun([result], tmp_path / "run.rrd")
    with pytest.raises(fa.DescriptionError, match="has no 'q'"):
        fa.export_rerun(result.drop_vars("q"), tmp_path / "run.rrd")
