"""Six numbers of Subudhi & Morris's arm from noisy, rounded readings: are the errors what they say?"""

import numpy as np

from examples.identify_synthetic import SENSORS, START, damped, experiment, identified

SEEDS = 10


def test_estimates_lie_within_their_errors():
    """Ten experiments, each with torques and noise of its own; the example does a hundred."""
    model = damped()
    found = [identified(model, seed) for seed in range(SEEDS)]
    off = np.array(
        [[(each.values[n] - v) / each.errors[n] for n, v in zip(START, model.p, strict=True)] for each in found]
    )
    assert (np.abs(off) < 4).all()
    assert 0.7 < np.sqrt(np.mean(off**2)) < 1.3  # of 60 numbers that are about one, known to 9 percent
    assert all(each.indistinct == () for each in found)
    share = np.array([list(each.errors.values()) for each in found]) / model.p
    assert (share < 0.1).all()


def test_the_data_are_rounded_and_noisy():
    data = experiment(damped(), 0)
    lines = data.upper_drive.values / SENSORS[0].resolution
    np.testing.assert_allclose(lines, np.round(lines), atol=1e-6)
    assert data.sizes["time"] == 2001
