"""Equations in other formats: source code without flexarm, and documents. Each file has one format."""

from flexarm.closed_forms.formats.c import C, c
from flexarm.closed_forms.formats.javascript import JAVASCRIPT, WINDOW, javascript
from flexarm.closed_forms.formats.latex import latex
from flexarm.closed_forms.formats.markdown import markdown
from flexarm.closed_forms.formats.matlab import MATLAB, matlab
from flexarm.closed_forms.formats.program import Program
from flexarm.closed_forms.formats.python import PYTHON, python
from flexarm.closed_forms.formats.text import text

RESERVED = C.reserved | JAVASCRIPT.reserved | WINDOW | MATLAB.reserved | PYTHON.reserved
"""Reserved names of all languages."""

__all__ = ["JAVASCRIPT", "RESERVED", "Program", "c", "javascript", "latex", "markdown", "matlab", "python", "text"]
