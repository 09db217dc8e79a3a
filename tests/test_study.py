"""Studies: distributions, designs, what varies, what is kept, where it is computed, what is said when it is wrong."""

import concurrent.futures
import os
import re
import subprocess
import sys
import threading
import warnings
from collections import UserList
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import programs
import pytest
import xarray as xr
from figures import assert_readable, drawn
from scipy import stats
from study_tasks import deadly, ishigami, squared

import flexarm as fa
from flexarm import studies
from flexarm.checks import shown
from flexarm.description.load import description_of
from flexarm.errors import InterruptedRun
from flexarm.files import alone
from flexarm.studies import executors
from flexarm.studies.conduct import conduct
from flexarm.studies.digest import code_version, digest
from flexarm.studies.distributions import distribution
from flexarm.studies.figure import draw
from flexarm.studies.file import Study, bundled_studies, load_study
from flexarm.studies.plan import Plan
from flexarm.studies.result import load, save
from flexarm.studies.work import chunks

X = {"x": {"type": "uniform", "low": 0.0, "high": 1.0}}
ANGLE = {"type": "uniform", "low": -np.pi, "high": np.pi}
ABC = dict.fromkeys("abc", ANGLE)
HELPERS = Path(__file__).parent / "helpers"
SCENARIO = fa.Scenario(
    name="slew",
    arm="rigid-two-link",
    until=0.6,
    samples=61,
    reference={"type": "quintic", "start": [0.0, 0.0], "end": [0.3, -0.2], "duration": 0.3},
    controller={"type": "joint-pd", "Kp": [40.0, 30.0], "Kd": 8.0},
    solver={"method": "rk4", "step": 0.002},
)
FREE = fa.Scenario(name="swing", arm="rigid-two-link", until=0.2, samples=21)


@pytest.fixture
def forked_pool(monkeypatch):
    """Processes of a pool are copies of one that has the libraries; those of the command are new interpreters."""
    monkeypatch.setattr(executors, "multiprocessing", SimpleNamespace(get_context=lambda _: programs.server))


def run(task, parameters, design="random", executor=1, progress=False, **more):
    return fa.study(task, parameters, design, executor=executor, progress=progress, **more)


# -- distributions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "nominal", "expected"),
    [
        ({"type": "uniform", "low": "-10 %", "high": "+20%"}, 50.0, stats.uniform(45.0, 15.0)),
        ({"type": "uniform", "low": "-10 %", "high": "10 %"}, -2.0, stats.uniform(-2.2, 0.4)),
        ({"type": "uniform", "low": "3 kg", "high": 4}, None, stats.uniform(3.0, 1.0)),
        ({"type": "normal", "deviation": "10 %"}, 20.0, stats.norm(20.0, 2.0)),
        ({"type": "normal", "deviation": 0.5, "mean": "1.5 kg"}, 20.0, stats.norm(1.5, 0.5)),
        ({"type": "normal", "deviation": 2.0, "low": "-5 %", "high": 24}, 20.0, stats.truncnorm(-0.5, 2.0, 20.0, 2.0)),
        ({"type": "normal", "deviation": 2.0, "low": 19.0}, 20.0, stats.truncnorm(-0.5, np.inf, 20.0, 2.0)),
        ({"type": "lognormal", "deviation": "20 %"}, 5.0, stats.lognorm(0.2, scale=5.0)),
        ({"type": "lognormal", "deviation": 0.1, "median": "10 %"}, 5.0, stats.lognorm(0.1, scale=5.5)),
    ],
)
def test_values_have_the_distribution_that_is_asked_for(given, nominal, expected):
    quantile = distribution(given).quantile(nominal, "kg")
    share = np.array([0.001, 0.2, 0.5, 0.77, 0.999])
    np.testing.assert_allclose(expected.cdf(quantile(share)), share, rtol=1e-9)
    assert quantile.bounded == bool(np.isfinite(expected.support()).all())
    assert np.isfinite(quantile(np.array([0.0, 1.0]))).all()
    levels = quantile.levels(5)
    assert len(levels) == 5 and (np.diff(levels) > 0).all()
    assert quantile.levels(1)[0] == pytest.approx(expected.median())


def test_choices():
    quantile = distribution({"type": "choice", "values": [1, "2 kg", "50 %"], "weights": [1, 0, 3]}).quantile(2.0, "kg")
    assert quantile(np.array([0.0, 0.2, 0.26, 1.0])).tolist() == [1.0, 1.0, 3.0, 3.0]
    assert quantile.levels(7).tolist() == [1.0, 2.0, 3.0]
    words = distribution(["zv", "zvd"]).quantile("zv", "")
    assert words(np.array([0.1, 0.9])).tolist() == ["zv", "zvd"]
    assert distribution(np.array([1.0, 4.0])).quantile(None, "").levels(1).tolist() == [1.0, 4.0]


UNIFORM = {"type": "uniform", "low": 0.0, "high": 1.0}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3.0, "is 3.0; it must be a list of values or a distribution: 'uniform', 'normal', 'lognormal' or 'choice'"),
        ({"low": 1.0}, "type is missing; it must be 'uniform', 'normal', 'lognormal' or 'choice'"),
        ({"type": "beta"}, "type is 'beta'; it must be 'uniform'"),
        ({"type": ["uniform"]}, "type is \\['uniform'\\]; it must be 'uniform'"),
        ({"type": "uniform", "low": 1.0}, "high is missing"),
        (UNIFORM | {"sigma": 1}, "unknown key 'sigma'; allowed keys are low, high"),
        (UNIFORM | {"high": -1.0}, "high is -1 and low is 0; high must be larger"),
        (UNIFORM | {"high": "wide"}, "high is 'wide'; it must be a number, or a text such as"),
        (UNIFORM | {"high": "1e999"}, "high is inf; it must be finite"),
        (UNIFORM | {"high": True}, "high is True; it must be a number"),
        (UNIFORM | {"high": "2 N"}, "high is 2 N; it must be in kg, or in % of the nominal value"),
        ({"type": "normal", "deviation": 0.0}, "deviation is 0; it must be positive"),
        ({"type": "normal", "deviation": "-3 %"}, "deviation is -3 %; it must be positive"),
        ({"type": "normal", "deviation": 1.0, "low": 3.0, "high": 3.0}, "high is 3 and low is 3; high must be larger"),
        (
            {"type": "normal", "deviation": 0.1, "low": 9.0},
            "deviation is 0.1; almost no values are between low and high",
        ),
        ({"type": "lognormal", "deviation": 0.1, "median": -1}, "median is -1; it must be positive"),
        ({"type": "lognormal", "deviation": -0.1}, "deviation is -0.1; it must be positive"),
        ([], "values is empty; it must have at least one value"),
        ([1.0, None], r"values\[1\] is None; it must be a number"),
        ([1.0, "much"], r"values\[1\] is 'much'; it must be a number, or a text such as"),
        ({"type": "choice", "values": 3.0}, "values is 3.0; it must be a list of values"),
        ({"type": "choice", "values": [1, 2], "weights": [1]}, "weights has 1 number; .* each of the 2 values"),
        ({"type": "choice", "values": [1, 2], "weights": [0, 0]}, "weights are all zero; one must be positive"),
        (
            {"type": "choice", "values": [1, 2], "weights": [1, -1]},
            r"weights\[1\] is -1.0; it must be zero or positive",
        ),
    ],
)
def test_a_wrong_distribution_is_one_line(given, message):
    with pytest.raises(fa.DescriptionError, match=f"^study: parameters.upper.mass[. ].*{message}") as error:
        run(SCENARIO, {"upper.mass": given})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"type": "uniform", "low": "-1 %", "high": "1 %"}, "low is in %, but the nominal value is unknown"),
        ({"type": "normal", "deviation": 1.0}, "mean is missing; there is no nominal value"),
        ({"type": "lognormal", "deviation": 1.0}, "median is missing; there is no nominal value"),
        ({"type": "uniform", "low": "1 kg", "high": "2 kg"}, "low is 1 kg; it must be without a unit"),
    ],
)
def test_a_function_has_no_nominal_values(given, message):
    with pytest.raises(fa.DescriptionError, match=rf"^study: parameters\.x\.{message}"):
        run(squared, {"x": given})


def test_a_share_of_zero():
    scenario = SCENARIO.replace(controller=dict(SCENARIO.controller) | {"Kd": 0.0})
    with pytest.raises(fa.DescriptionError, match="deviation is in %, but the nominal value is zero"):
        run(scenario, {"controller.Kd": {"type": "normal", "deviation": "10 %"}})


# -- designs -----------------------------------------------------------------------------------------------------------


def shares(design):
    return np.array(design.samples([distribution(UNIFORM).quantile(None, "")] * 3))


def test_a_latin_hypercube_has_one_value_in_each_part():
    values = shares(studies.LatinHypercube(runs=50, seed=3))
    assert (np.sort(np.floor(50 * values), axis=1) == np.arange(50)).all()


def test_sobol_and_random_go_on_where_a_shorter_one_ends():
    for cls in (studies.Sobol, studies.Random):
        np.testing.assert_array_equal(shares(cls(runs=200, seed=1))[:, :77], shares(cls(runs=77, seed=1)))
        assert (shares(cls(runs=8, seed=1)) != shares(cls(runs=8, seed=2))).all()


def test_sobol_is_more_even_than_random():
    discrepancies = [
        stats.qmc.discrepancy(shares(cls(runs=256, seed=5)).T)
        for cls in (studies.Sobol, studies.LatinHypercube, studies.Random)
    ]
    assert discrepancies[0] < discrepancies[1] < discrepancies[2]


def test_a_grid_has_every_combination():
    result = run(lambda s: s["a"] + s["b"], {"a": [1, 2, 3], "b": UNIFORM}, {"type": "grid", "levels": 2})
    assert result.a.values.tolist() == [1, 1, 2, 2, 3, 3]
    assert result.b.values.tolist() == [0, 1, 0, 1, 0, 1]
    assert result["value"].values.tolist() == [1, 2, 2, 3, 3, 4]


@pytest.mark.parametrize(
    ("design", "more", "message"),
    [
        (
            3,
            {},
            "design is 3; it must be 'random', 'latin-hypercube', 'sobol', 'grid', 'sensitivity' or 'worst-case', or",
        ),
        ("monte carlo", {}, "design is 'monte carlo'; it must be 'random'"),
        ({"runs": 3}, {}, "design has no type; it must be 'random'"),
        ({"type": "random", "runs": 0}, {}, "design.runs is 0; it must be a whole number, at least 1"),
        ({"type": "random", "runs": 1e9}, {}, "design.runs is 1000000000; it must be at most 10000000"),
        ("random", {"seed": -1}, "design.seed is -1; it must be an integer from 0 to"),
        ("random", {"runs": 2.5}, "design.runs is 2.5; it must be a whole number"),
        ({"type": "random", "levels": 3}, {}, "design unknown key 'levels'; allowed keys are runs, seed"),
        ({"type": "sensitivity", "base": 100}, {}, "design.base is 100; it must be a power of two, such as 64 or 128"),
        ({"type": "sensitivity", "base": 1}, {}, "design.base is 1; it must be a power of two, such as 2 or 4"),
        ("sensitivity", {"runs": 5}, "runs is 5; with 1 parameter a sensitivity study needs at least 6 runs"),
        ("sensitivity", {"runs": 0}, "runs is 0; it must be a whole number, at least 1"),
        ({"type": "sensitivity", "confidence": 95}, {}, "design.confidence is 95; it must be between 0 and 1"),
        ("grid", {"runs": 10}, "runs does not apply to a grid design; set its levels instead"),
        ("grid", {"seed": 1}, "seed does not apply to a grid design"),
        ("worst-case", {}, "design.outcome is missing"),
        (
            {"type": "worst-case", "outcome": "value", "worst": "best"},
            {},
            "design.worst is 'best'; it must be 'largest' or",
        ),
        ("random", {"chunk": 0}, "chunk is 0; it must be a whole number, at least 1"),
        ("random", {"knows": "all"}, "knows is 'all'; it must be 'nominal' or 'true'"),
        ("random", {"knows": np.eye(2)}, f"knows is {re.escape(shown(np.eye(2)))}; it must be 'nominal' or 'true'"),
        ("random", {"band": 0.0}, "band is 0.0; it must be positive"),
        ("random", {"after": -1.0}, "after is -1.0 s; it must be zero or positive"),
        ("random", {"name": 3}, "name is 3; it must be a str"),
        ("random", {"progress": 3}, "progress is 3; it must be true, false or a function of two numbers"),
        ("random", {"executor": 0}, "executor is 0; it must be a concurrent.futures.Executor, a number of processes"),
        ("random", {"executor": [1]}, r"executor is \[1\]; it must be a concurrent.futures.Executor"),
    ],
)
def test_a_wrong_argument_is_one_line(design, more, message):
    with pytest.raises(fa.DescriptionError, match=f"^study: {message}") as error:
        run(squared, X, design, **more)
    assert "\n" not in str(error.value)


def test_a_grid_that_is_too_large():
    with pytest.raises(fa.DescriptionError, match=r"design.levels is 5000, which means 125000000000 runs, and at most"):
        run(ishigami, ABC, {"type": "grid", "levels": 5000})


# -- what it is of -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "parameters is {}; it must be a dict of distributions by parameter name"),
        ([1], r"parameters is \[1\]; it must be a dict"),
        ({"upper.weight": [1.0]}, r"unknown parameter 'upper.weight'; did you mean .* The parameters are .*upper.mass"),
        ({"*.mass": [1.0], "fore.mass": [2.0]}, "parameters.fore.mass matches fore.mass, which another entry"),
        ({"controller.gain": [1.0]}, "controller.gain is unknown; allowed keys are Kp, Kd"),
        (
            {"reference.speed": [1.0]},
            "the scenario has no field 'reference.speed'; did you mean",
        ),
        ({"reference.type": UNIFORM}, "parameters.reference.type is the text 'quintic'; give a list of texts"),
        (
            {"reference.duration": [-1.0]},
            "reference: duration is -1.0 s; it must be positive|reference.duration is -1.0 s",
        ),
    ],
)
def test_what_cannot_vary(parameters, message):
    with pytest.raises(fa.DescriptionError, match=message) as error:
        run(SCENARIO, parameters, "grid")
    assert "\n" not in str(error.value)


def test_a_name_that_no_parameter_can_have():
    for name in ("status", "run", "a/b", "a\nb"):
        with pytest.raises(fa.DescriptionError, match="is not a valid name of a parameter; use another name"):
            run(squared, {name: [1.0]})


def test_a_task_that_is_none():
    with pytest.raises(fa.DescriptionError, match="study: task is 3; it must be a scenario, its name or file, a Model"):
        run(3, X)
    with pytest.raises(
        fa.DescriptionError, match="study: until is unknown; only a study of a Model has arguments of simulate_many"
    ):
        run(squared, X, until=3.0)


def test_a_model_is_run_for_each_sample():
    model = fa.Model(fa.load("rigid-two-link"), vary=["gravity"])
    reference = fa.Quintic((0.0, 0.0), (0.3, -0.2), 0.3)
    more = {"until": 0.5, "method": "rk4", "solver": fa.Solver(step=0.005), "samples": 51, "u": [0.4, 0.1]}
    result = run(model, {"upper.mass": [1.0, -1.0, 1.5]}, "grid", keep=["residual", "tip"], reference=reference, **more)
    assert result.attrs["name"] == "rigid-two-link"
    assert "upper.mass is -1.0 kg; it must be positive" in str(result.status.values[1])
    for i in (0, 2):
        at = fa.Model(model.arm, vary=["upper.mass"]).at({"upper.mass": float(result["upper.mass"][i])})
        expected = fa.simulate(at, reference=reference, progress=False, **more)
        assert float(result.residual[i]) == pytest.approx(fa.performance(expected).residual, rel=1e-9)
        np.testing.assert_allclose(result.tip.values[i], expected.tip.values, atol=1e-12)
    assert set(run(model, {"upper.mass": [1.0]}, "grid", until=0.1).attrs["outcomes"]) >= {
        "largest_deflection",
        "effort",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "until is missing; it is the end of each run"),
        ({"until": 1.0, "speed": 3}, "speed is unknown; known arguments are until, u, q0"),
        ({"until": 1.0, "keep": ["settling"]}, "keep has 'settling', but the run has no reference"),
        ({"until": 1.0, "q0": [0.1]}, r"q0 has shape \(1,\); it must have 2 numbers: upper.joint, fore.joint"),
        ({"until": 1.0, "qd0": "fast"}, "qd0 is not an array of numbers"),
    ],
)
def test_a_model_and_wrong_arguments(arguments, message):
    with pytest.raises(fa.DescriptionError, match=f"^study: {message}"):
        run(fa.Model(fa.load("rigid-two-link")), {"upper.mass": [1.0]}, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"until": -1.0}, "until is -1.0 s; it must be positive"),
        ({"until": 1.0, "method": "leapfrog"}, "method is 'leapfrog'"),
        ({"until": 1.0, "reference": fa.Quintic((0.0,), (1.0,), 0.5)}, "reference moves 1 joint; the arm has 2"),
    ],
)
def test_a_model_and_what_no_run_can_do(arguments, message):
    """It is said at once, not of each chunk."""
    with pytest.raises(fa.DescriptionError, match=message):
        run(fa.Model(fa.load("rigid-two-link")), {"upper.mass": [1.0]}, **arguments)


def test_a_sample_that_cannot_be_costs_no_other():
    """A delay is a whole number of periods, which is seen where all of a chunk are designed."""
    scenario = SCENARIO.replace(controller=dict(SCENARIO.controller) | {"period": 0.004})
    result = run(scenario, {"controller.delay": [0.0, 0.006, 0.008]}, "grid", chunk=3)
    assert result.status.values[[0, 2]].tolist() == ["completed"] * 2 and not result.attrs["runs_lost"]
    assert "delay is 0.006 s; it must be a whole number of periods" in str(result.status.values[1])
    alone = run(scenario, {"controller.delay": [0.008]}, "grid")
    assert float(result.residual[2]) == float(alone.residual[0])


def test_an_arm_that_cannot_move_costs_no_other():
    more = {"until": 0.1, "method": "rk4", "solver": fa.Solver(step=0.01), "samples": 11}
    light = fa.Model(fa.load("rigid-two-link"))
    result = run(light, {"fore.mass": [1.0, 1e-300, 1e30]}, "grid", chunk=3, **more)
    assert str(result.status.values[0]) == "completed" and not result.attrs["runs_lost"]


@pytest.mark.parametrize("name", ["until", "samples"])
def test_trajectories_need_times_in_common(name):
    with pytest.raises(
        fa.DescriptionError, match=f"^study: keep has 'q' and {name} varies; trajectories need the same times"
    ):
        run(FREE, {name: [2, 3]}, "grid", keep=["q", "effort"])
    assert run(FREE, {name: [2, 3]}, "grid", keep=["effort"]).attrs["runs_failed"] == 0


def test_a_function_may_change_what_it_is_given():
    def changed(samples):
        samples["x"] *= 3.0
        return samples["x"]

    result = run(changed, X, runs=6, chunk=2)
    assert result.x.values.max() <= 1.0
    np.testing.assert_allclose(result["value"].values, 3.0 * result.x.values)


def test_outcomes_of_another_shape_are_told_and_the_others_kept():
    def shaped(samples):
        return {"rows": np.zeros((len(samples["x"]), 2 if samples["x"][0] < 0.9 else 3))}

    result = run(shaped, {"x": [0.1, 0.5, 0.95]}, "grid", chunk=1)
    assert result.status.values[:2].tolist() == ["completed"] * 2 and result.attrs["runs_lost"] == 1
    assert str(result.status.values[2]) == "rows has shape (3,) in some runs and (2,) in others; it must be the same"


def test_what_a_chunk_says_is_one_line():
    def loud(samples):
        raise ValueError("no\nroot\x1b[31m" + "x" * 3000)

    (said,) = set(run(loud, X, runs=2).status.values)
    assert said.startswith("ValueError: no root\\x1b[31mxxx") and len(said) < 600


@pytest.mark.parametrize(
    ("scenario", "keep", "message"),
    [
        (SCENARIO, [], "keep is empty; it must name some of arrival"),
        (SCENARIO, "peak", "keep is 'peak'; it must be a list of names"),
        (SCENARIO, ["grace"], "keep has the unknown name 'grace'; known names are arrival, error, settling"),
        (SCENARIO, [["peak"], {}], r"keep has the unknown name \['peak'\]; known names are arrival, error, settling"),
        (
            FREE,
            ["settling"],
            "keep has 'settling', but the run has no reference; without one there are largest_deflection",
        ),
        (squared, ["value"], "keep does not apply to a function, whose results are all stored; leave it out"),
    ],
)
def test_what_cannot_be_kept(scenario, keep, message):
    with pytest.raises(fa.DescriptionError, match=f"^study: {message}"):
        run(scenario, X, keep=keep)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({}, "has returned an empty table; it must return outcomes"),
        ("much", "has returned 'much' for 'value'; it must be numbers, one per run"),
        (3.0, r"has returned shape \(\) for 'value'; its first axis must have 4 runs"),
        ({"x": [1.0] * 4}, "has returned an outcome called 'x'; use another name"),
        ({"status": [1.0] * 4}, "has returned an outcome called 'status'; use another name"),
    ],
)
def test_a_function_that_returns_something_else(returned, message):
    result = run(lambda samples: returned, X, runs=8, chunk=4)
    assert result.attrs["runs_lost"] == 8
    assert all(message.replace("\\", "") in status for status in result.status.values)


def test_a_scenario_is_run_for_each_sample():
    """Numbers of the arm and of the scenario: as the same scenario written out and run alone."""
    parameters = {
        "upper.mass": [1.0, 1.3],
        "controller.Kp.1": [30.0, 35.0],
        "reference": {"duration": [0.3, "0.25 "]},
        "samples": [61],
    }
    result = run(SCENARIO, parameters, "grid", knows="true", keep=["residual", "peak", "error", "u", "tip"])
    assert result.sizes["run"] == 8 and (result.status == "completed").all()
    assert result["upper.mass"].attrs == {"units": "kg", "long_name": "mass", "nominal": 1.0}
    for i in (0, 3, 7):
        at = result.isel(run=i)
        arm = SCENARIO.loaded_arm()
        upper = arm.links[0].replace(body=arm.links[0].body.replace(mass=float(at["upper.mass"])))
        table = dict(SCENARIO.controller) | {"Kp": [40.0, float(at["controller.Kp.1"])]}
        reference = SCENARIO.reference.replace(duration=float(at["reference.duration"]))
        one = SCENARIO.replace(arm=arm.replace(links=[upper, arm.links[1]]), controller=table, reference=reference)
        expected = one.run(progress=False)
        worth = fa.performance(expected)
        for name in ("residual", "peak", "error"):
            assert float(at[name]) == pytest.approx(getattr(worth, name), rel=1e-7, abs=1e-12)
        for name in ("u", "tip"):
            np.testing.assert_allclose(at[name].values, expected[name].values, rtol=1e-7, atol=1e-9)
    assert result.u.dims == ("run", "time", "input") and result.u.attrs == expected.u.attrs
    assert result.attrs["outcomes"] == ["residual", "peak", "error"]


def test_a_controller_knows_the_nominal_arm_or_that_of_each_run():
    scenario = SCENARIO.replace(controller={"type": "computed-torque", "Kp": 100.0, "Kd": 20.0})
    parameters = {"*.mass": {"type": "uniform", "low": "20 %", "high": "30 %"}}
    ignorant, wise = (run(scenario, parameters, runs=3, knows=knows) for knows in ("nominal", "true"))
    assert (wise.error.values < 1e-6).all()  # computed torque cancels what it knows
    assert (ignorant.error.values > 1e-3).all()


@pytest.mark.parametrize("more", [{}, {"reference.duration": [0.3]}], ids=["together", "one by one"])
def test_torques_are_those_of_the_nominal_arm_too(more):
    """However the runs go: exact torques of the nominal arm are wrong for another one."""
    scenario = fa.Scenario(**{**dict(SCENARIO), "controller": None, "input": {"type": "rigid-inverse-dynamics"}})
    parameters = {"upper.mass": [1.0, 1.4]} | more
    nominal, true = (run(scenario, parameters, "grid", knows=knows).error.values for knows in ("nominal", "true"))
    assert nominal[0] < 1e-6 and nominal[1] > 1e-3
    assert (true < 1e-6).all()


def test_a_gain_that_is_not_given_can_vary():
    sampled = SCENARIO.replace(controller=dict(SCENARIO.controller) | {"period": 0.01})
    result = run(sampled, {"controller.delay": [0.0, 0.01]}, "grid")
    assert (result.status == "completed").all() and result.error.values[0] != result.error.values[1]


def test_words_vary():
    scenario = SCENARIO.replace(solver={"rtol": 1e-9})
    result = run(scenario, {"solver.method": ["dop853", "rk45"]}, "grid")
    assert result["solver.method"].values.tolist() == ["dop853", "rk45"]
    np.testing.assert_allclose(*result.residual.values, rtol=1e-4)
    assert_readable(drawn(draw(result).figure))


def test_runs_that_end_badly_say_why_and_the_others_go_on():
    parameters = {"upper.mass": {"type": "choice", "values": [1.0, -1.0]}, "controller.Kd": [8.0, -1e4]}
    result = run(SCENARIO, parameters, "grid")
    said = result.status.values.tolist()
    assert said[0] == "completed" and "upper.mass is -1.0 kg; it must be positive" in said[2]
    assert "diverged" in said[1]
    assert np.isfinite(result.peak.values).tolist() == [True, False, False, False]
    assert result.attrs["runs_failed"] == 3 and result.attrs["runs_lost"] == 0


def test_runs_without_a_reference():
    result = run(
        FREE,
        {"upper.mass": [0.5, 1.0]},
        "grid",
        keep=["effort", "largest_input", "largest_deflection", "q", "energy_drift"],
    )
    assert (
        result.effort.values.tolist()
        == result.largest_input.values.tolist()
        == result.largest_deflection.values.tolist()
    )
    assert result.q.dims == ("run", "time", "coordinate") and (result.q.values[0] != result.q.values[1]).any()
    assert (result.energy_drift.values < 1e-6).all()
    assert set(run(FREE, {"upper.mass": [0.5]}).attrs["outcomes"]) == {"effort", "largest_input", "largest_deflection"}


# -- statistics --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("forked_pool")
def test_indices_of_a_function_that_are_known():
    """Ishigami & Homma 1990: the variance and its parts in closed form."""
    a, b = 7.0, 0.1
    v = [(1 + b * np.pi**4 / 5) ** 2 / 2, a**2 / 8, 0.0]
    v13 = b**2 * np.pi**8 * (1 / 18 - 1 / 50)
    total = sum(v) + v13
    result = run(ishigami, ABC, "sensitivity", runs=4096 * 5, seed=1)
    assert result.sizes["run"] == 4096 * 5
    at = result.sel(outcome="value")
    np.testing.assert_allclose(at.first_order.values, np.array(v) / total, atol=0.03)  # about 2 / sqrt(4096)
    np.testing.assert_allclose(at.total_order.values, np.array([v[0] + v13, v[1], v13]) / total, atol=0.03)
    for order in ("first_order", "total_order"):
        assert (at[f"{order}_low"] < at[order]).all() and (at[order] < at[f"{order}_high"]).all()
    assert float(result["value"].mean()) == pytest.approx(a / 2, abs=0.1)
    again = run(ishigami, ABC, {"type": "sensitivity", "base": 4096}, seed=1, executor=2)
    xr.testing.assert_identical(again.drop_attrs(), result.drop_attrs())


@pytest.mark.parametrize(("runs", "base"), [(10, 2), (19, 2), (20, 4), (319, 32), (320, 64)])
def test_a_sensitivity_study_has_at_most_the_runs_that_are_given(runs, base):
    assert run(ishigami, ABC, "sensitivity", runs=runs).sizes["run"] == 5 * base <= runs


def test_bounds_of_indices_hold_what_they_promise():
    """Of 95 percent bounds about one in twenty is wrong; here more than half of so many wrong would be bad luck."""
    first = 7.0**2 / 8 / ((1 + 0.1 * np.pi**4 / 5) ** 2 / 2 + 7.0**2 / 8 + 0.01 * np.pi**8 * (1 / 18 - 1 / 50))
    inside = 0
    for seed in range(40):
        at = run(ishigami, ABC, "sensitivity", runs=128 * 5, seed=seed).isel(outcome=0, parameter=1)
        inside += bool(at.first_order_low <= first <= at.first_order_high)
    assert inside >= 34  # 38 expected; fewer has a chance below 1e-2 for a true 95 percent


def test_indices_where_runs_are_missing():
    def broken(samples):
        y = samples["x"] + 10.0 * samples["y"]
        return {
            "all": y,
            "some": np.where(samples["x"] > 0.9, np.nan, y),
            "few": np.where(samples["x"] > 0.001, np.nan, y),
        }

    result = run(broken, {"x": UNIFORM, "y": UNIFORM}, "sensitivity", runs=64 * 4)
    assert result.indices_rows.values[0] == 64 and result.indices_rows.values[1] == 32
    assert result.first_order.sel(outcome="some", parameter="y") > 0.8
    assert np.isnan(result.first_order.sel(outcome="few")).all()


def test_a_single_parameter_has_all_of_the_variance():
    result = run(lambda samples: samples["x"] ** 2, {"x": UNIFORM}, "sensitivity", runs=256 * 3)
    assert result.first_order.shape == result.total_order_low.shape == (1, 1)
    assert result.first_order.item() == pytest.approx(1.0, abs=0.05)  # as 256 samples tell it
    assert result.total_order.item() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    ("worst", "expected"), [("largest", 7 + 1 + 0.1 * np.pi**4), ("smallest", -1 - 0.1 * np.pi**4)]
)
@pytest.mark.usefixtures("forked_pool")
def test_the_worst_case_is_found(worst, expected):
    design = {"type": "worst-case", "outcome": "value", "worst": worst, "runs": 3000, "seed": 2}
    result = run(ishigami, ABC, design)
    at = result.isel(run=result.attrs["worst_run"])
    assert float(at["value"]) == pytest.approx(expected, abs=0.1)
    assert result.sizes["run"] <= 3000
    xr.testing.assert_identical(run(ishigami, ABC, design, executor=2).drop_attrs(), result.drop_attrs())


def test_a_run_that_fails_is_the_worst_case_and_ends_the_search():
    design = studies.WorstCase(outcome="peak", runs=200, seed=1)
    result = run(SCENARIO, {"controller.Kd": {"type": "uniform", "low": -5000.0, "high": 8.0}}, design)
    at = result.isel(run=result.attrs["worst_run"])
    assert "diverged" in str(at.status.values) and result.sizes["run"] < 100


@pytest.mark.parametrize(
    ("task", "parameters", "outcome", "message"),
    [
        (
            squared,
            {"x": {"type": "normal", "deviation": 1.0, "mean": 0.0}},
            "value",
            "parameters.x has no bounds, which",
        ),
        (
            SCENARIO,
            {"upper.mass": UNIFORM | {"low": 0.5}},
            "grace",
            "design.outcome is 'grace'; the outcomes in keep are error, settling",
        ),
        (squared, X, "grace", "design.outcome is 'grace'; the outcomes are value"),
    ],
)
def test_a_search_for_nothing(task, parameters, outcome, message):
    with pytest.raises(fa.DescriptionError, match=f"^study: {message}"):
        run(task, parameters, {"type": "worst-case", "outcome": outcome, "runs": 20})


# -- folders -----------------------------------------------------------------------------------------------------------


class Calls(UserList):
    """What a function of a study has been called with; it is no part of the study."""

    def __reduce_ex__(self, _):
        return Calls, ()


def test_a_study_goes_on_where_it_was(tmp_path):
    calls = Calls()

    def counted(samples):
        calls.append(samples["x"].copy())
        if len(calls) == 4:
            raise KeyboardInterrupt
        return samples["x"] ** 2

    with pytest.warns(InterruptedRun, match=r"interrupted; 6 of 10 runs are in .*; start again to continue"):
        part = run(counted, X, runs=10, chunk=2, folder=tmp_path / "kept")
    assert part.status.values.tolist() == ["completed"] * 6 + ["not computed"] * 4
    assert np.isfinite(part["value"].values).sum() == 6
    whole = run(counted, X, runs=10, chunk=2, folder=tmp_path / "kept")
    assert len(calls) == 4 + 2 and whole.attrs["runs_found"] == 6
    again = run(counted, X, runs=10, chunk=2, folder=tmp_path / "kept")
    assert len(calls) == 6 and again.attrs["runs_found"] == 10
    xr.testing.assert_identical(again.drop_attrs(), whole.drop_attrs())
    more = run(counted, X, runs=14, chunk=2, folder=tmp_path / "kept")
    assert len(calls) == 8 and more.attrs["runs_found"] == 10  # more runs of the same study
    np.testing.assert_array_equal(more["value"].values[:10], whole["value"].values)


def test_a_search_goes_on_where_it_was(tmp_path):
    design = studies.WorstCase(outcome="value", runs=100, seed=2)
    calls = Calls()

    def counted(samples):
        calls.append(len(samples["x"]))
        if len(calls) == 6:
            raise KeyboardInterrupt
        return np.sin(9 * samples["x"])

    with pytest.warns(InterruptedRun):
        run(counted, X, design, folder=tmp_path / "kept")
    before = len(calls)
    result = run(counted, X, design, folder=tmp_path / "kept")
    assert result.attrs["runs_found"] == sum(calls[: before - 1])
    assert result.attrs["runs_found"] + sum(calls[before:]) == result.sizes["run"]
    xr.testing.assert_identical(result.drop_attrs(), run(lambda s: np.sin(9 * s["x"]), X, design).drop_attrs())


def test_damaged_chunks_are_computed_again(tmp_path):
    result = run(squared, X, runs=8, chunk=2, folder=tmp_path)
    files = sorted(tmp_path.glob("*.nc"))
    content = files[0].read_bytes()
    files[0].write_bytes(content[:-100] + bytes(100))
    files[1].write_bytes(files[2].read_bytes())
    again = run(squared, X, runs=8, chunk=2, folder=tmp_path)
    assert again.attrs["runs_found"] == 4
    xr.testing.assert_identical(again.drop_attrs(), result.drop_attrs())
    assert files[0].read_bytes()[-50:] == content[-50:]


def test_other_code_has_other_chunks(tmp_path, monkeypatch):
    run(squared, X, runs=4, folder=tmp_path)
    monkeypatch.setattr("flexarm.studies.work.code_version", lambda: "other")
    monkeypatch.setattr("flexarm.studies.schedule.code_version", lambda: "other")
    assert run(squared, X, runs=4, folder=tmp_path).attrs["runs_found"] == 0
    monkeypatch.setattr("flexarm.studies.schedule.code_version", lambda: "another")
    lost = run(squared, X, runs=5, folder=tmp_path)
    assert "the worker has flexarm other and the study another" in lost.status.values[4]


def test_a_folder_of_another_study_is_refused(tmp_path):
    run(squared, X, runs=4, folder=tmp_path / "kept", name="first")
    before = {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()}
    for task, parameters in ((squared, {"x": [1.0]}), (ishigami, ABC), (lambda s: s["x"], X)):
        with pytest.raises(
            fa.DescriptionError, match=r"kept belongs to another study, or to first with other param"
        ) as e:
            run(task, parameters, runs=4, folder=tmp_path / "kept")
        assert "\n" not in str(e.value)
    with pytest.raises(fa.DescriptionError, match="belongs to another study"):
        run(squared, X, "sobol", runs=4, folder=tmp_path / "kept")
    assert {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()} == before


def test_folders_that_are_none(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(
        fa.DescriptionError,
        match=r"is not the folder of a study, because it contains thesis.tex; give another or an empty",
    ):
        run(squared, X, runs=4, folder=tmp_path)
    with pytest.raises(fa.DescriptionError, match=r"thesis.tex.*: cannot be written|thesis.tex.*: cannot be read"):
        run(squared, X, runs=4, folder=tmp_path / "thesis.tex")
    for content, message in (
        ("{", "study.json: cannot be read: the file is damaged"),
        ("[1]", "belongs to another study, or to unknown"),
    ):
        (tmp_path / "other").mkdir(exist_ok=True)
        (tmp_path / "other" / "study.json").write_text(content)
        with pytest.raises(fa.DescriptionError, match=message):
            run(squared, X, runs=4, folder=tmp_path / "other")
    with pytest.raises(fa.DescriptionError, match="path is of type int; it must be the name of a file"):
        run(squared, X, runs=4, folder=3)


def test_two_at_once_in_one_folder(tmp_path):
    def inside(samples):
        with pytest.raises(fa.DescriptionError, match=f"{tmp_path}: another process is computing this study; wait"):
            run(inside, X, runs=4, folder=tmp_path)
        return samples["x"]

    assert run(inside, X, runs=4, chunk=4, folder=tmp_path).attrs["runs_lost"] == 0


def test_alone(tmp_path):
    with alone(tmp_path / "deep" / "lock") as first, alone(tmp_path / "deep" / "lock") as second:
        assert first and not second
    with alone(tmp_path / "deep" / "lock") as again:
        assert again
    with pytest.raises(fa.DescriptionError, match="cannot be written"), alone(tmp_path):
        pass


# -- executors ---------------------------------------------------------------------------------------------------------


def test_any_executor():
    expected = run(squared, X, runs=20, chunk=3)
    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        found = run(squared, X, runs=20, chunk=3, executor=threads)
        assert threads.submit(lambda: 3).result() == 3  # it stays the user's
    xr.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())


def test_an_executor_that_dies_is_one_line_and_nothing_is_lost(tmp_path):
    parameters = {"x": [0.1, 0.2, 0.95, 0.3]}
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn()) as pool:
        with pytest.raises(fa.SimulationError, match="study: the executor has died: BrokenProcessPool") as error:
            run(deadly, parameters, "grid", chunk=1, executor=pool, folder=tmp_path)
        assert f"2 of 4 runs are in {tmp_path}; start again to continue" in str(error.value)
        assert error.value.result["value"].values[:2].tolist() == pytest.approx([0.01, 0.04])
        with pytest.raises(fa.SimulationError, match=r"study: the executor rejects work.*; 2 of 4 runs are in"):
            run(deadly, parameters, "grid", chunk=1, executor=pool, folder=tmp_path)


class Eager(concurrent.futures.Executor):
    """Has done its work when it is given."""

    def submit(self, function, *arguments):
        done = concurrent.futures.Future()
        done.set_result(function(*arguments))
        return done


def test_what_has_come_when_ctrl_c_does_is_kept(tmp_path):
    seen = []

    def pressed(done, total):
        seen.append(done)
        if len(seen) == 1:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedRun, match="interrupted; 8 of 8 runs are in"):
        run(squared, X, runs=8, chunk=2, executor=Eager(), folder=tmp_path, progress=pressed)
    assert run(squared, X, runs=8, chunk=2, folder=tmp_path).attrs["runs_found"] == 8


def spawn():
    import multiprocessing

    return multiprocessing.get_context("spawn")


@pytest.mark.usefixtures("forked_pool")
def test_a_chunk_that_kills_processes_is_reported_and_the_others_are_done(tmp_path):
    x = [0.1, 0.95, 0.2, 0.3, 0.4, 0.99, 0.5, 0.6]
    result = run(deadly, {"x": x}, "grid", chunk=1, executor=2, folder=tmp_path)
    lost = np.array(x) > 0.9
    assert result.run_lost.values.tolist() == lost.tolist()
    np.testing.assert_array_equal(result["value"].values[~lost], np.array(x)[~lost] ** 2)
    assert set(result.status.values[lost]) == {"its process was killed, perhaps because the memory was full"}


def test_what_cannot_be_sent_to_processes():
    with pytest.raises(fa.DescriptionError, match="study: the task cannot be sent to other processes: "):
        run(lambda samples: samples["x"], X, executor=2)
    lock = threading.Lock()
    with pytest.raises(fa.DescriptionError, match=r"study: .* cannot be pickled"):
        run(Holding(lock), X)
    holding = Holding(None)
    holding.thing = [holding]
    with pytest.raises(fa.DescriptionError, match="is nested too deeply, or contains itself"):
        run(holding, X)


class Holding:
    def __init__(self, thing):
        self.thing = thing

    def __call__(self, samples):
        return samples["x"]


def test_a_script_without_its_guard(tmp_path):
    (tmp_path / "script.py").write_text(
        "from study_tasks import squared\nimport flexarm as fa\n"
        "fa.study(squared, {'x': [1.0, 2.0]}, 'grid', executor=2)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HELPERS), str(HELPERS.parents[1] / "src")])}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    # a process that was ended in the midst may leave the interpreter's own word on semaphores behind
    last = [line for line in done.stderr.splitlines() if not re.search("resource_tracker", line)][-1]
    assert done.returncode == 1 and 'do so under `if __name__ == "__main__":`' in last
    assert done.stderr.count("Traceback") == 1  # its own, and none of its processes'


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(fa.DescriptionError, match=r"study: a cluster needs Dask: pip install 'flexarm\[cluster\]'"):
        run(squared, X, executor="local")


def test_progress_is_told():
    seen = []
    run(squared, X, runs=10, chunk=4, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(4, 10), (8, 10), (10, 10)]


# -- digests -----------------------------------------------------------------------------------------------------------


def test_equal_things_have_equal_digests_in_every_process():
    plan = load_study("canadarm-robustness").plan()
    program = (
        "from flexarm.studies.file import load_study; from flexarm.studies.digest import digest;"
        "plan = load_study('canadarm-robustness').plan(); print(digest(plan.task), plan.identity())"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(HELPERS.parents[1] / "src")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [digest(plan.task), plan.identity()]


def times(factor):
    """A function that holds a number."""

    def multiplied(samples):
        return factor * samples["x"]

    return multiplied


FACTOR = 1.0


def by_factor(samples):
    return FACTOR * samples["x"]


def by_another(samples):
    return by_factor(samples) if len(samples) else by_another(samples)


class Multiplied:
    def __call__(self, samples):
        return samples["x"]

    def method(self, samples):
        return samples["x"]


def test_a_function_with_other_numbers_is_another_study(tmp_path):
    """Those that it was made with; a folder of one is not that of the other."""
    run(times(1.0), X, runs=4, folder=tmp_path / "x")
    with pytest.raises(fa.DescriptionError, match="belongs to another study"):
        run(times(2.0), X, runs=4, folder=tmp_path / "x")
    assert run(times(1.0), X, runs=4, folder=tmp_path / "x").attrs["runs_found"] == 4


@pytest.mark.parametrize("function", [by_factor, by_another])
def test_a_function_that_asks_for_another_constant_is_another(function, monkeypatch):
    """Also where a function that it calls does."""
    before = digest(function)
    assert digest(function) == before
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 2.0)
    assert digest(function) != before


@pytest.mark.parametrize("name", ["__call__", "method"])
def test_an_object_whose_method_was_changed_is_another(name, monkeypatch):
    before = digest(getattr(Multiplied(), name))
    monkeypatch.setattr(Multiplied, name, lambda self, samples: 2.0 * samples["x"])
    assert digest(getattr(Multiplied(), name)) != before


def test_a_callable_object_is_its_code(monkeypatch):
    before = digest(Multiplied())
    monkeypatch.setattr(Multiplied, "__call__", lambda self, samples: 2.0 * samples["x"])
    assert digest(Multiplied()) != before


def test_a_function_may_hold_what_has_no_end():
    """Of objects that hold each other there are more ways than anybody can go."""
    knot = Holding(None)
    for _ in range(12):
        knot = Holding([knot] * 8)

    def tied(samples):
        return knot and samples["x"]

    assert digest(tied) == digest(tied)


def test_a_function_may_hold_what_does_not_pickle():
    lock = threading.Lock()

    def locked(samples):
        with lock:
            return FACTOR * samples["x"]

    assert digest(locked) == digest(locked) != digest(times(1.0))


def test_what_differs_has_another_digest():
    def doubled(samples):
        return 2 * samples["x"]

    def tripled(samples):
        return 3 * samples["x"]

    tripled.__qualname__, tripled.__name__ = doubled.__qualname__, doubled.__name__
    things = [
        1, 1.0, True, "1", b"1", None, (1,), [[1]], {"a": 1}, {"a": 2}, {1, 2}, np.ones(2), np.ones(3),
        np.ones(2, int),
        SCENARIO, SCENARIO.replace(until=0.7), FREE, fa.load("canadarm"), doubled, tripled, Holding(1), Holding(2),
        3j,
        Path("a"), fa.Quintic((0.0,), (1.0,), 1.0), fa.Quintic((0.0,), (1.0,), 2.0), np.sin, dict,
        fa.Model(fa.load("canadarm")),
    ]  # fmt: skip
    assert len({digest(thing) for thing in things}) == len(things)
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    assert digest(Holding(1)) == digest(Holding(1))
    assert fa.__version__ in code_version()


def test_chunks_follow_from_their_samples_alone():
    x = np.arange(10.0)
    first, again = chunks("t", {"x": x}, 4), chunks("t", {"x": x[:9]}, 4)
    assert [c.first for c in first] == [0, 4, 8] and [c.runs for c in first] == [4, 4, 2]
    assert [c.key for c in first[:2]] == [c.key for c in again[:2]] and first[2].key != again[2].key
    assert chunks("other", {"x": x}, 4)[0].key != first[0].key


# -- files, figures, the command ---------------------------------------------------------------------------------------


def test_bundled_studies_run(tmp_path):
    """A few runs of each; all of them only where somebody asks."""
    assert bundled_studies() == ("canadarm-robustness", "mass-of-the-base", "residual-vibration")
    for name in bundled_studies():
        study = load_study(name)
        assert study.description == description_of("study", name)
        least = 16 if study.plan().design.type == "sensitivity" else 2
        result = study.run(executor=1, runs=least, progress=False)
        assert (result.status == "completed").sum() >= 2
        assert_readable(drawn(draw(result).figure))
        again = load(save(result, tmp_path / f"{name}.nc"))
        xr.testing.assert_equal(again, result)
        assert_readable(drawn(draw(again).figure))
    assert load_study("canadarm-robustness").plan().design.runs == 10_000


STUDY = """
name = "slews"
description = "some slews"
scenario = "scenario.toml"
design = {{ type = "latin-hypercube", runs = 6, seed = 4 }}
{more}
[parameters]
payload.mass = {{ type = "uniform", low = "-10 %", high = "10 %" }}
controller.Kd = [{Kd}]
"""
SCENARIO_FILE = """
name = "slew"
arm = "rigid-two-link"
until = 0.6
samples = 61
reference = { type = "quintic", start = [0.0, 0.0], end = [0.3, -0.2], duration = 0.3 }
controller = { type = "joint-pd", Kp = 40.0, Kd = 8.0 }
"""


def written(folder, more="arm = { payload = { mass = 0.5 } }", Kd="8.0, 9.0"):
    (folder / "scenario.toml").write_text(SCENARIO_FILE)
    (folder / "study.toml").write_text(STUDY.format(more=more, Kd=Kd))
    return folder / "study.toml"


def test_a_study_in_a_file(tmp_path):
    study = load_study(written(tmp_path))
    result = study.run(executor=1, progress=False)
    assert result.attrs["parameters"] == ["payload.mass", "controller.Kd"]
    assert result["payload.mass"].attrs["nominal"] == 0.5
    expected = fa.study(study.loaded_scenario(), study.parameters, study.design, executor=1, progress=False)
    np.testing.assert_array_equal(result.residual.values, expected.residual.values)
    inline = Study(
        name="inline",
        scenario={"arm": "rigid-two-link", "until": 0.2},
        parameters={"upper.mass": [1.0, 2.0]},
        design="grid",
    )
    assert inline.run(executor=1, progress=False).sizes["run"] == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('name = "slews"', ""), "study.toml: name is missing"),
        (
            ('name = "slews"', "title = 3"),
            "study.toml: unknown key 'title'; allowed keys are name, description, scenario",
        ),
        (
            ('"scenario.toml"', '"canadarm-jump"'),
            "study.toml: scenario: unknown scenario 'canadarm-jump'; did you mean",
        ),
        (
            ('"scenario.toml"', "3"),
            "study.toml: scenario: load_scenario: 3 is neither the name of a scenario nor a path",
        ),
        (('"scenario.toml"', "{ arm = 'canadarm' }"), "study.toml: scenario: until is missing"),
        (("mass = 0.5", "mass = -0.5"), "study.toml: arm: payload.mass is -0.5 kg; it must be positive"),
        (("mass = 0.5 }", "mass = 0.5 }, weight = 3"), "study.toml: arm: unknown key 'weight'; allowed keys are name"),
        (("arm = {", "arm = 3 #"), "study.toml: arm is 3; it must be a table"),
        (('"latin-hypercube"', '"cube"'), "study.toml: design is 'cube'; it must be 'random', 'latin-hypercube'"),
        (("runs = 6", "runs = 0"), "study.toml: design.runs is 0; it must be a whole number"),
        (("8.0, 9.0", "'fast'"), r"study.toml: parameters.controller.Kd.values\[0\] is 'fast'; it must be a number"),
        (('"-10 %"', '"-10 N"'), "study.toml: parameters.payload.mass.low is -10 N; it must be in kg, or in %"),
        (("payload.mass", "load.mass"), "study.toml: .*unknown parameter 'load.mass'; did you mean .*payload.mass"),
        (("arm = {", "keep = ['grace']\narm = {"), "study.toml: keep has the unknown name 'grace'; known names are"),
        (("arm = {", "knows = 'all'\narm = {"), "study.toml: knows is 'all'; it must be 'nominal' or 'true'"),
        (("arm = {", "band = 0\narm = {"), "study.toml: band is 0.0; it must be positive"),
        (("arm = {", "chunk = 0\narm = {"), "study.toml: chunk is 0; it must be a whole number"),
        (("[parameters]", "[[parameters]]"), "study.toml: parameters is .*; it must be a table"),
        (
            ("scenario = ", "links = "),
            "study.toml: this is an arm, not a study; a study names its scenario by the key 'scenario'",
        ),
        (("scenario = ", "until = 3.0\narm = "), "study.toml: not a TOML file|study.toml: this is a scenario"),
        (("[parameters]", "[parameters"), "study.toml: not a TOML file"),
    ],
)
def test_a_mistake_in_a_file_is_one_line(tmp_path, change, message):
    file = written(tmp_path)
    text = file.read_text()
    assert change[0] in text
    file.write_text(text.replace(*change))
    with pytest.raises(fa.DescriptionError, match=f"^{tmp_path}/{message}") as error:
        load_study(file)
    assert "\n" not in str(error.value)


def test_a_study_that_is_not_there():
    with pytest.raises(
        fa.DescriptionError,
        match=r"unknown study 'jump'; .* bundled study: canadarm-robustness, mass-of-the-base, residual-vib",
    ):
        load_study("jump")
    with pytest.raises(fa.DescriptionError, match="load_study: 3 is neither the name of a study nor a path"):
        load_study(3)
    with pytest.raises(fa.DescriptionError, match=r"jump.toml: cannot be read"):
        load_study("jump.toml")


def test_figures():
    result = run(ishigami, ABC, "sensitivity", runs=64 * 5, name="a $strange$ name")
    assert_readable(drawn(draw(result).figure))
    worst = run(ishigami, ABC, {"type": "worst-case", "outcome": "value", "runs": 60})
    assert_readable(drawn(draw(worst).figure))
    nothing = draw(run(lambda s: s["x"] * np.nan, X, runs=3)).figure
    assert drawn(nothing) == [] and "none finite" in [text.get_text() for axes in nothing.axes for text in axes.texts]
    for wrong in (3, xr.Dataset()):
        with pytest.raises(fa.DescriptionError, match=r"draw: result is .*; it must be a Dataset, as study gives it"):
            draw(wrong)


def test_results_on_disk(tmp_path):
    result = run(squared, X, runs=3)
    with pytest.raises(fa.DescriptionError, match=r"no-such.nc: the file does not exist"):
        load(tmp_path / "no-such.nc")
    fa.save_result(FREE.run(progress=False), tmp_path / "run.nc")
    with pytest.raises(fa.DescriptionError, match=r"run.nc: result is .*; it must be a Dataset, as study gives it"):
        load(tmp_path / "run.nc")
    with pytest.raises(fa.DescriptionError, match="cannot be written"):
        save(result, tmp_path)


def command(*arguments, folder):
    """The command in a fork of a process that has its libraries."""
    return programs.run("-m", "flexarm", "study", *arguments, folder=folder, figures=False)


def started(*arguments, folder):
    """The command in an interpreter of its own."""
    program = "from flexarm.cli import main; main()"
    environment = os.environ | {"PYTHONPATH": str(HELPERS.parents[1] / "src")}
    call = [sys.executable, "-W", "error", "-c", program, "study", *map(str, arguments)]
    return subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def test_the_command(tmp_path):
    written(tmp_path)
    done = started("study.toml", "--workers", 2, "--out", "results", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "slews: some slews" in done.stdout and "residual [m]" in done.stdout
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["slews.nc", "slews.png", "slews.study"]
    result = load(tmp_path / "results" / "slews.nc")
    assert result.sizes["run"] == 6
    again = command("study.toml", "--workers", 1, "--out", "results", "--no-plot", folder=tmp_path)
    assert "6 were found in the folder" in again.stdout
    given = ("study.toml", "--runs", 3, "--workers", 1, "--folder", "results/slews.study")
    sensitivity = command(*given, folder=tmp_path)
    assert sensitivity.returncode == 0 and load(tmp_path / "slews.nc").sizes["run"] == 3


def test_the_command_of_indices_and_of_the_worst_case(tmp_path):
    file = written(tmp_path)
    text = file.read_text()
    design = text.partition("design = ")[2].splitlines()[0]
    file.write_text(text.replace(design, '{ type = "sensitivity", base = 4 }'))
    done = command("study.toml", "--workers", 1, "--no-plot", folder=tmp_path)
    assert done.returncode == 0 and "share of the variance with the others" in done.stdout
    widths = [float(x) for x in re.findall(r"±([\d.]+)", done.stdout.partition("The shares")[0])]
    runs = load(tmp_path / "slews.nc").sizes["run"]
    worst, more = re.findall(r"are uncertain, by up to ±(\S+); with --runs (\d+) they", done.stdout)[0]
    assert float(worst) == max(widths) > 0.2
    assert 0.9 < int(more) / runs / (max(widths) / 0.1) ** 2 < 2.2
    done = command("study.toml", "--runs", runs - 1, "--workers", 1, "--no-plot", "--folder", "x", folder=tmp_path)
    assert done.returncode == 0 and load(tmp_path / "slews.nc").sizes["run"] == runs // 2
    (tmp_path / "slews.nc").unlink()
    file.write_text(text.replace(design, '{ type = "worst-case", outcome = "peak", runs = 16 }'))
    done = command("study.toml", "--workers", 1, "--no-plot", "--folder", "worst", folder=tmp_path)
    worst = load(tmp_path / "slews.nc").attrs["worst_run"]
    assert done.returncode == 0 and f"(run {worst})" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jump"], "unknown study 'jump'; give the path of a .toml file"),
        (["study.toml", "--runs", "0"], "--runs: design.runs is 0; it must be a whole number"),
        (["study.toml", "--workers", "0"], "study: executor is 0; it must be"),
        (
            ["study.toml", "--workers", "2", "--scheduler", "local"],
            "--workers and --scheduler exclude each other; give one of",
        ),
        (["study.toml", "--scheduler", "nobody"], "study: no Dask scheduler answers at 'nobody'"),
        (["study.toml", "--out", "study.toml"], "--out study.toml: cannot be written"),
        (["study.toml", "--folder", "."], ". is not the folder of a study, because it contains s"),
    ],
)
def test_what_the_command_refuses(tmp_path, arguments, message):
    written(tmp_path)
    done = command(*arguments, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"flexarm: {message}") and done.stderr.count("\n") == 1


def test_the_command_says_what_could_not_be_computed(tmp_path, monkeypatch):
    written(tmp_path)
    plan = load_study(tmp_path / "study.toml").plan()
    broken = Plan(Broken(plan.task), plan.varied, plan.design, 3, plan.name)
    result = conduct(broken, 1, None, False)
    assert result.attrs["runs_lost"] == 3
    from flexarm.commands.studies import lost

    said = lost(result)
    assert said.startswith("3 of 6 runs could not be computed; the first, with payload.mass 0.")
    assert said.endswith("ArithmeticError: no root")


class Broken:
    """A task whose second chunk fails."""

    def __init__(self, task):
        self.task, self.calls = task, 0
        self.title, self.outcomes, self.check = task.title, task.outcomes, task.check

    def __reduce__(self):
        return Broken, (self.task,)

    def run(self, samples):
        self.calls += 1
        if self.calls > 1:
            raise ArithmeticError("no root")
        return self.task.run(samples)


def test_no_thread_hears_ctrl_c_as_a_failure():
    """A run that is interrupted in this process ends the study; it is no row of its result."""

    def interrupted(samples):
        warnings.warn("interrupted at t = 1 s", InterruptedRun, stacklevel=2)
        return samples["x"]

    with pytest.warns(InterruptedRun, match="interrupted; 0 of 4 runs are in the result"):
        result = run(interrupted, X, runs=4)
    assert set(result.status.values) == {"not computed"}
