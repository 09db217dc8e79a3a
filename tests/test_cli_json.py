"""`--json`: one document, of the numbers that the Python API gives, with units; beside whatever draws a table."""

import json
import math
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from command_line import caller

import flexarm as fa
from flexarm.analysis import convergence
from flexarm.commands.document import UNITS, document, plain
from flexarm.simulation.performance import performance
from flexarm.studies.file import bundled_studies, load_study
from flexarm.studies.result import load as load_study_result
from flexarm.version import __version__
from flexarm_papers.verdicts import Check, Claim, Part

ARM = """
name = "two"
gravity = [0.0, 0.0, -9.81]
payload = { mass = 0.1 }

[[links]]
name = "upper"
joint = { type = "revolute", axis = [0, 1, 0], stiffness = 80.0, rotor_inertia = 0.01 }
body = { type = "rigid", length = 0.5, mass = 1.0 }

[[links]]
name = "mass"
joint = { type = "revolute", axis = [0, 1, 0] }
body = { type = "beam", length = 0.5, mass = 0.4, EI = 20.0, modes = { z = 2 } }
"""
PUSH = """
name = "push"
arm = "arm.toml"
until = 0.5
samples = 51
reference = { type = "quintic", start = [0, 0], end = [0.1, 0.15], duration = 0.2 }
input = { type = "rigid-inverse-dynamics" }
"""
STUDY = """
name = "few"
description = "Two of them"
scenario = "push.toml"
design = { type = "random", runs = 3, seed = 1 }
keep = ["peak", "settling"]
knows = "true"
[parameters]
"upper.mass" = { type = "uniform", low = "-10 %", high = "10 %" }
"""


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name, text in {"arm.toml": ARM, "push.toml": PUSH, "study.toml": STUDY}.items():
        (tmp_path / name).write_text(text)
    return caller(monkeypatch, capsys)


@pytest.fixture
def read(call):
    """The document of a command that ends well."""

    def read(*words):
        said = call(*words, "--json")
        assert (said.status, said.err) == (0, "")
        return checked(words[0], said.out)

    return read


def checked(command, text):
    """A document as a reader finds it: strict, with the head that all have, and a unit for every number that is none of
    a count."""
    assert text.isascii() and text.endswith("}\n")
    found = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert list(found)[:3] == ["flexarm", "command", "units"]
    assert (found["flexarm"], found["command"]) == (__version__, command)
    used = set()
    for key, parent in numbers({key: value for key, value in found.items() if key != "units"}):
        assert key in found["units"] or "unit" in parent, f"{key} has no unit"
        used.add(key)
    assert {key: UNITS[key] for key in found["units"]} == found["units"]
    return found


def numbers(value, key="", parent=()):
    """Every float, with the key that it stands under and the object in which that is."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from numbers(item, name, value)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item, key, parent)
    elif isinstance(value, float):
        yield key, parent


def columns(rows, *keys):
    return [[row[key] for row in rows] for key in keys]


# -- what the commands find --------------------------------------------------------------------------------------------


def test_list(read):
    found = read("list")
    names = {"arms": fa.bundled(), "scenarios": fa.bundled_scenarios(), "studies": bundled_studies()}
    loads = {"arms": fa.load, "scenarios": fa.load_scenario, "studies": load_study}
    for kind, known in names.items():
        assert [entry["name"] for entry in found[kind]] == [*known]
        assert all(entry["description"] == loads[kind](entry["name"]).description for entry in found[kind])
    found = read("list", "pd")
    assert found["arms"] == found["studies"] == []
    named = ["canadarm-bus", "canadarm-slew-pd", "canadarm-slew-shaped", "dual-arm", "satellite-pd"]
    assert columns(found["scenarios"], "name") == [[*named, "subudhi-morris-elastic-shaped"]]


@pytest.mark.parametrize("name", ["arm.toml", "spatial-6r", "theodore-ghosal"])
def test_show(read, name):
    found, arm = read("show", name), fa.load(name)
    model = fa.Model(arm)
    q = np.array(arm.rest)
    assert (found["name"], found["description"]) == (arm.name, arm.description)
    assert columns(found["links"], "name", "joint", "elastic", "body", "length") == [
        [link.name for link in arm.links],
        [link.joint.type for link in arm.links],
        [link.joint.elastic for link in arm.links],
        [link.body.type for link in arm.links],
        [link.body.length for link in arm.links],
    ]
    masses = [link.body.total_mass + link.hub_mass for link in arm.links]
    assert [link["mass"] for link in found["links"]] == pytest.approx(masses)
    assert found["payload"] == arm.payload.mass and found["total_mass"] == pytest.approx(sum(masses) + arm.payload.mass)
    assert found["gravity"] == list(arm.gravity)
    modes = [sum(link["modes"].values()) for link in found["links"]]
    assert sum(modes) == len(arm.flexible)
    assert columns(found["coordinates"], "name", "unit") == [list(arm.coordinates), list(arm.units)]
    assert found["inputs"] == list(arm.inputs)
    assert found["omega_locked"] == model.frequencies(q).tolist()
    assert found["omega_free"] == model.frequencies(q, locked=False).tolist()
    facts = model.kernel("forward_dynamics_dense").code.facts
    assert found["operations"]["dense"] == {name: facts[name] for name in ("multiplications", "additions")}
    assert found["units"]["omega_free"] == "rad/s" and found["units"]["mass"] == "kg"


def test_show_with_more(read):
    found = read("show", "arm.toml", "--parameters", "--converge")
    known = fa.Model(fa.load("arm.toml"), ["*"]).parameters
    assert [(each["name"], each["symbol"], each["value"], each["unit"]) for each in found["parameters"]] == [
        (each.name, each.symbol, each.value, each.unit) for each in known
    ]
    assert "upper.damping" in found["by_name_alone"]
    expected = convergence(fa.load("arm.toml"))
    more = found["convergence"]
    assert more["modes"] == [{"where": "mass.z", "now": 2, "with_more": 3}] and more["kept"] == []
    for key, value in (
        ("omega_locked", expected.locked),
        ("omega_locked_with_more", expected.more_locked),
        ("omega_free", expected.free),
        ("omega_free_with_more", expected.more_free),
        ("sag", expected.sag),
        ("sag_with_more", expected.more_sag),
        ("compliance", expected.compliance),
        ("compliance_with_more", expected.more_compliance),
    ):
        np.testing.assert_array_equal(more[key], value)


@pytest.mark.parametrize("free", [False, True])
def test_modes(read, free):
    found = read("modes", "arm.toml", "--at", "mass.joint=0.7", "--plot", "modes.png", *(["--free"] if free else []))
    model = fa.Model(fa.load("arm.toml"))
    q = np.array([0.7 if name == "mass.joint" else 0.0 for name in model.coordinates])
    assert found["actuators"] == ("free" if free else "locked") and found["written"] == ["modes.png"]
    names, values = columns(found["coordinates"], "name", "value")
    assert (names, values) == (list(model.coordinates), q.tolist())
    omega, shapes = model.modes(q, locked=not free)
    assert [mode["omega"] for mode in found["modes"]] == omega.tolist()
    assert [mode["frequency"] * 2 * math.pi for mode in found["modes"]] == pytest.approx(omega)
    for mode, shape in zip(found["modes"], shapes.T, strict=True):
        x = np.array(mode["relative"])
        assert abs(x).max() == x.max() == 1.0
        np.testing.assert_allclose(x * shape[np.argmax(x)], shape, rtol=1e-12, atol=1e-300)


def test_simulate(read):
    found = read("simulate", "push.toml", "--method", "rk4", "--step", "1e-4")
    result = fa.load_result("push.nc")
    a = result.attrs
    for key in ("name", "status", "method", "method_reason", "step", "rtol", "atol", "steps", "evaluations"):
        assert found[key] == a[key]
    assert (found["arm"], found["coordinates"], found["inputs"], found["samples"]) == ("two", 5, 2, 51)
    assert (found["start_time"], found["end_time"]) == (0.0, 0.5)
    assert 0 <= found["solve_seconds"] <= found["seconds"]
    for joint in found["joints"]:
        q = result.q.sel(coordinate=joint["name"]).values
        reference = result.q_ref.sel(joint=joint["name"]).values
        assert (joint["start"], joint["end"], joint["unit"]) == (q[0], q[-1], "rad")
        assert joint["off_reference"] == abs(q - reference).max()
    for each in found["deflections"]:
        assert each["deflection"] == np.linalg.norm(result.deflection.sel(link=each["link"]), axis=1).max()
    assert columns(found["deflections"], "link") == [["upper", "mass"]] and found["deflections"][1]["deflection"] > 0
    for name, value in found["energy_at_end"].items():
        assert value == float(result[name][-1])
    assert len(found["energy_at_end"]) == 4
    assert (found["energy_drift"], found["energy_scale"]) == (a["energy_drift"], a["energy_scale"])
    assert found["performance"] == plain(vars(performance(result)))
    assert found["written"][:2] == ["push.nc", "push.png"]
    assert len(found["next"]) == 3 and all(command.startswith("flexarm ") for command in found["next"])


def test_simulate_says_only_what_was_kept(read, tmp_path):
    (tmp_path / "little.toml").write_text('keep = ["qd"]\n' + PUSH)
    found = read("simulate", "little.toml")
    assert found["kept"] == ["qd"] and found["joints"] == found["deflections"] == [] and found["energy_at_end"] == {}
    assert "energy_drift" not in found and found["performance"] is None


def test_a_run_that_failed_is_a_document_too(call):
    said = call(
        "simulate", "push.toml", "--until", "20", "--method", "rk4", "--step", "0.05", "--samples", 11, "--json"
    )
    assert said.status == 1 and re.fullmatch(
        r"flexarm: diverged by [^\n]*; the result up to that time is in push.nc\n", said.err
    )
    found = checked("simulate", said.out)
    assert found["status"].startswith("diverged") and found["next"] == []
    assert found["end_time"] == fa.load_result("push.nc").time.values[-1] < 20


def test_compare(read, call, tmp_path):
    (tmp_path / "other.toml").write_text(PUSH.replace('"push"', '"other"').replace("0.2 }", "0.1 }"))
    found = read("compare", "push.toml", "other.toml", "--after", "0.1")["scenarios"]
    for row, name in zip(found, ("push", "other"), strict=True):
        expected = performance(fa.load_scenario(f"{name}.toml").run(progress=False), after=0.1)
        assert row == {"scenario": name} | plain(vars(expected))
    assert "Infinity" in [row["settling"] for row in found], "one that never settles"
    (tmp_path / "free.toml").write_text('name = "free"\narm = "arm.toml"\nuntil = 0.1\n')
    said = call("compare", "push.toml", "free.toml", "--json")
    assert said.status == 2 and said.err.startswith("flexarm: free.toml: ") and said.err.count("\n") == 1
    assert checked("compare", said.out)["scenarios"][0]["scenario"] == "push"


def test_study(read):
    found = read("study", "study.toml", "--workers", 1)
    result = load_study_result("few.nc")
    assert (found["name"], found["description"], found["runs"]) == ("few", "Two of them", 3)
    assert (found["runs_found"], found["runs_failed"], found["first_failure"]) == (0, 0, None)
    for each in found["outcomes"]:
        y = result[each["name"]].values
        without = ~np.isfinite(y)
        assert each["without"] == without.sum() and each["unit"] == result[each["name"]].attrs.get("units", "")
        if without.all():
            assert each["mean"] is each["median"] is None
            continue
        y = y[~without]
        assert each["mean"] == pytest.approx(y.mean()) and each["deviation"] == pytest.approx(y.std(ddof=1))
        assert (each["smallest"], each["largest"]) == (y.min(), y.max())
        assert each["quantile_5"] == pytest.approx(np.quantile(y, 0.05)) and each["median"] == np.median(y)
    assert columns(found["outcomes"], "name") == [["peak", "settling"]]
    assert found["written"] == ["few.nc", "few.png", "few.study"] and "indices" not in found
    assert read("study", "study.toml", "--workers", 1)["runs_found"] == 3


@pytest.mark.parametrize(
    ("design", "runs"),
    [
        ('{ type = "sensitivity", base = 16, seed = 1 }', 48),
        ('{ type = "worst-case", outcome = "peak", runs = 4 }', None),
    ],
)
def test_study_of_other_designs(read, tmp_path, design, runs):
    text = STUDY.replace('{ type = "random", runs = 3, seed = 1 }', design).replace(', "settling"', "")
    (tmp_path / "study.toml").write_text(text)
    found = read("study", "study.toml", "--workers", 1, "--no-plot")
    result = load_study_result("few.nc")
    if runs:
        assert found["runs"] == runs
        (at,) = found["indices"]
        assert (at["outcome"], at["parameter"]) == ("peak", "upper.mass")
        for name in ("first_order", "total_order", "first_order_low", "total_order_high"):
            assert at[name] == plain(float(result[name].values[0, 0]))
    else:
        worst = found["worst"]
        assert worst["run"] == result.attrs["worst_run"] == int(result.peak.values.argmax())
        assert (worst["outcome"], worst["value"]) == ("peak", float(result.peak.max()))
        assert worst["parameters"][0]["value"] == float(result["upper.mass"][worst["run"]])


def test_papers(read, monkeypatch):
    claims = [
        Claim("eq. 1", "one", "1.0", "1.1", [Check(1.1, 1.0, 1.2)]),
        Claim("eq. 2", "two", "", "2", [Check(2, 1, 3)]),
    ]
    parts = [Part("Fig. 1", "A figure.", claims, "fig1.png"), Part("Ours", "A study.", claims, study=True)]
    paper = SimpleNamespace(reproduce=lambda folder: parts)
    monkeypatch.setitem(sys.modules, "flexarm_papers.lin_lewis", paper)
    (found,) = read("papers", "lin-lewis", "--out", "there")["papers"]
    assert (
        found["name"] == "lin-lewis"
        and found["title"].startswith("Lin & Lewis")
        and found["written"] == ["there/lin-lewis.md"]
    )
    first, second = found["parts"]
    assert (first["where"], first["verdict"], first["figure"]) == ("Fig. 1", parts[0].verdict, "there/fig1.png")
    assert (second["study"], second["verdict"], second["figure"]) == (True, None, None)
    for claim, told in zip(claims, first["claims"], strict=True):
        assert told == {key: getattr(claim, key) for key in told}
        assert {"where", "says", "printed", "ours", "verdict", "correction", "note"} == {*told}


def test_published(read):
    (found,) = read("published", "papadopoulos-dubowsky")["published"]
    assert found["name"] == "papadopoulos-dubowsky" and "1993" in found["source"]
    (number,) = found["numbers"]
    assert (number["printed"], number["verdict"]) == ("-11.41", "reproduced")
    assert number["difference"] == number["found"] + 11.41 and abs(number["difference"]) < number["tolerance"]


# -- documents ---------------------------------------------------------------------------------------------------------


def test_what_json_lacks_has_its_words():
    assert plain(np.array([1.0, np.nan, np.inf, -np.inf])) == [1.0, None, "Infinity", "-Infinity"]
    assert plain({"a": (np.int64(1), np.bool_(True), None, "é\ud800")}) == {"a": [1, True, None, "é\\ud800"]}
    text = document("show", {"omega": float("nan"), "mass": math.inf})
    assert json.loads(text) == {
        "flexarm": __version__, "command": "show", "units": {"mass": "kg", "omega": "rad/s"}, "omega": None,
        "mass": "Infinity",
    }  # fmt: skip
    assert float("Infinity") == math.inf


def test_names_are_values_and_never_keys(read, tmp_path):
    """A link may be called as a key is, or as no key could be."""
    odd = '\\"}],<é臂'
    (tmp_path / "arm.toml").write_text(
        ARM.replace('"upper"', f'"{odd}"').replace('"two"', f'"{odd}"'), encoding="utf-8"
    )
    name = fa.load("arm.toml").name
    found = read("show", "arm.toml", "--converge", "--parameters")
    assert found["name"] == found["links"][0]["name"] == name and found["coordinates"][0]["name"] == f"{name}.joint"
    for words in (["modes", "arm.toml"], ["simulate", "push.toml", "--no-plot"]):  # a font lacks the letters
        keys = set(re.findall(r'^ *"(.*?)":', json.dumps(read(*words), indent=1), re.M))
        assert all(re.fullmatch("[a-z_]+[0-9]*", key) for key in keys), keys


@pytest.mark.parametrize(
    "words",
    [
        ["show", "xyzzy"],
        ["list", "xyzzy"],
        ["simulate", "arm.toml"],
        ["modes", "arm.toml", "--at", "x=1"],
        ["study", "x"],
        ["compare", "x"],
        ["papers", "x"],
        ["published", "x"],
    ],
    ids=" ".join,
)
def test_what_is_refused_is_the_same_line(call, words):
    said = call(*words, "--json")
    assert (said.status, said.out) == (2, "") and said == call(*words)


def test_a_pipe_of_any_encoding_has_the_document_and_nothing_else(call, tmp_path, monkeypatch):
    """Progress and warnings are on the other stream."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    (tmp_path / "arm.toml").write_text(ARM.replace('"two"', '"deux é 臂"'), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "flexarm", "show", "arm.toml", "--json"], capture_output=True, check=True
    )
    assert checked("show", done.stdout.decode("ascii"))["name"] == "deux é 臂"
