"""A new kind of link: a point mass on a spring along the link, as a class of its own. Nothing in flexarm changes.

Checked against the equations of a mass that swings on a spring, written down by hand.
"""

from typing import Annotated, Literal

import numpy as np

import flexarm as fa
from flexarm.checks import POSITIVE, number
from flexarm.description.bodies import Body as Description
from flexarm.mechanics.body import Body, couple, frame_inertia, zeros
from flexarm.mechanics.drive import bare


class Pogo(Description):
    """What a user writes: its `type` names it in files."""

    type: Literal["pogo"] = "pogo"
    length: Annotated[float, number("m", POSITIVE)]
    mass: Annotated[float, number("kg", POSITIVE)]
    stiffness: Annotated[float, number("N/m", POSITIVE)]

    @property
    def total_mass(self):
        return self.mass

    @property
    def counts(self):
        return {"axial": 1}  # one flexible coordinate, called "NAME.axial1"

    def rigid(self):
        return fa.Rigid(length=self.length, mass=self.mass, com=(self.length, 0, 0), inertia=0.0)


@bare.register
def pogo(description: Pogo, joint, loads, name):
    """What the dynamics asks of it: inertia over (v, w, r, eta'), potential, damping, tip."""
    m = name("m", "mass", description.mass, "kg", "mass")
    length = name("L", "length", description.length, "m", "length")
    k = name("k", "stiffness", description.stiffness, "N/m", "stiffness")

    def inertia(eta):
        x = length + eta[0]
        M = frame_inertia(m, [m * x, 0.0, 0.0], [[0.0, 0.0, 0.0], [0.0, m * x**2, 0.0], [0.0, 0.0, m * x**2]], 1)
        couple(M, 7, [m, 0.0, 0.0, 0.0, 0.0, 0.0])
        M[7][7] = m
        return M

    return Body(
        size=1,
        inertia=inertia,
        potential=lambda q, eta: k * eta[0] ** 2 / 2,
        damping=zeros(2, 2),
        drive=[0.0, 0.0],
        tip=lambda eta: [length + eta[0], 0.0, 0.0, 0.0, 0.0, 0.0],
        rest=(0.0,),
        flexible=(0,),
    )


table = {
    "name": "swing",
    "joint": {"type": "revolute"},
    "body": {"type": "pogo", "length": 0.5, "mass": 2.0, "stiffness": 300.0},
}
model = fa.Model(fa.Arm(name="mass on a spring", links=[table], gravity=(0.0, -9.81, 0.0)))
q, qd, u = np.array([0.4, 0.03]), np.array([1.1, -0.2]), np.array([0.7])
x, m, k, g = 0.5 + q[1], 2.0, 300.0, 9.81
by_hand = [
    (u[0] - 2 * m * x * qd[0] * qd[1] - m * g * x * np.cos(q[0])) / (m * x**2),
    x * qd[0] ** 2 - k / m * q[1] - g * np.sin(q[0]),
]
assert np.allclose(model.forward_dynamics(q, qd, u), by_hand, rtol=1e-12)
result = fa.simulate(model, 2.0, u=[0.7], progress=False)
assert result.energy_drift < 1e-8
print(model.coordinates, "as by hand; energy drift", f"{result.energy_drift:.1e}")
