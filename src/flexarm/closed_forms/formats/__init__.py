"""Equations in other formats: source code that needs nothing of flexarm, and documents. One format a file."""

from flexarm.closed_forms.formats.c import C, c
from flexarm.closed_forms.formats.javascript import JAVASCRIPT, WINDOW, javascript
from flexarm.closed_forms.formats.latex import latex
from flexarm.closed_forms.formats.markdown import markdown
from flexarm.closed_forms.formats.matlab import MATLAB, matlab
from flexarm.closed_forms.formats.program import Program
from flexarm.closed_forms.formats.python import PYTHON, python
from flexarm.closed_forms.formats.text import text

RESERVED = C.reserved | JAVASCRIPT.reserved | WINDOW | MATLAB.reserved | PYTHON.reserved
"""Names that one of the languages keeps for itself."""

__all__ = ["JAVASCRIPT", "RESERVED", "Program", "c", "javascript", "latex", "markdown", "matlab", "python", "text"]
