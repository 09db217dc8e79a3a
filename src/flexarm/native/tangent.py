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
    """Return the kernel (x, dx) -> (f, df/dx dx) of a kernel x -> f, or (x, w, dx) if it takes constants w.

    If it is `of_constants`, dw follows dx, and df/dw dw is added. The cost is about 2.5 times that of f.
    """
    key = f"tangent{' of constants' * of_constants}\n{kernel.key}"
    made = _RECENT(key, lambda: Kernel(key, lambda: _traced(kernel, of_constants)))
    if not kernel.takes_constants:
        return made
    count = kernel.code.facts["n_in"] - (not of_constants) * len(kernel.constants)
    return made.with_constants(lambda: kernel.constants, count)


def slopes(kernel: Kernel, x: Array) -> Array:
    """Return df/dx, (n_out, n_in), of a kernel at one point, with its own constants."""
    n = len(x)
    return tangent(kernel).many(np.hstack([np.tile(x, (n, 1)), np.eye(n)]))[:, kernel.code.facts["n_out"] :].T


def _traced(kernel: Kernel, of_constants: bool) -> "ca.Function":
    import casadi as ca

    function = kernel.trace()
    x = function.sx_in()
    f = ca.vertcat(*map(ca.vec, function.call(x)))
    chosen = x[:-1] if kernel.takes_constants and not of_constants else x
    moved = [ca.SX.sym("d", each.numel()) for each in chosen]
    product = ca.jtimes(f, ca.vertcat(*map(ca.vec, chosen)), ca.vertcat(*moved))
    return ca.Function("tangent", [*x, *moved], [ca.cse(ca.densify(ca.vertcat(f, product)))])
