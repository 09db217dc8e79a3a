"""Numbers in the words of a claim."""

from collections.abc import Iterable


def numbers(values: Iterable[float], digits: int = 3) -> str:
    """Numbers in a row."""
    return ", ".join(f"{v:.{digits}g}" for v in values)


def changes(values: Iterable[float]) -> str:
    """Changes in a row, in whole percent."""
    return ", ".join(f"{v:+.0f}" for v in values)


def milli(*groups: Iterable[float]) -> str:
    """Groups of numbers, times 1000."""
    return "; ".join(numbers(1e3 * v for v in values) for values in groups)
