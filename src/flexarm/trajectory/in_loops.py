"""Motion of all joints of a rigid arm with closures, while its drives follow a reference."""

from collections.abc import Callable
from typing import Any

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import DescriptionError
from flexarm.model import closures
from flexarm.model.driven import Column, Driven
from flexarm.trajectory.lines import clenshaw
from flexarm.trajectory.reference import Reference, positions, reference_function, rest

DEGREE = 48
"""Degree of the polynomials in time.

They only begin Newton's steps: a motion of a few radians, with jumps of its acceleration, leaves an error of 1e-4 rad.
"""
NEAR = 0.02
"""Largest error of the polynomials, in radians or metres. Newton's steps then leave rounding."""


def in_loops(driven: Driven, reference: Reference, q0: Array) -> Callable[[Any], Column]:
    """Return coordinates close to those of all joints as a function of the symbol t, with the drives on the reference.

    The motion is found by steps in time from the position near q0. Raises `DescriptionError` if the reference does not
    come to rest, or does not fit the closures.
    """
    from numpy.polynomial import chebyshev

    end = rest(reference)
    if end is None:
        raise DescriptionError("RigidInverseDynamics: the reference never comes to rest, as closures need it")
    span, x = end[0] or 1.0, -np.cos(np.pi * np.arange(DEGREE + 1) / DEGREE)
    between = (x[1:] + x[:-1]) / 2
    q = _stepped(driven, reference, q0, (np.sort(np.append(x, between)) + 1) / 2 * span)
    coefficients = np.linalg.solve(chebyshev.chebvander(x, DEGREE), q[::2])
    if np.abs(chebyshev.chebval(between, coefficients).T - q[1::2]).max(initial=0.0) > NEAR:
        raise DescriptionError(
            "RigidInverseDynamics: the reference leads too close to a position where the drives do not move the arm"
        )

    def expression(t: Any) -> Column:
        import casadi as ca

        share = 2 * ca.fmin(ca.fmax(ca.SX(t) / span, 0), 1) - 1
        others = ca.vertcat(*(clenshaw(c.tolist(), share) for c in coefficients.T))
        return driven.placed(driven.model, others, positions(reference, t))

    return expression


def _stepped(driven: Driven, reference: Reference, q0: Array, times: Array) -> Array:
    """Return the coordinates at times (k,), each assembled from those before: (k, n)."""
    model, own, found, q = driven.model, list(driven.model.arm.driven), [], np.array(q0, dtype=float)
    for y in reference_function(reference)(times):
        q[own] = y
        q, why = closures.assembled(model, q, driven.free)
        if why or np.abs(q[own] - y).max() > closures.FITS:
            why = why or "the closures couple the drives, and their positions differ by more than 1e-6"
            raise DescriptionError(f"RigidInverseDynamics: the reference does not fit the closures: {why}")
        found.append(q.copy())
    return np.array(found)
