"""What the tests of URDF and of MJCF files share: a state of an arm, the line with which a file is refused."""

import pytest
from rigid_trees import general_state

import flexarm as fa


def state(arm, seed):
    """q, qd, u in general position."""
    return general_state(arm, [seed, 1771], (0.3, 1.4), 5.0)


def independent(arm):
    """The arm in which joints that follow others have a coordinate of their own."""
    return arm.replace(links=[link.replace(joint=link.joint.moving) for link in arm.links])


def refusal(read, path, text, **options):
    """The one line with which `read` refuses a file of this text, without its name."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(fa.DescriptionError) as caught:
        read(path, **options)
    line = str(caught.value)
    assert line.isprintable() and len(line) < 600, line
    return line.removeprefix(f"{path}: ")
