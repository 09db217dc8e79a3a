"""Joints whose acceleration no inertia resists, found before anything is computed.

Pinocchio and simulators divide by zero at such joints. The check takes all bodies outboard of a joint as one body, with
their joints in general position, since an axis may meet a point mass only in one position.
"""

from collections.abc import Callable, Collection

import numpy as np

from flexarm.checks import Fault
from flexarm.description.robots.inertia import NEARLY_NOTHING, Lump, about, lump_of, seen, together
from flexarm.description.robots.place import Posed, turned
from flexarm.description.robots.robot import Joint, Robot
from flexarm.description.robots.settings import Settings

SAYS_MASS = ("mass", "mass_per_length", "material", "sections")
"""Keys of a beam that determine its mass."""
SKEW = (2 / 7, 3 / 7, 6 / 7)
"""Axis in general position, a unit vector."""
ANYWHERE = 0.7
"""An angle in general position [rad]: not a fraction of a turn at which axes of robots align."""
MOST_WEIGHED = 300
"""Largest number of joints for which the inertia matrix is computed. This takes 0.2 s for so many."""
SINGULAR = 1e-13
"""Ratio of the least to the largest eigenvalue of an inertia matrix, scaled to ones on its diagonal, that is rounding.

Real robots have 1e-7.
"""
SHARE = 0.1
"""Share of a joint in a motion without inertia above which the message names the joint."""


class Resistance:
    """Inertia that resists the joints of a robot.

    `outward` lists the links on the base, each after its parent. `stood` returns the pose of a joint's child on its
    parent.
    """

    def __init__(
        self,
        robot: Robot,
        settings: Settings,
        held: Collection[str],
        outward: list[str],
        stood: Callable[[Joint], Posed],
    ):
        self._settings, self._held, self._stood = settings, held, stood
        self._joints: list[Joint] = []
        above: dict[str, Joint] = {}
        for link in outward[1:]:
            joint = robot.above(link)
            assert joint is not None
            above[link] = joint
            if joint.name not in held:
                self._joints.append(joint)
        self._above = above
        self._composite = self._composites(robot, outward)

    def alone(self) -> list[Joint]:
        """Return the joints that move nothing with inertia about their axes, in any position of the others."""
        return [joint for joint in self._joints if not self._resisted(joint)]

    def about_all_axes(self, joint: Joint) -> bool:
        """Return True if inertia resists rotations of a joint about all axes."""
        m, c, I = self._composite[joint.child]
        values = np.linalg.eigvalsh(I + m * (c @ c * np.eye(3) - np.outer(c, c)))
        return bool(values[0] > NEARLY_NOTHING * values[-1])

    def together(self) -> list[str]:
        """Return the joints of a common motion that no inertia resists, or none if there is no such motion."""
        moving = [joint for joint in self._joints if self._resisted(joint)]
        if not 1 < sum(len(joint.axes) for joint in moving) <= MOST_WEIGHED:
            return []
        M = self._matrix(moving)
        if not (np.diag(M) > 0.0).all():
            return []  # the description rejects negative values
        scale = np.sqrt(np.diag(M))
        values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
        if values[0] > SINGULAR * values[-1]:
            return []
        named = [joint.name for joint in moving for _ in joint.axes]
        return list(dict.fromkeys(name for name, x in zip(named, vectors[:, 0], strict=True) if abs(x) > SHARE))

    def _composites(self, robot: Robot, outward: list[str]) -> dict[str, Lump]:
        """Return for each link the inertia of it and of all outboard links as one body, in its frame."""
        found: dict[str, Lump] = {}
        for link in reversed(outward):
            given, table = robot.links[link], self._settings.links.get(link, {})
            if isinstance(given, Fault) or table.keys() & {"polar_inertia", *SAYS_MASS}:
                parts = [Lump(1.0, np.ones(3), np.eye(3))]  # a body with inertia
            else:
                parts = [] if given is None else [seen(lump_of(given), *Posed.of(given.place)[:2])]
            for joint in robot.below(link):
                place = self._anywhere(joint)
                parts.append(seen(found[joint.child], place.R, place.p))
            found[link] = together(parts)
        return found

    def _anywhere(self, joint: Joint) -> Posed:
        """Return the frame of a joint's child in its parent's, in general position if the joint turns."""
        place = self._stood(joint)
        if joint.name in self._held or joint.kind == "prismatic":
            return place
        return place.then(Posed(turned(SKEW if joint.kind == "ball" else joint.axis, ANYWHERE), np.zeros(3)))

    def _resisted(self, joint: Joint) -> bool:
        """Return True if inertia resists all motions of a joint alone."""
        return self.about_all_axes(joint) if joint.spherical else self._own(joint) != 0.0

    def _own(self, joint: Joint) -> float:
        """Return the inertia that resists a joint with one coordinate alone."""
        composite = self._composite[joint.child]
        behind = composite.m if joint.kind == "prismatic" else about(composite, np.array(joint.axis))
        return behind + self._rotor(joint)

    def _rotor(self, joint: Joint) -> float:
        """Return the inertia of a rotor on the joint's side of the gear, or 0 if a spring is between them."""
        given = {**joint.drive, **self._settings.joints.get(joint.name, {})}
        inertia, ratio = (given.get(key, x) for key, x in (("rotor_inertia", 0.0), ("gear_ratio", 1.0)))
        numbers = isinstance(inertia, int | float) and isinstance(ratio, int | float)
        if not numbers or given.get("stiffness") is not None:
            return 0.0  # the description rejects a value that is not a number
        return float(inertia * ratio**2)

    def _matrix(self, moving: list[Joint]) -> np.ndarray:
        """Return the inertia matrix in general position: momenta of a unit rate of each joint, about it and inboard
        joints."""
        motions = [(joint, axis) for joint in moving for axis in joint.axes]
        at: dict[str, int] = {}
        for k, (joint, _) in enumerate(motions):
            at.setdefault(joint.name, k)
        M = np.zeros((len(motions), len(motions)))
        for j, (joint, axis) in enumerate(motions):
            m, c, I = self._composite[joint.child]
            slides = joint.kind == "prismatic"
            p = m * (axis if slides else np.cross(axis, c))  # momentum, and its moment about the joint
            L = np.cross(c, p) + (0.0 if slides else I @ axis)
            below: Joint | None = joint
            while below is not None:
                if (i := at.get(below.name)) is not None:
                    rows = slice(i, i + len(below.axes))
                    M[rows, j] = M[j, rows] = below.axes @ (p if below.kind == "prismatic" else L)
                R, r, _ = self._anywhere(below)
                p = R @ p
                L = R @ L + np.cross(r, p)
                below = self._above.get(below.parent)
            M[j, j] += self._rotor(joint)
        return M
