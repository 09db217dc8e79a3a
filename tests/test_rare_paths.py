"""Branches that ordinary arms and runs do not take. Each is entered with the smallest case that leads to it."""

import copy
import io
import pickle
import re
import threading
from functools import partial
from types import SimpleNamespace

import casadi as ca
import h5py
import numpy as np
import pytest
import xarray as xr

import flexarm as fa
from flexarm.control.sum import function_of_time
from flexarm.mechanics.drive import Rows, bare, elements
from flexarm.mechanics.nominal import Nominal
from flexarm.mechanics.parameters import Label, Ledger, Series, value_of
from flexarm.mechanics.telescope_shapes import integrated_wave_numbers
from flexarm.native.kernel import Kernel
from flexarm.shapes import TipLoad, loaded_roots
from flexarm.simulation import (
    balance,
    breakpoints,
    divergence,
    ensemble_dataset,
    ensemble_files,
    ensemble_runs,
    gpu,
    methods,
    netcdf,
    rewrite,
    rhs,
    stepped,
    watch,
)
from flexarm.simulation import stepper as stepping
from flexarm.simulation.block import Block
from flexarm.simulation.closed_loop import ClosedLoop, Deviations
from flexarm.simulation.crossings import Stopped, _Way, crossings
from flexarm.simulation.diagnosis import bent_too_far, diagnosis, undefined
from flexarm.simulation.ensemble_pool import Pool
from flexarm.simulation.feedback import continuous, on_reference
from flexarm.simulation.inputs import Computed, constant
from flexarm.simulation.law import Law
from flexarm.simulation.layout import Layout
from flexarm.simulation.race import Race
from flexarm.simulation.solvers import Stretch, python_rate

# -- mechanics ---------------------------------------------------------------------------------------------------------


def test_a_body_of_an_unknown_kind_is_refused():
    with pytest.raises(TypeError, match="nothing is registered for a body of type dict"):
        bare({}, fa.Fixed(), None, value_of)


def test_only_sharp_elements_have_contacts():
    """The link stands before its sharp upper end stop; friction, which is smooth, adds no contact function."""
    drive = fa.Drive(stops=fa.Stops(upper=0.3, stiffness=1e4, sharp=True), friction=fa.Friction(coulomb=0.2))
    joint = fa.Revolute(drive=drive)
    arm = fa.Arm(name="one", links=[fa.Link(name="a", joint=joint, body=fa.Rigid(length=0.5, mass=2.0))])
    found = crossings(fa.Model(arm))([0.1], [0.7])
    np.testing.assert_allclose(np.array(found).ravel(), [0.1 - 0.3], rtol=1e-14)


def test_rows_that_depend_on_more_than_parameters_are_returned_unchanged():
    p, q = ca.SX.sym("p"), ca.SX.sym("q")
    nominal = Nominal(p, np.array([0.7]))
    rows = [[p - p * (1 + 1e-18), q]]
    assert nominal.without_rounding(rows) is rows
    assert nominal(rows) is None


def test_one_symbol_does_not_name_two_numbers():
    name = Ledger().of("2", "upper")
    assert str(name("m", "mass", 1.3, "kg", "mass")) == str(name("m", "mass", 1.3 + 1e-12, "kg", "mass")) == "m_2"
    with pytest.raises(AssertionError, match=r"m_2 names two numbers, 1\.3 and 1\.4"):
        name("m", "mass", 1.4, "kg", "mass")


def test_one_symbol_does_not_name_two_functions():
    name, of_mode = Ledger().of("2", "upper"), Label("a_1", "y.1.mean", "mean of the shape")
    lengths = np.array([[0.8], [0.1]])
    name.along([of_mode], Series(0.1, 1.2, lengths))
    name.along([of_mode], Series(0.1, 1.2, lengths * (1 + 1e-15)))
    with pytest.raises(AssertionError, match="a_2_1 names two functions"):
        name.along([of_mode], Series(0.1, 1.2, 2 * lengths))


def test_the_slope_of_a_constant_series_is_zero():
    constant = Series(0.1, 1.2, np.array([[3.0, -2.0]]))
    np.testing.assert_array_equal(constant.slope.values(np.array([0.2, 0.9])), np.zeros((2, 2)))
    np.testing.assert_array_equal(constant.slope.slopes(0.5), np.zeros(2))


@pytest.mark.parametrize("lengths", [[0.9, 0.7, 1.2], [0.6, 0.3, 0.5]])
def test_wave_numbers_on_one_side_of_the_rest_are_those_of_the_frequency_equation(lengths):
    beam = fa.Beam(length=1.2, mass=0.8, EI=40.0, modes={"y": 2}, shapes="clamped-mass")
    load, m, lengths = TipLoad(mass=0.5, inertia=0.01), 0.8 / 1.2, np.array(lengths)
    found = integrated_wave_numbers(beam, "y", load, 2, 0.6, lengths)
    expected = [loaded_roots(2, load.mass / (m * length), load.inertia / (m * length**3), 0.0) for length in lengths]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


# -- native ------------------------------------------------------------------------------------------------------------


def test_a_kernel_at_parameters_belongs_to_its_process():
    kernel = fa.Model(fa.load("rigid-two-link"), vary=["payload.mass"]).kernel("mass_matrix")
    assert copy.deepcopy(kernel) is kernel
    with pytest.raises(TypeError, match="a kernel belongs to its process; pickle the model"):
        pickle.dumps(kernel)


# -- simulation --------------------------------------------------------------------------------------------------------


def one_joint(**link):
    body = fa.Rigid(length=0.5, mass=2.0)
    return fa.Arm(name="one", links=[fa.Link(**{"name": "a", "joint": fa.Revolute(), "body": body} | link)])


def drifting(**more):
    """A result whose energy is off by a fifth of the 3 J that were exchanged."""
    attrs = {"energy_drift": 0.2, "energy_scale": 3.0, "rtol": 1e-6, "atol": 1e-9}
    return xr.Dataset({name: ("time", values) for name, values in more.items()}, {"time": [0.0, 0.1, 0.2]}, attrs)


def test_an_energy_balance_is_judged_by_the_variables_that_there_are():
    qd = np.array([[0.0], [0.4], [0.7]])
    found = balance.unbalanced(drifting(), qd, "use smaller steps")
    assert re.search(r"0\.2 of the 3 J", found) and found.endswith("use smaller steps") and "from t" not in found
    known = drifting(kinetic=[0.0, 1.0, 2.0], potential=[3.0, 2.0, 1.0], energy_error=[0.0, 0.001, 0.6])
    assert "from t = 0.2 s" in balance.unbalanced(known, qd, "use smaller steps")
    large = drifting(kinetic=[0.0, 1e9, 1e9], potential=[0.0, -1e9, -1e9])
    assert balance.unbalanced(large, qd, "") == ""  # the exchange is lost in the rounding of such energies


def test_one_value_of_a_function_shows_no_missed_change():
    seen = breakpoints.Seen(1.0, 1)
    seen.note(0.2, np.array([3.0]))
    t, values = np.array([0.4, 0.9]), np.array([[3.0], [7.0]])
    assert len(seen.missed(t, values)) == 0
    seen.note(0.6, np.array([3.0]))
    np.testing.assert_array_equal(seen.missed(t, values), [0.9])
    assert len(seen.missed(t[:0], values[:0])) == 0


def test_an_equilibrium_at_infinity_is_none():
    """The gains are so small that Newton's step is beyond the largest number."""
    none, u, B = np.empty(0), np.zeros(1), np.zeros((2, 1))
    slopes = np.zeros((1, 2)), np.empty((0, 2)), np.empty((0, 1))
    at = Deviations(u, none, np.full(1, 1e300), 1e-300 * np.eye(2), B, *slopes, np.eye(2), [0, 1])
    loop = SimpleNamespace(
        model=fa.Model(one_joint()), period=None, deviations=lambda t, x: at, _on_closures=lambda x: x
    )
    with pytest.raises(fa.FlexarmError, match="arm 'one': no equilibrium of the closed loop"):
        ClosedLoop.standing(loop, 0.0, np.zeros(2))


def sharp_gap():
    """A motor and a link with a gap of 0.2 rad between them, the motor in motion towards its side."""
    drive = fa.Drive(backlash=fa.Backlash(width=0.2, sharp=True))
    model = fa.Model(one_joint(joint=fa.Revolute(rotor_inertia=0.5, stiffness=1e3, drive=drive)))
    layout = Layout.of(model)
    plan, _ = methods.planned(model, constant(np.zeros(1)), layout, "dop853")
    constant(np.zeros(1)).feed(plan, model, 0.0, np.zeros(layout.size))
    return model, plan, layout


def stays(t, x, ends):
    """A solver of an arm that does not move."""
    return Stretch(np.tile(x, (len(ends), 1)), 1)


def fails(t, x, ends):
    return Stretch(np.empty((0, len(x))), 1, "no step")


def test_a_method_that_fails_beside_a_contact_ends_the_stretch():
    """In a state on a contact, which no side is watched in; and on the way to a contact that it has met."""
    model, plan, layout = sharp_gap()
    on, beyond = (layout.start(np.array([0.0, x]), np.zeros(2), np.empty(0)) for x in (0.1, 0.2))
    found = Stopped(methods.Solve(fails, "none", "asked"), model, plan)(0.0, on, np.array([0.5, 1.0]))
    assert (len(found.x), found.message) == (0, "no step")

    def meets(t, x, ends):
        if not plan.shared.watch:
            return fails(t, x, ends)
        plan.shared.last = np.inf
        python_rate(plan, len(x))(0.3, beyond)
        return Stretch(np.empty((0, len(x))), 1)

    stopped = Stopped(methods.Solve(meets, "none", "asked"), model, plan)
    found = stopped(0.0, layout.start(np.zeros(2), np.zeros(2), np.empty(0)), np.array([0.5, 1.0]))
    assert (len(found.x), found.message, stopped.stops) == (0, "no step", 1)


def test_a_contact_at_the_end_ends_the_stretch():
    model, plan, layout = sharp_gap()
    beyond = layout.start(np.array([0.0, 0.2]), np.zeros(2), np.empty(0))

    def place(t):
        """A motion that reaches the contact, 0.1, at 1 s."""
        return layout.start(np.array([0.0, 0.05 + 0.05 * t]), np.array([0.0, 0.05]), np.empty(0))

    def meets(t, x, ends):
        if plan.shared.watch:
            plan.shared.last = np.inf
            python_rate(plan, len(x))(1.0, beyond)
            return Stretch(np.empty((0, len(x))), 1)
        return Stretch(np.array([place(each) for each in ends]), 1)

    stopped = Stopped(methods.Solve(meets, "none", "asked"), model, plan)
    found = stopped(0.0, place(0.0), np.array([0.5, 1.0]))
    np.testing.assert_allclose(found.x, [place(0.5), place(1.0)], atol=1e-9)
    assert stopped.stops == 1


def test_a_time_that_differs_by_rounding_is_reached_without_a_solver():
    way = _Way(fails, 1.0, np.array([0.3, -0.2]), np.array([np.nextafter(1.0, 2.0), 2.0]))
    assert way.leads(np.nextafter(1.0, 2.0))
    assert way.t == np.nextafter(1.0, 2.0)
    np.testing.assert_array_equal(way.stretch().x, [[0.3, -0.2]])
    assert not way.leads(2.0)


class Root:
    """A control law of the root of the time that is left, which is no number afterwards."""

    def law(self, model, period=None):
        count = len(model.inputs)
        return Law(lambda t, q, qd, z: (1e-9 * ca.sqrt(0.01 - t) * ca.DM.ones(count), ca.DM.zeros(0)))


def test_an_arm_with_a_telescope_in_its_range_ends_for_another_reason():
    model = fa.Model(fa.load("theodore-ghosal"))
    with pytest.raises(fa.SimulationError, match=r"stopped at t = 0\.01 s: controller Root gave nan for base\.joint"):
        fa.simulate(model, 0.02, u=Root(), samples=3, progress=False)


def test_the_segment_that_is_bent_most_is_named():
    """A rigid link has no segments; of the two of the beam, the first is bent by 2.4 rad and the second by half."""
    beam = fa.Beam(length=1.0, mass=0.2, EI=1.0, modes={"y": 1}, segments=2)
    links = [*one_joint().links, fa.Link(name="b", joint=fa.Revolute(), body=beam)]
    model = fa.Model(fa.Arm(name="two", links=links))
    bent = np.array([0.1, 0.2, 0.5, 0.25])
    assert bent_too_far(model, np.zeros(4)) == ""
    assert re.match(r"segment 1 of link 'b' bends by", bent_too_far(model, bent))
    assert re.match(r"segment 2 of link 'b' bends by", bent_too_far(model, bent[[0, 1, 3, 2]]))


def test_bounds_scale_with_the_lengths_that_vary_and_with_no_others():
    beam = fa.Beam(length=1.0, mass=0.2, EI=1.0, modes={"y": 1})
    hub = one_joint(body=fa.Rigid(length=0.0, mass=1.0, inertia=0.1)).links[0]
    arm = fa.Arm(name="two", links=[hub, fa.Link(name="b", joint=fa.Revolute(), body=beam)])
    model = fa.Model(arm, vary=["b.length"])
    q = model.coordinates.index("b.y1")
    before, after = divergence.bounds(model), divergence.bounds(model.at([1.5]))
    np.testing.assert_allclose(after[q], 1.5 * before[q], rtol=1e-12)
    np.testing.assert_array_equal(np.delete(after, q), np.delete(before, q))


def test_a_run_without_an_end_in_sight_is_ended_at_the_second_look():
    """A nanosecond of ten seconds takes a million evaluations: the rest would need 1e16."""
    model = fa.Model(one_joint())
    judge = divergence.Judge(model, constant(np.zeros(1)), Layout.of(model), 10.0)
    x = np.zeros(Layout.of(model).size)
    assert judge(1e-9, x, 10**6) == (2 * 10**6, "")
    _, found = judge(2e-9, x, 2 * 10**6)
    assert found.startswith("stopped at t = 2e-09 s: the rest would need 1e+16 evaluations")


def test_a_fault_of_the_check_of_a_run_is_raised(monkeypatch):
    def fault(self, t, x, n):
        raise ZeroDivisionError("a fault of the check")

    monkeypatch.setattr(divergence, "FIRST", 1)
    monkeypatch.setattr(divergence.Judge, "__call__", fault)
    monkeypatch.setattr(ensemble_runs, "BatchSettings", partial(ensemble_runs.BatchSettings, budget=1))
    model, given = fa.Model(one_joint()), {"samples": 3, "progress": False, "u": [0.1]}
    with pytest.raises(ZeroDivisionError, match="a fault of the check"):
        fa.simulate(model, 0.1, **given)
    with pytest.raises(ZeroDivisionError, match="a fault of the check"):
        fa.simulate_many(model, 0.1, runs=2, **given)


def test_sampled_runs_end_at_their_budget_of_evaluations(monkeypatch):
    model = fa.Model(one_joint())
    law = fa.control.Sampled(fa.control.JointPD([0.3], Kp=2.0, Kd=0.1), 1e-2)
    given = {"u": [law] * 2, "samples": 3, "progress": False}
    assert (fa.simulate_many(model, 0.1, **given).status == "completed").all()
    monkeypatch.setattr(ensemble_runs, "MOST_EVALUATIONS", 1)
    found = fa.simulate_many(model, 0.1, **given)
    assert (found.status != "completed").all()
    assert (found.time_reached < 0.1).all()


def test_a_motion_whose_energies_are_not_finite_is_not_completed():
    x = np.zeros((3, 2, 2))
    group = SimpleNamespace(known=np.array([2, 1, 2]), x=x, status=["completed", "interrupted", "completed"])
    energy = np.array([[0.1, np.inf], [0.1, np.nan], [0.1, 0.2]])
    ensemble_dataset._judge(group, {"kinetic": energy, "q_ref": np.full((3, 2), np.nan)})
    assert group.status == ["the motion is complete, but kinetic is not finite", "interrupted", "completed"]


def test_runs_that_can_be_written_nowhere_are_in_the_error(monkeypatch, tmp_path):
    def full(path, *pieces, **how):
        raise fa.DescriptionError("cannot be written: No space left on device", str(path), sentence=True)

    folder = ensemble_files.Folder(tmp_path / "runs")
    monkeypatch.setattr(ensemble_files, "write_whole", full)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    runs = fa.simulate_many(fa.Model(one_joint()), 0.1, u=[0.1], runs=2, samples=3, progress=False)
    with pytest.raises(
        fa.SimulationError, match=r"cannot be written to a temporary folder either: .*No space"
    ) as caught:
        folder.add(runs, 0, 2)
    assert caught.value.result is runs


class Waiting:
    """A task of an ensemble that ends when it is stopped."""

    def __init__(self):
        self.stopped, self.finished = threading.Event(), 0

    def __call__(self):
        assert self.stopped.wait(10.0)

    def stop(self):
        self.stopped.set()


def test_an_interruption_of_the_progress_stops_the_tasks_and_a_second_one_is_raised():
    def interrupted(finished):
        raise KeyboardInterrupt

    tasks = [Waiting(), Waiting()]
    pool = Pool(tasks, 2)
    with pytest.raises(KeyboardInterrupt):
        pool(interrupted)  # the tasks end, and the next report of the progress is interrupted, too
    assert pool.came and all(task.stopped.is_set() for task in tasks)


@pytest.mark.parametrize(("count", "threads", "together"), [(5, 2, 2), (2, 3, 2), (1, 4, 1)])
def test_tasks_share_all_threads_and_no_more(count, threads, together, monkeypatch):
    """The first tasks wait until all of them run at once."""
    started, start, meeting = [], threading.Thread.start, threading.Barrier(together, timeout=5.0)
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (started.append(thread), start(thread))[1])

    class Meeting(Waiting):
        def __call__(self):
            if self in tasks[:together]:
                meeting.wait()

    tasks = [Meeting() for _ in range(count)]
    Pool(tasks, threads)(None)
    assert len(started) == together


def test_threads_that_cannot_be_started_leave_none_behind(monkeypatch):
    """The system has room for one thread more."""
    started, start = [], threading.Thread.start

    def limited(thread):
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        Pool([Waiting(), Waiting()], 2)(None)
    assert not started[0].is_alive()


@pytest.mark.parametrize("kind", [ensemble_runs.Clocked, ensemble_runs.Alone])
def test_a_task_that_is_stopped_before_it_starts_computes_nothing(kind):
    task = kind(None, None, None, slice(0, 3))
    task.stop()
    task()
    assert task.finished == 0


def test_a_task_of_the_gpu_that_is_stopped_before_it_starts_computes_nothing():
    task = object.__new__(gpu.OnGpu)  # without a GPU
    task.finished = 0
    task.stop()
    task()
    assert task.finished == 0


def test_a_builtin_function_has_no_signature_to_check():
    with pytest.raises(fa.DescriptionError, match=r"u: max is not an expression of t: .*; use CasADi operations"):
        function_of_time("u", max)(ca.SX.sym("t"))
    assert Computed(max).of_state
    stepped._takes(max, (0.0, np.zeros(1)), "the arguments t, y")


def test_a_law_that_stays_finite_is_not_at_fault():
    model = fa.Model(one_joint())
    law = continuous(fa.control.JointPD([0.3], Kp=2.0, Kd=0.1), model)
    found = undefined(law, SimpleNamespace(time=0.1), model, Layout.of(model), 0.0, np.array([0.1, 0.2]))
    assert found == ""


class Sudden:
    """A reference that starts with an infinite rate."""

    def expression(self, t):
        return [ca.sqrt(t)]

    def described(self):
        return "sudden"


def test_a_reference_starts_with_finite_rates():
    with pytest.raises(fa.DescriptionError, match="reference is not finite at t = 0"):
        on_reference(fa.Model(one_joint()), Sudden())


def test_inverse_dynamics_of_another_arm_need_its_actuators():
    drive = fa.RigidInverseDynamics(fa.Quintic([0.0, 0.0], [0.1, 0.2], 1.0), arm=fa.load("rigid-two-link"))
    with pytest.raises(fa.DescriptionError, match="rigid inverse dynamics need exactly one actuator per joint"):
        fa.simulate(fa.Model(one_joint()), 0.1, u=drive, samples=3, progress=False)


def test_a_method_that_is_behind_at_once_is_the_reason():
    given = {"_top": 30.0, "_fastest": 20.0, "_taken": {"dop853": 0.1}, "_name": "radau5", "_explicit": "dop853"}
    found = Race.reason.fget(SimpleNamespace(**given, _behind=True, _wide="", _missing=""))
    assert found.startswith("fastest eigenvalue 30 rad/s; radau5 was slower from the start")


def test_a_result_that_memory_is_too_small_for_is_not_written(monkeypatch, tmp_path):
    def small(result):
        raise MemoryError

    run = fa.simulate(fa.Model(one_joint()), 0.1, u=[0.1], samples=3, progress=False)
    monkeypatch.setattr(netcdf, "image", small)
    with pytest.raises(fa.DescriptionError, match=r"run\.nc: cannot be written: too little memory"):
        fa.save_result(run, tmp_path / "run.nc")
    assert not list(tmp_path.iterdir())


def test_the_rates_in_python_with_a_disturbance_a_watch_and_bounds():
    """Every branch of the function that is compiled: w is written, the state is watched, and x[0] has a bound."""
    looked, watched = [], []

    def outside(buffer, w, data):
        w[0] = 10.0 * buffer[0] + data

    def rate(x, dx):
        dx[:2] = x[1], x[2] + x[3]

    shared = rhs.RunRecord(
        rate, lambda buffer, u, data: u.__setitem__(0, 0.5), 0, 0.0, np.inf, 0, 0, outside, 7, 4, 2, 2, np.zeros(5),
        watch=lambda buffer, dx, data: watched.append((buffer[1], data)), watched=3, most=np.array([2.0, 100.0]),
        bounded=2, look=3, judge=lambda buffer, dx, data: looked.append(buffer[0]),
    )  # fmt: skip
    dy = np.zeros(2)
    rhs.rhs(dy, 0.1, np.array([1.5, 0.25]), [shared], 0)
    np.testing.assert_allclose(dy, [0.25, 0.5 + 10 * 0.1 + 7])
    rhs.rhs(dy, 0.2, np.array([-2.5, 0.25]), [shared], 0)
    assert np.isnan(dy[0]) and dy[1] == pytest.approx(0.5 + 2.0 + 7)
    assert (shared.passed, looked, watched) == (1, [], [(1.5, 3), (-2.5, 3)])
    shared.stop = 1
    rhs.rhs(dy, 0.3, np.array([1.5, 0.25]), [shared], 0)
    assert np.isnan(dy).all() and looked == [0.3]


def test_no_run_begins_when_the_interpreter_ends(monkeypatch):
    monkeypatch.setattr(watch, "ENDED", ended := threading.Event())
    ended.set()
    with pytest.raises(SystemExit), watch.running(SimpleNamespace()):
        raise AssertionError("a run has begun")


def test_the_end_of_the_interpreter_stops_a_run_and_waits_for_it(monkeypatch):
    monkeypatch.setattr(watch, "ENDED", threading.Event())
    stopped, begun, ended = threading.Event(), threading.Event(), []

    def run():
        with watch.running(SimpleNamespace(stop=stopped.set)):
            begun.set()
            stopped.wait(10.0)
            ended.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(10.0)
    watch.end_all()
    assert ended == [True] and not watch.RUNNING and watch.ENDED.is_set()
    thread.join()


@pytest.mark.parametrize("seconds", [1e-3, 0.03, 0.2])
def test_native_code_is_interrupted_ten_times_a_second_whatever_its_evaluations_take(monkeypatch, seconds):
    """After a first part, whose evaluations are counted in order to know how long they take."""
    now, seen, due = [0.0], [], []
    monkeypatch.setattr(watch.time, "monotonic", lambda: now[0])
    plan = SimpleNamespace(call_after=lambda first, function: due.extend([first, function]))
    watch.attended(plan, slow=True, progress=seen.append)
    evaluations, attend = due
    for _ in range(20):
        now[0] = seconds * evaluations
        evaluations, said = attend(now[0], np.zeros(2), evaluations)
        assert said == ""
    later = np.diff(seen)[2:]
    assert len(later) > 10 and later == pytest.approx(max(watch.INTERVAL, seconds), rel=0.5)


def test_a_sampled_law_of_a_needle_names_the_coordinate_without_inertia():
    needle = one_joint(joint=fa.Revolute(axis=(1, 0, 0)), body=fa.Rigid(length=1.0, mass=1.0))
    with pytest.raises(fa.DescriptionError, match=r"arm 'one': no inertia resists the acceleration of a\.joint"):
        methods.fastest_of(fa.Model(needle), np.zeros(1))


def jumping(until, *last):
    """A stepper whose disturbance jumps in the middle of its period."""
    gust = fa.Piecewise([0.0, 0.5 * until], [[0.1], list(last)])
    return fa.Stepper(fa.Model(one_joint()), until, disturbance=gust)


def test_a_plant_that_fails_behind_a_jump_is_diagnosed_there():
    with pytest.raises(fa.SimulationError, match=r"arm 'one': .* t = 0\.001"):
        jumping(2e-3, 1e200).step([0.0])


def test_a_stretch_before_a_jump_ends_at_its_budget_of_evaluations(monkeypatch):
    monkeypatch.setattr(stepping, "MOST_EVALUATIONS", 5)
    with pytest.raises(fa.SimulationError, match=r"more than 5e\+00 evaluations from t = 0 s on"):
        jumping(2e-3, 0.2).step([0.0])


def test_parameters_of_a_stepper_lead_to_finite_numbers(monkeypatch):
    model = fa.Model(one_joint(), vary=["a.mass"])
    many = fa.Stepper(model, 1e-3, np.zeros((2, 1)))
    before = copy.copy(many)
    np.testing.assert_array_equal(many.reset(where=[False, False], p=[3.0]), before.state)
    monkeypatch.setattr(Kernel, "constants_of", lambda self, p: np.full((len(p), 1), np.inf))
    with pytest.raises(fa.DescriptionError, match="Stepper: with these p the equations are not finite; check p"):
        many.reset(p=[3.0])
    monkeypatch.undo()
    np.testing.assert_array_equal(many.step(np.ones((2, 1))), before.step(np.ones((2, 1))))


# -- the process that reads a file that may be damaged -----------------------------------------------------------------


@pytest.fixture
def result_file(tmp_path):
    run = fa.simulate(fa.Model(one_joint()), 0.1, u=[0.1], samples=3, progress=False)
    path = fa.save_result(run, tmp_path / "run.nc")
    path.write_bytes(path.read_bytes()[: -netcdf.SEALED])
    return path


def test_a_file_is_written_anew_with_the_same_content(result_file):
    size = result_file.stat().st_size
    again = xr.load_dataset(io.BytesIO(rewrite.rewritten(str(result_file), size)), engine="h5netcdf")
    assert again.identical(xr.load_dataset(result_file, engine="h5netcdf"))


def test_a_file_that_declares_more_than_it_can_hold_is_refused(result_file):
    with pytest.raises(ValueError, match=r"\d+ bytes"):
        rewrite.rewritten(str(result_file), 0)


@pytest.mark.parametrize(("kind", "said"), [("link", "is a link to"), ("storage", "is kept in"), ("view", "is a view")])
def test_a_file_that_refers_to_another_is_refused(kind, said, result_file, tmp_path):
    with h5py.File(result_file, "a") as file:
        if kind == "link":
            file["note"] = h5py.ExternalLink(str(tmp_path / "secret"), "/")
        elif kind == "storage":
            file.create_dataset("note", shape=(3,), dtype="f8", external=[(str(tmp_path / "secret"), 0, 24)])
        else:
            layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
            layout[:] = h5py.VirtualSource(str(tmp_path / "secret"), "time", shape=(3,))
            file.create_group("deep").create_virtual_dataset("note", layout)
    with pytest.raises(ValueError, match=f"note' {said}"):
        rewrite.check_whole(str(result_file))


def test_the_process_that_reads_reports_the_content_or_the_reason(result_file, monkeypatch, tmp_path, capfdbinary):
    monkeypatch.setattr(rewrite, "limit", lambda size: None)  # it would hold for the tests, too
    for path, status in ((result_file, 0), (tmp_path / "text.nc", rewrite.REFUSED)):
        if status:
            path.write_text("no file of this format")
        with open(1, "w", closefd=False) as out:
            monkeypatch.setattr(rewrite.sys, "stdout", out)
            assert rewrite.main(str(path)) == status
        found = capfdbinary.readouterr().out
        assert found.startswith(b"\x89HDF") == (not status) and found


def test_a_solver_that_ends_in_no_number_is_diagnosed_from_the_time_of_the_number():
    """The interval up to there is sampled again, in which this motion is sound."""
    model = fa.Model("rigid-two-link")
    layout, drive = Layout.of(model), constant(np.zeros(2))
    plan, _ = methods.planned(model, drive, layout, "dop853")
    drive.feed(plan, model, 0.0, np.zeros(layout.size))
    plan.end(1.0)
    solve = methods.solver("dop853", plan, model, drive, layout, 1e-8, 1e-10, 0.0)
    stretch = Stretch(np.empty((0, layout.size)), 3, "it ended", (0.25, np.full(layout.size, np.nan)))
    said = diagnosis(model, drive, layout, plan, solve, stretch, 0.0, np.zeros(layout.size), np.zeros(model.nq))
    assert re.fullmatch(r"the solver could not meet the tolerance at t = 0.25 s, where .* \(it ended\)", said)


@pytest.mark.parametrize(
    ("error", "raised"), [(fa.DescriptionError, fa.DescriptionError), (fa.FlexarmError, fa.SimulationError)]
)
def test_a_block_that_does_not_fit_is_an_error_of_its_own_and_one_that_fails_ends_the_run(error, raised):
    class Failing(Block):
        def jumps(self):
            return np.array([0.05])

        def output(self, model, t, q, qd, z):
            if t[0] >= 0.05:
                raise error("no torque today")
            return np.zeros((len(t), 2))

        def described(self):
            return "a block that fails"

    with pytest.raises(raised, match="no torque today") as caught:
        fa.simulate("rigid-two-link", 0.1, Failing(), progress=False)
    assert caught.type is raised
    assert Failing().expressed(fa.Model("rigid-two-link")) is None


def test_a_kind_of_joint_without_a_drive_has_no_element():
    """All moving joints of the package have drives; a kind of joint from outside may have none."""
    assert elements(fa.Fixed(), Rows([1.0], [1.0], [1.0]), 0, None) == []
    damped = fa.Revolute(drive=fa.Drive(friction=fa.Friction(coulomb=0.2)))
    assert len(elements(damped, Rows([1.0], [1.0], [1.0]), 0, value_of)) == 1
