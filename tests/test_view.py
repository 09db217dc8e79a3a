"""What fa.view puts on a page, and what it refuses: results, ensembles, modes, arms at rest. Pages in a browser are in
test_browser_view.py."""

import base64
import html
import json
import os
import re
import sys
from dataclasses import astuple, dataclass

import numpy as np
import pytest
from command_line import caller

import flexarm as fa
from flexarm.model.drawing import drawn
from flexarm.pictures import view as module
from flexarm.pictures.curves import panels
from flexarm.pictures.view import Page, opened, viewed
from flexarm.shapes import Basis

ARM = """
name = "two"
[[links]]
name = "upper"
body = { type = "rigid", length = 0.5, mass = 1.0 }
[[links]]
name = "fore"
joint = { type = "revolute", stiffness = 30.0, rotor_inertia = 0.1 }
body = { type = "beam", length = 0.5, mass = 0.4, EI = 2.0, modes = { y = 2 } }
"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "two.toml"
    path.write_text(ARM)
    return fa.load(path)


@pytest.fixture(scope="module")
def result(arm):
    """One that follows a reference."""
    reference = fa.Quintic([0.1, 0.2], [0.4, -0.3], 0.2)
    u = fa.RigidInverseDynamics(reference)
    return fa.simulate(fa.Model(arm), 0.3, u=u, reference=reference, samples=31, name="follows", progress=False)


def data_of(page):
    """What the page's script gets, arrays as they are written."""
    found = re.search(r'<script type="application/json" id="flexarm-data">(.*?)</script>', page.html, re.S)
    return json.loads(found[1], object_hook=revived)


def revived(table):
    if "$array" not in table:
        return table
    values = np.frombuffer(base64.b64decode(table["base64"]), dtype=f"<{table['$array']}")
    return values.reshape(table["shape"])


def lengths(page):
    """The parameter of each of the page's programs."""
    return [float(x) for x in re.findall(r"\.p = Float64Array\.of\(\s*([-\d.e]+)", page.html)]


# -- results -----------------------------------------------------------------------------------------------------------


def test_cases_are_results_of_their_own(result):
    """Names may come back in another case; a number is on the page once for each, and arms that are alike once."""
    page = viewed({"still": {"a": result, "b": result.isel(time=slice(0, 9))}, "far": {"a": result}})
    data = data_of(page)
    assert [each["name"] for each in data["cases"]] == ["still", "far"] and "results" not in data
    assert [[each["name"] for each in case["results"]] for case in data["cases"]] == [["a", "b"], ["a"]]
    assert [len(case["panels"][0]["runs"]) for case in data["cases"]] == [2, 1] and len(data["arms"]) == 1
    alone = data_of(viewed({"only": {"a": result}}))
    assert "cases" not in alone and [each["name"] for each in alone["results"]] == ["a"]


def test_a_result_s_motion_is_on_the_page(result, arm):
    page = viewed(result)
    data = data_of(page)
    (each,) = data["results"]
    assert (data["kind"], data["title"], each["name"], each["notes"]) == ("results", "follows", "follows", [])
    np.testing.assert_array_equal(each["time"], result.time.values)
    np.testing.assert_array_equal(each["q"], result.q.values.astype("f4"))
    (joint, motor), *_ = arm.springs
    wanted = each["reference"]
    np.testing.assert_array_equal(wanted[:, list(arm.joints)], result.q_ref.values.astype("f4"))
    np.testing.assert_array_equal(wanted[:, motor], wanted[:, joint])
    assert not wanted[:, list(arm.flexible)].any()
    assert page.title == "follows" and "two" in data["about"]


def test_several_results_of_one_arm_share_its_program(result):
    data = data_of(viewed({"a": result, "b": result}))
    assert [each["name"] for each in data["results"]] == ["a", "b"] and data["title"] == "a and b"
    assert len(data["arms"]) == 1 and [each["arm"] for each in data["results"]] == [0, 0]


def test_results_of_one_name_are_told_apart(result):
    assert [each["name"] for each in data_of(viewed([result, result]))["results"]] == ["follows", "follows (2)"]
    assert [each["name"] for each in data_of(viewed([result, result], names=["x", "y"]))["results"]] == ["x", "y"]


def test_parameters_of_a_run_are_its_arm_s(arm):
    """The same description with another length draws another arm."""
    model = fa.Model(arm, vary=["upper.length"])
    runs = [fa.simulate(m, 0.1, u=[0.1, 0.0], samples=3, progress=False) for m in (model, model.at([0.9]))]
    page = viewed(runs)
    data = data_of(page)
    assert [each["arm"] for each in data["results"]] == [0, 1]
    assert lengths(page) == [0.5, 0.9]


def test_an_ensemble_shows_some_of_its_runs(arm):
    model = fa.Model(arm, vary=["upper.length"])
    many = fa.simulate_many(
        model, 0.1, u=[0.1, 0.0], samples=3, p=np.linspace(0.3, 0.9, 9)[:, None], progress=False, name="many"
    )
    with pytest.raises(fa.DescriptionError, match=r"^view: result has 9 runs; at most 8 are shown: choose some"):
        viewed(many)
    page = viewed(many.isel(run=[2, 8]))
    data = data_of(page)
    assert [each["name"] for each in data["results"]] == ["many, run 2", "many, run 8"]
    for each, run in zip(data["results"], (2, 8), strict=True):
        np.testing.assert_array_equal(each["q"], many.q.values[run].astype("f4"))
    assert data_of(viewed(many.isel(run=2)))["results"][0]["name"] == "many, run 2"
    assert lengths(page) == pytest.approx([0.45, 0.9])


def test_a_run_of_an_ensemble_that_ended_early_is_shown_as_far_as_it_is_known(result):
    run = result.assign_coords(run=3)
    run = run.assign(q=run.q.where(run.time < 0.1005))
    (each,) = data_of(viewed(run))["results"]
    assert len(each["time"]) == 11 and np.isfinite(each["q"]).all()


def test_many_samples_are_thinned_and_that_is_said(result):
    long = result.interp(time=np.linspace(0.0, 0.3, 12_001))
    (each,) = data_of(viewed(long))["results"]
    assert len(each["time"]) == len(each["q"]) == 4001
    assert each["time"][0] == 0.0 and each["time"][-1] == long.time.values[-1]
    assert each["notes"] == ["4001 of 12001 samples are shown"]


def test_a_run_that_stopped_says_when_and_why(arm):
    with pytest.raises(fa.SimulationError) as failed:
        fa.simulate(
            fa.Model(arm), 20.0, u=[3.0, 1.0], solver=fa.Solver(method="rk4", step=0.05), samples=201, progress=False
        )
    (each,) = data_of(viewed(failed.value.result))["results"]
    assert re.match(r"ends at [\d.]+ s: \S", each["notes"][0])


# -- plots -------------------------------------------------------------------------------------------------------------


def plots_of(result, rows=None):
    found = panels([result], [np.arange(result.sizes["time"]) if rows is None else rows])
    return {panel["title"]: panel for panel in found}


def test_curves_are_the_result_s(result):
    found = plots_of(result, rows := np.arange(0, 31, 3))
    assert list(found) == ["joints", "torques", "deflection of tips", "energy"]
    joints = found["joints"]["runs"][0]
    assert [each["name"] for each in joints] == ["upper", "fore"] and found["joints"]["unit"] == "rad"
    np.testing.assert_allclose(joints[1]["values"], result.q.values[rows, 1], rtol=1e-6)
    np.testing.assert_allclose(joints[1]["reference"], result.q_ref.values[rows, 1], rtol=1e-6)
    unit = {"N m": 1.0, "mN m": 1e-3, "kN m": 1e3}[found["torques"]["unit"]]
    for k, each in enumerate(found["torques"]["runs"][0]):
        np.testing.assert_allclose(unit * each["values"], result.u.values[rows, k], rtol=1e-5, atol=1e-12)
    (fore,) = found["deflection of tips"]["runs"][0]
    unit = {"m": 1.0, "mm": 1e-3, "\N{MICRO SIGN}m": 1e-6}[found["deflection of tips"]["unit"]]
    assert fore["name"] == "fore y"
    np.testing.assert_allclose(unit * fore["values"], result.deflection.values[rows, 1, 1], rtol=1e-5, atol=1e-15)
    energy = {each["name"]: each["values"] for each in found["energy"]["runs"][0]}
    assert energy["change of potential"][0] == 0.0 and {"kinetic", "work"} < {*energy}


def test_an_arm_that_nothing_drives_shows_rates_and_a_rigid_one_its_tip():
    model = fa.Model(fa.load("rigid-two-link"))
    swings = fa.simulate(model, 0.2, q0=[0.3, 0.1], samples=5, progress=False)
    found = plots_of(swings)
    assert list(found)[:3] == ["joints", "joint rates", "place of the tip"]
    np.testing.assert_allclose(found["joint rates"]["runs"][0][1]["values"], swings.qd.values[:, 1], rtol=1e-6)
    place = found["place of the tip"]
    factor = {"m": 1.0, "mm": 1e-3}[place["unit"]]
    np.testing.assert_allclose(factor * place["runs"][0][0]["values"], swings.tip.values[:, 0], rtol=1e-6)


def test_slides_have_a_plot_of_their_own():
    model = fa.Model(fa.load("theodore-ghosal"))
    found = plots_of(fa.simulate(model, 0.02, u=[0.1, 0.1, 1.0], samples=3, progress=False))
    assert found["joints"]["unit"] == "rad" and found["slides"]["unit"].endswith("m")
    assert [each["name"] for each in found["slides"]["runs"][0]] == ["slide"] and "forces" in found


def test_a_result_of_which_only_q_is_kept_is_enough(result):
    only = result[["q"]]
    assert [panel["title"] for panel in data_of(viewed(only))["panels"]] == ["joints"]


# -- arms --------------------------------------------------------------------------------------------------------------


def test_modes_are_the_model_s_and_all_swing_as_far(arm):
    model = fa.Model(arm)
    q = np.array([0.3, -0.4, 0.0, 0.0, -0.4])
    data = data_of(viewed(model, modes=True, q=q, locked=False))
    omega, phi = model.modes(q, locked=False)
    assert data["kind"] == "modes" and "free" in data["title"]
    np.testing.assert_allclose([mode["omega"] for mode in data["modes"]], omega)
    for mode, shape in zip(data["modes"], phi.T, strict=True):
        assert abs(mode["shape"] @ shape) == pytest.approx(np.linalg.norm(mode["shape"]) * np.linalg.norm(shape))
        h = 1e-5 * mode["shape"]
        moved = (drawn(model, q + h)[0] - drawn(model, q - h)[0])[..., :3] / 2e-5
        size = np.ptp(np.vstack([drawn(model, q)[0][..., :3].reshape(-1, 3), np.zeros(3)]), axis=0).max()
        if mode is not data["modes"][-1]:
            assert np.linalg.norm(moved, axis=-1).max() == pytest.approx(0.1 * size, rel=1e-6)
    # in the fastest the elbow would turn by three radians: it swings less, so that it is seen as it is
    away = max(
        np.linalg.norm((drawn(model, q + s * mode["shape"])[0] - drawn(model, q)[0])[..., :3], axis=-1).max()
        for s in (1, -1)
    )
    assert 0.03 * size < away < 0.15 * size


def test_an_arm_at_rest_has_a_slider_for_each_joint_and_each_shape(arm):
    data = data_of(viewed(arm))
    assert data["kind"] == "still"
    assert [each["name"] for each in data["sliders"]] == ["upper.joint", "fore.joint", "fore.y1", "fore.y2"]
    assert data["sliders"][1]["moves"] == [1, 4]  # the motor with its joint
    model = fa.Model(arm)
    for each in data["sliders"][2:]:
        q = np.zeros(5)
        q[each["moves"]] = each["high"]
        way = drawn(model, q)[0][..., :3] - drawn(model, 0 * q)[0][..., :3]
        assert np.linalg.norm(way, axis=-1).max() == pytest.approx(0.1, rel=0.02)  # of a size of 1 m
    assert data_of(viewed(fa.load("theodore-ghosal")))["sliders"][2]["low"] >= 0  # no telescope of negative length


# -- where it goes -----------------------------------------------------------------------------------------------------


def test_a_page_is_written_whole_and_given_back(result, tmp_path):
    path = fa.view(result, tmp_path / "new" / "a.html", show=False)
    assert path == tmp_path / "new" / "a.html" and os.listdir(path.parent) == ["a.html"]
    page = fa.view(result)
    assert isinstance(page, Page) and path.read_text(encoding="utf-8") == page.html
    assert repr(page).startswith("Page('follows': ")


def test_a_notebook_shows_a_page_in_a_frame_of_its_own(result):
    frame = fa.view(result, names=['<b "x">'])._repr_html_()
    found = re.fullmatch(
        r'<iframe sandbox="allow-scripts" style="[^"]*" title="([^"]*)" srcdoc="([^"]*)"></iframe>', frame
    )
    assert html.unescape(found[1]) == '<b "x">'
    assert html.unescape(found[2]) == fa.view(result, names=['<b "x">']).html


@pytest.mark.parametrize(("environment", "asked"), [({}, False), ({"DISPLAY": ":0"}, True)])
def test_a_browser_is_asked_where_there_are_windows(environment, asked, result, tmp_path, monkeypatch):
    """One for terminals would take the terminal over."""
    seen = []
    monkeypatch.setattr("webbrowser.open", lambda address: seen.append(address) or True)
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    path = fa.view(result, tmp_path / "a b.html")
    assert seen == [path.as_uri()] * asked
    fa.view(result, tmp_path / "c.html", show=False)
    assert len(seen) == asked


def test_a_browser_that_cannot_be_started_is_no_fault(tmp_path, monkeypatch):
    import webbrowser

    def fails(address):
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr("webbrowser.open", fails)
    monkeypatch.setenv("DISPLAY", ":0")
    assert opened(tmp_path / "a.html") is False


def test_names_are_text(result, arm):
    """Nothing of a user's can end an element, an attribute or a string of the page."""
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>'\"&\u2028"
    named = arm.replace(name="two </title><script>", description=evil)
    for page in (viewed(result, names=[evil]), viewed(named), viewed(named, modes=True)):
        assert "alert(1)</script>" not in page.html and "<img" not in page.html and "</title><script>" not in page.html
    assert data_of(viewed(result, names=[evil]))["results"][0]["name"] == evil


def test_a_page_of_the_six_joint_arm_is_small():
    """10 s and 1000 samples, with plots: less than 3 MB, as promised."""
    model = fa.Model(fa.load("spatial-6r"))
    reference = fa.Cycloidal([0.08, 0.03, -0.05, 0.1, 0.06, 0.1], [5.0] * 6)
    u = fa.RigidInverseDynamics(reference)
    short = fa.simulate(model, 0.05, u=u, reference=reference, samples=5, progress=False)
    result = short.interp(time=np.linspace(0.0, 0.05, 1000)).assign_coords(time=np.linspace(0.0, 10.0, 1000))
    assert len(viewed(result).html.encode()) < 2e6


def test_what_is_no_number_is_a_gap_in_a_plot_and_not_zero(result):
    late = result.time >= 0.2
    shown = panels([result.assign(u=result.u.where(~late))], [np.arange(31)])
    (torques,) = (panel for panel in shown if panel["title"] == "torques")
    (curves,) = torques["runs"]
    values = np.stack([item["values"] for item in curves])
    np.testing.assert_array_equal(np.isnan(values), np.broadcast_to(late.values, values.shape))
    np.testing.assert_array_equal(values[:, ~late.values], result.u.values[~late.values].T.astype("f4"))
    everything = panels([result.assign(u=result.u * np.inf)], [np.arange(31)])
    assert "torques" not in [panel["title"] for panel in everything]


def test_a_page_takes_no_other_file_s_place(result, tmp_path):
    kept = tmp_path / "follows.nc"
    kept.write_bytes(b"a result")
    with pytest.raises(fa.DescriptionError, match=r"^page: path 'follows.nc': it must end with .html"):
        viewed(result).save(kept)
    assert kept.read_bytes() == b"a result"


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda r: ((3,), {}), "view: result is an int; it must be a Dataset from simulate"),
        (lambda r: (([],), {}), "view: results has 0; it must have 1 to 8 results, so that"),
        (lambda r: (([r] * 9,), {}), "view: results has 9; it must have 1 to 8 results, so that"),
        (lambda r: (({"a": r},), {"names": ["b"]}), "view: names does not apply to a dict of results"),
        (lambda r: (({"a": {"b": r}},), {"names": ["b"]}), "view: names does not apply to a dict of cases"),
        (lambda r: (({"a": {"b": r}, "c": r},), {}), "view: result is a dict; it must be a Dataset"),
        (lambda r: (({str(k): {"b": r} for k in range(13)},), {}), "view: cases has 13; at most 12 fit on"),
        (lambda r: (({3: {"b": r}},), {}), "view: cases has the name 3; it must be a text"),
        (lambda r: (({"a": {}},), {}), "view: results has 0; it must have 1 to 8 results, so that"),
        (lambda r: ((r,), {"names": ["a", "b"]}), "view: names has 2 names for 1 result"),
        (lambda r: ((r,), {"names": [3]}), "view: names is [3]; it must be a list of texts"),
        (lambda r: ((r,), {"names": "a"}), "view: names is 'a'; it must be names of the results"),
        (lambda r: ((r.drop_vars("q"),), {}), "view: result has no 'q'; it must be a Dataset from simulate"),
        (lambda r: ((r,), {"modes": True}), "view: modes does not apply to results, only to an Arm or a Model"),
        (lambda r: ((r,), {"q": [0.0]}), "view: q does not apply to results, only to an Arm or a Model"),
        (lambda r: ((r,), {"modes": 1}), "view: modes is 1; it must be true or false"),
        (lambda r: ((r, "a.gif"), {}), "view: path 'a.gif': it must end with .html or .htm"),
        (lambda r: ((r.drop_vars("unit"),), {}), "view: result has no 'unit'; it must be a Dataset"),
        (lambda r: ((r.drop_vars("owner"),), {}), "view: result has no 'owner'; it must be a Dataset"),
        (lambda r: ((r, 3), {}), "path is of type int; it must be the name of a file"),
        (lambda r: ((r, "a.html"), {"show": "no"}), "view: show is 'no'; it must be true or false"),
        (lambda r: ((r.assign(q=r.q * np.nan),), {}), "view: result has a time or a coordinate that is not finite"),
        (lambda r: ((r.assign(q=r.q * 1e15),), {}), "view: result has q of "),
        (lambda r: ((r.assign_attrs(arm="{"),), {}),
         "view: result has an arm that cannot be rebuilt (Arm: the text is not"),
        (lambda r: ((fa.load("canadarm"),), {"names": ["a"]}), "view: names does not apply to an arm"),
        (lambda r: ((fa.load("canadarm"),), {"q": [[0.0]]}), "q has shape (1, 1); "),
        (lambda r: ((fa.load("canadarm"),), {"q": [1e15] * 9}), "view: q has 1e+15; it must be at most 1e+12 in size"),
        (
            lambda r: ((fa.load("rigid-two-link"),), {"modes": True}),
            "arm 'rigid-two-link' has no vibration mode with locked drives",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_refused_in_a_line(arguments, message, result, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given, more = arguments(result)
    with pytest.raises(fa.DescriptionError) as refusal:
        fa.view(*given, **more)
    assert str(refusal.value).startswith(message) and "\n" not in str(refusal.value)
    assert os.listdir(tmp_path) == []


def test_an_arm_without_inertia_has_no_modes():
    joint = fa.Revolute(axis=[1, 0, 0])
    slender = fa.Arm(name="slender", links=[fa.Link(name="a", joint=joint, body=fa.Rigid(length=1.0, mass=1.0))])
    with pytest.raises(fa.DescriptionError, match=r"^arm 'slender': no inertia resists the acceleration of a.joint"):
        viewed(slender, modes=True)


def test_scripts_of_the_page_are_assets_that_exist():
    from flexarm.pictures.page import asset

    assert all(asset(name) for name in module.SCRIPTS)


# -- commands ----------------------------------------------------------------------------------------------------------

PUSH = """
name = "push"
arm = "two.toml"
until = 0.2
samples = 11
input = { type = "constant", values = [0.1, 0.0] }
"""


@pytest.fixture
def call(monkeypatch, capsys):
    """Status, what it printed, what it said on stderr."""
    command = caller(monkeypatch, capsys)
    return lambda *words: astuple(command(*words))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.toml").write_text(ARM)
    (tmp_path / "push.toml").write_text(PUSH)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    return tmp_path


def test_view_shows_a_scenario_or_a_file(call, files):
    assert call("view", "push.toml") == (0, "written: push.html\n", "")
    assert call("simulate", "push.toml", "--out", "results", "--no-plot", "--no-view")[0] == 0
    assert call("view", "results/push.nc") == (0, "written: results/push.html\n", "")
    q = [
        data_of(Page("", (files / name).read_text(encoding="utf-8")))["results"][0]["q"]
        for name in ("push.html", "results/push.html")
    ]
    np.testing.assert_array_equal(*q)


def test_view_shows_several_in_one_page(call, files):
    (files / "more.toml").write_text(PUSH.replace('"push"', '"more"'))
    assert call("view", "push.toml", "more.toml") == (0, "written: push-and-more.html\n", "")
    data = data_of(Page("", (files / "push-and-more.html").read_text(encoding="utf-8")))
    assert [each["name"] for each in data["results"]] == ["push", "more"]
    (files / "more.toml").write_text(PUSH.replace('"push"', f'"{"m" * 60}"'))
    assert call("view", "push.toml", "more.toml", "--out", "a/b.html") == (0, "written: a/b.html\n", "")
    assert call("view", "push.toml", "more.toml") == (0, "written: push-and-others.html\n", "")


def test_view_of_a_run_that_fails_shows_the_part_before(call, files):
    fails = PUSH.replace("0.2", "20").replace("0.1, 0.0", "3.0, 1.0") + '[solver]\nmethod = "rk4"\nstep = 0.05\n'
    (files / "fails.toml").write_text(fails)
    status, said, told = call("view", "fails.toml")
    assert status == 1 and said == "written: push.html\n"
    assert re.fullmatch(r"flexarm: fails\.toml: .*; the result up to that time is in push\.html\n", told)
    data = data_of(Page("", (files / "push.html").read_text(encoding="utf-8")))
    assert data["results"][0]["notes"][0].startswith("ends at")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("view", "nothing.nc"), "nothing.nc: the file does not exist"),
        (("view", "push.toml", "--out", "a.gif"), "--out a.gif: it must end with .html or .htm"),
        (("view", "push.toml", "--out", "/dev/null/a.html"), "--out /dev/null/a.html: cannot be written: "),
        (("modes", "two.toml", "--out", "a.html"), "--out names the page of --view; give --view too"),
        (("modes", "two.toml", "--view", "--out", "a.gif"), "--out a.gif: it must end with .html or .htm"),
    ],
)
def test_commands_refuse_in_a_line_before_they_run(words, message, call, files, monkeypatch):
    monkeypatch.setattr("flexarm.scenario.Scenario.run", None)
    status, said, told = call(*words)
    assert (status, said) == (2, "") and told.startswith(f"flexarm: {message}") and told.count("\n") == 1
    assert sorted(os.listdir()) == ["push.toml", "two.toml"]


def test_modes_are_shown_in_the_browser(call, files, monkeypatch):
    status, said, _ = call("modes", "two.toml", "--view", "--at", "fore.joint=0.5", "--free")
    assert status == 0 and said.endswith("\nwritten: two-modes.html\n")
    data = data_of(Page("", (files / "two-modes.html").read_text(encoding="utf-8")))
    assert data["q"][1] == 0.5 and "free" in data["title"]
    seen = []
    monkeypatch.setattr("webbrowser.open", lambda address: seen.append(address) or True)
    monkeypatch.setenv("DISPLAY", ":0")
    assert call("modes", "two.toml", "--view", "--out", "m.html", "--no-browser")[0] == 0 and seen == []
    assert call("modes", "two.toml", "--view", "--out", "m.html")[0] == 0
    assert call("view", "push.toml")[0] == 0 and call("view", "push.toml", "--no-browser")[0] == 0
    assert seen == [(files / name).as_uri() for name in ("m.html", "push.html")]


@dataclass(frozen=True)
class Powers:
    """x^2, x^3: a family of the user's."""

    name: str = "powers"

    def basis(self, count):
        return Basis(count, _powers)


def _powers(x, derivative):
    n = np.arange(2, 4)
    factor = np.prod([n - i for i in range(derivative)], axis=0)
    return factor * x[:, None] ** np.maximum(n - derivative, 0)


def test_results_of_an_arm_that_a_file_cannot_describe(tmp_path):
    beam = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 2}, shapes=Powers())
    arm = fa.Arm(name="own", links=[fa.Link(name="one", joint=fa.Revolute(axis=(0, 0, 1)), body=beam)])
    model = fa.Model(arm)
    result = fa.simulate(model, until=0.1, q0=[0.0, 0.01, 0.0], samples=5)
    with pytest.raises(fa.DescriptionError, match=r"own.* give its model, model=|give its model, model="):
        fa.view(result)
    page = fa.view(result, model=model)
    assert "own" in page.title
    assert fa.animate(result, tmp_path / "own.png", model=model).is_file()
    with pytest.raises(fa.DescriptionError, match="view: model is"):
        fa.view(result, model=arm)
    with pytest.raises(fa.DescriptionError, match="view: result has coordinates one"):
        fa.view(result, model=fa.Model(fa.load("canadarm")))
    with pytest.raises(
        fa.DescriptionError, match="view: model does not apply to an arm, only to results; leave it out"
    ):
        fa.view(arm, model=model)
