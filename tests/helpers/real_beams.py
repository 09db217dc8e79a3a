"""Arms of beams that are not the textbook's, and what they are compared with."""

import numpy as np
from oracle import Lagrangian
from random_arms import random_state
from scipy.linalg import eigh
from scipy.optimize import brentq

import flexarm as fa

ROUNDING = 1e-10

FULL = {"y": 2, "z": 2, "torsion": 2, "axial": 1}
FEW = {"y": 2, "z": 1, "torsion": 1, "axial": 1}
"""A pair of one direction and one of each other: every kind of product of two shapes, at a third of the work."""
SOFT = {"length": 0.7, "mass": 1.2, "EI": {"y": 30.0, "z": 40.0}, "GJ": 20.0, "EA": 5e3, "polar_inertia": 0.01}


def spatial(*bodies, payload=None):
    joints = [fa.Revolute(axis=(0.0, 0.6, 0.8)), fa.Revolute(axis=(0.0, 0.0, 1.0)), fa.Revolute(axis=(1.0, 0.0, 0.0))]
    links = [
        fa.Link(name=f"link{i}", joint=joint, body=body, placement=fa.Pose(rpy=(0.2, -0.3, 0.4)))
        for i, (joint, body) in enumerate(zip(joints, bodies, strict=False))
    ]
    return fa.Arm(name="spatial", links=links, payload=payload, gravity=(0.3, -9.81, 1.0))


def quantity(model, name, *arguments):
    """By CasADi's own interpreter: nothing is compiled."""
    return np.array(model.function(name)(*arguments)).squeeze()


def agrees(arm, seed=5):
    """The model with Lagrange's equations from the places of material points."""
    model, oracle = fa.Model(arm), Lagrangian(arm)
    q, qd, u = random_state(arm, seed)
    known = {
        "mass_matrix": (oracle.mass_matrix(q), q),
        "bias": (oracle.bias(q, qd), q, qd),
        "gravity_force": (oracle.gravity_force(q), q),
        "stiffness_force": (oracle.stiffness_force(q), q),
        "damping_force": (oracle.damping_force(q, qd), q, qd),
        "tip": (oracle.tip(q), q),
        "energy": (oracle.energy(q, qd), q, qd),
    }
    pairs = [(quantity(model, name, *arguments), expected) for name, (expected, *arguments) in known.items()]
    pairs.append((quantity(model, "forward_dynamics", q, qd, u), oracle.forward_dynamics(q, qd, u)))
    for found, expected in pairs:
        found, expected = np.array(found), np.array(expected).squeeze()
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING * scale)


def arm_of(body, payload=None, joint=None):
    link = fa.Link(name="link", joint=joint or fa.Fixed(), body=body)
    return fa.Arm(name="beam", links=[link], payload=payload)


def frequencies(arm):
    """[rad/s], lowest first, of an arm that does not move but in its modes."""
    model, n = fa.Model(arm), len(arm.coordinates)
    K = np.column_stack([model.stiffness_force(e) for e in np.eye(n)])
    return np.sqrt(eigh(K, model.mass_matrix(np.zeros(n)))[0])


def lowest_roots(function, count, step):
    """The first of a function's roots above 1e-3, no two of which are as close as `step`."""
    found, low = [], 1e-3
    while len(found) < count:
        high = low + step
        if function(low) * function(high) < 0:
            found.append(brentq(function, low, high, xtol=1e-12 * high, rtol=1e-13))
        low = high
    return np.array(found)


def hermite_beam(L, m, EI, elements):
    """Assembled M and K of a free beam: deflection and slope at every node."""
    h, n = L / elements, 2 * elements + 2
    k = np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]], float)
    mass = np.array([[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]], float) / 420
    scale = np.diag([1, h, 1, h])
    M, K = np.zeros((n, n)), np.zeros((n, n))
    for e in range(elements):
        here = slice(2 * e, 2 * e + 4)
        M[here, here] += m * h * scale @ mass @ scale
        K[here, here] += EI / h**3 * scale @ k @ scale
    return M, K
