"""Many states at once, exact derivatives, and the equations inside an optimisation."""

import casadi as ca
import numpy as np

import flexarm as fa

model = fa.Model(fa.load("spatial-6r"))
n, m = len(model.coordinates), len(model.inputs)

# A batch: a leading axis means many states.
rng = np.random.default_rng(1)
q = 0.1 * rng.normal(size=(10_000, n))
qdd = model.forward_dynamics(q, np.zeros(n), np.zeros(m))
print("accelerations:", qdd.shape)

# The same equations as a CasADi function, differentiated exactly: how gravity's torque changes with the pose.
gravity = model.function("gravity_force")
x = ca.SX.sym("x", n)
slope = ca.Function("slope", [x], [ca.jacobian(gravity(x), x)])
K = np.array(slope(q[0]))
print("d(gravity)/dq is symmetric:", np.allclose(K, K.T, atol=1e-9))

# An optimisation: the pose in which the arm rests on its springs and gravity while its joints stay at zero.
joints = [i for i, name in enumerate(model.coordinates) if name.endswith(".joint")]
potential = model.function("energy")(x, np.zeros(n))[1]
held = x[joints]
solver = ca.nlpsol(
    "sag",
    "ipopt",
    {"x": x, "f": potential, "g": held},
    {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False},
)
rest = np.array(solver(x0=np.zeros(n), lbg=0, ubg=0)["x"]).ravel()

tip = model.tip(rest)[:3, 3] - model.tip(np.zeros(n))[:3, 3]
print(f"the tip sags by {-1e3 * tip[2]:.2f} mm")
balance = model.stiffness_force(rest) + model.gravity_force(rest)
print(f"out of balance by {np.abs(np.delete(balance, joints)).max():.1e}")
