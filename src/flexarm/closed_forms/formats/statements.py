"""A program as a list of assignments in one language.

Values that are used more than once have a name, and so have sines and cosines. All others are part of the expression
that uses them, as far as the line length allows. Sums and products have no parentheses that only determine the order of
rounding.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import casadi as ca
import numpy as np

from flexarm import escape
from flexarm.closed_forms.formats.program import Program
from flexarm.closed_forms.formats.terms import Language, Term, constant, numeric, operation
from flexarm.mechanics.parameters import Parameter
from flexarm.native.program import INPUT, OUTPUT, PART, SINCOS, Instruction, instructions

LONGEST = 76
"""Largest number of characters of one expression."""


@dataclass(frozen=True)
class Statement:
    """One value, assigned to a new temporary, or to one or two entries of an output."""

    targets: tuple[str, ...]
    text: str
    output: str = ""


@dataclass(frozen=True)
class Source:
    """A program in one language.

    Attributes
    ----------
    name : str
        Name of the function.
    names : dict
        Inputs, outputs and "p" -> their names, which avoid reserved ones.
    fields, local : dict
        Symbols of parameters -> their names among the parameters, and inside the function.
    statements : tuple of Statement
        In order, without the entries that are always zero.
    used : frozenset of str
        Inputs and parameters, by their names inside the function, that the statements need.
    sparse : frozenset of str
        Outputs with entries that are always zero.
    """

    name: str
    names: dict[str, str]
    fields: dict[str, str]
    local: dict[str, str]
    statements: tuple[Statement, ...]
    used: frozenset[str]
    sparse: frozenset[str]


def source(program: Program, language: Language) -> Source:
    """Return the program's statements in a language.

    Raises
    ------
    FlexarmError
        If the language has no form for an operation, or if a constant is not finite.
    """
    taken, others = set(language.reserved), set(language.reserved)
    name = free(program.name, taken)
    names = {x: free(x, taken) for x in (*program.inputs, "p", *program.outputs)}
    fields = {x: free(x, others) for x in program.symbols}
    local = {x: free(x, taken) for x in program.symbols}
    parameters = [(x, x) for x in local.values()]
    numbers = [
        number
        for x, size in program.sizes.items()
        for number in (parameters if x == "p" else [(names[x], language.input(names[x], i)) for i in range(size)])
    ]
    entries = [
        (x, language.output(names[x], tuple(map(int, np.unravel_index(k, shape, order="F"))), shape))
        for x, shape in program.outputs.items()
        for k in range(math.prod(shape))
    ]
    arguments = [ca.SX.sym(x, size) for x, size in program.sizes.items()]
    results = ca.cse([ca.densify(result) for result in program.function.call(arguments)])
    code = instructions(ca.Function("f", arguments, results))
    statements, used, sparse = _statements(code, numbers, entries, language, taken)
    return Source(name, names, fields, local, tuple(statements), frozenset(used), frozenset(sparse))


def assignments(statement: Statement, sign: str = "=", kind: str = "") -> list[str]:
    """Return a line for each target, for languages in which an assignment has no value. `kind` declares the first."""
    first, *others = statement.targets
    return [f"{kind}{first} {sign} {statement.text};", *(f"{other} {sign} {first};" for other in others)]


def free(name: str, taken: set[str]) -> str:
    """Return the name with as many underscores as it takes to be new, and add it to those that are taken."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _statements(
    code: list[Instruction],
    numbers: list[tuple[str, str]],
    entries: list[tuple[str, str]],
    language: Language,
    taken: set[str],
) -> tuple[list[Statement], set[str], set[str]]:
    """Return statements, owners of the numbers they need, and outputs with entries that are always zero.

    Numbers of the inputs and entries of the outputs have the names of their owners.
    """
    # 1. targets of each value, and its number of uses; two entries of an output are assigned together
    steps = [_step(code, instruction) for instruction in code]
    goals: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    uses: Counter[int] = Counter()
    for instruction in code:
        if instruction.op == OUTPUT:
            output, entry = entries[instruction.index]
            targets = goals[repr(instruction.args[0]), output]
            if isinstance(instruction.args[0], int) and len(targets) % 2 == 0:
                uses[instruction.args[0]] += 1
            targets.append(entry)
    for k, (op, args) in reversed([*enumerate(steps)]):
        if op != OUTPUT and uses[k]:
            uses.update([a for a in args if isinstance(a, int)] * (2 if op == ca.OP_SQ else 1))

    # 2. an expression for each value
    statements: list[Statement] = []
    used: set[str] = set()
    sparse: set[str] = set()
    terms: dict[int, Term] = {}
    folded: set[int] = set()  # values without a name so far
    angles: dict[tuple, int] = {}
    temporaries = count(1)

    def named(term: Term, name: str) -> Term:
        name = free(name, taken)
        statements.append(Statement((name,), numeric(term, language).text))
        return Term(name)

    def operand(a: int | float) -> Term:
        return terms[a] if isinstance(a, int) else constant(a, language)

    def expression(op: int | str, args: tuple[int | float, ...]) -> Term:
        while True:
            term = operation(op, [operand(a) for a in args], language)
            long = [a for a in args if isinstance(a, int) and a in folded]
            if len(term.text) <= LONGEST or not long:
                return term
            longest = max(long, key=lambda a: len(terms[a].text))
            terms[longest] = named(terms[longest], f"t{next(temporaries)}")
            folded.remove(longest)

    for k, (op, args) in enumerate(steps):
        if op == OUTPUT:
            output = entries[code[k].index][0]
            targets = goals.pop((repr(args[0]), output), [])
            if isinstance(args[0], float) and args[0] == 0.0:
                sparse.add(output)
                continue
            text = numeric(operand(args[0]), language).text
            statements += [Statement(tuple(targets[i : i + 2]), text, output) for i in range(0, len(targets), 2)]
        elif op == INPUT and uses[k]:
            owner, name = numbers[code[k].index]
            used.add(owner)
            terms[k] = Term(name)
        elif op in (ca.OP_SIN, ca.OP_COS) and uses[k]:
            number = angles.setdefault(args, len(angles) + 1)
            terms[k] = named(expression(op, args), f"{'s' if op == ca.OP_SIN else 'c'}{number}")
        elif op != SINCOS and uses[k]:
            terms[k] = expression(op, args)
            if uses[k] > 1:
                terms[k] = named(terms[k], f"t{next(temporaries)}")
            else:
                folded.add(k)
    return statements, used, sparse


def _step(code: list[Instruction], instruction: Instruction) -> tuple[int | str, tuple[int | float, ...]]:
    """Operation and arguments, with sine and cosine separated."""
    if instruction.op != PART:
        return instruction.op, instruction.args
    return (ca.OP_SIN, ca.OP_COS)[instruction.index], code[int(instruction.args[0])].args


def meaning(parameter: Parameter) -> str:
    """Comment about a parameter."""
    unit = f" [{parameter.unit}]" if parameter.unit else ""
    return escape.comment(f"{parameter.name}{unit}: {parameter.meaning}")


def remarks(program: Program, made: Source, language: Language) -> list[str]:
    """Lines about the inputs with their numbers, and about the outputs."""
    lines: list[str] = []
    for x in (*program.inputs, *program.outputs):
        lines.append(remark(program, made, x))
        for i, name in enumerate(program.entries.get(x, ())):
            lines.append(f"    {language.input(made.names[x], i)}  {escape.comment(name)}")
    return lines


def remark(program: Program, made: Source, x: str) -> str:
    """Line about one input or output."""
    return made.names[x] + (f": {escape.comment(program.notes[x])}" if x in program.notes else "")


def body(program: Program, made: Source, mark: str, assignment: Callable[[Statement], list[str]]) -> list[str]:
    """Lines of the statements; each output begins with an empty line and a comment after the mark."""
    lines: list[str] = []
    output = ""
    for statement in made.statements:
        if statement.output not in ("", output):
            output = statement.output
            lines += ["", f"{mark} {remark(program, made, output)}"]
        lines += assignment(statement)
    return lines
