"""Exact sums of products of symbols and of sines and cosines, in a form in which equal functions look the same.

An element is a dict from monomials to coefficients. In a monomial every symbol has an exponent, which may be negative,
and every angle a a whole number k: it stands for exp(i k a). Products of sines and cosines so become those of sums of
angles by themselves, cos^2 + sin^2 is 1, and what is zero vanishes; nothing is ever simplified afterwards. A monomial
is one integer with a field of bits for each exponent, so that a product of monomials is a sum of integers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import cos, pi, sin

import casadi as ca

from flexarm.errors import FlexarmError

Element = dict[int, complex]

BITS = 8
LARGEST = 1 << (BITS - 2)
"""Power that still leaves an exponent its place."""


class NoClosedForm(FlexarmError):
    """An operation that has no place in a sum of products."""


class TooManyTerms(Exception):
    """A sum grew beyond what was allowed."""


@dataclass(frozen=True)
class Term:
    """coefficient times powers of symbols, times the cosine or sine of a sum of angles where there is one."""

    coefficient: Fraction | float
    powers: tuple[tuple[str, int], ...]
    kind: str = ""
    """"cos", "sin" or nothing."""
    angles: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Ring:
    """All sums over some angles and symbols; symbols are added as they come.

    Attributes
    ----------
    angles : symbols that occur within sines and cosines, and may occur elsewhere too; those called psi are spare
    named : what stands for a sum within a sine or cosine that is not made of angles, by that sum
    """

    angles: tuple[str, ...]
    symbols: list[str] = field(default_factory=list)
    named: dict[frozenset, str] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)

    @property
    def _border(self) -> int:
        """Where the exponents of symbols begin."""
        return BITS * len(self.angles)

    def symbol(self, name: str) -> Element:
        """The element that is one symbol."""
        if name not in self._places:
            self._places[name] = self._border + BITS * len(self.symbols)
            self.symbols.append(name)
        return {1 << self._places[name]: 1.0}

    def constant(self, value: float) -> Element:
        """The element that is a number; a fraction such as 1/3, which no float is, becomes a symbol of its own."""
        if value == 0.0:
            return {}
        fraction = Fraction(value)
        if fraction.denominator > 2**20:
            near = fraction.limit_denominator(1000)
            if float(near) == value:
                top, bottom = near.numerator, near.denominator
                return {key: top * c for key, c in self.symbol(f"1/{bottom}").items()}
        return {0: value}

    def inverse(self, element: Element) -> Element:
        """1 / element, for a product of symbols; a third is exact, which 1/3 as a float is not."""
        ((key, c),) = inverse(element).items()
        return times({key: 1.0}, self.constant(c.real))

    def sine_and_cosine(self, argument: Element) -> tuple[Element, Element]:
        """sin and cos of a sum of angles, quarter turns, and anything else, which gets a name of its own."""
        key, turn, rest = 0, 1.0 + 0.0j, {}
        for monomial, c in argument.items():
            place = self._angle_of(monomial)
            if place is not None and c.real == int(c.real):
                key += int(c.real) << (BITS * place)
            elif monomial == 0 and (quarters := round(c.real / (pi / 2))) * (pi / 2) == c.real:
                turn *= (1.0, 1.0j, -1.0, -1.0j)[quarters % 4]
            else:
                rest[monomial] = c
        if rest:
            name, sign = self._name(rest)
            key += sign << (BITS * self.angles.index(name))
        forth, back = {key: turn}, {-key: turn.conjugate()}
        sine = plus(times({0: -0.5j}, forth), times({0: 0.5j}, back))
        return sine, plus(times({0: 0.5}, forth), times({0: 0.5}, back))

    def _angle_of(self, monomial: int) -> int | None:
        """The number of the angle that the monomial is, itself and alone."""
        if monomial >= 1 << self._border and monomial.bit_count() == 1:
            name = self.symbols[(monomial.bit_length() - 1 - self._border) // BITS]
            if name in self.angles:
                return self.angles.index(name)
        return None

    def _name(self, rest: Element) -> tuple[str, int]:
        negative = frozenset((key, -c) for key, c in rest.items())
        if negative in self.named:
            return self.named[negative], -1
        name = self.named.setdefault(frozenset(rest.items()), f"psi_{len(self.named) + 1}")
        if name not in self.angles:
            raise NoClosedForm("too many different sums within sines and cosines")
        return name, 1

    def terms(self, element: Element) -> list[Term]:
        """The element as real terms."""
        border = self._border
        found: dict[tuple[int, int], tuple[float, float]] = {}
        for key, c in element.items():
            harmonic = _low(key, border)
            if harmonic >= 0:
                along, across = (2.0 * c.real, -2.0 * c.imag) if harmonic else (c.real, 0.0)
                found[(key - harmonic) >> border, harmonic] = (along, across)
        sums: dict[tuple, Fraction | float] = {}
        for (power, harmonic), (along, across) in found.items():
            coefficient, powers = Fraction(1), []
            for place, exponent in _fields(power):
                name = self.symbols[place]
                if name[0] == "1":
                    coefficient *= Fraction(name) ** exponent
                else:
                    powers.append((name, exponent))
            angles = tuple((self.angles[place], k) for place, k in _fields(harmonic))
            flip = bool(angles) and angles[0][1] < 0
            if flip:
                angles, across = tuple((name, -k) for name, k in angles), -across
            for kind, c in (("cos" if angles else "", along), ("sin", across)):
                if c:
                    same = (tuple(powers), kind, angles)
                    value = _times(coefficient, c)
                    sums[same] = sums[same] + value if same in sums else value
        return [Term(c, *key) for key, c in sums.items() if c]

    def with_values(self, element: Element, values: Mapping[str, float]) -> Element:
        """The element with numbers for some symbols."""
        turned = [(BITS * i, values[name]) for i, name in enumerate(self.angles) if name in values]
        powers = [(place, values[name]) for name, place in self._places.items() if name in values]
        names = {place: name for name, place in self._places.items()}
        if not (turned or powers):
            return element
        found: Element = {}
        for key, c in element.items():
            for place, value in powers:
                exponent = _at(key, place)
                if exponent:
                    if exponent < 0 and not value:
                        raise NoClosedForm(f"the equations divide by {names[place]}, which is 0")
                    c *= value**exponent
                    key -= exponent << place
            for place, value in turned:
                k = _at(key, place)
                if k:
                    c *= complex(cos(k * value), sin(k * value))
                    key -= k << place
            found[key] = found.get(key, 0.0) + c
        return {key: c for key, c in found.items() if c}

    def substituted(self, element: Element, name: str, value: Element) -> Element:
        """The element with a sum in place of a symbol, but within sines and cosines."""
        if name not in self._places:
            return element
        place, parts = self._places[name], dict[int, Element]()
        for key, c in element.items():
            exponent = _at(key, place)
            parts.setdefault(exponent, {})[key - (exponent << place)] = c
        total: Element = {}
        for exponent, part in parts.items():
            total = plus(total, times(part, power(value, exponent)))
        return total

    def slope(self, element: Element, name: str) -> Element:
        """The derivative to a symbol that is no angle."""
        if name not in self._places:
            return {}
        place = self._places[name]
        found: Element = {}
        for key, c in element.items():
            exponent = _at(key, place)
            if exponent:
                found[key - (1 << place)] = exponent * c
        return found


def _low(key: int, bits: int) -> int:
    """The signed number in the lowest bits."""
    if not bits:
        return 0
    low = key & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low


def _at(key: int, place: int) -> int:
    """The exponent at a place."""
    return _low((key - _low(key, place)) >> place, BITS)


def _fields(key: int) -> list[tuple[int, int]]:
    """(place, exponent) of the fields that are not zero."""
    found, place = [], 0
    while key:
        skip = ((key & -key).bit_length() - 1) // BITS
        place, key = place + skip, key >> (BITS * skip)
        exponent = _low(key, BITS)
        found.append((place, exponent))
        key -= exponent
    return found


def _times(fraction: Fraction, value: float) -> Fraction | float:
    exact = Fraction(value)
    return fraction * exact if exact.denominator <= 2**20 else float(fraction) * value


# -- arithmetic --------------------------------------------------------------------------------------------------------


def plus(a: Element, b: Element) -> Element:
    """a + b."""
    if len(a) < len(b):
        a, b = b, a
    total = dict(a)
    for key, c in b.items():
        c += total.get(key, 0.0)
        if c:
            total[key] = c
        else:
            total.pop(key, None)
    return total


def times(a: Element, b: Element) -> Element:
    """a b."""
    if len(a) > len(b):
        a, b = b, a
    total: Element = {}
    get = total.get
    for one, c in a.items():
        for other, d in b.items():
            key = one + other
            total[key] = get(key, 0.0) + c * d
    return {key: c for key, c in total.items() if c}


def negative(a: Element) -> Element:
    """-a."""
    return {key: -c for key, c in a.items()}


def inverse(a: Element) -> Element:
    """1 / a, for a product of symbols."""
    if len(a) != 1:
        raise NoClosedForm("a division by a sum" if a else "a division by zero")
    ((key, c),) = a.items()
    return {-key: 1.0 / c}


def power(a: Element, exponent: float) -> Element:
    """a to a whole power."""
    if exponent != int(exponent):
        raise NoClosedForm(f"a power of {exponent}")
    if exponent < 0:
        return power(inverse(a), -exponent)
    if exponent >= LARGEST:
        raise NoClosedForm(f"a power of {exponent:g}")
    result: Element = {0: 1.0}
    for _ in range(int(exponent)):
        result = times(result, a)
    return result


# -- from CasADi -------------------------------------------------------------------------------------------------------


def translated(
    function: ca.Function, inputs: Iterable[str], ring: Ring, largest: int | None = None
) -> list[list[Element]]:
    """The entries of each result of an SX function, as elements; `inputs` names its arguments laid end to end.

    Raises `TooManyTerms` as soon as a sum has more than `largest` terms.
    """
    names = list(inputs)
    starts = [sum(function.nnz_in(i) for i in range(k)) for k in range(function.n_in())]
    results: list[list[Element]] = [[{}] * function.nnz_out(i) for i in range(function.n_out())]
    register: dict[int, Element] = {}
    pairs: dict[frozenset, tuple[Element, Element]] = {}

    for k in range(function.n_instructions()):
        op, where, target = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_INPUT:
            register[target[0]] = ring.symbol(names[starts[where[0]] + where[1]])
        elif op == ca.OP_CONST:
            register[target[0]] = ring.constant(function.instruction_constant(k))
        elif op == ca.OP_OUTPUT:
            results[target[0]][target[1]] = register[where[0]]
        elif op in (ca.OP_SIN, ca.OP_COS):
            argument = register[where[0]]
            key = frozenset(argument.items())
            if key not in pairs:
                pairs[key] = ring.sine_and_cosine(argument)
            register[target[0]] = pairs[key][op == ca.OP_COS]
        elif op in (ca.OP_DIV, ca.OP_INV):
            below = ring.inverse(register[where[-1]])
            register[target[0]] = times(register[where[0]], below) if op == ca.OP_DIV else below
        elif op in OPERATIONS:
            register[target[0]] = OPERATIONS[op](*(register[w] for w in where))
        elif op in (ca.OP_POW, ca.OP_CONSTPOW):
            exponent = register[where[1]]
            if exponent.keys() - {0}:
                raise NoClosedForm("a power that is not constant")
            register[target[0]] = power(register[where[0]], exponent.get(0, 0.0).real)
        else:
            raise NoClosedForm(f"operation {op} of CasADi")
        if largest is not None and target and len(register.get(target[0], ())) > largest:
            raise TooManyTerms
    return results


OPERATIONS: dict[int, Callable[..., Element]] = {
    ca.OP_ADD: plus,
    ca.OP_SUB: lambda a, b: plus(a, negative(b)),
    ca.OP_MUL: times,
    ca.OP_NEG: negative,
    ca.OP_SQ: lambda a: times(a, a),
    ca.OP_TWICE: lambda a: times({0: 2.0}, a),
}
