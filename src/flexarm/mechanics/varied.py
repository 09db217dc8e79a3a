"""Numbers of an arm as inputs of its equations, and a list of all its numbers.

Numbers that vary are symbols. Other numbers keep their values, except those that the description derives from varying
ones (as the mass of a beam that is given per length, if its length varies).
"""

from dataclasses import dataclass, field, replace
from typing import final

import casadi as ca
import numpy as np

from flexarm.description.arm import Arm
from flexarm.mechanics.chain import Chain, named_chain
from flexarm.mechanics.nominal import Nominal
from flexarm.mechanics.outside import with_outside
from flexarm.mechanics.parameters import Given, Name, Parameter, full_name, parameter_of
from flexarm.mechanics.spatial import Scalar, Vector, entries, is_symbolic


@final
@dataclass(frozen=True)
class Listing:
    """All numbers of an arm's equations, including zeros, by their names."""

    found: dict[str, Parameter] = field(default_factory=dict)
    plain: set[str] = field(default_factory=set)
    """Names of those that equations show as numbers."""

    def of(self, mark: str, owner: str) -> Name:
        """Return the `Name` of a link."""
        return _Listed(self, mark, owner)


@final
@dataclass(frozen=True)
class _Listed(Name):
    listing: Listing
    mark: str
    owner: str

    def stands_for(self, given: Given) -> Scalar:
        parameter = parameter_of(given, self.mark, self.owner)
        self.listing.found.setdefault(parameter.name, parameter)
        if given.unseen:
            self.listing.plain.add(parameter.name)
        if given.follows is not None:
            given.follows()  # lists the numbers on which it depends
        return given.value


def listed(arm: Arm) -> Listing:
    """Return the numbers of an arm."""
    listing = Listing()
    named_chain(arm, listing)
    return listing


@final
@dataclass(frozen=True)
class _Chosen(Name):
    """A `Name` that replaces some numbers by symbols."""

    symbols: dict[str, Scalar]
    owner: str

    def stands_for(self, given: Given) -> Scalar:
        chosen = self.symbols.get(full_name(given.name, self.owner))
        if chosen is not None:
            return chosen
        following = given.value if given.follows is None else given.follows()
        return following if is_symbolic(following) else given.value


@final
@dataclass(frozen=True)
class Choice:
    """Numbers of an arm that are inputs: their symbols p and nominal values, and a `Name` for each link."""

    p: Vector
    parameters: tuple[Parameter, ...]

    def of(self, mark: str, owner: str) -> Name:
        """Return the `Name` of a link."""
        return _Chosen(dict(zip((x.name for x in self.parameters), self.p, strict=True)), owner)


def varied_chain(arm: Arm, parameters: tuple[Parameter, ...]) -> tuple[Chain, ca.SX]:
    """Return the chain with symbols for these numbers, and the symbols (k,)."""
    p = ca.SX.sym("p", len(parameters))
    nominal = Nominal(p, np.array([x.value for x in parameters]))
    chain = with_outside(named_chain(arm, Choice(entries(p), parameters)), arm)
    return replace(chain, nominal=nominal), p
