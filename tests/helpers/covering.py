"""Choices of options in which every pair of values occurs that is possible at all (a pairwise covering array).

`covering(options, starts, refusal)` decides what is possible by asking `refusal` about complete choices. No list of
forbidden pairs is written by hand.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np

Choice = dict[str, str]
"""A value for each option."""
Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two options with their values, in the order of the options."""


TRIES = 3
"""How many choices are tried for each one that is taken: more of them leave fewer choices in the end."""


def pairs_of(choice: Choice) -> set[Pair]:
    """All pairs of values in a choice."""
    return set(combinations(choice.items(), 2))


def all_pairs(options: Mapping[str, Sequence[str]]) -> list[Pair]:
    """All pairs of values of two options."""
    return [((a, x), (b, y)) for a, b in combinations(options, 2) for x in options[a] for y in options[b]]


def covering(
    options: Mapping[str, Sequence[str]],
    starts: Sequence[Choice],
    refusal: Callable[[Choice], str | None],
    seed: int = 0,
    known: Sequence[Choice] = (),
) -> list[Choice]:
    """Return choices that cover every pair which is possible with the other values of one of the starting choices.

    The choices that are known come first. Each further choice starts from a pair that is still missing and takes,
    option by option, the value that adds the most missing pairs and is not refused.
    """
    rng = np.random.default_rng(seed)
    possible, refused = _possible(options, starts, refusal)
    choices = [choice for choice in known if refusal(choice) is None]
    covered = set().union(*map(pairs_of, choices))
    missing = dict.fromkeys(pair for pair in possible if pair not in covered)
    while missing:
        pair = next(iter(missing))
        start = {**possible[pair], **dict(pair)}
        tried = [_filled(options, start, dict(pair), missing, refused, refusal, rng) for _ in range(TRIES)]
        choices.append(choice := max(tried, key=lambda one: sum(each in missing for each in pairs_of(one))))
        for each in pairs_of(choice):
            missing.pop(each, None)
    return choices


def random_choice(
    options: Mapping[str, Sequence[str]],
    start: Choice,
    share: float,
    refusal: Callable[[Choice], str | None],
    rng: np.random.Generator,
) -> Choice:
    """A choice that is not refused: from a starting choice, a share of the options in turn take a drawn value if they
    can."""
    choice = dict(start)
    for name in rng.permutation(list(options)):
        if rng.uniform() < share:
            changed = {**choice, str(name): str(rng.choice(options[name]))}
            if refusal(changed) is None:
                choice = changed
    return choice


def _possible(options, starts, refusal) -> tuple[dict[Pair, Choice], dict[Pair, str]]:
    """For each possible pair a starting choice that takes it; for each other pair the reasons why none does."""
    possible, refused = {}, {}
    for start in starts:
        if reason := refusal(start):
            raise ValueError(f"a starting choice is refused: {reason}")
    for pair in all_pairs(options):
        reasons = []
        for start in starts:
            reason = refusal({**start, **dict(pair)})
            if reason is None:
                possible[pair] = start
                break
            reasons.append(reason)
        else:
            refused[pair] = min(reasons, key=len)
    return possible, refused


def _filled(options, choice, fixed, missing, refused, refusal, rng) -> Choice:
    for name in rng.permutation([name for name in options if name not in fixed]):
        name = str(name)
        gains = {value: _gain({**choice, name: value}, name, missing) for value in options[name]}
        for value in sorted(gains, key=gains.get, reverse=True):
            if gains[value] <= gains[choice[name]]:
                break
            changed = {**choice, name: value}
            if not _clashes(changed, name, refused) and refusal(changed) is None:
                choice = changed
                break
    return choice


def _pairs_with(choice: Choice, name: str, options: Sequence[str]) -> list[Pair]:
    mine, found, before = (name, choice[name]), [], True
    for other in options:
        if other == name:
            before = False
        else:
            theirs = (other, choice[other])
            found.append((theirs, mine) if before else (mine, theirs))
    return found


def _gain(choice: Choice, name: str, missing) -> int:
    return sum(pair in missing for pair in _pairs_with(choice, name, list(choice)))


def _clashes(choice: Choice, name: str, refused) -> bool:
    return any(pair in refused for pair in _pairs_with(choice, name, list(choice)))
