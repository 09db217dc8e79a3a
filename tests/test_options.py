"""Options of a run in `Solver` and `SaveAt`, and the former arguments that they replace."""

import warnings

import numpy as np
import pytest

import flexarm as fa


@pytest.fixture(scope="module")
def model() -> fa.Model:
    return fa.Model("rigid-two-link")


RUN = {"u": [0.3, -0.1], "q0": [0.2, 0.4], "progress": False}


def test_options_in_solver_and_save_are_those_of_the_run(model):
    solver = fa.Solver(method="gauss4", rtol=1e-5, atol=1e-7, step=0.02)
    save = fa.SaveAt(samples=7, keep=["tip", "q"])
    run = fa.simulate(model, 0.3, solver=solver, save=save, **RUN)
    assert {*run.data_vars} == {"q", "tip"} and run.sizes["time"] == 7
    assert [run.attrs[name] for name in ("method", "rtol", "atol", "step")] == ["gauss4", 1e-5, 1e-7, 0.02]
    many = fa.simulate_many(model, 0.3, runs=2, solver=solver, save=save, **RUN)
    np.testing.assert_array_equal(many.tip.values[1], run.tip.values)


def test_common_options_that_are_given_beside_replace_those_inside(model):
    solver, save = fa.Solver(rtol=1e-5, atol=1e-7), fa.SaveAt(samples=7, keep=["q"])
    run = fa.simulate(model, 0.3, method="rk45", rtol=1e-6, samples=4, solver=solver, save=save, **RUN)
    assert [run.attrs[name] for name in ("method", "rtol", "atol")] == ["rk45", 1e-6, 1e-7]
    assert run.sizes["time"] == 4 and {*run.data_vars} == {"q"}
    fixed = fa.simulate(model, 0.3, method="rk4", solver=fa.Solver(step=0.01), **RUN)
    assert (fixed.attrs["method"], fixed.attrs["step"], fixed.attrs["steps"]) == ("rk4", 0.01, 1000)


FORMER = {
    "atol": (1e-7, "solver=fa.Solver(atol=1e-07)", {}),
    "step": (0.01, "solver=fa.Solver(step=0.01)", {"method": "gauss4"}),
    "spectral_radius": (0.5, "solver=fa.Solver(spectral_radius=0.5)", {"method": "generalized-alpha"}),
    "keep": (["q"], "save=fa.SaveAt(keep=['q'])", {}),
    "record": ((), "save=fa.SaveAt(record=())", {}),
}


@pytest.mark.parametrize("name", FORMER)
@pytest.mark.parametrize("function", ["simulate", "simulate_many"])
def test_a_former_argument_still_works_and_warns_once_where_it_is_used(model, function, name):
    value, instead, more = FORMER[name]
    more = {**more, **({"runs": 1} if function == "simulate_many" else {})}
    argument, _, call = instead.partition("=")
    options = {argument: {"solver": fa.Solver, "save": fa.SaveAt}[argument](**{name: value})}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        old = getattr(fa, function)(model, 0.1, samples=5, **{name: value}, **more, **RUN)
    assert [(str(each.message), each.category, each.filename) for each in caught] == [
        (f"{function}: {name} is deprecated; use {instead}", DeprecationWarning, __file__)
    ]
    new = getattr(fa, function)(model, 0.1, samples=5, **options, **more, **RUN)
    assert {*old.data_vars} == {*new.data_vars}
    np.testing.assert_array_equal(old.q.values, new.q.values)


def test_a_study_of_a_model_takes_a_solver_and_warns_of_former_arguments(model):
    given = {"until": 0.1, "u": [0.3, -0.1], "samples": 5, "executor": 1, "progress": False, "keep": ["largest_input"]}
    varied = {"payload.mass": [0.1, 0.2]}
    arm = fa.Model(fa.load("subudhi-morris"))
    new = fa.study(arm, varied, "grid", method="rk4", solver=fa.Solver(step=1e-3), **given)
    with pytest.warns(
        DeprecationWarning, match=r"^study: step is deprecated; use solver=fa.Solver\(step=0.001\)$"
    ) as said:
        old = fa.study(arm, varied, "grid", method="rk4", step=1e-3, **given)
    assert [each.filename for each in said] == [__file__]
    np.testing.assert_array_equal(old.largest_input.values, new.largest_input.values)
    with pytest.raises(fa.DescriptionError, match=r"^study: step is 0.001 s; method 'dop853' chooses its own steps"):
        fa.study(arm, varied, "grid", method="dop853", solver=fa.Solver(step=1e-3), **given)


def test_an_argument_that_does_not_exist_is_pythons_own_error_with_a_suggestion(model):
    with pytest.raises(TypeError, match=r"^simulate\(\) has no argument 'atoll'; did you mean 'atol'\?$"):
        fa.simulate(model, 0.1, atoll=1e-8)
    with pytest.raises(TypeError, match=r"^simulate_many\(\) has no argument 'colour'$"):
        fa.simulate_many(model, 0.1, runs=1, colour="red")


def test_a_scenario_gives_its_options_in_the_same_classes():
    scenario = fa.load_scenario("subudhi-morris").replace(
        samples=5, keep=["tip"], solver=fa.Solver(method="rk4", step=1e-3)
    )
    arguments = scenario.arguments(fa.Model(scenario.loaded_arm()))
    assert arguments["solver"] == fa.Solver(method="rk4", step=1e-3)
    assert arguments["save"] == fa.SaveAt(samples=5, keep=["tip"])
    assert repr(arguments["save"]) == "SaveAt(samples=5, keep=('tip',))"
