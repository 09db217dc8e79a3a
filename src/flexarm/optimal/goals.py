"""Joint coordinates that bring the tip to a given position, with the arm at rest and sagging under gravity.

The tip of the arm in equilibrium is a function of the joint coordinates, which are held. Its slope is that of the tip
times that of the equilibrium (implicit function theorem). A Gauss-Newton method in a trust region finds the joint
coordinates from several initial guesses: SciPy's `least_squares` (Branch, Coleman & Li, SIAM J. Sci. Comput. 21, 1999).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.analysis.equilibrium import configuration, equilibrium, equilibrium_slope
from flexarm.analysis.floating import tip_jacobian
from flexarm.arrays import Array
from flexarm.cached import cached_property
from flexarm.checks import Fault, checked_array, checked_keys, checked_vector, choices, shown, within
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.model import Model
from flexarm.model.adrift import BASE
from flexarm.quaternions import crossed, rotation

KEYS = ("tip", "direction", "rotation", "frame")

REACHED = 1e-6
"""Distance to a goal below which the goal is reached: relative to the arm's length, and in a rotation [rad]."""

BEGINNINGS, MOVED = 12, 3
"""Number of random initial guesses, and number of the solutions found that are then moved nearer."""

WANTED = 1e3
"""Weight of reaching the goal relative to staying near, where both are sought. The last solve has the goal alone."""


@final
@dataclass(frozen=True, eq=False)
class Goal:
    """Position of the tip (3,) [m], and the required axes of its frame: their indices and their directions (3, k)."""

    place: Array
    axes: list[int]
    wanted: Array
    in_base: bool

    @property
    def says(self) -> str:
        """The position as error messages print it."""
        return "[" + ", ".join(f"{x:.4g}" for x in self.place) + "]"


def goal(value: Mapping[str, Any], name: str) -> Goal:
    """Return the goal of a table {tip, direction or rotation, frame}.

    Raises `Fault`, whose part begins with `name`.
    """
    with within(name):
        checked_keys(value, KEYS)
        if "tip" not in value:
            raise Fault("tip", "is missing; it must be the position of the tip, [x, y, z]")
        with within("tip"):
            place = np.array(checked_vector(value["tip"], "m"))
        if value.get("direction") is not None and value.get("rotation") is not None:
            raise Fault("rotation", "and direction exclude each other; give one of them")
        axes, wanted = _axes(value)
        frame = value.get("frame", "world")
        if frame not in ("world", "base"):
            raise Fault("frame", f"is {shown(frame)}; it must be {choices('world', 'base')}")
    return Goal(place, axes, wanted, frame == "base")


def _axes(value: Mapping[str, Any]) -> tuple[list[int], Array]:
    if value.get("direction") is not None:
        with within("direction"):
            x = np.array(checked_vector(value["direction"], ""))
        if not np.linalg.norm(x) > 0:
            raise Fault("direction", "has length zero; it must be a direction")
        return [0], (x / np.linalg.norm(x))[:, None]
    if value.get("rotation") is None:
        return [], np.zeros((3, 0))
    R = checked_array(value["rotation"], "rotation")
    if R.shape == (4,) and abs(np.linalg.norm(R) - 1.0) < 1e-6:
        R = rotation(R)
    if R.shape != (3, 3) or not np.allclose(R.T @ R, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0:
        what = "the rows of a rotation matrix (3, 3), or a unit quaternion (w, x, y, z)"
        raise Fault("rotation", f"is {shown(value['rotation'])}; it must be {what}")
    return [0, 1, 2], R


def joints_at(model: Model, given: Goal, near: Array, ranges: Array, name: str) -> Array:
    """Joint coordinates (m,) within ranges (m, 2) at which the arm is in equilibrium with its tip at a goal.

    If there are many, the result is the one nearest to `near` (m,) by the sum of squares, [rad] and [m]. If there are
    separate solutions, such as elbow up and elbow down, the result is the nearest one that the search finds.

    Raises
    ------
    DescriptionError
        If the tip does not reach the goal. The message says how near it gets. Also if the arm has a free base and the
        goal has no meaning for it.
    """
    _check_base(model, given, name)
    asked = Sought(model, given, np.clip(near, *ranges.T), _within(model, ranges))
    tried = [asked.solved(begin) for begin in asked.beginnings()]
    reached = sorted((asked.unwound(x) for x in tried if asked.reached(x)), key=asked.away)
    if reached:
        return min((asked.nearest(x) for x in reached[:MOVED]), key=asked.away)
    best = min(tried, key=lambda x: float(np.linalg.norm(asked.missed(x))))
    within = " within limits.joint_range" if np.isfinite(ranges).any() else ""
    raise DescriptionError(f"optimal_motion: {name}: the tip comes no nearer{within} to {asked.said(best)}")


def _check_base(model: Model, given: Goal, name: str) -> None:
    if not model.arm.free:
        return
    where = f"optimal_motion: {name}: arm {model.arm.name!r} has a free base, whose final pose depends on the motion"
    if not given.in_base:
        raise DescriptionError(f'{where}; give the tip goal with frame = "base", or give joints')
    held = np.array(model.slope("stiffness_force", "q")(np.array(model.arm.rest)))[:, :BASE].any()
    if held or any(model.gravity):
        raise DescriptionError(f"{where}, so the static deflection there is unknown; give joints")


def _within(model: Model, ranges: Array) -> Array:
    """Ranges of the joints (m, 2), no wider than the ranges of the telescopes."""
    from flexarm.mechanics.chain import positions

    found, joints = np.array(ranges, dtype=float), list(model.arm.driven)
    for body, own in zip(model.chain.bodies, model.chain.own, strict=True):
        for position, low, high in body.limits:
            i = joints.index(positions(own[1:])[position])
            found[i] = max(found[i, 0], low), min(found[i, 1], high)
    return found


@final
@dataclass(frozen=True, eq=False)
class Sought:
    """Search for joint coordinates at a goal, near given ones and within ranges."""

    model: Model
    goal: Goal
    near: Array
    ranges: Array

    def standing(self, joints: Array) -> Array:
        """Equilibrium (nq,) with the joints held."""
        straight, moved = self._straight
        return equilibrium(self.model, straight + moved @ joints, held="joints")[0]

    @cached_property
    def _straight(self) -> tuple[Array, Array]:
        """Configuration with all joints at zero and nothing bent, and its slope in the joint coordinates.

        `configuration` is linear in the joint coordinates, so both are found once.
        """
        rows = [configuration(self.model, x) for x in (np.zeros(len(self.near)), *np.eye(len(self.near)))]
        return rows[0], np.stack(rows[1:], axis=-1) - rows[0][:, None]

    def missed(self, joints: Array) -> Array:
        """Return how far the tip misses the goal: its position over the arm's length, and its axes.

        All entries are infinite where the arm has no equilibrium.
        """
        try:
            p, axes = self._pose(self.standing(joints))
        except FlexarmError:
            return np.full(3 + self.goal.wanted.size, np.inf)
        return np.concatenate([(p - self.goal.place) / self.length, (axes - self.goal.wanted).T.ravel()])

    def slope(self, joints: Array) -> Array:
        """Jacobian of `missed` in the joint coordinates, (rows, m)."""
        q = self.standing(joints)
        v, w = np.split(tip_jacobian(self.model, q), 2)
        turned = [-crossed(axis) @ w for axis in self._pose(q)[1].T]
        return np.asarray(np.vstack([v / self.length, *turned]) @ equilibrium_slope(self.model, q))

    @cached_property
    def length(self) -> float:
        """Length of the arm along its links [m]."""
        at = self.model.frames(np.array(self.model.arm.rest))[:, :3, 3]
        return float(np.linalg.norm(np.diff(at, axis=0), axis=1).sum())

    def _pose(self, q: Array) -> tuple[Array, Array]:
        """Position of the tip and its required axes, (3, k). A free base has the pose of `arm.rest`."""
        T = self.model.tip(q)
        return T[:3, 3], T[:3, self.goal.axes]

    def beginnings(self) -> list[Array]:
        """Return the initial guesses for which the arm has an equilibrium.

        The guesses are `near`, and random ones within the ranges. Where a joint has no range, they lie within half a
        turn, or within the arm's length, of `near`.
        """
        turns = [link.joint.turns for link in self.model.arm.links if link.joint.actuated]
        around = np.where(turns, np.pi, self.length)
        low = np.where(np.isfinite(self.ranges[:, 0]), self.ranges[:, 0], self.near - around)
        high = np.where(np.isfinite(self.ranges[:, 1]), self.ranges[:, 1], self.near + around)
        others = np.random.default_rng(1).uniform(low, high, (BEGINNINGS, len(self.near)))
        found = [x for x in (self.near, *others) if np.isfinite(self.missed(x)).all()]
        if not found:
            self.standing(self.near)  # raises an error with the reason
        return found

    def solved(self, begin: Array, staying: bool = False) -> Array:
        """Solve for the joint coordinates from an initial guess. With `staying`, the distance from `near` counts a
        little.
        """
        from scipy.optimize import least_squares

        low, high = self.ranges.T
        stay = float(staying) * np.eye(len(begin))
        return np.asarray(
            least_squares(
                lambda x: np.concatenate([WANTED * self.missed(x), stay @ (x - self.near)]),
                np.clip(begin, low, high),
                lambda x: np.vstack([WANTED * self.slope(x), stay]),
                bounds=(low, high),
                ftol=1e-9,
                xtol=1e-10,
                gtol=1e-4,
                max_nfev=100,
            ).x
        )

    def reached(self, joints: Array) -> bool:
        """True if the tip is at the goal."""
        return bool(np.abs(self.missed(joints)).max() <= REACHED)

    def unwound(self, joints: Array) -> Array:
        """Subtract whole turns that take the joints away from `near`, as far as the ranges and the goal allow."""
        turns = np.array([link.joint.turns for link in self.model.arm.links if link.joint.actuated])
        less = joints - turns * 2 * np.pi * np.round((joints - self.near) / (2 * np.pi))
        low, high = self.ranges.T
        less = np.where((low <= less) & (less <= high), less, joints)
        return less if self.reached(less) else joints

    def nearest(self, joints: Array) -> Array:
        """Move redundant joints nearer to `near` while the tip stays at the goal."""
        if np.linalg.matrix_rank(self.slope(joints), tol=1e-6) == len(joints):
            return joints
        moved = self.solved(self.solved(joints, staying=True))
        return moved if self.reached(moved) else joints

    def away(self, joints: Array) -> float:
        """Distance of the joint coordinates from `near`."""
        return float(np.linalg.norm(joints - self.near))

    def said(self, joints: Array) -> str:
        """Distance of the tip from the goal, as error messages print it."""
        off, goal = self.missed(joints), self.goal
        away = f"{goal.says} than {round(float(np.linalg.norm(off[:3])) * self.length, 6):.4g} m"
        if not goal.axes:
            return away
        sine = float(np.linalg.norm(off[3:])) / (2.0 if len(goal.axes) == 1 else np.sqrt(8.0))
        return f"{away} and {2 * np.arcsin(min(sine, 1.0)):.4g} rad"
