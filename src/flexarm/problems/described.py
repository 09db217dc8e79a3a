"""The problems of the public set, as they stand in the package."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from typing import Any, final

import numpy as np

from flexarm.checks import meant, shown
from flexarm.description.arm import Arm
from flexarm.description.load import read_toml
from flexarm.errors import DescriptionError
from flexarm.problems import scoring
from flexarm.scenario import Scenario, load_scenario

FILES = ("problem.toml", "arm.toml", "scenario.toml", "trajectory.csv", "converged.toml")
"""Of each problem."""

COMMON = ("LICENSE.md", "SHA256SUMS")
"""Of all of them."""

SOLUTIONS = {
    "continuum": "the continuum: links that bend, refined until the trajectory rests",
    "equations": "the equations of motion, of finitely many coordinates, as described",
}
"""What a trajectory has converged to."""


@final
@dataclass(frozen=True)
class Problem:
    """A problem of the public set.

    Attributes
    ----------
    name, title, description : str
    conventions : tuple of str
        What is meant by what, in sentences.
    solution : "continuum" or "equations"
        What the trajectory has converged to.
    arm : Arm
        For "continuum" in a discretisation that is good and not converged.
    scenario : Scenario
        What acts on it, from which state, for how long.
    columns, units : tuple of str
    times : (samples,)
        [s]
    values : (samples, columns)
        The converged trajectory.
    uncertainty : (columns,)
        The largest difference that another method, another discretisation and another code made, in the columns' units.
    converged : dict
        How it was found: what was refined, the other code, and each difference.
    """

    name: str
    title: str
    description: str
    conventions: tuple[str, ...]
    solution: str
    arm: Arm
    scenario: Scenario
    columns: tuple[str, ...]
    units: tuple[str, ...]
    times: np.ndarray
    values: np.ndarray
    uncertainty: np.ndarray
    converged: dict[str, Any]


def folder() -> Traversable:
    """Where the set lies."""
    return files("flexarm.problems") / "set"


@cache
def names() -> tuple[str, ...]:
    """Names of the problems of the public set, sorted."""
    return tuple(sorted(each.name for each in folder().iterdir() if (each / "problem.toml").is_file()))


def place(name: object) -> Traversable:
    """The folder of a problem. Raises `DescriptionError` for a name that none has."""
    if not isinstance(name, str) or name not in names():
        hint = meant(name, names())
        raise DescriptionError(f"unknown problem {shown(name)}; there are {', '.join(names())}{hint}")
    return folder() / name


def words(name: str) -> dict[str, Any]:
    """What a problem says of itself: title, description, solution, conventions, columns. Raises `DescriptionError`."""
    return read_toml(place(name) / "problem.toml", f"{name}/problem.toml")


def reference(name: str) -> tuple[scoring.Table, dict[str, float], dict[str, Any]]:
    """The converged trajectory, its uncertainty by column, and how both were found. Raises `DescriptionError`."""
    here = place(name)
    found = read_toml(here / "converged.toml", f"{name}/converged.toml")
    with as_file(here / "trajectory.csv") as path:
        table = scoring.read(path)
    return table, {key: float(each["uncertainty"]) for key, each in found["columns"].items()}, found


def problem(name: str) -> Problem:
    """A problem of the public set by its name.

    Raises `DescriptionError` for a name that none has.
    """
    said = words(name)
    table, uncertainty, found = reference(name)
    with as_file(place(name)) as here:
        scenario = load_scenario(here / "scenario.toml")
        arm = scenario.loaded_arm()
    return Problem(
        name=name,
        title=said["title"],
        description=" ".join(said["description"].split()),
        conventions=tuple(said["conventions"]),
        solution=said["solution"],
        arm=arm,
        scenario=scenario.replace(arm=arm),
        columns=table.names,
        units=table.units,
        times=np.array(table.times),
        values=np.array(table.values).T,
        uncertainty=np.array([uncertainty[each] for each in table.names]),
        converged=found,
    )
