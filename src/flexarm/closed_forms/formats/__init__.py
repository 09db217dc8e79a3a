"""Equations in other formats: source code that needs nothing of flexarm, and documents. One format a file."""

from flexarm.closed_forms.formats.c import c
from flexarm.closed_forms.formats.latex import latex
from flexarm.closed_forms.formats.markdown import markdown
from flexarm.closed_forms.formats.matlab import matlab
from flexarm.closed_forms.formats.program import Program
from flexarm.closed_forms.formats.python import python
from flexarm.closed_forms.formats.text import text

__all__ = ["Program", "c", "latex", "markdown", "matlab", "python", "text"]
