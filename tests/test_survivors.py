"""Cases that random faults showed to be missing: each is caught here and nowhere else (`make mutants`)."""

import casadi as ca
import numpy as np

from flexarm.native.verification import STATES, samples

x, y = ca.SX.sym("x"), ca.SX.sym("y")


def test_inputs_are_drawn_on_until_every_entry_has_a_value():
    """The root is real for none of the first inputs; the others are compared at these."""
    f = ca.Function("f", [ca.vertcat(x, y)], [ca.vertcat(ca.sqrt(x - 1.4), y)])
    inputs, expected = samples(f)
    assert not np.isfinite(expected[:STATES, 0]).any()
    assert len(inputs) == len(expected) == STATES + 1
    np.testing.assert_allclose(expected[-1], [np.sqrt(inputs[-1, 0] - 1.4), inputs[-1, 1]], rtol=1e-15)
