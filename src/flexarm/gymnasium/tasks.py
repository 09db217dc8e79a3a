"""The tasks: where the tip is wanted, how an episode begins, and what its errors are measured by.

All are about the tip: to be at a place, on a way, or at rest. Of an episode everything that chance decides is a number
from 0 to 1, drawn at its beginning; here such shares become angles and amplitudes, for many episodes at once.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol, final

import numpy as np

from flexarm import attitude
from flexarm.checks import POSITIVE, Fault, checked_number, refused
from flexarm.errors import DescriptionError
from flexarm.gymnasium.ground import MOVES, SLID, Ground
from flexarm.trajectory.reference import reference_rates, reference_values

Array = np.ndarray

SWUNG = 2
"""Modes that are excited where vibration is to be suppressed."""

MOVED = 0.6
"""Of an episode: the time in which the joints of `Track` go from one place to another."""

NEAR = 0.1
"""Of the length by which errors are measured: what counts as there."""


class Task(Protocol):
    """What an environment asks of a task."""

    @property
    def ground(self) -> Ground:
        """The arm and its numbers."""

    @property
    def length(self) -> float:
        """By what errors of the tip are measured [m]."""

    @property
    def time(self) -> float:
        """By what its velocities are measured, beside the length [s]."""

    @property
    def shown(self) -> tuple[str, ...]:
        """What is observed of the tip that is wanted: "position", "velocity"."""

    @property
    def moves(self) -> bool:
        """Whether what is wanted changes within an episode."""

    @property
    def shares(self) -> int:
        """How many numbers an episode is drawn from."""

    def begun(self, shares: Array) -> tuple[Array, Array]:
        """Coordinates (N, nq) and rates (N, nv) at the beginning."""

    def wanted(self, shares: Array, steps: Array) -> tuple[Array, Array]:
        """Coordinates (N, nq) and rates (N, nv) whose tip is wanted after so many periods (N,)."""


@dataclass(frozen=True, eq=False)
class Going:
    """The tip is wanted elsewhere: errors are measured by the arm's reach, and an episode is drawn from a goal."""

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
        """One of each joint."""
        return len(self.ground.joints)

    def begun(self, shares: Array) -> tuple[Array, Array]:
        """As the ground says."""
        return _same(self.ground, len(shares))


@final
@dataclass(frozen=True, eq=False)
class Reach(Going):
    """The tip is to go to a place and stay there: where it is with the joints up to `spread` from the beginning's.

    Parameters
    ----------
    ground : Ground
    spread : float
        [rad]; of joints that slide as much of a tenth of the reach.
    """

    shown = ("position",)
    moves = False

    def wanted(self, shares: Array, steps: Array) -> tuple[Array, Array]:
        """The posture of the goal."""
        return self.ground.posture(_goals(self.ground, self.spread, shares))


@final
@dataclass(frozen=True, eq=False)
class Track(Going):
    """The tip is to follow that of an arm which nothing bends: from the beginning to a goal as that of `Reach`, by
    quintics in three fifths of the episode; or along a scenario's reference.

    Parameters
    ----------
    ground : Ground
    spread : float
        As of `Reach`.
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
        """The posture on the way."""
        if self.table is not None:
            at = np.minimum(steps, self.ground.steps)
            return self.table[0][at], self.table[1][at]
        last = MOVED * self.ground.duration
        s = np.clip(self.ground.period * steps / last, 0.0, 1.0)[:, None]
        way = _goals(self.ground, self.spread, shares) - self.ground.joints
        gone, rate = s**3 * (10.0 - 15.0 * s + 6.0 * s**2), 30.0 * s**2 * (1.0 - s) ** 2 / last
        return self.ground.posture(self.ground.joints + gone * way, rate * way)


@final
@dataclass(frozen=True, eq=False)
class Suppress:
    """The arm swings with its drives held, in its two slowest modes; the tip is to come to rest where it hung.

    Parameters
    ----------
    ground : Ground
    amplitude : float, optional
        Of the slowest mode: by how much a section moves at most [m]; at least half of it. Of the next one up to three
        tenths of it, divided by how much faster it is. Default a fiftieth of the reach.
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
            raise DescriptionError(f"Suppress: arm {arm!r} does not vibrate with its drives held; nothing in it bends")
        object.__setattr__(self, "modes", self.ground.modes(SWUNG))

    @property
    def length(self) -> float:
        """The amplitude [m]."""
        return 0.02 * self.ground.reach if self.amplitude is None else self.amplitude

    @property
    def time(self) -> float:
        """A radian of the slowest mode [s]."""
        return 1.0 / self.ground.frequency

    @property
    def shares(self) -> int:
        """Amplitude and phase of each mode."""
        return 2 * SWUNG

    def begun(self, shares: Array) -> tuple[Array, Array]:
        """Somewhere in the swing of each mode."""
        frequencies, modes = self.modes
        k = len(frequencies)
        least, most = np.array([0.5, 0.0])[:k], np.array([1.0, 0.3])[:k] * frequencies[0] / frequencies
        size = self.length * (least + (most - least) * shares[:, :k])
        phase = 2.0 * np.pi * shares[:, SWUNG : SWUNG + k]
        q, qd = _same(self.ground, len(shares))
        x = attitude.local(self.ground.model.arm, q) + (size * np.cos(phase)) @ modes
        return attitude.configuration(self.ground.model.arm, x), qd - (size * frequencies * np.sin(phase)) @ modes

    def wanted(self, shares: Array, steps: Array) -> tuple[Array, Array]:
        """Where it hangs."""
        q, qd = _same(self.ground, len(shares))
        return q, 0.0 * qd


TASKS: dict[str, Any] = {kind.__name__: kind for kind in (Reach, Track, Suppress)}
"""By their names."""


def _same(ground: Ground, count: int) -> tuple[Array, Array]:
    """The beginning that the ground has, for each."""
    return np.tile(ground.q, (count, 1)), np.tile(ground.qd, (count, 1))


def _goals(ground: Ground, spread: float, shares: Array) -> Array:
    """Joints (N, j) up to a spread from the beginning's, within their ranges."""
    found = ground.joints + spread * ground.way * (2.0 * shares - 1.0)
    return np.clip(found, *ground.range.T)
