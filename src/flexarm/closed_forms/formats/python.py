"""Equations as a Python module that needs only NumPy."""

import builtins
import keyword
import re
from string import Template
from textwrap import indent

import casadi as ca

from flexarm import escape
from flexarm.closed_forms.formats.program import Program
from flexarm.closed_forms.formats.statements import body, meaning, remarks, source
from flexarm.closed_forms.formats.terms import FUNCTIONS, OPERATORS, Language

PYTHON = Language(
    name="Python",
    reserved=frozenset([*keyword.kwlist, *dir(builtins)])
    | {"np", "NamedTuple", "PARAMETERS", "Equations", "rows", "batch"},
    templates=OPERATORS
    | {op: f"np.{template}" for op, template in FUNCTIONS.items()}
    | {
        ca.OP_NE: "{0} != {1}",
        ca.OP_POW: "np.power({0}, {1})",
        ca.OP_CONSTPOW: "np.power({0}, {1})",
        ca.OP_ASIN: "np.arcsin({0})",
        ca.OP_ACOS: "np.arccos({0})",
        ca.OP_ATAN: "np.arctan({0})",
        ca.OP_ATAN2: "np.arctan2({0}, {1})",
        ca.OP_FABS: "np.abs({0})",
        ca.OP_SIGN: "np.sign({0})",
        ca.OP_FMIN: "np.fmin({0}, {1})",
        ca.OP_FMAX: "np.fmax({0}, {1})",
        ca.OP_COPYSIGN: "np.copysign({0}, {1})",
        ca.OP_NOT: "np.logical_not({0})",
        ca.OP_AND: "np.logical_and({0}, {1})",
        ca.OP_OR: "np.logical_or({0}, {1})",
        ca.OP_IF_ELSE_ZERO: "np.where({0}, {1}, 0.0)",
    },
    number="np.where({0}, 1.0, 0.0)",
    input=lambda array, i: f"{array}[{i}]",
    output=lambda array, index, shape: f"{array}[{', '.join(['...', *map(str, index)])}]",
)


MODULE = Template('''"""$title

Written by flexarm, and runs without it.
"""

from typing import NamedTuple

import numpy as np

$table


class Equations(NamedTuple):
    """What $name returns."""

$fields


def rows(name, values, size):
    """The numbers of an argument, each with the axes that come before the last."""
    numbers = np.moveaxis(np.asarray(values, dtype=float), -1, 0)
    if len(numbers) != size:
        raise ValueError(f"{name} has {len(numbers)} numbers; it must have {size}")
    return numbers


$quiet
def $name($arguments):
    """$title

    Arguments may be lists; axes before the last mean many states at once.

$remarks
    """
$body
    return Equations($outputs)
''')

QUIET = "@np.errstate(all='ignore')  # both sides of a condition are evaluated, also where one has no value"


def python(program: Program) -> str:
    """Return a module with one function of the program's inputs that returns a named tuple of arrays.

    Axes before the last of an argument mean many states at once.

    Raises
    ------
    FlexarmError
        If Python has no form for an operation, or if a constant is not finite.
    """
    made = source(program, PYTHON)
    names = made.names
    parameters = [f'    "{x.symbol}": {float(x.value)!r},  # {meaning(x)}' for x in program.parameters]
    lines = [f'{names[x]} = rows("{names[x]}", {names[x]}, {size})' for x, size in program.inputs.items()]
    lines += [f'{x} = {names["p"]}["{symbol}"]' for symbol, x in made.local.items() if x in made.used]
    lines.append(f"batch = np.broadcast_shapes({', '.join(f'{names[x]}.shape[1:]' for x in program.inputs)})")
    for x, shape in program.outputs.items():
        lines.append(f"{names[x]} = np.zeros((*batch, {', '.join(map(str, shape))}))".replace(", )", ",)"))
    lines += body(program, made, "#", lambda statement: [" = ".join([*statement.targets, statement.text])])
    told = remarks(program, made, PYTHON)
    told += [f"{names['p']}: numbers of the arm by their symbols"] if parameters else []
    text = MODULE.substitute(
        title=escape.docstring(escape.comment(program.title)),
        table="\n".join(["PARAMETERS = {", *parameters, "}"]) if parameters else "",
        name=made.name,
        fields=indent("\n".join(f"{names[x]}: np.ndarray" for x in program.outputs), "    "),
        quiet=QUIET if any("np.where(" in statement.text for statement in made.statements) else "",
        arguments=", ".join([*(names[x] for x in program.inputs), *([f"{names['p']}=PARAMETERS"] * bool(parameters))]),
        remarks=indent(escape.docstring("\n".join(told)), "    "),
        body=indent("\n".join(lines), "    "),
        outputs=", ".join(names[x] for x in program.outputs),
    )
    return re.sub(r"\n{4,}", "\n\n\n", text)
