"""Momentum and angular momentum of an arm on a free base, and how well a run has kept them."""

import numpy as np

from flexarm.model import Model
from flexarm.simulation.outside import Outside
from flexarm.simulation.protocol import Input

Array = np.ndarray

LOOKS = 33
"""Times of a run at which it is seen how much momentum there is to be exchanged."""


def acting(model: Model, drive: Input, outside: Outside, until: float, u: Array, w: Array) -> str:
    """What acts on an arm on a free base from outside, in words; "" where nothing does, and momenta stay.

    u (times, m) and w (times, k) are those at the times of the result, up to `until`; of what comes and goes between
    two of them no more is seen than drive and outside know.
    """
    arm = model.arm
    u, w = np.vstack([u, drive.known(model, until)]), np.vstack([w, outside.known(model, until)])
    first = sum(len(link.joint.exogenous) for link in arm.links)  # what drives take does not come from outside
    pushing = [force.kind != "drive" for force in arm.forces for _ in force.exogenous]
    found: dict[str, bool] = {
        "gravity": any(model.gravity),
        "gravity's gradient": arm.orbit is not None,
        "thrusters": bool(u[:, len(arm.joints) :].any()),
        "forces": bool(w[:, first : first + len(pushing)][:, pushing].any()),
        "contacts": bool(arm.contacts),
        "struts": any(not strut.to for strut in arm.struts),
    }
    return ", ".join(name for name, acts in found.items() if acts)


def kept(model: Model, q: Array, qd: Array, momenta: Array) -> dict[str, float]:
    """How far momenta (times, 6) have drifted, as a share of what all rates bring to them without regard to sign.

    Along the base's axes, about its origin, both are the first six rows of M(q) qd: each rate brings its own, and where
    nothing acts from outside what one brings another takes. About the world's origin the way there times the momentum
    comes to it.

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


def quaternion_drift(q: Array) -> float:
    """How far the length of a free base's quaternion has been from 1; q (times, nq)."""
    return float(np.abs(np.linalg.norm(q[:, 3:7], axis=1) - 1.0).max())
