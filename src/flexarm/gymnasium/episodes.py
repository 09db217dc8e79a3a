"""Episodes of many arms at once, as arrays. One environment, and a vector of them, are built on these."""

from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    Fault,
    a_kind,
    checked_number,
    checked_numbers,
    counted,
    refused,
    shown,
    unknown_name,
)
from flexarm.description.arm import Arm, Beam
from flexarm.errors import DescriptionError, SimulationError
from flexarm.gymnasium.ground import Ground, ground
from flexarm.gymnasium.tasks import NEAR, TASKS, Task
from flexarm.sensors import Encoder, Tachometer, TipDeflection, TipPosition, TipVelocity, outputs
from flexarm.simulation.dataset import FAR
from flexarm.simulation.rhs import DIVERGED
from flexarm.simulation.stepper import Stepper

Generators = list[np.random.Generator]

WORST = 5.0
"""Largest cost of a period. If an episode ends early, all remaining periods have this cost."""

WEIGHTS = (1.0, 0.1, 0.01)
"""Default weights of the error, of its velocity, and of the effort."""

DRAWN = 64
"""Number of periods for which noise is drawn at once."""


@final
class Episodes:
    """N arms with one task, each in its own episode. `ArmEnv` describes the parameters.

    Attributes
    ----------
    ground, task
        Arm with its times and limits, and the task.
    stepper : Stepper
        Stepper of N plants.
    names, units : tuple of str
        Names and units of the observations.
    read, tip : Outputs
        Outputs of the sensors, and position and velocity of the tip.
    noise, resolution, every : (k,)
        Noise and resolution of each signal, and the number of periods between two readings.
    bent : (f, 2)
        Index and length [m] of each flexible link in one piece.
    count : int
        Number of arms, N.
    steps : (N,)
        Number of periods since the beginning of each episode.
    state : (N, ...)
        States (q, qd), and states of drives.
    wanted : (N, 3), (N, 3)
        Desired positions and velocities of the tips [m, m/s].
    """

    def __init__(
        self,
        count: int,
        task: Any,
        arm: Any,
        scenario: Any,
        sensors: Any,
        period: Any,
        duration: Any,
        limit: Any,
        randomise: Any,
        weights: Any,
        method: Any,
        rtol: Any,
        options: dict[str, Any],
    ):
        if not isinstance(task, str) or task not in TASKS:
            raise DescriptionError(unknown_name("ArmEnv: task is", task, TASKS, "it must be one of"))
        self.ground: Ground = ground(arm, scenario, randomise, period, duration, limit)
        try:
            self.task: Task = TASKS[task](self.ground, **options)
        except TypeError:
            known = "amplitude" if task == "Suppress" else "spread"
            message = f"ArmEnv: {task} has no options {', '.join(options)}; it has {known}"
            raise DescriptionError(message) from None
        model = self.ground.model
        with refused("ArmEnv"):
            self.weights = checked_numbers(WEIGHTS if weights is None else weights, "", NOT_NEGATIVE, "weights")
            if len(self.weights) != len(WEIGHTS):
                must = "for the error, its velocity and the effort"
                raise Fault("weights", f"has {counted(len(self.weights), 'number')}; it must have 3: {must}")
            checked_number(rtol, "", POSITIVE, "rtol")
        self.count = count
        asked = sensors_of(model.arm, bool(self.task.shown)) if sensors is None else sensors
        with refused("ArmEnv"):
            every = _every(asked, self.ground.period)
        self.read, self.tip = outputs(model, asked), outputs(model, _own())
        self.noise = np.array([each.noise for each in asked for _ in each.names(model.arm)])
        fine = np.array([each.resolution for each in asked for _ in each.names(model.arm)])
        self.resolution, self._fine, self._round = fine, np.where(fine > 0, fine, 1.0), fine > 0
        self.every = np.repeat(every, [len(each.names(model.arm)) for each in asked])
        self.bent = _bent(model.arm)
        extra = [f"wanted_{what}_{axis}" for what in self.task.shown for axis in "xyz"]
        self.names = (*self.read.names, *extra)
        self.units = (*self.read.units, *(("m", "m/s")["velocity" in name] for name in extra))
        self.stepper = Stepper(
            model,
            self.ground.period,
            np.tile(self.ground.q, (count, 1)),
            np.tile(self.ground.qd, (count, 1)),
            method,
            rtol=rtol,
            atol=1e-3 * rtol,
            disturbance=self.ground.disturbance,
        )
        self.steps = np.zeros(count, dtype=np.int64)
        self.state = self.stepper.state
        self._shares = np.full((count, self.task.shares), 0.5)
        self._drawn = np.zeros((count, DRAWN, len(self.noise)))
        self._readings = np.zeros((count, len(self.noise)))
        self._p = self.stepper.p if model.varied else None

    # -- episodes ------------------------------------------------------------------------------------------------------

    def begin(self, where: Array, generators: Generators) -> Array:
        """Begin an episode of the chosen arms, (N,) of bool, and return the observations of all arms."""
        rows = np.flatnonzero(where)
        shares = np.array([generators[i].random(self.shares) for i in rows.tolist()]).reshape(len(rows), self.shares)
        p, self._shares[rows], q, qd = self.beginnings(shares)
        if self._p is not None:
            self._p[rows] = p
        self.state = self.stepper.reset(q, qd, rows, p)
        self.steps[rows] = 0
        return self._observed(np.zeros((self.count, len(self.ground.u))), generators, where, anew=True)[0]

    @property
    def shares(self) -> int:
        """Number of random numbers from 0 to 1 at the beginning of an episode."""
        return sum(each is not None for each in self.ground.quantiles) + self.task.shares

    def beginnings(self, shares: Array) -> tuple[Array | None, Array, Array, Array]:
        """Return parameters, shares of the task, coordinates and rates of episodes from their random numbers (N, ...).

        The parameters are None if the model does not vary.
        """
        random = [i for i, each in enumerate(self.ground.quantiles) if each is not None]
        p = np.tile(self.ground.model.p, (len(shares), 1)) if self.ground.model.varied else None
        for k, i in enumerate(random):
            p[:, i] = self.ground.quantiles[i](shares[:, k])  # type: ignore[index, misc]  # these vary
        own = shares[:, len(random) :]
        return p, own, *self.task.begun(own)

    def step(
        self, actions: Array, generators: Generators, where: Array
    ) -> tuple[Array, Array, Array, Array, dict[str, Array]]:
        """Advance by a period. Return observations, rewards, terminated, truncated and further information.

        Sensors are read only for the arms in `where`, (N,) of bool.
        """
        a = np.clip(actions, -1.0, 1.0)
        before = self.state
        failed = self._move(self.ground.u + self.ground.limit * a)
        self.state[failed] = before[failed]
        self.steps += 1
        seen, told = self._observed(a, generators, where)
        terminated = failed | self._far()
        left = np.maximum(self.ground.steps - self.steps, 0)
        truncated = ~terminated & (left == 0)
        cost = np.minimum(told.pop("cost"), WORST)
        return seen, -np.where(terminated, WORST * (1 + left), cost), terminated, truncated, told

    def _move(self, u: Array) -> Array:
        """Advance all arms by a period. Return True for those that could not be computed, which are reset to rest."""
        failed = np.zeros(self.count, dtype=bool)
        while True:
            try:
                self.state = self.stepper.step(u)
                return failed
            except SimulationError:
                bad = self.stepper.failed
                if (bad & failed).any():
                    raise  # even from rest
                failed |= bad
                u = np.where(bad[:, None], self.ground.u, u)
                self.stepper.reset(where=bad)

    # -- observations --------------------------------------------------------------------------------------------------

    def _observed(
        self, a: Array, generators: Generators, where: Array, anew: bool = False
    ) -> tuple[Array, dict[str, Array]]:
        """Return the sensor readings with the targets, and the terms of the rewards."""
        model, p = self.ground.model, self._p
        q, qd, s = np.split(self.state, [model.nq, model.nq + model.nv], axis=1)
        u = self.ground.u + self.ground.limit * a
        one = self._rows
        y = np.atleast_2d(self.read.values(one(q), one(qd), one(u), one(p), one(s) if model.states else None))
        if self.noise.any():
            at = self.steps % DRAWN
            for i in np.flatnonzero(where & (at == 0)).tolist():
                self._drawn[i] = generators[i].standard_normal(self._drawn[i].shape)
            y = y + self.noise * self._drawn[np.arange(self.count), at]
        y = np.where(self._round, self._fine * np.round(y / self._fine), y)
        fresh = where[:, None] & (self.steps[:, None] % self.every == 0)
        self._readings = np.where(fresh, y, self._readings)
        if anew or self.task.moves:
            self.wanted = self._tip_of(*self.task.wanted(self._shares, self.steps), None)
        tip, wanted = self._tip_of(q, qd, p), self.wanted
        error, speed = (np.linalg.norm(x - y, axis=1) for x, y in zip(tip, wanted, strict=True))
        effort = np.mean(a**2, axis=1)
        size = self.task.length
        parts = error / size, speed * self.task.time / size, effort
        cost = sum(weight * part for weight, part in zip(self.weights, parts, strict=True))
        success = (error < NEAR * size) & (speed * self.task.time < NEAR * size)
        told = {"error": error, "speed": speed, "effort": effort, "success": success, "cost": np.asarray(cost)}
        goal = [x for what, x in zip(("position", "velocity"), wanted, strict=True) if what in self.task.shown]
        return np.clip(np.concatenate([self._readings, *goal], axis=1), -DIVERGED, DIVERGED), told

    def _tip_of(self, q: Array, qd: Array, p: Array | None) -> tuple[Array, Array]:
        """Return the position and velocity of the tip, (N, 3) each."""
        y = np.atleast_2d(self.tip.values(self._rows(q), self._rows(qd), p=self._rows(p)))
        return y[:, :3], y[:, 3:6]

    def _rows(self, x: Array | None) -> Any:
        """Return the rows of an array (N, ...) for evaluation. For one arm it is a single row, which takes a tenth of
        the time."""
        return x if x is None or self.count > 1 else x[0]

    def _far(self) -> Array:
        """Return True for arms with deflections so large that their mode shapes are not valid."""
        if not len(self.bent):
            return np.zeros(self.count, dtype=bool)
        places, lengths = self.bent[:, 0].astype(int), self.bent[:, 1]
        q = self.state[:, : self.ground.model.nq]
        found = self.ground.model.deflections(self._rows(q), self._rows(self._p))
        away = found.reshape(self.count, -1, 6)[:, places, 1:3]
        return np.asarray((np.linalg.norm(away, axis=-1) > FAR * lengths).any(axis=1))


# -- sensors -----------------------------------------------------------------------------------------------------------


def sensors_of(arm: Arm, tip: bool) -> list[Any]:
    """Return the default sensors of an arm.

    They are encoders and tachometers of its drives, deflections of its links' tips, pose and velocities of a free base,
    the same of ball joints, and optionally the position of the tip.
    """
    found: list[Any] = [Encoder(coordinate=name) for name in arm.coordinates[: arm.poses]]
    found += [Tachometer(coordinate=name) for name in arm.velocities[: arm.twists]]
    drives = [f"{link.name}.drive" for link in arm.links if link.joint.actuated]
    found += [Encoder(coordinate=name) for name in drives]
    found += [Tachometer(coordinate=name) for name in drives]
    for link in arm.links:
        counts = link.body.counts
        axes = (
            [axis for axis in ("y", "z", "torsion") if counts.get(axis)] if isinstance(link.body, Beam) else ["y", "z"]
        )
        found += [TipDeflection(link=link.name, axis=axis) for axis in axes if any(counts.values())]
    return found + [TipPosition()] * tip


def _own() -> list[Any]:
    """Return the sensors for the rewards."""
    return [TipPosition(name="at"), TipVelocity(name="moving")]


def _every(sensors: Any, period: float) -> list[int]:
    """Return the number of periods between two readings of each sensor. Raises `Fault`."""
    if not isinstance(sensors, list | tuple) or not sensors:
        raise Fault("sensors", f"is {shown(sensors)}; it must be a list of sensors")
    found = []
    for each in sensors:
        time = getattr(each, "sample_time", None)
        count = 1 if time is None else round(time / period)
        if time is not None and (count < 1 or abs(count * period - time) > 1e-6 * time):
            has = f"has {a_kind(each)} with a sample_time of {time:g} s"
            raise Fault("sensors", f"{has}; it must be a whole number of periods of {period:g} s")
        found.append(count)
    return found


def _bent(arm: Arm) -> Array:
    """Return index and length (k, 2) of the flexible links in one piece."""
    found = [
        (i, link.body.length)
        for i, link in enumerate(arm.links)
        if any(link.body.counts.values()) and not link.body.pieces
    ]
    return np.array(found).reshape(-1, 2)
