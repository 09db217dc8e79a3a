"""A new family of mode shapes: powers of x that are clamped at the hub. Nothing in flexarm changes.

A family has a name and gives its first shapes as a `Basis`: values and derivatives at points of [0, 1].
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

import flexarm as fa
from flexarm.shapes import Basis


@dataclass(frozen=True)
class Powers:
    """x^2, x^3, ...: the shapes of a beam under loads that are powers of x."""

    name: str = "powers"

    def basis(self, count):
        return Basis(count, partial(_powers, count))


def _powers(count, x, derivative):
    n = np.arange(2, 2 + count)
    factor = np.prod([n - i for i in range(derivative)], axis=0)  # zero where the power is too low
    return factor * x[:, None] ** np.maximum(n - derivative, 0)


beam = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 4}, shapes=Powers())
model = fa.Model(fa.Arm(name="cantilever", links=[fa.Link(name="beam", body=beam, hub_inertia=1.0)]))
found = model.frequencies(np.zeros(5))[0]
assert abs(found / 1.875104068711961**2 - 1) < 5e-6  # the clamped-free beam's, from above
assert found > 1.875104068711961**2
print(f"first frequency of a cantilever {found:.6f} rad/s, exactly {1.875104068711961**2:.6f}")
