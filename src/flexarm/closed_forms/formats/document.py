"""The equations of an arm as a document: headings, paragraphs, tables and formulas, before they become a format."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flexarm import escape
from flexarm.closed_forms.collect import Form
from flexarm.closed_forms.formats.mathematics import entry_lines, matrix, number, symbol
from flexarm.closed_forms.parts import PARTS, Part, known, of_motion, stiffness_varies
from flexarm.description.arm import Arm, Coordinate
from flexarm.mechanics.parameters import LengthFunction, Parameter
from flexarm.shapes import ClosedForm


class Derived(Protocol):
    """What a document needs of an arm's equations."""

    arm: Arm
    coordinates: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    numbers: dict[str, float]

    @property
    def closed_forms(self) -> dict[str, ClosedForm]:
        """Of modal integrals, by symbol."""

    @property
    def without_closed_forms(self) -> str:
        """What to say of modal integrals that have none."""

    @property
    def functions(self) -> tuple[LengthFunction, ...]:
        """Modal integrals that change with a length, and their derivatives."""

    def length_of(self, function: LengthFunction) -> str:
        """The coordinate that one of them depends on."""

    def derive(self, *names: str) -> None:
        """Parts, before any of them is printed; raises `DescriptionError` where one is too large."""

    def forms(self, name: str) -> list[list[Form]]:
        """A matrix as sums, by rows."""

    def stand_ins(self) -> dict[str, Form]:
        """Symbols that stand for sums."""


@dataclass(frozen=True)
class Heading:
    """A section's title."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """Text, with formulas between dollars."""

    text: str


@dataclass(frozen=True)
class Table:
    """Cells of text, or of a formula between dollars."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Formulas:
    """Lines of an aligned display; `&` marks where they align."""

    lines: list[str]


Block = Heading | Paragraph | Table | Formulas

DOLLAR = "\ue000"
"""A dollar that is no border of a formula, of Unicode's private letters, of which a user's text can have none."""


def quoted(text: str) -> str:
    """A user's text, in which a dollar is a dollar."""
    return escape.line(text).replace("$", DOLLAR)


def pieces(text: str) -> list[tuple[str, bool]]:
    """Texts, in which every dollar is a dollar, and formulas between dollars: each with whether it is one."""
    found = [part for part in re.split(r"(\$[^$]*\$)", text) if part]
    return [(part.replace(DOLLAR, "$"), part.startswith("$")) for part in found]


def document(equations: Derived, parts: Sequence[str] | None = None) -> list[Block]:
    """Everything that is printed of an arm's equations of motion, in order, or of some parts of them."""
    arm = equations.arm
    chosen = (*of_motion(arm), "energy", "tip") if parts is None else known(parts)
    equations.derive(*chosen)
    present = {name: any(form for row in equations.forms(name) for form in row) for name in chosen}
    blocks: list[Block] = [Heading("Coordinates")]
    if description := arm.description.strip():
        blocks.insert(0, Paragraph(quoted(description.rstrip(".") + ".")))
    named: list[tuple[str, ...]] = [
        (f"${symbol(s)}$", quoted(coordinate.name), quoted(_meaning(arm, coordinate)))
        for s, coordinate in zip(equations.coordinates, arm.layout, strict=True)
    ]
    blocks += [Table(("symbol", "coordinate", "what it is"), named)]
    blocks += [Heading("Parameters"), *_parameters(equations)]
    blocks += _abbreviations(equations)
    if parts is None:
        blocks += [Heading("Equations of motion"), *_motion(equations, present)]
    for name in chosen:
        part = PARTS[name]
        if name == "energy":
            blocks += [Heading(part.title), *_energies(equations)]
        elif name == "tip":
            blocks += [Heading(part.title), *_pose(equations)]
        elif present[name]:
            blocks += [Heading(part.title), *_matrix(part, equations.forms(name))]
        elif parts is not None:
            blocks += [Heading(part.title), Formulas([f"{part.letter} &= 0"])]
    return blocks


def _meaning(arm: Arm, coordinate: Coordinate) -> str:
    link = arm.links[coordinate.link]
    if coordinate.role != "flexible":
        return f"{coordinate.role}, of link {link.name}"
    mine = [each for each in arm.layout if (each.link, each.role) == (coordinate.link, coordinate.role)]
    modes = [(direction, j) for direction, n in link.body.counts.items() for j in range(1, n + 1)]
    direction, j = modes[mine.index(coordinate)]
    return f"{WORDS[direction]}, mode {j}, of link {link.name}"


WORDS = {"y": "bending along y", "z": "bending along z", "torsion": "torsion", "axial": "stretch"}


def _parameters(equations: Derived) -> list[Block]:
    """Tables of the physical parameters and of the modal integrals."""
    modal = [p for p in equations.parameters if p.modal]
    physical = [p for p in equations.parameters if not p.modal]
    blocks: list[Block] = []
    rows: list[tuple[str, ...]]
    if physical:
        rows = [
            (f"${symbol(p.symbol)}$", p.meaning, quoted(p.name), f"${number(p.value)}$", _unit(p.unit))
            for p in physical
        ]
        blocks.append(Table(("symbol", "what it is", "name", "value", "unit"), rows))
    return [*blocks, *_integrals(equations, modal), *_functions(equations)]


def _integrals(equations: Derived, modal: list[Parameter]) -> list[Block]:
    """Tables of the modal integrals that are constant, and of what their closed forms are made of."""
    if not modal:
        return []
    blocks: list[Block] = []
    text = r"Modal integrals: $x$ runs from 0 to 1 along the link, and a prime is a derivative in $x$."
    if any(getattr(link.body, "section_tip", None) is not None for link in equations.arm.links):
        text += " Of a tapered beam they are weighted with its mass, and curvatures with its stiffness."
    blocks.append(Paragraph(text))
    closed = equations.closed_forms
    forms = [(str(p.link), closed[p.symbol]) for p in modal if p.symbol in closed]
    met = {(i, c.name): c for i, form in forms for c in form.constants}
    alike = len({(c.name, c.value) for c in met.values()}) == len({c.name for c in met.values()})

    def written(latex: str, link: str) -> str:
        return _CONSTANT.sub(lambda found: _marked(found, "" if alike else link), latex)

    rows = [
        (f"${symbol(p.symbol)}$", _integral(p.symbol, p.meaning),
         f"${written(closed[p.symbol].latex, str(p.link))}$" if p.symbol in closed else "none",
         f"${number(p.value)}$")
        for p in modal
    ]  # fmt: skip
    blocks.append(Table(("symbol", "definition", "closed form", "value"), rows))
    if met:
        lines = {
            written(c.latex, i): (
                f"${written(c.latex, i)}$",
                f"${written(c.equation_latex, i)}$",
                f"${number(c.value)}$",
            )
            for (i, _), c in met.items()
        }
        blocks.append(Table(("constant", "where", "value"), list(lines.values())))
    if note := equations.without_closed_forms:
        blocks.append(Paragraph(quoted(note[:1].upper() + note[1:]) + "."))
    return blocks


def _functions(equations: Derived) -> list[Block]:
    """A table of the modal integrals that change with a telescope's length."""
    plain = {f.letters: f for f in equations.functions}
    if not plain:
        return []
    lengths = dict.fromkeys(symbol(equations.length_of(f)) for f in plain.values())
    text = (
        "Modal integrals of shapes that follow their load are functions of the free length $l$, which is "
        + ", ".join(f"${length}$" for length in lengths)
        + r"; $a_{,l}$ and $a_{,ll}$ are the first and second derivative of $a$ by it. $x$ runs from 0 to 1 along the "
        r"free part. What sliding makes of $\phi_j$ is $(1-x)\,\phi_j'+l\,d\phi_j/dl$, or $-x\,\phi_j'+l\,d\phi_j/dl$ "
        "where convection is that of the paper. As numbers they are Chebyshev series in the length, which source code "
        "has written out."
    )
    rows = [(f"${symbol(letters)}$", _integral(letters, f.meaning)) for letters, f in plain.items()]
    return [Paragraph(text), Table(("symbol", "definition"), rows)]


_CONSTANT = re.compile(r"(\\beta|\\sigma|(?<![A-Za-z\\])N)_\{(\d+)\}")


def _marked(found: re.Match, link: str) -> str:
    """A constant of a link's shapes, the link's number before the mode's."""
    labels = [label for label in (link, found[2]) if label]
    return f"{found[1]}_{{{('' if max(map(len, labels)) == 1 else ',').join(labels)}}}"


def _unit(text: str) -> str:
    return re.sub(r"\^(\d)", r"$^\1$", text)


def _integral(letters: str, meaning: str) -> str:
    """The definition of a modal integral, as a formula."""
    letter, _, *marks = letters.split("_")
    phi = [rf"\phi_{{{mark}}}" for mark in marks]
    if any(mark[0] in "gs" for mark in marks):
        return meaning
    inside = {"a": phi[0], "b": f"x {phi[0]}", "c": "".join(phi)}
    if letter in inside:
        return rf"$\int_0^1 {inside[letter]}\,dx$"
    if letter == "k":
        prime = "'" if marks[0][0] in "tx" else "''"
        inner = "".join(one + prime for one in phi)
        return rf"$\int_0^1 {inner}\,dx$"
    ends = {"phi": f"${phi[0]}(1)$", "dphi": f"${phi[0]}'(1)$", "dphi0": f"${phi[0]}'(0)$"}
    return ends.get(letter, meaning)


def _abbreviations(equations: Derived) -> list[Block]:
    stand_ins = equations.stand_ins()
    places = {name: form for name, form in stand_ins.items() if not _is_rate(name)}
    if not places:
        return []
    text = (
        "Places $x$, $w$, $v$ and angles $\\alpha$, $\\delta$, $\\gamma$ of the tips of flexible links, in their frames"
    )
    text += "; a dot is the rate."
    lines = [line for name, form in places.items() for line in entry_lines(symbol(name), form)]
    return [Heading("Abbreviations"), Paragraph(text), Formulas(lines)]


def _is_rate(name: str) -> bool:
    return name.split("_")[0].endswith("d")


def _motion(equations: Derived, present: dict[str, bool]) -> list[Block]:
    q, rate = r"\mathbf q", r"\dot{\mathbf q}"
    left = [rf"M({q})\,\ddot{{\mathbf q}}"]
    if present["D"]:
        left.append(rf"D({q},{rate})\,{rate}")
    if present["damping"]:
        left.append(rf"C\,{rate}")
    if present["U"]:
        left.append(rf"f({q})" if stiffness_varies(equations.arm) else rf"U\,{q}")
    if present["G"]:
        left.append(rf"G({q})")
    column = ",".join(symbol(s) for s in equations.coordinates)
    right = r"B\,\mathbf u" if present["B"] else "0"
    blocks: list[Block] = [Formulas([f"{' + '.join(left)} &= {right}", rf"{q} &= ({column})^T"])]
    text = (
        r"$D$ is half the slope of the Coriolis and centrifugal forces in $\dot{\mathbf q}$, so that $\dot M - 2 D$ is "
    )
    text += "skew (Lin and Lewis 1994, Theorem 1). Entries that are not listed are zero."
    if stiffness_varies(equations.arm):
        text += r" Along a telescope's length $U$ varies: it is the slope of the force $f$ of strain and springs."
    return [*blocks, Paragraph(text)]


def _matrix(part: Part, rows: list[list[Form]]) -> list[Block]:
    """As a matrix where it is small, else entry by entry; of a symmetric one the upper half."""
    small, letter, symmetric = matrix(rows), part.letter, part.symmetric
    if small is not None:
        return [Formulas([f"{letter} &= {small}"])]
    blocks: list[Block] = []
    if symmetric:
        blocks.append(Paragraph(f"${letter}$ is symmetric; its upper half:"))
    lines = []
    for r, row in enumerate(rows, start=1):
        for c, form in enumerate(row, start=1):
            if form and (c >= r or not symmetric):
                index = f"{r}{c}" if len(rows) < 10 else f"{r},{c}"
                lines += entry_lines(f"{letter}_{{{index if len(row) > 1 else r}}}", form)
    return [*blocks, Formulas(lines)]


def _energies(equations: Derived) -> list[Block]:
    ((_,), (potential,)) = equations.forms("energy")
    lines = [r"T &= \tfrac{1}{2}\,\dot{\mathbf q}^T M\,\dot{\mathbf q}"]
    return [Formulas(lines + entry_lines("V", potential))] if potential else [Formulas([*lines, "V &= 0"])]


def _pose(equations: Derived) -> list[Block]:
    rows = equations.forms("tip")
    lines = [line for axis, row in zip("xyz", rows, strict=False) for line in entry_lines(f"p_{axis}", row[3])]
    for r, row in enumerate(rows[:3], start=1):
        for c, form in enumerate(row[:3], start=1):
            if form:
                lines += entry_lines(f"R_{{{r}{c}}}", form)
    return [Paragraph("Position $p$ and rotation $R$ of the payload's frame in the base frame:"), Formulas(lines)]


def titled(arm: Arm) -> str:
    """The document's title."""
    return quoted(f"Equations of motion: {arm.name}")
