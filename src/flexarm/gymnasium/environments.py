"""The environments: one arm, and a vector of them in native lanes."""

from typing import Any, final

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from flexarm.checks import checked_whole, refused, shown
from flexarm.errors import DescriptionError
from flexarm.gymnasium.episodes import Episodes
from flexarm.gymnasium.picture import Picture
from flexarm.simulation.rhs import DIVERGED

Array = np.ndarray

ONE = np.ones(1, dtype=bool)
"""The only arm there is."""

METADATA: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 50}
"""Of the classes; an environment has as many pictures a second as periods."""


@final
class ArmEnv(gymnasium.Env[Array, Array]):
    """An arm and a task, as an environment of Gymnasium.

    Parameters
    ----------
    task : "Reach", "Track" or "Suppress"
    arm : str, path, Arm or Model, optional
        Name of a bundled arm, path of its file, or the arm itself. Default "subudhi-morris".
    scenario : str, path or Scenario, optional
        In the place of an arm: it gives the arm, where an episode begins, how long it lasts, the reference that `Track`
        follows, and what disturbs the arm; its input and its controller are left out.
    sensors : list of sensors, optional
        What is observed, each with its noise, its resolution and its sample time, a whole number of periods. Default:
        encoders and tachometers of the drives, deflections of the links' tips [m, rad], of a free base its pose and its
        velocities; but for `Suppress` the tip's place.
    period : float, optional
        For which an action is held [s]. Default: a twentieth of the slowest vibration's, from 5 ms to 0.1 s.
    duration : float, optional
        Of an episode [s]. Default: the scenario's, or ten slowest vibrations, 5 s at least.
    limit : float or (m,), optional
        What an action of 1 adds to the input that holds the arm where it begins [N m, N or V]. Default: the motor's
        limit, or what turns the joint by 1 rad from rest to rest in a fifth of the episode, or in two of the slowest
        vibration's periods where that is longer.
    randomise : dict, optional
        Distributions by names of parameters, as a study has them: {"payload.mass": ["0.5 kg", "1 kg"]},
        {"*.EI": {"type": "uniform", "low": "-20 %", "high": "20 %"}}. Each episode has an arm of its own.
    weights : (3,), optional
        Of the error, of its velocity and of the effort in the reward; default 1, 0.1, 0.01.
    method, rtol : str, float
        As of `flexarm.Stepper`.
    render_mode : "rgb_array", optional
    spread : float
        Of `Reach` and `Track`: how far goals lie from the beginning [rad].
    amplitude : float, optional
        Of `Suppress`: how far the arm swings [m].

    Attributes
    ----------
    observation_space, action_space : Box
        Readings, then where the tip is wanted [m] (`Reach`, `Track`) and how fast [m/s] (`Track`), up to 1e12;
        actions from -1 to 1, one of each input: u = holding input + limit a.
    names, units : tuple of str
        Of the observation's numbers.
    model : flexarm.Model

    Raises
    ------
    DescriptionError
        Where something asked for is not possible.

    Notes
    -----
    The reward of a period is -(|e| + 0.1 |e'| T) / L - 0.01 mean(a^2), -5 at least, with e the tip's error [m]; L and T
    are the task's length and time. An episode is truncated after its duration. It is terminated where a link is bent
    beyond half its length or the motion cannot be computed: the periods that are left then count as -5 each.
    """

    metadata = METADATA

    def __init__(
        self,
        task: str = "Reach",
        arm: Any = None,
        scenario: Any = None,
        sensors: Any = None,
        period: float | None = None,
        duration: float | None = None,
        limit: Any = None,
        randomise: Any = None,
        weights: Any = None,
        method: str = "auto",
        rtol: float = 1e-4,
        render_mode: str | None = None,
        **own: Any,
    ):
        given = task, arm, scenario, sensors, period, duration, limit, randomise, weights, method, rtol, own
        self._episodes = Episodes(1, *given)
        self.metadata = _metadata(type(self).metadata, self._episodes, render_mode)
        self.render_mode = render_mode
        self.observation_space, self.action_space = _spaces(self._episodes)
        self.names, self.units, self.model = self._episodes.names, self._episodes.units, self._episodes.ground.model
        self._begun = False
        self._picture: Picture | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """An episode begins: what is observed, and {"parameters": (k,)} of the arm where some are drawn."""
        super().reset(seed=seed)
        self._begun = True
        seen = self._episodes.begin(ONE, [self.np_random])
        return seen[0], {key: value[0] for key, value in _parameters(self._episodes).items()}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """A period on: what is observed, the reward, whether the episode has ended, whether its time is over, and
        "error" [m], "speed" [m/s], "effort" [1] and "success".

        Raises `DescriptionError` for an action of another shape, or that is not finite, and Gymnasium's `ResetNeeded`
        where no episode has begun.
        """
        given = _action(action, self.action_space)
        _check_begun(self._begun, "ArmEnv", "step")
        seen, reward, terminated, truncated, told = self._episodes.step(
            given[None], [self.np_random], np.ones(1, dtype=bool)
        )
        info = {key: value[0].item() for key, value in told.items()}
        return seen[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> Array | None:  # type: ignore[override]  # one kind of picture
        """The arm as a picture, (height, width, 3) of bytes; None without `render_mode`."""
        if self.render_mode is None:
            return None
        _check_begun(self._begun, "ArmEnv", "render")
        self._picture = self._picture or Picture(self._episodes)
        return self._picture.of(0)

    @property
    def state(self) -> Array:
        """(q, qd) and states of drives, as of `flexarm.Stepper`."""
        return self._episodes.state[0].copy()

    @property
    def parameters(self) -> Array:
        """Of the arm of this episode, (k,); no numbers where its model does not vary."""
        return self._episodes.stepper.p[0]

    @property
    def duration(self) -> float:
        """Of an episode [s]."""
        return self._episodes.ground.duration

    @property
    def period(self) -> float:
        """[s]"""
        return self._episodes.ground.period

    @property
    def limit(self) -> Array:
        """What an action of 1 adds to each input, (m,) [N m, N or V]."""
        return self._episodes.ground.limit.copy()

    @property
    def holding(self) -> Array:
        """The input for an action of 0, (m,): what holds the arm at rest where it begins."""
        return self._episodes.ground.u.copy()


@final
class ArmVectorEnv(gymnasium.vector.VectorEnv[Array, Array, Array]):
    """Many arms with one task, eight at a time in native code: what `ArmEnv` is, N times.

    Parameters
    ----------
    num_envs : int
    autoreset_mode : gymnasium.vector.AutoresetMode or its value
        "NextStep" (default), "SameStep" or "Disabled", as of `gymnasium.vector.SyncVectorEnv`; where it is disabled,
        arms begin anew by `reset(options={"reset_mask": ...})`.
    others
        As of `ArmEnv`.

    Notes
    -----
    Environment i has the generator that `ArmEnv` has after `reset(seed=seed + i)`: its episodes are the same but for
    rounding.
    """

    metadata = METADATA

    def __init__(
        self,
        num_envs: int = 1,
        task: str = "Reach",
        arm: Any = None,
        scenario: Any = None,
        sensors: Any = None,
        period: float | None = None,
        duration: float | None = None,
        limit: Any = None,
        randomise: Any = None,
        weights: Any = None,
        method: str = "auto",
        rtol: float = 1e-4,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **own: Any,
    ):
        with refused("ArmVectorEnv"):
            self.num_envs = checked_whole(num_envs, 1, "num_envs")
        try:
            self._mode = AutoresetMode(autoreset_mode)
        except ValueError:
            allowed = ", ".join(repr(mode.value) for mode in AutoresetMode)
            message = f"ArmVectorEnv: autoreset_mode is {shown(autoreset_mode)}; it must be one of {allowed}"
            raise DescriptionError(message) from None
        given = task, arm, scenario, sensors, period, duration, limit, randomise, weights, method, rtol, own
        self._episodes = Episodes(self.num_envs, *given)
        self.metadata = _metadata(type(self).metadata, self._episodes, render_mode) | {"autoreset_mode": self._mode}
        self.render_mode = render_mode
        self.single_observation_space, self.single_action_space = _spaces(self._episodes)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.names, self.units, self.model = self._episodes.names, self._episodes.units, self._episodes.ground.model
        self._generators: list[np.random.Generator] = []
        self._ended = np.zeros(self.num_envs, dtype=bool)
        self._picture: Picture | None = None

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Episodes begin: of all, or of those of `options["reset_mask"]`, (N,) of bool; see `ArmEnv.reset`.

        Parameters
        ----------
        seed : int or list of N, optional
            Environment i has seed + i.
        """
        where = np.ones(self.num_envs, dtype=bool)
        if options is not None and not isinstance(options, dict):
            raise DescriptionError(f"ArmVectorEnv: options is {shown(options)}; it must be a dict")
        if options is not None and "reset_mask" in options:
            where = options["reset_mask"]
            if not isinstance(where, np.ndarray) or where.shape != (self.num_envs,) or where.dtype != bool:
                must = f"it must be an array of {self.num_envs} of true or false"
                raise DescriptionError(f"ArmVectorEnv: reset_mask is {shown(where)}; {must}")
        self._seed(seed, where)
        self._ended[where] = False
        seen = self._episodes.begin(where, self._generators)
        return seen, self._told(_parameters(self._episodes), where)

    def _seed(self, seed: int | list[int | None] | None, where: Array) -> None:
        """Generators of the chosen environments: those of their seeds, or as they are."""
        count = self.num_envs
        with refused("ArmVectorEnv.reset"):
            if isinstance(seed, list | tuple):
                seeds = [None if each is None else checked_whole(each, 0, f"seed[{i}]") for i, each in enumerate(seed)]
            else:
                first = None if seed is None else checked_whole(seed, 0, "seed")
                seeds = [None if first is None else first + i for i in range(count)]
        if len(seeds) != count:
            raise DescriptionError(f"ArmVectorEnv: {len(seeds)} seeds are given; there are {count} environments")
        if not self._generators:
            self._generators = [seeding.np_random(each)[0] for each in seeds]
        else:
            for i in np.flatnonzero(where):
                if seeds[i] is not None:
                    self._generators[i] = seeding.np_random(seeds[i])[0]
        if isinstance(seed, int):
            self._np_random_seed = seed

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """A period of each; see `ArmEnv.step`. What has ended begins anew as the mode says."""
        given = _action(actions, self.action_space)
        again = self._ended if self._mode is AutoresetMode.NEXT_STEP else np.zeros(self.num_envs, dtype=bool)
        if self._mode is AutoresetMode.DISABLED and self._ended.any():
            many = int(self._ended.sum())
            raise DescriptionError(f"ArmVectorEnv: {many} episodes have ended; reset them by options reset_mask")
        _check_begun(self._generators, "ArmVectorEnv", "step")
        given = np.where(again[:, None], 0.0, given)
        seen, reward, terminated, truncated, told = self._episodes.step(given, self._generators, ~again)
        there = np.ones(self.num_envs, dtype=bool)
        info = self._told(told, ~again)
        if again.any():
            seen = self._episodes.begin(again, self._generators)
            reward, terminated, truncated = (np.where(again, 0, x) for x in (reward, terminated, truncated))
            terminated, truncated = terminated.astype(bool), truncated.astype(bool)
            info |= self._told(_parameters(self._episodes), again)
        ended = terminated | truncated
        if self._mode is AutoresetMode.SAME_STEP and ended.any():
            final = np.full(self.num_envs, None, dtype=object)
            for i in np.flatnonzero(ended):
                final[i] = seen[i].copy()
            info = {"final_obs": final, "_final_obs": ended.copy(), "final_info": self._told(told, ended)}
            info["_final_info"] = ended.copy()
            info |= self._told(told, ~ended)
            seen = self._episodes.begin(ended, self._generators)
            info |= self._told(_parameters(self._episodes), ended)
        self._ended = np.zeros_like(there) if self._mode is AutoresetMode.SAME_STEP else ended
        return seen, reward, terminated, truncated, info

    def _told(self, told: dict[str, Array], where: Array) -> dict[str, Any]:
        """What is told of some environments, with masks, as Gymnasium has it; nothing of none."""
        found: dict[str, Any] = {}
        if not where.any():
            return found
        for key, value in told.items():
            kept = where.reshape(-1, *[1] * (value.ndim - 1))
            found |= {key: np.where(kept, value, np.zeros_like(value)), f"_{key}": where.copy()}
        return found

    def render(self) -> tuple[Array, ...] | None:  # type: ignore[override]
        """A picture of each; None without `render_mode`."""
        if self.render_mode is None:
            return None
        _check_begun(self._generators, "ArmVectorEnv", "render")
        self._picture = self._picture or Picture(self._episodes)
        return tuple(self._picture.of(i) for i in range(self.num_envs))

    @property
    def states(self) -> Array:
        """(q, qd) and states of drives of each, as of `flexarm.Stepper`."""
        return self._episodes.state.copy()

    @property
    def parameters(self) -> Array:
        """Of the arms, (N, k); no numbers where their model does not vary."""
        return self._episodes.stepper.p


def _check_begun(begun: object, who: str, what: str) -> None:
    if not begun:
        raise gymnasium.error.ResetNeeded(f"{who}: reset comes before {what}")


def _spaces(episodes: Episodes) -> tuple[Box, Box]:
    """Of observations and of actions."""
    width, inputs = len(episodes.names), len(episodes.ground.u)
    return Box(-DIVERGED, DIVERGED, (width,), np.float64), Box(-1.0, 1.0, (inputs,), np.float32)


def _metadata(known: dict[str, Any], episodes: Episodes, render_mode: str | None) -> dict[str, Any]:
    if render_mode is not None and not (isinstance(render_mode, str) and render_mode == "rgb_array"):
        raise DescriptionError(f"ArmEnv: render_mode is {shown(render_mode)}; it must be 'rgb_array' or None")
    return {**known, "render_fps": max(1, round(1.0 / episodes.ground.period))}


def _parameters(episodes: Episodes) -> dict[str, Array]:
    """What is told when an episode begins."""
    return {"parameters": episodes.stepper.p} if any(each is not None for each in episodes.ground.quantiles) else {}


def _action(action: Any, space: Any) -> Array:
    """An action, or one of each, as numbers; raises `DescriptionError`."""
    try:
        found = np.asarray(action, dtype=float)
    except (TypeError, ValueError):
        raise DescriptionError(f"ArmEnv: action is {shown(action)}; it must be numbers") from None
    if found.shape != space.shape:
        raise DescriptionError(f"ArmEnv: action has shape {found.shape}; it must be {space.shape}")
    if not np.isfinite(found).all():
        raise DescriptionError("ArmEnv: action contains NaN or infinity")
    return found
