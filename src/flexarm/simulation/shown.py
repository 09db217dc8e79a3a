"""What a law shows of itself while it is traced: what it measures, estimates, remembers.

A law's expression calls `show` with what may be recorded. Nothing comes of it but where a run is asked for a record:
then the law is traced once more while somebody collects, whatever stands around it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, final

from flexarm.checks import checked_instance, refused, shown
from flexarm.errors import DescriptionError
from flexarm.simulation.results import EVERY, LABELS, MOMENTA, OF_A_RUN, RATES

TAKEN = {*EVERY, *LABELS, *RATES, *OF_A_RUN, *(f"{name}_drift" for name in (*MOMENTA, "quaternion"))}
TAKEN |= {"time", "role", "state", "state_unit", "exogenous", "exogenous_unit", "joint", "run", "parameter"}
"""Names that mean something else in a result."""


@final
@dataclass(frozen=True)
class Shown:
    """Numbers that a law shows under a name.

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
    """What has been shown, by its name."""

    found: dict[str, Shown] = field(default_factory=dict)


_COLLECTING: ContextVar[Collected | None] = ContextVar("what laws show", default=None)


@contextmanager
def collecting() -> Iterator[dict[str, Shown]]:
    """What is shown meanwhile, by its name."""
    mine = Collected()
    token = _COLLECTING.set(mine)
    try:
        yield mine.found
    finally:
        _COLLECTING.reset(token)


def show(name: str, values: Any, signals: Sequence[str] | None = None, unit: str = "", once: bool = False) -> None:
    """Say within a law's expression what may be recorded of it: `simulate(..., record=[name])`.

    Parameters
    ----------
    name : str
        Of the variable in the result; a second law that shows the same shows "name_2".
    values : column, or list of scalars
        Expressions of what the law is given.
    signals : list of str, optional
        Names of the entries; default "name_1", ...
    unit : str
    once : bool
        What has been shown by this name before, stays: the command of an inner law is that before any limit.

    Raises `DescriptionError` for a name that is no word or has a meaning in a result, or signals that are too few.
    """
    import casadi as ca

    with refused("show"):
        checked_instance(name, str, "name")
    if not name.isidentifier() or name in TAKEN:
        must = "it must be a word that means nothing else in a result"
        raise DescriptionError(f"show: name is {shown(name)}; {must}")
    collected = _COLLECTING.get()
    if collected is None or (once and name in collected.found):
        return
    column = ca.densify(ca.SX(ca.vertcat(*values) if isinstance(values, list | tuple) else values))
    names = tuple(f"{name}_{i + 1}" for i in range(column.numel())) if signals is None else tuple(signals)
    if len(names) != column.numel():
        raise DescriptionError(
            f"show: {name} has {column.numel()} numbers and {len(names)} signals; it must be as many"
        )
    called, number = name, 1
    while called in collected.found:
        number += 1
        called = f"{name}_{number}"
    collected.found[called] = Shown(column, names, unit)
