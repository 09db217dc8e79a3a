"""Inverse dynamics of a rigid arm on a free base, whose base reacts to the motion of the joints.

For an arm with a fixed base, these are the usual inverse dynamics.
"""

from collections.abc import Callable
from typing import Any

from flexarm.description.free import TWIST
from flexarm.model.core import Model

Column = Any
"""A column of CasADi expressions."""

BASE = len(TWIST)
"""Number of rates of a free base, and of its local coordinates. Both come first."""

TURN = slice(3, BASE)
"""Slice of the base's angular velocity among its rates, and of its rotation among its local coordinates."""


def solved(A: Column, b: Column) -> Column:
    """Return x of A x = b, A symmetric, by L D L' elimination."""
    import casadi as ca

    from flexarm.mechanics.dynamics import eliminate, substitute

    n = b.numel()
    _, _, pivots = eliminate([[A[i, j] for j in range(n)] for i in range(n)], ca.vertsplit(b), 0)
    return ca.vertcat(*substitute(pivots, []))


def joint_forces(model: Model) -> Callable[[Column, Column, Column], Column]:
    """Return a function for the forces of the joints (m,) of a rigid arm, of q, qd and the joints' accelerations v.

    The motion of a free base follows from the joints' motion:

        u = (M_qq - M_qb M_bb^-1 M_bq) v + h_q - M_qb M_bb^-1 h_b

    with b its six rates, and h all terms without accelerations. Uniform gravity cancels, because base and arm fall
    alike. The first matrix is the generalised inertia of Umetani and Yoshida.
    """
    import casadi as ca

    inverse, M = model.fixed("inverse_dynamics"), model.fixed("mass_matrix")
    if not model.arm.free:
        return inverse

    def forces(q: Column, qd: Column, v: Column) -> Column:
        held = inverse(q, qd, ca.vertcat(ca.SX.zeros(BASE), v))
        inertia = M(q)
        a = solved(inertia[:BASE, :BASE], -held[:BASE])
        return held[BASE:] + ca.mtimes(inertia[BASE:, :BASE], a)

    return forces


def without_momentum(model: Model) -> Callable[[Column, Column], Column]:
    """Return a function for qd (n,) of a rigid arm without momentum, of q and the joints' rates (m,).

    The rates of a free base are -M_bb^-1 M_bq times those of the joints.
    """
    import casadi as ca

    M = model.fixed("mass_matrix")
    if not model.arm.free:
        return lambda q, rates: rates

    def rates_of_all(q: Column, rates: Column) -> Column:
        inertia = M(q)
        return ca.vertcat(solved(inertia[:BASE, :BASE], -ca.mtimes(inertia[:BASE, BASE:], rates)), rates)

    return rates_of_all


def with_pose(model: Model, q: Column) -> Column:
    """Return coordinates with a free base's rest pose in front of the joints' coordinates."""
    import casadi as ca

    return ca.vertcat(ca.DM(model.arm.rest[: BASE + 1]), q) if model.arm.free else q
