"""The command line: what it prints and writes, and how it says no: one line on stderr, status 2, nothing written."""

import os
import pty
import re
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest
from figures import assert_readable, lines
from programs import ran, run

import flexarm as fa
from flexarm import cli
from flexarm.closed_forms.equations import equations

ARM = """
name = "two"
gravity = [0, 0, -9.81]

[[links]]
name = "upper"
joint = { type = "revolute", axis = [0, 1, 0], rotor_inertia = 0.01, gear_ratio = 2.0, stiffness = 80.0 }
body = { type = "rigid", length = 0.5, mass = 1.0 }
hub_mass = 0.2

[[links]]
name = "fore"
joint = { type = "revolute", axis = [0, 1, 0] }
body = { type = "beam", length = 0.5, mass = 0.4, EI = 2.0, modes = { z = 2 }, shapes = "clamped-free" }

[payload]
mass = 0.1
inertia = 0.005
"""

SCENARIO = """
name = "push"
arm = "arm.toml"
until = 0.2
samples = 21

[input]
type = "bang-bang"
amplitude = [0.5, 0.1]
duration = 0.05
"""


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """The same in this process, in an empty folder: status, what it printed, what it said on stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["flexarm", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return ended.value.code or 0, captured.out, captured.err

    return run


@pytest.fixture
def files(tmp_path):
    (tmp_path / "arm.toml").write_text(ARM)
    (tmp_path / "push.toml").write_text(SCENARIO)
    return tmp_path


def said_no(status, out, err, *parts):
    assert status == 2
    assert out == ""
    assert err.startswith("flexarm: ") and err.endswith("\n") and err.count("\n") == 1, err
    assert "Traceback" not in err
    for part in parts:
        assert part in err, err


# -- what it shows -----------------------------------------------------------------------------------------------------


def test_without_a_command_it_helps(call):
    status, out, err = call()
    assert status == 0 and err == ""
    for command in ("list", "show", "modes", "derive", "simulate"):
        assert re.search(rf"^\s+{command}\s", out, re.M)


@pytest.mark.parametrize("words", [("--c", ""), ("--c=",), ("--fmu", "", "--c", "c")])
def test_an_option_without_a_value_is_refused(call, words, tmp_path, monkeypatch):
    """As from an unset variable of a shell: an empty path would be the current folder."""
    monkeypatch.chdir(tmp_path)
    option = words[0].rstrip("=")
    said_no(*call("export", "rigid-two-link", *words), f"{option} is ''; give the option a value, or leave it out")
    assert os.listdir() == []


def test_words_after_two_dashes_are_no_options():
    given = ["new", "--", "--c", ""]
    assert cli.words(given) == given


@pytest.mark.parametrize("command", ["list", "show", "modes", "derive", "simulate"])
def test_every_command_has_help(call, command):
    status, out, _ = call(command, "--help")
    assert status == 0 and "Usage:" in out and "--help" in out
    assert call(command, "-h") == (status, out, "")


def test_the_version(call):
    assert call("--version") == (0, f"flexarm {fa.__version__}\n", "")
    said_no(*call("--version=1"), "--version")


def test_help_says_what_each_command_is_on_one_line(call, monkeypatch):
    """At 80 columns no first sentence is cut off."""
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = call("--help")
    commands = out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert len(commands) >= 9 and not [line for line in commands if line.endswith("...") or len(line) > 80]


def test_list_names_everything_on_a_line_each(call):
    status, out, _ = call("list")
    assert status == 0
    lines = out.splitlines()
    for name in (*fa.bundled(), *fa.bundled_scenarios()):
        assert any(line.startswith(name + " ") for line in lines)
    for name in fa.bundled():
        assert any(line.startswith(name) and line.rstrip().endswith(fa.load(name).description) for line in lines)


@pytest.mark.parametrize("name", fa.bundled())
def test_show(call, name):
    status, out, err = call("show", name)
    assert status == 0 and err == ""
    model = fa.Model(fa.load(name))
    facts = model.kernel("forward_dynamics").code.facts
    assert f"{len(model.coordinates)} coordinates: " in out
    assert all(coordinate in out for coordinate in model.coordinates)
    assert f"recursive: {facts['multiplications']} multiplications, {facts['additions']} additions" in out
    assert "total mass" in out and "natural frequencies" in out


def test_show_counts_masses_and_knows_joints(call, files):
    _, out, _ = call("show", "arm.toml")
    assert "total mass 1.7 kg, payload 0.1 kg" in out
    assert re.search(r"upper\s+revolute elastic\s+rigid\s+0.5\s+1.2\s+-", out)
    assert re.search(r"fore\s+revolute\s+beam\s+0.5\s+0.4\s+2 z", out)
    assert "2 inputs: upper.motor, fore.joint" in out


def frequencies(out):
    return [float(match) for match in re.findall(r"^\d+ +(\S+)", out, re.M)]


def test_modes_are_the_models(call, files):
    model = fa.Model(fa.load("arm.toml"))
    q = np.zeros(5)
    status, out, _ = call("modes", "arm.toml")
    assert status == 0
    assert frequencies(out) == pytest.approx(model.frequencies(q), rel=1e-4)
    _, out, _ = call("modes", "arm.toml", "--free")
    assert frequencies(out) == pytest.approx(model.frequencies(q, locked=False), rel=1e-4)
    q[1] = 1.2
    _, out, _ = call("modes", "arm.toml", "--at", "fore.joint=1.2", "--free")
    assert frequencies(out) == pytest.approx(model.frequencies(q, locked=False), rel=1e-4)
    assert "fore.z1" in out


def test_of_what_does_not_swing_it_is_said(call):
    _, out, _ = call("modes", "rigid-two-link")
    assert out.splitlines()[-1] == "no modes: with actuators locked the arm has nothing that moves"
    falls = "negative: the arm is unstable in this direction and falls away as e^(|omega| t)"
    model = fa.Model(fa.load("rigid-two-link"))
    for at in ("1.5707963", "-1.5707963"):
        q = [float(at), 0.0]
        _, out, _ = call("modes", "rigid-two-link", "--at", f"{model.coordinates[0]}={at}", "--free")
        assert (falls in out) == (min(model.frequencies(q, locked=False)) < 0)
    assert any(min(model.frequencies([x, 0.0], locked=False)) < 0 for x in (1.5707963, -1.5707963))


def test_tables_do_not_wrap_where_no_terminal_limits_them(call):
    _, out, _ = call("modes", "canadarm")
    assert len(frequencies(out)) == 6
    assert len(out.splitlines()) == 2 + 1 + 6


# -- simulate ----------------------------------------------------------------------------------------------------------


def test_simulate_writes_three_files_and_a_summary(files):
    done = ran("-m", "flexarm", "simulate", "push.toml", folder=files)
    assert sorted(os.listdir(files)) == ["arm.toml", "push.html", "push.nc", "push.png", "push.toml"]
    result = fa.load_result(files / "push.nc")
    assert result.attrs["name"] == "push" and result.sizes["time"] == 21
    assert (files / "push.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    (figure,) = done.figures
    assert_readable(figure)
    shown = lines(figure[0])
    assert set(shown) == {"upper.joint", "fore.joint", "upper.motor"}
    for name, (t, q) in shown.items():
        np.testing.assert_array_equal(t, result.time)
        np.testing.assert_array_equal(q, result.q.sel(coordinate=name))
    for part in ("push: completed", "upper.joint", "fore tip", f"energy drift {result.attrs['energy_drift']:.1e}"):
        assert part in done.stdout
    assert "energy balance" not in done.stdout
    assert "push.nc, push.png, push.html" in done.stdout
    assert done.stdout.endswith("\nSee it move: open push.html in a browser.\n")
    assert (files / "push.html").read_text(encoding="utf-8").endswith("</html>\n")


def test_the_summary_begins_with_the_motion_and_ends_with_the_solver(call, files):
    reference = '[reference]\ntype = "quintic"\nstart = [0, 0]\nend = [0.1, 0.1]\nduration = 0.1\n'
    (files / "push.toml").write_text(f"{SCENARIO}\n{reference}")
    options = ("push.toml", "--no-plot", "--no-view", "--until", "0.2", "--samples", 21)
    status, out, _ = call("simulate", *options)
    assert status == 0
    found = fa.performance(fa.load_result(files / "push.nc"))
    rows = [line for line in out.splitlines()[1:] if line]
    titles = ["upper.joint", "fore.joint", "fore tip", "residual vibration", "settling", "solver", "took", "written"]
    assert [next(title for title in titles if row.startswith(title)) for row in rows[:8]] == titles
    assert f"{1e3 * found.residual:.4g} mm at the tip after the reference ends at 0.1 s" in rows[3]
    assert found.settling == found.tip_settling == float("inf"), "otherwise the next line tests nothing"
    assert "joints not within the run (2 %), tip not within the run (1 mm)" in rows[4]
    _, out, _ = call("simulate", *options, "--verbose")
    for part in (
        "residual vibration",
        "2 inputs",
        "21 samples",
        "energy balance",
        "largest drift",
        "rtol",
        "compiling",
    ):
        assert part in out


def test_more_figures_of_a_run_are_drawn(call, files):
    reference = '[reference]\ntype = "quintic"\nstart = [0, 0]\nend = [0.1, 0.1]\nduration = 0.1\n'
    (files / "push.toml").write_text(f"{SCENARIO}\n{reference}")
    options = ("--no-plot", "--no-view", "--until", "0.05", "--samples", 3)
    status, out, _ = call("simulate", "push.toml", *options, *("--figure", "stroboscope", "--figure", "path"))
    assert status == 0
    for kind in ("stroboscope", "path"):
        assert (files / f"push-{kind}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and f"push-{kind}.png" in out


def test_a_figure_wants_what_the_scenario_keeps(call, files):
    (files / "push.toml").write_text(SCENARIO.replace("samples", 'keep = ["tip"]\nsamples'))
    said_no(*call("simulate", "push.toml", "--figure", "stroboscope"), "--figure stroboscope: the figure needs 'q'")


def test_options_take_the_place_of_the_scenarios(call, files):
    status, out, _ = call(
        "simulate",
        "push.toml",
        "--out",
        "results/new",
        "--no-plot",
        "--no-view",
        "--method",
        "radau5",
        "--until",
        "0.1",
        "--samples",
        5,
    )
    assert status == 0
    assert os.listdir("results/new") == ["push.nc"]
    result = fa.load_result("results/new/push.nc")
    assert result.time.values == pytest.approx(np.linspace(0, 0.1, 5))
    assert result.attrs["method"] == "radau5"
    call("simulate", "push.toml", "--no-plot", "--no-view", "--rtol", "1e-5", "--method", "auto")
    result = fa.load_result("push.nc")
    assert result.attrs["rtol"] == 1e-5 and "eigenvalue" in result.attrs["method_reason"]
    call("simulate", "push.toml", "--no-plot", "--no-view", "--method", "rk4", "--step", "1e-4")
    assert fa.load_result("push.nc").attrs["steps"] == 2000
    (files / "fixed.toml").write_text(SCENARIO + '[solver]\nmethod = "rk4"\nstep = 1e-4\n')
    assert call("simulate", "fixed.toml", "--no-plot", "--no-view", "--method", "dop853")[0] == 0


def test_a_former_method_in_a_file_is_a_warning_that_names_the_one_that_is_taken(call, files):
    (files / "push.toml").write_text(SCENARIO + '[solver]\nmethod = "lsoda"\n')
    status, out, err = call("simulate", "push.toml", "--out", "out")
    assert status == 0 and "completed" in out
    assert err == "flexarm: warning: method 'lsoda' is deprecated; 'auto' takes its place\n"


def test_a_name_is_no_path(call, files):
    (files / "push.toml").write_text(SCENARIO.replace('"push"', '"../a/b"'))
    assert call("simulate", "push.toml", "--no-plot", "--no-view", "--out", "here")[0] == 0
    assert os.listdir("here") == ["..-a-b.nc"]


def test_bundled_scenario_by_name(call):
    status, out, _ = call("simulate", "rigid-two-link", "--until", "0.5")
    assert status == 0
    assert sorted(os.listdir()) == ["rigid-two-link.html", "rigid-two-link.nc", "rigid-two-link.png"]


def test_a_run_that_fails_keeps_the_part_before(call, files):
    """RK4 far beyond its stability."""
    (files / "push.toml").write_text(SCENARIO.replace("until = 0.2", "until = 20"))
    status, out, err = call("simulate", "push.toml", "--method", "rk4", "--step", "0.1")
    assert status == 1
    assert err.startswith("flexarm: diverged by t = ") and err.count("\n") == 1
    assert "fore." in err and "the result up to that time is in push.nc" in err
    result = fa.load_result("push.nc")
    assert 1 <= result.sizes["time"] < 21
    assert result.attrs["status"].startswith("diverged")


# -- derive ------------------------------------------------------------------------------------------------------------


def test_derive_prints(call, files):
    """What the library's own text is, and nothing else; nothing is written."""
    for name in ("arm.toml", "rigid-two-link"):
        status, out, err = call("derive", name)
        assert status == 0 and err == ""
        assert out == equations(fa.load(name)).text() + "\n"
    assert "  M[1,2] = m_2*lc_2*(lc_2 + L_1*cos(q_2)) + I_2\n" in out
    assert sorted(os.listdir(files)) == ["arm.toml", "push.toml"]


def test_derive_writes_every_format(call, files):
    """In one go, into folders that are made; the texts are the library's own."""
    status, out, err = call(
        "derive", "arm.toml", "--latex", "new/two.tex", "--markdown", "two.md", "--python", "two.py",
        "--javascript", "two.js", "--c", "c", "--matlab", "new/m",
    )  # fmt: skip
    assert status == 0 and err == ""
    names = "new/two.tex, two.md, two.py, two.js, c/two.h, c/two.c, c/two_test.c, new/m/two.m"
    assert re.fullmatch(rf"written: {re.escape(names)}; \d+\.\d\d s\n", out)
    found = equations(fa.load("arm.toml"))
    expected = {"new/two.tex": found.latex(), "two.md": found.markdown(), "two.py": found.python()}
    expected |= {"two.js": found.javascript()}
    expected |= {f"c/{name}": text for name, text in found.c().items()} | {"new/m/two.m": found.matlab()}
    assert {name: (files / name).read_text(encoding="utf-8") for name in names.split(", ")} == expected
    written = {str(path.relative_to(files)) for path in files.rglob("*") if path.is_file()}
    assert written == {*expected, "arm.toml", "push.toml"}


@pytest.mark.parametrize("option", ["--latex", "--markdown", "--python", "--javascript", "--c", "--matlab"])
def test_derive_writes_one_format(call, files, option):
    status, out, err = call("derive", "arm.toml", option, "there")
    assert status == 0 and err == ""
    written = sorted(str(path.relative_to(files)) for path in files.rglob("*") if path.is_file())
    names = {"--c": ["there/two.c", "there/two.h", "there/two_test.c"], "--matlab": ["there/two.m"]}
    assert written == sorted(["arm.toml", "push.toml", *names.get(option, ["there"])])
    assert "M[1,1]" not in out


def test_derive_replaces_what_was_there(call, files):
    (files / "two.py").write_text("old")
    assert call("derive", "arm.toml", "--python", "two.py")[0] == 0
    assert "def two(q, qd, p=PARAMETERS):" in (files / "two.py").read_text()


@pytest.mark.parametrize(
    ("settings", "numbers"),
    [
        (["m_1=2.5"], {"m_1": 2.5}),
        (["fore.mass"], {"m_2": 0.4}),
        (["L_*"], {"L_1": 0.5, "L_2": 0.5}),
        (["*.mass=3", "payload.mass=1e-3"], {"m_1": 3.0, "m_2": 3.0, "mP": 1e-3}),
        (["m_2=0"], {"m_2": 0.0}),
    ],
)
def test_derive_with_numbers(call, files, settings, numbers):
    """By symbol, by field, by pattern, with the arm's value or another; they are symbols no more."""
    arguments = [part for setting in settings for part in ("--set", setting)]
    status, out, err = call("derive", "arm.toml", *arguments)
    assert status == 0 and err == ""
    assert out == equations(fa.load("arm.toml"), numbers).text() + "\n"
    assert not any(re.search(rf"\b{name}\b", out) for name in numbers)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("nowhere",), ("unknown arm 'nowhere'; give the path of a .toml, ",)),
        (("nowhere.toml",), ("nowhere.toml",)),
        (
            ("arm.toml", "--set", "m_9"),
            ("unknown parameter 'm_9'; the parameters are ", "m_1 (upper.mass), ", "mP (payload.mass)"),
        ),
        (("arm.toml", "--set", "m_9=1"), ("unknown parameter 'm_9'; the parameters are ",)),
        (("arm.toml", "--set", "m_1=heavy"), ("--set m_1=heavy: 'heavy' is not a number; write NAME or NAME=VALUE",)),
        (("arm.toml", "--set", "m_1="), ("--set m_1=: '' is not a number; write NAME or NAME=VALUE",)),
        (("arm.toml", "--set", "m_1=nan"), ("'m_1' is nan; it must be finite",)),
        (("arm.toml", "--set", "m_1=inf"), ("'m_1' is inf; it must be finite",)),
        (("arm.toml", "--set", "L_2=0"), ("the equations divide by L_2, which is 0",)),
        (
            ("arm.toml", "--set", "L_2=0", "--python", "x.py"),
            ("Python: the equations contain ", "a division by a constant zero"),
        ),
        (("arm.toml", "--set"), ("--set",)),
        (("arm.toml", "--pdf", "x"), ("No such option",)),
        ((), ("Missing argument 'ARM'",)),
        (("spatial-6r",), ("arm 'spatial-6r': M is too large as a closed form: ", "(--yes) goes on")),
        (("spatial-6r", "--latex", "x.tex"), ("arm 'spatial-6r': M is too large as a closed form: ",)),
    ],
)
def test_derive_says_no(call, files, arguments, parts):
    said_no(*call("derive", *arguments), *parts)
    assert sorted(os.listdir(files)) == ["arm.toml", "push.toml"]


def test_derive_of_shapes_that_follow_their_load(call, files):
    """Their integrals are functions of the length; the document says so."""
    status, out, err = call("derive", "theodore-ghosal", "--latex", "t.tex", "--markdown", "t.md")
    assert status == 0 and err == "" and "written: t.tex, t.md; " in out
    assert "functions of the free length $l$, which is $q_{3}$" in (files / "t.md").read_text()
    out = call("derive", "theodore-ghosal", "--part", "U")[1]
    assert (
        "functions of a free length" in out and "  k_3_1_1    slide.curvature.1.1: int phi_1'' phi_1'', of q_3" in out
    )


def test_derive_says_which_integrals_have_no_closed_form(call):
    note = "no closed forms for the modal integrals of middle (clamped-loaded): they are symbols with numeric values\n"
    assert call("derive", "lin-lewis-rfr")[1].endswith("\n" + note)
    assert call("derive", "lin-lewis-rfr", "--latex", "x.tex")[1].startswith(note + "written: x.tex; ")


def test_derive_refuses_an_arm_that_does_not_move(call, files):
    (files / "still.toml").write_text(
        'name = "still"\n[[links]]\nname = "a"\njoint = { type = "fixed" }\n'
        'body = { type = "rigid", length = 1, mass = 1 }\n'
    )
    said_no(*call("derive", "still.toml"), "arm 'still': nothing moves; give it a joint or a link with modes")


def test_derive_goes_on_where_it_is_told_to(call, files, monkeypatch):
    monkeypatch.setattr("flexarm.closed_forms.equations.LARGEST", 10)
    said_no(*call("derive", "arm.toml"), "arm 'two': M is too large as a closed form: ", "more than 10 terms", "--yes")
    status, out, _ = call("derive", "arm.toml", "--yes")
    assert status == 0 and "M[1,1] = " in out


def test_derive_prints_some_parts(call, files):
    """In the order in which they are asked for; also of an arm whose other parts are too large."""
    out = call("derive", "arm.toml", "--part", "U", "--part", "G")[1]
    assert out == equations(fa.load("arm.toml")).text(["U", "G"]) + "\n"
    assert 0 < out.index("stiffness matrix") < out.index("gravity\n") and "inertia matrix" not in out
    assert "\ninput matrix\n  B[1,1] = 1\n" in call("derive", "spatial-6r", "--part", "B")[1]
    said_no(*call("derive", "spatial-6r"), "arm 'spatial-6r': M is too large as a closed form: ", "--part")
    said_no(*call("derive", "arm.toml", "--part", "K"), "unknown part 'K'; known parts are M, D, ")
    assert call("derive", "arm.toml", "--part", "G", "--markdown", "g.md", "--python", "g.py")[0] == 0
    text = (files / "g.md").read_text()
    assert "## Gravity" in text and "## Inertia matrix" not in text and "## Equations of motion" not in text
    assert "    G: np.ndarray" in (files / "g.py").read_text() and " M: " not in (files / "g.py").read_text()


@pytest.mark.parametrize("option", ["--latex", "--markdown", "--python", "--javascript", "--c", "--matlab"])
def test_derive_looks_where_it_writes_before_it_derives(call, files, monkeypatch, option):
    """A file in the place of a folder: the message names the option, and no equations were derived for it."""

    def derived(*_):
        raise AssertionError("derived")

    for form in ("latex", "markdown", "python", "javascript", "c", "matlab"):
        monkeypatch.setattr(f"flexarm.closed_forms.equations.Equations.{form}", derived)
    where = "arm.toml" if option in ("--c", "--matlab") else "arm.toml/x"
    said_no(*call("derive", "arm.toml", option, where), f"{option} {where}: ", " arm.toml is not a folder")
    if option not in ("--c", "--matlab"):
        (files / "folder").mkdir()
        said_no(*call("derive", "arm.toml", option, "folder"), f"{option} folder: cannot be written: it is a folder")
        (files / "folder").rmdir()
    assert (files / "arm.toml").read_text() == ARM
    assert sorted(os.listdir(files)) == ["arm.toml", "push.toml"]


def test_derive_writes_no_two_documents_to_one_place(call, files):
    said_no(*call("derive", "arm.toml", "--latex", "x", "--markdown", "x"), "another option writes to this file too")
    assert sorted(os.listdir(files)) == ["arm.toml", "push.toml"]


def test_derive_leaves_nothing_half_written(call, files, monkeypatch):
    """When a later format cannot be made, nothing has been written of the earlier ones."""

    def fails(*_):
        raise fa.FlexarmError("no C today")

    monkeypatch.setattr("flexarm.closed_forms.equations.Equations.c", fails)
    said_no(*call("derive", "arm.toml", "--latex", "x.tex", "--c", "c"), "no C today")
    assert sorted(os.listdir(files)) == ["arm.toml", "push.toml"]


def refusing(monkeypatch, allowed):
    """No file can be made but in the folder that is allowed."""
    made = os.open

    def open_(path, how, *mode):
        if how & os.O_CREAT and not str(path).startswith(allowed):
            raise PermissionError(13, "Permission denied")
        return made(path, how, *mode)

    monkeypatch.setattr("os.open", open_)


@pytest.mark.parametrize("option", [(), ("--latex", "open/x.tex")])
def test_derive_needs_no_right_to_write_elsewhere(call, files, monkeypatch, option):
    """A folder is looked at only where something will be written there."""
    refusing(monkeypatch, "open/")
    assert call("derive", "arm.toml", *option)[0] == 0


def test_derive_needs_the_right_to_write(call, files, monkeypatch):
    refusing(monkeypatch, "open/")
    said_no(*call("derive", "arm.toml", "--latex", "x.tex"), "--latex x.tex: ", "cannot be written: Permission denied")


# -- how it says no ----------------------------------------------------------------------------------------------------


def changed(old, new, what="arm"):
    def change(text):
        assert old in text
        return text.replace(old, new, 1)

    return what, change


BAD = {
    "negative mass": (changed("mass = 1.0", "mass = -1.0"), "link 'upper': mass is -1.0 kg; it must be positive"),
    "zero mass": (changed("mass = 0.4", "mass = 0"), "link 'fore': mass is 0.0 kg; it must be positive"),
    "negative hub": (
        changed("hub_mass = 0.2", "hub_mass = -1"),
        "link 'upper': hub_mass is -1.0 kg; it must be zero or",
    ),
    "negative length": (changed("length = 0.5", "length = -0.5"), "link 'upper': length is -0.5 m; it must be zero or"),
    "zero length": (
        changed("length = 0.5, mass = 0.4", "length = 0, mass = 0.4"),
        "link 'fore': length is 0.0 m; it must be",
    ),
    "negative EI": (changed("EI = 2.0", "EI = -2.0"), "link 'fore': EI is -2.0 N m^2; it must be positive"),
    "zero EI": (changed("EI = 2.0", "EI = 0"), "link 'fore': EI is 0.0 N m^2; it must be positive"),
    "zero stiffness": (
        changed("stiffness = 80.0", "stiffness = 0"),
        "link 'upper': joint.stiffness is 0.0 N m/rad; it",
    ),
    "negative stiffness": (
        changed("stiffness = 80.0", "stiffness = -1"),
        "link 'upper': joint.stiffness is -1.0 N m/rad",
    ),
    "negative payload": (changed("mass = 0.1", "mass = -0.1"), "payload.mass is -0.1 kg; it must be"),
    "unknown key": (
        changed("hub_mass", "hubmass"),
        "link 'upper': unknown key 'hubmass'; did you mean 'hub_mass'? Allowed keys are name, joint, body",
    ),
    "unknown key of a body": (changed("EI = 2.0", "IE = 2.0"), "link 'fore': unknown key 'IE'; allowed keys are"),
    "unknown key of an arm": (
        changed("gravity", "gravitation"),
        "unknown key 'gravitation'; allowed keys are name, links",
    ),
    "unknown shapes": (changed('shapes = "clamped-free"', 'shapes = "odd"'), "link 'fore': shapes is 'odd'; "),
    "unknown body": (changed('type = "beam"', 'type = "rope"'), "link 'fore': body.type is 'rope'; it must be 'rigid'"),
    "unknown joint": (
        changed('type = "revolute"', 'type = "hinge"'),
        "link 'upper': joint.type is 'hinge'; it must be",
    ),
    "short axis": (
        changed("axis = [0, 1, 0]", "axis = [0, 1]"),
        "link 'upper': joint.axis has 2 entries; it must have",
    ),
    "long gravity": (
        changed("gravity = [0, 0, -9.81]", "gravity = [0, 0, 0, 1]"),
        "gravity has 4 entries; it must have",
    ),
    "NaN": (changed("EI = 2.0", "EI = nan"), "link 'fore': EI is nan N m^2; it must be finite"),
    "infinity": (changed("mass = 1.0", "mass = inf"), "link 'upper': mass is inf kg; it must be finite"),
    "text": (changed("mass = 1.0", 'mass = "1"'), "link 'upper': mass is '1'; it must be a number in kg"),
    "twice": (
        changed('name = "fore"', 'name = "upper"'),
        "link 'upper': name is the same for links 1 and 2; give each link",
    ),
    "truncated": (("arm", lambda text: text[: text.index("EI")]), "not a TOML file"),
    "no text": (("arm", lambda text: b"\xff\xfe" + text.encode("utf-16-le")), "is not UTF-8 text"),
    "zero samples": (changed("samples = 21", "samples = 0", "scenario"), "samples is 0; it must be an integer from 2"),
    "zero time": (changed("until = 0.2", "until = 0", "scenario"), "until is 0.0 s; it must be positive"),
    "actuators": (
        changed("[0.5, 0.1]", "[0.5]", "scenario"),
        "input.amplitude has 1 number; it must have 2: upper.motor",
    ),
    "NaN input": (changed("[0.5, 0.1]", "[0.5, nan]", "scenario"), "input.amplitude[1] is nan N m; it must be finite"),
    "unknown arm": (
        changed("arm.toml", "canada", "scenario"),
        "arm: unknown arm 'canada'; did you mean 'canadarm'? Give",
    ),
    "missing arm": (changed("arm.toml", "legs.toml", "scenario"), "legs.toml: cannot be read: No such file"),
    "truncated scenario": (("scenario", lambda text: text[: text.index("0.1]")]), "not a TOML file"),
}


@pytest.fixture
def spoilt(files, request):
    (what, change), line = BAD[request.param]
    path = files / ("arm.toml" if what == "arm" else "push.toml")
    text = change(path.read_text())
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return what, line


@pytest.mark.parametrize("spoilt", BAD, indirect=True)
def test_bad_input_is_one_line_with_file_link_and_field(spoilt, call):
    what, line = spoilt
    for command in (("show", "arm.toml"), ("modes", "arm.toml"), ("simulate", "push.toml", "--out", "results")):
        if what == "arm" or command[0] == "simulate":
            said_no(*call(*command), command[1] + ": ", line)
    assert sorted(os.listdir()) == ["arm.toml", "push.toml"]


@pytest.mark.parametrize("spoilt", ["negative mass", "truncated", "zero samples", "twice"], indirect=True)
def test_bad_input_in_a_process_of_its_own(spoilt, files):
    what, line = spoilt
    done = run("-m", "flexarm", "simulate", "push.toml", folder=files)
    said_no(done.returncode, done.stdout, done.stderr, line, f"{what if what == 'arm' else 'push'}.toml: ")
    assert sorted(os.listdir(files)) == ["arm.toml", "push.toml"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["dance"], ["No such command 'dance'"]),
        (["--speed"], ["No such option: --speed"]),
        (["benchmark-set", "sow"], ["flexarm: Invalid value for '[ACTION]': 'sow' is not one of 'list', 'show', "]),
        (["show"], ["Missing argument 'ARM'"]),
        (["show", "canada"], ["unknown arm 'canada'; did you mean 'canadarm'? Give "]),
        (["show", "canada.toml"], ["canada.toml: cannot be read: No such file"]),
        (["show", "."], ["."]),
        (
            ["simulate", "canada"],
            [
                "unknown scenario 'canada'; did you mean 'canadarm'? Give the path of a .toml file, or the name of a "
                "bundled scenario: "
            ],
        ),
        (["simulate", "canada.toml"], ["canada.toml: cannot be read"]),
        (
            ["simulate", "arm.toml"],
            ["arm.toml: this is an arm, not a scenario; a scenario names its arm by the key 'arm'"],
        ),
        (["show", "push.toml"], ["push.toml: this is a scenario; its arm is 'arm.toml'"]),
        (
            ["modes", "arm.toml", "--at", "knee=1"],
            ["--at knee=1: unknown coordinate 'knee'; the coordinates are upper.joint"],
        ),
        (["modes", "arm.toml", "--at", "fore.joint=x"], ["--at fore.joint=x: 'x' is not a number; write NAME=VALUE"]),
        (["modes", "arm.toml", "--at", "fore.joint=nan"], ["q contains NaN"]),
        (["simulate", "push.toml", "--until", "0"], ["--until is 0.0 s; it must be positive"]),
        (["simulate", "push.toml", "--until", "x"], ["--until", "valid"]),
        (
            ["simulate", "push.toml", "--figure", "pth"],
            ["--figure is 'pth'; did you mean 'path'? It must be stroboscope or path"],
        ),
        (["simulate", "push.toml", "--figure", "path"], ["--figure path: the figure needs a reference"]),
        (["simulate", "push.toml", "--samples", "0"], ["--samples is 0; it must be an integer from 2"]),
        (["simulate", "push.toml", "--rtol", "0"], ["--rtol is 0.0; it must be positive"]),
        (["simulate", "push.toml", "--method", "leapfrog"], ["--method is 'leapfrog'; it must be one of auto, "]),
        (["simulate", "push.toml", "--method", "rk4"], ["--step is missing; method 'rk4' needs one"]),
        (["simulate", "push.toml", "--step", "0.1"], ["--step is 0.1 s; method 'auto' chooses its own"]),
        (["simulate", "push.toml", "--method", "rk4", "--step", "1"], ["--step is 1.0 s; it must be no longer than"]),
        (["simulate", "push.toml", "--out", "arm.toml"], ["--out arm.toml: ", "is not a folder"]),
        (["simulate", "push.toml", "--out", "arm.toml/results"], ["is not a folder"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and " " not in value[0] else "",
)
def test_what_cannot_be_done_is_one_line(arguments, parts, call, files):
    said_no(*call(*arguments), *parts)
    assert sorted(os.listdir()) == ["arm.toml", "push.toml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_the_right_to_write(call, files):
    (files / "locked").mkdir(mode=0o555)
    said_no(*call("simulate", "push.toml", "--out", "locked"), "--out locked: ", "cannot be written: Permission denied")


def test_an_arm_without_inertia(call, files):
    (files / "arm.toml").write_text(
        'name = "slender"\n[[links]]\nname = "a"\njoint = { axis = [1, 0, 0], type = "revolute" }\n'
        'body = { type = "rigid", length = 1, mass = 1 }\n'
    )
    (files / "push.toml").write_text('name = "x"\narm = "arm.toml"\nuntil = 1\n')
    for command in (("modes", "arm.toml"), ("simulate", "push.toml")):
        said_no(*call(*command), "arm 'slender': no inertia resists the acceleration of a.joint")
    status, _, err = call("show", "arm.toml")
    assert status == 2 and "no inertia resists" in err


# -- Ctrl-C, pipes and terminals ---------------------------------------------------------------------------------------

LONG = """
name = "long"
arm = "arm.toml"
until = 1e5
samples = 1_000_001
initial = { q.fore.joint = 1.0 }
"""


CHILD = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from flexarm.cli import main; main()"
"""The command, with Ctrl-C as in a terminal: a process inherits that it is ignored, in a background job for one."""


def test_ctrl_c_writes_what_there_is(files):
    """In a terminal: a bar appears after a second; once it has moved, Ctrl-C ends the run, whose part is written."""
    (files / "long.toml").write_text(LONG)
    parent, child = pty.openpty()
    command = [sys.executable, "-c", CHILD, "simulate", "long.toml", "--no-plot", "--no-view"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen(command, cwd=files, stdout=child, stderr=child, stdin=child, env=environment)
    os.close(child)
    seen, pressed = "", False
    try:
        while True:
            try:
                seen += os.read(parent, 4096).decode(errors="replace")
            except OSError:  # the terminal's other end is closed
                break
            if not pressed and any(float(t) > 1.0 for t in re.findall(r"([\d.]+) of 100000 s", seen)):
                pressed = True
                process.send_signal(signal.SIGINT)
        assert process.wait() == 130, seen
    finally:
        process.kill()
        os.close(parent)
    assert pressed, "a bar was seen"
    assert "Traceback" not in seen
    assert "long: interrupted" in seen
    assert re.search(r"flexarm: interrupted at t = \S+ s of 100000 s; the result up to that time is in long\.nc", seen)
    result = fa.load_result(files / "long.nc")
    assert result.attrs["status"] == "interrupted"
    assert 2 < result.sizes["time"] < 1_000_001
    assert result.attrs["energy_drift"] < 1e-3
    assert sorted(os.listdir(files)) == ["arm.toml", "long.nc", "long.toml", "push.toml"]


def test_ctrl_c_elsewhere_is_one_line(call, monkeypatch):
    def pressed():
        raise KeyboardInterrupt

    monkeypatch.setattr("flexarm.description.load.bundled", pressed)
    assert call("list") == (130, "", "flexarm: interrupted\n")


def test_a_pipe_that_closes_early_is_no_traceback():
    shown = subprocess.run(
        f"{shlex.quote(sys.executable)} -m flexarm list | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.startswith("arms")
    assert "Traceback" not in shown.stderr


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "flexarm", "show", "rigid-two-link"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("rigid-two-link: Two uniform rigid rods") and shown.stderr == ""


def test_a_word_of_any_length_is_refused_in_a_line_that_can_be_read(call):
    for words in (["x" * 5000], ["show", "rigid-two-link", "--" + "x" * 5000]):
        status, out, err = call(*words)
        assert (status, out) == (2, "")
        assert err.startswith("flexarm: No such ") and " ... " in err and len(err) < 1000
