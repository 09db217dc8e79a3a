"""Optimal motions in scenario files: as from Python, kept on disk, their torques as an input and beside feedback."""

import inspect
import shutil
import warnings
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from forked import together

import flexarm as fa
from flexarm.control import Tracking
from flexarm.errors import InterruptedRun
from flexarm.native.cache import cache_folder
from flexarm.optimal import kept, search
from flexarm.scenario import OptimalReference, OptimalTorquesInput, Scenario
from flexarm.studies.entry import _task

ARM = """
name = "cart"

[[links]]
name = "cart"
joint = { type = "prismatic", axis = [1, 0, 0], stiffness = 1.0, rotor_inertia = 1.0 }
body = { type = "rigid", length = 0.1, mass = 1.0 }
"""
HEAD = 'name = "s"\narm = "cart.toml"\nuntil = 8.0\nsamples = 401\n'
REFERENCE = '[reference]\ntype = "optimal"\nend = [1.0]\nlimits = { torque = 1.0 }\ntolerance = 1e-4\n'
TORQUES = '[input]\ntype = "optimal-torques"\n'
ASKED = {"end": [1.0], "limits": {"torque": 1.0}, "tolerance": 1e-4}


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Write a scenario's text beside its arm, give its path."""
    monkeypatch.setattr(kept, "_known", {})
    (tmp_path / "cart.toml").write_text(ARM)

    def written(text):
        (tmp_path / "s.toml").write_text(text)
        return tmp_path / "s.toml"

    return written


@pytest.fixture
def scenario(file):
    return fa.load_scenario(file(HEAD + REFERENCE + TORQUES))


@pytest.fixture
def unasked(monkeypatch):
    """The solver must not be asked; what has been found is looked for on disk."""

    def asked(*_, **__):
        raise AssertionError("the solver was asked")

    def begin():
        monkeypatch.setattr(kept, "_known", {})
        monkeypatch.setattr(search, "optimal_motion", asked)

    return begin


@pytest.fixture
def count(monkeypatch):
    """How often the solver is asked."""
    calls, solve = [], search.optimal_motion
    monkeypatch.setattr(search, "optimal_motion", lambda *a, **k: (calls.append(k), solve(*a, **k))[1])
    return calls


@pytest.fixture
def own_cache(tmp_path):
    """An empty cache of motions. Models share their functions, so pytest's own patch sets it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLEXARM_CACHE", str(tmp_path / "cache"))
        yield


@pytest.fixture(scope="module")
def found_before(tmp_path_factory):
    """A cache in which the scenario's motion is, found once."""
    place = tmp_path_factory.mktemp("before")
    (place / "cart.toml").write_text(ARM)
    (place / "s.toml").write_text(HEAD + REFERENCE + TORQUES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLEXARM_CACHE", str(place / "cache"))
        patch.setattr(kept, "_known", {})
        motion(fa.load_scenario(place / "s.toml"))
        assert len(files()) == 1
    return place / "cache"


@pytest.fixture
def own_copy(own_cache, found_before):
    """A cache of the test's own, with that motion."""
    shutil.copytree(found_before, cache_folder(), dirs_exist_ok=True)


def motion(scenario, model=None):
    return scenario.motion(fa.Model(scenario.loaded_arm()) if model is None else model)


def same(a, b):
    """Every field, to the last bit; but how long it took."""
    for field in fields(a):
        one, other = (getattr(x, field.name) for x in (a, b))
        if field.name == "report":
            assert {**one, "seconds": 0} == {**other, "seconds": 0}
        elif isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
        elif isinstance(one, dict):
            assert one.keys() == other.keys()
            for name in one:
                np.testing.assert_array_equal(one[name], other[name])
        else:
            assert one == other


# -- what a file says --------------------------------------------------------------------------------------------------


def test_a_file_asks_as_python_does(scenario):
    model = fa.Model(scenario.loaded_arm())
    same(motion(scenario), fa.optimal_motion(model, [0.0], **ASKED))


def test_every_argument_is_a_key():
    arguments = {*inspect.signature(fa.optimal_motion).parameters} - {"model"}
    assert arguments == {*OptimalReference.model_fields} - {"type"}


def test_keys_are_passed_on_by_their_names(own_cache, file, count):
    more = "start = [0.2]\nobjective = { effort = 1.0 }\nduration = 5.0\nintervals = 10\nmost_intervals = 12\n"
    more += 'points = 2\nscheme = "legendre"\nsteps = 50\nthrough = [[0.4], { tip = [0.8, 0.0, 0.0] }]\nstops = false\n'
    more += 'plants = [{ "cart.mass" = 1.1, cart.stiffness = 2 }]\n'
    limits = "limits = { joint_rate = 0.9, joint_range = [[-1.0, 2.0]] }\n"
    found = motion(fa.load_scenario(file(HEAD + REFERENCE.replace("limits = { torque = 1.0 }\n", limits) + more)))
    (given,) = count
    own = given.pop("limits")
    assert (own.torque, own.joint_rate, own.joint_range) == (None, 0.9, ((-1.0, 2.0),))
    assert given == {
        "tolerance": 1e-4, "objective": {"effort": 1.0}, "duration": 5.0, "intervals": 10, "most_intervals": 12,
        "points": 2, "scheme": "legendre", "steps": 50, "through": ((0.4,), {"tip": [0.8, 0.0, 0.0]}), "stops": False,
        "plants": ({"cart.mass": 1.1, "cart.stiffness": 2.0},),
    }  # fmt: skip
    assert found.duration == pytest.approx(5.0)
    assert found.q[0, 0] == pytest.approx(0.2)


def test_through_and_plants_are_kept_by_the_motion(file):
    """In a file as in Python: the cart passes its place, and a heavier one comes to rest under the same force."""
    more = "through = [[0.3]]\nintervals = 8\nmost_intervals = 8\nplants = [{ cart.mass = 1.1 }]\n"
    given = fa.load_scenario(file(HEAD + REFERENCE.replace("1e-4", "1e-3") + more + TORQUES))
    found = motion(given)
    assert abs(found.q[:, 0] - 0.3).min() < 1e-3, "a time of the grid"
    heavier = fa.Model(given.loaded_arm(), vary=["cart.mass"]).at({"cart.mass": 1.1})
    for model in (None, heavier):
        result = given.run(model, progress=False)
        after = result.sel(time=slice(found.duration, None))
        assert float((after.kinetic + after.potential).max()) < 1e-4 * float(result.kinetic.max())


def test_stops_are_rests_on_the_way(file):
    more = "through = [[0.3]]\nstops = true\nintervals = 8\nmost_intervals = 8\n"
    found = motion(fa.load_scenario(file(HEAD + REFERENCE.replace("1e-4", "1e-3") + more + TORQUES)))
    there = np.argmin(abs(found.q - 0.3).sum(axis=1) + abs(found.qd).sum(axis=1))
    np.testing.assert_allclose(found.q[there], 0.3, atol=2e-3)
    np.testing.assert_allclose(found.qd[there], 0.0, atol=5e-3)


def test_it_starts_where_the_scenario_does(file):
    given = fa.load_scenario(file(HEAD + REFERENCE + '[initial]\nq = { "cart.joint" = 0.3 }\n'))
    assert motion(given).q[0] == pytest.approx([0.3, 0.3]), "held still, the spring is at rest"
    assert motion(given.replace(initial={})).q[0] == pytest.approx([0.0, 0.0])
    away = given.replace(reference=given.reference.replace(start=(0.0,)))
    assert away.run(progress=False).q.values[0, 0] == 0.3
    assert motion(away).q[0] == pytest.approx([0.0, 0.0])


def test_under_gravity_the_run_starts_sagging(file, tmp_path):
    """The spring carries 2 kg: the motor stands ahead of the joint by m g / k, and nothing moves before the end."""
    text = ARM.replace("stiffness = 1.0", "stiffness = 50.0").replace("mass = 1.0 }", "mass = 2.0 }")
    (tmp_path / "cart.toml").write_text("gravity = [-1.5, 0.0, 0.0]\n" + text)
    asked = 'objective = "effort"\nduration = 3.0\nend = [0.0]\ntolerance = 1e-4\n'
    given = fa.load_scenario(file(HEAD + '[reference]\ntype = "optimal"\n' + asked + TORQUES))
    result = given.run(progress=False)
    joint, motor = result.q.values[0]
    assert motor - joint == pytest.approx(2.0 * 1.5 / 50.0)
    np.testing.assert_allclose(result.q.values, result.q.values[:1].repeat(401, axis=0), atol=1e-3)


WRONG = [
    (
        "limits = { torqe = 1.0 }",
        "reference.limits: unknown key 'torqe'; did you mean 'torque'",
    ),
    ("limits = { torque = -1 }", "reference.limits.torque is -1; it must be one positive number, or a list of them"),
    ("limits = { torque = 'much' }", "reference.limits.torque is not an array of numbers"),
    ("limits = { torque = [1.0, 2.0] }", "reference.limits.torque has 2 entries; it must have 1, or one"),
    ("limits = { joint_range = [[1, 0]] }", "reference.limits.joint_range is [[1, 0]]; it must be pairs"),
    ("limits = 3", "reference.limits is 3; it must be a table such as {torque = 10.0}"),
    (
        "objective = 'speed'",
        "reference.objective is 'speed'; it must be time, effort, smoothness, deflection or moment, or weights",
    ),
    ("objective = { time = -1 }", "reference.objective.time is -1.0; it must be positive"),
    (
        "objective = { speed = 1 }",
        "reference.objective is {'speed': 1}; it must be time, effort, smoothness, deflection or moment",
    ),
    ("start = [0, 0, 0]", "reference.start has 3 numbers; it must have 1: cart.joint"),
    ("start = 'here'", "reference.start is 'here'; it must be a list of numbers"),
    ("duration = 0", "reference.duration is 0.0 s; it must be positive"),
    ("intervals = 2.5", "reference.intervals is 2.5; it must be a whole number, at least 1"),
    ("steps = true", "reference.steps is True; it must be a whole number, at least 1"),
    ("scheme = 'euler'", "reference.scheme is 'euler'; it must be 'radau' or 'legendre'"),
    ("tolerance = inf", "reference.tolerance is inf m; it must be finite"),
    ("through = 0.5", "reference.through is 0.5; it must be a list of places, [[...], [...]]"),
    ("through = [0.5]", "reference.through[0] is 0.5; it must be a list of numbers"),
    ("through = [[0.5], ['x']]", "reference.through[1][0] is 'x'; it must be a number"),
    ("through = [{ tip = [1, 2] }]", "reference.through[0].tip"),
    ("through = [[0.5], [0.5, 0.5, 0.5]]", "reference.through[1] has 3 numbers; it must have 1: cart.joint"),
    ("stops = 1", "reference.stops is 1; it must be true or false"),
    ("plants = { 'cart.mass' = 1 }", "reference.plants is {'cart.mass': 1}; it must be a list of tables of numbers"),
    ("plants = [1.5]", "reference.plants[0] is 1.5; it must be a table of numbers by parameter name"),
    ("plants = [{}]", "reference.plants[0] is {}; it must be a table of numbers by parameter name"),
    ("plants = [{ 'cart.mass' = 'x' }]", "reference.plants[0].cart.mass is 'x'; it must be a number"),
    ("plants = [{ a.b.c.d = 1 }]", "reference.plants[0].a.b.c is {'d': 1}; it must be a number"),
    ("plants = [{ cart.mas = 1 }]", "reference.plants[0]: unknown parameter 'cart.mas'; did you mean"),
    ("plants = [{ cart.mass = 1 }, { cart.mass = -1 }]", "reference.plants[1]: cart.mass is -1.0 kg; it must be"),
    ("shaper = { kind = 'zv' }", "reference: unknown key 'shaper'; allowed keys are start, end, limits, objective"),
    (
        "tolerence = 1e-3",
        "reference: unknown key 'tolerence'; did you mean 'tolerance'?",
    ),
]


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line for line, _ in WRONG])
def test_a_mistake_is_one_line_that_names_the_file_and_the_key(line, message, file):
    key = line.partition(" ")[0]
    own = "".join(given for given in REFERENCE.splitlines(True) if not given.startswith(key))
    path = file(HEAD + own + line + "\n")
    with pytest.raises(fa.DescriptionError) as caught:
        fa.load_scenario(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert str(caught.value).isprintable()


def test_a_fault_of_the_controller_is_found_before_the_motion_is(file, unasked):
    wrong = '[controller]\ntype = "predictive"\nbandwidth = 8.0\nlimit = 0.5\nperiod = 0.001\nhorizon = 0.5\n'
    with pytest.raises(fa.DescriptionError, match=r"s.toml: controller: Predictive: horizon is 0.5; it must"):
        fa.load_scenario(file(HEAD + REFERENCE + wrong))


def test_a_controller_around_the_torques_of_the_motion_waits_for_them(file, unasked):
    terms = 'terms = [{ type = "optimal-torques" }, { type = "joint-pd", Kp = 4.0, Kd = 4.0 }]'
    every = f'[controller]\ntype = "every"\nperiods = 2\nperiod = 0.01\ncontroller = {{ type = "sum", {terms} }}\n'
    assert fa.load_scenario(file(HEAD + REFERENCE + every)).controller["periods"] == 2


def test_a_missing_end(file):
    with pytest.raises(fa.DescriptionError, match=r"s.toml: reference.end is missing"):
        fa.load_scenario(file(HEAD + REFERENCE.replace("end = [1.0]\n", "")))


def test_what_only_the_search_can_tell_is_one_line_too(scenario):
    for change, message in (
        (
            {"limits": {"torque": 1.0}, "duration": 2.0},
            "reference: duration is 2.0 s; leave it out, because the objective",
        ),
        ({"limits": None}, "reference: limits.torque is missing; a fastest motion needs limits"),
        ({"points": 12}, "reference: points must be at most 9"),
    ):
        given = scenario.replace(reference=scenario.reference.replace(**change))
        with pytest.raises(fa.DescriptionError) as caught:
            given.run(progress=False)
        assert str(caught.value).startswith(message)


# -- kept on disk ------------------------------------------------------------------------------------------------------


def test_what_has_been_found_is_not_sought_again(own_cache, scenario, count, unasked):
    found = motion(scenario)
    assert motion(scenario) is found and len(count) == 1
    unasked()
    again = motion(scenario)
    same(found, again)
    assert again.report["seconds"] == found.report["seconds"] > 0
    result = scenario.run(progress=False)
    assert result.attrs["status"] == "completed"


@pytest.mark.parametrize(
    "change",
    [
        {"end": (1.1,)},
        {"limits": {"torque": 1.1}},
        {"tolerance": 0.02},
        {"start": (0.1,)},
        {"points": 2},
        {"through": ((0.5,),)},
        {"stops": True},
        {"plants": ({"cart.mass": 1.2},)},
    ],
)
def test_another_question_has_another_answer(own_copy, scenario, unasked, change):
    unasked()
    motion(scenario)
    with pytest.raises(AssertionError, match="asked"):
        motion(scenario.replace(reference=scenario.reference.replace(**change)))


def test_another_arm_and_other_sources_have_another_answer(own_copy, scenario, unasked, monkeypatch):
    unasked()
    motion(scenario)
    arm = scenario.loaded_arm()
    with pytest.raises(AssertionError, match="asked"):
        motion(scenario.replace(arm=arm.replace(payload=fa.Payload(mass=0.1))))
    monkeypatch.setattr(kept, "_circumstances", lambda: ("another version", ""))
    with pytest.raises(AssertionError, match="asked"):
        motion(scenario)


def files():
    return [*cache_folder().glob("*.motion")]


@pytest.mark.parametrize("damage", ["cut", "turned", "empty", "other", "folder"])
def test_a_damaged_file_is_found_anew(own_copy, scenario, count, damage, unasked):
    found = motion(scenario)
    (path,) = files()
    content = path.read_bytes()
    if damage == "other":  # whole, but of another question
        motion(scenario.replace(reference=scenario.reference.replace(end=(0.5,))))
        content = next(each for each in files() if each != path).read_bytes()
        count.pop()
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        middle = len(content) // 2
        turned = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        content = {"cut": content[:-1], "turned": turned, "empty": b""}[damage]
    if damage != "folder":
        path.write_bytes(content)
    kept._known.clear()
    same(motion(scenario), found)
    assert len(count) == 1
    if damage != "folder":
        unasked()
        same(motion(scenario), found)


def test_where_nothing_can_be_kept_a_process_remembers(scenario, count, monkeypatch):
    monkeypatch.setenv("FLEXARM_CACHE", "/dev/null/nowhere")
    found = motion(scenario)
    assert motion(scenario) is found and len(count) == 1
    for x in np.linspace(0.1, 0.2, kept.MOST):
        kept._remember(str(x), found)
    assert len(kept._known) == kept.MOST


def test_what_it_warned_of_is_said_again(own_cache, scenario, unasked):
    given = scenario.replace(reference=scenario.reference.replace(tolerance=1e-12, most_intervals=20))
    with pytest.warns(fa.errors.NotReached, match=r"tolerance is 1e-12 m"):
        found = motion(given)
    unasked()
    with pytest.warns(fa.errors.NotReached, match=r"tolerance is 1e-12 m"):
        same(motion(given), found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        motion(given)


def test_what_ctrl_c_has_ended_is_not_kept(own_copy, scenario, monkeypatch):
    found = motion(scenario)
    (path,) = files()
    path.unlink()
    kept._known.clear()

    def interrupted(*_, **__):
        warnings.warn("optimal_motion: interrupted", InterruptedRun, stacklevel=2)
        return found

    monkeypatch.setattr(search, "optimal_motion", interrupted)
    for _ in range(2):
        with pytest.warns(InterruptedRun, match="interrupted"):
            motion(scenario)
    assert not files()


def test_ctrl_c_in_a_run_on_the_way_ends_the_search(own_cache, scenario, monkeypatch):
    """The search simulates before it has anything to give: a part of that is nothing to go on from."""

    def begun(*_, **__):
        warnings.warn("interrupted at t = 1 s of 2 s", InterruptedRun, stacklevel=2)

    monkeypatch.setattr(search, "optimal_motion", begun)
    with pytest.raises(KeyboardInterrupt):
        motion(scenario)
    assert not files()


def test_processes_that_ask_at_once(own_cache, file, unasked):
    """Each has the motion, and the file is whole."""
    path = file(HEAD + REFERENCE.replace("1e-4", "1e-3"))
    assert together(lambda: motion(fa.load_scenario(path)), 2) == [0, 0]
    unasked()
    assert motion(fa.load_scenario(path)).duration > 4


# -- what it drives ----------------------------------------------------------------------------------------------------


def test_its_torques_bring_the_arm_to_rest(scenario):
    """Two masses and a spring: all energy is gone at the end, and nothing comes back."""
    found, result = motion(scenario), scenario.run(progress=False)
    after = result.sel(time=slice(found.duration, None))
    np.testing.assert_allclose(after.q.values, 1.0, atol=1e-3)
    assert float((after.kinetic + after.potential).max()) < 1e-4 * float(result.kinetic.max())


def test_the_torques_are_those_of_the_motion(scenario):
    found = motion(scenario)
    by_hand = fa.simulate(
        fa.Model(scenario.loaded_arm()), 8.0, found.torques, q0=found.q[0], samples=401, reference=found, progress=False
    )
    result = scenario.run(progress=False)
    np.testing.assert_array_equal(result.q.values, by_hand.q.values)
    np.testing.assert_array_equal(result.u.values, by_hand.u.values)
    np.testing.assert_array_equal(result.q_ref.values, by_hand.q_ref.values)


def missed(scenario, model=None):
    """How far from its place the arm is at the end of the run."""
    return float(np.abs(scenario.run(model, progress=False).q.values[-1] - 1.0).max())


def test_the_torques_beside_feedback_are_a_sum(file, tmp_path):
    """On the arm that they were found for the feedback has nothing to do; another one it brings to the end."""
    (tmp_path / "cart.toml").write_text(ARM.replace("stiffness = 1.0, rotor_inertia = 1.0", "rotor_inertia = 1.0"))
    terms = '[{ type = "optimal-torques" }, { type = "joint-pd", Kp = 4.0, Kd = 4.0 }]'
    given = fa.load_scenario(file(HEAD + REFERENCE + f'[controller]\ntype = "sum"\nterms = {terms}\n'))
    alone = given.replace(controller=None, input=OptimalTorquesInput())
    result, open_loop = given.run(progress=False), alone.run(progress=False)
    np.testing.assert_allclose(result.q.values, open_loop.q.values, atol=2e-3)
    heavier = fa.Model(given.loaded_arm().replace(payload=fa.Payload(mass=0.5)))
    assert missed(given, heavier) < 0.1 * missed(alone, heavier)


def test_it_is_the_motion_of_the_scenarios_own_arm(scenario):
    """Whatever arm then runs: what the plan does not know, the feedback must bear."""
    heavier = fa.Model(scenario.loaded_arm().replace(payload=fa.Payload(mass=0.5)))
    assert motion(scenario, heavier) is motion(scenario)
    assert float(scenario.run(heavier, progress=False).kinetic[-1]) > 1e-3


def test_a_study_of_arms_seeks_one_motion(own_cache, scenario, count):
    """That of the nominal arm: the heavier the others, the farther they miss; of other limits there are others."""
    given = scenario.replace(until=5.0, samples=51)
    task = _task(given, None, "nominal", 0.02, 0.0, {})
    found = task.run({"cart.mass": np.array([1.0, 1.1, 1.3])})
    assert len(count) == 1 and found.status.values.tolist() == ["completed"] * 3
    assert (np.diff(found.error.values) > 1e-3).all()
    found = task.run({"reference.limits.torque": np.array([1.0, 1.5])})
    assert len(count) == 2 and found.peak.values == pytest.approx([1.0, 1.5], rel=1e-6)


def test_tracking_holds_the_torques_as_the_motion_does(scenario):
    """On the motion itself it gives the motion's torques, also between the times of the grid."""
    model, found = fa.Model(scenario.loaded_arm()), motion(scenario)
    law = Tracking(found, bandwidth=2.0).law(model)
    middle = (found.times[:-1] + found.times[1:]) / 2
    held = Tracking(found, bandwidth=2.0, hold=True).law(model)
    joined = Tracking(found, bandwidth=2.0, hold=False).law(model)
    x = np.zeros(2)
    values = [[float(each(t, x, x, [])[0]) for t in middle[2:-2]] for each in (law, held, joined)]
    assert values[0] == values[1] and np.abs(np.subtract(values[0], values[2])).max() > 0.5


def test_tracking_in_a_file_follows_the_whole_motion(file):
    """A heavier cart arrives, too, where the torques alone miss."""
    controller = '[controller]\ntype = "tracking"\nbandwidth = 3.0\n'
    given = fa.load_scenario(file(HEAD + REFERENCE + controller))
    assert missed(given) < 5e-3
    heavier = fa.Model(given.loaded_arm().replace(payload=fa.Payload(mass=0.2)))
    alone, longer = given.replace(controller=None, input=OptimalTorquesInput()), given.replace(until=16.0)
    assert missed(longer, heavier) < 4e-3 < 0.1 * missed(alone, heavier)


def test_inputs_that_need_an_optimal_motion_say_so(file):
    quintic = '[reference]\ntype = "quintic"\nstart = [0.0]\nend = [1.0]\nduration = 2.0\n'
    with pytest.raises(fa.DescriptionError, match=r"reference is missing; the input 'optimal-torques' needs it"):
        fa.load_scenario(file(HEAD + TORQUES))
    with pytest.raises(fa.DescriptionError, match=r"reference is of type 'quintic'; the input 'optimal-torques' needs"):
        fa.load_scenario(file(HEAD + quintic + TORQUES))
    terms = '[controller]\ntype = "sum"\nterms = [{ type = "optimal-torques" }]\n'
    with pytest.raises(fa.DescriptionError, match=r"reference is missing; the controller 'optimal-torques' needs it"):
        fa.load_scenario(file(HEAD + terms))
    given = fa.load_scenario(file(HEAD + quintic + terms))
    with pytest.raises(
        fa.DescriptionError, match=r"controller: reference is not an optimal motion, whose torques the input 'optimal-t"
    ):
        given.run(progress=False)


def test_a_scenario_of_it_in_python():
    given = Scenario(
        name="x", arm="subudhi-morris", until=1.0, reference={"type": "optimal", "end": [0.1, 0.1]}, input=None
    )
    assert given.reference.limits is None and Path(given.arm).suffix == ""
    assert given.replace(reference=OptimalReference(end=(0.2, 0.2))).reference.end == (0.2, 0.2)
