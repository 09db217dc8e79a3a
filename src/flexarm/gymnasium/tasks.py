"""Tasks: the target of the tip, the beginning of an episode, and the scale of errors.

All tasks are about the tip, which moves to a place, follows a path, or comes to rest. Everything random in an episode
is a number from 0 to 1, drawn at its beginning. This module converts these shares into angles and amplitudes, for many
episodes at once.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol, final

import numpy as np

from flexarm import attitude
from flexarm.arrays import Array
from flexarm.checks import POSITIVE, Fault, checked_number, refused
from flexarm.errors import DescriptionError
from flexarm.gymnasium.ground import MOVES, SLID, Ground
from flexarm.trajectory.reference import reference_rates, reference_values

SWUNG = 2
"""Number of modes that are excited in `Suppress`."""

MOVED = 0.6
"""Share of an episode in which the joints of `Track` move from one place to another."""

NEAR = 0.1
"""Share of the length scale within which the tip counts as being at its target."""


class Task(Protocol):
    """Interface of a task."""

    @property
    def ground(self) -> Ground:
        """Arm with its times and limits."""

    @property
    def length(self) -> float:
        """Length scale of tip errors [m]."""

    @property
    def time(self) -> float:
        """Time scale of tip velocities, in addition to the length scale [s]."""

    @property
    def shown(self) -> tuple[str, ...]:
        """Observed quantities of the target: "position", "velocity"."""

    @property
    def moves(self) -> bool:
        """True if the target changes within an episode."""

    @property
    def shares(self) -> int:
        """Number of random numbers per episode."""

    def begun(self, shares: Array) -> tuple[Array, Array]:
        """Return initial coordinates (N, nq) and rates (N, nv)."""

    def wanted(self, shares: Array, steps: Array) -> tuple[Array, Array]:
        """Return coordinates (N, nq) and rates (N, nv) whose tip is the target after these numbers of periods (N,)."""


@dataclass(frozen=True, eq=False)
class Going:
    """Base class of tasks with a target elsewhere: the scale of errors is the reach, and the goal is random."""

    ground: Ground
    spread: float = 0.5

    def __post_init__(self) -> None:
        with refused(type(self).__name__):
            checked_number(self.spread, "rad", POSITIVE, "spread")

    @property
    def length(self) -> float:
        """A tenth of the reach [m]."""
        return SLID * self.ground.reach

    @property
    def time(self) -> float:
        """A fifth of an episode [s]."""
        return self.ground.duration / MOVES

    @property
    def shares(self) -> int:
        """One random number for each joint."""
        return len(self.ground.joints)

    def begun(self, shares: Array) -> tuple[Array, Array]:
        """Return the initial state of the ground for each episode."""
        return _same(self.ground, len(shares))


@final
@dataclass(frozen=True, eq=False)
class Reach(Going):
    """The tip moves to a goal and stays there. At the goal the joints differ by at most `spread` from the beginning.

    Parameters
    ----------
    ground : Ground
        Arm with its times and limits.
    spread : float
        Largest difference [rad]. For prismatic joints it is this share of a tenth of the reach.
    """

    shown = ("position",)
    moves = False

    def wanted(self, shares: Array, steps: Array) -> tuple[Array, Array]:
        """Return the posture of the goal."""
        return self.ground.posture(_goals(self.ground, self.spread, shares))


@final
@dataclass(frozen=True, eq=False)
class Track(Going):
    """The tip follows the tip of a rigid arm, along quintics or along a scenario's reference.

    The quintics go from the beginning to a goal, as in `Reach`, in three fifths of the episode.

    Parameters
    ----------
    ground : Ground
        Arm with its times and limits.
    spread : float
        As in `Reach`.
    """

    table: tuple[Array, Array] | None = field(init=False, repr=False, default=None)
    shown = ("position", "velocity")
    moves = True

    def __post_init__(self) -> None:
        super().__post_init__()
        table = None
        if self.ground.reference is not None:
            t = self.ground.period * np.arange(self.ground.steps + 1)
            table = self.ground.posture(
                reference_values(self.ground.reference, t), reference_rates(self.ground.reference, t)
            )
        object.__setattr__(self, "table", table)

    def wanted(self, shares: Array, steps: Array) -> tuple[Array, Array]:
        """Return the posture on the path."""
        if self.table is not None:
            at = np.minimum(steps, self.ground.steps)
            return self.table[0][at], self.table[1][at]
        way = _goals(self.ground, self.spread, shares) - self.ground.joints
        gone, rate = self.blend(steps)
        return self.ground.posture(self.ground.joints + gone * way, rate * way)

    def blend(self, steps: Array) -> tuple[Array, Array]:
        """Return the share of the way to the goal after these numbers of periods, (N, 1), and its rate [1/s].

        Both are zero along a scenario's reference.
        """
        if self.table is not None:
            return np.zeros((len(steps), 1)), np.zeros((len(steps), 1))
        last = MOVED * self.ground.duration
        s = np.clip(self.ground.period * steps / last, 0.0, 1.0)[:, None]
        return s**3 * (10.0 - 15.0 * s + 6.0 * s**2), 30.0 * s**2 * (1.0 - s) ** 2 / last

    def ways(self, shares: Array) -> Array:
        """Return the way to each goal in the coordinates and in the velocities, (N, nq + nv)."""
        way = _goals(self.ground, self.spread, shares) - self.ground.joints
        start, _ = self.ground.posture(self.ground.joints[None])
        goal, along = self.ground.posture(self.ground.joints + way, way)
        return np.hstack([goal - start, along])


@final
@dataclass(frozen=True, eq=False)
class Suppress:
    """The arm swings with locked drives in its two slowest modes. The tip should come to rest at its original position.

    Parameters
    ----------
    ground : Ground
        Arm with its times and limits.
    amplitude : float, optional
        Largest motion of a section in the slowest mode [m]. Each episode has at least half of it. The second mode has
        up to three tenths of it, divided by the ratio of the frequencies. Default: a fiftieth of the reach.
    """

    ground: Ground
    amplitude: float | None = None
    modes: tuple[Array, Array] = field(init=False, repr=False)
    shown = ()
    moves = False

    def __post_init__(self) -> None:
        with refused("Suppress"):
            if self.amplitude is not None:
                checked_number(self.amplitude, "m", POSITIVE, "amplitude")
            if self.amplitude is not None and self.amplitude > self.ground.reach:
                must = f"it must be less than the reach of the arm, {self.ground.reach:g} m"
                raise Fault("amplitude", f"is {self.amplitude} m; {must}")
        if not self.ground.frequency:
            arm = self.ground.model.arm.name
            raise DescriptionError(
                f"Suppress: arm {arm!r} has no vibration with its drives locked; use an arm with flexible links "
                "or joints"
            )
        object.__setattr__(self, "modes", self.ground.modes(SWUNG))

    @property
    def length(self) -> float:
        """Amplitude [m]."""
        return 0.02 * self.ground.reach if self.amplitude is None else self.amplitude

    @property
    def time(self) -> float:
        """Time for a radian of the slowest mode [s]."""
        return 1.0 / self.ground.frequency

    @property
    def shares(self) -> int:
        """Random numbers for amplitude and phase of each mode."""
        return 2 * SWUNG

    def begun(self, shares: Array) -> tuple[Array, Array]:
        """Return a random state of the vibration in each mode."""
        frequencies, modes = self.modes
        k = len(frequencies)
        least, most = np.array([0.5, 0.0])[:k], np.array([1.0, 0.3])[:k] * frequencies[0] / frequencies
        size = self.length * (least + (most - least) * shares[:, :k])
        phase = 2.0 * np.pi * shares[:, SWUNG : SWUNG + k]
        q, qd = _same(self.ground, len(shares))
        x = attitude.local(self.ground.model.arm, q) + (size * np.cos(phase)) @ modes
        return attitude.configuration(self.ground.model.arm, x), qd - (size * frequencies * np.sin(phase)) @ modes

    def wanted(self, shares: Array, steps: Array) -> tuple[Array, Array]:
        """Return the configuration at rest."""
        q, qd = _same(self.ground, len(shares))
        return q, 0.0 * qd


TASKS: dict[str, Any] = {kind.__name__: kind for kind in (Reach, Track, Suppress)}
"""Tasks by name."""


def _same(ground: Ground, count: int) -> tuple[Array, Array]:
    """Return the initial state of the ground for each of `count` episodes."""
    return np.tile(ground.q, (count, 1)), np.tile(ground.qd, (count, 1))


def _goals(ground: Ground, spread: float, shares: Array) -> Array:
    """Return joints (N, j) within a spread from the initial ones, and within their ranges."""
    found = ground.joints + spread * ground.way * (2.0 * shares - 1.0)
    return np.clip(found, *ground.range.T)
