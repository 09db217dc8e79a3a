"""Programs with their constants moved to an input, so that programs with different constants share machine code.

A controller's gains, the times of a reference and the inertias in a law are constants of a traced program. The
structure is the program without them, and it is the key of the compiled code.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm import progress
from flexarm.arrays import Array
from flexarm.native.cache import read, write
from flexarm.native.kernel import Kernel, file_name
from flexarm.native.once import Recent

if TYPE_CHECKING:
    import casadi as ca


@final
@dataclass(frozen=True)
class Lifted:
    """A program with its constants separated.

    Attributes
    ----------
    structure : str
        A digest, which is the same for two programs that differ only in `constants`.
    constants : (k,)
        All constants except zero (in comparisons; as a factor or a term it is simplified away), infinities, NaN, and
        exponents, for which powers are compiled. 1, 2 and 1/2 are included, because they may be a gain or a limit, and
        in the code they would also have to be loaded. A constant that is used several times appears as often. Equal
        gains therefore have the same structure as different ones, and equal links stay equal (`program.repeats`).
    function : () -> casadi.Function
        The program with the constants as its last argument.
    """

    structure: str
    constants: Array
    function: Callable[[], "ca.Function"]


def lifted(function: "ca.Function") -> Lifted:
    """Separate an SX function from its constants. A divisor is inverted: the constant is its reciprocal."""
    import casadi as ca  # here, since it takes long to import

    from flexarm.native.program import is_structural, steps

    constants: list[float] = []
    form: list[float] = []
    rows: list[tuple] = []
    register: dict[int, int | float] = {}  # value of a place: the index of an operation, or a constant

    def number(value: float, lifts: bool) -> int:
        """Return -2, -4, ... for one of the constants; -1, -3, ... for a number that stays in the structure."""
        kept = constants if lifts else form
        kept.append(value)
        return 1 - 2 * len(kept) - lifts

    for op, where, target, value in steps(function):
        if op == ca.OP_CONST:
            register[target[0]] = value
            continue
        args: list[int | float] = [] if op == ca.OP_INPUT else [register[w] for w in where]
        if op == ca.OP_TWICE:  # the factor 2 may be a user's gain
            op, args = ca.OP_MUL, [*args, 2.0]
        if float in map(type, args):
            if op == ca.OP_DIV and isinstance(args[1], float):
                op, args[1] = ca.OP_MUL, 1.0 / args[1]
            if op == ca.OP_MUL:  # 2 x, x 2 and x / 0.5 are equal
                args.sort(key=lambda a: isinstance(a, float))
            args = [number(a, not is_structural(op, j, a)) if isinstance(a, float) else a for j, a in enumerate(args)]
        row = (op, *where) if op == ca.OP_INPUT else (op, *args, *target) if op == ca.OP_OUTPUT else (op, *args)
        if op != ca.OP_OUTPUT:
            register[target[0]] = len(rows)
        rows.append(row)

    shapes = [function.sparsity_in(i).serialize() for i in range(function.n_in())]
    shapes += [function.sparsity_out(i).serialize() for i in range(function.n_out())]
    structure = hashlib.sha256(repr((rows, shapes, list(map(repr, form)))).encode()).hexdigest()
    return Lifted(structure, np.array(constants), lambda: _written(function, rows, form, len(constants)))


def _written(function: "ca.Function", rows: list[tuple], form: list[float], count: int) -> "ca.Function":
    """Return the function of a list of operations."""
    import casadi as ca

    x, numbers = function.sx_in(), ca.SX.sym("constants", count)
    given, lifts = [each.nonzeros() for each in x], numbers.nonzeros()
    values: list[Any] = []
    found = [[ca.SX(0)] * function.nnz_out(i) for i in range(function.n_out())]

    def argument(a: int) -> Any:
        if a >= 0:
            return values[a]
        return ca.SX(form[(-1 - a) // 2]) if a % 2 else lifts[-1 - a // 2]

    for op, *args in rows:
        if op == ca.OP_OUTPUT:
            value = argument(args[0])
            found[args[1]][args[2]] = value
        elif op == ca.OP_INPUT:
            value = given[args[0]][args[1]]
        elif len(args) == 1:
            value = ca.SX.unary(op, argument(args[0]))
        else:
            value = ca.SX.binary(op, argument(args[0]), argument(args[1]))
        values.append(value)
    results = [ca.SX(function.sparsity_out(i), ca.vertcat(*each)) for i, each in enumerate(found)]
    return ca.Function(function.name(), [*x, numbers], results)


KEPT = 64
"""Number of kernels of each kind that stay loaded for the next run."""

_BY_STRUCTURE: Recent[Kernel] = Recent(KEPT)
_BY_KEY: Recent[Kernel] = Recent(KEPT)


def kernel(function: "ca.Function") -> Kernel:
    """Compile an SX function by its structure. Functions that differ only in constants share cached or loaded code."""
    return _compiled(lifted(function))


def kernel_of(key: str, trace: Callable[[], "ca.Function"]) -> Kernel:
    """Compile a function that its key defines. Its structure and constants are cached, so that it is traced once."""
    return _BY_KEY(key, lambda: _compiled(_known(key, trace)))


def _compiled(found: Lifted) -> Kernel:
    shared = _BY_STRUCTURE(found.structure, lambda: Kernel(f"structure {found.structure}", found.function))
    return shared.with_constants(lambda: found.constants)


DIGEST = hashlib.sha256().digest_size * 2
"""Number of characters of a structure."""


def _known(key: str, trace: Callable[[], "ca.Function"]) -> Lifted:
    name = file_name(f"numbers of {key}")
    if (kept := read(name)) is not None:
        structure, constants = kept[:DIGEST].decode(), np.frombuffer(kept[DIGEST:])
        return Lifted(structure, constants, lambda: lifted(trace()).function())
    with progress.said("tracing"):
        found = lifted(trace())
    write(name, found.structure.encode() + found.constants.tobytes())
    return found
