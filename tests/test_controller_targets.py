"""Exported controllers as S-functions and as plug-ins of ros2_control, against stand-ins for their headers."""

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from boards import SAFE, Compiled
from compiled import CC, STRICT, built

import flexarm as fa
from flexarm.control import JointPD, Sampled
from flexarm.errors import DescriptionError
from flexarm.exports.controller.library import board

DATA, CXX = Path(__file__).parent / "data", shutil.which("g++")
NAME, T, COUNT = "rigid_two_link_controller", 2e-3, 12
SLEW = fa.Quintic(start=[0.1, 0.0], end=[0.5, -0.3], duration=0.02)
PD = Sampled(JointPD(SLEW, Kp=[9.0, 7.0], Kd=[3.0, 2.0]), T, limit=50.0)
OPTIONS = {"safe": [0.25, -0.5], "misses": 1}


@pytest.fixture(scope="module")
def model():
    return fa.Model(fa.load("rigid-two-link"))


@pytest.fixture(scope="module")
def samples(model, tmp_path_factory):
    """Readings, three of the last without sense, and the outputs and statuses of the library."""
    y = np.random.default_rng(8).normal(size=(COUNT, 4))
    compiled = Compiled(board(PD, model, **OPTIONS), tmp_path_factory.mktemp("library"))
    y[-3:, 2] = np.inf
    found = [compiled.step(row, k * T) for k, row in enumerate(y)]
    u, status = (np.array(x) for x in zip(*found, strict=True))
    assert status[-1] & SAFE and not status[:-3].any()
    return y, u, status


def given(y):
    return f"{len(y)} {T!r}\n" + "\n".join(" ".join(map(repr, row.tolist())) for row in y)


def lines(text):
    return np.array([[float(x) for x in line.split()] for line in text.splitlines()])


@pytest.mark.skipif(CC is None, reason="no C compiler")
@pytest.mark.parametrize("real", ["double", "float"])
def test_the_s_function_is_the_controller(model, samples, real, tmp_path):
    y, u, status = samples
    files = fa.export_controller(PD, tmp_path, model, targets=["simulink"], real=real, **OPTIONS)
    assert {file.name for file in files} >= {f"{NAME}_sfun.c", f"{NAME}_build.m"}
    (tmp_path / "simulink.c").write_text((DATA / "simulink" / "samples.c").read_text())
    more = ["-DMATLAB_MEX_FILE", "-I.", f"-I{DATA / 'simulink'}"]
    program = built(tmp_path, f"{NAME}_sfun.c", f"{NAME}.c", program="block", more=more)
    done = subprocess.run([program], input=given(y), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    found = lines(done.stdout)
    if real == "double":
        assert (found[:, :2] == u).all()
    np.testing.assert_allclose(found[:, :2], u, rtol=1e-5, atol=1e-5)
    assert (found[:, 2] == status).all()


@pytest.mark.skipif(CXX is None or CC is None, reason="no C++ compiler")
def test_the_plug_in_of_ros2_control_is_the_controller(model, samples, tmp_path):
    y, u, _ = samples
    files = fa.export_controller(PD, tmp_path, model, targets=("ros2",), **OPTIONS)
    folder = tmp_path / "ros2"
    assert {file.name for file in files if file.parent == folder} == {
        *(f"{NAME}_ros2.cpp", f"{NAME}_ros2.xml", "CMakeLists.txt", "package.xml")
    }
    built(tmp_path, "-c", f"{NAME}.c", program="library.o")
    strict = [each for each in STRICT if each != "-std=c99"]
    command = [CXX, "-std=c++17", *strict, f"-I{DATA / 'ros2'}", "-I.", f"ros2/{NAME}_ros2.cpp", "library.o"]
    done = subprocess.run([*command, "-o", "plugin", "-lm"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run([tmp_path / "plugin"], input=given(y), capture_output=True, text=True)
    names, *rows = done.stdout.splitlines()
    states = ["upper_joint/position", "fore_joint/position", "upper_joint/velocity", "fore_joint/velocity"]
    assert names.split() == [*states, "upper_joint/effort", "fore_joint/effort"]
    assert (
        done.returncode == 0 and (lines("\n".join(rows)) == [*u, OPTIONS["safe"]]).all()
    )  # at last it is switched off
    plugin = ElementTree.fromstring((folder / f"{NAME}_ros2.xml").read_text()).find("class")
    assert (
        plugin.get("type") == f"{NAME}_ros2::Controller"
        and f"PLUGINLIB_EXPORT_CLASS({plugin.get('type')}" in (folder / f"{NAME}_ros2.cpp").read_text()
    )
    assert ElementTree.fromstring((folder / "package.xml").read_text()).find("name").text == f"{NAME}_ros2"


def test_other_targets_are_an_error(model, tmp_path):
    with pytest.raises(
        DescriptionError, match="export_controller: targets has 'ros'; it must have simulink, ros2 or shared"
    ):
        fa.export_controller(PD, tmp_path, model, targets=["ros"])


@pytest.mark.parametrize("file", ["CMakeLists.txt", "ros2/CMakeLists.txt", "ros2/package.xml"])
def test_another_project_in_the_folder_is_not_overwritten(file, model, tmp_path):
    mine = tmp_path / file
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("<name>mine</name>" if mine.suffix == ".xml" else "project(mine)")
    before = mine.read_text()
    with pytest.raises(DescriptionError, match=r"^export_controller: .* belongs to 'mine'; give another folder$"):
        fa.export_controller(PD, tmp_path, model, targets=["ros2"])
    assert mine.read_text() == before and [each for each in tmp_path.rglob("*") if each.is_file()] == [mine]
    mine.unlink()
    first = fa.export_controller(PD, tmp_path, model, targets=["ros2"])
    assert fa.export_controller(PD, tmp_path, model, targets=["ros2"]) == first


def test_no_file_is_written_if_one_of_them_cannot_be(model, tmp_path):
    (tmp_path / "ros2" / "package.xml").mkdir(parents=True)
    with pytest.raises(DescriptionError, match=r"package\.xml: cannot be written: it is a folder"):
        fa.export_controller(PD, tmp_path, model, targets=["ros2"])
    assert not [each for each in tmp_path.rglob("*") if each.is_file()]
