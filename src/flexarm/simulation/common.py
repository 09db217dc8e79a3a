"""What all results of an arm have in common, found once: how its text reads, which links slide or bend, the last frame.

A run of half a millisecond would otherwise spend three on names that are the same for the next one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.description.arm import Arm, Link, Telescope

if TYPE_CHECKING:
    from xarray import Dataset

Array = np.ndarray

KEPT = 10_000
"""Times of the longest result whose frame is kept: of longer ones the numbers take more than the names."""

Data = dict[str, tuple[tuple[str, ...], Array, dict[str, str]]]
"""Variables by name: dimensions, values, attributes."""


@final
@dataclass(frozen=True)
class Frame:
    """A dataset without numbers but its times: names, units, labels.

    To fill a copy of it takes a quarter of the time in which xarray finds out again that all of it fits together.
    """

    described: Any
    times: Array
    empty: "Dataset"


@final
class Common:
    """What follows from an arm for every result; see `Traced.of_arm`.

    Attributes
    ----------
    canonical : str
        The arm as a line of JSON.
    rotors : str
        The conventions of its rotors' kinetic energy.
    sliding : ((i, link), ...)
        Beams that slide, with the position of their free length in local coordinates.
    bending : ((k, link), ...)
        Links in one piece that bend, with their numbers.
    """

    def __init__(self, arm: Arm):
        self.canonical = arm.canonical()
        self.rotors = ", ".join(sorted({getattr(link.joint, "rotor", "relative") for link in arm.links}))
        moved = {arm.layout[i].link: i for i in arm.joints}
        sliding = [(moved[k], link) for k, link in enumerate(arm.links) if isinstance(link.joint, Telescope)]
        self.sliding: tuple[tuple[int, Link], ...] = tuple(sliding)
        whole = [(k, link) for k, link in enumerate(arm.links) if not link.body.pieces]
        self.bending = tuple((k, link) for k, link in whole if any(link.body.counts.values()))
        self._frame: Frame | None = None

    def dataset(self, data: Data, labels: Any, times: Array, coords: Callable[[], dict[str, Any]]) -> "Dataset":
        """A dataset of these variables, without attributes.

        `labels` are what the coordinates depend on beside the arm, the variables' names and the times.
        """
        described = (labels, [(name, over, x.shape, about) for name, (over, x, about) in data.items()])
        frame = self._frame
        if frame is not None and frame.described == described and np.array_equal(frame.times, times):
            return frame.empty.copy(deep=True, data={name: x for name, (_, x, _) in data.items()})
        import xarray as xr

        made = xr.Dataset(data, coords=coords())
        if len(times) <= KEPT:
            nothing = {name: np.broadcast_to(0.0, x.shape) for name, (_, x, _) in data.items()}
            self._frame = Frame(described, times, made.copy(deep=True, data=nothing))
        return made
