"""Equations as a JavaScript function without dependencies, for browsers and Node.

V8 compiles a function only if it is short. A function of more than sixty thousand bytes of bytecode is never optimized,
and is then thirty times as slow. A long program is therefore split into parts, which pass values to later parts in an
array.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from string import Template
from textwrap import indent

import casadi as ca

from flexarm import escape
from flexarm.closed_forms.formats.program import Program
from flexarm.closed_forms.formats.statements import Source, Statement, meaning, remark, remarks, source
from flexarm.closed_forms.formats.terms import FUNCTIONS, OPERATORS, Language

KEYWORDS = """abstract arguments async await boolean break byte case catch char class const continue debugger default
delete do double else enum eval export extends false final finally float for function get goto if implements import in
instanceof int interface let long native new null of package private protected public return set short static super
switch synchronized this throw throws transient true try typeof undefined var void volatile while with yield"""

GLOBALS = "Array Infinity Math NaN Object Float64Array module exports require"

WINDOW = frozenset(
    """window document location top self parent name status event history navigator screen origin length closed frames
    opener external""".split()
)
"""Names of properties of a browser's window, which cannot be redefined by a function."""

OWN = "out w"

JAVASCRIPT = Language(
    name="JavaScript",
    reserved=frozenset(" ".join((KEYWORDS, GLOBALS, OWN)).split()),
    templates=OPERATORS
    | {op: f"Math.{template}" for op, template in FUNCTIONS.items()}
    | {
        ca.OP_EQ: "{0} === {1}",
        ca.OP_NE: "{0} !== {1}",
        ca.OP_POW: "Math.pow({0}, {1})",
        ca.OP_CONSTPOW: "Math.pow({0}, {1})",
        ca.OP_FABS: "Math.abs({0})",
        ca.OP_SIGN: "Math.sign({0})",
        ca.OP_FMIN: "Math.min({0}, {1})",
        ca.OP_FMAX: "Math.max({0}, {1})",
        ca.OP_NOT: "!{0}",
        ca.OP_AND: "{0} && {1}",
        ca.OP_OR: "{0} || {1}",
        ca.OP_IF_ELSE_ZERO: "({0} ? {1} : 0.0)",
    },
    number="({0} ? 1.0 : 0.0)",
    input=lambda array, i: f"{array}[{i}]",
    output=lambda array, index, shape: f"{array}[{sum(i * math.prod(shape[k:]) for k, i in enumerate(index, 1))}]",
)

LONGEST = 12_000
"""Characters of the statements of one part. From 6000 to 24 000 the speed is the same; V8 gives up near 100 000."""

NAME = re.compile(r"(?<![\w.])[A-Za-z]\w*")

MODULE = Template("""// $title
// Written by flexarm, and runs without it.
var $name = (function () {
    "use strict";
$work$parts
    /**
$remarks
     */
    function $name($arguments) {
$body
        return out;
    }

    $name.inputs = $inputs;
    $name.shapes = $shapes;
    $name.out = function () {
        return { $fresh };
    };
$parameters    return $name;
})();
if (typeof module === "object") module.exports = $name;
""")


def javascript(program: Program) -> str:
    """Return a classic script, which Node can also read, that defines the function NAME(inputs..., p, out).

    Inputs are arrays of numbers in the program's order. p, the parameters, follows them if there are any, and has
    default values. `out` has a Float64Array for each output, row by row, and is returned. It is created if it is left
    out. NAME.out() creates one, NAME.inputs has the inputs' sizes, NAME.shapes the outputs' shapes, NAME.p the
    parameters' values, NAME.symbols their symbols.

    Raises
    ------
    FlexarmError
        If JavaScript has no form for an operation, or if a constant is not finite.
    """
    made = source(program, JAVASCRIPT)
    names, p = made.names, made.names["p"]
    name = f"{made.name}_" if made.name in WINDOW else made.name
    parts = [*_cut(made.statements)]
    handed = _handed(parts)
    inputs = [names[x] for x in program.inputs] + ([p] if program.parameters else [])
    passed = ", ".join([*inputs, *(["w"] if handed else []), "out"])
    stem = f"{name}_part"
    while any(x.startswith(stem) for x in names.values()):
        stem += "_"
    texts = [_part(f"{stem}{i}", passed, part, program, made, handed) for i, part in enumerate(parts, start=1)]
    values = [f"{float(x.value)!r},  // {x.symbol}: {_shown(meaning(x))}" for x in program.parameters]
    told = [_shown(line) for line in remarks(program, made, JAVASCRIPT)]
    told += [f"{p}: numbers of the arm, in the order of {name}.symbols"] if values else []
    cleared = [f"out.{names[x]}.fill(0.0);" for x in program.outputs if x in made.sparse]
    defaults = [f"{x} = {name}.p" if x == p and values else x for x in inputs]
    text = MODULE.substitute(
        title=_shown(escape.comment(program.title)),
        name=name,
        work=f"    const w = new Float64Array({len(handed)});\n" if handed else "",
        parts="".join(f"\n{indent(text, '    ')}\n" for text in texts),
        remarks="\n".join(f"     * {line}".rstrip() for line in told),
        arguments=", ".join([*defaults, f"out = {name}.out()"]),
        body=indent("\n".join([*cleared, *(f"{stem}{i}({passed});" for i in range(1, len(parts) + 1))]), " " * 8),
        inputs=json.dumps({names[x]: size for x, size in program.inputs.items()}),
        shapes=json.dumps({names[x]: shape for x, shape in program.outputs.items()}),
        fresh=", ".join(f"{names[x]}: new Float64Array({math.prod(s)})" for x, s in program.outputs.items()),
        parameters=_parameters(name, values, program.symbols),
    )
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def _parameters(name: str, values: list[str], symbols: list[str]) -> str:
    if not values:
        return ""
    listed = indent("\n".join(values), " " * 8)
    return f"    {name}.p = Float64Array.of(\n{listed}\n    );\n    {name}.symbols = {json.dumps(symbols)};\n"


def _shown(text: str) -> str:
    """Return text for a comment that ends neither the comment nor the script element of a page."""
    return text.replace("*/", "* /").replace("<", "< ")


def _cut(statements: Iterable[Statement]) -> Iterator[list[Statement]]:
    """Split the statements into groups of similar length, none above the largest."""
    statements = list(statements)
    total = sum(len(statement.text) for statement in statements)
    share = total / max(1, math.ceil(total / LONGEST))
    part: list[Statement] = []
    done = ends = 0.0
    for statement in statements:
        if part and done >= ends + share:
            yield part
            part, ends = [], done
        part.append(statement)
        done += len(statement.text)
    if part:
        yield part


def _handed(parts: list[list[Statement]]) -> dict[str, int]:
    """Indices in w of the temporaries that a later part needs."""
    where = {x: i for i, part in enumerate(parts) for s in part if not s.output for x in s.targets}
    used = dict.fromkeys(
        x for i, part in enumerate(parts) for s in part for x in NAME.findall(s.text) if where.get(x, i) != i
    )
    return {x: place for place, x in enumerate(used)}


def _part(name: str, passed: str, part: list[Statement], program: Program, made: Source, handed: dict[str, int]) -> str:
    """Return a function with some of the statements."""
    own = {x for s in part if not s.output for x in s.targets}
    read = dict.fromkeys(x for s in part for x in NAME.findall(s.text))
    p, outputs = made.names["p"], dict.fromkeys(s.output for s in part if s.output)
    places = {x: i for i, x in enumerate(made.local.values())}
    lines = [f"const {made.names[x]} = out.{made.names[x]};" for x in outputs]
    lines += [f"const {x} = {p}[{places[x]}];" for x in read if x in places]
    lines += [f"const {x} = w[{handed[x]}];" for x in read if x in handed and x not in own]
    output = ""
    for s in part:
        if s.output not in ("", output):
            output = s.output
            lines += ["", f"// {_shown(remark(program, made, output))}"]
        lines.append(f"{'' if s.output else 'const '}{' = '.join(s.targets)} = {s.text};")
        lines += [f"w[{handed[x]}] = {x};" for x in s.targets if x in handed]
    return f"function {name}({passed}) {{\n{indent(chr(10).join(lines), '    ')}\n}}"
