"""Where one begins in a terminal: what there is, files to start from, what to do next, completion, names mistyped."""

import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tomllib

import pytest
from command_line import caller
from programs import ran

import flexarm as fa
from flexarm.checks import LONGEST, did_you_mean
from flexarm.commands.completion import LONGEST as WIDTH
from flexarm.commands.start import Kind, template
from flexarm.errors import DescriptionError
from flexarm.simulation.performance import performance
from flexarm.studies.file import bundled_studies, load_study

EVERYTHING = {"arms": fa.bundled(), "scenarios": fa.bundled_scenarios(), "studies": bundled_studies()}


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda *_, **__: False)
    return caller(monkeypatch, capsys)


def refused(said, *parts):
    """One line, status 2."""
    assert (said.status, said.out) == (2, ""), said
    assert re.fullmatch(r"flexarm: [^\n]+\n", said.err) and all(part in said.err for part in parts), said.err


# -- list --------------------------------------------------------------------------------------------------------------


def listed(out):
    """Names by kind, from what was printed."""
    found = {}
    for line in out.splitlines():
        if line in EVERYTHING:
            names = found[line] = []
        elif line and not line.startswith("Next: "):
            names.append(line.split()[0])
    return found


def described(kind, name):
    return {"arms": fa.load, "scenarios": fa.load_scenario, "studies": load_study}[kind](name).description


@pytest.mark.parametrize(
    "words",
    [[], ["canadarm"], ["CanAdarm", "control"], ["studies"], ["arm", "elastic"], ["tubes"], ["scenarios", "pd"]],
)
def test_list_finds_what_has_all_the_words(call, words):
    """In name or description, capitals or not; a kind's name is the kind."""
    said = call("list", *words)
    assert (said.status, said.err) == (0, "")
    kinds = {kind for kind in EVERYTHING if kind in words or kind[:-1] in words} or {*EVERYTHING}
    sought = [word.lower() for word in words if word not in ("studies", "scenarios", "arm")]
    expected = {
        kind: [name for name in names if all(word in f"{name} {described(kind, name)}".lower() for word in sought)]
        for kind, names in EVERYTHING.items()
        if kind in kinds
    }
    assert listed(said.out) == {kind: names for kind, names in expected.items() if names}
    assert not re.search(r"[ \t]$", said.out, re.M), "lines of a pipe end with their last letter"


def test_list_finds_nothing_and_says_what_is_like_it(call):
    refused(call("list", "canadrm"), "nothing found: ", "'canadrm'", "; did you mean 'canadarm'?")
    refused(call("list", "studies", "vibratoin"), "has 'vibratoin' in", "; did you mean 'vibration'?")
    refused(call("list", "canadarm", "violin"), "has 'canadarm violin' in its name or description\n")
    refused(call("list", ""), "nothing found")
    refused(call("list", "canadarm", " "), "nothing found")


def in_a_terminal(columns, *words):
    """What the command writes on a terminal of this width, with its commands to the terminal."""
    parent, child = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": str(columns)}
    command = [sys.executable, "-m", "flexarm", *words]
    process = subprocess.Popen(command, stdout=child, stderr=child, stdin=child, env=environment)
    os.close(child)
    seen = b""
    try:
        while True:
            try:
                seen += os.read(parent, 4096)
            except OSError:  # the other end is closed
                break
        assert process.wait() == 0, seen
    finally:
        process.kill()
        os.close(parent)
    lines = seen.decode().replace("\r\n", "\n").split("\n")
    return "\n".join(line.rpartition("\r")[2] for line in lines)  # progress is written over


def test_list_marks_what_matched(call):
    """Underlined in a terminal, in whatever capitals it stands; nothing else is."""
    shown = in_a_terminal(100, "list", "rigid", "two")
    marked = re.findall(r"\x1b\[(?:1;)?4m([^\x1b]*)\x1b", shown)
    assert {word.lower() for word in marked} == {"rigid", "two"} and len(marked) > 4
    assert "\x1b" not in call("list", "rigid", "two").out


@pytest.mark.parametrize(
    ("columns", "words"),
    [(60, ["list"]), (60, ["show", "spatial-6r"]), (40, ["show", "spatial-6r"]), (60, ["modes", "canadarm"])],
)
def test_nothing_is_cut_off_in_a_narrow_terminal(columns, words):
    plain = re.sub(r"\x1b\[[\d;]*m", "", in_a_terminal(columns, *words))
    assert max(map(len, plain.splitlines())) <= columns and "…" not in plain
    for name in fa.bundled() if words == ["list"] else ["fore"]:
        assert name in plain


# -- new ---------------------------------------------------------------------------------------------------------------

QUANTITY = re.compile(r"\[[^\]]*\]")


@pytest.mark.parametrize("kind", Kind)
def test_new_writes_an_arm_and_a_scenario_that_run(call, kind, tmp_path):
    said = call("new", "first", "--kind", kind)
    assert (said.status, said.err) == (0, "")
    assert sorted(os.listdir()) == ["first-slew.toml", "first.toml"]
    arm, scenario = fa.load("first.toml"), fa.load_scenario("first-slew.toml")
    assert (arm.name, scenario.name) == ("first", "first-slew") and arm.description and scenario.description
    kinds = {link.joint.type for link in arm.links}
    assert ("telescope" in kinds) == (kind == "telescoping")
    assert any(link.joint.elastic for link in arm.links) == (kind == "elastic")
    assert (len({link.joint.axis for link in arm.links if hasattr(link.joint, "axis")}) > 1) == (kind == "spatial")
    result = scenario.run(progress=False)
    found = performance(result)
    assert result.attrs["status"] == "completed" and result.attrs["energy_drift"] < 1e-6
    assert found.settling < 2 and found.residual < 0.3
    shaped = (tmp_path / "first-slew.toml").read_text().replace("\n# shaper", "\nshaper")
    (tmp_path / "shaped.toml").write_text(shaped)
    assert fa.load_scenario("shaped.toml").reference.shaper is not None
    assert performance(fa.load_scenario("shaped.toml").run(progress=False)).residual < 0.8 * found.residual


@pytest.mark.parametrize("what", ["arm", "scenario"])
@pytest.mark.parametrize("kind", Kind)
def test_every_number_of_a_new_file_has_its_unit_beside_it(kind, what):
    """A comment on its line, with the unit in brackets: as many units as kinds of numbers, or one for all."""
    lines = template(kind, what, "first").splitlines()
    numbers = 0
    for line in lines:
        uncommented = line.removeprefix("# ") if line.startswith("# shaper") else line
        value, _, comment = uncommented.partition("#")
        if "=" in value and tomllib.loads(value) and re.search(r"(?<![\w\"-])-?\d", value.partition("=")[2]):
            numbers += 1
            assert QUANTITY.search(comment), line
        assert len(line) <= 120
    assert numbers >= 7
    assert not [line for line in lines if line.count("[") != line.count("]")]


@pytest.mark.parametrize("kind", ["planar", "telescoping"])
def test_what_new_says_to_do_next_can_be_done(call, kind, tmp_path):
    """The commands are the same for every kind; scenarios of all kinds run in another test."""
    said = call("new", "my first $arm's", "--kind", kind, "--out", "new folder")
    assert said.out.splitlines()[0].startswith("written: new folder/my first $arm's.toml, new folder/")
    commands = after_next(said.out)
    assert [shlex.split(command)[1] for command in commands] == ["show", "modes", "simulate"]
    commands += after_next([call(*shlex.split(command)[1:]) for command in commands][-1].out)
    assert len(commands) == 6 and len({*commands}) == 6
    for command in commands[3:]:
        said = call(*shlex.split(command)[1:])
        assert (said.status, said.err) == (0, ""), command
    texts = [path.read_text() for path in (tmp_path / "new folder").glob("*.toml")]
    commands = [command for text in texts for command in re.findall(r"^#.*  flexarm (.*)$", text, re.M)]
    assert len(commands) == 2
    os.chdir("new folder")
    for command in commands:
        assert call(*shlex.split(command)).status == 0


def test_new_replaces_nothing(call, tmp_path):
    for name in ("first.toml", "first-slew.toml"):
        (tmp_path / name).write_text("mine")
        refused(call("new", "first"), f"{name}: the file exists already and is not replaced")
        assert (tmp_path / name).read_text() == "mine" and os.listdir() == [name]
        os.remove(name)
    os.symlink("nowhere", "first.toml")
    refused(call("new", "first"), "first.toml: the file exists already")
    assert os.listdir() == ["first.toml"]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("", "must not be empty"),
        (" a", "begin or end with a space"),
        ("a/b", "use --out for the folder"),
        ("../a", "use --out for the folder"),
        ('a"b', "must be one line without"),
        ("a\\b", "must be one line without"),
        ("a\nb", "must be one line without"),
        ("\x1b[1m", "must be one line without"),
        ("é\udcff", "must be one line without"),
        (".a", "must not begin with a dash or a dot"),
        ("..", "must not begin with a dash or a dot"),
        ("-a", "must not begin with a dash or a dot"),
        ("x" * (LONGEST - 4), f"must have at most {LONGEST - 5} characters"),
    ],
)
def test_new_refuses_what_is_no_name_of_a_file(call, name, part):
    refused(call("new", "--", name), "NAME ", part)
    assert os.listdir() == []


@pytest.mark.parametrize("name", ["臂 é", "a'b", "$(x)", "{}[]=#", "nan", "first.toml"])
def test_a_name_stands_in_the_files_as_it_is(call, name):
    assert call("new", name).status == 0
    name = name.removesuffix(".toml")
    assert sorted(os.listdir()) == sorted([f"{name}.toml", f"{name}-slew.toml"])
    assert fa.load(f"{name}.toml").name == name
    assert fa.load_scenario(f"{name}-slew.toml").loaded_arm().name == name


def test_new_refuses_a_kind_that_is_none(call):
    refused(call("new", "first", "--kind", "spherical"), "--kind", "planar", "elastic")
    refused(call("new", "first", "--out", "/dev/null/x"), "--out")
    assert os.listdir() == []


# -- what to do next ---------------------------------------------------------------------------------------------------


def after_next(out):
    """The commands below "Next:"."""
    _, _, told = out.partition("\nNext:\n")
    commands = [line.strip() for line in told.partition("\n\n")[0].splitlines()]
    assert commands and all(command.startswith("flexarm ") for command in commands), out
    return commands


@pytest.mark.parametrize("scenario", ["canadarm", "rigid-two-link", "subudhi-morris-elastic"])
def test_what_simulate_says_to_do_next_can_be_done(call, scenario):
    commands = after_next(call("simulate", scenario, "--no-plot").out)
    assert len(commands) == len({*commands}) == 3
    assert commands[:2] == [f"flexarm view {scenario}.nc", f"flexarm play {scenario}"]
    assert commands[2].split()[1] == {"canadarm": "compare", "rigid-two-link": "derive"}.get(scenario, "compare")
    for command in commands:
        said = call(*shlex.split(command)[1:])
        assert (said.status, said.err) == (0, ""), command


def compare_of(out):
    """What "Next:" would compare."""
    words = [shlex.split(command) for command in after_next(out)]
    return [name for command in words if command[1] == "compare" for name in command[2:]]


def test_simulate_compares_with_what_can_be_compared(call):
    """The same arm's scenarios that go on after their reference has arrived; the first of them the one that was run."""
    compared = compare_of(call("simulate", "canadarm", "--no-plot").out)
    assert compared == [f"canadarm-slew-{how}" for how in ("composite", "open", "pd", "shaped")]
    compared = compare_of(call("simulate", "canadarm-slew-pd", "--until", "12", "--no-plot").out)
    assert compared[:2] == ["canadarm-slew-pd", "canadarm-slew-composite"]
    assert compare_of(call("simulate", "rigid-two-link", "--no-plot").out) == []


def test_a_run_that_failed_has_nothing_next(call, tmp_path):
    call("new", "first")
    said = call("simulate", "first-slew.toml", "--method", "rk4", "--step", "0.1", "--samples", 11, "--no-plot")
    assert said.status == 1 and "Next" not in said.out


# -- completion --------------------------------------------------------------------------------------------------------


def completed(shell, words, folder):
    """What the command offers to a shell; the last word is what has been typed of it."""
    environment = {
        "_FLEXARM_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": " ".join(words),
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    program = folder / "complete.py"
    program.write_text("import sys; sys.argv = ['flexarm']; from flexarm.cli import main; main()\n")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return ran(program, folder=folder, strict=False).stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["show", ""], [*fa.bundled(), "my-arm.toml"]),
        (["modes", "cana"], ["canadarm", "canadarm-bus", "canadarm-free"]),
        (["derive", "my"], ["my-arm.toml"]),
        (["simulate", "canadarm-slew-p"], ["canadarm-slew-pd"]),
        (["compare", "canadarm", "canadarm-slew-o"], ["canadarm-slew-open"]),
        (["optimize", "subudhi-morris-elastic-o"], ["subudhi-morris-elastic-optimal"]),
        (["compare", "canadarm", "subudhi-morris-c"], ["subudhi-morris-composite"]),
        (["stability", "satellite-l"], ["satellite-lqr"]),
        (["study", "res"], ["residual-vibration"]),
        (["view", "my"], ["my-arm.toml", "my.nc"]),
        (["play", "canadarm-slew-o"], ["canadarm-slew-open"]),
        (["papers", "lin"], ["lin-lewis"]),
        (["published", "ki"], ["kimball"]),
        (["benchmark-set", "show", "rigid-chain-3"], ["rigid-chain-3", "rigid-chain-30"]),
        (["new", "x", "--kind", ""], [*Kind]),
        (["simulate", "canadarm", "--rt"], ["--rtol"]),
        (["sim"], ["simulate"]),
        (["show", "folder/my"], [""]),
    ],
    ids=" ".join,
)
def test_shells_complete_names_options_and_files(words, offered, tmp_path):
    (tmp_path / "my-arm.toml").touch()
    (tmp_path / "my.nc").touch()
    (tmp_path / "two words.toml").touch()
    (tmp_path / "note.txt").touch()
    assert completed("bash", ["flexarm", *words], tmp_path) == offered


def test_fish_shows_descriptions_on_one_line(tmp_path):
    for line in completed("fish", ["flexarm", "show", "s"], tmp_path):
        name, _, said = line.partition("\t")
        assert name in fa.bundled() and said and len(said) <= WIDTH
        assert fa.load(name).description.startswith(said.removesuffix("..."))


def test_zsh_is_told_of_everything(tmp_path):
    said = "\n".join(completed("zsh", ["flexarm", "simulate", "canadarm-s"], tmp_path))
    assert said.startswith("_arguments ") and re.findall(r'^.*?"([\w-]+)":"', said, re.M) == [
        name for name in fa.bundled_scenarios() if name.startswith("canadarm-s")
    ]


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_itself_completes(call, tmp_path):
    """With the script that the command prints, as a shell would call it."""
    program = 'import sys; sys.argv[0] = "flexarm"; from flexarm.cli import main; main()'
    (tmp_path / "flexarm").write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c '{program}' \"$@\"\n")
    os.chmod("flexarm", 0o755)
    environment = os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = ["./flexarm", "--show-completion", "bash"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    (tmp_path / "script").write_text(shown.stdout)
    done = subprocess.run(
        ["bash", "--norc", "-c", "source ./script; COMP_WORDS=(flexarm show rig); COMP_CWORD=2; "
         "$(complete -p flexarm | sed 's/.*-F \\([^ ]*\\).*/\\1/') ./flexarm; echo \"${COMPREPLY[@]}\""],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("rigid-two-link\n", "")


# -- names that are mistyped -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["show", "canadrm"], "did you mean 'canadarm'?"),
        (["show", "Rigid-Two-Link"], "did you mean 'rigid-two-link'?"),
        (["show", "canadarm-slew-pd"], "'canadarm-slew-pd' is the name of a scenario"),
        (["simulate", "canadarm-slew-pf"], "did you mean 'canadarm-slew-pd'"),
        (["simulate", "de-luca-siciliano"], "is the name of an arm. Give"),
        (["compare", "residual-vibration"], "is the name of a study. Give"),
        (["study", "canadarm-robustnes"], "did you mean 'canadarm-robustness'?"),
        (["papers", "lin-luis"], "did you mean 'lin-lewis'?"),
        (["published", "bek"], "did you mean 'beck'?"),
        (["benchmark-set", "show", "canadarm-slow"], "did you mean 'canadarm-slew'?"),
        (["modes", "canadarm", "--at", "uper.joint=1"], "did you mean 'upper.joint'"),
        (["simulate", "canadarm", "--method", "dop835"], "did you mean 'dop853'?"),
        (["derive", "rigid-two-link", "--part", "enrgy"], "did you mean 'energy'?"),
        (["derive", "rigid-two-link", "--set", "uper.mass"], "did you mean 'upper.mass'"),
        (["show", "first"], "did you mean 'first.toml'?"),
        (["show", "robot"], "did you mean 'robot.urdf'?"),
        (
            ["show", "xyzzy"],
            "'xyzzy'; give the path of a .toml, .urdf, .xml, .mjcf or .sdf file, or the name of a bundled arm: ",
        ),
        (["simulate", "xyzzy"], "'xyzzy'; give the path of a .toml file, or the name of a bundled scenario: "),
        (
            ["simulate", "robot.urdf"],
            "robot.urdf: this is an arm, not a scenario; a scenario names its arm by the key 'arm'\n",
        ),
        (
            ["study", "./robot.urdf"],
            "robot.urdf: this is an arm, not a study; a study names its scenario by the key 'scenario'\n",
        ),
        (["simulat"], "Did you mean"),
        (["show", "--convrge", "canadarm"], "--converge"),
    ],
    ids=" ".join,
)
def test_a_name_that_is_mistyped_is_guessed(call, tmp_path, words, hint):
    for name in ("first.toml", "robot.urdf"):
        (tmp_path / name).touch()
    refused(call(*words), hint)


@pytest.mark.parametrize(
    ("build", "hint"),
    [
        (lambda: fa.Link(name="a", body={"type": "rigid", "lenght": 1.0, "mass": 1.0}), "did you mean 'length'?"),
        (lambda: fa.Link(name="a", body={"type": "baem"}), "did you mean 'beam'?"),
        (lambda: fa.Beam(length=1.0, mass=1.0, EI={"Y": 1.0}), "did you mean 'y'?"),
        (lambda: fa.Model(fa.load("rigid-two-link"), vary=["uper.mass"]), "did you mean 'upper.mass'"),
        (lambda: scenario(initial={"q": {"uper.joint": 1.0}}).run(progress=False), "did you mean 'upper.joint'?"),
        (lambda: scenario(controller={"type": "joint-dp", "Kp": 1.0, "Kd": 1.0}), "did you mean 'joint-pd'?"),
        (lambda: scenario(controller={"type": "joint-pd", "Kp": 1.0, "Kd": 1.0, "Kpp": 1}), "did you mean 'Kp'?"),
        (lambda: fa.study("canadarm-slew-pd", {"upper.EI": [1e5, 2e5]}, keep=["setling"]), "did you mean 'settling'"),
        (lambda: fa.study("canadarm-slew-pd", {"reference.durtion": [1.0]}), "did you mean 'reference.duration'?"),
    ],
)
def test_a_key_that_is_mistyped_is_guessed(build, hint):
    with pytest.raises(DescriptionError, match=re.escape(hint)):
        build()


def scenario(**more):
    reference = {"type": "quintic", "start": [0, 0], "end": [1, 1], "duration": 1.0}
    return fa.Scenario(name="test", arm="rigid-two-link", until=0.1, reference=reference, **more)


def test_what_is_like_nothing_is_not_guessed():
    assert did_you_mean("xyzzy", fa.bundled()) == ""
    assert did_you_mean(1, fa.bundled()) == did_you_mean("x" * 100_000, fa.bundled()) == did_you_mean("", []) == ""
    assert did_you_mean("b", ["a1b"]) == "" and did_you_mean("ab", ["abc"]) == "did you mean 'abc'?"
