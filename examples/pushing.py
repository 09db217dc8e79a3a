"""A flexible arm pushes on a wall under force control: the force is measured, its error integrated into the torques."""

import casadi as ca
import numpy as np

import flexarm as fa
from flexarm.simulation.law import Law

arm = fa.load("subudhi-morris")
wall = fa.Contact(name="wall", link="fore", point=(0.8, 0.0, 0.0), normal=(-1.0, 0.0, 0.0),
                  stiffness=2e4, damping=2.0, friction=0.2)  # fmt: skip
model = fa.Model(arm.replace(contacts=[wall]))
sensor = fa.ContactForce(contact="wall")


class ForceControl:
    """u = J' (f, 0) - D qd: a feedforward of the wanted force along x, and the integral of what is measured less it."""

    def __init__(self, wanted, gain, damping):
        self.wanted, self.gain, self.damping = wanted, gain, damping

    def law(self, model, period=None):
        measured, tip, m = model.output_function([sensor]), model.function("tip"), len(model.inputs)
        x = ca.SX.sym("q", len(model.coordinates))
        J = ca.Function("J", [x], [ca.jacobian(tip(x)[0, 3], x)[: len(model.arm.joints)]])

        def expression(t, q, qd, z):
            force = measured(q, qd, 0 * q)
            push = self.wanted + self.gain * z
            return J(q).T * push - self.damping * qd[:m], self.wanted - force

        return Law(expression, memory=(0.0,))


q0 = np.zeros(len(model.coordinates))
q0[:2] = 0.65, -1.3  # the tip a little before the wall
gap = 0.8 - model.tip(q0)[0, 3]
run = {"method": "dop853", "rtol": 1e-10, "progress": False}
result = fa.simulate(model, until=10.0, u=ForceControl(0.5, 1.0, 0.5), q0=q0, **run)
force = fa.outputs(model, [sensor]).values(result.q.values, result.qd.values)[:, 0]
print(f"the gap was {1e3 * gap:.1f} mm; the first touch has {force.max():.1f} N")
print(f"after {float(result.time[-1]):g} s it pushes with {force[-1]:.3f} N")
print(f"energy drift: {result.energy_drift:.1e}")
