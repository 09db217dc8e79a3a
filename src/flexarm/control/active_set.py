"""Native dual active-set method for the quadratic programs of a horizon, by recursions over its steps.

The moves z are those of Riccati's recursion (see `predictive_horizon`), so the program without limits is min |z|^2 / 2.
With slack variables e >= 0 of weight w it is

    min  |z|^2 / 2 + w (e + e^2 / 2)    with    a z + c e >= b    for each limit,

where c is 1 for the limits of outputs, if these are soft. The values of all limits follow from one recursion forwards,
and the row a of one limit from one recursion backwards. No matrix of the complete horizon exists. The method is that of
Goldfarb & Idnani (Mathematical Programming 27, 1983): multipliers stay positive, and violated limits are added one by
one. It begins with the limits that were active in the previous sample, moved by one period.

The functions are in the language of `native.language` and are translated to machine code.
"""

from flexarm.control.active_rows import (
    DEPENDENT,
    USELESS,
    appended,
    directed,
    directed_operations,
    dropped,
    factored,
    lower,
    multiplied_out,
    negative,
    placed,
    products,
    products_operations,
    removed,
    removed_operations,
    room,
    shortened,
    upper,
)
from flexarm.control.horizon_rows import Horizon, affords, dot, gradient, swept, swept_operations, traced_operations
from flexarm.native.language import lanes

SOLVED, UNFINISHED, INFEASIBLE = 1, 0, -1
"""Results of `solved`: the optimum, too many operations, no point within the limits."""

REFINEMENTS = 4
"""Largest number of refinements of the multipliers, which rounding in the products of long rows may need."""

MANY = 0.3
"""Share of the most negative multiplier from which rows are removed together, when a solution is resumed."""

SPACING = 7
"""Steps between violated limits that are added at once, besides those that are violated more than their neighbours."""

AT_ONCE = 20
"""Largest number of violated limits that are added between two evaluations of all limits."""

ROUNDED = 1e-6
"""Largest violation, as a share of a limit, that may be rounding where the two recursions disagree about it."""

TINY = 1e-13
"""Size of a direction in a multiplier below which that multiplier does not change."""


def missed(h: Horizon) -> float:
    """Compute in `product` by how much z and e miss the active limits, and return the largest size."""
    off, rows = 0.0, h.k * (2 * h.m + h.p)
    for i in range(h.n):
        r, q, left = h.active[i], h.slack[h.active[i]], 0.0
        if r < rows:
            left = h.low[r] - h.y[r] if h.sides[i] > 0.0 else h.y[r] - h.high[r]
        if q >= 0:
            left -= h.e[q]
        off = max(off, abs(left))
        h.product[i] = left
    return off


def refined(h: Horizon) -> int:
    """Correct the multipliers by what the active rows miss. Return 1 if that is more than the tolerance."""
    if missed(h) <= h.tolerance:
        return 0
    h.operations += directed_operations(h.n)
    lower(h, h.product, h.n, h.half)
    upper(h, h.half, h.n, h.direction)
    for i in range(h.n):
        h.multipliers[i] = max(0.0, h.multipliers[i] + h.direction[i])
    return 1


def settled(h: Horizon) -> None:
    """Compute z, e and y of an unfinished solution, and the lower bound of the cost from its multipliers."""
    for i in range(h.n):
        h.multipliers[i] = max(0.0, h.multipliers[i])
    placed(h)
    swept(h, h.z, h.y)
    missed(h)
    found = dot(h.z, h.z, h.moves) / 2.0 + dot(h.multipliers, h.product, h.n)
    if h.soft == 1:
        for q in range(h.p):
            found += h.weight * (h.e[q] + h.e[q] * h.e[q] / 2.0)
    h.bound = max(0.0, found)  # there is no negative cost


def moved(h: Horizon) -> None:
    """Move the active rows by the steps that have passed, and remove those that are past.

    Rows of the last steps with moves, and of later ones, get a gradient anew, as they have further moves now.
    """
    per, m = 2 * h.m + h.p, h.m
    gone = h.shift * m
    if h.fresh == 0:
        for i in range(h.n):
            shortened(h, i, gone)
    for i in range(h.n - 1, -1, -1):
        r = h.active[i]
        if r < h.shift * per:
            dropped(h, i, h.n - 1)
    for i in range(h.n):
        r = h.active[i]
        if r < h.k * per:
            h.active[i] = r - h.shift * per
    for i in range(h.n):
        r = h.active[i]
        if h.fresh == 0 and r < h.k * per:
            a = h.rows[h.slots[i] * h.moves :]
            if r // per >= h.steered - h.shift:
                gradient(h, r, h.sides[i], a)
            else:
                last = (r // per + 1) * m
                for j in range(last):
                    a[j] = a[j + gone]
                for j in range(last, last + gone):
                    a[j] = 0.0


def renewed(h: Horizon) -> None:
    """Compute the gradients and products of the active rows as far as they have changed, and W."""
    useful = 0
    while useful == 0:
        if h.fresh == 1:
            for i in range(h.n):
                gradient(h, h.active[i], h.sides[i], h.rows[h.slots[i] * h.moves :])
        useful = factored(h)
        if useful == 0:
            forgotten(h)
    multiplied_out(h)


def resumed_operations(h: Horizon) -> float:
    """Return the largest number of operations that the rows of the previous solution take before any is removed."""
    n, each, found = h.n, h.moves, 0.0
    if h.fresh == 1:
        each += int(traced_operations(h))
    for i in range(n):  # gradient, products and direction
        length = min(h.steps[h.active[i]] + 1, h.steered) * h.m + 8
        found += float(each + (i + 1) * (length + h.shift * h.m + 8) + i * (i + 24))
    return found + 2.0 * directed_operations(n)  # the checks of `factored`


def resumed(h: Horizon) -> int:
    """Begin with the active rows of the previous solution, without those whose multipliers are negative.

    Return 0 if that takes too many operations.
    """
    if h.shift >= h.steered:  # no move is left
        h.fresh = 1
    if affords(h, resumed_operations(h)) == 0:
        forgotten(h)
    if h.shift > 0:
        moved(h)
    renewed(h)
    for _ in range(h.n + 1):  # each round but the last removes rows
        least, wrong = 0.0, negative(h)
        for i in range(h.n):
            least = min(least, h.multipliers[i])
        if wrong == 0:
            return 1
        if wrong > USELESS * float(h.n):  # of a state far from this one
            forgotten(h)
            renewed(h)
            continue
        for i in range(h.n - 1, -1, -1):
            if h.multipliers[i] <= MANY * least:
                if affords(h, removed_operations(h.n, i)) == 0:
                    return 0
                f = h.multipliers[i]
                f /= removed(h, i, h.n - 1)
                h.iterations += 1
                for j in lanes(h.n):
                    h.multipliers[j] -= f * h.half[j]
    return 0


def added(h: Horizon, r: int, side: float) -> int:
    """Add a violated row, and remove those that it makes superfluous. Return the status."""
    n = h.n
    if affords(h, traced_operations(h) + products_operations(h, n) + directed_operations(n)) == 0:
        return UNFINISHED
    gradient(h, r, side, h.rows[h.slots[n] * h.moves :])
    h.active[n] = r
    h.sides[n] = side
    products(h, n, h.k, h.k)
    violation = room(h, r, side) - dot(h.product, h.multipliers, n)
    if violation <= h.tolerance / 2:  # rows added before may have moved the solution there
        return SOLVED
    left, size, pushed, d = directed(h, n), h.product[n], 0.0, h.direction
    while affords(h, removed_operations(h.n, 0)) == 1:
        n = h.n
        if n >= h.most - 1:  # there are as many active rows as moves and slack variables
            left = 0.0
        length, k = 0.0, -1
        for j in range(n):
            if d[j] > TINY and (k < 0 or h.multipliers[j] < length * d[j]):
                length, k = h.multipliers[j] / d[j], j
        is_free = left > DEPENDENT * size
        if not is_free and k < 0:
            h.worst = r
            return INFEASIBLE
        h.iterations += 1
        if is_free and (k < 0 or violation <= length * left):
            length = violation / left
            for j in lanes(n):
                h.multipliers[j] -= length * d[j]
            h.multipliers[n] = pushed + length
            appended(h, left)
            return SOLVED
        for j in lanes(n):
            h.multipliers[j] -= length * d[j]
        pushed += length
        violation -= length * left
        f = d[k]
        f /= removed(h, k, n)
        left += f * f
        to, after = d[k:], d[k + 1 :]
        for j in lanes(h.n - k):
            to[j] = after[j]
        for j in lanes(h.n):
            d[j] -= f * h.half[j]
    h.multipliers[h.n] = pushed  # the row stays for the next sample, and for the bound of the cost
    h.n += 1
    return UNFINISHED


def forgotten(h: Horizon) -> None:
    """Begin with the slack variables at zero, without the active rows of a previous solution."""
    rows = h.k * (2 * h.m + h.p)
    h.n = h.p if h.soft == 1 else 0
    h.fresh = 1
    for i in range(h.n):
        h.active[i], h.sides[i] = rows + i, 1.0


def passed(h: Horizon) -> int:
    """Find the limits that are violated most among their neighbours in time, and some between. Return their number.

    `candidates` are their rows, beginning with the largest violation relative to the length of the gradient. `beyond`
    has the violations of all rows.
    """
    per, rows, over, low, high, y = 2 * h.m + h.p, h.k * (2 * h.m + h.p), h.beyond, h.low, h.high, h.y
    for j in lanes(rows):
        over[j] = max(low[j] - y[j], y[j] - high[j])
    for i in range(h.n):
        if h.active[i] < rows:
            over[h.active[i]] = 0.0
    if h.soft == 1:
        for i in range(h.k):
            there = over[i * per + 2 * h.m :]
            for q in range(h.p):
                there[q] -= h.e[q]
    count = 0
    for r in range(rows):
        if over[r] > h.tolerance:
            is_peak = 1 if r // per % SPACING == 0 else 0
            if (r < per or over[r - per] <= over[r]) and (r + per >= rows or over[r + per] < over[r]):
                is_peak = 1
            if is_peak == 1:
                i = count
                while i > 0 and over[h.candidates[i - 1]] * h.scales[h.candidates[i - 1]] < over[r] * h.scales[r]:
                    h.candidates[i] = h.candidates[i - 1]
                    i -= 1
                h.candidates[i] = r
                h.operations += float(count - i)
                count = min(count + 1, AT_ONCE)
    return count


def passed_operations(h: Horizon) -> float:
    """Return the largest number of operations that sorting takes in `passed`."""
    return float(h.k * (2 * h.m + h.p) * AT_ONCE)


def taken(h: Horizon, r: int) -> int:
    """Return 1 if a row is active."""
    for i in range(h.n):
        if h.active[i] == r:
            return 1
    return 0


def solved(h: Horizon) -> int:
    """Solve the program. Return the status."""
    h.iterations = 0
    h.operations = float(8 * h.k * (2 * h.m + h.p))  # limits and plans
    h.worst = -1
    for j in lanes(h.moves):
        h.z[j] = 0.0
    swept(h, h.z, h.y0)
    status = UNFINISHED
    if resumed(h) == 1:
        status = improved(h)
    if status == UNFINISHED:
        settled(h)
    return status


def improved(h: Horizon) -> int:
    """Add violated rows until there are none. Return the status."""
    rows, refinements = h.k * (2 * h.m + h.p), 0
    while affords(h, swept_operations(h) + passed_operations(h) + float(h.n * h.moves)) == 1:
        before = h.iterations
        placed(h)
        swept(h, h.z, h.y)
        count, greatest = passed(h), 0.0
        for c in range(count):
            greatest = max(greatest, h.beyond[h.candidates[c]])
        for q in range(h.p):
            if h.soft == 1 and -h.e[q] > h.tolerance and taken(h, rows + q) == 0:
                status = added(h, rows + q, 1.0)
                if status != SOLVED:
                    return status
                greatest = max(greatest, -h.e[q])
        if greatest <= 0.0:
            refinements += 1
            if refinements > REFINEMENTS:
                return SOLVED if missed(h) <= ROUNDED else UNFINISHED
            if refined(h) == 0:
                return SOLVED
            continue
        for c in range(count):
            r = h.candidates[c]
            if taken(h, r) == 0:
                status = added(h, r, 1.0 if h.low[r] - h.y[r] > h.y[r] - h.high[r] else -1.0)
                if status != SOLVED:
                    return status
        multiplied_out(h)
        if h.iterations == before:  # what remains is rounding
            return SOLVED if greatest <= ROUNDED else UNFINISHED
    return UNFINISHED
