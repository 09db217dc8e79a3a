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
    """IR of `i64 batch(ptr job)`: `evaluate` for rows of numbers, `lanes` at a time; 1 if all numbers are finite.

    The job is words of 8 bytes: the first row, the row to stop before, where results go (rows of n_out numbers), and of
    how many parts a row consists; then of each part where it lies, how many numbers it has, and the bytes from row to
    row and from number to number. The last block repeats the last row where rows run out; the same numbers are then
    stored twice. A part that is the same in every row is read once. The sum of x - x is 0 unless some x is NaN or
    infinite.
    """
    T = f"<{lanes} x double>"

    def word(name: str, kind: str, base: str, place: int) -> str:
        return f"%{name}at = getelementptr i64, ptr %{base}, i64 {place}\n  %{name} = load {kind}, ptr %{name}at"

    def lanewise(*lines: str) -> str:
        """The lines for each lane, with its number in the place of #."""
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
