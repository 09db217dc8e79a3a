"""What a start loads: the libraries that take long are imported by what needs them, and by nothing else."""

import json
import os
import subprocess
import sys

import pytest

import flexarm

LONG = {
    "PIL", "casadi", "control", "h5netcdf", "h5py", "llvmlite", "matplotlib", "pandas", "rich",
    "scipy", "sympy", "typer", "xarray",
}  # fmt: skip
TRACING, COMPILING, RESULT, FIGURE = {"casadi"}, {"llvmlite"}, {"xarray", "pandas"}, {"matplotlib", "PIL"}
FILE, SPEAKING = {"h5netcdf", "h5py"}, {"typer", "rich"}


def loaded(program, folder):
    """Which of the long ones a program in a process of its own has imported.

    Without Dask, which the tests of clusters need: xarray imports it wherever it is installed, and all that it has.
    """
    code = f"import sys; sys.modules['dask'] = None\n{program}"
    code += "\nimport json; print(json.dumps([name.partition('.')[0] for name in sys.modules]))"
    environment = os.environ | {"FLEXARM_CACHE": str(folder / "cache")}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return LONG & set(json.loads(done.stdout.splitlines()[-1]))


def command(*words):
    return f"""
from flexarm.cli import main
sys.argv = ['flexarm', *{words!r}]
try:
    main()
except SystemExit as end:
    assert end.code == 0
"""


def test_the_package_itself(tmp_path):
    assert loaded("import flexarm", tmp_path) == set()


def test_an_arm_and_its_first_accelerations(tmp_path):
    program = (
        "import flexarm as fa; model = fa.Model(fa.load('canadarm')); model.forward_dynamics([0] * 9, [0] * 9, [0] * 3)"
    )
    assert loaded(program, tmp_path) == TRACING | COMPILING
    assert loaded(program, tmp_path) == COMPILING, "the machine code is kept"


@pytest.mark.parametrize("method", ["dop853", "gauss4", "rk4"])
def test_a_run(tmp_path, method):
    step = 1e-3 if method == "rk4" else None
    program = f"""
import flexarm as fa
fa.simulate(fa.Model(fa.load('rigid-two-link')), 0.01, solver=fa.Solver(method={method!r}, step={step}), progress=False)
"""
    assert loaded(program, tmp_path) - TRACING == COMPILING | RESULT


def test_the_command_that_simulates(tmp_path):
    words = ("simulate", "canadarm", "--until", "0.05", "--samples", "3")
    most = TRACING | COMPILING | RESULT | FILE | SPEAKING
    assert loaded(command(*words), tmp_path) == most | FIGURE
    assert loaded(command(*words, "--no-plot"), tmp_path) == most


def test_the_command_does_not_search_for_garbage_and_leaves_it_when_it_ends(tmp_path):
    """Python searches 440 times, all that has been imported among it, and at the end once more."""
    program = """
import atexit, gc
searches = []
atexit.register(lambda: print(len(searches), gc.get_freeze_count() > 10_000, sep=chr(10)))
gc.callbacks.append(lambda phase, info: searches.append(phase))
import flexarm.cli
searches.clear()
"""
    words = ("simulate", "canadarm", "--until", "0.05", "--samples", "3")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{program}\n{command(*words)}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-2:] == ["0", "True"], done.stderr


def test_the_commands_that_compute_nothing(tmp_path):
    assert loaded(command("--help"), tmp_path) == {"typer"}
    assert loaded(command("list"), tmp_path) <= SPEAKING | {"scipy"}


def test_names_are_found_when_they_are_asked_for(tmp_path):
    """Each in a package that has just been imported; what has not been asked for is not loaded."""
    program = """
import flexarm
assert not {'flexarm.simulation', 'flexarm.scenario', 'flexarm.sensors', 'flexarm.trajectory'} & {*sys.modules}
assert dir(flexarm) == sorted(flexarm.__all__)
for name in (%r,) if %r else flexarm.__all__:
    assert getattr(flexarm, name) is not None
"""
    for name in ("Encoder", "inputs", "simulation", "Scenario", "Stepper", "Quintic", "performance", "load_result"):
        assert loaded(program % (name, name), tmp_path) <= {"llvmlite"}
    loaded(program % ("", ""), tmp_path)
    with pytest.raises(AttributeError, match="module 'flexarm' has no attribute 'simulat'"):
        flexarm.simulat  # noqa: B018
