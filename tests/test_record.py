"""What a controller saw and meant, beside the result of a run."""

import casadi as ca
import numpy as np
import pytest

import flexarm as fa
from flexarm.control import Integral, JointPD, Law, Linear, Observed, Sampled, Saturated, show

pytestmark = pytest.mark.filterwarnings("ignore:Sampled. period is")  # the fastest mode needs no control here
SLEW = fa.Quintic((0.0, 0.0), (0.4, 0.2), 0.3)
PERIOD = 2e-3
ENDS = [f"{link}.{part}" for link in ("upper", "fore") for part in ("motor", "joint")]
SENSORS = [
    *(fa.Encoder(coordinate=end, noise=1e-4, resolution=1e-3) for end in ENDS),
    *(fa.StrainGauge(link=link, noise=1e-3) for link in ("upper", "fore")),
]
RUN = {"progress": False, "samples": 31}


@pytest.fixture(scope="module")
def model():
    return fa.Model(fa.load("subudhi-morris-elastic"))


def test_the_command_is_u_before_delay_and_limit(model):
    limit, samples = 0.05, 91
    law = Sampled(JointPD(SLEW, 5.0, 2.0), PERIOD, delay=2 * PERIOD, limit=limit)
    found = fa.simulate(model, 0.18, u=law, save=fa.SaveAt(record=["command"]), progress=False, samples=samples)
    assert found.command_signal.values.tolist() == list(model.inputs)
    command, u = found.command.values[:-1], found.u.values[:-1]
    assert np.abs(command).max() > 2 * limit
    assert np.array_equal(u[2:], np.clip(command[:-2], -limit, limit))
    assert not u[:2].any()


def test_an_observer_shows_what_it_read_and_what_it_makes_of_it(model):
    """Readings are what the sensors see of the state, with as much noise as they have, in steps of the resolution."""
    law = Sampled(Observed(JointPD(SLEW, 5.0, 2.0), SENSORS), PERIOD, seed=4)
    record = ["measured", "estimate", "innovation", "memory"]
    found = fa.simulate(model, 0.3, u=law, save=fa.SaveAt(record=record), progress=False, samples=151).isel(
        time=slice(0, -1)
    )
    seen = fa.outputs(model, SENSORS)
    assert found.measured_signal.values.tolist() == list(seen.names)
    error = found.measured.values - seen.values(found.q.values, found.qd.values)
    assert np.abs(found.measured.values[:, :4] / 1e-3 % 1.0 - 0.5).min() > 0.49
    assert error[:, 4:].std() == pytest.approx(1e-3, rel=0.2)
    assert np.hypot(1e-4, 1e-3 / np.sqrt(12)) == pytest.approx(error[:, :4].std(), rel=0.2)
    n = len(model.coordinates)
    assert found.estimate_signal.values[[0, n]].tolist() == ["upper.joint", "upper.joint.rate"]
    truth = np.hstack([found.q.values, found.qd.values])
    assert np.abs(found.estimate.values - truth)[:, :n].max() < 2e-3 < np.abs(truth[:, :n]).max()
    # the memory is the estimate before the sample: the innovation mends it by a matrix, the same at all samples
    mended = found.estimate.values - found.memory.values
    L, *_ = np.linalg.lstsq(found.innovation.values, mended, rcond=None)
    assert np.abs(found.innovation.values @ L - mended).max() < 1e-9


@pytest.mark.parametrize("sampled", [True, False])
def test_a_record_changes_nothing_in_a_run(model, sampled):
    law = Integral(JointPD(SLEW, 5.0, 2.0), 3.0)
    u = Sampled(law, PERIOD, limit=0.3) if sampled else Saturated(law, 0.3)
    plain = fa.simulate(model, 0.2, u=u, **RUN)
    record = ["integral", "command", "measured"]
    found = fa.simulate(model, 0.2, u=u, save=fa.SaveAt(record=record), **RUN)
    assert "recorded" not in plain.attrs
    assert found.attrs["recorded"] == "integral command measured"
    for name in plain.data_vars:
        assert np.array_equal(plain[name], found[name]), name
    u = np.clip(found.command.values, -0.3, 0.3)
    assert np.abs(u - found.u.values).max() < 1e-15
    y = found.q.sel(coordinate=["upper.motor", "fore.motor"]).values
    if not sampled:
        assert np.abs(found.measured.values - y).max() < 1e-15
        # an integral that grows at Ki e, where e = r - y at the actuators
        e = SLEW_AT(found.time.values) - y
        grown = 3.0 * np.cumsum((e[1:] + e[:-1]) / 2, axis=0) * found.time.values[1]
        assert np.abs(found.integral.values[1:] - grown).max() < 1e-4


def SLEW_AT(t):
    from flexarm.trajectory import reference_values

    return reference_values(SLEW, t)


def test_between_two_samples_the_last_is_held(model):
    """At the samples themselves the value is the new one; from Python and from native code it is the same."""
    law = Sampled(Observed(JointPD(SLEW, 5.0, 2.0), SENSORS), 0.01, seed=1)
    more = {
        "save": fa.SaveAt(record=["measured", "command"]),
        "progress": False,
        "samples": 41,
        "method": "rk4",
        "solver": fa.Solver(step=1e-4),
    }
    found = fa.simulate(model, 0.1, u=law, **more)
    for name in ("measured", "command", "u"):
        blocks = found[name].values[:40].reshape(10, 4, -1)
        assert np.array_equal(blocks, np.broadcast_to(blocks[:, :1], blocks.shape)), name
        assert np.abs(np.diff(blocks[:, 0], axis=0)).max() > 0
    nothing = fa.Piecewise([0.0, 0.0331], [[0.0], [0.0]])  # a jump, for which native code hands over
    stepped = fa.simulate(model, 0.1, u=law, disturbance={"upper.drive": nothing}, **more)
    assert np.abs(stepped.measured.values - found.measured.values).max() < 1e-9
    assert np.abs(stepped.command.values - found.command.values).max() < 1e-9


def test_a_function_of_sensors_shows_what_it_was_given(model):
    seen = []

    def law(t, y):
        seen.append(y)
        return [-y[0], 0.1]

    u = Sampled(law, 0.01, sensors=SENSORS[:2], limit=0.05)
    found = fa.simulate(
        model,
        0.1,
        u=u,
        q0=[0.2] + 7 * [0.0],
        save=fa.SaveAt(record=["measured", "command"]),
        progress=False,
        samples=11,
    )
    assert found.measured_signal.values.tolist() == ["upper_motor", "upper_joint"]
    assert np.array_equal(found.measured.values[:10], seen[:10])
    assert np.array_equal(found.command.values[:10], [[-y[0], 0.1] for y in seen[:10]])
    assert found.u.values[0].tolist() == [0.0, 0.05]


class Own:
    """A controller of the user's: an integrator of the first angle, which it shows."""

    def __init__(self, *names, signals=None):
        self.names, self.signals = names, signals

    def law(self, model, period=None):
        def expression(t, q, qd, z):
            for name in self.names:
                show(name, [z[0], q[0]], self.signals)
            return ca.vertcat(-z, 0), (q[0] if period is None else z + period * q[0])

        return Law(expression, memory=(0.5,))


def test_a_law_of_the_user_s_shows_what_it_likes(model):
    found = fa.simulate(
        model,
        0.1,
        u=Own("turned", "turned", signals=["sum", "now"]),
        save=fa.SaveAt(record=["turned", "turned_2"]),
        **RUN,
    )
    assert found.turned.sel(turned_signal="sum").values[0] == 0.5
    assert np.array_equal(found.turned.sel(turned_signal="now"), found.q[:, 0])
    assert np.array_equal(found.turned, found.turned_2)
    assert np.abs(found.turned[:, 0] + found.u[:, 0]).max() < 1e-15
    held = fa.simulate(model, 0.1, u=Sampled(Own("turned"), 0.05), save=fa.SaveAt(record=["turned"]), **RUN)
    assert held.turned_signal.values.tolist() == ["turned_1", "turned_2"]
    assert held.turned.values[:15, 0].tolist() == [0.5] * 15


def test_it_is_saved_and_loaded(model, tmp_path):
    law = Sampled(JointPD(SLEW, 5.0, 2.0), PERIOD)
    found = fa.simulate(model, 0.1, u=law, save=fa.SaveAt(record=["command", "rate"], keep=["q"]), **RUN)
    assert {*found.data_vars} == {"q", "command", "rate"}
    again = fa.load_result(fa.save_result(found, tmp_path / "run.nc"))
    assert again.identical(found)
    whole = fa.simulate(model, 0.1, u=law, save=fa.SaveAt(record=["command"]), **RUN)
    assert fa.load_result(fa.save_result(whole, tmp_path / "whole.nc")).identical(whole)


def test_a_scenario_may_ask_for_it(tmp_path):
    (tmp_path / "slew.toml").write_text(
        'name = "slew"\narm = "subudhi-morris"\nuntil = 0.1\nsamples = 6\nrecord = ["rate", "measured"]\n'
        '[reference]\ntype = "quintic"\nstart = [0, 0]\nend = [0.3, 0.2]\nduration = 0.3\n'
        '[controller]\ntype = "joint-pd"\nKp = 3.0\nKd = 1.0\nfilter = 200.0\nresolution = 1e-3\nperiod = 1e-3\n'
    )
    found = fa.load_scenario(tmp_path / "slew.toml").run(progress=False)
    assert found.attrs["recorded"] == "rate measured"
    assert np.abs(found.measured.values / 1e-3 % 1.0 - 0.5).min() > 0.49


# -- many runs ---------------------------------------------------------------------------------------------------------

FIXED = {"progress": False, "samples": 16, "method": "rk4", "solver": fa.Solver(step=2e-4)}


def as_alone(model, until, controllers, record, **given):
    """Many runs, each of which shows what it shows alone."""
    found = fa.simulate_many(model, until, u=controllers, save=fa.SaveAt(record=record), **given)
    for i, law in enumerate(controllers):
        more = {**given, "disturbance": given["disturbance"][i]} if "disturbance" in given else given
        alone = fa.simulate(model, until, u=law, save=fa.SaveAt(record=record), **more)
        for name in record:
            assert found[name].dims == ("run", *alone[name].dims)
            assert np.array_equal(found[f"{name}_signal"], alone[f"{name}_signal"])
            assert found[name].attrs == alone[name].attrs
            assert np.abs(found[name].values[i] - alone[name].values).max() < 1e-9 * np.abs(alone[name]).max(), name
        assert np.abs(found.u.values[i] - alone.u.values).max() < 1e-9
    assert found.attrs["recorded"] == " ".join(record)
    assert np.isfinite(found[record[0]].values).all()
    return found


def test_sampled_laws_in_lanes_show_what_each_shows_alone(model):
    """More runs than lanes, each with noise of its own; between samples and at them."""
    law = JointPD(SLEW, 5.0, 2.0, filter=100.0, resolution=1e-4, noise=1e-3)
    laws = [Sampled(law, 0.01, limit=0.2, seed=k) for k in range(10)]
    found = as_alone(model, 0.15, laws, ["measured", "memory", "command", "rate"], **FIXED)
    assert np.abs(found.measured.values[0] - found.measured.values[1]).max() > 1e-4
    assert np.abs(found.command.values).max() > 0.2


@pytest.mark.parametrize(
    "given", [{}, {"disturbance": [{"upper.drive": 0.1}, {"upper.drive": lambda t: 0.1 * np.sin(9 * t)}]}]
)
@pytest.mark.parametrize(
    "law",
    [
        Integral(JointPD(SLEW, 5.0, 2.0), 3.0),
        Sampled(Integral(JointPD(SLEW, 5.0, 2.0), 3.0), PERIOD),
        Saturated(JointPD(SLEW, 5.0, 2.0, filter=200.0), 0.3),
    ],
)
def test_laws_of_every_kind_show_it_in_many_runs(model, law, given):
    names = ["command", "rate"] if isinstance(law, Saturated) else ["integral", "command", "measured"]
    as_alone(model, 0.06, [law, law], names, progress=False, samples=16, method="dop853", **given)


def test_python_shows_it_in_many_runs(model):
    def law(t, y):
        return [0.2 - y[0], 0.1 * t]

    laws = [Sampled(law, 0.01, sensors=SENSORS[:2], limit=0.15, seed=seed) for seed in (1, 2)]
    as_alone(model, 0.1, laws, ["measured", "command"], **FIXED)


def test_one_function_behind_other_sensors_is_another_controller(model):
    def law(t, y):
        return [0.2 - y[0], 0.0]

    laws = [Sampled(law, 0.01, sensors=[fa.Encoder(coordinate=f"{link}.motor")]) for link in ("upper", "fore")]
    found = fa.simulate_many(model, 0.1, u=laws, save=fa.SaveAt(record=["command"]), **FIXED)
    read = 0.2 - found.command.values[:, :, 0]
    ends = found.q.sel(coordinate=["upper.motor", "fore.motor"]).values
    sampled = np.searchsorted(found.time.values, [0.02, 0.04, 0.06, 0.08])  # times of samples and of the result
    for i in range(2):
        assert np.abs(read[i, sampled] - ends[i, sampled, i]).max() < 1e-6
    assert np.abs(read[0] - read[1]).max() > 1e-3


def test_one_linear_system_made_discrete_in_other_ways_is_another_controller(model):
    control = pytest.importorskip("control")
    lag = control.ss([[-20.0]], [[20.0]], [[-3.0], [0.0]], [[-1.0], [0.0]])
    linear = Linear(lag, sensors=[fa.Encoder(coordinate="upper.motor")])
    laws = [Sampled(linear, 0.02, method=method) for method in ("tustin", "euler")]
    q0 = [0.3, *7 * [0.0]]
    found = fa.simulate_many(model, 0.2, q0=q0, u=laws, **FIXED)
    for i, law in enumerate(laws):
        assert np.abs(found.q.values[i] - fa.simulate(model, 0.2, u=law, q0=q0, **FIXED).q.values).max() < 1e-9
    assert np.abs(found.q.values[0] - found.q.values[1]).max() > 1e-4


def test_many_laws_show_the_same_names_each_its_own(model):
    laws = [JointPD(SLEW, 5.0, 2.0), Integral(JointPD(SLEW, 4.0, 2.0), 3.0), JointPD(SLEW, 5.0, 2.0)]
    found = fa.simulate_many(model, 0.05, u=laws, save=fa.SaveAt(record=["command", "measured"]), **RUN)
    for i, law in enumerate(laws):
        alone = fa.simulate(model, 0.05, u=law, save=fa.SaveAt(record=["command"]), **RUN)
        assert np.abs(found.command.values[i] - alone.command.values).max() < 1e-6
    with pytest.raises(fa.DescriptionError, match=r"^u\[0\]: record has the unknown name 'integral'; the controller"):
        fa.simulate_many(model, 0.05, u=laws, save=fa.SaveAt(record=["integral"]), **RUN)
    others = [Own("seen", signals=["a", "b"]), Own("seen")]
    line = r"^record: u\[1\] has the signals seen \(seen_1, seen_2\), u\[0\] seen \(a, b\); they must be equal$"
    with pytest.raises(fa.DescriptionError, match=line):
        fa.simulate_many(model, 0.05, u=others, save=fa.SaveAt(record=["seen"]), **RUN)
    with pytest.raises(fa.DescriptionError, match="only controllers have signals to record"):
        fa.simulate_many(model, 0.05, u=np.zeros((3, 2)), save=fa.SaveAt(record=["command"]), **RUN)
    with pytest.raises(
        fa.DescriptionError, match="show: name is 'steps'; it must be a word that a result does not use"
    ):
        fa.simulate_many(model, 0.05, u=Own("steps"), runs=2, save=fa.SaveAt(record=["steps"]), **RUN)


class Ending:
    """A law that gives no number once the first angle is beyond a limit."""

    def law(self, model, period=None):
        def expression(t, q, qd, z):
            show("seen", z, ["before"])
            return ca.vertcat(0.2 + 1e-9 * ca.sqrt(0.01 - q[0]), 0.0), q[0]

        return Law(expression, memory=(0.0,))


@pytest.mark.parametrize("period", [0.004, 0.01])
def test_of_a_run_that_fails_there_is_what_was_shown_before(model, period):
    both = [model.coordinates.index(name) for name in ("upper.joint", "upper.motor")]
    starts, rates = np.zeros((2, 3, 8))
    starts[1, both] = -0.5  # which does not come so far
    rates[:2, both], rates[2, both] = 0.2, 0.4
    law = Sampled(Ending(), period)
    found = fa.simulate_many(model, 0.15, q0=starts, qd0=rates, u=law, save=fa.SaveAt(record=["seen"]), **FIXED)
    assert found.status.values[1] == "completed"
    for i in (0, 2):
        with pytest.raises(fa.SimulationError) as caught:
            fa.simulate(model, 0.15, u=law, q0=starts[i], qd0=rates[i], save=fa.SaveAt(record=["seen"]), **FIXED)
        alone = caught.value.result
        known = alone.sizes["time"]
        assert 1 < known < 16
        assert found.time_reached.values[i] == alone.time.values[-1]
        assert np.abs(found.seen.values[i, :known] - alone.seen.values).max() < 1e-12
        assert np.isnan(found.seen.values[i, known:]).all()


def test_many_records_are_written_to_a_folder(model, tmp_path, monkeypatch):
    monkeypatch.setattr("flexarm.simulation.ensemble.CHUNK", 1.0)  # a file for each run
    laws = [Sampled(JointPD(SLEW, 5.0, 2.0, filter=100.0, noise=1e-3), 0.01, seed=k) for k in range(3)]
    given = {"save": fa.SaveAt(record=["measured", "command"], keep=["q"]), **FIXED}
    held = fa.simulate_many(model, 0.05, u=laws, **given)
    found = fa.simulate_many(model, 0.05, u=laws, folder=tmp_path / "runs", **given)
    assert len([*(tmp_path / "runs").iterdir()]) == 3
    assert {*found.data_vars} == {*held.data_vars}
    for name in ("measured", "command", "measured_signal"):
        assert np.array_equal(found[name].values, held[name].values)
    assert found.isel(run=2).measured.sel(measured_signal="fore.motor").values[-1] == held.measured.values[2, -1, 1]


# -- wrong input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("u", "record", "line"),
    [
        (
            JointPD(SLEW, 5.0, 2.0),
            ["x"],
            "record has the unknown name 'x'; the controller shows measured",
        ),
        (Sampled(Own(), 0.1), ["x"], "record has the unknown name 'x'; the controller shows command, memory"),
        (
            Sampled(lambda t, q, qd: [0, 0], 0.1),
            ["memory"],
            "record has the unknown name 'memory'; the controller",
        ),
        ([0.0, 0.0], ["command"], "record has 'command'; only controllers have signals to record"),
        (None, "command", "record is 'command'; it must be names of signals of the controller"),
        (None, [3], "record has 3; it must be names of signals of the controller"),
        (None, 3, "record is 3; it must be names of signals of the controller"),
        (Own("u"), ["u"], "show: name is 'u'; it must be a word that a result does not use already"),
        (Own("two words"), ["u"], "show: name is 'two words'; it must be a word"),
        (Own(3), ["u"], "show: name is 3"),
        (Own("a", signals=["one"]), ["a"], "show: a has 2 numbers and 1 name; give one name for each number"),
    ],
)
def test_what_is_not_shown_is_refused_in_one_line(model, u, record, line):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.simulate(model, 0.1, u=u, save=fa.SaveAt(record=record), progress=False)
    assert str(caught.value).removeprefix("simulate: ").removeprefix("SaveAt: ").startswith(line)
    assert "\n" not in str(caught.value)
