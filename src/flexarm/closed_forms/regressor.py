"""Equations linear in parameters, tau = Y(q, qd, qdd) p: for adaptive control and identification.

Every term of the equations is a product of parameters times a function of the motion. Between these functions there are
linear relations, and so between the columns of Y. By default the parameters are therefore the base parameters, which
are the smallest set of combinations that the motion determines. They are found exactly.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from flexarm.closed_forms.collect import Form, Writer
from flexarm.closed_forms.ring import Term
from flexarm.errors import DescriptionError
from flexarm.mechanics.parameters import Parameter, fitting

Product = tuple[tuple[str, int], ...]
Line = dict[tuple, Fraction]
Collect = Callable[[list[Term]], Form]


@final
@dataclass(frozen=True)
class Regressor:
    """The regressor tau = Y p + rest of the generalized force M qdd + (D + C) qd + stiffness force + G.

    Attributes
    ----------
    Y : SymPy matrix (n, k)
        A function of coordinates, rates, accelerations, and known parameters of the arm, such as lengths within angles.
    p : SymPy matrix (k, 1)
        The parameters, or combinations of them.
    rest : SymPy matrix (n, 1)
        Terms without the chosen parameters; zero without a choice.
    """

    Y: Any
    p: Any
    rest: Any


def chosen(
    rows: list[list[Term]],
    names: Iterable[str],
    parameters: Iterable[Parameter],
    within: Mapping[str, set[str]],
    writer: Writer,
    collect: Collect,
) -> Regressor:
    """Return the regressor for chosen parameters, by symbol, field or pattern; each must enter linearly.

    `within` has the symbols in the sum that an angle stands for.
    """
    import sympy as sp

    parameters = list(parameters)
    symbols = list(dict.fromkeys(p.symbol for pattern in names for p in fitting(parameters, pattern)))
    columns: list[list[list[Term]]] = [[[] for _ in symbols] for _ in rows]
    rest: list[list[Term]] = [[] for _ in rows]
    for r, terms in enumerate(rows):
        for term in terms:
            angles = {name for angle, _ in term.angles for name in (angle, *within.get(angle, ()))}
            if hidden := [name for name in symbols if name in angles]:
                chosen_ = ", ".join(symbols)
                raise DescriptionError(f"the equations are not linear in {chosen_}: they have {hidden[0]} in an angle")
            inside = [(name, e) for name, e in term.powers if name in symbols]
            if not inside:
                rest[r].append(term)
            elif len(inside) == 1 and inside[0][1] == 1:
                powers = tuple(pair for pair in term.powers if pair[0] != inside[0][0])
                column = columns[r][symbols.index(inside[0][0])]
                column.append(Term(term.coefficient, powers, term.kind, term.angles))
            else:
                product = " ".join(f"{name}^{e}" if e != 1 else name for name, e in inside)
                raise DescriptionError(f"the equations are not linear in {', '.join(symbols)}: they have {product}")
    Y = sp.Matrix(len(rows), len(symbols), lambda r, c: writer.expression(collect(columns[r][c])))
    p = sp.Matrix([writer.symbol(name) for name in symbols])
    return Regressor(Y, p, sp.Matrix([writer.expression(collect(terms)) for terms in rest]))


def base(rows: list[list[Term]], parameters: set[str], writer: Writer, collect: Collect) -> Regressor:
    """Return the regressor for the base parameters."""
    import sympy as sp

    # 1. coefficient of each function of the motion, (row, function), for each product of parameters
    table: dict[Product, Line] = {}
    for r, terms in enumerate(rows):
        for term in terms:
            product = tuple(pair for pair in term.powers if pair[0] in parameters)
            motion = (r, tuple(pair for pair in term.powers if pair[0] not in parameters), term.kind, term.angles)
            table.setdefault(product, {})[motion] = Fraction(term.coefficient)

    # 2. products whose functions are independent, in order; each other one is a combination of those before it
    echelon: list[tuple[Any, Line, dict[Product, Fraction]]] = []
    members: dict[Product, dict[Product, Fraction]] = {}
    for product in sorted(table, key=lambda product: (sum(abs(e) for _, e in product), product)):
        line, made = dict(table[product]), {product: Fraction(1)}
        for pivot, known, parts in echelon:
            if factor := line.get(pivot):
                _subtract(line, factor, known)
                _subtract(made, factor, parts)
        if line:
            pivot, top = next(iter(line.items()))
            echelon.append((pivot, {m: c / top for m, c in line.items()}, {k: c / top for k, c in made.items()}))
            members[product] = {product: Fraction(1)}
        else:
            for independent, share in made.items():
                if independent != product:
                    members[independent][product] = -share

    # 3. tau = sum over independent products of (their combinations) (their functions)
    columns = [
        [
            collect([Term(_short(c), m[1], m[2], m[3]) for m, c in table[product].items() if m[0] == r])
            for product in members
        ]
        for r in range(len(rows))
    ]
    Y = sp.Matrix(len(rows), len(members), lambda r, c: writer.expression(columns[r][c]))
    combinations = [
        collect([Term(_short(c), product, "", ()) for product, c in parts.items()]) for parts in members.values()
    ]
    return Regressor(
        Y, sp.Matrix(len(members), 1, [writer.expression(f) for f in combinations]), sp.zeros(len(rows), 1)
    )


def _short(c: Fraction) -> Fraction | float:
    """Return a fraction, or a float if it came from a float that is no simple fraction."""
    return c if c.denominator <= 2**20 else float(c)


def _subtract(line: dict[Any, Fraction], factor: Fraction, other: dict[Any, Fraction]) -> None:
    for key, c in other.items():
        left = line.get(key, Fraction(0)) - factor * c
        if left:
            line[key] = left
        else:
            line.pop(key, None)
