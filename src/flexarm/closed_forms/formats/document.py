"""The equations of an arm as a document of headings, paragraphs, tables and formulas, independent of the format."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flexarm import escape
from flexarm.closed_forms.collect import Form
from flexarm.closed_forms.formats.mathematics import entry_lines, matrix, number, symbol
from flexarm.closed_forms.parts import ALL_PARTS, Part, known, of_motion, stiffness_varies, strain_apart
from flexarm.description.arm import Arm, Beam, Coordinate
from flexarm.description.free import POSE, TWIST
from flexarm.mechanics.parameters import LengthFunction, Parameter
from flexarm.shapes import ClosedForm


class Derived(Protocol):
    """Interface of an arm's equations that a document needs."""

    arm: Arm
    coordinates: tuple[str, ...]
    rates: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    numbers: dict[str, float]

    @property
    def closed_forms(self) -> dict[str, ClosedForm]:
        """Closed forms of modal integrals, by symbol."""

    @property
    def without_closed_forms(self) -> str:
        """Note about modal integrals that have none."""

    @property
    def stations(self) -> dict[str, float]:
        """Stations on the link of sections that are not at a tip, by the suffix of their symbols."""

    @property
    def functions(self) -> tuple[LengthFunction, ...]:
        """Modal integrals that change with a length, and their derivatives."""

    def length_of(self, function: LengthFunction) -> str:
        """Return the coordinate on which a function depends."""

    def derive(self, *names: str) -> None:
        """Derive parts before any of them is printed; raises `DescriptionError` if one is too large."""

    def forms(self, name: str) -> list[list[Form]]:
        """Return a matrix as sums, by rows."""

    def stand_ins(self) -> dict[str, Form]:
        """Return symbols that stand for sums."""


@dataclass(frozen=True)
class Heading:
    """Title of a section."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """Text, with formulas between dollars."""

    text: str


@dataclass(frozen=True)
class Table:
    """Table with cells of text, or of a formula between dollars."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Formulas:
    """Lines of an aligned display; `&` marks where they align."""

    lines: list[str]


Block = Heading | Paragraph | Table | Formulas

DOLLAR = "\ue000"
"""Placeholder of a literal dollar: a private letter of Unicode, which a user's text cannot contain."""


def quoted(text: str) -> str:
    """Return a user's text with its dollars as literal ones."""
    return escape.line(text).replace("$", DOLLAR)


def pieces(text: str) -> list[tuple[str, bool]]:
    """Split text into plain texts and formulas between dollars, each with True if it is a formula."""
    found = [part for part in re.split(r"(\$[^$]*\$)", text) if part]
    return [(part.replace(DOLLAR, "$"), part.startswith("$")) for part in found]


def document(equations: Derived, parts: Sequence[str] | None = None) -> list[Block]:
    """Return the complete document of an arm's equations of motion, or of some parts."""
    arm = equations.arm
    chosen = (*of_motion(arm), "energy", "tip") if parts is None else known(parts)
    equations.derive(*chosen)
    present = {name: any(form for row in equations.forms(name) for form in row) for name in chosen}
    blocks: list[Block] = [Heading("Coordinates")]
    if description := arm.description.strip():
        blocks.insert(0, Paragraph(quoted(description.rstrip(".") + ".")))
    blocks += _coordinates(equations)
    blocks += [Heading("Parameters"), *_parameters(equations)]
    blocks += _abbreviations(equations)
    if parts is None:
        blocks += [Heading("Equations of motion"), *_motion(equations, present)]
    for name in chosen:
        part = ALL_PARTS[name]
        if name == "energy":
            blocks += [Heading(part.title), *_energies(equations)]
        elif name == "tip":
            blocks += [Heading(part.title), *_pose(equations)]
        elif present[name]:
            blocks += [Heading(part.title), *_matrix(part, equations.forms(name))]
        elif parts is not None:
            blocks += [Heading(part.title), Formulas([f"{part.letter} &= 0"])]
    return blocks


def _coordinates(equations: Derived) -> list[Block]:
    """Table of the coordinates, and another of a free base's rates."""
    arm = equations.arm
    moving = [(x.name, _meaning(arm, x)) for x in arm.layout if x.role != "base"]
    if not arm.free:
        return [_named("coordinate", equations.coordinates, moving)]
    places = [*zip(POSE, OF_POSE, strict=True), *moving]
    rates = [*zip(TWIST, OF_TWIST, strict=True)]
    return [_named("coordinate", equations.coordinates, places), _named("rate", equations.rates[:6], rates)]


OF_POSE = (
    *(f"place of the base in the world along {x}" for x in "xyz"),
    *["unit quaternion of the base's attitude"] * 4,
)
OF_TWIST = tuple(f"{what} of the base along its own {x}" for what in ("velocity", "angular velocity") for x in "xyz")


def _named(kind: str, symbols: Sequence[str], named: Sequence[tuple[str, str]]) -> Table:
    rows = [(f"${symbol(s)}$", quoted(name), quoted(what)) for s, (name, what) in zip(symbols, named, strict=True)]
    return Table(("symbol", kind, "what it is"), rows)


def _meaning(arm: Arm, coordinate: Coordinate) -> str:
    link = arm.links[coordinate.link]
    if coordinate.role != "flexible":
        return f"{coordinate.role}, of link {link.name}"
    mine = [each for each in arm.layout if (each.link, each.role) == (coordinate.link, coordinate.role)]
    amplitude = link.body.amplitudes[mine.index(coordinate)]
    part = f" of segment {amplitude.segment}" * bool(amplitude.segment)
    return f"{WORDS[amplitude.direction]}, mode {amplitude.number}{part}, of link {link.name}"


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
    """Tables of the constant modal integrals, and of the constants in their closed forms."""
    if not modal:
        return []
    blocks: list[Block] = []
    text = r"Modal integrals: $x$ runs from 0 to 1 along the link, and a prime is a derivative in $x$."
    beams = [link.body for link in equations.arm.links if isinstance(link.body, Beam)]
    if not all(beam.uniform for beam in beams):
        text += " Of a tapered beam they are weighted with its mass, and curvatures with its stiffness."
    if any(beam.shears("y") or beam.shears("z") for beam in beams):
        text += (
            r" Of a beam that shears $\psi$, by how much sections turn, stands for $\phi'$ in curvatures and slopes."
        )
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
    """Table of the modal integrals that change with a telescope's length."""
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
    """Constant of a link's shapes, with the link's number before the mode's."""
    labels = [label for label in (link, found[2]) if label]
    return f"{found[1]}_{{{('' if max(map(len, labels)) == 1 else ',').join(labels)}}}"


def _unit(text: str) -> str:
    return re.sub(r"\^(\d)", r"$^\1$", text)


def _integral(letters: str, meaning: str) -> str:
    """Definition of a modal integral, as a formula."""
    letter, _, *marks = letters.split("_")
    phi = [rf"\phi_{{{mark}}}" for mark in marks]
    if any(mark[0] in "gehs" for mark in marks):
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
    text = []
    if len(stand_ins) > len(places):
        text.append(
            "Places $x$, $w$, $v$ and angles $\\alpha$, $\\delta$, $\\gamma$ of the tips of flexible links, in their "
            "frames; a dot is the rate."
        )
    if stations := equations.stations:
        listed = ", ".join(f"${mark}$ at {x:.10g} of the length" for mark, x in stations.items())
        text.append(f"Those of sections within a link that carry something: {listed}.")
    if equations.arm.free:
        text.append("$R$ turns vectors of the base's frame into the world's; the quaternion is of length one.")
    lines = [line for name, form in places.items() for line in entry_lines(symbol(name), form)]
    return [Heading("Abbreviations"), Paragraph(" ".join(text)), Formulas(lines)]


def _is_rate(name: str) -> bool:
    return name.split("_")[0].endswith("d")


def _motion(equations: Derived, present: dict[str, bool]) -> list[Block]:
    arm, q, rate, second = equations.arm, r"\mathbf q", r"\dot{\mathbf q}", r"\ddot{\mathbf q}"
    if arm.free:
        rate, second = r"\mathbf v", r"\dot{\mathbf v}"
    left = [rf"M({q})\,{second}"]
    if present["D"]:
        left.append(rf"D({q},{rate})\,{rate}")
    if present["damping"]:
        left.append(rf"C\,{rate}")
    if present["U"]:
        left.append(rf"f({q})" if strain_apart(arm) else rf"U\,{q}")
    if present["G"]:
        left.append(rf"G({q})")
    column = ",".join(symbol(s) for s in equations.coordinates)
    right = r"B\,\mathbf u" if present["B"] else "0"
    if arm.closures:
        right = rf"{right} + A^T \lambda" if present["B"] else r"A^T \lambda"
    lines = [f"{' + '.join(left)} &= {right}"]
    if arm.closures:
        lines += [rf"A({q})\,{second} + b({q},{rate}) &= 0", rf"g({q}) &= 0"]
    lines.append(rf"{q} &= ({column})^T")
    text = rf"$D$ is half the slope of the Coriolis and centrifugal forces in ${rate}$, so that $\dot M - 2 D$ is "
    text += "skew (Lin and Lewis 1994, Theorem 1)."
    if arm.free:
        lines += [rf"{rate} &= ({','.join(symbol(s) for s in equations.rates)})^T", rf"\dot{{{q}}} &= N({q})\,{rate}"]
        text += " What turns the momentum of a free base with it counts otherwise, so that it is skew there too."
    blocks: list[Block] = [Formulas(lines)]
    text += " Entries that are not listed are zero."
    if stiffness_varies(arm):
        text += r" Along a telescope's length $U$ varies: it is the slope of the force $f$ of strain and springs."
    return [*blocks, Paragraph(text)]


def _matrix(part: Part, rows: list[list[Form]]) -> list[Block]:
    """Show a small part as a matrix, a large one entry by entry, and of a symmetric one the upper half."""
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
    rate = r"\mathbf v" if equations.arm.free else r"\dot{\mathbf q}"
    lines = [rf"T &= \tfrac{{1}}{{2}}\,{rate}^T M\,{rate}"]
    return [Formulas(lines + entry_lines("V", potential))] if potential else [Formulas([*lines, "V &= 0"])]


def _pose(equations: Derived) -> list[Block]:
    rows, (p, R, there) = (
        equations.forms("tip"),
        ("r", "Q", "world") if equations.arm.free else ("p", "R", "base frame"),
    )
    lines = [line for axis, row in zip("xyz", rows, strict=False) for line in entry_lines(f"{p}_{axis}", row[3])]
    for r, row in enumerate(rows[:3], start=1):
        for c, form in enumerate(row[:3], start=1):
            if form:
                lines += entry_lines(f"{R}_{{{r}{c}}}", form)
    return [Paragraph(f"Position ${p}$ and rotation ${R}$ of the payload's frame in the {there}:"), Formulas(lines)]


def titled(arm: Arm) -> str:
    """Title of the document."""
    return quoted(f"Equations of motion: {arm.name}")
