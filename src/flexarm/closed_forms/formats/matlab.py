"""Equations as a MATLAB function file, which Octave can also read."""

from textwrap import indent

import casadi as ca

from flexarm import escape
from flexarm.closed_forms.formats.program import Program
from flexarm.closed_forms.formats.statements import assignments, body, meaning, remarks, source
from flexarm.closed_forms.formats.terms import FUNCTIONS, OPERATORS, Language

KEYWORDS = """break case catch classdef continue do else elseif end end_try_catch end_unwind_protect endarguments
endclassdef endenumeration endevents endfor endfunction endif endmethods endparfor endproperties endspmd endswitch
endwhile arguments enumeration events methods properties for function global if otherwise parfor persistent return
spmd switch try until unwind_protect unwind_protect_cleanup while"""

CONSTANTS = "ans e eps false i Inf inf j NA NaN nan pi true"

OWN = "abs choice double max min nargin parameters power zeros"

MATLAB = Language(
    name="MATLAB",
    reserved=frozenset(
        [*KEYWORDS.split(), *CONSTANTS.split(), *OWN.split(), *(text.partition("(")[0] for text in FUNCTIONS.values())]
    ),
    templates=OPERATORS
    | FUNCTIONS
    | {
        ca.OP_NE: "{0} ~= {1}",
        ca.OP_POW: "power({0}, {1})",
        ca.OP_CONSTPOW: "power({0}, {1})",
        ca.OP_FABS: "abs({0})",
        ca.OP_SIGN: "sign({0})",
        ca.OP_FMIN: "min({0}, {1})",
        ca.OP_FMAX: "max({0}, {1})",
        ca.OP_NOT: "~{0}",
        ca.OP_AND: "{0} & {1}",
        ca.OP_OR: "{0} | {1}",
        ca.OP_IF_ELSE_ZERO: "choice({0}, {1})",
    },
    number="double({0})",
    input=lambda array, i: f"{array}({i + 1})",
    output=lambda array, index, shape: f"{array}({', '.join(str(i + 1) for i in index)})" if index else array,
)


def matlab(program: Program, language: Language = MATLAB) -> str:
    """Return a function file. The parameters are a struct; without arguments, the function returns their values.

    `language` is MATLAB, or MATLAB with names for nan and inf.

    Raises
    ------
    FlexarmError
        If MATLAB has no form for an operation, or if a constant is not finite.
    """
    made = source(program, language)
    names = made.names
    p = [names["p"]] if program.parameters else []
    inputs, outputs = [names[x] for x in program.inputs], [names[x] for x in program.outputs]
    call = f"{made.name}({', '.join(inputs + p)})"
    head = [
        f"{made.name.upper()}  {escape.comment(program.title)}",
        "",
        "Written by flexarm, and runs without it.",
        "",
        *remarks(program, made, language),
    ]
    lines: list[str] = []
    local: list[str] = []
    if program.parameters:
        head += [f"{p[0]}: a struct of parameters; {p[0]} = {made.name}() has their values, used where it is not given"]
        lines += ["if nargin == 0", f"    {outputs[0]} = parameters();", "    return", "end"] if inputs else []
        lines += [f"if nargin < {len(inputs) + 1}", f"    {p[0]} = parameters();", "end"]
        lines += [f"{x} = {p[0]}.{made.fields[symbol]};" for symbol, x in made.local.items() if x in made.used]
        values = [f"p.{made.fields[x.symbol]} = {float(x.value)!r};  % {meaning(x)}" for x in program.parameters]
        local += ["", "function p = parameters()", *(f"    {value}" for value in values), "end"]
    for x, shape in program.outputs.items():
        lines.append(f"{names[x]} = zeros({', '.join(map(str, (*shape, 1, 1)[:2]))});")
    lines += body(program, made, "%", assignments)
    if any("choice(" in statement.text for statement in made.statements):
        local += ["", "function y = choice(condition, x)"]
        local += ["    y = 0.0;", "    if condition", "        y = x;", "    end", "end"]
    start = [f"function [{', '.join(outputs)}] = {call}", *(f"% {line}".rstrip() for line in head)]
    return "\n".join([*start, indent("\n".join(lines), "    "), "end", *local, ""])
