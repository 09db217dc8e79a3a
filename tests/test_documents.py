"""Documents: a reader of what they print, written here, finds in their formulas the numbers of the SymPy matrices."""

import re
import shutil
import subprocess
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
from random_arms import random_arm

import flexarm as fa
from flexarm.closed_forms.equations import equations
from flexarm.closed_forms.formats.mathematics import symbol
from flexarm.closed_forms.traced import trace
from flexarm.shapes import family

CLOSE = 1e-12  # of a matrix' largest entry: the same sums, added in another order
PRINTED = 1e-9  # of the same, where numbers stand among the symbols: ten digits of each are printed
PDFLATEX = shutil.which("pdflatex")
WIDE = 10.0  # points that a line may stand out into the margin
MATRICES = {"M": "M", "D": "D", "C": "damping", "U": "U", "G": "G", "B": "B"}


def slides(found):
    """Whether there is a telescope, whose force of strain f is not U q."""
    return any(link.joint.type == "telescope" for link in found.arm.links)


def matrices(found):
    return MATRICES | ({"f": "stiffness_force"} if slides(found) else {})


# -- arms --------------------------------------------------------------------------------------------------------------

Z, Y, SKEW = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (2 / 7, 3 / 7, 6 / 7)


def link(number, body, axis=Z, joint=fa.Revolute, placement=None, hub=0.0, **more):
    moving = joint(**more) if joint is fa.Telescope else joint(axis=axis, **more)
    return fa.Link(name=f"link{number}", joint=moving, body=body, placement=placement or fa.Pose(), hub_mass=hub)


def beam(foreshortening=False, **modes):
    known = {"EI": {"y": 20.0, "z": 30.0}, "GJ": 9.0, "EA": 1e3, "polar_inertia": 0.002, "damping": 0.01}
    known["shapes"] = {"y": "clamped-free", "z": "clamped-free", "torsion": "fixed-free", "axial": "fixed-free"}
    return fa.Beam(length=0.8, mass=0.6, modes=modes, foreshortening=foreshortening, **known)


def narrowing(**modes):
    wide, thin = (fa.Tube(outer_diameter=d, thickness=0.002) for d in (0.04, 0.03))
    aluminium = fa.Material(E=7e10, density=2700.0, poisson=0.33)
    return fa.Beam(length=0.8, material=aluminium, section=wide, section_tip=thin, modes=modes)


def rod(**more):
    return fa.Rigid(length=0.4, mass=0.9, **more)


TENSOR = ((0.03, 0.002, -0.001), (0.002, 0.04, 0.003), (-0.001, 0.003, 0.05))
PLACED = fa.Pose(xyz=(0.1, -0.2, 0.15), rpy=(0.3, 0.0, 0.5))
SPRING = {"stiffness": 80.0, "spring_damping": 0.2, "rotor_inertia": 0.01, "gear_ratio": 3.0, "damping": 0.1}
DOWN = (0.0, 0.0, -9.81)

OWN = {
    "torsion and axial modes": fa.Arm(
        name="torsion and axial modes",
        links=(link(1, beam(y=1, torsion=2, axial=2), Y), link(2, rod(), Y, rotor_inertia=0.01)),
        gravity=DOWN,
    ),
    "foreshortened": fa.Arm(
        name="foreshortened",
        links=(link(1, beam(foreshortening=True, y=2)), link(2, rod(), **SPRING)),
        gravity=(0.0, -9.81, 0.0),
    ),
    "telescope": fa.Arm(
        name="telescope",
        links=(
            link(1, rod(), hub=0.2),
            link(2, beam(y=2), joint=fa.Telescope, wave_numbers="fixed", free_length=0.5, **SPRING),
        ),
        payload=fa.Payload(mass=0.3),
        gravity=(0.0, -9.81, 0.0),
    ),
    "general axes": fa.Arm(
        name="general axes",
        links=(
            link(1, rod(com=(0.2, 0.03, -0.02), inertia=TENSOR), SKEW, rotor_inertia=0.1),
            link(2, rod(inertia=(0.01, 0.02, 0.02)), Y, fa.Prismatic, PLACED, damping=0.2),
        ),
        payload=fa.Payload(mass=0.3),
        gravity=(1.0, -2.0, -9.0),
    ),
    "upright": fa.Arm(  # the height of the first link, which no force knows, is in the potential energy
        name="upright",
        links=(
            link(1, rod(com=(0.2, 0.0, 0.1), inertia=0.1), placement=fa.Pose(xyz=(0.0, 0.0, 0.6)), hub=0.5),
            link(2, rod(), Y),
        ),
        gravity=DOWN,
    ),
    "hinged": fa.Arm(  # the hub turns with the slopes at the root, sums within sines that are no angles
        name="hinged",
        links=(
            link(1, beam(y=1, z=1).replace(shapes="pinned-pinned", damping=0.0)).replace(hub_inertia=(0.1, 0.2, 0.3)),
        ),
    ),
    "two families": fa.Arm(
        name="two families",
        links=(link(1, beam(y=2)), link(2, beam(y=1, z=1).replace(shapes="pinned-free"), Y)),
    ),
    "tapered": fa.Arm(name="tapered", links=(link(1, narrowing(y=2, torsion=1), Y, **SPRING),), gravity=DOWN),
    "ten coordinates": fa.Arm(
        name="ten coordinates",
        links=tuple(link(i, beam(y=4, z=4) if i == 3 else rod(), **(SPRING if i < 3 else {})) for i in (1, 2, 3)),
    ),
    "twelve links": fa.Arm(name="twelve links", links=tuple(link(i, rod(), joint=fa.Prismatic) for i in range(1, 13))),
}
NUMBERS = {
    "numbers": ("lin-lewis-rfr", {"m_*": None, "EI_2": 1.5e7, "a_2_1": 3.25e-9, "L_1": 1 / 3, "mP": -2.0e-20}),
    "an angle as a number": ("general axes", {"roll_*": None, "tilt_1": 0.2, "Ixx_1": 4.0, "m_2": 1e5}),
    "nothing but numbers": ("lin-lewis-rfr", {"*": None}),
}
BUNDLED = ("rigid-two-link", "lin-lewis-rfr", "subudhi-morris-elastic", "lin-lewis-azimuth-elevation")
BUNDLED += ("theodore-ghosal",)
CASES = (*BUNDLED, *OWN, *NUMBERS)


@cache
def case(name):
    of, numbers = NUMBERS.get(name, (name, ()))
    return equations(OWN.get(of) or fa.load(of), numbers)


@cache
def printed(name, form):
    return getattr(case(name), form)()


# -- the reader --------------------------------------------------------------------------------------------------------

TOKEN = re.compile(
    r"""\s*(?: (?P<fraction>\\t?frac(?=\{)) | (?P<turn>\\(?:cos|sin|tan)h?(?![a-z])) | (?P<space>\\,)
    | (?P<times>\\times) | (?P<sign>[+-]) | (?P<power>\^) | (?P<left>\{) | (?P<right>\}) | (?P<number>\d+(?:\.\d+)?)
    | (?P<open>\\(?:bigl|left)(?:\(|\[|\\\{)|\((?!E|GJ)) | (?P<close>\\(?:bigr|right)(?:\)|\]|\\\})|\))
    | (?P<symbol>(?:\\d?dot\{[^{}]*\}|\\mathrm\{[a-z]+\}|\\[a-z]+|\((?:EI|GJ|EA)\)|[A-Za-z])
        '?(?:_\{[^{}]*\})?(?:\(0\))?)
    )\s*""",
    re.VERBOSE,
)


class Reader:
    """LaTeX -> a Python expression in the names that SymPy has for the symbols.

    sum: products with signs. product: factors side by side. factor: a number, a symbol, a fraction, a sine or cosine,
    a sum in parentheses; the last four with a power. Closed forms are SymPy's LaTeX, with sinh {x} and \\left(.
    """

    def __init__(self, names):
        self.names = names
        self.met = {}

    def expression(self, text):
        self.tokens, at = [], 0
        while at < len(text):
            token = TOKEN.match(text, at)
            assert token, f"what is {text[at : at + 40]!r}?"
            kind = token.lastgroup
            self.tokens.append((kind, token[kind]))
            at = token.end()
        self.tokens.append(("end", ""))
        self.tokens.reverse()
        found = self.sum()
        assert self.tokens == [("end", "")], self.tokens[::-1]
        return found

    def next_is(self, *kinds):
        return self.tokens[-1][0] in kinds

    def take(self, *kinds):
        assert self.next_is(*kinds), (kinds, self.tokens[-4:][::-1])
        return self.tokens.pop()[1]

    def sum(self):
        parts = [self.take("sign") if self.next_is("sign") else "", self.product()]
        while self.next_is("sign"):
            parts += [self.take("sign"), self.product()]
        return "(" + "".join(parts) + ")"

    def product(self):
        factors = [self.factor()]
        while self.next_is("space", "fraction", "turn", "open", "symbol"):
            if self.next_is("space"):
                self.take("space")
            factors.append(self.factor())
        return "*".join(factors)

    def factor(self):
        if self.next_is("number"):
            return self.number()
        if self.next_is("symbol"):
            base = self.symbol(self.take("symbol"))
        elif self.next_is("fraction"):
            base = f"({self.take('fraction') and self.group()}/{self.group()})"
        elif self.next_is("turn"):
            turn = self.take("turn")[1:]
            power = self.power()
            return f"{turn}({self.group() if self.next_is('left') else self.parentheses()}){power}"
        else:
            base = self.parentheses()
        return base + self.power()

    def number(self):
        text = self.take("number")
        if self.next_is("times"):
            self.take("times")
            assert self.take("number") == "10"
            text += f"*10.0{self.power()}"
        return text

    def power(self):
        if not self.next_is("power"):
            return ""
        self.take("power")
        return f"**{self.group()}"

    def group(self):
        self.take("left")
        inside = self.sum()
        self.take("right")
        return inside

    def parentheses(self):
        left = self.take("open")[-1]
        inside = self.sum()
        right = self.take("close")[-1]
        assert left + right in ("()", "[]", "{}")
        return inside

    def symbol(self, text):
        if text not in self.met:
            self.met[text] = name_of(text, self.names)
        return self.met[text]


def name_of(text, names):
    """The one name among `names` that is written so."""
    parts = re.fullmatch(r"(?:(\\d?dot)\{)?(?:\\mathrm\{)?\\?\(?([A-Za-z]+)\)?\}?('?)(?:_\{([^{}]*)\})?(\(0\))?", text)
    assert parts, text
    dots, letter, prime, index, root = parts.groups()
    letter = "d" * bool(prime) + letter + "0" * bool(root) + {None: "", r"\dot": "d", r"\ddot": "dd"}[dots]
    letter = {"n": "G"}.get(letter, letter)  # the gear ratio
    marks, rest = re.fullmatch(r"((?:[A-Za-z]+,?)*)(.*)", index or "").groups()  # l_{c1} is lc_1, I_{h,xx,1} Ihxx_1
    letter += marks.replace(",", "")
    slope = re.fullmatch(r"(.*?),(l+)", rest)  # a_{21,l} is a_2_1_l
    ways = [rest.split(","), rest, *([[*slope[1], slope[2]]] if slope else [])]
    found = {"_".join([letter, *filter(None, labels)]) for labels in ways} & names
    assert len(found) == 1, (text, found)
    return found.pop()


BLOCKS = re.compile(r"\\begin\{(?:align\*|aligned)\}\n(.*?)\n\\end\{(?:align\*|aligned)\}", re.DOTALL)
PMATRIX = re.compile(r"(\w+) &= \\begin\{pmatrix\} (.*?) \\end\{pmatrix\}")


def formulas(document):
    """Left and right sides of all formulas; continued lines joined, small matrices taken apart."""
    found = []
    for block in BLOCKS.findall(document):
        for letter, body in PMATRIX.findall(block):
            rows = [row.split(" & ") for row in body.split(r" \\ ")]
            assert len({len(row) for row in rows}) == 1
            entries = [(r, c, cell) for r, row in enumerate(rows, 1) for c, cell in enumerate(row, 1)]
            found += [(f"{letter}[{r},{c}]", cell) for r, c, cell in entries]
        lines = []
        for line in re.split(r" \\\\(?:\[3pt\])?\n", PMATRIX.sub("", block)):
            if line.startswith("&"):
                lines[-1] += re.sub(r"^&(\\quad)+", "", line)
            elif line:
                lines.append(line)
        found += [tuple(line.split(" &= ")) for line in lines]
    return found


def read(document, found):
    """Of a document: names and expressions of the abbreviations, of the matrices' entries, of energy and pose."""
    known = {*found.coordinates, *found.rates, *(p.symbol for p in found.parameters)}
    known |= {str(name) for name in found.definitions} | {f.symbol for f in found.functions}
    reader, n = Reader(known), len(found.coordinates)
    read = SimpleNamespace(abbreviations={}, entries={}, symbols=reader.met, left=[])
    for left, right in formulas(document):
        if r"\mathbf" in left + right:
            continue
        read.left.append(left)
        if entry := re.fullmatch(r"([MDCUfGBR])(?:\[(.*)\]|_\{(.*)\})", left):
            letter, whole, index = entry.groups()
            many = n >= 10 and letter != "R"
            lone = letter in "Gf" or (letter == "B" and len(found.arm.inputs) == 1)
            numbers = (whole or index).split(",") if whole or many else [*index]
            key = (letter, *map(int, [*numbers, 1] if lone and not whole else numbers))
            assert len(key) == 3
        elif left == "V" or re.fullmatch(r"p_[xyz]", left):
            key = left
        else:
            read.abbreviations[name_of(left, known)] = reader.expression(right)
            continue
        assert key not in read.entries
        read.entries[key] = reader.expression(right)
    return read


# -- the formulas ------------------------------------------------------------------------------------------------------


def values_of(found):
    """Numbers for coordinates, rates and parameters, at three random places, and what the stand-ins are there."""
    rng = np.random.default_rng(len(found.parameters))
    names = [*found.coordinates, *found.rates, *(p.symbol for p in found.parameters)]
    return {name: rng.uniform(0.5, 1.5, 3) for name in names}


@cache
def truth(name):
    """The entries of the SymPy matrices, explicit, at random places, by the keys of `read`; zero ones too."""
    found = case(name)
    values = values_of(found)
    parts = {letter: getattr(found, part) for letter, part in matrices(found).items()}
    parts |= {"V": sp.Matrix([found.potential]), "R": found.tip[:3, :3], "p": found.tip[:3, 3]}
    explicit = [found.explicit(part) for part in (*parts.values(), sp.Matrix([*found.definitions.values()]))]
    numbers = sp.lambdify(list(values), [list(part) for part in explicit], "numpy", cse=True)(**values)
    entries = {}
    for (letter, part), flat in zip(parts.items(), numbers, strict=False):
        rows, columns = part.shape
        entries |= {(letter, i // columns + 1, i % columns + 1): x for i, x in enumerate(flat)}
    entries["V"] = entries.pop(("V", 1, 1))
    entries |= {f"p_{axis}": entries.pop(("p", r, 1)) for r, axis in enumerate("xyz", 1)}
    return (
        values | functions_of(found, values),
        entries,
        dict(zip(map(str, found.definitions), numbers[-1], strict=True)),
    )


def functions_of(found, values):
    """Numbers of the functions of a free length."""
    return {f.symbol: f(values[found.length_of(f)]) for f in found.functions}


FUNCTIONS = {name: getattr(np, name) for name in ("cos", "sin", "tan", "cosh", "sinh", "tanh", "pi")}


def evaluated(expressions, values):
    return {key: eval(text, FUNCTIONS, values) for key, text in expressions.items()}


def assert_same(found, expected, scale, closeness):
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=0, atol=closeness * scale(key), err_msg=str(key))


@pytest.mark.parametrize("name", CASES)
def test_formulas_say_what_the_matrices_are(name):
    found, document = case(name), read(printed(name, "latex"), case(name))
    values, expected, meant = truth(name)
    closeness = PRINTED if found.numbers else CLOSE

    # 1. abbreviations: all but the rates are listed, and a dot is the rate
    assert {*document.abbreviations} == {x for x in meant if x.split("_")[0][-1] != "d"}
    stand_ins = evaluated(document.abbreviations, values)
    assert_same(stand_ins, {x: meant[x] for x in stand_ins}, lambda key: 1.0, closeness)

    # 2. what is not listed is zero, or the lower half of a symmetric matrix
    entries = evaluated(document.entries, values | meant)
    assert entries.keys() <= expected.keys()
    for key in expected.keys() - entries.keys():
        letter, r, c = key
        mirrored = entries.get((letter, c, r), 0.0) if letter in ("M", "U", "C") else 0.0
        entries[key] = mirrored

    # 3. every entry
    largest = {}
    for key, value in expected.items():
        largest[key[0]] = max(largest.get(key[0], 0.0), np.abs(value).max())
    assert_same(entries, expected, lambda key: largest[key[0]], closeness)


@pytest.mark.parametrize("name", CASES)
def test_text_is_read_by_sympy(name):
    found, text = case(name), printed(name, "text")
    values, expected, meant = truth(name)
    lines = re.findall(r"^  (\S+) = (.*)$", text, re.MULTILINE)
    names = [*values, *meant]
    stand_ins = {x: y for x, y in lines if x in names}
    assert {*stand_ins} == {*meant}
    entries = {(x[0], *map(int, re.findall(r"\d+", x))): y for x, y in lines if "[" in x}
    written = [*stand_ins, *entries]
    read = [sp.sympify(y) for y in (*stand_ins.values(), *entries.values())]
    numbers = sp.lambdify(names, read, "numpy", cse=True)(**values, **meant)
    assert_same(dict(zip(written, numbers, strict=True)), meant, lambda key: 1.0, CLOSE)
    numbers = dict.fromkeys(expected, 0.0) | dict(zip(written, numbers, strict=True))
    largest = {letter: max(np.abs(v).max() for k, v in expected.items() if k[0] == letter) for letter in MATRICES}
    shown = {key: value for key, value in expected.items() if key[0] in MATRICES}
    assert_same(numbers, shown, lambda key: largest[key[0]], PRINTED if found.numbers else CLOSE)
    for letter in MATRICES:
        assert (f"  {letter} = 0" in text) == (not any(key[0] == letter for key in entries))


def test_text_alone_has_every_abbreviation():
    """Also those that are first met in the matrices, when nothing was asked for before."""
    found = equations(OWN["hinged"])
    lines = dict(re.findall(r"^  (\S+) = (.*)$", found.text(), re.MULTILINE))
    met = {str(x) for right in lines.values() for x in sp.sympify(right).free_symbols}
    known = {*found.coordinates, *found.rates, *(p.symbol for p in found.parameters)}
    assert "psi_1" in met and met - known <= {*lines}


# -- the tables --------------------------------------------------------------------------------------------------------


def tables(document):
    """Tables by the last word of their head, as lists of rows of cells."""
    found = {}
    for block in re.findall(r"\\begin\{longtable\}.*?\n(.*?)\n\\end\{longtable\}", document, re.DOTALL):
        head, *rows = [line.removesuffix(r" \\").split(" & ") for line in block.split("\n")]
        assert head[-1].endswith(r" \\ \hline \endhead") and all(len(row) == len(head) for row in rows)
        title = head[0] + " " + head[-1].split(" ", 1)[0]
        assert title not in found
        found[title] = rows
    return found


def formula(cell):
    assert cell[0] == cell[-1] == "$" and cell.count("$") == 2
    return cell[1:-1]


def number(text):
    return eval(Reader(set()).expression(text.removeprefix("-"))) * (-1 if text[0] == "-" else 1)


@pytest.mark.parametrize("name", CASES)
def test_tables_have_every_symbol_and_its_value(name):
    found, document = case(name), printed(name, "latex")
    made = read(document, found)
    listed = tables(document)
    symbols = {}  # what is known of each symbol in a table: its line
    for title in ("symbol what", "symbol unit", "symbol value", "symbol definition"):
        for row in listed.get(title, []):
            assert formula(row[0]) not in symbols
            symbols[formula(row[0])] = row
    functions = {f.letters for f in found.functions}
    names = {*found.coordinates, *(p.symbol for p in found.parameters), *functions}
    by_name = {name_of(text, names): row for text, row in symbols.items()}

    # 1. whatever stands in a formula is in a table, or an abbreviation, or the rate of one of both
    told = {*by_name, *made.abbreviations}
    rates = {x.replace("_", "d_", 1) for x in (*found.coordinates, *made.abbreviations)}
    rates |= {f.symbol for f in found.functions}
    assert {*made.symbols.values()} <= told | rates
    assert all(made.symbols[text] in by_name for text in symbols if text in made.symbols)

    # 2. coordinates in their order, parameters with name, value and unit
    assert [row[1].replace("\\", "") for row in listed["symbol what"]] == [*found.arm.coordinates]
    assert {*by_name} == names
    for p in found.parameters:
        row = by_name[p.symbol]
        value, unit = (row[3], "") if p.modal else row[3:]
        assert number(formula(value)) == pytest.approx(p.value, rel=PRINTED)
        assert re.sub(r"\$\^(\d)\$", r"^\1", unit) == p.unit
        if not p.modal:
            assert row[2].replace("\\", "") == p.name
            assert row[1] == p.meaning

    # 3. closed forms give the value, with the constants that are listed
    constants = {row[0][1:-1]: number(formula(row[2])) for row in listed.get("constant value", [])}
    known = {text.replace("\\", "").replace("{", "").replace("}", ""): value for text, value in constants.items()}
    for p in found.parameters:
        if not p.modal or by_name[p.symbol][2] == "none":
            assert p.symbol not in found.closed_forms
            continue
        form = Reader({*known, "pi"}).expression(formula(by_name[p.symbol][2]))
        assert eval(form, FUNCTIONS, known) == pytest.approx(p.value, rel=100 * PRINTED)


@pytest.mark.parametrize("name", ["canadarm", "two families", "ten coordinates"])
def test_modal_integrals_are_what_the_table_defines(name):
    """By quadrature of the shapes themselves, in the words of the column of definitions."""
    found, document = case(name), printed(name, "latex")
    nodes, weights = np.polynomial.legendre.leggauss(40)
    x, weights = (nodes + 1) / 2, weights / 2
    rows = {formula(row[0]): row for row in tables(document)["symbol value"]}
    names = {p.symbol: p for p in found.parameters}
    for text, (_, definition, _, value) in rows.items():
        i = int(name_of(text, {*names}).split("_")[1]) - 1
        shapes = family(found.arm.links[i].body.families["y"])
        basis = shapes.basis(max(found.arm.links[i].body.counts.values()))

        inside = re.fullmatch(r"\\int_0\^1 (.*)\\,dx", formula(definition))
        factors = re.findall(r"\\phi_\{(\d+)\}('*)(?:\(([01])\))?|(x) ", inside[1] if inside else formula(definition))
        product = 1.0
        for mode, primes, end, along in factors:
            at = x if inside else np.array([float(end)])
            product = product * (at if along else basis.values(at, len(primes))[:, int(mode) - 1])
        expected = weights @ product if inside else product[0]
        assert number(formula(value)) == pytest.approx(expected, rel=PRINTED, abs=PRINTED)


@pytest.mark.parametrize("name", CASES)
def test_a_symbol_means_one_thing(name):
    """In a document, whatever stands on the left of a formula or of a table's line."""
    document = printed(name, "latex")
    raw = [line.partition(" &=")[0] for block in BLOCKS.findall(document) for line in re.split(r" \\\\\S*\n", block)]
    left = [text for text in raw if text and not text.startswith("&") and r"\mathbf" not in text]
    first = [formula(row[0]) for rows in tables(document).values() for row in rows]
    assert len(left) > 3
    seen = [*left, *first]
    assert sorted(seen) == sorted({*seen})


@pytest.mark.parametrize("seed", range(3))
def test_different_names_are_written_differently(seed):
    arms = [
        random_arm(seed),
        random_arm(seed, telescope=True, links=4),
        random_arm(seed, families=("polynomial", "hermite"), tapered=True, links=4),
        random_arm(seed, foreshortening=True, elastic=True, links=4),
        case("twelve links").arm,
    ]
    for arm in arms:
        traced = trace(arm)
        names = {*traced.names}
        written = {symbol(name) for name in names}
        assert len(written) == len(names) > 20
        assert {name_of(text, names) for text in written} == names


# -- the document as such ----------------------------------------------------------------------------------------------

COMMANDS = set(
    """documentclass usepackage allowdisplaybreaks setlength parindent parskip title author date begin end maketitle
    section hline endhead bigl bigr frac tfrac cos sin dot ddot quad mathrm mathbf times int sqrt max
    left right cosh sinh tanh tan coth pi alpha beta gamma delta eta theta phi psi sigma lambda
    textasciitilde textasciicircum textbackslash textless textgreater textbar ensuremath mu""".split()
)
ENVIRONMENTS = {"document", "align*", "longtable", "pmatrix"}


def check_structure(text):
    """Braces, environments and cells match, commands are those of LaTeX and amsmath."""
    bare = re.sub(r"\\\\|\\[{}$&%#_]", lambda found: "\n" if found[0] == r"\\" else " ", text)
    assert {*re.findall(r"\\([A-Za-z]+)", bare)} <= COMMANDS
    assert {*re.findall(r"\\([^A-Za-z])", bare)} <= {",", "\n", "'"}
    depth = np.cumsum([{"{": 1, "}": -1}.get(c, 0) for c in bare])
    assert depth[-1] == 0 and depth.min() >= 0
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", bare):
        assert name in ENVIRONMENTS
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    assert all(line.count("$") % 2 == 0 for line in bare.splitlines())
    assert bare.count(r"\bigl") == bare.count(r"\bigr")
    for block in re.findall(r"\\begin\{align\*\}.*?\\end\{align\*\}", text, re.DOTALL):
        assert not re.search(r"\n\s*\n", block)
        assert all(line.count("&") == 1 for line in re.split(r" \\\\(?:\[3pt\])?\n", PMATRIX.sub("x &= y", block)))


@pytest.mark.parametrize("name", CASES)
def test_latex_is_well_formed(name):
    check_structure(printed(name, "latex"))


def compiled(text, folder):
    """What pdflatex says: its errors, and how far lines stand out; twice, for tables learn their widths."""
    (folder / "arm.tex").write_text(text, encoding="utf-8")
    for _ in range(2):
        subprocess.run([PDFLATEX, "-interaction=nonstopmode", "arm.tex"], cwd=folder, capture_output=True, check=False)
    log = (folder / "arm.log").read_text(encoding="utf-8", errors="replace")
    wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", log)]
    assert (folder / "arm.pdf").exists() or "! " in log
    return re.findall(r"^! .*", log, re.MULTILINE), max(wide, default=0.0)


@pytest.mark.skipif(PDFLATEX is None, reason="no pdflatex")
@pytest.mark.parametrize("name", CASES)
def test_latex_compiles(name, tmp_path):
    errors, wide = compiled(printed(name, "latex"), tmp_path)
    assert errors == []
    assert wide <= WIDE


NASTY = "50% of a_b & #1 ~x^2 \\frac{1}{2} {µ} é \N{EN DASH} a$b$c $ < > | [x] \"q\" 'r' * `"
LABEL = "a_%&#$~^\\{}é-µ<>|*"


def nasty(**changes):
    joint = fa.Revolute(axis=Z)
    body = fa.Beam(length=1.0, mass=1.0, EI=2.0, modes={"y": 1}, shapes="clamped-loaded")
    links = (fa.Link(name=LABEL, joint=joint, body=body), fa.Link(name="Upper$Case$", joint=joint, body=rod()))
    return equations(fa.Arm(name=NASTY, description=NASTY, links=links).replace(**changes))


def test_what_a_user_wrote_is_escaped():
    """Names and descriptions, which are text: what is a formula between dollars is only what the program wrote."""
    text = nasty().latex()
    check_structure(text)
    for special in (r"50\% of a\_b \& \#1", r"a\$b\$c \$", r"frac\{1\}\{2\} \{\ensuremath{\mu}\} \'{e} --"):
        assert text.count(special) == 2, special  # the title and the description
    assert text.count(r"Upper\$Case\$") == text.count("Upper") > 2
    ours = re.findall(r"(?<!\\)\$([^$]*)(?<!\\)\$", text)
    assert not any("Case" in formula or formula == "b" for formula in ours)


@pytest.mark.skipif(PDFLATEX is None, reason="no pdflatex")
def test_what_a_user_wrote_compiles(tmp_path):
    errors, _ = compiled(nasty().latex(), tmp_path)
    assert errors == []


def test_sentences_keep_the_names_of_links():
    for text in (nasty().latex(), nasty().markdown()):
        assert "No closed forms for the modal integrals of " in text
    arm = nasty().arm
    upper = equations(arm.replace(links=(arm.links[0].replace(name="ForeArm"), arm.links[1])))
    for text in (upper.latex(), upper.markdown()):
        assert "No closed forms for the modal integrals of ForeArm (clamped-loaded)" in text


def test_a_description_is_a_sentence():
    for given in ("Two links", "Two links."):
        assert "\n\nTwo links.\n\n" in nasty(description=given).latex()
    assert r"\maketitle" + "\n\n" + r"\section*{Coordinates}" in nasty(description="").latex()


@pytest.mark.parametrize("name", CASES)
def test_markdown_is_well_formed(name):
    text = printed(name, "markdown")
    lines = text.splitlines()
    assert lines[0].startswith("# Equations of motion: ")
    blocks = text.split("$$")
    assert len(blocks) % 2 == 1 and lines.count("$$") == text.count("$$")
    for block in blocks[1::2]:
        assert block.startswith("\n\\begin{aligned}\n") and block.endswith("\n\\end{aligned}\n")
        assert block.count("{") - block.count(r"\{") == block.count("}") - block.count(r"\}")
        assert "\n\n" not in block
    for block in "".join(blocks[::2]).split("\n\n"):
        rows = block.strip().splitlines()
        if rows and rows[0].startswith("|"):
            cells = {len(re.split(r"(?<!\\)\|", row)) for row in rows}
            assert len(cells) == 1 and re.fullmatch(r"(\| --- )+\|", rows[1])
        else:
            assert block.count("$") % 2 == 0
    assert formulas(text) == formulas(printed(name, "latex"))
    titles = [re.sub(r"\\section\*\{(.*)\}", r"\1", x) for x in re.findall(r"\\section.*", printed(name, "latex"))]
    assert [line[3:] for line in lines if line.startswith("## ")] == titles


@pytest.mark.parametrize("name", CASES)
def test_only_what_there_is_has_a_section(name):
    """A matrix that is zero is neither printed nor part of the equations."""
    found, text = case(name), printed(name, "latex")
    titles = {"M": "Inertia", "D": "Coriolis", "C": "Damping", "U": "Stiffness", "B": "Input"}
    for letter, title in titles.items():
        present = not getattr(found, MATRICES[letter]).is_zero_matrix
        assert (rf"\section*{{{title} matrix}}" in text) == present
    assert (r"\section*{Gravity}" in text) == (not found.G.is_zero_matrix)
    motion = re.search(r"^M\(\\mathbf q\).*$", text, re.MULTILINE)[0]
    left, right = motion.split(" &= ")
    told = [term[0] for term in left.split(" + ")]
    letters = "MDCfG" if slides(found) else "MDCUG"
    assert told == [letter for letter in letters if not getattr(found, matrices(found)[letter]).is_zero_matrix]
    assert right.split(r" \\")[0] == r"B\,\mathbf u"
