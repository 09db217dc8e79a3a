"""Jacobian-vector products of kernels, by forward differentiation of the traced program."""

from typing import TYPE_CHECKING

import numpy as np

from flexarm.arrays import Array
from flexarm.native.kernel import Kernel
from flexarm.native.once import Recent

if TYPE_CHECKING:
    import casadi as ca

KEPT = 64
"""Number of products that stay loaded for the next call."""

_RECENT: Recent[Kernel] = Recent(KEPT)


def tangent(kernel: Kernel, of_constants: bool = False) -> Kernel:
    """Return the kernel (x, dx) -> (f, df/dx dx) of a kernel x -> f, or (x, dx, w) if it takes constants w.

    If it is `of_constants`, dw follows w, and df/dw dw is added. The cost is about 2.5 times that of f.
    """
    key = f"tangent{' of constants' * of_constants}\n{kernel.key}"
    made = _RECENT(key, lambda: Kernel(key, lambda: _traced(kernel, of_constants)))
    if not kernel.takes_constants:
        return made
    return made.with_constants(lambda: kernel.constants, of_constants * len(kernel.constants))


def slopes(kernel: Kernel, x: Array) -> Array:
    """Return df/dx, (n_out, n_in), of a kernel at one point, with its own constants."""
    n = len(x)
    return tangent(kernel).many(np.hstack([np.tile(x, (n, 1)), np.eye(n)]))[:, kernel.code.facts["n_out"] :].T


def differentiated(function: "ca.Function", constants: int = 0) -> "ca.Function":
    """Return (a, da, b, db, ...) -> (f, df) of f(a, b, ...). The last arguments, so many `constants`, do not change."""
    import casadi as ca

    x = function.sx_in()
    moved = x[: len(x) - constants]
    changes = [ca.SX.sym("d", each.numel()) for each in moved]
    f = function(*x)
    df = ca.jtimes(f, ca.vertcat(*moved), ca.vertcat(*changes))
    pairs = [each for pair in zip(moved, changes, strict=True) for each in pair]
    return ca.Function("tangent", [*pairs, *x[len(moved) :]], [ca.cse(ca.densify(ca.vertcat(f, df)))])


def _traced(kernel: Kernel, of_constants: bool) -> "ca.Function":
    import casadi as ca

    function = kernel.trace()
    x = function.sx_in()
    count = len(x) - kernel.takes_constants
    f = ca.vertcat(*map(ca.vec, function.call(x)))
    whole = ca.Function(function.name(), [ca.vertcat(*map(ca.vec, x[:count])), *x[count:]], [f])
    return differentiated(whole, int(kernel.takes_constants and not of_constants))
