"""Equations as C99 that needs only its standard library, with a program that compares them with given numbers."""

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

CPP = """alignas alignof and and_eq asm bitand bitor bool catch char8_t char16_t char32_t class compl concept
consteval constexpr constinit const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export
false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
reinterpret_cast requires static_assert static_cast template this thread_local throw true try typeid typename using
virtual wchar_t xor xor_eq"""

MATHEMATICS = """acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb ldexp
log log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma tgamma ceil floor nearbyint
rint lrint llrint round lround llround trunc fmod remainder remquo copysign nan nextafter nexttoward fdim fmax fmin
fma cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog conj cpow cproj creal csin csinh csqrt
ctan ctanh j0 j1 jn y0 y1 yn gamma drem significand scalb finite isinf isnan"""
"""Each name is also reserved with the suffixes f and l."""

LIBRARY = """abort abs asctime atexit atof atoi atol atoll bsearch btowc calloc clearerr clock ctime difftime div exit
fclose feof feclearexcept fegetenv fegetexceptflag fegetround feholdexcept feraiseexcept fesetenv fesetexceptflag
fesetround fetestexcept feupdateenv ferror fflush fgetc fgetpos fgets fgetwc fgetws fopen fprintf fputc fputs fputwc
fputws fread free freopen fscanf fseek fsetpos ftell fwide fwprintf fwrite fwscanf getc getchar getenv gets getwc
getwchar gmtime imaxabs imaxdiv isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace
isupper iswalnum iswalpha iswblank iswcntrl iswctype iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper
iswxdigit isxdigit labs ldiv llabs lldiv localeconv localtime longjmp malloc mblen mbrlen mbrtowc mbsinit mbsrtowcs
mbstowcs mbtowc memchr memcmp memcpy memmove memset mktime perror printf putc putchar puts putwc putwchar qsort raise
rand realloc remove rename rewind scanf setbuf setjmp setlocale setvbuf signal snprintf sprintf srand sscanf strcat
strchr strcmp strcoll strcpy strcspn strerror strftime strlen strncat strncmp strncpy strpbrk strrchr strspn strstr
strtod strtof strtoimax strtok strtol strtold strtoll strtoul strtoull strtoumax strxfrm swprintf swscanf system time
tmpfile tmpnam tolower toupper towctrans towlower towupper ungetc ungetwc va_arg va_copy va_end va_start vfprintf
vfscanf vfwprintf vfwscanf vprintf vscanf vsnprintf vsprintf vsscanf vswprintf vswscanf vwprintf vwscanf wcrtomb
wcscat wcschr wcscmp wcscoll wcscpy wcscspn wcsftime wcslen wcsncat wcsncmp wcsncpy wcspbrk wcsrchr wcsrtombs wcsspn
wcsstr wcstod wcstof wcstoimax wcstok wcstol wcstold wcstoll wcstombs wcstoul wcstoull wcstoumax wcsxfrm wctob wctomb
wctrans wctype wmemchr wmemcmp wmemcpy wmemmove wmemset wprintf wscanf"""

MACROS = """BUFSIZ EOF FILE FILENAME_MAX FOPEN_MAX FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO HUGE_VAL
HUGE_VALF HUGE_VALL INFINITY L_tmpnam MATH_ERREXCEPT MATH_ERRNO M_1_PI M_2_PI M_2_SQRTPI M_E M_LN10 M_LN2 M_LOG10E
M_LOG2E M_PI M_PI_2 M_PI_4 M_SQRT1_2 M_SQRT2 NAN NULL SEEK_CUR SEEK_END SEEK_SET TMP_MAX double_t errno float_t
fpclassify fpos_t isfinite isgreater isgreaterequal isless islessequal islessgreater isnormal isunordered linux
math_errhandling offsetof signbit signgam size_t stderr stdin stdout unix va_list"""

POSIX = """FP_ILOGB0 FP_ILOGBNAN L_ctermid P_tmpdir bcmp bcopy bzero clearerr_unlocked ctermid dprintf explicit_bzero
fdopen feof_unlocked ferror_unlocked fflush_unlocked ffs ffsl ffsll fgetc_unlocked fileno fileno_unlocked flockfile
fmemopen fputc_unlocked fread_unlocked fseeko ftello ftrylockfile funlockfile fwrite_unlocked getc_unlocked
getchar_unlocked getdelim getline getw index lgamma_r lgammaf_r lgammal_r locale_t memccpy off_t open_memstream pclose
popen putc_unlocked putchar_unlocked putw renameat rindex setbuffer setlinebuf ssize_t stpcpy stpncpy strcasecmp
strcasecmp_l strcoll_l strdup strerror_l strerror_r strncasecmp strncasecmp_l strndup strnlen strsep strsignal
strtok_r strxfrm_l tempnam tmpnam_r vdprintf"""
"""Names that POSIX and glibc add to the included headers."""

HEADERS = """assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg stdbool
stddef stdint stdio stdlib string tgmath time wchar wctype"""

OWN = "differs expected failed main"

C = Language(
    name="C",
    reserved=frozenset(" ".join((KEYWORDS, CPP, LIBRARY, MACROS, POSIX, HEADERS, OWN)).split())
    | {name + end for name in MATHEMATICS.split() for end in ("", "f", "l")},
    templates=OPERATORS
    | FUNCTIONS
    | {
        ca.OP_NE: "{0} != {1}",
        ca.OP_POW: "pow({0}, {1})",
        ca.OP_CONSTPOW: "pow({0}, {1})",
        ca.OP_FABS: "fabs({0})",
        ca.OP_SIGN: "(({0} > 0.0) - ({0} < 0.0))",
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
    output=lambda array, index, shape: array + "".join(f"[{i}]" for i in index) if index else f"*{array}",
)


HEADER = Template("""// $title
// Written by flexarm, and runs without it.
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

DIFFERS = Template("""#include <math.h>
#include <stdio.h>

static int differs(const char *name, const $real *found, const double *expected, int size)
{
    double gap = 0.0, scale = 0.0;
    for (int i = 0; i < size; i++) {
        gap = isnan(found[i]) ? HUGE_VAL : fmax(gap, fabs((double)found[i] - expected[i]));
        scale = fmax(scale, fabs(expected[i]));
    }
    if (scale > 0.0) gap /= scale;
    printf("%s: largest relative error %.2g\\n", name, gap);
    return !(gap <= $tolerance);
}""")
"""Function that compares numbers with the expected ones, for test programs."""

TEST = Template("""// Compares $name with $reference.
#include "$name.h"

$differs

int main(void)
{
    int failed = 0;
$checks
    return failed;
}
""")


def comparison_program(name: str, reference: str, checks: Sequence[str], real: str, tolerance: float) -> str:
    """Return a program that counts as failed if one of its `checks`, C statements with `differs`, finds a gap."""
    differs = DIFFERS.substitute(real=real, tolerance=repr(tolerance))
    return TEST.substitute(name=name, reference=reference, differs=differs, checks=indent("\n".join(checks), "    "))


def c(
    program: Program,
    inputs: Mapping[str, Sequence[float]],
    expected: Mapping[str, Sequence],
    tolerance: float = 1e-12,
) -> dict[str, str]:
    """Return the texts of NAME.h, NAME.c and NAME_test.c by their names.

    The test evaluates the program at the state `inputs`, with the default parameters unless "p" is among them. It
    prints for each output the largest error, relative to the largest expected number. It fails if an error is above the
    tolerance.

    Raises
    ------
    FlexarmError
        If C has no form for an operation, if a constant is not finite, or if the numbers of the test do not fit.
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
    lines = [*state, "", f"{name}({', '.join(arguments)});", *checks]
    return comparison_program(name, "given numbers", lines, "double", tolerance)


def _list(program: Program, x: str, given: Mapping[str, Sequence], size: int) -> str:
    values = np.asarray(given.get(x, ()), dtype=float).ravel()
    if len(values) != size or not np.isfinite(values).all():
        raise FlexarmError(f"program {program.name!r}: the test in C needs {size} finite numbers for {x!r}")
    return listed(values)


def listed(values: np.ndarray) -> str:
    """Numbers in braces, as double."""
    lines = wrap(", ".join(f"{value:.17g}" for value in values.tolist()), 100)
    return f"{{{lines[0]}}}" if len(lines) == 1 else "{\n" + indent("\n".join(lines), "    ") + "\n}"
