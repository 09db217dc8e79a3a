"""Numbers of arms that vary, and models at other values beside the arms rebuilt."""

import numpy as np

from flexarm.description.numbers import fixed_reason
from flexarm.mechanics.varied import listed
from flexarm.model import QUANTITIES

ROUNDING = 1e-12  # of the largest entry, or of 1 where all are smaller: the same sums in another order
ALL = tuple(name for name in QUANTITIES if name not in ("state_residual", "prescribed_rate", "prescribed_residual"))


def close(found, expected, tolerance=ROUNDING):
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def quantity(model, name, state, *p):
    """Its value by CasADi's own interpreter: nothing is compiled."""
    return np.array(model.function(name)(*(state[a] for a in model.arguments(name)), *p))


def free_of(arm):
    """Names of all that may vary, those that are zero among them."""
    return [name for name in listed(arm).found if not fixed_reason(arm, name)]


def far(arm, parameters, seed):
    """Values from 0.3 to 3 times the nominal ones, and not zero where those are; tensors stay those of bodies."""
    rng = np.random.default_rng(seed)
    p = np.array([x.value * rng.uniform(0.3, 3.0) if x.value else rng.uniform(0.05, 0.4) for x in parameters])
    for i, x in enumerate(parameters):
        if "efficiency" in x.name and not x.unit:
            p[i] = x.value * rng.uniform(0.5, 0.99)
        if x.name.endswith("backlash.transition"):  # no wider than the play
            p[i] = x.value * rng.uniform(0.1, 0.3)
        elif x.unit == "rad":
            p[i] = x.value + rng.uniform(0.1, 0.6)
        axes = x.name.rpartition(".")[2]
        if x.unit == "kg m^2" and axes in ("xy", "xz", "yz"):
            p[i] = 0.2 * x.value if x.value else 1e-3
        elif x.unit == "kg m^2" and "inertia" in x.name and not x.value:
            p[i] = rng.uniform(0.02, 0.03)  # room for products of 1e-3
        elif x.unit == "kg m^2" and axes in ("xx", "yy", "zz", "inertia", "hub_inertia"):
            p[i] = x.value * rng.uniform(1.5, 2.0)
    return p
