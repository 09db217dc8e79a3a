"""The geometry of an arm as a program, to be written out for the browser."""

from dataclasses import replace

from flexarm.closed_forms.formats.program import Program
from flexarm.model import Model
from flexarm.model.drawing import SECTION, STATIONS, drawing, drawn

__all__ = ["SECTION", "STATIONS", "drawing", "drawing_program", "drawn"]


def drawing_program(model: Model) -> Program:
    """The program "drawing": (q, s) -> stations, frames: the arrays of `drawn` laid out, their last axis fastest.

    Where the model varies it has parameters, by default this model's.
    """
    return Program(
        name="drawing",
        title=f"{model.arm.name}: where its sections and frames stand, deflections s times as large",
        function=drawing(model),
        parameters=tuple(replace(x, value=float(v)) for x, v in zip(model.varied, model.p, strict=True)),
        entries={"q": model.coordinates},
        notes={"s": "by what deflections are multiplied: 1 as they are, 0 the rigid arm"},
    )
