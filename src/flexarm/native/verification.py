"""Check of compiled code: its values are compared with CasADi's evaluation of the same function at random inputs.

Every kernel is checked once, after it is compiled and before it is stored, for one state and for several at once. So a
fault of a compiler becomes an error and never a wrong number. If the two differ by more than the usual rounding, both
are compared with an evaluation in many digits, which separates ill-conditioned functions from wrong code.
"""

from collections.abc import Callable, Iterator
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import NativeCodeError
from flexarm.native.sincos import Real

if TYPE_CHECKING:
    import casadi as ca

Call = Callable[[Array], Array]
"""Compiled code: (N, n_in) -> (N, n_out)."""

TOLERANCE = {"double": 1e-10, "float": 1e-3}
"""Largest difference between two evaluations of a well-conditioned function, as a part of the largest entry."""

ROUNDING = {"double": 2.0**-53, "float": 2.0**-24}
"""Relative rounding of one operation."""

WORSE = 1000.0
"""Largest ratio of the error of compiled code to that of CasADi's evaluation, where the function is ill-conditioned.
The two round differently. The fault of LLVM that this check was written for had a ratio of 1e7."""

BOUNDS = 4.0
"""Largest ratio of the error of compiled code to the bound by the rounding of its operations. Sines, and quotients that
are products with an inverse, are less exact than one rounding. Without this condition a sum that is zero but for
rounding would be wrong code wherever CasADi's evaluation is zero by chance."""

DIGITS = 40
"""Decimal digits of the reference where the function is ill-conditioned."""

LARGEST = 1e100
"""Larger values are left out: one of their intermediate results may overflow in one order of operations and not in
another."""

STATES = 8
"""Inputs at which values are compared: as many as one vector instruction handles at a time."""

DRAWS = 64
"""Inputs that are drawn at most to find `STATES` at which every entry is finite. Roots and logarithms of numbers that
a caller would never give (a negative mass) have no value."""


def verify(function: "ca.Function", call: Call, width: str, real: Real = "double") -> None:
    """Compare compiled code with CasADi's evaluation of the same function.

    Parameters
    ----------
    function : casadi.Function
        An SX function.
    call : (N, n_in) -> (N, n_out)
        The compiled code. Its arguments and results are the concatenated nonzeros.
    width : str
        Kind of the compiled code, for the message: "one state", "8 states at once".
    real : "double" or "float"
        Precision of the compiled code.

    Raises
    ------
    NativeCodeError
        An entry differs by more than `TOLERANCE`, by more than `WORSE` times the error of CasADi's evaluation at these
        numbers, and by more than `BOUNDS` times what the rounding of all operations can amount to.
    """
    x, expected = samples(function)
    found, tolerance = call(x), TOLERANCE[real]
    # an evaluation checks for finite values and reports the reason
    expected[:, ~np.isfinite(found).any(axis=0)] = np.nan
    difference = mismatch(found, expected)
    for i in np.flatnonzero(difference > tolerance):
        there = np.isfinite(expected[i])
        exact, _ = _in_many_digits(function, x[i], 0.0)
        # at a singularity doubles contain only rounding errors
        if not np.isfinite(exact[there]).all():
            continue
        # infinite where CasADi's evaluation has no number and an exact one has: the row is beyond the range of doubles
        own = mismatch(expected[i : i + 1], exact[None])[0] * ROUNDING[real] / ROUNDING["double"]
        off = mismatch(found[i : i + 1], np.where(there, exact, np.nan)[None])[0]
        if off <= WORSE * own + tolerance:
            continue
        _, bounds = _in_many_digits(function, x[i], ROUNDING[real])  # takes several times as long as the exact values
        explained = np.abs(found[i] - exact)[there] <= BOUNDS * bounds[there] + tolerance * np.abs(exact[there]).max()
        if not explained.all():
            raise wrong_code(function.name(), width, float(off))


def samples(function: "ca.Function") -> tuple[Array, Array]:
    """Return random inputs (N, n_in) and CasADi's values (N, n_out), NaN where no finite value was found."""
    evaluate = evaluation(function)
    drawn = [(x, evaluate(x)) for x in _first(_inputs(sum(function.nnz_in(i) for i in range(function.n_in()))), STATES)]
    missing = ~np.isfinite([y for _, y in drawn]).any(axis=0)
    more = iter(_first(_inputs(len(drawn[0][0]), seed=1), DRAWS))
    while missing.any() and (x := next(more, None)) is not None:
        if (np.isfinite(y := evaluate(x)) & missing).any():
            drawn.append((x, y))
            missing &= ~np.isfinite(y)
    x, y = np.array([x for x, _ in drawn]), np.array([y for _, y in drawn])
    y[np.abs(y) > LARGEST] = np.nan
    return x, y


def mismatch(found: Array, expected: Array) -> Array:
    """Return the largest difference of each row, as a part of its largest entry.

    The difference is infinite if one value is not finite and the other is. Entries without a finite expected value are
    left out.
    """
    there = np.isfinite(expected)
    size = np.where(there, np.abs(expected), 0.0).max(axis=1, initial=0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.where(there, np.abs(found - expected), 0.0)
    difference[~np.isfinite(difference)] = np.inf
    return difference.max(axis=1, initial=0.0) / np.maximum(size, 1e-300)


def evaluation(function: "ca.Function") -> Callable[[Array], Array]:
    """Return CasADi's own evaluation of a function: (n_in,) -> (n_out,), by concatenated nonzeros."""
    buffer, run = function.buffer()
    sizes_in = [function.nnz_in(i) for i in range(function.n_in())]
    sizes_out = [function.nnz_out(i) for i in range(function.n_out())]
    x, y = np.zeros(sum(sizes_in)), np.zeros(sum(sizes_out))
    for values, sizes, put in ((x, sizes_in, buffer.set_arg), (y, sizes_out, buffer.set_res)):
        for i, part in enumerate(np.split(values, np.cumsum(sizes)[:-1])):
            if len(part):
                put(i, memoryview(part))  # type: ignore[arg-type,call-arg]

    def evaluate(values: Array, alive: Any = (function, buffer)) -> Array:  # `run` stores only their addresses
        x[:] = values
        run()
        return y.copy()

    return evaluate


def wrong_code(name: str, width: str, difference: float) -> NativeCodeError:
    """Return the error that names the wrong function and its compiler."""
    import llvmlite.binding as llvm

    versions = ", ".join(f"{package} {metadata.version(package)}" for package in ("casadi", "llvmlite"))
    llvm_version = ".".join(map(str, llvm.llvm_version_info))
    return NativeCodeError(
        f"the machine code of {name} for {width} is wrong: it differs from CasADi's evaluation by {difference:.1e} of "
        f"the largest entry ({versions}, LLVM {llvm_version}, {llvm.get_host_cpu_name()}); "
        "nothing was stored; please report it, and try another version of llvmlite"
    )


def _in_many_digits(function: "ca.Function", x: Array, rounding: float) -> tuple[Array, Array]:
    """Return the exact values of a function, and bounds of the errors of an evaluation with this relative rounding."""
    import mpmath  # type: ignore[import-untyped]  # here, since it is rarely needed

    from flexarm.native.precise import with_rounding
    from flexarm.native.program import instructions

    with mpmath.workdps(DIGITS):
        values, bounds = with_rounding(instructions(function), rounding, x)
        return values.astype(float), bounds.astype(float)


def _inputs(count: int, seed: int = 0) -> Iterator[Array]:
    """Yield random inputs, every second one positive, since many inputs are a mass, a length or a stiffness."""
    random = np.random.default_rng(seed)
    while True:
        yield random.normal(scale=0.5, size=count)
        yield random.uniform(0.5, 1.5, size=count)


def _first(inputs: Iterator[Array], count: int) -> list[Array]:
    return [next(inputs) for _ in range(count)]
