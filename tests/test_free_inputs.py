"""Torques ahead of time on a free base: exact where nothing bends, whatever the base does."""

import numpy as np
import pytest

import flexarm as fa
from flexarm.trajectory import Quintic

MOTION = Quintic([0.0, 0.0, 0.0], [0.75, 0.5, 1.0], 10.0)
TORQUE = fa.Thruster(name="torque", kind="torque", direction=(0.0, 0.0, 1.0))


@pytest.mark.parametrize("thrusters", [(), (TORQUE,)])
def test_a_rigid_arm_on_a_free_base_follows_its_torques(thrusters):
    """The base turns by 48 degrees meanwhile, and gravity lets all of it fall."""
    arm = fa.load("canadarm-bus").rigid().replace(gravity=(0.1, -0.2, 0.0))
    arm = arm.replace(base=arm.base.replace(thrusters=thrusters))
    u = fa.inputs.RigidInverseDynamics(MOTION)
    run = fa.simulate(
        fa.Model(arm), 10.0, u, reference=MOTION, solver=fa.Solver(rtol=1e-10, atol=1e-12), progress=False
    )
    np.testing.assert_allclose(run.q.values[:, 7:], run.q_ref.values, atol=1e-9)
    assert 2.0 * np.arccos(run.q.values[-1, 3]) > np.radians(45.0)
    np.testing.assert_array_equal(run.u.values[:, 3:], 0.0)
