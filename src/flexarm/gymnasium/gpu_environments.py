"""Results of environments on a graphics processor in the form of Gymnasium."""

from collections.abc import Callable
from typing import Any, final

from flexarm.arrays import Array
from flexarm.gymnasium.episodes import Generators
from flexarm.gymnasium.gpu_episodes import GpuEpisodes, Period

NAMES = "error", "speed", "effort"
"""Names of the information about a period."""


@final
class OnGpu:
    """N environments on a graphics processor, with arrays of a library.

    Parameters
    ----------
    episodes : GpuEpisodes
    given : function
        From an object with DLPack to an array of the library.
    library : str
        Name of the library. JAX has no arrays with gaps, so that its flags are computed from words.
    """

    def __init__(self, episodes: GpuEpisodes, given: Callable[[Any], Any], library: str):
        self._episodes, self._given, self._library = episodes, given, library

    def begin(self, where: Array, generators: Generators, anew: Array) -> tuple[Any, dict[str, Any]]:
        """Begin episodes. Return the observations, and the parameters of the arms if some are random."""
        found = self._episodes.begin(where, generators, anew)
        return self._given(found.seen), self._parameters(found, self._flags(found)[-1])

    def step(self, actions: Any, generators: Generators) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Advance by a period. Return observations, rewards, terminated, truncated, and information.

        In "SameStep" the information about a period is that before the new episode, whose parameters it has.
        """
        found, given = self._episodes.step(actions, generators), self._given
        reward, *told = map(given, found.told)
        terminated, truncated, moved, success, begun = self._flags(found)
        info = dict(zip((*NAMES, "success"), (*told, success), strict=True))
        info |= {f"_{name}": moved for name in info} | self._parameters(found, begun)
        if self._episodes.same_step:
            info |= {"final_obs": given(found.final), "_final_obs": begun}
        return given(found.seen), reward, terminated, truncated, info

    def _flags(self, found: Period) -> list[Any]:
        if self._library == "jax":
            return [self._given(each) != 0 for each in found.words]
        return [self._given(each) for each in found.flags]

    def _parameters(self, found: Period, begun: Any) -> dict[str, Any]:
        if found.parameters is None:
            return {}
        return {"parameters": self._given(found.parameters), "_parameters": begun}

    @property
    def states(self) -> Array:
        """See `GpuEpisodes`."""
        return self._episodes.states

    @property
    def parameters(self) -> Array:
        """See `GpuEpisodes`."""
        return self._episodes.parameters
