"""Effects of the joints of an arm on an otherwise unactuated free base: on the tip and on the base."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from flexarm.analysis.equilibrium import configuration
from flexarm.arrays import Array
from flexarm.checks import known_names, refused
from flexarm.description.closures import refuse_closures
from flexarm.description.joints import refuse_passive
from flexarm.errors import DescriptionError
from flexarm.model import ModelLike, as_model, linear
from flexarm.model.adrift import BASE
from flexarm.model.local import moved_by_joints

NONE = 1e-10
"""Relative size below which a rotation of the base counts as none."""


def tip_jacobian(model: ModelLike, q: ArrayLike) -> Array:
    """Velocity and angular velocity of the tip along the world's axes, for rates qd: (6, n) [m/s, rad/s].

    Raises `DescriptionError` if q does not fit the arm, see `configuration`.
    """
    with refused("tip_jacobian"):
        model = as_model(model)
    return linear.tip_jacobian(model, configuration(model, q))


def base_rates(model: ModelLike, q: ArrayLike) -> Array:
    """Rates of a free base for rates of the joints, without momentum: (6, m), along the base's axes.

    They are -M_bb^-1 M_bq. Deflections are constant, and motors turn with their joints. Raises `DescriptionError` for
    an arm whose base is not free.
    """
    with refused("base_rates"):
        model = as_model(model)
    x = configuration(model, q)
    if not model.arm.free:
        raise DescriptionError(f"base_rates: the base of arm {model.arm.name!r} is fixed; base_rates needs a free base")
    refuse_closures(model, "base_rates")
    refuse_passive(model.arm, "base_rates")
    M = model.mass_matrix(x)[:BASE]
    return -np.linalg.solve(M[:, :BASE], M @ moved_by_joints(model.arm))


def generalized_jacobian(model: ModelLike, q: ArrayLike) -> Array:
    """Generalised Jacobian of the tip: velocities along the world's axes for rates of the joints, (6, m) [m/s, rad/s].

    The base moves so that momentum and angular momentum stay zero (Umetani & Yoshida 1989). Deflections are constant,
    and motors turn with their joints. J_g = J_q - J_b M_bb^-1 M_bq. If the base is not free it is the usual Jacobian.

    Parameters
    ----------
    q : (nq,) or (m,)
        A configuration, or the joints alone, see `configuration`.
    """
    with refused("generalized_jacobian"):
        model = as_model(model)
    J = tip_jacobian(model, q)
    refuse_closures(model, "generalized_jacobian")
    refuse_passive(model.arm, "generalized_jacobian")
    J_q = J @ moved_by_joints(model.arm)
    return J_q + J[:, :BASE] @ base_rates(model, q) if model.arm.free else J_q


def reaction_null(model: ModelLike, q: ArrayLike, links: Sequence[str] | None = None) -> Array:
    """Rates of the joints that do not turn a free base without angular momentum: (m, k), orthonormal.

    This is the null space of the angular rows of -M_bb^-1 M_bq (Nenchev, Umetani & Yoshida 1992). Three joints or fewer
    usually have none, k = 0. In the plane the rotation is one condition only.

    Parameters
    ----------
    q : (nq,) or (m,)
        A configuration, or the joints alone, see `configuration`.
    links : list of str, optional
        Links whose joints may move; default all. Wheels among them absorb the angular momentum of the arm.
    """
    with refused("reaction_null"):
        model = as_model(model)
    turns = base_rates(model, q)[3:]
    arm = model.arm
    names = [arm.links[arm.layout[i].link].name for i in arm.driven]
    with refused("reaction_null"):
        given = names if links is None else links
        chosen = known_names(given, names, "names of links", "links", "links whose joints move are")
    own = [i for i, name in enumerate(names) if name in chosen]
    found = np.zeros((len(names), 0))
    if own:
        _, size, V = np.linalg.svd(turns[:, own])
        rank = int((size > NONE * size.max(initial=0.0)).sum())
        found = np.zeros((len(names), len(own) - rank))
        found[own] = V[rank:].T
    return found
