"""What is odd around a run: names of dots, full disks, NumPy told to raise, little memory, numbers at the border."""

import os
import re

import numpy as np
import pytest

import flexarm as fa
from flexarm import escape
from flexarm.errors import DescriptionError, SimulationError
from flexarm.simulation import ensemble_files

SCENARIO = """
name = "{name}"
arm = "subudhi-morris"
until = 0.01
samples = 3
"""


@pytest.mark.parametrize(
    ("name", "file"),
    [(".", "-"), ("..", "--"), (". .", "---"), ("", "-"), ("../x", "..-x"), ("a.b", "a.b"), ("ü" * 200, "ü" * 100)],
)
def test_a_name_becomes_a_file_s_name(name, file):
    """Names of dots mean folders, and long ones end with an error of the system."""
    assert escape.file_name(name) == file
    assert len(os.fsencode(escape.file_name(name))) <= escape.LONGEST_NAME


def slider():
    brake = fa.Brake(holding=20.0)
    joint = fa.Prismatic(axis=(1, 0, 0), drive=fa.Drive(brake=brake))
    return fa.Model(
        fa.Arm(name="slider", links=[fa.Link(name="slide", joint=joint, body=fa.Rigid(length=1.0, mass=2.0))])
    )


@pytest.mark.parametrize(
    "w",
    [
        [1.5],
        [-0.1],
        {"slide.brake.engaged": 2.0},
        fa.Piecewise([0.0, 0.1], [[0.0], [1.2]]),
        fa.Table([0.0, 1.0], [[0.0], [-1.0]]),
        np.array([[0.5], [3.0]]),
    ],
)
def test_how_far_a_brake_is_engaged_is_from_0_to_1(w):
    model = slider()
    run = fa.simulate_many if isinstance(w, np.ndarray) else fa.simulate
    q0 = np.zeros((2, 1)) if isinstance(w, np.ndarray) else None
    with pytest.raises(
        DescriptionError, match=r"slide\.brake\.engaged is .*; it must be from 0 \(free\) to 1 \(held\)"
    ):
        run(model, 0.1, w=w, q0=q0, samples=3, progress=False)


def test_what_a_function_engages_beyond_its_range_counts_as_its_end():
    """A brake at 1.5 grew its bristles by themselves, and one at -1 drove the joint."""
    model = slider()
    asked = {"u": [5.0], "qd0": [0.4], "samples": 9, "progress": False}
    for given, counts in ((1.5, 1.0), (-1.0, 0.0)):
        found = fa.simulate(model, 0.5, w=lambda t, given=given: [given], **asked)
        wanted = fa.simulate(model, 0.5, w=lambda t, counts=counts: [counts], **asked)
        np.testing.assert_allclose(found.q, wanted.q, rtol=0, atol=1e-9)
    linear = model.linearize([0.0], [0.0], [0.0], w=[1.0])
    assert np.isfinite(linear.B).all()


ROBOT = """<robot name="r"><link name="base"/><link name="a"><inertial><origin xyz="0.1 0 0" rpy="0.1 0 0"/>
<mass value="2.0"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><mass value="1.0"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
</link><joint name="j" type="continuous"><parent link="base"/><child link="a"/><origin xyz="0 0 0.2"/>
<dynamics damping="0.1" friction="0.2"/></joint><joint name="f" type="fixed"><parent link="a"/><child link="b"/>
<origin xyz="0.5 0.3 0" rpy="0 0.3 0"/></joint></robot>"""


@pytest.mark.filterwarnings("error")
def test_numbers_of_a_robot_file_at_the_border_of_what_a_float_holds(tmp_path):
    """Each number in turn: the file is refused in a line, or its arm has finite equations; NumPy never warns."""
    outcomes = []
    for found in re.finditer(r'-?\d+\.?\d*(?=[ "])', ROBOT):
        for value in ("1e308", "-1e155", "1e-308"):
            (tmp_path / "r.urdf").write_text(ROBOT[: found.start()] + value + ROBOT[found.end() :])
            try:
                model = fa.Model(fa.from_urdf(tmp_path / "r.urdf"))
                assert np.isfinite(model.mass_matrix(model.arm.rest)).all()
                outcomes.append("arm")
            except DescriptionError as error:
                outcomes.append("line" if str(error).isprintable() else str(error))
    assert {*outcomes} == {"arm", "line"}


# -- the process -------------------------------------------------------------------------------------------------------


def test_numpy_may_be_told_to_raise():
    """A motion that decays squares numbers that are nearly nothing, and a caller may have made that an error."""
    model = fa.Model(fa.load("rigid-two-link"))
    still = {"q0": np.array([1e-200, 0.0]), "qd0": np.array([1e-170, 1e-180]), "samples": 9, "progress": False}
    usual = fa.simulate(model, 0.1, **still), fa.simulate_many(model, 0.1, **{**still, "q0": np.full((3, 2), 1e-200)})
    with np.errstate(all="raise"):
        again = (
            fa.simulate(model, 0.1, **still),
            fa.simulate_many(model, 0.1, **{**still, "q0": np.full((3, 2), 1e-200)}),
        )
        with pytest.raises(SimulationError):
            fa.simulate(model, 5.0, u=lambda t: [np.inf if t > 0.01 else 0.0, 0.0], samples=9, progress=False)
    for one, other in zip(usual, again, strict=True):
        np.testing.assert_array_equal(one.q, other.q)


@pytest.fixture
def call(monkeypatch, tmp_path, capsys):
    """The command line in this process: status, and both outputs."""
    from flexarm.cli import main

    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["flexarm", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("name", [".", "..", ". ."])
def test_a_scenario_whose_name_means_a_folder(name, call, tmp_path):
    """It ended with status 70, or its result came to lie beside the folder."""
    (tmp_path / "dots.toml").write_text(SCENARIO.format(name=name))
    status, _, told = call("simulate", "dots.toml", "--no-plot", "--no-view", "--out", "out")
    assert (status, told) == (0, "")
    assert sorted(os.listdir(tmp_path)) == ["dots.toml", "out"]
    assert os.listdir(tmp_path / "out") == [f"{'-' * len(name)}.nc"]
    assert fa.load_result(tmp_path / "out" / os.listdir(tmp_path / "out")[0]).attrs["name"] == name


def test_too_little_memory_is_said_before_libraries_fail(call, monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda what: (400_000_000, resource.RLIM_INFINITY))
    said = "flexarm: the memory limit of this process is 400 MB (ulimit -v); flexarm needs at least 800 MB\n"
    assert call("list") == (2, "", said)


def test_a_library_that_cannot_be_loaded_is_no_fault_of_flexarm(call, monkeypatch):
    def failing(*_):
        raise ImportError("libx.so: failed to map segment from shared object. And more.")

    monkeypatch.setattr("flexarm.scenario.load_scenario", failing)
    status, _, told = call("simulate", "canadarm-slew-pd")
    assert status == 2
    assert told.startswith("flexarm: a library cannot be loaded, perhaps for lack of memory") and told.count("\n") == 1


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("a-b", "a_b"), ("+", "-"), ("1", "_1")])
def test_names_that_differ_in_their_punctuation_alone_stay_apart(names, tmp_path):
    """In linear models two states had one label, and FMUs and Modelica refused the arm: two signals had one name."""
    joint, body = fa.Revolute(axis=(0.0, 0.0, 1.0)), fa.Rigid(length=1.0, mass=3.0)
    model = fa.Model(fa.Arm(name="odd", links=[fa.Link(name=name, joint=joint, body=body) for name in names]))
    linear = model.linearize([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
    for labels, count in ((linear.state_labels, 4), (linear.output_labels, 4), (linear.input_labels, 2)):
        assert len(labels) == len({*labels}) == count
    made = fa.export_fmu(model, tmp_path / "odd.fmu", binary=False)
    assert len({*made.outputs}) == len(made.outputs) == 7
    text = fa.export_modelica(model, tmp_path / "Odd.mo").read_text()
    declared = re.findall(r"^\s*Real (qd?_\w+)", text, re.M)
    assert len(declared) == len({*declared}) == 4


# -- disks -------------------------------------------------------------------------------------------------------------


def full_after(monkeypatch, folder, files):
    """A disk on which so many files of an ensemble fit."""
    written = []
    real = ensemble_files.write_whole

    def write(path, *pieces, **how):
        if path.parent == folder:
            if len(written) >= files:
                raise DescriptionError("cannot be written: No space left on device", str(path), sentence=True)
            written.append(path)
        return real(path, *pieces, **how)

    monkeypatch.setattr(ensemble_files, "write_whole", write)


def test_runs_that_a_full_disk_refuses_are_kept_elsewhere(tmp_path, monkeypatch):
    model = fa.Model(fa.load("subudhi-morris"))
    q0 = np.zeros((6, len(model.coordinates)))
    q0[:, 0] = np.linspace(0.1, 0.6, 6)
    asked = {"q0": q0, "samples": 3, "progress": False}
    wanted = fa.simulate_many(model, 0.01, **asked)
    monkeypatch.setattr("flexarm.simulation.ensemble.CHUNK", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    full_after(monkeypatch, tmp_path / "runs", 1)
    with pytest.raises(SimulationError) as caught:
        fa.simulate_many(model, 0.01, folder=tmp_path / "runs", **asked)
    line = str(caught.value)
    assert "cannot be written: No space left on device; these runs are in " in line and line.isprintable()
    found = caught.value.result
    count = found.sizes["run"]
    assert count >= 2
    np.testing.assert_array_equal(found.q.values, wanted.q.values[:count])


@pytest.mark.parametrize("kind", [fa.FlexarmError, fa.DescriptionError, fa.SimulationError])
def test_a_message_that_repeats_a_long_text_leaves_out_its_middle(kind):
    said = str(kind(f"--vary is {'1' + 5000 * '0'!r}; it must be NAME=LOW:HIGH"))
    assert said.startswith("--vary is '1000") and said.endswith("000'; it must be NAME=LOW:HIGH")
    assert 1500 < len(said) < 2000


def test_a_command_does_not_repeat_a_number_of_thousands_of_digits(call):
    status, _, told = call("stability", "canadarm", "--vary", "1" + 5000 * "0")
    assert status == 2 and "--vary" in told and len(told) < 2000
