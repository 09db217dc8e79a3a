"""Models, controllers, inputs and scenarios in other processes: sent by their description, the same to the last bit.

What is asked of a process that is forked after its parent has compiled and run stands here too: it has the parent's
machine code, and none of its threads.
"""

import copy
import inspect
import multiprocessing
import os
import pickle
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import numpy as np
import pytest

import flexarm as fa
from flexarm import checks
from flexarm.control import (
    LQR,
    Composite,
    ComputedTorque,
    Decoupling,
    DesignedFor,
    Integral,
    JointPD,
    Observed,
    Sampled,
    Saturated,
    ScheduledLQR,
    StrainRate,
    Tracking,
)
from flexarm.scenario import Scenario, bundled_scenarios, load_scenario
from flexarm.simulation import watch
from flexarm.simulation.feedback import Feedback
from flexarm.simulation.inputs import as_input
from flexarm.simulation.law import Law
from flexarm.studies.digest import digest

SLEW = fa.Quintic((0.0, 0.0), (0.3, 0.4), 2.0)
ELASTIC = "subudhi-morris-elastic"
TIMES, TORQUES = [0.0, 0.05, 0.1], [[0.0, 0.0], [0.3, -0.1], [0.1, 0.0]]
SENSORS = [fa.TipPosition(axes="xy", noise=1e-4), fa.Encoder(coordinate="fore.joint", resolution=1e-4)]


def plain(t):
    """A function of a module, which another process finds there."""
    return [0.2 * np.sin(30.0 * t), -0.1]


def feedback_law(t, q, qd):
    return [0.1 - 3.0 * q[0], -2.0 * q[1] - 0.1 * qd[1]]


PD = JointPD(SLEW, (5.0, 3.0), 2.0)
INPUTS = {
    "numbers": lambda: [0.1, -0.2],
    "piecewise": lambda: fa.Piecewise([0.0, 0.01, 0.03], TORQUES),
    "bang-bang": lambda: fa.bang_bang([0.3, 0.1], 0.03),
    "table": lambda: fa.Table(TIMES, TORQUES),
    "lines": lambda: fa.Table(TIMES, TORQUES, kind="linear"),
    "rigid inverse dynamics": lambda: fa.RigidInverseDynamics(SLEW),
    "prescribed motion": lambda: fa.PrescribedMotion(SLEW),
    "function": lambda: plain,
    "sampled function": lambda: Sampled(feedback_law, 1e-3, limit=2.0),
    "pd": lambda: PD,
    "shaped": lambda: JointPD(fa.shaped(SLEW, fa.ZV(60.0, 0.01)), 5.0, 2.0),
    "computed torque": lambda: ComputedTorque(SLEW, 5.0, 2.0),
    "decoupling": lambda: Decoupling(SLEW, 5.0, 2.0),
    "saturated": lambda: Saturated(PD, 0.5),
    "integral": lambda: Integral(PD, 1.0, limit=0.3),
    "strain rate": lambda: StrainRate(PD, 0.01, "fore"),
    "lqr": lambda: LQR(joints=(0.1, 0.2), bandwidth=20.0),
    "scheduled": lambda: ScheduledLQR(SLEW, bandwidth=20.0),
    "tracking": lambda: Tracking(SLEW, bandwidth=20.0, integral_rate=2.0),
    "composite": lambda: Composite(SLEW, Kp=5.0, Kd=2.0),
    "observed": lambda: Observed(Composite(SLEW, Kp=5.0, Kd=2.0), SENSORS),
    "designed for": lambda: DesignedFor(PD, fa.Model(fa.load(ELASTIC))),
    "sampled": lambda: Sampled(PD, 1e-3, delay=2e-3, limit=2.0, rate_limit=100.0, seed=3),
    "sampled with noise": lambda: Sampled(Observed(PD, SENSORS), 1e-3, seed=3),
}
REFERENCES = {
    "cycloidal": lambda: fa.Cycloidal([0.1, 0.2], [1, 1]),
    "minimum jerk": lambda: fa.MinimumJerk(((0.0, 0.0), (0.3, 0.4), (0.5, 0.1)), (0.0, 0.03, 0.1)),
    "blends": lambda: fa.ParabolicBlends((0.0, 0.0), (0.3, 0.4), 0.1, 0.03),
}


def ran(model, u, keep=("q", "qd", "u"), **given):
    result = fa.simulate(
        model, 0.05, u=u, samples=5, method="dop853", progress=False, save=fa.SaveAt(keep=list(keep)), **given
    )
    return [result[name].values for name in keep]


def elsewhere(queue, parcel):
    """Simulate a pickled model under each input or controller, and put the motions by name into a queue."""
    model, things = pickle.loads(parcel)
    queue.put({name: ran(model, u) for name, u in things.items()})


@cache
def new_process():
    """A process that starts as a new interpreter, one for all tests, since it takes a second of imports."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def put(target, arguments):
    """In that process: what the function would put into a queue."""
    found = Here()
    target(found, *arguments)
    return found.got


def sent(target, *arguments):
    """Return the answer of a function in a new interpreter."""
    return new_process().submit(put, target, arguments).result(300)


def sent_to_a_fork(target, *arguments):
    """Return what a function puts into its queue in a fork of this process."""
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads when they fork
        process = context.Process(target=target, args=(queue, *arguments), daemon=True)
        process.start()
    until = time.monotonic() + 300
    while queue.empty() and process.is_alive() and time.monotonic() < until:
        time.sleep(0.01)
    assert not queue.empty(), process.exitcode
    found = queue.get()
    process.join(30)
    assert process.exitcode == 0
    return found


class Here:
    """In the place of a queue."""

    def put(self, found):
        self.got = found


def assert_same(found, wanted):
    assert found.keys() == wanted.keys()
    for name, arrays in wanted.items():
        for a, b in zip(found[name], arrays, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)


@pytest.fixture(scope="module")
def model():
    return fa.Model(fa.load(ELASTIC))


@pytest.fixture(scope="module")
def things():
    """All inputs, and a controller along each kind of reference."""
    given = {name: make() for name, make in INPUTS.items()}
    return given | {name: JointPD(make(), 5.0, 2.0) for name, make in REFERENCES.items()}


@pytest.fixture(scope="module")
def here(model, things):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of periods
        return {name: ran(model, u) for name, u in things.items()}


# -- controllers and inputs --------------------------------------------------------------------------------------------


def test_every_input_moves_the_arm_as_it_does_here(model, things, here):
    parcel = pickle.dumps((model, things))  # after all of them have run, with what they keep of that
    assert len(parcel) < 30_000  # descriptions, no code
    assert_same(sent(elsewhere, parcel), here)
    assert all(np.abs(arrays[0]).max() > 1e-6 for arrays in here.values())


CHOSEN = ("pd", "integral", "composite", "sampled", "sampled with noise", "table", "function", "sampled function")
"""One of each way in which an input is made."""


def test_inputs_made_for_a_model_travel_with_it(model, things, here):
    """An input made by `as_input` is designed anew for the model of the other process."""
    made = {name: as_input(things[name], model) for name in CHOSEN}
    begun = made["sampled"].begun(model, np.linspace(0.0, 0.05, 5))
    made["sampled, begun"] = begun
    found = sent(elsewhere, pickle.dumps((model, made)))
    assert_same(found, {name: here[name.removesuffix(", begun")] for name in made})


def test_a_model_that_varies_travels_with_its_numbers():
    model = fa.Model(fa.load(ELASTIC), vary=["payload.mass", "fore.*"])
    at = model.at(1.07 * model.p)
    things = {"pd": PD, "rigid": fa.RigidInverseDynamics(SLEW), "composite": Composite(SLEW, Kp=5.0, Kd=2.0)}
    wanted = {name: ran(at, u) for name, u in things.items()}
    assert_same(sent(elsewhere, pickle.dumps((at, things))), wanted)
    nominal = ran(model, PD)
    assert np.abs(nominal[0] - wanted["pd"][0]).max() > 1e-6


@pytest.mark.parametrize("name", [*INPUTS, *REFERENCES])
def test_a_copy_of_a_copy_says_the_same(name, things):
    thing = things[name]
    assert digest(pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(thing))))) == digest(thing)


@pytest.mark.parametrize("made", ["pd", "sampled"])
def test_inputs_are_copied_without_a_new_design(made, model, things, monkeypatch):
    given = as_input(things[made], model)
    monkeypatch.setattr(JointPD, "law", None)
    for copied in (copy.copy(given), copy.deepcopy(given)):
        assert copied.law is given.law and copied.model is given.model


# -- scenarios ---------------------------------------------------------------------------------------------------------


def run_elsewhere(queue, parcel):
    found = {}
    for name, scenario in pickle.loads(parcel).items():
        result = scenario.run(progress=False)
        found[name] = [result.q.values, result.u.values]
    queue.put(found)


def test_scenarios_travel():
    """All that come with the package, of which two are run, and one that holds an arm."""
    arm = fa.load(ELASTIC).replace(payload=fa.Payload(mass=0.17))
    own = Scenario(name="own", arm=arm, until=0.02, samples=3, keep=["q", "u"], solver={"method": "dop853"})
    scenarios = {name: load_scenario(name) for name in bundled_scenarios()}
    for scenario in scenarios.values():
        assert pickle.loads(pickle.dumps(scenario)) == scenario
    short = {"solver": {"method": "dop853"}, "samples": 3, "until": 0.02}
    chosen = {name: scenarios[name].replace(**short) for name in ("subudhi-morris", "subudhi-morris-composite")}
    chosen |= {"own": own}
    parcel = pickle.dumps(chosen)
    run_elsewhere(found := Here(), parcel)
    assert_same(sent(run_elsewhere, parcel), found.got)


# -- sensors and steppers ----------------------------------------------------------------------------------------------


def measured_elsewhere(queue, parcel):
    outputs, stepper = pickle.loads(parcel)
    n, m = 8, 2
    y = outputs.values(np.linspace(0.1, 0.5, n), np.linspace(0.2, -0.3, n), np.ones(m))
    queue.put({"measured": [y], "stepped": [stepper.step([0.1, 0.2]) for _ in range(3)]})


def test_sensors_and_steppers_travel(model):
    outputs, stepper = fa.outputs(model, SENSORS), fa.Stepper(model, 1e-3)
    assert len(model.coordinates) == 8
    stepper.step([0.3, -0.1])
    parcel = pickle.dumps((outputs, stepper))
    found = sent(measured_elsewhere, parcel)
    measured_elsewhere(wanted := Here(), parcel)
    assert_same(found, wanted.got)


# -- what cannot -------------------------------------------------------------------------------------------------------


def test_functions_that_another_process_does_not_find_are_refused(model):
    """In one line, when they are sent, and not when they arrive."""
    law = Law(lambda t, q, qd, z: ([0.0, 0.0], []))
    local = pickle.PicklingError, AttributeError  # newer Pythons say both by the first
    for thing, line in (
        (Sampled(lambda t, q, qd: [0, 0], 1e-2), "<lambda>"),
        (as_input(lambda t: [0, 0], model), "<lambda>"),
        (law, "<lambda>"),
        (PD.law(model), "JointPD.law.<locals>.expression"),
        (Feedback(law, model, "mine"), "<lambda>"),
        (as_input(Sampled(lambda t, q, qd: [0, 0], 1e-3), model), "<lambda>"),
    ):
        with pytest.raises(local, match=r"[Cc]an't (pickle|get)") as caught:
            pickle.dumps(thing)
        assert line in str(caught.value) and "\n" not in str(caught.value)


# -- fork --------------------------------------------------------------------------------------------------------------

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")


@forks
def test_inputs_travel_to_a_fork(model, things, here):
    """It has what its parent has compiled, and finds by that what arrives."""
    found = sent_to_a_fork(elsewhere, pickle.dumps((model, {name: things[name] for name in CHOSEN})))
    assert_same(found, {name: here[name] for name in CHOSEN})


def child(work):
    """The exit status of a child that does the work: 0 where it says True."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads when they fork
        pid = os.fork()
    if pid == 0:
        status = 3
        try:
            status = 0 if work() else 2
        finally:
            os._exit(status)
    until = time.monotonic() + 60  # against a child that waits for ever
    while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0 and time.monotonic() < until:
        time.sleep(0.01)
    if ended[0] == 0:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        pytest.fail("the child hangs")
    return ended[1]


@forks
@pytest.mark.parametrize("name", ["pd", "integral", "sampled", "rigid inverse dynamics", "function", "observed"])
def test_a_child_runs_with_the_objects_of_its_parent(name, model, things, here):
    """Nothing pickled: models, kernels and loaded code are the parent's, its threads are not there."""

    def work():
        return all(np.array_equal(a, b) for a, b in zip(ran(model, things[name]), here[name], strict=True))

    assert child(work) == 0
    assert work()  # and the parent goes on


@forks
def test_a_child_compiles_and_evaluates_in_threads_of_its_own(model):
    q = np.random.default_rng(0).normal(size=(200_000, 8))
    wanted = model.tip(q)  # many: by several threads, where there are cores

    def work():
        other = fa.Model(fa.load(ELASTIC).replace(payload=fa.Payload(mass=0.1 + 1e-6 * os.getpid())))
        return np.array_equal(model.tip(q), wanted) and np.isfinite(other.mass_matrix(np.zeros(8))).all()

    assert child(work) == 0


@forks
def test_a_child_forked_during_a_run_runs_and_ends_at_once(model):
    """The run is its parent's: the child has no thread that would ever end it."""
    begun, over = threading.Event(), threading.Event()

    def u(t):
        begun.set()
        over.wait(60)
        return [0.0, 0.0]

    going = threading.Thread(target=lambda: ran(model, u))
    going.start()
    assert begun.wait(60) and watch.RUNNING
    try:
        assert child(lambda: not watch.RUNNING and np.isfinite(ran(model, [0.1, 0.1])[0]).all()) == 0
    finally:
        over.set()
        going.join()
    assert not watch.RUNNING


@forks
def test_a_child_forked_while_descriptions_are_checked_can_check_its_own():
    """Their lock is not held for ever by a thread that the child does not have."""
    begun, over = threading.Event(), threading.Event()

    class Slow(checks.Described):
        mass: float = 1.0

        @classmethod
        def model_rebuild(cls, **given):
            begun.set()
            time.sleep(0.3)
            over.set()
            return super().model_rebuild(**given)

    class Other(checks.Described):
        mass: float = 1.0

    thread = threading.Thread(target=Slow)
    thread.start()
    assert begun.wait(60)

    def work():
        made = []
        other = threading.Thread(target=lambda: made.append(Other(mass=2.0).mass), daemon=True)
        other.start()
        other.join(20)
        return made == [2.0]

    assert child(work) == 0
    assert over.is_set()
    thread.join()


def test_the_signature_of_a_part_is_there_before_its_first_use():
    """`help` and editors show the fields; a class that derives from another shows its own."""

    class Fresh(checks.Described):
        mass: float
        length: float = 2.0

    class Derived(Fresh):
        color: str = "red"

    assert not Derived.__pydantic_complete__
    for cls, fields in ((Derived, ["mass", "length", "color"]), (Fresh, ["mass", "length"])):
        parameters = inspect.signature(cls).parameters
        assert [*parameters] == fields
        assert parameters["length"].default == 2.0
        assert not hasattr(cls(mass=1.0), "__signature__")
