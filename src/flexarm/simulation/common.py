"""Properties that all results of an arm share: its JSON text, sliding and bending links, and an empty dataset.

They are computed once. Otherwise a run of half a millisecond would take three more for names that never change.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.description.arm import Arm, Link, Telescope

if TYPE_CHECKING:
    from xarray import Dataset


KEPT = 10_000
"""Largest number of times for which the frame of a result is cached. In longer results the numbers dominate the
cost."""

Data = dict[str, tuple[tuple[str, ...], Array, dict[str, str]]]
"""Variables by name: dimensions, values and attributes."""


@final
@dataclass(frozen=True)
class Frame:
    """A dataset with times, names, units and labels, but without other numbers.

    To fill a copy of a frame takes a quarter of the time that xarray needs to build and check a new dataset.
    """

    described: Any
    times: Array
    empty: "Dataset"
    plain: tuple[str, ...]
    """Names of the coordinates that are no index."""


@final
class Common:
    """Properties of an arm that every result needs; see `Traced.of_arm`.

    Attributes
    ----------
    canonical : str
        The arm as a line of JSON.
    rotors : str
        The conventions of its rotors' kinetic energy.
    sliding : ((i, link), ...)
        Sliding beams, with the index of their free length in local coordinates.
    bending : ((k, link), ...)
        Flexible links in one piece, with their indices.
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
        """Return a dataset of these variables, without attributes.

        `labels` are all data that the coordinates depend on, except the arm, the variables' names and the times.
        """
        described = (labels, [(name, over, x.shape, about) for name, (over, x, about) in data.items()])
        frame = self._frame
        if frame is not None and frame.described == described and np.array_equal(frame.times, times):
            found = frame.empty.copy(deep=False, data={name: x for name, (_, x, _) in data.items()})
            for name in frame.plain:  # labels of an index cannot be written, these can
                found.variables[name].values = found.variables[name].values.copy()
            return found
        import xarray as xr

        from flexarm.simulation import labels

        made = xr.Dataset(data, coords=coords())
        if len(times) <= KEPT:
            nothing = {name: np.broadcast_to(0.0, x.shape) for name, (_, x, _) in data.items()}
            empty = made.copy(deep=True, data=nothing)
            plain = tuple(str(name) for name in empty.coords if name not in empty.indexes)
            self._frame = Frame(described, times, empty, plain)
        return made
