"""Equations as C99 that needs its standard library only, with a program that compares it with given numbers."""

import math
import re
from collections.abc import Mapping, Sequence
from string import Template
from textwrap import indent, wrap

import casadi as ca
import numpy as np

from flexarm import escape
from flexarm.closed_forms.formats.program import Program
from flexarm.closed_forms.formats.statements import Source, Statement, body, meaning, remarks, source
from flexarm.closed_forms.formats.terms import FUNCTIONS, OPERATORS, Language
from flexarm.errors import FlexarmError

KEYWORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"""

CPP = """alignas alignof and and_eq asm bitand bitor bool catch char8_t char16_t char32_t class compl concept consteval
constexpr constinit const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export false friend
mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast requires
static_assert static_cast template this thread_local throw true try typeid typename using virtual wchar_t xor xor_eq"""

OWN = "copysign differs expected fabs failed fmax fmin isnan main memset pow printf"

C = Language(
    name="C",
    reserved=frozenset(
        [*KEYWORDS.split(), *CPP.split(), *OWN.split(), *(text.partition("(")[0] for text in FUNCTIONS.values())]
    ),
    templates=OPERATORS
    | FUNCTIONS
    | {
        ca.OP_NE: "{0} != {1}",
        ca.OP_POW: "pow({0}, {1})",
        ca.OP_CONSTPOW: "pow({0}, {1})",
        ca.OP_FABS: "fabs({0})",
        ca.OP_FMIN: "fmin({0}, {1})",
        ca.OP_FMAX: "fmax({0}, {1})",
        ca.OP_COPYSIGN: "copysign({0}, {1})",
        ca.OP_NOT: "!{0}",
        ca.OP_AND: "{0} && {1}",
        ca.OP_OR: "{0} || {1}",
        ca.OP_IF_ELSE_ZERO: "({0} ? {1} : 0.0)",
    },
    number="({0} ? 1.0 : 0.0)",
    input=lambda array, i: f"{array}[{i}]",
    output=lambda array, index: array + "".join(f"[{i}]" for i in index) if index else f"*{array}",
)


HEADER = Template("""// $title
// Written by flexarm, of which it needs nothing.
#ifndef $guard
#define $guard
#ifdef __cplusplus
extern "C" {
#endif

$parameters

$remarks
$signature;

#ifdef __cplusplus
}
#endif
#endif
""")

CODE = Template("""// $title
#include "$name.h"

#include <math.h>
#include <string.h>

$parameters

$signature
{
$body
}
""")

TEST = Template("""// Compares $name with given numbers.
#include "$name.h"

#include <math.h>
#include <stdio.h>

static int differs(const char *name, const double *found, const double *expected, int size)
{
    double gap = 0.0, scale = 0.0;
    for (int i = 0; i < size; i++) {
        gap = isnan(found[i]) ? HUGE_VAL : fmax(gap, fabs(found[i] - expected[i]));
        scale = fmax(scale, fabs(expected[i]));
    }
    if (scale > 0.0) gap /= scale;
    printf("%s: largest relative error %.2g\\n", name, gap);
    return !(gap <= $tolerance);
}

int main(void)
{
    int failed = 0;
$state

    $name($arguments);
$checks
    return failed;
}
""")


def c(
    program: Program,
    inputs: Mapping[str, Sequence[float]],
    expected: Mapping[str, Sequence],
    tolerance: float = 1e-12,
) -> dict[str, str]:
    """Texts of NAME.h, NAME.c and NAME_test.c by their names.

    The test evaluates the program at the state `inputs`, with the default parameters unless there is a "p" among them.
    It prints for each output the largest difference to what is expected, as a part of the largest expected number, and
    fails where that is above the tolerance.

    Raises
    ------
    FlexarmError
        When C has no way to write an operation, a constant is not finite, or the numbers of the test do not fit.
    """
    made = source(program, C)
    names, name, p = made.names, made.name, made.names["p"]
    struct = f"{name}_parameters"
    arguments = [f"const double {names[x]}[{size}]" for x, size in program.inputs.items()]
    arguments += [f"const {struct} *{p}"] if program.parameters else []
    arguments += [_declared(names[x], shape, "*") for x, shape in program.outputs.items()]
    lead, joint = ("", ", ") if len(", ".join(arguments)) < 80 else ("\n    ", ",\n    ")
    signature = f"void {name}({lead}{joint.join(arguments)})"

    needless = [x for x in (names[x] for x in program.inputs) if x not in made.used]
    needless += [p] if program.parameters and made.used.isdisjoint(made.local.values()) else []
    lines = [f"(void){x};" for x in needless]
    lines += [f"const double {x} = {p}->{made.fields[symbol]};" for symbol, x in made.local.items() if x in made.used]
    for x, shape in program.outputs.items():
        if x in made.sparse:
            M = names[x]
            lines.append(f"memset({M}, 0, {shape[0]} * sizeof {M}[0]);" if shape else f"*{M} = 0.0;")
    lines += body(program, made, "//", _assignment)

    declared, defined = [], []
    if program.parameters:
        fields = [f"    double {made.fields[x.symbol]};  // {meaning(x)}" for x in program.parameters]
        values = [f"    .{made.fields[x.symbol]} = {float(x.value)!r}," for x in program.parameters]
        declared = [
            "// The numbers of the arm; its own are in the default.",
            "typedef struct {",
            *fields,
            f"}} {struct};",
            "",
            f"extern const {struct} {name}_default;",
        ]
        defined = [f"const {struct} {name}_default = {{", *values, "};"]
    common = {"title": escape.comment(program.title), "name": name, "signature": signature}
    header = HEADER.substitute(
        common,
        guard=f"{name.upper()}_H",
        parameters="\n".join(declared),
        remarks=indent("\n".join(remarks(program, made, C)), "// "),
    )
    code = CODE.substitute(common, parameters="\n".join(defined), body=indent("\n".join(lines), "    "))
    test = _test(program, made, inputs, expected, tolerance)
    texts = {f"{name}.h": header, f"{name}.c": code, f"{name}_test.c": test}
    return {file: re.sub(r"\n{3,}", "\n\n", text) for file, text in texts.items()}


def _declared(name: str, shape: tuple[int, ...], mark: str) -> str:
    return f"double {name}" + "".join(f"[{size}]" for size in shape) if shape else f"double {mark}{name}"


def _assignment(statement: Statement) -> list[str]:
    kind = "" if statement.output else "const double "
    return [f"{kind}{' = '.join(statement.targets)} = {statement.text};"]


def _test(
    program: Program,
    made: Source,
    inputs: Mapping[str, Sequence[float]],
    expected: Mapping[str, Sequence],
    tolerance: float,
) -> str:
    names, name, p = made.names, made.name, made.names["p"]
    state = [f"const double {names[x]}[{n}] = {_list(program, x, inputs, n)};" for x, n in program.inputs.items()]
    arguments = [names[x] for x in program.inputs]
    if program.parameters and "p" in inputs:
        values = _list(program, "p", inputs, len(program.parameters))
        state.append(f"const {name}_parameters {p} = {values};")
    if program.parameters:
        arguments.append(f"&{p}" if "p" in inputs else f"&{name}_default")
    checks: list[str] = []
    for x, shape in program.outputs.items():
        size, first = math.prod(shape), f"&{names[x]}" + "[0]" * len(shape)
        state.append(f"{_declared(names[x], shape, '')};")
        arguments.append(names[x] if shape else f"&{names[x]}")
        right = f"static const double expected[{size}] = {_list(program, x, expected, size)};"
        checks += ["{", indent(right, "    "), f'    failed |= differs("{x}", {first}, expected, {size});', "}"]
    return TEST.substitute(
        name=name,
        tolerance=repr(tolerance),
        state=indent("\n".join(state), "    "),
        arguments=", ".join(arguments),
        checks=indent("\n".join(checks), "    "),
    )


def _list(program: Program, x: str, given: Mapping[str, Sequence], size: int) -> str:
    values = np.asarray(given.get(x, ()), dtype=float).ravel()
    if len(values) != size or not np.isfinite(values).all():
        raise FlexarmError(f"program {program.name!r}: the test in C needs {size} finite numbers for {x!r}")
    lines = wrap(", ".join(f"{value:.17g}" for value in values.tolist()), 100)
    return f"{{{lines[0]}}}" if len(lines) == 1 else "{\n" + indent("\n".join(lines), "    ") + "\n}"
