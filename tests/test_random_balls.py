"""Ball joints with a quaternion, beside the same arms with three Cardan angles, which Lagrange's equations judge.

`FLEXARM_RANDOM_ARMS=100` takes a hundred random arms in place of a few small ones.
"""

import os
from functools import cache

import numpy as np
import pytest
from ball_arms import BallArm

import flexarm as fa
from flexarm.attitude import displaced
from flexarm.model import closures

pytestmark = pytest.mark.usefixtures("interpreted")

COUNT = int(os.environ.get("FLEXARM_RANDOM_ARMS", "0"))
FEW = (0, 4, 6, 14, 20, 34, 92, 232, 266)
"""Small arms with each kind of base and part."""
SEEDS = range(COUNT) if COUNT else FEW
ROUNDING = 1e-9


def close(found, expected, size=None):
    size = max(np.abs(expected).max(initial=0.0), 1.0) if size is None else size
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING * size)


@cache
def case(seed):
    return BallArm(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_equations_of_motion(seed):
    """M, bias, forces, accelerations by both methods, inverse dynamics, and rates that a run integrates."""
    arm = case(seed)
    ball, T, n = arm.ball, arm.T, arm.ball.nv
    assert (ball.nq - n, ball.arm.poses - ball.arm.twists) == (len(ball.arm.quaternions),) * 2
    M, own = arm.values("mass_matrix")
    close(T.T @ own @ T, M)
    bias, mine = arm.values("bias")
    size = max(1.0, np.abs(bias).max())
    close(T.T @ (own @ arm.drift + mine), bias, size)
    for name in ("gravity_force", "stiffness_force", "damping_force"):
        force, mine = arm.values(name)
        close(T.T @ mine, force)
    B, mine = arm.values("input_matrix")
    close(T.T @ mine, B)
    qdd, mine = arm.values("forward_dynamics")
    qdd, size = T @ qdd + arm.drift, np.abs(T @ qdd + arm.drift).max()
    close(mine, qdd, size)
    close(arm.values("forward_dynamics_dense")[1], qdd, size)
    a = np.cos(np.arange(n))
    force, mine = arm.values("inverse_dynamics", {"qdd": a}, {"qdd": T @ a + arm.drift})
    close(T.T @ mine, force)
    other, rate = arm.values("state_rate")
    close(rate[ball.nq : ball.nq + n], qdd, size)
    close(rate[ball.nq + n :], other[ball.nq - len(arm.angles) + n :])  # of drives' states, and powers
    poses, k = slice(7 * ball.arm.free, ball.arm.poses), 1e-4
    some = [arm.of_q(arm.q + step * k * arm.moved)[poses] for step in (-2, -1, 1, 2)]
    np.testing.assert_allclose(rate[poses], np.dot([1, -8, 8, -1], some) / (12 * k), rtol=0, atol=1e-9 * 10)
    left, mine = arm.values("state_residual", {"qdd": a}, {"qdd": T @ a + arm.drift})
    close(T.T @ mine[:n], left[:n], max(np.abs(bias).max(), np.abs(M @ a).max(), 1.0))
    close(mine[n + len(arm.s) : -2], rate[: ball.arm.poses])
    if not ball.arm.couplings:
        prescribed, mine = arm.values("prescribed_rate")
        held = T @ prescribed[arm.angled.nq : arm.angled.nq + n] + arm.drift
        close(mine[ball.nq : ball.nq + n], held, max(size, np.abs(held).max()))
        if ball.inputs:
            close(*arm.values("prescribed_force")[::-1])


@pytest.mark.parametrize("seed", SEEDS)
def test_kinematics_and_energies(seed):
    """Places, momentum, energies, tensions, gaps and reactions, and everything that a result shows."""
    arm = case(seed)
    names = ["tip", "energy", "momentum", "power", "motors"]
    names += ["tension"] * bool(arm.ball.arm.cables)
    if arm.ball.arm.closures:
        J = closures.jacobian(arm.ball, arm.p)
        names += ["closure_gaps", *["closure_reactions"] * bool(np.linalg.matrix_rank(J, 1e-3) == len(J))]
    for name in names:
        close(*arm.values(name)[::-1])
    same = [i for i, x in enumerate(arm.angled.arm.links) if x.name[:-2] not in arm.names]
    frames, mine = arm.values("frames")
    close(mine, frames.reshape(4, -1, 4)[:, [*same, -1]].reshape(4, -1))
    seen, mine = arm.values("observed")
    links = len(arm.angled.arm.links)
    close(mine, np.concatenate([seen[:5], seen[5 : 5 + 6 * links].reshape(-1, 6)[same].ravel(), seen[5 + 6 * links :]]))


@pytest.mark.parametrize("seed", [6, 34])
def test_slopes_are_those_of_shifts_and_turns(seed):
    """d(acceleration)/dq in local coordinates: a shift and turns along the axes of base and links."""
    arm = case(seed)
    model, given = arm.ball, {"q": arm.p, "qd": arm.v, "u": arm.u, "s": arm.s, "w": arm.w}
    names = model.arguments("forward_dynamics")
    slope = np.array(model.slope("forward_dynamics", "q")(*(given[a] for a in names)))
    rate, h = model.function("forward_dynamics"), 2e-4

    def along(dx):
        return np.array(rate(*({**given, "q": displaced(model.arm, arm.p, dx)}[a] for a in names))).ravel()

    steps = h * np.eye(model.nv)
    expected = np.transpose([(along(-2 * e) - 8 * along(-e) + 8 * along(e) - along(2 * e)) / (12 * h) for e in steps])
    assert slope == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("seed", [4, 20])
def test_damping_is_a_moment_per_angular_velocity(seed):
    arm = case(seed)
    damped = fa.Model(arm.of(fa.Ball(damping=0.37)).replace(closures=arm.ball.arm.closures), vary=["*.damping"])
    given = {"q": arm.p, "qd": arm.v, "u": arm.u, "s": arm.s, "w": arm.w}
    first, end = arm.free, damped.arm.twists
    p = np.array([0.71 if x.name.split(".")[0] in arm.names else x.value for x in damped.varied])
    for k, model in ((0.37, damped), (0.71, damped.at(p))):
        moment = np.zeros(model.nv)
        moment[first:end] = k * arm.v[first:end]
        with_, without = (np.array(m.fixed("damping_force")(arm.p, arm.v)).ravel() for m in (model, arm.ball))
        close(with_ - without, moment)
        power = [
            np.array(m.fixed("state_rate")(*(given[a] for a in m.arguments("state_rate")))).ravel()[-1]
            for m in (model, arm.ball)
        ]
        close(power[0] - power[1], np.array(k * arm.v[first:end] @ arm.v[first:end]))
