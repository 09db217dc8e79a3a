"""What a motion was worth, on motions made by hand; and controllers in scenario files."""

import numpy as np
import pytest
import xarray as xr
from programs import ran, run

import flexarm as fa
from flexarm.scenario import Scenario, bundled_scenarios, load_scenario


def made(q, q_ref, tip=None, u=None):
    """A result of one joint on a grid of 1 ms."""
    t = 1e-3 * np.arange(len(q))
    u = np.zeros(len(q)) if u is None else u
    tip = np.zeros((len(q), 3)) if tip is None else tip
    data = {
        "q": (("time", "coordinate"), q[:, None]),
        "q_ref": (("time", "joint"), q_ref[:, None]),
        "tip": (("time", "axis"), tip),
        "u": (("time", "input"), u[:, None]),
        "power": ("time", u),
    }
    names = {"coordinate": ["a.joint"], "role": ("coordinate", ["joint"]), "joint": ["a.joint"]}
    return xr.Dataset(data, coords={"time": t, **names})


T = 1e-3 * np.arange(4001)
RAMP = np.clip(T, 0.0, 1.0) * 2.0  # arrives at 1 s


def test_a_decaying_oscillation():
    after = np.maximum(T - 1.0, 0.0)
    q = RAMP + 0.4 * np.exp(-2 * after) * np.sin(10 * after)
    tip = np.zeros((len(T), 3))
    tip[:, 1] = 0.03 * np.cos(7 * T)
    found = fa.performance(made(q, RAMP, tip, u=np.where(T < 1, 3.0, -1.0)))
    assert found.arrival == pytest.approx(1.0)
    assert found.error == pytest.approx(0.0, abs=1e-12)
    peak = np.arctan(5.0) / 10  # of exp(-2 t) sin(10 t)
    assert found.overshoot == pytest.approx(0.2 * np.exp(-2 * peak) * np.sin(10 * peak), rel=1e-4)
    assert found.residual == pytest.approx(0.03, rel=1e-3)
    assert found.peak == 3.0
    assert found.energy == pytest.approx(3.0 + 3.0, rel=1e-2)
    outside = np.flatnonzero(np.abs(q - 2.0) > 0.04)[-1]
    assert found.settling == pytest.approx(T[outside + 1] - 1.0)


def test_what_never_settles_and_what_is_there_at_once():
    assert fa.performance(made(RAMP + 0.1, RAMP)).settling == np.inf
    assert fa.performance(made(RAMP, RAMP)).settling == 0.0
    assert fa.performance(made(RAMP + 0.1, RAMP), band=0.06).settling == 0.0


@pytest.mark.parametrize("name", ["q", "q_ref", "tip"])
def test_numbers_of_another_type_are_judged_like_doubles(name):
    result = made(RAMP, RAMP, np.stack([RAMP, 0.3 * RAMP, 0 * RAMP], axis=1))
    found = fa.performance(result.assign({name: result[name].astype("float16")}))
    assert found.arrival == pytest.approx(1.0, abs=2e-3)
    assert found.tip_settling <= 2e-3


def test_vibration_is_measured_from_a_time_on():
    tip = np.zeros((len(T), 3))
    tip[:, 0] = np.where(T < 2.0, 0.5 * np.sin(9 * T), 0.0)
    assert fa.performance(made(RAMP, RAMP, tip)).residual == pytest.approx(0.5, rel=1e-2)
    assert fa.performance(made(RAMP, RAMP, tip), after=1.0).residual == 0.0


def test_the_tip_settles_within_a_distance_of_where_it_ends():
    after = np.maximum(T - 1.0, 0.0)
    ringing = 0.08 * np.exp(-4 * after) * np.cos(30 * after)
    tip = np.stack([0.7 + 0.6 * ringing, -0.2 + 0.8 * ringing, np.full(len(T), 0.3)], axis=1)
    for within in (1e-3, 1e-2):
        last = np.flatnonzero(np.abs(ringing - ringing[-1]) > within)[-1]
        found = fa.performance(made(RAMP, RAMP, tip), within=within).tip_settling
        assert found == pytest.approx(T[last + 1] - 1.0)
        envelope = np.log(0.08 / within) / 4
        assert envelope - np.pi / 30 < found <= envelope
    assert fa.performance(made(RAMP, RAMP, 0 * tip)).tip_settling == 0.0
    swinging = tip + 0.002 * np.sin(30 * T)[:, None]
    assert fa.performance(made(RAMP, RAMP, swinging)).tip_settling == np.inf
    assert fa.performance(made(RAMP, RAMP, swinging), within=0.05).tip_settling < 0.2


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (made(RAMP, RAMP).drop_vars("q_ref"), "has no reference"),
        (made(RAMP, 0 * RAMP), "does not move"),
        (made(RAMP[:1001], RAMP[:1001]), "simulate longer"),
    ],
)
def test_what_cannot_be_judged_is_refused(result, line):
    with pytest.raises(fa.DescriptionError, match=line):
        fa.performance(result)


# -- controllers in files ----------------------------------------------------------------------------------------------

CLOSED = {
    "name": "closed",
    "arm": "rigid-two-link",
    "until": 1.0,
    "reference": {"type": "quintic", "start": [0, 0], "end": [0.5, 0.5], "duration": 0.5},
    "controller": {"type": "joint-pd", "Kp": 400.0, "Kd": 80.0},
}


def changed(**controller):
    return CLOSED | {"controller": {**CLOSED["controller"], **controller}}


def test_a_file_s_controller_is_python_s():
    from flexarm.control import JointPD

    model = fa.Model(fa.load("rigid-two-link"))
    told = Scenario(**CLOSED).run(model, progress=False)
    pd = JointPD(fa.Quintic((0, 0), (0.5, 0.5), 0.5), 400.0, 80.0)
    np.testing.assert_array_equal(told.q.values, fa.simulate(model, 1.0, u=pd, progress=False).q.values)
    assert "q_ref" in told


def test_what_is_put_around_a_controller():
    from flexarm.control import DesignedFor, Integral, Sampled
    from flexarm.scenario.controllers import made as controller

    table = changed(period=1e-2, limit=50.0, integral={"Ki": 30.0}, nominal="rigid-two-link")["controller"]
    found = controller(Scenario(**changed(**table)).controller, fa.Quintic((0, 0), (0.5, 0.5), 0.5))
    assert isinstance(found, Sampled) and found.period == 1e-2 and found.limit == 50.0
    assert isinstance(found.controller, DesignedFor) and isinstance(found.controller.controller, Integral)
    assert found.controller.controller.Ki == 30.0


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            changed(type="pid"),
            r"controller\.type is 'pid'; known types are attitude-pd, cascaded, .*joint-pd",
        ),
        (CLOSED | {"controller": {"Kp": 1.0}}, r"controller\.type is missing"),
        (CLOSED | {"controller": 3}, r"controller is 3; it must be a table"),
        (changed(kp=1.0), r"controller\.kp is unknown; did you mean 'Kp'\? Allowed keys are Kp, Kd, gravity"),
        (changed(delay=0.1), r"controller\.delay is unknown"),
        (changed(integral={"Ki": 1.0, "x": 2}), r"controller\.integral\.x is unknown; allowed keys are Ki, limit"),
        (changed(integral=1.0), r"controller\.integral is 1\.0; it must be a table"),
        (changed(integral={}), r"controller\.integral\.Ki is missing"),
        (
            {**CLOSED, "controller": {"type": "joint-pd", "Kp": 1.0}},
            r"controller\.Kd is missing",
        ),
        (CLOSED | {"input": {"type": "constant", "values": [0.0, 0.0]}}, "controller is given together with an input"),
        ({k: v for k, v in CLOSED.items() if k != "reference"}, "reference is missing; the controller 'joint-pd'"),
    ],
)
def test_a_wrong_controller_is_one_line(given, line):
    with pytest.raises(fa.DescriptionError, match=line) as caught:
        Scenario(**given)
    assert "\n" not in str(caught.value)


def test_a_gain_of_the_wrong_shape_is_named():
    with pytest.raises(fa.DescriptionError, match=r"JointPD: Kp has shape \(3,\)"):
        Scenario(**changed(Kp=[1.0, 2.0, 3.0])).run(progress=False)


def test_initial_coordinates_that_are_not_named_rest():
    """A telescope that a table leaves out starts at its nominal length, not at zero."""
    scenario = Scenario(name="s", arm="theodore-ghosal", until=1e-3, samples=2, initial={"q": {"base.joint": 0.2}})
    q = scenario.run(progress=False).q.values[0]
    rest = fa.load("theodore-ghosal").rest
    assert q[0] == 0.2 and q.tolist()[1:] == list(rest[1:])


def test_a_period_too_long_for_the_fastest_mode_is_told():
    """With the number, before the run; a shorter one is silent, and the command says it too."""
    from flexarm.control import JointPD, Sampled

    model = fa.Model(fa.load("subudhi-morris-elastic"))
    fastest = model.frequencies(np.zeros(8), locked=False).max()
    pd = JointPD(fa.Quintic((0, 0), (0.1, 0.1), 0.5), 1.0, 0.5)
    with pytest.warns(fa.errors.SlowSampling, match=rf"period is 0.002 s, longer than half .* \({fastest:.4g} rad/s\)"):
        fa.simulate(model, 0.01, u=Sampled(pd, 2e-3), method="auto", progress=False)
    fa.simulate(model, 0.01, u=Sampled(pd, 0.9 * np.pi / fastest), method="auto", progress=False)


def test_the_command_tells_it_too(tmp_path):
    text = """
name = "slow"
arm = "subudhi-morris-elastic"
until = 0.05
controller = { type = "joint-pd", Kp = 1.0, Kd = 0.5, period = 0.002 }
reference = { type = "quintic", start = [0, 0], end = [0.1, 0.1], duration = 0.02 }
"""
    (tmp_path / "slow.toml").write_text(text)
    done = run("-m", "flexarm", "simulate", "slow.toml", "--no-plot", folder=tmp_path, strict=False)
    assert done.returncode == 0
    assert done.stderr.startswith("flexarm: warning: Sampled: period is 0.002 s, longer than half")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "name", [name for name in bundled_scenarios() if load_scenario(name).controller and load_scenario(name).reference]
)
def test_bundled_closed_loops_arrive(name):
    """At the end the joints are where their reference is; most, with nothing left to vibrate."""
    result = load_scenario(name).run(progress=False)
    joints = [c for c in result.coordinate.values if c.endswith(".joint")]
    away = np.abs(result.q.sel(coordinate=joints).values[-1] - result.q_ref.values[-1]).max()
    assert away < (0.05 if name == "canadarm-slew-pd" else 0.005)
    assert result.energy_drift < 1e-6


def test_compare_prints_a_table(tmp_path):
    slews = ("canadarm-slew-shaped", "canadarm-slew-composite")
    lines = ran("-m", "flexarm", "compare", *slews, "--after", "5", folder=tmp_path).stdout.splitlines()
    assert lines[0].split()[0] == "scenario" and tuple(line.split()[0] for line in lines[1:3]) == slews
    at = lines[0].index("residual [mm]")
    shaped, composite = (float(line[at:].split()[0]) for line in lines[1:3])
    assert composite < 0.01 * shaped
    at = lines[0].index("tip settling [s]")
    assert [line[at:].split()[0] == "never" for line in lines[1:3]] == [True, False]


def test_compare_needs_a_reference(tmp_path):
    done = run("-m", "flexarm", "compare", "subudhi-morris", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "flexarm: subudhi-morris: performance: the result has no reference; simulate with one\n"
