"""A new kind of joint: a hinge about the link's own y, as a class of its own. Nothing in flexarm changes.

A joint says what it moves: whether its coordinate turns, about or along which direction, and by what drive.
"""

from typing import ClassVar, Literal

import numpy as np

import flexarm as fa
from flexarm.description.joints import Driven


class Hinge(Driven):
    """What a user writes; rotor, gear, spring and damping are those of every driven joint."""

    turns: ClassVar[bool] = True
    type: Literal["hinge"] = "hinge"

    @property
    def direction(self):
        return (0.0, 1.0, 0.0)


beam = {"type": "beam", "length": 0.5, "mass": 0.1, "EI": 1.0, "modes": {"z": 2}, "shapes": "polynomial"}
drive = {"rotor_inertia": 0.02, "gear_ratio": 3.0, "stiffness": 100.0, "damping": 0.1}
joints = ({"type": "hinge", **drive}, {"type": "revolute", "axis": [0, 1, 0], **drive})
hinged, turned = (
    fa.Model(fa.Arm(name="one link", links=[{"name": "door", "joint": joint, "body": beam}])) for joint in joints
)
rng = np.random.default_rng(0)
q, qd, u = rng.normal(size=(10, 4)), rng.normal(size=(10, 4)), rng.normal(size=(10, 1))
assert np.allclose(hinged.forward_dynamics(q, qd, u), turned.forward_dynamics(q, qd, u), rtol=1e-12)
print(hinged.coordinates, hinged.arm.units, "as a revolute joint about y")
