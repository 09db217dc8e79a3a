"""How every command ends: its status, in how many lines, and what is kept. The commands are those of the parser."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import warnings
from functools import cache
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from programs import Ended, run
from rich.table import Table

import flexarm as fa
from flexarm import cli
from flexarm_papers.verdicts import PAPERS, Part

PRESSED = Path(__file__).parent / "helpers" / "pressed.py"
COMMANDS = typer.main.get_command(cli.app).commands
ARM = """
name = "two"
links = [
  { name = "upper", body = { type = "rigid", length = 0.5, mass = 1.0 } },
  { name = "fore", body = { type = "beam", length = 0.5, mass = 0.4, EI = 2.0, modes = { y = 1 } } },
]
"""
PUSH = """
name = "push"
arm = "arm.toml"
until = 0.5
samples = 51
reference = { type = "quintic", start = [0, 0], end = [0.1, 0.1], duration = 0.2 }
input = { type = "rigid-inverse-dynamics" }
"""
FAILING = (
    PUSH.replace("until = 0.5\nsamples = 51", "until = 20\nsamples = 201") + '[solver]\nmethod = "rk4"\nstep = 0.05\n'
)
HELD = PUSH.replace(
    'input = { type = "rigid-inverse-dynamics" }', 'controller = { type = "joint-pd", Kp = 9.0, Kd = 2.0 }'
)
QUICKEST = (
    PUSH.partition("reference")[0]
    + """
reference = { type = "optimal", end = [0.1, 0.1], objective = "effort", duration = 1.0, tolerance = 0.05 }
input = { type = "optimal-torques" }
"""
)
STUDY = """
name = "few"
scenario = "push.toml"
design = { type = "random", runs = 2, seed = 1 }
keep = ["peak"]
[parameters]
"upper.mass" = { type = "uniform", low = "-10 %", high = "10 %" }
"""
GIVEN = {"ARM": "arm.toml", "SCENARIO": "push.toml", "SCENARIO...": "push.toml", "[PAPER]": "mohan-saha"}
GIVEN["[PROGRAM]"] = "papadopoulos-dubowsky"
GIVEN |= {"RESULT...": "push.toml", "ARM_OR_SCENARIO": "arm.toml", "STUDY": "study.toml", "[SEARCH]...": "canadarm"}
GIVEN |= {"NAME": "mine", "[ACTION]": "score", "[PROBLEM]": "rigid-chain-3", "[CSV]": "motion.csv"}
"""What a new kind of argument is here has to be said here."""
OWN = {name: {"SCENARIO": "held.toml"} for name in ("stability", "realtime")} | {
    "optimize": {"SCENARIO": "quickest.toml"}
}
"""Commands that want another."""
MUST = {"export": ["--c", "library"], "realtime": ["--period", "0.02", "--misses", "1000000"]}
"""Options without which a command does nothing, or stops on a machine that is busy."""
NAMES = ("nan", "1e999", "$(x)")
"""Nonsense elsewhere, and as good as any for a file that is new."""
MOMENTS = 2
"""Of each command at which Ctrl-C is pressed."""


def filled(folder):
    given = {"arm": ARM, "push": PUSH, "held": HELD, "quickest": QUICKEST, "failing": FAILING, "study": STUDY}
    for name, text in given.items():
        (folder / f"{name}.toml").write_text(text)
    converged = resources.files("flexarm.problems") / "set" / "rigid-chain-3" / "trajectory.csv"
    (folder / "motion.csv").write_bytes(converged.read_bytes())
    return folder


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return filled(tmp_path)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """How a command ends, code compiled anew, and how many calls that takes; each is run once."""

    @cache
    def ended(name):
        folder = filled(tmp_path_factory.mktemp("undisturbed"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FLEXARM_CACHE", str(folder / "cache"))
            return pressed(folder, 0, name, *arguments(name)), int((folder / "calls").read_text())

    return ended


def kinds(name):
    """Of the arguments of a command, as its help calls them."""
    return [param.metavar for param in COMMANDS[name].params if param.param_type_name == "argument"]


def arguments(name, **other):
    """Of a command, as they are usual, some kinds of them replaced."""
    return [(GIVEN | OWN.get(name, {}) | other)[kind] for kind in kinds(name)] + MUST.get(name, [])


def options(name):
    """Of a command: those that take a value."""
    return [p.opts[0] for p in COMMANDS[name].params if p.param_type_name == "option" and not p.is_flag]


def alone(name):
    """Options with which a command starts no processes, which would take long."""
    return ["--workers", "1"] if "--workers" in options(name) else []


def pressed(files, moment, *words):
    """The command in a process of its own with a Ctrl-C."""
    return run(str(PRESSED), moment, *words, folder=files, strict=False)


def said(ended, status):
    """One line, which can be printed, and no traceback."""
    assert "Traceback" not in ended.stderr + ended.stdout, ended.stderr
    assert ended.returncode == status, ended.stderr
    assert re.fullmatch(r"flexarm: \S[^\n]*\n", ended.stderr) and ended.stderr[:-1].isprintable(), ended.stderr
    return ended.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_0_where_all_went_well(name, undisturbed, files, call):
    ended, _ = undisturbed(name)
    assert (ended.returncode, ended.stderr) == (0, "") and ended.stdout
    ended = call(name, "--help")
    assert (ended.returncode, ended.stderr) == (0, "") and "--help" in ended.stdout


NONSENSE = ("--nothing", "", "\x1b[31mred", "a\nb", "[/]", "nan", "1e999", "x" * 300, "/dev/null/x", "é\udcff", "$(x)")


@pytest.fixture
def call(monkeypatch, capsys):
    """The same in this process, which is faster."""

    def called(*words):
        monkeypatch.setattr(sys, "argv", ["flexarm", *words])
        with pytest.raises(SystemExit) as status:
            cli.main()
        out, err = capsys.readouterr()
        return Ended(status.value.code, out, err, [])

    return called


@pytest.mark.parametrize("name", COMMANDS)
def test_2_where_it_is_refused(name, files, call):
    """Every argument is nonsense in turn, or there are too many."""
    before = sorted(os.listdir(files))
    said(call(name, *arguments(name), "--nothing"), 2)
    said(call(name, *arguments(name), "too", "many.toml", "--nothing"), 2)
    for kind in kinds(name):
        for odd in NONSENSE:
            if kind == "NAME" and odd in NAMES:
                continue
            said(call(name, *arguments(name, **{kind: odd})), 2)
    assert sorted(os.listdir(files)) == before


@pytest.mark.parametrize("name", COMMANDS)
def test_what_draws_a_table_has_json(name, files, call, monkeypatch):
    """With it there is one document, and no table."""
    drawn, made = [], Table.__init__
    monkeypatch.setattr(Table, "__init__", lambda *given, **more: (drawn.append(given), made(*given, **more))[1])
    short = SimpleNamespace(reproduce=lambda folder: [Part("Fig. 1", "Nothing.", [], study=True)])
    for paper in PAPERS:
        monkeypatch.setitem(sys.modules, f"flexarm_papers.{paper.name.replace('-', '_')}", short)
    ended = call(name, *arguments(name), *alone(name))
    assert ended.returncode == 0 and ended.stdout
    has_json = any("--json" in param.opts for param in COMMANDS[name].params)
    assert has_json or not drawn, "a table that no program can read"
    if has_json:
        drawn.clear()
        ended = call(name, *arguments(name), *alone(name), "--json")
        assert (ended.returncode, ended.stderr, drawn) == (0, "", [])
        assert json.loads(ended.stdout)["command"] == name


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "papers"])
def test_options_may_be_nonsense(name, files, call):
    """Refused in a line, or taken: a file may have an odd name."""
    given = [*arguments(name), *alone(name)]
    for i, option in enumerate(options(name)):
        ended = call(name, *given, option, NONSENSE[2 + i % (len(NONSENSE) - 2)])
        if ended.returncode:
            said(ended, 2)
        assert "Traceback" not in ended.stderr and (ended.stdout + ended.stderr).replace("\n", "").isprintable()


RUNS = [name for name in COMMANDS if {"SCENARIO", "SCENARIO..."} & {*kinds(name)} and name not in OWN]


@pytest.mark.parametrize("name", RUNS)
def test_1_where_a_run_failed(name, files):
    """Its part is where the line says; and what was whole before it has been shown."""
    given = arguments(name, **{"SCENARIO": "failing.toml", "SCENARIO...": "failing.toml"})
    line = said(pressed(files, 0, name, *given), 1)
    assert "diverged" in line
    if "--out" in options(name):
        (kept,) = re.findall(r"the result up to that time is in (\S+)\n", line)
        assert 0 <= fa.load_result(files / kept).time[-1] < 20
    else:
        ended = pressed(files, 0, name, "push.toml", *given)
        assert said(ended, 1) == line and re.search(r"^push ", ended.stdout, re.M)


def test_that_there_are_commands_that_run():
    assert {"simulate", "compare"} <= {*RUNS} and {"list", "show", "modes", "derive", "papers"} <= {*COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_130_wherever_ctrl_c_comes(name, undisturbed, files, monkeypatch):
    """At moments spread over the whole of its work, code compiled anew; a result that is there is whole."""
    monkeypatch.setenv("FLEXARM_CACHE", str(files / "cache"))
    usual, most = undisturbed(name)
    assert usual.returncode == 0 and most > 50
    chosen = random.Random(name)
    moments = {2, *(int(0.9 * most * (i + chosen.random()) / MOMENTS) + 2 for i in range(MOMENTS))}
    for moment in sorted(moments):
        shutil.rmtree(files / "cache", ignore_errors=True)
        for file in (*files.glob("*.nc"), *files.glob("mine*")):
            file.unlink()
        ended = pressed(files, moment, name, *arguments(name))
        line = said(ended, 130)
        for file in files.glob("*.nc"):
            assert fa.load_result(file).attrs["status"] in ("completed", "interrupted"), moment
        if kept := re.findall(r"the result up to that time is in (\S+)\n", line):
            assert fa.load_result(files / kept[0]).attrs["status"] == "interrupted"
        assert not list(files.glob(".flexarm-*"))


# -- where its words go ------------------------------------------------------------------------------------------------


def started(files, *words, **how):
    """The command as a shell starts it."""
    return subprocess.Popen([sys.executable, "-m", "flexarm", *words], cwd=files, **how)


QUICK = [name for name in COMMANDS if name != "papers"]


@pytest.mark.parametrize("name", QUICK)
def test_a_pipe_that_nobody_reads_changes_nothing(name, files):
    """The work is done, its files are written and the status tells of it."""
    ended = run("-m", "flexarm", name, *arguments(name), *alone(name), folder=files, strict=False, unread=True)
    assert (ended.stderr, ended.returncode) == ("", 0)


@pytest.mark.parametrize("name", ["list", "simulate"])
def test_a_pipe_that_nobody_reads_changes_nothing_of_an_interpreter(name, files):
    """An interpreter flushes its streams once more when it ends."""
    reader, writer = os.pipe()
    os.close(reader)
    process = started(files, name, *arguments(name), stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (process.communicate()[1], process.returncode) == (b"", 0)


def test_a_pipe_that_nobody_reads_changes_no_status(files):
    reader, writer = os.pipe()
    os.close(reader)
    process = started(files, "show", "none", stdout=writer, stderr=writer)
    os.close(writer)
    assert process.wait() == 2


@pytest.mark.parametrize("closed", ["1", "2", "0 1 2"])
def test_closed_streams_are_no_result_s(closed, files):
    """What would be said goes nowhere, and not into the first file that is opened."""
    close = f"import os, sys; [os.close(int(n)) for n in '{closed}'.split()]; os.execv(sys.executable, sys.argv[1:])"
    command = [sys.executable, "-c", close, sys.executable, "-m", "flexarm", "simulate", "push.toml", "--no-plot"]
    done = subprocess.run(command, cwd=files, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert fa.load_result(files / "push.nc").attrs["status"] == "completed"
    if closed == "0 1 2":
        done = subprocess.run([*command, "--nothing"], cwd=files, capture_output=True, text=True)
        assert done.returncode == 2 and "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_stream_that_is_full(files):
    with open("/dev/full", "w") as full:
        process = started(files, "simulate", "push.toml", "--no-plot", stdout=full, stderr=subprocess.PIPE, text=True)
        line = process.communicate()[1]
    assert process.returncode == 2
    assert line == "flexarm: standard output: cannot be written: No space left on device\n"
    assert fa.load_result(files / "push.nc").attrs["status"] == "completed"


def test_letters_that_the_terminal_lacks(files):
    (files / "arm.toml").write_text(ARM.replace('"two"', '"deux é 臂"'), encoding="utf-8")
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    process = started(files, "show", "arm.toml", stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    out, err = process.communicate()
    assert (process.returncode, err) == (0, b"") and out.startswith(rb"deux \xe9 \u81c2: ")


def test_names_are_neither_markup_nor_commands_to_the_terminal(files):
    odd = "[red]x[/] :smiley: [link=a]b[/link]"
    described = 'description = "one\\u001b[2J [bold]two\\u202e"\n'
    text = ARM.replace('"two"', f'"{odd}"').replace('"upper"', '"[/]"')
    (files / "arm.toml").write_text(described + text, encoding="utf-8")
    shown = pressed(files, 0, "show", "arm.toml").stdout
    assert shown.startswith(odd + r": one\x1b[2J [bold]two\u202e") and "[/].joint" in shown
    assert shown.replace("\n", "").isprintable()
    for name in RUNS:
        assert "[/]" in pressed(files, 0, name, *arguments(name)).stdout or name == "compare"


def test_a_fault_of_our_own_is_one_line_too(monkeypatch, capsys):
    """With the place, for the report; and a status that no other end has."""

    def fails():
        raise RuntimeError("a\nb\x1b")

    monkeypatch.setattr("flexarm.description.load.bundled", fails)
    monkeypatch.setattr(sys, "argv", ["flexarm", "list"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    assert ended.value.code == 70 and out == ""
    assert re.fullmatch(
        r"flexarm: internal error of flexarm, please report it: RuntimeError: a b\\x1b; [\w/.]+, line \d+\n", err
    )


def test_memory_that_is_not_there(monkeypatch, capsys):
    def fails():
        raise MemoryError

    monkeypatch.setattr("flexarm.description.load.bundled", fails)
    monkeypatch.setattr(sys, "argv", ["flexarm", "list"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert (ended.value.code, capsys.readouterr().err) == (2, "flexarm: there is not enough memory\n")


def test_a_warning_is_one_line_however_often_it_comes(capsys):
    def work():
        warnings.simplefilter("always")
        for line in ("slow", "slow", "far"):
            warnings.warn(line, UserWarning, stacklevel=1)

    assert cli.ended(work) == 0
    assert capsys.readouterr().err.splitlines() == ["flexarm: warning: slow", "flexarm: warning: far"]
