"""A new drive: a joint with a counterbalance spring beside its motor. Nothing in flexarm changes.

A drive is a function from a body to a body: here the usual one, and a spring on the link's side added to its potential.
Every other side of the package follows: native code, energy balance, frequencies.
"""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np

import flexarm as fa
from flexarm.checks import POSITIVE, number
from flexarm.description.joints import Driven
from flexarm.mechanics.drive import driven, with_drive


class Counterbalanced(Driven):
    """What a user writes: a joint about z with a passive spring that is at rest at the angle 0."""

    turns: ClassVar[bool] = True
    type: Literal["counterbalanced"] = "counterbalanced"
    spring: Annotated[float, number("N m/rad", POSITIVE)]

    @property
    def direction(self):
        return (0.0, 0.0, 1.0)


@with_drive.register
def counterbalanced(joint: Counterbalanced, body, link, name):
    """The body with the usual drive, and the spring between the link and what carries it."""
    made = driven(joint, body, link, name)
    k = name("kc", "spring", joint.spring, "N m/rad", "stiffness of the counterbalance")
    return replace(made, potential=lambda q, eta: made.potential(q, eta) + k * q**2 / 2)


rod = fa.Rigid(length=0.8, mass=3.0)
link = fa.Link(name="arm", joint=Counterbalanced(spring=40.0, rotor_inertia=0.1), body=rod)
model = fa.Model(fa.Arm(name="counterbalanced", links=[link], gravity=(0.0, -9.81, 0.0)))
inertia = 3.0 * 0.8**2 / 3 + 0.1
by_hand = (0.5 - 40.0 * 0.3 - 3.0 * 9.81 * 0.4 * np.cos(0.3)) / inertia
assert np.allclose(model.forward_dynamics([0.3], [0.0], [0.5]), by_hand, rtol=1e-12)
assert np.allclose(model.frequencies([0.0], locked=False), np.sqrt(40.0 / inertia), rtol=1e-12)
result = fa.simulate(model, 3.0, u=[0.5], progress=False)
assert result.energy_drift < 1e-6, result.energy_drift
print(f"{model.frequencies([0.0], locked=False)[0]:.4f} rad/s; energy drift {result.energy_drift:.1e}")
