"""Factors of the inertia matrix, M = U D U', and the natural orthogonal complement N = N_l N_d of an arm.

    U, D = udu(model, q)
    N_l, N_d = denoc(model, q)
    P = order(model)
    M = model.mass_matrix(q)[np.ix_(P, P)]     # U D U', and N' body_inertia(model, q) N with N = N_l N_d

Source: A. Mohan and S. K. Saha, A computationally efficient and numerically stable simulation algorithm for serial
robots with flexible links, sections 4.1 and 5. The functions share the code of the simulation. U and D are the factors
of the elimination in `Model.forward_dynamics`, and the blocks of N_l and N_d are those that propagate its
accelerations outward.

Rows and columns of U and D, and columns of N_d, are in the recursion's order, see `order`: a free base's six rates,
then link by link outward (`arm.outward`), a link's joint before its flexible coordinates and its motor. Twists are
ordered body by body, each in the axes of the body's base frame: velocity of its origin (3), angular velocity (3), rate
of its joint (1), rates of its other coordinates; see `rows`. The paper's twist lacks the joint's own rate, which rotors
need. Without rotors its row of `body_inertia` is empty.

Bodies are the free base, if there is one, then the links' in that order (one for each segment of a beam), then the
bodies at tips. The arm's payload is the last. On the paper's chain each body carries the next. Two branches do
not carry each other, so U and N_l are empty between them.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import checked_flag, checked_instance, refused
from flexarm.description.closures import refuse_closures
from flexarm.errors import DescriptionError
from flexarm.mechanics import factors
from flexarm.mechanics.chain import Chain, positions
from flexarm.model import Model


def order(model: Model) -> tuple[int, ...]:
    """Indices in `model.velocities` of the recursion's coordinates, from the base outward: (n,)."""
    return tuple(factors.order(_arm(model).chain))


def rows(model: Model) -> tuple[slice, ...]:
    """Rows of N_l and N_d of each body: (bodies,); on a chain (links + 1,)."""
    ends = np.cumsum([0, *(7 + body.size for body in _arm(model).chain.bodies)]).tolist()
    return tuple(slice(a, b) for a, b in pairwise(ends))


def columns(model: Model) -> tuple[slice, ...]:
    """Rows and columns of U and D of each body, empty for payloads: (bodies,)."""
    chain = _arm(model).chain
    counts = [len(positions(own)) for own in chain.own]
    counts[0] += len(chain.base)  # a free base is the first body
    ends = np.cumsum([0, *counts]).tolist()
    return tuple(slice(a, b) for a, b in pairwise(ends))


def udu(model: Model, q: Array, blocks: bool = False) -> tuple[Array, Array]:
    """U and D of M(q) = U D U' in the recursion's order: (n, n) each; Mohan & Saha, eq. 34.

    Parameters
    ----------
    q : (n,)
        A configuration, in the order of `model.coordinates`; (nq,) if the base is free.
    blocks : bool
        False: U is unit upper triangular and D diagonal, coordinate by coordinate, as in the recursion. True: link by
        link, eq. 35. U then has unit matrices on its diagonal and D the links' articulated inertia I^_i.

    Raises
    ------
    DescriptionError
        If q is not one configuration.
    """
    refuse_closures(model, "udu")
    with refused("factors"):
        checked_flag(blocks, "blocks")
    both = _evaluated(model, factors.udu, q)
    U, D = both[:, :-1], np.diag(both[:, -1])
    if blocks:
        inner = np.zeros_like(U)
        for own in columns(model):
            inner[own, own] = U[own, own]
        U, D = np.linalg.solve(inner.T, U.T).T, inner @ D @ inner.T
    return U, D


def denoc(model: Model, q: Array) -> tuple[Array, Array]:
    """N_l (N, N) and N_d (N, n) of the decoupled natural orthogonal complement; Mohan & Saha, eqs. 13 to 15.

    N_l N_d maps the rates of the coordinates, in the recursion's order, to the twists of all bodies. N_l has unit
    matrices on its diagonal. Below it are the A_ij that propagate a twist of body j to body i. N_d has the P_i of the
    bodies' own coordinates on its diagonal. Arguments and errors are those of `udu`.
    """
    A, N_d, _ = _propagation(model, q)
    N_l = np.eye(len(A))
    mine = rows(model)
    for own, parent in zip(mine, _arm(model).chain.parents, strict=True):
        if parent >= 0:
            N_l[own] += A[own, mine[parent]] @ N_l[mine[parent]]
    return N_l, N_d


def body_inertia(model: Model, q: Array) -> Array:
    """Inertia of each separate body over its twist, block by block: (N, N); Mohan & Saha, eqs. 24a and 26.

    N' times it times N, with N = N_l N_d, is the inertia matrix (eqs. 25 and 31). Arguments and errors are those of
    `udu`.
    """
    return _propagation(model, q)[2]


def _arm(model: Model) -> Model:
    with refused("factors"):
        checked_instance(model, Model, "model")
    if model.arm.followers:
        raise DescriptionError(f"factors: arm {model.arm.name!r} has joints that follow others, without factors here")
    return model


def _propagation(model: Model, q: Array) -> tuple[Array, Array, Array]:
    found = _evaluated(model, factors.propagation, q)
    size, n = len(found), model.nv
    return found[:, :size], found[:, size : size + n], found[:, size + n :]


def _evaluated(model: Model, table: Callable[[Chain, list], list[list]], q: Array) -> Array:
    """Evaluate a table of `factors` at a configuration."""
    q = _arm(model).argument("q", q)
    if q.ndim != 1:
        raise DescriptionError("factors: q has more than one axis; give one configuration")

    def trace() -> Any:
        import casadi as ca

        x = ca.SX.sym("q", len(q))
        rows = table(*model.posed([x[i] for i in range(len(q))]))
        value = ca.SX(ca.vertcat(*(ca.horzcat(*row) for row in rows)))
        return model.over_parameters(table.__name__, {"q": x}, {table.__name__: ca.cse(ca.densify(value))})

    return np.array(model.with_numbers(model.traced(f"factors, {table.__name__}", trace))(q))
