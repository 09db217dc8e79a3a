"""Steps of a co-simulation FMU: errors are controlled, or estimated and reported; runs repeat bit for bit."""

import inspect
import re
from functools import cache

import fmpy
import numpy as np
import pytest
from fmus import called

import flexarm as fa

BODY = fa.Rigid(length=0.6, mass=1.5)


def hinged(name, drive, **joint):
    link = fa.Link(name="a", joint=fa.Revolute(axis=(0, 0, 1), drive=drive, **joint), body=BODY)
    return fa.Arm(name=name, links=[link], gravity=(0.0, -9.81, 0.0) if name in FALLS else (0.0, 0.0, 0.0))


FALLS = ("stops", "play")


def rubs():
    """The bristles are slow at rest, and ever faster with the speed."""
    friction = fa.Friction(coulomb=0.3, static=0.36, viscous=0.1, model="lugre", bristle_stiffness=1e4)
    return hinged("rubs", fa.Drive(friction=friction))


def table():
    """The spring is soft near zero, and 400 times as stiff beyond a kink."""
    spring = fa.Spring(table=[(-0.1, -40.0), (-0.05, -0.1), (0.05, 0.1), (0.1, 40.0)], damping=0.02)
    return hinged("table", fa.Drive(spring=spring), rotor_inertia=1e-3)


def cubic():
    return hinged("cubic", fa.Drive(spring=fa.Spring(stiffness=1.0, cubic=1e6, damping=0.01)), rotor_inertia=1e-3)


def stops():
    """The link falls on a stop that is stiff beside the pendulum."""
    return hinged("stops", fa.Drive(stops=fa.Stops(lower=-0.5, upper=2.0, stiffness=2e4, damping=2.0)))


def play():
    drive = fa.Drive(backlash=fa.Backlash(width=0.1, sharp=True))
    return hinged("play", drive, stiffness=2e3, rotor_inertia=2e-2, spring_damping=0.5)


ARMS = {each.__name__: each for each in (rubs, table, cubic, stops, play)}
RUNS = {
    "rubs": (0.5, [0.0], [0.0]),
    "table": (0.2, [0.0, 0.04], [0.0, 0.0]),
    "cubic": (0.5, [0.0, 0.0], [0.0, 0.0]),
    "stops": (0.0, [0.3], [0.0]),
    "play": (2.0, [0.3, 0.3], [0.0, 0.0]),
}
"""Torque, and q and qd at the start."""

UNTIL, PERIOD, COUNT = 1.5, 0.05, 30
VERSION = {"rubs": "2.0", "table": "3.0", "cubic": "2.0", "stops": "3.0", "play": "2.0"}


@cache
def model_of(name):
    return fa.Model(ARMS[name](), ["a.drive.friction.bristle_stiffness"] if name == "rubs" else [])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A function of an arm's name and a version that returns its FMU, which is written once."""
    folder, known = tmp_path_factory.mktemp("fmus"), {}

    def find(name, version=None):
        key = name, version or VERSION[name]
        if key not in known:
            _, q0, qd0 = RUNS[name]
            path = folder / f"{name}-{key[1]}.fmu"
            known[key] = fa.export_fmu(model_of(name), path, key[1], q0=q0, qd0=qd0)
        return known[key]

    return find


def input_of(name):
    return {f"u.{model_of(name).inputs[0]}": RUNS[name][0]}


def steps(it, count, period=PERIOD, first=0):
    """Take communication steps and return the statuses."""
    return [it.status_of_step(k * period, period) for k in range(first, first + count)]


@cache
def right(name):
    """States at the communication points by a tight run of ours, and the largest value of each state."""
    torque, q0, qd0 = RUNS[name]
    model = model_of(name)
    run = fa.simulate(
        model,
        UNTIL,
        [torque],
        q0=q0,
        qd0=qd0,
        solver=fa.Solver(method="dop853", rtol=1e-11, atol=1e-13),
        samples=COUNT * 10 + 1,
        progress=False,
    )
    x = np.hstack([run.q.values, run.qd.values, *([run.drive_state.values] if model.states else [])])
    return x[::10], np.abs(x).max(axis=0)


def error_of(it, name, k=COUNT):
    """The largest error of a state at a communication point, relative to the state's largest value."""
    x, largest = right(name)
    return (np.abs(np.array(it.get(it.states)) - x[k]) / largest).max()


def followed(it, name):
    """Statuses of the steps of a run, and the largest error in it."""
    statuses, errors = [], []
    for k in range(COUNT):
        statuses += steps(it, 1, first=k)
        errors.append(error_of(it, name, k + 1))
    return statuses, max(errors)


@pytest.mark.parametrize("name", ARMS)
def test_steps_follow_the_motion_unless_one_asks_for_fixed_ones(made, tmp_path, capfd, name):
    """Elements that stiffen during the run. Fixed steps from the eigenvalue at the start fail there, and report it."""
    with called(made(name).path, tmp_path) as it:
        statuses, error = followed(it.begin(input_of(name)), name)
        assert statuses == [0] * COUNT and error < 1e-4
        it.fmu.terminate()
    assert "".join(capfd.readouterr()) == ""
    with called(made(name).path, tmp_path, name="fixed") as it:
        it.begin({**input_of(name), "tolerance": 0.0})
        try:
            statuses, error = followed(it, name)
        except fmpy.fmi1.FMICallException:
            found = "".join(capfd.readouterr())
            assert found.count("[ERROR] a step of 0.05 s from ") == 1 and "the fixed steps of 0.0005 s are too" in found
        else:
            it.fmu.terminate()
            assert error > 1e-3 and sum(statuses) == 1  # a warning
            assert "".join(capfd.readouterr()).count("[WARNING] fixed steps of") == 1


@pytest.mark.parametrize("name", ["rubs", "stops"])
def test_errors_follow_the_tolerance(made, tmp_path, name):
    """In one long step too: a wrong estimate of the error needs too many evaluations, or misses the tolerance."""
    for tolerance, largest in ((1e-5, 1e-2), (1e-8, 1e-4), (1e-11, 1e-7)):
        with called(made(name).path, tmp_path, name=str(tolerance)) as it:
            it.begin({**input_of(name), "tolerance": tolerance}).step(0.0, UNTIL)
            assert error_of(it, name) < largest, tolerance


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("tolerance", [1e-8, 0.0])
def test_runs_repeat_bit_for_bit(made, tmp_path, version, tolerance):
    """After a reset, from a state that was saved, and whatever is read in between: steps are longer at the end."""
    fmu = made("cubic", version)
    start = {**input_of("cubic"), "tolerance": tolerance}

    def rest(it):
        return [[s, *it.get([*it.states, *fmu.outputs])] for k in range(10, 25) for s in steps(it, 1, first=k)]

    with called(fmu.path, tmp_path) as it, called(fmu.path, tmp_path, name="another") as other:
        statuses = steps(it.begin(start), 10)
        state = it.saved()
        text = it.in_bytes(state)
        expected = rest(it)
        assert len({tuple(row) for row in expected}) == 15
        it.restore(state)
        assert rest(it) == expected
        it.restore(state)  # and now with values that are read and inputs that are set to what they are
        for k in range(10, 25):
            it.get([f"der({name})" for name in it.states])
            it.set(input_of("cubic"))
            assert [*steps(it, 1, first=k), *it.get([*it.states, *fmu.outputs])] == expected[k - 10]
        it.fmu.reset()
        assert steps(it.begin(start), 10) == statuses and rest(it) == expected
        steps(other.begin(start), 3)
        there = other.from_bytes(text)
        other.restore(there)
        assert rest(other) == expected
        if tolerance == 0.0:
            assert sum([*statuses, *(row[0] for row in expected)]) == 1  # the warning is a part of the run
        it.free(state)
        other.free(there)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_too_many_evaluations_end_a_step_with_a_message(made, tmp_path, capfd, version):
    """Friction that is far too stiff for an explicit method; and steps that are known to be too many."""
    with called(made("rubs", version).path, tmp_path) as it:
        it.begin({**input_of("rubs"), "p.a.drive.friction.bristle_stiffness": 1e13})
        it.step(0.0, 1e-9)
        before = it.get(it.states)
        with pytest.raises(fmpy.fmi1.FMICallException, match=r"failed with status 3 \(error\)"):
            it.step(1e-9, 1.0)
        found = "".join(capfd.readouterr())
        assert found.startswith(
            "[ERROR] a step of 1 s from 1e-09 s fails: it needs too many evaluations of the rates at t"
        )
        assert "model exchange with an implicit solver" in found and found.count("[") == 1
        assert it.get(it.states) == before
        it.step(1e-9, 1e-9)
    for tolerance, message in (
        (1e-8, "it needs too many evaluations of the rates at t = 0 s"),
        (0.0, "needs 1e+08 fixed steps of 0.0005 s"),
    ):
        with called(made("rubs", version).path, tmp_path, name=str(tolerance)) as it:
            it.begin({"tolerance": tolerance})
            with pytest.raises(fmpy.fmi1.FMICallException):
                it.step(0.0, 5e4)
            assert message in "".join(capfd.readouterr())


# -- fixed steps -------------------------------------------------------------------------------------------------------


STIFFNESS = 30.0


def swings():
    """A link on a spring in a plane without gravity, which is linear: an angle and a rate."""
    link = fa.Link(name="a", joint=fa.Revolute(drive=fa.Drive(parallel=fa.Parallel(stiffness=STIFFNESS))), body=BODY)
    return fa.Model(fa.Arm(name="swings", links=[link], gravity=(0.0, 0.0, 0.0)), ["a.mass"])


def estimates(model, x, h, count, u):
    """Estimated errors of fixed steps by our own model, h (k4 - k5) / 6, and the states, one row for each step."""

    def rate(x):
        return model.evaluate("state_rate", x[:1], x[1:], u)[:2]

    found, states = [], [x]
    for _ in range(count):
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        k4 = rate(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        found.append(h / 6 * (k4 - rate(x)))
        states.append(x)
    return np.abs(found), np.abs(states)


NUMBERS = re.compile(
    r"^\[WARNING\] fixed steps of (\S+) s are too long at t = (\S+) s: the estimated error of one step is (\S+) for "
    r"the state with value reference (\d+), whose largest value so far is (\S+)\. Set"
)


@pytest.fixture(scope="module")
def swinging(tmp_path_factory):
    model = swings()
    frequency = np.sqrt(STIFFNESS * float(model.forward_dynamics([0.0], [0.0], [1.0])[0]))
    folder = tmp_path_factory.mktemp("swinging")
    return (
        model,
        frequency,
        {v: fa.export_fmu(model, folder / f"{v}.fmu", v, q0=[0.2], tolerance=0.0) for v in ("2.0", "3.0")},
    )


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_fixed_steps_warn_once_with_the_error_of_a_step(swinging, tmp_path, capfd, version):
    """The number is that of the rates at both ends, by our own model; steps of half the length have no warning."""
    model, frequency, fmus = swinging
    for share, warns in ((0.5, True), (0.25, False)):
        h = share / frequency
        with called(fmus[version].path, tmp_path, name=str(share)) as it:
            it.begin({"step": h})
            statuses = steps(it, 40, period=5 * h)
            it.fmu.terminate()
        found = "".join(capfd.readouterr())
        assert sum(statuses) == warns and found.count("[WARNING]") == warns
    h = 0.5 / frequency
    errors, states = estimates(model, np.array([0.2, 0.0]), h, 10, np.zeros(1))
    with called(fmus[version].path, tmp_path, name="number") as it:
        assert steps(it.begin({"step": h}), 2, period=5 * h) == [0, 1]
        assert np.abs(it.get(it.states)) == pytest.approx(states[-1], rel=1e-10)
    step, time, error, reference, largest = map(float, NUMBERS.match("".join(capfd.readouterr())).groups())
    j = int(reference) - it.references[it.states[0]]
    assert (step, time) == pytest.approx((h, h), rel=1e-5)
    assert (error, largest) == pytest.approx((errors[:, j].max(), states[:, j].max()), rel=0.06)  # of two digits


def test_fixed_steps_from_rest_have_no_warning_though_values_are_near_zero_first(swinging, tmp_path, capfd):
    """The usual step under a torque, one fixed step in each communication step."""
    _, _, fmus = swinging
    fmu = fmus["2.0"]
    with called(fmu.path, tmp_path) as it:
        it.begin({"q.a.joint": 0.0, fmu.inputs[0]: 1.0})
        assert steps(it, 200, period=fmu.step) == [0] * 200
        assert it.fmu.terminate() in (0, None)
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_a_run_of_few_fixed_steps_warns_at_its_end(swinging, tmp_path, capfd, version):
    _, frequency, fmus = swinging
    with called(fmus[version].path, tmp_path) as it:
        it.begin({"step": 1.0 / frequency})
        assert steps(it, 3, period=1.0 / frequency) == [0, 0, 0] and "".join(capfd.readouterr()) == ""
        assert it.fmu.terminate() == 1
        assert "".join(capfd.readouterr()).count("[WARNING] fixed steps of") == 1


@pytest.mark.parametrize("tolerance", [1e-8, 0.0])
def test_rates_that_are_not_finite_are_reported_without_debug_logging(swinging, tmp_path, capfd, tolerance):
    """At the start of a step, and within a step, whose fixed steps are far too long."""
    _, frequency, fmus = swinging
    with called(fmus["2.0"].path, tmp_path) as it:
        it.begin({"p.a.mass": 0.0, "tolerance": tolerance})
        with pytest.raises(fmpy.fmi1.FMICallException):
            it.step(0.0, 0.01)
        assert "".join(capfd.readouterr()).startswith("[ERROR] the derivatives are not finite at t = 0 s")
    with called(fmus["2.0"].path, tmp_path, name="long") as it:
        it.begin({"step": 100.0 / frequency, "tolerance": tolerance})
        before = it.get(it.states)
        try:
            it.step(0.0, 1e4 / frequency)
        except fmpy.fmi1.FMICallException:
            found = "".join(capfd.readouterr())
            assert (
                tolerance == 0.0
                and "fails: the rates are not finite after t = " in found
                and it.get(it.states) == before
            )
        else:
            assert tolerance > 0.0


def test_steps_are_controlled_by_default():
    for function in (fa.export_fmu, fa.export_ssp):
        assert inspect.signature(function).parameters["tolerance"].default == 1e-8
