"""Models as C libraries: a header, a source, a test program and a CMake file."""

import re
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from string import Template
from textwrap import indent
from typing import Any

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import refused, shown
from flexarm.closed_forms.exports import identifier
from flexarm.closed_forms.formats.c import comparison_program, listed
from flexarm.errors import DescriptionError
from flexarm.exports.programs import Exported, checked_sensors, library, sizes, state
from flexarm.exports.source import Real, Written, c_sources, check_real, in_reals, signature
from flexarm.files import check_writable, checked_path, write_whole
from flexarm.model import Model, ModelLike, Sensor, as_model, closures
from flexarm.simulation.butcher import RK4, RK4_ERROR

CLOSE = {"double": 1e-12, "float": 1e-3}
"""Tolerance of a result against the native model, relative to its largest number.

Floats lose accuracy by the condition of the mass matrix: 2e-5 is usual, and 1.1e-4 occurs for a light beam with a heavy
payload.
"""

CLOSE_IN_LOOPS = 1e-7
"""The same for arms with closures, whose conditions may depend on each other, so that rounding is amplified."""

STEP = 1e-4
"""Length of the tested RK4 step [s]."""

STEP_CODE = Template("""$signature
{
    $real x[$nx];
    $real k[$nx];
    $real sum[$nx];
    static const $real ahead[$stages] = {$ahead};
    static const $real weights[$stages] = {$weights};
    for (int i = 0; i < $nx; i++) {
        x[i] = x_now[i];
        sum[i] = 0.0;
    }
    for (int stage = 0; stage < $stages; stage++) {
        $rate
        for (int i = 0; i < $nx; i++) {
            sum[i] += h * weights[stage] * k[i];
            x[i] = x_now[i] + h * ahead[stage] * k[i];
        }
    }
    for (int i = 0; i < $nx; i++) {
        x_next[i] = x_now[i] + sum[i];
    }
$shut$estimate}""")

ESTIMATE = Template("""    for (int i = 0; i < $nx; i++) {
        x[i] = x_next[i];
        error[i] = h * $last * k[i];
    }
    $rate
    for (int i = 0; i < $nx; i++) {
        error[i] += h * $end * k[i];
    }
""")
"""Comparison of the rates k4 of the last stage with those at the end of the step: the difference from a third-order
result."""

STEP_NOTES = Template("""// A step of the classical Runge-Kutta method over h [s], with u held. A state x is q, qd, s,
// the work of the inputs and the energy dissipated [J]. x_next may be x_now. Nothing checks its error:
// choose h for the fastest part of the motion, of friction and stops too, and watch ${name}_rk4_error.""")

ERROR_NOTES = Template("""// The step of ${name}_rk4_step, with an estimate of its error for one evaluation more:
// h (k4 - k5) / 6, where k5 are the rates at the end. It belongs to a step of third order, so that it is
// on the safe side.""")

CLOSE_CODE = Template("""$signature
{
    double found[$known + 1];
    for (int pass = 0; pass < $passes; pass++) {
        $correction
        for (int i = 0; i < $known; i++) {
            x[i] = found[i];
        }
        if (found[$known] < $small) {
            return;
        }
    }
}""")

CLOSE_NOTES = """// Moves a state x onto the closures, by the shortest way in the metric of the mass matrix. Steps do it
// before they evaluate rates, and at their ends. A start must fit them, apart from rounding."""

CMAKE = Template("""cmake_minimum_required(VERSION 3.10)
project($name C)

set(CMAKE_C_STANDARD 99)
set(CMAKE_C_STANDARD_REQUIRED ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(${name}_c STATIC $sources)
set_target_properties(${name}_c PROPERTIES OUTPUT_NAME $name)
target_include_directories(${name}_c PUBLIC "$${CMAKE_CURRENT_SOURCE_DIR}")
if(UNIX)
  target_link_libraries(${name}_c PUBLIC m)
endif()

enable_testing()
add_executable(${name}_test ${name}_test.c)
target_link_libraries(${name}_test ${name}_c)
add_test(NAME $name COMMAND ${name}_test)
""")


PROJECTS = {
    "CMakeLists.txt": re.compile(r"^\s*project\s*\(\s*([^\s)]+)", re.M | re.I),
    "package.xml": re.compile(r"<name>\s*([^<\s]+)"),
}
"""Files that have the name of a project, and a pattern that finds it."""


def export_c(
    model: ModelLike, path: str | PathLike[str], real: Real = "double", sensors: Sequence[Sensor] = ()
) -> list[Path]:
    """Write a model as a C library into a folder and return its files.

    NAME.h and NAME.c are C99 and need only the mathematics of the standard library. NAME_test.c compares them with
    numbers of the native model. CMakeLists.txt builds both. NAME is the name of the arm as an identifier.

    Parameters
    ----------
    model : Model, Arm, str or path
        Model to export. Its varied parameters are the array p of every function, with this model's values in
        `NAME_p_nominal`.
    path : path
        Folder of the files, which is created if it does not exist.
    real : "double" or "float"
        Type of all numbers in the library.
    sensors : list of sensors, optional
        Sensors of NAME_outputs, without sampling, noise and resolution.

    Raises
    ------
    DescriptionError
        If a sensor does not fit the arm, if an arm with closures is to be written in float, if its equations are not
        finite near rest, if the folder cannot be written, or if the folder has the CMakeLists.txt of another project.
    FlexarmError
        If an operation cannot be written in C, or a number is too large for float.
    """
    return write_project("export_c", Path(checked_path(path)), c_library(model, real, sensors))


def write_project(where: str, folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write texts by file name into a folder, which is created if it does not exist. One of them is CMakeLists.txt.

    Raises `DescriptionError` if the folder, or a folder in it, has the CMakeLists.txt or package.xml of another
    project, or if a file cannot be written. No file is written then.
    """
    for name, text in texts.items():
        there, project = folder / name, PROJECTS.get(Path(name).name)
        if project is None or not there.is_file():
            continue
        old = project.findall(there.read_text(encoding="utf-8", errors="replace"))
        if old != project.findall(text):
            whose = shown(old[0]) if old else "something else"
            raise DescriptionError(f"{where}: {there} belongs to {whose}; give another folder")
    for name in texts:
        check_writable(folder / name)
    return [write_whole(folder / name, text.encode()) for name, text in texts.items()]


def c_library(model: ModelLike, real: Real = "double", sensors: Sequence[Sensor] = ()) -> dict[str, str]:
    """Return the texts of `export_c` by file name."""
    with refused("export_c"):
        model = as_model(model)
    check_real("export_c", real)
    sensors = checked_sensors("export_c", sensors)
    name = identifier(model.arm)
    found = library(model, sensors)
    title = f"{model.arm.name}: its mechanics"
    programs, steps = [each.program for each in found], [rk4(model, name, real), rk4(model, name, real, error=True)]
    if model.arm.closures:
        if real == "float":
            raise DescriptionError("export_c: an arm with closures needs double; leave out real='float'")
        steps.insert(0, close(model, name))
    sources = c_sources(name, programs, real, title, sizes(model, sensors), steps)
    return {
        **sources,
        f"{name}_test.c": _test(model, name, found, real),
        "CMakeLists.txt": CMAKE.substitute(name=name, sources=f"{name}.c"),
    }


def close(model: Model, name: str) -> Written:
    """Return the function that moves a state onto the closures, which calls their correction."""
    p = [f"const double p[{len(model.p)}]"] if len(model.p) else []
    head = signature(f"{name}_close", [f"double x[{sizes(model)['nx']}]", *p])
    given = ["x", f"&x[{model.nq}]", *(["p"] if p else []), "found"]
    numbers = {"known": model.nq + model.nv, "passes": closures.CORRECTIONS, "small": repr(closures.MET**2)}
    code = CLOSE_CODE.substitute(signature=head, correction=f"{name}_correction({', '.join(given)});", **numbers)
    return Written(f"{CLOSE_NOTES}\n{head};", code)


def rk4(model: Model, name: str, real: Real, error: bool = False) -> Written:
    """Return a classical Runge-Kutta step of the complete state with constant inputs, optionally with an error
    estimate."""
    counts = sizes(model)
    held = [f"const {real} {a}[{counts[f'n{a}']}]" for a in ("u", "w") if counts[f"n{a}"]]
    p = [f"const {real} p[{len(model.p)}]"] if len(model.p) else []
    nx = counts["nx"]
    head = signature(
        f"{name}_rk4_{'error' if error else 'step'}",
        [f"const {real} x_now[{nx}]", *held, *p, f"{real} h", f"{real} x_next[{nx}]", *[f"{real} error[{nx}]"] * error],
    )
    ends = np.cumsum([0, counts["nq"], counts["nv"]])
    parts = [f"&x[{at}]" if at else "x" for at in ends[: 2 + bool(counts["ns"])]]
    given = [*parts, *(a for a in ("u", "w") if counts[f"n{a}"]), *(["p"] if p else []), "k"]
    rate = f"{name}_state_rate({', '.join(given)});"
    shut = ""
    if model.arm.closures:
        one, end = (f"{name}_close({', '.join([x, *(['p'] if p else [])])});" for x in ("x", "x_next"))
        rate, shut = f"{one} {rate}", f"    {end}\n"
    last, end = map(repr, RK4_ERROR.values())
    estimate = ESTIMATE.substitute(nx=nx, rate=rate, last=last, end=f"({end})") if error else ""
    ahead, weights = (", ".join(map(repr, each.tolist())) for each in RK4.in_sequence)
    numbers = {"stages": RK4.stages, "ahead": ahead, "weights": weights}
    code = STEP_CODE.substitute(signature=head, real=real, nx=nx, rate=rate, shut=shut, estimate=estimate, **numbers)
    notes = (ERROR_NOTES if error else STEP_NOTES).substitute(name=name)
    return Written(f"{notes}\n{head};", in_reals(code, real))


def rk4_native(model: Model, x: Array, given: Mapping[str, Array], h: float) -> tuple[Array, Array]:
    """Return the step and its error estimate, computed by the native model."""
    cuts = np.cumsum([model.nq, model.nv, len(model.states)])

    def closed(x: Array) -> Array:
        q, qd, *more = np.split(x, cuts)
        return np.concatenate([*closures.closed(model, q, qd), *more])

    def rate(_t: float, x: Array) -> Array:
        q, qd, s, _ = np.split(closed(x), cuts)
        more = {a: value for a, value in (("s", s), ("w", given["w"])) if a in model.arguments("state_rate")}
        return model.evaluate("state_rate", q, qd, given["u"], **more)

    end, rates = RK4.step(rate, 0.0, x, h)
    end = closed(end)
    return end, h * sum(weight * [*rates, rate(h, end)][i] for i, weight in RK4_ERROR.items())


def _test(model: Model, name: str, found: Iterable[Exported], real: Real) -> str:
    """Return the test program, which compares the library at two states."""
    rng = np.random.default_rng(1)
    checks = [text for _ in range(2) for text in _checks(model, name, found, real, rounded(state(model, rng), real))]
    tolerance = CLOSE_IN_LOOPS if model.arm.closures else CLOSE[real]
    return comparison_program(name, "numbers of flexarm's native model", checks, real, tolerance)


def rounded(state: Mapping[str, Array], real: Real) -> dict[str, Array]:
    """Return the numbers as the C library receives them."""
    kind = np.float32 if real == "float" else np.float64
    return {a: value.astype(kind).astype(float) for a, value in state.items()}


def _checks(model: Model, name: str, found: Iterable[Exported], real: Real, at: dict[str, Array]) -> list[str]:
    lines = []
    for each in found:
        program = each.program
        given = [array(real, a, at[a]) for a in program.inputs]
        calls = [*program.inputs, *([f"{name}_p_nominal"] if program.parameters else [])]
        lines += _check(f"{name}_{program.name}", real, given, calls, each.native(at))
    x = np.concatenate([at["q"], at["qd"], at["s"], np.zeros(2)])
    held = [a for a in ("u", "w") if len(at[a])]
    given = [array(real, "x_now", x), *(array(real, a, at[a]) for a in held)]
    calls = ["x_now", *held, *([f"{name}_p_nominal"] if len(model.p) else []), in_reals(repr(STEP), real)]
    end, _ = rk4_native(model, x, at, STEP)
    return lines + _check(f"{name}_rk4_step", real, given, calls, {"x_next": end})


def _check(function: str, real: Real, given: list[str], arguments: list[str], expected: Mapping[str, Any]) -> list[str]:
    """Return a call in a block of its own, with its results compared to the expected ones."""
    made = [f"{real} {y}[{np.size(value)}];" for y, value in expected.items()]
    right = [
        f"static const double {y}_expected[{np.size(value)}] = {listed(np.ravel(value))};"
        for y, value in expected.items()
    ]
    tests = [
        f'failed |= differs("{function} {y}", {y}, {y}_expected, {np.size(value)});' for y, value in expected.items()
    ]
    call = f"{function}({', '.join([*arguments, *expected])});"
    return ["{", indent("\n".join([*given, *made, *right, call, *tests]), "    "), "}"]


def array(real: Real, name: str, values: Array) -> str:
    """Return constant numbers in C."""
    return f"static const {real} {name}[{len(values)}] = {in_reals(listed(values), real)};"
