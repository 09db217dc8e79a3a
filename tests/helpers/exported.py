"""Source code of equations, run: Python, MATLAB by a stand-in, C by a compiler."""

import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
from matlab_in_python import Matrix, translated

import flexarm as fa

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
GCC, OCTAVE = shutil.which("gcc"), shutil.which("octave-cli")
LETTERS = {"damping": "C", "bias": "h", "stiffness_force": "f", "energy": "E", "tip": "T", "jacobian": "J"}
LETTERS |= {"kinematics": "N", "closure_jacobian": "A", "closure_bias": "b", "closure_gaps": "g"}
COLUMNS = ("G", "bias", "stiffness_force", "energy", "closure_bias", "closure_gaps")


def telescope():
    """The bundled one without its base, with one mode: a sixth of the code."""
    arm = fa.load("theodore-ghosal")
    shoulder, slide = arm.links[1:]
    return arm.replace(links=(shoulder, slide.replace(body=slide.body.replace(modes={"y": 1}))))


def with_currents():
    """Two links of the bundled arm whose motors have currents."""
    arm = fa.load("industrial-arm")
    return arm.replace(links=arm.links[1:3])


def in_python(found, parts):
    """(state, changed parameters) -> the numbers of the Python module by part."""
    names = {}
    exec(compile(found.python(parts), "text", "exec"), names)

    def numbers(q, qd, **changed):
        more = [{**names["PARAMETERS"], **changed}] if changed else []
        made = names[found.identifier](q.tolist(), qd.tolist(), *more)
        return {part: getattr(made, LETTERS.get(part, part)) for part in parts}

    return numbers


def in_matlab(found, parts):
    """The same of the MATLAB function, by a stand-in for MATLAB."""
    names = {"sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, "power": np.power, "SimpleNamespace": SimpleNamespace}
    names["zeros"] = lambda *shape: Matrix(np.zeros(shape))
    exec(translated(found.matlab(parts)), names)

    def numbers(q, qd, **changed):
        more = [SimpleNamespace(**{**vars(names["parameters"]()), **changed})] if changed else []
        made = names[found.identifier](Matrix(q), Matrix(qd), *more)
        made = made if isinstance(made, tuple) else (made,)
        arrays = dict(zip(parts, (np.asarray(getattr(x, "values", x)) for x in made), strict=True))
        return {part: x[:, 0] if part in COLUMNS else x for part, x in arrays.items()}

    return numbers


def run(texts, folder, standard="-std=c99"):
    """Builds the sources, warnings being errors, and runs the test among them."""
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
    code = [file for file in texts if file.endswith(".c")]
    build = subprocess.run(
        [GCC, standard, *STRICT, *code, "-o", "program", "-lm"], cwd=folder, capture_output=True, text=True
    )
    assert (build.returncode, build.stderr) == (0, "")
    return subprocess.run([folder / "program"], capture_output=True, text=True)
