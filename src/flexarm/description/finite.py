"""Body that is a finite element model, read from a file and reduced to a few modes."""

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Any, Literal, Self, final

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    Fault,
    Vector,
    checked_integer,
    checked_keys,
    counted,
    number,
    optional_number,
    shown,
    vector,
)
from flexarm.description.bodies import MOST_MODES, Body, checked_ratios
from flexarm.description.finite_file import model_of
from flexarm.shapes.finite import Reduced, read_back, reduced

AGREES = 1e-3
"""Largest difference between a given length and that of the file, as a share of the length."""


def _file(value: object) -> str | None:
    if value is None:
        return None
    given = fspath(value) if isinstance(value, str | PathLike) else None
    if not isinstance(given, str):
        raise Fault("", f"is {shown(value)}; it must be the name of a .npz or .mat file")
    return given


def _part(value: object) -> Reduced | None:
    """Return a part that is already reduced, or one from the table that `Arm.canonical` writes."""
    if value is None or isinstance(value, Reduced):
        return value
    if not isinstance(value, Mapping):
        raise Fault("", f"is {shown(value)}; it must be a table as in the text of Arm.canonical")
    keys = ("modes", "size", "inertia", "choice", "numbers")
    checked_keys(value, keys)
    if missing := [key for key in keys if key not in value]:
        raise Fault(missing[0], "is missing")
    modes, size = (checked_integer(value[key], MOST_MODES + 6, key) for key in ("modes", "size"))
    for key in ("inertia", "choice", "numbers"):
        if not isinstance(value[key], str):
            raise Fault(key, f"is {shown(value[key])}; it must be a text")
    try:
        return read_back(modes, size, value["inertia"], value["choice"], value["numbers"])
    except ValueError as error:
        raise Fault("numbers", f"cannot be read: {error}") from None


@final
class FiniteElement(Body):
    """A body that deforms as its finite element model, reduced to a few modes. The file is read once.

    The axes are those of the file. The joint is at `origin`, and the part is clamped there at its root. The tip frame
    is at the tip of the file's part.

    Parameters
    ----------
    file : str
        NPZ or MATLAB v5 file of the model. In an arm's file, the path is relative to that file.
    modes : int
        Number of modes. With 0 the part is rigid.
    shapes : "clamped-loaded", "clamped-free", "craig-bampton" or "given"
        Mode shapes. "clamped-loaded": modes of the part clamped at its root, with the rest of the arm as its load.
        "clamped-free": the same without a load. "craig-bampton": static shapes of the tip's motions, and modes of the
        part clamped at both ends. "given": the modes of the file.
    damping : float or list
        Ratio of critical damping, one for all modes or one per mode.
    unit : "m" or "mm"
        Unit of length in the file. Its other units are kg, N and s with metres, and tonnes, N and s with millimetres.
    origin : (3,)
        Position of the joint in the file's coordinates [m].
    mass : float, optional
        Mass in place of the model's [kg]. All inertia of the model is scaled with it.
    stiffness_factor : float
        Factor of the stiffness matrix K.
    length : float, optional
        Distance from the origin to the tip [m]. The file must agree with it to 0.1 %.
    part : table, optional
        Reduced part in place of a file, as in an arm's canonical text.
    """

    type: Literal["finite-element"] = "finite-element"
    file: Annotated[str | None, BeforeValidator(_file)] = None
    modes: Annotated[int, BeforeValidator(lambda value: checked_integer(value, MOST_MODES))] = 6
    shapes: Literal["clamped-loaded", "clamped-free", "craig-bampton", "given"] = "clamped-loaded"
    damping: Annotated[Any, BeforeValidator(checked_ratios)] = 0.0
    unit: Literal["m", "mm"] = "m"
    origin: Annotated[Vector, vector("m")] = (0.0, 0.0, 0.0)
    mass: Annotated[float | None, optional_number("kg", POSITIVE)] = None
    stiffness_factor: Annotated[float, number("", POSITIVE)] = 1.0
    length: Annotated[float | None, optional_number("m", NOT_NEGATIVE)] = None  # type: ignore[assignment]
    part: Annotated[Any, BeforeValidator(_part)] = None

    @model_validator(mode="after")
    def _has_its_part(self) -> Self:
        if isinstance(self.damping, tuple) and len(self.damping) != self.modes:
            message = (
                f"has {counted(len(self.damping), 'ratio')}; give one "
                f"number, or {counted(self.modes, 'number')}, one per mode"
            )
            raise Fault("damping", message)
        part, before = self._found(), self.part
        length = float(np.linalg.norm(part.place))
        given = self.length
        if before is not None and before is not part and given == float(np.linalg.norm(before.place)):
            given = None  # the length was not given: it is that of the previous file
        if given is not None and abs(given - length) > AGREES * max(length, given):
            raise Fault(
                "length",
                f"is {given} m, but the tip in the file is {length:.6g} m from the origin; check length and unit",
            )
        self.__dict__.update(part=part, length=length)  # the class is frozen, so a validator sets its fields this way
        return self

    def _found(self) -> Reduced:
        """Return the given part if it belongs to these modes and this file, or to no file. Otherwise read the file."""
        part = self.part
        source: Any = (self.file, self.unit, self.origin)
        if part is not None and part.source is None and self.file is None:
            for field, there in (("unit", self.unit != "m"), ("origin", any(self.origin))):
                if there:
                    raise Fault(field, "is given with part and without file; unit and origin apply only to a file")
            source = None
        if part is not None and part.source == source:
            if part.choice == self.shapes and self.modes in (0, part.count):
                return part
            if self.file is None:
                field, made = ("shapes", part.choice) if part.choice != self.shapes else ("modes", part.count)
                raise Fault(
                    field,
                    f"is {getattr(self, field)!r}, but part was reduced with {made!r}; give the file to change it",
                )
        if self.file is None:
            raise Fault("file", "is missing; give the .npz or .mat file of the part")
        model = model_of(self.file, self.unit, self.origin)
        if self.shapes == "given" and model.given is None:
            raise Fault("shapes", "is 'given', but the file has no modes; choose other shapes")
        try:
            return reduced(model, self.shapes, self.modes, source)
        except ValueError as error:
            raise Fault("file", f"{shown(Path(self.file).name)}: {error}") from None

    def written(self) -> dict[str, Any]:
        """Return the fields for `Arm.canonical`, with the numbers of the part in place of its file."""
        fields = dict(self) | {"part": self.part.written()}
        return {name: x for name, x in fields.items() if name not in ("file", "unit", "origin")}

    @property
    def total_mass(self) -> float:
        """Mass of the part [kg]."""
        return float(self.part.mass[0]) if self.mass is None else self.mass

    @property
    def counts(self) -> dict[str, int]:
        """Number of modes. Each coordinate is the root mean square of the displacement of its mode [m]."""
        return {"mode": self.modes}

    @property
    def damping_ratios(self) -> tuple[float, ...]:
        """Ratio of critical damping, one per mode."""
        return self.damping if isinstance(self.damping, tuple) else (self.damping,) * self.modes

    def rigid(self) -> "FiniteElement":
        """Return the same part without modes."""
        return self.replace(modes=0, damping=0.0)
