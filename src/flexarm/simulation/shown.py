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
