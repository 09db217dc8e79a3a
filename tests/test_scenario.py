"""Scenarios: the bundled ones run, a file says what Python says, a mistake is one line with its file and key."""

from typing import get_args

import numpy as np
import pytest

import flexarm as fa
from flexarm import trajectory
from flexarm.errors import DescriptionError
from flexarm.scenario import BangBangInput, ConstantInput, CycloidalMotion, PiecewiseInput, Solver, TableInput
from flexarm.scenario.motions import ShaperTable
from flexarm.trajectory.shapers import KINDS

PARABOLIC = "[reference]\ntype = 'parabolic-blends'\nstart = [0, 0]\nend = [1, 1]\nduration = 1.0\n"
HEAD = 'name = "test"\narm = "subudhi-morris"\nuntil = 0.1\nsamples = 11\n'
COORDINATES = "upper.joint, fore.joint, upper.y1, upper.y2, fore.y1, fore.y2"

ARM = """
name = "slide"
[[links]]
name = "a"
joint = { type = "prismatic", axis = [1, 0, 0] }
body = { type = "rigid", length = 1, mass = 2 }
"""


@pytest.fixture(scope="module")
def model():
    return fa.Model(fa.load("subudhi-morris"))


@pytest.fixture
def file(tmp_path):
    """Write a scenario's text, give its path."""

    def write(text, name="s.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


CHANGES = """
[[changes]]
at = 0.03
values = { "payload.mass" = 0.3 }
[[changes]]
at = 0.07
values = { "payload.mass" = 0.1 }
"""


def test_changes_of_a_scenario_are_those_of_a_run(file):
    """A payload is picked up and released; also in a study, whose own parameters stay."""
    scenario = fa.load_scenario(file(HEAD + CHANGES + "[initial]\nqd = [1.0, 0.5, 0, 0, 0, 0]\n"))
    model = fa.Model("subudhi-morris", vary=["payload.mass"])
    changes = [fa.Change(at=0.03, values={"payload.mass": 0.3}), fa.Change(at=0.07, values={"payload.mass": 0.1})]
    expected = fa.simulate(model, 0.1, qd0=[1, 0.5, 0, 0, 0, 0], changes=changes, samples=11, progress=False)
    result = scenario.run(progress=False)
    np.testing.assert_array_equal(result.q, expected.q)
    assert result.attrs["changes"] == expected.attrs["changes"]
    varied = fa.Model("subudhi-morris", vary=["payload.mass", "upper.EI"])
    softer = varied.at({"upper.EI": 0.5 * varied.arm["upper"].body.EI})
    other = fa.simulate(softer, 0.1, qd0=[1, 0.5, 0, 0, 0, 0], changes=changes, samples=11, progress=False)
    stiffness = [model.arm["upper"].body.EI, 0.5 * model.arm["upper"].body.EI]
    study = fa.study(scenario, {"upper.EI": stiffness}, "grid", keep=["q"], progress=False)
    np.testing.assert_allclose(study["q"].values, [expected.q, other.q], atol=1e-7)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[changes]]\nat = 0.2\nvalues = { 'payload.mass' = 1 }", r"changes\[0\]: at is 0.2 s; it must be before the"),
        ("[[changes]]\nat = 0.05\nvalues = { 'payload.mas' = 1 }", "vary: unknown parameter 'payload.mas'"),
        ("[[changes]]\nat = 0.05\nvalues = { 'payload.mass' = -1 }", "payload.mass is -1"),
        ("[[changes]]\nat = 0.05", r"changes\[0\].values is missing"),
        ("[[changes]]\nat = 'x'\nvalues = { 'payload.mass' = 1 }", r"changes\[0\].at is 'x'"),
    ],
)
def test_a_wrong_change_is_one_line(file, text, said):
    with pytest.raises(fa.DescriptionError, match=said):
        fa.load_scenario(file(HEAD + text))


def test_functions_that_would_ignore_changes_refuse_them(file):
    path = file(HEAD + CHANGES)
    with pytest.raises(
        fa.DescriptionError, match="play: scenario 'test' has changes of parameters, which this does not"
    ):
        fa.play(str(path))
    falling = fa.Change(at=lambda t, q, qd: t - 0.05, values={"payload.mass": 0.3})
    with pytest.raises(fa.DescriptionError, match=r"changes\[0\].at is a function; in a scenario it must be a time"):
        fa.load_scenario(path).replace(changes=[falling])


# -- what runs ---------------------------------------------------------------------------------------------------------


def test_bundled_scenarios_are_there():
    assert {"canadarm", "rigid-two-link", "spatial-6r", "subudhi-morris"} <= set(fa.bundled_scenarios())
    assert list(fa.bundled_scenarios()) == sorted(fa.bundled_scenarios())


LONG = ("canadarm-optimal", "spatial-6r-optimal")
"""Scenarios whose search takes half a minute. Here their tip may miss its goal by 1 cm, which takes half of that."""


@pytest.mark.parametrize("name", fa.bundled_scenarios())
def test_bundled_scenario_runs(name):
    scenario = fa.load_scenario(name)
    assert scenario.name == name and scenario.description
    if name in LONG:
        scenario = scenario.replace(reference=scenario.reference.replace(tolerance=1e-2))
    result = scenario.replace(until=scenario.until / 50, samples=5).run(progress=False)
    assert result.attrs["name"] == name and result.attrs["status"] == "completed"
    # At its start, steps of half a millisecond: the industrial arm falls through its play, and nothing moves much yet;
    # the account of the whole scenario is a test of its own.
    assert result.attrs["energy_drift"] < (1e-5 if name == "industrial-arm" else 1e-7)
    assert ("q_ref" in result) == (scenario.reference is not None)
    driven = scenario.input is not None or scenario.controller is not None
    assert bool(np.abs(result.u).max() > 0) == driven


def same(a, b):
    np.testing.assert_array_equal(a.q, b.q)
    np.testing.assert_array_equal(a.u, b.u)
    assert a.attrs["input_description"] == b.attrs["input_description"]


INPUTS = [
    ("", None),
    ('[input]\ntype = "constant"\nvalues = [0.1, -0.2]', [0.1, -0.2]),
    (
        '[input]\ntype = "bang-bang"\namplitude = [0.2, 0.1]\nduration = 0.03\nstart = 0.01',
        fa.bang_bang([0.2, 0.1], 0.03, 0.01),
    ),
    (
        '[input]\ntype = "piecewise"\ntimes = [0, 0.04]\nvalues = [[0.1, 0], [0, 0.1]]',
        fa.Piecewise([0, 0.04], [[0.1, 0], [0, 0.1]]),
    ),
    (
        '[input]\ntype = "table"\ntimes = [0, 0.04, 0.1]\nvalues = [[0.1, 0], [0, 0.1], [0, 0]]',
        fa.Table([0, 0.04, 0.1], [[0.1, 0], [0, 0.1], [0, 0]]),
    ),
    (
        '[input]\ntype = "table"\ntimes = [0, 0.1]\nvalues = [[0.1, 0], [0, 0.1]]\ninterpolation = "linear"',
        fa.Table([0, 0.1], [[0.1, 0], [0, 0.1]], "linear"),
    ),
    (
        '[input]\ntype = "rigid-inverse-dynamics"\n'
        '[reference]\ntype = "cycloidal"\nrates = [0.1, 0.2]\nperiods = [0.1, 0.2]',
        fa.RigidInverseDynamics(fa.Cycloidal([0.1, 0.2], [0.1, 0.2])),
    ),
    (
        '[input]\ntype = "prescribed-motion"\n'
        '[reference]\ntype = "quintic"\nstart = [0, 0.1]\nend = [0.1, 0.2]\nduration = 0.08',
        fa.PrescribedMotion(trajectory.Quintic([0, 0.1], [0.1, 0.2], 0.08)),
    ),
    (
        '[input]\ntype = "prescribed-motion"\n'
        '[reference]\ntype = "minimum-jerk"\npoints = [[0, 0], [0.1, 0.2], [0.05, 0]]\ntimes = [0, 0.04, 0.08]',
        fa.PrescribedMotion(trajectory.MinimumJerk([[0, 0], [0.1, 0.2], [0.05, 0]], [0, 0.04, 0.08])),
    ),
    (
        '[input]\ntype = "prescribed-motion"\n'
        '[reference]\ntype = "task-line"\nstart = [0.7, 0.1]\nend = [0.69, 0.13]\nduration = 0.08\nq0 = [0, -1]',
        fa.PrescribedMotion(trajectory.TaskLine(fa.load("subudhi-morris"), (0.7, 0.1), (0.69, 0.13), 0.08, q0=(0, -1))),
    ),
]


@pytest.mark.parametrize(("text", "u"), INPUTS, ids=[text.partition("type = ")[2][:10] for text, _ in INPUTS])
def test_a_file_says_what_python_says(text, u, file, model):
    by_file = fa.load_scenario(file(HEAD + text)).run(model, progress=False)
    same(by_file, fa.simulate(model, 0.1, u=u, samples=11, progress=False))


QUINTIC = "[reference]\ntype = 'quintic'\nstart = [0, 0]\nend = [0.3, 0.2]\nduration = 0.08\n"
LINE = "[reference]\ntype = 'task-line'\nend = [0.69, 0.13]\nduration = 0.08\n"

SHAPERS = [
    ('{ kind = "zvd" }', {}, None),
    ('{ kind = "zv", modes = 2, locked = false }', {"kind": "zv", "modes": 2, "locked": False}, None),
    ('{ kind = "ei", tolerance = 0.02, at = { fore.joint = 0.9 } }', {"kind": "ei", "tolerance": 0.02}, [0.3, 0.9]),
    ('{ kind = "two-hump-ei", tolerance = 0.03 }', {"kind": "two-hump-ei", "tolerance": 0.03}, None),
    ('{ kind = "zv", at = [0.1, 0.7, 0, 0, 0, 0] }', {"kind": "zv"}, [0.1, 0.7]),
]


def test_a_file_has_the_kinds_of_shapers_of_python():
    assert get_args(ShaperTable.model_fields["kind"].annotation) == tuple(KINDS)


@pytest.mark.parametrize(("table", "given", "joints"), SHAPERS, ids=[table for table, _, _ in SHAPERS])
def test_a_reference_may_be_shaped(table, given, joints, file, model):
    """By default for the configuration in which the reference ends."""
    scenario = fa.load_scenario(file(HEAD + QUINTIC + f"shaper = {table}\n"))
    q = np.array([*(joints or [0.3, 0.2]), 0, 0, 0, 0])
    expected = fa.design_shaper(model, q, **given)
    reference = scenario.motion(model)
    assert reference.reference == trajectory.Quintic([0, 0], [0.3, 0.2], 0.08)
    assert reference.shaper == expected
    result = scenario.run(model, progress=False)
    assert result.q_ref.values == pytest.approx(trajectory.reference_values(reference, result.time.values))


def test_the_motor_of_an_elastic_joint_ends_where_its_joint_does(file):
    head = HEAD.replace("subudhi-morris", "subudhi-morris-elastic")
    scenario = fa.load_scenario(file(head + QUINTIC + 'shaper = { kind = "zv" }'))
    model = fa.Model(scenario.loaded_arm())
    q = np.array([0.3, 0.2, 0, 0, 0, 0, 0.3, 0.2])
    assert scenario.motion(model).shaper == fa.design_shaper(model, q, "zv")


def test_a_telescope_is_shaped_at_its_length(file):
    motion = QUINTIC.replace("[0, 0]", "[0, 0, 0.3]").replace("[0.3, 0.2]", "[0.3, 0.2, 0.9]")
    text = HEAD.replace("subudhi-morris", "theodore-ghosal") + motion + 'shaper = { kind = "zv" }'
    scenario = fa.load_scenario(file(text))
    model = fa.Model(scenario.loaded_arm())
    q = np.array([0.3, 0.2, 0.9, 0, 0, 0, 0])
    assert scenario.motion(model).shaper.times == pytest.approx(fa.design_shaper(model, q, "zv").times)


def test_a_line_begins_where_q0_is(file, model):
    scenario = fa.load_scenario(file(HEAD + LINE + "q0 = [0.1, -0.9]"))
    begin = trajectory.reference_values(scenario.motion(model), [0.0])[0]
    assert begin == pytest.approx([0.1, -0.9], abs=1e-8)


def test_no_reference_is_no_motion(file, model):
    assert fa.load_scenario(file(HEAD)).motion(model) is None


RUNS_WRONG = [
    (
        QUINTIC + 'shaper = { kind = "zv", modes = 5 }',
        "reference: shaper: modes is 5; it must be an integer from 1 to 4",
    ),
    (LINE + "start = [0.7, 0.1]\naxes = 'yz'", "reference: TaskLine: arm 'subudhi-morris' "),
    (LINE + "start = [2, 2]", "reference: TaskLine: arm 'subudhi-morris' reaches no farther than 0 % of the line"),
]


@pytest.mark.parametrize(("text", "line"), RUNS_WRONG, ids=[line[:40] for _, line in RUNS_WRONG])
def test_what_only_the_equations_can_tell_is_said_before_the_run(text, line, file, model):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.load_scenario(file(HEAD + text)).run(model, progress=False)
    assert str(caught.value).startswith(line) and str(caught.value).isprintable()


def test_solver_and_initial_state_reach_the_simulation(file, model):
    text = '[solver]\nmethod = "rk4"\nstep = 1e-4\n[initial]\nq = { "fore.joint" = 0.3 }\nqd = [0.1, 0, 0, 0, 0, 0]'
    result = fa.load_scenario(file(HEAD + text)).run(model, progress=False)
    assert (result.attrs["method"], result.attrs["step"]) == ("rk4", 1e-4)
    assert result.q[0].values.tolist() == [0, 0.3, 0, 0, 0, 0]
    assert result.qd[0].values.tolist() == [0.1, 0, 0, 0, 0, 0]
    assert result.sizes["time"] == 11 and result.time[-1] == 0.1
    text = '[solver]\nmethod = "radau5"\nrtol = 1e-5\natol = 1e-6'
    result = fa.load_scenario(file(HEAD + text)).run(model, progress=False)
    assert [result.attrs[key] for key in ("method", "rtol", "atol")] == ["radau5", 1e-5, 1e-6]


@pytest.mark.parametrize(
    "q", ['q."upper.joint" = 0.4', "q.upper.joint = 0.4", "q = [0.4, 0, 0, 0, 0, 0]", 'q = { "upper.joint" = 0.4 }']
)
def test_every_way_to_write_an_initial_state(q, file, model):
    result = fa.load_scenario(file(HEAD + "[initial]\n" + q)).run(model, progress=False)
    assert result.q[0].values.tolist() == [0.4, 0, 0, 0, 0, 0]


def test_one_column_may_be_a_list_of_numbers(file):
    text = 'name = "x"\narm = "arm.toml"\nuntil = 1\n[input]\ntype = "table"\ntimes = [0, 1]\nvalues = [4, 4]'
    file(ARM, "arm.toml")
    result = fa.load_scenario(file(text)).run(progress=False)
    assert result.q[-1, 0] == pytest.approx(1.0)  # 2 kg under 4 N for 1 s


def test_an_arms_path_is_relative_to_the_scenario(tmp_path, file, monkeypatch):
    (tmp_path / "arms").mkdir()
    file(ARM, "arms/slide.toml")
    path = file('name = "x"\narm = "arms/slide.toml"\nuntil = 1\n')
    monkeypatch.chdir("/")
    assert fa.load_scenario(path).run(progress=False).coordinate.values.tolist() == ["a.joint"]
    assert fa.load_scenario(str(path)).loaded_arm().name == "slide"
    absolute = file(f'name = "x"\narm = "{tmp_path / "arms" / "slide.toml"}"\nuntil = 1\n', "absolute.toml")
    assert fa.load_scenario(absolute).loaded_arm().name == "slide"
    monkeypatch.chdir(tmp_path)
    assert fa.load_scenario("s.toml").loaded_arm().name == "slide"


def test_from_python_with_an_arm():
    arm = fa.load("rigid-two-link")
    scenario = fa.Scenario(
        name="push",
        arm=arm,
        until=0.2,
        samples=3,
        input=ConstantInput(values=(1.0, 0.0)),
        solver=Solver(method="radau5"),
    )
    assert scenario.loaded_arm() is arm
    assert scenario.run(progress=False).u[0].values.tolist() == [1, 0]
    for given in (
        BangBangInput(amplitude=(1.0, 1.0), duration=0.1),
        PiecewiseInput(times=(0.0,), values=((1.0, 1.0),)),
        TableInput(times=(0.0, 1.0), values=((1.0, 1.0), (0.0, 0.0))),
    ):
        assert scenario.replace(input=given).run(progress=False).u[0].values.tolist() == [1, 1]
    moved = scenario.replace(reference=CycloidalMotion(rates=(0.1, 0.2), periods=(1.0, 1.0))).run(progress=False)
    assert moved.q_ref.shape == (3, 2)


# -- mistakes ----------------------------------------------------------------------------------------------------------

BANG = '[input]\ntype = "bang-bang"\n'
PIECES = '[input]\ntype = "piecewise"\n'
TABLE = '[input]\ntype = "table"\n'
JOINTS = "upper.joint, fore.joint"
JERK = "[reference]\ntype = 'minimum-jerk'\npoints = [[0, 0], [1, 1]]\n"

WRONG = [
    (
        HEAD + "speed = 1",
        "unknown key 'speed'; allowed keys are name, description, arm, until, samples, input, reference",
    ),
    (
        HEAD + '[input]\ntype = "bang"',
        "input.type is 'bang'; it must be 'constant', 'bang-bang', 'piecewise', 'table',",
    ),
    (HEAD + "[input]\namplitude = [1]", "input.type is missing; it must be 'constant', 'bang-bang'"),
    (HEAD + BANG + "amplitude = [1, nan]\nduration = 1", "input.amplitude[1] is nan N m; it must be finite"),
    (HEAD + BANG + "amplitude = [1, 2]\nduration = 0", "input.duration is 0.0 s; it must be positive"),
    (HEAD + BANG + "amplitude = [1, 2]", "input.duration is missing"),
    (
        HEAD + BANG + "amplitude = [1, 2]\nduration = 1\nstep = 1",
        "input: unknown key 'step'; allowed keys are amplitude, dura",
    ),
    (HEAD + BANG + "amplitude = [1]\nduration = 1", f"input.amplitude has 1 number; it must have 2: {JOINTS}"),
    (HEAD + BANG + "amplitude = []\nduration = 1", "input.amplitude is empty; it must have at least one number"),
    (HEAD + '[input]\ntype = "constant"\nvalues = [1, 2, 3]', f"input.values has 3 numbers; it must have 2: {JOINTS}"),
    (HEAD + PIECES + "times = [0, 1]\nvalues = [[1, 2]]", "input.times has 2 numbers and values has 1 row"),
    (
        HEAD + PIECES + "times = [0, 1]\nvalues = [[1, 2], [1]]",
        f"input.values[1] has 1 number; it must have 2: {JOINTS}",
    ),
    (
        HEAD + PIECES + "times = [1, 0]\nvalues = [[1, 2], [1, 2]]",
        "input.times[1] is 0.0 s after 1.0 s; times must incr",
    ),
    (HEAD + TABLE + "times = [1]\nvalues = [[1, 2]]", "input.times has 1 number; it must have at least 2"),
    (HEAD + TABLE + "times = [0, 1]\nvalues = [[1, 2], 3]", f"input.values[1] has 1 number; it must have 2: {JOINTS}"),
    (HEAD + TABLE + "times = [0, 1]\nvalues = [[1, 2], [3, nan]]", "input.values[1][1] is nan; it must be finite"),
    (HEAD + TABLE + "times = [0, 1]\nvalues = 3", "input.values is 3; it must be a list of rows"),
    (
        HEAD + TABLE + 'times = [0, 1]\nvalues = [[1, 2], [3, 4]]\ninterpolation = "none"',
        "input.interpolation is 'none'; it must be 'cubic' or 'linear'",
    ),
    (
        HEAD + '[input]\ntype = "rigid-inverse-dynamics"',
        "reference is missing; the input 'rigid-inverse-dynamics' needs it",
    ),
    (
        HEAD + "[reference]\ntype = 'cycloidal'\nrates = [1]\nperiods = [1, 1]",
        f"reference.rates has 1 number; it must have 2: {JOINTS}",
    ),
    (
        HEAD + "[reference]\ntype = 'cycloidal'\nrates = [1, 1]\nperiods = [1, 1, 1]",
        "reference.periods has 3 numbers; it must have 2",
    ),
    (
        HEAD + "[reference]\nstart = [0, 0]",
        "reference.type is missing; it must be 'cycloidal', 'parabolic-blends', 'quintic', 'minimum-jerk', 'task-line'",
    ),
    (HEAD + QUINTIC.replace("[0.3, 0.2]", "[1]"), "reference.end has 1 number; it must have as many as start, 2"),
    (
        HEAD + QUINTIC.replace("[0.3, 0.2]", "[1]").replace("[0, 0]", "[1]"),
        f"reference.start has 1 number; it must have 2: {JOINTS}",
    ),
    (HEAD + QUINTIC.replace("0.08", "0"), "reference.duration is 0.0 s; it must be positive"),
    (HEAD + QUINTIC + "shaper = { modes = 2 }", "reference.shaper.kind is missing"),
    (
        HEAD + QUINTIC + "shaper = { kind = 'zdv' }",
        "reference.shaper.kind is 'zdv'; it must be 'zv', 'zvd', 'zvdd', 'mzv', 'ei', 'two-hump-ei', ",
    ),
    (
        HEAD + QUINTIC + "shaper = { kind = 'zv', mode = 2 }",
        "reference.shaper: unknown key 'mode'; did you mean 'modes'? Allowed keys are kind,",
    ),
    (
        HEAD + QUINTIC + "shaper = { kind = 'zv', modes = 0 }",
        "reference.shaper.modes is 0; it must be an integer from 1",
    ),
    (
        HEAD + QUINTIC + "shaper = { kind = 'zv', modes = '1' }",
        "reference.shaper.modes is '1'; it must be an integer fro",
    ),
    (HEAD + QUINTIC + "shaper = { kind = 'zv', locked = 1 }", "reference.shaper.locked is 1; it must be true or false"),
    (
        HEAD + QUINTIC + "shaper = { kind = 'ei', tolerance = 1 }",
        "reference.shaper.tolerance is 1.0; it must be positive and at most 0.1",
    ),
    (
        HEAD + QUINTIC + "shaper = { kind = 'zv', at = [1] }",
        f"reference.shaper.at has 1 number; it must have 6: {COORDINATES}",
    ),
    (
        HEAD + QUINTIC + "shaper = { kind = 'zv', at = { knee.joint = 1 } }",
        "reference.shaper.at: unknown coordinate 'knee.joint'; did you mean 'fore.joint'? The coordinates are "
        f"{COORDINATES}",
    ),
    (
        HEAD + JERK + "times = [0, 1, 2]",
        "reference.times has 3 numbers and points has 2 rows; both must have the same length",
    ),
    (HEAD + JERK + "times = [1, 1]", "reference.times[1] is 1.0 s after 1.0 s; times must increase"),
    (
        HEAD + JERK.replace("[1, 1]", "[1]") + "times = [1, 2]",
        f"reference.points[1] has 1 number; it must have 2: {JOINTS}",
    ),
    (HEAD + LINE, "reference.start is missing; give start, or the configuration q0 at the start"),
    (
        HEAD + LINE + "start = [1, 1]\naxes = 'x'",
        "reference.axes is 'x'; it must have one letter for each number of end, 2",
    ),
    (HEAD + LINE + "start = [1]", f"reference.start has 1 number; it must have 2: {JOINTS}"),
    (HEAD + LINE + "start = [1, nan]", "reference.start[1] is nan m; it must be finite"),
    (HEAD + LINE + "q0 = 1", "reference.q0 is 1; it must be a list of numbers"),
    (HEAD + LINE + "start = [1, 1]\ntolerance = 0", "reference.tolerance is 0.0 m; it must be positive"),
    (HEAD + PARABOLIC + "blend = 0.6", "reference.blend is 0.6 s; it must be at most half of the duration, 1.0 s"),
    (HEAD + PARABOLIC.replace("[1, 1]", "[1]") + "blend = 0.1", "reference.end has 1 number; it must have as many"),
    (HEAD + "[input]\ntype = 'prescribed-motion'", "reference is missing; the input 'prescribed-motion' needs it"),
    (
        HEAD + "[reference]\ntype = 'cycloidal'\nrates = [1, 1]\nperiods = [1, 1]\nphase = 1",
        "reference: unknown key 'phase'; allowed keys are",
    ),
    (HEAD + '[solver]\nmethod = "leapfrog"', "solver.method is 'leapfrog'; it must be one of auto, "),
    (HEAD + '[solver]\nmethod = "rk4"', "solver.step is missing; method 'rk4' needs one"),
    (HEAD + '[solver]\nmethod = "rk4"\nstep = 0', "solver.step is 0.0 s; it must be positive"),
    (HEAD + '[solver]\nmethod = "rk4"\nstep = 1', "solver.step is 1.0 s; it must be no longer than the run, 0.1 s"),
    (HEAD + "[solver]\nstep = 0.1", "solver.step is 0.1 s; method 'auto' chooses its own"),
    (
        HEAD + "[solver]\nspectral_radius = 0.5",
        "solver.spectral_radius is 0.5; it must be from 0 to 1, and applies only to",
    ),
    (
        HEAD + '[solver]\nmethod = "generalized-alpha"\nspectral_radius = 2',
        "solver.spectral_radius is 2.0; it must be from",
    ),
    (HEAD + "[solver]\nrtol = 0", "solver.rtol is 0.0; it must be positive"),
    (HEAD + "[solver]\ntolerance = 0", "solver: unknown key 'tolerance'; allowed keys are method, rtol, atol, step"),
    (HEAD + "[initial]\nq = [1]", f"initial.q has 1 number; it must have 6: {COORDINATES}"),
    (HEAD + "[initial]\nqd = [0, 0, 0, 0, 0, nan]", "initial.qd[5] is nan; it must be finite"),
    (
        HEAD + '[initial]\nq = { "upper.knee" = 1 }',
        "initial.q: unknown coordinate 'upper.knee'; did you mean 'upper.joint', 'upper.y1' or 'upper.y2'? "
        f"The coordinates are {COORDINATES}",
    ),
    (HEAD + "[initial]\nq.upper.joint = nan", "initial.q.upper.joint is nan; it must be finite"),
    (HEAD + '[initial]\nq = "rest"', "initial.q is 'rest'; it must be a list of numbers"),
    (HEAD.replace("11", "0"), "samples is 0; it must be an integer from 2 to"),
    (HEAD.replace("11", "1"), "samples is 1; it must be an integer from 2 to"),
    (HEAD.replace("11", "-5"), "samples is -5; it must be an integer from 2 to"),
    (HEAD.replace("11", "1e3"), "samples is 1000.0; it must be an integer from 2 to"),
    (HEAD.replace("0.1", "0"), "until is 0.0 s; it must be positive"),
    (HEAD.replace("0.1", "-1"), "until is -1.0 s; it must be positive"),
    (HEAD.replace("0.1", "inf"), "until is inf s; it must be finite"),
    (HEAD.replace('"subudhi-morris"', '"canada"'), "arm: unknown arm 'canada'; did you mean 'canadarm'? Give "),
    (HEAD.replace('"subudhi-morris"', "3"), "arm is 3; it must be a name, a path or an Arm"),
    ('name = "x"\narm = "canadarm"', "until is missing"),
    (ARM, "this is an arm, not a scenario; a scenario names its arm by the key 'arm'"),
    ("name = ", "not a TOML file: "),
]


@pytest.mark.parametrize(("text", "line"), WRONG, ids=[line[:40] for _, line in WRONG])
def test_a_mistake_is_one_line_that_names_the_file_and_the_key(text, line, file):
    path = file(text)
    with pytest.raises(fa.DescriptionError) as caught:
        fa.load_scenario(path)
    assert str(caught.value).startswith(f"{path}: {line}")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (HEAD, "a scenario; its arm is 'subudhi-morris'"),
        ('name = "x"\nscenario = "canadarm"\n', "a study; its scenario is 'canadarm'"),
    ],
)
def test_a_scenario_or_a_study_in_place_of_an_arm(text, kind, file):
    path = file(text)
    with pytest.raises(fa.DescriptionError) as caught:
        fa.load(path)
    assert str(caught.value) == f"{path}: this is {kind}"


def test_an_arm_that_is_wrong_or_missing_is_named_too(file, tmp_path):
    path = file('name = "x"\narm = "arm.toml"\nuntil = 1\n')
    with pytest.raises(fa.DescriptionError) as caught:
        fa.load_scenario(path)
    assert str(caught.value) == f"{path}: arm: {tmp_path / 'arm.toml'}: cannot be read: No such file or directory"
    file(ARM.replace("mass = 2", "mass = -2"), "arm.toml")
    with pytest.raises(fa.DescriptionError) as caught:
        fa.load_scenario(path)
    assert str(caught.value).startswith(f"{path}: arm: {tmp_path / 'arm.toml'}: link 'a': mass is -2.0 kg")


PD = "[controller]\ntype = 'joint-pd'\nKd = 2.0\nperiod = 0.01\n"
BAD_CONTROLLERS = {
    "when it is created": ("Kp = 1.0\nnominal = 'nobody'\n", "controller: unknown arm 'nobody'; "),
    "when it starts": ("Kp = [1.0, 2.0, 3.0]\n", "JointPD: Kp has shape (3,); it must be one number, a list of 2 "),
    "when its samples start": ("Kp = 1.0\nlimit = [1.0, 2.0, 3.0]\n", "limit is [1.0, 2.0, 3.0]; it must be one "),
}


@pytest.mark.parametrize("bad", BAD_CONTROLLERS)
@pytest.mark.parametrize(("replaced", "varied"), [({}, "payload.mass"), ({"samples": 12}, "reference.duration")])
def test_errors_of_a_controller_name_the_file_once(bad, replaced, varied, file, tmp_path, model):
    """Each use of the scenario does: runs, exports and studies, also of a copy with other fields."""
    fields, message = BAD_CONTROLLERS[bad]
    path = file(HEAD + QUINTIC + PD + fields)
    scenario = fa.load_scenario(path).replace(**replaced)
    uses = [
        lambda: scenario.run(model, progress=False),
        lambda: fa.export_controller(scenario, tmp_path / "board", model),
    ]
    texts = []
    for use in uses:
        with pytest.raises(DescriptionError) as caught:
            use()
        texts.append(str(caught.value))
    found = fa.study(scenario, {varied: [0.07, 0.08]}, "grid", executor=1, progress=False)
    texts += [text.removeprefix("DescriptionError: ") for text in found.status.values.tolist()]  # a lost chunk
    assert [text[: len(f"{path}: {message}")] for text in texts] == 4 * [f"{path}: {message}"]
    assert all("\n" not in text and text.count(str(path)) == 1 for text in texts)


def test_a_controller_from_python_names_no_file(file, model):
    path = file(HEAD + QUINTIC + PD + "Kp = 1.0\n")
    table = {"type": "joint-pd", "Kp": [1.0, 2.0, 3.0], "Kd": 2.0}
    with pytest.raises(DescriptionError, match=r"^JointPD: Kp has shape \(3,\)"):
        fa.load_scenario(path).replace(controller=table).run(model, progress=False)


def test_unknown_and_missing_scenarios(tmp_path):
    with pytest.raises(fa.DescriptionError, match=r"unknown scenario 'slew'; give .* bundled scenario: .*canadarm"):
        fa.load_scenario("slew")
    with pytest.raises(fa.DescriptionError, match="cannot be read: No such file"):
        fa.load_scenario(tmp_path / "slew.toml")


def test_a_scenario_in_python_is_checked_against_its_arm_before_it_runs():
    scenario = fa.Scenario(name="x", arm="canadarm", until=1e9, input=ConstantInput(values=(1.0,)))
    with pytest.raises(fa.DescriptionError, match=r"^input\.values has 1 number; it must have 3"):
        scenario.run(progress=False)
    body = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 1})
    free = fa.Arm(name="b", links=[fa.Link(name="b", joint=fa.Fixed(), body=body)])
    with pytest.raises(fa.DescriptionError, match=r"^input\.values has 1 number; it must have none"):
        scenario.replace(arm=free).run(progress=False)
    with pytest.raises(fa.DescriptionError, match=r"^arm: unknown arm 'x'"):
        scenario.replace(arm="x").run(progress=False)
