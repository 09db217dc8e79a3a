"""Models as Modelica text: named variables, and functions whose statements are those of the traced programs."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from os import PathLike
from pathlib import Path
from string import Template
from textwrap import indent, wrap
from typing import Any

import casadi as ca
import numpy as np

from flexarm import escape
from flexarm.arrays import Array
from flexarm.checks import Fault, refused, shown
from flexarm.closed_forms.formats.program import Program
from flexarm.closed_forms.formats.statements import assignments, free, source
from flexarm.closed_forms.formats.terms import FUNCTIONS, OPERATORS, Language
from flexarm.exports.fmu.arm import start, system, usual_sensors
from flexarm.exports.fmu.system import Signal
from flexarm.exports.fmu.units import DISPLAYED, powers
from flexarm.files import checked_path, write_whole
from flexarm.model import Model, ModelLike, Sensor, as_model
from flexarm.model.closures import APART

NAMED = re.compile(r"[A-Za-z]\w*\.mo", re.ASCII)

KEYWORDS = """algorithm and annotation as assert block break class connect connector constant constrainedby der
discrete each else elseif elsewhen encapsulated end enumeration equation expandable extends external false final flow
for function if import impure in initial inner input loop model not operator or outer output package parameter partial
protected public pure record redeclare replaceable return stream then true type when while within"""

BUILT_IN = """Boolean Clock Connections ExternalObject Integer Real StateSelect String abs acos activeState actualStream
array asin assert atan atan2 backSample cardinality cat ceil change cos cosh cross delay diagonal div edge exp fill
firstTick floor getInstanceName hold homotopy identity inStream initial initialState integer interval linspace log log10
matrix max min mod ndims noClock noEvent ones outerProduct pre previous product promote reinit rem rooted sample scalar
semiLinear shiftSample sign sin sinh size skew smooth spatialDistribution sqrt sum superSample symmetric tan tanh
terminal terminate ticksInState time timeInState transition transpose vector zeros"""

OWN = "Input Output apart beyond gaps rates signals driven dx y z"
"""Names in the model other than those of its variables."""

MODELICA = Language(
    name="Modelica",
    reserved=frozenset(" ".join((KEYWORDS, BUILT_IN, OWN)).split()),
    templates=OPERATORS
    | FUNCTIONS
    | {
        ca.OP_NE: "{0} <> {1}",
        ca.OP_POW: "({0})^({1})",
        ca.OP_CONSTPOW: "({0})^({1})",
        ca.OP_FABS: "abs({0})",
        ca.OP_SIGN: "sign({0})",
        ca.OP_FMIN: "min({0}, {1})",
        ca.OP_FMAX: "max({0}, {1})",
        ca.OP_NOT: "not {0}",
        ca.OP_AND: "{0} and {1}",
        ca.OP_OR: "{0} or {1}",
        ca.OP_IF_ELSE_ZERO: "(if {0} then {1} else 0.0)",
    },
    number="(if {0} then 1.0 else 0.0)",
    truth="{0} > 0.5",
    input=lambda array, i: f"{array}[{i + 1}]",
    output=lambda array, index, shape: f"{array}[{index[0] + 1 if index else 1}]",
    others={"nan": "beyond(x[1])"},
)

SPELLED = {"ohm": "Ohm"}
"""Units with another spelling in Modelica."""

TEXT = Template("""model $name "$title"
  // Written by flexarm. It needs nothing of it, and no library.
  connector Input = input Real;
  connector Output = output Real;

$variables
protected
$functions

$arrays
equation
$equations
  annotation(experiment(StopTime = 1.0, Tolerance = 1e-8));
end $name;
""")

FUNCTION = Template("""
function $name "$title"
$inputs
  output Real $result[$size];
$temporaries
algorithm
$body
end $name;""")

BEYOND = """
function beyond "What is no number"
  input Real x;
  output Real y;
algorithm
  assert(false, "the arm is beyond its range, where its rates are no numbers");
  y := x;
end beyond;"""


def export_modelica(
    model: ModelLike,
    path: str | PathLike[str],
    sensors: Sequence[Sensor] | None = None,
    q0: Any = None,
    qd0: Any = None,
    s0: Any = None,
) -> Path:
    """Write a model as a text of Modelica that needs no library, and return its path.

    The class has the name of the file. Its variables are those of an FMU, with an underscore in place of each character
    that is neither a letter nor a digit:

    - states `q_NAME`, `qd_NAME` and `s_NAME` with units and start values
    - inputs `u_NAME` and exogenous inputs `w_NAME`
    - parameters `p_NAME`, which are those that the model varies, with its values
    - the sensors' signals by their names

    The equations are functions inside the class, whose statements are those of the traced program. With closures, they
    are those of the nearest state that satisfies them, because the solver leaves them by its tolerance. The simulation
    stops if a gap exceeds 1 mm.

    Parameters
    ----------
    model : Model, Arm, str or path
        Model to export.
    path : str or path
        File to write, `.mo`. An existing file is replaced.
    sensors : list of Sensor, optional
        Measured signals, without noise and sampling. Default: as in `export_fmu`.
    q0, qd0, s0 : (nq,), (n,), (states,), optional
        Initial state. Default: the arm at rest.

    Raises
    ------
    DescriptionError
        If an argument does not fit the model, if two sensors have the same name, if the file's name is not valid for a
        class, or if the file cannot be written.
    FlexarmError
        If an operation cannot be written in Modelica.
    """
    with refused("export_modelica"):
        model = as_model(model)
    file = checked_file(path)
    return write_whole(file, modelica(model, file.stem, sensors, q0, qd0, s0).encode())


def checked_file(path: str | PathLike[str]) -> Path:
    """Return the path of a file with a valid class name. Raises `DescriptionError`."""
    with refused("export_modelica"):
        file = Path(checked_path(path))
        if not NAMED.fullmatch(file.name) or file.stem in MODELICA.reserved:
            legal = "it must be NAME.mo; NAME is a letter, then letters, digits and _, and not a keyword of Modelica"
            raise Fault("path", f"is {shown(file.name)}; {legal}")
    return file


def modelica(
    model: Model, name: str, sensors: Sequence[Sensor] | None = None, q0: Any = None, qd0: Any = None, s0: Any = None
) -> str:
    """Return the text of `export_modelica` for a class with this name."""
    at = start(model, q0, qd0, s0)
    seen = usual_sensors(model) if sensors is None else sensors
    model.output_names(seen)
    found = system(model, seen, at, step=1.0, tolerance=0.0, near=True)  # step and tolerance do not apply here
    taken = {*MODELICA.reserved, name}
    named = {
        kind: [(_name(each, taken), each) for each in signals]
        for kind, signals in (("x", found.states), ("u", found.inputs), ("p", found.parameters), ("y", found.outputs))
    }
    rates, measured = (next(each for each in found.programs if each.name == a) for a in ("rates", "outputs"))
    nx, nu = len(found.states), len(found.inputs)
    at_once: Array = np.asarray(found.outputs_on[:, nx : nx + nu].any(axis=1))  # they depend directly on an input
    programs = {"dx": rates}
    programs |= {"y": _of(measured, "signals", np.flatnonzero(~at_once), "xp")} if not at_once.all() else {}
    programs |= {"z": _of(measured, "driven", np.flatnonzero(at_once), "xup")} if at_once.any() else {}
    if model.arm.closures:
        corrected = next(each for each in found.programs if each.name == "correction")
        programs["apart"] = _of(corrected, "gaps", np.array([nx]), "xp")
    functions = [_function(each) for each in programs.values()]
    if any("beyond(" in each for each in functions):
        functions.insert(0, BEYOND)
    arrays = []
    for array, program in programs.items():
        given = [f"{{{', '.join(own for own, _ in named[a])}}}" for a in program.sizes]
        head = f"Real {array}[{program.function.numel_out(0)}] = {program.name}({', '.join(given)});"
        arrays += wrap(head, 110, subsequent_indent="  ", break_long_words=False)
    variables = [
        *(_declared("Real", *each, start=repr(each[1].start), fixed="true") for each in named["x"]),
        *(_declared("Input", *each, start="0.0") for each in named["u"]),
        *(_declared("parameter Real", *each, value=each[1].start) for each in named["p"]),
        *(_declared("Output", *each) for each in named["y"]),
    ]
    equations = [f"der({own}) = dx[{i}];" for i, (own, _) in enumerate(named["x"], 1)]
    if model.arm.closures:
        said = "the state does not satisfy the closures: give another start, or a smaller tolerance"
        equations.append(f'assert(apart[1] < {APART**2!r}, "{said}");')
    counts = {"y": count(1), "z": count(1)}
    for (own, _), now in zip(named["y"], at_once, strict=True):
        array = "z" if now else "y"
        equations.append(f"{own} = {array}[{next(counts[array])}];")
    return TEXT.substitute(
        name=name,
        title=escape.quoted(found.title),
        variables=_lines(variables),
        functions=_lines(functions),
        arrays=_lines(arrays),
        equations=_lines(equations),
    )


def _name(signal: Signal, taken: set[str]) -> str:
    """Return a unique name for a variable, which does not begin with a digit."""
    name = re.sub(r"\W", "_", signal.name, flags=re.ASCII)
    name = name if re.match("[A-Za-z_]", name) else f"_{name}"
    return free(name, taken)


def _declared(kind: str, own: str, signal: Signal, start: str = "", fixed: str = "", value: float | None = None) -> str:
    """Return the declaration of a variable, with its unit and meaning, and its name in the model if that differs."""
    shown = DISPLAYED.get(signal.unit, ("", 0.0))[0]
    attributes = {
        "unit": f'"{unit}"' if (unit := _unit(signal.unit)) else "",
        "displayUnit": f'"{shown}"' if shown else "",
        "min": "" if signal.least is None else repr(signal.least),
        "start": start,
        "fixed": fixed,
    }
    said = ", ".join(f"{key} = {text}" for key, text in attributes.items() if text)
    about = signal.name if not signal.meaning else f"{signal.name}: {signal.meaning}"
    binding = "" if value is None else f" = {value!r}"
    return f'{kind} {own}{f"({said})" if said else ""}{binding} "{escape.quoted(about)}";'


def _unit(unit: str) -> str:
    """Return a unit in Modelica's notation, such as N.m.s/rad, or "" for a text that is not a product of known
    units."""
    if not unit or powers(unit) is None:
        return ""
    above, *below = (
        [re.sub(r"\^", "", SPELLED.get(factor, factor)) for factor in part.split()] for part in unit.split("/")
    )
    factors = [factor for part in below for factor in part]
    under = ".".join(factors)
    return ".".join(above) + (f"/({under})" if len(factors) > 1 else f"/{under}" if factors else "")


def _of(program: Program, name: str, rows: Array, arguments: str) -> Program:
    """Return a program for some rows of a program's result, with only these arguments."""
    symbols = dict(zip(program.function.name_in(), program.function.sx_in(), strict=True))
    result = program.function(*symbols.values())[rows]
    few = {a: x for a, x in symbols.items() if a in arguments}
    function = ca.Function(name, [*few.values()], [ca.densify(result)], [*few], ["result"])
    entries = {a: names for a, names in program.entries.items() if a in few}
    return replace(program, name=name, function=function, entries=entries, shapes={"result": (len(rows),)})


def _function(program: Program) -> str:
    """Return a program as a function of arrays."""
    made = source(program, MODELICA)
    ((result, shape),) = program.outputs.items()
    p, size = made.names["p"], math.prod(shape)
    inputs = [f"input Real {made.names[x]}[{many}];" for x, many in program.inputs.items()]
    inputs += [f"input Real {p}[{len(program.parameters)}];"] if program.parameters else []
    local = [(i, x) for i, x in enumerate(made.local.values(), 1) if x in made.used]
    temporaries = [*(x for _, x in local), *(x.targets[0] for x in made.statements if not x.output)]
    lines = [f"{x} := {p}[{i}];" for i, x in local]
    lines += [f"{made.names[result]} := fill(0.0, {size});"] if result in made.sparse else []
    lines += [line for statement in made.statements for line in assignments(statement, ":=")]
    declared = wrap(f"Real {', '.join(temporaries)};", 110, subsequent_indent="  ")
    return FUNCTION.substitute(
        name=program.name,
        title=escape.quoted(program.title),
        inputs=_lines(inputs),
        result=made.names[result],
        size=size,
        temporaries=_lines(["protected", *declared]).removeprefix("  ") if temporaries else "",
        body=_lines(lines),
    )


def _lines(lines: Iterable[str]) -> str:
    return indent("\n".join(lines), "  ")
