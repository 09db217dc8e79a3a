"""`flexarm optimize`: its table and document, against motions known on paper; what is refused, viewed, interrupted."""

import json
import re
import warnings
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from command_line import caller
from programs import run

import flexarm as fa
from flexarm import progress
from flexarm.commands import optimize
from flexarm.errors import InterruptedRun
from flexarm.optimal import kept, search
from flexarm.optimal.active import active
from flexarm.optimal.limits import Limits
from flexarm.pictures import view as pages
from flexarm.pictures.view import viewed

ARM = """
name = "cart"

[[links]]
name = "cart"
joint = { type = "prismatic", axis = [1, 0, 0] }
body = { type = "rigid", length = 0.1, mass = 1.0 }
"""
HEAD = 'name = "slide"\narm = "cart.toml"\nuntil = 3.0\nsamples = 61\n'
REFERENCE = """
[reference]
type = "optimal"
end = [1.0]
limits = { torque = 1.0, joint_rate = 0.5 }
tolerance = 1e-4
intervals = 40
"""
TORQUES = '[input]\ntype = "optimal-torques"\n'


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kept, "_known", {})
    (tmp_path / "cart.toml").write_text(ARM)
    (tmp_path / "slide.toml").write_text(HEAD + REFERENCE + TORQUES)
    return caller(monkeypatch, capsys)


def document(said):
    assert (said.status, said.err) == (0, "")
    return json.loads(said.out)


def test_a_mass_that_may_go_no_faster_than_half_a_metre_a_second(call):
    """Of 1 kg under 1 N: half a second to 0.5 m/s and back, and 1.5 s between; nothing else limits it."""
    found = document(call("optimize", "slide.toml", "--json"))
    assert (found["command"], found["name"], found["arm"]) == ("optimize", "slide", "cart")
    assert found["duration"] == pytest.approx(2.5, rel=5e-3)
    assert found["ratio"] == pytest.approx(1.0, rel=1e-3) and found["cost"] == pytest.approx(found["duration"])
    assert found["end_error"] < 1e-4 and found["residual"] == 0.0 and found["end_rate"] < 0.01
    shares = {(each["limit"], each["name"]): each["share"] for each in found["limits"]}
    assert shares.keys() == {("torque", "cart.joint"), ("joint_rate", "cart.joint")}
    assert shares["torque", "cart.joint"] == pytest.approx(0.4, abs=0.06)
    assert shares["joint_rate", "cart.joint"] == pytest.approx(0.6, abs=0.06)
    (joint,) = found["joints"]
    assert (joint["name"], joint["unit"]) == ("cart.joint", "m")
    assert [joint["start"], joint["end"]] == pytest.approx([0.0, 1.0], abs=0.01)
    assert found["intervals"] >= 40 and found["steps"] > 0 and found["seconds"] > 0 and found["written"] == []
    assert found["units"]["duration"] == "s" and found["units"]["share"] == "1"


def test_the_table_says_the_same(call):
    found = document(call("optimize", "slide.toml", "--json"))
    said = call("optimize", "slide.toml")
    assert (said.status, said.err) == (0, "")
    head, *lines = said.out.splitlines()
    assert head == f"slide: {found['status']}"
    rows = {line[:12].strip(): line[12:].strip() for line in lines}
    assert rows["arm"] == "cart" and rows["cart.joint"].startswith("0 to 1 m")
    assert rows["duration"] == f"{found['duration']:.6g} s"
    assert rows["rigid arm"].endswith(f"the flexible arm takes {found['ratio']:.5g} times as long")
    share = {each["limit"]: f"{100 * each['share']:.3g} %" for each in found["limits"]}
    assert rows["at torque"] == f"cart.joint {share['torque']} of the time"
    assert f"at joint_rate cart.joint {share['joint_rate']} of the time" in " ".join(said.out.split())
    assert rows["search"] == (
        f"{found['intervals']} intervals, {found['steps']} steps, {found['search_seconds']:.3g} s"
    )
    assert re.match(r"\d+\.?\d* s", rows["took"])


def test_the_second_time_it_is_known(call, monkeypatch, capsys):
    first = document(call("optimize", "slide.toml", "--json"))
    assert first["seconds"] > 0 and first["search_seconds"] > 0
    monkeypatch.setattr(kept, "_known", {})
    monkeypatch.setattr(search, "optimal_motion", None)
    again = document(call("optimize", "slide.toml", "--json"))
    assert {**again, "seconds": first["seconds"]} == first
    optimize._show({**again, "search_seconds": 60.0, "seconds": 0.1})
    (took,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("took"))
    assert took.split(maxsplit=1)[1] == "0.1 s, because the motion was found and stored earlier"


def test_shares_of_all_limits_are_those_of_the_times_at_them(call):
    """A motion made by hand: 4 s, its numbers at their limits for so many of them."""
    scenario = fa.load_scenario("slide.toml")
    model = fa.Model(scenario.loaded_arm())
    given = scenario.motion(model)
    times = np.array([0.0, 1.0, 2.0, 4.0])
    made = {"times": times, "q": np.array([[0.0], [2.0], [2.0], [1.0]]), "qd": np.array([[0.0], [0.7], [0.7], [0.0]])}
    held = replace(given, u=np.array([[1.0], [-1.0], [0.5], [1.0]]), linear=False, **made)
    limits = Limits(torque=1.0, joint_range=[[0.0, 2.0]], joint_rate=0.7, torque_rate=2.0)
    shares = {each.limit: each.share for each in active(model, held, limits)}
    assert shares == {"torque": 0.5, "torque_rate": 0.25, "joint_range": 0.75, "joint_rate": 0.625}
    joined = replace(held, linear=True)
    shares = {each.limit: each.share for each in active(model, joined, limits)}
    assert shares["torque"] == (0.5 + 1.0 + 1.0) / 4
    assert active(model, held, Limits()) == []


def test_a_link_at_its_largest_deflection_is_named():
    model = fa.Model(fa.load("subudhi-morris"))
    asked = {"objective": "effort", "duration": 2.0, "intervals": 16, "most_intervals": 16, "tolerance": 1.0}
    free = fa.optimal_motion(model, [0.0, 0.0], [1.0, 0.5], **asked)
    bent = np.abs(model.deflections(free.q)[:, :, 1]).max(axis=0)
    limits = Limits(deflection=(bent[0], 10.0))
    (found,) = active(model, free, limits)
    assert (found.limit, found.name) == ("deflection", "the deflection of 'upper' along y") and 0 < found.share < 0.5


# -- options -----------------------------------------------------------------------------------------------------------


def test_keys_of_the_reference_can_be_set(call):
    """Twice the rate limit: v / a + d / v; an effort has a duration and no limits."""
    words = ("--set", "limits.joint_rate=0.8", "--set", "tolerance=2e-4", "--json")
    assert document(call("optimize", "slide.toml", *words))["duration"] == pytest.approx(0.8 + 1 / 0.8, rel=5e-3)
    words = ("--set", "objective=effort", "--set", "duration=2", "--set", "limits={}", "--set", "end=[0.5]", "--json")
    found = document(call("optimize", "slide.toml", *words))
    assert found["duration"] == pytest.approx(2.0) and found["cost"] == pytest.approx(0.25 * 12 / 8, rel=1e-2)
    assert (found["rigid_duration"], found["ratio"], found["limits"]) == (None, None, [])
    assert "rigid arm" not in call("optimize", "slide.toml", *words[:-1]).out
    found = document(call("optimize", "slide.toml", "--set", "objective.time=2", "--json"))
    assert found["cost"] == pytest.approx(2 * found["duration"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("x", "--set is 'x'; it must be KEY=VALUE, such as limits.torque=0.5"),
        ("=1", "--set is '=1'; it must be KEY=VALUE"),
        ("limits.=1", "--set is 'limits.=1'; it must be KEY=VALUE"),
        ("end=", "--set is 'end='; it must be KEY=VALUE"),
        ("limits.torque.a=1", "--set is 'limits.torque.a=1'; it must be KEY=VALUE"),
        ("limits.torqe=1", "--set: limits: unknown key 'torqe'; did you mean 'torque'"),
        ("limits.torque=-1", "--set: limits.torque is -1; it must be one positive number"),
        ("end=[1, 2]", "--set: reference.end has 2 numbers; it must have 1: cart.joint"),
        ("end=up", "--set: end is 'up'; it must be a list of numbers"),
        ("type=quintic", "--set: type is 'quintic'; it must be 'optimal'"),
        ("points=12", "reference: points must be at most 9"),
    ],
)
def test_what_cannot_be_set_is_refused_in_one_line(call, given, message):
    said = call("optimize", "slide.toml", "--set", given)
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(f"flexarm: {message}") and said.err.count("\n") == 1


def test_a_scenario_without_an_optimal_reference_is_refused(call):
    said = call("optimize", "rigid-two-link")
    assert (said.status, said.err) == (
        2, "flexarm: rigid-two-link: the scenario has no reference; optimize needs a reference of type 'optimal'\n"
    )  # fmt: skip
    assert "the scenario has a reference of type 'cycloidal'; optimize needs" in call("optimize", "canadarm").err
    assert "unknown scenario 'none'" in call("optimize", "none").err


def test_a_search_that_finds_nothing_says_what_presses(call):
    said = call("optimize", "slide.toml", "--set", "steps=1", "--set", "points=2")
    assert said.status == 2 and said.out == ""
    assert said.err.startswith("flexarm: optimal_motion: arm 'cart': no motion found") and said.err.count("\n") == 1


def test_view_writes_the_page_of_the_run(call, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(pages, "viewed", lambda results: (seen.extend(results), viewed(results))[1])
    said = call("optimize", "slide.toml", "--view")
    assert (said.status, said.err) == (0, "") and said.out.endswith("written: slide.html\n")
    page = (tmp_path / "slide.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and "slide" in page
    (tmp_path / "slide.toml").write_text(HEAD + REFERENCE)  # nothing drives it: the motion's own torques do
    found = document(call("optimize", "slide.toml", "--view", "--out", "own.html", "--no-browser", "--json"))
    assert found["written"] == ["own.html"]
    assert (tmp_path / "own.html").exists()
    for result in seen:
        assert float(result.u.max()) == pytest.approx(1.0) and float(result.q[-1, 0]) == pytest.approx(1.0, abs=0.01)
    assert len(seen) == 2
    said = call("optimize", "slide.toml", "--view", "--out", "own.txt")
    assert said.status == 2 and "--out own.txt: it must end with .html" in said.err


def test_view_of_a_run_that_fails(call, tmp_path):
    """The motion is told, the part is on the page, and the status is that of a failed run."""
    far = HEAD.replace("until = 3.0", "until = 300.0") + REFERENCE
    (tmp_path / "slide.toml").write_text(far + '[controller]\ntype = "joint-pd"\nKp = 10.0\nKd = -3.0\n')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is unstable
        said = call("optimize", "slide.toml", "--view")
    assert said.status == 1 and "the result up to that time is in slide.html" in said.err.splitlines()[-1]
    assert said.out.startswith("slide: ") and (tmp_path / "slide.html").exists()


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


def test_ctrl_c_gives_the_best_so_far(call, monkeypatch, tmp_path):
    """Its table is shown, no page is made of it, it is not kept, and the status is that of Ctrl-C."""
    found = fa.load_scenario("slide.toml").motion(fa.Model(fa.load("cart.toml")))

    calls = []

    def interrupted(*_, **__):
        calls.append(0)
        warnings.warn("optimal_motion: interrupted; the tip error is 1 m off", InterruptedRun, stacklevel=2)
        return found

    monkeypatch.setattr(kept, "_known", {})
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(search, "optimal_motion", interrupted)
    for words in ((), ("--view",)):
        said = call("optimize", "slide.toml", *words)
        assert (said.status, said.err) == (130, "flexarm: optimal_motion: interrupted; the tip error is 1 m off\n")
        assert said.out.startswith("slide: ") and "written" not in said.out
    assert not (tmp_path / "slide.html").exists() and len(calls) == 2
    said = call("optimize", "slide.toml", "--json")
    assert said.status == 130 and json.loads(said.out)["duration"] == found.duration


def test_ctrl_c_in_the_search_itself(call, tmp_path, monkeypatch):
    """As a terminal sends it, in the middle of the solver's steps: one line, status 130, and nothing is kept."""
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path / "cache"))
    program = """
import signal, sys
from flexarm import cli
from flexarm.optimal import nlp
signal.signal(signal.SIGINT, signal.default_int_handler)
solved = nlp.Program.solved
def pressed(self, *given):
    signal.raise_signal(signal.SIGINT)
    return solved(self, *given)
nlp.Program.solved = pressed
sys.argv = ["flexarm", "optimize", "slide.toml"]
cli.main()
"""
    (tmp_path / "pressed.py").write_text(program)
    ended = run("pressed.py", folder=tmp_path, strict=False)
    assert ended.returncode == 130 and ended.stderr.count("\n") == 1 and ended.stderr.startswith("flexarm: ")
    assert "interrupted" in ended.stderr and not [*(tmp_path / "cache").glob("*.motion")]


def test_progress_is_one_line_in_a_terminal(call, monkeypatch, tmp_path):
    """What is searched, on stderr alone, and it goes away."""
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path / "cache"))
    said = []

    @contextmanager
    def heard(what):
        said.append(what)
        yield

    monkeypatch.setattr(progress, "said", heard)
    call("optimize", "slide.toml", "--set", "end=[0.9]")
    assert any(what.startswith("optimal motion") for what in said)
