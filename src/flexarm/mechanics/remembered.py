"""Results that a chain keeps at one state, so that the quantities of a model share them."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from flexarm.mechanics.chain import Chain

P = ParamSpec("P")
T = TypeVar("T")


def remembering(chain: Chain) -> Chain:
    """Return the same chain, which keeps what functions that are `remembered` return."""
    chain = replace(chain)
    object.__setattr__(chain, "known", {})
    return chain


def remembered(function: Callable[Concatenate[Chain, P], T]) -> Callable[Concatenate[Chain, P], T]:
    """Return the same function of a chain and scalars, which a `remembering` chain evaluates once for equal scalars.

    Symbols are equal if they are the same object. Lists that it returns are new ones.
    """

    @wraps(function)
    def found(chain: Chain, *given: P.args, **named: P.kwargs) -> T:
        if chain.known is None:
            return function(chain, *given, **named)
        key = function, _identity(given), _identity(tuple(named.items()))
        if key not in chain.known:
            chain.known[key] = given, named, function(chain, *given, **named)  # what is given stays the same object
        return cast(T, _copied(chain.known[key][-1]))

    return found


def _identity(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return tuple(map(_identity, x))
    return repr(x) if isinstance(x, int | float | str) else id(x)


def _copied(x: Any) -> Any:
    if isinstance(x, list):
        return list(map(_copied, x))
    return tuple(map(_copied, x)) if x.__class__ is tuple else x
