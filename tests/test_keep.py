"""What of a result is kept: nothing else is computed, and what is kept is what a whole result has."""

import sys

import numpy as np
import pytest
import xarray as xr

import flexarm as fa
from flexarm import cli, plots
from flexarm.control import JointPD, Sampled
from flexarm.scenario import Scenario, load_scenario
from flexarm.simulation.results import EVERY, VARIABLES, lacking

SLEW = fa.Quintic((0.0, 0.0), (0.3, -0.2), 0.1)
BEAM = fa.Beam(length=0.6, mass=0.4, EI=25.0, modes={"y": 2}, damping=0.01)
ARM = fa.Arm(
    name="arm",
    links=[
        fa.Link(
            name="upper", joint=fa.Revolute(rotor_inertia=0.02, stiffness=300.0), body=fa.Rigid(length=0.5, mass=1)
        ),
        fa.Link(name="fore", joint=fa.Revolute(rotor_inertia=0.01, damping=0.1), body=BEAM),
    ],
    payload=fa.Payload(mass=0.3),
    gravity=(0.0, -9.81, 0.0),
)
EVERYTHING = [*VARIABLES, "q_ref"]


def run(model, keep=None, until=0.1, samples=21, u=None, **given):
    u = JointPD(SLEW, Kp=4.0, Kd=0.5) if u is None else u
    return fa.simulate(
        model, until, u=u, samples=samples, method="dop853", progress=False, save=fa.SaveAt(keep=keep), **given
    )


@pytest.fixture(scope="module")
def model():
    return fa.Model(ARM)


@pytest.fixture(scope="module")
def whole(model):
    return run(model)


# -- what is there -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERYTHING)
def test_a_variable_alone_is_that_of_the_whole_result(model, whole, name):
    kept = run(model, [name])
    assert list(kept.data_vars) == [name]
    assert kept[name].attrs == whole[name].attrs and kept[name].dims == whole[name].dims
    scale = np.abs(whole[name].values).max()
    # the same expressions in another kernel, where the compiler orders sums anew; energies balance large terms
    error = 1e-13 * (whole.attrs["energy_scale"] if name == "energy_error" else scale)
    np.testing.assert_allclose(kept[name].values, whole[name].values, rtol=0, atol=error)
    xr.testing.assert_equal(
        kept.coords.to_dataset(), whole.coords.to_dataset().drop_vars("joint" if name != "q_ref" else [])
    )


def test_all_names_are_the_whole_result_to_the_last_bit(model, whole):
    kept = run(model, EVERYTHING[::-1])
    assert list(kept.data_vars) == list(whole.data_vars)
    for name in EVERYTHING:
        np.testing.assert_array_equal(kept[name].values, whole[name].values)
    assert {*kept.attrs} - {*whole.attrs} == {"kept"} and kept.attrs["kept"].split() == EVERYTHING
    assert "kept" not in whole.attrs


@pytest.mark.parametrize(
    ("keep", "audited"),
    [
        (["q"], False),
        (["work", "dissipated"], False),
        (["power"], False),
        (["kinetic"], True),
        (["potential"], True),
        (["energy_error"], True),
    ],
)
def test_the_audit_is_there_where_energies_are_kept(model, whole, keep, audited):
    a = run(model, keep).attrs
    assert ("energy_drift" in a) == ("energy_scale" in a) == audited
    if audited:
        assert a["energy_scale"] == pytest.approx(whole.attrs["energy_scale"], rel=1e-12)
        assert a["energy_drift"] == pytest.approx(whole.attrs["energy_drift"], abs=1e-13)


def test_names_count_once_and_an_array_of_them_is_as_good(model):
    assert list(run(model, np.array(["tip", "q", "q"])).data_vars) == ["q", "tip"]
    empty = run(model, [])
    assert not len(empty.data_vars) and empty.attrs["kept"] == "" and empty.sizes["time"] == 21


def test_a_long_run_is_seen_in_pieces(model, whole, monkeypatch):
    monkeypatch.setattr("flexarm.simulation.dataset.PIECE", 100)
    kept = run(model, ["tip", "power", "deflection", "u"])
    for name in kept.data_vars:
        np.testing.assert_allclose(kept[name].values, whole[name].values, rtol=0, atol=1e-12)


# -- what is not computed ----------------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """Kernels that a model is asked for, by name."""
    names, kernel = [], fa.Model.kernel
    monkeypatch.setattr(fa.Model, "kernel", lambda self, name: names.append(name) or kernel(self, name))
    return names


@pytest.mark.parametrize(
    ("keep", "kernels"),
    [
        (["q", "qd"], set()),
        (["q", "qd", "u", "q_ref"], set()),
        (["work", "dissipated"], set()),
        (["tip"], {"tip"}),
        (["deflection"], {"deflections"}),
        (["tip_angle", "tip"], {"deflections", "tip"}),
        (["kinetic"], {"energy"}),
        (["power"], {"input_matrix"}),
        (["tip", "power", "potential", "tip_angle"], {"observed"}),
        (None, {"observed"}),
    ],
)
def test_only_what_is_kept_is_asked_of_the_model(asked, keep, kernels):
    run(fa.Model(ARM), keep, u=0.0, reference=SLEW)  # a controller asks the model for more, to be designed
    assert {*asked} == {"state_rate"} | kernels


def test_inputs_are_evaluated_for_u_and_power_alone(model):
    times = []

    def u(t):
        times.append(t)
        return [0.0, 0.0]

    lasts = []
    for keep in (["q"], ["u"], ["power"]):
        times.clear()
        run(model, keep, u=u)
        lasts.append(sorted(times)[-2:])  # the right end is asked for by `values` alone
    assert lasts[0][-1] < 0.1 and lasts[1][-1] == lasts[2][-1] == 0.1


def test_a_sampled_law_holds_what_it_holds(model):
    law = Sampled(JointPD(SLEW, Kp=4.0, Kd=0.5), 0.005)
    whole, kept = (
        fa.simulate(model, 0.1, u=law, samples=21, progress=False, save=fa.SaveAt(keep=keep))
        for keep in (None, ["u", "q"])
    )
    np.testing.assert_array_equal(kept.u.values, whole.u.values)
    np.testing.assert_array_equal(kept.q.values, whole.q.values)


def test_a_result_that_keeps_little_may_be_long(model, monkeypatch):
    monkeypatch.setattr("flexarm.simulation.memory.room", lambda: 0.0)
    n = len(model.coordinates)
    most = int(1e7 / 8 / (1 + 2 * n + 2))  # bytes that are always there; times, states with work and dissipated
    assert run(model, ["q"], samples=most - 1, u=0.0).sizes["time"] == most - 1
    for keep in (None, *([name] for name in EVERYTHING if name not in ("q", "qd", "work", "dissipated"))):
        with pytest.raises(fa.DescriptionError, match=r"a result of .* samples takes 0.0[123].* GB"):
            run(model, keep, samples=most - 1, u=0.0, reference=SLEW)


def test_the_part_before_a_failure_has_what_is_kept(model):
    def u(t):
        return [0.0, 0.0] if t < 0.05 else [np.nan, 0.0]

    with pytest.raises(fa.SimulationError, match="gave nan") as caught:
        run(model, ["tip"], u=u)
    part = caught.value.result
    assert list(part.data_vars) == ["tip"] and 1 < part.sizes["time"] < 21 and not lacking(part)


# -- on disk, and those who read -----------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [["q"], ["tip", "kinetic"], ["q_ref"], []])
def test_it_is_saved_and_loaded(model, tmp_path, keep):
    result = run(model, keep)
    loaded = fa.load_result(fa.save_result(result, tmp_path / "run.nc"))
    xr.testing.assert_identical(loaded, result)


def test_a_file_that_lacks_what_it_says_to_keep_is_no_result(model, whole):
    kept = run(model, ["q", "kinetic"])
    assert lacking(kept) == ""
    assert lacking(kept.drop_vars("q")) == "it has no variable q"
    assert lacking(whole.drop_vars("q_ref")) == "" and lacking(whole.drop_vars("tip")) == "it has no variable tip"
    assert lacking(kept.assign_attrs(kept="q speed")) == "its attribute 'kept' contains unknown names"
    assert lacking(kept.assign_attrs(kept="q tip")) == "it has no variable tip"
    drifting = {name: x for name, x in kept.attrs.items() if name != "energy_drift"}
    assert lacking(kept.drop_attrs().assign_attrs(drifting)) == "it has no attribute energy_drift that is a number"
    assert lacking(kept.assign_attrs(kept="q").drop_vars("kinetic")) == ""


def test_who_needs_more_says_what(model):
    result = run(model, ["q", "qd", "power", "u"])
    must = "simulate with {!r} in keep, or without keep"
    for call, line in (
        (lambda: plots.draw(result), f"draw: result has no 'tip'; {must.format('tip')}"),
        (lambda: fa.performance(result), f"performance: result has no 'tip'; {must.format('tip')}"),
        (
            lambda: fa.performance(run(model, ["q", "u", "tip", "power"])),
            "performance: the result has no reference; simulate with one, and with q_ref in keep",
        ),
        (
            lambda: fa.sensor_readings([fa.Encoder(coordinate="fore.joint")], model, run(model, ["q"]), 0),
            f"sensor_readings: result has no 'qd'; {must.format('qd')}",
        ),
    ):
        with pytest.raises(fa.DescriptionError) as caught:
            call()
        assert str(caught.value) == line
    assert fa.performance(run(model, ["q", "u", "tip", "power", "q_ref"], until=0.2)) == fa.performance(
        run(model, until=0.2)
    )


# -- refusals ----------------------------------------------------------------------------------------------------------

KNOWN = ", ".join(EVERY)


@pytest.mark.parametrize(
    ("keep", "line"),
    [
        (["q", "speed"], f"keep has the unknown name 'speed'; a result has {KNOWN}"),
        (["time"], f"keep has the unknown name 'time'; a result has {KNOWN}"),
        (["q", 3], f"keep has the unknown name 3; a result has {KNOWN}"),
        (np.eye(2), f"keep has the unknown name array([1., 0.]); a result has {KNOWN}"),
        ("q", f"keep is 'q'; it must be names among {KNOWN}"),
        (True, f"keep is True; it must be names among {KNOWN}"),
    ],
)
def test_names_that_no_result_has_are_refused(model, keep, line):
    with pytest.raises(fa.DescriptionError) as caught:
        run(model, keep)
    assert str(caught.value) == f"SaveAt: {line}"
    with pytest.raises(fa.DescriptionError) as caught:
        Scenario(name="a", arm=ARM, until=0.1, keep=keep)
    assert str(caught.value) == f"Scenario: {line}"


def test_a_reference_that_is_not_there_is_not_kept(model):
    with pytest.raises(
        fa.DescriptionError,
        match=r"^simulate: keep has 'q_ref', which a run without a reference does not have; ",
    ):
        run(model, ["q_ref"], u=0.0)
    with pytest.raises(fa.DescriptionError, match=r"^Scenario: reference is missing, but keep has 'q_ref'$"):
        Scenario(name="a", arm=ARM, until=0.1, keep=["q_ref"])


# -- scenarios ---------------------------------------------------------------------------------------------------------

FILE = 'name = "short"\narm = "subudhi-morris"\nuntil = 0.01\nsamples = 3\nkeep = {}\n[solver]\nmethod = "dop853"\n'


def test_a_scenario_keeps_what_its_file_says(tmp_path):
    path = tmp_path / "short.toml"
    path.write_text(FILE.format('["tip", "q"]'))
    scenario = load_scenario(path)
    assert scenario.keep == ("q", "tip")
    result = scenario.run(progress=False)
    assert list(result.data_vars) == ["q", "tip"]
    whole = scenario.replace(keep=None).run(progress=False)
    np.testing.assert_array_equal(result.q.values, whole.q.values)
    assert list(whole.data_vars) == [*VARIABLES]
    path.write_text(FILE.format('["tips"]'))
    with pytest.raises(
        fa.DescriptionError,
        match=r"^.*short\.toml: keep has the unknown name 'tips'; did you mean 'tip'. A result has q, qd, ",
    ):
        load_scenario(path)


@pytest.mark.parametrize(
    ("keep", "shown", "hidden"),
    [
        (["q"], "fore.joint", "energy"),
        (["work"], "energy at end", "energy balance"),
        (["kinetic"], "energy balance", "fore.joint"),
    ],
)
def test_the_command_line_writes_what_is_kept(monkeypatch, capsys, tmp_path, keep, shown, hidden):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.toml").write_text(FILE.format(str(keep).replace("'", '"')))
    monkeypatch.setattr(sys, "argv", ["flexarm", "simulate", "short.toml", "--verbose"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert shown in out and hidden not in out
    assert [line.split() for line in out.splitlines() if line.startswith("kept")] == [["kept", *keep]]
    assert not (tmp_path / "short.png").exists()  # a figure shows more
    assert list(fa.load_result(tmp_path / "short.nc").data_vars) == keep


def test_an_arm_with_other_numbers_keeps_its_own():
    """Of a model that varies each part is that of the arm that moves."""
    model = fa.Model(ARM, vary=["payload.mass", "fore.EI"])
    p = [0.5, 18.0]
    whole = run(model, p=p, u=[0.3, -0.1])
    for name in ("tip", "deflection", "potential", "energy_error", "power"):
        kept = run(model, [name], p=p, u=[0.3, -0.1])
        assert "parameters" in kept.attrs and {*kept.attrs} >= {"kept"}
        scale = whole.attrs["energy_scale"] if name == "energy_error" else np.abs(whole[name].values).max()
        np.testing.assert_allclose(kept[name].values, whole[name].values, rtol=0, atol=1e-12 * scale)
    assert np.abs(run(model, ["tip"], u=[0.3, -0.1]).tip.values - whole.tip.values).max() > 1e-5
