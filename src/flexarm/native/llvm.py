"""LLVM IR of a straight-line program, split into pieces, for one state or a SIMD batch of several.

Register allocation is quadratic in the length of a block. The program is therefore split into functions of `PIECE`
instructions, a long program into functions of `SHORT`. Values that other pieces need pass through memory. Repeated
parts become loops of such functions. A long program becomes several modules that LLVM compiles one by one, so that
Ctrl-C need not wait for all of them.

Sines and cosines are computed in pairs and inline, without a call, so that they too use SIMD.

The text has no constants of the program, only loads of them (`constants`). Programs that differ only in their constants
have the same text and share machine code.
"""

from dataclasses import dataclass
from itertools import pairwise

import casadi as ca
import numpy as np

from flexarm.native.constants import Constants
from flexarm.native.program import (
    INPUT,
    INVERSE,
    OUTPUT,
    PART,
    SINCOS,
    Instruction,
    is_structural,
    operation_name,
    repeats,
)
from flexarm.native.sincos import BORDER, Numbers, sincos

PIECE = 2000
"""Instructions in one function."""

LONG, SHORT = 10_000, 500
"""Number of instructions above which a program has short functions, and their length. Most numbers of a long program
pass through memory anyway. With short functions the allocator is faster by a quarter, and the code by 3 percent for one
state and by 18 for eight. The code of a program of 3000 instructions would be 4 to 6 percent slower."""

SHARE = 300_000
"""Characters of functions in one module, about 4000 instructions. The last function may exceed them."""

FAST = "nsz contract arcp"
"""Fast-math flags. NaN and infinity keep their meaning, so that a diverged state can be recognized.

`reassoc` must never be combined with `contract`. With both, LLVM's instruction selection (up to 22.1 at least) rewrites
a b + c d + e in place as fma(a, b, fma(c, d, e)). Where the same sum occurs twice, with factors in another order, the
two are merged after the first has been rewritten, and e is added twice. `reassoc` gains nothing measurable.
"""

QUICK = {"double": "", "float": " afn"}
"""Further flags of an inverse. A float is inverted by the approximate instruction, with an error of 1 in the last
place."""

BINARY = {ca.OP_ADD: "fadd", ca.OP_SUB: "fsub", ca.OP_MUL: "fmul"}
COMPARISONS = {ca.OP_LT: "olt", ca.OP_LE: "ole", ca.OP_EQ: "oeq", ca.OP_NE: "une"}
INTRINSICS = {
    ca.OP_SQRT: "sqrt",
    ca.OP_EXP: "exp",
    ca.OP_LOG: "log",
    ca.OP_POW: "pow",
    ca.OP_CONSTPOW: "pow",
    ca.OP_TAN: "tan",
    ca.OP_ASIN: "asin",
    ca.OP_ACOS: "acos",
    ca.OP_ATAN: "atan",
    ca.OP_ATAN2: "atan2",
    ca.OP_SINH: "sinh",
    ca.OP_COSH: "cosh",
    ca.OP_TANH: "tanh",
    ca.OP_FLOOR: "floor",
    ca.OP_CEIL: "ceil",
    ca.OP_FABS: "fabs",
    ca.OP_FMIN: "minnum",
    ca.OP_FMAX: "maxnum",
    ca.OP_OR: "maxnum",
    ca.OP_COPYSIGN: "copysign",
}


@dataclass(frozen=True)
class Piece:
    """The instructions of one function. Those of a loop are its first round, `period` before those of the second."""

    span: range
    rounds: int = 1
    period: int = 0


def ir(code: list[Instruction], lanes: int) -> tuple[str, np.ndarray]:
    """Return the LLVM IR of `void evaluate(ptr in, ptr out)`, with `lanes` doubles in `in` and `out` per number.

    The text has one or several modules, with `BORDER` between them. `evaluate` is in the last one. The constants of the
    program are returned beside it.
    """
    numbers, constants = Numbers(lanes), Constants(lanes)
    T = numbers.T
    blocks, slot, size = _layout(code)
    lines = ["define void @evaluate(ptr noalias %in, ptr noalias %out) {", "entry:"]
    lines += [f"  %work = alloca [{max(1, size)} x {T}], align 64", "  br label %block0"]
    functions: list[str] = []
    before = "entry"
    for n, pieces in enumerate(blocks):
        loop = pieces[0].rounds > 1
        lines.append(f"block{n}:")
        if loop:
            lines.append(f"  %round{n} = phi i64 [0, %{before}], [%next{n}, %block{n}]")
        for piece in pieces:
            arguments = f"ptr %in, ptr %out, ptr %work, i64 {f'%round{n}' if loop else 0}"
            lines.append(f"  call void @piece{len(functions)}({arguments})")
            functions.append(_piece(code, piece, slot, numbers, constants, len(functions)))
        if loop:
            lines.append(f"  %next{n} = add i64 %round{n}, 1")
            lines.append(f"  %more{n} = icmp slt i64 %next{n}, {pieces[0].rounds}")
        condition = f"i1 %more{n}, label %block{n}, " if loop else ""
        lines.append(f"  br {condition}label %block{n + 1}")
        before = f"block{n}"
    lines += [f"block{len(blocks)}:", "  ret void", "}"]
    modules = [[sincos(numbers)]]
    for function in functions:
        if sum(map(len, modules[-1])) > SHARE:
            modules.append([sincos(numbers)])
        modules[-1].append(function)
    elsewhere = sum(len(module) - 1 for module in modules[:-1])
    modules[-1] += [f"declare void @piece{n}(ptr, ptr, ptr, i64)" for n in range(elsewhere)] + lines
    return BORDER.join("\n".join([*module, constants.footer]) for module in modules), np.array(constants.values)


def _layout(code: list[Instruction]) -> tuple[list[list[Piece]], dict[int, int], int]:
    """Return pieces in order of execution, grouped by loop; slots of `work` for shared values; and their number.

    The values of a loop are stored round after round, so that another loop reads them at equal distances.
    """
    groups: list[list[Piece]] = []
    done = 0
    for repeat in repeats(code):
        groups += [[Piece(span)] for span in _cut(code, range(done, repeat.start))]
        first = range(repeat.start, repeat.start + repeat.period)
        groups.append([Piece(span, repeat.rounds, repeat.period) for span in _cut(code, first)])
        done = repeat.stop
    groups += [[Piece(span)] for span in _cut(code, range(done, len(code)))]

    home: list[tuple[int, int, int]] = []  # group, round and piece of each instruction
    for g, pieces in enumerate(groups):
        for r in range(pieces[0].rounds):
            for i, piece in enumerate(pieces):
                home += [(g, r, i)] * len(piece.span)
    leaving: list[set[int]] = [set() for _ in groups]  # by the groups as they are called in the first round
    for k, instruction in enumerate(code):
        for a in instruction.args:
            if isinstance(a, int) and code[a].op != INPUT and home[a] != home[k]:
                g, r, _ = home[a]
                leaving[g].add(a - r * groups[g][0].period)
    slot: dict[int, int] = {}
    for pieces, values in zip(groups, leaving, strict=True):
        for r in range(pieces[0].rounds):
            slot |= {a + r * pieces[0].period: len(slot) + i for i, a in enumerate(sorted(values))}
    blocks = [block for pieces in groups for block in _even(code, pieces, slot)]
    return blocks, slot, len(slot)


def _cut(code: list[Instruction], span: range) -> list[range]:
    cuts, piece = [span.start], PIECE if len(code) < LONG else min(SHORT, PIECE)
    for k in span:
        if k - cuts[-1] >= piece and code[k].op != PART:  # the halves of a pair stay together
            cuts.append(k)
    return [range(a, b) for a, b in pairwise([*cuts, span.stop]) if b > a]


def _even(code: list[Instruction], pieces: list[Piece], slot: dict[int, int]) -> list[list[Piece]]:
    """Return a loop over the longest sequence of rounds with equally growing addresses, and the other rounds."""
    rounds, period = pieces[0].rounds, pieces[0].period
    if rounds == 1:
        return [pieces]
    shifts = [r * period for r in range(rounds)]
    addresses: list[list[int]] = []
    for piece in pieces:
        for k in piece.span:
            if code[k].op == OUTPUT:
                addresses.append([code[k + shift].index for shift in shifts])
            for j, a in enumerate(code[k].args):
                if isinstance(a, int) and (code[a].op == INPUT or a not in piece.span):
                    addresses.append([_place(code, slot, code[k + shift].args[j]) for shift in shifts])
    uneven = (np.diff(np.array(addresses), 2, axis=1) != 0).any(axis=0)  # for three rounds in a row
    edges = np.flatnonzero(np.concatenate([[True], uneven, [True]]))
    longest = int(np.argmax(np.diff(edges)))
    low, high = int(edges[longest]), int(edges[longest + 1]) + 1
    if high - low < 3:
        high = low
    moved = [[range(p.span.start + shift, p.span.stop + shift) for p in pieces] for shift in shifts]
    written = [[[Piece(span)] for span in spans] for spans in moved]
    loop = [[Piece(span, high - low, period) for span in moved[low]]] if high > low else []
    return [*(block for blocks in written[:low] for block in blocks), *loop, *(b for w in written[high:] for b in w)]


def _place(code: list[Instruction], slot: dict[int, int], a: int | float) -> int:
    """Return the index, in `in` or in `work`, of an argument from outside its piece."""
    assert isinstance(a, int)
    return code[a].index if code[a].op == INPUT else slot[a]


def _piece(
    code: list[Instruction],
    piece: Piece,
    slot: dict[int, int],
    numbers: Numbers,
    constants: Constants,
    number: int,
) -> str:
    """Return the IR of one function, and of the block of its constants."""
    lines: list[str] = []
    bases: dict[tuple[str, int], str] = {}
    loaded: dict[tuple[int, int], str] = {}
    block = constants.block(number)
    lanes, T = numbers.lanes, numbers.T
    size = 8 * lanes
    shifts = [r * piece.period for r in range(piece.rounds)]

    def address(label: str, base: str, first: int, second: int) -> str:
        """Return a pointer to a number with the index `first` in the first round and `second` in the second."""
        step = second - first
        if step and (base, step) not in bases:
            moving = f"%b{len(bases)}"
            lines.append(f"  {moving}m = mul i64 %round, {size * step}")
            lines.append(f"  {moving} = getelementptr i8, ptr {base}, i64 {moving}m")
            bases[base, step] = moving
        lines.append(f"  {label} = getelementptr i8, ptr {bases.get((base, step), base)}, i64 {size * first}")
        return label

    def literal(k: int, j: int) -> str:
        """Return a constant that belongs to the structure, or the load of another one."""
        values = [float(code[k + shift].args[j]) for shift in shifts]
        same = len(set(map(repr, values))) == 1
        if same and is_structural(code[k].op, j, values[0]):
            return numbers.constant(values[0])
        return block.load(values[:1] if same else values, lines)

    def name(k: int, j: int) -> str:
        a = code[k].args[j]
        if isinstance(a, float):
            return literal(k, j)
        if code[a].op != INPUT and a in piece.span:
            return f"%v{a}"
        base = "%in" if code[a].op == INPUT else "%work"
        key = (a, int(code[k + piece.period].args[j]))
        if key not in loaded:
            label = f"%l{len(loaded)}"
            pointer = address(f"{label}p", base, *(_place(code, slot, b) for b in key))
            lines.append(f"  {label} = load {T}, ptr {pointer}, align 8")
            loaded[key] = label
        return loaded[key]

    for k in piece.span:
        op, index, after = code[k].op, code[k].index, k + piece.period
        if op == INPUT:
            continue
        x = [name(k, j) for j in range(len(code[k].args))]
        if op == OUTPUT:
            pointer = address(f"%o{k}", "%out", index, code[after].index)
            lines.append(f"  store {T} {x[0]}, ptr {pointer}, align 8")
            continue
        lines.append(operation(k, op, index, x, numbers))
        if k in slot:
            pointer = address(f"%s{k}", "%work", slot[k], slot[after])
            lines.append(f"  store {T} %v{k}, ptr {pointer}, align 8")
    arguments = "ptr noalias %in, ptr noalias %out, ptr noalias %work, i64 %round"
    head = f"define hidden void @piece{number}({arguments}) noinline {{"
    return "\n".join([*block.definition, head, *lines, "  ret void", "}"])


def operation(k: int, op: int | str, index: int, x: list[str], numbers: Numbers) -> str:
    """Return the IR of %v<k>, the value of one operation. Raise `NotImplementedError` for an unknown operation."""
    v, T, bits, zero = f"  %v{k}", numbers.T, numbers.B, numbers.constant(0.0)
    if op in BINARY:
        return f"{v} = {BINARY[op]} {FAST} {T} {x[0]}, {x[1]}"
    if op == ca.OP_NEG:
        return f"{v} = fneg {FAST} {T} {x[0]}"
    if op == ca.OP_SQ:
        return f"{v} = fmul {FAST} {T} {x[0]}, {x[0]}"
    if op == ca.OP_TWICE:
        return f"{v} = fadd {FAST} {T} {x[0]}, {x[0]}"
    if op == INVERSE:
        return f"{v} = fdiv {FAST}{QUICK[numbers.real]} {T} {numbers.constant(1.0)}, {x[0]}"
    if op == SINCOS:
        return f"{v} = call {{{T}, {T}}} @sincos({T} {x[0]})"
    if op == PART:
        return f"{v} = extractvalue {{{T}, {T}}} {x[0]}, {index}"
    if op in COMPARISONS:
        return f"  %c{k} = fcmp {COMPARISONS[op]} {T} {x[0]}, {x[1]}\n{v} = uitofp {bits} %c{k} to {T}"
    if op == ca.OP_SIGN:
        compared = [f"  %{c}{k} = fcmp {how} {T} {x[0]}, {zero}" for c, how in (("c", "ogt"), ("d", "olt"))]
        counted = [f"  %{c}f{k} = uitofp {bits} %{c}{k} to {T}" for c in "cd"]
        return "\n".join([*compared, *counted, f"{v} = fsub {T} %cf{k}, %df{k}"])
    if op == ca.OP_NOT:
        return f"  %c{k} = fcmp oeq {T} {x[0]}, {zero}\n{v} = uitofp {bits} %c{k} to {T}"
    if op == ca.OP_AND:
        return f"{v} = fmul {T} {x[0]}, {x[1]}"  # true is 1.0 and false is 0.0
    if op == ca.OP_IF_ELSE_ZERO:
        return f"  %c{k} = fcmp une {T} {x[0]}, {zero}\n{v} = select {bits} %c{k}, {T} {x[1]}, {T} {zero}"
    if op in INTRINSICS:
        return f"{v} = call {T} @llvm.{INTRINSICS[op]}.{numbers.suffix}({', '.join(f'{T} {a}' for a in x)})"
    raise NotImplementedError(f"no native code for the CasADi operation {operation_name(op)}")
