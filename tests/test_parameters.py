"""Numbers of an arm as inputs of one compiled model: the same equations as those of the arm rebuilt with them."""

import numpy as np
import pytest
from random_arms import random_arm

import flexarm as fa
from flexarm.description.numbers import fixed_reason
from flexarm.mechanics.varied import listed
from flexarm.model import QUANTITIES

ROUNDING = 1e-12  # of the largest entry, or of 1 where all are smaller: the same sums in another order
STEP = 1e-5  # of a parameter: central differences of second order leave 1e-10, and rounding as much
DIFFERENCES = 1e-7


def close(found, expected, tolerance=ROUNDING):
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def state_of(model, seed=3):
    """A state in general position: q, qd, u, qdd by their names."""
    rng = np.random.default_rng(seed)
    n, m = len(model.coordinates), len(model.inputs)
    q = np.array(model.arm.rest) + rng.uniform(0.3, 0.9, n)
    q[list(model.arm.flexible)] *= 0.05
    for link, i in ((model.arm.links[model.arm.layout[j].link], j) for j in model.arm.joints):
        if link.joint.type == "telescope":
            q[i] = rng.uniform(0.4, 0.9) * link.body.length
    return {"q": q, "qd": rng.uniform(-1, 1, n), "u": rng.uniform(-2, 2, m), "qdd": rng.uniform(-2, 2, n)}


def quantity(model, name, state, *p):
    """Its value by CasADi's own interpreter: nothing is compiled."""
    return np.array(model.function(name)(*(state[a] for a in QUANTITIES[name][0]), *p))


# -- against the arm that is rebuilt -----------------------------------------------------------------------------------

INERT = ("inverse_dynamics", "mass_matrix", "damping_force", "input_matrix", "restoring_force", "energy")
ALL = tuple(name for name in QUANTITIES if name not in ("state_residual", "prescribed_rate", "prescribed_residual"))


def free_of(arm):
    """Names of all that may vary, those that are zero among them."""
    return [name for name in listed(arm).found if not fixed_reason(arm, name)]


def far(arm, parameters, seed):
    """Values from 0.3 to 3 times the nominal ones, and not zero where those are; tensors stay those of bodies."""
    rng = np.random.default_rng(seed)
    p = np.array([x.value * rng.uniform(0.3, 3.0) if x.value else rng.uniform(0.05, 0.4) for x in parameters])
    for i, x in enumerate(parameters):
        if x.unit == "rad":
            p[i] = x.value + rng.uniform(0.1, 0.6)
        axes = x.name.rpartition(".")[2]
        if x.unit == "kg m^2" and axes in ("xy", "xz", "yz"):
            p[i] = 0.2 * x.value if x.value else 1e-3
        elif x.unit == "kg m^2" and "inertia" in x.name and not x.value:
            p[i] = rng.uniform(0.02, 0.03)  # room for products of 1e-3
        elif x.unit == "kg m^2" and axes in ("xx", "yy", "zz", "inertia", "hub_inertia"):
            p[i] = x.value * rng.uniform(1.5, 2.0)
    return p


def assert_same_as_rebuilt(model, p, names, seed=3):
    rebuilt, state = fa.Model(model.arm_at(p)), state_of(model, seed)
    for name in names:
        close(quantity(model, name, state, p), quantity(rebuilt, name, state))


KINDS = {
    "general": (3, {"links": 3}),
    "elastic": (32, {"elastic": True, "links": 2}),
    "absolute": (20, {"rotor": "absolute", "links": 3}),
    "absolute, elastic": (23, {"rotor": "absolute", "elastic": True, "links": 2}),
    "telescope": (24, {"telescope": True, "links": 2}),
    "telescope by the paper": (27, {"telescope": True, "convection": "paper", "rotor": "absolute", "links": 2}),
    "stiff telescope": (30, {"telescope": True, "rigid": True, "links": 2}),
    "foreshortening": (36, {"foreshortening": True, "links": 2}),
    "chord": (34, {"chord": True, "links": 2}),
    "slopes at the hub": (33, {"families": ["pinned-free"], "elastic": False, "links": 2}),
    "without gravity and payload": (5, {"gravity": False, "payload": False, "links": 2}),
    "rigid": (42, {"rigid": True, "links": 3}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_varied_arm_is_the_rebuilt_one(kind):
    """All numbers at once, far from nominal, those that are zero among them; every quantity."""
    seed, options = KINDS[kind]
    arm = random_arm(seed, **options)
    model = fa.Model(arm, vary=free_of(arm))
    assert not any(x.shapes for x in model.parameters) and len(model.p) > 30
    assert_same_as_rebuilt(model, far(arm, model.parameters, seed), ALL)


@pytest.mark.parametrize("name", fa.bundled())
def test_a_varied_bundled_arm_is_the_rebuilt_one(name):
    """All numbers that are not zero and that no mode shapes follow."""
    arm = fa.load(name)
    model = fa.Model(arm, vary=["*"])
    model = fa.Model(arm, vary=[x.name for x in model.parameters if not x.shapes])
    assert_same_as_rebuilt(model, far(arm, model.parameters, 1), INERT)
