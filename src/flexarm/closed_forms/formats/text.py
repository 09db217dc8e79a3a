"""The equations as plain text, for a terminal."""

from flexarm.closed_forms.collect import Writer
from flexarm.closed_forms.formats.document import MATRICES, Derived


def text(equations: Derived) -> str:
    """Coordinates, parameters, abbreviations and the entries of the matrices; SymPy reads the right-hand sides."""
    writer = Writer()
    arm = equations.arm
    lines = [f"{arm.name}: M qdd + (D + C) qd + U q + G = B u", "", "coordinates"]
    lines += [f"  {s:10} {name}" for s, name in zip(equations.coordinates, arm.coordinates, strict=True)]
    lines += ["", "parameters"]
    for p in equations.parameters:
        closed = equations.closed_forms.get(p.symbol)
        value = f"{p.value:.10g} {p.unit}".rstrip() + (f" = {closed.text}" if closed else "")
        lines.append(f"  {p.symbol:10} {p.name}: {p.meaning}, {value}")
    matrices = {name: equations.forms(name) for name in MATRICES}  # first: in them some abbreviations are first met
    stand_ins = equations.stand_ins()
    if stand_ins:
        lines += ["", "abbreviations"]
        lines += [f"  {name} = {writer.expression(form)}" for name, form in stand_ins.items()]
    for name, (letter, title) in MATRICES.items():
        rows = matrices[name]
        lines += ["", title.lower()]
        entries = [(r, c, form) for r, row in enumerate(rows, 1) for c, form in enumerate(row, 1) if form]
        lines += [f"  {letter}[{r},{c}] = {writer.expression(form)}" for r, c, form in entries] or [f"  {letter} = 0"]
    note = equations.without_closed_forms
    return "\n".join([*lines, "", note] if note else lines)
