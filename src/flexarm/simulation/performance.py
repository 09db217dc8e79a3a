"""Performance of a motion: settling, overshoot, residual vibration, effort."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import NOT_NEGATIVE, POSITIVE, checked_number, checked_result, refused
from flexarm.errors import DescriptionError

LARGEST = 1e40
"""Largest size of a coordinate or a position that is evaluated, in SI units."""

REST = 0.1
"""Share of the run, at its end, in which the tip must be at rest if it has settled."""

AT_REST = 1e-9
"""A reference counts as arrived if its remaining displacement is at most this share of the whole."""


BAND = 0.02
"""Share of its displacement within which a joint counts as settled."""

WITHIN = 1e-3
"""Distance within which the tip counts as settled [m]."""


@final
@dataclass(frozen=True)
class Performance:
    """Performance of a run that follows a reference from rest to rest.

    Attributes
    ----------
    arrival : float
        Time at which the reference arrives [s].
    error : float
        Largest error of a joint at that time [rad or m].
    settling : float
        Time from the arrival until every joint stays within a band about its end [s]; infinite if one never does.
    tip_settling : float
        Time from the arrival until the tip stays within a distance of where it is at the end of the run [s]. Infinite
        if the tip still moves by more than this distance in the last tenth of the run.
    overshoot : float
        Largest distance that a joint goes beyond its end, as a share of its displacement.
    residual : float
        Amplitude of the tip after the arrival: half the diagonal of the box in which it stays [m].
    peak : float
        Largest input [N m or N].
    energy : float
        Integral of the size of the inputs' power, so that braking counts like driving [J].
    """

    arrival: float
    error: float
    settling: float
    tip_settling: float
    overshoot: float
    residual: float
    peak: float
    energy: float


def performance(result: Any, band: float = BAND, after: float = 0.0, within: float = WITHIN) -> Performance:
    """Return the performance of a result that follows a reference.

    Parameters
    ----------
    result : xarray.Dataset
        Result of `simulate`, with a reference (`q_ref`).
    band : float
        A joint counts as settled within this share of its displacement.
    after : float
        Time after the arrival at which the residual vibration begins to count [s].
    within : float
        Distance within which the tip counts as settled [m].

    Raises
    ------
    DescriptionError
        The result has no reference, the reference does not move, or the run ends with its arrival.
    """
    with refused("performance"):
        checked_result(result, ("q", "u", "tip", "power", "role"))
        checked_number(band, "", POSITIVE, "band")
        checked_number(after, "s", NOT_NEGATIVE, "after")
        checked_number(within, "m", POSITIVE, "within")
    if "q_ref" not in result:
        kept = ", and with q_ref in keep" if "kept" in result.attrs else ""
        raise DescriptionError(f"performance: the result has no reference; simulate with one{kept}")
    t = result.time.values
    # a result from a file may have numbers of other types
    wanted, q, tip = (result[name].values.astype(float) for name in ("q_ref", "q", "tip"))
    q = q[:, result.role.values == "joint"]
    for name, values in (("q_ref", wanted), ("q", q), ("tip", tip)):
        if not (np.abs(values) < LARGEST).all():
            raise DescriptionError(f"performance: {name} of the result is not finite, or extremely large")
    way = wanted[-1] - wanted[0]
    if not way.any():
        raise DescriptionError("performance: the reference does not move; give one that does")
    still = (np.abs(wanted - wanted[-1]) <= AT_REST * np.abs(way).max()).all(axis=1)
    first = int(np.argmax(still))
    tail = np.flatnonzero(t >= t[first] + after)
    if first == len(t) - 1 or len(tail) < 2:
        raise DescriptionError("performance: the run ends when the reference arrives; simulate longer")
    moving = way != 0
    off = np.abs(q - wanted[-1])[:, moving] / np.abs(way[moving])
    beyond = (q - wanted[-1])[:, moving] * np.sign(way[moving]) / np.abs(way[moving])
    spread = np.linalg.norm(np.ptp(tip[tail], axis=0)) / 2
    far = np.linalg.norm(tip - tip[-1], axis=1) > within
    return Performance(
        arrival=float(t[first]),
        error=float(np.abs(q[first] - wanted[first]).max()),
        settling=_settling(t, (off > band).any(axis=1), t[first]),
        tip_settling=np.inf if far[t >= t[-1] - REST * (t[-1] - t[0])].any() else _settling(t, far, t[first]),
        overshoot=float(max(0.0, beyond.max())),
        residual=float(spread),
        peak=float(np.abs(result.u.values).max()),
        energy=float(np.trapezoid(np.abs(result.power.values), t)),
    )


def _settling(t: Array, outside: Array, arrival: float) -> float:
    """Return the time from the arrival until a condition holds no more [s]; infinite if it holds at the end."""
    last = np.flatnonzero(outside)
    if not len(last):
        return 0.0
    return np.inf if last[-1] == len(t) - 1 else max(0.0, float(t[last[-1] + 1] - arrival))
