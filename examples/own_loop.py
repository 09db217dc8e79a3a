"""A loop of one's own around an arm: a controller in plain Python, and a hundred arms that try gains at once."""

import numpy as np

import flexarm as fa

model = fa.Model(fa.load("subudhi-morris"))
joints = list(model.arm.joints)
n, goal = len(model.coordinates), np.array([0.3, 0.2])


def torque(state, Kp, Kd):
    """PD on the joints, for one state or for many."""
    q, qd = state[..., :n][..., joints], state[..., n:][..., joints]
    return Kp * (goal - q) - Kd * qd


# One arm, a thousand times a second.
arm = fa.Stepper(model, period=1e-3)
state = arm.reset()
while arm.time < 2.0:
    state = arm.step(torque(state, 2.0, 0.8))
print(f"one arm, {arm.method}: off by {np.abs(state[joints] - goal).max():.4f} rad after {arm.time:.3f} s")

# A hundred arms, each with gains of its own: those that have come to rest first are the best.
rng = np.random.default_rng(1)
Kp, Kd = rng.uniform(0.5, 5.0, (100, 1)), rng.uniform(0.1, 2.0, (100, 1))
arms = fa.Stepper(model, period=1e-3, q0=np.zeros((100, n)))
states, cost = arms.reset(), np.zeros(100)
for _ in range(2000):
    states = arms.step(torque(states, Kp, Kd))
    cost += 1e-3 * np.abs(states[:, joints] - goal).sum(axis=1)
best = int(np.argmin(cost))
print(f"best of a hundred: Kp = {Kp[best, 0]:.2f}, Kd = {Kd[best, 0]:.2f}, cost {cost[best]:.3f}")

# Some begin anew elsewhere while the others go on.
far = np.abs(states[:, joints] - goal).max(axis=1) > 0.01
states = arms.reset(q=np.r_[goal, np.zeros(n - 2)], where=far)
print(f"{far.sum()} arms begin anew, at t = {arms.time[far].max(initial=0.0):g} s; the others at {arms.time.max():g} s")
