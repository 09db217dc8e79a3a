"""Environments: one arm, and a vector of arms in native SIMD batches."""

from typing import Any, final

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from flexarm.arrays import Array
from flexarm.checks import checked_whole, counted, refused, shown
from flexarm.errors import DescriptionError
from flexarm.gymnasium.episodes import Episodes
from flexarm.gymnasium.gpu_environments import OnGpu
from flexarm.gymnasium.gpu_episodes import GpuEpisodes
from flexarm.gymnasium.libraries import arrays_of, check_device, numbers
from flexarm.gymnasium.picture import Picture
from flexarm.native.sincos import Real
from flexarm.simulation.rhs import DIVERGED

ONE = np.ones(1, dtype=bool)
"""Mask of the only arm."""

METADATA: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 50}
"""Metadata of the classes. An environment has one picture per period."""


@final
class ArmEnv(gymnasium.Env[Array, Array]):
    """An arm and a task, as an environment of Gymnasium.

    Parameters
    ----------
    task : "Reach", "Track" or "Suppress"
        Task.
    arm : str, path, Arm or Model, optional
        Name of a bundled arm, path of its file, or the arm itself. Default "subudhi-morris".
    scenario : str, path or Scenario, optional
        Scenario in place of an arm. It sets the arm, the initial state, the duration of an episode, the reference that
        `Track` follows, and the disturbance. Its input and its controller are left out.
    sensors : list of sensors, optional
        Observations, each sensor with its noise, resolution and sample time (a whole number of periods). Default:
        encoders and tachometers of the drives, deflections of the links' tips [m, rad], pose and velocities of a free
        base, and the position of the tip, except for `Suppress`.
    period : float, optional
        Time for which an action is constant [s]. Default: a twentieth of the slowest vibration's period, from 5 ms to
        0.1 s.
    duration : float, optional
        Duration of an episode [s]. Default: that of the scenario, or ten periods of the slowest vibration, at least
        5 s.
    limit : float or (m,), optional
        Change of the input for an action of 1, relative to the input that holds the arm in its initial state [N m, N or
        V]. Default: the limit of the motor, or the input that turns the joint by 1 rad from rest to rest in a fifth of
        the episode, or in two periods of the slowest vibration if that is longer.
    randomise : dict, optional
        Distributions by names of parameters, as in a study: {"payload.mass": ["0.5 kg", "1 kg"]}, {"*.EI": {"type":
        "uniform", "low": "-20 %", "high": "20 %"}}. Each episode has an arm of its own.
    weights : (3,), optional
        Weights of the error, of its velocity and of the effort in the reward. Default: 1, 0.1, 0.01.
    method, rtol : str, float
        As in `flexarm.Stepper`.
    render_mode : "rgb_array", optional
        Kind of pictures.
    spread : float
        For `Reach` and `Track`: largest distance of goals from the initial joints [rad].
    amplitude : float, optional
        For `Suppress`: amplitude of the vibration [m].

    Attributes
    ----------
    observation_space, action_space : Box
        Observations are sensor readings, then the target's position [m] (`Reach`, `Track`) and velocity [m/s]
        (`Track`), up to 1e12. Actions are from -1 to 1, one for each input: u = holding input + limit a.
    names, units : tuple of str
        Names and units of the observations.
    model : flexarm.Model
        Model of the arm.

    Raises
    ------
    DescriptionError
        If an argument is not valid.

    Notes
    -----
    The reward of a period is -(|e| + 0.1 |e'| T) / L - 0.01 mean(a^2), at least -5. Here e is the error of the tip [m],
    and L and T are the length and time scales of the task. An episode is truncated after its duration. It is terminated
    if a link bends by more than half its length or the motion cannot be computed. Each remaining period then counts as
    -5.
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
        """Begin an episode. Return the observation, and {"parameters": (k,)} of the arm if some are random."""
        super().reset(seed=seed)
        self._begun = True
        seen = self._episodes.begin(ONE, [self.np_random])
        return seen[0], {key: value[0] for key, value in _parameters(self._episodes).items()}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Advance by a period. Return the observation, the reward, terminated, truncated, and information.

        The information has "error" [m], "speed" [m/s], "effort" [1] and "success". Raises `DescriptionError` for an
        action of another shape, or one that is not finite, and Gymnasium's `ResetNeeded` if no episode has begun.
        """
        given = _action(action, self.action_space)
        _check_begun(self._begun, "ArmEnv", "step")
        seen, reward, terminated, truncated, told = self._episodes.step(
            given[None], [self.np_random], np.ones(1, dtype=bool)
        )
        info = {key: value[0].item() for key, value in told.items()}
        return seen[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> Array | None:  # type: ignore[override]  # only one kind of picture
        """Return a picture of the arm, (height, width, 3) of bytes, or None without `render_mode`."""
        if self.render_mode is None:
            return None
        _check_begun(self._begun, "ArmEnv", "render")
        self._picture = self._picture or Picture(self._episodes)
        return self._picture.of(0)

    @property
    def state(self) -> Array:
        """State (q, qd), and states of drives, as in `flexarm.Stepper`."""
        return self._episodes.state[0].copy()

    @property
    def parameters(self) -> Array:
        """Parameters of the arm of this episode, (k,), or an empty array if its model does not vary."""
        return self._episodes.stepper.p[0]

    @property
    def duration(self) -> float:
        """Duration of an episode [s]."""
        return self._episodes.ground.duration

    @property
    def period(self) -> float:
        """Period of the environment [s]."""
        return self._episodes.ground.period

    @property
    def limit(self) -> Array:
        """Change of each input for an action of 1, (m,) [N m, N or V]."""
        return self._episodes.ground.limit.copy()

    @property
    def holding(self) -> Array:
        """Inputs for an action of 0, (m,), which hold the arm at rest in its initial state."""
        return self._episodes.ground.u.copy()


@final
class ArmVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Many arms with one task, in native SIMD batches of eight: N times an `ArmEnv`.

    Parameters
    ----------
    num_envs : int
        Number of environments, N.
    autoreset_mode : gymnasium.vector.AutoresetMode or its value
        "NextStep" (default), "SameStep" or "Disabled", as in `gymnasium.vector.SyncVectorEnv`. With "Disabled",
        episodes begin by `reset(options={"reset_mask": ...})`.
    as_ : "numpy", "torch", "jax" or "dlpack"
        Library of observations, rewards and flags. Its arrays share their memory with the environment's results, which
        never change. Actions may be arrays of any of these libraries. Information consists of NumPy's arrays on the
        CPU. With device="gpu" it must be "torch", "jax" or "dlpack", also for the information.
    device : "cpu" or "gpu"
        Processor that moves the arms. On a graphics processor (extra `gpu`) nothing is copied to the host: see
        docs/do/gymnasium.md for what is supported.
    real : "double" or "float"
        Precision on a graphics processor, and the type of actions and observations there.
    others
        As in `ArmEnv`.

    Notes
    -----
    Environment i has the same generator as `ArmEnv` after `reset(seed=seed + i)`. Its episodes are equal up to
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
        as_: str = "numpy",
        device: str = "cpu",
        real: Real = "double",
        **own: Any,
    ):
        with refused("ArmVectorEnv"):
            self.num_envs = checked_whole(num_envs, 1, "num_envs")
            check_device(device, real, as_)
            self._given = arrays_of(as_)
        try:
            self._mode = AutoresetMode(autoreset_mode)
        except ValueError:
            allowed = ", ".join(repr(mode.value) for mode in AutoresetMode)
            message = f"ArmVectorEnv: autoreset_mode is {shown(autoreset_mode)}; it must be one of {allowed}"
            raise DescriptionError(message) from None
        given = task, arm, scenario, sensors, period, duration, limit, randomise, weights, method, rtol, own
        self._episodes = Episodes(self.num_envs if device == "cpu" else 1, *given)
        self.metadata = _metadata(type(self).metadata, self._episodes, render_mode) | {"autoreset_mode": self._mode}
        self._there: OnGpu | None = None
        if device == "gpu":
            if render_mode is not None or self._mode is AutoresetMode.DISABLED:
                wrong = "render_mode" if render_mode is not None else "autoreset_mode 'Disabled'"
                raise DescriptionError(f"ArmVectorEnv: device is 'gpu', which does not support {wrong}; use the CPU")
            same_step = self._mode is AutoresetMode.SAME_STEP
            self._there = OnGpu(GpuEpisodes(self._episodes, self.num_envs, same_step, real, rtol), self._given, as_)
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
    ) -> tuple[Any, dict[str, Any]]:
        """Begin episodes of all environments, or of those in `options["reset_mask"]`, (N,) of bool. See
        `ArmEnv.reset`.

        Parameters
        ----------
        seed : int or list of N, optional
            Seed. Environment i has seed + i.
        """
        where = np.ones(self.num_envs, dtype=bool)
        if options is not None and not isinstance(options, dict):
            raise DescriptionError(f"ArmVectorEnv: options is {shown(options)}; it must be a dict")
        if options is not None and "reset_mask" in options:
            where = options["reset_mask"]
            if not isinstance(where, np.ndarray) or where.shape != (self.num_envs,) or where.dtype != bool:
                must = f"it must be an array of {counted(self.num_envs, 'boolean')}"
                raise DescriptionError(f"ArmVectorEnv: reset_mask is {shown(where)}; {must}")
        anew = self._seed(seed, where)
        if self._there is not None:
            return self._there.begin(where, self._generators, anew)
        self._ended[where] = False
        seen = self._episodes.begin(where, self._generators)
        return self._given(seen), self._told(_parameters(self._episodes), where)

    def _seed(self, seed: int | list[int | None] | None, where: Array) -> Array:
        """Set the generators of the chosen environments from their seeds. Without a seed, generators stay unchanged.

        Return True for those that are new, (N,).
        """
        count, anew = self.num_envs, np.zeros(self.num_envs, dtype=bool)
        with refused("ArmVectorEnv.reset"):
            if isinstance(seed, list | tuple):
                seeds = [None if each is None else checked_whole(each, 0, f"seed[{i}]") for i, each in enumerate(seed)]
            else:
                first = None if seed is None else checked_whole(seed, 0, "seed")
                seeds = [None if first is None else first + i for i in range(count)]
        if len(seeds) != count:
            raise DescriptionError(
                f"ArmVectorEnv: {counted(len(seeds), 'seed')} for {counted(count, 'environment')}; give one for each"
            )
        if not self._generators:
            self._generators = [seeding.np_random(each)[0] for each in seeds]
            anew[:] = True
        else:
            for i in np.flatnonzero(where):
                if seeds[i] is not None:
                    self._generators[i] = seeding.np_random(seeds[i])[0]
                    anew[i] = True
        if isinstance(seed, int):
            self._np_random_seed = seed
        return anew

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Advance each environment by a period, see `ArmEnv.step`. Ended episodes begin again according to the mode."""
        if self._there is not None:
            _check_begun(self._generators, "ArmVectorEnv", "step")
            return self._there.step(actions, self._generators)
        given = _action(actions, self.action_space)
        again = self._ended if self._mode is AutoresetMode.NEXT_STEP else np.zeros(self.num_envs, dtype=bool)
        if self._mode is AutoresetMode.DISABLED and self._ended.any():
            many = int(self._ended.sum())
            raise DescriptionError(f"ArmVectorEnv: {counted(many, 'episode')} ended; reset with the option reset_mask")
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
        seen, reward, terminated, truncated = map(self._given, (seen, reward, terminated, truncated))
        return seen, reward, terminated, truncated, info

    def _told(self, told: dict[str, Array], where: Array) -> dict[str, Any]:
        """Return information on some environments with masks, as Gymnasium requires, or nothing for none."""
        found: dict[str, Any] = {}
        if not where.any():
            return found
        for key, value in told.items():
            kept = where.reshape(-1, *[1] * (value.ndim - 1))
            found |= {key: np.where(kept, value, np.zeros_like(value)), f"_{key}": where.copy()}
        return found

    def render(self) -> tuple[Array, ...] | None:  # type: ignore[override]
        """Return a picture of each arm, or None without `render_mode`."""
        if self.render_mode is None:
            return None
        _check_begun(self._generators, "ArmVectorEnv", "render")
        self._picture = self._picture or Picture(self._episodes)
        return tuple(self._picture.of(i) for i in range(self.num_envs))

    @property
    def states(self) -> Array:
        """States (q, qd), and states of drives, of each arm, as in `flexarm.Stepper`. Those of a device are copied."""
        return self._there.states if self._there is not None else self._episodes.state.copy()

    @property
    def parameters(self) -> Array:
        """Parameters of the arms, (N, k), or an empty array if their model does not vary.

        Those of a device are copied.
        """
        return self._there.parameters if self._there is not None else self._episodes.stepper.p


def _check_begun(begun: object, who: str, what: str) -> None:
    if not begun:
        raise gymnasium.error.ResetNeeded(f"{who}: call reset before {what}")


def _spaces(episodes: Episodes) -> tuple[Box, Box]:
    """Return the spaces of observations and of actions."""
    width, inputs = len(episodes.names), len(episodes.ground.u)
    return Box(-DIVERGED, DIVERGED, (width,), np.float64), Box(-1.0, 1.0, (inputs,), np.float32)


def _metadata(known: dict[str, Any], episodes: Episodes, render_mode: str | None) -> dict[str, Any]:
    if render_mode is not None and not (isinstance(render_mode, str) and render_mode == "rgb_array"):
        raise DescriptionError(f"ArmEnv: render_mode is {shown(render_mode)}; it must be 'rgb_array' or None")
    return {**known, "render_fps": max(1, round(1.0 / episodes.ground.period))}


def _parameters(episodes: Episodes) -> dict[str, Array]:
    """Return the information at the beginning of an episode."""
    return {"parameters": episodes.stepper.p} if any(each is not None for each in episodes.ground.quantiles) else {}


def _action(action: Any, space: Any) -> Array:
    """Return an action, or one for each environment, as numbers. Raises `DescriptionError`."""
    try:
        found = numbers(action)
    except BufferError:
        where = f"is on the device {getattr(action, 'device', 'of another library')}"
        raise DescriptionError(f"ArmEnv: action {where}; arms move on the CPU: call .cpu() first") from None
    except (TypeError, ValueError):
        raise DescriptionError(f"ArmEnv: action is {shown(action)}; it must be numbers") from None
    if found.shape != space.shape:
        raise DescriptionError(f"ArmEnv: action has shape {found.shape}; it must be {space.shape}")
    if not np.isfinite(found).all():
        raise DescriptionError("ArmEnv: action contains NaN or infinity")
    return found
