"""Sharp contacts of runs on a graphics processor, in the language that is translated.

Functions of coordinates and rates change their sign at a contact of a sharp backlash or end stop (`crossings`). A step
that reaches the other side is repeated with a shorter one, until the run is just before the contact. The state is then
extended at its rate by the last such step, which reaches the other side, and the run continues there with a new first
step.

A run that stops again at once continues for a time without watching contacts, as on the CPU.
"""

from flexarm.native.language import Floats, lanes

CROSSINGS = 0

CLOSER = 0.25
"""Length of the next step over that of a step which has reached the other side of a contact."""

LEAST, BEYOND = 1e-9, 1e-12
"""Shares of an interval's length, as in `crossings`: the least time between two stops, and the length of a step that
ends the search of a contact."""


def crossings(  # pragma: no cover  (compiled separately; only its signature is used)
    x: Floats, x_apart: int, own: Floats, own_apart: int, y: Floats, y_apart: int
) -> None:
    """Compute the contact functions from (q, qd)."""
    raise NotImplementedError


def on_contact(x: Floats, own: Floats, apart: int, g: Floats) -> int:  # pragma: no cover
    """Set the sides of all contacts, after their values in g. Return 1 if a state is on a contact, else 0."""
    crossings(x, 1, own, apart, g, 1)
    found = 0
    for j in lanes(CROSSINGS):
        g[CROSSINGS + j] = 1.0 if g[j] > 0.0 else -1.0
        if g[j] == 0.0:
            found = 1
    return found


def is_across(x: Floats, own: Floats, apart: int, g: Floats) -> int:  # pragma: no cover
    """Return 1 if a state is on the other side of a contact, else 0."""
    crossings(x, 1, own, apart, g, 1)
    found = 0
    for j in lanes(CROSSINGS):
        if g[j] * g[CROSSINGS + j] <= 0.0:
            found = 1
    return found


def unwatched_for(t: float, last: float, before: float, length: float) -> float:  # pragma: no cover
    """Return the time for which a run continues without watching, which doubles with each stop that follows soon."""
    least = LEAST * length
    return max(2.0 * before, least) if t - last < least + 2.0 * before else 0.0
