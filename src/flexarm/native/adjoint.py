"""Vector-Jacobian products of kernels, by reverse differentiation of the traced program."""

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


def adjoint(kernel: Kernel, of_constants: bool = False) -> Kernel:
    """Return the kernel (x, v) -> v' df/dx of a kernel x -> f, or (x, w, v) if it takes constants w.

    Its value ends with v' df/dw if it is `of_constants`. The cost is about four times that of f, whatever the number of
    arguments is.
    """
    key = f"adjoint{' of constants' * of_constants}\n{kernel.key}"
    made = _RECENT(key, lambda: Kernel(key, lambda: _traced(kernel, of_constants)))
    if not kernel.takes_constants:
        return made
    return made.with_constants(lambda: kernel.constants, kernel.code.facts["n_out"])


def slopes(kernel: Kernel, x: Array) -> Array:
    """Return df/dx, (n_out, n_in), of a kernel at one point, with its own constants."""
    weights = np.eye(kernel.code.facts["n_out"])
    return adjoint(kernel).few(np.hstack([np.tile(x, (len(weights), 1)), weights]))


def _traced(kernel: Kernel, of_constants: bool) -> "ca.Function":
    import casadi as ca

    function = kernel.trace()
    x = function.sx_in()
    f = ca.vertcat(*map(ca.vec, function.call(x)))
    v = ca.SX.sym("v", f.numel())
    chosen = x[:-1] if kernel.takes_constants and not of_constants else x
    product = ca.jtimes(f, ca.vertcat(*map(ca.vec, chosen)), v, True)
    return ca.Function("adjoint", [*x, v], [ca.cse(ca.densify(product))])
