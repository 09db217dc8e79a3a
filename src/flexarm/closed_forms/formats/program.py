"""Equations for export: a CasADi function, and the meanings of its numbers."""

import math
import re
from collections import Counter
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from flexarm.checks import counted, unknown_name
from flexarm.errors import FlexarmError
from flexarm.mechanics.parameters import Parameter
from flexarm.native.verification import TOLERANCE, WORSE, evaluation, mismatch, samples

IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Program:
    """Equations for export as source code.

    Attributes
    ----------
    name : str
        Name of the function in the source.
    title : str
        One line for its head.
    function : casadi.Function
        Function of SX; every input is a column. The names of its inputs and outputs are those in the source.
    parameters : tuple of Parameter
        In the order of the input "p", which is last in the source and has their values by default.
    entries : dict
        Names of the numbers in the other inputs, for comments.
    notes : dict
        One line about each input and output, for comments.
    shapes : dict
        Shapes of outputs that CasADi's shape does not determine: a column counts as (rows,), a single number as ().

    Raises
    ------
    FlexarmError
        If a name is no identifier, or if another field does not fit the function.
    """

    name: str
    title: str
    function: ca.Function
    parameters: tuple[Parameter, ...] = ()
    entries: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = {"p": tuple(self.symbols), **self.entries}
        known = [*self.function.name_in(), *self.function.name_out()]
        for name in (self.name, *known, *self.symbols):
            if not IDENTIFIER.fullmatch(name):
                self._refuse(f"{name!r} is not an identifier; it must be a letter, then letters, digits and _")
        twice = [name for name, times in Counter(self.symbols).items() if times > 1]
        if twice:
            self._refuse(f"two parameters have the symbol {twice[0]!r}")
        for name in ("p" if self.parameters else "", *self.entries, *self.notes, *self.shapes):
            if name and name not in known:
                self._refuse(unknown_name("unknown input or output", name, known, "known names are"))
        for i, name in enumerate(self.function.name_in()):
            rows, columns = self.function.size_in(i)
            if columns != 1 or rows == 0:
                self._refuse(f"input {name!r} is {rows} x {columns}; it must be a column with some numbers")
            if name in names and len(names[name]) != rows:
                self._refuse(f"input {name!r} has {counted(rows, 'number')} and {len(names[name])} names")
        for name, shape in self.outputs.items():
            rows, columns = self.function.size_out(name)
            if len(shape) > 2 or math.prod(shape) != rows * columns or 0 in shape:
                self._refuse(f"output {name!r} is {rows} x {columns}; it cannot have the shape {shape}")

    def _refuse(self, why: str) -> None:
        raise FlexarmError(f"program {self.name!r}: {why}")

    @property
    def symbols(self) -> list[str]:
        """Symbols of the parameters."""
        return [parameter.symbol for parameter in self.parameters]

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of the inputs, including the parameters."""
        return {name: self.function.size1_in(name) for name in self.function.name_in()}

    @property
    def inputs(self) -> dict[str, int]:
        """Sizes of the inputs, without the parameters."""
        return {name: size for name, size in self.sizes.items() if name != "p"}

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the outputs."""
        sizes = [self.function.size_out(i) for i in range(self.function.n_out())]
        shapes = [(rows, columns) if columns > 1 else (rows,) if rows > 1 else () for rows, columns in sizes]
        return dict(zip(self.function.name_out(), shapes, strict=True)) | self.shapes

    def sample(self) -> tuple[list[np.ndarray], list[np.ndarray], float]:
        """Return random inputs and CasADi's values, for a check of the source code in its own environment.

        Returns
        -------
        inputs : list of (n,)
            In the order of the source's arguments, with the parameters last, if there are any.
        outputs : list of (k,)
            In the order of `outputs`, each row by row.
        within : float
            Difference, as a part of the largest output, that another rounding of a correct evaluation does not exceed.
        """
        rows, values = samples(self.function)
        finite = np.isfinite(values).sum(axis=1)
        best = np.flatnonzero(finite == finite.max())
        evaluate = evaluation(self.function)
        moved = mismatch(np.array([evaluate(x * (1.0 + 2.0**-50)) for x in rows[best]]), values[best])
        row, rounding = best[np.argmin(moved)], float(moved.min())
        given = dict(zip(self.sizes, np.split(rows[row], np.cumsum(list(self.sizes.values()))[:-1]), strict=True))
        found = self.function.call([ca.DM(x) for x in given.values()])
        inputs = [given[x] for x in (*self.inputs, *(["p"] if "p" in given else []))]
        return inputs, [np.array(y).ravel() for y in found], TOLERANCE["double"] + WORSE * rounding
