"""Equations in other formats: source code that needs nothing of flexarm, and documents. One format a file."""

from flexarm.formats.c import c
from flexarm.formats.latex import latex
from flexarm.formats.markdown import markdown
from flexarm.formats.matlab import matlab
from flexarm.formats.program import Program
from flexarm.formats.python import python
from flexarm.formats.text import text

__all__ = ["Program", "c", "latex", "markdown", "matlab", "python", "text"]
