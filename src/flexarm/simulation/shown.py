"""Signals that a law publishes while it is traced: its measurements, estimates and memory.

A law's expression calls `show` with signals that may be recorded. The calls have no effect unless a run requests a
record. The law is then traced once more while the signals are collected.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, final

from flexarm.checks import checked_instance, counted, refused, shown
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.sensors import outputs
from flexarm.simulation.results import EVERY, LABELS, MOMENTA, OF_A_RUN, RATES

TAKEN = {*EVERY, *LABELS, *RATES, *OF_A_RUN, *(f"{name}_drift" for name in (*MOMENTA, "quaternion"))}
TAKEN |= {"time", "role", "state", "state_unit", "exogenous", "exogenous_unit", "joint", "run", "parameter"}
"""Names with another meaning in a result."""


@final
@dataclass(frozen=True)
class Shown:
    """Numbers that a law publishes under a name.

    Attributes
    ----------
    values : column
    signals : names of its entries
    unit : str
    """

    values: Any
    signals: tuple[str, ...]
    unit: str


@final
@dataclass(frozen=True)
class Collected:
    """Published signals by name."""

    found: dict[str, Shown] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Reading:
    """A signal of a sensor that a law reads.

    Attributes
    ----------
    unit : str
    resolution : float
        Resolution of the sensor, 0 for none.
    symbol : SX
        Symbol that takes the place of the reading.
    expression : SX
        The reading as an expression of the law's arguments, with noise and rounding.
    """

    unit: str
    resolution: float
    symbol: Any
    expression: Any


_READINGS: ContextVar[dict[str, Reading] | None] = ContextVar("readings from outside", default=None)

_COLLECTING: ContextVar[Collected | None] = ContextVar("what laws show", default=None)


@contextmanager
def collecting() -> Iterator[dict[str, Shown]]:
    """Collect the signals that are published within the context, by name."""
    mine = Collected()
    token = _COLLECTING.set(mine)
    try:
        yield mine.found
    finally:
        _COLLECTING.reset(token)


def show(name: str, values: Any, signals: Sequence[str] | None = None, unit: str = "", once: bool = False) -> None:
    """Publish a signal within a law's expression, so that `simulate(..., record=[name])` can record it.

    Parameters
    ----------
    name : str
        Name of the variable in the result. If a second law uses the same name, its signal is "name_2".
    values : column, or list of scalars
        Expressions of the law's arguments.
    signals : list of str, optional
        Names of the entries; default "name_1", ...
    unit : str
    once : bool
        True: an earlier signal of this name stays. The command of an inner law is thus that before any limit.

    Raises `DescriptionError` for a name that is not an identifier or has a meaning in a result, or for a wrong number
    of signals.
    """
    import casadi as ca

    with refused("show"):
        checked_instance(name, str, "name")
    if not name.isidentifier() or name in TAKEN:
        must = "it must be a word that a result does not use already"
        raise DescriptionError(f"show: name is {shown(name)}; {must}")
    collected = _COLLECTING.get()
    if collected is None or (once and name in collected.found):
        return
    column = ca.densify(ca.SX(ca.vertcat(*values) if isinstance(values, list | tuple) else values))
    names = tuple(f"{name}_{i + 1}" for i in range(column.numel())) if signals is None else tuple(signals)
    if len(names) != column.numel():
        raise DescriptionError(
            f"show: {name} has {counted(column.numel(), 'number')} "
            f"and {counted(len(names), 'name')}; give one name for each number"
        )
    called, number = name, 1
    while called in collected.found:
        number += 1
        called = f"{name}_{number}"
    collected.found[called] = Shown(column, names, unit)


@contextmanager
def readings_apart() -> Iterator[dict[str, Reading]]:
    """Let laws that are traced within the context read their sensors from outside: symbols replace the readings.

    Yields the readings by the names of their signals.
    """
    found: dict[str, Reading] = {}
    token = _READINGS.set(found)
    try:
        yield found
    finally:
        _READINGS.reset(token)


def apart() -> dict[str, Reading] | None:
    """Return the readings of this context of `readings_apart` so far; None outside of such a context."""
    return _READINGS.get()


def read(y: Any, model: Model, sensors: Sequence[Any]) -> Any:
    """Publish the readings of sensors as "measured", and return them as a column.

    Within `readings_apart` the result is a column of symbols. A signal that several laws read has one symbol.

    Parameters
    ----------
    y : column
        Expressions of the readings, with noise and rounding.
    model : Model
    sensors : list of sensors

    Raises `DescriptionError` within `readings_apart` if two sensors of the same name differ in resolution.
    """
    import casadi as ca

    names = model.output_names(sensors)
    show("measured", y, names, "as the sensors'")
    found = _READINGS.get()
    if found is None:
        return y
    resolutions = [float(getattr(each, "resolution", 0.0) or 0.0) for each in sensors for _ in each.names(model.arm)]
    for name, unit, resolution, each in zip(
        names, outputs(model, sensors).units, resolutions, ca.vertsplit(y), strict=True
    ):
        there = found.setdefault(name, Reading(unit, resolution, ca.SX.sym(name), each))
        if there.resolution != resolution:
            both = f"{there.resolution:g} and {resolution:g}"
            must = "give the sensors the same resolution, or different names"
            raise DescriptionError(f"two sensors read {name!r} with the resolutions {both}; {must}")
    return ca.vertcat(*(found[name].symbol for name in names))
