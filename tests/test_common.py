"""What all results of an arm have in common is found once; no result knows another by it."""

import numpy as np
import pytest
import xarray as xr

import flexarm as fa
from flexarm.control import JointPD, Sampled
from flexarm.simulation import common
from flexarm.simulation.common import Common

SLEW = fa.Quintic((0.0, 0.0), (0.3, -0.2), 0.1)
TAKEN = ("compile_seconds", "solve_seconds")


def two_links(**more):
    beam = fa.Beam(length=0.6, mass=0.4, EI=25.0, modes={"y": 2})
    upper = fa.Link(name="upper", joint=fa.Revolute(rotor_inertia=0.02), body=fa.Rigid(length=0.5, mass=1.0))
    return fa.Model(fa.Arm(name="arm", links=[upper, fa.Link(name="fore", joint=fa.Revolute(), body=beam)], **more))


def run(model, u=(0.1, -0.2), until=0.1, samples=11, **given):
    return fa.simulate(model, until, u=u, samples=samples, method="dop853", progress=False, **given)


def everything(result):
    """All that a result consists of, but for what time it took."""
    attributes = {name: value for name, value in result.attrs.items() if name not in TAKEN}
    variables = {
        name: (x.dims, x.dtype, type(x), x.values.tolist(), x.attrs, x.encoding) for name, x in result.variables.items()
    }
    return list(variables), variables, list(result.data_vars), list(result.xindexes), dict(result.sizes), attributes


@pytest.fixture(scope="module")
def model():
    return two_links()


def floating():
    return two_links(base=fa.FreeBase(mass=20.0, inertia=[1.0, 1.0, 1.0]))


LAW = Sampled(JointPD(SLEW, Kp=0.4, Kd=0.005), 1e-3)
GIVEN = {
    "plain": {},
    "a reference": {"u": JointPD(SLEW, Kp=4.0, Kd=0.5)},
    "a part of it": {"save": fa.SaveAt(keep=["tip", "energy_error"])},
    "what a law shows": {"u": LAW, "save": fa.SaveAt(record=["command"])},
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("made", [two_links, floating])
def test_a_later_result_is_that_of_a_model_without_a_past(made, given):
    first, later = made(), made()
    for other in GIVEN.values():
        run(later, **other)
    run(later, **given)
    assert everything(run(later, **given)) == everything(run(first, **given))


@pytest.mark.parametrize("more", [{"until": 0.2}, {"samples": 6}, {"u": None}])
def test_another_grid_or_input_is_seen(model, more):
    run(model)
    assert everything(run(model, **more)) == everything(run(two_links(), **more))


def test_a_run_that_ends_early_leaves_nothing_to_the_next(model):
    with pytest.raises(fa.SimulationError) as caught:
        run(model, u=lambda t: [np.nan if t > 0.05 else 0.0, 0.0])
    assert 1 < len(caught.value.result.time) < 11
    assert len(run(model).time) == 11


def test_what_is_done_to_a_result_shows_in_no_other(model):
    run(model)
    one, expected = run(model), everything(run(two_links()))
    one.role.values[:] = "x"
    one.q.values[:] = 7.0
    one.q.attrs["units"] = one.time.attrs["units"] = "none"
    one.attrs["arm"] = ""
    one["coordinate"] = [f"c{i}" for i in range(4)]
    assert everything(run(model)) == expected


@pytest.mark.parametrize(("longest", "count"), [(common.KEPT, 1), (11, 1), (10, 3)])
def test_datasets_are_put_together_once_for_the_same_names_and_times(longest, count, monkeypatch):
    """Not of long results: what is kept has their times."""
    made, dataset = [], xr.Dataset
    monkeypatch.setattr(common, "KEPT", longest)
    monkeypatch.setattr(xr, "Dataset", lambda *a, **more: made.append(a) or dataset(*a, **more))
    fresh = two_links()
    for _ in range(3):
        run(fresh)
    assert len(made) == count
    run(fresh, until=0.2)
    assert len(made) == count + 1


@pytest.mark.parametrize(("labels", "about"), [(["a"], {"units": "N"}), (["b"], {"units": "m"})])
def test_other_labels_or_units_are_another_frame(model, labels, about):
    """Of what laws show the names may be the same, and no more."""

    def made(labels, about):
        data, t = {"x": (("time", "x_signal"), np.ones((2, 1)), about)}, np.array([0.0, 1.0])
        return model.of_arm(Common).dataset(data, labels, t, lambda: {"time": t, "x_signal": labels})

    made(["a"], {"units": "m"})
    found = made(labels, about)
    assert found.x_signal.values.tolist() == labels and found.x.attrs == about


def test_models_at_other_parameters_share_what_follows_from_the_arm():
    model = fa.Model(two_links().arm, vary=["fore.EI"])
    assert model.at([30.0]).of_arm(Common) is model.of_arm(Common)
    found = run(model, p=[30.0])
    assert found.attrs["parameters"] == '{"fore.EI": 30.0}'
    assert run(model).attrs["parameters"] == '{"fore.EI": 25.0}'
