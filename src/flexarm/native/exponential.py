"""LLVM IR of exp, tanh and powers, for devices with neither an instruction nor a library.

Friction uses exp and tanh, and step sizes are powers of errors.
"""

from math import factorial

from flexarm.native.sincos import Numbers, Real

LN2 = (0.6931471805599453, 2.3190468138462996e-17)  # to 106 bits
SHORT_LN2 = (0.693147182464599609375, -1.904654323148236e-09)  # to 48 bits
ROUND, SHORT_ROUND = 6755399441055744.0, 12582912.0  # adding it leaves the nearest integer in the low bits


def exponential(numbers: Numbers) -> str:
    """Return the IR of `exp_(x)` and `tanh_(x)`.

    x = n ln 2 + r, with a series of exp(r) - 1: 13 terms with an error of 4e-18 for doubles, 7 terms with 5e-9 for
    floats. tanh is d/(d + 2), d = exp(2 x) - 1, which is accurate for small arguments. NaN stays NaN.
    """
    T, N, B, suffix, c = numbers.T, numbers.N, numbers.B, numbers.suffix, numbers.constant
    long = numbers.real == "double"
    terms, ln2, rounding = (13, LN2, ROUND) if long else (7, SHORT_LN2, SHORT_ROUND)
    least, most, bias, mantissa = (-745.2, 709.8, 1023, 52) if long else (-104.0, 88.8, 127, 23)
    far = 40.0 if long else 20.0  # tanh rounds to 1 above half of it
    series, last = [], c(1.0 / factorial(terms))
    for i in range(terms - 1, 0, -1):
        series += [
            f"  %m{i} = fmul contract {T} {last}, %r",
            f"  %a{i} = fadd contract {T} %m{i}, {c(1.0 / factorial(i))}",
        ]
        last = f"%a{i}"

    def clamped(low: float, high: float) -> list[str]:
        return [
            f"  %over = fcmp ogt {T} %x, {c(high)}",
            f"  %x1 = select {B} %over, {T} {c(high)}, {T} %x",
            f"  %under = fcmp olt {T} %x1, {c(low)}",
            f"  %y = select {B} %under, {T} {c(low)}, {T} %x1",
        ]

    def power(name: str, of: str) -> list[str]:
        """Return the IR of 2 to the power of an integer."""
        return [
            f"  %{name}b = add {N} {of}, {numbers.integer(bias)}",
            f"  %{name}s = shl {N} %{name}b, {numbers.integer(mantissa)}",
            f"  %{name} = bitcast {N} %{name}s to {T}",
        ]

    lines = [
        f"declare {T} @llvm.fma.{suffix}({T}, {T}, {T})",
        f"define internal {{{N}, {T}}} @parted_({T} %y) alwaysinline {{",  # returns n, exp(r) - 1
        f"  %turns = fmul {T} %y, {c(1.4426950408889634)}",
        f"  %shifted = fadd {T} %turns, {c(rounding)}",
        f"  %n = fsub {T} %shifted, {c(rounding)}",
        f"  %minus = fneg {T} %n",
        f"  %r0 = call {T} @llvm.fma.{suffix}({T} %minus, {T} {c(ln2[0])}, {T} %y)",
        f"  %r = call {T} @llvm.fma.{suffix}({T} %minus, {T} {c(ln2[1])}, {T} %r0)",
        *series,
        f"  %p = fmul {T} {last}, %r",
        f"  %bits = bitcast {T} %shifted to {N}",
        f"  %zero = bitcast {T} {c(rounding)} to {N}",
        f"  %whole = sub {N} %bits, %zero",
        f"  %pair0 = insertvalue {{{N}, {T}}} poison, {N} %whole, 0",
        f"  %pair = insertvalue {{{N}, {T}}} %pair0, {T} %p, 1",
        f"  ret {{{N}, {T}}} %pair",
        "}",
        f"define internal {T} @exp_({T} %x) alwaysinline {{",
        *clamped(least, most),
        f"  %pair = call {{{N}, {T}}} @parted_({T} %y)",
        f"  %n = extractvalue {{{N}, {T}}} %pair, 0",
        f"  %p = extractvalue {{{N}, {T}}} %pair, 1",
        f"  %n1 = ashr {N} %n, {numbers.integer(1)}",  # in two halves, since 2^n may overflow where exp(x) does not
        f"  %n2 = sub {N} %n, %n1",
        *power("s1", "%n1"),
        *power("s2", "%n2"),
        f"  %e = fadd {T} {c(1.0)}, %p",
        f"  %e1 = fmul {T} %e, %s1",
        f"  %e2 = fmul {T} %e1, %s2",
        f"  ret {T} %e2",
        "}",
        f"define internal {T} @tanh_({T} %half) alwaysinline {{",
        f"  %x = fadd {T} %half, %half",
        *clamped(-far, far),
        f"  %pair = call {{{N}, {T}}} @parted_({T} %y)",
        f"  %n = extractvalue {{{N}, {T}}} %pair, 0",
        f"  %p = extractvalue {{{N}, {T}}} %pair, 1",
        *power("s", "%n"),
        f"  %less = fsub {T} %s, {c(1.0)}",
        f"  %d = call {T} @llvm.fma.{suffix}({T} %s, {T} %p, {T} %less)",
        f"  %sum = fadd {T} %d, {c(2.0)}",
        f"  %t = fdiv {T} %d, %sum",
        f"  ret {T} %t",
        "}",
    ]
    return "\n".join(lines)


def powers(real: Real) -> str:
    """Return the IR of `power_(x, a)` for x > 0, with an error of some units in the last place if the result is near 1.

    x = 2^n m with m between sqrt(1/2) and sqrt(2), and log(m) = 2 (s + s^3/3 + s^5/5 + ...), s = (m - 1)/(m + 1), where
    s^2 is below 0.03: 11 terms with an error of 1e-18 for doubles, 5 terms with 1e-9 for floats. Then
    x^a = exp(a log(x)).
    """
    numbers = Numbers(1, real)
    T, N, c, integer = numbers.T, numbers.N, numbers.constant, numbers.integer
    terms, bias, mantissa = (11, 1023, 52) if real == "double" else (5, 127, 23)
    series, last = [], c(1.0 / (2 * terms + 1))
    for i in range(terms - 1, -1, -1):
        series += [
            f"  %m{i} = fmul contract {T} {last}, %z",
            f"  %a{i} = fadd contract {T} %m{i}, {c(1.0 / (2 * i + 1))}",
        ]
        last = f"%a{i}"
    lines = [
        exponential(numbers),
        f"define {T} @power_({T} %x, {T} %a) alwaysinline {{",
        f"  %bits = bitcast {T} %x to {N}",
        f"  %high = lshr {N} %bits, {integer(mantissa)}",
        f"  %n0 = sub {N} %high, {integer(bias)}",
        f"  %low = and {N} %bits, {integer(2**mantissa - 1)}",
        f"  %one = or {N} %low, {integer(bias << mantissa)}",
        f"  %m = bitcast {N} %one to {T}",
        f"  %large = fcmp ogt {T} %m, {c(2.0**0.5)}",
        f"  %half = fmul {T} %m, {c(0.5)}",
        f"  %f = select i1 %large, {T} %half, {T} %m",
        f"  %more = zext i1 %large to {N}",
        f"  %n1 = add {N} %n0, %more",
        f"  %n = sitofp {N} %n1 to {T}",
        f"  %less = fsub {T} %f, {c(1.0)}",
        f"  %sum = fadd {T} %f, {c(1.0)}",
        f"  %s = fdiv {T} %less, %sum",
        f"  %z = fmul {T} %s, %s",
        *series,
        f"  %s2 = fmul {T} %s, {c(2.0)}",
        f"  %p = fmul {T} {last}, %s2",
        f"  %whole = fmul {T} %n, {c(LN2[0])}",
        f"  %log = fadd {T} %whole, %p",
        f"  %y = fmul {T} %a, %log",
        f"  %e = call {T} @exp_({T} %y)",
        f"  ret {T} %e",
        "}",
    ]
    return "\n".join(lines)
