"""Composition of poses, with rotations as matrices, and conversion to roll, pitch and yaw."""

from math import atan2, cos, hypot, sin
from typing import NamedTuple, Self

import numpy as np

from flexarm.description.arm import Pose
from flexarm.description.robots.robot import Place


class Posed(NamedTuple):
    """Pose of a frame B in a frame A: R_AB (3, 3), p_AB (3,), and the pose as written if nothing was composed."""

    R: np.ndarray
    p: np.ndarray
    written: Place | None = None

    @classmethod
    def of(cls, place: Place) -> Self:
        """Return the pose of a place in a file."""
        return cls(Pose(xyz=place.xyz, rpy=place.rpy).rotation, np.array(place.xyz), place)

    def then(self, other: "Posed") -> "Posed":
        """Return the pose of C in A, from this pose (B in A) and the pose of C in B."""
        if self is HERE:
            return other
        return self if other is HERE else Posed(self.R @ other.R, self.p + self.R @ other.p)

    def inverse(self) -> "Posed":
        """Return the pose of A in B."""
        return self if self is HERE else Posed(self.R.T, -self.R.T @ self.p)

    def pose(self) -> Pose:
        """Return the pose as a description."""
        if self.written is not None:
            return Pose(xyz=self.written.xyz, rpy=self.written.rpy)
        return Pose(xyz=tuple(self.p.tolist()), rpy=rpy(self.R))


HERE = Posed(np.eye(3), np.zeros(3), Place())


def rpy(R: np.ndarray) -> tuple[float, float, float]:
    """Return roll, pitch and yaw of a rotation, exact to rounding even at a pitch of a right angle.

    At a right angle yaw is arbitrary. Roll is the rotation that remains after yaw and pitch are undone.
    """
    yaw = atan2(R[1, 0], R[0, 0])
    c, s = cos(yaw), sin(yaw)
    pitch = atan2(-R[2, 0], hypot(R[0, 0], R[1, 0]))
    roll = atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def turned(axis: tuple[float, float, float], angle: float) -> np.ndarray:
    """Return the rotation by an angle about a unit vector (Rodrigues)."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + sin(angle) * K + (1.0 - cos(angle)) * K @ K
