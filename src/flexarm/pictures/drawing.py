"""Geometry of an arm as a program for the browser."""

from dataclasses import replace

from flexarm.closed_forms.formats.program import Program
from flexarm.model import Model
from flexarm.model.drawing import SECTION, STATIONS, drawing, drawn

__all__ = ["SECTION", "STATIONS", "drawing", "drawing_program", "drawn"]


def drawing_program(model: Model) -> Program:
    """Return the program "drawing": (q, s) -> stations, frames. These are the arrays of `drawn`, row-major.

    If the model has varied parameters, so has the program, with the values of this model as defaults.
    """
    return Program(
        name="drawing",
        title=f"{model.arm.name}: where its sections and frames stand, deflections s times as large",
        function=drawing(model),
        parameters=tuple(replace(x, value=float(v)) for x, v in zip(model.varied, model.p, strict=True)),
        entries={"q": model.coordinates},
        notes={"s": "by what deflections are multiplied: 1 as they are, 0 the rigid arm"},
    )
