"""Symbols and sums in LaTeX mathematics, which Markdown also uses."""

import re
from fractions import Fraction

from flexarm.closed_forms.collect import Form, Product

LINE = 64
"""Width of a line of formulas, in approximate letters."""
SHORT = 30
"""Width up to which a sum in parentheses is not broken."""

GREEK = ("alpha", "gamma", "delta", "eta", "theta", "phi", "psi", "sigma")
LETTERS = {
    "lc": ("l", "c"), "yc": ("y", "c"), "zc": ("z", "c"), "Ir": ("I", "r"), "ks": ("k", "s"), "ds": ("d", "s"),
    "mh": ("m", "h"), "Jx": ("J", "x"), "px": ("p", "x"), "py": ("p", "y"), "pz": ("p", "z"), "mP": ("m", "P"),
    "gx": ("g", "x"), "gy": ("g", "y"), "gz": ("g", "z"), "cx": ("c", "x"), "cy": ("c", "y"), "cz": ("c", "z"),
}  # fmt: skip
"""Letters with their own index, which comes before the link's number."""


def symbol(name: str) -> str:
    """A symbol in LaTeX: "eta_1_2" is \\eta_{12}, "alphad_1" \\dot{\\alpha}_{1}, a derivative "a_2_1_l" a_{21,l}."""
    letter, *labels = name.split("_")
    by_length = "," + labels.pop() if labels and set(labels[-1]) == {"l"} else ""
    dots = len(letter) - len(letter.rstrip("d")) if letter not in ("d", "dd") else 0
    dots = min(dots, 2) if letter[: len(letter) - dots] in (*GREEK, "q", "w", "v", "x") else 0
    letter = letter[: len(letter) - dots]
    body, prime = letter, ""
    if letter in LETTERS:
        body, mark = LETTERS[letter]
        labels = [mark, *labels]
    elif tensor := re.fullmatch(r"(I)([hP]?)([xyz]{2})?", letter):
        body = tensor[1]
        labels = [part for part in (tensor[2], tensor[3]) if part] + labels
    elif letter == "G":  # G is gravity
        body = "n"
    elif letter in ("dphi", "dphi0"):
        body, prime = r"\phi", "'"
    elif stiff := re.fullmatch(r"(EI|GJ|EA)([yz]?)", letter):
        body, labels = f"({stiff[1]})", [part for part in (stiff[2],) if part] + labels
    elif letter in ("roll", "pitch", "yaw", "azimuth", "tilt"):
        body = rf"\mathrm{{{letter}}}"
    if body in GREEK:
        body = "\\" + body
    if dots:
        body = (r"\dot{", r"\ddot{")[dots - 1] + body + "}"
    joined = ("".join(labels) if all(len(label) == 1 for label in labels) else ",".join(labels)) + by_length
    end = "(0)" if letter == "dphi0" else ""
    return body + prime + (f"_{{{joined}}}" if joined else "") + end


def number(value: float) -> str:
    """A number in LaTeX, to 10 digits."""
    text = f"{value:.10g}"
    mantissa, e, exponent = text.partition("e")
    return rf"{mantissa}\times 10^{{{int(exponent)}}}" if e else text


def entry_lines(left: str, form: Form) -> list[str]:
    """Split an equation into lines of similar width, each a row of an aligned display."""
    lines: list[str] = []
    line, width = f"{left} &= ", 0.0
    for text, nesting, may_break in _tokens(form, 0):
        size = _width(text)
        if may_break and width and width + size > LINE:
            lines.append(line)
            indent = 1 + min(nesting, 4)
            line, width = "&" + r"\quad" * indent + " ", 2.0 * indent
        line, width = line + text, width + size
    return [*lines, line]


def sum_text(form: Form) -> str:
    """Return the sum in one line."""
    return "".join(text for text, _, _ in _tokens(form, 0))


def matrix(rows: list[list[Form]]) -> str | None:
    """Return the matrix as one formula, or None if it is too wide or too high."""
    if len(rows) > 10:
        return None
    cells = [[sum_text(form) if form else "0" for form in row] for row in rows]
    width = sum(max(_width(row[c]) for row in cells) + 2 for c in range(len(rows[0])))
    if width > LINE:
        return None
    body = r" \\ ".join(" & ".join(row) for row in cells)
    return rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"


Token = tuple[str, int, bool]
"""Text, nesting depth in parentheses, and True if a line may begin with the text."""


def _tokens(form: Form, depth: int) -> list[Token]:
    if not form:
        return [("0", depth, False)]
    tokens: list[Token] = []
    for i, product in enumerate(form):
        negative = product.coefficient < 0
        sign = "-" if negative and not i else " - " if negative else " + " if i else ""
        tokens += _product(product, sign, depth, bool(i))
    return tokens


def _product(product: Product, sign: str, depth: int, may_break: bool) -> list[Token]:
    symbols = [(a, e) for a, e in product.atoms if isinstance(a, str)]
    trig = "".join(r"\," + _trig(a, e) for a, e in product.atoms if not isinstance(a, str))
    size = max(product.coefficient, -product.coefficient)
    above = r"\,".join(_power(a, e) for a, e in symbols if e > 0)
    below = r"\,".join(_power(a, -e) for a, e in symbols if e < 0)
    alone = not (symbols or trig or product.inner)
    head = _coefficient(size) if size != 1 or alone else ""
    if below:
        head += rf"\frac{{{above or '1'}}}{{{below}}}"
    elif above:
        head += (r"\," if head else "") + above
    if not product.inner:
        return [(sign + (head + trig if head else trig.removeprefix(r"\,")), depth, may_break)]
    if len(product.inner) == 1:
        return [(sign + head + sum_text(product.inner) + trig, depth, may_break)]
    opening, closing = ((r"\bigl(", r"\bigr)"), (r"\bigl[", r"\bigr]"), (r"\bigl\{", r"\bigr\}"))[depth % 3]
    inside = _tokens(product.inner, depth + 1)
    whole = "".join(text for text, _, _ in inside)
    if _width(whole) < SHORT:
        return [(sign + head + opening + whole + closing + trig, depth, may_break)]
    (first, _, _), (last, nesting, breaks) = inside[0], inside[-1]
    inside[-1] = (last + closing + trig, nesting, breaks)
    inside[0] = (sign + head + opening + first, depth, may_break)
    return inside


def _trig(atom: tuple, exponent: int) -> str:
    kind, angles = atom
    terms = []
    for i, (name, k) in enumerate(angles):
        sign = "-" if k < 0 else "+" if i else ""
        terms.append(sign + (str(abs(k)) if abs(k) != 1 else "") + symbol(name))
    power = f"^{{{exponent}}}" if exponent != 1 else ""
    return rf"\{kind}{power}({''.join(terms)})"


def _power(name: str, exponent: int) -> str:
    text = symbol(name)
    if exponent == 1:
        return text
    return f"({text})^{{{exponent}}}" if "'" in text or text.endswith("(0)") else f"{text}^{{{exponent}}}"


def _coefficient(size: Fraction | float) -> str:
    if isinstance(size, Fraction):
        return str(size.numerator) if size.denominator == 1 else rf"\tfrac{{{size.numerator}}}{{{size.denominator}}}"
    return number(size)


def _width(text: str) -> float:
    """Approximate width of a formula in letters; numerator and denominator count once."""
    text = re.sub(r"\\(tfrac|frac)\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", r"\2", text)
    text = re.sub(r"\\(big[lr]|dot|ddot|mathrm|begin|end|,|quad)", "", text)
    text = re.sub(r"\\(cos|sin)", "xxx", text)
    text = re.sub(r"\\[A-Za-z]+", "x", text)
    index = sum(len(label) for label in re.findall(r"[_^]\{([^{}]*)\}", text))
    text = re.sub(r"[_^]\{[^{}]*\}", "", text)
    return len(re.sub(r"[{}\\]", "", text)) + 0.6 * index
