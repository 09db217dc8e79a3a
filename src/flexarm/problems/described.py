"""The problems of the public set, as stored in the package."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from typing import Any, final

import numpy as np

from flexarm.brief import brief
from flexarm.checks import unknown_name
from flexarm.description.arm import Arm
from flexarm.description.load import read_toml
from flexarm.errors import DescriptionError
from flexarm.problems import scoring
from flexarm.scenario import Scenario, load_scenario

FILES = ("problem.toml", "arm.toml", "scenario.toml", "trajectory.csv", "converged.toml")
"""Files of each problem."""

COMMON = ("LICENSE.md", "SHA256SUMS")
"""Files that all problems share."""

SOLUTIONS = {
    "continuum": "the continuum: links that bend, refined until the trajectory rests",
    "equations": "the equations of motion, of finitely many coordinates, as described",
}
"""Kinds of exact solutions to which trajectories have converged."""


@final
@brief
@dataclass(frozen=True)
class Problem:
    """A problem of the public set.

    Attributes
    ----------
    name, title, description : str
    conventions : tuple of str
        Sentences that define the quantities.
    solution : "continuum" or "equations"
        Exact solution to which the trajectory has converged.
    arm : Arm
        For "continuum" in a good discretisation that has not converged.
    scenario : Scenario
        Inputs, initial state and duration.
    columns, units : tuple of str
    times : (samples,)
        [s]
    values : (samples, columns)
        The converged trajectory.
    uncertainty : (columns,)
        Largest difference by another method, another discretisation and another code, in the columns' units.
    converged : dict
        How the trajectory was found: refinements, the other code, and each difference.
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
    """Folder of the set."""
    return files("flexarm.problems") / "set"


@cache
def names() -> tuple[str, ...]:
    """Names of the problems of the public set, sorted."""
    return tuple(sorted(each.name for each in folder().iterdir() if (each / "problem.toml").is_file()))


def place(name: object) -> Traversable:
    """Return the folder of a problem; raises `DescriptionError` for an unknown name."""
    if not isinstance(name, str) or name not in names():
        raise DescriptionError(unknown_name("unknown problem", name, names(), "known problems are"))
    return folder() / name


def words(name: str) -> dict[str, Any]:
    """Return a problem's title, description, solution, conventions and columns; raises `DescriptionError`."""
    return read_toml(place(name) / "problem.toml", f"{name}/problem.toml")


def reference(name: str) -> tuple[scoring.Table, dict[str, float], dict[str, Any]]:
    """Return the converged trajectory, its uncertainty by column, and how both were found.

    Raises `DescriptionError` for an unknown name.
    """
    here = place(name)
    found = read_toml(here / "converged.toml", f"{name}/converged.toml")
    with as_file(here / "trajectory.csv") as path:
        table = scoring.read(path)
    return table, {key: float(each["uncertainty"]) for key, each in found["columns"].items()}, found


def problem(name: str) -> Problem:
    """Return a problem of the public set by its name.

    Raises `DescriptionError` for an unknown name.
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
