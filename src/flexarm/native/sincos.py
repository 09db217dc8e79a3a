"""LLVM IR that does not depend on the program: numbers, sines and cosines, the loop over a batch, a separator.

All IR is generated for one state or for a SIMD batch of several.
"""

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, final

import numpy as np

Real = Literal["double", "float"]
"""Precision: numbers of 64 bits, or of 32."""

BORDER = "\n; the next module\n"
"""Separator between two modules of one text."""


@final
@dataclass(frozen=True)
class Numbers:
    """Number type of a program: reals of one precision, for one state or for a SIMD batch of several."""

    lanes: int = 1
    real: Real = "double"

    @property
    def T(self) -> str:
        """LLVM type of the numbers."""
        return self._wide(self.real)

    @property
    def N(self) -> str:
        """LLVM type of integers with as many bits."""
        return self._wide(f"i{self.bits}")

    @property
    def B(self) -> str:
        """LLVM type of truth values, one per lane."""
        return self._wide("i1")

    @property
    def bits(self) -> int:
        """Number of bits of a number."""
        return 64 if self.real == "double" else 32

    @property
    def suffix(self) -> str:
        """Suffix of the names of intrinsic functions."""
        return f"f{self.bits}" if self.lanes == 1 else f"v{self.lanes}f{self.bits}"

    def constant(self, value: float) -> str:
        """Return the nearest number in LLVM's notation, in every lane.

        A float is written as the double that equals it.
        """
        if self.real == "float":
            with np.errstate(over="ignore"):
                value = float(np.float32(value))
        bits = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        return bits if self.lanes == 1 else f"splat ({self.real} {bits})"

    def integer(self, value: int) -> str:
        """Return an integer in LLVM's notation, in every lane."""
        return str(value) if self.lanes == 1 else f"splat (i{self.bits} {value})"

    def _wide(self, kind: str) -> str:
        return kind if self.lanes == 1 else f"<{self.lanes} x {kind}>"


# sin and cos on (-pi/4, pi/4): the polynomials of fdlibm (k_sin.c, k_cos.c), error below 1e-17
# fmt: off
SIN = (1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
       -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01)
COS = (-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
       2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02)
# fmt: on
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)  # pi/2 to 106 bits
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it leaves the nearest integer in the low bits

# the same for floats: the polynomials of Cephes (sinf.c, cosf.c), error below 6e-8
SHORT_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
SHORT_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
SHORT_HALF_PI = (1.5707963705062866, -4.371138828673793e-08)  # to 48 bits
SHORT_ROUND = 12582912.0  # 1.5 * 2^23


def sincos(numbers: Numbers) -> str:
    """Return the IR of `{sin, cos} sincos(x)`: x = n pi/2 + r by fused steps, polynomials in r, quadrant's signs."""
    T, N, B, suffix, c, n = numbers.T, numbers.N, numbers.B, numbers.suffix, numbers.constant, numbers.integer
    long = numbers.real == "double"
    sines, cosines = (SIN, COS) if long else (SHORT_SIN, SHORT_COS)
    rounding = ROUND if long else SHORT_ROUND

    def polynomial(name: str, coefficients: tuple[float, ...]) -> list[str]:
        lines, last = [], c(coefficients[0])
        for i, a in enumerate(coefficients[1:]):
            lines.append(f"  %{name}m{i} = fmul contract {T} {last}, %z")
            lines.append(f"  %{name}a{i} = fadd contract {T} %{name}m{i}, {c(a)}")
            last = f"%{name}a{i}"
        return lines

    parts = HALF_PI if long else SHORT_HALF_PI
    rests = ["%x", *(f"%r{i}" for i in range(len(parts) - 1)), "%r"]
    reduced = [
        f"  {after} = call {T} @llvm.fma.{suffix}({T} %minus, {T} {c(part)}, {T} {before})"
        for part, (before, after) in zip(parts, pairwise(rests), strict=True)
    ]
    lines = [
        f"declare {T} @llvm.fma.{suffix}({T}, {T}, {T})",
        f"define internal {{{T}, {T}}} @sincos({T} %x) alwaysinline {{",
        f"  %turns = fmul {T} %x, {c(2 / 3.141592653589793)}",
        f"  %shifted = fadd {T} %turns, {c(rounding)}",
        f"  %bits = bitcast {T} %shifted to {N}",
        f"  %n = fsub {T} %shifted, {c(rounding)}",
        f"  %minus = fneg {T} %n",
        *reduced,
        f"  %z = fmul {T} %r, %r",
        *polynomial("s", sines),
        *polynomial("c", cosines),
        f"  %rz = fmul {T} %r, %z",
        f"  %s0 = fmul contract {T} %rz, %sa{len(sines) - 2}",
        f"  %s = fadd contract {T} %r, %s0",
        f"  %zz = fmul {T} %z, %z",
        f"  %c0 = fmul contract {T} %zz, %ca{len(cosines) - 2}",
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
            f"  %{half}sign = shl {N} %{half}two, {n(numbers.bits - 2)}",
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
    """Return the IR of `i64 batch(ptr job)`: `evaluate` for rows of numbers, `lanes` at a time.

    It returns 1 if all are finite.

    The job consists of 8-byte words: the first row, the end row, the address of results (rows of n_out numbers), and
    the number of parts of a row. For each part follow its address, its length, and the distances in bytes between rows
    and between numbers. The last block repeats the last row if rows run out, and stores the same numbers twice. A part
    that is the same in every row is read once. The sum of x - x is 0 unless some x is NaN or infinite.
    """
    T = f"<{lanes} x double>"

    def word(name: str, kind: str, base: str, place: int) -> str:
        return f"%{name}at = getelementptr i64, ptr %{base}, i64 {place}\n  %{name} = load {kind}, ptr %{name}at"

    def lanewise(*lines: str) -> str:
        """Return the lines for each lane, with its index in place of #."""
        return "\n".join(f"  {line.replace('#', str(lane))}" for lane in range(lanes) for line in lines)

    gathered = "\n".join(
        f"  %w{lane} = insertelement {T} {f'%w{lane - 1}' if lane else 'poison'}, double %v{lane}, i64 {lane}"
        for lane in range(lanes)
    )
    return f"""
declare double @llvm.vector.reduce.fadd.v{lanes}f64(double, {T})
define i64 @batch(ptr noalias %job) {{
entry:
  %x = alloca [{n_in} x {T}], align 64
  %y = alloca [{n_out + 1} x {T}], align 64
  {word("start", "i64", "job", 0)}
  {word("stop", "i64", "job", 1)}
  {word("out", "ptr", "job", 2)}
  {word("parts", "i64", "job", 3)}
  %last = sub i64 %stop, 1
  br label %block
block:
  %first = phi i64 [%start, %entry], [%following, %done]
  %sum0 = phi {T} [zeroinitializer, %entry], [%found, %done]
{
        lanewise(
            "%want# = add i64 %first, #",
            "%over# = icmp sgt i64 %want#, %last",
            "%row# = select i1 %over#, i64 %last, i64 %want#",
        )
    }
  br label %part
part:
  %p = phi i64 [0, %block], [%pnext, %read]
  %k0 = phi i64 [0, %block], [%knext, %read]
  %sum1 = phi {T} [%sum0, %block], [%found, %read]
  %p4 = mul i64 %p, 4
  %about = getelementptr i64, ptr %job, i64 %p4
  {word("base", "ptr", "about", 4)}
  {word("width", "i64", "about", 5)}
  {word("down", "i64", "about", 6)}
  {word("along", "i64", "about", 7)}
{lanewise("%down# = mul i64 %row#, %down", "%from# = getelementptr i8, ptr %base, i64 %down#")}
  %kpast = add i64 %k0, %width
  %same = icmp eq i64 %down, 0
  %later = icmp ne i64 %first, %start
  %known = and i1 %same, %later
  br i1 %known, label %read, label %number
number:
  %i = phi i64 [0, %part], [%inext, %number]
  %offset = phi i64 [0, %part], [%onext, %number]
  %k1 = phi i64 [%k0, %part], [%k, %number]
  %sum2 = phi {T} [%sum1, %part], [%sum, %number]
{lanewise("%source# = getelementptr i8, ptr %from#, i64 %offset", "%v# = load double, ptr %source#, align 1")}
{gathered}
  %inside = getelementptr {T}, ptr %x, i64 %k1
  store {T} %w{lanes - 1}, ptr %inside
  %flaw = fsub {T} %w{lanes - 1}, %w{lanes - 1}
  %sum = fadd {T} %sum2, %flaw
  %inext = add i64 %i, 1
  %onext = add i64 %offset, %along
  %k = add i64 %k1, 1
  %imore = icmp slt i64 %inext, %width
  br i1 %imore, label %number, label %read
read:
  %knext = phi i64 [%k, %number], [%kpast, %part]
  %found = phi {T} [%sum, %number], [%sum1, %part]
  %pnext = add i64 %p, 1
  %pmore = icmp slt i64 %pnext, %parts
  br i1 %pmore, label %part, label %run
run:
  call void @evaluate(ptr %x, ptr %y)
{lanewise("%up# = mul i64 %row#, " + str(8 * n_out), "%to# = getelementptr i8, ptr %out, i64 %up#")}
  br label %store
store:
  %j = phi i64 [0, %run], [%jnext, %write]
  %jmore = icmp slt i64 %j, {n_out}
  br i1 %jmore, label %write, label %done
write:
  %result = getelementptr {T}, ptr %y, i64 %j
  %z = load {T}, ptr %result
{
        lanewise(
            f"%z# = extractelement {T} %z, i64 #",
            "%target# = getelementptr double, ptr %to#, i64 %j",
            "store double %z#, ptr %target#, align 8",
        )
    }
  %jnext = add i64 %j, 1
  br label %store
done:
  %following = add i64 %first, {lanes}
  %again = icmp slt i64 %following, %stop
  br i1 %again, label %block, label %end
end:
  %flaws = call double @llvm.vector.reduce.fadd.v{lanes}f64(double 0.0, {T} %found)
  %finite = fcmp oeq double %flaws, 0.0
  %told = zext i1 %finite to i64
  ret i64 %told
}}"""
