"""LLVM IR that is the same whatever the program: constants, sines and cosines, the loop over a batch, a border.

Everything is written for one state or for several lanes at once.
"""

import struct

BORDER = "\n; the next module\n"
"""What stands between two modules of one text."""


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


def sincos(lanes: int, T: str) -> str:
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
