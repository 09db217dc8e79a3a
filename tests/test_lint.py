"""Nothing in the package evaluates a text, makes objects of bytes, loads a library or starts a program a file names.

Ruff's rules hold that (`pyproject.toml`); here they find planted sins, and what they cannot see is looked for.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ruff")
ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))

SINS = """
eval(text)
exec(text)
import builtins; builtins.eval(text)
import builtins; builtins.compile(text, "f", "exec")
import builtins; builtins.__import__(text)
import importlib; importlib.import_module(text)
from importlib import import_module
import importlib; importlib.__import__(text)
import pkgutil; pkgutil.resolve_name(text)
import runpy; runpy.run_path(text)
import code
import codeop
import pickle; pickle.load(file)
import pickle
from pickle import loads
import marshal
import shelve
import dill
import cloudpickle
import joblib
import yaml
import numpy; numpy.load(path)
import numpy as np; np.load(path, allow_pickle=True)
from numpy.lib import format
import pandas; pandas.read_pickle(path)
import pandas; pandas.eval(text)
import ctypes
from ctypes import CDLL
import ctypes; ctypes.cdll.LoadLibrary(path)
import cffi
import casadi as ca; ca.external("f", path)
import casadi as ca; ca.Importer(path, "clang")
import casadi as ca; ca.Function.load(path)
import casadi as ca; ca.Function.deserialize(text)
import llvmlite.binding as llvm; llvm.load_library_permanently(path)
import sympy; sympy.sympify(text)
from sympy import parse_expr
import sympy; sympy.lambdify(x, text)
import subprocess
import subprocess; subprocess.run(text, shell=True)
import os; os.system(text)
import os; os.popen(text)
import os; os.execv(text, [])
import os; os.spawnl(0, text)
import pty
import tempfile; tempfile.mktemp()
""".strip().splitlines()

ALLOWED = {
    "__init__.py": ["TID251"],  # names of the package's own
    "arrays.py": ["TID251"],  # ctypes gives the address of an array
    "cached.py": ["TID251"],  # the property whose lock is released there
    "child_process.py": ["TID251"],  # Python itself, with programs of the package
    "control/predictive_loop.py": ["TID251"],  # ctypes calls what was compiled here, and finds the system's clock
    "control/predictive_recursions.py": ["TID251"],  # ctypes calls what was compiled here
    "control/estimated.py": ["TID251"],  # ctypes calls what was compiled here
    "control/predictive_ahead.py": ["TID251"],  # ctypes calls what was compiled here
    "description/arm.py": ["TID251"],  # pickled for a digest, never read
    "description/finite_file.py": ["TID251"],  # arrays from NPZ files, without objects
    "exports/fmu/build.py": ["TID251"],  # a C compiler of a fixed name, with sources of the package's own
    "hardware/realtime.py": ["TID251"],  # a C compiler, and the program that it makes of the package's own code
    "hardware/serve.py": ["TID251"] * 2,  # ctypes calls what was compiled for the run
    "hardware/transports.py": ["TID251", "S108", "TID251"],  # ctypes calls what was compiled here; shared memory
    "hardware/watch.py": ["TID251"],  # Python itself, with a program of the package
    "jax/foreign.py": ["TID251"],  # ctypes hands JAX the address of what was compiled here
    "native/calls.py": ["TID251"],  # ctypes calls what was compiled here
    "native/ptxas.py": ["TID251"],  # starts NVIDIA's assembler, found among the files that pip has put there
    "optimal/kept.py": ["TID251"],  # arrays from what the cache has signed, without objects
    "flexarm_papers/verdicts.py": ["TID251"],
    "pictures/animate.py": ["TID251"],  # the name of what matplotlib's writer raises when ffmpeg fails
    "scenario/controllers.py": ["TID251"],
    "shapes/closed.py": ["TID251"] * 4,  # SymPy reads texts that stand in the source
    "simulation/adjoint.py": ["TID251"],  # ctypes calls what was compiled here
    "simulation/advance.py": ["TID251"],  # ctypes calls what was compiled here
    "simulation/explicit.py": ["TID251"],  # ctypes calls what was compiled here
    "simulation/forward.py": ["TID251"],  # ctypes calls what was compiled here
    "simulation/race.py": ["TID251"],  # ctypes calls what was compiled here
    "simulation/inputs.py": ["TID251"],
    "simulation/sampled_calls.py": ["TID251"],
    "simulation/stepper.py": ["TID251"],
    "simulation/implicit.py": ["TID251"],
    "simulation/lanes_sampled.py": ["TID251"],
    "simulation/lanes_plan.py": ["TID251"],
    "simulation/rhs.py": ["TID251"],
    "identification/motion.py": ["TID251"],
    "optimal/variations.py": ["TID251"],
    "estimation/running.py": ["TID251"],
}
"""Exceptions from the rules. Whoever adds one shows that no file and no user can say what is run."""


def findings(text, name="src/flexarm/planted.py"):
    """Rules of security that a module of the package would break."""
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise"]
    done = subprocess.run(
        [*command, "--stdin-filename", str(ROOT / name), "-"], input=text, capture_output=True, text=True, cwd=ROOT
    )
    return re.findall(r": (S\d+|TID251) ", done.stdout)


def unseen(text):
    """What ruff has no rule for: builtins that run a text, and names in the module's dictionary that are called."""
    calls = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    named = {"__import__", "compile", "eval", "exec", "breakpoint", "globals", "input"}
    return [call.id for call in calls if isinstance(call, ast.Name) and call.id in named]


@pytest.mark.parametrize("sin", SINS)
def test_a_planted_sin_is_found(sin):
    assert findings(f"{sin}\n")


@pytest.mark.parametrize("sin", ["__import__(text)", "compile(text, 'f', 'exec')", "globals()[text]()", "input()"])
def test_what_ruff_does_not_see_is_found(sin):
    assert unseen(sin)


def test_no_module_runs_what_a_text_says():
    """By ruff's rules as they stand, with the exceptions that are listed here and no others."""
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise", "src"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert re.findall(r".*: (?:S\d+|TID251) .*", done.stdout) == [] and done.stderr == ""
    assert len(SOURCES) > 100
    excepted = {}
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert unseen(text) == [], path
        assert not re.search(r"#\s*(flake8|ruff):\s*noqa|#\s*noqa(?!:)", text), f"{path}: exceptions name their rule"
        if found := [
            code for line in re.findall(r"#\s*noqa:([^(\n]*)", text) for code in re.findall(r"S\d+|TID251", line)
        ]:
            excepted[path.relative_to(ROOT / "src").as_posix().removeprefix("flexarm/")] = found
    assert excepted == ALLOWED
