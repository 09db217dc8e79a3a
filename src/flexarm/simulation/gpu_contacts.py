"""Sharp contacts of runs on a graphics processor, in the language that is translated.

Functions of coordinates and rates change their sign at a contact of a sharp backlash or end stop (`crossings`). A step
that reaches the other side is repeated with a shorter one, until the run is just before the contact. The state is then
extended at its rate by the last such step, which reaches the other side, and the run continues there with a new first
step.

A run that stops again at once continues for a time without watching contacts, as on the CPU.

Accepted steps are checked for contacts that begin and end within them, as those of `explicit.brushes` on the CPU.
"""

from flexarm.native.language import Floats, lanes
from flexarm.simulation.rhs import EARLY, MIDDLE, PARTS, departs, may_touch, passes
from flexarm.simulation.stages import Stages

CROSSINGS, TOUCHES, COORDINATES, DRIVE_STATES, DRIVE_PLACE, SIZE, STAGES = 0, 0, 1, 0, 0, 1, 1

SHORT_CONTACT, CHECKED = 2, -1
"""Numbers of a step in which a contact was found, and of one whose polynomial has none."""

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


def distances(  # pragma: no cover  (compiled separately; only its signature is used)
    x: Floats, x_apart: int, own: Floats, own_apart: int, y: Floats, y_apart: int
) -> None:
    """Compute the functions of touches from the coordinates and the states of drives."""
    raise NotImplementedError


def measured_at(  # pragma: no cover
    state: Floats, x: Floats, own: Floats, apart: int, gaps: Floats, row: int
) -> None:
    """Compute the functions of touches at a state, in a row of `gaps`. x is work memory."""
    for j in lanes(COORDINATES):
        x[j] = state[j]
    behind, s = x[COORDINATES:], state[DRIVE_PLACE:]
    for j in lanes(DRIVE_STATES):
        behind[j] = s[j]
    distances(x, 1, own, apart, gaps[row * TOUCHES :], 1)


def may_brush(  # pragma: no cover
    m: Stages, h: float, y: Floats, z: Floats, e: Floats, x: Floats, own: Floats, apart: int, gaps: Floats
) -> int:
    """Return SHORT_CONTACT if a contact at the start of a step ends before its first stage, 1 if there may be another
    one within the step, else 0.

    The states are those of the cubic through the ends of the step with the rates there.
    """
    last = m.k[STAGES * SIZE :]
    for i in range(5):
        row = 0 if i == 0 else PARTS if i == 1 else MIDDLE if i == 2 else PARTS + 1 if i == 3 else 1
        along = 0.0 if i == 0 else 1.0 if i == 1 else 0.5 if i == 2 else m.c[1] if i == 3 else EARLY * m.c[1]
        if i < 4 or departs(gaps, TOUCHES) == 1:
            left = 1.0 - along
            a, b = (1.0 + 2.0 * along) * left * left, h * along * left * left
            c, d = (3.0 - 2.0 * along) * along * along, h * along * along * left
            for j in lanes(SIZE):
                e[j] = a * y[j] + b * m.k[j] + c * z[j] - d * last[j]
            measured_at(e, x, own, apart, gaps, row)
            if i == 4 and passes(gaps, TOUCHES) == 1:
                return SHORT_CONTACT
    return may_touch(gaps, TOUCHES)
