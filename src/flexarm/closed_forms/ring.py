"""Exact sums of products of symbols and of sines and cosines, in a form in which equal functions look the same.

An element is a dict from monomials to coefficients. In a monomial every symbol has an exponent, which may be negative,
and every angle a has an integer k, which stands for exp(i k a). Products of sines and cosines therefore become sines
and cosines of sums of angles, cos^2 + sin^2 is 1, and terms that are zero vanish. No simplification is needed
afterwards. A monomial is one integer with a field of bits for each exponent, so that a product of monomials is a sum of
integers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import cos, inf, pi, sin
from typing import final

import casadi as ca

from flexarm.errors import FlexarmError
from flexarm.native.program import INPUT, INVERSE, OUTPUT, PART, SINCOS, instructions, operation_name

Element = dict[int, complex]

BITS = 8
LARGEST = 1 << (BITS - 2)
"""Largest power for which an exponent fits into its field."""


class NoClosedForm(FlexarmError):
    """Error of an operation that has no form as a sum of products."""


class TooManyTerms(Exception):
    """Error of a sum that has grown beyond its limit."""


@dataclass(frozen=True)
class Term:
    """A coefficient times powers of symbols, times the cosine or sine of a sum of angles, if there is one."""

    coefficient: Fraction | float
    powers: tuple[tuple[str, int], ...]
    kind: str = ""
    """One of "cos", "sin" or ""."""
    angles: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Ring:
    """All sums over some angles and symbols; symbols are added when they appear.

    Attributes
    ----------
    angles : symbols that occur within sines and cosines, and may occur elsewhere too; those called psi are spare
    named : symbol of each sum within a sine or cosine that is not made of angles, by that sum
    """

    angles: tuple[str, ...]
    symbols: list[str] = field(default_factory=list)
    named: dict[frozenset, str] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)

    @property
    def _border(self) -> int:
        """Bit at which the exponents of symbols begin."""
        return BITS * len(self.angles)

    def symbol(self, name: str) -> Element:
        """Return the element that is one symbol."""
        if name not in self._places:
            self._places[name] = self._border + BITS * len(self.symbols)
            self.symbols.append(name)
        return {1 << self._places[name]: 1.0}

    def constant(self, value: float) -> Element:
        """Return the element that is a number. A fraction such as 1/3, which is no float, becomes a symbol."""
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
        """Return 1 / element, for a product of symbols; a third is exact, which 1/3 as a float is not."""
        ((key, c),) = inverse(element).items()
        return times({key: 1.0}, self.constant(c.real))

    def sine_and_cosine(self, argument: Element) -> tuple[Element, Element]:
        """Return sin and cos of a sum of angles, quarter turns, and other terms, which get a symbol."""
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
        """Index of the angle that the monomial consists of, or None."""
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
        """Return the element as real terms."""
        border = self._border
        found: dict[tuple[int, int], tuple[float, float]] = {}
        for key, c in element.items():
            harmonic = _low(key, border)
            if harmonic >= 0:
                along, across = (2.0 * c.real, -2.0 * c.imag) if harmonic else (c.real, 0.0)
                found[(key - harmonic) >> border, harmonic] = (along, across)
        known_powers: dict[int, tuple] = {}
        known_angles: dict[int, tuple] = {}
        sums: dict[tuple, Fraction | float] = {}
        for (power, harmonic), (along, across) in found.items():
            if power not in known_powers:
                known_powers[power] = self._powers(power)
            if harmonic not in known_angles:
                known_angles[harmonic] = self._angles(harmonic)
            coefficient, powers = known_powers[power]
            angles, sign = known_angles[harmonic]
            for kind, c in (("cos" if angles else "", along), ("sin", sign * across)):
                if c:
                    same = (powers, kind, angles)
                    value = _times(coefficient, c)
                    sums[same] = sums[same] + value if same in sums else value
        return [Term(c, *key) for key, c in sums.items() if c]

    def _powers(self, power: int) -> tuple[Fraction, tuple[tuple[str, int], ...]]:
        """Fraction and powers of symbols of a monomial without its angles."""
        coefficient, powers = Fraction(1), []
        for place, exponent in _fields(power):
            name = self.symbols[place]
            if name[0] == "1":
                coefficient *= Fraction(name) ** exponent
            else:
                powers.append((name, exponent))
        return coefficient, tuple(powers)

    def _angles(self, harmonic: int) -> tuple[tuple[tuple[str, int], ...], float]:
        """Angles, the first with a positive sign, and the resulting sign of the sine."""
        angles = tuple((self.angles[place], k) for place, k in _fields(harmonic))
        if angles and angles[0][1] < 0:
            return tuple((name, -k) for name, k in angles), -1.0
        return angles, 1.0

    def with_values(self, element: Element, values: Mapping[str, float]) -> Element:
        """Replace some symbols of the element by numbers."""
        places = {BITS * i: name for i, name in enumerate(self.angles) if name in values}
        places |= {place: name for name, place in self._places.items() if name in values}
        if not places:
            return element
        fields = len(self.angles) + len(self.symbols)
        centre = sum(1 << (BITS * i + BITS - 1) for i in range(fields))  # makes the signed fields of a key unsigned
        mask = sum(((1 << BITS) - 1) << place for place in places)
        known: dict[int, tuple[complex, int]] = {}
        found: Element = {}
        for key, c in element.items():
            replaced = (key + centre) & mask
            if replaced not in known:
                known[replaced] = self._value(key, places, values)
            factor, gone = known[replaced]
            found[key - gone] = found.get(key - gone, 0.0) + c * factor
        return {key: c for key, c in found.items() if c}

    def _value(self, key: int, places: Mapping[int, str], values: Mapping[str, float]) -> tuple[complex, int]:
        """Value of a monomial's symbols at some places, and the key of these symbols alone."""
        factor, gone = 1.0 + 0.0j, 0
        for place, name in places.items():
            exponent, value = _at(key, place), values[name]
            if exponent < 0 and not value and place >= self._border:
                raise NoClosedForm(f"the equations divide by {name}, which is 0")
            if exponent:
                turns = place < self._border
                factor *= complex(cos(exponent * value), sin(exponent * value)) if turns else value**exponent
                gone += exponent << place
        return factor, gone

    def substituted(self, element: Element, name: str, value: Element) -> Element:
        """Replace a symbol of the element by a sum, except within sines and cosines."""
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


def _low(key: int, bits: int) -> int:
    """Signed number in the lowest bits."""
    if not bits:
        return 0
    low = key & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low


def _at(key: int, place: int) -> int:
    """Exponent at a place."""
    return _low((key - _low(key, place)) >> place, BITS)


def _fields(key: int) -> list[tuple[int, int]]:
    """List (place, exponent) of the fields that are not zero."""
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


@final
@dataclass
class Limit:
    """Limit of the size of a derivation, counted in terms and not in time, so that it is the same on every machine.

    Attributes
    ----------
    terms : of one sum, and of all results together
    products : single terms multiplied or added in total
    done : products so far
    """

    terms: float = inf
    products: float = inf
    done: int = 0

    def count(self, products: int, terms: int) -> None:
        """Add products to the count, and check the size of their sum; raises `TooManyTerms` beyond the limit."""
        self.done += products
        if terms > self.terms or self.done > self.products:
            raise TooManyTerms


def plus(a: Element, b: Element, limit: Limit | None = None) -> Element:
    """Return a + b."""
    if len(a) < len(b):
        a, b = b, a
    total = dict(a)
    for key, c in b.items():
        c += total.get(key, 0.0)
        if c:
            total[key] = c
        else:
            total.pop(key, None)
    if limit:
        limit.count(len(a), len(total))
    return total


def times(a: Element, b: Element, limit: Limit | None = None) -> Element:
    """Return a b."""
    if len(a) > len(b):
        a, b = b, a
    total: Element = {}
    get = total.get
    for one, c in a.items():
        for other, d in b.items():
            key = one + other
            total[key] = get(key, 0.0) + c * d
        if limit:
            limit.count(len(b), len(total))
    return {key: c for key, c in total.items() if c}


def negative(a: Element) -> Element:
    """Return -a."""
    return {key: -c for key, c in a.items()}


def inverse(a: Element) -> Element:
    """Return 1 / a, for a product of symbols."""
    if len(a) != 1:
        raise NoClosedForm("a division by a sum" if a else "a division by zero")
    ((key, c),) = a.items()
    return {-key: 1.0 / c}


def power(a: Element, exponent: float, limit: Limit | None = None) -> Element:
    """Return a to an integer power."""
    if exponent != int(exponent):
        raise NoClosedForm(f"a power of {exponent}")
    if exponent < 0:
        return power(inverse(a), -exponent, limit)
    if exponent >= LARGEST:
        raise NoClosedForm(f"a power of {exponent:g}")
    result: Element = {0: 1.0}
    for _ in range(int(exponent)):
        result = times(result, a, limit)
    return result


# -- from CasADi -------------------------------------------------------------------------------------------------------


def translated(function: ca.Function, inputs: Iterable[str], ring: Ring, limit: Limit | None = None) -> list[Element]:
    """Translate an SX function's results into elements, in one list; `inputs` names the entries of its arguments.

    Raises `TooManyTerms` as soon as the limit is exceeded.
    """
    names = list(inputs)
    code = instructions(function)
    last = {a: k for k, instruction in enumerate(code) for a in instruction.args if isinstance(a, int)}
    results: list[Element] = [{}] * sum(function.nnz_out(i) for i in range(function.n_out()))
    values: dict[int, Element] = {}
    pairs: dict[int, tuple[Element, Element]] = {}
    same: dict[frozenset, tuple[Element, Element]] = {}
    size = 0

    for k, instruction in enumerate(code):
        op, args, index = instruction.op, instruction.args, instruction.index
        if op == PART:
            values[k] = pairs[int(args[0])][index]
            continue
        operands = [values[a] if isinstance(a, int) else ring.constant(a) for a in args]
        if op == OUTPUT:
            results[index] = operands[0]
            size += len(operands[0])
            if limit:
                limit.count(0, size)
        elif op == INPUT:
            values[k] = ring.symbol(names[index])
        elif op == SINCOS:
            key = frozenset(operands[0].items())
            if key not in same:
                same[key] = ring.sine_and_cosine(operands[0])
            pairs[k] = same[key]
        elif op == INVERSE:
            values[k] = ring.inverse(operands[0])
        elif op in (ca.OP_POW, ca.OP_CONSTPOW):
            base, exponent = operands
            if exponent.keys() - {0}:
                raise NoClosedForm("a power that is not constant")
            values[k] = power(base, exponent.get(0, 0.0).real, limit)
        elif op in OPERATIONS:
            values[k] = OPERATIONS[op](limit, *operands)
        else:
            raise NoClosedForm(f"the CasADi operation {operation_name(op)} has no place in a sum of products")
        for a in args:
            if isinstance(a, int) and last[a] == k:  # frees large sums that are no longer needed
                values.pop(a, None)
    return results


OPERATIONS: dict[int | str, Callable[..., Element]] = {
    ca.OP_ADD: lambda limit, a, b: plus(a, b, limit),
    ca.OP_SUB: lambda limit, a, b: plus(a, negative(b), limit),
    ca.OP_MUL: lambda limit, a, b: times(a, b, limit),
    ca.OP_NEG: lambda limit, a: negative(a),
    ca.OP_SQ: lambda limit, a: times(a, a, limit),
    ca.OP_TWICE: lambda limit, a: times({0: 2.0}, a, limit),
}
