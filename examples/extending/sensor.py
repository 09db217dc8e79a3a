"""A new sensor: the inclination of the tip about z. Nothing in flexarm changes.

A sensor says the names of its signals, gives them as expressions of q, qd and qdd, and describes itself.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

import flexarm as fa
from flexarm.mechanics.dynamics import frames


@dataclass(frozen=True)
class Inclinometer:
    """Angle of the tip's x axis in the base's plane [rad]."""

    def names(self, arm):
        return ("tip_inclination",)

    def units(self, arm):
        return ("rad",)

    def expression(self, arm, chain, q, qd, qdd):
        R = frames(chain, q)[-1].R  # its rows are the base's axes in the tip frame
        return [ca.atan2(R[1][0], R[0][0])]

    def described(self):
        return "inclination of the tip"


model = fa.Model(fa.load("subudhi-morris"))
n = len(model.coordinates)
q = np.array([0.3, -0.5, *[0.01] * (n - 2)])
angle = float(np.arctan2(model.tip(q)[1, 0], model.tip(q)[0, 0]))
y = np.array(model.output_function([Inclinometer()])(q, np.zeros(n), np.zeros(n))).item()
assert abs(y - angle) < 1e-14
linear = model.linearize(q, np.zeros(n), np.zeros(2), outputs=[Inclinometer()])
h = 1e-6
step = np.eye(n)[2] * h
slope = (np.arctan2(*model.tip(q + step)[[1, 0], 0]) - np.arctan2(*model.tip(q - step)[[1, 0], 0])) / (2 * h)
assert abs(linear.C[0, 2] - slope) < 1e-7
print(f"the tip points along {np.degrees(angle):.3f} deg; {linear.output_labels}")
