"""What the tests of URDF and of MJCF files share: a state of an arm, the line with which a file is refused."""

import numpy as np
import pytest

import flexarm as fa


def state(arm, seed):
    """q, qd, u in general position."""
    rng = np.random.default_rng([seed, 1771])
    q = rng.uniform(0.3, 1.4, len(arm.coordinates)) * rng.choice([-1, 1], len(arm.coordinates))
    if arm.free:
        q[3:7] /= np.linalg.norm(q[3:7])
    qd = rng.uniform(0.3, 1.4, len(arm.velocities)) * rng.choice([-1, 1], len(arm.velocities))
    return q, qd, rng.uniform(-5, 5, len(arm.joints))


def refusal(read, path, text, **options):
    """The one line with which `read` refuses a file of this text, without its name."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(fa.DescriptionError) as caught:
        read(path, **options)
    line = str(caught.value)
    assert line.isprintable() and len(line) < 600, line
    return line.removeprefix(f"{path}: ")
