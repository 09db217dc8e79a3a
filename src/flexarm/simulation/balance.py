"""Check of a run's energy balance: the integrator's error is compared with its tolerance."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import counted

if TYPE_CHECKING:
    from xarray import Dataset


WORST = 1e-3
"""Relative energy drift above which a run is not accurate: its plots are wrong by more than the width of a line."""

OF_RTOL = 100.0
"""A run with a coarse tolerance may drift by this many times its rtol, since the errors of many steps add."""

ROUNDING = 1e-11
"""Share of the energy at hand below which an exchange of energy is lost in the rounding of kinetic and potential."""

SMALLEST = 1e5
"""Rates below this many times atol [rad/s or m/s] are known to few digits, and so is their energy."""


def limit(rtol: float) -> float:
    """Return the relative energy drift above which a run warns."""
    return max(WORST, OF_RTOL * rtol)


def is_off(drift: float, scale: float, size: float, fastest: float, rtol: float, atol: float) -> bool:
    """Return whether a drift is an error of the integrator that matters.

    Parameters
    ----------
    drift, scale : float
        The attributes `energy_drift` and `energy_scale` [J] of a result.
    size : float
        Largest kinetic and potential energy of the run [J].
    fastest : float
        Largest rate of the run [rad/s or m/s].
    """
    most = limit(rtol)
    return drift > most and most * scale > ROUNDING * size and fastest > SMALLEST * atol


def exchanged(kinetic: Array, potential: Array, work: Array, dissipated: Array) -> tuple[Array, float]:
    """Return the error of the energy balance (times,) [J] and the energy exchanged [J]."""
    total = kinetic + potential - work + dissipated
    scale = np.max(kinetic + np.abs(potential - potential[0]) + np.abs(work) + dissipated, initial=0.0)
    return total - total[0], float(scale)


def unbalanced_states(
    t: Array, energies: tuple[Array, Array, Array, Array], qd: Array, rtol: float, atol: float, advice: str
) -> str:
    """Return the line of `unbalanced` for states at times t with their kinetic and potential energy, work and loss."""
    error, scale = exchanged(*energies)
    drift = float(np.abs(error).max()) / scale if scale > 0 else 0.0
    size = float((np.abs(energies[0]) + np.abs(energies[1])).max())
    if not is_off(drift, scale, size, np.abs(qd).max(initial=0.0), rtol, atol):
        return ""
    return _line(drift, scale, _since(t, error, scale, rtol), rtol, advice)


def _since(t: Array, error: Array, scale: float, rtol: float) -> str:
    """Return the time from which the error is too large, in words."""
    return f" from t = {float(t[int(np.argmax(np.abs(error) > limit(rtol) * scale))]):.4g} s on"


def _line(drift: float, scale: float, when: str, rtol: float, advice: str) -> str:
    said = f"the energy balance has an error of {drift:.2g} of the {scale:.3g} J exchanged{when}"
    return f"{said}, more than the allowed {limit(rtol):.2g}: {advice}"


def unbalanced(result: "Dataset", qd: Array, advice: str) -> str:
    """Return a line about a run's energy drift if it is too large, else "".

    Parameters
    ----------
    result : Dataset
    qd : (times, nv)
    advice : str
        Remedy for the drift.
    """
    drift, rtol = result.attrs.get("energy_drift", 0.0), result.attrs["rtol"]
    kept, size, when = result.variables, 0.0, ""
    if not drift > limit(rtol):
        return ""
    scale = result.attrs["energy_scale"]
    if "kinetic" in kept and "potential" in kept:
        size = float((np.abs(kept["kinetic"].values) + np.abs(kept["potential"].values)).max())
    if not is_off(drift, scale, size, np.abs(qd).max(initial=0.0), rtol, result.attrs["atol"]):
        return ""
    if "energy_error" in kept:
        when = _since(result.time.values, kept["energy_error"].values, scale, rtol)
    return _line(drift, scale, when, rtol, advice)


def advice(step: float, rtol: float, computed: bool) -> str:
    """Return what to do about an energy drift: step [s] is a fixed one, or 0; `computed`: Python gives an input."""
    if step > 0.0:
        return f"the step of {step:.3g} s is too long; use a shorter one, or a method that chooses its steps ('dop853')"
    jumps = ", and give jumps of functions as fa.Piecewise" if computed else ""
    return f"use a smaller rtol than {rtol:g}{jumps}"


@final
@dataclass
class Tally:
    """The runs of an ensemble whose energy balance is off, counted over its parts.

    Attributes
    ----------
    count : int
    worst, run : float, int
        The largest drift, and the number of its run.
    advice : str
        Remedy for this run.
    """

    count: int = 0
    worst: float = 0.0
    run: int = field(default=-1)
    advice: str = ""

    def add(self, runs: Array, drifts: Array, advice: Sequence[str]) -> None:
        """Add runs (k,) by their numbers, with their drifts (k,) and a remedy for each."""
        self.count += len(runs)
        if len(runs) and drifts.max() > self.worst:
            worst = int(np.argmax(drifts))
            self.worst, self.run, self.advice = float(drifts[worst]), int(runs[worst]), advice[worst]

    def warning(self, total: int, rtol: float) -> str:
        """Return one line about all counted runs, or "" if there is none."""
        if not self.count:
            return ""
        said = (
            f"the energy balance of {self.count} of {counted(total, 'run')} has an error of more than {limit(rtol):.2g}"
        )
        return f"{said} of the exchanged energy; the largest is {self.worst:.2g} in run {self.run}: {self.advice}"
