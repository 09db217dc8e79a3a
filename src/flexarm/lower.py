"""A CasADi SX function as LLVM IR: the straight-line program, split in pieces, for one state or several lanes at once.

Register allocation is quadratic in the length of a block, so the program is cut into functions of `PIECE` instructions;
values that outlive their piece pass through memory. Sines and cosines come in pairs and are computed in line, without a
call, so that lanes stay lanes.
"""

import struct
from dataclasses import dataclass
from itertools import pairwise

import casadi as ca

PIECE = 500
"""Instructions in one function."""

FAST = "reassoc nsz contract arcp"
"""Freedoms given to the compiler: NaN and infinity keep their meaning, so that a diverged state can be told."""

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
INPUT, OUTPUT, INVERSE, SINCOS, PART = "input", "output", "inverse", "sincos", "part"


@dataclass(frozen=True)
class Instruction:
    """One operation; arguments are positions of earlier instructions, or constants (float)."""

    op: int | str
    args: tuple[int | float, ...]
    index: int = 0
    """Which input, output, or half of a pair."""


def program(function: ca.Function) -> list[Instruction]:
    """The function's straight-line program over its arguments laid end to end, and its results likewise.

    A divisor is inverted once, and each sine and cosine of one angle share one instruction.
    """
    start_in = _starts([function.nnz_in(i) for i in range(function.n_in())])
    start_out = _starts([function.nnz_out(i) for i in range(function.n_out())])
    code: list[Instruction] = []
    known: dict[tuple, int] = {}
    register: dict[int, int | float] = {}

    def put(op: int | str, args: tuple, index: int = 0) -> int:
        code.append(Instruction(op, args, index))
        return len(code) - 1

    def once(op: int | str, args: tuple, index: int = 0) -> int:
        key = (op, *map(repr, args), index)  # 2 is a position, 2.0 a constant, and 2 == 2.0
        if key not in known:
            known[key] = put(op, args, index)
        return known[key]

    for k in range(function.n_instructions()):
        op, where, target = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_CONST:
            register[target[0]] = function.instruction_constant(k)
        elif op == ca.OP_INPUT:
            register[target[0]] = put(INPUT, (), start_in[where[0]] + where[1])
        elif op == ca.OP_OUTPUT:
            put(OUTPUT, (register[where[0]],), start_out[target[0]] + target[1])
        else:
            args = tuple(register[w] for w in where)
            if op == ca.OP_DIV:
                value = put(ca.OP_MUL, (args[0], once(INVERSE, args[1:])))
            elif op == ca.OP_INV:
                value = once(INVERSE, args)
            elif op in (ca.OP_SIN, ca.OP_COS):
                pair = once(SINCOS, args)
                sine, cosine = (once(PART, (pair,), half) for half in (0, 1))
                value = sine if op == ca.OP_SIN else cosine
            else:
                value = put(op, args)
            register[target[0]] = value
    return code


def _starts(sizes: list[int]) -> list[int]:
    return [sum(sizes[:i]) for i in range(len(sizes))]


def ir(code: list[Instruction], lanes: int) -> str:
    """LLVM IR of `void evaluate(ptr in, ptr out)`: in and out hold `lanes` doubles for each number of the program."""
    T = "double" if lanes == 1 else f"<{lanes} x double>"
    cuts = [0]
    for k, instruction in enumerate(code):
        if k - cuts[-1] >= PIECE and instruction.op != PART:  # the halves of a pair stay with it
            cuts.append(k)
    spans = [range(a, b) for a, b in pairwise([*cuts, len(code)])]
    slot: dict[int, int] = {}
    for span in spans:
        for k in span:
            for a in code[k].args:
                if isinstance(a, int) and a not in span and code[a].op != INPUT:
                    slot.setdefault(a, len(slot))
    pieces = [_piece(code, span, slot, lanes, T) for span in spans]
    calls = [f"  call void @piece{n}(ptr %in, ptr %out, ptr %work)" for n in range(len(pieces))]
    lines = ["define void @evaluate(ptr noalias %in, ptr noalias %out) {"]
    lines += [f"  %work = alloca [{max(1, len(slot))} x {T}]", *calls, "  ret void", "}"]
    head = "define internal void @piece{}(ptr noalias %in, ptr noalias %out, ptr noalias %work) noinline"
    defined = [f"{head.format(n)} {{\n{body}\n  ret void\n}}" for n, body in enumerate(pieces)]
    return "\n".join([*lines, *defined, _sincos(lanes, T)])


def _piece(code: list[Instruction], span: range, slot: dict[int, int], lanes: int, T: str) -> str:
    lines: list[str] = []
    loaded: dict[int, str] = {}
    size = 8 * lanes

    def name(a: int | float) -> str:
        if isinstance(a, float):
            return constant(a, lanes)
        if code[a].op == INPUT or a not in span:
            if a not in loaded:
                base, index = ("%in", code[a].index) if code[a].op == INPUT else ("%work", slot[a])
                lines.append(f"  %p{a} = getelementptr i8, ptr {base}, i64 {size * index}")
                lines.append(f"  %l{a} = load {T}, ptr %p{a}, align 8")
                loaded[a] = f"%l{a}"
            return loaded[a]
        return f"%v{a}"

    for k in span:
        op, index = code[k].op, code[k].index
        if op == INPUT:
            continue
        x = [name(a) for a in code[k].args]
        if op == OUTPUT:
            lines.append(f"  %o{k} = getelementptr i8, ptr %out, i64 {size * index}")
            lines.append(f"  store {T} {x[0]}, ptr %o{k}, align 8")
            continue
        lines.append(_operation(k, op, index, x, lanes, T))
        if k in slot:
            lines.append(f"  %s{k} = getelementptr i8, ptr %work, i64 {size * slot[k]}")
            lines.append(f"  store {T} %v{k}, ptr %s{k}, align 8")
    return "\n".join(lines)


def _operation(k: int, op: int | str, index: int, x: list[str], lanes: int, T: str) -> str:
    v = f"  %v{k}"
    if op in BINARY:
        return f"{v} = {BINARY[op]} {FAST} {T} {x[0]}, {x[1]}"
    if op == ca.OP_NEG:
        return f"{v} = fneg {FAST} {T} {x[0]}"
    if op == ca.OP_SQ:
        return f"{v} = fmul {FAST} {T} {x[0]}, {x[0]}"
    if op == ca.OP_TWICE:
        return f"{v} = fadd {FAST} {T} {x[0]}, {x[0]}"
    if op == INVERSE:
        return f"{v} = fdiv {FAST} {T} {constant(1.0, lanes)}, {x[0]}"
    if op == SINCOS:
        return f"{v} = call {{{T}, {T}}} @sincos({T} {x[0]})"
    if op == PART:
        return f"{v} = extractvalue {{{T}, {T}}} {x[0]}, {index}"
    zero = constant(0.0, lanes)
    if op in COMPARISONS:
        bits = "i1" if lanes == 1 else f"<{lanes} x i1>"
        return f"  %c{k} = fcmp {COMPARISONS[op]} {T} {x[0]}, {x[1]}\n{v} = uitofp {bits} %c{k} to {T}"
    if op == ca.OP_NOT:
        bits = "i1" if lanes == 1 else f"<{lanes} x i1>"
        return f"  %c{k} = fcmp oeq {T} {x[0]}, {zero}\n{v} = uitofp {bits} %c{k} to {T}"
    if op == ca.OP_AND:
        return f"{v} = fmul {T} {x[0]}, {x[1]}"  # truth is 1.0 or 0.0
    if op == ca.OP_IF_ELSE_ZERO:
        bits = "i1" if lanes == 1 else f"<{lanes} x i1>"
        return f"  %c{k} = fcmp une {T} {x[0]}, {zero}\n{v} = select {bits} %c{k}, {T} {x[1]}, {T} {zero}"
    if op in INTRINSICS:
        suffix = "f64" if lanes == 1 else f"v{lanes}f64"
        return f"{v} = call {T} @llvm.{INTRINSICS[op]}.{suffix}({', '.join(f'{T} {a}' for a in x)})"
    names = {getattr(ca, n): n for n in dir(ca) if n.startswith("OP_")}
    raise NotImplementedError(f"no native code for the CasADi operation {names.get(op, op)}")


def constant(value: float, lanes: int) -> str:
    """A number as LLVM writes it, in every lane."""
    bits = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    return bits if lanes == 1 else f"splat (double {bits})"


# sin and cos on (-pi/4, pi/4): the polynomials of fdlibm (k_sin.c, k_cos.c), error below 1e-17
# fmt: off
SIN = (1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
       -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01)
COS = (-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
       2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02)
# fmt: on
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)  # pi/2 to 106 bits
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it leaves the nearest integer in the low bits


def _sincos(lanes: int, T: str) -> str:
    """IR of `{sin, cos} sincos(x)`: x = n pi/2 + r by two fused steps, polynomials in r, and the quadrant's signs."""
    N = "i64" if lanes == 1 else f"<{lanes} x i64>"
    B = "i1" if lanes == 1 else f"<{lanes} x i1>"
    suffix = "f64" if lanes == 1 else f"v{lanes}f64"

    def c(value: float) -> str:
        return constant(value, lanes)

    def n(value: int) -> str:
        return str(value) if lanes == 1 else f"splat (i64 {value})"

    def polynomial(name: str, coefficients: tuple[float, ...]) -> list[str]:
        lines, last = [], c(coefficients[0])
        for i, a in enumerate(coefficients[1:]):
            lines.append(f"  %{name}m{i} = fmul contract {T} {last}, %z")
            lines.append(f"  %{name}a{i} = fadd contract {T} %{name}m{i}, {c(a)}")
            last = f"%{name}a{i}"
        return lines

    lines = [
        f"declare {T} @llvm.fma.{suffix}({T}, {T}, {T})",
        f"define internal {{{T}, {T}}} @sincos({T} %x) alwaysinline {{",
        f"  %turns = fmul {T} %x, {c(2 / 3.141592653589793)}",
        f"  %shifted = fadd {T} %turns, {c(ROUND)}",
        f"  %bits = bitcast {T} %shifted to {N}",
        f"  %n = fsub {T} %shifted, {c(ROUND)}",
        f"  %minus = fneg {T} %n",
        f"  %r0 = call {T} @llvm.fma.{suffix}({T} %minus, {T} {c(HALF_PI[0])}, {T} %x)",
        f"  %r = call {T} @llvm.fma.{suffix}({T} %minus, {T} {c(HALF_PI[1])}, {T} %r0)",
        f"  %z = fmul {T} %r, %r",
        *polynomial("s", SIN),
        *polynomial("c", COS),
        f"  %rz = fmul {T} %r, %z",
        f"  %s0 = fmul contract {T} %rz, %sa4",
        f"  %s = fadd contract {T} %r, %s0",
        f"  %zz = fmul {T} %z, %z",
        f"  %c0 = fmul contract {T} %zz, %ca4",
        f"  %h = fmul {T} %z, {c(0.5)}",
        f"  %c1 = fsub {T} %c0, %h",
        f"  %c = fadd {T} {c(1.0)}, %c1",
        f"  %odd = and {N} %bits, {n(1)}",
        f"  %swap = icmp ne {N} %odd, {n(0)}",
        f"  %first = select {B} %swap, {T} %c, {T} %s",
        f"  %second = select {B} %swap, {T} %s, {T} %c",
        f"  %next = add {N} %bits, {n(1)}",
    ]
    for half, source, quadrant in (("first", "%first", "%bits"), ("second", "%second", "%next")):
        lines += [
            f"  %{half}two = and {N} {quadrant}, {n(2)}",
            f"  %{half}sign = shl {N} %{half}two, {n(62)}",
            f"  %{half}raw = bitcast {T} {source} to {N}",
            f"  %{half}xor = xor {N} %{half}raw, %{half}sign",
            f"  %{half}signed = bitcast {N} %{half}xor to {T}",
        ]
    lines += [
        f"  %pair0 = insertvalue {{{T}, {T}}} poison, {T} %firstsigned, 0",
        f"  %pair = insertvalue {{{T}, {T}}} %pair0, {T} %secondsigned, 1",
        f"  ret {{{T}, {T}}} %pair",
        "}",
    ]
    return "\n".join(lines)


def batch(n_in: int, n_out: int, lanes: int) -> str:
    """IR of `void batch(ptr in, ptr out, i64 rows)`: `evaluate` for each row of row-major arrays, `lanes` at a time.

    The last block repeats the last row where rows run out; the same numbers are then stored twice.
    """
    T = "double" if lanes == 1 else f"<{lanes} x double>"

    def copy(label: str, after: str, count: int, load: bool) -> list[str]:
        array, width = ("%in", n_in) if load else ("%out", n_out)
        lines = [f"{label}:", f"  %{label}i = phi i64 [0, %{after}], [%{label}next, %{label}]"]
        for lane in range(lanes):
            lines += [
                f"  %{label}o{lane} = mul i64 %row{lane}, {width}",
                f"  %{label}q{lane} = add i64 %{label}o{lane}, %{label}i",
                f"  %{label}p{lane} = getelementptr double, ptr {array}, i64 %{label}q{lane}",
                f"  %{label}m{lane} = mul i64 %{label}i, {lanes}",
                f"  %{label}n{lane} = add i64 %{label}m{lane}, {lane}",
                f"  %{label}b{lane} = getelementptr double, ptr {'%x' if load else '%y'}, i64 %{label}n{lane}",
            ]
            outside, inside = f"%{label}p{lane}", f"%{label}b{lane}"
            source, target = (outside, inside) if load else (inside, outside)
            lines += [f"  %{label}v{lane} = load double, ptr {source}", f"  store double %{label}v{lane}, ptr {target}"]
        lines += [f"  %{label}next = add i64 %{label}i, 1", f"  %{label}more = icmp slt i64 %{label}next, {count}"]
        return lines

    lines = [
        "define void @batch(ptr noalias %in, ptr noalias %out, i64 %rows) {",
        "entry:",
        f"  %x = alloca [{n_in} x {T}], align 64",
        f"  %y = alloca [{n_out} x {T}], align 64",
        "  %last = sub i64 %rows, 1",
        "  br label %block",
        "block:",
        "  %first = phi i64 [0, %entry], [%following, %done]",
    ]
    for lane in range(lanes):
        lines += [
            f"  %want{lane} = add i64 %first, {lane}",
            f"  %over{lane} = icmp sgt i64 %want{lane}, %last",
            f"  %row{lane} = select i1 %over{lane}, i64 %last, i64 %want{lane}",
        ]
    lines += ["  br label %load", *copy("load", "block", n_in, True), "  br i1 %loadmore, label %load, label %run"]
    lines += ["run:", "  call void @evaluate(ptr %x, ptr %y)", "  br label %store"]
    lines += [*copy("store", "run", n_out, False), "  br i1 %storemore, label %store, label %done"]
    lines += ["done:", f"  %following = add i64 %first, {lanes}", "  %again = icmp slt i64 %following, %rows"]
    lines += ["  br i1 %again, label %block, label %end", "end:", "  ret void", "}"]
    return "\n".join(lines)


def operations(function: ca.Function) -> tuple[int, int]:
    """Multiplications (squares and divisions among them) and additions of the program; a change of sign is none."""
    ids = [function.instruction_id(k) for k in range(function.n_instructions())]
    multiplications = sum(op in (ca.OP_MUL, ca.OP_SQ, ca.OP_DIV, ca.OP_INV) for op in ids)
    return multiplications, sum(op in (ca.OP_ADD, ca.OP_SUB, ca.OP_TWICE) for op in ids)
