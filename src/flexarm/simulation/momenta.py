"""Momentum and angular momentum of an arm on a free base, and their drift in a run."""

import numpy as np

from flexarm import quaternions
from flexarm.arrays import Array
from flexarm.description.arm import Arm
from flexarm.model import Model
from flexarm.simulation.block import Block
from flexarm.simulation.exogenous import ExogenousInputs

LOOKS = 33
"""Number of times of a run at which the scale of exchanged momentum is evaluated."""


def acting(
    model: Model, drive: Block, exogenous: ExogenousInputs, until: float, u: Array, w: Array, changes: bool = False
) -> str:
    """Return the names of the external loads on an arm on a free base, or "" if there is none and momenta are constant.

    Bodies that arrive and leave, by `changes` of parameters, count as loads. u (times, m) and w (times, k) are those at
    the times of the result, up to `until`. Between two times, only loads that the drive and the exogenous inputs can
    report are detected.
    """
    arm = model.arm
    known = drive.known(until)
    u, w = np.vstack([u, known]) if len(known) else u, np.vstack([w, exogenous.known(until)])
    first = sum(len(link.joint.exogenous) for link in arm.links)  # exogenous inputs of drives are not external loads
    pushing = [force.kind != "drive" for force in arm.forces for _ in force.exogenous]
    found: dict[str, bool] = {
        "gravity": any(model.gravity),
        "gravity's gradient": arm.orbit is not None,
        "thrusters": bool(u[:, len(arm.driven) :].any()),
        "forces": bool(w[:, first : first + len(pushing)][:, pushing].any()),
        "contacts": bool(arm.contacts),
        "struts": any(not strut.to for strut in arm.struts),
        "drags": bool(arm.drags),
        "cables": any(cable.grounded for cable in arm.cables),
        "changes of parameters": changes,
    }
    return ", ".join(name for name, acts in found.items() if acts)


def kept(model: Model, q: Array, qd: Array, momenta: Array) -> dict[str, float]:
    """Return the drifts of momenta (times, 6), relative to the sum of the sizes of all rates' contributions.

    In the base's axes, about its origin, both momenta are the first six rows of M(q) qd. Each rate contributes to the
    sum, and without external loads the contributions only exchange momentum. The angular momentum about the world's
    origin also contains the base's position times the momentum.

    q, qd : (times, nq), (times, nv)
    """
    some = np.unique(np.linspace(0, len(q) - 1, LOOKS).astype(int))
    M = np.abs(model.mass_matrix(q[some])[:, :6])
    brought = np.einsum("tij,tj->ti", M, np.abs(qd[some]))
    linear, angular = brought[:, :3].max(axis=1), brought[:, 3:].max(axis=1)
    angular = angular + np.linalg.norm(q[some, :3], axis=1) * linear
    drifts = np.abs(momenta - momenta[0]).max(axis=0)
    found = {}
    for name, drift, scale in (("momentum", drifts[:3], linear.max()), ("angular_momentum", drifts[3:], angular.max())):
        found[f"{name}_drift"] = float(drift.max() / scale) if scale > 0 else 0.0
        found[f"{name}_scale"] = float(scale)
    return found


def base_turn(q: Array) -> Array:
    """Return the rotation vectors (times, 3) of a free base since the start, along the world's axes [rad].

    They are continuous beyond half a turn. q is (times, nq).
    """
    return quaternions.turns(quaternions.product(q[:, 3:7], quaternions.conjugate(q[0, 3:7])))


def quaternion_drift(arm: Arm, q: Array) -> float:
    """Return the largest deviation from 1 of the lengths of an arm's quaternions, from q (times, nq)."""
    return max(float(np.abs(np.linalg.norm(q[:, at], axis=1) - 1.0).max()) for at, _ in arm.quaternions)
