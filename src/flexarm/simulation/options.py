"""Rarely used options of `simulate` and `simulate_many`: settings of the integration, and what a result contains."""

import warnings
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import chain
from typing import Annotated, Any, Self, final

from pydantic import BeforeValidator, model_validator

from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    Described,
    Fault,
    checked_number,
    did_you_mean,
    faulted,
    number,
    optional_number,
    refused,
    shown,
    unknown_name,
)
from flexarm.errors import DescriptionError
from flexarm.renamed import level_of_caller
from flexarm.simulation import solvers
from flexarm.simulation.dataset import checked_keep, checked_record

MOST_STEPS = 1e12
"""Largest number of fixed steps in a run: about a day, at a tenth of a microsecond per step."""


def _method(value: object) -> str:
    known = ("auto", *solvers.names())
    if isinstance(value, str) and value in solvers.FORMER:
        now = solvers.FORMER[value]
        said = f"method {value!r} is deprecated; {now!r} takes its place"
        warnings.warn(said, DeprecationWarning, stacklevel=level_of_caller())
        return now
    if not isinstance(value, str) or value not in known:
        raise Fault("", unknown_name("is", value, known, "it must be one of"))
    return value


def _samples(value: object) -> int:
    count = checked_number(value)
    if count != int(count) or count < 2:
        raise Fault("", f"is {shown(value)}; it must be a whole number, at least 2")
    return int(count)


Keep = Annotated[tuple[str, ...] | None, BeforeValidator(checked_keep)]
Record = Annotated[tuple[str, ...], BeforeValidator(checked_record)]
"""Fields with the variables to keep and the signals to record."""


@final
class Solver(Described):
    """Settings of the integration: the argument `solver` of `simulate`, and the table `[solver]` of a scenario's file.

    Parameters
    ----------
    method : str
        "auto" (default), which chooses by the cost of the run, or one of the methods of `simulate`.
    rtol, atol : float
        Relative and absolute tolerance of every coordinate and rate.
    step : float, optional
        Longest step [s]. Methods with fixed steps, such as "rk4", need one. It replaces the step control of implicit
        methods.
    spectral_radius : float, optional
        Option of "generalized-alpha" for modes much faster than its step: 1 (default, the trapezoidal rule) conserves
        their energy, 0 removes it in one step.
    """

    method: Annotated[str, BeforeValidator(_method)] = "auto"
    rtol: Annotated[float, number("", POSITIVE)] = 1e-8
    atol: Annotated[float, number("", POSITIVE)] = 1e-10
    step: Annotated[float | None, optional_number("s", POSITIVE)] = None
    spectral_radius: Annotated[float | None, optional_number("", NOT_NEGATIVE)] = None

    @model_validator(mode="after")
    def _options_fit_the_method(self) -> Self:
        if "method" in self.model_fields_set:  # else it may stand beside, as in simulate(method="rk4", solver=...)
            self.check()
        return self

    def check(self) -> None:
        """Raise `Fault` if an option does not fit the method."""
        if solvers.fixed(self.method) and self.step is None:
            raise Fault("step", f"is missing; method {self.method!r} needs one, as step = 1e-3 in its solver")
        if self.method not in solvers.IMPLICIT and not solvers.fixed(self.method) and self.step is not None:
            raise Fault(
                "step", f"is {self.step} s; method {self.method!r} chooses its own steps: leave it out, or use 'rk4'"
            )
        radius = self.spectral_radius
        if radius is not None and not (self.method == solvers.DISSIPATIVE and radius <= 1.0):
            must = f"it must be from 0 to 1, and applies only to the method {solvers.DISSIPATIVE!r}"
            raise Fault("spectral_radius", f"is {radius}; {must}")


@final
class SaveAt(Described):
    """Contents of the result of a run: the argument `save` of `simulate` and `simulate_many`.

    Parameters
    ----------
    samples : int
        Number of times in the result, both ends of the run included.
    keep : list of str, optional
        The variables of the result, as ["q", "tip"]; default all. Other variables are neither computed nor compiled.
        `energy_drift` requires kinetic, potential or energy_error.
    record : list of str, optional
        Signals of the controller in the result, constant between samples: "command", u before limits and delay;
        "memory", if it has one; and the controller's own signals, as "measured" and "estimate" of an `Observed`. Each
        becomes a variable, as `measured (time, measured_signal)`.
    """

    samples: Annotated[int, BeforeValidator(_samples)] = 1001
    keep: Keep = None
    record: Record = ()


MOVED: dict[str, tuple[str, type[Described]]] = {
    "atol": ("solver", Solver),
    "step": ("solver", Solver),
    "spectral_radius": ("solver", Solver),
    "keep": ("save", SaveAt),
    "record": ("save", SaveAt),
}
"""Former arguments of `simulate` by name, with the argument and the class that contain them now."""


def options(
    function: str,
    solver: Solver | None,
    save: SaveAt | None,
    common: Mapping[str, Any],
    former: Mapping[str, Any],
    stacklevel: int = 3,
) -> tuple[Solver, SaveAt]:
    """Return the options of a run from the arguments of `function`.

    Raises `Fault` for a value, and `TypeError` for an argument that does not exist.

    Parameters
    ----------
    solver, save : Solver, SaveAt or None
        The arguments of the same names.
    common : dict
        The values of `method`, `rtol` and `samples`, or None. They replace those in `solver` and `save`.
    former : dict
        The other arguments, which must be among `MOVED`. Each gives a `DeprecationWarning`.
    stacklevel : int
        Number of callers from here to the code of the user, as in `warnings.warn`.
    """
    settings = {name: value for name, value in common.items() if value is not None}
    for name, value in former.items():
        if name not in MOVED:
            hint = did_you_mean(name, MOVED)
            raise TypeError(f"{function}() has no argument {name!r}{f'; {hint}' if hint else ''}")
        argument, cls = MOVED[name]
        said = f"{function}: {name} is deprecated; use {argument}=fa.{cls.__name__}({name}={shown(value)})"
        warnings.warn(said, DeprecationWarning, stacklevel=stacklevel)
        settings[name] = value
    return _with(Solver, "solver", solver, settings), _with(SaveAt, "save", save, settings)


def _with(cls: type[Described], argument: str, given: Any, settings: Mapping[str, Any]) -> Any:
    """Return the given object of this class, or its default, with some fields replaced. Raises `Fault`."""
    if given is not None and not isinstance(given, cls):
        raise Fault(argument, f"is {shown(given)}; it must be a {cls.__name__}, as fa.{cls.__name__}(...)")
    changes = {name: x for name, x in settings.items() if name in cls.model_fields}
    if given is None and not changes:
        return _default(cls)
    if given is None and all(type(x) in (str, int, float) for x in changes.values()):
        return _plain(cls, *chain(*changes.items()))
    return faulted(cls, {**dict(_default(cls) if given is None else given), **changes})


@lru_cache(typed=True)  # 1 and True are different values
def _plain(cls: type[Described], *changes: Any) -> Any:
    """Return an object of the class from names and values in turn, which are texts and numbers. Raises `Fault`."""
    return faulted(cls, {**dict(_default(cls)), **dict(zip(changes[::2], changes[1::2], strict=True))})


@cache
def _default(cls: type[Described]) -> Any:
    """Return an object of the class with its default values."""
    return cls()


def check_end(until: Any, solver: Solver) -> None:
    """Raise `DescriptionError` if the end of a run is not valid, or if the step does not suit it."""
    with refused():
        end = checked_number(until, "s", POSITIVE, "until")
    step = solver.step
    if step is not None and solvers.fixed(solver.method) and step > end:
        raise DescriptionError(f"step is {step} s; {solver.method} needs a step no longer than the run, {end:g} s")
    if step is not None and not end / step <= MOST_STEPS:
        message = f"a run of {end:g} s has {end / step:.3g} steps, and at most {MOST_STEPS:.0e} are allowed"
        raise DescriptionError(f"step is {step} s; {message}")
