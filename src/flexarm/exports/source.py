"""Programs of one model as C99: a header and a source that need only the mathematics of the standard library.

Every program becomes a function of arrays of numbers. Parameters are its last input, and every result is an array, row
by row. The functions allocate nothing and store nothing, so that they may be called from several threads at once.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import Template
from textwrap import indent
from typing import Literal

import casadi as ca
import numpy as np

from flexarm import escape
from flexarm.checks import Fault, choices, refused, shown
from flexarm.closed_forms.formats.c import MATHEMATICS, C
from flexarm.closed_forms.formats.program import IDENTIFIER, Program
from flexarm.closed_forms.formats.statements import Source, Statement, assignments, body, meaning, remark, source
from flexarm.errors import FlexarmError
from flexarm.exports.pieces import WHOLE, pieces

Real = Literal["double", "float"]

REALS = ("double", "float")

SIGN = "(({0} > 0.0) ? 1.0 : (({0} < 0.0) ? -1.0 : 0.0))"

FLAT = {
    real: replace(
        C,
        templates=C.templates | {ca.OP_SIGN: SIGN},
        output=lambda array, index, shape: f"{array}[{np.ravel_multi_index(index, shape) if index else 0}]",
        others={"nan": f"({real})NAN", "inf": f"({real})INFINITY"},
    )
    for real in REALS
}
"""C with every result as one array, and without implicit conversions."""

LARGEST, SMALLEST = float(np.finfo(np.float32).max), float(np.finfo(np.float32).smallest_subnormal)
"""Largest and smallest positive numbers of type float."""

HEADER = Template("""// $title
// Written by flexarm, and runs without it. Results must not overlap the arguments.
#ifndef $guard
#define $guard

$includes

$sizes

$names

#ifdef __cplusplus
extern "C" {
#endif

$nominal

$functions

#ifdef __cplusplus
}
#endif

#endif
""")

CODE = Template("""// $title
#include "$name.h"

#include <math.h>

$nominal

$functions
""")


@dataclass(frozen=True)
class Written:
    """C code that does not come from a program: its declaration in the header and its definition in the source."""

    declared: str
    defined: str


def c_sources(
    name: str,
    programs: Sequence[Program],
    real: Real = "double",
    title: str = "",
    sizes: Mapping[str, int] | None = None,
    written: Sequence[Written] = (),
    includes: Sequence[str] = (),
) -> dict[str, str]:
    """Return the texts of NAME.h and NAME.c by file name, with a function NAME_PROGRAM for each program.

    The arguments of a function are the program's inputs in order, then p if the program has parameters, then its
    results. Each result is an array, with a matrix row by row. `NAME_p_nominal` has the nominal values of the
    parameters, and `NAME_NP` is their number.

    Parameters
    ----------
    name : str
        Identifier that begins all public names.
    programs : sequence of Program
        Programs to write. Those with parameters must have the same ones.
    real : "double" or "float"
        Type of all numbers.
    title : str
        Title at the beginning of the files, one line.
    sizes : dict
        Values of preprocessor constants NAME_KEY.
    written : sequence of Written
        Further C code, after the programs.
    includes : sequence of str
        Headers of the standard library that the header includes, such as "stdint".

    Raises
    ------
    FlexarmError
        If a name is not an identifier or occurs twice, if parameters differ, if an operation cannot be written in C, or
        if a number is too large for float.
    """
    check_real("C", real)
    with refused("C"):
        if not isinstance(name, str) or not IDENTIFIER.fullmatch(name) or name in C.reserved:
            raise Fault(
                "name", f"is {shown(name)}; it must be a letter, then letters, digits and _, and not a keyword of C"
            )
    names = [program.name for program in programs]
    if twice := next((x for x in names if names.count(x) > 1), None):
        raise FlexarmError(f"C: two programs have the name {twice!r}")
    parameters = next((program.parameters for program in programs if program.parameters), ())
    if odd := next((x.name for x in programs if x.parameters and x.parameters != parameters), None):
        raise FlexarmError(f"C: program {odd!r} has other parameters than those before it")
    shared = _shared(programs)
    functions = [_function(name, program, real, shared) for program in programs]
    functions += [(each.declared, each.defined) for each in written]
    heads = [f"{array}[{i}]  {escape.comment(x)}" for array, entries in shared.items() for i, x in enumerate(entries)]
    heads += [f"p[{i}]  {meaning(x)}" for i, x in enumerate(parameters)]
    numbers = {**(sizes or {}), **({"np": len(parameters)} if parameters else {})}
    array = f"const {real} {name}_p_nominal[{len(parameters)}]"
    values = [f"    {literal(x.value, real)}," for x in parameters]
    common = {"title": escape.comment(title or name), "name": name}
    header = HEADER.substitute(
        common,
        guard=f"{name.upper()}_H",
        includes="\n".join(f"#include <{each}.h>" for each in includes),
        sizes="\n".join(f"#define {name.upper()}_{key.upper()} {value}" for key, value in numbers.items()),
        names=indent("\n".join(heads), "// "),
        nominal=f"// The parameters' own values.\nextern {array};" if parameters else "",
        functions="\n\n".join(declared for declared, _ in functions),
    )
    code = CODE.substitute(
        common,
        nominal="\n".join([f"{array} = {{", *values, "};"]) if parameters else "",
        functions="\n\n".join(defined for _, defined in functions),
    )
    texts = {f"{name}.h": header, f"{name}.c": code}
    return {file: re.sub(r"\n{3,}", "\n\n", text) for file, text in texts.items()}


def check_real(where: str, real: object) -> None:
    """Raise `DescriptionError` unless the argument is "double" or "float"."""
    with refused(where):
        if not isinstance(real, str) or real not in REALS:
            raise Fault("real", f"is {shown(real)}; it must be {choices(*REALS)}")


def _shared(programs: Sequence[Program]) -> dict[str, tuple[str, ...]]:
    """Return the names of the entries of inputs that are the same in all programs, which are documented only once."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for program in programs:
        for x in program.inputs:
            found.setdefault(x, set()).add(program.entries.get(x, ()))
    return {x: entries for x, (entries, *others) in found.items() if entries and not others}


def _function(name: str, program: Program, real: Real, shared: Mapping[str, tuple[str, ...]]) -> tuple[str, str]:
    """Return the declaration and the definition of a program."""
    made = source(program, FLAT[real])
    p, count = made.names["p"], len(program.parameters)
    arguments = [f"const {real} {made.names[x]}[{size}]" for x, size in program.inputs.items()]
    arguments += [f"const {real} {p}[{count}]"] if count else []
    arguments += [f"{real} {made.names[x]}[{math.prod(shape)}]" for x, shape in program.outputs.items()]
    declared = signature(f"{name}_{program.name}", arguments)

    zeros = [line for x, shape in program.outputs.items() if x in made.sparse for line in _zeros(made.names[x], shape)]
    needless = [made.names[x] for x in program.inputs if made.names[x] not in made.used]
    needless += [p] if count and made.used.isdisjoint(made.local.values()) else []
    lines = [*(f"(void){x};" for x in needless), *zeros]
    before: list[str] = []
    if len(made.statements) <= WHOLE:
        lines += _local(program, made, made.used, real)
        lines += body(program, made, "//", lambda statement: _assignment(statement, real))
    else:
        before, calls = _parts(f"{name}_{program.name}", program, made, real)
        lines += calls
    head = [f"// {escape.comment(program.title)}", *_remarks(program, made, shared)]
    return "\n".join([*head, f"{declared};"]), "\n\n".join([*before, _defined(declared, lines, real)])


def _parts(name: str, program: Program, made: Source, real: Real) -> tuple[list[str], list[str]]:
    """Return a long program as static functions, and the lines that call them."""
    between = "between"
    while between in {*made.names.values(), *made.local.values(), *(x.targets[0] for x in made.statements)}:
        between += "_"
    found, length = pieces(made.statements, between)
    p = made.names["p"]
    kinds = {made.names[x]: f"const {real} {made.names[x]}[{size}]" for x, size in program.inputs.items()}
    kinds |= {p: f"const {real} {p}[{len(program.parameters)}]", between: f"{real} {between}[{length}]"}
    kinds |= {made.names[x]: f"{real} {made.names[x]}[{math.prod(shape)}]" for x, shape in program.outputs.items()}
    functions, calls = [], [f"{real} {between}[{length}];"]
    for k, piece in enumerate(found, start=1):
        names = piece.names | ({p} if not piece.names.isdisjoint(made.local.values()) else set())
        given = [x for x in kinds if x in names]
        lines = _local(program, made, piece.names, real)
        lines += [line for statement in piece.statements for line in _assignment(statement, real)]
        head = signature(f"{name}_part_{k}", [kinds[x] for x in given])
        functions.append(_defined(f"static {head}", lines, real))
        calls.append(f"{name}_part_{k}({', '.join(given)});")
    return functions, calls


def _defined(head: str, lines: Sequence[str], real: Real) -> str:
    text = in_reals("\n".join(lines), real)
    return f"{head}\n{{\n{indent(text, '    ')}\n}}"


def _local(program: Program, made: Source, used: frozenset[str], real: Real) -> list[str]:
    """Return declarations that give parameters their names."""
    named = [(i, made.local[symbol]) for i, symbol in enumerate(program.symbols)]
    return [f"const {real} {x} = {made.names['p']}[{i}];" for i, x in named if x in used]


def _zeros(array: str, shape: tuple[int, ...]) -> list[str]:
    return [f"for (int i = 0; i < {math.prod(shape)}; i++) {{", f"    {array}[i] = 0.0;", "}"]


def signature(name: str, arguments: Sequence[str]) -> str:
    """Return a function's head, with one argument per line if a single line would be long."""
    line = ", ".join(arguments)
    joined = line if len(line) < 80 else "\n    " + ",\n    ".join(arguments)
    return f"void {name}({joined or 'void'})"


def _remarks(program: Program, made: Source, shared: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return lines on inputs and results, without those that are documented once for all functions."""
    lines: list[str] = []
    for x in (*program.inputs, *program.outputs):
        lines += [f"// {remark(program, made, x)}"] if x in program.notes else []
        if x not in shared:
            lines += [
                f"//     {made.names[x]}[{i}]  {escape.comment(n)}" for i, n in enumerate(program.entries.get(x, ()))
            ]
    return lines


def _assignment(statement: Statement, real: Real) -> list[str]:
    return assignments(statement, kind="" if statement.output else f"const {real} ")


def literal(value: float, real: Real) -> str:
    """Return a number in C."""
    return in_reals(repr(float(value)), real)


TOKEN = re.compile(r"//[^\n]*|[A-Za-z_]\w*|\d+(?:\.\d*)?(?:e[+-]?\d+)?")
FUNCTIONS = frozenset(MATHEMATICS.split())


def in_reals(text: str, real: Real) -> str:
    """Return C code in double as C code in the given type, with float's literals and functions of math.h."""
    return text if real == "double" else TOKEN.sub(_in_float, text)


def _in_float(found: re.Match[str]) -> str:
    token = found[0]
    if token in FUNCTIONS:
        return f"{token}f"
    if not token[0].isdigit() or token.isdigit():
        return token
    value = float(token)
    if value > LARGEST:
        raise FlexarmError(f"C: the equations contain {token}, which is too large for float; use double")
    return "0.0f" if value < SMALLEST else f"{token}f"
