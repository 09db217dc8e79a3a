"""Basis of all tasks: an arm, its initial state, its reach, its slowest vibration, and the strength of its drives.

Values that are not given follow from the arm: periods and times from its slowest vibration, inputs from its inertia.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, final

import numpy as np

from flexarm import attitude
from flexarm.analysis.equilibrium import equilibrium
from flexarm.arrays import Array
from flexarm.checks import POSITIVE, Fault, checked_array, checked_number, named_or_fitting, refused, shown, within
from flexarm.description.arm import Arm
from flexarm.description.joints import SHORTEST, Telescope
from flexarm.description.load import load
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.model import Model
from flexarm.model.adrift import BASE
from flexarm.model.drawing import drawn
from flexarm.model.local import moved_by_joints
from flexarm.scenario import Scenario, load_scenario
from flexarm.studies.distributions import Quantile, distribution
from flexarm.trajectory import Reference

ARM = "subudhi-morris"
"""Default arm, without an arm and a scenario."""

SAMPLED, SWINGS = 20, 10
"""Number of periods of the environment in one period of the slowest vibration, and of vibrations in an episode."""
FASTEST, SLOWEST, STIFF = 0.005, 0.1, 0.02
"""Limits of the default period, and the default period for an arm that does not vibrate [s]."""
SHORTEST_EPISODE = 5.0
"""Shortest default duration of an episode [s]."""

MOVES = 5
"""Number of motions by a radian, from rest to rest, that a joint alone can make with full input in an episode."""
SLID = 0.1
"""Share of the reach that corresponds to a radian, for prismatic joints and for a free base."""

SHARES = np.linspace(1e-6, 1.0 - 1e-6, 257)
"""Shares at which the values of a distribution are checked."""

LEAST = 1e-9
"""Largest frequency that counts as zero [rad/s]."""


@final
@dataclass(frozen=True)
class Ground:
    """An arm with its times and limits.

    Attributes
    ----------
    model : Model
        Model of the arm.
    quantiles : tuple
        Distribution of each parameter of the model, or None for a constant parameter.
    q, qd, u : (nq,), (nv,), (m,)
        Initial state of an episode, and the inputs that hold the arm at rest.
    joints : (j,)
        Initial joint coordinates [rad or m].
    period, steps : float, int
        Period of the environment [s], and number of periods in an episode.
    limit : (m,)
        Change of `u` for an action of 1, in the unit of the input.
    reach : float
        Sum of the lengths of all links [m].
    frequency : float
        Lowest frequency with locked drives [rad/s], or 0 if nothing vibrates.
    moving : (nv, j)
        Matrix from joint coordinates to all coordinates.
    range : (j, 2)
        Lower and upper limit of each joint [rad or m].
    reference : Reference or None
        Reference of the scenario.
    disturbance
        Disturbance of the scenario, as in `fa.Stepper`.
    """

    model: Model
    quantiles: tuple[Quantile | None, ...]
    q: Array
    qd: Array
    u: Array
    joints: Array
    period: float
    steps: int
    limit: Array
    reach: float
    frequency: float
    moving: Array
    range: Array
    reference: Reference | None
    disturbance: Any

    @property
    def duration(self) -> float:
        """Duration of an episode [s]."""
        return self.period * self.steps

    @property
    def way(self) -> Array:
        """Motion of each joint that counts as a radian, (j,): 1 rad, or for a prismatic joint a share of the reach
        [m]."""
        joints = [link.joint for link in self.model.arm.links if link.joint.actuated]
        return np.array([1.0 if joint.turns else SLID * self.reach for joint in joints])

    def posture(self, joints: Array, rates: Array | None = None) -> tuple[Array, Array]:
        """Return coordinates (N, nq) and rates (N, nv) for joints (N, j), without deflection."""
        arm, q = self.model.arm, np.tile(self.model.arm.rest, (len(joints), 1))
        moved = np.flatnonzero(self.moving.any(axis=1))
        q[:, moved + self.model.nq - self.model.nv] = joints @ self.moving[moved].T
        q[:, : arm.poses] = self.q[: arm.poses]
        return q, np.zeros((len(joints), self.model.nv)) if rates is None else rates @ self.moving.T

    def modes(self, most: int) -> tuple[Array, Array]:
        """Return the lowest frequencies (k,) [rad/s] with locked drives, and the modes (k, nv).

        The modes are scaled to a largest motion of a section of 1 m.
        """
        found, shapes = self.model.modes(self.q)
        slow = np.flatnonzero(found > LEAST)[:most]
        kept = [shapes[:, i] / _largest(self, shapes[:, i]) for i in slow]
        return found[slow], np.array(kept).reshape(len(kept), self.model.nv)


def ground(
    arm: Any, scenario: Any, randomise: Any, period: Any, duration: Any, limit: Any, asked: str = "ArmEnv"
) -> Ground:
    """Return the ground from the given values, and defaults for the others. Raises `DescriptionError`."""
    told = _scenario(scenario)
    if told is not None and arm is not None:
        raise DescriptionError(f"{asked}: arm and scenario exclude each other; give one of them")
    given = told.loaded_arm() if told is not None else ARM if arm is None else arm
    model, quantiles = _model(given, randomise, asked)
    arguments = {} if told is None else _arguments(told, model, asked)
    rest = arguments.get("q0")
    q, u = _standing(model, np.array(model.arm.rest if rest is None else rest, dtype=float))
    qd = np.zeros(model.nv) if arguments.get("qd0") is None else np.array(arguments["qd0"], dtype=float)
    if rest is not None:
        q = np.array(rest, dtype=float)
    moving = moved_by_joints(model.arm)
    frequency = _lowest(model, q)
    with refused(asked):
        until = None if told is None else told.until
        period, steps = _clock(period, duration if duration is not None else until, frequency)
    stations, _ = drawn(model, q)
    reach = float(np.linalg.norm(stations[:, -1, :3] - stations[:, 0, :3], axis=-1).sum())
    local = attitude.local(model.arm, q)
    joints = local[list(model.arm.driven)]
    slowly = max(period * steps, SWINGS * 2.0 * np.pi / frequency if frequency else 0.0) / MOVES
    found = _strength(model, q, u, moving, reach, slowly)
    with refused(asked):
        found = _limit(limit, found)
    return Ground(
        model,
        quantiles,
        q,
        qd,
        u,
        joints,
        period,
        steps,
        found,
        reach,
        frequency,
        moving,
        _ranges(model.arm),
        arguments.get("reference"),
        arguments.get("disturbance"),
    )


# -- arguments ---------------------------------------------------------------------------------------------------------


def _scenario(given: Any) -> Scenario | None:
    return given if given is None or isinstance(given, Scenario) else load_scenario(given)


def _model(given: Any, randomise: Any, asked: str) -> tuple[Model, tuple[Quantile | None, ...]]:
    """Return the model, in which the random parameters vary, and their distributions."""
    if randomise is not None and not isinstance(randomise, Mapping):
        message = f"randomise is {shown(randomise)}; it must be a dict of distributions by names of parameters"
        raise DescriptionError(f"{asked}: {message}")
    drawn_ = dict(randomise or {})
    if not isinstance(given, Model):
        if not isinstance(given, Arm | str | PathLike):
            must = "it must be the name of a bundled arm, a path, an Arm or a Model"
            raise DescriptionError(f"{asked}: arm is {shown(given)}; {must}")
        given = given if isinstance(given, Arm) else load(given)
        given = Model(given, list(drawn_))
    elif drawn_ and not given.varied:
        given = Model(given.arm, list(drawn_))
    quantiles: list[Quantile | None] = [None] * len(given.varied)
    for key, value in drawn_.items():
        chosen = named_or_fitting(key, enumerate(given.varied), lambda each: (each[1].name, each[1].symbol))
        places = [i for i, _ in chosen]
        if not places:
            there = ", ".join(x.name for x in given.varied)
            raise DescriptionError(
                f"{asked}: randomise: the model has no variable parameter {shown(key)}; the parameters that vary "
                f"are {there}"
            )
        for i in places:
            with refused(f"{asked}: randomise"), within(str(key)):
                quantiles[i] = distribution(value).quantile(float(given.p[i]), given.varied[i].unit)
            _check_drawn(given, i, quantiles[i], asked)
    return given, tuple(quantiles)


def _check_drawn(model: Model, i: int, quantile: Any, asked: str) -> None:
    """Raise `DescriptionError` if an arm could not have a value of a distribution.

    The check prevents an error in one of thousands of episodes. It leaves out the ends of a distribution, which never
    occur.
    """
    p = np.tile(model.p, (SHARES.size, 1))
    p[:, i] = quantile(SHARES)
    try:
        model.parameter_values(p)
    except DescriptionError as error:
        said = str(error).partition(": ")[2]
        raise DescriptionError(f"{asked}: randomise: some values are not possible: {said}") from None


def _arguments(scenario: Scenario, model: Model, asked: str) -> dict[str, Any]:
    """Return the initial state, the reference and the disturbance of a scenario."""
    if scenario.outside is not None:
        message = f"scenario {scenario.name!r} has exogenous inputs, which environments do not support; use disturbance"
        raise DescriptionError(f"{asked}: {message}")
    scenario.refuse_changes(asked)
    plain = scenario.replace(controller=None, input=None, record=(), keep=None)
    found = plain.arguments(model)
    return {key: found[key] for key in ("q0", "qd0", "reference", "disturbance")}


def _clock(period: Any, duration: Any, frequency: float) -> tuple[float, int]:
    """Return the period [s] and the number of periods in an episode. Raises `Fault`."""
    slowest = 2.0 * np.pi / frequency if frequency else 0.0
    if period is None:
        period = _round(min(max(slowest / SAMPLED, FASTEST), SLOWEST)) if slowest else STIFF
    period = checked_number(period, "s", POSITIVE, "period")
    if duration is None:
        duration = max(SHORTEST_EPISODE, SWINGS * slowest, 2 * period)
    steps = round(checked_number(duration, "s", POSITIVE, "duration") / period)
    if steps < 2:
        raise Fault("duration", f"is {duration:g} s; an episode must have at least two periods of {period:g} s")
    return period, steps


def _round(x: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at most x."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(f"{power * max(n for n in (1, 2, 5) if n * power <= x * (1 + 1e-9)):g}")


def _limit(given: Any, otherwise: Array) -> Array:
    """Return the change of each input for an action of 1. Raises `Fault`."""
    if given is None:
        return otherwise
    found = checked_array(given, "limit")
    if found.shape not in ((), otherwise.shape):
        raise Fault("limit", f"has shape {found.shape}; it must be one number, or {len(otherwise)}, one per input")
    if not (found > 0).all():
        raise Fault("limit", f"is {shown(given)}; it must be positive")
    return np.array(np.broadcast_to(found, otherwise.shape), dtype=float)


# -- defaults ----------------------------------------------------------------------------------------------------------


def _standing(model: Model, q: Array) -> tuple[Array, Array]:
    """Return the equilibrium near q with locked drives, and its inputs. Without an equilibrium, return q and zeros."""
    try:
        return equilibrium(model, q)
    except DescriptionError:
        raise
    except FlexarmError:
        return q, np.zeros(len(model.inputs))


def _lowest(model: Model, q: Array) -> float:
    """Return the lowest frequency with locked drives [rad/s], or 0 if there is none."""
    found = model.frequencies(q)
    return float(min(found[found > LEAST], default=0.0))


def _strength(model: Model, q: Array, u: Array, moving: Array, reach: float, time: float) -> Array:
    """Return a limit of each input: that of its motor, or a sufficient one.

    A sufficient input moves the joint alone by a radian from rest to rest in this time, in addition to the holding
    input.
    """
    M, arm = model.mass_matrix(q), model.arm
    quick = 4.0 / time**2
    links = [link for link in arm.links if link.joint.actuated]
    way = np.array([1.0 if link.joint.turns else SLID * reach for link in links])
    efforts = np.einsum("ij,ik,kj->j", moving, M, moving) * way * quick
    found = []
    for link, effort, hold in zip(links, efforts.tolist(), u.tolist(), strict=False):
        motor = getattr(getattr(link.joint, "drive", None), "motor", None)
        own = None if motor is None else motor.voltage_limit if motor.input == "voltage" else motor.torque_limit
        found.append(abs(link.joint.input_at_rest(effort)) + abs(hold) if own is None else own)
    if arm.thrusters:
        B = model.input_matrix(q)[:BASE, len(links) :]
        along = 1.0 / np.einsum("ij,ik,kj->j", B, np.linalg.inv(M[:BASE, :BASE]), B)
        turns = np.array([thruster.kind == "torque" for thruster in arm.thrusters])
        found += (along * np.where(turns, 1.0, SLID * reach) * quick).tolist()
    return np.array(found)


def _ranges(arm: Arm) -> Array:
    """Return the range of each joint. Only a telescope has limits here."""
    links = [link for link in arm.links if link.joint.actuated]
    ends = [
        (1.01 * SHORTEST * link.body.length, 0.99 * link.body.length)  # type: ignore[attr-defined]  # a beam
        if isinstance(link.joint, Telescope)
        else (-np.inf, np.inf)
        for link in links
    ]
    return np.array(ends)


def _largest(ground: Ground, mode: Array) -> float:
    """Return the largest motion of a section per unit of a mode's coordinates [m]."""
    arm, small = ground.model.arm, 1e-6 * ground.reach / np.abs(mode).max()
    about = attitude.local(arm, ground.q)
    places = [drawn(ground.model, attitude.configuration(arm, about + s * mode))[0][..., :3] for s in (-small, small)]
    return float(np.linalg.norm(places[1] - places[0], axis=-1).max() / (2.0 * small))
