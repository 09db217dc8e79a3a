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

from dataclasses import dataclass

from flexarm.native.language import Floats, Words, lanes, sqrt

SOLVED, UNFINISHED, INFEASIBLE = 1, 0, -1
"""Results of `solved`: the optimum, the largest number of iterations, no point within the limits."""

DEPENDENT = 1e-11
"""Relative size below which a row counts as a combination of the active ones.

It is relative to the squared norm of the row. Rounding leaves 1e-15."""

NEAR = 16
"""Number of steps within which the products of a row are computed afresh when the horizon moves.

Later rows lose the part of the moves that are past. The rows of near outputs become small beside that part."""

REFINEMENTS = 4
"""Largest number of refinements of the multipliers, which rounding in the products of long rows may need."""

MANY = 0.3
"""Share of the most negative multiplier from which rows are removed together, when a solution is resumed."""

USELESS = 0.6
"""Share of negative multipliers above which a solution is not resumed, because removing them takes longer."""

ROUNDED = 1e-6
"""Largest violation, as a share of a limit, that may be rounding where the two recursions disagree about it."""

TINY = 1e-13
"""Size of a direction in a multiplier below which that multiplier does not change."""


@dataclass
class Horizon:
    """Program of a horizon, and the memory of its solution.

    Rows are numbered by steps: inputs, their changes, outputs of step 0, then those of step 1, and last the slack
    variables. Values are shares of the limits.

    Attributes
    ----------
    k, s, m, p : int
        Steps, states, inputs and outputs.
    steered : int
        Number of steps with moves. In later ones the inputs are those of the optimum without limits.
    soft : int
        1 if the limits of outputs are soft.
    first, count : int
        Index of the first step's matrices, and the number of matrices. The last one stands for all later ones.
    wide, narrow : int
        Lengths of columns in `forward` and of rows in `backward`, both multiples of 4.
    forward, backward : (count, s + m, wide), (count, s + m + p, narrow)
        Matrices from (x, z) to (x', u, y), by columns and by rows.
    x0 : (s,)
    low, high : (k (2m + p),)
    of_u, of_rate, of_y : (m,), (k m,), (p,)
        One over the limits' sizes.
    weight : float
    tolerance : float
        Largest violation in a solution.
    most, moves : int
        Largest number of active rows, and the length of z, a multiple of 4.
    limit : int
        Largest number of iterations, that is of rows added or removed.
    shift, fresh : int
        Number of steps by which the horizon has moved since the previous solution, and 1 if its matrices have changed.
    n : int
        Number of active rows.
    active, sides, slots : (most,)
        Active rows, 1.0 for lower and -1.0 for upper limits, and the indices of their gradients in `rows`.
    rows : (most, moves)
    gram, L : (most, most)
        Products of the active rows, and their Cholesky factor.
    multipliers, direction : (most,)
    inside : (2 rows,)
        1 for active lower limits at 2 r, and for active upper limits at 2 r + 1.
    z, e : (moves,), (p,)
    y, y0 : (k (2m + p),)
        Values of the rows in the solution, and without moves.
    x, v, g, before, candidates, beyond : workspaces
    iterations : int
        Rows that were added or removed for the last solution.
    worst : int
        A row that cannot be satisfied.
    """

    k: int
    s: int
    m: int
    p: int
    steered: int
    soft: int
    first: int
    count: int
    wide: int
    narrow: int
    forward: Floats
    backward: Floats
    x0: Floats
    low: Floats
    high: Floats
    of_u: Floats
    of_rate: Floats
    of_y: Floats
    weight: float
    tolerance: float
    most: int
    moves: int
    limit: int
    shift: int
    fresh: int
    n: int
    active: Words
    sides: Floats
    slots: Words
    rows: Floats
    gram: Floats
    L: Floats
    multipliers: Floats
    direction: Floats
    inside: Words
    z: Floats
    e: Floats
    y: Floats
    y0: Floats
    x: Floats
    v: Floats
    g: Floats
    before: Floats
    candidates: Words
    beyond: Floats
    iterations: int
    worst: int


def dot(a: Floats, b: Floats, n: int) -> float:
    """Return the product of two vectors, in four sums that do not wait for each other."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    i = 0
    while i + 4 <= n:
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
        i += 4
    while i < n:
        s0 += a[i] * b[i]
        i += 1
    return (s0 + s1) + (s2 + s3)


def combined(N: Floats, width: int, f: Floats, count: int, to: Floats) -> None:
    """Add the combination of the rows of N (count, width) with the factors f to a vector, four rows at a time."""
    blocks = count // 4
    for b in range(blocks):
        c = 4 * b
        row0, row1, row2, row3 = N[c * width :], N[(c + 1) * width :], N[(c + 2) * width :], N[(c + 3) * width :]
        f0, f1, f2, f3 = f[c], f[c + 1], f[c + 2], f[c + 3]
        for j in lanes(width):
            to[j] += (f0 * row0[j] + f1 * row1[j]) + (f2 * row2[j] + f3 * row3[j])
    for c in range(4 * blocks, count):
        row, one = N[c * width :], f[c]
        for j in lanes(width):
            to[j] += one * row[j]


def swept(h: Horizon, z: Floats, y: Floats) -> None:
    """Compute the values y of all rows under moves z, forwards from x0: (x', u, y) = N (x, z)."""
    s, m, p, wide = h.s, h.m, h.p, h.wide
    x, v, before = h.x, h.v, h.before
    for j in range(s):
        x[j] = h.x0[j]
    for j in range(m):
        before[j] = 0.0
    for i in range(h.k):
        N = h.forward[min(h.first + i, h.count - 1) * (s + m) * wide :]
        for j in range(m):
            x[s + j] = 0.0
            if i < h.steered:
                x[s + j] = z[i * m + j]
        for j in lanes(wide):
            v[j] = 0.0
        combined(N, wide, x, s + m, v)
        found = y[i * (2 * m + p) :]
        for j in range(m):
            u = v[s + j]
            found[j] = u * h.of_u[j]
            found[m + j] = (u - before[j]) * h.of_rate[i * m + j]
            before[j] = u
        for j in range(p):
            found[2 * m + j] = v[s + m + j] * h.of_y[j]
        for j in range(s):
            x[j] = v[j]


def gradient(h: Horizon, r: int, side: float, a: Floats) -> None:
    """Compute the row a of a limit, backwards from its step: (dx, dz) = N' (dx', du, dy)."""
    s, m, p, narrow = h.s, h.m, h.p, h.narrow
    x, g = h.x, h.g
    for j in lanes(h.moves):
        a[j] = 0.0
    i = r // (2 * m + p)
    if i >= h.k:  # of a slack variable
        return
    place, is_rate, scale = r - i * (2 * m + p), 0, side
    if place < m:
        scale *= h.of_u[place]
    elif place < 2 * m:
        is_rate = 1
        place -= m
        scale *= h.of_rate[i * m + place]
    else:
        place -= m
        scale *= h.of_y[place - m]
    size = (s + m + p) * narrow
    row = h.backward[min(h.first + i, h.count - 1) * size + (s + place) * narrow :]
    for j in lanes(narrow):
        g[j] = scale * row[j]
    if i < h.steered:
        for j in range(m):
            a[i * m + j] = g[s + j]
    for step in range(i - 1, -1, -1):
        N = h.backward[min(h.first + step, h.count - 1) * size :]
        for j in range(s):
            x[j] = g[j]
        f = -scale if is_rate == 1 and step == i - 1 else 0.0
        row = N[(s + place) * narrow :]
        for j in lanes(narrow):
            g[j] = f * row[j]
        combined(N, narrow, x, s, g)
        if step < h.steered:
            for j in range(m):
                a[step * m + j] = g[s + j]


def slack_of(h: Horizon, r: int) -> int:
    """Return the index of the slack variable in a row, or -1."""
    per = 2 * h.m + h.p
    if h.soft == 0:
        return -1
    i = r // per
    if i >= h.k:
        return r - h.k * per
    place = r - i * per
    return place - 2 * h.m if place >= 2 * h.m else -1


def room(h: Horizon, r: int, side: float) -> float:
    """Return b - a z for the moves z = 0 and e = -1, from which multipliers move the solution."""
    loose = 1.0 if slack_of(h, r) >= 0 else 0.0
    if r >= h.k * (2 * h.m + h.p):
        return loose
    if side > 0.0:
        return h.low[r] - h.y0[r] + loose
    return h.y0[r] - h.high[r] + loose


def step_of(h: Horizon, r: int) -> int:
    """Return the step of a row, or -1 for a slack variable, which no move changes."""
    i = r // (2 * h.m + h.p)
    return i if i < h.k else -1


def products(h: Horizon, i: int, within: int, late: int) -> None:
    """Compute the products of active row i with the rows up to it: if one is before `within`, or none before `late`."""
    a, q, own = h.rows[h.slots[i] * h.moves :], slack_of(h, h.active[i]), step_of(h, h.active[i])
    for j in range(i + 1):
        both = min(own, step_of(h, h.active[j]))
        if both < within or both >= late:
            found = dot(a, h.rows[h.slots[j] * h.moves :], min(both + 1, h.steered) * h.m)
            if q >= 0 and slack_of(h, h.active[j]) == q:
                found += 1.0 / h.weight
            h.gram[i * h.most + j] = found


def shortened(h: Horizon, i: int, count: int) -> None:
    """Remove the first `count` moves from the products of row i with the rows up to it."""
    a = h.rows[h.slots[i] * h.moves :]
    for j in range(i + 1):
        h.gram[i * h.most + j] -= dot(a, h.rows[h.slots[j] * h.moves :], count)


def factored(h: Horizon, start: int) -> int:
    """Compute Cholesky's factor of the products from row `start` on. Return the first dependent row, or n."""
    for i in range(start, h.n):
        row = h.L[i * h.most :]
        for j in range(i):
            other = h.L[j * h.most :]
            row[j] = (h.gram[i * h.most + j] - dot(row, other, j)) / other[j]
        left = h.gram[i * h.most + i] - dot(row, row, i)
        if not left > DEPENDENT * h.gram[i * h.most + i]:
            return i
        row[i] = sqrt(left)
    return h.n


def rotated(h: Horizon, k: int) -> None:
    """Remove row k from Cholesky's factor, whose columns then follow by plane rotations. h.n is the number left."""
    for i in range(k, h.n):
        row, following = h.L[i * h.most :], h.L[(i + 1) * h.most :]
        for j in range(i + 2):
            row[j] = following[j]
    for j in range(k, h.n):
        top = h.L[j * h.most :]
        size = sqrt(top[j] * top[j] + top[j + 1] * top[j + 1])
        c, s = top[j] / size, top[j + 1] / size
        for i in range(j, h.n):
            row = h.L[i * h.most :]
            row[j], row[j + 1] = c * row[j] + s * row[j + 1], c * row[j + 1] - s * row[j]


def backward(h: Horizon, x: Floats, n: int) -> None:
    """Replace x by the solution of L' x = x."""
    for i in range(n - 1, -1, -1):
        row = h.L[i * h.most :]
        f = x[i] / row[i]
        x[i] = f
        for j in lanes(i):
            x[j] -= f * row[j]


def multiplied_out(h: Horizon) -> None:
    """Compute the multipliers of the active rows, as if they were equations, and z and e."""
    for i in range(h.n):
        row = h.L[i * h.most :]
        h.multipliers[i] = (room(h, h.active[i], h.sides[i]) - dot(row, h.multipliers, i)) / row[i]
    backward(h, h.multipliers, h.n)


def refined(h: Horizon) -> int:
    """Correct the multipliers by what the active rows miss. Return 1 if that is more than the tolerance."""
    off, per = 0.0, 2 * h.m + h.p
    for i in range(h.n):
        r, q = h.active[i], slack_of(h, h.active[i])
        if r >= h.k * per:
            left = -h.e[q]
        else:
            left = h.low[r] - h.y[r] if h.sides[i] > 0.0 else h.y[r] - h.high[r]
            if q >= 0:
                left -= h.e[q]
        off = max(off, abs(left))
        h.direction[i] = left
    if off <= h.tolerance:
        return 0
    for i in range(h.n):
        row = h.L[i * h.most :]
        h.direction[i] = (h.direction[i] - dot(row, h.direction, i)) / row[i]
    backward(h, h.direction, h.n)
    for i in range(h.n):
        h.multipliers[i] = max(0.0, h.multipliers[i] + h.direction[i])
    placed(h)
    return 1


def placed(h: Horizon) -> None:
    """Compute z and e of the multipliers."""
    z = h.z
    for j in lanes(h.moves):
        z[j] = 0.0
    for q in range(h.p):
        h.e[q] = -1.0
    for i in range(h.n):
        a, f = h.rows[h.slots[i] * h.moves :], h.multipliers[i]
        for j in lanes(h.moves):
            z[j] += f * a[j]
        q = slack_of(h, h.active[i])
        if q >= 0:
            h.e[q] += f / h.weight


def dropped(h: Horizon, k: int, last: int) -> None:
    """Remove active row k. Rows after it move up, as far as `last`."""
    slot = h.slots[k]
    if k < h.n:
        r = h.active[k]
        h.inside[2 * r + (1 if h.sides[k] < 0.0 else 0)] = 0
    for i in range(k, last):
        h.active[i] = h.active[i + 1]
        h.sides[i] = h.sides[i + 1]
        h.slots[i] = h.slots[i + 1]
        h.multipliers[i] = h.multipliers[i + 1]
        for j in range(i + 1):
            h.gram[i * h.most + j] = h.gram[(i + 1) * h.most + (j if j < k else j + 1)]
    h.slots[last] = slot
    h.n -= 1


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
            side = 1 if h.sides[i] < 0.0 else 0
            h.inside[2 * r + side] = 0
            h.active[i] = r - h.shift * per
    for i in range(h.n):
        r = h.active[i]
        h.inside[2 * r + (1 if h.sides[i] < 0.0 else 0)] = 1
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
    """Compute the gradients and products of the active rows, as far as the horizon or its matrices have changed."""
    for i in range(h.n):
        if h.fresh == 1:
            gradient(h, h.active[i], h.sides[i], h.rows[h.slots[i] * h.moves :])
        if h.fresh == 1 or h.shift > 0:
            products(h, i, h.k if h.fresh == 1 else NEAR, h.steered - h.shift)


def resumed(h: Horizon) -> None:
    """Begin with the active rows of the previous solution, without those whose multipliers are negative."""
    if h.shift >= h.steered:  # no move is left
        h.fresh = 1
    if h.shift > 0:
        moved(h)
    renewed(h)
    start = 0
    for _ in range(h.n + 1):  # each round but the last removes rows
        bad = factored(h, start)
        if bad < h.n:
            dropped(h, bad, h.n - 1)
            start = bad
            continue
        multiplied_out(h)
        least, wrong = 0.0, 0
        for i in range(h.n):
            least = min(least, h.multipliers[i])
            if h.multipliers[i] < 0.0:
                wrong += 1
        if wrong == 0:
            return
        if wrong > USELESS * float(h.n):  # of a state far from this one
            forgotten(h)
            renewed(h)
            start = 0
            continue
        for i in range(h.n - 1, -1, -1):
            if h.multipliers[i] <= MANY * least:
                dropped(h, i, h.n - 1)
                start = i


def added(h: Horizon, r: int, side: float) -> int:
    """Add a violated row, and remove those that it makes superfluous. Return the status."""
    n = h.n
    a = h.rows[h.slots[n] * h.moves :]
    gradient(h, r, side, a)
    h.active[n] = r
    h.sides[n] = side
    products(h, n, h.k, h.k)
    violation = room(h, r, side) - dot(h.gram[n * h.most :], h.multipliers, n)
    if violation <= h.tolerance / 2:  # rows added before may have moved the solution there
        return SOLVED
    for _ in range(h.limit):
        n = h.n
        row, d = h.L[n * h.most :], h.direction
        for j in range(n):
            other = h.L[j * h.most :]
            row[j] = (h.gram[n * h.most + j] - dot(row, other, j)) / other[j]
            d[j] = row[j]
        left = h.gram[n * h.most + n] - dot(row, row, n)
        if n >= h.most - 1:  # there are as many active rows as moves and slack variables
            left = 0.0
        backward(h, d, n)
        length, k = 0.0, -1
        for j in range(n):
            if d[j] > TINY and (k < 0 or h.multipliers[j] < length * d[j]):
                length, k = h.multipliers[j] / d[j], j
        is_free = left > DEPENDENT * h.gram[n * h.most + n]
        if not is_free and k < 0:
            h.worst = r
            return INFEASIBLE
        if h.iterations >= h.limit:
            return UNFINISHED
        h.iterations += 1
        if is_free and (k < 0 or violation <= length * left):
            row[n] = sqrt(left)
            h.n = n + 1
            h.inside[2 * r + (1 if side < 0.0 else 0)] = 1
            multiplied_out(h)
            return SOLVED
        for j in range(n):
            h.multipliers[j] -= length * d[j]
        if is_free:
            violation -= length * left
        dropped(h, k, n)
        rotated(h, k)
    return UNFINISHED


def forgotten(h: Horizon) -> None:
    """Begin with the slack variables at zero, without the active rows of a previous solution."""
    rows = h.k * (2 * h.m + h.p)
    for i in range(2 * (rows + h.p)):
        h.inside[i] = 0
    h.n = h.p if h.soft == 1 else 0
    h.fresh = 1
    for i in range(h.n):
        h.active[i], h.sides[i] = rows + i, 1.0
        h.inside[2 * (rows + i)] = 1


def solved(h: Horizon) -> int:
    """Solve the program. Return the status."""
    per = 2 * h.m + h.p
    h.iterations = 0
    h.worst = -1
    for j in lanes(h.moves):
        h.z[j] = 0.0
    swept(h, h.z, h.y0)
    resumed(h)
    placed(h)
    refinements = 0
    for _ in range(h.limit + REFINEMENTS):
        before = h.iterations
        swept(h, h.z, h.y)
        for c in range(2 * per):
            h.candidates[c], h.beyond[c] = -1, h.tolerance
        for i in range(h.k):
            for place in range(per):
                r, c, e = i * per + place, 2 * place, 0.0
                if h.soft == 1 and place >= 2 * h.m:
                    e = h.e[place - 2 * h.m]
                off = h.low[r] - h.y[r] - e
                if off > h.beyond[c] and h.inside[2 * r] == 0:
                    h.candidates[c], h.beyond[c] = r, off
                off = h.y[r] - h.high[r] - e
                if off > h.beyond[c + 1] and h.inside[2 * r + 1] == 0:
                    h.candidates[c + 1], h.beyond[c + 1] = r, off
        greatest, which = h.tolerance, -1
        for c in range(2 * per):
            if h.beyond[c] > greatest:
                greatest, which = h.beyond[c], c
        for q in range(h.p):
            if h.soft == 1 and -h.e[q] > h.tolerance and h.inside[2 * (h.k * per + q)] == 0:
                status = added(h, h.k * per + q, 1.0)
                if status != SOLVED:
                    return status
                which = -2
                greatest = max(greatest, -h.e[q])
        if which == -1:
            refinements += 1
            if refinements > REFINEMENTS or refined(h) == 0:
                return SOLVED
            continue
        for turn in range(2 * per + 1):
            c = which if turn == 0 else turn - 1
            if c >= 0 and (turn == 0 or c != which) and h.candidates[c] >= 0:
                status = added(h, h.candidates[c], 1.0 if c % 2 == 0 else -1.0)
                if status != SOLVED:
                    return status
        placed(h)
        if h.iterations == before:  # what remains is rounding
            return SOLVED if greatest <= ROUNDED else UNFINISHED
    return UNFINISHED
