"""Settings of an exported controller: the scaling of raw readings, and the reaction of its watchdog."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.checks import (
    POSITIVE,
    Fault,
    checked_array,
    checked_number,
    checked_numbers,
    checked_whole,
    counted,
    refused,
    shown,
    unknown_name,
)
from flexarm.control.predictive_horizon import Limits
from flexarm.simulation.law import limits
from flexarm.simulation.sampled import Sampled

MOST_MISSES = 1_000_000
"""Largest number of samples for which the last readings may be used; the C code counts in 32 bits."""


@dataclass(frozen=True)
class Settings:
    """Settings of an exported controller, checked.

    Attributes
    ----------
    gains, offsets : (k,)
        Readings are gain * raw + offset.
    safe : (m,)
        Outputs after a failure.
    slew : (m,) or None
        Largest change of an output in a period on the way to `safe`.
    misses : int
        Number of consecutive faulty samples for which the controller continues.
    jitter : float
        Largest difference of the time between two samples from the period [s].
    """

    gains: Array
    offsets: Array
    safe: Array
    slew: Array | None
    misses: int
    jitter: float

    @property
    def scaled(self) -> bool:
        """True if readings differ from raw readings."""
        return bool((self.gains != 1.0).any() or self.offsets.any())


def settings_of(
    where: str,
    loop: Sampled,
    planned: Limits | None,
    names: Sequence[str],
    actuators: int,
    scale: Mapping[str, Any] | None,
    safe: ArrayLike,
    misses: int,
    jitter: float | None,
) -> Settings:
    """Return the checked settings of a controller whose readings have these names. Raises `DescriptionError`.

    The limits of the loop, and those of predictive control (`planned`), hold for the outputs after a failure as well.
    """
    with refused(where):
        gains, offsets = _scale(scale, names)
        u = _safe(safe, actuators)
        most, slews = (
            np.full(actuators, np.inf) if given is None else limits(name, given, actuators)
            for name, given in (("limit", loop.limit), ("rate_limit", loop.rate_limit))
        )
        period = float(loop.period)
        slews = slews * period
        if planned is not None:
            most, slews = np.minimum(most, planned.u), np.minimum(slews, planned.rate)
        if (np.abs(u) > most).any():
            worst = int(np.argmax(np.abs(u) - most))
            raise Fault("safe", f"is {u[worst]:g} for one actuator; it must be within its limit of {most[worst]:g}")
        if checked_whole(misses, 0, "misses") > MOST_MISSES:
            raise Fault("misses", f"is {shown(misses)}; it must be at most {MOST_MISSES}")
        late = period / 2 if jitter is None else checked_number(jitter, "s", POSITIVE, "jitter")
    return Settings(gains, offsets, u, slews if np.isfinite(slews).any() else None, misses, late)


def _safe(safe: ArrayLike, actuators: int) -> Array:
    given = checked_array(safe, "safe")
    if given.shape not in ((), (actuators,)):
        raise Fault("safe", f"has shape {given.shape}; it must be one number, or {counted(actuators, 'number')}")
    return np.broadcast_to(given, (actuators,))


def _scale(scale: Mapping[str, Any] | None, names: Sequence[str]) -> tuple[Array, Array]:
    """Return gains and offsets (k,), from a number or a pair for each name."""
    gains, offsets = np.ones(len(names)), np.zeros(len(names))
    if not (scale is None or isinstance(scale, Mapping)):
        raise Fault("scale", f"is {shown(scale)}; it must be a dict of gains by the name of a signal")
    for name, value in (scale or {}).items():
        if name not in names:
            raise Fault("scale", unknown_name("has the unknown name", name, names, "the controller reads"))
        part = f"scale[{name!r}]"
        pair = (
            checked_numbers(value, part=part)
            if isinstance(value, list | tuple)
            else (checked_number(value, part=part),)
        )
        if len(pair) > 2:
            raise Fault(part, f"has {counted(len(pair), 'number')}; it must be a gain, or a gain and an offset")
        if pair[0] == 0.0:
            raise Fault(part, "is 0; the gain of a raw reading must not be zero")
        at = names.index(name)
        gains[at], offsets[at] = pair[0], pair[1] if len(pair) > 1 else 0.0
    return gains, offsets
