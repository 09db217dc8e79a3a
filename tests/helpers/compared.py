"""How equations of motion are compared, and what they are compared with."""

import numpy as np
from oracle import DIRECTIONS, load_of_shapes
from random_arms import random_state

import flexarm as fa
from flexarm.analysis.factorization import order
from flexarm.mechanics import chain as chain_module
from flexarm.mechanics.drive import bodies

FORCES = 5e-13  # relative: some thousand operations; entries of finite elements cancel by a digit
ACCELERATIONS = 1e-10  # relative: the same, times the condition of the inertia matrix, up to 1e6 where bodies are small
DIFFERENCES = 1e-8  # relative: sixth-order central differences with a step of 2e-3


def assert_close(actual, expected, tolerance=FORCES, scale=0.0):
    """Equal to `tolerance` of the largest entry: small entries of a large vector carry its rounding."""
    scale = max(scale, np.max(np.abs(expected), initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def values(model, name, *arguments):
    """A quantity without native code."""
    return np.array(model.function(name)(*arguments))


def vector(model, name, *arguments):
    return values(model, name, *arguments).ravel()


def slope(f, h=2e-3):
    """df/ds at s = 0 by sixth-order central differences."""
    return sum(c * (f(i * h) - f(-i * h)) for i, c in [(1, 3 / 4), (2, -3 / 20), (3, 1 / 60)]) / h


def kinds(arm):
    """Masks of the base's, the joints', the flexible and the motors' accelerations, which differ by orders."""
    last = [name.split(".")[1] for name in arm.velocities]
    flexible = np.array([name.startswith(DIRECTIONS) for name in last])
    motor = np.array([name == "motor" for name in last])
    base = np.array([name.startswith("base.") for name in arm.velocities])
    return [mask for mask in (base, ~flexible & ~motor & ~base, flexible, motor) if mask.any()]


def in_order(arm, seed):
    """A model, a configuration, and M there in the recursion's order, with what its entries are measured by."""
    model = fa.Model(arm)
    q = random_state(arm, seed)[0]
    P = list(order(model))
    M = np.array(model.function("mass_matrix")(q))[np.ix_(P, P)]
    d = np.sqrt(np.diag(M))
    return model, q, M, np.outer(d, d)


def check_loads(arm, monkeypatch):
    """What a link's shapes are told of what lies beyond is what the oracle makes of it, of point masses.

    Mass, inertia and first moment for both planes, the mass for stretch; for torsion the moment about the axis, or half
    the trace of the inertia.
    """
    found = {}
    monkeypatch.setattr(
        chain_module, "bodies", lambda link, loads: found.update({link.name: loads}) or bodies(link, loads)
    )
    chain_module.chain(arm)
    for i, link in enumerate(arm.links):
        mass, first, inertia = load_of_shapes(arm, i)
        loads = found[link.name]
        for direction, axis in (("y", 2), ("z", 1)):
            load = loads[direction]
            expected = [mass, inertia[axis, axis], first[0]]
            np.testing.assert_allclose([load.mass, load.inertia, load.first_moment], expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(loads["axial"].mass, mass, rtol=1e-9)
        np.testing.assert_allclose(loads["torsion"].inertia, inertia[0, 0], rtol=1e-9, atol=1e-12)
