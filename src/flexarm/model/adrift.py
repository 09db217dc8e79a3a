"""An arm that does not bend on a free base: what its joints ask for where the base moves as they make it move.

Of an arm whose base is not free it is the usual inverse dynamics.
"""

from collections.abc import Callable
from typing import Any

from flexarm.description.free import TWIST
from flexarm.model.core import Model

Column = Any
"""Of CasADi's expressions."""

BASE = len(TWIST)
"""Rates of a free base, and as many local coordinates: they stand first."""

TURN = slice(3, BASE)
"""Its angular velocity among them, and its turn."""


def solved(A: Column, b: Column) -> Column:
    """x of A x = b, A symmetric, by L D L'."""
    import casadi as ca

    from flexarm.mechanics.dynamics import eliminate, substitute

    n = b.numel()
    _, _, pivots = eliminate([[A[i, j] for j in range(n)] for i in range(n)], ca.vertsplit(b), 0)
    return ca.vertcat(*substitute(pivots, []))


def joint_forces(model: Model) -> Callable[[Column, Column, Column], Column]:
    """Forces of the joints (m,), of q, qd and the joints' accelerations v, of an arm that does not bend.

    A free base moves as it must:

        u = (M_qq - M_qb M_bb^-1 M_bq) v + h_q - M_qb M_bb^-1 h_b

    with b its six rates, and h all that is not inertia. Uniform gravity falls out: base and arm fall alike. The first
    matrix is the generalised inertia of Umetani and Yoshida.
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
    """qd (n,) of q and the joints' rates (m,), of an arm that does not bend: a free base's such that no momentum is
    left, -M_bb^-1 M_bq times those."""
    import casadi as ca

    M = model.fixed("mass_matrix")
    if not model.arm.free:
        return lambda q, rates: rates

    def rates_of_all(q: Column, rates: Column) -> Column:
        inertia = M(q)
        return ca.vertcat(solved(inertia[:BASE, :BASE], -ca.mtimes(inertia[:BASE, BASE:], rates)), rates)

    return rates_of_all


def with_pose(model: Model, q: Column) -> Column:
    """Coordinates of those without a free base's, which stands at rest."""
    import casadi as ca

    return ca.vertcat(ca.DM(model.arm.rest[: BASE + 1]), q) if model.arm.free else q
