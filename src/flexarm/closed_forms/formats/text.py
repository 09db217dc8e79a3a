"""The equations as plain text, for a terminal."""

from collections.abc import Sequence
from fractions import Fraction

from flexarm.closed_forms.collect import Atom, Form, Product
from flexarm.closed_forms.formats.document import Derived
from flexarm.closed_forms.parts import ALL_PARTS, known, motion_line, of_motion


def text(equations: Derived, parts: Sequence[str] | None = None) -> str:
    """Return coordinates, parameters, abbreviations, and the entries of all or some matrices; SymPy reads right-hand
    sides.
    """
    arm = equations.arm
    names = of_motion(arm) if parts is None else known(parts)
    equations.derive(*names)
    lines = [f"{arm.name}: {motion_line(arm)}", "", "coordinates"]
    lines += [f"  {s:10} {name}" for s, name in zip(equations.coordinates, arm.coordinates, strict=True)]
    if arm.free:
        lines += ["", "rates of the base"]
        lines += [f"  {s:10} {name}" for s, name in zip(equations.rates[:6], arm.velocities, strict=False)]
    lines += ["", "parameters"]
    for p in equations.parameters:
        closed = equations.closed_forms.get(p.symbol)
        value = f"{p.value:.10g} {p.unit}".rstrip() + (f" = {closed.text}" if closed else "")
        lines.append(f"  {p.symbol:10} {p.name}: {p.meaning}, {value}")
    if equations.functions:
        lines += ["", "functions of a free length; with _l and _ll their derivatives by it"]
        plain = {f.letters: f for f in equations.functions}
        lines += [f"  {s:10} {f.name}: {f.meaning}, of {equations.length_of(f)}" for s, f in plain.items()]
    matrices = {ALL_PARTS[name]: equations.forms(name) for name in names}
    stand_ins = equations.stand_ins()
    if stand_ins:
        lines += ["", "abbreviations"]
        lines += [f"  {mark:10} the station {x:.10g} of its link" for mark, x in equations.stations.items()]
        lines += [f"  {name} = {infix(form)}" for name, form in stand_ins.items()]
    for part, rows in matrices.items():
        lines += ["", part.title.lower()]
        places = [
            (f"{part.letter}[{r},{c}]", form) for r, row in enumerate(rows, 1) for c, form in enumerate(row, 1) if form
        ]
        lines += [f"  {place} = {infix(form)}" for place, form in places] or [f"  {part.letter} = 0"]
    note = equations.without_closed_forms
    return "\n".join([*lines, "", note] if note else lines)


def infix(form: Form) -> str:
    """Return a sum in the syntax of Python and SymPy."""
    texts = [_product(product) for product in form]
    return "".join(
        text if i == 0 else f" - {text[1:]}" if text.startswith("-") else f" + {text}" for i, text in enumerate(texts)
    )


def _product(product: Product) -> str:
    c = product.coefficient
    size, below = (abs(c.numerator), c.denominator) if isinstance(c, Fraction) else (abs(c), 1)
    above = [_power(atom, e) for atom, e in product.atoms if e > 0]
    above += [f"({infix(product.inner)})"] if product.inner else []
    if size != 1 or not above:
        above.insert(0, str(size))
    divisors = [str(below)] * (below != 1) + [_power(atom, -e) for atom, e in product.atoms if e < 0]
    divisor = divisors[0] if len(divisors) == 1 else f"({'*'.join(divisors)})"
    return "-" * (c < 0) + "*".join(above) + (f"/{divisor}" if divisors else "")


def _power(atom: Atom, exponent: int) -> str:
    if isinstance(atom, str):
        base = atom
    else:
        kind, angles = atom
        base = f"{kind}({_angle(angles)})"
    return base if exponent == 1 else f"{base}**{exponent}"


def _angle(angles: tuple[tuple[str, int], ...]) -> str:
    text = "".join(f" {'-' if k < 0 else '+'} {'' if abs(k) == 1 else f'{abs(k)}*'}{name}" for name, k in angles)
    return text[3:] if text.startswith(" + ") else f"-{text[3:]}"
