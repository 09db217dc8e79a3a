"""Values that a study stores of each run: scalar outcomes of the motion, and optionally trajectories."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault, checked_names, choices, counted, shown, unknown_name
from flexarm.simulation import results
from flexarm.simulation.performance import BAND, performance

if TYPE_CHECKING:
    from xarray import Dataset


@final
@dataclass(frozen=True)
class Outcome:
    """A scalar outcome of a run.

    Attributes
    ----------
    unit, meaning : str
        Unit and meaning of the outcome.
    needs : tuple of str
        Variables of the run's result that the outcome needs.
    """

    unit: str
    meaning: str
    needs: tuple[str, ...]


FOLLOWED = ("q", "u", "tip", "power", *results.FOLLOWED)
PERFORMANCE = {
    "arrival": Outcome("s", "when the reference has arrived", FOLLOWED),
    "error": Outcome("rad or m", "largest error of a joint at the arrival", FOLLOWED),
    "settling": Outcome("s", "settling time after the arrival", FOLLOWED),
    "tip_settling": Outcome("s", "time after the arrival until the tip stays within 1 mm", FOLLOWED),
    "overshoot": Outcome("", "overshoot, as a share of the way", FOLLOWED),
    "residual": Outcome("m", "residual vibration of the tip", FOLLOWED),
    "peak": Outcome("N m or N", "largest input", FOLLOWED),
    "energy": Outcome("J", "energy of the inputs, braking counted like driving", FOLLOWED),
}
"""Outcomes of `fa.performance`, for a run that follows a reference."""

OTHERS: dict[str, tuple[Outcome, Callable[["Dataset"], float]]] = {
    "largest_deflection": (
        Outcome("m", "largest deflection of a link's tip", ("deflection",)),
        lambda run: float(np.linalg.norm(run.deflection.values, axis=-1).max(initial=0.0)),
    ),
    "largest_input": (
        Outcome("N m or N", "largest input", ("u",)),
        lambda run: float(np.abs(run.u.values).max(initial=0.0)),
    ),
    "effort": (
        Outcome("J", "integral of the inputs' power, braking counted like driving", ("power",)),
        lambda run: float(np.trapezoid(np.abs(run.power.values), run.time.values)),
    ),
    "energy_drift": (
        Outcome("", "error of the energies' balance, as a share", (*results.AUDIT,)),
        lambda run: float(run.attrs["energy_drift"]),
    ),
}
"""Outcomes of any run."""

RESERVED: tuple[str, ...] = ("run", "status", "run_lost", "parameter", "outcome", "indices_rows")
RESERVED += tuple(f"{order}{end}" for order in ("first_order", "total_order") for end in ("", "_low", "_high"))
"""Reserved names of a study's result."""

OUTCOMES = PERFORMANCE | {name: outcome for name, (outcome, _) in OTHERS.items()}
DEFAULT_FOLLOWING = ("error", "settling", "overshoot", "residual", "peak", "energy")
DEFAULT_FREE = ("largest_deflection", "largest_input", "effort")
TRAJECTORIES = (*results.VARIABLES, *results.FOLLOWED)


@final
@dataclass(frozen=True)
class Keep:
    """Names of the values that are stored of each run.

    Attributes
    ----------
    outcomes, trajectories : tuple of str
        Names of outcomes and of trajectories.
    band, after : float
        Arguments of `fa.performance`.
    """

    outcomes: tuple[str, ...]
    trajectories: tuple[str, ...]
    band: float = BAND
    after: float = 0.0

    def needs(self) -> tuple[str, ...]:
        """Return the variables of a run's result that must be computed."""
        needed = [name for outcome in self.outcomes for name in OUTCOMES[outcome].needs]
        return tuple(dict.fromkeys([*needed, *self.trajectories]))

    def numbers(self, run: "Dataset") -> dict[str, float]:
        """Return the outcomes of a completed run."""
        found: dict[str, float] = {}
        if wanted := [name for name in self.outcomes if name in PERFORMANCE]:
            worth = performance(run, self.band, self.after)
            found = {name: getattr(worth, name) for name in wanted}
        return found | {name: OTHERS[name][1](run) for name in self.outcomes if name in OTHERS}


def kept(names: object, follows: bool, band: float, after: float) -> Keep:
    """Return the values to store, from a list of names. By default they are the outcomes that fit the run. Raises
    `Fault`."""
    if names is None:
        return Keep(DEFAULT_FOLLOWING if follows else DEFAULT_FREE, (), band, after)
    given = checked_names(names, "a list of names", "keep")
    if not given:
        raise Fault("keep", f"is empty; it must name some of {choices(*OUTCOMES, *TRAJECTORIES)}")
    for name in given:
        if not isinstance(name, str) or (name not in OUTCOMES and name not in TRAJECTORIES):
            known = (*OUTCOMES, *TRAJECTORIES)
            raise Fault("keep", unknown_name("has the unknown name", name, known, "known names are"))
        if name in (*PERFORMANCE, *results.FOLLOWED) and not follows:
            raise Fault(
                "keep", f"has {shown(name)}, but the run has no reference; without one there are {', '.join(OTHERS)}"
            )
    given = list(dict.fromkeys(given))
    return Keep(
        tuple(name for name in given if name in OUTCOMES),
        tuple(name for name in given if name in TRAJECTORIES),
        band,
        after,
    )


class Rows:
    """Runs of a chunk, collected one after another into a dataset."""

    def __init__(self, count: int, keep: Keep):
        self._count, self._keep = count, keep
        self._status = ["not computed"] * count
        self._numbers = {name: np.full(count, np.nan) for name in keep.outcomes}
        self._paths: dict[str, Array] = {}
        self._labels: Any = None

    def failed(self, i: int, why: str) -> None:
        """Record that run i has failed."""
        self._status[i] = why

    def put(self, i: int, run: "Dataset") -> None:
        """Add the completed run i."""
        try:
            numbers = self._keep.numbers(run)
        except Exception as error:
            self.failed(i, str(error))
            return
        self._status[i] = "completed"
        for name, value in numbers.items():
            self._numbers[name][i] = value
        for name in self._keep.trajectories:
            values = run[name].values
            if name not in self._paths:
                self._paths[name] = np.full((self._count, *values.shape), np.nan)
            self._paths[name][i] = values
        if self._labels is None and self._keep.trajectories:
            self._labels = run[list(self._keep.trajectories)]

    def dataset(self) -> "Dataset":
        """Return all runs as a dataset with dimension run."""
        import xarray as xr

        found: Any = {name: ("run", values) for name, values in self._numbers.items()}
        found["status"] = ("run", np.array(self._status, dtype=object))
        coords: Mapping[str, Any] = {}
        for name, values in self._paths.items():
            found[name] = (("run", *self._labels[name].dims), values, self._labels[name].attrs)
            coords = self._labels.coords
        return xr.Dataset(found, coords=coords)


def of_function(value: object, count: int, names: Iterable[str]) -> "Dataset":
    """Return the result of a function for `count` runs, which is an array or a table of arrays. Raises `Fault`."""
    import xarray as xr

    table = value if isinstance(value, Mapping) else {"value": value}
    if not table:
        raise Fault("", "has returned an empty table; it must return outcomes")
    found: Any = {}
    for name, given in table.items():
        try:
            values = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise Fault("", f"has returned {shown(given)} for {shown(name)}; it must be numbers, one per run") from None
        if not isinstance(name, str) or name in names or name in RESERVED:
            raise Fault("", f"has returned an outcome called {shown(name)}; use another name")
        if values.shape[:1] != (count,):
            raise Fault(
                "",
                f"has returned shape {values.shape} for {shown(name)}; "
                f"its first axis must have {counted(count, 'run')}",
            )
        dims = ("run", *(f"{name}_{axis}" for axis in range(1, values.ndim)))
        found[name] = (dims, values)
    found["status"] = ("run", np.array(["completed"] * count, dtype=object))
    return xr.Dataset(found)
