"""Numbers as text for claims."""

from collections.abc import Iterable


def numbers(values: Iterable[float], digits: int = 3) -> str:
    """Return numbers separated by commas."""
    return ", ".join(f"{v:.{digits}g}" for v in values)


def changes(values: Iterable[float]) -> str:
    """Return changes in whole percent, separated by commas."""
    return ", ".join(f"{v:+.0f}" for v in values)


def milli(*groups: Iterable[float]) -> str:
    """Return groups of numbers, times 1000, separated by semicolons."""
    return "; ".join(numbers(1e3 * v for v in values) for values in groups)
