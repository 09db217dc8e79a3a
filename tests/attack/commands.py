"""Odd arguments to every command, through its entry point, and what a shell sees: one line, and an exit status."""

import contextlib
import io
import sys
from unittest import mock

from flexarm import cli
from flexarm.exports.fmu import build
from flexarm.problems import names as problems

from . import stock, tables, values
from .judge import Found, faults

COMMANDS = ("list", "show", "modes", "derive", "simulate", "compare", "stability", "papers", "export")
COMMANDS += ("benchmark-set",)
ARMS = ("rigid-two-link", "lin-lewis-beam")
SCENARIOS = ("rigid-two-link", "subudhi-morris")
OPTIONS = {
    "list": (),
    "show": ("--converge",),
    "modes": ("--free", "--at", "--plot"),
    "derive": ("--latex", "--markdown", "--python", "--javascript", "--c", "--matlab", "--set", "--part", "--yes"),
    "simulate": ("--out", "--method", "--step", "--rtol", "--until", "--samples", "--plot", "--no-plot"),
    "compare": ("--after",),
    "stability": ("--along", "--vary", "--samples"),
    "papers": ("--out",),
    "export": (
        *(
            "--c",
            "--fmu",
            "--simulink",
            "--modelica",
            "--mjcf",
            "--exudyn",
            "--law",
            "--controller",
            "--law-fmu",
            "--ssp",
        ),
        *("--period", "--float", "--fmi", "--segments", "--vary"),
    ),
    "benchmark-set": ("--json",),
}
USUAL = {
    "--at": "upper.joint=0.1",
    "--set": "*",
    "--part": "M",
    "--out": "results",
    "--method": "rk4",
    "--step": "0.001",
    "--rtol": "1e-6",
    "--until": "0.01",
    "--samples": "11",
    "--after": "0.1",
    "--along": "1",
    "--vary": "payload.mass=0.1:1",
    "--latex": "a.tex",
    "--markdown": "a.md",
    "--python": "a.py",
    "--javascript": "a.js",
    "--c": "c",
    "--matlab": "m",
    "--plot": "a.png",
    "--fmu": "a.fmu",
    "--simulink": "s",
    "--mjcf": "a.xml",
    "--exudyn": "e.py",
    "--modelica": "arm.mo",
    "--law": "law",
    "--controller": "board",
    "--law-fmu": "law.fmu",
    "--ssp": "both.ssp",
    "--period": "0.01",
    "--fmi": "3.0",
    "--segments": "2",
    ("export", "--vary"): "payload.mass",
}
FLAGS = ("--converge", "--free", "--yes", "--no-plot", "--float", "--json")


def case(rng, folder, note):
    command = rng.choice(COMMANDS)
    words = [command, *_subject(rng, command, folder), *_options(rng, command)]
    if command in ("simulate", "compare") and rng.random() < 0.9 and "--until" not in words and command == "simulate":
        words += ["--until", "0.01", "--samples", "5"]
    if command == "simulate" and rng.random() < 0.9:
        words.append("--no-plot")
    if rng.random() < 0.15:
        words[rng.randrange(len(words))] = _odd(rng)
    if rng.random() < 0.1:
        words.insert(rng.randrange(len(words) + 1), _odd(rng))
    if rng.random() < 0.1:
        del words[rng.randrange(len(words))]
    words = [word.replace("\0", "") for word in words]  # a shell has no way to give it
    if words[:1] == ["papers"] and _would_run(words):
        words.append("--nothing")
    note("flexarm " + " ".join(map(ascii, words)))
    with mock.patch.object(build, "COMPILERS", ("nobody",)):  # whom the guard would not let run
        return spoken(*run(words))


def _would_run(words):
    options = [word for word in words if word.startswith("-") and word != "--"]  # which ends them, and is none itself
    return len(words) == 1 or not options or words[1:2] == ["--out"]


def run(words):
    """Exit status, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["flexarm", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main()
    except SystemExit as end:
        return end.code, out.getvalue(), err.getvalue()
    finally:
        sys.argv = before
    raise Found("exit", "no exit status")


def spoken(status, out, err):
    """Whether status and output are what is promised; what it came to."""
    if status not in (0, 1, 2, 130):
        raise Found("exit", f"status\n{status!r}")
    lines = err.splitlines()
    if status == 2 and len(lines) != 1 and not any(line.startswith("flexarm: warning") for line in lines[:-1]):
        raise Found("exit", f"not one line on standard error\n{err[:400]}")
    for line in lines:
        for fault in faults(line):
            raise Found("message", f"{fault} on standard error\n{line[:400]}")
    if "Traceback" in err:
        raise Found("exit", f"a traceback\n{err[:400]}")
    shown = out.replace("\n", "")
    if any(not c.isprintable() and c != "\t" for c in shown):
        bad = next(line for line in out.split("\n") if not line.isprintable())
        raise Found("message", f"control characters on standard output\n{bad[:400]!r}")
    return f"status {status}"


def _subject(rng, command, folder):
    if command == "list":
        return []
    if command == "papers":
        return [rng.choice(("x", "lin-lewis ", "", "../x", values.text(rng)))]
    if command == "benchmark-set":
        return _problem(rng, folder)
    arm = command in ("show", "modes", "derive") or (command == "export" and rng.random() < 0.7)
    draw = rng.random()
    if draw < 0.35:
        names = [rng.choice(ARMS if arm else SCENARIOS)]
    elif draw < 0.55:
        names = [_odd(rng)]
    else:  # a file, slightly wrong or with odd names
        everything = stock.arms()[3:6] + stock.arms()[-4:] if arm else stock.scenarios()[-8:]
        table = rng.choice(everything)
        if rng.random() < 0.7:
            table, _ = tables.mutated(rng, table, everything)
        else:
            table = table | {rng.choice(("name", "description")): values.text(rng)}
        file = folder / "given.toml"
        file.write_text(values.toml(table), encoding="utf-8")
        names = [str(file.name)]
    if command == "compare" and rng.random() < 0.3:
        names.append(rng.choice(SCENARIOS))
    return names


def _options(rng, command):
    words = []
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        if not OPTIONS[command]:
            break
        option = rng.choice(OPTIONS[command])
        words.append(option)
        if option in FLAGS or (option == "--plot" and command == "simulate"):
            continue
        words.append(USUAL.get((command, option)) or USUAL[option] if rng.random() < 0.5 else _odd(rng))
    return words


def _problem(rng, folder):
    """An action of the public set's, with what it takes or something else."""
    name = rng.choice(problems()) if rng.random() < 0.7 else _odd(rng)
    action = rng.choice(("list", "show", "export", "score", "score", _odd(rng)))
    if action == "score":
        (folder / "given.csv").write_text(f"time [s],{values.text(rng)} [m]\n0,{_odd(rng)}\n", encoding="utf-8")
    words = {"show": [name], "score": [name, "given.csv"], "export": ["set"]}.get(action, [])
    return [action, *(words if rng.random() < 0.8 else [_odd(rng) for _ in range(rng.choice((0, 1, 2, 3)))])]


def _odd(rng):
    draw = rng.random()
    if draw < 0.5:
        return values.text(rng)
    if draw < 0.8:
        x = values.number(rng)
        return str(x) if not isinstance(x, int) or abs(x) < 10**4000 else "1" + "0" * 5000
    return rng.choice(
        ("--help", "-h", "--", "-", "--version", "--nothing", "=", "a=b", "upper.joint=nan", "upper.joint=1e400", "=1")
        + (
            "*=1",
            "[=1",
            "upper.joint",
            "L_1=0",
            "L_1=nan",
            "m_1=1e300",
            "M",
            "everything",
            "/dev/null",
            "/dev/full",
            ".",
        )
        + (
            "/proc/self/mem",
            "a/b/c",
            "x" * 300,
            "results/" + "y" * 300,
            "/",
            "/root",
            "~",
            "file\nname",
            "\x1b[31m",
            "a.toml",
        )
    )
